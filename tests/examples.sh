#!/bin/sh
# Runs every example and checks what it prints. From the root of the repository:
#
#     make examples && sh tests/examples.sh build
#
# Prints one line per test. Scratch files are kept in FOLDER/examples.
set -u

bin=${1:?usage: sh tests/examples.sh FOLDER-OF-THE-EXAMPLES [CORE]}
case $bin in /*) ;; *) bin=$PWD/$bin ;; esac
root=$PWD
work=$bin/examples
mkdir -p "$work" && cd "$work" && rm -rf ./* || exit 1
# The header's functions, if they need not be compiled with each example.
core=
if [ -n "${2:-}" ]; then
    ln -s "$root/$2" core.o
    core='-DSTATESAMPLER_IMPLEMENTATION_INCLUDED core.o'
fi
passed=0
failed=0
LC_ALL=C
export LC_ALL

# check WHAT COMMAND...: runs the command, usually a function below, in a
# subshell that stops at the first failure. Its output explains a FAIL.
check() {
    what=$1
    shift
    detail=$(set -e; "$@" 2>&1)
    if [ $? -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok   $what"
    else
        failed=$((failed + 1))
        echo "FAIL $what"
        printf '%s\n' "$detail" | tail -n 12 | sed 's/^/    /'
    fi
}

skip() {
    echo "skip $1"
}

# finds [OPTION] PATTERN FILE, like grep.
finds() {
    grep -q "$@" || {
        echo "not found: $*"
        for last; do :; done
        head -n 20 "$last"
        return 1
    }
}

# has FILE TEXT: the file has a line with exactly this text.
has() {
    grep -qxF -e "$2" "$1" || {
        echo "no line '$2' in:"
        cat "$1"
        return 1
    }
}

same() {
    cmp "$1" "$2" || {
        diff "$1" "$2" | head -n 6
        return 1
    }
}

equal() {
    [ "$1" = "$2" ] || {
        echo "'$1' is not '$2'"
        return 1
    }
}

# A program that hangs fails too, where there is a timeout command.
limit=
if timeout 60 true 2>/dev/null; then
    limit="timeout 60"
fi

empty() { # FILE
    [ ! -s "$1" ] || {
        echo "$1 is not empty:"
        head -n 5 "$1"
        return 1
    }
}

lines() { # COUNT FILE
    [ "$(wc -l <"$2")" -eq "$1" ] || {
        echo "not $1 lines in $2:"
        head -n 5 "$2"
        return 1
    }
}

# status WANTED COMMAND...: runs a command or an example, with its output in the
# files out and err, and checks the exit status.
status() {
    wanted=$1
    shift
    code=0
    if [ -x "$bin/$1" ]; then
        command=$1
        shift
        set -- $limit "$bin/$command" "$@"
    fi
    "$@" >out 2>err || code=$?
    [ "$code" -eq "$wanted" ] || {
        echo "exit status $code, not $wanted: $*"
        tail -n 5 out err
        return 1
    }
}

indices() {
    $limit "$bin/indices" "$@"
}

# numbers FIRST LAST, a line each. (seq is not everywhere.)
numbers() {
    awk -v i="$1" -v n="$2" 'BEGIN { for (; i <= n; i++) print i }'
}

# --- every example ------------------------------------------------------------

# Runs an example with the arguments that it needs.
numbers 1 2300 >text
run() { # PROGRAM
    case ${1##*/} in
    *indices) "$bin/quickstart" >/dev/null
              $limit "$1" --state quickstart.state --straight --where 3 ;;
    *train_text) $limit "$1" --epochs 1 text ;;
    *edit) rm -f checkpoint; $limit "$1" checkpoint </dev/null ;;
    *shards) rm -rf shards; $limit "$1" shards </dev/null ;;
    *recipe_large) rm -f large large.?; $limit "$1" large ;;
    *windows) numbers 1 600 >low; numbers 601 1200 >high; $limit "$1" low high ;;
    *spread) $limit "$1" text ;;
    *) $limit "$1" ;;
    esac
}

# The examples without those named, and without grow where it was not built.
# quickstart has no options and no last line: it has a test of its own.
all_but() { # NAME...
    for source in "$root"/examples/*.c; do
        name=$(basename "$source" .c)
        case " quickstart $* " in *" $name "*) continue ;; esac
        [ $name = grow ] && [ ! -x "$bin/grow" ] || echo $name
    done
}

all_help() {
    for name in $(all_but); do
        status 0 $name --help
        finds "^usage: \(.*/\)\?$name" out
        empty err
        equal "$(awk 'length > 79' out)" ""
    done
}

all_refuse() {
    for name in $(all_but); do
        status 2 $name --nonsense
        finds "^$name: .*--nonsense" err
        has err "Try '$name --help'."
        empty out
    done
}

all_disks_full() {
    for name in $(all_but); do
        code=0
        run "$bin/$name" >/dev/full 2>err || code=$?
        equal "$name: $code" "$name: 1"
        finds "^$name: .*No space left on device" err
        code=0
        "$bin/$name" --help >/dev/full 2>err || code=$?
        equal "$name --help: $code" "$name --help: 1"
        finds "^$name: .*No space left on device" err
    done
}

# Root may read everything, unless it gives up what makes it root.
as_anyone() { # COMMAND...
    if [ "$(id -u)" = 0 ]; then
        setpriv --bounding-set=-all --inh-caps=-all "$@"
    else
        "$@"
    fi
}

# Whatever keeps a file from being read: the message has its name and why.
unreadable() {
    rm -rf secret folder absent
    mkdir folder
    cp text secret
    chmod 0 secret
    while read -r name before; do
        for refused in 'absent: \(No such file\|there is no such file\)' \
            'folder: Is a directory' 'secret: Permission denied'; do
            status 1 as_anyone "$bin/$name" $before "${refused%%:*}"
            finds "^$name: \(cannot [a-z]* \)\?$refused" err
        done
    done <<'END'
indices --where 3 --state
packing
spread
train_text
windows text
END
    status 1 as_anyone "$bin/recipe_large" secret
    finds '^recipe_large: secret: Permission denied' err
}

# A disk that fails in the middle of a file.
fails_late() {
    for reader in 'packing text' 'spread text' 'windows text text' \
        'train_text text'; do
        name=${reader%% *}
        status 1 strace -qq -o trace -P text -e inject=read:error=EIO:when=2+ \
            "$bin"/$reader
        finds "^$name: .*text: Input/output error" err
    done
    rm -f late*
    status 0 recipe_large late
    for weights in late.0 late.1; do
        strace -qq -o trace -P $weights -e inject=read:error=EIO:when=2+ \
            "$bin/recipe_large" late >out 2>>err || :
    done
    finds '^recipe_large: late.[01]: Input/output error' err
}

# What make demo says of files that it cannot train on.
demo_files() {
    rm -rf secret folder absent pipe
    mkdir folder
    mkfifo pipe
    cp text secret
    chmod 0 secret
    for refused in 'absent: No such file' 'secret: Permission denied'; do
        status 1 as_anyone sh "$root/examples/demo.sh" /bin/true \
            text "${refused%%:*}"
        finds "^demo: cannot read $refused" err
    done
    for file in folder pipe; do
        status 1 sh "$root/examples/demo.sh" /bin/true text $file
        has err "demo: $file is not a regular file"
    done
    head -n 20 text >short
    status 1 sh "$root/examples/demo.sh" /bin/true text short
    finds '^demo: short has less than 10240 bytes' err
    rm pipe
}

# The last line of the output or, where that is a picture, of the errors.
# indices answers what it is asked, and claims nothing. What they print is kept
# for the checks of those that take long.
all_verdicts() {
    for name in $(all_but indices); do
        status 0 run "$bin/$name"
        cat out err | tail -n 1 >last
        finds "^$name: ok, .* .* .*" last
        cp out out_$name
    done
}

# Compiled with a broken library: the last line and the status must say so.
all_notice() {
    for name in $(all_but indices); do
        with=$core
        [ $name != grow ] || with="-DSTATESAMPLER_STB_DS $stb_flags"
        printf '#include "%s"\n' tests/broken.h examples/$name.c >broken.c
        ${CC:-cc} -std=c99 -O1 -w -I"$root" $with -o broken_$name broken.c \
            -lm -pthread
        status 1 run ./broken_$name
        grep -qE 'FAILED|WRONG' out err || {
            echo "$name says nothing:"
            tail -n 5 out err
            return 1
        }
    done
}

# Each program that the manual names in HOW TO has the lines indented below its
# name, one after the other, except for empty lines. Each recipe is named.
manual() {
    awk '/^HOW TO/ { there = 1; next } /^[A-Z]/ { there = 0 } there' \
        "$root/statesampler.h" >manual
    grep -o 'examples/[a-z_]*\.c)$' manual | tr -d ')' | sort >quoted
    for name in ranks datasets; do
        has quoted examples/recipe_$name.c
    done
    for program in $(cat quoted); do
        awk -v name="($program)" '
            NF == 0 { next }
            substr($0, length($0) - length(name) + 1) == name { on = 1; next }
            on && !/^     / { exit }
            on { print substr($0, 6) }' manual >wanted
        finds . wanted
        awk 'NF == 0 { next }
            FNR == NR { want[++count] = $0; next }
            { have[++lines] = $0 }
            END {
                for (i = 1; i <= lines; i++) {
                    for (k = 1; k <= count && have[i + k - 1] == want[k]; k++);
                    if (k > count) exit 0
                    if (k > best) { best = k; at = have[i + k - 1] }
                }
                print "the manual:  " want[best]
                print "the program: " at
                exit 1
            }' wanted "$root/$program" || {
            echo "of $program"
            return 1
        }
    done
}

stb_flags=${STB_FLAGS:-$(pkg-config --cflags stb 2>/dev/null)}
check "every example: --help prints the usage" all_help
check "every example: an unknown argument has status 2" all_refuse
check "every example: the last line says what was shown" all_verdicts
check "the manual's recipes are in the examples, word for word" manual
check "every example: a broken library has status 1 and a message" all_notice
check "every example: a file that cannot be read is named, with the reason" \
    unreadable
check "make demo: a file that cannot be read is named, with the reason" \
    demo_files
if command -v strace >/dev/null; then
    check "every example: a disk that fails in mid-file is named so" fails_late
else
    skip "every example: a disk that fails in mid-file: strace is not here"
fi
if [ -c /dev/full ]; then
    check "every example: a full disk has status 1 and a message" \
        all_disks_full
else
    skip "every example: a full disk: /dev/full is not here"
fi

# --- one by one ---------------------------------------------------------------

# Killed after a line: the next run goes on from the last save, which is that of
# step 50 or 100, or of the end of an epoch of 125 steps.
quickstart() {
    if command -v g++ >/dev/null; then
        g++ -x c++ -std=c++20 -I"$root" -fsyntax-only \
            "$root/examples/quickstart.c"
    fi
    rm -f quickstart.state
    status 0 quickstart
    cp out whole
    for epoch in 1,125p 126,250p; do
        sed -n $epoch out | tr -s ' ' '\n' | sed '/^$/d' | sort -n >served
        numbers 0 999 | same - served
    done
    status 0 quickstart
    has out done
    lines 1 out
    {
        cat <<'END'
#include <signal.h>
#include <stdlib.h>
static void end_line(void)
{
    static int lines;
    if (++lines == atoi(getenv("LAST")))
        raise(SIGKILL);
}
END
        sed 's/  train(batch, count);/  train(batch, count), end_line();/' \
            "$root/examples/quickstart.c"
    } >killed.c
    ${CC:-cc} -std=c99 -O1 -w -I"$root" $core -o killed_quickstart killed.c
    while read -r line saved; do
        rm -f quickstart.state
        LAST=$line status 137 ./killed_quickstart
        lines $line out
        head -n $saved out >before
        status 0 quickstart
        cat before out | same - whole
    done <<'END'
1 0
50 0
51 50
100 50
125 100
126 125
175 125
176 175
250 225
END
    # What could not be printed is not in the state, nor called done.
    if [ -e /dev/full ]; then
        rm -f quickstart.state
        sh -c '"$0" >/dev/full' "$bin/quickstart" 2>err && return 1
        has err 'quickstart: No space left on device'
        status 0 quickstart
        same out whole
        sh -c '"$0" >/dev/full' "$bin/quickstart" 2>err && return 1
    fi
    printf X >quickstart.state
    status 1 quickstart
    finds 'state or file is wrong' out
    rm quickstart.state
    mkdir quickstart.state
    status 1 quickstart
    has err 'quickstart.state: Is a directory'
    empty out
    rmdir quickstart.state
}

resume() {
    TMPDIR="$work/tmp/a \$HOME \"'"
    mkdir -p "$TMPDIR"
    export TMPDIR
    status 0 resume
    finds 'killed$' out
    equal "$(sed -n 's/.*times killed: *//p' out)" \
          "$(sed -n 's/^never killed: *//p' out)"
    equal "$(ls "$TMPDIR")" ""
    # Each run begins where the one before it ended.
    awk 'BEGIN { next_step = 0 }
         / \.\. / { if ($2 != next_step) {
                        print "not " next_step ": " $0; exit 1 }
                    next_step = $4 + 1 }
         END { exit next_step != 96 }' out
    TMPDIR=$work/nowhere
    status 1 resume
    finds "^resume: .*nowhere/.*: No such file or directory" err
}

elastic() {
    status 0 elastic
    equal "$(awk 'NF == 8 && $5 == ".." { print $1; n += $7; p += $6 - $4 + 1
                  if (p != n + $8) exit 1 } END { print n }' out |
             tr '\n' ' ')" "8 3 5 1003 "
}

workers() {
    status 0 workers
    equal "$(sed -n 's/^no threads: *//p' out)" \
          "$(sed -n 's/^3 ahead, then 5 ahead: *//p' out)"
}

# The first two columns are exact for every number of ranks.
evaluate() {
    status 0 evaluate
    truth=$(sed -n 's/^the truth: \([0-9]* of [0-9]*\) .*/\1/p' out)
    equal "$(awk '/ %.* %.* %/ { print $2, $3, $4; print $7, $8, $9 }' out |
             sort | uniq -c | tr -s ' ')" " 14 $truth"
    equal "$(awk -v truth="$truth" '/ %.* %.* %/ {
                 if ($12 " " $13 " " $14 != truth) n++ } END { print n }' \
             out)" 6
}

window() {
    status 0 window
    equal "$(awk '$1 == "WINDOW" { print $2, $3 }' out)" "101 4"
    equal "$(awk '$1 == "SHUFFLE" { print ($2 > 5000), $3 }' out)" "1 101"
}

# Lines of this repository in three languages. Batches of larger windows are
# better mixed, and windows learn more than buffers in the order of the files.
windows() {
    head -n 3000 "$root/statesampler.h" >c
    cat "$root"/tests/*.sh "$root"/tests/cases/*.sh | head -n 3000 >shell
    cat "$root"/examples/js/*.mjs "$root"/examples/js/tests/*.mjs | head -n 3000 >js
    status 0 windows c shell js
    awk '/ bits / {
            rows++
            sub(/ of chunks/, "-of-chunks")
            bits[$1, $2] = $3
            error[$1, $2] = $5
            if ($1 == "whole" || $1 == "as") { bits[$1] = $4; error[$1] = $6 }
        }
        END {
            if (rows != 29 || bits["as"] > 0.1 || error["as"] < 40) exit 1
            for (w = 1; w <= 256; w *= 2) {
                if (bits["WINDOW", w] < bits["WINDOW", w / 2] - 0.02)
                    exit 1
                if (w < 64 && error["WINDOW", w] > error["buffer", w]) exit 1
            }
            exit bits["WINDOW", 64] < 0.95 * bits["whole"] ||
                bits["buffer-of-chunks", 64] < 0.95 * bits["whole"] ||
                error["WINDOW", 256] > error["whole"] + 2
        }' out || {
        cat out
        return 1
    }
    status 2 windows c
    finds 'two FILEs and 1,171 lines' err
    head -n 300 c >few
    status 2 windows few few
    status 1 windows c nowhere/file
    finds '^windows: nowhere/file: No such file' err
    status 1 windows c .
    finds '^windows: \.: [IP]' err
    empty out
}

locate() {
    status 0 locate
    has out "of its 256 samples, sample 31337 is the cause"
    spike=$(sed -n 's/^the loss is highest in \(.*\): .*/\1/p' out | tr -d ,)
    tr -s ' ' <out >squeezed
    finds "^sample 31337 $spike " squeezed
    grep '^sample' out | head -n 2 >places
    status 0 locate 31337
    grep '^sample' out | same - places
    status 0 locate 0 100002
    equal "$(grep -c '^sample' out)" 4
    for wrong in 100003 -1 x '' 99999999999999999999; do
        status 2 locate 0 "$wrong"
        finds -F "'$wrong'" err
        empty out
    done
}

# Each line of the table has the dataset of its turn. Each rank reads its own
# third of it, and each sample comes once in an epoch.
round_robin() {
    status 0 round_robin
    finds "killed, and resumed" out
    awk '$1 ~ /^[01]$/ {
            if ($3 != ($2 % 2 ? "B" : "A")) exit 1
            for (i = 4; i <= 9; i++) {
                rank = int((i - 4) / 2)
                if ($i == "-") continue
                if (rank != ($i < 4 ? 0 : $i < 7 ? 1 : 2)) exit 1
                if (seen[$1 $3 $i]++) exit 1
                count++
            }
            turns++
        }
        END { exit !(turns == 8 && count == 40) }' out
}

# The program draws the README's picture.
turns() {
    status 0 turns
    same out "$root/examples/turns.svg"
    # 3 + 3 + 6 + 6 + half of 18, and 2 in the legend
    equal "$(grep -c '#3b6fb6' out)" 29
    equal "$(grep -c '>dataset [0-2]: [3-5] batches<' out)" 3
}

grow() {
    status 0 grow
    for line in "matched code" "new     books" "matched web" \
                "removed number 1 of the state"; do
        has out "    $line"
    done
    # The datasets that stay are where they were, and the new one begins.
    for name in code web; do
        equal "$(grep " $name  *epoch" out | sed -n 1p)" \
            "$(grep " $name  *epoch" out | sed -n 2p)"
    done
    has out "    books  epoch 0, step 0 of 13"
    # Without code, web and books are where they were.
    has out "    removed number 0 of the state"
    for name in web books; do
        equal "$(grep " $name  *epoch" out | tail -n 2 | sort -u | wc -l)" 1
    done
}

# blend_killed RANKS BATCH: continues from the file state until it is killed.
# Its output does not fit a pipe, so that it cannot finish before.
blend_killed() {
    "$bin/blend" state $1 $2 >pipe 2>err &
    pid=$!
    exec 3<pipe
    head -n 40 <&3 >part
    kill -9 $pid
    wait $pid || code=$?
    exec 3<&-
    equal "${code:-0}" 137
    finds "^turn [0-9]*, $1 ranks, batches of $2\$" part
    code=0
}

# The shares of a row sum to its batch, and so do the samples. A rank in a fixed
# slot would see 64 of 512 datasets.
blend() {
    rm -f state pipe
    mkfifo pipe
    blend_killed 4 32
    finds '^turn 0, 4 ranks' part
    blend_killed 7 3
    first=$(sed -n 's/^turn \([0-9]*\),.*/\1/p' part | tail -n 1)
    blend_killed 2 20
    second=$(sed -n 's/^turn \([0-9]*\),.*/\1/p' part | tail -n 1)
    [ "$first" -gt 0 ] && [ "$second" -gt "$first" ]
    status 0 blend state 8 25
    grep '^model' out >model
    awk '/^turn/ { batch = $NF }
        /\// { for (i = 1; i <= NF; i++) {
                    split($i, part, "/"); n += part[1]; share += part[2]
                    if (part[1] - part[2] > 3 || part[2] - part[1] > 3) exit 1 }
                if (n > batch || share < n - 0.5 || share > n + 0.5) exit 1
                rows++; n = share = 0 }
        END { exit rows < 100 }' out
    grep '^model' out_blend | same - model
    has out_blend "of 512 equal datasets a rank sees 64 in a fixed slot, 512 in\
 dealt slots"
    status 2 blend state 0 5
    status 2 blend state 5
    finds 'RANKS and BATCH' err
    echo other >state
    status 1 blend state 1 1
    empty out
    has state other
    status 1 blend nowhere/state 1 1
    finds '^blend: nowhere/state: No such file or directory' err
    empty out
}

# The samples of a group together come as often as its weight. Each share of the
# draws is within 5 standard deviations.
weights() {
    status 0 weights
    has out "  0 1 4 4 1 0 1 4 4 1 0 1 4 4 1 0 1 4 4 1 ..."
    awk '/ served / {
            if ($6 + $11 != $1 || $6 * $9 + $11 * ($9 + 1) != $4) exit 1
            groups++
        }
        drawn {
            for (i = 0; i < 8; i++) {
                share = 1000 * 2 ^ i
                if (($(i + 1) - share) ^ 2 > 25 * share) exit 1
                sum += $(i + 1)
            }
        }
        { drawn = /draws with/ }
        END { exit groups != 6 || sum != 255000 }' out
    equal "$(awk '$2 == "web" { print $6, $9, $11, $14 }
                  $2 == "books" { print $6, $9 }' out | tr '\n' ' ')" \
        "500 1 500 2 200 4 "
}

# The squares of the factors are 10, 2.5 and 1.
factors() {
    status 0 factors
    awk '/: factor / {
            images = $3 + 0
            wanted = images == 10 ? 10 : images == 40 ? 2.5 : 1
            if (($5 ^ 2 / wanted - 1) ^ 2 > 0.0001) exit 1
            off = $NF - 64 * sqrt(wanted)
            if (off > 1.1 || off < -1.1) exit 1
            for (i = 7; i < 17; i++)
                if ($i - sqrt(wanted) > 1.01 || sqrt(wanted) - $i > 1.01) exit 1
            factors++
        }
        END { exit factors != 3 }' out
    has out "all: 66880 in 64 epochs of 1045"
}

split() {
    status 0 split
    has out "validation: 5000 ids, training: 95003"
    has out "10 %: 10000 ids; 20 %: 20000 ids, including 10000 of the 10 %"
    awk '/^fold .*train/ {
            if ($3 + $7 != 100003 || $3 < 20000 || $3 > 20001) exit 1
            small += $3
        }
        /^fold .* ids(,|$)/ { if ($3 != 200000000000) exit 1; huge++ }
        END { exit small != 100003 || huge != 5 }' out
    equal "$(grep -c 123456789012 out)" 1
}

# A line for each row of examples/README.md's table of recipes; what a row names
# is there.
recipes() {
    status 0 recipes
    sed -n '/^## Recipes/,/^## Coming/s/^| .* | `/`/p' \
        "$root/examples/README.md" >rows
    [ "$(wc -l <rows)" -ge 15 ]
    equal "$(grep -c '^ok ' out)" "$(wc -l <rows)"
    equal "$(grep -c '^NOT' out || true)" 0
    for name in $(grep -o '`[a-z_]*`' rows | tr -d '`'); do
        finds " $name(" "$root/examples/recipes.c"
    done
}

recipe_ranks() {
    for r in 0 1 2 3 4 5 6; do
        status 0 env -i RANK=$r WORLD_SIZE=7 "$bin/recipe_ranks"
        finds ": ok, rank $r of 7 had 143 of 1000 samples in 18 steps" out
    done
    status 1 env -i RANK=3 WORLD_SIZE=3 "$bin/recipe_ranks"
    finds '^recipe_ranks: .*rank' err
}

# is_killed STEPS PROGRAM ARGUMENT...: kills the program in its step number
# STEPS, in which it waits for a byte that does not come. Adds its output to
# `lines`.
is_killed() {
    steps=$1
    program=$bin/$2
    shift 2
    rm -f gate pipe
    mkfifo gate pipe
    "$program" "$@" <gate >pipe 2>err &
    pid=$!
    exec 4>gate 3<pipe
    numbers 2 "$steps" | tr -d '0-9' >&4
    while [ "$steps" -gt 0 ] && read -r line <&3; do
        echo "$line" >>lines
        case $line in step*) steps=$((steps - 1)) ;; esac
    done
    code=0
    kill -9 $pid && wait $pid || code=$?
    exec 4>&- 3<&-
    equal $code 137
}

# Killed after a step, which is while it saves; what it left behind goes.
recipe_large() {
    rm -f large* .statesampler-* pipe
    mkfifo pipe
    for steps in 1 2 3 5 8 13 4 9 2 21 7 6 10 3; do
        "$bin/recipe_large" large >pipe 2>err &
        pid=$!
        exec 3<pipe
        head -n $steps <&3 >out
        code=0
        kill -9 $pid && wait $pid || code=$?
        exec 3<&-
        equal $code 137
        lines $steps out
    done
    status 0 recipe_large large
    finds 'ok, weights [0-9a-f]*, as of a run that was never killed' out
    equal "$(echo large* .statesampler-*)" 'large large.0 large.1 .statesampler-*'
    # Weights that are not those of the checkpoint.
    cp large.0 large.1
    printf x >>large
    status 1 recipe_large large
    finds '^recipe_large: large: .*size of the state or file is wrong' err
    rm large
    status 0 recipe_large large
    dd if=/dev/zero of=large.0 bs=1000 count=1 conv=notrunc 2>err
    dd if=/dev/zero of=large.1 bs=1000 count=1 conv=notrunc 2>err
    status 1 recipe_large large
    finds '^recipe_large: .*damaged' err
}

# A program that saves again after a save failed, as on a full disk, must not
# write to the file that the last checkpoint names. With a path that is too long
# for ".0" both files would have one name, if it were cut.
recipe_large_fails() {
    rm -rf again*
    mkdir again
    cd again
    cat >again.c <<'EOF'
#define _POSIX_C_SOURCE 200809L
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
static int fails;
#define statesampler_save_file(path, bytes, size) \
    (fails ? STATESAMPLER_EIO : statesampler_save_file(path, bytes, size))
#define main example_main
#include "examples/recipe_large.c"
#undef main
static int save_to_long_path(const statesampler *s)
{
    char path[4095];
    size_t i;

    for (i = 0; i < 4095; i++)
        path[i] = i < 4000 ? "./"[i % 2] : 'x';
    path[4093] = 0;
    example_must(save(path, s));
    path[4093] = 'x';
    path[4094] = 0;
    return save(path, s) == STATESAMPLER_EIO && errno == ENAMETOOLONG;
}
int main(void)
{
    const statesampler_desc desc = {.num_samples = 1000, .batch_size = 16};
    statesampler s;
    int i, code = statesampler_init(&s, &desc);

    if (!save_to_long_path(&s))
        return 3;
    for (i = 0; i < 6; i++) {
        fails = i > 1;
        statesampler_next(&s, batch, NULL);
        train(16);
        if ((save("again.state", &s) == STATESAMPLER_OK) == fails)
            return 2;
    }
    code = code == STATESAMPLER_OK ? load("again.state", &s) : code;
    return code != STATESAMPLER_OK || statesampler_step(&s) != 2;
}
EOF
    status 0 ${CC:-cc} -std=c99 -I"$root" -o again again.c
    status 0 ./again
}

# Each run begins at the step in which the one before it was killed.
goes_on() { # KILLS FILE
    awk -v kills="$1" '{
            again += $2 == step && NR > 1
            gaps += NR > 1 && $2 != step && $2 != step + 1
            step = $2
        }
        END { exit again != kills || gaps > 0 }' "$2" || {
        cat "$2"
        return 1
    }
}

# Kills next to each of three edits, on other ranks each time. An interrupted
# step, and an edit before it, are done again.
edit() {
    rm -f checkpoint lines
    is_killed 11 edit checkpoint 4
    is_killed 4 edit checkpoint 7
    is_killed 21 edit checkpoint 1
    is_killed 1 edit checkpoint 2
    status 0 edit checkpoint 3 </dev/null
    cat out >>lines
    grep '^step' lines >steps
    goes_on 4 steps
    equal "$(awk '$1 == "step" && $4 != ranks { printf "%s ", $4; ranks = $4 }
             ' lines)" "4 7 1 2 3 "
    # Each id was added; it was removed, too late to remove, or stays.
    awk '$1 == "position" { edit[$2] = $0 }
         END { for (i in edit) { split(edit[i], n, " "); put += n[3]
                   out += n[5] }
               print put, out, put - out }' lines >sums
    awk '/: ok,/ { print 1150, $11, $5 + $20 }' lines | same - sums
}

# Killed while it takes, holds, adds, walks back, discards, removes and draws:
# the same items come, with the same states, as without a kill.
bag() {
    status 0 bag
    grep '^step' out >whole
    lines 400 whole
    rm -f checkpoint lines
    for steps in 4 2 4 6 3 4 123; do
        is_killed $steps bag checkpoint
    done
    cp checkpoint kept
    status 0 bag checkpoint </dev/null
    finds '^bag: ok, 10 bags' out
    cat out >>lines
    grep '^step' lines >steps
    goes_on 7 steps
    uniq steps | same - whole
    # Other items, and another state.
    for byte in 3 9 16 40; do
        cp kept checkpoint
        printf '\377' | dd of=checkpoint bs=1 seek=$byte conv=notrunc 2>err
        cp checkpoint before
        status 1 bag checkpoint </dev/null
        finds '^bag: this state was not saved with these items' err
        empty out
        same checkpoint before
    done
    printf X >checkpoint
    status 1 bag checkpoint </dev/null
    finds '^bag: checkpoint: .*size of the state or file is wrong' err
    status 1 bag nowhere/checkpoint </dev/null
    finds '^bag: nowhere/checkpoint: No such file' err
}

# The same tokens in fewer steps, with little padding and waiting.
buckets() {
    status 0 buckets
    awk '$4 == "%" { steps[$1] = $2; tokens[$1] = $2 * $5
                padding[$1] = $3; waiting[$1] = $6 }
         END { b = tokens["buckets"]; g = tokens["group_by_length"]
               exit !(b > 0.999 * g && b < 1.001 * g &&
                      3 * steps["buckets"] < steps["group_by_length"] &&
                      padding["buckets"] < 6 && padding["random"] > 60 &&
                      waiting["buckets"] < 1 &&
                      waiting["group_by_length"] > 20) }' out || {
        cat out
        return 1
    }
}

# While the batch size stays, a step is ranks * batch positions: without the
# dead rank in the repeated step, with it in the committed one.
ramp() {
    status 0 ramp
    equal "$(grep -c 'a rank dies' out)" 2
    awk 'NF > 5 && $1 + 0 == $1 {
            if ($4 == batch) {
                gap = $1 - position - ($2 - step) * $3 * $4
                if (gap != (dead == 7 ? $4 : 0)) exit 1
                checked++
            }
            position = $1; step = $2; batch = $4; dead = NF > 6 ? $3 : 0
        }
        END { exit checked < 8 }' out
    finds 'planned 0.500, by position 0.50., by steps 0.1' out
    has out "16 samples served at the end: step 215 of rank 2"
}

# Makes the folder, is killed on one rank and more, and refuses damaged shards.
shards() {
    rm -rf shards lines
    is_killed 7 shards shards 4
    is_killed 2 shards shards 6
    is_killed 40 shards shards 1
    equal "$(wc -c <shards/checkpoint | tr -d ' ')" 144
    status 0 shards shards 5 </dev/null
    has out 'state: 112 bytes'
    cat lines out | grep '^step' >steps
    goes_on 3 steps
    finds '^shards: ok, each of 1110 sequences in 13 shards once' out
    for tear in "head -c 1023" "head -c 3000" "tail -c +2"; do
        rm -rf torn
        cp -r shards torn
        rm torn/checkpoint
        $tear shards/4.bin >torn/4.bin
        status 1 shards torn </dev/null
        finds '^shards: torn/4.bin: it is no shard of tokens' err
    done
    status 1 shards nowhere/shards
    finds '^shards: cannot make the folder nowhere/shards: No such file' err
    # Another folder's checkpoint.
    rm -f torn/4.bin
    cp shards/checkpoint torn
    status 1 shards torn </dev/null
    finds 'the state has another num_samples' err
}

# Outputs are opened before the training and left unchanged. Options may follow
# the file.
train_text() {
    set -- train_text
    for option in --weights --checkpoint --log; do
        status 1 "$@" text --epochs 1 $option nowhere/file
        finds '^train_text: .*nowhere/file: ' err
        equal "$(grep -c '^step' out)" 0
    done
    status 1 "$@" nowhere/text
    finds 'nowhere/text: No such file or directory' err
    echo before >weights
    # Neither a pipe, on which it would block, nor its own text.
    mkfifo pipe
    for option in --weights --checkpoint --log; do
        status 1 "$@" text --epochs 1 $option pipe
        finds 'not a regular file' err
        empty out
        status 1 "$@" text --epochs 1 $option text
        finds 'a text to train on' err
    done
    rm pipe
    status 2 "$@" text --weights weights --ranks 7
    has weights before
    status 0 "$@" text --epochs 1 --weights weights --checkpoint checkpoint
    equal "$(wc -c <weights | tr -d ' ')" 214528
    cp weights whole
    status 0 "$@" --checkpoint checkpoint --resume --ranks 3 --epochs 1 \
        --weights weights -- text
    same weights whole
    status 1 "$@" text --checkpoint checkpoint --resume --epochs 2
    finds 'of another run: its number of epochs' err
    status 1 "$@" text --checkpoint checkpoint --resume --epochs 1 --mix 2
    finds 'of another run: its mix' err
    # Each output must be a different file, whatever its name.
    ln -s other linked
    for two in 'log checkpoint' 'checkpoint weights' 'weights log'; do
        status 1 "$@" text --epochs 1 --${two% *} one --${two#* } one
        finds 'one: the log, the checkpoint and the weights must' err
        status 1 "$@" text --epochs 1 --${two% *} ./other --${two#* } linked
        finds 'the log, the checkpoint and the weights must be different' err
        rm -f other
    done
    status 2 "$@" text --epochs
    finds -e '--epochs needs a value' err
    status 2 "$@" text --epochs 0
    finds "takes a number from 1 to 100000, not '0'" err
    status 0 "$@" --time text
    finds -x '[0-9][0-9]*' out
}

# The ledger has no repeats, nothing lost and no bias; the other two have.
ledger() {
    awk '$NF == "%" {
            bias = $(NF - 1); lost = $(NF - 3); again = $(NF - 4)
            if ($2 == "ledger" && (lost || again || bias != "+0.0")) exit 1
            if ($2 == "skip" && !(lost > 100 && bias < -1)) exit 1
            if ($2 == "low-water" && !(again > 1000 && bias < -1)) exit 1
            rows++
        }
        END { exit rows != 18 }' out_ledger
}

# A program whose next run has other groups, a seed or steps by an edit: it
# refuses the state of the run before.
refuses_other() { # PROGRAM FIELD EDIT [ARGUMENT]
    sed "$3" "$root/examples/$1.c" >other.c
    ${CC:-cc} -std=c99 -O1 -w -I"$root" -I"$root/examples" $core -o other \
        other.c
    status 1 ./other $4
    finds "^$1: the state has another $2" err
}

groups() {
    for numbers in '' '1003 16 9 1' '48 1 48 3' '97 48 1 1' '50 16 3 5' \
        '700 3 16 7' '1000 144 1 1' '999 12 4 3'; do
        status 0 groups $numbers
    done
    status 2 groups 10 8 24 2
    finds '10 prompts do not make a generation batch of 24' err
    status 2 groups 100 7 3 1
    finds 'must be a multiple of 48' err
    for wrong in '5 5 5' '0 1 1 1' '1 -1 1 1' '1 1 x 1' '1 1 1'; do
        status 2 groups $wrong
        empty out
    done
    for huge in '18446744073709551615 8 6 99' '48 1 48 18446744073709551615' \
        '1e9 1 48 1' '1000000000 1 48 1' '48 18446744073709551615 48 2'; do
        status 2 groups $huge
        empty out
    done
    refuses_other groups stream 's,lives++,&\, g.copies *= 2\, g.reuse /= 2,' ''
}

# Whatever the lengths are; those of packs must be in the budget.
pack() {
    for shortest in '' 1 500 1000; do
        status 0 pack $shortest
    done
    status 1 pack 0
    finds 'sample 0: a length is 0 or above the budget' err
    for wrong in 1001 -1 1x x ''; do
        status 2 pack "$wrong"
        empty out
    done
}

# The paragraphs of this repository, a byte as a token: plans leave less empty
# than packs in order, the larger ones less, and best fit over all the least.
packing() {
    awk -v RS= '{ print length }' "$root"/README.md "$root"/statesampler.h \
        "$root"/tests/*.[ch] "$root"/examples/*.[ch] \
        "$root"/examples/extras/*.h >lengths
    status 0 packing lengths
    sed 's/of the file/file/; s/ %//g' out | awk '
        $1 ~ /^(uniform|exponential|lognormal|file)$/ {
            if (!($3 > $4 && $4 >= $5 && $5 >= $6 && $6 >= 0)) exit 1
            if ($2 < 32768 && !($7 > 2 * $5 && $8 > 0)) exit 1
            rows++
        }
        END { exit rows != 20 }'
    for wrong in '' '12 x' '12 0' '10 20' 3.5 -1 0; do
        printf '7\n%s\n' "$wrong" >lengths
        status 2 packing lengths
        finds "^packing: '$wrong' is not a number" err
    done
    : >lengths
    status 2 packing lengths
    finds 'has no lengths' err
    status 1 packing .
    finds '^packing: \.: [IP]' err
}

# Words of this repository. Only the spread has no step in which a stem comes
# twice, and leaves out no more than a shuffle does.
spread() {
    cat "$root"/examples/*.md "$root"/examples/*/*.md "$root"/*/*.[ch] \
        "$root"/*/*/*.py "$root"/statesampler.h | tr -cs 'A-Za-z' '\n' | grep . | sort -u >words
    status 0 spread words
    finds '^spread: ok, killed [1-9].* each of [0-9]* words came once' out
    awk 'NF == 5 { batches[$1] = $2; steps[$1] = $3; left[$1] = $4 }
        END { exit !(batches["shuffle"] > 3 && steps["shuffle"] > 9 &&
            batches["NO_DUPLICATES"] == 0 && steps["NO_DUPLICATES"] > 9 &&
            batches["spread"] + steps["spread"] == 0 &&
            left["spread"] == left["shuffle"]) }' out
    for change in 'stream s.apart--' 'stream ids[0] ^= 1' 'seed s.seed++'; do
        refuses_other spread ${change%% *} \
            "s/s.largest = spread_list/${change#* }; &/" words
    done
    sed 's/^/state/' words | cat words - >more
    status 1 spread more
    must=$(cut -c 1-5 more | sort | uniq -c | awk '
        { all += $1; size[NR] = $1 }
        END { room = int(all / 128)
            for (i in size) if (size[i] > room) must += size[i] - room
            print must }')
    finds "^spread: $must words must repeat a stem in a step" err
    : >none
    status 2 spread none
    finds 'a FILE with words is needed' err
    status 1 spread nowhere/file
    finds '^spread: nowhere/file: No such file' err
    status 1 spread .   # Is a directory, or Windows' Permission denied
    finds '^spread: \.: [IP]' err
}

check "quickstart.c is killed and loses nothing" quickstart
check "resume.c is killed and loses nothing" resume
check "elastic.c: 8, 3 and 5 ranks, each sample once" elastic
check "workers.c: threads without a lock, the same model" workers
check "evaluate.c: UNEVEN and PAD without padding are exact" evaluate
check "window.c: each chunk once, 4 open" window
check "windows.c: a larger window mixes better, and beats a buffer" windows
check "locate.c finds the broken sample, and any other" locate
check "round_robin.c: two datasets, three ranks, killed" round_robin
check "turns.c draws the picture in the README" turns
check "recipe_ranks.c: each of 7 ranks has its share" recipe_ranks
check "train_text.c: outputs are opened first, options may stand anywhere" \
    train_text
check "weights.c: each comes as often as its weight says" weights
check "recipes.c: each recipe of examples/README.md is there and works" recipes
check "factors.c: 64 epochs have 64 times the factor" factors
check "split.c: sets of exact size, of 10^12 ids too" split
check "buckets.c: 3 times the tokens per step, each sequence once" buckets
check "ledger.c: killed 604 times, the ledger has no bias" ledger
check "pack.c: killed, on 4, 3, 1, 6 ranks, each sample once" pack
check "packing.c: plans of this text leave less empty than in order" packing
check "groups.c: groups of copies by TRL's rule, killed, on 4, 3, 1, 6 ranks" \
    groups
check "spread.c: killed, no step of 4 ranks has two words of a stem" spread
check "ramp.c: batches grow, ranks die, each sample comes once" ramp
check "recipe_large.c: saves that fail leave the last checkpoint whole" \
    recipe_large_fails
if command -v mkfifo >/dev/null; then
    check "blend.c: killed on 4, 7 and 2 ranks, the model of one rank" blend
    check "recipe_large.c: killed 14 times, every checkpoint is whole" \
        recipe_large
    check "edit.c: ids added and removed, killed on 4, 7, 1 and 2 ranks" edit
    check "shards.c: shards from disk, killed on 4, 6 and 1 ranks" shards
    check "bag.c: killed in draws, hands, walks and changes, the same items" bag
else
    skip "bag.c, blend.c, edit.c, recipe_large.c, shards.c: mkfifo is not here"
fi
if [ -x "$bin/grow" ]; then
    check "grow.c: datasets come and go, the others go on" grow
else
    skip "grow.c: stb_ds.h is not here"
fi

# --- indices ------------------------------------------------------------------

# straight FILE OPTION...: asks about a run that went straight.
straight() {
    state=$1
    shift
    indices --straight --state $state "$@"
}

# by_steps FIRST RANK BATCH_SIZE: indices as the answers to --steps.
by_steps() {
    awk -v step="$1" -v rank="$2" -v size="$3" '
        NR % size == 1 || size == 1 {
            printf("%sepoch 0 step %d rank %d:", NR > 1 ? "\n" : "", step++,
                   rank)
        }
        { printf " %s", $1 }
        END { if (NR > 0) print "" }'
}

# What 4 ranks were served, and then 2 to the end of the epoch, is what the
# states answer: for each step, for each index, from its shape's beginning on.
steps_option() {
    for order in order=0 order=1 "order=2 chunk_size=10 window=2" partition=1
    do
        for tail in tail=0 tail=1 tail=2 "tail=2 drop_last=1"; do
            set -- num_samples=103 seed=3 $tail $order
            for r in 0 1 2 3; do
                rm -f early
                ./serve "$@" world_size=4 batch_size=3 rank=$r steps=5 early |
                    by_steps 0 $r 3
            done | sort -n -k 4 -k 6 >wanted
            straight early --steps 0..4 --all | same - wanted
            for r in 1 0; do
                cp early late
                ./serve "$@" world_size=2 batch_size=5 rank=$r steps=2 late \
                    >part$r
                cp late kept
                ./serve "$@" world_size=2 batch_size=5 rank=$r late |
                    cat part$r - | by_steps 5 $r 5
            done | sort -n -k 4 -k 6 >wanted
            last=$(awk 'END { print $4 }' wanted)
            case $tail in *drop_last=1) set -- --drop-last ;; *) set -- ;; esac
            straight kept --steps 5..$last --all "$@" | same - wanted
            straight early --world-size 2 --batch-size 5 --all \
                --steps 5..$last "$@" | same - wanted
            straight kept --steps 6..8 --rank 1 "$@" >answer
            grep ' step [678] rank 1:' wanted | same - answer
            status 1 straight kept --steps 4..6 "$@"
            finds 'step 4 of epoch 0: .* before the base' err
            empty out
            status 1 straight kept --steps 6..$((last + 1)) "$@"
            finds "step $((last + 1)) of epoch 0: .* past the end" err
            # Padding repeats in the last step what was served before.
            [ "$tail" != tail=0 ] || continue
            for index in 0 17 51 102; do
                code=0
                straight kept --where $index "$@" >answer || code=$?
                awk -v index_="$index" '
                    { sub(/:/, ""); for (i = 7; i <= NF && !found; i++)
                        if ($i == index_) {
                            printf "%d: epoch 0 step %d rank %d slot %d\n",
                                   index_, $4, $6, i - 7
                            found = 1
                        } }' wanted >place
                if [ -s place ]; then
                    equal $code 0
                    sed 's/ position.*//' answer | same - place
                else
                    equal $code 1
                    finds "^$index: epoch 0: .*serve" answer
                fi
            done
        done
    done
}

refused_questions() {
    rm -f state
    ./serve num_samples=100 steps=5 state >/dev/null
    for question in "--where 3" "--steps 0..1"; do
        : >damaged
        status 1 straight damaged $question
        finds 'size of the state' err
        head -c 111 state >damaged
        status 1 straight damaged $question
        finds 'size of the state' err
        { head -c 70 state; printf X; tail -c 41 state; } >damaged
        status 1 straight damaged $question
        finds 'bytes have changed' err
        numbers 1 10000 >damaged
        status 1 straight damaged $question
        printf SSL1 >damaged
        status 1 straight damaged $question
        finds "^indices: damaged: a ledger has tickets: ask the state of its" err
        { cat state; head -c 24 state; } >damaged
        status 1 straight damaged $question
        finds "^indices: damaged: pack.h's state has no lengths" err
        empty out
        status 1 straight nowhere $question
        finds 'no such file' err
        empty out
    done
    status 1 straight state --rank 1 --steps 0..1
    finds 'rank is not below world_size' err
    status 1 straight state --world-size 4294967295 \
        --batch-size 4294967295 --where 3
    finds 'world_size \* batch_size' err
    status 1 straight state --batch-size 1048577 --steps 0..0
    finds 'buffer is too small' err
    status 1 straight state --where 99 --where 100
    has out '100: epoch 0: index is not below num_samples'
    lines 2 out
    rm state
    ./serve num_samples=100 order=3 steps=5 state >/dev/null
    status 1 straight state --where 1
    finds '^1: epoch 0: locate does not work with REPLACEMENT' out
}

# A run that skips steps 290 to 320 by a seek, and one that does not, have the
# same state at step 400. What comes after it, the run may skip as well.
not_said_to_be_straight() {
    cat >skips.c <<'END_OF_PROGRAM'
#define STATESAMPLER_HOSTED
#include "statesampler.h"

#include <stdio.h>

int main(void)
{
    statesampler_desc desc = {.num_samples = 1000, .batch_size = 2};
    unsigned char state[STATESAMPLER_STATE_BYTES];
    uint64_t batch[2];
    statesampler s;
    size_t count;

    statesampler_init(&s, &desc);
    while (statesampler_step(&s) < 400) {
        if (statesampler_step(&s) == 290)
            statesampler_seek(&s, 321);
        statesampler_next(&s, batch, &count);
        printf("%d\n%d\n", (int)batch[0], (int)batch[1]);
    }
    statesampler_save(&s, state, sizeof state);
    return statesampler_save_file("skipped", state, sizeof state);
}
END_OF_PROGRAM
    ${CC:-cc} -std=c99 -O1 -w -I"$root" -DSTATESAMPLER_IMPLEMENTATION $core \
        -o skips skips.c
    ./skips >served
    rm -f state
    ./serve num_samples=1000 batch_size=2 steps=400 state | by_steps 0 0 2 \
        >straight
    same skipped state
    set -- $(sed -n 's/^epoch 0 step 300 rank 0: //p' straight)
    status 1 grep -qx "$1" served
    for question in "--steps 300..300" "--steps 399..399" "--steps 399..400" \
                    "--steps 400..400" "--where $1" "--epoch 1 --steps 0..0" \
                    "--epoch 1 --where $1" "--where 1000" \
                    "--world-size 2 --steps 401..401"; do
        status 1 indices --state skipped $question
        empty out
        finds '^indices: skipped: a state is one place of a run: .*' err
        finds '; --straight says that it did not$' err
        lines 1 err
    done
    straight state --steps 0..399 | same - straight
    ./serve num_samples=1000 batch_size=2 steps=1 state | by_steps 400 0 2 \
        >wanted
    straight skipped --steps 400..400 | same - wanted
    # At an epoch's end there is no next step in it.
    rm -f state
    ./serve num_samples=10 batch_size=2 steps=5 state >/dev/null
    status 1 straight state --steps 5..5
    finds 'step 5 of epoch 0: it is past the end' err
}

# Of other epochs, past or to come, what fresh runs of the same ranks serve.
epoch_option() {
    set -- num_samples=100 world_size=3 batch_size=4
    rm -f state
    ./serve "$@" steps=20 rank=2 state >/dev/null # in epoch 2
    for e in 0 1 2 7; do
        ./serve "$@" epoch=$e rank=1 | by_steps 0 1 4 |
            sed "s/epoch 0/epoch $e/" >wanted
        straight state --epoch $e --steps 0..8 --rank 1 | same - wanted
        straight state --epoch $e --where 42 >place
        rank=$(sed 's/.*rank \([0-9]*\).*/\1/' place)
        ./serve "$@" epoch=$e rank=$rank |
            sed -n "$(sed 's/.*step \([0-9]*\).*slot \([0-9]*\).*/\1 \2/' place |
                      awk '{ print $1 * 4 + $2 + 1 }')p" >found
        equal "$(cat found)" 42
    done
    # With CARRY the steps of all epochs are counted on.
    set -- num_samples=50 tail=3 batch_size=7 seed=4
    rm -f state
    ./serve "$@" steps=30 state >/dev/null
    ./serve "$@" steps=60 >all
    for e in 0 1 3 4 5 7; do
        straight state --where 11 --epoch $e >place
        finds "^11: epoch $e " place
        at=$(sed 's/.*step \([0-9]*\).*slot \([0-9]*\).*/\1 \2/' place |
             awk '{ print $1 * 7 + $2 + 1 }')
        equal "$(sed -n "${at}p" all)" 11
        equal $(((at - 1) / 50)) $e
    done
    straight state --epoch 7 --steps 0..59 >place
    by_steps 0 0 7 <all | awk '{ $2 = int($4 * 7 / 50); print }' |
        same - place
    rm state
    ./serve "$@" epoch=5 steps=30 state >/dev/null
    # From epoch 9, 2^63 + 1 epochs of 50 samples are 50 where numbers wrap.
    for e in 4 9223372036854775818 18446744073709551614; do
        status 1 straight state --where 11 --epoch $e
        finds 'no such step\|too far from the base' err
    done
}

# The block of the page on extras, run as it stands.
readme_answers() {
    sed -n '/^## Which samples/,/^## Groups/p' "$root/examples/extras/README.md" |
        sed -n '/^```/,/^```/p' | grep -v '^```' >block
    rm -f quickstart.state
    ln -sf "$bin" build
    sed -n 's/^\$ //p' block >commands
    sh ./commands >answers
    grep -v '^\$' block | same - answers
    lines 3 answers
}


# bad TEXT OPTION...: refused with this text in the message, nothing printed.
bad() {
    text=$1
    shift
    status 2 indices "$@"
    empty out
    finds -F -e "$text" err
    equal "$(sed -n 2p err)" "Try 'indices --help'."
    lines 2 err
}

bad_options() {
    bad "give --state FILE"
    bad "give --state FILE" --steps 1..2
    bad "and --steps A..B or --where INDEX" --state nowhere
    bad "and --steps A..B or --where INDEX" --state nowhere --all --straight
    bad "unknown option '--sed'" --state nowhere --sed 3
    bad "give --state FILE" --straight --steps 1..2
    bad "unknown option '10'" 10 11
    for option in --state --steps --where --rank --epoch --world-size \
                  --batch-size; do
        bad "'$option' needs a value" --where 1 $option
        [ $option = --state ] || bad "'-1' is not" --state nowhere $option -1
    done
    for value in '' x +1 ' 1' 1x 0x10 1.5 18446744073709551616; do
        bad "'$value' is not a number from 0 to 18446744073709551615" \
            --where "$value"
    done
    for option in --world-size --batch-size; do
        bad "'0' is not a number from 1 to 4294967295" $option 0
    done
    for range in '' 1 1.. ..2 1..2..3 1...2 x..2 1..y -1..2 1..-2 3..2; do
        bad "' is not " --steps "$range"
    done
}

${CC:-cc} -std=c99 -O1 -w -I"$root" -DSTATESAMPLER_IMPLEMENTATION $core \
    -o serve "$root/tests/serve.c"
check "indices: --steps and --where: what 4 ranks, then 2 were served" \
    steps_option
check "indices: without --straight, a state answers no question" \
    not_said_to_be_straight
check "indices: a state that is damaged or missing is refused" \
    refused_questions
check "indices: --epoch: other epochs, and CARRY's" epoch_option
check "indices: examples/extras/README.md shows what is printed" readme_answers
check "indices: a bad option has status 2 and a message that names it" \
    bad_options

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

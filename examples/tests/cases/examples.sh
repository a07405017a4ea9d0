# examples.sh - the programs of examples/*.c.

# --- Those that check themselves ----------------------------------------------

# A program and its arguments, and below them what its last line claims after
# "NAME: ok, ". A dot is any character. A new example that can show by itself
# that it works needs nothing but its lines here.
claims() {
    cat <<'END'
bag
    10 bags: each item once in each, none while it was in a hand, back by the
    way it came, from 16 bytes in each of 400 steps
blend
    each source has its exact share, each batch is within 1.00 samples of it,
    and every shape trains on the same samples
buckets
    3.5 times the tokens per step, less than 6 % padding and 1 % waiting, all
    ranks in the same bucket, each sequence once
edit checkpoint
    each of 994 readable ids once, none of 55 removed ids, a readable one for
    each of 101 others, positions unchanged
elastic
    1003 of 1003 samples served, each exactly once, by 8, 3 and 5 ranks
evaluate
    UNEVEN, and PAD without padding, are exact for every number of ranks; PAD
    is exact for 1 of 7
even_window
    each step has samples of 54 chunks or more in windows of 61, and of 6 in
    windows of 64
factors
    each image as often as its factor, rounded in an epoch, less than 1 off in
    64 epochs
groups
    killed 48 times, 31488 positions of groups of 8 are those of one rank that
    was never killed
grow
    web and code continued, mail is gone, books began; then code is gone
history saved
    248 bytes of history have all 503 steps of the run, and the 31 that were
    skipped
ledger
    killed 604 times, the ledger has each of 20000 samples once in each of 10
    epochs; the other two ways have a bias
locate
    sample 31337 is found by the loss of its step, and served where locate says
pack
    killed 27 times: each of 5003 samples once an epoch, 0.73 % padding
packing
    plans of 10,000 samples leave at most 0.0.. % of eight mean lengths empty
ramp
    3 batch sizes on 8, 7 and 6 ranks, each sample once
recipe_changed
    each of 1000 samples once in the first epoch, each of 1200 once in the next
recipe_datasets
    6000, 4000 and 2000 samples of three datasets, in turns of 3 : 2 : 1
recipe_large large
    weights 3dfd3c29d6189600, as of a run that was never killed
recipe_one_gpu
    each of 10000000 samples exactly once in each of 3 epochs
recipe_order
    each of 1000 samples once, the 300 easy samples first
recipe_pretrain
    79 full steps, each of 1001 samples exactly once in each of 5 epochs
recipe_ranks
    rank 0 of 1 had 1000 of 1000 samples in 125 steps
recipe_weights
    each of 1000 samples as often as its weight says, 2000 in all
recipes_groups
    5 recipes do what they say
recipes_loops
    3 recipes do what they say
recipes_orders
    4 recipes do what they say
recipes_parallel
    4 recipes do what they say
recipes_steering
    7 recipes do what they say
recipes_streams
    2 recipes do what they say
resume
    killed 5 times, it went on at the very next batch, and has the model of a
    run never killed
round_robin
    20 samples of 2 datasets in turns, each exactly once in each of 2 epochs,
    by the same rank
schedule
    with schedule.h no source is 1.0 turns from its share; with mix_weigh every
    100 turns 222 of 300 are never served
shards shards
    each of 1110 sequences in 13 shards once, at most 3 shards open
split
    sets of exact size, each id in one fold, the 10 % in the 20 %
spread text
    killed 5 times, each of 2300 words came once, no step has two of a stem
train_text --epochs 1 text
    each of 9346 samples exactly once in 1 of 1 epochs
turns
    FIRST ends after 9 turns, ALL after 12, RESTART after 17, NEVER never
weights
    each sample, class and dataset as often as its weight says, on 3 ranks and
    then on 2
window
    WINDOW reads each of 101 chunks once with at most 4 open, SHUFFLE reads 9647
windows low high
    each order has each of 1050 samples once
workers
    782 batches loaded ahead by threads give the same model as without threads
END
}

# A program of that list by itself, and when it fails: for a wrong argument, for
# a full disk, and with a library that is broken, of which it must say so.
example() { # PROGRAM
    arguments=$(claims | sed -n "s/^$1\$//p; s/^$1 //p")
    claim=$(claims | awk -v name="$1" '
        /^[^ ]/ { found = $1 == name; next }
        found { $1 = $1; printf "%s%s", space, $0; space = " " }')
    program $1
    answers_help $1
    refuses_nonsense $1
    status 0 in_new_folder "$PWD/bin/$1" $arguments
    # Where the output is a picture, the last line is an error's.
    cat said err | tail -n 1 >last
    finds -x "$1: ok, $claim" last
    notices_full_disk $1 $arguments
    notices_full_disk $1 --help
    compile_broken $1
    status 1 in_new_folder "$PWD/broken_$1" $arguments
    cat said err >both
    finds FAILED both
}

# Runs a command in a folder that has only the files that examples read.
in_new_folder() { # COMMAND...
    rm -rf run
    mkdir run
    numbers 1 2300 >run/text
    numbers 1 600 >run/low
    numbers 601 1200 >run/high
    (cd run && "$@" </dev/null)
}

answers_help() { # PROGRAM
    status 0 bin/$1 --help
    finds "^usage: \(.*/\)\?$1" said
    empty err
    equal "$(awk 'length > 79' said)" ""
}

refuses_nonsense() { # PROGRAM
    status 2 bin/$1 --nonsense
    finds "^$1: .*--nonsense" err
    has err "Try '$1 --help'."
    empty said
}

notices_full_disk() { # PROGRAM [ARGUMENT...]
    [ -c /dev/full ] || return 0
    code=0
    in_new_folder "$PWD/bin/$@" >/dev/full 2>err || code=$?
    equal $code 1
    finds "^$1: .*No space left on device" err
}

compile_broken() { # PROGRAM
    printf '#include "%s"\n' examples/tests/broken.h examples/$1.c >broken.c
    if [ $1 = grow ]; then
        ${CC:-cc} -std=c99 -O1 -w -DSTATESAMPLER_STB_DS -I. $STB_FLAGS \
            -o broken_$1 broken.c -lm
    else
        compile_here broken_$1 broken.c
    fi
}

# --- What the tests below share -----------------------------------------------

# Makes examples, and links to them in the folder `bin`. The header's functions
# are compiled once for all; grow.c has its own, with stb_ds.h.
core=build/test/cc/core.o
program() { # NAME...
    mkdir -p bin
    quietly make_once $core
    for name; do
        if [ $name = grow ]; then
            quietly make_once build/$name
        else
            quietly make_once build/$name LDFLAGS="$LDFLAGS $core" \
                CFLAGS="$CFLAGS -DSTATESAMPLER_IMPLEMENTATION_INCLUDED"
        fi
        ln -sf "$root/build/$name" bin/$name
    done
}

# Compiles a source file of a test's own, or a changed example, with the same.
compile_here() { # PROGRAM SOURCE [FLAG...]
    name=$1 source=$2
    shift 2
    quietly make_once $core
    ${CC:-cc} -std=c99 -O1 -Werror \
        -DSTATESAMPLER_IMPLEMENTATION_INCLUDED -I. \
        -Iexamples "$@" -o "$name" "$source" "$root/$core" -lm -pthread
}

# Root may read everything, unless it gives up what makes it root.
as_anyone() { # COMMAND...
    if [ "$(id -u)" = 0 ]; then
        setpriv --bounding-set=-all --inh-caps=-all "$@"
    else
        "$@"
    fi
}

# Kills a program in its step number STEPS, in which it waits for a byte that
# does not come. Adds its output to `served`.
is_killed() { # STEPS PROGRAM ARGUMENT...
    steps=$1
    shift
    rm -f gate pipe
    mkfifo gate pipe
    "$@" <gate >pipe 2>err &
    pid=$!
    exec 4>gate 3<pipe
    numbers 2 "$steps" | tr -d '0-9' >&4
    while [ "$steps" -gt 0 ] && read -r line <&3; do
        echo "$line" >>served
        case $line in step*) steps=$((steps - 1)) ;; esac
    done
    code=0
    kill -9 $pid && wait $pid || code=$?
    exec 4>&- 3<&-
    equal $code 137
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

# A program whose next run has other groups, a seed or steps by an edit: it
# refuses the state of the run before.
refuses_other() { # PROGRAM FIELD EDIT [ARGUMENT]
    sed "$3" examples/$1.c >other.c
    compile_here other other.c
    status 1 ./other $4
    finds "^$1: the state has another $2" err
}

# --- Several of them ----------------------------------------------------------

# A text, and what cannot be read for two reasons; `absent` is not there.
make_unreadable() {
    numbers 1 2300 >text
    mkdir folder
    cp text secret
    chmod 0 secret
}

# Whatever keeps a file from being read: the message has its name and why.
unreadable() {
    program indices packing spread train_text windows recipe_large
    make_unreadable
    while read -r name before; do
        for refused in 'absent: \(No such file\|there is no such file\)' \
            'folder: Is a directory' 'secret: Permission denied'; do
            status 1 as_anyone bin/$name $before "${refused%%:*}"
            finds "^$name: \(cannot [a-z]* \)\?$refused" err
        done
    done <<'END'
indices --where 3 --state
packing
spread
train_text
windows text
END
    status 1 as_anyone bin/recipe_large secret
    finds '^recipe_large: secret: Permission denied' err
}

# A disk that fails in the middle of a file.
fails_late() {
    program packing spread windows train_text recipe_large
    numbers 1 2300 >text
    for reader in 'packing text' 'spread text' 'windows text text' \
        'train_text text'; do
        name=${reader%% *}
        status 1 strace -qq -o trace -P text -e inject=read:error=EIO:when=2+ \
            bin/$reader
        finds "^$name: .*text: Input/output error" err
    done
    status 0 bin/recipe_large late
    for weights in late.0 late.1; do
        strace -qq -o trace -P $weights -e inject=read:error=EIO:when=2+ \
            bin/recipe_large late >said 2>>err || :
    done
    finds '^recipe_large: late.[01]: Input/output error' err
}

# What make demo says of files that it cannot train on.
demo_files() {
    make_unreadable
    mkfifo pipe
    for refused in 'absent: No such file' 'secret: Permission denied'; do
        status 1 as_anyone sh examples/demo.sh /bin/true \
            text "${refused%%:*}"
        finds "^demo: cannot read $refused" err
    done
    for file in folder pipe; do
        status 1 sh examples/demo.sh /bin/true text $file
        has err "demo: $file is not a regular file"
    done
    status 1 sh examples/demo.sh /bin/true text text
    finds '^demo: 20786 bytes are too few to train on, it takes 100000' err
}

# The demo of a run whose weights a byte too much has made others: it says that
# this claim alone is not true, and fails. It writes beside the copy's folder.
demo_false() {
    program train_text
    cat >changes <<'END'
#!/bin/sh
case $* in
*'--ranks 3'*) bin/train_text "$@" && printf x >>build/demo/killed.weights ;;
*) exec bin/train_text "$@" ;;
esac
END
    chmod +x changes
    mkdir copy
    cp examples/demo.sh copy
    numbers 1 21000 >text
    status 1 sh copy/demo.sh ./changes text
    finds '^ *bit-identical .* NO$' said
    equal "$(grep -c ' yes$' said)" 6
    finds '^demo: FAILED, 1 of these' err
}

# Each program that the manual names in HOW TO has the lines indented below its
# name, one after the other, except for empty lines. Each recipe is named.
manual() {
    awk '/^HOW TO/ { there = 1; next } /^[A-Z]/ { there = 0 } there' \
        statesampler.h >manual
    grep -o 'examples/[a-z_]*\.c)$' manual | tr -d ')' | sort >quoted
    for name in ranks datasets; do
        has quoted examples/recipe_$name.c
    done
    for source in $(cat quoted); do
        awk -v name="($source)" '
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
            }' wanted $source || {
            echo "of $source"
            return 1
        }
    done
}

# --- One by one ---------------------------------------------------------------

# Killed after a line: the next run goes on from the last save, which is that of
# step 50 or 100, or of the end of an epoch of 125 steps.
quickstart() {
    program quickstart
    ! command -v g++ >/dev/null ||
        g++ -x c++ -std=c++20 -I. -fsyntax-only examples/quickstart.c
    status 0 bin/quickstart
    cp said whole
    for epoch in 1,125p 126,250p; do
        sed -n $epoch said | tr -s ' ' '\n' | sed '/^$/d' | sort -n >served
        numbers 0 999 | same - served
    done
    status 0 bin/quickstart
    has said done
    lines 1 said
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
            examples/quickstart.c
    } >killed.c
    compile_here killed_quickstart killed.c
    while read -r line saved; do
        rm -f quickstart.state
        LAST=$line status 137 ./killed_quickstart
        lines $line said
        head -n $saved said >before
        status 0 bin/quickstart
        cat before said | same - whole
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
        status 1 sh -c 'bin/quickstart >/dev/full'
        has err 'quickstart: No space left on device'
        status 0 bin/quickstart
        same said whole
        status 1 sh -c 'bin/quickstart >/dev/full'
    fi
    printf X >quickstart.state
    status 1 bin/quickstart
    finds 'state or file is wrong' said
    rm quickstart.state
    mkdir quickstart.state
    status 1 bin/quickstart
    has err 'quickstart.state: Is a directory'
    empty said
}

# Each run begins where the one before it ended, and nothing is left behind.
resume() {
    program resume
    TMPDIR="$PWD/odd/a \$HOME \"'"
    mkdir -p "$TMPDIR"
    export TMPDIR
    status 0 bin/resume
    equal "$(ls "$TMPDIR")" ""
    accepts 'BEGIN { next_step = 0 }
         / \.\. / { if ($2 != next_step) {
                        print "not " next_step ": " $0; exit 1 }
                    next_step = $4 + 1 }
         END { exit next_step != 96 }' said
    TMPDIR=$PWD/nowhere
    status 1 bin/resume
    finds "^resume: .*nowhere/.*: No such file or directory" err
}

# Lines of this repository in three languages. Batches of larger windows are
# better mixed, and windows learn more than buffers in the order of the files.
windows() {
    program windows
    head -n 3000 statesampler.h >c
    cat tests/*.sh tests/cases/*.sh | head -n 3000 >shell
    cat examples/js/*.mjs examples/js/tests/*.mjs | head -n 3000 >js
    status 0 bin/windows c shell js
    accepts '/ bits / {
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
        }' said
    status 2 bin/windows c
    finds 'two FILEs and 1,171 lines' err
    head -n 300 c >few
    status 2 bin/windows few few
    status 1 bin/windows c nowhere/file
    finds '^windows: nowhere/file: No such file' err
    status 1 bin/windows c .
    finds '^windows: \.: [IP]' err
    empty said
}

# Any sample is found as the broken one is.
locate() {
    program locate
    status 0 bin/locate
    grep '^sample' said | head -n 2 >places
    status 0 bin/locate 31337
    grep '^sample' said | same - places
    status 0 bin/locate 0 100002
    equal "$(grep -c '^sample' said)" 4
    for wrong in 100003 -1 x '' 99999999999999999999; do
        status 2 bin/locate 0 "$wrong"
        finds -F "'$wrong'" err
        empty said
    done
}

# The program draws the README's picture.
turns() {
    program turns
    status 0 bin/turns
    same said examples/turns.svg
    # 3 + 3 + 6 + 6 + half of 18, and 2 in the legend
    equal "$(grep -c '#3b6fb6' said)" 29
    equal "$(grep -c '>dataset [0-2]: [3-5] batches<' said)" 3
}

grow() {
    program grow
    status 0 bin/grow
    for line in "matched code" "new     books" "matched web" \
                "removed number 1 of the state"; do
        has said "    $line"
    done
    # The datasets that stay are where they were, and the new one begins.
    for name in code web; do
        equal "$(grep " $name  *epoch" said | sed -n 1p)" \
            "$(grep " $name  *epoch" said | sed -n 2p)"
    done
    has said "    books  epoch 0, step 0 of 13"
    # Without code, web and books are where they were.
    has said "    removed number 0 of the state"
    for name in web books; do
        equal "$(grep " $name  *epoch" said | tail -n 2 | sort -u | wc -l)" 1
    done
}

# Continues from the file `state` until it is killed. Its output does not fit a
# pipe, so that it cannot finish before.
blend_killed() { # RANKS BATCH
    bin/blend state $1 $2 >pipe 2>err &
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
    program blend
    mkfifo pipe
    blend_killed 4 32
    finds '^turn 0, 4 ranks' part
    blend_killed 7 3
    first=$(sed -n 's/^turn \([0-9]*\),.*/\1/p' part | tail -n 1)
    blend_killed 2 20
    second=$(sed -n 's/^turn \([0-9]*\),.*/\1/p' part | tail -n 1)
    [ "$first" -gt 0 ] && [ "$second" -gt "$first" ]
    status 0 bin/blend state 8 25
    grep '^model' said >model
    accepts '/^turn/ { batch = $NF }
        /\// { for (i = 1; i <= NF; i++) {
                    split($i, part, "/"); n += part[1]; share += part[2]
                    if (part[1] - part[2] > 3 || part[2] - part[1] > 3) exit 1 }
                if (n > batch || share < n - 0.5 || share > n + 0.5) exit 1
                rows++; n = share = 0 }
        END { exit rows < 100 }' said
    status 0 bin/blend
    grep '^model' said | same - model
    has said "of 512 equal datasets a rank sees 64 in a fixed slot, 512 in\
 dealt slots"
    status 2 bin/blend state 0 5
    status 2 bin/blend state 5
    finds 'RANKS and BATCH' err
    echo other >state
    status 1 bin/blend state 1 1
    empty said
    has state other
    status 1 bin/blend nowhere/state 1 1
    finds '^blend: nowhere/state: No such file or directory' err
    empty said
}

# Each part of the table of recipes names a file. This has what the part's rows
# name, and prints a line for each row.
recipes_readme=examples/README.md
recipes() {
    sed -n '/^## Recipes/,/^## Coming/p' $recipes_readme >table
    : >all_rows
    for source in examples/recipes_*.c; do
        file=$(basename $source)
        name=${file%.c}
        awk -v file="[$file]($file)" '
            /^\| \*\*/ { inside = index($0, file) > 0; next }
            inside && /^\| .* \| `/' table >rows
        [ -s rows ]
        cat rows >>all_rows
        program $name
        status 0 bin/$name
        equal "$(grep -c '^ok ' said)" "$(wc -l <rows)"
        for recipe in $(grep -o '`[a-z_]*`' rows | tr -d '`'); do
            finds " $recipe(" $source
        done
    done
    equal "$(grep -c '^| .* | `' table)" "$(wc -l <all_rows)"
}

recipe_ranks() {
    program recipe_ranks
    for r in 0 1 2 3 4 5 6; do
        status 0 env -i RANK=$r WORLD_SIZE=7 bin/recipe_ranks
        finds ": ok, rank $r of 7 had 143 of 1000 samples in 18 steps" said
    done
    status 1 env -i RANK=3 WORLD_SIZE=3 bin/recipe_ranks
    finds '^recipe_ranks: .*rank' err
}

# Killed after a step, which is while it saves; what it left behind goes.
recipe_large() {
    program recipe_large
    mkfifo pipe
    for steps in 1 2 3 5 8 13 4 9 2 21 7 6 10 3; do
        bin/recipe_large large >pipe 2>err &
        pid=$!
        exec 3<pipe
        head -n $steps <&3 >said
        code=0
        kill -9 $pid && wait $pid || code=$?
        exec 3<&-
        equal $code 137
        lines $steps said
    done
    status 0 bin/recipe_large large
    finds 'ok, weights [0-9a-f]*, as of a run that was never killed' said
    equal "$(echo large* .statesampler-*)" \
        'large large.0 large.1 .statesampler-*'
    # Weights that are not those of the checkpoint.
    cp large.0 large.1
    printf x >>large
    status 1 bin/recipe_large large
    finds '^recipe_large: large: .*size of the state or file is wrong' err
    rm large
    status 0 bin/recipe_large large
    dd if=/dev/zero of=large.0 bs=1000 count=1 conv=notrunc 2>err
    dd if=/dev/zero of=large.1 bs=1000 count=1 conv=notrunc 2>err
    status 1 bin/recipe_large large
    finds '^recipe_large: .*damaged' err
}

# A program that saves again after a save failed, as on a full disk, must not
# write to the file that the last checkpoint names. With a path that is too long
# for ".0" both files would have one name, if it were cut.
recipe_large_fails() {
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
    compile_here again again.c
    status 0 ./again
}

# Kills next to each of three edits, on other ranks each time. An interrupted
# step, and an edit before it, are done again.
edit() {
    program edit
    is_killed 11 bin/edit checkpoint 4
    is_killed 4 bin/edit checkpoint 7
    is_killed 21 bin/edit checkpoint 1
    is_killed 1 bin/edit checkpoint 2
    status 0 bin/edit checkpoint 3 </dev/null
    cat said >>served
    grep '^step' served >steps
    goes_on 4 steps
    equal "$(awk '$1 == "step" && $4 != ranks { printf "%s ", $4; ranks = $4 }
             ' served)" "4 7 1 2 3 "
    # Each id was added; it was removed, too late to remove, or stays.
    awk '$1 == "position" { edit[$2] = $0 }
         END { for (i in edit) { split(edit[i], n, " "); put += n[3]
                   out += n[5] }
               print put, out, put - out }' served >sums
    awk '/: ok,/ { print 1150, $11, $5 + $20 }' served | same - sums
}

# Killed while it takes, holds, adds, walks back, discards, removes and draws:
# the same items come, with the same states, as without a kill.
bag() {
    program bag
    status 0 bin/bag
    grep '^step' said >whole
    lines 400 whole
    for steps in 4 2 4 6 3 4 123; do
        is_killed $steps bin/bag checkpoint
    done
    cp checkpoint kept
    status 0 bin/bag checkpoint </dev/null
    cat said >>served
    grep '^step' served >steps
    goes_on 7 steps
    uniq steps | same - whole
    # Other items, and another state.
    for byte in 3 9 16 40; do
        cp kept checkpoint
        printf '\377' | dd of=checkpoint bs=1 seek=$byte conv=notrunc 2>err
        cp checkpoint before
        status 1 bin/bag checkpoint </dev/null
        finds '^bag: this state was not saved with these items' err
        empty said
        same checkpoint before
    done
    printf X >checkpoint
    status 1 bin/bag checkpoint </dev/null
    finds '^bag: checkpoint: .*size of the state or file is wrong' err
    status 1 bin/bag nowhere/checkpoint </dev/null
    finds '^bag: nowhere/checkpoint: No such file' err
}

# The rate would be wrong by steps, and a batch is owed to the second dead rank.
ramp() {
    program ramp
    status 0 bin/ramp
    equal "$(grep -c 'a rank dies' said)" 2
    finds 'planned 0.500, by position 0.50., by steps 0.1' said
    has said "16 samples served at the end: step 215 of rank 2"
}

# Makes the folder, is killed on one rank and more, and refuses damaged shards.
shards() {
    program shards
    is_killed 7 bin/shards shards 4
    is_killed 2 bin/shards shards 6
    is_killed 40 bin/shards shards 1
    equal "$(wc -c <shards/checkpoint | tr -d ' ')" 144
    status 0 bin/shards shards 5 </dev/null
    has said 'state: 112 bytes'
    cat served said | grep '^step' >steps
    goes_on 3 steps
    for tear in "head -c 1023" "head -c 3000" "tail -c +2"; do
        rm -rf torn
        cp -r shards torn
        rm torn/checkpoint
        $tear shards/4.bin >torn/4.bin
        status 1 bin/shards torn </dev/null
        finds '^shards: torn/4.bin: it is no shard of tokens' err
    done
    status 1 bin/shards nowhere/shards
    finds '^shards: cannot make the folder nowhere/shards: No such file' err
    # Another folder's checkpoint.
    rm -f torn/4.bin
    cp shards/checkpoint torn
    status 1 bin/shards torn </dev/null
    finds 'the state has another num_samples' err
}

# Wrong options, the same weights on other ranks, and checkpoints that it does
# not take.
train_text() {
    program train_text
    numbers 1 2300 >text
    numbers 2 2300 >other
    head -n 200 text >short
    set -- bin/train_text --epochs 1
    status 2 "$@"
    finds 'train_text: 1 to 16 files, please' err
    status 2 "$@" $(yes text | head -n 17)
    finds 'train_text: 1 to 16 files, please' err
    status 2 "$@" --ranks 7 text
    finds '48 samples cannot be divided by 7 ranks' err
    status 2 "$@" --ranks
    finds "'' is not a number from 1 to 48" err
    status 2 "$@" --epochs 0 text
    finds "'0' is not a number from 1 to 100000" err
    status 1 "$@" short
    finds '^train_text: short: too short to train on' err
    status 1 "$@" nowhere/text
    finds '^train_text: nowhere/text: there is no such file' err
    for option in --weights --checkpoint; do
        status 1 "$@" $option nowhere/file text
        finds '^train_text: nowhere/file: No such file' err
    done
    same_weights
    refused_checkpoints
}

# On other ranks, from the start and after a kill. That prints more than a pipe
# holds, so it cannot end before.
same_weights() {
    set -- bin/train_text --epochs 12
    status 0 "$@" --weights whole text
    equal "$(wc -c <whole | tr -d ' ')" 589824
    status 0 "$@" --ranks 3 --weights of_three text
    same whole of_three
    mkfifo pipe
    "$@" --checkpoint killed --every 1 text >pipe &
    pid=$! code=0
    {
        for line in 1 2 3 4 5 6 7 8 9 10; do
            read -r line
        done
        kill -9 $pid
    } <pipe
    wait $pid || code=$?
    equal $code 137
    status 0 "$@" --ranks 6 --checkpoint killed --weights again text
    finds '^resumed: step ' said
    same whole again
    # At the end there is nothing left to do.
    status 0 "$@" --checkpoint killed --weights at_once text
    finds '^resumed: step 2340 of 2340, 12.000 epochs' said
    same whole at_once
}

refused_checkpoints() {
    set -- bin/train_text --epochs 1 --checkpoint
    status 0 "$@" checkpoint text
    cp checkpoint kept
    status 1 "$@" checkpoint other
    finds '^train_text: checkpoint: the state has another ' err
    sed 's/2/3/' text >same_length
    status 1 "$@" checkpoint same_length
    finds '^train_text: checkpoint: the state has another stream' err
    status 1 "$@" checkpoint text text
    finds '^train_text: checkpoint: the checkpoint is of 1 texts and 1 epochs' err
    status 1 "$@" checkpoint --epochs 2 text
    finds '^train_text: checkpoint: the checkpoint is of 1 texts and 1 epochs' err
    # Neither has that done harm, nor does a disk that is full.
    status 1 limited "$@" checkpoint --epochs 1 text
    finds '^train_text: checkpoint: File too large' err
    same checkpoint kept
    # Cut, and with a bit of a weight changed.
    head -c 500000 kept >cut
    status 1 "$@" cut text
    finds '^train_text: cut: ' err
    { head -c 499999 kept; echo x; tail -c +500002 kept; } >damaged
    status 1 "$@" damaged text
    finds '^train_text: damaged: the checkpoint is damaged' err
}

# A command that can write no file of more than some 100 KB.
limited() { # COMMAND...
    (trap '' XFSZ && ulimit -f 200 && "$@")
}

groups() {
    program groups
    for numbers in '' '1003 16 9 1' '48 1 48 3' '97 48 1 1' '50 16 3 5' \
        '700 3 16 7' '1000 144 1 1' '999 12 4 3'; do
        status 0 bin/groups $numbers
    done
    status 2 bin/groups 10 8 24 2
    finds '10 prompts do not make a generation batch of 24' err
    status 2 bin/groups 100 7 3 1
    finds 'must be a multiple of 48' err
    for wrong in '5 5 5' '0 1 1 1' '1 -1 1 1' '1 1 x 1' '1 1 1'; do
        status 2 bin/groups $wrong
        empty said
    done
    for huge in '18446744073709551615 8 6 99' '48 1 48 18446744073709551615' \
        '1e9 1 48 1' '1000000000 1 48 1' '48 18446744073709551615 48 2'; do
        status 2 bin/groups $huge
        empty said
    done
    refuses_other groups stream 's,lives++,&\, g.copies *= 2\, g.reuse /= 2,' ''
}

# Whatever the lengths are; those of packs must be in the budget.
pack() {
    program pack
    for shortest in '' 1 500 1000; do
        status 0 bin/pack $shortest
    done
    status 1 bin/pack 0
    finds 'sample 0: a length is 0 or above the budget' err
    for wrong in 1001 -1 1x x ''; do
        status 2 bin/pack "$wrong"
        empty said
    done
}

# The paragraphs of this repository, a byte as a token: plans leave less empty
# than packs in order, the larger ones less, and best fit over all the least.
packing() {
    program packing
    awk -v RS= '{ print length }' README.md statesampler.h tests/*.[ch] \
        examples/*.[ch] examples/extras/*.h >lengths
    status 0 bin/packing lengths
    sed 's/of the file/file/; s/ %//g' said >table
    accepts '
        $1 ~ /^(uniform|exponential|lognormal|file)$/ {
            if (!($3 > $4 && $4 >= $5 && $5 >= $6 && $6 >= 0)) exit 1
            if ($2 < 32768 && !($7 > 2 * $5 && $8 > 0)) exit 1
            rows++
        }
        END { exit rows != 20 }' table
    for wrong in '' '12 x' '12 0' '10 20' 3.5 -1 0; do
        printf '7\n%s\n' "$wrong" >lengths
        status 2 bin/packing lengths
        finds "^packing: '$wrong' is not a number" err
    done
    : >lengths
    status 2 bin/packing lengths
    finds 'has no lengths' err
    status 1 bin/packing .
    finds '^packing: \.: [IP]' err
}

# Six thousand words with 1 to 12 of a stem. Only the spread has no step in
# which a stem comes twice, and leaves out no more than a shuffle does.
spread() {
    program spread
    awk 'BEGIN { for (stem = 10000; words < 6000; stem++)
            for (i = 0; i <= stem % 12; i++) { print stem i; words++ } }' >words
    status 0 bin/spread words
    accepts 'NF == 5 { batches[$1] = $2; steps[$1] = $3; left[$1] = $4 }
        END { exit !(batches["shuffle"] > 3 && steps["shuffle"] > 9 &&
            batches["NO_DUPLICATES"] == 0 && steps["NO_DUPLICATES"] > 9 &&
            batches["spread"] + steps["spread"] == 0 &&
            left["spread"] == left["shuffle"]) }' said
    for change in 'stream s.apart--' 'stream ids[0] ^= 1' 'seed s.seed++'; do
        refuses_other spread ${change%% *} \
            "s/s.largest = spread_list/${change#* }; &/" words
    done
    sed 's/^/state/' words | cat words - >more
    status 1 bin/spread more
    must=$(cut -c 1-5 more | sort | uniq -c | awk '
        { all += $1; size[NR] = $1 }
        END { room = int(all / 128)
            for (i in size) if (size[i] > room) must += size[i] - room
            print must }')
    finds "^spread: $must words must repeat a stem in a step" err
    : >none
    status 2 bin/spread none
    finds 'a FILE with words is needed' err
    status 1 bin/spread nowhere/file
    finds '^spread: nowhere/file: No such file' err
    status 1 bin/spread .   # Is a directory, or Windows' Permission denied
    finds '^spread: \.: [IP]' err
}

# --- indices ------------------------------------------------------------------

# The program, and tests/serve.c, which says what is served.
begin_questions() {
    program indices
    quietly make_once build/test/cc/serve
}

serve() { # SETTING... [STATE]
    "$root/build/test/cc/serve" "$@"
}

# Asks about a run that went straight.
straight() { # FILE OPTION...
    state=$1
    shift
    bin/indices --straight --state $state "$@"
}

# Indices as the answers to --steps.
by_steps() { # FIRST RANK BATCH_SIZE
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
    begin_questions
    for order in order=0 order=1 "order=2 chunk_size=10 window=2" partition=1
    do
        for tail in tail=0 tail=1 tail=2 "tail=2 drop_last=1"; do
            set -- num_samples=103 seed=3 $tail $order
            for r in 0 1 2 3; do
                rm -f early
                serve "$@" world_size=4 batch_size=3 rank=$r steps=5 early |
                    by_steps 0 $r 3
            done | sort -n -k 4 -k 6 >wanted
            straight early --steps 0..4 --all | same - wanted
            for r in 1 0; do
                cp early late
                serve "$@" world_size=2 batch_size=5 rank=$r steps=2 late \
                    >part$r
                cp late kept
                serve "$@" world_size=2 batch_size=5 rank=$r late |
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
            empty said
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
    begin_questions
    rm -f state
    serve num_samples=100 steps=5 state >/dev/null
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
        finds '^indices: damaged: a ledger has tickets: ask the state' err
        { cat state; head -c 24 state; } >damaged
        status 1 straight damaged $question
        finds "^indices: damaged: pack.h's state has no lengths" err
        empty said
        status 1 straight nowhere $question
        finds 'no such file' err
        empty said
    done
    status 1 straight state --rank 1 --steps 0..1
    finds 'rank is not below world_size' err
    status 1 straight state --world-size 4294967295 \
        --batch-size 4294967295 --where 3
    finds 'world_size \* batch_size' err
    status 1 straight state --batch-size 1048577 --steps 0..0
    finds 'buffer is too small' err
    status 1 straight state --where 99 --where 100
    has said '100: epoch 0: index is not below num_samples'
    lines 2 said
    rm state
    serve num_samples=100 order=3 steps=5 state >/dev/null
    status 1 straight state --where 1
    finds '^1: epoch 0: locate does not work with REPLACEMENT' said
}

# A run that skips steps 290 to 320 by a seek, and one that does not, have the
# same state at step 400. What comes after it, the run may skip as well.
not_said_to_be_straight() {
    begin_questions
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
    compile_here skips skips.c
    ./skips >served
    rm -f state
    serve num_samples=1000 batch_size=2 steps=400 state | by_steps 0 0 2 \
        >straight
    same skipped state
    set -- $(sed -n 's/^epoch 0 step 300 rank 0: //p' straight)
    status 1 grep -qx "$1" served
    for question in "--steps 300..300" "--steps 399..399" "--steps 399..400" \
                    "--steps 400..400" "--where $1" "--epoch 1 --steps 0..0" \
                    "--epoch 1 --where $1" "--where 1000" \
                    "--world-size 2 --steps 401..401"; do
        status 1 bin/indices --state skipped $question
        empty said
        finds '^indices: skipped: a state is one place of a run: .*' err
        finds '; --straight says that it did not$' err
        lines 1 err
    done
    straight state --steps 0..399 | same - straight
    serve num_samples=1000 batch_size=2 steps=1 state | by_steps 400 0 2 \
        >wanted
    straight skipped --steps 400..400 | same - wanted
    # At an epoch's end there is no next step in it.
    rm -f state
    serve num_samples=10 batch_size=2 steps=5 state >/dev/null
    status 1 straight state --steps 5..5
    finds 'step 5 of epoch 0: it is past the end' err
}

# A file with a history before the state: nothing has to be promised.
by_history() {
    begin_questions
    program history
    quietly bin/history saved
    rm -f state
    serve num_samples=64000 seed=42 world_size=8 batch_size=16 steps=400 state \
        >/dev/null
    for step in 0 289 321 399; do
        straight state --all --steps $step..$step >wanted
        bin/indices --state saved --epoch 0 --all --steps $step..$step |
            same - wanted
    done
    for step in 290 320; do
        status 1 bin/indices --state saved --epoch 0 --steps $step..$step
        empty said
        finds "^indices: step $step of epoch 0: skipped at step 290 of epoch 0"\
" by a seek to 321$" err
    done
    equal "$(bin/indices --state saved --epoch 0 --all --steps 450..450 |
        grep -c .)" 6
    # Samples that were served, and one that was only in skipped steps.
    straight state --steps 300..300 --rank 3 | sed 's/.*: //' | tr ' ' '\n' \
        >skipped
    for index in $(sed -n '1p;5p;16p' skipped); do
        status 1 bin/indices --state saved --epoch 0 --where $index
        equal "$(cat said)" "$index: epoch 0: not served"
    done
    for index in 0 7 63999; do
        bin/indices --state saved --epoch 0 --where $index >place
        set -- $(sed 's/.* step \([0-9]*\) rank \([0-9]*\) .*/\1 \2/' place)
        bin/indices --state saved --epoch 0 --steps $1..$1 --rank $2 >batch
        sed 's/.*: //' batch | grep -qw $index
    done
    status 1 bin/indices --state saved --epoch 1 --steps 0..0
    finds 'step 0 of epoch 1: the run has not served it' err
    status 1 bin/indices --state saved --world-size 3 --epoch 0 --steps 5..5
    finds 'its history knows ranks and batches' err
    # The state alone, which knows what is to come.
    tail -c 112 saved >alone
    straight alone --epoch 1 --all --steps 3..4 >wanted
    straight saved --epoch 1 --all --steps 3..4 | same - wanted
    # Damaged, cut, and of another run.
    head -c 200 saved >cut
    status 1 bin/indices --state cut --steps 5..5
    finds '^indices: cut: the size of the state or file is wrong' err
    { head -c 130 saved; printf x; tail -c +132 saved; } >damaged
    status 1 bin/indices --state damaged --steps 5..5
    finds "^indices: damaged: the state's bytes have changed" err
}

# What a history that begins in mid-epoch does not know, and draws at random,
# which have no place.
by_late_history() {
    cat >late.c <<'END_OF_PROGRAM'
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "examples/extras/history.h"
#include <stdio.h>

static unsigned char memory[HISTORY_BYTES(9) + STATESAMPLER_STATE_BYTES];

static int keep(const char *path, uint32_t order)
{
    statesampler_desc desc = {.num_samples = 100, .batch_size = 10};
    statesampler s;
    history h;
    size_t size;

    desc.order = order;
    if (statesampler_init(&s, &desc) != 0 || statesampler_seek(&s, 4) != 0 ||
        history_init(&h, memory, HISTORY_BYTES(9), &s) != 0)
        return 1;
    statesampler_next(&s, NULL, NULL);
    size = history_save(&h);
    statesampler_save(&s, memory + size, STATESAMPLER_STATE_BYTES);
    return statesampler_save_file(path, memory,
                                  size + STATESAMPLER_STATE_BYTES);
}

int main(void)
{
    return keep("late", STATESAMPLER_ORDER_SEQUENTIAL) ||
           keep("drawn", STATESAMPLER_ORDER_REPLACEMENT);
}
END_OF_PROGRAM
    begin_questions
    compile_here late late.c
    ./late
    bin/indices --state late --where 42 >said
    equal "$(cat said)" '42: epoch 0 step 4 rank 0 slot 2 position 42'
    status 1 bin/indices --state late --where 3
    equal "$(cat said)" \
        '3: epoch 0: not served since step 4 of epoch 0, where this history begins'
    status 1 bin/indices --state drawn --where 3
    empty said
    finds 'locate does not work with REPLACEMENT' err
}

# The same of a mix, through other weights, a skip and other ranks, and from one
# epoch into the next.
by_mix_history() {
    begin_questions
    cat >mixes.c <<'END_OF_PROGRAM'
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "examples/extras/history.h"
#include <stdio.h>
#include <stdlib.h>

static unsigned char memory[HISTORY_MIX_BYTES(3, 9)], file[sizeof memory + 999];
static statesampler_source sources[3];
static statesampler_mix mix;
static history h;

static void must(int code)
{
    if (code < 0)
        exit(1);
}

/* Prints the turns as indices does, of all ranks. */
static void serve(int turns, uint32_t ranks)
{
    uint64_t batch[4];
    uint32_t rank, source;
    size_t count, i;
    int more;

    for (; turns > 0; turns--) {
        for (rank = 0, more = 1; rank < ranks && more; rank++) {
            must(statesampler_mix_reshape(&mix, rank, ranks));
            must(more = statesampler_mix_at(&mix, statesampler_mix_turn(&mix),
                                            batch, &count, &source));
            if (!more)
                continue;
            printf("epoch %d step %d rank %u dataset %u:",
                   (int)statesampler_mix_epoch(&mix),
                   (int)statesampler_mix_turn(&mix), rank, source);
            for (i = 0; i < count; i++)
                printf(" %d", (int)(batch[i] +
                                    statesampler_mix_offset(&mix, source)));
            puts("");
        }
        must(statesampler_mix_reshape(&mix, 0, ranks));
        must(statesampler_mix_next(&mix, NULL, NULL, NULL));
    }
}

int main(void)
{
    const uint32_t weights[3] = {1, STATESAMPLER_OFF, 4};
    size_t size, bytes, i;

    for (i = 0; i < 3; i++) {
        const statesampler_desc desc = {.num_samples = 30 + 10 * i, .seed = 5,
                                        .stream = i, .world_size = 2,
                                        .batch_size = 2,
                                        .tail = STATESAMPLER_TAIL_UNEVEN};

        must(statesampler_init(&sources[i].sampler, &desc));
        sources[i].weight = 1;
    }
    must(statesampler_mix_init(&mix, sources, 3, STATESAMPLER_STOP_RESTART));
    must(history_mix_init(&h, memory, sizeof memory, &mix));
    serve(12, 2);
    must(history_mix_weigh(&h, &mix, weights));
    serve(6, 2);
    must(history_mix_seek(&h, &mix, 23));
    serve(4, 2);
    must(history_mix_reshape(&h, &mix, 0, 3));
    serve(30, 3);
    size = history_save(&h);
    bytes = statesampler_mix_state_bytes(&mix);
    memcpy(file, h.bytes, size);
    must(statesampler_mix_save(&mix, file + size, bytes));
    must(statesampler_save_file("mixed", file, size + bytes));
    return 0;
}
END_OF_PROGRAM
    compile_here mixes mixes.c
    ./mixes >served
    finds '^epoch 1 ' served
    sed 's/ rank .*//' served | uniq | while read -r _ epoch _ step; do
        bin/indices --state mixed --epoch $epoch --steps $step..$step --all
    done | same - served
    status 1 bin/indices --state mixed --epoch 0 --steps 20..20
    finds 'step 20 of epoch 0: skipped at step 18 of epoch 0 by a seek to 23' err
    # Each sample where it was.
    sed -n '1p;9p;30p;60p;$p' served | while read -r _ epoch _ step _ rank _ \
        dataset first _; do
        [ -n "$first" ] || continue
        bin/indices --state mixed --epoch $epoch --where $first >said
        finds "^$first: epoch $epoch step $step rank $rank slot 0 .*dataset "\
"${dataset%:}" said
    done
}

# The line of what a rank was served that has the answer of --where.
line_of() { # ANSWER BATCH_SIZE
    sed 's/.*step \([0-9]*\).*slot \([0-9]*\).*/\1 \2/' "$1" |
        awk -v size="$2" '{ print $1 * size + $2 + 1 }'
}

# Of other epochs, past or to come, what fresh runs of the same ranks serve.
epoch_option() {
    begin_questions
    set -- num_samples=100 world_size=3 batch_size=4
    rm -f state
    serve "$@" steps=20 rank=2 state >/dev/null # in epoch 2
    for e in 0 1 2 7; do
        serve "$@" epoch=$e rank=1 | by_steps 0 1 4 |
            sed "s/epoch 0/epoch $e/" >wanted
        straight state --epoch $e --steps 0..8 --rank 1 | same - wanted
        straight state --epoch $e --where 42 >place
        rank=$(sed 's/.*rank \([0-9]*\).*/\1/' place)
        serve "$@" epoch=$e rank=$rank |
            sed -n "$(line_of place 4)p" >found
        equal "$(cat found)" 42
    done
    # With CARRY the steps of all epochs are counted on.
    set -- num_samples=50 tail=3 batch_size=7 seed=4
    rm -f state
    serve "$@" steps=30 state >/dev/null
    serve "$@" steps=60 >all
    for e in 0 1 3 4 5 7; do
        straight state --where 11 --epoch $e >place
        finds "^11: epoch $e " place
        at=$(line_of place 7)
        equal "$(sed -n "${at}p" all)" 11
        equal $(((at - 1) / 50)) $e
    done
    straight state --epoch 7 --steps 0..59 >place
    by_steps 0 0 7 <all | awk '{ $2 = int($4 * 7 / 50); print }' |
        same - place
    rm state
    serve "$@" epoch=5 steps=30 state >/dev/null
    # From epoch 9, 2^63 + 1 epochs of 50 samples are 50 where numbers wrap.
    for e in 4 9223372036854775818 18446744073709551614; do
        status 1 straight state --where 11 --epoch $e
        finds 'past the end of the epoch\|too far from the base' err
    done
}

# The block of the page on extras, run as it stands.
answers_readme=examples/extras/README.md
readme_answers() {
    program quickstart indices history
    sed -n '/^## Which samples/,/^## Groups/p' $answers_readme |
        sed -n '/^```/,/^```/p' | grep -v '^```' >block
    ln -s bin build
    sed -n 's/^\$ //p' block >commands
    sh ./commands >answers 2>&1
    grep -v '^\$' block | same - answers
    lines 6 answers
}

# Refused with this text in the message, nothing printed.
bad() { # TEXT OPTION...
    text=$1
    shift
    status 2 bin/indices "$@"
    empty said
    finds -F -e "$text" err
    equal "$(sed -n 2p err)" "Try 'indices --help'."
    lines 2 err
}

# As with the examples that check themselves.
indices() {
    program quickstart indices
    status 0 bin/quickstart
    answers_help indices
    refuses_nonsense indices
    notices_full_disk indices --help
    notices_full_disk indices --straight --state ../quickstart.state --where 3
}

bad_options() {
    program indices
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

# --- Compiling them -----------------------------------------------------------

# All that `make examples` builds, here, without a warning. The header's
# functions are compiled with quickstart.c and grow.c, and once for all others.
examples_by() { # COMPILER FLAG...
    compiler=$1
    shift
    "$MAKE" -s -f "$root/Makefile" build/quickstart ${STB_FLAGS:+build/grow} \
        CC="$compiler" CFLAGS="$*" LDFLAGS="$LDFLAGS"
    case $compiler in
    *++) language='-x c++' ;;
    *) language=-std=c99 ;;
    esac
    $compiler "$@" -I. $STB_FLAGS $core_flags $language -c -o core.o \
        tests/core.c
    "$MAKE" -s -f "$root/Makefile" examples CC="$compiler" \
        LDFLAGS="$LDFLAGS core.o" \
        CFLAGS="$* -DSTATESAMPLER_IMPLEMENTATION_INCLUDED"
    for source in examples/recipes_*.c; do
        quietly build/$(basename $source .c)
    done
    quietly build/edit saved
    quietly build/shards shards
}

# Those that people copy, as most compile them: with the header's functions,
# which the compiler then looks into. Clang warns before it optimises.
copied_optimised() {
    for source in examples/quickstart.c examples/recipe_*.c; do
        [ -n "$STB_FLAGS" ] || ! grep -q 'stb_ds\.h' $source || continue
        gcc -std=c99 -O2 -Wall -Wextra -Werror -I. $STB_FLAGS -c -o one.o \
            $source
    done
}

# For Windows, without a warning, the header's functions compiled once for all
# but grow.c; the one that starts processes is run there. Where gcc optimises it
# sees no more here than in warnings.sh.
examples_windows() {
    set -- x86_64-w64-mingw32-gcc -std=c99 $STRICT -static -I. \
        $STB_FLAGS
    "$@" -c -o core.o tests/core.c
    for source in examples/*.c; do
        name=$(basename "$source" .c)
        core='-DSTATESAMPLER_IMPLEMENTATION_INCLUDED core.o'
        if [ $name = grow ]; then
            [ -n "$STB_FLAGS" ] || continue
            core=
        fi
        "$@" -o $name.exe "$source" $core -lm -lpthread
    done
    begin_windows
    quietly wine ./resume.exe
    grep -q '^resume: ok, killed 5 times' said
}

list_tests() {
    add_test 'examples: with CC, no warning of the strict ones' \
        examples_by '"${CC:-cc}"' '$CFLAGS' '$STRICT'
    for compiler in g++ clang++; do
        ! tool $compiler "the examples with CC=$compiler" ||
            add_test "examples: with CC=$compiler, no warning at -O3" \
                examples_by $compiler -O3 -Wall -Wextra -Werror \
                -Wno-missing-field-initializers
    done
    ! tool gcc 'the examples at -O2' ||
        add_test 'examples to copy: at -O2 -Wall -Wextra, no warning: gcc' \
            copied_optimised
    if tool x86_64-w64-mingw32-gcc 'the examples for Windows' &&
        tool wine 'the examples for Windows'; then
        add_test 'examples: for Windows, and resume.c runs (mingw-w64, wine)' \
            examples_windows
    fi
    [ -c /dev/full ] || skip 'full disks in the examples' /dev/full
    # Two claim nothing in a last line, and have tests of their own below.
    for source in examples/*.c; do
        name=$(basename "$source" .c)
        case $name in
        quickstart | indices) continue ;;
        grow) [ -n "$STB_FLAGS" ] || { skip "$source" stb_ds.h; continue; } ;;
        esac
        add_test "example $name" example $name
    done
    add_test 'examples: a file that cannot be read is named, with the reason' \
        unreadable
    ! tool strace 'examples: a disk that fails in mid-file' ||
        add_test 'examples: a disk that fails in mid-file is named so' \
            fails_late
    add_test 'make demo: a file that cannot be read is named, with the reason' \
        demo_files
    add_test 'make demo: a claim that is not true makes it fail' demo_false
    add_test "examples: the manual's recipes are in them, word for word" manual

    add_test 'example bag: killed in draws, hands and changes, the same items' \
        bag
    add_test 'example blend: killed on 4, 7 and 2 ranks, the same model' \
        blend
    add_test 'example edit: killed on 4, 7, 1 and 2 ranks, each id once' \
        edit
    add_test "example groups: as TRL's rule says, of any numbers" groups
    [ -z "$STB_FLAGS" ] ||
        add_test 'example grow: datasets come and go, the others go on' grow
    add_test 'example locate: any sample, and no wrong one' locate
    add_test 'example pack: of any lengths that are in the budget' pack
    add_test 'example packing: plans leave less empty than packs in order' \
        packing
    add_test 'example quickstart: killed, it loses nothing' quickstart
    add_test 'example ramp: two dead ranks, and the rate' ramp
    add_test 'example recipe_large: killed 14 times, checkpoints are whole' \
        recipe_large
    add_test 'example recipe_large: saves that fail leave the last one whole' \
        recipe_large_fails
    add_test 'example recipe_ranks: each of 7 ranks has its share' recipe_ranks
    add_test "examples: each recipe of $recipes_readme is in its file" recipes
    add_test 'example resume: each run goes on where the one before it ended' \
        resume
    add_test 'example shards: killed on 4, 6 and 1 ranks, damaged shards' \
        shards
    add_test 'example spread: words of a stem apart, no state of other groups' \
        spread
    add_test 'example train_text: killed, the same weights on other ranks' \
        train_text
    add_test "example turns: draws the README's picture" turns
    add_test 'example windows: larger ones mix better, and beat a buffer' \
        windows

    add_test 'example indices: a full disk, --help, an unknown argument' indices
    add_test 'example indices: --steps and --where: what 4 ranks, then 2 had' \
        steps_option
    add_test 'example indices: without --straight, no question is answered' \
        not_said_to_be_straight
    add_test 'example indices: a history answers for skips and other ranks' \
        by_history
    add_test 'example indices: a history that begins late, and random draws' \
        by_late_history
    add_test "example indices: a mix's history answers, too" by_mix_history
    add_test 'example indices: a state that is damaged or missing is refused' \
        refused_questions
    add_test "example indices: --epoch: other epochs, and CARRY's" epoch_option
    add_test "example indices: $answers_readme shows what is printed" \
        readme_answers
    add_test 'example indices: a bad option is named' bad_options
}

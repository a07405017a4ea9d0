# common.sh - what the files of cases share; tests/sizes.sh reads it too.
#
# A file of cases is read twice. run.sh reads it to list its tests: it calls
# `list_tests`, in the root. case.sh reads it to run one of them: it makes the
# call that is the test, with `set -e`, in a folder with nothing but links to
# statesampler.h, README.md, tests and examples.
#
# Both may rely on
#     CC, MAKE, STB_FLAGS  as in the Makefile; in the environment, too
#     STRICT, drawn        of ways.sh, with its functions
#     machine, x86         of this computer, see below
#     optional, only_look  for compilers, see below
#     lists                a folder in which listing may keep what it finds out
# and a test also on
#     root                 the path of the tree
#     folder               the path of its own folder, where it begins
#     TMPDIR               a folder of its own whose path is short
#     said                 the file with what the last `fails`, `quietly`,
#                          `made` or `status` has heard from its command
#     err                  and what `status` has heard of errors
# All other variables that a function here sets are its own business; but sh has
# no local ones, so they overwrite a test's variables of the same names.

. tests/ways.sh

# --- Listing ------------------------------------------------------------------

# Puts a test and the call that is it on CTest's list.
add_test() { # NAME CALL...
    test_name=$1
    shift
    cat >>$lists/CTestTestfile.cmake <<END
add_test([==[$test_name]==] "sh" "$PWD/tests/case.sh" "$cases" [==[$*]==])
set_tests_properties([==[$test_name]==] PROPERTIES LABELS "$topic"
    SKIP_RETURN_CODE 77 TIMEOUT $([ -z "$drawn" ] && echo 900 || echo 7200))
END
}

# Leaves something out. run.sh prints one line for each tool.
skip() { # WHAT TOOL
    printf '%s\t%s\n' "$2" "$1" >>$lists/skipped
}

# The same for a tool that `make deps` installs, if it installs any.
skip_dep() { # WHAT TOOL
    case $2 in
    nvcc | zig) skip "$1" "$2" ;;
    *) skip "$1" "$2 (make deps)" ;;
    esac
}

# Whether a tool is there. If not, WHAT is left out.
tool() { # NAME WHAT
    command -v "$1" >/dev/null && return 0
    skip_dep "$2" "$1"
    return 1
}

# What another script leaves out: its lines are `skip WHAT: TOOL is not here`.
skips() {
    sed -n 's/^skip \(.*\): \(.*\) is not .*/\2|\1/p' |
        while IFS='|' read -r name what; do
            skip_dep "$what" "$name"
        done
}

# Whether a compiler finds a header of another library.
library() { # LANGUAGE HEADER WHAT [FLAG...]
    language=$1 header=$2 what=$3
    shift 3
    printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$header" |
        ${CC:-cc} -E "$@" -x $language - >/dev/null 2>&1 || {
        skip_dep "$what" "$header"
        return 1
    }
}

# The options for x86's longer vectors that a compiler here knows, and whether
# this processor has a feature.
x86= machine=$(uname -m)
case $machine in x86_64 | i?86) x86='-mavx2 -mavx512bw' ;; esac
processor_has() { # FEATURE
    grep -qsw "$1" /proc/cpuinfo
}

links() { # COMMAND...
    echo 'int main(void) { return 0; }' >$lists/empty.c
    "$@" -o $lists/empty $lists/empty.c 2>/dev/null
}

# Whether tests can be compiled and run in a way; if not, they are left out. What
# runs them is then in `runner`.
possible() { # WAY NEED COMMAND...
    way=$1 need=$2 runner=
    shift 2
    tool "$1" "the tests: $way" || return 1
    case $need in
    -) ;;
    runtime)
        links "$@" || {
            skip "the tests: $way" "the library that $1 needs for it"
            return 1
        }
        ;;
    under=*)
        runner="${need#under=} -q --error-exitcode=9"
        tool ${need#under=} "the tests: $way"
        ;;
    cpu=*)
        processor_has ${need#cpu=} || {
            skip "the tests: $way" "a processor with ${need#cpu=}"
            return 1
        }
        ;;
    *)
        # x86-64 runs i386's programs, in a quarter of an emulator's time.
        case $machine-$need in
        x86_64-qemu-i386 | $machine-qemu-$machine)
            links "$@" && $lists/empty 2>/dev/null && return 0
            ;;
        esac
        runner=$need
        tool $need "the tests: $way"
        ;;
    esac
}

# --- Testing ------------------------------------------------------------------

# Succeeds if standard input is empty; otherwise it is the complaint.
nothing() {
    ! grep .
}

# Succeeds if the command fails; what it said is in `said`. A `! command` alone
# ends no test, as `set -e` leaves it out.
fails() { # COMMAND...
    ! "$@" >said 2>&1 || {
        echo "not refused: $*"
        return 1
    }
}

at_least() { # LIMIT VALUE WHAT
    [ "$2" -ge "$1" ] || {
        echo "only $2 $3"
        return 1
    }
}

# Runs a command; what it printed is the complaint if it fails.
quietly() { # COMMAND...
    "$@" >said 2>&1 || {
        set -- $?
        cat said
        return $1
    }
}

# Makes a file; what make printed is the complaint if it fails.
made() { # FILE
    (cd "$root" && "$MAKE" -s "$1") >said 2>&1 || {
        cat said
        return 1
    }
}

# Makes files that several tests need at the same time. Where there is flock,
# the first test makes them and the others wait.
make_once() { # FILE...
    mkdir -p "$root/build"
    set -- "$MAKE" -s "$@"
    ! command -v flock >/dev/null || set -- flock build "$@"
    (cd "$root" && "$@")
}

# A program of tests/ in one way, perhaps run by something.
try() { # WAY NAME full|reduced [RUNNER...]
    target=build/test/$1/$2 amount=$3
    shift 3
    made $target
    quietly "$@" "$root/$target" "$amount"
    sed -n '/^skip /p' said
    sed -n '$s/.*: \([0-9]* checks\).*/note: \1/p' said | grep .
}

# What tests/checksum.c printed into `here` must be what it prints when this
# computer's compiler has made it.
same_checksum() { # SIZES
    made build/test/cc/checksum$drawn &&
        "$root/build/test/cc/checksum$drawn" >there
    grep -q '^checksum [0-9a-f]* of [1-9]' there
    cmp here there || {
        cat here there
        return 1
    }
    sed "s/^checksum/note:/; s/\$/, $1/" here
}

# A Windows of the test's own, in the folder `wine`, whose files may have
# any name. It ends with the test, also when that is broken off: it would
# go on for ever. It makes no menus in HOME. To make one takes four seconds of
# processor time, so the first is kept, and the others are links to its files.
# Only its registry is copied: wine would write through a link.
begin_windows() {
    export WINEDEBUG=-all WINEPREFIX="$PWD/wine" LC_ALL=C.UTF-8
    export WINEDLLOVERRIDES=winemenubuilder.exe=d
    trap 'end_windows; rm -rf wine' EXIT
    trap 'exit 1' INT TERM HUP
    first=$root/build/test/wine
    if [ ! -d "$first" ]; then
        wineboot -i >/dev/null 2>&1 </dev/null
        end_windows
        # Another test may have kept one meanwhile.
        mv -T wine "$first" 2>/dev/null || rm -rf wine
    fi
    cp -al "$first" wine
    rm wine/*.reg
    cp "$first"/*.reg wine
    # Drive Z as a folder that is shared.
    export SHARE='\\localhost\z$'
    mkdir -p wine/dosdevices/unc/localhost
    ln -s / 'wine/dosdevices/unc/localhost/z$'
}

# It may have ended by itself, when it had nothing to do.
end_windows() {
    wineserver -k || :
    wineserver -w
}

# --- Testing what a command said ----------------------------------------------

# Runs a command, with its output in the files `said` and `err`, and checks the
# exit status.
status() { # WANTED COMMAND...
    wanted=$1 code=0
    shift
    "$@" >said 2>err || code=$?
    [ "$code" -eq "$wanted" ] || {
        echo "exit status $code, not $wanted: $*"
        tail -n 5 said err
        return 1
    }
}

# Like grep.
finds() { # [OPTION] PATTERN FILE
    grep -q "$@" || {
        echo "not found: $*"
        for last; do :; done
        head -n 20 "$last"
        return 1
    }
}

# The file has a line with exactly this text.
has() { # FILE TEXT
    grep -qxF -e "$2" "$1" || {
        echo "no line '$2' in:"
        cat "$1"
        return 1
    }
}

same() { # FILE|- FILE
    if [ "$1" = - ]; then
        cat >given
        set -- given "$2"
    fi
    cmp "$1" "$2" || {
        diff "$1" "$2" | head -n 6
        return 1
    }
}

equal() { # VALUE WANTED
    [ "$1" = "$2" ] || {
        echo "'$1' is not '$2'"
        return 1
    }
}

# The file is one that the awk program exits with 0 for.
accepts() { # AWK-PROGRAM FILE
    awk "$1" "$2" || {
        echo "not as it should be:"
        tail -n 40 "$2"
        return 1
    }
}

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

# A line for each number. (seq is not everywhere.)
numbers() { # FIRST LAST
    awk -v i="$1" -v n="$2" 'BEGIN { for (; i <= n; i++) print i }'
}

# --- Compiling the header by itself -------------------------------------------

# The optional parts that can be compiled here.
optional='HOSTED'
[ -z "$STB_FLAGS" ] || optional='HOSTED STB_DS'

# Prints a source file that includes the header after these macros.
source_of() { # MACRO...
    for macro; do
        [ $macro != STB_DS ] || echo '#include "stb_ds.h"'
        echo "#define STATESAMPLER_$macro"
    done
    echo '#include "statesampler.h"'
}

# That clang makes no object. From version 21 on it complains of -c then.
only_look='-fsyntax-only -Wno-unused-command-line-argument'

# Compiles standard input, in a language, by a command, to an object.
compile() { # LANGUAGE OBJECT COMMAND...
    language=$1 object=$2
    shift 2
    "$@" -I. $STB_FLAGS -c -o "$object" -x "$language" -
}

# The core for itself, as a kernel or a microcontroller has it. The stack
# protector is no part of the language, but some systems have it on.
freestanding() { # OBJECT COMMAND...
    object=$1
    shift
    source_of IMPLEMENTATION | compile c "$object" "$@" \
        -std=c99 -ffreestanding -nostdlib -fno-stack-protector
}

# As most programs have it: with vectors.
ordinary() { # OBJECT COMMAND...
    object=$1
    shift
    source_of IMPLEMENTATION |
        compile c "$object" "$@" -std=c99 -fno-stack-protector
}

# --- Compiling headers beside it ----------------------------------------------

# A source file that has one header after statesampler.h, twice. Two things
# come before that, where a header says so: files, and FANN in the form that its
# user has.
alone() { # HEADER
    ! grep -q floatfann.h "$1" || echo '#include <floatfann.h>'
    ! grep -q STATESAMPLER_HOSTED "$1" || echo '#define STATESAMPLER_HOSTED'
    echo '#include "statesampler.h"'
    echo "#include \"$1\""
    echo "#include \"$1\""
}

# Whether a compiler finds the libraries of a header.
has_libraries() { # LANGUAGE HEADER FLAG...
    language=$1
    grep -oE '<(torch|ggml|floatfann)[^>]*>|floatfann\.h' "$2" |
        tr -d '<>' | sort -u | sed 's/.*/#if !__has_include(<&>)\n#error\n#endif/' \
        >libraries
    shift 2
    ${CC:-cc} -E "$@" -x $language libraries >said 2>&1
}

# Headers, each alone, in every language of a compiler. The optimiser, which
# warns of what it sees, looks at every function where there is an option
# for that. A header that needs POSIX says by which option.
each_alone() { # PATTERN COMPILER LANGUAGE LEVEL STANDARD...
    headers=$(echo $1) compiler=$2 language=$3 level=$4
    shift 4
    : >skipped
    for header in $headers; do
        ggml=$(pkg-config --cflags ggml 2>/dev/null | sed 's/-I/-isystem /g')
        has_libraries $language $header $ggml || {
            echo "skip $header: a library is not here" >>skipped
            continue
        }
        posix=$(grep -o -- '-D_POSIX_C_SOURCE=[0-9]*L' $header || :)
        for standard; do
            alone $header | $compiler -x $language -std=$standard $STRICT \
                $posix $ggml -I. $level -c -o alone.o - >said 2>&1 || {
                echo "$header: $standard"
                head -n 12 said
                return 1
            }
        done
        echo $header >>done
    done
    at_least 1 "$(wc -l <done)" headers
    echo "note: $(wc -l <done) headers"
    cat skipped
}

# Lists the tests that compile headers so: CALL is each_alone with a pattern.
in_each_language() { # NAME CALL...
    name=$1
    shift
    for compiler in gcc clang g++ clang++; do
        tool $compiler "$name: $compiler" || continue
        case $compiler in
        gcc) set_of="c '-O3 -fkeep-inline-functions' c99" ;;
        clang) set_of="c '' c99 c11" ;;
        *) set_of="c++ '' c++98 c++11 c++17 c++20" ;;
        esac
        add_test "$name: $compiler" "$@" $compiler "$set_of"
    done
}

# Ends a program that reads outside its memory or does what is undefined. What
# wraps around is only reported, and only of a header, as the programs that test
# it wrap around too. They are not optimised: that would take longer than they
# run.
sanitized() { # PATTERN
    clang -std=c99 -O1 -I. -c -o core.o "$root/tests/core.c"
    for test in $1; do
        has_libraries c $test || continue
        core=core.o fann=
        ! grep -q STATESAMPLER_IMPLEMENTATION $test || core=
        ! grep -q floatfann.h $test || fann=-lfann
        clang -std=c99 -O0 -g1 -D_POSIX_C_SOURCE=200809L \
            -fsanitize=address,undefined,integer \
            -fno-sanitize-recover=address,undefined -I. \
            -o test $test $core $fann -lm -lpthread
        quietly ./test reduced
        grep -E 'examples/.*\.h:[0-9]+:[0-9]+: runtime error' said | nothing
        echo $test >>done
    done
    at_least 1 "$(wc -l <done)" programs
    echo "note: $(wc -l <done) programs"
}

# --- What a text quotes -------------------------------------------------------

# Prints every block of C of a text as a file of the folder `blocks`: in the
# README what is fenced as c, in the manual what is moved in by 5 columns or
# more and begins with # or ends with a brace.
find_blocks() { # FILE
    mkdir -p blocks
    case $1 in
    *.md)
        awk '/^```c$/ { name = "blocks/line" NR + 1 ".c"; next }
            /^```/ { name = "" }
            name { print >name }' "$1"
        ;;
    *)
        awk '/^\*\// { exit }
            /^      *[^ ]/ {
                if (!first) first = NR
                for (; blank > 0; blank--) block = block "\n"
                block = block $0 "\n"
                last = $0
                next
            }
            NF == 0 { if (first) blank++; next }
            { end() }
            function end() {
                if (block ~ /^ *#/ || last ~ /}$/)
                    printf "%s", block >("blocks/line" first ".c")
                block = last = ""
                first = blank = 0
            }' "$1"
        ;;
    esac
}

# Succeeds if the lines of a block stand in a program, one after the other,
# however far they are moved in and whatever empty lines are between them. A
# block with a main must be all of the program.
quoted() { # BLOCK PROGRAM
    awk 'NF == 0 { next }
        FNR == NR { want[++count] = $0; next }
        { have[++lines] = $0 }
        END {
            match(want[1], /^ */)
            margin = RLENGTH + 1
            for (i = 1; i <= count; i++) {
                if (want[i] ~ /main\(/) whole = 1
                want[i] = substr(want[i], margin)
            }
            for (i = 1; i <= lines; i++) {
                shift = index(have[i], want[1]) - 1
                if (shift < 0) continue
                indent = substr(have[i], 1, shift)
                for (j = 1; j <= count; j++)
                    if (have[i + j - 1] != indent want[j]) break
                if (j > count && (!whole || lines == count)) exit 0
            }
            exit 1
        }' "$1" "$2"
}

# Each block must be part of an example.
quotes() { # FILE [FOLDER]
    find_blocks "$1"
    count=0 bad=0
    for block in blocks/*.c; do
        found=
        for program in ${2:-examples}/*.c; do
            ! quoted $block $program || found=$program
        done
        count=$((count + 1))
        [ -n "$found" ] || {
            block=${block#blocks/line}
            echo "line ${block%.c}: no example has these lines"
            bad=1
        }
    done
    at_least 1 $count 'blocks of C'
    [ $bad = 0 ]
    echo "note: $count blocks"
}

# companions.sh - the headers that people copy beside the library. Each header
# NAME.h of examples/extras has a tests/extras/NAME.c, which is compiled and run in
# some ways of tests/ways.sh. Each, as those of examples/into, also compiles alone in
# every language.

# --- Each header alone --------------------------------------------------------

# Those that people copy. Three of libtorch's are parts of its main.cpp.
copied() { # PATTERN...
    ls "$@" | grep -vE '/(compare|train|uses)\.hpp$'
}

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

# In every language of a compiler. The optimiser, which warns of what it sees,
# is asked about every function where there is an option for that. A header
# that needs POSIX says by which option.
each_alone() { # COMPILER LANGUAGE LEVEL STANDARD...
    compiler=$1 language=$2 level=$3
    shift 3
    : >skipped
    for header in $(copied examples/extras/*.h examples/into/*/*.h); do
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
    # Those of extras need no library, so none of them was skipped.
    at_least $(ls examples/extras/*.h | wc -l) "$(wc -l <done)" headers
    echo "note: $(wc -l <done) headers"
    cat skipped
}

torch_include=/usr/include/torch/csrc/api/include
# A header in C++ alone that needs libtorch, which takes ten seconds.
libtorch_alone() { # COMPILER STANDARD
    for header in $(copied examples/into/*/*.hpp); do
        alone $header >alone.cpp
        quietly $1 -std=$2 $STRICT -fsyntax-only -I. -isystem $torch_include \
            alone.cpp
    done
}

# clang's -fsanitize=integer reports what wraps around. Only what it says of such
# a header counts, as the tests wrap around too.
headers_wrap_around() {
    clang -std=c99 -O1 -I. -c -o core.o "$root/tests/core.c"
    for test in tests/extras/*.c examples/into/tests/*.c; do
        has_libraries c $test || continue
        core=core.o fann=
        ! grep -q STATESAMPLER_IMPLEMENTATION $test || core=
        ! grep -q floatfann.h $test || fann=-lfann
        clang -std=c99 -O1 -D_POSIX_C_SOURCE=200809L -fsanitize=integer -I. \
            -o test $test $core $fann -lm -lpthread
        ./test reduced >said 2>&1
        grep -E 'examples/.*\.h:[0-9]+:[0-9]+: runtime error' said | nothing
        echo $test >>done
    done
    at_least $(ls examples/extras/*.h | wc -l) "$(wc -l <done)" programs
    echo "note: $(wc -l <done) programs"
}

# --- What each header does ----------------------------------------------------

# Here; without undefined behaviour; in C++; where the first byte of a number is
# the highest.
companion_ways='cc gcc-sanitize clang-sanitize c++98 clang++98 c++20 s390x'

# Every header's tests, in these ways. A header without tests is an error.
each_in_many_ways() {
    for way in $companion_ways; do
        set -- $(line $way)
        shift # how much is asked of other tests in this way
        ! possible $way "$@" || echo "$way $runner"
    done >$lists/companion_ways
    for header in examples/extras/*.h; do
        name=$(basename $header .h)
        [ -e tests/extras/$name.c ] || {
            echo "$header has no tests: write tests/extras/$name.c" >&2
            exit 1
        }
        while read -r way runner; do
            # An emulator takes ten times as long.
            amount=${runner:+reduced}
            amount=${amount:-full}
            add_test "$name.h: $way, $amount" try $way $name $amount $runner
        done <$lists/companion_ways
    done
}

# --- Their errors -------------------------------------------------------------

# "-1001 LEDGER_EDONE", of every code that a header defines.
codes_of() { # HEADER
    sed -nE 's/^#define ([A-Z]+_E[A-Z]+) \((-[0-9]+)\).*/\2 \1/p' $1
}

# A header's row of the table in the README: "-1001 -1010 LEDGER_EDONE EISSUED".
row_of() { # HEADER
    sed -nE "s/^\| \[$(basename $1)\].* \| (-[0-9]+) to (-[0-9]+) \| (.*) \|/\1 \2 \3/p" \
        examples/extras/README.md | tr -d ,
}

# Each code stands in its header's row, in the order of the numbers, which are
# in the range of the row, and has a sentence. No two ranges overlap.
codes_are_listed() {
    : >ranges
    for header in examples/extras/*.h; do
        codes_of $header >codes
        [ -s codes ] || continue
        set -- $(row_of $header)
        echo "$1 $2 $header" >>ranges
        shift 2
        echo $* >listed
        echo $(sed 's/.* //; 2,$s/.*_//' codes) | diff listed -
        while read -r number code; do
            echo "$number $header $code"
            grep -qE "(case |code == )$code\b" $header || {
                echo "$header: no sentence for $code" >&2
                return 1
            }
        done <codes >>numbers
    done
    at_least 40 "$(wc -l <numbers)" codes
    sort -rn ranges | awk '$1 >= last || $2 > $1; { last = $2 }
        BEGIN { last = -1000 }' | nothing
    awk 'FNR == NR { first[$3] = $1; last[$3] = $2; next }
        $1 > first[$2] || $1 < last[$2]' ranges numbers | nothing
    echo "note: $(wc -l <numbers) codes"
}

# A kind of statesampler.h that has rules says too little.
kinds_are_not_returned() {
    grep -nE 'STATESAMPLER_E(INVAL|RANGE|CORRUPT|VERSION|MISMATCH|ENV)\b' \
        examples/extras/*.h | nothing
}

ledger_kills() {
    made build/test/cc/ledger_kills
    quietly timeout -k 5 120 "$root/build/test/cc/ledger_kills" checkpoint 25 1
    sed -n '1s/^/note: /p' said
}

list_tests() {
    add_test 'every code of a companion has its number and a sentence' \
        codes_are_listed
    add_test 'no companion returns a mere kind' kinds_are_not_returned
    ! tool g++ 'state_sampler.hpp alone' ||
        ! library c++ torch/data.h 'state_sampler.hpp alone' \
            -isystem $torch_include ||
        for standard in c++14 c++20; do
            add_test "state_sampler.hpp alone: g++, $standard" \
                libtorch_alone g++ $standard
        done
    for compiler in gcc clang; do
        tool $compiler "each header alone: $compiler" || continue
        case $compiler in
        gcc) level='-O3 -fkeep-inline-functions' ;;
        clang) level= ;;
        esac
        add_test "each header that people copy alone: $compiler" \
            each_alone $compiler c "'$level'" c99 c11
    done
    for compiler in g++ clang++; do
        tool $compiler "each header alone: $compiler" || continue
        add_test "each header that people copy alone: $compiler" \
            each_alone $compiler c++ "''" c++98 c++11 c++17 c++20
    done
    ! tool clang '-fsanitize=integer' ||
        add_test 'clang -fsanitize=integer reports nothing of these headers' \
            headers_wrap_around
    each_in_many_ways
    add_test 'ledger.h: 25 kills of processes, each sample once an epoch' \
        ledger_kills
}

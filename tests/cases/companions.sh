# companions.sh - the headers of examples that people copy beside the library.

# Those programs in one way.
companions() { # WAY full|reduced
    for name in edits shards; do
        try $1 $name $2
    done
}

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
    at_least 17 "$(wc -l <done)" headers
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
    for test in $(grep -lE 'include "examples/.*\.h"' tests/*.c \
        examples/into/tests/*.c); do
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
    at_least 14 "$(wc -l <done)" programs
    echo "note: $(wc -l <done) programs"
}

list_tests() {
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
    add_test 'edits.h, shards.h: as the definitions say' companions cc full
    for compiler in gcc clang; do
        tool $compiler "edits.h, shards.h: $compiler" || continue
        add_test "edits.h, shards.h: $compiler, no undefined behaviour" \
            companions $compiler-sanitize reduced
    done
    for compiler in g++ clang++; do
        tool $compiler "edits.h, shards.h: $compiler" || continue
        case $compiler in g++) way=c++98 ;; *) way=clang++98 ;; esac
        add_test "edits.h, shards.h: $compiler" companions $way reduced
    done
}

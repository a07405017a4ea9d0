# harnesses.sh - the fuzzers' harnesses, a line each: `make fuzz` runs them all,
# and `make test` replays the corpus of each.

# A name, of which tests/fuzz/NAME.c is the harness and tests/fuzz/corpus/NAME
# the corpus; what it needs (-, stb_ds.h, libyaml, or openblas with libyaml);
# the longest input that is worth trying; how many make test makes up; and what
# is compiled with it.
harnesses() {
    trainer=$(echo $(ls examples/trainer/*.c |
        grep -Ev '/(main|sampler)\.c$'))
    cat <<END
perm       -        200 1000
desc       -        400 1000
state      -        300 1000
mix        -        500 1000
mixture    stb_ds.h 700 1000 -DFUZZ_STB_DS
yaml       libyaml  900 1000 examples/trainer/config*.c -lyaml
checkpoint openblas 120 150 -Itests/fuzz/mpi tests/fuzz/mpi/mpi.c \
    $trainer $(pkg-config --cflags openblas 2>/dev/null) \
    -lyaml -lopenblas -pthread
END
}

# A folder for the files that a harness writes, in memory where it can be: none
# of them has to outlive anything.
files_of_fuzz() {
    mktemp -d /dev/shm/fuzz.XXXXXX 2>/dev/null || mktemp -d
}

# Whether what a harness needs is here.
harness_needs() { # NEED
    case $1 in
    -) ;;
    stb_ds.h) [ -n "$STB_FLAGS" ] ;;
    libyaml) pkg-config --exists yaml-0.1 ;;
    openblas) harness_needs libyaml && pkg-config --exists openblas ;;
    esac
}

# Prints the lines of those that can be compiled here. The others get a line on
# standard error.
harnesses_here() {
    harnesses | while read -r name need rest; do
        if harness_needs "$need"; then
            echo "$name $need $rest"
        else
            echo "skip fuzz: $name: $need is not here" >&2
        fi
    done
}

# How everything that is fuzzed is compiled.
fuzz_flags='-std=c99 -g1 -fsanitize=address,undefined
    -fno-sanitize-recover=all'

# Whether a compiler has libFuzzer.
has_fuzzer() { # FOLDER COMMAND...
    mkdir -p "$1"
    cat >"$1/empty.c" <<'END'
#include <stddef.h>
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    return bytes == NULL && size > 0;
}
END
    folder=$1
    shift
    command -v "$1" >/dev/null &&
        "$@" $fuzz_flags -fsanitize=fuzzer -o "$folder/empty" \
            "$folder/empty.c" >/dev/null 2>&1
}

# Makes a harness, with an object of tests/core.c.
compile_harness() { # TARGET NAME CORE "FLAGS OF ITS LINE" COMMAND...
    target=$1 source=tests/fuzz/$2.c core=$3 flags=$4
    shift 4
    "$@" -DSTATESAMPLER_IMPLEMENTATION_INCLUDED -I. $STB_FLAGS \
        -o "$target" "$source" "$core" $flags -lm
}

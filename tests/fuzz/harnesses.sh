# harnesses.sh - the fuzzers' harnesses, of the header and of each product:
# `make fuzz` runs them all, and `make test` replays the corpus of each.

# The lines of every list.sh, each with the list's folder after the name: FOLDER
# has the harness NAME.c and its corpus, corpus/NAME. The others are
# what it needs (-, stb_ds.h, libyaml, or openblas with libyaml); the longest
# input that is worth trying; how many make test makes up; and what is compiled
# with it.
harnesses() {
    for list in tests/fuzz/list.sh examples/*/tests/fuzz/list.sh; do
        sh "$list" | sed "s,^[a-z]*,& ${list%/*},"
    done
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
    harnesses | while read -r name folder need rest; do
        if harness_needs "$need"; then
            echo "$name $folder $need $rest"
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
compile_harness() { # TARGET SOURCE CORE "FLAGS OF ITS LINE" COMMAND...
    target=$1 source=$2 core=$3 flags=$4
    shift 4
    "$@" -DSTATESAMPLER_IMPLEMENTATION_INCLUDED -I. $STB_FLAGS \
        -o "$target" "$source" "$core" $flags -lm
}

#!/bin/sh
# ways.sh - the ways in which every test is compiled and run, a line each: what
# is added here is run by `make test`, and `make build/test/WAY/TEST` makes
# one test by it.

STRICT='-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
    -Wcast-qual -Wundef -Wtype-limits -Werror'

# A name; which tests; what else it needs (the tool that runs it where this
# computer cannot, under=TOOL, cpu=FEATURE, or `runtime`: a library without
# which an empty program does not link); the compiler. The tests are
#     full       all, with all inputs
#     reduced    all, with fewer inputs; so are the rest
#     orders     of orders, where a compiler's code can go wrong
#     bulk       of the code that has another shape with other vectors
#     bytes      those of bulk, and of saved states
#     small      of the small build
#     sum        none
#     apart      of its own
#     long       none but in make sanitize
#     converted, checked   all in make sanitize but one, which cannot be run so
# The checksum of every part is tested in all that are not long and not small.
ways() {
    c99=$(echo -std=c99 $STRICT -Wmissing-prototypes)
    strict=$(echo $STRICT)
    sanitize='-O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all'
    # Ways of their own, as none of these goes with another.
    clang="clang -O1 -g1 -fno-sanitize-recover=all $c99"
    # Numbers that wrap are meant to, and no part of these.
    implicit=implicit-conversion,local-bounds,float-divide-by-zero
    # The emulator hands on numbers of folders that do not fit 32 bits.
    lfs='-D_FILE_OFFSET_BITS=64'
    # Make sanitize tests more.
    if [ -n "$SANITIZE" ]; then
        long=reduced converted=converted checked=checked
    else
        long=long converted=long checked=long
    fi
    arm="arm-linux-gnueabihf-gcc -O2 $c99 -static $lfs"
    # The code for a GPU, on a processor.
    device="gcc -O2 $c99 -Wno-unknown-pragmas -include tests/device.h"
    # The first byte of a number is the highest, and so is a vector's first lane.
    s390x="s390x-linux-gnu-gcc -O2 -march=z14 $c99 -static"
    cat <<END
cc             full    -            ${CC:-cc} -std=c99 $CFLAGS
gcc-O0         sum     -            gcc -O0 $c99
gcc-O3         sum     -            gcc -O3 $c99
gcc-Os         orders  -            gcc -Os $c99
gcc-plain      bulk    -            gcc -O2 $c99 -ffreestanding
gcc-sse2       bulk    -            gcc -O2 $c99 -DSTATESAMPLER_AVX2=0
clang-sse2     bulk    -            clang -O2 $c99 -DSTATESAMPLER_AVX2=0
gpu            bulk    -            $device
small          small   -            gcc -Os $c99 -DSTATESAMPLER_ONLY_SHUFFLE
gcc-avx2       bulk    cpu=avx2     gcc -O3 $c99 -mavx2
gcc-avx512bw   bulk    cpu=avx512bw gcc -O3 $c99 -mavx512bw
gcc-sanitize   reduced runtime      gcc $sanitize $c99
clang          reduced -            clang -O2 $c99
clang-avx2     bulk    cpu=avx2     clang -O3 $c99 -mavx2
clang-avx512bw bulk    cpu=avx512bw clang -O3 $c99 -mavx512bw
clang-sanitize orders  runtime      clang $sanitize $c99
clang-memory   $long   runtime      $clang -fsanitize=memory
clang-thread   $long   runtime      $clang -fsanitize=thread
clang-implicit $converted runtime  $clang -fsanitize=$implicit
valgrind       $checked under=valgrind gcc -O1 -g1 $c99 -DCHECK_VALGRIND
c++98          sum     -            g++ -O2 -std=c++98 $strict
clang++98      sum     -            clang++ -O2 -std=c++98 -x c++ $strict
c++20          orders  -            g++ -O2 -std=c++20 $strict
tcc            orders  -            tcc
arm            sum     qemu-arm     $arm
arm-neon       bulk    qemu-arm     $arm -mfpu=neon
aarch64        bulk    qemu-aarch64 aarch64-linux-gnu-gcc -O2 $c99 -static
i386           reduced qemu-i386    i686-linux-gnu-gcc -O2 $c99 -static $lfs
s390x          bytes   qemu-s390x   $s390x
mips           sum     qemu-mips    mips-linux-gnu-gcc -O2 $c99 -static
m68k           sum     qemu-m68k    m68k-linux-gnu-gcc -O2 $c99 -static
riscv64        sum     qemu-riscv64 riscv64-linux-gnu-gcc -O2 $c99 -static
musl           sum     -            musl-gcc -O2 $c99 -static
windows        apart   wine         x86_64-w64-mingw32-gcc -O2 $c99 -static
nvcc           sum     -            ${NVCC:-nvcc} -x cu -O2
END
}

# Whether a test is run where so much is tested.
is_tested() { # TEST AMOUNT
    case $2:$1 in
    full:*) ;;
    # These are about words of the source, not about a compiler's code.
    reduced:test_assert | reduced:test_size16) return 1 ;;
    reduced:*) ;;
    # stb_ds.h converts as it likes.
    converted:test_mixture) return 1 ;;
    # Valgrind fails where too many files are open, but makes the file.
    checked:test_hosted) return 1 ;;
    converted:* | checked:*) is_tested $1 reduced ;;
    orders:test_elastic | orders:test_locate | orders:test_mix | \
        orders:test_stages) ;;
    bytes:test_state | bytes:test_mix_state | bytes:test_forged | \
        bytes:test_hosted | bytes:test_describe) ;;
    orders:* | bulk:* | bytes:*)
        case $1 in
        test_perm | test_perm_map | test_sampler | test_vectors) ;;
        *) return 1 ;;
        esac ;;
    small:test_vectors) ;;
    *) return 1 ;;
    esac
}

# `make fuzz-agree` sets CASES and SEED: the checksum then has so many random
# cases more. `drawn` is the end of its program's name, such as .1000000-1. In
# all other runs it is empty, so that scripts tell by it which limit of time a
# test has.
drawn=${CASES:+.$CASES-${SEED:-1}}
drawn_flags=${CASES:+-DCHECKSUM_CASES=$CASES -DCHECKSUM_SEED=${SEED:-1}}

# What tests/core.c needs to have all its parts.
core_flags=${STB_FLAGS:+-DSTATESAMPLER_STB_DS}

# Whether a test needs an implementation of its own: it changes what that
# calls, or calls a private function.
own() { # SOURCE
    grep -Eq '^#define (STATESAMPLER_(STATIC|ASSERT)|write )' "$1"
}

# A way's line, without its name.
line() { # WAY
    ways | awk -v way="$1" '
        $1 == way { $1 = ""; print }'
}

# Compiles tests/core.c to an object, or a test to a program, with the core of
# its folder if it may share one. What surrounds the tested code is not
# optimised in a test_*.c: it would take longer to compile than it runs, but for
# the two ways that run longest. The other programs are of headers of examples.
# nvcc takes one -O only.
compile_by_way() { # WAY SOURCE TARGET
    compiler=$(line $1 | awk '{ $1 = $2 = ""; print }')
    [ -n "$compiler" ] || {
        echo "tests/ways.sh has no way $1"
        return 1
    }
    case $1:$2 in
    nvcc:*) around= ;;
    cc:* | s390x:* | *:tests/[!t]*) around=-O1 ;;
    *) around=-O0 ;;
    esac
    case $1 in windows) libraries=-lm ;; *) libraries='-lm -lpthread' ;; esac
    # Two tests may make the same file at the same time.
    new=$3.$$ target=$3
    if [ "$2" = tests/core.c ]; then
        set -- $core_flags -c "$2"
    elif grep -q '^#define STATESAMPLER_STATIC' "$2"; then
        set -- "$2" $libraries
    elif own "$2"; then
        set -- -O1 "$2" $libraries
    else
        core=$(dirname "$3")/core.o more=
        [ "$2" != tests/checksum.c ] ||
            more="-Iexamples/boards $drawn_flags examples/boards/host/host.c"
        # After -x, a compiler takes all files for sources, but not these.
        case $compiler in *' -x '*) core="-Xlinker $core" ;; esac
        set -- $around -DSTATESAMPLER_IMPLEMENTATION_INCLUDED "$2" $more $core \
            $libraries
    fi
    set -- $compiler -I. $STB_FLAGS -o "$new" "$@"
    echo "$*"
    "$@" && mv "$new" "$target"
}

case $0 in
*ways.sh)
    case $1 in
    line | is_tested | own) "$@" ;; # for tests/mutants.py
    *) compile_by_way "$@" ;;
    esac
    ;;
esac

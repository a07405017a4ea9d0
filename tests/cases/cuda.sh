# cuda.sh - the header in CUDA, where there is nvcc, and on a GPU, where there
# is one; and what clang makes of it for GPUs, which needs neither.

# Every function of the header, for the device and for the host;
# sm_75 runs on all GPUs since Turing.
cuda() { # OPTION...
    "$NVCC" "$@" -arch=sm_75 -Werror all-warnings \
        -Xcompiler=-Wall,-Wextra,-Wconversion,-Wsign-conversion,-Wshadow \
        -Xcompiler=-Wcast-qual,-fopenmp -I. -o gpu "$root/bench/gpu.cu"
}

# Where there is no GPU to run it, the device's code need not be fast. For make
# fuzz-agree, CASES cases drawn from SEED.
gpu() {
    hurry=
    [ -e /dev/nvidia0 ] || ! "$NVCC" --help | grep -q Ofast-compile ||
        hurry=-Ofc=max
    cuda -O3 $hurry
    quietly ./gpu 24 ${CASES:+$CASES ${SEED:-1}}
    sed -n 's/^[0-9]* cases/note: &/p; /^skip /p' said
}

# The example, by itself.
gather() {
    "$NVCC" -arch=sm_75 -Werror all-warnings -I. -c -o gather.o \
        examples/gather.cu
}

# --- Without nvcc and without a GPU -------------------------------------------

# Compiles standard input, kernels, to the GPU's instructions in NAME.s. What
# the toolkit's headers would define stands here.
device_code() { # cuda|hip NAME [LEVEL]
    case $1 in
    cuda) options='-nocudainc -nocudalib --cuda-gpu-arch=sm_70
        -Wno-unknown-cuda-version' ;;
    hip) options='-nogpuinc -nogpulib --offload-arch=gfx906' ;;
    esac
    {
        cat <<'END'
#ifndef __HIP__
#define __CUDACC__
#endif
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
__attribute__((unused)) static __host__ __device__ unsigned
min(unsigned a, unsigned b)
{
    return a < b ? a : b;
}
#define STATESAMPLER_STATIC
#define STATESAMPLER_API __host__ __device__
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
END
        cat
    } | clang -x $1 --cuda-device-only $options ${3:--O3} -S \
        -Wall -Wextra -Werror -I. -o $2.s -
}

# A kernel that has the address of every function, so that none is left out.
# Not optimised, which would take long.
device_functions() { # cuda|hip
    source_of IMPLEMENTATION | compile c core.o clang -std=c99 -O0
    nm -g --defined-only core.o | sed -n 's/.* T //p' >names
    at_least 40 "$(wc -l <names)" functions
    { echo 'typedef void any();'
      echo '__global__ void all(any **out)'
      echo '{'
      sed 's/.*/    *out++ = (any *)&;/' names
      echo '}'
    } | device_code $1 all -O0
    while read -r name; do
        # As C++ names a static function.
        grep -qE "^(\.func.* )?_ZL${#name}$name" all.s ||
            echo "no code of $name"
    done <names | nothing
}

# CUDA's instructions. A GPU has none that divides: it takes some 20 instead for
# 32 bits, and 100 for 64.
instructions() { # FILE
    awk '/^\t[^.].*;$/ {
        count += /^\tdiv.*64/ ? 100 : /^\tdiv/ ? 20 : 1
    }
    END { print count }' $1
}

# Registers hold all that these two work with. Their instructions in CUDA are at
# most so many; clang 14 makes 118 and 596.
device_registers() { # cuda|hip
    device_code $1 at <<'END'
__global__ void at(statesampler_perm perm, uint64_t position, uint64_t *out)
{
    *out = statesampler_perm_at(&perm, position);
}
END
    device_code $1 fill <<'END'
__global__ void fill(statesampler_perm perm, uint64_t first, uint64_t *out)
{
    statesampler_perm_fill(&perm, first, 256, out, 8);
}
END
    case $1 in
    cuda)
        grep -n '\.local' at.s fill.s | nothing
        for limit in 'at 121' 'fill 612'; do
            set -- $limit
            count=$(instructions $1.s)
            at_least 100 $count "instructions of $1"
            [ $count -le $2 ] || {
                echo "perm_$1 has $count instructions, not at most $2"
                return 1
            }
            echo "note: perm_$1 $count instructions"
        done
        ;;
    hip)
        for name in at fill; do
            grep -qx '; ScratchSize: 0' $name.s || {
                echo "perm_$name:"
                grep ScratchSize $name.s
                return 1
            }
        done
        ;;
    esac
}

# Whether clang makes code for a GPU.
makes_device_code() { # TARGET WHAT
    tool clang "$2" || return 1
    clang --print-targets 2>/dev/null | grep -qw $1 && return 0
    skip "$2" "clang's target $1"
    return 1
}

list_tests() {
    for language in cuda:nvptx64 hip:amdgcn; do
        target=${language#*:} language=${language%:*}
        makes_device_code $target "a GPU's code, $language" || continue
        add_test "a GPU's code by clang, $language: every function" \
            device_functions $language
        add_test "a GPU's code by clang, $language: perm_at, perm_fill" \
            device_registers $language
    done
    tool "${NVCC:-nvcc}" 'CUDA' || return 0
    add_test 'CUDA: every function, and on a GPU the same results' gpu
    for language in c++11 c++20; do
        add_test "CUDA: no warning, relocatable, not optimised: $language" \
            cuda -std=$language -G -rdc=true -DSTATESAMPLER_HOSTED
    done
    add_test 'CUDA: examples/gather.cu compiles' gather
}

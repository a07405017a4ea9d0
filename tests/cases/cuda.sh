# cuda.sh - the header in CUDA, where there is nvcc, and on a GPU, where there
# is one.

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

list_tests() {
    tool "${NVCC:-nvcc}" 'CUDA' || return 0
    add_test 'CUDA: every function, and on a GPU the same results' gpu
    for language in c++11 c++20; do
        add_test "CUDA: no warning, relocatable, not optimised: $language" \
            cuda -std=$language -G -rdc=true -DSTATESAMPLER_HOSTED
    done
    add_test 'CUDA: examples/gather.cu compiles' gather
}

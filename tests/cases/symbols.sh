# symbols.sh - what the header needs of a system: nothing.

# Nothing is needed, and nothing kept: no variable that a call could change.
# No warning comes, either.
no_symbols() { # freestanding|ordinary COMMAND...
    compiled=$1
    shift
    $compiled core.o "$@" $STRICT -Wmissing-prototypes &&
        nm -u core.o | nothing &&
        nm core.o | grep ' [bBcCdD] ' | nothing
}

# Helpers for 64-bit integers only: floating point would need __aeabi_d...,
# __aeabi_f... or a conversion, __aeabi_l2d or __aeabi_ui2f.
only_aeabi() { # COMMAND...
    freestanding core.o "$@" &&
        nm -u core.o | grep -v ' __aeabi_[a-z0-9]*$' | nothing &&
        nm -u core.o | grep -E ' __aeabi_([dfc]|u?[il]+2)' | nothing
}

# A linker that is told nothing of missing symbols decides: nm does not
# read WebAssembly.
wasm() { # freestanding|ordinary FLAG...
    compiled=$1
    shift
    $compiled core.o clang --target=wasm32 -O2 "$@" &&
        wasm-ld --no-entry --export-all -o core.wasm core.o
}

wasm_vectors() { # freestanding|ordinary FLAG...
    wasm "$@" && node "$root/tests/wasm.js" core.wasm "$root/tests/vectors.json"
}

# A hosted program for x86-64 has bulk for AVX2, too, and chooses. Where it was
# not asked for, or cannot be, there is one bulk and nothing to choose by.
both_bulks() { # COMMAND...
    source_of IMPLEMENTATION HOSTED >hosted.c
    source_of IMPLEMENTATION >core.c
    quietly compile c both.o "$@" $STRICT -O2 <hosted.c
    nm both.o | grep -q ' t ssmp_avx2_vectors_fill$'
    nm both.o | grep -q ' t ssmp_vectors_fill$'
    nm -u both.o | grep -q ' __cpu_model$'
    objdump -d both.o | awk '/^[0-9a-f]+ </ { name = $2 }
        /%ymm/ { print name }' | sort -u >wide
    at_least 2 "$(wc -l <wide)" 'functions for AVX2'
    grep -v '^<ssmp_avx2_' wide | nothing
    source_of IMPLEMENTATION | compile c own.o "$@" -O1 \
        -DSTATESAMPLER_AVX2=1
    nm own.o | grep -q ssmp_avx2_
    nm -u own.o | nothing
    quietly compile c one.1.o "$@" -O1 <core.c
    quietly compile c one.2.o "$@" -Os <hosted.c
    quietly compile c one.3.o "$@" -O1 -mavx2 <hosted.c
    quietly compile c one.4.o "$@" -O1 -DSTATESAMPLER_AVX2=0 <hosted.c
    quietly compile c one.5.o "$@" -O1 -ffreestanding <hosted.c
    mkdir renamed
    cp statesampler.h renamed/other.h
    sed 's/statesampler\.h/other.h/' hosted.c >renamed/hosted.c
    (cd renamed && "$@" -O1 -c -o ../one.6.o hosted.c)
    for object in one.*.o; do
        nm $object | grep -E 'ssmp_avx2|__cpu_model' | sed "s/^/$object: /"
    done | nothing
    : >renamed/statesampler.h
    cd renamed
    fails "$@" -O2 -c -o ../two.o hosted.c
    grep -q 'error: .*statesampler.h beside this file is another version' said
}

# The assertion macro is nothing unless it is defined; that it is called where
# it is defined is test_assert's test.
assert_is_nothing() {
    freestanding core.o gcc
    freestanding void.o gcc '-DSTATESAMPLER_ASSERT(condition)=((void)0)'
    freestanding trap.o gcc \
        '-DSTATESAMPLER_ASSERT(c)=((c)?(void)0:__builtin_trap())'
    cmp core.o void.o
    cmp -s core.o trap.o && echo 'it is nothing where it is defined, too'
    ! cmp -s core.o trap.o
}

list_tests() {
    for compiler in gcc clang; do
        tool $compiler "no symbol needed: $compiler" || continue
        for level in 0 s 3; do
            add_test "freestanding, no symbol or warning: $compiler -O$level" \
                no_symbols freestanding $compiler -O$level
        done
        for flags in '' $x86; do
            add_test "vectors, no symbol or warning: $compiler -O3${flags:+ $flags}" \
                no_symbols ordinary $compiler -O3 $flags
        done
    done
    [ $machine != x86_64 ] || for compiler in gcc clang; do
        ! tool $compiler "bulk for SSE2 and for AVX2: $compiler" ||
            add_test "bulk for SSE2 and for AVX2: $compiler" \
                both_bulks $compiler -std=c99
    done
    [ $machine != x86_64 ] || ! tool qemu-x86_64 'no AVX2' ||
        add_test 'test_vectors, on a processor without AVX2' \
            try cc test_vectors reduced qemu-x86_64 -cpu Nehalem
    if tool gcc 'STATESAMPLER_ASSERT'; then
        add_test 'STATESAMPLER_ASSERT is nothing by default' assert_is_nothing
    fi
    if tool arm-none-eabi-gcc 'no symbol needed: Cortex-M0'; then
        add_test 'freestanding, only __aeabi_ helpers needed: Cortex-M0' \
            only_aeabi arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb -Os
    fi
    if tool clang wasm32 && tool wasm-ld wasm32; then
        add_test 'freestanding, no symbol needed: wasm32' wasm freestanding
        add_test 'vectors, no symbol needed: wasm32' wasm ordinary -msimd128
        if tool node 'tests/vectors.json in WebAssembly'; then
            add_test 'test_vectors, wasm32' wasm_vectors freestanding
            add_test 'test_vectors, wasm32 with vectors' \
                wasm_vectors ordinary -msimd128
        fi
    fi
}

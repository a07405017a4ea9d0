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

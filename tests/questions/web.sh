# web.sh - the header in JavaScript, and the page: examples/web.

# One question of tests/web/module.mjs, with vectors or without.
module() { # QUESTION simd|plain
    (cd "$root" && quietly_web &&
        TMPDIR=$folder/tmp timeout -k 10 250 \
            node tests/web/module.mjs "$@")
}

# Two questions may need them at the same time: make sees that they are there.
quietly_web() {
    "$MAKE" -s web build/indices >"$folder/said" 2>&1 || {
        cat "$folder/said"
        return 1
    }
}

# The small one with its module is what a page of few bytes fetches.
web_sizes() {
    (cd "$root" && quietly_web)
    for file in statesampler.mjs statesampler.wasm statesampler-simd.wasm; do
        gzip -9 <"$root/build/web/$file" | wc -c
    done >sizes
    { read -r module; read -r plain; read -r simd; } <sizes
    whole=$((module + plain))
    [ $whole -le 16384 ] || {
        echo "module and WebAssembly without vectors are $whole bytes gzipped"
        return 1
    }
    echo "note: $whole bytes gzipped, $((module + simd)) with vectors"
}

web_types() {
    (cd "$root" && quietly_web)
    quietly tsc --strict --noEmit --target es2020 --module es2020 \
        --moduleResolution node16 "$root/tests/web/types.mts"
}

questions() {
    tool clang 'JavaScript' && tool wasm-ld 'JavaScript' &&
        tool node 'JavaScript' || return 0
    for variant in simd plain; do
        for question in vectors elastic exchange kinds mixes errors \
            memory_stays; do
            ask "JavaScript, $variant: $question" module $question $variant
        done
    done
    ask 'JavaScript: all there is is declared' module declared simd
    ask 'JavaScript: 16 KiB gzipped at most, whole' web_sizes
    if tool tsc "JavaScript's declarations"; then
        ask 'JavaScript: its declarations, by tsc' web_types
    fi
}

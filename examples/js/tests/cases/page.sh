# page.sh - the header in JavaScript, and the page: examples/js.

. examples/tests/common.sh

# The tests of a file, by node:test. To run one of them, give node the option
# --test-name-pattern.
node_tests() { # FILE ARGUMENT...
    (cd "$root" && quietly_web &&
        timeout -k 10 250 node examples/js/tests/"$@")
}

quietly_web() {
    make_once build/web/made build/test/cc/serve build/bag \
        >"$folder/made" 2>&1 || {
        cat "$folder/made"
        return 1
    }
}

# The ledger of a module, against a program in C.
web_ledger() { # MODULE
    quietly ${CC:-cc} -std=c99 $STRICT -O1 -I. -DSTATESAMPLER_IMPLEMENTATION \
        -o ledger tests/extras/ledger_text.c
    program=$PWD/ledger
    node_tests ledger.mjs "$1" "$program"
}

# Histories and schedules, against a program in C, and files of programs in C.
web_steering() {
    quietly ${CC:-cc} -std=c99 $STRICT -O1 -I. -o steering \
        examples/js/tests/steering.c
    program indices history
    node_tests steering.mjs build/web "$PWD/steering" "$PWD/bin/indices" \
        "$PWD/bin/history"
}

# What whoever opens a page fetches: the module, and one of the two. Bundlers
# leave out the classes that a page does not use; the bar of 17 KiB is for a
# page that uses what samplers need, and the other one for all classes.
web_sizes() {
    (cd "$root" && quietly_web)
    cp "$root"/build/web/statesampler*.*m* .
    names='Audit, Mix, Perm, Sampler, StatesamplerError, describeState'
    cp statesampler.mjs page.mjs
    ! command -v esbuild >/dev/null ||
        echo "export { $names } from './statesampler.mjs';" |
        esbuild --bundle --minify --format=esm --target=es2022 \
            --log-level=error >page.mjs
    for file in statesampler.mjs page.mjs statesampler.wasm \
        statesampler-simd.wasm; do
        gzip -9 <$file | wc -c
    done >sizes
    { read -r module; read -r page; read -r plain; read -r simd; } <sizes
    # The bars are for what is shipped, by all tools. With clang and wasm-ld
    # alone it is a tenth more, and the answer says so.
    most=19456 some=17408 by='by wasm-opt and esbuild'
    command -v wasm-opt >/dev/null && command -v esbuild >/dev/null || {
        most=21401 some=$most
        by="of $most, as wasm-opt or esbuild is not here"
    }
    for size in $((module + plain)) $((module + simd)); do
        [ $size -le $most ]
    done && [ $((page + plain)) -le $some ] && [ $((page + simd)) -le $some ] || {
        echo "$(echo $(cat sizes)) bytes gzipped: module, page, wasm, simd;" \
            "of $most, a page of $some"
        return 1
    }
    echo "note: $((module + plain)) bytes gzipped, $((module + simd)) with" \
        "vectors, $((page + simd)) bundled for a sampler, $by"
}

web_types() {
    (cd "$root" && quietly_web)
    quietly tsc --strict --noEmit --target es2020 --lib es2020 \
        --skipDefaultLibCheck --module es2020 --moduleResolution node16 \
        "$root/examples/js/tests/types.mts" "$root/examples/js/tests/named.mts" \
        "$root/examples/js/tests/steered.mts"
}

# Some tests of examples/js/tests/page.mjs, one after the other in a Chromium.
page() { # NAME...
    names=$(echo "$*" | tr ' ' '|')
    (cd "$root" && quietly_web && timeout -k 10 590 \
        node --test-name-pattern="^($names)\$" examples/js/tests/page.mjs)
}

# What people open from disk or send each other.
page_size() {
    (cd "$root" && quietly_web && "$MAKE" -s web) |
        grep '^open build/web/index.html ' >said
    size=$(wc -c <"$root/build/web/index.html")
    [ "$size" -lt 300000 ] || {
        echo "the page has $size bytes"
        return 1
    }
    grep -oE '(src|href)="[^"#]*"|url\([^)]*\)|@import' \
        "$root/build/web/index.html" | grep -v '"data:,"' | nothing
    echo "note: $size bytes"
}

# The page that was built without an address names the one that it is built with
# now; it must be one.
page_address() {
    (cd "$root" && quietly_web)
    mkdir -p own/examples/extras own/tests own/build
    cp -rp "$root/examples/js" own/examples
    cp -p "$root"/examples/extras/*.h own/examples/extras
    cp -p "$root/statesampler.h" "$root/LICENSE" "$root/Makefile" own
    cp -p "$root/tests/vectors.json" own/tests
    cp -rp "$root/build/web" own/build
    cd own
    for address in '' https://example.org/a~b; do
        quietly env MAKEFLAGS= "$MAKE" -s web RELEASE="$address"
        grep -o 'Its home is <a href="[^"]*"' build/web/index.html >home || :
        [ "$(cat home)" = "${address:+Its home is <a href=\"$address\"}" ]
        touch -r build/web/made built
        quietly env MAKEFLAGS= "$MAKE" -s web RELEASE="$address"
        [ ! build/web/made -nt built ]
    done
    for wrong in http://example.org 'https://a"b' 'https://<b>' example.org; do
        fails env RELEASE="$wrong" sh examples/js/build.sh
        grep -q '^web: RELEASE must be an address' said
    done
}

# Where Chromium does not start, as in containers without user namespaces, its
# tests are left out with its words.
no_sandbox() {
    mkdir bin
    cat >bin/chromium <<'END'
#!/bin/sh
echo '[7:7:1125/1:FATAL:zygote_host_impl_linux.cc(1)] No usable sandbox! Or so.' >&2
exit 1
END
    chmod +x bin/chromium
    (cd "$root" && quietly_web &&
        PATH=$folder/bin:$PATH node examples/js/tests/page.mjs) >answer
    echo "skip The page in Chromium: it does not start here: No usable" \
        "sandbox! Or so." | cmp - answer
}

list_tests() {
    tool clang 'JavaScript' && tool wasm-ld 'JavaScript' &&
        tool node 'JavaScript' || return 0
    for variant in simd plain inlined inlined-plain; do
        add_test "JavaScript, $variant: it does what the header does" \
            node_tests module.mjs $variant
    done
    for file in build/web build/web/package; do
        add_test "JavaScript, $file: a ledger does what it does in C" \
            web_ledger $file/statesampler.mjs
    done
    add_test 'JavaScript: histories and schedules do what they do in C' \
        web_steering
    add_test 'JavaScript: memory stays as small as is declared' \
        node_tests memory.mjs
    add_test 'JavaScript: its size gzipped, of 19 KiB, for a sampler of 17' web_sizes
    add_test 'JavaScript: drawn inputs, half of them wrong' \
        node_tests drawn.mjs build/web/statesampler.mjs 1500
    if tool tsc "JavaScript's declarations"; then
        add_test 'JavaScript: its declarations, by tsc' web_types
    fi
    add_test 'The page: one file below 300,000 bytes that fetches nothing' page_size
    add_test 'The page: its address' page_address
    add_test 'The page: where Chromium does not start, its reason' no_sandbox
    tool chromium 'The page in a browser' || return 0
    names=$(sed -n 's/^page_test("\([^"]*\)", .*/\1/p' \
        examples/js/tests/page.mjs)
    # One more is the function itself.
    [ $(($(echo "$names" | wc -l) + 1)) = \
        $(grep -c 'page_test(' examples/js/tests/page.mjs) ] || {
        echo 'page.mjs: begin the line of each test with page_test("NAME",' >&2
        exit 1
    }
    # To start a Chromium takes as long as a test does.
    echo $names | xargs -n 8 >$lists/pages
    while read -r names; do
        add_test "The page in Chromium: $names" page $names
    done <$lists/pages
}

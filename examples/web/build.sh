#!/bin/sh
# build.sh - what `make web` runs: makes build/web/ with clang and wasm-ld.
#   statesampler-simd.wasm, statesampler.wasm   the header, with vectors or not
#   statesampler.mjs, statesampler.d.mts        the module that loads one
#   index.html                                  the page, all in one file
# clang and wasm-ld are enough; wasm-opt and esbuild make it a fifteenth less,
# which is what brings the module below 16 KiB gzipped.
set -e

# Another make may read what is there: it gets whole files.
web=build/web.$$
mkdir -p $web build/web
trap 'rm -rf $web' EXIT

for tool in clang wasm-ld; do
    command -v $tool >/dev/null || {
        echo "skip web: $tool is not installed"
        exit 0
    }
done

# Whoever opens a page waits for these: size counts. Without vectors there are
# none of the header's loops over many indices, as in a build that does not
# optimise.
wasm() { # FILE FLAG...
    file=$1
    shift
    # There is no libc: no loop is to become a call of its memset.
    clang --target=wasm32 -std=c99 -Oz "$@" -mnontrapping-fptoint -nostdlib \
        -fno-builtin -I. -c -o $file.o examples/web/module.c
    # A stack of 16 KiB before the data: what overflows it traps. As it fills
    # from its end, nothing is in the first KiB, which wasm-opt may know.
    wasm-ld --no-entry --gc-sections --strip-all -O2 --compress-relocations \
        --stack-first -z stack-size=16384 -o $file $file.o
    rm $file.o
    if command -v wasm-opt >/dev/null; then
        wasm-opt -Oz --converge --enable-simd --zero-filled-memory \
            --low-memory-unused --enable-nontrapping-float-to-int $file \
            -o $file
    fi
}

wasm $web/statesampler-simd.wasm -msimd128
wasm $web/statesampler.wasm -ffreestanding -U__OPTIMIZE__

# Comments and indentation stay in the source, but for the first line.
awk 'NR == 1 { sub(/$/, " */") }
    NR > 1 && /^ *\/\*/ { comment = 1 }
    NR == 1 { print; comment = 1; next }
    !comment && NF { sub(/^ +/, ""); sub(/ +\/\* .* \*\/$/, ""); print }
    /\*\/$/ { comment = 0 }' examples/web/statesampler.mjs >$web/plain
if command -v esbuild >/dev/null; then
    head -n 1 $web/plain
    esbuild --minify --target=es2022 --log-level=error <$web/plain
else
    cat $web/plain
fi >$web/statesampler.mjs
cp examples/web/statesampler.d.mts $web

# The page is one file: @NAME@ in it is a file's text. Its module has the bytes
# in itself.
text() { # FILE
    base64 <$web/$1 | tr -d '\n'
}
printf 'const inlined = { false: "%s", true: "%s" };\n' \
    "$(text statesampler.wasm)" "$(text statesampler-simd.wasm)" >$web/inlined
sed -e "/^const inlined = {};$/{
    r $web/inlined
    d
}" $web/plain >$web/library
(
    echo '['
    grep '"kind":"perm"' tests/vectors.json | awk 'NR % 12 == 1' |
        sed '$s/,$//'
    echo ']'
) >$web/vectors
awk -v web=$web '{
        while (match($0, /@[a-z.]+@/)) {
            name = substr($0, RSTART + 1, RLENGTH - 2)
            printf "%s", substr($0, 1, RSTART - 1)
            file = (name ~ /\./ ? "examples/web/" : web "/") name
            while ((getline line <file) > 0)
                print line
            $0 = substr($0, RSTART + RLENGTH)
        }
        print
    }' examples/web/index.html >$web/index.html
rm $web/plain $web/inlined $web/library $web/vectors

mv -f $web/* build/web
touch build/web/made

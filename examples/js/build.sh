#!/bin/sh
# build.sh - runs `make web`: builds build/web/ with clang and wasm-ld.
#   statesampler-simd.wasm, statesampler.wasm   the header, with SIMD or not
#   statesampler.mjs, statesampler.d.mts        the module that loads one
#   mixture.mjs, mixture.d.mts                  datasets with names, by it
#   steering.mjs, steering.d.mts                runs that people steer, by it;
#       with WebAssembly of its own in its text
#   index.html                                  the page, in one file; it names
#       the address RELEASE, if there is one, where the header is from
#   package/                                    the npm package
# wasm-opt, esbuild and advdef are optional; with them the module is a fifteenth
# smaller, below 19 KiB gzipped, or 17 where a bundler leaves out the bag.
# Its lines stay short, as node prints the line of an error that nobody catches.
set -e

[ -z "$RELEASE" ] ||
    echo "$RELEASE" | grep -qE '^https://[A-Za-z0-9._~:/?#@!*+,;=%-]+$' || {
    echo 'web: RELEASE must be an address that begins with https://' >&2
    exit 1
}

# Build in another folder and rename, as another make may be reading.
web=build/web.$$
mkdir -p $web/package build/web/package
trap 'rm -rf $web' EXIT

for tool in clang wasm-ld; do
    command -v $tool >/dev/null || {
        echo "skip web: $tool is not installed"
        exit 0
    }
done

# Optimized for size, as pages download these. Without SIMD, -U__OPTIMIZE__
# drops the header's bulk loops. Strength reduction, the elimination of partly
# redundant expressions and 64-bit counters for 32-bit loops make code larger,
# and here hardly faster. Exports get names of one letter or two, which wasm-opt
# prints.
wasm() { # FILE SOURCE FLAG...
    file=$1 source=examples/js/$2
    shift 2
    # There is no libc, but for what the folder of that name has: -fno-builtin
    # keeps loops from becoming calls of memset.
    clang --target=wasm32 -std=c99 -Oz "$@" -mnontrapping-fptoint -nostdlib \
        -mllvm -disable-lsr -mllvm -enable-pre=0 \
        -mllvm -indvars-widen-indvars=false -fno-builtin -I. \
        -Iexamples/js/libc -c -o $file.o $source
    # A stack of 16 KiB before the data, so that an overflow traps. It grows
    # downwards, so the first KiB is unused (--low-memory-unused).
    wasm-ld --no-entry --gc-sections --strip-all -O2 --compress-relocations \
        --stack-first -z stack-size=$stack $linking -o $file $file.o
    rm $file.o
    : >$file.exports
    if command -v wasm-opt >/dev/null; then
        wasm-opt -Oz --converge --enable-simd --zero-filled-memory \
            --low-memory-unused --enable-nontrapping-float-to-int \
            --enable-bulk-memory $file $more --minify-imports-and-exports \
            -o $file >$file.exports
    fi
}

small='-ffreestanding -U__OPTIMIZE__'
stack=16384 linking= more=--dealign
# Loops of vectors are always inline; that little else is saves 80 bytes. Both
# are made alike, as the npm package packs them as one. --dealign sets hints that
# engines do not need to one value.
inline='-mllvm -inline-threshold=-50'
wasm $web/statesampler-simd.wasm module.c -msimd128 $inline
wasm $web/statesampler.wasm module.c $small $inline
cmp $web/statesampler.wasm.exports $web/statesampler-simd.wasm.exports
# In the memory of these, with the last part of their stack as its own.
stack=2048 linking=--import-memory more="--dealign --reorder-functions"
wasm $web/bag.wasm bag.c -mbulk-memory
stack=16384 linking=
# The way to a mix's sources inline: that makes answers from a long history
# twice as fast, for 250 bytes. The rest is inline only where that is smaller, as
# it is for functions of up to 8 bytes.
more='--always-inline-max-function-size=8 --dealign --reorder-functions'
wasm $web/steering.wasm steering.c $small -U__OPTIMIZE_SIZE__ \
    '-DSSMP_ALWAYS_INLINE=static inline' -mllvm -inline-threshold=-50

version=$(sed -n '1s/.* - v\([0-9.]*\) - .*/\1/p' statesampler.h)
fill_version() { # FILE
    sed "s/@VERSION@/$version/" "$1"
}

# Removes comments, except the first line, and indentation.
plain() { # FILE
    fill_version "$1" | awk 'NR == 1 { sub(/$/, " */") }
        NR > 1 && /^ *\/\*/ { comment = 1 }
        NR == 1 { print; comment = 1; next }
        !comment && NF { sub(/^ +/, ""); sub(/ +\/\* .* \*\/$/, ""); print }
        /\*\/$/ { comment = 0 }'
}
# The exports of a WebAssembly get their new names where JavaScript has them of
# an object.
short_names() { # FILE OBJECT
    sed -E "$(awk -v object="$2" '$2 == "=>" && $1 != $3 {
        printf "s/(^|[^.A-Za-z])(%s)\\.%s([^_A-Za-z0-9])/\\1\\2.%s\\3/g\n",
            object, $1, $3
    }' $web/$1.exports)"
}
main_names() {
    short_names statesampler.wasm 'c|this[.]#enter[(][)]'
}
# statesampler.mjs, whole or with another part WebAssembly.
library() { # FILE
    plain "$1" | main_names | short_names bag.wasm bags
}
# bag.wasm as text, and what unpacks it.
bag_text() {
    od -An -v -tu1 $web/bag.wasm | awk '
        BEGIN { printf "const BAG = \"" }
        {
            for (i = 1; i <= NF; i++) {
                byte = ($i + 8) % 256
                if (byte >= 90)
                    printf "%c", 124 + int(byte / 90)
                one = sprintf("%c", 35 + byte % 90)
                printf "%s", one == "\\" ? "\\\\" : one
            }
        }
        END { print "\";" }'
    plain examples/js/bagtext.mjs | tail -n +2
}
# Breaks the lines of a program after so many characters, and around strings as
# long as that, which must not follow a return. Outside of strings a break after
# ; { or } changes nothing. (A template within a template would be taken for the
# end of both: we have none.)
break_lines() {
    awk -v most=150 '{
        width = 0
        quote = ""
        for (i = 1; i <= length($0); i++) {
            one = substr($0, i, 1)
            if (quote == "" && index("\"'\''`", one) > 0) {
                quote = one
                if (index(substr($0, i + 1, most), quote) == 0) {
                    print ""
                    width = most
                }
            } else if (one == quote) {
                quote = ""
            }
            printf "%s", one
            width++
            if (one == "\\")
                printf "%s", substr($0, ++i, 1)
            else if (quote == "" && width > most && index(";{}", one) > 0) {
                print ""
                width = 0
            }
        }
        print ""
    }'
}
minify() { # FILE
    if command -v esbuild >/dev/null; then
        head -n 1 "$1"
        esbuild --minify --target=es2022 --log-level=error <"$1" | break_lines
    else
        cat "$1"
    fi
}

{
    library examples/js/statesampler.mjs
    bag_text
} >$web/plain
# Files, deflated: gzip's own header has 10 bytes. advdef packs a 25th more
# tightly.
deflated() { # FILE...
    cat "$@" | gzip -9n >$web/deflated
    ! command -v advdef >/dev/null || advdef -q -z -4 $web/deflated
    tail -c +11 $web/deflated
    rm $web/deflated
}

# An old esbuild drops the comment in import() that webpack reads.
ignored='/* webpackIgnore: true */'
minify $web/plain | sed "s|import(\([a-z]* *+ *\":fs\"\))|import($ignored \1)|" \
    >$web/statesampler.mjs
plain examples/js/mixture.mjs | main_names >$web/names
minify $web/names >$web/mixture.mjs
rm $web/names
{
    plain examples/js/steering.mjs | short_names statesampler.wasm main |
        short_names steering.wasm c
    printf 'function inText() { return ["%s"]; }\n' \
        "$(deflated $web/steering.wasm | base64 | tr -d '\n')"
} >$web/steers
plain examples/js/inflate.mjs | tail -n +2 | cat $web/steers - >$web/alone
minify $web/alone >$web/steering.mjs
rm $web/alone $web/steering.wasm
cp examples/js/*.d.mts $web

# The page is one file: @NAME@ is replaced by a file's text, and its module
# includes the WebAssembly as base64.
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
gzip -9n <statesampler.h | base64 >$web/packed
: >$web/address
if [ -n "$RELEASE" ]; then
    echo "Its home is <a href=\"$RELEASE\">$RELEASE</a>." >$web/address
fi
fill_version examples/js/page/index.html | awk -v web=$web '{
        while (match($0, /@[a-z.]+@/)) {
            name = substr($0, RSTART + 1, RLENGTH - 2)
            printf "%s", substr($0, 1, RSTART - 1)
            file = (name ~ /\./ ? "examples/js/page/" : web "/") name
            while ((getline line <file) > 0)
                print line
            $0 = substr($0, RSTART + RLENGTH)
        }
        print
    }' >$web/index.html
rm $web/inlined $web/library $web/vectors $web/packed $web/address

# The module with another part WebAssembly.
with_part() { # FILE
    awk -v part="$1" '/^\/\* --- memory/ { skips = 0 }
        /^\/\* --- WebAssembly/ {
            skips = 1
            while ((getline line <part) > 0)
                print line
        }
        !skips' examples/js/statesampler.mjs >$web/whole
    library $web/whole
}

# A module as a script, which is also what require gets.
as_script() { # FILE
    head -n 1 "$1"
    echo 'var statesampler = (() => {'
    echo '"use strict";'
    sed -e 1d -e 's/^export //' "$1"
    echo "return {" $(sed -n 's/^export [a-z]* \([A-Za-z]*\).*/\1,/p' "$1") "};"
    echo '})();'
    echo 'if (typeof module === "object") module.exports = statesampler;'
}

package() {
    package=$web/package
    deflated $web/statesampler.wasm $web/statesampler-simd.wasm >$web/packed
    cat examples/js/inflate.mjs examples/js/inlined.mjs >$web/part
    with_part $web/part |
        sed 's/^export const internals = {/& inflate,/' >$web/code
    printf 'function inText() { return [%d, "%s"]; }\n' \
        $(wc -c <$web/statesampler.wasm) "$(text packed)" >$web/function
    # It is the end of one and the beginning of the other, which stand side by
    # side in the package: gzip looks 32 KB back.
    bag_text >>$web/code
    cat $web/code $web/function >$web/module
    sed -e "1r $web/function" $web/code >$web/begins
    as_script $web/begins >$web/script
    with_part examples/js/workerd.mjs >$web/imports
    minify $web/module >$package/statesampler.mjs
    minify $web/script >$package/statesampler.js
    minify $web/imports >$package/workerd.mjs
    cp $web/statesampler.mjs $package/files.mjs
    cp $web/*.wasm $web/mixture.d.mts $web/steering.d.mts LICENSE $package
    # Its inflate is the module's.
    sed 's/^const { c: main,/& inflate,/' $web/steers >$web/shares
    minify $web/shares >$web/steering
    from='s|"./statesampler.mjs"|"statesampler"|'
    sed "$from" $web/steering >$package/steering.mjs
    sed "$from" $web/mixture.mjs >$package/mixture.mjs
    for name in d.ts d.mts; do
        cp $web/statesampler.d.mts $package/statesampler.$name
    done
    fill_version examples/js/package.json >$package/package.json
    fill_version examples/js/package.md >$package/README.md
    rm $web/whole $web/packed $web/part $web/code $web/function $web/begins \
        $web/module $web/script $web/imports $web/steers $web/shares \
        $web/steering
    mv -f $package/* build/web/package
}
package

rmdir $web/package
rm $web/plain $web/bag.wasm $web/*.exports
mv -f $web/* build/web
touch build/web/made

#!/bin/sh
# npm.sh FOLDER - makes the npm package FOLDER/statesampler-VERSION.tgz of what
# `make web` builds. It needs neither npm nor a network, and the same sources
# and tools make the same bytes.
. examples/packaging/common.sh
set -e

for tool in clang wasm-ld; do
    command -v $tool >/dev/null || {
        echo 'skip npm: install clang and lld'
        exit 0
    }
done
output=${1:?usage: npm.sh FOLDER}
mkdir -p "$output"
MAKEFLAGS= "${MAKE:-make}" -s web >/dev/null

version=$(read_version <statesampler.h)
file=$output/statesampler-$version.tgz
# What two modules have in common stands less than 32 KB apart in this order, so
# that gzip finds it: statesampler.mjs ends with the text with which
# statesampler.js begins.
set --
for name in package.json README.md LICENSE workerd.mjs files.mjs \
    statesampler.mjs statesampler.js statesampler.d.ts statesampler.d.mts \
    mixture.mjs mixture.d.mts statesampler.wasm statesampler-simd.wasm \
    bag.wasm steering.d.mts steering.mjs; do
    set -- "$@" package/$name
done
part=$file.$$
trap 'rm -f "$part" "$part.gz"' EXIT
tar -C build/web --format=ustar --owner=0 --group=0 --numeric-owner \
    --mode=u=rw,go=r --mtime=2000-01-01Z -c "$@" >"$part" || {
    echo 'npm.sh: the package needs GNU tar' >&2
    exit 1
}
gzip -9n "$part"
mv "$part.gz" "$file"

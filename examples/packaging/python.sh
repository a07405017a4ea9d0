#!/bin/sh
# python.sh FOLDER - makes the Python package there: an sdist, and from it the
# wheel, with a library for each usual platform. So the sdist has all it needs.
python=$(sh examples/python/tests/python.sh build setuptools wheel 2>/dev/null) || {
    echo 'skip python: install build, setuptools and wheel for a python3'
    exit 0
}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

build() { # OPTION...
    "$python" -m build --no-isolation --outdir "$work/made" "$@" \
        >"$work/said" 2>"$work/errors" || {
        tail -n 1 "$work/errors" >&2
        exit 1
    }
}

# The same tree makes the same wheel.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null)}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-1700000000}

mkdir -p "$1"
build --sdist examples/python
for tool in clang lld llvm-strip advzip; do
    command -v $tool >/dev/null || {
        echo "skip Python's wheel: install clang, lld, llvm and advancecomp"
        mv "$work"/made/* "$1"
        exit 0
    }
done
gzip -dc "$work"/made/*.tar.gz | (cd "$work" && tar -xf -)
package=$(echo "$work"/statesampler-*/statesampler)
sh examples/packaging/wheel/libraries.sh "$package" || exit 1
"$python" examples/packaging/wheel/checksums.py "$package" || exit 1
build --wheel "${package%/*}"
advzip --recompress -4 --quiet "$work"/made/*.whl
mv "$work"/made/* "$1"

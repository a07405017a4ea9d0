#!/bin/sh
# python.sh FOLDER - makes the Python package there: an sdist, and from it a
# wheel, which shows that the sdist has all it needs.
python=$(sh examples/python/tests/python.sh build setuptools wheel 2>/dev/null) || {
    echo 'skip python: install build, setuptools and wheel for a python3'
    exit 0
}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$python" -m build --no-isolation --outdir "$work" examples/python \
    >"$work/said" 2>"$work/errors" || {
    tail -n 1 "$work/errors" >&2
    exit 1
}
mkdir -p "$1" && mv "$work"/statesampler-* "$1"

#!/bin/sh
# case.sh FILE CALL - a test of a file of cases, for CTest: makes the call in a
# folder of its own, where it finds the header and the tests. It fails if any
# command of it fails. One that prints nothing but what it skips is skipped, by
# status 77. An endless loop ends after five minutes of processor time; drawn
# cases, in an emulator, may take longer.

cd "$(dirname "$0")/.." || exit 1
root=$PWD
. tests/common.sh
. "$1"
folder=$(mktemp -d "$root/build/test/case.XXXXXX") || exit 1
# The name of a socket in it, as PyTorch makes them, has 107 bytes at most.
if [ ${#folder} -le 65 ]; then
    tmp=$folder/tmp
    mkdir "$tmp"
else
    tmp=$(TMPDIR= mktemp -d) || exit 1
fi
trap 'rm -rf "$folder" "$tmp"' EXIT
trap 'exit 143' TERM HUP INT
ln -s "$root/statesampler.h" "$root/README.md" "$root/tests" "$root/examples" \
    "$folder"
ulimit -t $([ -z "$drawn" ] && echo 300 || echo 7200)
(
    set -e
    cd "$folder"
    export TMPDIR="$tmp"
    eval "$2"
) >"$folder/out" 2>&1 </dev/null
status=$?
cat "$folder/out"
if [ $status = 0 ] && grep -q '^skip ' "$folder/out" &&
    ! grep -qv '^skip ' "$folder/out"; then
    exit 77
fi
exit $status

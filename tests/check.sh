#!/bin/sh
# check.sh - what a C compiler alone can test, for `make check`: each
# tests/test_*.c, one after the other, with the whole core. The last line is the
# sum. `make test` compiles them in many more ways.

export CC="${CC:-cc}" STB_FLAGS="$STB_FLAGS"
passed=0 failed=0
command -v ${CC%% *} >/dev/null || {
    echo "The C compiler ${CC%% *} is not here: CC=... names another."
    exit 1
}
root=$PWD work=build/test/check # the tests leave files
rm -rf $work
mkdir -p $work
ln -s "$root/tests" $work
for source in tests/test_*.c; do
    name=$(basename "$source" .c)
    if [ -z "$STB_FLAGS" ] && grep -q 'stb_ds\.h' "$source"; then
        echo "skip $name: stb_ds.h is not here"
    elif ${MAKE:-make} -s build/test/cc/$name >build/test/said 2>&1 &&
        (cd $work && "$root/build/test/cc/$name" full) >>build/test/said 2>&1
    then
        passed=$((passed + 1))
        echo "ok   $name"
    else
        failed=$((failed + 1))
        echo "FAIL $name"
        sed 's/^/    /' build/test/said
    fi
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]

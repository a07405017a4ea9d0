#!/bin/sh
# run.sh [list] [FOLDER|FILE...] - runs the tests of these folders, or files of
# cases, by CTest, or prints their names. By default all: each folder of
# examples with tests/cases has its own, `examples` those of its programs, and
# `.` those of the header and its extras. The last of these begin last, as they
# alone never wait: the others kill processes, or start browsers.
#     JOBS=2       so many at a time
#     ONLY=REGEX   those with such a name; as ctest -R
# The last line is the sum; build/test/junit.xml has it for programs. CTest
# itself runs what failed again, or a topic:
#     ctest --test-dir build/test --rerun-failed
#     ctest --test-dir build/test -L page
# tests/README.md says where a new test goes.

export LC_ALL=C
export CC="${CC:-cc}" MAKE="${MAKE:-make}"
# As in the Makefile, for who calls this by hand.
export STB_FLAGS="${STB_FLAGS-$(pkg-config --cflags stb 2>/dev/null |
    sed 's/-I/-isystem/')}"
# What the listing of tests finds out for them is kept there.
export lists=build/test/lists

# Writes the tests of a file of cases for CTest. Skips what has no tool.
list() { # FILE
    (
        cases=$1 topic=$(basename "$1" .sh)
        . tests/common.sh
        . "$cases"
        list_tests
        exit 0
    )
}

# A line for each tool that is not here: what is left out, or how much.
say_skipped() {
    sort -u $lists/skipped | awk -F '\t' -v file=$lists/skipped '
        { parts[$1] = parts[$1] (count[$1]++ ? "; " : "") $2 }
        END {
            for (tool in count) {
                if (count[tool] > 3)
                    parts[tool] = count[tool] " parts of the tests, see " file
                print "skip " tool " is not here: " parts[tool]
            }
        }' | sort
}

# CTest's count of tests by what became of them.
count() { # tests|failures|skipped
    sed -n "s/.*[ \t]$1=\"\([0-9]*\)\".*/\1/p" build/test/junit.xml |
        head -n 1
}

command -v ${CC%% *} >/dev/null || {
    echo "The C compiler ${CC%% *} is not here: CC=... names another."
    exit 1
}
command -v ctest >/dev/null || {
    echo "ctest is not here: it is in Debian's package cmake"
    exit 1
}
action=run
[ "$1" != list ] || { action=list; shift; }
case ${JOBS:-2} in
*[!0-9]* | 0*)
    echo "JOBS=$JOBS is not a number of tests to run at a time."
    exit 1
    ;;
esac
for place; do
    [ -f "$place" ] || [ -d "$place/tests/cases" ] || {
        echo "No tests: there is no folder $place/tests/cases."
        exit 1
    }
done
[ $# != 0 ] || set -- examples/*/ examples .
mkdir -p $lists
: >$lists/CTestTestfile.cmake
: >$lists/skipped
for place; do
    if [ -f "$place" ]; then
        list "$place" || exit
    else
        for file in "$place"/tests/cases/*.sh; do
            [ ! -f "$file" ] || list "$file" || exit
        done
    fi
done
say_skipped >&2
sed -n 's/^add_test(\[==\[\(.*\)\]==\] "sh".*/Two tests have the name: \1/p' \
    $lists/CTestTestfile.cmake | sort | uniq -d | grep . && exit 1
cp $lists/CTestTestfile.cmake build/test
set -- --test-dir build/test --no-tests=error ${ONLY:+-R "$ONLY"}
if [ $action = list ]; then
    ctest "$@" -N | sed -n 's/^ *Test *#[0-9]*: //p'
    exit
fi
rm -f build/test/junit.xml
ctest "$@" -j "${JOBS:-2}" --output-on-failure --output-junit junit.xml
status=$?
[ "$status" = 0 ] || [ "$(count tests)" != 0 ] ||
    echo "No test's name matches ONLY=$ONLY."
rm -rf build/test/case.*
[ -e build/test/junit.xml ] || exit 1
failed=$(count failures) skipped=$(count skipped)
echo "$(($(count tests) - failed - skipped)) passed, $failed failed"\
"$([ "$skipped" = 0 ] || echo ", $skipped skipped")"
exit $status

# tests.sh - every tests/test_*.c, and the checksum of every part, compiled and
# run in the ways of tests/ways.sh.

# Every test on Windows, or what stands in for it.
windows() { # TEST...
    begin_windows
    bad=0
    for test; do
        made "build/test/windows/$test.exe" &&
            wine "$root/build/test/windows/$test.exe" reduced >said \
                2>said.wine || {
            echo "$test:"
            cat said
            bad=1
        }
    done
    return $bad
}

# The checksum of every part, and the size of the core.
checksum() { # WAY [RUNNER]
    way=$1 program=build/test/$1/checksum$drawn
    [ "$way$drawn" != windows ] || program=$program.exe
    # nvcc does not know how stb_ds.h is found.
    ([ "$way" != nvcc ] || STB_FLAGS=; made $program)
    [ "$way" != windows ] || begin_windows
    $2 "$root/$program" | tr -d '\r' >here
    same_checksum "$(size "$root/build/test/$way/core.o" |
        awk 'NR == 2 { print $1 + $2 " bytes of code" }')"
}

list_tests() {
    tests=
    for source in tests/test_*.c; do
        test=$(basename $source .c)
        if [ -z "$STB_FLAGS" ] && grep -q 'stb_ds\.h' $source; then
            skip_dep $test stb_ds.h
        else
            tests="$tests $test"
        fi
    done
    ways | while read -r way amount need command; do
        [ $amount != long ] || continue
        possible $way $need $command </dev/null || continue
        echo "$way $amount $runner"
    done >$lists/ways
    # Way by way for each test, and not the reverse: so two that run at
    # the same time do not both compile the core of a way.
    for test in $tests; do
        while read -r way amount runner; do
            is_tested $test $amount || continue
            [ $amount = full ] || amount=reduced
            add_test "$test: $way, $amount" try $way $test $amount $runner
        done <$lists/ways
    done
    while read -r way amount runner; do
        # All are compared with cc, and the small build has not every part.
        [ $way = cc ] || [ $amount = small ] ||
            add_test "the checksum of every part: $way" checksum $way $runner
    done <$lists/ways
    if grep -q '^windows ' $lists/ways; then
        add_test 'every test on Windows (mingw-w64, wine)' windows $(
            for test in $tests; do ! is_tested $test reduced || echo $test; done)
    fi
}

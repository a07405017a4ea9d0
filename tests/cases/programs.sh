# programs.sh - the programs around the header: the reference, the bench, the
# statistics and what runs the tests.

# The kept vectors are what the reference prints today.
vectors() {
    python3 tests/reference.py >vectors.json
    cmp vectors.json tests/vectors.json
}

# The bench checks what it computes and prints its rows and points. Times are
# not looked at: nobody has the machine for himself here.
bench() {
    (cd "$root" && ONLY= OUT=$folder/figures BENCH_QUICK=1 \
        sh bench/run.sh) >said 2>&1 || {
        cat said
        return 1
    }
    at_least 19 "$(grep -cE '^[^,]* -O.*(,met|,MISSED|,not measured: .*)$' \
        figures/table.csv)" 'rows with a bar'
    for plot in n batch bytes resume; do
        for series in statesampler Fisher-Yates; do
            at_least 2 "$(grep -c "^$plot,$series," figures/plots.csv)" \
                "points of $series in $plot"
        done
    done
}

quality() {
    (cd "$root" && $MAKE -s build/quality/quality) &&
        "$root"/build/quality/quality short . 0.25 &&
        sed -n 's/^statesampler.h: passes: /note: /p' short.txt
}

# What is bad fails by p < 1e-12. That the control passes, and every kind of
# p-value tells something, is run by make quality.
quality_selftest() {
    (cd "$root" && $MAKE -s build/quality/quality) &&
        "$root"/build/quality/quality selftest 0.25 0 &&
        echo 'note: half the rounds, a sum of keys and five others'
}

# A folder without tests is no test passed. `list` prints names alone.
runner() {
    mkdir -p own/tests/cases
    cat >own/tests/cases/own.sh <<'END'
list_tests() {
    add_test 'the only one' true
    for part in one two three; do
        tool few "$part" || :
    done
    for part in one two three four four; do
        skip "$part" many
    done
    echo 'skip fuzz: a harness: another is not installed' | skips
}
END
    ONLY= sh tests/run.sh list own >names 2>complaints
    echo 'the only one' | cmp - names
    cat >wanted <<'END'
skip another (make deps) is not here: fuzz: a harness
skip few (make deps) is not here: one; three; two
skip many is not here: 4 parts of the tests, see build/test/lists/skipped
END
    same wanted complaints
    for folder in nonsense bench; do
        fails sh tests/run.sh $folder
        grep -q "^No tests: there is no folder $folder/tests/cases" said
    done
    for jobs in 0 -1 abc; do
        export JOBS=$jobs
        fails sh tests/run.sh list
        grep -q "^JOBS=$jobs is not a number of tests" said
    done
}

list_tests() {
    add_test 'no statistic tells it from Fisher-Yates (short)' quality
    add_test 'the bench measures right results, and every row (quick)' bench
    # By now the first test has built the program.
    add_test 'those statistics tell what is bad' quality_selftest
    add_test 'run.sh lists names, and refuses no tests and no number of jobs' runner
    if tool python3 'the reference'; then
        add_test 'tests/reference.py prints tests/vectors.json' vectors
    fi
}

# programs.sh - the programs around the header: examples, the reference, the
# bench and the statistics.

# Compiled as their users do, but no warning is let pass, and the header's
# functions are compiled once for all; grow.c has its own, and its own stb_ds.h.
examples() {
    strict=$(echo $STRICT) core=build/test/cc/core.o
    (cd "$root" && "$MAKE" -s build/quickstart ${STB_FLAGS:+build/grow} \
        $core CFLAGS="$CFLAGS $strict" && "$MAKE" -s examples \
        CFLAGS="$CFLAGS $strict -DSTATESAMPLER_IMPLEMENTATION_INCLUDED" \
        LDFLAGS="$LDFLAGS $core" && sh tests/examples.sh build $core)
}

# All that make examples builds, here, without a warning of those that people
# ask for. A description names what it sets, which C++ warns of if told to.
examples_by() { # COMPILER
    flags='-O3 -Wall -Wextra -Werror -Wno-missing-field-initializers'
    "$MAKE" -s -f "$root/Makefile" build/quickstart ${STB_FLAGS:+build/grow} \
        CC=$1 CFLAGS="$flags" LDFLAGS=
    case $1 in *++) language='-x c++' ;; *) language= ;; esac
    $1 $flags -I. $STB_FLAGS $core_flags $language -c -o core.o tests/core.c
    "$MAKE" -s -f "$root/Makefile" examples CC=$1 LDFLAGS=core.o \
        CFLAGS="$flags -DSTATESAMPLER_IMPLEMENTATION_INCLUDED"
    quietly build/recipes
    quietly build/edit saved
    quietly build/shards shards
}

# As most people compile them: with the header's functions, which the compiler
# then looks into. Clang warns before it optimises.
examples_optimised() {
    for source in examples/*.c; do
        [ -n "$STB_FLAGS" ] || ! grep -q 'stb_ds\.h' $source || continue
        gcc -std=c99 -O2 -Wall -Wextra -Werror -I. $STB_FLAGS -c -o one.o \
            $source
    done
}

# For Windows, without a warning, the header's functions compiled once for all
# but grow.c; the one that starts processes is run there. Where gcc optimises it
# sees no more here than in warnings.sh.
examples_windows() {
    set -- x86_64-w64-mingw32-gcc -std=c99 $STRICT -static -I"$root" \
        $STB_FLAGS
    "$@" -c -o core.o "$root/tests/core.c"
    for source in "$root"/examples/*.c; do
        name=$(basename "$source" .c)
        core='-DSTATESAMPLER_IMPLEMENTATION_INCLUDED core.o'
        if [ $name = grow ]; then
            [ -n "$STB_FLAGS" ] || continue
            core=
        fi
        "$@" -o $name.exe "$source" $core -lm -lpthread
    done
    begin_windows
    quietly wine ./resume.exe
    grep -q '^resume: ok, killed 5 times' said
}

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
# p-value tells something, is asked by make quality.
quality_selftest() {
    (cd "$root" && $MAKE -s build/quality/quality) &&
        "$root"/build/quality/quality selftest 0.25 0 &&
        echo 'note: half the rounds, a sum of keys and five others'
}

list_tests() {
    add_test 'no statistic tells it from Fisher-Yates (short)' quality
    add_test 'the bench measures right results, and every row (quick)' bench
    add_test 'examples' examples
    for compiler in g++ clang++; do
        ! tool $compiler "the examples with CC=$compiler" ||
            add_test "the examples with CC=$compiler, no warning at -O3" \
                examples_by $compiler
    done
    ! tool gcc 'the examples at -O2' ||
        add_test 'the examples at -O2 -Wall -Wextra, no warning: gcc' \
            examples_optimised
    if tool x86_64-w64-mingw32-gcc 'the examples for Windows' &&
        tool wine 'the examples for Windows'; then
        add_test 'examples compile for Windows, and resume.c runs (mingw-w64, wine)' \
            examples_windows
    fi
    # By now the first test has built the program.
    add_test 'those statistics tell what is bad' quality_selftest
    if tool python3 'the reference'; then
        add_test 'tests/reference.py prints tests/vectors.json' vectors
    fi
}

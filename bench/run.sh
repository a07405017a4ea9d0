#!/bin/sh
# run.sh - what `make bench` runs: compiles the programs of this folder with
# several sets of flags, asks each for its figures and leaves in build/bench
#     table.csv     every row: figure, value, yardstick, ratio, bar, verdict
#     resume.csv    resumes at every order, size and position
#     plots.csv     the points of the plots, and the plots as *.svg
#     figures.md    the README's section of figures
# `sh bench/run.sh readme` puts the last of these into the README and the plots
# into bench/plots. ONLY=pattern measures only what it matches ("lone", "ours
# bulk", "tables", ...) and draws nothing; BENCH_QUICK=1 is done in seconds,
# with times that mean little. Both leave the folder of a full run alone;
# OUT=folder says where. CC is the user's, CFLAGS are not: the flags are part
# of the figures.

export LC_ALL=C
CC=${CC:-cc}
OUT=${OUT:-build/bench${BENCH_QUICK:+-quick}${ONLY:+-some}}
PYTHON=${PYTHON:-/usr/bin/python3}
plots='n batch bytes resume'

# --- Flags ------------------------------------------------------------------

has() { # CPU_FLAG COMPILER_FLAG
    grep -qsw "$1" /proc/cpuinfo &&
        $CC "$2" -E -x c /dev/null >/dev/null 2>&1
}

# The three sets of flags that figures are stated for.
flags_of() { # SET
    case $1 in
    avx2) has avx2 -mavx2 && echo '-O3 -mavx2' || echo '-O3' ;;
    plain) echo '-O2' ;;
    native) echo '-O3 -march=native' ;;
    esac
}

# --- Rows -------------------------------------------------------------------

# Shows rows as lines of text.
show() {
    awk -F , '
        function short(x) {
            if (x >= 1000) return sprintf("%d", x)
            return sprintf(x >= 100 ? "%.0f" : x >= 10 ? "%.1f" : "%.3f", x)
        }
        {
            gsub(/;/, ",", $2)
            if ($9 ~ /^not measured/) {
                printf "  %s: %s\n", $2, $9
                next
            }
            line = sprintf("  %-44s %9s %-8s %-15s %6s %5s %s", $2,
                $4 ~ /^ns/ ? short($3) : $3, $4,
                $5 == "" ? "" : $5 " " short($6), $7, $8, $9)
            sub(/ *$/, "", line)
            print line
        }'
}

# Takes a program's lines to their files, and shows the rows.
collect() { # FLAGS
    sed -n "s/^row,/$1,/p" $OUT/lines >$OUT/rows
    sed -n 's/^point,//p' $OUT/lines >>$OUT/plots.csv
    sed -n 's/^resume,//p' $OUT/lines >>$OUT/resume.csv
    cat $OUT/rows >>$OUT/table.csv
    show <$OUT/rows
}

wanted() { # WHAT
    [ -z "$ONLY" ] || echo "$1" | grep -qE -e "$ONLY"
}

program() { # SET NAME
    [ ! -e "$OUT/$1-$2" ] || return 0
    $CC -std=c99 $(flags_of $1) -I. $LDFLAGS -o $OUT/$1-$2 bench/$2.c \
        bench/bench.c bench/core.c
}

measure() { # SET PROGRAM ARGUMENT...
    set_of_flags=$1 name=$2
    wanted "$*" || return 0
    shift 2
    program $set_of_flags $name && $OUT/$set_of_flags-$name "$@" >$OUT/lines ||
        exit 1
    collect "$(flags_of $set_of_flags)"
}

# What stands in the place of a row that cannot be measured.
missing() { # FLAGS FIGURE WHY
    echo "row,$2,,,,,,,not measured: $3" >$OUT/lines
    collect "$1"
}

# Lines "WHAT: NUMBER bytes (LIMIT)" are rows, others say why there is none.
sizes() {
    wanted sizes || return 0
    MAKEFLAGS= sh tests/run.sh sizes >$OUT/sizes || exit 1
    sed -n -e 's/,/;/g' -e '
        s/^skip \(.*\): \(.*\)/row,\1,,,,,,,not measured: \2/p
        s/^\(.*\): \([0-9]*\) bytes (\([0-9]*\))$/\1,\2,\3/p' $OUT/sizes |
        awk -F , '/^row/ { print; next }
            { print "row," $1 "," $2 ",bytes,,,," $3 "," \
                ($2 <= $3 ? "met" : "MISSED") }' >$OUT/lines
    collect ''
}

quality() {
    figure='tests that tell it from Fisher-Yates; short'
    wanted quality || return 0
    if [ -n "$BENCH_QUICK" ]; then
        missing '' "$figure" 'make quality'
    else
        ${MAKE:-make} -s build/quality/quality || exit 1
        build/quality/quality short $OUT >$OUT/quality
        verdict=$?
        [ $verdict = 0 ] && verdict='0,tests,,,,0,met' ||
            verdict='some,tests,,,,0,MISSED'
        echo "row,$figure,$verdict" >$OUT/lines
        collect ''
    fi
}

# --- What is measured -------------------------------------------------------

measure_all() {
    heading avx2
    measure avx2 ours bulk 1
    measure avx2 ours epoch
    measure avx2 ours sizes
    measure avx2 ours next
    measure avx2 resume
    heading plain
    measure plain ours bulk 2.5
    measure plain ours lone
    heading native
    if has avx512bw -mavx512bw; then
        measure native ours bulk 3
    elif wanted 'native ours bulk'; then
        missing '-O3 -march=native' bulk 'no AVX-512 here'
    fi

    # Rows of other programs go here: measure SET PROGRAM ARGUMENT...
    printf '\nMixes, %s\n' "$(flags_of avx2)"
    measure avx2 mix

    printf '\nBytes, and quality\n'
    measure avx2 memory
    sizes
    quality

    # What is used instead; its times are beside the -O3 rows.
    printf '\nInstead: tables, on one core\n'
    measure avx2 tables
    if wanted torch; then
        if command -v $PYTHON >/dev/null; then
            $PYTHON bench/torch_tables.py >$OUT/lines || exit 1
            collect ''
        else
            missing '' torch "$PYTHON is not here"
        fi
    fi

    ! wanted 'avx2 ours plots' || echo
    measure avx2 ours plots
}

heading() { # SET
    printf '\n%s\n' "$(flags_of $1)"
}

processor() {
    sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2>/dev/null | head -n 1 |
        grep . || uname -m
}

commit() {
    git rev-parse --short HEAD 2>/dev/null || echo unknown
    git diff --quiet HEAD -- statesampler.h bench 2>/dev/null ||
        echo 'with changes'
}

introduce() {
    cat >$OUT/machine <<END
compiler:  $($CC -v 2>&1 | sed -n 's/ *$//; / version /p' |
    head -n 1)
processor: $(processor), $(getconf _NPROCESSORS_ONLN) cores
commit:    $(commit | paste -sd ' ')
END
    cat $OUT/machine
    cat <<'END'

Columns: the figure; its value; what it is measured against, side by side in
the same run and with the same flags; how many times that it is; the bar the
project holds itself to (for the value, where there is no ratio); the verdict.
Times are the least of many runs that take turns, in ns per index of 64 bits.
  write     stores 0, 1, 2, ... into the same array
  splitmix  stores SplitMix64 of 0, 1, 2, ...: a random number per index
  bulk      statesampler_perm_fill: 16384 positions, every 8th, as one of
            eight ranks reads them; "n = 10^8" is bulk with that n
  lone      statesampler_perm_at, a call into another object file per index
What is timed is also checked now and then, against perm_at or its inverse.
END
    [ -z "$BENCH_QUICK" ] ||
        printf '\nQuick: some sizes are less than they are called.\n'
}

# --- Plots and the README ---------------------------------------------------

plot() {
    if command -v gnuplot >/dev/null; then
        gnuplot -e "out='$OUT'" bench/plots.gp 2>$OUT/gnuplot.log || {
            cat $OUT/gnuplot.log
            exit 1
        }
        echo "plots: $(echo $plots | sed "s|[a-z]*|$OUT/&.svg|g")"
    else
        echo 'skip the plots: gnuplot is not here'
    fi
}

markdown() {
    echo "Measured by \`make bench\` with" \
        "$(sed -n 's/^compiler: *//p' $OUT/machine) on"
    echo "$(sed -n 's/^processor: *//p' $OUT/machine), at commit" \
        "$(sed -n 's/^commit: *//p' $OUT/machine):"
    echo
    echo '| figure | flags | measured | against | ratio | bar | |'
    echo '|---|---|---|---|---|---|---|'
    awk -F , 'NR > 1 {
        gsub(/;/, ",", $2)
        value = $3
        if ($4 ~ /^ns/) value = sprintf($3 < 10 ? "%.2f" : "%.0f", $3)
        if ($6 != "") $6 = sprintf($6 < 10 ? "%.2f" : "%.0f", $6)
        flags = $1 == "" ? "" : "`" $1 "`"
        printf "| %s | %s | %s | %s | %s | %s | %s |\n", $2, flags,
            value == "" ? "" : value " " $4, $5 == "" ? "" : $5 ": " $6,
            $7, $8, $9
    }' $OUT/table.csv
}

readme() {
    awk 'NR == FNR { new = new $0 "\n"; next }
        /^Measured by `make bench`/ { printf "%s\n", new; old = 1 }
        /^## / { old = 0 }
        !old' $OUT/figures.md README.md >$OUT/README.md &&
        cat $OUT/README.md >README.md
    mkdir -p bench/plots
    for name in $plots; do
        cp $OUT/$name.svg bench/plots
    done
}

main() {
    if [ "$1" = readme ]; then
        readme
        exit
    fi
    rm -rf $OUT
    mkdir -p $OUT
    echo 'flags,figure,value,unit,against,its value,ratio,bar,verdict' \
        >$OUT/table.csv
    echo 'order,n,batch ns,resume ns,start,middle,end,verdict' \
        >$OUT/resume.csv
    echo 'plot,series,x,y' >$OUT/plots.csv
    introduce
    measure_all
    [ -n "$ONLY" ] || plot
    markdown >$OUT/figures.md
    awk -F , '$9 == "met" { met++ } $9 == "MISSED" { missed++ }
        END { printf "bench: %d bars met, %d missed\n", met, missed }' \
        $OUT/table.csv
}

main "$@"
exit

#!/bin/sh
# run.sh - runs `make bench`: compiles the programs of this folder with several
# sets of flags, runs them, and writes to build/bench
#     table.csv      every row: figure, value, yardstick, ratio, bar, verdict
#     resume.csv     resumes at every order, size and position
#     plots.csv      the points of the plots; the plots are *.svg
#     headlines.csv  the README's figures
#     figures.md     a report of all of it
# `sh bench/run.sh figures` copies the last run's figures.md to
# bench/FIGURES.md, its plots to bench/plots, and the README's figures between
# its lines <!-- figures --> and <!-- /figures -->.
#
# Environment variables:
#     ONLY=pattern   run only the matching steps (below), such as "bulk" or
#                    "fast tables"; draw no plots
#     BENCH_QUICK=1  finish in half a minute, with times that mean nothing: what
#                    is compiled with sets of flags is compiled once, at -O1
#     OUT=folder     write here instead of build/bench (or, with ONLY or
#                    BENCH_QUICK, a folder beside it)
#     CC             the compiler. CFLAGS has no effect, as the flags are part
#                    of the figures.

export LC_ALL=C
CC=${CC:-cc}
OUT=${OUT:-build/bench${BENCH_QUICK:+-quick}${ONLY:+-some}}
MAKE=${MAKE:-make}
PYTHON=${PYTHON:-/usr/bin/python3}
STB_FLAGS=${STB_FLAGS-$(pkg-config --cflags stb 2>/dev/null)}
plots='n batch bytes resume'

# The steps of a run: a compiler with its flags (below), a program and its
# arguments; or - and a function of this file. The number after "bulk" is its
# bar; 0 is none.
steps() {
    cat <<'END'
fast ours bulk 1
fast ours epoch
fast ours sizes
fast ours next
fast orders
fast resume
O2 ours bulk 0
O2 ours lone
scalar ours bulk 12
tcc ours bulk 12
native ours bulk 0
clang-O2 ours bulk 0
clang-fast ours bulk 0
O2 plain
clang-O2 plain
O2 wheel
fast mix
fast mixture
O2 changes
fast ledger
fast groups
fast pack
fast spread
fast steer
- recorder
fast memory
- sizes
- quality
fast tables
fast fair
fast bag
- torch
fast ours plots
END
}

# --- Compilers and their flags -----------------------------------------------

has() { # CPU_FLAG COMPILER_FLAG
    grep -qsw "$1" /proc/cpuinfo &&
        $CC "$2" -E -x c /dev/null >/dev/null 2>&1
}

# A freestanding build uses plain C, as do compilers for which the header has no
# vector code; tcc is one, and does not optimize.
flags_of() { # SET
    case ${1#clang-} in
    fast) has avx2 -mavx2 && echo '-O3 -mavx2' || echo '-O3' ;;
    O2) echo '-O2' ;;
    quick) echo '-O1' ;;
    scalar) echo '-O2 -ffreestanding' ;;
    native) echo '-O3 -march=native' ;;
    esac
}

# The set that a set's programs are compiled with.
built_as() { # SET
    if [ -n "$BENCH_QUICK" ] && [ $1 != tcc ]; then echo quick; else echo $1; fi
}

compiler_of() { # SET
    case $1 in
    clang-*) echo clang ;;
    tcc) echo tcc ;;
    *) echo $CC ;;
    esac
}

# What the rows call it: cc may be gcc or clang.
title_of() { # SET
    compiler=$(compiler_of $1)
    if [ "$compiler" = cc ]; then
        case $(cc -v 2>&1) in
        *clang*) compiler=clang ;;
        *gcc*) compiler=gcc ;;
        esac
    fi
    echo $compiler $(flags_of $1)
}

# --- Rows -------------------------------------------------------------------

# Formats rows as lines of text.
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
            line = sprintf("  %-46s %9s %-8s %-15s %6s %5s %s", $2,
                $4 ~ /^n?s/ ? short($3) : $3, $4,
                $5 == "" ? "" : $5 " " short($6), $7, $8, $9)
            sub(/ *$/, "", line)
            print line
        }'
}

# Appends a step's lines to the files of their kind, and shows its rows.
collect() { # COMPILER
    sed -n "s/^row,/$1,/p" $OUT/lines >$OUT/rows
    sed -n 's/^point,//p' $OUT/lines >>$OUT/plots.csv
    sed -n 's/^headline,//p' $OUT/lines >>$OUT/headlines.csv
    sed -n 's/^resume,//p' $OUT/lines >>$OUT/resume.csv
    cat $OUT/rows >>$OUT/table.csv
    show <$OUT/rows
}

# The row of a figure that cannot be measured.
missing() { # FIGURE WHY
    echo "row,$1,,,,,,,not measured: $2"
}

# --- The steps that are functions -------------------------------------------

# Turns the lines of `make sizes` into rows.
sizes() {
    if [ -n "$BENCH_QUICK" ]; then # make test checks the sizes by itself
        sh tests/sizes.sh list | sed -n 's/^size //p' | while read -r name; do
            missing "$(echo "$name" | sed 's/,/;/g')" 'make sizes'
        done
        return
    fi
    MAKEFLAGS= sh tests/sizes.sh >$OUT/sizes || return 1
    sed -n -e 's/,/;/g' -e '
        s/^skip \(.*\): \(.*\)/row,\1,,,,,,,not measured: \2/p
        s/^\(.*\): \([0-9]*\) bytes (\([0-9]*\).*$/\1,\2,\3/p' $OUT/sizes |
        awk -F , '/^row/ { print; next }
            { print "row," $1 "," $2 ",bytes,,,," $3 "," \
                ($2 <= $3 ? "met" : "MISSED") }'
}

quality() {
    figure='statistical tests that tell it from Fisher-Yates; short'
    if [ -n "$BENCH_QUICK" ]; then
        missing "$figure" 'make quality'
        return
    fi
    $MAKE -s build/quality/quality >&2 || return 1
    if build/quality/quality short $OUT >$OUT/quality; then
        echo "row,$figure,0,tests,,,,0,met"
    else
        echo "row,$figure,some,tests,,,,0,MISSED"
    fi
}

recorder() {
    if command -v $PYTHON >/dev/null; then
        CC=$CC $PYTHON bench/recorder.py $OUT
    else
        missing 'which samples were in a step' "$PYTHON is not installed"
    fi
}

torch() {
    if command -v $PYTHON >/dev/null; then
        $PYTHON bench/torch_tables.py
    else
        missing torch "$PYTHON is not installed"
    fi
}

# --- The steps that are programs --------------------------------------------

# Compiles a program; the shared files are compiled once per set of flags.
# plain.c calls two copies of fill.c, and as `wheel` one and the library of
# Python's wheel.
program() { # SET NAME
    [ ! -e "$OUT/$1-$2" ] || return 0
    set -- $1 $2 "$(compiler_of $1) $(flags_of $1)"
    source=$2 library=
    if [ $2 = wheel ]; then
        sh examples/packaging/wheel/libraries.sh $OUT linux-x86_64 || return 1
        source=plain
        library=$(cd $OUT && pwd)/libstatesampler-linux-x86_64.so
    fi
    for unit in bench core $2; do
        file=$unit
        [ $unit != $2 ] || file=$source
        [ -e $OUT/$1-$unit.o ] ||
            $3 -std=c99 -I. $STB_FLAGS ${library:+"-DWHEEL=\"$library\""} \
                -c -o $OUT/$1-$unit.o bench/$file.c || return 1
    done
    copies=
    if [ $source = plain ]; then
        for copy in plain avx2; do
            option=
            [ $copy = plain ] || option=-mavx2
            $3 $option -std=c99 -I. -DFILL=fill_$copy \
                -c -o $OUT/$1-$copy-fill.o bench/fill.c || return 1
            copies="$copies $OUT/$1-$copy-fill.o"
        done
    fi
    $3 $LDFLAGS -o $OUT/$1-$2 $OUT/$1-bench.o $OUT/$1-core.o $OUT/$1-$2.o \
        $copies ${library:+-ldl}
}

# Prints what is not here, or nothing.
without() { # TOOL...
    for tool; do
        command -v $tool >/dev/null || {
            echo "$tool is not installed"
            break
        }
    done
}

# Prints why a step cannot run here, or nothing.
obstacle() { # SET PROGRAM
    case $1 in
    clang-* | tcc) without $(compiler_of $1) ;;
    native) has avx512bw -mavx512bw || echo 'no AVX-512 here' ;;
    esac
    [ $2 != wheel ] || without clang lld
    case $2 in
    plain | wheel) has avx2 -mavx2 || echo 'no AVX2 here' ;;
    mixture)
        echo '#include "stb_ds.h"' | $CC $STB_FLAGS -E -x c - >/dev/null 2>&1 ||
            echo 'stb_ds.h is not installed'
        ;;
    esac
}

measure() { # SET PROGRAM [ARGUMENT...]
    set_of_flags=$(built_as $1) name=$2
    why=$(obstacle $1 $2 | head -n 1)
    shift 2
    if [ -n "$why" ]; then
        missing "$name${1:+; $1}" "$why"
    else
        program $set_of_flags $name && $OUT/$set_of_flags-$name "$@"
    fi
}

# --- A run ------------------------------------------------------------------

processor() {
    sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2>/dev/null | head -n 1 |
        grep . || uname -m
}

commit() {
    git rev-parse --short HEAD 2>/dev/null || echo unknown
    git diff --quiet HEAD -- statesampler.h bench 2>/dev/null ||
        echo 'with changes'
}

# Explains the columns and names of the table.
legend() {
    cat <<'END'
Columns: the figure; its value; what it is compared with, timed in the same run
with the same flags; the ratio of the two; the project's own limit for the ratio
(or for the value, if there is no ratio); whether it is met. A time is the
shortest of many runs, in turns with what it is compared with, at several
addresses of the array. ns/index is nanoseconds per 64-bit index.

- write: stores 0, 1, 2, ... into the same array
- splitmix: stores SplitMix64 of 0, 1, 2, ...: one random number per index
- bulk: statesampler_perm_fill of 16,384 positions, every 8th, as for one of
  eight ranks; "n = 10^8" is bulk with that n
- lone calls: statesampler_perm_at, one call into another object file per index
- next: statesampler_next for one of eight ranks
- which samples were in a step: a new process that reads a run's state and
  prints the batch of rank 77 of 512, or where a sample was; in Python, with the
  import

Some of the timed runs are also checked, against the inverse permutation or
against calls for single indices.
END
}

version_of() { # COMPILER
    $1 -v 2>&1 | sed -n 's/ *$//; / version /p' | head -n 1 | grep . ||
        echo 'not installed'
}

introduce() {
    cat >$OUT/machine <<END
compiler:  $(version_of $CC)
clang:     $(version_of clang)
processor: $(processor), $(getconf _NPROCESSORS_ONLN) cores
commit:    $(commit | paste -sd ' ' -)
END
    cat $OUT/machine
    echo
    legend
    echo
    if [ -n "$BENCH_QUICK" ]; then
        echo 'Quick: some sizes are smaller than their names say.'
    elif [ -z "$ONLY" ]; then
        echo 'This takes about five minutes. Leave the machine idle meanwhile.'
    fi
}

step() { # SET|- PROGRAM|FUNCTION [ARGUMENT...]
    title=
    if [ $1 = - ]; then
        shift
        "$@" >$OUT/lines || exit 1
    else
        title=$(title_of $1)
        measure "$@" >$OUT/lines || exit 1
    fi
    collect "$title"
}

run_steps() {
    steps | grep -E -e "${ONLY:-.}" >$OUT/steps || {
        echo "no step matches $ONLY:"
        steps
        exit 1
    }
    total=$(($(wc -l <$OUT/steps))) number=0
    while read -r set_of_flags what; do
        number=$((number + 1))
        printf '\n%s of %s: %s  %s\n' $number $total "$what" \
            "$([ $set_of_flags = - ] || title_of $set_of_flags)"
        step $set_of_flags $what </dev/null
    done <$OUT/steps
    echo
}

run() {
    rm -rf $OUT
    mkdir -p $OUT
    echo 'compiler,figure,value,unit,against,its value,ratio,bar,verdict' \
        >$OUT/table.csv
    echo 'order,n,batch ns,resume ns,start,middle,end,verdict' \
        >$OUT/resume.csv
    echo 'plot,series,x,y' >$OUT/plots.csv
    echo 'figure,whose,value,unit' >$OUT/headlines.csv
    introduce
    run_steps
    [ -n "$ONLY" ] || plot
    figures >$OUT/figures.md
    awk -F , '$9 == "met" { met++ } $9 == "MISSED" { missed++ }
        END { printf "bench: %d bars met, %d missed\n", met, missed }' \
        $OUT/table.csv
}

# --- Plots and tables -------------------------------------------------------

plot() {
    if command -v gnuplot >/dev/null; then
        gnuplot -e "out='$OUT'" bench/plots.gp 2>$OUT/gnuplot.log || {
            cat $OUT/gnuplot.log
            exit 1
        }
        echo "plots: $(echo $plots | sed "s|[a-z]*|$OUT/&.svg|g")"
    else
        echo 'skip the plots: gnuplot is not installed'
    fi
}

measured_by() {
    echo "Measured by \`make bench\` with" \
        "$(machine compiler) on"
    echo "$(machine processor), at commit $(machine commit)."
}

machine() { # WHAT
    sed -n "s/^$1: *//p" $OUT/machine
}

rows_table() {
    echo '| figure | compiler | measured | against | ratio | bar | |'
    echo '|---|---|---|---|---|---|---|'
    awk -F , 'NR > 1 && $2 !~ /^(a bag|orders) of/ {
        gsub(/;/, ",", $2)
        value = $3
        if ($4 ~ /^n?s/) value = sprintf($3 < 10 ? "%.2f" : "%.0f", $3)
        if ($6 != "") $6 = sprintf($6 < 10 ? "%.2f" : "%.0f", $6)
        compiler = $1 == "" ? "" : "`" $1 "`"
        printf "| %s | %s | %s | %s | %s | %s | %s |\n", $2, compiler,
            value == "" ? "" : value " " $4, $5 == "" ? "" : $5 ": " $6,
            $7, $8, $9
    }' $OUT/table.csv
}

resumes_table() {
    echo '| order | n | a batch | a resume | start | middle | end | |'
    echo '|---|---|---|---|---|---|---|---|'
    awk -F , 'NR > 1 {
        printf "| %s | %s | %s ns | %s ns | %s | %s | %s | %s |\n",
            $1, $2, $3, $4, $5, $6, $7, $8
    }' $OUT/resume.csv
}

# The rows of bag.c: a line for each way, a column for each size.
bags_table() {
    awk -F , '
        { split($2, name, "; *"); way = name[2] }
        $2 ~ /^(a bag|orders) of/ && !(way in known) {
            known[way] = 1
            ways[++count] = way
        }
        $2 ~ /^a bag of/ {
            sub(/^a bag of /, "", name[1])
            format = $3 == "" ? "-" : $3 < 10 ? "%.1f" : "%.0f"
            ns[way, name[1]] = sprintf(format, $3)
        }
        $2 ~ /^orders of/ { chi[way] = sprintf("%.2f", $3) }
        END {
            sizes = split("16 52 1024 10^6", size, " ")
            printf "| ns for each item, n ="
            for (i = 1; i <= sizes; i++) printf " | %s", size[i]
            print " | orders of 5 |"
            print "|---|---|---|---|---|---|"
            for (k = 1; k <= count; k++) {
                way = ways[k]
                printf "| %s", way
                for (i = 1; i <= sizes; i++) printf " | %s", ns[way, size[i]]
                printf " | %s |\n", chi[way]
            }
        }' $OUT/table.csv
}

figures() {
    echo '# Figures'
    echo
    measured_by
    echo "Rows of clang are by $(machine clang)."
    echo '`make bench` measures on your machine; `make bench-figures` then'
    echo 'writes this file.'
    echo
    legend
    echo
    rows_table
    cat <<'END'

## Resumes

A resume is init, load and the first batch of 256 for one of eight ranks; beside
it is a batch of an uninterrupted run. Both times are from the position with the
worst ratio. The last columns are the ratios at the first, the middle and the
last full step of an epoch.

END
    resumes_table
    cat <<'END'

## A bag for games

Whole orders of n items, one after the other with new keys; a lone call waits
for the one before. perm_fill and bag_draw (of examples/extras/bag.h) write the
order at once; with bag_take the first item of each bag is a chosen one.
Rejection draws until the number is new, as raylib's LoadRandomSequence does.
Kensler's hash is `permute` of Correlated Multi-Jittered Sampling (2013). The
last column is chi^2 over its 119 degrees of freedom for the orders of 5 that
1.2 million keys give: about 1 is even.

END
    bags_table
    cat <<'END'

## On a GPU

What `make gpu` printed where there was one (gpu.txt):

END
    sed 's/^./    &/' bench/gpu.txt
    cat <<'END'

## Plots

| | |
|---|---|
| ![ns per index against n](plots/n.svg) | ![ns per index against batch size](plots/batch.svg) |
| Time per index of a whole epoch, including the setup: bulk calls, a Fisher-Yates table, torch's samplers, `shuf`; also lone calls | Time per index of a rank's batches, 10^8 samples on 8 ranks (torch: 10^7), without building the tables |
| ![bytes per rank against n](plots/bytes.svg) | ![seconds to the first batch after a resume against position](plots/resume.svg) |
| Memory per rank | One of 8 ranks resumes in an epoch of 10^7, and reads no data: ours loads its state, a table is rebuilt, torch's sampler makes its lists again and skips indices. The dashed line is computed: a loop that also loads each batch it skips, 1,000 samples a second on each rank, takes 20 minutes at the end, and hours in an epoch of 10^8 |
END
}

# A time or a number of bytes, as the README shows it.
shown='function shown(x, unit,    i, units) {
    if (x == "") return "not measured"
    split(unit == "ns" ? "ns µs ms s" : "bytes kB MB GB", units, " ")
    for (i = 1; i < 4 && x >= 999.5; i++) x /= 1000
    return sprintf(x < 10 && i + (unit == "ns") > 1 ? "%.2g" : "%.0f",
                   x) " " units[i]
}'

# The figures of the README: the fair comparison, from the headlines of fair.c.
headlines() {
    cat <<'END'
The fair comparison is a shuffled [table](bench/fair.c), about twenty lines of
C. It cannot read a dataset in chunks, mix datasets, refuse the state of a
dataset with another length, or give all ranks equal shares after the number of
ranks changes (unequal shares make DDP hang).

| | first batch of an epoch, n = 50,000 | 1.28 million | 10^7 | 10^8 | memory of a rank, n = 10^8 | rank changes that left unequal shares |
|---|---|---|---|---|---|---|
END
    awk -F , "$shown"'
        { gsub(/;/, ",", $1); value[$1, $2] = $3; unit[$1] = $4 }
        function row(name, text,    i) {
            printf "| %s |", text
            for (i = 1; i <= count; i++)
                printf " %s |", shown(value[what[i], name], unit[what[i]])
            printf " %s |\n", value["fair uneven", name]
        }
        END {
            count = split("50,000/1.28 million/10^7/10^8/memory 10^8", what,
                          "/")
            for (i = 1; i <= count; i++) what[i] = "fair " what[i]
            value["fair uneven", "table"] = \
                value["fair uneven", "table"] " " unit["fair uneven"]
            row("table", "a table")
            row("statesampler", "statesampler")
        }' $OUT/headlines.csv
    echo
    echo "Measured by" \
        "\`make bench\` (\`$(title_of fast)\`, one thread, commit" \
        "$(machine commit)) on"
    echo "$(machine processor)." \
        'All figures: [FIGURES.md](bench/FIGURES.md).'
}

# --- Copying the last run's figures into the tree ---------------------------

# Puts the output of a command between the lines <!-- figures --> and
# <!-- /figures --> of a page.
update() { # PAGE COMMAND...
    page=$1
    shift
    if ! grep -q '^<!-- figures -->$' $page ||
        ! grep -q '^<!-- /figures -->$' $page; then
        echo "$page is unchanged: it has no lines <!-- figures --> and"
        echo '<!-- /figures -->'
        return
    fi
    "$@" >$OUT/between.md &&
        awk -v between=$OUT/between.md '
            /^<!-- \/figures -->$/ { inside = 0 }
            !inside
            /^<!-- figures -->$/ {
                inside = 1
                while ((getline line <between) > 0) print line
            }' $page >$OUT/page.md &&
        cat $OUT/page.md >$page && echo "updated the figures of $page"
}

install_figures() {
    for name in $plots; do
        [ -e $OUT/$name.svg ] || {
            echo "$OUT/$name.svg does not exist: run make bench first, with" \
                'gnuplot installed'
            exit 1
        }
    done
    mkdir -p bench/plots
    for name in $plots; do
        cp $OUT/$name.svg bench/plots
    done
    cp $OUT/figures.md bench/FIGURES.md
    echo "copied bench/FIGURES.md and bench/plots from $OUT"
    update README.md headlines
    update examples/into/games/README.md bags_table
}

case $1 in
'') run ;;
figures) install_figures ;;
*)
    echo 'usage: sh bench/run.sh [figures]' >&2
    exit 2
    ;;
esac
exit

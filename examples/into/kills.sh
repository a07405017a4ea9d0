#!/bin/sh
# Kills a program again and again, and compares what it leaves with the result
# of a run that was never killed.
#
#     sh examples/into/kills.sh KILLS FILE "SHAPE..." COMMAND [ARGUMENT...]
#
# COMMAND ARGUMENT... FILE SHAPE must train to the end, saving to FILE, and go
# on from FILE if it is there. Each run gets the next of the SHAPEs. A killed
# run ends by SIGKILL, some 1/KILLS of the time that a whole run takes after it
# has first saved. SKIP=BYTES leaves the beginning of FILE out of the
# comparison: a sampler's state tells the shapes. FILE.whole and FILE.whole.log
# are what the whole run leaves and prints; FILE.log is what all others print.
set -u

[ $# -ge 4 ] && [ "$1" -gt 0 ] 2>/dev/null || {
    echo 'usage: kills.sh KILLS FILE "SHAPE..." COMMAND [ARGUMENT...]' >&2
    exit 2
}
wanted=$1 file=$2 shapes=$3
shift 3

now() {
    date +%s.%N
}

# calculate EXPRESSION-OF-AWK VALUES...: the values are $1, $2 and so on.
calculate() {
    expression=$1
    shift
    echo "$@" | awk "{ printf \"%.3f\", $expression }"
}

# shape NUMBER: the shape of that run.
shape() {
    echo "$shapes" | awk -v run="$1" '{ print $(run % NF + 1) }'
}

fail() {
    echo "kills.sh: $*" >&2
    exit 1
}

rm -f "$file" "$file.whole" "$file.log"
start=$(now)
"$@" "$file" "$(shape 0)" >"$file.whole.log" 2>&1 || {
    tail -n 5 "$file.whole.log" >&2
    fail "$1 failed before it was killed"
}
whole=$(calculate '$2 - $1' "$start" "$(now)")
mv "$file" "$file.whole" || exit 1

compare() {
    tail -c +$((${SKIP:-0} + 1)) "$file.whole" >"$file.part"
    tail -c +$((${SKIP:-0} + 1)) "$file" | cmp - "$file.part" ||
        fail "$file is not what it is without a kill, $file.whole"
    rm -f "$file.part"
}

# Some runs are killed early and some late: by the golden ratio, as a random
# number generator is not everywhere. A program that gets to its end begins
# anew, but at most ten times without a kill.
run=0 kills=0 ends=0
while [ $kills -lt "$wanted" ]; do
    run=$((run + 1))
    cp "$file" "$file.before" 2>/dev/null || : >"$file.before"
    "$@" "$file" "$(shape $run)" >>"$file.log" 2>&1 &
    pid=$!
    # It may start slowly. It saves or ends: then there is no such process.
    while kill -0 $pid 2>/dev/null; do
        [ ! -e "$file" ] || cmp -s "$file" "$file.before" || break
        sleep 0.01
    done
    sleep "$(calculate '(0.3 + $2 * 0.618034 % 1) * $1 / $3' \
        "$whole" $run "$wanted")"
    kill -KILL $pid 2>/dev/null
    wait $pid 2>/dev/null
    case $? in
    137) kills=$((kills + 1)) ends=0 ;;
    0)
        compare
        rm -f "$file"
        ends=$((ends + 1))
        [ $ends -le 10 ] || fail "$1 ends too soon to be killed"
        ;;
    *)
        tail -n 5 "$file.log" >&2
        fail "$1 failed after $kills kills"
        ;;
    esac
done
"$@" "$file" "$(shape $((run + 1)))" >>"$file.log" 2>&1 || {
    tail -n 5 "$file.log" >&2
    fail "$1 failed after $kills kills"
}
compare
rm -f "$file.before"
tail -n 1 "$file.log"
echo "kills.sh: $kills SIGKILLs, shapes $shapes: $file is the same," \
    "$(wc -c <"$file" | tr -d ' ') bytes${SKIP:+ but the first $SKIP};" \
    "a whole run takes $whole s"

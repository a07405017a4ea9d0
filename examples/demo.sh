#!/bin/sh
# demo.sh - kills a training run and shows that the result does not change.
#
#     sh examples/demo.sh build/train_text [FILE...]
#
# Trains the same model twice. Each file is a dataset; they take turns by weight
# (of three files, 3 : 2 : 1). One run is never stopped. The other is killed in
# its second epoch and continues from its checkpoint on 3 ranks instead of 4.
# Both must end with the same weights, bit for bit, and beat a bigram model.
# Without files the texts are this project's header, examples and tests, the
# first 100 kB of each. All output goes to build/demo/.

set -u
LC_ALL=C
export LC_ALL

root=$(dirname "$0")/..
out=$root/build/demo

if [ $# -eq 0 ]; then
    echo "usage: sh examples/demo.sh PROGRAM [FILE...]" >&2
    exit 2
fi
program=$1
shift
whole=
killed=
stop_children() {
    for child in $whole $killed; do
        kill -9 "$child" 2>/dev/null
    done
}
trap stop_children EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

fail() {
    printf '\ndemo: %s\n' "$*" >&2
    exit 1
}

[ -x "$program" ] || fail "there is no program $program"
rm -rf "$out"
mkdir -p "$out" || fail "cannot write to $out"
if [ $# -eq 0 ]; then
    cat "$root"/examples/*.[ch] >"$out/examples"
    cat "$root"/tests/*.[ch] >"$out/tests"
    set -- "$root/statesampler.h" "$out/examples" "$out/tests"
fi

# Copies at most 300 kB of the texts, so that an edit between the kill and the
# resume does no harm.
number=$# copy=0 bytes=0
for file; do
    # Reading a pipe would wait for ever.
    [ -f "$file" ] || [ ! -e "$file" ] || fail "$file is not a regular file"
    shift
    copy=$((copy + 1)) to=$out/text$copy
    # The reason is what follows the last colon of the shell's message, or of
    # the tool's.
    why=$( (head -c $((300000 / number)) <"$file" >"$to") 2>&1) ||
        fail "cannot read $file: ${why##*: }"
    set -- "$@" "$to"
    size=$(($(wc -c <"$to")))
    bytes=$((bytes + size))
    echo "text $copy, weight $((number + 1 - copy)): $size bytes of $file"
done
[ "$bytes" -ge 100000 ] ||
    fail "$bytes bytes are too few to train on, it takes 100000"

printf '\n--- 1. In the background: 4 ranks, never stopped\n'
"$program" 4 "$out/whole" "$@" >"$out/whole.out" 2>&1 </dev/null &
whole=$!

echo "--- 2. The same again, to be killed in its second epoch"
mkfifo "$out/pipe"
"$program" 4 "$out/killed" "$@" >"$out/pipe" 2>&1 </dev/null &
killed=$!
while read -r line; do
    echo "$line"
    case $line in
    "saved: 1."[4-6]*)
        # A little longer, so that there is work to lose.
        sleep 0.02 2>/dev/null
        kill -9 "$killed" 2>/dev/null
        ;;
    esac
done <"$out/pipe" | tee "$out/killed.out"
wait "$killed" 2>/dev/null
status=$?
killed=
[ "$(kill -l "$status")" = KILL ] || fail "the run ended with status $status"
printf '\n    killed by SIGKILL in mid-epoch\n'

echo "--- 3. The killed run continues from its checkpoint on 3 ranks"
"$program" 3 "$out/killed" "$@" | tee "$out/resumed.out"
grep -q '^train_text: ok' "$out/resumed.out" || fail "the resumed run failed"

kill -0 "$whole" 2>/dev/null && echo "--- waiting for the first run"
wait "$whole" || fail "the first run failed: see $out/whole.out"
whole=

wrong=0
claim() { # NAME TEXT CONDITION, for awk
    verdict=NO
    awk "BEGIN { exit !($3) }" </dev/null && verdict=yes
    [ "$verdict" = yes ] || wrong=$((wrong + 1))
    printf '    %-15s %-51s %s\n' "$1" "$2" "$verdict"
}

# What the group of a regular expression matches in the last such line of a run.
value() { # RUN REGULAR-EXPRESSION
    sed -n "s/^$2.*/\1/p" "$out/$1.out" | tail -n 1
}
resumed=$(value resumed 'resumed: \(.*\) of')
first=$(sed -n 's/^held out: \(.*\) bits.*/\1/p; /^held/q' "$out/killed.out")
held=$(value resumed 'held out: \(.*\) bits')
bigram=$(value resumed 'held out: .* bigram model has \(.*\)')
epochs=$(value resumed 'train_text: .* once in each of \(.*\) epochs')
state=$(value resumed 'train_text: .* epochs, \(.*\) bytes')
weights=$(value resumed 'weights: \(.*\)')
same=0
[ "$weights" = "$(value whole 'weights: \(.*\)')" ] && same=1

printf '\nthe run that was killed:\n'
claim "resumed after" "$resumed of $epochs epochs" \
    "1 < $resumed && $resumed < 2"
claim "held-out loss" "$held; after the first epoch $first" "$held < $first"
claim "beats a bigram" "$held against $bigram bits per byte" "$held < $bigram"
claim "bit-identical" "weights with the hash $weights" "$same"
claim "sampler state" "$state bytes for $number dataset(s) of any size" \
    "$state <= 64 + 192 * $number"
echo
[ "$wrong" -eq 0 ] || fail "FAILED, $wrong of these are not true"
echo "demo: ok, killed in mid-epoch and resumed on 3 ranks instead of 4, with" \
    "the same weights to the last bit and every sample once in each epoch"

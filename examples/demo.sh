#!/bin/sh
# demo.sh - kills a training run and shows that the result does not change.
#
#     sh examples/demo.sh build/train_text [FILE...]
#
# Trains the same model twice. Each file is a dataset; they take turns by weight
# (of three files, 3 : 2 : 1). One run is never stopped. The other is killed in
# its second epoch and continues from its checkpoint on 3 ranks instead of 4.
# Both must end with the same weights, bit for bit, and beat a bigram model.
# Without files the texts are this project's header, examples and tests. All
# output goes to build/demo/.

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

# Copies the texts, so that an edit between the kill and the resume does no
# harm: 300 kB together at most.
number=$# copy=0 bytes=0
for file; do
    # A pipe would wait for ever.
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
epochs=$((900000 / bytes))

train() { # NAME RANKS TEXT...
    name=$1
    ranks=$2
    shift 2
    # Some four checkpoints per epoch.
    exec "$program" --ranks "$ranks" --epochs "$epochs" \
        --every $((bytes / 215)) --checkpoint "$out/$name.checkpoint" \
        --weights "$out/$name.weights" "$@"
}

printf '\n--- 1. In the background: 4 ranks, never stopped\n'
train whole 4 "$@" >"$out/whole.out" 2>&1 </dev/null &
whole=$!

echo "--- 2. The same again, to be killed in epoch 2 of $epochs"
mkfifo "$out/pipe"
train killed 4 "$@" >"$out/pipe" 2>&1 </dev/null &
killed=$!
while read -r line; do
    echo "$line"
    case $line in
    "saved: "*", 1."[4-6]*)
        # A little longer, so that there is work to lose.
        sleep 0.1 2>/dev/null
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
train killed 3 "$@" | tee "$out/resumed.out"
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

# What is at the place of a group in a line that a run has printed.
value() { # RUN REGULAR-EXPRESSION
    sed -n "s/^$2.*/\1/p" "$out/$1.out"
}
resumed=$(value resumed 'resumed: .*, \(.*\) epochs')
first=$(value killed 'epoch 1: loss \(.*\), held')
last=$(value resumed "epoch $epochs: loss \(.*\), held")
first_held=$(value killed 'epoch 1: .* out \(.*\) bits')
held=$(value resumed "epoch $epochs: .* out \(.*\) bits")
bigram=$(value resumed 'bigram model: held out \(.*\) bits')
exact=$(value resumed 'train_text: .* once in \(.*\) of')
state=$(value resumed 'sampler: \(.*\) bytes')
same=0
cmp "$out/whole.weights" "$out/killed.weights" && same=1

printf '\nthe run that was killed:\n'
claim "resumed after" "$resumed of $epochs epochs" \
    "1 < $resumed && $resumed < 2"
claim "loss falls" "$first -> $last bits per byte in training" "$last < $first"
claim "held-out loss" "$held; after the first epoch $first_held" \
    "$held < $first_held"
claim "beats a bigram" "$held against $bigram bits per byte" "$held < $bigram"
claim "audit" "$exact of $epochs epochs: every sample exactly once" \
    "$exact == $epochs"
claim "bit-identical" "$(($(wc -c <"$out/killed.weights"))) bytes of weights" \
    "$same"
claim "sampler state" "$state bytes for $number dataset(s) of any size" \
    "$state <= 64 + 192 * $number"
echo
[ "$wrong" -eq 0 ] || fail "FAILED, $wrong of these are not true"
echo "demo: ok, killed in mid-epoch and resumed on 3 ranks instead of 4, with" \
    "the same weights to the last bit and every sample once in each epoch"

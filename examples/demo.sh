#!/bin/sh
# demo.sh - a training run is killed, and nobody can tell from the result.
#
#     sh examples/demo.sh build/train_text [FILE...]
#
# Trains the same model twice, each file a dataset of its own, which take turns
# by weight: the first of three has weight 3, the last has 1. One run is left
# alone. The other gets a SIGKILL in mid-epoch, and goes on from its checkpoint
# with 3 ranks instead of 4. Both must end in the same weights, bit for bit,
# and beat a bigram model. Without files, the texts are this project's own: the
# header, the examples, the tests. Everything lands in build/demo/. How long it
# takes is measured and said first; where that is too long (a compiler that does
# not optimise, as tcc, takes 15 times as long), it trains less.

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
for file in "$@"; do
    [ -f "$file" ] || fail "there is no file $file"
done
rm -rf "$out"
mkdir -p "$out" || fail "cannot write to $out"
if [ $# -eq 0 ]; then
    cat "$root"/examples/*.[ch] >"$out/examples"
    cat "$root"/tests/*.[ch] >"$out/tests"
    set -- "$root/statesampler.h" "$out/examples" "$out/tests"
fi
number=$# mix= weight=$#
while [ $weight -gt 0 ]; do
    mix=$mix${mix:+,}$weight weight=$((weight - 1))
done

# Copies the texts, lest someone edits a file between the kill and the resume:
# of WORK kB 3 tenths at most, for 3 epochs, and of a short text more epochs (of
# very many files 11 kB each, as less leaves nothing to hold out). Then measures
# how long a run takes.
prepare() { # WORK FILE...
    work=$1 bytes=0 copy=0
    shift
    kilobytes=$((work * 3 / 10 / $#))
    [ $kilobytes -ge 11 ] || kilobytes=11
    for file in "$@"; do
        copy=$((copy + 1))
        dd if="$file" of="$out/text$copy" bs=1000 count=$kilobytes \
            2>/dev/null || fail "$file cannot be copied"
        bytes=$((bytes + $(wc -c <"$out/text$copy")))
    done
    epochs=$((work * 1000 / (bytes + 1)))
    [ "$epochs" -ge 2 ] || epochs=2
    [ "$epochs" -le 6 ] || epochs=6
    # A dozen checkpoints per epoch; the kill comes in the one after the half.
    target=$((epochs / 2 + 1))
    every=$((bytes / 640 + 1))
    seconds=$(train time 4 --time) || fail "the texts cannot be trained on"
}

train() { # NAME RANKS OPTION...
    name=$1
    ranks=$2
    shift 2
    k=0
    while [ $k -lt $number ]; do
        k=$((k + 1))
        set -- "$@" "$out/text$k"
    done
    exec "$program" --ranks "$ranks" --global-batch 48 --epochs "$epochs" \
        --every "$every" --log "$out/$name.log" --mix "$mix" \
        --weights "$out/$name.weights" "$@"
}

prepare 1000 "$@"
if [ "$seconds" -gt 100 ]; then
    echo "A run would take $seconds seconds here (is the compiler told to" \
        "optimise?): it trains less."
    prepare $((60000 / seconds)) "$@"
fi
copy=0
for file in "$@"; do
    copy=$((copy + 1))
    echo "text $copy, weight $((number + 1 - copy)):" \
        "$(($(wc -c <"$out/text$copy"))) bytes of $file"
done
[ "$bytes" -ge 20000 ] ||
    echo "      so little that the model may not beat a bigram model"
# Two runs at a time; what the killed one lost is done again.
seconds=$((seconds * 6 / 5 + 2))
[ "$(getconf _NPROCESSORS_ONLN 2>/dev/null)" != 1 ] || seconds=$((seconds * 2))
echo "This takes about $seconds seconds."

echo
echo "--- 1. In the background: 4 ranks, never interrupted"
train whole 4 --checkpoint "$out/whole.checkpoint" \
    >"$out/whole.out" 2>&1 </dev/null &
whole=$!

echo "--- 2. The same again, until it is killed in epoch $target of $epochs"
train killed 4 --checkpoint "$out/checkpoint" \
    --hold-at "$((target - 1)).9" </dev/null &
killed=$!

# Waits for a checkpoint a good way into the epoch, then lets the run go on a
# little, so that there is work to lose. It cannot slip away: at nine tenths
# of the epoch it waits for its end.
until awk -v epoch="$target," '
    $1 == "checkpoint:" && $5 == epoch && $7 > 0.3 * $9 { found = 1 }
    END { exit !found }' "$out/killed.log" 2>/dev/null; do
    kill -0 "$killed" 2>/dev/null || fail "the run ended by itself"
    sleep 0.1 2>/dev/null || sleep 1
done
sleep 0.2 2>/dev/null || sleep 1
kill -9 "$killed" || fail "the run ended by itself"
wait "$killed" 2>/dev/null
status=$?
killed=
[ "$(kill -l "$status")" = KILL ] || fail "the run ended with status $status"
[ ! -e "$out/killed.weights" ] || fail "the run had finished"
printf '\n    killed by SIGKILL, in mid-epoch\n'

echo "--- 3. The killed run goes on from its checkpoint, on 3 ranks"
(train resumed 3 --checkpoint "$out/checkpoint" --resume) ||
    fail "the resumed run failed"

kill -0 "$whole" 2>/dev/null && echo "--- waiting for the first run"
wait "$whole" || fail "the first run failed: see $out/whole.out"
whole=

# What the resumed run says of itself, and what must be true of it.
value() { # LINE'S-FIRST-WORDS FIELD
    sed -n "s/^$1//p" "$out/resumed.log" | awk -v field="$2" '{ print $field }'
}
wrong=0
claim() { # NAME TEXT CONDITION, for awk
    verdict=NO
    awk "BEGIN { exit !($3) }" </dev/null && verdict=yes
    [ "$verdict" = yes ] || wrong=$((wrong + 1))
    printf '    %-15s %-51s %s\n' "$1" "$2" "$verdict"
}
first=$(value 'training loss: from ' 1)
last=$(value 'training loss: from ' 3)
first_held=$(value 'held-out loss: from ' 1)
held=$(value 'held-out loss: from ' 7)
bigram=$(value 'bigram model on the same held-out text: ' 1)
position=$(value 'resumed: .*position ' 1)
samples=$(value 'resumed: .*position ' 3)
samples=${samples%,}
audits=$(value 'audit: ' 1)
state=$(value 'sampler: ' 1)
digest=$(value 'weights: digest ' 1)
same=0
cmp "$out/whole.weights" "$out/resumed.weights" && same=1

printf '\nthe run that was killed:\n'
claim "resumed in" "epoch $target of $epochs, sample $position of $samples" \
    "0 < $position && $position < $samples"
claim "loss falls" "$first -> $last bits per byte in training" "$last < $first"
claim "held-out loss" "$held; after the first epoch $first_held" \
    "$held < $first_held"
claim "beats a bigram" "$held against $bigram bits per byte" "$held < $bigram"
claim "audit" "$audits of $epochs epochs: every sample exactly once" \
    "$audits == $epochs"
claim "bit-identical" "digest $digest, compared byte for byte" "$same"
claim "sampler state" "$state bytes for $number datasets of any size" \
    "$state <= 64 + 192 * $number"
echo
[ "$wrong" -eq 0 ] || fail "FAILED, $wrong of these are not as they should be"
echo "demo: ok, killed in mid-epoch and resumed on 3 ranks instead of 4: the" \
    "same weights to the last bit, and every sample once in each epoch"

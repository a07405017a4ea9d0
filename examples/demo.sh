#!/bin/sh
# demo.sh - kills a training run and shows that the result does not change.
#
#     sh examples/demo.sh build/train_text [FILE...]
#
# Trains the same model twice. Each file is a dataset; they take turns by weight
# (of three files, 3 : 2 : 1). One run is never stopped. The other is killed in
# mid-epoch and continues from its checkpoint on 3 ranks instead of 4. Both must
# end with the same weights, bit for bit, and beat a bigram model. Without files
# the texts are this project's header, examples and tests. All output goes to
# build/demo/. The time is measured and printed first. On a slow machine or
# without optimization the demo trains less.

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

# Copies the first bytes of a file, or says why it cannot: the reason is what
# follows the last colon of the shell's message, or of the tool's.
copy_start() { # BYTES FILE TO
    why=$( (head -c "$1" <"$2" >"$3") 2>&1) ||
        fail "cannot read $2: ${why##*: }"
}

[ -x "$program" ] || fail "there is no program $program"
for file in "$@"; do
    # A pipe would wait for ever.
    [ -f "$file" ] || [ ! -e "$file" ] || fail "$file is not a regular file"
    copy_start 1 "$file" /dev/null
    [ "$(wc -c <"$file")" -ge 10240 ] ||
        fail "$file has less than 10240 bytes: too few to train on"
done
rm -rf "$out"
mkdir -p "$out" || fail "cannot write to $out"
if [ $# -eq 0 ]; then
    cat "$root"/examples/*.[ch] >"$out/examples"
    cat "$root"/tests/*.[ch] >"$out/tests"
    set -- "$root/statesampler.h" "$out/examples" "$out/tests"
fi
number=$#

# Copies the texts, so that an edit between the kill and the resume does no
# harm: WORK * 3 / 10 kB at most for 3 epochs, shorter texts for more epochs,
# and at least 11 kB of each, as some of it is held out. Then measures a run.
prepare() { # WORK FILE...
    work=$1 bytes=0 copy=0
    shift
    kilobytes=$((work * 3 / 10 / $#))
    [ $kilobytes -ge 11 ] || kilobytes=11
    for file in "$@"; do
        copy=$((copy + 1))
        copy_start ${kilobytes}000 "$file" "$out/text$copy"
        bytes=$((bytes + $(wc -c <"$out/text$copy")))
    done
    epochs=$((work * 1000 / (bytes + 1)))
    [ "$epochs" -ge 2 ] || epochs=2
    [ "$epochs" -le 6 ] || epochs=6
    # A dozen checkpoints per epoch. The kill comes in the next epoch after half
    # of the run.
    target=$((epochs / 2 + 1))
    every=$((bytes / 640 + 1))
    seconds=$(train time 4 --time) || fail "training on the texts failed"
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
    exec "$program" --ranks "$ranks" --epochs "$epochs" \
        --every "$every" --log "$out/$name.log" \
        --weights "$out/$name.weights" "$@"
}

prepare 1000 "$@"
if [ "$seconds" -gt 100 ]; then
    echo "A run would take $seconds seconds here, so it trains less." \
        "(Compile with optimization?)"
    prepare $((60000 / seconds)) "$@"
fi
copy=0
for file in "$@"; do
    copy=$((copy + 1))
    echo "text $copy, weight $((number + 1 - copy)):" \
        "$(($(wc -c <"$out/text$copy"))) bytes of $file"
done
[ "$bytes" -ge 20000 ] ||
    echo "      so little text that the model may not beat a bigram model"
# Two runs at a time. The killed one repeats what it lost.
seconds=$((seconds * 6 / 5 + 2))
[ "$(getconf _NPROCESSORS_ONLN 2>/dev/null)" != 1 ] || seconds=$((seconds * 2))
echo "This takes about $seconds seconds."

echo
echo "--- 1. In the background: 4 ranks, never stopped"
train whole 4 --checkpoint "$out/whole.checkpoint" \
    >"$out/whole.out" 2>&1 </dev/null &
whole=$!

echo "--- 2. The same again, to be killed in epoch $target of $epochs"
train killed 4 --checkpoint "$out/checkpoint" \
    --hold-at "$((target - 1)).9" </dev/null &
killed=$!

# Waits for a checkpoint after 0.3 of the epoch, then a little longer, so that
# there is work to lose. At 0.9 of the epoch the run waits to be killed.
until awk -v epoch="$target," '
    $1 == "checkpoint:" && $5 == epoch && $7 > 0.3 * $9 { found = 1 }
    END { exit !found }' "$out/killed.log" 2>/dev/null; do
    kill -0 "$killed" 2>/dev/null || fail "the run ended before it was killed"
    sleep 0.1 2>/dev/null || sleep 1
done
sleep 0.2 2>/dev/null || sleep 1
kill -9 "$killed" || fail "the run ended before it was killed"
wait "$killed" 2>/dev/null
status=$?
killed=
[ "$(kill -l "$status")" = KILL ] || fail "the run ended with status $status"
[ ! -e "$out/killed.weights" ] || fail "the run had finished"
printf '\n    killed by SIGKILL in mid-epoch\n'

echo "--- 3. The killed run continues from its checkpoint on 3 ranks"
(train resumed 3 --checkpoint "$out/checkpoint" --resume) ||
    fail "the resumed run failed"

kill -0 "$whole" 2>/dev/null && echo "--- waiting for the first run"
wait "$whole" || fail "the first run failed: see $out/whole.out"
whole=

# Reads what the resumed run printed.
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
claim "sampler state" "$state bytes for $number dataset(s) of any size" \
    "$state <= 64 + 192 * $number"
echo
[ "$wrong" -eq 0 ] || fail "FAILED, $wrong of these are not true"
echo "demo: ok, killed in mid-epoch and resumed on 3 ranks instead of 4, with" \
    "the same weights to the last bit and every sample once in each epoch"

#!/bin/sh
# bench.sh - what `make trainer-bench` prints: the table of bench.c; the
# memory of processes, as runs of the small model counted it; the bytes sent;
# how soon a run on a large text begins; and held-out bits per byte after TOKENS
# (1,000,000) beside a bigram's; TOKENS=0 leaves them out.

folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
export RESTARTS=0

TRAINER=build/trainer/test/bench sh examples/trainer/launch.sh 2
echo

# KB of optimizer and gradients of the process that holds most of both, and
# whether a bound from the totals of weights holds.
for w in 2 4 8; do
    for way in plain OPTIMIZER.use_zero=True \
        'MODEL.SHARDED_DDP_SETUP.USE_SDP=True '`
        `'MODEL.SHARDED_DDP_SETUP.reduce_buffer_size=1280'; do
        rm -rf "$folder/run"
        sh examples/trainer/launch.sh $w examples/trainer/tests/small.yaml \
            CHECKPOINT.DIR="$folder/run" OPTIMIZER.num_epochs=1 \
            DATA.DDP_BUCKET_CAP_MB=0.01 $(echo $way | grep =) |
            awk -v way="${way%% *}" -v w=$w '$1 == "process" {
                if ($4 > optimizer) optimizer = $4
                if ($5 > gradients) gradients = $5
            } END { print way, w, optimizer, gradients }'
    done
done >"$folder/memory"
# 55,584 weights, the largest tensor 8,192; 4 bytes of momentum, 8 of sums.
awk '
    function row(what, is, total, bar) {
        printf "| %s, W = %d | %.1f of %.1f KB | <= %.1f | %s |\n",
            what, w, is, total, bar, is <= bar + 0.05 ? "met" : "MISSED"
    }
    BEGIN {
        print "| bytes of a process, at most | | bar | |\n|---|---|---|---|"
        total = 55584 * 4 / 1024
        largest = 8192 * 4 / 1024
    }
    { w = $2 }
    $1 ~ /use_zero/ { row("optimizer, use_zero", $3, total,
                          total / w + largest) }
    $1 ~ /USE_SDP/ { row("gradients, USE_SDP", $4, 2 * total,
                         2 * (total / w + largest) + 0.01 * 1024) }
' "$folder/memory"

# All bytes of a process of plain.yaml.
whole() { # KEY=VALUE
    rm -rf "$folder/run"
    sh examples/trainer/launch.sh 1 examples/trainer/plain.yaml "$@" \
        CHECKPOINT.DIR="$folder/run" OPTIMIZER.num_epochs=1 TEST_MODEL=False \
        DATA.TRAIN.DATA_LIMIT=32 |
        awk '$1 == "process" { print $3 + $4 + $5 + $6 + $7 }'
}
echo "$(whole MODEL.AMP_PARAMS.USE_AMP=True) $(whole)" | awk '{
    printf "| all, O1, plain.yaml | %.0f of %.0f KB | <= %.0f | %s |\n", $1,
        $2, $2, ($1 <= $2 ? "met" : "MISSED") }'

# Bytes and messages that each process sends in a step, a line each, as Open MPI
# counts them: the difference of a run of two steps and of one.
sent() { # PROCESSES SEQUENCES KEY=VALUE...
    w=$1 sequences=$2
    shift 2
    for epochs in 1 2; do
        rm -rf "$folder/run" "$folder"/sent.*
        OMPI_MCA_pml= OMPI_MCA_pml_monitoring_enable=2 \
            OMPI_MCA_pml_monitoring_enable_output=3 \
            OMPI_MCA_pml_monitoring_filename="$folder/sent" \
            sh examples/trainer/launch.sh $w examples/trainer/tests/small.yaml \
            CHECKPOINT.DIR="$folder/run" TEST_MODEL=False \
            CHECKPOINT.CHECKPOINT_FREQUENCY=2 OPTIMIZER.num_epochs=$epochs \
            DATA.TRAIN.BATCHSIZE_PER_REPLICA=$sequences \
            DATA.TRAIN.DATA_LIMIT=$((2 * sequences)) \
            DATA.TRAIN.DATA_PATHS='["statesampler.h"]' "$@" >"$folder/said"
        for process in "$folder"/sent.*.prof; do
            awk '$1 == "I" || $1 == "E" { bytes += $4; messages += $6 }
                END { print bytes + 0, messages + 0 }' "$process"
        done >"$folder/step$epochs"
    done
    paste "$folder/step1" "$folder/step2" | awk '{ print $3 - $1, $4 - $2 }'
}
zero=OPTIMIZER.use_zero=True
sdp=MODEL.SHARDED_DDP_SETUP.USE_SDP=True
echo
if ompi_info 2>/dev/null | grep -q 'pml: monitoring'; then
    echo '| bytes sent in a step, 2 processes | | bar | |'
    echo '|---|---|---|---|'
    for sequences in 1 4 16; do
        { sent 2 $sequences; sent 2 $sequences $sdp; } |
            awk -v n=$sequences '{ is += $1 } NR == 2 { plain = is }
            END {
                ratio = (is - plain) / plain
                printf "| ZeRO-2, %d sequences each | %.3g of plain |", n, ratio
                printf " <= 1.1 | %s |\n", (ratio <= 1.1 ? "met" : "MISSED")
            }'
    done
    echo
    echo '| a process sends in a step, at most | messages | KB |'
    echo '|---|---|---|'
    for way in plain "ZeRO-1 $zero" "ZeRO-2 $sdp"; do
        for w in 2 4 8; do
            sent $w 4 $(echo ${way#* } | grep =) |
                awk -v w=$w -v way="${way%% *}" '
                    $1 > bytes { bytes = $1 }
                    $2 > messages { messages = $2 }
                    END { printf "| %s, W = %d | %d | %.0f |\n", way, w,
                        messages, bytes / 1024 }'
        done
    done
else
    echo "skip the bytes sent: Open MPI's monitoring is not here"
fi

# A whole run of one step, by the clock. Of three the shortest, as the machine
# does other things, too.
yes "$(cat README.md)" | head -c 1000000000 >"$folder/text"
for turn in 1 2 3; do
    rm -rf "$folder/run"
    began=$(date +%s%N)
    sh examples/trainer/launch.sh 2 examples/trainer/tests/small.yaml \
        "DATA.TRAIN.DATA_PATHS=[\"$folder/text\"]" DATA.TRAIN.DATA_LIMIT=8 \
        OPTIMIZER.num_epochs=1 TEST_MODEL=False \
        CHECKPOINT.DIR="$folder/run" | grep -q '^steps 1,' &&
        echo $(($(date +%s%N) - began))
done | sort -n | awk '
    NR == 1 { is = $1 / 1e9 }
    END {
        print "\n| seconds | | bar | |\n|---|---|---|---|"
        printf "| a run of one step on 1 GB of text, 2 processes | %.2f |", is
        printf " <= 1 | %s |\n", (NR && is <= 1 ? "met" : "MISSED")
    }'

tokens=${TOKENS:-1000000}
[ "$tokens" -gt 0 ] || exit 0
# This repository's own text, as much of it as these tokens visit in whole
# epochs, so that all of it is trained on but what is held out; 16 sequences of
# 64 bytes a step.
cat statesampler.h README.md examples/*.[ch] examples/trainer/*.[ch] \
    tests/*.[ch] bench/*.c >"$folder/all"
sequences=$(($(wc -c <"$folder/all") / 65 * 9 / 10))
epochs=$((tokens / 64 / sequences + 1))
head -c $((tokens / 64 / epochs * 10 / 9 * 65)) "$folder/all" >"$folder/text"
set -- "DATA.TRAIN.DATA_PATHS=[\"$folder/text\"]" MODEL.TRUNK.GPT.CONTEXT=64
bigram=$(build/trainer/test/bigram "$@")
echo
echo "| held-out bits per byte, $tokens tokens | | bar: a bigram's | |"
echo '|---|---|---|---|'
lr=OPTIMIZER.param_schedulers.lr
bits() { # WHAT KEY=VALUE...
    what=$1
    shift
    rm -rf "$folder/run"
    sh examples/trainer/launch.sh 2 CHECKPOINT.DIR="$folder/run" \
        MODEL.TRUNK.GPT.HIDDEN_DIM=64 MODEL.TRUNK.GPT.MLP_DIM=256 \
        DATA.TRAIN.USE_STATEFUL_DISTRIBUTED_SAMPLER=True \
        DATA.TRAIN.BATCHSIZE_PER_REPLICA=8 DISTRIBUTED.NUM_PROC_PER_NODE=2 \
        OPTIMIZER.num_epochs=$epochs $lr.update_interval=step "$@" |
        sed -n 's/.* held-out \(.*\) bits.*/\1/p' |
        awk -v "what=$what" -v bigram="$bigram" '{ is = $1 } END {
            printf "| %s | %.3f | < %.3f | %s |\n", what, is, bigram,
                (NR && is < bigram ? "met" : "MISSED") }'
}
began=$(date +%s)
rm -rf "$folder/run"
sh examples/trainer/launch.sh 2 examples/trainer/plain.yaml \
    CHECKPOINT.DIR="$folder/run" 'DATA.TRAIN.DATA_PATHS=[statesampler.h]' |
    sed -n 's/.* held-out \(.*\) bits.*/\1/p' |
    awk -v bigram=$(build/trainer/test/bigram \
        'DATA.TRAIN.DATA_PATHS=[statesampler.h]') \
        '{ is = $1 } END {
        printf "| plain.yaml, statesampler.h | %.3f | < %.3f | %s |\n", is,
            bigram, (NR && is < bigram ? "met" : "MISSED") }'
took=$(($(date +%s) - began))
echo "| plain.yaml, its seconds | $took | <= 120 |" \
    "$([ $took -le 120 ] && echo met || echo MISSED) |"
bits SGD $lr.name=cosine $lr.start_value=0.2 "$@"
# As larc.yaml, which says why.
bits LARC OPTIMIZER.use_larc=True $lr.name=composite \
    "$lr.schedulers=[{name: constant, value: 0.01},
        {name: linear, start_value: 0.01, end_value: 10},
        {name: cosine, start_value: 10, end_value: 0}]" \
    "$lr.lengths=[0.15, 0.1, 0.75]" "$@"
# As plain.yaml, which says why.
set -- OPTIMIZER.name=adamw $lr.name=composite \
    "$lr.schedulers=[{name: linear, start_value: 0, end_value: 0.003},
        {name: cosine, start_value: 0.003, end_value: 0}]" \
    "$lr.lengths=[0.1, 0.9]" "$@"
bits 'AdamW, O1' MODEL.AMP_PARAMS.USE_AMP=True "$@"
bits AdamW "$@"

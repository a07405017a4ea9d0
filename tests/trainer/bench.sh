#!/bin/sh
# bench.sh - what `make trainer-bench` prints: the table of test_bench.c, and
# the memory of processes as runs of the small model counted it.

TRAINER=build/trainer/test/bench RESTARTS=0 sh examples/trainer/launch.sh 2
echo
echo '| optimizer + gradient kilobytes of a process, at most | W = 1 | 2 | 4 | 8 |'
echo '|---|---|---|---|---|'
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for way in '' OPTIMIZER.use_zero=True \
    'OPTIMIZER.use_zero=True MODEL.SHARDED_DDP_SETUP.USE_SDP=True'; do
    line=$(echo "${way:-plain}" | sed 's/[A-Z_]*\.//g; s/=True//g; s/ / + /')
    for w in 1 2 4 8; do
        rm -rf "$folder/run"
        most=$(RESTARTS=0 sh examples/trainer/launch.sh $w \
            tests/trainer/small.yaml $way CHECKPOINT.DIR=$folder/run \
            OPTIMIZER.num_epochs=1 DATA.DDP_BUCKET_CAP_MB=0.01 |
            awk '$1 == "process" && $4 + $5 > most { most = $4 + $5
                show = $4 " + " $5 } END { print show }')
        line="$line | $most"
    done
    echo "| $line |"
done

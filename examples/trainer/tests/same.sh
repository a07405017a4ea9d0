# same.sh - questions of runs.sh: the same bits, however a run is spread.

# Any number of processes; and the same batch by another shape of the run.
processes() {
    epochs='OPTIMIZER.num_epochs=2 DATA.TRAIN.DATA_LIMIT=32'
    plain=$(digest 1 $epochs)
    for w in 2 3 4 5 8; do
        same "$plain" "$(digest $w $epochs)" "$w processes"
    done
    other='DATA.TRAIN.USE_STATEFUL_DISTRIBUTED_SAMPLER=False
        DATA.TRAIN.DATA_LIMIT=56 OPTIMIZER.num_epochs=1'
    plain=$(digest 2 $other)
    same "$plain" "$(digest 3 $other DISTRIBUTED.NUM_PROC_PER_NODE=8 \
        DATA.TRAIN.BATCHSIZE_PER_REPLICA=1)" '8 x 1 = 2 x 4 sequences'
}

# What another compiler makes of the trainer: the program OTHER.
compiled() {
    for rule in "$larc" "$adamw $norm" "$sgd $o1"; do
        plain=$(digest 1 $rule $short)
        same "$plain" "$(TRAINER=$OTHER; digest 2 $rule $short)" "$rule"
    done
}

# ZeRO's stages, for every rule. The stages differ in where sums go, and not in
# the rule: the short form asks stage 1 of two rules only.
sharded() { # KEY=VALUE...
    for rule in "$sgd" "$nesterov" "$larc" "$clip" "$adamw" "$norm"; do
        plain=$(digest 1 $rule $short "$@")
        same "$plain" "$(digest 3 $rule $short $sdp "$@")" \
            "ZeRO 2: $rule $*"
        case $(long && echo all)$rule in
        "$adamw" | "$norm" | all*)
            same "$plain" "$(digest 2 $rule $short $zero "$@")" \
                "ZeRO 1: $rule $*" ;;
        esac
    done
}

sharded_o1() {
    sharded $o1
}

# Splits and ways of reduction, with ZeRO and without.
ways() { # KEY=VALUE...
    set -- $short "$@"
    plain=$(digest 1 "$@")
    for splits in $(! long || echo 2) 3; do
        same "$plain" "$(digest 2 $split$splits "$@")" "$splits splits $*"
        same "$plain" "$(digest 2 $split$splits $sdp "$@")" \
            "$splits splits, ZeRO 2 $*"
    done
    for cap in 0.001 $(! long || echo 0.1) 25; do
        bucket="DATA.DDP_BUCKET_CAP_MB=$cap"
        same "$plain" "$(digest 2 $bucket "$@")" "bucket of $cap MB $*"
        same "$plain" "$(digest 3 $bucket $manual "$@")" "$cap MB by hand $*"
        ! long || same "$plain" "$(digest 3 $bucket $sdp "$@")" \
            "$cap MB, ZeRO 2 $*"
    done
    for size in 0 500; do
        same "$plain" "$(digest 2 $sdp $manual \
            $buffer=$size "$@")" \
            "ZeRO 2 by hand, buffer of $size $*"
    done
}

ways_o1() {
    ways $o1
}

# Bytes of the process that holds most, from the allocator, against the bars:
# 4 bytes of momentum and 8 of sums for each weight. ZeRO-2 without a buffer's
# size holds all sums, and so sends them once a step, not once a sequence.
memory() {
    for w in 4 $(! long || echo 2 8); do
        for way in "$zero" "$sdp $buffer=500" "$sdp"; do
            run $w "$folder/memory$w" $way $short >"$folder/said"
            awk -v w=$w -v weights=55584 -v largest=8192 -v "way=$way" '
                $1 == "process" {
                    rows++
                    if ($4 * 1024 > 4 * (weights / w + largest) + 60)
                        print "optimizer", $0
                    sums = way ~ /buffer/ ? weights / w + largest : weights
                    if ($5 * 1024 > 8 * (sums + 500) + 60 ||
                        (way !~ /buffer/ && $5 * 1024 < 8 * weights - 1024))
                        print "gradients", $0
                }
                END { if (rows != w) print rows " processes" }
            ' "$folder/said" >"$folder/wrong"
            [ ! -s "$folder/wrong" ] ||
                fail "$w processes, $way: $(cat "$folder/wrong")"
            rm -rf "$folder/memory$w"
        done
    done
    note "at most total / W + the largest"
}

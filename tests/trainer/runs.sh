#!/bin/sh
# runs.sh - whole runs of the trainer, each compared with a plain run on one
# process by the digest of weights, optimizer state and log:
#     sh tests/trainer/runs.sh TRAINER SMALL.yaml QUESTION...
# from the root of the repository. A question is a function below. LONG=1 asks
# its long form (make trainer-long), KILLS is how many processes it kills.

trainer=$1 yaml=$PWD/$2
shift 2
export TRAINER="$trainer" RESTARTS=0
unset TRAINER_TERMINAL
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
runs=0

# Prints what a run prints at its end; DIR stays for a run that goes on.
run() { # PROCESSES DIR KEY=VALUE...
    processes=$1 dir=$2
    shift 2
    timeout -k 5 120 sh examples/trainer/launch.sh "$processes" "$yaml" \
        "CHECKPOINT.DIR=$dir" "$@" 2>"$folder/errors"
}

# The digest of a fresh run.
digest() { # PROCESSES KEY=VALUE...
    runs=$((runs + 1))
    processes=$1
    shift
    run "$processes" "$folder/fresh$runs" "$@" | sed -n 's/^digest //p'
    rm -rf "$folder/fresh$runs"
}

# Makes a program whose processes each begin with commands of their own.
wrap() { # COMMANDS
    cat >"$folder/wrapped" <<END
#!/bin/sh
rank=\$OMPI_COMM_WORLD_RANK
$1
exec "$PWD/$trainer" "\$@"
END
    chmod +x "$folder/wrapped"
}

noted=
note() {
    noted=1
    echo "note: $*"
}

fail() {
    echo "FAIL $*"
    cat "$folder/errors"
    exit 1
}

compared=0
# Whether a digest is the wanted one.
same() { # WANTED GOT WHAT
    [ -n "$1" ] || fail "$3: the plain run did not end"
    [ "$1" = "$2" ] || fail "$3: digest $2, not $1"
    compared=$((compared + 1))
}

sgd='OPTIMIZER.momentum=0'
nesterov='OPTIMIZER.nesterov=True'
larc='OPTIMIZER.use_larc=True OPTIMIZER.param_schedulers.lr.value=20'
clip="$larc OPTIMIZER.larc_config.clip=True"
adamw='OPTIMIZER.name=adamw OPTIMIZER.param_schedulers.lr.value=0.003'
norm='MODEL.GRAD_CLIP.USE_GRAD_CLIP=True MODEL.GRAD_CLIP.MAX_NORM=0.5'
o1='MODEL.AMP_PARAMS.USE_AMP=True'
zero='OPTIMIZER.use_zero=True'
sdp="$zero MODEL.SHARDED_DDP_SETUP.USE_SDP=True"
buffer=MODEL.SHARDED_DDP_SETUP.reduce_buffer_size
manual='DISTRIBUTED.MANUAL_GRADIENT_REDUCTION=True'
split='MODEL.ACTIVATION_CHECKPOINTING.USE_ACTIVATION_CHECKPOINTING=True
    MODEL.ACTIVATION_CHECKPOINTING.NUM_ACTIVATION_CHECKPOINTING_SPLITS='

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

# The short forms have one short epoch, and fewer of the values between the
# ends.
short='OPTIMIZER.num_epochs=1 DATA.TRAIN.DATA_LIMIT=32'
long() {
    [ -n "$LONG" ]
}
! long || short=

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

# A run goes on in another shape, again and again.
elsewhere() {
    for rule in "$nesterov" "$adamw $o1" "$larc"; do
        rule="$rule CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=5"
        dir=$folder/once
        rm -rf $dir "$folder/on"
        plain=$(run 1 $dir $rule | sed -n 's/^digest //p')
        cp -r $dir "$folder/on"
        dir=$folder/on
        goes_on 15 3 "$sdp"
        goes_on 25 4 "$sdp ${split}2"
        goes_on 30 2 "$manual"
        long || continue
        goes_on 10 2 "$zero"
        goes_on 20 4 "$sdp $manual"
        goes_on 10 3 "$sdp"
        goes_on 20 1 "${split}3"
        goes_on 25 4 ''
        goes_on 30 8 "$zero"
    done
}

# From that step, whose checkpoint is from before, on to the end.
goes_on() { # STEP PROCESSES KEYS
    for saved in $dir/step-*; do
        [ "${saved#$dir/step-0000000000}" -le $1 ] || rm -rf $saved
    done
    got=$(run $2 $dir $rule $3 | sed -n 's/^digest //p')
    same "$plain" "$got" "from step $1 with $2 $3: $rule"
    grep -q "goes on from step-0000000000$1" "$folder/errors" ||
        fail "it did not go on from step $1"
    cmp $dir/log.txt "$folder/once/log.txt" || fail 'another log'
    manifests $dir >"$folder/got"
    manifests "$folder/once" | diff - "$folder/got" >"$folder/differ" ||
        fail "another manifest: $(cut -c1-100 "$folder/differ")"
}

# All of their lines but those about processes.
manifests() { # DIR
    grep -hv '^config\|^part\|^hash' "$1"/step-*/manifest
}

# SIGKILL at moments that nobody chose, up to 23 steps on: to a process or to
# mpirun itself, and every second time as soon as a checkpoint is being written;
# each time another number of processes goes on. The log that is compared has
# every epoch's audit.
kills() {
    epochs=$((2 * ${KILLS:=6}))
    rule="$adamw $o1 OPTIMIZER.num_epochs=$epochs TEST_MODEL=False"
    plain=$(digest 1 $rule)
    rule="$rule $sdp CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=7"
    dir=$folder/killed killed=0 saving=0 try=0
    while [ $try -lt $KILLS ]; do
        try=$((try + 1))
        w=$(((try * 5) % 4 + 1))
        goal=$(awk -v n=$try -v had=$(steps_logged) \
            'BEGIN { srand(n); print had + int(24 * rand()) }')
        run $w $dir $rule >"$folder/said" &
        job=$!
        kill_one
        wait $job
        # Processes of a killed mpirun go within seconds.
        while pgrep -f "^$trainer .*CHECKPOINT.DIR=$dir " >/dev/null; do
            sleep 0.1
        done
        [ ! -d $dir/.step.tmp ] || saving=$((saving + 1))
    done
    got=$(run 2 $dir $rule | sed -n 's/^digest //p')
    same "$plain" "$got" "after $killed kills"
    [ $killed -ge $((try / 2)) ] || fail "only $killed of $try runs were killed"
    [ "$(grep -c 'done: .* each exactly once' $dir/log.txt)" = $epochs ] ||
        fail 'an audit is missing'
    note "$killed kills, $saving of them in mid-save: the same digest"
}

steps_logged() {
    cat $dir/log.txt 2>/dev/null | grep -c ^step
}

kill_one() {
    victim=
    # Ends: the run has processes, or has ended.
    while [ -z "$victim" ] && kill -0 $job 2>/dev/null; do
        sleep 0.02
        if [ $((try % 3)) = 0 ]; then
            victim=$(pgrep -f "^mpirun .*CHECKPOINT.DIR=$dir " | head -n 1)
        else
            victim=$(pgrep -f "^$trainer .*CHECKPOINT.DIR=$dir " |
                sed -n "$((try % w + 1))p")
        fi
    done
    # Both end with the victim: it goes on, and saves again and again.
    while [ "$(steps_logged)" -lt $goal ]; do
        kill -0 "$victim" 2>/dev/null || return
        sleep 0.02
    done
    while [ $((try % 2)) = 0 ] && [ ! -d $dir/.step.tmp ]; do
        kill -0 "$victim" 2>/dev/null || return
    done
    if kill -KILL "$victim" 2>/dev/null; then
        killed=$((killed + 1))
    fi
}

# After a death launch.sh goes on from the newest checkpoint, also where the
# first start was told not to. The first start is killed after step 10.
again() {
    rule='CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=5' dir=$folder/again
    plain=$(digest 1 $rule)
    cat >"$folder/dies" <<END
#!/bin/sh
[ ! -e $folder/saved ] || exec $trainer "\$@"
$trainer "\$@" &
# Ends: the step comes, or the trainer ends.
while [ ! -d $dir/step-000000000010 ] && kill -0 \$!; do
    sleep 0.02
done
kill -KILL \$!
wait
ls $dir | grep ^step >$folder/saved
kill -KILL \$\$
END
    chmod +x "$folder/dies"
    got=$(
        RESTARTS=1 TRAINER=$folder/dies
        run 1 $dir $rule CHECKPOINT.AUTO_RESUME=False \
            CHECKPOINT.LATEST_CHECKPOINT_RESUME_FILE_NUM=2 |
            sed -n 's/^digest //p'
    )
    same "$plain" "$got" 'after a death'
    grep -q "goes on from $(tail -n 1 "$folder/saved")" "$folder/errors" ||
        fail 'it did not go on from the newest checkpoint'
}

# SIGTERM to launch.sh ends the processes as well, as does a SIGQUIT: nobody
# trains on unseen, no folder stays, and there is no other start.
stopped() {
    mkdir "$folder/tmp"
    for signal in 15 3; do
        dir=$folder/stopped$signal
        # What runs behind a script would not see a SIGQUIT.
        RESTARTS=3 TMPDIR=$folder/tmp env --default-signal=QUIT \
            sh examples/trainer/launch.sh 2 "$yaml" CHECKPOINT.DIR=$dir \
            OPTIMIZER.num_epochs=60 >"$folder/said" 2>"$folder/errors" &
        job=$!
        # Ends: the run writes its first step or ends.
        while [ "$(steps_logged)" = 0 ] && kill -0 $job; do
            sleep 0.02
        done
        kill -$signal $job
        wait $job
        got=$?
        [ $got = $((128 + signal)) ] || fail "status $got"
        sleep 0.5
        ! pgrep -f "^$trainer .*CHECKPOINT.DIR=$dir " || fail 'they train on'
        [ -z "$(ls "$folder/tmp")" ] || fail 'a folder stays'
        ! grep -q 'on with' "$folder/errors" || fail 'it starts again'
    done
}

# What launch.sh refuses before it starts anything.
unlaunched() {
    starts_nothing '.* is no number of processes: .*'
    starts_nothing "'plain.yaml' is no number .*" plain.yaml
    starts_nothing "'0' is no number .*" 0 "$yaml"
    starts_nothing "'99999' is no number .*" 99999 "$yaml"
    for TRAINER in build/none ./README.md; do
        starts_nothing "$TRAINER is no program here: .*" 2 "$yaml"
    done
    # A program that misses a library, for one, misses it again.
    wrap 'exec /none 2>/dev/null'
    RESTARTS=2 TRAINER=$folder/wrapped \
        sh examples/trainer/launch.sh 2 "$yaml" 2>"$folder/errors"
    got=$?
    [ $got = 127 ] || fail "no program: status $got"
    ! grep 'on with' "$folder/errors" || fail 'it starts again'
    TRAINER=$trainer
}

starts_nothing() { # SENTENCE ARGUMENT...
    sentence=$1
    shift
    sh examples/trainer/launch.sh "$@" >"$folder/said" 2>"$folder/errors"
    got=$?
    [ $got = 2 ] || fail "$sentence: status $got, not 2"
    grep -qx "launch.sh: $sentence" "$folder/errors" ||
        fail "it does not say: $sentence"
    [ "$(wc -l <"$folder/errors")" = 1 ] || fail "more than a line: $sentence"
}

# A damaged checkpoint is named and the one before is taken; with none left
# there is no fresh start.
damaged() {
    rule="CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=10"
    dir=$folder/damaged
    plain=$(run 2 $dir $rule | sed -n 's/^digest //p')
    newest=$dir/step-000000000032
    printf x | dd of=$newest/part1 bs=1 seek=1000 conv=notrunc 2>/dev/null
    got=$(run 3 $dir $rule | sed -n 's/^digest //p')
    same "$plain" "$got" 'a byte of a part is changed'
    grep -q 'step-000000000032 is passed over: part1 is' "$folder/errors" ||
        fail 'the part is not named'
    sed -i 's/^step 32/step 33/' $newest/manifest
    same "$plain" "$(run 1 $dir $rule | sed -n 's/^digest //p')" \
        'the manifest is changed'
    grep -q 'step-000000000032 is passed over: its manifest' "$folder/errors" ||
        fail 'the manifest is not named'
    refused 'has only 5 checkpoints, and number 6 is asked for' \
        $number=6
    : >$dir/step-000000000030/part0
    : >$dir/step-000000000020/part0
    : >$dir/step-000000000016/part0
    : >$dir/step-000000000010/part0
    refused 'no whole checkpoint is left .* of those that are asked' $number=2
    : >$newest/part0
    refused 'no whole checkpoint is left in [^ ]*$'
    dir=$folder/none
    refused 'has only 0 checkpoints, and number 2 is asked for' $number=2
}
number=CHECKPOINT.LATEST_CHECKPOINT_RESUME_FILE_NUM

# A checkpoint is whole without log.txt: a folder that is copied alone goes on,
# and the log is there again. A link in its place is replaced, and what it
# leads to stays.
alone() {
    rule='CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=10' dir=$folder/all
    plain=$(run 2 $dir $rule | sed -n 's/^digest //p')
    mkdir "$folder/copy"
    cp -r $dir/step-000000000010 "$folder/copy"
    ln -s $dir/step-000000000020 "$folder/copy"
    : >$dir/step-000000000020/part0
    cp $dir/step-000000000020/manifest "$folder/kept"
    got=$(run 1 "$folder/copy" $rule | sed -n 's/^digest //p')
    same "$plain" "$got" 'a folder alone'
    cmp $dir/log.txt "$folder/copy/log.txt" || fail 'another log'
    cmp $dir/step-000000000020/manifest "$folder/kept" ||
        fail 'what a link leads to is gone'
}

# A checkpoint that may not be read, or of another release, is no damaged one:
# the run does not go on from an older one, to write over it.
unread() {
    rule='CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=10' dir=$folder/unread
    run 2 $dir $rule >"$folder/said"
    newest=$dir/step-000000000032
    ${CC:-cc} -shared -fPIC -o "$folder/opened.so" tests/trainer/opened.c -ldl
    for path in $dir $newest/manifest $newest/part0; do
        wrap "export REFUSED=$path LD_PRELOAD=$folder/opened.so"
        (
            TRAINER=$folder/wrapped
            refused "cannot read .*$path: Permission denied"
        ) || exit 1
    done
    ${MPICC:-mpicc} -Iexamples/trainer -o "$folder/rehash" \
        tests/trainer/rehash.c build/trainer/text.o build/trainer/agree.o
    "$folder/rehash" <$newest/manifest >"$folder/manifest"
    cp "$folder/manifest" $newest
    refused "$newest: it has another format: 9, here "
}

# What must be as it was is refused by its name; all else may differ, and the
# manifest has it.
foreign() {
    rule='' dir=$folder/foreign
    plain=$(run 2 $dir | sed -n 's/^digest //p')
    refused 'another texts' DATA.TRAIN.DATA_PATHS='["LICENSE"]'
    refused 'another texts' DATA.TEST.DATA_PATHS='["LICENSE"]'
    refused 'another MODEL.TRUNK.GPT.MLP_DIM: 128, here 96' \
        MODEL.TRUNK.GPT.MLP_DIM=96
    refused 'another optimizer: sgd, here adamw' OPTIMIZER.name=adamw
    refused 'another OPTIMIZER.use_larc' OPTIMIZER.use_larc=True
    refused 'another OPTIMIZER.num_epochs' OPTIMIZER.num_epochs=3
    refused 'another opt_level' $o1
    # What else decides the weights, and the log.
    for key in OPTIMIZER.weight_decay=0 OPTIMIZER.param_schedulers.lr.value=1 \
        MODEL.GRAD_CLIP.USE_GRAD_CLIP=True LOG_FREQUENCY=2; do
        refused "another ${key%%=*}: .*, here ${key#*=}" "$key"
    done
    # What decides which sequences are in a step.
    refused 'another SEED_VALUE: 0, here 9' SEED_VALUE=9
    refused 'another global_batch: 2 x 4, here 4 x 2' \
        DISTRIBUTED.NUM_PROC_PER_NODE=4 DATA.TRAIN.BATCHSIZE_PER_REPLICA=2
    stateful=DATA.TRAIN.USE_STATEFUL_DISTRIBUTED_SAMPLER
    refused "another $stateful: True, here False" $stateful=False
    for key in DATA.TRAIN.USE_DEBUGGING_SAMPLER=True \
        DATA.TRAIN.DROP_LAST=True DATA.TRAIN.DATA_LIMIT=59 \
        STATESAMPLER.WEIGHTS='[2,1]' STATESAMPLER.STOP=first; do
        refused "another ${key%%=*}: .*, here .*" "$key"
    done
    refused 'foreign has step-.*32 of an earlier run' \
        CHECKPOINT.AUTO_RESUME=False
    sed -n 's/^config //p' $dir/step-000000000032/manifest >"$folder/was.yaml"
    "$trainer" --print-config "$yaml" "CHECKPOINT.DIR=$dir" >"$folder/is.yaml"
    cmp "$folder/was.yaml" "$folder/is.yaml" ||
        fail "the manifest's configuration is another one"
    cp README.md LICENSE "$folder"
    rm -rf $dir/step-000000000032
    got=$(run 3 $dir $sdp ${split}3 $manual DATA.DDP_BUCKET_CAP_MB=0.01 \
        DATA.TRAIN.DATA_PATHS="[\"$folder/README.md\", \"$folder/LICENSE\"]" |
        sed -n 's/^digest //p')
    same "$plain" "$got" 'processes, ZeRO, splits, reduction, paths differ'
    grep -q 'goes on from step-000000000016' "$folder/errors" ||
        fail 'it did not go on from step 16'
    note "$refusals refusals"
}

refusals=0
refused() { # SENTENCE KEY=VALUE...
    sentence=$1
    shift
    run 1 $dir $rule "$@" >"$folder/said"
    [ $? = 1 ] || fail "$sentence: not refused"
    grep -q "$sentence" "$folder/errors" || fail "it does not say: $sentence"
    refusals=$((refusals + 1))
}

# A process opens no part but those with its own tensors. Three have saved: of
# three that go on, each opens one; of two, the first owns nothing of part 1
# and the second nothing of part 0, in a model of a single block.
parts() {
    dir=$folder/parts rule=MODEL.TRUNK.GPT.NUM_LAYERS=1
    run 3 $dir $rule >"$folder/said"
    ${CC:-cc} -shared -fPIC -o "$folder/opened.so" tests/trainer/opened.c -ldl
    wrap "export OPENED=$folder/opened.\$rank LD_PRELOAD=$folder/opened.so"
    opens part0 part1 part2
    opens 'part0 part2' 'part1 part2'
}

# What each process opens that goes on from step 16, whose parts are of three.
opens() { # PARTS...
    rm -rf $dir/step-000000000032 "$folder"/opened.[0-9]
    (
        TRAINER=$folder/wrapped
        run $# $dir $rule >"$folder/said"
    )
    rank=0
    for parts; do
        got=$(sed -n 's/.*step-000000000016.*\/\(part.*\)/\1/p' \
            "$folder/opened.$rank")
        [ "$(echo $got)" = "$parts" ] ||
            fail "process $rank of $# opened '$got', not '$parts'"
        rank=$((rank + 1))
    done
}

# Bytes of the process that holds most, from the allocator, against the bars:
# 4 bytes of momentum and 8 of sums for each weight.
memory() {
    for w in 4 $(! long || echo 2 8); do
        for way in "$zero" "$sdp $buffer=500"; do
            run $w "$folder/memory$w" $way $short >"$folder/said"
            awk -v w=$w -v weights=55584 -v largest=8192 -v "way=$way" '
                $1 == "process" {
                    rows++
                    if ($4 * 1024 > 4 * (weights / w + largest) + 60)
                        print "optimizer", $0
                    sums = way ~ /SDP/ ? weights / w + largest : weights
                    if ($5 * 1024 > 8 * (sums + 500) + 60)
                        print "gradients", $0
                }
                END { if (rows != w) print rows " processes" }
            ' "$folder/said" >"$folder/above"
            [ ! -s "$folder/above" ] ||
                fail "$w processes, $way: above the bar: $(cat "$folder/above")"
            rm -rf "$folder/memory$w"
        done
    done
    note "at most total / W + the largest"
}

# What a person meets: a status, and a single sentence from all processes.
errors() {
    dir=$folder/errors.d
    says 2 9 '9 processes are more than the 8 sequences'
    says 2 3 'the nearest one is OPTIMIZER.use_larc' OPTIMIZER.use_lark=True
    says 2 2 '^--none: there is no such option' --none
    says 2 2 'plain.yaml: there is one file at most' examples/trainer/plain.yaml
    "$trainer" --print-config SEED_VALUE=7 "$yaml" >"$folder/said" 2>&1 &&
        fail 'a file after a key is taken'
    grep -q 'and it comes before the keys' "$folder/said" ||
        fail 'a file after a key is not named'
    says 1 3 'cannot open the text /none' DATA.TRAIN.DATA_PATHS='["/none"]'
    says 1 3 'a sequence has 33' DATA.TRAIN.DATA_PATHS='["/etc/hostname"]'
    says 2 3 'it needs 2 items' STATESAMPLER.WEIGHTS='[1]'
    says 1 3 'a gradient has overflowed' $o1 \
        MODEL.AMP_PARAMS.AMP_ARGS.loss_scale=16777216
    says 1 3 'a loss is no number' $overflow
    says 1 2 'a loss is no number' $overflow $o1
    # One step, after which the weights are no good.
    dir=$folder/errors.nan
    says 1 2 'a held-out loss is no number' $overflow OPTIMIZER.num_epochs=1 \
        DATA.TRAIN.DATA_PATHS='["README.md"]' DATA.TRAIN.DATA_LIMIT=8
    [ ! -e $dir/step-* ] || fail 'weights that are no good are saved'
    dir=$folder/errors.short
    head -c 40 README.md >"$folder/short"
    says 1 3 'short is too short for a single step' \
        DATA.TRAIN.DATA_PATHS="[\"README.md\", \"$folder/short\"]"
    dir=/proc/none
    says 1 3 'cannot write /proc/none/log.txt'
    dir=$folder/a_file
    : >$dir
    says 1 3 'a_file/log.txt: Not a directory'
    dir=$folder/in_the_way
    mkdir -p $dir/.step.tmp/folder
    says 1 3 'cannot make the folder .*/.step.tmp: File exists'
    mkfifo "$folder/pipe"
    says 1 3 'pipe: it is no regular file' \
        DATA.TRAIN.DATA_PATHS="[\"$folder/pipe\"]"
    mkdir "$folder/node0" "$folder/node1"
    cp README.md LICENSE "$folder/node0"
    sed 's/the/The/' README.md >"$folder/node1/README.md"
    cp LICENSE "$folder/node1"
    wrap "cd $folder/node\$rank"
    TRAINER=$folder/wrapped
    says 1 2 'the texts are not the same on all processes'
    mv "$folder/node1/README.md" "$folder/node1/LICENSE"
    says 1 2 'the texts are not the same on all processes' \
        DATA.TRAIN.DATA_PATHS='["../node0/README.md"]' \
        DATA.TEST.DATA_PATHS='["LICENSE"]'
    TRAINER=$trainer
    # No other failure of a lock is another run's.
    ${CC:-cc} -shared -fPIC -o "$folder/opened.so" tests/trainer/opened.c -ldl
    wrap "export NO_LOCKS=1 LD_PRELOAD=$folder/opened.so"
    TRAINER=$folder/wrapped
    says 1 1 'log.txt: No locks available'
    TRAINER=$trainer
    note "$sentences errors"
}

sentences=0
says() { # STATUS PROCESSES SENTENCE KEY=VALUE...
    status=$1 processes=$2 sentence=$3
    shift 3
    run $processes $dir "$@" >"$folder/said"
    got=$?
    [ $got = $status ] || fail "$sentence: status $got, not $status"
    grep -q "$sentence" "$folder/errors" || fail "it does not say: $sentence"
    [ "$(wc -l <"$folder/errors")" = 1 ] || fail "more than a line: $sentence"
    sentences=$((sentences + 1))
}

# A folder with a log of somebody else is refused, and the log stays.
# The second of two runs in one folder is refused; the first does not notice.
locked() {
    dir=$folder/of_others
    mkdir $dir
    echo 'my own' | tee "$folder/own" >$dir/log.txt
    says 1 3 "of_others/log.txt is not the trainer's"
    ln -sf "$folder/own" $dir/log.txt
    says 1 3 'cannot write .*of_others/log.txt: Too many levels'
    [ "$(cat "$folder/own")" = 'my own' ] || fail "another's log is gone"
    rule=OPTIMIZER.num_epochs=3
    plain=$(digest 1 $rule)
    dir=$folder/locked
    run 2 $dir $rule >"$folder/first" &
    job=$!
    # Ends: the first run writes its log or ends.
    while [ ! -s $dir/log.txt ] && kill -0 $job 2>/dev/null; do
        sleep 0.02
    done
    # It stands still meanwhile, or it might be done too soon.
    first=$(pgrep -f "^$trainer .*CHECKPOINT.DIR=$dir ")
    kill -STOP $first
    says 1 2 'another run is at work there' $rule
    kill -CONT $first
    wait $job || fail 'the first run'
    same "$plain" "$(sed -n 's/^digest //p' "$folder/first")" 'the first run'
}

# Kernels of OpenBLAS that round in different ways, which any x86 has.
kernels() {
    dir=$folder/kernels
    wrap 'OPENBLAS_CORETYPE=$([ $rank = 1 ] && echo Nehalem || echo Prescott)
export OPENBLAS_CORETYPE'
    TRAINER=$folder/wrapped
    run 3 $dir $short >"$folder/said"
    TRAINER=$trainer
    grep -q 'several kernels of OpenBLAS (Nehalem,Prescott)' \
        "$folder/errors" || fail 'several kernels are not named'
    run 2 $dir $short >"$folder/said"
    grep -q 'another kernel of OpenBLAS (Nehalem,Prescott, here' \
        "$folder/errors" || fail 'those of the save are not named'
}

# A text that is changed in place, or cut, while a run goes on.
changed() {
    for change in "printf x | dd conv=notrunc of=$folder/text" \
        "dd of=$folder/text count=0" \
        "truncate -s 30 $folder/changed/log.txt"; do
        cp README.md "$folder/text"
        dir=$folder/changed
        rm -rf $dir
        run 2 $dir DATA.TRAIN.DATA_PATHS="[\"$folder/text\"]" \
            OPTIMIZER.num_epochs=200 >"$folder/said" &
        job=$!
        # Ends: the run writes its log or ends.
        while [ ! -s $dir/log.txt ] && kill -0 $job 2>/dev/null; do
            sleep 0.02
        done
        eval "$change" 2>/dev/null
        wait $job
        [ $? = 1 ] || fail "$change: not an error"
        grep -q '^trainer: .*te*xt .*was c[a-z]* ' "$folder/errors" ||
            fail "$change: not named"
        ! grep -v '^trainer: ' "$folder/errors" || fail 'more than sentences'
    done
}

# launch.sh takes what stands on its standard input as a file only.
input() {
    left=$(echo left | {
        run 1 "$folder/input" OPTIMIZER.use_lark=True >"$folder/said"
        cat
    })
    [ "$left" = left ] || fail 'the standard input is gone'
    sh examples/trainer/launch.sh 1 /dev/stdin --print-config \
        <"$yaml" >"$folder/said" 2>"$folder/errors"
    grep -q '^LOG_FREQUENCY: 1' "$folder/said" || fail 'it is not read'
    # A file whose name is like a key; and what is printed must arrive.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    cp "$yaml" "$folder/lr=1.yaml"
    "$trainer" --print-config "$folder/lr=1.yaml" >"$folder/said" \
        2>"$folder/errors" || fail 'a file with a = is not read'
    [ ! -s "$folder/errors" ] || fail 'it says more than it is asked'
    for print in --keys --help --print-config; do
        "$trainer" $print >/dev/full 2>"$folder/errors"
        [ $? = 1 ] || fail "a full disk is not an error of $print"
        grep -q '^trainer: cannot print: No space' "$folder/errors" ||
            fail "$print does not say why"
    done
}

# The line that moves has a column less than the terminal, or it would scroll,
# and says all that it has to say where there are 80 columns. An error has a line
# of its own.
bar() {
    for columns in 60 80 20; do
        TRAINER_TERMINAL=$columns run 1 "$folder/new/$columns" $short $o1 \
            >"$folder/said"
        tr '\r' '\n' <"$folder/said" | grep ' loss [0-9]' >"$folder/bars"
        [ "$(wc -l <"$folder/bars")" -ge 4 ] || fail 'no line moves'
        awk -v w=$columns 'length($0) != w - 1' "$folder/bars" \
            >"$folder/errors"
        [ ! -s "$folder/errors" ] || fail 'a line of another width'
        [ $columns != 80 ] || grep -q '^\[##*\.*\] 8/8 .* skipped [0-9]' \
            "$folder/bars" || fail "80 columns do not say all"
        ! grep -qx '' "$folder/said" || fail 'a line is empty'
    done
    TRAINER_TERMINAL=80 run 1 "$folder/new/error" $overflow >"$folder/said"
    [ "$(tail -c 1 "$folder/said")" = '' ] || fail 'an error is in the line'
}
overflow=OPTIMIZER.param_schedulers.lr.value=1000000

# The demo says so when its run has ended before a process could be killed. A
# copy, so that the pictures of the last one stay.
demo() {
    cat >"$folder/wrapped" <<END
#!/bin/sh
echo 'digest 0'
END
    chmod +x "$folder/wrapped"
    mkdir "$folder/copy"
    cp -r examples "$folder/copy"
    (
        cd "$folder/copy" || exit 1
        TRAINER=$folder/wrapped sh examples/trainer/demo.sh
    ) >"$folder/said" 2>&1 && fail 'the demo is content without a kill'
    grep -q 'FAILED: no process was killed' "$folder/said" ||
        fail 'the demo does not say that no process was killed'
}

# Without the stateful sampler a resume in mid-epoch serves the epoch again and
# says how much. The learning rate begins the epoch again as well.
twice() {
    rule='DATA.TRAIN.USE_STATEFUL_DISTRIBUTED_SAMPLER=False
        CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=5
        OPTIMIZER.param_schedulers.lr.name=linear
        OPTIMIZER.param_schedulers.lr.update_interval=step'
    dir=$folder/twice
    run 2 $dir $rule >"$folder/said"
    rates >"$folder/rates"
    rm -rf $dir/step-0000000000[23]* $dir/step-000000000016 \
        $dir/step-00000000001[05]
    run 3 $dir $rule >"$folder/said"
    grep -q 'begins again: 40 sequences are seen twice' "$folder/errors" ||
        fail 'it does not say how many are seen twice'
    grep -q '^steps 37,' "$folder/said" || fail 'not 5 + 32 steps'
    rates | sed 1,5d | cmp - "$folder/rates" || fail 'other learning rates'
    # The first text's 13 are padded to 14, in steps of 8 and 6, and begin
    # again; the second's first step is the fourth.
    twice_in 29 4 DATA.TRAIN.DATA_LIMIT=13 STATESAMPLER.STOP=restart \
        STATESAMPLER.WEIGHTS='[3,1]'
}

# A run that is killed after that step says how many are seen twice.
twice_in() { # SEQUENCES STEP KEY=VALUE...
    want=$1 step=$2
    shift 2
    rm -rf $dir
    run 2 $dir $rule CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=$step \
        "$@" >"$folder/said"
    for saved in $dir/step-*; do
        [ $saved = $dir/step-$(printf %012d $step) ] || rm -rf $saved
    done
    run 3 $dir $rule "$@" >"$folder/said"
    grep -q "begins again: $want sequences" "$folder/errors" ||
        fail "not $want seen twice"
}

rates() {
    sed -n 's/^step .* rate //p' $dir/log.txt
}

for question; do
    $question
done
[ $compared = 0 ] || [ -n "$noted" ] || note "$compared digests compared"

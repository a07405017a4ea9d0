# kept.sh - questions of runs.sh: what a run goes on from, and what it refuses.

# A run goes on in another shape, again and again.
elsewhere() {
    make_head
    for rule in "$nesterov" "$adamw $o1" "$larc $o1"; do
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
    grep -q "resuming from step-0000000000$1" "$folder/errors" ||
        fail "it did not go on from step $1"
    # The log and all checkpoints are the same bytes, but for how it was run.
    cmp "$folder/once/log.txt" $dir/log.txt || fail 'another log'
    [ "$(ls "$folder/once")" = "$(ls $dir)" ] || fail 'other checkpoints'
    for saved in $dir/step-*; do
        "$folder/head" others <$saved >"$folder/got"
        "$folder/head" others <"$folder/once/${saved##*/}" |
            cmp - "$folder/got" || fail "another $saved"
    done
}

make_head() {
    ${MPICC:-mpicc} -I. -Iexamples/trainer -o "$folder/head" \
        examples/trainer/tests/head.c build/trainer/text.o build/trainer/agree.o
}

# SIGKILL at moments that nobody chose, up to 23 steps on: to a process or to
# mpirun itself, and every second time as soon as a checkpoint is being written;
# each time another number of processes goes on. Where the save was done before
# the kill all of these times, there are up to six more. The log that is
# compared has every epoch's audit. The files in memory of those that were
# killed are gone.
kills() {
    # Processes of a mpirun that is killed come hundreds of steps further.
    epochs=$((6 * ${KILLS:=6} + 6))
    rule="$adamw $o1 OPTIMIZER.num_epochs=$epochs TEST_MODEL=False"
    plain=$(digest 1 $rule)
    rule="$rule $sdp CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=7"
    dir=$folder/killed killed=0 saving=0 memory= try=0
    while [ $try -lt $KILLS ] ||
        { [ $saving = 0 ] && [ $try -lt $((KILLS + 6)) ]; }; do
        try=$((try + 1))
        w=$(((try * 5) % 4 + 1))
        goal=$(awk -v n=$try -v had=$(steps_logged) \
            -v most=$([ $try -gt $KILLS ] || echo 24) \
            'BEGIN { srand(n); print had + int(most * rand()) }')
        run $w $dir $rule >"$folder/said" &
        job=$!
        kill_one
        wait $job
        # Processes of a killed mpirun go within seconds.
        while pgrep -f "^$trainer .*CHECKPOINT.DIR=$dir " >/dev/null; do
            sleep 0.1
        done
        [ ! -e $dir/.step.tmp ] || saving=$((saving + 1))
    done
    got=$(run 2 $dir $rule | sed -n 's/^digest //p')
    same "$plain" "$got" "after $killed kills"
    [ $killed -ge $((try / 2)) ] || fail "only $killed of $try runs were killed"
    [ $saving -gt 0 ] || fail "none of $killed kills was in mid-save"
    [ "$(grep -c 'done: .* each exactly once' $dir/log.txt)" = $epochs ] ||
        fail 'an audit is missing'
    [ -n "$(echo $memory)" ] || [ ! -w /dev/shm ] ||
        fail 'nobody had a file in memory'
    for file in $memory; do
        [ ! -e "$file" ] || fail "$file is left in memory"
    done
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
    memory="$memory $(for process in $(
        pgrep -f "^$trainer .*CHECKPOINT.DIR=$dir "
    ); do
        grep -o '/dev/shm/.*' /proc/$process/maps 2>/dev/null
    done | sort -u)"
    [ $try -gt $KILLS ] || [ $((try % 2)) = 0 ] && in_save=1 || in_save=
    # A save takes milliseconds: nothing may come between it and the kill.
    while [ -n "$in_save" ] && [ ! -e $dir/.step.tmp ]; do
        kill -0 "$victim" 2>/dev/null || return
    done
    if kill -KILL "$victim" 2>/dev/null; then
        killed=$((killed + 1))
    fi
}

# A damaged checkpoint is named and the one before is taken; with none left
# there is no fresh start.
damaged() {
    rule="CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=10"
    dir=$folder/damaged
    plain=$(run 2 $dir $rule | sed -n 's/^digest //p')
    newest=$dir/step-000000000032
    change $newest $(($(wc -c <$newest) - 9)) # before the last hash
    got=$(run 3 $dir $rule | sed -n 's/^digest //p')
    same "$plain" "$got" 'a byte of a tensor is changed'
    grep -q 'skipping .*step-000000000032: its head.weight is' \
        "$folder/errors" || fail 'the tensor is not named'
    dd if=$dir/step-000000000030 of=$newest bs=4096 skip=1 seek=1 conv=notrunc \
        2>"$folder/said" # all but the head
    got=$(run 2 $dir $rule | sed -n 's/^digest //p')
    same "$plain" "$got" "another checkpoint's tensors"
    grep -q 'skipping .*step-000000000032: its wte.weight is' \
        "$folder/errors" || fail 'the first tensor is not named'
    change $newest 150 # within the kernels: only its hash tells
    same "$plain" "$(run 1 $dir $rule | sed -n 's/^digest //p')" \
        'the head is changed'
    grep -q 'skipping .*step-000000000032: its head is' "$folder/errors" ||
        fail 'the head is not named'
    truncate -s -1 $dir/step-000000000030
    for saved in 10 16 20 32; do
        : >$dir/step-0000000000$saved
    done
    refused 'no intact checkpoint in [^ ]*damaged: choose another CHECKPOINT.D'
    grep -q 'skipping .*step-000000000032: it does not begin as a checkpoint' \
        "$folder/errors" || fail 'an empty file is called something else'
}

change() { # FILE PLACE
    printf x | dd of=$1 bs=1 seek=$2 conv=notrunc 2>/dev/null
}

# A checkpoint and log.txt are all that it takes: copied elsewhere, they go on,
# whatever step the name says. A link in the place of a checkpoint is replaced,
# and what it leads to stays.
alone() {
    rule='CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=10' dir=$folder/all
    plain=$(run 2 $dir $rule | sed -n 's/^digest //p')
    mkdir "$folder/copy"
    cp $dir/log.txt "$folder/copy"
    cp $dir/step-000000000010 "$folder/copy/step-000000000011"
    ln -s $dir/step-000000000020 "$folder/copy"
    : >$dir/step-000000000020
    # There may be a file system that has no way to flush a folder.
    ${CC:-cc} -shared -fPIC -o "$folder/opened.so" examples/trainer/tests/opened.c -ldl
    for error in EINVAL ENOSYS; do
        wrap "export NO_FLUSH=$error LD_PRELOAD=$folder/opened.so"
        got=$(
            TRAINER=$folder/wrapped
            run 1 "$folder/copy" $rule | sed -n 's/^digest //p'
        )
        same "$plain" "$got" 'a folder alone'
    done
    cmp $dir/log.txt "$folder/copy/log.txt" || fail 'another log'
    [ ! -s $dir/step-000000000020 ] || fail 'it writes to what a link leads to'
    # A link that may not be removed, either.
    mkdir "$folder/linked"
    ln -s "$folder/thesis" "$folder/linked/.step.tmp"
    echo 'my own' >"$folder/thesis"
    wrap "export LD_PRELOAD=$folder/opened.so
        export REFUSED=$folder/linked/.step.tmp AT=unlink"
    dir=$folder/linked
    (
        TRAINER=$folder/wrapped
        refused "cannot create $dir/.step.tmp: File exists"
    ) || exit 1
    [ -s "$folder/thesis" ] || fail 'what a link leads to is emptied'
}

# A checkpoint that cannot be read, or of another release, is no damaged one:
# the run does not go on from an older one, to write over it, or begin from
# step 1.
unread() {
    rule='CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=10' dir=$folder/unread
    run 2 $dir $rule >"$folder/said"
    cp -r $dir "$folder/as_it_was"
    newest=$dir/step-000000000032
    ${CC:-cc} -shared -fPIC -o "$folder/opened.so" examples/trainer/tests/opened.c -ldl
    for path in $dir $newest; do
        unreadable open 'Permission denied'
        unreadable read 'Input/output error'
    done
    # Without a checkpoint a log that cannot be read may be somebody else's.
    dir=$folder/log path=$folder/log/log.txt
    mkdir $dir
    cp "$folder/as_it_was/log.txt" $dir
    unreadable read 'Input/output error'
    dir=$folder/unread
    # A killed run may have given the newest its name and not flushed that.
    wrap "export REFUSED=$dir AT=flush LD_PRELOAD=$folder/opened.so"
    (
        TRAINER=$folder/wrapped
        refused "cannot flush $dir: Input/output error"
    ) || exit 1
    # Nor has a run saved anything while its checkpoint's name is not flushed.
    (
        dir=$folder/unflushed
        wrap "export REFUSED=$dir AT=flush LD_PRELOAD=$folder/opened.so"
        TRAINER=$folder/wrapped
        refused "cannot flush $dir: Input/output error"
        [ -e $dir/step-000000000010 ] || fail 'it was refused before the save'
    ) || exit 1
    # One that was killed may have made folders above, but none on a device that
    # is not DIR's.
    wrap "export REFUSED=$folder AT=flush LD_PRELOAD=$folder/opened.so"
    (
        TRAINER=$folder/wrapped
        refused "cannot flush $folder: Input/output error"
    ) || exit 1
    wrap "export REFUSED=/dev AT=flush LD_PRELOAD=$folder/opened.so"
    [ ! -w /dev/shm ] ||
        [ "$(stat -c %d /dev/shm)" = "$(stat -c %d /dev)" ] || (
            shm=$(mktemp -d /dev/shm/runs.XXXXXX)
            TRAINER=$folder/wrapped
            run 1 $shm/new/folder $rule $short >"$folder/said"
            got=$?
            rm -r $shm
            [ $got = 0 ] || fail "another device's folder matters"
        ) || exit 1
    diff -r "$folder/as_it_was" $dir || fail 'a checkpoint is another one'
    cp $newest "$folder/newest"
    make_head
    for format in 4 9; do # older and newer releases
        sed "1s/^format 5/format $format/" "$folder/newest" >$newest
        refused "$newest: its format $format is that of another release, which"
    done
    rm $newest
    mkdir $newest
    refused "$newest: it is a folder: .*; those of older releases were folders"
    rmdir $newest
    "$folder/head" size 20000000000 <"$folder/newest" >$newest
    passed_over 'its head is truncated or changed'
    cp "$folder/newest" $newest
    cp $dir/log.txt "$folder/log.txt"
    rm $newest
    mkfifo $newest
    refused "$newest: it is not a regular file"
}

# A run that has lost its log is told so, and how it goes on: to the same bits.
lost_log() {
    make_head
    epochs='OPTIMIZER.num_epochs=3' rule='CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=5'
    rule="$rule $epochs" dir=$folder/whole
    run 2 $dir $rule >"$folder/said"
    cp -r $dir "$folder/lost"
    dir=$folder/lost newest=$folder/lost/step-000000000030
    rm $dir/step-00000000004* $dir/step-000000000035 $dir/step-000000000032
    for change in "rm $dir/log.txt" ": >$dir/log.txt" \
        "truncate -s 99 $dir/log.txt" \
        "sed -i 's/^step 1 /step 0 /' $dir/log.txt"; do
        cp "$folder/whole/log.txt" $dir
        eval "$change"
        refused "trainer: $newest is intact, but log.txt there is missing, "`\
            `"empty or changed: .* with CHECKPOINT.EXTEND=$newest\$"
        ! grep 'no intact' "$folder/errors" || fail 'the checkpoints are intact'
        case $change in
        rm* | :*) why='was missing or is empty' ;;
        *) why='has lost or changed lines' ;;
        esac
        grep -q "skipping $newest: $dir/log.txt $why" "$folder/errors" ||
            fail "$change: it does not say: $why"
    done
    # The first line, by which the log is known.
    cp "$folder/whole/log.txt" $dir
    change $dir/log.txt 3
    refused 'was not written by the trainer, or its first line .*EXTEND can go'
    # A damaged checkpoint is not one that only lacks its log.
    printf x >>$dir/log.txt
    truncate -s 99 $dir/log.txt
    sed -i '1s/.*/a log of the trainer/' $dir/log.txt
    cp $newest "$folder/newest"
    change $newest $(($(wc -c <$newest) - 9))
    refused 'lost/step-000000000025 is intact, but log.txt there'
    cp "$folder/newest" $newest
    # The way out that is named.
    refused 'another CHECKPOINT.DIR with CHECKPOINT.EXTEND='
    way=$(sed -n 's/.* with \(CHECKPOINT.EXTEND=.*\)/\1/p' "$folder/errors")
    run 3 "$folder/way" $rule $way >"$folder/said" ||
        fail 'the way out is refused'
    for saved in whole way; do
        size=$(wc -c <"$folder/$saved/step-000000000048")
        tail -c $((size - size % 4096 - 8192)) \
            "$folder/$saved/step-000000000048" >"$folder/$saved.tensors"
    done
    cmp "$folder/whole.tensors" "$folder/way.tensors" || fail 'other weights'
    compared=$((compared + 1))
}

unreadable() { # AT ERROR
    wrap "export REFUSED=$path AT=$1 LD_PRELOAD=$folder/opened.so"
    (
        TRAINER=$folder/wrapped
        refused "cannot read .*$path: $2"
    ) || exit 1
}

passed_over() { # SENTENCE
    rm -rf $dir/step-0000000000[12]* $dir/step-000000000030
    refused 'no intact checkpoint in'
    grep -q "skipping .*step-000000000032: $1" "$folder/errors" ||
        fail "it does not say: $1"
}

# A disk, DISK, that is full when the log is begun, in the middle of the first
# checkpoint, before the last page of the second, and at the beginning of the
# third.
full_disk() {
    dir=$DISK/run problem='No space left on device' starved=$trainer
    plain=$(run 1 $dir $thrice | sed -n 's/^digest //p')
    pages=$(free_pages)
    rm -r $dir/step-000000000008
    pages=$(($(free_pages) - pages)) # of each
    rm -r $dir
    leave 0
    finds_no_room log.txt
    rm -r $dir
    leave $((1 + pages / 2))
    finds_no_room .step.tmp
    rm -r $dir
    leave $((1 + pages + pages - 1))
    finds_no_room .step.tmp 3
    rm -r $dir
    leave $((1 + pages + pages))
    finds_no_room .step.tmp 3 6
}
thrice='OPTIMIZER.num_epochs=1 DATA.TRAIN.DATA_LIMIT=32
    CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=3'

free_pages() {
    stat -f -c %f $DISK
}

leave() { # PAGES
    head -c $((($(free_pages) - $1) * $(stat -f -c %S $DISK))) /dev/zero \
        >$DISK/other
    [ "$(free_pages)" = $1 ] || fail "$(free_pages) pages are left, not $1"
}

# The same where files may have so many bytes only.
limited() {
    dir=$folder/limited problem='File too large'
    plain=$(run 1 $dir $thrice | sed -n 's/^digest //p')
    ${CC:-cc} -shared -fPIC -o "$folder/opened.so" examples/trainer/tests/opened.c -ldl
    starved=$folder/wrapped DISK=$folder
    size=$(wc -c <$dir/step-000000000008)
    for limit in 0 $((size - 1)); do
        wrap "export LIMIT=$limit LD_PRELOAD=$folder/opened.so"
        rm -r $dir
        finds_no_room .step.tmp
        rm -r $dir/step-000000000008
        finds_no_room .step.tmp 3 6
    done
}

# A save that finds no room ends the run, and leaves nothing of itself. What is
# there are the checkpoints of these steps; the run goes on from the last of
# them when there is room.
finds_no_room() { # FILE STEP...
    rule=$thrice TRAINER=$starved
    refused "cannot write $dir/$1: $problem"
    TRAINER=$trainer
    shift
    got=$(ls -A $dir | sed -n 's/.*step[-.]0*//p')
    [ "$(echo $got)" = "$*" ] || fail "there are steps $got, not $*"
    rm -f $DISK/other
    got=$(run 1 $dir $thrice | sed -n 's/^digest //p')
    same "$plain" "$got" 'there is room again'
    for step; do :; done
    [ $# = 0 ] || grep -q "resuming from step-00000000000$step" \
        "$folder/errors" || fail "it did not go on from step $step"
}

# What must be as it was is refused by its name; all else may differ, and the
# checkpoint has it.
foreign() {
    rule='' dir=$folder/foreign
    plain=$(run 2 $dir | sed -n 's/^digest //p')
    weights_only='; choose another CHECKPOINT.DIR, where MODEL.WEIGHTS_INIT'
    weights_only="$weights_only.PARAMS_FILE takes its weights\$"
    refused "its texts are not those of this run$weights_only" \
        DATA.TRAIN.DATA_PATHS='["LICENSE"]'
    refused 'its texts are not' DATA.TEST.DATA_PATHS='["LICENSE"]'
    refused "its MODEL.TRUNK.GPT.MLP_DIM is 128, but this run's is 96; choose "`\
        `'another CHECKPOINT.DIR$' MODEL.TRUNK.GPT.MLP_DIM=96
    refused "its OPTIMIZER.name is sgd, but this run's is adamw" \
        OPTIMIZER.name=adamw
    refused 'its OPTIMIZER.use_larc is' OPTIMIZER.use_larc=True
    refused 'its OPTIMIZER.num_epochs is .*; choose another CHECKPOINT.DIR, '`\
        `'where CHECKPOINT.EXTEND goes on from it$' OPTIMIZER.num_epochs=3
    # Epochs differ, and then the seed, or the texts, which EXTEND refuses.
    refused "its OPTIMIZER.num_epochs is .*$weights_only" \
        OPTIMIZER.num_epochs=3 STATESAMPLER.STOP=first
    refused "its texts are not those of this run$weights_only" \
        OPTIMIZER.num_epochs=3 DATA.TRAIN.DATA_PATHS='["LICENSE"]'
    refused 'its MODEL.AMP_PARAMS.USE_AMP is' $o1
    # What else decides the weights, and the log.
    for key in OPTIMIZER.weight_decay=0 OPTIMIZER.param_schedulers.lr.value=1 \
        MODEL.GRAD_CLIP.USE_GRAD_CLIP=True LOG_FREQUENCY=2; do
        refused "its ${key%%=*} is .*, but this run's is ${key#*=}" "$key"
    done
    # What decides which sequences are in a step.
    refused "its SEED_VALUE is 0, but this run's is 9" SEED_VALUE=9
    refused "its DATA.TRAIN.BATCHSIZE_PER_REPLICA is 4, but this run's is 2" \
        DISTRIBUTED.NUM_PROC_PER_NODE=4 DATA.TRAIN.BATCHSIZE_PER_REPLICA=2
    stateful=DATA.TRAIN.USE_STATEFUL_DISTRIBUTED_SAMPLER
    refused "its $stateful is True, but this run's is False" $stateful=False
    for key in DATA.TRAIN.USE_DEBUGGING_SAMPLER=True \
        DATA.TRAIN.DROP_LAST=True DATA.TRAIN.DATA_LIMIT=59 \
        STATESAMPLER.WEIGHTS='[2,1]' STATESAMPLER.STOP=first; do
        refused "its ${key%%=*} is .*, but this run's is .*" "$key"
    done
    refused 'foreign has step-.*32 of an earlier run' \
        CHECKPOINT.AUTO_RESUME=False
    "$trainer" --print-config "$yaml" "CHECKPOINT.DIR=$dir" >"$folder/is.yaml"
    make_head
    "$folder/head" config <$dir/step-000000000032 | cmp - "$folder/is.yaml" ||
        fail "the checkpoint's configuration is another one"
    cp README.md LICENSE "$folder"
    rm -rf $dir/step-000000000032
    got=$(run 3 $dir $sdp ${split}3 $manual DATA.DDP_BUCKET_CAP_MB=0.01 \
        DISTRIBUTED.NUM_NODES=2 DISTRIBUTED.NUM_PROC_PER_NODE=1 \
        DATA.TRAIN.DATA_PATHS="[\"$folder/README.md\", \"$folder/LICENSE\"]" |
        sed -n 's/^digest //p')
    same "$plain" "$got" 'machines, ZeRO, splits, reduction, paths differ'
    grep -q 'resuming from step-000000000016' "$folder/errors" ||
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

# A process reads no tensors but its own: of the 17 of a single block, weights
# and momentum are each read by one process, and each process reads some.
parts() {
    dir=$folder/parts rule=MODEL.TRUNK.GPT.NUM_LAYERS=1
    run 3 $dir $rule >"$folder/said"
    ${CC:-cc} -shared -fPIC -o "$folder/opened.so" examples/trainer/tests/opened.c -ldl
    wrap "export PLACES=$folder/places.\$rank LD_PRELOAD=$folder/opened.so"
    reads 3
    reads 2
}

reads() { # PROCESSES
    rm -rf $dir/step-000000000032 "$folder"/places.[0-9]
    (
        TRAINER=$folder/wrapped
        run $1 $dir $rule >"$folder/said"
    )
    # All read the head, in the first page; a hash follows each array.
    for rank in $(seq 0 $(($1 - 1))); do
        awk '$1 >= 4096' "$folder/places.$rank" >"$folder/parts.$rank"
        [ -s "$folder/parts.$rank" ] ||
            fail "process $rank of $1 read no tensor"
    done
    [ "$(cat "$folder"/parts.[0-9] | wc -l)" = 68 ] ||
        fail "of $1 processes: not 34 arrays are read"
    [ -z "$(sort "$folder"/parts.[0-9] | uniq -d)" ] ||
        fail "two of $1 processes read the same array"
    rm "$folder"/parts.[0-9]
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
    grep -q 'starts over: 40 sequences are seen twice' "$folder/errors" ||
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
    grep -q "starts over: $want sequences" "$folder/errors" ||
        fail "not $want seen twice"
}

rates() {
    sed -n 's/^step .* rate //p' $dir/log.txt
}

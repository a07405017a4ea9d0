# met.sh - questions of runs.sh: what a person meets.

# SIGTERM to launch.sh, to its group or to one of the trainers ends the run after
# a save, as does SIGQUIT: nobody trains on unseen, no folder stays, and there is
# no other start. A later start goes on from there.
stopped() {
    mkdir "$folder/tmp"
    for signal in 3 15 group rank; do
        dir=$folder/stopped$signal
        # What runs behind a script would not see a SIGQUIT.
        RESTARTS=3 TMPDIR=$folder/tmp setsid env --default-signal=QUIT \
            sh examples/trainer/launch.sh 2 "$yaml" CHECKPOINT.DIR=$dir \
            OPTIMIZER.num_epochs=20 >"$folder/said" 2>"$folder/errors" &
        job=$!
        # Ends: the run writes its first step or ends.
        while [ "$(steps_logged)" = 0 ] && kill -0 $job; do
            sleep 0.02
        done
        wanted=143
        case $signal in
        group) kill -TERM -$job ;;
        rank) pkill -TERM -n -f "^$trainer .*CHECKPOINT.DIR=$dir " ;;
        *)
            kill -$signal $job
            wanted=$((128 + signal))
            ;;
        esac
        wait $job
        got=$?
        [ $got = $wanted ] || fail "signal $signal: status $got"
        # A busy machine takes a moment to end them; training takes minutes.
        tries=0
        while pgrep -f "^$trainer .*CHECKPOINT.DIR=$dir " >/dev/null; do
            tries=$((tries + 1))
            [ $tries -lt 30 ] || {
                pkill -KILL -f "^$trainer .*CHECKPOINT.DIR=$dir "
                fail 'they train on'
            }
            sleep 0.2
        done
        [ -z "$(ls "$folder/tmp")" ] || fail 'a folder stays'
        ! grep -q 'restarting with' "$folder/errors" || fail 'it starts again'
        grep -q '^stopped by a signal after step' "$folder/said" ||
            fail 'it does not save'
    done
    same "$(digest 1 OPTIMIZER.num_epochs=20)" "$(run 1 $dir \
        OPTIMIZER.num_epochs=20 | sed -n 's/^digest //p')" 'after a stop'
    # The second signal ends a run that does not come to an end of its step.
    wrap "trap '' USR1; touch $folder/hangs; sleep 60"
    TRAINER=$folder/wrapped sh examples/trainer/launch.sh 1 "$yaml" \
        >"$folder/said" 2>"$folder/errors" &
    job=$!
    while [ ! -e "$folder/hangs" ]; do sleep 0.02; done
    kill -TERM $job
    sleep 0.2
    kill -TERM $job
    wait $job
    # A process dies, and nobody reads any longer that one does.
    wrap "touch $folder/began
        sleep 1
        kill -KILL \$\$"
    TRAINER=$folder/wrapped RESTARTS=3 TMPDIR=$folder/tmp \
        sh examples/trainer/launch.sh 1 "$yaml" 2>&1 >/dev/null | :
    [ -e "$folder/began" ] || fail 'it did not begin'
    [ -z "$(ls "$folder/tmp")" ] || fail 'a folder stays without a reader'
}

# The newest three stay. A finished run is extended by a new one, or gives it
# its weights, on any number of processes; the new log says so.
begins() {
    rule='CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=3 CHECKPOINT.KEEP=3'
    dir=$folder/first
    run 2 $dir $rule $adamw $o1 >"$folder/said"
    got=$(ls $dir | sed -n 's/^step-0*//p')
    [ "$(echo $got)" = '27 30 32' ] || fail "there are steps $got"
    from=$dir/step-000000000032
    for key in CHECKPOINT.EXTEND MODEL.WEIGHTS_INIT.PARAMS_FILE; do
        again="$adamw $o1 OPTIMIZER.num_epochs=4 $key=$from"
        plain=$(digest 1 $again)
        same "$plain" "$(digest 3 $again $sdp)" "$key"
        run 2 "$folder/$key" $again >"$folder/said"
        grep -q "^a new run, which .* $from$" "$folder/$key/log.txt" ||
            fail "$key: its log does not say so"
    done
    grep -q 'step 33 epoch 2' "$folder/CHECKPOINT.EXTEND/log.txt" ||
        fail 'it is not extended'
    grep -q 'step 1 epoch 0' "$folder/$key/log.txt" || fail 'not a new run'
    # The weights are those of the run: its last loss, not an untrained one's.
    awk '/^step 1 / { exit !($6 < 4.5) }' "$folder/$key/log.txt" ||
        fail 'other weights'
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    "$trainer" --tensors $from >"$folder/said" 2>"$folder/errors"
    grep -q '^block2.mlp.fc.weight  *4096 ' "$folder/said" || fail 'no tensor'
    [ "$(wc -l <"$folder/said")" = 42 ] || fail 'not 41 tensors'
    "$trainer" --write $from 'The sampler' >"$folder/said" 2>"$folder/errors"
    [ "$(wc -c <"$folder/said")" = 412 ] || fail 'not 400 bytes are written'
    "$trainer" --write $folder >"$folder/said" 2>"$folder/errors" &&
        fail 'no checkpoint writes'
    grep -q "^trainer: cannot use $folder: it is a folder: a checkpoint is a " \
        "$folder/errors" || fail 'a folder is not named'
    "$trainer" --tensors README.md >"$folder/said" 2>"$folder/errors" &&
        fail 'a text has tensors'
    grep -q '^trainer: cannot use README.md: it does not begin as a checkp' \
        "$folder/errors" || fail 'a text is not named'
    dir=$folder/refused
    rule=
    beginning=$folder/first/step-000000000032
    says 1 2 'cannot begin with .*: its MODEL.AMP_PARAMS.USE_AMP is True, but '`\
        `"this run's is False; MODEL.WEIGHTS_INIT.PARAMS_FILE takes its w" \
        CHECKPOINT.EXTEND=$beginning
    says 1 2 'cannot begin with .*: its MODEL.TRUNK.GPT.MLP' \
        MODEL.WEIGHTS_INIT.PARAMS_FILE=$beginning MODEL.TRUNK.GPT.MLP_DIM=96
    says 1 2 'cannot begin with /none: cannot read /none: No' \
        CHECKPOINT.EXTEND=/none
    says 1 2 "cannot begin with $folder: it is a folder: a checkpoint is a " \
        CHECKPOINT.EXTEND=$folder
}

# After a death launch.sh goes on from the newest checkpoint, also where the
# first start was told not to, and with the configuration that this one read,
# from a file that was changed since. The first start is
# killed after step 10.
again() {
    rule='CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=5' dir=$folder/again
    plain=$(digest 1 $rule)
    cp "$yaml" "$folder/again.yaml"
    goes_again "$folder/again.yaml"
}

goes_again() { # FILE
    cat >"$folder/dies" <<END
#!/bin/sh
[ ! -e $folder/saved ] || exec $trainer "\$@"
exec 3<&0
$trainer "\$@" <&3 &
# Ends: the step comes, or the trainer ends.
while [ ! -e $dir/step-000000000010 ] && kill -0 \$!; do
    sleep 0.02
done
kill -KILL \$!
wait
ls $dir | grep ^step >$folder/saved
echo 'LOG_FREQUENCY: 3' >$folder/again.yaml
kill -KILL \$\$
END
    chmod +x "$folder/dies"
    got=$(
        RESTARTS=1 TRAINER=$folder/dies yaml=$1
        run 1 $dir $rule CHECKPOINT.AUTO_RESUME=False | sed -n 's/^digest //p'
    )
    same "$plain" "$got" 'after a death'
    grep -q "resuming from $(tail -n 1 "$folder/saved")" "$folder/errors" ||
        fail 'it did not go on from the newest checkpoint'
}

# Another machine, which has a name and a /dev/shm of its own: its processes
# send each other messages through memory, too. The caller's own choice of a
# folder is kept.
machines() {
    cat >"$folder/agent" <<'END'
#!/bin/sh
host=$1
shift
exec unshare -rmu sh -c 'hostname "$0" && mount -t tmpfs none /dev/shm &&
    eval "$*"' "$host" "$@"
END
    chmod +x "$folder/agent"
    echo 'another slots=2' >"$folder/hosts"
    mkdir "$folder/own"
    plain=$(digest 1 $short)
    wrap "hostname >$folder/host.\$rank
        echo \$OMPI_MCA_btl_vader_backing_directory >>$folder/backing"
    export OMPI_MCA_btl=vader,self
    got=$(
        TRAINER=$folder/wrapped
        export OMPI_MCA_plm_rsh_agent="$folder/agent"
        export OMPI_MCA_orte_default_hostfile="$folder/hosts"
        digest 2 $short
    )
    same "$plain" "$got" 'on another machine'
    [ "$(cat "$folder/host.1")" = another ] || fail 'it was not there'
    rm "$folder/backing"
    got=$(
        TRAINER=$folder/wrapped
        export OMPI_MCA_btl_vader_backing_directory="$folder/own"
        digest 2 $short
    )
    same "$plain" "$got" "in the caller's folder"
    [ "$(sort -u "$folder/backing")" = "$folder/own" ] ||
        fail 'the caller chose another folder'
    unset OMPI_MCA_btl
}

# What launch.sh refuses before it starts anything.
unlaunched() {
    starts_nothing '.* is not a number of processes up to 9999: .*'
    starts_nothing "'plain.yaml' is not a number .*" plain.yaml
    starts_nothing "'0' is not a number .*" 0 "$yaml"
    starts_nothing "'99999' is not a number of processes up to 9999: .*" \
        99999 "$yaml"
    RESTARTS=abc
    export RESTARTS
    starts_nothing 'RESTARTS must be a number of at most 4 digits, not abc' \
        2 "$yaml" CHECKPOINT.DIR="$folder/none"
    unset RESTARTS
    for TRAINER in build/none ./README.md; do
        starts_nothing "cannot find the program $TRAINER: .*" 2 "$yaml"
    done
    # A program that misses a library, for one, misses it again.
    wrap 'exec /none 2>/dev/null'
    RESTARTS=2 TRAINER=$folder/wrapped \
        sh examples/trainer/launch.sh 2 "$yaml" 2>"$folder/errors"
    got=$?
    [ $got = 127 ] || fail "no program: status $got"
    ! grep 'restarting with' "$folder/errors" || fail 'it starts again'
    TRAINER=$trainer
    # What mpirun finds wrong is said; where the trainer has begun, nothing is.
    OMPI_MCA_orte_default_hostfile=$folder/no_hosts \
        sh examples/trainer/launch.sh 2 "$yaml" 2>"$folder/errors"
    got=$?
    [ $got = 1 ] || fail "no hosts: status $got"
    grep -q "$folder/no_hosts" "$folder/errors" || fail 'the file is not named'
    # After the last death it says what to do.
    wrap 'kill -KILL $$'
    RESTARTS=1 TRAINER=$folder/wrapped \
        sh examples/trainer/launch.sh 2 "$yaml" 2>"$folder/errors"
    got=$?
    [ $got = 137 ] || fail "a second death: status $got"
    [ "$(cat "$folder/errors")" = "launch.sh: a process died (status 137): \
restarting with 1 processes
launch.sh: a process died (status 137): start it again, and it goes on from \
the last checkpoint" ] || fail 'two deaths are not two lines'
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

# What a person meets: a status, and a single sentence from all processes.
errors() {
    dir=$folder/errors.d
    says 2 9 'must be at least the number of processes'
    says 2 3 'OPTIMIZER.use_lark: not a key' OPTIMIZER.use_lark=True
    says 2 2 '^command line: --none: unknown option' --none
    says 2 2 'plain.yaml: at most one file is allowed' examples/trainer/plain.yaml
    "$trainer" --print-config SEED_VALUE=7 "$yaml" >"$folder/said" 2>&1 &&
        fail 'a file after a key is taken'
    grep -q 'one file is allowed, before all keys' "$folder/said" ||
        fail 'a file after a key is not named'
    # Where no MPI can start.
    OMPI_MCA_pml=none "$trainer" SEED=7 >"$folder/said" 2>&1
    got=$?
    [ $got = 2 ] || fail "a wrong key, without MPI: status $got"
    says 1 3 'cannot open the text /none' DATA.TRAIN.DATA_PATHS='["/none"]'
    # A name may have commands for a terminal.
    "$trainer" --tensors "$(printf '/none\033[31m')" >"$folder/said" \
        2>"$folder/errors"
    grep -q '^trainer: .*/none?\[31m: No such file' "$folder/errors" ||
        fail "a terminal's command is printed"
    says 1 3 'a sequence needs 33' DATA.TRAIN.DATA_PATHS='["/etc/hostname"]'
    says 2 3 'must have an item for each file' STATESAMPLER.WEIGHTS='[1]'
    says 1 3 'a gradient overflowed: let loss_scale be dynamic, or lower' $o1 \
        MODEL.AMP_PARAMS.AMP_ARGS.loss_scale=16777216
    says 1 3 'a loss is not a number' $overflow
    says 1 2 'a loss is not a number' $overflow $o1
    # One that takes nothing from the run.
    dir=$folder/errors.held
    head -c 300 README.md >"$folder/nine"
    says 0 3 'no text has ten sequences' DATA.TRAIN.DATA_PATHS="[\"$folder/nine\"]"
    # One step, after which the weights are no good.
    dir=$folder/errors.nan
    says 1 2 'a held-out loss is not a number' $overflow OPTIMIZER.num_epochs=1 \
        DATA.TRAIN.DATA_PATHS='["README.md"]' DATA.TRAIN.DATA_LIMIT=8
    [ ! -e $dir/step-* ] || fail 'weights that are no good are saved'
    dir=$folder/errors.short
    head -c 40 README.md >"$folder/short"
    says 1 3 'short is too short for a single step' \
        DATA.TRAIN.DATA_PATHS="[\"README.md\", \"$folder/short\"]"
    dir=/proc/none/new
    says 1 3 'cannot create the folder /proc/none/new: No'
    dir=$folder/a_file
    : >$dir
    says 1 3 'a_file/log.txt: Not a directory'
    dir=$folder/a_pipe
    mkdir $dir
    mkfifo $dir/log.txt
    says 1 3 'cannot write .*a_pipe/log.txt: it is not a regular file'
    dir=$folder/errors.rest
    mkfifo "$folder/pipe"
    says 1 3 'pipe: it is not a regular file' \
        DATA.TRAIN.DATA_PATHS="[\"$folder/pipe\"]"
    mkdir "$folder/node0" "$folder/node1"
    cp README.md LICENSE "$folder/node0"
    sed 's/the/The/' README.md >"$folder/node1/README.md"
    cp LICENSE "$folder/node1"
    wrap "cd $folder/node\$rank"
    TRAINER=$folder/wrapped
    says 1 2 'the texts differ between processes'
    # A folder that each machine has for itself, at a save and at a resume.
    readme=DATA.TRAIN.DATA_PATHS='["../node0/README.md"]' dir=alone
    says 1 2 "process 1 does not see alone/.step.tmp: all machines must share" \
        "$readme" TEST_MODEL=False
    run 1 alone "$readme" TEST_MODEL=False >"$folder/said"
    says 1 2 "cannot resume from alone/step-.*16: process 1 does not see" \
        "$readme" TEST_MODEL=False
    dir=$folder/errors.rest
    mv "$folder/node1/README.md" "$folder/node1/LICENSE"
    says 1 2 'the texts differ between processes' \
        DATA.TRAIN.DATA_PATHS='["../node0/README.md"]' \
        DATA.TEST.DATA_PATHS='["LICENSE"]'
    TRAINER=$trainer
    # No other failure of a lock is another run's.
    ${CC:-cc} -shared -fPIC -o "$folder/opened.so" examples/trainer/tests/opened.c -ldl
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
    says 1 3 "of_others/log.txt was not written by the trainer"
    ln -sf "$folder/own" $dir/log.txt
    says 1 3 'cannot write .*of_others/log.txt: it is a link'
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
    says 1 2 'another run is using it; wait for its end, or choose' $rule
    # One that launch.sh has started again waits.
    TRAINER_AGAIN=1 run 1 $dir $rule >"$folder/second" &
    second=$!
    sleep 1
    kill -CONT $first
    wait $job || fail 'the first run'
    wait $second || fail 'the second did not wait'
    same "$plain" "$(sed -n 's/^digest //p' "$folder/second")" 'the second run'
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
    grep -q 'not all processes use the OpenBLAS kernel Prescott' \
        "$folder/errors" || fail 'several kernels are not noticed'
    run 2 $dir $short >"$folder/said"
    grep -q 'another OpenBLAS kernel (several, now' \
        "$folder/errors" || fail 'those of the save are not named'
}

# A text that is changed in place, or cut, while a run goes on, or its log: also
# where the run would write over the change, or another run has the name.
changed() {
    dir=$folder/changed
    log=$dir/log.txt
    for change in "printf x | dd conv=notrunc of=$folder/text" \
        "dd of=$folder/text count=0" "truncate -s 30 $log" \
        "printf x | dd conv=notrunc of=$log" "seq 9999 >>$log" \
        "cp $log $log.new; mv $log.new $log" "rm $log"; do
        cp README.md "$folder/text"
        rm -rf $dir
        run 2 $dir DATA.TRAIN.DATA_PATHS="[\"$folder/text\"]" \
            OPTIMIZER.num_epochs=200 >"$folder/said" &
        job=$!
        # Ends: the run logs more than is left of the log, or ends.
        while ! grep -qs '^step 2 ' $dir/log.txt && kill -0 $job 2>/dev/null
        do
            sleep 0.02
        done
        eval "$change" 2>/dev/null
        wait $job
        [ $? = 1 ] || fail "$change: not an error"
        grep -Eq '^trainer: .*te*xt .*(was|has) [clt][a-z]* ' "$folder/errors" ||
            fail "$change: not named"
        grep -Eq '/(text|log\.txt)' "$folder/errors" ||
            fail "$change: of which file is not said"
        ! grep -v '^trainer: ' "$folder/errors" || fail 'more than sentences'
    done
    # A text that is only touched, or written with the same bytes, is the same.
    cp README.md "$folder/text"
    rm -rf $dir
    run 1 $dir DATA.TRAIN.DATA_PATHS="[\"$folder/text\"]" \
        OPTIMIZER.num_epochs=9 >"$folder/said" &
    job=$!
    while ! grep -qs '^step 2 ' $dir/log.txt && kill -0 $job 2>/dev/null; do
        sleep 0.02
    done
    touch "$folder/text"
    wait $job || fail 'a text that was touched ends the run'
}

# What an epoch has served, where an audit cannot say that each came once.
served() {
    while read -r sentence keys; do
        rm -rf "$folder/served"
        run 2 "$folder/served" OPTIMIZER.num_epochs=1 $keys \
            >"$folder/said"
        grep -q "done: $(echo "$sentence" | tr _ ' ')$" "$folder/said" ||
            fail "$keys: not $sentence: $(grep done "$folder/said")"
    done <<END
248_sequences;_the_texts_have_120 STATESAMPLER.STOP=restart $weights=[1,3]
112_sequences;_the_texts_have_118 DATA.TRAIN.DROP_LAST=True $limit=59
120_sequences,_each_exactly_once STATESAMPLER.STOP=first
END
}
weights=STATESAMPLER.WEIGHTS limit=DATA.TRAIN.DATA_LIMIT

# launch.sh takes what stands on its standard input as a file only.
input() {
    left=$(echo left | {
        run 1 "$folder/input" OPTIMIZER.use_lark=True >"$folder/said"
        cat
    })
    [ "$left" = left ] || fail 'the standard input is gone'
    mkfifo "$folder/configuration"
    for name in /dev/stdin /dev/fd/0 "$folder/configuration"; do
        sh examples/trainer/launch.sh 1 "$name" --print-config \
            <"$yaml" >"$folder/said" 2>"$folder/errors"
        [ $? = 2 ] || fail "$name is taken"
        grep -q "^launch.sh: $name: the configuration must be a file" \
            "$folder/errors" || fail "$name is not refused"
    done
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

# A line each LOG_FREQUENCY steps with the time left, which the log has not. A
# line that cannot be printed is an error.
lines() {
    run 1 "$folder/new" $short LOG_FREQUENCY=3 >"$folder/said"
    grep '^step ' "$folder/said" >"$folder/steps"
    grep '^step ' "$folder/new/log.txt" >"$folder/logged"
    [ "$(cut -d ' ' -f 2 "$folder/logged" | xargs)" = '3 6' ] ||
        fail "a line each third step: $(cat "$folder/logged")"
    sed 's/, [0-9]* s left$//' "$folder/steps" |
        cmp - "$folder/logged" || fail 'printed lines are others'
    [ "$(grep -c left "$folder/steps")" = 2 ] || fail 'no time left'
    ! grep left "$folder/logged" || fail 'the log has the time left'
    # A clock that goes on by so much at each look at it: there are minutes,
    # then hours, then days left.
    echo 'double strtod(const char *, char **);
        char *getenv(const char *);
        double MPI_Wtime(void) {
            static double looks;
            return strtod(getenv("TICK"), 0) * ++looks; }' \
        >"$folder/clock.c"
    mpicc -shared -fPIC -o "$folder/clock.so" "$folder/clock.c"
    said=
    for tick in 1 10 1e2 1e3 1e4 1e5; do
        wrap "export TICK=$tick LD_PRELOAD=$folder/clock.so"
        said="$said $(
            TRAINER=$folder/wrapped
            run 1 "$folder/new/$tick" $short LOG_FREQUENCY=3 |
                sed -n 's/^step 3 .*, \(.*\) left$/\1/p' | tr ' ' _)"
    done
    for shape in '[1-5]?[0-9]_min_[1-5]?[0-9]_s' '[12]?[0-9]_h_[1-5]?[0-9]_min' \
        '[0-9]+_d_[12]?[0-9]_h'; do
        echo "$said" | grep -qE " $shape( |\$)" || fail "no $shape:$said"
    done
    ! echo "$said" | grep -qvE "^( [0-9]+(_s|_min_[1-5]?[0-9]_s|_h_[1-5]?[0-9]_min|_d_[12]?[0-9]_h))*$" ||
        fail "another time is left:$said"
    wrap 'exec >/dev/full'
    (
        TRAINER=$folder/wrapped
        run 1 "$folder/new/full" $short
    ) && fail 'what is printed is lost, and the run has succeeded'
    grep -q 'cannot print: No space' "$folder/errors" ||
        fail 'it does not say that it cannot print'
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

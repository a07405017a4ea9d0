# trainer.sh - examples/trainer.

# --- Its configuration --------------------------------------------------------

trainer_make() { # TARGET
    STRICT=$(echo $STRICT -Wmissing-prototypes)
    export STRICT
    make_once "$1"
}

# A program with the configuration, with sanitizers if there are some.
with_config() { # config|schedule
    STRICT="$STRICT $(cat "$root/$lists/sanitizers")"
    trainer_make build/trainer/test/$1
    ln -sf "$root/build/trainer/test/$1" .
}

# Every case of a list, by the program's own count.
config_corpus() { # LIST AT_LEAST
    with_config config
    quietly ./config corpus examples/trainer/tests/config/$1.txt
    count=$(sed -n 's/^\([0-9]*\) cases$/\1/p' said)
    at_least $2 "$count" cases
    echo "note: $count cases"
}

# What a person meets: one line on standard error, and 2.
config_refuses() { # WHAT ARGUMENT...
    what=$1
    shift
    status=0
    ./config print "$@" >printed 2>said || status=$?
    [ $status = 2 ] && [ ! -s printed ] && [ "$(cat said)" = "$what" ] || {
        echo "$* ended with $status:"
        cat said
        return 1
    }
}

# All strings that there may be, of letters that take two bytes when printed.
longest_config() {
    awk 'BEGIN {
        letters = sprintf("%511s", "")
        gsub(/ /, "\"", letters)
        for (i = 1; i < 32; i++)
            items = items "\047" letters "\047, "
        items = "[" items "\047" letters "\047]"
        print "DATA: {TRAIN: {DATA_PATHS: " items "}, TEST: {DATA_PATHS: " \
            items "}}\nOPTIMIZER: {non_regularized_parameters: " items "}"
    }'
}

config_files() {
    with_config config
    for file in examples/trainer/*.yaml; do
        quietly ./config print $file
        mv said once.yaml
        quietly ./config print once.yaml
        cmp once.yaml said
    done
    at_least 5 "$(ls examples/trainer/*.yaml | wc -l)" files
    longest_config >longest.yaml
    ./config print longest.yaml >once.yaml
    at_least 98496 "$(wc -c <once.yaml)" bytes
    quietly ./config print once.yaml
    cmp once.yaml said
    : >empty.yaml
    ./config print empty.yaml >defaults
    ./config print empty.yaml SEED_VALUE=3 OPTIMIZER.use_larc=True >said
    diff defaults said >changed && return 1
    [ "$(grep '^>' changed)" = '> SEED_VALUE: 3
> OPTIMIZER.use_larc: True' ]
    config_refuses 'none.yaml: cannot read: No such file or directory' \
        none.yaml
    config_refuses 'tests: cannot read: Is a directory' tests
    head -c 131072 /dev/zero | tr '\0' '#' >long.yaml
    ./config print long.yaml >said
    cmp defaults said
    echo >>long.yaml
    config_refuses 'long.yaml:1: longer than 131,072 bytes' long.yaml
    config_refuses \
        'empty.yaml: MODEL.TRUNK.GPT.NUM_HEADS: must divide HIDDEN_DIM' \
        empty.yaml MODEL.TRUNK.GPT.HIDDEN_DIM=130
}

config_random() {
    with_config config
    ./config print examples/trainer/everything.yaml \
        'OPTIMIZER.param_schedulers.lr={name: composite, lengths: [0.25, '`\
        `'0.75], schedulers: [{name: linear, start_value: 0, end_value: 1}, '`\
        `'{name: multistep, values: [2, 1], milestones: [1]}]}' >every_key.yaml
    quietly ./config random 800 every_key.yaml examples/trainer/*.yaml
    sed -n 's/^\(.* of .*\) texts were good$/note: \1 good/p' said
}

config_keys() {
    with_config config
    ./config keys >KEYS.md
    diff examples/trainer/KEYS.md KEYS.md
}

schedule() {
    with_config schedule
    quietly ./schedule
    sed -n 's/.*: \([0-9]* checks\)$/note: \1/p' said
}

config_tests() {
    tool pkg-config "the trainer's configuration" || return 0
    pkg-config --exists yaml-0.1 || {
        skip_dep "the trainer's configuration" yaml-0.1
        return 0
    }
    echo '-fsanitize=address,undefined -fno-sanitize-recover=all' \
        >$lists/sanitizers
    echo 'int main(void) { return 0; }' |
        $CC $(cat $lists/sanitizers) -x c -o $lists/empty - 2>/dev/null || {
        skip "trainer: its configuration, with them" "$CC's sanitizers"
        : >$lists/sanitizers
    }
    add_test 'trainer: a bad configuration is refused in exact words' \
        config_corpus bad 170
    add_test 'trainer: a good configuration is taken, printed and read back' \
        config_corpus good 48
    add_test 'trainer: its *.yaml; files and arguments that are refused' \
        config_files
    add_test 'trainer: KEYS.md is what the table of keys prints' config_keys
    add_test 'trainer: schedules of the learning rate' schedule
    add_test 'trainer: configurations changed at random, with sanitizers' \
        config_random
}

# --- Its runs -----------------------------------------------------------------

# A program of examples/trainer/tests, built once and run.
trainer_test() { # NAME
    trainer_make build/trainer/test/$1
    (cd "$root" && OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        timeout -k 5 250 build/trainer/test/$1) >said 2>&1 || {
        cat said
        return 1
    }
    grep '^note: ' said || :
}

# Whole runs, on processes of their own.
trainer_runs() { # NAME...
    trainer_make build/trainer/trainer
    (cd "$root" && sh examples/trainer/tests/runs.sh build/trainer/trainer \
            examples/trainer/tests/small.yaml "$@")
}

# The same bits as another compiler makes them, with the Makefile's flags.
trainer_compiled() { # COMPILER OPTIMIZATION
    trainer_make build/trainer/trainer
    OMPI_CC=$1 MAKEFLAGS= quietly "$MAKE" -s -C "$root/examples/trainer" \
        "$PWD/trainer/trainer" B="$PWD/trainer" TRAINER_CFLAGS="$2"
    OTHER=$PWD/trainer/trainer trainer_runs compiled
}

# On a disk that is this test's alone: it ends with the process.
trainer_full_disk() {
    trainer_make build/trainer/trainer
    mkdir disk
    unshare -rm sh -ec "mount -t tmpfs -o size=3m none disk
        DISK=$PWD/disk; export DISK
        cd '$root'
        sh examples/trainer/tests/runs.sh build/trainer/trainer \
            examples/trainer/tests/small.yaml full_disk"
}

# The same gradients by torch.
trainer_torch() { # PYTHON
    trainer_make build/trainer/test/model
    "$root"/build/trainer/test/model dump
    quietly "$1" "$root"/examples/trainer/tests/torch_gradients.py dump
    grep '^note: ' said
}

run_tests() {
    missing=$(sh examples/trainer/here.sh) || {
        echo "$missing" | skips
        return
    }
    add_test 'trainer: every gradient, by central differences in double' \
        trainer_test gradients
    if python=$(sh examples/python/tests/python.sh 2>/dev/null); then
        add_test "trainer: every gradient is torch's, within 1e-5" \
            trainer_torch $python
    else
        skip_dep "trainer: its gradients against torch's" \
            'a python3 with torch'
    fi
    add_test 'trainer: splits, halves and O1 of a leaf, bit for bit' \
        trainer_test model
    add_test 'trainer: sums, optimizers, and a sequential training, bit for bit' \
        trainer_test steps
    add_test 'trainer: 1, 2, 3, 4, 5 and 8 processes end in the same bits' \
        trainer_runs processes
    add_test 'trainer: compiled at -O0, it ends in the same bits' \
        trainer_compiled cc -O0
    ! tool clang 'trainer: compiled by clang' ||
        add_test 'trainer: compiled by clang at -O2, it ends in the same bits' \
            trainer_compiled clang '"-O2 -march=native"'
    add_test 'trainer: ZeRO 1 and 2 = plain, for every optimizer' \
        trainer_runs sharded
    add_test 'trainer: ZeRO 1 and 2 = plain under O1' trainer_runs sharded_o1
    add_test 'trainer: splits, buckets and reduction by hand = plain' \
        trainer_runs ways
    add_test 'trainer: splits, buckets and reduction by hand = plain under O1' \
        trainer_runs ways_o1
    add_test 'trainer: a checkpoint goes on in any other shape' \
        trainer_runs elsewhere
    add_test 'trainer: SIGKILL, also in mid-save, each time on other processes' \
        trainer_runs kills
    add_test 'trainer: after a death it goes on from the newest checkpoint' \
        trainer_runs again
    add_test 'trainer: how many sequences an epoch of any mix has served' \
        trainer_runs served
    add_test 'trainer: a run extends another or begins with its weights; KEEP' \
        trainer_runs begins
    add_test 'trainer: SIGTERM to launch.sh saves and ends; what it refuses' \
        trainer_runs stopped unlaunched
    what='trainer: processes on another machine'
    if unshare -rmu mount -t tmpfs none /dev/shm 2>/dev/null; then
        add_test "$what send messages through its memory" trainer_runs machines
    else
        skip "$what" 'leave to act as one'
    fi
    add_test 'trainer: without the stateful sampler an epoch begins again' \
        trainer_runs twice
    add_test 'trainer: errors: one sentence, the right status, all leave' \
        trainer_runs errors
    add_test "trainer: the second of two runs, and another's log, are refused" \
        trainer_runs locked
    [ "$(uname -m)" != x86_64 ] ||
        add_test "trainer: several processors' kernels of OpenBLAS are noticed" \
            trainer_runs kernels
    add_test 'trainer: lines with the time left' trainer_runs lines
    add_test 'trainer: a text or log that is changed during the run is named' \
        trainer_runs changed
    add_test "trainer: launch.sh leaves its caller's input alone" \
        trainer_runs input
    add_test 'trainer: the demo fails where no process was killed' trainer_runs demo
    add_test 'trainer: damaged checkpoints' trainer_runs damaged
    add_test 'trainer: a checkpoint and its log go on far from their run' \
        trainer_runs alone
    add_test 'trainer: a checkpoint that cannot be read is no damaged one' \
        trainer_runs unread
    add_test 'trainer: a run that has lost its log is told how it goes on' \
        trainer_runs lost_log
    add_test 'trainer: a save that a limit on the size of files ends' \
        trainer_runs limited
    what='trainer: a full disk'
    if unshare -rm mount -t tmpfs none /mnt 2>/dev/null; then
        add_test "$what: the run says so, and goes on when there is room" \
            trainer_full_disk
    else
        skip "$what" 'leave to mount a disk'
    fi
    add_test "trainer: another run's checkpoint is refused by name" \
        trainer_runs foreign
    add_test 'trainer: a process reads its own tensors only' \
        trainer_runs parts
    add_test 'trainer: optimizer and gradient bytes of a process' \
        trainer_runs memory
}

# --- All of it ----------------------------------------------------------------

# Fit to be read: no function above 60 lines or a complexity of 15.
trainer_size() {
    pmccabe examples/trainer/*.c >functions
    at_least 50 "$(wc -l <functions)" functions
    awk '$1 > 15 || $5 > 60' functions | nothing
}

list_tests() {
    config_tests
    run_tests
    ! tool pmccabe "the size of the trainer's functions" ||
        add_test 'trainer: functions of complexity 15 and 60 lines at most' \
            trainer_size
}

# trainer.sh - examples/trainer: the trainer in C over MPI.

# A program of tests/trainer, built once and run.
trainer_test() { # NAME
    (cd "$root" && "$MAKE" -s build/trainer/test/$1) || return 1
    quietly "$root"/build/trainer/test/$1
    grep '^note: ' said || :
}

# Whole runs, on processes of their own.
trainer_runs() { # QUESTION...
    (cd "$root" && "$MAKE" -s build/trainer/trainer &&
        sh tests/trainer/runs.sh build/trainer/trainer \
            tests/trainer/small.yaml "$@")
}

questions() {
    sh examples/trainer/here.sh >"$run/here" || {
        cat "$run/here" >>"$run/skipped"
        return
    }
    ask 'trainer: every gradient, by central differences in double' \
        trainer_test gradients
    ask 'trainer: splits, halves and O1 of a leaf, bit for bit' \
        trainer_test model
    ask 'trainer: 1, 2, 3, 4, 5 and 8 processes end in the same bits' \
        trainer_runs processes
    ask 'trainer: ZeRO 1 and 2 = plain, for every optimizer' \
        trainer_runs sharded
    ask 'trainer: ZeRO 1 and 2 = plain under O1' trainer_runs sharded_o1
    ask 'trainer: splits, buckets and reduction by hand = plain' \
        trainer_runs ways
    ask 'trainer: splits, buckets and reduction by hand = plain under O1' \
        trainer_runs ways_o1
    ask 'trainer: a checkpoint goes on in any other shape' \
        trainer_runs elsewhere
    ask 'trainer: 20 times SIGKILL, each time on other processes' \
        trainer_runs kills
    ask 'trainer: damaged and foreign checkpoints' trainer_runs damaged
}

#!/bin/sh
# runs.sh - whole runs of the trainer, each compared with a plain run on one
# process by the digest of weights, optimizer state and log:
#     sh examples/trainer/tests/runs.sh TRAINER SMALL.yaml QUESTION...
# from the root of the repository. A question is a function of same.sh, of
# kept.sh (checkpoints) or of met.sh (what a person meets). LONG=1 asks its long
# form (make trainer-long), KILLS is how many processes it kills.

case ${KILLS:-0} in
*[!0-9]*) echo "KILLS=$KILLS is no number" >&2; exit 2 ;;
esac
trainer=$1 yaml=$PWD/$2
shift 2
export TRAINER="$trainer" RESTARTS=0
unset TRAINER_AGAIN
# Questions do not quote what stands in it: where its name had a space, rm -rf
# would remove another folder.
case ${TMPDIR:-/tmp} in *[!A-Za-z0-9_./-]*) export TMPDIR=/tmp ;; esac
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
# In this folder the trainer's path has no sign that a shell would read.
ln -s "$PWD/$trainer" "$folder/trainer"
runs=0

# Prints what a run prints at its end; DIR stays for a run that goes on.
run() { # PROCESSES DIR KEY=VALUE...
    processes=$1 dir=$2
    shift 2
    # The more kills, the more epochs.
    timeout -k 5 $((120 + 2 * ${KILLS:-0})) sh examples/trainer/launch.sh \
        "$processes" "$yaml" "CHECKPOINT.DIR=$dir" "$@" 2>"$folder/errors"
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
exec $folder/trainer "\$@"
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

# The short forms have one short epoch, and fewer of the values between the
# ends.
short='OPTIMIZER.num_epochs=1 DATA.TRAIN.DATA_LIMIT=32'
long() {
    [ -n "$LONG" ]
}
! long || short=

. examples/trainer/tests/same.sh
. examples/trainer/tests/kept.sh
. examples/trainer/tests/met.sh

for question; do
    $question
done
[ $compared = 0 ] || [ -n "$noted" ] || note "$compared digests compared"

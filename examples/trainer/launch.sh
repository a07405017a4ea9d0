#!/bin/sh
# launch.sh - starts the trainer on some processes, and again on fewer when one
# of them dies, from the last checkpoint:
#     sh examples/trainer/launch.sh PROCESSES [FILE.yaml] [KEY=VALUE ...]
# RESTARTS (3) is how often at most. TRAINER is the program (build/trainer).

processes=$1
restarts=${RESTARTS:-3}
trainer=${TRAINER:-build/trainer/trainer}

case $processes in
'' | 0* | *[!0-9]* | ?????*)
    echo "launch.sh: '$processes' is no number of processes:" \
        'launch.sh PROCESSES [FILE.yaml] [KEY=VALUE ...]' >&2
    exit 2 ;;
esac
case $restarts in
*[!0-9]* | ?????*)
    echo "launch.sh: RESTARTS is a number of at most 4 digits, not $restarts" >&2
    exit 2 ;;
esac
for program in mpirun "$trainer"; do
    found=$(command -v "$program") && [ -f "$found" ] && [ -x "$found" ] || {
        echo "launch.sh: $program is no program here: make deps; make trainer;" \
            'and this from the root of the repository' >&2
        exit 2
    }
done
shift

# One thread in OpenBLAS, or bits would differ; more processes than cores, and
# processes that wait without keeping a core busy.
export OPENBLAS_NUM_THREADS=1
export OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_mpi_yield_when_idle=1
# mpirun watches files of processes that have ended; libevent's epoll warns of
# each, its poll does not.
export EVENT_NOEPOLL=1
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
if [ -t 1 ]; then
    TRAINER_TERMINAL=$(stty size 2>/dev/null </dev/tty | cut -d ' ' -f 2)
    export TRAINER_TERMINAL="${TRAINER_TERMINAL:-80}"
fi
# A signal to this script is one to mpirun, which ends its processes. Slurm
# sends the last four; SIGPIPE says that nobody reads what is said here.
stopped=
trap 'stopped=1; kill -TERM $! 2>/dev/null' \
    TERM INT HUP QUIT PIPE ALRM USR1 USR2 XCPU

# mpirun leaves a folder behind when it is killed, and each of its processes a
# file in memory, through which messages go.
TMPDIR=$(mktemp -d) || exit 1
export TMPDIR
memory=
trap 'rm -rf "$TMPDIR" "$memory"' EXIT
# That file goes into a folder that this script removes, unless the caller has
# chosen one. Other machines have no such folder: their processes, which must
# not be told of it, put theirs where Open MPI does.
[ -n "$OMPI_MCA_btl_vader_backing_directory" ] ||
    memory=$(mktemp -d /dev/shm/trainer.$$.XXXXXX 2>/dev/null)
begin='[ ! -d "$0" ] || export OMPI_MCA_btl_vader_backing_directory="$0"
exec "$@"'

# Another start reads what the first one has read, whatever the file has become.
# A pipe can be read but once, and what this script has open its processes have
# not: they find it on their standard input. Otherwise the caller's is its own.
input=/dev/null copy=$TMPDIR/copy.yaml
for word; do
    shift
    case $word in
    -* | *=*) ;;
    /dev/stdin | /dev/fd/* | /proc/*/fd/*) input=$copy ;;
    *) [ ! -p "$word" ] || input=$copy ;;
    esac
    if [ "$input" = "$copy" ] && [ ! -e "$copy" ]; then
        # More is no configuration, and a device may have no end.
        head -c 9999999 "$word" >"$copy" || exit 2
        word=/dev/stdin
    fi
    set -- "$@" "$word"
done
[ -e "$copy" ] || [ ! -f "$1" ] || cp "$1" "$copy" || exit 2

on=
while :; do
    mpirun -q -np "$processes" sh -c "$begin" "$memory" "$trainer" "$@" $on \
        <"$input" &
    [ -z "$stopped" ] || kill -TERM $! # it came just before
    wait $!
    status=$?
    # A signal ends the wait before mpirun has ended.
    while kill -0 $! 2>/dev/null; do wait $!; done
    # 1 and 2 are the trainer's own errors, and with 126 and 127 it did not
    # even begin: they would come again.
    case $status in 0 | 1 | 2 | 126 | 127) exit $status ;; esac
    [ -z "$stopped" ] && [ "$restarts" -gt 0 ] || exit $status
    restarts=$((restarts - 1))
    [ "$processes" = 1 ] || processes=$((processes - 1))
    export TRAINER_AGAIN=1 # it waits for processes that are about to end
    # Wherever the first start began, what it has done since is not lost.
    on='CHECKPOINT.AUTO_RESUME=True
        CHECKPOINT.LATEST_CHECKPOINT_RESUME_FILE_NUM=1'
    if [ -e "$copy" ]; then
        shift
        set -- "$copy" "$@"
    fi
    echo "launch.sh: a process died (status $status): on with $processes" >&2
    [ -z "$stopped" ] || exit $status # SIGPIPE
done

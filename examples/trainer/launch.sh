#!/bin/sh
# launch.sh - starts the trainer; if a process dies, restarts it from the last
# checkpoint with one process fewer:
#     sh examples/trainer/launch.sh PROCESSES [FILE.yaml] [KEY=VALUE ...]
# RESTARTS is the maximum number of restarts (default 3), TRAINER the program
# (default build/trainer/trainer).

processes=$1
restarts=${RESTARTS:-3}
trainer=${TRAINER:-build/trainer/trainer}

case $processes in
'' | 0* | *[!0-9]* | ?????*)
    echo "launch.sh: '$processes' is not a number of processes up to 9999:" \
        'launch.sh PROCESSES [FILE.yaml] [KEY=VALUE ...]' >&2
    exit 2 ;;
esac
case $restarts in
*[!0-9]* | ?????*)
    echo "launch.sh: RESTARTS must be a number of at most 4 digits, not" \
        "$restarts" >&2
    exit 2 ;;
esac
for program in mpirun "$trainer"; do
    found=$(command -v "$program") && [ -f "$found" ] && [ -x "$found" ] || {
        echo "launch.sh: cannot find the program $program: run make deps and" \
            'make trainer, and start this in the root of the repository' >&2
        exit 2
    }
done
shift

# One thread in OpenBLAS, as more change the bits; allow more processes than
# cores, and let waiting processes yield.
export OPENBLAS_NUM_THREADS=1
export OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_mpi_yield_when_idle=1
# When one process has ended, the others would wait for it for ever: end them
# at once, not after two seconds.
export OMPI_MCA_odls_base_sigkill_timeout=0
# mpirun watches files of processes that have ended; with epoll libevent warns
# of each.
export EVENT_NOEPOLL=1
# Where there is no /sys, as in some containers, each process would say so.
export HWLOC_HIDE_ERRORS=2
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
# A session of its own keeps a signal to this script's group from mpirun, which
# would kill its processes before they have saved.
own=$(command -v setsid)
# A signal stops the run: mpirun passes SIGUSR1 on to its processes, which save
# and end; a second signal ends them at once. Slurm sends the last four; SIGPIPE
# means that nobody reads our output.
stopped=
trap 'kill -${stopped:-USR1} $! 2>/dev/null; stopped=TERM' \
    TERM INT HUP QUIT PIPE ALRM USR1 USR2 XCPU

# When mpirun is killed, it leaves a folder, and each of its processes leaves a
# file in shared memory.
TMPDIR=$(mktemp -d) || exit 1
export TMPDIR
memory=
trap 'rm -rf "$TMPDIR" "$memory"' EXIT
# Put these files into a folder that this script removes, unless the caller has
# chosen one. Other machines do not have this folder, so their processes use
# Open MPI's default.
[ -n "$OMPI_MCA_btl_vader_backing_directory" ] ||
    memory=$(mktemp -d /dev/shm/trainer.$$.XXXXXX 2>/dev/null)
begin='[ ! -d "$0" ] || export OMPI_MCA_btl_vader_backing_directory="$0"
[ ! -d "$1" ] || : >"$1/began"
shift
exec "$@"'

# A restart must read the same configuration as the first start: keep a copy.
copy=$TMPDIR/copy.yaml file=
for word; do
    case $word in -*) ;; *) file=$word; break ;; esac
done
case $file in
/dev/* | /proc/*) pipe=1 ;;
*) pipe= ;;
esac
if [ -n "$pipe" ] || [ -p "$file" ]; then
    echo "launch.sh: $file: the configuration must be a file, as a restart" \
        'reads it again' >&2
    exit 2
fi
[ ! -f "$1" ] || cp "$1" "$copy" || exit 2

on=
while :; do
    $own mpirun -q -np "$processes" sh -c "$begin" "$memory" "$TMPDIR" \
        "$trainer" "$@" $on </dev/null &
    [ -z "$stopped" ] || kill -TERM $! # a signal came just before
    wait $!
    status=$?
    # A signal ends the wait before mpirun has ended.
    while kill -0 $! 2>/dev/null; do wait $!; done
    # Where mpirun has started nothing, let it say why, without -q.
    [ $status = 0 ] || [ -n "$stopped" ] || [ -e "$TMPDIR/began" ] ||
        mpirun -np "$processes" true </dev/null >&2
    # 1 and 2 are the trainer's own errors, with 126 and 127 it did not start: a
    # restart would fail again. 143 is the end after a SIGTERM to a process.
    case $status in 0 | 1 | 2 | 126 | 127 | 143) exit $status ;; esac
    [ -z "$stopped" ] || exit $status
    [ "$restarts" -gt 0 ] || {
        echo "launch.sh: a process died (status $status): start it again, and" \
            'it goes on from the last checkpoint' >&2
        exit $status
    }
    restarts=$((restarts - 1))
    [ "$processes" = 1 ] || processes=$((processes - 1))
    export TRAINER_AGAIN=1 # wait for processes that are still ending
    # Resume, whatever the first start was told.
    on=CHECKPOINT.AUTO_RESUME=True
    if [ -e "$copy" ]; then
        shift
        set -- "$copy" "$@"
    fi
    echo "launch.sh: a process died (status $status):" \
        "restarting with $processes processes" >&2
    [ -z "$stopped" ] || exit $status # SIGPIPE
done

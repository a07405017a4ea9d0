#!/bin/sh
# demo.sh - runs `make trainer-demo`: LARC, O1, ZeRO-2, activation checkpointing
# and manual reduction together, on four processes; one is killed in mid-epoch,
# and three resume. Another run is not interrupted. Both must end with the same
# weights, optimizer state and log, to the last bit. TRAINER is the program
# (default: build/trainer/trainer).

folder=build/trainer/demo
rm -rf $folder
mkdir -p $folder
settings="examples/trainer/everything.yaml
    MODEL.TRUNK.GPT.HIDDEN_DIM=64 MODEL.TRUNK.GPT.MLP_DIM=256
    MODEL.TRUNK.GPT.CONTEXT=64 LOG_FREQUENCY=5
    MODEL.SHARDED_DDP_SETUP.reduce_buffer_size=16384
    DATA.TRAIN.DATA_LIMIT=480 DATA.TEST.DATA_LIMIT=32 STATESAMPLER.STOP=all
    CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=5"

# Kills the second of the four processes, a child of this launcher's mpirun, as
# soon as step 15 is saved. Returns when the run has ended.
kill_one() { # LAUNCHER
    while [ ! -e $folder/killed/step-000000000015 ]; do
        kill -0 "$1" 2>/dev/null || return
        sleep 0.1
    done
    victim=$(pgrep -P "$(pgrep -P "$1" mpirun)" | sed -n 2p)
    echo "demo.sh: SIGKILL to process $victim" >&2
    kill -KILL "$victim"
}

# Prints what a run prints, and returns its status.
follow() { # LAUNCHER FILE
    tail -n +1 -f --pid="$1" "$2"
    wait "$1"
}

# A background process does not get Ctrl-C; launch.sh ends its own on SIGTERM.
launcher=
trap 'kill $launcher 2>/dev/null; wait; exit 130' INT
trap 'kill $launcher 2>/dev/null; wait; exit 143' TERM HUP

echo 'Two processes, uninterrupted:'
RESTARTS=0 sh examples/trainer/launch.sh 2 $settings \
    CHECKPOINT.DIR=$folder/alone >$folder/alone.txt &
launcher=$!
follow $launcher $folder/alone.txt || exit 1

echo 'Four processes; one is killed in mid-epoch, three resume:'
sh examples/trainer/launch.sh 4 $settings \
    CHECKPOINT.DIR=$folder/killed >$folder/killed.txt 2>&1 &
launcher=$!
kill_one $launcher &
follow $launcher $folder/killed.txt || exit 1
grep -q 'restarting with 3 processes$' $folder/killed.txt || {
    echo 'FAILED: no process was killed'
    exit 1
}

# Prints a row per process of a run: its name, then kilobytes of each kind.
memory_of() { # RUN
    awk -v run="$1" '/^kilobytes/ { $1 = "process"; print; next }
        $1 == "process" { $1 = ""; $2 = run "-" $2; print }' $folder/$1.txt
}

if command -v gnuplot >/dev/null; then
    sed -n 's/^step \([0-9]*\) .* loss \([0-9.]*\) .*/\1 \2/p' \
        $folder/killed/log.txt >$folder/loss.txt
    gnuplot -e "set terminal svg size 640,360 background 'white';
        set output '$folder/loss.svg';
        set xlabel 'step'; set ylabel 'loss, nats per byte'; set grid;
        set arrow from 15, graph 0 to 15, graph 1 nohead dashtype 2;
        set label 'killed soon after' at 15, graph 0.9 offset 1, 0;
        plot '$folder/loss.txt' with lines linewidth 2 title 'training loss'"
    { memory_of alone; memory_of killed | tail -n +2; } >$folder/memory.txt
    gnuplot -e "set terminal svg size 640,360 background 'white';
        set output '$folder/memory.svg'; set key autotitle columnhead;
        set key outside right; set ylabel 'kilobytes'; set grid y;
        set yrange [0:*]; set style data histograms;
        set style histogram rowstacked; set boxwidth 0.7;
        set style fill solid 0.8 border -1; set xtics nomirror;
        set xlabel 'alone: two processes; killed: the three that resumed';
        plot for [kind = 2:6] '$folder/memory.txt' using kind:xtic(1)"
    echo "Plots: $folder/loss.svg and $folder/memory.svg."
else
    echo 'skip the plots: gnuplot is not installed'
fi

want=$(sed -n 's/^digest //p' $folder/alone.txt)
got=$(sed -n 's/^digest //p' $folder/killed.txt)
if [ -n "$want" ] && [ "$want" = "$got" ]; then
    echo "ok: same weights, optimizer state and log, to the last bit: $got"
else
    echo "FAILED: the digests are '$want' and '$got'"
    exit 1
fi

# plots.gp - draws plots.csv of the folder `out`. See run.sh.

set terminal svg size 640,480 font "sans-serif,14" background "white"
set grid lt 1 lw 0.5 lc rgb "#cccccc"
set border 3
set tics nomirror
set format "10^{%T}"
set key outside bottom center horizontal Left reverse samplen 2
set logscale xy

points(plot, series) = sprintf("< awk -F , '$1 == \"%s\" && $2 == \"%s\" \
    { print $3, $4 }' %s/plots.csv", plot, series, out)

set style line 1 lw 3 lc rgb "#0060c0"
set style line 2 lw 2 lc rgb "#60a8f0"
set style line 3 lw 2 lc rgb "#888888" dt 2
set style line 4 lw 2 lc rgb "#e07000"
set style line 5 lw 2 lc rgb "#20a040"
set style line 6 lw 2 lc rgb "#c02020"
set style line 7 lc rgb "#8040a0" pt 7 ps 1

set output out."/n.svg"
set xlabel "n, samples"
set ylabel "ns per index"
set xrange [10:2**62]
plot points("n", "statesampler") with lines ls 1 title "perm\\_fill", \
    points("n", "perm_at") with lines ls 2 title "perm\\_at", \
    points("n", "splitmix") with lines ls 3 title "a random number", \
    points("n", "Fisher-Yates") with lines ls 4 title "Fisher-Yates table", \
    points("n", "torch.randperm") with lines ls 5 title "torch.randperm", \
    points("n", "DistributedSampler") with lines ls 6 \
        title "DistributedSampler", \
    points("n", "shuf -i") with points ls 7 title "shuf -i"

set output out."/batch.svg"
set xlabel "batch size, samples"
set xrange [1:16384]
set format x "%.0f"
plot points("batch", "statesampler") with lines ls 1 title "next", \
    points("batch", "splitmix") with lines ls 3 title "a random number", \
    points("batch", "Fisher-Yates") with lines ls 4 \
        title "Fisher-Yates table, built", \
    points("batch", "DistributedSampler") with lines ls 6 \
        title "DistributedSampler, built"
set format x "10^{%T}"

set output out."/bytes.svg"
set xlabel "n, samples"
set ylabel "bytes per rank"
set xrange [10:2**62]
plot points("bytes", "statesampler") with lines ls 1 title "statesampler", \
    points("bytes", "Fisher-Yates") with lines ls 4 \
        title "Fisher-Yates table", \
    points("bytes", "DistributedSampler") with lines ls 6 \
        title "DistributedSampler"

# The samplers are measured, the data is not: a loop that skips by loading each
# batch reads a rank's share, an eighth of the position, in the time drawn here.
reading(position) = position / 8 / 1000

set output out."/resume.svg"
set xlabel "position in an epoch of 10^7, samples"
set ylabel "seconds to the first batch of 256"
set xrange [1e3:1e7]
plot points("resume", "statesampler") with lines ls 1 title "statesampler", \
    points("resume", "Fisher-Yates") with lines ls 4 \
        title "Fisher-Yates table", \
    points("resume", "DistributedSampler") with lines ls 6 \
        title "DistributedSampler", \
    reading(x) with lines ls 3 title "to load what is skipped, 1,000/s"

# ledger.gp - draws what build/ledger prints: make examples/ledger.svg

set terminal svg size 640,400 font "sans-serif,14" background "white"
set grid lt 1 lw 0.5 lc rgb "#cccccc"
set border 3
set tics nomirror
set key bottom right reverse Left
set logscale x 2
set xtics (1000, 2000, 4000, 8000, 16000, 32000)
set xlabel "ticks from kill to kill; samples take 1 to 1,000"
set ylabel "bias of the mean duration, %"
set xrange [900:36000]
set yrange [-50:5]

way(name) = sprintf("< awk '$2 == \"%s\" { print $1, $(NF - 1) }' %s", name, \
    table)
plot way("ledger") with linespoints lw 3 pt 7 ps 0.5 lc rgb "#0060c0" \
        title "ledger", \
    way("low-water") with linespoints lw 2 pt 7 ps 0.5 lc rgb "#20a040" \
        title "low-water mark: repeats", \
    way("skip") with linespoints lw 2 pt 7 ps 0.5 lc rgb "#e07000" \
        title "skip: loses"

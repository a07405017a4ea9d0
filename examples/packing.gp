# packing.gp - draws what build/packing prints: make examples/packing.svg

set terminal svg size 640,400 font "sans-serif,14" background "white"
set grid lt 1 lw 0.5 lc rgb "#cccccc"
set border 3
set tics nomirror
set key bottom left reverse Left samplen 2
set logscale xy
set xtics ("100" 100, "1,000" 1000, "10,000" 10000, "100,000" 100000)
set ytics ("0.001" 0.001, "0.01" 0.01, "0.1" 0.1, "1" 1, "10" 10, "100" 100)
set xlabel "samples in a plan; all 100,000: best fit"
set ylabel "padding, %; exponential lengths, mean 512"
set xrange [80:130000]
set yrange [0.0005:100]

# A line of the table as points; and its padding in order, beside them.
line(budget) = sprintf("< awk '$1 == \"exponential\" && $2 == %d \
    { for (i = 0; i < 4; i++) print 100 * 10 ^ i, $(3 + 2 * i) }' %s", \
    budget, table)
in_order(budget) = real(system(sprintf("awk '$1 == \"exponential\" && \
    $2 == %d { print $11 }' %s", budget, table)))
plot for [budget in "2048 4096 8192 16384 32768"] line(int(budget)) \
        with linespoints lw 2 pt 7 ps 0.5 title "budget ".budget, \
    in_order(4096) with lines lw 2 dt 2 lc rgb "#888888" \
        title "in order, budget 4096"

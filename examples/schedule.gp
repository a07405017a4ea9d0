# schedule.gp - draws what build/schedule prints: make examples/schedule.svg

set terminal svg size 640,400 font "sans-serif,14" background "white"
set grid lt 1 lw 0.5 lc rgb "#cccccc"
set border 3
set tics nomirror
set key top right reverse Left
set logscale xy
set xlabel "turns of a stage, after which shares change by 1 %"
set ylabel "turns from the share, the worst of 300 sources"
set xrange [0.8:1300000]
set yrange [0.3:30000]
plot table using 1:3 with linespoints lw 2 pt 7 ps 0.5 lc rgb "#e07000" \
        title "mix\\_weigh alone", \
    table using 1:4 with linespoints lw 2 pt 7 ps 0.5 lc rgb "#20a040" \
        title "random draws", \
    table using 1:2 with linespoints lw 3 pt 7 ps 0.5 lc rgb "#0060c0" \
        title "schedule.h"

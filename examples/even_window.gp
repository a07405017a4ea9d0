# even_window.gp - draws what build/even_window prints:
# make examples/even_window.svg

set terminal svg size 640,320 font "sans-serif,14" background "white"
set grid lt 1 lw 0.5 lc rgb "#cccccc"
set border 3
set tics nomirror
set key bottom left reverse Left
set xlabel "step of an epoch"
set ylabel "chunks that its samples are from"
set xrange [0:1010]
set yrange [0:70]
plot table using 1:2 with lines lw 2 lc rgb "#e07000" title "window = 64", \
    table using 1:3 with lines lw 2 lc rgb "#0060c0" title "window = 61"

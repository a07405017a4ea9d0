# windows.gp - draws what build/windows prints: make examples/windows.svg

set terminal svg size 960,360 font "sans-serif,14" background "white"
set grid lt 1 lw 0.5 lc rgb "#cccccc"
set border 3
set tics nomirror
set logscale x 2
set xrange [1:260]
set xtics (1, 4, 16, 64, 256)
set xlabel "chunks in memory, of 1,024"

# The rows of a way. One that has no size is drawn from side to side.
rows(way) = sprintf("< sed -n 's/^%s  *\\([0-9]\\)/\\1/p' %s", way, table)
level(way) = sprintf("< sed -n 'h; s/^%s  *0/1/p; g; s/^%s  *0/256/p' %s", \
    way, way, table)

set style data linespoints
set style line 1 lw 3 lc rgb "#0060c0" pt 7 ps 0.5
set style line 2 lw 2 lc rgb "#20a040" pt 7 ps 0.5
set style line 3 lw 2 lc rgb "#e07000" pt 7 ps 0.5
set style line 4 lw 2 lc rgb "#888888" pt 0 dt 2
set style line 5 lw 2 lc rgb "#c02020" pt 0 dt 2

# Columns of the table: the size, bits, a word, an error, %, an error, %.
titles = "- 'entropy of a batch, bits' - 'error after one epoch, %' - \
    'error after five epochs, %'"
set multiplot layout 1,3 margins 0.05,0.98,0.2,0.88 spacing 0.05,0
do for [k = 2:6:2] {
    set title word(titles, k)
    if (k == 2) { set yrange [0:2.6]; set key off }
    if (k == 4) {
        set logscale y
        set yrange [10:80]
        set ytics (10, 15, 20, 30, 50, 80)
        set key at graph 0, 0.78 left top Left reverse samplen 2
    }
    if (k == 6) { set yrange [10:30]; set ytics (10, 12, 15, 20, 30); unset key }
    plot level("as it lies") using 1:k ls 4 title "as it lies", \
        rows("buffer") using 1:k ls 3 title "buffer", \
        rows("buffer of chunks") using 1:k ls 2 \
            title "buffer of shuffled chunks", \
        rows("WINDOW") using 1:k ls 1 title "WINDOW", \
        level("whole shuffle") using 1:k ls 5 title "whole shuffle"
}

#!/bin/sh
# complexity.sh - what `make complexity` prints: the cyclomatic complexity (a
# switch counts once) and the lines of each function of statesampler.h that is
# long or winding, the worst first. It fails if a function is above 15 or
# longer than 60 lines, or if more than 5 are above 10.

command -v pmccabe >/dev/null || {
    echo 'skip complexity: pmccabe is not here'
    exit 0
}
# pmccabe's lines: complexity, the same with each case counted, statements,
# first line, lines, file(line of the name): name. Where a preprocessor line
# misleads it about the first line, that of the name is right.
pmccabe statesampler.h | sort -nr | awk '
    {
        split($6, place, /[()]/)
        lines = $4 + $5 - place[2]
        functions++
        above10 += $1 > 10
        above15 += $1 > 15
        # That is no function: pmccabe takes what follows for its body.
        long += lines > 60 && $7 != "__declspec"
        if ($1 > 7 || lines > 50)
            printf "%3d %4d lines  %s:%d: %s\n", $1, lines, place[1], \
                place[2], $7
    }
    END {
        printf "%d functions: %d above 10 (5), %d above 15 (0), " \
            "%d longer than 60 lines (0)\n", functions, above10, above15, long
        exit above10 > 5 || above15 > 0 || long > 0
    }'

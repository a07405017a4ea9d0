#!/bin/sh
# complexity.sh - what `make complexity` prints: the functions of statesampler.h
# that are long or complex, the deepest chain of calls under statesampler_next,
# and how much of everything there is. It fails where a limit is exceeded, and
# marks the line. What has no limit is printed for whoever reads it: text that
# is pressed into a number of lines or names is harder to read, not easier.
#
#     sh tests/complexity.sh       lists the functions, then the numbers
#     sh tests/complexity.sh rows  prints the numbers alone

# A limit, and what is limited.
limits() {
    cat <<'END_OF_LIMITS'
0 functions above complexity 15
0 functions over 60 lines
0 lines over 80 columns
END_OF_LIMITS
}

header=statesampler.h

# pmccabe prints complexity, complexity with each case counted, statements,
# first line, lines, file(line of the name) and name. A switch counts once.
# Where a preprocessor line misleads it about the first line, that of the name
# is right. What it calls __declspec is no function.
functions() { # rows|all
    command -v pmccabe >/dev/null || {
        echo 'skip complexity: pmccabe is not here'
        return
    }
    pmccabe $header | sort -nr | awk -v what=$1 '
        {
            split($6, place, /[()]/)
            lines = $4 + $5 - place[2]
            above10 += $1 > 10
            above15 += $1 > 15
            long += lines > 60 && $7 != "__declspec"
            if (what != "rows" && ($1 > 7 || lines > 50))
                printf "%3d %4d lines  %s:%d: %s\n", $1, lines, place[1], \
                    place[2], $7
        }
        END {
            print "= functions above complexity 10 =", above10 + 0
            print "= functions above complexity 15 =", above15 + 0
            print "= functions over 60 lines =", long + 0
        }'
}

# The header without comments and strings.
code() {
    awk 'BEGIN { RS = "\\*/" } { sub(/\/\*.*/, ""); printf "%s", $0 }' \
        $header | sed 's/"[^"]*"/""/g'
}

# Each definition counts, also where the preprocessor chooses one of several.
parameters() {
    code | awk '
        /^[{]/ {
            sub(/^.*[A-Z]\([^()]*\) /, "", head) # a macro for the result
            many += gsub(/,/, "", head) > 4
        }
        /^[#}]|^$|;$/ { head = ""; next }
        { head = head " " $0 }
        END { print "= functions with more than 5 parameters =", many + 0 }'
}

# By gcc, with vectors, as if nothing were inlined, not even what must be.
# statesampler_next itself counts.
chain() {
    command -v gcc >/dev/null || {
        echo 'skip the deepest chain of calls: gcc is not here'
        return
    }
    folder=$(mktemp -d) || exit 1
    echo '#include "statesampler.h"' | gcc -std=c99 -O1 -fno-inline \
        '-DSSMP_ALWAYS_INLINE=static inline' -DSTATESAMPLER_IMPLEMENTATION -I. \
        -fcallgraph-info -c -o "$folder/all.o" -x c - || exit 1
    awk -F '"' -v what=$1 '
        function deepest(f,    i, n, calls, here, most) {
            if (f in depth) return depth[f]
            n = split(called[f], calls, SUBSEP)
            for (i = 1; i < n; i++) {
                here = deepest(calls[i])
                if (here > most) { most = here; next_of[f] = calls[i] }
            }
            return depth[f] = most + 1
        }
        /^edge/ { called[$2] = called[$2] $4 SUBSEP }
        END {
            count = deepest("statesampler_next")
            text = " "
            for (f = "statesampler_next"; f != ""; f = next_of[f]) {
                name = f
                sub(/^.*:/, "", name)
                if (length(text name) > 79) {
                    lines = lines text "\n"
                    text = " "
                }
                text = text " " name
            }
            if (what != "rows") print lines text
            print "= functions in the deepest chain of calls from" \
                " statesampler_next =", count
        }' "$folder/all.ci"
    rm -rf "$folder"
}

# The manual is the opening comment, bulk the sections that say so. Public names
# are all words of the code that begin with statesampler, but for include
# guards, the macros by which functions are declared, and the rules of errors,
# which have a row of their own: functions, types, constants, and macros that
# are set by or for the user.
lines_and_names() {
    awk '{ lines++ }
        length > 80 { long++ }
        /\*\// && !manual { manual = NR }
        /^\/\* --- / { bulk = /bulk/ }
        bulk { in_bulk++ }
        /^    X\(E[A-Z]*_/ { rules++ }
        END {
            print "= lines of the header =", lines
            print "= lines over 80 columns =", long + 0
            print "= lines of the manual =", manual
            print "= lines of bulk =", in_bulk + 0
            print "= error rules =", rules + 0
        }' $header
    code | tr -cs 'A-Za-z0-9_' '\n' | grep -iE '^statesampler(_.|$)' |
        grep -vE '_(INCLUDED|H|DEF|DEF_HOSTED)$' | sort -u | awk '
        /^STATESAMPLER_E[A-Z]*_/ { next }
        { names++ }
        /^STATESAMPLER_E[A-Z]*$/ { kinds++ }
        END {
            print "= public names =", names + 0
            print "= error kinds =", kinds + 0
        }'
}

{ limits; functions $1; chain $1; parameters; lines_and_names; } | awk '
    /^[0-9]+ [a-z]/ {
        name = $0
        sub(/^[0-9]+ /, "", name)
        limit[name] = $1
        next
    }
    /^= / {
        name = $0
        sub(/^= /, "", name)
        sub(/ = [0-9]+$/, "", name)
        row[++rows] = name ": " $NF
        if (!(name in limit)) next
        row[rows] = row[rows] " (" limit[name] ")"
        if ($NF > limit[name]) {
            row[rows] = row[rows] " MISSED"
            missed = 1
        }
        delete limit[name]
        next
    }
    { print }
    /^skip / { skipped = 1 }
    END {
        for (i = 1; i <= rows; i++) print row[i]
        for (name in limit)
            if (!skipped) { print name ": not measured MISSED"; missed = 1 }
        exit missed
    }'

# judge.sh - statesampler.h against 0.4.0, whose text the history has.

# A quarter of the million random programs of make judge.
agree() { # FIRST
    made build/judge
    "$root/build/judge" 250000 "$1" >said || {
        tail -n 60 said
        return 1
    }
    sed -n 's/^judge:/note:/p' said | grep .
}

wrong_numbers() {
    made build/judge
    for wrong in abc 0 '10 -5' '10 0' 1e6 18446744073709551617; do
        ! "$root/build/judge" $wrong >said
        grep -qx 'judge: PROGRAMS and FIRST are whole numbers above 0, .*' said
    done
}

questions() {
    if $MAKE -s build/oldsampler.h 2>/dev/null; then
        for first in 1 250001 500001 750001; do
            ask "statesampler.h and 0.4.0 agree: 250,000 programs from $first on" \
                agree $first
        done
        ask 'the judge refuses what is not a number' wrong_numbers
    else
        skip 'statesampler.h against 0.4.0' 'the history that has its text'
    fi
}

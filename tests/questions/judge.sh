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

questions() {
    if $MAKE -s build/oldsampler.h 2>/dev/null; then
        for first in 1 250001 500001 750001; do
            ask "statesampler.h and 0.4.0 agree: 250,000 programs from $first on" \
                agree $first
        done
    else
        skip 'statesampler.h against 0.4.0' 'the history that has its text'
    fi
}

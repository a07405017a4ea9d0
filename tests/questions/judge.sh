# judge.sh - statesampler.h against 0.4.0, whose text the history has.

# A number of random programs: make judge runs more.
agree() { # PROGRAMS
    made build/judge
    "$root/build/judge" "$1" >said || {
        tail -n 60 said
        return 1
    }
    sed -n 's/^judge:/note:/p' said | grep .
}

questions() {
    if $MAKE -s build/oldsampler.h 2>/dev/null; then
        ask 'statesampler.h and 0.4.0 agree in 100,000 random programs' \
            agree 100000
    else
        skip 'statesampler.h against 0.4.0' 'the history that has its text'
    fi
}

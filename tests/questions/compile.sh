# compile.sh - how long the header takes to compile.

# In milliseconds more than an empty file, and in hundredths of the time of
# version 0.4.0.
declarations_limit=10
implementation_limit=67
version_0_4_0=144b8db

# Prints the processor time in milliseconds of so many compilations in a row:
# the least of some tries, as others use the machine, too.
milliseconds() { # TRIES COUNT COMMAND...
    tries=$1 count=$2
    shift 2
    for try in $(seq $tries); do
        sh -c 'count=$1
            shift
            for turn in $(seq $count); do "$@" || exit; done
            times' sh $count "$@" >spent || return
        awk -F '[ms ]+' 'END { print 1000 * (60 * ($1 + $3) + $2 + $4) }' spent
    done | sort -n | head -n 1
}

declarations() {
    echo '#include "statesampler.h"' >with.c
    : >without.c
    for name in with without; do
        milliseconds 5 10 gcc -O2 -I. -c -o $name.o $name.c >$name
    done
    spent=$((($(cat with) - $(cat without)) / 10))
    echo "note: $spent of $declarations_limit ms"
    [ $spent -le $declarations_limit ] || {
        echo "$spent ms more than an empty file"
        return 1
    }
}

# In turns, as others use the machine, and no more of them than it needs.
implementation() {
    mkdir before
    (cd "$root" && git show $version_0_4_0:statesampler.h) \
        >before/statesampler.h
    old=999999 new=999999 turn=0
    until [ $turn -ge 2 ] &&
        [ $((100 * new / old)) -le $implementation_limit ]; do
        turn=$((turn + 1))
        [ $turn -le 6 ] || {
            echo "$new ms, $((100 * new / old)) % of 0.4.0's $old ms"
            return 1
        }
        time=$(compile_all before)
        [ $time -ge $old ] || old=$time
        time=$(compile_all .)
        [ $time -ge $new ] || new=$time
    done
    echo "note: $new ms, $((100 * new / old)) % of 0.4.0's $old ms"
}

compile_all() { # FOLDER
    milliseconds 1 1 gcc -O2 -x c -DSTATESAMPLER_IMPLEMENTATION -c -o all.o \
        $1/statesampler.h
}

questions() {
    tool gcc 'the time to compile' || return 0
    ask 'the declarations compile in 10 ms more than an empty file' declarations
    if git cat-file -e $version_0_4_0:statesampler.h 2>/dev/null; then
        ask 'the implementation compiles in two thirds of the time of 0.4.0' \
            implementation
    else
        skip 'the time to compile the implementation' 'version 0.4.0 (by git)'
    fi
}

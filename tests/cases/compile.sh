# compile.sh - how long the header takes to compile.

# In milliseconds more than an empty file.
declarations_limit=10

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

list_tests() {
    tool gcc 'the time to compile' || return 0
    add_test 'the declarations compile in 10 ms more than an empty file' declarations
}

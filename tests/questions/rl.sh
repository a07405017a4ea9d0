# rl.sh - what asynchronous and RL training needs: examples/ledger.h, by which
# each ticket is done exactly once whoever is killed, and examples/groups.h.

# A program of tests/, by a command, with the header's functions.
built() { # NAME COMMAND...
    name=$1
    shift
    quietly "$@" $STRICT -I. -DSTATESAMPLER_IMPLEMENTATION "tests/$name.c" \
        -o $name
}

# Both programs, run by something.
both() { # full|reduced RUNNER COMMAND...
    amount=$1 runner=$2
    shift 2
    for name in ledger groups; do
        built $name "$@"
        quietly $runner ./$name $amount
        sed 's/^/note: /' said
    done
}

kills() {
    built ledger_kills ${CC:-cc} -std=c99 -O1
    quietly timeout -k 5 120 ./ledger_kills checkpoint 25 1
    sed -n '1s/^/note: /p' said
}

questions() {
    ask 'the ledger, groups: what a list of tickets and nested loops do' \
        both full env ${CC:-cc} -std=c99 -Wmissing-prototypes -O1
    for compiler in gcc clang; do
        tool $compiler "the ledger, groups: $compiler" || continue
        ask "the ledger, groups: $compiler, without undefined behaviour" \
            both reduced env $compiler -std=c99 -Wmissing-prototypes -O1 -g1 \
            -fsanitize=address,undefined -fno-sanitize-recover=all
    done
    for compiler in g++ clang++; do
        tool $compiler "the ledger, groups: $compiler" || continue
        ask "the ledger, groups: $compiler" \
            both reduced env $compiler -std=c++98 -x c++
    done
    if tool s390x-linux-gnu-gcc 'the ledger, groups: s390x' &&
        tool qemu-s390x 'the ledger, groups: s390x'; then
        ask 'the ledger, groups: s390x, where the first byte is the highest' \
            both reduced qemu-s390x s390x-linux-gnu-gcc -std=c99 -O1 -static
    fi
    ask 'the ledger: 25 kills of processes, each sample once an epoch' kills
}

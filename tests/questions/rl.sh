# rl.sh - what asynchronous, RL, packed and contrastive training needs: ledger.h
# of examples, by which each ticket is done exactly once whoever is killed;
# groups.h; pack.h with fit.h; spread.h, by which no batch has two of a group.

# A program of tests/, by a command, with the header's functions.
built() { # NAME COMMAND...
    name=$1
    shift
    quietly "$@" $STRICT -I. -DSTATESAMPLER_IMPLEMENTATION "tests/$name.c" \
        -o $name
}

# All programs, run by something.
each() { # full|reduced RUNNER COMMAND...
    amount=$1 runner=$2
    shift 2
    for name in ledger groups pack spread; do
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
    ask 'ledger, groups, packs, spread: as the definitions say' \
        each full env ${CC:-cc} -std=c99 -Wmissing-prototypes -O1
    for compiler in gcc clang; do
        tool $compiler "ledger, groups, packs, spread: $compiler" || continue
        ask "ledger, groups, packs, spread: $compiler, no undefined behaviour" \
            each reduced env $compiler -std=c99 -Wmissing-prototypes -O1 -g1 \
            -fsanitize=address,undefined -fno-sanitize-recover=all
    done
    for compiler in g++ clang++; do
        tool $compiler "ledger, groups, packs, spread: $compiler" || continue
        ask "ledger, groups, packs, spread: $compiler" \
            each reduced env $compiler -std=c++98 -x c++
    done
    if tool s390x-linux-gnu-gcc 'ledger, groups, packs, spread: s390x' &&
        tool qemu-s390x 'ledger, groups, packs, spread: s390x'; then
        ask 'ledger, groups, packs, spread: s390x, the highest byte first' \
            each reduced qemu-s390x s390x-linux-gnu-gcc -std=c99 -O1 -static
    fi
    ask 'the ledger: 25 kills of processes, each sample once an epoch' kills
}

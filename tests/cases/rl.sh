# rl.sh - what asynchronous, RL, packed and contrastive training needs: ledger.h
# of examples, by which each ticket is done exactly once whoever is killed;
# groups.h; pack.h with fit.h; spread.h, by which no batch has two of a group.

# All programs in one way.
each() { # WAY full|reduced [RUNNER]
    for name in ledger groups pack spread; do
        try $1 $name $2 $3
    done
}

kills() {
    made build/test/cc/ledger_kills
    quietly timeout -k 5 120 "$root/build/test/cc/ledger_kills" checkpoint 25 1
    sed -n '1s/^/note: /p' said
}

list_tests() {
    add_test 'ledger, groups, packs, spread: as the definitions say' each cc full
    for compiler in gcc clang; do
        tool $compiler "ledger, groups, packs, spread: $compiler" || continue
        add_test "ledger, groups, packs, spread: $compiler, no undefined behaviour" \
            each $compiler-sanitize reduced
    done
    for compiler in g++ clang++; do
        tool $compiler "ledger, groups, packs, spread: $compiler" || continue
        case $compiler in g++) way=c++98 ;; *) way=clang++98 ;; esac
        add_test "ledger, groups, packs, spread: $compiler" each $way reduced
    done
    if tool s390x-linux-gnu-gcc 'ledger, groups, packs, spread: s390x' &&
        tool qemu-s390x 'ledger, groups, packs, spread: s390x'; then
        add_test 'ledger, groups, packs, spread: s390x, the highest byte first' \
            each s390x reduced qemu-s390x
    fi
    add_test 'the ledger: 25 kills of processes, each sample once an epoch' kills
}

# proofs.sh - what `make prove` proves is of this header: the names, places and
# numbers that the proofs speak of stand in it. This needs no prover.

# The prototypes under the contracts are those of the header.
contracts_compile() {
    for file in tests/prove/*.c; do
        quietly ${CC:-cc} -std=c99 -w -fsyntax-only -I. $file
    done
}

list_tests() {
    add_test 'the proofs: their contracts are of functions of the header' \
        contracts_compile
    ! tool python3 'the proofs: what they speak of' ||
        add_test 'the proofs: what they speak of stands in the header' \
            quietly python3 tests/prove/header.py check
}

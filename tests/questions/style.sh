# style.sh - the header stays one that a person can read, and the lists of
# faults follow it.

# The rows of tests/complexity.sh, each an answer.
limits_hold() {
    sh tests/complexity.sh rows >said || :
    grep -q . said
    sed -e '/^skip /b' -e 's/^\(.*\) MISSED$/FAIL the header: \1/' -e t \
        -e 's/^/ok   the header: /' said
}

# Codes may get rules of their own; kinds stay.
kinds_compared() {
    grep -rnE '[a-z] [!=]= STATESAMPLER_E[A-Z]' examples --include='*.[ch]' \
        --include='*.cpp' --include='*.md' --include='*.cu' | nothing
}

questions() {
    ask 'the header: complexity, calls, lines and names' limits_hold
    ask 'the examples compare KIND(code), not a code, with a kind' \
        kinds_compared
    ! tool python3 'the lists of faults' ||
        ask 'the lists of faults: what they quote is in the header' \
            quietly python3 tests/mutants.py lists
}

# style.sh - the header stays one that a person can read, and the lists of
# faults follow it.

# The rows of tests/complexity.sh that have a limit, each an answer.
limits_hold() {
    sh tests/complexity.sh rows >said || :
    grep -q . said
    sed -n -e '/^skip /p' -e 's/^\(.*\) MISSED$/FAIL the header: \1/p' -e t \
        -e 's/^.* ([0-9]*)$/ok   the header: &/p' said
}

# Codes may get rules of their own; kinds stay.
kinds_compared() {
    grep -rnE '[a-z] [!=]= STATESAMPLER_E[A-Z]' examples --include='*.[ch]' \
        --include='*.cpp' --include='*.md' --include='*.cu' | nothing
}

questions() {
    ask 'the header: limits of functions and columns' limits_hold
    ask 'the examples compare KIND(code), not a code, with a kind' \
        kinds_compared
    ! tool python3 'the lists of faults' ||
        ask 'the lists of faults: what they quote is in the header' \
            quietly python3 tests/mutants.py lists
}

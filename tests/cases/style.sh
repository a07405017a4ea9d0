# style.sh - the header stays one that a person can read.

# The rows of tests/complexity.sh that have a limit.
limits_hold() {
    quietly sh tests/complexity.sh rows
    grep '^skip ' said || sed -n '/ ([0-9]*)$/p' said
}

# Codes may get rules of their own; kinds stay.
kinds_compared() {
    grep -rnE '[a-z] [!=]= STATESAMPLER_E[A-Z]' examples --include='*.[ch]' \
        --include='*.cpp' --include='*.md' --include='*.cu' | nothing
}

list_tests() {
    add_test 'the header: limits of functions and columns' limits_hold
    add_test 'the examples compare KIND(code), not a code, with a kind' \
        kinds_compared
}

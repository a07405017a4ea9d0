# style.sh - the header, and what builds it, stay such that a person can read
# them.

# The rows of tests/complexity.sh that have a limit.
limits_hold() {
    quietly sh tests/complexity.sh rows
    grep '^skip ' said || sed -n '/ ([0-9]*)$/p' said
}

# A code that has a kind alone may get rules of its own.
kinds_compared() {
    grep -rnE '[a-z] [!=]= STATESAMPLER_E[A-Z]+($|[^A-Z_])' examples --include='*.[ch]' \
        --include='*.cpp' --include='*.md' --include='*.cu' | nothing
}

# The header's list of where a new tail rule, order or stop rule goes.
places() {
    sed -n '/ Where a new thing goes/,/\*\//p' "$root/statesampler.h"
}

# The names of the functions that have a line like $1 in the implementation.
functions_with() {
    awk -v line="$1" '
        /define STATESAMPLER_IMPLEMENTATION_INCLUDED/ { inside = 1 }
        /^[A-Za-z]/ && match($0, /(ssmp|statesampler)_[a-z0-9_]+\(/) {
            name = substr($0, RSTART, RLENGTH - 1)
        }
        inside && /^ / && $0 ~ line { print name }' "$root/statesampler.h" |
        sort -u
}

# It names each function that tells one rule from another, no function that is
# not there, and only files that know such rules.
places_hold() {
    for kind in TAIL ORDER STOP; do
        functions_with "STATESAMPLER_${kind}_[A-Z]" >here
        at_least 4 "$(wc -l <here)" "functions with $kind"
        places | awk -v kind="STATESAMPLER_$kind" '
            /^   [a-z]/ { of_it = index($0, kind) > 0 } of_it' |
            grep -oE '(ssmp|statesampler)_[a-z0-9_]+' | sort -u >of_kind
        comm -23 here of_kind | nothing
        cat of_kind >>listed
    done
    while read -r name; do
        grep -qE "[ *]$name(\(| \{\$)" "$root/statesampler.h" || echo "$name?"
    done <listed | nothing
    for file in $(places | grep -oE '[a-z_/]+/[a-z_]+(\.[a-z]+)+'); do
        grep -qiE 'carry|replacement|restart' "$root/$file" || echo "$file?"
    done | nothing
}

# Tests end at the names of rules.h, and not at the last rule. A contract, or an
# array, which has the number of a tail or an order, is of a file in the list.
rules_in_tests() {
    last=$(sed -n 's/.*(\(STATESAMPLER_[A-Z_]*\) + 1)$/\1/p' \
        "$root/tests/rules.h" | paste -sd '|' -)
    (cd "$root" && grep -rnE "(<=|>) ($last)|($last) \+ 1" tests \
        --include='*.[ch]' | grep -v '^tests/rules.h') | nothing
    (cd "$root" && grep -lE '(tail|order) (<=|==) [0-9]|\[(tail|order)\]' \
        tests/*.[ch] tests/prove/*.h) >numbered
    at_least 3 "$(wc -l <numbered)" 'files with the number of a rule'
    while read -r file; do
        places | grep -qF "$file" || echo "$file?"
    done <numbered | nothing
}

# The heads are read as help, and the recipes by whoever looks for a command.
makefiles_narrow() {
    (cd "$root" && awk 'length > 80 { print FILENAME ":" FNR ": " $0 }' \
        Makefile tests/Makefile bench/Makefile examples/*/Makefile) | nothing
}

sources_narrow() {
    sh "$root/tests/format.sh" list >sources
    at_least 200 "$(wc -l <sources)" sources
    (cd "$root" && xargs awk 'length > 80 { print FILENAME ":" FNR ": " $0 }') \
        <sources | nothing
}

sources_formatted() {
    quietly sh "$root/tests/format.sh" check
    grep '^skip ' said || :
}

list_tests() {
    add_test 'the header: where a new rule goes is where the old ones are' \
        places_hold
    add_test 'the header: where a new rule goes has the tests with its number' \
        rules_in_tests
    add_test 'the header: limits of functions and columns' limits_hold
    add_test 'the Makefiles: no line over 80 columns' makefiles_narrow
    add_test 'C: no line over 80 columns' sources_narrow
    ! tool clang-format 'the style of C' ||
        add_test 'C: all is as clang-format writes it' sources_formatted
    add_test 'the examples compare KIND(code), not a code, with a kind' \
        kinds_compared
}

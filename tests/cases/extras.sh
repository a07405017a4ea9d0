# extras.sh - the headers that people copy beside the library. Each header
# NAME.h of examples/extras has a tests/extras/NAME.c, which is compiled and run
# in some ways of tests/ways.sh. Each also compiles alone in every language.

# They need no other library, so none is left out.
each_extra_alone() { # COMPILER LANGUAGE LEVEL STANDARD...
    each_alone 'examples/extras/*.h' "$@"
    nothing <skipped
}

# --- What each header does ----------------------------------------------------

# Here; in C++; where the first byte of a number is the highest. Sanitizers look
# at them below.
ways_of_extras='cc clang++98 s390x'

# Every header's tests, in these ways. A header without tests is an error.
each_in_many_ways() {
    for way in $ways_of_extras; do
        set -- $(line $way)
        shift # how much of other tests is run in this way
        ! possible $way "$@" || echo "$way $runner"
    done >$lists/ways_of_extras
    for header in examples/extras/*.h; do
        name=$(basename $header .h)
        [ -e tests/extras/$name.c ] || {
            echo "$header has no tests: write tests/extras/$name.c" >&2
            exit 1
        }
        while read -r way runner; do
            # One way has all results, the others show whether they are so there.
            case $way in cc) amount=full ;; *) amount=reduced ;; esac
            add_test "$name.h: $way, $amount" try $way $name $amount $runner
        done <$lists/ways_of_extras
    done
}

# --- Their errors -------------------------------------------------------------

# "-1001 LEDGER_EDONE", of every code that a header defines.
codes_of() { # HEADER
    sed -nE 's/^#define ([A-Z]+_E[A-Z]+) \((-[0-9]+)\).*/\2 \1/p' $1
}

# A header's row of the table in the README: "-1001 -1010 LEDGER_EDONE EISSUED".
row_of() { # HEADER
    sed -nE "s/^\| \[$(basename $1)\].* \| (-[0-9]+) to (-[0-9]+) \| (.*) \|/\1 \2 \3/p" \
        examples/extras/README.md | tr -d ,
}

# Each code stands in its header's row, in the order of the numbers, which are
# in the range of the row, and has a sentence. No two ranges overlap.
codes_are_listed() {
    : >ranges
    for header in examples/extras/*.h; do
        codes_of $header >codes
        [ -s codes ] || continue
        set -- $(row_of $header)
        echo "$1 $2 $header" >>ranges
        shift 2
        echo $* >listed
        echo $(sed 's/.* //; 2,$s/.*_//' codes) | diff listed -
        while read -r number code; do
            echo "$number $header $code"
            grep -qE "(case |code == )$code\b" $header || {
                echo "$header: no sentence for $code" >&2
                return 1
            }
        done <codes >>numbers
    done
    at_least 40 "$(wc -l <numbers)" codes
    sort -rn ranges | awk '$1 >= last || $2 > $1; { last = $2 }
        BEGIN { last = -1000 }' | nothing
    awk 'FNR == NR { first[$3] = $1; last[$3] = $2; next }
        $1 > first[$2] || $1 < last[$2]' ranges numbers | nothing
    echo "note: $(wc -l <numbers) codes"
}

# A kind of statesampler.h that has rules says too little.
kinds_are_not_returned() {
    grep -nE 'STATESAMPLER_E(INVAL|RANGE|CORRUPT|VERSION|MISMATCH|ENV)\b' \
        examples/extras/*.h | nothing
}

ledger_kills() {
    made build/test/cc/ledger_kills
    quietly timeout -k 5 120 "$root/build/test/cc/ledger_kills" checkpoint 25 1
    sed -n '1s/^/note: /p' said
}

list_tests() {
    add_test 'every code of a header of extras has its number and a sentence' \
        codes_are_listed
    add_test 'no header of extras returns a mere kind' kinds_are_not_returned
    in_each_language 'each header of extras alone' each_extra_alone
    ! tool clang 'sanitizers of these headers' ||
        add_test 'no sanitizer reports anything of these headers' \
            sanitized "'tests/extras/*.c'"
    each_in_many_ways
    add_test 'ledger.h: 25 kills of processes, each sample once an epoch' \
        ledger_kills
}

#!/bin/sh
# dieharder.sh QUALITY FOLDER [SECONDS]: dieharder (Brown) reads the low 32
# bits of the indices at n = 2^48 as if they were random numbers. QUALITY is
# the built program. Tests run in turn until they are all done or the time,
# ten minutes unless given, is up; the report goes to FOLDER/dieharder.txt.
# Left out are those that dieharder's own list calls suspect or not to be
# used: 5, 6, 7 and 14.
set -u

quality=$1
report=$2/dieharder.txt
seconds=${3:-600}

if ! command -v dieharder >/dev/null 2>&1; then
    echo 'dieharder: not there (Debian: apt-get install dieharder), skipped'
    exit 0
fi

end=$(($(date +%s) + seconds))
cut=0
: >"$report"
for test in 100 101 102 15 16 17 0 2 3 8 9 10 11 12 13 1 4 204 206 207 208 \
    209 205 202 200 201 203; do
    left=$((end - $(date +%s)))
    if [ "$left" -le 0 ]; then
        cut=$((cut + 1))
        continue
    fi
    "$quality" raw 281474976710656 2>/dev/null |
        timeout "$left" dieharder -g 200 -d "$test" >"$report.part" 2>&1
    if grep -Eq 'PASSED|WEAK|FAILED' "$report.part"; then
        grep -E 'PASSED|WEAK|FAILED' "$report.part" >>"$report"
    else
        cut=$((cut + 1)) # the time ran out in it
    fi
done
rm -f "$report.part"

passed=$(grep -c PASSED "$report")
weak=$(grep -c WEAK "$report")
failed=$(grep -c FAILED "$report")
echo "dieharder at n = 2^48: $passed passed, $weak weak, $failed failed," \
    "$cut tests out of time ($report)"
# A few weak results are expected: each has p < 0.005 or p > 0.995.
[ "$failed" -eq 0 ] && [ $((passed + weak)) -gt 0 ]

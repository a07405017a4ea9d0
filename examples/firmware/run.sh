#!/bin/sh
# run.sh FOLDER CUTS [BOARD...] - has learn.c learn on boards, in FOLDER: once
# unbroken, then through CUTS power cuts, which kill the emulator at any moment,
# then with slots that are damaged. The weights must be those of this computer.

. examples/firmware/boards.sh

build=$1 cuts=$2
shift 2
[ $# -gt 0 ] || set -- $boards
mkdir -p "$build"
build=$(cd "$build" && pwd)
bad=0

complain() { # WHAT [FILE]
    echo "FAIL $(name_of $board): $1"
    [ -z "$2" ] || sed 's/^/    /' "$2"
    bad=1
}

now() {
    date +%s.%N
}

empty_slots() {
    rm -rf "$build/$board.run"
    mkdir "$build/$board.run"
}

# Runs the program in the board's folder, into a file.
learn() { # FILE
    (cd "$build/$board.run" && run_on $board "$program") >"$build/$1" \
        2>"$build/said" || {
        complain 'it did not end well' "$build/said"
        return 1
    }
}

# The weights are this computer's, and it began as it should.
expect() { # FILE HOW
    grep '^weights' "$build/$1" | tr -d '\r' |
        cmp -s - "$build/weights" || {
        complain 'other weights' "$build/$1"
        return 1
    }
    [ -z "$2" ] || grep -q "$2" "$build/$1" ||
        complain "it did not say: $2" "$build/$1"
}

# Puts bytes of standard input into a slot, from its beginning.
put_slot() { # SLOT
    case $board in
    avr) dd of="$build/avr.run/eeprom" bs=256 seek=$1 conv=notrunc ;;
    *) dd of="$build/$board.run/slot$1" bs=256 conv=notrunc ;;
    esac 2>/dev/null
}

# A run until the power goes, at any moment after it has begun to learn.
run_to_cut() { # NUMBER
    delay=$(awk -v time=$time -v cuts=$cuts -v seed="$1" \
        'BEGIN { srand(2026 + seed); print rand() * 1.6 * time / cuts }')
    : >"$build/$board.cut"
    (cd "$build/$board.run" && become $board "$program") \
        >"$build/$board.cut" 2>/dev/null &
    emulator=$!
    # Ends when it has begun, or broken down.
    while ! grep -q '^resumed\|^a fresh' "$build/$board.cut" &&
        kill -0 $emulator 2>/dev/null; do
        sleep 0.01
    done
    sleep "$delay"
    kill -9 $emulator 2>/dev/null
    wait $emulator 2>/dev/null
}

# Cuts the power CUTS times. A run that has come to its end begins anew; it does
# so seldom, as it has as much time as that many cuts take.
cut_power() {
    cut=0 resumed=0 runs=0
    empty_slots
    while [ $cut -lt $cuts ] && [ $runs -lt $((20 * cuts)) ]; do
        runs=$((runs + 1))
        run_to_cut $runs
        if grep -q '^weights.*000' "$build/$board.cut"; then
            expect $board.cut || return
            empty_slots
            continue
        fi
        cut=$((cut + 1))
        ! grep -q '^resumed' "$build/$board.cut" || resumed=$((resumed + 1))
    done
    [ $cut = $cuts ] && [ $resumed -gt 0 ] ||
        complain "$cut power cuts, $resumed after a save: too few to tell"
}

# What the slots hold is wrong: a sentence, and the older slot or a new start.
damage() {
    echo 'not a save' | put_slot 0
    learn one && expect one 'slot 0: damaged' &&
        expect one 'resumed from slot 1'
    for slot in 0 1; do
        echo 'not a save' | put_slot $slot
    done
    learn both && expect both 'slot 1: damaged' && expect both 'a fresh start'
    for slot in 0 1; do
        put_slot $slot <"$build/other_firmware/slot$slot"
    done
    learn other && expect other 'slot 0: of another firmware' &&
        expect other 'a fresh start'
    for slot in 0 1; do
        put_slot $slot <"$build/other_run/slot$slot"
    done
    learn run && expect run 'slot 0: of another run: .*seed' &&
        expect run 'a fresh start'
}

# Code and memory of the program, and what of them is the header's.
sizes() {
    "$(prefix_of $board)size" "$program" | awk 'NR == 2 {
        printf "    %d bytes of flash, %d of RAM without the stack\n",
            $1 + $2, $2 + $3 }'
    "$(prefix_of $board)nm" -S "$program" | awk '
        { size = 0
          for (i = 1; i <= length($2); i++)
              size = size * 16 + index("123456789abcdef", substr($2, i, 1)) }
        $4 ~ /^statesampler/ && $3 ~ /[tT]/ { code += size }
        $4 == "sampler" { object = size }
        END { print "    " code " bytes of them the header\047s code, " object \
            " a sampler" }'
}

ask() {
    program=$build/$board.elf
    link_for $board "$program" examples/firmware/learn.c -I"$build" || {
        complain 'it does not compile'
        return
    }
    empty_slots
    begin=$(now)
    learn $board.whole && expect $board.whole 'a fresh start' || return
    middle=$(now)
    learn $board.end && expect $board.end 'resumed from slot' || return
    time=$(awk "BEGIN { print $middle - $begin - ($(now) - $middle) }")
    # That run has saved once more, in the other slot, which is the newer one.
    saves=$(sed -n 's/^resumed.*, save //p' "$build/$board.end" | tr -d '\r')
    learn $board.next && expect $board.next "save $((saves + 1))" || return
    cut_power
    learn $board.last && expect $board.last
    damage
    [ $bad = 0 ] || return
    echo "ok   $(name_of $board): the same weights after $cut power cuts," \
        "$resumed of them after the first save"
    sizes
    for file in whole end; do
        grep ' of stack' "$build/$board.$file"
    done | sort -n | tail -n 1 | sed 's/^/    /'
    grep 'an index' "$build/$board.whole" | sed 's/^/    /'
}

${CC:-cc} -std=c99 -O1 -o "$build/records" examples/firmware/records.c &&
    "$build/records" >"$build/records.h" || exit 1
for other in host other_firmware other_run; do
    flags=
    [ $other != other_firmware ] || flags=-DFIRMWARE=0x32574653u
    [ $other != other_run ] || flags=-DSEED=43
    rm -rf "$build/$other"
    mkdir "$build/$other"
    link_for host "$build/$other/learn" examples/firmware/learn.c $flags \
        -I"$build" || exit 1
    (cd "$build/$other" && ./learn >said) || exit 1
done
grep '^weights' "$build/host/said" >"$build/weights" || exit 1
echo "$(name_of host): $(cat "$build/weights")"
for board; do
    missing=$(missing_for $board)
    if [ -n "$missing" ]; then
        echo "skip $(name_of $board): $missing is not here"
    else
        ask
    fi
done
exit $bad

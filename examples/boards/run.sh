#!/bin/sh
# run.sh FOLDER CUTS [BOARD...] - runs learn.c on boards, in FOLDER: once
# uninterrupted, then with damaged slots, then through CUTS power cuts, which
# kill the emulator at a random moment. The weights must be those of this
# computer. A second run in the same FOLDER waits for the first.

. examples/boards/boards.sh

unset CDPATH # cd would print the folder
build=$1 cuts=$2
case $cuts in
'' | *[!0-9]* | 0?* | ?????*)
    echo "CUTS=$cuts is not a whole number from 0 to 9999" >&2
    exit 2
    ;;
esac
shift 2
check_boards "$@"
[ $# -gt 0 ] || set -- $boards
mkdir -p "$build" && build=$(cd "$build" && pwd) &&
    exec 9>"$build/lock" || exit 1
! command -v flock >/dev/null || flock -n 9 || {
    echo "waiting for another run in $build"
    flock 9
}
bad=0
# Ending this script ends the emulator.
running=
trap '[ -z "$running" ] || kill $running; exit 1' INT TERM HUP

complain() { # WHAT [FILE]
    echo "FAIL $board_name: $1"
    [ -z "$2" ] || sed 's/^/    /' "$2"
    bad=1
}

empty_slots() {
    rm -rf "$build/$board.run"
    mkdir "$build/$board.run"
    (cd "$build/$board.run" && board_erase)
}

# Runs the program in the board's folder, with its output in a file, until it
# ends or the power is cut. Sets `spent` to its processor time in microseconds.
run_until() { # STARS MICROSECONDS FILE
    board_last_words | (
        cd "$build/$board.run" &&
            board_start "$program" "$build/cut" $1 $2
    ) >"$build/$3" 2>"$build/said" &
    running=$!
    wait $running
    status=$?
    running=
    spent=$(tail -n 1 "$build/said")
    return $status
}

learn() { # FILE
    run_until 0 0 $1 || {
        complain 'the program failed' "$build/said"
        return 1
    }
}

says() { # FILE WHAT
    grep -q "$2" "$build/$1" || {
        complain "it did not print: $2" "$build/$1"
        return 1
    }
}

same_weights() { # FILE
    grep '^weights' "$build/$1" | tr -d '\r' | cmp -s - "$build/weights" || {
        complain "the weights differ from this computer's" "$build/$1"
        return 1
    }
}

# Overwrites a slot, from BYTE on, with standard input.
put_slot() { # SLOT BYTE
    byte=$2
    set -- $(slot_place $1)
    dd of="$build/$board.run/$1" bs=1 seek=$(($2 + byte)) conv=notrunc \
        2>/dev/null
}

# Cuts the power CUTS times, each time after a random number of saves: while the
# last one is being written, or some steps later. Most times the runs add up to
# less than the whole training; after one that reaches the end, the slots are
# emptied and training starts over.
cut_power() {
    cut=0 resumed=0 torn=0 runs=0 stars=0
    empty_slots
    while [ $cut -lt $cuts ] && [ $runs -lt $((20 * cuts)) ]; do
        runs=$((runs + 1))
        run_until $(awk -v saves=$saves -v way=$way -v cuts=$cuts -v run=$runs '
            BEGIN {
                srand(2026 + run)
                print 1 + int(rand() * 1.6 * saves / cuts), \
                    int(rand() * (run % 2 ? 500 : way / saves))
            }') $board.cut
        after_cut $board.cut || return
        if grep -q '^weights.* of ' "$build/$board.cut"; then
            same_weights $board.cut || return
            empty_slots
            stars=0
            continue
        fi
        cut=$((cut + 1))
        stars=$(tr -dc '*' <"$build/$board.cut" | wc -c)
    done
    [ $cut = $cuts ] || {
        complain "only $cut power cuts in $runs runs"
        return
    }
    learn $board.last && after_cut $board.last && same_weights $board.last
}

# Checks a run that follows a power cut. The run before it printed one star per
# save that it began; with two of them, one save was complete.
after_cut() { # FILE
    [ $stars -lt 2 ] || says $1 '^resumed' || return
    ! grep -q '^resumed' "$build/$1" || resumed=$((resumed + 1))
    ! grep -q 'damaged' "$build/$1" || torn=$((torn + 1))
}

# With bad slots a run prints why, and resumes from the older slot or starts
# anew; the latter is stopped at its first save.
damage() {
    echo 'not a save' | put_slot 0 60
    learn one && same_weights one && says one 'slot 0: damaged' &&
        says one 'resumed from slot 1'
    for slot in 0 1; do
        echo 'not a save' | put_slot $slot 60
    done
    run_until 1 0 both
    says both 'slot 0: damaged' && says both 'slot 1: damaged' &&
        says both 'a fresh start'
    for slot in 0 1; do
        head -c 100 "$build/other_program/slot$slot" | put_slot $slot 0
    done
    run_until 1 0 other
    says other 'slot 0: from another firmware' && says other 'a fresh start'
    for slot in 0 1; do
        put_slot $slot 0 <"$build/other_run/slot$slot"
    done
    run_until 1 0 run
    says run 'slot 0: from another run: .*seed' && says run 'a fresh start'
}

# The sizes of the program's parts, by the names of functions and variables. The
# rest is strings and the compiler's library.
parts() {
    { "${board_prefix}size" "$program" | awk 'NR == 2 { print "all", $0 }'
      "${board_prefix}nm" -S "$program"
    } | awk -v symbols="board_.*${board_symbols:+|$board_symbols}" '
        function number(hex,    i, n) {
            for (i = 1; i <= length(hex); i++)
                n = n * 16 + index("123456789abcdef", substr(hex, i, 1))
            return n
        }
        function tell(part, name) {
            printf "    %6d bytes of flash %5d of RAM: %s\n", flash[part], \
                ram[part], name
            flash["rest"] -= flash[part]
            ram["rest"] -= ram[part]
        }
        $1 == "all" {
            flash["rest"] = flash["all"] = $2 + $3
            ram["rest"] = ram["all"] = $3 + $4
        }
        NF == 4 {
            part = $4
            sub(/\..*/, "", part) # a clone made by the compiler
            if (part ~ /^(statesampler|ssmp)_/) part = "sampler"
            else if (part ~ /^slots_|^(read_slot|check_word|move)$/)
                part = "slots"
            else if (part ~ "^(" symbols ")$")
                part = "board"
            else if (part ~ "^(main|start|resume|save|say|train|learn|score|" \
                "report|read_record|measure.*|paint.*|print.*|weights|desc)$")
                part = "learner"
            if ($3 ~ /[bBdD]/) ram[part] += number($2)
            if ($3 !~ /[bB]/) flash[part] += number($2)
        }
        END {
            tell("sampler", "the sampler")
            tell("slots", "the slots")
            tell("learner", "the training")
            tell("records", "the records")
            tell("board", "the board")
            tell("rest", "strings and the compiler'\''s library")
            tell("all", "total, without the stack")
        }'
}

ask() {
    program=$build/$board.elf
    link_program "$program" examples/boards/learn.c -I"$build" || {
        complain 'it does not compile'
        return
    }
    empty_slots
    learn $board.whole && same_weights $board.whole &&
        says $board.whole 'a fresh start' || return
    way=$spent
    learn $board.end && same_weights $board.end &&
        says $board.end 'resumed from slot' || return
    way=$((way - spent))
    # That run saved once more, so the other slot holds the newest save now.
    saves=$(sed -n 's/^resumed.*, save //p' "$build/$board.end" | tr -d '\r')
    learn $board.next && says $board.next "save $((saves + 1))" || return
    damage
    cut_power
    [ $bad = 0 ] || return
    echo "ok   $board_name: the same weights after $cut power cuts;" \
        "$resumed runs resumed from a save, $torn found a damaged slot"
    parts
    for file in whole end; do
        grep ' of stack' "$build/$board.$file"
    done | sort -n | tail -n 1 | sed 's/^/    /'
    grep 'per index' "$build/$board.whole" | sed 's/^/    /'
}

${CC:-cc} -std=c99 -O1 -o "$build/records" examples/boards/records.c &&
    "$build/records" >"$build/records.h" &&
    ${CC:-cc} -std=c99 -O1 -o "$build/cut" examples/boards/cut.c || exit 1
load_board host
core=$build/host.o
$board_compiler -I. -c -o "$core" $boards_folder/sampler.c || exit 1
for other in host other_program other_run; do
    flags=
    [ $other != other_program ] || flags=-DFIRMWARE=0x32574653u
    [ $other != other_run ] || flags=-DSEED=43
    rm -rf "$build/$other"
    mkdir "$build/$other"
    link_program "$build/$other/learn" examples/boards/learn.c $flags \
        -I"$build" || exit 1
    (cd "$build/$other" && ./learn >said) || exit 1
done
grep '^weights' "$build/host/said" >"$build/weights" || exit 1
core=
echo "$board_name: $(cat "$build/weights")"
for board; do
    load_board $board
    needed=$(missing)
    if [ -n "$needed" ]; then
        echo "skip $board_name: $needed is not installed"
    else
        ask
    fi
done
exit $bad

# boards.sh - the same numbers on every target there is an emulator for.

. examples/boards/boards.sh

# Boards learn through power cuts, to the weights of this computer: `make
# boards` in short.
learn() { # BOARD...
    CDPATH=.:.. quietly sh examples/boards/run.sh "a b \$ü" 3 "$@"
    for bytes in $(sed -n 's/ bytes of flash.*: the sampler$//p' said); do
        at_least 4000 $bytes 'bytes of the sampler'
    done
    [ "$(grep -c ': the sampler$' said)" = $# ]
    grep '^ok ' said | sed 's/^ok  */&the boards learn: /'
}

# What a board prints, by its emulator.
checksum_on() { # BOARD
    load_board $1
    link_program checksum.elf tests/checksum.c $(echo $STRICT)
    run_program ./checksum.elf >printed || [ $? != 137 ] || return 137
    tr -d '\r' <printed | grep '^checksum' >here
    same_checksum "$(${board_prefix}size checksum.elf | awk 'NR == 2 {
        print $1 + $2 " bytes of flash, " $2 + $3 " of RAM" }')"
}

# The slots by themselves, in memory, from the files that the README names for
# other projects.
slots() {
    mkdir own
    for name in $(sed -n '/^4\. Save/,/^5\./p' examples/boards/README.md |
        grep -o '`[a-z]*\.[ch]`' | tr -d '`'); do
        cp examples/boards/$name own
    done
    $CC -std=c99 $STRICT -Iown -o slots examples/boards/tests/test_slots.c
    quietly ./slots
    sed 's/^/note: /' said
}

# The same files in a program in C++, as the sketch of an Arduino is, with
# slots.c compiled as C.
slots_in_cxx() { # COMPILER
    cat >program.cpp <<'END'
#include "slots.h"
#include "print.h"
#include <string.h>
static unsigned char flash[BOARD_SLOTS][BOARD_SLOT_BYTES], record[20];
void board_put(char) {}
void board_slot_read(unsigned slot, unsigned char *bytes, size_t size)
{
    memcpy(bytes, flash[slot], size);
}
void board_slot_write(unsigned slot, const unsigned char *bytes, size_t size)
{
    memcpy(flash[slot], bytes, size);
}
int main()
{
    unsigned slot;
    int good = slots_begin(7, record, sizeof record);
    slots_put32(record, 42);
    good = good && slots_save();
    memset(record, 0, sizeof record);
    slots_look();
    return !(good && slots_load(0, &slot) && slots_get32(record) == 42 &&
             slots_number() == 1);
}
END
    for standard in 98 17; do
        $CC -std=c99 $STRICT -I$boards_folder -c -o slots.o $boards_folder/slots.c
        $1 -std=c++$standard $STRICT -I$boards_folder -o program program.cpp slots.o
        ./program
    done
}

# Succeeds if a script of the boards fails with one line, like this one.
refused() { # LINE SCRIPT ARGUMENT...
    line=$1 script=$2
    shift 2
    if sh examples/boards/$script "$@" >said 2>&1 ||
        [ "$(wc -l <said)" != 1 ] || ! grep -Eq "$line" said; then
        echo "$script $*: not refused"
        cat said
        return 1
    fi
}

# What run.sh refuses, and changes nothing: its folder is not made.
refuses() {
    for arguments in '' 'made' 'made x' 'made -1' 'made 08' 'made 10000' \
        'made 1 foo' 'made 1 virt host' 'made 1 avr-atmega2560'; do
        refused '^(CUTS=.* is not a whole number|no board )' \
            run.sh $arguments
        [ ! -e made ]
    done
    refused '^no board "foo"' prices.sh foo
    echo >file
    refused . run.sh file/made 1 virt
}

# Who ends `make boards` ends the emulator.
ends() {
    $CC -std=c99 $STRICT -o cut examples/boards/cut.c
    for signal in INT TERM HUP; do
        : >started
        ./cut 0 0 sh -c 'echo $$; exec sleep 30' >started 2>said &
        for turn in $(seq 100); do
            [ ! -s started ] || break
            sleep 0.1
        done
        kill -$signal $!
        if wait $!; then
            echo "it succeeds after $signal"
            return 1
        fi
        ! kill -0 "$(cat started)" 2>/dev/null || {
            echo "it lives on after $signal"
            return 1
        }
    done
}

checksum_wasm() { # FLAG...
    for name in tests/checksum examples/boards/sampler; do
        clang --target=wasm32 -std=c99 -O2 -ffreestanding "$@" \
            $drawn_flags -I. -Iexamples/boards -c -o $(basename $name).o $name.c
    done
    wasm-ld -mwasm32 --no-entry --allow-undefined --export=main \
        -o checksum.wasm checksum.o sampler.o
    node tests/checksum.mjs checksum.wasm >here
    same_checksum "$(wc -c <checksum.wasm) bytes with its program"
}

# The README's tables have what prices.sh prints, in the row with its words and
# the column of the board; and code and flash are below the board's limits.
prices() { # BOARD
    load_board $1
    quietly sh examples/boards/prices.sh $1
    sed -n 's/^    \(.*: [0-9]\)/\1/p' said >printed
    at_least 9 "$(wc -l <printed)" prices
    wear=$(sed -n '/^200 saves erase/p' said)
    [ -n "$wear" ] && tr '\n' ' ' <examples/boards/README.md |
        grep -qF "$wear" || {
        echo "the README does not have: $wear"
        return 1
    }
    tr -d ',`' <examples/boards/README.md | awk -F '|' -v board=$board_short '
        FNR == NR {
            gsub(",", "")
            split($0, row, ": ")
            want[row[1]] = row[2]
            next
        }
        # The columns of a table, one of which is of this board.
        /bytes of (RAM|flash)/ {
            for (i = 3; i < NF; i++)
                if ((" " $i " ") ~ (" " board " ")) column = i
            next
        }
        {
            name = $2
            gsub(/^ *| *$/, "", name)
            sub(/ one for each dataset.*/, "", name)
            if (NF > 3 && name in want) {
                if ($column + 0 == want[name]) found[name] = 1
            }
        }
        END {
            for (name in want)
                if (!(name in found)) {
                    print "the README does not have " name ": " want[name]
                    bad = 1
                }
            exit bad
        }' printed -
}

list_tests() {
    add_test 'boards: slots cut at every byte, worn out, of another' slots
    for compiler in g++ clang++; do
        ! tool $compiler "boards: slots in C++, by $compiler" ||
            add_test "boards: slots in C++, by $compiler" slots_in_cxx $compiler
    done
    add_test 'boards: what is no board or number is refused' refuses
    add_test 'boards: the emulator ends with what has started it' ends
    # A board has no time for drawn cases.
    [ -z "$drawn" ] || boards= variants=
    here=
    for board in $boards $variants; do
        load_board $board
        needed=$(missing)
        if [ -n "$needed" ]; then
            skip_dep "boards and checksum: $board_name" $needed
            continue
        fi
        add_test "the checksum of every part: $board_name" checksum_on $board
        case $board in
        *-*) ;;
        *) here="$here $board" ;;
        esac
    done
    [ -z "$here" ] || add_test 'boards learn through power cuts' learn $here
    for board in $boards; do
        load_board $board
        what="sizes: code and flash, as the README says: $board_name"
        ! tool ${board_prefix}gcc "$what" || add_test "$what" prices $board
    done
    what='the checksum of every part: wasm32'
    if tool clang "$what" && tool wasm-ld "$what" && tool node "$what"; then
        add_test "$what" checksum_wasm
        add_test "$what, with vectors" checksum_wasm -msimd128
    fi
}

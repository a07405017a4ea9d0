#!/bin/sh
# prices.sh [BOARD...] - prints what the header costs on a board: flash by the
# functions that are called, and RAM per object; and first how soon saves wear
# out a slot.

. examples/boards/boards.sh

check_boards "$@"
object=$(mktemp) && trap 'rm -f "$object"' EXIT || exit
[ $# -gt 0 ] || set -- $boards
$(compiler_of host) -I. -I$firmware -o "$object" $firmware/wear.c \
    $firmware/slots.c $firmware/sampler.c && "$object" || exit
for board; do
    case $board in
    microbit) core=Cortex-M0 ;;
    virt) core=RISC-V ;;
    avr) core=AVR ;;
    esac
    command -v "$(prefix_of $board)gcc" >/dev/null || {
        echo "skip prices, $(name_of $board):" \
            "$(prefix_of $board)gcc is not installed"
        continue
    }
    echo "$(name_of $board), -Os: bytes of flash if you use"
    sizes=$(sh tests/sizes.sh "code and flash, $core") || {
        echo "$sizes"
        exit 1
    }
    echo "$sizes" | sed -n 's/^flash, .* -Os, \(.*: [0-9]*\).*/    \1/p'
    $(compiler_of $board) -I. -c -o "$object" -x c - <<END || exit
#include "statesampler.h"
char perm[sizeof(statesampler_perm)], sampler[sizeof(statesampler)],
    mix[sizeof(statesampler_mix)], source[sizeof(statesampler_source)];
END
    echo '  and bytes of RAM per object'
    "$(prefix_of $board)nm" -S "$object" | awk 'NF == 4' | sort -k 4 |
        while read -r at size type name; do
        printf '    %s: %d\n' $name 0x$size
    done
done

#!/bin/sh
# prices.sh [BOARD...] - prints what the header costs on a board: flash by the
# functions that are called, and RAM per object; and first how soon saves wear
# out a slot. The README's tables have the same words and numbers.

. examples/boards/boards.sh

check_boards "$@"
object=$(mktemp) && trap 'rm -f "$object"' EXIT || exit
[ $# -gt 0 ] || set -- $boards
load_board host
$board_compiler -I. -I$boards_folder -o "$object" $boards_folder/wear.c \
    $boards_folder/slots.c $boards_folder/sampler.c && "$object" || exit
for board; do
    load_board $board
    command -v ${board_prefix}gcc >/dev/null || {
        echo "skip prices, $board_name:" \
            "${board_prefix}gcc is not installed"
        continue
    }
    echo "$board_name, -Os: bytes of flash if you use"
    sizes=$(sh tests/sizes.sh "code and flash, $board_short") || {
        echo "$sizes"
        exit 1
    }
    echo "$sizes" | sed -n -e 's/^flash, .* -Os, \(.*: [0-9]*\).*/\1/
        s/^perm:/the permutation:/p
        s/^a shuffle:/a shuffle that is saved and loaded:/p
        s/^a shuffle, ONLY/the same with STATESAMPLER_ONLY/p
        s/^sampler:/the sampler, all of it:/p
        s/^sampler and mix:/&/p' | sed 's/^/    /'
    $board_compiler -I. -c -o "$object" -x c - <<END || exit
#include "statesampler.h"
#define SIZE_OF(type) char size_of_##type[sizeof(type)]
SIZE_OF(statesampler);
SIZE_OF(statesampler_perm);
SIZE_OF(statesampler_mix);
SIZE_OF(statesampler_source);
END
    echo '  and bytes of RAM per object'
    ${board_prefix}nm -S "$object" | awk 'NF == 4' | sort -k 4 |
        while read -r at size type name; do
        printf '    %s: %d\n' ${name#size_of_} 0x$size
    done
done

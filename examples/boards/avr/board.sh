# board.sh - an ATmega1284P in simavr, which simulator.c runs. ../boards.sh says
# what is what.

board_variants=atmega2560
board_core=${board_core:-atmega1284p}
board_name="AVR ($(echo $board_core | sed 's/atm/ATm/; s/p$/P/'))"
board_short=AVR board_prefix=avr- board_pointer=2
board_flags=-mmcu=$board_core
board_linker='-m avr51' # so that it knows how much flash there is
board_compiler="avr-gcc $board_os $board_flags"
board_link=-Wl,--gc-sections
board_symbols='wait_for.*'
board_slots=eeprom board_slot_step=256
board_limits='
    code, perm                       6144
    code, sampler                   30200
    code, sampler and mix           50500
    flash, perm                      6500
    flash, a shuffle                20200
    flash, a shuffle, ONLY_SHUFFLE  16500
    flash, sampler                  31000
    flash, sampler and mix          50500'

board_start() { # PROGRAM [COMMAND...]
    program=$1
    shift
    exec "$@" "$(dirname "$program")/simulator" $board_core "$program" eeprom
}

board_missing() {
    if ! echo '#include <avr/io.h>' | avr-gcc -E - >/dev/null 2>&1; then
        echo avr-libc
    elif ! echo '#include <simavr/sim_avr.h>' | ${CC:-cc} -E - \
        >/dev/null 2>&1; then
        echo libsimavr-dev
    fi
}

board_tools() { # FOLDER
    ${CC:-cc} -std=c99 -O2 -o "$1/simulator" $board_folder/simulator.c -lsimavr
}

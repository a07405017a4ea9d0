# boards.sh - how a program is made for a board and started on its emulator.
# run.sh and the tests read it, in the folder that has statesampler.h.

boards='microbit virt avr'
# Other cores on these boards, which the tests ask for their numbers only.
others='virt-rv32i virt-rv64imac avr-atmega2560'
firmware=examples/firmware

# Ends the script if an argument is no board.
check_boards() { # BOARD...
    for board; do
        case " $boards " in
        *" $board "*) ;;
        *)
            echo "no board \"$board\": BOARDS may have $boards" >&2
            exit 2
            ;;
        esac
    done
}

core_of() { # BOARD
    case $1 in
    *-*) echo ${1#*-} ;;
    virt) echo rv32imc ;;
    avr) echo atmega1284p ;;
    esac
}

name_of() { # BOARD
    case $1 in
    host) echo 'this computer' ;;
    microbit) echo 'Cortex-M0 (BBC micro:bit)' ;;
    virt*) echo "RISC-V ($(core_of $1), virt)" ;;
    avr*) echo "AVR ($(core_of $1 | sed 's/atm/ATm/; s/p$/P/'))" ;;
    esac
}

emulator_of() { # BOARD
    case $1 in
    microbit) echo qemu-system-arm ;;
    virt-rv64*) echo qemu-system-riscv64 ;;
    virt*) echo qemu-system-riscv32 ;;
    esac
}

prefix_of() { # BOARD
    case $1 in
    microbit) echo arm-none-eabi- ;;
    virt*) echo riscv64-unknown-elf- ;;
    avr*) echo avr- ;;
    esac
}

# Prints the first tool of a board that is not here.
missing_for() { # BOARD
    for needed in $(prefix_of $1)gcc $(emulator_of $1); do
        command -v $needed >/dev/null || {
            echo $needed
            return
        }
    done
    case $1 in
    avr*)
        if ! echo '#include <avr/io.h>' | avr-gcc -E - >/dev/null 2>&1; then
            echo avr-libc
        elif ! echo '#include <simavr/sim_avr.h>' | ${CC:-cc} -E - \
            >/dev/null 2>&1; then
            echo libsimavr-dev
        fi
        ;;
    esac
}

# Prints a board's compiler. Functions that nobody calls can be left out, and
# -Os is as fast as more code would be.
compiler_of() { # BOARD
    os='-std=c99 -Os -ffreestanding -ffunction-sections -fdata-sections'
    case $1 in
    host) echo ${CC:-cc} -std=c99 $CFLAGS ;;
    microbit)
        echo arm-none-eabi-gcc $os -mcpu=cortex-m0 -mthumb -DBOARD_IS_QEMU
        ;;
    virt*)
        case $1 in *rv64*) abi=lp64 ;; *) abi=ilp32 ;; esac
        echo riscv64-unknown-elf-gcc $os -march=$(core_of $1) -mabi=$abi \
            -mcmodel=medany -misa-spec=2.2
        ;;
    avr*) echo avr-gcc $os -mmcu=$(core_of $1) ;;
    esac
}

# Compiles and links a source with what is the board's. $core may be an object
# that has the header's functions already.
core=
link_for() { # BOARD PROGRAM SOURCE FLAG...
    board=$1 program=$2 source=$3
    shift 3
    set -- "$@" -I. -I$firmware -o "$program" "$source" \
        "${core:-$firmware/sampler.c}" $firmware/slots.c \
        $firmware/${board%%-*}.c
    case $board in
    host) ;;
    avr*)
        set -- -Wl,--gc-sections "$@"
        ${CC:-cc} -std=c99 -O2 -o "$(dirname "$program")/simulator" \
            $firmware/simulator.c -lsimavr || return
        ;;
    *) set -- -Wl,--gc-sections -nostdlib -T $firmware/${board%%-*}.ld "$@" \
        -lgcc ;;
    esac
    $(compiler_of $board) "$@"
}

# Becomes the emulator, or a command that runs it, so that its number is that of
# the shell that asked: in a folder with the slots. A slot is a file, or a part
# of one on an AVR.
become() { # BOARD PROGRAM [COMMAND...]
    board=$1 program=$2
    shift 2
    case $board in
    host) exec "$@" "$program" ;;
    microbit) machine=microbit ;;
    virt*) machine='virt -bios none' ;;
    avr*)
        exec "$@" "$(dirname "$program")/simulator" $(core_of $board) \
            "$program" eeprom
        ;;
    esac
    exec "$@" $(emulator_of $board) -M $machine -kernel "$program" -nographic \
        -monitor none -serial stdio -icount shift=0 \
        -semihosting-config enable=on,target=native </dev/null
}

# Runs a program to its end, which must come within two minutes.
run_on() { # BOARD PROGRAM
    (become "$1" "$2" timeout -s KILL 120)
}

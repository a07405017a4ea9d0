# boards.sh - builds a program for a board and runs it in an emulator. run.sh
# and the tests source it, in the folder with statesampler.h.

boards='microbit virt avr'
# Other cores on these boards; the tests only compare their checksums.
others='virt-rv32i virt-rv64imac avr-atmega2560'
firmware=examples/boards

# Ends the script if an argument is not a board.
check_boards() { # BOARD...
    for board; do
        case " $boards " in
        *" $board "*) ;;
        *)
            echo "no board \"$board\": BOARDS may contain $boards" >&2
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

# Prints the first tool of a board that is not installed.
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

# Prints a board's compiler and flags, which let the linker drop functions that
# are not called. -Os is as fast as -O2 or -O3 here.
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

# Compiles and links a source for a board. $core may name an object that holds
# the header's functions.
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

# What the emulator gets instead of a kill when cut.c cuts the power, where it
# would forget the slots.
last_words() { # BOARD
    [ $1 != microbit ] || cat <<'END'
{ "execute": "qmp_capabilities" }
{ "execute": "stop" }
{ "execute": "memsave",
  "arguments": { "val": 260096, "size": 2048, "filename": "flash" } }
{ "execute": "quit" }
END
}

# Replaces this shell with the emulator, or with a command that runs it, so that
# the caller can kill it by this shell's process id. The current folder holds
# the slots: a file each, or one file for both.
become() { # BOARD PROGRAM [COMMAND...]
    board=$1 program=$2
    shift 2
    case $board in
    host) exec "$@" "$program" ;;
    microbit)
        # Its answers go nowhere, and only the serial line to the output.
        set -- "$@" sh -c 'exec "$@" 3>&1 >/dev/null' sh \
            $(emulator_of $board) -M microbit -qmp stdio -serial file:/dev/fd/3
        [ ! -e flash ] || set -- "$@" \
            -device loader,file=flash,addr=0x3f800,force-raw=on
        ;;
    virt*)
        set -- "$@" $(emulator_of $board) -M virt -bios none -monitor none \
            -serial stdio
        ;;
    avr*)
        exec "$@" "$(dirname "$program")/simulator" $(core_of $board) \
            "$program" eeprom
        ;;
    esac
    exec "$@" -kernel "$program" -nographic -icount shift=0 \
        -semihosting-config enable=on,target=native
}

# Runs a program to its end, for at most two minutes.
run_on() { # BOARD PROGRAM
    (become "$1" "$2" timeout -s KILL 120) </dev/null
}

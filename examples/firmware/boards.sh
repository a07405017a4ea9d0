# boards.sh - how a program is made for a board and started on its emulator.
# run.sh and the tests read it, in the folder that has statesampler.h.

boards='microbit virt avr'
firmware=${firmware:-examples/firmware}

name_of() { # BOARD
    case $1 in
    host) echo 'this computer' ;;
    microbit) echo 'Cortex-M0 (BBC micro:bit)' ;;
    virt) echo 'RISC-V (rv32imc, virt)' ;;
    avr) echo 'AVR (ATmega1284P)' ;;
    esac
}

prefix_of() { # BOARD
    case $1 in
    microbit) echo arm-none-eabi- ;;
    virt) echo riscv64-unknown-elf- ;;
    avr) echo avr- ;;
    esac
}

# Prints the first tool of a board that is not here.
missing_for() { # BOARD
    case $1 in
    microbit) emulator=qemu-system-arm ;;
    virt) emulator=qemu-system-riscv32 ;;
    avr) emulator=simavr ;;
    esac
    for needed in $(prefix_of $1)gcc $emulator; do
        command -v $needed >/dev/null || {
            echo $needed
            return
        }
    done
    [ $1 != avr ] || [ -e /usr/include/simavr/sim_avr.h ] ||
        echo libsimavr-dev
}

# Compiles and links sources for a board. Functions that nobody calls are left
# out, and -Os is as fast as more code would be.
link_for() { # BOARD PROGRAM SOURCE FLAG...
    board=$1 program=$2 source=$3
    shift 3
    set -- "$@" -std=c99 -I. -I$firmware -o "$program" "$source" \
        $firmware/sampler.c $firmware/$board.c
    [ $board = host ] || set -- -Os -ffreestanding -ffunction-sections \
        -fdata-sections -Wl,--gc-sections "$@"
    case $board in
    host) ${CC:-cc} $CFLAGS "$@" ;;
    microbit)
        arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb -nostdlib \
            -DBOARD_IS_QEMU -T $firmware/microbit.ld "$@" -lgcc
        ;;
    virt)
        riscv64-unknown-elf-gcc -march=rv32imc -mabi=ilp32 -misa-spec=2.2 \
            -nostdlib -T $firmware/virt.ld "$@" -lgcc
        ;;
    avr)
        avr-gcc -mmcu=atmega1284p "$@" &&
            ${CC:-cc} -std=c99 -O2 -o "$(dirname "$program")/simulator" \
                $firmware/simulator.c -lsimavr
        ;;
    esac
}

# Becomes the emulator, so that its number is that of the shell that asked: in
# a folder with the slots. A slot is a file, on an AVR a part of one. $limit
# may say how long.
limit=
become() { # BOARD PROGRAM
    case $1 in
    host) exec $limit "$2" ;;
    microbit) set -- qemu-system-arm -M microbit -kernel "$2" ;;
    virt) set -- qemu-system-riscv32 -M virt -bios none -kernel "$2" ;;
    avr) exec $limit "$(dirname "$2")/simulator" "$2" eeprom ;;
    esac
    exec $limit "$@" -nographic -monitor none -serial stdio -icount shift=0 \
        -semihosting-config enable=on,target=native </dev/null
}

# Runs a program to its end, which must come within two minutes.
run_on() { # BOARD PROGRAM
    (
        limit='timeout -s KILL 120'
        become "$@"
    )
}

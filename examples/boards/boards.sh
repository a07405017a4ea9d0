# boards.sh - builds a program for a board and runs it in an emulator. run.sh,
# prices.sh, tests/sizes.sh and the tests source it, in the folder with
# statesampler.h.
#
# A board is a folder here: NAME/NAME.c with the functions of board.h,
# NAME/NAME.ld if its programs need a linker script, and NAME/board.sh, which
# alone knows what is special about it. That sets:
#     board_name       what people read
#     board_short      its core, as the README's tables and the sizes name it
#     board_variants   other cores for the same C file, if there are: the tests
#                      only compare their checksums
#     board_prefix     of the names of its compiler's tools
#     board_flags      the compiler's flags for its core
#     board_linker     the same for the linker by itself
#     board_pointer    bytes of a pointer
#     board_compiler   the compiler with all flags for a program
#     board_link       what links a program, in addition
#     board_emulator   the command, or nothing if board_missing looks for it
#     board_symbols    functions of NAME.c whose names do not begin with board_,
#                      as a pattern of awk
#     board_slots      the file that keeps both slots, if there is one: else
#                      they are two files, slot0 and slot1
#     board_slot_step  bytes from one slot to the other in it
#     board_limits     the most bytes that the header may take at -Os
# and has these functions, if it needs other ones than those below:
#     board_start PROGRAM [COMMAND...]
#                      replaces this shell with the emulator, or with the
#                      command that runs it
#     board_missing    prints a package that is not installed, if any
#     board_tools FOLDER
#                      makes what board_start needs beside a program
#     board_last_words what the emulator gets instead of a kill when cut.c cuts
#                      the power, where it would forget the slots
#     board_erase      makes the slots of a new chip in the current folder
# The folder `host` is this computer, for comparison.

boards_folder=examples/boards

# The commands that compile for size and let the linker drop functions that are
# not called. -Os is as fast as -O2 or -O3 here.
board_os='-std=c99 -Os -ffreestanding -ffunction-sections -fdata-sections'

# Reads what is special about a board, or about a variant of one: NAME-CORE.
load_board() { # BOARD
    board=$1 board_folder=$boards_folder/${1%%-*}
    board_source=$board_folder/${1%%-*}.c
    case $1 in *-*) board_core=${1#*-} ;; *) board_core= ;; esac
    board_variants= board_linker= board_link= board_emulator= board_symbols=
    board_slots= board_slot_step= board_limits=
    board_last_words() { :; }
    board_erase() { :; }
    board_missing() { :; }
    board_tools() { :; }
    . $board_folder/board.sh
}

# All boards, and the variants of them.
boards= variants=
for board_file in $boards_folder/*/board.sh; do
    board=$(basename "${board_file%/board.sh}")
    [ $board != host ] || continue
    case $board in
    *-*)
        echo "the folder $board of a board has a '-', as variants have" >&2
        exit 2
        ;;
    esac
    load_board $board
    boards="$boards $board"
    for board_core in $board_variants; do
        variants="$variants $board-$board_core"
    done
done
boards=${boards# }

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

# Prints the first tool or package of this board that is not installed.
missing() {
    for needed in ${board_prefix}gcc $board_emulator; do
        command -v $needed >/dev/null || {
            echo $needed
            return
        }
    done
    board_missing
}

# Compiles and links a source for this board. $core may name an object that
# holds the header's functions.
core=
link_program() { # PROGRAM SOURCE FLAG...
    program=$1 source=$2
    shift 2
    board_tools "$(dirname "$program")" || return
    $board_compiler "$@" -I. -I$boards_folder -o "$program" "$source" \
        "${core:-$boards_folder/sampler.c}" $boards_folder/slots.c \
        $board_source $board_link
}

# Prints the file that has a slot of this board, and where the slot begins.
slot_place() { # SLOT
    if [ -n "$board_slots" ]; then
        echo $board_slots $((board_slot_step * $1))
    else
        echo slot$1 0
    fi
}

# For board_start: replaces this shell with qemu.
start_qemu() { # PROGRAM COMMAND...
    kernel=$1
    shift
    exec "$@" -kernel "$kernel" -nographic -icount shift=0 \
        -semihosting-config enable=on,target=native
}

# Runs a program to its end, for at most two minutes, in a folder that holds the
# slots. The shell that board_start replaces can be killed by its process id.
run_program() { # PROGRAM
    (board_start "$1" timeout -s KILL 120) </dev/null
}

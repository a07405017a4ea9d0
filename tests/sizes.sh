#!/bin/sh
# sizes.sh - how much code and stack the header takes, and the limits:
#     sh tests/sizes.sh        prints every size with its limit in brackets
#     sh tests/sizes.sh GROUP  prints those of a group
#     sh tests/sizes.sh list   prints the groups
# A size above its limit is marked. What cannot be measured here has a line
# "skip NAME: TOOL is not here".

# Prints the limit of a size, but for code and flash of a board: its board.sh in
# examples/boards has those.
limit_of() { # NAME
    case $1 in
    'flash, ATmega328P -Os, a shuffle') echo 20000 ;;
    'flash, ATmega328P -Os, a shuffle that says errors') echo 32768 ;;
    'stack, RV64'*) echo 4096 ;;
    'stack, s390x'*) echo 6144 ;;
    'stack, '*) echo 1024 ;;
    'stack in bulk, '*) echo 4096 ;;
    esac
}

. tests/common.sh
. examples/boards/boards.sh

# The sizes that one compilation tells are a group: a name, and the call that
# prints them with their limits.
groups() {
    for board in $boards; do
        load_board $board
        group "code and flash, $board_short" ${board_prefix}gcc parts
    done
    group 'flash, ATmega328P (AVR)' avr-gcc program
    for board in $boards; do
        load_board $board
        for level in -Os -O2 -O3; do
            group "stack, $board_short $level" ${board_prefix}gcc \
                board_stack $level
        done
    done
    load_board virt-rv64imac
    group "stack, $board_short -O3" ${board_prefix}gcc board_stack -O3
    group 'stack, s390x -O3' s390x-linux-gnu-gcc core_stack 's390x -O3' \
        s390x-linux-gnu-gcc -O3
    for level in -O0 -Os -O2 -O3; do
        group "stack, gcc $level" gcc gcc_stack $level
    done
    for option in $x86; do
        group "stack, gcc -O3 $option" gcc gcc_stack -O3 $option
    done
}

# Code is without the compiler's helpers; flash is with them, as in a linked
# program. A shuffle that is saved and loaded is also measured in the small
# build.
parts() {
    apart='_error$|_version$|_audit_'
    core_for_size
    for what in code flash; do
        helpers=
        [ $what = code ] || helpers=$(
            ${board_prefix}gcc $board_flags -print-libgcc-file-name)
        board_size "$what" perm $(code_of '_perm_')
        board_size "$what" sampler $(code_of \
            '^statesampler_(perm_|[^m]|m[^i])' "$apart")
        board_size "$what" 'sampler and mix' $(code_of '' "$apart")
    done
    for only in '' ', ONLY_SHUFFLE'; do
        core_for_size ${only:+-DSTATESAMPLER_ONLY_SHUFFLE}
        board_size flash "a shuffle$only" $(code_of \
            '^statesampler_(init|next|save|load)$')
    done
}

core_for_size() { # FLAG...
    freestanding core.o ${board_prefix}gcc $board_flags -Os -ffunction-sections \
        -fdata-sections "$@"
}

# Whole programs, with all that they need. One that does not fit the processor
# does not link.
program() {
    for words in '' ' that says errors'; do
        avr-gcc -std=c99 -Os -mmcu=atmega328p ${words:+-DSAY_ERRORS} -I. \
            -ffunction-sections -fdata-sections -Wl,--gc-sections \
            -o avr.elf "$root/tests/avr.c" 2>said &&
            bytes=$(avr-size avr.elf | awk 'END { print $1 + $2 }') ||
            bytes=99999
        size "flash, ATmega328P -Os, a shuffle$words" $bytes
    done
}

# Bytes of code and constants of a program that uses the public functions of a
# pattern, but those of another, linked with `helpers`: its table of pointers to
# them is the root, and what they do not reach is thrown away.
code_of() { # PATTERN [BUT]
    ${board_prefix}nm core.o | sed -n 's/.* T //p' | grep -E -e "$1" |
        grep -vE -e "${2:-^$}" >used
    { sed 's/.*/extern char &[];/' used
      echo 'extern const void *const root[];'
      echo 'const void *const root[] = {'
      sed 's/.*/&,/' used
      echo '};'
    } | compile c root.o ${board_prefix}gcc $board_flags -std=c99 \
        -ffreestanding -Os -fdata-sections
    ${board_prefix}ld $board_linker --gc-sections -e root \
        --unresolved-symbols=ignore-all -o part.elf root.o core.o $helpers
    echo $(($(${board_prefix}size part.elf | awk 'END { print $1 + $2 }') -
        board_pointer * $(wc -l <used)))
}

board_stack() { # LEVEL
    case $board_prefix in
    avr-)
        avr_graph $1
        size "stack, $board_short $1" $(deepest all)
        ;;
    *) core_stack "$board_short $1" ${board_prefix}gcc $board_flags $1 ;;
    esac
}

# Without vectors the limit is the same for all functions, and the compiler's
# helpers are left out, as above.
core_stack() { # NAME COMMAND...
    stack_name=$1
    shift
    graph "$@" -ffreestanding
    size "stack, $stack_name" $(deepest all)
}

gcc_stack() { # OPTION...
    graph gcc "$@"
    size "stack, gcc $*" $(deepest small)
    size "stack in bulk, gcc $*" $(deepest bulk)
}

# What calls what, and what a frame needs, as gcc counts it: core.ci.
graph() { # COMMAND...
    source_of IMPLEMENTATION |
        compile c core.o "$@" -std=c99 -fcallgraph-info=su
}

# Debian's compiler for AVR is too old to write who calls whom: what it has
# compiled says so. A jump to where a function begins is a call, too.
avr_graph() { # LEVEL
    source_of IMPLEMENTATION | compile c core.o avr-gcc $board_flags $1 -std=c99 \
        -ffreestanding -ffunction-sections -fstack-usage
    { sed 's/.*:\([^:	]*\)	\([0-9]*\)	\(.*\)/node "\1" "\2 bytes (\3)"/' \
        core.su
      avr-objdump -dr core.o | awk '
        /^[0-9a-f]+ <.*>:$/ { from = $2; gsub(/[<>:]/, "", from) }
        / R_AVR_(CALL|13_PCREL)	/ && $NF !~ /\+0x/ {
            sub(/^\.text\./, "", $NF)
            if ($NF != from) print "edge \"" from "\" \"" $NF "\""
        }'
    } >core.ci
}

# The deepest stack of any public function: of those that serve in bulk, of
# the others, or of all.
deepest() { # bulk|small|all
    awk -F '"' -v which=$1 '
        function deepest(f,    i, n, calls, here, most) {
            n = split(called[f], calls, SUBSEP)
            most = 0
            for (i = 1; i < n; i++) {
                here = deepest(calls[i])
                if (here > most) most = here
            }
            return own[f] + most
        }
        /^node/ && match($4, /[0-9]+ bytes/) {
            own[$2] = substr($4, RSTART) + 0
            if ($4 ~ /dynamic/ && $4 !~ /bounded/) own[$2] = 99999
        }
        /^edge/ { called[$2] = called[$2] $4 SUBSEP }
        END {
            for (f in own) {
                if (f !~ /^statesampler_/) continue
                bulk = f ~ /^statesampler_(perm_(fill|map)|(mix_)?(next|at))$/
                if (which != "all" && bulk != (which == "bulk")) continue
                size = deepest(f)
                if (size > most) most = size
            }
            print most + 0
        }' core.ci
}

# --- Measuring ----------------------------------------------------------------

size() { # NAME BYTES [LIMIT]
    limit=${3:-$(limit_of "$1")} missed=
    [ "$2" -le "${limit:-0}" ] || missed=' MISSED' status=1
    echo "$1: $2 bytes ($limit)$missed"
}

# A size of this board, with its own limit.
board_size() { # code|flash WHAT BYTES
    size "$1, $board_short -Os, $2" $3 $(echo "$board_limits" |
        sed -n "s/^ *$1, $2  *\([0-9]*\)\$/\1/p")
}

group() { # NAME COMPILER CALL...
    group=$1 compiler=$2
    shift 2
    [ "$wanted" = all ] || [ "$wanted" = list ] || [ "$wanted" = "$group" ] ||
        return 0
    if ! command -v $compiler >/dev/null; then
        echo "skip $group: $compiler is not here"
    elif [ "$wanted" = list ]; then
        echo "size $group"
    else
        "$@"
    fi
}

wanted=${1:-all} status=0
root=$PWD
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder" &&
    ln -s "$root/statesampler.h" "$root/examples" . && groups && exit $status

#!/bin/sh
# sizes.sh - how much code and stack the header takes, and the limits:
#     sh tests/sizes.sh        prints every size with its limit in brackets
#     sh tests/sizes.sh GROUP  prints those of a group
#     sh tests/sizes.sh list   prints the groups
# What cannot be measured here has a line "skip NAME: TOOL is not here".

. tests/common.sh

# How a small core's programs are compiled and linked. The linker for AVR wants
# to know how much flash there is.
core() { # NAME
    case $1 in
    Cortex-M0) prefix=arm-none-eabi- flags='-mcpu=cortex-m0 -mthumb' link= ;;
    RISC-V) prefix=riscv64-unknown-elf- link='-m elf32lriscv'
        flags='-march=rv32imc -mabi=ilp32 -misa-spec=2.2' ;;
    RV64) prefix=riscv64-unknown-elf- link=
        flags='-march=rv64imac -mabi=lp64 -misa-spec=2.2' ;;
    s390x) prefix=s390x-linux-gnu- flags= link= ;;
    AVR) prefix=avr- flags='-mmcu=atmega1284p' link='-m avr51' ;;
    esac
}

# The sizes that one compilation tells are a group: a name, and the call that
# prints them with their limits.
groups() {
    group 'code, Cortex-M0' code Cortex-M0 1536 8192 12800
    group 'code, RISC-V' code RISC-V 1536 10752 18432
    group 'code, AVR' code AVR 6144 37888 61440
    for core in Cortex-M0 RISC-V AVR; do
        for level in -Os -O2 -O3; do
            group "stack, $core $level" core_stack $core $level 1024
        done
    done
    group 'stack, RV64 -O3' core_stack RV64 -O3 4096
    group 'stack, s390x -O3' core_stack s390x -O3 6144
    for level in -O0 -Os -O2 -O3; do
        group "stack, gcc $level" gcc_stack $level
    done
    for option in $x86; do
        group "stack, gcc -O3 $option" gcc_stack -O3 $option
    done
}

# Without the compiler's helpers.
code() { # CORE LIMIT_OF_PERM OF_SAMPLER OF_SAMPLER_AND_MIX
    core $1
    freestanding core.o ${prefix}gcc $flags -Os -ffunction-sections \
        -fdata-sections
    size "code, $1 -Os, perm" $2 $(code_of $1 '_perm_')
    size "code, $1 -Os, sampler" $3 $(code_of $1 \
        '^statesampler_(perm_|[^m]|m[^i])' '_error$|_audit_')
    size "code, $1 -Os, sampler and mix" $4 \
        $(code_of $1 '' '_error$|_audit_')
}

# Bytes of code and constants of a program that uses the public functions of a
# pattern, but those of another: its table of pointers to them is the root, and
# what they do not reach is thrown away.
code_of() { # CORE PATTERN [BUT]
    ${prefix}nm core.o | sed -n 's/.* T //p' | grep -E -e "$2" |
        grep -vE -e "${3:-^$}" >used
    { sed 's/.*/extern char &[];/' used
      echo 'extern const void *const root[];'
      echo 'const void *const root[] = {'
      sed 's/.*/&,/' used
      echo '};'
    } | compile c root.o ${prefix}gcc $flags -std=c99 -ffreestanding -Os \
        -fdata-sections
    ${prefix}ld $link --gc-sections -e root \
        --unresolved-symbols=ignore-all -o part.elf root.o core.o
    case $1 in AVR) pointer=2 ;; *) pointer=4 ;; esac
    echo $(($(${prefix}size part.elf | awk 'END { print $1 + $2 }') -
        pointer * $(wc -l <used)))
}

# Without vectors the limit is the same for all functions, and the compiler's
# helpers are left out, as above.
core_stack() { # CORE LEVEL LIMIT
    core $1
    case $1 in
    AVR) avr_graph $2 ;;
    *) graph ${prefix}gcc $flags $2 -ffreestanding ;;
    esac
    size "stack, $1 $2" $3 $(deepest all)
}

gcc_stack() { # OPTION...
    graph gcc "$@"
    size "stack, gcc $*" 1024 $(deepest small)
    size "stack in bulk, gcc $*" 4096 $(deepest bulk)
}

# What calls what, and what a frame needs, as gcc counts it: core.ci.
graph() { # COMMAND...
    source_of IMPLEMENTATION |
        compile c core.o "$@" -std=c99 -fcallgraph-info=su
}

# Debian's compiler for AVR is too old to write who calls whom: what it has
# compiled says so. A jump to where a function begins is a call, too.
avr_graph() { # LEVEL
    source_of IMPLEMENTATION | compile c core.o avr-gcc $flags $1 -std=c99 \
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
                bulk = f ~ /^statesampler_(perm_fill|(mix_)?(next|at))$/
                if (which != "all" && bulk != (which == "bulk")) continue
                size = deepest(f)
                if (size > most) most = size
            }
            print most + 0
        }' core.ci
}

# --- Measuring ----------------------------------------------------------------

size() { # NAME LIMIT BYTES
    echo "$1: $3 bytes ($2)"
}

group() { # NAME CALL...
    name=$1 compiler=gcc
    shift
    case $name in
    *Cortex*) compiler=arm-none-eabi-gcc ;;
    *RISC-V* | *RV64*) compiler=riscv64-unknown-elf-gcc ;;
    *s390x*) compiler=s390x-linux-gnu-gcc ;;
    *AVR*) compiler=avr-gcc ;;
    esac
    [ "$wanted" = all ] || [ "$wanted" = list ] || [ "$wanted" = "$name" ] ||
        return 0
    if ! command -v $compiler >/dev/null; then
        echo "skip $name: $compiler is not here"
    elif [ "$wanted" = list ]; then
        echo "size $name"
    else
        "$@"
    fi
}

wanted=${1:-all}
header=$PWD/statesampler.h
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder" &&
    ln -s "$header" . && groups

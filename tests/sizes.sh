#!/bin/sh
# sizes.sh - how much code and stack the header takes, and the limits:
#     sh tests/sizes.sh        prints every size with its limit in brackets
#     sh tests/sizes.sh NAME   prints one, and fails if it is above its limit
#     sh tests/sizes.sh list   prints the names
# What cannot be measured here has a line "skip NAME: TOOL is not here".

. tests/common.sh

# How a small core's programs are compiled and linked. The linker for AVR wants
# to know how much flash there is.
core() { # NAME
    case $1 in
    Cortex-M0) prefix=arm-none-eabi- flags='-mcpu=cortex-m0 -mthumb' link= ;;
    RISC-V) prefix=riscv64-unknown-elf- link='-m elf32lriscv'
        flags='-march=rv32imc -mabi=ilp32 -misa-spec=2.2' ;;
    AVR) prefix=avr- flags='-mmcu=atmega1284p' link='-m avr51' ;;
    esac
}

# A name, its limit in bytes, and the command that prints the bytes.
sizes() {
    code Cortex-M0 1536 8192 12800
    code RISC-V 1536 10752 18432
    code AVR 6144 37888 61440
    # Without vectors the limit is the same for all functions.
    for core in Cortex-M0 RISC-V AVR; do
        for level in -Os -O2 -O3; do
            size "stack, $core $level" 1024 core_stack $core $level
        done
    done
    for level in -O0 -Os -O2 -O3; do
        gcc_stack $level
    done
    for option in $x86; do
        gcc_stack -O3 $option
    done
}

code() { # CORE LIMIT_OF_PERM OF_SAMPLER OF_SAMPLER_AND_MIX
    size "code, $1 -Os, perm" $2 code_of $1 '_perm_'
    size "code, $1 -Os, sampler" $3 code_of $1 \
        '^statesampler_(perm_|[^m]|m[^i])' '_error$|_audit_'
    size "code, $1 -Os, sampler and mix" $4 code_of $1 '' '_error$|_audit_'
}

gcc_stack() { # OPTION...
    size "stack, gcc $*" 1024 stack_of small gcc "$@"
    size "stack in bulk, gcc $*" 4096 stack_of bulk gcc "$@"
}

# Bytes of code and constants of a program that uses the public functions of a
# pattern, but those of another: its table of pointers to them is the root, and
# what they do not reach is thrown away. Without the compiler's helpers.
code_of() { # CORE PATTERN [BUT]
    core $1
    freestanding core.o ${prefix}gcc $flags -Os
    ${prefix}nm core.o | sed -n 's/.* T //p' | grep -E -e "$2" |
        grep -vE -e "${3:-^$}" >used
    { source_of IMPLEMENTATION
      echo 'extern const void *const root[];'
      echo 'const void *const root[] = {'
      sed 's/.*/(const void *)&,/' used
      echo '};'
    } | compile c part.o ${prefix}gcc $flags -w -std=c99 -ffreestanding -Os \
        -ffunction-sections -fdata-sections
    ${prefix}ld $link --gc-sections -e root \
        --unresolved-symbols=ignore-all -o part.elf part.o
    case $1 in AVR) pointer=2 ;; *) pointer=4 ;; esac
    echo $(($(${prefix}size part.elf | awk 'END { print $1 + $2 }') -
        pointer * $(wc -l <used)))
}

# Without the compiler's helpers, as above.
core_stack() { # CORE LEVEL
    core $1
    case $1 in
    AVR) avr_graph $2 && deepest all ;;
    *) stack_of all ${prefix}gcc $flags $2 -ffreestanding ;;
    esac
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

# What calls need, as gcc counts each frame.
stack_of() { # bulk|small|all COMMAND...
    which=$1
    shift
    source_of IMPLEMENTATION |
        compile c core.o "$@" -std=c99 -fcallgraph-info=su
    deepest $which
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
                if (f !~ /^statesampler_/ || f ~ /^statesampler_priv_/) continue
                bulk = f ~ /^statesampler_(perm_fill|(mix_)?(next|at))$/
                if (which != "all" && bulk != (which == "bulk")) continue
                size = deepest(f)
                if (size > most) most = size
            }
            print most + 0
        }' core.ci
}

# --- Measuring ----------------------------------------------------------------

size() { # NAME LIMIT CALL...
    name=$1 limit=$2 compiler=gcc
    shift 2
    case $name in
    *Cortex*) compiler=arm-none-eabi-gcc ;;
    *RISC-V*) compiler=riscv64-unknown-elf-gcc ;;
    *AVR*) compiler=avr-gcc ;;
    esac
    [ "$wanted" = all ] || [ "$wanted" = list ] || [ "$wanted" = "$name" ] ||
        return 0
    if ! command -v $compiler >/dev/null; then
        echo "skip $name: $compiler is not here"
    elif [ "$wanted" = list ]; then
        echo "size $name"
    else
        bytes=$("$@")
        echo "$name: $bytes bytes ($limit)"
        [ "$bytes" -gt 0 ] && [ "$bytes" -le "$limit" ] || high=1
    fi
}

wanted=${1:-all} high=0
header=$PWD/statesampler.h
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder" &&
    ln -s "$header" . && sizes
# A bench prints what is too high, too.
[ "$wanted" = all ] || exit $high

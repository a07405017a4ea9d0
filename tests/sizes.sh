#!/bin/sh
# sizes.sh - how much code and stack the header takes, and the limits:
#     sh tests/sizes.sh        prints every size with its limit in brackets
#     sh tests/sizes.sh GROUP  prints those of a group
#     sh tests/sizes.sh list   prints the groups
# A size above its limit is marked. What cannot be measured here has a line
# "skip NAME: TOOL is not here".

# Prints the limit of a size.
limit_of() { # NAME
    case $1 in
    'code, Cortex-M0 -Os, perm') echo 1536 ;;
    'code, Cortex-M0 -Os, sampler') echo 7600 ;;
    'code, Cortex-M0 -Os, sampler and mix') echo 12500 ;;
    'code, RISC-V -Os, perm') echo 1536 ;;
    'code, RISC-V -Os, sampler') echo 9900 ;;
    'code, RISC-V -Os, sampler and mix') echo 16200 ;;
    'code, AVR -Os, perm') echo 6144 ;;
    'code, AVR -Os, sampler') echo 30200 ;;
    'code, AVR -Os, sampler and mix') echo 50500 ;;
    'flash, Cortex-M0 -Os, perm') echo 2200 ;;
    'flash, Cortex-M0 -Os, sampler') echo 8200 ;;
    'flash, Cortex-M0 -Os, sampler and mix') echo 13100 ;;
    'flash, Cortex-M0 -Os, a shuffle') echo 6400 ;;
    'flash, Cortex-M0 -Os, a shuffle, ONLY_SHUFFLE') echo 5300 ;;
    'flash, RISC-V -Os, perm') echo 4000 ;;
    'flash, RISC-V -Os, sampler') echo 12000 ;;
    'flash, RISC-V -Os, sampler and mix') echo 18300 ;;
    'flash, RISC-V -Os, a shuffle') echo 9400 ;;
    'flash, RISC-V -Os, a shuffle, ONLY_SHUFFLE') echo 7500 ;;
    'flash, AVR -Os, perm') echo 6500 ;;
    'flash, AVR -Os, sampler') echo 31000 ;;
    'flash, AVR -Os, sampler and mix') echo 50500 ;;
    'flash, AVR -Os, a shuffle') echo 20200 ;;
    'flash, AVR -Os, a shuffle, ONLY_SHUFFLE') echo 16500 ;;
    'flash, ATmega328P -Os, a shuffle') echo 20000 ;;
    'flash, ATmega328P -Os, a shuffle that says errors') echo 32768 ;;
    'stack, RV64'*) echo 4096 ;;
    'stack, s390x'*) echo 6144 ;;
    'stack, '*) echo 1024 ;;
    'stack in bulk, '*) echo 4096 ;;
    esac
}

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
    for core in Cortex-M0 RISC-V AVR; do
        group "code and flash, $core" parts $core
    done
    group 'flash, ATmega328P (AVR)' program
    for core in Cortex-M0 RISC-V AVR; do
        for level in -Os -O2 -O3; do
            group "stack, $core $level" core_stack $core $level
        done
    done
    group 'stack, RV64 -O3' core_stack RV64 -O3
    group 'stack, s390x -O3' core_stack s390x -O3
    for level in -O0 -Os -O2 -O3; do
        group "stack, gcc $level" gcc_stack $level
    done
    for option in $x86; do
        group "stack, gcc -O3 $option" gcc_stack -O3 $option
    done
}

# Code is without the compiler's helpers; flash is with them, as in a linked
# program. A shuffle that is saved and loaded is also asked of the small build.
parts() { # CORE
    core $1
    core_for_size
    for what in code flash; do
        helpers=
        [ $what = code ] ||
            helpers=$(${prefix}gcc $flags -print-libgcc-file-name)
        size "$what, $1 -Os, perm" $(code_of $1 '_perm_')
        size "$what, $1 -Os, sampler" $(code_of $1 \
            '^statesampler_(perm_|[^m]|m[^i])' '_error$|_audit_')
        size "$what, $1 -Os, sampler and mix" $(code_of $1 '' '_error$|_audit_')
    done
    for only in '' ', ONLY_SHUFFLE'; do
        core_for_size ${only:+-DSTATESAMPLER_ONLY_SHUFFLE}
        size "flash, $1 -Os, a shuffle$only" $(code_of $1 \
            '^statesampler_(init|next|save|load)$')
    done
}

core_for_size() { # FLAG...
    freestanding core.o ${prefix}gcc $flags -Os -ffunction-sections \
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
        --unresolved-symbols=ignore-all -o part.elf root.o core.o $helpers
    case $1 in AVR) pointer=2 ;; *) pointer=4 ;; esac
    echo $(($(${prefix}size part.elf | awk 'END { print $1 + $2 }') -
        pointer * $(wc -l <used)))
}

# Without vectors the limit is the same for all functions, and the compiler's
# helpers are left out, as above.
core_stack() { # CORE LEVEL
    core $1
    case $1 in
    AVR) avr_graph $2 ;;
    *) graph ${prefix}gcc $flags $2 -ffreestanding ;;
    esac
    size "stack, $1 $2" $(deepest all)
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
                bulk = f ~ /^statesampler_(perm_(fill|map)|(mix_)?(next|at))$/
                if (which != "all" && bulk != (which == "bulk")) continue
                size = deepest(f)
                if (size > most) most = size
            }
            print most + 0
        }' core.ci
}

# --- Measuring ----------------------------------------------------------------

size() { # NAME BYTES
    name=$1 bytes=$2
    limit=$(limit_of "$name") missed=
    [ "$bytes" -le "$limit" ] || missed=' MISSED' status=1
    echo "$name: $bytes bytes ($limit)$missed"
}

group() { # NAME CALL...
    group=$1 compiler=gcc
    shift
    case $group in
    *Cortex*) compiler=arm-none-eabi-gcc ;;
    *RISC-V* | *RV64*) compiler=riscv64-unknown-elf-gcc ;;
    *s390x*) compiler=s390x-linux-gnu-gcc ;;
    *AVR*) compiler=avr-gcc ;;
    esac
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
root=$PWD header=$PWD/statesampler.h
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder" &&
    ln -s "$header" . && groups && exit $status

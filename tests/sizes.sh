#!/bin/sh
# sizes.sh - how much code and stack the header takes, and the limits:
#     sh tests/sizes.sh        prints every size with its limit in brackets
#     sh tests/sizes.sh NAME   prints one, and fails if it is above its limit
#     sh tests/sizes.sh list   prints the names
# What cannot be measured here has a line "skip NAME: TOOL is not here".

. tests/common.sh
cortex='arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb'

# A name, its limit in bytes, and the command that prints the bytes.
sizes() {
    size 'code, Cortex-M0 -Os, perm' 1536 code_of '_perm_'
    size 'code, Cortex-M0 -Os, sampler' 8192 \
        code_of '^statesampler_(perm_|[^m]|m[^i])' '_error$|_audit_'
    size 'code, Cortex-M0 -Os, sampler and mix' 12800 \
        code_of '' '_error$|_audit_'
    # Without vectors the limit is the same for all functions.
    for level in -Os -O2 -O3; do
        size "stack, Cortex-M0 $level" 1024 \
            stack_of all $cortex $level -ffreestanding
    done
    for level in -O0 -Os -O2 -O3; do
        gcc_stack $level
    done
    for option in $x86; do
        gcc_stack -O3 $option
    done
}

gcc_stack() { # OPTION...
    size "stack, gcc $*" 1024 stack_of small gcc "$@"
    size "stack in bulk, gcc $*" 4096 stack_of bulk gcc "$@"
}

# Bytes of code and constants of a program that uses the public functions of a
# pattern, but those of another: its table of pointers to them is the root, and
# what they do not reach is thrown away. Without the compiler's helpers.
code_of() { # PATTERN [BUT]
    freestanding core.o $cortex -Os
    arm-none-eabi-nm core.o | sed -n 's/.* T //p' | grep -E -e "$1" |
        grep -vE -e "${2:-^$}" >used
    { source_of IMPLEMENTATION
      echo 'extern const void *const root[];'
      echo 'const void *const root[] = {'
      sed 's/.*/(const void *)&,/' used
      echo '};'
    } | compile c part.o $cortex -w -std=c99 -ffreestanding -Os \
        -ffunction-sections -fdata-sections
    arm-none-eabi-ld --gc-sections -e root --unresolved-symbols=ignore-all \
        -o part.elf part.o
    echo $(($(arm-none-eabi-size part.elf | awk 'END { print $1 }') -
        4 * $(wc -l <used)))
}

# The deepest stack of any public function, as gcc counts each frame: of those
# that serve in bulk, of the others, or of all.
stack_of() { # bulk|small|all COMMAND...
    which=$1
    shift
    source_of IMPLEMENTATION |
        compile c core.o "$@" -std=c99 -fcallgraph-info=su
    awk -F '"' -v which=$which '
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
    case $name in *Cortex*) compiler=arm-none-eabi-gcc ;; esac
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

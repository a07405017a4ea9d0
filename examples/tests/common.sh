# common.sh - what the files of cases here share.

# Makes examples, without a warning, and links to them in the folder `bin`. The
# header's functions are compiled once for all; grow.c has its own, with stb_ds.h.
core=build/test/cc/core.o
strict=$(echo $STRICT)
program() { # NAME...
    mkdir -p bin
    quietly make_once $core
    for name; do
        if [ $name = grow ]; then
            quietly make_once build/$name CFLAGS="$CFLAGS $strict"
        else
            quietly make_once build/$name LDFLAGS="$LDFLAGS $core" \
                CFLAGS="$CFLAGS $strict -DSTATESAMPLER_IMPLEMENTATION_INCLUDED"
        fi
        ln -sf "$root/build/$name" bin/$name
    done
}

# Compiles a source file of a test's own, or a changed example, with the same.
compile_here() { # PROGRAM SOURCE [FLAG...]
    name=$1 source=$2
    shift 2
    quietly make_once $core
    ${CC:-cc} -std=c99 -O1 -Werror \
        -DSTATESAMPLER_IMPLEMENTATION_INCLUDED -I. \
        -Iexamples "$@" -o "$name" "$source" "$root/$core" -lm -pthread
}

# Root may read everything, unless it gives up what makes it root.
as_anyone() { # COMMAND...
    if [ "$(id -u)" = 0 ]; then
        setpriv --bounding-set=-all --inh-caps=-all "$@"
    else
        "$@"
    fi
}

# Kills a program in its step number STEPS, in which it waits for a byte that
# does not come. Adds its output to `served`.
is_killed() { # STEPS PROGRAM ARGUMENT...
    steps=$1
    shift
    rm -f gate pipe
    mkfifo gate pipe
    "$@" <gate >pipe 2>err &
    pid=$!
    exec 4>gate 3<pipe
    numbers 2 "$steps" | tr -d '0-9' >&4
    while [ "$steps" -gt 0 ] && read -r line <&3; do
        echo "$line" >>served
        case $line in step*) steps=$((steps - 1)) ;; esac
    done
    code=0
    kill -9 $pid && wait $pid || code=$?
    exec 4>&- 3<&-
    equal $code 137
}

# Each run begins at the step in which the one before it was killed.
goes_on() { # KILLS FILE
    awk -v kills="$1" '{
            again += $2 == step && NR > 1
            gaps += NR > 1 && $2 != step && $2 != step + 1
            step = $2
        }
        END { exit again != kills || gaps > 0 }' "$2" || {
        cat "$2"
        return 1
    }
}

# A program whose next run has other groups, a seed or steps by an edit: it
# refuses the state of the run before.
refuses_other() { # PROGRAM FIELD EDIT [ARGUMENT]
    sed "$3" examples/$1.c >other.c
    compile_here other other.c
    status 1 ./other $4
    finds "^$1: the state has another $2" err
}

# Runs a command in a folder that has only the files that examples read.
in_new_folder() { # COMMAND...
    rm -rf run
    mkdir run
    numbers 1 2300 >run/text
    numbers 1 600 >run/low
    numbers 601 1200 >run/high
    (cd run && "$@" </dev/null)
}

answers_help() { # PROGRAM
    status 0 bin/$1 --help
    finds "^usage: \(.*/\)\?$1" said
    empty err
    equal "$(awk 'length > 79' said)" ""
}

refuses_nonsense() { # PROGRAM
    status 2 bin/$1 --nonsense
    finds "^$1: .*--nonsense" err
    has err "Try '$1 --help'."
    empty said
}

notices_full_disk() { # PROGRAM [ARGUMENT...]
    [ -c /dev/full ] || return 0
    code=0
    in_new_folder "$PWD/bin/$@" >/dev/full 2>err || code=$?
    equal $code 1
    finds "^$1: .*No space left on device" err
}

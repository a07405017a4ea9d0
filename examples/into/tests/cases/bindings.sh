# bindings.sh - the programs of examples/into/bindings.md, in other languages, as the
# page has them.

# Writes a language's program to FILE, and to `commands` the commands of its
# group and its own.
take() { # LANGUAGE FENCE FILE
    : >commands
    awk -v language="### $1" -v fence="$2" -v program="$3" '
        /^```/ {
            kind = kind == "" ? substr($0, 4) : ""
            next
        }
        kind == "" && /^## / { group = 1; own = 0; commands = "" }
        kind == "" && /^### / {
            group = 0
            own = $0 == language || index($0, language " (") == 1
            if (own) printf "%s", commands >"commands"
        }
        kind == "sh" && group { commands = commands $0 "\n" }
        kind == "sh" && own { print >"commands" }
        kind == fence && own { print >program }
        ' examples/into/bindings.md
    [ -s "$3" ] && [ -s commands ]
}

# The samples that C serves, a line for each batch.
batches() {
    made build/test/cc/serve
    for epoch in 0 1; do
        "$root/build/test/cc/serve" num_samples=10000 seed=42 epoch=$epoch >one
        sort -n one | cmp - numbers
        xargs -n 256 <one
    done
}

# A description that a program declares itself has the header's fields.
same_fields() { # PROGRAM
    sed -n '/^typedef struct statesampler_desc {/,/^}/p' statesampler.h |
        sed -n 's/^ *uint.*_t \([a-z_]*\);.*/\1/p' >fields
    at_least 13 "$(wc -l <fields)" fields
    tr -cs a-z_ '\n' <"$1" | grep -xFf fields | awk '!seen[$0]++' >declared
    ! grep -qx window declared || cmp fields declared
}

# The page and its programs have the manual's sizes, which sizes.sh compares
# with what compilers say.
sizes() {
    page=examples/into/bindings.md
    sampler=$(sed -n 's/.*`statesampler` is .* \([0-9]*\) bytes,.*/\1/p' $page)
    source=$(sed -n 's/.*`statesampler_source` (\([0-9]*\) by.*/\1/p' $page)
    grep -q "A sampler is at most $sampler bytes, a source $source," statesampler.h
    words=$((sampler / 8))
    grep -qw "aligned to 8: $words words of" $page
    grep -E '^ *(s|var s|type Sampler) = ' $page >declared
    [ "$(wc -l <declared)" = 3 ] && [ "$(grep -cw $words declared)" = 3 ]
}

# Builds a program, kills it in mid-epoch and runs it again: it goes on where it
# was and repeats one step at most. The pipe holds less than two epochs, so a
# program that saves fast waits in it.
resumes() { # LANGUAGE FENCE FILE
    take "$1" $2 $3
    same_fields $3
    seq 0 9999 >numbers
    batches >all
    sed '$d' commands >build
    quietly sh -e build
    run=$(tail -n 1 commands)
    unset PYTHONUNBUFFERED # it hides a print that is not flushed
    mkfifo pipe
    sh -c "exec $run" >pipe 2>errors &
    {
        for line in $(seq 20); do
            read -r line || break
            echo "$line"
        done
        sleep 0.1 # lines that are not flushed are late by now
        kill -KILL $!
        cat
    } <pipe >first
    status=0
    wait $! || status=$?
    [ $status = 137 ] || {
        echo "it ended by itself, with status $status"
        cat errors
        return 1
    }
    sh -c "$run" >second
    steps=$(wc -l <all) done=$(wc -l <first) left=$(wc -l <second)
    echo "note: killed after $done steps of $steps"
    [ $((done + left - steps)) -le 1 ] && [ $left -lt $steps ] || {
        echo "the second run served $left"
        return 1
    }
    head -n $done all >same
    head -n $done first | cmp - same # a line may be cut where it was killed
    head -n $((steps - left)) first | cat - second | cmp - all
    sh -c "$run" | nothing
    printf x | dd of=resume.state bs=1 seek=20 conv=notrunc 2>errors
    fails sh -c "$run"
    grep -q "the state's bytes have changed" said || {
        echo 'a damaged state was taken'
        return 1
    }
}

with_go() {
    export GOCACHE="$PWD/cache" GOFLAGS= GO111MODULE=off
    resumes Go go resume.go
}

with_zig() {
    export ZIG_GLOBAL_CACHE_DIR="$PWD/cache" ZIG_LOCAL_CACHE_DIR="$PWD/cache"
    resumes Zig zig resume.zig
}

list_tests() {
    add_test 'examples/into/bindings.md has the sizes of the manual' sizes
    name='resumes after kill -9, as examples/into/bindings.md says'
    ! tool python3 'bindings: Python' || add_test "Python $name" \
        resumes Python python resume.py
    ! tool luajit 'bindings: LuaJIT' || add_test "LuaJIT $name" \
        resumes LuaJIT lua resume.lua
    ! tool mcs 'bindings: C#' || ! tool mono 'bindings: C#' ||
        add_test "C# $name" resumes 'C\#' csharp resume.cs
    ! tool rustc 'bindings: Rust' || add_test "Rust $name" \
        resumes Rust rust resume.rs
    ! tool zig 'bindings: Zig' || add_test "Zig $name" with_zig
    ! tool go 'bindings: Go' || add_test "Go $name" with_go
}

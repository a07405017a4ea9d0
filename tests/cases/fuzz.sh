# fuzz.sh - the fuzzers' harnesses on their corpora; `make fuzz` looks for more.

. tests/fuzz/harnesses.sh

# What the replay of a harness printed; so much that an empty corpus shows.
replayed() { # NAME
    at_least 10 "$(sed -n 's/^\([0-9]*\) inputs$/\1/p' said)" "inputs of $1"
    inputs=$((inputs + $(sed -n 's/^\([0-9]*\) inputs$/\1/p' said)))
}

# Where the harnesses write, until the test is answered.
files_in_memory() {
    TMPDIR=$(files_of_fuzz)
    trap 'rm -rf "$TMPDIR"' EXIT
    trap 'exit 1' INT TERM HUP
}

# By this computer's compiler, with a main of our own.
fuzz_replay() {
    inputs=0 harnesses=0
    made build/test/cc/core.o
    harnesses_here >list 2>/dev/null
    files_in_memory
    while read -r name home need length count flags; do
        compile_harness ./replay $home/$name.c \
            "$root/build/test/cc/core.o" "$flags" $CC -std=c99 -O0
        quietly ./replay $home/corpus/$name/*
        replayed $name
        harnesses=$((harnesses + 1))
    done <list
    echo "note: $harnesses harnesses, $inputs inputs"
}

# Of the inputs, in percent.
share() { # WHAT
    sed -n "s/^shares of.* $1 \([0-9]*\)\..*/\1/p" said
}

# By libFuzzer with sanitizers, and some inputs more of its own making, the
# same each time: what it learns from comparisons would have addresses in it.
# Neither is the harness optimised nor the core, which others ask, too,
# instrumented: that would take longer to compile than it runs. How far inputs
# come is what a fuzzer is worth.
fuzz_short() {
    made build/test/clang-sanitize/core.o
    harnesses_here >list 2>/dev/null
    mkdir new # what is new goes into the first folder
    inputs=0
    files_in_memory
    while read -r name home need length count flags; do
        compile_harness ./fuzzer $home/$name.c \
            "$root/build/test/clang-sanitize/core.o" "$flags" \
            clang $fuzz_flags -O0 $(echo $STRICT) -Wmissing-prototypes \
            -fsanitize=fuzzer -fno-sanitize-coverage=trace-cmp -DFUZZER
        FUZZ_SHARES=1 quietly ./fuzzer -seed=1 -runs=$count -use_cmp=0 \
            -len_control=0 -max_len=$length -timeout=60 new \
            $home/corpus/$name </dev/null
        rm -f new/*
        at_least 30 "$(share taken)" "% of the inputs of $name taken"
        ! grep -q 'right check word' said ||
            at_least 75 "$(share 'right check word')" "% of $name are states"
        inputs=$((inputs + $(sed -n 's/^shares of \([0-9]*\).*/\1/p' said)))
    done <list
    echo "note: $inputs inputs"
}

# What it cannot do is said before anything is compiled: libFuzzer would take
# 0 seconds for no end.
fuzz_refuses() {
    for words in '0 perm' 'abc perm' '-1 perm' '1h perm' '4294967296 perm' \
        '9 nothing'; do
        if (cd "$root" && ONLY=${words#* } &&
            export ONLY && timeout 20 sh tests/fuzz/run.sh ${words% *}) >said ||
            ! grep -q '^fuzz: ' said; then
            echo "$words: not refused"
            return 1
        fi
    done
    for words in CASES=0 CASES=abc CASES=-1 SEED=abc "SEED=a'b"; do
        if (cd "$root" && MAKEFLAGS= timeout 20 "$MAKE" -s fuzz-agree \
            "$words") >said 2>/dev/null || ! grep -q '^fuzz-agree: ' said; then
            echo "$words: not refused"
            return 1
        fi
    done
}

list_tests() {
    harnesses_here 2>&1 >/dev/null | skips
    add_test 'make fuzz refuses what would never end or ask nothing' fuzz_refuses
    [ -d tests/fuzz/corpus ] || {
        skip "the fuzzers' corpora" 'tests/fuzz/corpus, which git has,'
        return
    }
    add_test "the fuzzers' corpora, replayed" fuzz_replay
    tool clang 'fuzz, for a short time' || return 0
    if has_fuzzer $lists/fuzzer clang; then
        add_test 'the fuzzers run, and get in (short)' fuzz_short
    else
        skip_dep 'fuzz, for a short time' "clang's fuzzer"
    fi
}

#!/bin/sh
# run.sh SECONDS - what `make fuzz` runs: each harness of harnesses.sh for so
# long, under libFuzzer and, where it is here, under AFL++. ONLY=pattern runs
# those whose name it matches. It prints a row of a table for each:
#     harness, fuzzer, commit, date, seconds, executions, finds, and which share
#     of the inputs came how far
# build/fuzz/NAME has the two programs; what was new, in corpus; and in finds
# each input that broke something, as a program says that is given it.

export LC_ALL=C
. tests/fuzz/harnesses.sh

seconds=${1:-60}
case $seconds in *[!0-9]* | 0* | ??????????*) # libFuzzer takes 0 for no end
    echo "fuzz: SECONDS is a whole number above 0, of at most 9 digits, not" \
        "$seconds"
    exit 1
    ;;
esac
[ -d tests/fuzz/corpus ] || {
    echo "fuzz: tests/fuzz/corpus is in git, not in a release's archive"
    exit 1
}
found=0
mkdir -p build/fuzz
harnesses_here >build/fuzz/list
{ cut -d ' ' -f 1 build/fuzz/list; echo module; } |
    grep -Eq "${ONLY:-.}" || {
    echo "fuzz: no harness matches $ONLY"
    exit 1
}
TMPDIR=$(files_of_fuzz) || exit 1
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 1' INT TERM HUP

# One that executes nothing has found something, too: in itself.
row() { # NAME FUZZER EXECUTIONS FINDS SHARES
    echo "| $1 | $2 | $commit | $(date -u +%F) | $seconds | $3 | $4 | $5 |"
    [ "$4" = 0 ] && [ -n "$3" ] || found=1
}

failed() { # NAME
    echo "FAIL fuzz: $1 cannot be compiled"
    found=1
}

# It ends at the first find. One that was found before has the file's name of
# before, so it is the status that says whether there was any.
libfuzzer() { # NAME CORPUS LENGTH
    folder=build/fuzz/$1 broken=0
    FUZZ_SHARES=1 "$folder/libfuzzer" -max_total_time="$seconds" \
        -max_len="$3" -len_control=0 -timeout=10 -print_final_stats=1 \
        -artifact_prefix="$folder/finds/" \
        "$folder/corpus" "$2" >"$folder/libfuzzer.log" 2>&1 ||
        broken=1
    row "$1" libFuzzer "$(sed -n 's/^stat::number_of_executed_units: *//p' \
        "$folder/libfuzzer.log")" $broken \
        "$(sed -n 's/^shares of [0-9]* inputs: //p' "$folder/libfuzzer.log")"
}

# What it keeps goes where libFuzzer finds it the next time.
afl() { # NAME CORPUS
    folder=build/fuzz/$1 broken=0
    rm -rf "$folder/afl"
    AFL_NO_UI=1 AFL_NO_AFFINITY=1 AFL_SKIP_CPUFREQ=1 \
        AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 \
        afl-fuzz -V "$seconds" -t 10000 -i "$2" \
        -o "$folder/afl" -- "$folder/aflplusplus" >"$folder/afl.log" 2>&1
    for file in "$folder"/afl/default/queue/id*; do
        [ ! -f "$file" ] || cp "$file" "$folder/corpus/$(basename "$file" |
            sed 's/[^A-Za-z0-9]/-/g')"
    done
    for file in "$folder"/afl/default/crashes/id* \
        "$folder"/afl/default/hangs/id*; do
        [ -f "$file" ] || continue
        broken=$((broken + 1))
        cp "$file" "$folder/finds/afl-$(basename "$file" |
            sed 's/[^A-Za-z0-9]/-/g')"
    done
    row "$1" AFL++ "$(sed -n 's/^execs_done *: *//p' \
        "$folder/afl/default/fuzzer_stats")" $broken -
}

run() { # NAME FOLDER LENGTH FLAGS
    folder=build/fuzz/$1 source=$2/$1.c corpus=$2/corpus/$1
    mkdir -p "$folder/corpus" "$folder/finds"
    compile_harness "$folder/libfuzzer" "$source" build/fuzz/core.o "$4" \
        clang $fuzz_flags -O1 -fsanitize=fuzzer -DFUZZER &&
        libfuzzer "$1" "$corpus" "$3" || failed "$1"
    [ -z "$afl" ] || {
        compile_harness "$folder/aflplusplus" "$source" build/fuzz/core-afl.o \
            "$4" afl-clang-fast $fuzz_flags -O1 -fsanitize=fuzzer -DFUZZER \
            >"$folder/afl.log" 2>&1 && afl "$1" "$corpus" || failed "$1"
    }
}

# The JavaScript module, each time with other inputs.
module() {
    end=$(($(date +%s) + seconds)) number=$(date +%s) calls=0 taken=- broken=0
    limit=120 # where 3000 rounds take a few seconds
    mkdir -p build/fuzz/module/finds
    while [ "$(date +%s)" -lt $end ]; do
        number=$((number + 1))
        # A call that never ends keeps node from saying so.
        timeout --foreground -k 5 "$limit" node examples/js/tests/drawn.mjs \
            build/web/statesampler.mjs 3000 $number \
            >build/fuzz/module/log 2>&1 || {
            echo "seed $number: status $? (124, 137: a call did not end in" \
                "$limit seconds)" >>build/fuzz/module/log
            cp build/fuzz/module/log build/fuzz/module/finds/$number
            broken=1
            break
        }
        said=$(sed -n 's/^note: \(.*\) taken$/\1/p' build/fuzz/module/log)
        calls=$((calls + ${said%% calls*}))
        taken="taken ${said##*, }"
    done
    row module drawn $calls $broken "$taken;"
}

# Those that clang compiles.
compiled() {
    core="$fuzz_flags -O1 $STB_FLAGS ${STB_FLAGS:+-DSTATESAMPLER_STB_DS} -I."
    clang $core -fsanitize=fuzzer-no-link -c -o build/fuzz/core.o \
        tests/core.c || exit 1
    afl=
    if command -v afl-fuzz >/dev/null; then
        afl-clang-fast $core -c -o build/fuzz/core-afl.o tests/core.c \
            >build/fuzz/afl.log 2>&1 && afl=1
    else
        echo 'skip fuzz: under AFL++: afl-fuzz is not here'
    fi
    while read -r name folder need length inputs flags; do
        echo "$name" | grep -Eq "${ONLY:-.}" || continue
        run "$name" "$folder" "$length" "$flags" </dev/null
    done <build/fuzz/list
}

commit=$(git describe --always --dirty --exclude '*' 2>/dev/null || echo -)
echo '| harness | fuzzer | commit | date | seconds | executions | finds |' \
    'shares |'
echo '|---|---|---|---|--:|--:|--:|---|'
if has_fuzzer build/fuzz clang; then
    compiled
else
    echo "skip fuzz: in C: clang's fuzzer is not here"
fi
if echo module | grep -Eq "${ONLY:-.}"; then
    if command -v node >/dev/null && [ -f build/web/statesampler.mjs ]; then
        module
    else
        echo 'skip fuzz: module: node or what make web builds is not here'
    fi
fi
[ $found = 0 ]

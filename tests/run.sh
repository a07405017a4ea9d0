#!/bin/sh
# run.sh - what `make test` and `make mutants` run: a list of questions, asked
# JOBS at a time and answered in the order of the list, one line each:
#     ok   <question>       FAIL <question>, with what was printed beneath
#     skip <question>: <tool> is not here
# The last line is the sum. ONLY=pattern asks only the questions it matches.
# `sh tests/run.sh sizes` prints sizes. The Makefile has how tests are compiled.

export LC_ALL=C
CC=${CC:-cc}
JOBS=${JOBS:-2}
MAKE=${MAKE:-make}
work=build/test
STRICT='-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
    -Wcast-qual -Wundef -Werror'

# --- Compiling the header by itself ---------------------------------------

# The optional parts that can be compiled here.
optional='HOSTED'
[ -z "$STB_FLAGS" ] || optional='HOSTED STB_DS'

# Prints a source file that includes the header after these macros.
source_of() {
    for macro; do
        [ $macro != STB_DS ] || echo '#include "stb_ds.h"'
        echo "#define STATESAMPLER_$macro"
    done
    echo '#include "statesampler.h"'
}

# Compiles standard input, in a language, by a command, to an object.
compile() { # LANGUAGE OBJECT COMMAND...
    language=$1 object=$2
    shift 2
    "$@" -I. $STB_FLAGS -c -o "$object" -x "$language" -
}

# The core for itself, as a kernel or a microcontroller has it. The stack
# protector is no part of the language, but some systems have it on.
freestanding() { # OBJECT COMMAND...
    object=$1
    shift
    source_of IMPLEMENTATION | compile c "$object" "$@" \
        -std=c99 -ffreestanding -nostdlib -fno-stack-protector
}

# Succeeds if standard input is empty; otherwise it is the complaint.
nothing() {
    ! grep .
}

at_least() { # LIMIT VALUE WHAT
    [ "$2" -ge "$1" ] || {
        echo "only $2 $3"
        return 1
    }
}

at_most() { # LIMIT VALUE WHAT
    echo "note: $2 $3"
    [ "$2" -gt 0 ] && [ "$2" -le "$1" ]
}

# The names of the public functions, from the compiler.
functions() {
    source_of IMPLEMENTATION $optional | compile c all.o "$CC" -std=c99 -O0
    nm -g --defined-only all.o | sed -n 's/.* T //p'
}

# --- Questions --------------------------------------------------------------

# One test, compiled in one way, perhaps run by something.
try() { # WITH TEST [full|reduced] [RUNNER...]
    target=$work/$1/$2 amount=$3
    shift 3
    (cd "$root" && "$MAKE" -s "$target") || return 1
    "$@" "$root/$target" "$amount" >said 2>&1 || {
        cat said
        return 1
    }
    sed -n '/^skip /p' said
    sed -n '$s/.*: \([0-9]* checks\).*/note: \1/p' said | grep .
}

# Every test on Windows, or what stands in for it.
windows() { # TESTS
    export WINEDEBUG=-all WINEPREFIX="$PWD/wine"
    wineboot -i >/dev/null 2>&1 </dev/null
    bad=0
    for test in $1; do
        (cd "$root" && "$MAKE" -s "$work/windows/$test.exe") &&
            wine "$root/$work/windows/$test.exe" reduced >said 2>said.wine ||
            { echo "$test:"; cat said; bad=1; }
    done
    wineserver -w
    rm -rf wine
    return $bad
}

examples() {
    (cd "$root" && "$MAKE" -s examples && sh tests/examples.sh build)
}

# No warning, in every combination of macros, also not about unused functions,
# and not where a compiler sees most: a caller that all of it is inlined into.
warnings() { # LANGUAGE COMMAND...
    language=$1
    shift
    for macros in '' STATIC HOSTED 'STATIC HOSTED' "$optional" \
        "STATIC $optional" "${optional#HOSTED}"; do
        source_of IMPLEMENTATION $macros |
            compile "$language" warn.o "$@" $STRICT -O2 || return 1
    done
    source_of $optional | compile "$language" warn.o "$@" $STRICT || return 1
    { source_of IMPLEMENTATION STATIC
      echo 'int probe(statesampler *s, const statesampler_desc *desc,'
      echo '          statesampler_place *place, uint64_t *out);'
      echo 'int probe(statesampler *s, const statesampler_desc *desc,'
      echo '          statesampler_place *place, uint64_t *out)'
      echo '{'
      echo '    int code = statesampler_init(s, desc);'
      echo '    return code + (int)statesampler_at(s, 1, out) +'
      echo '           (int)statesampler_next(s, out) +'
      echo '           statesampler_locate(s, out[0], place);'
      echo '}'
    } | compile "$language" warn.o "$@" $STRICT -O3
}

clean_sources() { # COMMAND...
    for source in "$root"/examples/*.c "$root"/examples/torch/*.c \
        "$root"/bench/*.c; do
        [ -n "$STB_FLAGS" ] || ! grep -q 'stb_ds\.h' "$source" || continue
        "$@" -std=c99 $STRICT -Wmissing-prototypes -O2 -I. $STB_FLAGS \
            -c -o warn.o "$source" || return 1
    done
}

# The kept vectors are what the reference prints today.
vectors() {
    python3 tests/reference.py >vectors.json
    cmp vectors.json tests/vectors.json
}

# Every function of the header, for the device and for the host;
# sm_75 runs on all GPUs since Turing.
cuda() { # OPTION...
    "$NVCC" "$@" -arch=sm_75 -Werror all-warnings \
        -Xcompiler=-Wall,-Wextra,-Wconversion,-Wsign-conversion,-Wshadow \
        -Xcompiler=-Wcast-qual,-fopenmp -I. -o gpu "$root/bench/gpu.cu"
}

gpu() {
    cuda -O3 && ./gpu 24 >said 2>&1 || {
        [ ! -e said ] || cat said
        return 1
    }
    sed -n '/^skip /p' said
}

# What the README shows of CUDA, by itself.
readme_cuda() {
    sed -n '/^```cuda$/,/^```$/p' README.md | sed '1d;$d' >readme.cu
    "$NVCC" -arch=sm_75 -Werror all-warnings -I. -c -o readme.o readme.cu
}

# What the README shows of several datasets, in a program that has two: the
# first mix ends by itself, the second goes on after turn 5 and is left.
readme_mixes() {
    sed -n '/^```c$/,/^```$/p' README.md | grep -v '^```' >fences
    {
        cat <<'END'
#define STB_DS_IMPLEMENTATION
#include "stb_ds.h"
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_STB_DS
#include "statesampler.h"
#define train(dataset, batch, count) \
    { (void)(dataset); served += (count); if (--turns == 0) break; }
int main(void)
{
    static unsigned char state[1000];
    static statesampler_desc web, books;
    static statesampler_mixture past;
    uint64_t batch[8], served = 0;
    size_t size, turns = 0;
    web.num_samples = 100;
    books.num_samples = 30;
    web.batch_size = books.batch_size = 8;
    statesampler_mixture_add(&past, "books", 1, &books);
    statesampler_mixture_add(&past, "web", 3, &web);
    statesampler_mixture_start(&past, STATESAMPLER_STOP_NEVER);
    statesampler_mix_seek(&past.mix, 5);
    size = statesampler_mixture_state_bytes(&past);
    statesampler_mixture_save(&past, state);
    statesampler_mixture_free(&past);
END
        sed -n '/^statesampler_source sources/,/^ *train/p' fences
        echo 'turns = 1;'
        sed -n '/^statesampler_mixture mixture/,/^ *train/p' fences
        echo 'if (served != 138 || statesampler_mix_turn(&mixture.mix) != 6)'
        echo '    return 1;'
        sed -n '/^statesampler_mixture_free/p' fences
        echo 'return mixture.sources != NULL; }'
    } >readme.c
    $CC -Wall -Wextra -I. $STB_FLAGS -o readme readme.c && ./readme
}

quality() {
    (cd "$root" && $MAKE -s build/quality/quality) &&
        "$root"/build/quality/quality short . &&
        sed -n 's/^statesampler.h: passes: /note: /p' short.txt
}

# Three master seeds for the control; what is bad fails by p < 1e-12.
quality_selftest() {
    (cd "$root" && $MAKE -s build/quality/quality) &&
        "$root"/build/quality/quality selftest 0.25 3 &&
        echo 'note: Fisher-Yates passes, affine maps and half the rounds fail'
}

# One program of tests/torch, by a Python that has torch.
torch() { # PYTHON PROGRAM
    timeout -k 10 900 "$1" "$root/tests/torch/$2.py" >said 2>&1 || {
        cat said
        return 1
    }
    sed -n 's/^Ran \([0-9]* tests\?\) in .*/note: \1/p' said
}

# Two processes, one killed, then three; the line that counts the samples.
torch_train() { # PYTHON
    timeout -k 10 300 "$1" "$root/examples/torch/train.py" --compare 100000 \
        >said 2>&1 || {
        cat said
        return 1
    }
    sed -n 's/^of .*: \([0-9]* trained on exactly once\), .*/note: \1/p' said
}

torch_figures() { # PYTHON
    "$1" "$root/examples/torch/figures.py" --quick >said 2>&1 || {
        cat said
        return 1
    }
    at_least 12 "$(grep -c '^| .* | .* |$' said)" 'lines of figures'
}

# The bench checks what it computes and prints its rows and points. Times are
# not judged: nobody has the machine for himself here.
bench() {
    (cd "$root" && ONLY= OUT=$folder/figures BENCH_QUICK=1 \
        sh bench/run.sh) >said 2>&1 || {
        cat said
        return 1
    }
    at_least 19 "$(grep -cE '^-O.*(,met|,MISSED|,not measured: .*)$' \
        figures/table.csv)" 'rows with a bar'
    for plot in n batch bytes resume; do
        for series in statesampler Fisher-Yates; do
            at_least 2 "$(grep -c "^$plot,$series," figures/plots.csv)" \
                "points of $series in $plot"
        done
    done
}

# As most programs have it: with vectors.
ordinary() { # OBJECT COMMAND...
    object=$1
    shift
    source_of IMPLEMENTATION |
        compile c "$object" "$@" -std=c99 -fno-stack-protector
}

# Nothing is needed, and nothing kept: no variable that a call could change.
no_symbols() { # freestanding|ordinary COMMAND...
    compiled=$1
    shift
    $compiled core.o "$@" && nm -u core.o | nothing &&
        nm core.o | grep ' [bBcCdD] ' | nothing
}

# Helpers for 64-bit integers only: floating point would need __aeabi_d...,
# __aeabi_f... or a conversion, __aeabi_l2d or __aeabi_ui2f.
only_aeabi() { # COMMAND...
    freestanding core.o "$@" &&
        nm -u core.o | grep -v ' __aeabi_[a-z0-9]*$' | nothing &&
        nm -u core.o | grep -E ' __aeabi_([dfc]|u?[il]+2)' | nothing
}

# A linker that is told nothing of missing symbols is the judge: nm does not
# read WebAssembly.
wasm() { # freestanding|ordinary FLAG...
    compiled=$1
    shift
    $compiled core.o clang --target=wasm32 -O2 "$@" &&
        wasm-ld --no-entry --export-all -o core.wasm core.o
}

wasm_vectors() { # freestanding|ordinary FLAG...
    wasm "$@" && node "$root/tests/wasm.js" core.wasm "$root/tests/vectors.json"
}

fits() { # COMMAND...
    { source_of
      echo 'typedef char sampler[sizeof(statesampler) <= 512 ? 1 : -1];'
      echo 'typedef char source[sizeof(statesampler_source) <='
      echo '    sizeof(statesampler) + 8 + 64 ? 1 : -1];'
      echo 'typedef char state[STATESAMPLER_STATE_BYTES <= 128 ? 1 : -1];'
    } | compile c fits.o "$@" -std=c99 -ffreestanding
}

exported() { # COMMAND...
    source_of IMPLEMENTATION $optional | compile c all.o "$@" -std=c99
    at_least 40 "$(nm -g --defined-only all.o | grep -c ' T ')" functions
    nm -g --defined-only all.o | grep -v ' T statesampler_' | nothing
}

static_exports_nothing() { # COMMAND...
    { source_of IMPLEMENTATION STATIC $optional
      echo 'int probe(statesampler *s, const statesampler_desc *d);'
      echo 'int probe(statesampler *s, const statesampler_desc *d)'
      echo '{ return statesampler_init(s, d); }'
    } | compile c all.o "$@" -std=c99
    nm -g --defined-only all.o | grep -v ' T probe$' | nothing
}

# Line markers say which lines are the header's own.
macros() {
    source_of IMPLEMENTATION $optional |
        gcc -std=c99 -I. $STB_FLAGS -E -dD -x c - >all.i
    awk '$1 == "#" { ours = $3 ~ /statesampler\.h"$/ }
        ours && $1 == "#define" { sub(/\(.*/, "", $2); print $2 }' all.i >names
    at_least 50 "$(wc -l <names)" macros
    grep -v '^STATESAMPLER_' names | nothing
}

# Everything the header names at file scope, by the debugger's tables: types,
# tags, enumerators, variables, private functions too.
names() {
    source_of IMPLEMENTATION $optional | compile c all.o gcc -std=c99 -O0 \
        -gdwarf-4 -fno-eliminate-unused-debug-types \
        -fkeep-inline-functions -fkeep-static-functions
    objdump --dwarf=info all.o | awk '
        function end() {
            if (name != "") found[name] = file
            if (name == "statesampler_init") header = file
            name = ""
        }
        /^ *<[0-9a-f]+><[0-9a-f]+>: Abbrev/ {
            end()
            top = /^ *<1>/
            want = top || /DW_TAG_enumerator/
            if (top) file = "" # an enumerator is where its enumeration is
        }
        want && /DW_AT_name/ { name = $NF }
        top && /DW_AT_decl_file/ { file = $NF }
        END { end(); for (n in found) if (found[n] == header) print n }
        ' >names
    at_least 110 "$(wc -l <names)" names
    grep -v '^statesampler\(_\|$\)' names | nothing
}

# A section of its own shows that the macro reached every definition, a weak
# reference that it reached every declaration.
api() {
    source_of IMPLEMENTATION $optional | compile c api.o gcc -std=c99 -O0 \
        '-DSTATESAMPLER_API=__attribute__((section("api")))'
    at_least 40 "$(objdump -t api.o | grep -c ' g .* api	')" definitions
    objdump -t api.o | grep ' g ' | grep -v ' api	' | nothing
    functions >names
    { source_of $optional
      echo 'void (*const all[])(void) = {'
      sed 's/.*/(void (*)(void))&,/' names
      echo '0};'
    } | compile c api.o gcc -w -std=c99 -O0 \
        '-DSTATESAMPLER_API=__attribute__((weak))'
    at_least 40 "$(nm api.o | grep -c ' w statesampler_')" declarations
    nm -u api.o | grep -v ' w ' | nothing
}

# The assertion macro is nothing unless it is defined; that it is called where
# it is defined is test_assert's question.
assert_is_nothing() {
    freestanding core.o gcc -O2
    freestanding void.o gcc -O2 '-DSTATESAMPLER_ASSERT(condition)=((void)0)'
    freestanding trap.o gcc -O2 \
        '-DSTATESAMPLER_ASSERT(c)=((c)?(void)0:__builtin_trap())'
    cmp core.o void.o
    cmp -s core.o trap.o && echo 'it is nothing where it is defined, too'
    ! cmp -s core.o trap.o
}

# However a program includes the header.
included() { # LANGUAGE COMMAND...
    { source_of $optional; source_of $optional; } | compile "$@"
    nm -g --defined-only "$2" | nothing
    { source_of $optional; source_of IMPLEMENTATION; source_of; } |
        compile "$@"
    nm -g --defined-only "$2" | grep -q 'T statesampler_load_file$'
    { for name in stdio stdlib string errno limits time math signal; do
          echo "#include <$name.h>"
      done
      source_of IMPLEMENTATION $optional
    } | compile "$@"
    nm -g --defined-only "$2" | grep -q 'T statesampler_load_file$'
}

# Two files that share the implementation, and one with a copy of its own.
units() { # COMPILER_OF_MAIN COMPILER_OF_SHARED COMPILER_OF_STATIC
    $1 -I. -c -o main.o tests/units_main.c
    $2 -I. -c -o shared.o tests/units_shared.c
    $3 -I. -c -o static.o tests/units_static.c
    ${1%% *} -o units main.o shared.o static.o
    ./units
}

# The lines of a program, one after the other in a file, however far they are
# moved in and whatever empty lines are between them.
quoted() { # PROGRAM FILE
    awk 'NF == 0 { next }
        FNR == NR { want[++count] = $0; next }
        { have[++lines] = $0 }
        END {
            for (i = 1; i <= lines; i++) {
                shift = index(have[i], want[1]) - 1
                if (shift < 0) continue
                margin = substr(have[i], 1, shift)
                for (j = 1; j <= count; j++)
                    if (have[i + j - 1] != margin want[j]) break
                if (j > count) exit 0
                if (j > best) { best = j; at = have[i + j - 1] }
            }
            print "after " best " lines: " at
            exit 1
        }' "$1" "$2"
}

# Prints the header with fault NUMBER of the list. Its text must stand in the
# header exactly once: a fault that no longer applies would prove nothing.
broken() { # NUMBER
    awk -v number="$1" '
        function join(all, line) { return all == "" ? line : all "\n" line }
        FNR == NR && /^= / { fault++ }
        FNR == NR && fault == number && /^- / { old = join(old, substr($0, 3)) }
        FNR == NR && fault == number && /^\+ / {
            new = join(new, substr($0, 3))
        }
        FNR == NR { next }
        { text = text $0 "\n" }
        END {
            at = old == "" ? 0 : index(text, old)
            if (at == 0) {
                print "not in the header: " old >"/dev/stderr"
                exit 1
            }
            rest = substr(text, at + length(old))
            if (index(rest, old) > 0) {
                print "more than once in the header: " old >"/dev/stderr"
                exit 1
            }
            printf "%s%s%s", substr(text, 1, at - 1), new, rest
        }' tests/mutants.txt statesampler.h
}

# Asks the tests, one after the other, about the header in ./broken, and says
# what the first one noticed; status 1 if none did. A test that does not end
# is stopped after five seconds of processor time.
noticed() { # TEST...
    for test; do
        $CC -w -std=c99 -O1 -Ibroken -I. $STB_FLAGS -o "$test" \
            tests/"$test".c -lm || { echo "$test: does not compile"; exit 1; }
        status=0
        (ulimit -t 5; ./"$test" reduced) >said 2>&1 || status=$?
        case $status in
        0) ;;
        1) sed -n 's|^tests/|note: |p' said | cut -c 1-70 | grep . && return ;;
        152 | 137) echo "note: $test: time limit" && return ;;
        *) echo "note: $test: status $status" && return ;;
        esac
    done
    echo 'no test noticed'
    return 1
}

mutant() { # NUMBER TEST...
    mkdir broken
    broken "$1" >broken/statesampler.h
    shift
    noticed "$@"
}

# Without a fault nothing may be noticed, or the deaths would prove nothing.
unbroken() { # TEST...
    mkdir broken
    cp statesampler.h broken
    ! noticed "$@"
}

# --- Sizes ------------------------------------------------------------------

# Bytes of code and constants, without the compiler's helpers.
code_size() {
    freestanding core.o arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb -Os
    arm-none-eabi-size core.o | awk 'END { print $1 }'
}

# The same for a program that uses only some public functions: its table of
# pointers to them is the root, and what it does not reach is thrown away.
part_size() { # PATTERN
    freestanding core.o arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb -Os
    arm-none-eabi-nm core.o | sed -n 's/.* T //p' | grep -E "$1" >used
    { source_of IMPLEMENTATION
      echo 'extern const void *const root[];'
      echo 'const void *const root[] = {'
      sed 's/.*/(const void *)&,/' used
      echo '};'
    } | compile c part.o arm-none-eabi-gcc -w -std=c99 -ffreestanding \
        -mcpu=cortex-m0 -mthumb -Os -ffunction-sections -fdata-sections
    arm-none-eabi-ld --gc-sections -e root --unresolved-symbols=ignore-all \
        -o part.elf part.o
    echo $(($(arm-none-eabi-size part.elf | awk 'END { print $1 }') -
        4 * $(wc -l <used)))
}

perm_size() { part_size '_perm_'; }
mixless_size() { part_size '^statesampler_([^m]|m[^i])'; }

# The deepest stack of any public function, as gcc counts each frame; those
# that serve batches in bulk have a limit of their own. Prints both.
stack_of() { # COMMAND...
    source_of IMPLEMENTATION |
        compile c core.o "$@" -std=c99 -fcallgraph-info=su
    awk -F '"' '
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
                size = deepest(f)
                if (f ~ /^statesampler_(perm_fill|(mix_)?(next|at))$/) {
                    if (size > bulk) bulk = size
                } else if (size > plain) plain = size
            }
            print plain + 0, bulk + 0
        }' core.ci
}

mixless_fits() { at_most 8192 "$(mixless_size)" bytes; }
perm_fits() { at_most 1536 "$(perm_size)" bytes; }
stack_fits() { # COMMAND...
    set -- $(stack_of "$@")
    at_most 1024 "$1" "bytes, in bulk $2"
    at_most 4096 "$2" "bytes in bulk, otherwise $1"
}

# The limits stand in brackets.
sizes() {
    cortex='arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb'
    if command -v arm-none-eabi-gcc >/dev/null; then
        echo "code, Cortex-M0 -Os, whole core: $(code_size) bytes (8192)"
        echo "code, Cortex-M0 -Os, without mix: $(mixless_size) bytes (8192)"
        echo "code, Cortex-M0 -Os, perm alone: $(perm_size) bytes (1536)"
        set -- $(stack_of $cortex -Os -ffreestanding)
        echo "stack, Cortex-M0 -Os: $1 bytes (1024)"
        echo "stack in bulk, Cortex-M0 -Os: $2 bytes (4096)"
    else
        echo 'skip code size: arm-none-eabi-gcc is not here'
    fi
    machine=$(gcc -dumpmachine)
    for flags in -O2 '-O3 -mavx2' '-O3 -mavx512bw'; do
        case $machine$flags in x86_64*|*-O2) ;; *) continue ;; esac
        set -- $(stack_of gcc $flags)
        echo "stack, $machine $flags: $1 bytes (1024)"
        echo "stack in bulk, $machine $flags: $2 bytes (4096)"
    done
}

# --- The list ---------------------------------------------------------------

# Puts a question and the call that answers it on the list.
ask() { # QUESTION CALL...
    question=$1
    shift
    printf '%s\t%s\n' "$question" "$*" >>$run/list
}

skip() { # WHAT TOOL
    echo "skip $1: $2 is not here" >>$run/skipped
}

# Whether a tool is there. If not, one line says what is left out.
tool() { # NAME WHAT
    command -v "$1" >/dev/null && return 0
    grep -q ": $1 is not here" $run/skipped || skip "$2" "$1"
    return 1
}

ask_tests() { # WITH full|reduced QUESTION [RUNNER...]
    with=$1 amount=$2 how=$3
    shift 3
    for test in $tests; do
        ask "$test, $how" try $with $test $amount "$@"
    done
}

# The tests that can be compiled here; those that take longest, or that notice
# nearly anything without saying what, last.
find_tests() {
    tests= last=
    for source in tests/test_*.c; do
        test=${source#tests/}
        test=${test%.c}
        if [ -z "$STB_FLAGS" ] && grep -q 'stb_ds\.h' "$source"; then
            skip "$test" stb_ds.h
            continue
        fi
        case $test in
        test_hosted | test_vectors) last="$last $test" ;;
        *) tests="$tests $test" ;;
        esac
    done
    tests="$tests$last"
}

ask_torch() {
    if torch_python=$(sh tests/torch/python.sh 2>/dev/null); then
        ask "PyTorch: torch's and VISSL's samplers, index for index" \
            torch $torch_python test_parity
        ask 'PyTorch: the forum'"'"'s round robin, stop rules' \
            torch $torch_python test_round_robin
        ask 'PyTorch: a state at every batch, with workers, on other ranks' \
            torch $torch_python test_state
        ask 'PyTorch: repeated, shared and failing loops; copies' \
            torch $torch_python test_loops
        ask 'PyTorch: the Python of the README, killed and resumed' \
            torch $torch_python test_readme
        ask "PyTorch: torch's own order" torch $torch_python test_order
        ask 'PyTorch: the library is built at the first import' \
            torch $torch_python test_library
        ask 'PyTorch: 2 processes, one killed, then 3: every sample once' \
            torch_train $torch_python
        ask 'PyTorch: the figures are measured (quick)' \
            torch_figures $torch_python
    else
        skip 'PyTorch, its samplers' 'a python3 with torch'
    fi
}

# A fault's name begins with its layer, and the test of that name is asked
# first. Bulk code is there only where the compiler's target has vectors.
list_mutants() {
    find_tests
    ask 'the header as it is' unbroken $tests
    bulk=yes
    { source_of IMPLEMENTATION
      echo '#if STATESAMPLER_PRIV_LANES == 0'
      echo '#error'
      echo '#endif'
    } | compile c $run/bulk.o $CC -std=c99 2>/dev/null || {
        bulk=
        skip 'faults in bulk code' "a vector unit that $CC compiles for"
    }
    grep '^= ' tests/mutants.txt | cut -c 3- >$run/faults
    if torch_python=$(sh tests/torch/python.sh 2>/dev/null); then
        ask 'PyTorch: every fault in its samplers is noticed' \
            torch $torch_python mutants
    else
        skip 'faults in the samplers for PyTorch' 'a python3 with torch'
    fi
    number=0
    while read -r fault; do
        number=$((number + 1)) layer=${fault%%:*}
        if [ "$layer" = bulk ]; then
            [ -n "$bulk" ] || continue
            layer=perm
        fi
        first=
        [ ! -e "tests/test_$layer.c" ] || first=test_$layer
        ask "$fault" mutant $number $first $tests
    done <$run/faults
}

# What of x86 this processor can run, and what a compiler for it can compile.
find_vectors() {
    vectors= x86=
    case $(uname -m) in
    x86_64 | i?86) x86='-mavx2 -mavx512bw' ;;
    *) return ;;
    esac
    for path in avx2 avx512bw; do
        if grep -qsw $path /proc/cpuinfo; then
            vectors="$vectors $path"
        else
            echo "skip -m$path: this processor does not have it" \
                >>$run/skipped
        fi
    done
}

list_questions() {
    find_tests
    find_vectors
    cortex='arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb'

    ask_tests cc full "$CC${CFLAGS:+ $CFLAGS}, full"
    ask 'the header quotes examples/quickstart.c word for word' \
        quoted examples/quickstart.c statesampler.h
    ask 'the README quotes examples/quickstart.c word for word' \
        quoted examples/quickstart.c README.md
    if [ -n "$STB_FLAGS" ]; then
        ask "the README's mixes of several datasets run" readme_mixes
    else
        skip "the README's mixes" stb_ds.h
    fi
    ask 'examples' examples
    if tool python3 'the reference'; then
        ask 'tests/reference.py prints tests/vectors.json' vectors
    fi
    ask 'the bench measures right results, and every row (quick)' bench
    ask_torch
    ask 'no statistic tells it from Fisher-Yates (short)' quality
    ask 'those statistics fail what is bad and pass what is good' \
        quality_selftest
    ask "exported names begin with statesampler_: $CC" exported $CC
    ask "sizes of the structs: $CC" fits $CC
    ask "STATIC exports nothing: $CC" static_exports_nothing $CC
    ask "inclusion: twice, declarations first, after libc: $CC, C99" \
        included c inc.o $CC -std=c99 -pedantic -Werror
    ask "two files and a static copy: $CC" units "'$CC' '$CC' '$CC'"

    if tool gcc 'gcc in its ways, macros, names, API, assertions, stack'; then
        ask_tests gcc-O0 reduced 'gcc -O0'
        ask_tests gcc-O3 reduced 'gcc -O3'
        ask_tests gcc-Os reduced 'gcc -Os'
        ask_tests gcc-plain reduced 'gcc -ffreestanding, no vectors'
        for path in $vectors; do
            ask_tests gcc-$path reduced "gcc -O3 -m$path"
        done
        ask_tests gcc-sanitize reduced 'gcc, address and undefined sanitizers'
        ask 'no warning: gcc, C99' warnings c gcc -std=c99 -Wmissing-prototypes
        ask 'no warning in examples and bench: gcc' clean_sources gcc
        for level in 0 s 2 3; do
            ask "freestanding, no symbol needed: gcc -O$level" \
                no_symbols freestanding gcc -O$level
        done
        for flags in '' $x86; do
            ask "with vectors, no symbol needed: gcc -O3 $flags" \
                no_symbols ordinary gcc -O3 $flags
        done
        ask 'macros begin with STATESAMPLER_' macros
        ask 'types, tags and private names begin with statesampler_' names
        ask 'STATESAMPLER_API reaches every function' api
        ask 'STATESAMPLER_ASSERT is nothing by default' assert_is_nothing
        for flags in -O0 -Os -O2 -O3 $x86; do
            ask "stack at most 1024 bytes, in bulk 4096: gcc $flags" \
                stack_fits gcc -O3 $flags
        done
        for flags in $x86; do
            ask "no warning: gcc $flags, C99" \
                warnings c gcc -std=c99 $flags -Wmissing-prototypes
        done
    fi
    if tool clang 'clang, its sanitizers and warnings, wasm32'; then
        ask_tests clang reduced 'clang -O2'
        for path in $vectors; do
            ask_tests clang-$path reduced "clang -O3 -m$path"
        done
        if echo 'int main(void) { return 0; }' | compile c $run/asan.o clang \
            -fsanitize=address && clang -fsanitize=address -o $run/asan \
            $run/asan.o 2>/dev/null; then
            ask_tests clang-sanitize reduced \
                'clang, address and undefined sanitizers'
        else
            skip 'clang, address and undefined sanitizers' \
                "clang's runtime for them"
        fi
        ask 'no warning: clang, C99' \
            warnings c clang -std=c99 -Wmissing-prototypes
        for flags in $x86; do
            ask "no warning: clang $flags, C99" \
                warnings c clang -std=c99 $flags -Wmissing-prototypes
        done
        for language in c++98 c++11 c++20; do
            ask "no warning: clang, $language" \
                warnings c++ clang -std=$language
        done
        ask 'no warning in examples and bench: clang' clean_sources clang
        for level in 0 s 2 3; do
            ask "freestanding, no symbol needed: clang -O$level" \
                no_symbols freestanding clang -O$level
        done
        for flags in -Os '' $x86; do
            ask "with vectors, no symbol needed: clang -O3 $flags" \
                no_symbols ordinary clang -O3 $flags
        done
        ask 'sizes of the structs: wasm32' fits clang --target=wasm32
        if tool wasm-ld 'wasm32'; then
            ask 'freestanding, no symbol needed: wasm32' wasm freestanding
            ask 'with vectors, no symbol needed: wasm32' \
                wasm ordinary -msimd128
            if tool node 'tests/vectors.json in WebAssembly'; then
                ask 'test_vectors, wasm32' wasm_vectors freestanding
                ask 'test_vectors, wasm32 with vectors' \
                    wasm_vectors ordinary -msimd128
            fi
        fi
    fi
    if tool g++ 'C++ 98, 11 and 20'; then
        for language in c++98 c++11 c++20; do
            ask_tests $language reduced "$language"
            ask "no warning: g++, $language" warnings c++ g++ -std=$language
        done
        ask 'inclusion: twice, declarations first, after libc: g++, C++98' \
            included c++ inc.o g++ -std=c++98 -pedantic -Werror
        ask 'two files and a static copy: C++ calls C' units "g++ '$CC' g++"
    fi
    if tool "${NVCC:-nvcc}" 'CUDA'; then
        ask 'CUDA: every function, and on a GPU the same results' gpu
        for language in c++11 c++20; do
            ask "CUDA: no warning, relocatable, not optimised: $language" \
                cuda -std=$language -G -rdc=true -DSTATESAMPLER_HOSTED
        done
        ask "CUDA: the README's kernel compiles" readme_cuda
        ask 'CUDA: two files and a static copy: nvcc calls C' \
            units "'$NVCC -x cu' '$CC' '$NVCC -x cu'"
        ask 'test_vectors, the host as nvcc compiles it' \
            STB_FLAGS= try nvcc test_vectors reduced
    fi
    if tool tcc 'tcc'; then
        ask_tests tcc reduced 'tcc'
    fi
    for machine in 'arm arm-linux-gnueabihf 32-bit' \
        'arm-neon arm-linux-gnueabihf 32-bit' \
        'aarch64 aarch64-linux-gnu 64-bit' \
        's390x s390x-linux-gnu big-endian'; do
        set -- $machine
        if tool $2-gcc "$1 ($3)" && tool qemu-${1%-neon} "$1 ($3)"; then
            ask_tests $1 reduced "$1 ($3)" qemu-${1%-neon}
            ask "sizes of the structs: $1" fits $2-gcc
        fi
    done
    if tool arm-none-eabi-gcc 'Cortex-M0, its code and stack'; then
        ask 'freestanding, only __aeabi_ helpers needed: Cortex-M0' \
            only_aeabi $cortex -Os
        ask 'sizes of the structs: Cortex-M0' fits $cortex
        ask 'code without mix at most 8192 bytes: Cortex-M0 -Os' mixless_fits
        ask 'code of perm at most 1536 bytes: Cortex-M0 -Os' perm_fits
        ask 'stack at most 1024 bytes, in bulk 4096: Cortex-M0 -Os' \
            stack_fits $cortex -Os -ffreestanding
    fi
    if tool x86_64-w64-mingw32-gcc 'Windows' && tool wine 'Windows'; then
        ask 'every test on Windows (mingw-w64, wine)' windows "'$tests'"
    fi
}

# --- Running it -------------------------------------------------------------

# Answers question NUMBER of the list in a folder of its own. An endless loop
# ends after five minutes of processor time.
answer() { # NUMBER
    root=$PWD folder=$run/$1
    line=$(sed -n "$1p" $run/list)
    question=${line%%	*} call=${line#*	}
    mkdir -p $folder/tmp
    for name in statesampler.h README.md tests examples; do
        ln -s "$root/$name" $folder
    done
    ulimit -t 300
    (
        set -e
        cd $folder
        TMPDIR=$PWD/tmp
        export TMPDIR
        eval "$call"
    ) >$folder/out 2>&1 </dev/null
    status=$?
    {
        if [ "$call" = examples ]; then
            # They report themselves, unless they broke down.
            grep -v '^[0-9]* passed' $folder/out
            [ $status = 0 ] || grep -q '^FAIL' $folder/out ||
                echo "FAIL $question (status $status)"
        elif [ $status = 0 ]; then
            note=$(sed -n 's/^note: //p' $folder/out | tail -n 1)
            echo "ok   $question${note:+ ($note)}"
            grep '^skip ' $folder/out
        else
            echo "FAIL $question"
            sed 's/^/    /' $folder/out | tail -n 40
        fi
    } >$folder.new
    rm -rf $folder
    mv $folder.new $folder.txt
}

# Has the list answered by children, and prints the answers in its order.
answer_all() {
    count=$(wc -l <$run/list)
    seq "$count" | xargs -n 1 -P "$JOBS" sh tests/run.sh answer &
    children=$!
    cat $run/skipped
    for number in $(seq "$count"); do
        while [ ! -e $run/$number.txt ] && kill -0 $children 2>/dev/null; do
            sleep 0.1
        done
        [ -e $run/$number.txt ] ||
            echo "FAIL question $number got no answer" >$run/$number.txt
        cat $run/$number.txt
    done
    wait $children
    cat $run/skipped $run/*.txt >$run/log
    passed=$(grep -c '^ok ' $run/log)
    failed=$(grep -c '^FAIL ' $run/log)
    skipped=$(grep -c '^skip ' $run/log)
    [ "$skipped" = 0 ] && skipped= || skipped=", $skipped skipped"
    echo "$passed passed, $failed failed$skipped"
    [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}

main() {
    if [ "$1" = answer ]; then
        answer "$2"
        exit 0
    fi
    # A folder for each run, so that two at a time do not mix.
    run=$work/run.$$
    export run
    mkdir -p $run
    trap 'rm -rf $run' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    : >$run/list
    : >$run/skipped
    case $1 in
    sizes)
        ln -s ../../../statesampler.h $run
        cd $run && sizes
        exit
        ;;
    mutants) list_mutants ;;
    *) list_questions ;;
    esac
    if [ -n "$ONLY" ]; then
        grep -E -e "$ONLY" $run/list >$run/some || {
            echo "no question matches $ONLY"
            exit 1
        }
        mv $run/some $run/list
    fi
    answer_all
}

main "$@"
exit

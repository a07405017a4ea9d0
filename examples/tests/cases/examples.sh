# examples.sh - what all programs of examples/*.c have in common, and how they
# are compiled. What one program does besides is in each.sh and indices.sh.

. examples/tests/common.sh

# --- Those that check themselves ----------------------------------------------

# A program and its arguments, and below them what its last line claims after
# "NAME: ok, ". A dot is any character. A new example that can show by itself
# that it works needs nothing but its lines here.
claims() {
    cat <<'END'
bag
    10 bags: each item once in each, none while it was in a hand, back by the
    way it came, from 16 bytes in each of 400 steps
blend
    each source has its exact share, each batch is within 1.00 samples of it,
    and every shape trains on the same samples
buckets
    3.5 times the tokens per step, less than 6 % padding and 1 % waiting, all
    ranks in the same bucket, each sequence once
edit checkpoint
    each of 994 readable ids once, none of 55 removed ids, a readable one for
    each of 101 others, positions unchanged
elastic
    1003 of 1003 samples served, each exactly once, by 8, 3 and 5 ranks
evaluate
    UNEVEN, and PAD without padding, are exact for every number of ranks; PAD
    is exact for 1 of 7
even_window
    each step has samples of 54 chunks or more in windows of 61, and of 6 in
    windows of 64
factors
    each image as often as its factor, rounded in an epoch, less than 1 off in
    64 epochs
groups
    killed 48 times, 31488 positions of groups of 8 are those of one rank that
    was never killed
grow
    web and code continued, mail is gone, books began; then code is gone
history saved
    248 bytes of history have all 503 steps of the run, and the 31 that were
    skipped
ledger
    killed 604 times, the ledger has each of 20000 samples once in each of 10
    epochs; the other two ways have a bias
locate
    sample 31337 is found by the loss of its step, and served where locate says
pack
    killed 27 times: each of 5003 samples once an epoch, 0.73 % padding
packing
    plans of 10,000 samples leave at most 0.0.. % of eight mean lengths empty
ramp
    3 batch sizes on 8, 7 and 6 ranks, each sample once
recipe_changed
    each of 1000 samples once in the first epoch, each of 1200 once in the next
recipe_datasets
    6000, 4000 and 2000 samples of three datasets, in turns of 3 : 2 : 1
recipe_large large
    weights 3dfd3c29d6189600, as of a run that was never killed
recipe_one_gpu
    each of 10000000 samples exactly once in each of 3 epochs
recipe_order
    each of 1000 samples once, the 300 easy samples first
recipe_pretrain
    79 full steps, each of 1001 samples exactly once in each of 5 epochs
recipe_ranks
    rank 0 of 1 had 1000 of 1000 samples in 125 steps
recipe_weights
    each of 1000 samples as often as its weight says, 2000 in all
recipes_groups
    5 recipes do what they say
recipes_loops
    3 recipes do what they say
recipes_orders
    4 recipes do what they say
recipes_parallel
    4 recipes do what they say
recipes_steering
    8 recipes do what they say
recipes_streams
    2 recipes do what they say
resume
    killed 5 times, it went on at the very next batch, and has the model of a
    run never killed
round_robin
    20 samples of 2 datasets in turns, each exactly once in each of 2 epochs,
    by the same rank
schedule
    with schedule.h no source is 1.0 turns from its share; with mix_weigh every
    100 turns 222 of 300 are never served
shards shards
    each of 1110 sequences in 13 shards once, at most 3 shards open
split
    sets of exact size, each id in one fold, the 10 % in the 20 %
spread text
    killed 5 times, each of 2300 words came once, no step has two of a stem
train_text 4 checkpoint text
    each of 9350 samples exactly once in each of 6 epochs, 168 bytes of sampler
    state
turns
    FIRST ends after 9 turns, ALL after 12, RESTART after 17, NEVER never
weights
    each sample, class and dataset as often as its weight says, on 3 ranks and
    then on 2
window
    WINDOW reads each of 101 chunks once with at most 4 open, SHUFFLE reads 9647
windows low high
    each order has each of 1050 samples once
workers
    782 batches loaded ahead by threads give the same model as without threads
END
}

# A program of that list by itself, and when it fails: for a wrong argument, for
# a full disk, and with a library that is broken, of which it must say so.
example() { # PROGRAM
    arguments=$(claims | sed -n "s/^$1\$//p; s/^$1 //p")
    claim=$(claims | awk -v name="$1" '
        /^[^ ]/ { found = $1 == name; next }
        found { $1 = $1; printf "%s%s", space, $0; space = " " }')
    program $1
    answers_help $1
    refuses_nonsense $1
    status 0 in_new_folder "$PWD/bin/$1" $arguments
    # Where the output is a picture, the last line is an error's.
    cat said err | tail -n 1 >last
    finds -x "$1: ok, $claim" last
    notices_full_disk $1 $arguments
    notices_full_disk $1 --help
    compile_broken $1
    status 1 in_new_folder "$PWD/broken_$1" $arguments
    cat said err >both
    finds FAILED both
}

compile_broken() { # PROGRAM
    printf '#include "%s"\n' examples/tests/broken.h examples/$1.c >broken.c
    if [ $1 = grow ]; then
        ${CC:-cc} -std=c99 -O1 -w -DSTATESAMPLER_STB_DS -I. $STB_FLAGS \
            -o broken_$1 broken.c -lm
    else
        compile_here broken_$1 broken.c
    fi
}

# --- Several of them ----------------------------------------------------------

# A text, and what cannot be read for two reasons; `absent` is not there.
make_unreadable() {
    numbers 1 2300 >text
    mkdir folder
    cp text secret
    chmod 0 secret
}

# Whatever keeps a file from being read: the message has its name and why.
unreadable() {
    program indices packing spread train_text windows recipe_large
    make_unreadable
    while read -r name before; do
        for refused in 'absent: \(No such file\|there is no such file\)' \
            'folder: Is a directory' 'secret: Permission denied'; do
            status 1 as_anyone bin/$name $before "${refused%%:*}"
            finds "^$name: \(cannot [a-z]* \)\?$refused" err
        done
    done <<'END'
indices --where 3 --state
packing
spread
train_text 1 checkpoint
windows text
END
    status 1 as_anyone bin/recipe_large secret
    finds '^recipe_large: secret: Permission denied' err
}

# A disk that fails in the middle of a file.
fails_late() {
    program packing spread windows train_text recipe_large
    numbers 1 2300 >text
    for reader in 'packing text' 'spread text' 'windows text text' \
        'train_text 1 checkpoint text'; do
        name=${reader%% *}
        status 1 strace -qq -o trace -P text -e inject=read:error=EIO:when=2+ \
            bin/$reader
        finds "^$name: .*text: Input/output error" err
    done
    status 0 bin/recipe_large late
    for weights in late.0 late.1; do
        strace -qq -o trace -P $weights -e inject=read:error=EIO:when=2+ \
            bin/recipe_large late >said 2>>err || :
    done
    finds '^recipe_large: late.[01]: Input/output error' err
}

# What make demo says of files that it cannot train on.
demo_files() {
    make_unreadable
    mkfifo pipe
    for refused in 'absent: No such file' 'secret: Permission denied'; do
        status 1 as_anyone sh examples/demo.sh /bin/true \
            text "${refused%%:*}"
        finds "^demo: cannot read $refused" err
    done
    for file in folder pipe; do
        status 1 sh examples/demo.sh /bin/true text $file
        has err "demo: $file is not a regular file"
    done
    status 1 sh examples/demo.sh /bin/true text text
    finds '^demo: 20786 bytes are too few to train on, it takes 100000' err
}

# The demo of a run that says other weights: it says that this claim alone is not
# true, and fails. It writes beside the copy's folder.
demo_false() {
    program train_text
    cat >changes <<'END'
#!/bin/sh
case $1 in
3) bin/train_text "$@" | sed 's/^weights: /&f/' ;;
*) exec bin/train_text "$@" ;;
esac
END
    chmod +x changes
    mkdir copy
    cp examples/demo.sh copy
    head -c 110000 statesampler.h >text
    status 1 sh copy/demo.sh ./changes text
    finds '^ *bit-identical .* NO$' said
    equal "$(grep -c ' yes$' said)" 4
    finds '^demo: FAILED, 1 of these' err
}

# Each program that the manual names in HOW TO has the lines indented below its
# name, one after the other, except for empty lines. Each recipe is named.
manual() {
    awk '/^HOW TO/ { there = 1; next } /^[A-Z]/ { there = 0 } there' \
        statesampler.h >manual
    grep -o 'examples/[a-z_]*\.c)$' manual | tr -d ')' | sort >quoted
    for name in ranks datasets; do
        has quoted examples/recipe_$name.c
    done
    for source in $(cat quoted); do
        awk -v name="($source)" '
            NF == 0 { next }
            substr($0, length($0) - length(name) + 1) == name { on = 1; next }
            on && !/^     / { exit }
            on { print substr($0, 6) }' manual >wanted
        finds . wanted
        awk 'NF == 0 { next }
            FNR == NR { want[++count] = $0; next }
            { have[++lines] = $0 }
            END {
                for (i = 1; i <= lines; i++) {
                    for (k = 1; k <= count && have[i + k - 1] == want[k]; k++);
                    if (k > count) exit 0
                    if (k > best) { best = k; at = have[i + k - 1] }
                }
                print "the manual:  " want[best]
                print "the program: " at
                exit 1
            }' wanted $source || {
            echo "of $source"
            return 1
        }
    done
}

# --- Compiling them -----------------------------------------------------------

# All that `make examples` builds, by a compiler of C++, without a warning. The
# header's functions are compiled with quickstart.c and grow.c, and once for all
# others. By CC, the tests of each compile it.
examples_by() { # COMPILER FLAG...
    compiler=$1
    shift
    "$MAKE" -s -f "$root/Makefile" build/quickstart ${STB_FLAGS:+build/grow} \
        CC="$compiler" CFLAGS="$*" LDFLAGS="$LDFLAGS"
    $compiler "$@" -I. $STB_FLAGS $core_flags -x c++ -c -o core.o tests/core.c
    "$MAKE" -s -f "$root/Makefile" -o build/quickstart -o build/grow \
        examples CC="$compiler" LDFLAGS="$LDFLAGS core.o" \
        CFLAGS="$* -DSTATESAMPLER_IMPLEMENTATION_INCLUDED"
    for source in examples/recipes_*.c; do
        quietly build/$(basename $source .c)
    done
    quietly build/edit saved
    quietly build/shards shards
}

# What people copy, with those of the header's functions that it calls, which gcc
# then looks into. It does not see there that no code is above 0, where a program
# tests for `< 0`. Clang warns before it optimises.
recipes_inlined() {
    for source in examples/quickstart.c examples/resume.c examples/recipe*.c; do
        gcc -std=c99 -O2 -Wall -Wextra -Werror -Wno-maybe-uninitialized \
            -DSTATESAMPLER_STATIC -I. -c -o one.o $source
    done
}

# For Windows, without a warning, the header's functions compiled once for all
# but grow.c; the one that starts processes is run there. Where gcc optimises it
# sees no more here than in warnings.sh.
examples_windows() {
    set -- x86_64-w64-mingw32-gcc -std=c99 $STRICT -static -I. \
        $STB_FLAGS
    "$@" -c -o core.o tests/core.c
    for source in examples/*.c; do
        name=$(basename "$source" .c)
        core='-DSTATESAMPLER_IMPLEMENTATION_INCLUDED core.o'
        if [ $name = grow ]; then
            [ -n "$STB_FLAGS" ] || continue
            core=
        fi
        "$@" -o $name.exe "$source" $core -lm -lpthread
    done
    begin_windows
    quietly wine ./resume.exe
    grep -q '^resume: ok, killed 5 times' said
}

list_tests() {
    for compiler in 'g++ -O0' 'clang++ -O0'; do
        ! tool ${compiler% *} "the examples with CC=${compiler% *}" ||
            add_test "examples: with CC=${compiler% *}, no warning" \
                examples_by $compiler -Wall -Wextra -Werror \
                -Wno-missing-field-initializers
    done
    ! tool gcc "the recipes with the header's functions" ||
        add_test "recipes: with the header's functions in them, no warning: gcc" \
            recipes_inlined
    if tool x86_64-w64-mingw32-gcc 'the examples for Windows' &&
        tool wine 'the examples for Windows'; then
        add_test 'examples: for Windows, and resume.c runs (mingw-w64, wine)' \
            examples_windows
    fi
    [ -c /dev/full ] || skip 'full disks in the examples' /dev/full
    # Two claim nothing in a last line, and have tests of their own below.
    for source in examples/*.c; do
        name=$(basename "$source" .c)
        case $name in
        quickstart | indices) continue ;;
        grow) [ -n "$STB_FLAGS" ] || { skip_dep "$source" stb_ds.h; continue; } ;;
        esac
        add_test "example $name" example $name
    done
    add_test 'examples: a file that cannot be read is named, with the reason' \
        unreadable
    ! tool strace 'examples: a disk that fails in mid-file' ||
        add_test 'examples: a disk that fails in mid-file is named so' \
            fails_late
    add_test 'make demo: a file that cannot be read is named, with the reason' \
        demo_files
    add_test 'make demo: a claim that is not true makes it fail' demo_false
    add_test "examples: the manual's recipes are in them, word for word" manual
}

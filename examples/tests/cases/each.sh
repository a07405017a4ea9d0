# each.sh - the programs of examples/*.c, each by itself: kills, damaged
# files, wrong options.

. examples/tests/common.sh

# Killed after a line: the next run goes on from the last save, which is that of
# step 50 or 100, or of the end of an epoch of 125 steps.
quickstart() {
    program quickstart
    ! command -v g++ >/dev/null ||
        g++ -x c++ -std=c++20 -I. -fsyntax-only examples/quickstart.c
    status 0 bin/quickstart
    cp said whole
    for epoch in 1,125p 126,250p; do
        sed -n $epoch said | tr -s ' ' '\n' | sed '/^$/d' | sort -n >served
        numbers 0 999 | same - served
    done
    status 0 bin/quickstart
    has said done
    lines 1 said
    {
        cat <<'END'
#include <signal.h>
#include <stdlib.h>
static void end_line(void)
{
    static int lines;
    if (++lines == atoi(getenv("LAST")))
        raise(SIGKILL);
}
END
        sed 's/  train(batch, count);/  train(batch, count), end_line();/' \
            examples/quickstart.c
    } >killed.c
    compile_here killed_quickstart killed.c
    while read -r line saved; do
        rm -f quickstart.state
        LAST=$line status 137 ./killed_quickstart
        lines $line said
        head -n $saved said >before
        status 0 bin/quickstart
        cat before said | same - whole
    done <<'END'
1 0
50 0
51 50
100 50
125 100
126 125
175 125
176 175
250 225
END
    # What could not be printed is not in the state, nor called done.
    if [ -e /dev/full ]; then
        rm -f quickstart.state
        status 1 sh -c 'bin/quickstart >/dev/full'
        has err 'quickstart: No space left on device'
        status 0 bin/quickstart
        same said whole
        status 1 sh -c 'bin/quickstart >/dev/full'
    fi
    printf X >quickstart.state
    status 1 bin/quickstart
    finds 'state or file is wrong' said
    rm quickstart.state
    mkdir quickstart.state
    status 1 bin/quickstart
    has err 'quickstart.state: Is a directory'
    empty said
}

# Each run begins where the one before it ended, and nothing is left behind.
resume() {
    program resume
    TMPDIR="$PWD/odd/a \$HOME \"'"
    mkdir -p "$TMPDIR"
    export TMPDIR
    status 0 bin/resume
    equal "$(ls "$TMPDIR")" ""
    accepts 'BEGIN { next_step = 0 }
         / \.\. / { if ($2 != next_step) {
                        print "not " next_step ": " $0; exit 1 }
                    next_step = $4 + 1 }
         END { exit next_step != 96 }' said
    TMPDIR=$PWD/nowhere
    status 1 bin/resume
    finds "^resume: .*nowhere/.*: No such file or directory" err
}

# Lines of this repository in three languages. Batches of larger windows are
# better mixed, and windows learn more than buffers in the order of the files.
windows() {
    program windows
    head -n 3000 statesampler.h >c
    cat tests/*.sh tests/cases/*.sh | head -n 3000 >shell
    cat examples/js/*.mjs examples/js/tests/*.mjs | head -n 3000 >js
    status 0 bin/windows c shell js
    accepts '/ bits / {
            rows++
            sub(/ of chunks/, "-of-chunks")
            bits[$1, $2] = $3
            error[$1, $2] = $5
            if ($1 == "whole" || $1 == "as") { bits[$1] = $4; error[$1] = $6 }
        }
        END {
            if (rows != 29 || bits["as"] > 0.1 || error["as"] < 40) exit 1
            for (w = 1; w <= 256; w *= 2) {
                if (bits["WINDOW", w] < bits["WINDOW", w / 2] - 0.02)
                    exit 1
                if (w < 64 && error["WINDOW", w] > error["buffer", w]) exit 1
            }
            exit bits["WINDOW", 64] < 0.95 * bits["whole"] ||
                bits["buffer-of-chunks", 64] < 0.95 * bits["whole"] ||
                error["WINDOW", 256] > error["whole"] + 2
        }' said
    status 2 bin/windows c
    finds 'two FILEs and 1,171 lines' err
    head -n 300 c >few
    status 2 bin/windows few few
    status 1 bin/windows c nowhere/file
    finds '^windows: nowhere/file: No such file' err
    status 1 bin/windows c .
    finds '^windows: \.: [IP]' err
    empty said
}

# Any sample is found as the broken one is.
locate() {
    program locate
    status 0 bin/locate
    grep '^sample' said | head -n 2 >places
    status 0 bin/locate 31337
    grep '^sample' said | same - places
    status 0 bin/locate 0 100002
    equal "$(grep -c '^sample' said)" 4
    for wrong in 100003 -1 x '' 99999999999999999999; do
        status 2 bin/locate 0 "$wrong"
        finds -F "'$wrong'" err
        empty said
    done
}

# The program draws the README's picture.
turns() {
    program turns
    status 0 bin/turns
    same said examples/turns.svg
    # 3 + 3 + 6 + 6 + half of 18, and 2 in the legend
    equal "$(grep -c '#3b6fb6' said)" 29
    equal "$(grep -c '>dataset [0-2]: [3-5] batches<' said)" 3
}

grow() {
    program grow
    status 0 bin/grow
    for line in "matched code" "new     books" "matched web" \
                "removed number 1 of the state"; do
        has said "    $line"
    done
    # The datasets that stay are where they were, and the new one begins.
    for name in code web; do
        equal "$(grep " $name  *epoch" said | sed -n 1p)" \
            "$(grep " $name  *epoch" said | sed -n 2p)"
    done
    has said "    books  epoch 0, step 0 of 13"
    # Without code, web and books are where they were.
    has said "    removed number 0 of the state"
    for name in web books; do
        equal "$(grep " $name  *epoch" said | tail -n 2 | sort -u | wc -l)" 1
    done
}

# Continues from the file `state` until it is killed. Its output does not fit a
# pipe, so that it cannot finish before.
blend_killed() { # RANKS BATCH
    bin/blend state $1 $2 >pipe 2>err &
    pid=$!
    exec 3<pipe
    head -n 40 <&3 >part
    kill -9 $pid
    wait $pid || code=$?
    exec 3<&-
    equal "${code:-0}" 137
    finds "^turn [0-9]*, $1 ranks, batches of $2\$" part
    code=0
}

# The shares of a row sum to its batch, and so do the samples. A rank in a fixed
# slot would see 64 of 512 datasets.
blend() {
    program blend
    mkfifo pipe
    blend_killed 4 32
    finds '^turn 0, 4 ranks' part
    blend_killed 7 3
    first=$(sed -n 's/^turn \([0-9]*\),.*/\1/p' part | tail -n 1)
    blend_killed 2 20
    second=$(sed -n 's/^turn \([0-9]*\),.*/\1/p' part | tail -n 1)
    [ "$first" -gt 0 ] && [ "$second" -gt "$first" ]
    status 0 bin/blend state 8 25
    grep '^model' said >model
    accepts '/^turn/ { batch = $NF }
        /\// { for (i = 1; i <= NF; i++) {
                    split($i, part, "/"); n += part[1]; share += part[2]
                    if (part[1] - part[2] > 3 || part[2] - part[1] > 3) exit 1 }
                if (n > batch || share < n - 0.5 || share > n + 0.5) exit 1
                rows++; n = share = 0 }
        END { exit rows < 100 }' said
    status 0 bin/blend
    grep '^model' said | same - model
    has said "of 512 equal datasets a rank sees 64 in a fixed slot, 512 in\
 dealt slots"
    status 2 bin/blend state 0 5
    status 2 bin/blend state 5
    finds 'RANKS and BATCH' err
    echo other >state
    status 1 bin/blend state 1 1
    empty said
    has state other
    status 1 bin/blend nowhere/state 1 1
    finds '^blend: nowhere/state: No such file or directory' err
    empty said
}

# Each part of the table of recipes names a file. This has what the part's rows
# name, and prints a line for each row.
recipes_readme=examples/README.md
recipes() {
    sed -n '/^## Recipes/,/^## Coming/p' $recipes_readme >table
    : >all_rows
    for source in examples/recipes_*.c; do
        file=$(basename $source)
        name=${file%.c}
        awk -v file="[$file]($file)" '
            /^\| \*\*/ { inside = index($0, file) > 0; next }
            inside && /^\| .* \| `/' table >rows
        [ -s rows ]
        cat rows >>all_rows
        program $name
        status 0 bin/$name
        equal "$(grep -c '^ok ' said)" "$(wc -l <rows)"
        for recipe in $(grep -o '`[a-z_]*`' rows | tr -d '`'); do
            finds " $recipe(" $source
        done
    done
    equal "$(grep -c '^| .* | `' table)" "$(wc -l <all_rows)"
}

recipe_ranks() {
    program recipe_ranks
    for r in 0 1 2 3 4 5 6; do
        status 0 env -i RANK=$r WORLD_SIZE=7 bin/recipe_ranks
        finds ": ok, rank $r of 7 had 143 of 1000 samples in 18 steps" said
    done
    status 1 env -i RANK=3 WORLD_SIZE=3 bin/recipe_ranks
    finds '^recipe_ranks: .*rank' err
}

# Killed after a step, which is while it saves; what it left behind goes.
recipe_large() {
    program recipe_large
    mkfifo pipe
    for steps in 1 2 3 5 8 13 4 9 2 21 7 6 10 3; do
        bin/recipe_large large >pipe 2>err &
        pid=$!
        exec 3<pipe
        head -n $steps <&3 >said
        code=0
        kill -9 $pid && wait $pid || code=$?
        exec 3<&-
        equal $code 137
        lines $steps said
    done
    status 0 bin/recipe_large large
    finds 'ok, weights [0-9a-f]*, as of a run that was never killed' said
    equal "$(echo large* .statesampler-*)" \
        'large large.0 large.1 .statesampler-*'
    # Weights that are not those of the checkpoint.
    cp large.0 large.1
    printf x >>large
    status 1 bin/recipe_large large
    finds '^recipe_large: large: .*size of the state or file is wrong' err
    rm large
    status 0 bin/recipe_large large
    dd if=/dev/zero of=large.0 bs=1000 count=1 conv=notrunc 2>err
    dd if=/dev/zero of=large.1 bs=1000 count=1 conv=notrunc 2>err
    status 1 bin/recipe_large large
    finds '^recipe_large: .*damaged' err
}

# A program that saves again after a save failed, as on a full disk, must not
# write to the file that the last checkpoint names. With a path that is too long
# for ".0" both files would have one name, if it were cut.
recipe_large_fails() {
    cat >again.c <<'EOF'
#define _POSIX_C_SOURCE 200809L
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
static int fails;
#define statesampler_save_file(path, bytes, size) \
    (fails ? STATESAMPLER_EIO : statesampler_save_file(path, bytes, size))
#define main example_main
#include "examples/recipe_large.c"
#undef main
static int save_to_long_path(const statesampler *s)
{
    char path[4095];
    size_t i;

    for (i = 0; i < 4095; i++)
        path[i] = i < 4000 ? "./"[i % 2] : 'x';
    path[4093] = 0;
    example_must(save(path, s));
    path[4093] = 'x';
    path[4094] = 0;
    return save(path, s) == STATESAMPLER_EIO && errno == ENAMETOOLONG;
}
int main(void)
{
    const statesampler_desc desc = {.num_samples = 1000, .batch_size = 16};
    statesampler s;
    int i, code = statesampler_init(&s, &desc);

    if (!save_to_long_path(&s))
        return 3;
    for (i = 0; i < 6; i++) {
        fails = i > 1;
        statesampler_next(&s, batch, NULL);
        train(16);
        if ((save("again.state", &s) == STATESAMPLER_OK) == fails)
            return 2;
    }
    code = code == STATESAMPLER_OK ? load("again.state", &s) : code;
    return code != STATESAMPLER_OK || statesampler_step(&s) != 2;
}
EOF
    compile_here again again.c
    status 0 ./again
}

# Kills next to each of three edits, on other ranks each time. An interrupted
# step, and an edit before it, are done again.
edit() {
    program edit
    is_killed 11 bin/edit checkpoint 4
    is_killed 4 bin/edit checkpoint 7
    is_killed 21 bin/edit checkpoint 1
    is_killed 1 bin/edit checkpoint 2
    status 0 bin/edit checkpoint 3 </dev/null
    cat said >>served
    grep '^step' served >steps
    goes_on 4 steps
    equal "$(awk '$1 == "step" && $4 != ranks { printf "%s ", $4; ranks = $4 }
             ' served)" "4 7 1 2 3 "
    # Each id was added; it was removed, too late to remove, or stays.
    awk '$1 == "position" { edit[$2] = $0 }
         END { for (i in edit) { split(edit[i], n, " "); put += n[3]
                   out += n[5] }
               print put, out, put - out }' served >sums
    awk '/: ok,/ { print 1150, $11, $5 + $20 }' served | same - sums
}

# Killed while it takes, holds, adds, walks back, discards, removes and draws:
# the same items come, with the same states, as without a kill.
bag() {
    program bag
    status 0 bin/bag
    grep '^step' said >whole
    lines 400 whole
    for steps in 4 2 4 6 3 4 123; do
        is_killed $steps bin/bag checkpoint
    done
    cp checkpoint kept
    status 0 bin/bag checkpoint </dev/null
    cat said >>served
    grep '^step' served >steps
    goes_on 7 steps
    uniq steps | same - whole
    # Other items, and another state.
    for byte in 3 9 16 40; do
        cp kept checkpoint
        printf '\377' | dd of=checkpoint bs=1 seek=$byte conv=notrunc 2>err
        cp checkpoint before
        status 1 bin/bag checkpoint </dev/null
        finds '^bag: this state was not saved with these items' err
        empty said
        same checkpoint before
    done
    printf X >checkpoint
    status 1 bin/bag checkpoint </dev/null
    finds '^bag: checkpoint: .*size of the state or file is wrong' err
    status 1 bin/bag nowhere/checkpoint </dev/null
    finds '^bag: nowhere/checkpoint: No such file' err
}

# The rate would be wrong by steps, and a batch is owed to the second dead rank.
ramp() {
    program ramp
    status 0 bin/ramp
    equal "$(grep -c 'a rank dies' said)" 2
    finds 'planned 0.500, by position 0.50., by steps 0.1' said
    has said "16 samples served at the end: step 215 of rank 2"
}

# Makes the folder, is killed on one rank and more, and refuses damaged shards.
shards() {
    program shards
    is_killed 7 bin/shards shards 4
    is_killed 2 bin/shards shards 6
    is_killed 40 bin/shards shards 1
    equal "$(wc -c <shards/checkpoint | tr -d ' ')" 144
    status 0 bin/shards shards 5 </dev/null
    has said 'state: 112 bytes'
    cat served said | grep '^step' >steps
    goes_on 3 steps
    for tear in "head -c 1023" "head -c 3000" "tail -c +2"; do
        rm -rf torn
        cp -r shards torn
        rm torn/checkpoint
        $tear shards/4.bin >torn/4.bin
        status 1 bin/shards torn </dev/null
        finds '^shards: torn/4.bin: it is no shard of tokens' err
    done
    status 1 bin/shards nowhere/shards
    finds '^shards: cannot make the folder nowhere/shards: No such file' err
    # Another folder's checkpoint.
    rm -f torn/4.bin
    cp shards/checkpoint torn
    status 1 bin/shards torn </dev/null
    finds 'the state has another num_samples' err
}

# Wrong arguments, the same weights on other ranks, and checkpoints that it does
# not take.
train_text() {
    program train_text
    numbers 1 2300 >text
    numbers 2 2300 >other
    head -n 200 text >short
    set -- bin/train_text 4 checkpoint
    status 2 "$@"
    finds "train_text: a FILE is missing after 'checkpoint'" err
    status 2 "$@" $(yes text | head -n 17)
    finds "train_text: unexpected argument 'text'" err
    status 2 bin/train_text 7 checkpoint text
    finds '48 samples cannot be divided among 7 ranks' err
    status 2 bin/train_text 0 checkpoint text
    finds "'0' is not a number from 1 to 48" err
    status 1 "$@" short
    finds '^train_text: short: too short to train on' err
    status 1 "$@" nowhere/text
    finds '^train_text: nowhere/text: there is no such file' err
    status 1 bin/train_text 4 nowhere/file text
    finds '^train_text: nowhere/file: No such file' err
    same_weights
    refused_checkpoints
}

# On other ranks, from the start and after a kill in the second epoch.
same_weights() {
    head -c 110000 statesampler.h >long
    weights_of 4 whole
    whole=$weights
    weights_of 3 of_three
    equal "$weights" "$whole"
    mkfifo pipe
    bin/train_text 8 killed long >pipe &
    pid=$! code=0
    {
        while read -r line; do
            case $line in 'saved: 1.'*) break ;; esac
        done
        kill -9 $pid
    } <pipe
    wait $pid || code=$?
    equal $code 137
    weights_of 6 killed
    finds '^resumed: 1\.' said
    equal "$weights" "$whole"
    # At the end there is nothing left to do.
    weights_of 48 killed
    finds '^resumed: 6.000 of 6 epochs' said
    equal "$weights" "$whole"
}

weights_of() { # RANKS CHECKPOINT
    status 0 bin/train_text $1 $2 long
    weights=$(sed -n 's/^weights: //p' said)
    equal "${#weights}" 16
}

refused_checkpoints() {
    set -- bin/train_text 4
    status 0 "$@" checkpoint text
    cp checkpoint kept
    status 1 "$@" checkpoint other
    finds '^train_text: checkpoint: the state has another ' err
    sed 's/2/3/' text >same_length
    status 1 "$@" checkpoint same_length
    finds '^train_text: checkpoint: the state has another stream' err
    status 1 "$@" checkpoint text text
    finds '^train_text: checkpoint: the size of the state or file is wrong' err
    # Neither has that done harm, nor does a disk that is full.
    status 1 limited "$@" checkpoint text
    finds '^train_text: checkpoint: File too large' err
    same checkpoint kept
    # Cut, and with a bit of a weight changed.
    head -c 500000 kept >cut
    status 1 "$@" cut text
    finds '^train_text: cut: ' err
    { head -c 499999 kept; echo x; tail -c +500002 kept; } >damaged
    status 1 "$@" damaged text
    finds '^train_text: damaged: the checkpoint is damaged' err
}

# A command that can write no file of more than some 100 KB.
limited() { # COMMAND...
    (trap '' XFSZ && ulimit -f 200 && "$@")
}

groups() {
    program groups
    for numbers in '' '1003 16 9 1' '48 1 48 3' '97 48 1 1' '50 16 3 5' \
        '700 3 16 7' '1000 144 1 1' '999 12 4 3'; do
        status 0 bin/groups $numbers
    done
    status 2 bin/groups 10 8 24 2
    finds '10 prompts do not make a generation batch of 24' err
    status 2 bin/groups 100 7 3 1
    finds 'must be a multiple of 48' err
    for wrong in '5 5 5' '0 1 1 1' '1 -1 1 1' '1 1 x 1' '1 1 1'; do
        status 2 bin/groups $wrong
        empty said
    done
    for huge in '18446744073709551615 8 6 99' '48 1 48 18446744073709551615' \
        '1e9 1 48 1' '1000000000 1 48 1' '48 18446744073709551615 48 2'; do
        status 2 bin/groups $huge
        empty said
    done
    refuses_other groups stream 's,lives++,&\, g.copies *= 2\, g.reuse /= 2,' ''
}

# Whatever the lengths are; those of packs must be in the budget.
pack() {
    program pack
    for shortest in '' 1 500 1000; do
        status 0 bin/pack $shortest
    done
    status 1 bin/pack 0
    finds 'sample 0: a length is 0 or above the budget' err
    for wrong in 1001 -1 1x x ''; do
        status 2 bin/pack "$wrong"
        empty said
    done
}

# The paragraphs of this repository, a byte as a token: plans leave less empty
# than packs in order, the larger ones less, and best fit over all the least.
packing() {
    program packing
    awk -v RS= '{ print length }' README.md statesampler.h tests/*.[ch] \
        examples/*.[ch] examples/extras/*.h >lengths
    status 0 bin/packing lengths
    sed 's/of the file/file/; s/ %//g' said >table
    accepts '
        $1 ~ /^(uniform|exponential|lognormal|file)$/ {
            if (!($3 > $4 && $4 >= $5 && $5 >= $6 && $6 >= 0)) exit 1
            if ($2 < 32768 && !($7 > 2 * $5 && $8 > 0)) exit 1
            rows++
        }
        END { exit rows != 20 }' table
    for wrong in '' '12 x' '12 0' '10 20' 3.5 -1 0; do
        printf '7\n%s\n' "$wrong" >lengths
        status 2 bin/packing lengths
        finds "^packing: '$wrong' is not a number" err
    done
    : >lengths
    status 2 bin/packing lengths
    finds 'has no lengths' err
    status 1 bin/packing .
    finds '^packing: \.: [IP]' err
}

# Six thousand words with 1 to 12 of a stem. Only the spread has no step in
# which a stem comes twice, and leaves out no more than a shuffle does.
spread() {
    program spread
    awk 'BEGIN { for (stem = 10000; words < 6000; stem++)
            for (i = 0; i <= stem % 12; i++) { print stem i; words++ } }' >words
    status 0 bin/spread words
    accepts 'NF == 5 { batches[$1] = $2; steps[$1] = $3; left[$1] = $4 }
        END { exit !(batches["shuffle"] > 3 && steps["shuffle"] > 9 &&
            batches["NO_DUPLICATES"] == 0 && steps["NO_DUPLICATES"] > 9 &&
            batches["spread"] + steps["spread"] == 0 &&
            left["spread"] == left["shuffle"]) }' said
    for change in 'stream s.apart--' 'stream ids[0] ^= 1' 'seed s.seed++'; do
        refuses_other spread ${change%% *} \
            "s/s.largest = spread_list/${change#* }; &/" words
    done
    sed 's/^/state/' words | cat words - >more
    status 1 bin/spread more
    must=$(cut -c 1-5 more | sort | uniq -c | awk '
        { all += $1; size[NR] = $1 }
        END { room = int(all / 128)
            for (i in size) if (size[i] > room) must += size[i] - room
            print must }')
    finds "^spread: $must words must repeat a stem in a step" err
    : >none
    status 2 bin/spread none
    finds 'a FILE with words is needed' err
    status 1 bin/spread nowhere/file
    finds '^spread: nowhere/file: No such file' err
    status 1 bin/spread .   # Is a directory, or Windows' Permission denied
    finds '^spread: \.: [IP]' err
}

list_tests() {
    add_test 'example bag: killed in draws, hands and changes, the same items' \
        bag
    add_test 'example blend: killed on 4, 7 and 2 ranks, the same model' \
        blend
    add_test 'example edit: killed on 4, 7, 1 and 2 ranks, each id once' \
        edit
    add_test "example groups: as TRL's rule says, of any numbers" groups
    [ -z "$STB_FLAGS" ] ||
        add_test 'example grow: datasets come and go, the others go on' grow
    add_test 'example locate: any sample, and no wrong one' locate
    add_test 'example pack: of any lengths that are in the budget' pack
    add_test 'example packing: plans leave less empty than packs in order' \
        packing
    add_test 'example quickstart: killed, it loses nothing' quickstart
    add_test 'example ramp: two dead ranks, and the rate' ramp
    add_test 'example recipe_large: killed 14 times, checkpoints are whole' \
        recipe_large
    add_test 'example recipe_large: saves that fail leave the last one whole' \
        recipe_large_fails
    add_test 'example recipe_ranks: each of 7 ranks has its share' recipe_ranks
    add_test "examples: each recipe of $recipes_readme is in its file" recipes
    add_test 'example resume: each run goes on where the one before it ended' \
        resume
    add_test 'example shards: killed on 4, 6 and 1 ranks, damaged shards' \
        shards
    add_test 'example spread: words of a stem apart, no state of other groups' \
        spread
    add_test 'example train_text: killed, the same weights on other ranks' \
        train_text
    add_test "example turns: draws the README's picture" turns
    add_test 'example windows: larger ones mix better, and beat a buffer' \
        windows
}

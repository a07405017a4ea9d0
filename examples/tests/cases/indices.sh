# indices.sh - examples/indices.c, which answers questions about a run.

. examples/tests/common.sh

# The program, and tests/serve.c, which says what is served.
begin_questions() {
    program indices
    quietly make_once build/test/cc/serve
}

serve() { # SETTING... [STATE]
    "$root/build/test/cc/serve" "$@"
}

# Asks about a run that went straight.
straight() { # FILE OPTION...
    state=$1
    shift
    bin/indices --straight --state $state "$@"
}

# Indices as the answers to --steps.
by_steps() { # FIRST RANK BATCH_SIZE
    awk -v step="$1" -v rank="$2" -v size="$3" '
        NR % size == 1 || size == 1 {
            printf("%sepoch 0 step %d rank %d:", NR > 1 ? "\n" : "", step++,
                   rank)
        }
        { printf " %s", $1 }
        END { if (NR > 0) print "" }'
}

# What 4 ranks were served, and then 2 to the end of the epoch, is what the
# states answer: for each step, for each index, from its shape's beginning on.
steps_option() {
    begin_questions
    for order in order=0 order=1 "order=2 chunk_size=10 window=2" partition=1
    do
        for tail in tail=0 tail=1 tail=2 "tail=2 drop_last=1"; do
            set -- num_samples=103 seed=3 $tail $order
            for r in 0 1 2 3; do
                rm -f early
                serve "$@" world_size=4 batch_size=3 rank=$r steps=5 early |
                    by_steps 0 $r 3
            done | sort -n -k 4 -k 6 >wanted
            straight early --steps 0..4 --all | same - wanted
            for r in 1 0; do
                cp early late
                serve "$@" world_size=2 batch_size=5 rank=$r steps=2 late \
                    >part$r
                cp late kept
                serve "$@" world_size=2 batch_size=5 rank=$r late |
                    cat part$r - | by_steps 5 $r 5
            done | sort -n -k 4 -k 6 >wanted
            last=$(awk 'END { print $4 }' wanted)
            case $tail in *drop_last=1) set -- --drop-last ;; *) set -- ;; esac
            straight kept --steps 5..$last --all "$@" | same - wanted
            straight early --world-size 2 --batch-size 5 --all \
                --steps 5..$last "$@" | same - wanted
            straight kept --steps 6..8 --rank 1 "$@" >answer
            grep ' step [678] rank 1:' wanted | same - answer
            status 1 straight kept --steps 4..6 "$@"
            finds 'step 4 of epoch 0: .* before the base' err
            empty said
            status 1 straight kept --steps 6..$((last + 1)) "$@"
            finds "step $((last + 1)) of epoch 0: .* past the end" err
            # Padding repeats in the last step what was served before.
            [ "$tail" != tail=0 ] || continue
            for index in 0 17 51 102; do
                code=0
                straight kept --where $index "$@" >answer || code=$?
                awk -v index_="$index" '
                    { sub(/:/, ""); for (i = 7; i <= NF && !found; i++)
                        if ($i == index_) {
                            printf "%d: epoch 0 step %d rank %d slot %d\n",
                                   index_, $4, $6, i - 7
                            found = 1
                        } }' wanted >place
                if [ -s place ]; then
                    equal $code 0
                    sed 's/ position.*//' answer | same - place
                else
                    equal $code 1
                    finds "^$index: epoch 0: .*serve" answer
                fi
            done
        done
    done
}

refused_questions() {
    begin_questions
    rm -f state
    serve num_samples=100 steps=5 state >/dev/null
    for question in "--where 3" "--steps 0..1"; do
        : >damaged
        status 1 straight damaged $question
        finds 'size of the state' err
        head -c 111 state >damaged
        status 1 straight damaged $question
        finds 'size of the state' err
        { head -c 70 state; printf X; tail -c 41 state; } >damaged
        status 1 straight damaged $question
        finds 'bytes have changed' err
        numbers 1 10000 >damaged
        status 1 straight damaged $question
        printf SSL1 >damaged
        status 1 straight damaged $question
        finds '^indices: damaged: a ledger has tickets: ask the state' err
        { cat state; head -c 24 state; } >damaged
        status 1 straight damaged $question
        finds "^indices: damaged: pack.h's state has no lengths" err
        empty said
        status 1 straight nowhere $question
        finds 'no such file' err
        empty said
    done
    for rank in 1 4294967295 4294967296 18446744073709551615; do
        status 1 straight state --rank $rank --steps 0..1
        finds 'there are 1 ranks, from 0 on' err
    done
    status 1 straight state --world-size 4294967295 \
        --batch-size 4294967295 --where 3
    finds 'world_size \* batch_size' err
    status 1 straight state --batch-size 1048577 --steps 0..0
    finds 'buffer is too small' err
    status 1 straight state --where 99 --where 100
    has said '100: epoch 0: index is not below num_samples'
    lines 2 said
    rm state
    serve num_samples=100 order=3 steps=5 state >/dev/null
    status 1 straight state --where 1
    finds '^1: epoch 0: locate does not work with REPLACEMENT' said
}

# A run that skips steps 290 to 320 by a seek, and one that does not, have the
# same state at step 400. What comes after it, the run may skip as well.
not_said_to_be_straight() {
    begin_questions
    cat >skips.c <<'END_OF_PROGRAM'
#define STATESAMPLER_HOSTED
#include "statesampler.h"

#include <stdio.h>

int main(void)
{
    statesampler_desc desc = {.num_samples = 1000, .batch_size = 2};
    unsigned char state[STATESAMPLER_STATE_BYTES];
    uint64_t batch[2];
    statesampler s;
    size_t count;

    statesampler_init(&s, &desc);
    while (statesampler_step(&s) < 400) {
        if (statesampler_step(&s) == 290)
            statesampler_seek(&s, 321);
        statesampler_next(&s, batch, &count);
        printf("%d\n%d\n", (int)batch[0], (int)batch[1]);
    }
    statesampler_save(&s, state, sizeof state);
    return statesampler_save_file("skipped", state, sizeof state);
}
END_OF_PROGRAM
    compile_here skips skips.c
    ./skips >served
    rm -f state
    serve num_samples=1000 batch_size=2 steps=400 state | by_steps 0 0 2 \
        >straight
    same skipped state
    set -- $(sed -n 's/^epoch 0 step 300 rank 0: //p' straight)
    status 1 grep -qx "$1" served
    for question in "--steps 300..300" "--steps 399..399" "--steps 399..400" \
                    "--steps 400..400" "--where $1" "--epoch 1 --steps 0..0" \
                    "--epoch 1 --where $1" "--where 1000" \
                    "--world-size 2 --steps 401..401"; do
        status 1 bin/indices --state skipped $question
        empty said
        finds '^indices: skipped: a state is one place of a run: .*' err
        finds '; --straight says that it did not$' err
        lines 1 err
    done
    straight state --steps 0..399 | same - straight
    serve num_samples=1000 batch_size=2 steps=1 state | by_steps 400 0 2 \
        >wanted
    straight skipped --steps 400..400 | same - wanted
    # At an epoch's end there is no next step in it.
    rm -f state
    serve num_samples=10 batch_size=2 steps=5 state >/dev/null
    status 1 straight state --steps 5..5
    finds 'step 5 of epoch 0: it is past the end' err
}

# A file with a history before the state: nothing has to be promised.
by_history() {
    begin_questions
    program history
    quietly bin/history saved
    rm -f state
    serve num_samples=64000 seed=42 world_size=8 batch_size=16 steps=400 state \
        >/dev/null
    for step in 0 289 321 399; do
        straight state --all --steps $step..$step >wanted
        bin/indices --state saved --epoch 0 --all --steps $step..$step |
            same - wanted
    done
    for step in 290 320; do
        status 1 bin/indices --state saved --epoch 0 --steps $step..$step
        empty said
        finds "^indices: step $step of epoch 0: skipped at step 290 of epoch 0"\
" by a seek to 321$" err
    done
    equal "$(bin/indices --state saved --epoch 0 --all --steps 450..450 |
        grep -c .)" 6
    # Samples that were served, and one that was only in skipped steps.
    straight state --steps 300..300 --rank 3 | sed 's/.*: //' | tr ' ' '\n' \
        >skipped
    for index in $(sed -n '1p;5p;16p' skipped); do
        status 1 bin/indices --state saved --epoch 0 --where $index
        equal "$(cat said)" "$index: epoch 0: not served"
    done
    for index in 0 7 63999; do
        bin/indices --state saved --epoch 0 --where $index >place
        set -- $(sed 's/.* step \([0-9]*\) rank \([0-9]*\) .*/\1 \2/' place)
        bin/indices --state saved --epoch 0 --steps $1..$1 --rank $2 >batch
        sed 's/.*: //' batch | grep -qw $index
    done
    status 1 bin/indices --state saved --epoch 1 --steps 0..0
    finds 'step 0 of epoch 1: the run has not served it' err
    status 1 bin/indices --state saved --world-size 3 --epoch 0 --steps 5..5
    finds 'leave out --world-size: its history knows ranks and batches' err
    status 1 bin/indices --state saved --batch-size 3 --epoch 0 --steps 5..5
    finds 'leave out --batch-size: its history knows ranks and batches' err
    # The state alone, which knows what is to come.
    tail -c 112 saved >alone
    straight alone --epoch 1 --all --steps 3..4 >wanted
    straight saved --epoch 1 --all --steps 3..4 | same - wanted
    # Damaged, cut, and of another run.
    head -c 200 saved >cut
    status 1 bin/indices --state cut --steps 5..5
    finds '^indices: cut: the size of the state or file is wrong' err
    { head -c 130 saved; printf x; tail -c +132 saved; } >damaged
    status 1 bin/indices --state damaged --steps 5..5
    finds "^indices: damaged: the state's bytes have changed" err
    { head -c -112 saved; cat state; } >others
    status 1 bin/indices --state others --epoch 0 --steps 5..5
    empty said
    finds '^indices: others: the history is of another run$' err
}

# What a history that begins in mid-epoch does not know, and draws at random,
# which have no place.
by_late_history() {
    cat >late.c <<'END_OF_PROGRAM'
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "examples/extras/history.h"
#include <stdio.h>

static unsigned char memory[HISTORY_BYTES(9) + STATESAMPLER_STATE_BYTES];

static int keep(const char *path, uint32_t order)
{
    statesampler_desc desc = {.num_samples = 100, .batch_size = 10};
    statesampler s;
    history h;
    size_t size;

    desc.order = order;
    if (statesampler_init(&s, &desc) != 0 || statesampler_seek(&s, 4) != 0 ||
        history_init(&h, memory, HISTORY_BYTES(9), &s) != 0)
        return 1;
    statesampler_next(&s, NULL, NULL);
    if (history_seek(&h, &s, 7) != 0)
        return 1;
    size = history_save(&h);
    statesampler_save(&s, memory + size, STATESAMPLER_STATE_BYTES);
    return statesampler_save_file(path, memory,
                                  size + STATESAMPLER_STATE_BYTES);
}

int main(void)
{
    return keep("late", STATESAMPLER_ORDER_SEQUENTIAL) ||
           keep("drawn", STATESAMPLER_ORDER_REPLACEMENT);
}
END_OF_PROGRAM
    begin_questions
    compile_here late late.c
    ./late
    bin/indices --state late --where 42 >said
    equal "$(cat said)" '42: epoch 0 step 4 rank 0 slot 2 position 42'
    status 1 bin/indices --state late --where 3
    equal "$(cat said)" \
        '3: epoch 0: not served since step 4 of epoch 0, where this history begins'
    status 1 bin/indices --state late --steps 5..5
    finds 'step 5 of epoch 0: not served since step 4 of epoch 0, where this' err
    finds 'begins; skipped at step 5 of epoch 0 by a seek to 7$' err
    status 1 bin/indices --state late --steps 8..8
    finds 'since step 4 of epoch 0, where this history begins$' err
    status 1 bin/indices --state late --epoch 1 --steps 0..0
    finds 'step 0 of epoch 1: the run has not served it' err
    status 1 bin/indices --state drawn --where 3
    empty said
    finds 'locate does not work with REPLACEMENT' err
}

# The same of a mix, through other weights, a skip and other ranks, and from one
# epoch into the next.
by_mix_history() {
    begin_questions
    cat >mixes.c <<'END_OF_PROGRAM'
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "examples/extras/history.h"
#include <stdio.h>
#include <stdlib.h>

static unsigned char memory[HISTORY_MIX_BYTES(3, 9)], file[sizeof memory + 999];
static statesampler_source sources[3];
static statesampler_mix mix;
static history h;

static void must(int code)
{
    if (code < 0)
        exit(1);
}

/* Prints the turns as indices does, of all ranks. */
static void serve(int turns, uint32_t ranks)
{
    uint64_t batch[4];
    uint32_t rank, source;
    size_t count, i;
    int more;

    for (; turns > 0; turns--) {
        for (rank = 0, more = 1; rank < ranks && more; rank++) {
            must(statesampler_mix_reshape(&mix, rank, ranks));
            must(more = statesampler_mix_at(&mix, statesampler_mix_turn(&mix),
                                            batch, &count, &source));
            if (!more)
                continue;
            printf("epoch %d step %d rank %u dataset %u:",
                   (int)statesampler_mix_epoch(&mix),
                   (int)statesampler_mix_turn(&mix), rank, source);
            for (i = 0; i < count; i++)
                printf(" %d", (int)(batch[i] +
                                    statesampler_mix_offset(&mix, source)));
            puts("");
        }
        must(statesampler_mix_reshape(&mix, 0, ranks));
        must(statesampler_mix_next(&mix, NULL, NULL, NULL));
    }
}

int main(void)
{
    const uint32_t weights[3] = {1, STATESAMPLER_OFF, 4};
    size_t size, bytes, i;

    for (i = 0; i < 3; i++) {
        const statesampler_desc desc = {.num_samples = 30 + 10 * i, .seed = 5,
                                        .stream = i, .world_size = 2,
                                        .batch_size = 2,
                                        .tail = STATESAMPLER_TAIL_UNEVEN};

        must(statesampler_init(&sources[i].sampler, &desc));
        sources[i].weight = 1;
    }
    must(statesampler_mix_init(&mix, sources, 3, STATESAMPLER_STOP_RESTART));
    must(history_mix_init(&h, memory, sizeof memory, &mix));
    serve(12, 2);
    must(history_mix_weigh(&h, &mix, weights));
    serve(6, 2);
    must(history_mix_seek(&h, &mix, 23));
    serve(4, 2);
    must(history_mix_reshape(&h, &mix, 0, 3));
    serve(30, 3);
    size = history_save(&h);
    bytes = statesampler_mix_state_bytes(&mix);
    memcpy(file, h.bytes, size);
    must(statesampler_mix_save(&mix, file + size, bytes));
    must(statesampler_save_file("mixed", file, size + bytes));
    return 0;
}
END_OF_PROGRAM
    compile_here mixes mixes.c
    ./mixes >served
    finds '^epoch 1 ' served
    sed 's/ rank .*//' served | uniq | while read -r _ epoch _ step; do
        bin/indices --state mixed --epoch $epoch --steps $step..$step --all
    done | same - served
    status 1 bin/indices --state mixed --epoch 0 --steps 20..20
    finds 'step 20 of epoch 0: skipped at step 18 of epoch 0 by a seek to 23' err
    # Each sample where it was.
    sed -n '1p;9p;30p;60p;$p' served | while read -r _ epoch _ step _ rank _ \
        dataset first _; do
        [ -n "$first" ] || continue
        bin/indices --state mixed --epoch $epoch --where $first >said
        finds "^$first: epoch $epoch step $step rank $rank slot 0 .*dataset "\
"${dataset%:}" said
    done
}

# Turns of a schedule's next stage, of which a mix's state does not know. The
# run's history is in the file, or not.
by_schedule() {
    program indices
    cat >stages.c <<'END_OF_PROGRAM'
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "examples/extras/history.h"
#define SCHEDULE_WEIGH(mix, weights) history_mix_weigh(&h, mix, weights)
static history h;
#include "examples/extras/schedule.h"
#include <stdio.h>
#include <stdlib.h>

static unsigned char memory[HISTORY_MIX_BYTES(2, 9)];
static unsigned char file[SCHEDULE_BYTES(2) + sizeof memory + 999];
static statesampler_source sources[2];
static schedule_source shares[2];
static uint32_t weights[2];
static statesampler_mix mix;
static schedule s;

static void must(int code)
{
    if (code < 0)
        exit(1);
}

static uint32_t plan(schedule *of, uint64_t turn, void *context)
{
    (void)context;
    of->sources[turn / 10 % 2].share = 9;
    of->sources[1 - turn / 10 % 2].share = turn != 30;
    return 10;
}

static void go_to(uint64_t turn)
{
    uint64_t batch[1];
    uint32_t source;
    size_t count;

    while (statesampler_mix_turn(&mix) < turn) {
        must(schedule_follow(&s, &mix, plan, NULL));
        must(statesampler_mix_next(&mix, batch, &count, &source));
        printf("epoch 0 step %d rank 0 dataset %u: %d\n",
               (int)statesampler_mix_turn(&mix) - 1, source,
               (int)(*batch + statesampler_mix_offset(&mix, source)));
    }
}

/* The schedule's state, the history's if it is asked for, and the mix's. */
static void save(const char *path, int with_history)
{
    size_t size = SCHEDULE_BYTES(2), known = history_save(&h);
    const size_t bytes = statesampler_mix_state_bytes(&mix);

    must(schedule_save(&s, file, size));
    if (with_history) {
        memcpy(file + size, h.bytes, known);
        size += known;
    }
    must(statesampler_mix_save(&mix, file + size, bytes));
    must(statesampler_save_file(path, file, size + bytes));
}

int main(void)
{
    int i;

    for (i = 0; i < 2; i++) {
        const statesampler_desc desc = {.num_samples = 50, .stream = i,
                                        .world_size = 1, .batch_size = 1};

        must(statesampler_init(&sources[i].sampler, &desc));
        sources[i].weight = 1;
    }
    must(statesampler_mix_init(&mix, sources, 2, STATESAMPLER_STOP_NEVER));
    must(history_mix_init(&h, memory, sizeof memory, &mix));
    schedule_init(&s, shares, weights, 2);
    go_to(15);
    save("known", 1);
    save("alone", 0);
    go_to(35);
    save("off", 0);
    return 0;
}
END_OF_PROGRAM
    compile_here stages stages.c
    ./stages >served
    head -n 15 served >wanted
    bin/indices --state known --steps 0..14 | same - wanted
    sed -n 16,20p served >wanted
    for state in known alone; do
        straight $state --steps 15..19 | same - wanted
        for steps in 19..20 20..20 21..21 999..999; do
            status 1 straight $state --steps $steps
            finds "turn [0-9]*: this state's schedule has a new stage at \
turn 20, which schedule_at knows" err
        done
        # The last turn of the stage, and the one after it.
        straight $state --where "$(sed -n '20s/.*: //p' served)" >said
        finds 'step 19 ' said
        set -- $(seq 0 99 | sed 's/^/--where /')
        status 1 straight $state "$@"
        finds 'epoch 0: turn 20: this state.s schedule has a new' said
        sed -n 's/.* step \([0-9]*\) .*/\1/p' said | sort -n | tail -n 1 >last
        equal "$(cat last)" 19
    done
    # Where the stage ends.
    printf x | dd of=known bs=1 seek=16 conv=notrunc 2>err
    status 1 straight known --steps 15..19
    finds "indices: known: the state's bytes have changed" err
    # The dataset of this sample has no turn before.
    status 1 straight off --where 7 >said
    finds '^7: epoch 0: this state.s schedule has a new stage at turn 40' said
}

# The line of what a rank was served that has the answer of --where.
line_of() { # ANSWER BATCH_SIZE
    sed 's/.*step \([0-9]*\).*slot \([0-9]*\).*/\1 \2/' "$1" |
        awk -v size="$2" '{ print $1 * size + $2 + 1 }'
}

# Of other epochs, past or to come, what fresh runs of the same ranks serve.
epoch_option() {
    begin_questions
    set -- num_samples=100 world_size=3 batch_size=4
    rm -f state
    serve "$@" steps=20 rank=2 state >/dev/null # in epoch 2
    for e in 0 1 2 7; do
        serve "$@" epoch=$e rank=1 | by_steps 0 1 4 |
            sed "s/epoch 0/epoch $e/" >wanted
        straight state --epoch $e --steps 0..8 --rank 1 | same - wanted
        straight state --epoch $e --where 42 >place
        rank=$(sed 's/.*rank \([0-9]*\).*/\1/' place)
        serve "$@" epoch=$e rank=$rank |
            sed -n "$(line_of place 4)p" >found
        equal "$(cat found)" 42
    done
    # With CARRY the steps of all epochs are counted on.
    set -- num_samples=50 tail=3 batch_size=7 seed=4
    rm -f state
    serve "$@" steps=30 state >/dev/null
    serve "$@" steps=60 >all
    for e in 0 1 3 4 5 7; do
        straight state --where 11 --epoch $e >place
        finds "^11: epoch $e " place
        at=$(line_of place 7)
        equal "$(sed -n "${at}p" all)" 11
        equal $(((at - 1) / 50)) $e
    done
    straight state --epoch 7 --steps 0..59 >place
    by_steps 0 0 7 <all | awk '{ $2 = int($4 * 7 / 50); print }' |
        same - place
    rm state
    serve "$@" epoch=5 steps=30 state >/dev/null
    for e in 0 4; do
        status 1 straight state --where 11 --epoch $e
        finds ": the run begins after epoch $e$" err
    done
    # From epoch 9, 2^63 + 1 epochs of 50 samples are 50 where numbers wrap.
    for e in 9223372036854775818 18446744073709551614; do
        status 1 straight state --where 11 --epoch $e
        finds 'too far from the base' err
    done
    # Step 1 has positions 16 to 31: the end of epoch 3, 4, 5 and some of 6.
    set -- num_samples=5 tail=3 world_size=2 batch_size=8
    rm state
    serve "$@" steps=3 state >/dev/null
    straight state --where 2 --epoch 3 >place
    for e in 4 5; do
        status 1 straight state --where 2 --epoch $e
        finds ": no step begins in epoch $e: step 1 has its samples$" err
    done
}

# The block of the page on extras, run as it stands.
answers_readme=examples/extras/README.md
readme_answers() {
    program quickstart indices history
    sed -n '/^## Which samples/,/^## Groups/p' $answers_readme |
        sed -n '/^```/,/^```/p' | grep -v '^```' >block
    ln -s bin build
    sed -n 's/^\$ //p' block >commands
    sh ./commands >answers 2>&1
    grep -v '^\$' block | same - answers
    lines 6 answers
}

# Refused with this text in the message, nothing printed.
bad() { # TEXT OPTION...
    text=$1
    shift
    status 2 bin/indices "$@"
    empty said
    finds -F -e "$text" err
    equal "$(sed -n 2p err)" "Try 'indices --help'."
    lines 2 err
}

# As with the examples that check themselves.
indices() {
    program quickstart indices
    status 0 bin/quickstart
    answers_help indices
    refuses_nonsense indices
    notices_full_disk indices --help
    notices_full_disk indices --straight --state ../quickstart.state --where 3
}

bad_options() {
    program indices
    bad "give --state FILE"
    bad "give --state FILE" --steps 1..2
    bad "and --steps A..B or --where INDEX" --state nowhere
    bad "and --steps A..B or --where INDEX" --state nowhere --all --straight
    bad "unknown option '--sed'" --state nowhere --sed 3
    bad "give --state FILE" --straight --steps 1..2
    bad "unknown option '10'" 10 11
    for option in --state --steps --where --rank --epoch --world-size \
                  --batch-size; do
        bad "'$option' needs a value" --where 1 $option
        [ $option = --state ] || bad "'-1' is not" --state nowhere $option -1
    done
    for value in '' x +1 ' 1' 1x 0x10 1.5 18446744073709551616; do
        bad "'$value' is not a number from 0 to 18446744073709551615" \
            --where "$value"
    done
    for option in --world-size --batch-size; do
        bad "'0' is not a number from 1 to 4294967295" $option 0
    done
    for range in '' 1x 1.. ..2 1..2..3 1...2 x..2 1..y -1..2 1..-2 3..2; do
        bad "' is not " --steps "$range"
    done
}

list_tests() {
    add_test 'example indices: a full disk, --help, an unknown argument' indices
    add_test 'example indices: --steps and --where: what 4 ranks, then 2 had' \
        steps_option
    add_test 'example indices: without --straight, no question is answered' \
        not_said_to_be_straight
    add_test 'example indices: a history answers for skips and other ranks' \
        by_history
    add_test 'example indices: a history that begins late, and random draws' \
        by_late_history
    add_test "example indices: a mix's history answers, too" by_mix_history
    add_test "example indices: a schedule's next stage is not guessed" \
        by_schedule
    add_test 'example indices: a state that is damaged or missing is refused' \
        refused_questions
    add_test "example indices: --epoch: other epochs, and CARRY's" epoch_option
    add_test "example indices: $answers_readme shows what is printed" \
        readme_answers
    add_test 'example indices: a bad option is named' bad_options
}

/* recall.c - does examples/extras/recall.h answer for every turn of every rank
   what was served, whatever state it has, and nothing else? And recorder.h, for
   the ranks that go on from it? */
#include "statesampler.h"
#include "examples/extras/recorder.h"

#include "../check.h"
#include "ranks.h"

#include <string.h>

#define RANKS 3u
#define SOURCES 5u
#define EPOCHS 4u
#define TURNS 400u
#define STATES 12u
#define SIZE STATESAMPLER_MIX_STATE_BYTES(SOURCES)

/* How a run is now. A mix for each rank. */
static struct {
    statesampler_desc desc[SOURCES];
    uint32_t weights[SOURCES], num_sources, stop, world_size;
    statesampler_source sources[RANKS][SOURCES];
    statesampler_mix mixes[RANKS];
    int carry;
} run;

/* What was served: a hash of the source and the batch; by how many ranks. */
static uint64_t served[EPOCHS][TURNS][RANKS];
static uint64_t source_epoch[EPOCHS][TURNS]; /* in which the source was */
static uint32_t ranks_at[EPOCHS][TURNS], turns_of[EPOCHS];

/* What was saved, and how many changes there were up to each turn. */
static struct {
    unsigned char bytes[SIZE];
    uint32_t epoch, turn, changes;
    int from_start; /* nothing has changed in its epoch */
} states[STATES];
static uint32_t num_states, changes[EPOCHS][TURNS + 1], changed;
static size_t size;

static uint64_t hash_of(uint32_t source, const uint64_t *batch, size_t count)
{
    return statesampler_hash(source, batch, count * sizeof *batch);
}

static void begin_ranks(void)
{
    uint32_t rank;

    for (rank = 0; rank < run.world_size; rank++)
        begin_rank(&run.mixes[rank], run.sources[rank], run.desc, run.weights,
                   run.num_sources, run.stop, rank, run.world_size);
}

static void describe_run(void)
{
    uint32_t i, drop_last = (uint32_t)check_random(2);

    run.num_sources = 1 + (uint32_t)check_random(SOURCES);
    run.stop = (uint32_t)check_random(STOPS);
    run.world_size = 1 + (uint32_t)check_random(RANKS);
    run.carry = run.stop == STATESAMPLER_STOP_NEVER && check_random(2);
    for (i = 0; i < run.num_sources; i++) {
        statesampler_desc *d = &run.desc[i];

        memset(d, 0, sizeof *d);
        d->num_samples = 1 + check_random(30);
        d->seed = check_random(9);
        d->epoch = check_random(3);
        d->stream = i;
        d->batch_size = 1 + (uint32_t)check_random(4);
        d->order = (uint32_t)check_random(3);
        d->chunk_size = 3;
        d->window = 2;
        d->partition = run.carry ? 0 : (uint32_t)check_random(2);
        d->tail =
            run.carry ? STATESAMPLER_TAIL_CARRY : (uint32_t)check_random(3);
        d->drop_last = run.carry ? 0 : drop_last;
        if (run.stop == STATESAMPLER_STOP_NEVER)
            d->num_samples += 4 * RANKS; /* it has steps */
        run.weights[i] = i > 0 && check_random(5) == 0
                             ? STATESAMPLER_OFF
                             : 1 + (uint32_t)check_random(3);
    }
    size = STATESAMPLER_MIX_STATE_BYTES(run.num_sources);
    begin_ranks();
}

/* Other weights; or a kill, after which other ranks go on, or the same ones,
   which is no change, but for CARRY's base. */
static void change(uint32_t epoch, uint32_t turn)
{
    static unsigned char state[SIZE];
    uint32_t rank, i, kind = (uint32_t)check_random(3);

    CHECK(statesampler_mix_save(&run.mixes[0], state, size) == STATESAMPLER_OK);
    if (kind == 0) {
        run.weights[0] = 1 + (uint32_t)check_random(5);
        for (rank = 0; rank < run.world_size; rank++)
            CHECK(statesampler_mix_weigh(&run.mixes[rank], run.weights) ==
                  STATESAMPLER_OK);
    } else {
        if (kind == 1)
            run.world_size = 1 + (uint32_t)check_random(RANKS);
        for (i = 0; i < run.num_sources && kind == 1; i++)
            run.desc[i].batch_size = 1 + (uint32_t)check_random(4);
        begin_ranks();
        for (rank = 0; rank < run.world_size; rank++)
            CHECK(statesampler_mix_load(&run.mixes[rank], state, size) ==
                  STATESAMPLER_OK);
    }
    changed += kind < 2 || run.carry;
    changes[epoch][turn] = changed;
}

static void keep(uint32_t epoch, uint32_t turn, uint32_t changes_before)
{
    if (num_states == STATES)
        return;
    CHECK(statesampler_mix_save(&run.mixes[0], states[num_states].bytes,
                                size) == STATESAMPLER_OK);
    states[num_states].epoch = epoch;
    states[num_states].turn = turn;
    states[num_states].changes = changed;
    states[num_states].from_start = changed == changes_before;
    num_states++;
}

/* One turn on all ranks. Returns 0 at the end of the epoch. */
static int serve(uint32_t epoch, uint32_t turn)
{
    uint64_t batch[4];
    uint32_t rank, source = 0;
    size_t count;
    int more = 0;

    for (rank = 0; rank < run.world_size; rank++) {
        more = statesampler_mix_next(&run.mixes[rank], batch, &count, &source);
        if (more == 1) {
            served[epoch][turn][rank] = hash_of(source, batch, count);
            source_epoch[epoch][turn] =
                statesampler_epoch(&run.sources[rank][source].sampler);
        }
    }
    ranks_at[epoch][turn] = run.world_size;
    return more;
}

static void serve_all(uint32_t one_in)
{
    uint32_t epoch, turn, before;
    int never = run.stop == STATESAMPLER_STOP_NEVER;

    num_states = changed = 0;
    for (epoch = 0; epoch < EPOCHS; epoch++) {
        before = changed;
        for (turn = 0; turn < TURNS; turn++) {
            changes[epoch][turn] = changed;
            if (one_in > 0 && check_random(one_in) == 0)
                change(epoch, turn);
            if (turn == 0 && !run.carry)
                before = changed;
            if (check_random(20) == 0)
                keep(epoch, turn, before);
            if (!serve(epoch, turn) || (never && turn == 150))
                break;
        }
        CHECK(turn < TURNS);
        turns_of[epoch] = turn;
        changes[epoch][turn] = changed;
        if (never)
            break;
    }
}

/* Compares a recalled epoch with what was served, up to turn `past`. Turns from
   `first` on must be answered; any other answer must be right, unless its
   source has begun another epoch between it and the state. (With ALL it may be
   wrong, as recall.h says. None of these runs comes to such a state.) */
static uint64_t compare(statesampler_mix *mix, uint32_t epoch, uint32_t first,
                        uint32_t past, uint32_t world_size,
                        const unsigned char *state)
{
    statesampler_desc desc;
    uint64_t batch[4], answers = 0;
    uint32_t turn, rank, source;
    size_t count;

    for (rank = 0; rank < world_size; rank++) {
        CHECK(statesampler_mix_reshape(mix, rank, world_size) ==
              STATESAMPLER_OK);
        for (turn = 0; turn < past; turn++) {
            int code = statesampler_mix_at(mix, turn, batch, &count, &source);

            CHECK(code == 1 || (code < 0 && turn < first));
            if (code != 1)
                continue;
            statesampler_mix_describe(state, size, source, &desc, NULL);
            if (turn >= first || run.stop == STATESAMPLER_STOP_FIRST ||
                run.stop == STATESAMPLER_STOP_ALL ||
                source_epoch[epoch][turn] == desc.epoch) {
                CHECK(ranks_at[epoch][turn] == world_size);
                CHECK(served[epoch][turn][rank] ==
                      hash_of(source, batch, count));
                answers++;
            }
        }
    }
    return answers;
}

static uint64_t ask(uint32_t number)
{
    static statesampler_source sources[SOURCES];
    static unsigned char scratch[SIZE];
    const unsigned char *state = states[number].bytes;
    uint32_t now = states[number].epoch, turn = states[number].turn, epoch;
    uint32_t past = turn, before = states[number].changes;
    statesampler_desc desc;
    statesampler_mix mix;
    uint64_t answers;

    while (past < turns_of[now] && changes[now][past] == before)
        past++;
    CHECK(recall_sources(state, size) == run.num_sources);
    CHECK(statesampler_mix_describe(state, size, 0, &desc, NULL) ==
          STATESAMPLER_OK);
    CHECK(recall_mix(&mix, sources, state, size, scratch, STATESAMPLER_NONE,
                     run.desc[0].drop_last) == STATESAMPLER_OK);
    CHECK(statesampler_mix_turn(&mix) == turn);
    answers = compare(&mix, now, states[number].from_start ? 0 : turn, past,
                      desc.world_size, state);
    if (run.stop == STATESAMPLER_STOP_NEVER) {
        CHECK(recall_mix(&mix, sources, state, size, scratch, 7, 0) ==
              RECALL_EEPOCH);
        return answers;
    }
    for (epoch = 0; epoch < EPOCHS; epoch++) {
        if (epoch == now || (epoch < now && before > 0) ||
            (epoch > now && changes[epoch][turns_of[epoch]] > before))
            continue; /* was served in another way */
        CHECK(recall_mix(&mix, sources, state, size, scratch, epoch,
                         run.desc[0].drop_last) == STATESAMPLER_OK);
        CHECK(statesampler_mix_num_turns(&mix) == turns_of[epoch]);
        answers +=
            compare(&mix, epoch, 0, turns_of[epoch], desc.world_size, state);
    }
    return answers;
}

/* Opens a state for other ranks, or for its own. Every rank goes on from it. */
static void go_on(uint32_t number, recorder *r, statesampler_source *sources)
{
    static unsigned char scratch[SIZE];
    const unsigned char *state = states[number].bytes;
    uint32_t i, rank, largest = 0;
    statesampler_desc desc;

    memset(r, 0, sizeof *r);
    r->epoch = STATESAMPLER_NONE;
    r->world_size = number % (RANKS + 1);
    r->drop_last = run.desc[0].drop_last;
    r->straight = 1;
    for (i = 0; i < run.num_sources; i++) {
        CHECK(statesampler_mix_describe(state, size, i, &desc, NULL) ==
              STATESAMPLER_OK);
        run.desc[i].batch_size = desc.batch_size;
        largest = desc.batch_size > largest ? desc.batch_size : largest;
    }
    run.world_size = r->world_size > 0 ? r->world_size : desc.world_size;
    begin_ranks();
    for (rank = 0; rank < run.world_size; rank++)
        CHECK(statesampler_mix_load(&run.mixes[rank], state, size) ==
              STATESAMPLER_OK);
    CHECK(recorder_open(r, sources, state, size, scratch) == STATESAMPLER_OK);
    CHECK(r->world_size == run.world_size && r->batch_size == largest);
    CHECK(r->epoch == states[number].epoch);
}

/* The recorder knows their next turn. Returns how many samples it finds there:
   others are padding, or of an epoch that their dataset begins with it. Where
   one is comes first, as recorder_at takes a rank's shape. */
static uint64_t ask_next(uint32_t number)
{
    static statesampler_source sources[SOURCES];
    uint64_t step, batch[4], given[RANKS][4], found = 0;
    uint32_t rank, slot, source, theirs = 0;
    size_t count, counts[RANKS] = {0, 0, 0};
    statesampler_place at;
    recorder r;
    int code, more = 0;

    go_on(number, &r, sources);
    for (rank = 0; rank < run.world_size; rank++)
        more = statesampler_mix_next(&run.mixes[rank], given[rank],
                                     &counts[rank], &theirs);
    for (slot = 0; slot < 4; slot++)
        for (rank = 0; rank < run.world_size && slot < counts[rank]; rank++) {
            given[rank][slot] += statesampler_mix_offset(&r.mix, theirs);
            code = recorder_locate(&r, given[rank][slot], &step, &at, &source);
            if (code == STATESAMPLER_OK && step == states[number].turn) {
                CHECK(source == theirs && at.rank < run.world_size);
                CHECK(given[at.rank][at.slot] == given[rank][slot]);
                found++;
            }
        }
    for (rank = 0; rank < run.world_size; rank++) {
        CHECK(recorder_at(&r, states[number].turn, rank, batch, &count,
                          &source) == more);
        CHECK(count == counts[rank] && (more == 0 || source == theirs));
        CHECK(memcmp(batch, given[rank], count * 8) == 0);
    }
    return found;
}

/* The state of a mixture has the mix's inside. What is damaged is refused. */
static void refuse(uint32_t number)
{
    static unsigned char bytes[SIZE + 24 + 8 * SOURCES];
    static statesampler_source sources[SOURCES];
    static unsigned char scratch[SIZE];
    const unsigned char *state = states[number].bytes;
    size_t whole = size + 24 + 8 * (size_t)run.num_sources, cut, inner = whole;
    statesampler_mix mix;

    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, "SSMN\2\0\1", 7);
    bytes[8] = (unsigned char)run.num_sources;
    memcpy(bytes + 16 + 8 * (size_t)run.num_sources, state, size);
    CHECK(recall_sources(bytes, whole) == run.num_sources);
    CHECK(statesampler_mix_state_in(bytes, &inner) ==
          bytes + 16 + 8 * (size_t)run.num_sources);
    CHECK(inner == size);
    CHECK(recall_mix(&mix, sources, bytes, whole, scratch, STATESAMPLER_NONE,
                     run.desc[0].drop_last) == STATESAMPLER_OK);
    for (cut = 1; cut < whole; cut++) {
        uint32_t count;
        void *short_one = malloc(cut); /* a sanitizer sees where it ends */

        CHECK(short_one != NULL);
        memcpy(short_one, bytes, cut);
        count = recall_sources(short_one, cut);
        free(short_one);
        CHECK(count == 0);
        bytes[cut] ^= 0x80;
        count = recall_sources(bytes, whole);
        CHECK(count <= SOURCES);
        if (count > 0 && cut >= 16 + 8 * (size_t)count && cut < whole - 8)
            CHECK(recall_mix(&mix, sources, bytes, whole, scratch,
                             STATESAMPLER_NONE, 0) != STATESAMPLER_OK);
        bytes[cut] ^= 0x80;
    }
    CHECK(recall_sources(state, size - 1) == 0);
}

/* --- recall_carry --------------------------------------------------------- */

/* The first step that begins in an epoch; STATESAMPLER_NONE if none does. */
static uint64_t first_step_of(statesampler s, uint64_t epoch)
{
    uint64_t step = 0;

    CHECK(statesampler_seek(&s, 0) == STATESAMPLER_OK);
    while (statesampler_epoch(&s) < epoch) {
        step++;
        CHECK(statesampler_seek(&s, step) == STATESAMPLER_OK);
    }
    return statesampler_epoch(&s) == epoch ? step : STATESAMPLER_NONE;
}

/* From every step of some epochs to each other epoch. Where steps divide the
   length, each epoch begins with a step. */
static void carries(uint64_t num_samples, uint32_t world_size)
{
    uint64_t step, epoch, want;
    statesampler_desc desc;
    statesampler from, s;

    memset(&desc, 0, sizeof desc);
    desc.num_samples = num_samples;
    desc.world_size = world_size;
    desc.batch_size = 4;
    desc.tail = STATESAMPLER_TAIL_CARRY;
    CHECK(statesampler_init(&from, &desc) == STATESAMPLER_OK);
    for (step = 0; step * 4 * world_size < 5 * num_samples; step++) {
        CHECK(statesampler_seek(&from, step) == STATESAMPLER_OK);
        for (epoch = 0; epoch < 5; epoch++) {
            if (epoch == statesampler_epoch(&from))
                continue;
            s = from;
            want = first_step_of(s, epoch);
            if (want == STATESAMPLER_NONE) {
                CHECK(recall_carry(&s, epoch) == STATESAMPLER_ERANGE_END);
                continue;
            }
            CHECK(recall_carry(&s, epoch) == STATESAMPLER_OK);
            CHECK(statesampler_epoch(&s) == epoch);
            CHECK(statesampler_step(&s) == want);
        }
    }
    /* 2^63 + 1 epochs of an even length are one where numbers wrap. */
    CHECK(statesampler_seek(&from, 0) == STATESAMPLER_OK);
    for (epoch = 1; epoch != 0; epoch *= 2) {
        s = from;
        CHECK(recall_carry(&s, epoch + 1) == STATESAMPLER_ERANGE_FAR ||
              statesampler_epoch(&s) - epoch - 1 <= 4 * world_size);
    }
}

int main(int argc, char **argv)
{
    static const uint32_t one_in[] = {0, 200, 30};
    uint64_t answers = 0, asked = 0, found = 0;
    uint32_t number, round, rounds = check_reduced(argc, argv) ? 200u : 2000u;

    for (number = 1; number < 40; number++) {
        carries(number, 1);
        carries(number, 2);
    }
    for (round = 0; round < rounds; round++) {
        describe_run();
        serve_all(one_in[round % 3]);
        for (number = 0; number < num_states; number++, asked++)
            answers += ask(number);
        if (num_states > 0 && round % 10 == 0)
            refuse(0);
        for (number = 0; number < num_states; number++)
            found += ask_next(number);
    }
    CHECK(strstr(recall_error(RECALL_EEPOCH), "one epoch") != NULL);
    CHECK(recorder_error(RECALL_EEPOCH) == recall_error(RECALL_EEPOCH));
    CHECK(recall_error(RECALL_EEPOCH - 1) ==
          statesampler_error(RECALL_EEPOCH - 1));
    CHECK(answers > asked * 20 && found > asked * 2);
    printf("%u runs: %u states answered for %u turns of a rank, as served\n",
           (unsigned)rounds, (unsigned)asked, (unsigned)answers);
    return check_done("recall");
}

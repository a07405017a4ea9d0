/* recorder.c - does examples/extras/recorder.h answer for nothing but a state's
   next step, whatever the run did before the state and after it? And if the run
   is said to have been straight, and was, is each answer what was served? */
#include "statesampler.h"
#include "examples/extras/recorder.h"

#include "../check.h"
#include "ranks.h"

#include <string.h>

#define RANKS 3u
#define SOURCES 3u
#define BATCH 4u
#define SERVED 120u
#define STATES 8u
#define SIZE STATESAMPLER_MIX_STATE_BYTES(SOURCES)
#define MOST (40 + 4 * RANKS * BATCH) /* samples of a source */

/* How a run is now: of a sampler, or of a mix, with one for each rank. */
static struct {
    int mixed, carry;
    statesampler_desc desc[SOURCES];
    uint32_t weights[SOURCES], num_sources, stop, world_size;
    statesampler samplers[RANKS];
    statesampler_source sources[RANKS][SOURCES];
    statesampler_mix mixes[RANKS];
    /* A stretch begins with what makes a run not straight, a lap with each
       epoch. whole: the epoch began in this stretch. */
    uint32_t stretch, lap;
    int whole;
} run;

/* What every rank was served in a step. */
static struct {
    uint64_t epoch, step, batches[RANKS];
    uint32_t world_size, stretch, lap;
    int whole;
} served[SERVED];
static uint32_t num_served;

/* What was saved, and what each rank that goes on from there gets. */
static struct {
    unsigned char bytes[SIZE];
    uint64_t epoch, step, given[RANKS][BATCH];
    size_t counts[RANKS];
    uint32_t world_size, stretch, lap, served;
    int more;
} states[STATES];
static uint32_t num_states;

static statesampler_source opened[SOURCES];
static unsigned char scratch[SIZE];

static size_t state_bytes(void)
{
    return run.mixed ? STATESAMPLER_MIX_STATE_BYTES(run.num_sources)
                     : STATESAMPLER_STATE_BYTES;
}

static uint64_t hash_of(const uint64_t *batch, size_t count)
{
    return statesampler_hash(1, batch, count * sizeof *batch);
}

static void begin_ranks(void)
{
    uint32_t rank;

    for (rank = 0; rank < run.world_size; rank++) {
        begin_rank(&run.mixes[rank], run.sources[rank], run.desc, run.weights,
                   run.num_sources, run.stop, rank, run.world_size);
        CHECK(statesampler_init(&run.samplers[rank], &run.desc[0]) ==
              STATESAMPLER_OK);
    }
}

static void describe_run(void)
{
    uint32_t i, drop_last = (uint32_t)check_random(2);

    memset(&run, 0, sizeof run);
    run.mixed = (int)check_random(2);
    run.num_sources = run.mixed ? 1 + (uint32_t)check_random(SOURCES) : 1;
    run.stop = (uint32_t)check_random(STOPS);
    run.world_size = 1 + (uint32_t)check_random(RANKS);
    run.carry = check_random(4) == 0;
    if (run.carry)
        run.stop = STATESAMPLER_STOP_NEVER;
    for (i = 0; i < run.num_sources; i++) {
        statesampler_desc *d = &run.desc[i];

        d->num_samples = 1 + check_random(40);
        d->seed = check_random(9);
        d->epoch = check_random(3);
        d->stream = i;
        d->batch_size = 1 + (uint32_t)check_random(BATCH);
        d->order = (uint32_t)check_random(3);
        d->chunk_size = 3;
        d->window = 2;
        d->partition = run.carry ? 0 : (uint32_t)check_random(2);
        d->tail =
            run.carry ? STATESAMPLER_TAIL_CARRY : (uint32_t)check_random(3);
        d->drop_last = run.carry ? 0 : drop_last;
        if (run.stop == STATESAMPLER_STOP_NEVER)
            d->num_samples += RANKS * BATCH; /* it has steps */
        run.weights[i] = 1 + (uint32_t)check_random(3);
    }
    run.whole = 1;
    num_served = num_states = 0;
    begin_ranks();
}

static uint64_t epoch_now(void)
{
    return run.mixed ? statesampler_mix_epoch(&run.mixes[0])
                     : statesampler_epoch(&run.samplers[0]);
}

static uint64_t step_now(void)
{
    return run.mixed ? statesampler_mix_turn(&run.mixes[0])
                     : statesampler_step(&run.samplers[0]);
}

static void save(unsigned char *state)
{
    CHECK((run.mixed ? statesampler_mix_save(&run.mixes[0], state, SIZE)
                     : statesampler_save(&run.samplers[0], state, SIZE)) ==
          STATESAMPLER_OK);
}

static void load(const unsigned char *state)
{
    uint32_t rank;

    for (rank = 0; rank < run.world_size; rank++)
        CHECK((run.mixed
                   ? statesampler_mix_load(&run.mixes[rank], state,
                                           state_bytes())
                   : statesampler_load(&run.samplers[rank], state,
                                       state_bytes())) == STATESAMPLER_OK);
}

/* A rank's next batch. The samples of a mix are those of its datasets one after
   another. */
static int next(uint32_t rank, uint64_t *batch, size_t *count)
{
    uint32_t source = 0;
    size_t i;
    int more;

    if (!run.mixed)
        return statesampler_next(&run.samplers[rank], batch, count);
    more = statesampler_mix_next(&run.mixes[rank], batch, count, &source);
    for (i = 0; i < *count; i++)
        batch[i] += statesampler_mix_offset(&run.mixes[rank], source);
    return more;
}

/* Saves a state, and finds out what comes next by going on from it. Then the
   run goes on from it too: a load in the same shape changes no step. */
static void keep(void)
{
    uint32_t rank;

    if (num_states == STATES)
        return;
    save(states[num_states].bytes);
    states[num_states].epoch = epoch_now();
    states[num_states].step = step_now();
    states[num_states].world_size = run.world_size;
    states[num_states].stretch = run.stretch;
    states[num_states].lap = run.lap;
    states[num_states].served = num_served;
    for (rank = 0; rank < run.world_size; rank++)
        states[num_states].more = next(rank, states[num_states].given[rank],
                                       &states[num_states].counts[rank]);
    begin_ranks();
    load(states[num_states].bytes);
    num_states++;
}

static int seek(uint32_t rank, uint64_t step)
{
    return run.mixed ? statesampler_mix_seek(&run.mixes[rank], step)
                     : statesampler_seek(&run.samplers[rank], step);
}

/* What makes a run not straight. */
static void steer(void)
{
    static unsigned char state[SIZE];
    uint64_t to = check_random(25);
    uint32_t rank, i;

    switch (check_random(5)) {
    case 0:
        for (rank = 0; rank < run.world_size; rank++)
            seek(rank, to); /* or an error on all of them */
        break;
    case 1: /* begin */
        for (i = 0; i < run.num_sources; i++)
            run.desc[i].epoch = check_random(6);
        begin_ranks();
        break;
    case 2: /* other ranks and batch sizes */
        save(state);
        run.world_size = 1 + (uint32_t)check_random(RANKS);
        for (i = 0; i < run.num_sources; i++)
            run.desc[i].batch_size = 1 + (uint32_t)check_random(BATCH);
        begin_ranks();
        load(state);
        break;
    case 3:
        run.weights[0] = 1 + (uint32_t)check_random(5);
        for (rank = 0; rank < run.world_size; rank++)
            CHECK(statesampler_mix_weigh(&run.mixes[rank], run.weights) ==
                  STATESAMPLER_OK);
        break;
    default:
        if (run.mixed)
            return;
        to = run.desc[0].num_samples + check_random(3);
        for (rank = 0; rank < run.world_size; rank++)
            if (statesampler_resize(&run.samplers[rank], to) == STATESAMPLER_OK)
                run.desc[0].num_samples = to;
    }
    run.stretch++;
    run.lap++;
    run.whole = 0;
}

/* One step on all ranks, or the end of an epoch. */
static void serve(void)
{
    uint64_t batch[BATCH], epoch = epoch_now(), step = step_now();
    uint32_t rank;
    size_t count;
    int more = 0;

    for (rank = 0; rank < run.world_size; rank++) {
        more = next(rank, batch, &count);
        served[num_served].batches[rank] = hash_of(batch, count);
    }
    if (!more) {
        run.lap++;
        run.whole = 1;
        return;
    }
    served[num_served].epoch = epoch;
    served[num_served].step = step;
    served[num_served].world_size = run.world_size;
    served[num_served].stretch = run.stretch;
    served[num_served].lap = run.lap;
    served[num_served].whole = run.whole;
    num_served++;
}

/* Ends, as an epoch without a step is followed by no other without end. */
static void serve_all(void)
{
    uint32_t tries;

    for (tries = 0; tries < 4 * SERVED && num_served < SERVED; tries++) {
        if (check_random(25) == 0)
            steer();
        if (check_random(10) == 0)
            keep();
        serve();
    }
}

static int open_state(recorder *r, uint32_t number, uint64_t epoch,
                      uint32_t straight)
{
    memset(r, 0, sizeof *r);
    r->epoch = epoch;
    r->drop_last = run.desc[0].drop_last;
    r->straight = straight;
    return recorder_open(r, opened, states[number].bytes, state_bytes(),
                         scratch);
}

/* A refused question writes nothing. */
static void refused_at(recorder *r, uint64_t step, uint32_t rank)
{
    uint64_t batch[BATCH] = {7, 7, 7, 7};
    uint32_t source = 7;
    size_t count = 7;

    CHECK(recorder_at(r, step, rank, batch, &count, &source) ==
          RECORDER_EUNKNOWN);
    CHECK(source == 7 && count == 7 && batch[0] == 7 && batch[3] == 7);
}

static int locate(const recorder *r, uint64_t index, statesampler_place *place,
                  uint64_t *step)
{
    uint32_t source = 7;
    int code;

    memset(place, 7, sizeof *place);
    *step = 7;
    code = recorder_locate(r, index, step, place, &source);
    if (code != STATESAMPLER_OK)
        CHECK(*step == 7 && source == 7 && place->rank == 0x7070707);
    return code;
}

/* Without a word about the run, a state answers no question, not even about its
   own next step, which the run may have left out. */
static void ask_alone(uint32_t number)
{
    statesampler_place at;
    uint64_t epoch, step, found;
    uint32_t rank;
    recorder r;

    CHECK(open_state(&r, number, STATESAMPLER_NONE, 0) == STATESAMPLER_OK);
    CHECK(r.world_size == states[number].world_size);
    CHECK(r.epoch == states[number].epoch);
    for (epoch = 0; epoch < 6; epoch++) {
        if (open_state(&r, number, epoch, 0) != STATESAMPLER_OK)
            continue;
        for (step = 0; step < states[number].step + 9; step++) {
            for (rank = 0; rank < r.world_size; rank++)
                refused_at(&r, step, rank);
            CHECK(locate(&r, step, &at, &found) == RECORDER_EUNKNOWN);
        }
    }
}

/* A run that goes straight on is served the state's next step. */
static void ask_next(uint32_t number)
{
    uint64_t batch[BATCH];
    uint32_t rank, source;
    size_t count;
    recorder r;

    CHECK(open_state(&r, number, STATESAMPLER_NONE, 1) == STATESAMPLER_OK);
    for (rank = 0; rank < r.world_size; rank++) {
        CHECK(recorder_at(&r, states[number].step, rank, batch, &count,
                          &source) == states[number].more);
        CHECK(count == states[number].counts[rank]);
        CHECK(memcmp(batch, states[number].given[rank], 8 * count) == 0);
    }
}

/* Whether a run was straight between a state and a step, as indices.c's usage
   says it. A sampler's state also knows since when its ranks serve. */
static int was_straight(uint32_t number, uint32_t i)
{
    if (served[i].stretch != states[number].stretch)
        return 0;
    return i >= states[number].served || served[i].whole || run.carry ||
           (!run.mixed && served[i].lap == states[number].lap);
}

/* Asks as if the run was straight. Each answer is right where it was. Returns
   how many such answers there were; *lies is how many others were wrong. */
static uint64_t ask_straight(uint32_t number, uint64_t *lies)
{
    uint64_t batch[BATCH], step, answers = 0, epoch = 0;
    uint32_t i, rank, source;
    size_t count;
    statesampler_place at;
    recorder r;
    int code, open = 0;

    for (i = 0; i < num_served; i++) {
        uint64_t asked = run.carry || served[i].epoch == states[number].epoch
                             ? STATESAMPLER_NONE
                             : served[i].epoch;

        if (!open || asked != epoch) {
            code = open_state(&r, number, asked, 1);
            open = code == STATESAMPLER_OK;
            epoch = asked;
            CHECK(open || !was_straight(number, i));
        }
        for (rank = 0; open && rank < served[i].world_size; rank++) {
            code =
                recorder_at(&r, served[i].step, rank, batch, &count, &source);
            if (!was_straight(number, i)) {
                *lies += code == 1 &&
                         hash_of(batch, count) != served[i].batches[rank];
                continue;
            }
            if (run.carry && run.mixed && i < states[number].served && code < 0)
                continue; /* before the base, which is where it was loaded */
            CHECK(code == 1);
            CHECK(hash_of(batch, count) == served[i].batches[rank]);
            answers++;
            if (count > 0 && locate(&r, batch[0], &at, &step) == 0) {
                uint64_t index = batch[0];

                CHECK(recorder_at(&r, step, at.rank, batch, &count, &source) ==
                      1);
                CHECK(at.slot < count && batch[at.slot] == index);
            }
        }
    }
    return answers;
}

static void say_why(void)
{
    CHECK(strstr(recorder_error(RECORDER_EUNKNOWN), "cannot know") != NULL);
    CHECK(strstr(recorder_error(RECORDER_EBEGINS), "no step") != NULL);
    CHECK(strcmp(recorder_error(STATESAMPLER_ERANGE),
                 statesampler_error(STATESAMPLER_ERANGE)) == 0);
    CHECK(strcmp(statesampler_error(RECORDER_EUNKNOWN), "unknown error") == 0);
}

int main(int argc, char **argv)
{
    uint64_t asked = 0, answers = 0, lies = 0;
    uint32_t number, round, rounds = check_reduced(argc, argv) ? 100u : 1500u;

    say_why();
    for (round = 0; round < rounds; round++) {
        describe_run();
        serve_all();
        for (number = 0; number < num_states; number++, asked++) {
            ask_alone(number);
            ask_next(number);
            answers += ask_straight(number, &lies);
        }
    }
    CHECK(answers > 10 * asked && lies > asked);
    printf("%u runs: %u states: %u answers as served, %u refused that would "
           "be wrong\n",
           (unsigned)rounds, (unsigned)asked, (unsigned)answers,
           (unsigned)lies);
    return check_done("recorder");
}

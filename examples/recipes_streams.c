/* recipes_streams.c - streams of unknown length.

       make examples && build/recipes_streams

   Short recipes to copy, each beside a check, which runs it and prints a line.
   Names in capitals and functions marked "Yours" stand for your own; `train` is
   in recipes.h. */
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "recipes.h"

static const char usage[] = "usage: recipes_streams\n\n"
                            "Runs and checks each recipe.\n";

/* --- A stream of unknown length ------------------------------------------- */

#define ERA 500u
#define STEP 16u /* world_size * batch_size */

/* Takes the steps that are possible once `arrived` samples are there. Every ERA
   samples are shuffled by themselves when all of them have arrived. The sampler
   has the order SEQUENTIAL and STATESAMPLER_MAX_SAMPLES samples. All ranks must
   agree on `arrived`. When the stream ends, the rest is a last era, of its own
   length. */
static void train_arrived(statesampler *s, uint64_t arrived)
{
    uint64_t batch[STEP], ready = arrived / ERA * ERA;
    statesampler_perm order;
    size_t count, i;

    while (statesampler_position(s) + STEP <= ready) {
        statesampler_next(s, batch, &count);
        for (i = 0; i < count; i++) {
            uint64_t era = batch[i] / ERA, place = batch[i] % ERA;

            statesampler_perm_init(&order, ERA, 42, era, 0);
            batch[i] = era * ERA + statesampler_perm_at(&order, place);
        }
        train(batch, count);
    }
}

static void check_train_arrived(void)
{
    const statesampler_desc desc = {
        .num_samples = STATESAMPLER_MAX_SAMPLES,
        .batch_size = STEP,
        .order = STATESAMPLER_ORDER_SEQUENTIAL,
    };
    uint64_t arrived, steps;
    statesampler s;
    int so = 1;

    begin_counts();
    example_must(statesampler_init(&s, &desc));
    for (arrived = 0; arrived <= 8 * ERA; arrived += 37) {
        train_arrived(&s, arrived);
        steps = arrived / ERA * ERA / STEP;
        so = so && each_served(arrived, MOST, 0) && num_trained == steps * STEP;
    }
    /* At 3996 there are 7 eras of 500: 218 whole steps, 12 samples are left. */
    say(so && num_trained == 3488 && each_served(0, 6 * ERA, 1),
        "a stream: each sample that has arrived once");
}

/* --- A stream that loses its oldest samples ------------------------------- */

/* Begins pass desc->epoch over a window of a stream: samples low .. high - 1,
   each once. What arrives meanwhile comes in the next pass. (lczero-training's
   csrc/utils/stream_shuffler.cc takes it into this one, and keeps a list of all
   that is left.) Neither bound may fall, and all ranks must agree on both. A
   checkpoint is the sampler's state and *first, which is 0 before pass 0. */
static int begin_pass(statesampler *s, statesampler_desc *desc, uint64_t *first,
                      uint64_t low, uint64_t high)
{
    statesampler_desc next = *desc;
    int code;

    next.num_samples = high - low;
    if (low < *first || high < low || high < *first + desc->num_samples)
        return STATESAMPLER_ERANGE;
    code = statesampler_init(s, &next);
    if (code == STATESAMPLER_OK) {
        *desc = next;
        *first = low;
    }
    return code;
}

/* Goes on after a kill: the state knows the pass and its size. */
static int resume_pass(statesampler *s, statesampler_desc *desc,
                       const unsigned char *state)
{
    statesampler_desc was, now = *desc;
    statesampler next;
    int code =
        statesampler_describe(state, STATESAMPLER_STATE_BYTES, &was, NULL);

    if (code != STATESAMPLER_OK)
        return code;
    now.num_samples = was.num_samples;
    now.epoch = was.epoch;
    code = statesampler_init(&next, &now);
    if (code == STATESAMPLER_OK)
        code = statesampler_load(&next, state, STATESAMPLER_STATE_BYTES);
    if (code == STATESAMPLER_OK) {
        *desc = now;
        *s = next;
    }
    return code;
}

/* The next batch of a pass, without what has been lost since it began: samples
   below `low`, which bounds the next pass, too. So a batch may be short. */
static int next_of_pass(statesampler *s, uint64_t first, uint64_t low,
                        uint64_t *batch, size_t *count)
{
    int more = statesampler_next(s, batch, count);
    size_t i, kept = 0;

    for (i = 0; i < *count; i++)
        if (first + batch[i] >= low)
            batch[kept++] = first + batch[i];
    *count = kept;
    return more;
}

static statesampler pass_of[3]; /* a sampler for each rank */
static uint64_t first_kept, low_kept, high_kept = 500;

/* All ranks go on from a state, or begin a pass if there is none. */
static void begin_ranks(statesampler_desc *desc, const unsigned char *state)
{
    uint32_t ranks = desc->world_size;

    while (ranks-- > 0) {
        statesampler *s = &pass_of[desc->rank = ranks];

        example_must(state ? resume_pass(s, desc, state)
                           : begin_pass(s, desc, &first_kept, low_kept,
                                        high_kept));
    }
}

/* A step of all ranks, while both ends of the stream move. */
static int step_ranks(uint32_t ranks)
{
    uint64_t batch[BATCH];
    size_t count, i;
    int more = 0;

    while (ranks-- > 0) {
        more =
            next_of_pass(&pass_of[ranks], first_kept, low_kept, batch, &count);
        train(batch, count);
        for (i = 0; i < count; i++) {
            good = good && batch[i] >= low_kept;
        }
    }
    high_kept += more ? 3 : 0;
    low_kept += more ? 2 : 0;
    return more;
}

/* A pass, with a kill in it, after which there are `ranks`. Returns how many
   steps it took. */
static unsigned run_pass(statesampler_desc *desc, uint32_t ranks)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    unsigned step;

    begin_ranks(desc, NULL);
    for (step = 0; step_ranks(desc->world_size); step++) {
        if (step == 20) {
            example_must(statesampler_save(pass_of, state, sizeof state));
            desc->num_samples = desc->epoch = 0;
            desc->world_size = ranks;
            begin_ranks(desc, state);
        }
    }
    return step;
}

/* What is still there at its end must come once, what was lost at most once. */
static int is_exact_pass(uint64_t pass, uint32_t ranks)
{
    statesampler_desc desc = {
        .seed = 42,
        .epoch = pass,
        .world_size = ranks % 3 + 1,
        .batch_size = BATCH,
        .tail = STATESAMPLER_TAIL_UNEVEN,
    };
    uint64_t low = low_kept, high = high_kept;
    int so;

    begin_counts();
    so = run_pass(&desc, ranks) > 20 && desc.epoch == pass;
    for (; low < low_kept; low++) {
        so = so && served[low] <= 1;
    }
    return so && low < high && each_served(0, first_kept, 0) &&
           each_served(low, high, 1) && each_served(high, MOST, 0);
}

static void check_passes(void)
{
    statesampler_desc desc = {.num_samples = 100, .seed = 1};
    unsigned char state[STATESAMPLER_STATE_BYTES], now[sizeof state];
    uint64_t pass, first = 50;
    int so = 1;

    for (pass = 0; pass < 7; pass++) {
        so = so && is_exact_pass(pass, (uint32_t)pass % 3 + 1);
    }
    example_must(statesampler_save(pass_of, state, sizeof state));
    so = so &&
         STATESAMPLER_KIND(resume_pass(pass_of, &desc, state)) ==
             STATESAMPLER_EMISMATCH &&
         begin_pass(pass_of, &desc, &first, 49, 150) == STATESAMPLER_ERANGE &&
         begin_pass(pass_of, &desc, &first, 200, 199) == STATESAMPLER_ERANGE &&
         begin_pass(pass_of, &desc, &first, 50, 149) == STATESAMPLER_ERANGE &&
         first == 50 && desc.num_samples == 100 && desc.epoch == 0 &&
         statesampler_save(pass_of, now, sizeof now) == STATESAMPLER_OK &&
         memcmp(state, now, sizeof now) == 0;
    say(so, "a stream that loses its oldest samples: each that is still there, "
            "once in a pass");
}

int main(int argc, char **argv)
{
    example_begin(argc, argv, 0, usage);
    check_train_arrived();
    check_passes();
    return recipes_end();
}

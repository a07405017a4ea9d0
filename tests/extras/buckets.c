/* buckets.c - does examples/extras/buckets.h serve each sequence once an epoch,
   in batches within the budget, with all ranks in the same bucket at every
   turn, also on other ranks after a resume? Does it refuse all else? */
#include "statesampler.h"
#include "examples/extras/buckets.h"

#include "../check.h"

enum { BUCKETS = 5, RANKS = 4, MOST = 400, LONGEST = 50, BUDGET = 300 };

static bucket buckets[BUCKETS];
static statesampler_mix mixes[RANKS];
static statesampler_source sources[RANKS][BUCKETS];
static statesampler_desc desc;
static uint32_t num_buckets, budget;
static unsigned char seen[BUCKETS * MOST];

static void choose(void)
{
    uint32_t b;

    memset(&desc, 0, sizeof desc);
    desc.seed = check_random(1000);
    desc.stream = check_random(1000);
    desc.epoch = check_random(10);
    num_buckets = 1 + (uint32_t)check_random(BUCKETS);
    budget = LONGEST + (uint32_t)check_random(BUDGET - LONGEST + 1);
    for (b = 0; b < num_buckets; b++) { /* some are empty */
        buckets[b].sequences = check_random(MOST);
        buckets[b].longest = (uint32_t)check_random(LONGEST + 1);
    }
}

static int begin(statesampler_mix *mix, statesampler_source *own)
{
    return buckets_init(mix, own, buckets, num_buckets, budget, &desc);
}

static void begin_ranks(uint32_t ranks)
{
    desc.world_size = ranks;
    for (desc.rank = 0; desc.rank < ranks; desc.rank++)
        CHECK(begin(&mixes[desc.rank], sources[desc.rank]) == STATESAMPLER_OK);
    desc.rank = 0;
}

/* A turn of all ranks. What a bucket of empty sequences takes is bounded too:
   its sequences count as one token. */
static void serve_turn(uint32_t ranks)
{
    uint64_t batch[BUDGET], sequence;
    uint32_t r, at = 0, first = 0, longest;
    size_t count, i;

    for (r = 0; r < ranks; r++) {
        CHECK(statesampler_mix_next(&mixes[r], batch, &count, &at) == 1);
        first = r == 0 ? at : first;
        CHECK(at == first && at < num_buckets);
        longest = buckets[at].longest > 0 ? buckets[at].longest : 1;
        CHECK(count * longest <= budget);
        for (i = 0; i < count; i++) {
            CHECK(batch[i] < buckets[at].sequences);
            sequence = statesampler_mix_offset(&mixes[r], at) + batch[i];
            CHECK(sequence < sizeof seen && seen[sequence]++ == 0);
        }
    }
}

/* One epoch, whose number of ranks changes now and then. */
static void run_epoch(void)
{
    static unsigned char state[256 * (1 + BUCKETS)];
    uint32_t ranks = 1 + (uint32_t)check_random(RANKS), r, b;
    uint64_t sequences = 0, served = 0, i;
    size_t size;

    for (b = 0; b < num_buckets; b++)
        sequences += buckets[b].sequences;
    memset(seen, 0, sizeof seen);
    begin_ranks(ranks);
    size = statesampler_mix_state_bytes(mixes);
    CHECK(size <= sizeof state);
    while (statesampler_mix_turn(mixes) < statesampler_mix_num_turns(mixes)) {
        serve_turn(ranks);
        if (check_random(8) > 0)
            continue;
        CHECK(statesampler_mix_save(&mixes[ranks - 1], state, size) ==
              STATESAMPLER_OK);
        ranks = 1 + (uint32_t)check_random(RANKS);
        begin_ranks(ranks);
        for (r = 0; r < ranks; r++)
            CHECK(statesampler_mix_load(&mixes[r], state, size) ==
                  STATESAMPLER_OK);
    }
    for (i = 0; i < sizeof seen; i++)
        served += seen[i];
    CHECK(served == sequences);
}

/* Two buckets in which each sequence is a batch. */
static void choose_two(void)
{
    choose();
    num_buckets = 2;
    budget = 30;
    desc.world_size = 1;
    buckets[0].longest = buckets[1].longest = 30;
    buckets[0].sequences = buckets[1].sequences = 100;
}

/* The batches of a bucket are its weight, and each bucket has a stream. */
static void descriptions(void)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    statesampler_desc one;
    uint32_t b;

    choose_two();
    buckets[1].longest = 0;
    CHECK(begin(mixes, sources[0]) == STATESAMPLER_OK);
    CHECK(sources[0][0].weight == 100);
    CHECK(sources[0][1].weight == 4);
    for (b = 0; b < 2; b++) {
        CHECK(statesampler_save(&sources[0][b].sampler, state, sizeof state) ==
              STATESAMPLER_OK);
        CHECK(statesampler_describe(state, sizeof state, &one, NULL) ==
              STATESAMPLER_OK);
        CHECK(one.stream == desc.stream + b && one.seed == desc.seed);
    }
}

/* The number of batches must be below STATESAMPLER_OFF. */
static void refusals(void)
{
    choose_two();
    CHECK(begin(mixes, sources[0]) == STATESAMPLER_OK);
    buckets[1].longest = 31;
    CHECK(begin(mixes, sources[0]) == BUCKETS_EBUDGET);
    buckets[1].longest = 30;
    buckets[1].sequences = STATESAMPLER_OFF;
    CHECK(begin(mixes, sources[0]) == BUCKETS_ESTEPS);
    buckets[1].sequences = STATESAMPLER_MAX_SAMPLES + 1;
    CHECK(STATESAMPLER_KIND(begin(mixes, sources[0])) == STATESAMPLER_EINVAL);
    buckets[1].sequences = 100;
    desc.rank = 1;
    CHECK(STATESAMPLER_KIND(begin(mixes, sources[0])) == STATESAMPLER_EINVAL);
    desc.rank = 0;
    num_buckets = 0;
    CHECK(STATESAMPLER_KIND(begin(mixes, sources[0])) == STATESAMPLER_EINVAL);
    CHECK(strstr(buckets_error(BUCKETS_EBUDGET), "budget") != NULL);
    CHECK(strstr(buckets_error(BUCKETS_ESTEPS), "batches") != NULL);
    CHECK(buckets_error(BUCKETS_ESTEPS - 1) ==
          statesampler_error(BUCKETS_ESTEPS - 1));
}

int main(int argc, char **argv)
{
    int run, runs = check_reduced(argc, argv) ? 50 : 1000;

    for (run = 0; run < runs; run++) {
        choose();
        run_epoch();
    }
    descriptions();
    refusals();
    return check_done("buckets");
}

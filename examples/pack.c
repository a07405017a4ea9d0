/* pack.c - packs of samples within a budget of tokens, killed and resumed on
   another number of ranks.

       make examples && build/pack

   Each rank gets one pack in a step. The run is killed every few steps, also
   where a step takes its packs from two plans or two epochs, and goes on with
   4, 3, 1 and 6 ranks in turn. packing.c shows what packs waste. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"
#include "extras/pack.h"

#define SAMPLES 5003u
#define EPOCHS 2u
#define PLAN 700u
#define BUDGET 4096u
#define RANKS 6

static const char usage[] =
    "usage: pack [SHORTEST]\n\n"
    "Packs samples of SHORTEST (16) to 1,000 tokens into packs of 4,096.\n";

/* A rank's sampler. */
static packer p[RANKS];
static uint64_t words[RANKS][PACK_WORDS(PLAN, BUDGET)];
static uint32_t numbers[RANKS][FIT_NUMBERS(PLAN, BUDGET)];

/* What the steps of all ranks have served; the last one may go on. */
static uint64_t served[(EPOCHS + 1) * SAMPLES], count, packs;
static uint16_t lengths[SAMPLES];

static void must(int code)
{
    if (code == PACK_ELENGTH)
        example_fail(1, "sample %d: %s", (int)p[0].number, pack_error(code));
    if (code != STATESAMPLER_OK)
        example_fail(1, "%s", pack_error(code));
}

/* Goes on from the state, and is killed after so many steps. Returns 0 at the
   end of the last epoch. */
static int live(uint64_t *state, uint32_t ranks, uint64_t steps)
{
    const statesampler_desc desc = {
        .num_samples = SAMPLES,
        .seed = 42,
        .batch_size = PLAN,
    };
    uint32_t r;

    for (r = 0; r < ranks; r++) {
        must(pack_init(&p[r], &desc, lengths, 2, SAMPLES, BUDGET, words[r],
                       numbers[r]));
        if (count > 0)
            must(pack_load(&p[r], state, PACK_STATE));
    }
    printf("epoch %d plan %d pack %3d: %d ranks\n",
           (int)statesampler_epoch(&p[0].sampler),
           (int)statesampler_step(&p[0].sampler), (int)p[0].number, (int)ranks);
    for (; count < EPOCHS * SAMPLES && steps > 0; steps--, packs += ranks)
        for (r = 0; r < ranks; r++)
            count += pack_next(&p[r], r, ranks, served + count);
    pack_save(&p[0], state);
    return count < EPOCHS * SAMPLES;
}

static int once_each(uint64_t epoch)
{
    statesampler_audit audit = {0};

    statesampler_audit_add(&audit, served + epoch * SAMPLES, SAMPLES);
    return statesampler_audit_check(&audit, SAMPLES);
}

int main(int argc, char **argv)
{
    static const uint32_t ranks[] = {4, 3, 1, 6};
    uint64_t state[PACK_STATE], i, shortest = 16;
    int kills = 0, exact = 1;
    double tokens = 0;

    example_begin(argc, argv, 1, usage);
    if (argc > 1)
        shortest = example_number(argv[1], 0, 1000);
    for (i = 0; i < SAMPLES; i++)
        lengths[i] = (uint16_t)(shortest + i * i % (1001 - shortest));
    while (live(state, ranks[kills % 4], 3 + (uint64_t)kills * 7 % 23))
        kills++;
    for (i = 0; i < EPOCHS; i++)
        exact = exact && once_each(i);
    for (i = 0; i < count; i++)
        tokens += lengths[served[i]];
    return example_end(exact && kills > 0,
                       "killed %d times: each of %d "
                       "samples once an epoch, %.2f %% padding",
                       kills, (int)SAMPLES,
                       100 - 100 * tokens / (BUDGET * (double)packs));
}

/* blend.c - every batch mixes 8 sources by weight, as in pre-training a
   language model. The weights change twice.

       make examples && build/blend [FILE RANKS BATCH]

   All samplers have world_size 1 and batch_size 1, so that a turn is a sample.
   The turn is all that is saved. Any number of ranks, with any batch size, can
   continue from it. */
#include <inttypes.h>
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "example.h"
#include "blend.h"

#define STAGE 20000u /* turns; there are three stages */
static const uint32_t weight[3][BLEND_SOURCES] = { /* in percent */
    {40, 20, 15, 10, 8, 5, 2, STATESAMPLER_OFF},
    {30, 20, 15, 10, 10, 7, 5, 3},
    {STATESAMPLER_OFF, 15, 15, 15, 15, 15, 15, 10}};

typedef struct checkpoint {
    uint64_t model; /* a sum over all samples and their turns */
    unsigned char mix[4096]; /* its state, and zeros */
} checkpoint;
static statesampler_source sources[BLEND_SOURCES];
static statesampler_mix mix;
static int same = 1; /* 0 once two ranks would save different bytes */

/* Goes to this turn or a later one, changing the weights on the way. Returns
   the weights there. */
static const uint32_t *go_to(uint64_t turn)
{
    for (;;) { /* each time up to STAGE turns nearer */
        uint64_t now = statesampler_mix_turn(&mix), k = now / STAGE;
        uint64_t end = (k + 1) * STAGE;
        const uint32_t *percent = weight[k < 2 ? k : 2];

        example_must(statesampler_mix_weigh(&mix, percent));
        if (now == turn)
            return percent;
        example_must(statesampler_mix_seek(&mix, end < turn ? end : turn));
    }
}

/* The first turn of a rank in the step that begins at this turn. Each step
   deals the slots of `batch` turns anew: where ranks * batch is a multiple of
   the period of the weights, a rank with a fixed slot would see the same
   sources for ever. */
static uint64_t first_turn(uint64_t turn, uint32_t rank, uint32_t ranks,
                           uint32_t batch)
{
    uint64_t step = turn / ((uint64_t)ranks * batch);
    statesampler_perm slots;

    example_must(statesampler_perm_init(&slots, ranks, 1, step, 0));
    return turn + statesampler_perm_at(&slots, rank) * batch;
}

/* Depends on a sample and its turn. */
static uint64_t digest(uint64_t turn, uint64_t index, uint32_t source)
{
    uint64_t x = turn * 0x9e3779b97f4a7c15u + (index << 8 | source);

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 27;
}

/* Trains on a rank's part of a step. */
static void train(checkpoint *now, uint32_t rank, const uint32_t *shape,
                  int show)
{
    uint64_t begin = statesampler_mix_turn(&mix), index;
    uint64_t turn = first_turn(begin, rank, shape[0], shape[1]);
    uint64_t last = turn + shape[1];
    int count[BLEND_SOURCES] = {0}, share[BLEND_SOURCES] = {0}; /* x 100 */
    uint32_t k, source = 0;
    size_t one;

    for (; turn < last && turn < 3 * STAGE; turn++) {
        const uint32_t *percent = go_to(turn);
        for (k = 0; k < BLEND_SOURCES; k++)
            share[k] += percent[k] <= 100 ? (int)percent[k] : 0;
        statesampler_mix_next(&mix, &index, &one, &source);
        now->model += digest(turn, index, source);
        count[source]++;
    }
    go_to(begin + (uint64_t)shape[0] * shape[1]);
    example_must(statesampler_mix_save(&mix, now->mix, sizeof now->mix));
    blend_tally(count, share, show);
}

/* Continues in a shape: ranks, batch size, last turn. The ranks run one after
   the other here. */
static void run(checkpoint *now, const char *file, const uint32_t *shape)
{
    checkpoint old, first;
    uint32_t rank, show = 1;

    do {
        for (old = *now, rank = 0; rank < shape[0]; rank++) {
            example_must(statesampler_mix_load(
                &mix, old.mix, statesampler_mix_state_bytes(&mix)));
            if (show && rank == 0)
                blend_title(statesampler_mix_turn(&mix), shape);
            train(now, rank, shape, (int)show);
            first = rank == 0 ? *now : first;
            same = same && !memcmp(first.mix, now->mix, sizeof now->mix);
        }
        show = file != NULL;
        if (file != NULL)
            example_file(file, statesampler_save_file(file, now, sizeof *now));
    } while (statesampler_mix_turn(&mix) < shape[2]);
}

/* 512 datasets of equal weight on 8 ranks with batches of 8, 10,000 steps.
   Prints how many datasets rank 3 sees in a fixed slot, and by first_turn.
   Returns 1 if by first_turn it sees all of them equally often. */
static int check_slots(void)
{
    static statesampler_source equal[512];
    unsigned seen[2][512] = {{0}}, sees[2] = {0, 0}, k, good = 1;
    uint64_t step, turn, index;
    statesampler_mix all;
    uint32_t source = 0;
    size_t one;

    for (k = 0; k < 512; k++) {
        const statesampler_desc desc = {.num_samples = 1000, .stream = k};
        example_must(statesampler_init(&equal[k].sampler, &desc));
        equal[k].weight = 1;
    }
    example_must(
        statesampler_mix_init(&all, equal, 512, STATESAMPLER_STOP_NEVER));
    for (step = 0; step < 10000; step++)
        for (k = 0; k < 16; k++) {
            turn = k < 8 ? step * 64 + 3 * 8 : first_turn(step * 64, 3, 8, 8);
            statesampler_mix_at(&all, turn + k % 8, &index, &one, &source);
            seen[k / 8][source]++;
        }
    for (k = 0; k < 512; k++) {
        sees[0] += seen[0][k] > 0;
        sees[1] += seen[1][k] > 0;
        /* 156 each; 58 is five standard deviations. */
        good = good && seen[1][k] - 98 <= 2 * 58;
    }
    printf("of 512 equal datasets a rank sees %u in a fixed slot, %u in dealt "
           "slots\n", sees[0], sees[1]);
    return (int)good;
}

int main(int argc, char **argv)
{
    static uint32_t shapes[4][3] = {
        {1, 200, 60000}, {4, 50, 13000}, {3, 70, 33333}, {8, 25, 60000}};
    const char *file = blend_arguments(argc, argv, shapes[3]);
    checkpoint whole = {1, {0}}, parts;
    int good;
    uint32_t k;

    for (k = 0; k < BLEND_SOURCES; k++) {
        const statesampler_desc desc = {
            .num_samples = 9000 - 1000 * k, .seed = 1, .stream = k};
        example_must(statesampler_init(&sources[k].sampler, &desc));
        sources[k].weight = weight[0][k];
    }
    example_must(statesampler_mix_init(&mix, sources, BLEND_SOURCES,
                                       STATESAMPLER_STOP_NEVER));
    example_must(statesampler_mix_save(&mix, whole.mix, sizeof whole.mix));
    parts = whole;
    blend_open(file, &parts, sizeof parts);
    run(&whole, NULL, shapes[0]);
    good = blend_exact();
    for (k = file != NULL ? 3 : 1; k < 4; k++)
        run(&parts, file, shapes[k]);
    printf("model %016" PRIx64 ", and on one rank %016" PRIx64 "\n",
           parts.model, whole.model);
    if (file == NULL) {
        good = check_slots() && good;
        good = blend_compare(&mix, weight[1]) && good;
    }
    return example_end(good && same && blend_worst <= 300 &&
        parts.model == whole.model, "each source has its exact share, each "
        "batch is within %d.%02d samples of it, and every shape trains on the "
        "same samples", blend_worst / 100, blend_worst % 100);
}

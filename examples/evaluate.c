/* evaluate.c - an exact metric, whatever the number of ranks.

       make examples && build/evaluate

   With the tail rule PAD some samples are repeated to make the ranks equal,
   and an accuracy counted over all ranks changes with their number. UNEVEN
   repeats nothing: ranks differ by at most one sample. In the last step some
   ranks may have no sample: it is a step for them all the same, with a count
   of 0, so that all ranks are in step for the sum over ranks. */
#include <inttypes.h>
#include <stdio.h>

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"

#define SAMPLES 1009u
#define BATCH 8u

/* Stands for the model: its answer to a sample is right or wrong, the same
   way every time, and right about three times in four. */
static uint64_t is_right(uint64_t index)
{
    return (index * 2654435761u >> 7) % 4 != 0;
}

/* Two epochs over `world` ranks: *right of *seen. Returns 0 if the ranks
   would have waited for each other in vain. */
static int evaluate(uint32_t world, uint32_t tail, uint64_t *right,
                    uint64_t *seen)
{
    uint64_t batch[BATCH], epoch, steps, first_steps = 0;
    uint32_t r;
    size_t i, count;

    *right = *seen = 0;
    for (r = 0; r < world; r++) {
        const statesampler_desc desc = {
            .num_samples = SAMPLES,
            .seed = 3,
            .rank = r,
            .world_size = world,
            .batch_size = BATCH,
            .tail = tail};
        statesampler s;

        if (statesampler_init(&s, &desc) != STATESAMPLER_OK) {
            return 0;
        }
        for (epoch = 0; epoch < 2; epoch++) {
            for (steps = 0; statesampler_next(&s, batch, &count); steps++) {
                for (i = 0; i < count; i++) {
                    *right += is_right(batch[i]);
                }
                *seen += count;
                /* Here all ranks would sum what they have (a collective call
                   that each must make, with or without samples). */
            }
            first_steps = r == 0 ? steps : first_steps;
            if (steps != first_steps) {
                return 0;
            }
        }
    }
    return 1;
}

int main(void)
{
    static const uint32_t worlds[] = {1, 2, 3, 8, 17, 64, 1200};
    uint64_t i, right, seen, truth = 0, off = 0, wrong = 0;

    for (i = 0; i < SAMPLES; i++) {
        truth += is_right(i);
    }
    printf("the truth: %" PRIu64 " of %u are right, %.4f %%\n\n", truth,
           SAMPLES, 100.0 * (double)truth / SAMPLES);
    printf("ranks    UNEVEN                  PAD\n");
    for (i = 0; i < sizeof worlds / sizeof worlds[0]; i++) {
        if (!evaluate(worlds[i], STATESAMPLER_TAIL_UNEVEN, &right, &seen)) {
            wrong++;
        }
        wrong += right != 2 * truth || seen != 2 * SAMPLES;
        printf("%5" PRIu32 "    %4" PRIu64 " of %4" PRIu64 " %8.4f %%",
               worlds[i], right / 2, seen / 2,
               100.0 * (double)right / (double)seen);
        if (!evaluate(worlds[i], STATESAMPLER_TAIL_PAD, &right, &seen)) {
            wrong++;
        }
        off += right * SAMPLES != truth * seen;
        printf("    %4" PRIu64 " of %4" PRIu64 " %8.4f %%\n", right / 2,
               seen / 2, 100.0 * (double)right / (double)seen);
    }
    if (wrong > 0 || off == 0) {
        printf("evaluate: FAILED\n");
        return 1;
    }
    printf("\nevaluate: UNEVEN is exact for every number of ranks; PAD is off "
           "for %" PRIu64 " of them\n", off);
    return 0;
}

/* elastic.c - one epoch served by 8 ranks, then 3, then 5.

       make examples && build/elastic

   Every rank is a sampler of its own, as it would be in a process of its own.
   Each keeps an audit of 32 bytes of what it was given; added up over all
   ranks of all three runs, the audits prove that every sample was served
   exactly once. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"

#define SAMPLES 1003u
#define BATCH 4u
#define MOST_RANKS 8u

static const struct {
    uint32_t ranks;
    uint64_t steps; /* to take before the run is stopped */
} runs[] = {{8, 10}, {3, 20}, {5, STATESAMPLER_NONE}};

int main(void)
{
    static statesampler ranks[MOST_RANKS];
    statesampler_desc desc = {
        .num_samples = SAMPLES, .seed = 7, .batch_size = BATCH};
    unsigned char state[STATESAMPLER_STATE_BYTES], other[sizeof state];
    statesampler_audit all = {0, 0, 0, 0};
    uint64_t batch[BATCH], first, step, repeats = 0;
    uint32_t i, r;
    size_t count;

    printf("ranks  batch  steps       positions    samples  repeats\n");
    for (i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        statesampler_audit served = {0, 0, 0, 0};
        uint64_t padding = 0;

        desc.world_size = runs[i].ranks;
        for (r = 0; r < desc.world_size; r++) {
            desc.rank = r;
            if (statesampler_init(&ranks[r], &desc) != STATESAMPLER_OK) {
                return 1;
            }
            if (i > 0 && statesampler_load(&ranks[r], state, sizeof state) !=
                             STATESAMPLER_OK) {
                return 1;
            }
        }
        first = statesampler_position(ranks);
        step = statesampler_step(ranks);
        while (statesampler_step(ranks) - step < runs[i].steps &&
               statesampler_step(ranks) < statesampler_num_steps(ranks)) {
            for (r = 0; r < desc.world_size; r++) {
                /* The last of a rank's samples may be repeats that make the
                   ranks equal. They are trained on, and not audited. */
                size_t repeated = statesampler_padding(
                    &ranks[r], statesampler_step(&ranks[r]));

                if (statesampler_next(&ranks[r], batch, &count) != 1) {
                    return 1;
                }
                statesampler_audit_add(&served, batch, count - repeated);
                padding += repeated;
            }
        }

        /* Any rank's state will do for all ranks of the next run. */
        if (statesampler_save(ranks, state, sizeof state) != STATESAMPLER_OK) {
            return 1;
        }
        for (r = 1; r < desc.world_size; r++) {
            if (statesampler_save(&ranks[r], other, sizeof other) !=
                    STATESAMPLER_OK ||
                memcmp(state, other, sizeof state) != 0) {
                return 1;
            }
        }
        printf("%5" PRIu32 "  %5u  %5" PRIu64 "  %5" PRIu64 " .. %4" PRIu64
               "  %7" PRIu64 "  %7" PRIu64 "\n",
               desc.world_size, BATCH, statesampler_step(ranks) - step,
               first, statesampler_position(ranks) - 1, served.count,
               padding);
        statesampler_audit_merge(&all, &served);
        repeats += padding;
    }
    printf("                                 %10" PRIu64 "  %7" PRIu64 "\n",
           all.count, repeats);

    if (!statesampler_audit_check(&all, SAMPLES)) {
        printf("elastic: FAILED\n");
        return 1;
    }
    printf("elastic: each of %u samples exactly once\n", SAMPLES);
    return 0;
}

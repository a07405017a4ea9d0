/* blend_table.h - for blend.c: the table with which others blend.

   For each sample of the run its source and its number there, found one after
   the other: the next one is of the source that is farthest behind its share,
   as Megatron-LM's published rule has it. Ten bytes a sample. */
#ifndef BLEND_TABLE_H
#define BLEND_TABLE_H

#include <time.h>

#define BLEND_SAMPLES 40000000u
#define BLEND_SOURCES 8u

static uint16_t *blend_whose;
static uint64_t *blend_which;

/* Builds it, and returns the seconds that took. */
static double blend_build_table(const uint32_t *percent)
{
    uint64_t had[BLEND_SOURCES] = {0}, i;
    clock_t begun = clock();
    uint32_t k;

    for (i = 0; i < BLEND_SAMPLES; i++) {
        double most = -1e300;

        for (k = 0; k < BLEND_SOURCES; k++) {
            double behind = percent[k] / 100.0 * (double)(i > 0 ? i : 1) -
                            (double)had[k];
            if (behind > most) {
                most = behind;
                blend_whose[i] = (uint16_t)k;
            }
        }
        blend_which[i] = had[blend_whose[i]]++;
    }
    return (double)(clock() - begun) / CLOCKS_PER_SEC;
}

/* Prints what a table costs, and what it costs a mix to go anywhere in it.
   Returns whether each source has its share in the table. */
static int blend_compare(statesampler_mix *mix, const uint32_t *percent)
{
    uint64_t had[BLEND_SOURCES] = {0}, i, index;
    double seconds;
    clock_t begun;
    size_t count;
    uint32_t k;
    int good = 1;

    blend_whose = (uint16_t *)malloc(BLEND_SAMPLES * sizeof *blend_whose);
    blend_which = (uint64_t *)malloc(BLEND_SAMPLES * sizeof *blend_which);
    if (blend_whose == NULL || blend_which == NULL) {
        example_fail(1, "there is no memory for a table of 400 MB");
    }
    seconds = blend_build_table(percent);
    printf("a table of %u samples: %u MB, built in %.2f s\n",
           BLEND_SAMPLES, BLEND_SAMPLES / 100000, seconds);
    for (i = 0; i < BLEND_SAMPLES; i++) {
        good = good && blend_which[i] == had[blend_whose[i]]++;
    }
    for (k = 0; k < BLEND_SOURCES; k++) {
        good = good && had[k] == BLEND_SAMPLES / 100 * percent[k];
    }
    free(blend_whose);
    free(blend_which);

    begun = clock();
    for (i = 0; i < 1000; i++) { /* up and down */
        example_must(statesampler_mix_seek(
            mix, BLEND_SAMPLES / 2 + BLEND_SAMPLES / 4000 * i * (i % 2)));
        statesampler_mix_next(mix, &index, &count, &k);
    }
    seconds = (double)(clock() - begun) / CLOCKS_PER_SEC;
    printf("without a table: %u bytes of state, any turn and its sample in "
           "%.1f us\n", (unsigned)statesampler_mix_state_bytes(mix),
           seconds * 1000);
    return good;
}

#endif

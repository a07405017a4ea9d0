/* blend.h - for blend.c: arguments, checkpoint, shares, and the table that
   other libraries blend by. Include it after statesampler.h, with
   STATESAMPLER_HOSTED. */
#ifndef BLEND_H
#define BLEND_H

#include <time.h>

#include "example.h"

#define BLEND_SOURCES 8u
#define BLEND_SAMPLES 10000000u /* of the table */

/* --- Arguments and checkpoint --------------------------------------------- */

/* Reads RANKS and BATCH into shape. Returns FILE, or NULL if there is none. */
static inline const char *blend_arguments(int argc, char **argv,
                                          uint32_t *shape)
{
    example_begin(argc, argv, 3, "usage: blend [FILE RANKS BATCH]\n\n"
                  "Blends 8 sources in three shapes and compares with a "
                  "table;\nor continues from FILE in one shape.\n");
    if (argc == 1) {
        return NULL;
    }
    if (argc < 4 || sscanf(argv[2], "%" SCNu32, &shape[0]) != 1 ||
        sscanf(argv[3], "%" SCNu32, &shape[1]) != 1 || shape[0] - 1 > 998 ||
        shape[1] - 1 > 998) {
        example_fail(2, "RANKS and BATCH, 1 to 999, must follow '%s'",
                     argv[1]);
    }
    return argv[1];
}

/* Reads the checkpoint if there is one. Writes it back at once, so that a file
   that cannot be written is found before the training. */
static inline void blend_open(const char *file, void *checkpoint, size_t bytes)
{
    int code;

    if (file == NULL) {
        return;
    }
    code = statesampler_load_file(file, checkpoint, bytes, NULL);
    if (STATESAMPLER_KIND(code) != STATESAMPLER_ENOFILE) {
        example_file(file, code);
    }
    example_file(file, statesampler_save_file(file, checkpoint, bytes));
}

/* --- Shares ------------------------------------------------------------------

   In hundredths of a sample. */

static int blend_owed[BLEND_SOURCES]; /* share minus samples, so far */
static int blend_worst;               /* the largest difference in a batch */

static inline void blend_title(uint64_t turn, const uint32_t *shape)
{
    printf("turn %" PRIu64 ", %u ranks, batches of %u\n", turn, shape[0],
           shape[1]);
}

/* Adds the samples of each source in a batch, and what they should be. */
static inline void blend_tally(const int *count, const int *share, int show)
{
    uint32_t k;

    for (k = 0; k < BLEND_SOURCES; k++) {
        int off = share[k] - 100 * count[k];
        blend_owed[k] += off;
        blend_worst = abs(off) > blend_worst ? abs(off) : blend_worst;
        if (show) {
            printf("%4d/%-4.1f%s", count[k], share[k] / 100.0,
                   k < BLEND_SOURCES - 1 ? "" : "\n");
        }
    }
}

/* Returns 1 if every source had exactly its share. */
static inline int blend_exact(void)
{
    uint32_t k;
    int exact = 1;

    for (k = 0; k < BLEND_SOURCES; k++) {
        exact = exact && blend_owed[k] == 0;
    }
    return exact;
}

/* --- A table -----------------------------------------------------------------

   The source of each sample and its number in that source, as Megatron-LM
   builds them: the next sample is from the source that is farthest behind its
   share. Ten bytes per sample. */

static uint16_t *blend_whose;
static uint64_t *blend_which;

/* Builds the table. Returns how many seconds that took. */
static inline double blend_build_table(const uint32_t *percent)
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

/* Prints the cost of the table and of seeking in a mix. Returns 1 if each
   source has its share in the table. */
static inline int blend_compare(statesampler_mix *mix,
                                const uint32_t *percent)
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
        example_fail(1, "no memory for a table of 100 MB");
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
    for (i = 0; i < 1000; i++) { /* back and forth */
        example_must(statesampler_mix_seek(
            mix, BLEND_SAMPLES / 2 + BLEND_SAMPLES / 4000 * i * (i % 2)));
        statesampler_mix_next(mix, &index, &count, &k);
    }
    seconds = (double)(clock() - begun) / CLOCKS_PER_SEC;
    printf("a mix: %u bytes of state, %.1f us to seek any turn and find its "
           "sample\n", (unsigned)statesampler_mix_state_bytes(mix),
           seconds * 1000);
    return good;
}

#endif

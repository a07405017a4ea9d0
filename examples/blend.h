/* blend.h - for blend.c: what it reads, what it counts, and the table with
   which others blend. */
#ifndef BLEND_H
#define BLEND_H

#include <time.h>

#define BLEND_SOURCES 8u
#define BLEND_SAMPLES 40000000u /* of the table */

/* --- Arguments and checkpoint --------------------------------------------- */

/* Reads RANKS and BATCH to a shape and returns FILE, or NULL without any. */
static const char *blend_arguments(int argc, char **argv, uint32_t *shape)
{
    example_begin(argc, argv, 3, "usage: blend [FILE RANKS BATCH]\n\nBlends in "
                  "three shapes and by a table; or goes on from FILE in "
                  "one.\n");
    if (argc == 1) {
        return NULL;
    }
    if (argc < 4 || sscanf(argv[2], "%" SCNu32, &shape[0]) != 1 ||
        sscanf(argv[3], "%" SCNu32, &shape[1]) != 1 || shape[0] - 1 > 998 ||
        shape[1] - 1 > 998) {
        example_fail(2, "RANKS and BATCH, 1 to 999, follow '%s'", argv[1]);
    }
    return argv[1];
}

/* Reads a checkpoint, if there is one, and writes it back, to fail now if it
   must. */
static void blend_open(const char *file, void *checkpoint, size_t bytes)
{
    size_t size = bytes;
    int code;

    if (file == NULL) {
        return;
    }
    code = statesampler_load_file(file, checkpoint, bytes, &size);
    if (code != STATESAMPLER_ENOFILE) {
        example_must(code);
        example_must(size == bytes ? STATESAMPLER_OK
                                   : STATESAMPLER_ECORRUPT);
    }
    example_must(statesampler_save_file(file, checkpoint, bytes));
}

/* --- Shares ------------------------------------------------------------------

   In hundredths of a sample. */

static int blend_owed[BLEND_SOURCES]; /* what its share is above what it had */
static int blend_worst;               /* most of that in one batch */

static void blend_title(uint64_t turn, const uint32_t *shape)
{
    printf("turn %" PRIu64 ", %u ranks, batches of %u\n", turn, shape[0],
           shape[1]);
}

/* What a batch has of each source, and what it should have. */
static void blend_tally(const int *count, const int *share, int show)
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

/* Whether every source had its share, to the sample. */
static int blend_exact(void)
{
    uint32_t k;
    int exact = 1;

    for (k = 0; k < BLEND_SOURCES; k++) {
        exact = exact && blend_owed[k] == 0;
    }
    return exact;
}

/* --- A table -----------------------------------------------------------------

   For each sample of the run its source and its number there, found one after
   the other: the next one is of the source that is farthest behind its share,
   as Megatron-LM's published rule has it. Ten bytes a sample. */

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

/* blend.c - every batch mixes 8 sources by weight, as in pre-training a
   language model. The weights change twice.

       make examples && build/blend [FILE RANKS BATCH]

   All samplers have world_size 1 and batch_size 1, so that a turn is a sample.
   The turn is all that is saved. Any number of ranks, with any batch size, can
   continue from it. */
#include <inttypes.h>
#include <time.h>
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "example.h"

#define BLEND_SOURCES 8u
#define BLEND_SAMPLES 10000000u /* of the table */

/* --- Arguments and checkpoint --------------------------------------------- */

/* Reads RANKS and BATCH into shape. Returns FILE, or NULL if there is none. */
static const char *blend_arguments(int argc, char **argv, uint32_t *shape)
{
    example_begin(argc, argv, 3,
                  "usage: blend [FILE RANKS BATCH]\n\n"
                  "Blends 8 sources in three shapes and compares with a "
                  "table;\nor continues from FILE in one shape.\n");
    if (argc == 1) {
        return NULL;
    }
    if (argc < 4 || sscanf(argv[2], "%" SCNu32, &shape[0]) != 1 ||
        sscanf(argv[3], "%" SCNu32, &shape[1]) != 1 || shape[0] - 1 > 998 ||
        shape[1] - 1 > 998) {
        example_fail(2, "RANKS and BATCH, 1 to 999, must follow '%s'", argv[1]);
    }
    return argv[1];
}

/* Reads the checkpoint if there is one. Writes it back at once, so that a file
   that cannot be written is found before the training. */
static void blend_open(const char *file, void *checkpoint, size_t bytes)
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

static void blend_title(uint64_t turn, const uint32_t *shape)
{
    printf("turn %" PRIu64 ", %u ranks, batches of %u\n", turn, shape[0],
           shape[1]);
}

/* Adds the samples of each source in a batch, and what they should be. */
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

/* Returns 1 if every source had exactly its share. */
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

   The source of each sample and its number in that source, as Megatron-LM
   builds them: the next sample is from the source that is farthest behind its
   share. Ten bytes per sample. */

static uint16_t *blend_whose;
static uint64_t *blend_which;

/* Builds the table. Returns how many seconds that took. */
static double blend_build_table(const uint32_t *percent)
{
    uint64_t had[BLEND_SOURCES] = {0}, i;
    clock_t begun = clock();
    uint32_t k;

    for (i = 0; i < BLEND_SAMPLES; i++) {
        double most = -1e300;

        for (k = 0; k < BLEND_SOURCES; k++) {
            double behind =
                percent[k] / 100.0 * (double)(i > 0 ? i : 1) - (double)had[k];
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
        example_fail(1, "no memory for a table of 100 MB");
    }
    seconds = blend_build_table(percent);
    printf("a table of %u samples: %u MB, built in %.2f s\n", BLEND_SAMPLES,
           BLEND_SAMPLES / 100000, seconds);
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
           "sample\n",
           (unsigned)statesampler_mix_state_bytes(mix), seconds * 1000);
    return good;
}

/* --- The mix -------------------------------------------------------------- */

#define STAGE 20000u /* turns; there are three stages */
/* In percent. */
static const uint32_t weight[3][BLEND_SOURCES] = {
    {40, 20, 15, 10, 8, 5, 2, STATESAMPLER_OFF},
    {30, 20, 15, 10, 10, 7, 5, 3},
    {STATESAMPLER_OFF, 15, 15, 15, 15, 15, 15, 10},
};

typedef struct checkpoint {
    uint64_t model;          /* a sum over all samples and their turns */
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
    example_must(statesampler_mix_init(&all, equal, 512,
                                       STATESAMPLER_STOP_NEVER));
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
           "slots\n",
           sees[0], sees[1]);
    return (int)good;
}

int main(int argc, char **argv)
{
    static uint32_t shapes[4][3] = {
        {1, 200, 60000},
        {4, 50, 13000},
        {3, 70, 33333},
        {8, 25, 60000},
    };
    const char *file = blend_arguments(argc, argv, shapes[3]);
    checkpoint whole = {1, {0}}, parts;
    int good;
    uint32_t k;

    for (k = 0; k < BLEND_SOURCES; k++) {
        const statesampler_desc desc = {
            .num_samples = 9000 - 1000 * k,
            .seed = 1,
            .stream = k,
        };
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
    good = good && same && blend_worst <= 300 && parts.model == whole.model;
    return example_end(good,
                       "each source has its exact share, each batch is within "
                       "%d.%02d samples of it, and every shape trains on the "
                       "same samples",
                       blend_worst / 100, blend_worst % 100);
}

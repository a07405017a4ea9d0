/* mixture.c - three datasets in shares of 3 : 2 : 1.

       make examples && build/mixture [TURN]

   After every turn: how many each has had, and how many it should have had.
   With a TURN the table begins there, at once, however far that is. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"

#define DATASETS 3u
#define ROWS 12

static const char *const name[DATASETS] = {"web", "code", "books"};
static const uint32_t weight[DATASETS] = {3, 2, 1};
static const uint64_t length[DATASETS] = {40000, 9000, 1200};

static const char usage[] =
    "usage: mixture [TURN]\n\n"
    "Shows 12 turns of three datasets with the weights 3 : 2 : 1, from the\n"
    "turn of this number on.\n";

/* How many turns each dataset has had, from the start of the run. */
static uint64_t had[DATASETS];

/* Makes the mix at a turn. */
static void start(statesampler_mix *mix, statesampler_source *sources,
                  uint64_t turn)
{
    uint32_t i;

    for (i = 0; i < DATASETS; i++) {
        const statesampler_desc desc = {
            .num_samples = length[i],
            .seed = 1,
            .stream = i,
            .world_size = 4,
            .batch_size = 8};

        example_must(statesampler_init(&sources[i].sampler, &desc));
        sources[i].weight = weight[i];
    }
    example_must(statesampler_mix_init(mix, sources, DATASETS,
                                       STATESAMPLER_STOP_NEVER));
    if (statesampler_mix_seek(mix, turn) != STATESAMPLER_OK) {
        example_fail(2, "turn %" PRIu64 " is farther than a mix reaches",
                     turn);
    }
    /* The steps of its whole epochs and of this one. */
    for (i = 0; i < DATASETS; i++) {
        const statesampler *s = &sources[i].sampler;

        had[i] = statesampler_epoch(s) * statesampler_num_steps(s) +
                 statesampler_step(s);
    }
}

/* Prints what each has had, and its share of so many turns. Returns 0 if one
   is two turns or more away from its share. */
static int show(uint64_t turn, const char *dataset, int width)
{
    const uint64_t sum = 6; /* of the weights */
    uint32_t i;
    int near = 1;

    printf("%*" PRIu64 "  %7s", width, turn, dataset);
    for (i = 0; i < DATASETS; i++) {
        /* weight * turn / sum, in whole turns and, rounded, hundredths */
        uint64_t whole = turn / sum * weight[i];
        uint64_t rest = (turn % sum * weight[i] * 100 + sum / 2) / sum;
        uint64_t share = whole + rest / 100, off;

        printf("  %*" PRIu64 " of %*" PRIu64 ".%02" PRIu64, width, had[i],
               width, share, rest % 100);
        off = (had[i] - whole) * 100 - rest; /* modulo 2^64 */
        near = near && off + 199 <= 2 * 199;
    }
    printf("\n");
    return near;
}

int main(int argc, char **argv)
{
    statesampler_source sources[DATASETS];
    statesampler_mix mix;
    uint64_t first = 0;
    uint32_t i, source;
    size_t count;
    int row, width, near = 1;

    example_begin(argc, argv, 1, usage);
    if (argc > 1) {
        char *end;

        errno = 0;
        first = strtoull(argv[1], &end, 10);
        if (*argv[1] < '0' || *argv[1] > '9' || *end || errno != 0) {
            example_fail(2, "'%s' is not the number of a turn", argv[1]);
        }
    }
    width = first < 100000 ? 5 : 19;
    start(&mix, sources, first);
    printf("%*s  dataset", width, "turn");
    for (i = 0; i < DATASETS; i++) {
        printf("  %*s of %*s", width, name[i], width + 3, "share");
    }
    printf("\n");
    for (row = 0; row < ROWS; row++) {
        statesampler_mix_next(&mix, NULL, &count, &source);
        had[source]++;
        near = show(statesampler_mix_turn(&mix), name[source], width) && near;
    }
    printf("\n");
    return example_end(near, "no dataset is ever two turns from its share");
}

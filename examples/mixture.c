/* mixture.c - three datasets in shares of 3 : 2 : 1.

       make examples && build/mixture [TURN]

   After every turn: how many each has had, and how many it should have had.
   With a TURN the table begins there, at once, however far that is. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"

#define DATASETS 3u
#define ROWS 12

static const char *const name[DATASETS] = {"web", "code", "books"};
static const uint32_t weight[DATASETS] = {3, 2, 1};
static const uint64_t length[DATASETS] = {40000, 9000, 1200};

int main(int argc, char **argv)
{
    static statesampler_source sources[DATASETS];
    statesampler_desc desc = {
        .seed = 1, .world_size = 4, .batch_size = 8};
    statesampler_mix mix;
    uint64_t had[DATASETS], first = 0, turn, sum = 0;
    uint32_t i, source;
    size_t count;
    int code, row, width, far = 0;

    if (argc > 1) {
        char *end;
        first = strtoull(argv[1], &end, 10);
        if (argc > 2 || *argv[1] < '0' || *argv[1] > '9' || *end) {
            fprintf(stderr, "usage: mixture [TURN]\n");
            return 2;
        }
    }
    width = first < 100000 ? 5 : 19;
    for (i = 0; i < DATASETS; i++) {
        desc.num_samples = length[i];
        desc.stream = i;
        if (statesampler_init(&sources[i].sampler, &desc) != 0) {
            return 1;
        }
        sources[i].weight = weight[i];
        sum += weight[i];
    }
    code = statesampler_mix_init(&mix, sources, DATASETS,
                                 STATESAMPLER_STOP_NEVER);
    if (code == STATESAMPLER_OK) {
        code = statesampler_mix_seek(&mix, first);
    }
    if (code != STATESAMPLER_OK) {
        fprintf(stderr, "mixture: %s\n", statesampler_error(code));
        return 2;
    }
    /* The steps that each dataset has had: its whole epochs and this one. */
    for (i = 0; i < DATASETS; i++) {
        const statesampler *s = &sources[i].sampler;
        had[i] = statesampler_epoch(s) * statesampler_num_steps(s) +
                 statesampler_step(s);
    }
    printf("%*s  dataset", width, "turn");
    for (i = 0; i < DATASETS; i++) {
        printf("  %*s of %*s", width, name[i], width + 3, "share");
    }
    printf("\n");
    for (row = 0; row < ROWS; row++) {
        if (statesampler_mix_next(&mix, NULL, &count, &source) != 1) {
            return 1;
        }
        had[source]++;
        turn = statesampler_mix_turn(&mix);
        printf("%*" PRIu64 "  %7s", width, turn, name[source]);
        for (i = 0; i < DATASETS; i++) {
            /* weight * turn / sum, in whole turns and, rounded, hundredths */
            uint64_t whole = turn / sum * weight[i];
            uint64_t rest = (turn % sum * weight[i] * 100 + sum / 2) / sum;
            uint64_t share = whole + rest / 100;
            printf("  %*" PRIu64 " of %*" PRIu64 ".%02" PRIu64, width, had[i],
                   width, share, rest % 100);
            far |= had[i] > share + 2 || had[i] + 2 < share;
        }
        printf("\n");
    }
    if (far) {
        printf("mixture: FAILED\n");
        return 1;
    }
    printf("mixture: never two turns from its share\n");
    return 0;
}

/* round_robin.c - two datasets of 10 samples take turns on three ranks.

       make examples && build/round_robin

   Batches are of one dataset each; a rank reads its own third of both. The
   job is killed in mid-epoch and goes on from its state, in new objects, as
   a new process would. Nothing is padded: ranks differ by a sample at most,
   and all of them take the same turns. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"

#define DATASETS 2u
#define SAMPLES 10u
#define RANKS 3u
#define BATCH 2u

static const char name[DATASETS] = {'A', 'B'};

/* What one rank has. */
typedef struct worker {
    statesampler_source sources[DATASETS];
    statesampler_mix mix;
} worker;

static int start(worker *ranks)
{
    statesampler_desc desc = {
        .num_samples = SAMPLES,
        .seed = 5,
        .world_size = RANKS,
        .batch_size = BATCH,
        .partition = STATESAMPLER_PARTITION_BLOCKED,
        .tail = STATESAMPLER_TAIL_UNEVEN};
    uint32_t r, i;
    for (r = 0; r < RANKS; r++) {
        for (i = 0; i < DATASETS; i++) {
            desc.rank = r;
            desc.stream = i; /* so that the two have orders of their own */
            if (statesampler_init(&ranks[r].sources[i].sampler, &desc) != 0) {
                return -1;
            }
            ranks[r].sources[i].weight = 1;
        }
        if (statesampler_mix_init(&ranks[r].mix, ranks[r].sources, DATASETS,
                                  STATESAMPLER_STOP_FIRST) != 0) {
            return -1;
        }
    }
    return 0;
}

int main(void)
{
    static worker ranks[RANKS], others[RANKS];
    static unsigned char state[512];
    unsigned seen[DATASETS][SAMPLES] = {{0}};
    worker *now = ranks;
    uint32_t r, source = 0, i, taken = 0;
    uint64_t batch[BATCH];
    size_t count, j;

    if (start(now) != 0) {
        return 1;
    }
    printf("epoch  turn  dataset  rank 0  rank 1  rank 2\n");
    while (statesampler_mix_epoch(&now[0].mix) < 2) {
        int more = 0;
        if (taken == 3) { /* the state is all that is left */
            size_t size = statesampler_mix_state_bytes(&now[0].mix);
            if (statesampler_mix_save(&now[0].mix, state, sizeof state) !=
                0) {
                return 1;
            }
            memset(ranks, 0, sizeof ranks);
            now = others;
            if (start(now) != 0) {
                return 1;
            }
            for (r = 0; r < RANKS; r++) {
                if (statesampler_mix_load(&now[r].mix, state, size) != 0) {
                    return 1;
                }
            }
            printf("       killed, and resumed from %u bytes\n",
                   (unsigned)size);
        }
        taken++;
        for (r = 0; r < RANKS; r++) {
            uint64_t epoch = statesampler_mix_epoch(&now[r].mix);
            uint64_t turn = statesampler_mix_turn(&now[r].mix);
            more = statesampler_mix_next(&now[r].mix, batch, &count, &source);
            if (!more) {
                continue; /* all ranks are at the epoch's end */
            }
            if (r == 0) {
                printf("%5" PRIu64 "  %4" PRIu64 "  %7c", epoch, turn,
                       name[source]);
            }
            printf("  ");
            for (j = 0; j < BATCH; j++) {
                if (j < count) {
                    printf(" %2" PRIu64, batch[j]);
                    seen[source][batch[j]]++;
                } else {
                    printf("  -");
                }
            }
        }
        if (more) {
            printf("\n");
        }
    }
    for (i = 0; i < DATASETS; i++) {
        for (j = 0; j < SAMPLES; j++) {
            if (seen[i][j] != 2) {
                printf("round_robin: FAILED\n");
                return 1;
            }
        }
    }
    printf("round_robin: every sample once in each epoch\n");
    return 0;
}

/* round_robin.c - two datasets of 10 samples take turns on three ranks.

       make examples && build/round_robin

   A batch has samples of one dataset. Each rank reads its own third of both.
   The job is killed in mid-epoch and continues from its state. Nothing is
   padded: ranks differ by at most one sample, and all take the same turns. */
#include <inttypes.h>
#include <stdio.h>

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"

#define DATASETS 2u
#define SAMPLES 10u
#define RANKS 3u
#define BATCH 2u

static const char usage[] =
    "usage: round_robin\n\n"
    "Shows two epochs of two datasets on three ranks, killed and resumed\n"
    "after three turns.\n";

static const char name[DATASETS] = {'A', 'B'};

/* One rank. */
typedef struct worker {
    statesampler_source sources[DATASETS];
    statesampler_mix mix;
} worker;

/* A rank's third of both datasets begins here. */
static const uint64_t third[RANKS + 1] = {0, 4, 7, SAMPLES};

static unsigned seen[DATASETS][SAMPLES]; /* how often */
static int good = 1;                     /* so far */

static void start(worker *ranks)
{
    uint32_t r, i;

    for (r = 0; r < RANKS; r++) {
        for (i = 0; i < DATASETS; i++) {
            const statesampler_desc desc = {
                .num_samples = SAMPLES,
                .seed = 5,
                .stream = i, /* so that the two orders differ */
                .rank = r,
                .world_size = RANKS,
                .batch_size = BATCH,
                .partition = STATESAMPLER_PARTITION_BLOCKED,
                .tail = STATESAMPLER_TAIL_UNEVEN,
            };

            example_must(statesampler_init(&ranks[r].sources[i].sampler,
                                           &desc));
            ranks[r].sources[i].weight = 1;
        }
        example_must(statesampler_mix_init(&ranks[r].mix, ranks[r].sources,
                                           DATASETS, STATESAMPLER_STOP_FIRST));
    }
}

/* Continues from the state in new objects, as a new process would. */
static void resume(worker *ranks, const statesampler_mix *killed)
{
    unsigned char state[512];
    size_t size = statesampler_mix_state_bytes(killed);
    uint32_t r;

    example_must(statesampler_mix_save(killed, state, sizeof state));
    start(ranks);
    for (r = 0; r < RANKS; r++) {
        example_must(statesampler_mix_load(&ranks[r].mix, state, size));
    }
    printf("       killed, and resumed from %u bytes\n", (unsigned)size);
}

/* Prints a rank's batch, and checks that it is of its third, and that no sample
   of it came before in this epoch. */
static void take_batch(uint32_t rank, uint32_t source, uint64_t epoch,
                       const uint64_t *batch, size_t count)
{
    size_t j;

    printf("  ");
    for (j = 0; j < count; j++) {
        printf(" %2" PRIu64, batch[j]);
        good = good && batch[j] >= third[rank] && batch[j] < third[rank + 1];
        good = good && seen[source][batch[j]] == epoch;
        seen[source][batch[j]]++;
    }
    for (; j < BATCH; j++) {
        printf("  -");
    }
}

/* Takes a turn on all ranks and prints it, or begins the next epoch. The turns
   of an epoch are A, B, A, B. */
static void take_turn(worker *ranks)
{
    uint64_t epoch = statesampler_mix_epoch(&ranks[0].mix), batch[BATCH];
    uint64_t turn = statesampler_mix_turn(&ranks[0].mix);
    uint32_t r, source;
    size_t count;

    for (r = 0; r < RANKS; r++) {
        if (!statesampler_mix_next(&ranks[r].mix, batch, &count, &source)) {
            continue; /* the end of an epoch, on all ranks */
        }
        if (r == 0) {
            printf("%5" PRIu64 "  %4" PRIu64 "  %7c", epoch, turn,
                   name[source]);
        }
        good = good && source == turn % DATASETS;
        take_batch(r, source, epoch, batch, count);
        printf("%s", r == RANKS - 1 ? "\n" : "");
    }
}

int main(int argc, char **argv)
{
    static worker ranks[RANKS], others[RANKS];
    worker *now = ranks;
    uint32_t i, j;
    int taken = 0;

    example_begin(argc, argv, 0, usage);
    start(now);
    printf("epoch  turn  dataset  rank 0  rank 1  rank 2\n");
    while (statesampler_mix_epoch(&now[0].mix) < 2) {
        if (taken++ == 3) {
            resume(others, &ranks[0].mix);
            now = others;
        }
        take_turn(now);
    }
    for (i = 0; i < DATASETS; i++) {
        for (j = 0; j < SAMPLES; j++) {
            good = good && seen[i][j] == 2;
        }
    }
    printf("\n");
    return example_end(good,
                       "%u samples of %u datasets in turns, each exactly "
                       "once in each of 2 epochs, by the same rank",
                       DATASETS * SAMPLES, DATASETS);
}

/* recipe_pretrain.c - training without end, in micro-batches.

       make examples && build/recipe_pretrain

   A batch may run over the end of an epoch. It is trained on in slices, whose
   gradients are added up. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"

#define SAMPLES 1001u
#define RANKS 4u
#define SLICE 2u
#define BATCH (8 * SLICE)

static unsigned char served[6][SAMPLES]; /* how often, by epoch */

/* Yours: adds the gradients of a slice. The epochs may seed crops or masks. */
static void backward(const uint64_t *samples, const uint64_t *epochs)
{
    served[epochs[0]][samples[0]]++;
    served[epochs[1]][samples[1]]++;
}

static int run(uint32_t rank, uint64_t steps)
{
    const statesampler_desc desc = {
        .num_samples = SAMPLES,
        .seed = 42,
        .rank = rank,
        .world_size = RANKS,
        .batch_size = BATCH,
        .tail = STATESAMPLER_TAIL_CARRY,
    };
    uint64_t batch[BATCH], epochs[BATCH], first;
    size_t count, j;
    statesampler s;
    int code = statesampler_init(&s, &desc);

    while (code == STATESAMPLER_OK && statesampler_step(&s) < steps) {
        first = statesampler_position(&s) + rank;
        for (j = 0; j < BATCH; j++)
            epochs[j] = statesampler_epoch(&s) + (first + j * RANKS) / SAMPLES;
        statesampler_next(&s, batch, &count);
        for (j = 0; j < count; j += SLICE)
            backward(batch + j, epochs + j);
    }
    return code;
}

int main(int argc, char **argv)
{
    unsigned i, good = 1;
    example_begin(argc, argv, 0,
                  "usage: recipe_pretrain\n\n"
                  "Takes 79 steps on 4 ranks.\n");
    for (i = 0; i < RANKS; i++)
        example_must(run(i, 79)); /* 5056 samples: 5 epochs and 51 */
    for (i = 0; i < 5 * SAMPLES; i++)
        good = good && served[i / SAMPLES][i % SAMPLES] == 1;
    return example_end((int)good, "79 full steps, each of 1001 samples "
                                  "exactly once in each of 5 epochs");
}

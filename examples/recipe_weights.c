/* recipe_weights.c - serves each sample as often as its weight says.

       make examples && build/recipe_weights

   num_samples is the sum of the weights, and each sample owns as many numbers
   as its weight. With the order REPLACEMENT the same lookup draws samples at
   random with these weights. */
#include <inttypes.h>

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"

#define SAMPLES 1000u

static unsigned weight[SAMPLES], served[SAMPLES];
static uint64_t sums[SAMPLES]; /* of the weights of samples 0 .. i */

/* The sample that owns a number: the first whose sum is above it. */
static unsigned find_sample(uint64_t number)
{
    unsigned low = 0, high = SAMPLES - 1;

    while (low < high) { /* the distance halves each time */
        unsigned middle = (low + high) / 2;

        if (sums[middle] > number)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int run(void)
{
    const statesampler_desc desc = {
        .num_samples = sums[SAMPLES - 1],
        .seed = 42,
        .batch_size = 16,
    };
    uint64_t batch[16];
    size_t count, i;
    statesampler s;
    int code = statesampler_init(&s, &desc);

    while (code == STATESAMPLER_OK && statesampler_next(&s, batch, &count))
        for (i = 0; i < count; i++)
            served[find_sample(batch[i])]++; /* yours: train on it */
    return code;
}

int main(int argc, char **argv)
{
    unsigned i, good = 1;
    example_begin(argc, argv, 0,
                  "usage: recipe_weights\n\n"
                  "Serves one epoch of samples with weights.\n");
    for (i = 0; i < SAMPLES; i++) {
        weight[i] = i * i % 5; /* 0, 1 or 4 */
        sums[i] = (i > 0 ? sums[i - 1] : 0) + weight[i];
    }
    example_must(run());
    for (i = 0; i < SAMPLES; i++)
        good = good && served[i] == weight[i];
    return example_end((int)good,
                       "each of %u samples as often as its weight "
                       "says, %" PRIu64 " in all",
                       SAMPLES, sums[SAMPLES - 1]);
}

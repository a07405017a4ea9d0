/* recipe_weights.c - samples with weights: each as often as its weight says.

       make examples && build/recipe_weights

   A shuffle of as many numbers as the weights sum to, of which each sample
   owns as many as its weight. With the order REPLACEMENT the same lookup
   draws at random with these weights. */
#include <inttypes.h>

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"

#define SAMPLES 1000u

static unsigned weight[SAMPLES], served[SAMPLES];
static uint64_t sums[SAMPLES]; /* of the weights up to and with a sample's */

/* The first sample whose sum is above this number. */
static unsigned owner(uint64_t number)
{
    unsigned low = 0, high = SAMPLES - 1;

    while (low < high) { /* the distance halves each time */
        unsigned middle = (low + high) / 2;
        low = sums[middle] > number ? low : middle + 1;
        high = sums[middle] > number ? middle : high;
    }
    return low;
}

static int run(void)
{
    const statesampler_desc desc = {
        .num_samples = sums[SAMPLES - 1], .seed = 42, .batch_size = 16};
    uint64_t batch[16];
    size_t count, i;
    statesampler s;
    int code = statesampler_init(&s, &desc);

    while (code == STATESAMPLER_OK && statesampler_next(&s, batch, &count))
        for (i = 0; i < count; i++)
            served[owner(batch[i])]++; /* yours: train on that sample */
    return code;
}

int main(int argc, char **argv)
{
    unsigned i, good = 1;
    example_begin(argc, argv, 0, "usage: recipe_weights\n\nAn epoch.\n");
    for (i = 0; i < SAMPLES; i++) {
        weight[i] = i * i % 5; /* 0, 1 or 4 */
        sums[i] = (i > 0 ? sums[i - 1] : 0) + weight[i];
    }
    example_must(run());
    for (i = 0; i < SAMPLES; i++)
        good = good && served[i] == weight[i];
    return example_end((int)good, "each of %u samples as often as its weight "
                       "says, %" PRIu64 " in all", SAMPLES, sums[SAMPLES - 1]);
}

/* recipe_one_gpu.c - shuffled batches on one GPU, epoch after epoch.

       make examples && build/recipe_one_gpu */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"

static unsigned char served[10000000]; /* how often */

/* Yours: reads these samples and trains on them. */
static void train(const uint64_t *batch, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        served[batch[i]]++;
}

static int run(void)
{
    const statesampler_desc desc = {
        .num_samples = 10000000,
        .seed = 42,
        .batch_size = 64,
    };
    uint64_t batch[64];
    size_t count;
    statesampler s;
    int code = statesampler_init(&s, &desc);

    while (code == STATESAMPLER_OK && statesampler_epoch(&s) < 3)
        if (statesampler_next(&s, batch, &count))
            train(batch, count);
    return code;
}

int main(int argc, char **argv)
{
    int i, good = 1;

    example_begin(argc, argv, 0,
                  "usage: recipe_one_gpu\n\n"
                  "Serves three epochs of 10000000 samples.\n");
    example_must(run());
    for (i = 0; i < 10000000; i++)
        good = good && served[i] == 3;
    return example_end(good, "each of 10000000 samples exactly once in each of "
                             "3 epochs");
}

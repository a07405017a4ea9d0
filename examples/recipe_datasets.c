/* recipe_datasets.c - three datasets take turns by weight.

       make examples && build/recipe_datasets

   A batch has samples of one dataset. With STOP_ALL an epoch of the mix serves
   every dataset once. With STOP_NEVER it has no end. */
#include <inttypes.h>

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"

static const uint64_t length[3] = {6000, 4000, 2000};
static const uint32_t weight[3] = {3, 2, 1};
static uint64_t served[3];

/* Yours: trains on samples of this dataset. */
static void train(uint32_t source, const uint64_t *batch, size_t count)
{
    served[source] += batch[count - 1] < length[source] ? count : 0;
}

static int run(void)
{
    statesampler_source sets[3];
    statesampler_mix mix;
    uint64_t batch[16];
    uint32_t source;
    size_t count;
    int code = STATESAMPLER_OK;

    for (source = 0; source < 3 && code == STATESAMPLER_OK; source++) {
        const statesampler_desc desc = {
            .num_samples = length[source],
            .seed = 42,
            .stream = source,
            .batch_size = 16,
        };

        sets[source].weight = weight[source];
        code = statesampler_init(&sets[source].sampler, &desc);
    }
    if (code == STATESAMPLER_OK)
        code = statesampler_mix_init(&mix, sets, 3, STATESAMPLER_STOP_ALL);
    while (code == STATESAMPLER_OK &&
           statesampler_mix_next(&mix, batch, &count, &source))
        train(source, batch, count);
    return code;
}

int main(int argc, char **argv)
{
    example_begin(argc, argv, 0,
                  "usage: recipe_datasets\n\n"
                  "Serves one epoch of three datasets.\n");
    example_must(run());
    return example_end(memcmp(served, length, sizeof served) == 0,
                       "%" PRIu64 ", %" PRIu64 " and %" PRIu64 " samples of "
                       "three datasets, in turns of 3 : 2 : 1",
                       served[0], served[1], served[2]);
}

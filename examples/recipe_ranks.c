/* recipe_ranks.c - the share of one process of a job on many GPUs.

       make examples && RANK=1 WORLD_SIZE=3 build/recipe_ranks

   The launcher (torchrun, mpirun, srun) sets the variables. Where T processes
   share each sample, by tensor or pipeline parallelism, divide rank and
   world_size by T after statesampler_from_env. */
#include <inttypes.h>

#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "example.h"

static uint64_t batch[8], samples, steps;

/* Yours: takes a step together with all ranks. */
static void train(size_t count)
{
    samples += count;
    steps++;
}

static int run(statesampler_desc *desc)
{
    size_t count;
    statesampler s;
    int code = statesampler_from_env(desc, NULL);

    desc->num_samples = 1000;
    desc->seed = 42;
    desc->batch_size = 8;
    if (code == STATESAMPLER_OK)
        code = statesampler_init(&s, desc);
    if (code != STATESAMPLER_OK)
        return code;
    while (statesampler_next(&s, batch, &count))
        train(count);
    return STATESAMPLER_OK;
}

int main(int argc, char **argv)
{
    statesampler_desc desc = {0};
    uint64_t share;

    example_begin(argc, argv, 0,
                  "usage: recipe_ranks\n\n"
                  "Serves an epoch to the rank RANK of\n"
                  "WORLD_SIZE.\n");
    example_must(run(&desc));
    share = ((uint64_t)1000 + desc.world_size - 1) / desc.world_size; /* PAD */
    return example_end(samples == share && steps == (share + 7) / 8,
                       "rank %" PRIu32 " of %" PRIu32 " had %" PRIu64
                       " of 1000 samples in %" PRIu64 " steps",
                       desc.rank, desc.world_size, samples, steps);
}

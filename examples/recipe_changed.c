/* recipe_changed.c - the dataset has grown since the state was saved.

       make examples && build/recipe_changed

   The current epoch keeps its old length. The next one has the new length. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"

static unsigned served[2][1200]; /* how often, by epoch */

/* Yours: trains for at most this many steps, at most to the epoch's end. */
static void train(statesampler *s, uint64_t steps)
{
    uint64_t batch[8], epoch = statesampler_epoch(s);
    size_t count, i;
    while (steps-- > 0 && statesampler_next(s, batch, &count))
        for (i = 0; i < count; i++)
            served[epoch][batch[i]]++;
}

/* Continues from a state when the dataset now has this many samples. */
static int run(const void *state, size_t size, uint64_t num_samples)
{
    statesampler_desc desc;
    statesampler s;
    int code = statesampler_describe(state, size, &desc, NULL);

    if (code == STATESAMPLER_OK)
        code = statesampler_init(&s, &desc);
    if (code == STATESAMPLER_OK)
        code = statesampler_load(&s, state, size);
    if (code == STATESAMPLER_OK) {
        train(&s, STATESAMPLER_NONE);
        desc.num_samples = num_samples;
        desc.epoch++;
        code = statesampler_init(&s, &desc);
    }
    if (code == STATESAMPLER_OK)
        train(&s, STATESAMPLER_NONE);
    return code;
}

int main(int argc, char **argv)
{
    const statesampler_desc desc = {
        .num_samples = 1000,
        .seed = 42,
        .batch_size = 8,
    };
    unsigned char state[STATESAMPLER_STATE_BYTES];
    unsigned i, good = 1;
    statesampler s;
    example_begin(argc, argv, 0,
                  "usage: recipe_changed\n\n"
                  "Trains on a dataset that grows after the first epoch.\n");
    example_must(statesampler_init(&s, &desc));
    train(&s, 50);
    example_must(statesampler_save(&s, state, sizeof state));
    example_must(run(state, sizeof state, 1200));
    for (i = 0; i < 1200; i++)
        good = good && served[0][i] == (i < 1000) && served[1][i] == 1;
    return example_end((int)good, "each of 1000 samples once in the first "
                                  "epoch, each of 1200 once in the next");
}

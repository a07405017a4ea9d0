/* recipe_order.c - an order of your own: the easy samples first.

       make examples && build/recipe_order

   The order SEQUENTIAL gives positions; ranks, batches, states and epochs work
   as usual. Any function that maps positions to samples one to one is an order.
   Here one permutation shuffles the easy samples and another the hard ones. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"

#define SAMPLES 1000u
#define EASY 300u /* samples 0 .. 299 */

static unsigned served[SAMPLES]; /* 1: first, 2: second, ... */

/* Yours: trains on this sample. */
static void train(uint64_t sample)
{
    static unsigned place;

    served[sample] = ++place;
}

static int run(void)
{
    const statesampler_desc desc = {
        .num_samples = SAMPLES,
        .seed = 42,
        .batch_size = 10,
        .order = STATESAMPLER_ORDER_SEQUENTIAL,
    };
    statesampler_perm easy, hard;
    uint64_t batch[10];
    size_t count, i;
    statesampler s;
    int code = statesampler_init(&s, &desc);

    if (code == STATESAMPLER_OK)
        code = statesampler_perm_init(&easy, EASY, 42, 0, 1);
    if (code == STATESAMPLER_OK)
        code = statesampler_perm_init(&hard, SAMPLES - EASY, 42, 0, 2);
    while (code == STATESAMPLER_OK && statesampler_next(&s, batch, &count))
        for (i = 0; i < count; i++)
            if (batch[i] < EASY)
                train(statesampler_perm_at(&easy, batch[i]));
            else
                train(EASY + statesampler_perm_at(&hard, batch[i] - EASY));
    return code;
}

int main(int argc, char **argv)
{
    unsigned i, good = 1;
    example_begin(argc, argv, 0,
                  "usage: recipe_order\n\n"
                  "Serves one epoch, easy samples first.\n");
    example_must(run());
    for (i = 0; i < SAMPLES; i++)
        good = good && served[i] && (served[i] <= EASY) == (i < EASY);
    return example_end((int)good, "each of 1000 samples once, the 300 easy "
                                  "samples first");
}

/* evaluate.c - an exact metric, whatever the number of ranks.

       make examples && build/evaluate

   The tail PAD repeats some samples to make the ranks equal, so that an
   accuracy over all ranks depends on their number. There are two ways out.
   The tail UNEVEN repeats nothing; in the last step some ranks may have an
   empty batch. Or leave out the padding, which is always at the end of a
   batch. */
#include <inttypes.h>
#include <stdio.h>

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"

#define SAMPLES 1009u
#define BATCH 8u

static const char usage[] =
    "usage: evaluate\n\n"
    "Measures an accuracy on 1 to 1200 ranks with the tails UNEVEN and PAD,\n"
    "and compares it with the true one.\n";

/* Yours: asks the model. This one is right three times in four. */
static uint64_t is_right(uint64_t index)
{
    return (index * 2654435761u >> 7) % 4 != 0;
}

/* Adds what one rank has: *right of *seen. */
static int evaluate(const statesampler_desc *desc, int with_padding,
                    uint64_t *right, uint64_t *seen)
{
    uint64_t batch[BATCH];
    statesampler s;
    size_t count, i;
    int code = statesampler_init(&s, desc);

    if (code != STATESAMPLER_OK)
        return code;
    while (statesampler_next(&s, batch, &count)) {
        if (!with_padding)
            count -= statesampler_padding(&s, statesampler_step(&s) - 1);
        for (i = 0; i < count; i++)
            *right += is_right(batch[i]);
        *seen += count;
    }
    return STATESAMPLER_OK;
}

/* Sums over all ranks. Each would be a process. */
static void evaluate_all(uint32_t world_size, uint32_t tail, int with_padding,
                         uint64_t *right, uint64_t *seen)
{
    statesampler_desc desc = {
        .num_samples = SAMPLES,
        .seed = 3,
        .world_size = world_size,
        .batch_size = BATCH,
        .tail = tail,
    };

    *right = *seen = 0;
    for (; desc.rank < world_size; desc.rank++) {
        example_must(evaluate(&desc, with_padding, right, seen));
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        uint32_t tail;
        int with_padding;
    } ways[] = {
        {"UNEVEN", STATESAMPLER_TAIL_UNEVEN, 1},
        {"PAD without padding", STATESAMPLER_TAIL_PAD, 0},
        {"PAD", STATESAMPLER_TAIL_PAD, 1},
    };
    static const uint32_t worlds[] = {1, 2, 3, 8, 17, 64, 1200};
    uint64_t right, seen, truth = 0;
    int i, k, exact[3] = {0, 0, 0};

    example_begin(argc, argv, 0, usage);
    for (i = 0; i < (int)SAMPLES; i++) {
        truth += is_right((uint64_t)i);
    }
    printf("the truth: %" PRIu64 " of %u are right, %.4f %%\n\n", truth,
           SAMPLES, 100.0 * (double)truth / SAMPLES);
    printf("ranks");
    for (k = 0; k < 3; k++) {
        printf("    %-20s", ways[k].name);
    }
    printf("\n");
    for (i = 0; i < 7; i++) {
        printf("%5" PRIu32, worlds[i]);
        for (k = 0; k < 3; k++) {
            evaluate_all(worlds[i], ways[k].tail, ways[k].with_padding, &right,
                         &seen);
            exact[k] += right == truth && seen == SAMPLES;
            printf("    %3" PRIu64 " of %4" PRIu64 " %7.4f %%", right, seen,
                   100.0 * (double)right / (double)seen);
        }
        printf("\n");
    }
    printf("\n");
    return example_end(
        exact[0] == 7 && exact[1] == 7 && exact[2] < 7,
        "UNEVEN, and PAD without padding, are exact for every number of "
        "ranks; PAD is exact for %d of 7",
        exact[2]);
}

/* factors.c - repeat factors that need not be whole numbers.

       make examples && build/factors

   The factors are those of LVIS: sqrt(0.1 / f) or at least 1, where f is the
   frequency of the rarest category in the image. Laid end to end, the factors
   form a line. Points one unit apart hit an image as often as its factor,
   rounded down or up. Each epoch shifts the points by another fraction of the
   unit, so that 64 epochs have 64 times the factor. One table is enough for the
   whole run. */
#include <inttypes.h>
#include <math.h>

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"

#define IMAGES 1000u
#define EPOCHS 64u
#define ONE ((uint64_t)1 << 32) /* a factor of 1 */

static uint64_t factor[IMAGES], sums[IMAGES], unit;
static unsigned served[EPOCHS][IMAGES];

/* The image at a point: the first whose sum of factors is above it. */
static unsigned find_image(uint64_t point)
{
    unsigned low = 0, high = IMAGES - 1;

    while (low < high) { /* the distance halves each time */
        unsigned middle = (low + high) / 2;

        if (sums[middle] > point)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* 64 epochs of one of three ranks. */
static int run(uint32_t rank)
{
    const statesampler_desc desc = {
        .num_samples = sums[IMAGES - 1] / unit,
        .seed = 42,
        .rank = rank,
        .world_size = 3,
        .batch_size = 16,
        .tail = STATESAMPLER_TAIL_UNEVEN,
    };
    uint64_t batch[16], epoch, offset;
    size_t count, i;
    statesampler s;
    int code = statesampler_init(&s, &desc);

    while (code == STATESAMPLER_OK &&
           (epoch = statesampler_epoch(&s)) < EPOCHS) {
        /* Each offset comes once in 64 epochs, as 25 is odd. Offsets that
           follow each other are far apart. */
        offset = epoch * 25 % 64 * (unit / 64);
        if (statesampler_next(&s, batch, &count))
            for (i = 0; i < count; i++)
                served[epoch][find_image(batch[i] * unit + offset)]++;
    }
    return code;
}

/* How many images are in the category of this one: there are three. */
static unsigned category_of(unsigned image)
{
    if (image < 10)
        return 10;
    return image < 50 ? 40 : 950;
}

int main(int argc, char **argv)
{
    unsigned i, e, good = 1, total, extra = 0;

    example_begin(argc, argv, 0,
                  "usage: factors\n\n"
                  "Serves 64 epochs by repeat factors.\n");
    for (i = 0; i < IMAGES; i++) {
        const double frequency = category_of(i) / (double)IMAGES;

        factor[i] = (uint64_t)(sqrt(fmax(0.1 / frequency, 1)) * (double)ONE);
        sums[i] = factor[i] + (i > 0 ? sums[i - 1] : 0);
    }
    /* The unit is close to ONE. A whole number of units fits the line, so that
       all epochs have the same length, and 64 divides the unit. */
    unit = sums[IMAGES - 1] / ((sums[IMAGES - 1] + ONE / 2) / ONE) / 64 * 64;
    for (i = 0; i < 3; i++)
        example_must(run(i));
    for (i = 0; i < IMAGES; i++) {
        for (e = total = 0; e < EPOCHS; total += served[e++][i])
            good = good && served[e][i] - factor[i] / unit <= 1;
        good = good && total - factor[i] / (unit / 64) <= 1;
        extra += total;
        if (i != 0 && i != 10 && i != 50)
            continue;
        printf("1 of %3u: factor %.3f, times", category_of(i),
               (double)factor[i] / (double)unit);
        for (e = 0; e < 10; e++)
            printf(" %u", served[e][i]);
        printf(" ..., in 64 epochs %.1f: %u\n",
               64 * (double)factor[i] / (double)unit, total);
    }
    printf("all: %u in 64 epochs of %" PRIu64 "\n\n", extra,
           sums[IMAGES - 1] / unit);
    good = good && extra == 64 * (sums[IMAGES - 1] / unit);
    return example_end((int)good, "each image as often as its factor, rounded "
                                  "in an epoch, less than 1 off in 64 epochs");
}

/* weights.c - samples, classes and datasets in other shares than their sizes.

       make examples && build/weights

   An epoch is a shuffle of as many numbers as the weights sum to, and each
   group of samples owns as many as its weight; a group of one is a sample. Here
   each epoch begins on 3 ranks, and 2 go on from its middle with 112 bytes. */
#include <inttypes.h>
#include <math.h>
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"

#define GROUPS 1000u
#define ONCE ((uint64_t)1 << 32) /* a factor of 1 */
static uint64_t weight[GROUPS], sums[GROUPS];
static uint32_t size[GROUPS], start[GROUPS], served[10000];

/* The first group whose sum of weights is above this number. */
static uint32_t find_owner(uint32_t groups, uint64_t number)
{
    uint32_t low = 0, high = groups - 1;

    while (low < high) { /* the distance halves each time */
        uint32_t middle = (low + high) / 2;
        low = sums[middle] > number ? low : middle + 1;
        high = sums[middle] > number ? middle : high;
    }
    return low;
}

/* A group goes through its samples pass by pass, in an order for each. */
static void use(uint32_t groups, uint64_t number)
{
    uint32_t k = find_owner(groups, number);
    uint64_t n = number - (sums[k] - weight[k]);
    statesampler_perm pass;

    example_must(statesampler_perm_init(&pass, size[k], 42, n / size[k], k));
    served[start[k] + statesampler_perm_at(&pass, n % size[k])]++;
}

/* An epoch: one number of every `unit`, all at this offset in it. */
static void serve(uint32_t groups, uint32_t order, uint64_t epoch,
                  uint64_t unit, uint64_t offset)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    uint64_t batch[8], last;
    statesampler_desc desc = {.seed = 42, .epoch = epoch, .world_size = 3,
                              .batch_size = 8, .order = order,
                              .tail = STATESAMPLER_TAIL_UNEVEN};
    statesampler s;
    size_t count, i;
    uint32_t k;

    for (k = 0; k < groups; k++) {
        start[k] = k > 0 ? start[k - 1] + size[k - 1] : 0;
        sums[k] = weight[k] + (k > 0 ? sums[k - 1] : 0);
    }
    memset(served, 0, sizeof served);
    desc.num_samples = sums[groups - 1] / unit;
    last = desc.num_samples / 48;
    for (; desc.world_size > 1; desc.world_size--, last = STATESAMPLER_NONE)
        for (desc.rank = 0; desc.rank < desc.world_size; desc.rank++) {
            example_must(statesampler_init(&s, &desc));
            if (desc.world_size == 2)
                example_must(statesampler_load(&s, state, sizeof state));
            while (statesampler_step(&s) < last &&
                   statesampler_next(&s, batch, &count))
                for (i = 0; i < count; i++)
                    use(groups, batch[i] * unit + offset);
            if (desc.world_size == 3)
                example_must(statesampler_save(&s, state, sizeof state));
        }
}

/* Serves an epoch of three groups, and says how often their samples came: each
   the weight over the size, rounded down, or once more. */
static int show(const char *what, const uint32_t *sizes,
                const uint64_t *weights, const char *const *names)
{
    uint32_t k, i, good = 1;

    memcpy(size, sizes, 3 * sizeof *sizes);
    memcpy(weight, weights, 3 * sizeof *weights);
    serve(3, STATESAMPLER_ORDER_SHUFFLE, 0, 1, 0);
    printf("%s\n", what);
    for (k = 0; k < 3; k++) {
        uint32_t times = (uint32_t)(weight[k] / size[k]), more = 0;
        for (i = start[k]; i < start[k] + size[k]; i++) {
            good = good && served[i] - times <= 1;
            more += served[i] > times;
        }
        good = good && more == weight[k] % size[k];
        printf("  %4u %-6s served %4u times: %4u of them %3u times, %3u of "
               "them %u\n", size[k], names[k], (unsigned)weight[k],
               size[k] - more, times, more, times + 1);
    }
    return (int)good;
}

/* Repeat factors as of LVIS: the root of 0.1 / how frequent the category of an
   image is, or 1. In every epoch an image comes that often, rounded down or
   up; in 64 epochs 64 times as often, less than 1 off. */
static int show_factors(void)
{
    static const uint32_t first[3] = {0, 10, 50};
    static uint32_t times[65][GROUPS]; /* served in so many epochs */
    uint64_t sum = 0, unit, offset;
    uint32_t e, i, k, good = 1;

    for (i = 0; i < GROUPS; sum += weight[i++]) {
        size[i] = 1;
        weight[i] = (uint64_t)(sqrt(i < 10 ? 10 : i < 50 ? 2.5 : 1) * ONCE);
    }
    unit = sum / ((sum + ONCE / 2) / ONCE) / 64 * 64; /* a whole number fits */
    for (e = 0; e < 64; e++) {
        offset = unit / 64 * (e * 25 % 64); /* evenly spread, and each once */
        serve(GROUPS, STATESAMPLER_ORDER_SHUFFLE, e, unit, offset);
        for (i = 0; i < GROUPS; i++) {
            good = good && served[i] - weight[i] / unit <= 1;
            times[e + 1][i] = times[e][i] + served[i];
            good = good && (e < 63 ||
                            times[64][i] - weight[i] / (unit / 64) <= 1);
        }
    }
    printf("repeat factors, in epochs of %u images\n", (unsigned)(sum / unit));
    for (k = 0; k < 3; k++) {
        i = first[k];
        printf("  an image of %3u: factor %.3f, times", k < 2 ? first[k + 1] -
               i : GROUPS - i, (double)weight[i] / (double)unit);
        for (e = 0; e < 8; e++)
            printf(" %u", times[e + 1][i] - times[e][i]);
        printf(" .., in 64 epochs %.1f and had %u\n", 64.0 *
               (double)weight[i] / (double)unit, times[64][i]);
    }
    return (int)good;
}

int main(int argc, char **argv)
{
    static const char *const animals[3] = {"cats", "dogs", "lynxes"};
    static const char *const texts[3] = {"web", "books", "code"};
    static const uint32_t images[3] = {5000, 300, 12};
    static const uint64_t equal[3] = {5000, 5000, 5000};
    static const uint32_t pages[3] = {1000, 200, 90};
    static const uint64_t budget[3] = {1500, 800, 90};
    uint32_t i, count[5] = {0}, good = 1;

    example_begin(argc, argv, 0, "usage: weights\n\nEpochs in given shares.\n");
    for (i = 0; i < GROUPS; size[i++] = 1)
        weight[i] = i * i % 5;
    serve(GROUPS, STATESAMPLER_ORDER_SHUFFLE, 0, 1, 0);
    for (i = 0; i < GROUPS; i++) {
        good = good && served[i] == weight[i];
        count[served[i] < 4 ? served[i] : 4]++;
    }
    printf("repeats of 0, 1 or 4\n  %u samples never, %u once, %u 4 times\n"
           "draws of %u\n ", count[0], count[1], count[4], 255000);
    for (i = 0; i < 8; i++)
        weight[i] = (uint64_t)1000 << i;
    serve(8, STATESAMPLER_ORDER_REPLACEMENT, 0, 1, 0);
    for (i = 0; i < 8; i++) {
        double off = (double)served[i] - (double)weight[i];
        good = good && off * off < 25.0 * (double)weight[i]; /* 5 deviations */
        printf(" %u", served[i]);
    }
    printf(", and the shares are 1000, 2000, 4000, ..., 128000\n");
    good = show("classes, equally often", images, equal, animals) && good;
    good = show("a budget of 2390: 1.5 epochs of web, 4 of books, 1 of code",
                pages, budget, texts) && good;
    good = show_factors() && good;
    return example_end((int)good, "each sample, class and dataset came as "
                       "often as its weight says, on 3 ranks and then on 2");
}

/* weights.c - samples, classes and datasets with weights.

       make examples && build/weights

   num_samples is the sum of the weights. A group of samples (or a single one)
   owns as many numbers as its weight. Each epoch begins on 3 ranks and ends on
   2. For factors that are no whole numbers see factors.c. */
#include <inttypes.h>
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"

#define MOST 1000u
typedef struct group {
    const char *name;
    uint64_t samples, weight, sum; /* sum: of all weights up to this one */
} group;
static group groups[MOST];
static unsigned served[MOST][5000];

/* A group serves its samples pass by pass, each in a new order. The next epoch
   continues where this one ends. */
static void train(uint64_t number, uint64_t epoch)
{
    statesampler_perm pass;
    uint64_t n, own, k = 0;

    while (groups[k].sum <= number) /* faster: see recipes_groups.c */
        k++;
    n = groups[k].samples;
    own =
        number - (groups[k].sum - groups[k].weight) + epoch * groups[k].weight;
    example_must(statesampler_perm_init(&pass, n, 42, own / n, k));
    served[k][statesampler_perm_at(&pass, own % n)]++;
}

static void serve(unsigned count, uint32_t order)
{
    statesampler_desc desc = {
        .seed = 42,
        .world_size = 3,
        .batch_size = 8,
        .order = order,
        .tail = STATESAMPLER_TAIL_UNEVEN,
    };
    unsigned char state[STATESAMPLER_STATE_BYTES];
    uint64_t batch[8], last;
    statesampler s;
    size_t got, i;

    memset(served, 0, sizeof served);
    for (i = 0; i < count; i++)
        groups[i].sum = desc.num_samples += groups[i].weight;
    last = desc.num_samples / 48; /* half of the steps */
    for (; desc.world_size > 1; desc.world_size--, last = STATESAMPLER_NONE)
        for (desc.rank = 0; desc.rank < desc.world_size; desc.rank++) {
            example_must(statesampler_init(&s, &desc));
            if (desc.world_size == 2)
                example_must(statesampler_load(&s, state, sizeof state));
            while (statesampler_step(&s) < last &&
                   statesampler_next(&s, batch, &got))
                for (i = 0; i < got; i++)
                    train(batch[i], statesampler_epoch(&s));
            if (desc.world_size == 3)
                example_must(statesampler_save(&s, state, sizeof state));
        }
}

/* Each sample must come weight / samples times, rounded down or up. */
static int show(const char *what, const group *three)
{
    unsigned k, i, good = 1;

    memcpy(groups, three, 3 * sizeof *three);
    serve(3, STATESAMPLER_ORDER_SHUFFLE);
    printf("%s\n", what);
    for (k = 0; k < 3; k++) {
        unsigned n = (unsigned)groups[k].samples, more = 0;
        unsigned weight = (unsigned)groups[k].weight, times = weight / n;
        for (i = 0; i < n; i++) {
            good = good && served[k][i] - times <= 1;
            more += served[k][i] > times;
        }
        good = good && more == weight % n;
        printf("  %4u %-6s served %4u times: %4u of them %3u times, %3u of "
               "them %u\n",
               n, groups[k].name, weight, n - more, times, more, times + 1);
    }
    return (int)good;
}

int main(int argc, char **argv)
{
    static const group animals[3] = {
        {"cats", 5000, 5000, 0},
        {"dogs", 300, 5000, 0},
        {"apes", 12, 5000, 0},
    };
    static const group texts[3] = {
        {"web", 1000, 1500, 0},
        {"books", 200, 800, 0},
        {"code", 90, 90, 0},
    };
    unsigned i, good = 1;

    example_begin(argc, argv, 0,
                  "usage: weights\n\n"
                  "Serves epochs by weights.\n");
    for (i = 0; i < MOST; i++)
        groups[i] = (group){"", 1, i * i % 5, 0};
    serve(MOST, STATESAMPLER_ORDER_SHUFFLE);
    printf("1000 samples with the weights 0, 1 and 4\n ");
    for (i = 0; i < MOST; i++) {
        good = good && served[i][0] == groups[i].weight;
        if (i < 20)
            printf(" %u", served[i][0]);
    }
    for (i = 0; i < 8; i++)
        groups[i].weight = (uint64_t)1000 << i;
    serve(8, STATESAMPLER_ORDER_REPLACEMENT);
    printf(" ...\n255000 draws with the weights 1000, 2000, ..., 128000\n ");
    for (i = 0; i < 8; i++) {
        double share = 1000 << i, off = served[i][0] - share;
        good = good && off * off < 25 * share; /* 5 deviations */
        printf(" %u", served[i][0]);
    }
    good = show("\nclasses of equal weight", animals) && good;
    good =
        show("2390 numbers: 1.5 epochs of web, 4 of books, 1 of code", texts) &&
        good;
    return example_end((int)good, "each sample, class and dataset as often as "
                                  "its weight says, on 3 ranks and then on 2");
}

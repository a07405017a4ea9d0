/* packing.c - what packs of samples waste, of a budget of tokens.

       make examples && build/packing [FILE]

   Compares plans of pack.h; best fit over all samples; in order, where a sample
   that does not fit opens the next pack; and cut, where its rest is dropped. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"
#include "extras/pack.h"

#include <math.h>

enum { MOST = 100000, LARGEST = 32768, MEAN = 512 };

static const char usage[] =
    "usage: packing [FILE]\n\n"
    "Shows the padding in packs of made lengths, and of those in the lines of\n"
    "FILE, which are cut to the budget; and what cutting drops.\n";

static uint32_t whole[MOST], lengths[MOST], have[LARGEST + 1], count;
static double tokens, most; /* the most padding at eight mean lengths */
static uint64_t bits[PACK_WORDS(MOST, LARGEST)];
static uint32_t numbers[FIT_NUMBERS(MOST, LARGEST)];

static double draw(void)
{
    static uint64_t x = 1;

    x = x * 6364136223846793005u + 1442695040888963407u;
    return ((double)(x >> 33) + 0.5) / 2147483648.0;
}

/* Uniform, exponential, or lognormal lengths. */
static void make(int kind)
{
    double x;

    for (count = 0; count < MOST; count++) {
        x = kind == 0 ? 2 * draw() : -log(draw());
        if (kind == 2)
            x = exp(sqrt(2 * x) * cos(2 * acos(-1) * draw()) - 0.5);
        whole[count] = 1 + (uint32_t)fmin(x * (double)MEAN, LARGEST);
    }
}

static void read_lengths(const char *path)
{
    char line[32];

    example_read(path);
    for (; count < MOST && fgets(line, sizeof line, stdin) != NULL; count++) {
        line[strcspn(line, "\r\n")] = '\0';
        whole[count] = (uint32_t)example_number(line, 1, UINT32_MAX);
    }
    example_read_end(path);
    if (count == 0)
        example_fail(2, "'%s' has no lengths", path);
}

/* The padding of so many packs, in %. */
static double share(double packs, uint32_t budget)
{
    return 100 - 100 * tokens / (packs * budget);
}

static double by_plans(uint32_t plan, uint32_t budget)
{
    const statesampler_desc desc = {.num_samples = count, .batch_size = plan};
    double packs = 0;
    packer p;

    example_must_say(pack_init(&p, &desc, lengths, 4, count, budget, bits,
                               numbers),
                     pack_error);
    for (; statesampler_epoch(&p.sampler) == 0; pack_pass(&p, p.plan.bins))
        packs += p.plan.bins;
    return share(packs, budget);
}

/* All samples, the longest first: each goes where it leaves the least room. */
static double best_fit(uint32_t budget)
{
    uint32_t i, length, room, packs = 0;
    fit f;

    for (i = 0; i < count; i++)
        have[lengths[i]]++;
    memset(bits, 0, sizeof bits);
    fit_init(&f, MOST, budget, bits, numbers);
    fit_mark(&f, budget); /* there always is an empty pack */
    for (length = budget; length > 0; length--)
        for (; have[length] > 0; have[length]--) {
            room = fit_find(&f, length);
            i = room < budget ? fit_take(&f, room) : packs++;
            fit_put(&f, room - length, i);
        }
    return share(packs, budget);
}

/* The padding in order, or what is cut off, in %. */
static double in_order(uint32_t budget, int cut)
{
    double packs = 0, used = 0;
    uint32_t i;

    for (i = 0; i < count; used += lengths[i++])
        if (cut ? used >= budget : used + lengths[i] > budget) {
            packs++;
            used = 0;
        }
    return cut ? 100 - 100 * (packs * budget + fmin(used, budget)) / tokens
               : share(packs + 1, budget);
}

static void compare(const char *name)
{
    uint32_t budget, plan, i;

    for (budget = 2048; budget <= LARGEST; budget *= 2) {
        for (tokens = i = 0; i < count; tokens += lengths[i++])
            lengths[i] = whole[i] < budget ? whole[i] : budget;
        printf("%-11s %6d ", name, (int)budget);
        for (plan = 100; plan <= 10000; plan *= 10)
            printf("  %6.3f %%", by_plans(plan, budget));
        if (budget == 8 * MEAN) /* below 0, a plan is missing */
            most = fmax(most, fabs(by_plans(10000, budget)));
        printf("  %6.3f %%  %6.2f %%  %6.2f %%\n", best_fit(budget),
               in_order(budget, 0), in_order(budget, 1));
    }
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"uniform", "exponential", "lognormal"};
    int kind;

    example_begin(argc, argv, 1, usage);
    if (argc > 1)
        read_lengths(argv[1]);
    printf("lengths     budget   plan: 100     1,000    10,000  best fit  "
           "in order       cut\n");
    if (argc > 1)
        compare("of the file");
    for (most = kind = 0; kind < 3; kind++) {
        make(kind);
        compare(names[kind]);
    }
    return example_end(most < 0.1,
                       "plans of 10,000 samples leave at most %.3f "
                       "%% of eight mean lengths empty",
                       most);
}

/* packing.c - what packs of samples waste, of a budget of tokens.

       make examples && build/packing [FILE]

   Compares plans of pack.h, from small ones to one of all samples; in order,
   where a sample that does not fit opens the next pack; and cut, where what
   does not fit of it is dropped. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"
#include "pack.h"

#include <math.h>

#define MOST 100000u /* samples */
#define LARGEST 32768u
#define MEAN 512

static const char usage[] =
    "usage: packing [FILE]\n\n"
    "Packs made lengths, and those in the lines of FILE. (Above a budget they\n"
    "are cut to it.) Shows the padding in packs, by plans of so many samples\n"
    "and in order, and what cutting drops.\n";

static uint32_t whole[MOST], lengths[MOST], count;
static uint64_t words[PACK_WORDS(MOST, LARGEST)];
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
        whole[count] = 1 + (uint32_t)fmin(x * MEAN, LARGEST);
    }
}

static void read_lengths(const char *path)
{
    FILE *file = fopen(path, "r");
    double length = 0;

    if (file == NULL)
        example_fail(2, "cannot read '%s': %s", path, strerror(errno));
    for (count = 0; count < MOST && fscanf(file, "%lf", &length) == 1 &&
         length >= 0 && length < 4294967296;)
        whole[count++] = (uint32_t)length;
    if (count == 0 || (count < MOST && !feof(file)))
        example_fail(2, "'%s': length %d is not a number", path,
                     (int)count + 1);
    fclose(file);
}

/* The padding of an epoch, in %; 100 if it does not have each sample once. */
static double padding(uint32_t plan, uint32_t budget)
{
    const statesampler_desc desc = {.num_samples = count, .batch_size = plan};
    double tokens = 0, packs = 0;
    statesampler_audit audit = {0};
    uint32_t i;
    packer p;
    int code;

    for (i = 0; i < count; i++)
        tokens += lengths[i];
    code = pack_init(&p, &desc, lengths, 4, count, budget, words, numbers);
    if (code != STATESAMPLER_OK)
        example_fail(1, "sample %d: %s", (int)p.number, pack_error(code));
    for (; statesampler_epoch(&p.sampler) == 0; pack_pass(&p, p.plan.bins)) {
        statesampler_audit_add(&audit, p.samples, p.plan.ends[p.plan.bins]);
        packs += p.plan.bins;
    }
    if (!statesampler_audit_check(&audit, count))
        return 100;
    return 100 - 100 * tokens / (packs * budget);
}

/* The padding in order, or what is cut off, in %. */
static double in_order(uint32_t budget, int cut)
{
    double tokens = 0, packs = 1, used = 0, off = 0;
    uint32_t i;

    for (i = 0; i < count; tokens += lengths[i++]) {
        if (!cut && used + lengths[i] > budget)
            used = 0 * packs++;
        used += lengths[i];
        if (cut && used >= budget) {
            off += used - budget;
            used = 0;
        }
    }
    return 100 * (cut ? off / tokens : 1 - tokens / (packs * budget));
}

/* Prints lines, and returns the padding of plans of 10,000 samples where the
   budget is eight mean lengths. */
static double compare(const char *name)
{
    double share, found = 0;
    uint32_t budget, plan, i;

    for (budget = 2048; budget <= LARGEST; budget *= 2) {
        for (i = 0; i < count; i++)
            lengths[i] = whole[i] < budget ? whole[i] : budget;
        printf("%-11s %6d ", name, (int)budget);
        for (plan = 100; plan <= MOST; plan *= 10) {
            share = padding(plan, budget);
            found = plan == 10000 && budget == 8 * MEAN ? share : found;
            printf("  %6.3f %%", share);
        }
        printf("  %6.2f %%", in_order(budget, 0));
        printf("  %6.2f %%\n", in_order(budget, 1));
    }
    return found;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"uniform", "exponential", "lognormal"};
    double most = 0;
    int kind;

    example_begin(argc, argv, 1, usage);
    if (argc > 1)
        read_lengths(argv[1]);
    printf("lengths     budget   plan: 100     1,000    10,000   100,000  "
           "in order       cut\n");
    if (argc > 1)
        compare("of the file");
    for (kind = 0; kind < 3; kind++) {
        make(kind);
        most = fmax(most, compare(names[kind]));
    }
    return example_end(most < 0.1, "plans of 10,000 samples leave at most %.3f "
                       "%% of eight mean lengths empty", most);
}

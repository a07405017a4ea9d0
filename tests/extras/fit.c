/* fit.c - does examples/extras/fit.h make the bins of first fit decreasing,
   with each length once, and shuffle them evenly? */
#include "statesampler.h"
#include "examples/extras/fit.h"

#include "../check.h"
#include "bins.h"

enum { MOST = BINS_MOST, LARGEST = 300000 };

static uint64_t words[FIT_WORDS(LARGEST)];
static uint32_t numbers[FIT_NUMBERS(MOST, LARGEST)];

static void check_shuffle(const fit *f)
{
    static unsigned char seen[MOST];
    uint32_t b;

    memset(seen, 0, sizeof seen);
    for (b = 0; b < f->bins; b++)
        CHECK(f->lengths[b] < f->bins && seen[f->lengths[b]]++ == 0);
}

static void fits(int runs)
{
    static const uint32_t sizes[] = {1,      2,      63,     64,   65,
                                     100,    4095,   4096,   4097, 20000,
                                     262143, 262144, LARGEST};
    static uint32_t lengths[MOST];
    uint64_t first = 0, best = 0;
    uint32_t i, count, most;
    int run;
    fit f;

    for (run = 0; run < runs; run++) {
        most = 1 + (uint32_t)check_random(MOST);
        count = (uint32_t)check_random(most + 1);
        fit_init(&f, most, sizes[run % 13], words, numbers);
        for (i = 0; i < count; i++)
            lengths[i] = bins_random_length(f.size);
        memcpy(f.lengths, lengths, count * sizeof *lengths);
        fit_bins(&f, count);
        first += bins_check(&f, lengths, count);
        best += bins_of_best_fit(lengths, count, f.size);
        fit_shuffle(&f, (uint64_t)run);
        check_shuffle(&f);
    }
    printf("%d bins; best fit decreasing makes %d\n", (int)first, (int)best);
    CHECK(first * 1000 < best * 1001);
}

/* Lengths that have become wrong are packed, too, each once. */
static void wrong_lengths(void)
{
    static const uint32_t wrong[] = {0, 101, 202, 60000, 0xffffffff};
    unsigned char seen[MOST] = {0};
    uint32_t i;
    fit f;

    fit_init(&f, MOST, 100, words, numbers);
    for (i = 0; i < MOST; i++)
        f.lengths[i] = i % 3 ? wrong[i % 5] : bins_random_length(100);
    fit_bins(&f, MOST);
    CHECK(f.ends[f.bins] == MOST);
    for (i = 0; i < MOST; i++)
        CHECK(f.order[i] < MOST && seen[f.order[i]]++ == 0);
}

/* Each order of three bins comes as often. */
static void shuffles(void)
{
    uint32_t times[27] = {0}, run, order;
    fit f;

    fit_init(&f, 3, 1, words, numbers);
    for (run = 0; run < 6000; run++) {
        f.bins = 3;
        fit_shuffle(&f, run * 0x9e3779b97f4a7c15u);
        order = 9 * f.lengths[0] + 3 * f.lengths[1] + f.lengths[2];
        times[order]++;
    }
    for (order = 0; order < 27; order++)
        CHECK(times[order] == 0 || (times[order] > 850 && times[order] < 1150));
    CHECK(times[5] > 0 && times[7] > 0 && times[11] > 0 && times[15] > 0 &&
          times[19] > 0 && times[21] > 0);
}

int main(int argc, char **argv)
{
    fits(check_reduced(argc, argv) ? 300 : 3000);
    wrong_lengths();
    shuffles();
    return check_done("fit");
}

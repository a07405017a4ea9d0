/* bins.h - the bins of first fit decreasing by its definition, which takes
   quadratic time, for the tests of fit.h and pack.h. */
#ifndef STATESAMPLER_TESTS_BINS_H
#define STATESAMPLER_TESTS_BINS_H

#include "examples/extras/fit.h"

#include "../check.h"

enum { BINS_MOST = 600 }; /* lengths */

static int bins_longer(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x < y) - (x > y);
}

static inline void bins_sort(const uint32_t *lengths, uint32_t count,
                             uint32_t *sorted)
{
    memcpy(sorted, lengths, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, bins_longer);
}

/* Lengths, the longest first, go into the first bin that has room, or with
   `best` into the fullest of those. bin[i] gets the bin of the i-th longest.
   Returns the number of bins. */
static inline uint32_t bins_decreasing(const uint32_t *sorted, uint32_t count,
                                       uint32_t size, int best, uint32_t *bin)
{
    static uint32_t room[BINS_MOST];
    uint32_t i, b, found, bins = 0;

    for (i = 0; i < count; i++) {
        found = bins;
        for (b = 0; b < bins; b++)
            if (room[b] >= sorted[i] &&
                (found == bins || (best && room[b] < room[found])))
                found = b;
        if (found == bins)
            room[bins++] = size;
        room[found] -= sorted[i];
        bin[i] = found;
    }
    return bins;
}

static inline uint32_t bins_of_best_fit(const uint32_t *lengths, uint32_t count,
                                        uint32_t size)
{
    static uint32_t sorted[BINS_MOST], bin[BINS_MOST];

    bins_sort(lengths, count, sorted);
    return bins_decreasing(sorted, count, size, 1, bin);
}

static inline uint32_t bins_random_length(uint32_t size)
{
    uint32_t most = check_random(3) ? size : size / 8 + 1;

    return 1 + (uint32_t)(check_random(4) ? check_random(most)
                                          : check_random(size));
}

/* That f has the bins of the first `count` lengths. Returns how many. */
static inline uint32_t bins_check(const fit *f, const uint32_t *lengths,
                                  uint32_t count)
{
    static uint32_t sorted[BINS_MOST], bin[BINS_MOST];
    static unsigned char seen[BINS_MOST];
    uint32_t b, i, k, end;

    bins_sort(lengths, count, sorted);
    CHECK(f->bins == bins_decreasing(sorted, count, f->size, 0, bin));
    memset(seen, 0, sizeof seen);
    for (b = end = 0; b < f->bins; b++) {
        CHECK(f->ends[b] == end);
        for (i = 0; i < count; i++) {
            if (bin[i] != b)
                continue;
            k = f->order[end++];
            CHECK(k < count && lengths[k] == sorted[i] && seen[k]++ == 0);
        }
    }
    CHECK(f->ends[b] == end && end == count);
    return f->bins;
}

#endif

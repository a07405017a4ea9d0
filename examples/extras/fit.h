/* fit.h - packs lengths into bins of a size, by first fit decreasing: each bin
   takes the longest that is left and fits, until none does. Used by pack.h.

   Bag k has the numbers of lengths size - k. So a bin that is filled up to
   `used` takes from the first bag from `used` on that is not empty: found in
   longest / 4096 + 3 reads by a bit for each bag and each word of these. */
#ifndef FIT_H
#define FIT_H

#include <string.h>

STATESAMPLER_WRAP_BEGIN

/* The memory for so many lengths: of uint64_t, and of uint32_t. Of type size_t,
   without a cast that C++ warns of. */
#define FIT_WORDS(size) \
    ((size) / sizeof(char[64]) + (size) / sizeof(char[4096]) + 2)
#define FIT_NUMBERS(most, size) (sizeof(char[4]) * (most) + (size) + 2)

typedef struct fit {
    uint32_t size, bins;
    uint32_t first;    /* the bag of the longest; those before are empty */
    uint32_t *lengths; /* each 1 .. size; fit_bins overwrites them */
    uint32_t *order;   /* numbers of lengths, bin after bin */
    uint32_t *ends;    /* bin b is order[ends[b]] to order[ends[b + 1] - 1] */
    uint32_t *top;     /* of a bag */
    uint32_t *below;   /* of a number in its bag; of the last one, itself */
    uint64_t *bags, *words; /* all 0 between fit_bins but for the last bag */
} fit;

static inline void fit_mark(fit *f, uint32_t bag)
{
    f->bags[bag / 64] |= (uint64_t)1 << bag % 64;
    f->words[bag / 4096] |= (uint64_t)1 << bag / 64 % 64;
}

/* For up to `most` lengths, below 2^32 - 1 as `size` is, which is not 0. The
   last bag, of length 0, is always marked: it ends a bin. */
static inline void fit_init(fit *f, uint32_t most, uint32_t size,
                            uint64_t *words, uint32_t *numbers)
{
    f->size = size;
    f->first = 0; /* for who searches without fit_bins */
    f->lengths = numbers;
    f->order = f->lengths + most;
    f->below = f->order + most;
    f->ends = f->below + most;
    f->top = f->ends + most + 1;
    f->bags = words;
    f->words = words + size / 64 + 1;
    memset(words, 0, 8 * FIT_WORDS(size));
    fit_mark(f, size);
}

/* One of an array of uint16_t or uint32_t: of 2 or 4 bytes. */
static inline uint32_t fit_length(const void *lengths, uint32_t width,
                                  uint64_t number)
{
    if (width == 2)
        return ((const uint16_t *)lengths)[number];
    return ((const uint32_t *)lengths)[number];
}

/* The place of the lowest bit of a word that is not 0. */
static inline uint32_t fit_lowest(uint64_t word)
{
    uint32_t bit = 0;

#ifdef __GNUC__
    bit = (uint32_t)__builtin_ctzll(word);
#else
    while ((word >> bit & 1) == 0)
        bit++;
#endif
    return bit;
}

static inline void fit_put(fit *f, uint32_t bag, uint32_t number)
{
    if ((f->bags[bag / 64] >> bag % 64 & 1) != 0)
        f->below[number] = f->top[bag];
    else
        f->below[number] = number;
    f->top[bag] = number;
    fit_mark(f, bag);
}

static inline uint32_t fit_take(fit *f, uint32_t bag)
{
    uint32_t number = f->top[bag];

    f->top[bag] = f->below[number];
    if (f->top[bag] == number) { /* it was the last one */
        f->bags[bag / 64] &= ~((uint64_t)1 << bag % 64);
        if (f->bags[bag / 64] == 0)
            f->words[bag / 4096] &= ~((uint64_t)1 << bag / 64 % 64);
    }
    return number;
}

/* The first bag from this one on that is marked. */
static inline uint32_t fit_find(const fit *f, uint32_t bag)
{
    uint64_t bits;
    uint32_t word;

    if (bag < f->first)
        bag = f->first;
    bits = f->bags[bag / 64] >> bag % 64;
    if (bits != 0)
        return bag + fit_lowest(bits);
    /* The bag's own word has no more: so the next one that is not 0. */
    word = bag / 64 + 1;
    bits = f->words[word / 64] >> word % 64;
    while (bits == 0) { /* ends at the last bag's word */
        word += 64 - word % 64;
        bits = f->words[word / 64];
    }
    word += fit_lowest(bits);
    return 64 * word + fit_lowest(f->bags[word]);
}

/* Puts each length into its bag. */
static inline void fit_sort(fit *f, uint32_t count)
{
    uint32_t i, bag;

    f->first = f->size;
    for (i = 0; i < count; i++) {
        /* A wrong length, too, gets a bag that exists. */
        bag = (f->size - f->lengths[i]) % f->size;
        if (bag < f->first)
            f->first = bag;
        fit_put(f, bag, i);
    }
}

/* Fills a bin, whose first number becomes order[taken]. Returns how many
   lengths are taken then. */
static inline uint32_t fit_fill(fit *f, uint32_t taken)
{
    uint32_t used = 0, bag = fit_find(f, used);

    while (bag < f->size) { /* each turn takes a length */
        f->order[taken] = fit_take(f, bag);
        taken++;
        used += f->size - bag;
        bag = fit_find(f, used);
    }
    return taken;
}

/* Packs the first `count` lengths. */
static inline void fit_bins(fit *f, uint32_t count)
{
    uint32_t taken = 0;

    fit_sort(f, count);
    f->bins = 0;
    f->ends[0] = 0;
    while (taken < count) {
        taken = fit_fill(f, taken);
        f->bins++;
        f->ends[f->bins] = taken;
    }
}

/* Shuffles the bins: lengths[b] becomes the one in place b. */
static inline void fit_shuffle(fit *f, uint64_t random)
{
    uint32_t i, k;

    for (i = 0; i < f->bins; i++) { /* Knuth's generator for MMIX */
        random = random * 6364136223846793005u + 1442695040888963407u;
        k = (uint32_t)((random >> 32) * (i + 1) >> 32);
        f->lengths[i] = f->lengths[k];
        f->lengths[k] = i;
    }
}

/* The numbers of the lengths in the bin at a place, and how many. */
static inline const uint32_t *fit_bin(const fit *f, uint32_t place,
                                      size_t *count)
{
    const uint32_t *ends = f->ends + f->lengths[place];

    *count = ends[1] - ends[0];
    return f->order + ends[0];
}

STATESAMPLER_WRAP_END

#endif

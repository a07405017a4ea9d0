/* recipes.h - what the checks of recipes_*.c share.

   A recipe does not need it, except for train, which stands for your own. */
#ifndef RECIPES_H
#define RECIPES_H

#include "example.h"

#define SAMPLES 1003u
#define BATCH 4u
#define MOST 20000u

static unsigned served[MOST];
static uint64_t num_trained;
static int num_checks, good = 1;

/* Yours: trains on samples. */
static inline void train(const uint64_t *samples, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++) {
        served[samples[i]]++;
    }
    num_trained += count;
}

/* Forgets what was trained on. */
static inline void begin_counts(void)
{
    memset(served, 0, sizeof served);
    num_trained = 0;
}

/* Returns 1 if samples first .. last - 1 were served this often. */
static inline int each_served(uint64_t first, uint64_t last, unsigned times)
{
    for (; first < last; first++) {
        if (served[first] != times) {
            return 0;
        }
    }
    return 1;
}

/* Returns 1 if no two of the samples are the same. */
static inline int differ(const uint64_t *samples, size_t count)
{
    size_t i, j;

    for (i = 0; i < count; i++) {
        for (j = 0; j < i; j++) {
            if (samples[i] == samples[j]) {
                return 0;
            }
        }
    }
    return 1;
}

/* Prints whether a recipe does what is claimed. */
static inline void say(int so, const char *claim)
{
    printf("%-4s %s\n", so ? "ok" : "NOT", claim);
    good = good && so;
    num_checks++;
}

/* Prints the last line and returns the exit status. */
static inline int recipes_end(void)
{
    return example_end(good, "%d recipes do what they say", num_checks);
}

#endif

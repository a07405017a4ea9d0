/* quality.h - one run of the suite: who is looked at, where chance comes
   from, and the list of p-values. Each family of tests has its own file. */
#ifndef STATESAMPLER_QUALITY_H
#define STATESAMPLER_QUALITY_H

#include "shuffler.h"

typedef struct quality_result {
    const char *test;
    char detail[40];
    uint64_t n;
    double p;
    uint64_t master;
} quality_result;

typedef struct quality {
    const shuffler *who;
    void *state;
    void *beside;     /* state of a control that a test sets against it */
    generator random; /* every choice of a run, from its master seed */
    uint64_t master;
    double effort; /* 1 is the short run */
    int whole;     /* in the suite's own test: more than what tells enough */
    quality_result *results;
    size_t count, room;
} quality;

/* The header takes the same rounds for all n of a range. */
typedef struct quality_range {
    uint64_t first, last;
    uint32_t rounds;
} quality_range;

/* Adds a p-value; the detail as in printf. */
void quality_note(quality *q, const char *test, uint64_t n, double p,
                  const char *detail, ...);

/* Begins the permutation of n with a random seed, epoch and stream. */
void quality_begin(quality *q, uint64_t n);

/* Memory that the caller frees; ends the program where there is none. */
void *quality_claim(size_t count, size_t size);

/* few.c: small permutations over many keys; of the first, n is at most 8. */
void quality_permutations(quality *q, uint64_t n, uint64_t keys);
void quality_all_permutations(quality *q);
void quality_tables(quality *q);
void quality_mallows(quality *q);
void quality_statistics(quality *q);

/* epoch.c: inside one large permutation. */
void quality_epoch(quality *q, uint64_t n);

/* keys.c: between permutations, and samples of very large ones. */
void quality_relations(quality *q, uint64_t n, uint64_t keys, size_t positions);
void quality_related_pairs(quality *q, uint64_t keys);
void quality_flips(quality *q, uint64_t n);
void quality_large(quality *q, uint64_t n);

/* grid.c: what the structure of the network could leave behind. The numbers
   say how many positions are evaluated, about. */
void quality_grid(quality *q, uint64_t n, double evaluations);
void quality_uneven(quality *q, uint64_t n, double evaluations);
void quality_differences(quality *q, uint64_t n, size_t positions);
uint64_t quality_worst_size(uint64_t most);

#endif

/* test_distinct.c - are the indices of an epoch that nobody can list all
   different, and do ranks that never met share none of them?

   A million indices of epochs up to 2^62 samples go into one hash map, with
   the position that gave them. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "check.h"

/* Its macros say typeof, which gcc -std=c99 spells otherwise. */
#if defined(__GNUC__) && !defined(__cplusplus)
#define typeof __typeof__
#endif
/* Its hash shifts into the sign, which is not what this test asks about. */
#ifdef __clang__
#pragma clang attribute push(__attribute__((no_sanitize("undefined"))), \
                             apply_to = function)
#endif
#define STB_DS_IMPLEMENTATION
#include "stb_ds.h"
#ifdef __clang__
#pragma clang attribute pop
#endif

typedef struct entry {
    uint64_t key;   /* an index */
    uint64_t value; /* the rank that had it */
} entry;

static void check_epoch(uint64_t n, uint32_t order, uint32_t partition,
                        uint64_t steps)
{
    enum { ranks = 8, batch = 64 };
    entry *seen = NULL;
    uint64_t out[batch], step, far;
    uint32_t rank;
    size_t i;
    for (rank = 0; rank < ranks; rank++) {
        statesampler s;
        statesampler_desc d;
        memset(&d, 0, sizeof d);
        d.num_samples = n;
        d.seed = 3;
        d.rank = rank;
        d.world_size = ranks;
        d.batch_size = batch;
        d.order = order;
        d.partition = partition;
        d.chunk_size = 1000;
        d.window = 50;
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
        /* Steps far apart, so that they come from the whole epoch. */
        far = statesampler_num_steps(&s) / steps;
        for (step = 0; step < steps; step++) {
            CHECK(statesampler_at(&s, step * far, out) == batch);
            for (i = 0; i < batch; i++) {
                CHECK(out[i] < n);
                CHECK(hmgeti(seen, out[i]) < 0);
                hmput(seen, out[i], rank);
            }
        }
    }
    CHECK((uint64_t)hmlen(seen) == ranks * batch * steps);
    hmfree(seen);
}

int main(int argc, char **argv)
{
    static const uint64_t sizes[] = {30, 33, 40, 53, 61, 62};
    uint64_t steps = check_reduced(argc, argv) ? 10 : 300;
    uint32_t partition;
    size_t i;
    for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (partition = 0; partition < 2; partition++) {
            uint64_t n = ((uint64_t)1 << sizes[i]) - i;
            check_epoch(n, STATESAMPLER_SHUFFLE, partition, steps);
            check_epoch(n, STATESAMPLER_WINDOW, partition, steps);
        }
    return check_done("test_distinct");
}

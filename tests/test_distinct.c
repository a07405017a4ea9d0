/* test_distinct.c - are the indices of an epoch that nobody can list all
   different, and do ranks that never met share none of them?

   Half a million indices from all over epochs of up to 2^62 samples, sorted. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "check.h"
#include "must.h"

#include "stb_ds.h"

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void check_epoch(uint64_t n, uint32_t order, uint32_t partition,
                        uint64_t steps)
{
    enum { ranks = 8, batch = 64 };
    uint64_t *seen = NULL, out[batch], step, far;
    uint32_t rank;
    size_t i, count;
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
        far = statesampler_num_steps(&s) / steps;
        for (step = 0; step < steps; step++) {
            CHECK(must_at(&s, step * far, out) == batch);
            for (i = 0; i < batch; i++)
                arrput(seen, out[i]);
        }
    }
    count = arrlenu(seen);
    CHECK(count == ranks * batch * steps);
    qsort(seen, count, sizeof seen[0], by_value);
    for (i = 1; i < count; i++)
        CHECK(seen[i - 1] < seen[i]);
    CHECK(seen[count - 1] < n);
    arrfree(seen);
}

int main(int argc, char **argv)
{
    static const uint64_t bits[] = {30, 33, 40, 53, 61, 62};
    uint64_t steps = check_reduced(argc, argv) ? 30 : 400;
    uint32_t partition;
    size_t i;
    for (i = 0; i < sizeof bits / sizeof bits[0]; i++)
        for (partition = 0; partition < 2; partition++) {
            uint64_t n = ((uint64_t)1 << bits[i]) - i;
            check_epoch(n, STATESAMPLER_ORDER_SHUFFLE, partition, steps);
            check_epoch(n, STATESAMPLER_ORDER_WINDOW, partition, steps);
        }
    return check_done("test_distinct");
}

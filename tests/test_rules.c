/* test_rules.c - are the rules of the samplers people come from kept?

   Each rule is written out here as its library states it, over whole lists,
   and shares no formula with the header:
   - torch's DistributedSampler and BatchSampler,
   - VISSL's stateful sampler with its truncation and start_iter,
   - the Hugging Face forum's ranges, where they are even,
   - detectron2's endless stream, which CARRY is.
   Permutations differ from theirs, so a shuffled rule is applied to ours. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "check.h"
#include "must.h"

#define MOST 2048

static statesampler_desc describe(uint64_t n, uint32_t world, uint32_t rank,
                                  uint32_t batch)
{
    statesampler_desc d;
    memset(&d, 0, sizeof d);
    d.num_samples = n;
    d.seed = 2026;
    d.epoch = 4;
    d.stream = 1;
    d.world_size = world;
    d.rank = rank;
    d.batch_size = batch;
    d.chunk_size = 5;
    d.window = 2;
    return d;
}

/* The order of a whole dataset: one rank, one sample at a time, no tail. */
static void whole_order(const statesampler_desc *like, uint64_t epoch,
                        uint64_t *list)
{
    statesampler s;
    statesampler_desc d = *like;
    uint64_t i;
    d.world_size = 1;
    d.rank = 0;
    d.batch_size = 1;
    d.tail = STATESAMPLER_TAIL_UNEVEN;
    d.drop_last = 0;
    d.epoch = epoch;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    for (i = 0; i < d.num_samples; i++)
        CHECK(must_next(&s, &list[i]) == 1);
    must_end(&s);
}

/* torch.utils.data.DistributedSampler: pads with the list's own beginning as
   often as needed, or cuts, then takes every W-th from the rank's own. */
static size_t torch_list(const uint64_t *perm, size_t n, size_t world,
                         size_t rank, int drop_last, uint64_t *mine)
{
    size_t num_samples, total_size, i, count = 0;
    if (drop_last && n % world != 0)
        /* ceil((n - W) / W), whose numerator may be negative. */
        num_samples = n < world ? 0 : (n - world + world - 1) / world;
    else
        num_samples = (n + world - 1) / world;
    total_size = num_samples * world;
    for (i = rank; i < total_size; i += world)
        mine[count++] = i < n ? perm[i] : perm[i % n];
    CHECK(count == num_samples);
    return count;
}

/* torch.utils.data.BatchSampler over a list, against next, at, seek and the
   counts of batches and of samples. */
static void check_batches(statesampler *s, const uint64_t *mine, size_t count,
                          size_t batch, int drop_last)
{
    uint64_t out[MOST], again[MOST];
    size_t batches = drop_last ? count / batch : (count + batch - 1) / batch;
    size_t b;
    uint64_t epoch = statesampler_epoch(s);
    statesampler_counts counts;
    CHECK(statesampler_num_steps(s) == batches);
    statesampler_get_counts(s, &counts);
    CHECK(counts.steps == batches);
    CHECK(counts.rank_batches == batches);
    CHECK(counts.rank_samples == (drop_last ? batches * batch : count));
    for (b = 0; b < batches; b++) {
        size_t size = count - b * batch < batch ? count - b * batch : batch;
        CHECK(must_at(s, b, again) == size);
        CHECK(memcmp(again, mine + b * batch, size * sizeof again[0]) == 0);
        CHECK(statesampler_step(s) == b);
        CHECK(must_next(s, out) == size);
        CHECK(memcmp(out, mine + b * batch, size * sizeof out[0]) == 0);
    }
    CHECK(must_miss(s, batches) == 0);
    must_end(s);
    CHECK(statesampler_epoch(s) == epoch + 1);
    CHECK(statesampler_step(s) == 0);
}

/* DistributedSampler's drop_last is our tail DROP, BatchSampler's is ours. */
static void check_torch(uint64_t n, uint32_t world, uint32_t batch,
                        uint32_t order, uint32_t tail, uint32_t drop_last)
{
    static uint64_t perm[MOST], mine[MOST];
    uint32_t rank;
    unsigned epochs;
    for (rank = 0; rank < world; rank++) {
        statesampler s;
        statesampler_desc d = describe(n, world, rank, batch);
        uint64_t total, served, real_here = 0, b;
        statesampler_counts counts;
        size_t count, i;
        d.order = order;
        d.tail = tail;
        d.drop_last = drop_last;
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);

        total = tail == STATESAMPLER_TAIL_DROP ? n / world
                                               : (n + world - 1) / world;
        served = drop_last ? total / batch * batch : total;
        served *= world;
        total *= world;
        statesampler_get_counts(&s, &counts);
        CHECK(counts.positions == served);
        CHECK(counts.padded == (served > n ? served - n : 0));
        CHECK(counts.dropped == (n > served ? n - served : 0));
        for (i = rank; i < served; i += world)
            real_here += i < n;
        for (b = 0; b < counts.steps; b++)
            real_here += statesampler_padding(&s, b);
        CHECK(real_here == counts.rank_samples);

        for (epochs = 0; epochs < 2; epochs++) {
            whole_order(&d, d.epoch + epochs, perm);
            CHECK(order != STATESAMPLER_ORDER_SEQUENTIAL || n == 0 ||
                  (perm[0] == 0 && perm[n - 1] == n - 1));
            count = torch_list(perm, (size_t)n, world, rank,
                               tail == STATESAMPLER_TAIL_DROP, mine);
            check_batches(&s, mine, count, batch, drop_last != 0);
        }
    }
}

/* The table people know: three ranks, 25 samples, batches of four, samples
   numbered from 1. */
static void check_table(void)
{
    static const uint64_t table[3][9] = {
        {1, 4, 7, 10, 13, 16, 19, 22, 25},
        {2, 5, 8, 11, 14, 17, 20, 23, 1},
        {3, 6, 9, 12, 15, 18, 21, 24, 2},
    };
    uint32_t rank;
    for (rank = 0; rank < 3; rank++) {
        statesampler s;
        statesampler_desc d = describe(25, 3, rank, 4);
        uint64_t out[4];
        size_t count, i, done = 0, batches = 0;
        d.order = STATESAMPLER_ORDER_SEQUENTIAL;
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
        while (statesampler_next(&s, out, &count)) {
            CHECK(count == (batches == 2 ? 1 : 4));
            for (i = 0; i < count; i++)
                CHECK(out[i] + 1 == table[rank][done + i]);
            done += count;
            batches++;
        }
        CHECK(done == 9 && batches == 3);
        CHECK(statesampler_padding(&s, 2) == (rank > 0));
    }
}

/* VISSL's StatefulDistributedSampler: total_size = n - n % W, the rank's
   block of it, one permutation of the block, start_iter batches skipped. */
static void check_vissl(uint64_t n, uint32_t world, uint32_t batch,
                        uint32_t order, uint32_t drop_last)
{
    uint64_t total_size = n - n % world, m = total_size / world;
    static uint64_t mine[MOST], out[MOST];
    static unsigned char seen[MOST];
    uint32_t rank;
    for (rank = 0; rank < world; rank++) {
        statesampler fresh, s;
        statesampler_desc d = describe(n, world, rank, batch);
        uint64_t i, start_iter, steps;
        size_t count, done = 0;
        d.order = order;
        d.partition = STATESAMPLER_PARTITION_BLOCKED;
        d.tail = STATESAMPLER_TAIL_DROP;
        d.drop_last = drop_last;
        CHECK(statesampler_init(&fresh, &d) == STATESAMPLER_OK);
        memcpy(&s, &fresh, sizeof s);

        /* The rank's list is its block: in sequence, or a permutation. */
        d.drop_last = 0;
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
        memset(seen, 0, sizeof seen);
        while (statesampler_next(&s, out, &count))
            for (i = 0; i < count; i++) {
                CHECK(out[i] >= rank * m && out[i] < (rank + 1) * m);
                CHECK(!seen[out[i]]);
                seen[out[i]] = 1;
                CHECK(order != STATESAMPLER_ORDER_SEQUENTIAL ||
                      out[i] == rank * m + done);
                CHECK(done < m);
                mine[done++] = out[i];
            }
        CHECK(done == m);

        steps = drop_last ? m / batch : (m + batch - 1) / batch;
        CHECK(statesampler_num_steps(&fresh) == steps);
        for (start_iter = 0; start_iter <= steps; start_iter++) {
            size_t at = (size_t)(start_iter * batch);
            uint64_t step = start_iter;
            memcpy(&s, &fresh, sizeof s);
            CHECK(statesampler_seek(&s, start_iter) == STATESAMPLER_OK);
            while (step < steps) {
                size_t left = (size_t)m - at;
                count = must_next(&s, out);
                CHECK(count == (left < batch ? left : batch));
                CHECK(memcmp(out, mine + at, count * sizeof out[0]) == 0);
                at += count;
                step++;
            }
            must_end(&s);
        }
        CHECK(statesampler_seek(&s, steps + 1) == STATESAMPLER_ERANGE_END);
    }
}

/* The forum's DistributedRoundRobinBatchSampler gives rank r of a dataset of
   L the range [min(r * s, L), min((r + 1) * s, L)) with s = ceil(L / W). Where
   W divides L that is a block for each, with every tail. */
static void check_forum(uint64_t length, uint32_t world, uint32_t batch,
                        uint32_t order, uint32_t tail)
{
    uint64_t s_len = (length + world - 1) / world;
    static uint64_t out[MOST];
    static unsigned char seen[MOST];
    uint32_t rank;
    for (rank = 0; rank < world; rank++) {
        statesampler s;
        statesampler_desc d = describe(length, world, rank, batch);
        uint64_t first = rank * s_len, last = (rank + 1) * s_len, done = 0;
        size_t count, i;
        if (first > length)
            first = length;
        if (last > length)
            last = length;
        d.order = order;
        d.partition = STATESAMPLER_PARTITION_BLOCKED;
        d.tail = tail;
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
        memset(seen, 0, sizeof seen);
        while (statesampler_next(&s, out, &count)) {
            uint64_t left = last - first - done;
            CHECK(count == (left < batch ? left : batch));
            for (i = 0; i < count; i++) {
                CHECK(out[i] >= first && out[i] < last);
                CHECK(order != STATESAMPLER_ORDER_SEQUENTIAL ||
                      out[i] == first + done + i);
                CHECK(!seen[out[i]]);
                seen[out[i]] = 1;
            }
            done += count;
        }
        CHECK(done == last - first);
    }
}

/* detectron2's TrainingSampler: rank r takes every W-th of perm_0, perm_1,
   ... one after the other, in batches, with no end. */
static void check_stream(uint64_t n, uint32_t world, uint32_t batch,
                         uint32_t order)
{
    enum { EPOCHS = 6 };
    static uint64_t stream[MOST * EPOCHS], out[MOST];
    uint32_t rank;
    unsigned e;
    statesampler_desc d = describe(n, world, 0, batch);
    d.order = order;
    for (e = 0; e < EPOCHS; e++)
        whole_order(&d, d.epoch + e, stream + e * n);
    for (rank = 0; rank < world; rank++) {
        statesampler s;
        uint64_t step, global = (uint64_t)world * batch;
        d = describe(n, world, rank, batch);
        d.order = order;
        d.tail = STATESAMPLER_TAIL_CARRY;
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
        CHECK(statesampler_num_steps(&s) == STATESAMPLER_NONE);
        for (step = 0; (step + 1) * global <= n * EPOCHS; step++) {
            size_t j;
            CHECK(statesampler_epoch(&s) == d.epoch + step * global / n);
            CHECK(statesampler_position(&s) == step * global % n);
            CHECK(statesampler_padding(&s, step) == 0);
            CHECK(must_next(&s, out) == batch);
            for (j = 0; j < batch; j++)
                CHECK(out[j] == stream[step * global + j * world + rank]);
        }
    }
}

int main(int argc, char **argv)
{
    int reduced = check_reduced(argc, argv);
    uint64_t n, small = reduced ? 14 : 30;
    uint32_t world, batch, order, tail, drop_last, most = reduced ? 5 : 9;
    unsigned k;
    check_table();
    for (n = 0; n <= small; n++)
        for (world = 1; world <= most; world++)
            for (batch = 1; batch <= 6; batch++)
                for (order = 0; order < ORDERS; order++) {
                    int permutes = order != STATESAMPLER_ORDER_REPLACEMENT;
                    for (drop_last = 0; drop_last < 2; drop_last++) {
                        check_torch(n, world, batch, order,
                                    STATESAMPLER_TAIL_PAD, drop_last);
                        check_torch(n, world, batch, order,
                                    STATESAMPLER_TAIL_DROP, drop_last);
                        if (permutes)
                            check_vissl(n, world, batch, order, drop_last);
                    }
                    if (permutes && n % world == 0)
                        for (tail = 0; tail < STATESAMPLER_TAIL_CARRY; tail++)
                            check_forum(n, world, batch, order, tail);
                    if (n > 0)
                        check_stream(n, world, batch, order);
                }
    /* Fewer samples than ranks, where the padding goes round many times. */
    for (n = 1; n < 4; n++)
        for (world = 10; world < 40; world += 7)
            for (order = 0; order < 2; order++) {
                check_torch(n, world, 3, order, STATESAMPLER_TAIL_PAD, 0);
                check_torch(n, world, 1, order, STATESAMPLER_TAIL_PAD, 1);
                check_torch(n, world, 1, order, STATESAMPLER_TAIL_DROP, 0);
                check_vissl(n, world, 2, order, 0);
                check_stream(n, world, 3, order);
            }
    for (k = 0; k < (reduced ? 20u : 250u); k++) {
        n = check_random(400);
        world = (uint32_t)check_random(17) + 1;
        batch = (uint32_t)check_random(40) + 1;
        order = (uint32_t)check_random(3);
        drop_last = (uint32_t)check_random(2);
        check_torch(n, world, batch, order, STATESAMPLER_TAIL_PAD, drop_last);
        check_torch(n, world, batch, order, STATESAMPLER_TAIL_DROP, drop_last);
        check_vissl(n, world, batch, order, drop_last);
        check_forum(n - n % world, world, batch, order, STATESAMPLER_TAIL_PAD);
        if (n > 0)
            check_stream(n, world, batch, order);
    }
    return check_done("test_rules");
}

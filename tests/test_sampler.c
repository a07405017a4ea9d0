/* Is every sample served exactly once, as the design says, by every rank,
   for all small shapes, and is the arithmetic right for the largest? */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "check.h"
#include "must.h"
#include "model.h"

static const uint64_t two62 = (uint64_t)1 << 62;

/* Every sample as often as the tail rule allows: `seen` is what was served
   in one epoch by a fresh shape, `total` its sum. */
static void check_seen(const statesampler_desc *d, const unsigned *seen,
                       uint64_t total)
{
    uint64_t i, n = d->num_samples, world = d->world_size;
    uint64_t group = world * d->batch_size, doubled = 0, missing = 0;
    if (d->order != STATESAMPLER_ORDER_REPLACEMENT)
        for (i = 0; i < n; i++) {
            missing += seen[i] == 0;
            doubled += seen[i] > 1 ? seen[i] - 1 : 0;
        }
    else if (total < n)
        missing = n - total;
    else
        doubled = total - n;
    CHECK(total == n + doubled - missing);
    if (d->tail == STATESAMPLER_TAIL_PAD)
        CHECK(doubled < world && total % world == 0);
    else
        CHECK(doubled == 0);
    if (d->drop_last)
        CHECK(total % group == 0);
    if (d->tail == STATESAMPLER_TAIL_DROP)
        CHECK(missing < world + (d->drop_last ? group : 0));
    else
        CHECK(missing < (d->drop_last ? group : 1));
}

/* Runs all ranks through some epochs, beside the model. */
static void run_case(const statesampler_desc *given, int epochs)
{
    static model m;
    static statesampler s[MODEL_RANKS];
    static unsigned seen[MODEL_MAX];
    uint64_t out[MODEL_BATCH], want[MODEL_BATCH], padding, total;
    uint32_t r, world;
    int e;
    model_init(&m, given);
    world = m.desc.world_size;
    for (r = 0; r < world; r++) {
        statesampler_desc d = *given;
        d.rank = r;
        CHECK(statesampler_init(&s[r], &d) == STATESAMPLER_OK);
    }
    for (e = 0; e < epochs; e++) {
        uint64_t i;
        size_t count, got;
        for (i = 0; i < given->num_samples; i++)
            seen[i] = 0;
        total = 0;
        for (r = 0; r < world; r++)
            model_compare_steps(&m, &s[r], r);
        model_compare_places(&m, &s[0]);
        while (m.step < m.steps) {
            for (r = 0; r < world; r++) {
                int blind = e % 2 == 1 && (m.step + r) % 3 != 0;
                model_compare(&m, &s[r], r);
                count = model_batch(&m, m.step, r, want, &padding);
                got = must_next(&s[r], blind ? NULL : out);
                CHECK(got == count);
                CHECK(blind || model_same(want, out, count));
                /* No sample for this rank: in the last step at most. */
                CHECK(count > 0 || (m.desc.tail == STATESAMPLER_TAIL_UNEVEN &&
                                    m.step + 1 == m.steps));
                for (i = 0; i < count; i++)
                    seen[want[i]]++;
                total += count;
            }
            model_seek(&m, m.step + 1);
        }
        check_seen(&m.desc, seen, total);
        for (r = 0; r < world; r++) {
            model_compare(&m, &s[r], r);
            must_end(&s[r]);
        }
        model_begin(&m, m.epoch + 1);
        for (r = 0; r < world; r++)
            model_compare(&m, &s[r], r);
    }
    model_finish();
}

/* CARRY: the stream, as served, falls into epochs of which each has every
   sample once. */
static void run_carry(const statesampler_desc *given, int epochs)
{
    static model m;
    static statesampler s[MODEL_RANKS];
    static uint64_t stream[MODEL_MAX];
    static unsigned seen[MODEL_MAX];
    uint64_t n = given->num_samples, i;
    uint64_t out[MODEL_RANKS][MODEL_BATCH], want[MODEL_BATCH], padding;
    uint32_t r, slot, world, batch;
    size_t length = 0, k;
    int e;
    model_init(&m, given);
    world = m.desc.world_size;
    batch = m.desc.batch_size;
    for (r = 0; r < world; r++) {
        statesampler_desc d = *given;
        d.rank = r;
        CHECK(statesampler_init(&s[r], &d) == STATESAMPLER_OK);
        model_compare_steps(&m, &s[r], r);
    }
    while (length < n * (uint64_t)epochs || m.step < 3) {
        for (r = 0; r < world; r++) {
            model_compare(&m, &s[r], r);
            CHECK(model_batch(&m, m.step, r, want, &padding) == batch);
            if ((m.step + r) % 4 == 3)
                CHECK(must_at(&s[r], m.step, out[r]) == batch &&
                      must_next(&s[r], NULL) == batch);
            else
                CHECK(must_next(&s[r], out[r]) == batch);
            CHECK(model_same(want, out[r], batch));
        }
        for (slot = 0; slot < batch; slot++)
            for (r = 0; r < world; r++) {
                CHECK(length < MODEL_MAX);
                stream[length++] = out[r][slot];
            }
        model_seek(&m, m.step + 1);
        model_compare_places(&m, &s[0]);
    }
    for (r = 0; r < world; r++)
        model_compare_steps(&m, &s[r], r);
    k = 0;
    for (e = 0; e < epochs; e++) {
        for (i = 0; i < n; i++)
            seen[i] = 0;
        for (i = 0; i < n; i++)
            seen[stream[k++]]++;
        if (given->order != STATESAMPLER_ORDER_REPLACEMENT)
            for (i = 0; i < n; i++)
                CHECK(seen[i] == 1);
    }
    model_finish();
}

static void run_any(const statesampler_desc *d, int epochs)
{
    if (!model_makes_sense(d)) {
        statesampler s;
        CHECK_KIND(statesampler_init(&s, d), STATESAMPLER_EINVAL);
    } else if (d->tail == STATESAMPLER_TAIL_CARRY) {
        run_carry(d, epochs);
    } else {
        run_case(d, epochs);
    }
}

static void test_small(int reduced)
{
    static const uint64_t some[] = {0, 1, 2, 3, 5, 8, 11};
    uint64_t n;
    uint32_t w, b, partition, tail, drop_last;
    int o;
    for (n = 0; n <= 12; n++)
        for (w = 1; w <= 5; w++)
            for (b = 1; b <= 4; b++)
                for (o = 0; o < MODEL_ORDERS; o++)
                    for (partition = 0; partition < 2; partition++)
                        for (tail = 0; tail < TAILS; tail++)
                            for (drop_last = 0; drop_last < 2; drop_last++) {
                                statesampler_desc d = model_desc(n, w, b);
                                if (reduced) {
                                    if (n >= sizeof some / sizeof some[0] ||
                                        w == 4 || b == 3 ||
                                        (o > 2 &&
                                         ((uint32_t)o + n + w + b) % 3))
                                        continue;
                                    d.num_samples = some[n];
                                }
                                model_set_order(&d, o);
                                d.partition = partition;
                                d.tail = tail;
                                d.drop_last = drop_last;
                                /* The second epoch wraps around to 0. */
                                d.epoch = UINT64_MAX;
                                run_any(&d, reduced ? 2 : 3);
                            }
}

static void test_larger(int cases)
{
    int i;
    for (i = 0; i < cases; i++) {
        statesampler_desc d = model_random_desc(129, 9, 9);
        model_set_order(&d, (int)check_random(MODEL_ORDERS));
        if (d.order == STATESAMPLER_ORDER_WINDOW) {
            d.chunk_size = 1 + check_random(20);
            d.window = 1 + check_random(6);
        }
        d.partition = (uint32_t)check_random(2);
        d.tail = (uint32_t)check_random(TAILS);
        d.drop_last = (uint32_t)check_random(2);
        d.seed = check_random((uint64_t)1 << 50);
        d.stream = check_random(3);
        d.epoch = check_random(5);
        run_any(&d, 2);
    }
}

/* The tables that the model takes from plain samplers: a bijection onto the
   block, and for WINDOW whole chunks in every window, the short one in the
   last. */
static void check_structure(const statesampler_desc *d, uint64_t epoch,
                            uint32_t blocks)
{
    static model_table t;
    static unsigned seen[MODEL_MAX];
    uint32_t b;
    model_fill_table(&t, d, epoch, blocks);
    for (b = 0; b < t.blocks; b++) {
        size_t size = t.size[b], k, p, first, segment, other;
        for (k = 0; k < size; k++)
            seen[k] = 0;
        for (k = 0; k < size; k++) {
            CHECK(t.sample[b][k] >= t.start[b]);
            CHECK(t.sample[b][k] - t.start[b] < size);
            seen[t.sample[b][k] - t.start[b]]++;
        }
        if (d->order != STATESAMPLER_ORDER_REPLACEMENT)
            for (k = 0; k < size; k++)
                CHECK(seen[k] == 1);
        if (d->order != STATESAMPLER_ORDER_WINDOW)
            continue;
        segment = (size_t)(d->chunk_size * d->window);
        for (first = 0; first < size; first += segment) {
            size_t end = first + segment < size ? first + segment : size;
            uint64_t distinct = 0;
            for (k = 0; k < size; k++)
                seen[k] = 0;
            for (p = first; p < end; p++)
                seen[(t.sample[b][p] - t.start[b]) / d->chunk_size]++;
            for (k = 0; k * d->chunk_size < size; k++) {
                size_t chunk = (size_t)d->chunk_size;
                if (seen[k] == 0)
                    continue;
                distinct++;
                other = size - k * chunk;
                CHECK(seen[k] == (other < chunk ? other : chunk));
                /* A chunk that is short is in the window that ends here. */
                CHECK(other >= chunk || end == size);
            }
            CHECK(distinct <= d->window);
        }
    }
}

static void test_structure(int reduced)
{
    uint64_t n;
    uint32_t p, partition, tail, epoch;
    int o;
    for (n = 0; n <= (reduced ? 14u : 40u); n++)
        for (o = 0; o < MODEL_ORDERS; o++)
            for (partition = 0; partition < 2; partition++)
                for (tail = 0; tail < 3; tail++)
                    for (p = 1; p <= (partition ? 6u : 1u); p++)
                        for (epoch = 0; epoch < 3; epoch++) {
                            statesampler_desc d = model_desc(n, p, 1);
                            model_set_order(&d, o);
                            d.partition = partition;
                            d.tail = tail;
                            check_structure(&d, epoch, p);
                        }
}

/* How many of the first places of two runs serve the same sample. */
static unsigned same_places(const statesampler_desc *a, uint64_t epoch_a,
                            const statesampler_desc *b, uint64_t epoch_b,
                            uint32_t block_a, uint32_t block_b, size_t count)
{
    static model_table x, y;
    unsigned same = 0;
    size_t k;
    model_fill_table(&x, a, epoch_a, a->world_size);
    model_fill_table(&y, b, epoch_b, b->world_size);
    for (k = 0; k < count; k++)
        same += x.sample[block_a][k] - x.start[block_a] ==
                y.sample[block_b][k] - y.start[block_b];
    return same;
}

/* Two random orders agree in one place on average; in a quarter of 60
   places or more never, and in all of them if a key is not used. */
static void test_orders_differ(void)
{
    int o, blocked;
    uint32_t seen = 0;
    for (o = 0; o < MODEL_ORDERS; o++)
        for (blocked = 0; blocked < 2; blocked++) {
            statesampler_desc d = model_desc(120, 2, 1), other;
            unsigned most;
            model_set_order(&d, o);
            seen |= (uint32_t)1 << d.order;
            d.partition = blocked ? STATESAMPLER_PARTITION_BLOCKED
                                  : STATESAMPLER_PARTITION_INTERLEAVED;
            if (d.order == STATESAMPLER_ORDER_SEQUENTIAL)
                continue;
            most = 15;
            if (d.order == STATESAMPLER_ORDER_WINDOW)
                most = 40; /* few chunks have few orders */
            other = d;
            CHECK(same_places(&d, 4, &d, 4, 0, 0, 60) == 60);
            CHECK(same_places(&d, 4, &d, 5, 0, 0, 60) < most);
            other.seed++;
            CHECK(same_places(&d, 4, &other, 4, 0, 0, 60) < most);
            CHECK(same_places(&d, 5, &other, 4, 0, 0, 60) < most);
            other = d;
            other.stream++;
            CHECK(same_places(&d, 4, &other, 4, 0, 0, 60) < most);
            if (blocked)
                CHECK(same_places(&d, 4, &d, 4, 0, 1, 60) < most);
        }
    CHECK(seen == ((uint32_t)1 << ORDERS) - 1);
}

/* The first of two blocks has the order of one that is alone: with BLOCKED a
   whole dataset is a block, too. */
static void test_single_block(void)
{
    statesampler two, alone;
    statesampler_desc d = model_desc(40, 2, 20);
    uint64_t first[20], all[20];
    d.partition = STATESAMPLER_PARTITION_BLOCKED;
    CHECK(statesampler_init(&two, &d) == STATESAMPLER_OK);
    d.num_samples = 20;
    d.world_size = 1;
    CHECK(statesampler_init(&alone, &d) == STATESAMPLER_OK);
    CHECK(must_next(&two, first) == 20 && must_next(&alone, all) == 20);
    CHECK(model_same(first, all, 20));
}

/* WINDOW must move chunks as well as the samples of a window. Chunks of 10
   of 100 samples: with windows of one chunk the order of chunks shows by
   itself, and so does the order inside each. */
static void test_window_moves(void)
{
    static model_table t;
    statesampler_desc d = model_desc(100, 1, 1);
    unsigned chunks_moved = 0, samples_moved = 0, windows_alike = 0;
    size_t k;
    d.order = STATESAMPLER_ORDER_WINDOW;
    d.chunk_size = 10;
    d.window = 1;
    model_fill_table(&t, &d, 0, 1);
    for (k = 0; k < 100; k++) {
        chunks_moved += t.sample[0][k] / 10 != k / 10;
        samples_moved += t.sample[0][k] % 10 != k % 10;
        windows_alike +=
            k >= 10 && t.sample[0][k] % 10 == t.sample[0][k - 10] % 10;
    }
    CHECK(chunks_moved >= 40);
    CHECK(samples_moved >= 60);
    CHECK(windows_alike <= 45);
    /* A window of all chunks mixes them: neighbours are of other chunks. */
    d.window = 10;
    model_fill_table(&t, &d, 0, 1);
    chunks_moved = 0;
    for (k = 1; k < 100; k++)
        chunks_moved += t.sample[0][k] / 10 != t.sample[0][k - 1] / 10;
    CHECK(chunks_moved >= 60);
}

/* Draws with replacement: every sample as often as every other, and a place
   that does not depend on how it is reached. */
static void test_replacement(void)
{
    unsigned count[7] = {0}, seen[100] = {0}, distinct = 0;
    statesampler_desc d = model_desc(7, 1, 1);
    statesampler s;
    uint64_t x;
    size_t samples;
    int i, repeats = 0;
    d.order = STATESAMPLER_ORDER_REPLACEMENT;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    for (i = 0; i < 8 * 3000; i++)
        if (statesampler_next(&s, &x, &samples)) {
            CHECK(samples == 1 && x < 7);
            count[x]++;
        } else {
            repeats++;
        }
    CHECK(repeats == 3000);
    /* 3000 expected each, standard deviation 51: five of these. */
    for (i = 0; i < 7; i++)
        CHECK(count[i] > 2745 && count[i] < 3255);
    /* In one epoch of 100 some 63 different ones, standard deviation 3. */
    d.num_samples = 100;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    while (statesampler_next(&s, &x, &samples))
        distinct += seen[x]++ == 0;
    CHECK(distinct > 48 && distinct < 78);
}

/* As long as W * B stays, a step holds the same samples in the same order
   of positions whatever W is. */
static void test_global_batch(void)
{
    static const uint32_t shapes[][2] = {
        {1, 12}, {2, 6}, {3, 4}, {4, 3}, {6, 2}, {12, 1},
    };
    uint64_t n, t, reference[12], out[12], flat[12];
    uint32_t tail;
    size_t i;
    int o;
    for (n = 1; n <= 50; n += 7)
        for (o = 0; o < MODEL_ORDERS; o++)
            for (tail = 0; tail < TAILS; tail++)
                for (t = 0; t < 4; t++) {
                    size_t full = 0, length, k;
                    for (i = 0; i < 6; i++) {
                        uint32_t w = shapes[i][0], r, slot;
                        statesampler_desc d = model_desc(n, w, shapes[i][1]);
                        model_set_order(&d, o);
                        d.tail = tail;
                        length = 0;
                        for (k = 0; k < 12; k++)
                            flat[k] = STATESAMPLER_NONE;
                        for (r = 0; r < w; r++) {
                            statesampler s;
                            size_t count;
                            d.rank = r;
                            CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
                            statesampler_at(&s, t, out, &count);
                            length += count;
                            for (slot = 0; slot < count; slot++)
                                flat[slot * w + r] = out[slot];
                        }
                        if (i == 0) {
                            full = length;
                            for (k = 0; k < 12; k++)
                                reference[k] = flat[k];
                        }
                        /* The tail depends on W, what is before it not. */
                        if (tail == STATESAMPLER_TAIL_DROP)
                            CHECK(length <= full);
                        else
                            CHECK(length >= full);
                        for (k = 0; k < length && k < full; k++)
                            CHECK(flat[k] == reference[k]);
                    }
                }
}

static void test_copies(void)
{
    uint32_t tail;
    for (tail = 0; tail < TAILS; tail++) {
        statesampler_desc d = model_desc(23, 2, 3);
        statesampler s, copy, kept;
        uint64_t a[3], b[3];
        int i;
        d.tail = tail;
        d.rank = 1;
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
        CHECK(must_next(&s, NULL) == 3);
        copy = s;
        kept = s;
        for (i = 0; i < 9; i++)
            statesampler_next(&copy, NULL, NULL);
        CHECK(model_same_state(&s, &kept));
        CHECK(!model_same_state(&s, &copy));
        CHECK(must_next(&s, a) == 3);
        CHECK(must_next(&kept, b) == 3);
        CHECK(model_same(a, b, 3));
    }
}

/* Whatever was in the memory before, even numbers that a sampler has. */
static void test_any_memory(void)
{
    statesampler s, clean;
    uint64_t n, words[5], x, y;
    size_t k, at, count;
    int o, more;
    for (n = 1; n < 40; n += 3)
        for (o = 0; o < MODEL_ORDERS; o++)
            for (k = 0; k < 5; k++) {
                statesampler_desc d = model_desc(n, 1, 1);
                model_set_order(&d, o);
                d.epoch = 1;
                words[0] = n;
                words[1] = n << 32 | n;
                words[2] = 1;
                words[3] = (uint64_t)1 << 32;
                words[4] = UINT64_MAX;
                memset(&clean, 0, sizeof clean);
                for (at = 0; at + sizeof n <= sizeof s; at += sizeof n)
                    memcpy((unsigned char *)&s + at, &words[k], sizeof n);
                CHECK(statesampler_init(&clean, &d) == STATESAMPLER_OK);
                CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
                do {
                    more = statesampler_next(&clean, &x, &count);
                    CHECK(statesampler_next(&s, &y, &count) == more);
                    CHECK(!more || x == y);
                } while (more);
            }
}

/* set_epoch in mid-epoch: to the present epoch it is nothing, to another it
   is a fresh start; seek(0) rewinds. */
static void test_set_epoch(void)
{
    uint32_t tail, partition;
    for (tail = 0; tail < TAILS; tail++)
        for (partition = 0; partition < 2; partition++) {
            statesampler_desc d = model_desc(29, 3, 2);
            statesampler s, before, fresh;
            uint64_t a[2], b[2];
            unsigned same = 0;
            uint64_t step;
            d.tail = tail;
            d.partition = partition;
            d.rank = 1;
            d.epoch = 7;
            if (!model_makes_sense(&d))
                continue;
            CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
            fresh = s;
            CHECK(must_next(&s, NULL) == 2);
            CHECK(must_next(&s, NULL) == 2);
            before = s;
            statesampler_set_epoch(&s, 7);
            CHECK(model_same_state(&s, &before));
            CHECK(statesampler_step(&s) == 2);
            CHECK(statesampler_position(&s) == 12);
            if (tail !=
                STATESAMPLER_TAIL_CARRY) { /* at its end it is the same */
                step = statesampler_num_steps(&s);
                CHECK(statesampler_seek(&s, step) == STATESAMPLER_OK);
                statesampler_set_epoch(&s, 7);
                CHECK(statesampler_step(&s) == step);
            }
            CHECK(statesampler_seek(&s, 0) == STATESAMPLER_OK);
            CHECK(model_same_state(&s, &fresh));
            CHECK(must_next(&s, a) == 2);
            CHECK(must_next(&fresh, b) == 2);
            CHECK(model_same(a, b, 2));

            statesampler_set_epoch(&s, 9);
            CHECK(statesampler_epoch(&s) == 9);
            CHECK(statesampler_step(&s) == 0);
            CHECK(statesampler_position(&s) == 0);
            d.epoch = 9;
            CHECK(statesampler_init(&fresh, &d) == STATESAMPLER_OK);
            CHECK(model_same_state(&s, &fresh));
            for (step = 0; step < 4; step++) {
                CHECK(must_at(&before, step, a) == 2);
                CHECK(must_next(&s, b) == 2);
                same += (unsigned)model_same(a, b, 2);
                CHECK(must_next(&fresh, a) == 2);
                CHECK(model_same(a, b, 2));
            }
            CHECK(same < 4);
        }
}

/* An evaluation loop: with next, at or num_steps, every rank takes as many
   steps as the others and is served its own share. */
static void test_uneven_loops(void)
{
    uint64_t n;
    uint32_t w, b, r;
    for (n = 0; n < 14; n++)
        for (w = 1; w < 5; w++)
            for (b = 1; b < 4; b++)
                for (r = 0; r < w; r++) {
                    statesampler_desc d = model_desc(n, w, b);
                    statesampler s, other;
                    uint64_t t, e, served = 0, steps;
                    d.tail = STATESAMPLER_TAIL_UNEVEN;
                    d.rank = r;
                    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
                    other = s;
                    steps = statesampler_num_steps(&s);
                    CHECK(steps == (n + w * b - 1) / (w * b));
                    for (e = 0; e < 3; e++) {
                        served = 0;
                        for (t = 0; t < steps; t++) {
                            size_t count = must_at(&s, t, NULL);
                            CHECK(statesampler_epoch(&other) == e);
                            CHECK(must_next(&other, NULL) == count);
                            served += count;
                        }
                        CHECK(served == n / w + (r < n % w));
                        must_end(&other);
                        statesampler_set_epoch(&s, e + 1);
                        statesampler_set_epoch(&other, e + 1);
                        CHECK(statesampler_epoch(&s) == e + 1);
                        CHECK(statesampler_position(&s) == 0);
                        CHECK(model_same_state(&s, &other));
                    }
                }
}

static void test_defaults(void)
{
    statesampler_desc d = model_desc(10, 0, 0), e = model_desc(10, 1, 1);
    statesampler s, t;
    uint64_t a[4], b[4];
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(statesampler_init(&t, &e) == STATESAMPLER_OK);
    CHECK(statesampler_num_steps(&s) == 10);
    CHECK(must_next(&s, a) == 1);
    CHECK(must_next(&t, b) == 1);
    CHECK(a[0] == b[0]);
    CHECK(model_same_state(&s, &t));
}

/* ---- large sizes: by formulas of a rank's own list, as torch has it ---- */

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* Sample of position p (not in BLOCKED SHUFFLE, whose keys are private). */
static uint64_t big_sample(const statesampler_desc *d, uint64_t p)
{
    uint64_t n = d->num_samples, w = d->world_size;
    if (d->partition == STATESAMPLER_PARTITION_BLOCKED) {
        uint64_t block = p % w, place = p / w, extra = n % w, size = n / w;
        uint64_t start = block * size;
        if (d->tail != STATESAMPLER_TAIL_DROP) {
            start += block < extra ? block : extra;
            size += block < extra;
        }
        if (size == 0)
            return big_sample(d, p % n);
        return start + (place < size ? place : 0);
    }
    p %= n;
    if (d->order == STATESAMPLER_ORDER_SHUFFLE) {
        statesampler_perm perm;
        CHECK(statesampler_perm_init(&perm, n, d->seed, d->epoch, d->stream) ==
              STATESAMPLER_OK);
        return statesampler_perm_at(&perm, p);
    }
    return p;
}

static void big_rank(const statesampler_desc *d)
{
    static uint64_t out[2][MODEL_BATCH];
    uint64_t n = d->num_samples, w = d->world_size, b = d->batch_size;
    uint64_t share, most, steps, step, j, probes[6], all;
    statesampler_counts c;
    statesampler s;
    int i;
    CHECK(statesampler_init(&s, d) == STATESAMPLER_OK);
    /* share: this rank's list; most: the longest list of any. */
    share = most = ceil_div(n, w);
    if (d->tail == STATESAMPLER_TAIL_DROP)
        share = most = n / w;
    if (d->tail == STATESAMPLER_TAIL_UNEVEN)
        share = n / w + (d->rank < n % w);
    steps = ceil_div(most, b);
    all = d->tail == STATESAMPLER_TAIL_UNEVEN ? n : w * most;
    if (d->drop_last) {
        if (d->tail == STATESAMPLER_TAIL_UNEVEN)
            most = n / w;
        steps = most / b;
        if (share > steps * b)
            share = steps * b;
        all = steps * (w * b);
    }
    statesampler_get_counts(&s, &c);
    CHECK(statesampler_num_steps(&s) == steps);
    CHECK(c.steps == steps);
    CHECK(c.positions == all);
    CHECK(c.padded == (all > n ? all - n : 0));
    CHECK(c.dropped == (all < n ? n - all : 0));
    CHECK(c.rank_samples == share);
    CHECK(c.rank_batches == ceil_div(share, b));
    CHECK(statesampler_seek(&s, steps + 1) == STATESAMPLER_ERANGE_END);
    CHECK(statesampler_step(&s) == 0);
    CHECK(must_miss(&s, steps) == 0);
    CHECK(must_miss(&s, UINT64_MAX) == 0);
    CHECK(UINT64_MAX / (w * b) + 1 < steps ||
          must_miss(&s, UINT64_MAX / (w * b) + 1) == 0);
    probes[0] = 0;
    probes[1] = steps / 3;
    probes[2] = steps / 2;
    probes[3] = steps < 2 ? 0 : steps - 2;
    probes[4] = steps < 1 ? 0 : steps - 1;
    probes[5] = steps;
    for (i = 0; i < 6; i++) {
        uint64_t from, count, padding = 0, end;
        step = probes[i];
        from = step * b; /* at most 2^62 + b, as step <= steps */
        count = from >= share ? 0 : share - from;
        count = count < b ? count : b;
        end = step >= steps ? all : step * (w * b);
        CHECK(statesampler_seek(&s, step) == STATESAMPLER_OK);
        CHECK(statesampler_step(&s) == step);
        CHECK(statesampler_position(&s) == end);
        if (step >= steps)
            break;
        CHECK(must_at(&s, step, NULL) == count);
        for (j = count; j > 0; j--) {
            if ((from + j - 1) * w + d->rank < n)
                break;
            padding++;
        }
        CHECK(statesampler_padding(&s, step) == padding);
        if (count > MODEL_BATCH) {
            CHECK(must_next(&s, NULL) == count);
        } else {
            CHECK(must_at(&s, step, out[0]) == count);
            CHECK(must_next(&s, out[1]) == count);
            for (j = 0; j < count; j++) {
                CHECK(out[0][j] == big_sample(d, (from + j) * w + d->rank));
                CHECK(out[1][j] == out[0][j]);
            }
        }
        CHECK(statesampler_step(&s) == step + 1);
        CHECK(statesampler_position(&s) ==
              (step + 1 < steps ? (step + 1) * (w * b) : all));
    }
    must_end(&s);
    CHECK(statesampler_epoch(&s) == d->epoch + 1);
    CHECK(statesampler_step(&s) == 0);
    CHECK(statesampler_position(&s) == 0);
}

static void test_big(int reduced)
{
    const uint64_t big[] = {1000000000,
                            ((uint64_t)1 << 32) - 1,
                            ((uint64_t)1 << 32) + 1,
                            (uint64_t)1 << 40,
                            ((uint64_t)1 << 53) + 11,
                            two62 - 1,
                            two62,
                            7};
    const uint32_t max = UINT32_MAX, half = (uint32_t)1 << 30;
    const uint32_t shapes[][2] = {
        {1, 1},      {8, 32},      {7, 64},      {max, 1},
        {max, 64},   {max - 4, 3}, {1, max},     {3, half},
        {max, half}, {half, max},  {4096, 4096}, {65537, 50},
    };
    size_t i, k;
    uint32_t tail, drop_last, mode, ranks;
    for (i = 0; i < sizeof big / sizeof big[0]; i++)
        for (k = 0; k < sizeof shapes / sizeof shapes[0]; k++)
            for (tail = 0; tail < 3; tail++)
                for (drop_last = 0; drop_last < 2; drop_last++)
                    for (mode = 0; mode < 3; mode++) {
                        statesampler_desc d =
                            model_desc(big[i], shapes[k][0], shapes[k][1]);
                        if (reduced && (i + k + mode) % 2)
                            continue;
                        d.tail = tail;
                        d.drop_last = drop_last;
                        d.epoch = 11;
                        if (mode)
                            d.order = STATESAMPLER_ORDER_SEQUENTIAL;
                        if (mode == 2)
                            d.partition = STATESAMPLER_PARTITION_BLOCKED;
                        for (ranks = 0; ranks < 5; ranks++) {
                            uint32_t w = d.world_size;
                            uint64_t x = d.num_samples % w;
                            if (ranks == 0)
                                d.rank = 0;
                            else if (ranks == 1)
                                d.rank = w / 2;
                            else if (ranks == 2)
                                d.rank = w - 1;
                            else if (ranks == 3)
                                d.rank = (uint32_t)x;
                            else
                                d.rank = (uint32_t)(x ? x - 1 : 0);
                            big_rank(&d);
                        }
                    }
}

/* Another shape goes on at c in a large epoch: rank r's list is then
   positions c + r, c + r + W, ... */
static void test_big_reshape(int cases)
{
    int i;
    for (i = 0; i < cases; i++) {
        static const int bits[] = {20, 31, 33, 40, 61, 62};
        unsigned char state[STATESAMPLER_STATE_BYTES];
        uint64_t top = (uint64_t)1 << bits[i % 6];
        statesampler_desc d =
            model_random_desc(999, i % 2 ? 9 : 0xfffffff0u, MODEL_BATCH);
        statesampler s;
        uint64_t out[MODEL_BATCH], c, at_step, left, share, w2, b2, steps;
        uint64_t epoch = check_random(9), j, u;
        d.num_samples = i % 7 ? top - d.num_samples : top;
        d.order = STATESAMPLER_ORDER_SEQUENTIAL;
        d.tail = (uint32_t)check_random(3);
        d.epoch = epoch;
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
        steps = statesampler_num_steps(&s);
        at_step = steps;
        if (i % 3 && steps > 0)
            at_step = steps - 1 - check_random(steps < 1000 ? steps : 1000);
        else if (steps > 0)
            at_step = model_random(steps + 1);
        CHECK(statesampler_seek(&s, at_step) == STATESAMPLER_OK);
        c = statesampler_position(&s);
        must_save(&s, state);
        w2 = d.world_size + 1 + check_random(100);
        if (w2 > UINT32_MAX)
            w2 = 17;
        b2 = 1 + check_random(64);
        d.world_size = (uint32_t)w2;
        d.batch_size = (uint32_t)b2;
        d.rank = (uint32_t)check_random(w2);
        d.epoch = 1000;
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
        CHECK(statesampler_load(&s, state, sizeof state) == STATESAMPLER_OK);
        CHECK(statesampler_epoch(&s) == epoch);
        CHECK(statesampler_position(&s) == c);
        if (c == 0)
            at_step = 0;
        CHECK(statesampler_step(&s) == at_step);
        left = c < d.num_samples ? d.num_samples - c : 0;
        share = ceil_div(left, w2);
        if (d.tail == STATESAMPLER_TAIL_DROP)
            share = left / w2;
        steps = ceil_div(share, b2);
        CHECK(statesampler_num_steps(&s) == at_step + steps);
        if (i % 2) {
            /* Once more, in the same shape and at its end. */
            CHECK(statesampler_seek(&s, at_step + steps) == STATESAMPLER_OK);
            must_save(&s, state);
            CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
            CHECK(statesampler_load(&s, state, sizeof state) ==
                  STATESAMPLER_OK);
            CHECK(statesampler_step(&s) == at_step + steps);
        }
        if (d.tail == STATESAMPLER_TAIL_UNEVEN)
            share = left / w2 + (d.rank < left % w2);
        CHECK(c == 0 || must_miss(&s, at_step - 1) == STATESAMPLER_ERANGE_BASE);
        for (u = 0; u < steps; u += 1 + model_random(steps)) {
            uint64_t count = share < u * b2 ? 0 : share - u * b2;
            if (count > b2)
                count = b2;
            CHECK(must_at(&s, at_step + u, out) == count);
            for (j = 0; j < count; j++)
                CHECK(out[j] ==
                      (c + (u * b2 + j) * w2 + d.rank) % d.num_samples);
        }
        CHECK(statesampler_seek(&s, at_step + steps) == STATESAMPLER_OK);
        CHECK(statesampler_seek(&s, at_step + steps + 1) ==
              STATESAMPLER_ERANGE_END);
        must_end(&s);
        CHECK(statesampler_epoch(&s) == epoch + 1);
    }
}

/* A batch of hundreds is as many batches of one: what takes indices together
   has edges of its own. From a state of these ranks, if any. */
static void check_long_batches(const statesampler_desc *given, uint32_t from)
{
    enum { LONG = 700 };
    static uint64_t out[LONG];
    statesampler s, one;
    statesampler_desc d = *given;
    unsigned char state[STATESAMPLER_STATE_BYTES];
    uint64_t single;
    size_t i, count;
    d.world_size = from ? from : 2;
    d.batch_size = 5;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    if (from)
        must_next(&s, NULL);
    must_save(&s, state);
    d.world_size = 2;
    d.rank = 1;
    d.batch_size = 1;
    CHECK(statesampler_init(&one, &d) == STATESAMPLER_OK);
    d.batch_size = LONG;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(statesampler_load(&s, state, sizeof state) == STATESAMPLER_OK);
    CHECK(statesampler_load(&one, state, sizeof state) == STATESAMPLER_OK);
    while (statesampler_next(&s, out, &count))
        for (i = 0; i < count; i++) {
            CHECK(must_next(&one, &single) == 1);
            CHECK(single == out[i]);
        }
}

static void test_long_batches(void)
{
    /* Windows of more chunks than are looked up together, and of as many. */
    static const uint64_t windows[] = {31, 32, 33, 63, 64, 65, 200};
    static const uint32_t others[] = {STATESAMPLER_ORDER_SHUFFLE,
                                      STATESAMPLER_ORDER_SEQUENTIAL,
                                      STATESAMPLER_ORDER_REPLACEMENT};
    size_t k;
    uint32_t from, partition;
    for (k = 0; k < 3 + sizeof windows / sizeof windows[0]; k++)
        for (partition = 0; partition < 2; partition++)
            for (from = 0; from < 7; from += 3) {
                statesampler_desc d = model_desc(4000, 1, 1);
                d.order = k < 3 ? others[k] : STATESAMPLER_ORDER_WINDOW;
                d.chunk_size = 3;
                d.window = k < 3 ? 0 : windows[k - 3];
                d.partition = partition;
                check_long_batches(&d, from);
            }
}

/* A run without end: up to 2^62 positions from its base by seek and at, and
   beyond by next, when the base moves. q counts positions from the start,
   less 2^62 each time the base has moved, with the epoch kept apart. */
static void test_big_carry(void)
{
    const uint64_t sizes[] = {
        1, 3, 10, 1000000007, (uint64_t)1 << 40, two62 - 1, two62,
    };
    const uint32_t max = UINT32_MAX, half = (uint32_t)1 << 30;
    const uint32_t shapes[][2] = {
        {1, 1}, {2, 1}, {3, 1}, {5, 12}, {8, 64}, {max, 7}, {max, half},
    };
    size_t i, k;
    for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
            statesampler_desc d =
                model_desc(sizes[i], shapes[k][0], shapes[k][1]);
            uint64_t n = d.num_samples, b = d.batch_size;
            uint64_t group = (uint64_t)d.world_size * b;
            uint64_t far = two62 / group, step = 0, epoch, position = 0;
            uint64_t out[MODEL_BATCH], at[MODEL_BATCH], q;
            unsigned char state[STATESAMPLER_STATE_BYTES];
            uint32_t j;
            statesampler s, other;
            statesampler_counts c;
            int moves;
            d.tail = STATESAMPLER_TAIL_CARRY;
            d.order = STATESAMPLER_ORDER_SEQUENTIAL;
            d.epoch = epoch = 5;
            d.rank = d.world_size / 2;
            CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
            CHECK(statesampler_num_steps(&s) == STATESAMPLER_NONE);
            statesampler_get_counts(&s, &c);
            CHECK(c.positions == n && c.padded == 0 && c.dropped == 0);
            CHECK(c.steps == STATESAMPLER_NONE);
            CHECK(c.rank_samples == STATESAMPLER_NONE);
            CHECK(c.rank_batches == STATESAMPLER_NONE);
            CHECK(statesampler_padding(&s, far) == 0);
            /* Steps end at 2^63, where one at a time is past all time. */
            CHECK(statesampler_seek(&s, (uint64_t)1 << 63) ==
                  STATESAMPLER_ERANGE_FAR);
            for (moves = 0; moves < 3 && step + far < (uint64_t)1 << 63;
                 moves++) {
                CHECK(statesampler_seek(&s, step + far + 1) ==
                      STATESAMPLER_ERANGE_FAR);
                CHECK(statesampler_seek(&s, step + two62 + 1) ==
                      STATESAMPLER_ERANGE_FAR);
                CHECK(must_miss(&s, step + far + 1) == STATESAMPLER_ERANGE_FAR);
                CHECK(must_miss(&s, step + two62 + 1) ==
                      STATESAMPLER_ERANGE_FAR);
                CHECK(statesampler_seek(&s, step + far - 1) == STATESAMPLER_OK);
                other = s;
                CHECK(must_next(&other, NULL) == b);
                /* Exactly 2^62 positions, and the base has moved. */
                CHECK(statesampler_seek(&other, step) ==
                      (far * group == two62 ? STATESAMPLER_ERANGE_BASE
                                            : STATESAMPLER_OK));
                CHECK(statesampler_seek(&s, step) == STATESAMPLER_OK);
                CHECK(must_at(&s, step + far, NULL) == b);
                CHECK(statesampler_seek(&s, step + far) == STATESAMPLER_OK);
                step += far;
                q = position + far * group;
                epoch += q / n;
                position = q % n;
                CHECK(statesampler_step(&s) == step);
                CHECK(statesampler_epoch(&s) == epoch);
                CHECK(statesampler_position(&s) == position);
                if (moves < 2) {
                    /* The same shape can go back, another cannot. */
                    statesampler_desc e = d;
                    must_save(&s, state);
                    e.epoch = 0;
                    CHECK(statesampler_init(&other, &e) == STATESAMPLER_OK);
                    CHECK(statesampler_load(&other, state, sizeof state) ==
                          STATESAMPLER_OK);
                    CHECK(statesampler_step(&other) == step);
                    CHECK(statesampler_epoch(&other) == epoch);
                    CHECK(statesampler_position(&other) == position);
                    CHECK(statesampler_seek(&other, step - far) ==
                          STATESAMPLER_OK);
                    e.world_size = 2;
                    e.batch_size = 77;
                    e.rank = 1;
                    CHECK(statesampler_init(&other, &e) == STATESAMPLER_OK);
                    CHECK(statesampler_load(&other, state, sizeof state) ==
                          STATESAMPLER_OK);
                    CHECK(statesampler_step(&other) == step);
                    CHECK(statesampler_epoch(&other) == epoch);
                    CHECK(statesampler_position(&other) == position);
                    CHECK(statesampler_seek(&other, step - 1) ==
                          STATESAMPLER_ERANGE_BASE);
                    CHECK(must_at(&other, step, NULL) == 77);
                }
                if (b <= MODEL_BATCH) {
                    CHECK(must_at(&s, step, at) == b);
                    CHECK(must_next(&s, out) == b);
                    CHECK(model_same(at, out, (size_t)b));
                    for (j = 0; j < b; j++) {
                        q = position + (uint64_t)j * d.world_size + d.rank;
                        CHECK(out[j] == q % n);
                    }
                } else {
                    CHECK(must_next(&s, NULL) == b);
                }
                step++;
                q = position + group;
                epoch += q / n;
                position = q % n;
                CHECK(statesampler_step(&s) == step);
                CHECK(statesampler_epoch(&s) == epoch);
                CHECK(statesampler_position(&s) == position);
                /* The base is here now. */
                CHECK(must_miss(&s, step - 1) == STATESAMPLER_ERANGE_BASE);
                CHECK(statesampler_seek(&s, step - 1) ==
                      STATESAMPLER_ERANGE_BASE);
                CHECK(must_at(&s, step, NULL) == b);
                CHECK(statesampler_seek(&s, step) == STATESAMPLER_OK);
                CHECK(statesampler_epoch(&s) == epoch);
                CHECK(statesampler_position(&s) == position);
            }
            if (group == 1)
                CHECK(statesampler_seek(&s, ((uint64_t)1 << 63) - 1) ==
                      STATESAMPLER_OK);
        }
}

/* Whether the next batch comes from the order that is set up, and not from one
   that is set up again, which takes longer and has the same samples: another
   key there gives other samples. */
static int uses_order(const statesampler *sampler, int inside)
{
    statesampler same = *sampler, other = *sampler;
    uint64_t want[8], got[8];
    statesampler_perm *perm = inside ? &other.ready.inside : &other.ready.perm;
    perm->keys[0] ^= 1;
    CHECK(must_next(&same, want) == 8 && must_next(&other, got) == 8);
    return !model_same(want, got, 8);
}

/* An order is set up where an epoch begins, and again where it changes. */
static void test_order_is_kept(void)
{
    statesampler s, loaded;
    unsigned char state[STATESAMPLER_STATE_BYTES];
    statesampler_desc d = model_desc(3000, 3, 8);
    uint64_t out[8];
    d.rank = 1;
    d.order = STATESAMPLER_ORDER_SHUFFLE;
    d.partition = STATESAMPLER_PARTITION_BLOCKED;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(uses_order(&s, 0));
    CHECK(must_next(&s, out) == 8);
    CHECK(uses_order(&s, 0));
    statesampler_set_epoch(&s, 5);
    CHECK(uses_order(&s, 0));
    CHECK(must_next(&s, out) == 8);
    CHECK(statesampler_reshape(&s, 2, 3, 8) == STATESAMPLER_OK);
    CHECK(uses_order(&s, 0));
    must_save(&s, state);
    CHECK(statesampler_init(&loaded, &d) == STATESAMPLER_OK);
    CHECK(statesampler_load(&loaded, state, sizeof state) == STATESAMPLER_OK);
    CHECK(uses_order(&loaded, 0));
    d.order = STATESAMPLER_ORDER_WINDOW;
    d.chunk_size = 10;
    d.window = 10;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(must_next(&s, out) == 8);
    CHECK(uses_order(&s, 1));
}

int main(int argc, char **argv)
{
    int reduced = check_reduced(argc, argv);
    test_defaults();
    test_copies();
    test_any_memory();
    test_set_epoch();
    test_order_is_kept();
    test_uneven_loops();
    test_global_batch();
    test_orders_differ();
    test_single_block();
    test_window_moves();
    test_replacement();
    test_structure(reduced);
    test_small(reduced);
    test_larger(reduced ? 60 : 3000);
    test_big(reduced);
    test_big_reshape(reduced ? 600 : 20000);
    test_big_carry();
    test_long_batches();
    return check_done("test_sampler");
}

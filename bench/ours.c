/* ours.c - the speed of the permutation and of next compared with the
   yardsticks, and our points in the plots.

       ours bulk BAR | epoch | sizes | lone | next | plots

   bench/run.sh compiles this with several sets of flags and measures other rows
   with each. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The usual case: one of eight ranks. */
enum { RANKS = 8 };
static const uint64_t usual = 100000000;

static double per_index(const contender *c)
{
    return c->ns / ARRAY;
}

static void measure_bulk(double bar)
{
    array yard = {NULL, ARRAY};
    bulk b;
    contender c[3];
    yard.out = array_of(ARRAY);
    bulk_init(&b, usual, RANKS, yard.out, ARRAY);
    c[0] = bulk_contender(&b);
    c[1] = splitmix_contender(&yard);
    c[2] = write_contender(&yard);
    race(c, 3, 4);
    row("write", per_index(&c[2]), "ns/index", "splitmix", per_index(&c[1]),
        NO_BAR);
    row("bulk; n = 10^8; stride 8; 16384 at a time", per_index(&c[0]),
        "ns/index", "splitmix", per_index(&c[1]), bar);
    free(yard.out);
}

/* --- a whole epoch --- */

static void epoch_check(void *data)
{
    const bulk *b = data;
    const uint64_t *out = here(b->out);
    statesampler_audit audit = {0, 0, 0, 0};
    uint64_t i;
    statesampler_audit_add(&audit, out, b->count);
    must(statesampler_audit_check(&audit, b->perm->n) == 1,
         "an index is missing or repeated");
    for (i = 0; i < b->perm->n; i += 61)
        must(out[i] == statesampler_perm_at(b->perm, i),
             "perm_fill and perm_at differ");
}

static void measure_epoch(void)
{
    static const char figure[] = "a whole epoch of 2^28 into memory";
    size_t n = (size_t)1 << (quick() ? 18 : 28);
    array yard;
    bulk b;
    contender c[2];
    if (!memory_for((double)n * 8)) {
        row_missing(figure, "not enough memory");
        return;
    }
    yard.out = array_of(n);
    yard.count = n;
    bulk_init(&b, n, 1, yard.out, n);
    c[0] = bulk_contender(&b);
    c[0].check = epoch_check;
    c[1] = write_contender(&yard);
    race(c, 2, 10);
    row(figure, c[0].ns / (double)n, "ns/index", "write", c[1].ns / (double)n,
        2.5);
    free(yard.out);
}

/* --- other sizes compared with the usual one --- */

static void measure_sizes(void)
{
    static const struct {
        const char *figure;
        uint64_t n;
        double bar;
    } sizes[] = {
        {"bulk; n = 10; all of it; over 64 keys", 10, 50},
        {"bulk; n = 10^9", 1000000000, 1.2},
        {"bulk; n = 2^30 + 1", ((uint64_t)1 << 30) + 1, 3.5},
        {"bulk; n = 2^40", (uint64_t)1 << 40, 3.5},
        {"bulk; n = 2^53", (uint64_t)1 << 53, 3.5},
        {"bulk; n = 2^62", (uint64_t)1 << 62, 3.5},
    };
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    uint64_t *out = array_of(ARRAY);
    bulk b[SIZES + 1];
    contender c[SIZES + 1];
    int i;
    for (i = 0; i < SIZES; i++) {
        if (sizes[i].n < ARRAY)
            bulk_init(&b[i], sizes[i].n, 1, out, (size_t)sizes[i].n);
        else
            bulk_init(&b[i], sizes[i].n, RANKS, out, ARRAY);
        c[i] = bulk_contender(&b[i]);
    }
    bulk_init(&b[SIZES], usual, RANKS, out, ARRAY);
    c[SIZES] = bulk_contender(&b[SIZES]);
    race(c, SIZES + 1, 8);
    for (i = 0; i < SIZES; i++)
        row(sizes[i].figure, bulk_per_index(&c[i]), "ns/index", "n = 10^8",
            bulk_per_index(&c[SIZES]), sizes[i].bar);
    free(out);
}

/* --- lone calls --- */

/* perm_at is in another object file, so every index is a call. */
static void lone_run(void *data)
{
    const bulk *b = data;
    uint64_t *out = here(b->out);
    size_t i, k;
    for (k = 0; k < b->fills; k++)
        for (i = 0; i < b->count; i++)
            out[i] = statesampler_perm_at(b->perm, b->first + i);
}

static void lone_check(void *data)
{
    const bulk *b = data;
    const uint64_t *out = here(b->out);
    size_t i;
    for (i = 0; i < b->count; i++)
        must(statesampler_perm_inverse(b->perm, out[i]) == b->first + i,
             "perm_inverse does not undo perm_at");
}

static contender lone_contender(bulk *b)
{
    contender c = bulk_contender(b);
    c.run = lone_run;
    c.check = lone_check;
    return c;
}

static void measure_lone(void)
{
    uint64_t *out = array_of(ARRAY);
    bulk b;
    contender c;
    bulk_init(&b, usual, 1, out, ARRAY);
    c = lone_contender(&b);
    race(&c, 1, 4);
    row_alone("lone calls; n = 10^8; i = 0 1 2 ...", per_index(&c), "ns/index",
              30);
    free(out);
}

/* --- next --- */

static void rank_of_eight(batches *b, uint32_t batch_size, uint64_t *out)
{
    statesampler_desc d;
    memset(&d, 0, sizeof d);
    d.num_samples = usual;
    d.seed = 1;
    d.epoch = 2;
    d.stream = 3;
    d.rank = 5;
    d.world_size = RANKS;
    d.batch_size = batch_size;
    batches_init(b, &d, out);
}

static void measure_next(void)
{
    uint64_t *out = array_of(ARRAY);
    batches b256, b32;
    bulk all;
    contender c[3];
    rank_of_eight(&b256, 256, out);
    rank_of_eight(&b32, 32, out);
    bulk_init(&all, usual, RANKS, out, ARRAY);
    c[0] = batches_contender(&b256);
    c[1] = batches_contender(&b32);
    c[2] = bulk_contender(&all);
    race(c, 3, 6);
    row("next; 8 ranks; batches of 256", per_index(&c[0]), "ns/index", "bulk",
        per_index(&c[2]), 1.2);
    row("next; 8 ranks; batches of 32", per_index(&c[1]), "ns/index", "bulk",
        per_index(&c[2]), 3);
    free(out);
}

/* --- plots --- */

/* Includes perm_init, as a table's time includes building it. */
static void epochs_run(void *data)
{
    bulk *b = data;
    size_t i;
    for (i = 0; i < b->fills; i++) {
        statesampler_perm *perm = &b->perm[i % KEYS];
        statesampler_perm_init(perm, b->perm->n, 1, i % KEYS, 3);
        statesampler_perm_fill(perm, b->first, b->stride, here(b->out),
                               b->count);
    }
}

static void plot_size(uint64_t n, uint64_t *out)
{
    array yard = {NULL, ARRAY};
    bulk b;
    contender c[3];
    yard.out = out;
    bulk_init(&b, n, 1, out, n < ARRAY ? (size_t)n : ARRAY);
    c[0] = bulk_contender(&b);
    c[0].run = epochs_run;
    c[1] = lone_contender(&b);
    c[2] = splitmix_contender(&yard);
    race(c, 3, 0.3);
    point("n", "statesampler", (double)n, bulk_per_index(&c[0]));
    point("n", "perm_at", (double)n, bulk_per_index(&c[1]));
    point("n", "splitmix", (double)n, per_index(&c[2]));
    point("bytes", "statesampler", (double)n, sizeof(statesampler));
}

/* 10, 30, 100, 300, ... and the largest n. */
static void plot_sizes(void)
{
    uint64_t *out = array_of(ARRAY), n;
    for (n = 10; n <= STATESAMPLER_MAX_SAMPLES / 3; n *= 10) {
        plot_size(n, out);
        plot_size(3 * n, out);
    }
    plot_size(STATESAMPLER_MAX_SAMPLES, out);
    free(out);
}

static void plot_batches(void)
{
    uint64_t *out = array_of(ARRAY);
    array yard;
    uint32_t size;
    yard.out = out;
    yard.count = ARRAY;
    for (size = 1; size <= ARRAY; size *= 2) {
        batches b;
        contender c[2];
        rank_of_eight(&b, size, out);
        c[0] = batches_contender(&b);
        c[1] = splitmix_contender(&yard);
        race(c, 2, 0.3);
        point("batch", "statesampler", size, per_index(&c[0]));
        point("batch", "splitmix", size, per_index(&c[1]));
    }
    free(out);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "bulk") == 0 && argc == 3)
        measure_bulk(atof(argv[2]));
    else if (strcmp(what, "epoch") == 0)
        measure_epoch();
    else if (strcmp(what, "sizes") == 0)
        measure_sizes();
    else if (strcmp(what, "lone") == 0)
        measure_lone();
    else if (strcmp(what, "next") == 0)
        measure_next();
    else if (strcmp(what, "plots") == 0) {
        plot_sizes();
        plot_batches();
    } else {
        fprintf(stderr, "ours: bulk BAR, epoch, sizes, lone, next or plots?\n");
        return 2;
    }
    return 0;
}

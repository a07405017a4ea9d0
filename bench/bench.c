/* bench.c - see bench.h. */
#define _POSIX_C_SOURCE 200809L

#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int quick(void)
{
    return getenv("BENCH_QUICK") != NULL;
}

void must(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "bench: wrong: %s\n", what);
        exit(1);
    }
}

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* A page of 4 KiB and nine cache lines, in words: sixteen such steps reach
   sixteen different lines of a page. */
enum { ADDRESSES = 16, APART = 512 + 9 * 8 };

static size_t moved; /* words, in this turn */

uint64_t *here(uint64_t *start)
{
    return start + moved;
}

uint64_t *array_of(size_t count)
{
    size_t bytes = (count + ADDRESSES * APART) * sizeof(uint64_t);
    void *memory = NULL;
    must(posix_memalign(&memory, 64, bytes) == 0, "no memory");
    memset(memory, 1, bytes);
    return memory;
}

static void run_once(contender *c, int check)
{
    volatile uint64_t lower[moved + 1]; /* moves the frames of what is timed */
    double from, took;
    lower[0] = 0;
    (void)lower;
    if (c->before != NULL)
        c->before(c->data);
    from = now();
    c->run(c->data);
    took = now() - from;
    if (took < c->ns)
        c->ns = took;
    if (check && c->check != NULL)
        c->check(c->data);
}

void race(contender *contenders, size_t count, double seconds)
{
    double end = now() + (quick() ? 0.002 : seconds) * 1e9;
    unsigned long turn;
    size_t i;
    for (i = 0; i < count; i++)
        contenders[i].ns = 1e18;
    for (turn = 1; turn <= 2 || now() < end; turn++) {
        /* In turns 1, 2, 4, 8, ...: a check takes longer than a run. */
        int check = (turn & (turn - 1)) == 0;
        moved = turn % ADDRESSES * APART;
        for (i = 0; i < count; i++) {
            run_once(&contenders[i], 0);
            run_once(&contenders[i], check);
        }
    }
}

int memory_for(double bytes)
{
    return bytes <=
           (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 2;
}

/* --- results --- */

static const char *verdict(int good)
{
    return good ? "met" : "MISSED";
}

void row(const char *figure, double value, const char *unit,
         const char *yardstick, double yardstick_value, double bar)
{
    double ratio = value / yardstick_value;
    printf("row,%s,%.4g,%s,%s,%.4g,%.2f,", figure, value, unit, yardstick,
           yardstick_value, ratio);
    /* Compared as rounded for printing. */
    if (bar != NO_BAR)
        printf("%g,%s\n", bar,
               verdict((int)(ratio * 100 + 0.5) <= (int)(bar * 100 + 0.5)));
    else
        printf(",\n");
    fflush(stdout);
}

void row_alone(const char *figure, double value, const char *unit, double bar)
{
    printf("row,%s,%.6g,%s,,,,%g,%s\n", figure, value, unit, bar,
           verdict(value <= bar));
    fflush(stdout);
}

void row_plain(const char *figure, double value, const char *unit)
{
    printf("row,%s,%.12g,%s,,,,,\n", figure, value, unit);
    fflush(stdout);
}

void row_missing(const char *figure, const char *why)
{
    printf("row,%s,,,,,,,not measured: %s\n", figure, why);
    fflush(stdout);
}

void point(const char *plot, const char *series, double x, double y)
{
    printf("point,%s,%s,%.12g,%.6g\n", plot, series, x, y);
    fflush(stdout);
}

void headline(const char *figure, const char *whose, double value,
              const char *unit)
{
    printf("headline,%s,%s,%.6g,%s\n", figure, whose, value, unit);
    fflush(stdout);
}

/* --- yardsticks --- */

uint64_t splitmix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

void write_loop(uint64_t *out, size_t count)
{
    size_t i;
    for (i = 0; i < count; i++)
        out[i] = i;
}

void splitmix_loop(uint64_t *out, size_t count)
{
    size_t i;
    for (i = 0; i < count; i++)
        out[i] = splitmix(i);
}

static void write_run(void *data)
{
    const array *a = data;
    write_loop(here(a->out), a->count);
}

static void write_check(void *data)
{
    const array *a = data;
    size_t i;
    for (i = 0; i < a->count; i++)
        must(here(a->out)[i] == i, "write");
}

contender write_contender(array *a)
{
    contender c = {write_run, NULL, write_check, NULL, 0};
    c.data = a;
    return c;
}

static void splitmix_run(void *data)
{
    const array *a = data;
    splitmix_loop(here(a->out), a->count);
}

/* The value for 0 is that of the authors' own program. */
static void splitmix_check(void *data)
{
    const array *a = data;
    size_t i;
    must(here(a->out)[0] == 0xe220a8397b1dcdafu, "SplitMix64 of 0");
    for (i = 0; i < a->count; i++)
        must(here(a->out)[i] == splitmix(i), "splitmix");
}

contender splitmix_contender(array *a)
{
    contender c = {splitmix_run, NULL, splitmix_check, NULL, 0};
    c.data = a;
    return c;
}

/* --- ours --- */

void bulk_init(bulk *b, uint64_t n, uint64_t stride, uint64_t *out,
               size_t count)
{
    uint64_t epoch;
    for (epoch = 0; epoch < KEYS; epoch++)
        must(statesampler_perm_init(&b->perm[epoch], n, 1, epoch, 3) == 0,
             "perm_init");
    b->first = 0;
    b->stride = stride;
    b->out = out;
    b->count = count;
    b->fills = count < ARRAY ? ARRAY / count : 1;
}

static void bulk_before(void *data)
{
    bulk *b = data;
    uint64_t span = b->stride * b->count;
    b->first = b->first + 2 * span <= b->perm->n ? b->first + span : 0;
}

static void bulk_run(void *data)
{
    bulk *b = data;
    size_t i;
    for (i = 0; i < b->fills; i++)
        statesampler_perm_fill(&b->perm[i % KEYS], b->first, b->stride,
                               here(b->out), b->count);
}

static void bulk_check(void *data)
{
    const bulk *b = data;
    size_t i;
    for (i = 0; i < b->count; i++)
        must(here(b->out)[i] ==
                 statesampler_perm_at(&b->perm[(b->fills - 1) % KEYS],
                                      b->first + i * b->stride),
             "perm_fill and perm_at differ");
}

contender bulk_contender(bulk *b)
{
    contender c = {bulk_run, bulk_before, bulk_check, NULL, 0};
    c.data = b;
    return c;
}

double bulk_per_index(const contender *c)
{
    const bulk *b = c->data;
    return c->ns / (double)b->count / (double)b->fills;
}

/* --- batches --- */

void batches_init(batches *b, const statesampler_desc *desc, uint64_t *out)
{
    must(statesampler_init(&b->sampler, desc) == 0, "init");
    b->desc = *desc;
    b->first = 0;
    b->out = out;
}

static void batches_before(void *data)
{
    batches *b = data;
    uint64_t span = (uint64_t)ARRAY * b->desc.world_size;
    if (statesampler_position(&b->sampler) + span > b->desc.num_samples)
        must(statesampler_seek(&b->sampler, b->first) == 0, "seek");
    b->begun = statesampler_step(&b->sampler);
}

static void batches_run(void *data)
{
    batches *b = data;
    uint64_t *out = here(b->out);
    size_t done = 0, count;
    while (done < ARRAY) {
        statesampler_next(&b->sampler, out + done, &count);
        done += count;
    }
}

/* Compares next with locate. */
static void check_places(const batches *b)
{
    const uint64_t *out = here(b->out);
    statesampler_place place;
    uint64_t i;
    for (i = 0; i < ARRAY; i++)
        must(statesampler_locate(&b->sampler, out[i], &place) == 0 &&
                 place.step == b->begun + i / b->desc.batch_size &&
                 place.slot == i % b->desc.batch_size &&
                 place.rank == b->desc.rank,
             "locate and next differ");
}

/* locate cannot tell repeated samples apart, so REPLACEMENT is compared with a
   sampler whose steps are single positions. */
static void check_draws(const batches *b)
{
    const uint64_t *out = here(b->out);
    statesampler_desc lone = b->desc;
    statesampler s;
    uint64_t first, i, index;
    lone.rank = 0;
    lone.world_size = lone.batch_size = 1;
    must(statesampler_init(&s, &lone) == 0, "init");
    first = b->begun * b->desc.batch_size * b->desc.world_size + b->desc.rank;
    for (i = 0; i < ARRAY; i++) {
        size_t count;
        must(statesampler_at(&s, first + i * b->desc.world_size, &index,
                             &count) == 1 &&
                 index == out[i],
             "next and at differ");
    }
}

static void batches_check(void *data)
{
    const batches *b = data;
    if (b->desc.order == STATESAMPLER_ORDER_REPLACEMENT)
        check_draws(b);
    else
        check_places(b);
}

contender batches_contender(batches *b)
{
    contender c = {batches_run, batches_before, batches_check, NULL, 0};
    c.data = b;
    return c;
}

double batches_per_batch(const contender *c)
{
    const batches *b = c->data;
    return c->ns / ARRAY * b->desc.batch_size;
}

/* --- the table --- */

void fisher_yates(uint64_t *table, size_t n, uint64_t seed)
{
    size_t i;
    for (i = 0; i < n; i++) {
        size_t j = (size_t)(((splitmix(seed + i) >> 32) * (i + 1)) >> 32);
        table[i] = table[j];
        table[j] = i;
    }
}

/* old.c - the permutation in bulk beside that of version 0.4.0, whose header is
   compiled under another prefix into the same program. Bars are for what the
   vector extensions may cost.

   bench/run.sh makes oldsampler.h from the repository's history. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

#define OLDSAMPLER_IMPLEMENTATION
#include "oldsampler.h"

/* Fills of count positions; as many as fill ARRAY make a run. */
typedef struct kind {
    const char *figure;
    uint64_t n, stride;
    size_t count;
    double bar;
    int map;
} kind;

typedef struct pair {
    const char *figure;
    uint64_t n, stride;
    size_t count;
    double bar;
    int map; /* a list of positions instead */
    uint64_t first, fills;
    statesampler_perm perm[KEYS];
    oldsampler_perm old[KEYS];
    uint64_t *out;
} pair;

static void pair_before(void *data)
{
    pair *p = data;
    uint64_t span = p->stride * p->count;
    p->first = p->first + 2 * span <= p->n ? p->first + span : 0;
}

static void new_run(void *data)
{
    const pair *p = data;
    uint64_t *out = here(p->out);
    size_t i;
    for (i = 0; i < p->fills; i++)
        statesampler_perm_fill(&p->perm[i % KEYS], p->first, p->stride,
                               out + i * p->count, p->count);
}

static void old_run(void *data)
{
    const pair *p = data;
    uint64_t *out = here(p->out);
    size_t i;
    for (i = 0; i < p->fills; i++)
        oldsampler_perm_fill(&p->old[i % KEYS], p->first, p->stride,
                             out + i * p->count, p->count);
}

/* Positions near each other and far: what they were is written first. */
static void list_positions(const pair *p, uint64_t *out)
{
    size_t i;
    for (i = 0; i < p->fills * p->count; i++)
        out[i] = (p->first + (i << 7) + (i & 1)) % p->n;
}

static void new_map_run(void *data)
{
    const pair *p = data;
    uint64_t *out = here(p->out);
    size_t i;
    list_positions(p, out);
    for (i = 0; i < p->fills; i++)
        statesampler_perm_map(&p->perm[i % KEYS], out + i * p->count, p->count);
}

static void old_map_run(void *data)
{
    const pair *p = data;
    uint64_t *out = here(p->out);
    size_t i;
    list_positions(p, out);
    for (i = 0; i < p->fills; i++)
        oldsampler_priv_perm_map(out + i * p->count, &p->old[i % KEYS],
                                 p->count);
}

static uint64_t expected(const pair *p, size_t i)
{
    const oldsampler_perm *old = &p->old[i / p->count % KEYS];
    return oldsampler_perm_at(
        old, p->map ? (p->first + (i << 7) + (i & 1)) % p->n
                    : p->first + i % p->count * p->stride);
}

static void pair_check(void *data)
{
    const pair *p = data;
    const uint64_t *out = here(p->out);
    size_t i;
    for (i = 0; i < p->fills * p->count; i++)
        must(out[i] == expected(p, i), "another index than that of 0.4.0");
}

static void measure(pair *p, uint64_t *out)
{
    contender c[2] = {{new_run, pair_before, pair_check, NULL, 0},
                      {old_run, pair_before, pair_check, NULL, 0}};
    double indices;
    uint64_t epoch;
    for (epoch = 0; epoch < KEYS; epoch++) {
        must(statesampler_perm_init(&p->perm[epoch], p->n, 1, epoch, 3) == 0 &&
                 oldsampler_perm_init(&p->old[epoch], p->n, 1, epoch, 3) == 0,
             "perm_init");
    }
    p->out = out;
    p->first = 0;
    p->fills = ARRAY / p->count;
    if (p->map) {
        c[0].run = new_map_run;
        c[1].run = old_map_run;
    }
    c[0].data = c[1].data = p;
    race(c, 2, 1.5);
    indices = (double)(p->fills * p->count);
    row(p->figure, c[0].ns / indices, "ns/index", "0.4.0", c[1].ns / indices,
        p->bar);
}

int main(void)
{
    static const kind kinds[] = {
        {"bulk; n = 10^8", 100000000, 8, ARRAY, 1.25, 0},
        {"bulk; n = 2^40", (uint64_t)1 << 40, 8, ARRAY, 1.35, 0},
        {"bulk; n = 10^4 + 100; stride 1", 10100, 1, 8192, NO_BAR, 0},
        {"bulk; n = 10^6 - 500", 999500, 8, ARRAY, NO_BAR, 0},
        {"bulk; n = 10^8; 256 at a time", 100000000, 8, 256, NO_BAR, 0},
        {"bulk; n = 10^8; 32 at a time", 100000000, 8, 32, NO_BAR, 0},
        {"bulk; n = 10^8; 8 at a time", 100000000, 8, 8, NO_BAR, 0},
        {"bulk; n = 2^40; 32 at a time", (uint64_t)1 << 40, 8, 32, NO_BAR, 0},
        {"bulk; n = 1000", 1000, 1, 1000, NO_BAR, 0},
        {"bulk; n = 10", 10, 1, 10, NO_BAR, 0},
        {"perm_map; n = 10^8", 100000000, 1, ARRAY, NO_BAR, 1},
        {"perm_map; n = 2^40", (uint64_t)1 << 40, 1, ARRAY, NO_BAR, 1}};
    uint64_t *out = array_of(ARRAY);
    static pair p;
    size_t i;
    for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        p.figure = kinds[i].figure;
        p.n = kinds[i].n;
        p.stride = kinds[i].stride;
        p.count = kinds[i].count;
        p.bar = kinds[i].bar;
        p.map = kinds[i].map;
        measure(&p, out);
    }
    free(out);
    return 0;
}

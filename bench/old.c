/* old.c - the permutation in bulk beside that of version 0.4.0, whose header is
   compiled under another prefix into the same program. The bars say what one
   text for all vectors may cost.

   The Makefile makes oldsampler.h from the repository's history. */
#include "bench.h"

#include <stdlib.h>

#define OLDSAMPLER_IMPLEMENTATION
#include "oldsampler.h"

/* Calls of count positions each; as many as fill ARRAY make a run. */
typedef struct kind {
    const char *figure;
    uint64_t n, stride;
    size_t count;
    int map; /* perm_map instead of perm_fill */
    double bar;
} kind;

static const kind kinds[] = {
    {"bulk; n = 10^8", 100000000, 8, ARRAY, 0, 1.25},
    {"bulk; n = 2^40", (uint64_t)1 << 40, 8, ARRAY, 0, 1.35},
    {"bulk; n = 10^5", 100000, 1, ARRAY, 0, NO_BAR},
    {"bulk; n = 1000; all of it", 1000, 1, 1000, 0, NO_BAR},
    {"bulk; n = 10^8; 256 at a time", 100000000, 8, 256, 0, NO_BAR},
    {"bulk; n = 10^8; 32 at a time", 100000000, 8, 32, 0, NO_BAR},
    {"perm_map; n = 10^8", 100000000, 1, ARRAY, 1, NO_BAR},
    {"perm_map; n = 2^40", (uint64_t)1 << 40, 1, ARRAY, 1, NO_BAR}
};

typedef struct pair {
    const kind *kind;
    uint64_t first;
    size_t calls;
    statesampler_perm perm[KEYS];
    oldsampler_perm old[KEYS];
    uint64_t *out;
} pair;

/* Number i of a run. Lists have neighbours and distant ones. */
static uint64_t position(const pair *p, size_t i)
{
    const kind *k = p->kind;
    return k->map ? (p->first + (i << 7) + (i & 1)) % k->n
                  : p->first + i % k->count * k->stride;
}

static void pair_before(void *data)
{
    pair *p = data;
    const kind *k = p->kind;
    uint64_t span = k->stride * k->count;
    size_t i;
    p->first = p->first + 2 * span <= k->n ? p->first + span : 0;
    for (i = 0; k->map && i < ARRAY; i++)
        here(p->out)[i] = position(p, i);
}

static void new_run(void *data)
{
    const pair *p = data;
    const kind *k = p->kind;
    uint64_t *out = here(p->out);
    size_t i;
    for (i = 0; i < p->calls; i++, out += k->count) {
        if (k->map)
            statesampler_perm_map(&p->perm[i % KEYS], out, k->count);
        else
            statesampler_perm_fill(&p->perm[i % KEYS], p->first, k->stride, out,
                                   k->count);
    }
}

static void old_run(void *data)
{
    const pair *p = data;
    const kind *k = p->kind;
    uint64_t *out = here(p->out);
    size_t i;
    for (i = 0; i < p->calls; i++, out += k->count) {
        if (k->map)
            oldsampler_priv_perm_map(out, &p->old[i % KEYS], k->count);
        else
            oldsampler_perm_fill(&p->old[i % KEYS], p->first, k->stride, out,
                                 k->count);
    }
}

static void pair_check(void *data)
{
    const pair *p = data;
    size_t i, count = p->kind->count;
    for (i = 0; i < p->calls * count; i++)
        must(here(p->out)[i] == oldsampler_perm_at(&p->old[i / count % KEYS],
                                                   position(p, i)),
             "another index than that of 0.4.0");
}

static void measure(const kind *k, uint64_t *out)
{
    static pair p;
    contender c[2] = {{new_run, pair_before, pair_check, NULL, 0},
                      {old_run, pair_before, pair_check, NULL, 0}};
    double indices;
    uint64_t epoch;
    p.kind = k;
    p.first = 0;
    p.calls = ARRAY / k->count;
    p.out = out;
    for (epoch = 0; epoch < KEYS; epoch++)
        must(statesampler_perm_init(&p.perm[epoch], k->n, 1, epoch, 3) == 0 &&
                 oldsampler_perm_init(&p.old[epoch], k->n, 1, epoch, 3) == 0,
             "perm_init");
    c[0].data = c[1].data = &p;
    race(c, 2, k->bar == NO_BAR ? 0.5 : 1.5);
    indices = (double)(p.calls * k->count);
    row(k->figure, c[0].ns / indices, "ns/index", "0.4.0", c[1].ns / indices,
        k->bar);
}

int main(void)
{
    uint64_t *out = array_of(ARRAY);
    size_t i;
    for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        measure(&kinds[i], out);
    free(out);
    return 0;
}

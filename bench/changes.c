/* changes.c - the cost of a reshape, a sample's seed and a blended sample.
   Compiled with -O2. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

/* Calls per run of a race. */
enum { CALLS = 1000 };

/* The shape of a blend. */
enum { SOURCES = 16, RANKS = 8, RANK = 5, BATCH = 256 };

static statesampler_desc describe(uint32_t source)
{
    statesampler_desc d;
    memset(&d, 0, sizeof d);
    d.num_samples = 100000000 + source;
    d.seed = 1;
    d.stream = source;
    return d;
}

/* --- Seeds ---------------------------------------------------------------- */

typedef struct seeds {
    statesampler s;
    uint64_t sum;
} seeds;

static void seeds_run(void *data)
{
    seeds *all = data;
    uint64_t i;
    for (i = 0; i < CALLS; i++)
        all->sum ^= statesampler_sample_seed(&all->s, 0, i);
}

/* --- Shapes --------------------------------------------------------------- */

typedef struct shapes {
    statesampler s;
    statesampler_desc desc;
} shapes;

static void init_run(void *data)
{
    shapes *all = data;
    uint32_t i;
    for (i = 0; i < CALLS; i++) {
        all->desc.world_size = 2 + i % 7;
        must(statesampler_init(&all->s, &all->desc) == 0, "init");
    }
}

static void reshape_before(void *data)
{
    shapes *all = data;
    all->desc.world_size = 8;
    must(statesampler_init(&all->s, &all->desc) == 0, "init");
    must(statesampler_seek(&all->s, 12345) == 0, "seek");
}

static void reshape_run(void *data)
{
    shapes *all = data;
    uint32_t i;
    for (i = 0; i < CALLS; i++)
        must(statesampler_reshape(&all->s, 1, 2 + i % 7, 32) == 0, "reshape");
}

/* --- A blend: every batch mixes all sources ------------------------------- */

typedef struct blend {
    statesampler_source sources[SOURCES];
    statesampler_mix mix;
    uint64_t out[BATCH];
    uint32_t source[BATCH];
} blend;

static void blend_init(blend *b)
{
    uint32_t k;
    for (k = 0; k < SOURCES; k++) {
        statesampler_desc d = describe(k);
        must(statesampler_init(&b->sources[k].sampler, &d) == 0, "init");
        b->sources[k].weight = 1 + k;
    }
    must(statesampler_mix_init(&b->mix, b->sources, SOURCES,
                               STATESAMPLER_STOP_NEVER) == 0,
         "mix_init");
}

/* This rank's part of the next RANKS * BATCH turns: one batch. */
static void blend_run(void *data)
{
    blend *b = data;
    uint64_t first = statesampler_mix_turn(&b->mix);
    size_t count, i;
    must(statesampler_mix_seek(&b->mix, first + RANK * BATCH) == 0, "seek");
    for (i = 0; i < BATCH; i++)
        statesampler_mix_next(&b->mix, b->out + i, &count, b->source + i);
    must(statesampler_mix_seek(&b->mix, first + RANKS * BATCH) == 0, "seek");
}

static void blend_check(void *data)
{
    blend *b = data;
    uint64_t turn = statesampler_mix_turn(&b->mix) - RANKS * BATCH +
                    RANK * BATCH + BATCH - 1,
             out[1];
    uint32_t source;
    size_t count;
    must(statesampler_mix_at(&b->mix, turn, out, &count, &source) == 1 &&
             source == b->source[BATCH - 1] && out[0] == b->out[BATCH - 1],
         "a blend and mix_at differ");
}

typedef struct lone {
    statesampler_perm perm;
    uint64_t next, sum;
} lone;

static void lone_run(void *data)
{
    lone *l = data;
    uint64_t i;
    for (i = 0; i < BATCH; i++)
        l->sum ^= statesampler_perm_at(&l->perm, l->next++);
}

int main(void)
{
    static blend b;
    static shapes made, changed;
    static seeds all;
    static lone l;
    contender seed = {seeds_run, NULL, NULL, &all, 0};
    contender shape[2] = {
        {init_run, NULL, NULL, &made, 0},
        {reshape_run, reshape_before, NULL, &changed, 0},
    };
    contender mix[2] = {
        {blend_run, NULL, blend_check, &b, 0},
        {lone_run, NULL, NULL, &l, 0},
    };
    statesampler_desc d = describe(0);
    must(statesampler_init(&all.s, &d) == 0, "init");
    race(&seed, 1, 1);
    row_alone("sample_seed in a loop", seed.ns / (double)CALLS, "ns", 3);
    d.batch_size = 32;
    made.desc = changed.desc = d;
    race(shape, 2, 1);
    row("reshape", shape[1].ns / (double)CALLS, "ns", "init",
        shape[0].ns / (double)CALLS, 2);
    blend_init(&b);
    must(statesampler_perm_init(&l.perm, d.num_samples, 1, 0, 0) == 0, "perm");
    race(mix, 2, 2);
    row("a blended sample; D = 16", mix[0].ns / (double)BATCH, "ns",
        "lone perm_at", mix[1].ns / (double)BATCH, 4);
    return 0;
}

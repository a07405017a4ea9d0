/* mix.c - what a turn of a mix costs beside a batch of a plain sampler.

   Weights are all different, which takes the longest; a run is as many turns
   as fill the array with batches of 256. With ALL, 998 of 1,000 sources have
   one batch, and the two that are left pass over the rest at every turn. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 256, RANKS = 8, RANK = 5, TURNS = ARRAY / BATCH };
static const uint64_t usual = 100000000;

typedef struct turns {
    statesampler plain; /* without sources: this one's batches */
    statesampler_source *sources;
    statesampler_mix mix;
    uint32_t source; /* of the last turn */
    uint64_t *out;
} turns;

static statesampler_desc describe(uint32_t source)
{
    statesampler_desc d;
    memset(&d, 0, sizeof d);
    d.num_samples = usual + source;
    d.seed = 1;
    d.stream = source;
    d.rank = RANK;
    d.world_size = RANKS;
    d.batch_size = BATCH;
    return d;
}

/* The last batch of a run is the one before where its sampler now is. */
static void check_last(const statesampler *s, uint32_t source,
                       const uint64_t *out)
{
    statesampler_perm perm;
    uint64_t first = (statesampler_step(s) - 1) * RANKS * BATCH + RANK, i;
    must(statesampler_perm_init(&perm, usual + source, 1,
                                statesampler_epoch(s), source) == 0,
         "perm_init");
    for (i = 0; i < BATCH; i++)
        must(out[i] == statesampler_perm_at(&perm, first + i * RANKS),
             "a turn gives another index than perm_at");
}

static void plain_before(void *data)
{
    turns *t = data;
    if (statesampler_step(&t->plain) + TURNS >=
        statesampler_num_steps(&t->plain))
        must(statesampler_seek(&t->plain, 0) == 0, "seek");
}

static void plain_run(void *data)
{
    turns *t = data;
    size_t i, count;
    for (i = 0; i < TURNS; i++)
        statesampler_next(&t->plain, t->out + i * BATCH, &count);
}

static void plain_check(void *data)
{
    turns *t = data;
    check_last(&t->plain, 0, t->out + (TURNS - 1) * BATCH);
}

static void late_before(void *data)
{
    turns *t = data;
    uint64_t turn = statesampler_mix_turn(&t->mix), late = 10000;
    if (turn < late || turn + TURNS >= statesampler_mix_num_turns(&t->mix))
        must(statesampler_mix_seek(&t->mix, late) == 0, "mix_seek");
}

static void mix_run(void *data)
{
    turns *t = data;
    size_t i, count;
    for (i = 0; i < TURNS; i++)
        statesampler_mix_next(&t->mix, t->out + i * BATCH, &count,
                              &t->source);
}

static void mix_check(void *data)
{
    turns *t = data;
    check_last(&t->sources[t->source].sampler, t->source,
               t->out + (TURNS - 1) * BATCH);
}

int main(void)
{
    static const struct {
        const char *figure;
        uint32_t sources, stop;
        double bar;
    } sizes[] = {
        {"a turn of a mix; D = 2; batches of 256", 2, STATESAMPLER_STOP_NEVER, 1.3},
        {"a turn of a mix; D = 16; batches of 256", 16, STATESAMPLER_STOP_NEVER,
         1.4},
        {"a turn of a mix; D = 1000; batches of 256", 1000, STATESAMPLER_STOP_NEVER,
         2},
        {"a turn of ALL; D = 1000; 998 finished", 1000, STATESAMPLER_STOP_ALL, 0}
    };
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    static turns t[SIZES + 1];
    contender c[SIZES + 1];
    statesampler_desc d = describe(0);
    uint64_t *out = array_of(ARRAY);
    int i;
    for (i = 0; i <= SIZES; i++) {
        contender mixed = {mix_run, NULL, mix_check, NULL, 0};
        uint32_t k;
        t[i].out = out;
        if (i == SIZES) {
            contender plain = {plain_run, plain_before, plain_check, NULL, 0};
            must(statesampler_init(&t[i].plain, &d) == 0, "init");
            c[i] = plain;
        } else {
            t[i].sources = calloc(sizes[i].sources, sizeof *t[i].sources);
            must(t[i].sources != NULL, "memory");
            for (k = 0; k < sizes[i].sources; k++) {
                d = describe(k);
                if (sizes[i].stop == STATESAMPLER_STOP_ALL) {
                    mixed.before = late_before;
                    if (k < sizes[i].sources - 2)
                        d.num_samples = RANKS * BATCH;
                }
                must(statesampler_init(&t[i].sources[k].sampler, &d) == 0,
                     "init");
                t[i].sources[k].weight = 1 + k;
            }
            must(statesampler_mix_init(&t[i].mix, t[i].sources,
                                       sizes[i].sources,
                                       sizes[i].stop) == 0,
                 "mix_init");
            d = describe(0);
            c[i] = mixed;
        }
        c[i].data = &t[i];
    }
    race(c, SIZES + 1, 6);
    for (i = 0; i < SIZES; i++) {
        row(sizes[i].figure, c[i].ns / TURNS, "ns", "next",
            c[SIZES].ns / TURNS, sizes[i].bar);
        free(t[i].sources);
    }
    free(out);
    return 0;
}

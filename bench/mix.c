/* mix.c - the time of a turn of a mix, compared with a batch of a sampler.

   All weights differ, which is the slowest case. A run is as many turns as fill
   the array with batches of 256. With ALL, 998 of 1,000 sources have one batch
   each; after that, every turn skips the finished ones. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 256, RANKS = 8, RANK = 5, TURNS = ARRAY / BATCH };

/* With ALL: the number of sources with more than one batch, and a turn at which
   all others have finished. */
enum { LONG = 2, LATE = 10000 };

typedef struct turns {
    statesampler_source *sources;
    statesampler_mix mix;
    uint64_t first;  /* the earliest turn of a run */
    uint32_t source; /* of the last turn */
    uint64_t *out;
} turns;

static statesampler_desc describe(uint32_t source)
{
    statesampler_desc d;
    memset(&d, 0, sizeof d);
    d.num_samples = 100000000 + source;
    d.seed = 1;
    d.stream = source;
    d.rank = RANK;
    d.world_size = RANKS;
    d.batch_size = BATCH;
    return d;
}

static void mix_before(void *data)
{
    turns *t = data;
    uint64_t turn = statesampler_mix_turn(&t->mix);
    if (turn < t->first || turn + TURNS >= statesampler_mix_num_turns(&t->mix))
        must(statesampler_mix_seek(&t->mix, t->first) == 0, "mix_seek");
}

static void mix_run(void *data)
{
    turns *t = data;
    uint64_t *out = here(t->out);
    size_t i, count;
    for (i = 0; i < TURNS; i++)
        statesampler_mix_next(&t->mix, out + i * BATCH, &count, &t->source);
}

/* The last turn served the step before its sampler's current one. */
static void mix_check(void *data)
{
    const turns *t = data;
    const uint64_t *out = here(t->out) + (TURNS - 1) * BATCH;
    const statesampler *s = &t->sources[t->source].sampler;
    statesampler_desc d = describe(t->source);
    statesampler_perm perm;
    uint64_t first = (statesampler_step(s) - 1) * RANKS * BATCH + RANK, i;
    must(statesampler_perm_init(&perm, d.num_samples, d.seed,
                                statesampler_epoch(s), d.stream) == 0,
         "perm_init");
    for (i = 0; i < BATCH; i++)
        must(out[i] == statesampler_perm_at(&perm, first + i * RANKS),
             "a turn and perm_at differ");
}

/* Reverses the weights at turn LATE. */
static void weigh(turns *t, uint32_t sources)
{
    uint32_t *weights = malloc(sources * sizeof *weights), k;
    must(weights != NULL, "no memory");
    for (k = 0; k < sources; k++)
        weights[k] = sources - k;
    must(statesampler_mix_seek(&t->mix, LATE) == 0, "mix_seek");
    must(statesampler_mix_weigh(&t->mix, weights) == 0, "mix_weigh");
    t->first = LATE;
    free(weights);
}

static contender begin(turns *t, uint32_t sources, uint32_t stop, uint64_t *out)
{
    contender c = {mix_run, mix_before, mix_check, NULL, 0};
    uint32_t k;
    t->out = out;
    t->first = stop == STATESAMPLER_STOP_ALL ? LATE : 0;
    t->sources = calloc(sources, sizeof *t->sources);
    must(t->sources != NULL, "no memory");
    for (k = 0; k < sources; k++) {
        statesampler_desc d = describe(k);
        if (stop == STATESAMPLER_STOP_ALL && k < sources - LONG)
            d.num_samples = RANKS * BATCH;
        must(statesampler_init(&t->sources[k].sampler, &d) == 0, "init");
        t->sources[k].weight = 1 + k;
    }
    must(statesampler_mix_init(&t->mix, t->sources, sources, stop) == 0,
         "mix_init");
    c.data = t;
    return c;
}

int main(void)
{
    static const struct {
        const char *figure;
        uint32_t sources, stop;
        double bar;
        int weighed; /* call mix_weigh first */
    } sizes[] = {
        {"a turn of a mix; D = 2; batches of 256", 2, STATESAMPLER_STOP_NEVER,
         1.3, 0},
        {"a turn of a mix; D = 16; batches of 256", 16, STATESAMPLER_STOP_NEVER,
         1.4, 0},
        {"a turn of a mix; D = 16; after mix_weigh", 16,
         STATESAMPLER_STOP_NEVER, 1.4, 1},
        {"a turn of a mix; D = 1000; batches of 256", 1000,
         STATESAMPLER_STOP_NEVER, 2, 0},
        {"a turn of ALL; D = 1000; 998 finished", 1000, STATESAMPLER_STOP_ALL,
         NO_BAR, 0},
    };
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    static turns t[SIZES];
    contender c[SIZES + 1];
    batches plain;
    statesampler_desc d = describe(0);
    uint64_t *out = array_of(ARRAY);
    int i;
    for (i = 0; i < SIZES; i++) {
        c[i] = begin(&t[i], sizes[i].sources, sizes[i].stop, out);
        if (sizes[i].weighed)
            weigh(&t[i], sizes[i].sources);
    }
    batches_init(&plain, &d, out);
    c[SIZES] = batches_contender(&plain);
    race(c, SIZES + 1, 6);
    for (i = 0; i < SIZES; i++) {
        row(sizes[i].figure, c[i].ns / (double)TURNS, "ns", "next",
            batches_per_batch(&c[SIZES]), sizes[i].bar);
        free(t[i].sources);
    }
    free(out);
    return 0;
}

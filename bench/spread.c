/* spread.c - the cost of batches without two of a group: of data that is sorted
   by group, of data that is listed, and of the list. */
#include "bench.h"
#include "examples/extras/spread.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 256, RANKS = 8, RANK = 5, LARGEST = 20 };

/* A rank's batches: shuffled and looked up in a list, or spread. */
typedef struct spreads {
    statesampler sampler;
    spread s;
    const uint64_t *list; /* or NULL */
    uint64_t begun, *out;
    int is_spread;
} spreads;

static void spreads_run(void *data)
{
    spreads *p = data;
    uint64_t *out = here(p->out);
    size_t i, k;
    for (i = 0; i < ARRAY; i += BATCH, out += BATCH) {
        statesampler_next(&p->sampler, out, NULL);
        if (p->is_spread)
            spread_map(&p->s, out, BATCH);
        for (k = 0; k < BATCH && p->list != NULL; k++)
            out[k] = p->list[out[k]];
    }
}

static void spreads_before(void *data)
{
    spreads *p = data;
    if (statesampler_step(&p->sampler) + ARRAY / BATCH >=
        statesampler_num_steps(&p->sampler))
        statesampler_begin(&p->sampler, 0);
    p->begun = statesampler_step(&p->sampler);
}

/* One position after the other. */
static void spreads_check(void *data)
{
    const spreads *p = data;
    const uint64_t *out = here(p->out);
    uint64_t i, one;
    for (i = 0; i < ARRAY; i++) {
        one = ((p->begun + i / BATCH) * BATCH + i % BATCH) * RANKS + RANK;
        spread_map(&p->s, &one, 1);
        must(out[i] == one, "spread_map of one and of many differ");
    }
}

/* Groups of 1 to LARGEST samples, which lie anywhere in the data. */
typedef struct listing {
    statesampler_perm order;
    uint64_t groups, samples, *ids, *members, *work;
} listing;

static void listing_run(void *data)
{
    listing *l = data;
    must(spread_list(&l->order, l->ids, l->samples, l->groups, l->members,
                     l->work) == LARGEST,
         "the largest group");
}

static void listing_init(listing *l, uint64_t groups)
{
    uint64_t group, i;
    l->groups = groups;
    for (group = l->samples = 0; group < groups; group++)
        l->samples += 1 + splitmix(group) % LARGEST;
    l->ids = array_of(l->samples);
    l->members = array_of(l->samples);
    l->work = array_of(groups);
    must(statesampler_perm_init(&l->order, l->samples, 1, 0, 0) == 0, "perm");
    statesampler_perm_fill(&l->order, 0, 1, l->members, l->samples);
    for (group = i = 0; group < groups; group++) {
        uint64_t end = i + 1 + splitmix(group) % LARGEST;
        for (; i < end; i++)
            l->ids[l->members[i]] = group;
    }
}

static void measure(const char *figure, const char *against, const listing *l,
                    const uint64_t *list, uint64_t *out, double bar)
{
    static spreads p[2];
    contender c[2];
    statesampler_desc d;
    int i;
    memset(&d, 0, sizeof d);
    memset(p, 0, sizeof p);
    d.num_samples = l->samples;
    d.rank = RANK;
    d.world_size = RANKS;
    d.batch_size = BATCH;
    for (i = 0; i < 2; i++) {
        d.order =
            i ? STATESAMPLER_ORDER_SEQUENTIAL : STATESAMPLER_ORDER_SHUFFLE;
        must(statesampler_init(&p[i].sampler, &d) == 0, "init");
        p[i].out = out;
        p[i].is_spread = i;
        c[i].run = spreads_run;
        c[i].before = spreads_before;
        c[i].check = i ? spreads_check : NULL;
        c[i].data = &p[i];
    }
    p[0].list = list;
    p[1].s.members = list;
    p[1].s.samples = l->samples;
    p[1].s.largest = LARGEST;
    p[1].s.apart = RANKS * BATCH;
    must(spread_begin(&p[1].s) == 0, "begin");
    race(c, 2, 2);
    row(figure, c[1].ns / ARRAY, "ns/index", against, c[0].ns / ARRAY, bar);
}

static void listing_free(listing *l)
{
    free(l->ids);
    free(l->members);
    free(l->work);
}

int main(void)
{
    uint64_t *out = array_of(ARRAY);
    contender c = {listing_run, NULL, NULL, NULL, 0};
    listing l;
    listing_init(&l, quick() ? 100000 : 1000000);
    listing_run(&l);
    measure("spread; a batch of 256; 10^6 groups; sorted", "next", &l, NULL,
            out, 3);
    measure("spread; a batch of 256; 10^6 groups; listed", "next and a list",
            &l, l.members, out, 3);
    listing_free(&l);
    listing_init(&l, 100000);
    c.data = &l;
    race(&c, 1, 1);
    row_plain("spread; to list 10^5 groups for an epoch; a sample",
              c.ns / (double)l.samples, "ns");
    listing_free(&l);
    free(out);
    return 0;
}

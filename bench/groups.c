/* groups.c - the cost of groups of copies: a rank's part of a step. */
#include "bench.h"
#include "examples/groups.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 256, RANKS = 8, RANK = 5 };

typedef struct parts {
    groups g;
    statesampler s;
    statesampler_perm order;
    uint64_t at, *out;
} parts;

static void parts_run(void *data)
{
    parts *p = data;
    uint64_t *out = here(p->out);
    size_t i;
    p->at = statesampler_position(&p->s);
    for (i = 0; i < ARRAY; i += BATCH) {
        groups_fill(&p->g, &p->order,
                    statesampler_position(&p->s) + RANK * BATCH, out + i,
                    BATCH);
        must(statesampler_next(&p->s, NULL, NULL) == 1, "the epoch has ended");
    }
}

static void parts_before(void *data)
{
    parts *p = data;
    if (statesampler_step(&p->s) + ARRAY / BATCH > statesampler_num_steps(&p->s))
        statesampler_begin(&p->s, 0);
}

static void parts_check(void *data)
{
    const parts *p = data;
    const uint64_t *out = here(p->out);
    uint64_t i, position;
    for (i = 0; i < ARRAY; i++) {
        position = p->at + (i / BATCH * RANKS + RANK) * BATCH + i % BATCH;
        must(out[i] == statesampler_perm_at(
                           &p->order, groups_place(&p->g, position)),
             "groups_fill and groups_place differ");
    }
}

static void measure(const char *figure, uint64_t copies, uint64_t *out,
                    double bar)
{
    static parts p;
    batches b;
    contender c[2];
    statesampler_desc d;
    memset(&d, 0, sizeof d);
    d.num_samples = p.g.prompts = 100000000;
    d.rank = RANK;
    d.world_size = RANKS;
    d.batch_size = BATCH;
    batches_init(&b, &d, out);
    c[0] = batches_contender(&b);
    p.g.copies = copies;
    p.g.batch = 1024;
    p.g.reuse = 4;
    p.out = out;
    must(statesampler_perm_init(&p.order, p.g.prompts, 0, 0, 0) == 0, "perm");
    d.num_samples = groups_positions(&p.g);
    d.order = STATESAMPLER_ORDER_SEQUENTIAL;
    d.rank = 0;
    d.world_size = 1;
    d.batch_size = RANKS * BATCH;
    must(statesampler_init(&p.s, &d) == 0, "init");
    c[1].run = parts_run;
    c[1].before = parts_before;
    c[1].check = parts_check;
    c[1].data = &p;
    race(c, 2, 2);
    row(figure, c[1].ns / ARRAY, "ns/index", "next", c[0].ns / ARRAY, bar);
}

int main(void)
{
    uint64_t *out = array_of(ARRAY);
    measure("groups of 8; a rank's part of 256", 8, out, 1.2);
    measure("groups of 2; a rank's part of 256", 2, out, 1.2);
    free(out);
    return 0;
}

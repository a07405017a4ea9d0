/* groups.c - the cost of groups of copies: a rank's part of a step. */
#include "bench.h"
#include "examples/extras/groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 8, RANK = 5 };

typedef struct parts {
    groups g;
    statesampler s;
    statesampler_perm order;
    uint64_t at, part, *out;
} parts;

static void parts_run(void *data)
{
    parts *p = data;
    uint64_t *out = here(p->out);
    size_t i;
    p->at = statesampler_position(&p->s);
    for (i = 0; i < ARRAY; i += p->part) {
        groups_fill(&p->g, &p->order,
                    statesampler_position(&p->s) + RANK * p->part, out + i,
                    p->part);
        must(statesampler_next(&p->s, NULL, NULL) == 1, "the epoch has ended");
    }
}

static void parts_before(void *data)
{
    parts *p = data;
    if (statesampler_step(&p->s) + ARRAY / p->part >
        statesampler_num_steps(&p->s))
        statesampler_begin(&p->s, 0);
}

static void parts_check(void *data)
{
    const parts *p = data;
    const uint64_t *out = here(p->out);
    uint64_t i, position;
    for (i = 0; i < ARRAY; i++) {
        position = p->at + (i / p->part * RANKS + RANK) * p->part + i % p->part;
        must(out[i] ==
                 statesampler_perm_at(&p->order, groups_place(&p->g, position)),
             "groups_fill and groups_place differ");
    }
}

static void measure(uint64_t copies, uint32_t part, uint64_t *out)
{
    static parts p;
    batches b;
    contender c[2];
    statesampler_desc d;
    char figure[64];
    memset(&d, 0, sizeof d);
    d.num_samples = p.g.prompts = 100000000;
    d.rank = RANK;
    d.world_size = RANKS;
    d.batch_size = part;
    batches_init(&b, &d, out);
    c[0] = batches_contender(&b);
    p.g.copies = copies;
    p.g.batch = 1024;
    p.g.reuse = 4;
    p.part = part;
    p.out = out;
    must(statesampler_perm_init(&p.order, p.g.prompts, 0, 0, 0) == 0, "perm");
    d.num_samples = groups_positions(&p.g);
    d.order = STATESAMPLER_ORDER_SEQUENTIAL;
    d.rank = 0;
    d.world_size = 1;
    d.batch_size = RANKS * part;
    must(statesampler_init(&p.s, &d) == 0, "init");
    c[1].run = parts_run;
    c[1].before = parts_before;
    c[1].check = parts_check;
    c[1].data = &p;
    race(c, 2, 1);
    sprintf(figure, "groups of %d; a rank's part of %d", (int)copies,
            (int)part);
    row(figure, c[1].ns / ARRAY, "ns/index", "next", c[0].ns / ARRAY, 1.2);
}

int main(void)
{
    static const uint64_t copies[] = {1, 2, 3, 6, 8};
    uint64_t *out = array_of(ARRAY);
    size_t i;
    for (i = 0; i < sizeof copies / sizeof *copies; i++) {
        measure(copies[i], 16, out);
        measure(copies[i], 256, out);
    }
    free(out);
    return 0;
}

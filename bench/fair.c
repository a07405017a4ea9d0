/* fair.c - the fair comparison: a table of 32-bit indices that each epoch fills
   anew, with a state of seed, epoch and position. It takes some twenty lines,
   and below a million samples on one process it does the job. Rows and the
   README's figures say what it costs, and what it cannot do. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 256 };

/* --- the table ------------------------------------------------------------ */

typedef struct fair {
    uint64_t seed, epoch, position; /* the state */
    uint32_t n, *table;
} fair;

static void fair_begin(fair *f, uint64_t epoch)
{
    uint64_t x = splitmix(f->seed + epoch);
    uint32_t i, j;
    f->epoch = epoch;
    f->position = 0;
    for (i = 0; i < f->n; i++) {
        x = splitmix(x);
        j = (uint32_t)((x >> 32) * (i + 1) >> 32);
        f->table[i] = f->table[j];
        f->table[j] = i;
    }
}

static size_t fair_next(fair *f, uint64_t *out, uint32_t rank, uint32_t ranks)
{
    uint64_t i = f->position + rank;
    size_t count = 0;
    for (; count < BATCH && i < f->n; i += ranks)
        out[count++] = f->table[i];
    f->position += (uint64_t)BATCH * ranks;
    return count;
}

/* --- the first batch ------------------------------------------------------ */

typedef struct pair {
    fair f;
    statesampler_desc desc;
    uint64_t out[BATCH];
} pair;

static void fair_run(void *data)
{
    pair *p = data;
    fair_begin(&p->f, p->f.epoch + 1);
    must(fair_next(&p->f, p->out, 0, 1) == BATCH, "a table's batch");
}

static void ours_run(void *data)
{
    pair *p = data;
    statesampler s;
    p->desc.epoch++;
    must(statesampler_init(&s, &p->desc) == 0 &&
             statesampler_next(&s, p->out, NULL) == 1,
         "our batch");
}

static void fair_check(void *data)
{
    const pair *p = data;
    statesampler_audit audit = {0, 0, 0, 0};
    uint32_t i;
    for (i = 0; i < p->f.n; i++) {
        const uint64_t index = p->f.table[i];
        statesampler_audit_add(&audit, &index, 1);
    }
    must(statesampler_audit_check(&audit, p->f.n) == 1, "a table's epoch");
}

static void first_batch(const char *name, uint32_t n)
{
    char figure[100];
    contender c[2] = {
        {ours_run, NULL, NULL, NULL, 0},
        {fair_run, NULL, fair_check, NULL, 0},
    };
    static pair p;
    memset(&p, 0, sizeof p);
    p.f.n = n;
    p.f.table = malloc(n * sizeof p.f.table[0]);
    must(p.f.table != NULL, "no memory");
    p.desc.num_samples = n;
    p.desc.batch_size = BATCH;
    c[0].data = c[1].data = &p;
    race(c, 2, 2);
    snprintf(figure, sizeof figure, "first batch of an epoch; n = %s", name);
    row(figure, c[0].ns, "ns", "a 32-bit table", c[1].ns, NO_BAR);
    snprintf(figure, sizeof figure, "fair %s", name);
    headline(figure, "statesampler", c[0].ns, "ns");
    headline(figure, "table", c[1].ns, "ns");
    snprintf(figure, sizeof figure, "fair memory %s", name);
    headline(figure, "statesampler", (double)sizeof(statesampler), "bytes");
    headline(figure, "table", (double)n * sizeof p.f.table[0], "bytes");
    free(p.f.table);
}

/* --- other numbers of ranks ----------------------------------------------- */

/* Whether all ranks have the same number of samples from a state on. */
static int ours_is_even(const statesampler *from, uint32_t ranks)
{
    statesampler_counts first, last;
    statesampler s = *from;
    must(statesampler_reshape(&s, 0, ranks, BATCH) == 0, "reshape");
    statesampler_get_counts(&s, &first);
    must(statesampler_reshape(&s, ranks - 1, ranks, BATCH) == 0, "reshape");
    statesampler_get_counts(&s, &last);
    return first.rank_samples == last.rank_samples;
}

/* Every step of an epoch on 1 to 8 ranks, and every other number of ranks to go
   on with. */
static void other_ranks(void)
{
    unsigned long changes = 0, table = 0, ours = 0;
    uint32_t from, to;
    char value[40];
    for (from = 1; from <= 8; from++) {
        statesampler_desc desc;
        statesampler s;
        memset(&desc, 0, sizeof desc);
        desc.num_samples = 50000;
        desc.world_size = from;
        desc.batch_size = BATCH;
        must(statesampler_init(&s, &desc) == 0, "init");
        while (statesampler_next(&s, NULL, NULL)) {
            const uint64_t position = statesampler_position(&s);
            for (to = 1; to <= 8 && position < 50000; to++) {
                if (to == from)
                    continue;
                changes++;
                table += (50000 - position) % to != 0;
                ours += !ours_is_even(&s, to);
            }
        }
    }
    must(ours == 0, "equal shares");
    snprintf(value, sizeof value, "of %lu", changes);
    row_plain("changes of ranks; unequal shares by a table", (double)table,
              value);
    row_plain("changes of ranks; unequal shares by statesampler", (double)ours,
              value);
    headline("fair uneven", "statesampler", (double)ours, value);
    headline("fair uneven", "table", (double)table, value);
}

int main(void)
{
    first_batch("50;000", 50000);
    first_batch("1.28 million", 1280000);
    first_batch("10^7", quick() ? 1000000 : 10000000);
    first_batch("10^8", quick() ? 1000000 : 100000000);
    other_ranks();
    return 0;
}

/* tables.c - what is done without a bijection: a table that Fisher and Yates's
   shuffle fills, on every rank, and shuf of coreutils. Rows, and the points
   of their lines in the plots. */
#define _POSIX_C_SOURCE 200809L

#include "bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 8, BATCH = 256 };

typedef struct table {
    uint64_t *indices;
    size_t n, builds; /* small tables are built several times in a run */
    uint64_t seed;
    uint64_t *out;    /* a batch of so many, for a rank, from here on */
    size_t batch, first;
} table;

static void build_run(void *data)
{
    table *t = data;
    size_t i;
    for (i = 0; i < t->builds; i++)
        fisher_yates(t->indices, t->n, ++t->seed);
}

static void build_check(void *data)
{
    const table *t = data;
    statesampler_audit audit = {0, 0, 0, 0};
    statesampler_audit_add(&audit, t->indices, t->n);
    must(statesampler_audit_check(&audit, t->n) == 1, "Fisher-Yates");
}

static void table_init(table *t, size_t n, uint64_t *out)
{
    memset(t, 0, sizeof *t);
    t->indices = array_of(n);
    t->n = n;
    t->builds = n < ARRAY ? ARRAY / n : 1;
    t->out = out;
}

static contender build_contender(table *t)
{
    contender c = {build_run, NULL, build_check, NULL, 0};
    c.data = t;
    return c;
}

/* As a loader reads its rank's share, batch by batch. */
static void read_batch(const table *t, size_t first, uint64_t *out)
{
    size_t i;
    for (i = 0; i < t->batch; i++)
        out[i] = t->indices[first + i * RANKS];
}

static void read_before(void *data)
{
    table *t = data;
    t->first += ARRAY * RANKS;
    if (t->first + ARRAY * RANKS > t->n)
        t->first = 0;
}

static void read_run(void *data)
{
    const table *t = data;
    size_t i;
    for (i = 0; i < ARRAY; i += t->batch)
        read_batch(t, t->first + i * RANKS, t->out + i);
}

static void read_check(void *data)
{
    const table *t = data;
    size_t i;
    for (i = 0; i < ARRAY; i++)
        must(t->out[i] == t->indices[t->first + i * RANKS], "a table's batch");
}

static contender read_contender(table *t, size_t batch)
{
    contender c = {read_run, read_before, read_check, NULL, 0};
    t->batch = batch;
    c.data = t;
    return c;
}

/* A table of n in three rows, side by side with ours. */
static void measure_table(const char *name, size_t n, int plot)
{
    char figure[100];
    uint64_t *out = array_of(ARRAY);
    size_t batch;
    double built, ours;
    table t;
    bulk b;
    contender c[2];
    if (!memory_for((double)n * 8)) {
        snprintf(figure, sizeof figure, "Fisher-Yates; n = %s", name);
        row_missing(figure, "it needs more memory");
        return;
    }
    table_init(&t, n, out);
    c[0] = build_contender(&t);
    race(c, 1, 2);
    built = c[0].ns / (double)n;
    bulk_init(&b, n, RANKS, out, ARRAY);
    c[0] = read_contender(&t, ARRAY);
    c[1] = bulk_contender(&b);
    race(c, 2, 2);
    ours = bulk_per_index(&c[1]);
    snprintf(figure, sizeof figure, "Fisher-Yates; n = %s; to build", name);
    row(figure, built, "ns/index", "bulk", ours, 0);
    snprintf(figure, sizeof figure, "Fisher-Yates; n = %s; to read", name);
    row(figure, c[0].ns / ARRAY, "ns/index", "bulk", ours, 0);
    snprintf(figure, sizeof figure, "Fisher-Yates; n = %s; its table", name);
    row_alone(figure, (double)n * 8, "bytes", -1);
    for (batch = 1; plot && batch <= ARRAY; batch *= 2) {
        c[0] = read_contender(&t, batch);
        race(c, 1, 0.2);
        point("batch", "Fisher-Yates", (double)batch, c[0].ns / ARRAY);
    }
    free(t.indices);
    free(out);
}

static void plot_sizes(void)
{
    size_t power, n;
    int half;
    for (power = 10; power <= 100000000; power *= 10)
        for (half = 0; half < 2; half++) {
            table t;
            contender c;
            n = half == 0 ? power : 3 * power;
            if (n > 100000000 || (quick() && n > 1000000) ||
                !memory_for((double)n * 8))
                continue;
            table_init(&t, n, NULL);
            c = build_contender(&t);
            race(&c, 1, 0.2);
            point("n", "Fisher-Yates", (double)n,
                  c.ns / (double)(n * t.builds));
            point("bytes", "Fisher-Yates", (double)n, (double)n * 8);
            free(t.indices);
        }
}

/* --- resuming --- */

/* The table is lost with the process: it is built again, then read from the
   position on. */
static void rebuild_run(void *data)
{
    table *t = data;
    fisher_yates(t->indices, t->n, t->seed);
    read_batch(t, t->first, t->out);
}

typedef struct resumption {
    statesampler_desc desc;
    unsigned char state[STATESAMPLER_STATE_BYTES];
    uint64_t first;
    uint64_t out[BATCH];
} resumption;

enum { RESUMPTIONS = 64 };

static void resume_run(void *data)
{
    resumption *r = data;
    int i, code = 0;
    for (i = 0; i < RESUMPTIONS; i++) {
        statesampler s;
        size_t count;
        code |= statesampler_init(&s, &r->desc);
        code |= statesampler_load(&s, r->state, sizeof r->state);
        code |= statesampler_next(&s, r->out, &count) != 1 || count != BATCH;
    }
    must(code == 0, "a resume");
}

static void resume_check(void *data)
{
    const resumption *r = data;
    statesampler_perm perm;
    uint64_t i;
    must(statesampler_perm_init(&perm, r->desc.num_samples, 0, 0, 0) == 0,
         "perm_init");
    for (i = 0; i < BATCH; i++)
        must(r->out[i] == statesampler_perm_at(&perm, r->first + i * RANKS),
             "the batch after a resume");
}

static void plot_resume(void)
{
    static resumption r;
    uint64_t out[BATCH], step;
    const size_t n = quick() ? 100000 : 10000000;
    table t;
    table_init(&t, n, out);
    t.batch = BATCH;
    r.desc.num_samples = n;
    r.desc.world_size = RANKS;
    r.desc.batch_size = BATCH;
    for (step = 1; step < n / (RANKS * BATCH); step *= 4) {
        contender c[2] = {{resume_run, NULL, resume_check, NULL, 0},
                          {rebuild_run, NULL, build_check, NULL, 0}};
        statesampler s;
        must(statesampler_init(&s, &r.desc) == 0, "init");
        must(statesampler_seek(&s, step) == 0, "seek");
        must(statesampler_save(&s, r.state, sizeof r.state) == 0, "save");
        r.first = step * RANKS * BATCH;
        t.first = (size_t)r.first;
        c[0].data = &r;
        c[1].data = &t;
        race(c, 2, 0.5);
        point("resume", "statesampler", (double)r.first,
              c[0].ns / RESUMPTIONS / 1e9);
        point("resume", "Fisher-Yates", (double)r.first, c[1].ns / 1e9);
    }
    free(t.indices);
}

/* --- shuf --- */

static const size_t shuf_n = 1000000;

static void shuf_run(void *data)
{
    int *status = data;
    pid_t child = fork();
    if (child == 0) {
        char range[32];
        int null = open("/dev/null", O_WRONLY);
        snprintf(range, sizeof range, "0-%lu", (unsigned long)shuf_n - 1);
        dup2(null, 1);
        execlp("shuf", "shuf", "-i", range, (char *)NULL);
        _exit(127);
    }
    must(child > 0 && waitpid(child, status, 0) == child, "fork");
}

static void measure_shuf(void)
{
    static const char figure[] = "shuf -i; n = 10^6; process and all";
    contender c = {shuf_run, NULL, NULL, NULL, 0};
    int status = 0;
    c.data = &status;
    race(&c, 1, 2);
    if (status == 0) {
        row_alone(figure, c.ns / (double)shuf_n, "ns/index", -1);
        point("n", "shuf -i", (double)shuf_n, c.ns / (double)shuf_n);
    } else
        row_missing(figure, "shuf is not here");
}

int main(void)
{
    measure_table("10^6", 1000000, 0);
    measure_table("10^8", quick() ? 3000000 : 100000000, 1);
    measure_shuf();
    plot_sizes();
    plot_resume();
    return 0;
}

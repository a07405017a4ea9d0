/* tables.c - the alternatives in C: a Fisher-Yates table on every rank, and
   shuf of coreutils. Prints rows, points of the plots, and the README's figures
   for statesampler and a table. */
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
    size_t n, builds; /* a run builds small tables several times */
    uint64_t seed;
    uint64_t *out;       /* from array_of */
    size_t batch, first; /* a rank's batches of this size, from first on */
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

/* Reads one batch of a rank's share. */
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
        read_batch(t, t->first + i * RANKS, here(t->out) + i);
}

static void read_check(void *data)
{
    const table *t = data;
    const uint64_t *out = here(t->out);
    size_t i;
    for (i = 0; i < ARRAY; i++)
        must(out[i] == t->indices[t->first + i * RANKS], "a table's batch");
}

static contender read_contender(table *t, size_t batch)
{
    contender c = {read_run, read_before, read_check, NULL, 0};
    t->batch = batch;
    c.data = t;
    return c;
}

/* Three rows for a table of n, and the points of its batches. */
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
        row_missing(figure, "not enough memory");
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
    row(figure, built, "ns/index", "bulk", ours, NO_BAR);
    snprintf(figure, sizeof figure, "Fisher-Yates; n = %s; to read", name);
    row(figure, c[0].ns / ARRAY, "ns/index", "bulk", ours, NO_BAR);
    snprintf(figure, sizeof figure, "Fisher-Yates; n = %s; its table", name);
    row_plain(figure, (double)n * 8, "bytes");
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
            if (n > 100000000 || (quick() && n > 100000) ||
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

/* --- a rank's first, next and resumed batch --- */

/* The table was lost with the process, so it is built again. */
static void rebuild_run(void *data)
{
    table *t = data;
    fisher_yates(t->indices, t->n, t->seed);
    read_batch(t, t->first, here(t->out));
}

/* A rank that starts, or resumes from a state. */
typedef struct process {
    statesampler_desc desc;
    unsigned char state[STATESAMPLER_STATE_BYTES];
    int resumes;
    uint64_t first;
    uint64_t *out;
} process;

/* Timed together, because one may be shorter than a clock tick. */
enum { PROCESSES = 64 };

static void process_run(void *data)
{
    process *p = data;
    int i, good = 1;
    for (i = 0; i < PROCESSES; i++) {
        statesampler s;
        size_t count;
        good &= statesampler_init(&s, &p->desc) == 0;
        if (p->resumes)
            good &= statesampler_load(&s, p->state, sizeof p->state) == 0;
        good &=
            statesampler_next(&s, here(p->out), &count) == 1 && count == BATCH;
    }
    must(good, "first batch");
}

static void process_check(void *data)
{
    const process *p = data;
    statesampler_perm perm;
    uint64_t i;
    must(statesampler_perm_init(&perm, p->desc.num_samples, 0, 0, 0) == 0,
         "perm_init");
    for (i = 0; i < BATCH; i++)
        must(here(p->out)[i] ==
                 statesampler_perm_at(&perm, p->first + i * RANKS),
             "first batch, or batch after a resume");
}

static void process_init(process *p, uint64_t n, uint64_t *out)
{
    memset(p, 0, sizeof *p);
    p->desc.num_samples = n;
    p->desc.world_size = RANKS;
    p->desc.batch_size = BATCH;
    p->out = out;
}

/* Makes it resume at this step. */
static void process_stop_at(process *p, uint64_t step)
{
    statesampler s;
    must(statesampler_init(&s, &p->desc) == 0, "init");
    must(statesampler_seek(&s, step) == 0, "seek");
    must(statesampler_save(&s, p->state, sizeof p->state) == 0, "save");
    p->resumes = 1;
    p->first = step * RANKS * BATCH;
}

/* Seconds to the first batch: ours and a table's. */
static void race_processes(double seconds[2], process *p, table *t)
{
    contender c[2] = {
        {process_run, NULL, process_check, NULL, 0},
        {rebuild_run, NULL, build_check, NULL, 0},
    };
    t->first = (size_t)p->first;
    t->batch = BATCH;
    c[0].data = p;
    c[1].data = t;
    race(c, 2, 0.5);
    seconds[0] = c[0].ns / (double)PROCESSES / 1e9;
    seconds[1] = c[1].ns / 1e9;
}

static const size_t usual = 10000000;

static size_t usual_or_less(void)
{
    return quick() ? usual / 100 : usual;
}

static void plot_resume(void)
{
    uint64_t *out = array_of(BATCH), step;
    const size_t n = usual_or_less();
    table t;
    process p;
    double seconds[2];
    table_init(&t, n, out);
    process_init(&p, n, out);
    for (step = 1; step < n / (RANKS * BATCH); step *= 4) {
        process_stop_at(&p, step);
        race_processes(seconds, &p, &t);
        point("resume", "statesampler", (double)p.first, seconds[0]);
        point("resume", "Fisher-Yates", (double)p.first, seconds[1]);
    }
    free(t.indices);
    free(out);
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
        row_plain(figure, c.ns / (double)shuf_n, "ns/index");
        point("n", "shuf -i", (double)shuf_n, c.ns / (double)shuf_n);
    } else
        row_missing(figure, "shuf is not installed");
}

int main(void)
{
    measure_table("10^6", 1000000, 0);
    measure_table("10^8", quick() ? 300000 : 100000000, 1);
    measure_shuf();
    plot_sizes();
    plot_resume();
    return 0;
}

/* bench.c - what `make trainer-bench` measures: one leaf, its parts, and
   the reduction, each beside a yardstick from the same run. A row is a figure,
   what it is compared with, their ratio, the bar, and whether it is met. Times
   are the smallest of many: processor time where a process works alone, so that
   others on the machine count for less, and the clock's for the reduction. Run
   by mpirun on two processes. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include "agree.h"
#include "config.h"
#include "memory.h"
#include "run.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURNS = 12 };

static const model_shape shape = {4, 4, 128, 512, 128};
static const model_shape deep = {8, 4, 128, 512, 128};
static int rank;
static unsigned char bytes[129];

static double seconds_of(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* sign: of the bar, >= or <=. */
static void row(const char *what, const char *than, double ratio,
                const char *sign, double bar, int met)
{
    if (rank == 0)
        printf("| %s | %s | %.3g | %s %g | %s |\n", what, than, ratio, sign,
               bar, met ? "met" : "MISSED");
}

static void at_least(const char *what, const char *than, double ratio,
                     double bar)
{
    row(what, than, ratio, ">=", bar, ratio >= bar);
}

static void at_most(const char *what, const char *than, double ratio,
                    double bar)
{
    row(what, than, ratio, "<=", bar, ratio <= bar);
}

/* ---- One leaf ---- */

static void drop(void *context, size_t tensor, const real *gradient)
{
    (void)context;
    (void)tensor;
    (void)gradient;
}

static double leaf_time(const model_shape *s, size_t splits, int half)
{
    double best = 1e9, start;
    model m;
    int i;

    model_init(&m, s, splits, half);
    model_fill(&m, 1);
    for (i = 0; i < TURNS; i++) {
        start = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        model_leaf(&m, bytes, half ? 1024 : 1, drop, NULL);
        start = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - start;
        best = start < best ? start : best;
    }
    return best;
}

/* As allocated. */
static double activation_bytes(size_t splits, int half)
{
    const size_t before = memory_taken[MEMORY_ACTIVATIONS];
    model m;

    model_init(&m, &deep, splits, half);
    return (double)(memory_taken[MEMORY_ACTIVATIONS] - before);
}

/* A linear layer's three products. */
static void three(real *a, real *b, real *c, size_t rows, size_t in, size_t out)
{
    multiply(c, out, (matrix){a, in, 0}, (matrix){b, in, 1}, rows, out, in, 1);
    multiply(b, in, (matrix){c, out, 1}, (matrix){a, in, 0}, out, in, rows, 1);
    multiply(a, in, (matrix){c, out, 0}, (matrix){b, in, 0}, rows, in, out, 1);
}

/* The products of a leaf and nothing else. */
static void products(real *a, real *b, real *c)
{
    const size_t rows = shape.context, width = shape.width;
    const size_t depth = width / shape.heads;
    size_t block, h;

    for (block = 0; block < shape.layers; block++) {
        three(a, b, c, rows, width, 3 * width);
        three(a, b, c, rows, width, width);
        three(a, b, c, rows, width, shape.mlp);
        three(a, b, c, rows, shape.mlp, width);
        for (h = 0; h < 2 * shape.heads; h++) { /* 2 ways of 2, 1 and 1 */
            multiply(c, rows, (matrix){a, 3 * width, 0},
                     (matrix){b, 3 * width, 1}, rows, rows, depth, 1);
            multiply(c, width, (matrix){a, rows, 0}, (matrix){b, 3 * width, 0},
                     rows, depth, rows, 1);
            multiply(c, width, (matrix){a, rows, 1}, (matrix){b, 3 * width, 0},
                     rows, depth, rows, 1);
        }
    }
    three(a, b, c, rows, width, MODEL_BYTES);
}

static double products_time(void)
{
    const size_t room = 128 * 512 * 2;
    real *a = (real *)memory_take(MEMORY_WORK, room, sizeof(real));
    real *b = (real *)memory_take(MEMORY_WORK, room, sizeof(real));
    real *c = (real *)memory_take(MEMORY_WORK, room, sizeof(real));
    double best = 1e9, start;
    int i;

    for (i = 0; i < TURNS; i++) {
        start = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        products(a, b, c);
        start = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - start;
        best = start < best ? start : best;
    }
    return best;
}

/* ---- The reduction ---- */

enum { FLOATS, INTEGERS };

/* A step's sums, and MPI's of as many floats: in turns, so that they meet the
   same machine, and after a leaf, which leaves the caches as in a step. */
static void reduction_times(model *m, double best[2])
{
    static reduce r;
    void *floats = memory_take(MEMORY_WORK, m->num_weights, sizeof(float));
    double start;
    int i;

    reduce_init(&r, m, &config_defaults);
    best[FLOATS] = best[INTEGERS] = 1e9;
    for (i = 0; i < 8 * TURNS; i++) {
        const int kind = i % 2;

        if (kind == INTEGERS)
            reduce_begin(&r, 1, 1, 1);
        model_leaf(m, bytes, 1, drop, NULL);
        MPI_Barrier(MPI_COMM_WORLD);
        start = seconds_of(CLOCK_MONOTONIC);
        if (kind == INTEGERS)
            reduce_finish(&r);
        else
            MPI_Allreduce(MPI_IN_PLACE, floats, (int)m->num_weights, MPI_FLOAT,
                          MPI_SUM, MPI_COMM_WORLD);
        start = seconds_of(CLOCK_MONOTONIC) - start;
        best[kind] = start < best[kind] ? start : best[kind];
    }
}

static double rounding_time(size_t count)
{
    int64_t *sums = (int64_t *)memory_take(MEMORY_WORK, count, 8);
    real *values = (real *)memory_take(MEMORY_WORK, count, sizeof(real));
    double best = 1e9, start;
    int i;

    for (i = 0; i < TURNS; i++) {
        start = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        reduce_round(sums, values, count, 1);
        start = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - start;
        best = start < best ? start : best;
    }
    return best;
}

/* Waits for the others without taking a core. */
static void wait_asleep(void)
{
    const struct timespec nap = {0, 1000000};
    MPI_Request request;
    int done = 0;

    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    while (!done) { /* ends when all have come */
        nanosleep(&nap, NULL);
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
}

/* A step of 16 leaves by the clock: by one process, by both. */
static void step_times(model *m, double best[2])
{
    int64_t *sums = (int64_t *)memory_take(MEMORY_WORK, m->num_weights, 8);
    double start;
    int i, leaf;

    best[0] = best[1] = 1e9;
    for (i = 0; i < TURNS; i++) {
        const int both = i % 2, alone = rank == 0 ? 16 : 0;
        const int leaves = both ? 8 : alone;

        MPI_Barrier(MPI_COMM_WORLD);
        start = seconds_of(CLOCK_MONOTONIC);
        for (leaf = 0; leaf < leaves; leaf++) {
            model_leaf(m, bytes, 1, drop, NULL);
            reduce_round(sums, m->weights, m->num_weights, 1);
        }
        if (both)
            MPI_Allreduce(MPI_IN_PLACE, sums, (int)m->num_weights, MPI_INT64_T,
                          MPI_SUM, MPI_COMM_WORLD);
        start = seconds_of(CLOCK_MONOTONIC) - start;
        wait_asleep();
        best[both] = start < best[both] ? start : best[both];
    }
}

/* The leaves of a step: all 16, of which a process computes some. */
static double feed_time(void)
{
    static struct trainer_config config;
    static text t;
    static feed f;
    double best = 1e9, start;
    int i;

    config = config_defaults;
    config_override(&config, "DATA.TRAIN.BATCHSIZE_PER_REPLICA=4");
    config_override(&config, "DISTRIBUTED.NUM_PROC_PER_NODE=4");
    config_check(&config, 1);
    if (*text_open(&t, &config) || *feed_init(&f, &t, &config))
        abort();
    for (i = 0; i < TURNS; i++) {
        start = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        feed_next(&f);
        start = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - start;
        best = start < best ? start : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    double leaf, whole, o1, step, reduction[2], steps[2];
    model m;
    size_t i;

    agree_begin(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    openblas_set_num_threads(1);
    for (i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7);
    model_init(&m, &shape, 1, 0);
    leaf = leaf_time(&shape, 1, 0);
    if (rank == 0)
        printf("One leaf: %.0f tokens/s of processor time\n\n"
               "| figure | against | ratio | bar | |\n|---|---|---|---|---|\n",
               128 / leaf);
    at_least("tokens/s, HIDDEN_DIM 128", "its products of matrices alone",
             products_time() / leaf, 0.55);
    model_fill(&m, 1);
    step_times(&m, steps);
    at_least("steps a second, 2 processes on 2 cores", "1 process",
             steps[0] / steps[1], 1.7);
    reduction_times(&m, reduction);
    step = 8 * (leaf + rounding_time(m.num_weights)) + reduction[INTEGERS];
    at_most("sums of integers, 2 processes", "MPI_Allreduce of as many floats",
            reduction[INTEGERS] / reduction[FLOATS], 2.5);
    at_most("rounding and sums", "a step of 16 leaves, 2 processes",
            (reduction[INTEGERS] + 8 * rounding_time(m.num_weights)) / step,
            0.15);
    at_most("the sampler", "a step of 16 leaves, 2 processes",
            feed_time() / step, 0.001);
    at_most("activation bytes, 3 splits of 8 blocks", "1 split",
            activation_bytes(3, 0) / activation_bytes(1, 0), 0.6);
    at_most("activation bytes, O1", "O0",
            activation_bytes(1, 1) / activation_bytes(1, 0), 0.6);
    whole = leaf_time(&deep, 1, 0);
    at_most("time, 8 splits of 8 blocks", "1 split",
            leaf_time(&deep, 8, 0) / whole, 1.4);
    o1 = leaf_time(&shape, 1, 1);
    at_most("time, O1", "O0", o1 / leaf, 1.3);
    MPI_Finalize();
    return 0;
}

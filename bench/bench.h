/* bench.h - shared by the programs of bench/: a clock, races between
   contenders, and lines of results.

   A program prints one line per result, which bench/run.sh collects:
       row,FIGURE,VALUE,UNIT,AGAINST,ITS VALUE,RATIO,BAR,VERDICT
       point,PLOT,SERIES,X,Y
       headline,FIGURE,WHOSE,VALUE,UNIT
       resume,... (see resume.c)
   Fields may be empty. They contain no comma; a semicolon in the name of a
   figure is shown as a comma. */
#ifndef BENCH_H
#define BENCH_H

#include "statesampler.h"

#include <stddef.h>
#include <stdint.h>

/* Indices in an array: 128 KiB, about what a loader asks for at a time. */
#define ARRAY 16384

#define NO_BAR 0

/* One of several functions that are timed side by side. */
typedef struct contender {
    void (*run)(void *data);    /* timed */
    void (*before)(void *data); /* before each run, not timed; or NULL */
    void (*check)(void *data);  /* checks the result of some runs; or NULL */
    void *data;
    double ns; /* result: the shortest run */
} contender;

/* Whether BENCH_QUICK is set: finish at once, with times that mean little. */
int quick(void);

/* Ends the program unless good: with a wrong result every figure is
   worthless. */
void must(int good, const char *what);

/* A monotonic clock, in nanoseconds. */
double now(void);

/* Runs the contenders in turns for this many seconds in all, at least two turns
   each. The shortest of many short runs is an undisturbed one, and a slow phase
   of the machine slows all contenders alike. A turn is two runs: the first one
   warms up caches and vector units after the other contenders. */
void race(contender *contenders, size_t count, double seconds);

/* Memory for count indices, already touched. */
uint64_t *array_of(size_t count);

/* Where an array from array_of begins in this turn of a race. Each turn moves
   it by a page and nine cache lines, through sixteen addresses: at some, loads
   wait for unrelated stores whose addresses have the same low twelve bits. */
uint64_t *here(uint64_t *start);

/* Whether this many bytes fit into half of the machine's memory. */
int memory_for(double bytes);

/* A value against a yardstick; the bar is the limit of the ratio. */
void row(const char *figure, double value, const char *unit,
         const char *yardstick, double yardstick_value, double bar);

/* A value by itself, with a bar or without one. */
void row_alone(const char *figure, double value, const char *unit, double bar);
void row_plain(const char *figure, double value, const char *unit);

/* A figure that cannot be measured here. */
void row_missing(const char *figure, const char *why);

void point(const char *plot, const char *series, double x, double y);

/* One of the README's figures. `whose` is statesampler or table;
   bench/torch_tables.py prints torch's. The unit is ns or bytes. */
void headline(const char *figure, const char *whose, double value,
              const char *unit);

/* The yardsticks: store 0, 1, 2, ... or SplitMix64 of these. They are in
   another file than their callers, so that the compiler cannot drop results
   that nobody reads. */
void write_loop(uint64_t *out, size_t count);
void splitmix_loop(uint64_t *out, size_t count);

/* SplitMix64 (Steele, Lea, Flood, 2014): the first output for the seed x. */
uint64_t splitmix(uint64_t x);

typedef struct array {
    uint64_t *out; /* from array_of */
    size_t count;
} array;
contender write_contender(array *a);
contender splitmix_contender(array *a);

/* perm_fill of count positions from first on; the next run continues there.
   If an epoch is shorter than ARRAY, a run fills it several times, to be long
   enough for the clock, and with different keys, as the length of the cycle
   walks depends on the key when there are few samples. */
enum { KEYS = 64 };
typedef struct bulk {
    statesampler_perm perm[KEYS];
    uint64_t first, stride;
    uint64_t *out; /* from array_of */
    size_t count, fills;
} bulk;
void bulk_init(bulk *b, uint64_t n, uint64_t stride, uint64_t *out,
               size_t count);
contender bulk_contender(bulk *b);
double bulk_per_index(const contender *c);

/* Batches from statesampler_next, ARRAY samples per run; the batch size is a
   power of two. Repeats the full batches of the epoch, starting where the
   sampler stands at first. */
typedef struct batches {
    statesampler sampler;
    statesampler_desc desc;
    uint64_t first, begun; /* steps: initially, and before this run */
    uint64_t *out;         /* from array_of */
} batches;
void batches_init(batches *b, const statesampler_desc *desc, uint64_t *out);
contender batches_contender(batches *b);

/* The time of one batch. */
double batches_per_batch(const contender *c);

/* A Fisher-Yates shuffle of 0 .. n - 1, n below 2^32. */
void fisher_yates(uint64_t *table, size_t n, uint64_t seed);

#endif

/* bench.h - what the programs of bench/ share: a clock, contenders that take
   turns, and lines of results.

   A program prints one line per result, which bench/run.sh collects:
       row,FIGURE,VALUE,UNIT,AGAINST,ITS VALUE,RATIO,BAR,VERDICT
       point,PLOT,SERIES,X,Y
       resume,... (see resume.c)
   Fields may be empty and hold no comma. */
#ifndef BENCH_H
#define BENCH_H

#include "statesampler.h"

#include <stddef.h>
#include <stdint.h>

/* What an array holds: 128 KiB, as much as a loader asks for at a time. */
#define ARRAY 16384

/* One of several that are timed side by side. */
typedef struct contender {
    void (*run)(void *data);    /* what is timed */
    void (*before)(void *data); /* before each run, not timed; may be NULL */
    void (*check)(void *data);  /* after some runs: was it right? or NULL */
    void *data;
    double ns;                  /* result: the least time of a run */
} contender;

/* Whether to be done at once, with times that mean little. Set by BENCH_QUICK
   in the environment. */
int quick(void);

/* A wrong result makes every figure worthless, so it ends the run. */
void must(int good, const char *what);

/* Nanoseconds of a clock that never goes back. */
double now(void);

/* Lets the contenders take turns, one run each, for so many seconds in all,
   and five turns at least. The least time of many short runs is one that
   nothing disturbed, and a machine that is slower for a while is slower for
   all of them. */
void race(contender *contenders, size_t count, double seconds);

/* Storage for count indices, at the start of a cache line, written once. */
uint64_t *array_of(size_t count);

/* Whether half of the machine's memory holds so many bytes. */
int memory_for(double bytes);

/* A value against a yardstick; bar 0: nothing to keep. */
void row(const char *figure, double value, const char *unit,
         const char *yardstick, double yardstick_value, double bar);

/* A value by itself; bar below 0: nothing to keep. */
void row_alone(const char *figure, double value, const char *unit, double bar);

/* What cannot be measured here, and why. */
void row_missing(const char *figure, const char *why);

void point(const char *plot, const char *series, double x, double y);

/* The yardsticks: 0, 1, 2, ... and SplitMix64 of these into an array. In a
   file of their own, so that no caller knows that nobody reads the results. */
void write_loop(uint64_t *out, size_t count);
void splitmix_loop(uint64_t *out, size_t count);

/* SplitMix64 of x: the first output of that generator, seeded with x (Steele,
   Lea, Flood, 2014). */
uint64_t splitmix(uint64_t x);

/* The yardsticks as contenders. */
typedef struct array {
    uint64_t *out;
    size_t count;
} array;
contender write_contender(array *a);
contender splitmix_contender(array *a);

/* The permutation in bulk: count positions from first on, the next run those
   behind them. Where an epoch is shorter than ARRAY, a run is several fills
   of it, so that the clock has something to measure, under one key after the
   other: with few samples, how far an index walks depends on the key. */
enum { KEYS = 64 };
typedef struct bulk {
    statesampler_perm perm[KEYS];
    uint64_t first, stride;
    uint64_t *out;
    size_t count, fills;
} bulk;
void bulk_init(bulk *b, uint64_t n, uint64_t stride, uint64_t *out,
               size_t count);
contender bulk_contender(bulk *b);
double bulk_per_index(const contender *c);

/* Fisher and Yates's shuffle of 0 .. n - 1, n below 2^32. */
void fisher_yates(uint64_t *table, size_t n, uint64_t seed);

#endif

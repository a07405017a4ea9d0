/* bench.h - what the programs of bench/ share: a clock, contenders that take
   turns, and lines of results.

   A program prints one line per result, which bench/run.sh collects:
       row,FIGURE,VALUE,UNIT,AGAINST,ITS VALUE,RATIO,BAR,VERDICT
       point,PLOT,SERIES,X,Y
       headline,FIGURE,WHOSE,VALUE,UNIT
       resume,... (see resume.c)
   Fields may be empty. They hold no comma: a semicolon in the name of a figure
   is shown as one. */
#ifndef BENCH_H
#define BENCH_H

#include "statesampler.h"

#include <stddef.h>
#include <stdint.h>

/* What an array holds: 128 KiB, as much as a loader asks for at a time. */
#define ARRAY 16384

/* The bar of what has none. */
#define NO_BAR 0

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

/* Lets the contenders take turns for so many seconds in all, and two turns
   at least. The least time of many short runs is one that nothing disturbed,
   and a machine that is slower for a while is slower for all of them. A turn
   is two runs: the first pays for what the contender before left behind, cold
   caches and vector units that fell asleep. */
void race(contender *contenders, size_t count, double seconds);

/* Storage for count indices, written once. */
uint64_t *array_of(size_t count);

/* Where an array from array_of begins in the present turn of a race. Every
   turn moves it by a page and some cache lines, to sixteen addresses in all:
   at some, loads wait for stores that they do not need, because both have the
   same last twelve bits of their address. */
uint64_t *here(uint64_t *start);

/* Whether half of the machine's memory holds so many bytes. */
int memory_for(double bytes);

/* A value against a yardstick; the bar is for the ratio. */
void row(const char *figure, double value, const char *unit,
         const char *yardstick, double yardstick_value, double bar);

/* A value by itself, with a bar or without one. */
void row_alone(const char *figure, double value, const char *unit, double bar);
void row_plain(const char *figure, double value, const char *unit);

/* What cannot be measured here, and why. */
void row_missing(const char *figure, const char *why);

void point(const char *plot, const char *series, double x, double y);

/* One of the README's figures: ours, that of a table in C, or torch's (which
   bench/torch_tables.py prints). The unit is ns or bytes. */
void headline(const char *figure, const char *whose, double value,
              const char *unit);

/* The yardsticks: 0, 1, 2, ... and SplitMix64 of these into an array. In a
   file of their own, so that no caller knows that nobody reads the results. */
void write_loop(uint64_t *out, size_t count);
void splitmix_loop(uint64_t *out, size_t count);

/* SplitMix64 of x: the first output of that generator, seeded with x (Steele,
   Lea, Flood, 2014). */
uint64_t splitmix(uint64_t x);

/* The yardsticks as contenders. */
typedef struct array {
    uint64_t *out; /* from array_of */
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
    uint64_t *out; /* from array_of */
    size_t count, fills;
} bulk;
void bulk_init(bulk *b, uint64_t n, uint64_t stride, uint64_t *out,
               size_t count);
contender bulk_contender(bulk *b);
double bulk_per_index(const contender *c);

/* Batches by statesampler_next, as many as fill ARRAY; the batch size is a
   power of two. Over and over the part of the epoch that whole batches fill,
   from where the sampler is at first. */
typedef struct batches {
    statesampler sampler;
    statesampler_desc desc;
    uint64_t first, begun; /* steps: at first, and before the present run */
    uint64_t *out;         /* from array_of */
} batches;
void batches_init(batches *b, const statesampler_desc *desc, uint64_t *out);
contender batches_contender(batches *b);

/* The time of one batch. */
double batches_per_batch(const contender *c);

/* Fisher and Yates's shuffle of 0 .. n - 1, n below 2^32. */
void fisher_yates(uint64_t *table, size_t n, uint64_t seed);

#endif

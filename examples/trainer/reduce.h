/* reduce.h - the gradients of all leaves, added up over all processes.

   Floats rounded after each addition give other sums in another order, and MPI
   is free to choose one. So each element of a leaf's gradient is first rounded
   to a multiple of 2^-40, and integers are added: any order, any number of
   processes, any bucket and any algorithm of MPI give the same sum. */
#ifndef TRAINER_REDUCE_H
#define TRAINER_REDUCE_H

#include "model.h"

#include <mpi.h>

/* The largest element that fits, exclusive; so does the sum of CONFIG_BATCH of
   them: 2^51 * 4,096 = 2^63 multiples of 2^-40. */
#define REDUCE_LIMIT 2048.0

enum {
    REDUCE_NATS, REDUCE_NO_LOSS, REDUCE_OVERFLOWS, REDUCE_COUNT, REDUCE_TOTALS
};

typedef struct reduce_bucket {
    size_t first, last; /* tensors; adjacent, as their sums are */
} reduce_bucket;

/* Stage 2: a piece on its way to the owner of its tensor. */
typedef struct reduce_piece {
    int64_t *values;
    size_t tensor, from, count;
    MPI_Request request;
    int under_way;
} reduce_piece;

typedef struct reduce {
    const model *m;
    const int *owner;     /* of each tensor */
    int rank, stage;      /* ZeRO: 2 keeps the sums of own tensors only */
    int manual;           /* by hand after backward; otherwise meanwhile */
    int64_t *sums, **sum; /* sum[t]: tensor t's, or NULL */
    double unscale;       /* 1 / loss scale */
    int is_last;          /* leaf of this step on this process */
    int64_t totals[REDUCE_TOTALS];

    reduce_bucket *buckets; /* from the last tensor to the first */
    size_t begun;           /* of them, in this step */
    MPI_Request *requests;

    reduce_piece pieces[2];
    size_t capacity; /* of each */
    int turn;
} reduce;

void reduce_init(reduce *r, const model *m, const int *owner, int stage,
                 double bucket_bytes, int manual);

/* A step: begin; then for each leaf `leaf`, the sink, and `loss`; `no_leaf`
   where this process has fewer leaves than another; then finish. In stage 2 all
   processes must take the same number of turns. */
void reduce_begin(reduce *r);
void reduce_leaf(reduce *r, double unscale, int is_last);
void reduce_sink(void *context, size_t tensor, const real *gradient);
void reduce_loss(reduce *r, double nats);
void reduce_no_leaf(reduce *r);
void reduce_finish(reduce *r);

/* After finish, the same on all processes; the loss is no number where one of
   the leaves' is none. */
int reduce_overflowed(const reduce *r);
double reduce_mean_loss(const reduce *r);

/* The mean gradient of a tensor whose sum is here. */
void reduce_gradient(const reduce *r, size_t tensor, real *gradient);

/* Adds to sums the values, times scale, rounded to multiples of 2^-40; returns
   how many did not fit or are no numbers: they are added as 0. */
int64_t reduce_round(int64_t *sums, const real *values, size_t count,
                     double scale);

/* ZeRO's owners: whole tensors in list order, each to the rank with the
   smallest sum so far, the first on ties. */
void reduce_owners(int *owner, const model *m, int world);

#endif

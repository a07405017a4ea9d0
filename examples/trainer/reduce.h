/* reduce.h - sums the gradients of all leaves over all processes.

   A sum of floats depends on the order of additions, which MPI may choose. So
   each element of a leaf's gradient is first rounded to a multiple of 2^-40,
   and integers are added: any order, number of processes, bucket size and MPI
   algorithm gives the same sum. */
#ifndef TRAINER_REDUCE_H
#define TRAINER_REDUCE_H

#include "config.h"
#include "model.h"

#include <mpi.h>

/* Elements must be below this. The sum of CONFIG_BATCH (4,095) of them fits
   too: 2^51 * 4,096 = 2^63 multiples of 2^-40. */
#define REDUCE_LIMIT 2048.0

enum {
    REDUCE_NATS, REDUCE_NO_LOSS, REDUCE_OVERFLOWS, REDUCE_COUNT,
    REDUCE_STOPS, /* processes that were told to stop */
    REDUCE_TOTALS
};

typedef struct reduce_bucket {
    size_t first, last; /* tensors, which are adjacent in memory */
} reduce_bucket;

/* Stage 2 by pieces: a part of a tensor on its way to the tensor's owner. */
typedef struct reduce_piece {
    int64_t *values;
    size_t tensor, from, count;
    MPI_Request request;
    int under_way;
} reduce_piece;

typedef struct reduce {
    const model *m;
    const int *owner;     /* of each tensor */
    int rank, stage;      /* ZeRO stage; 2: only owners have sums at the end */
    int pieces_only;      /* stage 2 with reduce_buffer_size: sums of own
                             tensors only, so every leaf's gradient is sent */
    int manual;           /* reduce after the backward pass, not during it */
    int64_t *sums, **sum; /* sum[t]: tensor t's, or NULL */
    double unscale;       /* 1 / loss scale */
    int is_last;          /* the last leaf of this step on this process */
    int64_t totals[REDUCE_TOTALS];

    reduce_bucket *buckets; /* from the last tensor to the first */
    size_t begun;           /* buckets started in this step */
    MPI_Request *requests;

    reduce_piece pieces[2];
    size_t capacity; /* of each piece */
    int turn;        /* the piece to use next */
} reduce;

void reduce_init(reduce *r, const model *m, const int *owner,
                 const struct trainer_config *config);

/* A step: reduce_begin; for each leaf reduce_leaf, the sink and reduce_loss;
   reduce_no_leaf if this process has fewer leaves than another; reduce_finish.
   By pieces all processes must make the same number of calls. */
void reduce_begin(reduce *r);
void reduce_leaf(reduce *r, double unscale, int is_last);
void reduce_sink(void *context, size_t tensor, const real *gradient);
void reduce_loss(reduce *r, double nats);
void reduce_no_leaf(reduce *r);
void reduce_finish(reduce *r);

/* After reduce_finish; the same on all processes. The loss is NaN if that of a
   leaf is NaN or too large. */
int reduce_overflowed(const reduce *r);
double reduce_mean_loss(const reduce *r);

/* The mean gradient of a tensor whose sum this process has. */
void reduce_gradient(const reduce *r, size_t tensor, real *gradient);

/* Adds the values, times scale, to sums, rounded to multiples of 2^-40. Returns
   how many are NaN or too large; these are added as 0. */
int64_t reduce_round(int64_t *sums, const real *values, size_t count,
                     double scale);

/* ZeRO's owners of whole tensors: in list order, each goes to the rank with the
   smallest sum of sizes so far, the first one on ties. */
void reduce_owners(int *owner, const model *m, int world);

#endif

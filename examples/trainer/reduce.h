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
    REDUCE_NATS,
    REDUCE_COUNT,
    REDUCE_NO_LOSS,   /* of leaves */
    REDUCE_OVERFLOWS, /* of elements of gradients */
    REDUCE_STOPS,     /* processes that were told to stop */
    REDUCE_TOTALS
};

typedef struct reduce {
    const model *m;
    const struct trainer_config *config;

    double unscale; /* 1 / loss scale */
    int64_t leaves; /* of this process in this step */
    int64_t totals[REDUCE_TOTALS];
    MPI_Request *requests;
    int begun;   /* of these */
    size_t rest; /* elements from 0 on whose sums are not yet sent */

    /* Stage 2 with reduce_buffer_size: sums of own tensors only, so every
       leaf's gradient is sent, piece by piece. Otherwise NULL. */
    int64_t *piece;
    size_t capacity; /* of a piece */
    uint64_t most;   /* leaves of any process in this step */
} reduce;

void reduce_init(reduce *r, const model *m,
                 const struct trainer_config *config);

/* A step: reduce_begin with the numbers of leaves of this process and of that
   with the most, both 0 if there are losses only; for each leaf the sink and
   then reduce_loss; reduce_finish. */
void reduce_begin(reduce *r, double unscale, uint64_t leaves, uint64_t most);
void reduce_sink(void *context, size_t tensor, const real *gradient);
void reduce_loss(reduce *r, double nats);
void reduce_finish(reduce *r);

/* After it, when the totals are those of all processes; NaN if the loss of a
   leaf is NaN or too large. */
double reduce_mean_loss(const reduce *r);

/* The mean gradient of a tensor whose sum this process has. */
void reduce_gradient(const reduce *r, size_t tensor, real *gradient);

/* Adds the values, times scale, to sums, rounded to multiples of 2^-40. Returns
   how many are NaN or too large; these are added as 0. */
int64_t reduce_round(int64_t *sums, const real *values, size_t count,
                     double scale);

/* ZeRO's owners of whole tensors: in list order, each goes to the rank with the
   smallest sum of sizes so far, the first one on ties. */
void reduce_owners(model *m, int rank, int world);

#endif

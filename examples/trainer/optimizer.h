/* optimizer.h - SGD with momentum, LARC, AdamW; weight decay; clipping. A
   process updates all tensors, or under ZeRO those that it owns, and then sends
   the new weights to the others. */
#ifndef TRAINER_OPTIMIZER_H
#define TRAINER_OPTIMIZER_H

#include "config.h"
#include "model.h"
#include "reduce.h"

/* Allocates the state of the tensors that this process updates. */
void optimizer_init(const struct trainer_config *c, model *m);

/* step: the number of this one, from 1, without those that were skipped. */
void optimizer_step(const struct trainer_config *c, model *m, const reduce *r,
                    double rate, uint64_t step);

/* All processes must call this: the owner of each tensor sends the first so
   many of its arrays to the others. */
void optimizer_share(model *m, int arrays);

/* The norm with a power of at least 1; INFINITY: the largest element. Elements
   are first divided by the largest, so that their powers cannot overflow. */
double optimizer_norm(const float *values, size_t size, double power);

/* Updates a tensor; LARC changes the gradient. */
void optimizer_sgd(const struct trainer_config *c, const model_tensor *t,
                   float *gradient, double rate);
void optimizer_adamw(const struct trainer_config *c, const model_tensor *t,
                     const float *gradient, double rate, uint64_t step);

/* ---- The loss scale of O1, as in Apex ---- */

/* Small gradients would vanish in half precision, so the loss is multiplied by
   the scale before the backward pass, and the gradients are divided by it. */
typedef struct scaler {
    double scale;
    int64_t unskipped; /* steps without overflow, in a row */
    int dynamic;
} scaler;

/* fixed: 0 for a dynamic scale. Without O1 the scale is always 1. */
void scaler_init(scaler *s, int half, double fixed);

/* Call it after each step. Returns whether to skip the update. */
int scaler_skips(scaler *s, int overflowed);

#endif

/* optimizer.h - SGD with momentum, LARC, AdamW; weight decay; clipping. A
   process steps the tensors that are its own: all of them, or under ZeRO those
   of which it is the owner, and then hands the new weights to the others. */
#ifndef TRAINER_OPTIMIZER_H
#define TRAINER_OPTIMIZER_H

#include "config.h"
#include "model.h"
#include "reduce.h"

enum { OPTIMIZER_STATES = 2 };

typedef struct optimizer {
    const struct trainer_config *config;
    model *m;
    const int *owner;
    int rank, sharded;
    int states;   /* numbers kept for each weight: 0, 1 or 2 */
    float **state[OPTIMIZER_STATES]; /* [which][tensor], NULL: not here */
    float *norms;  /* of the tensors' gradients, for clipping */
    int64_t steps; /* not skipped */
} optimizer;

void optimizer_init(optimizer *o, const struct trainer_config *config,
                    model *m, const int *owner);

/* Numbers of a tensor: 0 is its weights, 1 .. states what is kept for each. */
float *optimizer_array(const optimizer *o, size_t tensor, int which);

void optimizer_step(optimizer *o, const reduce *r, double rate);

/* To be called by all: the owner of each tensor hands its weights, and its
   state if so, to the others. */
void optimizer_share(optimizer *o, int states);

/* The norm of that power, from 1 on, or INFINITY: the largest element, by which
   all are divided first, so that no power of them leaves a double's range. */
double optimizer_norm(const float *values, size_t size, double power);

/* A tensor's step, on what it takes: for LARC, whole tensors. */
typedef struct optimizer_rule {
    double rate, decay, momentum, trust, eps, beta1, beta2;
    int nesterov, larc, clip;
    int64_t step; /* this one, from 1 on */
} optimizer_rule;

void optimizer_sgd(float *weight, float *gradient, float *momentum,
                   size_t size, const optimizer_rule *rule);
void optimizer_adamw(float *weight, const float *gradient, float *mean,
                     float *square, size_t size, const optimizer_rule *rule);

#endif

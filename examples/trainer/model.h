/* model.h - a GPT on bytes: named tensors, and the forward and backward pass of
   one leaf. A leaf is one sequence; all arithmetic is done on one leaf at a
   time, so that the shapes of matrix products depend on the model only. */
#ifndef TRAINER_MODEL_H
#define TRAINER_MODEL_H

#include "kernels.h"

enum { MODEL_BYTES = 256 }; /* the vocabulary */

typedef struct model_shape {
    size_t layers, heads, width, mlp, context;
} model_shape;

/* The kind of a tensor decides whether it has weight decay. */
enum { MODEL_MATRIX, MODEL_EMBEDDING, MODEL_BIAS, MODEL_NORM };

typedef struct model_tensor {
    char name[48];
    size_t offset, size; /* in model.weights, in elements */
    size_t columns;      /* of a matrix: the inputs of its layer */
    int kind;
    int owner, mine; /* a process, and whether it is this one: see reduce.h */
    real *array[3];  /* the weights; the optimizer's state, or NULL */
    int64_t *sum;    /* of the gradients of a step, or NULL */
} model_tensor;

/* What a block keeps for the backward pass. Under O1 all except the first two
   are kept as halves. */
enum {
    KEEP_IN,  /* the residual stream before the block */
    KEEP_MID, /* the residual stream between attention and MLP */
    KEEP_NORM1,
    KEEP_QKV,
    KEEP_SHARES, /* attention weights, by head */
    KEEP_HEADS,  /* outputs of the heads */
    KEEP_NORM2,
    KEEP_FC,
    KEEP_GELU,
    KEEPS
};

typedef struct model_kept {
    real *values[KEEPS];
    uint16_t *halves[KEEPS]; /* O1 */
} model_kept;

/* Receives the gradient of one tensor, which is valid during the call. */
typedef void model_sink(void *context, size_t tensor, const real *gradient);

typedef struct model {
    model_shape shape;
    int half; /* O1 */
    model_tensor *tensors;
    size_t num_tensors, num_weights, largest;
    int arrays; /* of a tensor: 1, 2 or 3 */
    real *weights;

    /* Activation checkpointing: all segments of blocks except the last keep
       only their input. */
    size_t segments;
    real **inputs;
    model_kept *kept; /* one for each block of the longest segment */

    real *stream, *norm, *logits;                  /* after the last block */
    real *d_stream, *d_branch, *d_wide, *d_shares; /* backward */
    real *gradient;   /* of one tensor, the largest, and a bias */
    model_sink *sink; /* of this leaf */
    void *context;
} model;

/* Allocates a model. splits: the number of segments, at most that of blocks; 1
   keeps everything. */
void model_init(model *m, const model_shape *shape, size_t splits, int half);

/* Initial weights, a function of the seed, the names and the positions. */
void model_fill(model *m, uint64_t seed);

/* The mean loss in nats of a sequence of context + 1 bytes. With a sink, also
   runs the backward pass and passes the gradients of that mean, times scale, to
   it, from the last tensor to the first. */
double model_leaf(model *m, const unsigned char *bytes, real scale,
                  model_sink *sink, void *context);

#endif

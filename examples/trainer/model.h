/* model.h - a GPT on bytes: named tensors, and the way forward and back of one
   leaf. A leaf is one sequence, and all arithmetic is done on one leaf at a
   time, so that the shapes of the products depend on the model only. */
#ifndef TRAINER_MODEL_H
#define TRAINER_MODEL_H

#include "kernels.h"

enum { MODEL_BYTES = 256 }; /* the vocabulary */

typedef struct model_shape {
    size_t layers, heads, width, mlp, context;
} model_shape;

/* What a tensor is decides whether weight decay reaches it. */
enum { MODEL_MATRIX, MODEL_EMBEDDING, MODEL_BIAS, MODEL_NORM };

typedef struct model_tensor {
    char name[48];
    size_t offset, size; /* in numbers, in model.weights */
    int kind;
} model_tensor;

/* What a block keeps for its way back. Under O1 all but the first three are
   kept as halves. */
enum {
    KEEP_IN,    /* the residual stream before the block, ... */
    KEEP_MID,   /* ... and between attention and MLP */
    KEEP_STATS, /* of both layernorms */
    KEEP_NORM1,
    KEEP_QKV,
    KEEP_SHARES, /* what each token takes of each other, by head */
    KEEP_HEADS,  /* the heads' outputs */
    KEEP_NORM2,
    KEEP_FC,
    KEEP_GELU,
    KEEPS
};

typedef struct model_kept {
    real *values[KEEPS];
    uint16_t *halves[KEEPS]; /* O1 */
} model_kept;

typedef struct model {
    model_shape shape;
    int half; /* O1 */
    model_tensor *tensors;
    size_t num_tensors, num_weights, largest;
    real *weights;
    real *used; /* what products use: weights, under O1 rounded to half */

    /* Activation checkpointing: segment s is blocks first[s] .. first[s+1]-1,
       and all but the last keep only their input. */
    size_t segments, *first;
    real **inputs;
    model_kept *kept; /* as many as the longest segment has blocks */

    real *stream, *norm, *stats, *logits;  /* after the last block */
    real *d_stream, *d_branch, *d_wide, *d_shares; /* on the way back */
    real *gradient;   /* of one tensor; room for the largest */
} model;

/* Takes memory for a model of this shape. splits: 1 keeps everything. */
void model_init(model *m, const model_shape *shape, size_t splits, int half);

/* The first weights: a function of the seed, the names and the places. */
void model_fill(model *m, uint64_t seed);

/* To be called after the weights have changed. */
void model_changed(model *m);

/* Takes the gradient of one tensor, to be used before it returns. */
typedef void model_sink(void *context, size_t tensor, const real *gradient);

/* The mean loss in nats of a sequence of context + 1 bytes. With a sink it also
   goes back, and hands over the gradient of that mean, times scale, tensor by
   tensor, from the last to the first. */
double model_leaf(model *m, const unsigned char *bytes, real scale,
                  model_sink *sink, void *context);

/* How many bytes model_init takes for activations, by the formula. */
size_t model_activation_bytes(const model_shape *shape, size_t splits,
                              int half);

/* first[0 .. return value]: where the segments begin, and the end. */
size_t model_segments(size_t blocks, size_t splits, size_t *first);

#endif

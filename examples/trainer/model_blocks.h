/* model_blocks.h - one block of the model: attention, then an MLP. */
#ifndef TRAINER_MODEL_BLOCKS_H
#define TRAINER_MODEL_BLOCKS_H

#include "model.h"

/* The number of elements of one of KEEP_IN .. KEEP_GELU. */
size_t block_keeps(const model_shape *shape, size_t keep);

/* Under O1 rounds to half, else does nothing. It is called wherever Apex casts:
   on inputs and outputs of linear layers and matrix products, and on their
   gradients. */
void block_half(const model *m, real *values, size_t count);

/* Updates m->stream; stores in kept what the backward pass needs. */
void block_forward(model *m, size_t block, model_kept *kept);

/* The same without the last update of m->stream. */
void block_again(model *m, size_t block, model_kept *kept);

/* Updates m->d_stream. */
void block_backward(model *m, size_t block, model_kept *kept, model_sink *sink,
                    void *context);

#endif

/* model_blocks.h - one block of the model: attention, then an MLP. */
#ifndef TRAINER_MODEL_BLOCKS_H
#define TRAINER_MODEL_BLOCKS_H

#include "model.h"

/* How many numbers a block keeps of one of KEEP_IN .. KEEP_GELU. */
size_t block_keeps(const model_shape *shape, size_t keep);

/* Under O1 rounds to half, otherwise leaves alone. It stands wherever Apex has
   a cast: what goes into a linear layer or a product of matrices, what comes
   out of it, and the same on the way back. */
void block_half(const model *m, real *values, size_t count);

/* m->stream comes in and goes out; `kept` is what the way back needs. */
void block_forward(model *m, size_t block, model_kept *kept);

/* Only what the way back needs: the stream does not come out. */
void block_again(model *m, size_t block, model_kept *kept);

/* m->d_stream comes in and goes out. */
void block_backward(model *m, size_t block, model_kept *kept, model_sink *sink,
                    void *context);

#endif

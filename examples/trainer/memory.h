/* memory.h - allocation that counts bytes by kind, for the table at the end of
   a run. */
#ifndef TRAINER_MEMORY_H
#define TRAINER_MEMORY_H

#include <stddef.h>
#include <stdint.h>

enum {
    MEMORY_WEIGHTS,     /* the model */
    MEMORY_OPTIMIZER,   /* momentum, moments */
    MEMORY_GRADIENTS,   /* integer sums, buckets */
    MEMORY_ACTIVATIONS, /* kept by a leaf for the backward pass */
    MEMORY_WORK,        /* temporary values within a step */
    MEMORY_KINDS
};

extern const char *const memory_names[MEMORY_KINDS];
extern uint64_t memory_taken[MEMORY_KINDS]; /* bytes of each kind so far */

/* Zeroed memory. Exits if there is none. What is borrowed is not counted, and
   to be freed. */
void *memory_take(int kind, size_t count, size_t size);
void *memory_borrow(size_t count, size_t size);

#endif

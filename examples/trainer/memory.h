/* memory.h - who holds how many bytes: the table at the end of a run counts
   what was really taken, not what a formula says. */
#ifndef TRAINER_MEMORY_H
#define TRAINER_MEMORY_H

#include <stddef.h>

enum {
    MEMORY_WEIGHTS,     /* the model, and its copy rounded to half */
    MEMORY_OPTIMIZER,   /* momentum, moments */
    MEMORY_GRADIENTS,   /* sums of integers, buckets */
    MEMORY_ACTIVATIONS, /* what a leaf keeps for its way back */
    MEMORY_WORK,        /* what only lives inside one step of the arithmetic */
    MEMORY_KINDS
};

extern const char *const memory_names[MEMORY_KINDS];

/* Zeroed memory, at a multiple of 64 bytes. Ends the program where there is
   none: nothing that this trainer could do without it would be of use. */
void *memory_take(int kind, size_t count, size_t size);

/* The same for a moment, to be freed: it is not counted. */
void *memory_borrow(size_t count, size_t size);

/* Bytes taken so far. */
size_t memory_taken(int kind);

#endif

/* memory.c - see memory.h. */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>

const char *const memory_names[MEMORY_KINDS] = {
    "weights", "optimizer", "gradients", "activations", "work",
};

uint64_t memory_taken[MEMORY_KINDS];

void *memory_borrow(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (!memory) {
        fprintf(stderr, "trainer: out of memory\n");
        exit(1);
    }
    return memory;
}

void *memory_take(int kind, size_t count, size_t size)
{
    memory_taken[kind] += count * size;
    return memory_borrow(count, size);
}

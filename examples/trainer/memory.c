/* memory.c - see memory.h. */
#define _POSIX_C_SOURCE 200809L /* posix_memalign */

#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const memory_names[MEMORY_KINDS] = {
    "weights", "optimizer", "gradients", "activations", "work"};

uint64_t memory_taken[MEMORY_KINDS];

void *memory_take(int kind, size_t count, size_t size)
{
    void *memory = NULL;

    if (count == 0)
        return NULL;
    if (count > SIZE_MAX / size ||
        posix_memalign(&memory, 64, count * size) != 0) {
        fprintf(stderr, "trainer: out of memory for %s\n", memory_names[kind]);
        exit(1);
    }
    memset(memory, 0, count * size);
    memory_taken[kind] += count * size;
    return memory;
}

void *memory_borrow(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (!memory) {
        fprintf(stderr, "trainer: out of memory\n");
        exit(1);
    }
    return memory;
}

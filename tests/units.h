/* units.h - what the three files of the program of units_main.c share. */
#ifndef STATESAMPLER_TESTS_UNITS_H
#define STATESAMPLER_TESTS_UNITS_H

#include <stddef.h>
#include <stdint.h>

#define UNITS_BATCH 5

typedef int (*units_next)(statesampler *, uint64_t *, size_t *);

#ifdef __cplusplus
extern "C" {
#endif

/* Loads a state, takes the next step, saves the state after it. Returns what
   next did, or -1. */
int units_shared(const unsigned char *state, unsigned char *after,
                 uint64_t *batch, size_t *count);
int units_static(const unsigned char *state, unsigned char *after,
                 uint64_t *batch, size_t *count);
units_next units_shared_next(void);
units_next units_static_next(void);

#ifdef __cplusplus
}
#endif

static inline void units_describe(statesampler_desc *desc)
{
    static const statesampler_desc zero = {0, 0, 0, 0, 0, 0, 0,
                                           0, 0, 0, 0, 0, 0};
    *desc = zero;
    desc->num_samples = 1000;
    desc->seed = 7;
    desc->rank = 1;
    desc->world_size = 3;
    desc->batch_size = UNITS_BATCH;
}

#endif

/* forge.h - the bytes of states, read and written without the header's help.

   The fields and the check word stand here a second time, from the manual: a
   state that nobody has saved can be given the check word that it should
   have, so that only what is wrong with it can refuse it. */
#ifndef STATESAMPLER_TESTS_FORGE_H
#define STATESAMPLER_TESTS_FORGE_H

#include <stddef.h>
#include <stdint.h>

/* Where a field is and how many bytes it has: two arguments, or two numbers
   of a list. Of any state: */
#define FORGE_MAGIC 0, 4
#define FORGE_VERSION 4, 2
#define FORGE_ALGORITHM 6, 2

/* Of a sampler's: */
#define FORGE_NUM_SAMPLES 8, 8
#define FORGE_SEED 16, 8
#define FORGE_STREAM 24, 8
#define FORGE_CHUNK_SIZE 32, 8
#define FORGE_WINDOW 40, 8
#define FORGE_ORDER 48, 1
#define FORGE_PARTITION 49, 1
#define FORGE_TAIL 50, 1
#define FORGE_ZERO 51, 1
#define FORGE_BLOCKS 52, 4
#define FORGE_WORLD_SIZE 56, 4
#define FORGE_BATCH_SIZE 60, 4
#define FORGE_EPOCH 64, 8
#define FORGE_POSITION 72, 8
#define FORGE_BASE_EPOCH 80, 8
#define FORGE_BASE_POSITION 88, 8
#define FORGE_BASE_STEP 96, 8
#define FORGE_CHECK_WORD 104, 8

/* Of a mix's: */
#define FORGE_MIX_SOURCES 8, 4
#define FORGE_MIX_STOP 12, 4
#define FORGE_MIX_EPOCH 16, 8
#define FORGE_MIX_TURN 24, 8
#define FORGE_MIX_TICK 32, 8

/* Where a source begins in it, its own fields, and where the state of its
   sampler begins. */
#define FORGE_SOURCE(i) (40 + 120 * (size_t)(i))
#define FORGE_SOURCE_WEIGHT 0, 4
#define FORGE_SOURCE_FLAGS 4, 4
#define FORGE_SAMPLER(i) (FORGE_SOURCE(i) + 8)
#define FORGE_MIX_BYTES(sources) (FORGE_SOURCE(sources) + 8)

static inline uint64_t forge_get(const unsigned char *state, size_t at,
                                 unsigned size)
{
    uint64_t value = 0;
    while (size-- > 0)
        value = value * 256 + state[at + size];
    return value;
}

static inline void forge_put(unsigned char *state, size_t at, unsigned size,
                             uint64_t value)
{
    for (; size > 0; size--, at++) {
        state[at] = (unsigned char)(value % 256);
        value /= 256;
    }
}

/* From nothing: take in the next eight bytes by xor, multiply by 2^64 over
   the golden ratio, fold the upper half onto the lower. */
static inline uint64_t forge_check_word(const unsigned char *state, size_t size)
{
    uint64_t hash = 0;
    size_t i;
    for (i = 0; i < size; i += 8) {
        hash = (hash ^ forge_get(state, i, 8)) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return hash;
}

/* Gives a state of this size the check word that it should have. */
static inline void forge_seal(unsigned char *state, size_t size)
{
    forge_put(state, size - 8, 8, forge_check_word(state, size - 8));
}

/* The same of a mix's state, and of what it holds of its samplers. */
static inline void forge_seal_mix(unsigned char *state, uint32_t sources)
{
    uint32_t i;
    for (i = 0; i < sources; i++)
        forge_seal(state + FORGE_SAMPLER(i), 112);
    forge_seal(state, FORGE_MIX_BYTES(sources));
}

/* A mix that loads a state makes the present the base of its sources with
   CARRY. The same in a state, to compare what was loaded with what was not. */
static inline void forge_move_bases(unsigned char *state, uint32_t sources)
{
    uint32_t i;
    int moved = 0;
    for (i = 0; i < sources; i++) {
        unsigned char *s = state + FORGE_SAMPLER(i);
        uint64_t served, global_batch;
        if (forge_get(s, FORGE_TAIL) != 3 /* CARRY */)
            continue;
        served = (forge_get(s, FORGE_EPOCH) - forge_get(s, FORGE_BASE_EPOCH)) *
                     forge_get(s, FORGE_NUM_SAMPLES) +
                 forge_get(s, FORGE_POSITION) -
                 forge_get(s, FORGE_BASE_POSITION);
        global_batch =
            forge_get(s, FORGE_WORLD_SIZE) * forge_get(s, FORGE_BATCH_SIZE);
        forge_put(s, FORGE_BASE_STEP,
                  forge_get(s, FORGE_BASE_STEP) + served / global_batch);
        forge_put(s, FORGE_BASE_EPOCH, forge_get(s, FORGE_EPOCH));
        forge_put(s, FORGE_BASE_POSITION, forge_get(s, FORGE_POSITION));
        moved = 1;
    }
    if (moved)
        forge_seal_mix(state, sources);
}

#endif

/* judge.h - what the judge asks of two versions of the header: an operation,
   and the answer to it, a list of numbers with names. tests/judge.c. */
#ifndef STATESAMPLER_TESTS_JUDGE_H
#define STATESAMPLER_TESTS_JUDGE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLERS 3u
#define STATES 3u
#define MIXES 2u    /* mixes of their own; those of mixtures come after them */
#define MIXTURES 2u
#define SOURCES 6u
#define NAMES 7u    /* names of datasets; one is empty, which is refused */
#define MIX_STATES 2u
#define ROOM 512u   /* of a batch */
#define MIX_STATE_ROOM 4096u
#define ANSWERS 32768u
#define STATE_BYTES 112u /* of a sampler */

/* The header's constants, whose names may change. */
enum { SHUFFLE, SEQUENTIAL, WINDOW, REPLACEMENT };
enum { INTERLEAVED, BLOCKED };
enum { PAD, DROP, UNEVEN, CARRY };
enum { FIRST, ALL, RESTART, NEVER };
#define OFF ((uint32_t)-1)
#define NONE (~(uint64_t)0)
#define MOST ((uint64_t)1 << 62)

/* A description, as both headers have it. */
typedef struct judge_desc {
    uint64_t num_samples, seed, epoch, stream, chunk_size, window;
    uint32_t rank, world_size, batch_size, order, partition, tail, drop_last;
} judge_desc;

/* Every operation: `next` is op_next here, and a function for each header. */
#define JUDGE_OPERATIONS(X)                                                \
    X(init) X(next) X(at) X(seek) X(begin) X(set_epoch) X(reshape)         \
    X(resize) X(save) X(load) X(describe) X(locate) X(padding)             \
    X(get_counts) X(sample_seed) X(copy) X(perm) X(audit)                  \
    X(mix_init) X(mix_next) X(mix_at) X(mix_seek) X(mix_weigh)             \
    X(mix_reshape) X(mix_locate) X(mix_offset) X(mix_save) X(mix_load)     \
    X(mix_describe) X(mix_rebuild) X(member)
#define JUDGE_MIXTURES(X)                                                  \
    X(mixture_build) X(mixture_add) X(mixture_start) X(mixture_find)

#define JUDGE_ENUMERATOR(name) op_##name,
typedef enum judge_what {
    JUDGE_OPERATIONS(JUDGE_ENUMERATOR) JUDGE_MIXTURES(JUDGE_ENUMERATOR)
    op_none
} judge_what;

/* One operation. What a, b and c are differs; slot is that of the object,
   other that of a state or of a second object. */
typedef struct operation {
    judge_what what;
    uint32_t slot, other, times;
    uint64_t a, b, c, d;
    uint32_t damage;  /* of a state: 1 cut, 2 a bit flipped, 3 too long */
    uint32_t foreign; /* 1: load the state that the other header saved */
    uint32_t count;   /* of the lists below */
    uint32_t stop;
    uint32_t weight[SOURCES], name[SOURCES], copied[SOURCES];
    uint64_t seek[SOURCES];
    judge_desc desc[SOURCES];
} operation;

typedef struct answer {
    size_t count;
    uint64_t value[ANSWERS];
    const char *label[ANSWERS];
} answer;

static inline void say(answer *to, const char *label, uint64_t value)
{
    if (to->count == ANSWERS) {
        printf("judge: too long an answer\n");
        exit(2);
    }
    to->value[to->count] = value;
    to->label[to->count++] = label;
}

static inline void say_code(answer *to, int code)
{
    say(to, "code", (uint64_t)(int64_t)code);
}

/* States of samplers, by the header that saved them: 0 is the old one. */
static unsigned char judge_states[2][STATES][STATE_BYTES];

/* A number that nobody answers with. */
#define UNSET ((uint64_t)0x5e75e75e7)

static const char *const judge_name[NAMES] = {"web",  "code", "books", "mail",
                                              "wiki", "chat", ""};

#endif

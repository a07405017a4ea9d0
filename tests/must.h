/* must.h - calls that succeed, or fail, for tests whose question is another
   one.

   Needs statesampler.h and check.h before it. */
#ifndef STATESAMPLER_TESTS_MUST_H
#define STATESAMPLER_TESTS_MUST_H

/* A call that fails, in any way of a kind. test_errors asks which. */
#define CHECK_KIND(call, kind) CHECK(STATESAMPLER_KIND(call) == (kind))

/* The next step: how many indices this rank has in it. */
static inline size_t must_next(statesampler *s, uint64_t *out)
{
    size_t count = SIZE_MAX;
    CHECK(statesampler_next(s, out, &count) == 1);
    return count;
}

/* The end of an epoch, and nothing in it. */
static inline void must_end(statesampler *s)
{
    size_t count = SIZE_MAX;
    CHECK(statesampler_next(s, NULL, &count) == 0);
    CHECK(count == 0);
}

/* A step that is there: how many indices this rank has in it. */
static inline size_t must_at(const statesampler *s, uint64_t step,
                             uint64_t *out)
{
    size_t count = SIZE_MAX;
    CHECK(statesampler_at(s, step, out, &count) == 1);
    return count;
}

/* A step that is not there: why. */
static inline int must_miss(const statesampler *s, uint64_t step)
{
    size_t count = SIZE_MAX;
    int code = statesampler_at(s, step, NULL, &count);
    CHECK(code <= 0 && count == 0);
    return code;
}

static inline void must_save(const statesampler *s, void *state)
{
    CHECK(statesampler_save(s, state, STATESAMPLER_STATE_BYTES) ==
          STATESAMPLER_OK);
}

/* Returns how long the state is. */
static inline size_t must_mix_save(const statesampler_mix *mix, void *state)
{
    size_t size = statesampler_mix_state_bytes(mix);
    CHECK(statesampler_mix_save(mix, state, size) == STATESAMPLER_OK);
    return size;
}

#endif

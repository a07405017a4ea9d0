/* perm.c - a permutation of any n: is fill what `at` says, one by one, and is
   each undone by inverse? */
#include "fuzz.h"

/* Any 64 bits: small, at an edge, or as they come. */
static uint64_t any_value(void)
{
    if (check_random(2) == 0)
        return forged_value(0);
    return check_random((uint64_t)1 << 32) << 32 |
           check_random((uint64_t)1 << 32);
}

/* As many as the array holds: all below n, none twice, and what is behind them
   as it was. */
static void check_fill(const statesampler_perm *perm)
{
    uint64_t first = any_value() % perm->n, stride = any_value(), position, i;
    uint64_t wanted = check_random(200), *out;
    uint64_t most = stride == 0 ? wanted : (perm->n - 1 - first) / stride + 1;
    size_t count = (size_t)(wanted < most ? wanted : most);
    out = (uint64_t *)malloc((count + !count) * sizeof *out);
    CHECK(out != NULL);
    statesampler_perm_fill(perm, first, stride, out, count);
    for (i = 0, position = first; i < count; i++, position += stride) {
        CHECK(out[i] < perm->n);
        CHECK(statesampler_perm_at(perm, position) == out[i]);
        CHECK(statesampler_perm_inverse(perm, out[i]) == position);
    }
    free(out);
}

/* The sampler of the same numbers goes through it. */
static void check_sampler(const statesampler_perm *perm, uint64_t seed,
                          uint64_t epoch, uint64_t stream)
{
    statesampler_desc d = model_desc(perm->n, 1, 5);
    statesampler s;
    uint64_t out[5], step = any_value() % ((perm->n + 4) / 5);
    size_t count;
    d.seed = seed;
    d.epoch = epoch;
    d.stream = stream;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    count = must_at(&s, step, out);
    CHECK(count > 0);
    while (count-- > 0)
        CHECK(out[count] == statesampler_perm_at(perm, step * 5 + count));
}

static void fuzz(void)
{
    statesampler_perm perm, before;
    uint64_t n = any_value(), seed = any_value(), epoch = any_value();
    uint64_t stream = any_value(), i;
    int code, calls = 3;
    memset(&perm, 0x5a, sizeof perm);
    before = perm;
    code = statesampler_perm_init(&perm, n, seed, epoch, stream);
    if (n > STATESAMPLER_MAX_SAMPLES) {
        CHECK(code == STATESAMPLER_EINVAL_NUM_SAMPLES);
        CHECK(memcmp(&perm, &before, sizeof perm) == 0);
        return;
    }
    CHECK(code == STATESAMPLER_OK);
    fuzz_came_to("taken");
    if (n == 0)
        return;
    if (n > (uint64_t)1 << 30)
        fuzz_came_to("wide");
    while (calls-- > 0) {
        i = any_value() % n;
        CHECK(statesampler_perm_at(&perm, i) < n);
        CHECK(statesampler_perm_inverse(&perm,
                                        statesampler_perm_at(&perm, i)) == i);
        CHECK(statesampler_perm_at(&perm,
                                   statesampler_perm_inverse(&perm, i)) == i);
        check_fill(&perm);
    }
    check_sampler(&perm, seed, epoch, stream);
}

/* broken.h - the library with faults, for cases/examples.sh: it loses the
   third step or turn, finds no sample, has a sample at two positions, hands
   each turn to the first source, and does not go on where a state says.
   Whatever is compiled after this must notice. */
#define _POSIX_C_SOURCE 200809L
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#ifdef STATESAMPLER_STB_DS
#include "stb_ds.h"
#endif
#include "statesampler.h"

static int broken_calls;

static int broken_next(statesampler *s, uint64_t *out, size_t *count)
{
    if (++broken_calls == 3) {
        statesampler_next(s, NULL, NULL);
    }
    return statesampler_next(s, out, count);
}

static int broken_at(const statesampler *s, uint64_t step, uint64_t *out,
                     size_t *count)
{
    int more = statesampler_at(s, step, out, count);
    size_t i;

    for (i = 0; i < *count; i++) {
        out[i] = 0;
    }
    return more;
}

static int broken_load(statesampler *s, const void *state, size_t size)
{
    int code = statesampler_load(s, state, size);

    statesampler_next(s, NULL, NULL);
    return code;
}

static int broken_mix_next(statesampler_mix *mix, uint64_t *out, size_t *count,
                           uint32_t *source)
{
    int more;

    if (++broken_calls == 3) {
        statesampler_mix_next(mix, NULL, count, source);
    }
    more = statesampler_mix_next(mix, out, count, source);
    *source = 0;
    return more;
}

static uint64_t broken_perm_at(const statesampler_perm *perm, uint64_t position)
{
    return statesampler_perm_at(perm, position == 3 ? 0 : position);
}

static void broken_perm_fill(const statesampler_perm *perm, uint64_t first,
                             uint64_t stride, uint64_t *out, size_t count)
{
    statesampler_perm_fill(perm, first, stride, out, count);
    if (count > 1) {
        out[1] = out[0];
    }
}

#ifdef STATESAMPLER_STB_DS
static int broken_mixture_load(statesampler_mixture *m, const void *state,
                               size_t size, int changed)
{
    (void)state;
    (void)size;
    (void)changed;
    return statesampler_mixture_start(m, m->mix.stop);
}
#define statesampler_mixture_load broken_mixture_load
#endif

#define statesampler_next broken_next
#define statesampler_at broken_at
#define statesampler_load broken_load
#define statesampler_perm_at broken_perm_at
#define statesampler_perm_fill broken_perm_fill
#define statesampler_mix_next broken_mix_next

/* units_static.c - a file with a copy of its own, see units_main.c. */
#define STATESAMPLER_STATIC
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "units.h"

int units_static(const unsigned char *state, unsigned char *after,
                 uint64_t *batch, size_t *count)
{
    statesampler s;
    statesampler_desc desc;
    int more;
    units_describe(&desc);
    if (statesampler_init(&s, &desc) != 0 ||
        statesampler_load(&s, state, STATESAMPLER_STATE_BYTES) != 0)
        return -1;
    more = statesampler_next(&s, batch, count);
    if (statesampler_save(&s, after, STATESAMPLER_STATE_BYTES) != 0)
        return -1;
    return more;
}

units_next units_static_next(void)
{
    return statesampler_next;
}

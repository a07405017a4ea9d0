/* units_static.c - a file with a copy of its own, see units_main.c. */
#define STATESAMPLER_STATIC
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "units.h"

size_t units_static(const unsigned char *state, unsigned char *after,
                    uint64_t *batch)
{
    statesampler s;
    statesampler_desc desc;
    size_t count;
    units_describe(&desc);
    if (statesampler_init(&s, &desc) != 0 ||
        statesampler_load(&s, state, STATESAMPLER_STATE_BYTES) != 0)
        return SIZE_MAX;
    count = statesampler_next(&s, batch);
    statesampler_save(&s, after);
    return count;
}

units_next units_static_next(void)
{
    return statesampler_next;
}

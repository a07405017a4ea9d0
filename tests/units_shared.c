/* units_shared.c - the file with the implementation, see units_main.c. The
   declarations were seen before, as they are in a large program. */
#include "statesampler.h"
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "units.h"

int units_shared(const unsigned char *state, unsigned char *after,
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

units_next units_shared_next(void)
{
    return statesampler_next;
}

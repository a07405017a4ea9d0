/* units_main.c - one program of three files: this one and units_shared.c use
   the same implementation, units_static.c has a copy of its own. All must
   agree, and only the copy may have functions of its own. */
#include "statesampler.h"
#include "units.h"
#include "check.h"
#include "must.h"

int main(void)
{
    unsigned char state[3][STATESAMPLER_STATE_BYTES];
    uint64_t batch[3][UNITS_BATCH];
    size_t count[3];
    int more;
    statesampler mine;
    statesampler_desc desc;
    units_describe(&desc);

    CHECK(statesampler_init(&mine, &desc) == STATESAMPLER_OK);
    do {
        must_save(&mine, state[0]);
        more = statesampler_next(&mine, batch[0], &count[0]);
        CHECK(units_shared(state[0], state[1], batch[1], &count[1]) == more);
        CHECK(units_static(state[0], state[2], batch[2], &count[2]) == more);
        CHECK(count[1] == count[0] && count[2] == count[0]);
        CHECK(memcmp(batch[1], batch[0], 8 * count[0]) == 0);
        CHECK(memcmp(batch[2], batch[0], 8 * count[0]) == 0);
        must_save(&mine, state[0]);
        CHECK(memcmp(state[1], state[0], sizeof state[0]) == 0);
        CHECK(memcmp(state[2], state[0], sizeof state[0]) == 0);
    } while (statesampler_epoch(&mine) == 0);

    CHECK(units_shared_next() == statesampler_next);
    CHECK(units_static_next() != statesampler_next);
    return check_done("units");
}

/* scaler.c - see scaler.h. */
#include "scaler.h"

#define MOST 16777216.0
enum { GROWS = 2000 }; /* steps without overflow until the scale doubles */

void scaler_init(scaler *s, int half, double fixed)
{
    s->dynamic = half && fixed <= 0;
    s->scale = s->dynamic ? 65536 : half ? fixed : 1;
    s->unskipped = 0;
}

int scaler_can_be(const scaler *s, double scale, int64_t unskipped)
{
    if (!s->dynamic)
        return scale == s->scale && unskipped == 0;
    return scale > 0 && scale <= MOST && unskipped >= 0 && unskipped < GROWS;
}

int scaler_skips(scaler *s, int overflowed)
{
    if (!s->dynamic)
        return 0;
    if (overflowed) {
        s->scale /= 2;
        s->unskipped = 0;
    } else if (++s->unskipped == GROWS) {
        s->scale = s->scale < MOST ? s->scale * 2 : s->scale;
        s->unskipped = 0;
    }
    return overflowed;
}

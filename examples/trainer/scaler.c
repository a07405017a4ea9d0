/* scaler.c - see scaler.h. */
#include "scaler.h"

void scaler_init(scaler *s, int half, double fixed)
{
    s->dynamic = half && fixed <= 0;
    s->scale = s->dynamic ? 65536 : half ? fixed : 1;
    s->unskipped = 0;
}

int scaler_skips(scaler *s, int overflowed)
{
    if (!s->dynamic)
        return 0;
    if (overflowed) {
        s->scale /= 2;
        s->unskipped = 0;
    } else if (++s->unskipped == 2000) {
        s->scale = s->scale < 16777216 ? s->scale * 2 : s->scale;
        s->unskipped = 0;
    }
    return overflowed;
}

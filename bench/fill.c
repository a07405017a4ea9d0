/* fill.c - perm_fill under another name, -DFILL=NAME: plain.c holds two, which
   bench/run.sh compiles with different flags. */
#define STATESAMPLER_STATIC
#define STATESAMPLER_HOSTED
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"

void FILL(const statesampler_perm *perm, uint64_t first, uint64_t stride,
          uint64_t *out, size_t count);

void FILL(const statesampler_perm *perm, uint64_t first, uint64_t stride,
          uint64_t *out, size_t count)
{
    statesampler_perm_fill(perm, first, stride, out, count);
}

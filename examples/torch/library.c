/* library.c - statesampler.h as a shared library, for statesampler.py. */

#define STATESAMPLER_HOSTED
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"

/* How large the structs and the state are that Python keeps in memory of its
   own. */
extern const uint64_t statesampler_layout[4];
const uint64_t statesampler_layout[4] = {
    sizeof(statesampler), sizeof(statesampler_source),
    sizeof(statesampler_mix), STATESAMPLER_STATE_BYTES};

/* The sampler of a source: Python does not know where in it that is. */
statesampler *statesampler_source_sampler(statesampler_source *source);
statesampler *statesampler_source_sampler(statesampler_source *source)
{
    return &source->sampler;
}

/* Takes up to `turns` turns of this epoch, so that Python calls once for many
   batches, and returns how many there were. Samples are numbered through all
   sources, batch after batch in out; counts[i] is how many turn i has. */
size_t statesampler_turns(statesampler_mix *mix, size_t turns, uint64_t *out,
                          uint64_t *counts);
size_t statesampler_turns(statesampler_mix *mix, size_t turns, uint64_t *out,
                          uint64_t *counts)
{
    size_t turn, count, i;
    uint32_t source;
    uint64_t offset;
    for (turn = 0; turn < turns; turn++) {
        if (statesampler_mix_next(mix, out, &count, &source) != 1) {
            break;
        }
        offset = statesampler_mix_offset(mix, source);
        for (i = 0; i < count; i++) {
            out[i] += offset;
        }
        out += count;
        counts[turn] = count;
    }
    return turn;
}

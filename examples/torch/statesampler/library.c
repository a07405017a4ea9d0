/* library.c - statesampler.h as a shared library, for the Python package. */

#ifdef _WIN32
#define STATESAMPLER_API __declspec(dllexport)
#endif
#define STATESAMPLER_HOSTED
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"

/* The sizes of the structs and of a state, for Python, which allocates them. */
extern STATESAMPLER_API const uint64_t statesampler_layout[4];
const uint64_t statesampler_layout[4] = {
    sizeof(statesampler), sizeof(statesampler_source),
    sizeof(statesampler_mix), STATESAMPLER_STATE_BYTES};

STATESAMPLER_API
const char *statesampler_version(void);
const char *statesampler_version(void)
{
    return STATESAMPLER_VERSION;
}

/* Sets up a source of an array, as Python does not know its fields. */
STATESAMPLER_API
int statesampler_source_init(statesampler_source *sources, uint32_t source,
                             uint32_t weight, const statesampler_desc *desc);
int statesampler_source_init(statesampler_source *sources, uint32_t source,
                             uint32_t weight, const statesampler_desc *desc)
{
    sources[source].weight = weight;
    return statesampler_init(&sources[source].sampler, desc);
}

/* sample_seed of a source of an array. */
STATESAMPLER_API
uint64_t statesampler_source_seed(const statesampler_source *sources,
                                  uint32_t source, uint64_t epoch,
                                  uint64_t index);
uint64_t statesampler_source_seed(const statesampler_source *sources,
                                  uint32_t source, uint64_t epoch,
                                  uint64_t index)
{
    return statesampler_sample_seed(&sources[source].sampler, epoch, index);
}

/* Takes up to `turns` turns of this epoch, so that Python calls once for many
   batches, and returns how many there were. out gets their samples, batch after
   batch, as indices into the concatenation of all sources; counts[i] is the
   number of samples of turn i. */
STATESAMPLER_API
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

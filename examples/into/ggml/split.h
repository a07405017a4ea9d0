/* split.h - a validation set, and epochs over the rest. Include it after
   statesampler.h; epochs.h uses it.

   Which samples are held out is a permutation of all, the same for the whole
   run. A sampler shuffles the positions behind them in each epoch, and perm_map
   turns a whole batch of positions into samples: in a fraction of the time of
   lone calls, and without a table. */
#ifndef SPLIT_H
#define SPLIT_H

#include <string.h>

STATESAMPLER_WRAP_BEGIN

typedef struct split {
    statesampler_perm order; /* its first `held_out` positions are held out */
    uint64_t held_out;
    statesampler train; /* of the others */
} split;

/* Of num_samples, holds out `held_out`; seed, stream and batch_size as in a
   description. A last batch that is not full is left out: in each epoch other
   samples are in it. EINVAL: no full batch is left; or what init returns.
   Nothing is changed then. */
static inline int split_init(split *s, uint64_t num_samples, uint64_t held_out,
                             uint32_t batch_size, uint64_t seed,
                             uint64_t stream)
{
    statesampler_desc desc;
    statesampler_perm order;
    int code;

    memset(&desc, 0, sizeof desc);
    desc.num_samples = num_samples - held_out;
    desc.seed = seed;
    desc.stream = stream;
    desc.batch_size = batch_size > 0 ? batch_size : 1;
    desc.drop_last = 1;
    if (held_out > num_samples || desc.num_samples < desc.batch_size)
        return STATESAMPLER_EINVAL;
    code = statesampler_perm_init(&order, num_samples, seed, 0, ~stream);
    if (code == STATESAMPLER_OK)
        code = statesampler_init(&s->train, &desc);
    if (code == STATESAMPLER_OK) {
        s->order = order;
        s->held_out = held_out;
    }
    return code;
}

/* The samples of the next training batch, and how many. Returns 0 once at an
   epoch's end. */
static inline int split_next(split *s, uint64_t *batch, size_t *count)
{
    int more = statesampler_next(&s->train, batch, count);
    size_t i;

    for (i = 0; i < *count; i++)
        batch[i] += s->held_out;
    statesampler_perm_map(&s->order, batch, *count);
    return more;
}

/* Writes `count` of the samples held out, from number `first` on. Returns how
   many; fewer, if there are no more. */
static inline size_t split_held_out(const split *s, uint64_t first,
                                    uint64_t *batch, size_t count)
{
    if (first >= s->held_out)
        return 0;
    if (count > s->held_out - first)
        count = (size_t)(s->held_out - first);
    statesampler_perm_fill(&s->order, first, 1, batch, count);
    return count;
}

STATESAMPLER_WRAP_END

#endif

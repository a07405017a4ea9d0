/* buckets.h - batches of sequences of similar length, as many as fit a budget
   of tokens, with all ranks in the same bucket at every turn. Used by
   buckets.c; copy it if you like.

   The data is sorted by bucket. Sequence `index` of a bucket has the number
   statesampler_mix_offset of the bucket plus index. The weight of a bucket is
   its number of batches, so that all buckets end together. */
#ifndef BUCKETS_H
#define BUCKETS_H

/* Errors, beside those of statesampler.h. */
#define BUCKETS_EBUDGET (-1601)
#define BUCKETS_ESTEPS (-1602)

typedef struct bucket {
    uint64_t sequences;
    uint32_t longest; /* tokens */
} bucket;

static inline const char *buckets_error(int code)
{
    switch (code) {
    case BUCKETS_EBUDGET:
        return "the budget is too small for one sequence of a bucket";
    case BUCKETS_ESTEPS:
        return "a bucket has 2^32 - 1 batches or more";
    default:
        return statesampler_error(code);
    }
}

/* Makes the mix from an array of `count` sources. desc gives seed, epoch, rank
   and world_size, and the stream of the first bucket. `budget` is the number
   of tokens in a rank's batch, padding included. An epoch has each sequence
   once. Returns what statesampler_init and mix_init return. EBUDGET: the budget
   is too small for one sequence. ESTEPS: a bucket has too many batches. */
static inline int buckets_init(statesampler_mix *mix,
                               statesampler_source *sources,
                               const bucket *buckets, uint32_t count,
                               uint32_t budget, const statesampler_desc *desc)
{
    uint32_t b;

    for (b = 0; b < count; b++) {
        statesampler_desc one = *desc;
        uint64_t steps;
        int code;

        one.num_samples = buckets[b].sequences;
        one.stream += b;
        one.batch_size = budget / (buckets[b].longest ? buckets[b].longest : 1);
        one.tail = STATESAMPLER_TAIL_UNEVEN;
        if (one.batch_size == 0) {
            return BUCKETS_EBUDGET;
        }
        code = statesampler_init(&sources[b].sampler, &one);
        if (code != STATESAMPLER_OK) {
            return code;
        }
        steps = statesampler_num_steps(&sources[b].sampler);
        if (steps >= STATESAMPLER_OFF) {
            return BUCKETS_ESTEPS;
        }
        sources[b].weight = (uint32_t)steps;
    }
    return statesampler_mix_init(mix, sources, count, STATESAMPLER_STOP_ALL);
}

#endif

/* buckets.h - a mix of buckets: sequences of like length in a batch, as many as
   a budget of tokens holds, and all ranks in the same bucket at every turn.
   For buckets.c, and to be copied.

   The data lies sorted by bucket, in one file or one for each; a sequence is
   number statesampler_mix_offset of the bucket plus the index. Each bucket has
   as many turns as it has batches, so that all end together. */
#ifndef BUCKETS_H
#define BUCKETS_H

typedef struct bucket {
    uint64_t sequences;
    uint32_t longest; /* tokens */
} bucket;

/* Makes the mix in an array of `count` sources. The description says seed,
   epoch, rank and world_size, and the stream of the first bucket. `budget` is
   the tokens of a rank's batch, padding included. An epoch has each sequence
   once. Returns what statesampler_init and mix_init return; EINVAL_GLOBAL_BATCH
   also where the budget does not hold one sequence. */
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
        one.batch_size =
            budget / (buckets[b].longest ? buckets[b].longest : 1);
        one.tail = STATESAMPLER_TAIL_UNEVEN;
        if (one.batch_size == 0) {
            return STATESAMPLER_EINVAL;
        }
        code = statesampler_init(&sources[b].sampler, &one);
        if (code != STATESAMPLER_OK) {
            return code;
        }
        steps = statesampler_num_steps(&sources[b].sampler);
        if (steps >= STATESAMPLER_OFF) {
            return STATESAMPLER_EINVAL;
        }
        sources[b].weight = (uint32_t)steps;
    }
    return statesampler_mix_init(mix, sources, count, STATESAMPLER_STOP_ALL);
}

#endif

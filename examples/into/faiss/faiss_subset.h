/* faiss_subset.h - random subsets of distinct vectors, for faiss's Clustering,
   in time and memory of the subset instead of the dataset.

   Include it after statesampler.h. C99 or C++.

       faiss_subset_init(&s, n, count, seed, stream, 0, 1);
       faiss_subset_next(&s, numbers);
       faiss_subset_gather(&s, numbers, vectors, d * sizeof(float), subset);
       clustering.train(count, subset, index);

   From more than k * max_points_per_centroid vectors Clustering::train draws a
   subset by itself, from a table of all of them. At most so many it takes as
   they are. */
#ifndef FAISS_SUBSET_H
#define FAISS_SUBSET_H

#include <string.h>

/* The sampler is what a checkpoint saves and loads. */
typedef struct faiss_subset {
    statesampler sampler;
    uint32_t rank, world_size, part; /* a reader's part of a subset */
} faiss_subset;

/* Starts at the first subset: `count` of n vectors. With several readers, rank
   of world_size gets count / world_size of them. `stream` tells datasets apart,
   so that the state of another one is refused.
   EINVAL: count is 0, above n or no multiple of world_size; or what
   statesampler_init refuses. Nothing is changed then. */
static inline int faiss_subset_init(faiss_subset *s, uint64_t n, uint32_t count,
                                    uint64_t seed, uint64_t stream,
                                    uint32_t rank, uint32_t world_size)
{
    statesampler_desc desc;
    int code;

    if (count == 0 || count > n || world_size == 0 || count % world_size > 0) {
        return STATESAMPLER_EINVAL;
    }
    memset(&desc, 0, sizeof desc);
    desc.num_samples = n;
    desc.seed = seed;
    desc.stream = stream;
    desc.rank = rank;
    desc.world_size = world_size;
    desc.batch_size = count / world_size;
    /* The tail PAD would fill the last subset with vectors that came before. */
    desc.tail = STATESAMPLER_TAIL_DROP;
    desc.drop_last = 1;
    code = statesampler_init(&s->sampler, &desc);
    if (code == STATESAMPLER_OK) {
        s->rank = rank;
        s->world_size = world_size;
        s->part = desc.batch_size;
    }
    return code;
}

/* Sets `numbers` to this reader's part of the next subset. Returns 1, or 0 once
   at the end of an epoch: until then no vector comes twice, and what is left of
   the n is in no subset. */
static inline int faiss_subset_next(faiss_subset *s, uint64_t *numbers)
{
    return statesampler_next(&s->sampler, numbers, NULL);
}

/* Copies this reader's part from all vectors to its places of the subset, which
   is then the same with any number of readers. They may be threads. A vector
   has `bytes` bytes: d floats, or a code for train_encoded. */
static inline void faiss_subset_gather(const faiss_subset *s,
                                       const uint64_t *numbers,
                                       const void *vectors, size_t bytes,
                                       void *subset)
{
    size_t i;

    for (i = 0; i < s->part; i++) {
        memcpy((char *)subset + (i * s->world_size + s->rank) * bytes,
               (const char *)vectors + numbers[i] * bytes, bytes);
    }
}

#endif

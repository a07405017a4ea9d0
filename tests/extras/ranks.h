/* ranks.h - makes a rank's mix, for the tests of recall.h and recorder.h. */
#ifndef STATESAMPLER_TESTS_RANKS_H
#define STATESAMPLER_TESTS_RANKS_H

/* Describes the rank in desc, too. */
static void begin_rank(statesampler_mix *mix, statesampler_source *sources,
                       statesampler_desc *desc, const uint32_t *weights,
                       uint32_t num_sources, uint32_t stop, uint32_t rank,
                       uint32_t world_size)
{
    uint32_t i;

    for (i = 0; i < num_sources; i++) {
        desc[i].rank = rank;
        desc[i].world_size = world_size;
        sources[i].weight = weights[i];
        CHECK(statesampler_init(&sources[i].sampler, &desc[i]) ==
              STATESAMPLER_OK);
    }
    CHECK(statesampler_mix_init(mix, sources, num_sources, stop) ==
          STATESAMPLER_OK);
}

#endif

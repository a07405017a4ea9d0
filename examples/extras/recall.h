/* recall.h - from the state of a mix: any turn of any of its epochs, past too.

   statesampler_mix_load makes the present turn the base, before which mix_at
   does not answer. This begins a mix like that of the state and goes to the
   state's turn. If it has the same state there, turns before are answered too.
   It has another if ranks, batch size or weights changed in the present epochs
   of the datasets, or if a mix with CARRY was loaded. (With ALL, RESTART and
   NEVER it may have the same after a change.)

   The answers are those of a run that was straight: from the beginning of the
   epoch it came to the state, and goes on from it, by mix_next alone. A state
   cannot tell whether it did. recorder.h asks for that to be said.

   Include it after statesampler.h. `sources` is an array of
   recall_sources(state, size), `scratch` has size bytes. */
#ifndef RECALL_H
#define RECALL_H

#include <string.h>

STATESAMPLER_WRAP_BEGIN

#define RECALL_EEPOCH (-1031) /* beside the errors of statesampler.h */

static inline const char *recall_error(int code)
{
    if (code == RECALL_EEPOCH)
        return "a mix with the stop rule NEVER has one epoch";
    return statesampler_error(code);
}

/* Goes to the first step that begins in an epoch, as the steps of CARRY are
   counted through all epochs. ERANGE_END: none does; it has gone to the first
   one that begins later, so that the one before, if there is one, has all the
   epoch's samples. ERANGE_FAR: the epoch is out of reach. */
static inline int recall_carry(statesampler *s, uint64_t epoch)
{
    const uint64_t now = statesampler_epoch(s), at = statesampler_position(s);
    const uint64_t global =
        (uint64_t)s->run.shape.world_size * s->run.shape.batch_size;
    uint64_t step = statesampler_step(s), samples; /* to the epoch's first */
    int code;

    if ((epoch < now ? now - epoch : epoch - now) >
        ((uint64_t)1 << 62) / s->run.num_samples)
        return STATESAMPLER_ERANGE_FAR;
    if (epoch < now) {
        samples = (now - epoch) * s->run.num_samples + at;
        samples /= global; /* steps to the first one that is not before it */
        step -= samples < step ? samples : step;
    } else {
        samples = (epoch - now) * s->run.num_samples - at;
        step += (samples + global - 1) / global;
    }
    code = statesampler_seek(s, step);
    if (code == STATESAMPLER_OK && statesampler_epoch(s) != epoch)
        return STATESAMPLER_ERANGE_END;
    return code;
}

/* The sources in the state of a mix or mixture; 0: it is of neither. */
static inline uint32_t recall_sources(const void *state, size_t size)
{
    statesampler_mix_place place = {0, 0, 0, 0, 0};

    state = statesampler_mix_state_in(state, &size);
    statesampler_mix_describe(state, size, 0, NULL, &place);
    return place.num_sources;
}

/* Describes a source of a mix's state that has been checked. */
static inline int recall_source(const void *state, size_t i,
                                statesampler_desc *desc, uint32_t *weight)
{
    return statesampler_describe(statesampler_mix_source_in(state, (uint32_t)i,
                                                            weight),
                                 STATESAMPLER_STATE_BYTES, desc, NULL);
}

/* Initialises the sources, each at the start of its present epoch. */
static inline int recall_init(statesampler_mix *mix,
                              statesampler_source *sources, const void *state,
                              size_t size, uint32_t drop_last)
{
    statesampler_mix_place place = {0, 0, 0, 0, 0};
    statesampler_desc desc;
    int code = statesampler_mix_describe(state, size, 0, NULL, &place);

    for (size_t i = 0; i < place.num_sources && code == STATESAMPLER_OK; i++) {
        code = recall_source(state, i, &desc, &sources[i].weight);
        desc.drop_last = drop_last;
        if (code == STATESAMPLER_OK)
            code = statesampler_init(&sources[i].sampler, &desc);
    }
    if (code != STATESAMPLER_OK)
        return code;
    return statesampler_mix_init(mix, sources, place.num_sources, place.stop);
}

/* Goes to the beginning of the state's epoch, and from there to its turn. A mix
   that began with the sources' present epochs shows how many epochs each begins
   on the way. Returns 1 if all but the epoch's number is the state's then. */
static inline int recall_present(statesampler_mix *mix,
                                 const unsigned char *state, size_t size,
                                 unsigned char *scratch, uint64_t turn)
{
    statesampler_desc desc;

    if (statesampler_mix_seek(mix, turn) != STATESAMPLER_OK)
        return 0;
    for (size_t i = 0; i < mix->num_sources; i++) {
        statesampler *s = &mix->sources[i].sampler;

        if (recall_source(state, i, &desc, &mix->sources[i].weight) !=
            STATESAMPLER_OK)
            return 0;
        /* On the way it went from desc.epoch to its present epoch. It must end
           in desc.epoch, so it begins by as much before that. */
        statesampler_begin(s, 2 * desc.epoch - statesampler_epoch(s));
    }
    if (statesampler_mix_init(mix, mix->sources, mix->num_sources, mix->stop) !=
            STATESAMPLER_OK ||
        statesampler_mix_seek(mix, turn) != STATESAMPLER_OK ||
        statesampler_mix_save(mix, scratch, size) != STATESAMPLER_OK)
        return 0;
    /* Neither the epoch, which counts on from 0, nor the check word. */
    return memcmp(scratch + 24, state + 24, size - 32) == 0;
}

/* Goes from a mix's epoch to one that is `by` later; earlier if that wraps. A
   source begins as many epochs of its own in each as in the one after this. One
   that begins none, as it is off or has no turn, stays where it is. */
static inline int recall_epoch(statesampler_mix *mix, unsigned char *scratch,
                               uint64_t by)
{
    uint64_t before, each;

    if (mix->stop == STATESAMPLER_STOP_NEVER)
        return RECALL_EEPOCH;
    /* Through the first epoch, as it may have begun amid a source's own epoch;
       then through a second one, from whose beginning epochs are counted. */
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < mix->num_sources; i++) {
            before = statesampler_epoch(&mix->sources[i].sampler);
            memcpy(scratch + 8 * i, &before, 8);
        }
        statesampler_mix_seek(mix, statesampler_mix_num_turns(mix));
        statesampler_mix_next(mix, NULL, NULL, NULL); /* 0: the next epoch */
    }
    for (size_t i = 0; i < mix->num_sources; i++) {
        statesampler *s = &mix->sources[i].sampler;

        memcpy(&before, scratch + 8 * i, 8);
        each = statesampler_epoch(s) - before;
        if (each != 0)
            statesampler_begin(s, before + (by - 1) * each);
    }
    return statesampler_mix_init(mix, mix->sources, mix->num_sources,
                                 mix->stop);
}

/* Makes rank 0's mix of a state in `epoch` (STATESAMPLER_NONE: the state's):
   ask it by mix_at, for other ranks after mix_reshape. In the state's epoch it
   is at the state's turn. Others, and with RESTART and NEVER epochs of datasets
   that have ended, are what the state's ranks and weights serve in them.
   drop_last is the run's. Errors: mix_load's; EEPOCH: NEVER has one epoch. */
static inline int recall_mix(statesampler_mix *mix,
                             statesampler_source *sources, const void *from,
                             size_t size, unsigned char *scratch,
                             uint64_t epoch, uint32_t drop_last)
{
    const unsigned char *state =
        (const unsigned char *)statesampler_mix_state_in(from, &size);
    uint64_t now;
    int code = recall_init(mix, sources, state, size, drop_last);

    if (code == STATESAMPLER_OK)
        code = statesampler_mix_load(mix, state, size);
    if (code != STATESAMPLER_OK)
        return code;
    now = statesampler_mix_epoch(mix);
    if (epoch != STATESAMPLER_NONE && epoch != now)
        return recall_epoch(mix, scratch, epoch - now);
    now = statesampler_mix_turn(mix);
    recall_init(mix, sources, state, size, drop_last);
    if (!recall_present(mix, state, size, scratch, now)) {
        recall_init(mix, sources, state, size, drop_last);
        code = statesampler_mix_load(mix, state, size);
    }
    return code;
}

STATESAMPLER_WRAP_END

#endif

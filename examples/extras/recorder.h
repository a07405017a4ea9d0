/* recorder.h - from a saved state: the samples of any step of its run, and the
   step of any sample, past or to come.

   A state is one place of a run. What was served follows from it only if the
   run was straight: it came to this place and went on from it by `next` alone.
   A seek leaves no trace in a state, nor does what was done after it was saved.
   So every question is refused until `straight` is set.

   A state is that of a sampler, or of a mix or mixture, whose samples are then
   counted through its datasets. Used by indices.c; copy it with recall.h. */
#ifndef RECORDER_H
#define RECORDER_H

#include "recall.h"

STATESAMPLER_WRAP_BEGIN

/* Errors, beside those of statesampler.h. */
#define RECORDER_EUNKNOWN (-1021)
#define RECORDER_EBEGINS (-1022)

/* Set what is asked before recorder_open, which sets the rest. */
typedef struct recorder {
    uint64_t epoch;                  /* STATESAMPLER_NONE: the state's */
    uint32_t world_size, batch_size; /* of a run that goes on; 0: the state's */
    uint32_t drop_last;              /* the run's: a state does not hold it */
    uint32_t straight; /* 1: the run had no seek, begin, mix_weigh or resize and
                          no other ranks or batch sizes from the state to the
                          steps that are asked for; or, if they come before it,
                          from the start of their epoch to the state */
    uint32_t num_sources; /* 0: a sampler's state */
    statesampler sampler;
    statesampler_mix mix;
} recorder;

static inline const char *recorder_error(int code)
{
    if (code == RECORDER_EUNKNOWN)
        return "a state is one place of a run: it cannot know whether the run"
               " made a seek or a begin, or had other weights, ranks, batches"
               " or another length, before it or after it";
    if (code == RECORDER_EBEGINS)
        return "no step begins in the epoch";
    return recall_error(code);
}

static inline int recorder_open_sampler(recorder *r, const void *state,
                                        size_t size)
{
    statesampler *s = &r->sampler;
    statesampler_desc desc;
    int code = statesampler_describe(state, size, &desc, NULL);

    if (code != STATESAMPLER_OK)
        return code;
    desc.world_size = r->world_size > 0 ? r->world_size : desc.world_size;
    desc.batch_size = r->batch_size > 0 ? r->batch_size : desc.batch_size;
    desc.drop_last = r->drop_last;
    r->world_size = desc.world_size;
    r->batch_size = desc.batch_size;
    code = statesampler_init(s, &desc);
    if (code == STATESAMPLER_OK)
        code = statesampler_load(s, state, size);
    if (code != STATESAMPLER_OK)
        return code;
    if (r->epoch == STATESAMPLER_NONE)
        r->epoch = desc.epoch;
    if (r->epoch == statesampler_epoch(s))
        return STATESAMPLER_OK;
    if (desc.tail == STATESAMPLER_TAIL_CARRY) {
        code = recall_carry(s, r->epoch);
        return code == STATESAMPLER_ERANGE_END ? RECORDER_EBEGINS : code;
    }
    statesampler_begin(s, r->epoch);
    return STATESAMPLER_OK;
}

/* Reads a state. `sources` and `scratch` are as for recall_mix: a sampler needs
   none. ERANGE, RECALL_EEPOCH: there is no such epoch. EBEGINS: with CARRY, no
   step begins in it; see recall_carry, of r->sampler. EINVAL: a description
   that init refuses. ECORRUPT, EVERSION: as load. */
static inline int recorder_open(recorder *r, statesampler_source *sources,
                                const void *state, size_t size,
                                unsigned char *scratch)
{
    statesampler_mix_place place;
    statesampler_desc desc;
    int code;

    r->num_sources = recall_sources(state, size);
    if (r->num_sources == 0)
        return recorder_open_sampler(r, state, size);
    code = recall_mix(&r->mix, sources, state, size, scratch, r->epoch,
                      r->drop_last);
    if (code != STATESAMPLER_OK)
        return code;
    state = statesampler_mix_state_in(state, &size);
    statesampler_mix_describe(state, size, 0, NULL, &place);
    r->batch_size = 0; /* becomes the largest */
    for (size_t i = 0; i < r->num_sources; i++) {
        code = recall_source(state, i, &desc, &sources[i].weight);
        if (code != STATESAMPLER_OK)
            return code;
        if (desc.batch_size > r->batch_size)
            r->batch_size = desc.batch_size;
        if (r->world_size == 0)
            r->world_size = desc.world_size;
    }
    if (r->epoch == STATESAMPLER_NONE)
        r->epoch = place.epoch;
    return statesampler_mix_reshape(&r->mix, 0, r->world_size);
}

/* The epoch in which a step begins: with CARRY steps count on through all. */
static inline uint64_t recorder_epoch(recorder r, uint64_t step)
{
    return r.num_sources == 0 && statesampler_seek(&r.sampler, step) == 0
               ? statesampler_epoch(&r.sampler)
               : r.epoch;
}

/* A rank's samples in a step; `batch` has room for batch_size. *source is the
   number of a mix's dataset. Returns 1; or 0 or an error as `at` and mix_at;
   or EUNKNOWN, and writes nothing. */
static inline int recorder_at(recorder *r, uint64_t step, uint32_t rank,
                              uint64_t *batch, size_t *count, uint32_t *source)
{
    size_t i;
    int code;

    if (!r->straight)
        return RECORDER_EUNKNOWN;
    *source = 0;
    if (r->num_sources == 0) {
        code = statesampler_reshape(&r->sampler, rank, r->world_size,
                                    r->batch_size);
        return code != STATESAMPLER_OK
                   ? code
                   : statesampler_at(&r->sampler, step, batch, count);
    }
    code = statesampler_mix_reshape(&r->mix, rank, r->world_size);
    if (code == STATESAMPLER_OK)
        code = statesampler_mix_at(&r->mix, step, batch, count, source);
    for (i = 0; code == 1 && i < *count; i++)
        batch[i] += statesampler_mix_offset(&r->mix, *source);
    return code;
}

/* The number of the dataset that has a sample. */
static inline uint32_t recorder_source(const recorder *r, uint64_t index)
{
    uint32_t source = 0;

    while (source + 1 < r->num_sources &&
           index >= statesampler_mix_offset(&r->mix, source + 1))
        source++;
    return source;
}

/* Where a sample is, in a mix in its dataset's present epoch. Errors are those
   of locate and mix_locate, and EUNKNOWN. An error writes nothing. */
static inline int recorder_locate(const recorder *r, uint64_t index,
                                  uint64_t *step, statesampler_place *place,
                                  uint32_t *source)
{
    uint32_t number = recorder_source(r, index);
    statesampler_place found = {0, 0, 0, 0};
    uint64_t turn = 0;
    int code;

    if (!r->straight)
        return RECORDER_EUNKNOWN;
    if (r->num_sources == 0) {
        code = statesampler_locate(&r->sampler, index, &found);
        turn = found.step;
    } else {
        index -= statesampler_mix_offset(&r->mix, number);
        code = statesampler_mix_locate(&r->mix, number, index, &turn, &found);
    }
    if (code == STATESAMPLER_OK) {
        *step = turn;
        *place = found;
        *source = number;
    }
    return code;
}

STATESAMPLER_WRAP_END

#endif

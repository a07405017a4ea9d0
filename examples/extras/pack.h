/* pack.h - packs of samples that fill a budget of tokens, and a state that
   resumes at the next pack on any number of ranks. Copy it with fit.h.

   A plan is a batch of a sampler whose world_size is 1, packed and shuffled by
   fit.h. Plan after plan, epoch after epoch, this is one sequence of packs, in
   which no rank has a part. A step of W ranks is the next W packs; those left
   at the end of a plan, or of an epoch, open a step that the next completes.

   So a state is a plan and the number of a pack in it. A resume makes that plan
   alone, and then any number of ranks goes on with the next pack. */
#ifndef PACK_H
#define PACK_H

#include "fit.h"

STATESAMPLER_WRAP_BEGIN

/* The memory for plans: of uint64_t, and FIT_NUMBERS of uint32_t. And a state:
   the sampler's, and words in the machine's byte order. */
#define PACK_WORDS(plan, budget) ((plan) + FIT_WORDS(budget))
#define PACK_STATE (STATESAMPLER_STATE_BYTES / 8 + 3)

/* Errors, beside those of statesampler.h. */
#define PACK_ELENGTH (-1101)
#define PACK_EFEW (-1102)
#define PACK_EOTHER (-1103)
#define PACK_EWORLD (-1104)
#define PACK_EDROP (-1105)
#define PACK_EEMPTY (-1106)
#define PACK_EPLAN (-1107)
#define PACK_EBUDGET (-1108)
#define PACK_EWIDTH (-1109)

typedef struct packer {
    statesampler sampler; /* stands at the plan */
    const void *lengths;  /* of all samples, in tokens */
    uint32_t width;       /* bytes of a length, 2 or 4 */
    uint64_t digest;      /* of lengths, budget and size of plans */
    uint64_t number;      /* of the next pack in the plan; see ELENGTH */
    uint64_t *samples;    /* of the plan */
    fit plan;
} packer;

static inline const char *pack_error(int code)
{
    switch (code) {
    case PACK_ELENGTH:
        return "a length is 0 or above the budget";
    case PACK_EFEW:
        return "there are fewer lengths than samples";
    case PACK_EOTHER:
        return "the state has another budget, size of plans, or lengths";
    case PACK_EWORLD:
        return "plans are batches of a sampler with world_size 1";
    case PACK_EDROP:
        return "drop_last is not for plans";
    case PACK_EEMPTY:
        return "there are no samples to pack";
    case PACK_EPLAN:
        return "a plan (batch_size) has 1 to 2^32 - 2 samples";
    case PACK_EBUDGET:
        return "a budget is 1 to 2^32 - 2 tokens";
    case PACK_EWIDTH:
        return "a length has 2 or 4 bytes";
    default:
        return statesampler_error(code);
    }
}

/* Whether a plan may have so many samples, or a pack so many tokens. */
static inline int pack_fits(uint32_t number)
{
    return number > 0 && number < 0xffffffff;
}

/* OK if plans can be made of such a description, lengths and budget. */
static inline int pack_check(const statesampler_desc *desc, uint32_t width,
                             uint64_t count, uint32_t budget)
{
    if (desc->world_size > 1)
        return PACK_EWORLD;
    if (desc->drop_last > 0)
        return PACK_EDROP;
    if (desc->num_samples == 0)
        return PACK_EEMPTY;
    if (!pack_fits(desc->batch_size))
        return PACK_EPLAN;
    if (!pack_fits(budget))
        return PACK_EBUDGET;
    if (width != 2 && width != 4)
        return PACK_EWIDTH;
    if (count < desc->num_samples)
        return PACK_EFEW;
    return STATESAMPLER_OK;
}

/* Makes the plan at which the sampler stands. */
static inline void pack_plan(packer *p)
{
    size_t count, i;

    statesampler_at(&p->sampler, statesampler_step(&p->sampler), p->samples,
                    &count);
    for (i = 0; i < count; i++)
        p->plan.lengths[i] = fit_length(p->lengths, p->width, p->samples[i]);
    fit_bins(&p->plan, (uint32_t)count);
    fit_shuffle(&p->plan,
                statesampler_sample_seed(&p->sampler,
                                         statesampler_epoch(&p->sampler),
                                         p->samples[0]));
}

/* Goes so many packs on. Each turn passes a plan; at the end of an epoch is one
   without packs. */
static inline void pack_pass(packer *p, uint64_t packs)
{
    for (p->number += packs; p->number >= p->plan.bins; pack_plan(p)) {
        p->number -= p->plan.bins;
        statesampler_next(&p->sampler, NULL, NULL);
    }
}

/* Begins at desc->epoch, with plans of desc->batch_size samples; world_size is
   1. Reads all `count` lengths, which are not to change. Errors: what
   statesampler_init says, those of pack_check; ELENGTH: p->number is the first
   sample whose length is wrong. */
static inline int pack_init(packer *p, const statesampler_desc *desc,
                            const void *lengths, uint32_t width, uint64_t count,
                            uint32_t budget, uint64_t *words, uint32_t *numbers)
{
    const uint32_t plan = desc->batch_size;
    uint64_t h = 0, length;
    int code = statesampler_init(&p->sampler, desc);

    if (code == STATESAMPLER_OK)
        code = pack_check(desc, width, count, budget);
    if (code != STATESAMPLER_OK)
        return code;
    p->lengths = lengths;
    p->width = width;
    for (p->number = 0; p->number < desc->num_samples; p->number++) {
        length = fit_length(lengths, width, p->number);
        if (length - 1 >= budget)
            return PACK_ELENGTH;
        h = (h ^ length) * 0x9e3779b97f4a7c15u ^ h >> 32;
    }
    p->number = 0;
    p->digest = h ^ ((uint64_t)plan << 32 | budget);
    p->samples = words;
    fit_init(&p->plan, plan, budget, words + plan, numbers);
    pack_plan(p);
    return STATESAMPLER_OK;
}

/* Writes a rank's pack of the next step to `out`, which has room for a plan,
   and goes to the step after it. Returns its samples; 0: no such rank. */
static inline size_t pack_next(packer *p, uint32_t rank, uint32_t world_size,
                               uint64_t *out)
{
    const uint32_t *places;
    size_t i, count;

    if (rank >= world_size)
        return 0;
    pack_pass(p, rank);
    places = fit_bin(&p->plan, (uint32_t)p->number, &count);
    for (i = 0; i < count; i++)
        out[i] = p->samples[places[i]];
    pack_pass(p, world_size - rank);
    return count;
}

/* Writes the state, PACK_STATE words. */
static inline void pack_save(const packer *p, uint64_t *state)
{
    statesampler_save(&p->sampler, state, STATESAMPLER_STATE_BYTES);
    state[PACK_STATE - 3] = p->number;
    state[PACK_STATE - 2] = p->digest;
    state[PACK_STATE - 1] = statesampler_hash(0, state, 8 * (PACK_STATE - 1));
}

/* Goes on where a state was saved. ECORRUPT, EOTHER, and what statesampler_load
   returns: nothing has changed. */
static inline int pack_load(packer *p, const uint64_t *state, size_t words)
{
    int code;

    if (words != PACK_STATE)
        return STATESAMPLER_ECORRUPT_SIZE;
    if (state[words - 1] != statesampler_hash(0, state, 8 * (words - 1)))
        return STATESAMPLER_ECORRUPT_CHECK;
    if (state[words - 3] >> 32 > 0)
        return STATESAMPLER_ECORRUPT_POSITION;
    if (state[words - 2] != p->digest)
        return PACK_EOTHER;
    code = statesampler_load(&p->sampler, state, STATESAMPLER_STATE_BYTES);
    if (code == STATESAMPLER_OK) {
        p->number = state[words - 3];
        pack_plan(p);
    }
    return code;
}

STATESAMPLER_WRAP_END

#endif

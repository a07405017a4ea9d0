/* library.c - statesampler.h as a shared library, for the Python package. */

#ifdef _WIN32
#define STATESAMPLER_API __declspec(dllexport)
#endif
#define STATESAMPLER_HOSTED
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
/* Those of examples/extras. _build.py and setup.py read here what headers there
   are, so each is named, also if another one includes it. */
#include "fit.h"
#include "ledger.h"
#include "pack.h"
#include "recall.h"
#include "spread.h"

/* Declares and defines a function that the library has besides the header's. */
#define EXPORT(type, name, parameters)                    \
    STATESAMPLER_API type statesampler_##name parameters; \
    type statesampler_##name parameters

/* The sizes of the structs and of a state, for Python, which allocates them. */
extern STATESAMPLER_API const uint64_t statesampler_layout[4];
const uint64_t statesampler_layout[4] = {
    sizeof(statesampler), sizeof(statesampler_source),
    sizeof(statesampler_mix), STATESAMPLER_STATE_BYTES};

EXPORT(const char *, version_text, (void))
{
    return STATESAMPLER_VERSION;
}

/* Sets up a source of an array, as Python does not know its fields. */
EXPORT(int, source_init,
       (statesampler_source *sources, uint32_t source, uint32_t weight,
        const statesampler_desc *desc))
{
    sources[source].weight = weight;
    return statesampler_init(&sources[source].sampler, desc);
}

/* sample_seed of a source of an array. */
EXPORT(uint64_t, source_seed,
       (const statesampler_source *sources, uint32_t source, uint64_t epoch,
        uint64_t index))
{
    return statesampler_sample_seed(&sources[source].sampler, epoch, index);
}

/* Numbers the present epoch of a mix, which counts its own from 0. */
EXPORT(void, mix_number, (statesampler_mix *mix, uint64_t epoch))
{
    mix->epoch = epoch;
}

/* Takes up to `turns` turns of this epoch, so that Python calls once for many
   batches, and returns how many there were. out gets their samples, batch after
   batch, as indices into the concatenation of all sources; counts[i] is the
   number of samples of turn i. */
EXPORT(size_t, turns,
       (statesampler_mix *mix, size_t turns, uint64_t *out, uint64_t *counts))
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

EXPORT(int, ledger_init,
       (ledger *l, uint64_t *done, uint64_t window, uint64_t end))
{
    return ledger_init(l, done, window, end);
}

EXPORT(int, ledger_issue, (ledger *l, uint64_t *ticket))
{
    return ledger_issue(l, ticket);
}

EXPORT(int, ledger_status, (const ledger *l, uint64_t ticket))
{
    return ledger_status(l, ticket);
}

EXPORT(int, ledger_done, (ledger *l, uint64_t ticket))
{
    return ledger_done(l, ticket);
}

EXPORT(int, ledger_save, (const ledger *l, uint64_t *state, size_t words))
{
    return ledger_save(l, state, words);
}

EXPORT(int, ledger_load, (ledger *l, const uint64_t *state, size_t words))
{
    return ledger_load(l, state, words);
}

EXPORT(int, ledger_describe,
       (const uint64_t *state, size_t words, ledger_place *place))
{
    return ledger_describe(state, words, place);
}

EXPORT(uint64_t, ledger_check, (const uint64_t *state, size_t words))
{
    return ledger_check(state, words);
}

EXPORT(const char *, ledger_error, (int code))
{
    return ledger_error(code);
}

/* The mix of a state in the state's epoch. */
EXPORT(int, recall_mix,
       (statesampler_mix *mix, statesampler_source *sources, const void *state,
        size_t size, unsigned char *scratch, uint32_t drop_last))
{
    return recall_mix(mix, sources, state, size, scratch, STATESAMPLER_NONE,
                      drop_last);
}

/* Goes on to the beginning of another one. (As an argument of recall_mix,
   STATESAMPLER_NONE is no epoch; Python has one of this number.) */
EXPORT(int, recall_epoch,
       (statesampler_mix *mix, unsigned char *scratch, uint64_t by))
{
    return recall_epoch(mix, scratch, by);
}

/* The size of a packer with its memory. */
EXPORT(size_t, pack_bytes, (uint32_t plan, uint32_t budget))
{
    return sizeof(packer) + 8 * PACK_WORDS(plan, budget) +
           4 * FIT_NUMBERS(plan, budget);
}

/* The code of pack_init for a wrong length, of which Python names the sample. */
EXPORT(int, pack_elength, (void))
{
    return PACK_ELENGTH;
}

/* pack_init in such memory; *number is the digest, or the wrong sample. */
EXPORT(int, pack_init,
       (packer *p, const statesampler_desc *desc, const void *lengths,
        uint32_t width, uint32_t budget, uint64_t *number))
{
    uint64_t *words = (uint64_t *)(p + 1);
    int code = pack_init(
        p, desc, lengths, width, desc->num_samples, budget, words,
        (uint32_t *)(words + PACK_WORDS(desc->batch_size, budget)));
    *number = code == PACK_ELENGTH ? p->number : p->digest;
    return code;
}

/* The samples of a plan, pack after pack, and the end of each pack, unless out
   is NULL. Returns how many packs there are; 0: a length is wrong by now. */
EXPORT(size_t, pack_plan,
       (packer *p, uint64_t epoch, uint64_t plan, uint64_t *out,
        uint64_t *ends))
{
    const uint32_t *places;
    size_t pack, count, i, end = 0;
    if (statesampler_epoch(&p->sampler) != epoch) {
        statesampler_begin(&p->sampler, epoch);
    }
    statesampler_seek(&p->sampler, plan);
    pack_plan(p);
    for (i = 0; i < p->plan.ends[p->plan.bins]; i++) {
        if (fit_length(p->lengths, p->width, p->samples[i]) - 1 >=
            p->plan.size) {
            return 0;
        }
    }
    for (pack = 0; out != NULL && pack < p->plan.bins; pack++) {
        places = fit_bin(&p->plan, (uint32_t)pack, &count);
        for (i = 0; i < count; i++) {
            out[end + i] = p->samples[places[i]];
        }
        end += count;
        ends[pack] = end;
    }
    return p->plan.bins;
}

/* Lists the groups of an epoch, of desc's num_samples and seed, and chooses its
   rounds. `work` has a word for each group. */
EXPORT(int, spread_init,
       (spread *s, const statesampler_desc *desc, const uint64_t *ids,
        uint64_t groups, uint64_t *members, uint64_t *work, uint64_t apart))
{
    statesampler_perm order;
    int code = statesampler_perm_init(&order, desc->num_samples, desc->seed,
                                      desc->epoch, 0);
    if (code != STATESAMPLER_OK) {
        return code;
    }
    s->members = members;
    s->samples = desc->num_samples;
    s->seed = desc->seed;
    s->epoch = desc->epoch;
    s->apart = apart;
    s->largest = spread_list(&order, ids, s->samples, groups, members, work);
    return spread_begin(s);
}

EXPORT(void, spread_map, (const spread *s, uint64_t *out, size_t count))
{
    spread_map(s, out, count);
}

/* Takes up to `most` batches of this epoch, as statesampler_turns does. */
EXPORT(size_t, spread_batches,
       (statesampler *sampler, const spread *s, size_t most, uint64_t *out,
        uint64_t *counts))
{
    size_t batch, count;
    for (batch = 0; batch < most; batch++) {
        if (statesampler_next(sampler, out, &count) != 1) {
            break;
        }
        spread_map(s, out, count);
        out += count;
        counts[batch] = count;
    }
    return batch;
}

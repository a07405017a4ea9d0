/* library.c - statesampler.h as a shared library, for the Python package. It
   calls nothing but memset and memcpy, so that the wheel can have it for
   systems whose C library is not here. */

#if defined(_WIN32)
#define STATESAMPLER_API __declspec(dllexport)
#elif defined(__GNUC__)
#define STATESAMPLER_API __attribute__((visibility("default")))
#endif
/* It is compiled once for many processors. */
#ifndef STATESAMPLER_AVX2
#define STATESAMPLER_AVX2 __builtin_cpu_supports("avx2")
#endif
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
/* Those of examples/extras. _build.py and setup.py read here what headers there
   are, so each is named, also if another one includes it. */
#include "fit.h"
#include "groups.h"
#include "pack.h"
#include "spread.h"
/* What is not called for each batch is made small, 12 KB less in the wheel. */
#ifdef __clang__
#define SMALL_BEGIN \
    _Pragma("clang attribute push(__attribute__((minsize)), apply_to=function)")
#define SMALL_END _Pragma("clang attribute pop")
#else
#define SMALL_BEGIN
#define SMALL_END
#endif
SMALL_BEGIN
#include "history.h"
#include "ledger.h"
#include "recall.h"
#include "schedule.h"
SMALL_END

/* Declares and defines a function that the library has besides the header's. */
#define EXPORT(type, name, parameters) \
    STATESAMPLER_API type statesampler_##name parameters; \
    type statesampler_##name parameters

/* A history that is read, of a sampler or of a mix. */
typedef struct record {
    history_log log;
    history_walk walk;
    history_mix_walk mix;
} record;

/* The sizes of the structs and of a state, for Python, which allocates them. */
extern STATESAMPLER_API const uint64_t statesampler_layout[7];
const uint64_t statesampler_layout[7] = {
    sizeof(statesampler),     sizeof(statesampler_source),
    sizeof(statesampler_mix), STATESAMPLER_STATE_BYTES,
    sizeof(history),          sizeof(record),
    sizeof(schedule_source),
};

/* The message of a code of statesampler.h, or of any header above: whose own it
   is not, that one says what statesampler.h does. */
EXPORT(const char *, any_error, (int code))
{
    static const char *(*const others[])(int) = {
        history_error, schedule_error, pack_error, spread_error, ledger_error,
    };
    const char *said = statesampler_error(code);
    size_t i;

    for (i = 0; i < sizeof others / sizeof *others; i++) {
        if (others[i](code) != said) {
            return others[i](code);
        }
    }
    return said;
}

/* Sets up a source of an array, as Python does not know its fields. */
EXPORT(int, source_init,
       (statesampler_source *sources, uint32_t source, uint32_t weight,
        const statesampler_desc *desc))
{
    sources[source].weight = weight;
    return statesampler_init(&sources[source].sampler, desc);
}

/* The sampler of a source of an array. */
EXPORT(const statesampler *, source_sampler,
       (const statesampler_source *sources, uint32_t source))
{
    return &sources[source].sampler;
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

/* The weights that a mix has. */
EXPORT(void, mix_weights, (const statesampler_mix *mix, uint32_t *weights))
{
    uint32_t i;

    for (i = 0; i < mix->num_sources; i++) {
        weights[i] = mix->sources[i].in_mix.weight;
    }
}

/* Which part of a step of all ranks is a rank's, as in examples/blend.c. */
EXPORT(uint32_t, blend_slot, (uint32_t ranks, uint64_t step, uint32_t rank))
{
    statesampler_perm slots;

    if (statesampler_perm_init(&slots, ranks, 1, step, 0) != STATESAMPLER_OK) {
        return rank;
    }
    return (uint32_t)statesampler_perm_at(&slots, rank);
}

/* --- weights of samples --------------------------------------------------- */

/* How far an epoch shifts the points, which are a unit apart. Each of 64 shifts
   comes once in 64 epochs, as 25 is odd. */
EXPORT(uint64_t, factors_shift, (uint64_t epoch, uint64_t unit))
{
    return epoch * 25 % 64 * (unit / 64);
}

/* The higher half of a product. */
static uint64_t high_half(uint64_t a, uint64_t b)
{
    const uint64_t half = 0xffffffffu;
    const uint64_t low = (a & half) * (b & half);
    const uint64_t one = (a >> 32) * (b & half) + (low >> 32);
    const uint64_t two = (a & half) * (b >> 32) + (one & half);

    return (a >> 32) * (b >> 32) + (one >> 32) + (two >> 32);
}

/* The first sum that is above a point. */
static uint64_t find_sum(const uint64_t *sums, uint64_t count, uint64_t point)
{
    uint64_t low = 0, high = count - 1;

    while (low < high) { /* the distance halves each time */
        const uint64_t middle = (low + high) / 2;

        if (sums[middle] > point) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Turns the positions of a batch into samples, by the sums of their weights:
   each has a point of its own, or if unit is 0 one that is drawn. */
EXPORT(void, factors_map,
       (const statesampler *s, const uint64_t *sums, uint64_t count,
        uint64_t epoch, uint64_t unit, uint64_t *batch, size_t size))
{
    const uint64_t shift = statesampler_factors_shift(epoch, unit);
    uint64_t point;
    size_t i;

    for (i = 0; i < size; i++) {
        point = batch[i] * unit + shift;
        if (unit == 0) {
            point = high_half(statesampler_sample_seed(s, epoch, batch[i]),
                              sums[count - 1]);
        }
        batch[i] = find_sum(sums, count, point);
    }
}

SMALL_BEGIN

/* --- states of mixes and of datasets with names --------------------------- */

/* The check word behind these bytes of a state. */
EXPORT(uint64_t, state_hash, (const void *bytes, size_t size))
{
    return ssmp_state_hash((const unsigned char *)bytes, size);
}

EXPORT(size_t, mixture_bytes, (uint32_t num_sources))
{
    return ssmp_mixture_bytes(num_sources);
}

/* Writes a mixture's state, with the hashes of the names. */
EXPORT(void, mixture_write,
       (void *bytes, const statesampler_mix *mix, const uint64_t *hashes))
{
    unsigned char *out = (unsigned char *)bytes;
    uint32_t i;

    for (i = 0; i < mix->num_sources; i++) {
        ssmp_bytes_store(out + ssmp_mixture_hash_at(i), 8, hashes[i]);
    }
    ssmp_mixture_write(out, mix);
}

/* Sets the hashes of the names in a mixture's state, and returns how many there
   are, or an error. There is room for more than `size` bytes can have. */
EXPORT(int, mixture_hashes,
       (const void *bytes, size_t size, uint64_t *hashes))
{
    ssmp_mixture_state state;
    const int code =
        ssmp_mixture_read(&state, (const unsigned char *)bytes, size);
    uint32_t i;

    if (code != STATESAMPLER_OK) {
        return code;
    }
    for (i = 0; i < state.head.num_sources; i++) {
        hashes[i] = ssmp_bytes_load(state.hashes + 8 * (size_t)i, 8);
    }
    return (int)state.head.num_sources;
}

/* Goes on where a mixture's state was saved, as statesampler_mixture_load. The
   number here of each dataset of the state comes from Python, or 2^32 - 1;
   statuses become those of the datasets here. */
EXPORT(int, mixture_load,
       (statesampler_mix *mix, const void *bytes, size_t size,
        const uint32_t *numbers, uint32_t *statuses, uint32_t restart))
{
    ssmp_mixture_state state;
    int code = ssmp_mixture_read(&state, (const unsigned char *)bytes, size);

    if (code == STATESAMPLER_OK) {
        code = ssmp_mixture_compare(statuses, mix, &state, numbers);
    }
    if (code == STATESAMPLER_OK) {
        code =
            ssmp_mixture_resume(mix, &state, numbers, statuses, (int)restart);
    }
    return code;
}

/* --- histories: what a sampler or a mix keeps ----------------------------- */

EXPORT(int, history_init,
       (history *h, void *memory, size_t capacity, const statesampler *s))
{
    return history_init(h, (unsigned char *)memory, capacity, s);
}

EXPORT(int, history_mix_init,
       (history *h, void *memory, size_t capacity,
        const statesampler_mix *mix))
{
    return history_mix_init(h, (unsigned char *)memory, capacity, mix);
}

/* Moves a history into larger memory. */
EXPORT(void, history_move, (history *h, void *memory, size_t capacity))
{
    memcpy(memory, h->bytes, h->log.size);
    h->bytes = (unsigned char *)memory;
    h->log.bytes = h->bytes;
    h->capacity = capacity;
}

EXPORT(size_t, history_save, (history *h))
{
    return history_save(h);
}

EXPORT(int, history_load,
       (history *h, statesampler *s, const void *saved, size_t saved_size,
        const void *state, size_t size))
{
    return history_load(h, s, saved, saved_size, state, size);
}

EXPORT(int, history_mix_load,
       (history *h, statesampler_mix *mix, const void *saved,
        size_t saved_size, const void *state, size_t size,
        statesampler_source *sources, uint32_t *weights, void *scratch))
{
    return history_mix_load(h, mix, saved, saved_size, state, size, sources,
                            weights, (unsigned char *)scratch);
}

EXPORT(int, history_seek, (history *h, statesampler *s, uint64_t step))
{
    return history_seek(h, s, step);
}

EXPORT(int, history_begin, (history *h, statesampler *s, uint64_t epoch))
{
    return history_begin(h, s, epoch);
}

EXPORT(int, history_resize,
       (history *h, statesampler *s, uint64_t num_samples))
{
    return history_resize(h, s, num_samples);
}

EXPORT(int, history_mix_seek,
       (history *h, statesampler_mix *mix, uint64_t turn))
{
    return history_mix_seek(h, mix, turn);
}

EXPORT(int, history_mix_begin,
       (history *h, statesampler_mix *mix, uint64_t epoch,
        const uint64_t *epochs))
{
    return history_mix_begin(h, mix, epoch, epochs);
}

EXPORT(int, history_mix_weigh,
       (history *h, statesampler_mix *mix, const uint32_t *weights))
{
    return history_mix_weigh(h, mix, weights);
}

/* Whether a place is not before the one to which the last event led. */
EXPORT(int, history_reaches,
       (const history *h, uint64_t epoch, uint64_t step))
{
    return !history_before(&h->log, epoch, step, h->epoch, h->step);
}

/* --- schedules ------------------------------------------------------------ */

/* A schedule whose first stage begins at a turn. means is NULL if shares are of
   turns. */
EXPORT(void, schedule_start,
       (schedule *s, schedule_source *sources, uint32_t *weights,
        uint32_t num_sources, uint64_t turn, const uint32_t *means))
{
    uint32_t i;

    schedule_init(s, sources, weights, num_sources);
    schedule_start(s, turn);
    for (i = 0; means != NULL && i < num_sources; i++) {
        sources[i].mean = means[i];
    }
}

typedef struct stage {
    const double *shares;
    uint32_t turns;
} stage;

static uint32_t stage_plan(schedule *s, uint64_t turn, void *context)
{
    const stage *next = (const stage *)context;
    uint32_t i;

    (void)turn;
    for (i = 0; i < s->num_sources; i++) {
        s->sources[i].share = next->shares[i];
    }
    return next->turns;
}

/* Begins the next stage if the mix is at its turn, and notes the weights in the
   history, unless that is NULL. */
EXPORT(int, schedule_follow,
       (history *h, statesampler_mix *mix, schedule *s, const double *shares,
        uint32_t turns))
{
    const uint64_t end = s->end;
    stage next;
    int code = STATESAMPLER_OK;

    next.shares = shares;
    next.turns = turns;
    if (h != NULL) {
        code = history_mix_check(h, HISTORY_WEIGHTS, mix);
    }
    if (code == STATESAMPLER_OK) {
        code = schedule_follow(s, mix, stage_plan, &next);
    }
    /* The base stays where no weight is new. */
    if (code == STATESAMPLER_OK && h != NULL && s->end != end &&
        mix->base_turn == mix->turn) {
        history_note(h, HISTORY_WEIGHTS, mix->epoch, mix->turn);
        history_add_weights(h, mix);
        history_mix_led_to(h, mix);
    }
    return code;
}

/* OK if the mix can go on in the schedule's stage once it has loaded a state,
   which a copy of it does. */
EXPORT(int, schedule_check,
       (schedule *s, const statesampler_mix *mix, const void *state,
        size_t size, statesampler_source *of_copy))
{
    statesampler_mix copy = *mix;
    int code;

    memcpy(of_copy, mix->sources, mix->num_sources * sizeof *of_copy);
    copy.sources = of_copy;
    code = statesampler_mix_load(&copy, state, size);
    return code == STATESAMPLER_OK ? schedule_check(s, &copy) : code;
}

/* Passes over the next stage, and adds its turns to those of schedule_sums. The
   mix stays. */
EXPORT(int, schedule_over,
       (const statesampler_mix *mix, schedule *s, const double *shares,
        uint32_t turns))
{
    stage next;
    int code;

    next.shares = shares;
    next.turns = turns;
    code = schedule_stage(&turns, s, mix, stage_plan, &next);
    if (code == STATESAMPLER_OK && s->sources[0].mean != 0) {
        code = SCHEDULE_ETOKENS;
    }
    if (code == STATESAMPLER_OK) {
        schedule_begin(s, turns);
        schedule_sum(s);
    }
    return code;
}

/* Sets the weights with which a mix has the turns that were passed over. */
EXPORT(void, schedule_sums, (schedule *s))
{
    schedule_set_sums(s);
}

/* Says how many tokens a turn of a source of the mix had; OFF: the turn before
   the present one. */
EXPORT(int, schedule_had,
       (schedule *s, const statesampler_mix *mix, uint32_t source,
        uint64_t tokens))
{
    int code = 1;

    if (source == STATESAMPLER_OFF) {
        code = mix->turn == 0 ? SCHEDULE_ETURN
                              : statesampler_mix_at(mix, mix->turn - 1, NULL,
                                                    NULL, &source);
    }
    /* After a load at a stage's end only the mix knows what is off. */
    if (code == 1 && mix->sources[source].in_mix.weight == STATESAMPLER_OFF) {
        return STATESAMPLER_ERANGE_OFF;
    }
    return code == 1 ? schedule_had(s, source, tokens) : code;
}

/* Around a seek of the mix in its stage: times 1 before it, ~0 after it. */
EXPORT(void, schedule_owe,
       (schedule *s, const statesampler_mix *mix, uint64_t times))
{
    schedule_owe(s, mix, times);
}

/* It has moved. */
EXPORT(void, schedule_forget, (schedule *s))
{
    schedule_forget(s);
}

EXPORT(int, schedule_save, (const schedule *s, void *out, size_t size))
{
    return schedule_save(s, out, size);
}

EXPORT(int, schedule_load, (schedule *s, const void *state, size_t size))
{
    return schedule_load(s, state, size);
}

EXPORT(int, schedule_find,
       (size_t *used, uint64_t *end, const void *bytes, size_t size))
{
    return schedule_find(used, end, bytes, size);
}

/* --- histories: what is read ---------------------------------------------- */

/* Finds a history at the beginning of some bytes, and where it ends. */
EXPORT(int, record_read,
       (record *r, const void *bytes, size_t size, size_t *used))
{
    return history_read(&r->log, used, bytes, size);
}

/* That of a run that is here, as long as nothing is noted in it. */
EXPORT(void, record_of, (record *r, const history *h))
{
    r->log = h->log;
}

/* Of a mix, or 0. */
EXPORT(uint32_t, record_sources, (const record *r))
{
    return r->log.num_sources;
}

/* Whether a place is before another one: with CARRY epochs do not matter. */
EXPORT(int, record_before,
       (const record *r, uint64_t epoch, uint64_t step, uint64_t other_epoch,
        uint64_t other_step))
{
    return history_before(&r->log, epoch, step, other_epoch, other_step);
}

/* Goes before the first stretch of the run that has come to this place. Of the
   memory a sampler's needs none. */
EXPORT(void, record_open,
       (record *r, uint64_t epoch, uint64_t step,
        statesampler_source *sources, uint32_t *weights, void *state))
{
    history_open(&r->walk, &r->log, epoch, step);
    history_mix_open(&r->mix, &r->log, epoch, step, sources, weights,
                     (unsigned char *)state);
}

/* In the last stretch: OK if it ends in this state. */
EXPORT(int, record_ends_in, (record *r, const void *state, size_t size))
{
    return r->log.num_sources == 0 ? history_ends_in(&r->walk, state)
                                   : history_mix_ends_in(&r->mix, state, size);
}

EXPORT(const history_stretch *, record_stretch, (const record *r))
{
    return r->log.num_sources == 0 ? &r->walk.stretch : &r->mix.stretch;
}

EXPORT(int, record_next, (record *r))
{
    return r->log.num_sources == 0 ? history_next(&r->walk)
                                   : history_mix_next(&r->mix);
}

/* Goes to the next stretch that has served one of these steps of an epoch. (The
   epoch may have ended before.) */
EXPORT(int, record_next_of,
       (record *r, uint64_t epoch, uint64_t first, uint64_t last))
{
    const history_stretch *stretch = statesampler_record_stretch(r);
    int code;

    do { /* each stretch has an event of its own */
        code = statesampler_record_next(r);
    } while (code == 1 &&
             (history_before(&r->log, epoch, last, stretch->begin_epoch,
                             stretch->begin_step) ||
              !history_before(&r->log, epoch, first, stretch->end_epoch,
                              stretch->end_step)));
    return code;
}

EXPORT(int, record_skipped, (const record *r, uint64_t epoch, uint64_t step))
{
    return history_skipped(statesampler_record_stretch(r), epoch, step);
}

/* The most samples that a batch of a sampler can have. */
static uint64_t record_most(const statesampler *s)
{
    const uint64_t batch_size = s->run.shape.batch_size;

    if (s->run.tail == STATESAMPLER_TAIL_CARRY ||
        batch_size <= s->run.num_samples) {
        return batch_size;
    }
    return s->run.num_samples + 1;
}

/* The number of ranks of the stretch. *most becomes the most samples that a
   batch of it can have. */
EXPORT(uint32_t, record_ranks, (const record *r, uint64_t *most))
{
    uint32_t i;

    *most = 0;
    if (r->log.num_sources == 0) {
        *most = record_most(&r->walk.sampler);
        return r->walk.sampler.run.shape.world_size;
    }
    for (i = 0; i < r->log.num_sources; i++) {
        const uint64_t own = record_most(&r->mix.sources[i].sampler);

        if (own > *most) {
            *most = own;
        }
    }
    return r->mix.sources->sampler.run.shape.world_size;
}

/* The number of samples of the dataset in the stretch; of a mix, of one of its
   datasets. */
EXPORT(uint64_t, record_samples_of, (const record *r, uint32_t source))
{
    return r->log.num_sources == 0
               ? r->walk.sampler.run.num_samples
               : r->mix.sources[source].sampler.run.num_samples;
}

/* A rank's samples in a step of the stretch, or of what follows the last one:
   1, 0 where its epoch has ended, or an error. out may be NULL. With CARRY
   *epoch becomes that in which the step begins. */
EXPORT(int, record_at,
       (record *r, uint32_t rank, uint64_t *epoch, uint64_t step,
        uint64_t *out, size_t *count, uint32_t *source))
{
    size_t i;
    int code;

    if (r->log.num_sources == 0) {
        statesampler s = r->walk.sampler;

        code = history_at(&r->walk, rank, *epoch, step, out, count);
        if (r->log.carry && statesampler_seek(&s, step) == STATESAMPLER_OK) {
            *epoch = statesampler_epoch(&s);
        }
        return code;
    }
    code = history_mix_at(&r->mix, rank, *epoch, step, out, count, source);
    for (i = 0; code == 1 && out != NULL && i < *count; i++) {
        out[i] += statesampler_mix_offset(&r->mix.mix, *source);
    }
    return code;
}

/* How many of these are padding, of a sampler. */
EXPORT(size_t, record_padding,
       (const record *r, uint32_t rank, uint64_t epoch, uint64_t step))
{
    statesampler s;
    const int code = history_sampler_of(&r->walk, rank, epoch, &s);

    return code == STATESAMPLER_OK ? statesampler_padding(&s, step) : 0;
}

/* The source that has a sample, of a number among those of all, which becomes
   that among the source's. */
EXPORT(uint32_t, record_source, (const record *r, uint64_t *index))
{
    uint32_t source = 0;

    while (source + 1 < r->log.num_sources &&
           *index >= statesampler_record_samples_of(r, source)) {
        *index -= statesampler_record_samples_of(r, source);
        source++;
    }
    return source;
}

EXPORT(int, record_epochs,
       (record *r, uint64_t epoch, uint32_t source, uint64_t *first,
        uint64_t *last))
{
    return history_mix_epochs(&r->mix, epoch, source, first, last);
}

/* Where the stretch has served a sample: of a mix, one of this source, in an
   epoch of its own. */
EXPORT(int, record_locate,
       (record *r, uint64_t epoch, uint32_t source, uint64_t own_epoch,
        uint64_t index, uint64_t *step, statesampler_place *place))
{
    int code;

    if (r->log.num_sources > 0) {
        return history_mix_locate(&r->mix, epoch, source, own_epoch, index,
                                  step, place);
    }
    code = history_locate(&r->walk, epoch, index, place);
    if (code == STATESAMPLER_OK) {
        *step = place->step;
    }
    return code;
}

/* As locate and mix_locate, of a sample whose own place was passed: where it
   comes as padding, from the present step on. */
EXPORT(int, locate_padding,
       (const statesampler *s, uint64_t index, statesampler_place *place))
{
    if (s->run.tail != STATESAMPLER_TAIL_PAD) {
        return STATESAMPLER_ERANGE_SERVED;
    }
    return history_find_padding(s, index, statesampler_position(s),
                                STATESAMPLER_NONE, place);
}

EXPORT(int, mix_locate_padding,
       (const statesampler_mix *mix, uint32_t source, uint64_t index,
        uint64_t *turn, statesampler_place *place))
{
    const statesampler_source *from = mix->sources + source;
    int code = statesampler_locate_padding(&from->sampler, index, place);

    if (code == STATESAMPLER_OK && from->in_mix.weight == STATESAMPLER_OFF) {
        code = STATESAMPLER_ERANGE_OFF;
    }
    return code == STATESAMPLER_OK
               ? ssmp_source_turn_at(turn, mix, from, place->step)
               : code;
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

SMALL_END

/* --- packs and groups ----------------------------------------------------- */

/* The size of a packer with its memory. */
EXPORT(size_t, pack_bytes, (uint32_t plan, uint32_t budget))
{
    return sizeof(packer) + 8 * PACK_WORDS(plan, budget) +
           4 * FIT_NUMBERS(plan, budget);
}

/* pack_init in such memory; *number is the digest, or after PACK_ELENGTH the
   wrong sample. */
EXPORT(int, pack_init,
       (packer *p, const statesampler_desc *desc, const void *lengths,
        uint32_t width, uint32_t budget, uint64_t *number))
{
    uint64_t *words = (uint64_t *)(p + 1);
    int code =
        pack_init(p, desc, lengths, width, desc->num_samples, budget, words,
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

/* The prompts at so many positions of the epoch that a sampler begins. (That of
   groups.h would save a seventh of the time, as Python makes a list of them,
   for 1.5 KB in the wheel.) */
EXPORT(void, groups_fill,
       (const groups *g, const statesampler *s, uint64_t position,
        uint64_t *out, size_t count))
{
    groups_places(g, position, out, count);
    if (s->run.order == STATESAMPLER_ORDER_SHUFFLE) {
        statesampler_perm_map(&s->ready.perm, out, count);
    }
}

EXPORT(uint64_t, groups_first, (const groups *g, uint64_t place))
{
    return groups_first(g, place);
}

/* Lists the groups of an epoch, of desc's num_samples and seed, and chooses its
   rounds. `work` has a word for each group. */
EXPORT(int, spread_init,
       (spread *s, const statesampler_desc *desc, const uint64_t *ids,
        uint64_t num_groups, uint64_t *members, uint64_t *work, uint64_t apart))
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
    s->largest =
        spread_list(&order, ids, s->samples, num_groups, members, work);
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

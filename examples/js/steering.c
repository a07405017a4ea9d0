/* steering.c - history.h and schedule.h of extras as WebAssembly, called by
   steering.mjs. A module of its own, as few pages need it.

   JavaScript gives each call its memory, behind __heap_base: samplers and mixes
   as module.c has them, which has the same structs, and the two structs below
   with what they point to behind them. So all pointers are set anew in each
   call. Functions are named as the headers' that they call; other results go to
   `words`. */
#define STATESAMPLER_STATIC
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"

/* The main module has these sentences. */
#define statesampler_error(code) ""

#include "examples/extras/history.h"
#include "web.h"

/* --- what there is no C library for --------------------------------------- */

void *memcpy(void *to, const void *from, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++)
        ((unsigned char *)to)[i] = ((const unsigned char *)from)[i];
    return to;
}

void *memset(void *to, int byte, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++)
        ((unsigned char *)to)[i] = (unsigned char)byte;
    return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++)
        if (((const unsigned char *)a)[i] != ((const unsigned char *)b)[i])
            return 1; /* its callers only ask whether bytes differ */
    return 0;
}

/* --- memory --------------------------------------------------------------- */

/* From the linker: the end of the module's data, a multiple of 16. */
extern unsigned char __heap_base[];

static uint64_t words[16];

/* A mix that JavaScript has copied, with its sources. */
static statesampler_mix *mix_at(statesampler_mix *mix)
{
    mix->sources = web_sources(mix);
    return mix;
}

/* What a history takes for its capacity: JavaScript gives each call room. */
#define ROOM ((size_t)1 << 30)

/* A history's struct that JavaScript has copied. Behind it is room for what is
   added; what it has JavaScript keeps, as a note does not read it. */
static history *history_behind(history *h)
{
    h->log.bytes = h->bytes = (unsigned char *)(h + 1) - h->log.size;
    h->capacity = h->log.size + ROOM;
    return h;
}

/* --- a history that is kept ----------------------------------------------- */

/* Where the state begins that was saved behind a history: 0 without one. Or an
   error. */
static int state_behind(const unsigned char *bytes, size_t size)
{
    history_log log;
    size_t used = 0;
    int code;

    if (size < 4 || memcmp(bytes, "SSH1", 4) != 0)
        return 0;
    code = history_read(&log, &used, bytes, size);
    return code < 0 ? code : (int)used;
}

/* How many bytes are behind the struct, without the check word. */
WEB(size_t, used, (const history *h))
{
    return h->log.size;
}

/* Completes them: all are behind the struct. Returns how many there are to
   save. */
WEB(size_t, save, (history *h))
{
    h->bytes = (unsigned char *)(h + 1);
    return history_save(h);
}

WEB(int, init, (history *h, const statesampler *s))
{
    return history_init(h, (unsigned char *)(h + 1), ROOM, s);
}

WEB(int, seek, (history *h, statesampler *s, uint64_t step))
{
    return history_seek(history_behind(h), s, step);
}

WEB(int, begin, (history *h, statesampler *s, uint64_t epoch))
{
    return history_begin(history_behind(h), s, epoch);
}

WEB(int, reshape, (history *h, statesampler *s, uint32_t rank,
                   uint32_t world_size, uint32_t batch_size))
{
    return history_reshape(history_behind(h), s, rank, world_size, batch_size);
}

WEB(int, resize, (history *h, statesampler *s,
                  uint64_t num_samples))
{
    return history_resize(history_behind(h), s, num_samples);
}

/* Loads what was saved: a history and a state, or a state alone, at which the
   history then begins. Returns where the state begins, or an error. */
WEB(int, load, (history *h, statesampler *s,
                const unsigned char *bytes, size_t size))
{
    const int used = state_behind(bytes, size);
    int code = used;

    h->log.size = 0;
    if (used > 0) {
        code = history_load(history_behind(h), s, bytes, (size_t)used,
                            bytes + used, size - (size_t)used);
    } else if (used == 0) {
        code = statesampler_load(s, bytes, size);
        if (code == STATESAMPLER_OK)
            code = history_init(h, (unsigned char *)(h + 1), ROOM, s);
    }
    return code < 0 ? code : used;
}

WEB(int, mix_init, (history *h, statesampler_mix *mix))
{
    return history_mix_init(h, (unsigned char *)(h + 1), ROOM, mix_at(mix));
}

WEB(int, mix_seek, (history *h, statesampler_mix *mix,
                    uint64_t turn))
{
    return history_mix_seek(history_behind(h), mix_at(mix), turn);
}

WEB(int, mix_weigh, (history *h, statesampler_mix *mix,
                     const uint32_t *weights))
{
    return history_mix_weigh(history_behind(h), mix_at(mix), weights);
}

/* Notes that a mix has been begun, as this one is. */
WEB(int, mix_begin, (history *h, statesampler_mix *mix,
                     statesampler_mix *begun))
{
    uint32_t i;

    history_behind(h);
    history_note(h, HISTORY_EPOCH, statesampler_mix_epoch(mix),
                 statesampler_mix_turn(mix));
    history_add(h, statesampler_mix_epoch(begun));
    for (i = 0; i < begun->num_sources; i++)
        history_add(h, statesampler_epoch(&mix_at(begun)->sources[i].sampler));
    h->first_turn = 0;
    history_mix_led_to(h, begun);
    return STATESAMPLER_OK;
}

WEB(int, mix_reshape, (history *h, statesampler_mix *mix,
                       uint32_t rank, uint32_t world_size))
{
    return history_mix_reshape(history_behind(h), mix_at(mix), rank,
                               world_size);
}

/* As load. The last arguments are memory, as for history_mix_open. */
WEB(int, mix_load, (history *h, statesampler_mix *mix,
                    const unsigned char *bytes, size_t size,
                    statesampler_source *sources, uint32_t *weights,
                    unsigned char *scratch))
{
    const int used = state_behind(bytes, size);
    int code = used;

    mix_at(mix);
    h->log.size = 0;
    if (used > 0) {
        code = history_mix_load(history_behind(h), mix, bytes, (size_t)used,
                                bytes + used, size - (size_t)used, sources,
                                weights, scratch);
    } else if (used == 0) {
        code = statesampler_mix_load(mix, bytes, size);
        if (code == STATESAMPLER_OK)
            code = history_mix_init(h, (unsigned char *)(h + 1), ROOM, mix);
    }
    return code < 0 ? code : used;
}

/* --- a history that is read ----------------------------------------------- */

/* A walk over what a sampler or a mix has saved. */
typedef struct reading {
    history_walk walk;
    history_mix_walk mix_walk;
    statesampler served;        /* by `at` */
    const unsigned char *state; /* behind the history */
    size_t size;
} reading;

static history_stretch *stretch_of(reading *r)
{
    return r->walk.stretch.log.num_sources == 0 ? &r->walk.stretch
                                                : &r->mix_walk.stretch;
}

/* The size of a schedule's state at the beginning of bytes: Python puts it
   there. 0: there is none. Or an error. */
static int schedule_before(const unsigned char *bytes, size_t size);

/* Sets words: the number of sources that a history has, or 0; the epoch and
   step of the state; whether steps count on through all epochs; the bytes
   before the history; the number of samples of a sampler, or 0. Returns where
   the state begins behind these: 0 without a history. */
WEB(int, find, (const unsigned char *bytes, size_t size))
{
    const int begin = schedule_before(bytes, size);
    const int used =
        begin < 0 ? begin : state_behind(bytes + begin, size - (size_t)begin);
    statesampler_mix_place mix = {0, 0, 0, 0, 0};
    statesampler_place place = {0, 0, 0, 0};
    statesampler_desc desc;
    const void *from; /* in a mixture's state, a mix's */
    size_t from_size;
    int code;

    if (used < 0)
        return used;
    bytes += begin + used;
    size -= (size_t)(begin + used);
    words[4] = (uint64_t)begin;
    from_size = size;
    words[0] = used == 0 ? 0 : history_word(bytes - used) >> 32;
    from = statesampler_mix_state_in(bytes, &from_size);
    if (from != bytes &&
        (size % 8 != 0 ||
         history_word(bytes + size - 8) != ssmp_state_hash(bytes, size - 8)))
        return STATESAMPLER_ECORRUPT_CHECK;
    code = statesampler_mix_describe(from, from_size, 0, NULL, &mix);
    words[1] = mix.epoch;
    words[2] = mix.turn;
    words[3] = words[5] = 0;
    if (code == STATESAMPLER_OK && used != 0 && mix.num_sources != words[0])
        return STATESAMPLER_EMISMATCH_SOURCES;
    if (code != STATESAMPLER_OK && words[0] == 0) {
        code = statesampler_describe(bytes, size, &desc, &place);
        words[1] = desc.epoch;
        words[2] = place.step;
        words[3] = desc.tail == STATESAMPLER_TAIL_CARRY;
        words[5] = desc.num_samples;
    }
    return code < 0 ? code : used;
}

/* Before the first stretch of a history that `find` has found: what it said,
   and memory for a mix's, as for history_mix_open. */
WEB(void, open, (reading *r, const unsigned char *bytes, size_t size,
                 size_t used, uint32_t num_sources, uint64_t epoch,
                 uint64_t step, uint32_t carry, statesampler_source *sources,
                 uint32_t *weights, unsigned char *scratch))
{
    const history_log log = {bytes, used - 8, num_sources, carry};

    r->size = size - used;
    r->state = statesampler_mix_state_in(bytes + used, &r->size);
    history_open(&r->walk, &log, epoch, step);
    history_mix_open(&r->mix_walk, &log, epoch, step, sources, weights,
                     scratch);
}

/* Takes a walk to its end. OK if the history is the state's. */
WEB(int, check_end, (reading *r))
{
    return stretch_of(r) == &r->walk.stretch
               ? history_check_end(&r->walk, r->state)
               : history_mix_check_end(&r->mix_walk, r->state, r->size);
}

/* One of the sources, or the sampler. */
static const statesampler *sampler_in(const reading *r, uint32_t source)
{
    return r->walk.stretch.log.num_sources == 0
               ? &r->walk.sampler
               : &r->mix_walk.sources[source].sampler;
}

/* Moves to the next stretch. Sets words: where it begins and ends, epoch and
   step each; the ranks. */
WEB(int, next, (reading *r))
{
    history_stretch *stretch = stretch_of(r);
    const int code = stretch == &r->walk.stretch
                         ? history_next(&r->walk)
                         : history_mix_next(&r->mix_walk);

    memcpy(words, &stretch->begin_epoch, 32); /* to end_step: side by side */
    words[4] = sampler_in(r, 0)->run.shape.world_size;
    return code;
}

/* The number of samples that a source has in the stretch, or the dataset. */
WEB(uint64_t, samples, (const reading *r, uint32_t source))
{
    return sampler_in(r, source)->run.num_samples;
}

/* Makes the sampler or mix that serves a step. By its struct the main module
   computes the samples, which alone has the code for that. Sets words: count,
   source, and the epoch in which the step begins; where the struct is, and the
   sources of a mix. */
WEB(int, at, (reading *r, uint32_t rank, uint64_t epoch, uint64_t step))
{
    size_t count = 0;
    uint32_t source = 0;
    int code;

    if (stretch_of(r) == &r->walk.stretch) {
        statesampler *s = &r->served;

        code = history_sampler_of(&r->walk, rank, epoch, s);
        if (code == STATESAMPLER_OK)
            code = statesampler_at(s, step, NULL, &count);
        if (r->walk.stretch.log.carry &&
            statesampler_seek(s, step) == STATESAMPLER_OK)
            epoch = statesampler_epoch(s);
        words[3] = (size_t)s;
    } else {
        code = history_mix_at(&r->mix_walk, rank, epoch, step, NULL, &count,
                              &source);
        words[3] = (size_t)&r->mix_walk.mix;
        words[4] = (size_t)r->mix_walk.sources;
    }
    words[0] = count;
    words[1] = source;
    words[2] = epoch;
    return code;
}

/* Whether the run passed over a step at the stretch's end, and it existed. Sets
   words: where it stood still and where it went on, epoch and step each. */
WEB(int, skipped, (reading *r, uint64_t epoch, uint64_t step))
{
    const history_stretch *stretch = stretch_of(r);
    const int skipped =
        history_skipped(stretch, epoch, step) && web_at(r, 0, epoch, step) > 0;

    memcpy(words, &stretch->from_epoch, 32); /* to to_step */
    return skipped;
}

/* words: step, rank, slot, position */
static int tell_place(int code, uint64_t step, const statesampler_place *place)
{
    words[0] = step;
    words[1] = place->rank;
    words[2] = place->slot;
    words[3] = place->position;
    return code;
}

WEB(int, locate, (reading *r, uint64_t epoch, uint64_t index))
{
    statesampler_place place = {0, 0, 0, 0};
    const int code = history_locate(&r->walk, epoch, index, &place);

    return tell_place(code, place.step, &place);
}

/* Sets words: the first and last epoch of its own in which a source is in the
   stretch, in an epoch of the mix that the stretch has. */
WEB(int, own_epochs, (reading *r, uint64_t epoch, uint32_t source))
{
    return history_mix_epochs(&r->mix_walk, epoch, source, &words[0],
                              &words[1]);
}

WEB(int, mix_locate, (reading *r, uint64_t epoch, uint32_t source,
                      uint64_t own_epoch, uint64_t index))
{
    statesampler_place place = {0, 0, 0, 0};
    uint64_t turn = 0;
    const int code = history_mix_locate(&r->mix_walk, epoch, source, own_epoch,
                                        index, &turn, &place);

    return tell_place(code, turn, &place);
}

/* --- schedule ------------------------------------------------------------- */

/* JavaScript's: what a schedule does to a copy of the mix, JavaScript does to
   the mix, by the methods of its class, so that a recorded one notes it. */
#define FROM_JS(name) \
    __attribute__((import_module("js"), import_name(#name))) extern

FROM_JS(plan) uint32_t js_plan(void *s, uint64_t turn);
FROM_JS(weigh) void js_weigh(const uint32_t *weights);
FROM_JS(seek) void js_seek(uint64_t turn);
FROM_JS(begin) void js_begin(const statesampler_mix *mix);

static int weigh_both(statesampler_mix *mix, const uint32_t *weights)
{
    const int code = statesampler_mix_weigh(mix, weights);

    if (code == STATESAMPLER_OK)
        js_weigh(weights);
    return code;
}

static int seek_both(statesampler_mix *mix, uint64_t turn)
{
    const int code = statesampler_mix_seek(mix, turn);

    if (code == STATESAMPLER_OK)
        js_seek(turn);
    return code;
}

struct schedule;
static int begin_both(const struct schedule *s, statesampler_mix *mix);

/* Its codes go on with history.h's. */
#undef statesampler_error
#define statesampler_error history_error

#define SCHEDULE_WEIGH weigh_both
#define SCHEDULE_SEEK seek_both
#define SCHEDULE_BEGIN begin_both
#include "examples/extras/schedule.h"

/* JavaScript's mix becomes the copy, which has been begun. */
static int begin_both(const schedule *s, statesampler_mix *mix)
{
    const int code = schedule_begin_mix(s, mix);

    if (code == STATESAMPLER_OK)
        js_begin(mix);
    return code;
}

/* A schedule that JavaScript has copied, with its sources and weights. */
static schedule *schedule_behind(schedule *s)
{
    s->sources = (schedule_source *)(s + 1);
    s->weights = (uint32_t *)(void *)(s->sources + s->num_sources);
    return s;
}

WEB(int, schedule_init, (schedule *s, uint32_t num_sources,
                         statesampler_mix *mix))
{
    mix_at(mix);
    if (mix->stop != STATESAMPLER_STOP_NEVER)
        return SCHEDULE_ESTOP;
    s->num_sources = num_sources;
    schedule_behind(s);
    schedule_init(s, s->sources, s->weights, num_sources);
    schedule_start(s, statesampler_mix_turn(mix));
    (void)schedule_set_start(s, mix); /* a mix that is elsewhere has none */
    return STATESAMPLER_OK;
}

/* For a plan. */
WEB(void, set_share, (schedule *s, uint32_t source, double share,
                      uint32_t mean))
{
    s->sources[source].share = share;
    s->sources[source].mean = mean;
}

static uint32_t ask_plan(schedule *s, uint64_t turn, void *context)
{
    (void)context;
    return js_plan(s, turn);
}

WEB(int, schedule_follow, (schedule *s, statesampler_mix *mix))
{
    return schedule_follow(schedule_behind(s), mix_at(mix), ask_plan, NULL);
}

WEB(int, schedule_seek, (schedule *s, statesampler_mix *mix, uint64_t turn))
{
    return schedule_seek(schedule_behind(s), mix_at(mix), turn, ask_plan, NULL);
}

/* Moves both to the turn's stage. */
WEB(int, schedule_at, (schedule *s, statesampler_mix *mix, uint64_t turn))
{
    return schedule_at(schedule_behind(s), mix_at(mix), turn, NULL, NULL, NULL,
                       ask_plan, NULL);
}

/* Sets words: the place, as `locate`, and the turn. */
WEB(int, schedule_locate, (schedule *s, statesampler_mix *mix, uint32_t source,
                           uint64_t index))
{
    statesampler_place place = {0, 0, 0, 0};
    const int code =
        schedule_locate(schedule_behind(s), mix_at(mix), source, index, 10000,
                        &words[4], &place, ask_plan, NULL);

    return tell_place(code, place.step, &place);
}

WEB(int, schedule_had, (schedule *s, uint32_t source, uint64_t tokens))
{
    return schedule_had(schedule_behind(s), source, tokens);
}

/* Returns the size. */
WEB(size_t, schedule_save, (schedule *s, unsigned char *out))
{
    const size_t size = (size_t)SCHEDULE_BYTES(s->num_sources);

    (void)schedule_save(schedule_behind(s), out, size);
    return size;
}

static int schedule_before(const unsigned char *bytes, size_t size)
{
    uint64_t end;
    size_t used = 0;
    int code;

    if (size < 4 || memcmp(bytes, "SSC1", 4) != 0)
        return 0;
    code = schedule_find(&used, &end, bytes, size);
    return code < 0 ? code : (int)used;
}

WEB(int, schedule_load, (schedule *s, const unsigned char *state, size_t size))
{
    return schedule_load(schedule_behind(s), state, size);
}

/* --- sizes, errors -------------------------------------------------------- */

/* Returns the address of `words`, with: the end of the data; the sizes of a
   history, a walk, and a schedule without its sources, for which JavaScript
   makes room; where a schedule has the first turn of its stage, with that of
   the next one behind it; the sizes of a source of a schedule with its weight,
   and of a source of a mix. */
WEB(uint64_t *, start, (void))
{
    words[0] = (size_t)__heap_base;
    words[1] = sizeof(history);
    words[2] = sizeof(reading);
    words[3] = sizeof(schedule);
    words[4] = offsetof(schedule, begin);
    words[5] = sizeof(schedule_source) + sizeof(uint32_t);
    words[6] = sizeof(statesampler_source);
    return words;
}

/* A string that ends with a zero byte. No history is full here, copies are made
   anew for each turn that is asked for, and JavaScript has words of its own for
   too many tokens: so the module has no strings for these. */
__attribute__((flatten)) WEB(const char *, error, (int code))
{
    __builtin_assume(code != HISTORY_EFULL);
    __builtin_assume(code != SCHEDULE_EMOVED);
    __builtin_assume(code != SCHEDULE_EMANY);
    return schedule_error(code);
}

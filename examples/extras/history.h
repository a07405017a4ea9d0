/* history.h - what was done to a run besides going on: seeks, begins, other
   ranks, batches, lengths and weights. With it any step of the whole run is
   known, on any rank of that time, also after skips. Used by history.c; copy it
   with recall.h.

   A state is one place of a run; it does not say how the run came to it. A
   history is the state at the start and an event for each thing that was done,
   with the place at which it was done. Save it in one file with the state: who
   resumes from an older checkpoint then has that checkpoint's history.

     static unsigned char memory[HISTORY_BYTES(1000)];
     history h;

     history_init(&h, memory, sizeof memory, &sampler);
     ...
     history_seek(&h, &sampler, 321); // instead of statesampler_seek
     ...
     size = history_save(&h); // of h.bytes, which go into the file

   The functions here do a thing and note it, so that no event is forgotten.
   If there is no room for the event, the thing is not done, and EFULL is
   returned. A run that goes on by next alone notes nothing.

   A walk reads a history, stretch by stretch. A stretch is what was served
   between two events: history_next moves to the next one, and history_at and
   history_locate answer for its steps.

     history_open(&walk, &h.log, &sampler);
     while ((code = history_next(&walk)) == 1)
         if (history_served(&walk, epoch, step))
             history_at(&walk, rank, epoch, step, batch, &count);

   A step that was served twice is in two stretches. One that no stretch has,
   but that is between a stretch's end and the seek that ended it, was skipped:
   see history_skipped. For mixes, "step" is the turn, and the functions have
   _mix in their names. The time of a walk grows with the events alone. */
#ifndef HISTORY_H
#define HISTORY_H

#include <string.h>

#include "recall.h"

STATESAMPLER_WRAP_BEGIN

/* Errors, beside those of statesampler.h. */
#define HISTORY_EFULL (-1401)
#define HISTORY_EORDER (-1402)
#define HISTORY_EOTHER (-1403)

/* What an event is, and the words that it has after its place. */
#define HISTORY_SEEK 1    /* the step, or turn, that was sought */
#define HISTORY_EPOCH 2   /* the epoch that was begun */
#define HISTORY_SHAPE 3   /* world_size; batch_size, and 2^32 for drop_last */
#define HISTORY_LENGTH 4  /* num_samples */
#define HISTORY_RANKS 5   /* of a mix: world_size */
#define HISTORY_WEIGHTS 6 /* of a mix: two weights in a word */

/* The memory for so many events. */
#define HISTORY_BYTES(events) \
    (16 + STATESAMPLER_STATE_BYTES + 40 * ((size_t)(events) + 1) + 8)

/* What was noted. */
typedef struct history_log {
    const unsigned char *bytes; /* without the check word */
    size_t size;
    uint32_t num_sources; /* 0: of a sampler */
    uint32_t carry;       /* 1: its steps count on through all epochs */
} history_log;

typedef struct history {
    history_log log;
    unsigned char *bytes; /* the same as the log's */
    size_t capacity;
    uint64_t epoch, step; /* where the last event led */
} history;

static inline const char *history_error(int code)
{
    return code == HISTORY_EFULL    ? "the history has no room for an event"
           : code == HISTORY_EORDER ? "the run is before the last event of "
                                      "the history"
           : code == HISTORY_EOTHER ? "the history is of another run"
                                    : statesampler_error(code);
}

/* --- bytes ---------------------------------------------------------------- */

static inline void history_store(unsigned char *to, uint64_t number)
{
    int i;

    for (i = 0; i < 8; i++, number >>= 8)
        to[i] = (unsigned char)(number & 255);
}

static inline uint64_t history_word(const unsigned char *from)
{
    uint64_t number = 0;
    int i;

    for (i = 7; i >= 0; i--)
        number = number << 8 | from[i];
    return number;
}

static inline void history_add(history *h, uint64_t word)
{
    history_store(h->bytes + h->log.size, word);
    h->log.size += 8;
}

/* "SSH1" and the number of sources: the first word. The second is the size,
   with the check word, which comes last. */
static inline uint64_t history_head(const history_log *log)
{
    return (uint64_t)log->num_sources << 32 | 0x31485353u;
}

/* The bytes of the state at the start. */
static inline size_t history_start(const history_log *log)
{
    return log->num_sources == 0 ? STATESAMPLER_STATE_BYTES
                                 : 48 + 120 * (size_t)log->num_sources;
}

/* Completes h->bytes, and returns how many of them to save. */
static inline size_t history_save(history *h)
{
    const size_t size = h->log.size;

    history_store(h->bytes, history_head(&h->log));
    history_store(h->bytes + 8, size + 8);
    history_store(h->bytes + size, statesampler_hash(0, h->bytes, size));
    return size + 8;
}

/* --- events --------------------------------------------------------------- */

/* One that is read. */
typedef struct history_event {
    uint32_t kind;
    uint64_t epoch, step;       /* where it happened */
    const unsigned char *words; /* what it says */
    size_t size;                /* of all of it, in bytes */
} history_event;

/* How many words an event has after its place; 0: no such kind. */
static inline size_t history_words(const history_log *log, uint64_t kind)
{
    const size_t sources = log->num_sources;

    switch (kind) {
    case HISTORY_SEEK:
    case HISTORY_EPOCH:
        return 1;
    case HISTORY_SHAPE:
        return sources == 0 ? 2 : 1 + sources;
    case HISTORY_LENGTH:
        return sources == 0;
    case HISTORY_RANKS:
        return sources != 0;
    case HISTORY_WEIGHTS:
        return (sources + 1) / 2;
    default:
        return 0;
    }
}

/* Reads the event at an offset. */
static inline history_event history_event_at(const history_log *log, size_t at)
{
    history_event event;

    event.kind = (uint32_t)history_word(log->bytes + at);
    event.epoch = history_word(log->bytes + at + 8);
    event.step = history_word(log->bytes + at + 16);
    event.words = log->bytes + at + 24;
    event.size = 24 + 8 * history_words(log, event.kind);
    return event;
}

/* Whether a place is before another one. */
static inline int history_before(const history_log *log, uint64_t epoch,
                                 uint64_t step, uint64_t other_epoch,
                                 uint64_t other_step)
{
    if (log->carry || epoch == other_epoch)
        return step < other_step;
    return epoch < other_epoch;
}

/* OK if an event of this kind may happen at a place. */
static inline int history_check(const history *h, uint32_t kind, uint64_t epoch,
                                uint64_t step)
{
    const size_t size = 24 + 8 * history_words(&h->log, kind);

    if (history_before(&h->log, epoch, step, h->epoch, h->step))
        return HISTORY_EORDER;
    if (size > h->capacity - 8 - h->log.size)
        return HISTORY_EFULL;
    return STATESAMPLER_OK;
}

/* Notes an event for which history_check has found room. Its words follow, by
   history_add. */
static inline void history_note(history *h, uint32_t kind, uint64_t epoch,
                                uint64_t step)
{
    history_add(h, kind);
    history_add(h, epoch);
    history_add(h, step);
}

/* --- a sampler, and its events -------------------------------------------- */

/* A sampler's shape, as in an event. (No state holds drop_last.) */
static inline uint64_t history_batch(const statesampler *s)
{
    return (uint64_t)s->run.shape.drop_last << 32 | s->run.shape.batch_size;
}

/* Where the last event led. */
static inline void history_led_to(history *h, const statesampler *s)
{
    h->epoch = statesampler_epoch(s);
    h->step = statesampler_step(s);
}

static inline void history_note_shape(history *h, const statesampler *s)
{
    history_note(h, HISTORY_SHAPE, statesampler_epoch(s), statesampler_step(s));
    history_add(h, s->run.shape.world_size);
    history_add(h, history_batch(s));
}

/* Begins a history where the sampler is. `memory` has capacity bytes, which are
   the history's from now on. ECAPACITY: there are fewer than HISTORY_BYTES(0).
   */
static inline int history_init(history *h, unsigned char *memory,
                               size_t capacity, const statesampler *s)
{
    if (capacity < HISTORY_BYTES(0))
        return STATESAMPLER_ECAPACITY;
    h->log.bytes = h->bytes = memory;
    h->capacity = capacity;
    h->log.num_sources = 0;
    h->log.carry = s->run.tail == STATESAMPLER_TAIL_CARRY;
    h->log.size = 16 + STATESAMPLER_STATE_BYTES;
    (void)statesampler_save(s, memory + 16, STATESAMPLER_STATE_BYTES);
    history_note_shape(h, s);
    history_led_to(h, s);
    return STATESAMPLER_OK;
}

/* As statesampler_seek. Here and below: if the sampler is there already,
   nothing is noted. EFULL: there is no room for the event. EORDER: the sampler
   is before the last event, as after a load without its history. Nothing has
   then changed. */
static inline int history_seek(history *h, statesampler *s, uint64_t step)
{
    const uint64_t epoch = statesampler_epoch(s), now = statesampler_step(s);
    int code = history_check(h, HISTORY_SEEK, epoch, now);

    if (code != STATESAMPLER_OK || step == now)
        return code;
    code = statesampler_seek(s, step);
    if (code == STATESAMPLER_OK) {
        history_note(h, HISTORY_SEEK, epoch, now);
        history_add(h, step);
        history_led_to(h, s);
    }
    return code;
}

/* As statesampler_begin. */
static inline int history_begin(history *h, statesampler *s, uint64_t epoch)
{
    const uint64_t old = statesampler_epoch(s), step = statesampler_step(s);
    int code = history_check(h, HISTORY_EPOCH, old, step);

    if (code != STATESAMPLER_OK || (old == epoch && step == 0))
        return code;
    statesampler_begin(s, epoch);
    history_note(h, HISTORY_EPOCH, old, step);
    history_add(h, epoch);
    history_led_to(h, s);
    return STATESAMPLER_OK;
}

/* As statesampler_reshape. */
static inline int history_reshape(history *h, statesampler *s, uint32_t rank,
                                  uint32_t world_size, uint32_t batch_size)
{
    const uint64_t batch = history_batch(s);
    const uint32_t world = s->run.shape.world_size;
    statesampler other = *s;
    int code = history_check(h, HISTORY_SHAPE, statesampler_epoch(s),
                             statesampler_step(s));

    if (code == STATESAMPLER_OK)
        code = statesampler_reshape(&other, rank, world_size, batch_size);
    if (code != STATESAMPLER_OK)
        return code;
    *s = other;
    if (s->run.shape.world_size != world || history_batch(s) != batch) {
        history_note_shape(h, s);
        history_led_to(h, s);
    }
    return STATESAMPLER_OK;
}

/* As statesampler_resize. */
static inline int history_resize(history *h, statesampler *s,
                                 uint64_t num_samples)
{
    const uint64_t epoch = statesampler_epoch(s), step = statesampler_step(s);
    int code = history_check(h, HISTORY_LENGTH, epoch, step);

    if (code != STATESAMPLER_OK || num_samples == s->run.num_samples)
        return code;
    code = statesampler_resize(s, num_samples);
    if (code == STATESAMPLER_OK) {
        history_note(h, HISTORY_LENGTH, epoch, step);
        history_add(h, num_samples);
        history_led_to(h, s);
    }
    return code;
}

/* --- a walk --------------------------------------------------------------- */

typedef struct history_walk {
    history_log log;
    uint64_t begin_epoch, begin_step; /* of the stretch */
    uint64_t end_epoch, end_step;     /* the first place that is not in it */
    uint32_t kind;                    /* of the event there; 0: the present */
    uint64_t to_epoch, to_step;       /* where that leads */
    statesampler sampler;             /* at the stretch's beginning */
    size_t at;                        /* private: of that event */
    uint64_t now_epoch, now_step;     /* private: the present */
} history_walk;

/* Makes the sampler of a shape that goes on where this one is. */
static inline int history_change_shape(statesampler *s, uint64_t world_size,
                                       uint64_t batch)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    statesampler_desc desc;
    int code = statesampler_save(s, state, sizeof state);

    if (code == STATESAMPLER_OK)
        code = statesampler_describe(state, sizeof state, &desc, NULL);
    desc.world_size = (uint32_t)world_size;
    desc.batch_size = (uint32_t)batch;
    desc.drop_last = (uint32_t)(batch >> 32);
    if (code == STATESAMPLER_OK)
        code = statesampler_init(s, &desc);
    if (code == STATESAMPLER_OK)
        code = statesampler_load(s, state, sizeof state);
    return code;
}

/* Does to a sampler what an event says. */
static inline int history_apply(statesampler *s, const history_event *event)
{
    const uint64_t word = history_word(event->words);

    switch (event->kind) {
    case HISTORY_SEEK:
        return statesampler_seek(s, word);
    case HISTORY_EPOCH:
        statesampler_begin(s, word);
        return STATESAMPLER_OK;
    case HISTORY_SHAPE:
        return history_change_shape(s, word, history_word(event->words + 8));
    case HISTORY_LENGTH:
        return statesampler_resize(s, word);
    default:
        return STATESAMPLER_ECORRUPT;
    }
}

/* Takes a sampler to a place of its stretch. An epoch after that in which it is
   was begun by going on. */
static inline int history_go(const history_log *log, statesampler *s,
                             uint64_t epoch, uint64_t step)
{
    if (!log->carry && statesampler_epoch(s) != epoch)
        statesampler_begin(s, epoch);
    return statesampler_seek(s, step);
}

/* Reads the next event: the stretch ends there, or at the present. */
static inline void history_read_end(history_walk *walk)
{
    const history_log *log = &walk->log;

    walk->kind = 0;
    walk->end_epoch = walk->to_epoch = walk->now_epoch;
    walk->end_step = walk->to_step = walk->now_step;
    if (walk->at < log->size) {
        const history_event event = history_event_at(log, walk->at);

        walk->kind = event.kind;
        walk->end_epoch = walk->to_epoch = event.epoch;
        walk->end_step = walk->to_step = event.step;
        if (event.kind == HISTORY_SEEK)
            walk->to_step = history_word(event.words);
        if (event.kind == HISTORY_EPOCH) {
            walk->to_epoch = history_word(event.words);
            walk->to_step = 0;
        }
    }
}

/* Before the first stretch of the run that has come to this sampler. */
static inline void history_open(history_walk *walk, const history_log *log,
                                const statesampler *now)
{
    walk->log = *log;
    walk->at = 0;
    walk->kind = HISTORY_SHAPE;
    walk->now_epoch = statesampler_epoch(now);
    walk->now_step = statesampler_step(now);
}

/* Makes the sampler of the history's start. */
static inline int history_first(history_walk *walk)
{
    const history_log *log = &walk->log;
    const unsigned char *state = log->bytes + 16;
    const history_event shape = history_event_at(log, 16 + history_start(log));
    statesampler_desc desc;
    int code = statesampler_describe(state, STATESAMPLER_STATE_BYTES, &desc,
                                     NULL);

    if (code != STATESAMPLER_OK)
        return code;
    desc.drop_last = (uint32_t)(history_word(shape.words + 8) >> 32);
    code = statesampler_init(&walk->sampler, &desc);
    if (code == STATESAMPLER_OK)
        code = statesampler_load(&walk->sampler, state,
                                 STATESAMPLER_STATE_BYTES);
    walk->at = 16 + history_start(log) + shape.size;
    return code;
}

/* Goes to the next stretch, which may be empty. Returns 1; 0 after the last
   one; or an error of a history that is damaged or forged. The number of events
   bounds the calls. */
static inline int history_next(history_walk *walk)
{
    int code;

    if (walk->at == 0) {
        code = history_first(walk);
    } else if (walk->kind == 0) {
        return 0;
    } else {
        const history_event event = history_event_at(&walk->log, walk->at);

        code = history_go(&walk->log, &walk->sampler, event.epoch, event.step);
        if (code == STATESAMPLER_OK)
            code = history_apply(&walk->sampler, &event);
        walk->at += event.size;
    }
    walk->begin_epoch = statesampler_epoch(&walk->sampler);
    walk->begin_step = statesampler_step(&walk->sampler);
    history_read_end(walk);
    return code == STATESAMPLER_OK ? 1 : code;
}

/* Whether the stretch has served a step. (It need not exist: an epoch ends
   where history_at returns 0.) With CARRY the epoch does not matter. */
static inline int history_served(const history_walk *walk, uint64_t epoch,
                                 uint64_t step)
{
    return !history_before(&walk->log, epoch, step, walk->begin_epoch,
                           walk->begin_step) &&
           history_before(&walk->log, epoch, step, walk->end_epoch,
                          walk->end_step);
}

/* Whether the event that ended the stretch passed over a step: from end_step to
   to_step, and so on. */
static inline int history_skipped(const history_walk *walk, uint64_t epoch,
                                  uint64_t step)
{
    return !history_before(&walk->log, epoch, step, walk->end_epoch,
                           walk->end_step) &&
           history_before(&walk->log, epoch, step, walk->to_epoch,
                          walk->to_step);
}

/* A rank's samples in a step that the stretch has served, as statesampler_at
   gives them. */
static inline int history_at(const history_walk *walk, uint32_t rank,
                             uint64_t epoch, uint64_t step, uint64_t *out,
                             size_t *count)
{
    statesampler s = walk->sampler;
    int code;

    if (!walk->log.carry && statesampler_epoch(&s) != epoch)
        statesampler_begin(&s, epoch);
    code = statesampler_reshape(&s, rank, s.run.shape.world_size,
                                s.run.shape.batch_size);
    return code != STATESAMPLER_OK ? code
                                   : statesampler_at(&s, step, out, count);
}

/* Where the stretch has served a sample in an epoch: as statesampler_locate.
   ERANGE: it has not. */
static inline int history_locate(const history_walk *walk, uint64_t epoch,
                                 uint64_t index, statesampler_place *place)
{
    statesampler s = walk->sampler;
    statesampler_place found;
    int code = STATESAMPLER_OK;

    if (statesampler_epoch(&s) != epoch && walk->log.carry)
        code = recall_carry(&s, epoch);
    else if (statesampler_epoch(&s) != epoch)
        statesampler_begin(&s, epoch);
    if (code == STATESAMPLER_OK)
        code = statesampler_locate(&s, index, &found);
    if (code == STATESAMPLER_OK && !history_served(walk, epoch, found.step))
        code = STATESAMPLER_ERANGE_SERVED;
    if (code == STATESAMPLER_OK)
        *place = found;
    return code;
}

/* --- load ----------------------------------------------------------------- */

/* OK if these are the bytes of a history. */
static inline int history_check_bytes(const history_log *log)
{
    const size_t start = 16 + history_start(log);
    size_t at = start;

    if (log->size < start + 24 || history_word(log->bytes + 8) != log->size + 8)
        return STATESAMPLER_ECORRUPT_SIZE;
    if (history_word(log->bytes) != history_head(log))
        return STATESAMPLER_ECORRUPT_MAGIC;
    if (history_word(log->bytes + log->size) !=
        statesampler_hash(0, log->bytes, log->size))
        return STATESAMPLER_ECORRUPT_CHECK;
    if (history_word(log->bytes + start) != HISTORY_SHAPE)
        return STATESAMPLER_ECORRUPT_SIZE;
    while (at != log->size) { /* each event has 32 bytes or more */
        size_t words = 0;

        if (log->size - at >= 24)
            words = history_words(log, history_word(log->bytes + at));
        if (words == 0 || 8 * words > log->size - at - 24)
            return STATESAMPLER_ECORRUPT_SIZE;
        at += 24 + 8 * words;
    }
    return STATESAMPLER_OK;
}

/* Goes on where a history and a state were saved together, in the sampler's own
   shape, which is noted if it is another one. `h` has been initialised, and
   this history takes the place of its own. ECORRUPT, EVERSION, EMISMATCH: as
   statesampler_load, or the history is damaged. EOTHER: it is of another run.
   EORDER: it has an event after the state. EFULL: there is no room for it.
   Nothing has then changed. */
static inline int history_load(history *h, statesampler *s, const void *saved,
                               size_t saved_size, const void *state,
                               size_t size)
{
    const uint64_t batch = history_batch(s);
    const uint32_t world_size = s->run.shape.world_size;
    unsigned char place[STATESAMPLER_STATE_BYTES];
    statesampler now = *s;
    history_log log = h->log;
    history_walk walk;
    int code;

    log.bytes = (const unsigned char *)saved;
    log.size = saved_size < 8 ? 0 : saved_size - 8;
    code = history_check_bytes(&log);
    if (code == STATESAMPLER_OK)
        code = statesampler_load(&now, state, size);
    if (code != STATESAMPLER_OK)
        return code;
    if (log.size + 40 + 8 > h->capacity)
        return HISTORY_EFULL;
    history_open(&walk, &log, &now);
    do {
        code = history_next(&walk);
    } while (code == 1 && walk.kind != 0);
    if (code != 1)
        return code < 0 ? code : STATESAMPLER_ECORRUPT;
    if (history_before(&log, walk.end_epoch, walk.end_step, walk.begin_epoch,
                       walk.begin_step))
        return HISTORY_EORDER;
    /* The run's last stretch leads to the state. */
    code = history_go(&log, &walk.sampler, walk.end_epoch, walk.end_step);
    if (code != STATESAMPLER_OK ||
        statesampler_save(&walk.sampler, place, sizeof place) !=
            STATESAMPLER_OK ||
        size != sizeof place || memcmp(place, state, size) != 0)
        return HISTORY_EOTHER;
    memcpy(h->bytes, saved, log.size);
    h->log.size = log.size;
    h->epoch = walk.begin_epoch;
    h->step = walk.begin_step;
    *s = now;
    if (walk.sampler.run.shape.world_size != world_size ||
        history_batch(&walk.sampler) != batch) {
        history_note_shape(h, s);
        history_led_to(h, s);
    }
    return STATESAMPLER_OK;
}

STATESAMPLER_WRAP_END

#endif

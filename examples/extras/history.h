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

     history_open(&walk, &h.log, statesampler_epoch(&sampler),
                  statesampler_step(&sampler));
     while ((code = history_next(&walk)) == 1)
         if (history_served(&walk.stretch, epoch, step))
             history_at(&walk, rank, epoch, step, batch, &count);

   A step that was served twice is in two stretches. One that no stretch has,
   but that a seek passed over, was skipped: see history_skipped. For mixes,
   "step" is the turn, and the functions have _mix in their names. The time of a
   walk grows with the events alone. */
#ifndef HISTORY_H
#define HISTORY_H

#include <string.h>

#include "recall.h"

STATESAMPLER_WRAP_BEGIN

/* Errors, beside those of statesampler.h. */
#define HISTORY_EFULL (-1401)
#define HISTORY_EORDER (-1402)
#define HISTORY_EOTHER (-1403)
#define HISTORY_EEVENT (-1404)

/* What an event is, and the words that it has after its place. An epoch that a
   mix begins is its own and those of its sources. */
#define HISTORY_SEEK 1    /* the step, or turn, that was sought */
#define HISTORY_EPOCH 2   /* the epoch that was begun */
#define HISTORY_SHAPE 3   /* world_size; batch_size, and 2^32 for drop_last */
#define HISTORY_LENGTH 4  /* num_samples */
#define HISTORY_RANKS 5   /* of a mix: world_size */
#define HISTORY_WEIGHTS 6 /* of a mix: two weights in a word */

/* The memory for so many events. (A mix that begins an epoch, or is loaded with
   other batch sizes, takes as much as two.) */
#define HISTORY_BYTES(events) \
    (STATESAMPLER_STATE_BYTES + sizeof(char[64]) + sizeof(char[40]) * (events))
#define HISTORY_MIX_BYTES(sources, events) \
    (sizeof(char[104]) + sizeof(char[128]) * (sources) + \
     (sizeof(char[24]) + sizeof(char[8]) * (((sources) + 1) / 2)) * (events))

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
    /* Of a mix: where the history began, if that is amid an epoch and no event
       has led away from there: in this epoch no seek goes to before it. */
    uint64_t first_epoch, first_turn;
} history;

static inline const char *history_error(int code)
{
    switch (code) {
    case HISTORY_EFULL:
        return "the history has no room for an event";
    case HISTORY_EORDER:
        return "the run is before the last event of the history";
    case HISTORY_EOTHER:
        return "the history is of another run";
    case HISTORY_EEVENT:
        return "the history has an event that no such run has";
    default:
        return recall_error(code);
    }
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
static inline size_t history_state_bytes(const history_log *log)
{
    return log->num_sources == 0
               ? STATESAMPLER_STATE_BYTES
               : STATESAMPLER_MIX_STATE_BYTES((size_t)log->num_sources);
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
        return 1;
    case HISTORY_EPOCH:
        return 1 + sources;
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

/* Whether an epoch comes before another one: they count modulo 2^64, so it does
   if that way is the shorter one. */
static inline int history_earlier(uint64_t epoch, uint64_t other)
{
    return other - epoch < epoch - other;
}

/* Whether a place is before another one. */
static inline int history_before(const history_log *log, uint64_t epoch,
                                 uint64_t step, uint64_t other_epoch,
                                 uint64_t other_step)
{
    if (log->carry || epoch == other_epoch)
        return step < other_step;
    return history_earlier(epoch, other_epoch);
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
    int code;

    if (step == now)
        return STATESAMPLER_OK;
    code = history_check(h, HISTORY_SEEK, epoch, now);
    if (code == STATESAMPLER_OK)
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
    int code;

    if (old == epoch && step == 0)
        return STATESAMPLER_OK;
    code = history_check(h, HISTORY_EPOCH, old, step);
    if (code != STATESAMPLER_OK)
        return code;
    statesampler_begin(s, epoch);
    history_note(h, HISTORY_EPOCH, old, step);
    history_add(h, epoch);
    history_led_to(h, s);
    return STATESAMPLER_OK;
}

/* Whether two samplers differ in shape. */
static inline int history_differs(const statesampler *a, const statesampler *b)
{
    return a->run.shape.world_size != b->run.shape.world_size ||
           history_batch(a) != history_batch(b);
}

/* As statesampler_reshape. */
static inline int history_reshape(history *h, statesampler *s, uint32_t rank,
                                  uint32_t world_size, uint32_t batch_size)
{
    statesampler other = *s;
    int code = statesampler_reshape(&other, rank, world_size, batch_size);
    const int differs = history_differs(&other, s);

    if (code == STATESAMPLER_OK && differs)
        code = history_check(h, HISTORY_SHAPE, statesampler_epoch(s),
                             statesampler_step(s));
    if (code != STATESAMPLER_OK)
        return code;
    *s = other;
    if (differs) {
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
    int code;

    if (num_samples == s->run.num_samples)
        return STATESAMPLER_OK;
    code = history_check(h, HISTORY_LENGTH, epoch, step);
    if (code == STATESAMPLER_OK)
        code = statesampler_resize(s, num_samples);
    if (code == STATESAMPLER_OK) {
        history_note(h, HISTORY_LENGTH, epoch, step);
        history_add(h, num_samples);
        history_led_to(h, s);
    }
    return code;
}

/* --- a walk --------------------------------------------------------------- */

/* What was served between two events. */
typedef struct history_stretch {
    history_log log;
    uint64_t begin_epoch, begin_step;
    uint64_t end_epoch, end_step; /* the first place that is not in it */
    /* Where it stood still, and then went on: not always here, as it may have
       done several things on its way. */
    uint64_t from_epoch, from_step, to_epoch, to_step;
    uint32_t kind;                /* of the event at the end; 0: the present */
    size_t at;                    /* private: of that event; 0: not begun */
    size_t after;                 /* private: of the first one that happened
                                     when the run had gone on */
    uint64_t now_epoch, now_step; /* private: the present */
} history_stretch;

/* Whether a stretch has steps of an epoch; with CARRY it may have. */
static inline int history_has_epoch(const history_stretch *stretch,
                                    uint64_t epoch)
{
    const uint64_t begin = stretch->begin_epoch;

    return stretch->log.carry || epoch - begin <= stretch->end_epoch - begin;
}

typedef struct history_walk {
    history_stretch stretch;
    statesampler sampler; /* at the stretch's beginning */
} history_walk;

/* Before the first stretch of a run that has come to this place. */
static inline void history_start(history_stretch *stretch,
                                 const history_log *log, uint64_t epoch,
                                 uint64_t step)
{
    stretch->log = *log;
    stretch->at = stretch->after = 0;
    stretch->kind = HISTORY_SHAPE;
    stretch->now_epoch = epoch;
    stretch->now_step = step;
}

/* Takes a place, at which an event happened, to where it led. */
static inline void history_take(const history_event *event, uint64_t *epoch,
                                uint64_t *step)
{
    if (event->kind == HISTORY_SEEK)
        *step = history_word(event->words);
    if (event->kind == HISTORY_EPOCH) {
        *epoch = history_word(event->words);
        *step = 0;
    }
}

/* Finds where the run went on from the stretch's end. What is one thing to
   whoever did it may be many events: a seek over the stages of a schedule, say.
   They are all where the one before leads; the begin of another epoch is the
   last. */
static inline void history_lead(history_stretch *stretch)
{
    const history_log *log = &stretch->log;
    size_t at = stretch->at;

    stretch->from_epoch = stretch->to_epoch = stretch->end_epoch;
    stretch->from_step = stretch->to_step = stretch->end_step;
    for (; at < log->size && stretch->to_epoch == stretch->from_epoch;
         stretch->after = at) {
        const history_event event = history_event_at(log, at);

        if (event.step != stretch->to_step ||
            (!log->carry && event.epoch != stretch->to_epoch))
            return;
        history_take(&event, &stretch->to_epoch, &stretch->to_step);
        at += event.size;
    }
}

/* The stretch begins at this place, and ends at the event that comes next or at
   the present. EORDER: that is before it. */
static inline int history_begin_at(history_stretch *stretch, uint64_t epoch,
                                   uint64_t step)
{
    stretch->begin_epoch = epoch;
    stretch->begin_step = step;
    stretch->kind = 0;
    stretch->end_epoch = stretch->now_epoch;
    stretch->end_step = stretch->now_step;
    if (stretch->at < stretch->log.size) {
        const history_event event =
            history_event_at(&stretch->log, stretch->at);

        stretch->kind = event.kind;
        stretch->end_epoch = event.epoch;
        stretch->end_step = event.step;
    }
    if (stretch->at >= stretch->after) /* not on the way */
        history_lead(stretch);
    if (history_before(&stretch->log, stretch->end_epoch, stretch->end_step,
                       epoch, step))
        return HISTORY_EORDER;
    return STATESAMPLER_OK;
}

/* Whether the stretch has served a step. (It need not exist: an epoch ends
   where history_at returns 0.) With CARRY the epoch does not matter. */
static inline int history_served(const history_stretch *stretch, uint64_t epoch,
                                 uint64_t step)
{
    return !history_before(&stretch->log, epoch, step, stretch->begin_epoch,
                           stretch->begin_step) &&
           history_before(&stretch->log, epoch, step, stretch->end_epoch,
                          stretch->end_step);
}

/* Whether the run passed over a step at the stretch's end: by a seek from
   from_step to to_step, or, if to_epoch is not from_epoch, by the beginning of
   to_epoch. It need not exist either: history_at says so, too, as its shape was
   then. */
static inline int history_skipped(const history_stretch *stretch,
                                  uint64_t epoch, uint64_t step)
{
    const history_log *log = &stretch->log;
    uint64_t to_epoch = stretch->end_epoch, to_step = stretch->end_step;

    if (stretch->kind != 0) {
        const history_event event = history_event_at(log, stretch->at);

        history_take(&event, &to_epoch, &to_step);
    }
    /* This one event did, and all that was done with it. */
    return !history_before(log, epoch, step, stretch->end_epoch,
                           stretch->end_step) &&
           history_before(log, epoch, step, to_epoch, to_step) &&
           !history_before(log, epoch, step, stretch->from_epoch,
                           stretch->from_step) &&
           history_before(log, epoch, step, stretch->to_epoch,
                          stretch->to_step);
}

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
        return HISTORY_EEVENT;
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

/* Before the first stretch of the run that has come to this epoch and step. */
static inline void history_open(history_walk *walk, const history_log *log,
                                uint64_t epoch, uint64_t step)
{
    history_start(&walk->stretch, log, epoch, step);
}

/* Makes the sampler of the history's start. */
static inline int history_first(history_walk *walk)
{
    const history_log *log = &walk->stretch.log;
    const unsigned char *state = log->bytes + 16;
    const history_event shape =
        history_event_at(log, 16 + history_state_bytes(log));
    statesampler_desc desc;
    int code =
        statesampler_describe(state, STATESAMPLER_STATE_BYTES, &desc, NULL);

    if (code != STATESAMPLER_OK)
        return code;
    desc.drop_last = (uint32_t)(history_word(shape.words + 8) >> 32);
    code = statesampler_init(&walk->sampler, &desc);
    if (code == STATESAMPLER_OK)
        code =
            statesampler_load(&walk->sampler, state, STATESAMPLER_STATE_BYTES);
    walk->stretch.at = 16 + history_state_bytes(log) + shape.size;
    return code;
}

/* Goes to the next stretch, which may be empty. Returns 1; 0 after the last
   one; or an error of a history that is damaged or forged. The number of events
   bounds the calls. */
static inline int history_next(history_walk *walk)
{
    history_stretch *stretch = &walk->stretch;
    int code;

    if (stretch->at == 0) {
        code = history_first(walk);
    } else if (stretch->kind == 0) {
        return 0;
    } else {
        const history_event event =
            history_event_at(&stretch->log, stretch->at);

        code =
            history_go(&stretch->log, &walk->sampler, event.epoch, event.step);
        if (code == STATESAMPLER_OK)
            code = history_apply(&walk->sampler, &event);
        stretch->at += event.size;
    }
    if (code == STATESAMPLER_OK)
        code = history_begin_at(stretch, statesampler_epoch(&walk->sampler),
                                statesampler_step(&walk->sampler));
    return code == STATESAMPLER_OK ? 1 : code;
}

/* Makes a rank's sampler, which knows the steps that the stretch has in an
   epoch. */
static inline int history_sampler_of(const history_walk *walk, uint32_t rank,
                                     uint64_t epoch, statesampler *s)
{
    *s = walk->sampler;
    if (!walk->stretch.log.carry && statesampler_epoch(s) != epoch)
        statesampler_begin(s, epoch);
    return statesampler_reshape(s, rank, s->run.shape.world_size,
                                s->run.shape.batch_size);
}

/* A rank's samples in a step that the stretch has served, as statesampler_at
   gives them. */
static inline int history_at(const history_walk *walk, uint32_t rank,
                             uint64_t epoch, uint64_t step, uint64_t *out,
                             size_t *count)
{
    statesampler s;
    const int code = history_sampler_of(walk, rank, epoch, &s);

    return code != STATESAMPLER_OK ? code
                                   : statesampler_at(&s, step, out, count);
}

/* Takes a sampler of CARRY to another epoch for statesampler_locate alone. It
   may be one in which no step begins, as it lies inside one. ERANGE: it is
   before the base, or beyond what a seek takes. */
static inline int history_set_epoch(statesampler *s, uint64_t epoch)
{
    if (epoch - s->run.segment.base.epoch >
        STATESAMPLER_MAX_SAMPLES / s->run.num_samples)
        return STATESAMPLER_ERANGE_SERVED;
    s->run.now.epoch = epoch;
    return STATESAMPLER_OK;
}

/* The position whose sample is served at this one, which is padding: as the
   manual says of the tail PAD. */
static inline uint64_t history_repeated(const statesampler *s,
                                        uint64_t position)
{
    const uint64_t block = position % s->run.segment.blocks;

    if (s->run.partition == STATESAMPLER_PARTITION_BLOCKED &&
        block < s->run.num_samples)
        return block;
    return position % s->run.num_samples;
}

/* Finds a sample as padding, at a position from `first` up to `end` of the
   sampler's epoch. There are at most as many as ranks and blocks. */
static inline int history_find_padding(const statesampler *s, uint64_t index,
                                       uint64_t first, uint64_t end,
                                       statesampler_place *place)
{
    const uint64_t world_size = s->run.shape.world_size;
    const uint64_t batch_size = s->run.shape.batch_size;
    statesampler whole = *s;
    uint64_t distance;
    int code;

    code = statesampler_reshape(&whole, 0, s->run.segment.blocks, 1);
    statesampler_begin(&whole, statesampler_epoch(s));
    if (code == STATESAMPLER_OK)
        code = statesampler_locate(&whole, index, place);
    if (code != STATESAMPLER_OK)
        return code;
    if (first < s->run.num_samples)
        first = s->run.num_samples;
    if (end > s->run.segment.end)
        end = s->run.segment.end;
    while (first < end && history_repeated(s, first) != place->position)
        first++;
    if (first >= end)
        return STATESAMPLER_ERANGE_SERVED;
    distance = first - s->run.segment.base.position;
    place->position = first;
    place->step =
        s->run.segment.base.step + distance / (world_size * batch_size);
    place->slot = (uint32_t)(distance / world_size % batch_size);
    place->rank = (uint32_t)(distance % world_size);
    return STATESAMPLER_OK;
}

/* Where the stretch has served a sample in an epoch: as statesampler_locate.
   If its own place was skipped, but it was padding of the last steps, it is
   found there: the position is then num_samples or more. ERANGE: it was not
   served. */
static inline int history_locate(const history_walk *walk, uint64_t epoch,
                                 uint64_t index, statesampler_place *place)
{
    const history_stretch *stretch = &walk->stretch;
    uint64_t end = STATESAMPLER_NONE;
    statesampler s = walk->sampler;
    statesampler_place found;
    int code = STATESAMPLER_OK;

    if (stretch->log.carry)
        code = history_set_epoch(&s, epoch);
    else if (statesampler_epoch(&s) != epoch)
        statesampler_begin(&s, epoch);
    if (code == STATESAMPLER_OK)
        code = statesampler_locate(&s, index, &found);
    if (code == STATESAMPLER_OK && !history_served(stretch, epoch, found.step))
        code = STATESAMPLER_ERANGE_SERVED;
    if (code != STATESAMPLER_OK && s.run.tail == STATESAMPLER_TAIL_PAD) {
        statesampler last = s;

        if (epoch == stretch->end_epoch &&
            statesampler_seek(&last, stretch->end_step) == STATESAMPLER_OK)
            end = statesampler_position(&last);
        code = history_find_padding(&s, index, statesampler_position(&s), end,
                                    &found);
    }
    if (code == STATESAMPLER_OK)
        *place = found;
    return code;
}

/* --- load ----------------------------------------------------------------- */

/* OK if these are the bytes of a history. */
static inline int history_check_bytes(const history_log *log)
{
    const size_t start = 16 + history_state_bytes(log);
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

/* Finds a history at the beginning of some bytes, for history_open or
   history_mix_open: sets *log, which points to them, and *used to how many it
   has. ECORRUPT: there is none, or it is damaged; neither is then set. */
static inline int history_read(history_log *log, size_t *used,
                               const void *bytes, size_t size)
{
    const unsigned char *from = (const unsigned char *)bytes;
    statesampler_desc desc;
    history_log found = {from, 0, 0, 0};
    int code;

    if (size < 16)
        return STATESAMPLER_ECORRUPT_SIZE;
    found.num_sources = (uint32_t)(history_word(from) >> 32);
    if (history_word(from) != history_head(&found))
        return STATESAMPLER_ECORRUPT_MAGIC;
    if (history_word(from + 8) < 8 || history_word(from + 8) > size ||
        found.num_sources > size / 120)
        return STATESAMPLER_ECORRUPT_SIZE;
    found.size = (size_t)history_word(from + 8) - 8;
    code = history_check_bytes(&found);
    if (code == STATESAMPLER_OK && found.num_sources == 0) {
        code = statesampler_describe(from + 16, STATESAMPLER_STATE_BYTES, &desc,
                                     NULL);
        found.carry = desc.tail == STATESAMPLER_TAIL_CARRY;
    }
    if (code == STATESAMPLER_OK) {
        *log = found;
        *used = found.size + 8;
    }
    return code;
}

/* Takes a walk on from its last stretch to the present. OK if that is this
   state. */
static inline int history_ends_in(history_walk *walk, const void *state)
{
    const history_stretch *stretch = &walk->stretch;
    unsigned char own[STATESAMPLER_STATE_BYTES];
    int code;

    code = history_go(&stretch->log, &walk->sampler, stretch->end_epoch,
                      stretch->end_step);
    if (code == STATESAMPLER_OK)
        code = statesampler_save(&walk->sampler, own, sizeof own);
    if (code != STATESAMPLER_OK || memcmp(own, state, sizeof own) != 0)
        return HISTORY_EOTHER;
    return STATESAMPLER_OK;
}

/* The same from before the first stretch. */
static inline int history_check_end(history_walk *walk, const void *state)
{
    int code;

    do { /* each stretch has an event of its own */
        code = history_next(walk);
    } while (code == 1 && walk->stretch.kind != 0);
    return code == 1 ? history_ends_in(walk, state) : code;
}

/* The history becomes one that was saved, whose last event led to the beginning
   of this stretch. */
static inline void history_become(history *h, const history_stretch *stretch)
{
    memcpy(h->bytes, stretch->log.bytes, stretch->log.size);
    h->log.size = stretch->log.size;
    h->first_turn = 0;
    h->epoch = stretch->begin_epoch;
    h->step = stretch->begin_step;
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
    statesampler_place place;
    statesampler_desc desc;
    history_walk walk;
    history_log log = h->log;
    size_t event = 0;
    int differs = 0;
    int code = statesampler_describe(state, size, &desc, &place);

    if (code != STATESAMPLER_OK)
        return code;
    log.bytes = (const unsigned char *)saved;
    log.size = saved_size < 8 ? 0 : saved_size - 8;
    history_open(&walk, &log, desc.epoch, place.step);
    code = history_check_bytes(&log);
    if (code == STATESAMPLER_OK)
        code = history_check_end(&walk, state);
    if (code == STATESAMPLER_OK) {
        differs = history_differs(&walk.sampler, s);
        if (differs)
            event = 40;
        if (log.size + event + 8 > h->capacity)
            code = HISTORY_EFULL;
    }
    if (code == STATESAMPLER_OK)
        code = statesampler_load(s, state, size);
    if (code != STATESAMPLER_OK)
        return code;
    history_become(h, &walk.stretch);
    if (differs) {
        history_note_shape(h, s);
        history_led_to(h, s);
    }
    return STATESAMPLER_OK;
}

/* --- a mix ---------------------------------------------------------------- */

/* Notes world_size, and batch_size and drop_last of all sources. */
static inline void history_mix_note_shape(history *h,
                                          const statesampler_mix *mix)
{
    uint32_t i;

    history_note(h, HISTORY_SHAPE, statesampler_mix_epoch(mix),
                 statesampler_mix_turn(mix));
    history_add(h, mix->sources->sampler.run.shape.world_size);
    for (i = 0; i < mix->num_sources; i++)
        history_add(h, history_batch(&mix->sources[i].sampler));
}

static inline void history_mix_led_to(history *h, const statesampler_mix *mix)
{
    h->epoch = statesampler_mix_epoch(mix);
    h->step = statesampler_mix_turn(mix);
}

/* Begins a history where the mix is. ECAPACITY: the memory has fewer bytes than
   HISTORY_MIX_BYTES(num_sources, 0). */
static inline int history_mix_init(history *h, unsigned char *memory,
                                   size_t capacity, const statesampler_mix *mix)
{
    const size_t size = statesampler_mix_state_bytes(mix);

    if (capacity < HISTORY_MIX_BYTES(mix->num_sources, 0))
        return STATESAMPLER_ECAPACITY;
    h->log.bytes = h->bytes = memory;
    h->capacity = capacity;
    h->log.num_sources = mix->num_sources;
    h->log.carry = 0;
    h->log.size = 16 + size;
    h->first_epoch = statesampler_mix_epoch(mix);
    h->first_turn = statesampler_mix_turn(mix);
    (void)statesampler_mix_save(mix, memory + 16, size);
    history_mix_note_shape(h, mix);
    history_mix_led_to(h, mix);
    return STATESAMPLER_OK;
}

static inline int history_mix_check(const history *h, uint32_t kind,
                                    const statesampler_mix *mix)
{
    return history_check(h, kind, statesampler_mix_epoch(mix),
                         statesampler_mix_turn(mix));
}

/* As statesampler_mix_seek, mix_weigh and mix_reshape, with the errors of
   history_seek. ERANGE_BASE: also if the turn is before the history's first. */
static inline int history_mix_seek(history *h, statesampler_mix *mix,
                                   uint64_t turn)
{
    const uint64_t now = statesampler_mix_turn(mix);
    int code;

    if (turn == now)
        return STATESAMPLER_OK;
    if (turn < h->first_turn && statesampler_mix_epoch(mix) == h->first_epoch)
        return STATESAMPLER_ERANGE_BASE;
    code = history_mix_check(h, HISTORY_SEEK, mix);
    if (code == STATESAMPLER_OK)
        code = statesampler_mix_seek(mix, turn);
    if (code == STATESAMPLER_OK) {
        history_note(h, HISTORY_SEEK, statesampler_mix_epoch(mix), now);
        history_add(h, turn);
        history_mix_led_to(h, mix);
    }
    return code;
}

/* Adds the weights that a mix has, two in a word. */
static inline void history_add_weights(history *h, const statesampler_mix *mix)
{
    uint32_t i;

    for (i = 0; i < mix->num_sources; i += 2) {
        uint64_t word = mix->sources[i].in_mix.weight;

        if (i + 1 < mix->num_sources)
            word |= (uint64_t)mix->sources[i + 1].in_mix.weight << 32;
        history_add(h, word);
    }
}

static inline int history_mix_weigh(history *h, statesampler_mix *mix,
                                    const uint32_t *weights)
{
    int code, same = 1;
    uint32_t i;

    for (i = 0; i < mix->num_sources && same; i++)
        same = (weights[i] ? weights[i] : 1) == mix->sources[i].in_mix.weight;
    if (same)
        return STATESAMPLER_OK;
    code = history_mix_check(h, HISTORY_WEIGHTS, mix);
    if (code == STATESAMPLER_OK)
        code = statesampler_mix_weigh(mix, weights);
    if (code == STATESAMPLER_OK) {
        history_note(h, HISTORY_WEIGHTS, statesampler_mix_epoch(mix),
                     statesampler_mix_turn(mix));
        history_add_weights(h, mix);
        history_mix_led_to(h, mix);
    }
    return code;
}

static inline int history_mix_reshape(history *h, statesampler_mix *mix,
                                      uint32_t rank, uint32_t world_size)
{
    const uint32_t before = mix->sources->sampler.run.shape.world_size;
    const int same = (world_size ? world_size : 1) == before;
    int code = STATESAMPLER_OK;

    if (!same)
        code = history_mix_check(h, HISTORY_RANKS, mix);
    if (code == STATESAMPLER_OK)
        code = statesampler_mix_reshape(mix, rank, world_size);
    if (code != STATESAMPLER_OK || same)
        return code;
    history_note(h, HISTORY_RANKS, statesampler_mix_epoch(mix),
                 statesampler_mix_turn(mix));
    history_add(h, mix->sources->sampler.run.shape.world_size);
    history_mix_led_to(h, mix);
    return STATESAMPLER_OK;
}

/* Takes each source to the beginning of its epoch of these, which are bytes as
   an event has them. The weights stay. */
static inline int history_mix_start(statesampler_mix *mix,
                                    const unsigned char *epochs)
{
    uint32_t i;

    for (i = 0; i < mix->num_sources; i++) {
        mix->sources[i].weight = mix->sources[i].in_mix.weight;
        statesampler_begin(&mix->sources[i].sampler,
                           history_word(epochs + 8 * (size_t)i));
    }
    return statesampler_mix_init(mix, mix->sources, mix->num_sources,
                                 mix->stop);
}

/* Whether the mix is at the beginning of an epoch with these of its sources. */
static inline int history_mix_is_at(const statesampler_mix *mix, uint64_t epoch,
                                    const uint64_t *epochs)
{
    int same =
        statesampler_mix_epoch(mix) == epoch && statesampler_mix_turn(mix) == 0;
    uint32_t i;

    for (i = 0; i < mix->num_sources; i++) {
        const statesampler *s = &mix->sources[i].sampler;

        same = same && statesampler_epoch(s) == epochs[i] &&
               statesampler_step(s) == 0 && statesampler_position(s) == 0;
    }
    return same;
}

/* Begins an epoch of the mix, and one of each source. The weights stay. EINVAL:
   mix_init refuses the sources in these epochs. */
static inline int history_mix_begin(history *h, statesampler_mix *mix,
                                    uint64_t epoch, const uint64_t *epochs)
{
    const uint64_t old = statesampler_mix_epoch(mix);
    const uint64_t turn = statesampler_mix_turn(mix);
    const size_t size = h->log.size;
    uint32_t i;
    int code;

    if (history_mix_is_at(mix, epoch, epochs))
        return STATESAMPLER_OK;
    code = history_mix_check(h, HISTORY_EPOCH, mix);
    if (code != STATESAMPLER_OK)
        return code;
    history_note(h, HISTORY_EPOCH, old, turn);
    history_add(h, epoch);
    for (i = 0; i < mix->num_sources; i++)
        history_add(h, epochs[i]);
    code = history_mix_start(mix, h->bytes + size + 32);
    if (code != STATESAMPLER_OK) {
        h->log.size = size;
        return code;
    }
    mix->epoch = epoch;
    h->first_turn = 0;
    history_mix_led_to(h, mix);
    return STATESAMPLER_OK;
}

/* --- a walk over a mix's history ------------------------------------------ */

/* A mix that a walk moves, with memory for it: arrays of num_sources elements,
   and as many bytes as a state of the mix has. */
typedef struct history_mix_walk {
    history_stretch stretch;
    statesampler_mix mix;
    statesampler_source *sources;
    uint32_t *weights;
    unsigned char *state;
    /* Private. */
    uint64_t epoch; /* where the mix is, which counts from 0 */
    uint64_t stage; /* the turn at which the stretch's weights began; or NONE */
    const unsigned char *words; /* these weights, if there is such a turn */
    uint32_t period;            /* their sum */
    int behind;                 /* 1: the mix was left in an earlier stage */
    uint64_t base;              /* where that stage began, or else this one */
    uint64_t counted;           /* the turn up to which turns were counted */
    uint64_t most;              /* period that no mix refuses */
} history_mix_walk;

/* Makes the mix of a state, with the sources' shapes of an event, or, if that
   is NULL, as they are. */
static inline int history_mix_make(history_mix_walk *walk, const void *state,
                                   size_t size, const unsigned char *shape)
{
    statesampler_mix_place place = {0, 0, 0, 0, 0};
    int code = statesampler_mix_describe(state, size, 0, NULL, &place);
    uint32_t i;

    for (i = 0; i < place.num_sources && code == STATESAMPLER_OK; i++) {
        const uint64_t batch = history_word(shape + 8 + 8 * (size_t)i);
        statesampler_desc desc;

        code = recall_source(state, i, &desc, &walk->sources[i].weight);
        desc.world_size = (uint32_t)history_word(shape);
        desc.batch_size = (uint32_t)batch;
        desc.drop_last = (uint32_t)(batch >> 32);
        if (code == STATESAMPLER_OK)
            code = statesampler_init(&walk->sources[i].sampler, &desc);
    }
    if (code == STATESAMPLER_OK)
        code = statesampler_mix_init(&walk->mix, walk->sources,
                                     place.num_sources, place.stop);
    if (code == STATESAMPLER_OK)
        code = statesampler_mix_load(&walk->mix, state, size);
    walk->epoch = place.epoch;
    return code;
}

/* Takes apart an event's words, which have two weights each. */
static inline void history_set_weights(uint32_t *weights,
                                       const unsigned char *words,
                                       uint32_t num_sources)
{
    uint32_t i;

    for (i = 0; i < num_sources; i += 2, words += 8) {
        const uint64_t word = history_word(words);

        weights[i] = (uint32_t)word;
        if (i + 1 < num_sources)
            weights[i + 1] = (uint32_t)(word >> 32);
    }
}

/* --- stages of a mix -------------------------------------------------------
   Weights that change often make many stretches, and to move a mix over each of
   them takes long. So the walk leaves the mix behind where a stage began, and
   counts the turns that each source has had since. The mix is moved over all of
   them at once, by history_mix_settle, when something else is asked or done. A
   stage begins with the first turn of a sequence, and is in one epoch of the
   mix.

   A walk's `weights` are then these turns, and its `state` has three numbers of
   each source: the weights of the seats, the turns of the source that were
   counted last, and its end. */

static inline uint32_t history_number(const unsigned char *numbers, size_t i)
{
    uint32_t number;

    memcpy(&number, numbers + 4 * i, 4);
    return number;
}

static inline void history_set_number(unsigned char *numbers, size_t i,
                                      uint32_t number)
{
    memcpy(numbers + 4 * i, &number, 4);
}

static inline unsigned char *history_turns(const history_mix_walk *walk)
{
    return walk->state + 4 * (size_t)walk->mix.num_sources;
}

static inline unsigned char *history_ends(const history_mix_walk *walk)
{
    return walk->state + 8 * (size_t)walk->mix.num_sources;
}

/* A source's weight in an event's words: a half of one. */
static inline uint32_t history_weight(const unsigned char *words, uint32_t i)
{
    const unsigned char *from = words + 4 * (size_t)i;

    return (uint32_t)from[0] | (uint32_t)from[1] << 8 |
           (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

/* The sum of an event's weights; 0: a mix might refuse them. */
static inline uint32_t history_period(const history_mix_walk *walk,
                                      const unsigned char *words)
{
    uint64_t period = 0;
    uint32_t i, none = 0;

    for (i = 0; i < walk->mix.num_sources; i++) {
        const uint32_t weight = history_weight(words, i);

        none |= weight == 0;
        period += weight == STATESAMPLER_OFF ? 0 : weight;
    }
    return period <= walk->most && !none ? (uint32_t)period : 0;
}

/* Notes how many turns a source has until its epoch's end, and the one that
   finds it there; with RESTART 0 if it has been there. Returns 0 if it has no
   steps, and so no turns. */
static inline int history_set_end(const history_mix_walk *walk, uint32_t i)
{
    const statesampler_source *source = &walk->sources[i];
    statesampler s = source->sampler;
    const uint64_t steps = statesampler_num_steps(&s);
    uint64_t end = steps - statesampler_step(&s);

    end = end < STATESAMPLER_OFF ? end + 1 : STATESAMPLER_OFF;
    if (walk->mix.stop == STATESAMPLER_STOP_RESTART &&
        statesampler_epoch(&s) != source->in_mix.first_epoch)
        end = 0;
    history_set_number(history_ends(walk), i, (uint32_t)end);
    if (statesampler_base(&s) != 0)
        statesampler_begin(&s, statesampler_epoch(&s));
    return steps != 0 && statesampler_num_steps(&s) != 0;
}

/* The mix is where an event of this kind led. A stage begins if it was of
   weights, and turns can be counted by weights alone. */
static inline void history_set_stage(history_mix_walk *walk, uint32_t kind,
                                     const unsigned char *words)
{
    const statesampler_mix *mix = &walk->mix;
    uint32_t i;

    walk->behind = 0;
    walk->stage = walk->counted = STATESAMPLER_NONE;
    if (kind != HISTORY_WEIGHTS || mix->tick != 0)
        return;
    for (i = 0; i < mix->num_sources; i++)
        if (!history_set_end(walk, i))
            return;
    /* With RESTART and ALL a mix takes no weights with which its epoch might
       have more than 2^62 turns. An epoch has at most num_samples + 1 steps. */
    walk->most = STATESAMPLER_MAX_SAMPLES /
                 (statesampler_mix_offset(mix, mix->num_sources) + 2);
    if (walk->most >> 31 != 0 || mix->stop == STATESAMPLER_STOP_NEVER ||
        mix->stop == STATESAMPLER_STOP_FIRST)
        walk->most = 0x7fffffff;
    walk->period = history_period(walk, words);
    if (walk->period == 0)
        return;
    walk->base = walk->stage = statesampler_mix_turn(mix);
    walk->words = words;
    memset(walk->weights, 0, mix->num_sources * sizeof *walk->weights);
}

/* Divides turns among seats by the manual's tree of a mix: `weights` has those
   of the seats, and has them again in the end; `turns` has the turns in front.
   The first loops sum up the weights of each node's right child and of its
   parent, where its left child's was; the others take them apart again. */
static inline void history_divide(unsigned char *turns, unsigned char *weights,
                                  uint32_t seats)
{
    uint32_t bit = 1, i;

    while (bit < seats)
        bit *= 2;
    for (bit /= 2; bit != 0; bit /= 2)
        for (i = 0; i < bit && i + bit < seats; i++)
            history_set_number(weights, i,
                               history_number(weights, i) +
                                   history_number(weights, i + bit));
    for (bit = 1; bit < seats; bit *= 2)
        for (i = 0; i < bit && i + bit < seats; i++) {
            const uint32_t all = history_number(turns, i);
            const uint32_t weight = history_number(weights, i);
            const uint32_t left = weight - history_number(weights, i + bit);
            const uint32_t its =
                (uint32_t)(((uint64_t)all * left + weight / 2) / weight);

            history_set_number(turns, i, its);
            history_set_number(turns, i + bit, all - its);
            history_set_number(weights, i, left);
        }
}

/* The turns that the sources have in the first ticks of a period. */
static inline void history_share_part(history_mix_walk *walk, uint32_t ticks)
{
    unsigned char *const turns = history_turns(walk);
    uint32_t i, seats = 0;

    for (i = 0; i < walk->mix.num_sources; i++)
        if (history_weight(walk->words, i) != STATESAMPLER_OFF)
            history_set_number(walk->state, seats++,
                               history_weight(walk->words, i));
    history_set_number(turns, 0, ticks);
    history_divide(turns, walk->state, seats);
    while (i > seats) { /* no seat has a larger number than its source */
        uint32_t its = 0;

        if (history_weight(walk->words, --i) != STATESAMPLER_OFF)
            its = history_number(turns, --seats);
        history_set_number(turns, i, its);
    }
}

/* Those in the first ticks of the stage. */
static inline void history_share(history_mix_walk *walk, uint32_t ticks)
{
    unsigned char *const turns = history_turns(walk);
    const uint32_t num_sources = walk->mix.num_sources;
    const uint32_t periods = ticks / walk->period;
    const uint32_t rest = ticks % walk->period;
    uint32_t i;

    if (rest != 0)
        history_share_part(walk, rest);
    for (i = 0; i < num_sources && periods != 0; i++) {
        const uint32_t weight = history_weight(walk->words, i);
        const uint32_t its = weight == STATESAMPLER_OFF ? 0 : periods * weight;

        history_set_number(turns, i,
                           its + (rest != 0 ? history_number(turns, i) : 0));
    }
    if (ticks == 0)
        memset(turns, 0, 4 * (size_t)num_sources);
}

/* With FIRST and ALL leaves each source those up to its epoch's end. Returns
   how many they are together; *going becomes the weights of the sources that
   have not come so far, with RESTART in their first epochs. */
static inline uint64_t history_cut(history_mix_walk *walk, uint64_t *going)
{
    unsigned char *const turns = history_turns(walk);
    uint64_t sum = 0;
    uint32_t i;

    *going = 0;
    for (i = 0; i < walk->mix.num_sources; i++) {
        const uint32_t weight = history_weight(walk->words, i);
        const uint32_t end = history_number(history_ends(walk), i);
        const uint32_t had = walk->weights[i];
        uint32_t its = history_number(turns, i);

        if ((uint64_t)had + its < end)
            *going += weight == STATESAMPLER_OFF ? 0 : weight;
        else if (walk->mix.stop != STATESAMPLER_STOP_RESTART)
            its = end - 1 - had;
        history_set_number(turns, i, its);
        sum += its;
    }
    return sum;
}

/* Shares the first turns of the stage. With ALL a turn comes later by the ticks
   that are passed over: `low` and `high` are ticks with too few turns and with
   too many. Guesses may come nearer by little alone: so from the tenth on every
   second one halves what is left, and about 70 are enough. Returns 0 if the
   epoch ends before, or that is too far. */
static inline int history_share_turns(history_mix_walk *walk, uint32_t turns)
{
    uint64_t tick = turns, low = 0, high = 0xffffffffu, sum, going;
    int guesses = 0;

    history_share(walk, turns);
    if (walk->mix.stop == STATESAMPLER_STOP_NEVER)
        return 1;
    while ((sum = history_cut(walk, &going)) != turns) {
        if (walk->mix.stop == STATESAMPLER_STOP_FIRST ||
            (sum < turns && going == 0))
            return 0;
        if (sum < turns) {
            low = tick;
            tick += (turns - sum) * walk->period / going;
        } else {
            high = tick;
            tick -= going == 0 ? tick : (sum - turns) * walk->period / going;
        }
        if (tick <= low || tick >= high || (++guesses > 8 && guesses % 2 == 0))
            tick = low + (high - low) / 2;
        if (tick == low)
            return 0;
        history_share(walk, (uint32_t)tick);
    }
    return turns == 0 || going != 0 ||
           walk->mix.stop != STATESAMPLER_STOP_RESTART;
}

/* Counts the turns of each source in the stage, up to a turn of the mix.
   Returns 0 if its epoch ends before, or that is too far. */
static inline int history_count(history_mix_walk *walk, uint64_t turn)
{
    int found;

    if ((turn - walk->base) >> 31 != 0)
        return 0;
    if (turn == walk->counted)
        return 1;
    found = history_share_turns(walk, (uint32_t)(turn - walk->stage));
    walk->counted = found ? turn : STATESAMPLER_NONE; /* too far */
    return found;
}

/* Leaves the mix behind, in the stage that ends at an event with weights. */
static inline void history_leave(history_mix_walk *walk,
                                 const history_event *event, uint32_t period)
{
    const unsigned char *const turns = history_turns(walk);
    const uint32_t num_sources = walk->mix.num_sources;
    uint32_t *const weights = walk->weights;
    uint32_t i;

    if (!walk->behind) /* questions may have moved it */
        (void)statesampler_mix_seek(&walk->mix, walk->base);
    for (i = 0; i < num_sources; i++)
        weights[i] += history_number(turns, i);
    walk->behind = 1;
    walk->stage = event->step;
    walk->counted = STATESAMPLER_NONE;
    walk->words = event->words;
    walk->period = period;
}

/* Passes over an event without moving the mix. Returns 0 if that cannot be. */
static inline int history_mix_passes(history_mix_walk *walk,
                                     const history_event *event)
{
    const size_t size = 4 * (size_t)walk->mix.num_sources;
    uint64_t to = event->step;
    uint32_t period = 0;

    if (walk->stage == STATESAMPLER_NONE || event->epoch != walk->epoch ||
        event->epoch != walk->stretch.begin_epoch)
        return 0;
    if (event->kind == HISTORY_SEEK)
        to = history_word(event->words);
    else if (event->kind == HISTORY_WEIGHTS && /* the same change nothing */
             memcmp(event->words, walk->words, size) != 0)
        period = history_period(walk, event->words);
    if (to < walk->stage || (event->kind != HISTORY_SEEK && period == 0) ||
        !history_count(walk, to) || !history_count(walk, event->step))
        return 0;
    if (period != 0)
        history_leave(walk, event, period);
    return 1;
}

/* Takes a source's sampler over so many turns. */
static inline int history_move(statesampler *s, uint64_t turns)
{
    const uint64_t left = statesampler_num_steps(s) - statesampler_step(s);
    uint64_t steps;

    if (turns <= left)
        return statesampler_seek(s, statesampler_step(s) + turns);
    turns -= left + 1;
    statesampler_begin(s, statesampler_epoch(s) + 1);
    steps = statesampler_num_steps(s);
    statesampler_begin(s, statesampler_epoch(s) + turns / steps);
    return statesampler_seek(s, turns % steps + 1);
}

/* Takes the mix to the beginning of the stage, if it was left behind. That is
   where its samplers are, and it begins a sequence, with whatever weights. */
static inline int history_mix_settle(history_mix_walk *walk)
{
    statesampler_mix *mix = &walk->mix;
    uint32_t i;
    int code = STATESAMPLER_OK;

    if (!walk->behind)
        return STATESAMPLER_OK;
    for (i = 0; i < mix->num_sources && code == STATESAMPLER_OK; i++)
        code = history_move(&walk->sources[i].sampler, walk->weights[i]);
    mix->turn = walk->stage;
    walk->sources->in_mix.weight = 0; /* which no weight is */
    history_set_weights(walk->weights, walk->words, mix->num_sources);
    if (code == STATESAMPLER_OK)
        code = statesampler_mix_weigh(mix, walk->weights);
    history_set_stage(walk, code == STATESAMPLER_OK ? HISTORY_WEIGHTS : 0,
                      walk->words);
    return code;
}

/* Makes the sampler of a source that was left behind, at a turn. At the stage's
   beginning none is counted: what is counted stays that of its end. */
static inline int history_move_to(history_mix_walk *walk, statesampler *s,
                                  uint32_t source, uint64_t turn)
{
    uint64_t turns = walk->weights[source];

    if (turn != walk->stage) {
        if (!history_count(walk, turn))
            return 0;
        turns += history_number(history_turns(walk), source);
    }
    *s = walk->sources[source].sampler;
    return history_move(s, turns) == STATESAMPLER_OK;
}

/* A source at the stretch's beginning and at its end, if the mix was left
   behind in that epoch: else 0. */
static inline int history_mix_span(history_mix_walk *walk, uint64_t epoch,
                                   uint32_t source, statesampler *first,
                                   statesampler *last)
{
    const history_stretch *stretch = &walk->stretch;

    if (!walk->behind || walk->epoch != epoch ||
        stretch->begin_epoch != epoch || stretch->end_epoch != epoch)
        return 0;
    return history_move_to(walk, first, source, stretch->begin_step) &&
           history_move_to(walk, last, source, stretch->end_step);
}

/* Does to the mix what an event says. */
static inline int history_mix_apply(history_mix_walk *walk,
                                    const history_event *event)
{
    statesampler_mix *mix = &walk->mix;
    const size_t size = statesampler_mix_state_bytes(mix);
    const uint64_t epoch = walk->epoch;
    int code;

    switch (event->kind) {
    case HISTORY_SEEK:
        return statesampler_mix_seek(mix, history_word(event->words));
    case HISTORY_EPOCH:
        walk->epoch = history_word(event->words);
        return history_mix_start(mix, event->words + 8);
    case HISTORY_RANKS:
        return statesampler_mix_reshape(mix, 0,
                                        (uint32_t)history_word(event->words));
    case HISTORY_WEIGHTS:
        history_set_weights(walk->weights, event->words, mix->num_sources);
        return statesampler_mix_weigh(mix, walk->weights);
    case HISTORY_SHAPE:
        code = statesampler_mix_save(mix, walk->state, size);
        if (code == STATESAMPLER_OK)
            code = history_mix_make(walk, walk->state, size, event->words);
        walk->epoch = epoch;
        return code;
    default:
        return HISTORY_EEVENT;
    }
}

/* Takes the mix to a place of its stretch, or of a later one in which nothing
   was done before it. */
static inline int history_mix_go(history_mix_walk *walk, uint64_t epoch,
                                 uint64_t turn)
{
    statesampler_mix *mix = &walk->mix;
    uint32_t i;
    int code = STATESAMPLER_OK;

    if (epoch != walk->epoch) {
        for (i = 0; i < mix->num_sources; i++)
            walk->sources[i].weight = walk->sources[i].in_mix.weight;
        code = recall_epoch(mix, walk->state, epoch - walk->epoch);
        walk->epoch = epoch;
    }
    return code != STATESAMPLER_OK ? code : statesampler_mix_seek(mix, turn);
}

/* Before the first stretch of the run that has come to this epoch and turn. */
static inline void history_mix_open(history_mix_walk *walk,
                                    const history_log *log, uint64_t epoch,
                                    uint64_t turn, statesampler_source *sources,
                                    uint32_t *weights, unsigned char *state)
{
    history_start(&walk->stretch, log, epoch, turn);
    walk->sources = sources;
    walk->weights = weights;
    walk->state = state;
}

/* As history_next, where the mix is in the stretch. */
static inline int history_mix_next_on(history_mix_walk *walk)
{
    history_stretch *stretch = &walk->stretch;
    const history_log *log = &stretch->log;
    size_t at = stretch->at;
    history_event event;
    int code;

    if (at != 0 && stretch->kind == 0)
        return 0;
    if (at == 0)
        at = 16 + history_state_bytes(log);
    event = history_event_at(log, at);
    if (stretch->at != 0 && history_mix_passes(walk, &event)) {
        stretch->at = at + event.size;
        code = history_begin_at(stretch, walk->epoch,
                                event.kind == HISTORY_SEEK
                                    ? history_word(event.words)
                                    : event.step);
        return code == STATESAMPLER_OK ? 1 : code;
    }
    if (stretch->at == 0) {
        code = history_mix_make(walk, log->bytes + 16, history_state_bytes(log),
                                event.words);
    } else {
        code = history_mix_settle(walk);
        if (code == STATESAMPLER_OK)
            code = history_mix_go(walk, event.epoch, event.step);
        if (code == STATESAMPLER_OK)
            code = history_mix_apply(walk, &event);
    }
    stretch->at = at + event.size;
    history_set_stage(walk, code == STATESAMPLER_OK ? event.kind : 0,
                      event.words);
    if (code == STATESAMPLER_OK)
        code = history_begin_at(stretch, walk->epoch,
                                statesampler_mix_turn(&walk->mix));
    return code == STATESAMPLER_OK ? 1 : code;
}

/* Takes the mix to the stretch if it was left behind, and back to the stretch's
   beginning if it is in a later epoch. */
static inline int history_mix_again(history_mix_walk *walk)
{
    const size_t at = walk->stretch.at, after = walk->stretch.after;
    int code = 1;

    if (walk->epoch == walk->stretch.begin_epoch)
        return history_mix_settle(walk);
    walk->stretch.at = walk->stretch.after = 0;
    while (code == 1 && walk->stretch.at != at) /* ends where it was */
        code = history_mix_next_on(walk);
    /* Also where a history is forged: so that the walk comes to its end. */
    walk->stretch.at = at;
    walk->stretch.after = after;
    return code == 1 ? history_mix_settle(walk) : code;
}

/* As history_next. A question may have taken the mix past the stretch. */
static inline int history_mix_next(history_mix_walk *walk)
{
    const history_stretch *stretch = &walk->stretch;
    int code = STATESAMPLER_OK;

    if (stretch->at != 0 && history_earlier(stretch->end_epoch, walk->epoch))
        code = history_mix_again(walk);
    return code == STATESAMPLER_OK ? history_mix_next_on(walk) : code;
}

/* A rank's samples in a turn that the stretch has served, as mix_at gives
   them. */
static inline int history_mix_at(history_mix_walk *walk, uint32_t rank,
                                 uint64_t epoch, uint64_t turn, uint64_t *out,
                                 size_t *count, uint32_t *source)
{
    int code = history_mix_settle(walk);

    if (code == STATESAMPLER_OK && epoch != walk->epoch)
        code = history_mix_again(walk);
    if (code == STATESAMPLER_OK && epoch != walk->epoch)
        code = history_mix_go(walk, epoch, 0);
    if (code == STATESAMPLER_OK)
        code = statesampler_mix_reshape(
            &walk->mix, rank, walk->sources->sampler.run.shape.world_size);
    return code != STATESAMPLER_OK
               ? code
               : statesampler_mix_at(&walk->mix, turn, out, count, source);
}

/* Whether the walk's state of a source, and another one, are of one place. With
   CARRY a mix's load moves the base, byte 80 and on, which changes no order: so
   that may differ, but not the step. */
static inline int history_same_place(const statesampler *s, const void *own,
                                     const void *other)
{
    statesampler_place place = {0, 0, 0, 0};
    statesampler_desc desc;

    (void)statesampler_describe(other, STATESAMPLER_STATE_BYTES, &desc, &place);
    return memcmp(own, other, 80) == 0 && statesampler_step(s) == place.step;
}

/* With ALL a mix passes over the places of a sequence that nobody takes. So
   another place is as good as the mix's own if it comes after the last turn,
   and not after the next one. The walk's mix is moved, and goes back. */
static inline int history_same_next(history_mix_walk *walk, uint64_t other)
{
    statesampler_mix *mix = &walk->mix;
    const uint64_t turn = statesampler_mix_turn(mix);
    uint64_t after; /* the last turn */

    if (turn == statesampler_mix_num_turns(mix))
        return 1;
    (void)statesampler_mix_seek(mix, turn);
    after = mix->tick;
    (void)statesampler_mix_next(mix, NULL, NULL, NULL);
    if (other < after || other >= mix->tick)
        return 0;
    return statesampler_mix_seek(mix, turn) == STATESAMPLER_OK;
}

/* Whether the walk's state, and another one with the same turn and number of
   sources, are of one place. The mix's epoch may differ, as a walk's mix counts
   its epochs from 0. The places in the sequence, bytes 32 to 39, may be whole
   periods apart, as weights that are the same begin no sequence. */
static inline int history_mix_same_place(history_mix_walk *walk,
                                         const unsigned char *other)
{
    const unsigned char *own = walk->state;
    const uint64_t apart = history_word(own + 32) - history_word(other + 32);
    uint64_t period = 0;
    uint32_t i, weight, its;

    for (i = 0; i < walk->mix.num_sources; i++) {
        const unsigned char *one =
            (const unsigned char *)statesampler_mix_source_in(own, i, &weight);
        const unsigned char *two =
            (const unsigned char *)statesampler_mix_source_in(other, i, &its);

        /* The byte before is of flags: whether it has ended an epoch. */
        if (weight != its || one[-4] != two[-4] ||
            !history_same_place(&walk->sources[i].sampler, one, two))
            return 0;
        if (weight != STATESAMPLER_OFF)
            period += weight;
    }
    if (own[12] != other[12]) /* the stop rule */
        return 0;
    if (own[12] == STATESAMPLER_STOP_ALL)
        return history_same_next(walk, history_word(other + 32));
    if (period == 0)
        return 1;
    return (int64_t)apart % (int64_t)period == 0;
}

/* The first turn that the stretch has in one of its epochs of the mix. */
static inline uint64_t history_mix_begins(const history_mix_walk *walk,
                                          uint64_t epoch)
{
    const history_stretch *stretch = &walk->stretch;

    return epoch == stretch->begin_epoch ? stretch->begin_step : 0;
}

/* Takes the mix there. */
static inline int history_mix_enter(history_mix_walk *walk, uint64_t epoch)
{
    const int code = history_mix_again(walk);

    if (code != STATESAMPLER_OK)
        return code;
    return history_mix_go(walk, epoch, history_mix_begins(walk, epoch));
}

/* Where the stretch ends in the epoch in which the mix is. */
static inline uint64_t history_mix_end(const history_mix_walk *walk)
{
    return walk->epoch == walk->stretch.end_epoch
               ? walk->stretch.end_step
               : statesampler_mix_num_turns(&walk->mix);
}

/* The epochs of its own, from the first to the last, in which a source is while
   the stretch is in an epoch of the mix, which it has. */
static inline int history_mix_epochs(history_mix_walk *walk, uint64_t epoch,
                                     uint32_t source, uint64_t *first,
                                     uint64_t *last)
{
    const statesampler *s = &walk->sources[source].sampler;
    statesampler begin, end;
    int code;

    if (source >= walk->mix.num_sources)
        return STATESAMPLER_ERANGE_SOURCE;
    if (history_mix_span(walk, epoch, source, &begin, &end)) {
        *first = statesampler_epoch(&begin);
        *last = statesampler_epoch(&end);
        return STATESAMPLER_OK;
    }
    code = history_mix_enter(walk, epoch);
    if (code != STATESAMPLER_OK)
        return code;
    *first = statesampler_epoch(s);
    code = statesampler_mix_seek(&walk->mix, history_mix_end(walk));
    *last = statesampler_epoch(s);
    return code;
}

/* Whether a source has come to a step of an epoch of its own. */
static inline int history_has_come(const statesampler *s, uint64_t epoch,
                                   uint64_t step)
{
    if (statesampler_epoch(s) == epoch)
        return statesampler_step(s) >= step;
    return history_earlier(epoch, statesampler_epoch(s));
}

/* Takes the mix to the first turn of the stretch, in this epoch of the mix, at
   which the source has come to this step of its own epoch. Returns 0 if there
   is none. The search halves what is left. */
static inline int history_mix_go_to(history_mix_walk *walk, uint64_t epoch,
                                    uint32_t source, uint64_t own_epoch,
                                    uint64_t step)
{
    const statesampler *s = &walk->sources[source].sampler;
    statesampler_mix *mix = &walk->mix;
    uint64_t low, high;

    if (history_mix_enter(walk, epoch) != STATESAMPLER_OK)
        return 0;
    low = statesampler_mix_turn(mix);
    high = history_has_come(s, own_epoch, step) ? low : history_mix_end(walk);
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;

        if (statesampler_mix_seek(mix, middle) != STATESAMPLER_OK)
            return 0;
        if (history_has_come(s, own_epoch, step))
            high = middle;
        else
            low = middle + 1;
    }
    return statesampler_mix_seek(mix, low) == STATESAMPLER_OK &&
           history_has_come(s, own_epoch, step);
}

/* Finds a source's sample as padding in its present epoch, to whose first turn
   in the stretch history_mix_go_to has led. */
static inline int history_mix_find_padding(history_mix_walk *walk,
                                           uint64_t epoch, uint32_t source,
                                           uint64_t index, uint64_t *turn,
                                           statesampler_place *place)
{
    const statesampler *s = &walk->sources[source].sampler;
    const statesampler own = *s;
    const uint64_t own_epoch = statesampler_epoch(s);
    uint64_t first = 0, end = STATESAMPLER_NONE;
    int code;

    if (statesampler_mix_turn(&walk->mix) == history_mix_begins(walk, epoch))
        first = statesampler_position(s);
    code = statesampler_mix_seek(&walk->mix, history_mix_end(walk));
    if (statesampler_epoch(s) == own_epoch)
        end = statesampler_position(s);
    if (code == STATESAMPLER_OK)
        code = history_find_padding(&own, index, first, end, place);
    if (code != STATESAMPLER_OK)
        return code;
    if (!history_mix_go_to(walk, epoch, source, own_epoch, place->step + 1))
        return STATESAMPLER_ERANGE_SERVED;
    *turn = statesampler_mix_turn(&walk->mix) - 1;
    return STATESAMPLER_OK;
}

/* Whether a source has not served a sample, in an epoch of its own, from the
   place where `own` has its sampler up to that of another one. */
static inline int history_misses(history_walk *own, const statesampler *last,
                                 uint64_t epoch, uint64_t index)
{
    statesampler_place place;
    int code;

    own->stretch.log.carry = own->sampler.run.tail == STATESAMPLER_TAIL_CARRY;
    own->stretch.begin_epoch = statesampler_epoch(&own->sampler);
    own->stretch.begin_step = statesampler_step(&own->sampler);
    own->stretch.end_epoch = statesampler_epoch(last);
    own->stretch.end_step = statesampler_step(last);
    code = history_locate(own, epoch, index, &place);
    return code != STATESAMPLER_OK && code != STATESAMPLER_EINVAL_REPLACEMENT;
}

/* The turn and the place at which the stretch has served a source's sample, in
   an epoch of the mix and in one of the source: as mix_locate, and as padding,
   as history_locate. ERANGE: it was not served. */
static inline int history_mix_locate(history_mix_walk *walk, uint64_t epoch,
                                     uint32_t source, uint64_t own_epoch,
                                     uint64_t index, uint64_t *turn,
                                     statesampler_place *place)
{
    statesampler *s = &walk->sources[source].sampler;
    history_walk own;
    statesampler last;
    statesampler_place found;
    uint64_t when = 0;
    int code = STATESAMPLER_OK;

    if (source >= walk->mix.num_sources)
        return STATESAMPLER_ERANGE_SOURCE;
    if (history_mix_span(walk, epoch, source, &own.sampler, &last) &&
        history_misses(&own, &last, own_epoch, index))
        return STATESAMPLER_ERANGE_SERVED;
    if (!history_mix_go_to(walk, epoch, source, own_epoch, 0))
        return STATESAMPLER_ERANGE_DROPPED;
    if (s->run.tail == STATESAMPLER_TAIL_CARRY)
        code = history_set_epoch(s, own_epoch);
    else if (statesampler_epoch(s) != own_epoch)
        return STATESAMPLER_ERANGE_DROPPED;
    if (code == STATESAMPLER_OK)
        code =
            statesampler_mix_locate(&walk->mix, source, index, &when, &found);
    if (code == STATESAMPLER_OK && !history_served(&walk->stretch, epoch, when))
        code = STATESAMPLER_ERANGE_SERVED;
    if (code != STATESAMPLER_OK && s->run.tail == STATESAMPLER_TAIL_PAD)
        code =
            history_mix_find_padding(walk, epoch, source, index, &when, &found);
    if (code == STATESAMPLER_OK) {
        *turn = when;
        *place = found;
    }
    return code;
}

/* As history_ends_in; questions may have moved the walk in its stretch. */
static inline int history_mix_ends_in(history_mix_walk *walk, const void *state,
                                      size_t size)
{
    const history_stretch *stretch = &walk->stretch;
    int code = history_mix_again(walk);

    if (code == STATESAMPLER_OK)
        code = history_mix_go(walk, stretch->end_epoch, stretch->end_step);
    if (code == STATESAMPLER_OK)
        code = statesampler_mix_save(&walk->mix, walk->state, size);
    if (code != STATESAMPLER_OK ||
        !history_mix_same_place(walk, (const unsigned char *)state))
        return HISTORY_EOTHER;
    return STATESAMPLER_OK;
}

/* As history_check_end. */
static inline int history_mix_check_end(history_mix_walk *walk,
                                        const void *state, size_t size)
{
    int code;

    do { /* each stretch has an event of its own */
        code = history_mix_next(walk);
    } while (code == 1 && walk->stretch.kind != 0);
    return code == 1 ? history_mix_ends_in(walk, state, size) : code;
}

/* Whether the sources of two mixes, as many, differ in shape. */
static inline int history_mix_differs(const statesampler_mix *a,
                                      const statesampler_mix *b)
{
    uint32_t i, differ = 0;

    for (i = 0; i < a->num_sources; i++)
        differ |= a->sources[i].sampler.run.shape.world_size !=
                      b->sources[i].sampler.run.shape.world_size ||
                  history_batch(&a->sources[i].sampler) !=
                      history_batch(&b->sources[i].sampler);
    return (int)differ;
}

/* As history_load. The last arguments are memory, as for history_mix_open.
   ERANGE_FAR: with CARRY, a source has come 2^62 samples from where the history
   began, over loads: begin a new one. */
static inline int history_mix_load(history *h, statesampler_mix *mix,
                                   const void *saved, size_t saved_size,
                                   const void *state, size_t size,
                                   statesampler_source *sources,
                                   uint32_t *weights, unsigned char *scratch)
{
    statesampler_mix_place place;
    history_mix_walk walk;
    history_log log = h->log;
    size_t event = 0;
    int differs = 0;
    int code = statesampler_mix_describe(state, size, 0, NULL, &place);

    if (code == STATESAMPLER_OK && (place.num_sources != mix->num_sources ||
                                    log.num_sources != mix->num_sources))
        code = STATESAMPLER_EMISMATCH_SOURCES;
    if (code != STATESAMPLER_OK)
        return code;
    log.bytes = (const unsigned char *)saved;
    log.size = saved_size < 8 ? 0 : saved_size - 8;
    history_mix_open(&walk, &log, place.epoch, place.turn, sources, weights,
                     scratch);
    code = history_check_bytes(&log);
    if (code == STATESAMPLER_OK)
        code = history_mix_check_end(&walk, state, size);
    if (code == STATESAMPLER_OK) {
        differs = history_mix_differs(&walk.mix, mix);
        if (differs)
            event = 32 + 8 * (size_t)log.num_sources;
        if (log.size + event + 8 > h->capacity)
            code = HISTORY_EFULL;
    }
    if (code == STATESAMPLER_OK)
        code = statesampler_mix_load(mix, state, size);
    if (code != STATESAMPLER_OK)
        return code;
    history_become(h, &walk.stretch);
    if (differs) {
        history_mix_note_shape(h, mix);
        history_mix_led_to(h, mix);
    }
    return STATESAMPLER_OK;
}

STATESAMPLER_WRAP_END

#endif

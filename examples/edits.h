/* edits.h - which id stands at a position, when ids are put in and taken out
   in the middle of an epoch. For edit.c, and to be copied.

   A stack of edits: the first puts in all ids there are. Each says what stands
   at the positions from its own on, in terms of the edit below it; what was
   served before it stays as it was. The sampler has the order SEQUENTIAL and
   the partition INTERLEAVED, and is resized by each edit. No pointers: save
   the stack beside the sampler's state. */
#ifndef EDITS_H
#define EDITS_H

#include <string.h>

typedef struct edit {
    uint64_t position; /* where it was made */
    uint64_t length;   /* of the epoch from then on */
    uint64_t first, added;     /* ids put in: first, first + 1, ... */
    uint64_t removed, out[64]; /* or ids taken out */
} edit;

typedef struct edits {
    uint64_t seed, epoch, count, ids; /* ids: those that were ever put in */
    edit edit[8];
} edits;

/* The number of an id in the list of those taken out, or how many they are.
   (If they are many, keep the list sorted and halve it.) */
static inline uint64_t edit_find(const edit *e, uint64_t id)
{
    uint64_t i = 0;

    while (i < e->removed && e->out[i] != id) {
        i++;
    }
    return i;
}

static inline int edits_is_out(const edits *all, uint64_t id)
{
    uint64_t k, out = 0;

    for (k = 0; k < all->count; k++) {
        out += edit_find(&all->edit[k], id) < all->edit[k].removed;
    }
    return out > 0;
}

/* How edit k shuffles the ids it puts in with those not served by then. */
static inline statesampler_perm edits_perm(const edits *all, uint64_t k)
{
    const edit *e = &all->edit[k];
    statesampler_perm perm;

    statesampler_perm_init(&perm, e->length - e->position, all->seed,
                           all->epoch, k);
    return perm;
}

/* The id at a position, after edit k. Where an id is out, there stands what
   was behind the new end, at that id's number in the list. No two ids have the
   same number, so that the walk meets nothing twice, and ends. */
static inline uint64_t edit_id(const edits *all, uint64_t k, uint64_t p)
{
    const edit *e = &all->edit[k];
    uint64_t old = e->length - e->added, id, i;
    statesampler_perm perm;

    if (p < e->position) {
        return edit_id(all, k - 1, p);
    }
    if (e->added > 0) {
        perm = edits_perm(all, k);
        p = e->position + statesampler_perm_at(&perm, p - e->position);
        return p < old ? edit_id(all, k - 1, p) : e->first + (p - old);
    }
    while ((i = edit_find(e, id = edit_id(all, k - 1, p))) < e->removed) {
        p = e->length + i;
    }
    return id;
}

/* The position of an id that is not out: the same walk backwards. */
static inline uint64_t edit_position(const edits *all, uint64_t k,
                                     uint64_t id)
{
    const edit *e = &all->edit[k];
    uint64_t p;
    statesampler_perm perm;

    p = e->added > 0 && id >= e->first
            ? e->length - e->added + (id - e->first)
            : edit_position(all, k - 1, id);
    if (e->added > 0 && p >= e->position) {
        perm = edits_perm(all, k);
        p = e->position + statesampler_perm_inverse(&perm, p - e->position);
    }
    while (p >= e->length) {
        p = edit_position(all, k - 1, e->out[p - e->length]);
    }
    return p;
}

/* The id at a position; and, if the id is not out, the position of an id. */
static inline uint64_t edits_id(const edits *all, uint64_t position)
{
    return edit_id(all, all->count - 1, position);
}

static inline uint64_t edits_position(const edits *all, uint64_t id)
{
    return edit_position(all, all->count - 1, id);
}

/* Makes an edit at the present position: puts in so many new ids, or takes out
   those of this list that are in and stand at positions not yet served. (For
   both, make two edits.) ECAPACITY: no place for the edit or the list;
   EINVAL_RESIZE: both at once; nothing is changed. */
static inline int edits_make(edits *all, statesampler *s, uint64_t added,
                             const uint64_t *out, uint64_t count)
{
    edit *e = &all->edit[all->count];
    uint64_t i;

    if (all->count == sizeof all->edit / sizeof *e ||
        count > sizeof e->out / sizeof *e->out) {
        return STATESAMPLER_ECAPACITY;
    }
    if (added > 0 && count > 0) {
        return STATESAMPLER_EINVAL;
    }
    memset(e, 0, sizeof *e);
    e->position = statesampler_position(s);
    e->first = all->ids;
    e->added = added;
    for (i = 0; i < count; i++) {
        if (out[i] < all->ids && !edits_is_out(all, out[i]) &&
            edit_find(e, out[i]) == e->removed &&
            edits_position(all, out[i]) >= e->position) {
            e->out[e->removed++] = out[i];
        }
    }
    e->length = (all->count > 0 ? e[-1].length : 0) + added - e->removed;
    all->ids += added;
    all->count++;
    return statesampler_resize(s, e->length);
}

/* The id, if it can be read, or a good one in its place: the next one on its
   cycle of a permutation, and if there is none, on that of another. It is the
   same on every rank and after any kill. Ends if some id in the stack is
   good. */
static inline uint64_t edits_spare(const edits *all, uint64_t wanted,
                                   int (*is_readable)(uint64_t id))
{
    uint64_t id = wanted, stream;
    statesampler_perm perm;

    /* 100 and more are the streams of no edit. */
    for (stream = 100; id == wanted && !is_readable(id); stream++) {
        statesampler_perm_init(&perm, all->ids, all->seed, all->epoch, stream);
        do {
            id = statesampler_perm_at(&perm, id);
        } while (id != wanted && (!is_readable(id) || edits_is_out(all, id)));
    }
    return id;
}

#endif

/* edits.h - maps positions to ids when ids are added and removed in the middle
   of an epoch. Used by edit.c; copy it if you like.

   Edits form a stack. The first adds all initial ids. Each edit changes the
   positions that were not served yet, in terms of the edit below it. The
   sampler has the order SEQUENTIAL and the partition INTERLEAVED, and each edit
   resizes it. The stack has no pointers: save it with the sampler's state. It
   is that of one epoch: begin the next with a new one. */
#ifndef EDITS_H
#define EDITS_H

#include <string.h>

typedef struct edit {
    uint64_t position; /* where it was made */
    uint64_t length;   /* of the epoch from then on */
    uint64_t first, added;     /* added ids: first, first + 1, ... */
    uint64_t removed, out[64]; /* or removed ids */
} edit;

typedef struct edits {
    uint64_t seed, epoch, count;
    uint64_t ids; /* that were ever added: 2^62 at most */
    edit made[8]; /* `count` of them */
} edits;

/* The number of an id in the list of removed ids, or the length of the list.
   (For a long list, sort it and search by halves.) */
static inline uint64_t edit_find(const edit *e, uint64_t id)
{
    uint64_t i = 0;

    while (i < e->removed && e->out[i] != id)
        i++;
    return i;
}

static inline int edits_is_out(const edits *all, uint64_t id)
{
    uint64_t k, out = 0;

    for (k = 0; k < all->count; k++)
        out += edit_find(&all->made[k], id) < all->made[k].removed;
    return out > 0;
}

/* How edit k, counted from 1, shuffles its new ids with those that were not
   served yet. */
static inline statesampler_perm edits_perm(const edits *all, uint64_t k)
{
    const edit *e = &all->made[k - 1];
    statesampler_perm perm;

    statesampler_perm_init(&perm, e->length - e->position, all->seed,
                           all->epoch, k - 1);
    return perm;
}

/* The id at a position, after the first k edits: all->count for now. A removed
   id is replaced by what is behind the new end, at the id's number in the list.
   The walk ends, as no two ids have the same number. */
static inline uint64_t edits_id(const edits *all, uint64_t k, uint64_t p)
{
    const edit *e = &all->made[k - 1];
    uint64_t old = e->length - e->added, id, i;
    statesampler_perm perm;

    if (p < e->position)
        return edits_id(all, k - 1, p);
    if (e->added > 0) {
        perm = edits_perm(all, k);
        p = e->position + statesampler_perm_at(&perm, p - e->position);
        return p < old ? edits_id(all, k - 1, p) : e->first + (p - old);
    }
    while ((i = edit_find(e, id = edits_id(all, k - 1, p))) < e->removed)
        p = e->length + i;
    return id;
}

/* The position of an id that was not removed: the same walk backwards. */
static inline uint64_t edits_position(const edits *all, uint64_t k, uint64_t id)
{
    const edit *e = &all->made[k - 1];
    uint64_t p;
    statesampler_perm perm;

    p = e->added > 0 && id >= e->first
            ? e->length - e->added + (id - e->first)
            : edits_position(all, k - 1, id);
    if (e->added > 0 && p >= e->position) {
        perm = edits_perm(all, k);
        p = e->position + statesampler_perm_inverse(&perm, p - e->position);
    }
    while (p >= e->length)
        p = edits_position(all, k - 1, e->out[p - e->length]);
    return p;
}

/* Makes an edit at the current position: adds this many new ids, or removes the
   ids of this list that were not served yet. (For both, make two edits.)
   ECAPACITY: too many edits, or removed ids. EINVAL: both at once, more than
   2^62 ids, the last edit was made further on, or what statesampler_resize
   says. Nothing is changed then. */
static inline int edits_make(edits *all, statesampler *s, uint64_t added,
                             const uint64_t *out, uint64_t count)
{
    edit e;
    const edit *last;
    uint64_t i, before = 0;
    int code;

    memset(&e, 0, sizeof e);
    e.position = statesampler_position(s);
    if (all->count >= sizeof all->made / sizeof e ||
        count > sizeof e.out / sizeof *e.out)
        return STATESAMPLER_ECAPACITY;
    if ((added > 0 && count > 0) ||
        added > STATESAMPLER_MAX_SAMPLES - all->ids)
        return STATESAMPLER_EINVAL;
    if (all->count > 0) {
        last = &all->made[all->count - 1];
        if (e.position < last->position)
            return STATESAMPLER_EINVAL;
        before = last->length;
    }
    /* Padding at an epoch's end serves nothing that is behind it. */
    if (e.position > before)
        e.position = before;
    e.first = all->ids;
    e.added = added;
    for (i = 0; i < count; i++)
        if (out[i] < all->ids && !edits_is_out(all, out[i]) &&
            edit_find(&e, out[i]) == e.removed &&
            edits_position(all, all->count, out[i]) >= e.position)
            e.out[e.removed++] = out[i];
    e.length = before + added - e.removed;
    code = statesampler_resize(s, e.length);
    if (code == STATESAMPLER_OK) {
        all->ids += added;
        all->made[all->count++] = e;
    }
    return code;
}

/* The id if it can be read; else the next one, in a shuffled order of all ids,
   that can be read and was not removed; STATESAMPLER_NONE if there is none. It
   is the same on every rank and after any kill. Asks each id once at most. */
static inline uint64_t edits_spare(const edits *all, uint64_t wanted,
                                   int (*is_readable)(uint64_t id))
{
    statesampler_perm perm;
    uint64_t place, id, left;

    if (is_readable(wanted))
        return wanted;
    if (wanted >= all->ids)
        return STATESAMPLER_NONE;
    /* Edits have streams below 100. */
    statesampler_perm_init(&perm, all->ids, all->seed, all->epoch, 100);
    place = statesampler_perm_inverse(&perm, wanted);
    for (left = all->ids - 1; left > 0; left--) {
        place = place + 1 < all->ids ? place + 1 : 0;
        id = statesampler_perm_at(&perm, place);
        if (is_readable(id) && !edits_is_out(all, id))
            return id;
    }
    return STATESAMPLER_NONE;
}

#endif

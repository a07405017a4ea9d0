/* edits.h - maps positions to ids when ids are added and removed in the middle
   of an epoch. Used by edit.c; copy it if you like.

   Edits form a stack. The first adds all initial ids. Each edit changes the
   positions that were not served yet, in terms of the edit below it. The
   sampler has the order SEQUENTIAL and the partition INTERLEAVED, and each edit
   resizes it. The stack has no pointers: save it with the sampler's state. */
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
    uint64_t seed, epoch, count, ids; /* ids: all that were ever added */
    edit edit[8];
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
        out += edit_find(&all->edit[k], id) < all->edit[k].removed;
    return out > 0;
}

/* How edit k, counted from 1, shuffles its new ids with those that were not
   served yet. */
static inline statesampler_perm edits_perm(const edits *all, uint64_t k)
{
    const edit *e = &all->edit[k - 1];
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
    const edit *e = &all->edit[k - 1];
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
    const edit *e = &all->edit[k - 1];
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
   ECAPACITY: too many edits or ids. EINVAL: both at once, or what
   statesampler_resize says. Nothing is changed then. */
static inline int edits_make(edits *all, statesampler *s, uint64_t added,
                             const uint64_t *out, uint64_t count)
{
    edit *e = &all->edit[all->count];
    uint64_t i;
    int code;

    if (all->count == sizeof all->edit / sizeof *e ||
        count > sizeof e->out / sizeof *e->out)
        return STATESAMPLER_ECAPACITY;
    if (added > 0 && count > 0)
        return STATESAMPLER_EINVAL;
    memset(e, 0, sizeof *e);
    e->position = statesampler_position(s);
    e->first = all->ids;
    e->added = added;
    for (i = 0; i < count; i++)
        if (out[i] < all->ids && !edits_is_out(all, out[i]) &&
            edit_find(e, out[i]) == e->removed &&
            edits_position(all, all->count, out[i]) >= e->position)
            e->out[e->removed++] = out[i];
    e->length = (all->count > 0 ? e[-1].length : 0) + added - e->removed;
    code = statesampler_resize(s, e->length);
    if (code == STATESAMPLER_OK) {
        all->ids += added;
        all->count++;
    }
    return code;
}

/* The id if it can be read, else a readable one in its place: the next on its
   cycle in a permutation or, if there is none, in another permutation. It is
   the same on every rank and after any kill. Ends if any id is readable. */
static inline uint64_t edits_spare(const edits *all, uint64_t wanted,
                                   int (*is_readable)(uint64_t id))
{
    uint64_t id = wanted, stream;
    statesampler_perm perm;

    /* Edits have streams below 100. */
    for (stream = 100; id == wanted && !is_readable(id); stream++) {
        statesampler_perm_init(&perm, all->ids, all->seed, all->epoch, stream);
        do {
            id = statesampler_perm_at(&perm, id);
        } while (id != wanted && (!is_readable(id) || edits_is_out(all, id)));
    }
    return id;
}

#endif

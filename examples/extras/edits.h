/* edits.h - maps positions to ids when ids are added and removed in the middle
   of an epoch. Used by edit.c; copy it if you like.

   Edits form a stack. The first adds all initial ids. Each edit changes the
   positions that were not served yet, in terms of the edit below it. The
   sampler has the order SEQUENTIAL and the partition INTERLEAVED, and each edit
   resizes it. Save the stack with the sampler's state. It is that of one epoch:
   begin the next with a new one.

   The memory is yours. Its size says how many edits there may be, up to 100,
   and how many ids they may remove. */
#ifndef EDITS_H
#define EDITS_H

#include <string.h>

STATESAMPLER_WRAP_BEGIN

/* Errors, beside those of statesampler.h. */
#define EDITS_EBOTH (-1701)
#define EDITS_EIDS (-1702)
#define EDITS_EBACK (-1703)

typedef struct edit {
    uint64_t position;       /* where it was made */
    uint64_t length;         /* of the epoch from then on */
    uint64_t first, added;   /* added ids: first, first + 1, ... */
    uint64_t begin, removed; /* or removed ids: out[begin], ... */
} edit;

/* A removed id. Beside it, so that ids are found by halving, is a number: the
   first of an edit has that of the edit's smallest id, and so on. */
typedef struct edit_out {
    uint64_t id, sorted;
} edit_out;

typedef struct edits {
    uint64_t seed, epoch, count;
    uint64_t ids;     /* that were ever added: 2^62 at most */
    uint64_t num_out; /* that were removed */
    edit *made;       /* `count` of them */
    edit_out *out;    /* `num_out` of them, edit by edit */
    uint64_t max_made, max_out;
} edits;

/* The size of a state. */
#define EDITS_BYTES(count, num_out) \
    (sizeof(char[56]) + sizeof(char[40]) * (count) + \
     sizeof(char[8]) * (num_out))

static inline const char *edits_error(int code)
{
    switch (code) {
    case EDITS_EBOTH:
        return "an edit adds ids or removes them, not both";
    case EDITS_EIDS:
        return "there would be more than 2^62 ids";
    case EDITS_EBACK:
        return "the last edit is further on; begin an epoch with a new stack";
    default:
        return statesampler_error(code);
    }
}

/* Begins the stack of an epoch, in these arrays. */
static inline void edits_init(edits *all, uint64_t seed, uint64_t epoch,
                              edit *made, uint64_t max_made, edit_out *out,
                              uint64_t max_out)
{
    all->seed = seed;
    all->epoch = epoch;
    all->count = all->ids = all->num_out = 0;
    all->made = made;
    all->max_made = max_made < 100 ? max_made : 100;
    all->out = out;
    all->max_out = max_out;
}

/* --- removed ids ---------------------------------------------------------- */

/* The number of an id in an edit's list of removed ids, or the length of the
   list. Each iteration halves what is left. */
static inline uint64_t edit_find(const edits *all, const edit *e, uint64_t id)
{
    const edit_out *out = all->out + e->begin;
    uint64_t low = 0, high = e->removed;

    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;

        if (out[out[middle].sorted].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < e->removed && out[out[low].sorted].id == id)
        return out[low].sorted;
    return e->removed;
}

/* Moves a number down a heap to its place: 0 .. count - 1 have the largest id
   on top; of one id, the largest number. The path goes from a node to one of at
   least twice its index. */
static inline void edit_sift(edit_out *out, uint64_t at, uint64_t count)
{
    const uint64_t number = out[at].sorted;
    uint64_t child;

    while ((child = 2 * at + 1) < count) {
        const uint64_t left = out[child].sorted;

        if (child + 1 < count) {
            const uint64_t right = out[child + 1].sorted;

            if (out[right].id > out[left].id ||
                (out[right].id == out[left].id && right > left))
                child++;
        }
        if (out[number].id > out[out[child].sorted].id ||
            (out[number].id == out[out[child].sorted].id &&
             number > out[child].sorted))
            break;
        out[at].sorted = out[child].sorted;
        at = child;
    }
    out[at].sorted = number;
}

/* Sorts the numbers of an edit's ids (heapsort: Williams, Algorithm 232,
   1964). */
static inline void edit_sort(edit_out *out, uint64_t count)
{
    uint64_t i;

    for (i = 0; i < count; i++)
        out[i].sorted = i;
    for (i = count / 2; i > 0; i--)
        edit_sift(out, i - 1, count);
    for (i = count; i > 1; i--) {
        const uint64_t last = out[i - 1].sorted;

        out[i - 1].sorted = out[0].sorted;
        out[0].sorted = last;
        edit_sift(out, 0, i - 1);
    }
}

/* Drops ids that come a second time. Returns how many are left, in their
   order. */
static inline uint64_t edit_drop_repeats(edit_out *out, uint64_t count)
{
    const uint64_t repeated = ~(uint64_t)0;
    uint64_t i, left = 0, before = repeated;

    edit_sort(out, count);
    for (i = 0; i < count; i++) {
        edit_out *one = out + out[i].sorted;
        const uint64_t id = one->id;

        if (id == before)
            one->id = repeated;
        before = id;
    }
    for (i = 0; i < count; i++)
        if (out[i].id != repeated)
            out[left++].id = out[i].id;
    edit_sort(out, left);
    return left;
}

static inline int edits_is_out(const edits *all, uint64_t id)
{
    uint64_t k, out = 0;

    for (k = 0; k < all->count; k++)
        out += edit_find(all, &all->made[k], id) < all->made[k].removed;
    return out > 0;
}

/* --- positions and ids ---------------------------------------------------- */

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
    while ((i = edit_find(all, e, id = edits_id(all, k - 1, p))) < e->removed)
        p = e->length + i;
    return id;
}

/* The position of an id that was not removed: the same walk backwards, which
   meets each removed id once at most. */
static inline uint64_t edits_position(const edits *all, uint64_t k, uint64_t id)
{
    const edit *e = &all->made[k - 1];
    uint64_t p, left;
    statesampler_perm perm;

    p = e->added > 0 && id >= e->first ? e->length - e->added + (id - e->first)
                                       : edits_position(all, k - 1, id);
    if (e->added > 0 && p >= e->position) {
        perm = edits_perm(all, k);
        p = e->position + statesampler_perm_inverse(&perm, p - e->position);
    }
    for (left = e->removed; p >= e->length && left > 0; left--)
        p = edits_position(all, k - 1, all->out[e->begin + (p - e->length)].id);
    return p;
}

/* Makes an edit at the current position: adds this many new ids, or removes the
   ids of this list that were not served yet. (For both, make two edits.)
   ECAPACITY: too many edits, or removed ids. EBOTH: both at once. EIDS: more
   than 2^62 ids. EBACK: the last edit was made further on. Or what
   statesampler_resize says. Nothing is changed then. */
static inline int edits_make(edits *all, statesampler *s, uint64_t added,
                             const uint64_t *out, uint64_t count)
{
    edit e = {0, 0, 0, 0, 0, 0};
    uint64_t i, before = 0;
    edit_out *list;
    int code;

    if (all->count >= all->max_made || count > all->max_out - all->num_out)
        return STATESAMPLER_ECAPACITY;
    if (added > 0 && count > 0)
        return EDITS_EBOTH;
    if (added > STATESAMPLER_MAX_SAMPLES - all->ids)
        return EDITS_EIDS;
    e.position = statesampler_position(s);
    if (all->count > 0) {
        if (e.position < all->made[all->count - 1].position)
            return EDITS_EBACK;
        before = all->made[all->count - 1].length;
    }
    /* Padding at an epoch's end serves nothing that is behind it. */
    if (e.position > before)
        e.position = before;
    e.first = all->ids;
    e.added = added;
    e.begin = all->num_out;
    list = all->out + e.begin;
    for (i = 0; i < count; i++)
        if (out[i] < all->ids && !edits_is_out(all, out[i]) &&
            edits_position(all, all->count, out[i]) >= e.position)
            list[e.removed++].id = out[i];
    e.removed = edit_drop_repeats(list, e.removed);
    e.length = before + added - e.removed;
    code = statesampler_resize(s, e.length);
    if (code == STATESAMPLER_OK) {
        all->ids += added;
        all->num_out += e.removed;
        all->made[all->count++] = e;
    }
    return code;
}

/* --- states --------------------------------------------------------------- */

static inline unsigned char *edits_write(unsigned char *to, uint64_t number)
{
    int i;

    for (i = 0; i < 8; i++, number >>= 8)
        *to++ = (unsigned char)(number & 255);
    return to;
}

static inline uint64_t edits_read(const unsigned char **from)
{
    uint64_t number = 0;
    int i;

    for (i = 7; i >= 0; i--)
        number = number << 8 | (*from)[i];
    *from += 8;
    return number;
}

/* Writes the stack: EDITS_BYTES(count, num_out) bytes. ECAPACITY: size is
   smaller. */
static inline int edits_save(const edits *all, void *out, size_t size)
{
    const size_t needed = EDITS_BYTES((size_t)all->count, (size_t)all->num_out);
    unsigned char *to = (unsigned char *)out;
    uint64_t i;

    if (size < needed)
        return STATESAMPLER_ECAPACITY;
    to = edits_write(to, 0x31455353u); /* "SSE1" */
    to = edits_write(to, all->seed);
    to = edits_write(to, all->epoch);
    to = edits_write(to, all->ids);
    to = edits_write(to, all->count);
    to = edits_write(to, all->num_out);
    for (i = 0; i < all->count; i++) {
        to = edits_write(to, all->made[i].position);
        to = edits_write(to, all->made[i].length);
        to = edits_write(to, all->made[i].first);
        to = edits_write(to, all->made[i].added);
        to = edits_write(to, all->made[i].removed);
    }
    for (i = 0; i < all->num_out; i++)
        to = edits_write(to, all->out[i].id);
    (void)edits_write(to, statesampler_hash(0, out, needed - 8));
    return STATESAMPLER_OK;
}

static inline void edit_read(edit *e, const unsigned char **from)
{
    e->position = edits_read(from);
    e->length = edits_read(from);
    e->first = edits_read(from);
    e->added = edits_read(from);
    e->removed = edits_read(from);
}

/* Whether each of these edits can follow the one before it, and every id that
   it removes is one of those added until then. */
static inline int edits_follow(const edits *all, const unsigned char *from)
{
    const unsigned char *removed = from + 40 * all->count;
    uint64_t position = 0, length = 0, ids = 0, num_out = 0, i, k;
    edit e;

    for (i = 0; i < all->count; i++) {
        edit_read(&e, &from);
        if (e.position < position || e.position > length || e.first != ids ||
            e.added > STATESAMPLER_MAX_SAMPLES - ids ||
            (e.added > 0 && e.removed > 0) || e.removed > length - e.position ||
            e.removed > all->num_out - num_out ||
            e.length != length + e.added - e.removed)
            return 0;
        for (k = 0; k < e.removed; k++)
            if (edits_read(&removed) >= ids)
                return 0;
        position = e.position;
        length = e.length;
        ids += e.added;
        num_out += e.removed;
    }
    return ids == all->ids && num_out == all->num_out;
}

/* Goes on with a stack that was saved, in the arrays of this one. ECORRUPT: it
   is damaged. ECAPACITY: the arrays are too small. Nothing is changed then. */
static inline int edits_load(edits *all, const void *state, size_t size)
{
    const unsigned char *from = (const unsigned char *)state, *check;
    edits found = *all;
    uint64_t i, begin = 0;

    if (size < EDITS_BYTES(0, 0))
        return STATESAMPLER_ECORRUPT_SIZE;
    check = from + (size - 8);
    if (edits_read(&from) != 0x31455353u)
        return STATESAMPLER_ECORRUPT_MAGIC;
    if (edits_read(&check) != statesampler_hash(0, state, size - 8))
        return STATESAMPLER_ECORRUPT_CHECK;
    found.seed = edits_read(&from);
    found.epoch = edits_read(&from);
    found.ids = edits_read(&from);
    found.count = edits_read(&from);
    found.num_out = edits_read(&from);
    if (found.count > all->max_made || found.num_out > all->max_out)
        return STATESAMPLER_ECAPACITY;
    if (size != EDITS_BYTES((size_t)found.count, (size_t)found.num_out))
        return STATESAMPLER_ECORRUPT_SIZE;
    if (!edits_follow(&found, from))
        return STATESAMPLER_ECORRUPT_POSITION;
    for (i = 0; i < found.count; i++) {
        edit *e = &all->made[i];

        edit_read(e, &from);
        e->begin = begin;
        begin += e->removed;
    }
    for (i = 0; i < found.num_out; i++)
        all->out[i].id = edits_read(&from);
    for (i = 0; i < found.count; i++)
        edit_sort(all->out + all->made[i].begin, all->made[i].removed);
    *all = found;
    return STATESAMPLER_OK;
}

/* --- ids that cannot be read ---------------------------------------------- */

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
    /* Edits have streams below 100: see edits_init. */
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

STATESAMPLER_WRAP_END

#endif

/* groups.h - copies of each prompt side by side, and each generation batch used
   again, as in GRPO. Used by groups.c; copy it if you like.

   In the positions of an epoch, the first `batch` prompts of its order stand
   `copies` times each, side by side, and all this `reuse` times; then the next
   `batch` prompts. At the end, too few for that are left out. (The rule of
   huggingface/trl at f2cd5771, trl/trainer/utils.py, lines 695 to 788.)

   A run's position is its state: that of a sampler with the order SEQUENTIAL,
   the length groups_positions and world_size 1, whose batch is a step of all
   ranks. Rank r's part begins r parts after the step's first position. Give
   that sampler the order's seed and, as stream, statesampler_hash of the
   groups: it then refuses the state of others. */
#ifndef GROUPS_H
#define GROUPS_H

STATESAMPLER_WRAP_BEGIN

typedef struct groups {
    uint64_t prompts;              /* of the dataset */
    uint64_t copies, batch, reuse; /* at least 1 each */
} groups;

/* The positions of an epoch. 0: a field is 0, the prompts do not make one
   generation batch, or there are more than 2^62 positions. */
static inline uint64_t groups_positions(const groups *g)
{
    uint64_t whole;

    if (g->copies == 0 || g->batch == 0 || g->reuse == 0)
        return 0;
    whole = g->prompts - g->prompts % g->batch;
    return whole > STATESAMPLER_MAX_SAMPLES / g->copies / g->reuse
               ? 0
               : whole * g->copies * g->reuse;
}

/* The place of a position's prompt in the epoch's order. */
static inline uint64_t groups_place(const groups *g, uint64_t position)
{
    uint64_t group = position / g->copies;

    return group / g->batch / g->reuse * g->batch + group % g->batch;
}

/* groups_place of `count` positions from this one on. With a shuffle of the
   prompts groups_fill is faster. */
static inline void groups_places(const groups *g, uint64_t position,
                                 uint64_t *out, size_t count)
{
    const uint64_t end = position + count;
    uint64_t place = 0, next = position; /* where the next prompt begins */

    for (; position < end; position++) {
        if (position == next) {
            place = groups_place(g, position);
            next += g->copies - position % g->copies;
        }
        *out++ = place;
    }
}

/* The first position of the prompt at a place of the order. Of one that is left
   out, it is not below groups_positions. */
static inline uint64_t groups_first(const groups *g, uint64_t place)
{
    const uint64_t number = place / g->batch;

    return (number * (g->reuse - 1) * g->batch + place) * g->copies;
}

/* Writes a prompt to `count` positions, at least 1. Four are one store. */
static inline void groups_repeat(uint64_t prompt, uint64_t *out, uint64_t count)
{
    uint64_t i;

    if (count < 4) {
        out[0] = out[count / 2] = out[count - 1] = prompt;
        return;
    }
    out[0] = out[1] = out[2] = out[3] = prompt;
    for (i = 4; i + 4 < count; i += 4)
        out[i] = out[i + 1] = out[i + 2] = out[i + 3] = prompt;
    out += count - 4; /* again some of those before */
    out[0] = out[1] = out[2] = out[3] = prompt;
}

/* Copies the prompts out[0], ..., out[k] to `count` positions, of which the
   first is copy `first` of out[0]. It goes from the last one to the
   first, as no prompt's copies begin before its own place. */
static inline void groups_copy(uint64_t *out, uint64_t count, uint64_t k,
                               uint64_t first, const uint64_t copies)
{
    uint64_t begin = k * copies - first;

    if (k > 0) {
        groups_repeat(out[k], out + begin, count - begin);
        while (--k > 0) {
            begin -= copies;
            groups_repeat(out[k], out + begin, copies);
        }
        count = begin;
    }
    groups_repeat(out[0], out, count);
}

/* groups_fill for this many copies. Each prompt is looked up once for the
   positions that lie in one use of a generation batch. */
static inline void groups_fill_copies(const groups *g,
                                      const statesampler_perm *order,
                                      uint64_t position, uint64_t *out,
                                      size_t count, const uint64_t copies)
{
    uint64_t group, use, place, first, some, k, found;

    for (; count > 0; count -= (size_t)some, position += some, out += some) {
        group = position / copies;
        use = group / g->batch;
        place = group - use * g->batch; /* in its generation batch */
        first = position - group * copies;
        some = (g->batch - place) * copies - first;
        some = some < count ? some : count;
        k = (first + some - 1) / copies;
        place += use / g->reuse * g->batch;
        found = (k | 15) + 1; /* 16, in vectors, take less time than 3. */
        if (k < 2 || found > count || found > g->prompts - place)
            found = k + 1;
        statesampler_perm_fill(order, place, 1, out, (size_t)found);
        if (copies > 1)
            groups_copy(out, some, k, first, copies);
    }
}

/* The prompts at `count` positions from this one on, as groups_place says, in
   an order of g->prompts. */
static inline void groups_fill(const groups *g, const statesampler_perm *order,
                               uint64_t position, uint64_t *out, size_t count)
{
    if (g->copies == 2) /* A constant saves the divisions and a loop. */
        groups_fill_copies(g, order, position, out, count, 2);
    else if (g->copies == 3)
        groups_fill_copies(g, order, position, out, count, 3);
    else
        groups_fill_copies(g, order, position, out, count, g->copies);
}

STATESAMPLER_WRAP_END

#endif

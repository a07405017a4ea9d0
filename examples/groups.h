/* groups.h - copies of each prompt side by side, and each generation batch used
   again, as in GRPO. Used by groups.c; copy it if you like.

   In the positions of an epoch, the first `batch` prompts of its order stand
   `copies` times each, side by side, and all this `reuse` times; then the next
   `batch` prompts. Too few for a generation batch are left out. (The rule of
   huggingface/trl at f2cd5771, trl/trainer/utils.py, lines 695 to 788.)

   The position is the state: that of a sampler with the order SEQUENTIAL, the
   length groups_positions and world_size 1, whose batch is a step of all ranks.
   Rank r's part begins r parts after the step's first position. */
#ifndef GROUPS_H
#define GROUPS_H

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
               ? 0 : whole * g->copies * g->reuse;
}

/* The place of a position's prompt in the epoch's order. */
static inline uint64_t groups_place(const groups *g, uint64_t position)
{
    uint64_t group = position / g->copies;

    return group / g->batch / g->reuse * g->batch + group % g->batch;
}

/* The prompts of `count` positions, at least 1, that lie in one use of a
   generation batch. They are looked up once each, and then copied, the last one
   first, as the place of a prompt's copies is never before its own. Pairs, and
   a group's first and last copy, stand outside the inner loop: with few copies
   it would cost more than they do. */
static inline void groups_copy(const groups *g, const statesampler_perm *order,
                               uint64_t position, uint64_t *out, uint64_t count)
{
    const uint64_t copies = g->copies, first = position % copies;
    uint64_t k = (first + count - 1) / copies, from, prompt, i;

    statesampler_perm_fill(order, groups_place(g, position), 1, out,
                           (size_t)k + 1);
    if (copies == 1)
        return;
    if (copies == 2 && (first + count) % 2 == 0)
        for (; k > 0; k--, count -= 2)
            out[count - 1] = out[count - 2] = out[k];
    for (; k > 0; k--, count = from) {
        from = k * copies - first;
        prompt = out[k];
        out[from] = out[count - 1] = prompt;
        for (i = from + 1; i + 1 < count; i++)
            out[i] = prompt;
    }
    for (prompt = out[0]; count > 0; count--)
        out[count - 1] = prompt;
}

/* The prompts at `count` positions from this one on, as groups_place says. */
static inline void groups_fill(const groups *g, const statesampler_perm *order,
                               uint64_t position, uint64_t *out, size_t count)
{
    uint64_t use = g->batch * g->copies, some;

    for (; count > 0; count -= (size_t)some) {
        some = use - position % use;
        some = some < count ? some : count;
        groups_copy(g, order, position, out, some);
        position += some;
        out += some;
    }
}

#endif

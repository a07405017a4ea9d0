/* spread.h - no two samples of one group in a batch, for contrastive losses; no
   artist twice in a row, for playlists. Used by spread.c and, for a playlist,
   by into/games/artists.c; copy it if you like.

   The samples of a group have places side by side: sort the data by group, or
   let spread_list list them. A round has places that are further apart than any
   group is long, so at most one sample of each, in a shuffled order; and rounds
   that follow each other have no group in common.

   The position is the state: that of a sampler with the order SEQUENTIAL, this
   seed and, as stream, statesampler_hash of ids and `apart`: it then refuses
   other orders. spread_map turns its batches into samples, on any number of
   ranks. No group comes twice in `apart` positions, also where the last step is
   padded. (If largest * apart == samples: from a multiple of apart on.)

   This is said of one epoch, which steps do not leave. Where the last positions
   of an epoch meet the first of the next, a group may come twice. If it must
   not, as in a playlist, go on with the next epoch that begins with another
   group, as next_song of artists.c does. */
#ifndef SPREAD_H
#define SPREAD_H

STATESAMPLER_WRAP_BEGIN

#define SPREAD_EROOM (-1011) /* beside the errors of statesampler.h */

/* Set the first six, on which the order depends. members: of spread_list; NULL
   if the data is sorted by group. largest: samples in the largest group. apart:
   samples in the largest step of all ranks that will come. */
typedef struct spread {
    const uint64_t *members;
    uint64_t samples, seed, epoch, largest, apart;
    uint64_t turns; /* so many rounds in a row have no group in common */
    uint64_t rounds, length, longer; /* `longer` have length + 1 samples */
    uint64_t first; /* where the epoch begins; the rounds go around */
} spread;

/* How many samples a group can have: one for each whole step, at least 1. Its
   others must repeat it in a step. `apart` is not 0. */
static inline uint64_t spread_room(uint64_t samples, uint64_t apart)
{
    return samples < apart ? 1 : samples / apart;
}

static inline const char *spread_error(int code)
{
    return code == SPREAD_EROOM ? "the largest group is larger than spread_room"
                                : statesampler_error(code);
}

/* Lists the samples of each group side by side, in the order of a shuffle.
   ids: each one's group, below `groups`. members, work: a word for each sample,
   for each group. Returns `largest`; 0 if an id is wrong, before it lists. */
static inline uint64_t spread_list(const statesampler_perm *order,
                                   const uint64_t *ids, uint64_t samples,
                                   uint64_t groups, uint64_t *members,
                                   uint64_t *work)
{
    uint64_t out[256], largest = 0, end = 0, i, k, some, *group;
    const uint64_t listed = (uint64_t)1 << 63;

    for (i = 0; i < groups; i++)
        work[i] = 0;
    for (i = 0; i < samples; i++) {
        if (ids[i] >= groups)
            return 0;
        some = ++work[ids[i]];
        largest = some > largest ? some : largest;
    }
    for (i = 0; i < samples; i += some) {
        some = samples - i < 256 ? samples - i : 256;
        statesampler_perm_fill(order, i, 1, out, (size_t)some);
        for (k = 0; k < some; k++) {
            group = &work[ids[out[k]]];
            if (*group < listed) { /* its size; from now on, its next place */
                end += *group;
                *group = listed + end - *group;
            }
            members[(*group)++ - listed] = out[k];
        }
    }
    return largest;
}

/* Chooses the rounds; again if a field has changed. EINVAL: apart is 0, or not
   0 < largest <= samples <= 2^62. EROOM: see above. Then nothing changes. */
static inline int spread_begin(spread *s)
{
    uint64_t turns = 2, n = s->samples;
    statesampler_perm perm;

    if (s->largest - 1 >= n || s->apart == 0 || n > STATESAMPLER_MAX_SAMPLES)
        return STATESAMPLER_EINVAL;
    if (s->largest > spread_room(n, s->apart))
        return SPREAD_EROOM;
    /* Longer rounds mix better; but with `apart` turns any are long enough. */
    while (turns < s->apart &&
           n / (turns * s->largest + 1) * (turns - 1) + 1 < s->apart)
        turns = turns > s->apart / 2 ? s->apart : 2 * turns - 1;
    s->turns = turns;
    s->rounds = s->largest == 1 ? 1 : turns * s->largest + 1;
    s->length = n / s->rounds;
    s->longer = n % s->rounds;
    statesampler_perm_init(&perm, n, s->seed, s->epoch, 1 + s->rounds);
    s->first = statesampler_perm_at(&perm, 0);
    s->first -= s->largest * s->apart == n ? s->first % s->apart : 0;
    return STATESAMPLER_OK;
}

/* The first place of a round; its others are `rounds` apart. First places are
   in `turns` rows of `largest`, the last one alone. Rounds take one from each
   row in turn: so the next round's is `largest` further, modulo `rounds`. */
static inline uint64_t spread_place(const spread *s, uint64_t round)
{
    return round + 1 == s->rounds ? round
           : (round % s->turns + 1) * s->largest - 1 - round / s->turns;
}

/* How many samples are before a round. Rounds whose first place is below
   `longer` have one more: they are `whole` rows, and `rest` places of a row. */
static inline uint64_t spread_start(const spread *s, uint64_t round)
{
    uint64_t row = round % s->turns, taken = round / s->turns;
    uint64_t whole = s->longer / s->largest, rest = s->longer % s->largest;

    rest += taken + (row > whole);
    return round * s->length + taken * whole + (row < whole ? row : whole) +
           (rest > s->largest ? rest - s->largest : 0);
}

/* Turns positions into samples, each time those of a round. */
static inline void spread_map(const spread *s, uint64_t *out, size_t count)
{
    uint64_t at, round, start, place, length;
    statesampler_perm perm;
    size_t i, some;

    for (; count > 0; count -= some, out += some) {
        at = (*out + s->first) % s->samples;
        round = s->length > 0 ? at / s->length : s->rounds;
        round = round < s->rounds ? round : s->rounds - 1;
        while ((start = spread_start(s, round)) > at) /* half as far away */
            round -= (start - at + s->length) / (s->length + 1);
        place = spread_place(s, round);
        length = s->length + (place < s->longer);
        start += *out - at; /* modulo 2^64 */
        for (some = 0; some < count && out[some] - start < length; some++)
            out[some] -= start;
        statesampler_perm_init(&perm, length, s->seed, s->epoch, 1 + round);
        statesampler_perm_map(&perm, out, some);
        for (i = 0; i < some; i++) {
            out[i] = place + s->rounds * out[i];
            out[i] = s->members == NULL ? out[i] : s->members[out[i]];
        }
    }
}

STATESAMPLER_WRAP_END

#endif

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

/* Errors, beside those of statesampler.h. */
#define SPREAD_EROOM (-1011)
#define SPREAD_EAPART (-1012)
#define SPREAD_ELARGEST (-1013)
#define SPREAD_ESAMPLES (-1014)

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
    switch (code) {
    case SPREAD_EROOM:
        return "the largest group is larger than spread_room";
    case SPREAD_EAPART:
        return "apart is 0";
    case SPREAD_ELARGEST:
        return "the largest group has no samples, or more than there are";
    case SPREAD_ESAMPLES:
        return "there are more than 2^62 samples";
    default:
        return statesampler_error(code);
    }
}

/* Counts the samples of each group in `sizes`. Returns the most that one has;
   0 if an id is wrong. */
static inline uint64_t spread_count(uint64_t *sizes, const uint64_t *ids,
                                    uint64_t samples, uint64_t num_groups)
{
    uint64_t largest = 0, i;

    for (i = 0; i < num_groups; i++)
        sizes[i] = 0;
    for (i = 0; i < samples; i++) {
        uint64_t *size;

        if (ids[i] >= num_groups)
            return 0;
        size = &sizes[ids[i]];
        ++*size;
        if (*size > largest)
            largest = *size;
    }
    return largest;
}

/* Lists the samples of each group side by side, in the order of a shuffle.
   ids: each one's group, below num_groups. members: a word for each sample;
   work: for each group. Returns `largest`; 0 if an id is wrong, before it
   lists. */
static inline uint64_t spread_list(const statesampler_perm *order,
                                   const uint64_t *ids, uint64_t samples,
                                   uint64_t num_groups, uint64_t *members,
                                   uint64_t *work)
{
    const uint64_t largest = spread_count(work, ids, samples, num_groups);
    const uint64_t listed = (uint64_t)1 << 63; /* added to a next place */
    uint64_t out[256], end = 0, i, k, some;

    if (largest == 0)
        return 0;
    for (i = 0; i < samples; i += some) {
        some = samples - i;
        if (some > 256)
            some = 256;
        statesampler_perm_fill(order, i, 1, out, (size_t)some);
        for (k = 0; k < some; k++) {
            uint64_t *group = &work[ids[out[k]]];

            if (*group < listed) { /* its size; from now on, its next place */
                const uint64_t size = *group;

                *group = listed + end;
                end += size;
            }
            members[*group - listed] = out[k];
            ++*group;
        }
    }
    return largest;
}

/* The turns, so that no group comes twice in `apart` positions. Longer rounds
   mix better, so as few turns as are enough; `apart` of them always are. */
static inline uint64_t spread_choose_turns(const spread *s)
{
    uint64_t turns = 2, length;

    while (turns < s->apart) { /* it nearly doubles each time */
        length = s->samples / (turns * s->largest + 1);
        /* `turns` rounds, of which one is not whole, have so many samples. */
        if (length * (turns - 1) + 1 >= s->apart)
            return turns;
        if (turns > s->apart / 2)
            turns = s->apart;
        else
            turns = 2 * turns - 1;
    }
    return turns;
}

/* Chooses the rounds; again if a field has changed. EAPART: apart is 0.
   ELARGEST, ESAMPLES: not 0 < largest <= samples <= 2^62. EROOM: see above.
   Then nothing changes. */
static inline int spread_begin(spread *s)
{
    const uint64_t n = s->samples;
    statesampler_perm perm;

    if (s->apart == 0)
        return SPREAD_EAPART;
    if (s->largest == 0 || s->largest > n)
        return SPREAD_ELARGEST;
    if (n > STATESAMPLER_MAX_SAMPLES)
        return SPREAD_ESAMPLES;
    if (s->largest > spread_room(n, s->apart))
        return SPREAD_EROOM;
    s->turns = spread_choose_turns(s);
    s->rounds = 1;
    if (s->largest > 1)
        s->rounds = s->turns * s->largest + 1;
    s->length = n / s->rounds;
    s->longer = n % s->rounds;
    statesampler_perm_init(&perm, n, s->seed, s->epoch, 1 + s->rounds);
    s->first = statesampler_perm_at(&perm, 0);
    if (s->largest * s->apart == n) /* only whole steps are apart */
        s->first -= s->first % s->apart;
    return STATESAMPLER_OK;
}

/* The first place of a round; its others are `rounds` apart. First places are
   in `turns` rows of `largest`, the last one alone. Rounds take one from each
   row in turn, from its end: so the next round's is `largest` further, modulo
   `rounds`. */
static inline uint64_t spread_place(const spread *s, uint64_t round)
{
    const uint64_t row = round % s->turns, taken = round / s->turns;

    if (round + 1 == s->rounds)
        return round;
    return (row + 1) * s->largest - 1 - taken;
}

/* How many samples are before a round. Rounds whose first place is below
   `longer` have one more: these places are `whole` rows, and the beginning of
   the next row. */
static inline uint64_t spread_start(const spread *s, uint64_t round)
{
    const uint64_t row = round % s->turns;
    const uint64_t whole = s->longer / s->largest;
    /* Those of the next row that have none more: at its end, so taken first. */
    const uint64_t shorter = s->largest - s->longer % s->largest;
    uint64_t taken = round / s->turns; /* from each row */
    uint64_t more = taken * whole;     /* rounds before are longer */

    if (row <= whole) {
        more += row;
    } else { /* a place of the next row, too */
        more += whole;
        taken++;
    }
    if (taken > shorter)
        more += taken - shorter;
    return round * s->length + more;
}

/* The round that has the sample at a place of the order of all rounds. Sets
   *start to that of its first sample. */
static inline uint64_t spread_round(uint64_t *start, const spread *s,
                                    uint64_t at)
{
    uint64_t round = s->rounds - 1;

    if (s->length > 0 && at / s->length < round)
        round = at / s->length;
    *start = spread_start(s, round);
    while (*start > at) { /* half as far away each time */
        round -= (*start - at + s->length) / (s->length + 1);
        *start = spread_start(s, round);
    }
    return round;
}

/* Turns positions into samples, each time those of a round. */
static inline void spread_map(const spread *s, uint64_t *out, size_t count)
{
    while (count > 0) {
        const uint64_t at = (*out + s->first) % s->samples;
        uint64_t start, round = spread_round(&start, s, at);
        uint64_t place = spread_place(s, round), length = s->length;
        statesampler_perm perm;
        size_t i, some = 0;

        if (place < s->longer)
            length++;
        start += *out - at; /* the position of its first sample; may wrap */
        while (some < count && out[some] - start < length) {
            out[some] -= start;
            some++;
        }
        statesampler_perm_init(&perm, length, s->seed, s->epoch, 1 + round);
        statesampler_perm_map(&perm, out, some);
        for (i = 0; i < some; i++) {
            out[i] = place + s->rounds * out[i];
            if (s->members != NULL)
                out[i] = s->members[out[i]];
        }
        out += some;
        count -= some;
    }
}

STATESAMPLER_WRAP_END

#endif

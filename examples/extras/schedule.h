/* schedule.h - a mix whose weights change as often as you like, each source in
   its share to within about a turn. Used by schedule.c; copy it if you like.

   statesampler_mix_weigh begins the sequence of turns anew, and that begins
   with the heaviest sources. With new weights every few turns the light ones
   would never be served. Here a stage is a number of turns with shares of its
   own. In each stage a source gets whole turns, and what it is owed beyond them
   is carried to the next: no remainder is lost, and a stage may be one turn.

     static uint32_t plan(schedule *s, uint64_t turn, void *context)
     {
         s->sources[0].share = 0.9 - 0.5 * turn / 100000;
         s->sources[1].share = 0.1 + 0.5 * turn / 100000;
         return 10; // turns, the stage's
     }

     while (schedule_follow(&s, &mix, plan, NULL) == STATESAMPLER_OK &&
            statesampler_mix_next(&mix, batch, &count, &source))
         train(batch, count);

   Save s and mix together, with the weights. After a load, go on in the same
   way. If `plan` depends on its arguments alone, schedule_seek goes to any
   turn, and schedule_at says what any turn serves: one of a stage to come, and
   after schedule_set_start also one of an earlier stage, if the schedule began
   at turn 0. (That is of a run with the ranks and batches of now.)

   Shares by tokens: set sources[i].mean, and call schedule_had after each turn
   with what its batch had, on all ranks the same. What a source had too much of
   is then taken from its next turns. Turns that a seek passes over count as the
   mean. No stage follows one in which nothing was told of a source that had
   turns: EHAD, unless a seek or a load came in it.

   How: the turns of a stage go to the sources that are owed most (that is the
   cup game: Adler, Berenbrink, Friedetzky, Goldberg, Goldberg and Paterson, A
   proportionate fair scheduling rule with good worst-case performance, 2003).
   All numbers are whole, so that all machines agree.

   How far from its share can one of D sources be at the end of a stage, ahead
   or behind? Mostly about a turn. In the worst case (D - 1) / 2 turns: shares
   must aim at that, and often be 0, as a source without a share keeps what it
   is owed. If no share is ever 0 (or below 2^-31 of their sum), it is ahead by
   less than one turn, and behind by at most 1/2 + 1/3 + ... + 1/D turns.
   These are shares as rounded to 2^-31 of their sum. What that leaves comes to
   a turn in some 10^9, or to tens with hundreds of sources.

   With shares of tokens, what is owed is in units of 2^-10 tokens. In each
   stage chance decides which sources what is left of a unit goes to: it adds up
   to about a token in four million stages.
   If batches are as their means, each source is mostly within about a turn of
   the longest batches of its share of the tokens, in stages of any length; but
   a heavy source among hundreds of light ones with other means only within some
   tens. What batches have beyond their means is made good in the next stage.
   Until then it adds up: so take short stages. */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <string.h>

STATESAMPLER_WRAP_BEGIN

/* What a schedule does to the mix. Define WEIGH and SEEK before the include to
   note it, too, in a history, as recipes_steering.c does. Then no seek goes
   back to an earlier stage, unless you also define BEGIN, which takes the mix
   to turn 0, with its sources in the epochs of schedule_epochs. */
#ifndef SCHEDULE_BEGIN
#ifdef SCHEDULE_SEEK
#define SCHEDULE_BEGIN schedule_refuse_begin
#else
#define SCHEDULE_BEGIN schedule_begin_mix
#endif
#endif
#ifndef SCHEDULE_WEIGH
#define SCHEDULE_WEIGH(mix, weights) statesampler_mix_weigh(mix, weights)
#endif
#ifndef SCHEDULE_SEEK
#define SCHEDULE_SEEK(mix, turn) statesampler_mix_seek(mix, turn)
#endif

/* Errors, beside those of statesampler.h. */
#define SCHEDULE_ESHARES (-1301)
#define SCHEDULE_ETURNS (-1302)
#define SCHEDULE_EMEANS (-1303)
#define SCHEDULE_ESTOP (-1304)
#define SCHEDULE_ETURN (-1305)
#define SCHEDULE_ETOKENS (-1306)
#define SCHEDULE_EOWED (-1307)
#define SCHEDULE_ELATER (-1308)
#define SCHEDULE_ESTEPS (-1309)
#define SCHEDULE_EHAD (-1310)
#define SCHEDULE_EWEIGHTS (-1311)
#define SCHEDULE_EMOVED (-1312)
#define SCHEDULE_EMANY (-1313)

typedef struct schedule_source {
    double share;    /* in the next stage, beside the other shares: yours */
    uint32_t mean;   /* tokens of a turn, roughly; 0: shares are of turns */
    uint32_t part;   /* from here on private: the share, in units of 1 / ONE */
    uint32_t turns;  /* of the stage */
    uint32_t total;  /* turns of several stages */
    uint32_t untold; /* 1: of its turns in the stage no tokens were told */
    int64_t own;     /* of the stage, in the units of `owed` */
    int64_t owed;    /* tokens in units of 1 / TOKEN, or turns of 1 / ONE */
    int64_t due;     /* turns, with what is owed, in units of 1 / ONE */
    int64_t kept;    /* what was owed where the mix is */
    uint64_t epoch;  /* at turn 0 */
} schedule_source;

typedef struct schedule {
    schedule_source *sources;
    uint32_t *weights; /* of the present stage, as mix_weigh takes them; the
                          first is 0: not known */
    uint32_t num_sources;
    uint32_t started;    /* private: whether epochs at turn 0 are known */
    uint64_t begin, end; /* the first turn of the stage, and of the next one */
    /* Private: the first turn that schedule_at knew at first; whether shares of
       the stage are of tokens; whether it began in mid-run; the mix's base when
       it was seen to have the weights. */
    uint64_t known;
    uint32_t by_tokens, late;
    uint64_t checked;
} schedule;

/* Sets the share of each source, and its mean if shares are of tokens, in the
   stage that begins at this turn. Returns the stage's length: 1 to 2^28 turns,
   and these times a mean at most 2^50 tokens. Sources without a share take no
   turns. */
typedef uint32_t schedule_plan(schedule *s, uint64_t turn, void *context);

#define SCHEDULE_ONE ((int64_t)1 << 31)
#define SCHEDULE_TOKEN ((int64_t)1 << 10)
#define SCHEDULE_MOST_TURNS ((uint32_t)1 << 28)
#define SCHEDULE_MOST_TOKENS ((uint64_t)1 << 50)
#define SCHEDULE_MOST_OWED ((int64_t)1 << 61)
#define SCHEDULE_BYTES(num_sources) \
    (sizeof(char[32]) + sizeof(char[8]) * (num_sources))

static inline const char *schedule_error(int code)
{
    switch (code) {
    case SCHEDULE_ESHARES:
        return "a share is negative, not a number or infinite, or all are 0";
    case SCHEDULE_ETURNS:
        return "a stage should have 1 to 2^28 turns, and 2^50 tokens";
    case SCHEDULE_EMEANS:
        return "means should be 1 to 2^31 - 1 in all stages, or 0 without had";
    case SCHEDULE_ESTOP:
        return "a mix with a schedule should have the stop rule NEVER";
    case SCHEDULE_ETURN:
        return "the mix is not where the schedule is, or an earlier stage is "
               "not known";
    case SCHEDULE_ETOKENS:
        return "with shares of tokens, other stages are not known";
    case SCHEDULE_EOWED:
        return "more is owed than any schedule owes";
    case SCHEDULE_ELATER:
        return "the sample does not come in these stages";
    case SCHEDULE_ESTEPS:
        return "a source with a share has no steps";
    case SCHEDULE_EHAD:
        return "nothing was told of a source in the stage: call had";
    case SCHEDULE_EWEIGHTS:
        return "the mix has other weights than the stage: load both states";
    case SCHEDULE_EMOVED:
        return "these copies have moved: load both states";
    case SCHEDULE_EMANY:
        return "the tokens of a turn should be below 2^31";
    default:
        return statesampler_error(code);
    }
}

/* Copies that were made now know nothing yet: see schedule_has_moved. */
static inline void schedule_reset_known(schedule *s)
{
    s->known = STATESAMPLER_NONE;
}

/* Begins at turn 0 of a mix, unless schedule_start follows. `sources` and
   `weights` have num_sources elements each, and are the schedule's from now
   on. */
static inline void schedule_init(schedule *s, schedule_source *sources,
                                 uint32_t *weights, uint32_t num_sources)
{
    s->sources = sources;
    s->weights = weights;
    s->num_sources = num_sources;
    s->begin = s->end = s->checked = 0;
    s->started = s->by_tokens = s->late = 0;
    schedule_reset_known(s);
    memset(sources, 0, num_sources * sizeof *sources);
    memset(weights, 0, num_sources * sizeof *weights);
}

/* For a mix in mid-run: after schedule_init, the first stage begins at this
   turn, and no source is owed anything there. Nothing then goes back to before
   the present stage, nor after a load: ETURN. For the way from turn 0 would not
   be that of the run. */
static inline void schedule_start(schedule *s, uint64_t turn)
{
    s->begin = s->end = turn;
    s->late = turn != 0;
}

/* A number in 8 bytes, the same on all machines. */
static inline void schedule_store(unsigned char *to, uint64_t number)
{
    int i;

    for (i = 0; i < 8; i++, number >>= 8)
        to[i] = (unsigned char)(number & 255);
}

/* --- shares as whole numbers ---------------------------------------------- */

/* Its bits. That of a larger share is a larger number, so that all that is no
   share has more than the largest. */
static inline uint64_t schedule_bits(const schedule_source *source)
{
    uint64_t bits;

    memcpy(&bits, &source->share, sizeof bits);
    return bits == (uint64_t)1 << 63 ? 0 : bits; /* -0 is 0 */
}

/* The digits of a share, below 2^53, whose exponent is 0 or the others'. */
static inline uint64_t schedule_digits(uint64_t bits)
{
    const uint64_t one = (uint64_t)1 << 52;

    return bits < one ? 2 * bits : bits % one + one;
}

/* Sets the largest share. ESHARES: one is impossible, or all are 0. */
static inline int schedule_set_most(uint64_t *most, const schedule *s)
{
    uint32_t i;

    *most = 0;
    for (i = 0; i < s->num_sources; i++)
        if (*most < schedule_bits(s->sources + i))
            *most = schedule_bits(s->sources + i);
    return *most == 0 || *most >= (uint64_t)0x7ff << 52 ? SCHEDULE_ESHARES
                                                        : STATESAMPLER_OK;
}

/* A share as a whole number, of which the largest is 2^31 or more, but below
   2^32. */
static inline uint64_t schedule_scaled(const schedule_source *source,
                                       uint64_t most)
{
    const uint64_t bits = schedule_bits(source);
    const uint64_t down = (most >> 52) - (bits >> 52) + 21;
    uint64_t digits = schedule_digits(bits);
    uint64_t more;

    for (more = schedule_digits(most); more >> 52 == 0; more *= 2)
        digits *= 2;
    return down < 64 ? digits >> down : 0;
}

/* Sets each source's part of ONE, so that they sum to ONE: what rounding leaves
   of one goes on to the next. A share below 2^-31 of the sum may have none. No
   source is due anything yet. */
static inline int schedule_set_parts(schedule *s)
{
    uint64_t most, sum = 0, rest = 0;
    uint32_t i;
    const int code = schedule_set_most(&most, s);

    if (code != STATESAMPLER_OK)
        return code;
    for (i = 0; i < s->num_sources; i++)
        sum += schedule_scaled(s->sources + i, most);
    for (i = 0; i < s->num_sources; i++) {
        rest += schedule_scaled(s->sources + i, most) << 31;
        s->sources[i].part = (uint32_t)(rest / sum);
        s->sources[i].due = 0;
        rest %= sum;
    }
    return STATESAMPLER_OK;
}

/* --- a stage -------------------------------------------------------------- */

/* EOWED: a source is owed so much that a stage might overflow. */
static inline int schedule_check_owed(int64_t owed)
{
    const int64_t most = SCHEDULE_MOST_OWED;

    return owed > most || owed < -most ? SCHEDULE_EOWED : STATESAMPLER_OK;
}

/* The nearest number from -most to most. */
static inline int64_t schedule_bound(int64_t number, int64_t most)
{
    if (number > most)
        return most;
    return number < -most ? -most : number;
}

/* How many turns of a source are so many tokens, or turns, in the units of
   `owed`? In units of 1 / ONE: about 2^31 turns at most, more or less than
   none. */
static inline int64_t schedule_in_turns(const schedule_source *source,
                                        int64_t owed)
{
    const int64_t unit = SCHEDULE_ONE / SCHEDULE_TOKEN, mean = source->mean;

    if (mean == 0)
        return owed;
    return schedule_bound(owed / mean, SCHEDULE_ONE * SCHEDULE_TOKEN) * unit +
           owed % mean * unit / mean;
}

/* Whether a source has had more than a turn too much. */
static inline int schedule_is_far_ahead(const schedule_source *source)
{
    return source->due < -SCHEDULE_ONE;
}

/* The tokens of a stage with which the sources that are not far ahead are due
   its turns, with what they are owed; in units of 1 / TOKEN. If they are owed
   nothing, a turn has the harmonic mean of their means. So this is planned /
   sum, where `planned` is in units of 1 / ONE, and `sum` of 2^-62. The last 41
   bits are divided one by one, as 2^41 * planned has 102. At most 2^52 tokens,
   more or less than none. */
static inline int64_t schedule_tokens(const schedule *s, uint32_t turns)
{
    int64_t planned = turns * SCHEDULE_ONE;
    uint64_t sum = 0, rest, tokens;
    uint32_t i;

    for (i = 0; i < s->num_sources; i++) {
        const schedule_source *source = s->sources + i;

        if (source->part == 0 || schedule_is_far_ahead(source))
            continue;
        planned =
            schedule_bound(planned - schedule_in_turns(source, source->owed),
                           SCHEDULE_MOST_OWED);
        sum += ((uint64_t)source->part << 31) / source->mean;
    }
    sum += sum == 0; /* all are far ahead: more is owed than can be planned */
    rest = (uint64_t)(planned < 0 ? -planned : planned);
    tokens = rest / sum;
    rest %= sum;
    for (i = 0; i < 41 && tokens < (uint64_t)SCHEDULE_MOST_OWED; i++) {
        rest *= 2;
        tokens = 2 * tokens + (rest >= sum);
        if (rest >= sum)
            rest -= sum;
    }
    return planned < 0 ? -(int64_t)tokens : (int64_t)tokens;
}

/* OK if a stage can be planned.

   No number overflows. What a source is owed is at most 2^61 here, and what is
   planned at most 2^62. So a source has less than 2^63. Then had leaves it
   -2^61 at least, and a seek takes off 2^60 at most. */
static inline int schedule_check_means(const schedule *s, uint32_t turns)
{
    int64_t any = 0;
    uint32_t i, tokens = 0, untold = 0;
    int code;

    for (i = 0; i < s->num_sources; i++) {
        tokens += s->sources[i].mean != 0;
        untold += s->sources[i].untold;
        code = schedule_check_owed(s->sources[i].owed);
        any |= s->sources[i].owed;
        if (s->sources[i].mean >= SCHEDULE_ONE)
            code = SCHEDULE_EMEANS;
        else if ((uint64_t)s->sources[i].mean * turns > SCHEDULE_MOST_TOKENS)
            code = SCHEDULE_ETURNS;
        if (code != STATESAMPLER_OK)
            return code;
    }
    if (untold != 0)
        return SCHEDULE_EHAD;
    if (tokens != 0 && tokens != s->num_sources)
        return SCHEDULE_EMEANS;
    if ((s->begin != s->end || any != 0) && s->by_tokens != (tokens != 0))
        return SCHEDULE_EMEANS; /* owed is of the other */
    return STATESAMPLER_OK;
}

/* The turns of a source if none is left with more than `level` due. */
static inline uint64_t schedule_turns_above(const schedule_source *source,
                                            int64_t level)
{
    if (source->part == 0 || source->due <= level)
        return 0;
    return ((uint64_t)source->due - (uint64_t)level + SCHEDULE_ONE - 1) >> 31;
}

static inline uint64_t schedule_sum_above(const schedule *s, int64_t level)
{
    uint64_t sum = 0;
    uint32_t i;

    for (i = 0; i < s->num_sources; i++)
        sum += schedule_turns_above(s->sources + i, level);
    return sum;
}

/* The lowest level for which a stage has turns enough. Between the first loops
   and the last one it is above `low` and at most `high`. One of the first moves
   at most, and it ends before +-2^32 turns, as at most 2^31 are due. */
static inline int64_t schedule_level(const schedule *s, uint32_t turns)
{
    int64_t low = 0, high = 0;
    uint64_t step; /* after the last one it is 2^63 at most */

    for (step = SCHEDULE_ONE; schedule_sum_above(s, low) <= turns; step *= 2)
        low -= (int64_t)step;
    for (step = SCHEDULE_ONE; schedule_sum_above(s, high) > turns; step *= 2)
        high += (int64_t)step;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;

        if (schedule_sum_above(s, middle) <= turns)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* Below ONE: as if by chance, so that no source is rounded to the same side
   stage after stage. */
static inline int64_t schedule_first_rest(uint64_t turn)
{
    unsigned char bytes[8];

    schedule_store(bytes, turn);
    return (int64_t)(statesampler_hash(0, bytes, sizeof bytes) >> 33);
}

/* Sets what each source has of a stage's total. What rounding leaves of one
   goes on to the next, so that they sum to the total, which may be negative.
   (Of turns nothing is left.) */
static inline void schedule_set_own(schedule *s, int64_t total)
{
    const int64_t below = total % SCHEDULE_ONE < 0;
    const int64_t high = total / SCHEDULE_ONE - below;
    const int64_t low = total % SCHEDULE_ONE + below * SCHEDULE_ONE;
    int64_t rest = schedule_first_rest(s->end);
    uint32_t i;

    for (i = 0; i < s->num_sources; i++) {
        const int64_t part = s->sources[i].part;

        rest += low * part;
        s->sources[i].own = high * part + rest / SCHEDULE_ONE;
        rest %= SCHEDULE_ONE;
    }
}

/* Sets what each source is due. Returns how many are far ahead. */
static inline uint32_t schedule_set_due(schedule *s)
{
    uint32_t i, ahead = 0;

    for (i = 0; i < s->num_sources; i++) {
        schedule_source *source = s->sources + i;

        source->due = schedule_in_turns(source, source->own + source->owed);
        if (schedule_is_far_ahead(source))
            ahead++;
    }
    return ahead;
}

/* Sets what sources are due, so that together they are due the stage's turns.
   Of tokens these are without the sources that are far ahead: others would lose
   what they are ahead. The loop ends, as each time there are more of these. */
static inline void schedule_share_out(schedule *s, uint32_t turns)
{
    const int tokens = s->sources[0].mean != 0;
    int64_t total = turns * SCHEDULE_ONE; /* of turns what is owed sums to 0 */
    uint32_t ahead = 0, before;

    do {
        if (tokens)
            total = schedule_tokens(s, turns);
        schedule_set_own(s, total);
        before = ahead;
        ahead = schedule_set_due(s);
    } while (tokens && ahead > before);
}

/* What the turns of the stage have by their means, but for what is owed: if it
   is this that sources have their parts of, all that is owed sums to 0. */
static inline int64_t schedule_had_by_means(const schedule *s)
{
    int64_t total = 0;
    uint32_t i;

    for (i = 0; i < s->num_sources; i++) {
        const schedule_source *source = s->sources + i;
        const int64_t turn =
            source->mean ? source->mean * SCHEDULE_TOKEN : SCHEDULE_ONE;

        total = schedule_bound(total + source->turns * turn - source->owed,
                               SCHEDULE_MOST_OWED);
    }
    return total;
}

/* Divides a stage's turns among the sources: each turn to the source that has
   most due, the first of several. Then sources get their parts of what these
   turns have, which may differ by about a turn from what was planned. */
static inline void schedule_divide(schedule *s, uint32_t turns)
{
    uint64_t left = turns;
    int64_t level;
    uint32_t i;

    schedule_share_out(s, turns);
    level = schedule_level(s, turns);
    for (i = 0; i < s->num_sources; i++) {
        const uint64_t own = schedule_turns_above(s->sources + i, level);

        s->sources[i].turns = (uint32_t)own;
        left -= own;
    }
    /* Those that now have exactly `level` due are more than are left. */
    for (i = 0; left != 0; i++)
        if (schedule_turns_above(s->sources + i, level - 1) >
            s->sources[i].turns) {
            s->sources[i].turns++;
            left--;
        }
    schedule_set_own(s, schedule_had_by_means(s));
}

/* Whether a source has a seat in the mix, which is not 2^32 - 1: unless it is
   off, it has one if a whole epoch has steps, on the ranks of now. */
static inline int schedule_has_seat(const statesampler_source *source)
{
    return source->in_mix.seat != 0xffffffffu;
}

/* ESTEPS: a source with a share has no steps. The present epoch may have some
   that were served on other ranks: so a copy begins an epoch. */
static inline int schedule_check_steps(const schedule *s,
                                       const statesampler_mix *mix)
{
    uint32_t i;

    for (i = 0; i < s->num_sources; i++) {
        statesampler own;

        if (s->sources[i].part == 0 || schedule_has_seat(mix->sources + i))
            continue;
        own = mix->sources[i].sampler;
        statesampler_begin(&own, 0);
        if (statesampler_num_steps(&own) == 0)
            return SCHEDULE_ESTEPS;
    }
    return STATESAMPLER_OK;
}

/* Of this stage nothing need be told: turns were passed over, or are to come
   again, or it is not known what was told. */
static inline void schedule_forget(schedule *s)
{
    uint32_t i;

    for (i = 0; i < s->num_sources; i++)
        s->sources[i].untold = 0;
}

/* Plans the stage that begins at s->end, and changes nothing that a state has.
   Sets its *turns. ERANGE_FAR: it begins at turn 2^62 or later. */
static inline int schedule_stage(uint32_t *turns, schedule *s,
                                 const statesampler_mix *mix,
                                 schedule_plan *plan, void *context)
{
    int code;

    *turns = plan(s, s->end, context);
    if (s->end >= STATESAMPLER_MAX_SAMPLES)
        return STATESAMPLER_ERANGE_FAR;
    if (*turns == 0 || *turns > SCHEDULE_MOST_TURNS)
        return SCHEDULE_ETURNS;
    code = schedule_set_parts(s);
    if (code == STATESAMPLER_OK)
        code = schedule_check_steps(s, mix);
    if (code == STATESAMPLER_OK)
        code = schedule_check_means(s, *turns);
    if (code == STATESAMPLER_OK)
        schedule_divide(s, *turns);
    return code;
}

/* Begins the stage that was planned. */
static inline void schedule_begin(schedule *s, uint32_t turns)
{
    uint32_t i;

    for (i = 0; i < s->num_sources; i++) {
        schedule_source *source = s->sources + i;

        source->owed += source->own;
        if (source->mean == 0)
            source->owed -= source->turns * SCHEDULE_ONE;
        source->untold = source->mean != 0 && source->turns != 0;
    }
    s->by_tokens = s->sources[0].mean != 0;
    s->begin = s->end;
    s->end += turns;
}

/* Sets the weights of a stage. */
static inline void schedule_set_weights(schedule *s)
{
    uint32_t i;

    for (i = 0; i < s->num_sources; i++) {
        s->weights[i] = s->sources[i].turns;
        if (s->weights[i] == 0)
            s->weights[i] = STATESAMPLER_OFF;
    }
}

/* Gives them to the mix. */
static inline int schedule_weigh(schedule *s, statesampler_mix *mix)
{
    int code;

    schedule_set_weights(s);
    s->checked = STATESAMPLER_NONE;
    code = SCHEDULE_WEIGH(mix, s->weights);
    if (code != STATESAMPLER_OK)
        s->weights[0] = 0; /* those of the present stage are gone */
    return code;
}

/* --- with a mix ----------------------------------------------------------- */

/* After a load the mix has the weights of the stage. EWEIGHTS: they are of a
   stage of another length, so the two states are of two checkpoints. */
static inline int schedule_take_weights(schedule *s,
                                        const statesampler_mix *mix)
{
    uint64_t turns = 0;
    uint32_t i;

    for (i = 0; i < s->num_sources; i++) {
        s->weights[i] = mix->sources[i].in_mix.weight;
        if (s->weights[i] != STATESAMPLER_OFF)
            turns += s->weights[i];
    }
    if (turns == s->end - s->begin)
        return STATESAMPLER_OK;
    s->weights[0] = 0;
    return SCHEDULE_EWEIGHTS;
}

/* OK if the mix is in the schedule's present stage, or at its end. EWEIGHTS:
   by its turn it is, but it was weighed or loaded alone. That moves its base to
   its turn: so weights need not be compared at each turn, but once after that,
   and at the base itself, where it may be done again. ESTEPS: on other ranks, a
   source that has turns in the stage has no steps. */
static inline int schedule_check(schedule *s, const statesampler_mix *mix)
{
    const uint64_t turn = statesampler_mix_turn(mix);
    int code = STATESAMPLER_OK;
    uint32_t i;

    if (mix->stop != STATESAMPLER_STOP_NEVER)
        return SCHEDULE_ESTOP;
    if (mix->num_sources != s->num_sources)
        return STATESAMPLER_EMISMATCH_SOURCES;
    if (turn < s->begin || turn > s->end)
        return SCHEDULE_ETURN;
    if (turn == s->end ||
        (turn != mix->base_turn && mix->base_turn == s->checked))
        return STATESAMPLER_OK;
    s->checked = STATESAMPLER_NONE; /* not seen, whatever is done after this */
    if (s->weights[0] == 0)
        code = schedule_take_weights(s, mix);
    if (code != STATESAMPLER_OK)
        return code;
    for (i = 0; i < s->num_sources; i++) {
        const uint32_t weight = mix->sources[i].in_mix.weight;

        if (s->weights[0] != 0 && weight != s->weights[i])
            return SCHEDULE_EWEIGHTS;
        if (weight != STATESAMPLER_OFF && !schedule_has_seat(mix->sources + i))
            return SCHEDULE_ESTEPS;
    }
    if (turn != mix->base_turn)
        s->checked = mix->base_turn;
    return STATESAMPLER_OK;
}

/* Call it before each mix_next: where a stage ends, it begins the next one. If
   it returns an error, nothing has changed; but of a full history (see
   history_error) s->weights are then not known until the next stage. */
static inline int schedule_follow(schedule *s, statesampler_mix *mix,
                                  schedule_plan *plan, void *context)
{
    int code = schedule_check(s, mix);
    uint32_t turns;

    if (code != STATESAMPLER_OK || statesampler_mix_turn(mix) < s->end)
        return code;
    code = schedule_stage(&turns, s, mix, plan, context);
    if (code == STATESAMPLER_OK)
        code = schedule_weigh(s, mix);
    if (code == STATESAMPLER_OK)
        schedule_begin(s, turns);
    return code;
}

/* Says how many tokens the batch of a turn had, on all ranks together: below
   2^31, and perhaps 0. ERANGE: the mix has no such source, or it is off in this
   stage. (After a load, schedule_follow comes to know that.) EMEANS: shares are
   not of tokens. EMANY: these are too many. EOWED: so are all that were told of
   the source in the stage, about 2^51. */
static inline int schedule_had(schedule *s, uint32_t source, uint64_t tokens)
{
    int64_t *owed;

    if (source >= s->num_sources)
        return STATESAMPLER_ERANGE_SOURCE;
    if (!s->by_tokens)
        return SCHEDULE_EMEANS;
    if (s->weights[0] != 0 && s->weights[source] == STATESAMPLER_OFF)
        return STATESAMPLER_ERANGE_OFF;
    if (tokens >= (uint64_t)SCHEDULE_ONE)
        return SCHEDULE_EMANY;
    owed = &s->sources[source].owed;
    if (*owed < (int64_t)tokens * SCHEDULE_TOKEN - SCHEDULE_MOST_OWED)
        return SCHEDULE_EOWED;
    *owed -= (int64_t)tokens * SCHEDULE_TOKEN;
    s->sources[source].untold = 0;
    return STATESAMPLER_OK;
}

/* --- turn 0 --------------------------------------------------------------- */

/* Notes the epochs in which the sources of a mix begin, so that earlier stages
   can be found again. Call it where the mix is at turn 0: before the first
   turn, or before the states are loaded. ETURN: it is not there. */
static inline int schedule_set_start(schedule *s, const statesampler_mix *mix)
{
    uint32_t i;

    if (mix->num_sources != s->num_sources)
        return STATESAMPLER_EMISMATCH_SOURCES;
    for (i = 0; i < s->num_sources; i++) {
        const statesampler *own = &mix->sources[i].sampler;

        if (statesampler_mix_turn(mix) != 0 || statesampler_step(own) != 0 ||
            statesampler_position(own) != 0)
            return SCHEDULE_ETURN;
    }
    for (i = 0; i < s->num_sources; i++)
        s->sources[i].epoch = statesampler_epoch(&mix->sources[i].sampler);
    s->started = 1;
    return STATESAMPLER_OK;
}

/* Writes these epochs: num_sources of them. */
static inline void schedule_epochs(const schedule *s, uint64_t *epochs)
{
    uint32_t i;

    for (i = 0; i < s->num_sources; i++)
        epochs[i] = s->sources[i].epoch;
}

/* Takes a mix to turn 0, as it then was. The weights stay. */
static inline int schedule_begin_mix(const schedule *s, statesampler_mix *mix)
{
    const uint64_t epoch = statesampler_mix_epoch(mix);
    uint32_t i;
    int code;

    for (i = 0; i < s->num_sources; i++) {
        mix->sources[i].weight = mix->sources[i].in_mix.weight;
        statesampler_begin(&mix->sources[i].sampler, s->sources[i].epoch);
    }
    code =
        statesampler_mix_init(mix, mix->sources, mix->num_sources, mix->stop);
    mix->epoch = epoch;
    return code;
}

/* What is not noted is not done. */
static inline int schedule_refuse_begin(const schedule *s,
                                        statesampler_mix *mix)
{
    (void)s;
    (void)mix;
    return SCHEDULE_ETURN;
}

/* The first turn that the mix knows by itself: earlier ones are in an earlier
   stage, or before a load or a change of ranks. */
static inline uint64_t schedule_first(const schedule *s,
                                      const statesampler_mix *mix)
{
    return s->begin > mix->base_turn ? s->begin : mix->base_turn;
}

static inline int schedule_is_past(const schedule *s,
                                   const statesampler_mix *mix, uint64_t turn)
{
    return turn < schedule_first(s, mix);
}

/* OK if a turn can be found from turn 0 on. */
static inline int schedule_check_start(schedule *s, uint64_t turn,
                                       schedule_plan *plan, void *context)
{
    if (s->late || !s->started)
        return SCHEDULE_ETURN;
    if (turn > plan(s, 0, context) && s->sources[0].mean != 0)
        return SCHEDULE_ETOKENS;
    return STATESAMPLER_OK;
}

/* Begins again at turn 0, where the mix is now. */
static inline void schedule_restart(schedule *s)
{
    uint32_t i;

    for (i = 0; i < s->num_sources; i++)
        s->sources[i].owed = s->sources[i].untold = 0;
    s->begin = s->end = 0;
}

/* --- any turn ------------------------------------------------------------- */

/* Sums up the turns of stages that are passed over. */
static inline void schedule_sum(schedule *s)
{
    uint32_t i;

    for (i = 0; i < s->num_sources; i++)
        s->sources[i].total += s->sources[i].turns;
}

/* Sets the weights to these sums, which begin again at 0. */
static inline void schedule_set_sums(schedule *s)
{
    uint32_t i;

    for (i = 0; i < s->num_sources; i++) {
        const uint32_t total = s->sources[i].total;

        s->weights[i] = total ? total : STATESAMPLER_OFF;
        s->sources[i].total = 0;
    }
}

/* Keeps what is owed where the mix is, at s->end; and goes back there. */
static inline void schedule_keep(schedule *s)
{
    uint32_t i;

    for (i = 0; i < s->num_sources; i++)
        s->sources[i].kept = s->sources[i].owed;
}

static inline void schedule_go_back(schedule *s, const statesampler_mix *mix)
{
    uint32_t i;

    for (i = 0; i < s->num_sources; i++)
        s->sources[i].owed = s->sources[i].kept;
    s->begin = s->end = statesampler_mix_turn(mix);
}

/* Moves the mix over these stages, to s->end. With the sums as weights, a
   sequence of so many turns has each source as often as the stages have. They
   are below 2^31 together, and not all 0, so only a full history refuses that:
   the schedule is then where the mix is, too. */
static inline int schedule_pass(schedule *s, statesampler_mix *mix)
{
    int code;

    if (statesampler_mix_turn(mix) == s->end)
        return STATESAMPLER_OK;
    schedule_set_sums(s);
    code = SCHEDULE_WEIGH(mix, s->weights);
    if (code == STATESAMPLER_OK)
        code = SCHEDULE_SEEK(mix, s->end);
    if (code == STATESAMPLER_OK) {
        s->begin = s->end; /* no turn before it has the weights of a stage */
        schedule_keep(s);
    } else {
        schedule_go_back(s, mix);
    }
    return code;
}

/* Goes on to the stage that a turn after the present one is in. With shares of
   tokens only the stage that begins where the mix is is known. */
static inline int schedule_seek_on(schedule *s, statesampler_mix *mix,
                                   uint64_t turn, schedule_plan *plan,
                                   void *context)
{
    int code, last, passed = STATESAMPLER_OK;
    uint32_t turns;

    if (s->by_tokens && statesampler_mix_turn(mix) != s->end)
        return SCHEDULE_ETOKENS;
    code = SCHEDULE_SEEK(mix, s->end);
    schedule_keep(s);
    while (code == STATESAMPLER_OK && turn > s->end) {
        code = schedule_stage(&turns, s, mix, plan, context);
        if (code == STATESAMPLER_OK && s->sources[0].mean != 0 &&
            turn - s->end > turns)
            code = SCHEDULE_ETOKENS;
        last = code != STATESAMPLER_OK || turn - s->end <= turns;
        if (last || s->end - statesampler_mix_turn(mix) + turns >=
                        (uint64_t)SCHEDULE_ONE)
            passed = schedule_pass(s, mix);
        if (code == STATESAMPLER_OK)
            code = passed;
        if (code == STATESAMPLER_OK && last)
            code = schedule_weigh(s, mix);
        if (code != STATESAMPLER_OK)
            return code;
        schedule_begin(s, turns);
        if (!last)
            schedule_sum(s);
    }
    return code;
}

/* The turns that a source has had since the mix's base: each is a step. */
static inline uint64_t schedule_turns_of(const statesampler_source *source)
{
    const ssmp_in_mix *base = &source->in_mix;
    const statesampler *s = &source->sampler;
    const uint64_t epochs = statesampler_epoch(s) - base->segment.base.epoch;

    if (epochs == 0 || s->run.tail == STATESAMPLER_TAIL_CARRY)
        return statesampler_step(s) - base->step;
    return base->remaining + (epochs - 1) * statesampler_num_steps(s) +
           statesampler_step(s);
}

/* Adds what these turns of all sources have by their means to what is owed, so
   many times: once, or -1 times, which takes it off. */
static inline void schedule_owe(schedule *s, const statesampler_mix *mix,
                                uint64_t times)
{
    uint32_t i;

    for (i = 0; i < s->num_sources; i++)
        s->sources[i].owed =
            (int64_t)((uint64_t)s->sources[i].owed +
                      times * (uint64_t)SCHEDULE_TOKEN * s->sources[i].mean *
                          schedule_turns_of(mix->sources + i));
}

/* Moves inside of the present stage. The tokens of turns that are passed over
   are owed no more; those of turns that are to come again are owed again. */
static inline int schedule_move(schedule *s, statesampler_mix *mix,
                                uint64_t turn, schedule_plan *plan,
                                void *context)
{
    int code;

    if (!s->by_tokens || turn == statesampler_mix_turn(mix))
        return SCHEDULE_SEEK(mix, turn);
    (void)plan(s, s->begin, context); /* for its means */
    schedule_owe(s, mix, 1);
    code = SCHEDULE_SEEK(mix, turn);
    schedule_owe(s, mix, (uint64_t)-1);
    if (code == STATESAMPLER_OK)
        schedule_forget(s);
    return code;
}

/* Moves to a turn of the present stage or of a later one. */
static inline int schedule_go(schedule *s, statesampler_mix *mix, uint64_t turn,
                              schedule_plan *plan, void *context)
{
    int code = STATESAMPLER_OK;

    if (turn > s->end)
        code = schedule_seek_on(s, mix, turn, plan, context);
    schedule_reset_known(s);
    return code == STATESAMPLER_OK ? schedule_move(s, mix, turn, plan, context)
                                   : code;
}

/* Moves to a turn from turn 0 on. */
static inline int schedule_go_again(schedule *s, statesampler_mix *mix,
                                    uint64_t turn, schedule_plan *plan,
                                    void *context)
{
    int code = schedule_check_start(s, turn, plan, context);

    if (code == STATESAMPLER_OK)
        code = SCHEDULE_BEGIN(s, mix);
    if (code != STATESAMPLER_OK)
        return code;
    schedule_restart(s);
    return schedule_go(s, mix, turn, plan, context);
}

/* Moves to any turn, in the time that it takes to plan the stages between; back
   to an earlier stage, or to before a history that was begun in mid-run, those
   from turn 0 on. A run that goes back so is one that goes straight from turn
   0, as its ranks and batches are now. ETURN: the turn is before the present
   stage or such a history, and turn 0 is not known, or the schedule began in
   mid-run. ETOKENS: other stages are not known. ESTEPS: on the ranks that there
   are now, a source of the present stage has no steps; from the stage's end, or
   on the ranks before, it goes. If a stage on the way is impossible, or a
   history is full, both are then at its beginning, or at that of one before
   it. */
static inline int schedule_seek(schedule *s, statesampler_mix *mix,
                                uint64_t turn, schedule_plan *plan,
                                void *context)
{
    int code = schedule_check(s, mix);

    if (code != STATESAMPLER_OK)
        return code;
    code = STATESAMPLER_ERANGE_BASE; /* as a history says it, too */
    if (!schedule_is_past(s, mix, turn))
        code = schedule_go(s, mix, turn, plan, context);
    if (code == STATESAMPLER_ERANGE_BASE)
        code = schedule_go_again(s, mix, turn, plan, context);
    return code;
}

/* Goes on to the beginning of the next stage, of which nothing is noted. */
static inline int schedule_go_on(schedule *s, statesampler_mix *mix,
                                 schedule_plan *plan, void *context)
{
    uint32_t turns;
    int code;

    if (s->by_tokens && statesampler_mix_turn(mix) != s->end)
        return SCHEDULE_ETOKENS;
    code = statesampler_mix_seek(mix, s->end);
    if (code != STATESAMPLER_OK)
        return code;
    code = schedule_stage(&turns, s, mix, plan, context);
    if (code != STATESAMPLER_OK)
        return code;
    schedule_set_weights(s);
    code = statesampler_mix_weigh(mix, s->weights);
    if (code == STATESAMPLER_OK)
        schedule_begin(s, turns);
    return code;
}

/* Whether copies have moved so that they would answer for this turn of their
   run what another run serves, one that goes straight from turn 0. */
static inline int schedule_has_moved(schedule *s, const statesampler_mix *mix,
                                     uint64_t turn)
{
    const uint64_t first = schedule_first(s, mix);

    if (s->known == STATESAMPLER_NONE)
        s->known = first;
    return turn >= s->known && (first < s->known || turn < first);
}

/* A rank's samples in any turn, as mix_at gives them: in the present stage, in
   one to come, or in an earlier one. Those of earlier stages, or before a load
   or a change of ranks, are those of a run that goes straight from turn 0, as
   its ranks and batches are now: what was served then is in a history.
   Errors: as schedule_seek. It moves s and mix to the turn's stage, and notes
   nothing: ask copies, into which you load the states. Asked in their order,
   turns cost least. EMOVED: the copies were asked for a turn before those that
   they knew, and are of that straight run now, or for one of a later stage, and
   the turn is before that: load the states again. */
static inline int schedule_at(schedule *s, statesampler_mix *mix, uint64_t turn,
                              uint64_t *out, size_t *count, uint32_t *source,
                              schedule_plan *plan, void *context)
{
    int code = schedule_check(s, mix);

    if (code == STATESAMPLER_OK && schedule_has_moved(s, mix, turn))
        code = SCHEDULE_EMOVED;
    if (code == STATESAMPLER_OK && schedule_is_past(s, mix, turn)) {
        code = schedule_check_start(s, turn, plan, context);
        if (code == STATESAMPLER_OK)
            code = schedule_begin_mix(s, mix);
        if (code == STATESAMPLER_OK)
            schedule_restart(s);
    }
    while (code == STATESAMPLER_OK && turn >= s->end)
        code = schedule_go_on(s, mix, plan, context);
    return code == STATESAMPLER_OK
               ? statesampler_mix_at(mix, turn, out, count, source)
               : code;
}

/* The turn and the place at which a source's sample is served in its source's
   present epoch, as mix_locate says it: in the present stage, or in one of so
   many that follow. ELATER: in none of them. (It may never come: so there is a
   bound.) ETOKENS: other stages are not known. EMOVED: as schedule_at. Others:
   as mix_locate; ERANGE also of a sample that came in an earlier stage. It
   moves s and mix, and notes nothing: ask copies, into which you load the
   states. */
static inline int schedule_locate(schedule *s, statesampler_mix *mix,
                                  uint32_t source, uint64_t index,
                                  uint32_t stages, uint64_t *turn,
                                  statesampler_place *place,
                                  schedule_plan *plan, void *context)
{
    statesampler_place found;
    uint64_t when = 0;
    int code = schedule_check(s, mix);

    if (code == STATESAMPLER_OK &&
        schedule_has_moved(s, mix, STATESAMPLER_NONE))
        code = SCHEDULE_EMOVED;
    if (code == STATESAMPLER_OK && source < s->num_sources &&
        index >= mix->sources[source].sampler.run.num_samples)
        code = STATESAMPLER_ERANGE_INDEX; /* though its source may be off */
    for (; code == STATESAMPLER_OK; stages--) {
        code = statesampler_mix_locate(mix, source, index, &when, &found);
        /* Weights that were the same before this stage do not hide it. */
        if (code == STATESAMPLER_OK && schedule_is_past(s, mix, when))
            return STATESAMPLER_ERANGE_SERVED;
        if (code == STATESAMPLER_OK && when < s->end) {
            *turn = when;
            *place = found;
            return STATESAMPLER_OK;
        }
        if (code != STATESAMPLER_OK && code != STATESAMPLER_ERANGE_OFF &&
            code != STATESAMPLER_ERANGE_FAR)
            return code;
        if (stages == 0)
            return SCHEDULE_ELATER;
        code = schedule_go_on(s, mix, plan, context);
    }
    return code;
}

/* --- states --------------------------------------------------------------- */

static inline uint64_t schedule_read(const unsigned char *from)
{
    uint64_t number = 0;
    int i;

    for (i = 7; i >= 0; i--)
        number = number << 8 | from[i];
    return number;
}

/* "SSC1" and the number of sources: a state's first word. */
static inline uint64_t schedule_head(uint32_t num_sources)
{
    return (uint64_t)num_sources << 32 | 0x31435353u;
}

/* Writes the state: SCHEDULE_BYTES(num_sources) bytes, the same on all
   machines. ECAPACITY: size is smaller. */
static inline int schedule_save(const schedule *s, void *out, size_t size)
{
    unsigned char *to = (unsigned char *)out;
    const size_t needed = SCHEDULE_BYTES(s->num_sources);
    uint32_t i;

    if (size < needed)
        return STATESAMPLER_ECAPACITY;
    schedule_store(to, schedule_head(s->num_sources));
    /* No stage begins where it has one of the two highest bits. */
    schedule_store(to + 8, s->begin | (uint64_t)s->by_tokens << 63 |
                               (uint64_t)s->late << 62);
    schedule_store(to + 16, s->end);
    for (i = 0; i < s->num_sources; i++)
        schedule_store(to + 24 + 8 * (size_t)i, (uint64_t)s->sources[i].owed);
    schedule_store(to + needed - 8, statesampler_hash(0, to, needed - 8));
    return STATESAMPLER_OK;
}

/* Finds a state at the beginning of some bytes, for who has no schedule: sets
   *used to how many it has, and *end to the turn at which its stage ends.
   ECORRUPT: there is none, or it is damaged; neither is then set. */
static inline int schedule_find(size_t *used, uint64_t *end, const void *bytes,
                                size_t size)
{
    const unsigned char *from = (const unsigned char *)bytes;
    uint32_t sources;
    size_t needed;

    if (size < SCHEDULE_BYTES(0))
        return STATESAMPLER_ECORRUPT_SIZE;
    sources = (uint32_t)(schedule_read(from) >> 32);
    if (schedule_read(from) != schedule_head(sources))
        return STATESAMPLER_ECORRUPT_MAGIC;
    if (sources > (size - SCHEDULE_BYTES(0)) / 8)
        return STATESAMPLER_ECORRUPT_SIZE;
    needed = SCHEDULE_BYTES(sources);
    if (schedule_read(from + needed - 8) !=
        statesampler_hash(0, from, needed - 8))
        return STATESAMPLER_ECORRUPT_CHECK;
    *used = needed;
    *end = schedule_read(from + 16);
    return STATESAMPLER_OK;
}

/* What a source is owed in a state. */
static inline int64_t schedule_read_owed(const unsigned char *from, uint32_t i)
{
    return (int64_t)schedule_read(from + 24 + 8 * (size_t)i);
}

/* Goes on where a state was saved, with a mix that goes on there, too.
   ECORRUPT: it is damaged, or of another number of sources. EOWED: it owes more
   than a stage can go on from. Nothing has then changed. */
static inline int schedule_load(schedule *s, const void *state, size_t size)
{
    const unsigned char *from = (const unsigned char *)state;
    uint64_t end = 0;
    size_t used = 0;
    uint32_t i;
    int code = schedule_find(&used, &end, state, size);

    if (code != STATESAMPLER_OK)
        return code;
    if (used != size || used != SCHEDULE_BYTES(s->num_sources))
        return STATESAMPLER_ECORRUPT_SIZE;
    for (i = 0; i < s->num_sources && code == STATESAMPLER_OK; i++)
        code = schedule_check_owed(schedule_read_owed(from, i));
    if (code != STATESAMPLER_OK)
        return code;
    s->by_tokens = from[15] >> 7;
    s->late = from[15] >> 6 & 1;
    s->begin = schedule_read(from + 8) & (~(uint64_t)0 >> 2);
    s->end = end;
    schedule_reset_known(s);
    s->checked = STATESAMPLER_NONE;
    s->weights[0] = 0;
    for (i = 0; i < s->num_sources; i++)
        s->sources[i].owed = schedule_read_owed(from, i);
    schedule_forget(s);
    return STATESAMPLER_OK;
}

STATESAMPLER_WRAP_END

#endif

/* schedule.c - does examples/extras/schedule.h give each source its share in
   stages of any length, the same through seeks and loads, and refuse all
   else? */
#include "statesampler.h"
#include "examples/extras/schedule.h"

#include "../check.h"

enum { MOST = 40, STATE = STATESAMPLER_MIX_STATE_BYTES(MOST) };

/* Shares that change from stage to stage, and stages of changing length. */
typedef struct story {
    uint32_t num_sources, longest, stop;
    uint64_t seed;
    uint32_t tokens; /* 1: shares are of tokens */
    uint32_t equal;  /* 1: all shares are the same */
    uint32_t on;     /* 1: no share is 0 */
} story;

static uint64_t draw(const story *tale, uint64_t turn, uint32_t i)
{
    const uint64_t numbers[3] = {tale->seed, turn, i};

    return statesampler_hash(0, numbers, sizeof numbers);
}

static uint32_t tell(schedule *s, uint64_t turn, void *context)
{
    const story *tale = (const story *)context;
    uint32_t i;

    for (i = 0; i < s->num_sources; i++) {
        const uint64_t x = draw(tale, turn, i);

        s->sources[i].share = (double)(x >> 44) / (double)(1 + (x & 1023));
        if ((x >> 10) % 8 == 0)
            s->sources[i].share = 0;
        if (tale->on)
            s->sources[i].share += 0.01;
        if (tale->equal)
            s->sources[i].share = 3;
        s->sources[i].mean = tale->tokens ? 1 + (uint32_t)(x % 5000) : 0;
    }
    if (!tale->equal)
        s->sources[draw(tale, turn, MOST) % s->num_sources].share = 1e6;
    return 1 + (uint32_t)(draw(tale, turn, MOST + 1) % tale->longest);
}

static story invent(uint32_t tokens)
{
    story tale;

    tale.num_sources = 1 + (uint32_t)check_random(MOST);
    tale.longest = 1 + (uint32_t)check_random(check_random(3) ? 9 : 3000);
    tale.stop = STATESAMPLER_STOP_NEVER;
    tale.seed = check_random(UINT32_MAX);
    tale.tokens = tokens;
    /* Where all have the same due, the first come first. */
    tale.equal = check_random(4) == 0;
    tale.on = check_random(3) == 0;
    if (tale.equal)
        tale.num_sources = (uint32_t)1 << check_random(6);
    return tale;
}

/* A mix with a schedule. */
typedef struct run {
    statesampler_source sources[MOST];
    statesampler_mix mix;
    schedule_source shares[MOST];
    uint32_t weights[MOST];
    schedule s;
} run;

static void begin(run *r, const story *tale)
{
    uint32_t i;

    for (i = 0; i < tale->num_sources; i++) {
        statesampler_desc desc;

        memset(&desc, 0, sizeof desc);
        desc.num_samples = 1 + i % 7 * 5;
        desc.stream = i;
        desc.epoch = i % 3;
        CHECK(statesampler_init(&r->sources[i].sampler, &desc) ==
              STATESAMPLER_OK);
        r->sources[i].weight = 1;
    }
    CHECK(statesampler_mix_init(&r->mix, r->sources, tale->num_sources,
                                tale->stop) == STATESAMPLER_OK);
    schedule_init(&r->s, r->shares, r->weights, tale->num_sources);
    CHECK(schedule_set_start(&r->s, &r->mix) == STATESAMPLER_OK);
}

/* --- a stage against the definition --------------------------------------- */

/* Each turn goes to the source with most due, the first of several. */
static void deal(const schedule *s, int64_t *due, uint32_t turns,
                 uint32_t *dealt)
{
    uint32_t i, best;

    memset(dealt, 0, s->num_sources * sizeof *dealt);
    for (; turns > 0; turns--) {
        best = s->num_sources;
        for (i = 0; i < s->num_sources; i++)
            if (s->sources[i].part > 0 &&
                (best == s->num_sources || due[i] > due[best]))
                best = i;
        dealt[best]++;
        due[best] -= SCHEDULE_ONE;
    }
}

/* Parts are the shares, as near as whole numbers can be. */
static void check_parts(const schedule *s)
{
    double sum = 0;
    int64_t parts = 0;
    uint32_t i;

    for (i = 0; i < s->num_sources; i++)
        sum += s->sources[i].share;
    for (i = 0; i < s->num_sources; i++) {
        const double exact = s->sources[i].share / sum * (double)SCHEDULE_ONE;

        CHECK((double)s->sources[i].part > exact - 2.01 - exact * 2e-8);
        CHECK((double)s->sources[i].part < exact + 2.01 + exact * 2e-8);
        CHECK(s->sources[i].share > 0 || s->sources[i].part == 0);
        parts += s->sources[i].part;
    }
    CHECK(parts == SCHEDULE_ONE);
}

/* 1/2 + 1/3 + ... + 1/D, in units of 1 / ONE. */
static int64_t harmonic(uint32_t num_sources)
{
    double sum = 0;

    for (; num_sources > 1; num_sources--)
        sum += 1.0 / num_sources;
    return (int64_t)(sum * (double)SCHEDULE_ONE);
}

/* All are as near to their shares as the manual says. on: none has ever been
   without one. */
static void check_bounds(const schedule *s, int on)
{
    const int64_t most = (int64_t)(s->num_sources - 1) * SCHEDULE_ONE / 2;
    int64_t sum = 0;
    uint32_t i;

    for (i = 0; i < s->num_sources; i++) {
        const int64_t owed = s->sources[i].owed;

        CHECK(owed <= most && owed >= -most);
        if (on)
            CHECK(owed <= harmonic(s->num_sources) && owed > -SCHEDULE_ONE);
        sum += owed;
    }
    CHECK(sum == 0);
}

static void test_stages(int cases)
{
    static run r;
    int k, stage, always_on = 0;

    for (k = 0; k < cases; k++) {
        story tale = invent(0);
        int on = 1;

        begin(&r, &tale);
        for (stage = 0; stage < 30; stage++) {
            int64_t due[MOST], before[MOST];
            uint32_t dealt[MOST], i;
            uint64_t turns;

            for (i = 0; i < tale.num_sources; i++)
                before[i] = r.shares[i].owed;
            CHECK(schedule_seek(&r.s, &r.mix, r.s.end + 1, tell, &tale) ==
                  STATESAMPLER_OK);
            turns = r.s.end - r.s.begin;
            check_parts(&r.s);
            for (i = 0; i < tale.num_sources; i++) {
                due[i] = before[i] + (int64_t)turns * r.shares[i].part;
                on = on && r.shares[i].part > 0;
            }
            deal(&r.s, due, (uint32_t)turns, dealt);
            for (i = 0; i < tale.num_sources; i++) {
                CHECK(r.shares[i].turns == dealt[i]);
                CHECK(r.weights[i] == (dealt[i] ? dealt[i] : STATESAMPLER_OFF));
                CHECK(r.shares[i].owed == due[i]);
            }
            check_bounds(&r.s, on);
        }
        always_on += on;
    }
    CHECK(always_on > cases / 5 && always_on < cases / 2);
}

/* --- shares that aim at the worst ----------------------------------------- */

static uint32_t as_told(schedule *s, uint64_t turn, void *context)
{
    const double *shares = (const double *)context;
    uint32_t i;

    (void)turn;
    for (i = 0; i < s->num_sources; i++)
        s->sources[i].share = shares[i];
    return 1;
}

static double turns_owed(const run *r, uint32_t i)
{
    return (double)r->shares[i].owed / (double)SCHEDULE_ONE;
}

static void one_turn(run *r, double *shares, int on)
{
    CHECK(schedule_seek(&r->s, &r->mix, r->s.end + 1, as_told, shares) ==
          STATESAMPLER_OK);
    check_bounds(&r->s, on);
}

/* Two neighbours share a turn, the others have none, so that both would be owed
   as much; the second one gets it. Again and again, each is owed a turn less
   than the one before. */
static void test_worst_of_some(uint32_t num_sources)
{
    static run r;
    story tale = {1, 1, STATESAMPLER_STOP_NEVER, 1, 0, 0, 0};
    const double most = (num_sources - 1) / 2.0;
    double shares[MOST];
    uint32_t i, sweep;

    tale.num_sources = num_sources;
    begin(&r, &tale);
    for (sweep = 0; sweep < 4 * num_sources * num_sources; sweep++)
        for (i = 0; i + 1 < num_sources; i++) {
            const double apart = turns_owed(&r, i) - turns_owed(&r, i + 1);

            memset(shares, 0, sizeof shares);
            shares[i] = (1 - apart) / 2 - 1e-6;
            shares[i + 1] = (1 + apart) / 2 + 1e-6;
            if (shares[i] > 0)
                one_turn(&r, shares, 0);
        }
    CHECK(turns_owed(&r, 0) > most - 0.01);
    CHECK(turns_owed(&r, num_sources - 1) < 0.01 - most);
}

/* Those that have had no turn share the next one, but for next to nothing. */
static void test_worst_of_all(uint32_t num_sources)
{
    static run r;
    story tale = {1, 1, STATESAMPLER_STOP_NEVER, 1, 0, 0, 0};
    double shares[MOST];
    uint32_t i, left;

    tale.num_sources = num_sources;
    begin(&r, &tale);
    for (i = 0; i < num_sources; i++)
        shares[i] = 1;
    for (left = num_sources; left > 1; left--) {
        one_turn(&r, shares, 1);
        for (i = 0; r.shares[i].turns == 0; i++)
            ;
        if (left == num_sources)
            CHECK(turns_owed(&r, i) < 0.001 - 1 + 1.0 / num_sources);
        shares[i] = 1e-8;
    }
    for (i = 0; shares[i] < 1; i++)
        ;
    CHECK(turns_owed(&r, i) >
          (double)harmonic(num_sources) / (double)SCHEDULE_ONE - 1e-4);
}

/* --- the mix that follows ------------------------------------------------- */

/* Takes turns, and checks that each stage has the turns that were planned. */
static void take(run *r, story *tale, uint64_t turns)
{
    static uint32_t had[MOST];
    uint32_t source = 0, i;
    size_t count;

    for (; turns > 0; turns--) {
        if (statesampler_mix_turn(&r->mix) == r->s.end)
            memset(had, 0, sizeof had);
        CHECK(schedule_follow(&r->s, &r->mix, tell, tale) == STATESAMPLER_OK);
        CHECK(statesampler_mix_next(&r->mix, NULL, &count, &source) == 1);
        had[source]++;
        if (tale->tokens)
            CHECK(schedule_had(&r->s, source,
                               draw(tale, turns, source) % 9000) ==
                  STATESAMPLER_OK);
        if (statesampler_mix_turn(&r->mix) == r->s.end)
            for (i = 0; i < tale->num_sources; i++)
                CHECK(had[i] == r->shares[i].turns);
    }
}

static size_t save(const run *r, unsigned char *state)
{
    const size_t own = SCHEDULE_BYTES(r->s.num_sources);
    const size_t size = statesampler_mix_state_bytes(&r->mix);

    CHECK(schedule_save(&r->s, state, own) == STATESAMPLER_OK);
    CHECK(schedule_save(&r->s, state, own - 1) == STATESAMPLER_ECAPACITY);
    CHECK(statesampler_mix_save(&r->mix, state + own, size) == STATESAMPLER_OK);
    return own + size;
}

static void load(run *r, const unsigned char *state, size_t size)
{
    const size_t own = SCHEDULE_BYTES(r->s.num_sources);

    CHECK(schedule_load(&r->s, state, own) == STATESAMPLER_OK);
    CHECK(statesampler_mix_load(&r->mix, state + own, size - own) ==
          STATESAMPLER_OK);
}

/* Two runs take the same turns, and then have the same states. */
static void check_alike(run *a, run *b, story *tale, int turns)
{
    unsigned char x[2 * STATE], y[2 * STATE];
    uint32_t i = 0, j = 0;
    uint64_t p = 0, q = 0;
    size_t count;

    for (; turns > 0; turns--) {
        CHECK(schedule_follow(&a->s, &a->mix, tell, tale) == STATESAMPLER_OK);
        CHECK(schedule_follow(&b->s, &b->mix, tell, tale) == STATESAMPLER_OK);
        CHECK(statesampler_mix_next(&a->mix, &p, &count, &i) == 1);
        CHECK(statesampler_mix_next(&b->mix, &q, &count, &j) == 1);
        CHECK(i == j && p == q);
    }
    CHECK(a->s.begin == b->s.begin && a->s.end == b->s.end);
    CHECK(statesampler_mix_turn(&a->mix) == statesampler_mix_turn(&b->mix));
    CHECK(schedule_save(&a->s, x, sizeof x) == STATESAMPLER_OK);
    CHECK(schedule_save(&b->s, y, sizeof y) == STATESAMPLER_OK);
    CHECK(memcmp(x, y, SCHEDULE_BYTES(tale->num_sources)) == 0);
}

/* Straight, by a seek from anywhere before, and through a load. */
static void test_places(int cases)
{
    static run straight, other;
    static unsigned char state[2 * STATE];
    int k;

    for (k = 0; k < cases; k++) {
        story tale = invent(0);
        const uint64_t most = 3 * (uint64_t)tale.longest + 5;
        uint64_t from = check_random(most), turn = from + check_random(most);
        size_t size;

        begin(&straight, &tale);
        take(&straight, &tale, turn);
        begin(&other, &tale);
        take(&other, &tale, from);
        CHECK(schedule_seek(&other.s, &other.mix, turn, tell, &tale) ==
              STATESAMPLER_OK);
        check_alike(&straight, &other, &tale, 40);
        size = save(&straight, state);
        begin(&other, &tale);
        take(&other, &tale, check_random(20));
        load(&other, state, size);
        check_alike(&straight, &other, &tale, 40);
    }
}

/* A mix that is loaded alone, from where its stage began, has the weights of
   the stage before. */
static void test_loaded_alone(int cases)
{
    static run r, same;
    static unsigned char state[2 * STATE], before[2 * STATE], after[2 * STATE];
    uint32_t other[MOST];
    int k, refused = 0, weighed = 0;

    for (k = 0; k < MOST; k++)
        other[k] = 1;
    for (k = 0; k < cases; k++) {
        story tale = invent(0);
        const size_t own = SCHEDULE_BYTES(tale.num_sources);
        size_t size;
        int code, differ;

        begin(&r, &tale);
        take(&r, &tale, check_random(50));
        CHECK(schedule_seek(&r.s, &r.mix, r.s.end, tell, &tale) ==
              STATESAMPLER_OK);
        size = save(&r, state);
        CHECK(schedule_follow(&r.s, &r.mix, tell, &tale) == STATESAMPLER_OK);
        (void)save(&r, before);
        differ = memcmp(state + own, before + own, size - own) != 0;
        CHECK(statesampler_mix_load(&r.mix, state + own, size - own) ==
              STATESAMPLER_OK);
        (void)save(&r, before);
        code = schedule_follow(&r.s, &r.mix, tell, &tale);
        CHECK(code == (differ ? SCHEDULE_EWEIGHTS : STATESAMPLER_OK));
        CHECK(schedule_seek(&r.s, &r.mix, r.s.begin, tell, &tale) == code);
        if (differ && r.s.end - r.s.begin > 1) {
            CHECK(statesampler_mix_next(&r.mix, NULL, NULL, NULL) == 1);
            CHECK(schedule_follow(&r.s, &r.mix, tell, &tale) == code);
            CHECK(statesampler_mix_seek(&r.mix, r.s.begin) == STATESAMPLER_OK);
        }
        CHECK(save(&r, after) == size && memcmp(before, after, size) == 0);
        refused += differ;
        load(&r, state, size);
        begin(&same, &tale);
        take(&same, &tale, statesampler_mix_turn(&r.mix));
        check_alike(&r, &same, &tale, 40);
        /* As if it was weighed by hand. */
        if (statesampler_mix_turn(&r.mix) != r.s.end) {
            other[0] = r.weights[0] == 1 ? 2 : 1;
            CHECK(statesampler_mix_weigh(&r.mix, other) == STATESAMPLER_OK);
            CHECK(schedule_follow(&r.s, &r.mix, tell, &tale) ==
                  SCHEDULE_EWEIGHTS);
            weighed++;
        }
    }
    CHECK(refused > cases / 2 && weighed > cases / 3);
}

/* One that is weighed or loaded alone where a stage begins, or is gone back to,
   is found out one turn later, if not at once. */
static void test_alone_at_base(void)
{
    static run r;
    static unsigned char state[2 * STATE];
    const uint32_t other[2] = {9, 1};
    story tale = {2, 9, STATESAMPLER_STOP_NEVER, 4, 0, 0, 1};
    const size_t own = SCHEDULE_BYTES(2);
    size_t size;
    int way;

    for (way = 0; way < 4; way++) {
        begin(&r, &tale);
        take(&r, &tale, 7);
        CHECK(schedule_seek(&r.s, &r.mix, r.s.end, tell, &tale) ==
              STATESAMPLER_OK);
        size = save(&r, state);
        CHECK(schedule_follow(&r.s, &r.mix, tell, &tale) == STATESAMPLER_OK);
        CHECK(r.s.end - r.s.begin > 3);
        take(&r, &tale, way >= 2 ? 2 : 0);
        CHECK(schedule_seek(&r.s, &r.mix, r.s.begin, tell, &tale) ==
              STATESAMPLER_OK);
        CHECK(schedule_follow(&r.s, &r.mix, tell, &tale) == STATESAMPLER_OK);
        CHECK((way % 2 ? statesampler_mix_weigh(&r.mix, other)
                       : statesampler_mix_load(&r.mix, state + own,
                                               size - own)) == STATESAMPLER_OK);
        CHECK(statesampler_mix_next(&r.mix, NULL, NULL, NULL) == 1);
        CHECK(schedule_follow(&r.s, &r.mix, tell, &tale) == SCHEDULE_EWEIGHTS);
    }
    /* In mid-stage, after a load of both. */
    begin(&r, &tale);
    take(&r, &tale, 1);
    while (r.s.end - r.s.begin < 3 ||
           statesampler_mix_turn(&r.mix) != r.s.begin + 1)
        take(&r, &tale, 1);
    size = save(&r, state);
    CHECK(statesampler_mix_load(&r.mix, state + own, size - own) ==
          STATESAMPLER_OK);
    take(&r, &tale, 1);
    CHECK(schedule_follow(&r.s, &r.mix, tell, &tale) == STATESAMPLER_OK);
    CHECK(statesampler_mix_seek(&r.mix, r.s.begin + 1) == STATESAMPLER_OK);
    CHECK(statesampler_mix_weigh(&r.mix, other) == STATESAMPLER_OK);
    CHECK(schedule_follow(&r.s, &r.mix, tell, &tale) == SCHEDULE_EWEIGHTS);
}

/* The state of a mix from just before a stage began, and that of the schedule
   from just after: at one turn, of two checkpoints. It is found out if the two
   stages differ in length. */
static void test_mixed_pair(int cases)
{
    static run r;
    static unsigned char one[2 * STATE], two[2 * STATE], after[2 * STATE];
    int k, refused = 0;

    for (k = 0; k < cases; k++) {
        story tale = invent(0);
        const size_t own = SCHEDULE_BYTES(tale.num_sources);
        uint64_t length;
        size_t size;

        begin(&r, &tale);
        take(&r, &tale, 1 + check_random(50));
        CHECK(schedule_seek(&r.s, &r.mix, r.s.end, tell, &tale) ==
              STATESAMPLER_OK);
        length = r.s.end - r.s.begin;
        size = save(&r, one);
        CHECK(schedule_follow(&r.s, &r.mix, tell, &tale) == STATESAMPLER_OK);
        (void)save(&r, two);
        if (r.s.end - r.s.begin == length)
            continue;
        memcpy(one, two, own);
        load(&r, one, size);
        CHECK(schedule_follow(&r.s, &r.mix, tell, &tale) == SCHEDULE_EWEIGHTS);
        CHECK(schedule_seek(&r.s, &r.mix, r.s.end, tell, &tale) ==
              SCHEDULE_EWEIGHTS);
        CHECK(save(&r, after) == size && memcmp(one, after, size) == 0);
        load(&r, two, size);
        CHECK(schedule_follow(&r.s, &r.mix, tell, &tale) == STATESAMPLER_OK);
        CHECK(save(&r, after) == size && memcmp(two, after, size) == 0);
        refused++;
    }
    CHECK(refused > cases / 3);
}

/* It does not go back to before its stage. */
static void check_late(run *r, story *tale)
{
    static unsigned char before[2 * STATE], after[2 * STATE];
    const uint64_t earlier = r->s.begin - 1;
    size_t count;

    (void)save(r, before);
    CHECK(schedule_seek(&r->s, &r->mix, earlier, tell, tale) == SCHEDULE_ETURN);
    CHECK(schedule_at(&r->s, &r->mix, earlier, NULL, &count, NULL, tell,
                      tale) == SCHEDULE_ETURN);
    CHECK(memcmp(before, after, save(r, after)) == 0);
}

/* A schedule that begins in mid-run, of turns or of tokens, goes on as one that
   is loaded there, and knows no earlier turn. */
static void test_mid_run(int cases)
{
    static run r;
    static unsigned char state[2 * STATE];
    int k;

    for (k = 0; k < cases; k++) {
        story tale = invent((uint32_t)check_random(2));
        const uint64_t turn = 1 + check_random(50);
        size_t size;

        begin(&r, &tale);
        CHECK(statesampler_mix_seek(&r.mix, turn) == STATESAMPLER_OK);
        CHECK(schedule_follow(&r.s, &r.mix, tell, &tale) == SCHEDULE_ETURN);
        schedule_init(&r.s, r.shares, r.weights, tale.num_sources);
        schedule_start(&r.s, turn);
        size = save(&r, state);
        CHECK(schedule_seek(&r.s, &r.mix, turn - 1, tell, &tale) ==
              SCHEDULE_ETURN);
        take(&r, &tale, check_random(100));
        CHECK(r.s.begin >= turn);
        begin(&r, &tale);
        load(&r, state, size);
        take(&r, &tale, 100);
        check_late(&r, &tale);
        size = save(&r, state);
        begin(&r, &tale);
        load(&r, state, size);
        check_late(&r, &tale);
        /* One that was loaded over it is what it is. */
        begin(&r, &tale);
        size = save(&r, state);
        take(&r, &tale, 1);
        schedule_start(&r.s, 1);
        load(&r, state, size);
        take(&r, &tale, r.s.end + 1);
        CHECK(schedule_seek(&r.s, &r.mix, 0, tell, &tale) == STATESAMPLER_OK);
    }
}

/* What a turn serves. */
typedef struct served {
    uint32_t source;
    uint64_t sample;
} served;

enum { LOG = 12000 };

static void take_noted(run *r, story *tale, served *log, uint64_t turns)
{
    size_t count;

    for (; turns > 0; turns--, log++) {
        CHECK(schedule_follow(&r->s, &r->mix, tell, tale) == STATESAMPLER_OK);
        CHECK(statesampler_mix_next(&r->mix, &log->sample, &count,
                                    &log->source) == 1);
    }
}

static void check_at(run *r, story *tale, const served *log, uint64_t turn)
{
    served found = {0, 0};
    size_t count = 0;

    CHECK(schedule_at(&r->s, &r->mix, turn, &found.sample, &count,
                      &found.source, tell, tale) == 1);
    CHECK(count == 1 && found.source == log[turn].source &&
          found.sample == log[turn].sample);
}

/* The same of copies that may have moved away: then they are loaded again.
   Returns how often. */
static uint32_t check_loaded(run *r, story *tale, const unsigned char *state,
                             size_t size, const served *log, uint64_t turn)
{
    int moved = schedule_at(&r->s, &r->mix, turn, NULL, NULL, NULL, tell,
                            tale) == SCHEDULE_EMOVED;

    if (moved) {
        begin(r, tale);
        load(r, state, size);
    }
    check_at(r, tale, log, turn);
    return (uint32_t)moved;
}

/* Any turn, forward or back, is found from any place, also after a load; and
   so does a seek find it. */
static void test_any_turn(int cases)
{
    static run straight, other;
    static served log[LOG];
    static unsigned char state[2 * STATE];
    uint32_t moved = 0;
    int k, i;

    for (k = 0; k < cases; k++) {
        story tale = invent(0);
        const uint64_t most = 3 * (uint64_t)tale.longest + 50;
        uint64_t from = check_random(most), turn;
        size_t size;

        CHECK(most + 50 <= LOG);
        begin(&straight, &tale);
        take_noted(&straight, &tale, log, most + 50);
        begin(&other, &tale);
        take(&other, &tale, from);
        size = save(&other, state);
        if (k % 2) {
            begin(&other, &tale);
            load(&other, state, size);
        }
        for (i = 0; i < 20; i++)
            moved += check_loaded(&other, &tale, state, size, log,
                                  check_random(most));
        moved += check_loaded(&other, &tale, state, size, log, most + 49);
        moved += check_loaded(&other, &tale, state, size, log, 0);
        for (i = 0; i < 5; i++) {
            turn = check_random(most);
            CHECK(schedule_seek(&other.s, &other.mix, turn, tell, &tale) ==
                  STATESAMPLER_OK);
            CHECK(statesampler_mix_turn(&other.mix) == turn);
            begin(&straight, &tale);
            take(&straight, &tale, turn);
            check_alike(&straight, &other, &tale, 9);
        }
    }
    CHECK(moved > (uint32_t)cases);
}

/* After other ranks, copies that were asked for a turn that this run has not
   had do not answer for those that it has, until they are loaded again. */
static void test_moved_copies(void)
{
    static run mine, copies;
    static served log[LOG];
    static unsigned char state[2 * STATE];
    story tale = {5, 9, STATESAMPLER_STOP_NEVER, 8, 0, 0, 0};
    statesampler_place place;
    uint64_t turn, found;
    size_t size;

    begin(&mine, &tale);
    take(&mine, &tale, 100);
    size = save(&mine, state);
    CHECK(statesampler_mix_reshape(&mine.mix, 1, 2) == STATESAMPLER_OK);
    take_noted(&mine, &tale, log + 100, 50);
    for (turn = 100; turn < 150; turn++) {
        begin(&copies, &tale);
        CHECK(statesampler_mix_reshape(&copies.mix, 1, 2) == STATESAMPLER_OK);
        load(&copies, state, size);
        check_at(&copies, &tale, log, turn);
        CHECK(schedule_at(&copies.s, &copies.mix, 99, NULL, NULL, NULL, tell,
                          &tale) == 1);
        CHECK(schedule_at(&copies.s, &copies.mix, turn, NULL, NULL, NULL, tell,
                          &tale) == SCHEDULE_EMOVED);
        CHECK(schedule_locate(&copies.s, &copies.mix, 1, 0, 99, &found, &place,
                              tell, &tale) == SCHEDULE_EMOVED);
        load(&copies, state, size);
        check_at(&copies, &tale, log, 149);
        if (turn < copies.s.begin)
            CHECK(schedule_at(&copies.s, &copies.mix, turn, NULL, NULL, NULL,
                              tell, &tale) == SCHEDULE_EMOVED);
        /* What they seek they know. */
        CHECK(schedule_seek(&copies.s, &copies.mix, turn, tell, &tale) ==
              STATESAMPLER_OK);
        CHECK(schedule_at(&copies.s, &copies.mix, turn, NULL, NULL, NULL, tell,
                          &tale) == 1);
    }
}

/* On other ranks, an earlier turn is that of a straight run on those. */
static void test_other_ranks(void)
{
    static run straight, other;
    static served log[LOG];
    story tale = {5, 9, STATESAMPLER_STOP_NEVER, 8, 0, 0, 0};
    uint64_t turn;

    begin(&straight, &tale);
    CHECK(statesampler_mix_reshape(&straight.mix, 1, 2) == STATESAMPLER_OK);
    take_noted(&straight, &tale, log, 100);
    begin(&other, &tale);
    take(&other, &tale, 100);
    CHECK(statesampler_mix_reshape(&other.mix, 1, 2) == STATESAMPLER_OK);
    for (turn = 99; turn > 0; turn--)
        check_at(&other, &tale, log, turn);
    begin(&other, &tale);
    take(&other, &tale, 100);
    CHECK(statesampler_mix_reshape(&other.mix, 1, 2) == STATESAMPLER_OK);
    CHECK(schedule_seek(&other.s, &other.mix, 99, tell, &tale) ==
          STATESAMPLER_OK);
    begin(&straight, &tale);
    CHECK(statesampler_mix_reshape(&straight.mix, 1, 2) == STATESAMPLER_OK);
    take(&straight, &tale, 99);
    check_alike(&straight, &other, &tale, 50);
}

/* A schedule that was not told how its mix begins, and one that was told
   wrongly. */
static void test_start(void)
{
    static run r, small;
    story tale = {3, 9, STATESAMPLER_STOP_NEVER, 4, 0, 0, 0};
    story two = {2, 9, STATESAMPLER_STOP_NEVER, 4, 0, 0, 0};
    unsigned char before[2 * STATE], after[2 * STATE];
    uint64_t epochs[3] = {9, 9, 9}, sample;
    size_t size, count;

    begin(&r, &tale);
    schedule_epochs(&r.s, epochs);
    CHECK(epochs[0] == 0 && epochs[1] == 1 && epochs[2] == 2);
    take(&r, &tale, 60);
    CHECK(schedule_set_start(&r.s, &r.mix) == SCHEDULE_ETURN);
    begin(&small, &two);
    CHECK(schedule_set_start(&r.s, &small.mix) ==
          STATESAMPLER_EMISMATCH_SOURCES);
    CHECK(statesampler_seek(&small.sources[1].sampler, 1) == STATESAMPLER_OK);
    CHECK(statesampler_mix_init(&small.mix, small.sources, 2, two.stop) ==
          STATESAMPLER_OK);
    CHECK(schedule_set_start(&small.s, &small.mix) == SCHEDULE_ETURN);
    schedule_epochs(&r.s, epochs);
    CHECK(epochs[0] == 0 && epochs[1] == 1 && epochs[2] == 2);

    begin(&r, &tale);
    schedule_init(&r.s, r.shares, r.weights, 3);
    take(&r, &tale, 60);
    size = save(&r, before);
    CHECK(schedule_seek(&r.s, &r.mix, r.s.begin - 1, tell, &tale) ==
          SCHEDULE_ETURN);
    CHECK(schedule_at(&r.s, &r.mix, r.s.begin - 1, &sample, &count, NULL, tell,
                      &tale) == SCHEDULE_ETURN);
    CHECK(save(&r, after) == size && memcmp(before, after, size) == 0);
    CHECK(schedule_seek(&r.s, &r.mix, r.s.begin, tell, &tale) ==
          STATESAMPLER_OK);

    /* The first source may begin in any epoch. */
    begin(&small, &two);
    statesampler_begin(&small.sources[0].sampler, STATESAMPLER_NONE);
    CHECK(statesampler_mix_init(&small.mix, small.sources, 2, two.stop) ==
          STATESAMPLER_OK);
    CHECK(schedule_set_start(&small.s, &small.mix) == STATESAMPLER_OK);
    take(&small, &two, 60);
    CHECK(schedule_seek(&small.s, &small.mix, 5, tell, &two) ==
          STATESAMPLER_OK);
    CHECK(schedule_seek(&small.s, &small.mix, 0, tell, &two) ==
          STATESAMPLER_OK);
    CHECK(statesampler_epoch(&small.sources[0].sampler) == STATESAMPLER_NONE);
}

/* The turn in so many stages from here at which a source's sample comes, if the
   run takes them one after the other; NONE: it does not. */
static uint64_t wait_for(run *r, story *tale, uint32_t source, uint64_t index,
                         uint32_t stages)
{
    for (;;) {
        const uint64_t turn = statesampler_mix_turn(&r->mix);
        uint32_t other = 0;
        uint64_t sample = 0;
        size_t count;

        if (turn == r->s.end && stages-- == 0)
            return STATESAMPLER_NONE;
        CHECK(schedule_follow(&r->s, &r->mix, tell, tale) == STATESAMPLER_OK);
        CHECK(statesampler_mix_next(&r->mix, &sample, &count, &other) == 1);
        if (other == source && sample == index)
            return turn;
    }
}

/* Where a sample comes that the run has not served, and that it has. */
static void test_locate(int cases)
{
    static run straight, other;
    static unsigned char state[2 * STATE];
    int k, here = 0, later = 0, before = 0;

    for (k = 0; k < cases; k++) {
        story tale = invent(0);
        const uint64_t turn = check_random(3 * (uint64_t)tale.longest + 5);
        const uint32_t source = (uint32_t)check_random(tale.num_sources);
        const uint32_t stages = (uint32_t)check_random(20);
        const statesampler *s = &straight.sources[source].sampler;
        statesampler_place place = {0, 7, 0, 0}, of_source;
        uint64_t when = 0, index;
        size_t size;
        int code;

        begin(&straight, &tale);
        take(&straight, &tale, turn);
        size = save(&straight, state);
        begin(&other, &tale);
        load(&other, state, size);
        index = check_random(1 + source % 7 * 5);
        CHECK(statesampler_locate(s, index, &of_source) == STATESAMPLER_OK);
        code = schedule_locate(&other.s, &other.mix, source, index, stages,
                               &when, &place, tell, &tale);
        if (of_source.step < statesampler_step(s)) {
            before++;
            CHECK(code == STATESAMPLER_ERANGE_SERVED ||
                  code == SCHEDULE_ELATER);
            continue;
        }
        if (code == STATESAMPLER_OK) {
            here += when < straight.s.end;
            later += when >= straight.s.end;
            CHECK(place.step == of_source.step && place.slot == 0);
            CHECK(wait_for(&straight, &tale, source, index, stages) == when);
        } else {
            CHECK(code == SCHEDULE_ELATER);
            CHECK(when == 0 && place.step == 7);
            CHECK(wait_for(&straight, &tale, source, index, stages) ==
                  STATESAMPLER_NONE);
        }
    }
    CHECK(here > cases / 50 && later > cases / 20 && before > cases / 20);
}

/* A copy as it is, with all that it knows. */
static void copy_run(run *to, const run *from)
{
    *to = *from;
    to->mix.sources = to->sources;
    to->s.sources = to->shares;
    to->s.weights = to->weights;
}

/* Whether copies say where a sample is served; others then serve it there. */
static int is_where_said(const run *r, story *tale, uint32_t source,
                         uint64_t index)
{
    static run other;
    const uint32_t world_size = r->sources[0].sampler.run.shape.world_size;
    uint64_t batch[1], turn = 0;
    statesampler_place place;
    uint32_t its = MOST;
    size_t count = 0;

    copy_run(&other, r);
    if (schedule_locate(&other.s, &other.mix, source, index, 9, &turn, &place,
                        tell, tale) != STATESAMPLER_OK)
        return 0;
    copy_run(&other, r);
    CHECK(statesampler_mix_reshape(&other.mix, place.rank, world_size) ==
          STATESAMPLER_OK);
    CHECK(schedule_at(&other.s, &other.mix, turn, batch, &count, &its, tell,
                      tale) == 1);
    CHECK(its == source && count == 1 && batch[0] == index);
    return 1;
}

static void go_on(run *r, story *tale, uint64_t turns)
{
    for (; turns > 0; turns--) {
        CHECK(schedule_follow(&r->s, &r->mix, tell, tale) == STATESAMPLER_OK);
        CHECK(statesampler_mix_next(&r->mix, NULL, NULL, NULL) == 1);
    }
}

/* After a load on other ranks, turns of earlier stages are those of a straight
   run: so no sample is said to be in one, also where the weights have been the
   same since. */
static void test_locate_on_other_ranks(int cases)
{
    static run r;
    static unsigned char state[2 * STATE];
    int k, found = 0;

    for (k = 0; k < cases; k++) {
        story tale = {1, 3, STATESAMPLER_STOP_NEVER, 0, 0, 1, 0};
        uint32_t source;
        size_t size;
        uint64_t index;

        tale.num_sources = (uint32_t)1 << check_random(3);
        tale.seed = check_random(UINT32_MAX);
        begin(&r, &tale);
        go_on(&r, &tale, check_random(20));
        size = save(&r, state);
        begin(&r, &tale);
        CHECK(statesampler_mix_reshape(
                  &r.mix, 0, 1 + (uint32_t)check_random(3)) == STATESAMPLER_OK);
        load(&r, state, size);
        go_on(&r, &tale, check_random(20));
        for (source = 0; source < tale.num_sources; source++)
            for (index = 0; index < 31; index++)
                found += is_where_said(&r, &tale, source, index);
    }
    CHECK(found > cases);
}

/* Turns past 2^32, over many sums of stages. */
static uint32_t long_stages(schedule *s, uint64_t turn, void *context)
{
    (void)context;
    s->sources[0].share = turn % 3 ? 1 : 2;
    s->sources[1].share = 5;
    s->sources[2].share = turn % 2 ? 0 : 1e-8;
    return SCHEDULE_MOST_TURNS - 1;
}

/* The steps that a source has had. */
static uint64_t steps_of(const run *r, uint32_t i)
{
    const statesampler *s = &r->sources[i].sampler;

    return (statesampler_epoch(s) - r->shares[i].epoch) *
               statesampler_num_steps(s) +
           statesampler_step(s);
}

static uint32_t longest_stages(schedule *s, uint64_t turn, void *context)
{
    (void)turn;
    (void)context;
    s->sources[0].share = 1;
    s->sources[1].share = 2;
    s->sources[2].share = 5;
    return SCHEDULE_MOST_TURNS;
}

/* Eight of the longest stages have 2^31 turns, and the weights of a mix must
   sum to less. */
static void test_longest(void)
{
    static run r;
    story tale = {3, 1, STATESAMPLER_STOP_NEVER, 1, 0, 0, 0};
    uint64_t stages;

    for (stages = 7; stages < 19; stages++) {
        const uint64_t turn = SCHEDULE_MOST_TURNS * stages;

        begin(&r, &tale);
        CHECK(schedule_seek(&r.s, &r.mix, turn, longest_stages, NULL) ==
              STATESAMPLER_OK);
        CHECK(statesampler_mix_turn(&r.mix) == turn);
        CHECK(steps_of(&r, 0) == turn / 8);
        CHECK(steps_of(&r, 1) == turn / 4);
        CHECK(steps_of(&r, 2) == turn / 8 * 5);
    }
}

/* After a longest stage, whose tokens nobody has told, of a source with long
   batches, one with short batches is due more turns than there are. */
static uint32_t unequal_means(schedule *s, uint64_t turn, void *context)
{
    (void)context;
    s->sources[0].mean = 1000;
    s->sources[1].mean = 1;
    s->sources[0].share = turn == 0;
    s->sources[1].share = turn != 0;
    if (turn == 0)
        return SCHEDULE_MOST_TURNS;
    return 5;
}

static void test_untold(void)
{
    static run r;
    story tale = {2, 1, STATESAMPLER_STOP_NEVER, 1, 0, 0, 0};

    begin(&r, &tale);
    CHECK(schedule_follow(&r.s, &r.mix, unequal_means, NULL) ==
          STATESAMPLER_OK);
    CHECK(schedule_seek(&r.s, &r.mix, SCHEDULE_MOST_TURNS, unequal_means,
                        NULL) == STATESAMPLER_OK);
    CHECK(schedule_follow(&r.s, &r.mix, unequal_means, NULL) ==
          STATESAMPLER_OK);
    CHECK(steps_of(&r, 0) == SCHEDULE_MOST_TURNS);
    CHECK(r.s.sources[1].turns == 5);
}

static void test_far(void)
{
    static run r;
    story tale = {3, 1, STATESAMPLER_STOP_NEVER, 1, 0, 0, 0};
    const uint64_t turn = (uint64_t)SCHEDULE_MOST_TURNS * 45 - 7;
    uint64_t steps[3], sum = 0;
    uint32_t i;

    begin(&r, &tale);
    CHECK(schedule_seek(&r.s, &r.mix, turn, long_stages, NULL) ==
          STATESAMPLER_OK);
    CHECK(statesampler_mix_turn(&r.mix) == turn);
    for (i = 0; i < 3; i++) {
        steps[i] = steps_of(&r, i);
        sum += steps[i];
    }
    CHECK(sum == turn);
    CHECK(steps[1] > turn / 7 * 5 && steps[1] < turn / 6 * 5);
    CHECK(steps[2] > 5 && steps[2] < 15); /* 1e-8 of 6 or 7, every other time */
}

/* No stage begins at turn 2^62 or later, as a state has no room for that. */
static void test_last_stage(void)
{
    static run r, other;
    static unsigned char state[2 * STATE];
    story tale = {3, 9, STATESAMPLER_STOP_NEVER, 4, 0, 0, 0};
    const uint64_t last = (uint64_t)1 << 62;
    int code;

    begin(&r, &tale);
    CHECK(statesampler_mix_seek(&r.mix, last - 15) == STATESAMPLER_OK);
    schedule_init(&r.s, r.shares, r.weights, 3);
    schedule_start(&r.s, last - 15);
    while ((code = schedule_follow(&r.s, &r.mix, tell, &tale)) ==
           STATESAMPLER_OK) {
        CHECK(statesampler_mix_next(&r.mix, NULL, NULL, NULL) == 1);
        begin(&other, &tale);
        load(&other, state, save(&r, state));
        CHECK(other.s.begin == r.s.begin && other.s.end == r.s.end);
        CHECK(other.s.late == 1);
    }
    CHECK(code == STATESAMPLER_ERANGE_FAR);
    CHECK(statesampler_mix_turn(&r.mix) >= last);
}

/* --- shares of tokens ----------------------------------------------------- */

static uint32_t by_tokens(schedule *s, uint64_t turn, void *context)
{
    const uint32_t *means = (const uint32_t *)context;
    uint32_t i;

    (void)turn;
    for (i = 0; i < s->num_sources; i++) {
        s->sources[i].share = 1 + i % 3;
        s->sources[i].mean = means[i];
    }
    return 50;
}

/* After a load amid a stage it is of tokens as before, though `plan` has not
   been asked yet. */
static void check_loaded_tokens(run *r, uint32_t *means)
{
    static unsigned char state[STATE];
    static run other;
    story tale = {9, 1, STATESAMPLER_STOP_NEVER, 3, 1, 0, 0};
    const size_t size = save(r, state);
    uint32_t source;
    size_t count;

    begin(&other, &tale);
    CHECK(schedule_had(&other.s, 0, 9) == SCHEDULE_EMEANS);
    load(&other, state, size);
    CHECK(schedule_had(&other.s, 0, (uint64_t)SCHEDULE_ONE) == SCHEDULE_EMANY);
    CHECK(schedule_had(&other.s, 0, (uint64_t)SCHEDULE_ONE - 1) ==
          STATESAMPLER_OK);
    CHECK(statesampler_mix_next(&other.mix, NULL, &count, &source) == 1);
    CHECK(schedule_at(&other.s, &other.mix, other.s.end, NULL, &count, &source,
                      by_tokens, means) == SCHEDULE_ETOKENS);
    CHECK(schedule_seek(&other.s, &other.mix, other.s.end + 1, by_tokens,
                        means) == SCHEDULE_ETOKENS);
}

/* Two stages, the second with the shares of the first turned round. */
static uint32_t turned(schedule *s, uint64_t turn, void *context)
{
    const uint32_t *mean = (const uint32_t *)context;

    s->sources[turn >= 1000].share = 0.9;
    s->sources[turn < 1000].share = 0.1;
    s->sources[0].mean = s->sources[1].mean = *mean;
    return 1000;
}

/* Takes or skips turns of the first stage, perhaps loaded anew before. */
static void take_or_skip(run *r, uint64_t to, int skip, int loaded,
                         uint32_t *mean)
{
    static unsigned char state[STATE];
    uint32_t source = 0;

    if (loaded) {
        const size_t size = save(r, state);
        story tale = {2, 1, STATESAMPLER_STOP_NEVER, 3, 1, 0, 0};

        begin(r, &tale);
        load(r, state, size);
    }
    CHECK(schedule_follow(&r->s, &r->mix, turned, mean) == STATESAMPLER_OK);
    if (skip)
        CHECK(schedule_seek(&r->s, &r->mix, to, turned, mean) ==
              STATESAMPLER_OK);
    while (statesampler_mix_turn(&r->mix) < to) {
        CHECK(schedule_follow(&r->s, &r->mix, turned, mean) == STATESAMPLER_OK);
        CHECK(statesampler_mix_next(&r->mix, NULL, NULL, &source) == 1);
        if (*mean != 0)
            CHECK(schedule_had(&r->s, source, *mean) == STATESAMPLER_OK);
    }
}

/* The turns of each source since the mix's base, with any tail, batch size and
   ranks, counted one by one. */
static void test_turns_of(void)
{
    static run r;
    uint32_t tail, i, source = 0, epochs = 0;

    for (tail = 0; tail < TAILS; tail++) {
        uint64_t count[3] = {0, 0, 0}, base = 0;
        int turn;

        for (i = 0; i < 3; i++) {
            statesampler_desc desc;

            memset(&desc, 0, sizeof desc);
            desc.num_samples = 7 + 11 * i;
            desc.tail = tail;
            desc.epoch = 5;
            desc.batch_size = 1 + i % 2;
            CHECK(statesampler_init(&r.sources[i].sampler, &desc) ==
                  STATESAMPLER_OK);
            r.sources[i].weight = 1 + i;
        }
        CHECK(statesampler_mix_init(&r.mix, r.sources, 3,
                                    STATESAMPLER_STOP_NEVER) ==
              STATESAMPLER_OK);
        for (turn = 0; turn < 400; turn++) {
            if (turn % 100 == 90)
                CHECK(statesampler_mix_reshape(&r.mix, 0, turn < 200 ? 2 : 3) ==
                      STATESAMPLER_OK);
            if (r.mix.base_turn != base)
                memset(count, 0, sizeof count);
            base = r.mix.base_turn;
            for (i = 0; i < 3; i++)
                CHECK(schedule_turns_of(r.sources + i) == count[i]);
            CHECK(statesampler_mix_next(&r.mix, NULL, NULL, &source) == 1);
            count[source]++;
        }
        epochs += statesampler_epoch(&r.sources[0].sampler) > 9;
    }
    CHECK(epochs == TAILS);
}

/* Turns that a seek passes over are not owed: the next stage has its shares,
   with tokens as with turns. */
static void test_passed_tokens(void)
{
    static run r;
    story tale = {2, 1, STATESAMPLER_STOP_NEVER, 3, 1, 0, 0};
    uint32_t mean, way;

    for (mean = 0; mean <= 500; mean += 500)
        for (way = 0; way < 16; way++) {
            begin(&r, &tale);
            take_or_skip(&r, 300, way & 1, 0, &mean);
            take_or_skip(&r, 700, way & 2, way & 4, &mean);
            if (way & 8)
                CHECK(schedule_seek(&r.s, &r.mix, 400, turned, &mean) ==
                      STATESAMPLER_OK);
            take_or_skip(&r, 1000, !(way & 1), way & 4, &mean);
            CHECK(schedule_follow(&r.s, &r.mix, turned, &mean) ==
                  STATESAMPLER_OK);
            CHECK(r.weights[0] == 100 && r.weights[1] == 900);
        }
}

/* A stage in which all but one source were told of, one of them in a sum at its
   end, and one that had no tokens. */
static void take_told(run *r, uint32_t *means, uint32_t silent)
{
    uint32_t source = 0;
    uint64_t end;

    CHECK(schedule_follow(&r->s, &r->mix, by_tokens, means) == STATESAMPLER_OK);
    for (end = r->s.end; statesampler_mix_turn(&r->mix) < end;) {
        CHECK(statesampler_mix_next(&r->mix, NULL, NULL, &source) == 1);
        if (source != silent && source != 2)
            CHECK(schedule_had(&r->s, source, source == 1 ? 0 : 900) ==
                  STATESAMPLER_OK);
    }
    if (silent != 2)
        CHECK(schedule_had(&r->s, 2, 9000) == STATESAMPLER_OK);
}

/* What nobody told of a source is an error where the next stage would begin,
   until it is told, or the turns are passed over or loaded. */
static void test_forgotten(void)
{
    static unsigned char before[2 * STATE], after[2 * STATE];
    static run r;
    story tale = {4, 1, STATESAMPLER_STOP_NEVER, 3, 1, 0, 0};
    uint32_t means[4] = {900, 900, 900, 900}, silent, way;
    size_t size;

    for (silent = 0; silent < 4; silent++)
        for (way = 0; way < 4; way++) {
            begin(&r, &tale);
            take_told(&r, means, 4);
            take_told(&r, means, silent);
            size = save(&r, before);
            CHECK(schedule_follow(&r.s, &r.mix, by_tokens, means) ==
                  SCHEDULE_EHAD);
            CHECK(schedule_seek(&r.s, &r.mix, r.s.end + 1, by_tokens, means) ==
                  SCHEDULE_EHAD);
            CHECK(schedule_at(&r.s, &r.mix, r.s.end, NULL, NULL, NULL,
                              by_tokens, means) == SCHEDULE_EHAD);
            CHECK(save(&r, after) == size && memcmp(before, after, size) == 0);
            if (way == 0)
                CHECK(schedule_had(&r.s, silent, 0) == STATESAMPLER_OK);
            else if (way == 1)
                load(&r, before, size);
            else
                CHECK(schedule_seek(&r.s, &r.mix, r.s.end - (way == 2 ? 1 : 99),
                                    by_tokens, means) == STATESAMPLER_OK);
            CHECK(schedule_seek(&r.s, &r.mix, r.s.end, by_tokens, means) ==
                  STATESAMPLER_OK);
            take_told(&r, means, 4);
            CHECK(schedule_follow(&r.s, &r.mix, by_tokens, means) ==
                  STATESAMPLER_OK);
        }
}

/* Stages of 2 turns, the second of one source alone. */
static uint32_t by_turns(schedule *s, uint64_t turn, void *context)
{
    (void)context;
    s->sources[0].share = 1;
    s->sources[1].share = turn == 0;
    s->sources[0].mean = s->sources[1].mean = 100;
    return 2;
}

/* A source that is off in a stage had no tokens in it. */
static void test_told_of_none(void)
{
    static unsigned char before[2 * STATE], after[2 * STATE];
    static run r;
    story tale = {2, 1, STATESAMPLER_STOP_NEVER, 3, 1, 0, 0};
    uint32_t source = 0, i;
    size_t size;

    begin(&r, &tale);
    for (i = 0; i < 4; i++) {
        CHECK(schedule_follow(&r.s, &r.mix, by_turns, NULL) == STATESAMPLER_OK);
        CHECK(statesampler_mix_next(&r.mix, NULL, NULL, &source) == 1);
        CHECK(schedule_had(&r.s, source, 100) == STATESAMPLER_OK);
        size = save(&r, before);
        CHECK(schedule_had(&r.s, 1, 9) ==
              (i < 2 ? STATESAMPLER_OK : STATESAMPLER_ERANGE_OFF));
        CHECK(save(&r, after) == size);
        CHECK((memcmp(before, after, size) == 0) == (i >= 2));
    }
    load(&r, before, size);
    CHECK(schedule_had(&r.s, 1, 9) == STATESAMPLER_OK); /* it is not known */
    (void)schedule_seek(&r.s, &r.mix, r.s.begin + 1, by_turns, NULL);
    CHECK(schedule_follow(&r.s, &r.mix, by_turns, NULL) == STATESAMPLER_OK);
    CHECK(schedule_had(&r.s, 1, 9) == STATESAMPLER_ERANGE_OFF);
}

/* Batches that differ from their means by far, always to the same side: tokens
   are in their shares all the same, to within a few batches. */
static void test_tokens(int turns)
{
    static run r;
    story tale = {9, 1, STATESAMPLER_STOP_NEVER, 3, 1, 0, 0};
    uint32_t means[9], i, source = 0, unknown = 0;
    double had[9] = {0}, sum = 0, parts = 0;
    statesampler_place place;
    uint64_t turn;
    size_t count;

    for (i = 0; i < 9; i++) {
        means[i] = 1000 + 4000 * i;
        parts += 1 + i % 3;
    }
    begin(&r, &tale);
    for (; turns > 0; turns--) {
        uint64_t tokens;

        CHECK(schedule_follow(&r.s, &r.mix, by_tokens, means) ==
              STATESAMPLER_OK);
        CHECK(statesampler_mix_next(&r.mix, NULL, &count, &source) == 1);
        tokens = means[source] / (1 + source % 4) + check_random(500);
        CHECK(schedule_had(&r.s, source, tokens) == STATESAMPLER_OK);
        had[source] += (double)tokens;
        sum += (double)tokens;
    }
    for (i = 0; i < 9; i++) {
        const double share = sum * (1 + i % 3) / parts;

        CHECK(had[i] > share - 3.0 * means[8]);
        CHECK(had[i] < share + 3.0 * means[8]);
    }
    CHECK(schedule_follow(&r.s, &r.mix, by_tokens, means) == STATESAMPLER_OK);
    for (i = 0; i < 31; i++)
        unknown += schedule_locate(&r.s, &r.mix, 6, i, 9, &turn, &place,
                                   by_tokens, means) == SCHEDULE_ETOKENS;
    CHECK(unknown > 5 && statesampler_mix_turn(&r.mix) == r.s.begin);
    turn = statesampler_mix_turn(&r.mix);
    for (i = 1; i < 99; i += 49)
        CHECK(schedule_seek(&r.s, &r.mix, r.s.end + i, by_tokens, means) ==
              SCHEDULE_ETOKENS);
    CHECK(statesampler_mix_turn(&r.mix) == turn);
    check_loaded_tokens(&r, means);
    /* What is owed is in tokens, so shares of turns would not go on from it. */
    CHECK(schedule_seek(&r.s, &r.mix, r.s.end, by_tokens, means) ==
          STATESAMPLER_OK);
    memset(means, 0, sizeof means);
    CHECK(schedule_follow(&r.s, &r.mix, by_tokens, means) == SCHEDULE_EMEANS);
    for (i = 0; i < 9; i++)
        means[i] = 1000 + 4000 * i;
    /* But for the next one, where it begins. */
    turn = r.s.end;
    CHECK(schedule_seek(&r.s, &r.mix, turn, by_tokens, means) ==
          STATESAMPLER_OK);
    CHECK(schedule_seek(&r.s, &r.mix, turn + 9, by_tokens, means) ==
          STATESAMPLER_OK);
    CHECK(r.s.begin == turn && statesampler_mix_turn(&r.mix) == turn + 9);
    /* Of earlier stages the first one is known: what it had is not needed. */
    turn = statesampler_mix_turn(&r.mix);
    CHECK(schedule_seek(&r.s, &r.mix, 51, by_tokens, means) ==
          SCHEDULE_ETOKENS);
    CHECK(schedule_at(&r.s, &r.mix, 51, NULL, &count, &source, by_tokens,
                      means) == SCHEDULE_ETOKENS);
    CHECK(statesampler_mix_turn(&r.mix) == turn);
    CHECK(schedule_at(&r.s, &r.mix, 49, NULL, &count, &source, by_tokens,
                      means) == 1);
    CHECK(schedule_at(&r.s, &r.mix, 50, NULL, &count, &source, by_tokens,
                      means) == SCHEDULE_ETOKENS);
    CHECK(schedule_seek(&r.s, &r.mix, 50, by_tokens, means) == STATESAMPLER_OK);
    CHECK(schedule_seek(&r.s, &r.mix, 7, by_tokens, means) == STATESAMPLER_OK);
    CHECK(statesampler_mix_turn(&r.mix) == 7);
    tale = invent(1);
    begin(&r, &tale);
    take(&r, &tale, 500);
}

/* --- shares of tokens, told exactly --------------------------------------- */

enum { MANY = 300 };

/* A mix of up to MANY sources, of which each batch has its mean. */
typedef struct exact {
    statesampler_source sources[MANY];
    statesampler_mix mix;
    schedule_source shares[MANY];
    uint32_t weights[MANY];
    schedule s;
    uint32_t num_sources, turns;
    double share[MANY]; /* they sum to 1 */
    uint32_t mean[MANY];
    double had[MANY], sum;
} exact;

static uint32_t exactly(schedule *s, uint64_t turn, void *context)
{
    const exact *e = (const exact *)context;
    uint32_t i;

    (void)turn;
    for (i = 0; i < s->num_sources; i++) {
        s->sources[i].share = e->share[i];
        s->sources[i].mean = e->mean[i];
    }
    return e->turns;
}

/* Means from `least` to `most`; shares of which some are `apart` times others,
   roughly. */
static void begin_exact(exact *e, uint32_t num_sources, uint32_t turns,
                        uint32_t least, uint32_t most, uint32_t apart)
{
    double sum = 0;
    uint32_t i;

    memset(e, 0, sizeof *e);
    e->num_sources = num_sources;
    e->turns = turns;
    for (i = 0; i < num_sources; i++) {
        statesampler_desc desc;

        memset(&desc, 0, sizeof desc);
        desc.num_samples = 1000 + i;
        desc.stream = i;
        CHECK(statesampler_init(&e->sources[i].sampler, &desc) ==
              STATESAMPLER_OK);
        e->sources[i].weight = 1;
        e->mean[i] = least + (uint32_t)check_random(most - least + 1);
        e->share[i] = 1 / (1 + (double)check_random(apart));
        if (check_random(2) == 0)
            e->share[i] = 0.5 + (double)check_random(1000) / 1000;
        sum += e->share[i];
    }
    for (i = 0; i < num_sources; i++)
        e->share[i] /= sum;
    CHECK(statesampler_mix_init(&e->mix, e->sources, num_sources,
                                STATESAMPLER_STOP_NEVER) == STATESAMPLER_OK);
    schedule_init(&e->s, e->shares, e->weights, num_sources);
}

/* Takes a turn, and tells its tokens. */
static uint32_t take_exactly(exact *e)
{
    uint32_t source = 0;
    size_t count;

    CHECK(schedule_follow(&e->s, &e->mix, exactly, e) == STATESAMPLER_OK);
    CHECK(statesampler_mix_next(&e->mix, NULL, &count, &source) == 1);
    CHECK(schedule_had(&e->s, source, e->mean[source]) == STATESAMPLER_OK);
    e->had[source] += e->mean[source];
    e->sum += e->mean[source];
    return source;
}

/* Each is so near to its share of the tokens: in turns of its own, or in turns
   of so many tokens. */
static void check_exact(const exact *e, double turns, double tokens)
{
    uint32_t i, off = 0;

    for (i = 0; i < e->num_sources; i++) {
        const double most = turns * (tokens > 0 ? tokens : e->mean[i]);
        const double far = e->had[i] - e->sum * e->share[i];

        off += far > most || far < -most;
    }
    CHECK(off == 0);
}

static void test_exact(int turns)
{
    static exact e;
    const uint32_t sources[] = {2, 9, MANY}, stages[] = {1, 2, 7, 100};
    const uint32_t least[] = {1, 1000, (uint32_t)1 << 20, 1, 1};
    const uint32_t most[] = {1, 2000, (uint32_t)1 << 20, 4096,
                             (uint32_t)1 << 20};
    uint32_t d, l, m, apart;
    int k;

    for (d = 0; d < 3; d++)
        for (l = 0; l < 4; l++)
            for (m = 0; m < 5; m++)
                for (apart = 1; apart <= 1000000; apart *= 1000000) {
                    if (m > 2 && l > 1)
                        continue; /* far means take short stages */
                    begin_exact(&e, sources[d], stages[l], least[m], most[m],
                                apart);
                    for (k = 0; k < turns; k++) {
                        take_exactly(&e);
                        if (e.s.end == statesampler_mix_turn(&e.mix))
                            check_exact(&e, 2, m > 2 ? most[m] : 0);
                    }
                }
}

/* What rounding leaves does not add up in a long run. */
static void test_no_drift(int turns)
{
    static exact e;
    const double shares[4] = {0.55, 0.3, 0.1, 0.05};
    uint32_t stage;
    int k;

    for (stage = 1; stage <= 7; stage += 6) {
        begin_exact(&e, 4, stage, 1, 1, 1);
        memcpy(e.share, shares, sizeof shares);
        for (k = 0; k < turns; k++)
            take_exactly(&e);
        check_exact(&e, 1.5, 0);
    }
}

/* Goes on in `to` where `from` is. */
static void load_exact(exact *to, const exact *from)
{
    static unsigned char state[SCHEDULE_BYTES(MANY)];
    static unsigned char mix[STATESAMPLER_MIX_STATE_BYTES(MANY)];
    const size_t own = SCHEDULE_BYTES(from->num_sources);
    const size_t size = statesampler_mix_state_bytes(&from->mix);

    CHECK(schedule_save(&from->s, state, own) == STATESAMPLER_OK);
    CHECK(statesampler_mix_save(&from->mix, mix, size) == STATESAMPLER_OK);
    begin_exact(to, from->num_sources, from->turns, 1, 1, 1);
    memcpy(to->share, from->share, sizeof to->share);
    memcpy(to->mean, from->mean, sizeof to->mean);
    memcpy(to->had, from->had, sizeof to->had);
    to->sum = from->sum;
    CHECK(schedule_load(&to->s, state, own) == STATESAMPLER_OK);
    CHECK(statesampler_mix_load(&to->mix, mix, size) == STATESAMPLER_OK);
}

/* Passes over a turn, which counts as its mean. */
static void skip_exactly(exact *e)
{
    const uint64_t turn = statesampler_mix_turn(&e->mix);
    uint32_t source = 0;
    size_t count;

    CHECK(schedule_follow(&e->s, &e->mix, exactly, e) == STATESAMPLER_OK);
    CHECK(statesampler_mix_at(&e->mix, turn, NULL, &count, &source) == 1);
    CHECK(schedule_seek(&e->s, &e->mix, turn + 1, exactly, e) ==
          STATESAMPLER_OK);
    e->had[source] += e->mean[source];
    e->sum += e->mean[source];
}

/* The same with loads, with seeks over turns, and as copies answer. */
static void test_exact_again(int turns)
{
    static exact e, other;
    uint32_t source = 0;
    size_t count;
    int k;

    begin_exact(&e, 9, 7, 1000, 2000, 1000000);
    for (k = 0; k < turns; k++) {
        load_exact(&other, &e);
        if (k % 5 == 0)
            load_exact(&e, &other);
        CHECK(schedule_at(&other.s, &other.mix, statesampler_mix_turn(&e.mix),
                          NULL, &count, &source, exactly, &other) == 1);
        if (k % 9 == 4)
            skip_exactly(&e);
        else
            CHECK(take_exactly(&e) == source);
        if (statesampler_mix_turn(&e.mix) == e.s.end)
            check_exact(&e, 2, 0);
    }
}

static uint32_t long_of_tokens(schedule *s, uint64_t turn, void *context)
{
    (void)turn;
    s->sources[0].share = 1;
    s->sources[0].mean = *(const uint32_t *)context;
    return SCHEDULE_MOST_TURNS;
}

/* As many tokens as a stage can have, and more. */
static void test_most_tokens(void)
{
    static run r;
    static unsigned char state[STATE];
    story tale = {1, 9, STATESAMPLER_STOP_NEVER, 4, 0, 0, 0};
    uint32_t mean = ((uint32_t)1 << 22) + 1;
    size_t size;
    int told = 0, code;

    begin(&r, &tale);
    size = save(&r, state);
    CHECK(schedule_follow(&r.s, &r.mix, long_of_tokens, &mean) ==
          SCHEDULE_ETURNS);
    load(&r, state, size);
    mean--;
    CHECK(schedule_follow(&r.s, &r.mix, long_of_tokens, &mean) ==
          STATESAMPLER_OK);
    CHECK(r.shares[0].turns == SCHEDULE_MOST_TURNS);
    while ((code = schedule_had(&r.s, 0, 0x7fffffff)) == STATESAMPLER_OK)
        told++;
    CHECK(code == SCHEDULE_EOWED && told > 1 << 20);
    CHECK(schedule_had(&r.s, 0, 0) == STATESAMPLER_OK);
    size = save(&r, state);
    load(&r, state, size);
}

/* --- what is refused ------------------------------------------------------ */

typedef struct bad {
    double share[3];
    uint32_t mean[3], turns;
} bad;

static uint32_t tell_bad(schedule *s, uint64_t turn, void *context)
{
    const bad *b = (const bad *)context;
    uint32_t i;

    (void)turn;
    for (i = 0; i < 3; i++) {
        s->sources[i].share = b->share[i];
        s->sources[i].mean = b->mean[i];
    }
    return b->turns;
}

static void check_bad(double a, double b, double c, uint32_t mean,
                      uint32_t other, uint32_t turns, int code)
{
    static run r, same;
    bad what = {{a, b, c}, {mean, other, mean}, 0};
    story tale = {3, 9, STATESAMPLER_STOP_NEVER, 4, 0, 0, 0};
    unsigned char before[2 * STATE], after[2 * STATE];
    size_t size;

    what.turns = turns;
    begin(&r, &tale);
    take(&r, &tale, 10);
    CHECK(schedule_seek(&r.s, &r.mix, r.s.end, tell, &tale) == STATESAMPLER_OK);
    size = save(&r, before);
    CHECK(schedule_follow(&r.s, &r.mix, tell_bad, &what) == code);
    if (code == STATESAMPLER_OK)
        return;
    CHECK(save(&r, after) == size && memcmp(before, after, size) == 0);
    if (code != SCHEDULE_ETOKENS) {
        CHECK(schedule_seek(&r.s, &r.mix, r.s.end + 99, tell_bad, &what) ==
              code);
        CHECK(save(&r, after) == size && memcmp(before, after, size) == 0);
    }
    begin(&same, &tale);
    take(&same, &tale, r.s.end);
    check_alike(&r, &same, &tale, 30);
}

/* Shares of any size: only their ratio matters. */
static void test_size_of_shares(void)
{
    static run r;
    const double factors[] = {1, 1e300, 1e-270, 1e-300, 1e-323};
    story tale = {3, 9, STATESAMPLER_STOP_NEVER, 4, 0, 0, 0};
    bad what = {{0, 0, 0}, {0, 0, 0}, 80};
    size_t i;

    for (i = 0; i < sizeof factors / sizeof factors[0]; i++) {
        begin(&r, &tale);
        what.share[0] = 1 * factors[i];
        what.share[1] = 5 * factors[i];
        what.share[2] = 2 * factors[i];
        CHECK(schedule_follow(&r.s, &r.mix, tell_bad, &what) ==
              STATESAMPLER_OK);
        CHECK(r.shares[0].turns == 10 && r.shares[1].turns == 50);
        CHECK(r.shares[2].turns == 20);
    }
}

/* A source that has no steps may have no share. */
static void test_no_steps(void)
{
    static run r;
    story tale = {3, 9, STATESAMPLER_STOP_NEVER, 4, 0, 0, 0};
    unsigned char before[2 * STATE], after[2 * STATE];
    bad what = {{1, 1, 1}, {0, 0, 0}, 5};
    statesampler_desc desc;
    size_t size;

    begin(&r, &tale);
    memset(&desc, 0, sizeof desc);
    desc.num_samples = 1;
    desc.batch_size = 2;
    desc.drop_last = 1;
    CHECK(statesampler_init(&r.sources[1].sampler, &desc) == STATESAMPLER_OK);
    CHECK(statesampler_mix_init(&r.mix, r.sources, 3, tale.stop) ==
          STATESAMPLER_OK);
    size = save(&r, before);
    CHECK(schedule_follow(&r.s, &r.mix, tell_bad, &what) == SCHEDULE_ESTEPS);
    CHECK(schedule_seek(&r.s, &r.mix, 99, tell_bad, &what) == SCHEDULE_ESTEPS);
    CHECK(save(&r, after) == size && memcmp(before, after, size) == 0);
    what.share[1] = 0;
    CHECK(schedule_follow(&r.s, &r.mix, tell_bad, &what) == STATESAMPLER_OK);
    CHECK(schedule_seek(&r.s, &r.mix, 99, tell_bad, &what) == STATESAMPLER_OK);
}

/* A run of three sources, of which the first has too few samples for a step of
   four ranks. */
static void begin_few(run *r, uint32_t world_size, uint32_t batch_size,
                      uint32_t tail)
{
    uint32_t i;

    for (i = 0; i < 3; i++) {
        statesampler_desc desc;

        memset(&desc, 0, sizeof desc);
        desc.num_samples = i == 0 ? 3 * batch_size : 1000;
        desc.world_size = world_size;
        desc.batch_size = batch_size;
        desc.tail = tail;
        desc.drop_last = tail != STATESAMPLER_TAIL_DROP;
        CHECK(statesampler_init(&r->sources[i].sampler, &desc) ==
              STATESAMPLER_OK);
        r->sources[i].weight = 1;
    }
    CHECK(statesampler_mix_init(&r->mix, r->sources, 3,
                                STATESAMPLER_STOP_NEVER) == STATESAMPLER_OK);
    schedule_init(&r->s, r->shares, r->weights, 3);
    CHECK(schedule_set_start(&r->s, &r->mix) == STATESAMPLER_OK);
}

/* A source that has no steps on more ranks is found out at once, wherever it is
   in its epoch: nothing is served then. */
static void check_more_ranks(uint64_t turns, uint32_t batch_size, uint32_t tail)
{
    static run r, more;
    unsigned char before[2 * STATE], after[2 * STATE];
    bad what = {{2, 1, 1}, {0, 0, 0}, 20};
    const int mid = turns % 20 != 0;
    uint64_t turn;
    size_t size;

    begin_few(&r, 1, batch_size, tail);
    for (turn = 0; turn < turns; turn++) {
        CHECK(schedule_follow(&r.s, &r.mix, tell_bad, &what) ==
              STATESAMPLER_OK);
        CHECK(statesampler_mix_next(&r.mix, NULL, NULL, NULL) == 1);
    }
    size = save(&r, before);
    begin_few(&more, 4, batch_size, tail);
    load(&more, before, size);
    CHECK(statesampler_mix_reshape(&r.mix, 0, 4) == STATESAMPLER_OK);
    CHECK(schedule_follow(&r.s, &r.mix, tell_bad, &what) == SCHEDULE_ESTEPS);
    size = save(&more, before);
    CHECK(schedule_follow(&more.s, &more.mix, tell_bad, &what) ==
          SCHEDULE_ESTEPS);
    CHECK(schedule_at(&more.s, &more.mix, turns, NULL, NULL, NULL, tell_bad,
                      &what) == SCHEDULE_ESTEPS);
    CHECK(schedule_seek(&more.s, &more.mix, turns + 1, tell_bad, &what) ==
          SCHEDULE_ESTEPS);
    CHECK(save(&more, after) == size && memcmp(before, after, size) == 0);
    /* Back on one rank, or without it, the run goes on. */
    CHECK(statesampler_mix_reshape(&r.mix, 0, 1) == STATESAMPLER_OK);
    CHECK(schedule_follow(&r.s, &r.mix, tell_bad, &what) == STATESAMPLER_OK);
    what.share[0] = 0;
    CHECK(schedule_follow(&more.s, &more.mix, tell_bad, &what) ==
          (mid ? SCHEDULE_ESTEPS : STATESAMPLER_OK));
}

static void test_more_ranks(void)
{
    const uint64_t turns[4] = {0, 20, 23, 39};
    int i;

    for (i = 0; i < 4; i++) {
        check_more_ranks(turns[i], 8, STATESAMPLER_TAIL_PAD);
        check_more_ranks(turns[i], 8, STATESAMPLER_TAIL_UNEVEN);
        check_more_ranks(turns[i], 1, STATESAMPLER_TAIL_DROP);
    }
}

/* What a plan is that is impossible from a turn on. */
typedef struct broken {
    story tale;
    uint64_t from;
} broken;

static uint32_t tell_until(schedule *s, uint64_t turn, void *context)
{
    broken *off = (broken *)context;
    const uint32_t turns = tell(s, turn, &off->tale);

    if (turn >= off->from)
        s->sources[0].share = -1;
    return turns;
}

/* After a seek that was refused on its way, all turns are as they are. */
static void test_refused_seek(int cases)
{
    static run r, same, copy;
    static unsigned char state[2 * STATE];
    int k;

    for (k = 0; k < cases; k++) {
        broken off;
        uint64_t turn;
        size_t size;

        off.tale = invent(0);
        begin(&r, &off.tale);
        take(&r, &off.tale, 1 + check_random(49));
        off.from = r.s.end + check_random(100);
        CHECK(schedule_seek(&r.s, &r.mix, off.from + 2 * off.tale.longest,
                            tell_until, &off) == SCHEDULE_ESHARES);
        CHECK(statesampler_mix_turn(&r.mix) == r.s.end && r.s.end >= off.from);
        turn = check_random(r.s.end);
        begin(&same, &off.tale);
        take(&same, &off.tale, turn);
        CHECK(schedule_follow(&same.s, &same.mix, tell, &off.tale) ==
              STATESAMPLER_OK);
        size = save(&r, state);
        begin(&copy, &off.tale);
        load(&copy, state, size);
        CHECK(schedule_at(&r.s, &r.mix, turn, NULL, NULL, NULL, tell,
                          &off.tale) == 1);
        CHECK(r.mix.base_turn <= turn && r.s.begin <= turn && turn < r.s.end);
        CHECK(memcmp(r.weights, same.weights,
                     off.tale.num_sources * sizeof *r.weights) == 0);
        CHECK(schedule_seek(&copy.s, &copy.mix, turn, tell, &off.tale) ==
              STATESAMPLER_OK);
        check_alike(&copy, &same, &off.tale, 40);
    }
}

static void test_refusals(void)
{
    static run r;
    const double zero = 0, nan = zero / zero, infinite = 1 / zero;
    story tale = {3, 9, STATESAMPLER_STOP_NEVER, 4, 0, 0, 0};
    bad off = {{1, 0, 1}, {0, 0, 0}, 4};
    unsigned char state[2 * STATE], damaged[2 * STATE];
    statesampler_place place;
    uint64_t turn;
    size_t size, i;

    check_bad(1, 0, 0, 0, 0, 5, STATESAMPLER_OK);
    check_bad(1e270, 1, 1e-270, 0, 0, 5, STATESAMPLER_OK);
    /* The stages before are of turns. */
    check_bad(1, 2, 3, 7, 9, SCHEDULE_MOST_TURNS, SCHEDULE_EMEANS);
    check_bad(1, 2, 3, 0, 0, 0, SCHEDULE_ETURNS);
    check_bad(1, 2, 3, 0, 0, SCHEDULE_MOST_TURNS + 1, SCHEDULE_ETURNS);
    check_bad(0, 0, 0, 0, 0, 5, SCHEDULE_ESHARES);
    check_bad(1, -1e-300, 1, 0, 0, 5, SCHEDULE_ESHARES);
    check_bad(1, nan, 1, 0, 0, 5, SCHEDULE_ESHARES);
    check_bad(nan, 1, 1, 0, 0, 5, SCHEDULE_ESHARES);
    check_bad(1, infinite, 1, 0, 0, 5, SCHEDULE_ESHARES);
    check_bad(1, infinite, infinite, 0, 0, 5, SCHEDULE_ESHARES);
    check_bad(1.7e308, 1, 1, 0, 0, 5, STATESAMPLER_OK);
    check_bad(5e-324, 0, 0, 0, 0, 5, STATESAMPLER_OK);
    check_bad(1, 2, 3, 0, 1, 5, SCHEDULE_EMEANS);
    check_bad(1, 2, 3, 1, 0, 5, SCHEDULE_EMEANS);
    check_bad(1, 2, 3, 1, (uint32_t)SCHEDULE_ONE, 5, SCHEDULE_EMEANS);

    begin(&r, &tale);
    take(&r, &tale, 100);
    CHECK(schedule_locate(&r.s, &r.mix, 3, 0, 9, &turn, &place, tell, &tale) ==
          STATESAMPLER_ERANGE_SOURCE);
    CHECK(schedule_locate(&r.s, &r.mix, 1, 6, 9, &turn, &place, tell, &tale) ==
          STATESAMPLER_ERANGE_INDEX);
    r.s.end = statesampler_mix_turn(&r.mix);
    CHECK(schedule_follow(&r.s, &r.mix, tell_bad, &off) == STATESAMPLER_OK);
    CHECK(schedule_locate(&r.s, &r.mix, 1, 6, 9, &turn, &place, tell_bad,
                          &off) == STATESAMPLER_ERANGE_INDEX);
    CHECK(schedule_locate(&r.s, &r.mix, 1, 5, 9, &turn, &place, tell_bad,
                          &off) == SCHEDULE_ELATER);
    CHECK(schedule_had(&r.s, 3, 1) == STATESAMPLER_ERANGE_SOURCE);
    CHECK(schedule_had(&r.s, 1, 1) == SCHEDULE_EMEANS);
    CHECK(statesampler_mix_seek(&r.mix, r.s.end) == STATESAMPLER_OK);
    CHECK(statesampler_mix_next(&r.mix, NULL, NULL, NULL) == 1);
    CHECK(schedule_follow(&r.s, &r.mix, tell, &tale) == SCHEDULE_ETURN);
    r.s.begin = r.s.end = 1000;
    CHECK(schedule_follow(&r.s, &r.mix, tell, &tale) == SCHEDULE_ETURN);
    r.s.num_sources = 2;
    CHECK(schedule_follow(&r.s, &r.mix, tell, &tale) ==
          STATESAMPLER_EMISMATCH_SOURCES);
    tale.stop = STATESAMPLER_STOP_ALL;
    begin(&r, &tale);
    CHECK(schedule_follow(&r.s, &r.mix, tell, &tale) == SCHEDULE_ESTOP);
    CHECK(schedule_seek(&r.s, &r.mix, 5, tell, &tale) == SCHEDULE_ESTOP);
    CHECK(schedule_at(&r.s, &r.mix, 5, NULL, NULL, NULL, tell, &tale) ==
          SCHEDULE_ESTOP);
    CHECK(schedule_locate(&r.s, &r.mix, 1, 0, 9, &turn, &place, tell, &tale) ==
          SCHEDULE_ESTOP);

    tale.stop = STATESAMPLER_STOP_NEVER;
    begin(&r, &tale);
    take(&r, &tale, 17);
    (void)save(&r, state);
    size = SCHEDULE_BYTES(3);
    for (i = 0; i < 8 * size; i++) {
        int code;

        memcpy(damaged, state, size);
        damaged[i / 8] = (unsigned char)(damaged[i / 8] ^ 1 << i % 8);
        code = schedule_load(&r.s, damaged, size);
        /* A number of sources may be so small that fewer bytes are checked. */
        CHECK(code == STATESAMPLER_ECORRUPT_CHECK ||
              (i < 32 ? code == STATESAMPLER_ECORRUPT_MAGIC
                      : i < 64 && code == STATESAMPLER_ECORRUPT_SIZE));
        CHECK(schedule_save(&r.s, damaged, size) == STATESAMPLER_OK);
        CHECK(memcmp(damaged, state, size) == 0);
    }
    /* Forged: more is owed to one source, or taken from it, than can be. */
    for (i = 0; i < 4; i++) {
        const uint64_t much = ((uint64_t)1 << 61) + 1;

        memcpy(damaged, state, size);
        schedule_store(damaged + 24 + 8 * (i / 2), i % 2 ? much : 0 - much);
        schedule_store(damaged + size - 8,
                       statesampler_hash(0, damaged, size - 8));
        CHECK(schedule_load(&r.s, damaged, size) == SCHEDULE_EOWED);
    }
    CHECK(schedule_save(&r.s, damaged, size) == STATESAMPLER_OK);
    CHECK(memcmp(damaged, state, size) == 0);
    CHECK(schedule_load(&r.s, state, size - 1) == STATESAMPLER_ECORRUPT_SIZE);
    CHECK(schedule_load(&r.s, state, size + 8) == STATESAMPLER_ECORRUPT_SIZE);
    CHECK(strcmp(schedule_error(STATESAMPLER_ERANGE_SOURCE),
                 statesampler_error(STATESAMPLER_ERANGE_SOURCE)) == 0);
    CHECK(strcmp(schedule_error(SCHEDULE_ETURN),
                 "the mix is not where the schedule is, or an earlier stage "
                 "is not known") == 0);
    for (i = 0; i < 13; i++)
        CHECK(strcmp(schedule_error(SCHEDULE_ESHARES - (int)i),
                     statesampler_error(-9999)) != 0);
}

static uint32_t tell_few(schedule *s, uint64_t turn, void *context)
{
    (void)context;
    s->sources[0].share = s->sources[1].share = 1;
    s->sources[0].mean = s->sources[1].mean = 2;
    return turn % 11 == 0 ? 10 : 1;
}

enum { LIGHT = 299 };

/* Begins a mix of so many sources, at most LIGHT + 1, and its schedule. */
static void begin_many(statesampler_mix *mix, schedule *s, uint32_t number)
{
    static statesampler_source sources[LIGHT + 1];
    static schedule_source shares[LIGHT + 1];
    static uint32_t weights[LIGHT + 1];
    uint32_t i;

    for (i = 0; i < number; i++) {
        statesampler_desc desc;

        memset(&desc, 0, sizeof desc);
        desc.num_samples = 1000;
        desc.stream = i;
        CHECK(statesampler_init(&sources[i].sampler, &desc) == 0);
        sources[i].weight = 1;
    }
    CHECK(statesampler_mix_init(mix, sources, number,
                                STATESAMPLER_STOP_NEVER) == 0);
    schedule_init(s, shares, weights, number);
}

/* Batches of half their mean make a stage's total negative at times. No source
   is then rounded up in each of these. */
static void test_few_tokens(void)
{
    statesampler_mix mix;
    schedule s;
    int64_t ahead = 0;
    uint32_t i;

    begin_many(&mix, &s, 2);
    for (i = 0; i < 220000; i++) {
        uint32_t source = 0;
        size_t count;

        CHECK(schedule_follow(&s, &mix, tell_few, NULL) == STATESAMPLER_OK);
        (void)statesampler_mix_next(&mix, NULL, &count, &source);
        CHECK(schedule_had(&s, source, 1) == STATESAMPLER_OK);
        ahead += source == 0 ? 1 : -1;
    }
    CHECK(ahead >= -2 && ahead <= 2);
}

typedef struct stages_of_tokens {
    uint32_t length, means[2];
} stages_of_tokens;

static uint32_t third_of_tokens(schedule *s, uint64_t turn, void *context)
{
    const stages_of_tokens *stages = (const stages_of_tokens *)context;

    (void)turn;
    s->sources[0].share = 1;
    s->sources[1].share = 2;
    s->sources[0].mean = stages->means[0];
    s->sources[1].mean = stages->means[1];
    return stages->length;
}

/* How far the first source is off at most, in turns of the longer batches, if
   all are as their means. */
static double worst_of_stages(stages_of_tokens *stages, uint32_t number)
{
    statesampler_mix mix;
    schedule s;
    double had = 0, all = 0, off, worst = 0;
    const uint32_t longer = stages->means[stages->means[0] < stages->means[1]];
    uint32_t i;

    begin_many(&mix, &s, 2);
    for (i = 0; i < number; i++) {
        CHECK(schedule_follow(&s, &mix, third_of_tokens, stages) == 0);
        had += (double)s.sources[0].turns * stages->means[0];
        all += (double)s.sources[0].turns * stages->means[0] +
               (double)s.sources[1].turns * stages->means[1];
        CHECK(schedule_seek(&s, &mix, s.end, third_of_tokens, stages) == 0);
        off = (had - s.sources[0].part / 2147483648.0 * all) / longer;
        if (off < 0)
            off = -off;
        if (off > worst)
            worst = off;
    }
    return worst;
}

/* What rounding leaves does not add up: neither in many stages, also of lengths
   that are powers of two or numbers of Fibonacci; nor in long ones, where a
   turn's tokens are no whole number, or means are far apart. */
static void test_lengths_with_tokens(void)
{
    static const uint32_t lengths[] = {1, 3, 64, 10946, 46368, 474626, 1000000};
    static const uint32_t means[][2] = {
        {2, 3}, {4, 6}, {13, 17}, {300, 599}, {1000, 4000}, {8192, 100},
    };
    size_t k, m;

    for (k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        stages_of_tokens stages = {0, {1, 1}};

        stages.length = lengths[k];
        CHECK(worst_of_stages(&stages, 50000) < 2);
        for (m = 0; m < sizeof means / sizeof means[0]; m++) {
            stages.means[0] = means[m][0];
            stages.means[1] = means[m][1];
            CHECK(worst_of_stages(&stages, 1000) < 2);
        }
    }
}

static uint32_t one_heavy(schedule *s, uint64_t turn, void *length)
{
    uint32_t i;

    (void)turn;
    for (i = 0; i <= LIGHT; i++) {
        s->sources[i].share = i == 0 ? 9 * LIGHT : 1;
        s->sources[i].mean = 100;
    }
    return *(const uint32_t *)length;
}

/* Light sources have their first turns before they are due a whole one. Until
   they are, the heavy one does not pay for that. */
static void test_heavy_among_light(void)
{
    uint32_t length;

    for (length = 1; length <= 1000; length *= 10) {
        statesampler_mix mix;
        schedule s;
        double had = 0;

        begin_many(&mix, &s, LIGHT + 1);
        while (s.end < 2000) {
            CHECK(schedule_follow(&s, &mix, one_heavy, &length) == 0);
            had += s.sources[0].turns;
            CHECK(schedule_seek(&s, &mix, s.end, one_heavy, &length) == 0);
            CHECK(had - 0.9 * (double)s.end < 2 &&
                  0.9 * (double)s.end - had < 2);
        }
    }
}

int main(int argc, char **argv)
{
    int reduced = check_reduced(argc, argv);

    test_stages(reduced ? 60 : 500);
    test_worst_of_some(2);
    test_worst_of_some(9);
    test_worst_of_all(2);
    test_worst_of_all(MOST);
    test_places(reduced ? 20 : 500);
    test_mid_run(reduced ? 50 : 500);
    test_loaded_alone(reduced ? 50 : 500);
    test_alone_at_base();
    test_mixed_pair(reduced ? 50 : 500);
    test_any_turn(reduced ? 10 : 200);
    test_moved_copies();
    test_other_ranks();
    test_start();
    test_locate_on_other_ranks(reduced ? 30 : 300);
    test_locate(reduced ? 300 : 1000);
    test_far();
    test_last_stage();
    test_longest();
    test_untold();
    test_turns_of();
    test_passed_tokens();
    test_few_tokens();
    test_lengths_with_tokens();
    test_heavy_among_light();
    test_forgotten();
    test_told_of_none();
    test_tokens(reduced ? 3000 : 30000);
    test_exact(reduced ? 500 : 10000);
    test_no_drift(reduced ? 200000 : 1000000);
    test_exact_again(reduced ? 1000 : 20000);
    test_most_tokens();
    test_size_of_shares();
    test_no_steps();
    test_more_ranks();
    test_refused_seek(reduced ? 50 : 500);
    test_refusals();
    return check_done("schedule");
}

/* test_mix.c - do the turns of a mix come as they would by hand, on every
   rank, and does it go on exactly from any turn and in any shape? */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "check.h"
#include "must.h"
#include "forge.h"
#include "model_mix.h"

#define TURNS 600 /* of the longest epoch that is looked at turn by turn */
#define STATE FORGE_MIX_BYTES(MIX_SOURCES)

/* A mix with its sources, and what it is made of. */
typedef struct party {
    uint32_t count, stop;
    statesampler_desc desc[MIX_SOURCES];
    uint32_t weight[MIX_SOURCES];
    statesampler_source source[MIX_SOURCES];
    statesampler_mix mix;
} party;

static const party *shown;

/* What a failed CHECK was about. */
static void report(void)
{
    uint32_t i;
    if (!shown)
        return;
    for (i = 0; i < shown->count; i++) {
        const statesampler_desc *d = &shown->desc[i];
        printf("  stop %lu, source %lu: weight %lu, n %lu, order %lu, "
               "partition %lu, tail %lu, drop_last %lu, rank %lu of %lu, "
               "batch %lu\n",
               (unsigned long)shown->stop, (unsigned long)i,
               (unsigned long)shown->weight[i], (unsigned long)d->num_samples,
               (unsigned long)d->order, (unsigned long)d->partition,
               (unsigned long)d->tail, (unsigned long)d->drop_last,
               (unsigned long)d->rank, (unsigned long)d->world_size,
               (unsigned long)d->batch_size);
    }
}

/* Begins, in memory that was something else before. */
static int start(party *p)
{
    uint32_t i;
    memset(p->source, 0xa5, sizeof p->source);
    memset(&p->mix, 0xa5, sizeof p->mix);
    for (i = 0; i < p->count; i++) {
        CHECK(statesampler_init(&p->source[i].sampler, &p->desc[i]) ==
              STATESAMPLER_OK);
        p->source[i].weight = p->weight[i];
    }
    return statesampler_mix_init(&p->mix, p->source, p->count, p->stop);
}

static void reshape(party *p, uint32_t world, uint32_t batch, uint32_t rank,
                    uint32_t drop_last)
{
    uint32_t i;
    for (i = 0; i < p->count; i++) {
        p->desc[i].world_size = world;
        p->desc[i].batch_size = batch;
        p->desc[i].rank = rank;
        p->desc[i].drop_last =
            drop_last && p->desc[i].tail != STATESAMPLER_TAIL_CARRY;
    }
}

static size_t save(const party *p, unsigned char *state)
{
    size_t size = statesampler_mix_state_bytes(&p->mix);
    CHECK(size == FORGE_MIX_BYTES(p->count));
    CHECK(must_mix_save(&p->mix, state) == size);
    return size;
}

static void check_same(const party *a, const party *b)
{
    unsigned char x[STATE], y[STATE];
    size_t size = save(a, x);
    CHECK(save(b, y) == size);
    forge_move_bases(x, a->count);
    forge_move_bases(y, b->count);
    CHECK(memcmp(x, y, size) == 0);
}

static int same(const uint64_t *a, const uint64_t *b, size_t count)
{
    return count == 0 || memcmp(a, b, count * sizeof *a) == 0;
}

/* The turns of an epoch, as the model served them. */
typedef struct record {
    uint64_t first, turns; /* first .. turns - 1 are there */
    int ended;
    uint32_t source[TURNS];
    size_t count[TURNS];
    uint64_t out[TURNS][MIX_BATCH];
} record;

/* Has the model serve to the end of the epoch, or up to a turn. */
static void write_down(record *r, mix_model *m, uint64_t until)
{
    r->first = r->turns = m->turn;
    r->ended = 0;
    while (r->turns < until) {
        CHECK(r->turns < TURNS);
        if (!mix_model_next(m, &r->source[r->turns], r->out[r->turns],
                            &r->count[r->turns])) {
            r->ended = 1;
            break;
        }
        r->turns++;
    }
}

static void check_turn(const record *r, uint64_t turn, uint32_t source,
                       const uint64_t *out, size_t count)
{
    CHECK(source == r->source[turn]);
    CHECK(count == r->count[turn]);
    CHECK(same(out, r->out[turn], count));
}

/* By next, to where the record ends. */
static void check_next(party *p, const record *r)
{
    uint64_t out[MIX_BATCH], epoch = statesampler_mix_epoch(&p->mix);
    uint64_t turn = statesampler_mix_turn(&p->mix);
    uint32_t source;
    size_t count = 99;
    for (; turn < r->turns; turn++) {
        CHECK(statesampler_mix_turn(&p->mix) == turn);
        if (turn % 7 == 3) { /* to move only */
            CHECK(statesampler_mix_next(&p->mix, NULL, NULL, NULL) == 1);
            continue;
        }
        CHECK(statesampler_mix_next(&p->mix, out, &count, &source) == 1);
        check_turn(r, turn, source, out, count);
    }
    CHECK(statesampler_mix_turn(&p->mix) == turn);
    if (r->ended) {
        CHECK(statesampler_mix_num_turns(&p->mix) == turn);
        CHECK(statesampler_mix_next(&p->mix, out, &count, &source) == 0);
        CHECK(count == 0);
        CHECK(statesampler_mix_turn(&p->mix) == 0);
        epoch++;
    }
    CHECK(statesampler_mix_epoch(&p->mix) == epoch);
}

/* By at, from anywhere, and by seek, but not to before the base. */
static void check_anywhere(party *p, const record *r, uint64_t base)
{
    const uint64_t now = statesampler_mix_turn(&p->mix);
    const uint64_t first = base > r->first ? base : r->first;
    uint64_t out[MIX_BATCH], turn;
    uint32_t source;
    size_t count;
    unsigned char before[STATE], after[STATE];
    size_t size = save(p, before);
    for (turn = 0; turn < base; turn++) {
        CHECK_KIND(statesampler_mix_at(&p->mix, turn, out, &count, &source),
                   STATESAMPLER_ERANGE);
        CHECK_KIND(statesampler_mix_seek(&p->mix, turn), STATESAMPLER_ERANGE);
    }
    for (turn = first; turn < r->turns; turn++) {
        CHECK(statesampler_mix_at(&p->mix, turn, out, &count, &source) == 1);
        check_turn(r, turn, source, out, count);
        CHECK(statesampler_mix_at(&p->mix, turn, NULL, &count, &source) == 1);
        CHECK(count == r->count[turn]);
        CHECK(statesampler_mix_at(&p->mix, turn, NULL, NULL, NULL) == 1);
    }
    if (r->ended) {
        CHECK(statesampler_mix_at(&p->mix, turn, out, &count, &source) == 0);
        CHECK(count == 0);
        CHECK(statesampler_mix_at(&p->mix, UINT64_MAX, out, &count, &source) ==
              0);
        CHECK_KIND(statesampler_mix_seek(&p->mix, turn + 1),
                   STATESAMPLER_ERANGE);
        CHECK_KIND(statesampler_mix_seek(&p->mix, UINT64_MAX),
                   STATESAMPLER_ERANGE);
    }
    CHECK(save(p, after) == size && memcmp(before, after, size) == 0);
    for (turn = r->turns + 1; turn-- > first;) {
        CHECK(statesampler_mix_seek(&p->mix, turn) == STATESAMPLER_OK);
        CHECK(statesampler_mix_turn(&p->mix) == turn);
        if (turn < r->turns) {
            CHECK(statesampler_mix_next(&p->mix, out, &count, &source) == 1);
            check_turn(r, turn, source, out, count);
        }
    }
    CHECK(statesampler_mix_seek(&p->mix, now) == STATESAMPLER_OK);
    CHECK(save(p, after) == size && memcmp(before, after, size) == 0);
}

/* Every sample of every source: the turn that locate names serves it, in the
   named place; what it does not find is nowhere in the present epochs. */
static void check_places(const party *p, const record *r)
{
    uint32_t i, k;
    uint64_t index, turn, t;
    statesampler_place place, own;
    for (i = 0; i < p->count; i++)
        for (index = 0; index <= p->desc[i].num_samples; index++) {
            const statesampler *s = &p->source[i].sampler;
            int code = statesampler_locate(s, index, &own);
            int mixed =
                statesampler_mix_locate(&p->mix, i, index, &turn, &place);
            if (code != STATESAMPLER_OK) {
                CHECK(mixed == code);
                continue;
            }
            /* Turns of this source from the present on, or back. */
            if (mixed == STATESAMPLER_OK) {
                CHECK(place.step == own.step && place.rank == own.rank);
                CHECK(place.slot == own.slot);
                CHECK(place.position == own.position);
                CHECK(turn >= r->first);
                if (turn >= r->turns) {
                    CHECK(!r->ended);
                    continue;
                }
                CHECK(r->source[turn] == i);
                if (own.rank != p->desc[i].rank)
                    continue;
                CHECK(own.slot < r->count[turn]);
                CHECK(r->out[turn][own.slot] == index);
            } else {
                CHECK_KIND(mixed, STATESAMPLER_ERANGE);
                CHECK(r->ended || (mixed == STATESAMPLER_ERANGE_SERVED &&
                                   own.step < statesampler_step(s)));
                for (t = statesampler_mix_turn(&p->mix); t < r->turns; t++)
                    for (k = 0; r->source[t] == i && k < r->count[t] &&
                                statesampler_step(s) <= own.step &&
                                p->stop <= STATESAMPLER_STOP_ALL;
                         k++)
                        CHECK(r->out[t][k] != index);
            }
        }
}

/* A run of some epochs, or of a mix that never ends so many turns. At every
   turn it is saved, and another goes on. */
static void run(party *p, int epochs, uint64_t most)
{
    static record r;
    static mix_model m;
    static party other;
    int e;
    shown = p;
    CHECK(start(p) == STATESAMPLER_OK);
    other = *p;
    CHECK(start(&other) == STATESAMPLER_OK);
    mix_model_init(&m, p->count, p->stop, p->desc, p->weight);
    for (e = 0; e < epochs; e++) {
        unsigned char state[STATE];
        uint64_t turn, out[MIX_BATCH];
        uint32_t source, i;
        size_t count;
        write_down(&r, &m, most);
        save(p, state);
        CHECK(statesampler_mix_load(&other.mix, state, save(p, state)) ==
              STATESAMPLER_OK);
        check_same(p, &other);
        check_anywhere(&other, &r, r.first);
        for (turn = r.first; turn < r.turns; turn++) {
            CHECK(statesampler_mix_load(&other.mix, state, save(p, state)) ==
                  STATESAMPLER_OK);
            check_same(p, &other);
            if (turn == r.turns / 2) {
                check_anywhere(&other, &r, turn);
                check_places(&other, &r);
                check_anywhere(p, &r, 0);
                check_places(p, &r);
            }
            CHECK(statesampler_mix_next(&other.mix, out, &count, &source) == 1);
            check_turn(&r, turn, source, out, count);
            CHECK(statesampler_mix_next(&p->mix, out, &count, &source) == 1);
            check_turn(&r, turn, source, out, count);
            check_same(p, &other);
        }
        save(p, state);
        CHECK(statesampler_mix_load(&other.mix, state, save(p, state)) ==
              STATESAMPLER_OK);
        check_same(p, &other);
        check_next(p, &r);
        check_next(&other, &r);
        check_same(p, &other);
        for (i = 0; i < p->count; i++) {
            const statesampler *a = &p->source[i].sampler;
            CHECK(statesampler_epoch(a) == statesampler_epoch(&m.sampler[i]));
            CHECK(statesampler_step(a) == statesampler_step(&m.sampler[i]));
        }
        if (!r.ended)
            break;
    }
}

static void plain(party *p, uint32_t count, uint32_t stop)
{
    uint32_t i;
    memset(p, 0, sizeof *p);
    p->count = count;
    p->stop = stop;
    for (i = 0; i < count; i++) {
        p->desc[i].seed = 20240229;
        p->desc[i].stream = i;
        p->desc[i].world_size = p->desc[i].batch_size = 1;
    }
}

/* The forum's, torchdata's and Grain's numbers: see the manual. */
static void test_formulas(void)
{
    static party p;
    uint32_t count, stop, i, code;
    for (count = 1; count <= 4; count++)
        for (stop = 0; stop < 3; stop++)
            for (code = 0; code < 6 * 6 * 6 * 6; code++) {
                uint64_t n[4], want = 0, seated = 0;
                uint32_t rest = code, others = 0;
                plain(&p, count, stop);
                for (i = 0; i < count; i++, rest /= 6) {
                    n[i] = p.desc[i].num_samples = rest % 6;
                    seated += n[i] != 0;
                }
                if (rest)
                    continue;
                for (i = 0; i < count; i++) {
                    uint64_t asked = n[i] * seated + others;
                    if (n[i] == 0)
                        continue;
                    if (stop == STATESAMPLER_STOP_ALL)
                        want += n[i];
                    else if (others == 0 ||
                             (stop == STATESAMPLER_STOP_FIRST ? asked < want
                                                              : asked > want))
                        want = asked;
                    others++;
                }
                shown = &p;
                CHECK(start(&p) == STATESAMPLER_OK);
                CHECK(statesampler_mix_num_turns(&p.mix) == want);
                if (code % 29 == 0)
                    run(&p, 3, TURNS);
            }
    plain(&p, 3, 0);
    for (stop = 0; stop < 3; stop++) {
        static const uint64_t want[3] = {9, 12, 17};
        p.stop = stop;
        for (i = 0; i < 3; i++)
            p.desc[i].num_samples = 3 + i;
        CHECK(start(&p) == STATESAMPLER_OK);
        CHECK(statesampler_mix_num_turns(&p.mix) == want[stop]);
    }
}

/* Anything small. One call of check_random after the other, because the order
   of arguments is the compiler's. */
static void invent(party *p, uint32_t sources)
{
    static const uint32_t worlds[] = {1, 1, 2, 3, 4, 7};
    uint32_t i, world = worlds[check_random(6)];
    uint32_t batch = 1 + (uint32_t)check_random(4);
    uint32_t rank = (uint32_t)check_random(world);
    uint32_t light = (uint32_t)check_random(3);
    plain(p, 1 + (uint32_t)check_random(sources),
          (uint32_t)check_random(STOPS));
    for (i = 0; i < p->count; i++) {
        statesampler_desc *d = &p->desc[i];
        d->num_samples = check_random(check_random(4) ? 40 : 4);
        d->world_size = world;
        d->batch_size = batch;
        d->rank = rank;
        d->order = (uint32_t)check_random(ORDERS);
        d->partition = (uint32_t)check_random(2);
        d->tail = (uint32_t)check_random(TAILS);
        d->drop_last = (uint32_t)check_random(2);
        d->chunk_size = 1 + check_random(5);
        d->window = 1 + check_random(3);
        if (d->tail == STATESAMPLER_TAIL_CARRY &&
            (p->stop != STATESAMPLER_STOP_NEVER || d->num_samples == 0))
            d->tail = STATESAMPLER_TAIL_UNEVEN;
        if (d->tail == STATESAMPLER_TAIL_CARRY)
            d->partition = d->drop_last = 0;
        p->weight[i] = light == 0 ? 3 : (uint32_t)check_random(6);
        if (light == 2 && check_random(3) == 0)
            p->weight[i] *= 50;
    }
}

static int is_empty(const party *p)
{
    uint32_t i;
    statesampler s;
    for (i = 0; i < p->count; i++) {
        CHECK(statesampler_init(&s, &p->desc[i]) == STATESAMPLER_OK);
        if (statesampler_num_steps(&s) != 0)
            return 0;
    }
    return 1;
}

static void test_runs(int reduced)
{
    static party p;
    int i;
    for (i = 0; i < (reduced ? 150 : 1200); i++) {
        invent(&p, i % 3 ? 4 : MIX_SOURCES);
        shown = &p;
        if (p.stop == STATESAMPLER_STOP_NEVER && is_empty(&p)) {
            CHECK_KIND(start(&p), STATESAMPLER_EINVAL);
            continue;
        }
        CHECK(start(&p) == STATESAMPLER_OK);
        if (statesampler_mix_num_turns(&p.mix) < TURNS ||
            p.stop == STATESAMPLER_STOP_NEVER)
            run(&p, 3, p.stop == STATESAMPLER_STOP_NEVER ? 90 : TURNS);
    }
}

/* All ranks together, loaded from one another's states in other shapes
   again and again, against models that are handed on in the same way. */
#define RANKS 7
static void test_elastic(int reduced)
{
    static party p[RANKS], fresh[RANKS];
    static mix_model m[RANKS];
    static record r[RANKS];
    static unsigned char state[STATE];
    int i, round;
    for (i = 0; i < (reduced ? 100 : 1000); i++) {
        uint64_t base;
        uint32_t j, k, world;
        invent(&p[0], i % 3 ? 4 : MIX_SOURCES);
        shown = &p[0];
        if (start(&p[0]) != STATESAMPLER_OK)
            continue;
        world = p[0].desc[0].world_size;
        base = 0;
        for (k = 0; k < world; k++) {
            p[k] = p[0];
            for (j = 0; j < p[0].count; j++)
                p[k].desc[j].rank = k;
            CHECK(start(&p[k]) == STATESAMPLER_OK);
            mix_model_init(&m[k], p[k].count, p[k].stop, p[k].desc,
                           p[k].weight);
        }
        for (round = 0; round < 6; round++) {
            uint32_t batch = 1 + (uint32_t)check_random(4);
            uint32_t drop_last = (uint32_t)check_random(3) == 0;
            uint32_t to = 1 + (uint32_t)check_random(RANKS), from;
            uint64_t until = m[0].turn + check_random(20);
            size_t size = 0;
            for (k = 0; k < world; k++) {
                shown = &p[k];
                write_down(&r[k], &m[k], until);
                check_anywhere(&p[k], &r[k], base);
                check_next(&p[k], &r[k]);
                if (k == 0)
                    size = save(&p[0], state);
                else {
                    unsigned char other[STATE];
                    CHECK(save(&p[k], other) == size);
                    CHECK(memcmp(other, state, size) == 0);
                }
                CHECK(r[k].turns == r[0].turns);
            }
            for (k = 0; k < to; k++) {
                from = k < world ? k : 0;
                fresh[k] = p[from];
                m[k] = m[from];
                reshape(&fresh[k], to, batch, k, drop_last);
                shown = &fresh[k];
                if (start(&fresh[k]) != STATESAMPLER_OK)
                    break; /* nothing is left that never ends */
                CHECK(statesampler_mix_load(&fresh[k].mix, state, size) ==
                      STATESAMPLER_OK);
                mix_model_reshape(&m[k], to, batch, k, drop_last);
                CHECK(statesampler_mix_turn(&fresh[k].mix) == m[k].turn);
                for (j = 0; j < p[0].count; j++)
                    CHECK(statesampler_step(&fresh[k].source[j].sampler) ==
                          statesampler_step(&m[k].sampler[j]));
            }
            if (k < to)
                break;
            for (k = 0; k < to; k++) {
                p[k] = fresh[k];
                p[k].mix.sources = p[k].source;
            }
            base = m[0].turn;
            world = to;
        }
    }
}

/* --- The sequence of turns ------------------------------------------------ */

/* Sources that last for ever, and whose n-th turn shows that it is that. */
static statesampler_source many[5000];
static uint64_t had[5000];

static void endless(statesampler_mix *mix, uint32_t count,
                    const uint32_t *weight)
{
    statesampler_desc d;
    uint32_t i;
    memset(&d, 0, sizeof d);
    d.num_samples = (uint64_t)1 << 40;
    d.order = STATESAMPLER_ORDER_SEQUENTIAL;
    d.tail = STATESAMPLER_TAIL_CARRY;
    for (i = 0; i < count; i++) {
        CHECK(statesampler_init(&many[i].sampler, &d) == STATESAMPLER_OK);
        many[i].weight = weight[i];
        had[i] = 0;
    }
    CHECK(statesampler_mix_init(mix, many, count, STATESAMPLER_STOP_NEVER) ==
          STATESAMPLER_OK);
}

static uint64_t weigh(uint32_t count, const uint32_t *weight, uint32_t most[2])
{
    uint64_t sum = 0;
    uint32_t i;
    most[0] = 0;
    for (i = 0; i < count; i++)
        sum += weight[i] ? weight[i] : 1;
    while ((1u << most[0]) < count)
        most[0]++; /* how many times it must be halved */
    return sum;
}

/* So many turns, and how far every source is from its share after each, in
   whole and halves of turns: distance * sum against halvings * sum / 2. */
static void check_shares(uint32_t count, const uint32_t *weight, uint64_t turns)
{
    statesampler_mix mix;
    uint32_t halvings[2], i, source;
    uint64_t sum = weigh(count, weight, halvings), t, out;
    size_t size;
    endless(&mix, count, weight);
    for (t = 1; t <= turns; t++) {
        CHECK(statesampler_mix_next(&mix, &out, &size, &source) == 1);
        CHECK(size == 1 && out == had[source]);
        had[source]++;
        for (i = 0; i < count; i++) {
            uint64_t own = weight[i] ? weight[i] : 1;
            uint64_t share = own * t, is = had[i] * sum;
            uint64_t far = share > is ? share - is : is - share;
            CHECK(2 * far <= halvings[0] * sum);
            if (count <= 16)
                CHECK(far < 2 * sum);
            if (t % sum == 0)
                CHECK(far == 0);
        }
    }
}

static void test_shares(int reduced)
{
    uint32_t weight[64], count, code, i, k;
    /* Equal weights are a plain round, whatever they are. */
    for (count = 1; count <= 40; count++)
        for (k = 0; k < 3; k++) {
            static const uint32_t equal[3] = {0, 1, 12345};
            statesampler_mix mix;
            uint32_t source;
            size_t size;
            for (i = 0; i < count; i++)
                weight[i] = equal[k];
            endless(&mix, count, weight);
            for (i = 0; i < 3 * count; i++) {
                CHECK(statesampler_mix_next(&mix, NULL, &size, &source) == 1);
                CHECK(source == i % count);
            }
        }
    /* All weights up to 5 of up to four sources, for three periods. */
    for (count = 1; count <= 4; count++)
        for (code = 0; code < (reduced ? 200u : 625u); code++) {
            uint32_t rest = code;
            for (i = 0; i < count; i++, rest /= 5)
                weight[i] = 1 + rest % 5;
            if (!rest)
                check_shares(count, weight, 60);
        }
    /* More of them, more uneven. */
    for (k = 0; k < (reduced ? 30u : 400u); k++) {
        static const uint32_t most[] = {2, 10, 1000, 1u << 24};
        count = 2 + (uint32_t)check_random(k % 2 ? 15 : 63);
        for (i = 0; i < count; i++)
            weight[i] =
                (uint32_t)check_random(most[check_random(k % 3 ? 2 : 4)]);
        check_shares(count, weight, 1000);
    }
}

/* Turns that nobody has the time to take. The counts of a whole number of
   periods are exact, so the turn 10^15 is that of a new mix moved on. */
static void test_far(void)
{
    static const uint64_t far[] = {10, 1000000000000000u, 123456789,
                                   (uint64_t)1 << 60, (uint64_t)1 << 62};
    uint32_t weight[7] = {3, 2, 1, 40, 7, 7, 1}, halvings[2], i, source;
    uint64_t sum = weigh(7, weight, halvings), t, out, other;
    statesampler_mix mix;
    size_t size, k;
    for (k = 0; k < sizeof far / sizeof far[0]; k++) {
        uint64_t rounds = far[k] / sum;
        endless(&mix, 7, weight);
        for (t = 0; t < far[k] % sum; t++) {
            CHECK(statesampler_mix_next(&mix, NULL, &size, &source) == 1);
            had[source]++;
        }
        CHECK(statesampler_mix_at(&mix, t, &out, &size, &source) == 1);
        CHECK(out == had[source]);
        i = source;
        CHECK(statesampler_mix_at(&mix, far[k], &other, &size, &source) == 1);
        CHECK(source == i && size == 1);
        CHECK(other == (out + rounds * weight[i]) % ((uint64_t)1 << 40));
        CHECK(statesampler_mix_seek(&mix, far[k]) == STATESAMPLER_OK);
        for (i = 0; i < 7; i++)
            CHECK(statesampler_step(&many[i].sampler) ==
                  had[i] + rounds * weight[i]);
        CHECK(statesampler_mix_next(&mix, &out, &size, &source) == 1);
        CHECK(out == other);
        CHECK(statesampler_mix_seek(&mix, 3) == STATESAMPLER_OK);
        CHECK(statesampler_mix_turn(&mix) == 3);
    }
    CHECK_KIND(statesampler_mix_seek(&mix, far[4] + 1), STATESAMPLER_ERANGE);
    CHECK_KIND(statesampler_mix_at(&mix, far[4] + 1, NULL, &size, &source),
               STATESAMPLER_ERANGE);
    CHECK_KIND(statesampler_mix_at(&mix, UINT64_MAX, NULL, &size, &source),
               STATESAMPLER_ERANGE);
    CHECK(statesampler_mix_turn(&mix) == 3);
}

/* Epochs of sources that nobody can count through, against the formulas. */
static void test_long(void)
{
    /* With each stop rule, by its number. */
    static const uint64_t all_turns[] = {999 * 3 + 2, 1003000000999u,
                                         3000000000000u};
    static const uint32_t last_source[] = {1, 0, 2};
    static party p;
    static unsigned char state[STATE];
    uint32_t source, i;
    uint64_t turns, index;
    statesampler_place place;
    size_t count;
    for (i = 0; i < 3; i++) {
        uint64_t out[1], again[1];
        plain(&p, 3, i);
        p.desc[0].num_samples = 1000000000000u;
        p.desc[1].num_samples = 3000000000u;
        p.desc[2].num_samples = 999;
        CHECK(start(&p) == STATESAMPLER_OK);
        turns = statesampler_mix_num_turns(&p.mix);
        CHECK(turns == all_turns[i]);
        CHECK(statesampler_mix_at(&p.mix, turns - 1, out, &count, &source) ==
              1);
        CHECK(source == last_source[i]);
        CHECK(statesampler_mix_seek(&p.mix, turns - 1) == STATESAMPLER_OK);
        CHECK(statesampler_mix_next(&p.mix, again, &count, &source) == 1);
        CHECK(again[0] == out[0]);
        if (i < 2) {
            CHECK(statesampler_mix_locate(&p.mix, source, out[0], &index,
                                          &place) == STATESAMPLER_OK);
            CHECK(index == turns - 1);
        }
        CHECK(statesampler_mix_next(&p.mix, NULL, &count, &source) == 0);
        CHECK(statesampler_mix_epoch(&p.mix) == 1);
    }
    /* A light one is left alone with a heavy one's turns passed over. */
    plain(&p, 2, STATESAMPLER_STOP_ALL);
    p.desc[0].num_samples = 5;
    p.desc[1].num_samples = 30;
    p.weight[0] = 2000000000u;
    CHECK(start(&p) == STATESAMPLER_OK);
    CHECK(statesampler_mix_num_turns(&p.mix) == 35);
    for (i = 0; i < 35; i++) {
        CHECK(statesampler_mix_at(&p.mix, i, NULL, &count, &source) == 1);
        CHECK(source == (i >= 5));
        CHECK(statesampler_mix_next(&p.mix, NULL, &count, &source) == 1);
        CHECK(source == (i >= 5));
        if (i == 9)
            save(&p, state);
    }
    CHECK(statesampler_mix_next(&p.mix, NULL, &count, &source) == 0);
    /* And so it is on other ranks: 25 samples are left. */
    reshape(&p, 2, 1, 1, 0);
    CHECK(start(&p) == STATESAMPLER_OK);
    CHECK(statesampler_mix_load(&p.mix, state,
                                statesampler_mix_state_bytes(&p.mix)) ==
          STATESAMPLER_OK);
    CHECK(statesampler_mix_num_turns(&p.mix) == 10 + 13);
    for (i = 10; i < 23; i++) {
        CHECK(statesampler_mix_next(&p.mix, NULL, &count, &source) == 1);
        CHECK(source == 1);
    }
    CHECK(statesampler_mix_next(&p.mix, NULL, &count, &source) == 0);
}

/* CARRY and the largest of steps: the base moves up, and a state is good at
   any turn. The other source's epochs go by as ever. */
static void test_largest(void)
{
    static party p, other;
    static statesampler plain_one;
    static unsigned char state[STATE];
    uint64_t turn;
    uint32_t source;
    size_t count;
    plain(&p, 2, STATESAMPLER_STOP_NEVER);
    p.desc[0].num_samples = 5;
    p.desc[0].tail = STATESAMPLER_TAIL_CARRY;
    p.desc[1].num_samples = 1000;
    reshape(&p, 1u << 29, (1u << 31) + 5, 3, 0);
    CHECK(start(&p) == STATESAMPLER_OK);
    other = p;
    CHECK(start(&other) == STATESAMPLER_OK);
    CHECK(statesampler_init(&plain_one, &p.desc[0]) == STATESAMPLER_OK);
    for (turn = 0; turn < 50; turn++) {
        CHECK(statesampler_mix_load(&other.mix, state, save(&p, state)) ==
              STATESAMPLER_OK);
        CHECK(statesampler_mix_turn(&other.mix) == turn);
        check_same(&p, &other);
        for (source = 0; source < 2; source++)
            CHECK(statesampler_position(&other.source[source].sampler) ==
                  statesampler_position(&p.source[source].sampler));
        CHECK(statesampler_mix_next(&p.mix, NULL, &count, &source) == 1);
        CHECK(source == turn % 2);
        if (source == 0)
            statesampler_next(&plain_one, NULL, NULL);
        CHECK(statesampler_epoch(&plain_one) ==
              statesampler_epoch(&p.source[0].sampler));
        CHECK(statesampler_position(&plain_one) ==
              statesampler_position(&p.source[0].sampler));
        CHECK(statesampler_step(&plain_one) ==
              statesampler_step(&p.source[0].sampler));
        CHECK(statesampler_epoch(&p.source[1].sampler) ==
              (turn - (turn > 0)) / 2);
    }
    CHECK_KIND(statesampler_mix_seek(&p.mix, 0), STATESAMPLER_ERANGE);
    CHECK_KIND(statesampler_mix_seek(&p.mix, 1000), STATESAMPLER_ERANGE);
    CHECK_KIND(statesampler_mix_at(&p.mix, 1000, NULL, &count, &source),
               STATESAMPLER_ERANGE);
    CHECK(count == 0 && statesampler_mix_turn(&p.mix) == turn);
}

/* CARRY, loaded three steps before the last that a seek takes: a mix goes on
   past it, and at, seek and a state reach every turn. */
static void test_last_steps(void)
{
    static party p, other;
    static unsigned char state[STATE];
    unsigned char bytes[STATESAMPLER_STATE_BYTES];
    uint64_t turn, out, want, step = UINT64_MAX / 2 - 2;
    uint32_t source;
    size_t count;
    plain(&p, 1, STATESAMPLER_STOP_NEVER);
    p.desc[0].num_samples = 1000;
    p.desc[0].tail = STATESAMPLER_TAIL_CARRY;
    CHECK(start(&p) == STATESAMPLER_OK);
    must_save(&p.source[0].sampler, bytes);
    forge_put(bytes, FORGE_BASE_STEP, step);
    forge_seal(bytes, sizeof bytes);
    CHECK(statesampler_load(&p.source[0].sampler, bytes, sizeof bytes) ==
          STATESAMPLER_OK);
    CHECK(statesampler_mix_init(&p.mix, p.source, 1, p.stop) ==
          STATESAMPLER_OK);
    other = p;
    CHECK(start(&other) == STATESAMPLER_OK);
    for (turn = 0; turn < 9; turn++) {
        CHECK(statesampler_mix_load(&other.mix, state, save(&p, state)) ==
              STATESAMPLER_OK);
        check_same(&p, &other);
        CHECK(statesampler_mix_at(&p.mix, turn, &want, &count, &source) == 1);
        CHECK(statesampler_mix_seek(&other.mix, turn) == STATESAMPLER_OK);
        CHECK(statesampler_mix_next(&other.mix, &out, &count, &source) == 1);
        CHECK(out == want && count == 1);
        CHECK(statesampler_mix_next(&p.mix, &out, &count, &source) == 1);
        CHECK(out == want && count == 1);
        CHECK(statesampler_step(&p.source[0].sampler) ==
              UINT64_MAX / 2 - 1 + turn);
    }
}

/* As far as a seek goes, and on from there: a state is good there, too. */
static void test_last_turn(void)
{
    static party p, other;
    static unsigned char state[STATE];
    uint64_t out[1], again[1];
    uint32_t source, i, found = 0;
    size_t count;
    plain(&p, 2, STATESAMPLER_STOP_NEVER);
    p.desc[0].num_samples = 5;
    p.desc[1].num_samples = 1000;
    p.weight[0] = 3;
    CHECK(start(&p) == STATESAMPLER_OK);
    other = p;
    CHECK(start(&other) == STATESAMPLER_OK);
    CHECK_KIND(statesampler_mix_seek(&p.mix, ((uint64_t)1 << 62) + 1),
               STATESAMPLER_ERANGE);
    CHECK(statesampler_mix_seek(&p.mix, (uint64_t)1 << 62) == STATESAMPLER_OK);
    for (i = 0; i < 9; i++) {
        CHECK(statesampler_mix_load(&other.mix, state, save(&p, state)) ==
              STATESAMPLER_OK);
        check_same(&p, &other);
        CHECK(statesampler_mix_next(&p.mix, out, &count, &source) == 1);
        CHECK(statesampler_mix_next(&other.mix, again, &count, &source) == 1);
        CHECK(out[0] == again[0]);
    }

    /* locate finds what at serves, and nothing else. */
    CHECK(statesampler_mix_seek(&p.mix, ((uint64_t)1 << 62) - 2) ==
          STATESAMPLER_OK);
    for (i = 0; i < 5; i++) {
        statesampler_place place;
        uint64_t turn;
        if (statesampler_mix_locate(&p.mix, 0, i, &turn, &place) ==
            STATESAMPLER_OK) {
            CHECK(statesampler_mix_at(&p.mix, turn, out, &count, &source) == 1);
            CHECK(source == 0 && out[0] == i);
            found++;
        }
    }
    CHECK(found > 0 && found < 5);
    for (i = 0; i < 4; i++) {
        statesampler_place place;
        uint64_t turn = 0, position = ((uint64_t)1 << 61) - 4 + 2 * i;
        plain(&p, 2, STATESAMPLER_STOP_NEVER);
        p.desc[0].num_samples = ((uint64_t)1 << 61) + 3;
        p.desc[0].order = STATESAMPLER_ORDER_SEQUENTIAL;
        p.desc[0].tail = STATESAMPLER_TAIL_CARRY;
        reshape(&p, 4, 1, 0, 0);
        CHECK(start(&p) == STATESAMPLER_OK);
        CHECK(statesampler_mix_seek(&p.mix, ((uint64_t)1 << 60) - 1) ==
              STATESAMPLER_OK);
        CHECK(statesampler_epoch(&p.source[0].sampler) == 1);
        CHECK((statesampler_mix_locate(&p.mix, 0, position, &turn, &place) ==
               STATESAMPLER_OK) == (i < 3));
        if (i < 3)
            CHECK(statesampler_mix_at(&p.mix, turn, NULL, &count, &source) ==
                  1);
    }
}

/* Thousands of sources: lengths 1, 2, 3, ... of so many samples. */
static void test_thousands(int reduced)
{
    static unsigned char state[FORGE_MIX_BYTES(5000)];
    statesampler_mix mix;
    uint32_t count = reduced ? 300 : 5000, stop, source, i;
    uint64_t t, turns, samples = (uint64_t)count * (count + 1) / 2;
    size_t size;
    for (stop = 0; stop < 3; stop++) {
        for (i = 0; i < count; i++) {
            statesampler_desc d;
            memset(&d, 0, sizeof d);
            d.num_samples = i + 1;
            d.stream = i;
            d.tail = STATESAMPLER_TAIL_UNEVEN;
            d.world_size = 4;
            CHECK(statesampler_init(&many[i].sampler, &d) == STATESAMPLER_OK);
            many[i].weight = 0;
        }
        CHECK(statesampler_mix_init(&mix, many, count, stop) ==
              STATESAMPLER_OK);
        CHECK(statesampler_mix_offset(&mix, count) == samples);
        CHECK(statesampler_mix_offset(&mix, 3) == 6);
        for (turns = 0, i = 1; i <= count; i++)
            turns += (i + 3) / 4;
        if (stop == STATESAMPLER_STOP_FIRST)
            turns = count;
        if (stop == STATESAMPLER_STOP_RESTART)
            turns = (count + 3) / 4 * (uint64_t)count + count - 1;
        CHECK(statesampler_mix_num_turns(&mix) == turns);
        for (t = 0; t < turns; t += turns / 7) {
            uint64_t a, b;
            uint32_t other;
            CHECK(statesampler_mix_at(&mix, t, &a, &size, &source) == 1);
            CHECK(statesampler_mix_seek(&mix, t) == STATESAMPLER_OK);
            must_mix_save(&mix, state);
            CHECK(statesampler_mix_load(&mix, state,
                                        statesampler_mix_state_bytes(&mix)) ==
                  STATESAMPLER_OK);
            CHECK(statesampler_mix_turn(&mix) == t);
            b = a + 1;
            CHECK(statesampler_mix_next(&mix, &b, &size, &other) == 1);
            CHECK(other == source && b == a);
        }
    }
}

/* A source of weight 1 beside one of 2^31 - 2: its turns are soon farther off
   than a mix counts. */
static void test_great_weight(void)
{
    statesampler_source sources[2];
    statesampler_mix mix;
    statesampler_desc d;
    statesampler_place place;
    uint32_t stop, source, i;
    uint64_t index, turn = 0, out;
    size_t count;
    memset(&d, 0, sizeof d);
    memset(&place, 0, sizeof place);
    for (stop = STATESAMPLER_STOP_FIRST; stop < STOPS; stop += 3) {
        for (i = 0; i < 2; i++) {
            d.num_samples = (uint64_t)1 << (i == 0 ? 61 : 40);
            d.stream = i;
            CHECK(statesampler_init(&sources[i].sampler, &d) ==
                  STATESAMPLER_OK);
        }
        sources[0].weight = 1;
        sources[1].weight = 0x7ffffffe;
        CHECK(statesampler_mix_init(&mix, sources, 2, stop) == STATESAMPLER_OK);
        for (i = 0; i < 61; i++) {
            uint64_t step = (uint64_t)1 << i;
            int found;
            CHECK(must_at(&sources[0].sampler, step, &index) == 1);
            found = statesampler_mix_locate(&mix, 0, index, &turn, &place);
            CHECK((found == STATESAMPLER_OK) ==
                  (i < (stop == STATESAMPLER_STOP_NEVER ? 32u : 9u)));
            if (found != STATESAMPLER_OK)
                continue;
            CHECK(place.step == step);
            CHECK(statesampler_mix_at(&mix, turn, &out, &count, &source) == 1);
            CHECK(source == 0 && count == 1 && out == index);
        }
        /* A turn of this number modulo 2^64 would be near. */
        CHECK(must_at(&sources[0].sampler, ((uint64_t)1 << 33) + 5, &index) ==
              1);
        CHECK_KIND(statesampler_mix_locate(&mix, 0, index, &turn, &place),
                   STATESAMPLER_ERANGE);
    }
}

/* With FIRST only the source that ends the epoch counts: another may be so
   light that its last turn is past all numbers. */
static void test_light(void)
{
    static party p;
    unsigned char state[STATE];
    uint64_t turn;
    plain(&p, 2, STATESAMPLER_STOP_FIRST);
    p.desc[0].num_samples = (uint64_t)1 << 40;
    p.desc[1].num_samples = 1000;
    p.weight[0] = 1;
    p.weight[1] = 1u << 30;
    CHECK(start(&p) == STATESAMPLER_OK);
    for (turn = 0; turn < 3; turn++) {
        size_t size = save(&p, state);
        CHECK(start(&p) == STATESAMPLER_OK);
        CHECK(statesampler_mix_load(&p.mix, state, size) == STATESAMPLER_OK);
        CHECK(statesampler_mix_turn(&p.mix) == turn);
        CHECK(statesampler_mix_seek(&p.mix, turn + 1) == STATESAMPLER_OK);
    }
}

/* A source without steps in this shape may have some in that of a state, and
   takes turns then: its weight counts. */
static void test_idle(void)
{
    static party p;
    plain(&p, 2, STATESAMPLER_STOP_ALL);
    p.desc[0].num_samples = (uint64_t)1 << 45;
    p.desc[1].num_samples = 1;
    p.desc[0].tail = p.desc[1].tail = STATESAMPLER_TAIL_DROP;
    p.desc[0].world_size = p.desc[1].world_size = 2;
    p.weight[0] = 1;
    p.weight[1] = 1u << 30;
    CHECK(start(&p) == STATESAMPLER_EINVAL_SEQUENCE);
    p.weight[1] = 1;
    CHECK(start(&p) == STATESAMPLER_OK);
}

/* A state at a tick that no run comes to, from which what is left in another
   shape is past all numbers: the sequence begins anew, and all turns are
   found. */
static void test_far_tick(void)
{
    static party p;
    unsigned char state[STATE];
    uint64_t out[2], at[1], end;
    uint32_t source, k;
    size_t size, count;
    for (k = 0; k < 2; k++) {
        plain(&p, 2, STATESAMPLER_STOP_ALL);
        p.desc[0].num_samples = (uint64_t)30 << 30;
        p.desc[1].num_samples = 1u << 20;
        p.desc[0].batch_size = p.desc[1].batch_size = k == 0 ? 512 : 8;
        p.desc[0].drop_last = p.desc[1].drop_last = 0;
        p.weight[0] = 1;
        p.weight[1] = 1u << 30;
        CHECK(start(&p) == STATESAMPLER_OK);
        if (k == 0) {
            CHECK(statesampler_mix_seek(&p.mix, 5) == STATESAMPLER_OK);
            size = save(&p, state);
            forge_put(state, FORGE_MIX_TICK, (uint64_t)5 << 60);
            forge_seal(state, size);
        }
    }
    size = statesampler_mix_state_bytes(&p.mix);
    CHECK(statesampler_mix_load(&p.mix, state, size) == STATESAMPLER_OK);
    CHECK(save(&p, state) == size);
    CHECK(forge_get(state, FORGE_MIX_TICK) == 0);
    end = statesampler_mix_num_turns(&p.mix);
    for (k = 0; k < 2; k++) {
        static uint64_t batch[8];
        uint64_t turn = k == 0 ? end / 3 : end - 1;
        CHECK(statesampler_mix_at(&p.mix, turn, batch, &count, &source) == 1);
        at[0] = batch[0];
        CHECK(statesampler_mix_seek(&p.mix, turn) == STATESAMPLER_OK);
        CHECK(statesampler_mix_next(&p.mix, batch, &count, &source) == 1);
        out[k] = batch[0];
        CHECK(out[k] == at[0]);
    }
}

/* After a load the base of a source with CARRY is where it stands: at and
   mix_at reach 2^62 positions on from there, and nothing before it. */
static void test_carry_base(void)
{
    static party p;
    unsigned char state[STATE];
    const uint64_t last = 5 + ((uint64_t)1 << 62) / 4; /* batches of 4 */
    size_t size, count;
    uint32_t turn;
    plain(&p, 1, STATESAMPLER_STOP_NEVER);
    p.desc[0].num_samples = 10;
    p.desc[0].batch_size = 4;
    p.desc[0].tail = STATESAMPLER_TAIL_CARRY;
    CHECK(start(&p) == STATESAMPLER_OK);
    for (turn = 0; turn < 5; turn++)
        CHECK(statesampler_mix_next(&p.mix, NULL, &count, NULL) == 1);
    size = save(&p, state);
    CHECK(statesampler_at(&p.source[0].sampler, 4, NULL, &count) == 1);
    CHECK(start(&p) == STATESAMPLER_OK);
    CHECK(statesampler_mix_load(&p.mix, state, size) == STATESAMPLER_OK);
    CHECK(statesampler_at(&p.source[0].sampler, 5, NULL, &count) == 1);
    CHECK(statesampler_at(&p.source[0].sampler, 4, NULL, &count) ==
          STATESAMPLER_ERANGE_BASE);
    CHECK(statesampler_at(&p.source[0].sampler, last, NULL, &count) == 1);
    CHECK(statesampler_at(&p.source[0].sampler, last + 1, NULL, &count) ==
          STATESAMPLER_ERANGE_FAR);
    CHECK(statesampler_mix_at(&p.mix, last, NULL, &count, NULL) == 1);
    CHECK(statesampler_mix_at(&p.mix, last + 1, NULL, &count, NULL) ==
          STATESAMPLER_ERANGE_FAR);
}

/* As another rank of as many a mix keeps its base, and answers for the past. */
static void test_other_rank(void)
{
    static party p;
    uint32_t turn;
    size_t count;
    plain(&p, 2, STATESAMPLER_STOP_FIRST);
    for (turn = 0; turn < 2; turn++) {
        p.desc[turn].num_samples = 10;
        p.desc[turn].world_size = 2;
    }
    CHECK(start(&p) == STATESAMPLER_OK);
    for (turn = 0; turn < 5; turn++)
        CHECK(statesampler_mix_next(&p.mix, NULL, &count, NULL) == 1);
    CHECK(statesampler_mix_reshape(&p.mix, 1, 2) == STATESAMPLER_OK);
    CHECK(statesampler_mix_at(&p.mix, 0, NULL, &count, NULL) == 1);
    CHECK(statesampler_mix_reshape(&p.mix, 0, 1) == STATESAMPLER_OK);
    CHECK(statesampler_mix_at(&p.mix, 4, NULL, &count, NULL) ==
          STATESAMPLER_ERANGE_BASE);
}

/* The last period that a sequence of three ticks can end in, before 2^63: a
   state in it goes on there, and one a period later begins it anew. */
static void test_last_period(void)
{
    static party p;
    unsigned char state[STATE];
    uint64_t last = ((uint64_t)1 << 63) / 3 - 1, tick;
    size_t size;
    uint32_t k;
    for (k = 0; k < 2; k++) {
        plain(&p, 2, STATESAMPLER_STOP_ALL);
        p.desc[0].num_samples = p.desc[1].num_samples = 10;
        p.weight[0] = 1;
        p.weight[1] = 2;
        CHECK(start(&p) == STATESAMPLER_OK);
        size = save(&p, state);
        tick = 3 * (last + k - statesampler_num_steps(&p.source[0].sampler));
        forge_put(state, FORGE_MIX_TICK, tick);
        forge_seal(state, size);
        CHECK(statesampler_mix_load(&p.mix, state, size) == STATESAMPLER_OK);
        CHECK(save(&p, state) == size);
        CHECK(forge_get(state, FORGE_MIX_TICK) == (k == 0 ? tick : 0));
    }
}

/* A source's weight is what mix_init found: what is written there later changes
   neither turns nor states. */
static void test_given_weights(void)
{
    static party p, other;
    uint64_t out[1], again[1];
    uint32_t i, turn, source[2];
    size_t count;
    plain(&p, 3, STATESAMPLER_STOP_RESTART);
    for (i = 0; i < 3; i++) {
        p.desc[i].num_samples = 60;
        p.weight[i] = 1 + i;
    }
    CHECK(start(&p) == STATESAMPLER_OK);
    other = p;
    CHECK(start(&other) == STATESAMPLER_OK);
    for (turn = 0; turn < 100; turn++) {
        for (i = 0; i < 3; i++)
            p.source[i].weight = (uint32_t)check_random(5);
        p.source[turn % 3].weight = STATESAMPLER_OFF;
        check_same(&p, &other);
        if (turn % 30 == 7) {
            CHECK(statesampler_mix_seek(&p.mix, turn) == STATESAMPLER_OK);
            CHECK(statesampler_mix_reshape(&p.mix, 0, 1) == STATESAMPLER_OK);
            CHECK(statesampler_mix_weigh(&p.mix, p.weight) == STATESAMPLER_OK);
            check_same(&p, &other);
        }
        CHECK(statesampler_mix_next(&p.mix, out, &count, &source[0]) == 1);
        CHECK(statesampler_mix_next(&other.mix, again, &count, &source[1]) ==
              1);
        CHECK(source[0] == source[1] && out[0] == again[0]);
    }
}

/* The sequence must reach through the epochs to come, too: a source that is
   loaded where few steps of this one are left has as many as ever in the next.
   On 2^20 ranks it has all but its last step behind it. */
static void test_next_epochs(void)
{
    static party p;
    unsigned char state[STATESAMPLER_STATE_BYTES];
    statesampler many_ranks;
    uint32_t stop;
    for (stop = STATESAMPLER_STOP_ALL; stop <= STATESAMPLER_STOP_RESTART;
         stop++) {
        plain(&p, 2, stop);
        p.desc[0].num_samples = (uint64_t)1 << 45;
        p.desc[0].world_size = 1u << 20;
        p.desc[1].num_samples = 3;
        p.weight[0] = 1;
        p.weight[1] = 1u << 30;
        CHECK(statesampler_init(&many_ranks, &p.desc[0]) == STATESAMPLER_OK);
        CHECK(statesampler_seek(&many_ranks, (1u << 25) - 1) ==
              STATESAMPLER_OK);
        must_save(&many_ranks, state);
        p.desc[0].world_size = 1;
        CHECK(start(&p) == STATESAMPLER_EINVAL_SEQUENCE);
        CHECK(statesampler_load(&p.source[0].sampler, state, sizeof state) ==
              STATESAMPLER_OK);
        CHECK(statesampler_num_steps(&p.source[0].sampler) < 1u << 26);
        CHECK(statesampler_mix_init(&p.mix, p.source, 2, stop) ==
              STATESAMPLER_EINVAL_SEQUENCE);
        p.source[1].weight = 1u << 10;
        CHECK(statesampler_mix_init(&p.mix, p.source, 2, stop) ==
              STATESAMPLER_OK);
    }
}

/* What a mix may do does not depend on where it stands: after 2^31 small steps
   on one rank it goes on in great steps, in which all has its place; and then
   the small ones are no part of the sequence. */
static void test_past_steps(void)
{
    static const uint32_t heavy[2] = {1, 0x7ffffffe};
    static party p, other;
    const uint64_t past = ((uint64_t)1 << 31) - ((uint64_t)1 << 20);
    unsigned char state[STATE];
    uint32_t k;
    size_t size;
    plain(&p, 2, STATESAMPLER_STOP_ALL);
    p.desc[0].num_samples = past + 8192 * (((uint64_t)1 << 20) - 10);
    p.desc[1].num_samples = 5;
    p.desc[0].tail = p.desc[1].tail = STATESAMPLER_TAIL_UNEVEN;
    p.weight[0] = p.weight[1] = 1;
    CHECK(start(&p) == STATESAMPLER_OK);
    CHECK(statesampler_mix_seek(&p.mix, past + 5) == STATESAMPLER_OK);
    size = save(&p, state);
    reshape(&p, 2, 4096, 1, 0);
    CHECK(start(&p) == STATESAMPLER_OK);
    CHECK(statesampler_mix_load(&p.mix, state, size) == STATESAMPLER_OK);
    CHECK(statesampler_mix_weigh(&p.mix, heavy) == STATESAMPLER_OK);
    CHECK(statesampler_num_steps(&p.source[0].sampler) > past);
    size = save(&p, state);
    CHECK(statesampler_mix_load(&p.mix, state, size) == STATESAMPLER_OK);
    other = p;
    reshape(&other, 1, 4096, 0, 0);
    other.weight[1] = heavy[1];
    CHECK(start(&other) == STATESAMPLER_OK);
    CHECK(statesampler_mix_load(&other.mix, state, size) == STATESAMPLER_OK);
    CHECK(statesampler_mix_reshape(&p.mix, 0, 1) == STATESAMPLER_OK);
    for (k = 0; k < 9; k++) {
        size = save(&p, state);
        CHECK(statesampler_mix_load(&other.mix, state, size) ==
              STATESAMPLER_OK);
        check_same(&p, &other);
        CHECK(statesampler_mix_seek(&p.mix, statesampler_mix_turn(&p.mix) +
                                                1) == STATESAMPLER_OK);
    }
}

/* Whether a turn can be reached: at, seek and, for what the turn serves,
   locate must say the same. */
static void check_reach(party *p, uint64_t turn)
{
    static party other;
    uint64_t out[MIX_BATCH], found, now = statesampler_mix_turn(&p->mix);
    uint32_t source = 99;
    size_t count;
    statesampler_place place;
    int at, seek;
    at = statesampler_mix_at(&p->mix, turn, out, &count, &source);
    other = *p;
    other.mix.sources = other.source;
    seek = statesampler_mix_seek(&other.mix, turn);
    if (seek < 0) {
        CHECK(at == (seek == STATESAMPLER_ERANGE_END ? 0 : seek));
        CHECK(statesampler_mix_turn(&other.mix) == now);
    } else if (turn == statesampler_mix_num_turns(&p->mix)) {
        CHECK(at == 0);
    } else {
        CHECK(at == 1);
        CHECK(statesampler_mix_turn(&other.mix) == turn);
        if (count == 0 ||
            p->desc[source].order == STATESAMPLER_ORDER_REPLACEMENT)
            return;
        /* Of an epoch that other turns are in, locate knows it when it is
           the present one. */
        CHECK(statesampler_mix_locate(&other.mix, source, out[0], &found,
                                      &place) == STATESAMPLER_OK ||
              statesampler_epoch(&other.source[source].sampler) !=
                  statesampler_epoch(&p->source[source].sampler));
        if (statesampler_mix_locate(&p->mix, source, out[0], &found, &place) ==
            STATESAMPLER_OK)
            CHECK(statesampler_mix_at(&p->mix, found, out, &count, &source) ==
                  1);
    }
}

/* Everything that an edge may be, on both sides of it: the base, the end, turn
   2^62, and 2^62 positions of a source with CARRY. */
static void test_reach(void)
{
    static party p;
    uint32_t stop, k;
    for (stop = 0; stop < STOPS; stop++)
        for (k = 0; k < 6; k++) {
            static const uint32_t worlds[] = {3, 1u << 20, UINT32_MAX};
            uint64_t edges[5], i, j;
            plain(&p, 3, stop);
            p.desc[0].num_samples = 1000;
            p.desc[1].num_samples = 20;
            p.desc[2].num_samples = 400;
            p.weight[0] = 1 + k;
            p.weight[1] = 2;
            p.weight[2] = 5;
            reshape(&p, k % 2 ? 4 : 1, 1 + k, 0, 0);
            if (stop == STATESAMPLER_STOP_NEVER) {
                p.desc[0].tail = STATESAMPLER_TAIL_CARRY;
                reshape(&p, worlds[k % 3], 1 + k, 0, 0);
            }
            shown = &p;
            CHECK(start(&p) == STATESAMPLER_OK);
            edges[0] = 0;
            edges[1] = statesampler_mix_num_turns(&p.mix);
            edges[2] = (uint64_t)1 << 62;
            /* The first source's last step, and its turn at about then. */
            edges[3] = ((uint64_t)1 << 62) /
                       ((uint64_t)p.desc[0].world_size * p.desc[0].batch_size);
            edges[4] = edges[3] / p.weight[0] * (uint64_t)(8 + k);
            for (i = 0; i < 5; i++)
                for (j = 0; j < 60; j++)
                    check_reach(&p, edges[i] + j - 30);
            /* And from a place on the way. */
            if (statesampler_mix_seek(&p.mix, 11) == STATESAMPLER_OK)
                for (i = 0; i < 5; i++)
                    for (j = 0; j < 60; j++)
                        check_reach(&p, edges[i] + j - 30);
        }
    shown = NULL;
}

/* --- The least and the most ----------------------------------------------- */

static void test_limits(void)
{
    static unsigned char state[FORGE_MIX_BYTES(2)], again[sizeof state];
    static party p;
    uint32_t i, source;
    uint64_t turn;
    size_t count, size;
    /* The last that are not too much. */
    plain(&p, 3, STATESAMPLER_STOP_RESTART);
    p.desc[0].num_samples = ((uint64_t)1 << 62) / 3 / 7 * 7 - 1;
    p.desc[1].num_samples = 5;
    p.weight[0] = p.weight[1] = p.weight[2] = 7;
    CHECK(start(&p) == STATESAMPLER_OK);
    CHECK(statesampler_mix_num_turns(&p.mix) == p.desc[0].num_samples * 2);
    p.weight[1] = ((uint32_t)1 << 31) - 8;
    p.weight[0] = 0;
    p.weight[2] = 6;
    p.desc[0].num_samples = 1;
    CHECK(start(&p) == STATESAMPLER_OK);
    p.weight[2] = 7;
    CHECK(start(&p) == STATESAMPLER_EINVAL_WEIGHTS);

    plain(&p, 2, STATESAMPLER_STOP_FIRST);
    p.desc[0].num_samples = 3;
    p.desc[1].num_samples = 9;
    CHECK(start(&p) == STATESAMPLER_OK);
    CHECK(statesampler_mix_offset(&p.mix, 0) == 0);
    CHECK(statesampler_mix_offset(&p.mix, 1) == 3);
    CHECK(statesampler_mix_offset(&p.mix, 2) == 12);

    /* The base moves with the turn after 2^62 positions, and not before. */
    plain(&p, 1, STATESAMPLER_STOP_NEVER);
    p.desc[0].num_samples = 1000;
    p.desc[0].tail = STATESAMPLER_TAIL_CARRY;
    reshape(&p, (uint32_t)1 << 31, (uint32_t)1 << 28, 0, 0);
    CHECK(start(&p) == STATESAMPLER_OK);
    for (turn = 0; turn < 8; turn++) {
        CHECK(statesampler_mix_at(&p.mix, 0, NULL, &count, NULL) == 1);
        CHECK(statesampler_mix_next(&p.mix, NULL, &count, NULL) == 1);
    }
    CHECK(statesampler_mix_at(&p.mix, 7, NULL, &count, NULL) ==
          STATESAMPLER_ERANGE_BASE);

    /* Nothing but empty sources: no turn, every time. */
    for (i = 0; i < 3; i++) {
        plain(&p, 2, i);
        CHECK(start(&p) == STATESAMPLER_OK);
        CHECK(statesampler_mix_num_turns(&p.mix) == 0);
        /* Whatever mix_init finds in memory, it is the same mix. */
        size = must_mix_save(&p.mix, state);
        memset(&p.mix, 5, sizeof p.mix);
        CHECK(statesampler_mix_init(&p.mix, p.source, 2, i) == STATESAMPLER_OK);
        CHECK(must_mix_save(&p.mix, again) == size);
        CHECK(memcmp(state, again, size) == 0);
        for (turn = 0; turn < 3; turn++) {
            CHECK(statesampler_mix_epoch(&p.mix) == turn);
            source = 5;
            CHECK(statesampler_mix_at(&p.mix, 0, NULL, &count, &source) == 0);
            CHECK(statesampler_mix_next(&p.mix, NULL, &count, &source) == 0);
            CHECK(count == 0 && source == 5);
        }
    }
}

int main(int argc, char **argv)
{
    int reduced = check_reduced(argc, argv);
    CHECK(atexit(report) == 0);
    test_formulas();
    test_runs(reduced);
    test_elastic(reduced);
    shown = NULL;
    test_shares(reduced);
    test_far();
    test_long();
    test_largest();
    test_last_steps();
    test_last_turn();
    test_great_weight();
    test_thousands(reduced);
    test_light();
    test_idle();
    test_far_tick();
    test_last_period();
    test_carry_base();
    test_other_rank();
    test_given_weights();
    test_next_epochs();
    test_past_steps();
    test_reach();
    test_limits();
    shown = NULL;
    return check_done("test_mix");
}

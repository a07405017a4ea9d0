/* test_mix.c - do the turns of a mix come as they would by hand, on every
   rank, and does it go on exactly from any turn and in any shape? */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "check.h"
#include "model_mix.h"

#define TURNS 600 /* of the longest epoch that is looked at turn by turn */
#define STATE (64 + 192 * MIX_SOURCES)

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
               (unsigned long)shown->weight[i],
               (unsigned long)d->num_samples, (unsigned long)d->order,
               (unsigned long)d->partition, (unsigned long)d->tail,
               (unsigned long)d->drop_last, (unsigned long)d->rank,
               (unsigned long)d->world_size, (unsigned long)d->batch_size);
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
            drop_last && p->desc[i].tail != STATESAMPLER_CARRY;
    }
}

static size_t save(const party *p, unsigned char *state)
{
    size_t size = statesampler_mix_state_bytes(&p->mix);
    CHECK(size <= 64 + 192 * (size_t)p->count);
    statesampler_mix_save(&p->mix, state);
    return size;
}

static void check_same(const party *a, const party *b)
{
    unsigned char x[STATE], y[STATE];
    size_t size = save(a, x);
    CHECK(save(b, y) == size);
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
    uint64_t out[MIX_BATCH], turn;
    uint32_t source;
    size_t count;
    unsigned char before[STATE], after[STATE];
    size_t size = save(p, before);
    for (turn = 0; turn < base; turn++) {
        CHECK(statesampler_mix_at(&p->mix, turn, out, &count, &source) ==
              STATESAMPLER_ERANGE);
        CHECK(statesampler_mix_seek(&p->mix, turn) == STATESAMPLER_ERANGE);
    }
    for (turn = r->first; turn < r->turns; turn++) {
        CHECK(statesampler_mix_at(&p->mix, turn, out, &count, &source) == 1);
        check_turn(r, turn, source, out, count);
        CHECK(statesampler_mix_at(&p->mix, turn, NULL, &count, &source) == 1);
        CHECK(count == r->count[turn]);
    }
    if (r->ended) {
        CHECK(statesampler_mix_at(&p->mix, turn, out, &count, &source) == 0);
        CHECK(count == 0);
        CHECK(statesampler_mix_at(&p->mix, UINT64_MAX, out, &count,
                                  &source) == 0);
        CHECK(statesampler_mix_seek(&p->mix, turn + 1) ==
              STATESAMPLER_ERANGE);
        CHECK(statesampler_mix_seek(&p->mix, UINT64_MAX) ==
              STATESAMPLER_ERANGE);
    }
    CHECK(save(p, after) == size && memcmp(before, after, size) == 0);
    for (turn = r->turns + 1; turn-- > r->first;) {
        CHECK(statesampler_mix_seek(&p->mix, turn) == STATESAMPLER_OK);
        CHECK(statesampler_mix_turn(&p->mix) == turn);
        if (turn < r->turns) {
            CHECK(statesampler_mix_next(&p->mix, out, &count, &source) == 1);
            check_turn(r, turn, source, out, count);
        }
    }
    CHECK(statesampler_mix_load(&p->mix, before, size) == STATESAMPLER_OK);
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
                CHECK(mixed == STATESAMPLER_ERANGE && r->ended);
                for (t = statesampler_mix_turn(&p->mix); t < r->turns; t++)
                    for (k = 0; r->source[t] == i && k < r->count[t] &&
                                statesampler_step(s) <= own.step &&
                                p->stop <= STATESAMPLER_ALL;
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
        check_anywhere(&other, &r, 0);
        for (turn = r.first; turn < r.turns; turn++) {
            CHECK(statesampler_mix_load(&other.mix, state, save(p, state)) ==
                  STATESAMPLER_OK);
            check_same(p, &other);
            if (turn == r.turns / 2) {
                check_anywhere(&other, &r, 0);
                check_places(&other, &r);
            }
            CHECK(statesampler_mix_next(&other.mix, out, &count, &source) ==
                  1);
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
                    if (stop == STATESAMPLER_ALL)
                        want += n[i];
                    else if (others == 0 ||
                             (stop == STATESAMPLER_FIRST ? asked < want
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
          (uint32_t)check_random(4));
    for (i = 0; i < p->count; i++) {
        statesampler_desc *d = &p->desc[i];
        d->num_samples = check_random(check_random(4) ? 40 : 4);
        d->world_size = world;
        d->batch_size = batch;
        d->rank = rank;
        d->order = (uint32_t)check_random(4);
        d->partition = (uint32_t)check_random(2);
        d->tail = (uint32_t)check_random(4);
        d->drop_last = (uint32_t)check_random(2);
        d->chunk_size = 1 + check_random(5);
        d->window = 1 + check_random(3);
        if (d->tail == STATESAMPLER_CARRY &&
            (p->stop != STATESAMPLER_NEVER || d->num_samples == 0))
            d->tail = STATESAMPLER_UNEVEN;
        if (d->tail == STATESAMPLER_CARRY)
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
    for (i = 0; i < (reduced ? 300 : 3000); i++) {
        invent(&p, i % 3 ? 4 : MIX_SOURCES);
        shown = &p;
        if (p.stop == STATESAMPLER_NEVER && is_empty(&p)) {
            CHECK(start(&p) == STATESAMPLER_EINVAL);
            continue;
        }
        CHECK(start(&p) == STATESAMPLER_OK);
        if (statesampler_mix_num_turns(&p.mix) < TURNS ||
            p.stop == STATESAMPLER_NEVER)
            run(&p, 3, p.stop == STATESAMPLER_NEVER ? 90 : TURNS);
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
    for (i = 0; i < (reduced ? 200 : 2000); i++) {
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
            int moved = 0;
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
            fresh[0] = p[0];
            reshape(&fresh[0], to, batch, 0, drop_last);
            for (k = 0; k < p[0].count; k++)
                moved |= to != world ||
                         p[0].desc[k].batch_size != batch ||
                         p[0].desc[k].drop_last != fresh[0].desc[k].drop_last;
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
            }
            if (k < to)
                break;
            for (k = 0; k < to; k++) {
                p[k] = fresh[k];
                p[k].mix.sources = p[k].source;
            }
            if (r[0].ended)
                base = 0;
            if (moved)
                base = m[0].turn;
            world = to;
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
    return check_done("test_mix");
}

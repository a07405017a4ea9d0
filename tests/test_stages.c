/* test_stages.c - may a run change while it goes on: a mix its weights, a mix
   or a sampler its shape, an epoch its length? Beside it the same by hand:
   model_mix.h for turns, and for shapes a state that is saved and loaded. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "check.h"
#include "must.h"
#include "forge.h"
#include "model_mix.h"

#define SOURCES 6
#define RANKS 5
#define STATE FORGE_MIX_BYTES(SOURCES)

static const statesampler_desc *shown;

static void report(void)
{
    if (shown)
        printf("  n %lu, %lu ranks, batch %lu, order %lu, partition %lu, tail "
               "%lu, drop_last %lu\n",
               (unsigned long)shown->num_samples,
               (unsigned long)shown->world_size,
               (unsigned long)shown->batch_size, (unsigned long)shown->order,
               (unsigned long)shown->partition, (unsigned long)shown->tail,
               (unsigned long)shown->drop_last);
}

/* Any description that init takes, in a shape. */
static statesampler_desc random_desc(uint32_t world_size, uint32_t rank,
                                     int carry)
{
    statesampler_desc d;
    memset(&d, 0, sizeof d);
    d.num_samples = check_random(8) == 0 ? 0 : check_random(60);
    d.seed = check_random(1000);
    d.stream = check_random(3);
    d.rank = rank;
    d.world_size = world_size;
    d.batch_size = 1 + (uint32_t)check_random(5);
    d.order = (uint32_t)check_random(ORDERS);
    d.chunk_size = 1 + check_random(5);
    d.window = 1 + check_random(4);
    d.tail = (uint32_t)check_random(carry ? TAILS : STATESAMPLER_TAIL_CARRY);
    if (d.tail == STATESAMPLER_TAIL_CARRY) {
        d.num_samples++;
    } else {
        d.partition = (uint32_t)check_random(2);
        d.drop_last = check_random(4) == 0;
    }
    return d;
}

/* --- Samplers ------------------------------------------------------------- */

/* The next step of both, or the end of the epoch of both. */
static void check_step(statesampler *a, statesampler *b)
{
    unsigned char x[STATESAMPLER_STATE_BYTES], y[STATESAMPLER_STATE_BYTES];
    uint64_t one[8], other[8];
    size_t counts[2];
    CHECK(statesampler_next(a, one, &counts[0]) ==
          statesampler_next(b, other, &counts[1]));
    CHECK(counts[0] == counts[1]);
    CHECK(memcmp(one, other, counts[0] * sizeof *one) == 0);
    must_save(a, x);
    must_save(b, y);
    CHECK(memcmp(x, y, sizeof x) == 0);
}

/* What is the same run, saved and loaded in a shape. */
static void reload(statesampler *to, const statesampler *s,
                   const statesampler_desc *d)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    must_save(s, state);
    CHECK(statesampler_init(to, d) == STATESAMPLER_OK);
    CHECK(statesampler_load(to, state, sizeof state) == STATESAMPLER_OK);
}

static void test_reshape(unsigned long chains)
{
    for (; chains != 0; chains--) {
        statesampler a, b;
        uint32_t world_size = 1 + (uint32_t)check_random(RANKS), change;
        statesampler_desc d =
            random_desc(world_size, (uint32_t)check_random(world_size), 1);
        shown = &d;
        CHECK(statesampler_init(&a, &d) == STATESAMPLER_OK);
        CHECK(statesampler_init(&b, &d) == STATESAMPLER_OK);
        for (change = 0; change < 6; change++) {
            uint64_t steps = check_random(8);
            while (steps-- != 0)
                check_step(&a, &b);
            if (check_random(3) != 0) {
                d.world_size = 1 + (uint32_t)check_random(RANKS);
                d.batch_size = 1 + (uint32_t)check_random(5);
            }
            d.rank = (uint32_t)check_random(d.world_size);
            reload(&b, &a, &d);
            CHECK(statesampler_reshape(&a, d.rank, d.world_size,
                                       d.batch_size) == STATESAMPLER_OK);
            CHECK(statesampler_num_steps(&a) == statesampler_num_steps(&b));
        }
        shown = NULL;
    }
}

/* Another rank's view: a copy shows what that rank has, and had since the
   base. */
static void test_view(void)
{
    statesampler_desc d;
    statesampler s[3], view;
    uint64_t batch[7], other[7], step;
    uint32_t rank;
    memset(&d, 0, sizeof d);
    d.num_samples = 100;
    d.world_size = 3;
    d.batch_size = 7;
    for (rank = 0; rank < 3; rank++) {
        d.rank = rank;
        CHECK(statesampler_init(&s[rank], &d) == STATESAMPLER_OK);
    }
    CHECK(statesampler_seek(&s[0], 3) == STATESAMPLER_OK);
    for (rank = 0; rank < 3; rank++) {
        view = s[0];
        CHECK(statesampler_reshape(&view, rank, 3, 7) == STATESAMPLER_OK);
        for (step = 0; step < statesampler_num_steps(&view); step++) {
            size_t count = must_at(&view, step, batch);
            CHECK(must_at(&s[rank], step, other) == count);
            CHECK(memcmp(batch, other, count * sizeof *batch) == 0);
        }
    }
}

/* A SEQUENTIAL run of all its ranks. */
typedef struct run {
    statesampler_desc desc;
    statesampler s[RANKS];
} run;

static void start(run *r, uint32_t tail, uint32_t drop_last)
{
    uint32_t rank;
    r->desc = random_desc(1 + (uint32_t)check_random(RANKS), 0, 0);
    r->desc.order = STATESAMPLER_ORDER_SEQUENTIAL;
    r->desc.partition = STATESAMPLER_PARTITION_INTERLEAVED;
    r->desc.tail = tail;
    r->desc.drop_last = drop_last;
    r->desc.num_samples++;
    shown = &r->desc;
    for (rank = 0; rank < r->desc.world_size; rank++) {
        r->desc.rank = rank;
        CHECK(statesampler_init(&r->s[rank], &r->desc) == STATESAMPLER_OK);
    }
}

/* To another length; now and then through a state, too. */
static void resize(run *r, uint64_t n)
{
    uint32_t rank, reloaded = (uint32_t)check_random(RANKS);
    r->desc.num_samples = n;
    for (rank = 0; rank < r->desc.world_size; rank++) {
        CHECK(statesampler_resize(&r->s[rank], n) == STATESAMPLER_OK);
        CHECK(statesampler_resize(&r->s[rank], n) == STATESAMPLER_OK);
        r->desc.rank = rank;
        if (rank == reloaded)
            reload(&r->s[rank], &r->s[rank], &r->desc);
    }
}

/* Steps of all ranks; each sample is served once, and padding has none of its
   own. */
static void serve(unsigned char *seen, run *r, uint64_t steps)
{
    uint64_t batch[8];
    while (steps-- != 0 &&
           statesampler_step(&r->s[0]) < statesampler_num_steps(&r->s[0])) {
        uint32_t rank;
        for (rank = 0; rank < r->desc.world_size; rank++) {
            size_t repeats =
                statesampler_padding(&r->s[rank],
                                     statesampler_step(&r->s[rank]));
            size_t count = must_next(&r->s[rank], batch) - repeats, i;
            for (i = 0; i < count; i++) {
                CHECK(batch[i] < 400 && !seen[batch[i]]);
                seen[batch[i]] = 1;
            }
        }
    }
}

/* The samples below this number were served. */
static uint64_t served_below(const run *r)
{
    uint64_t position = statesampler_position(&r->s[0]);
    return position < r->desc.num_samples ? position : r->desc.num_samples;
}

static void test_resize(unsigned long chains)
{
    for (; chains != 0; chains--) {
        unsigned char seen[400];
        uint64_t n, epoch, i;
        uint32_t change, rank;
        statesampler_counts counts;
        run r;
        start(&r, (uint32_t)check_random(3), (uint32_t)check_random(2));
        for (epoch = 0; epoch < 2; epoch++) {
            memset(seen, 0, sizeof seen);
            for (change = 0; change < 4; change++) {
                serve(seen, &r, check_random(5));
                n = served_below(&r);
                if (n != 0)
                    CHECK(statesampler_resize(&r.s[0], n - 1) ==
                          STATESAMPLER_ERANGE_POSITION);
                resize(&r, n + check_random(60));
            }
            serve(seen, &r, 400);
            statesampler_get_counts(&r.s[0], &counts);
            n = counts.positions - counts.padded;
            CHECK(n + counts.dropped == r.desc.num_samples);
            for (i = 0; i < 400; i++)
                CHECK(seen[i] == (i < n));
            for (rank = 0; rank < r.desc.world_size; rank++) {
                must_end(&r.s[rank]);
                CHECK(statesampler_epoch(&r.s[rank]) == epoch + 1);
            }
        }
        shown = NULL;
    }
}

/* At an epoch's padded end the positions past num_samples were no samples. */
static void test_resize_after_padding(void)
{
    static const uint64_t expected[4][2] = {{5, 9}, {6, 0}, {7, 1}, {8, 2}};
    uint64_t batch[2], slot;
    uint32_t rank;
    statesampler_desc d;
    memset(&d, 0, sizeof d);
    d.num_samples = 5;
    d.world_size = 4;
    d.batch_size = 2;
    d.order = STATESAMPLER_ORDER_SEQUENTIAL;
    for (rank = 0; rank < d.world_size; rank++) {
        statesampler s;
        d.rank = rank;
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
        (void)must_next(&s, batch);
        CHECK(statesampler_position(&s) == 8);
        CHECK(statesampler_resize(&s, 5) == STATESAMPLER_OK);
        CHECK(statesampler_position(&s) == 8);
        CHECK(statesampler_resize(&s, 4) == STATESAMPLER_ERANGE_POSITION);
        CHECK(statesampler_position(&s) == 8);
        CHECK(statesampler_resize(&s, 10) == STATESAMPLER_OK);
        CHECK(statesampler_position(&s) == 5);
        CHECK(statesampler_step(&s) == 1);
        CHECK(must_next(&s, batch) == 2);
        for (slot = 0; slot < 2; slot++)
            CHECK(batch[slot] == expected[rank][slot]);
        must_end(&s);
    }
}

/* With CARRY epochs follow one another in one line. */
static void test_resize_carry(unsigned long chains)
{
    for (; chains != 0; chains--) {
        uint64_t position = 0, epoch = 0, n, batch[8];
        uint32_t step, rank, slot;
        run r;
        start(&r, STATESAMPLER_TAIL_CARRY, 0);
        n = r.desc.num_samples;
        for (step = 0; step < 20; step++) {
            if (check_random(4) == 0) {
                n = position + check_random(30);
                if (n == 0)
                    n = 1;
                resize(&r, n);
                if (position == n) {
                    position = 0;
                    epoch++;
                }
            }
            CHECK(statesampler_position(&r.s[0]) == position);
            CHECK(statesampler_epoch(&r.s[0]) == epoch);
            CHECK(statesampler_step(&r.s[0]) == step);
            for (rank = 0; rank < r.desc.world_size; rank++) {
                CHECK(must_next(&r.s[rank], batch) == r.desc.batch_size);
                for (slot = 0; slot < r.desc.batch_size; slot++)
                    CHECK(batch[slot] ==
                          (position + slot * r.desc.world_size + rank) % n);
            }
            position += (uint64_t)r.desc.world_size * r.desc.batch_size;
            epoch += position / n;
            position %= n;
        }
        shown = NULL;
    }
}

/* --- Mixes ---------------------------------------------------------------- */

typedef struct party {
    uint32_t count, stop, weight[SOURCES];
    statesampler_source source[SOURCES];
    statesampler_mix mix;
} party;

/* A mix of these descriptions, in memory that was something else before. */
static int begin(party *p, const statesampler_desc *desc)
{
    uint32_t i;
    memset(p->source, 0xa5, sizeof p->source);
    memset(&p->mix, 0xa5, sizeof p->mix);
    for (i = 0; i < p->count; i++) {
        CHECK(statesampler_init(&p->source[i].sampler, &desc[i]) ==
              STATESAMPLER_OK);
        p->source[i].weight = p->weight[i];
    }
    return statesampler_mix_init(&p->mix, p->source, p->count, p->stop);
}

static void check_saved(const party *a, const party *b)
{
    unsigned char x[STATE], y[STATE];
    size_t size = must_mix_save(&a->mix, x);
    CHECK(must_mix_save(&b->mix, y) == size);
    forge_move_bases(x, a->count);
    forge_move_bases(y, b->count);
    CHECK(memcmp(x, y, size) == 0);
}

static void random_weights(uint32_t *weight, uint32_t count)
{
    uint32_t i;
    for (i = 0; i < count; i++)
        weight[i] =
            check_random(4) == 0 ? STATESAMPLER_OFF : (uint32_t)check_random(6);
}

/* Turns, as by hand; at has told them before. */
static void check_turns(party *p, mix_model *m, uint64_t turns)
{
    while (turns-- != 0) {
        uint64_t one[8], other[8], before[8];
        size_t count = 0, counted = 0, told = 0;
        uint32_t source = 0, seat = 0, named = 0;
        int more,
            announced =
                statesampler_mix_at(&p->mix, statesampler_mix_turn(&p->mix),
                                    before, &told, &named);
        CHECK(statesampler_mix_turn(&p->mix) == m->turn);
        more = statesampler_mix_next(&p->mix, one, &count, &source);
        CHECK(more == announced);
        CHECK(mix_model_next(m, &seat, other, &counted) == more);
        if (more) {
            CHECK(source == seat && count == counted);
            CHECK(memcmp(one, other, count * sizeof *one) == 0);
            CHECK(named == seat && told == count);
            CHECK(memcmp(before, one, count * sizeof *one) == 0);
            CHECK(m->weight[source] != STATESAMPLER_OFF);
        }
        if (m->seats == 0)
            return;
    }
}

/* Back and forth, and then where it was. */
static void check_seek(party *p)
{
    unsigned char x[STATE], y[STATE];
    uint64_t turn = statesampler_mix_turn(&p->mix);
    size_t size = must_mix_save(&p->mix, x);
    uint64_t end = statesampler_mix_num_turns(&p->mix);
    (void)statesampler_mix_seek(&p->mix, check_random(turn + 1));
    if (end != STATESAMPLER_NONE)
        CHECK(statesampler_mix_seek(&p->mix, end) == STATESAMPLER_OK);
    CHECK(statesampler_mix_seek(&p->mix, turn) == STATESAMPLER_OK);
    CHECK(must_mix_save(&p->mix, y) == size && memcmp(x, y, size) == 0);
}

/* A change that is refused changes nothing, to the last byte. */
static void check_weigh(party *p, mix_model *m)
{
    static party was;
    uint32_t weight[SOURCES], i;
    uint64_t on = 0;
    int code;
    random_weights(weight, p->count);
    if (check_random(10) == 0)
        weight[0] = (uint32_t)1 << 31;
    if (check_random(4) == 0)
        memcpy(weight, m->weight, sizeof weight);
    for (i = 0; i < p->count; i++)
        if (weight[i] != STATESAMPLER_OFF)
            on += weight[i] ? weight[i] : 1;
    was = *p;
    code = statesampler_mix_weigh(&p->mix, weight);
    if (on == 0)
        CHECK(code == STATESAMPLER_EINVAL_ALL_OFF);
    else if (on >> 31)
        CHECK(code == STATESAMPLER_EINVAL_WEIGHTS);
    else
        CHECK(code == STATESAMPLER_OK ||
              (code == STATESAMPLER_EINVAL_NO_STEPS &&
               p->stop == STATESAMPLER_STOP_NEVER));
    if (code == STATESAMPLER_OK)
        mix_model_weigh(m, weight);
    else
        CHECK(memcmp(&was, p, sizeof was) == 0);
    /* The same again changes nothing. */
    was = *p;
    was.mix.sources = was.source;
    if (code == STATESAMPLER_OK) {
        CHECK(statesampler_mix_weigh(&p->mix, weight) == STATESAMPLER_OK);
        check_saved(&was, p);
    }
}

/* In place, and through a state: the same bytes. */
static void check_reshape(party *p, mix_model *m)
{
    static party twin;
    unsigned char state[STATE];
    statesampler_desc desc[SOURCES];
    uint32_t world_size = 1 + (uint32_t)check_random(RANKS), i;
    uint32_t rank = (uint32_t)check_random(world_size);
    size_t size = must_mix_save(&p->mix, state);
    int code;
    twin.count = p->count;
    twin.stop = p->stop;
    for (i = 0; i < p->count; i++) {
        desc[i] = m->desc[i];
        desc[i].world_size = world_size;
        desc[i].rank = rank;
        twin.weight[i] = m->weight[i];
    }
    code = statesampler_mix_reshape(&p->mix, rank, world_size);
    CHECK(begin(&twin, desc) == code);
    if (code != STATESAMPLER_OK) {
        unsigned char after[STATE];
        CHECK(code == STATESAMPLER_EINVAL_NO_STEPS);
        CHECK(must_mix_save(&p->mix, after) == size &&
              memcmp(state, after, size) == 0);
        return;
    }
    CHECK(statesampler_mix_load(&twin.mix, state, size) == STATESAMPLER_OK);
    check_saved(p, &twin);
    mix_model_reshape(m, world_size, 0, rank, 0);
}

/* A mix that has never seen these weights takes them over. */
static void check_load(party *p, const mix_model *m)
{
    static party fresh;
    unsigned char state[STATE];
    size_t size = must_mix_save(&p->mix, state);
    uint32_t i;
    fresh.count = p->count;
    fresh.stop = p->stop;
    for (i = 0; i < p->count; i++)
        fresh.weight[i] = 1 + (uint32_t)check_random(3);
    if (begin(&fresh, m->desc) != STATESAMPLER_OK)
        return;
    CHECK(statesampler_mix_load(&fresh.mix, state, size) == STATESAMPLER_OK);
    check_saved(p, &fresh);
    for (i = 0; i < p->count; i++)
        p->source[i] = fresh.source[i];
    p->mix = fresh.mix;
    p->mix.sources = p->source;
}

static void test_mixes(unsigned long chains)
{
    static mix_model m;
    static party p;
    for (; chains != 0; chains--) {
        statesampler_desc desc[SOURCES];
        uint32_t world_size = 1 + (uint32_t)check_random(RANKS), i, change;
        uint32_t rank = (uint32_t)check_random(world_size);
        p.count = 1 + (uint32_t)check_random(SOURCES);
        p.stop = (uint32_t)check_random(STOPS);
        random_weights(p.weight, p.count);
        for (i = 0; i < p.count; i++) {
            desc[i] = random_desc(world_size, rank,
                                  p.stop == STATESAMPLER_STOP_NEVER);
            desc[i].drop_last = 0;
        }
        if (begin(&p, desc) != STATESAMPLER_OK)
            continue;
        mix_model_init(&m, p.count, p.stop, desc, p.weight);
        for (change = 0; change < 8; change++) {
            shown = &m.desc[0];
            check_turns(&p, &m, check_random(12));
            switch (check_random(4)) {
            case 0:
                check_seek(&p);
                break;
            case 1:
                check_reshape(&p, &m);
                break;
            case 2:
                check_load(&p, &m);
                break;
            default:
                check_weigh(&p, &m);
                break;
            }
        }
        check_turns(&p, &m, 30);
        shown = NULL;
    }
}

int main(int argc, char **argv)
{
    int reduced = check_reduced(argc, argv);
    CHECK(atexit(report) == 0);
    test_reshape(reduced ? 2000 : 20000);
    test_view();
    test_resize(reduced ? 500 : 5000);
    test_resize_after_padding();
    test_resize_carry(reduced ? 500 : 5000);
    test_mixes(reduced ? 2500 : 15000);
    return check_done("test_stages");
}

/* Does locate invert at and next? */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "check.h"
#include "must.h"
#include "model.h"

/* The present epoch of a run as it is served from its base on, filled in
   from what at and next give: for each sample the first place. */
typedef struct served {
    int here[MODEL_MAX];
    statesampler_place place[MODEL_MAX];
} served;

static void served_add(served *v, uint64_t sample, uint64_t position,
                       uint64_t step, uint32_t rank, uint32_t slot)
{
    if (v->here[sample])
        return;
    v->here[sample] = 1;
    v->place[sample].position = position;
    v->place[sample].step = step;
    v->place[sample].rank = rank;
    v->place[sample].slot = slot;
}

/* The runs of all ranks; where their shape's base is. */
typedef struct crew {
    statesampler_desc desc;
    statesampler s[MODEL_RANKS];
    uint64_t base_step, base_position, base_epoch;
    int first_served[MODEL_MAX]; /* before the base, in base_epoch */
} crew;

/* Goes through the present epoch by at, or, with `by_next`, by next on
   copies; positions are counted one by one. */
static void walk(const crew *g, served *v, int by_next)
{
    static statesampler copy[MODEL_RANKS];
    static uint64_t out[MODEL_RANKS][MODEL_BATCH];
    size_t count[MODEL_RANKS] = {0};
    uint64_t n = g->desc.num_samples, i;
    uint64_t step = g->base_step, position = g->base_position;
    uint64_t epoch = g->base_epoch, present = statesampler_epoch(&g->s[0]);
    uint32_t r, slot;
    int carry = g->desc.tail == STATESAMPLER_TAIL_CARRY, last = 0;
    for (i = 0; i < n; i++)
        v->here[i] = 0;
    for (r = 0; r < g->desc.world_size; r++) {
        copy[r] = g->s[r];
        CHECK(statesampler_seek(&copy[r], step) == STATESAMPLER_OK);
    }
    while (!last) {
        CHECK(step - g->base_step < MODEL_MAX);
        for (r = 0; r < g->desc.world_size; r++) {
            int more = by_next
                           ? statesampler_next(&copy[r], out[r], &count[r])
                           : statesampler_at(&g->s[r], step, out[r], &count[r]);
            CHECK(r == 0 || last == !more);
            last = !more;
        }
        if (carry && epoch > present)
            break;
        for (slot = 0; slot < g->desc.batch_size; slot++)
            for (r = 0; r < g->desc.world_size; r++) {
                if (slot >= count[r])
                    continue;
                if (epoch == present)
                    served_add(v, out[r][slot], position, step, r, slot);
                position++;
                if (carry && position == n) {
                    position = 0;
                    epoch++;
                }
            }
        step++;
    }
}

static void check_places(const crew *g, int by_next)
{
    static served v;
    uint64_t i, n = g->desc.num_samples;
    uint32_t r;
    statesampler_place place;
    walk(g, &v, by_next);
    for (r = 0; r < g->desc.world_size; r++) {
        for (i = 0; i < n; i++) {
            int code = statesampler_locate(&g->s[r], i, &place);
            if (g->desc.order == STATESAMPLER_ORDER_REPLACEMENT) {
                CHECK_KIND(code, STATESAMPLER_EINVAL);
                continue;
            }
            /* What an earlier shape served first has its first place
               before the base, even if padding serves it again. */
            if (!v.here[i] || (g->first_served[i] &&
                               g->base_epoch == statesampler_epoch(&g->s[r]))) {
                CHECK_KIND(code, STATESAMPLER_ERANGE);
                continue;
            }
            CHECK(code == STATESAMPLER_OK);
            CHECK(place.step == v.place[i].step);
            CHECK(place.rank == v.place[i].rank);
            CHECK(place.slot == v.place[i].slot);
            CHECK(place.position == v.place[i].position);
        }
        if (g->desc.order == STATESAMPLER_ORDER_REPLACEMENT)
            continue;
        CHECK_KIND(statesampler_locate(&g->s[r], n, &place),
                   STATESAMPLER_ERANGE);
        CHECK_KIND(statesampler_locate(&g->s[r], UINT64_MAX, &place),
                   STATESAMPLER_ERANGE);
    }
}

static void forget(crew *g)
{
    uint64_t i;
    for (i = 0; i < g->desc.num_samples; i++)
        g->first_served[i] = 0;
    g->base_step = statesampler_step(&g->s[0]);
    g->base_position = statesampler_position(&g->s[0]);
    g->base_epoch = statesampler_epoch(&g->s[0]);
}

/* All ranks take some steps, as far as the end. */
static void go(crew *g, uint64_t steps)
{
    uint32_t r;
    while (steps-- > 0 &&
           statesampler_step(&g->s[0]) < statesampler_num_steps(&g->s[0]))
        for (r = 0; r < g->desc.world_size; r++) {
            uint64_t to = statesampler_step(&g->s[r]) + 1;
            CHECK(statesampler_seek(&g->s[r], to) == STATESAMPLER_OK);
        }
}

static void reshape(crew *g, uint32_t world, uint32_t batch, uint32_t drop_last)
{
    static served v;
    unsigned char state[STATESAMPLER_STATE_BYTES];
    uint64_t n = g->desc.num_samples, i, epoch, position;
    uint32_t r;
    int carry = g->desc.tail == STATESAMPLER_TAIL_CARRY;
    int same = g->desc.world_size == world && g->desc.batch_size == batch;
    epoch = statesampler_epoch(&g->s[0]);
    position = statesampler_position(&g->s[0]);
    /* A load in the same shape keeps the base, and a change of drop_last
       there is the business of test_elastic. */
    if (same)
        drop_last = g->desc.drop_last;
    if (!same) {
        walk(g, &v, 0);
        for (i = 0; i < n; i++) {
            if (epoch != g->base_epoch)
                g->first_served[i] = 0;
            if (v.here[i] && v.place[i].position < position)
                g->first_served[i] = 1;
        }
    }
    must_save(&g->s[world % g->desc.world_size], state);
    g->desc.world_size = world;
    g->desc.batch_size = batch;
    g->desc.drop_last = drop_last;
    for (r = 0; r < world; r++) {
        statesampler_desc d = g->desc;
        d.rank = r;
        d.epoch += 3;
        CHECK(statesampler_init(&g->s[r], &d) == STATESAMPLER_OK);
        CHECK(statesampler_load(&g->s[r], state, sizeof state) ==
              STATESAMPLER_OK);
        CHECK(statesampler_epoch(&g->s[r]) == epoch);
        CHECK(statesampler_position(&g->s[r]) == position);
    }
    if (same)
        return;
    if (!carry && position == 0)
        forget(g);
    g->base_step = statesampler_step(&g->s[0]);
    g->base_position = position;
    g->base_epoch = epoch;
}

static void run_case(const statesampler_desc *given, int changes)
{
    static crew g;
    statesampler_desc other;
    uint32_t r;
    int i;
    g.desc = *given;
    model_watch(&g.desc, NULL);
    for (r = 0; r < given->world_size; r++) {
        statesampler_desc d = *given;
        d.rank = r;
        CHECK(statesampler_init(&g.s[r], &d) == STATESAMPLER_OK);
    }
    forget(&g);
    check_places(&g, 0);
    check_places(&g, 1);
    for (i = 0; i < changes; i++) {
        go(&g, check_random(5));
        check_places(&g, i & 1);
        other = model_random_desc(1, 5, 4);
        reshape(&g, other.world_size, other.batch_size,
                given->tail == STATESAMPLER_TAIL_CARRY
                    ? 0
                    : (uint32_t)other.num_samples);
        check_places(&g, i & 1);
        if (check_random(6) == 0) {
            uint64_t epoch = statesampler_epoch(&g.s[0]) + 1;
            for (r = 0; r < g.desc.world_size; r++)
                statesampler_set_epoch(&g.s[r], epoch);
            forget(&g);
            check_places(&g, 1);
        }
    }
    model_finish();
}

static void test_small(int reduced)
{
    uint64_t n;
    uint32_t w, b, partition, tail, drop_last;
    int o;
    for (n = 0; n <= 13; n++)
        for (w = 1; w <= 5; w++)
            for (b = 1; b <= 3; b++)
                for (o = 0; o < MODEL_ORDERS; o++)
                    for (partition = 0; partition < 2; partition++)
                        for (tail = 0; tail < TAILS; tail++)
                            for (drop_last = 0; drop_last < 2; drop_last++) {
                                statesampler_desc d = model_desc(n, w, b);
                                if (reduced &&
                                    (n + w + b + tail + (uint32_t)o) % 4)
                                    continue;
                                model_set_order(&d, o);
                                d.partition = partition;
                                d.tail = tail;
                                d.drop_last = drop_last;
                                if (model_makes_sense(&d))
                                    run_case(&d, reduced ? 1 : 2);
                            }
}

static void test_larger(int cases)
{
    int i;
    for (i = 0; i < cases; i++) {
        statesampler_desc d = model_random_desc(119, 7, 6);
        model_set_order(&d, (int)check_random(MODEL_ORDERS));
        if (d.order == STATESAMPLER_ORDER_WINDOW) {
            d.chunk_size = 1 + check_random(12);
            d.window = 1 + check_random(5);
        }
        d.partition = (uint32_t)check_random(2);
        d.tail = (uint32_t)check_random(TAILS);
        d.drop_last = (uint32_t)check_random(2);
        d.seed = check_random(1000);
        if (model_makes_sense(&d))
            run_case(&d, 6);
    }
}

/* By hand: 7 samples in order on 3 ranks, 2 each. Step 1 is sample 6 with 0
   and 1 as padding. */
static void test_by_hand(void)
{
    statesampler_desc d = model_desc(7, 3, 2);
    statesampler s;
    statesampler_place p;
    d.order = STATESAMPLER_ORDER_SEQUENTIAL;
    d.rank = 2;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(statesampler_locate(&s, 5, &p) == STATESAMPLER_OK);
    CHECK(p.position == 5 && p.step == 0 && p.rank == 2 && p.slot == 1);
    CHECK(statesampler_locate(&s, 6, &p) == STATESAMPLER_OK);
    CHECK(p.position == 6 && p.step == 1 && p.rank == 0 && p.slot == 0);
    CHECK(statesampler_locate(&s, 1, &p) == STATESAMPLER_OK);
    CHECK(p.position == 1 && p.step == 0 && p.rank == 1 && p.slot == 0);
    CHECK_KIND(statesampler_locate(&s, 7, &p), STATESAMPLER_ERANGE);
    d.tail = STATESAMPLER_TAIL_DROP;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(statesampler_locate(&s, 5, &p) == STATESAMPLER_OK);
    CHECK_KIND(statesampler_locate(&s, 6, &p), STATESAMPLER_ERANGE);
    /* Where we are makes no difference to where a sample is. */
    CHECK(must_next(&s, NULL) == 2);
    CHECK(statesampler_locate(&s, 3, &p) == STATESAMPLER_OK);
    CHECK(p.position == 3 && p.step == 0 && p.rank == 0 && p.slot == 1);
}

/* The first and the last sample of every chunk, for chunks about as large as
   are told apart without a division. */
static void test_chunks(void)
{
    static const uint64_t sizes[] = {(1u << 25) - 1, 1u << 25, (1u << 25) + 1,
                                     1u << 26, 1u << 27};
    uint64_t k, index, out;
    size_t i;
    for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint64_t size = sizes[i];
        statesampler s;
        statesampler_desc d = model_desc(64 * size + 5, 1, 1);
        statesampler_place p;
        d.order = STATESAMPLER_ORDER_WINDOW;
        d.chunk_size = size;
        d.window = 64;
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
        for (k = 0; k < 128; k++) {
            index = k / 2 * size + k % 2 * (size - 1);
            CHECK(statesampler_locate(&s, index, &p) == STATESAMPLER_OK);
            CHECK(must_at(&s, p.step, &out) == 1 && out == index);
        }
    }
}

/* Round trips where no table can be: a sample served in a random step of a
   random rank is located there. */
static void test_big(int cases)
{
    static const int bits[] = {12, 20, 28, 30, 32, 33, 40, 53, 61, 62, 62};
    int i;
    for (i = 0; i < cases; i++) {
        uint64_t base = 0, base_step = 0, steps, group, out[MODEL_BATCH];
        statesampler_desc d = model_random_desc(2999, i % 2 ? 16 : 0xfffffff0u,
                                                i % 3 ? MODEL_BATCH : 5);
        uint64_t n = ((uint64_t)1 << bits[i % 11]) - d.num_samples;
        uint32_t w = d.world_size, b = d.batch_size;
        unsigned char state[STATESAMPLER_STATE_BYTES];
        statesampler s, other;
        statesampler_place p;
        int tries;
        if (i % 11 == 10)
            n = (uint64_t)1 << 62;
        d.num_samples = n;
        d.order = (uint32_t)check_random(3);
        d.chunk_size = 1 + check_random((uint64_t)1 << (i % 31));
        d.window = 1 + check_random(1000);
        /* And the largest that are allowed. */
        if (i % 13 == 0) {
            d.chunk_size = (uint64_t)1 << 31;
            d.window = d.chunk_size - 1;
        } else if (i % 13 == 1) {
            d.chunk_size = 1;
            d.window = STATESAMPLER_MAX_SAMPLES - 1;
        } else if (i % 13 == 2) {
            d.chunk_size = STATESAMPLER_MAX_SAMPLES - 1;
            d.window = 1;
        } else if (i % 13 == 3) { /* few chunks that are large */
            d.num_samples = n = (uint64_t)1 << 62;
            d.order = STATESAMPLER_ORDER_WINDOW;
            d.chunk_size = (uint64_t)1 << 55;
            d.window = 64;
        }
        d.partition = (uint32_t)check_random(2);
        d.tail = (uint32_t)check_random(3);
        d.seed = (uint64_t)i;
        d.rank = (uint32_t)check_random(w);
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
        if (i % 5 > 2) {
            CHECK(statesampler_seek(
                      &s, model_random(statesampler_num_steps(&s) / 2 + 1)) ==
                  STATESAMPLER_OK);
            must_save(&s, state);
            w = d.world_size = 1 + (uint32_t)check_random(100);
            b = d.batch_size = 1 + (uint32_t)check_random(64);
            d.rank = (uint32_t)check_random(w);
            base = statesampler_position(&s);
            base_step = statesampler_step(&s);
            CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
            CHECK(statesampler_load(&s, state, sizeof state) ==
                  STATESAMPLER_OK);
        }
        group = (uint64_t)w * b;
        steps = statesampler_num_steps(&s) - base_step;
        for (tries = 0; tries < 20 && steps > 0; tries++) {
            uint64_t u = model_random(steps), position;
            size_t count, k;
            if (tries % 4 == 3)
                u = steps - 1;
            count = must_at(&s, base_step + u, out);
            if (count == 0)
                continue;
            k = (size_t)check_random(count);
            position = base + u * group + (uint64_t)k * w + d.rank;
            CHECK(out[k] < n);
            if (position >= n)
                continue; /* padding: the first place is another */
            CHECK(statesampler_locate(&s, out[k], &p) == STATESAMPLER_OK);
            CHECK(p.position == position);
            CHECK(p.step == base_step + u);
            CHECK(p.rank == d.rank);
            CHECK(p.slot == k);
        }
        /* And the other way: a random sample is served where it is said to
           be, by whichever rank that is. */
        for (tries = 0; tries < 20; tries++) {
            uint64_t index = model_random(n);
            int code = statesampler_locate(&s, index, &p);
            must_save(&s, state);
            if (code != STATESAMPLER_OK) {
                statesampler_counts c;
                CHECK_KIND(code, STATESAMPLER_ERANGE);
                statesampler_get_counts(&s, &c);
                CHECK(base > 0 || c.dropped > 0);
                continue;
            }
            d.rank = p.rank;
            CHECK(statesampler_init(&other, &d) == STATESAMPLER_OK);
            CHECK(statesampler_load(&other, state, sizeof state) ==
                  STATESAMPLER_OK);
            CHECK(must_at(&other, p.step, out) > p.slot);
            CHECK(out[p.slot] == index);
            CHECK(p.position == base + (p.step - base_step) * group +
                                    (uint64_t)p.slot * w + p.rank);
        }
        CHECK_KIND(statesampler_locate(&s, n, &p), STATESAMPLER_ERANGE);
        CHECK_KIND(statesampler_locate(&s, UINT64_MAX, &p),
                   STATESAMPLER_ERANGE);
    }
}

/* CARRY far from its base: the place is in the present epoch. */
static void test_big_carry(int cases)
{
    int i;
    for (i = 0; i < cases; i++) {
        statesampler_desc d =
            model_random_desc(((uint64_t)1 << (1 + i % 50)) - 1, 1000,
                              MODEL_BATCH);
        uint64_t n = ++d.num_samples;
        uint32_t w = d.world_size;
        uint64_t group = (uint64_t)w * d.batch_size, k, out[MODEL_BATCH];
        statesampler s, other;
        statesampler_place p;
        d.tail = STATESAMPLER_TAIL_CARRY;
        d.order = (uint32_t)check_random(3);
        d.chunk_size = 1 + model_random(n);
        d.window = 1 + check_random(100);
        d.epoch = 40;
        d.rank = (uint32_t)check_random(w);
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
        CHECK(statesampler_seek(&s, check_random(((uint64_t)1 << 61) /
                                                 group)) == STATESAMPLER_OK);
        for (k = 0; k < 20; k++) {
            uint64_t index = model_random(n), stream;
            CHECK(statesampler_locate(&s, index, &p) == STATESAMPLER_OK);
            CHECK(p.position < n);
            stream = (statesampler_epoch(&s) - 40) * n + p.position;
            CHECK(p.step == stream / group);
            CHECK(stream % group == (uint64_t)p.slot * w + p.rank);
            d.rank = p.rank;
            CHECK(statesampler_init(&other, &d) == STATESAMPLER_OK);
            CHECK(must_at(&other, p.step, out) == d.batch_size);
            CHECK(out[p.slot] == index);
        }
    }
}

int main(int argc, char **argv)
{
    int reduced = check_reduced(argc, argv);
    test_by_hand();
    test_chunks();
    test_small(reduced);
    test_larger(reduced ? 100 : 600);
    test_big(reduced ? 200 : 3000);
    test_big_carry(reduced ? 100 : 2500);
    return check_done("test_locate");
}

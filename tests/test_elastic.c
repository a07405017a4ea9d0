/* Does a run that changes its shape, or is saved and loaded at any time, go
   on exactly? */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "check.h"
#include "must.h"
#include "model.h"

/* A sampler that takes over a state: new, with the epoch of its description
   right or wrong, or one that has been elsewhere before. It must not
   matter. */
static void take_over(statesampler *s, const statesampler_desc *given,
                      uint32_t rank, const unsigned char *state, int how)
{
    statesampler_desc d = *given;
    d.rank = rank;
    d.epoch = how % 3 == 1 ? given->epoch : given->epoch + 77;
    CHECK(statesampler_init(s, &d) == STATESAMPLER_OK);
    if (how % 3 == 2) {
        statesampler_next(s, NULL, NULL);
        statesampler_set_epoch(s, given->epoch + (how & 1));
        statesampler_next(s, NULL, NULL);
        statesampler_next(s, NULL, NULL);
    }
    CHECK(statesampler_load(s, state, STATESAMPLER_STATE_BYTES) ==
          STATESAMPLER_OK);
}

static int same_bytes(const unsigned char *a, const unsigned char *b)
{
    return memcmp(a, b, STATESAMPLER_STATE_BYTES) == 0;
}

/* Everything that two samplers of one rank can be asked. */
static void check_alike(const statesampler *a, const statesampler *b,
                        uint64_t num_samples)
{
    uint64_t x[MODEL_BATCH], y[MODEL_BATCH], step = statesampler_step(a), t, i;
    statesampler_counts c, d;
    CHECK(model_same_state(a, b));
    CHECK(statesampler_epoch(a) == statesampler_epoch(b));
    CHECK(step == statesampler_step(b));
    CHECK(statesampler_position(a) == statesampler_position(b));
    CHECK(statesampler_num_steps(a) == statesampler_num_steps(b));
    statesampler_get_counts(a, &c);
    statesampler_get_counts(b, &d);
    CHECK(c.positions == d.positions && c.padded == d.padded);
    CHECK(c.dropped == d.dropped && c.steps == d.steps);
    CHECK(c.rank_samples == d.rank_samples);
    CHECK(c.rank_batches == d.rank_batches);
    for (t = 0; t < step + 3; t++) {
        size_t count, other;
        int code = statesampler_at(a, t, x, &count);
        CHECK(statesampler_at(b, t, y, &other) == code);
        CHECK(other == count && model_same(x, y, count));
        CHECK(statesampler_padding(a, t) == statesampler_padding(b, t));
    }
    for (i = 0; i < num_samples; i += 5) {
        statesampler_place p, q;
        int code = statesampler_locate(a, i, &p);
        CHECK(statesampler_locate(b, i, &q) == code);
        CHECK(code != STATESAMPLER_OK ||
              (p.position == q.position && p.step == q.step &&
               p.rank == q.rank && p.slot == q.slot));
    }
}

/* One run goes on, its twin is thrown away and loaded again before every
   call, across `epochs` ends of epochs, or as many steps of CARRY. */
static void run_twins(const statesampler_desc *given, int epochs)
{
    static statesampler whole[MODEL_RANKS], twin[MODEL_RANKS];
    static unsigned char state[MODEL_RANKS][STATESAMPLER_STATE_BYTES];
    uint64_t a[MODEL_BATCH], b[MODEL_BATCH];
    uint32_t world = given->world_size, r;
    int turn = 0;
    for (r = 0; r < world; r++) {
        statesampler_desc d = *given;
        d.rank = r;
        CHECK(statesampler_init(&whole[r], &d) == STATESAMPLER_OK);
        twin[r] = whole[r];
    }
    while (statesampler_epoch(&whole[0]) - given->epoch < (uint64_t)epochs ||
           (given->tail == STATESAMPLER_TAIL_CARRY && turn < 4)) {
        CHECK(turn < MODEL_MAX);
        for (r = 0; r < world; r++)
            must_save(&twin[r], state[r]);
        for (r = 1; r < world; r++)
            CHECK(same_bytes(state[r], state[0]));
        for (r = 0; r < world; r++) {
            uint32_t from = (r + (uint32_t)turn) % world;
            size_t count, other;
            int more;
            take_over(&twin[r], given, r, state[from], turn + (int)r);
            check_alike(&whole[r], &twin[r], given->num_samples);
            more = statesampler_next(&whole[r], a, &count);
            CHECK(statesampler_next(&twin[r], b, &other) == more);
            CHECK(other == count && model_same(a, b, count));
        }
        turn++;
    }
}

static void test_twins(int reduced)
{
    static const uint64_t sizes[] = {0, 1, 2, 3, 5, 7, 10, 13, 24};
    static const uint64_t some[] = {0, 1, 5, 11};
    uint32_t w, b, partition, tail, drop_last;
    size_t i, count = sizeof sizes / sizeof sizes[0];
    int o;
    if (reduced)
        count = sizeof some / sizeof some[0];
    for (i = 0; i < count; i++)
        for (w = 1; w <= 4; w++)
            for (b = 1; b <= 3; b++)
                for (o = 0; o < MODEL_ORDERS; o++)
                    for (partition = 0; partition < 2; partition++)
                        for (tail = 0; tail < TAILS; tail++)
                            for (drop_last = 0; drop_last < 2; drop_last++) {
                                statesampler_desc d =
                                    model_desc(reduced ? some[i] : sizes[i], w,
                                               b);
                                if (reduced && ((w + b) % 2 || o > 3))
                                    continue;
                                model_set_order(&d, o);
                                d.partition = partition;
                                d.tail = tail;
                                d.drop_last = drop_last;
                                d.epoch = 2;
                                if (model_makes_sense(&d))
                                    run_twins(&d, 3);
                            }
}

/* Before each epoch's end the samples are counted as they are served, by
   whatever shape. */
typedef struct tally {
    unsigned seen[MODEL_MAX];
    uint64_t served;
} tally;

static void tally_clear(tally *t, uint64_t n)
{
    uint64_t i;
    for (i = 0; i < n; i++)
        t->seen[i] = 0;
    t->served = 0;
}

/* No sample lost, none doubled, but what the tail rule allows. d has the
   shape that ended the epoch; the padding may be of an earlier one that had
   served everything already, so of most_world ranks at the most. */
static void tally_check(const tally *t, const statesampler_desc *d,
                        uint64_t blocks, uint64_t most_world)
{
    uint64_t n = d->num_samples, i, missing = 0, doubled = 0, bound;
    uint64_t group = (uint64_t)d->world_size * d->batch_size;
    if (d->order == STATESAMPLER_ORDER_REPLACEMENT)
        return;
    for (i = 0; i < n; i++) {
        missing += t->seen[i] == 0;
        doubled += t->seen[i] > 1 ? t->seen[i] - 1 : 0;
    }
    CHECK(t->served == n + doubled - missing);
    bound = 1;
    if (d->tail == STATESAMPLER_TAIL_DROP)
        bound = d->world_size;
    if (d->tail == STATESAMPLER_TAIL_DROP &&
        d->partition == STATESAMPLER_PARTITION_BLOCKED)
        bound += blocks - 1;
    if (d->drop_last)
        bound += group;
    CHECK(missing < bound);
    bound = 1;
    if (d->tail == STATESAMPLER_TAIL_PAD)
        bound = most_world;
    if (d->tail == STATESAMPLER_TAIL_PAD &&
        d->partition == STATESAMPLER_PARTITION_BLOCKED)
        bound += blocks - 1;
    CHECK(doubled < bound);
}

/* A run that changes its shape at random steps, in mid-epoch, at the end of
   an epoch, several times or not at all. With `wander` it also seeks about,
   so that samples cannot be counted, and each change may find it in
   places where a run that only goes forward never is. */
static void run_chain(const statesampler_desc *given, int calls, int deep,
                      int wander)
{
    static model m;
    static statesampler s[MODEL_RANKS];
    static tally t;
    static unsigned char state[STATESAMPLER_STATE_BYTES];
    statesampler_desc shape = *given;
    uint64_t want[MODEL_BATCH], out[MODEL_BATCH], padding;
    uint64_t most_world = given->world_size;
    uint64_t carried = 0; /* samples served, where there is no end */
    uint32_t r;
    int call, often = 1 + (int)check_random(6);
    model_init(&m, given);
    for (r = 0; r < given->world_size; r++) {
        statesampler_desc d = *given;
        d.rank = r;
        CHECK(statesampler_init(&s[r], &d) == STATESAMPLER_OK);
    }
    tally_clear(&t, given->num_samples);
    for (call = 0; call < calls; call++) {
        size_t count;
        if (wander && check_random(3) == 0) {
            uint64_t reach = m.steps - m.base_step;
            uint64_t step;
            if (shape.tail == STATESAMPLER_TAIL_CARRY)
                reach = 12;
            step = m.base_step + check_random(reach + 1);
            for (r = 0; r < shape.world_size; r++)
                CHECK(statesampler_seek(&s[r], step) == STATESAMPLER_OK);
            model_seek(&m, step);
        }
        if (check_random((uint64_t)often) == 0) {
            unsigned char other[STATESAMPLER_STATE_BYTES];
            int alive = 0;
            uint32_t from = (uint32_t)check_random(shape.world_size);
            must_save(&s[from], state);
            for (r = 0; r < shape.world_size; r++) {
                must_save(&s[r], other);
                CHECK(same_bytes(state, other));
            }
            if (check_random(4) > 0) {
                shape.world_size = 1 + (uint32_t)check_random(6);
                shape.batch_size = 1 + (uint32_t)check_random(5);
            } else if (check_random(2) == 0) {
                alive = 1; /* the same processes go back to the state */
            }
            if (!alive && shape.tail != STATESAMPLER_TAIL_CARRY &&
                check_random(2) > 0)
                shape.drop_last = (uint32_t)check_random(2);
            model_load(&m, shape.world_size, shape.batch_size, shape.drop_last);
            if (most_world < shape.world_size)
                most_world = shape.world_size;
            for (r = 0; r < shape.world_size; r++) {
                if (alive) {
                    int ahead = (int)check_random(4);
                    while (ahead-- > 0)
                        statesampler_next(&s[r], NULL, NULL);
                    CHECK(statesampler_load(&s[r], state, sizeof state) ==
                          STATESAMPLER_OK);
                    continue;
                }
                if (check_random(3) == 0)
                    shape.epoch = m.epoch + check_random(3) - 1;
                take_over(&s[r], &shape, r, state, (int)check_random(6));
            }
        }
        for (r = 0; r < shape.world_size; r++) {
            model_compare(&m, &s[r], r);
            if (deep)
                model_compare_steps(&m, &s[r], r);
        }
        if (deep)
            model_compare_places(&m, &s[m.step % shape.world_size]);
        if (m.step < m.steps) {
            for (r = 0; r < shape.world_size; r++) {
                count = model_batch(&m, m.step, r, want, &padding);
                CHECK(must_next(&s[r], out) == count);
                CHECK(model_same(want, out, count));
                t.served += count;
                carried += count;
                while (count-- > 0)
                    t.seen[out[count]]++;
            }
            model_seek(&m, m.step + 1);
            if (shape.tail == STATESAMPLER_TAIL_CARRY && !wander) {
                CHECK(carried % given->num_samples == m.position);
                CHECK(carried / given->num_samples == m.epoch - given->epoch);
            }
            continue;
        }
        CHECK(shape.tail != STATESAMPLER_TAIL_CARRY);
        if (!wander)
            tally_check(&t, &m.desc, m.blocks, most_world);
        for (r = 0; r < shape.world_size; r++)
            must_end(&s[r]);
        tally_clear(&t, given->num_samples);
        most_world = shape.world_size;
        model_begin(&m, m.epoch + 1);
    }
    if (!wander && shape.tail == STATESAMPLER_TAIL_CARRY &&
        shape.order != STATESAMPLER_ORDER_REPLACEMENT) {
        /* Each sample once in every epoch done, and at most once in the
           present one. */
        uint64_t i, laps = m.epoch - given->epoch;
        for (i = 0; i < given->num_samples; i++)
            CHECK(t.seen[i] == laps || t.seen[i] == laps + 1);
    }
    model_finish();
}

static void test_chains(int cases, int deep)
{
    int i;
    for (i = 0; i < cases; i++) {
        statesampler_desc d = model_random_desc(i % 3 == 0 ? 11 : 69, 6, 5);
        model_set_order(&d, (int)check_random(MODEL_ORDERS));
        d.partition = (uint32_t)check_random(2);
        d.tail = (uint32_t)check_random(TAILS);
        d.drop_last = (uint32_t)check_random(2);
        d.seed = check_random(1000);
        d.epoch = check_random(1000);
        if (model_makes_sense(&d))
            run_chain(&d, deep ? 12 : 25, deep, i % 4 == 1);
    }
}

/* ---- cases worked out by hand from the rules, in sequential order ---- */

static void change(statesampler *s, statesampler_desc *d, uint32_t world,
                   uint32_t batch, uint32_t rank, uint32_t drop_last)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    must_save(s, state);
    d->world_size = world;
    d->batch_size = batch;
    d->rank = rank;
    d->drop_last = drop_last;
    d->epoch = 900;
    CHECK(statesampler_init(s, d) == STATESAMPLER_OK);
    CHECK(statesampler_load(s, state, sizeof state) == STATESAMPLER_OK);
}

/* 11 samples: 2 ranks of 2 serve 0 to 3; then 3 ranks of 1 serve 4 5 6,
   7 8 9 and 10 with padding 0 1. */
static void test_by_hand(void)
{
    statesampler_desc d = model_desc(11, 2, 2);
    statesampler s;
    statesampler_place place;
    statesampler_counts c;
    uint64_t x[4];
    d.order = STATESAMPLER_ORDER_SEQUENTIAL;
    d.rank = 1;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(must_next(&s, x) == 2 && x[0] == 1 && x[1] == 3);
    change(&s, &d, 3, 1, 2, 0);
    CHECK(statesampler_step(&s) == 1 && statesampler_position(&s) == 4);
    CHECK(statesampler_num_steps(&s) == 4);
    statesampler_get_counts(&s, &c);
    CHECK(c.positions == 13 && c.padded == 2 && c.dropped == 0);
    CHECK(c.steps == 4 && c.rank_samples == 3 && c.rank_batches == 3);
    CHECK(must_miss(&s, 0) == STATESAMPLER_ERANGE_BASE);
    CHECK(statesampler_seek(&s, 0) == STATESAMPLER_ERANGE_BASE);
    CHECK_KIND(statesampler_locate(&s, 3, &place), STATESAMPLER_ERANGE);
    CHECK_KIND(statesampler_locate(&s, 0, &place), STATESAMPLER_ERANGE);
    CHECK(statesampler_locate(&s, 8, &place) == STATESAMPLER_OK);
    CHECK(place.position == 8 && place.step == 2);
    CHECK(place.rank == 1 && place.slot == 0);
    CHECK(must_next(&s, x) == 1 && x[0] == 6);
    CHECK(must_next(&s, x) == 1 && x[0] == 9);
    CHECK(statesampler_padding(&s, 3) == 1);
    CHECK(must_next(&s, x) == 1 && x[0] == 1);
    CHECK(statesampler_position(&s) == 13 && statesampler_step(&s) == 4);
    /* All is served, so 5 ranks have nothing to add. */
    change(&s, &d, 5, 1, 4, 0);
    CHECK(statesampler_num_steps(&s) == 4);
    statesampler_get_counts(&s, &c);
    CHECK(c.positions == 13 && c.padded == 2 && c.rank_samples == 0);
    must_end(&s);
    CHECK(statesampler_epoch(&s) == 1);
    CHECK(must_next(&s, x) == 1 && x[0] == 4);
}

/* 10 samples, DROP: 4 ranks leave 8 and 9; 2 ranks that load this end serve
   them after all. */
static void test_dropped_by_hand(void)
{
    statesampler_desc d = model_desc(10, 4, 1);
    statesampler s;
    statesampler_counts c;
    uint64_t x[4];
    d.order = STATESAMPLER_ORDER_SEQUENTIAL;
    d.tail = STATESAMPLER_TAIL_DROP;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(statesampler_seek(&s, 2) == STATESAMPLER_OK);
    statesampler_get_counts(&s, &c);
    CHECK(c.positions == 8 && c.dropped == 2 && c.steps == 2);
    change(&s, &d, 2, 1, 1, 0);
    statesampler_get_counts(&s, &c);
    CHECK(c.positions == 10 && c.dropped == 0 && c.steps == 3);
    CHECK(must_next(&s, x) == 1 && x[0] == 9);
    must_end(&s);
}

/* drop_last belongs to the loader. 10 samples, 2 ranks of 3: one step of 6
   and one of 4. */
static void test_drop_last_by_hand(void)
{
    statesampler_desc d = model_desc(10, 2, 3);
    statesampler s;
    uint64_t x[4];
    d.order = STATESAMPLER_ORDER_SEQUENTIAL;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(statesampler_num_steps(&s) == 2);
    CHECK(must_next(&s, NULL) == 3);
    change(&s, &d, 2, 3, 1, 1);
    CHECK(statesampler_num_steps(&s) == 1);
    CHECK(must_at(&s, 0, x) == 3 && x[2] == 5); /* the base stays */
    change(&s, &d, 2, 3, 1, 0);
    CHECK(statesampler_num_steps(&s) == 2);
    CHECK(must_next(&s, x) == 2 && x[0] == 7 && x[1] == 9);
    /* The step that drop_last would have dropped has been served. */
    change(&s, &d, 2, 3, 1, 1);
    CHECK(statesampler_step(&s) == 2 && statesampler_num_steps(&s) == 2);
    CHECK(statesampler_position(&s) == 10);
    CHECK(must_miss(&s, 0) == STATESAMPLER_ERANGE_BASE);
    CHECK(statesampler_base(&s) == 2);
    CHECK(statesampler_seek(&s, 2) == STATESAMPLER_OK);
    must_end(&s);
    CHECK(statesampler_num_steps(&s) == 1);
}

/* Blocks 0 1 2 3, 4 5 6 and 7 8 9 of the 3 ranks that began: positions are
   0 4 7, 1 5 8, 2 6 9, 3 and, as padding, 4 7. They stay when 2 ranks go
   on, and when 3 do again; a new epoch, or a load at position 0, cuts
   anew. */
static void test_blocks_by_hand(void)
{
    statesampler_desc d = model_desc(10, 3, 1);
    unsigned char start[STATESAMPLER_STATE_BYTES];
    statesampler s;
    uint64_t x[4];
    d.order = STATESAMPLER_ORDER_SEQUENTIAL;
    d.partition = STATESAMPLER_PARTITION_BLOCKED;
    d.rank = 1;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(must_at(&s, 0, x) == 1 && x[0] == 4);
    CHECK(must_at(&s, 3, x) == 1 && x[0] == 4);
    CHECK(must_next(&s, NULL) == 1);
    change(&s, &d, 2, 2, 0, 0);
    CHECK(must_next(&s, x) == 2 && x[0] == 1 && x[1] == 8);
    change(&s, &d, 3, 1, 2, 0);
    CHECK(must_next(&s, x) == 1 && x[0] == 3);
    change(&s, &d, 2, 1, 1, 0);
    CHECK(must_next(&s, x) == 1 && x[0] == 7);
    CHECK(statesampler_position(&s) == 12);
    must_end(&s);
    CHECK(must_at(&s, 0, x) == 1 && x[0] == 5); /* blocks of 5 */
    CHECK(statesampler_num_steps(&s) == 5);
    must_save(&s, start);
    d.world_size = 4;
    d.batch_size = 1;
    d.rank = 3;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(statesampler_load(&s, start, sizeof start) == STATESAMPLER_OK);
    CHECK(must_at(&s, 0, x) == 1 && x[0] == 8);
    CHECK(must_at(&s, 2, x) == 1 && x[0] == 8); /* padding */
    CHECK(statesampler_num_steps(&s) == 3);
}

/* CARRY: 5 samples, 2 ranks of 2, epoch 3. Step 1 is positions 4 of epoch 3
   and 0 1 2 of epoch 4; then 3 ranks of 1 go on. */
static void test_carry_by_hand(void)
{
    statesampler_desc d = model_desc(5, 2, 2);
    statesampler s;
    statesampler_place place;
    uint64_t x[4];
    d.order = STATESAMPLER_ORDER_SEQUENTIAL;
    d.tail = STATESAMPLER_TAIL_CARRY;
    d.epoch = 3;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(must_next(&s, x) == 2 && x[0] == 0 && x[1] == 2);
    CHECK(statesampler_epoch(&s) == 3 && statesampler_position(&s) == 4);
    CHECK(must_next(&s, x) == 2 && x[0] == 4 && x[1] == 1);
    CHECK(statesampler_epoch(&s) == 4 && statesampler_position(&s) == 3);
    CHECK(statesampler_locate(&s, 2, &place) == STATESAMPLER_OK);
    CHECK(place.position == 2 && place.step == 1);
    CHECK(place.rank == 1 && place.slot == 1);
    change(&s, &d, 3, 1, 2, 0);
    CHECK(statesampler_epoch(&s) == 4 && statesampler_position(&s) == 3);
    CHECK(statesampler_step(&s) == 2);
    CHECK(statesampler_seek(&s, 1) == STATESAMPLER_ERANGE_BASE);
    CHECK_KIND(statesampler_locate(&s, 2, &place), STATESAMPLER_ERANGE);
    CHECK(statesampler_locate(&s, 4, &place) == STATESAMPLER_OK);
    CHECK(place.position == 4 && place.step == 2);
    CHECK(place.rank == 1 && place.slot == 0);
    CHECK(must_next(&s, x) == 1 && x[0] == 0);
    CHECK(statesampler_epoch(&s) == 5 && statesampler_position(&s) == 1);
    CHECK(must_next(&s, x) == 1 && x[0] == 3);
    CHECK(statesampler_epoch(&s) == 5 && statesampler_position(&s) == 4);
    statesampler_set_epoch(&s, 5);
    CHECK(statesampler_step(&s) == 4);
    statesampler_set_epoch(&s, 3);
    CHECK(statesampler_step(&s) == 0 && statesampler_position(&s) == 0);
    CHECK(statesampler_epoch(&s) == 3);
}

/* UNEVEN, 7 samples, 3 ranks of 2: in the last step rank 0 has sample 6 and
   the others none, and yet all take it and save the same bytes. */
static void test_uneven_by_hand(void)
{
    statesampler_desc d = model_desc(7, 3, 2);
    statesampler s[3], t;
    unsigned char state[3][STATESAMPLER_STATE_BYTES];
    uint64_t x[2], step;
    uint32_t r, from;
    d.order = STATESAMPLER_ORDER_SEQUENTIAL;
    d.tail = STATESAMPLER_TAIL_UNEVEN;
    for (r = 0; r < 3; r++) {
        d.rank = r;
        CHECK(statesampler_init(&s[r], &d) == STATESAMPLER_OK);
    }
    for (step = 0; step < 3; step++) {
        for (r = 0; r < 3; r++)
            must_save(&s[r], state[r]);
        for (r = 0; r < 3; r++)
            for (from = 0; from < 3; from++) {
                CHECK(same_bytes(state[from], state[0]));
                take_over(&t, &d, r, state[from], 0);
                CHECK(statesampler_step(&t) == step);
                CHECK(statesampler_epoch(&t) == 0);
                if (step == 2)
                    must_end(&t);
                else if (step == 0)
                    CHECK(must_next(&t, x) == 2);
                else
                    CHECK(must_next(&t, x) == (r == 0));
                CHECK(step != 1 || r != 0 || x[0] == 6);
            }
        for (r = 0; r < 3; r++)
            CHECK(statesampler_next(&s[r], NULL, NULL) == (step < 2));
    }
}

/* begin is step 0 of an epoch in the present shape, from wherever: also where
   a load in another shape, or the moved base of CARRY, lets no seek back. */
static void test_begin(int cases)
{
    int i, round, step;
    for (i = 0; i < cases; i++) {
        statesampler_desc d = model_random_desc(60, 5, 4), shape;
        statesampler s, fresh;
        unsigned char state[STATESAMPLER_STATE_BYTES];
        model_set_order(&d, (int)check_random(MODEL_ORDERS));
        d.partition = (uint32_t)check_random(2);
        d.tail = (uint32_t)check_random(TAILS);
        d.drop_last = (uint32_t)check_random(2);
        d.epoch = i % 5 ? check_random(100) : UINT64_MAX;
        if (!model_makes_sense(&d))
            continue;
        d.rank = (uint32_t)check_random(d.world_size);
        model_watch(&d, NULL);
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
        for (round = 0; round < 4; round++) {
            for (step = (int)check_random(9); step > 0; step--)
                statesampler_next(&s, NULL, NULL);
            must_save(&s, state);
            shape = model_random_desc(1, 5, 4);
            d.world_size = shape.world_size;
            d.batch_size = shape.batch_size;
            d.rank = (uint32_t)check_random(d.world_size);
            d.epoch++;
            CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
            CHECK(statesampler_load(&s, state, sizeof state) ==
                  STATESAMPLER_OK);
            if (round % 2 == 0 && statesampler_step(&s) > 0)
                statesampler_next(&s, NULL, NULL);
            /* To the epoch that it is in, as often as to another. */
            d.epoch = statesampler_epoch(&s) + check_random(2);
            statesampler_begin(&s, d.epoch);
            CHECK(statesampler_epoch(&s) == d.epoch);
            CHECK(statesampler_step(&s) == 0);
            CHECK(statesampler_position(&s) == 0);
            CHECK(statesampler_init(&fresh, &d) == STATESAMPLER_OK);
            check_alike(&s, &fresh, d.num_samples);
            CHECK(statesampler_seek(&s, 0) == STATESAMPLER_OK);
        }
    }
    model_finish();
}

/* By hand: 12 samples; 2 ranks of 2 take a step, and 3 ranks of 1 go on. They
   cannot go back to step 0, but begin the epoch again in their shape. */
static void test_begin_by_hand(void)
{
    statesampler_desc d = model_desc(12, 2, 2);
    statesampler s;
    uint64_t x[4];
    d.order = STATESAMPLER_ORDER_SEQUENTIAL;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(must_next(&s, x) == 2);
    change(&s, &d, 3, 1, 2, 0);
    CHECK(statesampler_seek(&s, 0) == STATESAMPLER_ERANGE_BASE);
    CHECK(statesampler_base(&s) == 1);
    statesampler_set_epoch(&s, 0);
    CHECK(statesampler_step(&s) == 1);
    statesampler_begin(&s, 0);
    CHECK(statesampler_base(&s) == 0);
    CHECK(statesampler_step(&s) == 0 && statesampler_num_steps(&s) == 4);
    CHECK(must_next(&s, x) == 1 && x[0] == 2);
    CHECK(statesampler_seek(&s, 0) == STATESAMPLER_OK);

    /* CARRY: the run anew, its steps too. */
    d.tail = STATESAMPLER_TAIL_CARRY;
    d.epoch = 5;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(statesampler_seek(&s, 9) == STATESAMPLER_OK);
    CHECK(statesampler_epoch(&s) == 7 && statesampler_position(&s) == 3);
    change(&s, &d, 2, 1, 1, 0);
    statesampler_begin(&s, 7);
    CHECK(statesampler_epoch(&s) == 7 && statesampler_step(&s) == 0);
    CHECK(must_next(&s, x) == 1 && x[0] == 1);
    CHECK(statesampler_epoch(&s) == 7 && statesampler_position(&s) == 2);
}

/* Blocks of an epoch that very many ranks began, on few: every slot is in
   another block, and sums of their numbers do not fit 32 bits. */
static void test_many_blocks(void)
{
    const uint64_t blocks = UINT32_MAX - 1, n = ((uint64_t)1 << 33) + 5;
    uint32_t world, rank, slot;
    for (world = 1; world < 6; world++) {
        statesampler_desc d = model_desc(n, (uint32_t)blocks, 1);
        statesampler s, first;
        uint64_t x[7];
        d.order = STATESAMPLER_ORDER_SEQUENTIAL;
        d.partition = STATESAMPLER_PARTITION_BLOCKED;
        CHECK(statesampler_init(&first, &d) == STATESAMPLER_OK);
        CHECK(must_next(&first, NULL) == 1);
        for (rank = 0; rank < world; rank++) {
            s = first;
            change(&s, &d, world, 7, rank, 0);
            CHECK(must_next(&s, NULL) == 7 && must_next(&s, x) == 7);
            for (slot = 0; slot < 7; slot++) {
                uint64_t p = blocks + 7 * world + slot * world + rank;
                uint64_t block = p % blocks, more = n % blocks;
                CHECK(x[slot] == block * (n / blocks) +
                                     (block < more ? block : more) +
                                     p / blocks);
            }
        }
    }
}

/* A sampler that has been in the epoch with other blocks: their windows have
   the same keys, but not as many samples. */
static void test_other_blocks(void)
{
    statesampler saved, used, fresh;
    statesampler_desc d = model_desc(40, 3, 2);
    unsigned char state[STATESAMPLER_STATE_BYTES];
    uint64_t x[2], y[2];
    d.partition = STATESAMPLER_PARTITION_BLOCKED;
    d.order = STATESAMPLER_ORDER_WINDOW;
    d.chunk_size = 4;
    d.window = 5;
    CHECK(statesampler_init(&saved, &d) == STATESAMPLER_OK);
    must_next(&saved, NULL);
    must_save(&saved, state);
    d.world_size = 2;
    for (d.rank = 0; d.rank < 2; d.rank++) {
        size_t count, other;
        CHECK(statesampler_init(&used, &d) == STATESAMPLER_OK);
        CHECK(statesampler_init(&fresh, &d) == STATESAMPLER_OK);
        CHECK(must_next(&used, x) == 2);
        CHECK(statesampler_load(&used, state, sizeof state) == STATESAMPLER_OK);
        CHECK(statesampler_load(&fresh, state, sizeof state) ==
              STATESAMPLER_OK);
        check_alike(&used, &fresh, 40);
        while (statesampler_next(&used, x, &count)) {
            CHECK(statesampler_next(&fresh, y, &other) == 1);
            CHECK(other == count && model_same(x, y, count));
        }
    }
}

int main(int argc, char **argv)
{
    int reduced = check_reduced(argc, argv);
    test_by_hand();
    test_dropped_by_hand();
    test_drop_last_by_hand();
    test_blocks_by_hand();
    test_carry_by_hand();
    test_uneven_by_hand();
    test_many_blocks();
    test_begin_by_hand();
    test_other_blocks();
    test_begin(reduced ? 200 : 1000);
    test_twins(reduced);
    test_chains(reduced ? 150 : 800, 1);
    test_chains(reduced ? 600 : 4000, 0);
    return check_done("test_elastic");
}

/* test_mixture.c - does a mix of named datasets go on when some of them were
   added, removed, put in another order or changed, and does it say so? */
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_STB_DS
#include "stb_ds.h"
#include "statesampler.h"
#include "check.h"
#include "must.h"
#include "forge.h"
#include <time.h>

#define REFUSE 0
#define RESTART 1

#define BATCH 4
#define STATE (72 + 128 * 8)

static uint64_t hash_of(const char *name)
{
    return statesampler_hash(0, name, strlen(name) + 1);
}

static const char *const name_of[] = {"web",  "code", "books", "mail",
                                      "wiki", "a",    "b",     "ab"};

/* Dataset k, as every run describes it. */
static statesampler_desc describe(uint32_t k, uint32_t world, uint32_t rank)
{
    statesampler_desc d;
    memset(&d, 0, sizeof d);
    d.num_samples = 60 + 17 * (uint64_t)k;
    d.seed = 5;
    d.stream = k;
    d.world_size = world;
    d.rank = rank;
    d.batch_size = BATCH;
    d.tail = k % 3;
    d.partition = k % 2;
    d.drop_last = k % 4 == 1;
    return d;
}

static void add(statesampler_mixture *m, uint32_t k, uint32_t weight,
                uint32_t world)
{
    statesampler_desc d = describe(k, world, 0);
    CHECK(statesampler_mixture_add(m, name_of[k], weight, &d) ==
          STATESAMPLER_OK);
}

static void start(statesampler_mixture *m, uint32_t stop)
{
    CHECK(statesampler_mixture_start(m, stop) == STATESAMPLER_OK);
}

/* A mixture of these datasets, a digit each, with weights 1, 2, 3, ... */
static void build(statesampler_mixture *m, const char *which, uint32_t world,
                  uint32_t stop)
{
    memset(m, 0, sizeof *m);
    for (; *which; which++)
        add(m, (uint32_t)(*which - '0'), 1 + (uint32_t)(*which - '0'), world);
    CHECK(statesampler_mixture_start(m, stop) == STATESAMPLER_OK);
}

static uint32_t number(statesampler_mixture *m, const char *name)
{
    uint32_t source = 99;
    int code = statesampler_mixture_find(m, name, &source);
    CHECK(code == STATESAMPLER_OK ||
          (code == STATESAMPLER_ERANGE_NAME && source == 99));
    return source;
}

static void take(statesampler_mixture *m, int turns)
{
    uint32_t source;
    size_t count;
    for (; turns > 0; turns--)
        CHECK(statesampler_mix_next(&m->mix, NULL, &count, &source) == 1);
}

/* The mix's state is found in the mixture's. */
static void check_inside(const statesampler_mixture *m,
                         const unsigned char *state, size_t size)
{
    unsigned char own[STATE];
    size_t inside = size, needed = statesampler_mix_state_bytes(&m->mix);
    const void *found = statesampler_mix_state_in(state, &inside);
    CHECK(inside == needed);
    CHECK(statesampler_mix_save(&m->mix, own, needed) == STATESAMPLER_OK);
    CHECK(memcmp(found, own, needed) == 0);
}

static size_t save(const statesampler_mixture *m, unsigned char *state)
{
    size_t size = statesampler_mixture_state_bytes(m);
    CHECK(size == 72 + 128 * (size_t)m->mix.num_sources && size <= STATE);
    CHECK(statesampler_mixture_save(m, state, size) == STATESAMPLER_OK);
    check_inside(m, state, size);
    return size;
}

/* Two mixtures take the same turns. */
static void check_alike(statesampler_mixture *a, statesampler_mixture *b,
                        int turns)
{
    uint64_t x[BATCH], y[BATCH];
    uint32_t i = 0, j = 0;
    size_t count, other;
    for (; turns > 0; turns--) {
        int more = statesampler_mix_next(&a->mix, x, &count, &i);
        CHECK(statesampler_mix_turn(&a->mix) ==
                  statesampler_mix_turn(&b->mix) + (more != 0) ||
              !more);
        CHECK(statesampler_mix_next(&b->mix, y, &other, &j) == more);
        if (more) {
            CHECK(i == j && count == other);
            CHECK(memcmp(x, y, count * sizeof *x) == 0);
        }
        CHECK(statesampler_mix_turn(&a->mix) == statesampler_mix_turn(&b->mix));
        CHECK(statesampler_mix_epoch(&a->mix) ==
              statesampler_mix_epoch(&b->mix));
    }
}

/* The same datasets: as if nothing had happened, from any turn. */
static void test_same(int reduced)
{
    unsigned char state[STATE];
    int stop, turn;
    for (stop = 0; stop < STOPS; stop++)
        for (turn = 0; turn < (reduced ? 30 : 120); turn++) {
            statesampler_mixture a, b;
            ptrdiff_t i;
            build(&a, "021", 3, (uint32_t)stop);
            build(&b, "021", 3, (uint32_t)stop);
            check_alike(&a, &b, turn);
            CHECK(statesampler_mixture_load(&b, state, save(&a, state),
                                            REFUSE) == STATESAMPLER_OK);
            CHECK(arrlen(b.changes) == 3);
            for (i = 0; i < 3; i++) {
                CHECK(b.changes[i].status == STATESAMPLER_CHANGE_MATCHED);
                CHECK(b.changes[i].source == (uint32_t)i);
                CHECK(strcmp(b.changes[i].name, b.datasets[i].key) == 0);
                CHECK(b.changes[i].hash == b.datasets[i].value);
            }
            if (statesampler_mix_turn(&b.mix) > 0)
                CHECK(statesampler_mix_seek(&b.mix, 0) ==
                      STATESAMPLER_ERANGE_BASE);
            CHECK(statesampler_mix_seek(&b.mix,
                                        statesampler_mix_turn(&a.mix)) ==
                  STATESAMPLER_OK);
            check_alike(&a, &b, 30);
            statesampler_mixture_free(&a);
            statesampler_mixture_free(&b);
        }
}

/* Where a source of one mixture is, compared with one of another. */
static void check_place(const statesampler_mixture *a, uint32_t i,
                        const statesampler_mixture *b, uint32_t j)
{
    const statesampler *x = &a->sources[i].sampler;
    const statesampler *y = &b->sources[j].sampler;
    CHECK(i < arrlenu(a->sources) && j < arrlenu(b->sources));
    CHECK(statesampler_epoch(x) == statesampler_epoch(y));
    CHECK(statesampler_step(x) == statesampler_step(y));
    CHECK(statesampler_position(x) == statesampler_position(y));
}

/* From one set of datasets to another, in the same shape or not. */
static void change(const char *from, const char *to, uint32_t world,
                   uint32_t other, int turns, uint32_t stop)
{
    statesampler_mixture a, b, fresh;
    unsigned char state[STATE];
    uint32_t i, j, removed = 0;
    ptrdiff_t k;
    size_t size;
    build(&a, from, world, stop);
    build(&b, to, other, stop);
    build(&fresh, to, other, stop);
    take(&a, turns);
    size = save(&a, state);
    CHECK(statesampler_mixture_load(&b, state, size, REFUSE) ==
          STATESAMPLER_OK);
    CHECK(statesampler_mix_turn(&b.mix) == (uint64_t)turns);
    for (i = 0; to[i]; i++) {
        const char *name = name_of[to[i] - '0'];
        const statesampler_change *c = &b.changes[i];
        CHECK(number(&b, name) == i);
        CHECK(c->source == i && strcmp(c->name, name) == 0);
        j = number(&a, name);
        if (j != 99) {
            CHECK(c->status == STATESAMPLER_CHANGE_MATCHED);
            check_place(&a, j, &b, i);
        } else {
            CHECK(c->status == STATESAMPLER_CHANGE_NEW);
            check_place(&fresh, i, &b, i);
        }
    }
    for (j = 0; from[j]; j++)
        if (!strchr(to, from[j])) {
            const statesampler_change *c = &b.changes[i + removed++];
            CHECK(c->status == STATESAMPLER_CHANGE_REMOVED && !c->name);
            CHECK(c->source == j);
            CHECK(c->hash == a.datasets[j].value);
            CHECK(c->hash == hash_of(name_of[from[j] - '0']));
        }
    CHECK(arrlenu(b.changes) == i + removed);
    /* What was there is not served again: back goes no further. */
    if (turns > 0)
        CHECK_KIND(statesampler_mix_seek(&b.mix, (uint64_t)turns - 1),
                   STATESAMPLER_ERANGE);
    /* Turns are those of a new mix; batches go on where each one was. */
    for (k = 0; k < 40; k++) {
        uint64_t out[BATCH], want[BATCH];
        uint32_t source, expected;
        size_t count;
        statesampler before[8];
        for (i = 0; to[i]; i++)
            before[i] = b.sources[i].sampler;
        if (statesampler_mix_next(&b.mix, out, &count, &source) != 1)
            break;
        if (stop == STATESAMPLER_STOP_NEVER) {
            CHECK(statesampler_mix_next(&fresh.mix, NULL, &size, &expected) ==
                  1);
            CHECK(source == expected);
        }
        if (!statesampler_next(&before[source], want, &size))
            size = must_next(&before[source], want);
        CHECK(size == count);
        CHECK(memcmp(out, want, count * sizeof *out) == 0);
    }
    /* And its own state is as good as any. */
    size = save(&b, state);
    CHECK(statesampler_mixture_load(&fresh, state, size, REFUSE) ==
          STATESAMPLER_OK);
    check_alike(&b, &fresh, 20);
    statesampler_mixture_free(&a);
    statesampler_mixture_free(&b);
    statesampler_mixture_free(&fresh);
}

static void test_changes(int reduced)
{
    static const char *const sets[] = {"012", "0123", "120",      "20",
                                       "3",   "543",  "01234567", "7"};
    uint32_t stop, world;
    int turns;
    size_t i, j;
    for (i = 0; i < 8; i++)
        for (j = 0; j < 8; j++)
            for (stop = 0; stop < STOPS; stop++)
                for (world = 1; world < 4; world++)
                    for (turns = 0; turns < 13; turns += reduced ? 6 : 1)
                        if (i != j)
                            change(sets[i], sets[j], 2, world,
                                   turns == 12 &&
                                           stop == STATESAMPLER_STOP_NEVER
                                       ? 150
                                       : turns,
                                   stop);
}

/* RESTART: who has finished once need not finish again. Two datasets, one of
   15 steps, take turns; it begins anew with turn 30. */
static void check_finished(uint32_t longer, uint64_t steps)
{
    statesampler_mixture a, b;
    unsigned char state[STATE];
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    add(&a, 0, 1, 1);
    add(&a, longer, 1, 1);
    add(&b, longer, 1, 1);
    add(&b, 0, 1, 1);
    start(&a, STATESAMPLER_STOP_RESTART);
    start(&b, STATESAMPLER_STOP_RESTART);
    CHECK(statesampler_mix_num_turns(&a.mix) == 2 * steps + 1);
    take(&a, 34);
    CHECK(statesampler_epoch(&a.sources[0].sampler) == 1);
    CHECK(statesampler_mixture_load(&b, state, save(&a, state), REFUSE) ==
          STATESAMPLER_OK);
    /* The longer one, now first, has had 17. */
    CHECK(statesampler_mix_num_turns(&b.mix) == 34 + 2 * (steps - 17));
    statesampler_mixture_free(&a);
    statesampler_mixture_free(&b);
}

/* So has who finished before the base; but not who is new, whatever it has
   done before. */
static void test_finished_before(void)
{
    statesampler_mixture a, b, other;
    unsigned char state[STATE];
    const statesampler *longer;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    memset(&other, 0, sizeof other);
    add(&a, 0, 1, 1);
    add(&a, 1, 1, 1);
    add(&b, 0, 1, 2);
    add(&b, 1, 1, 2);
    add(&other, 1, 1, 2);
    add(&other, 0, 1, 2);
    start(&a, STATESAMPLER_STOP_RESTART);
    start(&b, STATESAMPLER_STOP_RESTART);
    start(&other, STATESAMPLER_STOP_RESTART);
    take(&a, 34);
    CHECK(statesampler_mixture_load(&b, state, save(&a, state), REFUSE) ==
          STATESAMPLER_OK);
    CHECK(statesampler_mixture_load(&other, state, save(&b, state), REFUSE) ==
          STATESAMPLER_OK);
    longer = &other.sources[0].sampler;
    CHECK(statesampler_mix_num_turns(&other.mix) ==
          34 +
              2 * (statesampler_num_steps(longer) - statesampler_step(longer)));
    statesampler_mixture_free(&other);
    /* The other one is new to b: it has 8 steps, and 4 of 9 are left. */
    memset(&other, 0, sizeof other);
    add(&other, 1, 1, 2);
    start(&other, STATESAMPLER_STOP_RESTART);
    take(&other, 5);
    CHECK(statesampler_mixture_load(&b, state, save(&other, state), REFUSE) ==
          STATESAMPLER_OK);
    CHECK(statesampler_mix_num_turns(&b.mix) == 5 + 2 * 8);
    statesampler_mixture_free(&a);
    statesampler_mixture_free(&b);
    statesampler_mixture_free(&other);
}

/* Nor has one that is another dataset now: it has 15 steps to serve. */
static void test_changed_unfinished(void)
{
    statesampler_mixture a, b;
    unsigned char state[STATE];
    statesampler_desc d = describe(0, 1, 0);
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    add(&a, 0, 1, 1);
    add(&a, 1, 1, 1);
    d.seed++;
    CHECK(statesampler_mixture_add(&b, name_of[0], 1, &d) == STATESAMPLER_OK);
    add(&b, 1, 1, 1);
    start(&a, STATESAMPLER_STOP_RESTART);
    start(&b, STATESAMPLER_STOP_RESTART);
    take(&a, 34);
    CHECK(statesampler_mixture_load(&b, state, save(&a, state), RESTART) ==
          STATESAMPLER_OK);
    CHECK(b.changes[0].status == STATESAMPLER_CHANGE_CHANGED);
    CHECK(statesampler_epoch(&b.sources[0].sampler) == 1);
    CHECK(statesampler_mix_num_turns(&b.mix) == 34 + 2 * 15);
    statesampler_mixture_free(&a);
    statesampler_mixture_free(&b);
}

/* A dataset that is added, but not started, is not part of the mix. */
static void test_added(void)
{
    statesampler_mixture a, b;
    unsigned char state[STATE];
    build(&a, "01", 2, STATESAMPLER_STOP_NEVER);
    build(&b, "0", 2, STATESAMPLER_STOP_NEVER);
    take(&a, 61);
    add(&b, 1, 2, 2);
    CHECK(statesampler_mixture_load(&b, state, save(&a, state), REFUSE) ==
          STATESAMPLER_OK);
    CHECK(arrlen(b.changes) == 2);
    CHECK(b.changes[0].status == STATESAMPLER_CHANGE_MATCHED);
    CHECK(b.changes[1].status == STATESAMPLER_CHANGE_REMOVED);
    CHECK(statesampler_epoch(&a.sources[1].sampler) > 0);
    CHECK(statesampler_epoch(&b.sources[1].sampler) == 0);
    statesampler_mixture_free(&a);
    statesampler_mixture_free(&b);
}

/* The same datasets with other weights: those of the state hold, turn for turn,
   till there are new ones. With a dataset more, this mixture's own hold. */
static void test_weights(void)
{
    static const uint32_t other[2] = {7, 1};
    statesampler_mixture a, b;
    unsigned char state[STATE];
    uint32_t i, source, turns[3] = {0, 0, 0};
    size_t count;
    build(&a, "01", 2, STATESAMPLER_STOP_NEVER);
    memset(&b, 0, sizeof b);
    add(&b, 0, 7, 2);
    add(&b, 1, 1, 2);
    start(&b, STATESAMPLER_STOP_NEVER);
    take(&a, 10);
    CHECK(statesampler_mixture_load(&b, state, save(&a, state), REFUSE) ==
          STATESAMPLER_OK);
    for (i = 0; i < 2; i++) {
        CHECK(b.changes[i].status == STATESAMPLER_CHANGE_MATCHED);
        check_place(&a, i, &b, i);
    }
    CHECK(statesampler_mix_turn(&b.mix) == 10);
    check_alike(&a, &b, 20);
    CHECK(statesampler_mix_weigh(&b.mix, other) == STATESAMPLER_OK);
    for (i = 0; i < 16; i++) {
        CHECK(statesampler_mix_next(&b.mix, NULL, &count, &source) == 1);
        turns[source]++;
    }
    CHECK(turns[0] == 14 && turns[1] == 2);
    statesampler_mixture_free(&b);
    memset(&b, 0, sizeof b);
    add(&b, 0, 5, 2);
    add(&b, 1, 1, 2);
    add(&b, 2, 2, 2);
    start(&b, STATESAMPLER_STOP_NEVER);
    CHECK(statesampler_mixture_load(&b, state, save(&a, state), REFUSE) ==
          STATESAMPLER_OK);
    memset(turns, 0, sizeof turns);
    for (i = 0; i < 8; i++) {
        CHECK(statesampler_mix_next(&b.mix, NULL, &count, &source) == 1);
        turns[source]++;
    }
    CHECK(turns[0] == 5 && turns[1] == 1 && turns[2] == 2);
    statesampler_mixture_free(&a);
    statesampler_mixture_free(&b);
    /* A weight of 0 is 1, and so no other one: the turns go on, too. */
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    add(&a, 0, 0, 2);
    add(&a, 1, 3, 2);
    add(&b, 0, 0, 2);
    add(&b, 1, 3, 2);
    start(&a, STATESAMPLER_STOP_NEVER);
    start(&b, STATESAMPLER_STOP_NEVER);
    take(&a, 10);
    CHECK(statesampler_mixture_load(&b, state, save(&a, state), REFUSE) ==
          STATESAMPLER_OK);
    check_alike(&a, &b, 20);
    statesampler_mixture_free(&a);
    statesampler_mixture_free(&b);
}

/* A dataset that is another one under the old name. */
static void test_changed(void)
{
    int what;
    for (what = 0; what < 6; what++) {
        statesampler_mixture a, b;
        statesampler_desc d = describe(1, 2, 0);
        unsigned char state[STATE], before[STATE], after[STATE];
        static statesampler_source sources[3];
        size_t size, i;
        build(&a, "012", 2, STATESAMPLER_STOP_NEVER);
        memset(&b, 0, sizeof b);
        switch (what) {
        case 0:
            d.num_samples++;
            break;
        case 1:
            d.seed++;
            break;
        case 2:
            d.stream++;
            break;
        case 3:
            d.order = STATESAMPLER_ORDER_SEQUENTIAL;
            break;
        case 4:
            d.partition = STATESAMPLER_PARTITION_INTERLEAVED;
            break;
        default:
            d.tail = STATESAMPLER_TAIL_UNEVEN;
        }
        add(&b, 0, 1, 2);
        CHECK(statesampler_mixture_add(&b, name_of[1], 2, &d) ==
              STATESAMPLER_OK);
        add(&b, 2, 3, 2);
        start(&b, STATESAMPLER_STOP_NEVER);
        take(&a, 61);
        take(&b, 5);
        size = save(&a, state);
        CHECK(save(&b, before) == size);
        memcpy(sources, b.sources, sizeof sources);
        CHECK(statesampler_mixture_load(&b, state, size, 0) ==
              STATESAMPLER_EMISMATCH_DATASET);
        CHECK(save(&b, after) == size && memcmp(before, after, size) == 0);
        CHECK(check_same_bytes(sources, b.sources, sizeof sources));
        for (i = 0; i < 2; i++) {
            CHECK(arrlen(b.changes) == 3);
            CHECK(b.changes[0].status == STATESAMPLER_CHANGE_MATCHED);
            CHECK(b.changes[1].status == STATESAMPLER_CHANGE_CHANGED);
            CHECK(b.changes[2].status == STATESAMPLER_CHANGE_MATCHED);
            CHECK(b.changes[1].source == 1);
            CHECK(strcmp(b.changes[1].name, "code") == 0);
            if (i == 0)
                CHECK(statesampler_mixture_load(&b, state, size, RESTART) ==
                      STATESAMPLER_OK);
        }
        check_place(&a, 0, &b, 0);
        check_place(&a, 2, &b, 2);
        CHECK(statesampler_epoch(&b.sources[1].sampler) ==
              statesampler_epoch(&a.sources[1].sampler));
        CHECK(statesampler_epoch(&b.sources[1].sampler) > 0);
        CHECK(statesampler_step(&b.sources[1].sampler) == 0);
        CHECK(statesampler_mix_turn(&b.mix) == 61);
        statesampler_mixture_free(&a);
        statesampler_mixture_free(&b);
    }
}

/* The only one, too. */
static void test_only_changed(void)
{
    statesampler_mixture a, b;
    statesampler_desc d = describe(0, 2, 0);
    unsigned char state[STATE];
    size_t size;
    build(&a, "0", 2, STATESAMPLER_STOP_FIRST);
    memset(&b, 0, sizeof b);
    d.seed++;
    CHECK(statesampler_mixture_add(&b, name_of[0], 1, &d) == STATESAMPLER_OK);
    start(&b, STATESAMPLER_STOP_FIRST);
    size = save(&a, state);
    CHECK(statesampler_mixture_load(&b, state, size, 0) ==
          STATESAMPLER_EMISMATCH_DATASET);
    CHECK(statesampler_mixture_load(&b, state, size, 1) == STATESAMPLER_OK);
    statesampler_mixture_free(&a);
    statesampler_mixture_free(&b);
}

/* A mixture that grows while it runs. */
static void test_growth(void)
{
    statesampler_mixture m, whole;
    unsigned char state[STATE], again[STATE];
    size_t size;
    uint32_t i, j, old, place[3];
    build(&m, "0", 2, STATESAMPLER_STOP_NEVER);
    for (i = 1; i < 4; i++) {
        take(&m, 9);
        size = save(&m, state);
        old = (uint32_t)arrlenu(m.sources);
        for (j = 0; j < old; j++)
            place[j] = (uint32_t)statesampler_step(&m.sources[j].sampler);
        add(&m, i, 1, 2);
        /* Until the start the mix is what it was. */
        CHECK(save(&m, again) == size && memcmp(state, again, size) == 0);
        take(&m, 9);
        start(&m, STATESAMPLER_STOP_NEVER);
        CHECK(statesampler_mixture_load(&m, state, size, REFUSE) ==
              STATESAMPLER_OK);
        CHECK(statesampler_mix_turn(&m.mix) == 9 * i);
        for (j = 0; j < old; j++)
            CHECK(statesampler_step(&m.sources[j].sampler) == place[j]);
        CHECK(statesampler_step(&m.sources[old].sampler) == 0);
    }
    build(&whole, "0123", 2, STATESAMPLER_STOP_NEVER);
    for (i = 0; i < 4; i++)
        CHECK(number(&m, name_of[i]) == i);
    statesampler_mixture_free(&whole);
    statesampler_mixture_free(&m);
    CHECK(!m.sources && !m.datasets && !m.changes && !m.mix.sources);
    statesampler_mixture_free(&m); /* twice is once */
}

/* A start that fails leaves the last started mix as it was, and so does a
   dataset that is added after it and removed again. The fifth dataset is the
   first for which stb_ds moves the array. */
static void test_failed_start(void)
{
    statesampler_mixture m, other;
    statesampler_desc d = describe(3, 2, 0);
    unsigned char state[STATE], again[STATE];
    size_t size;
    d.tail = STATESAMPLER_TAIL_CARRY; /* FIRST cannot have it */
    d.partition = STATESAMPLER_PARTITION_INTERLEAVED;
    d.drop_last = 0;
    build(&m, "0124", 2, STATESAMPLER_STOP_FIRST);
    build(&other, "0124", 2, STATESAMPLER_STOP_FIRST);
    take(&m, 7);
    take(&other, 7);
    size = save(&m, state);
    CHECK(statesampler_mixture_add(&m, name_of[3], 1, &d) == STATESAMPLER_OK);
    CHECK(statesampler_mixture_start(&m, STATESAMPLER_STOP_FIRST) ==
          STATESAMPLER_EINVAL_SOURCE_CARRY);
    CHECK(save(&m, again) == size && memcmp(state, again, size) == 0);
    check_alike(&m, &other, 40);
    /* Its own state, which does not have the new one, either. */
    CHECK(statesampler_mixture_load(&m, state, size, REFUSE) ==
          STATESAMPLER_OK);
    CHECK(statesampler_mixture_load(&other, state, size, REFUSE) ==
          STATESAMPLER_OK);
    CHECK(arrlen(m.changes) == 4);
    check_alike(&m, &other, 9);
    CHECK(statesampler_mixture_remove(&m, name_of[3]) == STATESAMPLER_OK);
    CHECK(number(&m, name_of[3]) == 99 && arrlen(m.sources) == 4);
    check_alike(&m, &other, 9);
    CHECK(statesampler_mixture_start(&m, STATESAMPLER_STOP_FIRST) ==
          STATESAMPLER_OK);
    CHECK(statesampler_mix_turn(&m.mix) == 0);
    statesampler_mixture_free(&m);
    statesampler_mixture_free(&other);
}

/* A state has a dataset that was added here after the start, as the first or
   the second one: until the next start it is as if it were not here. */
static void test_added_since(void)
{
    statesampler_mixture m, whole;
    unsigned char state[STATE];
    size_t size;
    int second;
    for (second = 0; second < 2; second++) {
        build(&whole, "0123", 2, STATESAMPLER_STOP_ALL);
        take(&whole, 9);
        size = save(&whole, state);
        build(&m, "01", 2, STATESAMPLER_STOP_ALL);
        if (second)
            add(&m, 2, 1, 2);
        add(&m, 3, 1, 2);
        CHECK(statesampler_mixture_load(&m, state, size, REFUSE) ==
              STATESAMPLER_OK);
        CHECK(m.mix.num_sources == 2 && arrlen(m.changes) == 4);
        CHECK(m.changes[0].status == STATESAMPLER_CHANGE_MATCHED);
        CHECK(m.changes[1].status == STATESAMPLER_CHANGE_MATCHED);
        CHECK(m.changes[2].status == STATESAMPLER_CHANGE_REMOVED);
        CHECK(m.changes[3].status == STATESAMPLER_CHANGE_REMOVED);
        CHECK(m.changes[2].source == 2 && m.changes[3].source == 3);
        take(&m, 3);
        statesampler_mixture_free(&m);
        statesampler_mixture_free(&whole);
    }
}

/* Of a mixture of these, remove some; the state of before loads into the rest,
   which are found by their names. */
static void check_remove(const char *which, const char *gone)
{
    statesampler_mixture m, whole;
    unsigned char state[STATE];
    size_t size, i, left = strlen(which) - strlen(gone);
    build(&m, which, 2, STATESAMPLER_STOP_NEVER);
    build(&whole, which, 2, STATESAMPLER_STOP_NEVER);
    take(&m, 20);
    take(&whole, 20);
    size = save(&m, state);
    CHECK(statesampler_mixture_load(&m, state, size, REFUSE) ==
          STATESAMPLER_OK);
    for (i = 0; gone[i] != 0; i++) {
        uint32_t k = number(&m, name_of[gone[i] - '0']);
        /* By its own name: what the caller holds may be that. */
        CHECK(statesampler_mixture_remove(&m, m.datasets[k].key) ==
              STATESAMPLER_OK);
        CHECK(!m.mix.sources); /* the assertions look at this */
        CHECK(arrlen(m.changes) == 0);
        CHECK(statesampler_mixture_remove(&m, name_of[gone[i] - '0']) ==
              STATESAMPLER_ERANGE_NAME);
    }
    CHECK((size_t)arrlen(m.sources) == left);
    CHECK((size_t)shlen(m.datasets) == left);
    start(&m, STATESAMPLER_STOP_NEVER);
    CHECK(statesampler_mixture_load(&m, state, size, REFUSE) ==
          STATESAMPLER_OK);
    CHECK((size_t)arrlen(m.changes) == strlen(which));
    for (i = 0; i < left; i++) {
        CHECK(m.changes[i].status == STATESAMPLER_CHANGE_MATCHED);
        CHECK(m.changes[i].hash == m.datasets[i].value);
        CHECK(number(&m, m.datasets[i].key) == i);
        check_place(&m, (uint32_t)i, &whole, number(&whole, m.datasets[i].key));
    }
    /* And back again. */
    for (i = 0; gone[i] != 0; i++)
        add(&m, (uint32_t)(gone[i] - '0'), 1, 2);
    CHECK((size_t)arrlen(m.sources) == strlen(which));
    start(&m, STATESAMPLER_STOP_NEVER);
    take(&m, 30);
    statesampler_mixture_free(&m);
    statesampler_mixture_free(&whole);
}

static void test_remove(void)
{
    statesampler_mixture m;
    check_remove("012", "0");
    check_remove("012", "1");
    check_remove("012", "2");
    check_remove("01234567", "0246");
    check_remove("01234567", "7654321");
    memset(&m, 0, sizeof m);
    CHECK(statesampler_mixture_remove(&m, "web") == STATESAMPLER_ERANGE_NAME);
    CHECK(!m.sources && !m.datasets);
    build(&m, "0", 2, STATESAMPLER_STOP_FIRST);
    CHECK(statesampler_mixture_remove(&m, name_of[0]) == STATESAMPLER_OK);
    CHECK(statesampler_mixture_start(&m, STATESAMPLER_STOP_FIRST) ==
          STATESAMPLER_EINVAL_NO_SOURCES);
    add(&m, 1, 1, 3); /* the first one's ranks were 2 */
    start(&m, STATESAMPLER_STOP_FIRST);
    statesampler_mixture_free(&m);
}

/* What is left after mixture_remove may be refused; nothing is then started. */
static void test_not_started(void)
{
    statesampler_mixture m;
    unsigned char state[STATE] = {0};
    statesampler_desc d = describe(0, 1, 0);
    uint32_t source = 7, weight = 1;
    size_t count;
    memset(&m, 0, sizeof m);
    CHECK(statesampler_mixture_save(&m, state, sizeof state) ==
          STATESAMPLER_EINVAL_NOT_STARTED);
    CHECK(statesampler_mixture_add(&m, "on", 1, &d) == STATESAMPLER_OK);
    CHECK(statesampler_mixture_add(&m, "off", STATESAMPLER_OFF, &d) ==
          STATESAMPLER_OK);
    start(&m, STATESAMPLER_STOP_FIRST);
    CHECK(statesampler_mixture_remove(&m, "on") == STATESAMPLER_OK);
    /* The mix is then one of no datasets. */
    CHECK(statesampler_mix_next(&m.mix, NULL, &count, &source) == 0);
    CHECK(statesampler_mix_at(&m.mix, 0, NULL, &count, &source) == 0);
    CHECK(statesampler_mix_seek(&m.mix, 0) == STATESAMPLER_OK);
    CHECK(statesampler_mix_num_turns(&m.mix) == 0 && source == 7);
    CHECK(statesampler_mix_weigh(&m.mix, &weight) == STATESAMPLER_OK);
    CHECK(statesampler_mix_reshape(&m.mix, 0, 2) ==
          STATESAMPLER_EINVAL_ALL_OFF);
    CHECK(statesampler_mixture_start(&m, STATESAMPLER_STOP_FIRST) ==
          STATESAMPLER_EINVAL_ALL_OFF);
    CHECK(statesampler_mixture_save(&m, state, sizeof state) ==
          STATESAMPLER_EINVAL_NOT_STARTED);
    CHECK(statesampler_mixture_load(&m, state, sizeof state, REFUSE) ==
          STATESAMPLER_EINVAL_NOT_STARTED);
    statesampler_mixture_free(&m);
}

/* What is not in the state begins, also where it has been used before. */
static void test_used(void)
{
    statesampler_mixture a, b;
    unsigned char state[STATE];
    uint32_t source;
    build(&a, "0", 2, STATESAMPLER_STOP_NEVER);
    build(&b, "01", 2, STATESAMPLER_STOP_NEVER);
    take(&b, 25);
    source = number(&b, "code");
    CHECK(statesampler_step(&b.sources[source].sampler) > 0);
    CHECK(statesampler_mixture_load(&b, state, save(&a, state), REFUSE) ==
          STATESAMPLER_OK);
    CHECK(b.changes[source].status == STATESAMPLER_CHANGE_NEW);
    CHECK(statesampler_step(&b.sources[source].sampler) == 0);
    statesampler_mixture_free(&a);
    statesampler_mixture_free(&b);
}

/* Whatever a mixture has done before, it goes on as a new one does, in the
   epoch of the state. */
static void test_used_and_new(void)
{
    statesampler_mixture a, b, fresh;
    unsigned char state[STATE];
    size_t size;
    build(&a, "01", 2, STATESAMPLER_STOP_FIRST);
    build(&b, "10", 2, STATESAMPLER_STOP_FIRST);
    build(&fresh, "10", 2, STATESAMPLER_STOP_FIRST);
    take(&a, (int)statesampler_mix_num_turns(&a.mix));
    CHECK(statesampler_mix_next(&a.mix, NULL, NULL, NULL) == 0);
    take(&a, 4);
    take(&b, 5);
    size = save(&a, state);
    CHECK(statesampler_mixture_load(&b, state, size, REFUSE) ==
          STATESAMPLER_OK);
    CHECK(statesampler_mixture_load(&fresh, state, size, REFUSE) ==
          STATESAMPLER_OK);
    CHECK(statesampler_mix_epoch(&b.mix) == 1);
    check_alike(&b, &fresh, 40);
    statesampler_mixture_free(&a);
    statesampler_mixture_free(&b);
    statesampler_mixture_free(&fresh);
}

/* A sequence as long as may be, which fewer steps than the samples' make:
   drop_last leaves the last one out. In another order it goes on, too. */
static void test_longest_sequence(void)
{
    const uint64_t most = ((uint64_t)1 << 62) / (((uint64_t)1 << 30) + 1);
    statesampler_desc few = describe(0, 1, 0), many = describe(1, 1, 0);
    statesampler_mixture a, b;
    unsigned char state[STATE];
    size_t size;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    few.batch_size = many.batch_size = 2;
    many.num_samples = 2 * (most - 1) + 1;
    many.order = STATESAMPLER_ORDER_SEQUENTIAL;
    many.tail = STATESAMPLER_TAIL_PAD;
    many.drop_last = 1;
    CHECK(statesampler_mixture_add(&a, "few", 1u << 30, &few) == 0);
    CHECK(statesampler_mixture_add(&a, "many", 1, &many) == 0);
    CHECK(statesampler_mixture_add(&b, "many", 1, &many) == 0);
    CHECK(statesampler_mixture_add(&b, "few", 1u << 30, &few) == 0);
    start(&a, STATESAMPLER_STOP_ALL);
    start(&b, STATESAMPLER_STOP_ALL);
    take(&a, 3);
    size = save(&a, state);
    CHECK(statesampler_mixture_load(&b, state, size, REFUSE) ==
          STATESAMPLER_OK);
    CHECK(statesampler_mix_turn(&b.mix) == 3);
    check_place(&a, 0, &b, 1);
    check_place(&a, 1, &b, 0);
    statesampler_mixture_free(&a);
    statesampler_mixture_free(&b);
}

/* The state byte by byte, from the manual's table. */
static void test_table(void)
{
    statesampler_mixture m;
    unsigned char state[STATE], inner[STATE];
    uint64_t hash = 0, got;
    size_t size, i;
    const char *c = "code";
    build(&m, "01", 2, STATESAMPLER_STOP_NEVER);
    take(&m, 7);
    size = save(&m, state);
    CHECK(size == 72 + 128 * 2);
    CHECK(memcmp(state, "SSMN\2\0\1\0\2\0\0\0\0\0\0\0", 16) == 0);
    do {
        hash += (unsigned char)*c + UINT64_C(0x9e3779b97f4a7c15);
        hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
        hash ^= hash >> 31;
    } while (*c++);
    for (got = 0, i = 8; i-- > 0;)
        got = got << 8 | state[24 + i];
    CHECK(got == hash && got == m.datasets[1].value);
    must_mix_save(&m.mix, inner);
    i = statesampler_mix_state_bytes(&m.mix);
    CHECK(memcmp(state + 32, inner, i) == 0 && size == 32 + i + 8);
    memcpy(inner, state, size);
    forge_seal(inner, size);
    CHECK(memcmp(state, inner, size) == 0);
    statesampler_mixture_free(&m);
}

/* Every way to be refused that a mixture adds has a code of its own, and
   changes nothing. */
static void test_errors(int reduced)
{
    statesampler_mixture m, other;
    statesampler_desc d = describe(0, 1, 0);
    unsigned char state[2 * STATE], again[STATE];
    char longest[300];
    size_t size, i;
    memset(&m, 0, sizeof m);
    CHECK(statesampler_mixture_start(&m, 0) == STATESAMPLER_EINVAL_NO_SOURCES);
    CHECK(number(&m, "web") == 99);
    CHECK(statesampler_mixture_add(&m, "", 1, &d) ==
          STATESAMPLER_EINVAL_NAME_EMPTY);
    d.order = 77;
    CHECK(statesampler_mixture_add(&m, "web", 1, &d) ==
          STATESAMPLER_EINVAL_ORDER);
    CHECK(!m.sources && !m.datasets);
    CHECK(number(&m, "web") == 99);
    d.order = 0;
    CHECK(statesampler_mixture_add(&m, "web", 1, &d) == STATESAMPLER_OK);
    CHECK(statesampler_mixture_add(&m, "web", 2, &d) ==
          STATESAMPLER_EINVAL_NAME_TAKEN);
    CHECK(statesampler_mixture_add(&m, "", 2, &d) ==
          STATESAMPLER_EINVAL_NAME_EMPTY);
    CHECK(arrlen(m.sources) == 1 && shlen(m.datasets) == 1);
    CHECK(m.sources[0].weight == 1 && number(&m, "web") == 0);
    CHECK(statesampler_mixture_start(&m, 0) == STATESAMPLER_OK);
    /* A started one stays so. */
    CHECK(statesampler_mixture_add(&m, "web", 2, &d) ==
          STATESAMPLER_EINVAL_NAME_TAKEN);
    d.rank = 1;
    CHECK(statesampler_mixture_add(&m, "mail", 2, &d) ==
          STATESAMPLER_EINVAL_RANK);
    d.rank = 0;
    take(&m, 3);
    CHECK(statesampler_mix_turn(&m.mix) == 3);
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    CHECK(statesampler_mixture_add(&m, longest, 1, &d) == STATESAMPLER_OK);
    longest[sizeof longest - 2] = 0;
    CHECK(number(&m, longest) == 99);
    CHECK(statesampler_mixture_add(&m, longest, 1, &d) == STATESAMPLER_OK);
    longest[0] = '\xff'; /* its own copy, and any byte */
    CHECK(statesampler_mixture_add(&m, longest, 1, &d) == STATESAMPLER_OK);
    CHECK(number(&m, longest) == 3);
    longest[0] = 'x';
    CHECK(number(&m, longest) == 2);
    CHECK(statesampler_mixture_start(&m, STOPS) == STATESAMPLER_EINVAL_STOP);
    d.world_size = 2;
    CHECK(statesampler_mixture_add(&m, "two", 1, &d) ==
          STATESAMPLER_EINVAL_SOURCE_WORLD_SIZE);
    CHECK(number(&m, "two") == 99 && arrlen(m.sources) == 4);
    CHECK(statesampler_mixture_start(&m, 0) == STATESAMPLER_OK);
    statesampler_mixture_free(&m);

    build(&m, "012", 2, STATESAMPLER_STOP_RESTART);
    build(&other, "012", 2, STATESAMPLER_STOP_ALL);
    take(&m, 17);
    size = save(&m, state);
    CHECK(statesampler_mixture_load(&other, state, size, 1) ==
          STATESAMPLER_EMISMATCH_STOP);
    statesampler_mixture_free(&other);
    build(&other, "210", 2, STATESAMPLER_STOP_ALL);
    save(&other, again);
    CHECK(statesampler_mixture_load(&other, state, size, 1) ==
          STATESAMPLER_EMISMATCH_STOP);
    CHECK(arrlen(other.changes) == 3); /* all the same told */
    CHECK(other.changes[2].status == STATESAMPLER_CHANGE_MATCHED);
    CHECK(save(&other, state + 8) == size &&
          memcmp(state + 8, again, size) == 0);
    save(&m, state);
    /* One name twice, under right check words. */
    memcpy(state + 16, state + 24, 8);
    forge_seal(state, size);
    CHECK(statesampler_mixture_load(&other, state, size, RESTART) ==
          STATESAMPLER_ECORRUPT_NAMES);
    CHECK(arrlen(other.changes) == 0);
    /* Each bit of a hash makes another name. */
    save(&m, state);
    for (i = 0; i < 64; i++) {
        state[16 + i / 8] ^= (unsigned char)(1 << i % 8);
        forge_seal(state, size);
        CHECK(statesampler_mixture_load(&other, state, size, RESTART) ==
              STATESAMPLER_EMISMATCH_STOP);
        CHECK(arrlen(other.changes) == 4);
        state[16 + i / 8] ^= (unsigned char)(1 << i % 8);
    }
    /* No names at all. */
    save(&m, state);
    memset(state + 8, 0, 8);
    memmove(state + 16, state + 16 + 8 * 3, 48);
    forge_put(state + 16, FORGE_MIX_SOURCES, 0);
    forge_seal(state + 16, 48);
    forge_seal(state, 72);
    CHECK(statesampler_mixture_load(&other, state, 72, RESTART) ==
          STATESAMPLER_ECORRUPT_SOURCES);
    /* The first format. */
    save(&m, state);
    forge_put(state, FORGE_VERSION, 1);
    forge_seal(state, size);
    CHECK(statesampler_mixture_load(&m, state, size, RESTART) ==
          STATESAMPLER_EVERSION_FORMAT);
    /* A turn that no mix is at: nothing is told of what is refused. */
    save(&m, state);
    forge_put(state + 40, FORGE_MIX_TURN, UINT64_MAX);
    forge_seal(state + 40, size - 48);
    forge_seal(state, size);
    CHECK(statesampler_mixture_load(&m, state, size, RESTART) ==
          STATESAMPLER_ECORRUPT_TURN);
    CHECK(arrlen(m.changes) == 0);
    for (i = 0; i < size; i++) {
        memset(state, 0x44, sizeof state);
        CHECK(statesampler_mixture_save(&m, state, i) ==
              STATESAMPLER_ECAPACITY);
        CHECK(state[0] == 0x44 && memcmp(state, state + 1, size) == 0);
    }
    save(&m, state);
    statesampler_mixture_free(&other);
    build(&other, "12", 2, STATESAMPLER_STOP_RESTART);
    take(&other, 3);
    save(&other, again);
    for (i = 0; i < 8 * size; i += reduced ? 5 : 1) {
        int code;
        state[i / 8] ^= (unsigned char)(1 << i % 8);
        code = statesampler_mixture_load(&other, state, size, RESTART);
        if ((i / 8 == 4 || i / 8 == 5) && i != 33)
            CHECK_KIND(code, STATESAMPLER_EVERSION);
        else
            CHECK_KIND(code, STATESAMPLER_ECORRUPT);
        CHECK(arrlen(other.changes) == 0);
        state[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    for (i = 0; i < size + 8; i++)
        if (i != size)
            CHECK(statesampler_mixture_load(&other, state, i, RESTART) ==
                  STATESAMPLER_ECORRUPT_SIZE);
    CHECK(statesampler_mixture_load(&other, NULL, 0, RESTART) ==
          STATESAMPLER_ECORRUPT_SIZE);
    size = save(&other, state);
    CHECK(memcmp(state, again, size) == 0);
    /* The states of a mix and of a mixture are not each other's. */
    CHECK_KIND(statesampler_mix_load(&other.mix, state, size),
               STATESAMPLER_ECORRUPT);
    must_mix_save(&other.mix, state);
    CHECK_KIND(statesampler_mixture_load(
                   &other, state, statesampler_mix_state_bytes(&other.mix),
                   REFUSE),
               STATESAMPLER_ECORRUPT);
    statesampler_mixture_free(&m);
    statesampler_mixture_free(&other);
}

/* Anything under right check words, the inner and the outer one. */
static void test_forged(int reduced)
{
    int i;
    for (i = 0; i < (reduced ? 300 : 5000); i++) {
        statesampler_mixture m, other;
        unsigned char state[STATE];
        size_t size, at, inner = 16 + 8 * 3;
        uint32_t source, turns;
        size_t count;
        int code;
        build(&m, "012", 2, (uint32_t)i % STOPS);
        build(&other, i % 8 < 4 ? "210" : "201", 1 + (uint32_t)i % 3,
              (uint32_t)i % STOPS);
        take(&m, 14);
        size = save(&m, state);
        at = 16 + (size_t)check_random(size - 32);
        state[at] = (unsigned char)check_random(256);
        forge_seal_mix(state + inner, 3);
        forge_seal(state, size);
        code = statesampler_mixture_load(&other, state, size,
                                         i % 2 ? RESTART : REFUSE);
        CHECK(code <= 0);
        for (turns = 0; turns < 5; turns++)
            CHECK(statesampler_mix_next(&other.mix, NULL, &count, &source) >=
                  0);
        statesampler_mixture_free(&m);
        statesampler_mixture_free(&other);
    }
}

/* --- Many datasets -------------------------------------------------------- */

static void name_dataset(char *name, uint32_t k)
{
    sprintf(name, "dataset %lu", (unsigned long)k);
}

static void test_thousands(int reduced)
{
    statesampler_mixture m, n;
    unsigned char *state;
    uint32_t i, count = reduced ? 200 : 3000;
    size_t size;
    memset(&m, 0, sizeof m);
    memset(&n, 0, sizeof n);
    for (i = 0; i < 2 * count; i++) {
        char name[32];
        uint32_t k = i % count;
        statesampler_desc d = describe(k, 2, 0);
        d.num_samples = k;
        d.tail = STATESAMPLER_TAIL_PAD;
        /* The second one backwards, without every tenth. */
        k = i < count ? i : count - 1 - k;
        d.num_samples = d.stream = k;
        d.partition = 0;
        name_dataset(name, k);
        if (i < count || k % 10 != 0)
            CHECK(statesampler_mixture_add(i < count ? &m : &n, name, 1 + k % 7,
                                           &d) == STATESAMPLER_OK);
    }
    start(&m, STATESAMPLER_STOP_NEVER);
    start(&n, STATESAMPLER_STOP_NEVER);
    take(&m, 5000);
    size = statesampler_mixture_state_bytes(&m);
    state = (unsigned char *)malloc(size);
    CHECK(state != NULL);
    CHECK(statesampler_mixture_save(&m, state, size) == STATESAMPLER_OK);
    CHECK(statesampler_mixture_load(&n, state, size, REFUSE) ==
          STATESAMPLER_OK);
    CHECK(arrlenu(n.changes) == count);
    for (i = 0; i < arrlenu(n.sources); i++)
        check_place(&n, i, &m, number(&m, n.datasets[i].key));
    free(state);
    statesampler_mixture_free(&m);
    statesampler_mixture_free(&n);
}

/* Adds so many datasets, forwards or backwards. */
static void add_many(statesampler_mixture *m, uint32_t count, int backwards)
{
    statesampler_desc d = describe(0, 1, 0);
    uint32_t i;
    char name[32];
    memset(m, 0, sizeof *m);
    for (i = 0; i < count; i++) {
        name_dataset(name, backwards ? count - 1 - i : i);
        CHECK(statesampler_mixture_add(m, name, 1, &d) == STATESAMPLER_OK);
    }
    CHECK(statesampler_mixture_start(m, STATESAMPLER_STOP_NEVER) ==
          STATESAMPLER_OK);
}

/* The time in seconds that it takes to add so many datasets, and to load their
   state into as many in another order; of so many runs together, as clocks may
   count in steps of 10 ms. */
static void time_of(double *adding, double *loading, uint32_t count, int runs)
{
    *adding = *loading = 0;
    for (; runs > 0; runs--) {
        statesampler_mixture m, n;
        unsigned char *state;
        size_t size;
        clock_t start = clock();
        add_many(&m, count, 0);
        *adding += (double)(clock() - start) / CLOCKS_PER_SEC;
        add_many(&n, count, 1);
        size = statesampler_mixture_state_bytes(&m);
        state = (unsigned char *)malloc(size);
        CHECK(state != NULL);
        CHECK(statesampler_mixture_save(&m, state, size) == STATESAMPLER_OK);
        start = clock();
        CHECK(statesampler_mixture_load(&n, state, size, REFUSE) ==
              STATESAMPLER_OK);
        *loading += (double)(clock() - start) / CLOCKS_PER_SEC;
        free(state);
        statesampler_mixture_free(&m);
        statesampler_mixture_free(&n);
    }
}

/* All datasets at once take about as long as in sixteen parts, and more where
   they no longer fit a cache; if each looked at all others it would be 16
   times, which is more than 2 s. A clock may count what other programs take,
   as on Windows, so one good try of five is enough. */
static void test_time(int reduced)
{
    uint32_t few = reduced ? 4000 : 8000;
    double adding[2], loading[2];
    int tries = 0;
    do {
        time_of(&adding[0], &loading[0], few, 16);
        time_of(&adding[1], &loading[1], 16 * few, 1);
    } while (++tries < 5 && (adding[1] >= 4 * adding[0] + 0.1 ||
                             loading[1] >= 4 * loading[0] + 0.1));
    printf("%lu datasets: added in %.3f s, loaded in %.3f s; in 16 parts: "
           "%.3f s, %.3f s\n",
           (unsigned long)(16 * few), adding[1], loading[1], adding[0],
           loading[0]);
    CHECK(adding[1] < 4 * adding[0] + 0.1);
    CHECK(loading[1] < 4 * loading[0] + 0.1);
}

int main(int argc, char **argv)
{
    int reduced = check_reduced(argc, argv);
    test_same(reduced);
    test_changes(reduced);
    check_finished(1, 19);
    check_finished(2, 24);
    test_finished_before();
    test_weights();
    test_changed();
    test_only_changed();
    test_growth();
    test_failed_start();
    test_added_since();
    test_remove();
    test_changed_unfinished();
    test_added();
    test_not_started();
    test_used();
    test_used_and_new();
    test_longest_sequence();
    test_table();
    test_errors(reduced);
    test_forged(reduced);
    test_thousands(reduced);
    test_time(reduced);
    return check_done("test_mixture");
}

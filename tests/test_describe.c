/* test_describe.c - does a state tell what run saved it, so that a program
   that knows nothing else goes on with it? */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "check.h"
#include "must.h"
#include "model.h"

/* The description of the run that saved, as rank 0. */
static void check_desc(const statesampler_desc *found,
                       const statesampler_desc *d, uint64_t epoch,
                       uint32_t drop_last)
{
    int chunks = d->order == STATESAMPLER_ORDER_WINDOW;
    CHECK(found->num_samples == d->num_samples);
    CHECK(found->seed == d->seed && found->stream == d->stream);
    CHECK(found->epoch == epoch && found->rank == 0);
    CHECK(found->world_size == d->world_size);
    CHECK(found->batch_size == d->batch_size);
    CHECK(found->order == d->order && found->partition == d->partition);
    CHECK(found->tail == d->tail && found->drop_last == drop_last);
    CHECK(found->chunk_size == (chunks ? d->chunk_size : 0));
    CHECK(found->window == (chunks ? d->window : 0));
}

static void check_place(const statesampler_place *place, const statesampler *s)
{
    CHECK(place->position == statesampler_position(s));
    CHECK(place->step == statesampler_step(s));
    CHECK(place->rank == 0 && place->slot == 0);
}

/* A state of this sampler, read; who asks for one thing gets that one. */
static void check_state(const statesampler *s, const statesampler_desc *d,
                        const unsigned char *state)
{
    statesampler_desc found;
    statesampler_place place;
    int which;
    for (which = 0; which < 4; which++) {
        memset(&found, 0x11, sizeof found);
        memset(&place, 0x11, sizeof place);
        CHECK(statesampler_describe(state, STATESAMPLER_STATE_BYTES,
                                    which & 1 ? &found : NULL,
                                    which & 2 ? &place : NULL) ==
              STATESAMPLER_OK);
        if (which & 1)
            check_desc(&found, d, statesampler_epoch(s), 0);
        if (which & 2)
            check_place(&place, s);
    }
}

/* A sampler made of what the state says goes on as rank 0 of its run would
   without drop_last. */
static void check_revival(const statesampler_desc *d,
                          const unsigned char *state)
{
    statesampler_desc found, given = *d;
    statesampler revived, own;
    unsigned char again[STATESAMPLER_STATE_BYTES];
    uint64_t a[MODEL_BATCH], b[MODEL_BATCH];
    size_t count, other;
    int k, more;
    CHECK(statesampler_describe(state, STATESAMPLER_STATE_BYTES, &found,
                                NULL) == STATESAMPLER_OK);
    CHECK(statesampler_init(&revived, &found) == STATESAMPLER_OK);
    CHECK(statesampler_load(&revived, state, STATESAMPLER_STATE_BYTES) ==
          STATESAMPLER_OK);
    must_save(&revived, again);
    CHECK(memcmp(state, again, sizeof again) == 0);
    given.rank = 0;
    given.drop_last = 0;
    CHECK(statesampler_init(&own, &given) == STATESAMPLER_OK);
    CHECK(statesampler_load(&own, state, STATESAMPLER_STATE_BYTES) ==
          STATESAMPLER_OK);
    for (k = 0; k < 12; k++) {
        more = statesampler_next(&own, a, &count);
        CHECK(statesampler_next(&revived, b, &other) == more);
        CHECK(other == count && model_same(a, b, count));
        CHECK(model_same_state(&own, &revived));
    }
}

static void test_samplers(int cases)
{
    int i, round, step;
    for (i = 0; i < cases; i++) {
        statesampler_desc d = model_random_desc(50, 6, 5), shape;
        statesampler s;
        unsigned char state[STATESAMPLER_STATE_BYTES];
        model_set_order(&d, (int)check_random(MODEL_ORDERS));
        d.partition = (uint32_t)check_random(2);
        d.tail = (uint32_t)check_random(TAILS);
        d.drop_last = (uint32_t)check_random(2);
        d.seed = model_random(UINT64_MAX);
        d.stream = model_random(UINT64_MAX);
        d.epoch = i % 4 ? check_random(100) : UINT64_MAX;
        d.rank = (uint32_t)check_random(d.world_size);
        if (!model_makes_sense(&d))
            continue;
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
        for (round = 0; round < 4; round++) {
            model_watch(&d, NULL);
            for (step = (int)check_random(9); step > 0; step--)
                statesampler_next(&s, NULL, NULL);
            must_save(&s, state);
            check_state(&s, &d, state);
            check_revival(&d, state);
            /* In another shape, the description is that shape's. */
            shape = model_random_desc(1, 6, 5);
            d.world_size = shape.world_size;
            d.batch_size = shape.batch_size;
            d.rank = (uint32_t)check_random(d.world_size);
            CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
            CHECK(statesampler_load(&s, state, sizeof state) ==
                  STATESAMPLER_OK);
        }
    }
    model_finish();
}

/* --- Mixes ---------------------------------------------------------------- */

#define SOURCES 4
#define MIX_BYTES STATESAMPLER_MIX_STATE_BYTES(SOURCES)

typedef struct party {
    uint32_t stop;
    statesampler_desc desc[SOURCES];
    uint32_t weight[SOURCES];
    statesampler_source source[SOURCES];
    statesampler_mix mix;
} party;

static int start(party *p)
{
    uint32_t i;
    for (i = 0; i < SOURCES; i++) {
        CHECK(statesampler_init(&p->source[i].sampler, &p->desc[i]) ==
              STATESAMPLER_OK);
        p->source[i].weight = p->weight[i];
    }
    return statesampler_mix_init(&p->mix, p->source, SOURCES, p->stop);
}

static void invent(party *p)
{
    uint32_t i;
    statesampler_desc shape = model_random_desc(1, 4, 4);
    p->stop = (uint32_t)check_random(STOPS);
    for (i = 0; i < SOURCES; i++) {
        statesampler_desc *d = &p->desc[i];
        *d = model_random_desc(40, 1, 1);
        d->world_size = shape.world_size;
        d->batch_size = shape.batch_size;
        model_set_order(d, (int)check_random(MODEL_ORDERS));
        d->partition = (uint32_t)check_random(2);
        d->tail = (uint32_t)check_random(TAILS);
        d->drop_last = (uint32_t)check_random(2);
        d->seed = check_random(1000);
        d->stream = i;
        d->epoch = check_random(9);
        if (!model_makes_sense(d) || p->stop != STATESAMPLER_STOP_NEVER)
            d->tail %= STATESAMPLER_TAIL_CARRY;
        p->weight[i] = (uint32_t)check_random(5);
    }
}

/* Each source of a state, read. */
static void check_mix_state(const party *p, const unsigned char *state)
{
    uint32_t i;
    int which;
    for (i = 0; i < SOURCES; i++)
        for (which = 0; which < 4; which++) {
            statesampler_desc found;
            statesampler_mix_place place;
            memset(&found, 0x11, sizeof found);
            memset(&place, 0x11, sizeof place);
            CHECK(statesampler_mix_describe(state, MIX_BYTES, i,
                                            which & 1 ? &found : NULL,
                                            which & 2 ? &place : NULL) ==
                  STATESAMPLER_OK);
            if (which & 1)
                check_desc(&found, &p->desc[i],
                           statesampler_epoch(&p->source[i].sampler), 0);
            if (!(which & 2))
                continue;
            CHECK(place.epoch == statesampler_mix_epoch(&p->mix));
            CHECK(place.turn == statesampler_mix_turn(&p->mix));
            CHECK(place.num_sources == SOURCES && place.stop == p->stop);
            CHECK(place.weight == (p->weight[i] ? p->weight[i] : 1));
        }
}

/* The state of each source, found inside. */
static void check_mix_parts(const party *p, const unsigned char *state)
{
    unsigned char own[STATESAMPLER_STATE_BYTES];
    uint32_t i, weight = 0;
    for (i = 0; i < SOURCES; i++) {
        const void *part = statesampler_mix_source_in(state, i, &weight);
        CHECK(weight == (p->weight[i] ? p->weight[i] : 1));
        CHECK(statesampler_mix_source_in(state, i, NULL) == part);
        CHECK(statesampler_save(&p->source[i].sampler, own, sizeof own) ==
              STATESAMPLER_OK);
        CHECK(memcmp(part, own, sizeof own) == 0);
    }
}

/* What is no mixture's state is left as it is. */
static void check_mix_inside(const unsigned char *state)
{
    unsigned char other[MIX_BYTES];
    size_t size = MIX_BYTES;
    CHECK(statesampler_mix_state_in(state, &size) == state);
    CHECK(size == MIX_BYTES);
    memcpy(other, state, sizeof other);
    memcpy(other, "SSMN", 4); /* with too many datasets */
    memset(other + 8, 0xff, 8);
    CHECK(statesampler_mix_state_in(other, &size) == other);
    CHECK(size == MIX_BYTES);
    for (size = 0; size < 24; size++) {
        size_t same = size;
        CHECK(statesampler_mix_state_in(other, &same) == other && same == size);
    }
    for (size = 24; size < MIX_BYTES; size += 8) { /* all that fit, and more */
        size_t inside = size;
        memset(other + 8, 0, 8);
        other[8] = (unsigned char)((size - 24) / 8);
        CHECK(statesampler_mix_state_in(other, &inside) ==
              other + 16 + (size - 24));
        CHECK(inside == 0);
        inside = size;
        other[8]++;
        CHECK(statesampler_mix_state_in(other, &inside) == other);
        CHECK(inside == size);
    }
}

/* A mix made of what the state says goes on as the one that saved it would
   without drop_last. */
static void check_mix_revival(const party *p, const unsigned char *state)
{
    static party own, revived;
    unsigned char a[MIX_BYTES], b[MIX_BYTES];
    uint64_t x[MODEL_BATCH], y[MODEL_BATCH];
    uint32_t i, j = SOURCES, turn;
    size_t count, other;
    statesampler_mix_place place;
    own = *p;
    for (i = 0; i < SOURCES; i++)
        own.desc[i].drop_last = 0;
    CHECK(start(&own) == STATESAMPLER_OK);
    CHECK(statesampler_mix_load(&own.mix, state, MIX_BYTES) == STATESAMPLER_OK);
    for (i = 0; i < SOURCES; i++) {
        CHECK(statesampler_mix_describe(state, MIX_BYTES, i, &revived.desc[i],
                                        &place) == STATESAMPLER_OK);
        revived.weight[i] = place.weight;
    }
    revived.stop = place.stop;
    CHECK(start(&revived) == STATESAMPLER_OK);
    CHECK(statesampler_mix_load(&revived.mix, state, MIX_BYTES) ==
          STATESAMPLER_OK);
    for (turn = 0; turn < 40; turn++) {
        int more = statesampler_mix_next(&own.mix, x, &count, &i);
        CHECK(statesampler_mix_next(&revived.mix, y, &other, &j) == more);
        CHECK(other == count && (!more || i == j));
        CHECK(model_same(x, y, count));
        must_mix_save(&own.mix, a);
        must_mix_save(&revived.mix, b);
        CHECK(memcmp(a, b, MIX_BYTES) == 0);
    }
}

static void test_mixes(int cases)
{
    static party p;
    int i, round;
    for (i = 0; i < cases; i++) {
        unsigned char state[MIX_BYTES];
        uint64_t turns;
        uint32_t k, source;
        size_t count;
        invent(&p);
        if (start(&p) != STATESAMPLER_OK)
            continue; /* nothing that never ends */
        for (round = 0; round < 3; round++) {
            statesampler_desc shape;
            for (turns = check_random(30); turns > 0; turns--)
                statesampler_mix_next(&p.mix, NULL, &count, &source);
            CHECK(must_mix_save(&p.mix, state) == MIX_BYTES);
            check_mix_state(&p, state);
            check_mix_parts(&p, state);
            check_mix_inside(state);
            check_mix_revival(&p, state);
            shape = model_random_desc(1, 4, 4);
            for (k = 0; k < SOURCES; k++) {
                p.desc[k].world_size = shape.world_size;
                p.desc[k].batch_size = shape.batch_size;
            }
            if (start(&p) != STATESAMPLER_OK)
                break;
            CHECK(statesampler_mix_load(&p.mix, state, MIX_BYTES) ==
                  STATESAMPLER_OK);
        }
    }
}

int main(int argc, char **argv)
{
    int reduced = check_reduced(argc, argv);
    test_samplers(reduced ? 300 : 8000);
    test_mixes(reduced ? 100 : 1200);
    return check_done("test_describe");
}

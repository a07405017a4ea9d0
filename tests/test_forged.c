/* test_forged.c - is a state that nobody has saved, but whose check word is
   right, either refused with nothing changed, or one that a run could have
   saved? */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "check.h"
#include "must.h"
#include "forge.h"
#include "model.h"

#define BYTES STATESAMPLER_STATE_BYTES
#define SMALL 300 /* epochs up to so long are served to their end */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct field {
    size_t at;
    unsigned size;
} field;

/* A value for a field: near the one that it has, small, or at an edge. */
static void forge(unsigned char *part, field f)
{
    static const uint64_t edges[] = {
        0, 1, 0x7fffffff, 0x80000000u, 0xffffffffu, (uint64_t)1 << 32,
        (uint64_t)1 << 59, (uint64_t)1 << 61, ((uint64_t)1 << 62) - 1,
        (uint64_t)1 << 62, ((uint64_t)1 << 62) + 1, (uint64_t)3 << 61,
        (uint64_t)1 << 63, UINT64_MAX
    };
    uint64_t value = forge_get(part, f.at, f.size);
    switch (check_random(4)) {
    case 0: value += check_random(7) - 3; break;
    case 1: value = check_random(60); break;
    case 2:
        value = edges[check_random(COUNT(edges))];
        value += check_random(5) - 2;
        break;
    default: value += check_random(400) - 200;
    }
    forge_put(part, f.at, f.size, value);
}

/* What load says of a state that it refuses. */
static void check_refusal(int code)
{
    int kind = STATESAMPLER_KIND(code);
    CHECK(kind == STATESAMPLER_ECORRUPT || kind == STATESAMPLER_EMISMATCH ||
          kind == STATESAMPLER_EVERSION);
}

/* --- Samplers ------------------------------------------------------------- */

static const field sampler_fields[] = {
    {FORGE_NUM_SAMPLES},   {FORGE_SEED},       {FORGE_STREAM},
    {FORGE_CHUNK_SIZE},    {FORGE_WINDOW},     {FORGE_ORDER},
    {FORGE_PARTITION},     {FORGE_TAIL},       {FORGE_ZERO},
    {FORGE_BLOCKS},        {FORGE_WORLD_SIZE}, {FORGE_BATCH_SIZE},
    {FORGE_EPOCH},         {FORGE_POSITION},   {FORGE_BASE_EPOCH},
    {FORGE_BASE_POSITION}, {FORGE_BASE_STEP}
};

/* Any run of up to so many samples. */
static statesampler_desc any_run(uint64_t most)
{
    statesampler_desc d;
    do {
        d = model_random_desc(most, 5, 4);
        model_set_order(&d, (int)check_random(MODEL_ORDERS));
        d.partition = (uint32_t)check_random(2);
        d.tail = (uint32_t)check_random(4);
        d.drop_last = check_random(4) == 0;
        d.epoch = check_random(3);
    } while (!model_makes_sense(&d));
    return d;
}

/* Saved in the middle of one, after up to two changes of shape. */
static void honest_state(unsigned char *state)
{
    statesampler_desc d = any_run(60);
    statesampler s;
    uint64_t steps;
    int shapes = (int)check_random(3);
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    for (;;) {
        for (steps = check_random(9); steps > 0; steps--)
            statesampler_next(&s, NULL, NULL);
        must_save(&s, state);
        if (shapes-- == 0)
            return;
        d.world_size = 1 + (uint32_t)check_random(5);
        d.batch_size = 1 + (uint32_t)check_random(4);
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
        CHECK(statesampler_load(&s, state, BYTES) == STATESAMPLER_OK);
    }
}

/* The rest of the present epoch, on all ranks: as many steps as are counted,
   no sample twice, and what padding there is at the end. */
static void check_rest_of_epoch(const statesampler_desc *d,
                                const unsigned char *state)
{
    static unsigned char seen[SMALL];
    static uint64_t out[MODEL_BATCH];
    uint32_t rank;
    uint64_t total = 0, left = 0;
    int carry = d->tail == STATESAMPLER_TAIL_CARRY;
    memset(seen, 0, sizeof seen);
    for (rank = 0; rank < d->world_size; rank++) {
        statesampler s;
        statesampler_desc mine = *d;
        uint64_t steps, padding, epoch;
        size_t count, i;
        mine.rank = rank;
        CHECK(statesampler_init(&s, &mine) == STATESAMPLER_OK);
        CHECK(statesampler_load(&s, state, BYTES) == STATESAMPLER_OK);
        epoch = statesampler_epoch(&s);
        steps = statesampler_num_steps(&s) - statesampler_step(&s);
        left = d->num_samples - statesampler_position(&s);
        if (carry)
            steps = (left + (uint64_t)d->world_size * d->batch_size - 1) /
                    ((uint64_t)d->world_size * d->batch_size);
        for (; steps > 0; steps--) {
            uint64_t at = statesampler_position(&s) + rank;
            if (carry)
                at += (statesampler_epoch(&s) - epoch) * d->num_samples;
            padding = statesampler_padding(&s, statesampler_step(&s));
            count = must_next(&s, out);
            CHECK(count <= d->batch_size && padding <= count);
            for (i = 0; i < count; i++, at += d->world_size) {
                CHECK(out[i] < d->num_samples);
                if (carry ? at >= d->num_samples : i >= count - padding)
                    continue; /* of the next epoch, or a repeat */
                total++;
                CHECK(d->order == STATESAMPLER_ORDER_REPLACEMENT ||
                      !seen[out[i]]);
                seen[out[i]] = 1;
            }
        }
        if (!carry)
            must_end(&s);
        CHECK(statesampler_epoch(&s) - epoch >= (carry ? left > 0 : 1));
    }
    CHECK(total <= d->num_samples);
    CHECK(!carry || total == left);
}

/* Steps from here on, as far as there is time: at and next agree. */
static void check_coming_steps(const statesampler_desc *d,
                               const statesampler *given)
{
    static uint64_t a[MODEL_BATCH], b[MODEL_BATCH];
    statesampler s = *given, other = *given;
    size_t count, served;
    int k, more;
    if (statesampler_step(&s) >= (uint64_t)1 << 63) {
        /* A run with CARRY gets there by next alone. */
        CHECK(d->tail == STATESAMPLER_TAIL_CARRY);
        CHECK(must_miss(&s, statesampler_step(&s)) == STATESAMPLER_ERANGE_FAR);
        CHECK(must_next(&s, a) == d->batch_size);
        return;
    }
    CHECK(statesampler_seek(&other, statesampler_step(&s)) ==
          STATESAMPLER_OK);
    CHECK(model_same_state(&s, &other));
    for (k = 0; k < 4; k++) {
        uint64_t step = statesampler_step(&s);
        more = statesampler_at(given, step, a, &count);
        if (more < 0) {
            /* CARRY, where the base has moved. */
            CHECK(more == STATESAMPLER_ERANGE_FAR);
            return;
        }
        CHECK(more == (step < statesampler_num_steps(given)));
        CHECK(statesampler_next(&s, b, &served) == more);
        CHECK(served == count && model_same(a, b, count));
        if (!more)
            return;
        CHECK(statesampler_step(&s) == step + 1);
    }
}

/* A state that load takes: it is as good as any. */
static void check_taken(const statesampler_desc *d,
                        const statesampler_place *place,
                        const unsigned char *state)
{
    statesampler s;
    statesampler_counts counts;
    unsigned char again[BYTES];
    uint64_t steps;
    CHECK(statesampler_init(&s, d) == STATESAMPLER_OK);
    CHECK(statesampler_load(&s, state, BYTES) == STATESAMPLER_OK);
    CHECK(statesampler_epoch(&s) == forge_get(state, FORGE_EPOCH));
    CHECK(statesampler_position(&s) == place->position);
    CHECK(place->position == forge_get(state, FORGE_POSITION));
    if (d->tail == STATESAMPLER_TAIL_CARRY || place->position > 0)
        CHECK(statesampler_step(&s) == place->step);
    steps = statesampler_num_steps(&s);
    statesampler_get_counts(&s, &counts);
    CHECK(statesampler_step(&s) <= steps && counts.steps == steps);
    CHECK(statesampler_position(&s) <= counts.positions);
    CHECK(counts.padded < (uint64_t)1 << 33);
    CHECK(counts.positions - counts.padded + counts.dropped ==
          d->num_samples);
    must_save(&s, again);
    if (d->world_size == forge_get(state, FORGE_WORLD_SIZE) &&
        d->batch_size == forge_get(state, FORGE_BATCH_SIZE) &&
        !d->drop_last)
        CHECK(memcmp(state, again, BYTES) == 0);
    if (d->batch_size < MODEL_BATCH)
        check_coming_steps(d, &s);
    /* An epoch that very many ranks began may have as much padding. */
    if (d->batch_size < MODEL_BATCH && d->num_samples < SMALL &&
        d->world_size < 9 && counts.positions < 2 * SMALL)
        check_rest_of_epoch(d, state);
    /* What it saves in turn is taken, too. */
    CHECK(statesampler_load(&s, again, BYTES) == STATESAMPLER_OK);
    CHECK(statesampler_position(&s) == place->position);
}

static void test_samplers(int cases)
{
    int i, taken = 0;
    for (i = 0; i < cases; i++) {
        unsigned char state[BYTES];
        statesampler s, before;
        statesampler_desc found, elsewhere = any_run(60);
        statesampler_place place;
        int code, fields = i % 8 == 0 ? 3 : 1;
        honest_state(state);
        while (fields-- > 0)
            forge(state, sampler_fields[check_random(COUNT(sampler_fields))]);
        forge_seal(state, BYTES);
        memset(&s, 0, sizeof s);
        CHECK(statesampler_init(&s, &elsewhere) == STATESAMPLER_OK);
        memcpy(&before, &s, sizeof s);
        code = statesampler_load(&s, state, BYTES);
        if (code != STATESAMPLER_OK) {
            check_refusal(code);
            CHECK(memcmp(&s, &before, sizeof s) == 0);
        }
        /* Whoever is of the same run must refuse what describe does. */
        code = statesampler_describe(state, BYTES, &found, &place);
        if (code != STATESAMPLER_OK) {
            check_refusal(code);
            continue;
        }
        taken++;
        model_watch(&found, NULL);
        check_taken(&found, &place, state);
        found.world_size = 1 + (uint32_t)check_random(5);
        found.batch_size = 1 + (uint32_t)check_random(4);
        if (found.tail != STATESAMPLER_TAIL_CARRY)
            found.drop_last = (uint32_t)check_random(2);
        check_taken(&found, &place, state);
    }
    model_finish();
    CHECK(taken > cases / 20 && taken < cases / 4 * 3);
}

/* --- Mixes ---------------------------------------------------------------- */

#define SOURCES 3
#define MIX_BYTES FORGE_MIX_BYTES(SOURCES)

static const field mix_fields[] = {
    {FORGE_MIX_STOP},      {FORGE_MIX_EPOCH},     {FORGE_MIX_TURN},
    {FORGE_MIX_BASE_TURN}, {FORGE_MIX_BASE_POINT}
};

static const field source_fields[] = {
    {FORGE_SOURCE_WEIGHT}, {FORGE_SOURCE_FLAGS}, {FORGE_SOURCE_ZEROS},
    {FORGE_NUM_SAMPLES},   {FORGE_SEED},         {FORGE_CHUNK_SIZE},
    {FORGE_WINDOW},        {FORGE_ORDER},        {FORGE_PARTITION},
    {FORGE_TAIL},          {FORGE_ZERO},         {FORGE_BLOCKS},
    {FORGE_SOURCE_EPOCH},  {FORGE_SOURCE_POSITION},
    {FORGE_SOURCE_STEP}
};

/* A mix, with its sources and what they are made of. */
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
    memset(p->source, 0, sizeof p->source);
    for (i = 0; i < SOURCES; i++) {
        CHECK(statesampler_init(&p->source[i].sampler, &p->desc[i]) ==
              STATESAMPLER_OK);
        p->source[i].weight = p->weight[i];
    }
    return statesampler_mix_init(&p->mix, p->source, SOURCES, p->stop);
}

/* In any small shape. One call of check_random after the other, because the
   order of arguments is the compiler's. */
static void any_shape(party *p)
{
    uint32_t i, world = 1 + (uint32_t)check_random(4);
    uint32_t batch = 1 + (uint32_t)check_random(4);
    for (i = 0; i < SOURCES; i++) {
        p->desc[i].world_size = world;
        p->desc[i].batch_size = batch;
        p->desc[i].rank = 0;
    }
}

static void any_mix(party *p)
{
    uint32_t i;
    p->stop = (uint32_t)check_random(4);
    for (i = 0; i < SOURCES; i++) {
        p->desc[i] = any_run(40);
        if (p->stop != STATESAMPLER_STOP_NEVER)
            p->desc[i].tail %= STATESAMPLER_TAIL_CARRY;
        p->weight[i] = 1 + (uint32_t)check_random(4);
    }
    any_shape(p);
}

/* Saved in the middle of one, after up to two changes of shape. */
static void honest_mix_state(unsigned char *state)
{
    static party p;
    int shapes = (int)check_random(3);
    do
        any_mix(&p);
    while (start(&p) != STATESAMPLER_OK);
    for (;;) {
        uint64_t turns;
        uint32_t source;
        size_t count;
        for (turns = check_random(40); turns > 0; turns--)
            statesampler_mix_next(&p.mix, NULL, &count, &source);
        must_mix_save(&p.mix, state);
        any_shape(&p);
        if (shapes-- == 0 || start(&p) != STATESAMPLER_OK)
            return;
        CHECK(statesampler_mix_load(&p.mix, state, MIX_BYTES) ==
              STATESAMPLER_OK);
    }
}

/* Makes the mix that a state says it is of; whether it says so. */
static int described_mix(party *p, const unsigned char *state)
{
    uint32_t i;
    for (i = 0; i < SOURCES; i++) {
        statesampler_mix_place place;
        int code = statesampler_mix_describe(state, MIX_BYTES, i, &p->desc[i],
                                             &place);
        if (code != STATESAMPLER_OK) {
            check_refusal(code);
            return 0;
        }
        p->weight[i] = place.weight;
        p->stop = place.stop;
        if (place.weight == 0)
            return 0; /* which a description may say, and a state does not */
    }
    return start(p) == STATESAMPLER_OK;
}

/* Refused: all bytes are as they were. */
static int load_or_refuse(party *p, const unsigned char *state)
{
    static party before;
    int code;
    before = *p;
    code = statesampler_mix_load(&p->mix, state, MIX_BYTES);
    if (code == STATESAMPLER_OK)
        return 1;
    check_refusal(code);
    CHECK(memcmp(&p->mix, &before.mix, sizeof p->mix) == 0);
    CHECK(memcmp(p->source, before.source, sizeof p->source) == 0);
    return 0;
}

/* Turns to come: at, next and seek agree, and where the epoch's end is near
   it comes when it is said to. A source serves no sample twice in an epoch of
   its own. */
static void check_coming_turns(party *p)
{
    static party other;
    static unsigned char seen[SOURCES][SMALL];
    uint64_t epoch[SOURCES], a[MODEL_BATCH], b[MODEL_BATCH], t;
    uint64_t turn = statesampler_mix_turn(&p->mix);
    uint64_t end = statesampler_mix_num_turns(&p->mix);
    uint64_t most = end - turn < 250 ? end - turn : 20;
    uint32_t i, j, k;
    size_t count, served, n;
    int more;
    other = *p;
    other.mix.sources = other.source;
    CHECK(turn <= end);
    memset(seen, 0, sizeof seen);
    for (i = 0; i < SOURCES; i++)
        epoch[i] = statesampler_epoch(&p->source[i].sampler);
    for (t = turn; t < turn + most; t++) {
        uint64_t padding;
        more = statesampler_mix_at(&other.mix, t, a, &count, &i);
        if (more < 0) {
            /* Past 2^62 turns, or where the base of one with CARRY moves. */
            CHECK(more == STATESAMPLER_ERANGE_FAR);
            CHECK(statesampler_mix_seek(&other.mix, t) == more);
            return;
        }
        CHECK(more == 1);
        CHECK(statesampler_mix_seek(&other.mix, t) == STATESAMPLER_OK);
        CHECK(statesampler_mix_next(&p->mix, b, &served, &j) == 1);
        CHECK(i == j && served == count && model_same(a, b, count));
        if (p->desc[i].num_samples >= SMALL ||
            p->desc[i].tail == STATESAMPLER_TAIL_CARRY ||
            p->desc[i].order == STATESAMPLER_ORDER_REPLACEMENT)
            continue;
        if (statesampler_epoch(&p->source[i].sampler) != epoch[i]) {
            epoch[i] = statesampler_epoch(&p->source[i].sampler);
            memset(seen[i], 0, SMALL);
        }
        padding =
            statesampler_padding(&p->source[i].sampler,
                                 statesampler_step(&p->source[i].sampler) - 1);
        CHECK(padding <= count);
        for (n = 0; n < count - padding; n++) {
            CHECK(b[n] < p->desc[i].num_samples);
            CHECK(!seen[i][b[n]]);
            seen[i][b[n]] = 1;
        }
    }
    if (turn + most != end)
        return;
    CHECK(statesampler_mix_at(&other.mix, end, a, &count, &k) == 0);
    CHECK(statesampler_mix_next(&p->mix, b, &count, &k) == 0);
}

static void check_taken_mix(party *p, const unsigned char *state, int same)
{
    static party other;
    unsigned char again[MIX_BYTES];
    uint64_t turn = forge_get(state, FORGE_MIX_TURN);
    CHECK(statesampler_mix_turn(&p->mix) == turn);
    CHECK(statesampler_mix_epoch(&p->mix) ==
          forge_get(state, FORGE_MIX_EPOCH));
    must_mix_save(&p->mix, again);
    CHECK(!same || memcmp(state, again, MIX_BYTES) == 0);
    other = *p;
    CHECK(start(&other) == STATESAMPLER_OK);
    CHECK(statesampler_mix_load(&other.mix, again, MIX_BYTES) ==
          STATESAMPLER_OK);
    CHECK(statesampler_mix_turn(&other.mix) == turn);
    if (same && turn <= (uint64_t)1 << 62) {
        /* Back to the base and here again. */
        CHECK(statesampler_mix_seek(
                  &other.mix, forge_get(state, FORGE_MIX_BASE_TURN)) ==
              STATESAMPLER_OK);
        CHECK(statesampler_mix_seek(&other.mix, turn) == STATESAMPLER_OK);
        must_mix_save(&other.mix, again);
        CHECK(memcmp(state, again, MIX_BYTES) == 0);
    }
    check_coming_turns(p);
}

static void forge_source(unsigned char *state)
{
    unsigned char *part = state + FORGE_SOURCE(check_random(SOURCES));
    forge(part, source_fields[check_random(COUNT(source_fields))]);
}

static void test_mixes(int cases)
{
    static party p;
    int i, taken = 0;
    for (i = 0; i < cases; i++) {
        unsigned char state[MIX_BYTES];
        int fields = i % 8 == 0 ? 3 : 1;
        honest_mix_state(state);
        while (fields-- > 0)
            if (check_random(2) == 0)
                forge(state, mix_fields[check_random(COUNT(mix_fields))]);
            else
                forge_source(state);
        forge_seal(state, MIX_BYTES);
        do
            any_mix(&p);
        while (start(&p) != STATESAMPLER_OK);
        load_or_refuse(&p, state);
        if (!described_mix(&p, state) || !load_or_refuse(&p, state))
            continue;
        taken++;
        check_taken_mix(&p, state, 1);
        any_shape(&p);
        if (start(&p) != STATESAMPLER_OK || !load_or_refuse(&p, state))
            continue;
        check_taken_mix(&p, state, 0);
    }
    CHECK(taken > cases / 20 && taken < cases / 4 * 3);
}

/* --- By name -------------------------------------------------------------- */

/* A mix of these samplers that has taken some turns, saved. */
static void save_mix(party *p, unsigned char *state, uint64_t turns)
{
    CHECK(start(p) == STATESAMPLER_OK);
    CHECK(statesampler_mix_seek(&p->mix, turns) == STATESAMPLER_OK);
    must_mix_save(&p->mix, state);
}

static void check_refused(party *p, unsigned char *state, int code)
{
    static party before;
    forge_seal(state, MIX_BYTES);
    before = *p;
    CHECK(statesampler_mix_load(&p->mix, state, MIX_BYTES) == code);
    CHECK(memcmp(&p->mix, &before.mix, sizeof p->mix) == 0);
    CHECK(memcmp(p->source, before.source, sizeof p->source) == 0);
}

static void plain_mix(party *p, uint32_t stop, uint64_t n, uint32_t batch)
{
    uint32_t i;
    memset(p, 0, sizeof *p);
    p->stop = stop;
    for (i = 0; i < SOURCES; i++)
        p->desc[i] = model_desc(n + i, 1, batch);
}

/* Turn 1,000,000 of 125, and the first that there is not. */
static void test_turn_past_end(void)
{
    static party p;
    unsigned char state[MIX_BYTES];
    uint32_t stop;
    for (stop = 0; stop < 3; stop++) {
        uint64_t end;
        plain_mix(&p, stop, 41, 1);
        save_mix(&p, state, 10);
        end = statesampler_mix_num_turns(&p.mix);
        CHECK(end == (stop == STATESAMPLER_STOP_FIRST ? 123
                      : stop == STATESAMPLER_STOP_ALL ? 126
                                                      : 131));
        forge_put(state, FORGE_MIX_TURN, 1000000);
        check_refused(&p, state, STATESAMPLER_ECORRUPT_TURN);
        forge_put(state, FORGE_MIX_TURN, end + 1);
        check_refused(&p, state, STATESAMPLER_ECORRUPT_TURN);
        forge_put(state, FORGE_MIX_TURN, end);
        forge_seal(state, MIX_BYTES);
        CHECK(load_or_refuse(&p, state));
        CHECK(statesampler_mix_turn(&p.mix) == end);
        /* One that leaves out steps which the state's mix serves. */
        p.desc[1].drop_last = 1;
        CHECK(start(&p) == STATESAMPLER_OK);
        forge_put(state, FORGE_MIX_TURN, end + 1);
        check_refused(&p, state, STATESAMPLER_ECORRUPT_TURN);
        /* And one of another shape. */
        plain_mix(&p, stop, 41, 2);
        CHECK(start(&p) == STATESAMPLER_OK);
        check_refused(&p, state, STATESAMPLER_ECORRUPT_TURN);
    }
}

/* A mix without end is saved up to turn 3 * 2^61, where no run comes. */
static void test_turn_past_all(void)
{
    static party p;
    unsigned char state[MIX_BYTES];
    plain_mix(&p, STATESAMPLER_STOP_NEVER, 41, 1);
    save_mix(&p, state, 10);
    forge_put(state, FORGE_MIX_TURN, ((uint64_t)3 << 61) + 1);
    check_refused(&p, state, STATESAMPLER_ECORRUPT_TURN);
    forge_put(state, FORGE_MIX_TURN, (uint64_t)3 << 61);
    forge_seal(state, MIX_BYTES);
    CHECK(load_or_refuse(&p, state));
    CHECK(statesampler_mix_turn(&p.mix) == (uint64_t)3 << 61);
}

/* With CARRY and a global batch of 8, 2^62 positions are 2^59 steps: the base
   has moved before the turn 2^59 + 5 of a mix that has only such a source. */
static void test_carry_past_reach(void)
{
    static party p;
    unsigned char state[MIX_BYTES];
    uint64_t turn;
    plain_mix(&p, STATESAMPLER_STOP_NEVER, 1000, 8);
    p.desc[0].tail = STATESAMPLER_TAIL_CARRY;
    p.desc[1].num_samples = p.desc[2].num_samples = 0;
    save_mix(&p, state, 10);
    for (turn = ((uint64_t)1 << 59) + 1; turn < ((uint64_t)1 << 59) + 9;
         turn++) {
        forge_put(state, FORGE_MIX_TURN, turn);
        check_refused(&p, state, STATESAMPLER_ECORRUPT_TURN);
    }
    forge_put(state, FORGE_MIX_TURN, ((uint64_t)1 << 59) - 1);
    forge_seal(state, MIX_BYTES);
    CHECK(load_or_refuse(&p, state));
    CHECK(statesampler_step(&p.source[0].sampler) ==
          ((uint64_t)1 << 59) - 1);
    forge_put(state, FORGE_MIX_TURN, (uint64_t)1 << 59);
    forge_seal(state, MIX_BYTES);
    CHECK(load_or_refuse(&p, state));
    CHECK(statesampler_mix_turn(&p.mix) == (uint64_t)1 << 59);
    /* And it has no last step to leave out. */
    save_mix(&p, state, 10);
    forge_put(state + FORGE_SOURCE(0), FORGE_SOURCE_FLAGS, 2);
    check_refused(&p, state, STATESAMPLER_ECORRUPT_DESC);
}

/* ALL ends before point 2^62 of the sequence. From a base far past it a light
   source's last turns come where points end, and are no longer told apart;
   with short sources, what is saved next is past what load takes. */
static void test_base_past_sequence(void)
{
    static const uint64_t points[] = {
        ((uint64_t)3 << 61) - 3, (uint64_t)3 << 61, ((uint64_t)3 << 61) + 3,
        (uint64_t)1 << 63, UINT64_MAX
    };
    static party p;
    unsigned char state[MIX_BYTES];
    size_t i;
    int lengthy;
    for (lengthy = 0; lengthy < 2; lengthy++) {
        plain_mix(&p, STATESAMPLER_STOP_ALL, 41, 1);
        if (lengthy) { /* and heavy: nearly as much as mix_init takes */
            p.desc[0].num_samples = 4000000000u;
            p.weight[2] = 1u << 30;
        }
        save_mix(&p, state, 10);
        forge_put(state, FORGE_MIX_BASE_TURN, 10);
        for (i = 0; i < COUNT(points); i++) {
            forge_put(state, FORGE_MIX_BASE_POINT, points[i]);
            check_refused(&p, state, STATESAMPLER_ECORRUPT_POINT);
        }
    }
    forge_put(state, FORGE_MIX_BASE_POINT, (uint64_t)5 << 60);
    check_refused(&p, state, STATESAMPLER_ECORRUPT_POINT);
}

/* With ALL the sequence is ahead of the turns where some were passed over, but
   not at the epoch's start. */
static void test_point_ahead(void)
{
    static party p;
    unsigned char state[MIX_BYTES];
    plain_mix(&p, STATESAMPLER_STOP_ALL, 41, 1);
    save_mix(&p, state, 0);
    forge_put(state, FORGE_MIX_BASE_POINT, 1);
    check_refused(&p, state, STATESAMPLER_ECORRUPT_POINT);
    forge_put(state, FORGE_MIX_TURN, 1);
    forge_put(state, FORGE_MIX_BASE_TURN, 1);
    forge_put(state, FORGE_MIX_BASE_POINT, 2);
    forge_seal(state, MIX_BYTES);
    CHECK(load_or_refuse(&p, state));
}

/* So many sources that their 88 bytes each, counted in 32 bits, come round to
   this state's size. */
static void test_count_that_wraps(void)
{
    static party p;
    unsigned char state[FORGE_MIX_BYTES(9)];
    uint32_t i;
    plain_mix(&p, STATESAMPLER_STOP_FIRST, 41, 1);
    CHECK(start(&p) == STATESAMPLER_OK);
    for (i = 1; i < 88; i++) {
        /* The first count whose bytes pass i * 2^32. */
        uint64_t count = (((uint64_t)i << 32) + 87) / 88;
        size_t size = (size_t)((56 + 88 * count) & 0xffffffffu);
        static party before;
        statesampler_mix_place place;
        memset(state, 0, sizeof state);
        CHECK(size <= sizeof state && size % 8 == 0);
        memcpy(state, "SSMX", 4);
        forge_put(state, FORGE_VERSION, 1);
        forge_put(state, FORGE_ALGORITHM, STATESAMPLER_ALGORITHM);
        forge_put(state, FORGE_MIX_SOURCES, count);
        forge_seal(state, size);
        before = p;
        CHECK(statesampler_mix_load(&p.mix, state, size) ==
              STATESAMPLER_ECORRUPT_SIZE);
        CHECK(memcmp(p.source, before.source, sizeof p.source) == 0);
        CHECK(statesampler_mix_describe(state, size, (uint32_t)count - 1,
                                        NULL, &place) ==
              STATESAMPLER_ECORRUPT_SIZE);
    }
}

int main(int argc, char **argv)
{
    int reduced = check_reduced(argc, argv);
    test_turn_past_end();
    test_turn_past_all();
    test_carry_past_reach();
    test_base_past_sequence();
    test_point_ahead();
    test_count_that_wraps();
    test_samplers(reduced ? 3000 : 120000);
    test_mixes(reduced ? 3000 : 80000);
    return check_done("test_forged");
}

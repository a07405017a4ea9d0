/* forged.h - states that nobody has saved, but whose check word is right: made
   from honest ones, and what must hold of those that load takes. A run need
   not be able to get there, but from there on `next` serves what `at` says,
   every call returns, and what is saved can be loaded, in any shape.

   What is chosen, check_random chooses: in the tests at random, in the fuzzers
   by the bytes of the input. Where those have ended it chooses 0 for ever, so
   that every loop here must end on zeros.

   Needs statesampler.h, check.h, must.h, forge.h and model.h before it. */
#ifndef STATESAMPLER_TESTS_FORGED_H
#define STATESAMPLER_TESTS_FORGED_H

#define FORGED_SMALL 300 /* epochs up to so long are served to their end */
#define FORGED_BYTES STATESAMPLER_STATE_BYTES
#define FORGED_COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct forged_field {
    size_t at;
    unsigned size;
} forged_field;

/* A value: near this one, small, or at an edge. */
static inline uint64_t forged_value(uint64_t value)
{
    static const uint64_t edges[] = {
        0,
        1,
        0x7fffffff,
        0x80000000u,
        0xffffffffu,
        (uint64_t)1 << 32,
        (uint64_t)1 << 59,
        (uint64_t)1 << 61,
        ((uint64_t)1 << 62) - 1,
        (uint64_t)1 << 62,
        ((uint64_t)1 << 62) + 1,
        (uint64_t)3 << 61,
        (uint64_t)1 << 63,
        UINT64_MAX,
    };
    switch (check_random(4)) {
    case 0:
        return value + check_random(7) - 3;
    case 1:
        return check_random(60);
    case 2:
        value = edges[check_random(FORGED_COUNT(edges))];
        return value + check_random(5) - 2;
    default:
        return value + check_random(400) - 200;
    }
}

/* Gives one of these fields another value. */
static inline void forged_change(unsigned char *part,
                                 const forged_field *fields, size_t count)
{
    forged_field f = fields[check_random(count)];
    forge_put(part, f.at, f.size, forged_value(forge_get(part, f.at, f.size)));
}

/* What load says of a state that it refuses. */
static inline void forged_check_refusal(int code)
{
    int kind = STATESAMPLER_KIND(code);
    CHECK(kind == STATESAMPLER_ECORRUPT || kind == STATESAMPLER_EMISMATCH ||
          kind == STATESAMPLER_EVERSION);
}

/* --- Samplers ------------------------------------------------------------- */

static const forged_field forged_sampler_fields[] = {
    {FORGE_NUM_SAMPLES},   {FORGE_SEED},       {FORGE_STREAM},
    {FORGE_CHUNK_SIZE},    {FORGE_WINDOW},     {FORGE_ORDER},
    {FORGE_PARTITION},     {FORGE_TAIL},       {FORGE_ZERO},
    {FORGE_BLOCKS},        {FORGE_WORLD_SIZE}, {FORGE_BATCH_SIZE},
    {FORGE_EPOCH},         {FORGE_POSITION},   {FORGE_BASE_EPOCH},
    {FORGE_BASE_POSITION}, {FORGE_BASE_STEP},
};

/* Any run of up to so many samples. (Zeros make sense: PAD.) */
static inline statesampler_desc forged_any_run(uint64_t most)
{
    statesampler_desc d;
    do {
        d = model_random_desc(most, 5, 4);
        model_set_order(&d, (int)check_random(MODEL_ORDERS));
        d.partition = (uint32_t)check_random(2);
        d.tail = (uint32_t)check_random(TAILS);
        d.drop_last = check_random(4) == 0;
        d.epoch = check_random(3);
    } while (!model_makes_sense(&d));
    return d;
}

/* Saved in the middle of one, after up to two changes of shape. */
static inline void forged_honest(unsigned char *state)
{
    statesampler_desc d = forged_any_run(60);
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
        CHECK(statesampler_load(&s, state, FORGED_BYTES) == STATESAMPLER_OK);
    }
}

/* The rest of the present epoch, on all ranks: as many steps as are counted,
   no sample twice, and what padding there is at the end. */
static inline void forged_check_epoch(const statesampler_desc *d,
                                      const unsigned char *state)
{
    static unsigned char seen[FORGED_SMALL];
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
        CHECK(statesampler_load(&s, state, FORGED_BYTES) == STATESAMPLER_OK);
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
static inline void forged_check_steps(const statesampler_desc *d,
                                      const statesampler *given)
{
    static uint64_t a[MODEL_BATCH], b[MODEL_BATCH];
    statesampler s = *given, other = *given;
    size_t count, served;
    int k, more;
    if (d->tail == STATESAMPLER_TAIL_CARRY &&
        statesampler_step(&s) >= (uint64_t)1 << 63) {
        /* A run gets there by next alone. */
        CHECK(must_miss(&s, statesampler_step(&s)) == STATESAMPLER_ERANGE_FAR);
        CHECK(must_next(&s, a) == d->batch_size);
        return;
    }
    CHECK(statesampler_seek(&other, statesampler_step(&s)) == STATESAMPLER_OK);
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

/* A state that load takes in a run of the description that it holds. */
static inline void forged_check_taken(const statesampler_desc *d,
                                      const statesampler_place *place,
                                      const unsigned char *state)
{
    statesampler s;
    statesampler_counts counts;
    unsigned char again[FORGED_BYTES];
    uint64_t steps;
    CHECK(statesampler_init(&s, d) == STATESAMPLER_OK);
    CHECK(statesampler_load(&s, state, FORGED_BYTES) == STATESAMPLER_OK);
    CHECK(statesampler_epoch(&s) == forge_get(state, FORGE_EPOCH));
    CHECK(statesampler_position(&s) == place->position);
    CHECK(place->position == forge_get(state, FORGE_POSITION));
    if (d->tail == STATESAMPLER_TAIL_CARRY || place->position > 0)
        CHECK(statesampler_step(&s) == place->step);
    steps = statesampler_num_steps(&s);
    statesampler_get_counts(&s, &counts);
    CHECK(statesampler_step(&s) <= steps && counts.steps == steps);
    CHECK(statesampler_position(&s) <= counts.positions);
    CHECK(counts.positions - counts.padded + counts.dropped == d->num_samples);
    must_save(&s, again);
    if (d->world_size == forge_get(state, FORGE_WORLD_SIZE) &&
        d->batch_size == forge_get(state, FORGE_BATCH_SIZE) && !d->drop_last)
        CHECK(memcmp(state, again, FORGED_BYTES) == 0);
    if (d->batch_size < MODEL_BATCH)
        forged_check_steps(d, &s);
    /* An epoch that very many ranks began may have as much padding. */
    if (d->batch_size < MODEL_BATCH && d->num_samples < FORGED_SMALL &&
        d->world_size < 9 && counts.positions < 2 * FORGED_SMALL)
        forged_check_epoch(d, state);
    /* What it saves in turn is taken, too. */
    CHECK(statesampler_load(&s, again, FORGED_BYTES) == STATESAMPLER_OK);
    CHECK(statesampler_position(&s) == place->position);
}

/* Saved by nobody, with a right check word. */
static inline void forged_sampler_state(unsigned char *state, int fields)
{
    forged_honest(state);
    while (fields-- > 0)
        forged_change(state, forged_sampler_fields,
                      FORGED_COUNT(forged_sampler_fields));
    forge_seal(state, FORGED_BYTES);
}

/* Any bytes: refused, with nothing changed, or taken; which of the two. */
static inline int forged_check_sampler(const unsigned char *state, size_t size)
{
    statesampler s, before;
    statesampler_desc found, elsewhere = forged_any_run(60);
    statesampler_place place;
    int code;
    memset(&s, 0, sizeof s);
    CHECK(statesampler_init(&s, &elsewhere) == STATESAMPLER_OK);
    memcpy(&before, &s, sizeof s);
    code = statesampler_load(&s, state, size);
    if (code != STATESAMPLER_OK) {
        forged_check_refusal(code);
        CHECK(memcmp(&s, &before, sizeof s) == 0);
    }
    /* Whoever is of the same run must refuse what describe does. */
    code = statesampler_describe(state, size, &found, &place);
    if (code != STATESAMPLER_OK) {
        forged_check_refusal(code);
        return 0;
    }
    CHECK(size == FORGED_BYTES);
    model_watch(&found, NULL);
    forged_check_taken(&found, &place, state);
    found.world_size = 1 + (uint32_t)check_random(5);
    found.batch_size = 1 + (uint32_t)check_random(4);
    if (found.tail != STATESAMPLER_TAIL_CARRY)
        found.drop_last = (uint32_t)check_random(2);
    forged_check_taken(&found, &place, state);
    model_finish();
    return 1;
}

/* Another value for one of the fields that must be the same to load; the code
   that says so, or 0 where nothing has changed. chunk_size and window mean
   something with WINDOW alone. */
static inline int forged_other_run(statesampler_desc *d)
{
    const statesampler_desc was = *d;
    const int windows = d->order == STATESAMPLER_ORDER_WINDOW;
    switch (check_random(8)) {
    case 0:
        d->num_samples = forged_value(was.num_samples);
        return d->num_samples == was.num_samples
                   ? 0
                   : STATESAMPLER_EMISMATCH_NUM_SAMPLES;
    case 1:
        d->seed = forged_value(was.seed);
        return d->seed == was.seed ? 0 : STATESAMPLER_EMISMATCH_SEED;
    case 2:
        d->stream = forged_value(was.stream);
        return d->stream == was.stream ? 0 : STATESAMPLER_EMISMATCH_STREAM;
    case 3:
        d->chunk_size = forged_value(was.chunk_size);
        return !windows || d->chunk_size == was.chunk_size
                   ? 0
                   : STATESAMPLER_EMISMATCH_CHUNK_SIZE;
    case 4:
        d->window = forged_value(was.window);
        return !windows || d->window == was.window
                   ? 0
                   : STATESAMPLER_EMISMATCH_WINDOW;
    case 5:
        d->order = (uint32_t)check_random(ORDERS);
        return d->order == was.order ? 0 : STATESAMPLER_EMISMATCH_ORDER;
    case 6:
        d->partition = (uint32_t)check_random(2);
        return d->partition == was.partition ? 0
                                             : STATESAMPLER_EMISMATCH_PARTITION;
    default:
        d->tail = (uint32_t)check_random(TAILS);
        return d->tail == was.tail ? 0 : STATESAMPLER_EMISMATCH_TAIL;
    }
}

/* --- Mixes ---------------------------------------------------------------- */

#define FORGED_SOURCES 3
#define FORGED_MIX_BYTES FORGE_MIX_BYTES(FORGED_SOURCES)

static const forged_field forged_mix_fields[] = {
    {FORGE_MIX_STOP},
    {FORGE_MIX_EPOCH},
    {FORGE_MIX_TURN},
    {FORGE_MIX_TICK},
};

static const forged_field forged_source_fields[] = {
    {FORGE_SOURCE_WEIGHT},
    {FORGE_SOURCE_FLAGS},
};

/* Gives one of the fields of a mix's state, or of one of its sources, another
   value. */
static inline void forged_change_mix(unsigned char *state, uint32_t sources)
{
    const uint64_t what = check_random(4);
    uint32_t i;
    if (what == 0) {
        forged_change(state, forged_mix_fields,
                      FORGED_COUNT(forged_mix_fields));
        return;
    }
    i = (uint32_t)check_random(sources);
    if (what == 1)
        forged_change(state + FORGE_SOURCE(i), forged_source_fields,
                      FORGED_COUNT(forged_source_fields));
    else
        forged_change(state + FORGE_SAMPLER(i), forged_sampler_fields,
                      FORGED_COUNT(forged_sampler_fields));
}

/* A mix, with its sources and what they are made of. */
typedef struct forged_party {
    uint32_t stop, count;
    statesampler_desc desc[FORGED_SOURCES];
    uint32_t weight[FORGED_SOURCES];
    statesampler_source source[FORGED_SOURCES];
    statesampler_mix mix;
} forged_party;

static inline int forged_start(forged_party *p)
{
    uint32_t i;
    memset(p->source, 0, sizeof p->source);
    for (i = 0; i < p->count; i++) {
        int code = statesampler_init(&p->source[i].sampler, &p->desc[i]);
        if (code != STATESAMPLER_OK)
            return code;
        p->source[i].weight = p->weight[i];
    }
    return statesampler_mix_init(&p->mix, p->source, p->count, p->stop);
}

/* In any small shape. One call of check_random after the other, because the
   order of arguments is the compiler's. */
static inline void forged_any_shape(forged_party *p)
{
    uint32_t i, world = 1 + (uint32_t)check_random(4);
    uint32_t batch = 1 + (uint32_t)check_random(4);
    for (i = 0; i < p->count; i++) {
        p->desc[i].world_size = world;
        p->desc[i].batch_size = batch;
        p->desc[i].rank = 0;
    }
}

static inline void forged_any_mix(forged_party *p)
{
    uint32_t i;
    p->count = FORGED_SOURCES;
    p->stop = (uint32_t)check_random(STOPS);
    for (i = 0; i < p->count; i++) {
        p->desc[i] = forged_any_run(40);
        if (p->stop != STATESAMPLER_STOP_NEVER &&
            p->desc[i].tail == STATESAMPLER_TAIL_CARRY)
            p->desc[i].tail = STATESAMPLER_TAIL_PAD;
        p->weight[i] = 1 + (uint32_t)check_random(4);
    }
    forged_any_shape(p);
}

/* Saved in the middle of one, after up to two changes of shape. */
static inline void forged_honest_mix(unsigned char *state)
{
    static forged_party p;
    int shapes = (int)check_random(3);
    do
        forged_any_mix(&p);
    while (forged_start(&p) != STATESAMPLER_OK);
    for (;;) {
        uint64_t turns;
        uint32_t source;
        size_t count;
        for (turns = check_random(40); turns > 0; turns--)
            statesampler_mix_next(&p.mix, NULL, &count, &source);
        must_mix_save(&p.mix, state);
        forged_any_shape(&p);
        if (shapes-- == 0 || forged_start(&p) != STATESAMPLER_OK)
            return;
        CHECK(statesampler_mix_load(&p.mix, state, FORGED_MIX_BYTES) ==
              STATESAMPLER_OK);
    }
}

/* Makes the mix that a state says it is of; whether it says so. All sources
   have the ranks of the first one, whatever a forged state says. */
static inline int forged_described_mix(forged_party *p,
                                       const unsigned char *state, size_t size)
{
    uint32_t i;
    p->count = 1;
    for (i = 0; i < p->count; i++) {
        statesampler_mix_place place;
        int code =
            statesampler_mix_describe(state, size, i, &p->desc[i], &place);
        if (code != STATESAMPLER_OK) {
            forged_check_refusal(code);
            return 0;
        }
        p->desc[i].world_size = p->desc[0].world_size;
        p->weight[i] = place.weight;
        p->stop = place.stop;
        p->count = place.num_sources;
        CHECK(size == FORGE_MIX_BYTES(p->count));
        if (p->count > FORGED_SOURCES)
            return 0;
    }
    return forged_start(p) == STATESAMPLER_OK;
}

/* Refused: all bytes are as they were. */
static inline int forged_load_mix(forged_party *p, const unsigned char *state,
                                  size_t size)
{
    static forged_party before;
    int code;
    before = *p;
    code = statesampler_mix_load(&p->mix, state, size);
    if (code == STATESAMPLER_OK)
        return 1;
    forged_check_refusal(code);
    CHECK(memcmp(&p->mix, &before.mix, sizeof p->mix) == 0);
    CHECK(memcmp(p->source, before.source, sizeof p->source) == 0);
    return 0;
}

/* Turns to come: at, next and seek agree, and where the epoch's end is near
   it comes when it is said to. A source serves no sample twice in an epoch of
   its own. */
static inline void forged_check_turns(forged_party *p)
{
    static forged_party other;
    static unsigned char seen[FORGED_SOURCES][FORGED_SMALL];
    uint64_t epoch[FORGED_SOURCES], a[MODEL_BATCH], b[MODEL_BATCH], t;
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
    for (i = 0; i < p->count; i++) {
        if (p->desc[i].batch_size > MODEL_BATCH)
            return; /* there is no room for it */
        epoch[i] = statesampler_epoch(&p->source[i].sampler);
    }
    for (t = turn; t < turn + most; t++) {
        uint64_t padding;
        more = statesampler_mix_at(&other.mix, t, a, &count, &i);
        if (more < 0) {
            /* Past 2^62 turns, or where the base of one with CARRY moves. */
            CHECK(more == STATESAMPLER_ERANGE_FAR);
            CHECK(statesampler_mix_seek(&other.mix, t) == more);
            CHECK(statesampler_mix_next(&p->mix, b, &served, &j) == 1);
            return;
        }
        CHECK(more == 1);
        CHECK(statesampler_mix_seek(&other.mix, t) == STATESAMPLER_OK);
        CHECK(statesampler_mix_next(&p->mix, b, &served, &j) == 1);
        CHECK(i == j && served == count && model_same(a, b, count));
        if (p->desc[i].num_samples >= FORGED_SMALL ||
            p->desc[i].tail == STATESAMPLER_TAIL_CARRY ||
            p->desc[i].order == STATESAMPLER_ORDER_REPLACEMENT)
            continue;
        if (statesampler_epoch(&p->source[i].sampler) != epoch[i]) {
            epoch[i] = statesampler_epoch(&p->source[i].sampler);
            memset(seen[i], 0, FORGED_SMALL);
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
    more = statesampler_mix_at(&other.mix, end, a, &count, &k);
    CHECK(more == 0 || (more == STATESAMPLER_ERANGE_FAR && end >> 62 != 0));
    CHECK(statesampler_mix_next(&p->mix, b, &count, &k) == 0);
}

/* Whether a mix has the shape that its state says a source had. */
static inline int forged_same_shape(const forged_party *p,
                                    const unsigned char *sampler, uint32_t i)
{
    return p->desc[i].world_size == forge_get(sampler, FORGE_WORLD_SIZE) &&
           p->desc[i].batch_size == forge_get(sampler, FORGE_BATCH_SIZE) &&
           !p->desc[i].drop_last;
}

/* A state that load has taken: turns go on, a source in the same shape is where
   it was, and the base is the present. */
static inline void forged_check_taken_mix(forged_party *p,
                                          const unsigned char *state)
{
    static forged_party other;
    unsigned char again[FORGED_MIX_BYTES], third[FORGED_MIX_BYTES];
    const size_t size = FORGE_MIX_BYTES(p->count);
    uint64_t turn = forge_get(state, FORGE_MIX_TURN);
    uint32_t i;
    CHECK(statesampler_mix_turn(&p->mix) == turn);
    CHECK(statesampler_mix_epoch(&p->mix) == forge_get(state, FORGE_MIX_EPOCH));
    CHECK(must_mix_save(&p->mix, again) == size);
    for (i = 0; i < p->count; i++) {
        const unsigned char *sampler = state + FORGE_SAMPLER(i);
        CHECK(forge_get(again + FORGE_SAMPLER(i), FORGE_POSITION) ==
              forge_get(sampler, FORGE_POSITION));
        CHECK(!forged_same_shape(p, sampler, i) ||
              p->desc[i].tail == STATESAMPLER_TAIL_CARRY ||
              memcmp(again + FORGE_SAMPLER(i), sampler, FORGED_BYTES) == 0);
    }
    other = *p;
    CHECK(forged_start(&other) == STATESAMPLER_OK);
    CHECK(statesampler_mix_load(&other.mix, again, size) == STATESAMPLER_OK);
    must_mix_save(&other.mix, third);
    CHECK(memcmp(again, third, size) == 0);
    if (turn > 0)
        CHECK(statesampler_mix_seek(&other.mix, turn - 1) ==
              STATESAMPLER_ERANGE_BASE);
    if (turn <= (uint64_t)1 << 62) {
        CHECK(statesampler_mix_seek(&other.mix, turn) == STATESAMPLER_OK);
        must_mix_save(&other.mix, third);
        CHECK(memcmp(again, third, size) == 0);
    }
    forged_check_turns(p);
}

/* Saved by nobody, with a right check word. */
static inline void forged_mix_state(unsigned char *state, int fields)
{
    forged_honest_mix(state);
    while (fields-- > 0)
        forged_change_mix(state, FORGED_SOURCES);
    forge_seal_mix(state, FORGED_SOURCES);
}

/* Refused by one, too, that differs in all that load may change, and has moved:
   it goes on where it was. (Lists that it need not keep may be others.) */
static inline void forged_refuse_mix(forged_party *p,
                                     const unsigned char *state, size_t size)
{
    unsigned char before[FORGED_MIX_BYTES], after[FORGED_MIX_BYTES];
    size_t own;
    uint32_t i;
    for (i = 0; i < p->count; i++) {
        p->desc[i].drop_last =
            p->desc[i].tail != STATESAMPLER_TAIL_CARRY && !p->desc[i].drop_last;
        if (p->weight[i] != STATESAMPLER_OFF)
            p->weight[i] = 1 + p->weight[i] % 4;
    }
    forged_any_shape(p);
    if (forged_start(p) != STATESAMPLER_OK)
        return;
    for (i = 0; i < 5; i++)
        statesampler_mix_next(&p->mix, NULL, NULL, NULL);
    own = must_mix_save(&p->mix, before);
    if (statesampler_mix_load(&p->mix, state, size) == STATESAMPLER_OK)
        return;
    CHECK(must_mix_save(&p->mix, after) == own);
    CHECK(memcmp(before, after, own) == 0);
    forged_check_turns(p);
}

/* Any bytes: refused, with nothing changed, or taken; which of the two. */
static inline int forged_check_mix(const unsigned char *state, size_t size)
{
    static forged_party p;
    do
        forged_any_mix(&p);
    while (forged_start(&p) != STATESAMPLER_OK);
    forged_load_mix(&p, state, size);
    if (!forged_described_mix(&p, state, size))
        return 0;
    if (!forged_load_mix(&p, state, size)) {
        forged_refuse_mix(&p, state, size);
        return 0;
    }
    forged_check_taken_mix(&p, state);
    forged_any_shape(&p);
    if (forged_start(&p) == STATESAMPLER_OK && forged_load_mix(&p, state, size))
        forged_check_taken_mix(&p, state);
    return 1;
}

#endif

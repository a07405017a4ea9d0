/* model_mix.h - a mix as a person would take turns by hand.

   Around the table sit the sources that have something to give. Whose turn it
   is comes from counting: even seats and odd ones share the turns, and each
   of the two groups keeps count of what it has had and gives it on to its own
   two halves in the same way. What a source gives comes from a sampler of its
   own, of which test_sampler and test_elastic know that it is right. Nothing
   here is computed from the number of a turn.

   Needs statesampler.h, check.h and must.h before it. */
#ifndef STATESAMPLER_TESTS_MODEL_MIX_H
#define STATESAMPLER_TESTS_MODEL_MIX_H

#define MIX_SOURCES 20
#define MIX_BATCH 16

typedef struct mix_model {
    uint32_t count, stop;
    statesampler_desc desc[MIX_SOURCES];
    statesampler sampler[MIX_SOURCES];
    uint32_t weight[MIX_SOURCES];
    int restarted[MIX_SOURCES]; /* has finished once, and begun anew */
    uint32_t seat[MIX_SOURCES]; /* the sources that take turns, in order */
    uint32_t seats;
    /* Turns had by the seats with this remainder modulo 2^level. */
    uint64_t had[6][MIX_SOURCES];
    uint64_t turn, epoch;
} mix_model;

/* Steps that are left of a source's epoch; one with CARRY has no end. */
static inline uint64_t mix_model_left(const mix_model *m, uint32_t i)
{
    const statesampler *s = &m->sampler[i];
    return statesampler_num_steps(s) - statesampler_step(s);
}

/* Sits down all who have steps; a new company begins a new sequence. */
static inline void mix_model_sit(mix_model *m)
{
    uint32_t seat[MIX_SOURCES], seats = 0, i;
    int same = 1;
    for (i = 0; i < m->count; i++) {
        uint64_t steps = statesampler_num_steps(&m->sampler[i]);
        if (m->stop == STATESAMPLER_STOP_RESTART ||
            m->stop == STATESAMPLER_STOP_NEVER) {
            statesampler fresh;
            CHECK(statesampler_init(&fresh, &m->desc[i]) == STATESAMPLER_OK);
            steps = statesampler_num_steps(&fresh);
        }
        if (steps != 0 && m->weight[i] != STATESAMPLER_OFF)
            seat[seats++] = i;
    }
    if (seats != m->seats)
        same = 0;
    for (i = 0; i < seats; i++) {
        if (seat[i] != m->seat[i])
            same = 0;
        m->seat[i] = seat[i];
    }
    m->seats = seats;
    if (!same)
        memset(m->had, 0, sizeof m->had);
}

static inline void mix_model_init(mix_model *m, uint32_t count, uint32_t stop,
                                  const statesampler_desc *desc,
                                  const uint32_t *weight)
{
    uint32_t i;
    memset(m, 0, sizeof *m);
    m->count = count;
    m->stop = stop;
    for (i = 0; i < count; i++) {
        m->desc[i] = desc[i];
        m->weight[i] = weight[i];
        CHECK(statesampler_init(&m->sampler[i], &desc[i]) == STATESAMPLER_OK);
    }
    mix_model_sit(m);
}

/* The weight of every step-th seat from one on. */
static inline uint64_t mix_model_sum(const mix_model *m, uint32_t seat,
                                     uint32_t step)
{
    uint64_t sum = 0;
    for (; seat < m->seats; seat += step) {
        uint32_t weight = m->weight[m->seat[seat]];
        sum += weight == 0 ? 1 : weight;
    }
    return sum;
}

/* Whose seat the next turn of the sequence is, and counts it. */
static inline uint32_t mix_model_point(mix_model *m)
{
    uint32_t seat = 0, step = 1;
    int level;
    for (level = 0; seat + step < m->seats; level++, step *= 2) {
        uint64_t left = mix_model_sum(m, seat, 2 * step);
        uint64_t all = mix_model_sum(m, seat, step);
        uint64_t turns = ++m->had[level][seat];
        /* Has the first half's share of these turns, to the nearest whole
           turn, grown by this one? */
        if ((2 * turns * left + all) / (2 * all) ==
            (2 * (turns - 1) * left + all) / (2 * all))
            seat += step;
    }
    return seat;
}

/* One turn: whose, and each rank's part of it is its own sampler's. Returns
   0 at the end of an epoch, and has begun the next. */
static inline int mix_model_next(mix_model *m, uint32_t *source, uint64_t *out,
                                 size_t *count)
{
    uint32_t i, k;
    for (;;) {
        uint32_t empty = 0, restarted = 0;
        for (k = 0; k < m->seats; k++) {
            empty += mix_model_left(m, m->seat[k]) == 0;
            restarted += m->restarted[m->seat[k]] != 0;
        }
        if (m->seats == 0 ||
            (m->stop == STATESAMPLER_STOP_ALL && empty == m->seats) ||
            (m->stop == STATESAMPLER_STOP_RESTART && restarted == m->seats))
            break;
        i = m->seat[mix_model_point(m)];
        if (mix_model_left(m, i) == 0) {
            if (m->stop == STATESAMPLER_STOP_FIRST)
                break;
            if (m->stop == STATESAMPLER_STOP_ALL)
                continue;
            restarted += !m->restarted[i];
            m->restarted[i] = 1;
            if (m->stop == STATESAMPLER_STOP_RESTART && restarted == m->seats)
                break;
            statesampler_set_epoch(&m->sampler[i],
                                   statesampler_epoch(&m->sampler[i]) + 1);
        }
        *source = i;
        *count =
            must_at(&m->sampler[i], statesampler_step(&m->sampler[i]), out);
        CHECK(statesampler_seek(&m->sampler[i],
                                statesampler_step(&m->sampler[i]) + 1) ==
              STATESAMPLER_OK);
        m->turn++;
        return 1;
    }
    for (i = 0; i < m->count; i++) {
        m->restarted[i] = 0;
        /* Who is off may stand in the middle of an epoch, and stays there. */
        if (m->weight[i] == STATESAMPLER_OFF && mix_model_left(m, i) != 0)
            continue;
        if (statesampler_step(&m->sampler[i]) != 0)
            statesampler_set_epoch(&m->sampler[i],
                                   statesampler_epoch(&m->sampler[i]) + 1);
    }
    m->turn = 0;
    m->epoch++;
    memset(m->had, 0, sizeof m->had);
    mix_model_sit(m);
    return 0;
}

/* Other weights: all begin to count anew, unless they are the same. */
static inline void mix_model_weigh(mix_model *m, const uint32_t *weights)
{
    int same = 1;
    uint32_t i;
    for (i = 0; i < m->count; i++) {
        if ((weights[i] ? weights[i] : 1) != (m->weight[i] ? m->weight[i] : 1))
            same = 0;
    }
    if (same)
        return;
    for (i = 0; i < m->count; i++)
        m->weight[i] = weights[i];
    memset(m->had, 0, sizeof m->had);
    mix_model_sit(m);
}

/* The run goes on in another shape, or as another rank. batch 0: each source
   keeps its own. */
static inline void mix_model_reshape(mix_model *m, uint32_t world,
                                     uint32_t batch, uint32_t rank,
                                     uint32_t drop_last)
{
    uint32_t i;
    for (i = 0; i < m->count; i++) {
        unsigned char state[STATESAMPLER_STATE_BYTES];
        must_save(&m->sampler[i], state);
        m->desc[i].world_size = world;
        if (batch != 0)
            m->desc[i].batch_size = batch;
        m->desc[i].rank = rank;
        m->desc[i].drop_last =
            drop_last && m->desc[i].tail != STATESAMPLER_TAIL_CARRY;
        CHECK(statesampler_init(&m->sampler[i], &m->desc[i]) ==
              STATESAMPLER_OK);
        CHECK(statesampler_load(&m->sampler[i], state, sizeof state) ==
              STATESAMPLER_OK);
    }
    mix_model_sit(m);
}

#endif

/* model_mix.h - a mix as a person would take turns by hand.

   Around the table sit the sources that have something to give. Whose turn it
   is comes from counting: every pair of neighbours, of pairs, of fours keeps
   count of the turns it has had and gives the next one to the half that is
   owed it. What a source gives comes from a sampler of its own, of which
   test_sampler and test_elastic know that it is right. Nothing here is
   computed from the number of a turn.

   Needs statesampler.h and check.h before it. */
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
    /* Turns had by the group of 2^level seats from a seat on. */
    uint64_t had[6][MIX_SOURCES];
    uint64_t turn, epoch;
} mix_model;

/* Steps that are left of a source's epoch; one with CARRY has no end. */
static inline uint64_t mix_model_left(const mix_model *m, uint32_t i)
{
    const statesampler *s = &m->sampler[i];
    return statesampler_num_steps(s) - statesampler_step(s);
}

static inline uint32_t mix_model_weight(const mix_model *m, uint32_t seat)
{
    uint32_t k, w = m->weight[m->seat[seat]];
    int equal = 1;
    for (k = 1; k < m->seats; k++)
        if (m->weight[m->seat[k]] != m->weight[m->seat[0]])
            equal = 0;
    return equal || w == 0 ? 1 : w;
}

/* Sits down all who have steps; a new company begins a new sequence. */
static inline void mix_model_sit(mix_model *m)
{
    uint32_t seat[MIX_SOURCES], seats = 0, i;
    int same = 1;
    for (i = 0; i < m->count; i++) {
        uint64_t steps = statesampler_num_steps(&m->sampler[i]);
        if (m->stop >= STATESAMPLER_RESTART) {
            statesampler fresh;
            CHECK(statesampler_init(&fresh, &m->desc[i]) == STATESAMPLER_OK);
            steps = statesampler_num_steps(&fresh);
        }
        if (steps != 0)
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

static inline uint64_t mix_model_sum(const mix_model *m, uint32_t from,
                                     uint32_t to)
{
    uint64_t sum = 0;
    for (; from < to && from < m->seats; from++)
        sum += mix_model_weight(m, from);
    return sum;
}

/* Whose seat the next turn of the sequence is, and counts it. */
static inline uint32_t mix_model_point(mix_model *m)
{
    uint32_t first = 0, level;
    int equal = 1;
    for (level = 0; level < m->seats; level++)
        if (mix_model_weight(m, level) != 1)
            equal = 0;
    if (equal) {
        first = (uint32_t)(m->had[5][0]++ % m->seats);
        return first;
    }
    for (level = 5; level-- > 0;) {
        uint32_t half = 1u << level;
        uint64_t left = mix_model_sum(m, first, first + half);
        uint64_t all = mix_model_sum(m, first, first + 2 * half);
        uint64_t turns = ++m->had[level + 1][first];
        if (first + half >= m->seats)
            continue; /* nobody sits to the right */
        /* The left half's share of these turns, rounded to nearest. */
        if ((2 * turns * left + all) / (2 * all) ==
            (2 * (turns - 1) * left + all) / (2 * all))
            first += half;
    }
    return first;
}

/* One turn: whose, and each rank's part of it is its own sampler's. Returns
   0 at the end of an epoch, and has begun the next. */
static inline int mix_model_next(mix_model *m, uint32_t *source,
                                 uint64_t *out, size_t *count)
{
    uint32_t i, k;
    for (;;) {
        uint32_t empty = 0, restarted = 0;
        for (k = 0; k < m->seats; k++) {
            empty += mix_model_left(m, m->seat[k]) == 0;
            restarted += m->restarted[m->seat[k]] != 0;
        }
        if (m->seats == 0 ||
            (m->stop == STATESAMPLER_ALL && empty == m->seats) ||
            (m->stop == STATESAMPLER_RESTART && restarted == m->seats))
            break;
        i = m->seat[mix_model_point(m)];
        if (mix_model_left(m, i) == 0) {
            if (m->stop == STATESAMPLER_FIRST)
                break;
            if (m->stop == STATESAMPLER_ALL)
                continue;
            restarted += !m->restarted[i];
            m->restarted[i] = 1;
            if (m->stop == STATESAMPLER_RESTART && restarted == m->seats)
                break;
            statesampler_set_epoch(&m->sampler[i],
                                   statesampler_epoch(&m->sampler[i]) + 1);
        }
        *source = i;
        *count = statesampler_at(&m->sampler[i],
                                 statesampler_step(&m->sampler[i]), out);
        CHECK(statesampler_seek(&m->sampler[i],
                                statesampler_step(&m->sampler[i]) + 1) ==
              STATESAMPLER_OK);
        m->turn++;
        return 1;
    }
    for (i = 0; i < m->count; i++) {
        m->restarted[i] = 0;
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

/* The run goes on in another shape, or as another rank. */
static inline void mix_model_reshape(mix_model *m, uint32_t world,
                                     uint32_t batch, uint32_t rank,
                                     uint32_t drop_last)
{
    uint32_t i;
    for (i = 0; i < m->count; i++) {
        unsigned char state[STATESAMPLER_STATE_BYTES];
        statesampler_save(&m->sampler[i], state);
        m->desc[i].world_size = world;
        m->desc[i].batch_size = batch;
        m->desc[i].rank = rank;
        m->desc[i].drop_last =
            drop_last && m->desc[i].tail != STATESAMPLER_CARRY;
        CHECK(statesampler_init(&m->sampler[i], &m->desc[i]) ==
              STATESAMPLER_OK);
        CHECK(statesampler_load(&m->sampler[i], state, sizeof state) ==
              STATESAMPLER_OK);
    }
    mix_model_sit(m);
}

#endif

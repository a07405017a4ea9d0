/* model.h - the sampler as a person would do it by hand.

   It writes the positions of an epoch down one by one, adds or strikes out
   what the tail rule says, and deals the line out to ranks like cards. It
   knows nothing of the header's arithmetic; it asks the header only for the
   order of samples inside an epoch, which is random and has its own tests.

   Needs statesampler.h, check.h and must.h before it. */
#ifndef STATESAMPLER_TESTS_MODEL_H
#define STATESAMPLER_TESTS_MODEL_H

#define MODEL_MAX 4096 /* positions in the longest line */
#define MODEL_RANKS 16
#define MODEL_BATCH 64

/* One position: what it serves, and, if the present shape serves it, when
   and where. */
typedef struct model_entry {
    uint64_t epoch, position, sample, step;
    uint32_t rank, slot;
    int padding;
} model_entry;

/* All ranks of a run in one object: they differ only in what they are
   dealt. */
typedef struct model {
    statesampler_desc desc;
    uint64_t epoch, position, step; /* what is served next */
    uint64_t base, base_step, base_epoch;
    uint32_t blocks;
    size_t before; /* entries of the line that earlier shapes served */
    size_t length;
    uint64_t steps;              /* steps done when the line has been served */
    size_t first[MODEL_MAX + 1]; /* of each step from base_step on */
    model_entry line[MODEL_MAX];
} model;

/* The samples of one epoch, block by block. INTERLEAVED has one block. */
typedef struct model_table {
    uint32_t blocks;
    uint64_t start[MODEL_RANKS];
    size_t size[MODEL_RANKS];
    uint64_t sample[MODEL_RANKS][MODEL_MAX];
} model_table;

/* A failed CHECK says which line failed; this says for which case. */
static const statesampler_desc *model_case;
static const model *model_current;
static int model_reports;

static inline void model_report(void)
{
    const statesampler_desc *d = model_case;
    const model *m = model_current;
    if (d)
        printf("  n %lu, %lu ranks, batch %lu, order %lu (chunk %lu, window "
               "%lu), partition %lu, tail %lu, drop_last %lu, seed %lu, "
               "stream %lu\n",
               (unsigned long)d->num_samples, (unsigned long)d->world_size,
               (unsigned long)d->batch_size, (unsigned long)d->order,
               (unsigned long)d->chunk_size, (unsigned long)d->window,
               (unsigned long)d->partition, (unsigned long)d->tail,
               (unsigned long)d->drop_last, (unsigned long)d->seed,
               (unsigned long)d->stream);
    if (m)
        printf("  epoch %lu, step %lu, position %lu, base %lu at step %lu, "
               "blocks %lu\n",
               (unsigned long)m->epoch, (unsigned long)m->step,
               (unsigned long)m->position, (unsigned long)m->base,
               (unsigned long)m->base_step, (unsigned long)m->blocks);
}

static inline void model_watch(const statesampler_desc *d, const model *m)
{
    if (!model_reports)
        CHECK(atexit(model_report) == 0);
    model_reports = 1;
    model_case = d;
    model_current = m;
}

/* Nothing failed: there is no case to report at exit. */
static inline void model_finish(void)
{
    model_watch(NULL, NULL);
}

/* A description that has every field set; the seed is arbitrary. */
static inline statesampler_desc model_desc(uint64_t n, uint32_t world,
                                           uint32_t batch)
{
    statesampler_desc d;
    memset(&d, 0, sizeof d); /* C++ warns about = {0} */
    d.num_samples = n;
    d.world_size = world;
    d.batch_size = batch;
    d.seed = 20240229;
    d.stream = 3;
    return d;
}

/* Of up to `most` samples, on up to so many ranks with batches of up to so
   much. One call after the other: the order of evaluation of arguments is
   the compiler's, and all compilers shall test the same cases. */
static inline statesampler_desc model_random_desc(uint64_t most,
                                                  uint32_t worlds,
                                                  uint32_t batches)
{
    uint64_t n = check_random(most + 1);
    uint32_t w = 1 + (uint32_t)check_random(worlds);
    uint32_t b = 1 + (uint32_t)check_random(batches);
    return model_desc(n, w, b);
}

/* Any value below a bound above 2^53, where check_random does not reach. */
static inline uint64_t model_random(uint64_t bound)
{
    uint64_t high = check_random((uint64_t)1 << 32);
    return (high << 32 | check_random((uint64_t)1 << 32)) % bound;
}

static inline int model_is_carry(const model *m)
{
    return m->desc.tail == STATESAMPLER_TAIL_CARRY;
}

/* Cuts the dataset into blocks and looks up the order of each. What is not
   public comes from the plainest sampler there is: a rank per block, one
   sample per step. test_sampler checks that such tables have the structure
   they must have. */
static inline void model_fill_table(model_table *t, const statesampler_desc *d,
                                    uint64_t epoch, uint32_t blocks)
{
    uint64_t i, next_start = 0;
    uint32_t b;
    t->blocks = d->partition == STATESAMPLER_PARTITION_BLOCKED ? blocks : 1;
    CHECK(t->blocks <= MODEL_RANKS && d->num_samples <= MODEL_MAX);
    for (b = 0; b < t->blocks; b++)
        t->size[b] = 0;
    for (i = 0; i < d->num_samples; i++)
        t->size[i % t->blocks]++;
    if (d->partition == STATESAMPLER_PARTITION_BLOCKED &&
        d->tail == STATESAMPLER_TAIL_DROP)
        for (b = 0; b < t->blocks; b++)
            t->size[b] = t->size[t->blocks - 1];
    for (b = 0; b < t->blocks; b++) {
        t->start[b] = next_start;
        next_start += t->size[b];
    }
    for (b = 0; b < t->blocks; b++) {
        size_t k;
        if (d->order == STATESAMPLER_ORDER_SEQUENTIAL) {
            for (k = 0; k < t->size[b]; k++)
                t->sample[b][k] = t->start[b] + k;
        } else if (d->order == STATESAMPLER_ORDER_SHUFFLE &&
                   d->partition == STATESAMPLER_PARTITION_INTERLEAVED) {
            statesampler_perm perm;
            CHECK(statesampler_perm_init(&perm, d->num_samples, d->seed, epoch,
                                         d->stream) == STATESAMPLER_OK);
            for (k = 0; k < t->size[b]; k++)
                t->sample[b][k] = statesampler_perm_at(&perm, k);
        } else {
            statesampler one;
            statesampler_desc plain = *d;
            plain.epoch = epoch;
            plain.world_size = t->blocks;
            plain.rank = b;
            plain.batch_size = 1;
            plain.drop_last = 0;
            if (plain.tail == STATESAMPLER_TAIL_CARRY)
                plain.tail = STATESAMPLER_TAIL_UNEVEN;
            CHECK(statesampler_init(&one, &plain) == STATESAMPLER_OK);
            for (k = 0; k < t->size[b]; k++)
                CHECK(must_next(&one, &t->sample[b][k]) == 1);
        }
    }
}

static inline void model_push(model *m, uint64_t epoch, uint64_t position,
                              uint64_t sample, int padding)
{
    model_entry *e = &m->line[m->length];
    CHECK(m->length < MODEL_MAX);
    m->length++;
    e->epoch = epoch;
    e->position = position;
    e->sample = sample;
    e->padding = padding;
    e->step = STATESAMPLER_NONE;
    e->rank = e->slot = UINT32_MAX;
}

/* The next position after the line's end, which is past the samples. */
static inline void model_push_padding(model *m, const model_table *t)
{
    uint64_t p = m->length;
    uint64_t sample = m->line[p % m->desc.num_samples].sample;
    if (m->desc.partition == STATESAMPLER_PARTITION_BLOCKED) {
        size_t b = (size_t)(p % t->blocks);
        if (t->size[b] > 0)
            sample = t->sample[b][0];
    }
    model_push(m, m->epoch, p, sample, 1);
}

/* Writes down the line of the present epoch and shape. CARRY has no end: it
   is written from the base for as long as `wanted` positions and to the end
   of the epoch after the present one. */
static inline void model_plan(model *m, size_t wanted)
{
    static model_table t;
    const statesampler_desc *d = &m->desc;
    size_t world = d->world_size, batch = d->batch_size;
    size_t k, done;
    uint64_t step;
    m->length = 0;
    if (model_is_carry(m)) {
        uint64_t epoch = m->base_epoch, p = m->base;
        int present = 0, after = 0;
        m->before = 0;
        while (m->length < wanted || !after ||
               m->length % (world * batch) != 0) {
            if (m->length == 0 || p == 0)
                model_fill_table(&t, d, epoch, 1);
            model_push(m, epoch, p, t.sample[0][p], 0);
            if (epoch == m->epoch)
                present = 1;
            else if (present)
                after = 1;
            if (++p == d->num_samples) {
                p = 0;
                epoch++;
            }
        }
    } else {
        size_t place, most;
        uint32_t b;
        model_fill_table(&t, d, m->epoch, m->blocks);
        most = t.size[0];
        for (place = 0; place < most; place++)
            for (b = 0; b < t.blocks; b++) {
                if (place < t.size[b])
                    model_push(m, m->epoch, m->length, t.sample[b][place], 0);
                else if (d->tail == STATESAMPLER_TAIL_PAD)
                    model_push_padding(m, &t);
            }
        m->before = (size_t)m->base;
        if (d->tail == STATESAMPLER_TAIL_PAD) {
            while (m->length < m->before)
                model_push_padding(m, &t);
            while ((m->length - m->before) % world != 0)
                model_push_padding(m, &t);
        }
        CHECK(m->before <= m->length);
        if (d->tail == STATESAMPLER_TAIL_DROP)
            while ((m->length - m->before) % world != 0)
                m->length--;
        if (d->drop_last)
            while ((m->length - m->before) % (world * batch) != 0)
                m->length--;
    }
    step = m->base_step;
    done = 0;
    k = m->before;
    while (k < m->length) {
        uint32_t slot, rank;
        m->first[done++] = k;
        for (slot = 0; slot < batch; slot++)
            for (rank = 0; rank < world && k < m->length; rank++) {
                m->line[k].step = step;
                m->line[k].slot = slot;
                m->line[k].rank = rank;
                k++;
            }
        step++;
    }
    m->first[done] = m->length;
    m->steps = step;
}

/* Makes sure that the line of a run without end reaches past a step. */
static inline void model_reach(model *m, uint64_t step)
{
    if (model_is_carry(m))
        while (m->steps <= step + 1)
            model_plan(m, 2 * m->length + 1);
}

static inline void model_begin(model *m, uint64_t epoch)
{
    m->epoch = m->base_epoch = epoch;
    m->position = m->base = 0;
    m->step = m->base_step = 0;
    m->blocks = m->desc.world_size;
    model_plan(m, 0);
}

static inline void model_init(model *m, const statesampler_desc *d)
{
    m->desc = *d;
    model_watch(&m->desc, m);
    if (m->desc.world_size == 0)
        m->desc.world_size = 1;
    if (m->desc.batch_size == 0)
        m->desc.batch_size = 1;
    model_begin(m, d->epoch);
}

/* Where a step of the present shape begins; its last is where it ends. */
static inline uint64_t model_position(model *m, uint64_t step, uint64_t *epoch)
{
    size_t k;
    model_reach(m, step);
    CHECK(step >= m->base_step && step <= m->steps);
    k = m->first[step - m->base_step];
    *epoch = m->epoch;
    if (!model_is_carry(m))
        return k;
    *epoch = m->line[k].epoch;
    return m->line[k].position;
}

static inline void model_seek(model *m, uint64_t step)
{
    m->position = model_position(m, step, &m->epoch);
    m->step = step;
    if (model_is_carry(m))
        model_plan(m, m->length);
}

/* What a rank is dealt in a step, and how many of these are padding. */
static inline size_t model_batch(model *m, uint64_t step, uint32_t rank,
                                 uint64_t *out, uint64_t *padding)
{
    size_t k, count = 0;
    *padding = 0;
    if (step < m->base_step)
        return 0;
    model_reach(m, step);
    if (step >= m->steps)
        return 0;
    k = m->first[step - m->base_step];
    for (; k < m->length && m->line[k].step == step; k++)
        if (m->line[k].rank == rank) {
            out[count++] = m->line[k].sample;
            *padding += (uint64_t)m->line[k].padding;
        }
    return count;
}

/* The state of this run, loaded by one of another shape. */
static inline void model_load(model *m, uint32_t world, uint32_t batch,
                              uint32_t drop_last)
{
    int same = m->desc.world_size == world && m->desc.batch_size == batch;
    m->desc.world_size = world;
    m->desc.batch_size = batch;
    m->desc.drop_last = drop_last;
    if (!model_is_carry(m) && m->position == 0) {
        model_begin(m, m->epoch);
        return;
    }
    if (same)
        model_plan(m, m->length);
    if (!same || (!model_is_carry(m) && m->position > m->length)) {
        m->base = m->position;
        m->base_step = m->step;
        m->base_epoch = m->epoch;
        model_plan(m, 0);
    }
}

static inline void model_counts(const model *m, uint32_t rank,
                                statesampler_counts *c)
{
    size_t k;
    uint64_t n = m->desc.num_samples, last_step = STATESAMPLER_NONE;
    c->positions = c->padded = c->rank_samples = c->rank_batches = 0;
    c->steps = m->steps;
    if (model_is_carry(m)) {
        c->positions = n;
        c->dropped = 0;
        c->steps = c->rank_samples = c->rank_batches = STATESAMPLER_NONE;
        return;
    }
    c->dropped = n;
    for (k = 0; k < m->length; k++) {
        c->positions++;
        if (m->line[k].padding)
            c->padded++;
        else
            c->dropped--;
        if (k >= m->before && m->line[k].rank == rank) {
            c->rank_samples++;
            if (m->line[k].step != last_step)
                c->rank_batches++;
            last_step = m->line[k].step;
        }
    }
}

/* The first place of a sample: in this epoch, whoever served it. */
static inline int model_locate(const model *m, uint64_t index,
                               statesampler_place *place)
{
    size_t k;
    if (m->desc.order == STATESAMPLER_ORDER_REPLACEMENT)
        return STATESAMPLER_EINVAL;
    for (k = 0; k < m->length; k++) {
        const model_entry *e = &m->line[k];
        if (e->epoch != m->epoch || e->sample != index)
            continue;
        if (k < m->before)
            return STATESAMPLER_ERANGE;
        place->position = e->position;
        place->step = e->step;
        place->rank = e->rank;
        place->slot = e->slot;
        return STATESAMPLER_OK;
    }
    return STATESAMPLER_ERANGE;
}

static inline int model_same(const uint64_t *a, const uint64_t *b, size_t count)
{
    size_t i;
    for (i = 0; i < count; i++)
        if (a[i] != b[i])
            return 0;
    return 1;
}

static inline int model_same_state(const statesampler *a, const statesampler *b)
{
    unsigned char x[STATESAMPLER_STATE_BYTES], y[STATESAMPLER_STATE_BYTES];
    must_save(a, x);
    must_save(b, y);
    return memcmp(x, y, sizeof x) == 0;
}

/* Where the sampler says it is, and what it expects of the epoch. */
static inline void model_compare(const model *m, const statesampler *s,
                                 uint32_t rank)
{
    statesampler_counts want, got;
    model_counts(m, rank, &want);
    statesampler_get_counts(s, &got);
    CHECK(statesampler_epoch(s) == m->epoch);
    CHECK(statesampler_step(s) == m->step);
    CHECK(statesampler_position(s) == m->position);
    CHECK(statesampler_num_steps(s) == want.steps);
    CHECK(got.positions == want.positions);
    CHECK(got.padded == want.padded);
    CHECK(got.dropped == want.dropped);
    CHECK(got.steps == want.steps);
    CHECK(got.rank_samples == want.rank_samples);
    CHECK(got.rank_batches == want.rank_batches);
}

/* Every step, by at and padding and by seek and next, and those around the
   ends, which must be refused and must leave the sampler alone. */
static inline void model_compare_steps(model *m, const statesampler *s,
                                       uint32_t rank)
{
    uint64_t want[MODEL_BATCH], got[MODEL_BATCH], padding, step, steps;
    statesampler other;
    size_t count;
    other = *s;
    steps = model_is_carry(m) ? m->step + 3 : m->steps;
    for (step = 0; step < m->base_step; step++) {
        CHECK(must_miss(s, step) == STATESAMPLER_ERANGE_BASE);
        CHECK(statesampler_padding(s, step) == 0);
        CHECK(statesampler_seek(&other, step) == STATESAMPLER_ERANGE_BASE);
    }
    if (!model_is_carry(m)) {
        CHECK(must_miss(s, steps) == 0);
        CHECK(must_miss(s, steps + 1) == 0);
        CHECK(must_miss(s, UINT64_MAX) == 0);
        CHECK(statesampler_padding(s, steps) == 0);
        CHECK(statesampler_padding(s, UINT64_MAX) == 0);
        CHECK(statesampler_seek(&other, steps + 1) == STATESAMPLER_ERANGE_END);
        CHECK(statesampler_seek(&other, UINT64_MAX) == STATESAMPLER_ERANGE_END);
    } else {
        CHECK(must_miss(s, UINT64_MAX) == STATESAMPLER_ERANGE_FAR);
        CHECK(statesampler_seek(&other, UINT64_MAX) == STATESAMPLER_ERANGE_FAR);
    }
    CHECK(model_same_state(s, &other));
    for (step = m->base_step; step <= steps; step++) {
        uint64_t epoch, position = model_position(m, step, &epoch);
        count = model_batch(m, step, rank, want, &padding);
        CHECK(count < MODEL_BATCH);
        got[count] = STATESAMPLER_NONE; /* must stay: it is not asked for */
        if (step == m->steps) {
            CHECK(must_miss(s, step) == 0);
        } else {
            CHECK(must_at(s, step, NULL) == count);
            CHECK(must_at(s, step, got) == count);
            CHECK(model_same(want, got, count));
            CHECK(got[count] == STATESAMPLER_NONE);
        }
        CHECK(statesampler_padding(s, step) == padding);
        CHECK(statesampler_seek(&other, step) == STATESAMPLER_OK);
        CHECK(statesampler_epoch(&other) == epoch);
        CHECK(statesampler_step(&other) == step);
        CHECK(statesampler_position(&other) == position);
        if (step != m->steps) {
            CHECK(must_next(&other, got) == count);
            CHECK(model_same(want, got, count));
            CHECK(got[count] == STATESAMPLER_NONE);
            CHECK(statesampler_step(&other) == step + 1);
        }
    }
    CHECK(statesampler_seek(&other, m->step) == STATESAMPLER_OK);
    CHECK(model_same_state(s, &other));
}

/* Every sample, and the first that is none. */
static inline void model_compare_places(const model *m, const statesampler *s)
{
    statesampler_place want = {0, 0, 0, 0}, got;
    uint64_t i;
    int code;
    for (i = 0; i < m->desc.num_samples; i++) {
        code = model_locate(m, i, &want);
        CHECK(STATESAMPLER_KIND(statesampler_locate(s, i, &got)) == code);
        if (code != STATESAMPLER_OK)
            continue;
        CHECK(got.position == want.position);
        CHECK(got.step == want.step);
        CHECK(got.rank == want.rank);
        CHECK(got.slot == want.slot);
    }
}

/* The orders of the sweeps: WINDOW with windows of one chunk, of a part of
   the data, of all of it, and with chunks of one sample. */
#define MODEL_ORDERS 8
static inline void model_set_order(statesampler_desc *d, int which)
{
    static const uint32_t order[MODEL_ORDERS] = {
        STATESAMPLER_ORDER_SHUFFLE, STATESAMPLER_ORDER_SEQUENTIAL,
        STATESAMPLER_ORDER_WINDOW,  STATESAMPLER_ORDER_WINDOW,
        STATESAMPLER_ORDER_WINDOW,  STATESAMPLER_ORDER_WINDOW,
        STATESAMPLER_ORDER_WINDOW,  STATESAMPLER_ORDER_REPLACEMENT,
    };
    static const uint64_t chunk[MODEL_ORDERS] = {0, 0, 3, 2, 4, 1, 30, 0};
    static const uint64_t window[MODEL_ORDERS] = {0, 0, 2, 1, 9, 2, 1, 0};
    d->order = order[which];
    d->chunk_size = chunk[which];
    d->window = window[which];
}

/* CARRY with these is EINVAL; all else can be combined. */
static inline int model_makes_sense(const statesampler_desc *d)
{
    return d->tail != STATESAMPLER_TAIL_CARRY ||
           (d->num_samples > 0 &&
            d->partition == STATESAMPLER_PARTITION_INTERLEAVED &&
            !d->drop_last);
}

#endif

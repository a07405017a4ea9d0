/* contract.h - what the manual says of any sampler, wherever it stands, asked
   of it by its public functions alone; and of a mix, what its coming turn says
   of locate, offset and seek.

   Needs fuzz.h before it. */
#ifndef STATESAMPLER_TESTS_FUZZ_CONTRACT_H
#define STATESAMPLER_TESTS_FUZZ_CONTRACT_H

#define CONTRACT_SHORT 100 /* steps and positions that are served to the end */

/* What a sampler is and where it stands: from its state. */
typedef struct contract {
    statesampler_desc desc; /* of the run; rank 0, no drop_last */
    statesampler_place now;
    uint64_t base_position, base_step;
    uint32_t rank;
    int carry;
} contract;

/* The same object, byte by byte. */
static inline int contract_same(const void *a, const void *b, size_t size)
{
    return memcmp(a, b, size) == 0;
}

/* Save and load: the same bytes, also as another rank; and a buffer that is
   too small is left alone. */
static inline contract contract_save(const statesampler *s, uint32_t rank)
{
    unsigned char state[FORGED_BYTES], again[FORGED_BYTES];
    statesampler other = *s;
    contract c;
    size_t i;
    memset(state, 0xa5, sizeof state);
    CHECK(statesampler_save(s, state, (size_t)check_random(FORGED_BYTES)) ==
          STATESAMPLER_ECAPACITY);
    for (i = 0; i < sizeof state; i++)
        CHECK(state[i] == 0xa5);
    must_save(s, state);
    CHECK(forge_get(state, FORGE_CHECK_WORD) ==
          forge_check_word(state, FORGED_BYTES - 8));
    CHECK(statesampler_describe(state, FORGED_BYTES, &c.desc, &c.now) ==
          STATESAMPLER_OK);
    CHECK(c.now.position == statesampler_position(s));
    CHECK(c.now.step == statesampler_step(s));
    CHECK(c.desc.epoch == statesampler_epoch(s));
    c.base_position = forge_get(state, FORGE_BASE_POSITION);
    c.base_step = forge_get(state, FORGE_BASE_STEP);
    c.carry = c.desc.tail == STATESAMPLER_TAIL_CARRY;
    c.rank = rank;
    CHECK(statesampler_load(&other, state, FORGED_BYTES) == STATESAMPLER_OK);
    must_save(&other, again);
    CHECK(contract_same(state, again, sizeof state));
    CHECK(statesampler_reshape(&other,
                               (uint32_t)check_random(c.desc.world_size),
                               c.desc.world_size,
                               c.desc.batch_size) == STATESAMPLER_OK);
    must_save(&other, again);
    CHECK(contract_same(state, again, sizeof state));
    return c;
}

/* A place that locate names is one at which that rank finds the sample; where
   it names none, it leaves *place alone. Returns whether there is one. */
static inline int contract_locate(const statesampler *s, const contract *c,
                                  uint64_t index)
{
    const statesampler_place none = {77, 88, 99, 111};
    statesampler_place place = none;
    uint64_t out[MODEL_BATCH], at;
    statesampler other = *s;
    int code = statesampler_locate(s, index, &place);
    if (c->desc.order == STATESAMPLER_ORDER_REPLACEMENT)
        CHECK(STATESAMPLER_KIND(code) == STATESAMPLER_EINVAL);
    else
        CHECK((index >= c->desc.num_samples) ==
              (code == STATESAMPLER_ERANGE_INDEX));
    if (code != STATESAMPLER_OK) {
        CHECK(STATESAMPLER_KIND(code) == STATESAMPLER_ERANGE ||
              STATESAMPLER_KIND(code) == STATESAMPLER_EINVAL);
        CHECK(contract_same(&place, &none, sizeof none));
        return 0;
    }
    CHECK(place.rank < c->desc.world_size && place.slot < c->desc.batch_size);
    CHECK(place.step >= c->base_step);
    CHECK(place.step < statesampler_num_steps(s));
    CHECK(place.position < c->desc.num_samples);
    CHECK(statesampler_reshape(&other, place.rank, c->desc.world_size,
                               c->desc.batch_size) == STATESAMPLER_OK);
    code = statesampler_seek(&other, place.step);
    if (code != STATESAMPLER_OK) {
        CHECK(c->carry && code == STATESAMPLER_ERANGE_FAR);
        return 1;
    }
    at = statesampler_position(&other) + place.rank +
         (uint64_t)place.slot * c->desc.world_size;
    if (c->carry)
        CHECK(at / c->desc.num_samples ==
              statesampler_epoch(s) - statesampler_epoch(&other));
    CHECK(place.position == (c->carry ? at % c->desc.num_samples : at));
    if (c->desc.batch_size <= MODEL_BATCH) {
        CHECK(must_at(s, place.step, NULL) <= c->desc.batch_size);
        CHECK(must_next(&other, out) > place.slot);
        CHECK(out[place.slot] == index);
    }
    return 1;
}

/* What a position past the samples repeats. */
static inline void contract_padding(const statesampler *s, const contract *c,
                                    uint64_t index, uint64_t at)
{
    statesampler_place place;
    const uint64_t first = at % c->desc.num_samples;
    const int code = statesampler_locate(s, index, &place);
    if (c->desc.partition == STATESAMPLER_PARTITION_BLOCKED)
        return; /* the first of a block, which no function names */
    if (code == STATESAMPLER_OK)
        CHECK(place.position == first);
    else
        CHECK(code == STATESAMPLER_ERANGE_SERVED && first < c->base_position);
}

/* A step of the sampler in it: `at` tells what next gives there, as many are
   padding as there are positions past the samples, and locate finds each of
   the others where it is. Returns how many there are. */
static inline size_t contract_step(const statesampler *s, const contract *c,
                                   const statesampler *there)
{
    uint64_t step = statesampler_step(there), n = c->desc.num_samples;
    uint64_t a[MODEL_BATCH], b[MODEL_BATCH];
    uint64_t at = statesampler_position(there) + c->rank;
    int fits = c->desc.batch_size <= MODEL_BATCH;
    size_t count = SIZE_MAX, same, padding, i;
    statesampler moved = *there;
    int more = statesampler_at(s, step, fits ? a : NULL, &count);
    if (more < 0) { /* where the base of a CARRY moves */
        CHECK(c->carry && more == STATESAMPLER_ERANGE_FAR && count == 0);
        return 0;
    }
    CHECK(more == (step < statesampler_num_steps(s)));
    CHECK(statesampler_next(&moved, fits ? b : NULL, &same) == more);
    CHECK(count == same && count <= c->desc.batch_size);
    if (!more) {
        CHECK(count == 0 && statesampler_step(&moved) == 0);
        CHECK(statesampler_position(&moved) == 0);
        CHECK(statesampler_epoch(&moved) == statesampler_epoch(s) + 1);
        return 0;
    }
    CHECK(statesampler_step(&moved) == step + 1);
    padding = statesampler_padding(s, step);
    CHECK(padding <= count);
    if (!fits)
        return count;
    CHECK(model_same(a, b, count));
    for (i = 0; i < count; i++, at += c->desc.world_size) {
        statesampler_place place;
        CHECK(a[i] < n);
        CHECK((i >= count - padding) == (!c->carry && at >= n));
        if (c->desc.order == STATESAMPLER_ORDER_REPLACEMENT)
            continue;
        if (at >= n) {
            if (!c->carry)
                contract_padding(s, c, a[i], at);
            continue;
        }
        CHECK(statesampler_locate(there, a[i], &place) == STATESAMPLER_OK);
        CHECK(place.position == at && place.step == step);
        CHECK(place.rank == c->rank && place.slot == i);
    }
    return count;
}

/* From the base to the end, where that is near: what get_counts says. */
static inline void contract_counts(const statesampler *s, const contract *c)
{
    statesampler_counts counts;
    statesampler there = *s;
    uint64_t n = c->desc.num_samples, samples = 0, batches = 0;
    statesampler_get_counts(s, &counts);
    CHECK(counts.steps == statesampler_num_steps(s));
    CHECK(counts.steps >= statesampler_step(s));
    CHECK(counts.positions >= statesampler_position(s) || c->carry);
    CHECK(counts.positions - counts.padded + counts.dropped == n);
    if (c->carry) {
        CHECK(counts.positions == n && counts.padded == 0);
        CHECK(counts.rank_samples == STATESAMPLER_NONE);
        CHECK(counts.rank_batches == STATESAMPLER_NONE);
        return;
    }
    CHECK(counts.rank_samples <= counts.positions - c->base_position);
    if (counts.steps - c->base_step > CONTRACT_SHORT)
        return;
    CHECK(statesampler_seek(&there, c->base_step) == STATESAMPLER_OK);
    CHECK(statesampler_position(&there) == c->base_position);
    while (statesampler_step(&there) < counts.steps) {
        size_t count = contract_step(s, c, &there);
        samples += count;
        batches += count > 0;
        CHECK(statesampler_next(&there, NULL, NULL) == 1);
    }
    CHECK(samples == counts.rank_samples && batches == counts.rank_batches);
    CHECK(statesampler_position(&there) == counts.positions);
}

/* An epoch that began in this shape, and is short: the ranks together serve
   each sample once that is not dropped. */
static inline void contract_epoch(const statesampler *s, const contract *c)
{
    statesampler_audit all = {0, 0, 0, 0}, one;
    statesampler_counts counts;
    uint64_t out[MODEL_BATCH], step;
    uint32_t rank;
    statesampler_get_counts(s, &counts);
    if (c->carry || c->base_position != 0 || c->desc.world_size > 8 ||
        c->desc.batch_size > MODEL_BATCH ||
        counts.steps - c->base_step > CONTRACT_SHORT)
        return;
    for (rank = 0; rank < c->desc.world_size; rank++) {
        statesampler other = *s;
        one.count = one.sum1 = one.sum2 = one.sum3 = 0;
        CHECK(statesampler_reshape(&other, rank, c->desc.world_size,
                                   c->desc.batch_size) == STATESAMPLER_OK);
        for (step = c->base_step; step < counts.steps; step++)
            statesampler_audit_add(&one, out,
                                   must_at(&other, step, out) -
                                       statesampler_padding(&other, step));
        statesampler_audit_merge(&all, &one);
    }
    CHECK(all.count == counts.positions - counts.padded);
    if (c->desc.order != STATESAMPLER_ORDER_REPLACEMENT)
        CHECK(statesampler_audit_check(&all, c->desc.num_samples) ==
              (counts.dropped == 0));
}

/* The seed of a sample is a function of seed, stream, epoch and index alone,
   and each of them changes it. */
static inline void contract_sample_seed(const statesampler *s,
                                        const contract *c, uint64_t index)
{
    const uint64_t epoch = c->desc.epoch;
    const uint64_t seed = statesampler_sample_seed(s, epoch, index);
    statesampler_desc d = {0};
    statesampler other;
    d.num_samples = 1;
    d.seed = c->desc.seed;
    d.stream = c->desc.stream;
    CHECK(statesampler_init(&other, &d) == STATESAMPLER_OK);
    CHECK(statesampler_sample_seed(&other, epoch, index) == seed);
    CHECK(statesampler_sample_seed(&other, epoch + 1, index) != seed);
    CHECK(statesampler_sample_seed(&other, epoch, index + 1) != seed);
    d.seed++;
    CHECK(statesampler_init(&other, &d) == STATESAMPLER_OK);
    CHECK(statesampler_sample_seed(&other, epoch, index) != seed);
    d.seed--;
    d.stream++;
    CHECK(statesampler_init(&other, &d) == STATESAMPLER_OK);
    CHECK(statesampler_sample_seed(&other, epoch, index) != seed);
}

/* Refused calls change nothing. */
static inline void contract_refusals(const statesampler *s, const contract *c)
{
    statesampler other;
    uint64_t end = statesampler_num_steps(s);
    memcpy(&other, s, sizeof other);
    if (c->base_step > 0)
        CHECK(statesampler_seek(&other, check_random(c->base_step)) ==
              STATESAMPLER_ERANGE_BASE);
    if (c->carry)
        CHECK(statesampler_seek(&other, UINT64_MAX) == STATESAMPLER_ERANGE_FAR);
    else if (end < UINT64_MAX)
        CHECK(statesampler_seek(&other,
                                end + 1 + check_random(UINT64_MAX - end)) ==
              STATESAMPLER_ERANGE_END);
    CHECK(statesampler_reshape(&other, c->desc.world_size, c->desc.world_size,
                               1) == STATESAMPLER_EINVAL_RANK);
    CHECK(statesampler_reshape(&other, 0, UINT32_MAX, UINT32_MAX) ==
          STATESAMPLER_EINVAL_GLOBAL_BATCH);
    CHECK(statesampler_resize(&other, UINT64_MAX) < 0);
    CHECK(contract_same(s, &other, sizeof other));
}

/* Who loads what was saved at the end of an epoch goes on behind it, also where
   its drop_last leaves the last step out. */
static inline void contract_drop_last(const statesampler *s, const contract *c)
{
    statesampler there = *s, other;
    statesampler_desc d = c->desc;
    unsigned char state[FORGED_BYTES];
    if (c->carry)
        return;
    CHECK(statesampler_seek(&there, statesampler_num_steps(s)) ==
          STATESAMPLER_OK);
    must_save(&there, state);
    d.rank = c->rank;
    d.drop_last = 1;
    CHECK(statesampler_init(&other, &d) == STATESAMPLER_OK);
    CHECK(statesampler_load(&other, state, sizeof state) == STATESAMPLER_OK);
    CHECK(statesampler_position(&other) == statesampler_position(&there));
    CHECK(statesampler_step(&other) == statesampler_num_steps(&other));
    must_end(&other);
}

/* All of it, with a step and a sample of the input's choice. */
static inline void contract_check(const statesampler *s, uint32_t rank)
{
    contract c = contract_save(s, rank);
    uint64_t step = statesampler_step(s);
    statesampler there = *s;
    if (check_random(2) == 1)
        step = forged_value(step);
    if (statesampler_seek(&there, step) == STATESAMPLER_OK) {
        CHECK(statesampler_step(&there) == step);
        contract_step(s, &c, &there);
    } else {
        size_t count = SIZE_MAX;
        /* Where it stands it is, but past what seek of a CARRY reaches. */
        CHECK(step != statesampler_step(s) || step > UINT64_MAX / 2);
        CHECK(statesampler_at(s, step, NULL, &count) <= 0 && count == 0);
        CHECK(statesampler_padding(s, step) == 0);
    }
    contract_locate(s, &c, forged_value(statesampler_position(s)));
    contract_counts(s, &c);
    contract_epoch(s, &c);
    contract_drop_last(s, &c);
    contract_sample_seed(s, &c, step);
    contract_refusals(s, &c);
}

/* --- Mixes ---------------------------------------------------------------- */

/* Whether an epoch of a source has a step, in this shape. */
static inline int contract_has_steps(statesampler_desc d, uint32_t world)
{
    statesampler s;
    d.world_size = world;
    d.rank = 0;
    d.epoch = 0;
    return statesampler_init(&s, &d) == STATESAMPLER_OK &&
           statesampler_num_steps(&s) > 0;
}

/* What a sampler is: from its state, and so as rank 0 and without drop_last. */
static inline statesampler_desc contract_desc(const statesampler *s)
{
    unsigned char state[FORGED_BYTES];
    statesampler_desc d;
    must_save(s, state);
    CHECK(statesampler_describe(state, sizeof state, &d, NULL) ==
          STATESAMPLER_OK);
    return d;
}

/* A sample of the batch that the mix serves next, of this source: locate finds
   it there, if its position is of a sample and none repeats. (A source that is
   at its end begins anew first.) */
static inline void contract_mix_locate(const statesampler_mix *mix,
                                       uint32_t source, uint32_t rank,
                                       const uint64_t *batch, size_t count)
{
    const statesampler *s = &mix->sources[source].sampler;
    const statesampler_desc d = contract_desc(s);
    statesampler_place place;
    uint64_t turn, slot, at;
    int code;
    if (count == 0 || statesampler_step(s) >= statesampler_num_steps(s))
        return;
    slot = statesampler_mix_turn(mix) % count;
    at = statesampler_position(s) + rank + slot * d.world_size;
    if (at >= d.num_samples)
        return;
    code = statesampler_mix_locate(mix, source, batch[slot], &turn, &place);
    if (d.order == STATESAMPLER_ORDER_REPLACEMENT) {
        CHECK(STATESAMPLER_KIND(code) == STATESAMPLER_EINVAL);
        return;
    }
    CHECK(code == STATESAMPLER_OK);
    CHECK(turn == statesampler_mix_turn(mix));
    CHECK(place.position == at && place.step == statesampler_step(s));
    CHECK(place.rank == rank && place.slot == slot);
}

/* The samples of the sources before each. */
static inline void contract_mix_offset(const statesampler_mix *mix,
                                       uint32_t num_sources)
{
    uint64_t samples = 0;
    uint32_t i;
    for (i = 0; i < num_sources; i++) {
        CHECK(statesampler_mix_offset(mix, i) == samples);
        samples += contract_desc(&mix->sources[i].sampler).num_samples;
    }
    CHECK(statesampler_mix_offset(mix, num_sources) == samples);
}

/* Seek goes to a turn that `at` serves and to the end, and says of others what
   `at` says. Returns its code. */
static inline int contract_mix_seek(statesampler_mix *mix, uint64_t turn)
{
    const int there = statesampler_mix_at(mix, turn, NULL, NULL, NULL);
    const int end = turn == statesampler_mix_num_turns(mix);
    const int code = statesampler_mix_seek(mix, turn);
    if (there == 1 || (there == 0 && end)) {
        CHECK(code == STATESAMPLER_OK);
        CHECK(statesampler_mix_turn(mix) == turn);
    } else {
        CHECK(code == (there ? there : STATESAMPLER_ERANGE_END));
    }
    return code;
}

#endif

/* mixture.c - the same as state.c, of the states of named datasets, loaded by a
   mixture that has other datasets, or others by the same names. Needs
   stb_ds.h. */
#include "fuzz.h"
#include "contract.h"

#define NAMES 5
#define MOST 4 /* datasets of a mixture */
#define STATE (80 + 96 * MOST)

/* What goes by each name, in this input. */
typedef struct dataset {
    statesampler_desc desc;
    uint32_t weight;
} dataset;

static const char *const name_of[NAMES] = {"web", "code", "a", "b", "ab"};

static const forged_field name_fields[] = {
    {FORGE_MAGIC}, {FORGE_VERSION}, {8, 8}, {16, 8}, {24, 8}
};

static void any_shape(dataset *all)
{
    uint32_t world = 1 + (uint32_t)check_random(4), i;
    uint32_t rank = (uint32_t)check_random(world);
    for (i = 0; i < NAMES; i++) {
        all[i].desc.world_size = world;
        all[i].desc.rank = rank;
    }
}

static void any_datasets(dataset *all)
{
    uint32_t i;
    for (i = 0; i < NAMES; i++) {
        all[i].desc = forged_any_run(40);
        all[i].weight = (uint32_t)check_random(5);
    }
    any_shape(all);
}

/* Of up to MOST datasets; whether it starts. A name that is there already is
   refused, and nothing changes. */
static int build(statesampler_mixture *m, const dataset *all, uint32_t stop)
{
    uint64_t wanted = 1 + check_random(MOST);
    uint32_t found;
    memset(m, 0, sizeof *m);
    while (wanted-- > 0) {
        const size_t k = (size_t)check_random(NAMES);
        const ptrdiff_t before = arrlen(m->sources);
        const int there = statesampler_mixture_find(m, name_of[k], &found) ==
                          STATESAMPLER_OK;
        int code = statesampler_mixture_add(m, name_of[k], all[k].weight,
                                            &all[k].desc);
        CHECK(code == (there ? STATESAMPLER_EINVAL_NAME_TAKEN
                             : STATESAMPLER_OK));
        CHECK(arrlen(m->sources) == before + !there);
    }
    return statesampler_mixture_start(m, stop) == STATESAMPLER_OK;
}

static size_t save(const statesampler_mixture *m, unsigned char *state)
{
    const size_t size = statesampler_mixture_state_bytes(m);
    CHECK(size == 80 + 96 * (size_t)arrlen(m->sources) && size <= STATE);
    CHECK(statesampler_mixture_save(m, state, size - 1) ==
          STATESAMPLER_ECAPACITY);
    CHECK(statesampler_mixture_save(m, state, size) == STATESAMPLER_OK);
    return size;
}

/* Saved after some turns, then some fields changed: of the names, of the mix
   and of its sources, each part under its right check word. */
static size_t forged_state(unsigned char *state, statesampler_mixture *m)
{
    uint64_t turns = check_random(30), fields = check_random(4);
    const size_t count = (size_t)arrlen(m->sources);
    unsigned char *mix = state + 16 + 8 * count;
    size_t size;
    for (; turns > 0; turns--)
        CHECK(statesampler_mix_next(&m->mix, NULL, NULL, NULL) >= 0);
    size = save(m, state);
    while (fields-- > 0)
        switch (check_random(3)) {
        case 0:
            forged_change(state, name_fields, FORGED_COUNT(name_fields));
            break;
        case 1:
            forged_change(mix, forged_mix_fields,
                          FORGED_COUNT(forged_mix_fields));
            break;
        default:
            forged_change(mix + FORGE_SOURCE(check_random(count)),
                          forged_source_fields,
                          FORGED_COUNT(forged_source_fields));
        }
    forge_seal(mix, FORGE_MIX_BYTES(count));
    forge_seal(state, size);
    return size;
}

/* The list of changes is about all datasets here, in their order, and then
   about those that are gone. */
static void check_changes(const statesampler_mixture *m)
{
    ptrdiff_t i, here = arrlen(m->sources);
    CHECK(arrlen(m->changes) >= here);
    for (i = 0; i < arrlen(m->changes); i++) {
        const statesampler_change *change = &m->changes[i];
        CHECK((change->status == STATESAMPLER_CHANGE_REMOVED) == (i >= here));
        CHECK(change->status <= STATESAMPLER_CHANGE_CHANGED);
        CHECK((change->name == NULL) == (i >= here));
        if (i >= here)
            continue;
        CHECK(change->source == (uint32_t)i);
        CHECK(change->hash == statesampler_mixture_hash(change->name));
    }
}

/* One that has loaded a state goes on: as its own state says, and by turns
   that `at` knows, in which locate finds the samples. */
static void check_loaded(statesampler_mixture *m, uint32_t rank)
{
    unsigned char state[STATE], again[STATE];
    uint64_t a[MODEL_BATCH], b[MODEL_BATCH];
    uint32_t i = 0, j = 0;
    size_t count, same, size = save(m, state);
    int turns;
    CHECK(statesampler_mixture_load(m, state, size,
                                    STATESAMPLER_REFUSE_CHANGED) ==
          STATESAMPLER_OK);
    CHECK(save(m, again) == size && memcmp(state, again, size) == 0);
    contract_mix_offset(&m->mix, (uint32_t)arrlen(m->sources));
    if (check_random(2) == 1)
        contract_mix_seek(&m->mix,
                          forged_value(statesampler_mix_turn(&m->mix)));
    for (turns = 0; turns < 20; turns++) {
        int more = statesampler_mix_at(
            &m->mix, statesampler_mix_turn(&m->mix), a, &count, &i);
        if (more == STATESAMPLER_ERANGE_FAR)
            return;
        CHECK(more >= 0);
        if (more == 1)
            contract_mix_locate(&m->mix, i, rank, a, count);
        CHECK(statesampler_mix_next(&m->mix, b, &same, &j) == more);
        if (more == 0)
            return;
        CHECK(i == j && count == same && model_same(a, b, count));
    }
}

/* Loads, or refuses and does not move. */
static void check_load(statesampler_mixture *m, const unsigned char *state,
                       size_t size, uint32_t rank)
{
    unsigned char before[STATE], after[STATE];
    const size_t own = save(m, before);
    int code = statesampler_mixture_load(
        m, state, size,
        check_random(2) ? STATESAMPLER_RESTART_CHANGED
                        : STATESAMPLER_REFUSE_CHANGED);
    if (code == STATESAMPLER_OK) {
        fuzz_came_to("taken");
        check_changes(m);
        check_loaded(m, rank);
        return;
    }
    if (STATESAMPLER_KIND(code) != STATESAMPLER_EINVAL)
        forged_check_refusal(code);
    CHECK(code == STATESAMPLER_EMISMATCH_DATASET || arrlen(m->changes) == 0 ||
          code == STATESAMPLER_EMISMATCH_STOP);
    CHECK(save(m, after) == own && memcmp(before, after, own) == 0);
}

static void check_state(dataset *all, const unsigned char *state, size_t size,
                        uint32_t stop)
{
    statesampler_mixture m;
    if (check_random(2) == 1)
        any_shape(all);
    if (check_random(4) == 1)
        all[check_random(NAMES)].desc.seed++;
    if (build(&m, all, stop))
        check_load(&m, state, size, all[0].desc.rank);
    statesampler_mixture_free(&m);
}

static void fuzz(void)
{
    dataset all[NAMES];
    const uint64_t how = check_random(8);
    uint32_t stop = (uint32_t)check_random(4);
    size_t size;
    if (how >= 2) {
        unsigned char state[STATE];
        statesampler_mixture m;
        any_datasets(all);
        if (build(&m, all, stop)) {
            size = forged_state(state, &m);
            fuzz_came_with(state, size);
            check_state(all, state, size, stop);
        }
        statesampler_mixture_free(&m);
    } else {
        unsigned char *state = fuzz_rest(&size);
        any_datasets(all);
        if (how == 1 && size >= 8 && size % 8 == 0)
            forge_seal(state, size);
        fuzz_came_with(state, size);
        check_state(all, state, size, stop);
        free(state);
    }
}

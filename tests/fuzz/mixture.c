/* mixture.c - the same as state.c, of the states of named datasets, loaded by a
   mixture that has other datasets, or others by the same names; what nobody has
   forged is refused for the manual's reasons alone. Needs stb_ds.h. */
#include "fuzz.h"
#include "contract.h"

#define NAMES 5
#define MOST 4 /* datasets of a mixture */
#define STATE (72 + 128 * MOST)

/* What goes by each name, in this input. */
typedef struct dataset {
    statesampler_desc desc;
    uint32_t weight;
} dataset;

static const char *const name_of[NAMES] = {"web", "code", "a", "b", "ab"};

static const forged_field name_fields[] = {
    {FORGE_MAGIC}, {FORGE_VERSION}, {8, 8}, {16, 8}, {24, 8},
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
        const int there =
            statesampler_mixture_find(m, name_of[k], &found) == STATESAMPLER_OK;
        int code = statesampler_mixture_add(m, name_of[k], all[k].weight,
                                            &all[k].desc);
        CHECK(code ==
              (there ? STATESAMPLER_EINVAL_NAME_TAKEN : STATESAMPLER_OK));
        CHECK(arrlen(m->sources) == before + !there);
    }
    return statesampler_mixture_start(m, stop) == STATESAMPLER_OK;
}

static size_t save(const statesampler_mixture *m, unsigned char *state)
{
    const size_t size = statesampler_mixture_state_bytes(m);
    CHECK(size == 72 + 128 * (size_t)arrlen(m->sources) && size <= STATE);
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
        if (check_random(3) == 0)
            forged_change(state, name_fields, FORGED_COUNT(name_fields));
        else
            forged_change_mix(mix, (uint32_t)count);
    forge_seal_mix(mix, (uint32_t)count);
    forge_seal(state, size);
    return size;
}

/* --- States that nobody has forged ---------------------------------------- */

#define ABSENT UINT32_MAX

/* What a mixture was that was saved. */
typedef struct past {
    dataset all[NAMES];
    uint32_t number[NAMES]; /* of the dataset of each name, or ABSENT */
    uint32_t weight[NAMES]; /* of those that are there, these: */
    uint64_t epoch[NAMES], position[NAMES];
    ptrdiff_t count;
    uint64_t mix_epoch, mix_turn;
} past;

static void remember(past *p, const dataset *all, statesampler_mixture *m)
{
    unsigned char state[STATE];
    uint32_t k, i;
    save(m, state);
    memcpy(p->all, all, sizeof p->all);
    p->count = arrlen(m->sources);
    p->mix_epoch = statesampler_mix_epoch(&m->mix);
    p->mix_turn = statesampler_mix_turn(&m->mix);
    for (k = 0; k < NAMES; k++) {
        p->number[k] = ABSENT;
        if (statesampler_mixture_find(m, name_of[k], &i) != STATESAMPLER_OK)
            continue;
        p->number[k] = i;
        p->weight[k] =
            (uint32_t)forge_get(state + 16 + 8 * p->count + FORGE_SOURCE(i),
                                FORGE_SOURCE_WEIGHT);
        p->epoch[k] = statesampler_epoch(&m->sources[i].sampler);
        p->position[k] = statesampler_position(&m->sources[i].sampler);
    }
}

/* Whether these are two runs, by what the manual calls CHANGED. */
static int other_run(const statesampler_desc *a, const statesampler_desc *b)
{
    return a->num_samples != b->num_samples || a->seed != b->seed ||
           a->stream != b->stream || a->order != b->order ||
           a->partition != b->partition || a->tail != b->tail ||
           (a->order == STATESAMPLER_ORDER_WINDOW &&
            (a->chunk_size != b->chunk_size || a->window != b->window));
}

/* What has become of a name's dataset. */
static uint32_t change_of(const past *p, const dataset *all, uint32_t k)
{
    if (p->number[k] == ABSENT)
        return STATESAMPLER_CHANGE_NEW;
    return other_run(&p->all[k].desc, &all[k].desc)
               ? STATESAMPLER_CHANGE_CHANGED
               : STATESAMPLER_CHANGE_MATCHED;
}

/* How many of a mixture's datasets have CHANGED; and whether they are those of
   the past, in their order. */
static uint32_t compare(const past *p, const dataset *all,
                        statesampler_mixture *m, int *same)
{
    uint32_t k, i, changed = 0;
    *same = arrlen(m->sources) == p->count;
    for (k = 0; k < NAMES; k++) {
        uint32_t change;
        if (statesampler_mixture_find(m, name_of[k], &i) != STATESAMPLER_OK)
            continue;
        change = change_of(p, all, k);
        changed += change == STATESAMPLER_CHANGE_CHANGED;
        *same &= change == STATESAMPLER_CHANGE_MATCHED && p->number[k] == i;
    }
    return changed;
}

/* Whether the manual has the weights of the past refused in the shape that the
   datasets are in now. */
static int breaks(const past *p, const dataset *all, uint32_t stop, int code)
{
    uint32_t k, with_steps = 0, large = 0;
    for (k = 0; k < NAMES; k++) {
        const statesampler_desc *d = &all[k].desc;
        if (p->number[k] == ABSENT || p->weight[k] == STATESAMPLER_OFF)
            continue;
        with_steps += (uint32_t)contract_has_steps(*d, d->world_size);
        /* No sequence is too long of fewer: 2^30 * 2^31 is below 2^62. */
        large += d->num_samples >= (uint64_t)1 << 30;
    }
    return code == STATESAMPLER_EINVAL_NO_STEPS
               ? with_steps == 0 && stop == STATESAMPLER_STOP_NEVER
               : code == STATESAMPLER_EINVAL_SEQUENCE && large > 0 &&
                     (stop == STATESAMPLER_STOP_ALL ||
                      stop == STATESAMPLER_STOP_RESTART);
}

/* Refused where the manual says so, and nowhere else. */
static void check_code(const past *p, const dataset *all,
                       statesampler_mixture *m, int restart, int code)
{
    const uint32_t stop = m->mix.stop;
    int same;
    if (compare(p, all, m, &same) > 0 && !restart)
        CHECK(code == STATESAMPLER_EMISMATCH_DATASET);
    else if (code == STATESAMPLER_OK)
        CHECK(!same || !breaks(p, all, stop, STATESAMPLER_EINVAL_NO_STEPS));
    else
        CHECK(same && breaks(p, all, stop, code));
}

/* The turns go on counting, and each dataset is where it was, where its epoch
   began, or where a new one begins. */
static void check_moved(const past *p, const dataset *all,
                        statesampler_mixture *m)
{
    past now;
    uint32_t k;
    int same;
    remember(&now, all, m);
    compare(p, all, m, &same);
    CHECK(now.mix_turn == p->mix_turn && now.mix_epoch == p->mix_epoch);
    for (k = 0; k < NAMES; k++) {
        const uint32_t change = change_of(p, all, k);
        if (now.number[k] == ABSENT)
            continue;
        CHECK(m->changes[now.number[k]].status == change);
        CHECK(now.epoch[k] == (change == STATESAMPLER_CHANGE_NEW
                                   ? all[k].desc.epoch
                                   : p->epoch[k]));
        CHECK(now.position[k] ==
              (change == STATESAMPLER_CHANGE_MATCHED ? p->position[k] : 0));
        CHECK(now.weight[k] ==
              (same ? p->weight[k] : all[k].weight + !all[k].weight));
    }
}

/* --- Loads ---------------------------------------------------------------- */

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
        CHECK(change->hash ==
              statesampler_hash(0, change->name, strlen(change->name) + 1));
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
    CHECK(statesampler_mixture_load(m, state, size, 0) == STATESAMPLER_OK);
    CHECK(save(m, again) == size);
    CHECK(memcmp(state, again, size) == 0);
    contract_mix_offset(&m->mix, (uint32_t)arrlen(m->sources));
    if (check_random(2) == 1)
        contract_mix_seek(&m->mix,
                          forged_value(statesampler_mix_turn(&m->mix)));
    for (turns = 0; turns < 20; turns++) {
        int more = statesampler_mix_at(&m->mix, statesampler_mix_turn(&m->mix),
                                       a, &count, &i);
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

/* Loads, or refuses and does not move; whether it has loaded. Of a state that
   nobody has forged, p is what was saved. */
static int check_load(statesampler_mixture *m, const unsigned char *state,
                      size_t size, const dataset *all, const past *p)
{
    unsigned char before[STATE], after[STATE];
    const size_t own = save(m, before);
    const int restart = check_random(2) != 0;
    int code = statesampler_mixture_load(m, state, size, restart ? 1 : 0);
    if (p)
        check_code(p, all, m, restart, code);
    if (code == STATESAMPLER_OK) {
        check_changes(m);
        if (p)
            check_moved(p, all, m);
        check_loaded(m, all[0].desc.rank);
        return 1;
    }
    if (STATESAMPLER_KIND(code) != STATESAMPLER_EINVAL)
        forged_check_refusal(code);
    CHECK(code == STATESAMPLER_EMISMATCH_DATASET || arrlen(m->changes) == 0 ||
          code == STATESAMPLER_EMISMATCH_STOP);
    CHECK(save(m, after) == own && memcmp(before, after, own) == 0);
    return 0;
}

static void check_state(const dataset *all, const unsigned char *state,
                        size_t size, uint32_t stop, const past *p)
{
    dataset others[NAMES];
    statesampler_mixture m;
    memcpy(others, all, sizeof others);
    if (check_random(2) == 1)
        any_shape(others);
    if (check_random(4) == 1)
        others[check_random(NAMES)].desc.seed++;
    if (build(&m, others, stop) && check_load(&m, state, size, others, p))
        fuzz_came_to("taken");
    statesampler_mixture_free(&m);
}

/* --- Mixtures, one after the other ---------------------------------------- */

static uint32_t any_weight(void)
{
    const uint32_t weight = (uint32_t)check_random(6);
    return weight == 5 ? STATESAMPLER_OFF : weight;
}

/* Other weights, shapes and, here and there, another run by the same name. */
static void any_others(dataset *all)
{
    statesampler s;
    uint32_t k;
    any_shape(all);
    for (k = 0; k < NAMES; k++) {
        statesampler_desc *d = &all[k].desc, was;
        all[k].weight = any_weight();
        d->batch_size = 1 + (uint32_t)check_random(4);
        if (d->tail != STATESAMPLER_TAIL_CARRY)
            d->drop_last = (uint32_t)check_random(2);
        was = *d;
        if (check_random(4) == 1)
            forged_other_run(d);
        if (statesampler_init(&s, d) != STATESAMPLER_OK)
            *d = was;
    }
}

/* A mixture of other datasets, shapes and weights goes on where this one is,
   and takes its place; whether it does. */
static int go_on(statesampler_mixture *m, dataset *all, uint32_t stop)
{
    unsigned char state[STATE];
    uint32_t weights[MOST], i;
    dataset others[NAMES];
    statesampler_mixture other;
    past p;
    int gone;
    const size_t size = save(m, state);
    remember(&p, all, m);
    memcpy(others, all, sizeof others);
    any_others(others);
    gone = build(&other, others, stop) &&
           check_load(&other, state, size, others, &p);
    if (gone) {
        statesampler_mixture was = *m;
        *m = other;
        other = was;
        memcpy(all, others, sizeof others);
        for (i = 0; i < MOST; i++)
            weights[i] = any_weight();
        (void)statesampler_mix_weigh(&m->mix, weights);
    }
    statesampler_mixture_free(&other);
    return gone;
}

/* What a mixture saves, forged or not, others load. */
static void check_saved(statesampler_mixture *m, dataset *all, uint32_t stop)
{
    unsigned char state[STATE], own[STATE];
    const size_t size = forged_state(state, m);
    uint64_t others;
    int honest, gone = 0;
    past p;
    fuzz_came_with(state, size);
    remember(&p, all, m);
    honest = save(m, own) == size && memcmp(state, own, size) == 0;
    check_state(all, state, size, stop, honest ? &p : NULL);
    for (others = check_random(3); others > 0; others--)
        gone |= go_on(m, all, stop);
    if (honest)
        fuzz_came_to("unforged");
    if (gone)
        fuzz_came_to("gone on");
}

static void fuzz(void)
{
    dataset all[NAMES];
    const uint64_t how = check_random(8);
    uint32_t stop = (uint32_t)check_random(STOPS);
    if (how >= 2) {
        statesampler_mixture m;
        any_datasets(all);
        if (build(&m, all, stop))
            check_saved(&m, all, stop);
        statesampler_mixture_free(&m);
    } else {
        size_t size;
        unsigned char *state = fuzz_rest(&size);
        any_datasets(all);
        if (how == 1 && size >= 8 && size % 8 == 0)
            forge_seal(state, size);
        fuzz_came_with(state, size);
        check_state(all, state, size, stop, NULL);
        free(state);
    }
}

/* mix.c - the same as state.c, of a mix's states; and a mix that has loaded one
   keeps the manual's promises wherever calls bring it. */
#include "fuzz.h"

/* A copy whose mix has the copied sources. */
static void copy(forged_party *to, const forged_party *from)
{
    *to = *from;
    to->mix.sources = to->source;
}

static int unchanged(const forged_party *a, const forged_party *b)
{
    return memcmp(&a->mix, &b->mix, sizeof a->mix) == 0 &&
           memcmp(a->source, b->source, sizeof a->source) == 0;
}

/* Whom locate names, at what turn: that source's turn it is, and the rank that
   it names has the sample there. */
static void check_locate(const forged_party *p)
{
    static forged_party other;
    const statesampler_place none = {77, 88, 99, 111};
    statesampler_place place = none;
    uint32_t source = (uint32_t)check_random(p->count + 1), whose;
    uint64_t index = check_random(64), turn = 77, out[MODEL_BATCH];
    size_t count;
    int code = statesampler_mix_locate(&p->mix, source, index, &turn, &place);
    if (code != STATESAMPLER_OK) {
        CHECK(STATESAMPLER_KIND(code) == STATESAMPLER_ERANGE ||
              STATESAMPLER_KIND(code) == STATESAMPLER_EINVAL);
        CHECK(turn == 77 && memcmp(&place, &none, sizeof none) == 0);
        return;
    }
    CHECK(source < p->count);
    CHECK(turn < statesampler_mix_num_turns(&p->mix));
    fuzz_came_to("located");
    copy(&other, p);
    CHECK(statesampler_mix_reshape(&other.mix, place.rank,
                                   p->desc[0].world_size) == STATESAMPLER_OK);
    if (p->desc[source].batch_size > MODEL_BATCH)
        return;
    CHECK(statesampler_mix_at(&other.mix, turn, out, &count, &whose) == 1);
    CHECK(whose == source && place.slot < count && out[place.slot] == index);
}

/* A call that may be refused, and then changes nothing. */
static void call(forged_party *p)
{
    static forged_party before;
    uint32_t weights[FORGED_SOURCES], i;
    int code = STATESAMPLER_OK;
    before = *p;
    switch (check_random(4)) {
    case 0:
        code = statesampler_mix_seek(
            &p->mix, forged_value(statesampler_mix_turn(&p->mix)));
        break;
    case 1:
        for (i = 0; i < p->count; i++)
            weights[i] = (uint32_t)forged_value(p->weight[i]);
        code = statesampler_mix_weigh(&p->mix, weights);
        break;
    case 2:
        i = (uint32_t)forged_value(p->desc[0].world_size);
        code = statesampler_mix_reshape(&p->mix, (uint32_t)check_random(8), i);
        if (code == STATESAMPLER_OK)
            p->desc[0].world_size = i ? i : 1;
        break;
    default:
        for (i = 0; i < 5; i++)
            CHECK(statesampler_mix_next(&p->mix, NULL, NULL, NULL) >= 0);
    }
    if (code != STATESAMPLER_OK) {
        CHECK(STATESAMPLER_KIND(code) == STATESAMPLER_EINVAL ||
              STATESAMPLER_KIND(code) == STATESAMPLER_ERANGE);
        CHECK(unchanged(p, &before));
    }
}

/* What `at` says of the coming turns, next does; a mix that is made of the
   state goes on in the same way. */
static void check_mix(const forged_party *p)
{
    static forged_party a, b;
    unsigned char state[FORGED_MIX_BYTES], again[FORGED_MIX_BYTES];
    uint64_t out[2][MODEL_BATCH];
    uint32_t source[2] = {0, 0}, i;
    const size_t size = must_mix_save(&p->mix, state);
    int turns, fits = 1;
    /* From a forged turn at the end of what load takes, next has come past it,
       where no run comes: seek stops centuries before. */
    if (statesampler_mix_turn(&p->mix) > STATESAMPLER_MAX_SAMPLES / 2 * 3)
        return;
    for (i = 0; i < p->count; i++)
        fits &= p->desc[i].batch_size <= MODEL_BATCH;
    copy(&a, p);
    copy(&b, p);
    CHECK(statesampler_mix_load(&b.mix, state, size) == STATESAMPLER_OK);
    must_mix_save(&b.mix, again);
    CHECK(memcmp(state, again, size) == 0);
    CHECK(statesampler_mix_save(&b.mix, again, size - 1) ==
          STATESAMPLER_ECAPACITY);
    for (turns = 0; turns < 12; turns++) {
        size_t count[2] = {SIZE_MAX, SIZE_MAX};
        const uint64_t turn = statesampler_mix_turn(&a.mix);
        int code = statesampler_mix_at(&b.mix, turn, fits ? out[0] : NULL,
                                       &count[0], &source[0]);
        if (code == STATESAMPLER_ERANGE_FAR)
            return;
        CHECK(code == (turn < statesampler_mix_num_turns(&a.mix)));
        CHECK(statesampler_mix_next(&a.mix, fits ? out[1] : NULL, &count[1],
                                    &source[1]) == code);
        CHECK(count[0] == count[1]);
        if (code == 0)
            return;
        CHECK(source[0] == source[1]);
        CHECK(!fits || model_same(out[0], out[1], count[0]));
    }
}

/* A mix of another run refuses it, and says why. */
static void check_refused(forged_party *p, const unsigned char *state,
                          size_t size)
{
    static forged_party before;
    const uint32_t i = (uint32_t)check_random(p->count);
    int code = forged_other_run(&p->desc[i]);
    statesampler sampler;
    if (statesampler_init(&sampler, &p->desc[i]) != STATESAMPLER_OK ||
        code == STATESAMPLER_OK || forged_start(p) != STATESAMPLER_OK)
        return;
    fuzz_came_to("another run");
    before = *p;
    CHECK(statesampler_mix_load(&p->mix, state, size) == code);
    CHECK(unchanged(p, &before));
}

static void check_state(const unsigned char *state, size_t size)
{
    static forged_party p;
    uint64_t calls;
    if (!forged_check_mix(state, size))
        return;
    fuzz_came_to("taken");
    CHECK(forged_described_mix(&p, state, size));
    check_refused(&p, state, size);
    CHECK(forged_described_mix(&p, state, size));
    CHECK(forged_load_mix(&p, state, size));
    check_locate(&p);
    for (calls = check_random(6); calls > 0; calls--) {
        call(&p);
        check_locate(&p);
        check_mix(&p);
    }
}

static void fuzz(void)
{
    unsigned char state[FORGED_MIX_BYTES];
    const uint64_t how = check_random(8);
    if (how >= 2) {
        forged_mix_state(state, (int)check_random(4));
        fuzz_came_with(state, sizeof state);
        check_state(state, sizeof state);
    } else {
        size_t size;
        unsigned char *given = fuzz_rest(&size);
        if (how == 1 && size >= 8 && size % 8 == 0)
            forge_seal(given, size);
        fuzz_came_with(given, size);
        check_state(given, size);
        free(given);
    }
}

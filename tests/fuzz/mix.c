/* mix.c - the same as state.c, of a mix's states; and a mix that has loaded one
   keeps the manual's promises wherever calls bring it. */
#include "fuzz.h"
#include "contract.h"

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

/* Whether the manual has these weights, in this shape, refused by a rule. */
static int breaks(const forged_party *p, const uint32_t *weights,
                  uint32_t world, int code)
{
    uint64_t sum = 0;
    uint32_t i, on = 0, with_steps = 0, large = 0;
    for (i = 0; i < p->count; i++) {
        const statesampler_desc *d = &p->desc[i];
        if (weights[i] == STATESAMPLER_OFF)
            continue;
        on++;
        sum += weights[i] ? weights[i] : 1;
        with_steps += (uint32_t)contract_has_steps(*d, world);
        /* No sequence is too long of fewer: 2^30 * 2^31 is below 2^62. */
        large += d->num_samples >= (uint64_t)1 << 30;
    }
    switch (code) {
    case STATESAMPLER_EINVAL_ALL_OFF:
        return on == 0;
    case STATESAMPLER_EINVAL_WEIGHTS:
        return sum >> 31 > 0;
    case STATESAMPLER_EINVAL_SEQUENCE:
        return large > 0 && (p->stop == STATESAMPLER_STOP_ALL ||
                             p->stop == STATESAMPLER_STOP_RESTART);
    case STATESAMPLER_EINVAL_NO_STEPS:
        return with_steps == 0 && p->stop == STATESAMPLER_STOP_NEVER;
    default:
        return 0;
    }
}

static int call_weigh(forged_party *p, const uint32_t *weights)
{
    const uint32_t world = p->desc[0].world_size;
    const int code = statesampler_mix_weigh(&p->mix, weights);
    if (code == STATESAMPLER_OK) {
        CHECK(!breaks(p, weights, world, STATESAMPLER_EINVAL_ALL_OFF));
        CHECK(!breaks(p, weights, world, STATESAMPLER_EINVAL_WEIGHTS));
        CHECK(!breaks(p, weights, world, STATESAMPLER_EINVAL_NO_STEPS));
        memcpy(p->weight, weights, sizeof p->weight);
    } else {
        CHECK(breaks(p, weights, world, code));
    }
    return code;
}

static int call_reshape(forged_party *p, uint32_t rank, uint32_t world_size)
{
    const int code = statesampler_mix_reshape(&p->mix, rank, world_size);
    uint32_t i, wide = 0;
    world_size += world_size == 0;
    for (i = 0; i < p->count; i++)
        wide += (uint64_t)world_size * p->desc[i].batch_size >=
                STATESAMPLER_MAX_SAMPLES;
    if (code == STATESAMPLER_OK) {
        CHECK(rank < world_size && wide == 0);
        CHECK(!breaks(p, p->weight, world_size, STATESAMPLER_EINVAL_NO_STEPS));
        p->desc[0].rank = rank;
        p->desc[0].world_size = world_size;
    } else if (code == STATESAMPLER_EINVAL_RANK) {
        CHECK(rank >= world_size);
    } else if (code == STATESAMPLER_EINVAL_GLOBAL_BATCH) {
        CHECK(wide > 0);
    } else {
        CHECK(breaks(p, p->weight, world_size, code));
    }
    return code;
}

/* --- Where an epoch of the mix ends --------------------------------------- */

/* Whether a source has finished an epoch in this one of the mix: from the
   state, which says so. */
static int finished(const forged_party *p, uint32_t i)
{
    unsigned char state[FORGED_MIX_BYTES];
    must_mix_save(&p->mix, state);
    return forge_get(state + FORGE_SOURCE(i), FORGE_SOURCE_FLAGS) & 1;
}

static int has_left(const forged_party *p, uint32_t i)
{
    const statesampler *s = &p->source[i].sampler;
    return statesampler_step(s) < statesampler_num_steps(s);
}

/* Of the sources that take turns: how many there are, have steps left (with
   RESTART of the epoch that the mix's found them in), and have begun another
   epoch. */
typedef struct turn_takers {
    uint32_t all, left, anew;
} turn_takers;

static turn_takers take_turns(const forged_party *p)
{
    const int restart = p->stop == STATESAMPLER_STOP_RESTART;
    turn_takers of = {0, 0, 0};
    uint32_t i;
    for (i = 0; i < p->count; i++) {
        if (p->weight[i] == STATESAMPLER_OFF ||
            !(restart ? contract_has_steps(p->desc[i], p->desc[0].world_size)
                      : statesampler_num_steps(&p->source[i].sampler) > 0))
            continue;
        of.all++;
        of.left += has_left(p, i) && !(restart && finished(p, i));
        of.anew += (uint32_t)finished(p, i);
    }
    return of;
}

/* From the end of the mix's epoch: those that are off and in the middle of
   theirs stay there, of the others who has served anything begins anew. */
static void begin(forged_party *p)
{
    static forged_party before;
    uint32_t i;
    copy(&before, p);
    CHECK(statesampler_mix_next(&p->mix, NULL, NULL, NULL) == 0);
    CHECK(statesampler_mix_turn(&p->mix) == 0);
    CHECK(statesampler_mix_epoch(&p->mix) ==
          statesampler_mix_epoch(&before.mix) + 1);
    for (i = 0; i < p->count; i++) {
        const statesampler *was = &before.source[i].sampler;
        const statesampler *is = &p->source[i].sampler;
        const int anew =
            statesampler_step(was) > 0 &&
            (p->weight[i] != STATESAMPLER_OFF || !has_left(&before, i));
        CHECK(statesampler_epoch(is) ==
              statesampler_epoch(was) + (unsigned)anew);
        CHECK(statesampler_position(is) ==
              (anew ? 0 : statesampler_position(was)));
        CHECK(!finished(p, i));
    }
}

/* The end of this epoch and of the next, where seek reaches them: the turn
   before it is still to come, and it is not. */
static void check_end(const forged_party *p)
{
    static forged_party there;
    int epochs;
    copy(&there, p);
    for (epochs = 0; epochs < 2; epochs++) {
        const uint64_t end = statesampler_mix_num_turns(&there.mix);
        turn_takers of;
        if (contract_mix_seek(&there.mix, end) != STATESAMPLER_OK)
            return; /* NEVER, or past what seek reaches */
        of = take_turns(&there);
        CHECK(p->stop == STATESAMPLER_STOP_FIRST
                  ? of.left < of.all || of.all == 0
                  : of.left == 0);
        if (statesampler_mix_seek(&there.mix, end - 1) == STATESAMPLER_OK) {
            of = take_turns(&there);
            CHECK(p->stop != STATESAMPLER_STOP_ALL || of.left > 0);
            CHECK(p->stop != STATESAMPLER_STOP_RESTART || of.anew < of.all);
            CHECK(statesampler_mix_seek(&there.mix, end) == STATESAMPLER_OK);
        }
        begin(&there);
    }
}

/* --- Calls ---------------------------------------------------------------- */

/* A call that may be refused, and then changes nothing. */
static void call(forged_party *p)
{
    static forged_party before;
    uint32_t weights[FORGED_SOURCES], i;
    int code = STATESAMPLER_OK;
    before = *p;
    switch (check_random(4)) {
    case 0:
        code = contract_mix_seek(&p->mix,
                                 forged_value(statesampler_mix_turn(&p->mix)));
        break;
    case 1:
        for (i = 0; i < p->count; i++)
            weights[i] = (uint32_t)forged_value(p->weight[i]);
        code = call_weigh(p, weights);
        break;
    case 2:
        i = (uint32_t)forged_value(p->desc[0].world_size);
        code = call_reshape(p, (uint32_t)check_random(8), i);
        break;
    default:
        for (i = 0; i < 5; i++)
            if (statesampler_mix_turn(&p->mix) <
                statesampler_mix_num_turns(&p->mix))
                CHECK(statesampler_mix_next(&p->mix, NULL, NULL, NULL) == 1);
            else
                begin(p);
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
    /* From a forged turn or tick next may come past what load takes, or to
       where another sequence has to begin: no run does. */
    if ((forge_get(state, FORGE_MIX_TURN) | forge_get(state, FORGE_MIX_TICK)) >>
        62)
        return;
    for (i = 0; i < p->count; i++)
        fits &= p->desc[i].batch_size <= MODEL_BATCH;
    copy(&a, p);
    copy(&b, p);
    CHECK(statesampler_mix_load(&b.mix, state, size) == STATESAMPLER_OK);
    must_mix_save(&b.mix, again);
    forge_move_bases(state, p->count);
    forge_move_bases(again, p->count);
    CHECK(memcmp(state, again, size) == 0);
    CHECK(statesampler_mix_save(&b.mix, again, size - 1) ==
          STATESAMPLER_ECAPACITY);
    contract_mix_offset(&b.mix, p->count);
    for (turns = 0; turns < 12; turns++) {
        size_t count[2] = {SIZE_MAX, SIZE_MAX};
        const uint64_t turn = statesampler_mix_turn(&a.mix);
        int code = statesampler_mix_at(&b.mix, turn, fits ? out[0] : NULL,
                                       &count[0], &source[0]);
        if (code == STATESAMPLER_ERANGE_FAR)
            return;
        CHECK(code == (turn < statesampler_mix_num_turns(&a.mix)));
        if (code == 1 && fits)
            contract_mix_locate(&a.mix, source[0], p->desc[0].rank, out[0],
                                count[0]);
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
        check_end(&p);
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

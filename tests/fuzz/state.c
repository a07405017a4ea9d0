/* state.c - bytes that say they are a sampler's state: raw, raw with a right
   check word, or made from an honest one. Refused with nothing changed, or one
   from which a run goes on safely, and keeps the manual's promises? */
#include "fuzz.h"
#include "contract.h"

/* What has loaded it keeps all promises, as any rank. */
static void check_loaded(const unsigned char *state)
{
    statesampler_desc d;
    statesampler s;
    CHECK(statesampler_describe(state, FORGED_BYTES, &d, NULL) ==
          STATESAMPLER_OK);
    d.rank = (uint32_t)check_random(d.world_size);
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(statesampler_load(&s, state, FORGED_BYTES) == STATESAMPLER_OK);
    contract_check(&s, d.rank);
}

/* A sampler of another run refuses it, and says why; so does any where a bit of
   it has changed, as each step of the check word is a bijection. */
static void check_refused(const unsigned char *state)
{
    unsigned char other[FORGED_BYTES];
    statesampler_desc d;
    statesampler s, before;
    const uint64_t bit = check_random(8 * FORGED_BYTES);
    int code;
    CHECK(statesampler_describe(state, FORGED_BYTES, &d, NULL) ==
          STATESAMPLER_OK);
    code = forged_other_run(&d);
    if (statesampler_init(&s, &d) != STATESAMPLER_OK)
        return;
    memcpy(&before, &s, sizeof s);
    CHECK(statesampler_load(&s, state, FORGED_BYTES) == code);
    if (code != STATESAMPLER_OK) {
        fuzz_came_to("another run");
        CHECK(contract_same(&s, &before, sizeof s));
    }
    memcpy(&before, &s, sizeof s);
    memcpy(other, state, FORGED_BYTES);
    other[bit / 8] ^= (unsigned char)(1 << bit % 8);
    code = STATESAMPLER_KIND(statesampler_load(&s, other, FORGED_BYTES));
    CHECK(code == STATESAMPLER_ECORRUPT || code == STATESAMPLER_EVERSION);
    CHECK(contract_same(&s, &before, sizeof s));
}

/* The rest of the input; with all choices then 0. */
static void raw(int sealed)
{
    size_t size;
    unsigned char *state = fuzz_rest(&size);
    if (sealed && size >= 8 && size % 8 == 0)
        forge_seal(state, size);
    fuzz_came_with(state, size);
    if (forged_check_sampler(state, size)) {
        fuzz_came_to("taken");
        check_refused(state);
        check_loaded(state);
    }
    free(state);
}

static void fuzz(void)
{
    unsigned char state[FORGED_BYTES];
    const uint64_t how = check_random(8);
    if (how < 2) {
        raw(how == 1);
        return;
    }
    forged_sampler_state(state, (int)check_random(4));
    fuzz_came_with(state, sizeof state);
    if (forged_check_sampler(state, sizeof state)) {
        fuzz_came_to("taken");
        check_refused(state);
        check_loaded(state);
    }
}

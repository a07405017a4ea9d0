/* test_forged.c - is a state that nobody has saved, but whose check word is
   right, either refused with nothing changed, or one that a run could have
   saved? */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "check.h"
#include "must.h"
#include "forge.h"
#include "model.h"
#include "forged.h"

static void test_samplers(int cases)
{
    unsigned char state[FORGED_BYTES];
    int i, taken = 0;
    for (i = 0; i < cases; i++) {
        forged_sampler_state(state, i % 8 == 0 ? 3 : 1);
        taken += forged_check_sampler(state, sizeof state);
    }
    CHECK(taken > cases / 20 && taken < cases / 4 * 3);
}

static void test_mixes(int cases)
{
    unsigned char state[FORGED_MIX_BYTES];
    int i, taken = 0;
    for (i = 0; i < cases; i++) {
        forged_mix_state(state, i % 8 == 0 ? 3 : 1);
        taken += forged_check_mix(state, sizeof state);
    }
    CHECK(taken > cases / 20 && taken < cases / 4 * 3);
}

/* --- By name -------------------------------------------------------------- */

/* A mix of these samplers that has taken some turns, saved. */
static void save_mix(forged_party *p, unsigned char *state, uint64_t turns)
{
    CHECK(forged_start(p) == STATESAMPLER_OK);
    CHECK(statesampler_mix_seek(&p->mix, turns) == STATESAMPLER_OK);
    must_mix_save(&p->mix, state);
}

static void check_refused(forged_party *p, unsigned char *state, int code)
{
    static forged_party before;
    forge_seal(state, FORGED_MIX_BYTES);
    before = *p;
    CHECK(statesampler_mix_load(&p->mix, state, FORGED_MIX_BYTES) == code);
    CHECK(memcmp(&p->mix, &before.mix, sizeof p->mix) == 0);
    CHECK(memcmp(p->source, before.source, sizeof p->source) == 0);
}

static void plain_mix(forged_party *p, uint32_t stop, uint64_t n,
                      uint32_t batch)
{
    uint32_t i;
    memset(p, 0, sizeof *p);
    p->count = FORGED_SOURCES;
    p->stop = stop;
    for (i = 0; i < FORGED_SOURCES; i++)
        p->desc[i] = model_desc(n + i, 1, batch);
}

/* Turn 1,000,000 of 125, and the first that there is not. */
static void test_turn_past_end(void)
{
    static forged_party p;
    unsigned char state[FORGED_MIX_BYTES];
    uint32_t stop;
    for (stop = 0; stop < 3; stop++) {
        uint64_t end;
        plain_mix(&p, stop, 41, 1);
        save_mix(&p, state, 10);
        end = statesampler_mix_num_turns(&p.mix);
        CHECK(end == (stop == STATESAMPLER_STOP_FIRST ? 123
                      : stop == STATESAMPLER_STOP_ALL ? 126
                                                      : 131));
        forge_put(state, FORGE_MIX_TURN, 1000000);
        check_refused(&p, state, ECORRUPT_TURN);
        forge_put(state, FORGE_MIX_TURN, end + 1);
        check_refused(&p, state, ECORRUPT_TURN);
        forge_put(state, FORGE_MIX_TURN, end);
        forge_seal(state, FORGED_MIX_BYTES);
        CHECK(forged_load_mix(&p, state, FORGED_MIX_BYTES));
        CHECK(statesampler_mix_turn(&p.mix) == end);
        /* One that leaves out steps which the state's mix serves. */
        p.desc[1].drop_last = 1;
        CHECK(forged_start(&p) == STATESAMPLER_OK);
        forge_put(state, FORGE_MIX_TURN, end + 1);
        check_refused(&p, state, ECORRUPT_TURN);
        /* And one of another shape. */
        plain_mix(&p, stop, 41, 2);
        CHECK(forged_start(&p) == STATESAMPLER_OK);
        check_refused(&p, state, ECORRUPT_TURN);
    }
}

/* A mix without end is saved up to turn 3 * 2^61, where no run comes. */
static void test_turn_past_all(void)
{
    static forged_party p;
    unsigned char state[FORGED_MIX_BYTES];
    plain_mix(&p, STATESAMPLER_STOP_NEVER, 41, 1);
    save_mix(&p, state, 10);
    forge_put(state, FORGE_MIX_TURN, ((uint64_t)3 << 61) + 1);
    check_refused(&p, state, ECORRUPT_TURN);
    forge_put(state, FORGE_MIX_TURN, (uint64_t)3 << 61);
    forge_seal(state, FORGED_MIX_BYTES);
    CHECK(forged_load_mix(&p, state, FORGED_MIX_BYTES));
    CHECK(statesampler_mix_turn(&p.mix) == (uint64_t)3 << 61);
}

/* With CARRY and a global batch of 8, 2^62 positions are 2^59 steps: the base
   has moved before the turn 2^59 + 5 of a mix that has only such a source. */
static void test_carry_past_reach(void)
{
    static forged_party p;
    unsigned char state[FORGED_MIX_BYTES];
    uint64_t turn;
    plain_mix(&p, STATESAMPLER_STOP_NEVER, 1000, 8);
    p.desc[0].tail = STATESAMPLER_TAIL_CARRY;
    p.desc[1].num_samples = p.desc[2].num_samples = 0;
    save_mix(&p, state, 10);
    for (turn = ((uint64_t)1 << 59) + 1; turn < ((uint64_t)1 << 59) + 9;
         turn++) {
        forge_put(state, FORGE_MIX_TURN, turn);
        check_refused(&p, state, ECORRUPT_TURN);
    }
    forge_put(state, FORGE_MIX_TURN, ((uint64_t)1 << 59) - 1);
    forge_seal(state, FORGED_MIX_BYTES);
    CHECK(forged_load_mix(&p, state, FORGED_MIX_BYTES));
    CHECK(statesampler_step(&p.source[0].sampler) ==
          ((uint64_t)1 << 59) - 1);
    forge_put(state, FORGE_MIX_TURN, (uint64_t)1 << 59);
    forge_seal(state, FORGED_MIX_BYTES);
    CHECK(forged_load_mix(&p, state, FORGED_MIX_BYTES));
    CHECK(statesampler_mix_turn(&p.mix) == (uint64_t)1 << 59);
    /* And it has no last step to leave out. */
    save_mix(&p, state, 10);
    forge_put(state + FORGE_SOURCE(0), FORGE_SOURCE_FLAGS, 2);
    check_refused(&p, state, ECORRUPT_DESC);
}

/* ALL ends before point 2^62 of the sequence. From a base far past it a light
   source's last turns come where points end, and are no longer told apart;
   with short sources, what is saved next is past what load takes. */
static void test_base_past_sequence(void)
{
    static const uint64_t points[] = {
        ((uint64_t)3 << 61) - 3, (uint64_t)3 << 61, ((uint64_t)3 << 61) + 3,
        (uint64_t)1 << 63, UINT64_MAX
    };
    static forged_party p;
    unsigned char state[FORGED_MIX_BYTES];
    size_t i;
    int lengthy;
    for (lengthy = 0; lengthy < 2; lengthy++) {
        plain_mix(&p, STATESAMPLER_STOP_ALL, 41, 1);
        if (lengthy) { /* and heavy: nearly as much as mix_init takes */
            p.desc[0].num_samples = 4000000000u;
            p.weight[2] = 1u << 30;
        }
        save_mix(&p, state, 10);
        forge_put(state, FORGE_MIX_BASE_TURN, 10);
        for (i = 0; i < FORGED_COUNT(points); i++) {
            forge_put(state, FORGE_MIX_BASE_POINT, points[i]);
            check_refused(&p, state, ECORRUPT_POINT);
        }
    }
    forge_put(state, FORGE_MIX_BASE_POINT, (uint64_t)5 << 60);
    check_refused(&p, state, ECORRUPT_POINT);
}

/* With ALL the sequence is ahead of the turns where some were passed over, but
   not at the epoch's start. */
static void test_point_ahead(void)
{
    static forged_party p;
    unsigned char state[FORGED_MIX_BYTES];
    plain_mix(&p, STATESAMPLER_STOP_ALL, 41, 1);
    save_mix(&p, state, 0);
    forge_put(state, FORGE_MIX_BASE_POINT, 1);
    check_refused(&p, state, ECORRUPT_POINT);
    forge_put(state, FORGE_MIX_TURN, 1);
    forge_put(state, FORGE_MIX_BASE_TURN, 1);
    forge_put(state, FORGE_MIX_BASE_POINT, 2);
    forge_seal(state, FORGED_MIX_BYTES);
    CHECK(forged_load_mix(&p, state, FORGED_MIX_BYTES));
}

/* So many sources that their 88 bytes each, counted in 32 bits, come round to
   this state's size. */
static void test_count_that_wraps(void)
{
    static forged_party p;
    unsigned char state[FORGE_MIX_BYTES(9)];
    uint32_t i;
    plain_mix(&p, STATESAMPLER_STOP_FIRST, 41, 1);
    CHECK(forged_start(&p) == STATESAMPLER_OK);
    for (i = 1; i < 88; i++) {
        /* The first count whose bytes pass i * 2^32. */
        uint64_t count = (((uint64_t)i << 32) + 87) / 88;
        size_t size = (size_t)((56 + 88 * count) & 0xffffffffu);
        static forged_party before;
        statesampler_mix_place place;
        memset(state, 0, sizeof state);
        CHECK(size <= sizeof state && size % 8 == 0);
        memcpy(state, "SSMX", 4);
        forge_put(state, FORGE_VERSION, 1);
        forge_put(state, FORGE_ALGORITHM, STATESAMPLER_ALGORITHM);
        forge_put(state, FORGE_MIX_SOURCES, count);
        forge_seal(state, size);
        before = p;
        CHECK(statesampler_mix_load(&p.mix, state, size) ==
              ECORRUPT_SIZE);
        CHECK(memcmp(p.source, before.source, sizeof p.source) == 0);
        CHECK(statesampler_mix_describe(state, size, (uint32_t)count - 1,
                                        NULL, &place) ==
              ECORRUPT_SIZE);
    }
}

int main(int argc, char **argv)
{
    int reduced = check_reduced(argc, argv);
    test_turn_past_end();
    test_turn_past_all();
    test_carry_past_reach();
    test_base_past_sequence();
    test_point_ahead();
    test_count_that_wraps();
    test_samplers(reduced ? 3000 : 120000);
    test_mixes(reduced ? 3000 : 80000);
    return check_done("test_forged");
}

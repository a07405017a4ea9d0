/* test_forged.c - is a state that nobody has saved, but whose check word is
   right, either refused with nothing changed, or one from which a run goes on
   safely: no call runs for ever, and `next` serves what `at` says? */
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
    forge_seal_mix(state, FORGED_SOURCES);
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

static void check_taken(forged_party *p, unsigned char *state)
{
    forge_seal_mix(state, FORGED_SOURCES);
    CHECK(forged_load_mix(p, state, FORGED_MIX_BYTES));
    forged_check_taken_mix(p, state);
}

/* Turns and ticks are below 2^63, so that no sum of two overflows. */
static void test_turns(void)
{
    static const uint64_t far[] = {(uint64_t)1 << 63, UINT64_MAX};
    static forged_party p;
    unsigned char state[FORGED_MIX_BYTES];
    uint32_t stop;
    size_t i;
    for (stop = 0; stop < STOPS; stop++) {
        plain_mix(&p, stop, 41, 1);
        save_mix(&p, state, 10);
        for (i = 0; i < FORGED_COUNT(far); i++) {
            forge_put(state, FORGE_MIX_TURN, far[i]);
            check_refused(&p, state, STATESAMPLER_ECORRUPT_TURN);
            forge_put(state, FORGE_MIX_TURN, 10);
            forge_put(state, FORGE_MIX_TICK, far[i]);
            check_refused(&p, state, STATESAMPLER_ECORRUPT_TURN);
            forge_put(state, FORGE_MIX_TICK, 10);
        }
        forge_put(state, FORGE_MIX_TURN, far[0] - 1);
        check_taken(&p, state);
        CHECK(statesampler_mix_turn(&p.mix) >= far[0] - 1);
    }
}

/* A turn past the end is taken: what the sources have left is still served. */
static void test_turn_past_end(void)
{
    static const uint64_t left[] = {123 - 10, 126 - 10, 131 - 10};
    static forged_party p;
    unsigned char state[FORGED_MIX_BYTES];
    uint32_t stop;
    for (stop = 0; stop < 3; stop++) {
        plain_mix(&p, stop, 41, 1);
        save_mix(&p, state, 10);
        forge_put(state, FORGE_MIX_TURN, 1000000);
        forge_seal_mix(state, FORGED_SOURCES);
        CHECK(forged_load_mix(&p, state, FORGED_MIX_BYTES));
        CHECK(statesampler_mix_num_turns(&p.mix) == 1000000 + left[stop]);
        forged_check_taken_mix(&p, state);
    }
}

/* From a tick so far on that what is left does not fit in the sequence, another
   one begins. */
static void test_tick_past_sequence(void)
{
    static forged_party p;
    unsigned char state[FORGED_MIX_BYTES], again[FORGED_MIX_BYTES];
    uint32_t stop;
    for (stop = 0; stop < STOPS; stop++) {
        plain_mix(&p, stop, 41, 1);
        save_mix(&p, state, 10);
        forge_put(state, FORGE_MIX_TICK, ((uint64_t)1 << 63) - 200);
        forge_seal_mix(state, FORGED_SOURCES);
        CHECK(forged_load_mix(&p, state, FORGED_MIX_BYTES));
        forged_check_taken_mix(&p, state);
        forge_put(state, FORGE_MIX_TICK, ((uint64_t)1 << 63) - 2);
        forge_seal_mix(state, FORGED_SOURCES);
        CHECK(forged_load_mix(&p, state, FORGED_MIX_BYTES));
        must_mix_save(&p.mix, again);
        CHECK((forge_get(again, FORGE_MIX_TICK) == 0) ==
              (stop != STATESAMPLER_STOP_NEVER));
        forged_check_taken_mix(&p, state);
    }
}

/* NEVER has no end that the sequence must reach. Of what comes where ticks no
   longer fit, nobody finds the turn. */
static void test_locate_far(void)
{
    static forged_party p;
    unsigned char state[FORGED_MIX_BYTES];
    statesampler_place place;
    uint64_t turn, index;
    size_t count;
    plain_mix(&p, STATESAMPLER_STOP_NEVER, 41, 1);
    save_mix(&p, state, 0);
    forge_put(state, FORGE_MIX_TICK, ((uint64_t)1 << 63) - 1);
    forge_seal_mix(state, FORGED_SOURCES);
    CHECK(forged_load_mix(&p, state, FORGED_MIX_BYTES));
    CHECK(statesampler_at(&p.source[0].sampler, 7, &index, &count) == 1);
    CHECK(statesampler_mix_locate(&p.mix, 0, index, &turn, &place) ==
          STATESAMPLER_ERANGE_FAR);
}

/* The steps of a sampler stay below 2^64, those to come included. */
static void test_steps(void)
{
    const uint64_t most = ((uint64_t)5 << 61) - 1;
    statesampler_desc d = model_desc((uint64_t)1 << 62, 1, 1);
    unsigned char state[FORGED_BYTES];
    statesampler s;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    must_save(&s, state);
    forge_put(state, FORGE_BASE_STEP, most + 1);
    forge_seal(state, FORGED_BYTES);
    CHECK(statesampler_load(&s, state, FORGED_BYTES) ==
          STATESAMPLER_ECORRUPT_BASE);
    forge_put(state, FORGE_BASE_STEP, most);
    forge_seal(state, FORGED_BYTES);
    CHECK(statesampler_load(&s, state, FORGED_BYTES) == STATESAMPLER_OK);
    CHECK(statesampler_num_steps(&s) == most + ((uint64_t)1 << 62));
}

/* 200 blocks give an epoch of 101 samples a full step of 200; in blocks of its
   own it has none. Such a source takes no turns with RESTART, and nobody finds
   a sample of it. */
static void test_epoch_without_turns(void)
{
    static forged_party p;
    unsigned char state[FORGED_MIX_BYTES];
    statesampler_place place;
    uint64_t turn;
    uint32_t i;
    plain_mix(&p, STATESAMPLER_STOP_RESTART, 101, 100);
    for (i = 0; i < FORGED_SOURCES; i++) {
        p.desc[i].num_samples = 101;
        p.desc[i].partition = STATESAMPLER_PARTITION_BLOCKED;
        p.desc[i].world_size = 2;
        p.desc[i].drop_last = 1;
    }
    save_mix(&p, state, 0);
    for (i = 0; i < FORGED_SOURCES; i++)
        forge_put(state + FORGE_SAMPLER(i), FORGE_BLOCKS, 200);
    check_taken(&p, state);
    CHECK(forged_load_mix(&p, state, FORGED_MIX_BYTES));
    CHECK(statesampler_num_steps(&p.source[0].sampler) == 1);
    CHECK(statesampler_mix_num_turns(&p.mix) == 0);
    CHECK(statesampler_mix_locate(&p.mix, 0, 0, &turn, &place) ==
          STATESAMPLER_ERANGE_DROPPED);
}

/* So many sources that their 120 bytes each, counted in 32 bits, come round to
   this state's size. */
static void test_count_that_wraps(void)
{
    static forged_party p;
    unsigned char state[FORGE_MIX_BYTES(9)];
    uint32_t i;
    plain_mix(&p, STATESAMPLER_STOP_FIRST, 41, 1);
    CHECK(forged_start(&p) == STATESAMPLER_OK);
    for (i = 1; i < 120; i++) {
        /* The first count whose bytes pass i * 2^32. */
        uint64_t count = (((uint64_t)i << 32) + 119) / 120;
        size_t size = (size_t)((48 + 120 * count) & 0xffffffffu);
        static forged_party before;
        statesampler_mix_place place;
        memset(state, 0, sizeof state);
        CHECK(size <= sizeof state && size % 8 == 0);
        memcpy(state, "SSMX", 4);
        forge_put(state, FORGE_VERSION, 2);
        forge_put(state, FORGE_ALGORITHM, STATESAMPLER_ALGORITHM);
        forge_put(state, FORGE_MIX_SOURCES, count);
        forge_seal(state, size);
        before = p;
        CHECK(statesampler_mix_load(&p.mix, state, size) ==
              STATESAMPLER_ECORRUPT_SIZE);
        CHECK(memcmp(p.source, before.source, sizeof p.source) == 0);
        CHECK(statesampler_mix_describe(state, size, (uint32_t)count - 1, NULL,
                                        &place) == STATESAMPLER_ECORRUPT_SIZE);
    }
}

int main(int argc, char **argv)
{
    int reduced = check_reduced(argc, argv);
    test_turns();
    test_turn_past_end();
    test_tick_past_sequence();
    test_locate_far();
    test_steps();
    test_epoch_without_turns();
    test_count_that_wraps();
    test_samplers(reduced ? 3000 : 50000);
    test_mixes(reduced ? 3000 : 30000);
    return check_done("test_forged");
}

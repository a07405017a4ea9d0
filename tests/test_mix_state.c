/* test_mix_state.c - are the bytes of a mix's state what the header's table
   says, and is every damaged one refused, with nothing changed?

   The table and the check word are those of forge.h, from the manual. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "check.h"
#include "must.h"
#include "forge.h"

#define SOURCES 3
#define BYTES (48 + 120 * SOURCES)

static statesampler_source sources[SOURCES];
static statesampler_mix mix;

static statesampler_desc describe(uint32_t source, uint32_t world,
                                  uint32_t rank)
{
    statesampler_desc d;
    memset(&d, 0, sizeof d);
    d.num_samples = 100 + source;
    d.seed = 21;
    d.epoch = 6 + source;
    d.stream = source;
    d.rank = rank;
    d.world_size = world;
    d.batch_size = 4;
    d.order =
        source == 1 ? STATESAMPLER_ORDER_WINDOW : STATESAMPLER_ORDER_SHUFFLE;
    d.partition = source == 2 ? STATESAMPLER_PARTITION_BLOCKED
                              : STATESAMPLER_PARTITION_INTERLEAVED;
    d.tail = source;
    d.drop_last = source == 2;
    d.chunk_size = 16;
    d.window = 5;
    return d;
}

static void start(uint32_t world, uint32_t rank, uint32_t stop)
{
    uint32_t i;
    for (i = 0; i < SOURCES; i++) {
        statesampler_desc d = describe(i, world, rank);
        CHECK(statesampler_init(&sources[i].sampler, &d) == STATESAMPLER_OK);
        sources[i].weight = 3 - i;
    }
    CHECK(statesampler_mix_init(&mix, sources, SOURCES, stop) ==
          STATESAMPLER_OK);
}

static void next(unsigned turns)
{
    size_t count;
    uint32_t source;
    while (turns-- > 0)
        CHECK(statesampler_mix_next(&mix, NULL, &count, &source) == 1);
}

/* A state from the middle of things: sources in later epochs, a base. */
static void save(unsigned char *state)
{
    start(3, 1, STATESAMPLER_STOP_RESTART);
    next(30);
    must_mix_save(&mix, state);
    start(2, 0, STATESAMPLER_STOP_RESTART);
    CHECK(statesampler_mix_load(&mix, state, BYTES) == STATESAMPLER_OK);
    next(20);
    CHECK(statesampler_mix_state_bytes(&mix) == BYTES);
    must_mix_save(&mix, state);
}

/* A source of a state: its weight and flags, and its sampler's own state. */
static void check_source(const unsigned char *state, uint32_t source,
                         uint64_t flags)
{
    const size_t at = 40 + 120 * (size_t)source;
    unsigned char own[STATESAMPLER_STATE_BYTES];
    CHECK(forge_get(state, at, 4) == 3 - source);
    CHECK(forge_get(state, at + 4, 4) == flags);
    must_save(&sources[source].sampler, own);
    CHECK(memcmp(state + at + 8, own, sizeof own) == 0);
}

static void check_table(void)
{
    unsigned char state[BYTES];
    uint32_t i;
    start(3, 2, STATESAMPLER_STOP_RESTART);
    next(30);
    must_mix_save(&mix, state);
    CHECK(memcmp(state, "SSMX", 4) == 0);
    CHECK(forge_get(state, 4, 2) == 2);
    CHECK(forge_get(state, 6, 2) == STATESAMPLER_ALGORITHM);
    CHECK(forge_get(state, 8, 4) == SOURCES);
    CHECK(forge_get(state, 12, 4) == STATESAMPLER_STOP_RESTART);
    CHECK(forge_get(state, 16, 8) == 0);
    CHECK(forge_get(state, 24, 8) == 30);
    CHECK(forge_get(state, 32, 8) == 30);
    for (i = 0; i < SOURCES; i++) /* 15, 10 and 5 turns, of 9 each */
        check_source(state, i, i < 2 ? 3 : 2);
    CHECK(forge_get(state, BYTES - 8, 8) == forge_check_word(state, BYTES - 8));

    /* In another shape turns and the sequence go on. The third is still in the
       blocks that its epoch began with. */
    start(2, 0, STATESAMPLER_STOP_RESTART);
    CHECK(statesampler_mix_load(&mix, state, BYTES) == STATESAMPLER_OK);
    next(7);
    must_mix_save(&mix, state);
    CHECK(forge_get(state, 24, 8) == 37);
    CHECK(forge_get(state, 32, 8) == 37);
    for (i = 0; i < SOURCES; i++)
        check_source(state, i, i < 2 ? 3 : 2);
    CHECK(forge_get(state, 40 + 240 + 8 + 52, 4) == 3);
    CHECK(forge_get(state, 40 + 240 + 8 + 96, 8) == 5);
    CHECK(forge_get(state, BYTES - 8, 8) == forge_check_word(state, BYTES - 8));

    /* With ALL the sequence is ahead by the turns that were passed over. */
    start(3, 0, STATESAMPLER_STOP_ALL);
    next(25); /* 12 of them would be the first one's, which has 9 steps */
    must_mix_save(&mix, state);
    CHECK(forge_get(state, 24, 8) == 25);
    CHECK(forge_get(state, 32, 8) > 25);

    /* A second epoch counts, and a source without steps has no seat. */
    start(30, 0, STATESAMPLER_STOP_FIRST);
    next((unsigned)statesampler_mix_num_turns(&mix));
    {
        size_t count;
        uint32_t source;
        CHECK(statesampler_mix_next(&mix, NULL, &count, &source) == 0);
    }
    must_mix_save(&mix, state);
    CHECK(forge_get(state, 16, 8) == 1 && forge_get(state, 24, 8) == 0);
    CHECK(forge_get(state, 32, 8) == 0);
    CHECK(forge_get(state, 12, 4) == STATESAMPLER_STOP_FIRST);
    CHECK(statesampler_num_steps(&sources[2].sampler) == 0);
    for (i = 0; i < SOURCES; i++)
        check_source(state, i, i == 2 ? 0 : 2);
}

static void check_ranks(void)
{
    unsigned char state[BYTES], other[BYTES];
    uint32_t rank, turns;
    for (turns = 0; turns < 60; turns++)
        for (rank = 0; rank < 5; rank++) {
            start(5, rank, STATESAMPLER_STOP_NEVER);
            next(turns);
            must_mix_save(&mix, rank ? other : state);
            CHECK(rank == 0 || memcmp(state, other, BYTES) == 0);
        }
}

/* Refused, and every byte of the mix and of its sources is as it was. */
static void refused(const unsigned char *state, size_t size, int code)
{
    static statesampler_source before[SOURCES];
    statesampler_mix was;
    memcpy(before, sources, sizeof sources);
    memcpy(&was, &mix, sizeof mix);
    CHECK_KIND(statesampler_mix_load(&mix, state, size), code);
    CHECK(check_same_bytes(before, sources, sizeof sources));
    CHECK(check_same_bytes(&was, &mix, sizeof mix));
}

static void check_damage(int reduced)
{
    static unsigned char state[BYTES + 120];
    size_t i;
    save(state);
    start(2, 1, STATESAMPLER_STOP_RESTART);
    next(5);
    for (i = 0; i < 8 * BYTES; i += reduced ? 3 : 1) {
        int code = STATESAMPLER_ECORRUPT;
        if (i / 8 == 4 || i / 8 == 5) /* another version; 0 is none */
            code = i == 33 ? code : STATESAMPLER_EVERSION;
        state[i / 8] ^= (unsigned char)(1 << i % 8);
        refused(state, BYTES, code);
        state[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    for (i = 0; i < sizeof state; i++)
        if (i != BYTES)
            refused(state, i, STATESAMPLER_ECORRUPT);
    refused(NULL, 0, STATESAMPLER_ECORRUPT);
    /* Whole, but of a turn that no mix is at. */
    i = (size_t)forge_get(state, FORGE_MIX_TURN);
    forge_put(state, FORGE_MIX_TURN, UINT64_MAX);
    forge_seal(state, BYTES);
    refused(state, BYTES, STATESAMPLER_ECORRUPT);
    forge_put(state, FORGE_MIX_TURN, i);
    /* Its own check word is right, a sampler's is not. */
    state[FORGE_SAMPLER(1) + 70] ^= 1;
    forge_seal(state, BYTES);
    refused(state, BYTES, STATESAMPLER_ECORRUPT);
    state[FORGE_SAMPLER(1) + 70] ^= 1;
    forge_seal(state, BYTES);
    CHECK(statesampler_mix_load(&mix, state, BYTES) == STATESAMPLER_OK);
    CHECK(statesampler_mix_turn(&mix) == 50);
}

int main(int argc, char **argv)
{
    int reduced = check_reduced(argc, argv);
    check_table();
    check_ranks();
    check_damage(reduced);
    return check_done("test_mix_state");
}

/* test_mix_state.c - are the bytes of a mix's state what the header's table
   says, and is every damaged or foreign one refused by name, with nothing
   changed?

   The table and the check word are those of forge.h, from the manual. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "check.h"
#include "must.h"
#include "forge.h"

#define SOURCES 3
#define BYTES (56 + 88 * SOURCES)

static statesampler_source sources[SOURCES + 1];
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
    d.order = source == 1 ? STATESAMPLER_ORDER_WINDOW : STATESAMPLER_ORDER_SHUFFLE;
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

static void check_table(void)
{
    unsigned char state[BYTES], own[STATESAMPLER_STATE_BYTES];
    uint32_t i;
    uint64_t base;
    start(3, 2, STATESAMPLER_STOP_RESTART);
    next(30);
    must_mix_save(&mix, state);
    CHECK(memcmp(state, "SSMX", 4) == 0);
    CHECK(forge_get(state, 4, 2) == 1);
    CHECK(forge_get(state, 6, 2) == STATESAMPLER_ALGORITHM);
    CHECK(forge_get(state, 8, 4) == SOURCES);
    CHECK(forge_get(state, 12, 4) == STATESAMPLER_STOP_RESTART);
    CHECK(forge_get(state, 16, 8) == 0);
    CHECK(forge_get(state, 24, 8) == 30);
    CHECK(forge_get(state, 32, 8) == 0);
    CHECK(forge_get(state, 40, 8) == 0);
    for (i = 0; i < SOURCES; i++) {
        size_t at = 48 + 88 * (size_t)i;
        CHECK(forge_get(state, at, 4) == 3 - i);
        CHECK(forge_get(state, at + 4, 1) == (i == 2 ? 2u : 0u));
        CHECK(forge_get(state, at + 5, 3) == 0);
        must_save(&sources[i].sampler, own);
        CHECK(memcmp(state + at + 8, own + 8, 56) == 0);
        CHECK(forge_get(state, at + 56, 4) == 3);
        CHECK(forge_get(state, at + 60, 4) == 4);
        CHECK(forge_get(state, at + 64, 8) == 6 + i);
        CHECK(forge_get(state, at + 72, 8) == 0);
        CHECK(forge_get(state, at + 80, 8) == 0);
    }
    CHECK(forge_get(state, BYTES - 8, 8) == forge_check_word(state, BYTES - 8));

    /* In another shape the base is the loaded turn: of a source that has
       begun anew, and of the blocks that its epoch began with. */
    start(2, 0, STATESAMPLER_STOP_RESTART);
    CHECK(statesampler_mix_load(&mix, state, BYTES) == STATESAMPLER_OK);
    next(7);
    must_mix_save(&mix, state);
    CHECK(forge_get(state, 24, 8) == 37);
    CHECK(forge_get(state, 32, 8) == 30);
    CHECK(forge_get(state, 40, 8) == 30);
    base = 30 / 6 * 3; /* turns of the first source, of 9 steps each */
    CHECK(forge_get(state, 48 + 4, 1) == 1);
    CHECK(forge_get(state, 48 + 64, 8) == 7);
    CHECK(forge_get(state, 48 + 80, 8) == base - 9);
    CHECK(forge_get(state, 48 + 72, 8) == (base - 9) * 12);
    CHECK(forge_get(state, 48 + 56, 4) == 2);
    CHECK(forge_get(state, 48 + 176 + 52, 4) == 3); /* blocks of the third */
    CHECK(forge_get(state, 48 + 176 + 80, 8) == 5);
    CHECK(forge_get(state, BYTES - 8, 8) == forge_check_word(state, BYTES - 8));

    /* A second epoch counts. */
    start(1, 0, STATESAMPLER_STOP_FIRST);
    next((unsigned)statesampler_mix_num_turns(&mix));
    {
        size_t count;
        uint32_t source;
        CHECK(statesampler_mix_next(&mix, NULL, &count, &source) == 0);
    }
    must_mix_save(&mix, state);
    CHECK(forge_get(state, 16, 8) == 1 && forge_get(state, 24, 8) == 0);
    CHECK(forge_get(state, 12, 4) == STATESAMPLER_STOP_FIRST);
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
    static statesampler_source before[SOURCES + 1];
    statesampler_mix was;
    memcpy(before, sources, sizeof sources);
    memcpy(&was, &mix, sizeof mix);
    CHECK_KIND(statesampler_mix_load(&mix, state, size), code);
    CHECK(memcmp(before, sources, sizeof sources) == 0);
    CHECK(memcmp(&was, &mix, sizeof mix) == 0);
}

static void check_damage(int reduced)
{
    static unsigned char state[BYTES + 88];
    size_t i;
    save(state);
    start(2, 1, STATESAMPLER_STOP_RESTART);
    next(5);
    for (i = 0; i < 8 * BYTES; i += reduced ? 3 : 1) {
        int code = STATESAMPLER_ECORRUPT;
        if (i / 8 == 4 || i / 8 == 5) /* a version that is not there yet */
            code = i == 32 ? code : STATESAMPLER_EVERSION;
        state[i / 8] ^= (unsigned char)(1 << i % 8);
        refused(state, BYTES, code);
        state[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    for (i = 0; i < sizeof state; i++)
        if (i != BYTES)
            refused(state, i, STATESAMPLER_ECORRUPT);
    refused(NULL, 0, STATESAMPLER_ECORRUPT);
    CHECK(statesampler_mix_load(&mix, state, BYTES) == STATESAMPLER_OK);
    CHECK(statesampler_mix_turn(&mix) == 50);
}

static void check_versions(void)
{
    unsigned char state[BYTES];
    save(state);
    forge_put(state, 6, 2, STATESAMPLER_ALGORITHM + 1);
    forge_seal(state, BYTES);
    refused(state, BYTES, STATESAMPLER_EVERSION);
    save(state);
    forge_put(state, 4, 2, 2);
    refused(state, 40, STATESAMPLER_EVERSION); /* whatever it looks like */
    forge_put(state, 0, 4, 0x504d5353u); /* a sampler's */
    refused(state, BYTES, STATESAMPLER_ECORRUPT);
}

/* Fields that no run can have saved, under a right check word. */
static void check_impossible(void)
{
    static const struct {
        size_t at;
        unsigned size;
        uint64_t value;
    } bad[] = {
        {24, 8, 10},                        /* before the base */
        {12, 4, 4},                         /* stop */
        {12, 4, 77},
        {24, 8, ((uint64_t)3 << 61) + 1},
        {32, 8, 51},
        {40, 8, 31},                        /* ahead of the base's turn */
        {52, 1, 4},                         /* flags */
        {53, 1, 1},
        {56, 8, ((uint64_t)1 << 62) + 1},   /* num_samples */
        {96, 1, 4},                         /* order */
        {97, 1, 2},                         /* partition */
        {98, 1, 4},                         /* tail */
        {99, 1, 1},
        {100, 4, 0},                        /* blocks */
        {104, 4, 0},                        /* world size */
        {108, 4, 0},
        {120, 8, (uint64_t)1 << 40},         /* position */
        {128, 8, (uint64_t)1 << 40},         /* step */
        {128, 8, 0},
        {192, 4, 5},                        /* the second's shape */
        {196, 4, 5}
    };
    unsigned char state[BYTES];
    size_t i;
    for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        save(state);
        forge_put(state, bad[i].at, bad[i].size, bad[i].value);
        forge_seal(state, BYTES);
        refused(state, BYTES, STATESAMPLER_ECORRUPT);
    }

    /* With ALL the sequence is ahead of the turns where some were passed over:
       not at the epoch's start, and not as far as no seek goes. */
    start(3, 1, STATESAMPLER_STOP_ALL);
    must_mix_save(&mix, state);
    forge_put(state, 40, 8, 1);
    forge_seal(state, BYTES);
    refused(state, BYTES, STATESAMPLER_ECORRUPT);
    forge_put(state, 24, 8, 1);
    forge_put(state, 32, 8, 1);
    forge_put(state, 40, 8, ((uint64_t)3 << 61) + 1);
    forge_seal(state, BYTES);
    refused(state, BYTES, STATESAMPLER_ECORRUPT);
    forge_put(state, 40, 8, 2);
    forge_seal(state, BYTES);
    CHECK(statesampler_mix_load(&mix, state, BYTES) == STATESAMPLER_OK);

    /* Of no sources. */
    forge_put(state, 8, 4, 0);
    forge_put(state, 48, 8, forge_check_word(state, 48));
    refused(state, 56, STATESAMPLER_ECORRUPT);

    /* drop_last where the tail is CARRY. */
    start(3, 1, STATESAMPLER_STOP_NEVER);
    {
        statesampler_desc d = describe(0, 3, 1);
        d.tail = STATESAMPLER_TAIL_CARRY;
        CHECK(statesampler_init(&sources[0].sampler, &d) == STATESAMPLER_OK);
    }
    CHECK(statesampler_mix_init(&mix, sources, SOURCES, STATESAMPLER_STOP_NEVER) ==
          STATESAMPLER_OK);
    must_mix_save(&mix, state);
    forge_put(state, 52, 1, 2);
    forge_seal(state, BYTES);
    refused(state, BYTES, STATESAMPLER_ECORRUPT);
}

static void check_mismatch(void)
{
    /* of the first source: weight, num_samples, seed, stream, order, tail */
    static const size_t other[] = {48, 56, 64, 72, 96, 98};
    unsigned char state[BYTES];
    size_t i;
    for (i = 0; i < sizeof other / sizeof other[0]; i++) {
        save(state);
        forge_put(state, other[i], 1, forge_get(state, other[i], 1) ^ 1);
        forge_seal(state, BYTES);
        refused(state, BYTES, STATESAMPLER_EMISMATCH);
        /* And of the last, after all others have been found good. (With its
           blocks no run can have another odd tail.) */
        if (other[i] == 98)
            continue;
        save(state);
        forge_put(state, other[i] + 176, 1, forge_get(state, other[i] + 176, 1) ^ 1);
        forge_seal(state, BYTES);
        refused(state, BYTES, STATESAMPLER_EMISMATCH);
    }
    save(state);
    start(2, 0, STATESAMPLER_STOP_ALL);
    refused(state, BYTES, STATESAMPLER_EMISMATCH);
    start(2, 0, STATESAMPLER_STOP_RESTART);
    sources[SOURCES] = sources[0];
    CHECK(statesampler_mix_init(&mix, sources, SOURCES + 1,
                                STATESAMPLER_STOP_RESTART) == STATESAMPLER_OK);
    refused(state, BYTES, STATESAMPLER_EMISMATCH);
    CHECK(statesampler_mix_init(&mix, sources, SOURCES - 1,
                                STATESAMPLER_STOP_RESTART) == STATESAMPLER_OK);
    refused(state, BYTES, STATESAMPLER_EMISMATCH);
}

/* Anything under a right check word: refused, or taken over and in order. */
static void check_forged(int reduced)
{
    unsigned char state[BYTES];
    int i, taken = 0;
    for (i = 0; i < (reduced ? 500 : 5000); i++) {
        size_t at = 8 + 4 * (size_t)check_random((BYTES - 16) / 4);
        uint64_t out[4], was, t;
        size_t count;
        uint32_t source;
        int code;
        save(state);
        was = forge_get(state, at, 4);
        forge_put(state, at, 4,
            check_random(2) ? was + check_random(5) - 2
                            : check_random((uint64_t)1 << 32));
        forge_seal(state, BYTES);
        start(1 + (uint32_t)check_random(3), 0, STATESAMPLER_STOP_RESTART);
        code = statesampler_mix_load(&mix, state, BYTES);
        if (code != STATESAMPLER_OK) {
            code = STATESAMPLER_KIND(code);
            CHECK(code == STATESAMPLER_ECORRUPT ||
                  code == STATESAMPLER_EVERSION ||
                  code == STATESAMPLER_EMISMATCH);
            continue;
        }
        taken++;
        for (t = 0; t < 5; t++) {
            code = statesampler_mix_next(&mix, out, &count, &source);
            CHECK(code == 0 || (code == 1 && count <= 4 && source < SOURCES));
            while (code && count > 0)
                CHECK(out[--count] < 100 + source);
        }
        CHECK(statesampler_mix_turn(&mix) <=
              statesampler_mix_num_turns(&mix));
    }
    CHECK(taken > 10);
}

int main(int argc, char **argv)
{
    int reduced = check_reduced(argc, argv);
    check_table();
    check_ranks();
    check_damage(reduced);
    check_versions();
    check_impossible();
    check_mismatch();
    check_forged(reduced);
    return check_done("test_mix_state");
}

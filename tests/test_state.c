/* test_state.c - are the state's bytes what the header's table says, and is
   every damaged or foreign state refused by name, with nothing changed?

   The table and the check word are those of forge.h: a state is built and
   taken apart without the header's help. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "check.h"
#include "must.h"
#include "forge.h"

#define BYTES STATESAMPLER_STATE_BYTES

static statesampler_desc describe(uint32_t order, uint32_t partition,
                                  uint32_t tail)
{
    statesampler_desc d;
    memset(&d, 0, sizeof d);
    d.num_samples = 1003;
    d.seed = 21;
    d.epoch = 6;
    d.stream = 2;
    d.rank = 1;
    d.world_size = 3;
    d.batch_size = 4;
    d.order = order;
    d.partition = partition;
    d.tail = tail;
    d.chunk_size = 16;
    d.window = 5;
    return d;
}

static void start(statesampler *s, const statesampler_desc *d, uint64_t step)
{
    CHECK(statesampler_init(s, d) == STATESAMPLER_OK);
    CHECK(statesampler_seek(s, step) == STATESAMPLER_OK);
}

/* Refused: the memory is the same, and so, for those who doubt that memory is
   all there is, are the state and what comes next. */
static void refused(statesampler *s, const void *state, size_t size, int code)
{
    statesampler before, twin;
    unsigned char saved[BYTES], again[BYTES];
    uint64_t out[2][64];
    size_t count;
    unsigned k;
    memcpy(&before, s, sizeof before);
    must_save(s, saved);
    CHECK_KIND(statesampler_load(s, state, size), code);
    CHECK(check_same_bytes(s, &before, sizeof before));
    must_save(s, again);
    CHECK(memcmp(saved, again, BYTES) == 0);
    memcpy(&twin, s, sizeof twin);
    for (k = 0; k < 2; k++) {
        count = must_next(&twin, out[0]);
        CHECK(count == must_next(&before, out[1]));
        CHECK(memcmp(out[0], out[1], count * sizeof out[0][0]) == 0);
    }
    CHECK(statesampler_epoch(&twin) == statesampler_epoch(&before));
}

/* The table, with a value in every field that shows each of its bytes. */
static void check_table(void)
{
    statesampler s, other;
    statesampler_desc d;
    unsigned char state[BYTES];
    static const size_t fields[][2] = {
        {FORGE_MAGIC},         {FORGE_VERSION},    {FORGE_ALGORITHM},
        {FORGE_NUM_SAMPLES},   {FORGE_SEED},       {FORGE_STREAM},
        {FORGE_CHUNK_SIZE},    {FORGE_WINDOW},     {FORGE_ORDER},
        {FORGE_PARTITION},     {FORGE_TAIL},       {FORGE_ZERO},
        {FORGE_BLOCKS},        {FORGE_WORLD_SIZE}, {FORGE_BATCH_SIZE},
        {FORGE_EPOCH},         {FORGE_POSITION},   {FORGE_BASE_EPOCH},
        {FORGE_BASE_POSITION}, {FORGE_BASE_STEP},  {FORGE_CHECK_WORD},
    };
    size_t f, end = 0;
    uint64_t global;
    for (f = 0; f < sizeof fields / sizeof fields[0]; f++) {
        CHECK(fields[f][0] == end);
        end += fields[f][1];
    }
    CHECK(end == BYTES);

    memset(&d, 0, sizeof d);
    d.num_samples = UINT64_C(0x0123456789abcdef);
    d.seed = UINT64_C(0xfedcba9876543210);
    d.stream = UINT64_C(0x8796a5b4c3d2e1f0);
    d.epoch = UINT64_C(0x1122334455667788);
    d.world_size = 0x01020304u;
    d.rank = 0x01020303u;
    d.batch_size = 0x00a0b0c0u;
    d.order = STATESAMPLER_ORDER_WINDOW;
    d.chunk_size = UINT64_C(0x0000000102030405);
    d.window = UINT64_C(0x0000000012345678);
    d.partition = STATESAMPLER_PARTITION_BLOCKED;
    d.tail = STATESAMPLER_TAIL_UNEVEN;
    global = (uint64_t)d.world_size * d.batch_size;
    start(&s, &d, 7);
    must_save(&s, state);
    CHECK(memcmp(state, "SSMP", 4) == 0);
    CHECK(forge_get(state, FORGE_VERSION) == 1);
    CHECK(forge_get(state, FORGE_ALGORITHM) == STATESAMPLER_ALGORITHM);
    CHECK(forge_get(state, FORGE_NUM_SAMPLES) == d.num_samples);
    CHECK(forge_get(state, FORGE_SEED) == d.seed);
    CHECK(forge_get(state, FORGE_STREAM) == d.stream);
    CHECK(forge_get(state, FORGE_CHUNK_SIZE) == d.chunk_size);
    CHECK(forge_get(state, FORGE_WINDOW) == d.window);
    CHECK(forge_get(state, FORGE_ORDER) == STATESAMPLER_ORDER_WINDOW);
    CHECK(forge_get(state, FORGE_PARTITION) == STATESAMPLER_PARTITION_BLOCKED);
    CHECK(forge_get(state, FORGE_TAIL) == STATESAMPLER_TAIL_UNEVEN);
    CHECK(forge_get(state, FORGE_ZERO) == 0);
    CHECK(forge_get(state, FORGE_BLOCKS) == d.world_size);
    CHECK(forge_get(state, FORGE_WORLD_SIZE) == d.world_size);
    CHECK(forge_get(state, FORGE_BATCH_SIZE) == d.batch_size);
    CHECK(forge_get(state, FORGE_EPOCH) == d.epoch);
    CHECK(forge_get(state, FORGE_POSITION) == 7 * global);
    CHECK(forge_get(state, FORGE_BASE_EPOCH) == d.epoch);
    CHECK(forge_get(state, FORGE_BASE_POSITION) == 0);
    CHECK(forge_get(state, FORGE_BASE_STEP) == 0);
    CHECK(forge_get(state, FORGE_CHECK_WORD) ==
          forge_check_word(state, BYTES - 8));

    /* After a load in another shape the base is the loaded place, and the
       blocks are those the epoch began with. */
    d.world_size = 0x00112233u;
    d.rank = 0;
    d.batch_size = 0x00445566u;
    start(&other, &d, 0);
    CHECK(statesampler_load(&other, state, BYTES) == STATESAMPLER_OK);
    CHECK(statesampler_seek(&other, 9) == STATESAMPLER_OK);
    must_save(&other, state);
    CHECK(forge_get(state, FORGE_BLOCKS) == 0x01020304u);
    CHECK(forge_get(state, FORGE_WORLD_SIZE) == d.world_size);
    CHECK(forge_get(state, FORGE_BATCH_SIZE) == d.batch_size);
    CHECK(forge_get(state, FORGE_BASE_POSITION) == 7 * global);
    CHECK(forge_get(state, FORGE_BASE_STEP) == 7);
    CHECK(forge_get(state, FORGE_POSITION) ==
          7 * global + 2 * ((uint64_t)d.world_size * d.batch_size));
    CHECK(forge_get(state, FORGE_CHECK_WORD) ==
          forge_check_word(state, BYTES - 8));

    /* Orders without chunks store none; the position of CARRY is below n. */
    d = describe(STATESAMPLER_ORDER_SHUFFLE, STATESAMPLER_PARTITION_INTERLEAVED,
                 STATESAMPLER_TAIL_CARRY);
    start(&s, &d, 1000);
    must_save(&s, state);
    CHECK(forge_get(state, FORGE_CHUNK_SIZE) == 0 &&
          forge_get(state, FORGE_WINDOW) == 0);
    CHECK(forge_get(state, FORGE_BLOCKS) == 1);
    CHECK(forge_get(state, FORGE_EPOCH) == 6 + 12000 / 1003);
    CHECK(forge_get(state, FORGE_POSITION) == 12000 % 1003);
    CHECK(forge_get(state, FORGE_BASE_EPOCH) == 6);
}

/* The same bytes from every rank, twice, from any memory, to any address. */
static void check_sameness(uint32_t order, uint32_t partition, uint32_t tail)
{
    statesampler s, copy;
    statesampler_desc d = describe(order, partition, tail);
    unsigned char first[BYTES], state[BYTES], wide[BYTES + 16];
    uint64_t step, out[2][8];
    unsigned shift, fill;
    for (step = 0; step < 84; step += 7) {
        for (d.rank = 0; d.rank < d.world_size; d.rank++) {
            for (fill = 0; fill < 2; fill++) {
                memset(&s, fill ? 0xff : 0x00, sizeof s);
                start(&s, &d, 0);
                while (statesampler_step(&s) < step)
                    CHECK(must_next(&s, NULL) == d.batch_size);
                must_save(&s, state);
                if (d.rank == 0 && fill == 0)
                    memcpy(first, state, BYTES);
                CHECK(memcmp(first, state, BYTES) == 0);
                must_save(&s, state);
                CHECK(memcmp(first, state, BYTES) == 0);
                memset(&s, 0xaa, sizeof s);
                start(&s, &d, step);
                must_save(&s, state);
                CHECK(memcmp(first, state, BYTES) == 0);
            }
        }
        d.rank = 2;
        for (shift = 0; shift < 9; shift++) {
            memset(wide, 0x77, sizeof wide);
            start(&s, &d, step);
            must_save(&s, wide + shift);
            CHECK(memcmp(wide + shift, first, BYTES) == 0);
            CHECK(wide[shift + BYTES] == 0x77);
            CHECK(shift == 0 || wide[shift - 1] == 0x77);
            start(&copy, &d, 0);
            CHECK(statesampler_load(&copy, wide + shift, BYTES) ==
                  STATESAMPLER_OK);
            must_save(&copy, state);
            CHECK(memcmp(state, first, BYTES) == 0);
            CHECK(statesampler_step(&copy) == step);
            CHECK(must_next(&copy, out[0]) == must_next(&s, out[1]));
            CHECK(memcmp(out[0], out[1], 4 * sizeof out[0][0]) == 0);
        }
    }
}

static void check_damage(uint32_t order, uint32_t partition, uint32_t tail,
                         uint64_t step)
{
    statesampler s, saver;
    statesampler_desc d = describe(order, partition, tail);
    unsigned char state[BYTES], damaged[3 * BYTES];
    unsigned bit;
    size_t size;
    start(&saver, &d, step);
    must_save(&saver, state);
    d.epoch += 5;
    start(&s, &d, 5);

    for (bit = 0; bit < 8 * BYTES; bit++) {
        int code = STATESAMPLER_ECORRUPT;
        memcpy(damaged, state, BYTES);
        damaged[bit / 8] = (unsigned char)(damaged[bit / 8] ^ 1u << bit % 8);
        if (forge_get(damaged, FORGE_VERSION) > 1)
            code = STATESAMPLER_EVERSION;
        refused(&s, damaged, BYTES, code);
    }
    memset(damaged, 0, sizeof damaged);
    memcpy(damaged, state, BYTES);
    for (size = 0; size < sizeof damaged; size++)
        if (size != BYTES)
            refused(&s, damaged, size, STATESAMPLER_ECORRUPT);
    refused(&s, NULL, 0, STATESAMPLER_ECORRUPT);

    /* A newer format may have any length that holds its number. */
    forge_put(damaged, FORGE_VERSION, 2);
    for (size = 8; size < sizeof damaged; size++)
        refused(&s, damaged, size, STATESAMPLER_EVERSION);
    for (size = 0; size < 8; size++)
        refused(&s, damaged, size, STATESAMPLER_ECORRUPT);
    forge_put(damaged, FORGE_VERSION, 65535);
    refused(&s, damaged, BYTES, STATESAMPLER_EVERSION);
    forge_put(damaged, FORGE_VERSION, 0);
    forge_seal(damaged, BYTES);
    refused(&s, damaged, BYTES, STATESAMPLER_ECORRUPT);

    /* Nobody's file: the magic is asked first, whatever follows it. */
    forge_put(damaged, FORGE_MAGIC, forge_get(state, FORGE_MAGIC) + 1);
    forge_put(damaged, FORGE_VERSION, 2);
    refused(&s, damaged, BYTES, STATESAMPLER_ECORRUPT);
    forge_put(damaged, FORGE_VERSION, 1);
    forge_seal(damaged, BYTES);
    refused(&s, damaged, BYTES, STATESAMPLER_ECORRUPT);
    memcpy(damaged, state, BYTES);

    /* An algorithm of a whole state that is not ours; not so a damaged one. */
    forge_put(damaged, FORGE_ALGORITHM, STATESAMPLER_ALGORITHM + 1);
    refused(&s, damaged, BYTES, STATESAMPLER_ECORRUPT);
    forge_seal(damaged, BYTES);
    refused(&s, damaged, BYTES, STATESAMPLER_EVERSION);
    forge_put(damaged, FORGE_ALGORITHM, 0);
    forge_seal(damaged, BYTES);
    refused(&s, damaged, BYTES, STATESAMPLER_EVERSION);
    /* The algorithm is asked before fields only it knows the range of. */
    forge_put(damaged, FORGE_ORDER, 77);
    forge_seal(damaged, BYTES);
    refused(&s, damaged, BYTES, STATESAMPLER_EVERSION);
    forge_put(damaged, FORGE_ALGORITHM, STATESAMPLER_ALGORITHM);
    forge_seal(damaged, BYTES);
    refused(&s, damaged, BYTES, STATESAMPLER_ECORRUPT);

    /* And the whole one is taken. */
    memcpy(damaged, state, BYTES);
    CHECK(statesampler_load(&s, damaged, BYTES) == STATESAMPLER_OK);
    CHECK(statesampler_step(&s) == step);
}

static void check_mismatch(uint32_t order, uint32_t partition, uint32_t tail)
{
    statesampler s, saver;
    statesampler_desc d = describe(order, partition, tail), e;
    unsigned char state[BYTES];
    uint32_t other;
    unsigned bit;
    int carry = tail == STATESAMPLER_TAIL_CARRY;
    start(&saver, &d, 11);
    must_save(&saver, state);
#define FOREIGN \
    do { \
        e.epoch = 77; \
        start(&s, &e, 3); \
        refused(&s, state, BYTES, STATESAMPLER_EMISMATCH); \
    } while (0)
    for (bit = 0; bit < 64; bit++) {
        e = d;
        e.seed ^= (uint64_t)1 << bit;
        FOREIGN;
        e = d;
        e.stream ^= (uint64_t)1 << bit;
        FOREIGN;
        e = d;
        e.num_samples ^= (uint64_t)1 << bit;
        if (e.num_samples <= STATESAMPLER_MAX_SAMPLES && e.num_samples >= 500)
            FOREIGN;
    }
    e = d;
    e.num_samples += 1;
    FOREIGN;
    for (other = 0; other < 4; other++)
        if (other != order) {
            e = d;
            e.order = other;
            FOREIGN;
        }
    for (other = 0; other < 4; other++)
        if (other != tail &&
            (other != STATESAMPLER_TAIL_CARRY || partition == 0)) {
            e = d;
            e.tail = other;
            FOREIGN;
        }
    if (!carry) {
        e = d;
        e.partition = !partition;
        FOREIGN;
    }
    if (order == STATESAMPLER_ORDER_WINDOW) {
        e = d;
        e.chunk_size++;
        FOREIGN;
        e = d;
        e.window++;
        FOREIGN;
        e = d;
        e.chunk_size = d.window;
        e.window = d.chunk_size;
        FOREIGN;
    }
#undef FOREIGN
    /* What belongs to the loader may differ. */
    e = d;
    e.rank = 4;
    e.world_size = 6;
    e.batch_size = 9;
    e.epoch = 1000;
    e.drop_last = carry ? 0 : 1;
    if (order != STATESAMPLER_ORDER_WINDOW)
        e.chunk_size = e.window = 99;
    start(&s, &e, 0);
    CHECK(statesampler_load(&s, state, BYTES) == STATESAMPLER_OK);
    CHECK(statesampler_epoch(&s) == d.epoch);
    CHECK(statesampler_step(&s) == 11);
    CHECK(statesampler_position(&s) == 11 * 12);
}

/* A whole state with one impossible field: the check word is right, so that
   only the field's own range can refuse it. The expected code must not
   depend on whether the loader has the same value. */
static unsigned char model[BYTES];

static void impossible(const statesampler_desc *d, size_t at, unsigned size,
                       uint64_t value)
{
    statesampler s;
    statesampler_desc elsewhere = *d;
    unsigned char state[BYTES];
    elsewhere.epoch += 9;
    start(&s, &elsewhere, 2);
    memcpy(state, model, BYTES);
    CHECK(forge_get(state, at, size) != value);
    forge_put(state, at, size, value);
    forge_seal(state, BYTES);
    refused(&s, state, BYTES, STATESAMPLER_ECORRUPT);
}

static void possible(const statesampler_desc *d, uint64_t step)
{
    statesampler s;
    start(&s, d, 0);
    forge_seal(model, BYTES);
    CHECK(statesampler_load(&s, model, BYTES) == STATESAMPLER_OK);
    CHECK(statesampler_epoch(&s) == forge_get(model, FORGE_EPOCH));
    CHECK(statesampler_position(&s) == forge_get(model, FORGE_POSITION));
    CHECK(statesampler_step(&s) == step);
}

static void build(const statesampler_desc *d, uint64_t position,
                  uint64_t base_position, uint64_t base_step)
{
    int chunks = d->order == STATESAMPLER_ORDER_WINDOW;
    memset(model, 0, BYTES);
    memcpy(model, "SSMP", 4);
    forge_put(model, FORGE_VERSION, 1);
    forge_put(model, FORGE_ALGORITHM, STATESAMPLER_ALGORITHM);
    forge_put(model, FORGE_NUM_SAMPLES, d->num_samples);
    forge_put(model, FORGE_SEED, d->seed);
    forge_put(model, FORGE_STREAM, d->stream);
    forge_put(model, FORGE_CHUNK_SIZE, chunks ? d->chunk_size : 0);
    forge_put(model, FORGE_WINDOW, chunks ? d->window : 0);
    forge_put(model, FORGE_ORDER, d->order);
    forge_put(model, FORGE_PARTITION, d->partition);
    forge_put(model, FORGE_TAIL, d->tail);
    forge_put(model, FORGE_BLOCKS, d->partition ? d->world_size : 1);
    forge_put(model, FORGE_WORLD_SIZE, d->world_size);
    forge_put(model, FORGE_BATCH_SIZE, d->batch_size);
    forge_put(model, FORGE_EPOCH, d->epoch);
    forge_put(model, FORGE_POSITION, position);
    forge_put(model, FORGE_BASE_EPOCH, d->epoch);
    forge_put(model, FORGE_BASE_POSITION, base_position);
    forge_put(model, FORGE_BASE_STEP, base_step);
    forge_seal(model, BYTES);
}

static void check_fields_of(const statesampler_desc *d)
{
    int carry = d->tail == STATESAMPLER_TAIL_CARRY;
    unsigned k;
    static const uint64_t wild[] = {255, 128, 64, 16, 8, 5};
    impossible(d, FORGE_NUM_SAMPLES, STATESAMPLER_MAX_SAMPLES + 1);
    impossible(d, FORGE_NUM_SAMPLES, UINT64_MAX);
    impossible(d, FORGE_ORDER, 4);
    impossible(d, FORGE_PARTITION, 2);
    impossible(d, FORGE_TAIL, 4);
    impossible(d, FORGE_ZERO, 1);
    for (k = 0; k < sizeof wild / sizeof wild[0]; k++) {
        impossible(d, FORGE_ORDER, wild[k]);
        impossible(d, FORGE_PARTITION, wild[k]);
        impossible(d, FORGE_TAIL, wild[k]);
        impossible(d, FORGE_ZERO, wild[k]);
    }
    impossible(d, FORGE_BLOCKS, 0);
    impossible(d, FORGE_WORLD_SIZE, 0);
    impossible(d, FORGE_BATCH_SIZE, 0);
    if (d->order == STATESAMPLER_ORDER_WINDOW) {
        impossible(d, FORGE_CHUNK_SIZE, 0);
        impossible(d, FORGE_WINDOW, 0);
        impossible(d, FORGE_CHUNK_SIZE, UINT64_C(1) << 60);
        impossible(d, FORGE_WINDOW, UINT64_C(1) << 60);
        impossible(d, FORGE_CHUNK_SIZE, UINT64_MAX);
        impossible(d, FORGE_WINDOW, UINT64_MAX);
    }
    if (carry) {
        impossible(d, FORGE_NUM_SAMPLES, 0);
        impossible(d, FORGE_PARTITION, STATESAMPLER_PARTITION_BLOCKED);
        impossible(d, FORGE_POSITION, d->num_samples);
        impossible(d, FORGE_BASE_POSITION, d->num_samples);
        impossible(d, FORGE_POSITION, UINT64_MAX);
        impossible(d, FORGE_BASE_POSITION, UINT64_MAX);
        impossible(d, FORGE_BASE_STEP, UINT64_MAX);
        /* Before the base, and further from it than a base ever is. */
        impossible(d, FORGE_EPOCH, forge_get(model, FORGE_BASE_EPOCH) - 1);
        impossible(d, FORGE_BASE_EPOCH, forge_get(model, FORGE_EPOCH) + 1);
        impossible(d, FORGE_BASE_EPOCH,
                   forge_get(model, FORGE_EPOCH) -
                       (STATESAMPLER_MAX_SAMPLES / d->num_samples + 2));
        impossible(d, FORGE_BASE_EPOCH,
                   forge_get(model, FORGE_EPOCH) - (UINT64_C(1) << 63));
    } else {
        impossible(d, FORGE_EPOCH, forge_get(model, FORGE_EPOCH) + 1);
        impossible(d, FORGE_BASE_EPOCH, forge_get(model, FORGE_EPOCH) + 1);
        impossible(d, FORGE_BASE_EPOCH, forge_get(model, FORGE_EPOCH) - 1);
        impossible(d, FORGE_POSITION, forge_get(model, FORGE_POSITION) - 1);
        impossible(d, FORGE_POSITION, UINT64_MAX);
        impossible(d, FORGE_POSITION, STATESAMPLER_MAX_SAMPLES);
        impossible(d, FORGE_BASE_POSITION,
                   forge_get(model, FORGE_POSITION) + 12);
        impossible(d, FORGE_BASE_POSITION, UINT64_MAX);
        impossible(d, FORGE_BASE_STEP, UINT64_MAX);
    }
    /* Between two steps. */
    impossible(d, FORGE_POSITION, forge_get(model, FORGE_POSITION) + 1);
    impossible(d, FORGE_BASE_POSITION,
               forge_get(model, FORGE_BASE_POSITION) + 1);
}

static void check_fields(void)
{
    /* What five blocks have of 1,003 samples, by the tail's number; CARRY has
       no blocks. */
    static const uint64_t share_of[TAILS] = {1005, 1000, 1003};
    const uint64_t most = STATESAMPLER_MAX_SAMPLES + (UINT64_C(1) << 33);
    statesampler_desc d;
    uint32_t order, partition, tail;
    for (order = 0; order < ORDERS; order++)
        for (partition = 0; partition < 2; partition++)
            for (tail = 0; tail < TAILS; tail++) {
                uint64_t share = 1003;
                int carry = tail == STATESAMPLER_TAIL_CARRY;
                if (carry && partition)
                    continue;
                d = describe(order, partition, tail);
                /* On a step of the run's own shape, from the beginning. */
                build(&d, 48, 0, 0);
                possible(&d, 4);
                check_fields_of(&d);
                if (!partition)
                    impossible(&d, FORGE_BLOCKS, 3);
                /* From a base, that another shape reached in 7 steps. */
                build(&d, 500 + 36, 500, 7);
                possible(&d, 10);
                check_fields_of(&d);
                if (partition) {
                    forge_put(model, FORGE_BLOCKS, 5);
                    possible(&d, 10);
                    share = share_of[tail];
                } else {
                    impossible(&d, FORGE_BLOCKS, 2);
                }
                if (carry) {
                    /* 2^62 positions back, and as many as a step more. */
                    forge_put(model, FORGE_POSITION, 0);
                    forge_put(model, FORGE_BASE_POSITION, 0);
                    d.num_samples = 4;
                    forge_put(model, FORGE_NUM_SAMPLES, 4);
                    forge_put(model, FORGE_WORLD_SIZE, 1);
                    forge_put(model, FORGE_BATCH_SIZE, 4);
                    forge_put(model, FORGE_EPOCH, UINT64_C(1) << 60);
                    forge_put(model, FORGE_BASE_EPOCH, 0);
                    possible(&d, 7 + (UINT64_C(1) << 60));
                    impossible(&d, FORGE_EPOCH, (UINT64_C(1) << 60) + 1);
                    impossible(&d, FORGE_EPOCH, (UINT64_C(1) << 60) + 2);
                    impossible(&d, FORGE_EPOCH, UINT64_MAX);
                    /* Distances that wrap round to one that is possible. */
                    impossible(&d, FORGE_EPOCH, UINT64_C(1) << 62);
                    impossible(&d, FORGE_EPOCH, UINT64_C(3) << 61);
                    d.num_samples = 1003;
                    build(&d, 1008, 0, 0);
                    impossible(&d, FORGE_EPOCH, d.epoch - 1);
                    impossible(&d, FORGE_SEED, 1);
                    build(&d, 10, 1008, 90);
                    forge_put(model, FORGE_EPOCH, d.epoch + 2);
                    impossible(&d, FORGE_SEED, 1);
                    /* A base is below step 5 * 2^61. */
                    build(&d, 500 + 36, 500, (UINT64_C(5) << 61) - 1);
                    possible(&d, (UINT64_C(5) << 61) + 2);
                    impossible(&d, FORGE_BASE_STEP, UINT64_C(5) << 61);
                    /* Number 1003 is number 0 of the next epoch. */
                    build(&d, 1003, 7, 1);
                    impossible(&d, FORGE_SEED, 1);
                    build(&d, 12, 1003, 90);
                    forge_put(model, FORGE_EPOCH, d.epoch + 1);
                    impossible(&d, FORGE_SEED, 1);
                    continue;
                }
                /* The end, whose distance from the last step is what the tail
                   says: the base is at 500 and the world 3. */
                if (tail == STATESAMPLER_TAIL_PAD)
                    share = 500 + (share - 500 + 2) / 3 * 3;
                else if (tail == STATESAMPLER_TAIL_DROP)
                    share = 500 + (share - 500) / 3 * 3;
                forge_put(model, FORGE_POSITION, share);
                possible(&d, 7 + (share - 500 + 11) / 12);
                impossible(&d, FORGE_POSITION, share + 1);
                impossible(&d, FORGE_POSITION, share - 1);
                impossible(&d, FORGE_POSITION,
                           500 + (share - 500 + 12) / 12 * 12);
                /* No position is farther than 2^62 and what padding adds. */
                forge_put(model, FORGE_BASE_POSITION, most);
                forge_put(model, FORGE_POSITION, most);
                possible(&d, 7);
                forge_put(model, FORGE_BASE_POSITION, most + 1);
                forge_put(model, FORGE_POSITION, most + 1);
                impossible(&d, FORGE_BASE_STEP, 8);
            }
    /* One step before the base, where a global batch divides 2^64. */
    for (tail = 0; tail < TAILS; tail++) {
        d = describe(STATESAMPLER_ORDER_SHUFFLE,
                     STATESAMPLER_PARTITION_INTERLEAVED, tail);
        d.world_size = 4;
        build(&d, 512, 512, 7);
        possible(&d, 7);
        impossible(&d, FORGE_POSITION, 496);
        impossible(&d, FORGE_POSITION, 0);
    }
    /* Global batches that are too large. */
    d = describe(STATESAMPLER_ORDER_SHUFFLE, STATESAMPLER_PARTITION_INTERLEAVED,
                 STATESAMPLER_TAIL_PAD);
    build(&d, 0, 0, 0);
    forge_put(model, FORGE_WORLD_SIZE, 0x80000000u);
    forge_put(model, FORGE_BATCH_SIZE, 0x7fffffffu);
    possible(&d, 0);
    impossible(&d, FORGE_BATCH_SIZE, 0x80000000u);
    impossible(&d, FORGE_WORLD_SIZE, 0xffffffffu);
}

/* At position 0 there is nothing to go on with: the epoch begins anew in the
   loader's shape, blocks included. */
static void check_beginning(void)
{
    statesampler s, fresh;
    statesampler_desc d =
        describe(STATESAMPLER_ORDER_SHUFFLE, STATESAMPLER_PARTITION_BLOCKED,
                 STATESAMPLER_TAIL_PAD);
    unsigned char state[BYTES], again[BYTES];
    uint64_t out[2][4];
    start(&s, &d, 0);
    must_save(&s, state);
    CHECK(forge_get(state, FORGE_BLOCKS) == 3);
    d.world_size = 5;
    start(&fresh, &d, 0);
    d.epoch = 99;
    start(&s, &d, 3);
    CHECK(statesampler_load(&s, state, BYTES) == STATESAMPLER_OK);
    must_save(&s, again);
    CHECK(forge_get(again, FORGE_BLOCKS) == 5);
    CHECK(forge_get(again, FORGE_WORLD_SIZE) == 5);
    CHECK(forge_get(again, FORGE_BASE_STEP) == 0);
    CHECK(must_next(&s, out[0]) == 4);
    CHECK(must_next(&fresh, out[1]) == 4);
    CHECK(memcmp(out[0], out[1], sizeof out[0]) == 0);
}

/* A state of the short last step, given to a loader that drops it: nothing
   more is served in that epoch, and what comes then is the next one. */
static void check_dropped_step(void)
{
    statesampler s, fresh;
    statesampler_desc d =
        describe(STATESAMPLER_ORDER_SHUFFLE, STATESAMPLER_PARTITION_INTERLEAVED,
                 STATESAMPLER_TAIL_PAD);
    unsigned char state[BYTES];
    uint64_t out[2][4];
    start(&s, &d, 84);
    CHECK(statesampler_num_steps(&s) == 84);
    CHECK(statesampler_position(&s) == 1005);
    must_save(&s, state);
    d.drop_last = 1;
    start(&s, &d, 3);
    CHECK(statesampler_num_steps(&s) == 83);
    CHECK(statesampler_load(&s, state, BYTES) == STATESAMPLER_OK);
    CHECK(statesampler_position(&s) == 1005);
    CHECK(statesampler_step(&s) == 84);
    CHECK(statesampler_num_steps(&s) == 84);
    CHECK(statesampler_seek(&s, 83) == STATESAMPLER_ERANGE_BASE);
    must_end(&s);
    d.epoch++;
    start(&fresh, &d, 0);
    CHECK(must_next(&s, out[0]) == 4);
    CHECK(must_next(&fresh, out[1]) == 4);
    CHECK(memcmp(out[0], out[1], sizeof out[0]) == 0);
}

int main(int argc, char **argv)
{
    int reduced = check_reduced(argc, argv);
    uint32_t order, partition, tail;
    CHECK(STATESAMPLER_STATE_BYTES == 112);
    CHECK(sizeof(statesampler) <= 512);
    check_table();
    for (order = 0; order < ORDERS; order++)
        for (partition = 0; partition < 2; partition++)
            for (tail = 0; tail < TAILS; tail++) {
                if (tail == STATESAMPLER_TAIL_CARRY && partition)
                    continue;
                check_sameness(order, partition, tail);
                check_mismatch(order, partition, tail);
                check_damage(order, partition, tail, 20);
                if (reduced)
                    continue;
                check_damage(order, partition, tail, 0);
                check_damage(order, partition, tail, 83);
            }
    check_fields();
    check_beginning();
    check_dropped_step();
    return check_done("test_state");
}

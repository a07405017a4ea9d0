/* test_errors.c - has every rule a code and a sentence of its own, and does a
   call that breaks it get exactly this code and change nothing?

   The codes of names and files are tested in test_mixture and test_hosted, and
   that of a batch too large for a size_t in test_size16. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "check.h"
#include "must.h"
#include "forge.h"

#define BYTES STATESAMPLER_STATE_BYTES
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const uint64_t limit = (uint64_t)1 << 62;

/* Every code with its number, which must never change, and whether a call here
   must give it. Most kinds are for callers who compare, and no call gives
   them. */
static struct {
    int code, number, wanted, given;
} codes[] = {
    {STATESAMPLER_OK, 0, 0, 0},
    {STATESAMPLER_EINVAL, -100, 0, 0},
    {STATESAMPLER_ERANGE, -200, 0, 0},
    {STATESAMPLER_ECORRUPT, -300, 0, 0},
    {STATESAMPLER_EVERSION, -400, 0, 0},
    {STATESAMPLER_EMISMATCH, -500, 0, 0},
    {STATESAMPLER_ECAPACITY, -900, 1, 0},
    {STATESAMPLER_EINVAL_NUM_SAMPLES, -101, 1, 0},
    {STATESAMPLER_EINVAL_RANK, -102, 1, 0},
    {STATESAMPLER_EINVAL_GLOBAL_BATCH, -103, 1, 0},
    {STATESAMPLER_EINVAL_ORDER, -104, 1, 0},
    {STATESAMPLER_EINVAL_PARTITION, -105, 1, 0},
    {STATESAMPLER_EINVAL_TAIL, -106, 1, 0},
    {STATESAMPLER_EINVAL_DROP_LAST, -107, 1, 0},
    {STATESAMPLER_EINVAL_CHUNK_SIZE, -108, 1, 0},
    {STATESAMPLER_EINVAL_WINDOW, -109, 1, 0},
    {STATESAMPLER_EINVAL_CHUNKS, -110, 1, 0},
    {STATESAMPLER_EINVAL_CARRY_EMPTY, -111, 1, 0},
    {STATESAMPLER_EINVAL_CARRY_BLOCKED, -112, 1, 0},
    {STATESAMPLER_EINVAL_CARRY_DROP_LAST, -113, 1, 0},
    {STATESAMPLER_EINVAL_BATCH_SIZE, -114, 0, 0},
    {STATESAMPLER_EINVAL_LEFT_OUT, -115, 0, 0},
    {STATESAMPLER_EINVAL_NO_SOURCES, -120, 1, 0},
    {STATESAMPLER_EINVAL_STOP, -121, 1, 0},
    {STATESAMPLER_EINVAL_SOURCE_RANK, -122, 1, 0},
    {STATESAMPLER_EINVAL_SOURCE_WORLD_SIZE, -123, 1, 0},
    {STATESAMPLER_EINVAL_ALL_OFF, -124, 1, 0},
    {STATESAMPLER_EINVAL_SOURCE_SAMPLES, -125, 1, 0},
    {STATESAMPLER_EINVAL_SOURCE_CARRY, -126, 1, 0},
    {STATESAMPLER_EINVAL_WEIGHTS, -127, 1, 0},
    {STATESAMPLER_EINVAL_SEQUENCE, -128, 1, 0},
    {STATESAMPLER_EINVAL_NO_STEPS, -129, 1, 0},
    {STATESAMPLER_EINVAL_NAME_EMPTY, -130, 0, 0},
    {STATESAMPLER_EINVAL_NAME_TAKEN, -131, 0, 0},
    {STATESAMPLER_EINVAL_NOT_STARTED, -132, 0, 0},
    {STATESAMPLER_EINVAL_REPLACEMENT, -140, 1, 0},
    {STATESAMPLER_EINVAL_PATH, -141, 0, 0},
    {STATESAMPLER_EINVAL_RESIZE, -142, 1, 0},
    {STATESAMPLER_ERANGE_BASE, -201, 1, 0},
    {STATESAMPLER_ERANGE_END, -202, 1, 0},
    {STATESAMPLER_ERANGE_FAR, -203, 1, 0},
    {STATESAMPLER_ERANGE_INDEX, -204, 1, 0},
    {STATESAMPLER_ERANGE_DROPPED, -205, 1, 0},
    {STATESAMPLER_ERANGE_SERVED, -206, 1, 0},
    {STATESAMPLER_ERANGE_SOURCE, -207, 1, 0},
    {STATESAMPLER_ERANGE_NAME, -208, 0, 0},
    {STATESAMPLER_ERANGE_OFF, -209, 1, 0},
    {STATESAMPLER_ERANGE_POSITION, -210, 1, 0},
    {STATESAMPLER_ECORRUPT_SIZE, -301, 1, 0},
    {STATESAMPLER_ECORRUPT_MAGIC, -302, 1, 0},
    {STATESAMPLER_ECORRUPT_CHECK, -303, 1, 0},
    {STATESAMPLER_ECORRUPT_DESC, -304, 1, 0},
    {STATESAMPLER_ECORRUPT_ZERO, -305, 1, 0},
    {STATESAMPLER_ECORRUPT_BLOCKS, -306, 1, 0},
    {STATESAMPLER_ECORRUPT_BASE, -307, 1, 0},
    {STATESAMPLER_ECORRUPT_POSITION, -308, 1, 0},
    {STATESAMPLER_ECORRUPT_SOURCES, -309, 1, 0},
    {STATESAMPLER_ECORRUPT_STOP, -310, 1, 0},
    {STATESAMPLER_ECORRUPT_TURN, -312, 1, 0},
    {STATESAMPLER_ECORRUPT_NAMES, -314, 0, 0},
    {STATESAMPLER_ECORRUPT_WEIGHTS, -315, 1, 0},
    {STATESAMPLER_EVERSION_FORMAT, -401, 1, 0},
    {STATESAMPLER_EVERSION_ALGORITHM, -402, 1, 0},
    {STATESAMPLER_EMISMATCH_NUM_SAMPLES, -501, 1, 0},
    {STATESAMPLER_EMISMATCH_SEED, -502, 1, 0},
    {STATESAMPLER_EMISMATCH_STREAM, -503, 1, 0},
    {STATESAMPLER_EMISMATCH_ORDER, -504, 1, 0},
    {STATESAMPLER_EMISMATCH_CHUNK_SIZE, -505, 1, 0},
    {STATESAMPLER_EMISMATCH_WINDOW, -506, 1, 0},
    {STATESAMPLER_EMISMATCH_PARTITION, -507, 1, 0},
    {STATESAMPLER_EMISMATCH_TAIL, -508, 1, 0},
    {STATESAMPLER_EMISMATCH_SOURCES, -509, 1, 0},
    {STATESAMPLER_EMISMATCH_STOP, -510, 1, 0},
    {STATESAMPLER_EMISMATCH_DATASET, -511, 0, 0},
    {STATESAMPLER_EENV, -600, 0, 0},
    {STATESAMPLER_EENV_UNSET, -601, 0, 0},
    {STATESAMPLER_EENV_NUMBER, -602, 0, 0},
    {STATESAMPLER_EENV_RANK, -603, 0, 0},
    {STATESAMPLER_EIO, -700, 0, 0},
    {STATESAMPLER_ENOFILE, -800, 0, 0},
};

/* Whether a call gave the code that it should; the codes given are kept. */
static int same_code(int given, int wanted)
{
    size_t i;
    for (i = 0; i < COUNT(codes); i++)
        if (codes[i].code == given)
            codes[i].given = 1;
    if (given != wanted)
        printf("given %d (%s), wanted %d (%s)\n", given,
               statesampler_error(given), wanted, statesampler_error(wanted));
    return given == wanted;
}

#define CHECK_CODE(call, wanted) CHECK(same_code(call, wanted))

/* --- init ----------------------------------------------------------------- */

/* A description that is valid in every order, and not trivial in any field. */
static statesampler_desc plain(void)
{
    statesampler_desc d;
    memset(&d, 0, sizeof d);
    d.num_samples = 1000;
    d.seed = 9;
    d.epoch = 3;
    d.stream = 5;
    d.rank = 1;
    d.world_size = 4;
    d.batch_size = 8;
    d.chunk_size = 10;
    d.window = 3;
    return d;
}

/* Refused over arbitrary bytes and over a live sampler, and neither changes. */
static void refused(const statesampler_desc *d, int code)
{
    statesampler s, before;
    statesampler_desc good = plain();
    uint64_t batch[8];
    memset(&s, 0x5a, sizeof s);
    memcpy(&before, &s, sizeof s);
    CHECK_CODE(statesampler_init(&s, d), code);
    CHECK(check_same_bytes(&s, &before, sizeof s));
    CHECK(statesampler_init(&s, &good) == STATESAMPLER_OK);
    CHECK(must_next(&s, batch) == 8);
    memcpy(&before, &s, sizeof s);
    CHECK_CODE(statesampler_init(&s, d), code);
    CHECK(check_same_bytes(&s, &before, sizeof s));
    CHECK(statesampler_step(&s) == 1);
}

static void accepted(const statesampler_desc *d)
{
    statesampler s;
    memset(&s, 0x5a, sizeof s);
    CHECK(statesampler_init(&s, d) == STATESAMPLER_OK);
    CHECK(statesampler_epoch(&s) == d->epoch);
    CHECK(statesampler_step(&s) == 0);
}

static void check_shapes(void)
{
    static const uint32_t worlds[] = {1, 2, 7, 0x80000000u, 0xffffffffu};
    statesampler_desc d;
    size_t k;
    for (k = 0; k < COUNT(worlds); k++) {
        d = plain();
        d.batch_size = 1;
        d.world_size = worlds[k];
        d.rank = worlds[k] - 1;
        accepted(&d);
        d.rank = worlds[k];
        refused(&d, STATESAMPLER_EINVAL_RANK);
        d.rank = 0xffffffffu;
        refused(&d, STATESAMPLER_EINVAL_RANK);
    }
    /* A world size of 0 means 1, which has only rank 0. */
    d = plain();
    d.world_size = 0;
    d.rank = 0;
    accepted(&d);
    d.rank = 1;
    refused(&d, STATESAMPLER_EINVAL_RANK);

    d = plain();
    d.num_samples = limit;
    accepted(&d);
    d.num_samples = limit + 1;
    refused(&d, STATESAMPLER_EINVAL_NUM_SAMPLES);
    d.num_samples = (uint64_t)1 << 63;
    refused(&d, STATESAMPLER_EINVAL_NUM_SAMPLES);
    d.num_samples = UINT64_MAX;
    refused(&d, STATESAMPLER_EINVAL_NUM_SAMPLES);

    /* A global batch of 2^62 and more, from just below it: the first product
       is 2^62 - 2^31, the second 2^62, the last 2^64 - 2^33 + 1. */
    d = plain();
    d.world_size = 0x80000000u;
    d.batch_size = 0x7fffffffu;
    accepted(&d);
    d.batch_size = 0x80000000u;
    refused(&d, STATESAMPLER_EINVAL_GLOBAL_BATCH);
    d.world_size = 0x40000000u;
    d.batch_size = 0xffffffffu;
    accepted(&d);
    d.world_size = 0x40000001u;
    d.batch_size = 0xfffffffcu;
    accepted(&d);
    d.batch_size = 0xffffffffu;
    refused(&d, STATESAMPLER_EINVAL_GLOBAL_BATCH);
    d.world_size = 0xffffffffu;
    refused(&d, STATESAMPLER_EINVAL_GLOBAL_BATCH);
    d.batch_size = 0x40000001u;
    refused(&d, STATESAMPLER_EINVAL_GLOBAL_BATCH);
    d.batch_size = 0x40000000u;
    accepted(&d);
}

static void check_choices(void)
{
    static const uint32_t wild[] = {100, 256, 0x10000u, 0x80000000u,
                                    0xffffffffu};
    statesampler_desc d;
    size_t k;
    uint32_t order, partition, tail, drop_last;
    d = plain();
    d.partition = 2;
    refused(&d, STATESAMPLER_EINVAL_PARTITION);
    d = plain();
    d.drop_last = 2;
    refused(&d, STATESAMPLER_EINVAL_DROP_LAST);
    d = plain();
    d.order = ORDERS;
    refused(&d, STATESAMPLER_EINVAL_ORDER);
    d = plain();
    d.tail = TAILS;
    refused(&d, STATESAMPLER_EINVAL_TAIL);
    for (k = 0; k < COUNT(wild); k++) {
        d = plain();
        d.order = wild[k];
        refused(&d, STATESAMPLER_EINVAL_ORDER);
        d = plain();
        d.partition = wild[k];
        refused(&d, STATESAMPLER_EINVAL_PARTITION);
        d = plain();
        d.tail = wild[k];
        refused(&d, STATESAMPLER_EINVAL_TAIL);
        d = plain();
        d.drop_last = wild[k];
        refused(&d, STATESAMPLER_EINVAL_DROP_LAST);
    }
    /* Every combination there is: what is refused is CARRY with nothing to
       carry, with blocks, or with drop_last. */
    for (order = 0; order < ORDERS; order++)
        for (partition = 0; partition < 2; partition++)
            for (tail = 0; tail < TAILS; tail++)
                for (drop_last = 0; drop_last < 2; drop_last++) {
                    int carry = tail == STATESAMPLER_TAIL_CARRY;
                    int faults = (int)partition + (int)drop_last;
                    d = plain();
                    d.order = order;
                    d.partition = partition;
                    d.tail = tail;
                    d.drop_last = drop_last;
                    if (carry && faults == 1)
                        refused(&d, partition
                                        ? STATESAMPLER_EINVAL_CARRY_BLOCKED
                                        : STATESAMPLER_EINVAL_CARRY_DROP_LAST);
                    else if (!carry)
                        accepted(&d);
                    d.num_samples = 1;
                    if (!carry || faults == 0)
                        accepted(&d);
                    d.num_samples = 0;
                    if (!carry)
                        accepted(&d);
                    else if (faults == 0)
                        refused(&d, STATESAMPLER_EINVAL_CARRY_EMPTY);
                }
}

static void check_windows(void)
{
    static const uint64_t bad[][2] = {
        {0, 1},
        {0, 3},
        {0, UINT64_MAX},
        {1, 0},
        {UINT64_MAX, 0},
        {UINT64_C(1) << 62, 1},
        {1, UINT64_C(1) << 62},
        {UINT64_C(1) << 31, UINT64_C(1) << 31},
        {UINT64_C(1) << 32, UINT64_C(1) << 30},
        /* Products that wrap to 0, to 1 and to little more. */
        {UINT64_C(1) << 32, UINT64_C(1) << 32},
        {UINT64_C(1) << 63, 2},
        {UINT64_MAX, UINT64_MAX},
        {(UINT64_C(1) << 32) + 1, UINT64_C(1) << 32},
        {UINT64_C(0x5555555555555556), 3},
        {UINT64_MAX, 1},
        {1, UINT64_MAX},
    };
    static const uint64_t good[][2] = {
        {1, 1},
        {(UINT64_C(1) << 62) - 1, 1},
        {1, (UINT64_C(1) << 62) - 1},
        {(UINT64_C(1) << 31) - 1, UINT64_C(1) << 31},
        {3, UINT64_C(1537228672809129301)},
        {7, 1000000},
    };
    statesampler_desc d;
    size_t k;
    uint32_t order, partition;
    for (partition = 0; partition < 2; partition++) {
        d = plain();
        d.order = STATESAMPLER_ORDER_WINDOW;
        d.partition = partition;
        for (k = 0; k < COUNT(bad); k++) {
            d.chunk_size = bad[k][0];
            d.window = bad[k][1];
            if (bad[k][0] == 0)
                refused(&d, STATESAMPLER_EINVAL_CHUNK_SIZE);
            else if (bad[k][1] == 0)
                refused(&d, STATESAMPLER_EINVAL_WINDOW);
            else
                refused(&d, STATESAMPLER_EINVAL_CHUNKS);
        }
        for (k = 0; k < COUNT(good); k++) {
            d.chunk_size = good[k][0];
            d.window = good[k][1];
            accepted(&d);
        }
    }
    /* The other orders have no chunks, so whatever stands there is ignored. */
    for (order = 0; order < ORDERS; order++)
        if (order != STATESAMPLER_ORDER_WINDOW)
            for (k = 0; k < COUNT(bad); k++) {
                d = plain();
                d.order = order;
                d.chunk_size = bad[k][0];
                d.window = bad[k][1];
                accepted(&d);
            }
}

static void check_perm(void)
{
    static const uint64_t bad[] = {((uint64_t)1 << 62) + 1, (uint64_t)1 << 63,
                                   UINT64_MAX};
    statesampler_perm perm, before;
    size_t k;
    for (k = 0; k < COUNT(bad); k++) {
        memset(&perm, 0x5a, sizeof perm);
        memcpy(&before, &perm, sizeof perm);
        CHECK_CODE(statesampler_perm_init(&perm, bad[k], 1, 2, 3),
                   STATESAMPLER_EINVAL_NUM_SAMPLES);
        CHECK(check_same_bytes(&perm, &before, sizeof perm));
    }
    CHECK(statesampler_perm_init(&perm, limit, 1, 2, 3) == STATESAMPLER_OK);
}

/* --- seek, at, locate, save ----------------------------------------------- */

static void unmoved_seek(statesampler *s, uint64_t step, int code)
{
    statesampler before;
    memcpy(&before, s, sizeof before);
    CHECK_CODE(statesampler_seek(s, step), code);
    CHECK(check_same_bytes(s, &before, sizeof before));
}

/* Nothing is served: out is as it was, and the count is 0. */
static void unserved(const statesampler *s, uint64_t step, int code)
{
    uint64_t out[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    size_t count = 99, i;
    CHECK_CODE(statesampler_at(s, step, out, &count), code);
    CHECK(count == 0);
    for (i = 0; i < 8; i++)
        CHECK(out[i] == i + 1);
    count = 99;
    CHECK_CODE(statesampler_at(s, step, NULL, &count), code);
    CHECK(count == 0);
    CHECK_CODE(statesampler_at(s, step, NULL, NULL), code);
}

static void check_steps(void)
{
    statesampler s, other;
    statesampler_desc d = plain();
    unsigned char state[BYTES];
    uint64_t steps, out[8];
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    steps = statesampler_num_steps(&s);
    CHECK(steps == 32);
    CHECK(statesampler_seek(&s, 5) == STATESAMPLER_OK);
    unmoved_seek(&s, steps + 1, STATESAMPLER_ERANGE_END);
    unmoved_seek(&s, UINT64_MAX, STATESAMPLER_ERANGE_END);
    unmoved_seek(&s, (uint64_t)1 << 63, STATESAMPLER_ERANGE_END);
    /* A step whose position wraps round to an early one. */
    unmoved_seek(&s, ((uint64_t)1 << 59) + 1, STATESAMPLER_ERANGE_END);
    unserved(&s, steps, 0);
    unserved(&s, UINT64_MAX, 0);
    unserved(&s, ((uint64_t)1 << 59) + 1, 0);
    CHECK(statesampler_padding(&s, steps) == 0);
    CHECK(statesampler_padding(&s, UINT64_MAX) == 0);
    CHECK(statesampler_seek(&s, steps) == STATESAMPLER_OK);
    must_end(&s);
    CHECK(statesampler_epoch(&s) == d.epoch + 1);

    /* A load in another shape makes its step the first one reachable. */
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(statesampler_seek(&s, 7) == STATESAMPLER_OK);
    must_save(&s, state);
    d.world_size = 3;
    CHECK(statesampler_init(&other, &d) == STATESAMPLER_OK);
    CHECK(statesampler_load(&other, state, sizeof state) == STATESAMPLER_OK);
    CHECK(statesampler_step(&other) == 7);
    unmoved_seek(&other, 6, STATESAMPLER_ERANGE_BASE);
    unmoved_seek(&other, 0, STATESAMPLER_ERANGE_BASE);
    unserved(&other, 6, STATESAMPLER_ERANGE_BASE);
    unserved(&other, 0, STATESAMPLER_ERANGE_BASE);
    CHECK(must_at(&other, 7, out) == 8);
    unmoved_seek(&other, statesampler_num_steps(&other) + 1,
                 STATESAMPLER_ERANGE_END);
    CHECK(statesampler_seek(&other, 8) == STATESAMPLER_OK);
    CHECK(statesampler_seek(&other, 7) == STATESAMPLER_OK);

    /* CARRY has no last step, but 2^62 positions from the base are a limit. */
    d = plain();
    d.tail = STATESAMPLER_TAIL_CARRY;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(statesampler_seek(&s, 1000) == STATESAMPLER_OK);
    unmoved_seek(&s, ((uint64_t)1 << 57) + 1, STATESAMPLER_ERANGE_FAR);
    unmoved_seek(&s, UINT64_MAX, STATESAMPLER_ERANGE_FAR);
    unserved(&s, ((uint64_t)1 << 57) + 1, STATESAMPLER_ERANGE_FAR);
    unserved(&s, UINT64_MAX, STATESAMPLER_ERANGE_FAR);
    CHECK(must_at(&s, (uint64_t)1 << 57, out) == 8);
    CHECK(statesampler_seek(&s, (uint64_t)1 << 57) == STATESAMPLER_OK);
}

static void unfound(const statesampler *s, uint64_t index, int code)
{
    statesampler_place place, before;
    memset(&place, 0x33, sizeof place);
    memcpy(&before, &place, sizeof place);
    CHECK_CODE(statesampler_locate(s, index, &place), code);
    CHECK(memcmp(&place, &before, sizeof place) == 0);
}

static void check_locate(void)
{
    statesampler s;
    statesampler_desc d = plain();
    statesampler_place place;
    unsigned char state[BYTES];
    uint64_t i;
    uint32_t partition;
    for (partition = 0; partition < 2; partition++) {
        d = plain();
        d.partition = partition;
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
        CHECK(statesampler_locate(&s, 999, &place) == STATESAMPLER_OK);
        unfound(&s, 1000, STATESAMPLER_ERANGE_INDEX);
        unfound(&s, UINT64_MAX, STATESAMPLER_ERANGE_INDEX);
        d.order = STATESAMPLER_ORDER_REPLACEMENT;
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
        unfound(&s, 5, STATESAMPLER_EINVAL_REPLACEMENT);
    }
    d = plain();
    d.num_samples = 0;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    unfound(&s, 0, STATESAMPLER_ERANGE_INDEX);

    /* A dropped sample has no place: 998 of 999 are served by two ranks. And
       so it is with the samples of a step that drop_last leaves out. */
    for (partition = 0; partition < 2; partition++) {
        unsigned lost = 0;
        d = plain();
        d.num_samples = 999;
        d.world_size = 2;
        d.partition = partition;
        d.tail = STATESAMPLER_TAIL_DROP;
        d.drop_last = partition;
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
        for (i = 0; i < 999; i++)
            if (statesampler_locate(&s, i, &place) != STATESAMPLER_OK) {
                unfound(&s, i, STATESAMPLER_ERANGE_DROPPED);
                lost++;
            }
        CHECK(lost == (partition ? 999 % 16 : 1));
    }

    /* What was served before the base has no place in the present shape. */
    d = plain();
    d.order = STATESAMPLER_ORDER_SEQUENTIAL;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(statesampler_seek(&s, 3) == STATESAMPLER_OK);
    must_save(&s, state);
    d.world_size = 2;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(statesampler_load(&s, state, sizeof state) == STATESAMPLER_OK);
    unfound(&s, 0, STATESAMPLER_ERANGE_SERVED);
    unfound(&s, 3 * 32 - 1, STATESAMPLER_ERANGE_SERVED);
    CHECK(statesampler_locate(&s, 3 * 32, &place) == STATESAMPLER_OK);
    CHECK(place.step == 3 && place.rank == 0 && place.slot == 0);
}

static void check_capacity(void)
{
    statesampler s;
    statesampler_desc d = plain();
    unsigned char out[BYTES + 9], before[BYTES + 9], state[BYTES];
    size_t size;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    must_save(&s, state);
    memset(before, 0x44, sizeof before);
    for (size = 0; size <= sizeof out; size++) {
        memcpy(out, before, sizeof out);
        if (size < BYTES) {
            CHECK_CODE(statesampler_save(&s, out, size),
                       STATESAMPLER_ECAPACITY);
            CHECK(memcmp(out, before, sizeof out) == 0);
        } else {
            CHECK(statesampler_save(&s, out, size) == STATESAMPLER_OK);
            CHECK(memcmp(out, state, BYTES) == 0);
            CHECK(memcmp(out + BYTES, before, sizeof out - BYTES) == 0);
        }
    }
}

static void check_zero(void)
{
    statesampler s;
    statesampler_desc d;
    statesampler_counts counts;
    uint64_t out[1] = {77};
    unsigned char state[BYTES];
    memset(&d, 0, sizeof d);
    memset(&s, 0x5a, sizeof s);
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(statesampler_num_steps(&s) == 0);
    CHECK(statesampler_position(&s) == 0);
    CHECK(must_miss(&s, 0) == 0);
    CHECK(statesampler_seek(&s, 0) == STATESAMPLER_OK);
    unmoved_seek(&s, 1, STATESAMPLER_ERANGE_END);
    memset(&counts, 0xff, sizeof counts);
    statesampler_get_counts(&s, &counts);
    CHECK(counts.positions == 0 && counts.padded == 0 && counts.dropped == 0);
    CHECK(counts.steps == 0 && counts.rank_samples == 0 &&
          counts.rank_batches == 0);
    must_end(&s);
    CHECK(statesampler_epoch(&s) == 1);
    must_end(&s);
    CHECK(statesampler_epoch(&s) == 2);
    CHECK(out[0] == 77);
    must_save(&s, state);
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(statesampler_load(&s, state, sizeof state) == STATESAMPLER_OK);
    CHECK(statesampler_epoch(&s) == 2);
}

/* --- load ----------------------------------------------------------------- */

/* Honest states, to be broken: in the middle of a WINDOW epoch; the same after
   a change of shape; BLOCKED; and CARRY, in its second epoch. */
enum { EPOCH, BASED, BLOCKED, CARRY, MADE };

static statesampler_desc made_of(int which)
{
    statesampler_desc d = plain();
    if (which <= BASED)
        d.order = STATESAMPLER_ORDER_WINDOW;
    if (which == BLOCKED)
        d.partition = STATESAMPLER_PARTITION_BLOCKED;
    if (which == CARRY)
        d.tail = STATESAMPLER_TAIL_CARRY;
    return d;
}

static void make(unsigned char *state, int which)
{
    statesampler s;
    statesampler_desc d = made_of(which);
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(statesampler_seek(&s, which == CARRY ? 40 : 5) == STATESAMPLER_OK);
    must_save(&s, state);
    if (which == BASED) {
        d.world_size = 3;
        d.batch_size = 5;
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
        CHECK(statesampler_load(&s, state, BYTES) == STATESAMPLER_OK);
        CHECK(statesampler_seek(&s, 7) == STATESAMPLER_OK);
        must_save(&s, state);
        CHECK(statesampler_position(&s) == 160 + 30);
    }
}

static void unloaded(const statesampler_desc *d, const void *state, size_t size,
                     int code)
{
    statesampler s, before;
    CHECK(statesampler_init(&s, d) == STATESAMPLER_OK);
    CHECK(statesampler_seek(&s, 2) == STATESAMPLER_OK);
    memcpy(&before, &s, sizeof before);
    CHECK_CODE(statesampler_load(&s, state, size), code);
    CHECK(check_same_bytes(&s, &before, sizeof before));
}

/* describe refuses what load does, unless it is another run's. */
static void undescribed(const void *state, size_t size, int code)
{
    statesampler_desc desc, desc_before;
    statesampler_place place, place_before;
    memset(&desc, 0x66, sizeof desc);
    memset(&place, 0x66, sizeof place);
    memcpy(&desc_before, &desc, sizeof desc);
    memcpy(&place_before, &place, sizeof place);
    CHECK_CODE(statesampler_describe(state, size, &desc, &place), code);
    CHECK(memcmp(&desc, &desc_before, sizeof desc) == 0);
    CHECK(memcmp(&place, &place_before, sizeof place) == 0);
    CHECK_CODE(statesampler_describe(state, size, NULL, NULL), code);
}

/* One field with which no run can go on, under a right check word. */
static void check_fields(void)
{
    static const struct {
        int which;
        size_t at;
        unsigned size;
        uint64_t value;
        int code;
    } broken[] = {
        {EPOCH, FORGE_MAGIC, 0x584d5353u, STATESAMPLER_ECORRUPT_MAGIC},
        {EPOCH, FORGE_MAGIC, 0, STATESAMPLER_ECORRUPT_MAGIC},
        {EPOCH, FORGE_VERSION, 2, STATESAMPLER_EVERSION_FORMAT},
        {EPOCH, FORGE_VERSION, 65535, STATESAMPLER_EVERSION_FORMAT},
        {EPOCH, FORGE_ALGORITHM, 0, STATESAMPLER_EVERSION_ALGORITHM},
        {EPOCH, FORGE_ALGORITHM, 2, STATESAMPLER_EVERSION_ALGORITHM},
        {EPOCH, FORGE_NUM_SAMPLES, ((uint64_t)1 << 62) + 1,
         STATESAMPLER_ECORRUPT_DESC},
        {EPOCH, FORGE_ORDER, 4, STATESAMPLER_ECORRUPT_DESC},
        {EPOCH, FORGE_PARTITION, 2, STATESAMPLER_ECORRUPT_DESC},
        {EPOCH, FORGE_TAIL, 4, STATESAMPLER_ECORRUPT_DESC},
        {EPOCH, FORGE_CHUNK_SIZE, 0, STATESAMPLER_ECORRUPT_DESC},
        {EPOCH, FORGE_WINDOW, 0, STATESAMPLER_ECORRUPT_DESC},
        {EPOCH, FORGE_WINDOW, (uint64_t)1 << 60, STATESAMPLER_ECORRUPT_DESC},
        {EPOCH, FORGE_WORLD_SIZE, 0, STATESAMPLER_ECORRUPT_DESC},
        {EPOCH, FORGE_BATCH_SIZE, 0, STATESAMPLER_ECORRUPT_DESC},
        {CARRY, FORGE_PARTITION, 1, STATESAMPLER_ECORRUPT_DESC},
        {EPOCH, FORGE_ZERO, 1, STATESAMPLER_ECORRUPT_ZERO},
        {EPOCH, FORGE_ZERO, 128, STATESAMPLER_ECORRUPT_ZERO},
        {BLOCKED, FORGE_CHUNK_SIZE, 1, STATESAMPLER_ECORRUPT_ZERO},
        {CARRY, FORGE_WINDOW, (uint64_t)1 << 63, STATESAMPLER_ECORRUPT_ZERO},
        {EPOCH, FORGE_BLOCKS, 0, STATESAMPLER_ECORRUPT_BLOCKS},
        {EPOCH, FORGE_BLOCKS, 4, STATESAMPLER_ECORRUPT_BLOCKS},
        {BLOCKED, FORGE_BLOCKS, 0, STATESAMPLER_ECORRUPT_BLOCKS},
        {EPOCH, FORGE_BASE_POSITION,
         ((uint64_t)1 << 62) + ((uint64_t)1 << 33) + 1,
         STATESAMPLER_ECORRUPT_BASE},
        {EPOCH, FORGE_BASE_STEP, (uint64_t)5 << 61, STATESAMPLER_ECORRUPT_BASE},
        {CARRY, FORGE_BASE_POSITION, 1000, STATESAMPLER_ECORRUPT_BASE},
        {CARRY, FORGE_BASE_STEP, UINT64_MAX, STATESAMPLER_ECORRUPT_BASE},
        {EPOCH, FORGE_BASE_EPOCH, 0, STATESAMPLER_ECORRUPT_POSITION},
        {CARRY, FORGE_BASE_EPOCH, (uint64_t)1 << 63,
         STATESAMPLER_ECORRUPT_POSITION},
        {EPOCH, FORGE_POSITION, 161, STATESAMPLER_ECORRUPT_POSITION},
        {EPOCH, FORGE_POSITION, 1024, STATESAMPLER_ECORRUPT_POSITION},
        {EPOCH, FORGE_POSITION, UINT64_MAX, STATESAMPLER_ECORRUPT_POSITION},
        {BASED, FORGE_POSITION, 160 - 15, STATESAMPLER_ECORRUPT_POSITION},
        {CARRY, FORGE_POSITION, 281, STATESAMPLER_ECORRUPT_POSITION},
        {CARRY, FORGE_POSITION, 1000, STATESAMPLER_ECORRUPT_POSITION},
    };
    unsigned char state[BYTES];
    size_t i;
    for (i = 0; i < COUNT(broken); i++) {
        statesampler_desc d = made_of(broken[i].which);
        make(state, broken[i].which);
        forge_put(state, broken[i].at, broken[i].size, broken[i].value);
        forge_seal(state, BYTES);
        unloaded(&d, state, BYTES, broken[i].code);
        undescribed(state, BYTES, broken[i].code);
        /* That it is another run's, too, does not matter. */
        d.seed++;
        unloaded(&d, state, BYTES, broken[i].code);
    }
}

/* What is asked before the fields, and in which order. */
static void check_wholeness(void)
{
    unsigned char state[2 * BYTES];
    statesampler_desc d = made_of(EPOCH);
    size_t size;
    memset(state, 0, sizeof state);
    make(state, EPOCH);
    for (size = 0; size < sizeof state; size++)
        if (size != BYTES) {
            unloaded(&d, state, size, STATESAMPLER_ECORRUPT_SIZE);
            undescribed(state, size, STATESAMPLER_ECORRUPT_SIZE);
        }
    unloaded(&d, NULL, 0, STATESAMPLER_ECORRUPT_SIZE);
    undescribed(NULL, 0, STATESAMPLER_ECORRUPT_SIZE);
    for (size = 8; size < BYTES; size++) {
        state[size] ^= 1;
        unloaded(&d, state, BYTES, STATESAMPLER_ECORRUPT_CHECK);
        undescribed(state, BYTES, STATESAMPLER_ECORRUPT_CHECK);
        state[size] ^= 1;
    }
    /* Everything is wrong; one by one it is put right, in the manual's
       order. */
    forge_put(state, FORGE_MAGIC, 7);
    forge_put(state, FORGE_VERSION, 2);
    forge_put(state, FORGE_ALGORITHM, 2);
    forge_put(state, FORGE_ORDER, 4);
    unloaded(&d, state, BYTES + 1, STATESAMPLER_ECORRUPT_MAGIC);
    memcpy(state, "SSMP", 4);
    unloaded(&d, state, BYTES + 1, STATESAMPLER_EVERSION_FORMAT);
    forge_put(state, FORGE_VERSION, 1);
    unloaded(&d, state, BYTES + 1, STATESAMPLER_ECORRUPT_SIZE);
    unloaded(&d, state, BYTES, STATESAMPLER_ECORRUPT_CHECK);
    forge_seal(state, BYTES);
    unloaded(&d, state, BYTES, STATESAMPLER_EVERSION_ALGORITHM);
    forge_put(state, FORGE_ALGORITHM, 1);
    forge_seal(state, BYTES);
    d.seed++;
    unloaded(&d, state, BYTES, STATESAMPLER_ECORRUPT_DESC);
    forge_put(state, FORGE_ORDER, STATESAMPLER_ORDER_WINDOW);
    forge_seal(state, BYTES);
    unloaded(&d, state, BYTES, STATESAMPLER_EMISMATCH_SEED);
    d.seed--;
    {
        statesampler s;
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
        CHECK(statesampler_load(&s, state, BYTES) == STATESAMPLER_OK);
    }
}

/* A loader that differs in one thing. */
static void check_mismatch(void)
{
    unsigned char state[BYTES];
    statesampler_desc d;
    int which;
    for (which = 0; which < MADE; which++) {
        make(state, which);
        d = made_of(which);
        d.num_samples++;
        unloaded(&d, state, BYTES, STATESAMPLER_EMISMATCH_NUM_SAMPLES);
        d = made_of(which);
        d.seed++;
        unloaded(&d, state, BYTES, STATESAMPLER_EMISMATCH_SEED);
        d = made_of(which);
        d.stream++;
        unloaded(&d, state, BYTES, STATESAMPLER_EMISMATCH_STREAM);
        d = made_of(which);
        d.order = STATESAMPLER_ORDER_SEQUENTIAL;
        unloaded(&d, state, BYTES, STATESAMPLER_EMISMATCH_ORDER);
        d = made_of(which);
        d.tail = STATESAMPLER_TAIL_DROP;
        unloaded(&d, state, BYTES, STATESAMPLER_EMISMATCH_TAIL);
        if (which <= BASED) {
            d = made_of(which);
            d.chunk_size++;
            unloaded(&d, state, BYTES, STATESAMPLER_EMISMATCH_CHUNK_SIZE);
            d = made_of(which);
            d.window++;
            unloaded(&d, state, BYTES, STATESAMPLER_EMISMATCH_WINDOW);
        }
        if (which != CARRY) {
            d = made_of(which);
            d.partition = !d.partition;
            unloaded(&d, state, BYTES, STATESAMPLER_EMISMATCH_PARTITION);
        }
    }
}

/* --- mix_init ------------------------------------------------------------- */

#define SOURCES 3
#define MIX_BYTES FORGE_MIX_BYTES(SOURCES)

static statesampler_source sources[SOURCES];
static statesampler_mix mix;

/* All bytes of the mix and of its sources. */
typedef struct snapshot {
    unsigned char of_mix[sizeof(statesampler_mix)];
    unsigned char of_sources[sizeof sources];
} snapshot;

static void take_snapshot(snapshot *to)
{
    memcpy(to->of_mix, &mix, sizeof mix);
    memcpy(to->of_sources, sources, sizeof sources);
}

static void check_snapshot(const snapshot *before)
{
    snapshot now;
    take_snapshot(&now);
    CHECK(check_same_bytes(before, &now, sizeof now));
}

/* Each row breaks one rule, but for the last, which has one sample too few to
   break it. Samplers of one rank that are in their first epoch, and batches of
   one sample, but where something else stands. */
static void check_mixes(void)
{
    /* A row in few lines: clang-format would give each item one of its own. */
    /* clang-format off */
    static const struct {
        uint32_t count, stop;
        uint64_t samples[SOURCES];
        uint32_t weight[SOURCES], tail[SOURCES];
        uint32_t rank[SOURCES], world[SOURCES], batch[SOURCES];
        int code;
    } broken[] = {
        {0, 2, {10, 20, 30}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1},
         {1, 1, 1}, STATESAMPLER_EINVAL_NO_SOURCES},
        {3, STOPS, {10, 20, 30}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1},
         {1, 1, 1}, STATESAMPLER_EINVAL_STOP},
        {3, UINT32_MAX, {10, 20, 30}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0},
         {1, 1, 1}, {1, 1, 1}, STATESAMPLER_EINVAL_STOP},
        {3, 2, {10, 20, 30}, {0, 0x7ffffffe, 0}, {0, 0, 0}, {0, 0, 0},
         {1, 1, 1}, {1, 1, 1}, STATESAMPLER_EINVAL_WEIGHTS},
        {3, 3, {10, 20, 30}, {0, 0, UINT32_MAX - 1}, {0, 0, 0}, {0, 0, 0},
         {1, 1, 1}, {1, 1, 1}, STATESAMPLER_EINVAL_WEIGHTS},
        {3, 1, {10, 20, 30},
         {STATESAMPLER_OFF, STATESAMPLER_OFF, STATESAMPLER_OFF}, {0, 0, 0},
         {0, 0, 0}, {1, 1, 1}, {1, 1, 1}, STATESAMPLER_EINVAL_ALL_OFF},
        {3, 3, {10, 0, 0}, {STATESAMPLER_OFF, 0, 0}, {0, 0, 0}, {0, 0, 0},
         {1, 1, 1}, {1, 1, 1}, STATESAMPLER_EINVAL_NO_STEPS},
        {3, 2, {10, 20, 30}, {0, 0, 0}, {0, 0, 0}, {0, 0, 1}, {2, 2, 2},
         {1, 1, 1}, STATESAMPLER_EINVAL_SOURCE_RANK},
        {3, 2, {10, 20, 30}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {1, 2, 1},
         {1, 1, 1}, STATESAMPLER_EINVAL_SOURCE_WORLD_SIZE},
        {3, 0, {((uint64_t)1 << 62) - 50, 20, 30}, {0, 0, 0}, {0, 0, 0},
         {0, 0, 0}, {1, 1, 1}, {1u << 20, 1u << 20, 1u << 20},
         STATESAMPLER_EINVAL_SOURCE_SAMPLES},
        {3, 3, {(uint64_t)1 << 62, (uint64_t)1 << 62, (uint64_t)1 << 62},
         {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, {1, 1, 1},
         STATESAMPLER_EINVAL_SOURCE_SAMPLES},
        {3, 0, {10, 20, 30}, {0, 0, 0}, {3, 0, 0}, {0, 0, 0}, {1, 1, 1},
         {1, 1, 1}, STATESAMPLER_EINVAL_SOURCE_CARRY},
        {3, 1, {10, 20, 30}, {0, 0, 0}, {0, 3, 0}, {0, 0, 0}, {1, 1, 1},
         {1, 1, 1}, STATESAMPLER_EINVAL_SOURCE_CARRY},
        {3, 2, {10, 20, 30}, {0, 0, 0}, {0, 0, 3}, {0, 0, 0}, {1, 1, 1},
         {1, 1, 1}, STATESAMPLER_EINVAL_SOURCE_CARRY},
        {3, 2, {10, 20, ((uint64_t)1 << 62) / 3}, {0, 0, 0}, {0, 0, 0},
         {0, 0, 0}, {1, 1, 1}, {1, 1, 1}, STATESAMPLER_EINVAL_SEQUENCE},
        {3, 1, {10, 20, (uint64_t)1 << 32}, {1u << 30, 0, 0}, {0, 0, 0},
         {0, 0, 0}, {1, 1, 1}, {1, 1, 1}, STATESAMPLER_EINVAL_SEQUENCE},
        {3, 3, {0, 0, 1}, {0, 0, 0}, {0, 0, 1}, {0, 0, 0}, {2, 2, 2},
         {1, 1, 1}, STATESAMPLER_EINVAL_NO_STEPS},
        {3, 0, {((uint64_t)1 << 62) - 51, 20, 30}, {0, 0, 0}, {0, 0, 0},
         {0, 0, 0}, {1, 1, 1}, {1u << 20, 1u << 20, 1u << 20},
         STATESAMPLER_OK}
    };
    /* clang-format on */
    snapshot before;
    size_t i;
    uint32_t k;
    for (i = 0; i < COUNT(broken); i++) {
        memset(&mix, 0x5a, sizeof mix);
        memset(sources, 0x5a, sizeof sources);
        for (k = 0; k < SOURCES; k++) {
            statesampler_desc d = plain();
            d.num_samples = broken[i].samples[k];
            d.tail = broken[i].tail[k];
            d.rank = broken[i].rank[k];
            d.world_size = broken[i].world[k];
            d.batch_size = broken[i].batch[k];
            CHECK(statesampler_init(&sources[k].sampler, &d) ==
                  STATESAMPLER_OK);
            sources[k].weight = broken[i].weight[k];
        }
        take_snapshot(&before);
        CHECK_CODE(statesampler_mix_init(&mix, sources, broken[i].count,
                                         broken[i].stop),
                   broken[i].code);
        if (broken[i].code != STATESAMPLER_OK) {
            check_snapshot(&before);
        }
    }
}

/* --- mix_seek, mix_at, mix_locate, mix_save ------------------------------- */

static statesampler_desc source_of(uint32_t source, uint32_t world)
{
    static const uint32_t lengths[SOURCES] = {400, 250, 130};
    statesampler_desc d = plain();
    d.num_samples = lengths[source];
    d.stream = source;
    d.rank = 0;
    d.world_size = world;
    d.batch_size = 4;
    if (source == 1)
        d.order = STATESAMPLER_ORDER_WINDOW;
    if (source == 2) {
        d.partition = STATESAMPLER_PARTITION_BLOCKED;
        d.tail = STATESAMPLER_TAIL_DROP;
        d.drop_last = 1;
    }
    return d;
}

static void start(uint32_t world, uint32_t stop)
{
    uint32_t i;
    for (i = 0; i < SOURCES; i++) {
        statesampler_desc d = source_of(i, world);
        CHECK(statesampler_init(&sources[i].sampler, &d) == STATESAMPLER_OK);
        sources[i].weight = SOURCES - i;
    }
    CHECK(statesampler_mix_init(&mix, sources, SOURCES, stop) ==
          STATESAMPLER_OK);
}

/* Ten turns on three ranks, then five on two: turn 15, and the base is 10. */
static void make_mix(unsigned char *state, uint32_t stop)
{
    start(3, stop);
    CHECK(statesampler_mix_seek(&mix, 10) == STATESAMPLER_OK);
    must_mix_save(&mix, state);
    start(2, stop);
    CHECK(statesampler_mix_load(&mix, state, MIX_BYTES) == STATESAMPLER_OK);
    CHECK(statesampler_mix_seek(&mix, 15) == STATESAMPLER_OK);
    CHECK(must_mix_save(&mix, state) == MIX_BYTES);
}

static void unmoved_mix_seek(uint64_t turn, int code)
{
    snapshot before;
    take_snapshot(&before);
    CHECK_CODE(statesampler_mix_seek(&mix, turn), code);
    check_snapshot(&before);
}

static void unserved_turn(uint64_t turn, int code)
{
    uint64_t out[4] = {1, 2, 3, 4};
    uint32_t source = 77;
    size_t count = 99, i;
    snapshot before;
    take_snapshot(&before);
    CHECK_CODE(statesampler_mix_at(&mix, turn, out, &count, &source), code);
    CHECK(count == 0 && source == 77);
    for (i = 0; i < 4; i++)
        CHECK(out[i] == i + 1);
    check_snapshot(&before);
}

static void unfound_turn(uint32_t source, uint64_t index, int code)
{
    uint64_t turn = 55;
    statesampler_place place, before;
    memset(&place, 0x33, sizeof place);
    memcpy(&before, &place, sizeof place);
    CHECK_CODE(statesampler_mix_locate(&mix, source, index, &turn, &place),
               code);
    CHECK(turn == 55 && memcmp(&place, &before, sizeof place) == 0);
}

static void check_turns(void)
{
    unsigned char state[MIX_BYTES];
    uint32_t stop;
    for (stop = 0; stop < 3; stop++) {
        uint64_t end;
        make_mix(state, stop);
        end = statesampler_mix_num_turns(&mix);
        unmoved_mix_seek(0, STATESAMPLER_ERANGE_BASE);
        unmoved_mix_seek(9, STATESAMPLER_ERANGE_BASE);
        unmoved_mix_seek(end + 1, STATESAMPLER_ERANGE_END);
        unmoved_mix_seek(limit + 1, STATESAMPLER_ERANGE_END);
        unmoved_mix_seek(UINT64_MAX, STATESAMPLER_ERANGE_END);
        unserved_turn(0, STATESAMPLER_ERANGE_BASE);
        unserved_turn(9, STATESAMPLER_ERANGE_BASE);
        unserved_turn(end, 0);
        unserved_turn(limit + 1, 0);
        unserved_turn(UINT64_MAX, 0);
        CHECK(statesampler_mix_seek(&mix, end) == STATESAMPLER_OK);
    }
    make_mix(state, STATESAMPLER_STOP_NEVER);
    unmoved_mix_seek(9, STATESAMPLER_ERANGE_BASE);
    unserved_turn(9, STATESAMPLER_ERANGE_BASE);
    unmoved_mix_seek(limit + 1, STATESAMPLER_ERANGE_FAR);
    unmoved_mix_seek(UINT64_MAX - 1, STATESAMPLER_ERANGE_FAR);
    unserved_turn(limit + 1, STATESAMPLER_ERANGE_FAR);
    unserved_turn(UINT64_MAX, STATESAMPLER_ERANGE_FAR);
    CHECK(statesampler_mix_seek(&mix, limit) == STATESAMPLER_OK);

    /* Of CARRY, 2^62 positions: with these batches that is turn 64. */
    {
        statesampler_desc d = plain();
        d.tail = STATESAMPLER_TAIL_CARRY;
        d.rank = 0;
        d.world_size = 1u << 25;
        d.batch_size = 1u << 31;
        CHECK(statesampler_init(&sources[0].sampler, &d) == STATESAMPLER_OK);
    }
    CHECK(statesampler_mix_init(&mix, sources, 1, STATESAMPLER_STOP_NEVER) ==
          STATESAMPLER_OK);
    unmoved_mix_seek(65, STATESAMPLER_ERANGE_FAR);
    unserved_turn(65, STATESAMPLER_ERANGE_FAR);
    CHECK(statesampler_mix_seek(&mix, 64) == STATESAMPLER_OK);
    /* The last of them makes its end the base: 64 more. */
    CHECK(statesampler_mix_seek(&mix, 63) == STATESAMPLER_OK);
    CHECK(statesampler_mix_next(&mix, NULL, NULL, NULL) == 1);
    unmoved_mix_seek(129, STATESAMPLER_ERANGE_FAR);
    CHECK(statesampler_mix_seek(&mix, 128) == STATESAMPLER_OK);
}

/* With RESTART, once the source that had not finished is off, the epoch ends at
   once, although the other, which has begun anew, has steps left. */
static void check_mix_locate_ended(void)
{
    const uint32_t first_alone[2] = {1, STATESAMPLER_OFF};
    statesampler_desc d = plain();
    uint32_t i;
    d.order = STATESAMPLER_ORDER_SEQUENTIAL;
    d.rank = 0;
    d.world_size = d.batch_size = 1;
    for (i = 0; i < 2; i++) {
        d.num_samples = i == 0 ? 3 : 10;
        CHECK(statesampler_init(&sources[i].sampler, &d) == STATESAMPLER_OK);
        sources[i].weight = 1;
    }
    CHECK(statesampler_mix_init(&mix, sources, 2, STATESAMPLER_STOP_RESTART) ==
          STATESAMPLER_OK);
    CHECK(statesampler_mix_seek(&mix, 7) == STATESAMPLER_OK);
    CHECK(statesampler_mix_weigh(&mix, first_alone) == STATESAMPLER_OK);
    CHECK(statesampler_mix_num_turns(&mix) == 7);
    CHECK(statesampler_step(&sources[0].sampler) == 1);
    unfound_turn(0, 1, STATESAMPLER_ERANGE_DROPPED);
    unfound_turn(0, 2, STATESAMPLER_ERANGE_DROPPED);
}

static void check_mix_locate(void)
{
    unsigned char state[MIX_BYTES];
    uint64_t i, turn;
    statesampler_place place;
    unsigned lost = 0;
    start(2, STATESAMPLER_STOP_ALL);
    unfound_turn(3, 0, STATESAMPLER_ERANGE_SOURCE);
    unfound_turn(UINT32_MAX, 0, STATESAMPLER_ERANGE_SOURCE);
    unfound_turn(0, 400, STATESAMPLER_ERANGE_INDEX);
    unfound_turn(2, UINT64_MAX, STATESAMPLER_ERANGE_INDEX);
    for (i = 0; i < 130; i++)
        if (statesampler_mix_locate(&mix, 2, i, &turn, &place) !=
            STATESAMPLER_OK) {
            unfound_turn(2, i, STATESAMPLER_ERANGE_DROPPED);
            lost++;
        }
    CHECK(lost == 130 % 8);
    /* With FIRST an epoch ends before the longer sources do. */
    start(2, STATESAMPLER_STOP_FIRST);
    for (i = 0, lost = 0; i < 400; i++)
        if (statesampler_mix_locate(&mix, 0, i, &turn, &place) !=
            STATESAMPLER_OK) {
            unfound_turn(0, i, STATESAMPLER_ERANGE_DROPPED);
            lost++;
        }
    CHECK(lost > 0 && lost < 400);
    /* Before the base, 60 of the first source's were served. */
    make_mix(state, STATESAMPLER_STOP_ALL);
    for (i = 0, lost = 0; i < 400; i++)
        if (statesampler_mix_locate(&mix, 0, i, &turn, &place) !=
            STATESAMPLER_OK) {
            unfound_turn(0, i, STATESAMPLER_ERANGE_SERVED);
            lost++;
        }
    CHECK(lost == 60);
    /* A light source's last step is farther than turns go. */
    {
        statesampler_desc d = plain();
        d.order = STATESAMPLER_ORDER_SEQUENTIAL;
        d.num_samples = (uint64_t)1 << 61;
        CHECK(statesampler_init(&sources[0].sampler, &d) == STATESAMPLER_OK);
        d.num_samples = 5;
        CHECK(statesampler_init(&sources[1].sampler, &d) == STATESAMPLER_OK);
        d.order = STATESAMPLER_ORDER_REPLACEMENT;
        CHECK(statesampler_init(&sources[2].sampler, &d) == STATESAMPLER_OK);
    }
    sources[0].weight = sources[2].weight = 1;
    sources[1].weight = 0x7ffffffd;
    CHECK(statesampler_mix_init(&mix, sources, 3, STATESAMPLER_STOP_NEVER) ==
          STATESAMPLER_OK);
    unfound_turn(0, ((uint64_t)1 << 61) - 1, STATESAMPLER_ERANGE_FAR);
    unfound_turn(2, 0, STATESAMPLER_EINVAL_REPLACEMENT);
    check_mix_locate_ended();
}

static void check_mix_capacity(void)
{
    unsigned char out[MIX_BYTES + 9], before[MIX_BYTES + 9], state[MIX_BYTES];
    size_t size;
    make_mix(state, STATESAMPLER_STOP_RESTART);
    memset(before, 0x44, sizeof before);
    for (size = 0; size <= sizeof out; size++) {
        memcpy(out, before, sizeof out);
        if (size < MIX_BYTES) {
            CHECK_CODE(statesampler_mix_save(&mix, out, size),
                       STATESAMPLER_ECAPACITY);
            CHECK(memcmp(out, before, sizeof out) == 0);
        } else {
            CHECK(statesampler_mix_save(&mix, out, size) == STATESAMPLER_OK);
            CHECK(memcmp(out, state, MIX_BYTES) == 0);
            CHECK(memcmp(out + MIX_BYTES, before, sizeof out - MIX_BYTES) == 0);
        }
    }
}

/* --- mix_load ------------------------------------------------------------- */

static void unloaded_mix(const void *state, size_t size, int code)
{
    snapshot before;
    take_snapshot(&before);
    CHECK_CODE(statesampler_mix_load(&mix, state, size), code);
    check_snapshot(&before);
}

/* mix_describe, of one source: as mix_load, as far as it looks. */
static void undescribed_mix(const void *state, size_t size, uint32_t source,
                            int code)
{
    statesampler_desc desc, desc_before;
    statesampler_mix_place place, place_before;
    memset(&desc, 0x66, sizeof desc);
    memset(&place, 0x66, sizeof place);
    memcpy(&desc_before, &desc, sizeof desc);
    memcpy(&place_before, &place, sizeof place);
    CHECK_CODE(statesampler_mix_describe(state, size, source, &desc, &place),
               code);
    CHECK(memcmp(&desc, &desc_before, sizeof desc) == 0);
    CHECK(memcmp(&place, &place_before, sizeof place) == 0);
    CHECK_CODE(statesampler_mix_describe(state, size, source, NULL, NULL),
               code);
}

/* One field with which no mix can go on: of the mix, of a source, or of what it
   holds of a sampler. mix_describe sees the last two. */
static void check_mix_fields(void)
{
    enum { HEAD, SOURCE, SAMPLER };
    static const struct {
        int where;
        uint32_t source;
        size_t at;
        unsigned size;
        uint64_t value;
        int code;
    } broken[] = {
        {HEAD, 0, FORGE_MIX_STOP, 4, STATESAMPLER_ECORRUPT_STOP},
        {HEAD, 0, FORGE_MIX_STOP, UINT32_MAX, STATESAMPLER_ECORRUPT_STOP},
        {HEAD, 0, FORGE_MIX_TURN, (uint64_t)1 << 63,
         STATESAMPLER_ECORRUPT_TURN},
        {HEAD, 0, FORGE_MIX_TURN, UINT64_MAX, STATESAMPLER_ECORRUPT_TURN},
        {HEAD, 0, FORGE_MIX_TICK, (uint64_t)1 << 63,
         STATESAMPLER_ECORRUPT_TURN},
        {HEAD, 0, FORGE_MIX_TICK, UINT64_MAX, STATESAMPLER_ECORRUPT_TURN},
        {SOURCE, 0, FORGE_SOURCE_FLAGS, 4, STATESAMPLER_ECORRUPT_ZERO},
        {SOURCE, 1, FORGE_SOURCE_FLAGS, 0x80000000u,
         STATESAMPLER_ECORRUPT_ZERO},
        {SOURCE, 0, FORGE_SOURCE_WEIGHT, 0, STATESAMPLER_ECORRUPT_WEIGHTS},
        {SAMPLER, 0, FORGE_MAGIC, 0x584d5353u, STATESAMPLER_ECORRUPT_MAGIC},
        {SAMPLER, 1, FORGE_VERSION, 2, STATESAMPLER_EVERSION_FORMAT},
        {SAMPLER, 2, FORGE_ALGORITHM, 2, STATESAMPLER_EVERSION_ALGORITHM},
        {SAMPLER, 2, FORGE_ZERO, 1, STATESAMPLER_ECORRUPT_ZERO},
        {SAMPLER, 0, FORGE_NUM_SAMPLES, ((uint64_t)1 << 62) + 1,
         STATESAMPLER_ECORRUPT_DESC},
        {SAMPLER, 1, FORGE_BLOCKS, 2, STATESAMPLER_ECORRUPT_BLOCKS},
        {SAMPLER, 1, FORGE_BASE_STEP, UINT64_MAX, STATESAMPLER_ECORRUPT_BASE},
        {SAMPLER, 2, FORGE_POSITION, (uint64_t)1 << 40,
         STATESAMPLER_ECORRUPT_POSITION},
    };
    unsigned char state[MIX_BYTES];
    size_t i;
    for (i = 0; i < COUNT(broken); i++) {
        unsigned char *part = state;
        make_mix(state, STATESAMPLER_STOP_RESTART);
        if (broken[i].where != HEAD)
            part += broken[i].where == SOURCE ? FORGE_SOURCE(broken[i].source)
                                              : FORGE_SAMPLER(broken[i].source);
        forge_put(part, broken[i].at, broken[i].size, broken[i].value);
        forge_seal_mix(state, SOURCES);
        start(2, STATESAMPLER_STOP_RESTART);
        unloaded_mix(state, MIX_BYTES, broken[i].code);
        undescribed_mix(state, MIX_BYTES, broken[i].source, broken[i].code);
    }
}

/* What is wrong with the last source alone changes nothing of the others. */
static void check_mix_unmoved(void)
{
    static const uint32_t heavier[SOURCES] = {9, 4, 1};
    unsigned char state[MIX_BYTES], now[MIX_BYTES];
    uint32_t i;
    make_mix(state, STATESAMPLER_STOP_RESTART);
    state[FORGE_SAMPLER(SOURCES - 1) + 20] ^= 1;
    forge_seal(state, MIX_BYTES);
    for (i = 0; i < SOURCES; i++) {
        statesampler_desc d = source_of(i, 3);
        d.batch_size = 7 + i;
        CHECK(statesampler_init(&sources[i].sampler, &d) == STATESAMPLER_OK);
        sources[i].weight = i == 0 ? STATESAMPLER_OFF : 0;
    }
    CHECK(statesampler_mix_init(&mix, sources, SOURCES,
                                STATESAMPLER_STOP_RESTART) == STATESAMPLER_OK);
    CHECK(statesampler_mix_seek(&mix, 5) == STATESAMPLER_OK);
    unloaded_mix(state, MIX_BYTES, STATESAMPLER_ECORRUPT_CHECK);
    /* Also where a source has finished once before the base. */
    start(2, STATESAMPLER_STOP_RESTART);
    CHECK(statesampler_mix_seek(&mix, 100) == STATESAMPLER_OK);
    CHECK(statesampler_mix_weigh(&mix, heavier) == STATESAMPLER_OK);
    must_mix_save(&mix, now);
    CHECK(forge_get(now + FORGE_SOURCE(0), FORGE_SOURCE_FLAGS) == 2);
    CHECK(forge_get(now + FORGE_SOURCE(2), FORGE_SOURCE_FLAGS) == 3);
    unloaded_mix(state, MIX_BYTES, STATESAMPLER_ECORRUPT_CHECK);
}

/* No mix can have these weights together. */
static void check_mix_weights(void)
{
    unsigned char state[MIX_BYTES];
    uint32_t i;
    make_mix(state, STATESAMPLER_STOP_RESTART);
    forge_put(state + FORGE_SOURCE(2), FORGE_SOURCE_WEIGHT, 0x7ffffffe);
    forge_seal(state, MIX_BYTES);
    start(2, STATESAMPLER_STOP_RESTART);
    unloaded_mix(state, MIX_BYTES, STATESAMPLER_ECORRUPT_WEIGHTS);
    for (i = 0; i < SOURCES; i++)
        forge_put(state + FORGE_SOURCE(i), FORGE_SOURCE_WEIGHT,
                  STATESAMPLER_OFF);
    forge_seal(state, MIX_BYTES);
    unloaded_mix(state, MIX_BYTES, STATESAMPLER_ECORRUPT_WEIGHTS);
}

static void check_mix_wholeness(void)
{
    unsigned char state[2 * MIX_BYTES];
    size_t size;
    memset(state, 0, sizeof state);
    make_mix(state, STATESAMPLER_STOP_RESTART);
    start(2, STATESAMPLER_STOP_RESTART);
    for (size = 0; size < sizeof state; size++)
        if (size != MIX_BYTES) {
            unloaded_mix(state, size, STATESAMPLER_ECORRUPT_SIZE);
            undescribed_mix(state, size, 0, STATESAMPLER_ECORRUPT_SIZE);
        }
    unloaded_mix(NULL, 0, STATESAMPLER_ECORRUPT_SIZE);
    undescribed_mix(NULL, 0, 0, STATESAMPLER_ECORRUPT_SIZE);
    state[60] ^= 1;
    unloaded_mix(state, MIX_BYTES, STATESAMPLER_ECORRUPT_CHECK);
    undescribed_mix(state, MIX_BYTES, 0, STATESAMPLER_ECORRUPT_CHECK);
    forge_put(state, FORGE_ALGORITHM, 2);
    forge_seal(state, MIX_BYTES);
    unloaded_mix(state, MIX_BYTES, STATESAMPLER_EVERSION_ALGORITHM);
    undescribed_mix(state, MIX_BYTES, 0, STATESAMPLER_EVERSION_ALGORITHM);
    forge_put(state, FORGE_VERSION, 3);
    unloaded_mix(state, 40, STATESAMPLER_EVERSION_FORMAT);
    undescribed_mix(state, 40, 0, STATESAMPLER_EVERSION_FORMAT);
    forge_put(state, FORGE_VERSION, 1); /* the first format */
    unloaded_mix(state, 40, STATESAMPLER_EVERSION_FORMAT);
    undescribed_mix(state, 40, 0, STATESAMPLER_EVERSION_FORMAT);
    memcpy(state, "SSMP", 4);
    unloaded_mix(state, MIX_BYTES, STATESAMPLER_ECORRUPT_MAGIC);
    undescribed_mix(state, MIX_BYTES, 0, STATESAMPLER_ECORRUPT_MAGIC);

    make_mix(state, STATESAMPLER_STOP_RESTART);
    undescribed_mix(state, MIX_BYTES, SOURCES, STATESAMPLER_ERANGE_SOURCE);
    undescribed_mix(state, MIX_BYTES, UINT32_MAX, STATESAMPLER_ERANGE_SOURCE);
    forge_put(state, FORGE_MIX_SOURCES, 0);
    forge_seal(state, FORGE_MIX_BYTES(0));
    unloaded_mix(state, FORGE_MIX_BYTES(0), STATESAMPLER_ECORRUPT_SOURCES);
}

/* Another mix: in its own rules, or in one of its sources. */
static void check_mix_mismatch(void)
{
    static const struct {
        size_t at;
        unsigned size;
        int code;
    } other[] = {
        {FORGE_NUM_SAMPLES, STATESAMPLER_EMISMATCH_NUM_SAMPLES},
        {FORGE_SEED, STATESAMPLER_EMISMATCH_SEED},
        {FORGE_STREAM, STATESAMPLER_EMISMATCH_STREAM},
        {FORGE_CHUNK_SIZE, STATESAMPLER_EMISMATCH_CHUNK_SIZE},
        {FORGE_WINDOW, STATESAMPLER_EMISMATCH_WINDOW},
    };
    unsigned char state[MIX_BYTES], forged[MIX_BYTES];
    size_t i;
    uint32_t k;
    make_mix(state, STATESAMPLER_STOP_RESTART);
    for (k = 0; k < SOURCES; k++)
        for (i = 0; i < COUNT(other); i++) {
            unsigned char *part = forged + FORGE_SAMPLER(k);
            uint64_t value;
            if (k != 1 && i >= 3)
                continue; /* only this one has chunks */
            memcpy(forged, state, MIX_BYTES);
            value = forge_get(part, other[i].at, other[i].size);
            forge_put(part, other[i].at, other[i].size, value + 1);
            forge_seal_mix(forged, SOURCES);
            start(2, STATESAMPLER_STOP_RESTART);
            unloaded_mix(forged, MIX_BYTES, other[i].code);
        }
    start(2, STATESAMPLER_STOP_ALL);
    unloaded_mix(state, MIX_BYTES, STATESAMPLER_EMISMATCH_STOP);
    CHECK(statesampler_mix_init(&mix, sources, SOURCES - 1,
                                STATESAMPLER_STOP_RESTART) == STATESAMPLER_OK);
    unloaded_mix(state, MIX_BYTES, STATESAMPLER_EMISMATCH_SOURCES);
    for (k = 0; k < 3; k++) {
        statesampler_desc d = source_of(2, 2);
        int code;
        start(2, STATESAMPLER_STOP_RESTART);
        if (k == 0) {
            d.order = STATESAMPLER_ORDER_SEQUENTIAL;
            code = STATESAMPLER_EMISMATCH_ORDER;
        } else if (k == 1) {
            d.partition = STATESAMPLER_PARTITION_INTERLEAVED;
            code = STATESAMPLER_EMISMATCH_PARTITION;
        } else {
            d.tail = STATESAMPLER_TAIL_PAD;
            code = STATESAMPLER_EMISMATCH_TAIL;
        }
        CHECK(statesampler_init(&sources[2].sampler, &d) == STATESAMPLER_OK);
        CHECK(statesampler_mix_init(&mix, sources, SOURCES,
                                    STATESAMPLER_STOP_RESTART) ==
              STATESAMPLER_OK);
        unloaded_mix(state, MIX_BYTES, code);
    }
}

/* --- weigh, reshape, resize ----------------------------------------------- */

static void unweighed(const uint32_t *weights, int code)
{
    snapshot before;
    take_snapshot(&before);
    CHECK_CODE(statesampler_mix_weigh(&mix, weights), code);
    check_snapshot(&before);
}

static void check_weights(void)
{
    static const uint32_t off[SOURCES] = {STATESAMPLER_OFF, STATESAMPLER_OFF,
                                          STATESAMPLER_OFF};
    static const uint32_t heavy[SOURCES] = {1, 0x7ffffffe, 0};
    static const uint32_t first[SOURCES] = {1, STATESAMPLER_OFF,
                                            STATESAMPLER_OFF};
    static const uint32_t others[SOURCES] = {STATESAMPLER_OFF, 1, 1};
    static const uint32_t lone[SOURCES] = {0, 0, (uint32_t)1 << 30};
    statesampler_desc d = plain();
    statesampler_place place;
    uint64_t turn;
    uint32_t i;
    start(2, STATESAMPLER_STOP_ALL);
    CHECK(statesampler_mix_seek(&mix, 7) == STATESAMPLER_OK);
    unweighed(off, STATESAMPLER_EINVAL_ALL_OFF);
    unweighed(heavy, STATESAMPLER_EINVAL_WEIGHTS);
    CHECK_CODE(statesampler_mix_weigh(&mix, others), STATESAMPLER_OK);
    CHECK_CODE(statesampler_mix_locate(&mix, 0, 0, &turn, &place),
               STATESAMPLER_ERANGE_OFF);
    /* Too long as soon as the others weigh more; not while it is off. */
    for (i = 0; i < SOURCES; i++) {
        d.num_samples = i == 0 ? (uint64_t)1 << 40 : 10;
        d.rank = 0;
        d.world_size = 1;
        d.batch_size = 1;
        CHECK(statesampler_init(&sources[i].sampler, &d) == STATESAMPLER_OK);
        sources[i].weight = 0;
    }
    CHECK(statesampler_mix_init(&mix, sources, SOURCES,
                                STATESAMPLER_STOP_ALL) == STATESAMPLER_OK);
    unweighed(lone, STATESAMPLER_EINVAL_SEQUENCE);
    CHECK_CODE(statesampler_mix_weigh(&mix, first), STATESAMPLER_OK);
    CHECK_CODE(statesampler_mix_weigh(&mix, others), STATESAMPLER_OK);
    {
        const uint32_t light[SOURCES] = {STATESAMPLER_OFF, 1,
                                         (uint32_t)1 << 30};
        CHECK_CODE(statesampler_mix_weigh(&mix, light), STATESAMPLER_OK);
    }
    /* Nobody with steps is left. */
    for (i = 0; i < SOURCES; i++) {
        d.num_samples = i == 0 ? 10 : 0;
        CHECK(statesampler_init(&sources[i].sampler, &d) == STATESAMPLER_OK);
        sources[i].weight = 1;
    }
    CHECK(statesampler_mix_init(&mix, sources, SOURCES,
                                STATESAMPLER_STOP_NEVER) == STATESAMPLER_OK);
    unweighed(others, STATESAMPLER_EINVAL_NO_STEPS);
}

static void unshaped_mix(uint32_t rank, uint32_t world_size, int code)
{
    snapshot before;
    take_snapshot(&before);
    CHECK_CODE(statesampler_mix_reshape(&mix, rank, world_size), code);
    check_snapshot(&before);
}

static void check_mix_shapes(void)
{
    uint32_t i, large;
    start(2, STATESAMPLER_STOP_NEVER);
    unshaped_mix(2, 2, STATESAMPLER_EINVAL_RANK);
    unshaped_mix(1, 0, STATESAMPLER_EINVAL_RANK);
    unshaped_mix(UINT32_MAX, 5, STATESAMPLER_EINVAL_RANK);
    for (large = 0; large < SOURCES; large++) { /* one source's batch */
        for (i = 0; i < SOURCES; i++) {
            statesampler_desc d = source_of(i, 1);
            d.batch_size = i == large ? (uint32_t)1 << 31 : 1;
            CHECK(statesampler_init(&sources[i].sampler, &d) ==
                  STATESAMPLER_OK);
        }
        CHECK(statesampler_mix_init(&mix, sources, SOURCES,
                                    STATESAMPLER_STOP_RESTART) ==
              STATESAMPLER_OK);
        unshaped_mix(0, (uint32_t)1 << 31, STATESAMPLER_EINVAL_GLOBAL_BATCH);
    }
    /* With DROP, no rank has a sample of so few. */
    for (i = 0; i < SOURCES; i++) {
        statesampler_desc d = plain();
        d.num_samples = 10;
        d.rank = 0;
        d.world_size = 1;
        d.tail = STATESAMPLER_TAIL_DROP;
        CHECK(statesampler_init(&sources[i].sampler, &d) == STATESAMPLER_OK);
    }
    CHECK(statesampler_mix_init(&mix, sources, SOURCES,
                                STATESAMPLER_STOP_NEVER) == STATESAMPLER_OK);
    unshaped_mix(0, 11, STATESAMPLER_EINVAL_NO_STEPS);
    CHECK_CODE(statesampler_mix_reshape(&mix, 0, 10), STATESAMPLER_OK);
    CHECK_CODE(statesampler_mix_reshape(&mix, 0, 0), STATESAMPLER_OK);
}

static void unshaped(const statesampler_desc *d, uint32_t rank,
                     uint32_t world_size, uint32_t batch_size, int code)
{
    statesampler s, before;
    memset(&s, 0, sizeof s);
    CHECK(statesampler_init(&s, d) == STATESAMPLER_OK);
    before = s;
    CHECK_CODE(statesampler_reshape(&s, rank, world_size, batch_size), code);
    CHECK(check_same_bytes(&s, &before, sizeof s));
}

static void unsized(const statesampler_desc *d, uint64_t steps, uint64_t n,
                    int code)
{
    statesampler s, before;
    memset(&s, 0, sizeof s);
    CHECK(statesampler_init(&s, d) == STATESAMPLER_OK);
    CHECK(statesampler_seek(&s, steps) == STATESAMPLER_OK);
    before = s;
    CHECK_CODE(statesampler_resize(&s, n), code);
    CHECK(check_same_bytes(&s, &before, sizeof s));
}

static void check_changes(void)
{
    statesampler_desc d = plain();
    unshaped(&d, 4, 4, 5, STATESAMPLER_EINVAL_RANK);
    unshaped(&d, 1, 0, 5, STATESAMPLER_EINVAL_RANK);
    unshaped(&d, 0, (uint32_t)1 << 31, (uint32_t)1 << 31,
             STATESAMPLER_EINVAL_GLOBAL_BATCH);
    unsized(&d, 2, 999, STATESAMPLER_EINVAL_RESIZE);
    d.order = STATESAMPLER_ORDER_SEQUENTIAL;
    unsized(&d, 2, limit + 1, STATESAMPLER_EINVAL_NUM_SAMPLES);
    unsized(&d, 2, 2 * d.world_size * d.batch_size - 1,
            STATESAMPLER_ERANGE_POSITION);
    unsized(&d, 2, d.num_samples, STATESAMPLER_OK);
    d.partition = STATESAMPLER_PARTITION_BLOCKED;
    unsized(&d, 2, 999, STATESAMPLER_EINVAL_RESIZE);
    d.partition = STATESAMPLER_PARTITION_INTERLEAVED;
    d.drop_last = 0;
    d.tail = STATESAMPLER_TAIL_CARRY;
    unsized(&d, 0, 0, STATESAMPLER_EINVAL_CARRY_EMPTY);
}

/* The weights of a state must do in the shape of the mix that loads it. */
static void lone_pair(uint64_t big, uint32_t big_batch, uint64_t small,
                      const uint32_t *weights, uint32_t world_size,
                      uint32_t stop)
{
    uint32_t i;
    for (i = 0; i < 2; i++) {
        statesampler_desc d;
        memset(&d, 0, sizeof d);
        d.num_samples = i == 0 ? big : small;
        d.world_size = world_size;
        d.batch_size = big_batch;
        d.drop_last = stop == STATESAMPLER_STOP_NEVER;
        memset(&sources[i], 0, sizeof sources[i]);
        CHECK(statesampler_init(&sources[i].sampler, &d) == STATESAMPLER_OK);
        sources[i].weight = weights[i];
    }
    CHECK_CODE(statesampler_mix_init(&mix, sources, 2, stop), STATESAMPLER_OK);
}

static void check_their_weights(void)
{
    static const uint32_t both[2] = {3, 1}, small[2] = {STATESAMPLER_OFF, 1};
    static const uint32_t heavy[2] = {1, 0x7ffffffe}, even[2] = {1, 1};
    unsigned char state[FORGE_MIX_BYTES(2)];
    /* The small one has no step of 16 ranks. */
    lone_pair(1000000, 32, 400, both, 8, STATESAMPLER_STOP_NEVER);
    CHECK_CODE(statesampler_mix_weigh(&mix, small), STATESAMPLER_OK);
    unshaped_mix(0, 16, STATESAMPLER_EINVAL_NO_STEPS);
    CHECK(statesampler_mix_save(&mix, state, sizeof state) == STATESAMPLER_OK);
    lone_pair(1000000, 32, 400, both, 16, STATESAMPLER_STOP_NEVER);
    unloaded_mix(state, sizeof state, STATESAMPLER_EINVAL_NO_STEPS);
    /* In small batches the sequence would be too long. */
    lone_pair((uint64_t)1 << 50, 1 << 20, 3, heavy, 1, STATESAMPLER_STOP_ALL);
    CHECK(statesampler_mix_save(&mix, state, sizeof state) == STATESAMPLER_OK);
    lone_pair((uint64_t)1 << 50, 1, 3, even, 1, STATESAMPLER_STOP_ALL);
    unloaded_mix(state, sizeof state, STATESAMPLER_EINVAL_SEQUENCE);
}

/* What is just allowed. */
static void check_bounds(void)
{
    statesampler_desc d = plain();
    statesampler s;
    d.order = STATESAMPLER_ORDER_SEQUENTIAL;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK_CODE(statesampler_reshape(&s, 0, 0, 0), STATESAMPLER_OK);
    CHECK(statesampler_num_steps(&s) == d.num_samples);
    CHECK_CODE(statesampler_resize(&s, limit), STATESAMPLER_OK);
    CHECK(statesampler_num_steps(&s) == limit);
}

/* --- All codes ------------------------------------------------------------ */

/* The lists of the header, as a program may use them. */
#define LISTED(name, number, sentence) \
    {STATESAMPLER_##name, number, #name, sentence},
static const struct {
    int code, number;
    const char *name, *sentence;
} listed[] = {{STATESAMPLER_OK, 0, "OK", "no error"},
              STATESAMPLER_KINDS(LISTED) STATESAMPLER_RULES(LISTED)};

/* Each constant has the number and the sentence of its line, and its name
   begins with that of its kind. */
static void check_lists(void)
{
    const char *kind = "";
    size_t i, j;
    CHECK(COUNT(listed) == COUNT(codes));
    for (i = 0; i < COUNT(listed); i++) {
        int code = listed[i].code;
        CHECK(code == listed[i].number);
        CHECK(strcmp(statesampler_error(code), listed[i].sentence) == 0);
        for (j = 0; j < COUNT(listed); j++)
            if (listed[j].code == STATESAMPLER_KIND(code))
                kind = listed[j].name;
        CHECK(strncmp(listed[i].name, kind, strlen(kind)) == 0);
    }
}

/* Every sentence is one code's only, and says something; and there is no code
   that is not in the list. */
static void check_texts(void)
{
    const char *unknown = statesampler_error(1);
    size_t i, j;
    int code;
    CHECK(STATESAMPLER_OK == 0);
    for (i = 0; i < COUNT(codes); i++) {
        const char *text = statesampler_error(codes[i].code);
        CHECK(codes[i].code == codes[i].number);
        CHECK(codes[i].code <= 0 && codes[i].code > -1000);
        CHECK(text != NULL && strlen(text) >= 8);
        CHECK(strcmp(text, unknown) != 0);
        for (j = 0; j < i; j++) {
            CHECK(codes[i].code != codes[j].code);
            CHECK(strcmp(text, statesampler_error(codes[j].code)) != 0);
        }
    }
    for (code = -1100; code < 1100; code++) {
        for (i = 0; i < COUNT(codes) && codes[i].code != code; i++)
            continue;
        if (i == COUNT(codes))
            CHECK(strcmp(statesampler_error(code), unknown) == 0);
    }
    CHECK(strcmp(statesampler_error(2147483647), unknown) == 0);
    CHECK(strcmp(statesampler_error(-2147483647 - 1), unknown) == 0);
}

static void check_kinds(void)
{
    size_t i;
    CHECK(STATESAMPLER_KIND(STATESAMPLER_OK) == STATESAMPLER_OK);
    CHECK(STATESAMPLER_KIND(STATESAMPLER_EINVAL) == STATESAMPLER_EINVAL);
    CHECK(STATESAMPLER_KIND(STATESAMPLER_EINVAL_RANK) == STATESAMPLER_EINVAL);
    CHECK(STATESAMPLER_KIND(STATESAMPLER_ERANGE_NAME) == STATESAMPLER_ERANGE);
    CHECK(STATESAMPLER_KIND(STATESAMPLER_ECORRUPT_SIZE) ==
          STATESAMPLER_ECORRUPT);
    CHECK(STATESAMPLER_KIND(STATESAMPLER_EVERSION_ALGORITHM) ==
          STATESAMPLER_EVERSION);
    CHECK(STATESAMPLER_KIND(STATESAMPLER_EMISMATCH_DATASET) ==
          STATESAMPLER_EMISMATCH);
    for (i = 0; i < COUNT(codes); i++)
        CHECK(codes[i].given || !codes[i].wanted);
}

/* The number is that of the text. */
static void check_version(void)
{
    unsigned major = 0, minor = 0, patch = 0;
    CHECK(sscanf(STATESAMPLER_VERSION, "%u.%u.%u", &major, &minor, &patch) ==
          3);
    CHECK(STATESAMPLER_VERSION_NUMBER == major * 10000 + minor * 100 + patch);
    CHECK(statesampler_version() == STATESAMPLER_VERSION_NUMBER);
}

int main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    check_shapes();
    check_choices();
    check_windows();
    check_perm();
    check_steps();
    check_locate();
    check_capacity();
    check_zero();
    check_fields();
    check_wholeness();
    check_mismatch();
    check_mixes();
    check_turns();
    check_mix_locate();
    check_mix_capacity();
    check_mix_fields();
    check_mix_wholeness();
    check_mix_unmoved();
    check_mix_weights();
    check_mix_mismatch();
    check_weights();
    check_mix_shapes();
    check_changes();
    check_their_weights();
    check_bounds();
    check_lists();
    check_texts();
    check_kinds();
    check_version();
    return check_done("test_errors");
}

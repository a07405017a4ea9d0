/* test_errors.c - is each impossible request refused by name, with nothing
   changed? */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "check.h"
#include "must.h"

static const uint64_t limit = (uint64_t)1 << 62;

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
    CHECK_KIND(statesampler_init(&s, d), code);
    CHECK(memcmp(&s, &before, sizeof s) == 0);
    CHECK(statesampler_init(&s, &good) == STATESAMPLER_OK);
    CHECK(must_next(&s, batch) == 8);
    memcpy(&before, &s, sizeof s);
    CHECK_KIND(statesampler_init(&s, d), code);
    CHECK(memcmp(&s, &before, sizeof s) == 0);
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
    for (k = 0; k < sizeof worlds / sizeof worlds[0]; k++) {
        d = plain();
        d.batch_size = 1;
        d.world_size = worlds[k];
        d.rank = worlds[k] - 1;
        accepted(&d);
        d.rank = worlds[k];
        refused(&d, STATESAMPLER_EINVAL);
        d.rank = 0xffffffffu;
        refused(&d, STATESAMPLER_EINVAL);
    }
    /* A world size of 0 means 1, which has only rank 0. */
    d = plain();
    d.world_size = 0;
    d.rank = 0;
    accepted(&d);
    d.rank = 1;
    refused(&d, STATESAMPLER_EINVAL);

    d = plain();
    d.num_samples = limit;
    accepted(&d);
    d.num_samples = limit + 1;
    refused(&d, STATESAMPLER_EINVAL);
    d.num_samples = (uint64_t)1 << 63;
    refused(&d, STATESAMPLER_EINVAL);
    d.num_samples = UINT64_MAX;
    refused(&d, STATESAMPLER_EINVAL);

    /* A global batch of 2^62 and more, from just below it: the first product
       is 2^62 - 2^31, the second 2^62, the last 2^64 - 2^33 + 1. */
    d = plain();
    d.world_size = 0x80000000u;
    d.batch_size = 0x7fffffffu;
    accepted(&d);
    d.batch_size = 0x80000000u;
    refused(&d, STATESAMPLER_EINVAL);
    d.world_size = 0x40000000u;
    d.batch_size = 0xffffffffu;
    accepted(&d);
    d.world_size = 0x40000001u;
    d.batch_size = 0xfffffffcu;
    accepted(&d);
    d.batch_size = 0xffffffffu;
    refused(&d, STATESAMPLER_EINVAL);
    d.world_size = 0xffffffffu;
    refused(&d, STATESAMPLER_EINVAL);
    d.batch_size = 0x40000001u;
    refused(&d, STATESAMPLER_EINVAL);
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
    d.order = 4;
    refused(&d, STATESAMPLER_EINVAL);
    d = plain();
    d.partition = 2;
    refused(&d, STATESAMPLER_EINVAL);
    d = plain();
    d.tail = 4;
    refused(&d, STATESAMPLER_EINVAL);
    d = plain();
    d.drop_last = 2;
    refused(&d, STATESAMPLER_EINVAL);
    for (k = 0; k < sizeof wild / sizeof wild[0]; k++) {
        d = plain();
        d.order = wild[k];
        refused(&d, STATESAMPLER_EINVAL);
        d = plain();
        d.partition = wild[k];
        refused(&d, STATESAMPLER_EINVAL);
        d = plain();
        d.tail = wild[k];
        refused(&d, STATESAMPLER_EINVAL);
        d = plain();
        d.drop_last = wild[k];
        refused(&d, STATESAMPLER_EINVAL);
    }
    /* Every combination there is, with and without samples: what is refused
       is CARRY with nothing to carry, with blocks, or with drop_last. */
    for (order = 0; order < 4; order++)
        for (partition = 0; partition < 2; partition++)
            for (tail = 0; tail < 4; tail++)
                for (drop_last = 0; drop_last < 2; drop_last++) {
                    int carry = tail == STATESAMPLER_TAIL_CARRY;
                    int senseless = carry && (partition || drop_last);
                    d = plain();
                    d.order = order;
                    d.partition = partition;
                    d.tail = tail;
                    d.drop_last = drop_last;
                    if (senseless)
                        refused(&d, STATESAMPLER_EINVAL);
                    else
                        accepted(&d);
                    d.num_samples = 1;
                    if (senseless)
                        refused(&d, STATESAMPLER_EINVAL);
                    else
                        accepted(&d);
                    d.num_samples = 0;
                    if (carry)
                        refused(&d, STATESAMPLER_EINVAL);
                    else
                        accepted(&d);
                }
}

static void check_windows(void)
{
    static const uint64_t bad[][2] = {
        {0, 1}, {1, 0}, {0, 0}, {0, UINT64_MAX}, {UINT64_MAX, 0},
        {UINT64_C(1) << 62, 1}, {1, UINT64_C(1) << 62},
        {UINT64_C(1) << 31, UINT64_C(1) << 31},
        {UINT64_C(1) << 32, UINT64_C(1) << 30},
        /* Products that wrap to 0, to 1 and to little more. */
        {UINT64_C(1) << 32, UINT64_C(1) << 32},
        {UINT64_C(1) << 63, 2},
        {UINT64_MAX, UINT64_MAX},
        {(UINT64_C(1) << 32) + 1, UINT64_C(1) << 32},
        {UINT64_C(0x5555555555555556), 3},
        {UINT64_MAX, 1}, {1, UINT64_MAX}
    };
    static const uint64_t good[][2] = {
        {1, 1}, {(UINT64_C(1) << 62) - 1, 1}, {1, (UINT64_C(1) << 62) - 1},
        {(UINT64_C(1) << 31) - 1, UINT64_C(1) << 31},
        {3, UINT64_C(1537228672809129301)},
        {7, 1000000}
    };
    statesampler_desc d;
    size_t k;
    uint32_t order, partition;
    for (partition = 0; partition < 2; partition++) {
        d = plain();
        d.order = STATESAMPLER_ORDER_WINDOW;
        d.partition = partition;
        for (k = 0; k < sizeof bad / sizeof bad[0]; k++) {
            d.chunk_size = bad[k][0];
            d.window = bad[k][1];
            refused(&d, STATESAMPLER_EINVAL);
        }
        for (k = 0; k < sizeof good / sizeof good[0]; k++) {
            d.chunk_size = good[k][0];
            d.window = good[k][1];
            accepted(&d);
        }
    }
    /* The other orders have no chunks, so whatever stands there is ignored. */
    for (order = 0; order < 4; order++)
        if (order != STATESAMPLER_ORDER_WINDOW)
            for (k = 0; k < sizeof bad / sizeof bad[0]; k++) {
                d = plain();
                d.order = order;
                d.chunk_size = bad[k][0];
                d.window = bad[k][1];
                accepted(&d);
            }
}

static void unmoved_seek(statesampler *s, uint64_t step, int code)
{
    statesampler before;
    memcpy(&before, s, sizeof before);
    CHECK_KIND(statesampler_seek(s, step), code);
    CHECK(memcmp(s, &before, sizeof before) == 0);
}

static void check_seek(void)
{
    statesampler s, other;
    statesampler_desc d = plain();
    unsigned char state[STATESAMPLER_STATE_BYTES];
    uint64_t steps, out[8];
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    steps = statesampler_num_steps(&s);
    CHECK(steps == 32);
    CHECK(statesampler_seek(&s, 5) == STATESAMPLER_OK);
    unmoved_seek(&s, steps + 1, STATESAMPLER_ERANGE);
    unmoved_seek(&s, UINT64_MAX, STATESAMPLER_ERANGE);
    unmoved_seek(&s, (uint64_t)1 << 63, STATESAMPLER_ERANGE);
    /* A step whose position wraps round to an early one. */
    unmoved_seek(&s, ((uint64_t)1 << 59) + 1, STATESAMPLER_ERANGE);
    CHECK(must_miss(&s, steps) == 0);
    CHECK(must_miss(&s, UINT64_MAX) == 0);
    CHECK(must_miss(&s, ((uint64_t)1 << 59) + 1) == 0);
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
    unmoved_seek(&other, 6, STATESAMPLER_ERANGE);
    unmoved_seek(&other, 0, STATESAMPLER_ERANGE);
    CHECK(must_miss(&other, 6) == STATESAMPLER_ERANGE_BASE);
    CHECK(must_at(&other, 7, out) == 8);
    unmoved_seek(&other, statesampler_num_steps(&other) + 1,
                 STATESAMPLER_ERANGE);
    CHECK(statesampler_seek(&other, 8) == STATESAMPLER_OK);
    CHECK(statesampler_seek(&other, 7) == STATESAMPLER_OK);

    /* CARRY has no last step, but 2^62 positions from the base are a limit. */
    d = plain();
    d.tail = STATESAMPLER_TAIL_CARRY;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(statesampler_seek(&s, 1000) == STATESAMPLER_OK);
    unmoved_seek(&s, ((uint64_t)1 << 57) + 1, STATESAMPLER_ERANGE);
    unmoved_seek(&s, UINT64_MAX, STATESAMPLER_ERANGE);
    CHECK(must_miss(&s, ((uint64_t)1 << 57) + 1) == STATESAMPLER_ERANGE_FAR);
    CHECK(statesampler_seek(&s, (uint64_t)1 << 57) == STATESAMPLER_OK);
}

static void unfound(const statesampler *s, uint64_t index, int code)
{
    statesampler_place place, before;
    memset(&place, 0x33, sizeof place);
    memcpy(&before, &place, sizeof place);
    CHECK_KIND(statesampler_locate(s, index, &place), code);
    CHECK(memcmp(&place, &before, sizeof place) == 0);
}

static void check_locate(void)
{
    statesampler s;
    statesampler_desc d = plain();
    statesampler_place place;
    unsigned char state[STATESAMPLER_STATE_BYTES];
    uint64_t i;
    unsigned lost = 0;
    uint32_t partition;
    for (partition = 0; partition < 2; partition++) {
        d = plain();
        d.partition = partition;
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
        CHECK(statesampler_locate(&s, 999, &place) == STATESAMPLER_OK);
        unfound(&s, 1000, STATESAMPLER_ERANGE);
        unfound(&s, UINT64_MAX, STATESAMPLER_ERANGE);
        d.order = STATESAMPLER_ORDER_REPLACEMENT;
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
        unfound(&s, 5, STATESAMPLER_EINVAL);
    }
    d = plain();
    d.num_samples = 0;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    unfound(&s, 0, STATESAMPLER_ERANGE);

    /* A dropped sample has no place: 998 of 999 are served by two ranks. */
    d = plain();
    d.num_samples = 999;
    d.world_size = 2;
    d.tail = STATESAMPLER_TAIL_DROP;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    for (i = 0; i < 999; i++)
        if (statesampler_locate(&s, i, &place) != STATESAMPLER_OK) {
            unfound(&s, i, STATESAMPLER_ERANGE);
            lost++;
        }
    CHECK(lost == 1);

    /* What was served before the base has no place in the present shape. */
    d = plain();
    d.order = STATESAMPLER_ORDER_SEQUENTIAL;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(statesampler_seek(&s, 3) == STATESAMPLER_OK);
    must_save(&s, state);
    d.world_size = 2;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(statesampler_load(&s, state, sizeof state) == STATESAMPLER_OK);
    unfound(&s, 3 * 32 - 1, STATESAMPLER_ERANGE);
    CHECK(statesampler_locate(&s, 3 * 32, &place) == STATESAMPLER_OK);
    CHECK(place.step == 3 && place.rank == 0 && place.slot == 0);
}

static void check_zero(void)
{
    statesampler s;
    statesampler_desc d;
    statesampler_counts counts;
    uint64_t out[1] = {77};
    unsigned char state[STATESAMPLER_STATE_BYTES];
    memset(&d, 0, sizeof d);
    memset(&s, 0x5a, sizeof s);
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(statesampler_num_steps(&s) == 0);
    CHECK(statesampler_position(&s) == 0);
    CHECK(must_miss(&s, 0) == 0);
    CHECK(statesampler_seek(&s, 0) == STATESAMPLER_OK);
    unmoved_seek(&s, 1, STATESAMPLER_ERANGE);
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

static void check_texts(void)
{
    static const int codes[] = {
        STATESAMPLER_OK, STATESAMPLER_EINVAL, STATESAMPLER_ERANGE,
        STATESAMPLER_ECORRUPT, STATESAMPLER_EVERSION, STATESAMPLER_EMISMATCH
    };
    static const int unknown[] = {1, 2, -10, -1000, 1000, 2147483647,
                                  -2147483647 - 1};
    size_t i, j, count = sizeof codes / sizeof codes[0];
    CHECK(STATESAMPLER_OK == 0);
    for (i = 0; i < count; i++) {
        const char *text = statesampler_error(codes[i]);
        CHECK(text != NULL && text[0] != '\0');
        CHECK(codes[i] <= 0);
        for (j = 0; j < i; j++) {
            CHECK(codes[i] != codes[j]);
            CHECK(strcmp(text, statesampler_error(codes[j])) != 0);
        }
        for (j = 0; j < sizeof unknown / sizeof unknown[0]; j++) {
            const char *other = statesampler_error(unknown[j]);
            CHECK(other != NULL && other[0] != '\0');
            CHECK(strcmp(text, other) != 0);
        }
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    check_shapes();
    check_choices();
    check_windows();
    check_seek();
    check_locate();
    check_zero();
    check_texts();
    return check_done("test_errors");
}

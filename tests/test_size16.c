/* test_size16.c - where a size_t has 16 bits, as on an AVR, is a batch that it
   cannot count refused by name, and all else as ever?

   Here the header has a size_t of 16 bits as its own. */
#define _XOPEN_SOURCE 700
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

/* An int of 32 bits is no int of 16: sums of two size_t are made in it, and
   compilers warn. */
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif
#define size_t uint16_t
#define STATESAMPLER_STATIC
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#undef size_t
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
#include "check.h"

#define BYTES STATESAMPLER_STATE_BYTES

static statesampler_desc describe(uint32_t batch_size)
{
    statesampler_desc d;
    memset(&d, 0, sizeof d);
    d.num_samples = 1000000;
    d.world_size = 1;
    d.batch_size = batch_size;
    return d;
}

static void check_init(void)
{
    const uint32_t wrong[] = {65536, 65537, 131072, 0xffffffffu};
    statesampler s, before;
    statesampler_desc d = describe(65535);
    uint16_t count;
    unsigned i;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(statesampler_next(&s, NULL, &count) == 1 && count == 65535);
    before = s;
    for (i = 0; i < 4; i++) {
        d = describe(wrong[i]);
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_EINVAL_BATCH_SIZE);
        CHECK(statesampler_reshape(&s, 0, 1, wrong[i]) ==
              STATESAMPLER_EINVAL_BATCH_SIZE);
        CHECK(memcmp(&s, &before, sizeof s) == 0);
    }
    CHECK(strcmp(statesampler_error(STATESAMPLER_EINVAL_BATCH_SIZE),
                 "batch_size does not fit a size_t") == 0);
    CHECK(statesampler_reshape(&s, 0, 1, 40000) == STATESAMPLER_OK);
    CHECK(statesampler_next(&s, NULL, &count) == 1 && count == 40000);
}

/* An epoch in large batches, and one of a state whose run had larger ones. */
static void check_epochs(void)
{
    static uint64_t batch[65535];
    unsigned char state[BYTES];
    statesampler s;
    statesampler_desc d = describe(65535);
    statesampler_audit audit = {0, 0, 0, 0};
    uint16_t count;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(statesampler_num_steps(&s) == 16);
    while (statesampler_next(&s, batch, &count)) { /* ends with the epoch */
        statesampler_audit_add(&audit, batch, count);
    }
    CHECK(statesampler_audit_check(&audit, 1000000));
    /* What a machine saves with batch_size 2^16, after its first step: this one
       goes on with its own. */
    d.batch_size = 32768;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(statesampler_seek(&s, 2) == STATESAMPLER_OK);
    s.run.shape.batch_size = 65536;
    CHECK(statesampler_save(&s, state, BYTES) == STATESAMPLER_OK);
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(statesampler_load(&s, state, BYTES) == STATESAMPLER_OK);
    CHECK(statesampler_position(&s) == 65536 && statesampler_step(&s) == 1);
    CHECK(statesampler_describe(state, BYTES, &d, NULL) == STATESAMPLER_OK);
    CHECK(d.batch_size == 65536);
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_EINVAL_BATCH_SIZE);
}

int main(void)
{
    check_init();
    check_epochs();
    return check_done("test_size16");
}

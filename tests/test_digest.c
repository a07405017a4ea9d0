/* test_digest.c - do orders depend on compiler, flags, word size or byte
   order?

   Every row digests what one layer gives for one configuration, and is pinned
   to a constant, which all compilers and machines must find. The constants
   say that nothing changed, not that it was right: other tests ask that. When
   an algorithm number changes, the rows that a failing run prints are the new
   ones. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "check.h"

/* FNV-1a over the eight bytes of each value, least significant first. */
static uint64_t digest;

static void begin(void)
{
    digest = UINT64_C(0xcbf29ce484222325);
}

static void take(uint64_t value)
{
    unsigned i;
    for (i = 0; i < 8; i++) {
        digest ^= value >> 8 * i & 255;
        digest *= UINT64_C(0x100000001b3);
    }
}

/* --- perm --- */

static void take_perm(uint64_t n, uint64_t seed)
{
    statesampler_perm perm;
    uint64_t out[150], i, samples = n < 150 ? n : 150;
    uint64_t stride = n / samples;
    size_t count = (size_t)samples;
    CHECK(statesampler_perm_init(&perm, n, seed, seed + 1, seed * 5) == 0);
    for (i = 0; i < samples; i++) {
        take(statesampler_perm_at(&perm, i * stride));
        take(statesampler_perm_inverse(&perm, n - 1 - i));
    }
    statesampler_perm_fill(&perm, 0, stride, out, count);
    for (i = 0; i < samples; i++)
        take(out[i]);
    statesampler_perm_fill(&perm, n - samples, 1, out, count);
    for (i = 0; i < samples; i++)
        take(out[i]);
}

static void perm_small(void)
{
    uint64_t n;
    for (n = 1; n < 300; n++)
        take_perm(n, n % 7);
}

static void perm_around(uint64_t n)
{
    take_perm(n - 1, 0);
    take_perm(n, UINT64_MAX);
    take_perm(n + 1, UINT64_C(0x0123456789abcdef));
}

static void perm_narrow(void)
{
    perm_around(8192);
    perm_around(65536);
    perm_around(1000000);
    perm_around((uint64_t)1 << 24);
    perm_around(100000000);
    perm_around(UINT64_C(1) << 28);
    perm_around((uint64_t)26757 * 26757);
    perm_around(1000000000);
    perm_around((UINT64_C(1) << 30) - 1);
}

static void perm_wide(void)
{
    perm_around((UINT64_C(1) << 30) + 2);
    perm_around(UINT64_C(1) << 32);
    perm_around(UINT64_C(1) << 40);
    perm_around(UINT64_C(1000000000000000));
    perm_around(UINT64_C(1) << 53);
    perm_around(UINT64_C(1) << 60);
    perm_around((UINT64_C(1) << 61) + 12345);
    perm_around((UINT64_C(1) << 62) - 1);
}

static void perm_keys(void)
{
    uint64_t i, j, bit;
    statesampler_perm perm;
    for (bit = 0; bit < 64; bit++)
        for (i = 0; i < 3; i++) {
            uint64_t one = (uint64_t)1 << bit;
            CHECK(statesampler_perm_init(&perm, 1000003, i == 0 ? one : 0,
                                         i == 1 ? one : 0,
                                         i == 2 ? one : 0) == 0);
            for (j = 0; j < 20; j++)
                take(statesampler_perm_at(&perm, j));
        }
}

/* --- samplers --- */

static void take_counts(const statesampler *s)
{
    statesampler_counts c;
    statesampler_get_counts(s, &c);
    take(c.positions);
    take(c.padded);
    take(c.dropped);
    take(c.steps);
    take(c.rank_samples);
    take(c.rank_batches);
}

static void take_state(const statesampler *s)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    unsigned i;
    statesampler_save(s, state);
    for (i = 0; i < sizeof state; i++)
        take(state[i]);
}

static void take_batch(const uint64_t *out, size_t count)
{
    size_t i;
    take(count);
    for (i = 0; i < count; i++)
        take(out[i]);
}

static void take_step(const statesampler *s)
{
    statesampler_place place;
    uint64_t step = statesampler_step(s), out[16], i;
    take_batch(out, statesampler_at(s, step, out));
    take_batch(out, statesampler_at(s, step + 3, out));
    take(statesampler_padding(s, step));
    take(statesampler_epoch(s));
    take(statesampler_position(s));
    take(step);
    for (i = 0; i < 4; i++) {
        int code = statesampler_locate(s, (step * 37 + i * 11) % 200, &place);
        take((uint64_t)-code);
        if (code == STATESAMPLER_OK) {
            take(place.position);
            take(place.step);
            take(place.rank);
            take(place.slot);
        }
    }
}

static statesampler_desc describe(uint64_t n, uint32_t order,
                                  uint32_t partition, uint32_t tail)
{
    statesampler_desc d;
    memset(&d, 0, sizeof d);
    d.num_samples = n;
    d.seed = UINT64_C(0x123456789);
    d.epoch = 41;
    d.stream = 3;
    d.order = order;
    d.partition = partition;
    d.tail = tail;
    d.chunk_size = 12;
    d.window = 4;
    return d;
}

/* All ranks of some shapes, through the end of an epoch and beyond. */
static void take_samplers(uint32_t order, uint32_t partition, uint32_t tail,
                          uint32_t drop_last)
{
    static const uint32_t shapes[][2] = {{1, 16}, {3, 5}, {7, 2}, {19, 15}};
    static const uint64_t sizes[] = {1, 5, 197, 250};
    unsigned shape, size, k;
    uint32_t rank;
    for (shape = 0; shape < 4; shape++)
        for (size = 0; size < 4; size++)
            for (rank = 0; rank < shapes[shape][0]; rank += 2) {
                statesampler s;
                statesampler_desc d =
                    describe(sizes[size], order, partition, tail);
                uint64_t out[16];
                d.world_size = shapes[shape][0];
                d.batch_size = shapes[shape][1];
                d.rank = rank;
                d.drop_last = drop_last;
                CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
                take_counts(&s);
                for (k = 0; k < 24; k++) {
                    take_step(&s);
                    take_batch(out, statesampler_next(&s, out));
                    if (k % 8 == 0)
                        take_state(&s);
                }
            }
}

/* A chain of worlds that take one epoch over from each other. */
static void take_chain(uint32_t order, uint32_t partition, uint32_t tail)
{
    static const uint32_t shapes[][2] = {
        {8, 2}, {3, 4}, {5, 3}, {5, 1}, {2, 9}
    };
    unsigned char state[STATESAMPLER_STATE_BYTES];
    unsigned k, j;
    uint32_t rank;
    statesampler s;
    for (k = 0; k < 5; k++)
        for (rank = shapes[k][0]; rank-- > 0;) {
            statesampler_desc d = describe(231, order, partition, tail);
            uint64_t out[16];
            d.world_size = shapes[k][0];
            d.batch_size = shapes[k][1];
            d.rank = rank;
            CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
            if (k > 0)
                CHECK(statesampler_load(&s, state, sizeof state) ==
                      STATESAMPLER_OK);
            take_counts(&s);
            for (j = 0; j < 3; j++) {
                take_step(&s);
                take_batch(out, statesampler_next(&s, out));
            }
            take_state(&s);
            if (rank == 0)
                statesampler_save(&s, state);
        }
}

static void take_order(uint32_t order)
{
    uint32_t partition, tail;
    for (partition = 0; partition < 2; partition++)
        for (tail = 0; tail < 4; tail++) {
            if (tail == STATESAMPLER_CARRY && partition)
                continue;
            take_samplers(order, partition, tail, 0);
            if (tail != STATESAMPLER_CARRY)
                take_samplers(order, partition, tail, 1);
            take_chain(order, partition, tail);
        }
}

static void order_shuffle(void)
{
    take_order(STATESAMPLER_SHUFFLE);
}

static void order_sequential(void)
{
    take_order(STATESAMPLER_SEQUENTIAL);
}

static void order_window(void)
{
    take_order(STATESAMPLER_WINDOW);
}

static void order_replacement(void)
{
    take_order(STATESAMPLER_REPLACEMENT);
}

/* Sizes, steps and worlds that do not fit 32 bits. */
static void sampler_large(void)
{
    static const uint64_t sizes[] = {
        UINT64_C(5000000000), UINT64_C(1) << 40, (UINT64_C(1) << 61) + 77,
        UINT64_C(1) << 62
    };
    uint32_t order, partition, tail;
    unsigned size, k;
    for (size = 0; size < 4; size++)
        for (order = 0; order < 4; order++)
            for (partition = 0; partition < 2; partition++)
                for (tail = 0; tail < 4; tail++) {
                    statesampler s;
                    statesampler_desc d =
                        describe(sizes[size], order, partition, tail);
                    uint64_t out[16], steps;
                    if (tail == STATESAMPLER_CARRY && partition)
                        continue;
                    d.chunk_size = UINT64_C(1) << 33;
                    d.window = 3 + size;
                    d.world_size = 0x30000001u;
                    d.rank = 0x2fffffffu;
                    d.batch_size = 11;
                    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
                    take_counts(&s);
                    steps = statesampler_num_steps(&s);
                    if (tail == STATESAMPLER_CARRY)
                        steps = 100000000;
                    CHECK(statesampler_seek(&s, steps / 2) == 0);
                    take_step(&s);
                    CHECK(statesampler_seek(&s, steps - steps / 9) == 0);
                    for (k = 0; k < 3; k++)
                        take_batch(out, statesampler_next(&s, out));
                    take_state(&s);
                }
}

static void audits(void)
{
    static uint64_t list[5000];
    statesampler_perm perm;
    statesampler_audit a = {0, 0, 0, 0}, b = {0, 0, 0, 0};
    CHECK(statesampler_perm_init(&perm, STATESAMPLER_MAX_SAMPLES, 1, 2, 3) ==
          0);
    statesampler_perm_fill(&perm, 5, 1, list, 5000);
    statesampler_audit_add(&a, list, 3000);
    statesampler_audit_add(&b, list + 3000, 2000);
    statesampler_audit_merge(&a, &b);
    take(a.count);
    take(a.sum1);
    take(a.sum2);
    take(a.sum3);
    take(b.sum3);
}

static const struct {
    const char *name;
    void (*run)(void);
    uint64_t pinned;
} rows[] = {
    {"perm_small", perm_small,
     UINT64_C(0x52d8e4a8e122aa45)},
    {"perm_narrow", perm_narrow,
     UINT64_C(0xbed22afff75cd3d0)},
    {"perm_wide", perm_wide,
     UINT64_C(0x04c77655d942b514)},
    {"perm_keys", perm_keys,
     UINT64_C(0xadb467ff246d173b)},
    {"order_shuffle", order_shuffle,
     UINT64_C(0xd703a1f4e9f32b76)},
    {"order_sequential", order_sequential,
     UINT64_C(0xb9552cf358131334)},
    {"order_window", order_window,
     UINT64_C(0x416747749b4e32a8)},
    {"order_replacement", order_replacement,
     UINT64_C(0xada307c20f7e5457)},
    {"sampler_large", sampler_large,
     UINT64_C(0x87329bf16c9907ac)},
    {"audits", audits,
     UINT64_C(0xaa70ea02e72a68c3)},
};

static void print_row(size_t k)
{
    printf("    {\"%s\", %s,\n     UINT64_C(0x%08lx%08lx)},\n", rows[k].name,
           rows[k].name, (unsigned long)(digest >> 32),
           (unsigned long)(digest & 0xffffffffu));
}

int main(int argc, char **argv)
{
    size_t k, differ = 0, count = sizeof rows / sizeof rows[0];
    (void)argc;
    (void)argv;
    for (k = 0; k < count; k++) {
        begin();
        rows[k].run();
        if (digest != rows[k].pinned) {
            print_row(k);
            differ++;
        }
    }
    CHECK(differ == 0);
    return check_done("test_digest");
}

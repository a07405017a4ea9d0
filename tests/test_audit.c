/* test_audit.c - does the audit say "each exactly once" then and only then? */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "check.h"

static const statesampler_audit nothing = {0, 0, 0, 0};

static statesampler_audit audit_of(const uint64_t *indices, size_t count)
{
    statesampler_audit audit = nothing;
    statesampler_audit_add(&audit, indices, count);
    return audit;
}

/* The sums over [0, n) by doubling, with additions and products only: what
   [m, 2m) adds is the binomial expansion of (i + m)^k over [0, m). Nothing is
   halved, so the arithmetic modulo 2^64 is exact. */
static statesampler_audit expected(uint64_t n)
{
    statesampler_audit a = nothing;
    unsigned bit;
    uint64_t m = 0;
    for (bit = 64; bit-- > 0;) {
        uint64_t s0 = a.count, s1 = a.sum1, s2 = a.sum2, s3 = a.sum3;
        a.count = 2 * s0;
        a.sum1 = 2 * s1 + m * s0;
        a.sum2 = 2 * s2 + 2 * m * s1 + m * m * s0;
        a.sum3 = 2 * s3 + 3 * m * s2 + 3 * m * m * s1 + m * m * m * s0;
        m *= 2;
        if (n >> bit & 1) {
            a.count += 1;
            a.sum1 += m;
            a.sum2 += m * m;
            a.sum3 += m * m * m;
            m += 1;
        }
    }
    return a;
}

static void check_closed_forms(void)
{
    static const uint64_t sizes[] = {
        65535,
        65536,
        65537,
        UINT64_C(2097151),
        UINT64_C(2642245),
        UINT64_C(2642246),
        UINT64_C(4294967295),
        UINT64_C(4294967296),
        UINT64_C(4294967297),
        UINT64_C(1) << 61,
        (UINT64_C(1) << 61) + 1,
        (UINT64_C(1) << 62) - 3,
        (UINT64_C(1) << 62) - 2,
        (UINT64_C(1) << 62) - 1,
        UINT64_C(1) << 62,
    };
    statesampler_audit counted = nothing, a, b;
    uint64_t n;
    unsigned k, bit;
    /* The doubling itself, against plain addition. */
    for (n = 0; n < 3000; n++) {
        a = expected(n);
        CHECK(memcmp(&a, &counted, sizeof a) == 0);
        CHECK(statesampler_audit_check(&counted, n) == 1);
        CHECK(statesampler_audit_check(&counted, n + 1) == 0);
        CHECK(n == 0 || statesampler_audit_check(&counted, n - 1) == 0);
        statesampler_audit_add(&counted, &n, 1);
    }
    for (k = 0; k < sizeof sizes / sizeof sizes[0] + 2000; k++) {
        if (k < sizeof sizes / sizeof sizes[0])
            n = sizes[k];
        else
            n = (check_random(UINT64_C(1) << 31) << 31 |
                 check_random(UINT64_C(1) << 31)) >>
                k % 62;
        a = expected(n);
        CHECK(statesampler_audit_check(&a, n) == 1);
        CHECK(statesampler_audit_check(&a, n + 1) == 0);
        /* Each bit of each sum counts. */
        for (bit = 0; bit < 64; bit++) {
            uint64_t flip = (uint64_t)1 << bit;
            b = a;
            b.count ^= flip;
            CHECK(statesampler_audit_check(&b, n) == 0);
            b = a;
            b.sum1 ^= flip;
            CHECK(statesampler_audit_check(&b, n) == 0);
            b = a;
            b.sum2 ^= flip;
            CHECK(statesampler_audit_check(&b, n) == 0);
            b = a;
            b.sum3 ^= flip;
            CHECK(statesampler_audit_check(&b, n) == 0);
        }
    }
}

static void check_faults(int reduced)
{
    uint64_t list[70], n, largest = reduced ? 24 : 64, i, j;
    for (n = 1; n <= largest; n++) {
        statesampler_audit whole;
        for (i = 0; i < n; i++)
            list[i] = n - 1 - i;
        whole = audit_of(list, (size_t)n);
        CHECK(statesampler_audit_check(&whole, n) == 1);
        for (i = 0; i < n; i++) {
            statesampler_audit lost = nothing, doubled = whole;
            uint64_t kept = list[i];
            statesampler_audit_add(&lost, list, (size_t)i);
            statesampler_audit_add(&lost, list + i + 1, (size_t)(n - 1 - i));
            CHECK(statesampler_audit_check(&lost, n) == 0);
            statesampler_audit_add(&doubled, list + i, 1);
            CHECK(statesampler_audit_check(&doubled, n) == 0);
            /* Swapped in: every other index, some beyond the end too. */
            for (j = 0; j < n + 5; j++) {
                statesampler_audit swapped;
                list[i] = j;
                swapped = audit_of(list, (size_t)n);
                CHECK(statesampler_audit_check(&swapped, n) == (j == kept));
            }
            list[i] = UINT64_MAX - i;
            whole = audit_of(list, (size_t)n);
            CHECK(statesampler_audit_check(&whole, n) == 0);
            list[i] = kept;
            whole = audit_of(list, (size_t)n);
        }
    }
}

/* Every list of n values below n + 2: only the permutations pass. */
static void check_every_list(int reduced)
{
    uint64_t list[8], n, largest = reduced ? 5 : 6, i, j;
    for (n = 0; n <= largest; n++) {
        memset(list, 0, sizeof list);
        for (;;) {
            statesampler_audit audit = audit_of(list, (size_t)n);
            int once = 1;
            for (i = 0; i < n; i++) {
                once &= list[i] < n;
                for (j = 0; j < i; j++)
                    once &= list[i] != list[j];
            }
            CHECK(statesampler_audit_check(&audit, n) == once);
            for (i = 0; i < n && ++list[i] == n + 2; i++)
                list[i] = 0;
            if (i == n)
                break;
        }
    }
}

/* At n = 10^6 and near 2^62 the faults are put into the sums, because only
   those are kept: the audit is linear in what was served. */
static void check_large_faults(void)
{
    static const uint64_t sizes[] = {
        1000000,           UINT64_C(1000000007),
        UINT64_C(1) << 32, (UINT64_C(1) << 62) - 1,
        UINT64_C(1) << 62,
    };
    unsigned s, k;
    for (s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (k = 0; k < 2000; k++) {
            uint64_t n = sizes[s];
            uint64_t i = (check_random(UINT64_C(1) << 31) << 31 |
                          check_random(UINT64_C(1) << 31)) %
                         n;
            uint64_t j = (check_random(UINT64_C(1) << 31) << 31 |
                          check_random(UINT64_C(1) << 31)) %
                         n;
            statesampler_audit doubled = expected(n), lost = expected(n);
            statesampler_audit swapped;
            if (k < 100)
                i = k;
            if (k % 4 == 0)
                j = i + 1;
            if (j == i || j >= n)
                continue;
            statesampler_audit_add(&doubled, &i, 1);
            CHECK(statesampler_audit_check(&doubled, n) == 0);
            lost.count -= 1;
            lost.sum1 -= i;
            lost.sum2 -= i * i;
            lost.sum3 -= i * i * i;
            CHECK(statesampler_audit_check(&lost, n) == 0);
            swapped = lost;
            statesampler_audit_add(&swapped, &j, 1);
            CHECK(statesampler_audit_check(&swapped, n) == 0);
            statesampler_audit_add(&lost, &i, 1);
            CHECK(statesampler_audit_check(&lost, n) == 1);
        }
}

/* The parts of an epoch merge to the same 32 bytes in any order and grouping,
   and an index may be added in any company. */
static void check_merges(int reduced)
{
    enum { N = 500, PARTS = 12 };
    static uint64_t list[N];
    statesampler_audit whole, part[PARTS];
    unsigned round, rounds = reduced ? 20 : 300, k, alive;
    uint64_t i;
    for (i = 0; i < N; i++)
        list[i] = i;
    whole = audit_of(list, N);
    for (round = 0; round < rounds; round++) {
        for (i = N - 1; i > 0; i--) {
            uint64_t j = check_random(i + 1), kept = list[i];
            list[i] = list[j];
            list[j] = kept;
        }
        for (k = 0; k < PARTS; k++)
            part[k] = nothing;
        for (i = 0; i < N;) {
            uint64_t count = check_random(40);
            if (count > N - i)
                count = N - i;
            statesampler_audit_add(&part[check_random(PARTS)], list + i,
                                   (size_t)count);
            i += count;
        }
        for (alive = PARTS; alive > 1; alive--) {
            unsigned into = (unsigned)check_random(alive), from;
            do
                from = (unsigned)check_random(alive);
            while (from == into);
            statesampler_audit_merge(&part[into], &part[from]);
            part[from] = part[alive - 1];
        }
        CHECK(memcmp(&part[0], &whole, sizeof whole) == 0);
        CHECK(statesampler_audit_check(&part[0], N) == 1);
    }
    part[0] = whole;
    statesampler_audit_merge(&part[0], &nothing);
    CHECK(memcmp(&part[0], &whole, sizeof whole) == 0);
    part[1] = nothing;
    statesampler_audit_merge(&part[1], &whole);
    CHECK(memcmp(&part[1], &whole, sizeof whole) == 0);
    statesampler_audit_merge(&part[1], &whole);
    CHECK(statesampler_audit_check(&part[1], N) == 0);
    CHECK(statesampler_audit_check(&part[1], 2 * N) == 0);
}

static void check_empty(void)
{
    statesampler_audit audit = nothing;
    uint64_t zero = 0;
    CHECK(sizeof audit == 32);
    CHECK(statesampler_audit_check(&audit, 0) == 1);
    CHECK(statesampler_audit_check(&audit, 1) == 0);
    statesampler_audit_add(&audit, &zero, 0);
    CHECK(memcmp(&audit, &nothing, sizeof audit) == 0);
    statesampler_audit_add(&audit, NULL, 0);
    CHECK(memcmp(&audit, &nothing, sizeof audit) == 0);
    /* Index 0 adds nothing to the sums, so only the count can show it. */
    statesampler_audit_add(&audit, &zero, 1);
    CHECK(statesampler_audit_check(&audit, 0) == 0);
    CHECK(statesampler_audit_check(&audit, 1) == 1);
    statesampler_audit_add(&audit, &zero, 1);
    CHECK(statesampler_audit_check(&audit, 1) == 0);
    CHECK(statesampler_audit_check(&audit, 2) == 0);
}

/* What it is for: the ranks of a run each keep one, and together they show
   whether the epoch was served once, or with padding, or cut. */
static void check_samplers(void)
{
    uint32_t order, partition, world, rank;
    uint64_t n;
    for (n = 0; n < 200; n += 1 + n / 5)
        for (world = 1; world < 9; world++)
            for (order = 0; order < 3; order++)
                for (partition = 0; partition < 2; partition++) {
                    uint32_t tail;
                    for (tail = STATESAMPLER_TAIL_PAD;
                         tail <= STATESAMPLER_TAIL_UNEVEN; tail++) {
                        statesampler_audit all = nothing;
                        int once =
                            tail == STATESAMPLER_TAIL_UNEVEN || n % world == 0;
                        for (rank = world; rank-- > 0;) {
                            statesampler s;
                            statesampler_desc d;
                            statesampler_audit mine = nothing;
                            uint64_t batch[3];
                            size_t count;
                            memset(&d, 0, sizeof d);
                            d.num_samples = n;
                            d.seed = 12;
                            d.rank = rank;
                            d.world_size = world;
                            d.batch_size = 3;
                            d.order = order;
                            d.partition = partition;
                            d.tail = tail;
                            d.chunk_size = 7;
                            d.window = 3;
                            CHECK(statesampler_init(&s, &d) == 0);
                            while (statesampler_next(&s, batch, &count))
                                statesampler_audit_add(&mine, batch, count);
                            statesampler_audit_merge(&all, &mine);
                        }
                        CHECK(statesampler_audit_check(&all, n) == once);
                    }
                }
}

int main(int argc, char **argv)
{
    int reduced = check_reduced(argc, argv);
    check_empty();
    check_closed_forms();
    check_faults(reduced);
    check_every_list(reduced);
    check_large_faults();
    check_merges(reduced);
    check_samplers();
    return check_done("test_audit");
}

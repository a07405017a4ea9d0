/* test_perm.c - is perm a bijection with its inverse, at every size?

   The full run marks every index of every n up to 2^15, and of some above:
   six hundred million calls, so what surrounds them is one store each. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "check.h"

#define BLOCK 4096
#define LARGEST (((uint64_t)1 << 24) + ((uint64_t)1 << 14))

static uint64_t block[BLOCK];
static unsigned char *marks;

static uint64_t root(uint64_t n)
{
    uint64_t low = 0, high = (uint64_t)1 << 32;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (middle * middle <= n)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Marked are only indices below n, so n values that leave no index unmarked
   are each index once. */
static void check_bijection(uint64_t n, uint64_t seed, uint64_t epoch,
                            uint64_t stream)
{
    statesampler_perm perm;
    uint64_t done = 0;
    CHECK(n <= LARGEST);
    CHECK(statesampler_perm_init(&perm, n, seed, epoch, stream) ==
          STATESAMPLER_OK);
    memset(marks, 0, (size_t)n);
    while (done < n) {
        size_t count = n - done < BLOCK ? (size_t)(n - done) : BLOCK, i;
        statesampler_perm_fill(&perm, done, 1, block, count);
        for (i = 0; i < count; i++) {
            uint64_t index = block[i];
            if (index < n)
                marks[(size_t)index] = 1;
        }
        done += count;
    }
    if (memchr(marks, 0, (size_t)n) != NULL)
        printf("n = %lu, seed %lu, epoch %lu, stream %lu\n", (unsigned long)n,
               (unsigned long)seed, (unsigned long)epoch,
               (unsigned long)stream);
    CHECK(memchr(marks, 0, (size_t)n) == NULL);
}

static void check_round_trip(const statesampler_perm *perm, uint64_t n,
                             uint64_t i)
{
    uint64_t index = statesampler_perm_at(perm, i);
    uint64_t position = statesampler_perm_inverse(perm, i);
    CHECK(index < n);
    CHECK(position < n);
    CHECK(statesampler_perm_inverse(perm, index) == i);
    CHECK(statesampler_perm_at(perm, position) == i);
}

static void check_sampled(uint64_t n, unsigned samples)
{
    statesampler_perm perm;
    unsigned k;
    if (n == 0 || n > STATESAMPLER_MAX_SAMPLES)
        return;
    CHECK(statesampler_perm_init(&perm, n, n, 3, 9) == STATESAMPLER_OK);
    check_round_trip(&perm, n, 0);
    check_round_trip(&perm, n, n - 1);
    check_round_trip(&perm, n, n / 2);
    for (k = 0; k < samples; k++)
        check_round_trip(&perm, n, check_random_bits(62) % n);
}

static void sweep_bijections(int reduced)
{
    uint64_t n, every = reduced ? 600 : 16384, keyed = reduced ? 128 : 4096;
    unsigned key, k, top = reduced ? 16 : 24;
    for (n = 1; n <= every; n++)
        check_bijection(n, 1, 0, 0);
    for (; n <= 2 * every; n += 17)
        check_bijection(n, 1, 0, 0);
    for (key = 0; key < 4; key++)
        for (n = 1; n <= keyed; n++)
            check_bijection(n, UINT64_C(0x9e3779b97f4a7c15) * key, key * 7,
                            (uint64_t)key << 40);
    for (k = 1; k <= top; k++) {
        uint64_t power = (uint64_t)1 << k, s = root(power), side, off;
        /* Odd powers lie between two squares, even ones are squares. */
        uint64_t first = k % 2 == 0 ? s - 1 : s;
        uint64_t last = s + 1;
        for (off = 0; off < 3; off++)
            check_bijection(power - 1 + off, 2, 5, 11);
        for (side = first; side <= last; side++)
            for (off = 0; off < 3; off++)
                if (side * side + off > 1 && side * side != power)
                    check_bijection(side * side - 1 + off, 3, 1, 4);
    }
}

static void sweep_inverses(int reduced)
{
    statesampler_perm perm;
    uint64_t n, i, every = reduced ? 200 : 1200;
    unsigned k, samples = reduced ? 20 : 500;
    for (n = 1; n <= every; n++) {
        CHECK(statesampler_perm_init(&perm, n, 4, n, 2) == STATESAMPLER_OK);
        for (i = 0; i < n; i++)
            check_round_trip(&perm, n, i);
    }
    for (k = 1; k <= 62; k++) {
        uint64_t power = (uint64_t)1 << k, s = root(power), side, off;
        for (off = 0; off < 5; off++)
            check_sampled(power - 2 + off, samples);
        for (side = s - 1; side <= s + 2; side++)
            for (off = 0; off < 3; off++)
                check_sampled(side * side - 1 + off, samples);
    }
    /* Where a network changes its rounds or its width, and the size whose
       grid a 16-bit hash fills worst. */
    for (i = 0; i < 5; i++) {
        check_sampled(8192 - 2 + i, samples);
        check_sampled(((uint64_t)1 << 24) - 2 + i, samples);
        check_sampled(((uint64_t)1 << 30) - 2 + i, samples);
        check_sampled((uint64_t)26757 * 26757 - 2 + i, samples);
        check_sampled(UINT64_C(1000000000) - 2 + i, samples);
    }
    /* A walk over the first cell outside, where the grid and n together are
       2^32: a bound on walks that adds them wraps to 0. */
    CHECK(statesampler_perm_init(&perm, 2147479016, 1, 0, 0) ==
          STATESAMPLER_OK);
    check_round_trip(&perm, 2147479016, 1595537528);
    CHECK(statesampler_perm_at(&perm, 1595537528) == 1037343714);
    check_sampled(STATESAMPLER_MAX_SAMPLES, samples);
    check_sampled(STATESAMPLER_MAX_SAMPLES - 1, samples);
    for (k = 0; k < (reduced ? 100u : 4000u); k++)
        check_sampled(check_random_bits(1 + k % 62), 8);
}

/* Positions outside end, too: of the cells of the grid many walk in cycles
   that never come below n. */
static void check_outside(int reduced)
{
    uint64_t n, i, seed;
    for (n = 1; n <= 12; n++)
        for (seed = 0; seed < 20; seed++) {
            statesampler_perm perm;
            uint64_t values[40], out[40];
            CHECK(statesampler_perm_init(&perm, n, seed, 0, 0) ==
                  STATESAMPLER_OK);
            for (i = 0; i < 40; i++) {
                values[i] = n + i;
                (void)statesampler_perm_at(&perm, n + i);
                (void)statesampler_perm_inverse(&perm, n + i);
            }
            statesampler_perm_fill(&perm, n, 3, out, 40);
            statesampler_perm_map(&perm, values, 40);
            for (i = 0; i < n; i++)
                check_round_trip(&perm, n, i);
        }
    /* Far outside the grid a walk stops at once: here it has 32,765 cells that
       are no position, and to pass through all of them for each of so many
       positions would take minutes. */
    {
        statesampler_perm perm;
        CHECK(statesampler_perm_init(&perm, (UINT64_C(1) << 30) + 1, 1, 2, 3) ==
              STATESAMPLER_OK);
        for (i = 0; i < (reduced ? 1000u : 1000000u); i++) {
            (void)statesampler_perm_at(&perm, ~(i << 40));
            (void)statesampler_perm_inverse(&perm, ~(i << 40));
        }
    }
}

#define GUARD UINT64_C(0xdeadbeefcafef00d)
#define LONGEST 1100

static void check_fill(const statesampler_perm *perm, uint64_t first,
                       uint64_t stride, size_t count)
{
    uint64_t out[2 + LONGEST];
    size_t i;
    CHECK(count <= LONGEST);
    out[0] = out[count + 1] = GUARD;
    statesampler_perm_fill(perm, first, stride, out + 1, count);
    for (i = 0; i < count; i++)
        CHECK(out[1 + i] == statesampler_perm_at(perm, first + i * stride));
    CHECK(out[0] == GUARD);
    CHECK(out[count + 1] == GUARD);
}

/* The counts that fit: the last position must be below n. */
static size_t fitting(uint64_t n, uint64_t first, uint64_t stride, size_t want)
{
    uint64_t room;
    if (stride == 0)
        return want;
    room = (n - 1 - first) / stride + 1;
    return room < want ? (size_t)room : want;
}

/* Around the numbers of pairs that one vector, or all in turn, hold. */
static const size_t long_counts[] = {
    127, 128, 129, 255, 256, 257, 383,  384,  385,
    511, 512, 513, 767, 768, 769, 1023, 1024, 1025,
};

/* All there is to ask of few samples. */
static void sweep_small_fills(void)
{
    uint64_t n, first, stride;
    for (n = 1; n <= 40; n++) {
        statesampler_perm perm;
        CHECK(statesampler_perm_init(&perm, n, 2, n, 9) == STATESAMPLER_OK);
        for (first = 0; first < n; first++)
            for (stride = 1; stride <= n - first; stride++) {
                size_t count = (size_t)((n - 1 - first) / stride + 1);
                for (; count != 0; count--)
                    check_fill(&perm, first, stride, count);
            }
    }
}

static void sweep_fills(int reduced)
{
    static const uint64_t sizes[] = {
        1,
        2,
        3,
        5,
        64,
        1000,
        4095,
        4096,
        65537,
        1000000,
        100000000,
        UINT64_C(1000000000),
        UINT64_C(1073741823),
        UINT64_C(1073741824),
        UINT64_C(1073741825),
        UINT64_C(1) << 40,
        (UINT64_C(1) << 60) - 1,
        (UINT64_C(1) << 40) - 20, /* too many cells outside to look up */
        UINT64_C(1) << 60,
        (UINT64_C(1) << 60) + 1,
        STATESAMPLER_MAX_SAMPLES,
    };
    statesampler_perm perm;
    size_t s, count, longest = reduced ? 70 : 300;
    unsigned k;
    for (s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        uint64_t n = sizes[s], side = root(n), near_side;
        CHECK(statesampler_perm_init(&perm, n, 8, s, 1) == STATESAMPLER_OK);
        /* Each length, because work in blocks has a remainder. */
        for (count = 0; count <= longest; count++) {
            uint64_t stride = n / 400 + 1;
            check_fill(&perm, n / 3, 1, fitting(n, n / 3, 1, count));
            check_fill(&perm, 0, 8, fitting(n, 0, 8, count));
            check_fill(&perm, 0, stride, fitting(n, 0, stride, count));
            check_fill(&perm, n - 1, 0, count);
            if (count < n)
                check_fill(&perm, n - count, 1, count);
        }
        for (k = 0; k < sizeof long_counts / sizeof long_counts[0]; k++) {
            count = long_counts[k];
            check_fill(&perm, 0, 1, fitting(n, 0, 1, count));
            check_fill(&perm, n / 5, 3, fitting(n, n / 5, 3, count));
            check_fill(&perm, n / 2, 0, count);
        }
        /* Strides around a row of the grid, where a carried row and column
           wrap, and strides that pass many rows at once. */
        for (near_side = side < 4 ? 1 : side - 4; near_side <= side + 4;
             near_side++) {
            check_fill(&perm, 0, near_side, fitting(n, 0, near_side, 200));
            check_fill(&perm, n / 7, 3 * near_side,
                       fitting(n, n / 7, 3 * near_side, 200));
        }
        check_fill(&perm, n - 1, n, 1);
        check_fill(&perm, n / 2, n + 1, 1);
        check_fill(&perm, 0, UINT64_MAX, 1);
        check_fill(&perm, n - 1, UINT64_MAX, 1);
        check_fill(&perm, n - 1, (uint64_t)1 << 63, 1);
        check_fill(&perm, n / 2, UINT64_MAX, 0);
    }
    /* A size with a short last row leaves a walk to go on with here and
       there: for 32-bit halves in a few of 10^5 positions. Seven of them
       leave a vector that is not full. */
    CHECK(statesampler_perm_init(&perm, ((uint64_t)1 << 30) + 1, 8, 0, 1) ==
          STATESAMPLER_OK);
    for (k = 0; k < 1000; k++)
        check_fill(&perm, 400 * (uint64_t)k, 1, 400);
    for (k = 0; k < 60000; k++)
        check_fill(&perm, 7 * (uint64_t)k, 1, 7);
    for (k = 0; k < (reduced ? 300u : 20000u); k++) {
        uint64_t n = check_random_bits(1 + k % 62) + 1, first, stride;
        CHECK(statesampler_perm_init(&perm, n, k, 0, 0) == STATESAMPLER_OK);
        first = check_random_bits(62) % n;
        if (k % 3 == 0)
            first %= 100;
        if (first >= n)
            first = n - 1;
        stride = check_random_bits((unsigned)(check_random(62) + 1)) % n;
        count = (size_t)check_random(300);
        check_fill(&perm, first, stride, fitting(n, first, stride, count));
    }
}

/* Two permutations that have nothing to do with each other agree on one
   position in the mean (Poisson); 16 of 1,000 has probability 1e-14. */
static unsigned agreements(const statesampler_perm *a,
                           const statesampler_perm *b)
{
    uint64_t i;
    unsigned agree = 0;
    for (i = 0; i < 1000; i++)
        agree += statesampler_perm_at(a, i) == statesampler_perm_at(b, i);
    return agree;
}

static void check_unlike(uint64_t n, uint64_t seed, uint64_t epoch,
                         uint64_t stream, uint64_t seed2, uint64_t epoch2,
                         uint64_t stream2)
{
    statesampler_perm a, b;
    CHECK(statesampler_perm_init(&a, n, seed, epoch, stream) == 0);
    CHECK(statesampler_perm_init(&b, n, seed2, epoch2, stream2) == 0);
    CHECK(agreements(&a, &b) < 16);
}

static void check_keys(int reduced)
{
    static const uint64_t sizes[] = {1000, 100000, UINT64_C(1) << 40};
    statesampler_perm a, b;
    uint64_t s, e;
    const uint64_t most = reduced ? 3 : 6;
    size_t k;
    unsigned bit;
    for (k = 0; k < 3; k++) {
        uint64_t n = sizes[k];
        for (s = 0; s < most; s++)
            for (e = 0; e < most; e++) {
                /* The sums and the order of the three must not matter less
                   than their values: seed + epoch is what others use. */
                check_unlike(n, s + 1, e, 0, s, e + 1, 0);
                check_unlike(n, s + 1, e, 0, s, e, 1);
                check_unlike(n, s, e + 1, 0, s, e, 0);
                check_unlike(n, s, e, 1, s, e, 0);
                check_unlike(n, s, 1, e + 1, s, 0, e + 1);
                if (s != e) {
                    check_unlike(n, s, e, 0, e, s, 0);
                    check_unlike(n, s, 0, e, e, 0, s);
                    check_unlike(n, 0, s, e, 0, e, s);
                }
            }
        for (bit = 0; bit < 64; bit += reduced ? 9 : 1) {
            uint64_t flip = (uint64_t)1 << bit;
            check_unlike(n, 5, 6, 7, 5 ^ flip, 6, 7);
            check_unlike(n, 5, 6, 7, 5, 6 ^ flip, 7);
            check_unlike(n, 5, 6, 7, 5, 6, 7 ^ flip);
            /* The same flip in two of them must not cancel. */
            check_unlike(n, 5, 5, 7, 5 ^ flip, 5 ^ flip, 7);
            check_unlike(n, 5, 7, 7, 5, 7 ^ flip, 7 ^ flip);
        }
    }
    /* The size is part of the key: 1,000 and 1,001 share their grid. */
    CHECK(statesampler_perm_init(&a, 1000, 5, 6, 7) == 0);
    CHECK(statesampler_perm_init(&b, 1001, 5, 6, 7) == 0);
    CHECK(agreements(&a, &b) < 16);
    /* And nothing else is: the same key gives the same order again. */
    CHECK(statesampler_perm_init(&b, 1000, 5, 6, 7) == 0);
    CHECK(agreements(&a, &b) == 1000);
}

/* The number of a permutation among the n! of them (its Lehmer code). */
static unsigned permutation_number(const statesampler_perm *perm, unsigned n)
{
    uint64_t value[8];
    unsigned i, j, number = 0;
    statesampler_perm_fill(perm, 0, 1, value, n);
    for (i = 0; i < n; i++) {
        unsigned smaller = 0;
        for (j = i + 1; j < n; j++)
            smaller += value[j] < value[i];
        number = number * (n - i) + smaller;
    }
    return number;
}

enum { SEEDS, EPOCHS, STREAMS, SCATTERED, FAMILIES };

static void family_key(unsigned family, uint64_t k, uint64_t key[3])
{
    key[0] = 77;
    key[1] = 78;
    key[2] = 79;
    if (family == SEEDS)
        key[0] = k;
    else if (family == EPOCHS)
        key[1] = k;
    else if (family == STREAMS)
        key[2] = k;
    else {
        key[0] = check_random_bits(62);
        key[1] = check_random_bits(62);
        key[2] = check_random_bits(62);
    }
}

/* All n! permutations, equally often. The bounds are the chi-square values
   that n! equally likely cells exceed once in about four million runs (five
   standard deviations, by Wilson and Hilferty's cube root). */
static void check_all_permutations(int reduced)
{
    static const unsigned factorial[] = {1, 1, 2, 6, 24, 120, 720};
    static const double bound[] = {0, 0, 31, 41, 74, 212, 927};
    static uint32_t cells[720];
    unsigned n, family, k, cell;
    uint64_t key[3];
    for (family = 0; family < FAMILIES; family++)
        for (n = 2; n <= 6; n++) {
            unsigned each = reduced ? 20 : 200;
            unsigned keys = factorial[n] * each;
            double chi = 0;
            memset(cells, 0, sizeof cells);
            for (k = 0; k < keys; k++) {
                statesampler_perm perm;
                family_key(family, k, key);
                CHECK(statesampler_perm_init(&perm, n, key[0], key[1],
                                             key[2]) == 0);
                cells[permutation_number(&perm, n)]++;
            }
            for (cell = 0; cell < factorial[n]; cell++) {
                double off = (double)cells[cell] - (double)each;
                chi += off * off / (double)each;
                CHECK(cells[cell] > 0 || reduced);
            }
            if (chi > bound[n])
                printf("n = %u, keys of family %u: chi-square %.1f\n", n,
                       family, chi);
            CHECK(chi <= bound[n]);
        }
}

/* Half of all permutations are even; 8 samples on a grid of two odd sides
   would make nearly nine of ten odd. Five standard deviations. */
static void check_parity(int reduced)
{
    unsigned family, k, keys = reduced ? 2500 : 40000;
    double bound = reduced ? 125 : 500;
    uint64_t key[3], value[8];
    for (family = 0; family < FAMILIES; family++) {
        unsigned even = 0;
        for (k = 0; k < keys; k++) {
            statesampler_perm perm;
            unsigned i, j, inversions = 0;
            family_key(family, k, key);
            CHECK(statesampler_perm_init(&perm, 8, key[0], key[1], key[2]) ==
                  0);
            statesampler_perm_fill(&perm, 0, 1, value, 8);
            for (i = 0; i < 8; i++)
                for (j = i + 1; j < 8; j++)
                    inversions += value[j] < value[i];
            even += inversions % 2 == 0;
        }
        CHECK((double)even - keys / 2.0 <= bound);
        CHECK(keys / 2.0 - (double)even <= bound);
    }
}

static void check_edges(void)
{
    static const uint64_t too_large[] = {
        STATESAMPLER_MAX_SAMPLES + 1,
        (uint64_t)1 << 63,
        UINT64_MAX,
    };
    statesampler_perm perm, before;
    uint64_t out[2] = {GUARD, GUARD}, first;
    size_t k;
    CHECK(statesampler_perm_init(&perm, 0, 1, 2, 3) == STATESAMPLER_OK);
    statesampler_perm_fill(&perm, 0, 1, out, 0);
    CHECK(out[0] == GUARD && out[1] == GUARD);
    CHECK(statesampler_perm_init(&perm, 1, 1, 2, 3) == STATESAMPLER_OK);
    CHECK(statesampler_perm_at(&perm, 0) == 0);
    CHECK(statesampler_perm_inverse(&perm, 0) == 0);
    CHECK(statesampler_perm_init(&perm, 2, 1, 2, 3) == STATESAMPLER_OK);
    first = statesampler_perm_at(&perm, 0);
    CHECK(first < 2);
    CHECK(statesampler_perm_at(&perm, 1) == 1 - first);
    CHECK(statesampler_perm_init(&perm, STATESAMPLER_MAX_SAMPLES, 1, 2, 3) ==
          STATESAMPLER_OK);
    memset(&perm, 0xa5, sizeof perm);
    memcpy(&before, &perm, sizeof perm);
    for (k = 0; k < sizeof too_large / sizeof too_large[0]; k++) {
        CHECK(statesampler_perm_init(&perm, too_large[k], 1, 2, 3) ==
              STATESAMPLER_EINVAL_NUM_SAMPLES);
        CHECK(memcmp(&perm, &before, sizeof perm) == 0);
    }
    CHECK(statesampler_perm_init(&perm, 100, 1, 2, 3) == STATESAMPLER_OK);
    first = statesampler_perm_at(&perm, 50);
    CHECK(statesampler_perm_init(&perm, UINT64_MAX, 9, 9, 9) ==
          STATESAMPLER_EINVAL_NUM_SAMPLES);
    CHECK(statesampler_perm_at(&perm, 50) == first);
}

int main(int argc, char **argv)
{
    int reduced = check_reduced(argc, argv);
    marks = (unsigned char *)malloc((size_t)LARGEST);
    CHECK(marks != NULL);
    check_edges();
    check_keys(reduced);
    check_outside(reduced);
    sweep_fills(reduced);
    sweep_small_fills();
    sweep_inverses(reduced);
    check_all_permutations(reduced);
    check_parity(reduced);
    sweep_bijections(reduced);
    free(marks);
    return check_done("test_perm");
}

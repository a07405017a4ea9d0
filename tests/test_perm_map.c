/* test_perm_map.c - is perm_map perm_at of every value? */
#include "statesampler.h"
#include "check.h"

#define GUARD UINT64_C(0xdeadbeefcafef00d)
#define LONGEST 1100

/* In place: of values anywhere below n, and of those around the ends of a row
   of the grid, where a quotient that is off by one would show. */
static void check_map(const statesampler_perm *perm, size_t count)
{
    uint64_t out[2 + LONGEST], value[LONGEST];
    size_t i;
    CHECK(count <= LONGEST);
    for (i = 0; i < count; i++) {
        uint64_t x = check_random_bits(62) % perm->n, row = x / perm->right;
        if (i % 8 == 0)
            row = (perm->n - 1) / perm->right;
        if (i % 4 == 0)
            x = row * perm->right + i % 3;
        else if (i % 4 == 1)
            x = row * perm->right + perm->right - 1 - i % 3;
        value[i] = x < perm->n ? x : perm->n - 1;
        out[1 + i] = value[i];
    }
    out[0] = out[count + 1] = GUARD;
    statesampler_perm_map(perm, out + 1, count);
    for (i = 0; i < count; i++)
        CHECK(out[1 + i] == statesampler_perm_at(perm, value[i]));
    CHECK(out[0] == GUARD);
    CHECK(out[count + 1] == GUARD);
}

/* Of values whose walks all go on: those that the network leads behind n. The
   permutation of all of the grid, with the same keys, leads there in a step. */
static void check_walks(const statesampler_perm *perm)
{
    uint64_t out[LONGEST], value[LONGEST], index;
    statesampler_perm grid = *perm;
    size_t i, count = 0;
    grid.n = (uint64_t)perm->left * perm->right;
    for (index = perm->n; index < grid.n && count < LONGEST; index++) {
        value[count] = statesampler_perm_inverse(&grid, index);
        count += value[count] < perm->n;
    }
    for (i = 0; i < count; i++) {
        out[i] = value[i];
    }
    statesampler_perm_map(perm, out, count);
    for (i = 0; i < count; i++) {
        CHECK(out[i] == statesampler_perm_at(perm, value[i]));
    }
}

/* In a block that ends with the values: with sanitizers, what is read behind
   them shows. */
static void check_end(uint64_t n, size_t count)
{
    statesampler_perm perm;
    uint64_t *out = (uint64_t *)malloc(count * sizeof *out);
    size_t i;
    CHECK(out != NULL);
    CHECK(statesampler_perm_init(&perm, n, 5, 6, 7) == STATESAMPLER_OK);
    for (i = 0; i < count; i++)
        out[i] = i;
    statesampler_perm_map(&perm, out, count);
    for (i = 0; i < count; i++)
        CHECK(out[i] == statesampler_perm_at(&perm, i));
    free(out);
}

/* Around the numbers of pairs that one vector, or all in turn, hold. */
static const size_t long_counts[] = {
    127, 128, 129, 255, 256, 257, 383,  384,  385,
    511, 512, 513, 767, 768, 769, 1023, 1024, 1025,
};

static void check_maps(uint64_t n, size_t longest, int reduced)
{
    statesampler_perm perm;
    size_t count, k;
    CHECK(statesampler_perm_init(&perm, n, n, 4, 7) == STATESAMPLER_OK);
    check_walks(&perm);
    for (count = 0; count <= longest; count++)
        check_map(&perm, count);
    for (k = 0; k < sizeof long_counts / sizeof long_counts[0]; k++)
        if (!reduced || (n + k) % 5 == 0)
            check_map(&perm, long_counts[k]);
}

static void sweep_maps(int reduced)
{
    uint64_t n;
    unsigned k, samples = reduced ? 300 : 10000;
    for (n = 1; n <= 40; n++)
        check_maps(n, reduced ? 40 : 140, reduced);
    /* Rows whose length is a power of two, one more and one less: where the
       reciprocal is nearest to its bounds. */
    for (k = 2; k <= 31; k++) {
        uint64_t side = (uint64_t)1 << k;
        for (n = side * side - 2; n <= side * side + 2; n++)
            if (n <= STATESAMPLER_MAX_SAMPLES)
                check_maps(n, 33, reduced);
        check_maps((side - 2) * (side - 1) + 1, 33, reduced);
        if (k < 31)
            check_maps((side + 2) * (side + 1), 33, reduced);
    }
    /* The largest positions, where the product is farthest off. */
    for (k = 0; k < 20; k++)
        check_maps(STATESAMPLER_MAX_SAMPLES - check_random_bits(61), 33,
                   reduced);
    for (k = 1; k <= 70; k++) {
        check_end(1000, k);
        check_end((uint64_t)1 << 40, k);
    }
    for (k = 0; k < samples; k++) {
        statesampler_perm perm;
        n = check_random_bits(1 + k % 62) + 1;
        CHECK(statesampler_perm_init(&perm, n, k, 1, 2) == STATESAMPLER_OK);
        check_map(&perm, (size_t)check_random(100));
    }
}

int main(int argc, char **argv)
{
    sweep_maps(check_reduced(argc, argv));
    return check_done("test_perm_map");
}

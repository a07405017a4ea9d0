/* few.c - small permutations over many keys: all n! of them, tables of
   positions against values, pairs and triples, Mallows kernel, and the
   statistics of permutations whose laws are known. */
#include "quality.h"
#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANDOM_KEYS, NEXT_SEEDS, NEXT_EPOCHS, NEXT_STREAMS, KEY_KINDS };

static const char *const key_names[KEY_KINDS] = {
    "random keys",
    "consecutive seeds",
    "consecutive epochs",
    "consecutive streams",
};

/* The key number `number` of a kind, from a start that was drawn. */
static void begin_kind(quality *q, uint64_t n, int kind, const uint64_t *start,
                       uint64_t number)
{
    uint64_t seed = start[0], epoch = start[1], stream = start[2];
    switch (kind) {
    case NEXT_SEEDS:
        seed += number;
        break;
    case NEXT_EPOCHS:
        epoch += number;
        break;
    case NEXT_STREAMS:
        stream += number;
        break;
    default:
        quality_begin(q, n);
        return;
    }
    q->who->begin(q->who, q->state, n, seed, epoch, stream);
}

/* Small numbers, as people choose them, every other time. */
static void draw_start(quality *q, uint64_t *start)
{
    int i, small = (int)generator_below(&q->random, 2);
    for (i = 0; i < 3; i++) {
        start[i] = small ? generator_below(&q->random, 100)
                         : generator_next(&q->random);
    }
}

/* --- all n! -------------------------------------------------------------- */

static void all_permutations(quality *q, uint64_t n, int kind, uint64_t keys)
{
    uint64_t factorial = 1, i, j, k, start[3], odd = 0, out[8];
    double *counts, *expected, x = 0;
    for (i = 2; i <= n; i++) {
        factorial *= i;
    }
    keys = keys < 10 * factorial ? 10 * factorial : keys;
    counts = (double *)quality_claim(factorial, sizeof *counts);
    expected = (double *)quality_claim(factorial, sizeof *expected);
    draw_start(q, start);
    for (k = 0; k < keys; k++) {
        uint64_t rank = 0, inversions = 0;
        begin_kind(q, n, kind, start, k);
        q->who->fill(q->state, 0, 1, out, n);
        for (i = 0; i < n; i++) {
            uint64_t smaller = 0;
            for (j = i + 1; j < n; j++) {
                smaller += out[j] < out[i];
            }
            rank = rank * (n - i) + smaller;
            inversions += smaller;
        }
        counts[rank]++;
        odd += inversions % 2;
    }
    for (i = 0; i < factorial; i++) {
        double e = (double)keys / (double)factorial;
        x += (counts[i] - e) * (counts[i] - e) / e;
    }
    if (n > 2) { /* two counts may well be equal: the next test is exact */
        quality_note(q, "all permutations", n,
                     stats_chi_square(x, (double)factorial - 1), "%s",
                     key_names[kind]);
    }
    quality_note(q, "even and odd", n,
                 stats_normal((2.0 * (double)odd - (double)keys) /
                              sqrt((double)keys)),
                 "%s", key_names[kind]);
    free(counts);
    free(expected);
}

void quality_permutations(quality *q, uint64_t n, uint64_t keys)
{
    all_permutations(q, n, RANDOM_KEYS, keys);
}

void quality_all_permutations(quality *q)
{
    uint64_t n;
    int kind;
    for (n = 2; n <= 8; n++) {
        for (kind = 0; kind < KEY_KINDS; kind++) {
            all_permutations(q, n, kind, (uint64_t)(1e5 * q->effort));
        }
    }
    /* Halves of 4 and 2 would only be seen with so many. */
    all_permutations(q, 8, RANDOM_KEYS, (uint64_t)(1e6 * q->effort));
}

/* --- tables ----------------------------------------------------------------
   Positions are put into groups, values too, at most 64 of each. In a random
   permutation the counts of one key have fixed sums in both directions, and
   the chi-square over N keys, times (n - 1) / n, has the usual law with
   (groups - 1)^2 degrees. */

static double group_size(uint64_t n, uint64_t groups, uint64_t group)
{
    return (double)(((group + 1) * n + groups - 1) / groups -
                    (group * n + groups - 1) / groups);
}

static void table(quality *q, uint64_t n, int kind, uint64_t keys)
{
    uint64_t groups = n < 64 ? n : 64, i, j, k, start[3];
    uint64_t *out = (uint64_t *)quality_claim(n, sizeof *out);
    double *counts = (double *)quality_claim(groups * groups, sizeof(double));
    double x = 0;
    draw_start(q, start);
    for (k = 0; k < keys; k++) {
        begin_kind(q, n, kind, start, k);
        q->who->fill(q->state, 0, 1, out, n);
        for (i = 0; i < n; i++) {
            counts[i * groups / n * groups + out[i] * groups / n]++;
        }
    }
    for (i = 0; i < groups; i++) {
        for (j = 0; j < groups; j++) {
            double e = (double)keys * group_size(n, groups, i) *
                       group_size(n, groups, j) / (double)n;
            double c = counts[i * groups + j];
            x += (c - e) * (c - e) / e;
        }
    }
    x *= ((double)n - 1) / (double)n;
    quality_note(q, "position to value", n,
                 stats_chi_square(x,
                                  ((double)groups - 1) * ((double)groups - 1)),
                 "%s", key_names[kind]);
    free(out);
    free(counts);
}

/* Where two or three given positions go, jointly, in groups of values. */
static void tuples(quality *q, uint64_t n, int kind, unsigned many,
                   uint64_t apart, uint64_t keys)
{
    uint64_t groups = many == 2 ? 24 : 9, cells, i, j, k, at[3], start[3];
    double *counts, *expected;
    groups = groups > n ? n : groups;
    cells = many == 2 ? groups * groups : groups * groups * groups;
    counts = (double *)quality_claim(cells, sizeof *counts);
    expected = (double *)quality_claim(cells, sizeof *expected);
    draw_start(q, start);
    at[0] = generator_below(&q->random, n - (many - 1) * apart);
    at[1] = at[0] + apart;
    at[2] = at[1] + apart;
    for (k = 0; k < keys; k++) {
        uint64_t cell = 0;
        begin_kind(q, n, kind, start, k);
        for (i = 0; i < many; i++) {
            cell = cell * groups + q->who->at(q->state, at[i]) * groups / n;
        }
        counts[cell]++;
    }
    for (i = 0; i < cells; i++) {
        uint64_t rest = i, group[3];
        double e = (double)keys, left = (double)n;
        for (j = 0; j < many; j++, rest /= groups) {
            double room = group_size(n, groups, rest % groups);
            for (k = 0; k < j; k++) {
                room -= group[k] == rest % groups;
            }
            group[j] = rest % groups;
            e *= (room < 0 ? 0 : room) / left;
            left--;
        }
        expected[i] = e;
    }
    quality_note(q, many == 2 ? "pairs" : "triples", n,
                 stats_fit(counts, expected, cells), "%s apart %d",
                 key_names[kind], (int)apart);
    free(counts);
    free(expected);
}

void quality_tables(quality *q)
{
    static const uint64_t sizes[] = {10,  16,  17,   25,   64,   101,
                                     256, 500, 1000, 2047, 4095, 4096};
    size_t i;
    int kind;
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t n = sizes[i], left, right;
        uint64_t keys = (uint64_t)(1e6 * q->effort) / n;
        uint64_t many = (uint64_t)(3e4 * q->effort);
        keys = keys < 1000 ? 1000 : keys;
        many = many < 10000 ? 10000 : many;
        shuffler_grid(n, &left, &right);
        for (kind = 0; kind < KEY_KINDS; kind++) {
            table(q, n, kind, keys);
            tuples(q, n, kind, 2, 1, many);
            tuples(q, n, kind, 2, right, many);
            tuples(q, n, kind, 3, 1, many);
            tuples(q, n, kind, 3, right, many);
        }
    }
}

/* --- Mallows kernel --------------------------------------------------------
   Mitchell, Stokes, Frank and Holmes, Bandwidth-Optimal Random Shuffling for
   GPUs, 2021: the kernel exp(-lambda * d / (n choose 2)) with d the pairs
   that two permutations order differently, lambda = 5. Against a uniform
   permutation its expectation is known, so that the mean over pairs of
   permutations measures the distance of the law from the uniform one. */

/* Inversions of values[0 .. n) by merging; sorts them. */
static double inversions(uint32_t *values, uint32_t *spare, uint64_t n)
{
    double sum = 0;
    uint64_t width, i;
    for (width = 1; width < n; width *= 2) {
        for (i = 0; i < n; i += 2 * width) {
            uint64_t middle = i + width < n ? i + width : n;
            uint64_t end = i + 2 * width < n ? i + 2 * width : n;
            uint64_t a = i, b = middle, to = i;
            while (a < middle || b < end) {
                if (b == end || (a < middle && values[a] < values[b])) {
                    spare[to++] = values[a++];
                } else {
                    sum += (double)(middle - a);
                    spare[to++] = values[b++];
                }
            }
        }
        memcpy(values, spare, n * sizeof *values);
    }
    return sum;
}

static void mallows(quality *q, uint64_t n, int kind, uint64_t pairs)
{
    uint64_t *one = (uint64_t *)quality_claim(n, sizeof *one);
    uint64_t *two = (uint64_t *)quality_claim(n, sizeof *two);
    uint32_t *values = (uint32_t *)quality_claim(n, sizeof *values);
    uint32_t *spare = (uint32_t *)quality_claim(n, sizeof *spare);
    double all = (double)n * ((double)n - 1) / 2, step = 5 / all;
    double expected = 1, sum = 0, squares = 0, mean;
    uint64_t i, k, start[3];
    for (i = 1; i <= n; i++) {
        expected *= expm1(-step * (double)i) / ((double)i * expm1(-step));
    }
    draw_start(q, start);
    for (k = 0; k < pairs; k++) {
        double kernel;
        begin_kind(q, n, kind, start, 2 * k);
        q->who->fill(q->state, 0, 1, one, n);
        begin_kind(q, n, kind, start, 2 * k + 1);
        q->who->fill(q->state, 0, 1, two, n);
        for (i = 0; i < n; i++) {
            values[one[i]] = (uint32_t)two[i];
        }
        kernel = exp(-step * inversions(values, spare, n)) - expected;
        sum += kernel;
        squares += kernel * kernel;
    }
    mean = sum / (double)pairs;
    quality_note(q, "Mallows kernel", n,
                 stats_normal(mean /
                              sqrt((squares / (double)pairs - mean * mean) /
                                   (double)pairs)),
                 "%s", key_names[kind]);
    free(one);
    free(two);
    free(values);
    free(spare);
}

void quality_mallows(quality *q)
{
    static const uint64_t sizes[] = {5, 10, 30, 100, 300, 1000};
    size_t i;
    int kind;
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (kind = 0; kind < KEY_KINDS; kind++) {
            uint64_t pairs = (uint64_t)(4e5 * q->effort) / sizes[i];
            mallows(q, sizes[i], kind, pairs < 1000 ? 1000 : pairs);
        }
    }
}

/* --- statistics of one permutation -----------------------------------------
   Each is compared with its exact law, made by the recurrence that the laws
   of n and n - 1 elements are linked by:
   inversions     the last element adds 0 .. n - 1, all equally likely; above
                  n = 64 their mean over the keys, which is close to normal;
   cycles         it opens one of its own with chance 1 / n;
   ascents        it makes n - 1 - k of the n places a new one if there are k;
   fixed points   D(n, k) by inclusion and exclusion;
   longest increasing subsequence: no short exact law, so a control of the
   same size is counted beside it. */

#define LAW 4096

static void law_inversions(double *law, uint64_t n, size_t cells)
{
    double *next = (double *)quality_claim(cells, sizeof *next);
    uint64_t i;
    size_t k;
    memset(law, 0, cells * sizeof *law);
    law[0] = 1;
    for (i = 2; i <= n; i++) {
        double window = 0;
        for (k = 0; k < cells; k++) {
            window += law[k];
            if (k >= i) {
                window -= law[k - i];
            }
            next[k] = window / (double)i;
        }
        memcpy(law, next, cells * sizeof *law);
    }
    free(next);
}

static void law_cycles(double *law, uint64_t n, size_t cells)
{
    uint64_t i;
    size_t k;
    memset(law, 0, cells * sizeof *law);
    law[1] = 1;
    for (i = 2; i <= n; i++) {
        double p = 1 / (double)i;
        for (k = cells - 1; k > 0; k--) {
            law[k] = law[k] * (1 - p) + law[k - 1] * p;
        }
        law[0] = 0;
    }
}

static void law_ascents(double *law, uint64_t n, size_t cells)
{
    uint64_t i;
    size_t k;
    memset(law, 0, cells * sizeof *law);
    law[0] = 1;
    for (i = 2; i <= n; i++) {
        for (k = i < cells ? (size_t)i : cells; k-- > 0;) {
            double stay = (double)(k + 1) / (double)i;
            double up = ((double)i - (double)k) / (double)i;
            law[k] = law[k] * stay + (k > 0 ? law[k - 1] * up : 0);
        }
    }
}

static void law_fixed(double *law, uint64_t n, size_t cells)
{
    size_t k;
    double factorial = 1;
    memset(law, 0, cells * sizeof *law);
    for (k = 0; k < cells && k <= n; k++) {
        double sum = 0, term = 1;
        uint64_t i;
        factorial *= k == 0 ? 1 : (double)k;
        for (i = 0; i <= n - k && i < 40; i++) {
            sum += term;
            term /= -((double)i + 1);
        }
        law[k] = (sum < 0 ? 0 : sum) / factorial;
    }
}

/* Patience sorting: the number of piles. */
static size_t longest_increasing(const uint64_t *values, uint64_t n,
                                 uint64_t *piles)
{
    size_t count = 0;
    uint64_t i;
    for (i = 0; i < n; i++) {
        size_t low = 0, high = count;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (piles[middle] < values[i]) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        piles[low] = values[i];
        count += low == count;
    }
    return count;
}

typedef struct counted {
    double inversions[LAW], cycles[LAW], ascents[LAW], fixed[LAW], longest[LAW];
    double inversion_sum; /* what exceeds the mean, over all keys */
} counted;

static void count_all(quality *q, uint64_t n, uint64_t keys, counted *c)
{
    uint64_t *out = (uint64_t *)quality_claim(n, sizeof *out);
    uint64_t *piles = (uint64_t *)quality_claim(n, sizeof *piles);
    uint32_t *values = (uint32_t *)quality_claim(n, sizeof *values);
    uint32_t *spare = (uint32_t *)quality_claim(n, sizeof *spare);
    uint64_t k, i;
    memset(c, 0, sizeof *c);
    for (k = 0; k < keys; k++) {
        size_t fixed = 0, ascents = 0, cycles = 0;
        double sum;
        quality_begin(q, n);
        q->who->fill(q->state, 0, 1, out, n);
        c->longest[longest_increasing(out, n, piles)]++;
        for (i = 0; i < n; i++) {
            values[i] = (uint32_t)out[i];
            fixed += out[i] == i;
            ascents += i + 1 < n && out[i] < out[i + 1];
        }
        sum = inversions(values, spare, n);
        c->inversion_sum += sum - (double)n * ((double)n - 1) / 4;
        if (n <= 64) {
            c->inversions[(size_t)sum]++;
        }
        for (i = 0; i < n; i++) {
            uint64_t at = i, next;
            cycles += out[i] < n;
            while (out[at] < n) {
                next = out[at];
                out[at] = n;
                at = next;
            }
        }
        c->fixed[fixed]++;
        c->ascents[ascents]++;
        c->cycles[cycles]++;
    }
    free(out);
    free(piles);
    free(values);
    free(spare);
}

static void note_law(quality *q, uint64_t n, const double *counts, double *law,
                     uint64_t keys, const char *what)
{
    size_t k;
    for (k = 0; k < LAW; k++) {
        law[k] *= (double)keys;
    }
    quality_note(q, "statistics", n, stats_fit(counts, law, LAW), "%s", what);
}

void quality_statistics(quality *q)
{
    static const uint64_t sizes[] = {10, 16, 50, 64, 256, 1000, 4000};
    double *law = (double *)quality_claim(LAW, sizeof *law);
    counted *ours = (counted *)quality_claim(1, sizeof *ours);
    counted *theirs = (counted *)quality_claim(1, sizeof *theirs);
    quality other = *q;
    size_t i, k;
    /* The control beside it has its own randomness. */
    other.who = &shuffler_control;
    other.state = q->beside;
    generator_seed(&other.random, generator_next(&q->random));
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t n = sizes[i];
        uint64_t keys = (uint64_t)(1e6 * q->effort) / n;
        double x = 0, degrees = -1, a = 0, b = 0, left = 0;
        keys = keys < 1000 ? 1000 : keys;
        count_all(q, n, keys, ours);
        count_all(&other, n, keys, theirs);
        if (n <= 64) {
            law_inversions(law, n, LAW);
            note_law(q, n, ours->inversions, law, keys, "inversions");
        }
        /* One permutation's inversions have the variance
           n (n - 1) (2 n + 5) / 72. */
        quality_note(q, "statistics", n,
                     stats_normal(ours->inversion_sum /
                                  sqrt((double)keys * (double)n *
                                       ((double)n - 1) * (2 * (double)n + 5) /
                                       72)),
                     "mean of inversions");
        law_cycles(law, n, LAW);
        note_law(q, n, ours->cycles, law, keys, "cycles");
        law_ascents(law, n, LAW);
        note_law(q, n, ours->ascents, law, keys, "ascents");
        law_fixed(law, n, LAW);
        note_law(q, n, ours->fixed, law, keys, "fixed points");
        /* Two samples of the same size: the squared difference over the sum
           of the counts, cells of at least 50 together. */
        for (k = 0; k < LAW; k++) {
            left += ours->longest[k] + theirs->longest[k];
        }
        for (k = 0; k < LAW; k++) {
            a += ours->longest[k];
            b += theirs->longest[k];
            left -= ours->longest[k] + theirs->longest[k];
            if ((a + b >= 50 && left >= 50) || (k + 1 == LAW && a + b > 0)) {
                x += (a - b) * (a - b) / (a + b);
                degrees++;
                a = b = 0;
            }
        }
        quality_note(q, "statistics", n,
                     degrees < 1 ? 1 : stats_chi_square(x, degrees),
                     "longest increasing subsequence");
    }
    free(law);
    free(ours);
    free(theirs);
}

/* keys.c - between permutations whose keys are related, and samples of
   permutations too large to look at as a whole. */
#include "quality.h"
#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- related keys -------------------------------------------------------- */

enum {
    NEXT_SEED,
    NEXT_EPOCH,
    NEXT_STREAM,
    SEED_FOR_EPOCH,
    EPOCH_FOR_STREAM,
    SEED_OR_EPOCH,
    EPOCH_OR_STREAM,
    FLIP_SEED,
    FLIP_EPOCH,
    FLIP_STREAM,
    RELATIONS
};

static const char *const relation_names[RELATIONS] = {
    "consecutive seeds",     "consecutive epochs", "consecutive streams",
    "(s, e) and (e, s)",     "(e, t) and (t, e)",  "(s+1, e) and (s, e+1)",
    "(e+1, t) and (e, t+1)", "seed bit flipped",   "epoch bit flipped",
    "stream bit flipped",
};

static void relate(int relation, uint64_t number, const uint64_t *one,
                   uint64_t *two)
{
    uint64_t bit = (uint64_t)1 << number % 64;
    memcpy(two, one, 3 * sizeof *two);
    switch (relation) {
    case NEXT_SEED:
        two[0]++;
        break;
    case NEXT_EPOCH:
        two[1]++;
        break;
    case NEXT_STREAM:
        two[2]++;
        break;
    case SEED_FOR_EPOCH:
        two[0] = one[1];
        two[1] = one[0];
        break;
    case EPOCH_FOR_STREAM:
        two[1] = one[2];
        two[2] = one[1];
        break;
    case SEED_OR_EPOCH:
        two[0]++;
        two[1]--;
        break;
    case EPOCH_OR_STREAM:
        two[1]++;
        two[2]--;
        break;
    case FLIP_SEED:
        two[0] ^= bit;
        break;
    case FLIP_EPOCH:
        two[1] ^= bit;
        break;
    default:
        two[2] ^= bit;
        break;
    }
}

/* Two keys that are so related. Small numbers, as people choose them, every
   other time; all three differ, so that no relation is an identity. */
static void draw_related(quality *q, int relation, uint64_t number,
                         uint64_t *one, uint64_t *two)
{
    uint64_t i;
    for (i = 0; i < 3; i++) {
        one[i] = number % 2 ? generator_below(&q->random, 1000) * 3 + i
                            : generator_next(&q->random);
    }
    relate(relation, number / 2, one, two);
}

enum { GROUPS = 40 };

/* One of GROUPS groups of [0, n): by the high part, or by the remainder. */
static size_t group_of(uint64_t v, uint64_t n, int low)
{
    size_t group;
    if (low || n >> 56 == 0) {
        return (size_t)(low ? v % GROUPS : v * GROUPS / n);
    }
    group = (size_t)((double)v / (double)n * GROUPS);
    return group < GROUPS ? group : GROUPS - 1;
}

static double group_share(uint64_t group, uint64_t n, int low)
{
    double size = (double)n, at = (double)group;
    return low ? (double)((n - group + GROUPS - 1) / GROUPS) / size
               : (ceil((at + 1) * size / GROUPS) - ceil(at * size / GROUPS)) /
                     size;
}

/* Of two permutations with related keys: how often a position has the same
   index in both, the differences between their indices, and tables of one's
   index against the other's. All positions are looked at or, in large ones,
   a run of them. */
void quality_relations(quality *q, uint64_t n, uint64_t keys, size_t positions)
{
    static double counts[2][GROUPS * GROUPS], steps[GROUPS];
    int whole = positions >= n, relation, low;
    size_t m = whole ? (size_t)n : positions;
    uint64_t *a = (uint64_t *)quality_claim(m, sizeof *a);
    uint64_t *b = (uint64_t *)quality_claim(m, sizeof *b);
    for (relation = 0; relation < RELATIONS; relation++) {
        double same = 0, x = 0, most = (double)keys * (double)m;
        uint64_t k, i, j;
        memset(counts, 0, sizeof counts);
        memset(steps, 0, sizeof steps);
        for (k = 0; k < keys; k++) {
            uint64_t one[3], two[3], first = 0;
            if (!whole) {
                first = generator_below(&q->random, n - m);
            }
            draw_related(q, relation, k, one, two);
            q->who->begin(q->who, q->state, n, one[0], one[1], one[2]);
            q->who->fill(q->state, first, 1, a, m);
            q->who->begin(q->who, q->state, n, two[0], two[1], two[2]);
            q->who->fill(q->state, first, 1, b, m);
            for (i = 0; i < m; i++) {
                uint64_t step = b[i] >= a[i] ? b[i] - a[i] : b[i] + n - a[i];
                same += step == 0;
                steps[group_of(step, n, 0)]++;
                for (low = 0; low < 2; low++) {
                    counts[low][group_of(a[i], n, low) * GROUPS +
                                group_of(b[i], n, low)]++;
                }
            }
        }
        quality_note(q, "related keys", n,
                     stats_poisson(same, most / (double)n,
                                   generator_unit(&q->random)),
                     "%s, same", relation_names[relation]);
        for (i = 0; i < GROUPS; i++) {
            double e = most * group_share(i, n, 0);
            x += (steps[i] - e) * (steps[i] - e) / e;
        }
        quality_note(q, "related keys", n, stats_chi_square(x, GROUPS - 1),
                     "%s, steps", relation_names[relation]);
        for (low = 0; low < 2; low++) {
            /* Of whole permutations both margins are fixed, as in few.c. */
            double y = 0, degrees = GROUPS * GROUPS - 1;
            for (i = 0; i < GROUPS; i++) {
                for (j = 0; j < GROUPS; j++) {
                    double e =
                        most * group_share(i, n, low) * group_share(j, n, low);
                    double c = counts[low][i * GROUPS + j];
                    y += (c - e) * (c - e) / e;
                }
            }
            if (whole) {
                y *= ((double)n - 1) / (double)n;
                degrees = (GROUPS - 1) * (GROUPS - 1);
            }
            quality_note(q, "related keys", n, stats_chi_square(y, degrees),
                         "%s, %s", relation_names[relation],
                         low ? "low" : "high");
        }
    }
    free(a);
    free(b);
}

/* All pairs of permutations of four, of related keys. */
void quality_related_pairs(quality *q, uint64_t keys)
{
    enum { ALL = 24 };
    static double counts[ALL * ALL];
    int relation;
    for (relation = 0; relation < RELATIONS; relation++) {
        double x = 0, e = (double)keys / (ALL * ALL);
        uint64_t k;
        size_t i;
        memset(counts, 0, sizeof counts);
        for (k = 0; k < keys; k++) {
            uint64_t key[2][3], out[4];
            size_t cell = 0;
            int which;
            draw_related(q, relation, k, key[0], key[1]);
            for (which = 0; which < 2; which++) {
                q->who->begin(q->who, q->state, 4, key[which][0], key[which][1],
                              key[which][2]);
                q->who->fill(q->state, 0, 1, out, 4);
                cell = cell * 4 + (size_t)out[0];
                cell = cell * 3 + (size_t)(out[1] - (out[1] > out[0]));
                cell = cell * 2 + (out[2] > out[3]);
            }
            counts[cell]++;
        }
        for (i = 0; i < ALL * ALL; i++) {
            x += (counts[i] - e) * (counts[i] - e) / e;
        }
        quality_note(q, "related keys", 4, stats_chi_square(x, ALL * ALL - 1),
                     "%s, both", relation_names[relation]);
    }
}

/* --- single bits of the position -------------------------------------------
   Positions that differ in one bit: the difference of their indices. Each
   pair is taken once: all of them where there are few, otherwise a sample
   that is small beside them. */
void quality_flips(quality *q, uint64_t n)
{
    double steps[GROUPS];
    unsigned bit, key, keys = n < 65536 ? 16 : 1;
    uint64_t most = (uint64_t)(65536 * q->effort);
    most = most > 16384 ? most : 16384;
    most = most < 1048576 ? most : 1048576;
    most = q->who->lazy && most > 8192 ? 8192 : most;
    for (bit = 0; n >> bit > 1 && bit < 62; bit++) {
        uint64_t flip = (uint64_t)1 << bit, i;
        double x = 0, m = 0;
        memset(steps, 0, sizeof steps);
        for (key = 0; key < keys; key++) {
            if (bit == 0 || keys > 1) {
                quality_begin(q, n);
            }
            for (i = 0; i < (n <= SHUFFLER_TABLE ? n : most); i++) {
                uint64_t at = i, from, to;
                if (n > SHUFFLER_TABLE) {
                    at = generator_below(&q->random, n) & ~flip;
                }
                if ((at & flip) != 0 || (at | flip) >= n) {
                    continue;
                }
                from = q->who->at(q->state, at);
                to = q->who->at(q->state, at | flip);
                to = to >= from ? to - from : to + n - from;
                steps[group_of(to, n, 0)]++;
                m++;
            }
        }
        for (i = 0; i < GROUPS; i++) { /* 0 is no difference */
            double size = group_share(i, n, 0) * (double)n - (i == 0);
            double e = m * size / ((double)n - 1);
            x += (steps[i] - e) * (steps[i] - e) / e;
        }
        quality_note(q, "position bit flipped", n,
                     stats_chi_square(x, GROUPS - 1), "bit %d", (int)bit);
    }
}

/* --- samples of very large permutations ---------------------------------- */

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Equal pairs among values from a range of `size`; sorts them. */
static void note_repeats(quality *q, uint64_t n, uint64_t *values, size_t m,
                         double size, const char *way, const char *what)
{
    double repeats = 0, mean = (double)m * ((double)m - 1) / 2 / size;
    size_t i, run = 0;
    qsort(values, m, sizeof *values, compare);
    for (i = 1; i < m; i++) {
        run = values[i] == values[i - 1] ? run + 1 : 0;
        repeats += (double)run;
    }
    quality_note(q, "sampled", n,
                 stats_poisson(repeats, mean, generator_unit(&q->random)),
                 "%s, %s", way, what);
}

static void note_even(quality *q, uint64_t n, const double *counts, double m,
                      size_t cells, const char *way, const char *what)
{
    double x = 0, e = m / (double)cells;
    size_t i;
    for (i = 0; i < cells; i++) {
        x += (counts[i] - e) * (counts[i] - e) / e;
    }
    quality_note(q, "sampled", n, stats_chi_square(x, (double)cells - 1),
                 "%s, %s", way, what);
}

/* The high part of a value below n, in 256 steps, and 16 of those. */
static size_t high_part(uint64_t v, uint64_t n)
{
    size_t part = (size_t)((double)v / (double)n * 256);
    return part > 255 ? 255 : part;
}

static void sample(quality *q, uint64_t n, const char *way, const uint64_t *at,
                   const uint64_t *v, size_t m)
{
    enum { HIGH, LOW, HIGH_PAIR, LOW_PAIR, XOR, STEP_HIGH, STEP_LOW, TESTS };
    static const char *const names[TESTS] = {
        "high byte", "low byte",   "high pairs", "low pairs",
        "low xor",   "high steps", "low steps",
    };
    static double counts[TESTS][256];
    uint64_t a, b, bits = 0;
    uint64_t *values = (uint64_t *)quality_claim(m, sizeof *values);
    double bias = 0, degrees = 0;
    size_t i;
    int test;
    memset(counts, 0, sizeof counts);
    shuffler_grid(n, &a, &b);
    for (i = 0; i < m; i++) {
        counts[HIGH][high_part(v[i], n)]++;
        counts[LOW][v[i] % 256]++;
        if (i % 2 == 1) { /* pairs that share nothing */
            uint64_t step =
                v[i] >= v[i - 1] ? v[i] - v[i - 1] : v[i] + n - v[i - 1];
            counts[HIGH_PAIR][high_part(v[i], n) / 16 * 16 +
                              high_part(v[i - 1], n) / 16]++;
            counts[LOW_PAIR][v[i] % 16 * 16 + v[i - 1] % 16]++;
            counts[XOR][(v[i] ^ v[i - 1]) % 256]++;
            counts[STEP_HIGH][high_part(step, n)]++;
            counts[STEP_LOW][step % 256]++;
        }
    }
    for (test = 0; test < TESTS; test++) {
        note_even(q, n, counts[test], test <= LOW ? (double)m : (double)(m / 2),
                  256, way, names[test]);
    }
    /* Every bit but the highest ones, which are not even unless n is a power
       of two: of neighbours together. */
    while (n >> (bits + 8) != 0) {
        uint64_t ones = 0;
        double z;
        for (i = 1; i < m; i += 2) {
            ones += (v[i] ^ v[i - 1]) >> bits & 1;
        }
        z = ((double)ones - (double)(m / 2) / 2) / sqrt((double)(m / 2) / 4);
        bias += z * z;
        degrees++;
        bits++;
    }
    quality_note(q, "sampled", n, stats_chi_square(bias, degrees),
                 "%s, each bit", way);
    /* Each of these has n, a or b values, 0 included, all equally likely but
       for shares too small to be seen in a sample. */
    for (i = 0; i + 1 < m; i++) {
        values[i] = v[i + 1] >= v[i] ? v[i + 1] - v[i] : v[i + 1] + n - v[i];
    }
    note_repeats(q, n, values, m - 1, (double)n, way, "steps repeated");
    for (i = 0; i < m; i++) {
        uint64_t l = v[i] / b, from = at[i] / b;
        values[i] = l >= from ? l - from : l + a - from;
    }
    note_repeats(q, n, values, m, (double)a, way, "left moves repeated");
    for (i = 0; i < m; i++) {
        uint64_t r = v[i] % b, from = at[i] % b;
        values[i] = r >= from ? r - from : r + b - from;
    }
    note_repeats(q, n, values, m, (double)b, way, "right moves repeated");
    free(values);
}

void quality_large(quality *q, uint64_t n)
{
    enum { IN_ORDER, SPREAD, FAR, COLUMN, DIAGONAL, WAYS };
    static const char *const names[WAYS] = {"in order", "spread", "by 2^20",
                                            "column", "diagonal"};
    size_t m = (size_t)(65536 * q->effort), i;
    uint64_t a, b, *at, *v;
    int way;
    m = m > 32768 ? m : 32768;
    m = m < SHUFFLER_LAZY ? m : SHUFFLER_LAZY;
    shuffler_grid(n, &a, &b);
    at = (uint64_t *)quality_claim(m, sizeof *at);
    v = (uint64_t *)quality_claim(m, sizeof *v);
    for (way = 0; way < WAYS; way++) {
        uint64_t far, stride, first;
        /* A column is no longer than a, and they come last. */
        m = way >= COLUMN && m > a / 2 ? (size_t)(a / 2) : m;
        quality_begin(q, n);
        far = n / (2 * m);
        far = far > (uint64_t)1 << 20 ? (uint64_t)1 << 20 : far;
        switch (way) {
        case IN_ORDER:
            stride = 1;
            break;
        case SPREAD:
            stride = n / m;
            break;
        case FAR:
            stride = far;
            break;
        case COLUMN:
            stride = b;
            break;
        default:
            stride = b + 1;
        }
        first = generator_below(&q->random, n - stride * (m - 1));
        for (i = 0; i < m; i++) {
            at[i] = first + i * stride;
        }
        q->who->fill(q->state, first, stride, v, m);
        sample(q, n, names[way], at, v, m);
    }
    free(at);
    free(v);
}

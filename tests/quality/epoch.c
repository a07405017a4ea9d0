/* epoch.c - inside one permutation, all of whose indices are looked at. */
#include "quality.h"
#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS ((uint64_t)1 << 22)
#define BINS 1024

typedef struct epoch {
    quality *q;
    uint64_t n;
    const uint32_t *index;
    uint16_t *table; /* of BUCKETS */
} epoch;

static double zeros(double *counts, size_t cells)
{
    memset(counts, 0, cells * sizeof *counts);
    return 0;
}

/* Coincidences among m values that are uniform on [0, size) but for 0. */
static void note_coincidences(epoch *e, double sum, double m, double size,
                              double buckets, const char *test,
                              const char *what, uint64_t lag)
{
    double whole = floor(size / buckets), more = size - whole * buckets;
    double share =
        (more * (whole + 1) * (whole + 1) + (buckets - more) * whole * whole) /
        (size * size);
    double mean = m * (m - 1) / 2 * share;
    quality_note(e->q, test, e->n,
                 stats_normal((sum - mean) / sqrt(mean * (1 - share))), "%s %d",
                 what, (int)lag);
}

static void lag_differences(epoch *e, uint64_t lag)
{
    static double counts[BINS];
    uint64_t n = e->n, i, buckets = n < BUCKETS ? n : BUCKETS;
    double m = (double)(n - lag), x = zeros(counts, BINS), sum = 0;
    memset(e->table, 0, BUCKETS * sizeof *e->table);
    for (i = 0; i + lag < n; i++) {
        uint64_t a = e->index[i], b = e->index[i + lag];
        uint64_t d = b >= a ? b - a : b + n - a;
        counts[d * BINS / n]++;
        sum += e->table[d % buckets]++;
    }
    for (i = 0; i < BINS; i++) {
        double low = ceil((double)i * (double)n / BINS);
        double high = ceil((double)(i + 1) * (double)n / BINS);
        double want = m * (high - low - (i == 0)) / ((double)n - 1);
        x += (counts[i] - want) * (counts[i] - want) / want;
    }
    quality_note(e->q, "differences", n, stats_chi_square(x, BINS - 1),
                 "lag %d", (int)lag);
    note_coincidences(e, sum, m, (double)n, (double)buckets, "differences",
                      "repeats at lag", lag);
}

/* Xor of neighbours: the low bits in which n is even, and where n is a power
   of two, all of them. */
static void xor_differences(epoch *e, uint64_t lag)
{
    static double low[BINS], high[BINS];
    uint64_t n = e->n, i, bits = 0, cells;
    double m = (double)(n - lag), sum = 0, x = zeros(low, BINS), y;
    int power = (n & (n - 1)) == 0;
    y = zeros(high, BINS);
    while (bits < 10 && (n >> bits) % 2 == 0) {
        bits++;
    }
    cells = (uint64_t)1 << bits;
    memset(e->table, 0, BUCKETS * sizeof *e->table);
    for (i = 0; i + lag < n; i++) {
        uint64_t d = e->index[i] ^ e->index[i + lag];
        low[d % cells]++;
        if (power) {
            high[d * BINS / n]++;
            sum += e->table[d % BUCKETS]++;
        }
    }
    for (i = 0; i < cells; i++) {
        double want = m * ((double)(n >> bits) - (i == 0)) / ((double)n - 1);
        x += (low[i] - want) * (low[i] - want) / want;
    }
    if (bits > 0) {
        quality_note(e->q, "xor", n, stats_chi_square(x, (double)cells - 1),
                     "low bits at lag %d", (int)lag);
    }
    if (power) {
        for (i = 0; i < BINS; i++) {
            double want = m * ((double)n / BINS - (i == 0)) / ((double)n - 1);
            y += (high[i] - want) * (high[i] - want) / want;
        }
        quality_note(e->q, "xor", n, stats_chi_square(y, BINS - 1),
                     "high bits at lag %d", (int)lag);
        note_coincidences(e, sum, m, (double)n,
                          (double)(n < BUCKETS ? n : BUCKETS), "xor",
                          "repeats at lag", lag);
    }
}

/* All indices in the order of positions c, c + stride, c + 2 stride, ... for
   c = 0, 1, ...; two or three neighbours in it, in groups of values: by
   their high part, or by the remainder. Each index is in one tuple, so that
   the sums over first, second and third places are fixed together: as many
   degrees fewer as there are groups, less one. */
static void strided(epoch *e, uint64_t stride, int many, int low)
{
    enum { PAIR = 48, TRIPLE = 13 };
    static double counts[PAIR * PAIR];
    uint64_t n = e->n, groups = many == 2 ? PAIR : TRIPLE, c, i, j;
    uint64_t cells = many == 2 ? groups * groups : groups * groups * groups;
    double sizes[PAIR], m = 0, x = zeros(counts, PAIR * PAIR);
    uint64_t cell = 0;
    int have = 0;
    for (c = 0; c < stride; c++) {
        for (i = c; i < n; i += stride) {
            uint64_t v = e->index[i];
            cell = cell * groups + (low ? v % groups : v * groups / n);
            if (++have == many) {
                counts[cell]++;
                m++;
                cell = 0;
                have = 0;
            }
        }
    }
    for (i = 0; i < groups; i++) {
        sizes[i] = low ? (double)((n - i + groups - 1) / groups)
                       : ceil((double)(i + 1) * (double)n / (double)groups) -
                             ceil((double)i * (double)n / (double)groups);
    }
    for (i = 0; i < cells; i++) {
        uint64_t rest = i, group[3];
        double want = m;
        int k, h;
        for (k = 0; k < many; k++, rest /= groups) {
            double room = sizes[rest % groups];
            for (h = 0; h < k; h++) {
                room -= group[h] == rest % groups;
            }
            group[k] = rest % groups;
            want *= room / ((double)n - k);
        }
        x += (counts[i] - want) * (counts[i] - want) / want;
    }
    j = cells - groups;
    quality_note(e->q, "strided", n, stats_chi_square(x, (double)j),
                 "%s %s stride %d", low ? "low" : "high",
                 many == 2 ? "pairs" : "triples", (int)stride);
}

/* One of four bits of an index below n; bit_runs has their names. */
static uint64_t bit_of(uint64_t index, uint64_t n, int which)
{
    switch (which) {
    case 0:
        return index & 1;
    case 1:
        return index >> 2 & 1;
    case 2:
        return index >= n / 2;
    default:
        return index * 4 / n & 1;
    }
}

/* One bit of each index: runs (Wald and Wolfowitz 1940), and eight in a row
   as a byte. */
static void bit_runs(epoch *e, int which)
{
    static double counts[256];
    static const char *const names[] = {"lowest bit", "third bit", "upper half",
                                        "upper quarter parity"};
    uint64_t n = e->n, i, last = 2;
    double ones = 0, runs = 0, x = zeros(counts, 256), zero, mean, variance;
    unsigned byte = 0;
    for (i = 0; i < n; i++) {
        uint64_t bit = bit_of(e->index[i], n, which);
        ones += (double)bit;
        runs += bit != last;
        last = bit;
        byte = (byte << 1 | (unsigned)bit) & 255;
        if (i % 8 == 7) {
            counts[byte]++;
        }
    }
    zero = (double)n - ones;
    mean = 2 * ones * zero / (double)n + 1;
    variance = (mean - 1) * (mean - 2) / ((double)n - 1);
    quality_note(e->q, "bits", n, stats_normal((runs - mean) / sqrt(variance)),
                 "runs of the %s", names[which]);
    for (i = 0; i < 256; i++) {
        double want = (double)(n / 8);
        int k;
        for (k = 0; k < 8; k++) {
            want *= (i >> k & 1 ? ones : zero) / (double)n;
        }
        x += (counts[i] - want) * (counts[i] - want) / want;
    }
    quality_note(e->q, "bits", n, stats_chi_square(x, 254), "eight of the %s",
                 names[which]);
}

/* Positions against values, in groups by high part or by remainder. */
static void blocks(epoch *e, uint64_t groups, int low_position, int low_value)
{
    uint64_t n = e->n, i, j;
    double *counts = (double *)quality_claim(groups * groups, sizeof(double));
    double *rows = (double *)quality_claim(groups, sizeof *rows);
    double *columns = (double *)quality_claim(groups, sizeof *columns);
    double x = 0;
    for (i = 0; i < n; i++) {
        uint64_t v = e->index[i];
        uint64_t row = low_position ? i % groups : i * groups / n;
        uint64_t column = low_value ? v % groups : v * groups / n;
        counts[row * groups + column]++;
        rows[row]++;
        columns[column]++;
    }
    for (i = 0; i < groups; i++) {
        for (j = 0; j < groups; j++) {
            double want = rows[i] * columns[j] / (double)n;
            double got = counts[i * groups + j];
            x += (got - want) * (got - want) / want;
        }
    }
    x *= ((double)n - 1) / (double)n;
    quality_note(e->q, "position to value", n,
                 stats_chi_square(x,
                                  ((double)groups - 1) * ((double)groups - 1)),
                 "%s to %s in %d groups", low_position ? "low" : "high",
                 low_value ? "low" : "high", (int)groups);
    free(counts);
    free(rows);
    free(columns);
}

/* Pairs of positions at most `near` apart with values at most `near` apart. */
static void close_pairs(epoch *e, uint64_t near)
{
    uint64_t n = e->n, i, d;
    double count = 0, mean = 0, chance = 0;
    for (d = 1; d <= near; d++) {
        for (i = 0; i + d < n; i++) {
            uint64_t a = e->index[i], b = e->index[i + d];
            count += (a > b ? a - b : b - a) <= near;
        }
        mean += (double)(n - d);
        chance += 2 * (double)(n - d) / ((double)n * ((double)n - 1));
    }
    quality_note(e->q, "adjacent", n,
                 stats_poisson(count, mean * chance,
                               generator_unit(&e->q->random)),
                 "pairs within %d", (int)near);
}

/* Neighbours exactly `by` apart, upwards and downwards. */
static void adjacency(epoch *e, uint64_t by)
{
    uint64_t n = e->n, i;
    double up = 0, down = 0, ascents = 0, mean = (double)(n - by) / (double)n;
    for (i = 0; i + 1 < n; i++) {
        up += e->index[i + 1] == e->index[i] + by;
        down += e->index[i] == e->index[i + 1] + by;
        ascents += e->index[i + 1] > e->index[i];
    }
    quality_note(e->q, "adjacent", n,
                 stats_poisson(up, mean, generator_unit(&e->q->random)),
                 "neighbours %d more", (int)by);
    quality_note(e->q, "adjacent", n,
                 stats_poisson(down, mean, generator_unit(&e->q->random)),
                 "neighbours %d less", (int)by);
    if (by == 1) {
        quality_note(e->q, "adjacent", n,
                     stats_normal((ascents - ((double)n - 1) / 2) /
                                  sqrt(((double)n + 1) / 12)),
                     "ascents");
    }
}

static void fixed_points(epoch *e)
{
    uint64_t n = e->n, i;
    double fixed = 0, pairs = 0;
    for (i = 0; i < n; i++) {
        fixed += e->index[i] == i;
        pairs += e->index[i] != i && e->index[e->index[i]] == i;
    }
    quality_note(e->q, "cycles", n,
                 stats_poisson(fixed, 1, generator_unit(&e->q->random)),
                 "of length 1");
    quality_note(e->q, "cycles", n,
                 stats_poisson(pairs / 2, 0.5, generator_unit(&e->q->random)),
                 "of length 2");
}

void quality_epoch(quality *q, uint64_t n)
{
    enum { CHUNK = 4096 };
    uint32_t *index = (uint32_t *)quality_claim(n, sizeof *index);
    uint64_t left, right, lags[14], strides[8], i, first, out[CHUNK];
    epoch e;
    int low, many;
    e.q = q;
    e.n = n;
    e.index = index;
    e.table = (uint16_t *)quality_claim(BUCKETS, sizeof *e.table);
    shuffler_grid(n, &left, &right);
    quality_begin(q, n);
    for (first = 0; first < n; first += CHUNK) {
        size_t run = n - first < CHUNK ? (size_t)(n - first) : CHUNK;
        q->who->fill(q->state, first, 1, out, run);
        for (i = 0; i < run; i++) {
            index[first + i] = (uint32_t)out[i];
        }
    }
    lags[0] = 1;
    lags[1] = 2;
    lags[2] = 3;
    lags[3] = 8;
    lags[4] = 64;
    lags[5] = 1000;
    for (i = 0; i < 4; i++) { /* near the square root: the grid's sizes */
        lags[6 + i] = right - 1 + i;
        lags[10 + i] = 2 * right - 1 + i;
    }
    for (i = 0; i < 14; i++) {
        lag_differences(&e, lags[i]);
        xor_differences(&e, lags[i]);
    }
    strides[0] = 1;
    strides[1] = 2;
    strides[2] = 7;
    strides[3] = 64;
    strides[4] = 1000;
    strides[5] = right;
    strides[6] = right + 1;
    strides[7] = left + 2;
    for (i = 0; i < 8; i++) {
        for (low = 0; low < 2; low++) {
            for (many = 2; many <= 3; many++) {
                strided(&e, strides[i], many, low);
            }
        }
    }
    for (i = 0; i < 4; i++) {
        bit_runs(&e, (int)i);
        blocks(&e, 64, (int)i / 2, (int)i % 2);
        blocks(&e, 89, (int)i / 2, (int)i % 2);
    }
    close_pairs(&e, 1);
    close_pairs(&e, 16);
    adjacency(&e, 1);
    adjacency(&e, right);
    adjacency(&e, right + 1);
    fixed_points(&e);
    free(e.table);
    free(index);
}

/* grid.c - the tests made for networks on a grid. A position i is (l, r) =
   (i div b, i mod b), an index likewise. */
#include "quality.h"
#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- pairs in one column or row --------------------------------------------
   Two positions of one column differ in l only. Rounds that add to l keep
   that difference while r stays equal, so that after any number of rounds a
   trace of it is left: pairs of one column end with the same difference in
   l, in one column, or in one row a little too often or too seldom. Counting
   coincidences in a table of each column looks at all its pairs at once. */

enum { SAME_STEP, SAME_COLUMN, SAME_ROW, TABLES };

typedef struct tally {
    double expected, variance; /* of one key's coincidences */
    double sum, squares;       /* of what exceeds the expectation */
} tally;

/* Lines of lengths[i] places 0, 1, ... each, in a ring of `size` places; of
   the outputs, held[v] have the coordinate v. Expected pairs of one line
   whose difference comes out as it went in. */
static double expected_steps(const double *lengths, uint64_t lines,
                             const double *held, uint64_t size, double n)
{
    uint64_t d, v, i;
    double sum = 0;
    for (d = 1; d < size; d++) {
        double in = 0, out = 0;
        for (i = 0; i < lines; i++) { /* at most two lengths differ */
            if (i != 0 && lengths[i] == lengths[0]) {
                continue;
            }
            if (lengths[i] > (double)d) {
                in += lengths[i] - (double)d;
            }
            if (lengths[i] > (double)(size - d)) {
                in += lengths[i] - (double)(size - d);
            }
            if (i == 0) {
                uint64_t same = 0, j;
                for (j = 0; j < lines; j++) {
                    same += lengths[j] == lengths[0];
                }
                in *= (double)same;
            }
        }
        for (v = 0; v < size; v++) {
            out += held[v] * held[v + d < size ? v + d : v + d - size];
        }
        sum += in * out / (n * (n - 1)) / 2;
    }
    return sum;
}

static double pairs_of(const double *lengths, uint64_t lines)
{
    double sum = 0;
    uint64_t i;
    for (i = 0; i < lines; i++) {
        sum += lengths[i] * (lengths[i] - 1) / 2;
    }
    return sum;
}

/* Coincidences among `count` values below `size`, with a table that is all 0
   before and after. */
static double coincidences(const uint32_t *values, size_t count,
                           uint16_t *table)
{
    uint32_t sum = 0;
    size_t i;
    for (i = 0; i < count; i++) {
        sum += table[values[i]]++;
    }
    for (i = 0; i < count; i++) {
        table[values[i]] = 0;
    }
    return sum;
}

static void tally_add(tally *t, double got)
{
    t->sum += got - t->expected;
    t->squares += (got - t->expected) * (got - t->expected);
}

void quality_grid(quality *q, uint64_t n, double evaluations)
{
    static const char *const names[TABLES] = {"step", "column", "row"};
    uint64_t a, b, i, l, r, key, keys = (uint64_t)(evaluations / (double)n);
    double *columns, *rows, pairs[2], all = (double)n * (double)(n - 1) / 2;
    uint64_t *out;
    uint32_t *lo, *ro, *values;
    uint16_t *table;
    tally tallies[2][TABLES];
    int side, kind;
    shuffler_grid(n, &a, &b);
    keys = keys < 4 ? 4 : keys;
    columns = (double *)quality_claim(b, sizeof *columns);
    rows = (double *)quality_claim(a, sizeof *rows);
    out = (uint64_t *)quality_claim(n, sizeof *out);
    lo = (uint32_t *)quality_claim(n, sizeof *lo);
    ro = (uint32_t *)quality_claim(n, sizeof *ro);
    values = (uint32_t *)quality_claim(a, sizeof *values);
    table = (uint16_t *)quality_claim(a, sizeof *table);
    for (l = 0; l < a; l++) {
        const uint64_t left = l * b < n ? n - l * b : 0;
        rows[l] = (double)(left < b ? left : b);
    }
    for (r = 0; r < b; r++) {
        columns[r] = (double)((n - r + b - 1) / b);
    }
    memset(tallies, 0, sizeof tallies);
    pairs[0] = pairs_of(columns, b);
    pairs[1] = pairs_of(rows, a);
    tallies[0][SAME_STEP].expected =
        expected_steps(columns, b, rows, a, (double)n);
    tallies[1][SAME_STEP].expected =
        expected_steps(rows, a, columns, b, (double)n);
    for (side = 0; side < 2; side++) {
        tallies[side][SAME_COLUMN].expected = pairs[side] * pairs[0] / all;
        tallies[side][SAME_ROW].expected = pairs[side] * pairs[1] / all;
        for (kind = 0; kind < TABLES; kind++) {
            double e = tallies[side][kind].expected;
            tallies[side][kind].variance = e * (1 - e / pairs[side]);
        }
    }
    for (key = 0; key < keys; key++) {
        double got[2][TABLES];
        memset(got, 0, sizeof got);
        quality_begin(q, n);
        q->who->fill(q->state, 0, 1, out, n);
        for (i = 0; i < n; i++) {
            lo[i] = (uint32_t)out[i] / (uint32_t)b;
            ro[i] = (uint32_t)out[i] - lo[i] * (uint32_t)b;
        }
        for (r = 0; r < b; r++) {
            size_t count = (size_t)columns[r];
            for (l = 0; l < count; l++) {
                uint32_t v = lo[l * b + r];
                values[l] = v >= l ? v - (uint32_t)l : v + (uint32_t)(a - l);
            }
            got[0][SAME_STEP] += coincidences(values, count, table);
            for (l = 0; l < count; l++) {
                values[l] = ro[l * b + r];
            }
            got[0][SAME_COLUMN] += coincidences(values, count, table);
            for (l = 0; l < count; l++) {
                values[l] = lo[l * b + r];
            }
            got[0][SAME_ROW] += coincidences(values, count, table);
        }
        for (l = 0; l < a; l++) {
            size_t count = (size_t)rows[l];
            for (r = 0; r < count; r++) {
                uint32_t v = ro[l * b + r];
                values[r] = v >= r ? v - (uint32_t)r : v + (uint32_t)(b - r);
            }
            got[1][SAME_STEP] += coincidences(values, count, table);
            got[1][SAME_COLUMN] += coincidences(ro + l * b, count, table);
            got[1][SAME_ROW] += coincidences(lo + l * b, count, table);
        }
        for (side = 0; side < 2; side++) {
            for (kind = 0; kind < TABLES; kind++) {
                tally_add(&tallies[side][kind], got[side][kind]);
            }
        }
    }
    for (side = 0; side < 2; side++) {
        for (kind = 0; kind < TABLES; kind++) {
            /* Inside one small permutation pairs depend on each other: with
               many keys their own scatter is the better measure. */
            const tally *t = &tallies[side][kind];
            double k = (double)keys, mean = t->sum / k;
            double variance =
                keys < 200 ? t->variance : t->squares / k - mean * mean;
            if (variance > 1e-9) {
                quality_note(q, "grid pairs", n,
                             stats_normal(mean / sqrt(variance / k)),
                             "%s to %s z=%.1f", side ? "row" : "column",
                             names[kind], mean / sqrt(variance / k));
            }
        }
    }
    free(columns);
    free(rows);
    free(out);
    free(lo);
    free(ro);
    free(values);
    free(table);
}

/* --- unevenness ------------------------------------------------------------
   Multiply-high of a w-bit hash into m values gives some of them one more of
   the 2^w than others. Where the hash is even, the largest Fourier coefficient
   of that is at the frequency 2^w mod m, m / (pi 2^w) * sin(pi 2^w / m); if it
   is a multiple of 2^j too often, another is at 2^(w - j) mod m. They have the
   same phase under every key, and where all rounds on a half share them, they
   multiply up in the moves l_out - l_in modulo a, and nothing else wears them
   down. Halves between 2^15 and 2^24 are too small beside 2^32 to show it. */

static double unevenness(uint64_t m, double range)
{
    double x = acos(-1.0) * range / (double)m;
    return fabs(sin(x) / x);
}

/* The size of at most `most` that is worst: the curve falls and rises once
   between two divisors of the range, and the last rise has the highest top,
   as the top of each is about m / (pi 2^w). */
uint64_t quality_worst_size(uint64_t most)
{
    double range = most <= 32768 ? 65536.0 : 4294967296.0, best = 0;
    uint64_t m, step = most / 65536 + 1, found = most;
    for (m = most / 2; m <= most; m += step) {
        if (unevenness(m, range) > best) {
            best = unevenness(m, range);
            found = m;
        }
    }
    return found + found % 2; /* the left half is even */
}

/* |sum of values[v] * exp(2 pi i k v / m)|^2 for the eight k from `from` on, by
   Goertzel's recurrence (1958), eight at a time so that they do not wait for
   each other. Values of mean 0 keep it accurate. */
static void fourier(const double *values, uint64_t m, uint64_t from,
                    double *power)
{
    double twice[8], one[8] = {0}, two[8] = {0};
    uint64_t v;
    int i;
    for (i = 0; i < 8; i++) {
        twice[i] =
            2 * cos(2 * acos(-1.0) * (double)(from + (uint64_t)i) / (double)m);
    }
    for (v = 0; v < m; v++) {
        for (i = 0; i < 8; i++) {
            double next = values[v] + twice[i] * one[i] - two[i];
            two[i] = one[i];
            one[i] = next;
        }
    }
    for (i = 0; i < 8; i++) {
        power[i] =
            one[i] * one[i] + two[i] * two[i] - twice[i] * one[i] * two[i];
    }
}

/* A coefficient's power over the total is exponential with mean 1: that of the
   lowest frequency. */
static void note_lowest(quality *q, uint64_t n, const double *counts,
                        uint64_t m, double total, const char *half)
{
    double power[8], x;
    fourier(counts, m, 1, power);
    x = power[0] / total;
    quality_note(q, "unevenness", n, stats_two_sided(1 - exp(-x), exp(-x)),
                 "%s lowest amplitude %.2f", half, sqrt(x));
}

/* And the largest of all up to the half turn; there it is the square of a
   normal number. */
static void note_largest(quality *q, uint64_t n, const double *counts,
                         uint64_t m, double total, const char *half)
{
    double power[8], largest = 0, above;
    uint64_t k, i;
    for (k = 1; k <= m / 2; k += 8) {
        fourier(counts, m, k, power);
        for (i = 0; i < 8 && k + i <= m / 2; i++) {
            double x = power[i] / total;
            if (2 * (k + i) == m) {
                quality_note(q, "unevenness", n, stats_normal(sqrt(x)),
                             "%s half turn", half);
            } else {
                largest = x > largest ? x : largest;
            }
        }
    }
    above = -expm1((double)((m - 1) / 2) * log1p(-exp(-largest)));
    quality_note(q, "unevenness", n, stats_two_sided(1 - above, above),
                 "%s largest amplitude %.2f", half, sqrt(largest));
}

/* Takes the mean off the counts first. */
static void uneven_note(quality *q, uint64_t n, double *counts, uint64_t m,
                        double total, const char *half, int all)
{
    uint64_t i;
    for (i = 0; i < m; i++) {
        counts[i] -= total / (double)m;
    }
    note_lowest(q, n, counts, m, total, half);
    if (all) {
        note_largest(q, n, counts, m, total, half);
    }
}

/* How many different values k * 0, k * 1, ... has modulo m. */
static uint64_t values_of(uint64_t k, uint64_t m)
{
    uint64_t x = m, y = k, t;
    while (y != 0) {
        t = x % y;
        x = y;
        y = t;
    }
    return m / x;
}

/* Halves too large for a table of their own: their moves, and the moves times
   2^32 and 2^30 modulo the half, which makes those frequencies the lowest, in
   TURN steps. */
static void uneven_large(quality *q, uint64_t n, const uint64_t *size,
                         double evaluations)
{
    enum { CHUNK = 4096, TURN = 4096, TIMES = 3 };
    static const char *const names[2][TIMES] = {
        {"left", "left by 2^32", "left by 2^30"},
        {"right", "right by 2^32", "right by 2^30"},
    };
    static const uint64_t times[TIMES] = {1, (uint64_t)1 << 32,
                                          (uint64_t)1 << 30};
    static double turns[2][TIMES][TURN];
    uint64_t out[CHUNK], first, most = (uint64_t)evaluations, by[2][TIMES];
    double total = 0;
    int half, t;
    most = q->who->lazy && most > SHUFFLER_LAZY ? SHUFFLER_LAZY : most;
    memset(turns, 0, sizeof turns);
    for (half = 0; half < 2; half++) {
        for (t = 0; t < TIMES; t++) {
            by[half][t] = times[t] % size[half];
        }
    }
    quality_begin(q, n);
    for (first = 0; first < most; first += CHUNK) {
        size_t i;
        q->who->fill(q->state, first, 1, out, CHUNK);
        for (i = 0; i < CHUNK; i++) {
            uint64_t from[2], to[2];
            from[0] = (first + i) / size[1];
            from[1] = (first + i) % size[1];
            to[0] = out[i] / size[1];
            to[1] = out[i] % size[1];
            for (half = 0; half < 2; half++) {
                uint64_t m = size[half], move;
                move = to[half] >= from[half] ? to[half] - from[half]
                                              : to[half] + m - from[half];
                for (t = 0; t < TIMES; t++) {
                    turns[half][t][by[half][t] * move % m * TURN / m]++;
                }
            }
        }
        total += CHUNK;
    }
    for (half = 0; half < 2; half++) {
        for (t = 0; t < TIMES; t++) {
            /* A half that is nearly a divisor of the range is even. */
            if (values_of(by[half][t], size[half]) > (uint64_t)1 << 20) {
                uneven_note(q, n, turns[half][t], TURN, total, names[half][t],
                            t == 0);
            }
        }
    }
}

void quality_uneven(quality *q, uint64_t n, double evaluations)
{
    enum { CHUNK = 4096 };
    uint64_t size[2], in_epoch = n, first, i, out[CHUNK];
    double *left, *right, total = 0;
    shuffler_grid(n, &size[0], &size[1]);
    if (size[0] > (uint64_t)1 << 15) {
        if (size[1] >= (uint64_t)1 << 24) {
            uneven_large(q, n, size, evaluations);
        }
        return;
    }
    left = (double *)quality_claim(size[0], sizeof *left);
    right = (double *)quality_claim(size[1], sizeof *right);
    if (q->who->lazy && n > SHUFFLER_LAZY) {
        in_epoch = SHUFFLER_LAZY;
        evaluations = (double)SHUFFLER_LAZY;
    }
    while (total < evaluations) {
        uint32_t l = 0, r = 0, a = (uint32_t)size[0], b = (uint32_t)size[1];
        quality_begin(q, n);
        for (first = 0; first < in_epoch && total < evaluations;
             first += CHUNK) {
            size_t run =
                in_epoch - first < CHUNK ? (size_t)(in_epoch - first) : CHUNK;
            q->who->fill(q->state, first, 1, out, run);
            for (i = 0; i < run; i++) {
                uint32_t lo = (uint32_t)out[i] / b;
                uint32_t ro = (uint32_t)out[i] - lo * b;
                left[lo >= l ? lo - l : lo + a - l]++;
                right[ro >= r ? ro - r : ro + b - r]++;
                if (++r == b) {
                    r = 0;
                    l++;
                }
            }
            total += (double)run;
        }
    }
    uneven_note(q, n, left, size[0], total, "left", 1);
    uneven_note(q, n, right, size[1], total, "right", 1);
    free(left);
    free(right);
}

/* --- differences -----------------------------------------------------------
   A round function that is nearly linear sends positions a fixed step apart
   to indices a fixed step apart, or one of a few. The steps between indices
   are counted on the grid: coincidences of the whole step, and how even its
   two parts are. With two steps at once, also the difference of differences,
   in which what is linear cancels. */

#define BUCKETS ((uint64_t)1 << 22)

typedef struct step_counter {
    uint64_t a, b, buckets;
    uint16_t *table;
    double *parts[2];
    uint64_t bins[2];
} step_counter;

static void steps_note(quality *q, uint64_t n, step_counter *c,
                       const uint64_t *dl, const uint64_t *dr, size_t count,
                       const char *what)
{
    uint64_t cells = c->a * c->b, whole = cells / c->buckets;
    double more = (double)(cells % c->buckets), fewer, share, sum = 0, mean;
    double m = (double)count;
    size_t i;
    int part;
    memset(c->table, 0, c->buckets * sizeof *c->table);
    memset(c->parts[0], 0, c->bins[0] * sizeof(double));
    memset(c->parts[1], 0, c->bins[1] * sizeof(double));
    for (i = 0; i < count; i++) {
        sum += c->table[(dl[i] * c->b + dr[i]) % c->buckets]++;
        c->parts[0][(uint64_t)((double)dl[i] * (double)c->bins[0] /
                               (double)c->a)]++;
        c->parts[1][(uint64_t)((double)dr[i] * (double)c->bins[1] /
                               (double)c->b)]++;
    }
    /* Some buckets stand for one step more than the others. */
    fewer = (double)c->buckets - more;
    share = (more * ((double)whole + 1) * ((double)whole + 1) +
             fewer * (double)whole * (double)whole) /
            ((double)cells * (double)cells);
    mean = m * (m - 1) / 2 * share;
    quality_note(q, "steps", n,
                 stats_normal((sum - mean) / sqrt(mean * (1 - share))),
                 "%s z=%.1f", what, (sum - mean) / sqrt(mean * (1 - share)));
    for (part = 0; part < 2; part++) {
        double size = (double)(part ? c->b : c->a), x = 0;
        double bins = (double)c->bins[part];
        for (i = 0; i < c->bins[part]; i++) {
            double low = ceil((double)i * size / bins);
            double high = ceil((double)(i + 1) * size / bins);
            double e = m * (high - low) / size;
            x += (c->parts[part][i] - e) * (c->parts[part][i] - e) / e;
        }
        quality_note(q, "steps", n, stats_chi_square(x, bins - 1), "%s %s",
                     what, part ? "right" : "left");
    }
}

/* Differences of b's parts from a's, on the grid. */
static void steps_take(const step_counter *c, uint64_t *dl, uint64_t *dr,
                       const uint64_t *from, const uint64_t *to, size_t count)
{
    size_t i;
    for (i = 0; i < count; i++) {
        uint64_t fl = from[i] / c->b, fr = from[i] % c->b;
        uint64_t tl = to[i] / c->b, tr = to[i] % c->b;
        dl[i] = tl >= fl ? tl - fl : tl + c->a - fl;
        dr[i] = tr >= fr ? tr - fr : tr + c->b - fr;
    }
}

void quality_differences(quality *q, uint64_t n, size_t positions)
{
    uint64_t a, b, steps[6], first, *value[4], *dl[2], *dr[2];
    step_counter c;
    size_t i, m;
    int s, t, part;
    shuffler_grid(n, &a, &b);
    steps[0] = 1;
    steps[1] = 2;
    steps[2] = 64;
    steps[3] = b;
    steps[4] = b + 1;
    steps[5] = b / 2 * b + b / 2;
    /* Steps between positions near each other in one permutation: half of
       it is the most that leaves room for two of them. */
    m = positions;
    m = m > n / 8 ? (size_t)(n / 8) : m;
    m = q->who->lazy && m > SHUFFLER_LAZY / 32 ? SHUFFLER_LAZY / 32 : m;
    c.a = a;
    c.b = b;
    c.buckets = a * b < BUCKETS ? a * b : BUCKETS;
    c.table = (uint16_t *)quality_claim(c.buckets, sizeof *c.table);
    for (part = 0; part < 2; part++) {
        uint64_t size = part ? b : a;
        c.bins[part] = size < m / 64 ? size : m / 64;
        c.bins[part] = c.bins[part] > 65536 ? 65536 : c.bins[part];
        c.parts[part] = (double *)quality_claim(c.bins[part], sizeof(double));
        dl[part] = (uint64_t *)quality_claim(m, sizeof(uint64_t));
        dr[part] = (uint64_t *)quality_claim(m, sizeof(uint64_t));
    }
    for (i = 0; i < 4; i++) {
        value[i] = (uint64_t *)quality_claim(m, sizeof(uint64_t));
    }
    quality_begin(q, n);
    first = generator_below(&q->random, n / 8);
    q->who->fill(q->state, first, 1, value[0], m);
    for (s = 0; s < 6; s++) {
        char what[24] = "step 0";
        what[5] = (char)('1' + s);
        q->who->fill(q->state, first + steps[s], 1, value[1], m);
        steps_take(&c, dl[0], dr[0], value[0], value[1], m);
        steps_note(q, n, &c, dl[0], dr[0], m, what);
        for (t = s; t < 4; t++) {
            q->who->fill(q->state, first + steps[t], 1, value[2], m);
            q->who->fill(q->state, first + steps[s] + steps[t], 1, value[3], m);
            steps_take(&c, dl[1], dr[1], value[2], value[3], m);
            for (i = 0; i < m; i++) {
                dl[1][i] = dl[1][i] >= dl[0][i] ? dl[1][i] - dl[0][i]
                                                : dl[1][i] + a - dl[0][i];
                dr[1][i] = dr[1][i] >= dr[0][i] ? dr[1][i] - dr[0][i]
                                                : dr[1][i] + b - dr[0][i];
            }
            {
                char both[24] = "steps 0 and 0";
                both[6] = (char)('1' + s);
                both[12] = (char)('1' + t);
                steps_note(q, n, &c, dl[1], dr[1], m, both);
            }
        }
    }
    for (i = 0; i < 4; i++) {
        free(value[i]);
    }
    for (part = 0; part < 2; part++) {
        free(dl[part]);
        free(dr[part]);
        free(c.parts[part]);
    }
    free(c.table);
}

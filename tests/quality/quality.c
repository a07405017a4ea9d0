/* quality.c - is the permutation as good as a Fisher-Yates shuffle?

   quality short FOLDER     the suite once, under a minute
   quality long FOLDER      longer, under several master seeds
   quality selftest         the control passes, what is known to be bad fails
                            (0 MASTERS: in short, without the control)
   quality rounds FOLDER    the smallest number of rounds that passes
   quality raw N            low 32 bits of the indices at n = N without end,
                            for dieharder and the like

   The effort multiplies the work of a run: 1 is the short one, 0.25 the least
   that the laws used are good for.

   A run's p-values go to FOLDER, as CSV and as a table. A run fails if one of
   its K p-values is below 1e-4 / K, or if those of one test, or all together,
   are not uniform (Kolmogorov-Smirnov, 1e-5). Every random choice follows
   from the master seeds, which are printed. */
#include "quality.h"
#include "stats.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define POWER(exponent) ((uint64_t)1 << (exponent))

/* --- what the tests call ------------------------------------------------- */

void *quality_claim(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) {
        fprintf(stderr, "quality: out of memory\n");
        exit(2);
    }
    return memory;
}

void quality_begin(quality *q, uint64_t n)
{
    uint64_t seed = generator_next(&q->random);
    uint64_t epoch = generator_next(&q->random);
    uint64_t stream = generator_next(&q->random);
    q->who->begin(q->who, q->state, n, seed, epoch, stream);
}

void quality_note(quality *q, const char *test, uint64_t n, double p,
                  const char *detail, ...)
{
    quality_result *r;
    va_list list;
    if (q->count == q->room) {
        quality_result *more;
        size_t room = 2 * q->room + 1024;
        more = (quality_result *)quality_claim(room, sizeof *more);
        if (q->count > 0) {
            memcpy(more, q->results, q->count * sizeof *more);
        }
        free(q->results);
        q->results = more;
        q->room = room;
    }
    r = &q->results[q->count++];
    r->test = test;
    r->n = n;
    r->p = p;
    r->master = q->master;
    va_start(list, detail);
    vsnprintf(r->detail, sizeof r->detail, detail, list);
    va_end(list);
}

/* --- the suite ----------------------------------------------------------- */

/* What a network leaves behind at this n. */
static void structure(quality *q, uint64_t n)
{
    double positions = 131072 * q->effort, uneven = 1e7 * q->effort;
    if (n <= POWER(20) || (n <= 10000000 && q->effort >= 1)) {
        quality_grid(q, n, 5e6 * q->effort);
    }
    if (n >= 4096) {
        quality_differences(q, n,
                            positions > 4194304 ? 4194304 : (size_t)positions);
        quality_uneven(q, n, uneven > 1e8 ? 1e8 : uneven);
    }
}

/* Finds the ranges from n = 2 on; they end at a power of two or just before
   one. Returns how many there are. */
#define RANGES 16

static size_t find_ranges(quality_range *ranges)
{
    size_t count = 0;
    unsigned exponent, after;
    ranges[0].first = 2;
    ranges[0].rounds = shuffler_rounds_of(2);
    for (exponent = 2; exponent <= 62; exponent++) {
        for (after = 0; after < 2; after++) {
            uint64_t n = POWER(exponent) + after;
            if (n <= POWER(62) && count + 1 < RANGES &&
                (shuffler_rounds_of(n) != ranges[count].rounds ||
                 shuffler_wide(n) != shuffler_wide(n - 1))) {
                ranges[count].last = n - 1;
                count++;
                ranges[count].first = n;
                ranges[count].rounds = shuffler_rounds_of(n);
            }
        }
    }
    ranges[count].last = POWER(62);
    return count + 1;
}

/* An n whose halves are the worst in the range for multiply-high, and one in
   its middle, no power of anything. */
static uint64_t worst_of(const quality_range *range)
{
    uint64_t m = quality_worst_size((uint64_t)sqrt((double)range->last));
    return m * m > range->last ? (m - 2) * (m - 2) : m * m;
}

static uint64_t middle_of(const quality_range *range)
{
    return (uint64_t)(0.9 * sqrt((double)range->first * (double)range->last)) |
           1;
}

static const uint64_t structure_sizes[] = {
    5,         6,         7,         8,          9,           10,
    12,        13,        16,        25,         36,          64,
    100,       256,       1000,      1024,       4096,        10000,
    65535,     65536,     100003,    1000000,    1048576,     10000000,
    100000000, 268435456, 715937049, 1000000000, 4294967296u, POWER(60),
    0,
}; /* 715937049 is 26,757 squared */

static void run_structure(quality *q)
{
    quality_range ranges[RANGES];
    size_t i, count = find_ranges(ranges);
    for (i = 0; structure_sizes[i] != 0; i++) {
        structure(q, structure_sizes[i]);
    }
    for (i = 0; i < count; i++) {
        structure(q, worst_of(&ranges[i]));
        structure(q, ranges[i].last);
        if (i > 0) {
            structure(q, ranges[i].first);
        }
    }
}

static void run_epochs(quality *q)
{
    int i;
    for (i = 0; i < 4 + 2 * q->effort; i++) {
        quality_epoch(q, POWER(16));
    }
    for (i = 0; i < 1 + q->effort / 4; i++) {
        quality_epoch(q, 1000000);
        quality_epoch(q, POWER(20));
    }
    for (i = 1; i <= q->effort; i += 3) {
        quality_epoch(q, 10000000);
    }
}

static void run_related(quality *q)
{
    quality_range ranges[RANGES];
    size_t i, count = find_ranges(ranges);
    quality_related_pairs(q, (uint64_t)(23040 * q->effort));
    quality_relations(q, 1000, (uint64_t)(1024 * q->effort), 1000);
    quality_relations(q, 5000, (uint64_t)(256 * q->effort), 5000);
    quality_flips(q, 1000);
    quality_flips(q, 4096);
    quality_flips(q, 1000000);
    for (i = 0; i < count; i++) {
        uint64_t n = middle_of(&ranges[i]);
        if (n > 5000) { /* 128 keys: each of 64 bits is flipped twice */
            quality_relations(q, n, (uint64_t)(128 + 128 * q->effort), 1024);
            quality_flips(q, n);
        }
    }
    quality_flips(q, POWER(40));
    quality_flips(q, POWER(62));
}

static void run_large(quality *q)
{
    quality_large(q, 100000000);
    quality_large(q, 1000000000);
    quality_large(q, POWER(32) - 1);
    quality_large(q, POWER(32) + 1);
    quality_large(q, POWER(40));
    quality_large(q, 1000000000000u);
    quality_large(q, POWER(53) + 1);
    quality_large(q, POWER(60));
    quality_large(q, POWER(62) - 57);
    quality_large(q, POWER(62));
}

typedef struct part {
    const char *name;
    void (*run)(quality *q);
} part;

static const part suite[] = {
    {"all permutations of 2 to 8", quality_all_permutations},
    {"tables, pairs and triples", quality_tables},
    {"Mallows kernel", quality_mallows},
    {"statistics of permutations", quality_statistics},
    {"structure of the network", run_structure},
    {"inside one epoch", run_epochs},
    {"related keys", run_related},
    {"samples of large ones", run_large},
};

static void run_parts(quality *q, int loud)
{
    size_t i;
    for (i = 0; i < sizeof suite / sizeof *suite; i++) {
        clock_t start = clock();
        size_t before = q->count;
        suite[i].run(q);
        if (loud) {
            printf("  %-28s %5lu p-values %7.1f s\n", suite[i].name,
                   (unsigned long)(q->count - before),
                   (double)(clock() - start) / CLOCKS_PER_SEC);
            fflush(stdout);
        }
    }
}

static void run_suite(quality *q)
{
    run_parts(q, 0);
}

static void start(quality *q, const shuffler *who, double effort)
{
    memset(q, 0, sizeof *q);
    /* With fewer counts than this the laws used are not close enough. */
    effort = effort < 0.25 ? 0.25 : effort;
    q->who = who;
    q->state = shuffler_state();
    q->beside = shuffler_state();
    q->effort = effort;
    if (!q->state || !q->beside) {
        exit(2);
    }
}

static void finish(quality *q)
{
    free(q->state);
    free(q->beside);
    free(q->results);
}

static void master(quality *q, uint64_t seed)
{
    q->master = seed;
    generator_seed(&q->random, seed);
}

/* --- the verdict --------------------------------------------------------- */

typedef struct verdict {
    double least, all; /* smallest p-value; uniformity of all of them */
    size_t at;         /* the smallest one's place */
    double limit;
    int failed;
} verdict;

/* Uniformity of the p-values of one test, or of all with NULL. */
static double uniformity(const quality *q, const char *test, double *least,
                         size_t *count)
{
    double *values = (double *)quality_claim(q->count, sizeof *values), p;
    size_t i;
    *least = 1;
    *count = 0;
    for (i = 0; i < q->count; i++) {
        if (!test || strcmp(test, q->results[i].test) == 0) {
            values[(*count)++] = q->results[i].p;
            *least = q->results[i].p < *least ? q->results[i].p : *least;
        }
    }
    p = stats_uniform(values, *count);
    free(values);
    return p;
}

static int first_of_its_test(const quality *q, size_t at)
{
    size_t i;
    for (i = 0; i < at; i++) {
        if (strcmp(q->results[i].test, q->results[at].test) == 0) {
            return 0;
        }
    }
    return 1;
}

static verdict judge(const quality *q)
{
    verdict v;
    size_t i, count;
    double least;
    memset(&v, 0, sizeof v);
    v.limit = 1e-4 / (double)q->count;
    v.all = uniformity(q, NULL, &v.least, &count);
    v.failed = count == 0 || v.least < v.limit || v.all < 1e-5;
    for (i = 0; i < q->count; i++) {
        if (q->results[i].p == v.least) {
            v.at = i;
        }
        if (first_of_its_test(q, i) &&
            uniformity(q, q->results[i].test, &least, &count) < 1e-5) {
            v.failed = 1;
        }
    }
    return v;
}

static void print_table(const quality *q, FILE *to)
{
    size_t i, count;
    double least, even;
    fprintf(to, "  %-22s %8s %12s %12s\n", "test", "p-values", "smallest",
            "uniformity");
    for (i = 0; i < q->count; i++) {
        if (first_of_its_test(q, i)) {
            even = uniformity(q, q->results[i].test, &least, &count);
            fprintf(to, "  %-22s %8lu %12.2e %12.2e\n", q->results[i].test,
                    (unsigned long)count, least, even);
        }
    }
}

static void print_verdict(const quality *q, const verdict *v, FILE *to)
{
    const quality_result *r = &q->results[v->at];
    fprintf(to,
            "%s: %s: %lu p-values, smallest %.1e (%s, n = %.0f, %s; limit "
            "%.1e), uniformity %.1e\n",
            q->who->name, v->failed ? "FAILS" : "passes",
            (unsigned long)q->count, v->least, r->test, (double)r->n, r->detail,
            v->limit, v->all);
}

static FILE *create(const char *folder, const char *name)
{
    char path[1024];
    FILE *file;
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    file = length < (int)sizeof path ? fopen(path, "w") : NULL;
    if (!file) {
        perror(path);
        exit(2);
    }
    return file;
}

static int run(const char *folder, const char *name, double effort,
               unsigned masters)
{
    quality q;
    verdict v;
    unsigned m;
    size_t i;
    char file_name[64];
    FILE *file;
    start(&q, &shuffler_header, effort);
    for (m = 1; m <= masters; m++) {
        master(&q, m);
        printf("quality of %s, effort %g, master seed %u\n", q.who->name,
               effort, m);
        run_parts(&q, 1);
    }
    v = judge(&q);
    sprintf(file_name, "%s.csv", name);
    file = create(folder, file_name);
    fprintf(file, "master,test,n,detail,p\n");
    for (i = 0; i < q.count; i++) {
        const quality_result *r = &q.results[i];
        fprintf(file, "%d,%s,%.0f,\"%s\",%.6g\n", (int)r->master, r->test,
                (double)r->n, r->detail, r->p);
    }
    fclose(file);
    sprintf(file_name, "%s.txt", name);
    file = create(folder, file_name);
    print_table(&q, file);
    print_verdict(&q, &v, file);
    fclose(file);
    print_table(&q, stdout);
    print_verdict(&q, &v, stdout);
    printf("%s/%s.csv, %s/%s.txt\n", folder, name, folder, name);
    return v.failed;
}

/* --- rounds ---------------------------------------------------------------
   With how many rounds does the network pass? Looked at are the tests that
   see a round less, with 10^8 positions each at effort 20. */

/* The smallest p-value at this n under these master seeds, by the tests that
   see a round less. */
static quality_result least_of(uint32_t rounds, uint64_t n, unsigned masters,
                               double effort)
{
    shuffler s = shuffler_network(rounds);
    quality_result least;
    quality q;
    unsigned m;
    size_t i;
    memset(&least, 0, sizeof least);
    least.p = 1;
    start(&q, &s, effort);
    for (m = 1; m <= masters && least.p > 1e-7; m++) {
        master(&q, m);
        q.count = 0;
        if (n >= 5) { /* with less there is no grid to speak of */
            structure(&q, n);
        }
        if (n <= 8) {
            quality_permutations(&q, n, (uint64_t)(5e6 * effort) / n);
        }
        if (n >= POWER(24)) {
            quality_large(&q, n);
        }
        for (i = 0; i < q.count; i++) {
            if (q.results[i].p < least.p) {
                least = q.results[i];
            }
        }
    }
    finish(&q);
    return least;
}

/* The smallest even number of rounds that passes at this n, and what failed
   with two fewer. */
static uint32_t smallest_rounds(uint64_t n, unsigned masters, double effort,
                                quality_result *failed)
{
    uint32_t rounds = 4;
    memset(failed, 0, sizeof *failed);
    failed->test = "nothing less was tried";
    while (rounds < SHUFFLER_ROUNDS) {
        quality_result least = least_of(rounds, n, 1, effort / 20);
        if (least.p > 1e-7) {
            least = least_of(rounds, n, masters, effort);
        }
        if (least.p > 1e-7) {
            break;
        }
        *failed = least;
        rounds += 2;
    }
    return rounds;
}

static int run_rounds(const char *folder, double effort, unsigned masters)
{
    static const uint64_t small[] = {2,  3,  4,  5,  6,   8,
                                     12, 16, 20, 64, 256, 1000};
    enum { SMALL = sizeof small / sizeof *small };
    FILE *file = create(folder, "rounds.csv");
    quality_range ranges[RANGES];
    size_t i, k, count = find_ranges(ranges);
    int too_few = 0;
    fprintf(file, "first,last,rounds,n,smallest,test,detail,p\n");
    printf("smallest even number of rounds that passes, effort %g, master "
           "seeds 1 to %u,\nand what fails with two fewer\n",
           effort, masters);
    fflush(stdout);
    for (i = 0; i < count; i++) {
        const quality_range *range = &ranges[i];
        uint32_t most = 0;
        for (k = 0; k < SMALL + 4; k++) {
            uint64_t n;
            quality_result failed;
            uint32_t found;
            switch (k) {
            case SMALL:
                n = range->first;
                break;
            case SMALL + 1:
                n = middle_of(range);
                break;
            case SMALL + 2:
                n = worst_of(range);
                break;
            case SMALL + 3:
                n = range->last;
                break;
            default:
                n = small[k];
            }
            if (n < range->first || n > range->last || (i == 0 && k == SMALL)) {
                continue;
            }
            found = smallest_rounds(n, masters, effort, &failed);
            most = found > most ? found : most;
            fprintf(file, "%.0f,%.0f,%u,%.0f,%u,%s,\"%s\",%.6g\n",
                    (double)range->first, (double)range->last, range->rounds,
                    (double)n, found, failed.test, failed.detail, failed.p);
            printf("  n = %-22.0f %2u   %s, %s: %.0e\n", (double)n, found,
                   failed.test, failed.detail, failed.p);
            fflush(stdout);
            fflush(file);
        }
        printf("n = %.0f to %.0f: %u rounds, %u needed%s\n",
               (double)range->first, (double)range->last, range->rounds, most,
               range->rounds * 3 < most * 4 ? ": LESS THAN A THIRD OVER IT"
                                            : "");
        too_few |= range->rounds * 3 < most * 4;
    }
    fclose(file);
    return too_few;
}

/* --- the suite's own test ------------------------------------------------ */

/* Not by chance, nor by a little. */
#define LARGE_MARGIN 1e-12

static int selftest_failures;

static void expect(int condition, const char *what)
{
    if (!condition) {
        printf("not true: %s\n", what);
        selftest_failures++;
    }
}

static int near(double a, double b)
{
    return fabs(a - b) <= 1e-4 * fabs(b);
}

/* p-values against printed tables and closed forms. */
static void selftest_stats(void)
{
    double lower, upper, values[1000], counts[4] = {30, 30, 30, 30};
    double shares[4] = {30, 30, 30, 30};
    int i;
    stats_gamma(0.5, 3.8414588 / 2, &lower, &upper);
    expect(near(upper, 0.05), "chi-square 3.841 has 5 % at 1 degree");
    stats_gamma(5, 29.588298 / 2, &lower, &upper);
    expect(near(upper, 0.001), "chi-square 29.588 has 0.1 % at 10 degrees");
    stats_gamma(50, 67.327563 / 2, &lower, &upper);
    expect(near(lower, 0.005), "chi-square 67.328 has 0.5 % below at 100");
    stats_gamma(1, 20, &lower, &upper);
    expect(near(upper, exp(-20.0)), "exponential tail");
    expect(near(stats_normal(1.959963985), 0.05), "normal 1.96");
    expect(near(stats_normal(-6), 1.9731753e-9), "normal -6");
    /* P(X <= 1) = 2/e for a mean of 1, P(X = 1) = 1/e. */
    expect(near(stats_poisson(1, 1, 0.5), 2 * (1 - 1.5 * exp(-1.0))),
           "Poisson 1 of 1");
    expect(near(stats_poisson(0, 30, 0.999999), 2 * exp(-30.0)),
           "Poisson 0 of 30");
    for (i = 0; i < 1000; i++) {
        values[i] = (i + 0.5) / 1000;
    }
    expect(stats_uniform(values, 1000) > 0.999, "even values are uniform");
    for (i = 0; i < 1000; i++) {
        values[i] = values[i] * values[i];
    }
    expect(stats_uniform(values, 1000) < 1e-10, "squares are not");
    expect(stats_fit(counts, shares, 4) < 0.01, "a perfect fit is suspicious");
}

/* The second implementation is the header's permutation. */
static void selftest_network(void)
{
    static const uint64_t sizes[] = {1,
                                     2,
                                     3,
                                     4,
                                     5,
                                     8,
                                     9,
                                     16,
                                     100,
                                     1000,
                                     4095,
                                     4096,
                                     65536,
                                     1000003,
                                     POWER(28) - 1,
                                     POWER(28),
                                     POWER(28) + 1,
                                     POWER(30) - 1,
                                     POWER(30),
                                     POWER(30) + 1,
                                     POWER(32),
                                     POWER(53),
                                     POWER(60),
                                     POWER(60) + 1,
                                     POWER(62) - 1,
                                     POWER(62)};
    shuffler copy = shuffler_network(0);
    void *a = shuffler_state(), *b = shuffler_state();
    generator g;
    size_t i, k;
    int same = 1;
    generator_seed(&g, 1);
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t n = sizes[i], x[700], y[700], first, stride;
        size_t count = n < 700 ? (size_t)n : 700;
        uint64_t seed = generator_next(&g), epoch = generator_next(&g);
        copy.begin(&copy, a, n, seed, epoch, i);
        shuffler_header.begin(&shuffler_header, b, n, seed, epoch, i);
        stride = 1 + generator_below(&g, n / count);
        first = generator_below(&g, n - stride * (count - 1));
        copy.fill(a, first, stride, x, count);
        shuffler_header.fill(b, first, stride, y, count);
        for (k = 0; k < count; k++) {
            same =
                same && x[k] == y[k] && copy.at(a, first + k * stride) == x[k];
        }
    }
    expect(same, "the harness's network is the header's permutation");
    free(a);
    free(b);
}

/* What takes 32 bits of each number, and does not look at the last. */
static void cut_keys(const shuffler *self, void *state, uint64_t n,
                     uint64_t seed, uint64_t epoch, uint64_t stream)
{
    const uint64_t kept = 0xfffffffeu;
    (void)self;
    shuffler_header.begin(&shuffler_header, state, n, seed & kept, epoch & kept,
                          stream & kept);
}

/* In the range of its rounds, does the shuffler fail by one p-value? */
static double least_between(const quality *q, uint64_t low, uint64_t high)
{
    double least = 1;
    size_t i;
    for (i = 0; i < q->count; i++) {
        if (q->results[i].n >= low && q->results[i].n <= high &&
            q->results[i].p < least) {
            least = q->results[i].p;
        }
    }
    return least;
}

static void half_rounds(const shuffler *self, void *state, uint64_t n,
                        uint64_t seed, uint64_t epoch, uint64_t stream)
{
    shuffler half = shuffler_header_rounds(shuffler_rounds_of(n) / 4 * 2);
    (void)self;
    half.begin(&half, state, n, seed, epoch, stream);
}

/* Run s's epoch e is run (s + 1)'s epoch e - 1, as where people add them. */
static void sum_of_keys(const shuffler *self, void *state, uint64_t n,
                        uint64_t seed, uint64_t epoch, uint64_t stream)
{
    (void)self;
    shuffler_header.begin(&shuffler_header, state, n, seed + epoch + stream, 0,
                          0);
}

/* The parts of the suite that one or the other bad family is put through; in
   short, those that tell it in the least time, another for each family. */
static void bad_network(quality *q)
{
    if (q->whole) {
        run_structure(q);
    }
    run_large(q);
    quality_grid(q, 12, 2e7); /* half of 24 or 12 rounds are many */
    quality_grid(q, 8192, 2e7);
}

static void bad_multiplier(quality *q)
{
    quality_uneven(q, (uint64_t)26757 * 26757, 1e7);
    if (q->whole) {
        quality_uneven(q, POWER(60), 1e7);
        quality_uneven(q, POWER(62) / 3, 1e7);
    }
}

static void bad_sum(quality *q)
{
    if (q->whole) {
        run_related(q);
    } else {
        quality_related_pairs(q, 5760);
    }
}

static void bad_keys(quality *q)
{
    if (q->whole) {
        quality_tables(q);
        run_related(q);
    } else {
        quality_relations(q, 1000, 256, 1000);
    }
}

static void bad_hash(quality *q)
{
    quality_tables(q);
    if (q->whole) {
        quality_flips(q, 1000000);
        run_large(q);
    }
}

static void bad_rotation(quality *q)
{
    int i;
    for (i = 0; i < 4; i++) {
        quality_epoch(q, POWER(16));
    }
    if (q->whole) {
        quality_statistics(q);
        quality_uneven(q, POWER(16), 1e6);
    }
}

static void bad_cycle(quality *q)
{
    quality_all_permutations(q);
    if (q->whole) {
        quality_tables(q);
    }
}

/* A result's test and detail without its numbers: lag 1 and lag 64 are of one
   kind. */
static void kind_of(const quality_result *r, char *kind, size_t room)
{
    char text[128];
    size_t i, length = 0;
    snprintf(text, sizeof text, "%s: %s", r->test, r->detail);
    for (i = 0; text[i] != '\0' && length + 1 < room; i++) {
        if (strchr("0123456789.-=", text[i]) == NULL) {
            kind[length++] = text[i];
        }
    }
    kind[length] = '\0';
}

/* Each kind of result has been seen to fail by far, in one of the runs. */
static void expect_kinds(const quality *runs, size_t count)
{
    enum { KINDS = 512 };
    static struct {
        char name[128];
        double least;
    } kinds[KINDS];
    char name[128];
    size_t run, i, k, found = 0;
    for (run = 0; run < count; run++) {
        for (i = 0; i < runs[run].count; i++) {
            const quality_result *r = &runs[run].results[i];
            kind_of(r, name, sizeof name);
            for (k = 0; k < found && strcmp(kinds[k].name, name) != 0; k++) {
            }
            if (k == found) {
                expect(found < KINDS, "there is room for every kind");
                found += found < KINDS - 1;
                strcpy(kinds[k].name, name);
                kinds[k].least = 1;
            }
            kinds[k].least = r->p < kinds[k].least ? r->p : kinds[k].least;
        }
    }
    for (k = 0; k < found; k++) {
        if (kinds[k].least > LARGE_MARGIN) {
            printf("%s: nothing fails it\n", kinds[k].name);
            selftest_failures++;
        }
    }
    printf("kinds of p-values, each of which something fails: %lu\n",
           (unsigned long)found);
}

/* The control must pass under every master seed. */
static void selftest_control(double effort, unsigned masters)
{
    quality q;
    verdict v;
    unsigned m;
    for (m = 1; m <= masters; m++) {
        start(&q, &shuffler_control, effort);
        master(&q, m);
        run_suite(&q);
        v = judge(&q);
        printf("master seed %u, effort %g: ", m, effort);
        print_verdict(&q, &v, stdout);
        fflush(stdout);
        expect(!v.failed, "the control passes");
        finish(&q);
    }
}

/* Which test tells how much of what is bad; every kind of p-value tells some of
   it. */
static void selftest_tests(const quality *runs, size_t count)
{
    const quality *whole = &runs[count - 1];
    size_t i, k, values;
    double least;
    printf("%-21s", "smallest p-value");
    for (i = 0; i < count; i++) {
        printf(" %16s", runs[i].who->name);
    }
    printf("\n");
    for (k = 0; k < whole->count; k++) {
        const char *test = whole->results[k].test;
        if (!first_of_its_test(whole, k)) {
            continue;
        }
        printf("%-21s", test);
        for (i = 0; i < count; i++) {
            uniformity(&runs[i], test, &least, &values);
            if (values > 0) {
                printf(" %16.0e", least);
            } else {
                printf(" %16s", "-");
            }
        }
        printf("\n");
    }
    expect_kinds(runs, count);
}

/* What is known to be bad must fail: half the rounds in each range of n. The
   whole suite, which affine maps are put through, takes long. */
static void selftest_bad(double effort, int whole)
{
    enum { BAD = 8 };
    static void (*const parts[BAD])(quality *) = {
        bad_network, bad_multiplier, bad_hash,  bad_sum,
        bad_keys,    bad_rotation,   bad_cycle, run_suite,
    };
    shuffler half = shuffler_header, sum = shuffler_header;
    shuffler cut = shuffler_header;
    const shuffler *bad[BAD];
    quality_range ranges[RANGES];
    quality q[BAD];
    size_t i, k, count = find_ranges(ranges);
    half.name = "half the rounds";
    half.begin = half_rounds;
    sum.name = "sum of keys";
    sum.begin = sum_of_keys;
    cut.name = "cut keys";
    cut.begin = cut_keys;
    bad[0] = &half;
    bad[1] = &shuffler_one_multiplier;
    bad[2] = &shuffler_xor_multiply;
    bad[3] = &sum;
    bad[4] = &cut;
    bad[5] = &shuffler_rotation;
    bad[6] = &shuffler_sattolo;
    bad[7] = &shuffler_affine;
    for (i = 0; i < (whole ? BAD : BAD - 1); i++) {
        verdict v;
        start(&q[i], bad[i], effort);
        q[i].whole = whole;
        master(&q[i], 1);
        parts[i](&q[i]);
        v = judge(&q[i]);
        printf("master seed 1, effort %g: ", effort);
        print_verdict(&q[i], &v, stdout);
        fflush(stdout);
        expect(v.least < LARGE_MARGIN, "what is bad fails by far");
    }
    for (k = 0; k < count; k++) {
        double least = least_between(&q[0], ranges[k].first, ranges[k].last);
        printf("half the rounds, n = %.0f to %.0f: smallest p-value %.0e\n",
               (double)ranges[k].first, (double)ranges[k].last, least);
        expect(least < LARGE_MARGIN, "half the rounds fail in every range");
    }
    if (whole) {
        selftest_tests(q, BAD);
    }
}

static int run_selftest(double effort, unsigned masters)
{
    selftest_stats();
    selftest_network();
    selftest_control(effort, masters);
    selftest_bad(effort, masters != 0);
    printf("quality selftest: %d failed\n", selftest_failures);
    return selftest_failures != 0;
}

/* --- raw ----------------------------------------------------------------- */

static int run_raw(uint64_t n)
{
    enum { CHUNK = 4096 };
    uint64_t out[CHUNK], first = 0;
    unsigned char bytes[4 * CHUNK];
    void *state = shuffler_state();
    size_t i;
    shuffler_header.begin(&shuffler_header, state, n, 1, 0, 0);
    for (;; first += CHUNK) { /* ends when nobody reads on, or the epoch */
        size_t run = n - first < CHUNK ? (size_t)(n - first) : CHUNK;
        shuffler_header.fill(state, first, 1, out, run);
        for (i = 0; i < run; i++) {
            bytes[4 * i] = (unsigned char)(out[i] & 255);
            bytes[4 * i + 1] = (unsigned char)(out[i] >> 8 & 255);
            bytes[4 * i + 2] = (unsigned char)(out[i] >> 16 & 255);
            bytes[4 * i + 3] = (unsigned char)(out[i] >> 24 & 255);
        }
        if (fwrite(bytes, 4, run, stdout) != run || run < CHUNK) {
            return 0;
        }
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    const char *last = argc > 2 ? argv[2] : "";
    double effort = argc > 3 ? strtod(argv[3], NULL) : 0;
    unsigned masters = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;
    if (strcmp(mode, "selftest") == 0) {
        effort = argc > 2 ? strtod(argv[2], NULL) : 0.25;
        masters = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 3;
        return run_selftest(effort, masters);
    }
    if (strcmp(mode, "short") == 0 && *last) {
        return run(last, "short", effort > 0 ? effort : 1,
                   masters ? masters : 1);
    }
    if (strcmp(mode, "long") == 0 && *last) {
        return run(last, "long", effort > 0 ? effort : 10,
                   masters ? masters : 3);
    }
    if (strcmp(mode, "rounds") == 0 && *last) {
        return run_rounds(last, effort > 0 ? effort : 20,
                          masters ? masters : 2);
    }
    if (strcmp(mode, "raw") == 0 && *last) {
        return run_raw(strtoull(last, NULL, 10));
    }
    fprintf(stderr, "usage: quality short FOLDER [EFFORT [MASTERS]]\n"
                    "       quality long FOLDER [EFFORT [MASTERS]]\n"
                    "       quality rounds FOLDER [EFFORT [MASTERS]]\n"
                    "       quality selftest [EFFORT [MASTERS]]\n"
                    "       quality raw N\n");
    return 2;
}

/* quality.c - is the permutation as good as a Fisher-Yates shuffle?

   quality short FOLDER     the suite once, under a minute
   quality long FOLDER      longer, under several master seeds
   quality selftest         the control passes, what is known to be bad fails
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
    double positions = 131072 * q->effort;
    if (n <= POWER(20) || (n <= 10000000 && q->effort >= 1)) {
        quality_grid(q, n, (n < 64 ? 2e6 : 5e6) * q->effort);
    }
    if (n >= 4096) {
        quality_differences(q, n,
                            positions > 4194304 ? 4194304 : (size_t)positions);
    }
    if (n > POWER(27)) {
        double most = q->effort < 0.5 ? 5e6 : 1e7 * q->effort;
        quality_uneven(q, n, most > 1e8 ? 1e8 : most);
    }
}

static const uint64_t structure_sizes[] = {
    5,         6,          7,          8,          9,           10,
    13,        16,         25,         36,         64,          100,
    256,       1000,       1023,       1024,       4095,        4096,
    5000,      10000,      16384,      65535,      65536,       100003,
    1000000,   1048576,    10000000,   16777217,   100000000,   268435456,
    268435457, 1000000000, 1073741824, 1073741825, 4294967296u, 0};

/* Sizes whose halves are worst for multiply-high: the left one, and both. */
static uint64_t worst_square(unsigned bits)
{
    uint64_t m = quality_worst_size(POWER(bits));
    return m * m;
}

typedef struct part {
    const char *name;
    void (*run)(quality *q);
} part;

static void run_structure(quality *q)
{
    size_t i;
    for (i = 0; structure_sizes[i] != 0; i++) {
        structure(q, structure_sizes[i]);
    }
    structure(q, worst_square(13));
    structure(q, worst_square(14));
    structure(q, worst_square(15));
    structure(q, (uint64_t)26757 * 26757);
    structure(q, worst_square(30));
    structure(q, worst_square(31));
    structure(q, POWER(62));
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
    quality_relations(q, 1000, (uint64_t)(1024 * q->effort));
    quality_relations(q, 5000, (uint64_t)(256 * q->effort));
    quality_relations(q, 65536, (uint64_t)(16 * q->effort) + 2);
    quality_flips(q, 4096);
    quality_flips(q, 1000000);
    quality_flips(q, POWER(28));
    quality_flips(q, POWER(40) + 12345);
    quality_flips(q, POWER(62));
}

static void run_large(quality *q)
{
    quality_large(q, POWER(32) - 1);
    quality_large(q, POWER(32) + 1);
    quality_large(q, POWER(40));
    quality_large(q, 1000000000000u);
    quality_large(q, POWER(53) + 1);
    quality_large(q, POWER(60));
    quality_large(q, POWER(62) - 57);
    quality_large(q, POWER(62));
}

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

static void run_suite(quality *q, int loud)
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
            (unsigned long)q->count, v->least, r->test, (double)r->n,
            r->detail, v->limit, v->all);
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
        run_suite(&q, 1);
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

/* --- rounds -------------------------------------------------------------- */

/* Fails at this n under one of the master seeds? The structure tests are the
   ones that see a round less. */
static int fails(uint32_t variant, uint32_t rounds, uint64_t n,
                 unsigned masters, double effort)
{
    shuffler s = shuffler_network(variant, rounds);
    quality q;
    unsigned m;
    int failed = 0;
    start(&q, &s, effort);
    for (m = 1; m <= masters && !failed; m++) {
        size_t i;
        master(&q, m);
        q.count = 0;
        structure(&q, n);
        if (n > POWER(31)) {
            quality_large(&q, n);
        }
        for (i = 0; i < q.count; i++) {
            failed = failed || q.results[i].p < 1e-7;
        }
    }
    free(q.state);
    free(q.beside);
    free(q.results);
    return failed;
}

static int run_rounds(const char *folder, double effort, unsigned masters)
{
    static const uint64_t sizes[] = {6,
                                     8,
                                     10,
                                     16,
                                     100,
                                     1000,
                                     4095,
                                     4096,
                                     8192,
                                     65536,
                                     1000000,
                                     POWER(24) - 1,
                                     POWER(24),
                                     100000000,
                                     0,
                                     POWER(28) + 2,
                                     0,
                                     POWER(30) + 2,
                                     10000000000u,
                                     1000000000000000u,
                                     0,
                                     0};
    static const unsigned worst[] = {14, 15, 30, 31};
    FILE *file = create(folder, "rounds.csv");
    size_t i;
    unsigned w = 0;
    int short_of = 0;
    fprintf(file, "n,header,smallest_A,smallest_B\n");
    printf("smallest even number of rounds that passes, effort %g, master "
           "seeds 1 to %u\n%22s %8s %4s %4s\n",
           effort, masters, "n", "header", "A", "B");
    fflush(stdout);
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t n = sizes[i] ? sizes[i] : worst_square(worst[w++]);
        uint32_t variant, found[2], has = shuffler_rounds_of(n);
        for (variant = 'A'; variant <= 'B'; variant++) {
            uint32_t rounds = 4;
            while (rounds < 64 && fails(variant, rounds, n, masters, effort)) {
                rounds += 2;
            }
            found[variant - 'A'] = rounds;
        }
        fprintf(file, "%.0f,%u,%u,%u\n", (double)n, has, found[0], found[1]);
        printf("%22.0f %8u %4u %4u%s\n", (double)n, has, found[0], found[1],
               has < found[0] ? "  NOT ENOUGH" : "");
        short_of |= has < found[0];
        fflush(stdout);
    }
    fclose(file);
    return short_of;
}

/* --- the suite's own test ------------------------------------------------ */

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
    shuffler copy = shuffler_network('A', 0);
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

/* Run s's epoch e is run (s + 1)'s epoch e - 1: what eight systems do. */
static void sum_of_keys(const shuffler *self, void *state, uint64_t n,
                        uint64_t seed, uint64_t epoch, uint64_t stream)
{
    (void)self;
    shuffler_header.begin(&shuffler_header, state, n, seed + epoch, 0, stream);
}

static int run_selftest(double effort, unsigned masters)
{
    static const uint64_t ranges[][2] = {{5, 4095},
                                         {4096, POWER(28)},
                                         {POWER(28) + 1, POWER(30)},
                                         {POWER(30) + 1, POWER(60)},
                                         {POWER(60) + 1, POWER(62)}};
    enum { BAD = 6 };
    shuffler half = shuffler_header, sum = shuffler_header;
    const shuffler *bad[BAD];
    quality q[BAD];
    verdict v;
    unsigned m;
    size_t i, k;
    half.name = "half the rounds";
    half.begin = half_rounds;
    sum.name = "seed + epoch";
    sum.begin = sum_of_keys;
    bad[0] = &shuffler_affine;
    bad[1] = &shuffler_xor_multiply;
    bad[2] = &half;
    bad[3] = &sum;
    bad[4] = &shuffler_sattolo;
    bad[5] = &shuffler_reflection;
    selftest_stats();
    selftest_network();
    for (m = 1; m <= masters; m++) {
        start(&q[0], &shuffler_control, effort);
        master(&q[0], m);
        run_suite(&q[0], 0);
        v = judge(&q[0]);
        printf("master seed %u, effort %g: ", m, effort);
        print_verdict(&q[0], &v, stdout);
        fflush(stdout);
        expect(!v.failed, "the control passes");
        free(q[0].results);
    }
    for (i = 0; i < BAD; i++) {
        start(&q[i], bad[i], effort);
        master(&q[i], 1);
        if (bad[i] == &shuffler_sattolo) {
            quality_all_permutations(&q[i]);
        } else if (bad[i] == &shuffler_reflection) {
            run_epochs(&q[i]);
        } else {
            run_suite(&q[i], 0);
        }
        if (bad[i] == &half) { /* 12 rounds of 24 are hard to see */
            quality_grid(&q[i], 8, 2e7);
            quality_grid(&q[i], 16, 2e7);
        }
        v = judge(&q[i]);
        printf("master seed 1, effort %g: ", effort);
        print_verdict(&q[i], &v, stdout);
        expect(v.failed && v.least < v.limit, "what is bad fails");
        for (k = 0; k < 5 && bad[i] == &half; k++) {
            double least = least_between(&q[i], ranges[k][0], ranges[k][1]);
            printf("  n = %.0f to %.0f: smallest p-value %.1e\n",
                   (double)ranges[k][0], (double)ranges[k][1], least);
            expect(least < v.limit, "half the rounds fail in every range");
        }
        fflush(stdout);
    }
    /* Each test has been seen to fail. */
    printf("%-21s", "smallest p-value");
    for (i = 0; i < BAD; i++) {
        printf(" %16s", bad[i]->name);
    }
    printf("\n");
    for (k = 0; k < q[0].count; k++) {
        const char *test = q[0].results[k].test;
        double any = 1;
        if (!first_of_its_test(&q[0], k)) {
            continue;
        }
        printf("%-21s", test);
        for (i = 0; i < BAD; i++) {
            double least;
            size_t count;
            uniformity(&q[i], test, &least, &count);
            any = least < any ? least : any;
            if (count > 0) {
                printf(" %16.0e", least);
            } else {
                printf(" %16s", "-");
            }
        }
        printf("\n");
        expect(any < 1e-7, "every test fails something");
    }
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
        return run_rounds(last, effort > 0 ? effort : 4,
                          masters ? masters : 4);
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

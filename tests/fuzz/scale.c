/* scale.c - the sizes that no test of every sample reaches: make scale.

   An epoch on a million ranks, all of it audited at 2^28 samples and some of it
   at 2^33; how long a rank takes, beside how long it takes where there is one
   rank only, and what a job that is too large to run would spend, beside a
   table; a mix of 100,000 datasets; seeds and epochs at their ends; a run of
   10^10 samples on 98,304 ranks that was steered 1,000 times, and a schedule of
   10,000 datasets. Prints a line for each, and a sum. */
#define _POSIX_C_SOURCE 200809L
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "examples/extras/history.h"
#include "examples/extras/schedule.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCH = 64, MILLION = 1000000, SOURCES = 100000 };

static int passed, failed;

static void must(int good, const char *what)
{
    printf("%s %s\n", good ? "ok  " : "FAIL", what);
    passed += good;
    failed += !good;
    fflush(stdout);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static statesampler_desc describe(uint64_t n, uint32_t rank,
                                  uint32_t world_size)
{
    statesampler_desc desc = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    desc.num_samples = n;
    desc.seed = 42;
    desc.rank = rank;
    desc.world_size = world_size;
    desc.batch_size = BATCH;
    desc.tail = STATESAMPLER_TAIL_UNEVEN;
    return desc;
}

/* Serves a rank's epoch, or its first steps, into an audit; returns whether
   each index is one that locate finds at this rank and step. */
static int serve(statesampler_audit *audit, const statesampler_desc *desc,
                 uint64_t steps, int located)
{
    uint64_t out[BATCH], step;
    statesampler s;
    size_t count, i;
    int good = statesampler_init(&s, desc) == STATESAMPLER_OK;
    for (step = 0; step < steps; step++) { /* ends with the epoch */
        if (statesampler_next(&s, out, &count) != 1)
            break;
        statesampler_audit_add(audit, out, count);
        for (i = 0; i < count && located; i++) {
            statesampler_place place;
            good = good && statesampler_locate(&s, out[i], &place) == 0 &&
                   place.rank == desc->rank && place.step == step;
        }
    }
    return good;
}

/* Whether an audit shows that some indices have been served instead of others,
   as many. */
static int notices(const statesampler_audit *all, uint64_t n, size_t count,
                   const uint64_t *served, const uint64_t *instead)
{
    statesampler_audit right = {0, 0, 0, 0}, wrong = *all;
    statesampler_audit_add(&wrong, served, count);
    statesampler_audit_add(&right, instead, count);
    wrong.count -= right.count;
    wrong.sum1 -= right.sum1;
    wrong.sum2 -= right.sum2;
    wrong.sum3 -= right.sum3;
    return statesampler_audit_check(&wrong, n) == 0;
}

/* All ranks' audits, merged as those of processes are. */
static void ask_all_ranks(void)
{
    /* Of the second two the sum stays, of the third three the squares', too. */
    static const uint64_t served[3][3] = {{1}, {1, 2}, {1, 2, 6}};
    static const uint64_t instead[3][3] = {{0}, {0, 3}, {0, 4, 5}};
    const uint64_t n = UINT64_C(1) << 28;
    statesampler_audit all = {0, 0, 0, 0};
    uint32_t rank;
    int good = 1;
    size_t i;
    double begin = seconds();
    for (rank = 0; rank < MILLION; rank++) {
        statesampler_desc desc = describe(n, rank, MILLION);
        statesampler_audit one = {0, 0, 0, 0};
        good = serve(&one, &desc, UINT64_MAX, 0) && good;
        statesampler_audit_merge(&all, &one);
    }
    begin = seconds() - begin;
    printf("2^28 samples on 10^6 ranks: %.1f s for all ranks, %.2f us each\n",
           begin, begin);
    must(good && statesampler_audit_check(&all, n) == 1,
         "2^28 samples on 10^6 ranks: each exactly once, by all audits merged");
    for (good = 1, i = 0; i < 3; i++)
        good = good && notices(&all, n, i + 1, served[i], instead[i]);
    must(good, "one, two or three indices that are others are noticed there");
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Every thousandth rank of 2^33 samples: as many as their share is, each found
   where it was served, no two the same. */
static void ask_some_ranks(void)
{
    const uint64_t n = UINT64_C(1) << 33;
    statesampler_audit all = {0, 0, 0, 0};
    uint64_t *seen = malloc(10000 * 1000 * sizeof *seen), count = 0, i;
    uint64_t share = 0;
    uint32_t rank;
    int good = seen != NULL;
    for (rank = 7; rank < MILLION && good; rank += 1000) {
        statesampler_desc desc = describe(n, rank, MILLION);
        statesampler_audit one = {0, 0, 0, 0};
        statesampler s;
        size_t got;
        share += n / MILLION + (rank < n % MILLION);
        good = serve(&one, &desc, UINT64_MAX, 1);
        statesampler_audit_merge(&all, &one);
        good = good && statesampler_init(&s, &desc) == STATESAMPLER_OK;
        while (count + BATCH <= 10000 * 1000 && /* ends with the epoch */
               statesampler_next(&s, seen + count, &got) == 1)
            count += got;
    }
    must(good && all.count == share && count == share,
         "2^33 samples on 10^6 ranks, every thousandth: its share, and what is "
         "served is found there");
    if (good)
        qsort(seen, (size_t)count, sizeof *seen, compare);
    for (i = 1; i < count; i++)
        good = good && seen[i - 1] < seen[i] && seen[i] < n;
    must(good, "2^33 samples on 10^6 ranks, every thousandth: no two the same");
    free(seen);
}

/* Nanoseconds of a rank from init to the end of its first steps: the least of
   several, for many ranks. */
static double time_of_rank(uint32_t world_size, uint64_t steps)
{
    double least = 1e9;
    int repeat;
    for (repeat = 0; repeat < 7; repeat++) {
        statesampler_audit audit = {0, 0, 0, 0};
        double begin = seconds();
        uint32_t k;
        for (k = 0; k < 2000; k++) {
            statesampler_desc desc =
                describe(UINT64_C(1) << 33, k % world_size, world_size);
            desc.seed = k;
            (void)serve(&audit, &desc, steps, 0);
        }
        begin = (seconds() - begin) / 2000 * 1e9;
        least = begin < least ? begin : least;
    }
    return least;
}

/* Nanoseconds an index of a table's shuffle: Fisher and Yates, random numbers
   by SplitMix64. */
static double time_of_table(void)
{
    const uint64_t n = UINT64_C(1) << 24;
    uint64_t *table = malloc((size_t)n * sizeof *table), i, random = 42;
    static volatile uint64_t used; /* or a compiler may leave out the table */
    double begin = seconds();
    if (!table) {
        must(0, "memory for a table");
        return 0;
    }
    for (i = 0; i < n; i++)
        table[i] = i;
    for (i = n; i > 1; i--) {
        uint64_t mixed = random += UINT64_C(0x9e3779b97f4a7c15), swapped;
        mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
        mixed = ((mixed ^ mixed >> 31) >> 32) * i >> 32; /* below i */
        swapped = table[mixed];
        table[mixed] = table[i - 1];
        table[i - 1] = swapped;
    }
    begin = (seconds() - begin) / (double)n * 1e9;
    used = table[used % n];
    free(table);
    return begin;
}

/* What a job spends that nobody here can run, from what is measured here: an
   index's and a shuffle's nanoseconds. */
static void print_paper(double index, double resume)
{
    const double gpus = 1e5, samples = 1e10, table = time_of_table();
    printf("on paper: 10^5 GPUs, 10^10 samples, batches of %d, each epoch:\n"
           "    statesampler: %.2f ns an index, %.2g s a GPU, %.2g GPU hours "
           "in all; %.2g s to resume; %d bytes a process\n"
           "    a table in each process: %.2f ns an index (at 2^24, where more "
           "of it is in caches), %.2g s a GPU, %.2g GPU hours in all; as long "
           "to resume; %.0f GB a process\n",
           BATCH, index, 1e-9 * index * samples / gpus,
           1e-9 * index * samples / 3600, 1e-9 * resume,
           (int)sizeof(statesampler), table, 1e-9 * table * samples,
           1e-9 * table * samples * gpus / 3600, 8e-9 * samples);
}

static void ask_time(void)
{
    const double one = time_of_rank(1, 100);
    const double thousand = time_of_rank(1000, 100);
    const double million = time_of_rank(MILLION, 100);
    printf("init and 100 steps of %d: %.0f ns on one rank, %.2f times that on "
           "a rank of 10^3, %.2f on one of 10^6\n",
           BATCH, one, thousand / one, million / one);
    must(thousand < 1.5 * one && million < 1.5 * one,
         "a rank's time does not depend on how many ranks there are (1.5)");
    print_paper(million / 100 / BATCH, time_of_rank(MILLION, 1));
}

static void ask_mix(void)
{
    statesampler_source *sources = malloc(SOURCES * sizeof *sources);
    uint64_t out[BATCH], turns = 0, total = 0, step, *served;
    statesampler_mix mix;
    uint32_t i, source;
    size_t count;
    int good = 1;
    double begin;
    served = calloc(SOURCES, sizeof *served);
    if (!sources || !served) {
        must(0, "memory for a mix of 100,000 datasets");
        return;
    }
    for (i = 0; i < SOURCES; i++) {
        statesampler_desc desc = describe(1000 + i, 0, 8);
        desc.stream = i;
        desc.batch_size = 4;
        good = good &&
               statesampler_init(&sources[i].sampler, &desc) == STATESAMPLER_OK;
        sources[i].weight = 1 + i % 7;
        total += 1 + i % 7;
    }
    begin = seconds();
    good = good &&
           statesampler_mix_init(&mix, sources, SOURCES,
                                 STATESAMPLER_STOP_NEVER) == STATESAMPLER_OK;
    begin = seconds() - begin;
    printf("a mix of 100,000 datasets: init %.1f ms", 1e3 * begin);
    begin = seconds();
    for (step = 0; step < 2 * total && good; step++, turns++) {
        good = statesampler_mix_next(&mix, out, &count, &source) == 1 &&
               source < SOURCES;
        served[good ? source : 0]++;
    }
    begin = (seconds() - begin) / (double)turns;
    printf(", %.0f ns a turn\n", 1e9 * begin);
    for (i = 0; i < SOURCES; i++)
        good = good && served[i] == 2 * (uint64_t)sources[i].weight;
    must(good, "in as many turns as the weights' sum, twice, each dataset has "
               "twice its weight");
    free(served);
    free(sources);
}

/* The calls whose time grows with the number of sources: mix_at and seek with
   ALL, whose shares grow as sources end, and mix_weigh. */
static void time_changes(uint32_t sources_there)
{
    statesampler_source *sources = malloc(sources_there * sizeof *sources);
    uint32_t *weights = malloc(sources_there * sizeof *weights), i, source;
    double at, others, same;
    statesampler_mix mix;
    uint64_t turn, out[BATCH];
    size_t count;
    int good = sources && weights;
    for (i = 0; good && i < sources_there; i++) {
        statesampler_desc desc = describe(64 + i % 64, 0, 1);
        desc.stream = i;
        desc.batch_size = 4;
        good = statesampler_init(&sources[i].sampler, &desc) == 0;
        sources[i].weight = 1 + i % 1000;
        weights[i] = 1000 - i % 1000;
    }
    good = good && statesampler_mix_init(&mix, sources, sources_there,
                                         STATESAMPLER_STOP_ALL) == 0;
    turn = good ? statesampler_mix_num_turns(&mix) - 1 : 0;
    at = seconds();
    good = good && statesampler_mix_at(&mix, turn, out, &count, &source) == 1;
    at = seconds() - at;
    others = seconds();
    good = good && statesampler_mix_weigh(&mix, weights) == 0;
    others = seconds() - others;
    same = seconds();
    good = good && statesampler_mix_weigh(&mix, weights) == 0;
    same = seconds() - same;
    printf("a mix of %u datasets, ALL: mix_at %.2g ms, mix_weigh %.2g ms, with "
           "the same weights %.2g ms\n",
           (unsigned)sources_there, 1e3 * at, 1e3 * others, 1e3 * same);
    must(good, "the last turn of a mix with ALL, and other weights");
    free(sources);
    free(weights);
}

static void ask_ends(void)
{
    static const uint64_t ends[] = {0, 1, UINT64_C(1) << 63, UINT64_MAX - 1,
                                    UINT64_MAX};
    static const uint64_t sizes[] = {1,
                                     2,
                                     1000,
                                     UINT64_C(1) << 32,
                                     (UINT64_C(1) << 62) - 1,
                                     UINT64_C(1) << 62};
    unsigned a, b, c;
    int good = 1;
    for (a = 0; a < 5; a++)
        for (b = 0; b < 5; b++)
            for (c = 0; c < 6; c++) {
                statesampler_desc desc = describe(sizes[c], 0, 1);
                unsigned char state[STATESAMPLER_STATE_BYTES];
                uint64_t out[BATCH], again[BATCH];
                size_t count, other;
                statesampler s, t;
                desc.seed = ends[a];
                desc.epoch = ends[b];
                desc.stream = ends[(a + b) % 5];
                good = good && statesampler_init(&s, &desc) == 0 &&
                       statesampler_seek(&s, statesampler_num_steps(&s)) == 0;
                /* Into the next epoch, behind 2^64 - 1 the one of number 0. */
                good = good && statesampler_next(&s, out, &count) == 0 &&
                       statesampler_epoch(&s) == ends[b] + 1 &&
                       statesampler_save(&s, state, sizeof state) == 0 &&
                       statesampler_next(&s, out, &count) == 1;
                good = good && statesampler_init(&t, &desc) == 0 &&
                       statesampler_load(&t, state, sizeof state) == 0 &&
                       statesampler_next(&t, again, &other) == 1 &&
                       other == count && again[0] == out[0] &&
                       out[0] < sizes[c] && again[count - 1] == out[count - 1];
            }
    must(good, "seeds, epochs and streams at their ends, and the epoch after "
               "the last");
}

/* --- a run that was steered ----------------------------------------------- */

enum { EVENTS = 1000, LARGE = 10000 };

/* What rank 0 had before the last event of each kind, beside what the history
   says of it; and how long it takes to look through all of it. */
static void ask_history(void)
{
    static unsigned char memory[HISTORY_BYTES(2 * EVENTS)];
    static uint64_t had[EVENTS][BATCH], at_step[EVENTS];
    statesampler_desc desc = describe(10000000000u, 0, 98304);
    uint64_t out[BATCH];
    statesampler s;
    history_walk walk;
    history h;
    double begin;
    int i, found = 0, right = 1, good;
    size_t count;
    desc.batch_size = 1;
    good = statesampler_init(&s, &desc) == STATESAMPLER_OK &&
           history_init(&h, memory, sizeof memory, &s) == STATESAMPLER_OK;
    for (i = 0; i < EVENTS; i++) {
        uint32_t ranks = 98304 - 96 * (uint32_t)(i % 7);
        at_step[i] = statesampler_step(&s);
        good = good && statesampler_next(&s, had[i], &count) == 1 &&
               history_seek(&h, &s, at_step[i] + 1 + (uint64_t)(i % 3)) == 0 &&
               history_reshape(&h, &s, 0, ranks, 1) == 0;
    }
    must(good, "a run of 10^10 samples on 98,304 ranks, steered 2,000 times");
    begin = seconds();
    history_open(&walk, &h.log, statesampler_epoch(&s), statesampler_step(&s));
    while (history_next(&walk) == 1) {
        while (found < EVENTS &&
               history_served(&walk.stretch, 0, at_step[found])) {
            right = right &&
                    history_at(&walk, 0, 0, at_step[found], out, &count) == 1 &&
                    count == 1 && out[0] == had[found][0];
            found++;
        }
    }
    printf("     %d events in %.2f ms\n", 2 * EVENTS,
           1e3 * (seconds() - begin));
    must(right && found == EVENTS, "its history has each step that was served");
}

static uint32_t plan(schedule *s, uint64_t turn, void *context)
{
    uint32_t i;
    (void)context;
    for (i = 0; i < s->num_sources; i++)
        s->sources[i].share =
            1.0 / (1 + i % 100) + (double)((turn / 1000 + i) % 17) / 1000;
    return 1000;
}

/* 10,000 datasets, new weights every 1,000 turns: a seek over 10^6 turns leads
   where going there leads. */
static void ask_schedule(void)
{
    statesampler_source *sources =
        (statesampler_source *)calloc(2 * LARGE, sizeof *sources);
    schedule_source *shares =
        (schedule_source *)calloc(2 * LARGE, sizeof *shares);
    uint32_t *weights = (uint32_t *)calloc(2 * LARGE, sizeof *weights), i;
    statesampler_mix mix[2];
    schedule s[2];
    uint64_t out[BATCH], same[BATCH];
    uint32_t source = 0, other = 0;
    size_t count, turn;
    double begin;
    int good = sources != NULL && shares != NULL && weights != NULL;
    for (i = 0; good && i < 2 * LARGE; i++) {
        statesampler_desc desc = describe(1000000 + i % LARGE, 0, 1);
        desc.batch_size = 1;
        desc.stream = i % LARGE;
        sources[i].weight = 1;
        good = statesampler_init(&sources[i].sampler, &desc) == 0;
    }
    for (i = 0; good && i < 2; i++) {
        good = statesampler_mix_init(&mix[i], sources + i * LARGE, LARGE,
                                     STATESAMPLER_STOP_NEVER) == 0;
        schedule_init(&s[i], shares + i * LARGE, weights + i * LARGE, LARGE);
    }
    begin = seconds();
    for (turn = 0; good && turn < MILLION; turn++)
        good = schedule_follow(&s[0], &mix[0], plan, NULL) == 0 &&
               statesampler_mix_next(&mix[0], NULL, NULL, NULL) == 1;
    printf("     10^6 turns of 10,000 datasets in %.1f s", seconds() - begin);
    begin = seconds();
    good = good && schedule_seek(&s[1], &mix[1], MILLION, plan, NULL) == 0;
    printf(", a seek over them in %.1f s\n", seconds() - begin);
    for (turn = 0; good && turn < 5000; turn++)
        good = schedule_follow(&s[0], &mix[0], plan, NULL) == 0 &&
               schedule_follow(&s[1], &mix[1], plan, NULL) == 0 &&
               statesampler_mix_next(&mix[0], out, &count, &source) == 1 &&
               statesampler_mix_next(&mix[1], same, &count, &other) == 1 &&
               source == other && out[0] == same[0];
    must(good, "a schedule of 10,000 datasets, sought over 10^6 turns");
    for (i = 0; good && i < LARGE; i++)
        good = shares[i].owed > -SCHEDULE_ONE && shares[i].owed < SCHEDULE_ONE;
    must(good, "each of them within a turn of its share");
    free(sources);
    free(shares);
    free(weights);
}

int main(void)
{
    ask_history();
    ask_schedule();
    ask_ends();
    ask_time();
    ask_mix();
    time_changes(1000);
    time_changes(SOURCES);
    ask_all_ranks();
    ask_some_ranks();
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}

/* figures.c - what a sampler costs in bytes, and what a resume costs in time.

   `make figures` compiles and runs this. Times are the least of many runs, and
   only ratios of times taken side by side are judged, because machines differ
   and are noisy. Every batch that is timed is also checked. */
#define _POSIX_C_SOURCE 200809L

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

/* How this was compiled; the Makefile knows. */
#ifndef FIGURES_FLAGS
#define FIGURES_FLAGS "not told"
#endif

enum { BATCH = 256, RANKS = 8, IN_A_ROW = 8, RUNS = 300 };

static unsigned met, missed;

static void verdict(int good)
{
    printf("  %s\n", good ? "met" : "MISSED");
    if (good)
        met++;
    else
        missed++;
}

/* A wrong result makes every figure worthless, so it ends the run. */
static void must(int good, const char *what)
{
    if (!good) {
        printf("figures: wrong: %s\n", what);
        exit(1);
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void print_machine(void)
{
    char line[512];
    FILE *f = fopen("/proc/cpuinfo", "r");
    const char *processor = "unknown";
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            colon[strcspn(colon, "\n")] = '\0';
            processor = colon + 2;
            break;
        }
    }
#if defined(__clang__) || !defined(__GNUC__)
#define COMPILER ""
#else
#define COMPILER "gcc "
#endif
#ifndef __VERSION__
#define __VERSION__ "unknown"
#endif
    printf("compiler:  %s%s\nflags:     %s\nprocessor: %s\n\n", COMPILER,
           __VERSION__, FIGURES_FLAGS, processor);
    if (f != NULL)
        fclose(f);
}

/* --- memory --- */

/* Resident pages, or -1 where the system does not tell. */
static long resident_kib(void)
{
    long pages = -1, unused;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL)
        return -1;
    if (fscanf(f, "%ld %ld", &unused, &pages) != 2)
        pages = -1;
    fclose(f);
    return pages < 0 ? -1 : pages * 4;
}

/* Bytes taken from the heap, or -1 where the C library does not tell. */
static double heap_bytes(void)
{
#if defined(__GLIBC__) && \
    (__GLIBC__ > 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ >= 33))
    struct mallinfo2 info = mallinfo2();
    return (double)info.uordblks + (double)info.hblkhd;
#else
    return -1;
#endif
}

/* Makes a sampler of every order and serves, saves, loads and finds. */
static void use_all(uint64_t n)
{
    static uint64_t out[BATCH];
    statesampler s;
    statesampler_place place;
    unsigned char state[STATESAMPLER_STATE_BYTES];
    uint32_t order, k;
    for (order = 0; order < 4; order++) {
        statesampler_desc d;
        memset(&d, 0, sizeof d);
        d.num_samples = n;
        d.world_size = RANKS;
        d.batch_size = BATCH;
        d.order = order;
        d.chunk_size = 1000;
        d.window = 16;
        must(statesampler_init(&s, &d) == 0, "init");
        for (k = 0; k < 200; k++)
            must(statesampler_next(&s, out) == BATCH, "count");
        must(statesampler_at(&s, n / (RANKS * BATCH) / 2, out) == BATCH, "at");
        if (order != STATESAMPLER_REPLACEMENT)
            must(statesampler_locate(&s, n / 3, &place) == 0, "locate");
        statesampler_save(&s, state);
        must(statesampler_load(&s, state, sizeof state) == 0, "load");
    }
}

static void print_memory(void)
{
    double heap;
    long first, second;
    printf("Memory\n");
    printf("  %-46s %7lu  bar %5d", "bytes of a statesampler",
           (unsigned long)sizeof(statesampler), 512);
    verdict(sizeof(statesampler) <= 512);
    printf("  %-46s %7d  bar %5d", "bytes of its state",
           STATESAMPLER_STATE_BYTES, 128);
    verdict(STATESAMPLER_STATE_BYTES <= 128);
    printf("  %-46s %7lu\n", "bytes of a statesampler_perm",
           (unsigned long)sizeof(statesampler_perm));
    printf("  %-46s %7lu\n", "bytes of a statesampler_audit",
           (unsigned long)sizeof(statesampler_audit));

    /* Once before, so that the pages of the code and of stdio are there. */
    use_all(1000000);
    heap = heap_bytes();
    first = resident_kib();
    use_all(1000000);
    second = resident_kib();
    use_all(1000000000);
    if (heap < 0)
        printf("  heap: this C library does not tell\n");
    else {
        heap = heap_bytes() - heap;
        printf("  %-46s %7.0f  bar %5d",
               "bytes of heap taken by every call of the core", heap, 0);
        verdict(heap <= 0);
    }
    if (first < 0 || second < 0)
        printf("  resident memory: this system does not tell\n");
    else {
        printf("  %-46s %7ld  bar %5d",
               "KiB resident, n = 10^9 more than n = 10^6",
               resident_kib() - second, 64);
        verdict(resident_kib() - second <= 64);
        printf("  (a table of 10^9 64-bit indices: 7,812,500 KiB)\n");
    }
    printf("\n");
}

/* --- resume --- */

static uint64_t row_out[BATCH], row_expected[BATCH];

/* Batches in a row from a step on, the end of the epoch among them where it
   falls so: ns for one. */
static double batch_time(const statesampler *at_step)
{
    double best = 1e18;
    int run;
    for (run = 0; run < RUNS / 4; run++) {
        statesampler s;
        double from, took;
        int batches = 0, calls = 0;
        memcpy(&s, at_step, sizeof s);
        from = now();
        while (batches < IN_A_ROW) {
            batches += statesampler_next(&s, row_out) != 0;
            calls++;
        }
        took = now() - from;
        must(calls < 3 * IN_A_ROW, "a run of batches");
        if (took / IN_A_ROW < best)
            best = took / IN_A_ROW;
    }
    return best;
}

/* As many resumes in a row, because a clock's tick may be as long as one. */
static double resume_time(const statesampler_desc *d,
                          const unsigned char *state)
{
    double best = 1e18;
    int run, k;
    for (run = 0; run < RUNS / 4; run++) {
        statesampler s;
        int code = 0;
        size_t count = 0;
        double from = now(), took;
        for (k = 0; k < IN_A_ROW; k++) {
            code |= statesampler_init(&s, d);
            code |= statesampler_load(&s, state, STATESAMPLER_STATE_BYTES);
            count = statesampler_next(&s, row_out);
        }
        took = (now() - from) / IN_A_ROW;
        must(code == 0 && count > 0, "a resume");
        must(memcmp(row_out, row_expected, count * sizeof row_out[0]) == 0,
             "the batch after a resume");
        if (took < best)
            best = took;
    }
    return best;
}

/* The ratio at one step, for a state that savers ranks wrote there. */
static double ratio_at(const statesampler_desc *d, uint32_t savers,
                       uint64_t step, double *batch, double *resume)
{
    statesampler_desc saver = *d;
    statesampler s, before;
    unsigned char state[STATESAMPLER_STATE_BYTES];
    size_t count;
    saver.world_size = savers;
    saver.rank = 0;
    must(statesampler_init(&s, &saver) == 0, "init");
    must(statesampler_seek(&s, step) == 0, "seek");
    statesampler_save(&s, state);

    /* The run that was not interrupted comes from some steps before, where
       the shape has any. */
    must(statesampler_init(&before, d) == 0, "init");
    if (savers != d->world_size) {
        must(statesampler_load(&before, state, sizeof state) == 0, "load");
    } else {
        must(statesampler_seek(&before, step < IN_A_ROW / 2
                                            ? 0
                                            : step - IN_A_ROW / 2) == 0,
             "seek");
    }
    memcpy(&s, &before, sizeof s);
    while (statesampler_step(&s) < step)
        must(statesampler_next(&s, NULL) > 0, "a batch before");
    count = statesampler_next(&s, row_expected);
    must(count > 0, "the batch to resume");
    must(statesampler_at(&before, step, row_out) == count, "at");
    must(memcmp(row_out, row_expected, count * sizeof row_out[0]) == 0,
         "at gives another batch than next");

    *batch = batch_time(&before);
    *resume = resume_time(d, state);
    return *resume / *batch;
}

static void print_resume(void)
{
    static const struct {
        const char *name;
        uint32_t order, partition, tail, savers;
    } rows[] = {
        {"SHUFFLE", STATESAMPLER_SHUFFLE, STATESAMPLER_INTERLEAVED,
         STATESAMPLER_PAD, RANKS},
        {"SHUFFLE BLOCKED", STATESAMPLER_SHUFFLE, STATESAMPLER_BLOCKED,
         STATESAMPLER_PAD, RANKS},
        {"SHUFFLE CARRY", STATESAMPLER_SHUFFLE, STATESAMPLER_INTERLEAVED,
         STATESAMPLER_CARRY, RANKS},
        {"SHUFFLE, saved by 6", STATESAMPLER_SHUFFLE,
         STATESAMPLER_INTERLEAVED, STATESAMPLER_PAD, 6},
        {"SHUFFLE BLOCKED, by 6", STATESAMPLER_SHUFFLE, STATESAMPLER_BLOCKED,
         STATESAMPLER_PAD, 6},
        {"SEQUENTIAL", STATESAMPLER_SEQUENTIAL, STATESAMPLER_INTERLEAVED,
         STATESAMPLER_PAD, RANKS},
        {"SEQUENTIAL CARRY", STATESAMPLER_SEQUENTIAL, STATESAMPLER_INTERLEAVED,
         STATESAMPLER_CARRY, RANKS},
        {"SEQUENTIAL BLOCKED", STATESAMPLER_SEQUENTIAL, STATESAMPLER_BLOCKED,
         STATESAMPLER_PAD, RANKS},
        {"WINDOW", STATESAMPLER_WINDOW, STATESAMPLER_INTERLEAVED,
         STATESAMPLER_PAD, RANKS},
        {"WINDOW CARRY", STATESAMPLER_WINDOW, STATESAMPLER_INTERLEAVED,
         STATESAMPLER_CARRY, RANKS},
        {"WINDOW BLOCKED", STATESAMPLER_WINDOW, STATESAMPLER_BLOCKED,
         STATESAMPLER_PAD, RANKS},
        {"REPLACEMENT", STATESAMPLER_REPLACEMENT, STATESAMPLER_INTERLEAVED,
         STATESAMPLER_PAD, RANKS},
        {"REPLACEMENT CARRY", STATESAMPLER_REPLACEMENT,
         STATESAMPLER_INTERLEAVED,
         STATESAMPLER_CARRY, RANKS},
        {"REPLACEMENT BLOCKED", STATESAMPLER_REPLACEMENT,
         STATESAMPLER_BLOCKED, STATESAMPLER_PAD, RANKS}
    };
    static const struct {
        const char *name;
        uint64_t n;
    } sizes[] = {
        {"10^3", 1000}, {"10^6", 1000000}, {"10^8", 100000000},
        {"10^9", 1000000000}, {"2^40", (uint64_t)1 << 40},
        {"2^62", (uint64_t)1 << 62}
    };
    size_t row, size;
    double worst = 0;
    printf("Resume: init + load + the first batch, against a batch of a run "
           "that goes on\n"
           "  %d ranks, batches of %d; ns for a batch and for a resume at the "
           "step whose\n  ratio is worst, and the ratio of resume to batch "
           "at the first step, in the\n  middle and at the last full step of "
           "the epoch; bar 4.00 for each. Of 10^3\n  samples a rank has 125, "
           "so that only CARRY has batches of %d there; the\n  others are"
           " shown and not judged. \"by 6\": saved by 6 ranks, so that the\n"
           "  resume also changes the shape.\n\n"
           "  %-22s %5s %9s %9s   %5s %5s %5s\n",
           RANKS, BATCH, BATCH, "order", "n", "batch", "resume", "start",
           "mid", "end");
    for (row = 0; row < sizeof rows / sizeof rows[0]; row++)
        for (size = 0; size < sizeof sizes / sizeof sizes[0]; size++) {
            statesampler_desc d;
            double ratio[3], batch[3], resume[3];
            uint64_t full;
            int k, most = 0, judged;
            memset(&d, 0, sizeof d);
            d.num_samples = sizes[size].n;
            d.seed = 7;
            d.rank = RANKS - 1;
            d.world_size = RANKS;
            d.batch_size = BATCH;
            d.order = rows[row].order;
            d.partition = rows[row].partition;
            d.tail = rows[row].tail;
            d.chunk_size = 1000;
            d.window = 16;
            full = d.num_samples / (RANKS * BATCH);
            judged = full > 0 || d.tail == STATESAMPLER_CARRY;
            for (k = 0; k < 3; k++) {
                uint64_t step = 0;
                if (full > 0 && k > 0)
                    step = k == 1 ? full / 2 : full - 1;
                /* A state at the very start belongs to no shape yet. */
                if (full > 0 && rows[row].savers != RANKS && step == 0)
                    step = 1;
                ratio[k] = ratio_at(&d, rows[row].savers, step, &batch[k],
                                    &resume[k]);
                if (ratio[k] > ratio[most])
                    most = k;
            }
            printf("  %-22s %5s %9.0f %9.0f   %5.2f %5.2f %5.2f",
                   rows[row].name, sizes[size].name, batch[most],
                   resume[most], ratio[0], ratio[1], ratio[2]);
            if (judged) {
                verdict(ratio[most] <= 4);
                if (ratio[most] > worst)
                    worst = ratio[most];
            } else
                printf("  of 125\n");
        }
    printf("\n  worst ratio %.2f\n\n", worst);
}

int main(void)
{
    print_machine();
    print_memory();
    print_resume();
    printf("figures: %u bars met, %u missed\n", met, missed);
    return 0;
}

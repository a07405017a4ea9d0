/* memory.c - the memory of a sampler, in bytes. */
#define _POSIX_C_SOURCE 200809L

#include "bench.h"

#include <stdio.h>
#include <string.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

/* Resident memory, for pages of 4 KiB; -1 where /proc is missing. */
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

/* Bytes in use on the heap, or -1 where the C library has no mallinfo2. */
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

enum { BATCH = 256, RANKS = 8 };

static void begin(statesampler *s, uint64_t n, uint32_t order)
{
    statesampler_desc d;
    memset(&d, 0, sizeof d);
    d.num_samples = n;
    d.world_size = RANKS;
    d.batch_size = BATCH;
    d.order = order;
    d.chunk_size = 1000;
    d.window = 16;
    must(statesampler_init(s, &d) == 0, "init");
}

/* Calls every function of the core, in every order. */
static void use_all(uint64_t n)
{
    static uint64_t out[BATCH];
    statesampler s;
    statesampler_place place;
    unsigned char state[STATESAMPLER_STATE_BYTES];
    uint32_t order, k;
    size_t count;
    for (order = 0; order < 4; order++) {
        begin(&s, n, order);
        for (k = 0; k < 200; k++)
            must(statesampler_next(&s, out, &count) == 1 && count == BATCH,
                 "next");
        must(statesampler_at(&s, n / (RANKS * BATCH) / 2, out, &count) == 1 &&
                 count == BATCH,
             "at");
        if (order != STATESAMPLER_ORDER_REPLACEMENT)
            must(statesampler_locate(&s, n / 3, &place) == 0, "locate");
        must(statesampler_save(&s, state, sizeof state) == 0, "save");
        must(statesampler_load(&s, state, sizeof state) == 0, "load");
    }
}

/* The same for mixes of three orders, with every stop rule. */
static void use_mix(uint64_t n)
{
    enum { SOURCES = 3 };
    static uint64_t out[BATCH];
    static unsigned char state[1024];
    static statesampler_source sources[SOURCES];
    statesampler_mix mix;
    statesampler_place place;
    uint32_t stop, k, source;
    uint64_t turn;
    size_t count;
    for (stop = 0; stop < 4; stop++) {
        for (k = 0; k < SOURCES; k++) {
            begin(&sources[k].sampler, n, k);
            sources[k].weight = 1 + k;
        }
        must(statesampler_mix_init(&mix, sources, SOURCES, stop) == 0,
             "mix_init");
        for (k = 0; k < 200; k++)
            must(statesampler_mix_next(&mix, out, &count, &source) == 1 &&
                     count == BATCH,
                 "mix_next");
        must(statesampler_mix_at(&mix, n / (RANKS * BATCH), out, &count,
                                 &source) == 1,
             "mix_at");
        must(statesampler_mix_seek(&mix, 100) == 0, "mix_seek");
        (void)statesampler_mix_locate(&mix, 0, n / 3, &turn, &place);
        must(statesampler_mix_save(&mix, state, sizeof state) == 0, "mix_save");
        must(statesampler_mix_load(&mix, state,
                                   statesampler_mix_state_bytes(&mix)) == 0,
             "mix_load");
    }
}

int main(void)
{
    static const char heap_figure[] = "heap used by all calls of the core";
    static const char resident_figure[] =
        "resident memory; n = 10^9 minus n = 10^6";
    double heap, more_heap;
    long resident, more_resident;
    row_alone("a statesampler", sizeof(statesampler), "bytes", 512);
    row_alone("its state", STATESAMPLER_STATE_BYTES, "bytes", 112);
    row_plain("a statesampler_perm", sizeof(statesampler_perm), "bytes");
    row_plain("a statesampler_audit", sizeof(statesampler_audit), "bytes");

    /* A warm-up, so that the pages of code and stdio are resident. */
    use_all(1000000);
    use_mix(1000000);
    resident_kib();
    heap = heap_bytes();
    resident = resident_kib();
    use_all(1000000000);
    use_mix(1000000000);
    more_heap = heap_bytes() - heap;
    more_resident = resident_kib() - resident;
    if (heap < 0)
        row_missing(heap_figure, "this C library has no mallinfo2");
    else
        row_alone(heap_figure, more_heap, "bytes", 0);
    if (resident < 0)
        row_missing(resident_figure, "this system has no /proc/self/statm");
    else
        row_alone(resident_figure, (double)more_resident, "KiB", 64);
    return 0;
}

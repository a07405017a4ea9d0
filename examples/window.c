/* window.c - reading a chunked file in a shuffled order, a few chunks at once.

       make examples && build/window

   The data lies in chunks, as it does in compressed shards or in objects of a
   store: to get at one record its whole chunk must be read. In the order
   WINDOW, reading positions one after another needs at most `window` chunks
   at any time, and each chunk is read from the file once per epoch. The same
   cache under the order SHUFFLE reads nearly a chunk per record. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"

#define SAMPLES 10050u
#define CHUNK 100u
#define CHUNKS ((SAMPLES + CHUNK - 1) / CHUNK) /* the last one is short */
#define WINDOW 4u
#define RECORD 32u
#define BATCH 50u

/* As many chunks as the order promises to need, and no more; what was not
   used for longest makes room. */
typedef struct cache {
    FILE *file;
    uint64_t chunk[WINDOW], used[WINDOW], clock, reads;
    unsigned char bytes[WINDOW][CHUNK * RECORD];
} cache;

static void make_record(uint64_t index, unsigned char record[RECORD])
{
    uint32_t i;

    for (i = 0; i < RECORD; i++) {
        record[i] = (unsigned char)((index + 1) * 40503 >> i % 16);
    }
}

static uint32_t records_of(uint64_t chunk)
{
    return chunk < CHUNKS - 1 ? CHUNK : SAMPLES - CHUNK * (CHUNKS - 1);
}

static const unsigned char *get(cache *c, uint64_t index)
{
    uint64_t chunk = index / CHUNK, oldest = 0, i;
    size_t records = records_of(chunk);

    for (i = 0; i < WINDOW && c->chunk[i] != chunk; i++) {
        if (c->used[i] < c->used[oldest]) {
            oldest = i;
        }
    }
    if (i == WINDOW) {
        i = oldest;
        c->chunk[i] = STATESAMPLER_NONE;
        if (fseek(c->file, (long)(chunk * CHUNK * RECORD), SEEK_SET) != 0 ||
            fread(c->bytes[i], RECORD, records, c->file) != records) {
            return NULL;
        }
        c->chunk[i] = chunk;
        c->reads++;
    }
    c->used[i] = ++c->clock;
    return c->bytes[i] + index % CHUNK * RECORD;
}

/* Two epochs in one order. A chunk is open from its first record to its last
   in the epoch; `peak` is the most that were open at once. */
static int read_epochs(FILE *file, uint32_t order, uint64_t *reads,
                       uint64_t *peak)
{
    const statesampler_desc desc = {
        .num_samples = SAMPLES,
        .seed = 5,
        .batch_size = BATCH,
        .order = order,
        .chunk_size = CHUNK,
        .window = WINDOW};
    static cache c;
    static uint32_t left[CHUNKS];
    unsigned char expected[RECORD];
    const unsigned char *record;
    uint64_t batch[BATCH], open, epoch, chunk;
    statesampler s;
    size_t i, count;

    memset(&c, 0, sizeof c);
    c.file = file;
    for (i = 0; i < WINDOW; i++) {
        c.chunk[i] = STATESAMPLER_NONE;
    }
    if (statesampler_init(&s, &desc) != STATESAMPLER_OK) {
        return 0;
    }
    for (*peak = 0, epoch = 0; epoch < 2; epoch++) {
        for (chunk = 0; chunk < CHUNKS; chunk++) {
            left[chunk] = records_of(chunk);
        }
        open = 0;
        while (statesampler_next(&s, batch, &count)) {
            for (i = 0; i < count; i++) {
                make_record(batch[i], expected);
                record = get(&c, batch[i]);
                if (record == NULL || memcmp(record, expected, RECORD) != 0) {
                    return 0;
                }
                chunk = batch[i] / CHUNK;
                open += left[chunk] == records_of(chunk);
                *peak = open > *peak ? open : *peak;
                open -= --left[chunk] == 0;
            }
        }
        for (chunk = 0; chunk < CHUNKS; chunk++) {
            if (left[chunk] != 0) {
                return 0;
            }
        }
    }
    *reads = c.reads / 2;
    return 1;
}

int main(void)
{
    static const struct {
        const char *name;
        uint32_t order;
    } orders[] = {{"SEQUENTIAL", STATESAMPLER_ORDER_SEQUENTIAL},
                  {"WINDOW", STATESAMPLER_ORDER_WINDOW},
                  {"SHUFFLE", STATESAMPLER_ORDER_SHUFFLE}};
    unsigned char record[RECORD];
    uint64_t i, reads = 0, peak = 0, good = 1;
    FILE *file = tmpfile();

    for (i = 0; i < SAMPLES && file != NULL; i++) {
        make_record(i, record);
        good = good && fwrite(record, RECORD, 1, file) == 1;
    }
    if (file == NULL || !good || fflush(file) != 0) {
        perror("window: cannot write a temporary file");
        return 1;
    }
    printf("%u records in %u chunks, a cache of %u chunks\n\n", SAMPLES,
           CHUNKS, WINDOW);
    printf("order       chunks read per epoch  open at once\n");
    for (i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        good = good && read_epochs(file, orders[i].order, &reads, &peak);
        printf("%-10s  %21" PRIu64 "  %12" PRIu64 "\n", orders[i].name, reads,
               peak);
        if (orders[i].order == STATESAMPLER_ORDER_WINDOW) {
            good = good && reads == CHUNKS && peak <= WINDOW;
        }
    }
    fclose(file);
    if (!good) {
        printf("window: FAILED\n");
        return 1;
    }
    printf("\nwindow: each chunk read once, at most %u open\n", WINDOW);
    return 0;
}

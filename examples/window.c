/* window.c - reads a chunked file in a shuffled order, few chunks at a time.

       make examples && build/window

   To read one record of a compressed shard, the whole chunk must be read. With
   the order WINDOW, at most `window` chunks are needed at any time, and each
   chunk is read once per epoch. With the order SHUFFLE, the same cache reads
   almost a chunk per record. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"

#define SAMPLES 10050u
#define CHUNK 100u
#define CHUNKS ((SAMPLES + CHUNK - 1) / CHUNK) /* the last one is short */
#define WINDOW 4u
#define RECORD 32u
#define BATCH 50u

static const char usage[] =
    "usage: window\n\n"
    "Reads a chunked file in three orders through a cache of 4 chunks.\n"
    "Counts how often a chunk is read.\n";

/* Holds WINDOW chunks and drops the least recently used. */
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

/* A record, or NULL if it cannot be read. */
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

/* Reads one epoch and counts down the records of each chunk in `left`. A chunk
   is open from its first record to its last; *peak is the most open at once.
   Returns 0 if a record is wrong. */
static int read_epoch(cache *c, statesampler *s, uint32_t *left, uint64_t *peak)
{
    unsigned char expected[RECORD];
    const unsigned char *record;
    uint64_t batch[BATCH], open = 0, chunk;
    size_t i, count;

    while (statesampler_next(s, batch, &count)) {
        for (i = 0; i < count; i++) {
            make_record(batch[i], expected);
            record = get(c, batch[i]);
            if (record == NULL || memcmp(record, expected, RECORD) != 0) {
                return 0;
            }
            chunk = batch[i] / CHUNK;
            open += left[chunk] == records_of(chunk);
            *peak = open > *peak ? open : *peak;
            open -= --left[chunk] == 0;
        }
    }
    return 1;
}

/* Reads two epochs in one order. Sets *reads to the chunks read per epoch and
   *peak to the most open at once. Returns 0 if a record was wrong, missing or
   repeated. */
static int read_epochs(FILE *file, uint32_t order, uint64_t *reads,
                       uint64_t *peak)
{
    const statesampler_desc desc = {
        .num_samples = SAMPLES,
        .seed = 5,
        .batch_size = BATCH,
        .order = order,
        .chunk_size = CHUNK,
        .window = WINDOW,
    };
    static cache c;
    uint32_t left[CHUNKS];
    uint64_t epoch, chunk;
    statesampler s;
    size_t i;

    memset(&c, 0, sizeof c);
    c.file = file;
    for (i = 0; i < WINDOW; i++) {
        c.chunk[i] = STATESAMPLER_NONE;
    }
    *peak = 0;
    example_must(statesampler_init(&s, &desc));
    for (epoch = 0; epoch < 2; epoch++) {
        for (chunk = 0; chunk < CHUNKS; chunk++) {
            left[chunk] = records_of(chunk);
        }
        if (!read_epoch(&c, &s, left, peak)) {
            return 0;
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

/* The data, in a temporary file. */
static FILE *make_file(void)
{
    unsigned char record[RECORD];
    FILE *file = tmpfile();
    uint64_t i;

    for (i = 0; i < SAMPLES && file != NULL; i++) {
        make_record(i, record);
        fwrite(record, RECORD, 1, file);
    }
    if (file == NULL || fflush(file) != 0 || ferror(file)) {
        example_fail(1, "cannot write a temporary file: %s", strerror(errno));
    }
    return file;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        uint32_t order;
    } orders[] = {
        {"SEQUENTIAL", STATESAMPLER_ORDER_SEQUENTIAL},
        {"WINDOW", STATESAMPLER_ORDER_WINDOW},
        {"SHUFFLE", STATESAMPLER_ORDER_SHUFFLE},
    };
    uint64_t i, reads[3] = {0}, peak[3] = {0};
    int good = 1;
    FILE *file;

    example_begin(argc, argv, 0, usage);
    file = make_file();
    printf("%u records in %u chunks, a cache of %u chunks\n\n", SAMPLES, CHUNKS,
           WINDOW);
    printf("order       chunks read per epoch  open at once\n");
    for (i = 0; i < 3; i++) {
        good = good && read_epochs(file, orders[i].order, &reads[i], &peak[i]);
        printf("%-10s  %21" PRIu64 "  %12" PRIu64 "\n", orders[i].name,
               reads[i], peak[i]);
    }
    fclose(file);
    printf("\n");
    return example_end(good && reads[1] == CHUNKS && peak[1] <= WINDOW,
                       "WINDOW reads each of %u chunks once with at most %u "
                       "open, SHUFFLE reads %" PRIu64,
                       CHUNKS, WINDOW, reads[2]);
}

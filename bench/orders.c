/* orders.c - the time of next in every order, partition and tail compared with
   SHUFFLE, and with BLOCKED after the number of ranks has changed. Batches of
   256 for one of eight ranks. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 256, RANKS = 8 };

typedef struct order {
    const char *figure;
    double bar;
    uint32_t order, partition, tail;
    uint64_t chunk_size, window;
    uint32_t later; /* ranks after a change, 0 if there is none */
} order;

/* Continues an epoch that RANKS ranks began. */
static void change_ranks(batches *b, uint32_t ranks, uint64_t *out)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    statesampler_desc desc = b->desc;
    must(statesampler_next(&b->sampler, NULL, NULL) == 1, "next");
    must(statesampler_save(&b->sampler, state, sizeof state) == 0, "save");
    desc.world_size = ranks;
    desc.rank = ranks - 1;
    batches_init(b, &desc, out);
    must(statesampler_load(&b->sampler, state, sizeof state) == 0, "load");
    b->first = statesampler_step(&b->sampler);
}

static contender begin(batches *b, const order *o, uint64_t *out)
{
    statesampler_desc d;
    memset(&d, 0, sizeof d);
    d.num_samples = 100000000;
    d.seed = 1;
    d.stream = 3;
    d.rank = 5;
    d.world_size = RANKS;
    d.batch_size = BATCH;
    d.order = o->order;
    d.partition = o->partition;
    d.tail = o->tail;
    d.chunk_size = o->chunk_size;
    d.window = o->window;
    batches_init(b, &d, out);
    if (o->later != 0)
        change_ranks(b, o->later, out);
    return batches_contender(b);
}

/* The others are compared with the first. */
static const order orders[] = {
    {"SHUFFLE", NO_BAR, STATESAMPLER_ORDER_SHUFFLE,
     STATESAMPLER_PARTITION_INTERLEAVED, STATESAMPLER_TAIL_PAD, 0, 0, 0},
    {"next; SEQUENTIAL", 3, STATESAMPLER_ORDER_SEQUENTIAL,
     STATESAMPLER_PARTITION_INTERLEAVED, STATESAMPLER_TAIL_PAD, 0, 0, 0},
    {"next; WINDOW of 8 chunks of 1000", 12, STATESAMPLER_ORDER_WINDOW,
     STATESAMPLER_PARTITION_INTERLEAVED, STATESAMPLER_TAIL_PAD, 1000, 8, 0},
    {"next; WINDOW of 100 chunks of 1000", 12, STATESAMPLER_ORDER_WINDOW,
     STATESAMPLER_PARTITION_INTERLEAVED, STATESAMPLER_TAIL_PAD, 1000, 100, 0},
    {"next; WINDOW of 10 chunks of 100", 12, STATESAMPLER_ORDER_WINDOW,
     STATESAMPLER_PARTITION_INTERLEAVED, STATESAMPLER_TAIL_PAD, 100, 10, 0},
    {"next; REPLACEMENT", 8, STATESAMPLER_ORDER_REPLACEMENT,
     STATESAMPLER_PARTITION_INTERLEAVED, STATESAMPLER_TAIL_PAD, 0, 0, 0},
    {"next; BLOCKED", 3, STATESAMPLER_ORDER_SHUFFLE,
     STATESAMPLER_PARTITION_BLOCKED, STATESAMPLER_TAIL_PAD, 0, 0, 0},
    {"next; CARRY", 3, STATESAMPLER_ORDER_SHUFFLE,
     STATESAMPLER_PARTITION_INTERLEAVED, STATESAMPLER_TAIL_CARRY, 0, 0, 0},
    {"next; BLOCKED; 8 ranks; then 3", 8, STATESAMPLER_ORDER_SHUFFLE,
     STATESAMPLER_PARTITION_BLOCKED, STATESAMPLER_TAIL_PAD, 0, 0, 3},
    {"next; BLOCKED; 8 ranks; then 4", 8, STATESAMPLER_ORDER_SHUFFLE,
     STATESAMPLER_PARTITION_BLOCKED, STATESAMPLER_TAIL_PAD, 0, 0, 4},
};

int main(void)
{
    enum { ORDERS = sizeof orders / sizeof orders[0] };
    uint64_t *out = array_of(ARRAY);
    batches b[ORDERS];
    contender c[ORDERS];
    int i;
    for (i = 0; i < ORDERS; i++)
        c[i] = begin(&b[i], &orders[i], out);
    race(c, ORDERS, 8);
    for (i = 1; i < ORDERS; i++)
        row(orders[i].figure, c[i].ns / ARRAY, "ns/index", orders[0].figure,
            c[0].ns / ARRAY, orders[i].bar);
    free(out);
    return 0;
}

/* resume.c - the time of a resume (init, load and the first batch), compared
   with a batch of an uninterrupted run, for every order, partition, tail, size
   and position. The worst is a row; all are in resume.csv:
       resume,ORDER,N,BATCH NS,RESUME NS,START,MIDDLE,END,VERDICT
   START, MIDDLE and END are the ratios at the first, the middle and the last
   full step of the epoch; the times are those of the worst. */
#include "bench.h"

#include <stdio.h>
#include <string.h>

/* Timed together, because one may be shorter than a clock tick. */
enum { BATCH = 256, RANKS = 8, IN_A_ROW = 8 };

static const double bar = 4;

typedef struct place {
    statesampler_desc desc;
    unsigned char state[STATESAMPLER_STATE_BYTES];
    statesampler before, going; /* the uninterrupted run */
    uint64_t expected[BATCH];   /* the batch to resume at */
    size_t count;
    uint64_t out[BATCH];
} place;

static void going_before(void *data)
{
    place *p = data;
    memcpy(&p->going, &p->before, sizeof p->going);
}

/* May cross the end of the epoch, where next returns 0. */
static void going_run(void *data)
{
    place *p = data;
    int done = 0;
    size_t count;
    while (done < IN_A_ROW)
        done += statesampler_next(&p->going, p->out, &count);
}

static void resume_run(void *data)
{
    place *p = data;
    statesampler s;
    int k, code = 0;
    size_t count = 0, samples = 0;
    for (k = 0; k < IN_A_ROW; k++) {
        code |= statesampler_init(&s, &p->desc);
        code |= statesampler_load(&s, p->state, sizeof p->state);
        code |= statesampler_next(&s, p->out, &count) != 1;
        samples += count;
    }
    must(code == 0 && samples == IN_A_ROW * p->count, "a resume");
}

static void resume_check(void *data)
{
    const place *p = data;
    must(memcmp(p->out, p->expected, p->count * sizeof p->out[0]) == 0,
         "the batch after a resume");
}

/* Makes a state that `savers` ranks saved at this step, and an uninterrupted
   run that starts a few steps earlier if it can. */
static void prepare(place *p, uint32_t savers, uint64_t step)
{
    statesampler_desc saver = p->desc;
    statesampler s;
    size_t count;
    saver.world_size = savers;
    saver.rank = 0;
    must(statesampler_init(&s, &saver) == 0, "init");
    must(statesampler_seek(&s, step) == 0, "seek");
    must(statesampler_save(&s, p->state, sizeof p->state) == 0, "save");

    must(statesampler_init(&p->before, &p->desc) == 0, "init");
    if (savers != p->desc.world_size) {
        must(statesampler_load(&p->before, p->state, sizeof p->state) == 0,
             "load");
    } else {
        must(statesampler_seek(&p->before,
                               step < IN_A_ROW / 2 ? 0 : step - IN_A_ROW / 2) ==
                 0,
             "seek");
    }
    memcpy(&s, &p->before, sizeof s);
    while (statesampler_step(&s) < step)
        must(statesampler_next(&s, NULL, NULL) == 1, "a batch before");
    must(statesampler_next(&s, p->expected, &p->count) == 1 && p->count > 0,
         "the batch to resume at");
    must(statesampler_at(&p->before, step, p->out, &count) == 1 &&
             count == p->count,
         "at");
    resume_check(p);
}

typedef struct cost {
    double batch, resume; /* ns */
} cost;

static double ratio(cost c)
{
    return c.resume / c.batch;
}

static cost cost_at(place *p, uint32_t savers, uint64_t step)
{
    contender c[2] = {
        {going_run, going_before, NULL, NULL, 0},
        {resume_run, NULL, resume_check, NULL, 0},
    };
    cost found;
    prepare(p, savers, step);
    c[0].data = p;
    c[1].data = p;
    race(c, 2, 0.03);
    found.batch = c[0].ns / (double)IN_A_ROW;
    found.resume = c[1].ns / (double)IN_A_ROW;
    return found;
}

/* savers: the number of ranks that saved the state. */
typedef struct shape {
    const char *name;
    uint32_t order, partition, tail, savers;
} shape;

#define SHUFFLE STATESAMPLER_ORDER_SHUFFLE
#define SEQUENTIAL STATESAMPLER_ORDER_SEQUENTIAL
#define WINDOW STATESAMPLER_ORDER_WINDOW
#define REPLACEMENT STATESAMPLER_ORDER_REPLACEMENT
#define INTERLEAVED STATESAMPLER_PARTITION_INTERLEAVED
#define BLOCKED STATESAMPLER_PARTITION_BLOCKED
#define PAD STATESAMPLER_TAIL_PAD
#define CARRY STATESAMPLER_TAIL_CARRY

static const shape shapes[] = {
    {"SHUFFLE", SHUFFLE, INTERLEAVED, PAD, RANKS},
    {"SHUFFLE BLOCKED", SHUFFLE, BLOCKED, PAD, RANKS},
    {"SHUFFLE CARRY", SHUFFLE, INTERLEAVED, CARRY, RANKS},
    {"SHUFFLE saved by 6", SHUFFLE, INTERLEAVED, PAD, 6},
    {"SHUFFLE BLOCKED by 6", SHUFFLE, BLOCKED, PAD, 6},
    {"SEQUENTIAL", SEQUENTIAL, INTERLEAVED, PAD, RANKS},
    {"SEQUENTIAL CARRY", SEQUENTIAL, INTERLEAVED, CARRY, RANKS},
    {"SEQUENTIAL BLOCKED", SEQUENTIAL, BLOCKED, PAD, RANKS},
    {"WINDOW", WINDOW, INTERLEAVED, PAD, RANKS},
    {"WINDOW CARRY", WINDOW, INTERLEAVED, CARRY, RANKS},
    {"WINDOW BLOCKED", WINDOW, BLOCKED, PAD, RANKS},
    {"REPLACEMENT", REPLACEMENT, INTERLEAVED, PAD, RANKS},
    {"REPLACEMENT CARRY", REPLACEMENT, INTERLEAVED, CARRY, RANKS},
    {"REPLACEMENT BLOCKED", REPLACEMENT, BLOCKED, PAD, RANKS},
};

typedef struct size {
    const char *name;
    uint64_t n;
} size;

static const size sizes[] = {
    {"10^3", 1000},
    {"10^6", 1000000},
    {"10^8", 100000000},
    {"10^9", 1000000000},
    {"2^40", (uint64_t)1 << 40},
    {"2^62", (uint64_t)1 << 62},
};

/* The first, the middle and the last full step of an epoch. */
static uint64_t step_of(int position, const shape *sh, uint64_t full)
{
    if (full == 0)
        return 0;
    /* A state at step 0 does not depend on the number of ranks. */
    if (position == 0)
        return sh->savers == RANKS ? 0 : 1;
    return position == 1 ? full / 2 : full - 1;
}

/* Measures and prints the costs at three positions; returns the worst's. */
static int measure(const shape *sh, const size *si, cost *costs, int judged)
{
    static place p;
    const char *answer = "batches of 125";
    int k, worst = 0;
    memset(&p, 0, sizeof p);
    p.desc.num_samples = si->n;
    p.desc.seed = 7;
    p.desc.rank = RANKS - 1;
    p.desc.world_size = RANKS;
    p.desc.batch_size = BATCH;
    p.desc.order = sh->order;
    p.desc.partition = sh->partition;
    p.desc.tail = sh->tail;
    p.desc.chunk_size = 1000;
    p.desc.window = 16;
    for (k = 0; k < 3; k++) {
        costs[k] =
            cost_at(&p, sh->savers, step_of(k, sh, si->n / (RANKS * BATCH)));
        if (ratio(costs[k]) > ratio(costs[worst]))
            worst = k;
    }
    if (judged)
        answer = ratio(costs[worst]) > bar ? "MISSED" : "met";
    printf("resume,%s,%s,%.0f,%.0f,%.2f,%.2f,%.2f,%s\n", sh->name, si->name,
           costs[worst].batch, costs[worst].resume, ratio(costs[0]),
           ratio(costs[1]), ratio(costs[2]), answer);
    return worst;
}

int main(void)
{
    cost usual = {0, 1}, most = {1, 0}, costs[3];
    size_t sh, si;
    for (sh = 0; sh < sizeof shapes / sizeof shapes[0]; sh++)
        for (si = 0; si < sizeof sizes / sizeof sizes[0]; si++) {
            /* With 10^3 samples a rank has 125, so that only CARRY has full
               batches; the others are shown without a verdict. */
            int judged =
                sizes[si].n >= RANKS * BATCH || shapes[sh].tail == CARRY;
            int worst = measure(&shapes[sh], &sizes[si], costs, judged);
            if (judged && ratio(costs[worst]) > ratio(most))
                most = costs[worst];
            if (sh == 0 && sizes[si].n == 100000000)
                usual = costs[1];
        }
    row("resume; shuffle of 10^8; middle of an epoch", usual.resume, "ns",
        "a batch", usual.batch, bar);
    row("resume; worst of all orders; n and positions", most.resume, "ns",
        "a batch", most.batch, bar);
    return 0;
}

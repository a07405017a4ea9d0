/* resume.c - what a resume costs: init + load + the first batch, against a
   batch of a run that goes on, at every order, partition, tail, size and
   position. The worst is a row; all are in resume.csv:
       resume,ORDER,N,BATCH NS,RESUME NS,START,MIDDLE,END,VERDICT
   with the ratios at the first step, in the middle and at the last full step
   of the epoch, and the times at the worst of these. */
#include "bench.h"

#include <stdio.h>
#include <string.h>

/* Some in a row, because a clock's tick may be as long as one. */
enum { BATCH = 256, RANKS = 8, IN_A_ROW = 8 };

static const double bar = 4;

typedef struct place {
    statesampler_desc desc;
    unsigned char state[STATESAMPLER_STATE_BYTES];
    statesampler before, going; /* the run that was not interrupted */
    uint64_t expected[BATCH];   /* the batch to resume at */
    size_t count;
    uint64_t out[BATCH];
} place;

static void going_before(void *data)
{
    place *p = data;
    memcpy(&p->going, &p->before, sizeof p->going);
}

/* Batches in a row, the end of the epoch among them where it falls so. */
static void going_run(void *data)
{
    place *p = data;
    int batches = 0;
    size_t count;
    while (batches < IN_A_ROW)
        batches += statesampler_next(&p->going, p->out, &count);
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

/* A state that savers ranks wrote at a step, and a run that comes from some
   steps before, where the shape has any. */
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
        must(statesampler_seek(&p->before, step < IN_A_ROW / 2
                                               ? 0
                                               : step - IN_A_ROW / 2) == 0,
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

static double ratio_at(place *p, uint32_t savers, uint64_t step,
                       double *batch, double *resume)
{
    contender c[2] = {{going_run, going_before, NULL, NULL, 0},
                      {resume_run, NULL, resume_check, NULL, 0}};
    prepare(p, savers, step);
    c[0].data = p;
    c[1].data = p;
    race(c, 2, 0.03);
    *batch = c[0].ns / IN_A_ROW;
    *resume = c[1].ns / IN_A_ROW;
    return *resume / *batch;
}

int main(void)
{
    static const struct {
        const char *name;
        uint32_t order, partition, tail, savers;
    } rows[] = {
        {"SHUFFLE", STATESAMPLER_ORDER_SHUFFLE, STATESAMPLER_PARTITION_INTERLEAVED,
         STATESAMPLER_TAIL_PAD, RANKS},
        {"SHUFFLE BLOCKED", STATESAMPLER_ORDER_SHUFFLE, STATESAMPLER_PARTITION_BLOCKED,
         STATESAMPLER_TAIL_PAD, RANKS},
        {"SHUFFLE CARRY", STATESAMPLER_ORDER_SHUFFLE, STATESAMPLER_PARTITION_INTERLEAVED,
         STATESAMPLER_TAIL_CARRY, RANKS},
        {"SHUFFLE saved by 6", STATESAMPLER_ORDER_SHUFFLE,
         STATESAMPLER_PARTITION_INTERLEAVED, STATESAMPLER_TAIL_PAD, 6},
        {"SHUFFLE BLOCKED by 6", STATESAMPLER_ORDER_SHUFFLE, STATESAMPLER_PARTITION_BLOCKED,
         STATESAMPLER_TAIL_PAD, 6},
        {"SEQUENTIAL", STATESAMPLER_ORDER_SEQUENTIAL, STATESAMPLER_PARTITION_INTERLEAVED,
         STATESAMPLER_TAIL_PAD, RANKS},
        {"SEQUENTIAL CARRY", STATESAMPLER_ORDER_SEQUENTIAL, STATESAMPLER_PARTITION_INTERLEAVED,
         STATESAMPLER_TAIL_CARRY, RANKS},
        {"SEQUENTIAL BLOCKED", STATESAMPLER_ORDER_SEQUENTIAL, STATESAMPLER_PARTITION_BLOCKED,
         STATESAMPLER_TAIL_PAD, RANKS},
        {"WINDOW", STATESAMPLER_ORDER_WINDOW, STATESAMPLER_PARTITION_INTERLEAVED,
         STATESAMPLER_TAIL_PAD, RANKS},
        {"WINDOW CARRY", STATESAMPLER_ORDER_WINDOW, STATESAMPLER_PARTITION_INTERLEAVED,
         STATESAMPLER_TAIL_CARRY, RANKS},
        {"WINDOW BLOCKED", STATESAMPLER_ORDER_WINDOW, STATESAMPLER_PARTITION_BLOCKED,
         STATESAMPLER_TAIL_PAD, RANKS},
        {"REPLACEMENT", STATESAMPLER_ORDER_REPLACEMENT, STATESAMPLER_PARTITION_INTERLEAVED,
         STATESAMPLER_TAIL_PAD, RANKS},
        {"REPLACEMENT CARRY", STATESAMPLER_ORDER_REPLACEMENT,
         STATESAMPLER_PARTITION_INTERLEAVED,
         STATESAMPLER_TAIL_CARRY, RANKS},
        {"REPLACEMENT BLOCKED", STATESAMPLER_ORDER_REPLACEMENT,
         STATESAMPLER_PARTITION_BLOCKED, STATESAMPLER_TAIL_PAD, RANKS}
    };
    static const struct {
        const char *name;
        uint64_t n;
    } sizes[] = {
        {"10^3", 1000}, {"10^6", 1000000}, {"10^8", 100000000},
        {"10^9", 1000000000}, {"2^40", (uint64_t)1 << 40},
        {"2^62", (uint64_t)1 << 62}
    };
    double worst = 0, worst_batch = 0, worst_resume = 0;
    double usual_batch = 0, usual_resume = 0;
    size_t r, size;
    for (r = 0; r < sizeof rows / sizeof rows[0]; r++)
        for (size = 0; size < sizeof sizes / sizeof sizes[0]; size++) {
            static place p;
            double ratio[3], batch[3], resume[3];
            uint64_t full;
            int k, most = 0, judged;
            memset(&p.desc, 0, sizeof p.desc);
            p.desc.num_samples = sizes[size].n;
            p.desc.seed = 7;
            p.desc.rank = RANKS - 1;
            p.desc.world_size = RANKS;
            p.desc.batch_size = BATCH;
            p.desc.order = rows[r].order;
            p.desc.partition = rows[r].partition;
            p.desc.tail = rows[r].tail;
            p.desc.chunk_size = 1000;
            p.desc.window = 16;
            full = p.desc.num_samples / (RANKS * BATCH);
            /* Of 10^3 samples a rank has 125, so that only CARRY has whole
               batches there; the others are shown and not judged. */
            judged = full > 0 || p.desc.tail == STATESAMPLER_TAIL_CARRY;
            for (k = 0; k < 3; k++) {
                uint64_t step = 0;
                if (full > 0 && k > 0)
                    step = k == 1 ? full / 2 : full - 1;
                /* A state at the very start belongs to no shape yet. */
                if (full > 0 && rows[r].savers != RANKS && step == 0)
                    step = 1;
                ratio[k] = ratio_at(&p, rows[r].savers, step, &batch[k],
                                    &resume[k]);
                if (ratio[k] > ratio[most])
                    most = k;
            }
            printf("resume,%s,%s,%.0f,%.0f,%.2f,%.2f,%.2f,%s\n", rows[r].name,
                   sizes[size].name, batch[most], resume[most], ratio[0],
                   ratio[1], ratio[2],
                   !judged                ? "batches of 125"
                   : ratio[most] <= bar ? "met"
                                          : "MISSED");
            if (judged && ratio[most] > worst) {
                worst = ratio[most];
                worst_batch = batch[most];
                worst_resume = resume[most];
            }
            if (r == 0 && sizes[size].n == 100000000) {
                usual_batch = batch[1];
                usual_resume = resume[1];
            }
        }
    row("resume; shuffle of 10^8; middle of an epoch", usual_resume, "ns",
        "a batch", usual_batch, bar);
    row("resume; worst of all orders; n and positions", worst_resume, "ns",
        "a batch", worst_batch, bar);
    return 0;
}

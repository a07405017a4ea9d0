/* pack.c - the cost of packing, and what it leaves empty: plans of 10,000
   samples, and a budget of eight mean lengths. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#include "examples/extras/pack.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    SAMPLES = 10000000,
    PLAN = 10000,
    UNIT = 341,
    MEAN = 3 * UNIT / 2,
    BUDGET = 8 * MEAN,
    PLANS = 10,
    READS = 500
};
#define TOKENS ((size_t)1 << 25) /* in a file */

typedef struct packing {
    packer p;
    uint64_t words[PACK_WORDS(PLAN, BUDGET)], out[PLAN];
    uint32_t numbers[FIT_NUMBERS(PLAN, BUDGET)];
    size_t samples; /* that the last run has served */
    double used, room;
} packing;

/* Uniform in each range of UNIT lengths, and in each half as often as in the
   one before. */
static uint16_t *make_lengths(void)
{
    uint16_t *lengths = malloc(SAMPLES * sizeof *lengths);
    uint64_t i, x, length;
    must(lengths != NULL, "memory");
    for (i = 0; i < SAMPLES; i++) {
        x = splitmix(i);
        length = 1 + (x >> 32) % UNIT;
        for (; x % 2 == 0 && length + UNIT <= BUDGET; x /= 2)
            length += UNIT;
        lengths[i] = (uint16_t)length;
    }
    return lengths;
}

static void begin(packing *all, const uint16_t *lengths)
{
    statesampler_desc d;
    memset(&d, 0, sizeof d);
    d.num_samples = SAMPLES;
    d.batch_size = PLAN;
    must(pack_init(&all->p, &d, lengths, 2, SAMPLES, BUDGET, all->words,
                   all->numbers) == 0,
         "init");
}

static void plans_run(void *data)
{
    packing *all = data;
    int i;
    for (i = 0; i < PLANS; i++)
        pack_pass(&all->p, all->p.plan.bins);
}

/* Each plan has all its samples, none twice, in packs within the budget. */
static void plans_check(void *data)
{
    packing *all = data;
    const fit *plan = &all->p.plan;
    const uint16_t *lengths = all->p.lengths;
    uint32_t b, i, used;
    uint64_t sum = 0;
    for (b = 0; b < plan->bins; b++) {
        for (used = 0, i = plan->ends[b]; i < plan->ends[b + 1]; i++) {
            used += lengths[all->p.samples[plan->order[i]]];
            sum += plan->order[i];
        }
        must(used <= BUDGET, "a pack is too full");
        all->used += used;
    }
    all->room += (double)BUDGET * plan->bins;
    must(plan->ends[b] == PLAN && sum == (uint64_t)PLAN * (PLAN - 1) / 2,
         "samples are missing");
}

static void packs_run(void *data)
{
    packing *all = data;
    for (all->samples = 0; all->samples < PLANS * PLAN;)
        all->samples += pack_next(&all->p, 0, 1, all->out);
}

/* A resume, as far as it makes the plan. */
static void resume_run(void *data)
{
    packing *all = data;
    uint64_t state[PACK_STATE];
    pack_save(&all->p, state);
    must(pack_load(&all->p, state, PACK_STATE) == 0, "load");
}

/* --- Reading the tokens --- */

typedef struct reading {
    packing *packs;
    int file, cold;
    uint16_t tokens[BUDGET];
} reading;

/* A sample's tokens begin anywhere in the file. */
static void read_run(void *data)
{
    reading *r = data;
    const packer *p = &r->packs->p;
    size_t i, size;
    off_t at;
    for (i = 0; i < READS; i++) {
        size = 2 * (size_t)((const uint16_t *)p->lengths)[p->samples[i]];
        at = (off_t)(p->samples[i] * 7919 % (TOKENS - BUDGET) * 2);
        must(pread(r->file, r->tokens, size, at) == (ssize_t)size, "pread");
    }
}

/* Out of the system's cache, as the tokens of a dataset that is larger. */
static void read_before(void *data)
{
    reading *r = data;
    if (r->cold)
        posix_fadvise(r->file, 0, 0, POSIX_FADV_DONTNEED);
    pack_pass(&r->packs->p, r->packs->p.plan.bins);
}

static int file_of_tokens(void)
{
    static char part[1 << 20];
    char name[] = "build/tokens.XXXXXX";
    size_t written;
    int file = mkstemp(name);
    must(file >= 0 && unlink(name) == 0, "a file in build/");
    for (written = 0; written < 2 * TOKENS; written += sizeof part)
        must(write(file, part, sizeof part) == sizeof part, "write");
    must(fsync(file) == 0, "fsync");
    return file;
}

static double percent(double part, double whole)
{
    return (double)(long)(100000 * part / whole + 0.5) / 1000;
}

int main(void)
{
    static packing all[4];
    static reading reads[2];
    contender c[5] = {
        {plans_run, NULL, plans_check, &all[0], 0},
        {packs_run, NULL, NULL, &all[1], 0},
        {resume_run, NULL, NULL, &all[2], 0},
        {read_run, read_before, NULL, &reads[0], 0},
        {read_run, read_before, NULL, &reads[1], 0},
    };
    uint16_t *lengths = make_lengths();
    double plan;
    size_t i;
    for (i = 0; i < 4; i++)
        begin(&all[i], lengths);
    for (i = 0; i < 2; i++) {
        reads[i].packs = &all[3];
        reads[i].file = file_of_tokens();
        reads[i].cold = i == 0;
    }
    race(c, 5, 5);
    plan = c[0].ns / (PLANS * PLAN);
    row_alone("packs; a plan of 10000; for each length", plan, "ns", 100);
    row_alone("packs; empty at a budget of 8 mean lengths",
              percent(all[0].room - all[0].used, all[0].room), "%", 1.5);
    row_alone("packs; a plan; of the time to read its tokens",
              percent(plan, c[3].ns / (double)READS), "%", 1);
    row_plain("packs; a plan; of the same from the cache",
              percent(plan, c[4].ns / (double)READS), "%");
    row_plain("packs; next of one rank; for each sample",
              c[1].ns / (PLANS * PLAN), "ns");
    row_plain("packs; load; for each sample of a plan", c[2].ns / (double)PLAN,
              "ns");
    free(lengths);
    return 0;
}

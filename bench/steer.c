/* steer.c - the cost of steering a run: a noted event, an answer from a history
   of 1,000 events, both also of the weights of a mix, a stage of a schedule, by
   turns and by tokens, and the turns of a scheduled mix against those of a
   plain one. */
#include "bench.h"
#include "examples/extras/history.h"
#include "examples/extras/schedule.h"

#include <string.h>

enum { EVENTS = 1000, SOURCES = 300, LENGTH = 1000, TURNS = 20 * LENGTH };

/* --- a history ------------------------------------------------------------ */

typedef struct record {
    statesampler s;
    history h;
    unsigned char memory[HISTORY_BYTES(EVENTS)];
} record;

static void record_before(void *data)
{
    record *r = data;
    statesampler_begin(&r->s, 0);
    must(history_init(&r->h, r->memory, sizeof r->memory, &r->s) == 0, "init");
}

static void record_run(void *data)
{
    record *r = data;
    uint64_t i;
    for (i = 1; i <= EVENTS; i++)
        must(history_seek(&r->h, &r->s, 100 * i) == 0, "seek");
}

/* What the seeks themselves take. */
static void seek_run(void *data)
{
    record *r = data;
    uint64_t i;
    for (i = 1; i <= EVENTS; i++)
        must(statesampler_seek(&r->s, 100 * i) == 0, "seek");
}

/* Looks for a step that no stretch has served, and so reads all of it. */
static void answer_run(void *data)
{
    const record *r = data;
    history_walk walk;
    int skipped = 0;
    history_open(&walk, &r->h.log, statesampler_epoch(&r->s),
                 statesampler_step(&r->s));
    while (history_next(&walk) == 1) {
        must(!history_served(&walk.stretch, 0, 100 * EVENTS - 50), "served");
        skipped += history_skipped(&walk.stretch, 0, 100 * EVENTS - 50);
    }
    must(skipped == 1, "skipped");
}

/* --- a schedule ----------------------------------------------------------- */

typedef struct mixed {
    statesampler_source sources[SOURCES];
    statesampler_mix mix;
    schedule_source shares[SOURCES];
    uint32_t weights[SOURCES];
    schedule s;
} mixed;

/* Of each three sources one has so many samples, the others 100,000. */
static void make_mix(mixed *m, uint64_t samples, uint32_t stop)
{
    uint32_t i;
    for (i = 0; i < SOURCES; i++) {
        statesampler_desc d;
        memset(&d, 0, sizeof d);
        d.num_samples = i % 3 == 0 ? samples : 100000;
        d.batch_size = 1;
        d.stream = i;
        must(statesampler_init(&m->sources[i].sampler, &d) == 0, "init");
        m->sources[i].weight = 1 + i % 60;
    }
    must(statesampler_mix_init(&m->mix, m->sources, SOURCES, stop) == 0, "mix");
    schedule_init(&m->s, m->shares, m->weights, SOURCES);
}

static void mixed_before(void *data)
{
    make_mix(data, 100000, STATESAMPLER_STOP_NEVER);
}

static uint32_t plan(schedule *s, uint64_t turn, void *context)
{
    uint32_t i;
    (void)context;
    for (i = 0; i < SOURCES; i++)
        s->sources[i].share =
            (double)(1 + i % 60) + (double)((turn + i * 7) % 13) / 10;
    return LENGTH;
}

static uint32_t plan_tokens(schedule *s, uint64_t turn, void *context)
{
    uint32_t i;
    for (i = 0; i < SOURCES; i++)
        s->sources[i].mean = 500 + i * 37 % 1000;
    return plan(s, turn, context);
}

static void plain_run(void *data)
{
    mixed *m = data;
    uint64_t sample;
    size_t count;
    uint32_t source;
    int i;
    for (i = 0; i < TURNS; i++)
        must(statesampler_mix_next(&m->mix, &sample, &count, &source) == 1,
             "next");
}

static void scheduled_run(void *data)
{
    mixed *m = data;
    uint64_t sample;
    size_t count;
    uint32_t source;
    int i;
    for (i = 0; i < TURNS; i++) {
        must(schedule_follow(&m->s, &m->mix, plan, NULL) == 0, "follow");
        must(statesampler_mix_next(&m->mix, &sample, &count, &source) == 1,
             "next");
    }
}

/* --- a history of weights ------------------------------------------------- */

typedef struct weighed {
    mixed m;
    history h;
    unsigned char memory[HISTORY_MIX_BYTES(SOURCES, EVENTS)];
    statesampler_source other[SOURCES];
    unsigned char state[STATESAMPLER_MIX_STATE_BYTES(SOURCES)];
} weighed;

static void weighed_of(weighed *w, uint64_t samples, uint32_t stop)
{
    make_mix(&w->m, samples, stop);
    must(history_mix_init(&w->h, w->memory, sizeof w->memory, &w->m.mix) == 0,
         "init");
}

static void weighed_before(void *data)
{
    weighed_of(data, 100000, STATESAMPLER_STOP_NEVER);
}

/* Others than those of the stage before. */
static const uint32_t *weights_of(mixed *m, uint32_t stage)
{
    uint32_t i;
    for (i = 0; i < SOURCES; i++)
        m->weights[i] = 1 + (i + stage) % 60;
    return m->weights;
}

static void weigh_run(void *data)
{
    weighed *w = data;
    uint32_t i;
    for (i = 1; i <= EVENTS; i++)
        must(history_mix_weigh(&w->h, &w->m.mix, weights_of(&w->m, i)) == 0,
             "weigh");
}

/* What the weights themselves take. */
static void plain_weigh_run(void *data)
{
    weighed *w = data;
    uint32_t i;
    for (i = 1; i <= EVENTS; i++)
        must(statesampler_mix_weigh(&w->m.mix, weights_of(&w->m, i)) == 0,
             "weigh");
}

/* Stages whose weights are given all of their turns, as those of a schedule; or
   of 1,000 turns, about a tenth of that. */
static void take_stages(weighed *w, int whole)
{
    uint64_t turn = 0;
    uint32_t stage, i;
    for (stage = 1; stage <= EVENTS; stage++) {
        const uint32_t *weights = weights_of(&w->m, stage);
        must(history_mix_weigh(&w->h, &w->m.mix, weights) == 0, "weigh");
        for (i = 0; i < SOURCES && whole; i++)
            turn += weights[i];
        turn += whole ? 0 : LENGTH;
        must(statesampler_mix_seek(&w->m.mix, turn) == 0, "seek");
    }
}

/* Asks for the last turn. */
static void weighed_answer_run(void *data)
{
    weighed *w = data;
    const uint64_t last = statesampler_mix_turn(&w->m.mix) - 1;
    history_mix_walk walk;
    uint64_t sample;
    uint32_t source;
    size_t count;
    int served = 0;
    history_mix_open(&walk, &w->h.log, 0, last + 1, w->other, w->m.weights,
                     w->state);
    while (history_mix_next(&walk) == 1)
        if (history_served(&walk.stretch, 0, last))
            served +=
                history_mix_at(&walk, 0, 0, last, &sample, &count, &source);
    must(served == 1, "served");
}

/* --- a schedule's stages -------------------------------------------------- */

/* Stages alone: without the mix's part of them. */
static void stage_run(void *data)
{
    mixed *m = data;
    uint32_t turns;
    int i;
    for (i = 0; i < 100; i++) {
        must(schedule_stage(&turns, &m->s, &m->mix, plan, NULL) == 0, "stage");
        schedule_begin(&m->s, turns);
    }
}

static void stage_of_tokens_run(void *data)
{
    mixed *m = data;
    uint32_t turns, i;
    int k;
    for (k = 0; k < 100; k++) {
        must(schedule_stage(&turns, &m->s, &m->mix, plan_tokens, NULL) == 0,
             "stage");
        schedule_begin(&m->s, turns);
        for (i = 0; i < SOURCES; i++)
            must(schedule_had(&m->s, i,
                              (uint64_t)m->shares[i].turns *
                                  m->shares[i].mean) == 0,
                 "had");
    }
}

int main(void)
{
    static record r[3];
    static mixed m[4];
    static weighed w[5];
    contender c[3] = {
        {record_run, record_before, NULL, &r[0], 0},
        {seek_run, record_before, NULL, &r[1], 0},
        {answer_run, NULL, NULL, &r[2], 0},
    };
    contender turns[4] = {
        {plain_run, mixed_before, NULL, &m[0], 0},
        {scheduled_run, mixed_before, NULL, &m[1], 0},
        {stage_run, mixed_before, NULL, &m[2], 0},
        {stage_of_tokens_run, mixed_before, NULL, &m[3], 0},
    };
    contender weights[5] = {
        {weigh_run, weighed_before, NULL, &w[0], 0},
        {plain_weigh_run, weighed_before, NULL, &w[1], 0},
        {weighed_answer_run, NULL, NULL, &w[2], 0},
        {weighed_answer_run, NULL, NULL, &w[3], 0},
        {weighed_answer_run, NULL, NULL, &w[4], 0},
    };
    size_t i;
    for (i = 0; i < 3; i++) {
        statesampler_desc d;
        memset(&d, 0, sizeof d);
        d.num_samples = 10000000000u;
        d.world_size = 4096;
        d.batch_size = 4;
        must(statesampler_init(&r[i].s, &d) == 0, "init");
        record_before(&r[i]);
    }
    record_run(&r[2]);
    race(c, 3, 2);
    row_alone("history; an event noted beside its seek",
              (c[0].ns - c[1].ns) / (double)EVENTS, "ns", 50);
    row_alone("history; an answer through 1000 events", c[2].ns / 1000, "us",
              1000);
    weighed_before(&w[2]);
    take_stages(&w[2], 1);
    weighed_before(&w[3]);
    take_stages(&w[3], 0);
    /* Most of the time a third of the sources has ended, and is passed over. */
    weighed_of(&w[4], 100, STATESAMPLER_STOP_ALL);
    take_stages(&w[4], 0);
    race(weights, 5, 2);
    row_alone("history; weights of 300 sources noted beside their mix_weigh",
              (weights[0].ns - weights[1].ns) / (double)EVENTS, "ns", 500);
    row_alone("history; an answer through 1000 weights of 300 sources in whole "
              "sequences",
              weights[2].ns / 1000, "us", 1000);
    row_alone("history; the same in stages of 1000 turns", weights[3].ns / 1000,
              "us", 3000);
    row_alone("history; the same with the stop rule ALL; where sources ended",
              weights[4].ns / 1000, "us", 10000);
    race(turns, 4, 2);
    row("schedule; turns of 300 sources in stages of 1000",
        turns[1].ns / (double)TURNS, "ns", "a plain mix",
        turns[0].ns / (double)TURNS, 1.3);
    row_alone("schedule; a stage of 300 sources", turns[2].ns / 100 / 1000,
              "us", 20);
    row_alone("schedule; the same by tokens", turns[3].ns / 100 / 1000, "us",
              20);
    return 0;
}

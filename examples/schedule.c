/* schedule.c - how far are sources from their shares, if weights change often?

       make examples && build/schedule

   300 sources, from heavy to light, have shares that hover by 1 %: each stage
   draws them anew. A row has the length of a stage in turns, and the largest
   distance of any source from its share, in turns, at the end of any of the
   stages of 10,000 turns: by schedule.h; by statesampler_mix_weigh alone; and
   by drawing the source of each turn at random. schedule.svg has the picture
   (make examples/schedule.svg).

   mix_weigh begins the sequence anew, with the heaviest sources. So in stages
   that are shorter than the sequence the lightest ones are never served. With
   schedule.h each source is at most about a turn from its share, whatever the
   stages. Half of the way to the end each run with it is saved, and another
   goes on from there; a third seeks the end. All three must end alike. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"
#include "extras/schedule.h"

enum {
    SOURCES = 300,
    TURNS = 10000,
    ROWS = 9,
    MIX = STATESAMPLER_MIX_STATE_BYTES(SOURCES)
};

static const char usage[] =
    "usage: schedule\n\n"
    "Prints how far sources are from their shares if weights change often.\n";

static const uint32_t lengths[ROWS] = {1,   3,    10,   30,   100,
                                       300, 1000, 3000, 10000};

/* What has been served, and what should have been. */
typedef struct tally {
    double share[SOURCES], had[SOURCES], worst;
    uint32_t unserved;
} tally;

/* A mix with its schedule. */
typedef struct run {
    statesampler_source sources[SOURCES];
    statesampler_mix mix;
    schedule_source shares[SOURCES];
    uint32_t weights[SOURCES];
    schedule plan;
} run;

/* A number from 0 to 1 that depends on these alone. */
static double draw(uint64_t turn, uint32_t source)
{
    const uint64_t numbers[2] = {turn, source};

    return (double)(statesampler_hash(0, numbers, sizeof numbers) >> 11) /
           9007199254740992.0;
}

/* The share of a source in the stage that begins at a turn; not yet divided by
   their sum. */
static double share_of(uint64_t turn, uint32_t source)
{
    return (0.99 + 0.02 * draw(turn, source)) / (1 + source % 60);
}

static uint32_t plan(schedule *s, uint64_t turn, void *context)
{
    uint32_t i;

    for (i = 0; i < SOURCES; i++) {
        s->sources[i].share = share_of(turn, i);
    }
    return *(const uint32_t *)context;
}

static void begin(run *r)
{
    uint32_t i;

    for (i = 0; i < SOURCES; i++) {
        const statesampler_desc desc = {.num_samples = 1000 + i, .stream = i};

        example_must(statesampler_init(&r->sources[i].sampler, &desc));
        r->sources[i].weight = 1;
    }
    example_must(statesampler_mix_init(&r->mix, r->sources, SOURCES,
                                       STATESAMPLER_STOP_NEVER));
    schedule_init(&r->plan, r->shares, r->weights, SOURCES);
}

static void must(int code)
{
    if (code != STATESAMPLER_OK) {
        example_fail(1, "FAILED, %s", schedule_error(code));
    }
}

/* --- the three ways ------------------------------------------------------- */

/* Adds the shares of a stage, and looks how far all are from theirs. */
static void end_stage(tally *t, uint64_t turn, uint32_t length)
{
    double sum = 0, far;
    uint32_t i;

    for (i = 0; i < SOURCES; i++) {
        sum += share_of(turn, i);
    }
    t->unserved = 0;
    for (i = 0; i < SOURCES; i++) {
        t->share[i] += length * share_of(turn, i) / sum;
        far = t->share[i] - t->had[i];
        if (far < 0) {
            far = -far;
        }
        if (far > t->worst) {
            t->worst = far;
        }
        t->unserved += t->had[i] == 0;
    }
}

/* Takes turns up to this one. */
static void follow(run *r, tally *t, uint32_t length, uint64_t until)
{
    uint32_t source;

    while (statesampler_mix_turn(&r->mix) < until) {
        must(schedule_follow(&r->plan, &r->mix, plan, &length));
        example_must(statesampler_mix_next(&r->mix, NULL, NULL, &source));
        t->had[source]++;
        if (statesampler_mix_turn(&r->mix) == r->plan.end) {
            end_stage(t, r->plan.begin, length);
        }
    }
}

static void weigh(run *r, tally *t, uint32_t length)
{
    uint32_t weights[SOURCES], source, i;
    uint64_t turn;

    begin(r);
    for (turn = 0; turn < TURNS; turn++) {
        for (i = 0; turn % length == 0 && i < SOURCES; i++) {
            weights[i] = (uint32_t)(1e6 * share_of(turn, i));
        }
        if (turn % length == 0) {
            example_must(statesampler_mix_weigh(&r->mix, weights));
        }
        example_must(statesampler_mix_next(&r->mix, NULL, NULL, &source));
        t->had[source]++;
        if ((turn + 1) % length == 0) {
            end_stage(t, turn + 1 - length, length);
        }
    }
}

static void at_random(tally *t, uint32_t length)
{
    double shares[SOURCES], sum = 0, at;
    uint64_t turn;
    uint32_t i;

    for (turn = 0; turn < TURNS; turn++) {
        if (turn % length == 0) {
            sum = 0;
        }
        for (i = 0; turn % length == 0 && i < SOURCES; i++) {
            sum += shares[i] = share_of(turn, i);
        }
        at = draw(turn, SOURCES) * sum;
        for (i = 0; i + 1 < SOURCES && at >= shares[i]; i++) {
            at -= shares[i];
        }
        t->had[i]++;
        if ((turn + 1) % length == 0) {
            end_stage(t, turn + 1 - length, length);
        }
    }
}

/* --- a row ---------------------------------------------------------------- */

static void save(const run *r, unsigned char *own, unsigned char *mix)
{
    must(schedule_save(&r->plan, own, SCHEDULE_BYTES(SOURCES)));
    example_must(statesampler_mix_save(&r->mix, mix, MIX));
}

/* Whether a run that was saved half-way, and one that seeks, end as `whole`. */
static int ends_alike(const run *whole, uint32_t length,
                      const unsigned char *own, const unsigned char *mix)
{
    static unsigned char own1[SCHEDULE_BYTES(SOURCES)], mix1[MIX];
    static unsigned char own2[SCHEDULE_BYTES(SOURCES)], mix2[MIX];
    static run other;
    static tally unused;
    int alike;

    save(whole, own1, mix1);
    begin(&other);
    must(schedule_load(&other.plan, own, SCHEDULE_BYTES(SOURCES)));
    example_must(statesampler_mix_load(&other.mix, mix, MIX));
    follow(&other, &unused, length, TURNS);
    save(&other, own2, mix2);
    alike = memcmp(own1, own2, sizeof own1) == 0 &&
            memcmp(mix1, mix2, MIX) == 0;
    begin(&other);
    must(schedule_seek(&other.plan, &other.mix, TURNS, plan, &length));
    save(&other, own2, mix2);
    return alike && memcmp(own1, own2, sizeof own1) == 0 &&
           memcmp(mix1, mix2, MIX) == 0;
}

int main(int argc, char **argv)
{
    static unsigned char own[SCHEDULE_BYTES(SOURCES)], mix[MIX];
    static tally planned, alone, drawn;
    static run r;
    double worst = 0;
    uint32_t never = 0;
    int row, alike = 1;

    example_begin(argc, argv, 0, usage);
    printf("# turns of a stage, turns from the share: schedule.h, mix_weigh "
           "alone, random draws\n");
    for (row = 0; row < ROWS; row++) {
        const uint32_t length = lengths[row];

        memset(&planned, 0, sizeof planned);
        memset(&alone, 0, sizeof alone);
        memset(&drawn, 0, sizeof drawn);
        begin(&r);
        follow(&r, &planned, length, TURNS / 2);
        save(&r, own, mix);
        follow(&r, &planned, length, TURNS);
        alike = ends_alike(&r, length, own, mix) && alike;
        weigh(&r, &alone, length);
        at_random(&drawn, length);
        printf("%u %.2f %.2f %.2f\n", length, planned.worst, alone.worst,
               drawn.worst);
        if (planned.worst > worst) {
            worst = planned.worst;
        }
        if (length == 100) {
            never = alone.unserved;
        }
    }
    example_close();
    if (!alike || worst >= 2 || never == 0) {
        example_fail(1, "FAILED, %s",
                     !alike ? "a load or a seek leads elsewhere"
                            : "a source is far from its share");
    }
    fprintf(stderr, "schedule: ok, with schedule.h no source is %.1f turns "
            "from its share; with mix_weigh every 100 turns %u of %u are "
            "never served\n", worst + 0.05, never, SOURCES);
    return 0;
}

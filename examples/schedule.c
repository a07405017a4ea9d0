/* schedule.c - how far are sources from their shares, if weights change often?

       make examples && build/schedule [SOURCES]

   300 sources, or as many as you say, from heavy to light, have shares that
   hover by 1 %: each stage draws them anew. A row has the length of a stage in
   turns, and the largest distance of any source from its share, in turns, at
   the end of any stage of 10,000 turns, or of two stages if these are longer:
   by schedule.h; by statesampler_mix_weigh alone; and by drawing the source of
   each turn at random. (10,000 sources take minutes.) schedule.svg has the
   picture (make examples/schedule.svg).

   mix_weigh begins the sequence anew, with the heaviest sources. So in stages
   that are shorter than the sequence the lightest ones are never served. With
   schedule.h each source is at most about a turn from its share, whatever the
   stages. Half of the way to the end each run with it is saved, and another
   goes on from there; a third seeks the end. All three must end alike. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"
#include "extras/schedule.h"

enum { MOST = 10000, TURNS = 10000, ROWS = 13 };

static const char usage[] =
    "usage: schedule [SOURCES]\n\n"
    "Prints how far sources are from their shares if weights change often.\n"
    "SOURCES is 2 to 10000, by default 300.\n";

static const uint32_t lengths[ROWS] = {
    1, 3, 10, 30, 100, 300, 1000, 3000, 10000, 30000, 100000, 300000, 1000000};
static uint32_t num_sources = 300;

/* What has been served, and what should have been. */
typedef struct tally {
    double share[MOST], had[MOST], worst;
    uint32_t unserved;
} tally;

/* A mix with its schedule. */
typedef struct run {
    statesampler_source sources[MOST];
    statesampler_mix mix;
    schedule_source shares[MOST];
    uint32_t weights[MOST];
    schedule plan;
} run;

/* Its states. */
typedef struct saved {
    unsigned char own[SCHEDULE_BYTES(MOST)];
    unsigned char mix[STATESAMPLER_MIX_STATE_BYTES(MOST)];
} saved;

/* How many turns a row has. */
static uint32_t turns_of(uint32_t length)
{
    return length > TURNS / 2 ? 2 * length : TURNS / length * length;
}

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

    for (i = 0; i < num_sources; i++) {
        s->sources[i].share = share_of(turn, i);
    }
    return *(const uint32_t *)context;
}

static void begin(run *r)
{
    uint32_t i;

    for (i = 0; i < num_sources; i++) {
        const statesampler_desc desc = {.num_samples = 1000 + i, .stream = i};

        example_must(statesampler_init(&r->sources[i].sampler, &desc));
        r->sources[i].weight = 1;
    }
    example_must(statesampler_mix_init(&r->mix, r->sources, num_sources,
                                       STATESAMPLER_STOP_NEVER));
    schedule_init(&r->plan, r->shares, r->weights, num_sources);
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

    for (i = 0; i < num_sources; i++) {
        sum += share_of(turn, i);
    }
    t->unserved = 0;
    for (i = 0; i < num_sources; i++) {
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
    static uint32_t weights[MOST];
    uint32_t source, i;
    uint64_t turn;

    begin(r);
    for (turn = 0; turn < turns_of(length); turn++) {
        for (i = 0; turn % length == 0 && i < num_sources; i++) {
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

/* The first source up to which the shares sum to more than this. */
static uint32_t find(const double *sums, double share)
{
    uint32_t low = 0, high = num_sources - 1;

    while (low < high) { /* high - low shrinks */
        const uint32_t middle = low + (high - low) / 2;

        if (sums[middle] > share) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static void at_random(tally *t, uint32_t length)
{
    static double sums[MOST];
    uint64_t turn;
    uint32_t i;

    for (turn = 0; turn < turns_of(length); turn++) {
        for (i = 0; turn % length == 0 && i < num_sources; i++) {
            sums[i] = share_of(turn, i) + (i == 0 ? 0 : sums[i - 1]);
        }
        t->had[find(sums, draw(turn, MOST) * sums[num_sources - 1])]++;
        if ((turn + 1) % length == 0) {
            end_stage(t, turn + 1 - length, length);
        }
    }
}

/* --- a row ---------------------------------------------------------------- */

static void save(const run *r, saved *to)
{
    must(schedule_save(&r->plan, to->own, sizeof to->own));
    example_must(statesampler_mix_save(&r->mix, to->mix, sizeof to->mix));
}

/* Whether all sources are at the same steps, and are owed the same. (States of
   the mixes may differ: new weights that are the old ones move no base.) */
static int are_alike(const run *a, const run *b)
{
    static saved of_a, of_b;
    const size_t size = SCHEDULE_BYTES(num_sources);
    uint32_t i;

    save(a, &of_a);
    save(b, &of_b);
    for (i = 0; i < num_sources; i++) {
        const statesampler *one = &a->sources[i].sampler;
        const statesampler *other = &b->sources[i].sampler;

        if (statesampler_epoch(one) != statesampler_epoch(other) ||
            statesampler_step(one) != statesampler_step(other)) {
            return 0;
        }
    }
    return memcmp(of_a.own, of_b.own, size) == 0;
}

/* Whether a run that was saved half-way, and one that seeks, end as `whole`. */
static int ends_alike(const run *whole, uint32_t length, const saved *half)
{
    static run other;
    static tally unused;
    int alike;

    begin(&other);
    must(schedule_load(&other.plan, half->own, SCHEDULE_BYTES(num_sources)));
    example_must(statesampler_mix_load(
        &other.mix, half->mix, STATESAMPLER_MIX_STATE_BYTES(num_sources)));
    follow(&other, &unused, length, turns_of(length));
    alike = are_alike(whole, &other);
    begin(&other);
    must(schedule_seek(&other.plan, &other.mix, turns_of(length), plan,
                       &length));
    return alike && are_alike(whole, &other);
}

int main(int argc, char **argv)
{
    static saved half;
    static tally planned, alone, drawn;
    static run r;
    double worst = 0;
    uint32_t never = 0;
    int row, alike = 1;

    example_begin(argc, argv, 1, usage);
    if (argc > 1) {
        num_sources = (uint32_t)example_number(argv[1], 2, MOST);
    }
    printf("# turns of a stage, turns from the share: schedule.h, mix_weigh "
           "alone, random draws\n");
    for (row = 0; row < ROWS; row++) {
        const uint32_t length = lengths[row];

        memset(&planned, 0, sizeof planned);
        memset(&alone, 0, sizeof alone);
        memset(&drawn, 0, sizeof drawn);
        begin(&r);
        follow(&r, &planned, length, turns_of(length) / 2);
        save(&r, &half);
        follow(&r, &planned, length, turns_of(length));
        alike = ends_alike(&r, length, &half) && alike;
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
    if (!alike) {
        example_fail(1, "FAILED, a load or a seek leads elsewhere");
    }
    if (worst >= 2) {
        example_fail(1, "FAILED, a source is far from its share");
    }
    fprintf(stderr,
            "schedule: ok, with schedule.h no source is %.1f turns "
            "from its share; with mix_weigh every 100 turns %u of %u are "
            "never served\n",
            worst + 0.05, never, num_sources);
    return 0;
}

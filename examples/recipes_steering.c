/* recipes_steering.c - runs that people steer: skips, caps, parts held back.

       make examples && build/recipes_steering

   Short recipes to copy, each beside a check, which runs it and prints a line.
   Names in capitals and functions marked "Yours" stand for your own; `train` is
   in recipes.h. For the shares of weights that change often see schedule.c, and
   for the record of all that was done to a sampler history.c. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "recipes.h"

static const char usage[] = "usage: recipes_steering\n\n"
                            "Runs and checks each recipe.\n";

/* --- Skip steps now, and serve them later --------------------------------- */

/* Positions that all ranks skipped together: from `first` of an epoch to the
   one before `last`; with CARRY that may be in a later epoch. */
typedef struct gap {
    uint64_t epoch, first, last_epoch, last;
} gap;

/* Skips to a later step, on each rank. Keep the gap with the state. (A history
   has the skip, too, but not that it is served later: that is another loop.)
   ERANGE: there is no such step, or it is an earlier one. Nothing has then
   changed. */
static int skip_to(statesampler *s, uint64_t step, gap *skipped)
{
    const uint64_t epoch = statesampler_epoch(s);
    const uint64_t first = statesampler_position(s);
    int code;

    if (step < statesampler_step(s))
        return STATESAMPLER_ERANGE;
    code = statesampler_seek(s, step);
    if (code != STATESAMPLER_OK)
        return code;
    skipped->epoch = epoch;
    skipped->first = first;
    skipped->last_epoch = statesampler_epoch(s);
    skipped->last = statesampler_position(s);
    return STATESAMPLER_OK;
}

/* Trains on what was skipped, on this rank of any number of ranks: each takes
   every world_size-th position. So the ranks have as many samples as each
   other, or one less, and no sample is left over, whatever the numbers of
   ranks were. To save amid it, after n samples on each rank, keep the gap from
   first + n * world_size on. `run` is the run's description, with the
   partition INTERLEAVED. With PAD leave out positions from num_samples on:
   they are repeats. */
static int serve_gap(const statesampler_desc *run, const gap *skipped,
                     uint32_t rank, uint32_t world_size)
{
    const uint64_t last =
        skipped->last +
        (skipped->last_epoch - skipped->epoch) * run->num_samples;
    statesampler_desc lone = *run;
    uint64_t position, sample;
    statesampler s;
    size_t count;
    int code;

    lone.epoch = skipped->epoch;
    lone.rank = 0;
    lone.world_size = lone.batch_size = 1;    /* so a step is a position */
    if (lone.tail != STATESAMPLER_TAIL_CARRY) /* that goes on to next epochs */
        lone.tail = STATESAMPLER_TAIL_UNEVEN;
    lone.drop_last = 0;
    code = statesampler_init(&s, &lone);
    for (position = skipped->first + rank; position < last && code >= 0;
         position += world_size) {
        code = statesampler_at(&s, position, &sample, &count);
        if (code == 1)
            train(&sample, count);
    }
    return code < 0 ? code : STATESAMPLER_OK;
}

/* Serves up to this step, or to the end of the epoch. */
static void serve_until(statesampler *s, uint64_t step)
{
    uint64_t batch[BATCH];
    size_t count;

    while (statesampler_step(s) < step && statesampler_next(s, batch, &count))
        train(batch, count);
}

/* All ranks of a run serve the steps before `first`, and those from `last` to
   `end`; `others` ranks serve what was skipped. Returns 1 if each sample then
   came this often. */
static int serves_gap(statesampler_desc *run, uint64_t first, uint64_t last,
                      uint64_t end, uint32_t others, unsigned times)
{
    gap skipped = {0, 0, 0, 0};
    statesampler s;
    uint32_t rank;
    int so = 1;

    begin_counts();
    for (run->rank = 0; run->rank < run->world_size; run->rank++) {
        example_must(statesampler_init(&s, run));
        serve_until(&s, first);
        so = so && skip_to(&s, first - 1, &skipped) < 0;
        example_must(skip_to(&s, last, &skipped));
        so = so && skip_to(&s, STATESAMPLER_NONE, &skipped) < 0;
        serve_until(&s, end);
    }
    so = so && num_trained == (uint64_t)SAMPLES * times -
                                  (last - first) * run->world_size * BATCH;
    for (rank = 0; rank < others; rank++)
        example_must(serve_gap(run, &skipped, rank, others));
    return so && each_served(0, SAMPLES, times);
}

/* 41 ranks skip 3 of 6 steps; 30 ranks serve them, and each sample is once.
   With CARRY 7 ranks skip 100 of SAMPLES steps, which are 28 epochs, over three
   borders, and 5 ranks serve them. */
static void check_gap(void)
{
    statesampler_desc run = {
        .num_samples = SAMPLES,
        .seed = 7,
        .world_size = 41,
        .batch_size = BATCH,
        .tail = STATESAMPLER_TAIL_UNEVEN,
    };
    statesampler_desc carried = {
        .num_samples = SAMPLES,
        .seed = 7,
        .epoch = 3,
        .world_size = 7,
        .batch_size = BATCH,
        .tail = STATESAMPLER_TAIL_CARRY,
    };

    say(serves_gap(&run, 1, 4, STATESAMPLER_NONE, 30, 1) &&
            serves_gap(&carried, 30, 130, SAMPLES, 5, 28),
        "steps that were skipped on 41 ranks are served on 30 later");
}

/* --- A dataset for at most so many epochs --------------------------------- */

/* A source that gives BUDGET samples, 2.5 epochs say, and then no more: its
   sampler counts positions of the whole budget (SEQUENTIAL), and the shuffle
   is yours. (On several ranks PAD would give some more, at its end.) With the
   stop rule ALL its turns go to the other sources then. seek and mix_at stay
   exact, also across epochs of the dataset. */
static uint64_t capped_sample(uint64_t position, uint64_t num_samples,
                              uint64_t seed, uint64_t stream)
{
    statesampler_perm epoch; /* keep it until position / num_samples changes */

    statesampler_perm_init(&epoch, num_samples, seed, position / num_samples,
                           stream);
    return statesampler_perm_at(&epoch, position % num_samples);
}

/* A dataset of 40 samples for 2.5 epochs beside one of 200 for one epoch. */
static void check_capped(void)
{
    const uint64_t length[2] = {40, 200}, budget[2] = {100, 200};
    statesampler_source sources[2];
    statesampler_mix mix;
    uint64_t batch[BATCH];
    uint32_t source, last = 2;
    size_t count, i;
    int so = 1;

    begin_counts();
    for (source = 0; source < 2; source++) {
        const statesampler_desc desc = {
            .num_samples = budget[source],
            .batch_size = BATCH,
            .order = STATESAMPLER_ORDER_SEQUENTIAL,
            .tail = STATESAMPLER_TAIL_UNEVEN,
        };

        example_must(statesampler_init(&sources[source].sampler, &desc));
        sources[source].weight = source == 0 ? 3 : 1;
    }
    example_must(statesampler_mix_init(&mix, sources, 2,
                                       STATESAMPLER_STOP_ALL));
    while (statesampler_mix_next(&mix, batch, &count, &source)) {
        for (i = 0; i < count; i++) {
            batch[i] = source * length[0] +
                       capped_sample(batch[i], length[source], 42, source);
        }
        train(batch, count);
        last = source;
    }
    for (i = 0; i < 40; i++)
        so = so && (served[i] == 2 || served[i] == 3);
    say(so && last == 1 && num_trained == 300 && each_served(40, 240, 1),
        "a dataset gives 2.5 epochs, and then its turns to the others");
}

/* --- Parts that never meet ------------------------------------------------ */

/* Turns a batch of positions of a part into samples. `split` is a permutation
   of the whole dataset, the same for ever; a part is the positions `first` ..
   first + size - 1 in it, and has a sampler of its own with num_samples =
   size. Parts: a validation set, the tenth that is held back for the anneal, or
   the halves of two jobs that should have no sample in common. */
static void samples_of_part(const statesampler_perm *split, uint64_t first,
                            uint64_t *batch, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        batch[i] += first;
    statesampler_perm_map(split, batch, count);
}

/* 100 for validation, 100 for the anneal, the rest in two jobs. */
static void check_parts(void)
{
    const uint64_t first[5] = {0, 100, 200, 600, SAMPLES};
    statesampler_perm split;
    uint64_t batch[BATCH];
    statesampler s;
    size_t count;
    int part;

    begin_counts();
    example_must(statesampler_perm_init(&split, SAMPLES, 42, 0, 1));
    for (part = 0; part < 4; part++) {
        const statesampler_desc desc = {
            .num_samples = first[part + 1] - first[part],
            .seed = 42,
            .stream = 2 + (uint64_t)part,
            .batch_size = BATCH,
        };

        example_must(statesampler_init(&s, &desc));
        while (statesampler_next(&s, batch, &count)) {
            samples_of_part(&split, first[part], batch, count);
            train(batch, count);
        }
    }
    say(each_served(0, SAMPLES, 1),
        "validation, anneal and two jobs share the samples, none twice");
}

/* --- A shard out, and in again -------------------------------------------- */

/* Shards are the sources of a mix. A bad one is OFF from this turn on, and has
   its weight again once it is mended: it goes on where it was. Say so on all
   ranks at the same turn. (With the stop rule ALL, if it is out when the
   others end, it misses the rest of its epoch.) EINVAL: no shard would be
   left. Nothing has then changed. */
static int set_shard(statesampler_mix *mix, uint32_t *weights, uint32_t shard,
                     uint32_t weight)
{
    const uint32_t before = weights[shard];
    int code;

    weights[shard] = weight;
    code = statesampler_mix_weigh(mix, weights);
    if (code != STATESAMPLER_OK)
        weights[shard] = before;
    return code;
}

/* Takes all out but the first, which is refused, and puts back those that had
   been in. */
static int keeps_last(statesampler_mix *mix, uint32_t *weights, uint32_t out)
{
    uint32_t shard;
    int so;

    for (shard = 1; shard < 10; shard++)
        example_must(set_shard(mix, weights, shard, STATESAMPLER_OFF));
    so = set_shard(mix, weights, 0, STATESAMPLER_OFF) < 0;
    for (shard = 1; shard < 10; shard++)
        if (shard != out)
            example_must(set_shard(mix, weights, shard, 1));
    return so;
}

/* Ten shards; one is out for 20 turns. Each sample comes once all the same. */
static void check_shard(void)
{
    statesampler_source sources[10];
    uint32_t weights[10], source, turn, while_out = 0;
    uint64_t batch[BATCH];
    statesampler_mix mix;
    size_t count, i;
    int so = 0;

    begin_counts();
    for (source = 0; source < 10; source++) {
        const statesampler_desc desc = {
            .num_samples = 50 + source,
            .seed = 42,
            .stream = source,
            .batch_size = BATCH,
        };

        example_must(statesampler_init(&sources[source].sampler, &desc));
        sources[source].weight = weights[source] = 1;
    }
    example_must(statesampler_mix_init(&mix, sources, 10,
                                       STATESAMPLER_STOP_ALL));
    for (turn = 0; statesampler_mix_next(&mix, batch, &count, &source);
         turn++) {
        for (i = 0; i < count; i++)
            batch[i] += statesampler_mix_offset(&mix, source);
        train(batch, count);
        while_out += turn > 30 && turn <= 50 && source == 3;
        if (turn == 30)
            example_must(set_shard(&mix, weights, 3, STATESAMPLER_OFF));
        if (turn == 40)
            so = keeps_last(&mix, weights, 3);
        if (turn == 50)
            example_must(set_shard(&mix, weights, 3, 1));
    }
    say(so && while_out == 0 && each_served(0, 545, 1),
        "a shard that is out for a while loses no sample and repeats none");
}

/* --- Weights that change often, on record --------------------------------- */

#include "extras/history.h"

enum { DATASETS = 3, EVENTS = 99, TURNS = 300 };

static unsigned char memory[HISTORY_MIX_BYTES(DATASETS, EVENTS)];
static history record;
static uint64_t first_epochs[DATASETS];

/* A schedule does all that it does to a mix by these. Define them in front of
   the include, and a history notes it. The third is for seeks to stages before
   the present one. */
#define SCHEDULE_WEIGH(mix, weights) history_mix_weigh(&record, mix, weights)
#define SCHEDULE_SEEK(mix, turn) history_mix_seek(&record, mix, turn)
#define SCHEDULE_BEGIN(s, mix) \
    (schedule_epochs(s, first_epochs), \
     history_mix_begin(&record, mix, statesampler_mix_epoch(mix), \
                       first_epochs))
#include "extras/schedule.h"

/* Yours: the shares of the stage that begins at a turn, and its length. */
static uint32_t plan(schedule *s, uint64_t turn, void *context)
{
    (void)context;
    s->sources[0].share = 5;
    s->sources[1].share = 1 + (double)turn / 100;
    s->sources[2].share = turn / 10 % 2 ? 0 : 3;
    return 10;
}

/* What came in each turn, in the order of the run. */
static struct {
    uint64_t turn, samples[BATCH];
    uint32_t source;
    size_t count;
} came[TURNS];
static size_t num_came;

static void train_to(uint64_t until, statesampler_mix *mix, schedule *s)
{
    uint64_t turn;

    while ((turn = statesampler_mix_turn(mix)) < until) {
        example_must(schedule_follow(s, mix, plan, NULL));
        statesampler_mix_next(mix, came[num_came].samples,
                              &came[num_came].count, &came[num_came].source);
        came[num_came++].turn = turn;
    }
}

/* Returns 1 if the record has all that came, in its order, and no more. */
static int record_has_all(const statesampler_mix *mix)
{
    static unsigned char state[STATESAMPLER_MIX_STATE_BYTES(DATASETS)];
    statesampler_source sources[DATASETS];
    uint32_t weights[DATASETS], source = 0;
    uint64_t batch[BATCH], turn;
    history_mix_walk walk;
    size_t count = 0, at = 0;
    int same = 1;

    history_mix_open(&walk, &record.log, statesampler_mix_epoch(mix),
                     statesampler_mix_turn(mix), sources, weights, state);
    while (history_mix_next(&walk) == 1) {
        for (turn = walk.stretch.begin_step;
             history_served(&walk.stretch, 0, turn); turn++, at++) {
            same = same &&
                   history_mix_at(&walk, 0, 0, turn, batch, &count, &source) >=
                       0 &&
                   at < num_came && came[at].turn == turn &&
                   came[at].source == source && came[at].count == count &&
                   memcmp(came[at].samples, batch, count * sizeof *batch) == 0;
        }
    }
    return same && at == num_came;
}

/* A run over stages of 10 turns, on to a later one, and back to an earlier
   one. */
static void check_record(void)
{
    statesampler_source sources[DATASETS];
    schedule_source shares[DATASETS];
    uint32_t weights[DATASETS], source;
    statesampler_mix mix;
    schedule s;

    for (source = 0; source < DATASETS; source++) {
        const statesampler_desc desc = {
            .num_samples = 50 + source,
            .seed = 42,
            .stream = source,
            .batch_size = BATCH,
        };

        example_must(statesampler_init(&sources[source].sampler, &desc));
        sources[source].weight = 1;
    }
    example_must(statesampler_mix_init(&mix, sources, DATASETS,
                                       STATESAMPLER_STOP_NEVER));
    example_must(history_mix_init(&record, memory, sizeof memory, &mix));
    schedule_init(&s, shares, weights, DATASETS);
    example_must(schedule_set_start(&s, &mix));
    train_to(105, &mix, &s);
    example_must(schedule_seek(&s, &mix, 217, plan, NULL));
    train_to(300, &mix, &s);
    example_must(schedule_seek(&s, &mix, 42, plan, NULL));
    train_to(99, &mix, &s);
    say(num_came == 105 + 83 + 57 && record_has_all(&mix),
        "a schedule's stages and seeks are on record, every turn of them");
}

/* --- Longer sequences in mid-epoch ---------------------------------------- */

#define LONGEST 8192u /* tokens: the length at the end of the run */

/* Sample `unit` of the sampler is LONGEST tokens of the data, from the run's
   start on. While sequences are shorter, a unit is several of them: part 0 ..
   LONGEST / length - 1. So the length may change at any step, and no token
   comes twice or is lost. A batch has as many tokens as before. */
static uint64_t first_token(uint64_t unit, uint32_t part, uint32_t length)
{
    return unit * LONGEST + (uint64_t)part * length;
}

static void check_lengths(void)
{
    const statesampler_desc desc = {
        .num_samples = 250,
        .seed = 42,
        .batch_size = BATCH,
    };
    uint64_t batch[BATCH], token;
    uint32_t length, part, j;
    statesampler s;
    size_t count, i;

    begin_counts();
    example_must(statesampler_init(&s, &desc));
    while (statesampler_next(&s, batch, &count)) {
        length = statesampler_step(&s) <= 30 ? LONGEST / 4 : LONGEST;
        for (i = 0; i < count; i++) {
            for (part = 0; part < LONGEST / length; part++) {
                for (j = 0; j < 4 * length / LONGEST; j++) {
                    token =
                        first_token(batch[i], part, length) / (LONGEST / 4) +
                        j; /* in quarters */
                    train(&token, 1);
                }
            }
        }
    }
    say(each_served(0, 1000, 1),
        "sequences grow from 2,048 to 8,192 tokens in mid-epoch");
}

/* --- Only the number of samples is known ---------------------------------- */

/* A program that saves how many samples it has seen, and nothing else, resumes
   from that alone, on any ranks: with CARRY steps count on through all epochs,
   and on one rank with batches of 1 a step is a sample. */
static int resume_from_seen(statesampler *s, const statesampler_desc *desc,
                            uint64_t seen)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    statesampler_desc alone = *desc; /* with the tail CARRY */
    int code;

    alone.rank = 0;
    alone.world_size = alone.batch_size = 1;
    code = statesampler_init(s, &alone);
    if (code == STATESAMPLER_OK)
        code = statesampler_seek(s, seen);
    if (code == STATESAMPLER_OK)
        code = statesampler_save(s, state, sizeof state);
    if (code == STATESAMPLER_OK)
        code = statesampler_init(s, desc);
    if (code == STATESAMPLER_OK)
        code = statesampler_load(s, state, sizeof state);
    return code;
}

static void check_seen(void)
{
    statesampler_desc desc = {
        .num_samples = SAMPLES,
        .seed = 42,
        .tail = STATESAMPLER_TAIL_CARRY,
    };
    uint64_t batch[BATCH], sample, seen = 0;
    statesampler s, one_by_one;
    int so = 1, step;
    uint32_t slot;
    size_t count;

    desc.world_size = desc.batch_size = 1;
    example_must(statesampler_init(&one_by_one, &desc));
    desc.batch_size = BATCH;
    for (step = 0; step < 500; step++) {
        desc.world_size = 1 + (uint32_t)step % 7; /* of which this is rank 0 */
        example_must(resume_from_seen(&s, &desc, seen));
        statesampler_next(&s, batch, NULL);
        for (slot = 0; slot < BATCH; slot++) {
            statesampler_at(&one_by_one, seen + slot * desc.world_size, &sample,
                            &count);
            so = so && batch[slot] == sample;
        }
        seen += desc.world_size * BATCH;
    }
    say(so && seen > 5 * SAMPLES,
        "the number of samples seen is state enough, on any ranks");
}

/* --- Ranks that do not step together -------------------------------------- */

/* Machines that scan their parts of a dataset at their own pace: each saves its
   own state under its own name and goes on from it, on as many ranks as before.
   (To go on on other numbers, deal the samples from one place: ledger.c.) */
static int resume_alone(statesampler *s, statesampler_desc *desc, uint32_t rank,
                        const unsigned char *states)
{
    int code;

    desc->rank = rank;
    code = statesampler_init(s, desc);
    if (code == STATESAMPLER_OK)
        code = statesampler_load(s, states + rank * STATESAMPLER_STATE_BYTES,
                                 STATESAMPLER_STATE_BYTES);
    return code;
}

static void check_alone(void)
{
    statesampler_desc desc = {
        .num_samples = SAMPLES,
        .seed = 42,
        .world_size = 5,
        .batch_size = BATCH,
        .tail = STATESAMPLER_TAIL_UNEVEN,
    };
    unsigned char states[5 * STATESAMPLER_STATE_BYTES];
    uint64_t batch[BATCH];
    statesampler s;
    size_t count;
    uint32_t rank, step;

    begin_counts();
    for (rank = 0; rank < 5; rank++) { /* each stops at another step */
        desc.rank = rank;
        example_must(statesampler_init(&s, &desc));
        for (step = 0; step < 7 + 9 * rank; step++) {
            statesampler_next(&s, batch, &count);
            train(batch, count);
        }
        example_must(statesampler_save(&s,
                                       states + rank * STATESAMPLER_STATE_BYTES,
                                       STATESAMPLER_STATE_BYTES));
    }
    for (rank = 0; rank < 5; rank++) {
        example_must(resume_alone(&s, &desc, rank, states));
        while (statesampler_next(&s, batch, &count))
            train(batch, count);
    }
    say(each_served(0, SAMPLES, 1),
        "ranks at steps of their own go on from states of their own");
}

int main(int argc, char **argv)
{
    example_begin(argc, argv, 0, usage);
    check_gap();
    check_capped();
    check_parts();
    check_shard();
    check_record();
    check_lengths();
    check_seen();
    check_alone();
    return recipes_end();
}

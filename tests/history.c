/* history.c - does examples/extras/history.h know each step of a run, through
   skips, other shapes, kills and older checkpoints, and refuse all else? */
#include "statesampler.h"
#include "examples/extras/history.h"

#include "check.h"

enum { EVENTS = 400, STEPS = 20000, BATCH = 64, KEPT = 8 };

/* A step that was served: its samples, rank by rank. */
typedef struct record {
    uint64_t epoch, step, samples[BATCH];
    uint32_t world_size, counts[BATCH];
} record;

static record served[STEPS];

/* What a checkpoint holds, and how many steps were served by then. */
typedef struct checkpoint {
    unsigned char history[HISTORY_BYTES(EVENTS)];
    unsigned char state[STATESAMPLER_STATE_BYTES];
    size_t size, steps;
} checkpoint;

typedef struct run {
    statesampler_desc desc;
    statesampler s;
    unsigned char memory[HISTORY_BYTES(EVENTS)];
    history h;
    size_t steps;
    checkpoint kept[KEPT];
    size_t num_kept;
} run;

static void new_shape(statesampler_desc *d)
{
    d->world_size = 1 + (uint32_t)check_random(6);
    d->batch_size = 1 + (uint32_t)check_random(4);
}

static void begin(run *r)
{
    statesampler_desc *d = &r->desc;

    memset(d, 0, sizeof *d);
    d->num_samples = 1 + check_random(60);
    d->seed = check_random(1000);
    d->epoch = check_random(5);
    d->tail = (uint32_t)check_random(4);
    d->order = (uint32_t)check_random(4);
    d->chunk_size = 1 + check_random(5);
    d->window = 1 + check_random(4);
    d->partition = d->tail == STATESAMPLER_TAIL_CARRY
                       ? STATESAMPLER_PARTITION_INTERLEAVED
                       : (uint32_t)check_random(2);
    d->drop_last = d->tail != STATESAMPLER_TAIL_CARRY &&
                   check_random(4) == 0;
    new_shape(d);
    CHECK(statesampler_init(&r->s, d) == STATESAMPLER_OK);
    if (check_random(2) == 0)
        (void)statesampler_seek(&r->s, check_random(9));
    CHECK(history_init(&r->h, r->memory, sizeof r->memory, &r->s) ==
          STATESAMPLER_OK);
    r->steps = r->num_kept = 0;
}

/* --- what a run does ------------------------------------------------------ */

static void take(run *r, uint64_t steps)
{
    for (; steps > 0 && r->steps < STEPS; steps--) {
        record *one = &served[r->steps];
        size_t count = 0, all = 0;
        uint32_t rank;
        int more = 1;

        one->epoch = statesampler_epoch(&r->s);
        one->step = statesampler_step(&r->s);
        one->world_size = r->desc.world_size;
        for (rank = 0; rank < one->world_size && more == 1; rank++) {
            statesampler other = r->s;

            CHECK(statesampler_reshape(&other, rank, r->desc.world_size,
                                       r->desc.batch_size) ==
                  STATESAMPLER_OK);
            more = statesampler_at(&other, one->step, one->samples + all,
                                   &count);
            one->counts[rank] = (uint32_t)count;
            all += count;
        }
        CHECK(statesampler_next(&r->s, NULL, &count) == more);
        r->steps += more == 1;
    }
}

static void seek(run *r)
{
    const uint64_t steps = statesampler_num_steps(&r->s);
    const uint64_t now = statesampler_step(&r->s);
    uint64_t to = now + check_random(9);

    if (check_random(3) == 0)
        to = now - check_random(now + 1);
    if (r->desc.tail != STATESAMPLER_TAIL_CARRY && to > steps)
        to = steps;
    if (to < statesampler_base(&r->s))
        to = statesampler_base(&r->s);
    CHECK(history_seek(&r->h, &r->s, to) == STATESAMPLER_OK);
    CHECK(statesampler_step(&r->s) == to);
}

static void reshape(run *r)
{
    new_shape(&r->desc);
    CHECK(history_reshape(&r->h, &r->s, 0, r->desc.world_size,
                          r->desc.batch_size) == STATESAMPLER_OK);
}

static void resize(run *r)
{
    const uint64_t length = statesampler_position(&r->s) + check_random(20);
    const uint64_t before = r->h.log.size;

    if (r->desc.order != STATESAMPLER_ORDER_SEQUENTIAL ||
        r->desc.partition != STATESAMPLER_PARTITION_INTERLEAVED ||
        (r->desc.tail == STATESAMPLER_TAIL_CARRY && length == 0)) {
        return;
    }
    CHECK(history_resize(&r->h, &r->s, length) == STATESAMPLER_OK);
    CHECK(r->h.log.size == before + (length == r->desc.num_samples ? 0 : 32));
    r->desc.num_samples = length;
}

static void keep(run *r)
{
    checkpoint *one;

    if (r->num_kept == KEPT) { /* the oldest goes */
        memmove(r->kept, r->kept + 1, (KEPT - 1) * sizeof *r->kept);
        r->num_kept--;
    }
    one = &r->kept[r->num_kept++];
    one->size = history_save(&r->h);
    memcpy(one->history, r->h.bytes, one->size);
    CHECK(statesampler_save(&r->s, one->state, sizeof one->state) ==
          STATESAMPLER_OK);
    one->steps = r->steps;
}

/* Resumes from a checkpoint, perhaps an older one, perhaps in another shape.
   What came after it is forgotten. */
static void resume(run *r)
{
    const size_t which = (size_t)check_random(r->num_kept);
    const checkpoint *one = &r->kept[which];
    statesampler_desc d;

    r->num_kept = which + 1;
    CHECK(statesampler_describe(one->state, sizeof one->state, &d, NULL) ==
          STATESAMPLER_OK);
    r->desc.num_samples = d.num_samples;
    if (check_random(2) == 0)
        new_shape(&r->desc);
    if (check_random(5) == 0 && d.tail != STATESAMPLER_TAIL_CARRY)
        r->desc.drop_last = !r->desc.drop_last;
    CHECK(statesampler_init(&r->s, &r->desc) == STATESAMPLER_OK);
    CHECK(history_init(&r->h, r->memory, sizeof r->memory, &r->s) ==
          STATESAMPLER_OK);
    CHECK(history_load(&r->h, &r->s, one->history, one->size, one->state,
                       sizeof one->state) == STATESAMPLER_OK);
    r->steps = one->steps;
}

static void act(run *r)
{
    switch (check_random(9)) {
    case 0:
        seek(r);
        break;
    case 1:
        CHECK(history_begin(&r->h, &r->s, statesampler_epoch(&r->s) +
                                              check_random(3)) ==
              STATESAMPLER_OK);
        break;
    case 2:
        reshape(r);
        break;
    case 3:
        resize(r);
        break;
    case 4:
        keep(r);
        break;
    case 5:
        if (r->num_kept > 0)
            resume(r);
        break;
    default:
        take(r, check_random(12));
        break;
    }
}

/* --- what a history says of it -------------------------------------------- */

/* The step of a record is the walk's, on every rank. */
static void check_step(const history_walk *walk, const record *one)
{
    uint64_t out[BATCH];
    size_t count, all = 0, i;
    uint32_t rank;

    CHECK(history_served(walk, one->epoch, one->step));
    for (rank = 0; rank < one->world_size; rank++) {
        CHECK(history_at(walk, rank, one->epoch, one->step, out, &count) == 1);
        CHECK(count == one->counts[rank]);
        for (i = 0; i < count; i++)
            CHECK(out[i] == one->samples[all + i]);
        all += count;
    }
    CHECK(history_at(walk, one->world_size, one->epoch, one->step, out,
                     &count) < 0);
}

/* A sample of a record is found in a step that has it. */
static void check_sample(const history_walk *walk, const record *one)
{
    statesampler_place place;
    uint64_t out[BATCH];
    size_t count;
    int code = history_locate(walk, one->epoch, one->samples[0], &place);

    if (walk->sampler.run.order == STATESAMPLER_ORDER_REPLACEMENT) {
        CHECK(code == STATESAMPLER_EINVAL_REPLACEMENT);
        return;
    }
    if (code != STATESAMPLER_OK) /* a repeat: its first place was before */
        return;
    CHECK(history_at(walk, place.rank, one->epoch, place.step, out, &count) ==
          1);
    CHECK(place.slot < count && out[place.slot] == one->samples[0]);
}

/* The stretches have these steps, in this order, and no others. */
static size_t check_stretch(const history_walk *walk, size_t at)
{
    uint64_t epoch = walk->begin_epoch, step = walk->begin_step;
    uint64_t out[BATCH];
    size_t count;

    while (history_served(walk, epoch, step)) {
        if (history_at(walk, 0, epoch, step, out, &count) == 0) {
            epoch++; /* by the 0 of next */
            step = 0;
            continue;
        }
        CHECK(served[at].step == step);
        CHECK(walk->log.carry || served[at].epoch == epoch);
        check_step(walk, &served[at]);
        check_sample(walk, &served[at]);
        at++;
        step++;
    }
    return at;
}

static void check_walk(const run *r)
{
    history_walk walk;
    size_t at = 0;
    int code;

    history_open(&walk, &r->h.log, &r->s);
    while ((code = history_next(&walk)) == 1) {
        at = check_stretch(&walk, at);
        if (walk.kind == HISTORY_SEEK && walk.to_step > walk.end_step) {
            CHECK(history_skipped(&walk, walk.end_epoch, walk.end_step));
            CHECK(history_skipped(&walk, walk.end_epoch, walk.to_step - 1));
            CHECK(!history_skipped(&walk, walk.end_epoch, walk.to_step));
        } else if (walk.kind != HISTORY_EPOCH) {
            CHECK(!history_skipped(&walk, walk.end_epoch, walk.end_step));
        }
        CHECK(!history_served(&walk, walk.end_epoch, walk.end_step));
    }
    CHECK(code == 0 && history_next(&walk) == 0);
    CHECK(at == r->steps);
}

static void test_runs(int cases)
{
    static run r;
    int k, events;

    for (k = 0; k < cases; k++) {
        begin(&r);
        for (events = (int)check_random(EVENTS); events > 0; events--)
            act(&r);
        check_walk(&r);
    }
}

int main(int argc, char **argv)
{
    int reduced = check_reduced(argc, argv);

    test_runs(reduced ? 30 : 1000);
    return check_done("history");
}

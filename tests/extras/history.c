/* history.c - does examples/extras/history.h know each step of a run, through
   skips, other shapes, kills and older checkpoints, and refuse all else? */
#include "statesampler.h"
#include "examples/extras/history.h"

/* What a schedule does to the mix is noted. */
static history scheduled;
#define SCHEDULE_WEIGH(mix, weights) history_mix_weigh(&scheduled, mix, weights)
#define SCHEDULE_SEEK(mix, turn) history_mix_seek(&scheduled, mix, turn)
#define SCHEDULE_BEGIN(s, mix) begin_scheduled(s, mix)
struct schedule;
static int begin_scheduled(const struct schedule *s, statesampler_mix *mix);
#include "examples/extras/schedule.h"

#include "../check.h"

enum { EVENTS = 1000, STEPS = 20000, BATCH = 64, KEPT = 8 };

static int can_begin;

static int begin_scheduled(const schedule *s, statesampler_mix *mix)
{
    uint64_t epochs[100];

    CHECK(s->num_sources <= 100);
    if (!can_begin)
        return schedule_refuse_begin(s, mix);
    schedule_epochs(s, epochs);
    return history_mix_begin(&scheduled, mix, statesampler_mix_epoch(mix),
                             epochs);
}

/* A step that was served: its samples, rank by rank. */
typedef struct record {
    uint64_t epoch, step, position, samples[BATCH];
    uint32_t world_size, counts[BATCH];
} record;

static record served[STEPS];

static unsigned long noted; /* events */

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
    d->epoch = check_random(5) - 2; /* modulo 2^64 */
    d->tail = (uint32_t)check_random(TAILS);
    d->order = (uint32_t)check_random(ORDERS);
    d->chunk_size = 1 + check_random(5);
    d->window = 1 + check_random(4);
    d->partition = d->tail == STATESAMPLER_TAIL_CARRY
                       ? STATESAMPLER_PARTITION_INTERLEAVED
                       : (uint32_t)check_random(2);
    d->drop_last = d->tail != STATESAMPLER_TAIL_CARRY && check_random(4) == 0;
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
        one->position = statesampler_position(&r->s);
        one->world_size = r->desc.world_size;
        for (rank = 0; rank < one->world_size && more == 1; rank++) {
            statesampler other = r->s;

            CHECK(statesampler_reshape(&other, rank, r->desc.world_size,
                                       r->desc.batch_size) == STATESAMPLER_OK);
            more =
                statesampler_at(&other, one->step, one->samples + all, &count);
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
    const size_t before = r->h.log.size;

    switch (check_random(9)) {
    case 0:
        seek(r);
        break;
    case 1:
        CHECK(history_begin(&r->h, &r->s,
                            statesampler_epoch(&r->s) + check_random(3)) ==
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
    noted += r->h.log.size > before;
}

/* --- what a history says of it -------------------------------------------- */

/* The step of a record is the walk's, on every rank. */
static void check_step(const history_walk *walk, const record *one)
{
    uint64_t out[BATCH];
    size_t count, all = 0, i;
    uint32_t rank;

    CHECK(history_served(&walk->stretch, one->epoch, one->step));
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

/* The epoch of a sample: with CARRY a step may have those of many. */
static uint64_t epoch_of(const statesampler *s, uint64_t epoch,
                         uint64_t position, uint32_t rank, size_t slot)
{
    if (s->run.tail != STATESAMPLER_TAIL_CARRY)
        return epoch;
    return epoch + (position + rank + slot * s->run.shape.world_size) /
                       s->run.num_samples;
}

/* What is found is in a step that has it in that epoch. Returns 0 if it is not
   found. */
static size_t found, as_padding;

static int check_sample(const history_walk *walk, uint64_t epoch,
                        uint64_t sample)
{
    statesampler_place place;
    statesampler s = walk->sampler;
    uint64_t out[BATCH];
    size_t count;
    const int code = history_locate(walk, epoch, sample, &place);

    if (s.run.order == STATESAMPLER_ORDER_REPLACEMENT) {
        CHECK(code == STATESAMPLER_EINVAL_REPLACEMENT);
        return 1;
    }
    if (code != STATESAMPLER_OK)
        return 0;
    CHECK(history_served(&walk->stretch, epoch, place.step));
    CHECK(history_at(walk, place.rank, epoch, place.step, out, &count) == 1);
    CHECK(place.slot < count && out[place.slot] == sample);
    if (s.run.tail == STATESAMPLER_TAIL_CARRY) {
        CHECK(statesampler_seek(&s, place.step) == STATESAMPLER_OK);
        CHECK(epoch_of(&s, statesampler_epoch(&s), statesampler_position(&s),
                       place.rank, place.slot) == epoch);
    }
    found++;
    as_padding += place.position >= s.run.num_samples;
    return 1;
}

static void check_samples(const history_walk *walk, const record *one)
{
    const uint64_t *samples = one->samples;
    uint32_t rank;
    size_t slot;

    for (rank = 0; rank < one->world_size; rank++)
        for (slot = 0; slot < one->counts[rank]; slot++)
            CHECK(check_sample(walk,
                               epoch_of(&walk->sampler, one->epoch,
                                        one->position, rank, slot),
                               *samples++));
}

/* The stretches have these steps, in this order, and no others. */
static size_t check_stretch(const history_walk *walk, size_t at)
{
    uint64_t epoch = walk->stretch.begin_epoch, step = walk->stretch.begin_step;
    uint64_t out[BATCH];
    size_t count;

    while (history_served(&walk->stretch, epoch, step)) {
        if (history_at(walk, 0, epoch, step, out, &count) == 0) {
            epoch++; /* by the 0 of next */
            step = 0;
            continue;
        }
        CHECK(served[at].step == step);
        CHECK(walk->stretch.log.carry || served[at].epoch == epoch);
        check_step(walk, &served[at]);
        check_samples(walk, &served[at]);
        at++;
        step++;
    }
    for (step = 0; step < walk->sampler.run.num_samples; step++)
        (void)check_sample(walk,
                           check_random(2) ? walk->stretch.begin_epoch : epoch,
                           step);
    return at;
}

/* Only a seek forward, and the beginning of an epoch, skip. What was done at
   one place skips all steps from there to where the run went on, and no others:
   `left` is the first one that no stretch of these has skipped yet. */
static void check_skips(const history_stretch *one, uint64_t *left)
{
    const uint64_t epoch = one->from_epoch;
    uint64_t step, most;

    if (one->end_epoch == epoch && one->end_step == one->from_step)
        *left = one->from_step;
    most = *left + 20; /* no seek goes so far */
    for (step = *left < 20 ? 0 : *left - 20; step < most; step++)
        if (history_skipped(one, epoch, step)) {
            CHECK(step >= one->from_step && step >= one->end_step);
            CHECK(one->to_epoch != epoch || step < one->to_step);
            CHECK(one->kind == HISTORY_SEEK || one->kind == HISTORY_EPOCH);
            *left += step == *left;
        }
    if (one->kind != 0 && one->to_epoch == epoch &&
        one->at + history_event_at(&one->log, one->at).size == one->after)
        CHECK(*left >= one->to_step);
    CHECK(!history_served(one, one->end_epoch, one->end_step));
}

static void check_walk(const run *r)
{
    history_walk walk;
    uint64_t left = 0;
    size_t at = 0;
    int code;

    history_open(&walk, &r->h.log, statesampler_epoch(&r->s),
                 statesampler_step(&r->s));
    while ((code = history_next(&walk)) == 1) {
        at = check_stretch(&walk, at);
        check_skips(&walk.stretch, &left);
    }
    CHECK(code == 0 && history_next(&walk) == 0);
    CHECK(at == r->steps);
}

/* Runs that do from `least` to `most` things each. */
static void test_runs(int cases, int least, int most)
{
    static run r;
    int k, left;

    for (k = 0; k < cases; k++) {
        begin(&r);
        left = least + (int)check_random((uint64_t)(most - least));
        for (; left > 0; left--)
            act(&r);
        check_walk(&r);
    }
    CHECK(found > 10 * (size_t)cases);
}

/* --- the same for mixes --------------------------------------------------- */

enum { SOURCES = 5, MIX_STATE = STATESAMPLER_MIX_STATE_BYTES(SOURCES) };
enum { MIX_HISTORY = HISTORY_MIX_BYTES(SOURCES, EVENTS) };

typedef struct mix_checkpoint {
    unsigned char history[MIX_HISTORY], state[MIX_STATE];
    size_t size, steps;
    statesampler_desc desc[SOURCES];
} mix_checkpoint;

typedef struct mix_run {
    statesampler_desc desc[SOURCES];
    statesampler_source sources[SOURCES];
    statesampler_mix mix;
    uint32_t num_sources, stop;
    unsigned char memory[MIX_HISTORY];
    history h;
    size_t steps, found;
    mix_checkpoint kept[KEPT];
    size_t num_kept;
    /* for walks */
    statesampler_source other[SOURCES];
    uint32_t weights[SOURCES];
    unsigned char state[MIX_STATE];
} mix_run;

static uint32_t record_source[STEPS];

static void new_mix_shape(mix_run *r)
{
    const uint32_t world_size = 1 + (uint32_t)check_random(4);
    uint32_t i;

    for (i = 0; i < r->num_sources; i++) {
        r->desc[i].world_size = world_size;
        r->desc[i].batch_size = 1 + (uint32_t)check_random(3);
        r->desc[i].drop_last =
            r->desc[i].tail != STATESAMPLER_TAIL_CARRY && check_random(4) == 0;
    }
}

static uint32_t new_weight(void)
{
    return check_random(4) == 0 ? STATESAMPLER_OFF : (uint32_t)check_random(6);
}

/* Makes the samplers and the mix. Returns 0 if there is no such mix. */
static int start_mix(mix_run *r)
{
    uint32_t i;

    for (i = 0; i < r->num_sources; i++) {
        CHECK(statesampler_init(&r->sources[i].sampler, &r->desc[i]) ==
              STATESAMPLER_OK);
        r->sources[i].weight = 1 + i;
    }
    return statesampler_mix_init(&r->mix, r->sources, r->num_sources,
                                 r->stop) == STATESAMPLER_OK &&
           history_mix_init(&r->h, r->memory, sizeof r->memory, &r->mix) ==
               STATESAMPLER_OK;
}

static void begin_mix(mix_run *r)
{
    do {
        uint32_t i;

        r->num_sources = 1 + (uint32_t)check_random(SOURCES);
        r->stop = (uint32_t)check_random(STOPS);
        for (i = 0; i < r->num_sources; i++) {
            statesampler_desc *d = &r->desc[i];

            memset(d, 0, sizeof *d);
            d->num_samples = check_random(20);
            d->stream = i;
            d->epoch = check_random(5) - 2; /* modulo 2^64 */
            d->tail = (uint32_t)check_random(TAILS);
            if (r->stop != STATESAMPLER_STOP_NEVER || d->num_samples == 0)
                d->tail %= STATESAMPLER_TAIL_CARRY;
            d->partition = d->tail == STATESAMPLER_TAIL_CARRY
                               ? STATESAMPLER_PARTITION_INTERLEAVED
                               : (uint32_t)check_random(2);
        }
        new_mix_shape(r);
    } while (!start_mix(r) || statesampler_mix_num_turns(&r->mix) == 0);
    r->steps = r->num_kept = 0;
}

static void take_turns(mix_run *r, uint64_t turns)
{
    const uint32_t world_size = r->desc[0].world_size;

    for (; turns > 0 && r->steps < STEPS; turns--) {
        record *one = &served[r->steps];
        size_t count = 0, all = 0;
        uint32_t rank, source = 0;
        int more = 1;

        one->epoch = statesampler_mix_epoch(&r->mix);
        one->step = statesampler_mix_turn(&r->mix);
        one->world_size = world_size;
        for (rank = 0; rank < world_size && more == 1; rank++) {
            CHECK(statesampler_mix_reshape(&r->mix, rank, world_size) ==
                  STATESAMPLER_OK);
            more = statesampler_mix_at(&r->mix, one->step, one->samples + all,
                                       &count, &record_source[r->steps]);
            one->counts[rank] = (uint32_t)count;
            all += count;
        }
        CHECK(statesampler_mix_reshape(&r->mix, 0, world_size) ==
              STATESAMPLER_OK);
        CHECK(statesampler_mix_next(&r->mix, NULL, &count, &source) == more);
        CHECK(more == 0 || source == record_source[r->steps]);
        r->steps += more == 1;
    }
}

static void seek_turn(mix_run *r)
{
    const uint64_t now = statesampler_mix_turn(&r->mix);
    const size_t before = r->h.log.size;
    uint64_t to = now + check_random(9);
    int code;

    if (check_random(3) == 0)
        to = now - check_random(now + 1);
    code = history_mix_seek(&r->h, &r->mix, to);
    CHECK(code == STATESAMPLER_OK ||
          STATESAMPLER_KIND(code) == STATESAMPLER_ERANGE);
    CHECK(r->h.log.size ==
          before + (code == STATESAMPLER_OK && to != now ? 32 : 0));
}

static void weigh(mix_run *r)
{
    uint32_t weights[SOURCES], i;
    int code;

    for (i = 0; i < r->num_sources; i++)
        weights[i] = new_weight();
    code = history_mix_weigh(&r->h, &r->mix, weights);
    CHECK(code == STATESAMPLER_OK ||
          STATESAMPLER_KIND(code) == STATESAMPLER_EINVAL);
}

/* To any epochs, before those of now or after. */
static void begin_epochs(mix_run *r)
{
    const uint64_t epoch = check_random(9) - 4;
    const size_t before = r->h.log.size;
    uint64_t epochs[SOURCES];
    uint32_t i;

    for (i = 0; i < r->num_sources; i++)
        epochs[i] = check_random(9) - 4;
    for (i = 0; i < 2; i++) /* the second time it is there */
        CHECK(history_mix_begin(&r->h, &r->mix, epoch, epochs) ==
              STATESAMPLER_OK);
    CHECK(statesampler_mix_epoch(&r->mix) == epoch);
    CHECK(statesampler_mix_turn(&r->mix) == 0);
    CHECK(r->h.log.size <= before + 32 + 8 * r->num_sources);
    for (i = 0; i < r->num_sources; i++)
        CHECK(statesampler_epoch(&r->sources[i].sampler) == epochs[i]);
}

static void keep_mix(mix_run *r)
{
    const size_t size = statesampler_mix_state_bytes(&r->mix);
    mix_checkpoint *one;

    if (r->num_kept == KEPT) { /* the oldest goes */
        memmove(r->kept, r->kept + 1, (KEPT - 1) * sizeof *r->kept);
        r->num_kept--;
    }
    one = &r->kept[r->num_kept++];
    one->size = history_save(&r->h);
    memcpy(one->history, r->h.bytes, one->size);
    CHECK(statesampler_mix_save(&r->mix, one->state, size) == STATESAMPLER_OK);
    memcpy(one->desc, r->desc, sizeof one->desc);
    one->steps = r->steps;
}

static void resume_mix(mix_run *r)
{
    const size_t which = (size_t)check_random(r->num_kept);
    const mix_checkpoint *one = &r->kept[which];
    int code;

    r->num_kept = which + 1;
    memcpy(r->desc, one->desc, sizeof one->desc);
    if (check_random(2) == 0)
        new_mix_shape(r);
    if (start_mix(r))
        code =
            history_mix_load(&r->h, &r->mix, one->history, one->size,
                             one->state, statesampler_mix_state_bytes(&r->mix),
                             r->other, r->weights, r->state);
    else
        code = STATESAMPLER_EINVAL;
    if (code != STATESAMPLER_OK) { /* not in this shape */
        CHECK(STATESAMPLER_KIND(code) == STATESAMPLER_EINVAL);
        memcpy(r->desc, one->desc, sizeof one->desc);
        CHECK(start_mix(r));
        CHECK(history_mix_load(&r->h, &r->mix, one->history, one->size,
                               one->state,
                               statesampler_mix_state_bytes(&r->mix), r->other,
                               r->weights, r->state) == STATESAMPLER_OK);
    }
    r->steps = one->steps;
}

static void reshape_mix(mix_run *r)
{
    const uint32_t world_size = 1 + (uint32_t)check_random(4);
    uint32_t i;

    if (history_mix_reshape(&r->h, &r->mix, 0, world_size) != STATESAMPLER_OK)
        return;
    for (i = 0; i < r->num_sources; i++)
        r->desc[i].world_size = world_size;
}

static void act_mix(mix_run *r)
{
    const size_t before = r->h.log.size;

    switch (check_random(9)) {
    case 8:
        begin_epochs(r);
        break;
    case 0:
        seek_turn(r);
        break;
    case 1:
        weigh(r);
        break;
    case 2:
        reshape_mix(r);
        break;
    case 3:
        keep_mix(r);
        break;
    case 4:
        if (r->num_kept > 0)
            resume_mix(r);
        break;
    default:
        take_turns(r, check_random(25));
        break;
    }
    noted += r->h.log.size > before;
}

static void check_turn(history_mix_walk *walk, size_t at)
{
    const record *one = &served[at];
    uint64_t out[BATCH];
    uint32_t rank, source;
    size_t count, all = 0, i;

    CHECK(history_served(&walk->stretch, one->epoch, one->step));
    for (rank = 0; rank < one->world_size; rank++) {
        CHECK(history_mix_at(walk, rank, one->epoch, one->step, out, &count,
                             &source) == 1);
        CHECK(count == one->counts[rank] && source == record_source[at]);
        for (i = 0; i < count; i++)
            CHECK(out[i] == one->samples[all + i]);
        all += count;
    }
}

/* What is found is in a turn of the stretch that has it. Returns 0 if it is not
   found. */
static int find_mix_sample(history_mix_walk *walk, uint64_t epoch,
                           uint32_t source, uint64_t own, uint64_t sample)
{
    uint64_t out[BATCH], turn = 0;
    statesampler_place place;
    uint32_t other;
    size_t count;

    if (history_mix_locate(walk, epoch, source, own, sample, &turn, &place) !=
        STATESAMPLER_OK)
        return 0;
    CHECK(history_served(&walk->stretch, epoch, turn));
    CHECK(history_mix_at(walk, place.rank, epoch, turn, out, &count, &other) ==
          1);
    CHECK(other == source && place.slot < count);
    CHECK(out[place.slot] == sample);
    as_padding +=
        place.position >= walk->sources[source].sampler.run.num_samples;
    return 1;
}

/* A sample of a record is found in this epoch of its source. */
static void check_mix_sample(mix_run *r, history_mix_walk *walk, size_t at)
{
    const record *one = &served[at];
    const uint32_t source = record_source[at];
    const statesampler *s = &walk->sources[source].sampler;
    const uint32_t rank = (uint32_t)check_random(one->world_size);
    const uint64_t *sample = one->samples;
    uint64_t own, first, last, i;
    uint32_t other;
    size_t slot;

    if (one->counts[rank] == 0)
        return;
    for (other = 0; other < rank; other++)
        sample += one->counts[other];
    slot = (size_t)check_random(one->counts[rank]);
    /* The epoch of the source in that turn. */
    CHECK(history_mix_again(walk) == STATESAMPLER_OK);
    CHECK(history_mix_go(walk, one->epoch, one->step) == STATESAMPLER_OK);
    own = epoch_of(s, statesampler_epoch(s), statesampler_position(s), rank,
                   slot);
    CHECK(statesampler_mix_next(&walk->mix, NULL, NULL, &other) == 1);
    if (s->run.tail != STATESAMPLER_TAIL_CARRY)
        own = statesampler_epoch(s);
    CHECK(history_mix_again(walk) == STATESAMPLER_OK);
    CHECK(history_mix_epochs(walk, one->epoch, source, &first, &last) ==
          STATESAMPLER_OK);
    CHECK(own - first <= last - first);
    CHECK(history_mix_epochs(walk, one->epoch, r->num_sources, &first, &last) ==
          STATESAMPLER_ERANGE_SOURCE);
    CHECK(find_mix_sample(walk, one->epoch, source, own, sample[slot]));
    for (i = 0; i < s->run.num_samples; i++)
        (void)find_mix_sample(walk, one->epoch, source, own, i);
    r->found++;
}

/* The turns of a stretch, in order; and then some of them in any order. */
static size_t check_turns(mix_run *r, history_mix_walk *walk, size_t at)
{
    uint64_t epoch = walk->stretch.begin_epoch;
    uint64_t turn = walk->stretch.begin_step, out[BATCH];
    const size_t first = at;
    uint32_t source;
    size_t count;
    int i;

    while (history_served(&walk->stretch, epoch, turn)) {
        if (history_mix_at(walk, 0, epoch, turn, out, &count, &source) == 0) {
            epoch++;
            turn = 0;
            continue;
        }
        CHECK(served[at].step == turn && served[at].epoch == epoch);
        check_turn(walk, at++);
        turn++;
    }
    for (i = 0; i < 3 && at > first; i++) {
        check_turn(walk, first + (size_t)check_random(at - first));
        check_mix_sample(r, walk, first + (size_t)check_random(at - first));
    }
    CHECK(history_mix_again(walk) == STATESAMPLER_OK);
    return at;
}

/* Some turns of some stretches, in a walk that passes over the others. begins:
   the first record of each stretch. Returns for how many the mix was left
   behind. */
static size_t check_some(mix_run *r, const size_t *begins, size_t stretches)
{
    history_mix_walk walk;
    size_t i, passed = 0;

    history_mix_open(&walk, &r->h.log, statesampler_mix_epoch(&r->mix),
                     statesampler_mix_turn(&r->mix), r->other, r->weights,
                     r->state);
    for (i = 0; i < stretches; i++) {
        const size_t first = begins[i];
        const size_t records = begins[i + 1] - first;

        CHECK(history_mix_next(&walk) == 1);
        passed += walk.behind != 0;
        if (records == 0 || check_random(6) != 0)
            continue;
        check_turn(&walk, first + (size_t)check_random(records));
        check_mix_sample(r, &walk, first + (size_t)check_random(records));
    }
    CHECK(history_mix_next(&walk) == 0);
    return passed;
}

static void test_mixes(int cases, int least, int most)
{
    static mix_run r;
    static size_t begins[EVENTS + 2];
    history_mix_walk walk;
    size_t passed = 0;
    int k, left, code;

    as_padding = 0;

    for (k = 0; k < cases; k++) {
        size_t at = 0, stretches = 0;
        uint64_t skipped = 0;

        begin_mix(&r);
        left = least + (int)check_random((uint64_t)(most - least));
        for (; left > 0; left--)
            act_mix(&r);
        history_mix_open(&walk, &r.h.log, statesampler_mix_epoch(&r.mix),
                         statesampler_mix_turn(&r.mix), r.other, r.weights,
                         r.state);
        while ((code = history_mix_next(&walk)) == 1) {
            begins[stretches++] = at;
            at = check_turns(&r, &walk, at);
            check_skips(&walk.stretch, &skipped);
        }
        CHECK(code == 0 && history_mix_next(&walk) == 0);
        CHECK(at == r.steps);
        begins[stretches] = at;
        passed += check_some(&r, begins, stretches);
    }
    CHECK(r.found > (size_t)cases);
    CHECK(passed > (size_t)cases / 40 || cases < 30);
}

/* Four blocks of one or two samples, on four ranks and then on one: the last
   three turns are padding, and the last stretch has one of them. */
static void test_mix_padding(void)
{
    static mix_run r;
    history_mix_walk walk;
    statesampler_place place;
    uint64_t sample, turn = 0;
    int left = 0;

    memset(&r, 0, sizeof r);
    r.num_sources = 1;
    r.stop = STATESAMPLER_STOP_NEVER;
    r.desc[0].num_samples = 5;
    r.desc[0].partition = STATESAMPLER_PARTITION_BLOCKED;
    r.desc[0].world_size = 4;
    CHECK(start_mix(&r));
    take_turns(&r, 1);
    CHECK(history_mix_reshape(&r.h, &r.mix, 0, 1) == STATESAMPLER_OK);
    r.desc[0].world_size = 1;
    take_turns(&r, 2);
    CHECK(history_mix_seek(&r.h, &r.mix, 4) == STATESAMPLER_OK);
    take_turns(&r, 1);
    history_mix_open(&walk, &r.h.log, 0, 5, r.other, r.weights, r.state);
    do {
        CHECK(history_mix_next(&walk) == 1);
    } while (walk.stretch.kind != 0);
    for (sample = 0; sample < 5; sample++)
        if (history_mix_locate(&walk, 0, 0, 0, sample, &turn, &place) ==
            STATESAMPLER_OK) {
            CHECK(turn == 4 && place.position == 7);
            CHECK(sample == served[3].samples[0]);
            left++;
        }
    CHECK(left == 1);
}

/* --- stages of many sources ----------------------------------------------- */

enum { MANY = 70, STAGES = 60, STAGE_TURNS = 3000 };

typedef struct stage_run {
    statesampler_source sources[MANY], other[MANY];
    statesampler_mix mix;
    history h;
    unsigned char memory[HISTORY_MIX_BYTES(MANY, 2 * STAGES)];
    uint32_t weights[MANY], other_weights[MANY];
    unsigned char state[STATESAMPLER_MIX_STATE_BYTES(MANY)];
    /* What was served, and the first record of each stretch. */
    uint32_t source[STAGES * STAGE_TURNS];
    uint64_t sample[STAGES * STAGE_TURNS];
    uint64_t epoch[STAGES * STAGE_TURNS], turn[STAGES * STAGE_TURNS];
    size_t begins[2 * STAGES + 2], stretches, records;
} stage_run;

/* So many turns, with the ends of epochs. */
static void serve_stage(stage_run *r, uint64_t turns)
{
    size_t count;

    for (; turns > 0; turns--) {
        r->epoch[r->records] = statesampler_mix_epoch(&r->mix);
        r->turn[r->records] = statesampler_mix_turn(&r->mix);
        if (statesampler_mix_next(&r->mix, &r->sample[r->records], &count,
                                  &r->source[r->records]) == 1) {
            CHECK(count == 1);
            r->records++;
        }
    }
}

/* With sources of up to so many samples. */
static void begin_stages_of(stage_run *r, uint32_t stop, uint64_t samples)
{
    const uint32_t num_sources = 1 + (uint32_t)check_random(MANY);
    const uint32_t world_size = 1 + (uint32_t)check_random(3);
    uint32_t i;

    for (i = 0; i < num_sources; i++) {
        statesampler_desc d;

        memset(&d, 0, sizeof d);
        d.num_samples = 1 + check_random(samples);
        d.stream = i;
        d.world_size = world_size;
        if (stop == STATESAMPLER_STOP_NEVER && check_random(4) == 0)
            d.tail = STATESAMPLER_TAIL_CARRY;
        CHECK(statesampler_init(&r->sources[i].sampler, &d) == STATESAMPLER_OK);
        r->sources[i].weight = 1;
    }
    CHECK(statesampler_mix_init(&r->mix, r->sources, num_sources, stop) ==
          STATESAMPLER_OK);
    CHECK(history_mix_init(&r->h, r->memory, sizeof r->memory, &r->mix) ==
          STATESAMPLER_OK);
    r->begins[0] = r->records = 0;
    r->stretches = 1;
}

static void begin_stages(stage_run *r)
{
    begin_stages_of(r, STATESAMPLER_STOP_NEVER, 9);
}

/* Other weights, of which a source may have most, and perhaps a seek. */
static void take_stage(stage_run *r)
{
    const size_t before = r->h.log.size;
    uint64_t period = 0, turns;
    uint32_t i;

    for (i = 0; i < r->mix.num_sources; i++)
        r->weights[i] =
            check_random(4) ? 1 + (uint32_t)check_random(9) : STATESAMPLER_OFF;
    i = (uint32_t)check_random(r->mix.num_sources);
    r->weights[i] = check_random(3) ? 3 : 1 + (uint32_t)check_random(1 << 20);
    CHECK(history_mix_weigh(&r->h, &r->mix, r->weights) == STATESAMPLER_OK);
    if (r->h.log.size != before)
        r->begins[r->stretches++] = r->records;
    for (i = 0; i < r->mix.num_sources; i++)
        if (r->weights[i] != STATESAMPLER_OFF)
            period += r->weights[i];
    turns = check_random(STAGE_TURNS / 2);
    if (check_random(3) == 0 && 2 * period < STAGE_TURNS / 2)
        turns = period * (1 + check_random(2));
    serve_stage(r, turns);
    if (check_random(4) == 0 && turns > 0) {
        const size_t now = r->h.log.size;

        turns = statesampler_mix_turn(&r->mix) + 2 * check_random(9);
        (void)history_mix_seek(&r->h, &r->mix, turns > 0 ? turns - 1 : 0);
        if (r->h.log.size != now) /* not past the epoch's end */
            r->begins[r->stretches++] = r->records;
        serve_stage(r, check_random(STAGE_TURNS / 2));
    }
}

/* Opens a walk, and one that will move the mix over each stretch. */
static void open_two(history_mix_walk *walk, history_mix_walk *moved,
                     stage_run *r)
{
    static statesampler_source sources[MANY];
    static unsigned char state[sizeof r->state];
    static uint32_t weights[MANY];
    const uint64_t epoch = statesampler_mix_epoch(&r->mix);
    const uint64_t turn = statesampler_mix_turn(&r->mix);

    history_mix_open(walk, &r->h.log, epoch, turn, r->other, r->other_weights,
                     r->state);
    history_mix_open(moved, &r->h.log, epoch, turn, sources, weights, state);
}

/* Its next stretch. */
static int next_moved(history_mix_walk *moved)
{
    moved->stage = STATESAMPLER_NONE;
    return history_mix_next(moved);
}

/* One of the stretch's records is as it was served. */
static void check_stage_turn(const stage_run *r, history_mix_walk *walk,
                             size_t stretch)
{
    const size_t records = r->begins[stretch + 1] - r->begins[stretch];
    size_t at = r->begins[stretch], count;
    uint64_t sample = 0;
    uint32_t source = 0;

    if (records == 0)
        return;
    at += (size_t)check_random(records);
    CHECK(history_served(&walk->stretch, r->epoch[at], r->turn[at]));
    CHECK(history_mix_at(walk, 0, r->epoch[at], r->turn[at], &sample, &count,
                         &source) == 1);
    CHECK(sample == r->sample[at] && source == r->source[at]);
}

/* Where a sample was served does not depend on whether the walk has passed over
   the stretch; perhaps it is one of the stretch's samples. */
static void check_stage_sample(const stage_run *r, history_mix_walk *walk,
                               history_mix_walk *moved, size_t stretch)
{
    const size_t records = r->begins[stretch + 1] - r->begins[stretch];
    const uint64_t epoch = walk->stretch.begin_epoch;
    uint32_t source = (uint32_t)check_random(r->mix.num_sources);
    uint64_t sample = check_random(20), first, last, own, other, turn = 0,
             its = 0;
    statesampler_place place, same;
    int code;

    if (records != 0 && check_random(4) != 0) {
        const size_t at = r->begins[stretch] + (size_t)check_random(records);

        source = r->source[at];
        sample = r->sample[at];
    }
    CHECK(history_mix_epochs(walk, epoch, source, &first, &last) ==
          STATESAMPLER_OK);
    CHECK(history_mix_epochs(moved, epoch, source, &own, &other) ==
          STATESAMPLER_OK);
    CHECK(own == first && other == last);
    own += check_random(last - first + 2);
    memset(&place, 0, sizeof place);
    memset(&same, 0, sizeof same);
    code = history_mix_locate(walk, epoch, source, own, sample, &turn, &place);
    if (history_mix_locate(moved, epoch, source, own, sample, &its, &same) ==
        STATESAMPLER_OK)
        CHECK(code == STATESAMPLER_OK);
    else
        CHECK(STATESAMPLER_KIND(code) == STATESAMPLER_ERANGE);
    CHECK(turn == its && memcmp(&place, &same, sizeof place) == 0);
}

/* Whatever is asked is as it was served, though the walk has passed over most
   stages. Returns how many. */
static size_t check_stages(stage_run *r)
{
    history_mix_walk walk, moved;
    size_t i, passed = 0;
    int n;

    open_two(&walk, &moved, r);
    for (i = 0; i < r->stretches; i++) {
        CHECK(history_mix_next(&walk) == 1);
        CHECK(next_moved(&moved) == 1);
        passed += walk.behind != 0;
        for (n = (int)check_random(5); n > 3; n--)
            check_stage_turn(r, &walk, i);
        for (n = (int)check_random(4); n > 0; n--)
            check_stage_sample(r, &walk, &moved, i);
    }
    CHECK(history_mix_next(&walk) == 0);
    return passed;
}

static void test_many_sources(int cases)
{
    static const uint64_t samples[3] = {9, 900, 90000};
    static stage_run r;
    static unsigned char state[sizeof r.state];
    size_t passed[STOPS] = {0}, stretches[STOPS] = {0};
    history_mix_walk walk;
    uint32_t stop;
    int k;

    for (k = 0; k < cases; k++) {
        const size_t size = STATESAMPLER_MIX_STATE_BYTES(MANY);
        int stages = 1 + (int)check_random(STAGES);

        stop = (uint32_t)check_random(STOPS);
        begin_stages_of(&r, stop, samples[check_random(3)]);
        for (; stages > 0; stages--)
            take_stage(&r);
        r.begins[r.stretches] = r.records;
        stretches[stop] += r.stretches;
        passed[stop] += check_stages(&r);
        CHECK(statesampler_mix_save(&r.mix, state, size) == STATESAMPLER_OK);
        history_mix_open(&walk, &r.h.log, statesampler_mix_epoch(&r.mix),
                         statesampler_mix_turn(&r.mix), r.other,
                         r.other_weights, r.state);
        CHECK(history_mix_check_end(&walk, state,
                                    statesampler_mix_state_bytes(&r.mix)) ==
              STATESAMPLER_OK);
    }
    for (stop = 0; stop < STOPS; stop++)
        CHECK(passed[stop] > stretches[stop] / 8 || cases < 30);
}

/* Changes an event: where it happened, the turn sought, or weights. */
static void forge_stage(stage_run *r)
{
    unsigned char *const bytes = r->memory;
    size_t at = 16 + history_state_bytes(&r->h.log), before = 0;
    int left = (int)check_random(r->stretches);
    history_event event = history_event_at(&r->h.log, at);
    uint32_t i;

    for (; left > 0; left--) {
        before = at;
        at += event.size;
        event = history_event_at(&r->h.log, at);
    }
    switch (check_random(event.kind == HISTORY_WEIGHTS ? 5 : 2)) {
    case 0:
        history_store(bytes + at + 16, event.step + check_random(900) - 200);
        break;
    case 1:
        history_store(bytes + at + 24,
                      history_word(event.words) + check_random(900) - 200);
        break;
    case 2: /* those of the event before, which change nothing */
        if (bytes[before] == HISTORY_WEIGHTS)
            memcpy(bytes + at + 24, bytes + before + 24, event.size - 24);
        break;
    default: /* a weight */
        i = (uint32_t)check_random(r->mix.num_sources);
        memset(bytes + at + 24 + 4 * i, check_random(2) ? 0 : 127,
               1 + (size_t)check_random(4));
        break;
    }
}

/* A walk that passes over stages refuses what one that does not refuses, and in
   the same place; or it ends in the same state. Returns 1 if they refuse. */
static int check_forged_stages(stage_run *r)
{
    static unsigned char state[sizeof r->state];
    history_mix_walk walk, moved;
    int code, same;

    open_two(&walk, &moved, r);
    do {
        code = next_moved(&moved);
        CHECK(history_mix_next(&walk) == code);
        CHECK(code != 1 || walk.stretch.end_step == moved.stretch.end_step);
    } while (code == 1 && walk.stretch.kind != 0);
    if (code < 0)
        return 1;
    code =
        history_mix_go(&moved, moved.stretch.end_epoch, moved.stretch.end_step);
    (void)statesampler_mix_save(&moved.mix, state, sizeof state);
    same = history_mix_ends_in(&walk, state,
                               statesampler_mix_state_bytes(&walk.mix));
    CHECK(same == (code == STATESAMPLER_OK ? code : HISTORY_EOTHER));
    return code != STATESAMPLER_OK;
}

static void test_forged_stages(int cases)
{
    static stage_run r;
    int k, refused = 0;

    for (k = 0; k < cases; k++) {
        int stages = 1 + (int)check_random(9);

        begin_stages_of(&r, (uint32_t)check_random(STOPS),
                        check_random(2) ? 90 : 9000);
        for (; stages > 0; stages--)
            take_stage(&r);
        for (stages = 1 + (int)check_random(3); stages > 0; stages--)
            forge_stage(&r);
        refused += check_forged_stages(&r);
    }
    CHECK(refused > cases / 8 && refused < cases * 7 / 8);
}

/* Stages that have more turns together than the weights of a mix. */
static void test_long_stages(void)
{
    static stage_run r;
    static unsigned char state[sizeof r.state];
    const uint32_t weights[2][2] = {{1, 2}, {5, 1}};
    const size_t size = STATESAMPLER_MIX_STATE_BYTES(2);
    history_mix_walk walk;
    uint64_t stage;
    uint32_t i;

    for (i = 0; i < 2; i++) {
        statesampler_desc d;

        memset(&d, 0, sizeof d);
        d.num_samples = 1000;
        CHECK(statesampler_init(&r.sources[i].sampler, &d) == STATESAMPLER_OK);
        r.sources[i].weight = 1;
    }
    CHECK(statesampler_mix_init(&r.mix, r.sources, 2,
                                STATESAMPLER_STOP_NEVER) == STATESAMPLER_OK);
    CHECK(history_mix_init(&r.h, r.memory, sizeof r.memory, &r.mix) ==
          STATESAMPLER_OK);
    for (stage = 1; stage < 12; stage++) {
        CHECK(history_mix_weigh(&r.h, &r.mix, weights[stage % 2]) ==
              STATESAMPLER_OK);
        CHECK(statesampler_mix_seek(&r.mix, stage << 30) == STATESAMPLER_OK);
    }
    CHECK(statesampler_mix_save(&r.mix, state, size) == STATESAMPLER_OK);
    history_mix_open(&walk, &r.h.log, 0, statesampler_mix_turn(&r.mix), r.other,
                     r.other_weights, r.state);
    CHECK(history_mix_check_end(&walk, state, size) == STATESAMPLER_OK);
}

static uint32_t three_turns(schedule *s, uint64_t turn, void *context)
{
    uint32_t i;

    (void)context;
    for (i = 0; i < s->num_sources; i++)
        s->sources[i].share = 1 + (double)((turn + i) % 4);
    return 3;
}

/* A seek over stages is noted as many events, which are one skip: to the turn
   that was asked for. So is another seek from there. */
static void check_one_skip(stage_run *r, schedule *s)
{
    history_mix_walk walk;
    uint64_t from;
    int skips = 0;

    CHECK(schedule_follow(s, &r->mix, three_turns, NULL) == STATESAMPLER_OK);
    serve_stage(r, 1);
    from = statesampler_mix_turn(&r->mix);
    CHECK(schedule_seek(s, &r->mix, from + 50, three_turns, NULL) ==
          STATESAMPLER_OK);
    CHECK(schedule_seek(s, &r->mix, from + 70, three_turns, NULL) ==
          STATESAMPLER_OK);
    history_mix_open(&walk, &scheduled.log, 0, from + 70, r->other,
                     r->other_weights, r->state);
    while (history_mix_next(&walk) == 1) {
        const history_stretch *one = &walk.stretch;
        uint64_t turn;

        for (turn = 0; turn < from + 99; turn++)
            if (history_skipped(one, 0, turn)) {
                CHECK(one->from_step == from && one->to_step == from + 70);
                skips++;
            }
    }
    CHECK(skips == 70);
}

/* The history of a schedule has each of its stages. It has no begin, so that no
   seek goes back to an earlier stage. */
static void test_schedule(void)
{
    static stage_run r;
    static schedule_source shares[MANY];
    history_mix_walk walk;
    schedule s;
    size_t i, size, count;
    uint64_t sample = 0;
    uint32_t source = 0;

    begin_stages(&r);
    scheduled = r.h;
    schedule_init(&s, shares, r.weights, r.mix.num_sources);
    CHECK(schedule_set_start(&s, &r.mix) == STATESAMPLER_OK);
    for (i = 0; i < 100; i++) {
        CHECK(schedule_follow(&s, &r.mix, three_turns, NULL) ==
              STATESAMPLER_OK);
        serve_stage(&r, 1);
    }
    size = scheduled.log.size;
    CHECK(schedule_seek(&s, &r.mix, 98, three_turns, NULL) == SCHEDULE_ETURN);
    CHECK(size == scheduled.log.size && statesampler_mix_turn(&r.mix) == 100);
    CHECK(schedule_seek(&s, &r.mix, 99, three_turns, NULL) == STATESAMPLER_OK);
    CHECK(scheduled.log.size == size + 32);
    history_mix_open(&walk, &scheduled.log, 0, 99, r.other, r.other_weights,
                     r.state);
    for (i = 0; history_mix_next(&walk) == 1;)
        for (; i < 100 && history_served(&walk.stretch, 0, i); i++) {
            CHECK(history_mix_at(&walk, 0, 0, i, &sample, &count, &source) ==
                  1);
            CHECK(sample == r.sample[i] && source == r.source[i]);
        }
    CHECK(i == 100);
    check_one_skip(&r, &s);
}

static uint32_t hundred_turns(schedule *s, uint64_t turn, void *context)
{
    (void)three_turns(s, turn / 100, context);
    return 100;
}

/* Where a history was begun in mid-run, a seek to before it begins the mix
   again, in the present stage as in an earlier one. */
static void test_schedule_begun_again(void)
{
    const uint64_t turns[3] = {1049, 1000, 530};
    static stage_run r;
    static schedule_source shares[MANY];
    schedule s;
    int i;

    for (i = 0; i < 6; i++) {
        const uint64_t turn = turns[i / 2];
        uint64_t sample = 0, straight = 1;
        uint32_t source = 0, its = 1;
        size_t count;

        begin_stages(&r);
        scheduled = r.h;
        schedule_init(&s, shares, r.weights, r.mix.num_sources);
        CHECK(schedule_set_start(&s, &r.mix) == STATESAMPLER_OK);
        CHECK(schedule_seek(&s, &r.mix, turn, hundred_turns, NULL) ==
              STATESAMPLER_OK);
        CHECK(schedule_follow(&s, &r.mix, hundred_turns, NULL) ==
              STATESAMPLER_OK);
        CHECK(statesampler_mix_next(&r.mix, &straight, &count, &its) == 1);
        CHECK(schedule_seek(&s, &r.mix, 1050, hundred_turns, NULL) ==
              STATESAMPLER_OK);
        CHECK(history_mix_init(&scheduled, r.memory, sizeof r.memory, &r.mix) ==
              STATESAMPLER_OK);
        can_begin = i % 2;
        if (!can_begin) {
            CHECK(schedule_seek(&s, &r.mix, turn, hundred_turns, NULL) ==
                  SCHEDULE_ETURN);
            CHECK(statesampler_mix_turn(&r.mix) == 1050);
            continue;
        }
        CHECK(schedule_seek(&s, &r.mix, turn, hundred_turns, NULL) ==
              STATESAMPLER_OK);
        CHECK(schedule_follow(&s, &r.mix, hundred_turns, NULL) ==
              STATESAMPLER_OK);
        CHECK(statesampler_mix_next(&r.mix, &sample, &count, &source) == 1);
        CHECK(sample == straight && source == its);
    }
    can_begin = 0;
}

/* Two turns, and a seek over stages. */
static int seek_over(stage_run *r, schedule *s, schedule_source *shares,
                     size_t room)
{
    int i;

    schedule_init(s, shares, r->weights, r->mix.num_sources);
    for (i = 0; i < 2; i++) {
        CHECK(schedule_follow(s, &r->mix, three_turns, NULL) ==
              STATESAMPLER_OK);
        serve_stage(r, 1);
    }
    scheduled.capacity = scheduled.log.size + 8 + room;
    return schedule_seek(s, &r->mix, 31, three_turns, NULL);
}

/* Where the history becomes full the schedule stays with its mix, so that with
   more memory the seek leads where it leads else. */
static void test_full_schedule(void)
{
    static stage_run r, other;
    static schedule_source shares[MANY], others[MANY];
    unsigned char state[SCHEDULE_BYTES(MANY)], same[SCHEDULE_BYTES(MANY)];
    schedule s, wanted;
    size_t room;
    int code, full = 0;

    for (room = 0; room < 1024; room += 8) {
        begin_stages(&r);
        memcpy(other.sources, r.sources, sizeof r.sources);
        other.records = 0;
        CHECK(
            statesampler_mix_init(&other.mix, other.sources, r.mix.num_sources,
                                  STATESAMPLER_STOP_NEVER) == STATESAMPLER_OK);
        CHECK(history_mix_init(&other.h, other.memory, sizeof other.memory,
                               &other.mix) == STATESAMPLER_OK);
        scheduled = other.h;
        CHECK(seek_over(&other, &wanted, others, 10000) == STATESAMPLER_OK);
        serve_stage(&other, 2);
        scheduled = r.h;
        code = seek_over(&r, &s, shares, room);
        if (code != STATESAMPLER_OK) {
            CHECK(code == HISTORY_EFULL);
            full++;
            scheduled.capacity = sizeof r.memory;
            CHECK(schedule_check(&s, &r.mix) == STATESAMPLER_OK);
            CHECK(schedule_seek(&s, &r.mix, 31, three_turns, NULL) ==
                  STATESAMPLER_OK);
        }
        serve_stage(&r, 2);
        CHECK(memcmp(r.sample, other.sample, 4 * sizeof *r.sample) == 0);
        CHECK(memcmp(r.source, other.source, 4 * sizeof *r.source) == 0);
        CHECK(schedule_save(&s, state, sizeof state) == STATESAMPLER_OK);
        CHECK(schedule_save(&wanted, same, sizeof same) == STATESAMPLER_OK);
        CHECK(memcmp(state, same, SCHEDULE_BYTES(r.mix.num_sources)) == 0);
    }
    CHECK(full > 10);
}

/* A turn that finds the history full changes nothing, so that with more memory,
   and after a seek back to its stage's first turn, too, the run goes on. */
static void test_full_stage(void)
{
    static stage_run r;
    static schedule_source shares[MANY];
    const uint64_t turns = 3;
    schedule s;

    do /* one source alone has the same weights in each stage */
        begin_stages(&r);
    while (r.mix.num_sources == 1);
    scheduled = r.h;
    schedule_init(&s, shares, r.weights, r.mix.num_sources);
    for (; statesampler_mix_turn(&r.mix) < turns; serve_stage(&r, 1))
        CHECK(schedule_follow(&s, &r.mix, three_turns, NULL) ==
              STATESAMPLER_OK);
    scheduled.capacity = scheduled.log.size + 8;
    CHECK(schedule_follow(&s, &r.mix, three_turns, NULL) == HISTORY_EFULL);
    CHECK(s.begin == 0 && s.end == turns);
    scheduled.capacity = sizeof r.memory;
    CHECK(schedule_seek(&s, &r.mix, 0, three_turns, NULL) == STATESAMPLER_OK);
    r.records = 0;
    for (; statesampler_mix_turn(&r.mix) < 5 * turns; serve_stage(&r, 1))
        CHECK(schedule_follow(&s, &r.mix, three_turns, NULL) ==
              STATESAMPLER_OK);
}

/* --- what is refused ------------------------------------------------------ */

/* A run that seeks until its history is full does nothing then. */
static void test_full(void)
{
    static unsigned char small[HISTORY_BYTES(3)], saved[HISTORY_BYTES(3)];
    unsigned char state[STATESAMPLER_STATE_BYTES];
    statesampler_desc d;
    statesampler s, before;
    history h;
    size_t size;
    int i;

    memset(&d, 0, sizeof d);
    d.num_samples = 1000;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(history_init(&h, small, HISTORY_BYTES(0) - 1, &s) ==
          STATESAMPLER_ECAPACITY);
    CHECK(history_init(&h, small, sizeof small, &s) == STATESAMPLER_OK);
    CHECK(history_seek(&h, &s, 1001) == STATESAMPLER_ERANGE_END);
    CHECK(history_reshape(&h, &s, 2, 2, 1) == STATESAMPLER_EINVAL_RANK);
    CHECK(history_resize(&h, &s, 2000) == STATESAMPLER_EINVAL_RESIZE);
    CHECK(h.log.size == HISTORY_BYTES(0) - 8);
    for (i = 1; history_seek(&h, &s, 10 * (uint64_t)i) == STATESAMPLER_OK; i++)
        ;
    CHECK(i >= 4 && i <= 5);
    CHECK(statesampler_step(&s) == 10 * (uint64_t)(i - 1));
    before = s;
    CHECK(history_seek(&h, &s, 999) == HISTORY_EFULL);
    CHECK(history_begin(&h, &s, 5) == HISTORY_EFULL);
    CHECK(history_reshape(&h, &s, 0, 2, 1) == HISTORY_EFULL);
    /* What changes nothing needs no room. */
    CHECK(history_seek(&h, &s, statesampler_step(&s)) == STATESAMPLER_OK);
    CHECK(history_reshape(&h, &s, 0, 1, 1) == STATESAMPLER_OK);
    CHECK(history_resize(&h, &s, 1000) == STATESAMPLER_OK);
    CHECK(memcmp(&before, &s, sizeof s) == 0);
    size = history_save(&h);
    CHECK(size <= sizeof small);
    memcpy(saved, small, size);
    CHECK(statesampler_save(&s, state, sizeof state) == STATESAMPLER_OK);
    CHECK(history_load(&h, &s, saved, size, state, sizeof state) ==
          STATESAMPLER_OK);
    CHECK(history_save(&h) == size && memcmp(saved, small, size) == 0);
    /* A new shape does. */
    d.world_size = 2;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(history_load(&h, &s, saved, size, state, sizeof state) ==
          HISTORY_EFULL);
    CHECK(history_save(&h) == size && memcmp(saved, small, size) == 0);
}

/* A history with a right check word, whose second event is before the place to
   which the first has led. */
static void test_forged_order(void)
{
    static unsigned char memory[HISTORY_BYTES(3)], saved[HISTORY_BYTES(3)];
    const size_t second = 16 + STATESAMPLER_STATE_BYTES + 40 + 32;
    unsigned char state[STATESAMPLER_STATE_BYTES];
    statesampler_desc d;
    statesampler s;
    uint64_t step;
    history h;
    size_t size;

    memset(&d, 0, sizeof d);
    d.num_samples = 1000;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(history_init(&h, memory, sizeof memory, &s) == STATESAMPLER_OK);
    for (step = 300; step <= 500; step += 200) {
        CHECK(history_seek(&h, &s, step) == STATESAMPLER_OK);
        CHECK(statesampler_seek(&s, step + 100) == STATESAMPLER_OK);
    }
    size = history_save(&h);
    memcpy(saved, memory, size);
    CHECK(statesampler_save(&s, state, sizeof state) == STATESAMPLER_OK);
    CHECK(history_load(&h, &s, saved, size, state, sizeof state) ==
          STATESAMPLER_OK);
    CHECK(history_word(saved + second + 16) == 400);
    history_store(saved + second + 16, 299);
    history_store(saved + size - 8, statesampler_hash(0, saved, size - 8));
    CHECK(history_load(&h, &s, saved, size, state, sizeof state) ==
          HISTORY_EORDER);
    history_store(saved + second + 16, 300);
    history_store(saved + size - 8, statesampler_hash(0, saved, size - 8));
    CHECK(history_load(&h, &s, saved, size, state, sizeof state) ==
          STATESAMPLER_OK);
}

/* The same of a mix. */
static void test_full_mix(void)
{
    static unsigned char small[HISTORY_MIX_BYTES(2, 2)];
    static unsigned char saved[HISTORY_MIX_BYTES(2, 2)];
    unsigned char state[STATESAMPLER_MIX_STATE_BYTES(2)];
    unsigned char scratch[STATESAMPLER_MIX_STATE_BYTES(2)];
    static statesampler_source sources[2], own[2];
    const uint32_t weights[2] = {1, 3}, others[2] = {5, 1};
    const uint64_t epochs[2] = {0, 0};
    uint32_t of_walk[2];
    statesampler_desc d;
    statesampler_mix mix;
    history h;
    uint64_t turn = 7;
    size_t size;

    memset(&d, 0, sizeof d);
    d.num_samples = 1000;
    CHECK(statesampler_init(&sources[0].sampler, &d) == STATESAMPLER_OK);
    d.stream = 1;
    CHECK(statesampler_init(&sources[1].sampler, &d) == STATESAMPLER_OK);
    sources[0].weight = 1;
    sources[1].weight = 3;
    CHECK(statesampler_mix_init(&mix, sources, 2, STATESAMPLER_STOP_FIRST) ==
          STATESAMPLER_OK);
    CHECK(history_mix_init(&h, small, sizeof small, &mix) == STATESAMPLER_OK);
    CHECK(history_mix_begin(&h, &mix, 0, epochs) == STATESAMPLER_OK);
    while (history_mix_seek(&h, &mix, turn) == STATESAMPLER_OK)
        turn += 7;
    CHECK(history_mix_weigh(&h, &mix, others) == HISTORY_EFULL);
    CHECK(history_mix_reshape(&h, &mix, 0, 2) == HISTORY_EFULL);
    CHECK(history_mix_begin(&h, &mix, 9, epochs) == HISTORY_EFULL);
    CHECK(history_mix_weigh(&h, &mix, weights) == STATESAMPLER_OK);
    CHECK(history_mix_reshape(&h, &mix, 0, 0) == STATESAMPLER_OK);
    CHECK(history_mix_seek(&h, &mix, turn - 7) == STATESAMPLER_OK);
    size = history_save(&h);
    memcpy(saved, small, size);
    CHECK(statesampler_mix_save(&mix, state, sizeof state) == STATESAMPLER_OK);
    CHECK(history_mix_load(&h, &mix, saved, size, state, sizeof state, own,
                           of_walk, scratch) == STATESAMPLER_OK);
    CHECK(history_save(&h) == size && memcmp(saved, small, size) == 0);
    CHECK(statesampler_mix_reshape(&mix, 0, 2) == STATESAMPLER_OK);
    CHECK(history_mix_load(&h, &mix, saved, size, state, sizeof state, own,
                           of_walk, scratch) == HISTORY_EFULL);
}

/* Every bit of a history, and every length but its own. */
static void test_damage(void)
{
    static unsigned char memory[HISTORY_BYTES(9)], saved[HISTORY_BYTES(9)];
    unsigned char state[STATESAMPLER_STATE_BYTES], other[sizeof state];
    statesampler_desc d;
    statesampler s, before;
    history h;
    history_log log;
    size_t size, used, i;

    memset(&d, 0, sizeof d);
    d.num_samples = 1000;
    d.seed = 5;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(history_init(&h, memory, sizeof memory, &s) == STATESAMPLER_OK);
    CHECK(statesampler_save(&s, other, sizeof other) == STATESAMPLER_OK);
    CHECK(history_seek(&h, &s, 30) == STATESAMPLER_OK);
    CHECK(history_begin(&h, &s, 3) == STATESAMPLER_OK);
    CHECK(statesampler_save(&s, state, sizeof state) == STATESAMPLER_OK);
    size = history_save(&h);
    memcpy(saved, memory, size);
    before = s;
    CHECK(history_read(&log, &used, memory, sizeof memory) == STATESAMPLER_OK);
    CHECK(used == size && log.size == h.log.size && log.bytes == memory);
    CHECK(log.num_sources == 0 && log.carry == 0);
    for (i = 0; i < 8 * size; i++) {
        saved[i / 8] = (unsigned char)(saved[i / 8] ^ 1 << i % 8);
        CHECK(STATESAMPLER_KIND(history_load(&h, &s, saved, size, state,
                                             sizeof state)) ==
              STATESAMPLER_ECORRUPT);
        CHECK(STATESAMPLER_KIND(history_read(&log, &used, saved, size)) ==
              STATESAMPLER_ECORRUPT);
        saved[i / 8] = (unsigned char)(saved[i / 8] ^ 1 << i % 8);
    }
    for (i = 0; i <= size + 8; i++)
        CHECK(i == size ||
              STATESAMPLER_KIND(history_load(&h, &s, saved, i, state,
                                             sizeof state)) ==
                  STATESAMPLER_ECORRUPT);
    for (i = 0; i < size; i++)
        CHECK(STATESAMPLER_KIND(history_read(&log, &used, saved, i)) ==
              STATESAMPLER_ECORRUPT);
    CHECK(used == size);
    CHECK(history_load(&h, &s, saved, size, other, sizeof other) ==
          HISTORY_EORDER);
    CHECK(history_load(&h, &s, saved, size, state, sizeof state - 1) ==
          STATESAMPLER_ECORRUPT_SIZE);
    CHECK(memcmp(&before, &s, sizeof s) == 0);
    CHECK(memcmp(saved, memory, size) == 0);
    d.seed = 6;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(history_load(&h, &s, saved, size, state, sizeof state) ==
          STATESAMPLER_EMISMATCH_SEED);
    statesampler_begin(&s, 7);
    CHECK(statesampler_save(&s, other, sizeof other) == STATESAMPLER_OK);
    CHECK(history_load(&h, &s, saved, size, other, sizeof other) ==
          HISTORY_EOTHER);
    /* A sampler that somebody took back without a word. */
    CHECK(history_init(&h, memory, sizeof memory, &s) == STATESAMPLER_OK);
    CHECK(history_seek(&h, &s, 30) == STATESAMPLER_OK);
    CHECK(statesampler_seek(&s, 29) == STATESAMPLER_OK);
    CHECK(history_seek(&h, &s, 40) == HISTORY_EORDER);
    CHECK(history_begin(&h, &s, 9) == HISTORY_EORDER);
    CHECK(history_reshape(&h, &s, 0, 3, 1) == HISTORY_EORDER);
    CHECK(statesampler_step(&s) == 29);
}

/* The same turns of a mix, or another sequence of them: at `first` and at
   `last` it has other weights, and its own again after that. */
static void take_sequence(mix_run *r, uint64_t first, uint64_t last,
                          const uint32_t *weights)
{
    const uint32_t own[2] = {1, 2};

    CHECK(start_mix(r));
    r->steps = 0; /* records of earlier ones */
    take_turns(r, first);
    if (first < last) {
        CHECK(history_mix_weigh(&r->h, &r->mix, weights) == STATESAMPLER_OK);
        take_turns(r, last - first);
        CHECK(history_mix_weigh(&r->h, &r->mix, own) == STATESAMPLER_OK);
    }
    take_turns(r, 8 - last);
}

/* Loads the state of a run with the history of another one. */
static int load_of_other(mix_run *r, mix_run *other)
{
    static unsigned char state[MIX_STATE];
    const size_t bytes = statesampler_mix_state_bytes(&r->mix);
    const size_t size = history_save(&other->h);

    CHECK(statesampler_mix_save(&r->mix, state, bytes) == STATESAMPLER_OK);
    return history_mix_load(&r->h, &r->mix, other->memory, size, state, bytes,
                            r->other, r->weights, r->state);
}

static int load_of_such(mix_run *r, mix_run *other)
{
    take_sequence(r, 8, 8, NULL);
    take_sequence(other, 8, 8, NULL);
    return load_of_other(r, other);
}

/* Whether the next turns of two mixes are of the same sources: a period. */
static int go_on_alike(mix_run *r, mix_run *other)
{
    uint32_t source = 0, other_source = 0;
    int alike = 1, i;

    for (i = 0; i < 3; i++) {
        CHECK(statesampler_mix_next(&r->mix, NULL, NULL, &source) == 1);
        CHECK(statesampler_mix_next(&other->mix, NULL, NULL, &other_source) ==
              1);
        alike = alike && source == other_source;
    }
    return alike;
}

/* Of two runs whose sources are where those of the other are, the history of
   one goes with the state of the other if both go on in the same way. With ALL
   it goes with none that had other weights. */
static void test_mix_sequences(mix_run *r, mix_run *other)
{
    uint32_t weights[2], alike = 0, apart = 0;
    uint64_t first, last;

    for (first = 0; first < 8; first++)
        for (last = first + 1; last <= 8; last++)
            for (weights[0] = 2; weights[0] < 5; weights[0]++)
                for (weights[1] = 1; weights[1] < 5; weights[1]++) {
                    int code;

                    take_sequence(r, 8, 8, NULL);
                    take_sequence(other, first, last, weights);
                    if (statesampler_step(&r->sources[0].sampler) !=
                        statesampler_step(&other->sources[0].sampler))
                        continue;
                    code = load_of_other(r, other);
                    if (go_on_alike(r, other)) {
                        CHECK(code == (r->stop == STATESAMPLER_STOP_ALL
                                           ? HISTORY_EOTHER
                                           : STATESAMPLER_OK));
                        alike++;
                    } else {
                        CHECK(code == HISTORY_EOTHER);
                        apart++;
                    }
                }
    CHECK(alike > 20 && apart > 20);
}

/* A history of another mix that was at the same place: of other samples, with
   another stop rule, or at another place in the sequence. */
static void test_mix_identity(void)
{
    static mix_run r, other;
    uint32_t i;

    memset(&r, 0, sizeof r);
    r.num_sources = 2;
    r.stop = STATESAMPLER_STOP_NEVER;
    for (i = 0; i < 2; i++) {
        r.desc[i].num_samples = 50;
        r.desc[i].tail = STATESAMPLER_TAIL_CARRY;
        r.desc[i].world_size = 1;
    }
    memcpy(&other, &r, sizeof r);
    CHECK(load_of_such(&r, &other) == STATESAMPLER_OK);
    other.desc[0].seed = 1;
    CHECK(load_of_such(&r, &other) == HISTORY_EOTHER);
    other.desc[0].seed = 0;
    other.desc[1].num_samples = 49;
    CHECK(load_of_such(&r, &other) == HISTORY_EOTHER);
    other.desc[1].num_samples = 50;
    for (i = 0; i < 2; i++)
        r.desc[i].tail = other.desc[i].tail = STATESAMPLER_TAIL_PAD;
    CHECK(load_of_such(&r, &other) == STATESAMPLER_OK);
    other.stop = STATESAMPLER_STOP_ALL;
    CHECK(load_of_such(&r, &other) == HISTORY_EOTHER);
    other.stop = STATESAMPLER_STOP_NEVER;
    test_mix_sequences(&r, &other);
    r.stop = other.stop = STATESAMPLER_STOP_ALL;
    test_mix_sequences(&r, &other);
}

/* A history that begins amid an epoch: no seek of it goes to before that, where
   the mix itself goes; and it can be read. */
static void test_mix_begun_amid(void)
{
    static mix_run r;
    static unsigned char saved[MIX_HISTORY], state[MIX_STATE];
    const uint64_t epochs[2] = {0, 0};
    size_t size, bytes;

    memset(&r, 0, sizeof r);
    r.num_sources = 2;
    r.desc[0].num_samples = r.desc[1].num_samples = 50;
    r.desc[0].world_size = r.desc[1].world_size = 1;
    CHECK(start_mix(&r));
    bytes = statesampler_mix_state_bytes(&r.mix);
    CHECK(statesampler_mix_seek(&r.mix, 30) == STATESAMPLER_OK);
    CHECK(history_mix_init(&r.h, r.memory, sizeof r.memory, &r.mix) ==
          STATESAMPLER_OK);
    CHECK(history_mix_seek(&r.h, &r.mix, 29) == STATESAMPLER_ERANGE_BASE);
    CHECK(statesampler_mix_turn(&r.mix) == 30);
    CHECK(history_mix_seek(&r.h, &r.mix, 33) == STATESAMPLER_OK);
    CHECK(history_mix_seek(&r.h, &r.mix, 31) == STATESAMPLER_OK);
    CHECK(history_mix_begin(&r.h, &r.mix, 0, epochs) == STATESAMPLER_OK);
    CHECK(history_mix_seek(&r.h, &r.mix, 29) == STATESAMPLER_OK);
    size = history_save(&r.h);
    memcpy(saved, r.memory, size);
    CHECK(statesampler_mix_save(&r.mix, state, bytes) == STATESAMPLER_OK);
    CHECK(start_mix(&r));
    CHECK(history_mix_load(&r.h, &r.mix, saved, size, state, bytes, r.other,
                           r.weights, r.state) == STATESAMPLER_OK);
    CHECK(statesampler_mix_turn(&r.mix) == 29);
}

/* A state of a mix that another history does not lead to, and one of other
   sources. */
static void test_mix_refusals(void)
{
    static mix_run r;
    static unsigned char saved[MIX_HISTORY], state[MIX_STATE];
    const uint32_t weights[2] = {3, 1};
    size_t size, bytes, used;
    history_log log;

    memset(&r, 0, sizeof r);
    r.num_sources = 2;
    r.desc[0].num_samples = 50;
    r.desc[1].num_samples = 70;
    r.desc[0].world_size = r.desc[1].world_size = 1;
    CHECK(history_mix_init(&r.h, r.memory, HISTORY_MIX_BYTES(2, 0) - 1,
                           (start_mix(&r), &r.mix)) == STATESAMPLER_ECAPACITY);
    CHECK(start_mix(&r));
    take_turns(&r, 10);
    CHECK(history_mix_weigh(&r.h, &r.mix, weights) == STATESAMPLER_OK);
    take_turns(&r, 5);
    CHECK(history_mix_seek(&r.h, &r.mix, 9) == STATESAMPLER_ERANGE_BASE);
    size = history_save(&r.h);
    memcpy(saved, r.memory, size);
    bytes = statesampler_mix_state_bytes(&r.mix);
    CHECK(statesampler_mix_save(&r.mix, state, bytes) == STATESAMPLER_OK);
    CHECK(history_read(&log, &used, saved, size) == STATESAMPLER_OK);
    CHECK(used == size && log.num_sources == 2);
    CHECK(start_mix(&r));
    CHECK(statesampler_mix_seek(&r.mix, 15) == STATESAMPLER_OK);
    CHECK(statesampler_mix_save(&r.mix, r.state, bytes) == STATESAMPLER_OK);
    memcpy(r.kept[0].state, r.state, bytes);
    CHECK(history_mix_load(&r.h, &r.mix, saved, size, r.kept[0].state, bytes,
                           r.other, r.weights, r.state) == HISTORY_EOTHER);
    CHECK(statesampler_mix_seek(&r.mix, 8) == STATESAMPLER_OK);
    CHECK(statesampler_mix_save(&r.mix, r.kept[0].state, bytes) ==
          STATESAMPLER_OK);
    CHECK(history_mix_load(&r.h, &r.mix, saved, size, r.kept[0].state, bytes,
                           r.other, r.weights, r.state) == HISTORY_EORDER);
    CHECK(statesampler_mix_turn(&r.mix) == 8);
    CHECK(history_mix_load(&r.h, &r.mix, saved, size, state, bytes, r.other,
                           r.weights, r.state) == STATESAMPLER_OK);
    CHECK(statesampler_mix_turn(&r.mix) == 15);
    r.h.capacity = r.h.log.size + 8;
    CHECK(history_mix_seek(&r.h, &r.mix, 16) == HISTORY_EFULL);
    CHECK(history_mix_reshape(&r.h, &r.mix, 0, 2) == HISTORY_EFULL);
    CHECK(history_mix_load(&r.h, &r.mix, saved, size, state, bytes, r.other,
                           r.weights, r.state) == STATESAMPLER_OK);
    CHECK(statesampler_mix_turn(&r.mix) == 15);
    {
        statesampler_mix other;

        /* A history that was initialised for other sources. */
        CHECK(statesampler_mix_init(&other, r.sources, 1, r.stop) ==
              STATESAMPLER_OK);
        CHECK(statesampler_mix_save(&other, r.kept[0].state,
                                    sizeof r.kept[0].state) == STATESAMPLER_OK);
        CHECK(history_mix_load(&r.h, &other, saved, size, r.kept[0].state,
                               statesampler_mix_state_bytes(&other), r.other,
                               r.weights,
                               r.state) == STATESAMPLER_EMISMATCH_SOURCES);
    }
    r.num_sources = 1;
    CHECK(start_mix(&r));
    CHECK(history_mix_load(&r.h, &r.mix, saved, size, state, bytes, r.other,
                           r.weights,
                           r.state) == STATESAMPLER_EMISMATCH_SOURCES);
}

/* A walk over bytes that nobody has checked may meet an event of the other kind
   of run: of a mix for a sampler, of a sampler for a mix. */
static void test_other_events(void)
{
    static const unsigned char words[24] = {1};
    static mix_run r;
    history_event event = {HISTORY_RANKS, 0, 0, words, 32};
    history_mix_walk walk;

    memset(&r, 0, sizeof r);
    r.num_sources = 1;
    r.desc[0].num_samples = 50;
    r.desc[0].world_size = 1;
    CHECK(start_mix(&r));
    CHECK(history_apply(&r.sources[0].sampler, &event) == HISTORY_EEVENT);
    memset(&walk, 0, sizeof walk);
    walk.mix = r.mix;
    event.kind = HISTORY_LENGTH;
    CHECK(history_mix_apply(&walk, &event) == HISTORY_EEVENT);
    CHECK(strstr(history_error(HISTORY_EEVENT), "no such") != NULL);
    CHECK(history_error(RECALL_EEPOCH) == recall_error(RECALL_EEPOCH));
}

static void test_sentences(void)
{
    int code;

    for (code = HISTORY_EEVENT; code <= HISTORY_EFULL; code++)
        CHECK(strcmp(history_error(code), statesampler_error(-9999)) != 0);
    CHECK(strcmp(history_error(STATESAMPLER_ERANGE_END),
                 statesampler_error(STATESAMPLER_ERANGE_END)) == 0);
}

/* `history RUNS`, for make histories: so many long runs of a sampler, and of a
   mix. */
static int many_runs(int cases)
{
    test_runs(cases, EVENTS / 2, EVENTS);
    test_mixes(cases, EVENTS / 2, EVENTS);
    printf("%d runs of %lu events each: all of their steps are known\n",
           2 * cases, noted / (2 * (unsigned long)cases));
    return check_done("history");
}

/* A seek right after a resume on fewer ranks skips steps that the epoch did not
   have on the ranks before. */
static void test_skip_on_fewer_ranks(void)
{
    static unsigned char memory[HISTORY_BYTES(9)];
    uint64_t step, epoch, out[10];
    statesampler_desc d;
    statesampler s;
    history_walk walk;
    history h;
    size_t count;

    memset(&d, 0, sizeof d);
    d.num_samples = 1000;
    d.world_size = 8;
    d.batch_size = 10;
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(history_init(&h, memory, sizeof memory, &s) == STATESAMPLER_OK);
    CHECK(statesampler_seek(&s, 5) == STATESAMPLER_OK); /* of 13 */
    CHECK(history_reshape(&h, &s, 0, 2, 10) == STATESAMPLER_OK);
    CHECK(history_seek(&h, &s, 20) == STATESAMPLER_OK);
    for (epoch = 0; epoch < 2; epoch++) {
        for (step = 0; step < 60; step++) {
            int skips = 0;

            history_open(&walk, &h.log, epoch, epoch == 0 ? 20 : 0);
            while (history_next(&walk) == 1)
                if (history_skipped(&walk.stretch, 0, step)) {
                    CHECK(walk.stretch.from_step == 5);
                    skips += history_at(&walk, 0, 0, step, out, &count);
                }
            CHECK(skips == (step >= 5 && step < (epoch == 0 ? 20 : 35)));
        }
        CHECK(history_begin(&h, &s, 1) == STATESAMPLER_OK);
    }
}

int main(int argc, char **argv)
{
    const int reduced = check_reduced(argc, argv);

    if (argc > 1 && strcmp(argv[1], "full") != 0 && !reduced) {
        const int runs = atoi(argv[1]);

        if (runs > 0)
            return many_runs(runs);
        fprintf(stderr, "history: %s is no number of runs\n", argv[1]);
        return 2;
    }
    test_runs(reduced ? 30 : 400, 0, 400);
    CHECK(as_padding > (reduced ? 3 : 40));
    test_mixes(reduced ? 30 : 400, 0, 400);
    CHECK(as_padding > 0);
    test_mix_padding();
    test_many_sources(reduced ? 5 : 60);
    test_forged_stages(reduced ? 30 : 3000);
    test_long_stages();
    test_schedule();
    test_schedule_begun_again();
    test_full_schedule();
    test_full_stage();
    test_full();
    test_full_mix();
    test_forged_order();
    test_damage();
    test_mix_identity();
    test_mix_begun_amid();
    test_mix_refusals();
    test_other_events();
    test_skip_on_fewer_ranks();
    test_sentences();
    return check_done("history");
}

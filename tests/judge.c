/* judge.c - does statesampler.h do what 0.4.0 did? This program has both
   versions of the header and compares every answer in random programs: a few
   to sixty calls on samplers, mixes and mixtures.

       judge PROGRAMS [FIRST]   as many programs, from that number on
       judge --seed NUMBER      one program, with all its operations

   At a difference it prints the program's number, its operations, and the
   first answer that differs.

   What is drawn next follows from where the old header is, whose private
   fields may be read: its text does not change. Of the new one only public
   names are used. What may differ by design:
   - a mix's state is the bytes of the header that saved it;
   - after a mix_load or mixture_load the base of a mix is the present turn:
     until both have the same base again, nothing before it is asked;
   - the base of a mix's samplers is the mix's affair;
   - what is read of a forged state. */
#define _POSIX_C_SOURCE 200112L
#ifdef JUDGE_STB
#define STB_DS_IMPLEMENTATION
#include "stb_ds.h"
#define OLDSAMPLER_STB_DS
#define STATESAMPLER_STB_DS
#endif

#include "judge.h"
#include <signal.h>
#include <unistd.h>

/* A call that a programmer must not make is the judge's own mistake. */
#define OLDSAMPLER_ASSERT(condition) ((condition) ? (void)0 : abort())
#define STATESAMPLER_ASSERT(condition) ((condition) ? (void)0 : abort())

#define OLDSAMPLER_STATIC
#define OLDSAMPLER_IMPLEMENTATION
#include "oldsampler.h"

#define STATESAMPLER_STATIC
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"

#define SELF oldsampler
#define SAMPLER(name) oldsampler_##name
#define HASH(name) oldsampler_mixture_hash(name)
#define SIDE(name) old_##name
#define NUMBER 0
#include "judge_side.h"

#define SELF statesampler
#define SAMPLER(name) statesampler_##name
#define HASH(name) statesampler_hash(0, name, strlen(name) + 1)
#define SIDE(name) new_##name
#define NUMBER 1
#include "judge_side.h"

/* --- chance --------------------------------------------------------------- */

static uint64_t chance_state;

/* SplitMix64 (Steele, Lea, Flood, 2014): any seed will do. */
static uint64_t chance_word(void)
{
    uint64_t x = chance_state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t draw(uint64_t bound)
{
    return chance_word() % bound;
}

static uint32_t draw32(uint32_t bound)
{
    return (uint32_t)draw(bound);
}

/* 1 so often, otherwise 0. */
static uint32_t chance(uint32_t percent)
{
    return draw(100) < percent;
}

/* A number of a random width up to some bits, at most 64. */
static uint64_t draw_bits(uint32_t bits)
{
    const uint64_t shift = 63 - draw(bits);
    return chance_word() >> shift;
}

/* A number or a neighbour. */
static uint64_t around(uint64_t number)
{
    return number + draw(5) - 2;
}

/* --- what the program has ------------------------------------------------- */

typedef struct program {
    uint32_t family;                              /* what it is mostly about */
    int state[STATES], mix_state[2 * MIX_STATES]; /* 1: it was saved */
    /* Of a mix: the first turn that both reach back to; whether the new one's
       base is later than the old one's; and then the last turn that is asked,
       or 0 for none, as how far CARRY reaches depends on the base. */
    uint64_t from[MIXES + MIXTURES], till[MIXES + MIXTURES];
    int apart[MIXES + MIXTURES];
    /* The mixes that were saved, for mixes that can load their states. */
    uint32_t count[MIX_STATES], stop[MIX_STATES], weight[MIX_STATES][SOURCES];
    judge_desc desc[MIX_STATES][SOURCES];
    /* What the datasets of mixtures are. */
    judge_desc dataset[NAMES];
    uint32_t mixture_stop;
} program;

static program now;

/* --- descriptions --------------------------------------------------------- */

static uint64_t draw_num_samples(void)
{
    static const uint32_t edges[] = {10, 13, 16, 24, 30, 31, 32, 40, 61, 62};
    switch (draw(16)) {
    case 0: return draw(6);
    case 1: return around((uint64_t)1 << edges[draw(10)]) & (2 * MOST - 1);
    case 2: return draw_bits(62);
    case 3: return draw(5000);
    default: return 1 + draw(200);
    }
}

static uint32_t draw_world_size(void)
{
    switch (draw(20)) {
    case 0: return 0;
    case 1: return 1 + draw32(100);
    case 2: return (uint32_t)draw_bits(32);
    case 3: return chance(50) ? (uint32_t)1 << 31 : 0xffffffffu;
    default: return 1 + draw32(8);
    }
}

static uint32_t draw_batch_size(void)
{
    switch (draw(24)) {
    case 0: return 0;
    case 1: return 1 + draw32(ROOM);
    case 2: return (uint32_t)draw_bits(32);
    case 3: return 1 + draw32(40);
    default: return 1 + draw32(8);
    }
}

static uint64_t draw_epoch(void)
{
    switch (draw(8)) {
    case 0: return chance_word();
    case 1: return NONE - draw(3);
    default: return draw(4);
    }
}

static void draw_shape(judge_desc *desc)
{
    desc->world_size = draw_world_size();
    desc->rank = desc->world_size ? draw32(desc->world_size) : 0;
    if (chance(30))
        desc->rank = 0;
    desc->batch_size = draw_batch_size();
    desc->drop_last = desc->tail != CARRY && chance(20);
}

/* One field as no description may have it, mostly. */
static void spoil(judge_desc *desc)
{
    switch (draw(12)) {
    case 0: desc->num_samples = MOST + 1 + draw_bits(64) / 2; break;
    case 1: desc->rank = desc->world_size + draw32(2); break;
    case 2: desc->order = 4 + (uint32_t)draw_bits(31); break;
    case 3: desc->partition = 2 + (uint32_t)draw_bits(31); break;
    case 4: desc->tail = 4 + (uint32_t)draw_bits(31); break;
    case 5: desc->drop_last = 2 + (uint32_t)draw_bits(31); break;
    case 6: desc->chunk_size = 0; break;
    case 7: desc->window = 0; break;
    case 8: desc->chunk_size = (uint64_t)1 << draw(64); break;
    case 9: desc->partition = BLOCKED; break;
    case 10: desc->tail = CARRY; break;
    default: desc->batch_size = desc->world_size = 0x7fffffffu + draw32(2);
    }
}

/* Chunks and windows, mostly several of them. */
static void draw_windows(judge_desc *desc)
{
    desc->chunk_size = chance(85) ? 1 + draw(12) : 1 + draw_bits(30);
    desc->window = chance(85) ? 1 + draw(6) : 1 + draw_bits(30);
    if (chance(15)) {
        const uint64_t size = desc->chunk_size * (1 + draw(4 * desc->window));
        if (size <= MOST)
            desc->num_samples = size + draw(desc->chunk_size);
    }
}

static void draw_desc(judge_desc *desc)
{
    memset(desc, 0, sizeof *desc);
    desc->num_samples = draw_num_samples();
    desc->seed = chance(80) ? draw(3) : chance_word();
    desc->epoch = draw_epoch();
    desc->stream = chance(80) ? draw(3) : chance_word();
    desc->order = chance(40) ? SHUFFLE : draw32(4);
    desc->tail = draw32(4);
    desc->partition = chance(35) && desc->tail != CARRY;
    if (desc->tail == CARRY && desc->num_samples == 0)
        desc->num_samples = 1;
    if (desc->order == WINDOW || chance(10))
        draw_windows(desc);
    draw_shape(desc);
    if (chance(3))
        spoil(desc);
}

/* The description of a sampler, with the epoch it is in. */
static void desc_of(judge_desc *desc, const oldsampler *s)
{
    memset(desc, 0, sizeof *desc);
    desc->num_samples = s->run.num_samples;
    desc->seed = s->run.seed;
    desc->epoch = s->run.now.epoch;
    desc->stream = s->run.stream;
    desc->chunk_size = s->run.chunk_size;
    desc->window = s->run.window;
    desc->rank = s->rank;
    desc->world_size = s->run.world_size;
    desc->batch_size = s->run.batch_size;
    desc->order = s->run.order;
    desc->partition = s->run.partition;
    desc->tail = s->run.tail;
    desc->drop_last = s->drop_last;
}

/* --- arguments ------------------------------------------------------------ */

/* Half of the states that are loaded were saved by the other header. */
static void draw_state(operation *op, uint32_t slot)
{
    op->other = slot;
    op->foreign = chance(50);
    if (chance(4)) {
        op->damage = 1 + draw32(3);
        op->c = draw(chance(50) ? 8 * STATE_BYTES : 64); /* or its head */
    }
}

static uint64_t draw_step(const oldsampler *s)
{
    const uint64_t base = s->run.leg.base.step, end = oldsampler_num_steps(s);
    switch (draw(12)) {
    case 0: return around(base);
    case 1: return around(end);
    case 2: return base + draw_bits(10);
    case 3: return around(base + MOST / s->global_batch);
    case 4: return base + draw_bits(64) % (MOST / s->global_batch);
    case 5: return around(NONE / 2);
    case 6:
    case 7: return end > base ? base + draw(end - base) : end;
    default: return around(oldsampler_step(s) + 1);
    }
}

static uint64_t draw_index(uint64_t num_samples)
{
    return chance(90) && num_samples ? draw(num_samples) : around(num_samples);
}

/* What next and at are asked for: a batch only where it fits. */
static void draw_out(operation *op, uint64_t batch_size, size_t count)
{
    op->a = chance(80) ? 0 : 1 + draw(2);
    op->b = batch_size < ROOM ? batch_size : ROOM;
    if (batch_size > 40 && op->times > 3) /* the third tells no more */
        op->times = 3;
    if (batch_size > ROOM) {
        op->times = 1;
        if (count > ROOM)
            op->a = 2;
    }
}

/* How many samples this rank has in a step. */
static size_t count_at(const oldsampler *s, uint64_t step)
{
    size_t count = 0;
    oldsampler_at(s, step, NULL, &count);
    return count;
}

/* Weights of which one or two sum to 2^31 or nearly so. */
static uint32_t draw_edge(void)
{
    const uint32_t bits = 30 + draw32(2);
    return ((uint32_t)1 << bits) - draw32(3);
}

static uint32_t draw_weight(void)
{
    switch (draw(12)) {
    case 0:
    case 1: return OFF;
    case 2: return chance(50) ? (uint32_t)draw_bits(32) : draw_edge();
    case 3: return draw32(1000);
    case 4:
    case 5:
    case 6: return 1 + draw32(6);
    default: return draw32(2);
    }
}

static void draw_weights(operation *op, uint32_t count)
{
    const uint32_t equal = chance(25);
    uint32_t i;
    for (i = 0; i < SOURCES; i++)
        op->weight[i] = equal || i >= count ? 1 : draw_weight();
}

/* --- operations on samplers ----------------------------------------------- */

static void draw_init(operation *op)
{
    const uint32_t other = draw32(SAMPLERS), state = draw32(STATES);
    op->what = op_init;
    if (old_here.there[other] && chance(40)) {
        desc_of(op->desc, old_here.samplers + other);
    } else if (now.state[state] && chance(50)) {
        oldsampler_desc desc;
        oldsampler found;
        oldsampler_describe(judge_states[0][state], STATE_BYTES, &desc, NULL);
        if (oldsampler_init(&found, &desc) != 0)
            abort();
        desc_of(op->desc, &found);
    } else {
        draw_desc(op->desc);
        return;
    }
    if (chance(60))
        draw_shape(op->desc);
    else if (chance(40))
        op->desc->drop_last = op->desc->tail != CARRY && chance(70);
    if (chance(8)) /* something else, so that states do not match */
        switch (draw(8)) {
        case 0: op->desc->num_samples++; break;
        case 1: op->desc->seed++; break;
        case 2: op->desc->stream++; break;
        case 3: op->desc->order = draw32(4); break;
        case 4: op->desc->chunk_size++; break;
        case 5: op->desc->window++; break;
        case 6: op->desc->partition ^= 1; break;
        default: op->desc->tail = draw32(4);
        }
}

static void draw_reshape(operation *op, const oldsampler *s)
{
    judge_desc desc;
    desc_of(&desc, s);
    draw_shape(&desc);
    op->what = op_reshape;
    op->a = desc.rank;
    op->b = desc.world_size;
    op->c = desc.batch_size;
    if (chance(30)) { /* only another rank */
        op->b = s->run.world_size;
        op->c = s->run.batch_size;
        op->a = draw(op->b);
    }
    if (chance(5))
        op->a = op->b;
}

static void draw_perm(operation *op)
{
    uint64_t n, most;
    op->what = op_perm;
    draw_desc(op->desc);
    n = op->desc->num_samples;
    if (n == 0 || n > MOST)
        return;
    op->a = draw(n);
    most = n - 1 - op->a;
    op->b = chance(70) ? draw_bits(6) : draw_bits(62);
    if (op->b != 0)
        most /= op->b;
    op->times = draw32(chance(80) ? 40 : ROOM);
    if (op->b != 0 && op->times > most + 1)
        op->times = (uint32_t)(most + 1);
}

static void draw_audit(operation *op, const oldsampler *s)
{
    op->what = op_audit;
    desc_of(op->desc, s);
    op->a = s->run.world_size;
    op->b = s->run.batch_size;
    op->c = s->run.leg.base.step;
    op->d = draw(6);
    /* Of up to 200 samples the whole epoch. */
    op->times = 1 + (uint32_t)(200 / (op->a * op->b));
    if (op->a > 8 || op->b > ROOM)
        op->what = op_get_counts;
}

/* Sets an operation on a sampler that is there. */
static void draw_sampler_operation(operation *op)
{
    const uint32_t slot = op->slot, other = draw32(SAMPLERS);
    const uint32_t state = draw32(STATES);
    const oldsampler *s = old_here.samplers + slot;
    switch (draw(30)) {
    case 0: draw_init(op); break;
    case 1:
    case 2:
    case 3:
    case 4:
        op->what = op_next;
        op->times = 1 + draw32(12);
        draw_out(op, s->run.batch_size, count_at(s, oldsampler_step(s)));
        break;
    case 5:
    case 6:
    case 7:
        op->what = op_at;
        op->c = draw_step(s);
        draw_out(op, s->run.batch_size, count_at(s, op->c));
        break;
    case 8:
    case 9:
    case 10:
        op->what = op_seek;
        op->c = draw_step(s);
        break;
    case 11:
        op->what = chance(50) ? op_begin : op_set_epoch;
        op->c = chance(40) ? oldsampler_epoch(s) : draw_epoch();
        break;
    case 12:
    case 13: draw_reshape(op, s); break;
    case 14:
        op->what = op_resize;
        op->c =
            chance(60) ? around(oldsampler_position(s)) : draw_num_samples();
        if (chance(30))
            op->c = s->run.num_samples + draw_bits(6);
        break;
    case 15:
    case 16:
    case 17:
        op->what = op_save;
        op->other = state;
        op->a = STATE_BYTES + 1 - draw(chance(10) ? 3 : 2);
        break;
    case 18:
    case 19:
    case 20:
    case 21:
        if (!now.state[state])
            break;
        op->what = chance(80) ? op_load : op_describe;
        draw_state(op, state);
        if (op->what == op_describe)
            op->a = draw(4);
        break;
    case 22:
    case 23:
        op->what = op_locate;
        op->c = draw_index(s->run.num_samples);
        break;
    case 24:
        op->what = op_padding;
        op->c = draw_step(s);
        break;
    case 25: op->what = op_get_counts; break;
    case 26:
        op->what = op_sample_seed;
        op->a = chance(60) ? oldsampler_epoch(s) : draw_epoch();
        op->c = chance(80) ? draw(1000) : NONE;
        break;
    case 27:
        if (!old_here.there[other])
            break;
        op->what = op_copy;
        op->other = other;
        break;
    case 28: draw_perm(op); break;
    default: draw_audit(op, s);
    }
}

/* --- operations on mixes -------------------------------------------------- */

/* Sources that go together, but for one time in thirty. */
static void draw_sources(operation *op)
{
    uint32_t i;
    judge_desc shape;
    memset(&shape, 0, sizeof shape);
    draw_shape(&shape);
    op->count = chance(2) ? 0 : 1 + draw32(SOURCES);
    op->stop = chance(2) ? 4 : draw32(4);
    for (i = 0; i < op->count; i++) {
        judge_desc *desc = op->desc + i;
        draw_desc(desc);
        if (chance(70)) {
            desc->world_size = shape.world_size;
            desc->rank = shape.rank;
        }
        if (chance(97)) {
            desc->world_size = shape.world_size;
            desc->rank = shape.rank;
            if (desc->tail == CARRY && op->stop != NEVER)
                desc->tail = draw32(3);
        }
    }
}

/* The sources and the weights of a mix that was saved, in another shape. */
static void draw_saved_sources(operation *op, uint32_t state)
{
    const uint32_t shaped = chance(50), batches = chance(30);
    judge_desc shape;
    uint32_t i;
    op->count = now.count[state];
    op->stop = now.stop[state];
    memcpy(op->desc, now.desc[state], sizeof op->desc);
    memcpy(op->weight, now.weight[state], sizeof op->weight);
    memset(&shape, 0, sizeof shape);
    draw_shape(&shape);
    for (i = 0; i < op->count; i++) {
        judge_desc *desc = op->desc + i;
        if (shaped) {
            desc->world_size = shape.world_size;
            desc->rank = shape.rank;
        }
        if (batches) {
            desc->batch_size = draw_batch_size();
            desc->drop_last = desc->tail != CARRY && chance(20);
        }
        desc->epoch = draw_epoch();
        if (chance(1))
            desc->seed++;
    }
    if (chance(40))
        draw_weights(op, op->count);
    if (chance(2))
        op->stop = draw32(4);
    if (chance(2) && op->count > 1)
        op->count--;
}

static void draw_mix_init(operation *op)
{
    const uint32_t state = draw32(MIX_STATES);
    uint32_t i;
    op->what = op_mix_init;
    if (now.mix_state[state] && chance(70)) {
        draw_saved_sources(op, state);
    } else {
        draw_sources(op);
        draw_weights(op, op->count);
    }
    for (i = 0; i < op->count; i++) {
        op->copied[i] = SAMPLERS;
        op->seek[i] = chance(50) ? 0 : draw_bits(chance(90) ? 5 : 62);
        if (chance(5)) {
            uint32_t slot = draw32(SAMPLERS);
            if (old_here.there[slot])
                op->copied[i] = slot;
        }
    }
}

/* A turn that both headers reach, or none. */
static int draw_turn(uint64_t *turn, uint32_t slot)
{
    const oldsampler_mix *mix = old_mix_of(slot);
    const uint64_t from = now.from[slot], end = mix->end;
    switch (draw(12)) {
    case 0: *turn = around(from); break;
    case 1:
    case 2: *turn = around(end); break;
    case 3: *turn = around(mix->reach); break;
    case 4: *turn = around(MOST); break;
    case 5: *turn = from + draw_bits(62); break;
    case 6:
    case 7:
    case 8: *turn = end > from ? from + draw(end - from) : end; break;
    default: *turn = around(mix->turn + 1);
    }
    if (now.apart[slot] && *turn < from)
        *turn = from;
    return !now.apart[slot] || *turn <= now.till[slot];
}

/* The largest batch_size, and whether every batch fits. */
static uint64_t most_batch(uint32_t slot)
{
    const uint32_t count = old_here.members[slot];
    uint64_t most = 0;
    uint32_t i;
    for (i = 0; i < count; i++) {
        const oldsampler *s = old_member_of(slot, i);
        if (s->run.batch_size > most)
            most = s->run.batch_size;
    }
    return most;
}

static void draw_mix_reshape(operation *op, const oldsampler *s)
{
    judge_desc desc;
    desc_of(&desc, s);
    draw_shape(&desc);
    op->what = op_mix_reshape;
    op->a = desc.rank;
    op->b = desc.world_size;
    if (chance(20)) {
        op->b = s->run.world_size;
        op->a = draw(op->b);
    }
    if (chance(4))
        op->a = op->b;
}

static void draw_mix_save(operation *op, const oldsampler *s)
{
    const uint32_t first = op->slot < MIXES ? 0 : MIX_STATES;
    op->what = op_mix_save;
    op->other = first + draw32(MIX_STATES);
    op->a = draw(s->run.world_size);
    op->b = chance(5);
    op->c = s->run.world_size;
    op->d = s->rank;
}

static void draw_member(operation *op)
{
    const oldsampler *s;
    uint64_t step;
    op->what = op_member;
    op->a = draw(old_here.members[op->slot]);
    s = old_member_of(op->slot, (uint32_t)op->a);
    step = oldsampler_step(s);
    op->c = step + (chance(70) ? draw(4) : draw_bits(12));
    op->d = chance(60) ? oldsampler_epoch(s) : draw_epoch();
    op->b = s->run.batch_size < ROOM ? s->run.batch_size : ROOM;
    /* How far CARRY reaches depends on the base. */
    if (s->run.tail == CARRY &&
        op->c - s->run.leg.base.step >= MOST / s->global_batch - 1)
        op->c = step;
    op->times = count_at(s, op->c) <= ROOM;
}

/* Sets an operation on a mix, or on the mix of a mixture, that is there. */
static void draw_mix_operation(operation *op)
{
    const uint32_t slot = op->slot, first = slot < MIXES ? 0 : MIX_STATES;
    const uint32_t state = first + draw32(MIX_STATES);
    const uint64_t most = most_batch(slot);
    const oldsampler *s = old_member_of(slot, 0);
    judge_what what = op_none;
    switch (draw(24)) {
    case 0:
        if (slot < MIXES)
            draw_mix_init(op);
        break;
    case 1:
    case 2:
    case 3:
    case 4:
        op->what = op_mix_next;
        op->times = 1 + draw32(12);
        draw_out(op, most, most > ROOM ? ROOM + 1 : 0);
        break;
    case 5:
    case 6:
    case 7:
        op->times = chance(50) ? 1 : 1 + draw32(16);
        if (draw_turn(&op->c, slot)) {
            what = op_mix_at;
            if (now.apart[slot] && op->times > now.till[slot] - op->c)
                op->times = 1;
        }
        draw_out(op, most, most > ROOM ? ROOM + 1 : 0);
        op->what = what;
        break;
    case 8:
    case 9:
    case 10:
        if (draw_turn(&op->c, slot))
            op->what = op_mix_seek;
        break;
    case 11:
    case 12:
        op->what = op_mix_weigh;
        draw_weights(op, old_here.members[slot]);
        break;
    case 13: draw_mix_reshape(op, s); break;
    case 14:
    case 15:
        op->what = op_mix_locate;
        op->a = draw(old_here.members[slot] + (chance(5) ? 1 : 0));
        op->c = 0;
        if (op->a < old_here.members[slot])
            op->c = draw_index(
                old_member_of(slot, (uint32_t)op->a)->run.num_samples);
        break;
    case 16:
        op->what = op_mix_offset;
        op->a = draw(old_here.members[slot] + 1);
        break;
    case 17:
    case 18: draw_mix_save(op, s); break;
    case 19:
    case 20:
    case 21:
        if (!now.mix_state[state])
            break;
        op->what = op_mix_load;
        draw_state(op, state);
        op->a = chance(50);
        if (slot < MIXES && chance(20)) {
            op->what = chance(50) ? op_mix_describe : op_mix_rebuild;
            op->a = draw(SOURCES + 1);
            op->b = draw(op->what == op_mix_describe ? 4 : 2);
        }
        break;
    default: draw_member(op);
    }
}

/* --- operations on mixtures ----------------------------------------------- */

#ifdef JUDGE_STB

/* A dataset of a name, as it is in this program, in a shape. */
static void draw_dataset(operation *op, uint32_t i, uint32_t name,
                         const judge_desc *shape)
{
    judge_desc *desc = op->desc + i;
    *desc = now.dataset[name];
    desc->world_size = shape->world_size;
    desc->rank = shape->rank;
    if (chance(30))
        desc->batch_size = draw_batch_size();
    if (chance(10))
        desc->drop_last = desc->tail != CARRY;
    if (chance(5))
        desc->num_samples += 1 + draw(20);
    if (chance(1))
        desc->rank++;
    op->name[i] = name;
}

static void draw_build(operation *op)
{
    uint32_t order[NAMES], i;
    judge_desc shape;
    memset(&shape, 0, sizeof shape);
    draw_shape(&shape);
    op->what = op_mixture_build;
    op->stop = chance(95) ? now.mixture_stop : draw32(5);
    op->count = 1 + draw32(SOURCES);
    for (i = 0; i < NAMES; i++)
        order[i] = i;
    if (chance(60)) { /* another order */
        for (i = SOURCES; i > 1; i--) {
            uint32_t k = draw32(i), name = order[k];
            order[k] = order[i - 1];
            order[i - 1] = name;
        }
    }
    for (i = 0; i < op->count; i++)
        draw_dataset(op, i, chance(2) ? draw32(NAMES) : order[i], &shape);
    draw_weights(op, op->count);
}

static void draw_mixture_operation(operation *op)
{
    const uint32_t slot = op->slot;
    const oldsampler_mixture *mixture = old_here.mixtures + slot - MIXES;
    const uint32_t count = (uint32_t)arrlen(mixture->sources);
    judge_desc shape;
    switch (draw(12)) {
    case 0:
    case 1:
    case 2: draw_build(op); break;
    case 3:
    case 4:
        if (count == 0 || count == SOURCES)
            break;
        op->what = op_mixture_add;
        desc_of(&shape, &mixture->sources->sampler);
        draw_dataset(op, 0, draw32(NAMES), &shape);
        draw_weights(op, 1);
        break;
    case 5:
        op->what = op_mixture_find;
        op->name[0] = draw32(NAMES);
        break;
    default:
        if (count == 0)
            break;
        op->what = op_mixture_start;
        op->count = count;
        op->stop = chance(95) ? now.mixture_stop : draw32(5);
        draw_weights(op, count);
    }
}

#endif

/* --- a program ------------------------------------------------------------ */

static void draw_sampler_or_init(operation *op)
{
    op->slot = draw32(SAMPLERS);
    if (chance(50))
        op->slot = 0;
    if (old_here.there[op->slot])
        draw_sampler_operation(op);
    else
        draw_init(op);
}

static void draw_operation(operation *op)
{
    memset(op, 0, sizeof *op);
    op->what = op_none;
    if (now.family == 0 || chance(8)) {
        draw_sampler_or_init(op);
        return;
    }
    op->slot = draw32(chance(30) ? MIXES : 1);
#ifdef JUDGE_STB
    if (now.family == 2) {
        op->slot += MIXES;
        if (old_here.members[op->slot] == 0 || chance(20))
            draw_mixture_operation(op);
        else
            draw_mix_operation(op);
        return;
    }
#endif
    if (old_here.members[op->slot])
        draw_mix_operation(op);
    else
        draw_mix_init(op);
}

static answer old_said, new_said;

/* What the program has after an operation, from the old answers. */
static void note_saved(const operation *op)
{
    const uint32_t count = old_here.members[op->slot];
    uint32_t i;
    now.mix_state[op->other] = 1;
    if (op->slot >= MIXES)
        return;
    now.count[op->other] = count;
    now.stop[op->other] = old_mix_of(op->slot)->stop;
    for (i = 0; i < count; i++) {
        desc_of(now.desc[op->other] + i, old_member_of(op->slot, i));
        now.weight[op->other][i] = old_mix_of(op->slot)->sources[i].weight;
    }
}

/* What tells afterwards what has become of the base of a mix. */
typedef struct mix_before {
    uint64_t base, epoch;
    unsigned long started, loaded;
} mix_before;

static mix_before look_before(const operation *op)
{
    const oldsampler_mix *mix;
    mix_before before = {0, 0, 0, 0};
    if (op->what < op_mix_init)
        return before;
    mix = old_mix_of(op->slot);
    before.base = mix->base_turn;
    before.epoch = mix->epoch;
    before.started = old_here.started;
    before.loaded = old_here.loaded;
    return before;
}

static void note_base(const operation *op, const mix_before *before)
{
    const oldsampler_mix *mix = old_mix_of(op->slot);
    const uint32_t slot = op->slot;
    const int begun =
        old_here.started != before->started || mix->epoch != before->epoch;
    if (old_here.loaded != before->loaded) {
        now.from[slot] = mix->turn;
        now.apart[slot] = mix->base_turn != mix->turn;
        now.till[slot] = mix->reach;
    } else if (begun || mix->base_turn != before->base) {
        now.from[slot] = mix->base_turn;
        /* CARRY moves the other one's base later. */
        if (now.apart[slot] && !begun && op->what == op_mix_next)
            now.till[slot] = 0;
        else
            now.apart[slot] = 0;
    }
}

static void note(const operation *op, const mix_before *before)
{
    const int good = old_said.count != 0 && old_said.value[0] == 0;
    if (op->what == op_save && good)
        now.state[op->other] = 1;
    if (op->what == op_mix_save && good && !op->b)
        note_saved(op);
    if (op->what >= op_mix_init && old_here.members[op->slot] != 0)
        note_base(op, before);
}

static int is_before_base(int code)
{
    return code == -201 || code == -206; /* the mix's, or the sampler's */
}

/* Whether an answer may differ: where a mix whose base is another locates what
   is before the turn that both reach back to, or too far on. */
static int excused(const operation *op)
{
    const int code = (int)old_said.value[0], new_code = (int)new_said.value[0];
    const uint64_t turn = old_said.value[1], slot = op->slot;
    if (op->what != op_mix_locate)
        return 0;
    if (is_before_base(code) && is_before_base(new_code))
        return 1;
    if (!now.apart[slot])
        return 0;
    return code == 0 ? turn < now.from[slot] || turn > now.till[slot]
                     : code == -203 || now.till[slot] == 0;
}

static int same_answers(const operation *op)
{
    return (old_said.count == new_said.count &&
            memcmp(old_said.value, new_said.value,
                   old_said.count * sizeof *old_said.value) == 0) ||
           excused(op);
}

/* --- what is printed ------------------------------------------------------ */

static const char *const what_name[] = {
#define JUDGE_NAME(name) #name,
    JUDGE_OPERATIONS(JUDGE_NAME) JUDGE_MIXTURES(JUDGE_NAME) "none"};

static void print_number(const char *name, uint64_t number)
{
    if (number > NONE - 1000)
        printf(" %s=-%lu", name, (unsigned long)(NONE - number + 1));
    else
        printf(" %s=%llu", name, (unsigned long long)number);
}

static void print_desc(const operation *op, uint32_t i)
{
    const judge_desc *d = op->desc + i;
    printf("       ");
    print_number("num_samples", d->num_samples);
    print_number("seed", d->seed);
    print_number("epoch", d->epoch);
    print_number("stream", d->stream);
    printf(" rank=%u/%u batch=%u order=%u partition=%u tail=%u drop_last=%u",
           d->rank, d->world_size, d->batch_size, d->order, d->partition,
           d->tail, d->drop_last);
    if (d->chunk_size | d->window) {
        print_number("chunk_size", d->chunk_size);
        print_number("window", d->window);
    }
    if (op->what == op_mixture_build || op->what == op_mixture_add)
        printf(" name=\"%s\"", judge_name[op->name[i]]);
    if (op->what == op_mix_init) {
        print_number("seek", op->seek[i]);
        if (op->copied[i] < SAMPLERS)
            printf(" (a copy of sampler %u)", op->copied[i]);
    }
    printf("\n");
}

static void print_operation(uint32_t number, const operation *op)
{
    uint32_t i, descs = op->count;
    printf("%3u %s slot=%u other=%u times=%u", number, what_name[op->what],
           op->slot, op->other, op->times);
    print_number("a", op->a);
    print_number("b", op->b);
    print_number("c", op->c);
    print_number("d", op->d);
    printf(" damage=%u foreign=%u", op->damage, op->foreign);
    if (op->what >= op_mix_init) {
        printf(" stop=%u count=%u weights=", op->stop, op->count);
        for (i = 0; i < SOURCES; i++)
            op->weight[i] == OFF ? printf(" off")
                                 : printf(" %u", op->weight[i]);
    }
    printf("\n");
    if (op->what == op_init || op->what == op_perm ||
        op->what == op_mixture_add)
        descs = 1;
    if (op->what != op_mixture_start)
        for (i = 0; i < descs; i++)
            print_desc(op, i);
}

static void print_answers(void)
{
    size_t i, count = old_said.count, differs, from;
    if (new_said.count > count)
        count = new_said.count;
    for (differs = 0; differs < count; differs++)
        if (differs >= old_said.count || differs >= new_said.count ||
            old_said.value[differs] != new_said.value[differs])
            break;
    from = differs > 20 ? differs - 20 : 0;
    for (i = from; i < count && i < differs + 20; i++) {
        printf("    %c answer %lu:", i == differs ? '*' : ' ',
               (unsigned long)i);
        if (i < old_said.count) {
            printf("  0.4.0");
            print_number(old_said.label[i], old_said.value[i]);
        }
        if (i < new_said.count) {
            printf("  now");
            print_number(new_said.label[i], new_said.value[i]);
        }
        printf("\n");
    }
}

/* --- main ----------------------------------------------------------------- */

static uint64_t current;

/* A fault or an endless loop: which program it was. */
static void stopped(int signal_number)
{
    printf("program %llu: stopped by signal %d\n"
           "    judge --seed %llu shows it\n",
           (unsigned long long)current, signal_number,
           (unsigned long long)current);
    fflush(stdout);
    _exit(1);
}

static unsigned long operations, kinds[op_none + 1];

/* Returns whether a program gives the same answers. */
static int play(uint64_t number, int show)
{
    uint32_t i, length;
    current = number;
    chance_state = number;
    chance_state = chance_word(); /* neighbours share nothing */
    old_reset();
    new_reset();
    memset(&now, 0, sizeof now);
    now.family = draw32(5) / 2;
    length = 5 + draw32(56);
#ifdef JUDGE_STB
    now.mixture_stop = draw32(4);
    for (i = 0; i < NAMES; i++) {
        draw_desc(now.dataset + i);
        if (now.dataset[i].tail == CARRY && now.mixture_stop != NEVER)
            now.dataset[i].tail = PAD;
    }
#else
    now.family = now.family ? 1 : 0;
#endif
    for (i = 0; i < length; i++) {
        operation op;
        mix_before before;
        draw_operation(&op);
        if (op.what == op_none)
            continue;
        before = look_before(&op);
        if (show) {
            print_operation(i, &op);
            fflush(stdout);
        }
        operations++;
        kinds[op.what]++;
        old_answer(&op, &old_said);
        new_answer(&op, &new_said);
        if (!same_answers(&op)) {
            if (show)
                print_answers();
            return 0;
        }
        note(&op, &before);
    }
    return 1;
}

/* A whole number above 0, of at most 18 digits; 0 if it is not one. */
static uint64_t number_of(const char *text)
{
    const size_t digits = strspn(text, "0123456789");
    return text[digits] == 0 && digits < 19 ? strtoull(text, NULL, 10) : 0;
}

int main(int argc, char **argv)
{
    const int one = argc == 3 && strcmp(argv[1], "--seed") == 0;
    uint64_t count, first = 1, i;
    if (argc < 2 || argc > 3) {
        printf("usage: judge PROGRAMS [FIRST] | judge --seed NUMBER\n");
        return 2;
    }
    count = one ? 1 : number_of(argv[1]);
    if (argc == 3)
        first = number_of(argv[2]);
    if (count == 0 || first == 0) {
        printf("judge: PROGRAMS and FIRST are whole numbers above 0, of at "
               "most 18 digits\n");
        return 2;
    }
    signal(SIGSEGV, stopped);
    signal(SIGFPE, stopped);
    signal(SIGABRT, stopped);
    signal(SIGALRM, stopped);
    for (i = first; i < first + count; i++) {
        alarm(20);
        if (play(i, one))
            continue;
        printf("program %llu differs from 0.4.0:\n", (unsigned long long)i);
        if (!one)
            (void)play(i, 1);
        printf("judge --seed %llu shows it again\n", (unsigned long long)i);
        return 1;
    }
    printf("judge: %llu programs from %llu on, %lu operations\n",
           (unsigned long long)count, (unsigned long long)first, operations);
    return 0;
}

/* judge_side.h - the judge's operations on one version of the header. Included
   once for each, with
       SELF           its sampler: oldsampler
       SAMPLER(name)  oldsampler_name
       SIDE(name)     old_name
       NUMBER         0, and 1 for the other header
   so that every operation is written once. tests/judge.c. */

/* All objects of a program. A mix has two arrays of sources, so that a
   mix_init that is refused leaves the running one alone. */
typedef struct SIDE(world) {
    SELF samplers[SAMPLERS];
    int there[SAMPLERS]; /* 1: it has been initialised */
    SAMPLER(mix) mixes[MIXES];
    SAMPLER(source) sources[MIXES][2][SOURCES];
    uint32_t array[MIXES];
    uint32_t members[MIXES + MIXTURES]; /* 0: there is no mix, or not yet */
    unsigned long started, loaded;      /* mixes, so many times */
#ifdef JUDGE_STB
    SAMPLER(mixture) mixtures[MIXTURES];
#endif
    /* Those of mixtures come after those of mixes. */
    unsigned char mix_states[2 * MIX_STATES][MIX_STATE_ROOM];
    size_t mix_sizes[2 * MIX_STATES];
} SIDE(world);

static SIDE(world) SIDE(here);

static SAMPLER(mix) *SIDE(mix_of)(uint32_t slot)
{
#ifdef JUDGE_STB
    if (slot >= MIXES)
        return &SIDE(here).mixtures[slot - MIXES].mix;
#endif
    return SIDE(here).mixes + slot;
}

/* The sampler of a member. */
static SELF *SIDE(member_of)(uint32_t slot, uint32_t i)
{
#ifdef JUDGE_STB
    if (slot >= MIXES)
        return &SIDE(here).mixtures[slot - MIXES].sources[i].sampler;
#endif
    return &SIDE(here).sources[slot][SIDE(here).array[slot]][i].sampler;
}

static void SIDE(set_desc)(SAMPLER(desc) *to, const judge_desc *from)
{
    to->num_samples = from->num_samples;
    to->seed = from->seed;
    to->epoch = from->epoch;
    to->stream = from->stream;
    to->rank = from->rank;
    to->world_size = from->world_size;
    to->batch_size = from->batch_size;
    to->order = from->order;
    to->partition = from->partition;
    to->tail = from->tail;
    to->drop_last = from->drop_last;
    to->chunk_size = from->chunk_size;
    to->window = from->window;
}

/* All of a description but its epoch and drop_last. */
static void SIDE(say_desc)(answer *to, const SAMPLER(desc) *desc)
{
    say(to, "num_samples", desc->num_samples);
    say(to, "seed", desc->seed);
    say(to, "stream", desc->stream);
    say(to, "rank", desc->rank);
    say(to, "world_size", desc->world_size);
    say(to, "batch_size", desc->batch_size);
    say(to, "order", desc->order);
    say(to, "partition", desc->partition);
    say(to, "tail", desc->tail);
    say(to, "chunk_size", desc->chunk_size);
    say(to, "window", desc->window);
}

static void SIDE(say_place)(answer *to, const SAMPLER(place) *place)
{
    say(to, "position", place->position);
    say(to, "step", place->step);
    say(to, "rank", place->rank);
    say(to, "slot", place->slot);
}

static void SIDE(unset_place)(SAMPLER(place) *place)
{
    place->position = place->step = UNSET;
    place->rank = place->slot = (uint32_t)UNSET;
}

static void SIDE(say_batch)(answer *to, const uint64_t *out, size_t count)
{
    size_t i;
    say(to, "count", count);
    for (i = 0; out && i < count; i++)
        say(to, "index", out[i]);
}

/* What is said of an object after every operation on it. */
static void SIDE(say_sampler)(answer *to, const SELF *s)
{
    say(to, "now: epoch", SAMPLER(epoch)(s));
    say(to, "now: step", SAMPLER(step)(s));
    say(to, "now: position", SAMPLER(position)(s));
    say(to, "now: num_steps", SAMPLER(num_steps)(s));
}

static void SIDE(say_mix)(answer *to, uint32_t slot)
{
    const SAMPLER(mix) *mix = SIDE(mix_of)(slot);
    uint32_t i;
    say(to, "mix: epoch", SAMPLER(mix_epoch)(mix));
    say(to, "mix: turn", SAMPLER(mix_turn)(mix));
    say(to, "mix: num_turns", SAMPLER(mix_num_turns)(mix));
    for (i = 0; i < SIDE(here).members[slot]; i++)
        SIDE(say_sampler)(to, SIDE(member_of)(slot, i));
}

/* --- sampler -------------------------------------------------------------- */

static void SIDE(init)(const operation *op, answer *to)
{
    SAMPLER(desc) desc;
    int code;
    SIDE(set_desc)(&desc, op->desc);
    code = SAMPLER(init)(SIDE(here).samplers + op->slot, &desc);
    say_code(to, code);
    SIDE(here).there[op->slot] |= code == 0;
}

/* a: what is asked for: 0 all, 1 nothing, 2 the count; b: batch_size. */
static void SIDE(next)(const operation *op, answer *to)
{
    SELF *s = SIDE(here).samplers + op->slot;
    uint64_t out[ROOM + 1];
    uint32_t i;
    for (i = 0; i < op->times; i++) {
        size_t count = 0;
        if (op->a == 1) {
            say_code(to, SAMPLER(next)(s, NULL, NULL));
            continue;
        }
        out[op->b] = UNSET;
        say_code(to, SAMPLER(next)(s, op->a ? NULL : out, &count));
        SIDE(say_batch)(to, op->a ? NULL : out, count);
        say(to, "behind the batch", out[op->b]);
    }
}

/* a, b as in next; c: the step. */
static void SIDE(at)(const operation *op, answer *to)
{
    const SELF *s = SIDE(here).samplers + op->slot;
    uint64_t out[ROOM + 1];
    size_t count = 0;
    if (op->a == 1) {
        say_code(to, SAMPLER(at)(s, op->c, NULL, NULL));
        return;
    }
    out[op->b] = UNSET;
    say_code(to, SAMPLER(at)(s, op->c, op->a ? NULL : out, &count));
    SIDE(say_batch)(to, op->a ? NULL : out, count);
    say(to, "behind the batch", out[op->b]);
}

static void SIDE(seek)(const operation *op, answer *to)
{
    say_code(to, SAMPLER(seek)(SIDE(here).samplers + op->slot, op->c));
}

static void SIDE(begin)(const operation *op, answer *to)
{
    (void)to;
    SAMPLER(begin)(SIDE(here).samplers + op->slot, op->c);
}

static void SIDE(set_epoch)(const operation *op, answer *to)
{
    (void)to;
    SAMPLER(set_epoch)(SIDE(here).samplers + op->slot, op->c);
}

static void SIDE(reshape)(const operation *op, answer *to)
{
    say_code(to,
             SAMPLER(reshape)(SIDE(here).samplers + op->slot, (uint32_t)op->a,
                              (uint32_t)op->b, (uint32_t)op->c));
}

static void SIDE(resize)(const operation *op, answer *to)
{
    say_code(to, SAMPLER(resize)(SIDE(here).samplers + op->slot, op->c));
}

/* a: how many bytes the buffer has. */
static void SIDE(save)(const operation *op, answer *to)
{
    unsigned char *state = judge_states[NUMBER][op->other];
    int code =
        SAMPLER(save)(SIDE(here).samplers + op->slot, state, (size_t)op->a);
    size_t i, k;
    say_code(to, code);
    for (i = 0; code == 0 && i < STATE_BYTES; i += 8) {
        uint64_t word = 0;
        for (k = 8; k != 0; k--)
            word = word << 8 | state[i + k - 1];
        say(to, "state", word);
    }
}

/* A state of so many bytes, damaged as an operation says: op->c says where. */
static size_t SIDE(damaged)(unsigned char *to, const unsigned char *from,
                            size_t size, const operation *op)
{
    memcpy(to, from, size);
    if (op->damage == 1)
        size = (size_t)(op->c % size);
    if (op->damage == 2)
        to[op->c / 8 % size] ^= (unsigned char)(1u << op->c % 8);
    if (op->damage == 3)
        to[size++] = 0;
    return size;
}

/* The bytes of a state: which header saved them must not matter. */
static const unsigned char *SIDE(state_of)(const operation *op)
{
    return judge_states[op->foreign ? !NUMBER : NUMBER][op->other];
}

static void SIDE(load)(const operation *op, answer *to)
{
    unsigned char state[STATE_BYTES + 1];
    size_t size = SIDE(damaged)(state, SIDE(state_of)(op), STATE_BYTES, op);
    say_code(to, SAMPLER(load)(SIDE(here).samplers + op->slot, state, size));
}

static void SIDE(describe)(const operation *op, answer *to)
{
    unsigned char state[STATE_BYTES + 1];
    size_t size = SIDE(damaged)(state, SIDE(state_of)(op), STATE_BYTES, op);
    judge_desc nothing;
    SAMPLER(desc) desc;
    SAMPLER(place) place;
    memset(&nothing, 0x77, sizeof nothing);
    SIDE(set_desc)(&desc, &nothing);
    SIDE(unset_place)(&place);
    say_code(to, SAMPLER(describe)(state, size, op->a & 1 ? NULL : &desc,
                                   op->a & 2 ? NULL : &place));
    SIDE(say_desc)(to, &desc);
    say(to, "epoch", desc.epoch);
    say(to, "drop_last", desc.drop_last);
    SIDE(say_place)(to, &place);
}

static void SIDE(locate)(const operation *op, answer *to)
{
    SAMPLER(place) place;
    SIDE(unset_place)(&place);
    say_code(to,
             SAMPLER(locate)(SIDE(here).samplers + op->slot, op->c, &place));
    SIDE(say_place)(to, &place);
}

static void SIDE(padding)(const operation *op, answer *to)
{
    say(to, "padding", SAMPLER(padding)(SIDE(here).samplers + op->slot, op->c));
}

static void SIDE(get_counts)(const operation *op, answer *to)
{
    SAMPLER(counts) counts;
    SAMPLER(get_counts)(SIDE(here).samplers + op->slot, &counts);
    say(to, "positions", counts.positions);
    say(to, "padded", counts.padded);
    say(to, "dropped", counts.dropped);
    say(to, "steps", counts.steps);
    say(to, "rank_samples", counts.rank_samples);
    say(to, "rank_batches", counts.rank_batches);
}

static void SIDE(sample_seed)(const operation *op, answer *to)
{
    say(to, "seed",
        SAMPLER(sample_seed)(SIDE(here).samplers + op->slot, op->a, op->c));
}

static void SIDE(copy)(const operation *op, answer *to)
{
    (void)to;
    SIDE(here).samplers[op->slot] = SIDE(here).samplers[op->other];
    SIDE(here).there[op->slot] = 1;
}

/* desc: the key; a: a position and an index; b: a stride; times: how many. */
static void SIDE(perm)(const operation *op, answer *to)
{
    const judge_desc *desc = op->desc;
    SAMPLER(perm) perm;
    uint64_t out[ROOM + 1];
    int code = SAMPLER(perm_init)(&perm, desc->num_samples, desc->seed,
                                  desc->epoch, desc->stream);
    say_code(to, code);
    if (code != 0 || desc->num_samples == 0)
        return;
    say(to, "index", SAMPLER(perm_at)(&perm, op->a));
    say(to, "position", SAMPLER(perm_inverse)(&perm, op->a));
    out[op->times] = UNSET;
    SAMPLER(perm_fill)(&perm, op->a, op->b, out, op->times);
    SIDE(say_batch)(to, out, op->times);
    say(to, "behind them", out[op->times]);
}

/* Up to `times` steps from step c on, of all ranks; d: a sum is made wrong. */
static void SIDE(audit)(const operation *op, answer *to)
{
    const SELF *s = SIDE(here).samplers + op->slot;
    SAMPLER(audit) all = {0, 0, 0, 0};
    SELF rank = *s;
    uint64_t out[ROOM], step;
    uint32_t r;
    for (r = 0; r < op->a; r++) {
        SAMPLER(audit) one = {0, 0, 0, 0};
        say_code(to,
                 SAMPLER(reshape)(&rank, r, (uint32_t)op->a, (uint32_t)op->b));
        for (step = op->c; step < op->c + op->times; step++) {
            size_t count = 0;
            if (SAMPLER(at)(&rank, step, out, &count) != 1)
                break;
            SAMPLER(audit_add)(&one, out, count);
        }
        SAMPLER(audit_merge)(&all, &one);
    }
    say(to, "count", all.count);
    say(to, "sum1", all.sum1);
    say(to, "sum2", all.sum2);
    say(to, "sum3", all.sum3);
    say(to, "whole",
        (uint64_t)SAMPLER(audit_check)(&all, op->desc->num_samples));
    all.sum1 += op->d == 1;
    all.sum2 += op->d == 2;
    all.sum3 += op->d == 3;
    say(to, "whole of so many",
        (uint64_t)SAMPLER(audit_check)(&all, all.count));
}

/* --- mix ------------------------------------------------------------------ */

static void SIDE(mix_init)(const operation *op, answer *to)
{
    uint32_t array = !SIDE(here).array[op->slot], i;
    SAMPLER(source) *sources = SIDE(here).sources[op->slot][array];
    SAMPLER(desc) desc;
    int code;
    for (i = 0; i < op->count; i++) {
        SELF *s = &sources[i].sampler;
        if (op->copied[i] < SAMPLERS) {
            *s = SIDE(here).samplers[op->copied[i]];
        } else {
            SIDE(set_desc)(&desc, op->desc + i);
            code = SAMPLER(init)(s, &desc);
            say_code(to, code);
            if (code != 0)
                return;
            say_code(to, SAMPLER(seek)(s, op->seek[i]));
        }
        sources[i].weight = op->weight[i];
    }
    code = SAMPLER(mix_init)(SIDE(here).mixes + op->slot, sources, op->count,
                             op->stop);
    say_code(to, code);
    if (code == 0) {
        SIDE(here).array[op->slot] = array;
        SIDE(here).members[op->slot] = op->count;
        SIDE(here).started++;
    }
}

/* a, b as in next. */
static void SIDE(mix_next)(const operation *op, answer *to)
{
    SAMPLER(mix) *mix = SIDE(mix_of)(op->slot);
    uint64_t out[ROOM + 1];
    uint32_t i;
    for (i = 0; i < op->times; i++) {
        size_t count = 0;
        uint32_t source = SOURCES;
        if (op->a == 1) {
            say_code(to, SAMPLER(mix_next)(mix, NULL, NULL, NULL));
            continue;
        }
        out[op->b] = UNSET;
        say_code(to,
                 SAMPLER(mix_next)(mix, op->a ? NULL : out, &count, &source));
        say(to, "source", source);
        SIDE(say_batch)(to, op->a ? NULL : out, count);
        say(to, "behind the batch", out[op->b]);
    }
}

/* `times` turns from turn c on. */
static void SIDE(mix_at)(const operation *op, answer *to)
{
    const SAMPLER(mix) *mix = SIDE(mix_of)(op->slot);
    uint64_t out[ROOM + 1];
    uint32_t i;
    for (i = 0; i < op->times; i++) {
        size_t count = 0;
        uint32_t source = SOURCES;
        if (op->a == 1) {
            say_code(to, SAMPLER(mix_at)(mix, op->c + i, NULL, NULL, NULL));
            continue;
        }
        out[op->b] = UNSET;
        say_code(to, SAMPLER(mix_at)(mix, op->c + i, op->a ? NULL : out, &count,
                                     &source));
        say(to, "source", source);
        SIDE(say_batch)(to, op->a ? NULL : out, count);
        say(to, "behind the batch", out[op->b]);
    }
}

static void SIDE(mix_seek)(const operation *op, answer *to)
{
    say_code(to, SAMPLER(mix_seek)(SIDE(mix_of)(op->slot), op->c));
}

static void SIDE(mix_weigh)(const operation *op, answer *to)
{
    say_code(to, SAMPLER(mix_weigh)(SIDE(mix_of)(op->slot), op->weight));
}

static void SIDE(mix_reshape)(const operation *op, answer *to)
{
    say_code(to, SAMPLER(mix_reshape)(SIDE(mix_of)(op->slot), (uint32_t)op->a,
                                      (uint32_t)op->b));
}

/* Its first two answers are the code and the turn. */
static void SIDE(mix_locate)(const operation *op, answer *to)
{
    SAMPLER(place) place;
    uint64_t turn = UNSET;
    SIDE(unset_place)(&place);
    say_code(to, SAMPLER(mix_locate)(SIDE(mix_of)(op->slot), (uint32_t)op->a,
                                     op->c, &turn, &place));
    say(to, "turn", turn);
    SIDE(say_place)(to, &place);
}

static void SIDE(mix_offset)(const operation *op, answer *to)
{
    say(to, "offset",
        SAMPLER(mix_offset)(SIDE(mix_of)(op->slot), (uint32_t)op->a));
}

/* A mix or a mixture. */
static int SIDE(save_any)(uint32_t slot, unsigned char *state, size_t size)
{
#ifdef JUDGE_STB
    if (slot >= MIXES)
        return SAMPLER(mixture_save)(SIDE(here).mixtures + slot - MIXES, state,
                                     size);
#endif
    return SAMPLER(mix_save)(SIDE(mix_of)(slot), state, size);
}

static size_t SIDE(bytes_of_any)(uint32_t slot)
{
#ifdef JUDGE_STB
    if (slot >= MIXES)
        return SAMPLER(mixture_state_bytes)(SIDE(here).mixtures + slot - MIXES);
#endif
    return SAMPLER(mix_state_bytes)(SIDE(mix_of)(slot));
}

/* b: 1 if the buffer is too small by a byte; a: another rank, c: world_size.
   The bytes are the header's own affair, but the same on every rank. */
static void SIDE(mix_save)(const operation *op, answer *to)
{
    unsigned char *state = SIDE(here).mix_states[op->other];
    unsigned char again[MIX_STATE_ROOM];
    SAMPLER(mix) *mix = SIDE(mix_of)(op->slot);
    size_t size = SIDE(bytes_of_any)(op->slot);
    int code;
    if (size > MIX_STATE_ROOM) {
        printf("judge: a state of %lu bytes\n", (unsigned long)size);
        exit(2);
    }
    if (op->b) {
        say_code(to, SIDE(save_any)(op->slot, again, size - 1));
        return;
    }
    code = SIDE(save_any)(op->slot, state, size);
    say_code(to, code);
    SIDE(here).mix_sizes[op->other] = size;
    say_code(to, SAMPLER(mix_reshape)(mix, (uint32_t)op->a, (uint32_t)op->c));
    say_code(to, SIDE(save_any)(op->slot, again, size));
    say(to, "same bytes on another rank", memcmp(state, again, size) == 0);
    say_code(to, SAMPLER(mix_reshape)(mix, (uint32_t)op->d, (uint32_t)op->c));
}

static int SIDE(load_any)(uint32_t slot, const unsigned char *state,
                          size_t size, int changed)
{
    int code;
    (void)changed;
#ifdef JUDGE_STB
    if (slot >= MIXES)
        code = SAMPLER(mixture_load)(SIDE(here).mixtures + slot - MIXES, state,
                                     size, changed);
    else
#endif
        code = SAMPLER(mix_load)(SIDE(mix_of)(slot), state, size);
    SIDE(here).loaded += code == 0;
    return code;
}

#ifdef JUDGE_STB
static void SIDE(say_changes)(answer *to, const SAMPLER(mixture) *mixture)
{
    size_t i, k;
    say(to, "changes", (uint64_t)arrlen(mixture->changes));
    for (i = 0; i < (size_t)arrlen(mixture->changes); i++) {
        const char *name = mixture->changes[i].name;
        say(to, "change: hash", mixture->changes[i].hash);
        say(to, "change: source", mixture->changes[i].source);
        say(to, "change: status", mixture->changes[i].status);
        say(to, "change: has a name", name != NULL);
        for (k = 0; name && name[k]; k++)
            say(to, "change: name", (unsigned char)name[k]);
    }
}
#endif

/* Only kinds are compared, as states of another format may be looked at in
   another order; and of damaged ones that they are refused. a: changed. */
static void SIDE(mix_load)(const operation *op, answer *to)
{
    unsigned char state[MIX_STATE_ROOM + 1];
    size_t size = SIDE(damaged)(state, SIDE(here).mix_states[op->other],
                                SIDE(here).mix_sizes[op->other], op);
    int code = SIDE(load_any)(op->slot, state, size, (int)op->a);
    if (op->damage)
        say(to, "refused", code < 0);
    else
        say_code(to, code / 100 * 100);
#ifdef JUDGE_STB
    if (op->slot >= MIXES && !op->damage)
        SIDE(say_changes)(to, SIDE(here).mixtures + op->slot - MIXES);
#endif
}

/* The epoch and the drop_last of a source may be told as of the base or of
   now. */
static void SIDE(mix_describe)(const operation *op, answer *to)
{
    const unsigned char *state = SIDE(here).mix_states[op->other];
    size_t size = SIDE(here).mix_sizes[op->other];
    SAMPLER(mix_place) place;
    SAMPLER(desc) desc;
    judge_desc nothing;
    memset(&nothing, 0x77, sizeof nothing);
    SIDE(set_desc)(&desc, &nothing);
    place.epoch = place.turn = UNSET;
    place.num_sources = place.stop = place.weight = 77;
    say_code(to, SAMPLER(mix_describe)(state, size, (uint32_t)op->a,
                                       op->b & 1 ? NULL : &desc,
                                       op->b & 2 ? NULL : &place));
    SIDE(say_desc)(to, &desc);
    say(to, "epoch", place.epoch);
    say(to, "turn", place.turn);
    say(to, "num_sources", place.num_sources);
    say(to, "stop", place.stop);
    say(to, "weight", place.weight);
}

/* A mix made of what a state says alone; b: drop_last, a: rank. */
static void SIDE(mix_rebuild)(const operation *op, answer *to)
{
    const unsigned char *state = SIDE(here).mix_states[op->other];
    size_t size = SIDE(here).mix_sizes[op->other];
    uint32_t array = !SIDE(here).array[op->slot], i, count = 1, stop = 0;
    SAMPLER(source) *sources = SIDE(here).sources[op->slot][array];
    int code;
    for (i = 0; i < count; i++) {
        SAMPLER(mix_place) place;
        SAMPLER(desc) desc;
        if (SAMPLER(mix_describe)(state, size, i, &desc, &place) != 0)
            return;
        desc.epoch = 0;
        desc.rank = (uint32_t)(op->a % desc.world_size);
        desc.drop_last = desc.tail == CARRY ? 0 : (uint32_t)op->b;
        count = place.num_sources;
        stop = place.stop;
        sources[i].weight = place.weight;
        code = SAMPLER(init)(&sources[i].sampler, &desc);
        say_code(to, code);
        if (code != 0)
            return;
    }
    code = SAMPLER(mix_init)(SIDE(here).mixes + op->slot, sources, count, stop);
    say_code(to, code);
    if (code == 0) {
        SIDE(here).array[op->slot] = array;
        SIDE(here).members[op->slot] = count;
        SIDE(here).started++;
        code = SIDE(load_any)(op->slot, state, size, 0);
        say_code(to, code);
    }
}

/* What the sampler of source a says of itself, from its present step on: where
   its base is, is the header's own affair. c: a step; d: an epoch. */
static void SIDE(member)(const operation *op, answer *to)
{
    const SELF *s = SIDE(member_of)(op->slot, (uint32_t)op->a);
    SAMPLER(counts) counts;
    uint64_t out[ROOM + 1];
    size_t count = 0;
    SAMPLER(get_counts)(s, &counts);
    say(to, "positions", counts.positions);
    say(to, "padded", counts.padded);
    say(to, "dropped", counts.dropped);
    say(to, "steps", counts.steps);
    say(to, "seed", SAMPLER(sample_seed)(s, op->d, op->c));
    out[op->b] = UNSET;
    say_code(to, SAMPLER(at)(s, op->c, op->times ? out : NULL, &count));
    SIDE(say_batch)(to, op->times ? out : NULL, count);
    say(to, "behind the batch", out[op->b]);
    say(to, "padding", SAMPLER(padding)(s, op->c));
}

/* --- mixture -------------------------------------------------------------- */

#ifdef JUDGE_STB

static void SIDE(add)(const operation *op, uint32_t i, answer *to)
{
    SAMPLER(mixture) *mixture = SIDE(here).mixtures + op->slot - MIXES;
    SAMPLER(desc) desc;
    int code;
    SIDE(set_desc)(&desc, op->desc + i);
    code = SAMPLER(mixture_add)(mixture, judge_name[op->name[i]], op->weight[i],
                                &desc);
    say_code(to, code);
    say(to, "datasets", (uint64_t)arrlen(mixture->sources));
    if (code == 0)
        SIDE(here).members[op->slot] = 0;
}

static int SIDE(start)(const operation *op, answer *to)
{
    SAMPLER(mixture) *mixture = SIDE(here).mixtures + op->slot - MIXES;
    int code = SAMPLER(mixture_start)(mixture, op->stop);
    say_code(to, code);
    if (code == 0) {
        SIDE(here).members[op->slot] = (uint32_t)arrlen(mixture->sources);
        SIDE(here).started++;
    }
    return code;
}

static void SIDE(mixture_build)(const operation *op, answer *to)
{
    uint32_t i;
    SAMPLER(mixture_free)(SIDE(here).mixtures + op->slot - MIXES);
    SIDE(here).members[op->slot] = 0;
    for (i = 0; i < op->count; i++)
        SIDE(add)(op, i, to);
    (void)SIDE(start)(op, to);
}

static void SIDE(mixture_add)(const operation *op, answer *to)
{
    SIDE(add)(op, 0, to);
}

/* The weights are set anew, as a load or a weigh may have changed them here;
   where they are refused, the mix goes on with those it had. */
static void SIDE(mixture_start)(const operation *op, answer *to)
{
    SAMPLER(source) *sources = SIDE(here).mixtures[op->slot - MIXES].sources;
    uint32_t had[SOURCES], i;
    for (i = 0; i < op->count; i++) {
        had[i] = sources[i].weight;
        sources[i].weight = op->weight[i];
    }
    if (SIDE(start)(op, to) != 0)
        for (i = 0; i < op->count; i++)
            sources[i].weight = had[i];
}

static void SIDE(mixture_find)(const operation *op, answer *to)
{
    SAMPLER(mixture) *mixture = SIDE(here).mixtures + op->slot - MIXES;
    const char *name = judge_name[op->name[0]];
    uint32_t source = SOURCES;
    say_code(to, SAMPLER(mixture_find)(mixture, name, &source));
    say(to, "source", source);
    say(to, "hash", HASH(name));
}

#endif

/* --- all ------------------------------------------------------------------ */

static void SIDE(answer)(const operation *op, answer *to)
{
    to->count = 0;
    switch (op->what) {
#define JUDGE_CASE(name) \
    case op_##name: SIDE(name)(op, to); break;
        JUDGE_OPERATIONS(JUDGE_CASE)
#ifdef JUDGE_STB
        JUDGE_MIXTURES(JUDGE_CASE)
#endif
#undef JUDGE_CASE
    default: break;
    }
    if (op->what >= op_mix_init) {
        if (SIDE(here).members[op->slot] != 0)
            SIDE(say_mix)(to, op->slot);
    } else if (SIDE(here).there[op->slot]) {
        SIDE(say_sampler)(to, SIDE(here).samplers + op->slot);
    }
}

/* Before a program. */
static void SIDE(reset)(void)
{
    uint32_t slot;
    for (slot = 0; slot < SAMPLERS; slot++)
        SIDE(here).there[slot] = 0;
    for (slot = 0; slot < MIXES + MIXTURES; slot++)
        SIDE(here).members[slot] = 0;
#ifdef JUDGE_STB
    for (slot = 0; slot < MIXTURES; slot++)
        SAMPLER(mixture_free)(SIDE(here).mixtures + slot);
#endif
}

#undef SELF
#undef SAMPLER
#undef HASH
#undef SIDE
#undef NUMBER

/* checksum.c - one number that must be the same on every machine: a hash of
   what every part of the header gives, in every order, with no file and no C
   library. It needs a board of examples/boards, whose host.c is any system;
   the tests compare what it prints.

   With CHECKSUM_CASES, so many cases more are drawn, from CHECKSUM_SEED: make
   fuzz-agree. */
#include "statesampler.h"
#include "board.h"
#include "print.h"
#include "rules.h"

#define BYTES STATESAMPLER_STATE_BYTES
#define BATCH 16
#define SOURCES 3

static uint64_t hash, batch[BATCH];
static uint32_t values;
static unsigned char state[STATESAMPLER_MIX_STATE_BYTES(SOURCES)];

/* FNV-1a of 64 bits. C++98 and 16-bit machines have no literals as long. */
static void take_byte(unsigned char byte)
{
    hash = (hash ^ byte) * ((uint64_t)0x100 << 32 | 0x1b3);
}

static void take(uint64_t value)
{
    int i;
    values++;
    for (i = 0; i < 64; i += 8)
        take_byte((unsigned char)(value >> i & 0xff));
}

static void take_code(int code)
{
    take((uint64_t)(-(int32_t)code));
}

static void take_batch(size_t count)
{
    size_t i;
    take(count);
    for (i = 0; i < count; i++)
        take(batch[i]);
}

static void take_state(size_t size)
{
    size_t i;
    values++;
    for (i = 0; i < size; i++)
        take_byte(state[i]);
}

static void ask_perm(uint64_t n, uint64_t seed, uint64_t epoch)
{
    statesampler_perm perm;
    unsigned i;
    take_code(statesampler_perm_init(&perm, n, seed, epoch, 7));
    for (i = 0; i < 50; i++) {
        uint64_t x = (uint64_t)i * (n / 50) % n;
        take(statesampler_perm_at(&perm, x));
        take(statesampler_perm_inverse(&perm, x));
    }
    if (n >= 6 * BATCH) { /* the last one is n / 2 + 45 */
        statesampler_perm_fill(&perm, n / 2, 3, batch, BATCH);
        take_batch(BATCH);
    }
}

/* Small, narrow and wide, up to the largest. */
static void ask_perms(void)
{
    static const uint32_t sizes[][2] = {
        {0, 1},
        {0, 2},
        {0, 10},
        {0, 1000},
        {0, 8192},
        {0, 100003},
        {0, 16777217},
        {0, 0x40000000},
        {0, 0x40000001},
        {0, 0xffffffff},
        {232, 0xd4a51000},
        {0x3fffffff, 0xfffffff1},
        {0x40000000, 0},
    };
    unsigned k;
    for (k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
        ask_perm((uint64_t)sizes[k][0] << 32 | sizes[k][1], 42 + k, k);
}

/* A run that changes its shape, by states, until the epoch is over. */
static void ask_chain(statesampler_desc *d, const uint32_t *worlds)
{
    static statesampler s;
    static statesampler_place place; /* what it was after an error */
    static statesampler_audit audit; /* of all chains */
    size_t count = 0;
    unsigned leg, step;
    for (leg = 0; leg < 4; leg++) {
        d->world_size = worlds[leg];
        d->rank = worlds[leg] - 1;
        d->batch_size = 4 + leg;
        take_code(statesampler_init(&s, d));
        if (leg > 0)
            take_code(statesampler_load(&s, state, BYTES));
        for (step = 0; step < 3; step++) {
            take((uint64_t)statesampler_next(&s, batch, &count));
            take_batch(count);
            statesampler_audit_add(&audit, batch, count);
        }
        take_code(statesampler_at(&s, statesampler_step(&s) + 1, batch,
                                  &count));
        take_batch(count);
        take_code(statesampler_locate(&s, leg * 17 + 5, &place));
        take(place.step);
        take(statesampler_num_steps(&s));
        take(statesampler_sample_seed(&s, leg, 11));
        take_code(statesampler_save(&s, state, BYTES));
        take_state(BYTES);
    }
    take(audit.sum1);
    take(audit.sum3);
}

static void ask_samplers(void)
{
    static const uint32_t worlds[] = {3, 2, 5, 1};
    static const uint32_t sizes[] = {0, 1, 10, 257, 100000};
    static statesampler_desc d;
    static statesampler s;
    unsigned k;
    int code;
    for (k = 0; k < 5 * ORDERS * 2 * TAILS; k++) {
        d.num_samples = sizes[k % 5];
        d.order = k / 5 % ORDERS;
        d.partition = k / (5 * ORDERS) % 2;
        d.tail = k / (5 * ORDERS * 2);
        d.chunk_size = 10;
        d.window = 3;
        d.seed = k;
        d.world_size = 1;
        d.rank = 0;
        code = statesampler_init(&s, &d);
        take_code(code);
        if (code == STATESAMPLER_OK)
            ask_chain(&d, worlds);
    }
}

/* A mix of sources that are `step` apart in length, which saves and loads a
   state. */
static void ask_mix(statesampler_desc *d, uint32_t stop, uint32_t step)
{
    static statesampler_source sources[SOURCES];
    statesampler_mix mix;
    uint32_t source;
    size_t count;
    unsigned turn;
    int code;
    for (source = 0; source < SOURCES; source++) {
        d->num_samples += source ? step : 0;
        d->stream = source;
        d->batch_size = 3 + source;
        sources[source].weight = 1 + 2 * source;
        take_code(statesampler_init(&sources[source].sampler, d));
    }
    code = statesampler_mix_init(&mix, sources, SOURCES, stop);
    take_code(code);
    if (code != STATESAMPLER_OK)
        return;
    for (turn = 0; turn < 60; turn++) {
        const int more = statesampler_mix_next(&mix, batch, &count, &source);
        take((uint64_t)more);
        if (more) {
            take(source);
            take_batch(count);
        }
        if (turn == 20) {
            take_code(statesampler_mix_save(&mix, state, sizeof state));
            take_state(statesampler_mix_state_bytes(&mix));
            take_code(statesampler_mix_load(
                &mix, state, statesampler_mix_state_bytes(&mix)));
        }
    }
    take_code(statesampler_mix_seek(&mix, 7)); /* may be before the load */
    take_code(statesampler_mix_seek(&mix, 30));
    take(statesampler_mix_num_turns(&mix));
}

static void ask_mixes(void)
{
    statesampler_desc d;
    uint32_t stop;
    d.epoch = d.stream = d.chunk_size = d.window = 0;
    d.order = d.partition = d.tail = d.drop_last = 0;
    d.rank = 1;
    d.world_size = 2;
    for (stop = 0; stop < STOPS; stop++) {
        d.num_samples = 50;
        d.seed = stop;
        ask_mix(&d, stop, 37);
    }
}

#ifdef CHECKSUM_CASES

/* Marsaglia's xorshift64 (2003), which has nothing of the header's hash. */
static uint64_t draw(uint64_t bound)
{
    static uint64_t x = 88172645463325252u + CHECKSUM_SEED;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return (x >> 11) % bound;
}

/* Of a random width up to 2^62, so that small and large come equally often. */
static uint64_t draw_size(void)
{
    uint64_t size = draw((uint64_t)1 << 31) << 31;
    size |= draw((uint64_t)1 << 31);
    return 1 + (size >> draw(62));
}

static void draw_desc(statesampler_desc *d)
{
    d->num_samples = draw_size();
    d->seed = draw_size();
    d->epoch = draw_size();
    d->stream = draw_size();
    d->order = (uint32_t)draw(ORDERS);
    d->partition = (uint32_t)draw(2);
    d->tail = (uint32_t)draw(TAILS);
    d->drop_last = draw(4) == 0;
    d->chunk_size = 1 + draw(40);
    d->window = 1 + draw(5);
    d->world_size = 1;
    d->batch_size = 1;
    d->rank = 0;
}

static void ask_drawn(uint32_t cases)
{
    statesampler_desc d;
    statesampler s;
    uint32_t worlds[4], n;
    unsigned k;
    int code;
    while (cases-- > 0) {
        n = (uint32_t)draw(3);
        if (n == 0) {
            d.num_samples = draw_size(); /* the order of arguments is the */
            d.seed = draw_size();        /* compiler's */
            d.epoch = draw_size();
            ask_perm(d.num_samples, d.seed, d.epoch);
            continue;
        }
        draw_desc(&d);
        if (n == 1) {
            for (k = 0; k < 4; k++)
                worlds[k] = 1 + (uint32_t)draw(9);
            code = statesampler_init(&s, &d);
            take_code(code);
            if (code == STATESAMPLER_OK)
                ask_chain(&d, worlds);
        } else {
            d.num_samples = 1 + draw(300);
            if (d.tail == STATESAMPLER_TAIL_CARRY)
                d.tail = STATESAMPLER_TAIL_PAD;
            d.world_size = 1 + (uint32_t)draw(4);
            d.rank = (uint32_t)draw(d.world_size);
            n = (uint32_t)draw(4);
            ask_mix(&d, n, (uint32_t)draw(60));
        }
    }
}

#endif

int main(void)
{
    int i;
    board_start();
    hash = (uint64_t)0xcbf29ce4u << 32 | 0x84222325u;
    ask_perms();
    ask_samplers();
    ask_mixes();
#ifdef CHECKSUM_CASES
    ask_drawn(CHECKSUM_CASES);
#endif
    print("checksum ");
    for (i = 60; i >= 0; i -= 4)
        board_put("0123456789abcdef"[(unsigned)(hash >> i) & 15]);
    print(" of ");
    print_number((int32_t)values);
    print(" values\n");
    board_stop();
    return 0;
}

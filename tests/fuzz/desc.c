/* desc.c - a description with anything in its fields: refused by the rule that
   it breaks, or a sampler that keeps the manual's promises wherever calls of
   any kind bring it? */
#include "fuzz.h"
#include "contract.h"

/* --- What init must say --------------------------------------------------- */

/* Whether a description breaks the rule of a code: the list of the manual. */
static int breaks(const statesampler_desc *d, int code)
{
    const uint64_t limit = (uint64_t)1 << 62;
    const uint64_t w = d->world_size ? d->world_size : 1;
    const uint64_t b = d->batch_size ? d->batch_size : 1;
    const int windows = d->order == STATESAMPLER_ORDER_WINDOW;
    const int carry = d->tail == STATESAMPLER_TAIL_CARRY;
    switch (code) {
    case STATESAMPLER_EINVAL_NUM_SAMPLES:
        return d->num_samples > limit;
    case STATESAMPLER_EINVAL_RANK:
        return d->rank >= w;
    case STATESAMPLER_EINVAL_GLOBAL_BATCH:
        return w * b >= limit;
    case STATESAMPLER_EINVAL_ORDER:
        return d->order >= ORDERS;
    case STATESAMPLER_EINVAL_PARTITION:
        return d->partition > STATESAMPLER_PARTITION_BLOCKED;
    case STATESAMPLER_EINVAL_TAIL:
        return d->tail >= TAILS;
    case STATESAMPLER_EINVAL_DROP_LAST:
        return d->drop_last > 1;
    case STATESAMPLER_EINVAL_CHUNK_SIZE:
        return windows && !d->chunk_size;
    case STATESAMPLER_EINVAL_WINDOW:
        return windows && !d->window;
    case STATESAMPLER_EINVAL_CHUNKS:
        return windows && d->window > 0 &&
               d->chunk_size > (limit - 1) / d->window;
    case STATESAMPLER_EINVAL_CARRY_EMPTY:
        return carry && !d->num_samples;
    case STATESAMPLER_EINVAL_CARRY_BLOCKED:
        return carry && d->partition == STATESAMPLER_PARTITION_BLOCKED;
    case STATESAMPLER_EINVAL_CARRY_DROP_LAST:
        return carry && d->drop_last;
    default:
        return 0;
    }
}

/* Says what it must, and leaves the sampler alone where it refuses. */
static int init(statesampler *s, const statesampler_desc *d)
{
    statesampler before;
    int code, rule, broken = 0;
    memcpy(&before, s, sizeof before);
    code = statesampler_init(s, d);
    for (rule = STATESAMPLER_EINVAL_NUM_SAMPLES;
         rule >= STATESAMPLER_EINVAL_BATCH_SIZE; rule--)
        broken += breaks(d, rule);
    CHECK((code == STATESAMPLER_OK) == (broken == 0));
    if (code == STATESAMPLER_OK)
        return 1;
    CHECK(breaks(d, code));
    CHECK(contract_same(s, &before, sizeof before));
    return 0;
}

/* --- What is made up ------------------------------------------------------ */

/* Another value for a field. */
static void change64(uint64_t *field)
{
    *field = forged_value(*field);
}

static void change32(uint32_t *field)
{
    *field = (uint32_t)forged_value(*field);
}

static void change(statesampler_desc *d)
{
    switch (check_random(13)) {
    case 0:
        change64(&d->num_samples);
        break;
    case 1:
        change64(&d->seed);
        break;
    case 2:
        change64(&d->epoch);
        break;
    case 3:
        change64(&d->stream);
        break;
    case 4:
        change32(&d->rank);
        break;
    case 5:
        change32(&d->world_size);
        break;
    case 6:
        change32(&d->batch_size);
        break;
    case 7:
        change32(&d->order);
        break;
    case 8:
        change32(&d->partition);
        break;
    case 9:
        change32(&d->tail);
        break;
    case 10:
        change32(&d->drop_last);
        break;
    case 11:
        change64(&d->chunk_size);
        break;
    default:
        change64(&d->window);
    }
}

static statesampler_desc any_desc(void)
{
    statesampler_desc d = forged_any_run(200);
    uint64_t changes = check_random(5);
    d.rank = (uint32_t)check_random(d.world_size);
    while (changes-- > 0)
        change(&d);
    return d;
}

/* --- Calls ---------------------------------------------------------------- */

static void call_reshape(statesampler *s, uint32_t *rank)
{
    statesampler_desc d = contract_desc(s);
    statesampler before;
    int code;
    d.rank = *rank;
    change32(&d.rank);
    change32(&d.world_size);
    change32(&d.batch_size);
    memcpy(&before, s, sizeof before);
    code = statesampler_reshape(s, d.rank, d.world_size, d.batch_size);
    if (code == STATESAMPLER_OK) {
        CHECK(!breaks(&d, STATESAMPLER_EINVAL_RANK));
        CHECK(!breaks(&d, STATESAMPLER_EINVAL_GLOBAL_BATCH));
        CHECK(statesampler_position(s) == statesampler_position(&before));
        CHECK(statesampler_step(s) == statesampler_step(&before));
        *rank = d.rank;
        return;
    }
    CHECK(breaks(&d, code));
    CHECK(contract_same(s, &before, sizeof before));
}

/* Where a resize goes on: padding positions are no samples. */
static uint64_t served_below(const statesampler *s)
{
    const uint64_t n = contract_desc(s).num_samples;
    const uint64_t position = statesampler_position(s);
    return position < n ? position : n;
}

/* Whether the manual has a resize to n samples refused by this rule. */
static int breaks_resize(const statesampler *s, uint64_t n, int code)
{
    const statesampler_desc d = contract_desc(s);
    switch (code) {
    case STATESAMPLER_EINVAL_RESIZE:
        return d.order != STATESAMPLER_ORDER_SEQUENTIAL ||
               d.partition != STATESAMPLER_PARTITION_INTERLEAVED;
    case STATESAMPLER_EINVAL_NUM_SAMPLES:
        return n > STATESAMPLER_MAX_SAMPLES;
    case STATESAMPLER_EINVAL_CARRY_EMPTY:
        return d.tail == STATESAMPLER_TAIL_CARRY && n == 0;
    case STATESAMPLER_ERANGE_POSITION:
        return n < served_below(s);
    default:
        return 0;
    }
}

static void call_resize(statesampler *s)
{
    statesampler_desc d = contract_desc(s);
    uint64_t n = forged_value(d.num_samples);
    statesampler before;
    int code;
    memcpy(&before, s, sizeof before);
    code = statesampler_resize(s, n);
    if (code == STATESAMPLER_OK) {
        CHECK(!breaks_resize(&before, n, STATESAMPLER_EINVAL_RESIZE));
        CHECK(!breaks_resize(&before, n, STATESAMPLER_EINVAL_NUM_SAMPLES));
        CHECK(!breaks_resize(&before, n, STATESAMPLER_EINVAL_CARRY_EMPTY));
        CHECK(!breaks_resize(&before, n, STATESAMPLER_ERANGE_POSITION));
        CHECK(contract_desc(s).num_samples == n);
        if (d.tail == STATESAMPLER_TAIL_CARRY &&
            n == statesampler_position(&before)) {
            /* The next sample is the first of the next epoch. */
            CHECK(statesampler_epoch(s) == statesampler_epoch(&before) + 1);
            CHECK(statesampler_position(s) == 0);
        } else if (n == d.num_samples) {
            CHECK(contract_same(s, &before, sizeof before));
        } else {
            CHECK(statesampler_position(s) == served_below(&before));
        }
    } else {
        CHECK(breaks_resize(&before, n, code));
        CHECK(contract_same(s, &before, sizeof before));
    }
}

/* Into a sampler of another shape, which goes on at the same position. */
static void call_load(statesampler *s, uint32_t *rank)
{
    statesampler_desc d = contract_desc(s);
    unsigned char state[FORGED_BYTES];
    statesampler other;
    must_save(s, state);
    d.world_size = 1 + (uint32_t)check_random(6);
    d.batch_size = 1 + (uint32_t)check_random(6);
    d.rank = (uint32_t)check_random(d.world_size);
    d.drop_last = d.tail != STATESAMPLER_TAIL_CARRY && check_random(2);
    CHECK(statesampler_init(&other, &d) == STATESAMPLER_OK);
    CHECK(statesampler_load(&other, state, sizeof state) == STATESAMPLER_OK);
    CHECK(statesampler_epoch(&other) == statesampler_epoch(s));
    CHECK(statesampler_position(&other) == statesampler_position(s));
    *s = other;
    *rank = d.rank;
}

/* Epochs count modulo 2^64, and with CARRY any number of them may pass. */
static void call_next(statesampler *s)
{
    const int carry = contract_desc(s).tail == STATESAMPLER_TAIL_CARRY;
    uint64_t step = statesampler_step(s), epoch = statesampler_epoch(s);
    uint64_t calls = 1 + check_random(6);
    for (; calls > 0; calls--) {
        const int more = statesampler_next(s, NULL, NULL);
        CHECK(more == 1 || !carry);
        step = more ? step + 1 : 0;
        epoch += !more;
        CHECK(statesampler_step(s) == step);
        CHECK(carry || statesampler_epoch(s) == epoch);
    }
}

static void call(statesampler *s, uint32_t *rank)
{
    statesampler before;
    uint64_t value;
    memcpy(&before, s, sizeof before);
    switch (check_random(7)) {
    case 0:
        call_next(s);
        break;
    case 1:
        value = forged_value(statesampler_step(s));
        if (statesampler_seek(s, value) == STATESAMPLER_OK)
            CHECK(statesampler_step(s) == value);
        else
            CHECK(contract_same(s, &before, sizeof before));
        break;
    case 2:
        value = forged_value(statesampler_epoch(s));
        statesampler_begin(s, value);
        CHECK(statesampler_epoch(s) == value && statesampler_step(s) == 0);
        CHECK(statesampler_position(s) == 0);
        break;
    case 3:
        value = statesampler_epoch(s);
        statesampler_set_epoch(s, value);
        CHECK(contract_same(s, &before, sizeof before));
        break;
    case 4:
        call_reshape(s, rank);
        break;
    case 5:
        call_resize(s);
        break;
    default:
        call_load(s, rank);
    }
}

static void fuzz(void)
{
    uint64_t calls = check_random(8);
    statesampler_desc d = any_desc();
    uint32_t rank = d.rank;
    statesampler s;
    memset(&s, 0x5a, sizeof s);
    model_watch(&d, NULL);
    if (init(&s, &d)) {
        fuzz_came_to("taken");
        CHECK(statesampler_step(&s) == 0 && statesampler_position(&s) == 0);
        CHECK(statesampler_epoch(&s) == d.epoch);
        contract_check(&s, rank);
        while (calls-- > 0) {
            call(&s, &rank);
            contract_check(&s, rank);
        }
        if (statesampler_position(&s) > 0)
            fuzz_came_to("moved");
    }
    model_finish();
}

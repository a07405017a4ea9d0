/* learn.c - learns on a device, through power cuts, to the same weights.

   Three epochs of logistic regression in whole numbers, over records in flash,
   each epoch in a new order. Every SAVE_EVERY steps the sampler's 112 bytes and
   the weights go to one of two slots in turn: a cut in mid-write costs the
   slot that is being written, and the other one is whole. */
#include "statesampler.h"
#include "board.h"
#include "print.h"
#include "records.h"

#ifndef SEED
#define SEED 42
#endif
#define EPOCHS 3
#define BATCH 8
#define SAVE_EVERY 25
#define FEATURES 6
#define WEIGHTS (FEATURES + 1) /* the last is added to all */

/* In a slot, all numbers little-endian: which firmware, the number of the save,
   the sampler, the weights, and a check word over all before. */
#ifndef FIRMWARE
#define FIRMWARE 0x31574653u /* another number for another layout */
#endif
#define AT_NUMBER 4
#define AT_SAMPLER 8
#define AT_WEIGHTS (AT_SAMPLER + STATESAMPLER_STATE_BYTES)
#define AT_CHECK (AT_WEIGHTS + 4 * WEIGHTS)
#define SLOT_BYTES (AT_CHECK + 4)

static int32_t weights[WEIGHTS]; /* 65,536 is 1 */
static statesampler sampler;
static uint32_t saves;           /* how many there have been */
static unsigned char slot[SLOT_BYTES];

static uint32_t load32(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
           (uint32_t)at[3] << 24;
}

static void store32(unsigned char *at, uint32_t number)
{
    int i;
    for (i = 0; i < 4; i++)
        at[i] = (unsigned char)(number >> 8 * i & 0xff);
}

/* FNV-1a, Fowler, Noll and Vo. */
static uint32_t check_word(void)
{
    uint32_t hash = 0x811c9dc5u;
    size_t i;
    for (i = 0; i < AT_CHECK; i++)
        hash = (hash ^ slot[i]) * 0x01000193u;
    return hash;
}

static void say(const char *what, unsigned which, const char *why)
{
    print(what);
    print_number((int32_t)which);
    print(why);
    board_put('\n');
}

/* Reads a slot; 0 and a sentence if it holds no save of this firmware. */
static int read_slot(unsigned which)
{
    size_t i;
    int is_blank = 1;
    for (i = 0; i < SLOT_BYTES; i++)
        slot[i] = 0xff;
    board_slot_read(which, slot, SLOT_BYTES);
    for (i = 0; i < SLOT_BYTES; i++)
        if (slot[i] != 0xff)
            is_blank = 0;
    if (is_blank)
        say("slot ", which, ": empty");
    else if (load32(slot + AT_CHECK) != check_word())
        say("slot ", which, ": damaged");
    else if (load32(slot) != FIRMWARE)
        say("slot ", which, ": of another firmware");
    else
        return 1;
    return 0;
}

/* Takes over what is in `slot`. */
static int resume(statesampler *s, unsigned which)
{
    int i, code = statesampler_load(s, slot + AT_SAMPLER,
                                    STATESAMPLER_STATE_BYTES);
    if (code != STATESAMPLER_OK) {
        print("slot ");
        print_number((int32_t)which);
        print(": of another run: ");
        print(statesampler_error(code));
        board_put('\n');
        return 0;
    }
    for (i = 0; i < WEIGHTS; i++)
        weights[i] = (int32_t)load32(slot + AT_WEIGHTS + 4 * i);
    saves = load32(slot + AT_NUMBER);
    return 1;
}

/* The newer slot if it is good, else the older one, else a fresh start. */
static void start(statesampler *s)
{
    uint32_t number[BOARD_SLOTS];
    int good[BOARD_SLOTS];
    unsigned which, turn;
    for (which = 0; which < BOARD_SLOTS; which++) {
        good[which] = read_slot(which);
        number[which] = load32(slot + AT_NUMBER);
    }
    which = good[1] && (!good[0] || number[1] > number[0]);
    for (turn = 0; turn < BOARD_SLOTS; turn++, which = !which)
        if (good[which] && read_slot(which) && resume(s, which)) {
            print("resumed from slot ");
            print_number((int32_t)which);
            print(", save ");
            print_number((int32_t)saves);
            board_put('\n');
            return;
        }
    print("a fresh start\n");
}

static void save(const statesampler *s)
{
    int i;
    saves++;
    store32(slot, FIRMWARE);
    store32(slot + AT_NUMBER, saves);
    (void)statesampler_save(s, slot + AT_SAMPLER, STATESAMPLER_STATE_BYTES);
    for (i = 0; i < WEIGHTS; i++)
        store32(slot + AT_WEIGHTS + 4 * i, (uint32_t)weights[i]);
    store32(slot + AT_CHECK, check_word());
    board_slot_write(saves % BOARD_SLOTS, slot, SLOT_BYTES);
}

/* The weights' say about a record. Divisions round towards 0 on every
   compiler; shifts of negative numbers may not. */
static int32_t score(const int8_t *record)
{
    int32_t sum = weights[FEATURES];
    int i;
    for (i = 0; i < FEATURES; i++)
        sum += weights[i] / 16 * record[i];
    return sum;
}

/* A step of gradient descent. The logistic function is three straight lines. */
static void learn(const int8_t *record)
{
    int32_t p = score(record) / 16 + 32768, error;
    int i;
    p = p < 0 ? 0 : p > 65536 ? 65536 : p;
    error = (int32_t)record[FEATURES] * 65536 - p;
    for (i = 0; i < FEATURES; i++)
        weights[i] += error / 64 * record[i] / 64;
    weights[FEATURES] += error / 8;
}

static void read_record(int8_t *record, uint64_t index)
{
    board_copy(record, records[(size_t)index], FEATURES + 1);
}

/* Trains to the end; how long an index took is the clock's affair. */
static void train(statesampler *s)
{
    int8_t record[FEATURES + 1];
    uint64_t batch[BATCH];
    uint32_t steps = 0;
    size_t count, i;
    while (statesampler_epoch(s) < EPOCHS) {
        if (statesampler_next(s, batch, &count)) {
            for (i = 0; i < count; i++) {
                read_record(record, batch[i]);
                learn(record);
            }
            steps++;
        }
        if (steps % SAVE_EVERY == 0)
            save(s);
    }
    save(s);
}

/* Instructions or cycles for an index of this dataset, on the average. */
static void measure(statesampler *s)
{
    uint32_t sum = 0, before, step, count = 0;
    uint64_t index;
    statesampler_desc desc;
    size_t one;
    (void)statesampler_describe(slot + AT_SAMPLER, STATESAMPLER_STATE_BYTES,
                                &desc, NULL);
    desc.epoch = 0;
    desc.batch_size = 1;
    (void)statesampler_init(s, &desc);
    for (step = 0; step < 200; step++, count++) {
        before = board_clock();
        (void)statesampler_next(s, &index, &one);
        sum += (board_clock() - before) & 0xffff;
    }
    print_number((int32_t)(sum / count));
    print(" ");
    print(board_clock_unit);
    print(" an index: ");
    print_number((int32_t)((sum / count) / (board_clock_hz / 1000000)));
    print(" us at ");
    print_number((int32_t)(board_clock_hz / 1000000));
    print(" MHz\n");
}

/* The stack is painted before, and looked at after. */
#define PAINT 0xa5
static void paint_stack(void)
{
    size_t size;
    volatile unsigned char *low = board_stack(&size), here = PAINT;
    for (; size != 0 && (uintptr_t)low + 64 < (uintptr_t)&here; size--)
        *low++ = here;
}

static void measure_stack(void)
{
    size_t size, i = 0;
    volatile unsigned char *low = board_stack(&size);
    while (i < size && low[i] == PAINT) /* ends with the memory */
        i++;
    print_number((int32_t)(size - i));
    print(" bytes of stack\n");
}

/* What must be the same on every board. */
static void report(void)
{
    int8_t record[FEATURES + 1];
    int32_t right = 0, i;
    for (i = 0; i < RECORDS; i++) {
        read_record(record, (uint64_t)i);
        right += (score(record) > 0) == (record[FEATURES] != 0);
    }
    print("weights");
    for (i = 0; i < WEIGHTS; i++) {
        board_put(' ');
        print_number(weights[i]);
    }
    print(", right ");
    print_number(right);
    print(" of ");
    print_number(RECORDS);
    board_put('\n');
}

int main(void)
{
    static statesampler_desc desc;
    int code;
    board_start();
    paint_stack();
    desc.num_samples = RECORDS;
    desc.seed = SEED;
    desc.batch_size = BATCH;
    code = statesampler_init(&sampler, &desc);
    if (code != STATESAMPLER_OK) {
        print(statesampler_error(code));
        board_put('\n');
        board_stop();
    }
    start(&sampler);
    train(&sampler);
    report();
    if (board_clock_hz != 0) {
        measure_stack();
        measure(&sampler);
    }
    board_stop();
    return 0;
}

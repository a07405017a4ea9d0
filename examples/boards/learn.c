/* learn.c - trains on a device; power cuts do not change the final weights.

   Three epochs of logistic regression in integers, over records in flash, each
   epoch in a new order. Every SAVE_EVERY steps, slots.c writes the sampler's
   112 bytes and the weights to flash. */
#include "statesampler.h"
#include "print.h"
#include "records.h"
#include "slots.h"

#ifndef SEED
#define SEED 42
#endif
#ifndef FIRMWARE
#define FIRMWARE 0x31574653u /* change it when the record's layout changes */
#endif
#define EPOCHS 3
#define BATCH 8
#define SAVE_EVERY 25
#define FEATURES 6
#define WEIGHTS (FEATURES + 1) /* the last is the bias */

#define AT_WEIGHTS STATESAMPLER_STATE_BYTES /* after the sampler's bytes */

#define RECORD (AT_WEIGHTS + 4 * WEIGHTS)
typedef char record_fits[RECORD <= SLOTS_MAX_RECORD ? 1 : -1];

static unsigned char saved[RECORD]; /* what is in a slot */
static int32_t weights[WEIGHTS];    /* 65,536 is 1 */
static statesampler sampler;

static void say(const char *what, unsigned number, const char *more)
{
    print(what);
    print_number((int32_t)number);
    print(more);
}

/* Resumes from the record that was read from a slot. */
static int resume(statesampler *s, unsigned slot)
{
    int i, code = statesampler_load(s, saved, STATESAMPLER_STATE_BYTES);
    if (code != STATESAMPLER_OK) {
        say("slot ", slot, ": from another run: ");
        print(statesampler_error(code));
        board_put('\n');
        return 0;
    }
    for (i = 0; i < WEIGHTS; i++)
        weights[i] = (int32_t)slots_get32(saved + AT_WEIGHTS + 4 * i);
    say("resumed from slot ", slot, ", save ");
    print_number((int32_t)slots_number());
    board_put('\n');
    return 1;
}

/* The newer slot if it is good, else the older one, else a fresh start. */
static void start(statesampler *s)
{
    unsigned age, slot;
    (void)slots_begin(FIRMWARE, saved, sizeof saved);
    slots_look();
    for (age = 0; age < BOARD_SLOTS; age++)
        if (slots_load(age, &slot) && resume(s, slot))
            return;
    print("a fresh start\n");
}

static void save(const statesampler *s)
{
    int i;
    (void)statesampler_save(s, saved, STATESAMPLER_STATE_BYTES);
    for (i = 0; i < WEIGHTS; i++)
        slots_put32(saved + AT_WEIGHTS + 4 * i, (uint32_t)weights[i]);
    board_put('*');
    (void)slots_save(); /* if it fails, training still goes on */
}

/* Uses divisions because they round towards 0 with every compiler; shifts of
   negative numbers are implementation-defined. */
static int32_t score(const int8_t *record)
{
    int32_t sum = weights[FEATURES];
    int i;
    for (i = 0; i < FEATURES; i++)
        sum += weights[i] / 16 * record[i];
    return sum;
}

/* A step of gradient descent. Three straight lines approximate the logistic
   function. */
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
    board_put('\n');
}

/* Prints the average instructions or cycles per index. */
static void measure(statesampler *s)
{
    uint32_t sum = 0, before, step, count = 0;
    uint64_t index;
    statesampler_desc desc;
    size_t one;
    (void)statesampler_describe(saved, STATESAMPLER_STATE_BYTES, &desc, NULL);
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
    print(" per index: ");
    print_number((int32_t)((sum / count) / (board_clock_hz / 1000000)));
    print(" us at ");
    print_number((int32_t)(board_clock_hz / 1000000));
    print(" MHz\n");
}

/* The stack is filled with PAINT at the start; the bytes that have changed by
   the end were used. */
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
    while (i < size && low[i] == PAINT)
        i++;
    print_number((int32_t)(size - i));
    print(" bytes of stack\n");
}

/* Prints the line that must be the same on every board. */
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
    print(", correct ");
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
        return 1;
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

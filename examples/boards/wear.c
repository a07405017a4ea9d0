/* wear.c - how soon saves wear out a slot: after each of SAVES draws of a
   shuffle the state is saved, and every write of a byte that changes is
   counted. prices.sh compiles and runs it on a computer. */
#include <stdio.h>
#include <string.h>
#include "slots.h"
#include "statesampler.h"

#define SAVES 200

static unsigned char memory[BOARD_SLOTS][BOARD_SLOT_BYTES];
static unsigned erased[BOARD_SLOTS], written[BOARD_SLOTS][BOARD_SLOT_BYTES];

void board_put(char c)
{
    (void)putchar(c);
}

void board_slot_read(unsigned slot, unsigned char *bytes, size_t size)
{
    memcpy(bytes, memory[slot], size);
}

/* As flash, which erases the whole slot; and as an EEPROM, which does not write
   a byte that is already right. */
void board_slot_write(unsigned slot, const unsigned char *bytes, size_t size)
{
    size_t i;
    erased[slot]++;
    for (i = 0; i < size; i++)
        written[slot][i] += memory[slot][i] != bytes[i];
    memcpy(memory[slot], bytes, size);
}

int main(void)
{
    static unsigned char state[STATESAMPLER_STATE_BYTES];
    static statesampler_desc desc;
    static statesampler s;
    unsigned most_erased = 0, most_written = 0, slot;
    uint64_t index;
    size_t count, i;
    int draws = 0, good;
    memset(memory, 0xff, sizeof memory);
    desc.num_samples = 1000;
    good = statesampler_init(&s, &desc) == STATESAMPLER_OK &&
           slots_begin(1, state, sizeof state);
    for (; good && draws < SAVES; draws++)
        good = statesampler_next(&s, &index, &count) == 1 &&
               statesampler_save(&s, state, sizeof state) == STATESAMPLER_OK &&
               slots_save();
    for (slot = 0; slot < BOARD_SLOTS; slot++) {
        if (erased[slot] > most_erased)
            most_erased = erased[slot];
        for (i = 0; i < BOARD_SLOT_BYTES; i++)
            if (written[slot][i] > most_written)
                most_written = written[slot][i];
    }
    printf("%d saves erase a slot %u times, or write its busiest byte %u "
           "times\n",
           draws, most_erased, most_written);
    return !good;
}

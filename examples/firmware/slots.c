/* slots.c - two slots in turn. In a slot, all numbers little-endian: which
   firmware, the number of the save, the record, and a check word over all
   before. */
#include "slots.h"
#include "print.h"

#ifndef FIRMWARE
#define FIRMWARE 0x31574653u /* another number for another record */
#endif
#define AT_NUMBER 4
#define AT_RECORD 8
#define AT_CHECK (AT_RECORD + SLOTS_RECORD)
#define SLOT_BYTES (AT_CHECK + 4)
typedef char slot_has_room[SLOT_BYTES <= BOARD_SLOT_BYTES ? 1 : -1];

unsigned char slots_record[SLOTS_RECORD];
static unsigned char slots_bytes[SLOT_BYTES];
static uint32_t slots_newest;
static unsigned slots_in; /* the newest is in this slot */

uint32_t slots_get32(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
           (uint32_t)at[3] << 24;
}

void slots_put32(unsigned char *at, uint32_t number)
{
    int i;
    for (i = 0; i < 4; i++)
        at[i] = (unsigned char)(number >> 8 * i & 0xff);
}

static void move(unsigned char *to, const unsigned char *from, size_t size)
{
    for (; size != 0; size--)
        *to++ = *from++;
}

/* FNV-1a, Fowler, Noll and Vo. */
static uint32_t check_word(void)
{
    uint32_t hash = 0x811c9dc5u;
    size_t i;
    for (i = 0; i < AT_CHECK; i++)
        hash = (hash ^ slots_bytes[i]) * 0x01000193u;
    return hash;
}

/* Reads a slot; what is wrong with it, or NULL. */
static const char *read_slot(unsigned slot)
{
    size_t i, blank = 0;
    for (i = 0; i < SLOT_BYTES; i++)
        slots_bytes[i] = 0xff;
    board_slot_read(slot, slots_bytes, SLOT_BYTES);
    while (blank < SLOT_BYTES && slots_bytes[blank] == 0xff)
        blank++; /* ends with the slot */
    if (blank == SLOT_BYTES)
        return "empty";
    /* First, as another firmware's check word may be elsewhere. */
    if (slots_get32(slots_bytes) != FIRMWARE)
        return "not this firmware's";
    if (slots_get32(slots_bytes + AT_CHECK) != check_word())
        return "damaged";
    return NULL;
}

static void say(unsigned slot, const char *what)
{
    print("slot ");
    print_number((int32_t)slot);
    print(": ");
    print(what);
    board_put('\n');
}

void slots_look(void)
{
    unsigned slot;
    for (slot = 0; slot < BOARD_SLOTS; slot++) {
        const char *wrong = read_slot(slot);
        if (wrong)
            say(slot, wrong);
    }
}

int slots_load(unsigned age, unsigned *slot)
{
    uint32_t number[BOARD_SLOTS] = {0, 0}; /* of no save */
    unsigned which;
    for (which = 0; which < BOARD_SLOTS; which++)
        if (!read_slot(which))
            number[which] = slots_get32(slots_bytes + AT_NUMBER);
    *slot = (number[1] > number[0]) != (age != 0);
    if (number[*slot] == 0 || read_slot(*slot))
        return 0;
    slots_newest = number[*slot];
    slots_in = *slot;
    move(slots_record, slots_bytes + AT_RECORD, SLOTS_RECORD);
    return 1;
}

uint32_t slots_number(void)
{
    return slots_newest;
}

int slots_save(void)
{
    const unsigned slot = (slots_in + 1) % BOARD_SLOTS;
    const uint32_t number = slots_newest + 1;
    slots_put32(slots_bytes, FIRMWARE);
    slots_put32(slots_bytes + AT_NUMBER, number);
    move(slots_bytes + AT_RECORD, slots_record, SLOTS_RECORD);
    slots_put32(slots_bytes + AT_CHECK, check_word());
    board_slot_write(slot, slots_bytes, SLOT_BYTES);
    /* Now the other slot has the only good save, and the next one spares it;
       if there is none yet, the next one goes there. */
    if (read_slot(slot) || slots_get32(slots_bytes + AT_NUMBER) != number) {
        say(slot, "cannot be written");
        slots_in = slots_newest == 0 ? slot : slots_in;
        return 0;
    }
    slots_newest = number;
    slots_in = slot;
    return 1;
}

/* slots.c - saves go to two slots in turn. A slot holds, little-endian: the
   firmware, the number of the save, the record, and a check word over these. */
#include "slots.h"
#include "print.h"

#define AT_NUMBER 4
#define AT_RECORD 8
#define AT_CHECK (AT_RECORD + slots_record_bytes)
#define SLOT_BYTES (AT_CHECK + 4)
typedef char slots_have_own[SLOTS_OWN_BYTES == AT_RECORD + 4 ? 1 : -1];

static uint32_t slots_firmware;
static unsigned char *slots_record;
static size_t slots_record_bytes; /* 0: there is no record */
static unsigned char slots_bytes[BOARD_SLOT_BYTES];
static uint32_t slots_newest; /* number of the newest save, 0 if none */
static unsigned slots_in;     /* the slot that holds it */

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

int slots_begin(uint32_t firmware, void *record, size_t size)
{
    const int fits = size != 0 && size <= SLOTS_MAX_RECORD;

    slots_firmware = firmware;
    slots_record = (unsigned char *)record;
    slots_record_bytes = fits ? size : 0;
    slots_newest = slots_in = 0;
    return fits;
}

/* FNV-1a. */
static uint32_t check_word(void)
{
    uint32_t hash = 0x811c9dc5u;
    size_t i;
    for (i = 0; i < AT_CHECK; i++)
        hash = (hash ^ slots_bytes[i]) * 0x01000193u;
    return hash;
}

/* Reads a slot; returns what is wrong with it, or NULL. */
static const char *read_slot(unsigned slot)
{
    size_t i, blank = 0;
    for (i = 0; i < SLOT_BYTES; i++)
        slots_bytes[i] = 0xff;
    board_slot_read(slot, slots_bytes, SLOT_BYTES);
    while (blank < SLOT_BYTES && slots_bytes[blank] == 0xff)
        blank++;
    if (blank == SLOT_BYTES)
        return "empty";
    /* Checked first: another firmware's check word may be at another place. */
    if (slots_get32(slots_bytes) != slots_firmware)
        return "from another firmware";
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
    for (slot = 0; slots_record_bytes != 0 && slot < BOARD_SLOTS; slot++) {
        const char *wrong = read_slot(slot);
        if (wrong)
            say(slot, wrong);
    }
}

int slots_load(unsigned age, unsigned *slot)
{
    uint32_t number[BOARD_SLOTS] = {0, 0}; /* 0: no good save */
    unsigned which;
    for (which = 0; slots_record_bytes != 0 && which < BOARD_SLOTS; which++)
        if (!read_slot(which))
            number[which] = slots_get32(slots_bytes + AT_NUMBER);
    *slot = (number[1] > number[0]) != (age != 0);
    if (number[*slot] == 0 || read_slot(*slot))
        return 0;
    slots_newest = number[*slot];
    slots_in = *slot;
    move(slots_record, slots_bytes + AT_RECORD, slots_record_bytes);
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
    if (slots_record_bytes == 0)
        return 0;
    slots_put32(slots_bytes, slots_firmware);
    slots_put32(slots_bytes + AT_NUMBER, number);
    move(slots_bytes + AT_RECORD, slots_record, slots_record_bytes);
    slots_put32(slots_bytes + AT_CHECK, check_word());
    board_slot_write(slot, slots_bytes, SLOT_BYTES);
    /* If this failed, the other slot holds the only good save, and the next
       call tries this slot again. If there is no good save yet, it tries the
       other slot. */
    if (read_slot(slot) || slots_get32(slots_bytes + AT_NUMBER) != number) {
        say(slot, "cannot be written");
        slots_in = slots_newest == 0 ? slot : slots_in;
        return 0;
    }
    slots_newest = number;
    slots_in = slot;
    return 1;
}

/* test_slots.c - does examples/boards/slots.c lose no save, whatever
   happens to its two slots? Here they are memory: the power may go at any byte,
   and a slot may be worn out. Prints what is wrong. */
#include <stdio.h>
#include <string.h>
#include "slots.c"

#define FIRMWARE 0x12345678u
#define RECORD 16
#define FULL (RECORD + SLOTS_OWN_BYTES) /* bytes of a slot that are written */

static unsigned char record[RECORD];
static unsigned char flash[BOARD_SLOTS][BOARD_SLOT_BYTES];
static size_t until_cut; /* bytes that can be written until the power goes */
static unsigned worn;    /* cannot be written; BOARD_SLOTS: none */
/* What a cut leaves behind the bytes written: what was there, as in an EEPROM,
   erased flash, or anything, as in half an erasure. */
static enum { KEPT, ERASED, ANYTHING } behind;
static char said[256];
static int checks, bad;

#define CHECK(x) \
    ((void)(checks++, (x) || (bad++, printf("line %d: %s\n", __LINE__, #x))))

void board_put(char c)
{
    const size_t length = strlen(said);
    if (length + 1 < sizeof said)
        said[length] = c;
}

void board_slot_read(unsigned slot, unsigned char *bytes, size_t size)
{
    memcpy(bytes, flash[slot], size);
}

void board_slot_write(unsigned slot, const unsigned char *bytes, size_t size)
{
    const size_t count = size < until_cut ? size : until_cut;
    static uint32_t drawn = 1;
    size_t i;
    if (slot != worn) {
        for (i = 0; i < size && behind != KEPT; i++) {
            drawn = drawn * 0x915f77f5u + 1;
            flash[slot][i] =
                behind == ERASED ? 0xff : (unsigned char)(drawn >> 24);
        }
        memcpy(flash[slot], bytes, count);
    }
    until_cut -= count;
}

/* The power is back: the number of the newest save, 0 for none. */
static unsigned boot(void)
{
    unsigned age, slot;
    CHECK(slots_begin(FIRMWARE, record, sizeof record));
    memset(slots_bytes, 0, sizeof slots_bytes);
    memset(record, 0, sizeof record);
    memset(said, 0, sizeof said);
    until_cut = 1 << 20;
    for (age = 0; age < BOARD_SLOTS; age++)
        if (slots_load(age, &slot)) {
            CHECK(slots_get32(record) == slots_number());
            return (unsigned)slots_number();
        }
    return 0;
}

static int save(unsigned number)
{
    slots_put32(record, number);
    return slots_save();
}

/* Every save, cut at every byte: it is there or the one before. */
static void ask_cuts(void)
{
    unsigned char before[sizeof flash];
    unsigned number;
    size_t cut;
    memset(flash, 0xff, sizeof flash);
    for (number = 1; number < 12; number++)
        for (cut = 0; cut <= FULL; cut++) {
            memcpy(before, flash, sizeof flash);
            CHECK(boot() == number - 1);
            until_cut = cut;
            CHECK(save(number) == (cut == FULL));
            CHECK(boot() == number - (cut != FULL));
            if (cut != FULL)
                memcpy(flash, before, sizeof flash);
        }
}

/* A slot that keeps what it has: the other one stays, and the sentence. */
static void ask_worn(void)
{
    unsigned number, cut;
    for (cut = 0; cut < 2; cut++) {
        const unsigned newest = boot();
        worn = (slots_in + 1) % BOARD_SLOTS;
        for (number = 1; number < 4; number++) {
            until_cut = cut ? 9 : FULL;
            CHECK(!save(newest + 1));
            CHECK(strstr(said, worn ? "slot 1: cannot be written\n"
                                    : "slot 0: cannot be written\n"));
        }
        CHECK(boot() == newest);
        worn = BOARD_SLOTS;
        CHECK(save(newest + 1) && boot() == newest + 1);
    }
    /* From the first save on: the other slot has it. */
    for (worn = 0; worn < BOARD_SLOTS; worn++) {
        memset(flash, 0xff, sizeof flash);
        CHECK(boot() == 0);
        CHECK(save(1) || save(1));
        CHECK(boot() == 1);
    }
}

/* Another firmware's, whose check word is elsewhere, and damage. */
static void ask_sentences(void)
{
    const unsigned newest = boot(), in = slots_in;
    flash[in][AT_RECORD] ^= 1;
    CHECK(boot() == newest - 1);
    slots_look();
    CHECK(strstr(said, ": damaged\n") && !strstr(said, "firmware"));
    memset(flash[in], 7, sizeof flash[in]);
    CHECK(boot() == newest - 1);
    slots_look();
    CHECK(strstr(said, ": from another firmware\n"));
    CHECK(!strstr(said, "damaged"));
    CHECK(save(newest) && boot() == newest && slots_in == in);
}

/* A record that no slot can hold, or none: every function says so and writes
   nothing. The largest one is kept. */
static void ask_sizes(void)
{
    static unsigned char large[SLOTS_MAX_RECORD + 1], is[sizeof large];
    static const size_t bad_sizes[] = {0, sizeof large, (size_t)-1,
                                       (size_t)-SLOTS_OWN_BYTES};
    unsigned char before[sizeof flash];
    unsigned slot;
    size_t i;
    memcpy(before, flash, sizeof flash);
    for (i = 0; i < sizeof bad_sizes / sizeof *bad_sizes; i++) {
        CHECK(!slots_begin(FIRMWARE, large, bad_sizes[i]));
        said[0] = 0;
        slots_look();
        CHECK(!slots_save() && !slots_load(0, &slot) && slots_number() == 0);
        CHECK(said[0] == 0 && memcmp(flash, before, sizeof flash) == 0);
    }
    for (i = 0; i < sizeof large; i++)
        large[i] = is[i] = (unsigned char)(i * 7);
    until_cut = 1 << 20;
    CHECK(slots_begin(FIRMWARE + 1, large, SLOTS_MAX_RECORD) && slots_save());
    memset(large, 0, sizeof large);
    large[SLOTS_MAX_RECORD] = is[SLOTS_MAX_RECORD];
    CHECK(slots_begin(FIRMWARE + 1, large, SLOTS_MAX_RECORD));
    CHECK(slots_load(0, &slot) && memcmp(large, is, sizeof is) == 0);
}

int main(void)
{
    worn = BOARD_SLOTS;
    for (behind = KEPT; behind <= ANYTHING; behind++)
        ask_cuts();
    behind = KEPT;
    ask_sentences();
    ask_worn();
    ask_sizes();
    printf("%d checks\n", checks);
    return bad != 0;
}

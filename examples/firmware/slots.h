/* slots.h - a record of bytes that outlives power cuts. Each save goes to the
   slot that does not have the newest one: a cut in mid-write costs the slot
   that is being written, and the other one is whole. */
#ifndef FIRMWARE_SLOTS_H
#define FIRMWARE_SLOTS_H

#include "board.h"

#ifndef SLOTS_RECORD
#define SLOTS_RECORD 140 /* bytes: a multiple of 4 */
#endif

/* What slots_save writes and slots_load has read. */
extern unsigned char slots_record[SLOTS_RECORD];

/* Says over the serial line what is wrong with a slot. */
void slots_look(void);

/* Reads the newest good slot, or, with age 1, the one before it; says which it
   was. 0 if there is none. */
int slots_load(unsigned age, unsigned *slot);

/* The number of the save that was loaded or written last. */
uint32_t slots_number(void);

/* 0, and says so, if the slot does not have it afterwards: worn out, perhaps.
   Then the newest save stays where it is, and the next one tries again. */
int slots_save(void);

uint32_t slots_get32(const unsigned char *at);
void slots_put32(unsigned char *at, uint32_t number);

#endif

/* slots.h - a record of bytes that survives power cuts. Each save goes to the
   slot that does not hold the newest save, so a cut in mid-write leaves the
   newest save intact. */
#ifndef FIRMWARE_SLOTS_H
#define FIRMWARE_SLOTS_H

#include "board.h"

#ifndef SLOTS_RECORD
#define SLOTS_RECORD 140 /* bytes: a multiple of 4 */
#endif

/* slots_save writes this, slots_load fills it. */
extern unsigned char slots_record[SLOTS_RECORD];

/* Prints what is wrong with each slot, if anything. */
void slots_look(void);

/* Reads the newest good save (age 0) or the one before it (age 1) and sets
   *slot to its slot. Returns 0 if there is none. */
int slots_load(unsigned age, unsigned *slot);

/* The number of the save that was loaded or written last. */
uint32_t slots_number(void);

/* Saves and reads back. If the slot does not hold the save then (it may be worn
   out), prints so and returns 0; the previous save stays, and the next call
   tries again. */
int slots_save(void);

uint32_t slots_get32(const unsigned char *at);
void slots_put32(unsigned char *at, uint32_t number);

#endif

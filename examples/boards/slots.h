/* slots.h - a record of bytes that survives power cuts. Each save goes to the
   slot that does not hold the newest save, so a cut in mid-write leaves the
   newest save intact. */
#ifndef FIRMWARE_SLOTS_H
#define FIRMWARE_SLOTS_H

#include "board.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A slot has this many bytes beside the record. */
#define SLOTS_OWN_BYTES 12
#define SLOTS_MAX_RECORD (BOARD_SLOT_BYTES - SLOTS_OWN_BYTES)

/* Call it first: slots_save writes this record, and slots_load fills it.
   firmware is a number of your own; another one when the record's layout
   changes. Returns 0, and the functions below do too, if the size is 0 or above
   SLOTS_MAX_RECORD. */
int slots_begin(uint32_t firmware, void *record, size_t size);

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

#ifdef __cplusplus
}
#endif

#endif

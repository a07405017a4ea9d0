/* board.h - what a board provides: a folder here is a board, and `host` is a
   computer with a C library. */
#ifndef BOARDS_BOARD_H
#define BOARDS_BOARD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Constants kept in flash only. An AVR needs special instructions to read
   them. */
#ifdef __AVR__
#define BOARD_FLASH __attribute__((section(".progmem.data")))
#else
#define BOARD_FLASH
#endif

#define BOARD_SLOTS 2
#define BOARD_SLOT_BYTES 256 /* the size of a slot */

/* What the clock counts, and its frequency on the real board. */
extern const char *const board_clock_unit;
extern const uint32_t board_clock_hz;

void board_start(void);
void board_put(char c);
void board_stop(void);

/* Copies from BOARD_FLASH. */
void board_copy(void *to, const void *flash, size_t size);

/* A slot keeps its bytes without power. A power cut in mid-write may leave
   anything in that slot, but must not change the other. Bytes that were never
   written can be anything. Neither function reports failure: slots.c checks. */
void board_slot_read(unsigned slot, unsigned char *bytes, size_t size);
void board_slot_write(unsigned slot, const unsigned char *bytes, size_t size);

/* Only the low 16 bits of a difference count: up to 60,000 is measured. */
uint32_t board_clock(void);

/* The lowest byte of the memory that the stack may use, and its size; size 0 if
   it is not known. */
volatile unsigned char *board_stack(size_t *size);

#ifdef __cplusplus
}
#endif

#endif

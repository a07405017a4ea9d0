/* board.h - what a board does for the programs here. microbit.c, avr.c and
   virt.c are boards, and host.c is a computer with a C library. */
#ifndef FIRMWARE_BOARD_H
#define FIRMWARE_BOARD_H

#include <stddef.h>
#include <stdint.h>

/* What stands in flash only. An AVR cannot read flash as it reads memory. */
#ifdef __AVR__
#define BOARD_FLASH __attribute__((section(".progmem.data")))
#else
#define BOARD_FLASH
#endif

#define BOARD_SLOTS 2
#define BOARD_SLOT_BYTES 256 /* the most that one has room for */

/* What the clock counts, and how often a second on the real board. */
extern const char *const board_clock_unit;
extern const uint32_t board_clock_hz;

void board_start(void);
void board_put(char c);
void board_stop(void);

/* Copies from BOARD_FLASH. */
void board_copy(void *to, const void *flash, size_t size);

/* A slot keeps size bytes without power. A cut of power in mid-write leaves
   anything in this slot, and the other as it was. Bytes that were never
   written are whatever is there. Neither says that it failed: slots.c looks. */
void board_slot_read(unsigned slot, unsigned char *bytes, size_t size);
void board_slot_write(unsigned slot, const unsigned char *bytes, size_t size);

/* Differences up to 60,000 are right. */
uint32_t board_clock(void);

/* The memory that the stack may grow into, from its lowest byte, and how many
   bytes there are; 0 where the system looks after it. */
volatile unsigned char *board_stack(size_t *size);

#endif

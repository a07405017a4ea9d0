/* avr.c - an ATmega1284P: 8 bits, 16 MHz, 128 KB of flash, 16 KB of RAM and 4
   KB of EEPROM, which holds the slots. avr-libc gives the register names and
   the startup code. simulator.c runs it in simavr. */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/pgmspace.h>
#include <avr/sleep.h>
#include "board.h"

extern unsigned char __heap_start;

const char *const board_clock_unit = "cycles";
const uint32_t board_clock_hz = 16000000;

/* A timer of 16 bits. */
uint32_t board_clock(void)
{
    return TCNT1;
}

void board_start(void)
{
    TCCR1B = 1 << CS10;
    UBRR0 = 8; /* about 115,200 baud */
    UCSR0B = 1 << TXEN0;
}

void board_put(char c)
{
    while ((UCSR0A & 1 << UDRE0) == 0) { /* ends when there is room */
    }
    UDR0 = (unsigned char)c;
}

/* Sleeping without interrupts ends the simulator. */
void board_stop(void)
{
    cli();
    sleep_enable();
    sleep_cpu();
}

void board_copy(void *to, const void *flash, size_t size)
{
    memcpy_P(to, flash, size);
}

static void wait_for_eeprom(unsigned slot, size_t i)
{
    while (EECR & 1 << EEPE) { /* ends when the last byte is written */
    }
    EEAR = (uint16_t)(slot * BOARD_SLOT_BYTES + i);
}

void board_slot_read(unsigned slot, unsigned char *bytes, size_t size)
{
    size_t i;
    for (i = 0; i < size; i++) {
        wait_for_eeprom(slot, i);
        EECR |= 1 << EERE;
        bytes[i] = EEDR;
    }
}

/* A byte takes 3 ms to write and wears out after 100,000 writes, so unchanged
   bytes are skipped. */
void board_slot_write(unsigned slot, const unsigned char *bytes, size_t size)
{
    size_t i;
    for (i = 0; i < size; i++) {
        wait_for_eeprom(slot, i);
        EECR |= 1 << EERE;
        if (EEDR == bytes[i])
            continue;
        EEDR = bytes[i];
        EECR |= 1 << EEMPE;
        EECR |= 1 << EEPE;
    }
    wait_for_eeprom(slot, 0);
}

volatile unsigned char *board_stack(size_t *size)
{
    *size = (size_t)(RAMEND + 1 - (uintptr_t)&__heap_start);
    return &__heap_start;
}

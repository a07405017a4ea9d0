/* semihosting.h - keeps slots in files on the computer, by semihosting, the
   same for Arm and RISC-V. On a board of your own, use its flash instead.

   The including file defines semihost(operation, arguments) first. See Arm's
   "Semihosting for AArch32 and AArch64"; RISC-V uses the same numbers. */
#ifndef FIRMWARE_SEMIHOSTING_H
#define FIRMWARE_SEMIHOSTING_H

#include "board.h"

enum { SEMIHOST_OPEN = 1, SEMIHOST_CLOSE = 2, SEMIHOST_WRITE = 5,
       SEMIHOST_READ = 6, SEMIHOST_EXIT = 0x18 };
enum { SEMIHOST_RB = 1, SEMIHOST_WB = 5 }; /* fopen's modes */

static int32_t semihost_open(unsigned slot, uintptr_t mode)
{
    static char name[] = "slot0";
    uintptr_t arguments[3];
    name[4] = (char)('0' + slot);
    arguments[0] = (uintptr_t)name;
    arguments[1] = mode;
    arguments[2] = 5;
    return semihost(SEMIHOST_OPEN, (uintptr_t)arguments);
}

static void semihost_move(int operation, int32_t file, uintptr_t bytes,
                          size_t size)
{
    uintptr_t arguments[3];
    arguments[0] = (uintptr_t)file;
    arguments[1] = bytes;
    arguments[2] = size;
    (void)semihost(operation, (uintptr_t)arguments);
}

void board_slot_read(unsigned slot, unsigned char *bytes, size_t size)
{
    int32_t file = semihost_open(slot, SEMIHOST_RB);
    if (file < 0)
        return; /* never written */
    semihost_move(SEMIHOST_READ, file, (uintptr_t)bytes, size);
    semihost_move(SEMIHOST_CLOSE, file, 0, 0);
}

/* Four bytes at a time, as flash is written, so that a cut can come between. */
void board_slot_write(unsigned slot, const unsigned char *bytes, size_t size)
{
    int32_t file = semihost_open(slot, SEMIHOST_WB);
    size_t i;
    if (file < 0)
        return;
    for (i = 0; i < size; i += 4)
        semihost_move(SEMIHOST_WRITE, file, (uintptr_t)(bytes + i),
                      size - i < 4 ? size - i : 4);
    semihost_move(SEMIHOST_CLOSE, file, 0, 0);
}

void board_copy(void *to, const void *flash, size_t size)
{
    unsigned char *out = (unsigned char *)to;
    const unsigned char *in = (const unsigned char *)flash;
    for (; size != 0; size--)
        *out++ = *in++;
}

#endif

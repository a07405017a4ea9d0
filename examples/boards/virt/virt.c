/* virt.c - a 32-bit RISC-V with multiplication and compressed instructions, as
   on many small boards. qemu-system-riscv32 -M virt. It has no flash that is
   erased: slots are files on the computer, by semihosting. */
#include "board.h"

#define UART ((volatile unsigned char *)(uintptr_t)0x10000000)

/* Semihosting, a debugger's file access, with the numbers of Arm's "Semihosting
   for AArch32 and AArch64": the two shifts mark the ebreak. */
static int32_t semihost(int operation, uintptr_t arguments)
{
    register int32_t a0 __asm__("a0") = operation;
    register uintptr_t a1 __asm__("a1") = arguments;
    __asm__ volatile(".option push\n.option norvc\n.balign 16\n"
                     "slli zero, zero, 0x1f\nebreak\nsrai zero, zero, 7\n"
                     ".option pop"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
    return a0;
}

enum {
    SEMIHOST_OPEN = 1,
    SEMIHOST_CLOSE = 2,
    SEMIHOST_WRITE = 5,
    SEMIHOST_READ = 6
};
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

extern unsigned char image_bss, image_end, image_top;
int main(void);

/* The emulator has loaded .data into RAM already; on a real board copy it from
   flash as microbit.c does. */
__attribute__((noreturn, used)) static void reset(void)
{
    volatile unsigned char *to;
    for (to = &image_bss; to != &image_end; to++)
        *to = 0;
    (void)main();
    board_stop();
    for (;;) { /* the board is off */
    }
}

__asm__(".section .entry, \"ax\"\n.globl entry\nentry:\n"
        "la sp, image_top\nj reset\n.text");

const char *const board_clock_unit = "instructions";
const uint32_t board_clock_hz = 16000000;

uint32_t board_clock(void)
{
    uint32_t count;
    __asm__ volatile("csrr %0, minstret" : "=r"(count));
    return count;
}

void board_start(void)
{
}

void board_put(char c)
{
    while ((UART[5] & 0x20) == 0) { /* ends when there is room for a byte */
    }
    UART[0] = (unsigned char)c;
}

void board_stop(void)
{
    *(volatile uint32_t *)(uintptr_t)0x100000 = 0x5555; /* power off */
}

volatile unsigned char *board_stack(size_t *size)
{
    *size = (size_t)(&image_top - &image_end);
    return &image_end;
}

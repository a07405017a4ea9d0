/* virt.c - a 32-bit RISC-V with multiplication and compressed instructions, as
   on many small boards. qemu-system-riscv32 -M virt. */
#include "board.h"

#define UART ((volatile unsigned char *)(uintptr_t)0x10000000)

/* Semihosting, a debugger's file access: the two shifts mark the ebreak. */
static int32_t semihost(int operation, uintptr_t arguments)
{
    register int32_t a0 __asm__("a0") = operation;
    register uintptr_t a1 __asm__("a1") = arguments;
    __asm__ volatile(".option push\n.option norvc\n.balign 16\n"
                     "slli zero, zero, 0x1f\nebreak\nsrai zero, zero, 7\n"
                     ".option pop"
                     : "+r"(a0) : "r"(a1) : "memory");
    return a0;
}

#include "semihosting.h"

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

/* microbit.c - a BBC micro:bit: Cortex-M0, nRF51822, 16 MHz, 256 KB of flash
   and 16 KB of RAM. qemu-system-arm -M microbit. */
#include "board.h"

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define UART_STARTTX REGISTER(0x40002008)
#define UART_TXDRDY REGISTER(0x4000211c)
#define UART_ENABLE REGISTER(0x40002500)
#define UART_PSELTXD REGISTER(0x4000250c)
#define UART_TXD REGISTER(0x4000251c)
#define UART_BAUDRATE REGISTER(0x40002524)
#define SYSTICK_CONTROL REGISTER(0xe000e010)
#define SYSTICK_RELOAD REGISTER(0xe000e014)
#define SYSTICK_VALUE REGISTER(0xe000e018)

/* The emulator implements semihosting, a debugger's file access. */
static int32_t semihost(int operation, uintptr_t arguments)
{
    register int32_t r0 __asm__("r0") = operation;
    register uintptr_t r1 __asm__("r1") = arguments;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

#include "semihosting.h"

extern unsigned char image_bss, image_end, image_top, image_data,
    image_data_end;
extern const unsigned char image_data_from;
int main(void);
void reset(void);

void reset(void)
{
    volatile unsigned char *to = &image_data;
    const unsigned char *from = &image_data_from;
    while (to != &image_data_end)
        *to++ = *from++;
    for (to = &image_bss; to != &image_end; to++)
        *to = 0;
    (void)main();
    board_stop();
}

/* The first two words of the vector table. */
__attribute__((section(".vectors"), used)) static const struct {
    const void *stack;
    void (*reset)(void);
} vectors = {&image_top, reset};

/* On a board a tick is a cycle. qemu -icount shift=0 runs one instruction per
   nanosecond and this timer at 16 MHz: 62.5 instructions per tick. */
#ifdef BOARD_IS_QEMU
#define TICK(ticks) ((ticks) * 125 / 2)
const char *const board_clock_unit = "instructions";
#else
#define TICK(ticks) (ticks)
const char *const board_clock_unit = "cycles";
#endif
const uint32_t board_clock_hz = 16000000;

uint32_t board_clock(void)
{
    return TICK(0xffffffu - SYSTICK_VALUE);
}

void board_start(void)
{
    SYSTICK_RELOAD = 0xffffff;
    SYSTICK_VALUE = 0;
    SYSTICK_CONTROL = 5;
    UART_PSELTXD = 24;
    UART_BAUDRATE = 0x01d7e000; /* 115,200 */
    UART_ENABLE = 4;
    UART_STARTTX = 1;
}

void board_put(char c)
{
    UART_TXDRDY = 0;
    UART_TXD = (unsigned char)c;
    while (UART_TXDRDY == 0) { /* ends when the byte is sent */
    }
}

void board_stop(void)
{
    (void)semihost(SEMIHOST_EXIT, 0x20026); /* ADP_Stopped_ApplicationExit */
    for (;;) { /* on a real board */
    }
}

volatile unsigned char *board_stack(size_t *size)
{
    *size = (size_t)(&image_top - &image_end);
    return &image_end;
}

/* microbit.c - a BBC micro:bit: Cortex-M0, nRF51822, 16 MHz, 256 KB of flash
   and 16 KB of RAM. qemu-system-arm -M microbit. The slots are the last two
   pages of the flash; board_slot_write erases and writes them as on any
   nRF51. */
#include "board.h"

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define UART_STARTTX REGISTER(0x40002008)
#define UART_TXDRDY REGISTER(0x4000211c)
#define UART_ENABLE REGISTER(0x40002500)
#define UART_PSELTXD REGISTER(0x4000250c)
#define UART_TXD REGISTER(0x4000251c)
#define UART_BAUDRATE REGISTER(0x40002524)
#define NVMC_READY REGISTER(0x4001e400)
#define NVMC_CONFIG REGISTER(0x4001e504)
#define NVMC_ERASEPAGE REGISTER(0x4001e508)
#define SYSTICK_CONTROL REGISTER(0xe000e010)
#define SYSTICK_RELOAD REGISTER(0xe000e014)
#define SYSTICK_VALUE REGISTER(0xe000e018)

#define PAGE 1024        /* bytes that are erased together, a slot in each */
#define SLOTS_AT 0x3f800 /* microbit.ld keeps the program below */
typedef char slot_is_in_page[BOARD_SLOT_BYTES <= PAGE ? 1 : -1];

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
#define TICK(ticks) ((ticks)*125 / 2)
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

/* Flash is read like memory. */
void board_copy(void *to, const void *flash, size_t size)
{
    unsigned char *out = (unsigned char *)to;
    const volatile unsigned char *in = (const volatile unsigned char *)flash;
    for (; size != 0; size--)
        *out++ = *in++;
}

static uintptr_t slot_at(unsigned slot)
{
    return SLOTS_AT + (uintptr_t)slot * PAGE;
}

void board_slot_read(unsigned slot, unsigned char *bytes, size_t size)
{
    board_copy(bytes, (const void *)slot_at(slot), size);
}

/* The controller of the flash: read only, write or erase. */
static void set_flash(uint32_t config)
{
    NVMC_CONFIG = config;
    while (NVMC_READY == 0) { /* ends when the last erasure or word is done */
    }
}

/* Writing only clears bits, a word of four bytes at a time, so the page is
   erased first: this takes up to 22 ms, in which the CPU stands still, and
   wears a page out after 20,000 times. */
void board_slot_write(unsigned slot, const unsigned char *bytes, size_t size)
{
    size_t i;
    set_flash(2);
    NVMC_ERASEPAGE = (uint32_t)slot_at(slot);
    set_flash(1);
    for (i = 0; i < size; i += 4) {
        uint32_t word = 0;
        size_t byte;
        for (byte = 4; byte-- > 0;)
            word = word << 8 | (i + byte < size ? bytes[i + byte] : 0xffu);
        REGISTER(slot_at(slot) + i) = word;
        while (NVMC_READY == 0) { /* ends when the word is written: 46 us */
        }
    }
    set_flash(0);
}

#ifdef BOARD_IS_QEMU
/* Semihosting, a debugger's file access: to end the emulator, which forgets its
   flash then. The slots go to a file; boards.sh does this for a power cut. */
static int32_t semihost(int operation, const void *arguments)
{
    register int32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = arguments;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void end_emulator(void)
{
    static const char name[] = "flash";
    uintptr_t open[3], write[3];
    open[0] = (uintptr_t)name;
    open[1] = 5; /* fopen's "wb" */
    open[2] = sizeof name - 1;
    write[0] = (uintptr_t)semihost(1, open);
    write[1] = SLOTS_AT;
    write[2] = BOARD_SLOTS * PAGE;
    (void)semihost(5, write);
    (void)semihost(0x18, (const void *)0x20026); /* ApplicationExit */
}
#endif

void board_stop(void)
{
#ifdef BOARD_IS_QEMU
    end_emulator();
#endif
    for (;;) { /* until the power goes */
    }
}

volatile unsigned char *board_stack(size_t *size)
{
    *size = (size_t)(&image_top - &image_end);
    return &image_end;
}

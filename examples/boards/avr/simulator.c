/* simulator.c - runs an AVR program in simavr, with its EEPROM in a file:

       simulator CHIP PROGRAM.elf [EEPROM_FILE]

   Killing it is a power cut: each byte is in the file as soon as the program
   has written it. Prints what the program sends over the serial line. */
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <simavr/avr_eeprom.h>
#include <simavr/avr_uart.h>
#include <simavr/sim_avr.h>
#include <simavr/sim_elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void print(struct avr_irq_t *irq, uint32_t value, void *nothing)
{
    (void)irq;
    (void)nothing;
    (void)putchar((int)value);
    (void)fflush(stdout);
}

/* Puts the chip's EEPROM into a file. */
static int map_eeprom(avr_t *avr, const char *path)
{
    avr_io_t *part = avr->io_port;
    avr_eeprom_t *eeprom;
    void *bytes;
    int file, is_new = access(path, F_OK) != 0;
    while (part && strcmp(part->kind, "eeprom") != 0)
        part = part->next;
    if (!part)
        return 0;
    eeprom = (avr_eeprom_t *)part;
    file = open(path, O_RDWR | O_CREAT, 0666);
    if (file < 0 || ftruncate(file, eeprom->size) != 0)
        return 0;
    bytes =
        mmap(NULL, eeprom->size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (bytes == MAP_FAILED)
        return 0;
    if (is_new)
        memset(bytes, 0xff, eeprom->size); /* erased, as in a new chip */
    eeprom->eeprom = bytes;
    return close(file) == 0;
}

int main(int argc, char **argv)
{
    elf_firmware_t firmware;
    avr_t *avr;
    uint32_t flags = 0;
    int state;
    memset(&firmware, 0, sizeof firmware);
    if (argc < 3 || elf_read_firmware(argv[2], &firmware) != 0) {
        fprintf(stderr, "usage: simulator CHIP PROGRAM.elf [EEPROM_FILE]\n");
        return 2;
    }
    avr = avr_make_mcu_by_name(argv[1]);
    if (!avr || avr_init(avr) != 0)
        return 2;
    avr->log = LOG_ERROR;
    avr->frequency = 16000000;
    avr_load_firmware(avr, &firmware);
    if (argc > 3 && !map_eeprom(avr, argv[3])) {
        perror(argv[3]);
        return 2;
    }
    avr_ioctl(avr, AVR_IOCTL_UART_GET_FLAGS('0'), &flags);
    flags &= ~(uint32_t)(AVR_UART_FLAG_STDIO | AVR_UART_FLAG_POLL_SLEEP);
    avr_ioctl(avr, AVR_IOCTL_UART_SET_FLAGS('0'), &flags);
    avr_irq_register_notify(avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'),
                                          UART_IRQ_OUTPUT),
                            print, NULL);
    do /* ends when the program sleeps without interrupts */
        state = avr_run(avr);
    while (state != cpu_Done && state != cpu_Crashed);
    return state != cpu_Done;
}

/* print.h - text and numbers over the serial line. */
#ifndef BOARDS_PRINT_H
#define BOARDS_PRINT_H

#include "board.h"

static inline void print(const char *text)
{
    for (; *text != 0; text++)
        board_put(*text);
}

static inline void print_number(int32_t number)
{
    uint32_t rest = (uint32_t)number;
    char digits[10];
    unsigned count = 0;
    if (number < 0) {
        board_put('-');
        rest = 0 - rest;
    }
    do { /* at most ten digits */
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    while (count != 0)
        board_put(digits[--count]);
}

#endif

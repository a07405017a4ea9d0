/* crash_save.c - saves and loads one file, for tests/fuzz/crash.py:
       crash_save save FILE NUMBER    prints what is wrong, or "no error"
       crash_save load FILE           prints the number, or what is wrong
   A file of NUMBER has a length and bytes that no other has. getppid() marks
   in a list of system calls where the one that is asked begins and ends. With
   CRASH_BROKEN nothing is flushed, which must be noticed. */
#define _POSIX_C_SOURCE 200809L
#include <unistd.h>
#ifdef CRASH_BROKEN
static int no_fsync(int file)
{
    return file < 0;
}
#define fsync no_fsync
#endif
#define STATESAMPLER_HOSTED
#include "statesampler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 20000 };
static unsigned char bytes[LARGEST];

/* Fills bytes for a number and returns their length. */
static size_t fill(unsigned long number)
{
    const size_t size = 5000 + number % 10 * 1001;
    size_t i;

    for (i = 0; i < size; i++)
        bytes[i] = (unsigned char)(number * 31 + i * 7 + i / 256);
    memcpy(bytes, &number, sizeof number);
    return size;
}

static void print_loaded(const unsigned char *got, size_t size)
{
    unsigned long number;

    if (size < sizeof number) {
        puts("torn");
        return;
    }
    memcpy(&number, got, sizeof number);
    if (fill(number) == size && memcmp(bytes, got, size) == 0)
        printf("%lu\n", number);
    else
        puts("torn");
}

/* What is wrong, in the words of errno if that says it. */
static const char *sentence(int code, int error)
{
    return code == STATESAMPLER_EIO ? strerror(error)
                                    : statesampler_error(code);
}

int main(int count, char **words)
{
    static unsigned char got[LARGEST];
    size_t size = 0;
    int code, error;

    if (count == 4 && strcmp(words[1], "save") == 0) {
        size = fill(strtoul(words[3], NULL, 10));
        (void)getppid();
        code = statesampler_save_file(words[2], bytes, size);
        error = errno;
        (void)getppid();
        puts(sentence(code, error));
        return 0;
    }
    if (count == 3 && strcmp(words[1], "load") == 0) {
        (void)getppid();
        code = statesampler_load_file(words[2], got, sizeof got, &size);
        error = errno;
        (void)getppid();
        if (code == STATESAMPLER_OK)
            print_loaded(got, size);
        else
            puts(sentence(code, error));
        return 0;
    }
    fputs("crash_save save FILE NUMBER | crash_save load FILE\n", stderr);
    return 2;
}

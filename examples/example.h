/* example.h - the usage text, the errors and the last line of every example.

   Include it after statesampler.h. A usage text begins with "usage: NAME". */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char example_name[32] = "example";

static inline void example_print(FILE *to, const char *before,
                                 const char *format, va_list list)
{
    fprintf(to, "%s: %s", example_name, before);
    vfprintf(to, format, list);
    fputc('\n', to);
}

/* Prints a message and exits. Status 2 means wrong arguments. */
static inline void example_fail(int status, const char *format, ...)
{
    va_list list;

    fflush(stdout);
    va_start(list, format);
    example_print(stderr, "", format, list);
    va_end(list);
    if (status == 2) {
        fprintf(stderr, "Try '%s --help'.\n", example_name);
    }
    exit(status);
}

/* An error in words: the library's, or the system's for a file. */
static inline const char *example_error(int code)
{
    return STATESAMPLER_KIND(code) == STATESAMPLER_EIO
               ? strerror(errno)
               : statesampler_error(code);
}

/* Exits with the library's message if the code is an error. */
static inline void example_must(int code)
{
    if (code < 0) {
        example_fail(1, "%s", example_error(code));
    }
}

/* The same with a code of a header of extras, whose function `say` knows it. */
static inline void example_must_say(int code, const char *(*say)(int code))
{
    if (code < 0) {
        example_fail(1, "%s", say(code));
    }
}

/* The same for a file, which the message names. */
static inline void example_file(const char *path, int code)
{
    if (code < 0) {
        example_fail(1, "%s: %s", path, example_error(code));
    }
}

/* The number that is all of an argument. (C++98 has no strtoull.) */
static inline uint64_t example_number(const char *text, uint64_t least,
                                      uint64_t most)
{
    const char *at = text;
    uint64_t value = 0, digit;
    int good = *at != '\0';

    for (; good && *at != '\0'; at++) {
        digit = (uint64_t)*at - '0'; /* what is no digit is above 9 */
        good = digit <= 9 && digit <= most && value <= (most - digit) / 10;
        value = 10 * value + digit;
    }
    if (!good || value < least) {
        example_fail(2, "'%s' is not a number from %" PRIu64 " to %" PRIu64,
                     text, least, most);
    }
    return value;
}

/* Makes a file stdin. That it is a folder shows at the first byte. */
static inline void example_read(const char *path)
{
    if (freopen(path, "r", stdin) == NULL ||
        (ungetc(getchar(), stdin) == EOF && ferror(stdin))) {
        example_fail(path[0] == '-' ? 2 : 1, "%s: %s", path, strerror(errno));
    }
}

/* Call it when all is read: a disk may fail in the middle of a file. */
static inline void example_read_end(const char *path)
{
    if (ferror(stdin)) {
        example_fail(1, "%s: %s", path, strerror(errno));
    }
}

/* Call it once, at the end: only here may a full disk show. */
static inline void example_close(void)
{
    int failed = ferror(stdout);

    if (fclose(stdout) != 0 || failed) {
        example_fail(1, "cannot write the output: %s", strerror(errno));
    }
}

/* Answers --help and refuses more than `most` arguments. */
static inline void example_begin(int argc, char **argv, int most,
                                 const char *usage)
{
    int i;

    sscanf(usage, "usage: %31s", example_name);
    for (i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(usage, stdout);
            example_close();
            exit(0);
        }
    }
    if (argc - 1 > most) {
        example_fail(2, "unexpected argument '%s'", argv[most + 1]);
    }
}

/* Prints the last line and returns the exit status: 0 if the claim is true and
   all output was written. */
static inline int example_end(int good, const char *claim, ...)
{
    va_list list;

    va_start(list, claim);
    example_print(stdout, good ? "ok, " : "FAILED, this is not true: ", claim,
                  list);
    va_end(list);
    example_close();
    return good ? 0 : 1;
}

#endif

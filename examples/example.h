/* example.h - what every example does besides its job: it says how it is used,
   why it failed, and at the end, in a sentence, what it has shown.

   Include it after statesampler.h. A usage begins "usage: NAME". */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <errno.h>
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

/* Ends the program with a sentence; status 2 is for wrong arguments. */
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

/* For what the library returns: an error ends the program, in its words. */
static inline void example_must(int code)
{
    if (code < 0) {
        example_fail(1, "%s", statesampler_error(code));
    }
}

/* To be called once, at the end: a full disk may show only here. */
static inline void example_close(void)
{
    int failed = ferror(stdout);

    if (fclose(stdout) != 0 || failed) {
        example_fail(1, "cannot write the output: %s", strerror(errno));
    }
}

/* Answers --help, and takes at most so many arguments. */
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
        example_fail(2, "there is no place for an argument '%s'",
                     argv[most + 1]);
    }
}

/* The last line and the exit status: whether what the example claims came
   true, and whether all that it printed was written. */
static inline int example_end(int good, const char *claim, ...)
{
    va_list list;

    va_start(list, claim);
    example_print(stdout, good ? "ok, " : "FAILED, this is not so: ", claim,
                  list);
    va_end(list);
    example_close();
    return good ? 0 : 1;
}

#endif

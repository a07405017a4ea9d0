/* opened.c - a library that notes the files which a program opens, in the file
   that OPENED names, and with NO_LOCKS has none to give: LD_PRELOAD it. */
#define _GNU_SOURCE /* RTLD_NEXT */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

FILE *fopen(const char *path, const char *mode)
{
    FILE *(*real)(const char *, const char *);
    FILE *notes;

    *(void **)&real = dlsym(RTLD_NEXT, "fopen");
    notes = getenv("OPENED") ? real(getenv("OPENED"), "a") : NULL;
    if (notes) {
        fprintf(notes, "%s\n", path);
        fclose(notes);
    }
    return real(path, mode);
}

int fcntl(int file, int command, ...)
{
    int (*real)(int, int, ...);
    void *argument; /* or an int, which is passed in the same place */
    va_list list;

    if (command == F_SETLK && getenv("NO_LOCKS")) {
        errno = ENOLCK;
        return -1;
    }
    va_start(list, command);
    argument = va_arg(list, void *);
    va_end(list);
    *(void **)&real = dlsym(RTLD_NEXT, "fcntl");
    return real(file, command, argument);
}

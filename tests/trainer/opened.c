/* opened.c - a library that notes the files which a program opens, in the file
   that OPENED names: LD_PRELOAD it. */
#define _GNU_SOURCE /* RTLD_NEXT */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

FILE *fopen(const char *path, const char *mode)
{
    FILE *(*real)(const char *, const char *);
    FILE *notes;

    *(void **)&real = dlsym(RTLD_NEXT, "fopen");
    notes = real(getenv("OPENED"), "a");
    if (notes) {
        fprintf(notes, "%s\n", path);
        fclose(notes);
    }
    return real(path, mode);
}

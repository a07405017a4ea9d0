/* opened.c - a library that notes the files which a program opens, in the file
   that OPENED names; that refuses the file or folder which REFUSED names; with
   NO_LOCKS has no locks to give, and with NO_FLUSH cannot flush a folder:
   LD_PRELOAD it. */
#define _GNU_SOURCE /* RTLD_NEXT */

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_refused(const char *path)
{
    const char *refused = getenv("REFUSED");

    errno = EACCES;
    return refused && strcmp(path, refused) == 0;
}

DIR *opendir(const char *path)
{
    DIR *(*real)(const char *);

    *(void **)&real = dlsym(RTLD_NEXT, "opendir");
    return is_refused(path) ? NULL : real(path);
}

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
    return is_refused(path) ? NULL : real(path, mode);
}

int fsync(int file)
{
    int (*real)(int);
    struct stat about;

    errno = EINVAL;
    *(void **)&real = dlsym(RTLD_NEXT, "fsync");
    return getenv("NO_FLUSH") && fstat(file, &about) == 0 &&
                   S_ISDIR(about.st_mode) ? -1 : real(file);
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

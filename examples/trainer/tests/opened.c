/* opened.c - a library that notes where in checkpoints a program reads, in the
   file that PLACES names; that refuses the file or folder which REFUSED names,
   when it is opened or at what AT says, "read", "flush" or "unlink"; with
   NO_LOCKS has no locks to give; with NO_FLUSH cannot flush a folder, as EINVAL
   or ENOSYS there says; and lets no file of a checkpoint have more bytes than
   LIMIT, which would be too few for MPI's own: LD_PRELOAD it. */
#define _GNU_SOURCE /* RTLD_NEXT */

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_refused(const char *path, const char *here)
{
    const char *refused = getenv("REFUSED"), *at = getenv("AT");

    return refused && strcmp(path, refused) == 0 &&
           strcmp(at ? at : "open", here) == 0;
}

/* Nothing is mapped where a process's memory begins: reading it is EIO. */
static const char unreadable[] = "/proc/self/mem";
static DIR *unread; /* a folder that cannot be read */

DIR *opendir(const char *path)
{
    DIR *(*real)(const char *);
    DIR *folder;

    errno = EACCES;
    if (is_refused(path, "open"))
        return NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "opendir");
    folder = real(path);
    if (is_refused(path, "read"))
        unread = folder;
    return folder;
}

struct dirent *readdir(DIR *folder)
{
    struct dirent *(*real)(DIR *);

    *(void **)&real = dlsym(RTLD_NEXT, "readdir");
    if (folder != unread)
        return real(folder);
    errno = EIO;
    return NULL;
}

int open(const char *path, int flags, ...)
{
    int (*real)(const char *, int, ...);
    mode_t mode = 0;
    va_list list;

    if (flags & O_CREAT) {
        va_start(list, flags);
        mode = va_arg(list, mode_t);
        va_end(list);
    }
    *(void **)&real = dlsym(RTLD_NEXT, "open");
    errno = EACCES;
    if (is_refused(path, "open"))
        return -1;
    return real(is_refused(path, "read") ? unreadable : path, flags, mode);
}

int unlink(const char *path)
{
    int (*real)(const char *);

    *(void **)&real = dlsym(RTLD_NEXT, "unlink");
    errno = EACCES;
    return is_refused(path, "unlink") ? -1 : real(path);
}

static void limit_size(const char *path)
{
    const char *limit = getenv("LIMIT");
    struct rlimit size;

    if (!limit || !strstr(path, "/.step.tmp"))
        return;
    getrlimit(RLIMIT_FSIZE, &size);
    size.rlim_cur = (rlim_t)atol(limit);
    setrlimit(RLIMIT_FSIZE, &size);
}

FILE *fopen(const char *path, const char *mode)
{
    FILE *(*real)(const char *, const char *);

    *(void **)&real = dlsym(RTLD_NEXT, "fopen");
    limit_size(path);
    return real(path, mode);
}

static int is_checkpoint(FILE *file)
{
    char link[64], path[1024] = "";

    snprintf(link, sizeof link, "/proc/self/fd/%d", fileno(file));
    return readlink(link, path, sizeof path - 1) > 0 && strstr(path, "/step-");
}

size_t fread(void *to, size_t size, size_t count, FILE *file)
{
    size_t (*real)(void *, size_t, size_t, FILE *);
    const char *places = getenv("PLACES");
    FILE *notes = places && is_checkpoint(file) ? fopen(places, "a") : NULL;

    *(void **)&real = dlsym(RTLD_NEXT, "fread");
    if (notes) {
        fprintf(notes, "%ld\n", ftell(file));
        fclose(notes);
    }
    return real(to, size, count, file);
}

int fsync(int file)
{
    const char *path = getenv("REFUSED"), *none = getenv("NO_FLUSH");
    int (*real)(int);
    struct stat about, other;

    errno = EIO;
    if (path && is_refused(path, "flush") && stat(path, &other) == 0 &&
        fstat(file, &about) == 0 && about.st_dev == other.st_dev &&
        about.st_ino == other.st_ino)
        return -1;
    *(void **)&real = dlsym(RTLD_NEXT, "fsync");
    errno = none && strcmp(none, "ENOSYS") == 0 ? ENOSYS : EINVAL;
    return none && fstat(file, &about) == 0 && S_ISDIR(about.st_mode)
               ? -1
               : real(file);
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

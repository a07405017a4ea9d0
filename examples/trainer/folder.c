/* folder.c - see folder.h. */
#define _XOPEN_SOURCE 700 /* fsync */

#include "folder.h"
#include "agree.h"
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h> /* dirname */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The errors of file systems that cannot flush a folder. */
static int cannot_flush_folders(int error)
{
    return error == EINVAL || error == ENOSYS || error == ENOTSUP;
}

const char *folder_flush(const char *path)
{
    const int descriptor = open(path, O_RDONLY);
    int good;

    if (descriptor < 0)
        return cannot("flush", path);
    good = fsync(descriptor) == 0 || cannot_flush_folders(errno);
    close(descriptor);
    return good ? "" : cannot("flush", path);
}

const char *folder_create(const char *path)
{
    char part[CONFIG_STRING];
    const char *wrong = "";
    size_t i;

    for (i = 1; i <= strlen(path); i++)
        if (path[i] == '/' || path[i] == 0) {
            snprintf(part, sizeof part, "%.*s", (int)i, path);
            if (mkdir(part, 0777) != 0 && errno != EEXIST && path[i] == 0)
                return cannot("create the folder", path);
            wrong = folder_flush(dirname(part));
        }
    /* Who may not open the folder above cannot flush it, but may write here. */
    if (errno == EACCES || errno == EPERM || errno == EROFS)
        return "";
    return wrong;
}

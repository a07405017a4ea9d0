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

const char *folder_flush(const char *path)
{
    const int descriptor = open(path, O_RDONLY);
    /* Some file systems cannot flush a folder. */
    const int good = descriptor >= 0 &&
                     (fsync(descriptor) == 0 || errno == EINVAL ||
                      errno == ENOSYS || errno == ENOTSUP);

    if (descriptor >= 0)
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
    return errno == EACCES || errno == EPERM || errno == EROFS ? "" : wrong;
}

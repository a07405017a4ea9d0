/* log.c - see log.h. */
#define _XOPEN_SOURCE 700 /* fcntl, nanosleep, SIGXFSZ */

#include "log.h"
#include "agree.h"
#include "checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h> /* dirname */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Flushes the folder that a folder is in, lest a power cut take it, with all
   checkpoints, away again. A run that made it may have been killed before it
   could do so. Returns 0 or the error; those that may not be read, or written,
   are others' to keep. */
static int flush_above(const char *path)
{
    char above[CONFIG_STRING];

    snprintf(above, sizeof above, "%s", path);
    if (!*checkpoint_flush(dirname(above)) || errno == EACCES ||
        errno == EPERM || errno == EROFS)
        return 0;
    return errno;
}

/* Makes a folder and those that it is in, where they are not there. Returns 0
   if it is there to stay, or the first error of those that kept it from being
   so. */
static int make_folders(const char *path)
{
    char part[CONFIG_STRING] = "";
    int error = 0, unkept = 0;
    size_t i;

    for (i = 0; path[i]; i++) {
        part[i] = path[i];
        if (path[i + 1] != '/' && path[i + 1])
            continue;
        if (mkdir(part, 0777) == 0 || errno == EEXIST)
            error = 0;
        else if (error == 0)
            error = errno;
        if (error == 0 && unkept == 0)
            unkept = flush_above(part);
    }
    return error ? error : unkept;
}

/* The first line of every log, so that it is known. */
static const char log_begin[] = "a log of the trainer";

/* Locks a file as long as this process lives. Where launch.sh has started
   again, processes of a mpirun that was killed may have it for seconds yet. */
static int lock(int file)
{
    const struct timespec moment = {0, 100000000};
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int tries = getenv("TRAINER_AGAIN") ? 300 : 1;

    while (fcntl(file, F_SETLK, &whole) != 0) { /* ends: a try less */
        if ((errno != EAGAIN && errno != EACCES) || --tries == 0)
            return 0;
        nanosleep(&moment, NULL);
    }
    return 1;
}

static int is_regular(int file)
{
    struct stat about;

    return fstat(file, &about) == 0 && S_ISREG(about.st_mode);
}

const char *log_open(run *r)
{
    char path[CONFIG_STRING + 16], begin[sizeof log_begin] = "";
    int file, error;

    /* A limit on the size of files is an error like a full disk. */
    signal(SIGXFSZ, SIG_IGN);
    if (r->rank != 0)
        return "";
    error = make_folders(r->config.checkpoint.dir);
    if (error != 0)
        return complain("cannot make the folder %s: %s",
                        r->config.checkpoint.dir, strerror(error));
    snprintf(path, sizeof path, "%s/log.txt", r->config.checkpoint.dir);
    /* A pipe would keep us waiting for its writer. */
    file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (file >= 0 && !is_regular(file))
        return complain("cannot write %s: it is no regular file", path);
    r->log = file < 0 || !lock(file) ? NULL : fdopen(file, "r+b");
    if (!r->log)
        return complain("cannot write %s: %s", path,
                        file >= 0 && (errno == EAGAIN || errno == EACCES)
                            ? "another run is at work there"
                            : strerror(errno));
    /* A power cut may leave zeros or a beginning; checkpoints have it all. */
    if (fgets(begin, sizeof begin, r->log) &&
        strncmp(begin, log_begin, strlen(begin)) != 0)
        return complain("%s is not the trainer's: choose another "
                        "CHECKPOINT.DIR", path);
    if (ferror(r->log)) /* it may be anybody's */
        return complain("cannot read %s: %s", path, strerror(errno));
    return "";
}

const char *log_cut(run *r)
{
    if (r->rank == 0 &&
        (fseek(r->log, (long)r->log_bytes, SEEK_SET) != 0 ||
         ftruncate(fileno(r->log), (off_t)r->log_bytes) != 0))
        return complain("cannot write %s/log.txt: %s",
                        r->config.checkpoint.dir, strerror(errno));
    if (r->log_bytes == 0)
        log_line(r, log_begin);
    return log_flush(r);
}

void log_line(run *r, const char *line)
{
    const size_t size = strlen(line);

    r->log_hash = text_hash(r->log_hash, line, size);
    r->log_hash = text_hash(r->log_hash, "\n", 1);
    r->log_bytes += size + 1;
    if (r->log && r->log_errno == 0 &&
        (fprintf(r->log, "%s\n", line) < 0 || fflush(r->log) != 0))
        r->log_errno = errno;
}

const char *log_flush(run *r)
{
    if (r->log && r->log_errno == 0 &&
        (ferror(r->log) || fsync(fileno(r->log)) != 0))
        r->log_errno = errno;
    return r->log_errno == 0 ? ""
                             : complain("cannot write %s/log.txt: %s",
                                        r->config.checkpoint.dir,
                                        strerror(r->log_errno));
}

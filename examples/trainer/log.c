/* log.c - see log.h. */
#define _XOPEN_SOURCE 700 /* fcntl, SIGXFSZ */

#include "log.h"
#include "agree.h"
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first line of every log, by which it is recognized. */
static const char log_begin[] = "a log of the trainer";

/* Locks a file for the life of this process. After a restart by launch.sh,
   processes of the killed mpirun may hold it for some seconds more. */
static int lock(int file)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const int again = getenv("TRAINER_AGAIN") != NULL;

    return fcntl(file, again ? F_SETLKW : F_SETLK, &whole) == 0;
}

/* Opens and locks a file, which may not be a link or a pipe. */
static const char *open_locked(FILE **log, const char *path)
{
    const int file =
        open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0666);
    struct stat about;

    if (file < 0 && errno == ELOOP)
        return complain("cannot write %s: it is a link", path);
    if (file < 0)
        return cannot("write", path);
    if (fstat(file, &about) == 0 && !S_ISREG(about.st_mode))
        return complain("cannot write %s: it is not a regular file", path);
    if (!lock(file)) {
        if (errno != EAGAIN && errno != EACCES)
            return cannot("write", path);
        return complain("cannot write %s: another run is using it; wait for "
                        "its end, or choose another CHECKPOINT.DIR",
                        path);
    }
    *log = fdopen(file, "r+b");
    return *log ? "" : cannot("write", path);
}

const char *log_open(run *r)
{
    char *path = r->log_path, begin[sizeof log_begin] = "";
    const char *wrong;

    /* Exceeding a limit on file sizes is then an error, like a full disk. */
    signal(SIGXFSZ, SIG_IGN);
    if (r->rank != 0)
        return "";
    wrong = folder_create(r->config.dir);
    if (*wrong)
        return wrong;
    snprintf(path, sizeof r->log_path, "%s/log.txt", r->config.dir);
    wrong = open_locked(&r->log, path);
    if (*wrong)
        return wrong;
    /* A power cut may leave zeros or a part of what no checkpoint needs. */
    if (fgets(begin, sizeof begin, r->log) &&
        strncmp(begin, log_begin, strlen(begin)) != 0)
        return complain("%s was not written by the trainer, or its first line "
                        "has changed: choose another CHECKPOINT.DIR, where "
                        "CHECKPOINT.EXTEND can go on from a checkpoint of this "
                        "one",
                        path);
    return ferror(r->log) ? cannot("read", path) : "";
}

const char *log_check(const run *r, int *failed)
{
    uint64_t hash = TEXT_HASH, at = 0;
    char some[4096];
    ssize_t got;

    if (!r->log)
        return "";
    do { /* ends: at its end, or at that of the run's lines */
        const uint64_t left = r->log_bytes - at;
        const size_t size = left < sizeof some ? left : sizeof some;

        got = pread(fileno(r->log), some, size, (off_t)at);
        *failed = got < 0;
        if (*failed)
            return cannot("read", r->log_path);
        hash = text_hash(hash, some, (size_t)got);
        at += (uint64_t)got;
    } while (got > 0);
    if (at == r->log_bytes && hash == r->log_hash)
        return "";
    if (at == 0)
        return complain("%s was missing or is empty", r->log_path);
    return complain("%s has lost or changed lines", r->log_path);
}

const char *log_cut(run *r)
{
    if (r->rank == 0 && (fseek(r->log, (long)r->log_bytes, SEEK_SET) != 0 ||
                         ftruncate(fileno(r->log), (off_t)r->log_bytes) != 0))
        return cannot("write", r->log_path);
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
    struct stat there;
    int failed;

    if (!r->log)
        return "";
    errno = r->log_errno;
    if (errno != 0 || fsync(fileno(r->log)) != 0)
        return cannot("write", r->log_path);
    /* Another file of this name falls behind with the next line. */
    if (stat(r->log_path, &there) != 0 ||
        (uint64_t)there.st_size != r->log_bytes)
        return complain("%s was changed during the run", r->log_path);
    return log_check(r, &failed);
}

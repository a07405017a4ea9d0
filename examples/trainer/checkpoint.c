/* checkpoint.c - see checkpoint.h. */
#define _XOPEN_SOURCE 700 /* fsync, fseeko, open_memstream */

#include "checkpoint.h"
#include "agree.h"
#include "log.h"
#include "memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME = 17 /* "step-" and 12 digits */ };

/* ---- Files ---- */

const char *checkpoint_flush(const char *folder)
{
    const int descriptor = open(folder, O_RDONLY);
    /* Some file systems cannot flush a folder. */
    const int good = descriptor >= 0 &&
                     (fsync(descriptor) == 0 || errno == EINVAL ||
                      errno == ENOSYS || errno == ENOTSUP);

    if (descriptor >= 0)
        close(descriptor);
    return good ? "" : cannot("flush", folder);
}

const char *checkpoint_before(const char *dir, char name[64])
{
    DIR *folder = opendir(dir);
    const struct dirent *entry;
    const char *wrong;
    char best[64] = "";

    if (!folder)
        return cannot("read the folder", dir);
    /* errno distinguishes an error from the end. */
    while ((errno = 0, entry = readdir(folder))) {
        const char *found = entry->d_name;

        if (strlen(found) == NAME && strncmp(found, "step-", 5) == 0 &&
            strspn(found + 5, "0123456789") == NAME - 5 &&
            strcmp(found, best) > 0 && (!name[0] || strcmp(found, name) < 0))
            memcpy(best, found, NAME + 1);
    }
    wrong = errno != 0 ? cannot("read the folder", dir) : "";
    closedir(folder);
    memcpy(name, best, sizeof best);
    return wrong;
}

/* ---- The file's parts ---- */

size_t checkpoint_head_bytes(const checkpoint_head *h)
{
    return sizeof *h + h->feed_bytes + h->config_bytes;
}

uint64_t checkpoint_hash(const checkpoint_head *h, const void *bytes,
                         size_t size)
{
    return text_hash(TEXT_HASH ^ h->step, bytes, size);
}

uint64_t checkpoint_pages(uint64_t bytes)
{
    const uint64_t page = 4096;

    return (bytes + sizeof(uint64_t) + page - 1) / page * page;
}

/* ---- Saving ---- */

static char *print_config(const struct trainer_config *c)
{
    char *yaml;
    size_t size;
    FILE *to = open_memstream(&yaml, &size);

    if (!to)
        abort();
    config_print(c, to);
    if (fclose(to) != 0)
        abort();
    return yaml;
}

/* The head of a checkpoint of this moment, to be freed; the same on all
   processes. */
static checkpoint_head *make_head(run *r)
{
    char *yaml = print_config(&r->config);
    const checkpoint_head is = {.format = CHECKPOINT_FORMAT,
                                .step = r->step,
                                .skipped = r->skipped,
                                .texts = r->text.hash,
                                .log_bytes = r->log_bytes,
                                .log_hash = r->log_hash,
                                .feed_bytes = feed_state_bytes(&r->feed),
                                .config_bytes = strlen(yaml),
                                .loss_scale = r->scaler.scale,
                                .unskipped = r->scaler.unskipped};
    checkpoint_head *h = memory_borrow(checkpoint_head_bytes(&is), 1);
    unsigned char *state = (unsigned char *)(h + 1);

    *h = is;
    memcpy(h->blas, r->blas, sizeof h->blas);
    feed_save(&r->feed, state);
    memcpy(state + h->feed_bytes, yaml, h->config_bytes);
    free(yaml);
    return h;
}

/* Creates the file: a new one, as a killed run may have left another, and a
   link would lead elsewhere. */
static const char *create(const char *path)
{
    int file;

    unlink(path);
    file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
    return file >= 0 && close(file) == 0 ? "" : cannot("create", path);
}

static int write_part(FILE *file, const checkpoint_head *h, uint64_t place,
                      const void *bytes, size_t size)
{
    const uint64_t hash = checkpoint_hash(h, bytes, size);

    return fseeko(file, (off_t)place, SEEK_SET) == 0 &&
           fwrite(bytes, 1, size, file) == size &&
           fwrite(&hash, sizeof hash, 1, file) == 1;
}

/* Writes the tensors that this process owns, also without ZeRO, and on process
   0 the head. */
static const char *write_own(const run *r, const char *path,
                             const checkpoint_head *h)
{
    FILE *file = fopen(path, "r+b");
    const size_t head = checkpoint_head_bytes(h);
    uint64_t place = checkpoint_pages(head);
    size_t t, size;
    int good, i;

    if (!file)
        return cannot("open", path);
    setvbuf(file, NULL, _IONBF, 0); /* or fseeko would read others' pages */
    good = r->rank != 0 || write_part(file, h, 0, h, head);
    for (i = 0; i <= r->optimizer.states; i++)
        for (t = 0; t < r->model.num_tensors; t++) {
            const model_tensor *is = r->model.tensors + t;

            size = is->size * sizeof(float);
            if (is->mine)
                good = good && write_part(file, h, place, is->array[i], size);
            place += checkpoint_pages(size);
        }
    good = good && fsync(fileno(file)) == 0;
    return fclose(file) == 0 && good ? "" : cannot("write", path);
}

/* Removes all but the newest KEEP checkpoints. What cannot be removed now is
   tried again after the next save. */
static void prune(const run *r)
{
    const char *dir = r->config.dir;
    const int64_t keep = r->config.keep;
    char name[64] = "", path[CHECKPOINT_PATH];
    int64_t found = 0;

    while (keep > 0 && !*checkpoint_before(dir, name) && name[0])
        if (++found > keep) { /* ends: each name is smaller than before */
            snprintf(path, sizeof path, "%s/%s", dir, name);
            unlink(path);
        }
}

/* Gives the file its name, from which moment on the checkpoint exists; a
   damaged one may have had this name. */
static const char *commit(const run *r, const char *path)
{
    const char *dir = r->config.dir, *wrong;
    char name[CHECKPOINT_PATH];

    snprintf(name, sizeof name, "%s/" CHECKPOINT_NAME, dir, r->step);
    if (rename(path, name) != 0)
        return cannot("rename", path);
    wrong = checkpoint_flush(dir);
    if (!*wrong)
        prune(r);
    return wrong;
}

const char *checkpoint_save(run *r)
{
    char path[CHECKPOINT_PATH];
    checkpoint_head *h = make_head(r);
    const char *wrong = text_check(&r->text);

    snprintf(path, sizeof path, "%s/.step.tmp", r->config.dir);
    if (!*wrong)
        wrong = log_flush(r);
    if (!*wrong && r->rank == 0)
        wrong = create(path);
    wrong = agree_on(wrong);
    if (!*wrong)
        wrong = agree_on(write_own(r, path, h));
    if (!*wrong)
        wrong = agree_on(r->rank == 0 ? commit(r, path) : "");
    if (*wrong && r->rank == 0)
        unlink(path); /* frees the space of a full disk */
    free(h);
    return wrong;
}

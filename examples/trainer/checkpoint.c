/* checkpoint.c - see checkpoint.h. */
#define _XOPEN_SOURCE 700 /* fsync, nftw */

#include "checkpoint.h"
#include "agree.h"
#include "log.h"
#include "memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = CHECKPOINT_PATH, NAME = 17 /* "step-" and 12 digits */ };

/* ---- Files ---- */

const char *checkpoint_flush(const char *path)
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

/* Writes a file of a checkpoint. Sets `is`, unless it is NULL. */
static const char *write_file(const char *folder, const char *name,
                              const void *bytes, size_t size,
                              checkpoint_file *is)
{
    char path[PATH_BYTES];
    FILE *file;
    int good;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "wb");
    if (!file)
        return cannot("create", path);
    good = fwrite(bytes, 1, size, file) == size && fflush(file) == 0 &&
           fsync(fileno(file)) == 0;
    if (is)
        *is = (checkpoint_file){size, text_hash(TEXT_HASH, bytes, size)};
    return fclose(file) == 0 && good ? "" : cannot("write", path);
}

static int remove_one(const char *path, const struct stat *about, int type,
                      struct FTW *place)
{
    (void)about;
    (void)place;
    return type == FTW_DP ? rmdir(path) : unlink(path);
}

/* Removes a checkpoint's folder, or whatever has its name; does not follow
   links. Returns whether it is gone; otherwise sets errno. */
static int remove_folder(const char *path)
{
    return nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0 ||
           errno == ENOENT;
}

/* ---- Finding ---- */

const char *checkpoint_before(const char *dir, const char *than, char *name)
{
    DIR *folder = opendir(dir);
    const struct dirent *entry;
    const char *wrong;
    char before[64];

    if (!folder)
        return cannot("read the folder", dir);
    snprintf(before, sizeof before, "%s", than);
    name[0] = 0;
    /* errno distinguishes an error from the end. */
    while ((errno = 0, entry = readdir(folder))) {
        const char *found = entry->d_name;

        if (strlen(found) == NAME && strncmp(found, "step-", 5) == 0 &&
            strspn(found + 5, "0123456789") == NAME - 5 &&
            strcmp(found, name) > 0 &&
            (!before[0] || strcmp(found, before) < 0))
            memcpy(name, found, NAME + 1);
    }
    wrong = errno != 0 ? cannot("read the folder", dir) : "";
    closedir(folder);
    return wrong;
}

/* ---- Saving ---- */

/* Writes the tensors that this process owns, also without ZeRO: each a file of
   its name, with weights and state. */
static const char *write_tensors(const run *r, const char *folder)
{
    const size_t arrays = 1 + (size_t)r->optimizer.states;
    float *values = memory_borrow(r->model.largest * arrays, sizeof *values);
    const char *wrong = "";
    size_t t, i;

    for (t = 0; t < r->model.num_tensors && !*wrong; t++) {
        const model_tensor *is = r->model.tensors + t;

        if (r->owner[t] != r->rank)
            continue;
        for (i = 0; i < arrays; i++)
            memcpy(values + i * is->size,
                   optimizer_array(&r->optimizer, t, (int)i),
                   is->size * sizeof *values);
        wrong = write_file(folder, is->name, values,
                           arrays * is->size * sizeof *values, NULL);
    }
    free(values);
    return wrong;
}

uint64_t checkpoint_hash(const checkpoint_manifest *m, size_t size)
{
    return text_hash(TEXT_HASH, &m->step,
                     size - offsetof(checkpoint_manifest, step));
}

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

/* Process 0 writes the rest: a copy of the log, so that a checkpoint does not
   depend on any other file; the configuration; and the manifest. */
static const char *write_rest(const run *r, const char *folder,
                              const uint64_t *hashes,
                              const unsigned char *state)
{
    const size_t tensors = r->model.num_tensors, log = (size_t)r->log_bytes;
    const size_t feed = feed_state_bytes(&r->feed);
    const size_t size = sizeof(checkpoint_manifest) + 8 * tensors + feed;
    checkpoint_manifest *m = memory_borrow(size, 1);
    char *bytes = memory_borrow(log + 1, 1), *yaml = print_config(&r->config);
    const char *wrong = log_copy(r, bytes);

    if (!*wrong)
        wrong = write_file(folder, "log.txt", bytes, log, &m->log);
    if (!*wrong)
        wrong = write_file(folder, "config.yaml", yaml, strlen(yaml),
                           &m->config);
    memcpy(m->format, CHECKPOINT_FORMAT, sizeof CHECKPOINT_FORMAT);
    m->step = r->step;
    m->skipped = r->skipped;
    m->texts = r->text.hash;
    m->tensors = tensors;
    m->states = (uint64_t)r->optimizer.states;
    m->feed_bytes = feed;
    m->loss_scale = r->scaler.scale;
    m->unskipped = r->scaler.unskipped;
    memcpy(m->blas, r->blas, sizeof m->blas);
    memcpy(m + 1, hashes, 8 * tensors);
    memcpy((uint64_t *)(m + 1) + tensors, state, feed);
    m->hash = checkpoint_hash(m, size);
    if (!*wrong)
        wrong = write_file(folder, "manifest", m, size, NULL);
    free(m);
    free(bytes);
    free(yaml);
    return wrong;
}

/* Renames the folder, from which moment on the checkpoint exists. */
static const char *commit(const run *r, const char *folder, const char *name)
{
    const char *wrong = checkpoint_flush(folder);

    /* A damaged checkpoint or one of an earlier run may have the name. */
    if (!*wrong && !remove_folder(name))
        wrong = cannot("remove", name);
    if (!*wrong && rename(folder, name) != 0)
        wrong = cannot("rename", folder);
    return *wrong ? wrong : checkpoint_flush(r->config.dir);
}

/* Removes all but the newest KEEP checkpoints. What cannot be removed now is
   tried again after the next save. */
static void prune(const run *r)
{
    const char *dir = r->config.dir;
    const int64_t keep = r->config.keep;
    char name[64] = "", path[PATH_BYTES];
    int64_t found = 0;

    while (keep > 0 && !*checkpoint_before(dir, name, name) && name[0])
        if (++found > keep) { /* ends: each name is smaller than before */
            snprintf(path, sizeof path, "%s/%s", dir, name);
            remove_folder(path);
        }
}

const char *checkpoint_save(run *r)
{
    const char *dir = r->config.dir;
    const char *wrong = text_check(&r->text);
    char folder[PATH_BYTES - 64], name[PATH_BYTES];
    uint64_t *hashes = memory_borrow(r->model.num_tensors, sizeof *hashes);
    unsigned char *state = memory_borrow(feed_state_bytes(&r->feed), 1);

    snprintf(folder, sizeof folder, "%s/.step.tmp", dir);
    snprintf(name, sizeof name, "%s/" CHECKPOINT_NAME, dir, r->step);
    if (r->rank == 0 && !*wrong) {
        if (!remove_folder(folder)) /* left by a killed run */
            wrong = cannot("remove", folder);
        else if (mkdir(folder, 0777) != 0)
            wrong = cannot("create the folder", folder);
        else
            wrong = log_flush(r);
    }
    wrong = agree_on(wrong);
    if (!*wrong)
        wrong = agree_on(write_tensors(r, folder));
    if (!*wrong)
        wrong = agree_on(feed_save(&r->feed, state));
    if (!*wrong) {
        run_hashes(r, hashes);
        if (r->rank == 0) {
            wrong = write_rest(r, folder, hashes, state);
            wrong = *wrong ? wrong : commit(r, folder, name);
            if (!*wrong)
                prune(r);
        }
        wrong = agree_on(wrong);
    }
    if (*wrong && r->rank == 0)
        remove_folder(folder); /* free the space of a full disk */
    free(hashes);
    free(state);
    return wrong;
}

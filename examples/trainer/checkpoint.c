/* checkpoint.c - see checkpoint.h. */
#define _POSIX_C_SOURCE 200809L /* fsync */

#include "checkpoint.h"
#include "agree.h"
#include "log.h"
#include "manifest.h"
#include "memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = CONFIG_STRING + 96, NAME = 17 /* "step-" and 12 digits */ };

/* An error message with errno's text. */
static const char *cannot(const char *what, const char *path)
{
    return complain("cannot %s %s: %s", what, path, strerror(errno));
}

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

static const char *write_end(FILE *file, const char *path)
{
    int good = !ferror(file) && fflush(file) == 0 && fsync(fileno(file)) == 0;

    good = fclose(file) == 0 && good;
    return good ? "" : cannot("write", path);
}

/* Removes the files of a folder, but not its subfolders. Returns 0 or the first
   error. */
static int empty_folder(const char *path)
{
    const int inside = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    DIR *folder = inside >= 0 ? fdopendir(inside) : NULL;
    int error = folder ? 0 : errno;
    const struct dirent *entry;

    while (folder && (entry = readdir(folder)))
        if (entry->d_name[0] != '.' &&
            unlinkat(inside, entry->d_name, 0) != 0 && errno != EISDIR &&
            error == 0)
            error = errno;
    if (folder)
        closedir(folder);
    else if (inside >= 0)
        close(inside);
    return error;
}

/* Removes a checkpoint's folder, or whatever has its name; does not follow
   links. Returns whether it is gone; otherwise sets errno. */
static int remove_folder(const char *path)
{
    struct stat about;
    int error;

    if (lstat(path, &about) != 0)
        return errno == ENOENT;
    if (!S_ISDIR(about.st_mode))
        return unlink(path) == 0;
    error = empty_folder(path);
    if (rmdir(path) == 0)
        return 1;
    errno = error != 0 ? error : errno; /* the first error */
    return 0;
}

/* Whether an error means that there is no such file. After any other error,
   which may be temporary, the file may exist, so that falling back to an older
   checkpoint would be wrong. */
static int is_missing(int error)
{
    return error == ENOENT || error == ENOTDIR;
}

/* Reads a whole file and adds a 0. Returns NULL if it is missing, not a regular
   file, or longer than `most` bytes. If it may exist but cannot be read,
   *refused says why. */
static unsigned char *read_file(const char *path, uint64_t most, uint64_t *size,
                                const char **refused)
{
    unsigned char *bytes = NULL;
    FILE *file = NULL;
    struct stat about;
    const int known = stat(path, &about) == 0;

    *size = known ? (uint64_t)about.st_size : 0;
    if (known && (!S_ISREG(about.st_mode) || *size > most))
        return NULL;
    if (known && (file = fopen(path, "rb"))) {
        bytes = memory_borrow((size_t)*size + 1, 1);
        if (fread(bytes, 1, (size_t)*size, file) == *size) {
            fclose(file);
            return bytes;
        }
    }
    if (file ? ferror(file) : !is_missing(errno))
        *refused = cannot("read", path);
    if (file)
        fclose(file);
    free(bytes);
    return NULL;
}

/* ---- Saving ---- */

/* Writes weights and state of the tensors that this process owns, also without
   ZeRO. */
static const char *write_part(const run *r, const char *path,
                              manifest_part *part)
{
    FILE *file = fopen(path, "wb");
    size_t t;
    int i;

    if (!file)
        return cannot("create", path);
    part->size = 0;
    part->hash = TEXT_HASH;
    for (t = 0; t < r->model.num_tensors; t++) {
        const size_t bytes = r->model.tensors[t].size * sizeof(float);

        for (i = 0; i <= r->optimizer.states && r->owner[t] == r->rank; i++) {
            const float *values = optimizer_array(&r->optimizer, t, i);

            fwrite(values, 1, bytes, file);
            part->hash = text_hash(part->hash, values, bytes);
            part->size += bytes;
        }
    }
    return write_end(file, path);
}

static const char *write_manifest(const run *r, const char *folder,
                                  manifest_part *parts, unsigned char *state)
{
    char path[PATH_BYTES];
    const char *wrong;
    manifest m;
    FILE *file;

    snprintf(path, sizeof path, "%s/manifest", folder);
    file = fopen(path, "wb");
    if (!file)
        return cannot("create", path);
    wrong = manifest_make(&m, r, parts, state);
    fwrite(m.text, 1, m.size, file);
    manifest_free(&m);
    return *wrong ? (fclose(file), wrong) : write_end(file, path);
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
    return *wrong ? wrong : checkpoint_flush(r->config.checkpoint.dir);
}

const char *checkpoint_save(run *r)
{
    const char *dir = r->config.checkpoint.dir;
    const char *wrong = text_check(&r->text);
    char folder[PATH_BYTES - 32], name[PATH_BYTES], path[PATH_BYTES], step[64];
    manifest_part mine, *parts = memory_borrow((size_t)r->world, sizeof *parts);
    unsigned char *state = memory_borrow(feed_state_bytes(&r->feed), 1);

    manifest_name(step, r->step);
    snprintf(folder, sizeof folder, "%s/.step.tmp", dir);
    snprintf(name, sizeof name, "%s/%s", dir, step);
    snprintf(path, sizeof path, "%s/part%d", folder, r->rank);
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
        wrong = agree_on(write_part(r, path, &mine));
    if (!*wrong)
        wrong = agree_on(feed_save(&r->feed, state));
    if (!*wrong) {
        MPI_Gather(&mine, sizeof mine, MPI_BYTE, parts, sizeof mine, MPI_BYTE,
                   0, MPI_COMM_WORLD);
        if (r->rank == 0) {
            wrong = write_manifest(r, folder, parts, state);
            wrong = *wrong ? wrong : commit(r, folder, name);
        }
        wrong = agree_on(wrong);
    }
    if (*wrong && r->rank == 0)
        remove_folder(folder); /* free the space of a full disk */
    free(parts);
    free(state);
    return wrong;
}

/* ---- Finding ---- */

/* Sets name to that of the newest checkpoint before `before`, or to "". */
static const char *find_before(const char *dir, const char *before, char *name)
{
    DIR *folder = opendir(dir);
    const struct dirent *entry;
    const char *wrong;

    if (!folder)
        return cannot("read the folder", dir);
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

/* Process 0 reads the manifest and sends it to all. Returns "" or why it cannot
   be used; *other is set if it cannot be read. */
static const char *manifest_share(const run *r, const char *name, manifest *m,
                                  int *other)
{
    const char *refused = "";
    char path[PATH_BYTES];
    uint64_t size = 0;

    memset(m, 0, sizeof *m);
    if (r->rank == 0) {
        snprintf(path, sizeof path, "%s/%s/manifest", r->config.checkpoint.dir,
                 name);
        m->text = (char *)read_file(path, INT_MAX - 1, &size, &refused);
        m->size = (size_t)size;
        size = m->text && manifest_whole(m) ? size : 0;
    }
    refused = agree_on(refused);
    *other = *refused != 0;
    MPI_Bcast(&size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (size == 0) {
        manifest_free(m);
        return *refused ? refused
                        : "its manifest is missing, truncated or changed";
    }
    if (r->rank != 0) {
        m->size = (size_t)size;
        m->text = memory_borrow((size_t)size + 1, 1);
    }
    MPI_Bcast(m->text, (int)size, MPI_CHAR, 0, MPI_COMM_WORLD);
    return "";
}

/* ---- Loading ---- */

/* Copies this process's tensors from a part. owner: the part of each tensor. */
static void take_part(run *r, const unsigned char *bytes, const int *owner,
                      int part)
{
    size_t t;
    int i;

    for (t = 0; t < r->model.num_tensors; t++) {
        const size_t size = r->model.tensors[t].size * sizeof(float);

        for (i = 0; i <= r->optimizer.states && owner[t] == part; i++) {
            if (r->owner[t] == r->rank)
                memcpy(optimizer_array(&r->optimizer, t, i), bytes, size);
            bytes += size;
        }
    }
}

/* Whether this process needs anything from a part; *size is the part's expected
   size. */
static int needs(const run *r, const int *owner, int part, uint64_t *size)
{
    size_t t;
    int any = 0;

    for (t = 0, *size = 0; t < r->model.num_tensors; t++) {
        if (owner[t] != part)
            continue;
        any = any || r->owner[t] == r->rank;
        *size += r->model.tensors[t].size * sizeof(float) *
                 (uint64_t)(1 + r->optimizer.states);
    }
    return any;
}

/* Reads the parts with this process's tensors and checks them; copies the
   tensors if `take`. *other is set if a part cannot be read. */
static const char *read_parts(run *r, const char *name, const manifest *m,
                              int take, int *other)
{
    const int parts = manifest_parts(m);
    int *owner = memory_borrow(r->model.num_tensors, sizeof *owner), part;
    const char *wrong = "";

    reduce_owners(owner, &r->model, parts);
    for (part = 0; part < parts && !*wrong; part++) {
        char path[PATH_BYTES];
        manifest_part is;
        uint64_t size, found;
        unsigned char *bytes;

        if (!needs(r, owner, part, &size))
            continue;
        snprintf(path, sizeof path, "%s/%s/part%d", r->config.checkpoint.dir,
                 name, part);
        bytes = read_file(path, size, &found, &wrong);
        *other = *wrong != 0;
        if (!bytes || found != size || !manifest_part_at(m, part, &is) ||
            is.size != size ||
            text_hash(TEXT_HASH, bytes, (size_t)size) != is.hash)
            wrong = *other ? wrong
                           : complain("part%d is missing, truncated or changed",
                                      part);
        else if (take)
            take_part(r, bytes, owner, part);
        free(bytes);
    }
    free(owner);
    return wrong;
}

/* Returns "" or why this checkpoint cannot be used. One of another run, or one
   that cannot be read, ends the search: *other is set. */
static const char *load_one(run *r, const char *name, int *other)
{
    const char *wrong, *blas;
    manifest m;

    wrong = manifest_share(r, name, &m, other);
    if (*wrong)
        return wrong;
    wrong = manifest_match(&m, r);
    *other = *wrong != 0;
    if (!*wrong)
        wrong = manifest_check(&m, r, name);
    if (!*wrong)
        wrong = agree_on(read_parts(r, name, &m, 0, other));
    MPI_Allreduce(MPI_IN_PLACE, other, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (!*wrong)
        wrong = manifest_restore(&m, r);
    if (!*wrong) { /* all is intact: from here on the run is changed */
        wrong = agree_on(read_parts(r, name, &m, 1, other));
        *other = *wrong != 0;
    }
    if (!*wrong) { /* each owner has read its tensors */
        optimizer_share(&r->optimizer, !r->optimizer.sharded);
        model_changed(&r->model);
    }
    blas = *wrong ? NULL : manifest_find(&m, "blas");
    if (r->rank == 0 && blas &&
        (strlen(r->blas) != strcspn(blas, "\n") ||
         strncmp(blas, r->blas, strlen(r->blas)) != 0))
        fprintf(stderr, "trainer: %s\n",
                complain("%s was saved with another OpenBLAS kernel (%.*s, "
                         "now %s): from here on the bits may differ", name,
                         (int)strcspn(blas, "\n"), blas, r->blas));
    manifest_free(&m);
    return wrong;
}

/* The run that renamed the checkpoint may have been killed before it could
   flush DIR. */
static const char *flush_names(const run *r)
{
    return agree_on(
        r->rank == 0 ? checkpoint_flush(r->config.checkpoint.dir) : "");
}

const char *checkpoint_load(run *r, char name[64])
{
    const int64_t asked =
        r->config.checkpoint.latest_checkpoint_resume_file_num;
    const char *wrong, *dir = r->config.checkpoint.dir;
    int64_t found = 0;
    char before[64] = "";
    int other = 0;

    for (;;) { /* ends: each name is smaller than the one before */
        wrong = agree_on(r->rank == 0 ? find_before(dir, before, name) : "");
        if (*wrong)
            return wrong;
        MPI_Bcast(name, 64, MPI_CHAR, 0, MPI_COMM_WORLD);
        memcpy(before, name, 64);
        if (!name[0])
            break;
        if (!r->config.checkpoint.auto_resume)
            return complain("%s has %s of an earlier run: with CHECKPOINT."
                            "AUTO_RESUME=False choose another DIR", dir, name);
        if (++found < asked)
            continue;
        wrong = load_one(r, name, &other);
        if (!*wrong)
            return flush_names(r);
        if (other)
            return complain("cannot resume from %s/%s: %s", dir, name, wrong);
        if (r->rank == 0)
            fprintf(stderr, "trainer: skipping %s/%s: %s\n", dir, name, wrong);
    }
    if (found == 0 && (asked == 1 || !r->config.checkpoint.auto_resume))
        return "";
    if (found < asked)
        return complain("%s has only %" PRId64 " checkpoints, but LATEST_"
                        "CHECKPOINT_RESUME_FILE_NUM is %" PRId64, dir, found,
                        asked);
    return complain("no intact checkpoint in %s%s", dir,
                    asked > 1 ? " among those asked for" : "");
}

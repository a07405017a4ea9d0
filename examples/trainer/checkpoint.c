/* checkpoint.c - see checkpoint.h. */
#define _XOPEN_SOURCE 700 /* fsync, nftw */

#include "checkpoint.h"
#include "agree.h"
#include "log.h"
#include "manifest.h"
#include "memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = CONFIG_STRING + 96, NAME = 17 /* "step-" and 12 digits */ };

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
    const int good =
        !ferror(file) && fflush(file) == 0 && fsync(fileno(file)) == 0;

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

/* Reads a whole file and adds a 0. Returns NULL if it is missing, not a regular
   file, or longer than `most` bytes. If it may exist but cannot be read now,
   *refused says why, as falling back to an older checkpoint would be wrong. */
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
    if (file ? ferror(file) : errno != ENOENT && errno != ENOTDIR)
        *refused = cannot("read", path);
    if (file)
        fclose(file);
    free(bytes);
    return NULL;
}

/* ---- Finding ---- */

/* Sets name to that of the newest checkpoint older than one, or to "". */
static const char *find_before(const char *dir, const char *than, char *name)
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

/* Process 0 adds the manifest and a copy of the log, so that a checkpoint does
   not depend on any other file. */
static const char *write_rest(const run *r, const char *folder,
                              const manifest_part *parts,
                              const unsigned char *state)
{
    const char *changed, *wrong;
    char path[PATH_BYTES];
    manifest m;
    FILE *file;

    snprintf(path, sizeof path, "%s/log.txt", folder);
    file = fopen(path, "wb");
    if (!file)
        return cannot("create", path);
    changed = log_copy(r, file);
    wrong = write_end(file, path);
    if (*changed || *wrong)
        return *changed ? changed : wrong;
    snprintf(path, sizeof path, "%s/manifest", folder);
    file = fopen(path, "wb");
    if (!file)
        return cannot("create", path);
    manifest_make(&m, r, parts, state);
    fwrite(m.text, 1, m.size, file);
    manifest_free(&m);
    return write_end(file, path);
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

/* Removes all but the newest KEEP checkpoints. What cannot be removed now is
   tried again after the next save. */
static void prune(const run *r)
{
    const char *dir = r->config.checkpoint.dir;
    const int64_t keep = r->config.checkpoint.keep;
    char name[64] = "", path[PATH_BYTES];
    int64_t found = 0;

    while (keep > 0 && !*find_before(dir, name, name) && name[0])
        if (++found > keep) { /* ends: each name is smaller than before */
            snprintf(path, sizeof path, "%s/%s", dir, name);
            remove_folder(path);
        }
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
            wrong = write_rest(r, folder, parts, state);
            wrong = *wrong ? wrong : commit(r, folder, name);
            if (!*wrong)
                prune(r);
        }
        wrong = agree_on(wrong);
    }
    if (*wrong && r->rank == 0)
        remove_folder(folder); /* free the space of a full disk */
    free(parts);
    free(state);
    return wrong;
}

/* ---- Loading ---- */

/* Process 0 reads the manifest and sends it to all. Returns "" or why it cannot
   be used; *other is set if it cannot be read. */
static const char *manifest_share(const run *r, const char *folder,
                                  manifest *m, int *other)
{
    const char *refused = "";
    char path[PATH_BYTES];
    uint64_t size = 0;

    memset(m, 0, sizeof *m);
    if (r->rank == 0) {
        snprintf(path, sizeof path, "%s/manifest", folder);
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

/* Copies this process's tensors from a part. owner: the part of each tensor;
   states: the arrays of a tensor beside its weights; want: those to copy. */
static void take_part(run *r, const unsigned char *bytes, const int *owner,
                      int part, int states, int want)
{
    size_t t;
    int i;

    for (t = 0; t < r->model.num_tensors; t++) {
        const size_t size = r->model.tensors[t].size * sizeof(float);

        for (i = 0; i <= states && owner[t] == part; i++) {
            if (r->owner[t] == r->rank && i <= want)
                memcpy(optimizer_array(&r->optimizer, t, i), bytes, size);
            bytes += size;
        }
    }
}

/* Whether this process needs a part; *weights is their number there. */
static int needs(const run *r, const int *owner, int part, uint64_t *weights)
{
    size_t t;
    int any = 0;

    for (t = 0, *weights = 0; t < r->model.num_tensors; t++)
        if (owner[t] == part) {
            any = any || r->owner[t] == r->rank;
            *weights += r->model.tensors[t].size;
        }
    return any;
}

/* Reads and checks a file of a checkpoint. Returns NULL with *wrong set if it
   is damaged, or cannot be read: then *other is set, too. */
static unsigned char *read_whole(const char *folder, const char *name,
                                 const manifest_part *is, const char **wrong,
                                 int *other)
{
    char path[PATH_BYTES];
    uint64_t found;
    unsigned char *bytes;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    bytes = read_file(path, is->size, &found, wrong);
    *other = **wrong != 0;
    if (bytes && found == is->size &&
        text_hash(TEXT_HASH, bytes, (size_t)found) == is->hash)
        return bytes;
    if (!*other)
        *wrong = complain("%s is missing, truncated or changed", name);
    free(bytes);
    return NULL;
}

/* Takes this process's tensors from the parts that have them. */
static const char *read_parts(run *r, const char *folder, const manifest *m,
                              int take, int *other)
{
    const uint64_t parts = manifest_number(m, "parts");
    int *owner = memory_borrow(r->model.num_tensors, sizeof *owner), part;
    const char *wrong = parts < 1 || parts > CONFIG_BATCH
                            ? "its manifest has an impossible number of parts"
                            : "";

    reduce_owners(owner, &r->model, *wrong ? 1 : (int)parts);
    for (part = 0; !*wrong && part < (int)parts; part++) {
        char name[32];
        manifest_part is = {0, 0};
        uint64_t weights;
        unsigned char *bytes;
        int states;

        if (!needs(r, owner, part, &weights))
            continue;
        snprintf(name, sizeof name, "part%d", part);
        manifest_part_at(m, part, &is);
        states = (int)(is.size / (weights * sizeof(float))) - 1;
        if (states < 0 || states > OPTIMIZER_STATES ||
            is.size != weights * sizeof(float) * (uint64_t)(1 + states) ||
            (take != MANIFEST_WEIGHTS && states != r->optimizer.states)) {
            wrong = complain("%s has another size", name);
            break;
        }
        bytes = read_whole(folder, name, &is, &wrong, other);
        if (bytes)
            take_part(r, bytes, owner, part, states,
                      take == MANIFEST_WEIGHTS ? 0 : states);
        free(bytes);
    }
    free(owner);
    return wrong;
}

/* Replaces the log by that of the checkpoint. Write errors are found by
   log_cut, which is called next. */
static const char *restore_log(run *r, const char *folder, int *other)
{
    const manifest_part is = {r->log_bytes, r->log_hash};
    const char *wrong = "";
    unsigned char *bytes;

    if (r->rank != 0)
        return "";
    bytes = read_whole(folder, "log.txt", &is, &wrong, other);
    if (bytes) {
        rewind(r->log);
        fwrite(bytes, 1, (size_t)is.size, r->log);
    }
    free(bytes);
    return wrong;
}

/* Returns "" or why this checkpoint cannot be used; the run may then have been
   changed in part. One of another run, or one that cannot be read, ends the
   search: *other is set. */
static const char *load_one(run *r, const char *folder, int take, int *other)
{
    const char *name = strrchr(folder, '/'), *wrong;
    manifest m;

    *other = 0;
    wrong = manifest_share(r, folder, &m, other);
    if (*wrong)
        return wrong;
    wrong = manifest_match(&m, r, take);
    *other = *wrong != 0;
    if (!*wrong)
        wrong = agree_on(read_parts(r, folder, &m, take, other));
    if (!*wrong && take != MANIFEST_WEIGHTS)
        wrong = agree_on(manifest_restore(&m, r, name ? name + 1 : folder));
    if (!*wrong && take == MANIFEST_RESUME)
        wrong = agree_on(restore_log(r, folder, other));
    MPI_Allreduce(MPI_IN_PLACE, other, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (!*wrong) { /* each owner has read its tensors */
        optimizer_share(&r->optimizer, take != MANIFEST_WEIGHTS &&
                                           !r->optimizer.sharded);
    }
    manifest_free(&m);
    return wrong;
}

/* What to say after so many checkpoints, of which none was intact. */
static const char *found_none(const run *r, int64_t found)
{
    const char *dir = r->config.checkpoint.dir;
    const int64_t asked =
        r->config.checkpoint.latest_checkpoint_resume_file_num;

    if (found == 0 && (asked == 1 || !r->config.checkpoint.auto_resume))
        return "";
    if (found < asked)
        return complain("%s has only %" PRId64 " checkpoints, but LATEST_"
                        "CHECKPOINT_RESUME_FILE_NUM is %" PRId64, dir, found,
                        asked);
    return complain("no intact checkpoint in %s%s", dir,
                    asked > 1 ? " among those asked for" : "");
}

const char *checkpoint_load(run *r, char name[64])
{
    const int64_t asked =
        r->config.checkpoint.latest_checkpoint_resume_file_num;
    const char *wrong, *dir = r->config.checkpoint.dir;
    char folder[PATH_BYTES];
    int64_t found = 0;
    int other = 0;

    for (name[0] = 0;;) { /* ends: each name is smaller than the one before */
        wrong = agree_on(r->rank == 0 ? find_before(dir, name, name) : "");
        if (*wrong)
            return wrong;
        MPI_Bcast(name, 64, MPI_CHAR, 0, MPI_COMM_WORLD);
        if (!name[0])
            break;
        if (!r->config.checkpoint.auto_resume)
            return complain("%s has %s of an earlier run: with CHECKPOINT."
                            "AUTO_RESUME=False choose another DIR", dir, name);
        if (++found < asked)
            continue;
        snprintf(folder, sizeof folder, "%s/%s", dir, name);
        wrong = load_one(r, folder, MANIFEST_RESUME, &other);
        if (!*wrong) /* who renamed it may have been killed before flushing */
            return agree_on(r->rank == 0 ? checkpoint_flush(dir) : "");
        if (other)
            return complain("cannot resume from %s: %s", folder, wrong);
        if (r->rank == 0)
            fprintf(stderr, "trainer: skipping %s: %s\n", folder, wrong);
    }
    return found_none(r, found);
}

const char *checkpoint_begin(run *r, const char *folder, int extend)
{
    const int take = extend ? MANIFEST_EXTEND : MANIFEST_WEIGHTS;
    int other;
    const char *wrong = load_one(r, folder, take, &other);

    r->log_bytes = 0; /* a new run has a log of its own */
    r->log_hash = TEXT_HASH;
    return *wrong ? complain("cannot %s %s: %s",
                             extend ? "extend" : "begin with the weights of",
                             folder, wrong)
                  : "";
}

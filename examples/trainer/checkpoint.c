/* checkpoint.c - see checkpoint.h. */
#define _XOPEN_SOURCE 700 /* fdopen, fsync, fseeko, open_memstream */

#include "checkpoint.h"
#include "agree.h"
#include "folder.h"
#include "log.h"
#include "memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT "format 5"
#define NAME "step-%012" PRIu64
enum { NAME_LENGTH = 17, PATH = CONFIG_STRING + 32 /* bytes, with the 0 */ };

/* What a run takes from a checkpoint, as the keys that must be the same: RESUME
   everything; EXTEND everything but the log, and with other epochs and rates;
   WEIGHTS only these. */
enum { RESUME = CONFIG_RATE, EXTEND = CONFIG_RUN, WEIGHTS = CONFIG_SHAPE };

/* A checkpoint that a run is saving or loading. */
typedef struct saved {
    run *r;
    const char *path;
    int take;
    int ends;      /* it is of another run, or cannot be read: the run ends, as
                 falling back to an older checkpoint would be wrong */
    int lacks_log; /* it is intact, but the log is not as at its save */
    FILE *file;
    checkpoint_head *head;
} saved;

static void release(saved *s)
{
    if (s->file)
        fclose(s->file);
    free(s->head);
}

/* The error of opening a file that process 0 has made or seen. */
static const char *cannot_open(const saved *s, const char *what)
{
    if (errno == ENOENT && s->r && s->r->rank > 0)
        return complain("process %d does not see %s: all machines must share "
                        "CHECKPOINT.DIR",
                        s->r->rank, s->path);
    return cannot(what, s->path);
}

/* ---- The folder ---- */

static int is_checkpoint(const char *name)
{
    return strlen(name) == NAME_LENGTH && strncmp(name, "step-", 5) == 0 &&
           strspn(name + 5, "0123456789") == NAME_LENGTH - 5;
}

/* Sets name to that of DIR's newest checkpoint, if it is "", or of the newest
   before name, or to "" if there is none. Returns "" or an error. */
static const char *find_before(const char *dir, char name[64])
{
    DIR *folder = opendir(dir);
    const struct dirent *entry;
    const char *wrong = "";
    char best[64] = "";

    if (!folder)
        return cannot("read the folder", dir);
    for (;;) { /* ends: at the last entry */
        const char *found;

        errno = 0; /* it distinguishes an error from the end */
        entry = readdir(folder);
        if (!entry)
            break;
        found = entry->d_name;
        if (is_checkpoint(found) && strcmp(found, best) > 0 &&
            (!name[0] || strcmp(found, name) < 0))
            memcpy(best, found, NAME_LENGTH + 1);
    }
    if (errno != 0)
        wrong = cannot("read the folder", dir);
    closedir(folder);
    memcpy(name, best, sizeof best);
    return wrong;
}

/* ---- Parts of the file ---- */

/* The head, then the weights of each tensor, then the optimizer state of each,
   are parts of the file: the bytes and their hash, in which the step is too, so
   that no part of another checkpoint can stand in. */
static uint64_t hash(const saved *s, const void *bytes, size_t size)
{
    return text_hash(TEXT_HASH ^ s->head->step, bytes, size);
}

static size_t head_bytes(const checkpoint_head *h)
{
    return sizeof *h + h->feed_bytes + h->config_bytes;
}

/* A part's size in the file, to the end of its last page. Of two machines that
   write to the same page of a network file system, one may write zeros over
   what the other has written. */
static uint64_t pages(uint64_t bytes)
{
    const uint64_t page = 4096;

    return (bytes + sizeof(uint64_t) + page - 1) / page * page;
}

/* Writes or reads a part of this name. Returns "" or an error. */
typedef const char *move_part(saved *s, uint64_t place, void *bytes,
                              size_t size, const char *name);

static const char *write_part(saved *s, uint64_t place, void *bytes,
                              size_t size, const char *name)
{
    const uint64_t hashed = hash(s, bytes, size);

    (void)name;
    if (fseeko(s->file, (off_t)place, SEEK_SET) != 0 ||
        fwrite(bytes, 1, size, s->file) != size ||
        fwrite(&hashed, sizeof hashed, 1, s->file) != 1)
        return cannot("write", s->path);
    return "";
}

static const char *read_part(saved *s, uint64_t place, void *bytes, size_t size,
                             const char *name)
{
    const int found = fseeko(s->file, (off_t)place, SEEK_SET) == 0;
    uint64_t was;

    if (found && fread(bytes, 1, size, s->file) == size &&
        fread(&was, sizeof was, 1, s->file) == 1 && was == hash(s, bytes, size))
        return "";
    if (found && !ferror(s->file))
        return complain("its %s is truncated or changed", name);
    s->ends = 1;
    return cannot("read", s->path);
}

/* Moves so many arrays of each tensor that this process owns, also without
   ZeRO. The configuration, which is that of the run, says which there are. */
static const char *move_tensors(saved *s, int arrays, move_part *move)
{
    const model *m = &s->r->model;
    uint64_t place = pages(head_bytes(s->head));
    const char *wrong = "";
    size_t t;
    int i;

    for (i = 0; i < arrays; i++)
        for (t = 0; t < m->num_tensors; t++) {
            const model_tensor *tensor = m->tensors + t;
            const size_t size = tensor->size * sizeof(float);

            if (tensor->mine && !*wrong)
                wrong = move(s, place, tensor->array[i], size, tensor->name);
            place += pages(size);
        }
    return wrong;
}

/* ---- Saving ---- */

/* Makes the head of a checkpoint of this moment, the same on all processes. */
static void make_head(saved *s)
{
    run *r = s->r;
    const checkpoint_head fields = {
        .format = FORMAT,
        .step = r->step,
        .skipped = r->skipped,
        .texts = r->text.hash,
        .log_bytes = r->log_bytes,
        .log_hash = r->log_hash,
        .feed_bytes = feed_state_bytes(&r->feed),
        .loss_scale = r->scaler.scale,
        .unskipped = r->scaler.unskipped,
    };
    char *head;
    size_t size;
    FILE *to = open_memstream(&head, &size);

    if (!to)
        abort();
    fwrite(&fields, sizeof fields, 1, to);
    fseeko(to, (off_t)fields.feed_bytes, SEEK_CUR);
    config_print(&r->config, to);
    if (fclose(to) != 0)
        abort();
    s->head = (checkpoint_head *)head;
    s->head->config_bytes = size - head_bytes(&fields);
    memcpy(s->head->blas, r->blas, sizeof r->blas);
    feed_save(&r->feed, (unsigned char *)(s->head + 1));
}

/* Creates the file: a new one, as a killed run may have left another, and a
   link would lead elsewhere. */
static const char *create(const char *path)
{
    int file;

    unlink(path);
    file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file < 0 || close(file) != 0)
        return cannot("create", path);
    return "";
}

/* Writes the tensors of this process, and on process 0 the head. */
static const char *write_own(saved *s)
{
    const run *r = s->r;
    const char *wrong = "";

    s->file = fopen(s->path, "r+b");
    if (!s->file)
        return cannot_open(s, "open");
    setvbuf(s->file, NULL, _IONBF, 0); /* or fseeko would read others' pages */
    if (r->rank == 0)
        wrong = write_part(s, 0, s->head, head_bytes(s->head), "head");
    if (!*wrong)
        wrong = move_tensors(s, r->model.arrays, write_part);
    if (!*wrong && fsync(fileno(s->file)) != 0)
        wrong = cannot("write", s->path);
    return wrong;
}

/* Removes all but the newest KEEP checkpoints. What cannot be removed now is
   tried again after the next save. */
static void prune(const char *dir, int64_t keep)
{
    char name[64] = "", path[PATH];
    int64_t found = 0;

    if (keep < 0) /* all are kept */
        return;
    while (!*find_before(dir, name) && name[0]) { /* ends: smaller each time */
        found++;
        if (found > keep) {
            snprintf(path, sizeof path, "%s/%s", dir, name);
            unlink(path);
        }
    }
}

/* Gives the file its name, from which moment on the checkpoint exists; a
   damaged one may have had this name. */
static const char *commit(const saved *s)
{
    const char *dir = s->r->config.dir, *wrong;
    char name[PATH];

    snprintf(name, sizeof name, "%s/" NAME, dir, s->head->step);
    if (rename(s->path, name) != 0)
        return cannot("rename", s->path);
    wrong = folder_flush(dir);
    if (!*wrong)
        prune(dir, s->r->config.keep);
    return wrong;
}

const char *checkpoint_save(run *r)
{
    char path[PATH];
    saved s = {.r = r, .path = path};
    const char *wrong = text_check(&r->text);

    make_head(&s);
    snprintf(path, sizeof path, "%s/.step.tmp", r->config.dir);
    if (!*wrong)
        wrong = log_flush(r);
    if (!*wrong && r->rank == 0)
        wrong = create(path);
    wrong = agree_on(wrong);
    if (!*wrong)
        wrong = agree_on(write_own(&s));
    if (!*wrong)
        wrong = agree_on(r->rank == 0 ? commit(&s) : "");
    if (*wrong && r->rank == 0)
        unlink(path); /* frees the space of a full disk */
    release(&s);
    return wrong;
}

/* ---- Loading ---- */

/* Opens a checkpoint. Returns "" or that it cannot be read. */
static const char *open_file(saved *s)
{
    const int descriptor = open(s->path, O_RDONLY | O_NONBLOCK);
    struct stat about;

    if (descriptor >= 0)
        s->file = fdopen(descriptor, "rb");
    if (!s->file || fstat(descriptor, &about) != 0) {
        s->ends = 1;
        return cannot_open(s, "read");
    }
    s->ends = !S_ISREG(about.st_mode);
    if (S_ISDIR(about.st_mode))
        return "it is a folder: a checkpoint is a file, DIR/step-...; those of "
               "older releases were folders";
    return s->ends ? "it is not a regular file" : "";
}

/* Opens a checkpoint and reads its head. Returns "" or that it is damaged or
   cannot be read. */
static const char *read_head(saved *s)
{
    /* More than there is in any head: what is larger is damaged. */
    const uint64_t most = 1 << 24;
    checkpoint_head h = {.step = 0};
    const char *wrong = open_file(s);
    int whole;

    if (*wrong)
        return wrong;
    /* The sizes; where they cannot be read, neither can the head. */
    whole = fread(&h, sizeof h, 1, s->file) == 1;
    if (strncmp(h.format, "format ", 7) != 0 && !ferror(s->file))
        return "it does not begin as a checkpoint does";
    if (whole && strncmp(h.format, FORMAT, sizeof h.format) != 0) {
        s->ends = 1;
        return complain("its %.15s is that of another release, which can "
                        "go on from it",
                        h.format);
    }
    if (h.feed_bytes > most || h.config_bytes > most)
        return "its head is truncated or changed";
    s->head = memory_borrow(head_bytes(&h), 1);
    return read_part(s, 0, s->head, head_bytes(&h), "head");
}

/* Sets the configuration to that of a checkpoint. Returns "" or an error. */
static const char *take_config(const checkpoint_head *h,
                               struct trainer_config *c)
{
    const char *yaml = (const char *)(h + 1) + h->feed_bytes;

    *c = config_defaults;
    if (config_read_text(c, "its configuration", yaml, h->config_bytes) &&
        config_check(c, 0))
        return "";
    return complain("%s", c->error);
}

/* How this run may take something of a checkpoint that it cannot resume from or
   extend. config: that of the checkpoint. */
static const char *way_out(const saved *s, const struct trainer_config *config)
{
    static struct trainer_config other;
    const struct trainer_config *now = &s->r->config;
    const int same_texts = s->head->texts == s->r->text.hash;
    const char *key = "";

    other = *config;
    if (s->take < WEIGHTS && !config_differ(&other, now, WEIGHTS))
        key = "MODEL.WEIGHTS_INIT.PARAMS_FILE takes its weights";
    if (s->take < EXTEND && same_texts && !config_differ(&other, now, EXTEND))
        key = "CHECKPOINT.EXTEND goes on from it";
    if (s->take == RESUME)
        return complain("choose another CHECKPOINT.DIR%s%s",
                        *key ? ", where " : "", key);
    return key;
}

/* Compares the texts and the configurations, on process 0. */
static const char *match(saved *s)
{
    static struct trainer_config config;
    const char *wrong = take_config(s->head, &config), *way;

    s->ends = 1; /* what was written is not of this run, if it is wrong */
    if (*wrong)
        return wrong;
    if (s->take != WEIGHTS && s->head->texts != s->r->text.hash)
        snprintf(config.error, sizeof config.error,
                 "texts are not those of this run");
    else if (!config_differ(&config, &s->r->config, (enum config_same)s->take))
        s->ends = 0;
    if (!s->ends)
        return "";
    way = way_out(s, &config);
    return complain("its %.900s%s%s", config.error, *way ? "; " : "", way);
}

/* Restores all but the tensors. Returns "", or that the log has lost lines, or
   the sampler's error. */
static const char *restore(saved *s)
{
    const checkpoint_head *h = s->head;
    const char *wrong = "";
    run *r = s->r;

    if (s->take == RESUME) {
        r->log_bytes = h->log_bytes;
        r->log_hash = h->log_hash;
        wrong = log_check(r, &s->ends);
        s->lacks_log = *wrong && !s->ends;
    }
    if (!*wrong)
        wrong = feed_load(&r->feed, (const unsigned char *)(h + 1),
                          (size_t)h->feed_bytes);
    if (*wrong)
        return wrong;
    r->step = h->step;
    r->skipped = h->skipped;
    r->scaler.scale = h->loss_scale;
    r->scaler.unskipped = h->unskipped;
    if (r->rank == 0 && strncmp(r->blas, h->blas, sizeof h->blas) != 0)
        fprintf(stderr,
                "trainer: %s was saved with another OpenBLAS kernel "
                "(%.255s, now %s): from here on the bits may differ\n",
                s->path, h->blas, r->blas);
    return "";
}

/* Returns "" or why this checkpoint cannot be used; the run may then have been
   changed in part. */
static const char *load(saved *s)
{
    run *r = s->r;
    const int arrays = s->take == WEIGHTS ? 1 : r->model.arrays;
    const char *wrong = agree_on(read_head(s));

    if (!*wrong && !agree_same(hash(s, s->head, head_bytes(s->head))))
        wrong = "it differs between processes, which must share CHECKPOINT.DIR";
    if (!*wrong)
        wrong = agree_on(r->rank == 0 ? match(s) : "");
    if (!*wrong)
        wrong = agree_on(move_tensors(s, arrays, read_part));
    if (!*wrong && s->take != WEIGHTS)
        wrong = agree_on(restore(s));
    /* As agree_on waits for all, no process can save before all have loaded. */
    MPI_Allreduce(MPI_IN_PLACE, &s->ends, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    /* Process 0 alone has the log. */
    MPI_Bcast(&s->lacks_log, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!*wrong) /* each owner has read its tensors */
        optimizer_share(&r->model, r->config.zero_stage == 0 ? arrays : 1);
    release(s);
    return wrong;
}

/* All checkpoints have been skipped. intact: the newest of those that only lack
   their log, or "". */
static const char *none_left(const char *dir, const char *intact)
{
    if (!*intact)
        return complain("no intact checkpoint in %s: choose another "
                        "CHECKPOINT.DIR",
                        dir);
    return complain("%s/%s is intact, but log.txt there is missing, empty or "
                    "changed: put the log back, or go on in another "
                    "CHECKPOINT.DIR with CHECKPOINT.EXTEND=%s/%s",
                    dir, intact, dir, intact);
}

const char *checkpoint_load(run *r, char name[64])
{
    const char *wrong, *dir = r->config.dir;
    char path[PATH], intact[64] = "";
    int skipped = 0;

    name[0] = 0;
    for (;;) { /* ends: each name is smaller than the one before */
        saved s = {.r = r, .path = path, .take = RESUME};

        wrong = agree_on(r->rank == 0 ? find_before(dir, name) : "");
        if (*wrong)
            return wrong;
        MPI_Bcast(name, 64, MPI_CHAR, 0, MPI_COMM_WORLD);
        if (!name[0])
            return skipped ? none_left(dir, intact) : "";
        if (!r->config.auto_resume)
            return complain("%s has %s of an earlier run: with CHECKPOINT."
                            "AUTO_RESUME=False choose another DIR",
                            dir, name);
        snprintf(path, sizeof path, "%s/%s", dir, name);
        wrong = load(&s);
        if (!*wrong) /* who renamed it may have been killed before flushing */
            return agree_on(r->rank == 0 ? folder_flush(dir) : "");
        if (s.ends)
            return complain("cannot resume from %s: %s", path, wrong);
        if (r->rank == 0)
            fprintf(stderr, "trainer: skipping %s: %s\n", path, wrong);
        if (s.lacks_log && !intact[0])
            memcpy(intact, name, sizeof intact);
        skipped = 1;
    }
}

/* take: EXTEND or WEIGHTS. */
static const char *begin(run *r, const char *path, int take)
{
    saved s = {.r = r, .path = path, .take = take};
    const char *wrong = load(&s);

    return *wrong ? complain("cannot begin with %s: %s", path, wrong) : "";
}

const char *checkpoint_extend(run *r, const char *path)
{
    return begin(r, path, EXTEND);
}

const char *checkpoint_take_weights(run *r, const char *path)
{
    return begin(r, path, WEIGHTS);
}

const char *checkpoint_config(const char *path, struct trainer_config *config)
{
    saved s = {.path = path};
    const char *wrong = read_head(&s);

    if (!*wrong)
        wrong = take_config(s.head, config);
    release(&s);
    return *wrong ? complain("cannot use %s: %s", path, wrong) : "";
}

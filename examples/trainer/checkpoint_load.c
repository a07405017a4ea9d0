/* checkpoint_load.c - see checkpoint.h. */
#define _XOPEN_SOURCE 700 /* open_memstream */

#include "agree.h"
#include "checkpoint.h"
#include "memory.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What a run takes from a checkpoint: RESUME everything; EXTEND everything but
   the log, and with other epochs and rates; WEIGHTS only these. */
enum { RESUME, EXTEND, WEIGHTS };

/* A checkpoint that a run is loading. */
typedef struct source {
    run *r;
    const char *folder;
    int take;
    int ends; /* it is of another run, or cannot be read: the run ends, as
                 falling back to an older checkpoint would be wrong */
    checkpoint_manifest *m;
    const uint64_t *hashes; /* of the tensors */
    const unsigned char *state;
} source;

/* Opens a file to read. Returns NULL if it is missing, not a regular file, or
   of another size than `is`, or if that cannot be known now: then *failed. */
static FILE *open_file(const char *path, const checkpoint_file *is,
                       size_t *size, int *failed)
{
    struct stat about;
    FILE *file = NULL;

    if (stat(path, &about) == 0) {
        *size = (size_t)about.st_size;
        if (!S_ISREG(about.st_mode) ||
            (is ? *size != is->size : *size >= INT_MAX))
            return NULL;
        file = fopen(path, "rb");
    }
    *failed = !file && errno != ENOENT && errno != ENOTDIR;
    return file;
}

/* Reads a file of the checkpoint, of which `is` was written, or NULL if that is
   not known; adds a 0. Returns NULL with *wrong set if it is damaged or cannot
   be read. */
static unsigned char *read_file(source *s, const char *name,
                                const checkpoint_file *is, size_t *size,
                                const char **wrong)
{
    char path[CHECKPOINT_PATH];
    unsigned char *bytes = NULL;
    FILE *file;
    int failed = 0, whole;

    snprintf(path, sizeof path, "%s/%s", s->folder, name);
    file = open_file(path, is, size, &failed);
    if (file) {
        bytes = memory_borrow(*size + 1, 1);
        whole = fread(bytes, 1, *size, file) == *size &&
                (!is || text_hash(TEXT_HASH, bytes, *size) == is->hash);
        failed = ferror(file);
        fclose(file);
        if (whole)
            return bytes;
    }
    free(bytes);
    s->ends = s->ends || failed;
    *wrong = failed ? cannot("read", path)
                    : complain("%s is missing, truncated or changed", name);
    return NULL;
}

/* Whether a manifest is as it was written. Sets where its hashes and state
   are. */
static int is_whole(source *s, size_t size)
{
    checkpoint_manifest *m = s->m;

    if (size < sizeof *m || m->hash != checkpoint_hash(m, size) ||
        memcmp(m->format, CHECKPOINT_FORMAT, sizeof CHECKPOINT_FORMAT) != 0 ||
        m->tensors > size || m->feed_bytes > size ||
        m->blas[sizeof m->blas - 1] ||
        size != sizeof *m + 8 * m->tensors + m->feed_bytes)
        return 0;
    s->hashes = (const uint64_t *)(m + 1);
    s->state = (const unsigned char *)(s->hashes + m->tensors);
    return 1;
}

/* Process 0 reads the manifest and sends it to all. */
static const char *share_manifest(source *s)
{
    const char *wrong = "";
    size_t size = 0;
    uint64_t sent;

    if (s->r->rank == 0)
        s->m = (checkpoint_manifest *)(void *)read_file(s, "manifest", NULL,
                                                        &size, &wrong);
    if (s->m && strncmp((char *)s->m, "format ", 7) == 0 &&
        strcmp((char *)s->m, CHECKPOINT_FORMAT) != 0) {
        s->ends = 1;
        wrong = complain("its %.*s is that of another release",
                         (int)strcspn((char *)s->m, "\n"), (char *)s->m);
    } else if (s->m && !is_whole(s, size)) {
        wrong = "manifest is missing, truncated or changed";
    }
    wrong = agree_on(wrong);
    if (*wrong)
        return wrong;
    sent = size;
    MPI_Bcast(&sent, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    size = (size_t)sent;
    if (s->r->rank != 0)
        s->m = memory_borrow(size, 1);
    MPI_Bcast(s->m, (int)size, MPI_BYTE, 0, MPI_COMM_WORLD);
    (void)is_whole(s, size);
    return "";
}

/* ---- What must be the same ---- */

/* Compares the texts and the configurations, on process 0. */
static const char *match(source *s)
{
    /* Only the shape of the model matters to its weights. */
    const enum config_same same = s->take == RESUME   ? CONFIG_RATE
                                  : s->take == EXTEND ? CONFIG_RUN
                                                      : CONFIG_SHAPE;
    static struct trainer_config config;
    static struct config_source from;
    const char *wrong = "";
    char *difference;
    size_t size;
    FILE *to;
    unsigned char *yaml =
        read_file(s, "config.yaml", &s->m->config, &size, &wrong);

    if (!yaml)
        return wrong;
    s->ends = 1; /* what was written is not of this run, if it is wrong */
    config_defaults(&config, &from);
    if (!config_read_text(&config, &from, "config.yaml", "",
                          (const char *)yaml, size) ||
        !config_check(&config, &from, 0))
        wrong = complain("%s", from.error);
    free(yaml);
    if (*wrong)
        return wrong;
    if (s->take != WEIGHTS && s->m->texts != s->r->text.hash)
        return complain("its texts is %016" PRIx64 ", but this run's is %016"
                        PRIx64, s->m->texts, s->r->text.hash);
    to = open_memstream(&difference, &size);
    if (!to)
        abort();
    s->ends = config_differ(&config, &s->r->config, same, to);
    if (fclose(to) != 0)
        abort();
    if (s->ends)
        wrong = complain("its %s", difference);
    free(difference);
    return wrong;
}

/* ---- What is taken ---- */

/* Reads the tensors that this process owns. */
static const char *read_tensors(source *s)
{
    const run *r = s->r;
    const uint64_t states = s->m->states;
    const char *wrong = "";
    size_t t, i, size;

    if (s->m->tensors != r->model.num_tensors || states > OPTIMIZER_STATES ||
        (s->take != WEIGHTS && states != (uint64_t)r->optimizer.states))
        return "its manifest has impossible numbers";
    for (t = 0; t < r->model.num_tensors && !*wrong; t++) {
        const model_tensor *tensor = r->model.tensors + t;
        const size_t array = tensor->size * sizeof(float);
        const checkpoint_file is = {array * (1 + states), s->hashes[t]};
        unsigned char *bytes;

        if (r->owner[t] != r->rank)
            continue;
        bytes = read_file(s, tensor->name, &is, &size, &wrong);
        for (i = 0; bytes && i <= (s->take == WEIGHTS ? 0 : states); i++)
            memcpy(optimizer_array(&r->optimizer, t, (int)i),
                   bytes + i * array, array);
        free(bytes);
    }
    return wrong;
}

/* Restores everything except weights, optimizer state and log. Returns "", or
   why no run can have saved this under that name. */
static const char *restore(source *s)
{
    const char *name = strrchr(s->folder, '/'), *wrong;
    const checkpoint_manifest *m = s->m;
    run *r = s->r;
    char should[64];

    snprintf(should, sizeof should, CHECKPOINT_NAME, m->step);
    if (strcmp(name ? name + 1 : s->folder, should) != 0)
        return complain("its manifest is that of step %" PRIu64, m->step);
    if (m->skipped > m->step ||
        !scaler_can_be(&r->scaler, m->loss_scale, m->unskipped))
        return "its manifest has impossible numbers";
    wrong = feed_load(&r->feed, s->state, (size_t)m->feed_bytes, r->rank == 0);
    if (*wrong)
        return wrong;
    r->step = m->step;
    r->skipped = m->skipped;
    r->optimizer.steps = (int64_t)(m->step - m->skipped);
    r->scaler.scale = m->loss_scale;
    r->scaler.unskipped = m->unskipped;
    if (r->rank == 0 && strcmp(r->blas, m->blas) != 0)
        fprintf(stderr, "trainer: %s\n",
                complain("%s was saved with another OpenBLAS kernel (%s, now "
                         "%s): from here on the bits may differ", should,
                         m->blas, r->blas));
    return "";
}

/* Replaces the log by that of the checkpoint. Write errors are found by
   log_cut, which is called next. */
static const char *restore_log(source *s)
{
    run *r = s->r;
    const char *wrong = "";
    unsigned char *bytes = NULL;
    size_t size;

    if (r->rank == 0)
        bytes = read_file(s, "log.txt", &s->m->log, &size, &wrong);
    if (bytes) {
        rewind(r->log);
        fwrite(bytes, 1, size, r->log);
    }
    free(bytes);
    r->log_bytes = s->m->log.size;
    r->log_hash = s->m->log.hash;
    return wrong;
}

/* Returns "" or why this checkpoint cannot be used; the run may then have been
   changed in part. *ends: whether no older one may be used instead. */
static const char *load_one(run *r, const char *folder, int take, int *ends)
{
    source s = {.r = r, .folder = folder, .take = take};
    const char *wrong = share_manifest(&s);

    if (!*wrong)
        wrong = agree_on(r->rank == 0 ? match(&s) : "");
    if (!*wrong)
        wrong = agree_on(read_tensors(&s));
    if (!*wrong && take != WEIGHTS)
        wrong = agree_on(restore(&s));
    if (!*wrong && take == RESUME)
        wrong = agree_on(restore_log(&s));
    MPI_Allreduce(&s.ends, ends, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (!*wrong) /* each owner has read its tensors */
        optimizer_share(&r->optimizer,
                        take != WEIGHTS && !r->optimizer.sharded);
    free(s.m);
    return wrong;
}

/* What to say after so many checkpoints, of which none was intact. */
static const char *found_none(const run *r, int64_t found)
{
    const char *dir = r->config.dir;
    const int64_t asked =
        r->config.latest_checkpoint_resume_file_num;

    if (found == 0 && (asked == 1 || !r->config.auto_resume))
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
        r->config.latest_checkpoint_resume_file_num;
    const char *wrong, *dir = r->config.dir;
    char folder[CHECKPOINT_PATH];
    int64_t found = 0;
    int ends = 0;

    for (name[0] = 0;;) { /* ends: each name is smaller than the one before */
        wrong = r->rank == 0 ? checkpoint_before(dir, name, name) : "";
        wrong = agree_on(wrong);
        if (*wrong)
            return wrong;
        MPI_Bcast(name, 64, MPI_CHAR, 0, MPI_COMM_WORLD);
        if (!name[0])
            break;
        if (!r->config.auto_resume)
            return complain("%s has %s of an earlier run: with CHECKPOINT."
                            "AUTO_RESUME=False choose another DIR", dir, name);
        if (++found < asked)
            continue;
        snprintf(folder, sizeof folder, "%s/%s", dir, name);
        wrong = load_one(r, folder, RESUME, &ends);
        if (!*wrong) /* who renamed it may have been killed before flushing */
            return agree_on(r->rank == 0 ? checkpoint_flush(dir) : "");
        if (ends)
            return complain("cannot resume from %s: %s", folder, wrong);
        if (r->rank == 0)
            fprintf(stderr, "trainer: skipping %s: %s\n", folder, wrong);
    }
    return found_none(r, found);
}

const char *checkpoint_begin(run *r, const char *folder, int extend)
{
    const int take = extend ? EXTEND : WEIGHTS;
    int ends;
    const char *wrong = load_one(r, folder, take, &ends);

    return *wrong ? complain("cannot %s %s: %s",
                             extend ? "extend" : "begin with the weights of",
                             folder, wrong)
                  : "";
}

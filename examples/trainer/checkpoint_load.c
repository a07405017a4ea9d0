/* checkpoint_load.c - see checkpoint.h. */
#define _XOPEN_SOURCE 700 /* fdopen, fseeko, open_memstream */

#include "agree.h"
#include "checkpoint.h"
#include "log.h"
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What a run takes from a checkpoint: RESUME everything; EXTEND everything but
   the log, and with other epochs and rates; WEIGHTS only these. */
enum { RESUME, EXTEND, WEIGHTS };

/* A checkpoint that a run is loading. */
typedef struct source {
    run *r;
    const char *path;
    int take;
    int ends; /* it is of another run, or cannot be read: the run ends, as
                 falling back to an older checkpoint would be wrong */
    FILE *file;
    checkpoint_head *head;
} source;

/* Reads a part of the file, of this name. Returns "" or that it is damaged or
   cannot be read. */
static const char *read_part(source *s, uint64_t place, void *bytes,
                             size_t size, const char *name)
{
    const int found = fseeko(s->file, (off_t)place, SEEK_SET) == 0;
    uint64_t hash;

    if (found && fread(bytes, 1, size, s->file) == size &&
        fread(&hash, sizeof hash, 1, s->file) == 1 &&
        hash == checkpoint_hash(s->head, bytes, size))
        return "";
    if (found && !ferror(s->file))
        return complain("its %s is truncated or changed", name);
    s->ends = 1;
    return errno == EISDIR ? "it is a folder, as older releases made it"
                           : cannot("read", s->path);
}

/* Opens a checkpoint and reads its head. Returns "" or that it is damaged or
   cannot be read. */
static const char *read_head(source *s)
{
    /* More than there is in any head: what is larger is damaged. */
    const uint64_t most = 1 << 24;
    const int descriptor = text_open_file(s->path, O_RDONLY);
    checkpoint_head h = {.step = 0};

    s->file = descriptor < 0 ? NULL : fdopen(descriptor, "rb");
    s->ends = !s->file;
    if (!s->file)
        return cannot("read", s->path);
    /* The sizes; where they cannot be read, neither can the head. */
    if (fread(&h, sizeof h, 1, s->file) == 1 &&
        strncmp(h.format, "format ", 7) == 0 &&
        strncmp(h.format, CHECKPOINT_FORMAT, sizeof h.format) != 0) {
        s->ends = 1;
        return complain("its %.15s is that of another release", h.format);
    }
    if (h.feed_bytes > most || h.config_bytes > most)
        return "its head is truncated or changed";
    s->head = memory_borrow(checkpoint_head_bytes(&h), 1);
    return read_part(s, 0, s->head, checkpoint_head_bytes(&h), "head");
}

static void close_source(source *s)
{
    if (s->file)
        fclose(s->file);
    free(s->head);
}

/* ---- What must be the same ---- */

/* Sets the configuration to that of a checkpoint. Returns "" or an error. */
static const char *take_config(const checkpoint_head *h,
                               struct trainer_config *config)
{
    const char *yaml = (const char *)(h + 1) + h->feed_bytes;

    config_defaults(config);
    return config_read_text(config, "its configuration", "", yaml,
                            h->config_bytes) &&
                   config_check(config, 0)
               ? ""
               : complain("%s", config->error);
}

const char *checkpoint_config(const char *path, struct trainer_config *config)
{
    source s = {.path = path};
    const char *wrong = read_head(&s);

    if (!*wrong)
        wrong = take_config(s.head, config);
    close_source(&s);
    return wrong;
}

/* Compares the texts and the configurations, on process 0. */
static const char *match(source *s)
{
    /* Only the shape of the model matters to its weights. */
    const enum config_same same = s->take == RESUME   ? CONFIG_RATE
                                  : s->take == EXTEND ? CONFIG_RUN
                                                      : CONFIG_SHAPE;
    static struct trainer_config config;
    const char *wrong = take_config(s->head, &config);
    char *difference;
    size_t size;
    FILE *to;

    s->ends = 1; /* what was written is not of this run, if it is wrong */
    if (*wrong)
        return wrong;
    if (s->take != WEIGHTS && s->head->texts != s->r->text.hash)
        return complain("its texts is %016" PRIx64 ", but this run's is %016"
                        PRIx64, s->head->texts, s->r->text.hash);
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

/* Reads the tensors that this process owns. The configuration, which is that of
   the run, says which there are. */
static const char *read_tensors(source *s)
{
    const run *r = s->r;
    const int last = s->take == WEIGHTS ? 0 : r->optimizer.states;
    uint64_t place = checkpoint_pages(checkpoint_head_bytes(s->head));
    const char *wrong = "";
    size_t t, size;
    int i;

    for (i = 0; i <= last; i++)
        for (t = 0; t < r->model.num_tensors; t++) {
            const model_tensor *is = r->model.tensors + t;

            size = is->size * sizeof(float);
            if (is->mine && !*wrong)
                wrong = read_part(s, place, is->array[i], size, is->name);
            place += checkpoint_pages(size);
        }
    return wrong;
}

/* Restores everything else. Returns "", or why no run can have saved this under
   that name, or with the log that is there. */
static const char *restore(source *s)
{
    const char *name = strrchr(s->path, '/'), *wrong;
    const checkpoint_head *h = s->head;
    run *r = s->r;
    char should[64];

    snprintf(should, sizeof should, CHECKPOINT_NAME, h->step);
    if (strcmp(name ? name + 1 : s->path, should) != 0)
        return complain("its head is that of step %" PRIu64, h->step);
    if (h->skipped > h->step ||
        !scaler_can_be(&r->scaler, h->loss_scale, h->unskipped))
        return "its head has impossible numbers";
    if (s->take == RESUME) {
        r->log_bytes = h->log_bytes;
        r->log_hash = h->log_hash;
        wrong = log_check(r, &s->ends);
        if (*wrong)
            return wrong;
    }
    wrong = feed_load(&r->feed, (const unsigned char *)(h + 1),
                      (size_t)h->feed_bytes);
    if (*wrong)
        return wrong;
    r->step = h->step;
    r->skipped = h->skipped;
    r->optimizer.steps = (int64_t)(h->step - h->skipped);
    r->scaler.scale = h->loss_scale;
    r->scaler.unskipped = h->unskipped;
    if (r->rank == 0 && strncmp(r->blas, h->blas, sizeof h->blas) != 0)
        fprintf(stderr, "trainer: %s\n",
                complain("%s was saved with another OpenBLAS kernel (%.255s, "
                         "now %s): from here on the bits may differ", should,
                         h->blas, r->blas));
    return "";
}

/* Returns "" or why this checkpoint cannot be used; the run may then have been
   changed in part. *ends: whether no older one may be used instead. */
static const char *load_one(run *r, const char *path, int take, int *ends)
{
    source s = {.r = r, .path = path, .take = take};
    const char *wrong = agree_on(read_head(&s));

    if (!*wrong && !agree_same(text_hash(TEXT_HASH, s.head,
                                         checkpoint_head_bytes(s.head))))
        wrong = "it differs between processes";
    if (!*wrong)
        wrong = agree_on(r->rank == 0 ? match(&s) : "");
    if (!*wrong)
        wrong = agree_on(read_tensors(&s));
    if (!*wrong && take != WEIGHTS)
        wrong = agree_on(restore(&s));
    MPI_Allreduce(&s.ends, ends, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (!*wrong) /* each owner has read its tensors */
        optimizer_share(&r->optimizer,
                        take != WEIGHTS && r->config.zero_stage == 0);
    close_source(&s);
    return wrong;
}

const char *checkpoint_load(run *r, char name[64])
{
    const int resumes = r->config.auto_resume;
    const int64_t asked =
        resumes ? r->config.latest_checkpoint_resume_file_num : 1;
    const char *wrong, *dir = r->config.dir;
    char path[CHECKPOINT_PATH];
    int64_t found = 0;
    int ends = 0;

    for (name[0] = 0;;) { /* ends: each name is smaller than the one before */
        wrong = r->rank == 0 ? checkpoint_before(dir, name) : "";
        wrong = agree_on(wrong);
        if (*wrong)
            return wrong;
        MPI_Bcast(name, 64, MPI_CHAR, 0, MPI_COMM_WORLD);
        if (!name[0])
            break;
        if (!resumes)
            return complain("%s has %s of an earlier run: with CHECKPOINT."
                            "AUTO_RESUME=False choose another DIR", dir, name);
        if (++found < asked)
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, name);
        wrong = load_one(r, path, RESUME, &ends);
        if (!*wrong) /* who renamed it may have been killed before flushing */
            return agree_on(r->rank == 0 ? checkpoint_flush(dir) : "");
        if (ends)
            return complain("cannot resume from %s: %s", path, wrong);
        if (r->rank == 0)
            fprintf(stderr, "trainer: skipping %s: %s\n", path, wrong);
    }
    if (found == 0 && asked == 1)
        return "";
    return complain("no intact checkpoint in %s: it has %" PRId64 ", and "
                    "LATEST_CHECKPOINT_RESUME_FILE_NUM is %" PRId64, dir,
                    found, asked);
}

const char *checkpoint_begin(run *r, const char *path, int extend)
{
    const int take = extend ? EXTEND : WEIGHTS;
    int ends;
    const char *wrong = load_one(r, path, take, &ends);

    return *wrong ? complain("cannot %s %s: %s",
                             extend ? "extend" : "begin with the weights of",
                             path, wrong)
                  : "";
}

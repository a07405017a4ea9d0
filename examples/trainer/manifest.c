/* manifest.c - see manifest.h. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */

#include "manifest.h"
#include "agree.h"
#include "memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *begin_text(manifest *m)
{
    FILE *to = open_memstream(&m->text, &m->size);

    if (!to)
        abort();
    return to;
}

static void end_text(FILE *to)
{
    if (fclose(to) != 0)
        abort();
}

const char *manifest_find(const manifest *m, const char *name)
{
    const size_t size = strlen(name);
    const char *line = m->text;

    while (line) { /* ends: each round is a line on */
        if (strncmp(line, name, size) == 0 && line[size] == ' ')
            return line + size + 1;
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return NULL;
}

uint64_t manifest_number(const manifest *m, const char *name)
{
    const char *value = manifest_find(m, name);

    return value ? strtoull(value, NULL, 10) : 0;
}

int manifest_part_at(const manifest *m, int part, manifest_part *out)
{
    char name[32];
    const char *value;

    snprintf(name, sizeof name, "part%d", part);
    value = manifest_find(m, name);
    return value && sscanf(value, "%" SCNu64 " %" SCNx64, &out->size,
                           &out->hash) == 2;
}

void manifest_name(char name[64], uint64_t step)
{
    snprintf(name, 64, "step-%012" PRIu64, step);
}

void manifest_free(manifest *m)
{
    free(m->text);
    memset(m, 0, sizeof *m);
}

/* ---- What must be the same ---- */

static int begins_with_any(const char *path, const char *const *names)
{
    for (; *names; names++)
        if (strncmp(path, *names, strlen(*names)) == 0)
            return 1;
    return 0;
}

/* Writes everything that must be the same on a resume, one line each: a name,
   usually a key, and its value. Excluded are keys that never change a bit of
   the result and those covered by the first five lines. */
static void put_same(FILE *to, const run *r)
{
    static const char *const but[] = {
        "CHECKPOINT.", "DISTRIBUTED.", "DATA.DDP_BUCKET_CAP_MB",
        "DATA.TEST.USE_STATEFUL_DISTRIBUTED_SAMPLER",
        "MODEL.ACTIVATION_CHECKPOINTING.", "MODEL.SHARDED_DDP_SETUP.",
        "MODEL.WEIGHTS_INIT.", "OPTIMIZER.use_zero",
        "DATA.TRAIN.DATA_PATHS", "DATA.TEST.DATA_PATHS",
        "OPTIMIZER.name", "OPTIMIZER.base_optimizer.name",
        "MODEL.AMP_PARAMS.USE_AMP", "MODEL.AMP_PARAMS.AMP_ARGS.opt_level",
        "DATA.TRAIN.BATCHSIZE_PER_REPLICA", NULL};
    const struct trainer_config *c = &r->config;
    const char *path;
    uint32_t i;

    fprintf(to, "format 3\ntexts %016" PRIx64 "\n", r->text.hash);
    fprintf(to, "optimizer %s\n",
            c->optimizer.algorithm == CONFIG_ADAMW ? "adamw" : "sgd");
    fprintf(to, "opt_level %s\n", r->model.half ? "O1" : "O0");
    /* Both factors: the ranks' blocks depend on them, not on the product. */
    fprintf(to, "global_batch %" PRId64 " x %" PRId64 "\n",
            config_world_size(c), c->data.train.batchsize_per_replica);
    for (i = 0; (path = config_key_path(i)); i++)
        if (!begins_with_any(path, but)) {
            fprintf(to, "%s ", path);
            config_print_key(c, path, to);
            fputc('\n', to);
        }
}

/* Whether a line may differ. Only the shape of the model matters to weights. */
static int may_differ(const char *name, int take)
{
    static const char *const rates[] = {"OPTIMIZER.num_epochs",
                                        "OPTIMIZER.param_schedulers.", NULL};
    static const char *const shape[] = {"format", "MODEL.TRUNK.", NULL};

    return take == MANIFEST_EXTEND    ? begins_with_any(name, rates)
           : take == MANIFEST_WEIGHTS ? !begins_with_any(name, shape)
                                      : 0;
}

const char *manifest_match(const manifest *m, const run *r, int take)
{
    const char *words = "";
    char *name, *value, *end;
    manifest same;
    FILE *to = begin_text(&same);

    put_same(to, r);
    end_text(to);
    for (name = same.text; *name && !*words; name = end + 1) { /* a line on */
        const char *was;
        size_t size;

        end = strchr(name, '\n');
        value = strchr(name, ' ') + 1;
        value[-1] = *end = 0;
        was = manifest_find(m, name);
        size = was ? strcspn(was, "\n") : 0;
        if (may_differ(name, take) ||
            (size == strlen(value) && strncmp(was, value, size) == 0))
            continue;
        words = was ? complain("its %s is %.*s, but this run's is %s", name,
                               (int)size, was, value)
                    : complain("it has no %s: it may be from another release",
                               name);
    }
    manifest_free(&same);
    return words;
}

/* ---- Making and restoring ---- */

enum { STEP, SKIPPED, STEPS, UNSKIPPED, LOG_BYTES, LOG_HASH, NUMBERS };
static const char *const number_names[NUMBERS] = {
    "step", "skipped", "optimizer_steps", "unskipped", "log_bytes", "log_hash"};

void manifest_make(manifest *m, const run *r, const manifest_part *parts,
                   const unsigned char *state)
{
    const uint64_t numbers[NUMBERS] = {
        r->step, r->skipped, (uint64_t)r->optimizer.steps,
        (uint64_t)r->scaler.unskipped, r->log_bytes, r->log_hash};
    manifest config;
    FILE *to = begin_text(&config);
    char *line, *end;
    size_t i;

    config_print(&r->config, to);
    end_text(to);
    to = begin_text(m);
    put_same(to, r);
    for (i = 0; i < NUMBERS; i++)
        fprintf(to, "%s %" PRIu64 "\n", number_names[i], numbers[i]);
    fprintf(to, "loss_scale %.17g\nblas %s\nsampler ", r->scaler.scale,
            r->blas);
    for (i = 0; i < feed_state_bytes(&r->feed); i++)
        fprintf(to, "%02x", (unsigned)state[i]);
    fprintf(to, "\nparts %d\n", r->world);
    for (i = 0; i < (size_t)r->world; i++)
        fprintf(to, "part%u %" PRIu64 " %016" PRIx64 "\n", (unsigned)i,
                parts[i].size, parts[i].hash);
    /* The configuration as YAML, each line after the word config. */
    for (line = config.text; *line; line = end + 1) { /* ends: a line on */
        end = strchr(line, '\n');
        fprintf(to, "config %.*s\n", (int)(end - line), line);
    }
    manifest_free(&config);
    fflush(to);
    fprintf(to, "hash %016" PRIx64 "\n",
            text_hash(TEXT_HASH, m->text, m->size));
    end_text(to);
}

enum { HASH_LINE = 22 }; /* "hash ", 16 digits, the end of the line */

int manifest_whole(const manifest *m)
{
    char want[32];

    if (m->size < HASH_LINE || strlen(m->text) != m->size)
        return 0;
    snprintf(want, sizeof want, "hash %016" PRIx64 "\n",
             text_hash(TEXT_HASH, m->text, m->size - HASH_LINE));
    return strcmp(m->text + m->size - HASH_LINE, want) == 0;
}

/* The sampler's state, which has been written as hexadecimal digits. */
static const char *restore_feed(const manifest *m, run *r)
{
    const size_t size = feed_state_bytes(&r->feed);
    unsigned char *state = memory_borrow(size, 1);
    const char *digits = manifest_find(m, "sampler"), *wrong;
    unsigned byte;
    size_t i;

    for (i = 0; digits && i < size && sscanf(digits, "%2x", &byte) == 1; i++) {
        state[i] = (unsigned char)byte;
        digits += 2;
    }
    wrong = i < size || *digits != '\n'
                ? "its sampler state has another length"
                : feed_load(&r->feed, state, size, r->rank == 0);
    free(state);
    return wrong;
}

static void compare_kernels(const run *r, const manifest *m,
                            const char *name)
{
    const char *blas = manifest_find(m, "blas");
    const size_t size = blas ? strcspn(blas, "\n") : 0;

    if (r->rank == 0 && blas &&
        (strlen(r->blas) != size || strncmp(blas, r->blas, size) != 0))
        fprintf(stderr, "trainer: %s\n",
                complain("%s was saved with another OpenBLAS kernel (%.*s, "
                         "now %s): from here on the bits may differ", name,
                         (int)size, blas, r->blas));
}

const char *manifest_restore(const manifest *m, run *r, const char *name)
{
    const char *scale = manifest_find(m, "loss_scale"), *wrong;
    uint64_t v[NUMBERS];
    char should[64];
    double loss_scale = scale ? strtod(scale, NULL) : 0;
    size_t i;

    for (i = 0; i < NUMBERS; i++)
        v[i] = manifest_number(m, number_names[i]);
    manifest_name(should, v[STEP]);
    if (strcmp(name, should) != 0)
        return complain("its manifest is that of step %" PRIu64, v[STEP]);
    if (v[SKIPPED] > v[STEP] || v[STEPS] != v[STEP] - v[SKIPPED] ||
        !scaler_can_be(&r->scaler, loss_scale, (int64_t)v[UNSKIPPED]))
        return "its manifest has impossible numbers";
    wrong = restore_feed(m, r);
    if (*wrong)
        return wrong;
    r->step = v[STEP];
    r->skipped = v[SKIPPED];
    r->optimizer.steps = (int64_t)v[STEPS];
    r->scaler.scale = loss_scale;
    r->scaler.unskipped = (int64_t)v[UNSKIPPED];
    r->log_bytes = v[LOG_BYTES];
    r->log_hash = v[LOG_HASH];
    compare_kernels(r, m, name);
    return "";
}

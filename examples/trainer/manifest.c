/* manifest.c - see manifest.h. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */

#include "manifest.h"

#include <cblas.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDENTITIES = 8, VALUE = 160 };


/* ---- What must be the same ---- */

typedef struct identity {
    const char *name, *words;
    char value[VALUE];
} identity;

static void identify(identity all[IDENTITIES], const run *r)
{
    static const char *const names[IDENTITIES][2] = {
        {"texts", "texts"},
        {"model", "model (blocks, heads, width, MLP, context)"},
        {"seed", "seed"},
        {"optimizer", "optimizer"},
        {"epochs", "number of epochs"},
        {"global_batch", "global batch"},
        {"opt_level", "opt_level"},
        {"sampling", "sampling (keys of DATA.TRAIN and STATESAMPLER)"}};
    const struct trainer_config *c = &r->config;
    const model_shape *s = &r->model.shape;
    int i;

    for (i = 0; i < IDENTITIES; i++) {
        all[i].name = names[i][0];
        all[i].words = names[i][1];
    }
    snprintf(all[0].value, VALUE, "%016" PRIx64, r->text.hash);
    snprintf(all[1].value, VALUE, "%lu %lu %lu %lu %lu",
             (unsigned long)s->layers, (unsigned long)s->heads,
             (unsigned long)s->width, (unsigned long)s->mlp,
             (unsigned long)s->context);
    snprintf(all[2].value, VALUE, "%" PRId64, c->seed_value);
    snprintf(all[3].value, VALUE, "%s momentum %.17g nesterov %d larc %d",
             c->optimizer.algorithm == CONFIG_ADAMW ? "adamw" : "sgd",
             c->optimizer.momentum, c->optimizer.nesterov,
             c->optimizer.use_larc);
    snprintf(all[4].value, VALUE, "%" PRId64, c->optimizer.num_epochs);
    snprintf(all[5].value, VALUE, "%" PRId64, config_global_batch(c));
    snprintf(all[6].value, VALUE, "%s", r->model.half ? "O1" : "O0");
    snprintf(all[7].value, VALUE,
             "stateful %d debugging %d drop_last %d limit %" PRId64
             " stop %" PRId64 " weights %016" PRIx64,
             c->data.train.use_stateful_distributed_sampler,
             c->data.train.use_debugging_sampler, c->data.train.drop_last,
             c->data.train.data_limit, c->statesampler.stop,
             text_hash(TEXT_HASH, c->statesampler.weights.items,
                       c->statesampler.weights.count * sizeof(int64_t)));
}

const char *manifest_match(const manifest *m, const run *r)
{
    static char words[3 * VALUE];
    identity all[IDENTITIES];
    int i;

    identify(all, r);
    for (i = 0; i < IDENTITIES; i++) {
        const char *value = manifest_find(m, all[i].name);
        const size_t size = value ? strcspn(value, "\n") : 0;

        if (size == strlen(all[i].value) &&
            strncmp(value, all[i].value, size) == 0)
            continue;
        snprintf(words, sizeof words, "it has another %s: %.*s, here %s",
                 all[i].words, (int)size, value ? value : "",
                 all[i].value);
        return words;
    }
    return "";
}

/* ---- Lines ---- */

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

/* A whole number of a line; 0 where there is no such line. */
static uint64_t number(const manifest *m, const char *name, int base)
{
    const char *value = manifest_find(m, name);

    return value ? strtoull(value, NULL, base) : 0;
}

/* The configuration as YAML, each line after the word config. */
static void put_config(FILE *to, const struct trainer_config *c)
{
    char *yaml = NULL, *line, *end;
    size_t size;
    FILE *file = open_memstream(&yaml, &size);

    if (!file)
        abort();
    config_print(c, file);
    if (fclose(file) != 0)
        abort();
    for (line = yaml; *line; line = end + 1) { /* ends: a line on */
        end = strchr(line, '\n');
        fprintf(to, "config %.*s\n", (int)(end - line), line);
    }
    free(yaml);
}

void manifest_make(manifest *m, const run *r, const manifest_part *parts,
                   const unsigned char *state)
{
    const size_t bytes = feed_state_bytes(&r->feed);
    FILE *to = open_memstream(&m->text, &m->size);
    identity all[IDENTITIES];
    uint64_t hash;
    size_t i;
    int part;

    if (!to)
        abort();
    fputs("checkpoint 1\n", to);
    identify(all, r);
    for (part = 0; part < IDENTITIES; part++)
        fprintf(to, "%s %s\n", all[part].name, all[part].value);
    fprintf(to, "step %" PRIu64 "\nskipped %" PRIu64 "\n", r->step,
            r->skipped);
    fprintf(to, "optimizer_steps %" PRId64 "\n", r->optimizer.steps);
    fprintf(to, "loss_scale %.17g\nunskipped %" PRId64 "\n", r->scaler.scale,
            r->scaler.unskipped);
    fprintf(to, "log_bytes %" PRIu64 "\nlog_hash %016" PRIx64 "\n",
            r->log_bytes, r->log_hash);
    fprintf(to, "blas %s\nsampler ", openblas_get_corename());
    for (i = 0; i < bytes; i++)
        fprintf(to, "%02x", (unsigned)state[i]);
    fprintf(to, "\nparts %d\n", r->world);
    for (part = 0; part < r->world; part++)
        fprintf(to, "part%d %" PRIu64 " %016" PRIx64 "\n", part,
                parts[part].size, parts[part].hash);
    put_config(to, &r->config);
    if (fflush(to) != 0)
        abort();
    hash = text_hash(TEXT_HASH, m->text, m->size);
    fprintf(to, "hash %016" PRIx64 "\n", hash);
    if (fclose(to) != 0)
        abort();
}

int manifest_whole(const manifest *m)
{
    const size_t line = 22; /* "hash ", 16 digits, the end of the line */
    char want[32];

    if (m->size < line || strncmp(m->text, "checkpoint 1\n", 13) != 0)
        return 0;
    snprintf(want, sizeof want, "hash %016" PRIx64 "\n",
             text_hash(TEXT_HASH, m->text, m->size - line));
    return memcmp(m->text + m->size - line, want, line) == 0;
}

int manifest_parts(const manifest *m)
{
    return (int)number(m, "parts", 10);
}

int manifest_part_at(const manifest *m, int part, manifest_part *out)
{
    char name[24];
    const char *value;

    snprintf(name, sizeof name, "part%d", part);
    value = manifest_find(m, name);
    return value && sscanf(value, "%" SCNu64 " %" SCNx64, &out->size,
                           &out->hash) == 2;
}

/* Two digits for each byte; returns how many there were. */
static size_t from_hex(unsigned char *out, size_t room, const char *digits)
{
    size_t size = 0;
    unsigned byte;

    while (size < room && sscanf(digits + 2 * size, "%2x", &byte) == 1)
        out[size++] = (unsigned char)byte;
    return size;
}

const char *manifest_restore(const manifest *m, run *r)
{
    const size_t bytes = feed_state_bytes(&r->feed);
    const char *sampler = manifest_find(m, "sampler");
    const char *scale = manifest_find(m, "loss_scale"), *wrong;
    unsigned char *state = (unsigned char *)malloc(bytes + 1);
    size_t size;

    if (!state)
        abort();
    size = sampler ? from_hex(state, bytes + 1, sampler) : 0;
    wrong = feed_load(&r->feed, state, size, r->rank == 0);
    free(state);
    r->step = number(m, "step", 10);
    r->skipped = number(m, "skipped", 10);
    r->optimizer.steps = (int64_t)number(m, "optimizer_steps", 10);
    if (r->scaler.dynamic && scale) {
        r->scaler.scale = strtod(scale, NULL);
        r->scaler.unskipped = (int64_t)number(m, "unskipped", 10);
    }
    r->log_bytes = number(m, "log_bytes", 10);
    r->log_hash = number(m, "log_hash", 16);
    return wrong;
}

void manifest_free(manifest *m)
{
    free(m->text);
    memset(m, 0, sizeof *m);
}

/* manifest.c - see manifest.h. */
#include "manifest.h"
#include "memory.h"

#include <cblas.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDENTITIES = 7, VALUE = 160 };

static void put(manifest *m, const char *format, ...)
{
    va_list list;
    size_t size;

    if (m->room - m->size < 1024) {
        m->room = 2 * m->room + 4096;
        m->text = (char *)realloc(m->text, m->room);
        if (!m->text)
            abort();
    }
    va_start(list, format);
    size = (size_t)vsnprintf(m->text + m->size, 1024, format, list);
    va_end(list);
    m->size += size;
}

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
        {"opt_level", "opt_level"}};
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

void manifest_make(manifest *m, const run *r, const manifest_part *parts,
                   const unsigned char *state)
{
    const size_t bytes = feed_state_bytes(&r->feed);
    identity all[IDENTITIES];
    size_t i;
    int part;

    memset(m, 0, sizeof *m);
    put(m, "checkpoint 1\n");
    identify(all, r);
    for (part = 0; part < IDENTITIES; part++)
        put(m, "%s %s\n", all[part].name, all[part].value);
    put(m, "step %" PRIu64 "\nskipped %" PRIu64 "\n", r->step, r->skipped);
    put(m, "optimizer_steps %" PRId64 "\n", r->optimizer.steps);
    put(m, "loss_scale %.17g\nunskipped %" PRId64 "\n", r->scaler.scale,
        r->scaler.unskipped);
    put(m, "log_bytes %" PRIu64 "\nlog_hash %016" PRIx64 "\n", r->log_bytes,
        r->log_hash);
    put(m, "blas %s\nsampler ", openblas_get_corename());
    for (i = 0; i < bytes; i++)
        put(m, "%02x", (unsigned)state[i]);
    put(m, "\nparts %d\n", r->world);
    for (part = 0; part < r->world; part++)
        put(m, "part%d %" PRIu64 " %016" PRIx64 "\n", part, parts[part].size,
            parts[part].hash);
    put(m, "hash %016" PRIx64 "\n", text_hash(TEXT_HASH, m->text, m->size));
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

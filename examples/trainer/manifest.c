/* manifest.c - see manifest.h. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */

#include "manifest.h"
#include "agree.h"
#include "log.h"
#include "memory.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Lines ---- */

static FILE *begin_text(char **out, size_t *size)
{
    FILE *to = open_memstream(out, size);

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

/* The number in a line; 0 if there is no such line. */
static uint64_t number(const manifest *m, const char *name, int base)
{
    const char *value = manifest_find(m, name);

    return value ? strtoull(value, NULL, base) : 0;
}

/* ---- What must be the same ---- */

/* Writes everything that must be the same on a resume, one line each: a name,
   usually a key, and its value. Excluded are keys that never change a bit of
   the result and those covered by the first five lines. */
static void put_same(FILE *to, const run *r)
{
    static const char *const but[] = {
        "CHECKPOINT.", "DISTRIBUTED.", "DATA.DDP_BUCKET_CAP_MB",
        "DATA.TEST.USE_STATEFUL_DISTRIBUTED_SAMPLER",
        "MODEL.ACTIVATION_CHECKPOINTING.", "MODEL.SHARDED_DDP_SETUP.",
        "OPTIMIZER.use_zero",
        "DATA.TRAIN.DATA_PATHS", "DATA.TEST.DATA_PATHS",
        "OPTIMIZER.name", "OPTIMIZER.base_optimizer.name",
        "MODEL.AMP_PARAMS.USE_AMP", "MODEL.AMP_PARAMS.AMP_ARGS.opt_level",
        "DATA.TRAIN.BATCHSIZE_PER_REPLICA", NULL};
    const struct trainer_config *c = &r->config;
    const char *path;
    uint32_t i, j;

    fprintf(to, "format 2\ntexts %016" PRIx64 "\n", r->text.hash);
    fprintf(to, "optimizer %s\n",
            c->optimizer.algorithm == CONFIG_ADAMW ? "adamw" : "sgd");
    fprintf(to, "opt_level %s\n", r->model.half ? "O1" : "O0");
    /* Both factors: the ranks' blocks depend on them, not on the product. */
    fprintf(to, "global_batch %" PRId64 " x %" PRId64 "\n",
            config_world_size(c), c->data.train.batchsize_per_replica);
    for (i = 0; (path = config_key_path(i)); i++) {
        for (j = 0; but[j] && strncmp(path, but[j], strlen(but[j])) != 0; j++)
            ;
        if (but[j])
            continue;
        fprintf(to, "%s ", path);
        config_print_key(c, path, to);
        fputc('\n', to);
    }
}

const char *manifest_match(const manifest *m, const run *r)
{
    const char *words = "";
    char *here, *name, *value, *end;
    size_t size;
    FILE *to = begin_text(&here, &size);

    put_same(to, r);
    end_text(to);
    for (name = here; *name && !*words; name = end + 1) { /* ends: a line on */
        const char *was;

        end = strchr(name, '\n');
        value = strchr(name, ' ') + 1;
        value[-1] = *end = 0;
        was = manifest_find(m, name);
        size = was ? strcspn(was, "\n") : 0;
        if (size != strlen(value) || strncmp(was, value, size) != 0)
            words = was ? complain("its %s is %.*s, but this run's is %s",
                                   name, (int)size, was, value)
                        : complain("it has no %s: it may be from another "
                                   "release", name);
    }
    free(here);
    return words;
}

/* ---- The log ---- */

/* Writes the log so far, each line after the word log, so that a checkpoint
   does not depend on any other file. */
static const char *put_log(FILE *to, const run *r)
{
    uint64_t left = r->log_bytes, hash = TEXT_HASH;
    int got, begins = 1;

    rewind(r->log);
    for (; left > 0 && (got = getc(r->log)) != EOF; left--) {
        const char byte = (char)got;

        hash = text_hash(hash, &byte, 1);
        fputs(begins ? "log " : "", to);
        putc(got, to);
        begins = got == '\n';
    }
    if (ferror(r->log))
        return complain("cannot read %s/log.txt: %s", r->config.checkpoint.dir,
                        strerror(errno));
    if (left != 0 || hash != r->log_hash || !log_is_whole(r) ||
        fseek(r->log, (long)r->log_bytes, SEEK_SET) != 0)
        return complain("%s/log.txt was changed during the run",
                        r->config.checkpoint.dir);
    return "";
}

/* Errors are found by log_cut, which is called next. */
static void restore_log(const manifest *m, FILE *log)
{
    const char *line = m->text;
    size_t size;

    rewind(log);
    for (; *line; line += size) { /* ends: each round is a line on */
        size = strcspn(line, "\n") + 1;
        if (strncmp(line, "log ", 4) == 0)
            fwrite(line + 4, 1, size - 4, log);
    }
}

/* ---- Making and reading ---- */

/* Writes the configuration as YAML, each line after the word config. */
static void put_config(FILE *to, const struct trainer_config *c)
{
    char *yaml, *line, *end;
    size_t size;
    FILE *file = begin_text(&yaml, &size);

    config_print(c, file);
    end_text(file);
    for (line = yaml; *line; line = end + 1) { /* ends: a line on */
        end = strchr(line, '\n');
        fprintf(to, "config %.*s\n", (int)(end - line), line);
    }
    free(yaml);
}

/* The values in a manifest, without the configuration and log at its end. */
typedef struct values {
    uint64_t step, skipped;
    int64_t optimizer_steps, unskipped;
    double loss_scale;
    uint64_t log_bytes, log_hash;
    const char *blas;
    int blas_size;
    unsigned char *state; /* the feed's */
    size_t bytes;
    int num_parts;
    manifest_part *parts;
} values;

static void put_values(FILE *to, const values *v)
{
    size_t i;
    int part;

    fprintf(to, "step %" PRIu64 "\nskipped %" PRIu64 "\n", v->step,
            v->skipped);
    fprintf(to, "optimizer_steps %" PRId64 "\n", v->optimizer_steps);
    fprintf(to, "loss_scale %.17g\nunskipped %" PRId64 "\n", v->loss_scale,
            v->unskipped);
    fprintf(to, "log_bytes %" PRIu64 "\nlog_hash %016" PRIx64 "\n",
            v->log_bytes, v->log_hash);
    fprintf(to, "blas %.*s\nsampler ", v->blas_size, v->blas);
    for (i = 0; i < v->bytes; i++)
        fprintf(to, "%02x", (unsigned)v->state[i]);
    fprintf(to, "\nparts %d\n", v->num_parts);
    for (part = 0; part < v->num_parts; part++)
        fprintf(to, "part%d %" PRIu64 " %016" PRIx64 "\n", part,
                v->parts[part].size, v->parts[part].hash);
}

const char *manifest_make(manifest *m, const run *r, manifest_part *parts,
                          unsigned char *state)
{
    const values v = {
        r->step, r->skipped, r->optimizer.steps, r->scaler.unskipped,
        r->scaler.scale, r->log_bytes, r->log_hash, r->blas,
        (int)strlen(r->blas), state, feed_state_bytes(&r->feed), r->world,
        parts};
    FILE *to = begin_text(&m->text, &m->size);
    const char *wrong;
    uint64_t hash;

    put_same(to, r);
    put_values(to, &v);
    put_config(to, &r->config);
    wrong = put_log(to, r);
    if (fflush(to) != 0)
        abort();
    hash = text_hash(TEXT_HASH, m->text, m->size);
    fprintf(to, "hash %016" PRIx64 "\n", hash);
    end_text(to);
    return wrong;
}

void manifest_name(char name[64], uint64_t step)
{
    snprintf(name, 64, "step-%012" PRIu64, step);
}

enum { HASH_LINE = 22 }; /* "hash ", 16 digits, the end of the line */

int manifest_whole(const manifest *m)
{
    char want[32];

    if (m->size < HASH_LINE)
        return 0;
    snprintf(want, sizeof want, "hash %016" PRIx64 "\n",
             text_hash(TEXT_HASH, m->text, m->size - HASH_LINE));
    return memcmp(m->text + m->size - HASH_LINE, want, HASH_LINE) == 0;
}

int manifest_parts(const manifest *m)
{
    const uint64_t parts = number(m, "parts", 10);

    return parts <= INT_MAX ? (int)parts : 0;
}

int manifest_part_at(const manifest *m, int part, manifest_part *out)
{
    char name[24], *end;
    const char *value;

    snprintf(name, sizeof name, "part%d", part);
    value = manifest_find(m, name);
    if (!value)
        return 0;
    out->size = strtoull(value, &end, 10);
    out->hash = strtoull(end, NULL, 16);
    return 1;
}

static int digit(char c)
{
    const char *const digits = "0123456789abcdef";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Two digits per byte; returns the number of bytes. */
static size_t from_hex(unsigned char *out, size_t room, const char *digits)
{
    size_t size = 0;

    for (; size < room && digit(digits[0]) >= 0 && digit(digits[1]) >= 0;
         digits += 2)
        out[size++] = (unsigned char)(digit(digits[0]) * 16 + digit(digits[1]));
    return size;
}

/* Reads all values; those of missing or malformed lines are arbitrary, as
   manifest_check finds them. Release with free_values. */
static void take_values(const manifest *m, const run *r, values *v)
{
    const char *scale = manifest_find(m, "loss_scale");
    const char *state = manifest_find(m, "sampler");
    const char *blas = manifest_find(m, "blas");
    const size_t room = feed_state_bytes(&r->feed) + 1;
    const int parts = manifest_parts(m);
    int part;

    v->step = number(m, "step", 10);
    v->skipped = number(m, "skipped", 10);
    v->optimizer_steps = (int64_t)number(m, "optimizer_steps", 10);
    v->unskipped = (int64_t)number(m, "unskipped", 10);
    v->loss_scale = scale ? strtod(scale, NULL) : 0;
    v->log_bytes = number(m, "log_bytes", 10);
    v->log_hash = number(m, "log_hash", 16);
    v->blas = blas ? blas : "";
    v->blas_size = (int)strcspn(v->blas, "\n");
    v->state = memory_borrow(room, 1);
    v->bytes = state ? from_hex(v->state, room, state) : 0;
    /* Each part has a line, so there are fewer parts than bytes. */
    for (part = 0; part < parts && (size_t)part < m->size; part++) {
        manifest_part ignored;

        if (!manifest_part_at(m, part, &ignored))
            break;
    }
    v->num_parts = part;
    v->parts = memory_borrow((size_t)part + 1, sizeof *v->parts);
    for (part = 0; part < v->num_parts; part++)
        manifest_part_at(m, part, &v->parts[part]);
}

static void free_values(values *v)
{
    free(v->state);
    free(v->parts);
}

/* Whether these are lines of a configuration and of a log with the size and
   hash in v, without zero bytes. */
static int is_rest(const char *line, const char *end, const values *v)
{
    uint64_t bytes = 0, hash = TEXT_HASH;
    const char *next;

    for (; line < end; line = next) { /* ends: each round is a line on */
        next = memchr(line, '\n', (size_t)(end - line));
        if (!next || memchr(line, 0, (size_t)(next - line)))
            return 0;
        next++;
        if (strncmp(line, "log ", 4) == 0) {
            bytes += (uint64_t)(next - line) - 4;
            hash = text_hash(hash, line + 4, (size_t)(next - line) - 4);
        } else if (strncmp(line, "config ", 7) != 0) {
            return 0;
        }
    }
    return bytes == v->log_bytes && hash == v->log_hash;
}

const char *manifest_check(const manifest *m, const run *r, const char *name)
{
    const char *wrong = "";
    char *again, should[64];
    size_t size;
    FILE *to = begin_text(&again, &size);
    values v;

    take_values(m, r, &v);
    put_same(to, r);
    put_values(to, &v);
    end_text(to);
    manifest_name(should, v.step);
    if (strcmp(name, should) != 0)
        wrong = complain("its manifest is that of step %" PRIu64, v.step);
    else if (m->size < size + HASH_LINE || v.num_parts == 0 ||
             memcmp(m->text, again, size) != 0 ||
             !is_rest(m->text + size, m->text + m->size - HASH_LINE, &v))
        wrong = "its manifest is malformed";
    else if (v.skipped > v.step ||
             (uint64_t)v.optimizer_steps != v.step - v.skipped ||
             !scaler_can_be(&r->scaler, v.loss_scale, v.unskipped))
        wrong = "its manifest has impossible numbers";
    free(again);
    free_values(&v);
    return wrong;
}

const char *manifest_restore(const manifest *m, run *r)
{
    const char *wrong;
    values v;

    take_values(m, r, &v);
    wrong = feed_load(&r->feed, v.state, v.bytes, r->rank == 0);
    if (!*wrong) {
        r->step = v.step;
        r->skipped = v.skipped;
        r->optimizer.steps = v.optimizer_steps;
        r->scaler.scale = v.loss_scale;
        r->scaler.unskipped = v.unskipped;
        r->log_bytes = v.log_bytes;
        r->log_hash = v.log_hash;
        if (r->log)
            restore_log(m, r->log);
    }
    free_values(&v);
    return wrong;
}

void manifest_free(manifest *m)
{
    free(m->text);
    memset(m, 0, sizeof *m);
}

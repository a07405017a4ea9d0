/* manifest.c - see manifest.h. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */

#include "manifest.h"
#include "agree.h"
#include "memory.h"

#include <inttypes.h>
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

/* A whole number of a line; 0 where there is no such line. */
static uint64_t number(const manifest *m, const char *name, int base)
{
    const char *value = manifest_find(m, name);

    return value ? strtoull(value, NULL, base) : 0;
}

/* ---- What must be the same ---- */

/* A line each: a name, most often a key's, and the value. All keys must be the
   same but those that never change a bit of the result, and those that the
   lines before them stand for. */
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
    /* Also where the product is the same: whose blocks are whose follows. */
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
            words = was ? complain("it has another %s: %.*s, here %s", name,
                                   (int)size, was, value)
                        : complain("it has no %s, as another release's", name);
    }
    free(here);
    return words;
}

/* ---- The log ---- */

/* The log so far, each line after the word log: so a checkpoint needs no file
   beside it, and nobody who changes log.txt takes it away. */
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
    if (left != 0 || hash != r->log_hash ||
        fseek(r->log, (long)r->log_bytes, SEEK_SET) != 0)
        return complain("%s/log.txt was changed during the run",
                        r->config.checkpoint.dir);
    return "";
}

/* What of it is not written is noticed at the next save. */
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

/* The configuration as YAML, each line after the word config. */
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

const char *manifest_make(manifest *m, const run *r,
                          const manifest_part *parts,
                          const unsigned char *state)
{
    const size_t bytes = feed_state_bytes(&r->feed);
    FILE *to = begin_text(&m->text, &m->size);
    const char *wrong;
    uint64_t hash;
    size_t i;
    int part;

    put_same(to, r);
    fprintf(to, "step %" PRIu64 "\nskipped %" PRIu64 "\n", r->step,
            r->skipped);
    fprintf(to, "optimizer_steps %" PRId64 "\n", r->optimizer.steps);
    fprintf(to, "loss_scale %.17g\nunskipped %" PRId64 "\n", r->scaler.scale,
            r->scaler.unskipped);
    fprintf(to, "log_bytes %" PRIu64 "\nlog_hash %016" PRIx64 "\n",
            r->log_bytes, r->log_hash);
    fprintf(to, "blas %s\nsampler ", r->blas);
    for (i = 0; i < bytes; i++)
        fprintf(to, "%02x", (unsigned)state[i]);
    fprintf(to, "\nparts %d\n", r->world);
    for (part = 0; part < r->world; part++)
        fprintf(to, "part%d %" PRIu64 " %016" PRIx64 "\n", part,
                parts[part].size, parts[part].hash);
    put_config(to, &r->config);
    wrong = put_log(to, r);
    if (fflush(to) != 0)
        abort();
    hash = text_hash(TEXT_HASH, m->text, m->size);
    fprintf(to, "hash %016" PRIx64 "\n", hash);
    end_text(to);
    return wrong;
}

int manifest_whole(const manifest *m)
{
    const size_t line = 22; /* "hash ", 16 digits, the end of the line */
    char want[32];

    if (m->size < line)
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
    unsigned char *state = memory_borrow(bytes + 1, 1);
    size_t size;

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
    if (r->log)
        restore_log(m, r->log);
    return wrong;
}

void manifest_free(manifest *m)
{
    free(m->text);
    memset(m, 0, sizeof *m);
}

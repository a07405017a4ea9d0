/* feed.c - see feed.h. */
#include "feed.h"
#include "agree.h"
#include "memory.h"

#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AUDIT_BYTES = sizeof(statesampler_audit) + 16 };

static void describe(const feed *f, uint32_t file, statesampler_desc *desc)
{
    const statesampler_desc plain = {.num_samples = f->text->files[file].train};

    *desc = plain;
    desc->seed = (uint64_t)f->config->seed_value;
    desc->stream = file;
    desc->world_size = f->world_size;
    desc->batch_size = f->batch_size;
    desc->drop_last = f->config->drop_last;
    if (f->config->use_debugging_sampler) {
        desc->order = STATESAMPLER_ORDER_SEQUENTIAL;
    } else if (f->config->use_stateful_distributed_sampler) {
        desc->partition = STATESAMPLER_PARTITION_BLOCKED;
        desc->tail = STATESAMPLER_TAIL_DROP;
    }
}

/* Sets the mix to the start of the run. */
static const char *begin(feed *f)
{
    static const uint32_t stops[] = {STATESAMPLER_STOP_FIRST,
                                     STATESAMPLER_STOP_ALL,
                                     STATESAMPLER_STOP_RESTART};
    const config_reals *weights = &f->config->weights;
    uint32_t i;
    int code = STATESAMPLER_OK;

    for (i = 0; i < f->text->num_files && code == STATESAMPLER_OK; i++) {
        statesampler_desc desc;

        describe(f, i, &desc);
        f->sources[i].weight =
            weights->count ? (uint32_t)weights->items[i] : 1;
        code = statesampler_init(&f->sources[i].sampler, &desc);
        if (code == STATESAMPLER_OK &&
            statesampler_num_steps(&f->sources[i].sampler) == 0)
            return complain("the text %s is too short for a single step",
                            f->text->files[i].path);
    }
    if (code == STATESAMPLER_OK)
        code = statesampler_mix_init(&f->mix, f->sources, f->text->num_files,
                                     stops[f->config->stop]);
    return code == STATESAMPLER_OK ? "" : statesampler_error(code);
}

const char *feed_init(feed *f, const text *t,
                      const struct trainer_config *config)
{
    memset(f, 0, sizeof *f);
    f->text = t;
    f->config = config;
    f->world_size = (uint32_t)config_world_size(config);
    f->batch_size = (uint32_t)config->batchsize_per_replica;
    f->batch = memory_take(MEMORY_WORK, f->batch_size, 8);
    return begin(f);
}

uint64_t feed_steps(const feed *f)
{
    return statesampler_mix_num_turns(&f->mix);
}

uint64_t feed_step(const feed *f)
{
    return statesampler_mix_turn(&f->mix);
}

uint64_t feed_epoch(const feed *f)
{
    return statesampler_mix_epoch(&f->mix);
}

/* Switches the mix to another rank of the run, at the same turn. */
static void become(feed *f, uint64_t rank)
{
    statesampler_mix_reshape(&f->mix, (uint32_t)rank, f->world_size);
}

/* Adds slots from .. to - 1 of the `count` that one rank has just served to the
   audit, without the padding at the end. */
static void audit(feed *f, uint32_t source, uint64_t from, uint64_t to,
                  uint64_t count)
{
    const statesampler *s = &f->sources[source].sampler;
    const uint64_t kept =
        count - statesampler_padding(s, statesampler_step(s) - 1);

    if (f->audited[source] != statesampler_epoch(s)) {
        memset(&f->audits[source], 0, sizeof f->audits[source]);
        f->audited[source] = statesampler_epoch(s);
    }
    to = to < kept ? to : kept;
    if (from >= to)
        return;
    f->served[source] += to - from;
    statesampler_audit_add(&f->audits[source], f->batch + from,
                           (size_t)(to - from));
}

size_t feed_next(feed *f, uint64_t first, uint64_t last,
                 const unsigned char **leaves)
{
    const uint64_t batch = f->batch_size, turn = feed_step(f);
    size_t taken = 0, count, i;
    uint64_t rank, from, to;
    uint32_t source = 0;

    statesampler_mix_next(&f->mix, NULL, &count, &source);
    for (rank = first / batch; rank * batch < last; rank++) {
        become(f, rank);
        statesampler_mix_at(&f->mix, turn, f->batch, &count, &source);
        from = rank * batch < first ? first - rank * batch : 0;
        to = last - rank * batch < count ? last - rank * batch : count;
        if (from >= to)
            continue;
        audit(f, source, from, to, count);
        for (i = (size_t)from; i < to; i++)
            leaves[taken++] = text_train(f->text, source, f->batch[i]);
    }
    become(f, 0);
    return taken;
}

/* The sum of all processes' audits of a source. Returns how many sequences it
   has served in this epoch, also before it restarted. */
static uint64_t audit_all(const feed *f, uint32_t source,
                          statesampler_audit *sum)
{
    const statesampler_audit *a = &f->audits[source];
    const uint64_t mine[5] = {a->count, a->sum1, a->sum2, a->sum3,
                              f->served[source]};
    uint64_t all[5];

    MPI_Allreduce(mine, all, 5, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    sum->count = all[0];
    sum->sum1 = all[1];
    sum->sum2 = all[2];
    sum->sum3 = all[3];
    return all[4];
}

static void forget(feed *f)
{
    memset(f->audits, 0, sizeof f->audits);
    memset(f->served, 0, sizeof f->served);
}

int feed_end_epoch(feed *f, char *words, size_t size)
{
    uint64_t served = 0, all = 0, there = 0;
    int exact = 1, whole = 1;
    size_t count;
    uint32_t i;

    for (i = 0; i < f->text->num_files; i++) {
        const statesampler *s = &f->sources[i].sampler;
        statesampler_counts counts;
        statesampler_audit sum;

        statesampler_get_counts(s, &counts);
        served += audit_all(f, i, &sum);
        all += counts.positions - counts.padded;
        there += f->text->files[i].train;
        if (f->audited[i] != statesampler_epoch(s) ||
            statesampler_step(s) != statesampler_num_steps(s) ||
            f->config->drop_last)
            whole = 0; /* an audit cannot check a part of an epoch */
        else
            exact = exact && statesampler_audit_check(
                                 &sum, counts.positions - counts.padded);
    }
    if (!exact)
        snprintf(words, size, "the audit FAILED: %" PRIu64 " of %" PRIu64
                 " sequences", served, all);
    else
        snprintf(words, size, whole ? "%" PRIu64 " sequences, each exactly once"
                     : "%" PRIu64 " sequences; the texts have %" PRIu64,
                 served, there);
    statesampler_mix_next(&f->mix, NULL, &count, &i);
    forget(f);
    return exact;
}

size_t feed_state_bytes(const feed *f)
{
    return statesampler_mix_state_bytes(&f->mix) +
           f->text->num_files * (size_t)AUDIT_BYTES;
}

const char *feed_save(const feed *f, unsigned char *state)
{
    const size_t size = statesampler_mix_state_bytes(&f->mix);
    const int code = statesampler_mix_save(&f->mix, state, size);
    uint32_t i;

    for (i = 0; i < f->text->num_files; i++) {
        unsigned char *to = state + size + i * (size_t)AUDIT_BYTES;
        statesampler_audit sum;
        const uint64_t served = audit_all(f, i, &sum);

        memcpy(to, &sum, sizeof sum);
        memcpy(to + sizeof sum, &f->audited[i], 8);
        memcpy(to + sizeof sum + 8, &served, 8);
    }
    return code == STATESAMPLER_OK ? "" : statesampler_error(code);
}

/* Whether the mix, which has just loaded a state, saves it as the same bytes. A
   state of another shape can be loaded too, but is then saved differently. */
static int is_same(const feed *f, const unsigned char *state)
{
    const size_t size = statesampler_mix_state_bytes(&f->mix);
    unsigned char *now = memory_borrow(size, 1);
    const int same =
        statesampler_mix_save(&f->mix, now, size) == STATESAMPLER_OK &&
        memcmp(now, state, size) == 0;

    free(now);
    return same;
}

const char *feed_load(feed *f, const unsigned char *state, size_t size,
                      int keep_audit)
{
    const size_t mix = statesampler_mix_state_bytes(&f->mix);
    feed before;
    uint32_t i;
    int code;

    if (size != feed_state_bytes(f))
        return "its sampler state has another length";
    memcpy(&before, f, sizeof before);
    code = statesampler_mix_load(&f->mix, state, mix);
    if (code != STATESAMPLER_OK)
        return statesampler_error(code);
    if (!is_same(f, state)) {
        memcpy(f, &before, sizeof before);
        return "its sampler state is from another world size or batch size";
    }
    if (feed_epoch(f) > (uint64_t)f->config->num_epochs) {
        memcpy(f, &before, sizeof before);
        return "its sampler state is past the last epoch";
    }
    forget(f);
    for (i = 0; i < f->text->num_files; i++) {
        const unsigned char *from = state + mix + i * (size_t)AUDIT_BYTES;

        if (keep_audit) { /* the sum of all goes to one process */
            memcpy(&f->audits[i], from, sizeof f->audits[i]);
            memcpy(&f->served[i], from + sizeof f->audits[i] + 8, 8);
        }
        memcpy(&f->audited[i], from + sizeof f->audits[i], 8);
    }
    return "";
}

uint64_t feed_restart_epoch(feed *f)
{
    const uint64_t epoch = feed_epoch(f);
    statesampler_audit sum;
    uint64_t served = 0, i;
    uint32_t source;
    size_t count;

    for (source = 0; source < f->text->num_files; source++)
        served += audit_all(f, source, &sum);
    /* A loaded mix does not look back past the load: begin the run again, and
       go to the end of each epoch before this one. */
    (void)begin(f);
    for (i = 0; i < epoch; i++) {
        statesampler_mix_seek(&f->mix, feed_steps(f));
        statesampler_mix_next(&f->mix, NULL, &count, &source);
    }
    forget(f);
    return served;
}

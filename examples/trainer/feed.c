/* feed.c - see feed.h. */
#include "feed.h"
#include "agree.h"
#include "memory.h"

#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static statesampler_desc describe(const feed *f, uint32_t file)
{
    const struct trainer_config *c = f->config;
    statesampler_desc desc = {
        .num_samples = f->text->files[file].train,
        .seed = (uint64_t)c->seed_value,
        .stream = file,
        .world_size = (uint32_t)c->world_size,
        .batch_size = (uint32_t)c->batchsize_per_replica,
        .drop_last = c->drop_last};

    if (c->use_debugging_sampler) {
        desc.order = STATESAMPLER_ORDER_SEQUENTIAL;
    } else if (c->use_stateful_distributed_sampler) {
        desc.partition = STATESAMPLER_PARTITION_BLOCKED;
        desc.tail = STATESAMPLER_TAIL_DROP;
    }
    return desc;
}

static void begin_epoch(feed *f)
{
    memset(&f->served, 0, sizeof f->served);
    statesampler_mix_save(&f->mix, f->start,
                          statesampler_mix_state_bytes(&f->mix));
}

const char *feed_init(feed *f, const text *t,
                      const struct trainer_config *config)
{
    const config_reals *weights = &config->weights;
    int code = STATESAMPLER_OK;
    uint32_t i;

    memset(f, 0, sizeof *f);
    f->text = t;
    f->config = config;
    for (i = 0; i < t->num_files && code == STATESAMPLER_OK; i++) {
        const statesampler_desc desc = describe(f, i);

        f->sources[i].weight =
            weights->count ? (uint32_t)weights->items[i] : 1;
        code = statesampler_init(&f->sources[i].sampler, &desc);
        if (code == STATESAMPLER_OK &&
            statesampler_num_steps(&f->sources[i].sampler) == 0)
            return complain("the text %s is too short for a single step",
                            t->files[i].path);
    }
    if (code == STATESAMPLER_OK)
        code = statesampler_mix_init(&f->mix, f->sources, t->num_files,
                                     (uint32_t)config->stop);
    if (code != STATESAMPLER_OK)
        return statesampler_error(code);
    f->batch =
        memory_take(MEMORY_WORK, (size_t)config->batchsize_per_replica, 8);
    f->start = memory_take(MEMORY_WORK, statesampler_mix_state_bytes(&f->mix),
                           1);
    begin_epoch(f);
    return "";
}

int feed_at_end(const feed *f)
{
    return statesampler_mix_turn(&f->mix) ==
           statesampler_mix_num_turns(&f->mix);
}

size_t feed_next(feed *f, uint64_t first, uint64_t last,
                 const unsigned char **leaves)
{
    const uint64_t batch = (uint64_t)f->config->batchsize_per_replica;
    const uint64_t turn = statesampler_mix_turn(&f->mix);
    size_t taken = 0, count, kept, i;
    statesampler_audit *audit;
    const statesampler *s;
    uint32_t source = 0;
    uint64_t rank;

    statesampler_mix_next(&f->mix, NULL, NULL, &source);
    s = &f->sources[source].sampler;
    audit = &f->served.audits[source];
    if (statesampler_step(s) == 1) /* the source has begun an epoch */
        memset(audit, 0, sizeof *audit);
    for (rank = first / batch; rank * batch < last; rank++) {
        statesampler_mix_reshape(&f->mix, (uint32_t)rank,
                                 (uint32_t)f->config->world_size);
        statesampler_mix_at(&f->mix, turn, f->batch, &count, &source);
        kept = count - statesampler_padding(s, statesampler_step(s) - 1);
        i = rank * batch < first ? (size_t)(first - rank * batch) : 0;
        for (; i < count && rank * batch + i < last; i++) {
            leaves[taken++] = text_train(f->text, source, f->batch[i]);
            if (i < kept) {
                statesampler_audit_add(audit, f->batch + i, 1);
                f->served.count++;
            }
        }
    }
    return taken;
}

/* Of the sources that there are. */
static size_t served_bytes(const feed *f)
{
    return 8 + f->text->num_files * sizeof *f->served.audits;
}

/* The sum over all processes. */
static void served_by_all(const feed *f, feed_served *all)
{
    MPI_Allreduce(&f->served, all, (int)served_bytes(f) / 8, MPI_UINT64_T,
                  MPI_SUM, MPI_COMM_WORLD);
}

int feed_end_epoch(feed *f, char *words, size_t size)
{
    int exact = 1, whole = 1;
    uint64_t there = 0;
    feed_served all;
    uint32_t i;

    served_by_all(f, &all);
    for (i = 0; i < f->text->num_files; i++) {
        const statesampler *s = &f->sources[i].sampler;
        statesampler_counts counts;

        there += f->text->files[i].train;
        statesampler_get_counts(s, &counts);
        if (statesampler_step(s) != statesampler_num_steps(s) ||
            f->config->drop_last)
            whole = 0; /* an audit cannot check a part of an epoch */
        else
            exact = exact && statesampler_audit_check(
                                 &all.audits[i],
                                 counts.positions - counts.padded);
    }
    if (exact && whole)
        snprintf(words, size, "%" PRIu64 " sequences, each exactly once",
                 all.count);
    else
        snprintf(words, size, "%s%" PRIu64 " sequences; the texts have %"
                 PRIu64, exact ? "" : "the audit FAILED: ", all.count, there);
    statesampler_mix_next(&f->mix, NULL, NULL, NULL);
    begin_epoch(f);
    return exact;
}

size_t feed_state_bytes(const feed *f)
{
    return statesampler_mix_state_bytes(&f->mix) + served_bytes(f);
}

const char *feed_save(const feed *f, unsigned char *state)
{
    const size_t size = statesampler_mix_state_bytes(&f->mix);
    int code = STATESAMPLER_OK;
    feed_served all;

    if (f->config->use_stateful_distributed_sampler)
        code = statesampler_mix_save(&f->mix, state, size);
    else
        memcpy(state, f->start, size);
    served_by_all(f, &all);
    memcpy(state + size, &all, served_bytes(f));
    return code == STATESAMPLER_OK ? "" : statesampler_error(code);
}

const char *feed_load(feed *f, const unsigned char *state, size_t size,
                      int keep_served)
{
    const size_t mix = statesampler_mix_state_bytes(&f->mix);
    int code;

    if (size != feed_state_bytes(f))
        return "its sampler state has another length";
    code = statesampler_mix_load(&f->mix, state, mix);
    if (code != STATESAMPLER_OK)
        return statesampler_error(code);
    if (feed_at_end(f) || statesampler_mix_epoch(&f->mix) >
                              (uint64_t)f->config->num_epochs)
        return "its sampler state is at an epoch's end or past the last epoch";
    begin_epoch(f);
    if (!f->config->use_stateful_distributed_sampler)
        memcpy(&f->again, state + mix, 8);
    else if (keep_served)
        memcpy(&f->served, state + mix, served_bytes(f));
    return "";
}

/* feed.c - see feed.h. */
#include "feed.h"
#include "agree.h"
#include "memory.h"

#include <inttypes.h>
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
        .drop_last = c->drop_last != 0,
    };

    if (c->use_debugging_sampler) {
        desc.order = STATESAMPLER_ORDER_SEQUENTIAL;
    } else if (c->use_stateful_distributed_sampler) {
        desc.partition = STATESAMPLER_PARTITION_BLOCKED;
        desc.tail = STATESAMPLER_TAIL_DROP;
    }
    return desc;
}

const char *feed_init(feed *f, const text *t,
                      const struct trainer_config *config)
{
    int code = STATESAMPLER_OK;
    uint32_t i;

    memset(f, 0, sizeof *f);
    f->text = t;
    f->config = config;
    f->num_sources = (uint32_t)config->data_paths.count;
    for (i = 0; i < f->num_sources && code == STATESAMPLER_OK; i++) {
        const statesampler_desc desc = describe(f, i);
        statesampler *s = &f->sources[i].sampler;

        code = statesampler_init(s, &desc);
        if (code == STATESAMPLER_OK && statesampler_num_steps(s) == 0)
            return complain("the text %s is too short for a single step",
                            t->files[i].path);
        /* Where none are given, all are 0, which means 1. */
        f->sources[i].weight = (uint32_t)config->weights.items[i];
    }
    if (code == STATESAMPLER_OK)
        code = statesampler_mix_init(&f->mix, f->sources, f->num_sources,
                                     (uint32_t)config->stop);
    if (code != STATESAMPLER_OK)
        return statesampler_error(code);
    f->batch =
        memory_take(MEMORY_WORK, (size_t)config->batchsize_per_replica, 8);
    f->leaves = memory_take(MEMORY_WORK, (size_t)config->global_batch,
                            sizeof *f->leaves);
    return "";
}

int feed_at_end(const feed *f)
{
    return statesampler_mix_turn(&f->mix) ==
           statesampler_mix_num_turns(&f->mix);
}

size_t feed_next(feed *f)
{
    const uint32_t ranks = (uint32_t)f->config->world_size;
    const uint32_t batch = (uint32_t)f->config->batchsize_per_replica;
    statesampler_audit *audit;
    uint32_t source = 0, rank;
    size_t taken = 0, count, kept, i;
    statesampler s;
    uint64_t step;

    statesampler_mix_next(&f->mix, NULL, NULL, &source);
    s = f->sources[source].sampler;
    step = statesampler_step(&s) - 1; /* the one that was taken */
    audit = &f->served.audits[source];
    if (step == 0) /* the source has begun an epoch */
        memset(audit, 0, sizeof *audit);
    for (rank = 0; rank < ranks; rank++) {
        statesampler_reshape(&s, rank, ranks, batch);
        statesampler_at(&s, step, f->batch, &count);
        kept = count - statesampler_padding(&s, step);
        statesampler_audit_add(audit, f->batch, kept);
        f->served.count += kept;
        for (i = 0; i < count; i++)
            f->leaves[taken++] = text_train(f->text, source, f->batch[i]);
    }
    return taken;
}

int feed_end_epoch(feed *f, char *words, size_t size)
{
    int exact = 1, whole = 1;
    uint64_t there = 0;
    uint32_t i;

    for (i = 0; i < f->num_sources; i++) {
        const statesampler *s = &f->sources[i].sampler;
        /* An audit cannot check a part of an epoch. */
        const int all = statesampler_step(s) == statesampler_num_steps(s) &&
                        !f->config->drop_last;
        statesampler_counts counts;

        there += f->text->files[i].train;
        if (!all) {
            whole = 0;
            continue;
        }
        statesampler_get_counts(s, &counts);
        if (!statesampler_audit_check(&f->served.audits[i],
                                      counts.positions - counts.padded))
            exact = 0;
    }
    if (exact && whole)
        snprintf(words, size, "%" PRIu64 " sequences, each exactly once",
                 f->served.count);
    else
        snprintf(words, size,
                 "%s%" PRIu64 " sequences; the texts have %" PRIu64,
                 exact ? "" : "the audit FAILED: ", f->served.count, there);
    statesampler_mix_next(&f->mix, NULL, NULL, NULL);
    memset(&f->served, 0, sizeof f->served);
    return exact;
}

/* Of the sources that there are. */
static size_t served_bytes(const feed *f)
{
    return 8 + f->num_sources * sizeof *f->served.audits;
}

size_t feed_state_bytes(const feed *f)
{
    return statesampler_mix_state_bytes(&f->mix) + served_bytes(f);
}

void feed_save(feed *f, unsigned char *state)
{
    const size_t size = statesampler_mix_state_bytes(&f->mix);
    const uint64_t turn = statesampler_mix_turn(&f->mix);

    if (!f->config->use_stateful_distributed_sampler)
        statesampler_mix_seek(&f->mix, 0);
    statesampler_mix_save(&f->mix, state, size);
    statesampler_mix_seek(&f->mix, turn);
    memcpy(state + size, &f->served, served_bytes(f));
}

const char *feed_load(feed *f, const unsigned char *state, size_t size)
{
    const size_t mix = statesampler_mix_state_bytes(&f->mix);
    int code;

    if (size != feed_state_bytes(f))
        return "its sampler state has another length";
    code = statesampler_mix_load(&f->mix, state, mix);
    if (code != STATESAMPLER_OK)
        return statesampler_error(code);
    if (feed_at_end(f) ||
        statesampler_mix_epoch(&f->mix) > (uint64_t)f->config->num_epochs)
        return "its sampler state is at an epoch's end or past the last epoch";
    if (f->config->use_stateful_distributed_sampler)
        memcpy(&f->served, state + mix, served_bytes(f));
    else
        memcpy(&f->again, state + mix, 8);
    return "";
}

/* run.c - see run.h. */
#include "run.h"
#include "agree.h"
#include "memory.h"

#include <cblas.h>
#include <math.h>
#include <mpi.h>
#include <string.h>

/* ---- Setup ---- */

/* OpenBLAS chooses a kernel by the type of the processor; kernels round
   differently. */
static void name_kernel(run *r)
{
    const char *name = openblas_get_corename();
    const int same = agree_same(text_hash(TEXT_HASH, name, strlen(name)));

    snprintf(r->blas, sizeof r->blas, "%s", same ? name : "several");
    if (r->rank == 0 && !same)
        fprintf(stderr,
                "trainer: not all processes use the OpenBLAS kernel "
                "%s: the bits may differ from other runs\n",
                name);
}

void run_init_model(run *r)
{
    const struct trainer_config *c = &r->config;
    const model_shape shape = {
        .layers = (size_t)c->num_layers,
        .heads = (size_t)c->num_heads,
        .width = (size_t)c->hidden_dim,
        .mlp = (size_t)c->mlp_dim,
        .context = (size_t)c->context,
    };

    model_init(&r->model, &shape, (size_t)c->splits, c->half);
    model_fill(&r->model, (uint64_t)c->seed_value);
    reduce_owners(&r->model, r->rank, r->world);
    reduce_init(&r->reduce, &r->model, c);
    optimizer_init(c, &r->model);
    scaler_init(&r->scaler, r->model.half, c->loss_scale);
}

void run_init(run *r)
{
    const struct trainer_config *c = &r->config;

    openblas_set_num_threads(1); /* more give other bits */
    name_kernel(r);
    agree(text_open(&r->text, c));
    agree(agree_same(r->text.hash) ? "" /* each node may have its own copy */
                                   : "the texts differ between processes");
    agree(feed_init(&r->feed, &r->text, c));
    run_init_model(r);
    r->log_hash = TEXT_HASH;
}

/* ---- A step ---- */

volatile sig_atomic_t run_stop;

const char *run_step(run *r)
{
    const size_t rank = (size_t)r->rank, world = (size_t)r->world;
    const double scale = r->scaler.scale;
    /* Not r->step: steps of a restarted epoch count once, so that the schedule
       ends with the last epoch. */
    const uint64_t steps = statesampler_mix_num_turns(&r->feed.mix);
    const uint64_t done = statesampler_mix_epoch(&r->feed.mix) * steps +
                          statesampler_mix_turn(&r->feed.mix);
    const size_t leaves = feed_next(&r->feed);
    const size_t first = leaves * rank / world; /* of this process's */
    const size_t last = leaves * (rank + 1) / world;
    const size_t most = (leaves + world - 1) / world; /* of any process */
    int overflowed;
    size_t i;

    r->rate = schedule_of_step(&r->config, done, steps);
    reduce_begin(&r->reduce, 1 / scale, last - first, most);
    r->reduce.totals[REDUCE_STOPS] = run_stop;
    for (i = first; i < last; i++)
        reduce_loss(&r->reduce,
                    model_leaf(&r->model, r->feed.leaves[i], (real)scale,
                               reduce_sink, &r->reduce));
    reduce_finish(&r->reduce);
    r->step++;
    /* Losses are summed unscaled, so another loss scale cannot help. */
    if (isnan(reduce_mean_loss(&r->reduce)))
        return "a loss is not a number or above 2048: lower the learning rate";
    /* At such a small scale, halving it again does not help: all further steps
       would be skipped. */
    overflowed = r->reduce.totals[REDUCE_OVERFLOWS] != 0;
    if (overflowed && !r->scaler.dynamic && scale > 1)
        return "a gradient overflowed: let loss_scale be dynamic, or lower it";
    if (overflowed && (!r->scaler.dynamic || scale < 1e-6))
        return "a gradient overflowed: lower the learning rate";
    if (scaler_skips(&r->scaler, overflowed))
        r->skipped++;
    else
        optimizer_step(&r->config, &r->model, &r->reduce, r->rate,
                       r->step - r->skipped);
    return "";
}

/* ---- Evaluation and digest ---- */

double run_held_out(run *r)
{
    uint64_t i;

    reduce_begin(&r->reduce, 1, 0, 0);
    for (i = (uint64_t)r->rank; i < r->text.held; i += (uint64_t)r->world)
        reduce_loss(&r->reduce, model_leaf(&r->model, text_held(&r->text, i), 1,
                                           NULL, NULL));
    reduce_finish(&r->reduce);
    return reduce_mean_loss(&r->reduce) / log(2);
}

uint64_t run_digest(const run *r)
{
    const size_t count = r->model.num_tensors;
    uint64_t *hashes = memory_take(MEMORY_WORK, count + 1, sizeof *hashes);
    size_t t;
    int i;

    for (t = 0; t < count; t++) {
        const model_tensor *tensor = r->model.tensors + t;

        if (!tensor->mine)
            continue;
        hashes[t] = TEXT_HASH;
        for (i = 0; i < r->model.arrays; i++)
            hashes[t] = text_hash(hashes[t], tensor->array[i],
                                  tensor->size * sizeof(float));
    }
    MPI_Allreduce(MPI_IN_PLACE, hashes, (int)count, MPI_UINT64_T, MPI_SUM,
                  MPI_COMM_WORLD);
    hashes[count] = r->log_hash; /* the same on all processes */
    return text_hash(TEXT_HASH, hashes, (count + 1) * sizeof *hashes);
}

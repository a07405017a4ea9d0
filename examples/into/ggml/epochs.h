/* epochs.h - epochs of ggml-opt that go on at the next batch after a kill: with
   the order, the weights, AdamW's moments and its count of steps. Include it
   after statesampler.h; copy it with split.h. It calls only what ggml's headers
   declare, and needs an optimizer context with static graphs, as ggml_opt_epoch
   does.

   What a ggml_opt_result_t has added up of an epoch is not saved. */
#ifndef EPOCHS_H
#define EPOCHS_H

#include <ggml-backend.h>
#include <ggml-opt.h>
#include <math.h>
#include <string.h>

#include "split.h"

/* Set all but `steps`, samples by split_init. Its batch_size is that of a step
   of the optimizer: the inputs' second dimension times the opt_period. */
typedef struct epochs {
    ggml_backend_sched_t sched;
    ggml_opt_context_t opt_ctx;
    struct ggml_context *ctx_compute; /* these three: of ggml_opt_params */
    ggml_opt_dataset_t dataset;
    split samples;
    uint64_t *batch; /* has room for batch_size numbers */
    uint64_t steps;  /* of the optimizer, in the whole run */
} epochs;

/* AdamW divides its moments by 1 - beta^steps, but ggml-opt counts the steps
   since the process began. So this puts in what the run's count gives, before
   the optimizer's nodes are computed. */
static inline bool epochs_correct(struct ggml_tensor *node, bool ask, void *e)
{
    const float steps = (float)(((const epochs *)e)->steps + 1);
    float p[7]; /* 1, 2: beta1, beta2; 5, 6: 1 / (1 - beta^steps) */

    if (ask && node->op == GGML_OP_OPT_STEP_ADAMW) {
        ggml_backend_tensor_get(node->src[4], p, 0, sizeof p);
        p[5] = 1.0f / (1.0f - powf(p[1], steps));
        p[6] = 1.0f / (1.0f - powf(p[2], steps));
        ggml_backend_tensor_set(node->src[4], p, 0, sizeof p);
    }
    return !ask; /* no node is of interest; go on after any */
}

static inline void epochs_begin(epochs *e)
{
    e->steps = 0;
    ggml_backend_sched_set_eval_callback(e->sched, epochs_correct, e);
}

static inline void epochs_copy(struct ggml_tensor *from, struct ggml_tensor *to,
                               const uint64_t *rows)
{
    const size_t bytes = from->nb[1];
    int64_t i;

    for (i = 0; i < to->ne[1]; i++)
        ggml_backend_tensor_set(to, (const char *)from->data + rows[i] * bytes,
                                (size_t)i * bytes, bytes);
}

/* Evaluates these samples, as many as the inputs have room for. */
static inline void epochs_eval(epochs *e, const uint64_t *samples, bool train,
                               ggml_opt_result_t result)
{
    ggml_opt_alloc(e->opt_ctx, train);
    epochs_copy(ggml_opt_dataset_data(e->dataset), ggml_opt_inputs(e->opt_ctx),
                samples);
    if (ggml_opt_dataset_labels(e->dataset) != NULL)
        epochs_copy(ggml_opt_dataset_labels(e->dataset),
                    ggml_opt_labels(e->opt_ctx), samples);
    ggml_opt_eval(e->opt_ctx, result);
}

/* The next step of the optimizer. Returns 0 once at the end of an epoch. */
static inline int epochs_train(epochs *e, ggml_opt_result_t result)
{
    size_t count, i;

    if (!split_next(&e->samples, e->batch, &count))
        return 0;
    for (i = 0; i < count; i += (size_t)ggml_opt_inputs(e->opt_ctx)->ne[1])
        epochs_eval(e, e->batch + i, true, result);
    e->steps++;
    return 1;
}

/* Evaluates the samples held out, but for a last batch that is not full. */
static inline void epochs_validate(epochs *e, ggml_opt_result_t result)
{
    const uint64_t size = (uint64_t)ggml_opt_inputs(e->opt_ctx)->ne[1];
    uint64_t first;

    for (first = 0; first + size <= e->samples.held_out; first += size) {
        split_held_out(&e->samples, first, e->batch, (size_t)size);
        epochs_eval(e, e->batch, false, result);
    }
}

/* A checkpoint: a state, the count of steps, and for each parameter its values
   and AdamW's moments. Moves the tensors to (save 1) or from a buffer, which
   may be NULL. Returns the size of all. */
static inline size_t epochs_move(epochs *e, char *buffer, int save)
{
    size_t place = STATESAMPLER_STATE_BYTES + sizeof e->steps, bytes;
    struct ggml_tensor *t = ggml_get_first_tensor(e->ctx_compute);
    int i, last; /* a step's tensors: values, gradients, both moments */

    for (; t != NULL; t = ggml_get_next_tensor(e->ctx_compute, t)) {
        last = t->op == GGML_OP_OPT_STEP_ADAMW ? 3
               : t->op == GGML_OP_OPT_STEP_SGD ? 0
                                               : -1;
        for (i = 0; i <= last; i += i == 0 ? 2 : 1, place += bytes) {
            bytes = ggml_nbytes(t->src[i]);
            if (buffer != NULL && save)
                ggml_backend_tensor_get(t->src[i], buffer + place, 0, bytes);
            else if (buffer != NULL)
                ggml_backend_tensor_set(t->src[i], buffer + place, 0, bytes);
        }
    }
    return place;
}

/* ECAPACITY: the buffer is too small. */
static inline int epochs_save(epochs *e, void *buffer, size_t size)
{
    if (size < epochs_move(e, NULL, 0))
        return STATESAMPLER_ECAPACITY;
    epochs_move(e, (char *)buffer, 1);
    memcpy((char *)buffer + STATESAMPLER_STATE_BYTES, &e->steps,
           sizeof e->steps);
    return statesampler_save(&e->samples.train, buffer,
                             STATESAMPLER_STATE_BYTES);
}

/* ECORRUPT: of another model; or as statesampler_load. Then nothing changes. */
static inline int epochs_load(epochs *e, void *buffer, size_t size)
{
    int code = STATESAMPLER_ECORRUPT;

    if (size == epochs_move(e, NULL, 0))
        code = statesampler_load(&e->samples.train, buffer,
                                 STATESAMPLER_STATE_BYTES);
    if (code == STATESAMPLER_OK) {
        memcpy(&e->steps, (char *)buffer + STATESAMPLER_STATE_BYTES,
               sizeof e->steps);
        epochs_move(e, (char *)buffer, 0);
    }
    return code;
}

#endif

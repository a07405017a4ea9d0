/* optimizer.c - see optimizer.h. */
#include "optimizer.h"
#include "memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The weights; with them SGD keeps the momentum, if there is one, and AdamW two
   moments. */
static int arrays_of(const struct trainer_config *c)
{
    if (c->algorithm == CONFIG_ADAMW)
        return 3;
    return c->momentum > 0 ? 2 : 1;
}

void optimizer_init(const struct trainer_config *c, model *m)
{
    size_t t;
    int i;

    m->arrays = arrays_of(c);
    for (t = 0; t < m->num_tensors; t++)
        for (i = 1; i < m->arrays; i++)
            if (c->zero_stage == 0 || m->tensors[t].mine)
                m->tensors[t].array[i] =
                    memory_take(MEMORY_OPTIMIZER, m->tensors[t].size,
                                sizeof(float));
}

/* ---- The rules ---- */

/* Weight decay of a tensor, by its kind and its name. */
static double decay_of(const struct trainer_config *c, const model_tensor *t)
{
    const config_texts *names = &c->non_regularized_parameters;
    uint32_t i;

    if (c->construct_single_param_group_only)
        return c->weight_decay;
    if ((t->kind == MODEL_NORM && !c->regularize_bn) ||
        (t->kind == MODEL_BIAS && !c->regularize_bias))
        return 0;
    for (i = 0; i < names->count; i++)
        if (strstr(t->name, names->items[i]))
            return 0;
    return c->weight_decay;
}

/* The norm of a whole tensor, in a fixed order, so the same on any number of
   processes. */
static double norm(const float *values, size_t size)
{
    double sum = 0;
    size_t i;

    for (i = 0; i < size; i++)
        sum += (double)values[i] * (double)values[i];
    return sqrt(sum);
}

/* LARC: scales the gradient so that the length of an SGD step is proportional
   to that of the weights. If the weights or the gradient are zero, the gradient
   is unchanged and there is no weight decay in this step: see larc.yaml. */
static void larc(const struct trainer_config *c, const model_tensor *t,
                 float *gradient, double rate)
{
    const float *weight = t->array[0];
    const double length = norm(weight, t->size);
    const double slope = norm(gradient, t->size), decay = decay_of(c, t);
    double adapted;
    size_t i;

    if (length <= 0 || slope <= 0)
        return;
    adapted = c->larc_trust_coefficient * length /
              (slope + length * decay + c->larc_eps);
    if (c->larc_clip) {
        adapted /= rate;
        adapted = adapted < 1 ? adapted : 1;
    }
    for (i = 0; i < t->size; i++)
        gradient[i] = (gradient[i] + (float)decay * weight[i]) * (float)adapted;
}

void optimizer_sgd(const struct trainer_config *c, const model_tensor *t,
                   float *gradient, double rate)
{
    const float decay = c->use_larc ? 0 : (float)decay_of(c, t);
    const float keep = (float)c->momentum;
    float *weight = t->array[0], *momentum = t->array[1];
    size_t i;

    if (c->use_larc)
        larc(c, t, gradient, rate);
    for (i = 0; i < t->size; i++) {
        float step = gradient[i] + decay * weight[i];

        if (momentum) {
            momentum[i] = keep * momentum[i] + step;
            step = c->nesterov ? step + keep * momentum[i] : momentum[i];
        }
        weight[i] -= (float)rate * step;
    }
}

void optimizer_adamw(const struct trainer_config *c, const model_tensor *t,
                     const float *gradient, double rate, uint64_t step)
{
    const double *betas = c->betas.items;
    const float beta1 = (float)betas[0], beta2 = (float)betas[1];
    const float rest1 = (float)(1 - betas[0]), rest2 = (float)(1 - betas[1]);
    const float shrink = (float)(1 - rate * decay_of(c, t));
    const float pace = (float)(rate / (1 - pow(betas[0], (double)step)));
    const float root = (float)sqrt(1 - pow(betas[1], (double)step));
    float *weight = t->array[0], *mean = t->array[1], *square = t->array[2];
    size_t i;

    for (i = 0; i < t->size; i++) {
        mean[i] = beta1 * mean[i] + rest1 * gradient[i];
        square[i] = beta2 * square[i] + rest2 * gradient[i] * gradient[i];
        weight[i] = weight[i] * shrink -
                    pace * mean[i] / (sqrtf(square[i]) / root + 1e-8f);
    }
}

/* ---- A step ---- */

double optimizer_norm(const float *values, size_t size, double power)
{
    double largest = 0, sum = 0;
    size_t i;

    for (i = 0; i < size; i++)
        largest = fmax(largest, fabs((double)values[i]));
    if (isinf(power) || largest <= 0)
        return largest;
    for (i = 0; i < size; i++) {
        const double x = fabs((double)values[i]) / largest;

        sum += power > 2 || power < 2 ? pow(x, power) : x * x;
    }
    return largest * pow(sum, 1 / power);
}

/* The factor that reduces the norm of all gradients to at most MAX_NORM. It is
   the norm of the tensors' norms, each computed by its owner. */
static double clipping(const struct trainer_config *c, model *m,
                       const reduce *r)
{
    float *norms;
    double total;
    size_t t;

    if (!c->use_grad_clip)
        return 1;
    norms = memory_borrow(m->num_tensors, sizeof *norms);
    for (t = 0; t < m->num_tensors; t++) {
        if (!m->tensors[t].mine)
            continue;
        reduce_gradient(r, t, m->gradient);
        norms[t] = (float)optimizer_norm(m->gradient, m->tensors[t].size,
                                         c->norm_type);
    }
    /* Exact, as all processes but one have 0. */
    MPI_Allreduce(MPI_IN_PLACE, norms, (int)m->num_tensors, MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
    total = optimizer_norm(norms, m->num_tensors, c->norm_type);
    free(norms);
    return fmin(c->max_norm / (total + 1e-6), 1);
}

void optimizer_share(model *m, int arrays)
{
    size_t t;
    int i;

    for (t = 0; t < m->num_tensors; t++)
        for (i = 0; i < arrays; i++)
            MPI_Bcast(m->tensors[t].array[i], (int)m->tensors[t].size,
                      MPI_FLOAT, m->tensors[t].owner, MPI_COMM_WORLD);
}

void optimizer_step(const struct trainer_config *c, model *m, const reduce *r,
                    double rate, uint64_t step)
{
    const float clip = (float)clipping(c, m, r);
    size_t t, i;

    for (t = 0; t < m->num_tensors; t++) {
        const model_tensor *tensor = m->tensors + t;

        if (c->zero_stage > 0 && !tensor->mine)
            continue;
        reduce_gradient(r, t, m->gradient);
        for (i = 0; clip < 1 && i < tensor->size; i++)
            m->gradient[i] *= clip;
        if (c->algorithm == CONFIG_ADAMW)
            optimizer_adamw(c, tensor, m->gradient, rate, step);
        else
            optimizer_sgd(c, tensor, m->gradient, rate);
    }
    if (c->zero_stage > 0)
        optimizer_share(m, 1);
}

/* ---- The loss scale ---- */

#define MOST 16777216.0
enum { GROWS = 2000 }; /* steps without overflow until the scale doubles */

void scaler_init(scaler *s, int half, double fixed)
{
    s->dynamic = half && fixed <= 0;
    if (s->dynamic)
        s->scale = 65536;
    else
        s->scale = half ? fixed : 1;
    s->unskipped = 0;
}

int scaler_skips(scaler *s, int overflowed)
{
    if (!s->dynamic)
        return 0;
    if (overflowed) {
        s->scale /= 2;
        s->unskipped = 0;
        return 1;
    }
    s->unskipped++;
    if (s->unskipped == GROWS) {
        if (s->scale < MOST)
            s->scale *= 2;
        s->unskipped = 0;
    }
    return 0;
}

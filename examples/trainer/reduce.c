/* reduce.c - see reduce.h. */
#include "reduce.h"
#include "memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PARTS 1099511627776.0 /* 2^40 */

/* ---- Integers ---- */

/* For |x| < 2^51, the low bits of 1.5 * 2^52 + x are x rounded to an integer:
   subtracting the bits of 1.5 * 2^52 gives that integer. */
int64_t reduce_round(int64_t *sums, const real *values, size_t count,
                     double scale)
{
    const double shift = 6755399441055744.0;
    int64_t shift_bits, bad = 0;
    size_t i;

    memcpy(&shift_bits, &shift, sizeof shift_bits);
    for (i = 0; i < count; i++) {
        union {
            double value;
            int64_t bits;
        } x;
        double value = (double)values[i] * scale;
        int fits = value > -REDUCE_LIMIT && value < REDUCE_LIMIT;

        value = fits ? value : 0;
        x.value = value * PARTS + shift;
        sums[i] += x.bits - shift_bits;
        bad += !fits;
    }
    return bad;
}

void reduce_owners(model *m, int rank, int world)
{
    size_t *sum = memory_borrow((size_t)world, sizeof *sum), t;
    int i;

    for (t = 0; t < m->num_tensors; t++) {
        model_tensor *tensor = m->tensors + t;

        tensor->owner = 0;
        for (i = 1; i < world; i++)
            if (sum[i] < sum[tensor->owner])
                tensor->owner = i;
        tensor->mine = tensor->owner == rank;
        sum[tensor->owner] += tensor->size;
    }
    free(sum);
}

void reduce_init(reduce *r, const model *m, const struct trainer_config *config)
{
    const int64_t elements = config->reduce_buffer_size;
    int64_t *all = NULL;
    size_t t;

    memset(r, 0, sizeof *r);
    r->m = m;
    r->config = config;
    r->requests = memory_take(MEMORY_WORK, m->num_tensors, sizeof *r->requests);
    if (config->zero_stage == 2 && elements >= 0) {
        r->capacity = m->largest; /* 0: whole tensors */
        if (elements > 0 && (size_t)elements < m->largest)
            r->capacity = (size_t)elements;
        r->piece = memory_take(MEMORY_GRADIENTS, r->capacity, 8);
    } else {
        all = memory_take(MEMORY_GRADIENTS, m->num_weights, 8);
    }
    for (t = 0; t < m->num_tensors; t++) {
        model_tensor *tensor = m->tensors + t;

        if (all)
            tensor->sum = all + tensor->offset;
        else if (tensor->mine)
            tensor->sum = memory_take(MEMORY_GRADIENTS, tensor->size, 8);
    }
}

static void end_sums(reduce *r)
{
    MPI_Waitall(r->begun, r->requests, MPI_STATUSES_IGNORE);
    r->begun = 0;
}

/* Begins to sum values over all processes: for a tensor's owner in stage 2, or
   for all. By hand, and by pieces, it also ends. */
static void begin_sum(reduce *r, int64_t *values, size_t count,
                      const model_tensor *tensor)
{
    MPI_Request *request = &r->requests[r->begun++];

    *request = MPI_REQUEST_NULL;
    if (r->config->zero_stage == 2 && tensor->mine)
        MPI_Ireduce(MPI_IN_PLACE, values, (int)count, MPI_INT64_T, MPI_SUM,
                    tensor->owner, MPI_COMM_WORLD, request);
    else if (r->config->zero_stage == 2)
        MPI_Ireduce(values, NULL, (int)count, MPI_INT64_T, MPI_SUM,
                    tensor->owner, MPI_COMM_WORLD, request);
    else if (r->config->manual_gradient_reduction || tensor == r->m->tensors)
        MPI_Allreduce(MPI_IN_PLACE, values, (int)count, MPI_INT64_T, MPI_SUM,
                      MPI_COMM_WORLD); /* faster; there is nothing to overlap */
    else
        MPI_Iallreduce(MPI_IN_PLACE, values, (int)count, MPI_INT64_T, MPI_SUM,
                       MPI_COMM_WORLD, request);
    if (r->piece || r->config->manual_gradient_reduction)
        end_sums(r);
}

/* ---- Once per step: every process adds up its leaves first ---- */

/* Sends the sums from this tensor on, in one bucket, unless the tensor before
   fits into it too; in stage 2 each tensor has its own owner. Tensors come from
   the last to the first, as in the backward pass. */
static void tensor_end(reduce *r, const model_tensor *tensor)
{
    const double cap = r->config->ddp_bucket_cap_mb * 1048576;
    const size_t count = r->rest - tensor->offset;

    if (tensor != r->m->tensors && r->config->zero_stage < 2 &&
        (double)(count + tensor[-1].size) * 8 <= cap)
        return;
    begin_sum(r, tensor->sum, count, tensor);
    r->rest = tensor->offset;
}

/* ---- By pieces, after each leaf: only the owner has the sum ---- */

/* gradient: NULL if this process has no leaf where another one has. */
static void send_pieces(reduce *r, const model_tensor *tensor,
                        const real *gradient)
{
    size_t from, count, i;

    for (from = 0; from < tensor->size; from += count) {
        const size_t left = tensor->size - from;

        count = left < r->capacity ? left : r->capacity;
        memset(r->piece, 0, count * 8);
        if (gradient)
            r->totals[REDUCE_OVERFLOWS] +=
                reduce_round(r->piece, gradient + from, count, r->unscale);
        begin_sum(r, r->piece, count, tensor);
        for (i = 0; tensor->mine && i < count; i++)
            tensor->sum[from + i] += r->piece[i];
    }
}

/* ---- A step ---- */

void reduce_begin(reduce *r, double unscale, uint64_t leaves, uint64_t most)
{
    size_t t;

    for (t = 0; t < r->m->num_tensors; t++)
        if (r->m->tensors[t].sum)
            memset(r->m->tensors[t].sum, 0, r->m->tensors[t].size * 8);
    memset(r->totals, 0, sizeof r->totals);
    r->unscale = unscale;
    r->leaves = (int64_t)leaves;
    r->most = most;
    r->rest = most > 0 && !r->piece ? r->m->num_weights : 0;
}

void reduce_sink(void *context, size_t tensor, const real *gradient)
{
    reduce *r = (reduce *)context;
    const model_tensor *t = r->m->tensors + tensor;
    const int last = r->totals[REDUCE_COUNT] + 1 == r->leaves;
    int done;

    if (r->piece) {
        send_pieces(r, t, gradient);
        return;
    }
    r->totals[REDUCE_OVERFLOWS] +=
        reduce_round(t->sum, gradient, t->size, r->unscale);
    if (!last || r->config->manual_gradient_reduction)
        return;
    /* MPI makes progress only while it is called. */
    MPI_Testall(r->begun, r->requests, &done, MPI_STATUSES_IGNORE);
    tensor_end(r, t);
}

void reduce_loss(reduce *r, double nats)
{
    const real loss = (real)nats;

    r->totals[REDUCE_NO_LOSS] +=
        reduce_round(&r->totals[REDUCE_NATS], &loss, 1, 1);
    r->totals[REDUCE_COUNT]++;
}

void reduce_finish(reduce *r)
{
    uint64_t leaf;
    size_t t;

    for (leaf = (uint64_t)r->leaves; r->piece && leaf < r->most; leaf++)
        for (t = r->m->num_tensors; t-- > 0;)
            send_pieces(r, r->m->tensors + t, NULL);
    /* By hand, or where no leaf was the last, nothing is sent yet. */
    for (t = r->m->num_tensors; r->rest > 0 && t-- > 0;)
        tensor_end(r, r->m->tensors + t);
    end_sums(r);
    MPI_Allreduce(MPI_IN_PLACE, r->totals, REDUCE_TOTALS, MPI_INT64_T, MPI_SUM,
                  MPI_COMM_WORLD);
}

double reduce_mean_loss(const reduce *r)
{
    if (r->totals[REDUCE_NO_LOSS] != 0)
        return (double)NAN;
    return (double)r->totals[REDUCE_NATS] / PARTS /
           (double)r->totals[REDUCE_COUNT];
}

void reduce_gradient(const reduce *r, size_t tensor, real *gradient)
{
    const int64_t *sum = r->m->tensors[tensor].sum;
    const double share = PARTS * (double)r->totals[REDUCE_COUNT];
    size_t i;

    for (i = 0; i < r->m->tensors[tensor].size; i++)
        gradient[i] = (real)((double)sum[i] / share);
}

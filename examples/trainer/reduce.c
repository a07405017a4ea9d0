/* reduce.c - see reduce.h. */
#include "reduce.h"
#include "memory.h"

#include <math.h>
#include <stb_ds.h>
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

void reduce_owners(int *owner, const model *m, int world)
{
    size_t *sum = memory_borrow((size_t)world, sizeof *sum), t;
    int rank;

    for (t = 0; t < m->num_tensors; t++) {
        owner[t] = 0;
        for (rank = 1; rank < world; rank++)
            if (sum[rank] < sum[owner[t]])
                owner[t] = rank;
        sum[owner[t]] += m->tensors[t].size;
    }
    free(sum);
}

/* ---- Memory ---- */

static void take_sums(reduce *r)
{
    size_t t, size = 0;

    r->sum = memory_take(MEMORY_WORK, r->m->num_tensors, sizeof *r->sum);
    for (t = 0; t < r->m->num_tensors; t++)
        if (!r->pieces_only || r->owner[t] == r->rank)
            size += r->m->tensors[t].size;
    r->sums = memory_take(MEMORY_GRADIENTS, size, 8);
    for (t = 0, size = 0; t < r->m->num_tensors; t++)
        if (!r->pieces_only || r->owner[t] == r->rank) {
            r->sum[t] = r->sums + size;
            size += r->m->tensors[t].size;
        }
}

/* Buckets go from the last tensor to the first, as the backward pass does. They
   contain whole tensors. */
static void make_buckets(reduce *r, double bytes)
{
    const model_tensor *tensors = r->m->tensors;
    size_t t = r->m->num_tensors, size;

    r->requests = memory_take(MEMORY_WORK, t, sizeof *r->requests);
    while (t > 0) { /* ends: each bucket has at least one tensor */
        reduce_bucket b = {.last = --t};

        size = tensors[t].size;
        while (t > 0 && (double)(size + tensors[t - 1].size) * 8 <= bytes)
            size += tensors[--t].size;
        b.first = t;
        arrput(r->buckets, b);
    }
}

void reduce_init(reduce *r, const model *m, const int *owner,
                 const struct trainer_config *config)
{
    const int64_t elements = config->model.sharded_ddp_setup.reduce_buffer_size;
    int i;

    memset(r, 0, sizeof *r);
    r->m = m;
    r->owner = owner;
    r->stage = config_zero_stage(config);
    r->manual = config->distributed.manual_gradient_reduction;
    r->pieces_only = r->stage == 2 && elements >= 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &r->rank);
    take_sums(r);
    /* In stage 2 each tensor has an owner of its own. */
    make_buckets(r, r->stage == 2 ? 0
                                  : config->data.ddp_bucket_cap_mb * 1048576);
    if (!r->pieces_only)
        return;
    r->capacity = m->largest; /* 0 elements: whole tensors */
    if (elements > 0 && (size_t)elements < 2 * m->largest)
        r->capacity = elements > 1 ? (size_t)elements / 2 : 1;
    for (i = 0; i < 2; i++)
        r->pieces[i].values = memory_take(MEMORY_GRADIENTS, r->capacity, 8);
}

/* ---- Once per step: every process adds up its leaves first ---- */

static void bucket_begin(reduce *r)
{
    const reduce_bucket *b = &r->buckets[r->begun];
    const model_tensor *last = r->m->tensors + b->last;
    const size_t count =
        last->offset + last->size - r->m->tensors[b->first].offset;
    const int owner = r->owner[b->first], mine = owner == r->rank;
    int64_t *sum = r->sum[b->first];
    MPI_Request *request = &r->requests[r->begun];

    if (r->stage == 2)
        MPI_Ireduce(mine ? MPI_IN_PLACE : sum, mine ? sum : NULL, (int)count,
                    MPI_INT64_T, MPI_SUM, owner, MPI_COMM_WORLD, request);
    else
        MPI_Iallreduce(MPI_IN_PLACE, sum, (int)count, MPI_INT64_T, MPI_SUM,
                       MPI_COMM_WORLD, request);
    if (r->manual)
        MPI_Wait(request, MPI_STATUS_IGNORE);
    r->begun++;
}

static void add_here(reduce *r, size_t tensor, const real *gradient)
{
    int done;

    r->totals[REDUCE_OVERFLOWS] += reduce_round(
        r->sum[tensor], gradient, r->m->tensors[tensor].size, r->unscale);
    if (!r->is_last || r->manual)
        return;
    if (r->begun > 0) /* MPI makes progress only while it is called */
        MPI_Testall((int)r->begun, r->requests, &done, MPI_STATUSES_IGNORE);
    if (r->buckets[r->begun].first == tensor)
        bucket_begin(r);
}

/* ---- By pieces, after each leaf: only the owner has the sum ---- */

static void piece_end(reduce *r, reduce_piece *p)
{
    size_t i;

    if (!p->under_way)
        return;
    MPI_Wait(&p->request, MPI_STATUS_IGNORE);
    p->under_way = 0;
    if (r->owner[p->tensor] == r->rank)
        for (i = 0; i < p->count; i++)
            r->sum[p->tensor][p->from + i] += p->values[i];
}

static void piece_begin(reduce *r, reduce_piece *p)
{
    const int owner = r->owner[p->tensor], mine = owner == r->rank;

    MPI_Ireduce(mine ? MPI_IN_PLACE : p->values, mine ? p->values : NULL,
                (int)p->count, MPI_INT64_T, MPI_SUM, owner, MPI_COMM_WORLD,
                &p->request);
    p->under_way = 1;
    if (r->manual)
        piece_end(r, p);
}

/* gradient may be NULL: nothing to add. */
static void send_pieces(reduce *r, size_t tensor, const real *gradient)
{
    const size_t size = r->m->tensors[tensor].size;
    size_t from;

    for (from = 0; from < size; from += r->capacity) {
        reduce_piece *p = &r->pieces[r->turn];

        r->turn = !r->turn;
        piece_end(r, p);
        p->tensor = tensor;
        p->from = from;
        p->count = size - from < r->capacity ? size - from : r->capacity;
        memset(p->values, 0, p->count * 8);
        if (gradient)
            r->totals[REDUCE_OVERFLOWS] += reduce_round(
                p->values, gradient + from, p->count, r->unscale);
        piece_begin(r, p);
    }
}

/* ---- A step ---- */

void reduce_begin(reduce *r)
{
    const model *m = r->m;
    size_t t;

    for (t = 0; t < m->num_tensors; t++)
        if (r->sum[t])
            memset(r->sum[t], 0, m->tensors[t].size * 8);
    memset(r->totals, 0, sizeof r->totals);
    r->begun = 0;
}

void reduce_leaf(reduce *r, double unscale, int is_last)
{
    r->unscale = unscale;
    r->is_last = is_last;
}

void reduce_sink(void *context, size_t tensor, const real *gradient)
{
    reduce *r = (reduce *)context;

    if (r->pieces_only)
        send_pieces(r, tensor, gradient);
    else
        add_here(r, tensor, gradient);
}

void reduce_loss(reduce *r, double nats)
{
    const real loss = (real)nats;
    const int64_t bad = reduce_round(&r->totals[REDUCE_NATS], &loss, 1, 1);

    r->totals[REDUCE_NO_LOSS] += bad;
    r->totals[REDUCE_OVERFLOWS] += bad;
    r->totals[REDUCE_COUNT]++;
}

void reduce_no_leaf(reduce *r)
{
    size_t t;

    for (t = r->m->num_tensors; r->pieces_only && t-- > 0;)
        send_pieces(r, t, NULL);
}

void reduce_finish(reduce *r)
{
    while (!r->pieces_only && r->begun < arrlenu(r->buckets))
        bucket_begin(r);
    if (!r->pieces_only)
        MPI_Waitall((int)r->begun, r->requests, MPI_STATUSES_IGNORE);
    piece_end(r, &r->pieces[0]);
    piece_end(r, &r->pieces[1]);
    MPI_Allreduce(MPI_IN_PLACE, r->totals, REDUCE_TOTALS, MPI_INT64_T, MPI_SUM,
                  MPI_COMM_WORLD);
}

int reduce_overflowed(const reduce *r)
{
    return r->totals[REDUCE_OVERFLOWS] != 0;
}

double reduce_mean_loss(const reduce *r)
{
    return r->totals[REDUCE_NO_LOSS]
               ? (double)NAN
               : (double)r->totals[REDUCE_NATS] / PARTS /
                     (double)r->totals[REDUCE_COUNT];
}

void reduce_gradient(const reduce *r, size_t tensor, real *gradient)
{
    const int64_t *sum = r->sum[tensor];
    const double share = PARTS * (double)r->totals[REDUCE_COUNT];
    size_t i;

    for (i = 0; i < r->m->tensors[tensor].size; i++)
        gradient[i] = (real)((double)sum[i] / share);
}

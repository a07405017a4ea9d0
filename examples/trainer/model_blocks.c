/* model_blocks.c - see model.h. */
#include "model.h"

#include <math.h>
#include <string.h>

/* The tensors of a block, in order. Tensors 0 and 1 of the model are the
   embeddings. */
enum {
    BLOCK_LN1,
    BLOCK_LN1_BIAS,
    BLOCK_QKV,
    BLOCK_QKV_BIAS,
    BLOCK_PROJ,
    BLOCK_PROJ_BIAS,
    BLOCK_LN2,
    BLOCK_LN2_BIAS,
    BLOCK_FC,
    BLOCK_FC_BIAS,
    BLOCK_OUT,
    BLOCK_OUT_BIAS,
    BLOCK_TENSORS
};

static size_t number(size_t block, size_t tensor)
{
    return 2 + block * BLOCK_TENSORS + tensor;
}

static const real *weight(const model *m, size_t block, size_t tensor)
{
    return model_weight(m, number(block, tensor));
}

size_t block_keeps(const model_shape *shape, size_t keep)
{
    const size_t rows = shape->context;

    switch (keep) {
    case KEEP_STATS: return 4 * rows;
    case KEEP_QKV: return 3 * rows * shape->width;
    case KEEP_SHARES: return shape->heads * rows * rows;
    case KEEP_FC:
    case KEEP_GELU: return rows * shape->mlp;
    default: return rows * shape->width;
    }
}

void block_half(const model *m, real *values, size_t count)
{
    if (m->half)
        half_round(values, NULL, count);
}

/* Kept values are rounded in the forward pass too, so that running a segment
   again gives the same numbers. */
static void keep(const model *m, model_kept *kept, size_t what)
{
    if (m->half)
        half_round(kept->values[what], kept->halves[what],
                   block_keeps(&m->shape, what));
}

static void fetch(const model *m, model_kept *kept)
{
    size_t what;

    for (what = KEEP_NORM1; m->half && what < KEEPS; what++)
        half_expand(kept->values[what], kept->halves[what],
                    block_keeps(&m->shape, what));
}

/* ---- Attention ---- */

/* The queries (0), keys (1) or values (2) of a head within qkv. */
static matrix part(const model *m, const real *qkv, size_t which, size_t head)
{
    const size_t width = m->shape.width;
    matrix a;

    a.at = qkv + which * width + head * (width / m->shape.heads);
    a.stride = 3 * width;
    a.transposed = 0;
    return a;
}

static matrix flipped(matrix a)
{
    a.transposed = !a.transposed;
    return a;
}

static void attention(model *m, model_kept *kept)
{
    const size_t rows = m->shape.context, width = m->shape.width;
    const size_t depth = width / m->shape.heads;
    const real scale = (real)(1 / sqrt((double)depth));
    const real *qkv = kept->values[KEEP_QKV];
    size_t h;

    for (h = 0; h < m->shape.heads; h++) {
        real *shares = kept->values[KEEP_SHARES] + h * rows * rows;

        multiply(shares, rows, part(m, qkv, 0, h), flipped(part(m, qkv, 1, h)),
                 rows, rows, depth, scale);
        block_half(m, shares, rows * rows);
        softmax_causal(shares, rows);
    }
    keep(m, kept, KEEP_SHARES);
    for (h = 0; h < m->shape.heads; h++)
        multiply(kept->values[KEEP_HEADS] + h * depth, width,
                 (matrix){kept->values[KEEP_SHARES] + h * rows * rows, rows, 0},
                 part(m, qkv, 2, h), rows, depth, rows, 1);
    keep(m, kept, KEEP_HEADS);
}

/* From the derivative of the heads in d_branch to that of qkv in d_wide. */
static void attention_back(model *m, const model_kept *kept)
{
    const size_t rows = m->shape.context, width = m->shape.width;
    const size_t depth = width / m->shape.heads;
    const real scale = (real)(1 / sqrt((double)depth));
    const real *qkv = kept->values[KEEP_QKV];
    real *d = m->d_wide;
    size_t h;

    for (h = 0; h < m->shape.heads; h++) {
        const real *shares = kept->values[KEEP_SHARES] + h * rows * rows;
        const matrix d_head = {m->d_branch + h * depth, width, 0};
        const matrix d_shares = {m->d_shares, rows, 0};

        multiply(m->d_shares, rows, d_head, flipped(part(m, qkv, 2, h)), rows,
                 rows, depth, 1);
        block_half(m, m->d_shares, rows * rows);
        multiply(d + 2 * width + h * depth, 3 * width,
                 (matrix){shares, rows, 1}, d_head, rows, depth, rows, 1);
        softmax_causal_back(m->d_shares, shares, rows);
        block_half(m, m->d_shares, rows * rows);
        multiply(d + h * depth, 3 * width, d_shares, part(m, qkv, 1, h), rows,
                 depth, rows, scale);
        multiply(d + width + h * depth, 3 * width, flipped(d_shares),
                 part(m, qkv, 0, h), rows, depth, rows, scale);
    }
    block_half(m, d, rows * 3 * width);
}

/* ---- A block ---- */

/* stream += in * weight^T + bias */
static void branch(model *m, const real *in, size_t block, size_t tensor,
                   size_t inputs)
{
    const size_t rows = m->shape.context, width = m->shape.width;

    linear(m->d_branch, in, weight(m, block, tensor),
           weight(m, block, tensor + 1), rows, inputs, width);
    block_half(m, m->d_branch, rows * width);
    add(m->stream, m->d_branch, rows * width);
}

void block_again(model *m, size_t block, model_kept *kept)
{
    const size_t rows = m->shape.context, width = m->shape.width;
    const size_t bytes = rows * width * sizeof(real);
    real **k = kept->values;

    memcpy(k[KEEP_IN], m->stream, bytes);
    layernorm(k[KEEP_NORM1], k[KEEP_STATS], m->stream,
              weight(m, block, BLOCK_LN1), weight(m, block, BLOCK_LN1_BIAS),
              rows, width);
    keep(m, kept, KEEP_NORM1);
    linear(k[KEEP_QKV], k[KEEP_NORM1], weight(m, block, BLOCK_QKV),
           weight(m, block, BLOCK_QKV_BIAS), rows, width, 3 * width);
    keep(m, kept, KEEP_QKV);
    attention(m, kept);
    branch(m, k[KEEP_HEADS], block, BLOCK_PROJ, width);

    memcpy(k[KEEP_MID], m->stream, bytes);
    layernorm(k[KEEP_NORM2], k[KEEP_STATS] + 2 * rows, m->stream,
              weight(m, block, BLOCK_LN2), weight(m, block, BLOCK_LN2_BIAS),
              rows, width);
    keep(m, kept, KEEP_NORM2);
    linear(k[KEEP_FC], k[KEEP_NORM2], weight(m, block, BLOCK_FC),
           weight(m, block, BLOCK_FC_BIAS), rows, width, m->shape.mlp);
    keep(m, kept, KEEP_FC);
    gelu(k[KEEP_GELU], k[KEEP_FC], rows * m->shape.mlp);
    keep(m, kept, KEEP_GELU);
}

void block_forward(model *m, size_t block, model_kept *kept)
{
    block_again(m, block, kept);
    branch(m, kept->values[KEEP_GELU], block, BLOCK_OUT, m->shape.mlp);
}

/* The arguments of a backward pass. */
typedef struct way {
    model *m;
    size_t block;
    model_sink *sink;
    void *context;
} way;

/* Passes a linear layer's gradients to the sink, bias first; under O1 rounded
   to halves. */
static void hand_over_linear(const way *w, size_t tensor, const real *d_out,
                             const real *in, size_t inputs, size_t outputs)
{
    model *m = w->m;
    const size_t rows = m->shape.context;

    sum_rows(m->gradient, d_out, rows, outputs);
    block_half(m, m->gradient, outputs);
    w->sink(w->context, number(w->block, tensor + 1), m->gradient);
    linear_weight(m->gradient, d_out, in, rows, inputs, outputs);
    block_half(m, m->gradient, inputs * outputs);
    w->sink(w->context, number(w->block, tensor), m->gradient);
}

/* Backward through a layernorm, from d_branch to d_stream. */
static void norm_back(const way *w, size_t tensor, const real *in,
                      const real *stats)
{
    model *m = w->m;
    const size_t rows = m->shape.context, width = m->shape.width;
    real *d_weight = m->gradient, *d_bias = m->gradient + width;

    layernorm_back(m->d_stream, d_weight, d_bias, m->d_branch, in, stats,
                   weight(m, w->block, tensor), rows, width);
    w->sink(w->context, number(w->block, tensor + 1), d_bias);
    w->sink(w->context, number(w->block, tensor), d_weight);
}

void block_backward(model *m, size_t block, model_kept *kept, model_sink *sink,
                    void *context)
{
    const size_t rows = m->shape.context, width = m->shape.width;
    const size_t mlp = m->shape.mlp, bytes = rows * width * sizeof(real);
    const way w = {m, block, sink, context};
    real **k = kept->values;

    fetch(m, kept);
    memcpy(m->d_branch, m->d_stream, bytes);
    block_half(m, m->d_branch, rows * width);
    hand_over_linear(&w, BLOCK_OUT, m->d_branch, k[KEEP_GELU], mlp, width);
    linear_input(m->d_wide, m->d_branch, weight(m, block, BLOCK_OUT), rows,
                 mlp, width);
    block_half(m, m->d_wide, rows * mlp);
    gelu_back(m->d_wide, k[KEEP_FC], rows * mlp);
    block_half(m, m->d_wide, rows * mlp);
    hand_over_linear(&w, BLOCK_FC, m->d_wide, k[KEEP_NORM2], width, mlp);
    linear_input(m->d_branch, m->d_wide, weight(m, block, BLOCK_FC), rows,
                 width, mlp);
    block_half(m, m->d_branch, rows * width);
    norm_back(&w, BLOCK_LN2, k[KEEP_MID], k[KEEP_STATS] + 2 * rows);

    memcpy(m->d_branch, m->d_stream, bytes);
    block_half(m, m->d_branch, rows * width);
    hand_over_linear(&w, BLOCK_PROJ, m->d_branch, k[KEEP_HEADS], width, width);
    linear_input(m->d_wide, m->d_branch, weight(m, block, BLOCK_PROJ), rows,
                 width, width);
    memcpy(m->d_branch, m->d_wide, bytes);
    block_half(m, m->d_branch, rows * width);
    attention_back(m, kept);
    hand_over_linear(&w, BLOCK_QKV, m->d_wide, k[KEEP_NORM1], width,
                     3 * width);
    linear_input(m->d_branch, m->d_wide, weight(m, block, BLOCK_QKV), rows,
                 width, 3 * width);
    block_half(m, m->d_branch, rows * width);
    norm_back(&w, BLOCK_LN1, k[KEEP_IN], k[KEEP_STATS]);
}

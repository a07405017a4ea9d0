/* model.c - see model.h. model_blocks.c has the blocks. */
#include "model.h"
#include "memory.h"
#include "statesampler.h"
#include "text.h"

#include <math.h>
#include <stb_ds.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Tensors ---- */

static void tensor_add(model *m, const char *block, const char *name,
                       size_t size, int kind)
{
    model_tensor t = {.offset = m->num_weights, .size = size, .kind = kind};

    snprintf(t.name, sizeof t.name, "%s%s", block, name);
    arrput(m->tensors, t);
    m->num_tensors++;
    m->num_weights += size;
    m->largest = size > m->largest ? size : m->largest;
}

/* In the order of the forward pass; within a block, of the BLOCK_ constants. */
static void tensors_list(model *m)
{
    const size_t width = m->shape.width, mlp = m->shape.mlp;
    char block[24];
    size_t b;

    tensor_add(m, "", "wte.weight", MODEL_BYTES * width, MODEL_EMBEDDING);
    tensor_add(m, "", "wpe.weight", m->shape.context * width, MODEL_EMBEDDING);
    for (b = 0; b < m->shape.layers; b++) {
        snprintf(block, sizeof block, "block%u.", (unsigned)b);
        tensor_add(m, block, "ln1.weight", width, MODEL_NORM);
        tensor_add(m, block, "ln1.bias", width, MODEL_NORM);
        tensor_add(m, block, "attn.qkv.weight", 3 * width * width,
                   MODEL_MATRIX);
        tensor_add(m, block, "attn.qkv.bias", 3 * width, MODEL_BIAS);
        tensor_add(m, block, "attn.proj.weight", width * width, MODEL_MATRIX);
        tensor_add(m, block, "attn.proj.bias", width, MODEL_BIAS);
        tensor_add(m, block, "ln2.weight", width, MODEL_NORM);
        tensor_add(m, block, "ln2.bias", width, MODEL_NORM);
        tensor_add(m, block, "mlp.fc.weight", mlp * width, MODEL_MATRIX);
        tensor_add(m, block, "mlp.fc.bias", mlp, MODEL_BIAS);
        tensor_add(m, block, "mlp.proj.weight", width * mlp, MODEL_MATRIX);
        tensor_add(m, block, "mlp.proj.bias", width, MODEL_BIAS);
    }
    tensor_add(m, "", "ln_f.weight", width, MODEL_NORM);
    tensor_add(m, "", "ln_f.bias", width, MODEL_NORM);
    tensor_add(m, "", "head.weight", MODEL_BYTES * width, MODEL_MATRIX);
}

/* ---- Memory ---- */

size_t model_segments(size_t blocks, size_t splits, size_t *first)
{
    size_t segments = 1, longest, i;

    first[0] = 0;
    first[1] = blocks;
    /* Halves the longest segment. One of a single block is never cut, as
       segments < blocks. */
    while (segments < splits && segments < blocks) {
        longest = 0;
        for (i = 1; i < segments; i++)
            if (first[i + 1] - first[i] > first[longest + 1] - first[longest])
                longest = i;
        for (i = segments + 1; i > longest + 1; i--)
            first[i] = first[i - 1];
        first[longest + 1] =
            first[longest] + (first[longest + 2] - first[longest]) / 2;
        segments++;
    }
    return segments;
}

static size_t longest_segment(const size_t *first, size_t segments)
{
    size_t longest = 0, i;

    for (i = 0; i < segments; i++)
        if (first[i + 1] - first[i] > longest)
            longest = first[i + 1] - first[i];
    return longest;
}

/* Under O1 values that are kept as halves are computed as floats, in buffers
   that all blocks share. */
static void kept_take(model *m, size_t count)
{
    size_t b, keep;

    m->kept = memory_take(MEMORY_WORK, count, sizeof *m->kept);
    for (b = 0; b < count; b++) {
        for (keep = 0; keep < KEEPS; keep++) {
            size_t size = block_keeps(&m->shape, keep);
            int halved = m->half && keep >= KEEP_NORM1;

            if (halved)
                m->kept[b].halves[keep] =
                    memory_take(MEMORY_ACTIVATIONS, size, sizeof(uint16_t));
            m->kept[b].values[keep] =
                !halved  ? memory_take(MEMORY_ACTIVATIONS, size, sizeof(real))
                : b == 0 ? memory_take(MEMORY_WORK, size, sizeof(real))
                         : m->kept[0].values[keep];
        }
    }
}

static real *take(size_t count)
{
    return memory_take(MEMORY_WORK, count, sizeof(real));
}

void model_init(model *m, const model_shape *shape, size_t splits, int half)
{
    const size_t rows = shape->context;
    const size_t wide = /* columns of the widest matrix inside of a block */
        shape->mlp > 3 * shape->width ? shape->mlp : 3 * shape->width;
    size_t s;

    memset(m, 0, sizeof *m);
    m->shape = *shape;
    m->half = half;
    tensors_list(m);
    m->weights = memory_take(MEMORY_WEIGHTS, m->num_weights, sizeof(real));

    m->first = memory_take(MEMORY_WORK, shape->layers + 2, sizeof *m->first);
    m->segments = model_segments(shape->layers, splits, m->first);
    m->inputs = memory_take(MEMORY_WORK, m->segments, sizeof *m->inputs);
    for (s = 0; s + 1 < m->segments; s++)
        m->inputs[s] = memory_take(MEMORY_ACTIVATIONS, rows * shape->width,
                                   sizeof(real));
    kept_take(m, longest_segment(m->first, m->segments));

    m->stream = take(rows * shape->width);
    m->norm = take(rows * shape->width);
    m->stats = take(rows * 2);
    m->logits = take(rows * MODEL_BYTES);
    m->d_stream = take(rows * shape->width);
    m->d_branch = take(rows * shape->width);
    m->d_wide = take(rows * wide);
    m->d_shares = take(rows * rows);
    m->gradient = take(m->largest + wide);
}

/* ---- Weights ---- */

/* The sum of four uniform 16-bit numbers: nearly normal, with mean 0 and
   deviation 1, and the same on every machine. */
static double normal(uint64_t bits)
{
    const uint64_t sum = (bits & 0xffff) + (bits >> 16 & 0xffff) +
                         (bits >> 32 & 0xffff) + (bits >> 48);

    return ((double)sum - 2 * 65535.0) / 65536 * sqrt(3.0);
}

void model_fill(model *m, uint64_t seed)
{
    const double residual = 0.02 / sqrt(2.0 * (double)m->shape.layers);
    size_t t, i;

    for (t = 0; t < m->num_tensors; t++) {
        const model_tensor *tensor = m->tensors + t;
        const size_t length = strlen(tensor->name);
        const int one = tensor->kind == MODEL_NORM &&
                        strcmp(tensor->name + length - 6, "weight") == 0;
        const double deviation =
            strstr(tensor->name, "proj.weight") ? residual : 0.02;
        statesampler_desc desc = {.num_samples = 1, .seed = seed};
        statesampler hash;

        desc.stream = text_hash(TEXT_HASH, tensor->name, length);
        statesampler_init(&hash, &desc);
        for (i = 0; i < tensor->size; i++)
            m->weights[tensor->offset + i] =
                tensor->kind == MODEL_MATRIX || tensor->kind == MODEL_EMBEDDING
                    ? (real)(deviation *
                             normal(statesampler_sample_seed(&hash, 0, i)))
                    : (real)one;
    }
}

/* Under O1 linear layers and their biases are halves. They are rounded where
   they are used, in the memory of the gradient, which no one needs then: a copy
   of all of them would cost what O1 saves. */
const real *model_weight(const model *m, size_t tensor)
{
    const model_tensor *t = m->tensors + tensor;
    const real *weights = m->weights + t->offset;
    real *rounded = m->gradient + (t->kind == MODEL_BIAS ? m->largest : 0);

    if (!m->half || (t->kind != MODEL_MATRIX && t->kind != MODEL_BIAS))
        return weights;
    memcpy(rounded, weights, t->size * sizeof(real));
    half_round(rounded, NULL, t->size);
    return rounded;
}

/* ---- A leaf ---- */

static void embed(model *m, const unsigned char *bytes)
{
    const size_t width = m->shape.width;
    const real *table = model_weight(m, 0);
    size_t row;

    memcpy(m->stream, model_weight(m, 1),
           m->shape.context * width * sizeof(real));
    for (row = 0; row < m->shape.context; row++)
        add(m->stream + row * width, table + bytes[row] * width, width);
}

static void embed_back(model *m, const unsigned char *bytes, model_sink *sink,
                       void *context)
{
    const size_t width = m->shape.width;
    size_t row;

    sink(context, 1, m->d_stream);
    memset(m->gradient, 0, m->tensors[0].size * sizeof(real));
    for (row = 0; row < m->shape.context; row++)
        add(m->gradient + bytes[row] * width, m->d_stream + row * width,
            width);
    sink(context, 0, m->gradient);
}

/* After the last block: returns the loss; m->logits is its derivative. */
static double head(model *m, const unsigned char *next, real scale)
{
    const size_t rows = m->shape.context, width = m->shape.width;
    const size_t last = m->num_tensors - 1;

    layernorm(m->norm, m->stats, m->stream,
              model_weight(m, last - 2),
              model_weight(m, last - 1), rows, width);
    block_half(m, m->norm, rows * width);
    linear(m->logits, m->norm, model_weight(m, last), NULL, rows,
           width, MODEL_BYTES);
    block_half(m, m->logits, rows * MODEL_BYTES);
    return cross_entropy(m->logits, next, rows, MODEL_BYTES, scale) /
           (double)rows;
}

static void head_back(model *m, model_sink *sink, void *context)
{
    const size_t rows = m->shape.context, width = m->shape.width;
    const size_t last = m->num_tensors - 1;
    real *d_weight = m->gradient, *d_bias = m->gradient + width;

    block_half(m, m->logits, rows * MODEL_BYTES);
    linear_weight(m->gradient, m->logits, m->norm, rows, width, MODEL_BYTES);
    block_half(m, m->gradient, width * MODEL_BYTES);
    sink(context, last, m->gradient);
    linear_input(m->d_branch, m->logits, model_weight(m, last),
                 rows, width, MODEL_BYTES);
    block_half(m, m->d_branch, rows * width);
    memset(m->d_stream, 0, rows * width * sizeof(real));
    layernorm_back(m->d_stream, d_weight, d_bias, m->d_branch, m->stream,
                   m->stats, model_weight(m, last - 2), rows,
                   width);
    sink(context, last - 1, d_bias);
    sink(context, last - 2, d_weight);
}

/* Runs the blocks of a segment on m->stream. If it runs again, for the backward
   pass, the output of its last block is not needed. */
static void segment_forward(model *m, size_t s, int again)
{
    const size_t last = m->first[s + 1] - 1;
    size_t b;

    for (b = m->first[s]; b <= last; b++) {
        model_kept *kept = &m->kept[b - m->first[s]];

        if (again && b == last)
            block_again(m, b, kept);
        else
            block_forward(m, b, kept);
    }
}

double model_leaf(model *m, const unsigned char *bytes, real scale,
                  model_sink *sink, void *context)
{
    const size_t size = m->shape.context * m->shape.width * sizeof(real);
    size_t s, b;
    double nats;

    embed(m, bytes);
    for (s = 0; s < m->segments; s++) {
        if (s + 1 < m->segments)
            memcpy(m->inputs[s], m->stream, size);
        segment_forward(m, s, 0);
    }
    nats = head(m, bytes + 1, scale);
    if (!sink)
        return nats;
    head_back(m, sink, context);
    for (s = m->segments; s-- > 0;) {
        if (s + 1 < m->segments) {
            memcpy(m->stream, m->inputs[s], size);
            segment_forward(m, s, 1);
        }
        for (b = m->first[s + 1]; b-- > m->first[s];)
            block_backward(m, b, &m->kept[b - m->first[s]], sink, context);
    }
    embed_back(m, bytes, sink, context);
    return nats;
}

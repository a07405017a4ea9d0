/* model.c - see model.h. */
#include "model.h"
#include "memory.h"
#include "statesampler.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Tensors ---- */

static void tensor_add(model *m, const char *layer, const char *what,
                       size_t rows, size_t columns, int kind)
{
    model_tensor *t = &m->tensors[m->num_tensors++];

    snprintf(t->name, sizeof t->name, "%s.%s", layer, what);
    t->offset = m->num_weights;
    t->size = rows * columns;
    t->columns = columns;
    t->kind = kind;
    m->num_weights += t->size;
    if (t->size > m->largest)
        m->largest = t->size;
}

/* The tensors of a block: each of these weights, and then its bias. The model
   has two tensors before the first block, and three after the last. */
enum { LN1 = 0, QKV = 2, PROJ = 4, LN2 = 6, FC = 8, OUT = 10, OF_BLOCK = 12 };
enum { BEFORE = 2, AFTER = 3 };

/* In the order of the forward pass. */
static void tensors_list(model *m)
{
    const size_t width = m->shape.width, mlp = m->shape.mlp;
    const struct {
        const char *name;
        size_t outputs, inputs;
        int weight, bias;
    } layers[] = {
        {"ln1", width, 1, MODEL_NORM, MODEL_NORM},
        {"attn.qkv", 3 * width, width, MODEL_MATRIX, MODEL_BIAS},
        {"attn.proj", width, width, MODEL_MATRIX, MODEL_BIAS},
        {"ln2", width, 1, MODEL_NORM, MODEL_NORM},
        {"mlp.fc", mlp, width, MODEL_MATRIX, MODEL_BIAS},
        {"mlp.proj", width, mlp, MODEL_MATRIX, MODEL_BIAS},
    };
    const size_t count = BEFORE + m->shape.layers * OF_BLOCK + AFTER;
    char name[32];
    size_t b, i;

    m->tensors = memory_take(MEMORY_WORK, count, sizeof *m->tensors);
    tensor_add(m, "wte", "weight", MODEL_BYTES, width, MODEL_EMBEDDING);
    tensor_add(m, "wpe", "weight", m->shape.context, width, MODEL_EMBEDDING);
    for (b = 0; b < m->shape.layers; b++)
        for (i = 0; i < OF_BLOCK / 2; i++) {
            snprintf(name, sizeof name, "block%u.%s", (unsigned)b,
                     layers[i].name);
            tensor_add(m, name, "weight", layers[i].outputs, layers[i].inputs,
                       layers[i].weight);
            tensor_add(m, name, "bias", layers[i].outputs, 1, layers[i].bias);
        }
    tensor_add(m, "ln_f", "weight", width, 1, MODEL_NORM);
    tensor_add(m, "ln_f", "bias", width, 1, MODEL_NORM);
    tensor_add(m, "head", "weight", MODEL_BYTES, width, MODEL_MATRIX);
}

/* ---- Memory ---- */

static size_t kept_size(const model_shape *shape, size_t keep)
{
    const size_t rows = shape->context;

    switch (keep) {
    case KEEP_QKV:
        return 3 * rows * shape->width;
    case KEEP_SHARES:
        return shape->heads * rows * rows;
    case KEEP_FC:
    case KEEP_GELU:
        return rows * shape->mlp;
    default:
        return rows * shape->width;
    }
}

static real *take(size_t count)
{
    return memory_take(MEMORY_WORK, count, sizeof(real));
}

/* Under O1 values that are kept as halves are computed as floats, in buffers
   that all blocks share. */
static void kept_take(model *m, model_kept *kept)
{
    size_t i;

    for (i = 0; i < KEEPS; i++) {
        const size_t size = kept_size(&m->shape, i);

        if (!m->half || i < KEEP_NORM1) {
            kept->values[i] =
                memory_take(MEMORY_ACTIVATIONS, size, sizeof(real));
            continue;
        }
        kept->halves[i] =
            memory_take(MEMORY_ACTIVATIONS, size, sizeof(uint16_t));
        kept->values[i] = kept == m->kept ? take(size) : m->kept->values[i];
    }
}

void model_init(model *m, const model_shape *shape, size_t splits, int half)
{
    const size_t rows = shape->context, stream = rows * shape->width;
    const size_t qkv = 3 * shape->width;
    /* The columns of the widest matrix in a block. */
    const size_t wide = shape->mlp > qkv ? shape->mlp : qkv;
    size_t longest, i;

    memset(m, 0, sizeof *m);
    m->shape = *shape;
    m->half = half;
    tensors_list(m);
    m->weights = memory_take(MEMORY_WEIGHTS, m->num_weights, sizeof(real));
    for (i = 0; i < m->num_tensors; i++)
        m->tensors[i].array[0] = m->weights + m->tensors[i].offset;

    m->segments = splits;
    m->inputs = memory_take(MEMORY_WORK, splits, sizeof *m->inputs);
    for (i = 0; i + 1 < splits; i++)
        m->inputs[i] = memory_take(MEMORY_ACTIVATIONS, stream, sizeof(real));
    longest = (shape->layers + splits - 1) / splits;
    m->kept = memory_take(MEMORY_WORK, longest, sizeof *m->kept);
    for (i = 0; i < longest; i++)
        kept_take(m, &m->kept[i]);

    m->stream = take(stream);
    m->norm = take(stream);
    m->logits = take(rows * MODEL_BYTES);
    m->d_stream = take(stream);
    m->d_branch = take(stream);
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
        const int random =
            tensor->kind == MODEL_MATRIX || tensor->kind == MODEL_EMBEDDING;
        const real fixed =
            tensor->kind == MODEL_NORM && strstr(tensor->name, "weight");
        const double deviation =
            strstr(tensor->name, "proj.weight") ? residual : 0.02;
        statesampler_desc desc = {.num_samples = 1, .seed = seed};
        statesampler hash;

        desc.stream = text_hash(TEXT_HASH, tensor->name, strlen(tensor->name));
        statesampler_init(&hash, &desc);
        for (i = 0; i < tensor->size; i++)
            tensor->array[0][i] =
                random ? (real)(deviation *
                                normal(statesampler_sample_seed(&hash, 0, i)))
                       : fixed;
    }
}

/* A tensor as it is used. Under O1 linear layers and their biases are halves:
   they are rounded here, in the memory of the gradient, which no one needs
   then, and are valid until the next one or the next gradient. A copy of all of
   them would cost what O1 saves. */
static const real *weight(const model *m, size_t tensor)
{
    const model_tensor *t = m->tensors + tensor;
    real *rounded = m->gradient + (t->kind == MODEL_BIAS ? m->largest : 0);

    if (!m->half || (t->kind != MODEL_MATRIX && t->kind != MODEL_BIAS))
        return t->array[0];
    memcpy(rounded, t->array[0], t->size * sizeof(real));
    half_round(rounded, NULL, t->size);
    return rounded;
}

/* ---- Layers, by the number of their weight ---- */

/* Under O1 rounds to half. It is called wherever Apex casts: on inputs and
   outputs of linear layers and matrix products, and on their gradients. */
static void round_o1(const model *m, real *values, size_t count)
{
    if (m->half)
        half_round(values, NULL, count);
}

/* out = in * weight^T + bias. The bias is the next tensor; the head, which is
   the last, has none. */
static void layer(model *m, real *out, const real *in, size_t t)
{
    const size_t inputs = m->tensors[t].columns, rows = m->shape.context;
    const size_t outputs = m->tensors[t].size / inputs;
    const matrix a = {in, inputs, 0}, b = {weight(m, t), inputs, 1};
    const real *bias = t + 1 < m->num_tensors ? weight(m, t + 1) : NULL;
    size_t row;

    multiply(out, outputs, a, b, rows, outputs, inputs, 1);
    for (row = 0; bias && row < rows; row++)
        add(out + row * outputs, bias, outputs);
    round_o1(m, out, rows * outputs);
}

/* From d_out to d_in, and the gradients to the sink. */
static void layer_back(model *m, real *d_in, const real *d_out, const real *in,
                       size_t t)
{
    const model_tensor *tensor = m->tensors + t;
    const size_t rows = m->shape.context, inputs = tensor->columns;
    const size_t outputs = tensor->size / inputs;
    size_t row;

    if (t + 1 < m->num_tensors) {
        memset(m->gradient, 0, outputs * sizeof(real));
        for (row = 0; row < rows; row++)
            add(m->gradient, d_out + row * outputs, outputs);
        round_o1(m, m->gradient, outputs);
        m->sink(m->context, t + 1, m->gradient);
    }
    multiply(m->gradient, inputs, (matrix){d_out, outputs, 1},
             (matrix){in, inputs, 0}, outputs, inputs, rows, 1);
    round_o1(m, m->gradient, tensor->size);
    m->sink(m->context, t, m->gradient);
    multiply(d_in, inputs, (matrix){d_out, outputs, 0},
             (matrix){weight(m, t), inputs, 0}, rows, inputs, outputs, 1);
    round_o1(m, d_in, rows * inputs);
}

static void norm(model *m, real *out, size_t t)
{
    const size_t rows = m->shape.context, width = m->shape.width;

    layernorm(out, m->stream, weight(m, t), weight(m, t + 1), rows, width);
    round_o1(m, out, rows * width);
}

/* From d_branch to d_stream, and the gradients to the sink. */
static void norm_back(model *m, const real *in, size_t t)
{
    real *d_weight = m->gradient, *d_bias = m->gradient + m->shape.width;

    layernorm_back(m->d_stream, d_weight, d_bias, m->d_branch, in, weight(m, t),
                   m->shape.context, m->shape.width);
    m->sink(m->context, t + 1, d_bias);
    m->sink(m->context, t, d_weight);
}

/* ---- Attention ---- */

/* Kept values are rounded in the forward pass too, so that running a segment
   again gives the same numbers. */
static void keep(const model *m, model_kept *kept, size_t what)
{
    if (m->half)
        half_round(kept->values[what], kept->halves[what],
                   kept_size(&m->shape, what));
}

/* The queries (0), keys (1) or values (2) of a head within qkv. */
static matrix part(const model *m, const real *qkv, size_t which, size_t head,
                   int transposed)
{
    const size_t width = m->shape.width;
    const size_t at = which * width + head * (width / m->shape.heads);

    return (matrix){qkv + at, 3 * width, transposed};
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

        multiply(shares, rows, part(m, qkv, 0, h, 0), part(m, qkv, 1, h, 1),
                 rows, rows, depth, scale);
        round_o1(m, shares, rows * rows);
        softmax_causal(shares, rows);
    }
    keep(m, kept, KEEP_SHARES);
    for (h = 0; h < m->shape.heads; h++)
        multiply(kept->values[KEEP_HEADS] + h * depth, width,
                 (matrix){kept->values[KEEP_SHARES] + h * rows * rows, rows, 0},
                 part(m, qkv, 2, h, 0), rows, depth, rows, 1);
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
        const matrix flipped = {m->d_shares, rows, 1};

        multiply(m->d_shares, rows, d_head, part(m, qkv, 2, h, 1), rows, rows,
                 depth, 1);
        round_o1(m, m->d_shares, rows * rows);
        multiply(d + 2 * width + h * depth, 3 * width,
                 (matrix){shares, rows, 1}, d_head, rows, depth, rows, 1);
        softmax_causal_back(m->d_shares, shares, rows);
        round_o1(m, m->d_shares, rows * rows);
        multiply(d + h * depth, 3 * width, d_shares, part(m, qkv, 1, h, 0),
                 rows, depth, rows, scale);
        multiply(d + width + h * depth, 3 * width, flipped,
                 part(m, qkv, 0, h, 0), rows, depth, rows, scale);
    }
    round_o1(m, d, rows * 3 * width);
}

/* ---- A block: attention, then an MLP ---- */

/* stream += layer t of in */
static void branch(model *m, const real *in, size_t t)
{
    layer(m, m->d_branch, in, t);
    add(m->stream, m->d_branch, m->shape.context * m->shape.width);
}

/* From the stream to the last layer's input; keeps what the backward pass
   needs. t: the block's first tensor. */
static void block_keep(model *m, size_t t, model_kept *kept)
{
    const size_t rows = m->shape.context;
    const size_t bytes = rows * m->shape.width * sizeof(real);
    real **k = kept->values;

    memcpy(k[KEEP_IN], m->stream, bytes);
    norm(m, k[KEEP_NORM1], t + LN1);
    keep(m, kept, KEEP_NORM1);
    layer(m, k[KEEP_QKV], k[KEEP_NORM1], t + QKV);
    keep(m, kept, KEEP_QKV);
    attention(m, kept);
    branch(m, k[KEEP_HEADS], t + PROJ);

    memcpy(k[KEEP_MID], m->stream, bytes);
    norm(m, k[KEEP_NORM2], t + LN2);
    keep(m, kept, KEEP_NORM2);
    layer(m, k[KEEP_FC], k[KEEP_NORM2], t + FC);
    keep(m, kept, KEEP_FC);
    gelu(k[KEEP_GELU], k[KEEP_FC], rows * m->shape.mlp);
    keep(m, kept, KEEP_GELU);
}

/* From the last layer's input to the stream. */
static void block_end(model *m, size_t t, const model_kept *kept)
{
    branch(m, kept->values[KEEP_GELU], t + OUT);
}

/* From d_stream to the derivative of `in`, in d_wide. */
static void branch_back(model *m, const real *in, size_t t)
{
    const size_t size = m->shape.context * m->shape.width;

    memcpy(m->d_branch, m->d_stream, size * sizeof(real));
    round_o1(m, m->d_branch, size);
    layer_back(m, m->d_wide, m->d_branch, in, t);
}

/* Updates d_stream. */
static void block_back(model *m, size_t t, const model_kept *kept)
{
    const size_t rows = m->shape.context, wide = rows * m->shape.mlp;
    real *const *k = kept->values;
    size_t i;

    for (i = KEEP_NORM1; m->half && i < KEEPS; i++)
        half_expand(k[i], kept->halves[i], kept_size(&m->shape, i));
    branch_back(m, k[KEEP_GELU], t + OUT);
    gelu_back(m->d_wide, k[KEEP_FC], wide);
    round_o1(m, m->d_wide, wide);
    layer_back(m, m->d_branch, m->d_wide, k[KEEP_NORM2], t + FC);
    norm_back(m, k[KEEP_MID], t + LN2);

    branch_back(m, k[KEEP_HEADS], t + PROJ);
    memcpy(m->d_branch, m->d_wide, rows * m->shape.width * sizeof(real));
    attention_back(m, kept);
    layer_back(m, m->d_branch, m->d_wide, k[KEEP_NORM1], t + QKV);
    norm_back(m, k[KEEP_IN], t + LN1);
}

/* ---- A leaf ---- */

static void embed(model *m, const unsigned char *bytes)
{
    const size_t rows = m->shape.context, width = m->shape.width;
    const real *table = weight(m, 0);
    size_t row;

    memcpy(m->stream, weight(m, 1), rows * width * sizeof(real));
    for (row = 0; row < rows; row++)
        add(m->stream + row * width, table + bytes[row] * width, width);
}

static void embed_back(model *m, const unsigned char *bytes)
{
    const size_t width = m->shape.width;
    size_t row;

    m->sink(m->context, 1, m->d_stream);
    memset(m->gradient, 0, m->tensors[0].size * sizeof(real));
    for (row = 0; row < m->shape.context; row++)
        add(m->gradient + bytes[row] * width, m->d_stream + row * width, width);
    m->sink(m->context, 0, m->gradient);
}

/* After the last block: returns the loss; m->logits is its derivative. */
static double head(model *m, const unsigned char *next, real scale)
{
    const size_t rows = m->shape.context, t = m->num_tensors - AFTER;

    norm(m, m->norm, t);
    layer(m, m->logits, m->norm, t + 2);
    return cross_entropy(m->logits, next, rows, MODEL_BYTES, scale) /
           (double)rows;
}

static void head_back(model *m)
{
    const size_t rows = m->shape.context, t = m->num_tensors - AFTER;

    round_o1(m, m->logits, rows * MODEL_BYTES);
    layer_back(m, m->d_branch, m->logits, m->norm, t + 2);
    memset(m->d_stream, 0, rows * m->shape.width * sizeof(real));
    norm_back(m, m->stream, t);
}

static size_t first_block(const model *m, size_t segment)
{
    return segment * m->shape.layers / m->segments;
}

static size_t first_tensor(size_t block)
{
    return BEFORE + block * OF_BLOCK;
}

/* Runs the blocks of a segment on m->stream. */
static void segment_forward(model *m, size_t s)
{
    const size_t first = first_block(m, s), end = first_block(m, s + 1);
    size_t b;

    for (b = first; b < end; b++) {
        block_keep(m, first_tensor(b), &m->kept[b - first]);
        block_end(m, first_tensor(b), &m->kept[b - first]);
    }
}

/* Runs them again for what the backward pass needs, which is not the output of
   the last one. */
static void segment_again(model *m, size_t s)
{
    const size_t first = first_block(m, s), end = first_block(m, s + 1);
    size_t b;

    for (b = first; b < end; b++) {
        block_keep(m, first_tensor(b), &m->kept[b - first]);
        if (b + 1 < end)
            block_end(m, first_tensor(b), &m->kept[b - first]);
    }
}

static void segment_back(model *m, size_t s)
{
    const size_t first = first_block(m, s);
    size_t b;

    for (b = first_block(m, s + 1); b-- > first;)
        block_back(m, first_tensor(b), &m->kept[b - first]);
}

double model_leaf(model *m, const unsigned char *bytes, real scale,
                  model_sink *sink, void *context)
{
    const size_t size = m->shape.context * m->shape.width * sizeof(real);
    double nats;
    size_t s;

    m->sink = sink;
    m->context = context;
    embed(m, bytes);
    for (s = 0; s < m->segments; s++) {
        if (s + 1 < m->segments)
            memcpy(m->inputs[s], m->stream, size);
        segment_forward(m, s);
    }
    nats = head(m, bytes + 1, scale);
    if (!sink)
        return nats;
    head_back(m);
    for (s = m->segments; s-- > 0;) {
        if (s + 1 < m->segments) {
            memcpy(m->stream, m->inputs[s], size);
            segment_again(m, s);
        }
        segment_back(m, s);
    }
    embed_back(m, bytes);
    return nats;
}

/* kernels.h - the arithmetic of one leaf, and nothing that knows of models.

   Everything here has one order of operations, fixed by the shapes alone: the
   same numbers in give the same bits out, in every process. Matrices are dense
   and row after row. */
#ifndef TRAINER_KERNELS_H
#define TRAINER_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* The same source in double is what central differences can judge. */
#ifdef TRAINER_DOUBLE
typedef double real;
#else
typedef float real;
#endif

/* One thread: two give other bits than one. To be called first. */
void kernels_begin(void);

/* A matrix inside a larger one: `stride` is from row to row. */
typedef struct matrix {
    const real *at;
    size_t stride;
    int transposed;
} matrix;

/* out[rows][cols] = scale * a * b, over `inner`. */
void multiply(real *out, size_t out_stride, matrix a, matrix b, size_t rows,
              size_t cols, size_t inner, real scale);

/* out[rows][outputs] = in[rows][inputs] * weight[outputs][inputs]^T + bias;
   bias may be NULL. */
void linear(real *out, const real *in, const real *weight, const real *bias,
            size_t rows, size_t inputs, size_t outputs);

/* The way back: d_weight = d_out^T * in, d_in = d_out * weight. */
void linear_weight(real *d_weight, const real *d_out, const real *in,
                   size_t rows, size_t inputs, size_t outputs);
void linear_input(real *d_in, const real *d_out, const real *weight,
                  size_t rows, size_t inputs, size_t outputs);

/* out[cols] = the sums of the columns. */
void sum_rows(real *out, const real *in, size_t rows, size_t cols);

/* stats[2 * row] and the next one: mean and 1 / deviation. */
void layernorm(real *out, real *stats, const real *in, const real *weight,
               const real *bias, size_t rows, size_t cols);

/* Adds to d_in; sets d_weight and d_bias. */
void layernorm_back(real *d_in, real *d_weight, real *d_bias,
                    const real *d_out, const real *in, const real *stats,
                    const real *weight, size_t rows, size_t cols);

void gelu(real *out, const real *in, size_t count);
void gelu_back(real *d, const real *in, size_t count); /* in place */

/* Row i of a square matrix sees columns 0 .. i; the others become 0. */
void softmax_causal(real *scores, size_t size);
void softmax_causal_back(real *d, const real *share, size_t size);

/* Sum over rows of the loss in nats. Turns logits into the derivative of the
   mean loss, times `scale`. */
double cross_entropy(real *logits, const unsigned char *target, size_t rows,
                     size_t cols, real scale);

void add(real *to, const real *from, size_t count);

/* Half precision: 16 bits of the IEEE, rounded to nearest even. half_round
   rounds in place and, unless kept is NULL, writes the halves there. */
void half_round(real *values, uint16_t *kept, size_t count);
void half_expand(real *values, const uint16_t *kept, size_t count);
uint16_t half_from_float(float value);
float half_to_float(uint16_t half);

#endif

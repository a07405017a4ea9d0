/* kernels.h - the arithmetic of one leaf, independent of the model.

   The order of operations depends on the shapes only, so that the same inputs
   give the same bits in every process. Matrices are dense and row-major. */
#ifndef TRAINER_KERNELS_H
#define TRAINER_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* The build in double is for checking gradients by central differences. */
#ifdef TRAINER_DOUBLE
typedef double real;
#else
typedef float real;
#endif

/* A matrix, possibly inside a larger one: `stride` is the distance of rows. */
typedef struct matrix {
    const real *at;
    size_t stride;
    int transposed;
} matrix;

/* out[rows][cols] = scale * a * b; inner is the number of columns of a. */
void multiply(real *out, size_t out_stride, matrix a, matrix b, size_t rows,
              size_t cols, size_t inner, real scale);

void layernorm(real *out, const real *in, const real *weight, const real *bias,
               size_t rows, size_t cols);

/* Adds to d_in; sets d_weight and d_bias. */
void layernorm_back(real *d_in, real *d_weight, real *d_bias, const real *d_out,
                    const real *in, const real *weight, size_t rows,
                    size_t cols);

void gelu(real *out, const real *in, size_t count);
void gelu_back(real *d, const real *in, size_t count); /* in place */

/* Row i of a square matrix uses columns 0 .. i; the others become 0. */
void softmax_causal(real *scores, size_t size);
void softmax_causal_back(real *d, const real *share, size_t size);

/* Returns the sum of the rows' losses in nats. Replaces logits by the
   derivative of the mean loss, times scale. */
double cross_entropy(real *logits, const unsigned char *target, size_t rows,
                     size_t cols, real scale);

void add(real *to, const real *from, size_t count);

/* IEEE half precision, rounded to nearest even. half_round rounds in place and,
   unless kept is NULL, also stores the halves there. */
void half_round(real *values, uint16_t *kept, size_t count);
void half_expand(real *values, const uint16_t *kept, size_t count);
uint16_t half_from_float(float value);
float half_to_float(uint16_t half);

#endif

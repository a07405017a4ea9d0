/* kernels.c - see kernels.h. Loops are written so that a compiler can vectorize
   them without changing results. Sums run in LANES separate lanes, so that an
   addition need not wait for the one before; lanes are added in a fixed
   order. */
#include "kernels.h"

#include <cblas.h>
#include <math.h>
#include <string.h>
#if defined(__F16C__) && !defined(TRAINER_DOUBLE)
#include <immintrin.h>
#define EIGHT_AT_ONCE
#endif

enum { LANES = 16 };

/* ---- Products ---- */

/* How BLAS is to read a matrix. */
static CBLAS_TRANSPOSE flip(matrix m)
{
    return m.transposed ? CblasTrans : CblasNoTrans;
}

void multiply(real *out, size_t out_stride, matrix a, matrix b, size_t rows,
              size_t cols, size_t inner, real scale)
{
#ifdef TRAINER_DOUBLE
    cblas_dgemm(
#else
    cblas_sgemm(
#endif
        CblasRowMajor, flip(a), flip(b), (blasint)rows, (blasint)cols,
        (blasint)inner, scale, a.at, (blasint)a.stride, b.at, (blasint)b.stride,
        0, out, (blasint)out_stride);
}

/* ---- Sums ---- */

static real sum_lanes(const real *lane)
{
    real sum = 0;
    int i;

    for (i = 0; i < LANES; i++)
        sum += lane[i];
    return sum;
}

static real sum_of(const real *a, size_t count)
{
    real lane[LANES] = {0};
    size_t i;

    for (i = 0; i < count; i++)
        lane[i % LANES] += a[i];
    return sum_lanes(lane);
}

/* The sum of (a - shift) * (b - shift). */
static real dot(const real *a, const real *b, real shift, size_t count)
{
    real lane[LANES] = {0};
    size_t i;

    for (i = 0; i < count; i++)
        lane[i % LANES] += (a[i] - shift) * (b[i] - shift);
    return sum_lanes(lane);
}

void add(real *to, const real *from, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        to[i] += from[i];
}

/* ---- Exponentials ---- */

typedef union float_bits {
    float value;
    uint32_t bits;
} float_bits;

/* e^x for x <= 88, as e^x = 2^k * e^r with |r| <= ln 2 / 2 and the series of
   e^r up to the seventh power, whose error is below 6e-9. Below -87 it returns
   e^-87, which is negligible in all sums here; NaN stays NaN. libm's exp would
   take half of the run's time. */
static inline real exponential(real x)
{
#ifdef TRAINER_DOUBLE
    return exp(x);
#else
    float_bits power;
    float k, r, sum, near = x > -87.0f ? x : -87.0f;

    near = near < 88.0f ? near : 88.0f;
    k = near * 1.44269504f + 12582912.0f; /* 1.5 * 2^23: rounds to an integer */
    k -= 12582912.0f;
    r = near - k * 0.693359375f; /* ln 2 in two parts: this one is exact */
    r += k * 2.12194440e-4f;
    sum = 1.0f / 5040;
    sum = sum * r + 1.0f / 720;
    sum = sum * r + 1.0f / 120;
    sum = sum * r + 1.0f / 24;
    sum = sum * r + 1.0f / 6;
    sum = sum * r + 0.5f;
    sum = sum * r + 1.0f;
    sum = sum * r + 1.0f;
    power.bits = (uint32_t)((int32_t)k + 127) << 23;
    return x == x ? sum * power.value : x;
#endif
}

#define GELU_INNER ((real)0.7978845608028654) /* sqrt(2 / pi) */
#define GELU_CUBIC ((real)0.044715)

/* tanh(y) = 1 - 2 / (e^2y + 1) */
static inline real gelu_tanh(real x)
{
    const real y = GELU_INNER * (x + GELU_CUBIC * x * x * x);

    return 1 - 2 / (exponential(2 * y) + 1);
}

void gelu(real *out, const real *in, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        out[i] = (real)0.5 * in[i] * (1 + gelu_tanh(in[i]));
}

void gelu_back(real *d, const real *in, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++) {
        const real x = in[i], t = gelu_tanh(x);
        const real inner = GELU_INNER * (1 + 3 * GELU_CUBIC * x * x);

        d[i] *= (real)0.5 * (1 + t + x * (1 - t * t) * inner);
    }
}

/* ---- Rows: softmax, the loss, layernorm ---- */

static void scale_by(real *x, real factor, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        x[i] *= factor;
}

/* Returns the sum of e^(x - *largest). */
static real softmax(real *x, size_t count, real *largest)
{
    real most = x[0], sum;
    size_t i;

    for (i = 1; i < count; i++)
        most = x[i] > most ? x[i] : most;
    for (i = 0; i < count; i++)
        x[i] = exponential(x[i] - most);
    sum = sum_of(x, count);
    scale_by(x, 1 / sum, count);
    *largest = most;
    return sum;
}

void softmax_causal(real *scores, size_t size)
{
    real largest;
    size_t i;

    for (i = 0; i < size; i++) {
        softmax(scores + i * size, i + 1, &largest);
        memset(scores + i * size + i + 1, 0, (size - i - 1) * sizeof *scores);
    }
}

void softmax_causal_back(real *d, const real *share, size_t size)
{
    size_t i, j;

    for (i = 0; i < size; i++) {
        real *row = d + i * size;
        const real *p = share + i * size;
        real mean = dot(row, p, 0, i + 1);

        for (j = 0; j <= i; j++)
            row[j] = p[j] * (row[j] - mean);
        memset(row + i + 1, 0, (size - i - 1) * sizeof *row);
    }
}

double cross_entropy(real *logits, const unsigned char *target, size_t rows,
                     size_t cols, real scale)
{
    double nats = 0;
    size_t i;

    for (i = 0; i < rows; i++) {
        real *row = logits + i * cols, right = row[target[i]], largest;
        real sum = softmax(row, cols, &largest);

        nats += log((double)sum) - ((double)right - (double)largest);
        row[target[i]] -= 1;
        scale_by(row, scale / (real)rows, cols);
    }
    return nats;
}

/* A row's mean; sets *scale to 1 / deviation. */
static real moments(const real *x, size_t count, real *scale)
{
    const real mean = sum_of(x, count) / (real)count;
    const real variance = dot(x, x, mean, count) / (real)count;

    *scale = (real)(1 / sqrt((double)variance + 1e-5));
    return mean;
}

void layernorm(real *out, const real *in, const real *weight, const real *bias,
               size_t rows, size_t cols)
{
    size_t i, j;

    for (i = 0; i < rows; i++) {
        const real *x = in + i * cols;
        real scale, mean = moments(x, cols, &scale);

        for (j = 0; j < cols; j++)
            out[i * cols + j] = (x[j] - mean) * scale * weight[j] + bias[j];
    }
}

void layernorm_back(real *d_in, real *d_weight, real *d_bias, const real *d_out,
                    const real *in, const real *weight, size_t rows,
                    size_t cols)
{
    size_t i, j;

    memset(d_weight, 0, cols * sizeof *d_weight);
    memset(d_bias, 0, cols * sizeof *d_bias);
    for (i = 0; i < rows; i++) {
        const real *x = in + i * cols, *d = d_out + i * cols;
        real scale, mean = moments(x, cols, &scale);
        real lane[LANES] = {0}, lane_x[LANES] = {0}, sum, sum_x;

        for (j = 0; j < cols; j++) {
            const real normal = (x[j] - mean) * scale;

            d_bias[j] += d[j];
            d_weight[j] += d[j] * normal;
            lane[j % LANES] += d[j] * weight[j];
            lane_x[j % LANES] += d[j] * weight[j] * normal;
        }
        sum = sum_lanes(lane) / (real)cols;
        sum_x = sum_lanes(lane_x) / (real)cols;
        for (j = 0; j < cols; j++)
            d_in[i * cols + j] +=
                (d[j] * weight[j] - sum - (x[j] - mean) * scale * sum_x) *
                scale;
    }
}

/* ---- Half precision ---- */

uint16_t half_from_float(float value)
{
    float_bits x;
    uint32_t sign;

    x.value = value;
    sign = x.bits >> 16 & 0x8000u;
    x.bits &= 0x7fffffffu;
    if (x.bits > 0x7f800000u) /* NaN */
        return (uint16_t)(sign | 0x7e00u | (x.bits >> 13 & 0x3ffu));
    if (x.bits >= 0x47800000u) /* 65536 and more */
        return (uint16_t)(sign | 0x7c00u);
    if (x.bits < 0x38800000u) { /* below 2^-14: adding 0.5 rounds */
        x.value += 0.5f;
        return (uint16_t)(sign | (x.bits - 0x3f000000u));
    }
    x.bits += 0xfffu + (x.bits >> 13 & 1u) - (112u << 23);
    return (uint16_t)(sign | x.bits >> 13);
}

float half_to_float(uint16_t half)
{
    float_bits x;

    x.bits = (half & 0x7fffu) << 13;
    x.value *= 5192296858534827628530496329220096.0f; /* 2^112 */
    if (x.value >= 65536) /* infinity, or NaN, which becomes quiet */
        x.bits |= 0x7f800000u | (half & 0x3ffu ? 0x400000u : 0);
    x.bits |= (half & 0x8000u) << 16;
    return x.value;
}

void half_round(real *values, uint16_t *kept, size_t count)
{
    size_t i = 0;

#ifdef EIGHT_AT_ONCE
    for (; i + 8 <= count; i += 8) {
        __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(values + i), 0);

        if (kept)
            _mm_storeu_si128((__m128i *)(void *)(kept + i), half);
        _mm256_storeu_ps(values + i, _mm256_cvtph_ps(half));
    }
#endif
    for (; i < count; i++) {
        uint16_t half = half_from_float((float)values[i]);

        if (kept)
            kept[i] = half;
        values[i] = (real)half_to_float(half);
    }
}

void half_expand(real *values, const uint16_t *kept, size_t count)
{
    size_t i = 0;

#ifdef EIGHT_AT_ONCE
    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(values + i,
                         _mm256_cvtph_ps(_mm_loadu_si128(
                             (const __m128i *)(const void *)(kept + i))));
#endif
    for (; i < count; i++)
        values[i] = (real)half_to_float(kept[i]);
}

/* stats.c - see stats.h. The methods are those of every handbook: the series
   and the continued fraction of the incomplete gamma function (Abramowitz
   and Stegun, 6.5.29 and 6.5.31), Kolmogorov's series. */
#include "stats.h"

#include <math.h>
#include <stdlib.h>

void stats_gamma(double a, double x, double *lower, double *upper)
{
    double front, sum, term;
    long i;
    if (x <= 0) {
        *lower = 0;
        *upper = 1;
        return;
    }
    front = exp(a * log(x) - x - lgamma(a));
    if (x < a + 1) {
        /* Terms fall from x / (a + 1) < 1 on: some sqrt(a) of them count. */
        sum = term = 1 / a;
        for (i = 1; i < 10000000 && term > sum * 1e-16; i++) {
            term *= x / (a + (double)i);
            sum += term;
        }
        *lower = front * sum;
        *lower = *lower > 1 ? 1 : *lower;
        *upper = 1 - *lower;
    } else {
        /* Lentz's evaluation of the continued fraction. */
        double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
        for (i = 1; i < 10000000; i++) {
            double an = -(double)i * ((double)i - a), delta;
            b += 2;
            d = an * d + b;
            d = fabs(d) < 1e-300 ? 1e-300 : d;
            c = b + an / c;
            c = fabs(c) < 1e-300 ? 1e-300 : c;
            d = 1 / d;
            delta = d * c;
            h *= delta;
            if (fabs(delta - 1) < 1e-15) {
                break;
            }
        }
        *upper = front * h;
        *upper = *upper > 1 ? 1 : *upper;
        *lower = 1 - *upper;
    }
}

/* A probability that may be out of bounds by rounding; its logarithm is taken,
   so that it is not 0 either. */
static double probability(double p)
{
    if (p > 1) {
        return 1;
    }
    return p < 1e-300 ? 1e-300 : p;
}

double stats_two_sided(double lower, double upper)
{
    return probability(2 * (lower < upper ? lower : upper));
}

double stats_chi_square(double x, double degrees)
{
    double lower, upper;
    stats_gamma(degrees / 2, x / 2, &lower, &upper);
    return stats_two_sided(lower, upper);
}

double stats_normal(double z)
{
    double p = erfc(fabs(z) / sqrt(2.0));
    return p < 1e-300 ? 1e-300 : p;
}

double stats_poisson(double count, double mean, double u)
{
    /* P(X <= k) = Q(k + 1, mean). */
    double lower = 0, upper = 1, below, step;
    if (count > 0) {
        stats_gamma(count, mean, &upper, &lower);
    }
    below = lower; /* P(X < count) */
    step = exp(count * log(mean) - mean - lgamma(count + 1));
    return stats_two_sided(below + u * step, upper - u * step);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double stats_uniform(double *values, size_t count)
{
    double root = sqrt((double)count), most = 0, sum = 0, sign = 1, x;
    size_t i;
    if (count == 0) {
        return 1;
    }
    qsort(values, count, sizeof *values, compare);
    for (i = 0; i < count; i++) {
        double above = (double)(i + 1) / (double)count - values[i];
        double below = values[i] - (double)i / (double)count;
        most = above > most ? above : most;
        most = below > most ? below : most;
    }
    x = (root + 0.12 + 0.11 / root) * most; /* Stephens 1970 */
    if (x < 0.3) {
        return 1;
    }
    for (i = 1; i < 100; i++, sign = -sign) {
        sum += sign * 2 * exp(-2 * (double)(i * i) * x * x);
    }
    return probability(sum);
}

double stats_fit(const double *counts, const double *expected, size_t cells)
{
    double x = 0, have = 0, want = 0, left = 0, degrees = -1;
    size_t i;
    for (i = 0; i < cells; i++) {
        left += expected[i];
    }
    for (i = 0; i < cells; i++) {
        have += counts[i];
        want += expected[i];
        left -= expected[i];
        /* The last cell takes whatever would be too little alone. */
        if ((want >= 25 && left >= 25) || i + 1 == cells) {
            if (want > 0) {
                x += (have - want) * (have - want) / want;
                degrees++;
            } else if (have > 0) {
                return 1e-300;
            }
            have = want = 0;
        }
    }
    return degrees < 1 ? 1 : stats_chi_square(x, degrees);
}

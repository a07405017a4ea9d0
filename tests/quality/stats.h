/* stats.h - p-values. A one-sided p-value is the chance of a result as large
   or larger; two_sided makes one that is small at both ends: too even is as
   telling as too uneven. */
#ifndef STATESAMPLER_QUALITY_STATS_H
#define STATESAMPLER_QUALITY_STATS_H

#include <stddef.h>
#include <stdint.h>

/* Regularised incomplete gamma functions P(a, x) and Q(a, x). */
void stats_gamma(double a, double x, double *lower, double *upper);

double stats_two_sided(double lower, double upper);
double stats_chi_square(double x, double degrees); /* two-sided */
double stats_normal(double z);                     /* two-sided */

/* A Poisson count. Between the chances of "at most count - 1" and "at most
   count" it takes the share u in (0, 1) of the step, so that p-values of a
   discrete law are uniform. */
double stats_poisson(double count, double mean, double u);

/* Kolmogorov-Smirnov: are these values, which it sorts, uniform in [0, 1]? */
double stats_uniform(double *values, size_t count);

/* Chi-square of counts against expected ones, neighbours being put together
   until 25 are expected. */
double stats_fit(const double *counts, const double *expected, size_t cells);

#endif

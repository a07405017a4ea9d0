/* scaler.h - the loss scale of O1, as Apex has it: small gradients would vanish
   in half precision, so the loss is multiplied before the way back, and the
   gradients are divided by the same number. */
#ifndef TRAINER_SCALER_H
#define TRAINER_SCALER_H

#include <stdint.h>

typedef struct scaler {
    double scale;
    int64_t unskipped; /* good steps in a row */
    int dynamic;
} scaler;

/* fixed: 0 for a dynamic scale. Without O1 the scale is 1 for ever. */
void scaler_init(scaler *s, int half, double fixed);

/* Whether a run with this scaler can have come to that. */
int scaler_can_be(const scaler *s, double scale, int64_t unskipped);

/* After a step. Returns whether the weights are to be left alone. */
int scaler_skips(scaler *s, int overflowed);

#endif

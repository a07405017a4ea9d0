/* scaler.h - the loss scale of O1, as in Apex: small gradients would vanish in
   half precision, so the loss is multiplied by the scale before the backward
   pass, and the gradients are divided by it. */
#ifndef TRAINER_SCALER_H
#define TRAINER_SCALER_H

#include <stdint.h>

typedef struct scaler {
    double scale;
    int64_t unskipped; /* steps without overflow, in a row */
    int dynamic;
} scaler;

/* fixed: 0 for a dynamic scale. Without O1 the scale is always 1. */
void scaler_init(scaler *s, int half, double fixed);

/* Whether these values are possible for this scaler. */
int scaler_can_be(const scaler *s, double scale, int64_t unskipped);

/* Call it after each step. Returns whether to skip the update. */
int scaler_skips(scaler *s, int overflowed);

#endif

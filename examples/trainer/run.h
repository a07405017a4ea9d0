/* run.h - a run of the trainer: the state of one process, and the functions
   that main.c calls. */
#ifndef TRAINER_RUN_H
#define TRAINER_RUN_H

#include "config.h"
#include "feed.h"
#include "model.h"
#include "optimizer.h"
#include "reduce.h"
#include "text.h"

#include <signal.h>

/* Set by a signal: after the step all processes have it in their totals. */
extern volatile sig_atomic_t run_stop;

typedef struct run {
    struct trainer_config config;
    int rank, world; /* of the current processes */
    char blas[256];  /* OpenBLAS's kernel, or "several" */
    text text;
    feed feed;
    model model;
    reduce reduce;
    scaler scaler;

    uint64_t step, skipped; /* steps in all epochs; of these, skipped */
    double rate;            /* of the last step */

    FILE *log; /* process 0 only, as is its path */
    char log_path[CONFIG_STRING + 16];
    int log_errno; /* of the first write that failed, or 0 */
    uint64_t log_bytes, log_hash;
} run;

/* Opens the texts and allocates all memory. On an error of any process all
   processes exit. */
void run_init(run *r);

/* The part of it that needs no texts. */
void run_init_model(run *r);

/* One training step. Returns "" or why the run cannot continue, the same on all
   processes. */
const char *run_step(run *r);

/* Mean loss of the held-out text in bits per byte, the same on any number of
   processes; NaN if a loss is NaN or too large. */
double run_held_out(run *r);

/* A hash of all weights, optimizer state and the log, the same on all
   processes. All must call it. */
uint64_t run_digest(const run *r);

#endif

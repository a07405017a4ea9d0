/* run.h - a run of the trainer: everything that one process has, and what can
   be done with it. main.c says when. */
#ifndef TRAINER_RUN_H
#define TRAINER_RUN_H

#include "config.h"
#include "feed.h"
#include "model.h"
#include "optimizer.h"
#include "reduce.h"
#include "scaler.h"
#include "text.h"

typedef struct run {
    struct trainer_config config;
    int rank, world; /* of the processes there are now */
    char blas[256];  /* the kernels of OpenBLAS that they have */
    text text;
    feed feed;
    model model;
    int *owner; /* of each tensor */
    reduce reduce;
    optimizer optimizer;
    scaler scaler;

    uint64_t step, skipped; /* steps taken, all epochs; of these, skipped */
    double rate;            /* of the last step */
    const unsigned char **leaves; /* this process's, of a step */

    FILE *log; /* process 0's */
    int log_errno; /* why the first line that did not get there did not */
    uint64_t log_bytes, log_hash;
} run;

/* Opens the texts and takes all memory. Leaves on any error, all together. */
void run_init(run *r);

/* One step of training. Returns "", or why the run cannot go on: the same on
   all processes. */
const char *run_step(run *r);

/* Mean loss of the held-out text, in bits per byte; exact, so the same on any
   number of processes. Not a number where one of the losses is none. */
double run_held_out(run *r);

/* A hash of weights, optimizer state and log. To be called by all. */
uint64_t run_digest(run *r);

#endif

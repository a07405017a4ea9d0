/* feed.h - chooses the sequences (leaves) of each step. This is where the
   trainer uses statesampler.h.

   The sampler's ranks are the run's NUM_NODES * NUM_PROC_PER_NODE, not the
   current processes: leaf i of a step is sample i % batch of rank i / batch. A
   process asks for the leaves that it computes, whichever ranks they belong to;
   so steps are the same on any number of processes. */
#ifndef TRAINER_FEED_H
#define TRAINER_FEED_H

#include "statesampler.h"
#include "text.h"

/* What was served in this epoch, all of it 64-bit numbers. */
typedef struct feed_served {
    uint64_t count;
    statesampler_audit audits[CONFIG_FILES]; /* of each source's own epoch */
} feed_served;

typedef struct feed {
    const text *text;
    const struct trainer_config *config;
    statesampler_mix mix;
    statesampler_source sources[CONFIG_FILES];
    feed_served served; /* by this process */
    uint64_t *batch;

    unsigned char *start; /* the state of the mix when the epoch began */
    uint64_t again; /* served before a resume that began the epoch again */
} feed;

/* Returns "" or an error. */
const char *feed_init(feed *f, const text *t,
                      const struct trainer_config *config);

/* Whether no step of this epoch is left. No state is saved then. */
int feed_at_end(const feed *f);

/* Takes a step: sets leaves to positions first .. last - 1 of the global batch
   and returns their number, which is less at a short last step. */
size_t feed_next(feed *f, uint64_t first, uint64_t last,
                 const unsigned char **leaves);

/* Ends an epoch after its last step and begins the next. Checks the sum of all
   processes' audits, writes the result as a sentence, the same on each process,
   and returns whether the audit passed. */
int feed_end_epoch(feed *f, char *words, size_t size);

/* The state of the mix, and what all processes served; the same on each. As
   with torch's sampler, the state is that of the epoch's start without
   USE_STATEFUL_DISTRIBUTED_SAMPLER. All processes must save. keep_served: on
   one process. Return "" or an error. */
size_t feed_state_bytes(const feed *f);
const char *feed_save(const feed *f, unsigned char *state);
const char *feed_load(feed *f, const unsigned char *state, size_t size,
                      int keep_served);

#endif

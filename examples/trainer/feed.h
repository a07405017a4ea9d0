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

typedef struct feed {
    const text *text;
    const struct trainer_config *config;
    statesampler_mix mix;
    statesampler_source sources[CONFIG_FILES];
    statesampler_audit audits[CONFIG_FILES]; /* of what this process served */
    uint64_t audited[CONFIG_FILES];          /* the audits' epochs */
    uint64_t served[CONFIG_FILES]; /* in this epoch, by this process */
    uint32_t world_size, batch_size;         /* of the run */
    uint64_t *batch;
} feed;

/* Returns "" or an error. */
const char *feed_init(feed *f, const text *t,
                      const struct trainer_config *config);

/* Steps of an epoch, and those done in this one. */
uint64_t feed_steps(const feed *f);
uint64_t feed_step(const feed *f);
uint64_t feed_epoch(const feed *f);

/* Takes a step: sets leaves to positions first .. last - 1 of the global batch
   and returns their number, which is less at a short last step. */
size_t feed_next(feed *f, uint64_t first, uint64_t last,
                 const unsigned char **leaves);

/* Ends an epoch after its last step and begins the next. Checks the sum of all
   processes' audits, writes the result as a sentence, the same on each process,
   and returns whether the audit passed. */
int feed_end_epoch(feed *f, char *words, size_t size);

/* The state of the mix and all processes' audits; the same on each. */
size_t feed_state_bytes(const feed *f);
const char *feed_save(const feed *f, unsigned char *state);
const char *feed_load(feed *f, const unsigned char *state, size_t size,
                      int keep_audit);

/* Restarts the epoch, as torch's sampler does after a resume. Returns how many
   sequences it had served, which will be served again. All must call it. */
uint64_t feed_restart_epoch(feed *f);

#endif

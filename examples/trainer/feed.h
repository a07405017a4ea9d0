/* feed.h - chooses the sequences (leaves) of each step. This is where the
   trainer uses statesampler.h.

   The sampler's ranks are the run's NUM_NODES * NUM_PROC_PER_NODE, not the
   current processes, which share the leaves of all ranks. Each process lists
   all of them, so that steps, audits and states are the same on any number of
   processes. */
#ifndef TRAINER_FEED_H
#define TRAINER_FEED_H

#include "statesampler.h"
#include "text.h"

typedef struct feed {
    const text *text;
    const struct trainer_config *config;
    statesampler_mix mix;
    uint32_t num_sources; /* the files of DATA.TRAIN */
    statesampler_source sources[CONFIG_FILES];
    uint64_t *batch;              /* of one rank */
    const unsigned char **leaves; /* of a step */
    struct {
        uint64_t count;                          /* sequences in this epoch */
        statesampler_audit audits[CONFIG_FILES]; /* of each source's own */
    } served;                                    /* 64-bit numbers only */
    uint64_t again; /* served before a resume that began the epoch again */
} feed;

/* Returns "" or an error. */
const char *feed_init(feed *f, const text *t,
                      const struct trainer_config *config);

/* Whether no step of this epoch is left. No state is saved then. */
int feed_at_end(const feed *f);

/* Takes a step: lists its leaves, and returns their number. */
size_t feed_next(feed *f);

/* Ends an epoch after its last step and begins the next. Writes what was served
   as a sentence, and returns whether the audit passed. */
int feed_end_epoch(feed *f, char *words, size_t size);

/* The state of the mix, and what was served. As with torch's sampler, the state
   is that of the epoch's start without USE_STATEFUL_DISTRIBUTED_SAMPLER.
   feed_load returns "" or an error. */
size_t feed_state_bytes(const feed *f);
void feed_save(feed *f, unsigned char *state);
const char *feed_load(feed *f, const unsigned char *state, size_t size);

#endif

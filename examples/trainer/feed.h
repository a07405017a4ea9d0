/* feed.h - which sequences are the leaves of a step. This is where the trainer
   uses statesampler.h.

   The sampler's ranks are those of the run, NUM_NODES * NUM_PROC_PER_NODE, and
   not the processes of the moment: leaf i of a step is number i modulo the
   batch of rank i / batch. A process asks for the leaves that it computes, of
   whatever ranks they are; so the steps are the same on any number of
   processes. */
#ifndef TRAINER_FEED_H
#define TRAINER_FEED_H

#include "statesampler.h"
#include "text.h"

typedef struct feed {
    const text *text;
    const struct trainer_config *config;
    statesampler_mix mix;
    statesampler_source sources[CONFIG_FILES];
    statesampler_audit audits[CONFIG_FILES]; /* what this process has served */
    uint64_t audited[CONFIG_FILES];          /* of which epoch of the source */
    uint32_t world_size, batch_size;         /* of the run */
    uint64_t *batch;
} feed;

/* Returns "" or what is wrong. */
const char *feed_init(feed *f, const text *t,
                      const struct trainer_config *config);

/* Steps of an epoch, and those done in this one. */
uint64_t feed_steps(const feed *f);
uint64_t feed_step(const feed *f);
uint64_t feed_epoch(const feed *f);

/* Takes a step: sets leaves[0 .. return value) to those of positions first ..
   last - 1 of the global batch. Fewer where the epoch's last step is short. */
size_t feed_next(feed *f, uint64_t first, uint64_t last,
                 const unsigned char **leaves);

/* After the last step of an epoch: what the sources have served in it, proved
   by all processes' audits added up, in words, the same on each. Then the next
   epoch begins. Returns whether what must be exact is. */
int feed_end_epoch(feed *f, char *words, size_t size);

/* The state of the mix and all processes' audits; the same on each. */
size_t feed_state_bytes(const feed *f);
const char *feed_save(const feed *f, unsigned char *state);
const char *feed_load(feed *f, const unsigned char *state, size_t size,
                      int keep_audit);

/* The epoch begins anew: what torch's sampler does after a resume. Returns how
   many sequences it has served, and so serves again. */
uint64_t feed_restart_epoch(feed *f);

#endif

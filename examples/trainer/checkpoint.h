/* checkpoint.h - a run on disk. The file DIR/step-000000000120 has a head,
   written by process 0, and each tensor's weights and optimizer state, written
   by its owner. It gets this name by one rename when all of it is on disk, so
   that a file of this name is always complete, whichever processes were killed.
   A checkpoint is the same on any number of processes, and any number can
   resume from it, with ZeRO or without. */
#ifndef TRAINER_CHECKPOINT_H
#define TRAINER_CHECKPOINT_H

#include "run.h"

/* The head: this struct without padding, then the feed's state and the
   configuration as YAML. */
typedef struct checkpoint_head {
    char format[16];
    uint64_t step, skipped;
    uint64_t texts;               /* their hash */
    uint64_t log_bytes, log_hash; /* of log.txt at the save */
    uint64_t feed_bytes, config_bytes;
    double loss_scale;
    int64_t unskipped;
    char blas[256]; /* OpenBLAS's kernels */
} checkpoint_head;

/* All processes must call this, and the functions below. Returns "" or an
   error, the same on all processes. After an error the older checkpoints are
   unchanged, and this one is removed if possible. */
const char *checkpoint_save(run *r);

/* Resumes from the newest intact checkpoint; sets name to its name, or to "" if
   there is none. Damaged checkpoints, and those whose lines of the log, which
   must be open, are not there, are skipped and named on stderr. Flushes DIR, as
   the run that saved the checkpoint may have been killed before it could.
   Returns "" or an error, with which the run ends: a checkpoint of another run
   or one that cannot be read; none that is intact, or only such as lack their
   log, with the way to go on without it; or, without AUTO_RESUME, any
   checkpoint, as a later resume could not distinguish it from those of this
   run. */
const char *checkpoint_load(run *r, char name[64]);

/* Begins a new run with everything of a checkpoint but its log, to train for
   more epochs; or with its weights alone. Returns "" or an error. */
const char *checkpoint_extend(run *r, const char *path);
const char *checkpoint_take_weights(run *r, const char *path);

/* Any process may call the functions below. Sets the configuration to that of a
   checkpoint. Returns "" or an error. */
const char *checkpoint_config(const char *path, struct trainer_config *config);

/* Prints the name, size and root mean square of every tensor; or, with words to
   begin with, text that the model writes. */
void look(const char *path, const char *words);

#endif

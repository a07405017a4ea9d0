/* checkpoint.h - a run on disk. DIR/log.txt is written by process 0; all keep
   its hash. The file DIR/step-000000000120 has a head, written by process 0,
   and each tensor's weights and optimizer state, written by its owner. It gets
   this name by one rename when all of it is on disk, so that a file of this
   name is always complete, whichever processes were killed. A checkpoint is the
   same on any number of processes, and any number can resume from it, with ZeRO
   or without. */
#ifndef TRAINER_CHECKPOINT_H
#define TRAINER_CHECKPOINT_H

#include "run.h"

/* Opens DIR/log.txt and locks it, so that DIR belongs to this run as long as
   its process 0 lives. A log.txt that the trainer has not written is an error
   and stays unchanged. Returns "" or an error. */
const char *log_open(run *r);

/* Truncates the log to its size at the checkpoint; without one, to its first
   line. Returns "" or an error. */
const char *log_cut(run *r);

/* Adds a line to the log and its hash. */
void log_line(run *r, const char *line);

/* Whether log.txt begins with the r->log_bytes of this run. Returns "", or an
   error, and whether *failed to read it. */
const char *log_check(const run *r, int *failed);

/* Flushes the log to disk. Returns "", the first error of any write, or that
   log.txt is not as this run has written it. */
const char *log_flush(run *r);

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
    char blas[256];               /* OpenBLAS's kernels */
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

/* Begins a new run with the weights of a checkpoint, or with everything but its
   log, to train for more epochs. Returns "" or an error. */
const char *checkpoint_begin(run *r, const char *path, int extend);

/* Any process may call the functions below. Sets the configuration to that of a
   checkpoint. Returns "" or an error. */
const char *checkpoint_config(const char *path, struct trainer_config *config);

/* Flushes the changes of a folder's entries to disk; file systems that cannot
   do this are no error. Returns "" or an error. */
const char *checkpoint_flush(const char *folder);

/* Prints the name, size and root mean square of every tensor; or, with words to
   begin with, text that the model writes. */
void look(const char *path, const char *words);

#endif

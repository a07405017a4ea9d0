/* checkpoint.h - a run on disk: the file DIR/step-000000000120 has a head,
   written by process 0, and each tensor's weights and optimizer state, written
   by its owner. The file gets this name by one rename when all of it is on
   disk, so that a file of this name is always complete, whichever processes
   were killed. A checkpoint is the same on any number of processes, and any
   number can resume from it, with ZeRO or without. */
#ifndef TRAINER_CHECKPOINT_H
#define TRAINER_CHECKPOINT_H

#include "run.h"

#define CHECKPOINT_FORMAT "format 5"
#define CHECKPOINT_NAME "step-%012" PRIu64
enum { CHECKPOINT_PATH = CONFIG_STRING + 32 }; /* bytes of a file's path */

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

/* Resumes from the newest intact checkpoint, or from the one that
   LATEST_CHECKPOINT_RESUME_FILE_NUM selects; sets name to its name, or to "" if
   there is none. Damaged checkpoints, and those whose lines of the log, which
   must be open, are not there, are skipped and named on stderr. Flushes DIR, as
   the run that saved the checkpoint may have been killed before it could.
   Returns "" or an error, with which the run ends: a checkpoint of another run
   or one that cannot be read; none that is intact; or, without AUTO_RESUME, any
   checkpoint, as a later resume could not distinguish it from those of this
   run. */
const char *checkpoint_load(run *r, char name[64]);

/* Begins a new run with the weights of a checkpoint, or with everything but its
   log, to train for more epochs. Returns "" or an error. */
const char *checkpoint_begin(run *r, const char *path, int extend);

/* Any process may call the functions below. Sets the configuration to that of a
   checkpoint. Returns "" or an error. */
const char *checkpoint_config(const char *path, struct trainer_config *config);

/* The head, then the weights of each tensor, then the optimizer state of each,
   are parts of the file: the bytes and their hash, in which the step is too, so
   that no part of another checkpoint can stand in. */
size_t checkpoint_head_bytes(const checkpoint_head *h);
uint64_t checkpoint_hash(const checkpoint_head *h, const void *bytes,
                         size_t size);

/* The bytes of a part, to the end of its last page. Of two machines that write
   to the same page of a network file system, one may write zeros over what the
   other has written. */
uint64_t checkpoint_pages(uint64_t bytes);

/* Sets name to that of DIR's newest checkpoint, if it is "", or of the newest
   that is older than name, or to "" if there is none. Returns "" or an error. */
const char *checkpoint_before(const char *dir, char name[64]);

/* Flushes the changes of a folder's entries to disk; file systems that cannot
   do this are no error. Returns "" or an error. */
const char *checkpoint_flush(const char *folder);

#endif

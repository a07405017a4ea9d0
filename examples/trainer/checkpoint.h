/* checkpoint.h - a run on disk: DIR/step-000000000120/ has a part from each
   process, and a manifest. The folder gets this name by one rename when all of
   it is on disk, so that a folder of this name is always complete, whichever
   processes were killed. Any number of processes can resume from a checkpoint,
   with ZeRO or without. */
#ifndef TRAINER_CHECKPOINT_H
#define TRAINER_CHECKPOINT_H

#include "run.h"

/* All processes must call this, and the functions below. Returns "" or an
   error, the same on all processes. After an error the older checkpoints are
   unchanged, and this one is removed if possible. */
const char *checkpoint_save(run *r);

/* Resumes from the newest intact checkpoint, or from the one that
   LATEST_CHECKPOINT_RESUME_FILE_NUM selects; sets name to its name, or to "" if
   there is none. Damaged checkpoints are skipped and named on stderr. The log,
   which must be open, is restored. Flushes DIR, as the run that saved the
   checkpoint may have been killed before it could.
   Returns "" or an error, with which the run ends: a checkpoint of another run
   or one that cannot be read; none that is intact; or, without AUTO_RESUME, any
   checkpoint, as a later resume could not distinguish it from those of this
   run. */
const char *checkpoint_load(run *r, char name[64]);

/* Begins a new run with the weights of a checkpoint, or with everything but its
   log, to train for more epochs. Returns "" or an error. */
const char *checkpoint_begin(run *r, const char *folder, int extend);

/* Any process may call this. Flushes the changes of a folder's entries to disk;
   file systems that cannot do this are no error. Returns "" or an error. */
const char *checkpoint_flush(const char *path);

#endif

/* checkpoint.h - a run on disk: DIR/step-000000000120/ has a part from each
   process, and a manifest. The folder gets its name by one rename when all of
   it is on the disk, so that whoever finds it finds it whole, however many
   processes were killed meanwhile. A checkpoint knows nothing of how the run
   was spread: any number of processes can go on from it, with ZeRO or
   without. */
#ifndef TRAINER_CHECKPOINT_H
#define TRAINER_CHECKPOINT_H

#include "run.h"

/* To be called by all, as is everything here. Returns "" or what is wrong, the
   same on all processes; then all older checkpoints are as they were, and of
   this one nothing is left, where it can be removed. */
const char *checkpoint_save(run *r);

/* Goes on from the newest whole checkpoint, or the one that
   LATEST_CHECKPOINT_RESUME_FILE_NUM says: sets *name to its name, or to ""
   where there is none. Damaged ones are passed over and named on stderr. The
   log, which must be open, has what it had. What is taken is on the disk to
   stay, even if the run that saved it was killed before it could flush DIR.
   Returns "" or what is wrong: a checkpoint of another run or one that cannot
   be read, none that is whole, or any without AUTO_RESUME: a later resume could
   not tell it from those of a run that begins now. What is not taken changes
   nothing, and what is taken is saved again as the same bytes, by as many
   processes. */
const char *checkpoint_load(run *r, char name[64]);

/* By any process: what was made, renamed and removed in a folder is on the disk
   when this has returned; some file systems have no way to say so, which is no
   error. Returns "" or what is wrong. */
const char *checkpoint_flush(const char *path);

#endif

/* checkpoint.h - a run on disk: DIR/step-000000000120/ has a file for each
   tensor, written by its owner, with weights and optimizer state; log.txt;
   config.yaml; and a manifest. The folder gets this name by one rename when all
   of it is on disk, so that a folder of this name is always complete, whichever
   processes were killed. A checkpoint is the same on any number of processes,
   and any number can resume from it, with ZeRO or without. */
#ifndef TRAINER_CHECKPOINT_H
#define TRAINER_CHECKPOINT_H

#include "run.h"

/* A file as it was written. */
typedef struct checkpoint_file {
    uint64_t size, hash;
} checkpoint_file;

#define CHECKPOINT_FORMAT "format 4\n"
#define CHECKPOINT_NAME "step-%012" PRIu64
enum { CHECKPOINT_PATH = CONFIG_STRING + 96 }; /* bytes of a file's path */

/* The file "manifest" is this struct, the hash of each tensor's file, and the
   feed's state. It has no padding. */
typedef struct checkpoint_manifest {
    char format[16];
    uint64_t hash; /* of all that follows */
    uint64_t step, skipped;
    uint64_t texts;  /* their hash */
    uint64_t tensors;
    uint64_t states; /* the optimizer's numbers per weight */
    uint64_t feed_bytes;
    double loss_scale;
    int64_t unskipped;
    checkpoint_file log, config;
    char blas[256]; /* OpenBLAS's kernels */
} checkpoint_manifest;

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

/* The hash of a manifest of so many bytes in all. */
uint64_t checkpoint_hash(const checkpoint_manifest *m, size_t size);

/* Sets name to that of DIR's newest checkpoint that is older than one, or than
   nothing, "", or to "" if there is none. Returns "" or an error. */
const char *checkpoint_before(const char *dir, const char *than, char *name);

/* Any process may call this. Flushes the changes of a folder's entries to disk;
   file systems that cannot do this are no error. Returns "" or an error. */
const char *checkpoint_flush(const char *path);

#endif

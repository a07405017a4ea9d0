/* manifest.h - the text that describes a checkpoint: lines of a name and a
   value, and at the end a hash of all lines before. */
#ifndef TRAINER_MANIFEST_H
#define TRAINER_MANIFEST_H

#include "run.h"

typedef struct manifest {
    char *text;
    size_t size;
} manifest;

/* The part that one process has written. */
typedef struct manifest_part {
    uint64_t size, hash;
} manifest_part;

/* Makes the current manifest, including the log. state is the feed's. Returns
   "" or what is wrong with log.txt. */
const char *manifest_make(manifest *m, const run *r, manifest_part *parts,
                          unsigned char *state);

/* Whether the hash in the last line is right. */
int manifest_whole(const manifest *m);

/* Returns "", or how the checkpoint differs where it must not. */
const char *manifest_match(const manifest *m, const run *r);

/* Returns "", or why no run can have saved this under that name. Saving what is
   restored from it gives the same bytes again. */
const char *manifest_check(const manifest *m, const run *r, const char *name);

/* The name of the checkpoint of a step. */
void manifest_name(char name[64], uint64_t step);

/* The value of a line, up to its end, or NULL. */
const char *manifest_find(const manifest *m, const char *name);

/* The number of parts; and one of them, if it is listed. */
int manifest_parts(const manifest *m);
int manifest_part_at(const manifest *m, int part, manifest_part *out);

/* Restores everything except weights and optimizer state, and process 0's log.
   Returns "" or an error, with nothing changed. */
const char *manifest_restore(const manifest *m, run *r);

void manifest_free(manifest *m);

#endif

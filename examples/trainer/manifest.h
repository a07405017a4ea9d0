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

/* What a run takes from a checkpoint: RESUME everything; EXTEND everything but
   the log, and with other epochs and rates; WEIGHTS only these. */
enum { MANIFEST_RESUME, MANIFEST_EXTEND, MANIFEST_WEIGHTS };

/* Makes the current manifest. state is the feed's. */
void manifest_make(manifest *m, const run *r, const manifest_part *parts,
                   const unsigned char *state);

/* Whether the hash in the last line is right. */
int manifest_whole(const manifest *m);

/* Returns "", or how the checkpoint differs where it must not. */
const char *manifest_match(const manifest *m, const run *r, int take);

/* The name of the checkpoint of a step. */
void manifest_name(char name[64], uint64_t step);

/* The value of a line, up to its end, or NULL; the number in a line, or 0. */
const char *manifest_find(const manifest *m, const char *name);
uint64_t manifest_number(const manifest *m, const char *name);

/* A part, if it is listed. */
int manifest_part_at(const manifest *m, int part, manifest_part *out);

/* Restores everything except weights, optimizer state and log. Returns "", or
   why no run can have saved this under that name. */
const char *manifest_restore(const manifest *m, run *r, const char *name);

void manifest_free(manifest *m);

#endif

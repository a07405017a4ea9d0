/* manifest.h - the text in a checkpoint that says what it is: lines of a name
   and a value, and at the end the hash of all lines before. */
#ifndef TRAINER_MANIFEST_H
#define TRAINER_MANIFEST_H

#include "run.h"

typedef struct manifest {
    char *text;
    size_t size;
} manifest;

/* What one process has written. */
typedef struct manifest_part {
    uint64_t size, hash;
} manifest_part;

/* The manifest of this moment, with the log's text. state: the feed's. Returns
   "", or what is wrong with log.txt. */
const char *manifest_make(manifest *m, const run *r, manifest_part *parts,
                          unsigned char *state);

/* Whether the last line's hash is that of the lines before. */
int manifest_whole(const manifest *m);

/* Returns "", or how the checkpoint differs in what must be the same. */
const char *manifest_match(const manifest *m, const run *r);

/* Returns "", or why no run has saved this under that name: so what is restored
   from it is saved again as it was, and nothing in it has to be taken on
   trust. */
const char *manifest_check(const manifest *m, const run *r, const char *name);

/* The name of the checkpoint of a step. */
void manifest_name(char name[64], uint64_t step);

/* The value of a line, up to its end, or NULL. */
const char *manifest_find(const manifest *m, const char *name);

/* How many parts there are; what one of them is; whether it says so. */
int manifest_parts(const manifest *m);
int manifest_part_at(const manifest *m, int part, manifest_part *out);

/* Takes over what is neither weights nor optimizer state. Process 0's log has
   the lines again that it had. Returns "", or what is wrong, with nothing
   changed. */
const char *manifest_restore(const manifest *m, run *r);

void manifest_free(manifest *m);

#endif

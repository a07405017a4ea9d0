/* text.h - files as datasets of sequences. A sequence is context + 1 bytes: the
   model reads all but the last and guesses all but the first. Sequences do not
   overlap; every tenth of a file is held out. Files are mapped, not read. */
#ifndef TRAINER_TEXT_H
#define TRAINER_TEXT_H

#include "config.h"

typedef struct text_file {
    char path[CONFIG_STRING];
    const unsigned char *bytes;
    uint64_t size, hash;
    int descriptor;       /* stays open, to see whether the file is changed */
    int64_t changed[2];   /* when it was last: seconds and nanoseconds */
    uint64_t train, held; /* sequences */
    int whole;            /* DATA.TEST's: all of its sequences are held out */
} text_file;

typedef struct text {
    uint32_t num_files, num_test; /* the files to train on come first */
    uint64_t length;              /* of a sequence */
    uint64_t held;                /* sequences held out, of all files */
    uint64_t hash;                /* of all files, in order */
    text_file files[2 * CONFIG_FILES];
} text;

/* Returns "" or what is wrong, a static string. */
const char *text_open(text *t, const struct trainer_config *config);

/* The same: whether a file was changed in place after it was opened. */
const char *text_check(const text *t);

/* Sequence i of those of a file that are trained on. */
const unsigned char *text_train(const text *t, uint32_t file, uint64_t i);

/* Held-out sequence i of all files: i < held. */
const unsigned char *text_held(const text *t, uint64_t i);

/* Opens a file as open does. A pipe would keep us waiting for its writer, to be
   refused then, and does not; a file that a file server has lent to somebody
   is waited for until it is given back. */
int text_open_file(const char *path, int flags);

/* FNV-1a, to go on from the hash of what stands before. */
#define TEXT_HASH 0xcbf29ce484222325u
uint64_t text_hash(uint64_t hash, const void *bytes, size_t size);

#endif

/* text.h - files as datasets of sequences. A sequence is context + 1 bytes: the
   model reads all but the last and predicts all but the first. Sequences do not
   overlap; every tenth one of a file is held out. Files are memory-mapped. */
#ifndef TRAINER_TEXT_H
#define TRAINER_TEXT_H

#include "config.h"

#include <sys/stat.h>

typedef struct text_file {
    const char *path;
    const unsigned char *bytes;
    uint64_t size, hash;
    int descriptor;       /* stays open, to detect changes */
    struct stat about;    /* when it had this hash */
    uint64_t train, held; /* sequences */
    uint64_t every;       /* of so many sequences the last is held out */
} text_file;

typedef struct text {
    uint32_t num_files; /* of DATA.TRAIN, then of DATA.TEST */
    uint64_t length;    /* bytes of a sequence */
    uint64_t held;      /* held-out sequences of all files */
    uint64_t hash;      /* of all files, in order */
    text_file files[2 * CONFIG_FILES];
} text;

/* Returns "" or an error. */
const char *text_open(text *t, const struct trainer_config *config);

/* Returns "" or that a file was changed in place after it was opened. */
const char *text_check(text *t);

/* Training sequence i of a file. */
const unsigned char *text_train(const text *t, uint32_t file, uint64_t i);

/* Held-out sequence i of all files: i < held. */
const unsigned char *text_held(const text *t, uint64_t i);

/* FNV-1a; `hash` is that of the bytes before, or TEXT_HASH. */
#define TEXT_HASH 0xcbf29ce484222325u
uint64_t text_hash(uint64_t hash, const void *bytes, size_t size);

#endif

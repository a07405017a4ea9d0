/* config.h - the configuration of a run: one plain struct, filled from a YAML
   file and from arguments of the form OPTIMIZER.use_larc=True.

   config_keys.h has all keys with defaults, ranges and meanings; --keys prints
   it. Names are those of VISSL's configuration, in lower case. Keys that the
   trainer does not implement are unknown. The struct has no pointers, so that
   process 0 can send its bytes to the others. */
#ifndef TRAINER_CONFIG_H
#define TRAINER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    CONFIG_FILES = 32,    /* items of a list, at most */
    CONFIG_SCHEDULES = 8, /* parts of a composite schedule, at most */
    CONFIG_STRING = 512,  /* bytes of a text, including the 0 */
    CONFIG_BATCH = 4095,  /* sequences of a step, at most: see reduce.h */
    CONFIG_ERROR = 1536,  /* bytes of an error, including the 0 */
    CONFIG_PATH = 256     /* bytes of a path; longer ones are unknown */
};

/* The values of keys that take a word, in the order of the words. */
enum { CONFIG_O0, CONFIG_O1 };
enum { CONFIG_SGD, CONFIG_ADAMW, CONFIG_ZERO };
enum { CONFIG_FIRST, CONFIG_ALL, CONFIG_RESTART }; /* as STATESAMPLER_STOP_ */
enum { CONFIG_EPOCH, CONFIG_STEP };
enum { CONFIG_LINEAR_SCALING, CONFIG_SQRT_SCALING };
enum {
    CONFIG_CONSTANT,
    CONFIG_COSINE,
    CONFIG_LINEAR,
    CONFIG_MULTISTEP,
    CONFIG_STEPS,
    CONFIG_COMPOSITE
};

/* The kinds of fields. In lists, whole numbers are doubles, too. */
typedef int64_t config_whole; /* or the index of a word, as of False or True */
typedef double config_real;
typedef char config_text[CONFIG_STRING];
typedef struct {
    uint64_t count;
    double items[CONFIG_FILES];
} config_reals;
typedef struct {
    uint64_t count;
    config_text items[CONFIG_FILES];
} config_texts;

/* A schedule that is not composite, or a part of one that is. */
struct config_curve {
    config_whole name;
    config_real value, start_value, end_value;
    config_reals values, milestones;
};

/* The number of each key: CONFIG_momentum, ... Keys of a curve are in the order
   of their struct. */
enum {
    CURVE_NAME,
    CURVE_VALUE,
    CURVE_START,
    CURVE_END,
    CURVE_VALUES,
    CURVE_MILESTONES,
    CURVE_KEYS
};
#define KEY(kind, field, ...) CONFIG_##field,
#define CURVE(i, ...) \
    CONFIG_curve##i, CONFIG_end##i = CONFIG_curve##i + CURVE_KEYS - 1,
enum {
#include "config_keys.h"
    CONFIG_KEYS
};

#define KEY(kind, field, ...) config_##kind field;
#define CURVE(...)
struct trainer_config {
#include "config_keys.h"
    struct config_curve curve[1 + CONFIG_SCHEDULES]; /* first the schedule */

    /* What follows from several keys, after config_check. */
    int64_t world_size, global_batch; /* of the run, not of the moment */
    int64_t splits;                   /* 1: nothing is computed again */
    int zero_stage;                   /* 0, 1 or 2 */
    bool half;                        /* O1 */

    /* Where the keys were given, for errors, and the last of these:
       FILE:LINE: KEY: SENTENCE. */
    config_text file;
    int32_t lines[CONFIG_KEYS]; /* of the file; -1: an argument; 0: not given */
    bool nested;                /* something is below base_optimizer */
    char error[CONFIG_ERROR];
};

extern const struct trainer_config config_defaults; /* to begin with */

/* These return whether they succeeded; after an error, config->error, the rest
   is of no use. Read at most one file, before all arguments; call config_check
   after them, as it also sets fields that depend on others. name: that of the
   text, or NULL if it is an argument. processes: their current number, or 0 if
   it is not known. */
bool config_read(struct trainer_config *config, const char *file);
bool config_read_text(struct trainer_config *config, const char *name,
                      const char *text, size_t size);
bool config_override(struct trainer_config *config, const char *argument);
bool config_check(struct trainer_config *config, int64_t processes);

/* Prints YAML that config_read reads back to the same, a line for each key but
   those that the kind of schedule does not use; or the value of one key; or
   KEYS.md, every key with default, range and meaning. */
void config_print(const struct trainer_config *config, FILE *to);
void config_print_key(const struct trainer_config *config, uint32_t key,
                      FILE *to);
void config_keys(FILE *to);

/* When a key must be the same as in a checkpoint: FREE never, as it changes no
   bit of the result, or what follows from it is compared; RATE on a resume; RUN
   when a new run extends another, too; SHAPE also when it only begins with its
   weights. */
enum config_same { CONFIG_FREE, CONFIG_RATE, CONFIG_RUN, CONFIG_SHAPE };

/* Whether two differ in a key that must be the same in this case or in a later
   one of the above. Then a's error is `KEY is A, but this run's is B`. */
bool config_differ(struct trainer_config *a, const struct trainer_config *b,
                   enum config_same least);

/* The learning rate after a part of the run, from 0 to 1; and that of a step.
   With update_interval `epoch` it changes only between epochs. */
double schedule_at(const struct trainer_config *config, double where);
double schedule_of_step(const struct trainer_config *config, uint64_t step,
                        uint64_t steps_per_epoch);

/* ---- The table, for config*.c and their tests ---- */

struct config_key {
    enum { IS_whole, IS_real, IS_text, IS_reals, IS_texts } kind;
    size_t offset, size; /* of the field in struct trainer_config */
    const char *path;
    const char *allowed; /* such as: dynamic or a number in (0, 1] */
    enum config_same same;
    const char *meaning;
};

extern const struct config_key config_table[CONFIG_KEYS];

/* Where in a list, which begins with its count, an item is. */
#define CONFIG_ITEM(key, i) \
    (sizeof(uint64_t) + (i) * ((key)->size - sizeof(uint64_t)) / CONFIG_FILES)

/* The number of the key of this path, or CONFIG_KEYS. */
uint32_t config_key_number(const char *path);

/* Whether such a configuration uses a key: those of a schedule have users. */
bool config_is_used(const struct trainer_config *config, uint32_t key);

/* Sets the error. line: as in lines. Returns false. */
bool config_fail(struct trainer_config *config, int32_t line, const char *path,
                 const char *format, ...);

#endif

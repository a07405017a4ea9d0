/* config_table.h - the table of all keys, private to config*.c. Other files
   include config.h. */
#ifndef TRAINER_CONFIG_TABLE_H
#define TRAINER_CONFIG_TABLE_H

#include "config.h"

enum { CONFIG_PATH = 256 }; /* bytes of a path; longer ones are truncated */

enum config_type {
    TYPE_BOOL,          /* bool */
    TYPE_INTEGER,       /* int64_t, from low to high */
    TYPE_REAL,          /* double, from low to high, or one of `words` */
    TYPE_WORD,          /* int64_t, the index of one of `words` */
    TYPE_TEXT,          /* char[CONFIG_STRING], not empty */
    TYPE_CURVES         /* the parts of a composite schedule */
};

enum {
    KEY_ABOVE_LOW = 1,  /* low itself is not allowed */
    KEY_BELOW_HIGH = 2, /* high itself is not allowed */
    KEY_MINUS_ONE = 4,  /* -1 is also allowed */
    KEY_NESTED = 8      /* with name zero it goes below base_optimizer */
};

struct config_key {
    const char *path;
    enum config_type type;
    size_t offset;      /* of the field in its struct */
    int flags;
    double low, high;
    uint32_t least, most;   /* items of a list; most is 0 if it is not one */
    const char *words;      /* such as sgd|adamw|zero */
    const char *standard;   /* the default, as YAML */
    const char *meaning;
};

extern const struct config_key config_key_table[];
extern const uint32_t config_key_count;

/* The keys of one part of a composite schedule, in a struct config_curve. */
extern const struct config_key config_curve_table[];
extern const uint32_t config_curve_count;

/* The row of a table with this path, or NULL. */
const struct config_key *config_find_key(const struct config_key *table,
                                         uint32_t count, const char *path);

/* The row of the main table for a path, which may be below base_optimizer, or
   NULL. */
const struct config_key *config_find_main_key(const char *path);

/* The index of a key in the main table, or config_key_count. */
uint32_t config_key_number(const char *path);

/* Whether a path is below base_optimizer; whether it has keys below it. */
bool config_is_nested(const char *path);
bool config_is_section(const char *path);

/* Whether a schedule of this kind uses a key of the curve table. */
bool config_curve_needs(int64_t form, const char *key);

/* Whether a run with this kind of schedule uses a key of the main table. */
bool config_is_used(const struct config_key *key, int64_t form);

/* Writes the path of the key or section that is most similar to an unknown
   path. Returns whether any is similar enough. */
bool config_nearest(const char *path, const struct config_key *table,
                    uint32_t count, char out[CONFIG_PATH]);

/* Describes the allowed values, such as `a number above 0`. */
void config_describe(const struct config_key *key, char *out, size_t size);

/* The path as written in a file: nested keys go below base_optimizer. */
void config_written_path(const struct config_key *key, bool nested,
                         char *out, size_t size);

/* The number that a word of a TYPE_REAL means. */
double config_word_value(const char *word);

/* The offset of an item in a list, in bytes. */
size_t config_item_at(const struct config_key *key, uint32_t item);

struct config_scalar {
    const char *text;   /* ends with a 0, but may contain others */
    size_t length;
    bool plain;         /* not quoted */
};

/* Whether a plain scalar is YAML's null. */
bool config_is_nothing(const struct config_scalar *s);

/* Stores the value in a field, or in an item of a list. Returns whether the
   scalar is allowed for the key; otherwise the field is undefined. */
bool config_take_scalar(const struct config_key *key,
                        const struct config_scalar *s, char *out);

#endif

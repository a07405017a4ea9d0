/* config_table.h - what the files config*.c share: a row of the table of all
   keys. Everybody else includes config.h. */
#ifndef TRAINER_CONFIG_TABLE_H
#define TRAINER_CONFIG_TABLE_H

#include "config.h"

enum { CONFIG_PATH = 256 }; /* bytes of a path, cut where it is longer */

enum config_type {
    TYPE_BOOL,          /* bool */
    TYPE_INTEGER,       /* int64_t, from low to high */
    TYPE_REAL,          /* double, from low to high, or one of `words` */
    TYPE_WORD,          /* int64_t, the number of one of `words` */
    TYPE_TEXT,          /* char[CONFIG_STRING], not empty */
    TYPE_CURVES         /* the parts of a composite schedule */
};

enum {
    KEY_ABOVE_LOW = 1,  /* low itself is out of range */
    KEY_BELOW_HIGH = 2, /* high itself is */
    KEY_MINUS_ONE = 4,  /* -1 is allowed as well */
    KEY_NESTED = 8      /* with name zero it stands below base_optimizer */
};

struct config_key {
    const char *path;
    enum config_type type;
    size_t offset;      /* of the field in its struct */
    int flags;
    double low, high;
    uint32_t least, most;   /* items of a list; most 0: it is no list */
    const char *words;      /* as sgd|adamw|zero */
    const char *standard;   /* the default, as it would be written */
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

/* The row of the main table, also for a path below base_optimizer, or NULL. */
const struct config_key *config_find_main_key(const char *path);

/* The number of a key of the main table, by the path in it; config_key_count
   if there is no such key. */
uint32_t config_key_number(const char *path);

/* Whether a path is below base_optimizer, and whether keys stand below it. */
bool config_is_nested(const char *path);
bool config_is_section(const char *path);

/* Whether a schedule of this form has a use for a key of the curve table. */
bool config_curve_needs(int64_t form, const char *key);

/* Whether a key of the main table says something to a run whose schedule is of
   this form. */
bool config_is_used(const struct config_key *key, int64_t form);

/* Writes the path of the key or section of a table that is most like a path
   that is not in it. Returns whether any is like it. */
bool config_nearest(const char *path, const struct config_key *table,
                    uint32_t count, char out[CONFIG_PATH]);

/* What the value of a key must be, in words, as `a number above 0`. */
void config_describe(const struct config_key *key, char *out, size_t size);

/* The path under which a key is written: some stand below base_optimizer. */
void config_written_path(const struct config_key *key, bool nested,
                         char *out, size_t size);

/* The number that a word of a TYPE_REAL stands for. */
double config_word_value(const char *word);

/* Where in a list an item is, in bytes. */
size_t config_item_at(const struct config_key *key, uint32_t item);

struct config_scalar {
    const char *text;   /* with a 0 after its length */
    size_t length;
    bool plain;         /* without quotes */
};

/* Whether a plain scalar is YAML's null. */
bool config_is_nothing(const struct config_scalar *s);

/* Stores the value in a field, or in an item of a list. Returns whether the
   scalar is what the key wants; otherwise what is stored is of no use. */
bool config_take_scalar(const struct config_key *key,
                        const struct config_scalar *s, char *out);

#endif

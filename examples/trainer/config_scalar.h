/* config_scalar.h - one scalar of YAML as the value that a key wants. */
#ifndef TRAINER_CONFIG_SCALAR_H
#define TRAINER_CONFIG_SCALAR_H

#include "config_table.h"

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

/* config_scalar.h - one scalar of YAML as the value that a key wants. */
#ifndef TRAINER_CONFIG_SCALAR_H
#define TRAINER_CONFIG_SCALAR_H

#include "config_table.h"
#include "config_tree.h"

/* Whether a plain scalar is YAML's null. */
bool config_is_nothing(const struct config_node *node);

/* Stores the value in a field, or in an item of a list. Returns whether the
   node is what the key wants. */
bool config_take_scalar(const struct config_key *key,
                        const struct config_node *node, char *out);

#endif

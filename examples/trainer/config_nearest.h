/* config_nearest.h - which key somebody may have meant. */
#ifndef TRAINER_CONFIG_NEAREST_H
#define TRAINER_CONFIG_NEAREST_H

#include "config_table.h"

/* Writes the path of the key or section of a table that is most like a path
   that is not in it, into CONFIG_PATH bytes. Returns whether any is like it. */
bool config_nearest(const char *path, const struct config_key *table,
                    uint32_t count, char *out);

#endif

/* config_events.h - a YAML text as libyaml's events: scalars, and starts and
   ends of lists and mappings. Refuses what a configuration does not need:
   anchors, aliases, tags, further documents. Functions that return bool return
   false for an error, and then set source->error. */
#ifndef TRAINER_CONFIG_EVENTS_H
#define TRAINER_CONFIG_EVENTS_H

#include <yaml.h>

#include "config_table.h"

/* One text: a file, an argument or a default. */
struct reader {
    struct trainer_config *config;
    struct config_source *source;
    const char *name;               /* of the text, for errors */
    const char *text;
    size_t size;
    int32_t shift;                  /* columns before the text */
    bool argument;
    yaml_parser_t parser;
    yaml_event_t event;             /* the current one */
    int documents;
    struct config_place places[CONFIG_KEYS]; /* of the keys of this text */
    struct seen {
        char *key;
        int32_t value;
    } *seen;                        /* stb_ds map: the line of each key and
                                       section of this text */
};

/* The place of the current event. */
struct config_place here(const struct reader *r);

/* Sets the error FILE:LINE:COLUMN: PATH: MESSAGE. Returns false. */
bool fail_at(struct reader *r, struct config_place at, const char *path,
             const char *format, ...);

/* The same for the current event, which is not what is wanted at this path. */
bool must_be(struct reader *r, const char *path, const char *wanted);

/* Goes to the next event. path: for errors. */
bool next_event(struct reader *r, const char *path);

/* The current scalar; an empty one for other events. */
struct config_scalar scalar_here(const struct reader *r);

/* The letter, or a question mark if it cannot be printed in an error. */
char letter_shown(char letter);

/* Goes to the next key of the mapping at a path. Sets whole to the key's path,
   or to "" at the end of the mapping. */
bool next_key(struct reader *r, const char *path, char whole[CONFIG_PATH],
              struct config_place *at);

/* Fails if the key was given before in this text. same: its path in the
   table. */
bool first_time(struct reader *r, struct config_place at, const char *path,
                const char *same);

#endif

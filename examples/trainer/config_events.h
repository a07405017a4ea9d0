/* config_events.h - a text of YAML as libyaml's events: a scalar, or where a
   list or a mapping begins or ends. libyaml finds what is no YAML; what a
   configuration has no use for (anchors, aliases, tags, further documents) is
   refused here. All that return bool say whether it went well; otherwise the
   source's error says what is wrong. */
#ifndef TRAINER_CONFIG_EVENTS_H
#define TRAINER_CONFIG_EVENTS_H

#include <yaml.h>

#include "config_table.h"

/* One text that is read: a file, an argument or a default. */
struct reader {
    struct trainer_config *config;
    struct config_source *source;
    const char *name;               /* what the text is called in errors */
    const char *text;
    size_t size;
    int32_t shift;                  /* columns before its first one */
    bool argument;
    yaml_parser_t parser;
    yaml_event_t event;             /* where we are */
    int documents;
    struct config_place places[CONFIG_KEYS]; /* of the keys of this text */
    struct seen {
        char *key;
        int32_t value;
    } *seen;                        /* the line of each key and section of
                                       this text: a map of stb_ds */
};

/* The place of the event where we are. */
struct config_place here(const struct reader *r);

/* Says FILE:LINE:COLUMN: PATH: a sentence. Always false, to be returned. */
bool fail_at(struct reader *r, struct config_place at, const char *path,
             const char *format, ...);

/* The same: what must be at a path, and what is where we are. */
bool must_be(struct reader *r, const char *path, const char *wanted);

/* Goes to the next event, at a path. */
bool next_event(struct reader *r, const char *path);

/* The scalar where we are; nothing, where the text has no content. */
struct config_scalar scalar_here(const struct reader *r);

/* A letter of a name or a value, which may hold anything: in an error, what
   cannot be printed is a question mark. */
char letter_shown(char letter);

/* Goes to the next key of the mapping at a path: `whole` is its path, or empty
   at the end of the mapping. */
bool next_key(struct reader *r, const char *path, char whole[CONFIG_PATH],
              struct config_place *at);

/* Whether the key of a path is given for the first time; `same` is the path
   that it has in the table. */
bool first_time(struct reader *r, struct config_place at, const char *path,
                const char *same);

#endif

/* config.c - reads YAML, from a file or an argument, into the struct.

   Events are processed as they come: a function that reads something begins at
   its first event and ends at its last. So the first error in a text is the one
   reported. The depth is bounded by that of the table of keys. */
#include "config.h"

#include <errno.h>
#include <stb_ds.h>
#include <stdlib.h>
#include <string.h>

#include "config_events.h"

/* The maximum size of a text. A printed configuration is smaller: three lists of
   CONFIG_FILES strings of two bytes per letter take 98,496 bytes. */
enum { SIZE = 131072 };

/* --- Values --------------------------------------------------------------- */

static bool read_value(struct reader *r, const struct config_key *key,
                       const char *path, void *base);

static bool refuse(struct reader *r, const char *path,
                   const struct config_key *key)
{
    char wanted[256];

    config_describe(key, wanted, sizeof wanted);
    return must_be(r, path, wanted);
}

static bool unknown_key(struct reader *r, struct config_place at,
                        const char *path, const struct config_key *table,
                        uint32_t count)
{
    char nearest[CONFIG_PATH];
    const struct config_key *found;

    if (!config_nearest(path, table, count, nearest))
        return fail_at(r, at, path, "unknown key; --keys lists all keys");
    found = config_find_key(table, count, nearest);
    if (found != NULL)
        config_written_path(found, config_is_nested(path), nearest,
                            sizeof nearest);
    return fail_at(r, at, path, "unknown key; did you mean %s?", nearest);
}

/* Checks that a part of a schedule has exactly the keys that its kind needs. */
static bool check_curve(struct reader *r, struct config_place at,
                        const char *path, const bool *given,
                        const struct config_curve *curve)
{
    uint32_t i;

    for (i = 0; i < config_curve_count; i++) {
        const char *name = config_curve_table[i].path;
        bool needed = given[0] ? config_curve_needs(curve->name, name)
                               : i == 0;

        if (needed && !given[i])
            return fail_at(r, at, path, "%s is missing", name);
        if (!needed && given[i])
            return fail_at(r, at, path,
                           "a schedule of this name does not use %s", name);
    }
    return true;
}

static bool read_curve(struct reader *r, const char *path,
                       struct config_curve *curve)
{
    const struct config_place start = here(r);
    char whole[CONFIG_PATH];
    struct config_place at;
    bool given[16] = {false};

    if (r->event.type != YAML_MAPPING_START_EVENT)
        return must_be(r, path,
                       "a schedule such as {name: constant, value: 0.1}");
    memset(curve, 0, sizeof *curve);
    while (next_key(r, path, whole, &at)) { /* ends: consumes text */
        const struct config_key *key;

        if (whole[0] == 0)
            return check_curve(r, start, path, given, curve);
        key = config_find_key(config_curve_table, config_curve_count,
                              whole + strlen(path) + 1);
        if (key == NULL)
            return unknown_key(r, at, whole, config_curve_table,
                               config_curve_count);
        given[key - config_curve_table] = true;
        if (!first_time(r, at, whole, whole) || !next_event(r, whole) ||
            !read_value(r, key, whole, curve))
            return false;
    }
    return false;
}

static bool read_item(struct reader *r, const struct config_key *key,
                      const char *path, char *out)
{
    struct config_scalar s = scalar_here(r);
    struct config_key one = *key;

    if (key->type == TYPE_CURVES)
        return read_curve(r, path, (struct config_curve *)(void *)out);
    one.most = 0; /* describe an item, not the list */
    return (r->event.type != YAML_SEQUENCE_START_EVENT &&
            r->event.type != YAML_MAPPING_START_EVENT &&
            config_take_scalar(key, &s, out)) || refuse(r, path, &one);
}

static bool read_value(struct reader *r, const struct config_key *key,
                       const char *path, void *base)
{
    const struct config_place start = here(r);
    char *field = (char *)base + key->offset, item[CONFIG_PATH + 16];
    uint32_t count = 0;

    if (key->most == 0)
        return read_item(r, key, path, field);
    if (r->event.type != YAML_SEQUENCE_START_EVENT)
        return refuse(r, path, key);
    /* Clear the items of a longer list, as the whole struct is sent. */
    memset(field, 0, config_item_at(key, key->most));
    for (;; count++) { /* ends: consumes text */
        snprintf(item, sizeof item, "%s[%u]", path, count);
        item[CONFIG_PATH - 1] = 0;
        if (!next_event(r, item))
            return false;
        if (r->event.type == YAML_SEQUENCE_END_EVENT)
            break;
        if (count == key->most)
            return fail_at(r, here(r), item, "more than %u items", key->most);
        if (!read_item(r, key, item, field + config_item_at(key, count)))
            return false;
    }
    memcpy(field, &count, sizeof count);
    return count >= key->least ||
           fail_at(r, start, path, "fewer than %u items", key->least);
}

/* --- Keys ----------------------------------------------------------------- */

static bool read_section(struct reader *r, const char *path);

/* Reads the value of a path, a key or a section. */
static bool read_path(struct reader *r, struct config_place at,
                      const char *path)
{
    const struct config_key *key = config_find_main_key(path);

    if (key == NULL && !config_is_section(path))
        return unknown_key(r, at, path, config_key_table, config_key_count);
    if (!first_time(r, at, path, key != NULL ? key->path : path))
        return false;
    if (key != NULL) {
        at.nested = config_is_nested(path);
        r->places[key - config_key_table] = at;
    }
    /* In an argument we are at the value already. */
    if (!(r->argument && shlen(r->seen) == 1) && !next_event(r, path))
        return false;
    return key != NULL ? read_value(r, key, path, r->config)
                       : read_section(r, path);
}

static bool read_section(struct reader *r, const char *path)
{
    char whole[CONFIG_PATH];
    struct config_place at;

    if (r->event.type != YAML_MAPPING_START_EVENT)
        return must_be(r, path, "a mapping of keys to values");
    while (next_key(r, path, whole, &at)) { /* ends: consumes text */
        if (whole[0] == 0)
            return true;
        if (shlen(r->seen) == 0 && strcmp(whole, "config") == 0) {
            /* VISSL's own files have one root key. */
            return first_time(r, at, whole, whole) && next_event(r, "") &&
                   read_section(r, "") && next_event(r, "") &&
                   (r->event.type == YAML_MAPPING_END_EVENT ||
                    fail_at(r, here(r), "", "no key is allowed beside config"));
        }
        if (!read_path(r, at, whole))
            return false;
    }
    return false;
}

/* --- Texts ---------------------------------------------------------------- */

/* Whether only blanks follow the value. Otherwise a # in an argument would
   silently cut it off, and DIR would be another folder. */
static bool ends_here(const struct reader *r)
{
    size_t left = r->event.end_mark.index, i; /* in characters */

    for (i = 0; i < r->size; i++) {
        if (((unsigned char)r->text[i] & 0xc0) == 0x80)
            continue; /* not the first byte of its character */
        if (left > 0)
            left--;
        else if (strchr(" \t\r\n", r->text[i]) == NULL)
            return false;
    }
    return true;
}

/* Reads all of the text. path: that of an argument, else "". */
static bool read_all(struct reader *r, const char *path)
{
    const struct config_place beginning = {1, 1, 1, 0};

    if (r->size > SIZE)
        return fail_at(r, here(r), path, "longer than 131,072 bytes");
    /* The start of the stream, then of the document, if there is one. */
    if (!next_event(r, path) || !next_event(r, path))
        return false;
    if (r->event.type != YAML_STREAM_END_EVENT && !next_event(r, path))
        return false;
    if (path[0] != 0 ? !read_path(r, beginning, path)
                     : r->event.type != YAML_STREAM_END_EVENT &&
                           !read_section(r, ""))
        return false;
    if (path[0] != 0 && !ends_here(r))
        return fail_at(r, here(r), path,
                       "text after the value; quote it if it belongs to it");
    while (r->event.type != YAML_STREAM_END_EVENT) {
        if (!next_event(r, path)) { /* ends at the last event */
            return false;
        }
    }
    return true;
}

/* Reads a text whose root is at a path. If it fails, nothing is changed. */
static bool read_text(struct trainer_config *config,
                      struct config_source *source, struct reader *r,
                      const char *path, const char *text, size_t size)
{
    struct trainer_config copy = *config;
    bool good;
    uint32_t i;

    r->config = &copy;
    r->source = source;
    r->text = text;
    r->size = size;
    if (!yaml_parser_initialize(&r->parser))
        return fail_at(r, here(r), path, "out of memory");
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)text,
                                 size);
    sh_new_strdup(r->seen);
    good = read_all(r, path);
    shfree(r->seen);
    yaml_event_delete(&r->event);
    yaml_parser_delete(&r->parser);
    if (good) {
        *config = copy;
        for (i = 0; i < config_key_count; i++)
            if (r->places[i].line != 0)
                source->places[i] = r->places[i];
    }
    return good;
}

bool config_read_text(struct trainer_config *config,
                      struct config_source *source, const char *name,
                      const char *text, size_t size)
{
    static const char mark[] = "\xef\xbb\xbf";
    struct reader r;

    memset(&r, 0, sizeof r);
    r.name = name;
    /* libyaml counts a byte order mark as a column, which would indent the
       first key. */
    if (size >= 3 && memcmp(text, mark, 3) == 0) {
        text += 3;
        size -= 3;
    }
    if (!read_text(config, source, &r, "", text, size))
        return false;
    snprintf(source->file, sizeof source->file, "%s", name);
    return true;
}

bool config_read(struct trainer_config *config, struct config_source *source,
                 const char *file)
{
    FILE *from = fopen(file, "rb");
    char *text = malloc(SIZE + 1);
    size_t size = 0;
    bool good = false;

    errno = from == NULL ? errno : 0;
    if (from != NULL && text != NULL)
        size = fread(text, 1, SIZE + 1, from);
    if (from == NULL || text == NULL || ferror(from))
        snprintf(source->error, sizeof source->error, "%s: cannot read: %s",
                 file, strerror(errno));
    else
        good = config_read_text(config, source, file, text, size);
    if (from != NULL)
        fclose(from);
    free(text);
    return good;
}

bool config_override(struct trainer_config *config,
                     struct config_source *source, const char *argument)
{
    const char *equals = strchr(argument, '=');
    char path[CONFIG_PATH] = "";
    struct reader r;
    size_t i;

    memset(&r, 0, sizeof r);
    r.name = "command line";
    r.argument = true;
    if (equals == NULL || equals == argument) {
        r.source = source;
        return fail_at(&r, here(&r), "",
                       "an override has the form PATH=VALUE");
    }
    r.shift = (int32_t)(equals + 1 - argument);
    argument += strncmp(argument, "config.", 7) == 0 ? 7 : 0;
    for (i = 0; i < sizeof path - 1 && argument + i < equals; i++)
        path[i] = letter_shown(argument[i]);
    return read_text(config, source, &r, path, equals + 1, strlen(equals + 1));
}

bool config_defaults(struct trainer_config *config,
                     struct config_source *source)
{
    char argument[512];
    bool good = true;
    uint32_t i;

    memset(config, 0, sizeof *config);
    memset(source, 0, sizeof *source);
    for (i = 0; good && i < config_key_count; i++) {
        snprintf(argument, sizeof argument, "%s=%s", config_key_table[i].path,
                 config_key_table[i].standard);
        good = config_override(config, source, argument);
    }
    memset(source->places, 0, sizeof source->places);
    return good;
}

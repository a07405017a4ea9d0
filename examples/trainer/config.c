/* config.c - reads YAML, from a file or an argument, into the struct, by the
   table of keys.

   libyaml's events are processed as they come: a function that reads something
   begins at its first event and ends at its last. So the first error in a text
   is the one reported, and the depth is bounded by that of the table. */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* The maximum size of a text. A printed configuration is smaller: three lists
   of CONFIG_FILES strings of two bytes per letter take 98,496 bytes. */
enum { SIZE = 131072 };

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
};

/* ---- Errors ---- */

bool config_fail(struct config_source *source, const char *name,
                 struct config_place at, const char *path,
                 const char *sentence)
{
    char where[64] = "", *c;

    if (at.line != 0)
        snprintf(where, sizeof where, ":%d:%d", at.line, at.column);
    snprintf(source->error, sizeof source->error, "%s%s: %s%s%s", name, where,
             path, path[0] != 0 ? ": " : "", sentence);
    for (c = source->error; *c; c++) /* names may have terminal commands */
        if (*c < ' ' || *c > '~')
            *c = '?';
    return false;
}

static struct config_place place_of(const struct reader *r, yaml_mark_t mark)
{
    struct config_place place = {0};

    place.line = (int32_t)mark.line + 1;
    place.column = (int32_t)mark.column + 1 + (mark.line == 0 ? r->shift : 0);
    place.argument = r->argument;
    return place;
}

static struct config_place here(const struct reader *r)
{
    return place_of(r, r->event.start_mark);
}

static bool fail_at(struct reader *r, struct config_place at, const char *path,
                    const char *format, ...)
{
    char sentence[512];
    va_list list;

    va_start(list, format);
    vsnprintf(sentence, sizeof sentence, format, list);
    va_end(list);
    return config_fail(r->source, r->name, at, path, sentence);
}

/* libyaml's reader reports errors by byte, without a line. */
static yaml_mark_t mark_of_byte(const struct reader *r, size_t byte)
{
    yaml_mark_t mark = {0, 0, 0};
    size_t i;

    for (i = 0; i < byte && i < r->size; i++) {
        if (r->text[i] == '\n') {
            mark.line++;
            mark.column = 0;
        } else if (((unsigned char)r->text[i] & 0xc0) != 0x80) {
            mark.column++;
        }
    }
    return mark;
}

static bool fail_for_libyaml(struct reader *r, const char *path)
{
    const yaml_parser_t *parser = &r->parser;

    switch (parser->error) {
    case YAML_READER_ERROR:
        return fail_at(r, place_of(r, mark_of_byte(r, parser->problem_offset)),
                       "", "not UTF-8 as YAML requires: %s", parser->problem);
    case YAML_SCANNER_ERROR:
    case YAML_PARSER_ERROR:
        return fail_at(r, place_of(r, parser->problem_mark), path,
                       "not YAML: %s%s%s",
                       parser->context ? parser->context : "",
                       parser->context ? ", " : "", parser->problem);
    default:
        return fail_at(r, place_of(r, parser->mark), path, "out of memory");
    }
}

/* ---- Events ---- */

/* Goes to the next event. Refuses what a configuration does not need. */
static bool next_event(struct reader *r, const char *path)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;
    yaml_event_t *event = &r->event;

    yaml_event_delete(event);
    if (!yaml_parser_parse(&r->parser, event))
        return fail_for_libyaml(r, path);
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return r->documents++ == 0 ||
               fail_at(r, here(r), "", "a second document is not allowed");
    case YAML_ALIAS_EVENT:
        return fail_at(r, here(r), path, "an alias (*) is not allowed");
    case YAML_SCALAR_EVENT:
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
        break;
    default:
        break;
    }
    if (anchor != NULL)
        return fail_at(r, here(r), path, "an anchor (&) is not allowed");
    return tag == NULL ||
           fail_at(r, here(r), path, "a tag (!) is not allowed");
}

/* Goes to the next key of the mapping at a path and on to its value. Sets whole
   to the key's path, or to "" at the end of the mapping. */
static bool next_key(struct reader *r, const char *path,
                     char whole[CONFIG_PATH], struct config_place *at)
{
    const char *name;

    whole[0] = 0;
    if (!next_event(r, path) || r->event.type == YAML_MAPPING_END_EVENT)
        return r->event.type == YAML_MAPPING_END_EVENT;
    *at = here(r);
    if (r->event.type != YAML_SCALAR_EVENT)
        return fail_at(r, *at, path, "a key must be a scalar");
    name = (const char *)r->event.data.scalar.value;
    if (strlen(name) != r->event.data.scalar.length || name[0] == 0)
        name = "?"; /* a zero byte, or nothing */
    snprintf(whole, CONFIG_PATH, "%s%s%s", path, path[0] != 0 ? "." : "",
             name);
    return next_event(r, whole);
}

/* ---- Values ---- */

static bool must_be(struct reader *r, const char *path, const char *wanted)
{
    const char *shown = r->event.type == YAML_SCALAR_EVENT
                            ? (const char *)r->event.data.scalar.value
                        : r->event.type == YAML_SEQUENCE_START_EVENT
                            ? "a list"
                        : r->event.type == YAML_MAPPING_START_EVENT
                            ? "a mapping"
                            : "";
    const bool quoted = r->event.type == YAML_SCALAR_EVENT &&
                        r->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;

    return fail_at(r, here(r), path, "must be %s, not %s%.40s%s%s", wanted,
                   quoted ? "\"" : "", *shown || quoted ? shown : "nothing",
                   strlen(shown) > 40 ? "..." : "", quoted ? "\"" : "");
}

static bool read_value(struct reader *r, const struct config_key *key,
                       const char *path, void *base);

/* Reads a part of a schedule, which has exactly the keys of its kind. */
static bool read_curve(struct reader *r, const char *path,
                       struct config_curve *curve)
{
    const struct config_place start = here(r);
    struct config_place at;
    char whole[CONFIG_PATH];
    bool given[16] = {false};
    uint32_t i;

    memset(curve, 0, sizeof *curve);
    while (next_key(r, path, whole, &at)) { /* ends: consumes text */
        const struct config_key *key;

        if (whole[0] == 0) {
            for (i = 0; i < config_curve_count; i++)
                if (given[i] != (given[0] ? config_curve_needs(
                        curve->name, config_curve_table[i].path) : i == 0))
                    return fail_at(r, start, path, given[i]
                        ? "a schedule of this name does not use %s"
                        : "%s is missing", config_curve_table[i].path);
            return true;
        }
        key = config_find_key(config_curve_table, config_curve_count,
                              whole + strlen(path) + 1);
        if (key == NULL)
            return fail_at(r, at, whole, "unknown key");
        if (given[key - config_curve_table])
            return fail_at(r, at, whole, "duplicate key");
        given[key - config_curve_table] = true;
        if (!read_value(r, key, whole, curve))
            return false;
    }
    return false;
}

/* one: the key, but not a list. */
static bool read_item(struct reader *r, const struct config_key *one,
                      const char *path, char *out)
{
    char wanted[256];

    if (one->type == TYPE_CURVES ? r->event.type == YAML_MAPPING_START_EVENT
                                 : r->event.type == YAML_SCALAR_EVENT) {
        if (one->type == TYPE_CURVES)
            return read_curve(r, path, (struct config_curve *)(void *)out);
        if (config_take_scalar(
                one, (const char *)r->event.data.scalar.value,
                r->event.data.scalar.length,
                r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE, out))
            return true;
    }
    config_describe(one, wanted, sizeof wanted);
    return must_be(r, path, wanted);
}

static bool read_value(struct reader *r, const struct config_key *key,
                       const char *path, void *base)
{
    const struct config_place start = here(r);
    char *field = (char *)base + key->offset, item[CONFIG_PATH + 16];
    struct config_key one = *key;
    uint32_t count = 0;

    if (key->most == 0)
        return read_item(r, key, path, field);
    one.most = 0;
    if (r->event.type != YAML_SEQUENCE_START_EVENT)
        return must_be(r, path, key->type == TYPE_TEXT
                                    ? "a list, such as [a.txt, b.txt]"
                                    : "a list, such as [1, 2]");
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
        if (!read_item(r, &one, item, field + config_item_at(key, count)))
            return false;
    }
    memcpy(field, &count, sizeof count);
    return count >= key->least ||
           fail_at(r, start, path, "fewer than %u items", key->least);
}

/* ---- Keys ---- */

/* The keys of the table that may also be below base_optimizer. */
#define NESTED_FIRST "OPTIMIZER.use_larc"
#define NESTED_LAST "OPTIMIZER.betas"

/* The path in the table: without the root `config` of VISSL's files, and
   without base_optimizer, which *nested tells. */
static const char *table_path(const char *path, char out[CONFIG_PATH],
                              bool *nested)
{
    static const char base[] = "OPTIMIZER.base_optimizer.";

    if (strncmp(path, "config", 6) == 0 && (path[6] == '.' || path[6] == 0))
        path += path[6] == '.' ? 7 : 6;
    *nested = strncmp(path, base, sizeof base - 1) == 0;
    if (!*nested || strcmp(path + sizeof base - 1, "name") == 0)
        return path;
    snprintf(out, CONFIG_PATH, "OPTIMIZER.%s", path + sizeof base - 1);
    return out;
}

static bool is_section(const char *path)
{
    const size_t length = strlen(path);
    uint32_t i;

    for (i = 0; i < config_key_count; i++)
        if (length == 0 ||
            (strncmp(config_key_table[i].path, path, length) == 0 &&
             config_key_table[i].path[length] == '.'))
            return true;
    return false;
}

/* Reads the value of a path, of a key or a section. */
static bool read_path(struct reader *r, struct config_place at,
                      const char *path)
{
    char outer[CONFIG_PATH], whole[CONFIG_PATH];
    bool nested;
    const char *place = table_path(path, outer, &nested);
    const uint32_t number = config_key_number(place);

    if (number == config_key_count
            ? !is_section(place)
            : place == outer && (number < config_key_number(NESTED_FIRST) ||
                                 number > config_key_number(NESTED_LAST)))
        return fail_at(r, at, path, "unknown key; --keys lists all keys");
    if (number < config_key_count) {
        if (r->places[number].line != 0)
            return fail_at(r, at, path, "duplicate key, first given in line %d",
                           r->places[number].line);
        at.nested = nested;
        r->places[number] = at;
        return read_value(r, &config_key_table[number], path, r->config);
    }
    if (r->event.type != YAML_MAPPING_START_EVENT)
        return must_be(r, path, "a mapping of keys to values");
    while (next_key(r, path, whole, &at)) /* ends: consumes text */
        if (whole[0] == 0 || !read_path(r, at, whole))
            return whole[0] == 0;
    return false;
}

/* ---- Texts ---- */

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
    do /* the start of the stream, then of the document, if there is one */
        if (!next_event(r, path))
            return false;
    while (r->event.type == YAML_STREAM_START_EVENT ||
           r->event.type == YAML_DOCUMENT_START_EVENT);
    if ((path[0] != 0 || r->event.type != YAML_STREAM_END_EVENT) &&
        !read_path(r, beginning, path))
        return false;
    if (path[0] != 0 && !ends_here(r))
        return fail_at(r, here(r), path,
                       "text after the value; quote it if it belongs to it");
    while (r->event.type != YAML_STREAM_END_EVENT)
        if (!next_event(r, path)) /* ends at the last event */
            return false;
    return true;
}

/* Reads a text whose root is at a path. If it fails, nothing is changed. */
static bool read_text(struct trainer_config *config, struct reader *r,
                      const char *path)
{
    struct trainer_config copy = *config;
    bool good;
    uint32_t i;

    r->config = &copy;
    if (!yaml_parser_initialize(&r->parser))
        return fail_at(r, here(r), path, "out of memory");
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)r->text,
                                 r->size);
    good = read_all(r, path);
    yaml_event_delete(&r->event);
    yaml_parser_delete(&r->parser);
    if (good) {
        *config = copy;
        for (i = 0; i < config_key_count; i++)
            if (r->places[i].line != 0)
                r->source->places[i] = r->places[i];
    }
    return good;
}

bool config_read_text(struct trainer_config *config,
                      struct config_source *source, const char *name,
                      const char *text, size_t size)
{
    /* libyaml counts a byte order mark as a column, which would indent the
       first key. */
    const size_t mark =
        size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    struct reader r = {.source = source, .name = name, .text = text + mark,
                       .size = size - mark};

    if (!read_text(config, &r, ""))
        return false;
    snprintf(source->file, sizeof source->file, "%s", name);
    return true;
}

bool config_read(struct trainer_config *config, struct config_source *source,
                 const char *file)
{
    static char text[SIZE + 1];
    FILE *from = fopen(file, "rb");
    size_t size = from ? fread(text, 1, SIZE + 1, from) : 0;
    const bool good = from && !ferror(from);

    if (!good)
        snprintf(source->error, sizeof source->error, "%s: cannot read: %s",
                 file, strerror(errno));
    if (from)
        fclose(from);
    return good && config_read_text(config, source, file, text, size);
}

bool config_override(struct trainer_config *config,
                     struct config_source *source, const char *argument)
{
    const char *equals = strchr(argument, '=');
    const size_t length = equals ? (size_t)(equals - argument) : 0;
    char path[CONFIG_PATH] = "";
    struct reader r = {.source = source, .name = "command line",
                       .argument = true};

    if (length == 0)
        return fail_at(&r, here(&r), "",
                       "an override has the form PATH=VALUE");
    snprintf(path, sizeof path, "%.*s", (int)length, argument);
    r.shift = (int32_t)length + 1;
    r.text = equals + 1;
    r.size = strlen(equals + 1);
    return read_text(config, &r, path);
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

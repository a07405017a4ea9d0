/* config.c - reads a configuration: libyaml's events, one at a time, become
   paths and values. Errors name the line and the key. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* The maximum size of a text. A printed configuration is smaller: three lists
   of CONFIG_FILES texts of two bytes per letter take 98,496 bytes. */
enum { SIZE = 131072 };

#define BASE "OPTIMIZER.base_optimizer."
#define UNKNOWN "not a key; --keys lists all keys"

/* One text: the file or an argument. */
struct reader {
    struct trainer_config *config;
    const char *text;
    size_t size;
    bool argument;
    bool given[CONFIG_KEYS];        /* by this text */
    int documents;
    yaml_parser_t parser;
    yaml_event_t event;             /* the current one */
};

/* ---- Errors ---- */

bool config_fail(struct trainer_config *config, int32_t line, const char *path,
                 const char *format, ...)
{
    const bool file = line >= 0 && config->file[0] != 0;
    char number[32] = "", *c;
    va_list list;
    int used;

    if (file && line > 0)
        snprintf(number, sizeof number, ":%" PRId32, line);
    used = snprintf(config->error, sizeof config->error, "%.511s%s: %.255s%s",
                    file ? config->file : "command line", number, path,
                    path[0] != 0 ? ": " : "");
    va_start(list, format);
    vsnprintf(config->error + used, sizeof config->error - (size_t)used, format,
              list);
    va_end(list);
    for (c = config->error; *c; c++) /* names may have terminal commands */
        if (*c < ' ' || *c > '~')
            *c = '?';
    return false;
}

/* The current event's line. */
static int32_t line_of(const struct reader *r)
{
    return r->argument ? -1 : (int32_t)r->event.start_mark.line + 1;
}

#define FAIL(path, ...) config_fail(r->config, line_of(r), path, __VA_ARGS__)

/* ---- Events ---- */

/* The line of libyaml's error, from 0. Of bad UTF-8 it has the byte only. */
static size_t problem_line(const struct reader *r)
{
    size_t line = r->parser.problem_mark.line, i;

    if (r->parser.error == YAML_READER_ERROR)
        for (i = 0; i < r->parser.problem_offset && i < r->size; i++)
            line += r->text[i] == '\n';
    return line;
}

/* Makes the next event the current one. Refuses what no configuration needs. */
static bool next_event(struct reader *r, const char *path)
{
    yaml_event_t *event = &r->event;

    yaml_event_delete(event);
    if (!yaml_parser_parse(&r->parser, event)) {
        event->start_mark.line = problem_line(r);
        return FAIL(path, "not YAML: %s", r->parser.problem
                                              ? r->parser.problem
                                              : "out of memory");
    }
    /* Scalars, lists and sections begin with these members. */
    if (event->type == YAML_ALIAS_EVENT ||
        ((event->type == YAML_SCALAR_EVENT ||
          event->type == YAML_SEQUENCE_START_EVENT ||
          event->type == YAML_MAPPING_START_EVENT) &&
         (event->data.scalar.anchor || event->data.scalar.tag)))
        return FAIL(path, "an anchor (&), an alias (*) or a tag (!) is not "
                    "allowed");
    if (event->type == YAML_SCALAR_EVENT &&
        strlen((char *)event->data.scalar.value) != event->data.scalar.length)
        return FAIL(path, "a zero byte is not allowed");
    return event->type != YAML_DOCUMENT_START_EVENT || r->documents++ == 0 ||
           FAIL(path, "a second document is not allowed");
}

/* ---- Keys ---- */

/* The number of the key that a path means: without the root `config` of VISSL's
   files and without base_optimizer. */
static uint32_t key_of(struct reader *r, const char *path)
{
    char whole[CONFIG_PATH];
    uint32_t key;

    if (strncmp(path, "config.", 7) == 0)
        path += 7;
    key = config_key_number(path);
    if (strncmp(path, BASE, sizeof BASE - 1) != 0)
        return key;
    r->config->nested = true;
    if (key != CONFIG_KEYS)
        return key;
    snprintf(whole, sizeof whole, "OPTIMIZER.%s", path + sizeof BASE - 1);
    key = config_key_number(whole);
    return key >= CONFIG_use_larc && key <= CONFIG_betas ? key : CONFIG_KEYS;
}

static bool read_value(struct reader *r, const char *path);

/* Reads a mapping of keys to values, or a list of those, PATH[0], PATH[1], ...;
   not an empty one, as a section is known by its keys. */
static bool read_section(struct reader *r, const char *path)
{
    const bool list = r->event.type == YAML_SEQUENCE_START_EVENT;
    char whole[2 * CONFIG_PATH];
    uint32_t count;

    for (count = 0;; count++) { /* ends: consumes text */
        if (!next_event(r, path))
            return false;
        if (r->event.type == YAML_MAPPING_END_EVENT ||
            r->event.type == YAML_SEQUENCE_END_EVENT)
            return count > 0 || FAIL(path, "a section without keys");
        if (list)
            snprintf(whole, sizeof whole, "%s[%" PRIu32 "]", path, count);
        else if (r->event.type == YAML_SCALAR_EVENT)
            snprintf(whole, sizeof whole, "%s%s%s", path, *path ? "." : "",
                     (const char *)r->event.data.scalar.value);
        else
            return FAIL(path, "a list or a section for a key");
        /* What is too long for a path is no key, and bounds the depth. */
        if (strlen(whole) >= CONFIG_PATH)
            return FAIL(whole, UNKNOWN);
        if ((!list && !next_event(r, whole)) || !read_value(r, whole))
            return false;
    }
}

/* Reads a scalar, or an item of a list. */
static bool read_scalar(struct reader *r, uint32_t key, const char *path,
                        uint64_t item)
{
    const struct config_key *row = &config_table[key];
    const char *text = (const char *)r->event.data.scalar.value;
    const bool plain =
        r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

    if (r->event.type != YAML_SCALAR_EVENT)
        return FAIL(path, "must be %s", row->allowed);
    return config_take_scalar(row, text, plain,
                              (char *)r->config + row->offset, item) ||
           FAIL(path, "must be %s, not %s'%.40s'", row->allowed,
                plain ? "" : "the text ", text);
}

static bool read_list(struct reader *r, uint32_t key, const char *path)
{
    const struct config_key *row = &config_table[key];
    uint64_t *count = (void *)((char *)r->config + row->offset), i;

    if (r->event.type != YAML_SEQUENCE_START_EVENT)
        return FAIL(path, "must be a list, such as [a, b]");
    /* Clear the items of a longer list, as the whole struct is sent. */
    memset(count, 0, row->size);
    for (i = 0;; i++) { /* ends: consumes text */
        if (!next_event(r, path))
            return false;
        *count = i;
        if (r->event.type == YAML_SEQUENCE_END_EVENT)
            return true;
        if (i == CONFIG_FILES)
            return FAIL(path, "must have at most %d items", CONFIG_FILES);
        if (!read_scalar(r, key, path, i))
            return false;
    }
}

/* Reads what a path has: a section or the value of a key. */
static bool read_value(struct reader *r, const char *path)
{
    const uint32_t key = key_of(r, path);

    if (r->event.type == YAML_MAPPING_START_EVENT ||
        (key == CONFIG_KEYS && r->event.type == YAML_SEQUENCE_START_EVENT))
        return read_section(r, path);
    if (key == CONFIG_KEYS)
        return FAIL(path, UNKNOWN);
    if (r->given[key])
        return FAIL(path, "duplicate key, first given in line %d",
                    abs(r->config->lines[key]));
    r->given[key] = true;
    r->config->lines[key] = line_of(r);
    return config_table[key].kind < IS_reals ? read_scalar(r, key, path, 0)
                                             : read_list(r, key, path);
}

/* ---- Texts ---- */

/* Reads a stream with one document at most, whose root is at the path. */
static bool read_stream(struct reader *r, const char *path)
{
    if (!next_event(r, path) || !next_event(r, path))
        return false;
    if (r->event.type == YAML_STREAM_END_EVENT)
        return *path == 0 || FAIL(path, "needs a value");
    return next_event(r, path) && read_value(r, path) && next_event(r, path) &&
           next_event(r, path);
}

bool config_read_text(struct trainer_config *config, const char *name,
                      const char *path, const char *text, size_t size)
{
    struct reader reader = {.config = config, .text = text, .size = size,
                            .argument = name == NULL};
    struct reader *r = &reader;
    bool good;

    if (name)
        snprintf(config->file, sizeof config->file, "%s", name);
    if (size > SIZE)
        return FAIL(path, "longer than 131,072 bytes");
    if (!yaml_parser_initialize(&r->parser))
        return FAIL(path, "out of memory");
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)text, size);
    good = read_stream(r, path);
    yaml_event_delete(&r->event);
    yaml_parser_delete(&r->parser);
    return good;
}

bool config_read(struct trainer_config *config, const char *file)
{
    static char text[SIZE + 1];
    FILE *from = fopen(file, "rb");
    size_t size = from ? fread(text, 1, SIZE + 1, from) : 0;
    const bool good = from && !ferror(from);

    if (!good)
        snprintf(config->error, sizeof config->error, "%s: cannot read: %s",
                 file, strerror(errno));
    if (from)
        fclose(from);
    return good && config_read_text(config, file, "", text, size);
}

bool config_override(struct trainer_config *config, const char *argument)
{
    const size_t length = strcspn(argument, "=");
    char path[CONFIG_PATH];

    if (length == 0 || argument[length] == 0)
        return config_fail(config, -1, "",
                           "an override has the form PATH=VALUE");
    snprintf(path, sizeof path, "%.*s", (int)length, argument);
    /* A comment would silently cut the value off: DIR would be another. */
    if (strchr(argument, '#'))
        return config_fail(config, -1, path, "a # may begin a comment; write "
                           "the value in the file");
    argument += length + 1;
    return config_read_text(config, NULL, path, argument, strlen(argument));
}

/* config.c - reads a configuration: libyaml's events, one at a time, become
   paths and values. Errors name the line and the key. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <yaml.h>

/* The maximum size of a text. A printed configuration is smaller: three lists
   of CONFIG_FILES texts of two bytes per letter take 98,496 bytes. */
enum { SIZE = 131072 };

#define BASE "OPTIMIZER.base_optimizer."
#define UNKNOWN "not a key; --keys lists all keys"

/* One text: the file or an argument. */
struct reader {
    struct trainer_config config;   /* as both will be if the text is good */
    struct config_source source;
    const char *text;
    size_t size;
    int32_t number;                 /* of the text */
    int documents;
    yaml_parser_t parser;
    yaml_event_t event;             /* the current one */
};

/* ---- Errors ---- */

bool config_fail(struct config_source *source, struct config_place at,
                 const char *path, const char *format, ...)
{
    const bool file = at.text < 2 && source->file[0] != 0;
    char line[32] = "", *c;
    va_list list;
    int used;

    if (file && at.text != 0)
        snprintf(line, sizeof line, ":%" PRId32, at.line);
    used = snprintf(source->error, sizeof source->error, "%.511s%s: %.255s%s",
                    file ? source->file : "command line", line, path,
                    path[0] != 0 ? ": " : "");
    va_start(list, format);
    vsnprintf(source->error + used, sizeof source->error - (size_t)used, format,
              list);
    va_end(list);
    for (c = source->error; *c; c++) /* names may have terminal commands */
        if (*c < ' ' || *c > '~')
            *c = '?';
    return false;
}

/* In the current event's line. */
#define FAIL(r, path, ...) \
    config_fail(&(r)->source, here(r), path, __VA_ARGS__)

static struct config_place here(const struct reader *r)
{
    return (struct config_place){r->number,
                                 (int32_t)r->event.start_mark.line + 1};
}

static bool must_be(struct reader *r, const char *path, const char *wanted)
{
    const yaml_event_t *event = &r->event;

    if (event->type != YAML_SCALAR_EVENT)
        return FAIL(r, path, "must be %s", wanted);
    return FAIL(r, path, "must be %s, not %s'%.40s'", wanted,
                event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE
                    ? "" : "the text ",
                (const char *)event->data.scalar.value);
}

/* ---- Events ---- */

/* Goes to the next event. Refuses what a configuration does not need. */
static bool next_event(struct reader *r, const char *path)
{
    yaml_event_t *event = &r->event;
    size_t i;

    yaml_event_delete(event);
    if (!yaml_parser_parse(&r->parser, event)) {
        event->start_mark = r->parser.problem_mark;
        if (r->parser.error == YAML_READER_ERROR) /* has no line, but a byte */
            for (i = 0; i < r->parser.problem_offset && i < r->size; i++)
                event->start_mark.line += r->text[i] == '\n';
        return FAIL(r, path, "not YAML: %s", r->parser.problem
                                                 ? r->parser.problem
                                                 : "out of memory");
    }
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return r->documents++ == 0 ||
               FAIL(r, path, "a second document is not allowed");
    case YAML_ALIAS_EVENT:
        return FAIL(r, path, "an alias (*) is not allowed");
    case YAML_SCALAR_EVENT:
        if (strlen((const char *)event->data.scalar.value) !=
            event->data.scalar.length)
            return FAIL(r, path, "a zero byte is not allowed");
        /* fall through */
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        /* The three begin with these members. */
        return (event->data.scalar.anchor == NULL &&
                event->data.scalar.tag == NULL) ||
               FAIL(r, path, "an anchor (&) or a tag (!) is not allowed");
    default:
        return true;
    }
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
    r->source.nested = true;
    if (key != CONFIG_KEYS)
        return key;
    snprintf(whole, sizeof whole, "OPTIMIZER.%s", path + sizeof BASE - 1);
    key = config_key_number(whole);
    return key >= CONFIG_use_larc && key <= CONFIG_betas ? key : CONFIG_KEYS;
}

static bool read_value(struct reader *r, const char *path);

/* The only list of sections has the parts of a composite schedule. It replaces
   that of a text before, which may be longer. */
static void forget_parts(struct reader *r)
{
    uint32_t i;

    for (i = CONFIG_curve1; i <= CONFIG_end8; i++)
        if (r->source.places[i].text != r->number) {
            config_reset(&r->config, i);
            r->source.places[i].text = 0;
        }
}

/* Reads a mapping of keys to values, or a list of those, PATH[0], PATH[1], ...;
   not an empty one, as a section is known by its keys. */
static bool read_section(struct reader *r, const char *path)
{
    const bool list = r->event.type == YAML_SEQUENCE_START_EVENT;
    char name[CONFIG_PATH], whole[2 * CONFIG_PATH];
    uint32_t count;

    if (list)
        forget_parts(r);
    for (count = 0;; count++) { /* ends: consumes text */
        if (!next_event(r, path))
            return false;
        if (r->event.type == YAML_MAPPING_END_EVENT ||
            r->event.type == YAML_SEQUENCE_END_EVENT)
            return count > 0 || FAIL(r, path, "a section without keys");
        if (list)
            snprintf(name, sizeof name, "[%" PRIu32 "]", count);
        else
            snprintf(name, sizeof name, "%s%s", *path ? "." : "",
                     r->event.type == YAML_SCALAR_EVENT
                         ? (const char *)r->event.data.scalar.value
                         : "?"); /* a list or a section */
        snprintf(whole, sizeof whole, "%s%s", path, name);
        /* What is too long for a path is no key, and bounds the depth. */
        if (strlen(whole) >= CONFIG_PATH)
            return FAIL(r, whole, UNKNOWN);
        if ((!list && !next_event(r, whole)) || !read_value(r, whole))
            return false;
    }
}

static bool read_scalar(struct reader *r, uint32_t key, const char *path,
                        uint64_t item)
{
    const yaml_event_t *event = &r->event;

    return (event->type == YAML_SCALAR_EVENT &&
            config_take_scalar(
                &config_table[key], (const char *)event->data.scalar.value,
                event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE,
                (char *)&r->config + config_table[key].offset, item)) ||
           must_be(r, path, config_table[key].allowed);
}

static bool read_list(struct reader *r, uint32_t key, const char *path)
{
    const struct config_key *row = &config_table[key];
    uint64_t *count = (void *)((char *)&r->config + row->offset), i;

    if (r->event.type != YAML_SEQUENCE_START_EVENT)
        return must_be(r, path, "a list, such as [a, b]");
    /* Clear the items of a longer list, as the whole struct is sent. */
    memset(count, 0, row->size);
    for (i = 0;; i++) { /* ends: consumes text */
        if (!next_event(r, path))
            return false;
        *count = i;
        if (r->event.type == YAML_SEQUENCE_END_EVENT)
            return true;
        if (i == CONFIG_FILES)
            return FAIL(r, path, "must have at most %d items", CONFIG_FILES);
        if (!read_scalar(r, key, path, i))
            return false;
    }
}

/* Reads what a path has: a section or the value of a key. */
static bool read_value(struct reader *r, const char *path)
{
    const uint32_t key = key_of(r, path);
    struct config_place *place = &r->source.places[key];

    if (r->event.type == YAML_MAPPING_START_EVENT ||
        (key == CONFIG_KEYS && r->event.type == YAML_SEQUENCE_START_EVENT))
        return read_section(r, path);
    if (key == CONFIG_KEYS)
        return FAIL(r, path, UNKNOWN);
    if (place->text == r->number)
        return FAIL(r, path, "duplicate key, first given in line %" PRId32,
                    place->line);
    *place = here(r);
    return config_table[key].kind < IS_reals ? read_scalar(r, key, path, 0)
                                             : read_list(r, key, path);
}

/* ---- Texts ---- */

/* Reads all of the text. path: that of an argument, else "". */
static bool read_all(struct reader *r, const char *path)
{
    if (r->size > SIZE)
        return FAIL(r, path, "longer than 131,072 bytes");
    do /* the start of the stream, then of the document, if there is one */
        if (!next_event(r, path))
            return false;
    while (r->event.type == YAML_STREAM_START_EVENT ||
           r->event.type == YAML_DOCUMENT_START_EVENT);
    if ((*path || r->event.type != YAML_STREAM_END_EVENT) &&
        !read_value(r, path))
        return false;
    while (r->event.type != YAML_STREAM_END_EVENT)
        if (!next_event(r, path)) /* ends at the last event */
            return false;
    return true;
}

/* Reads a text whose root is at a path. If it fails, only source->error is
   changed. name: that of a file, or NULL for an argument. */
static bool read_text(struct trainer_config *config,
                      struct config_source *source, const char *name,
                      const char *path, const char *text, size_t size)
{
    struct reader r = {.config = *config, .source = *source, .text = text,
                       .size = size, .number = 1};
    bool good;

    if (name)
        snprintf(r.source.file, sizeof r.source.file, "%s", name);
    else
        r.number += ++r.source.arguments;
    if (yaml_parser_initialize(&r.parser)) {
        yaml_parser_set_input_string(&r.parser, (const unsigned char *)text,
                                     size);
        good = read_all(&r, path);
    } else {
        good = FAIL(&r, path, "out of memory");
    }
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    if (good) {
        *config = r.config;
        *source = r.source;
    } else {
        memcpy(source->error, r.source.error, sizeof source->error);
    }
    return good;
}

bool config_read_text(struct trainer_config *config,
                      struct config_source *source, const char *name,
                      const char *text, size_t size)
{
    return read_text(config, source, name, "", text, size);
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
    const size_t length = strcspn(argument, "=");
    const struct config_place at = {.text = 2};
    char path[CONFIG_PATH];

    if (length == 0 || argument[length] == 0)
        return config_fail(source, at, "",
                           "an override has the form PATH=VALUE");
    snprintf(path, sizeof path, "%.*s", (int)length, argument);
    /* A comment would silently cut the value off: DIR would be another. */
    if (strchr(argument, '#'))
        return config_fail(source, at, path, "a # may begin a comment; write "
                           "the value in the file");
    argument += length + 1;
    return read_text(config, source, NULL, path, argument, strlen(argument));
}

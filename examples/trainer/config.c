/* config.c - reads YAML, from a file or an argument, into the struct, by the
   table of keys.

   libyaml's events are processed as they come: a function that reads something
   begins at its first event and ends at its last. So the first error in a text
   is the one reported, and the depth is bounded by the length of a path. */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <yaml.h>

/* The maximum size of a text. A printed configuration is smaller: three lists
   of CONFIG_FILES strings of two bytes per letter take 98,496 bytes. */
enum { SIZE = 131072 };

#define LR "OPTIMIZER.param_schedulers.lr."
#define BASE "OPTIMIZER.base_optimizer."
#define UNKNOWN "not a key; --keys lists all keys"

/* One text: a file, an argument or a default. */
struct reader {
    struct trainer_config config;   /* as both will be if the text is good */
    struct config_source source;
    const char *text;
    size_t size;
    bool argument;
    int documents;
    yaml_parser_t parser;
    yaml_event_t event;             /* the current one */
    /* While a part of a composite schedule is read, the bytes from the main
       schedule to it, as it has the same keys; and where they were given. */
    size_t shift;
    struct config_place part[CONFIG_KEYS];
};

/* ---- Errors ---- */

bool config_fail(struct config_source *source, struct config_place at,
                 const char *path, const char *format, ...)
{
    const bool file = !at.argument && source->file[0] != 0;
    char line[32] = "", *c;
    va_list list;
    int used;

    if (file && at.line != 0)
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

/* The current event's place. */
static struct config_place here(const struct reader *r)
{
    struct config_place place = {0};

    place.line = (int32_t)r->event.start_mark.line + 1;
    place.text = r->source.texts;
    place.argument = r->argument;
    return place;
}

static bool fail(struct reader *r, const char *path, const char *sentence)
{
    return config_fail(&r->source, here(r), path, "%s", sentence);
}

static bool must_be(struct reader *r, const char *path, const char *wanted)
{
    const yaml_event_t *event = &r->event;

    if (event->type != YAML_SCALAR_EVENT)
        return config_fail(&r->source, here(r), path, "must be %s", wanted);
    return config_fail(
        &r->source, here(r), path, "must be %s, not %s'%.40s'", wanted,
        event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? "" : "the text ",
        (const char *)event->data.scalar.value);
}

static bool fail_for_libyaml(struct reader *r, const char *path)
{
    const yaml_parser_t *parser = &r->parser;
    struct config_place at = here(r);
    size_t i;

    at.line = (int32_t)parser->problem_mark.line + 1;
    if (parser->error == YAML_READER_ERROR) /* has the byte, but no line */
        for (i = 0; i < parser->problem_offset && i < r->size; i++)
            at.line += r->text[i] == '\n';
    return config_fail(&r->source, at, path, "not YAML: %s",
                       parser->problem ? parser->problem : "out of memory");
}

/* ---- Events ---- */

/* Goes to the next event. Refuses what a configuration does not need. */
static bool next_event(struct reader *r, const char *path)
{
    yaml_event_t *event = &r->event;

    yaml_event_delete(event);
    if (!yaml_parser_parse(&r->parser, event))
        return fail_for_libyaml(r, path);
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return r->documents++ == 0 ||
               fail(r, path, "a second document is not allowed");
    case YAML_ALIAS_EVENT:
        return fail(r, path, "an alias (*) is not allowed");
    case YAML_SCALAR_EVENT:
        if (strlen((const char *)event->data.scalar.value) !=
            event->data.scalar.length)
            return fail(r, path, "a zero byte is not allowed");
        /* fall through */
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        /* The three begin with these members. */
        return (event->data.scalar.anchor == NULL &&
                event->data.scalar.tag == NULL) ||
               fail(r, path, "an anchor (&) or a tag (!) is not allowed");
    default:
        return true;
    }
}

/* ---- Keys ---- */

static bool read_path(struct reader *r, struct config_place at,
                      const char *path);

/* Reads a mapping of keys to values, which must not be empty: a section is
   known by its keys. */
static bool read_section(struct reader *r, const char *path)
{
    char whole[CONFIG_PATH];
    uint32_t count;

    for (count = 0;; count++) { /* ends: consumes text */
        const char *name = ""; /* of a list or a section */
        struct config_place at;

        if (!next_event(r, path))
            return false;
        if (r->event.type == YAML_MAPPING_END_EVENT)
            return count > 0 || fail(r, path, "a section without keys");
        at = here(r);
        if (r->event.type == YAML_SCALAR_EVENT)
            name = (const char *)r->event.data.scalar.value;
        /* What is too long for a path is no key, and bounds the depth. */
        if (snprintf(whole, sizeof whole, "%s%s%s", path, *path ? "." : "",
                     *name ? name : "?") >= CONFIG_PATH)
            return config_fail(&r->source, at, whole, UNKNOWN);
        if (!next_event(r, whole) || !read_path(r, at, whole))
            return false;
    }
}

/* Reads a part of a composite schedule, which has exactly the keys of its
   kind. */
static bool read_part(struct reader *r, const char *path, char *out)
{
    const struct config_place at = here(r);
    const struct config_curve *curve = (const struct config_curve *)(void *)out;
    const struct config_key *key;
    bool good;

    memset(r->part, 0, sizeof r->part);
    r->shift = (size_t)(out - (char *)&r->config.optimizer.lr.curve);
    good = read_section(r, path);
    r->shift = 0;
    if (!good)
        return false;
    if (curve->name == CONFIG_COMPOSITE)
        return config_fail(&r->source, at, path, "must not be composite");
    for (key = config_key_table; key < config_key_table + config_key_count;
         key++) {
        const bool given = r->part[key - config_key_table].line != 0;

        if (config_is_of_curve(key) &&
            given != config_is_used(key, curve->name))
            return config_fail(&r->source, at, path, given
                ? "a schedule of this name does not use %s" : "%s is missing",
                strrchr(key->path, '.') + 1);
    }
    return true;
}

static bool read_item(struct reader *r, const struct config_key *key,
                      const char *path, char *out)
{
    char wanted[256];

    if (key->type == TYPE_CURVES && r->event.type == YAML_MAPPING_START_EVENT)
        return read_part(r, path, out);
    if (r->event.type == YAML_SCALAR_EVENT &&
        config_take_scalar(
            key, (const char *)r->event.data.scalar.value,
            r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE, out))
        return true;
    config_describe(key, wanted, sizeof wanted);
    return must_be(r, path, wanted);
}

static bool read_value(struct reader *r, const struct config_key *key,
                       const char *path)
{
    char *field = (char *)&r->config + r->shift + key->offset;
    const struct config_place at = here(r);
    char item[CONFIG_PATH];
    uint32_t count = 0;

    if (key->most == 0)
        return read_item(r, key, path, field);
    if (r->event.type != YAML_SEQUENCE_START_EVENT)
        return must_be(r, path, "a list, such as [a, b]");
    /* Clear the items of a longer list, as the whole struct is sent. */
    memset(field, 0, config_item_at(key, key->most));
    for (;; count++) { /* ends: consumes text */
        snprintf(item, sizeof item, "%s[%" PRIu32 "]", path, count);
        if (!next_event(r, item))
            return false;
        if (r->event.type == YAML_SEQUENCE_END_EVENT || count == key->most)
            break;
        if (!read_item(r, key, item, field + config_item_at(key, count)))
            return false;
    }
    memcpy(field, &count, sizeof count);
    return (count >= key->least &&
            r->event.type == YAML_SEQUENCE_END_EVENT) ||
           config_fail(&r->source, at, path, "must have %" PRIu32 " to %" PRIu32
                       " items", key->least, key->most);
}

/* The path in the table: without the root `config` of VISSL's files. And, in
   out: without base_optimizer, which *nested tells; for a part of a composite
   schedule, that of the main schedule. */
static const char *table_path(const struct reader *r, const char *path,
                              char out[CONFIG_PATH], bool *nested)
{
    if (r->shift != 0) {
        snprintf(out, CONFIG_PATH, LR "%s", strchr(path, ']') + 2);
        return out;
    }
    if (strncmp(path, "config", 6) == 0 && (path[6] == '.' || path[6] == 0))
        path += path[6] == '.' ? 7 : 6;
    *nested = strncmp(path, BASE, sizeof BASE - 1) == 0;
    if (!*nested || strcmp(path, BASE "name") == 0)
        return path;
    snprintf(out, CONFIG_PATH, "OPTIMIZER.%s", path + sizeof BASE - 1);
    return out;
}

/* Reads the value of a path, of a key or a section. */
static bool read_path(struct reader *r, struct config_place at,
                      const char *path)
{
    char out[CONFIG_PATH];
    const char *place = table_path(r, path, out, &at.nested);
    const uint32_t number = config_key_number(place);
    const struct config_key *key = &config_key_table[number];
    struct config_place *was = r->shift ? r->part : r->source.places;

    if (r->event.type == YAML_MAPPING_START_EVENT)
        return read_section(r, path);
    if (number == config_key_count ||
        (place == out &&
         !(r->shift ? config_is_of_curve(key) : config_is_nested(key))))
        return config_fail(&r->source, at, path, UNKNOWN);
    was += number;
    if (was->text == at.text)
        return config_fail(&r->source, at, path, "duplicate key, first given "
                           "in line %" PRId32, was->line);
    *was = at;
    return read_value(r, key, path);
}

/* ---- Texts ---- */

/* Reads all of the text. path: that of an argument, else "". */
static bool read_all(struct reader *r, const char *path)
{
    if (r->size > SIZE)
        return fail(r, path, "longer than 131,072 bytes");
    do /* the start of the stream, then of the document, if there is one */
        if (!next_event(r, path))
            return false;
    while (r->event.type == YAML_STREAM_START_EVENT ||
           r->event.type == YAML_DOCUMENT_START_EVENT);
    if ((r->argument || r->event.type != YAML_STREAM_END_EVENT) &&
        !read_path(r, here(r), path))
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
                       .size = size, .argument = name == NULL};
    bool good;

    r.source.texts++;
    if (name)
        snprintf(r.source.file, sizeof r.source.file, "%s", name);
    if (yaml_parser_initialize(&r.parser)) {
        yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&r.parser, (const unsigned char *)text,
                                     size);
        good = read_all(&r, path);
    } else {
        good = fail(&r, path, "out of memory");
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
    /* libyaml counts a byte order mark as a column, which would indent the
       first key. */
    const size_t mark =
        size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

    return read_text(config, source, name, "", text + mark, size - mark);
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
    const char *equals = strchr(argument, '='), *hash = equals;
    const struct config_place at = {.argument = true};
    char path[CONFIG_PATH] = "";

    if (equals == NULL || equals == argument)
        return config_fail(source, at, "",
                           "an override has the form PATH=VALUE");
    snprintf(path, sizeof path, "%.*s", (int)(equals - argument), argument);
    /* A comment would silently cut the value off: DIR would be another. */
    while ((hash = strchr(hash + 1, '#')))
        if (!isalnum((unsigned char)hash[-1]))
            return config_fail(source, at, path, "this # may begin a comment; "
                               "write the value in the file");
    return read_text(config, source, NULL, path, equals + 1,
                     strlen(equals + 1));
}

bool config_set_default(struct trainer_config *config,
                        struct config_source *source,
                        const struct config_key *key)
{
    const struct config_place place = {0};

    if (!read_text(config, source, NULL, key->path, key->standard,
                   strlen(key->standard)))
        return false;
    source->places[key - config_key_table] = place;
    return true;
}

bool config_defaults(struct trainer_config *config,
                     struct config_source *source)
{
    uint32_t i;

    memset(config, 0, sizeof *config);
    memset(source, 0, sizeof *source);
    for (i = 0; i < config_key_count; i++)
        if (!config_set_default(config, source, &config_key_table[i]))
            return false;
    source->texts = 0;
    return true;
}

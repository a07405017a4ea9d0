/* config_events.c - see config_events.h. */
#include "config_events.h"

#include <stb_ds.h>
#include <stdarg.h>
#include <string.h>

/* --- Errors --------------------------------------------------------------- */

static struct config_place place_of(const struct reader *r, yaml_mark_t mark)
{
    struct config_place place = {0};

    place.line = (int32_t)mark.line + 1;
    place.column = (int32_t)mark.column + 1 + (mark.line == 0 ? r->shift : 0);
    place.argument = r->argument;
    return place;
}

struct config_place here(const struct reader *r)
{
    return place_of(r, r->event.start_mark);
}

bool fail_at(struct reader *r, struct config_place at, const char *path,
             const char *format, ...)
{
    char sentence[512];
    va_list list;

    va_start(list, format);
    vsnprintf(sentence, sizeof sentence, format, list);
    va_end(list);
    snprintf(r->source->error, sizeof r->source->error, "%s:%d:%d: %s%s%s",
             r->name, at.line, at.column, path,
             path[0] != 0 ? ": " : "", sentence);
    return false;
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

/* --- Events --------------------------------------------------------------- */

bool next_event(struct reader *r, const char *path)
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

struct config_scalar scalar_here(const struct reader *r)
{
    struct config_scalar s = {"", 0, true};

    if (r->event.type == YAML_SCALAR_EVENT) {
        s.text = (const char *)r->event.data.scalar.value;
        s.length = r->event.data.scalar.length;
        s.plain = r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    }
    return s;
}

char letter_shown(char letter)
{
    return letter >= ' ' && letter <= '~' ? letter : '?';
}

bool next_key(struct reader *r, const char *path, char whole[CONFIG_PATH],
              struct config_place *at)
{
    struct config_scalar name;
    size_t used, i;

    whole[0] = 0;
    if (!next_event(r, path) || r->event.type == YAML_MAPPING_END_EVENT)
        return r->event.type == YAML_MAPPING_END_EVENT;
    *at = here(r);
    if (r->event.type != YAML_SCALAR_EVENT)
        return fail_at(r, *at, path, "a key must be a scalar");
    name = scalar_here(r);
    snprintf(whole, CONFIG_PATH, "%s%s", path, path[0] != 0 ? "." : "");
    used = strlen(whole);
    for (i = 0; i < name.length && used < CONFIG_PATH - 1; i++)
        whole[used++] = letter_shown(name.text[i]);
    if (used == 0)
        whole[used++] = '?';
    whole[used] = 0;
    return true;
}

bool first_time(struct reader *r, struct config_place at, const char *path,
                const char *same)
{
    const struct seen *before = shgetp_null(r->seen, same);

    if (before != NULL)
        return fail_at(r, at, path, "duplicate key, first given in line %d",
                       before->value);
    shput(r->seen, same, at.line);
    return true;
}

/* --- Wrong values --------------------------------------------------------- */

bool must_be(struct reader *r, const char *path, const char *wanted)
{
    struct config_scalar s = scalar_here(r);
    char shown[80];
    size_t i;

    if (r->event.type == YAML_SEQUENCE_START_EVENT) {
        strcpy(shown, "a list");
    } else if (r->event.type == YAML_MAPPING_START_EVENT) {
        strcpy(shown, "a mapping");
    } else if (config_is_nothing(&s)) {
        strcpy(shown, "an empty value");
    } else {
        char text[41];

        for (i = 0; i < s.length && i < 40; i++)
            text[i] = letter_shown(s.text[i]);
        text[i] = 0;
        snprintf(shown, sizeof shown,
                 s.plain ? "%s%s" : "the text \"%s%s\"", text,
                 s.length > i ? "..." : "");
    }
    return fail_at(r, here(r), path, "must be %s, not %s", wanted, shown);
}

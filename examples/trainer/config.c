/* config.c - the table of all keys, and reading: libyaml's events, one at a
   time, become paths and values. Errors name the line and the key. */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

/* ---- Keys ---- */

#define TRAIN "DATA.TRAIN."
#define TEST "DATA.TEST."
#define AMP "MODEL.AMP_PARAMS."
#define RECOMPUTE "MODEL.ACTIVATION_CHECKPOINTING."
#define GPT "MODEL.TRUNK.GPT."
#define LR "OPTIMIZER.param_schedulers.lr."
#define SCALING LR "auto_lr_scaling."

#define BOOL "False or True"
#define WHOLE "a whole number in "
#define SMALL_COUNT WHOLE "[1, 1000000]"
#define COUNT WHOLE "[1, 1099511627776]"
#define NUMBER "a number in "
#define RATES NUMBER "[0, 1000000]"
#define TEXT "printable text with a length in "

#define SIZE(field) sizeof((struct trainer_config *)0)->field
/* A row, not columns: */
/* clang-format off */
#define KEY(kind, field, path, allowed, same, meaning, ...) \
    {IS_##kind, offsetof(struct trainer_config, field), SIZE(field), path, \
     allowed, CONFIG_##same, meaning},
/* clang-format on */
const struct config_key config_table[CONFIG_KEYS] = {
#include "config_keys.h"
};

#define KEY(kind, field, path, allowed, same, meaning, ...) \
    .field = __VA_ARGS__,
const struct trainer_config config_defaults = {
#include "config_keys.h"
};

uint32_t config_key_number(const char *path)
{
    uint32_t i = 0;

    while (i < CONFIG_KEYS && strcmp(config_table[i].path, path) != 0)
        i++;
    return i;
}

/* ---- Errors ---- */

bool config_fail(struct trainer_config *config, int32_t line, const char *path,
                 const char *format, ...)
{
    const bool file = line >= 0 && config->file[0] != 0;
    const char *where = file ? config->file : "command line";
    const char *colon = path[0] != 0 ? ": " : "";
    char number[32] = "", *c;
    va_list list;
    int used;

    if (file && line > 0)
        snprintf(number, sizeof number, ":%" PRId32, line);
    used = snprintf(config->error, sizeof config->error, "%.511s%s: %.255s%s",
                    where, number, path, colon);
    va_start(list, format);
    vsnprintf(config->error + used, sizeof config->error - (size_t)used, format,
              list);
    va_end(list);
    for (c = config->error; *c; c++) /* names may have terminal commands */
        if (*c < ' ' || *c > '~')
            *c = '?';
    return false;
}

/* ---- Values ---- */

static const char *range_of(const struct config_key *key)
{
    return strpbrk(key->allowed, "[(");
}

/* The index of a word among those allowed, in letters of any case, or -1. */
static int find_word(const char *allowed, const char *text)
{
    const size_t length = strlen(text);
    int number;

    for (number = 0; allowed; number++) { /* ends: a word less */
        if (strcspn(allowed, " ") == length &&
            strncasecmp(allowed, text, length) == 0 &&
            (!allowed[length] || strncmp(allowed + length, " or ", 4) == 0))
            return number;
        allowed = strstr(allowed, " or ");
        if (allowed)
            allowed += strlen(" or ");
    }
    return -1;
}

/* Parses a number that YAML and C agree on: decimal, not 010 (which some
   parsers read as 8), with a dot or exponent only if real, within a double's
   range. */
static bool to_number(const char *text, bool real, double *out)
{
    const char *known = real ? "+-.eE0123456789" : "+-0123456789";
    const char *digits = text + (*text == '+' || *text == '-');
    char *end;

    if (text[strspn(text, known)] != 0 ||
        (digits[0] == '0' && isdigit((unsigned char)digits[1])))
        return false;
    errno = 0;
    *out = strtod(text, &end) + 0.0; /* -0 becomes 0 */
    return end != text && *end == 0 && errno == 0;
}

static bool is_in_range(const struct config_key *key, double value)
{
    char begin, end;
    double low, high;
    bool above, below;

    if (sscanf(range_of(key), "%c%lf, %lf%c", &begin, &low, &high, &end) != 4)
        return false;
    above = begin == '(' ? value > low : value >= low;
    below = end == ')' ? value < high : value <= high;
    return above && below;
}

/* Whether text, valid UTF-8, can be printed and read back. */
static bool is_text(const char *text)
{
    static const char *const hidden[] = {
        "\xe2\x80\xa8", "\xe2\x80\xa9",                 /* line breaks */
        "\xef\xbb\xbf", "\xef\xbf\xbe", "\xef\xbf\xbf", /* no characters */
    };
    const unsigned char *c;
    size_t i;

    for (c = (const unsigned char *)text; *c; c++) /* control characters */
        if (*c < 32 || *c == 127 || (*c == 0xc2 && c[1] < 0xa0))
            return false;
    for (i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (strstr(text, hidden[i]))
            return false;
    return true;
}

/* Whether a word or number is allowed for a key; then *out is its value, which
   for a word is its index; or, where there is a range, what strtod makes of it,
   which is 0 for dynamic. plain: not quoted, as a number must be. */
static bool to_value(const struct config_key *key, const char *text, bool plain,
                     double *out)
{
    const bool real = !strstr(key->allowed, WHOLE);
    const int word = find_word(key->allowed, text);

    if (word >= 0) {
        *out = range_of(key) ? strtod(text, NULL) : word;
        return true;
    }
    return plain && range_of(key) && to_number(text, real, out) &&
           is_in_range(key, *out);
}

/* Whether a scalar is allowed for a key; then it is stored. plain: not
   quoted. */
static bool take_scalar(const struct config_key *key, const char *text,
                        bool plain, void *out)
{
    double value;

    if (key->kind == IS_text || key->kind == IS_texts) {
        snprintf(memset(out, 0, CONFIG_STRING), CONFIG_STRING, "%s", text);
        return is_in_range(key, (double)strlen(text)) && is_text(text);
    }
    if (!to_value(key, text, plain, &value))
        return false;
    if (key->kind == IS_whole)
        *(int64_t *)out = (int64_t)value; /* exact */
    else
        *(double *)out = value;
    return true;
}

/* ---- Events ---- */

/* The maximum size of a text. A printed configuration is smaller: three lists
   of CONFIG_FILES texts of two bytes per letter take 98,496 bytes. */
enum { TEXT_BYTES = 131072 };

/* More than there are sections, also with the root `config` before each. */
enum { CONFIG_SECTIONS = 2 * CONFIG_KEYS };

/* One text: the file or an argument. */
struct reader {
    struct trainer_config *config;
    bool argument;
    bool given[CONFIG_KEYS]; /* by this text */
    struct {
        char path[CONFIG_PATH];
        int32_t line;
    } sections[CONFIG_SECTIONS]; /* given by this text */
    uint32_t num_sections;
    yaml_parser_t parser;
    yaml_event_t event; /* the current one */
};

/* The current event's line. */
static int32_t line_of(const struct reader *r)
{
    return r->argument ? -1 : (int32_t)r->event.start_mark.line + 1;
}

#define FAIL(path, ...) config_fail(r->config, line_of(r), path, __VA_ARGS__)

/* The line of libyaml's error, from 0. Of bad UTF-8 it has the byte only. */
static size_t problem_line(const yaml_parser_t *parser)
{
    size_t line = parser->problem_mark.line, i;

    if (parser->error == YAML_READER_ERROR)
        for (i = 0; i < parser->problem_offset; i++) /* within the text */
            line += parser->input.string.start[i] == '\n';
    return line;
}

/* Makes the next event the current one. Refuses what no configuration needs. */
static bool next_event(struct reader *r, const char *path)
{
    yaml_event_t *event = &r->event;

    yaml_event_delete(event);
    if (!yaml_parser_parse(&r->parser, event)) {
        const char *problem = r->parser.problem;

        event->start_mark.line = problem_line(&r->parser);
        return FAIL(path, "not YAML: %s", problem ? problem : "out of memory");
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
    return true;
}

/* ---- Paths ---- */

#define BASE "OPTIMIZER.base_optimizer."
#define UNKNOWN "not a key; --keys lists all keys"

/* A path without the root `config` of VISSL's files. */
static const char *without_root(const char *path)
{
    if (strcmp(path, "config") == 0)
        return "";
    return strncmp(path, "config.", 7) == 0 ? path + 7 : path;
}

/* Whether a path is below base_optimizer; then *whole is the path of the same
   key of the optimizer itself. */
static bool is_nested(const char *path, char whole[2 * CONFIG_PATH])
{
    if (strncmp(path, BASE, sizeof BASE - 1) != 0)
        return false;
    snprintf(whole, 2 * CONFIG_PATH, "OPTIMIZER.%s", path + sizeof BASE - 1);
    return true;
}

static bool may_be_nested(uint32_t key)
{
    return key >= CONFIG_use_larc && key <= CONFIG_betas;
}

/* The number of the key that a path means. */
static uint32_t key_of(struct reader *r, const char *path)
{
    char whole[2 * CONFIG_PATH];
    uint32_t key;

    path = without_root(path);
    key = config_key_number(path);
    if (!is_nested(path, whole))
        return key;
    r->config->nested = true;
    if (key != CONFIG_KEYS)
        return key;
    key = config_key_number(whole);
    return may_be_nested(key) ? key : CONFIG_KEYS;
}

/* Whether the path of a key begins with this one and goes on with `next`. */
static bool goes_on(const char *path, char next)
{
    char whole[2 * CONFIG_PATH];
    bool nested;
    size_t length;
    uint32_t i;

    path = without_root(path);
    nested = is_nested(path, whole);
    if (!nested)
        snprintf(whole, sizeof whole, "%s", path);
    length = strlen(whole);
    for (i = 0; i < CONFIG_KEYS; i++) {
        const char *key = config_table[i].path;

        if ((may_be_nested(i) || !nested) && strncmp(key, whole, length) == 0 &&
            (key[length] == next || (next == '.' && length == 0)))
            return true;
    }
    return false;
}

/* Whether there are keys PATH.KEY; with "" as the path there are. */
static bool is_section(const char *path)
{
    return goes_on(path, '.');
}

/* Whether there are keys PATH[0].KEY. */
static bool is_list_of_sections(const char *path)
{
    return goes_on(path, '[');
}

static bool read_value(struct reader *r, const char *path);

#define DUPLICATE "duplicate key, first given in line %d"

/* Notes a section, with keys or without, or a list of those. */
static bool begin_section(struct reader *r, const char *path)
{
    uint32_t i;

    for (i = 0; i < r->num_sections; i++)
        if (strcmp(r->sections[i].path, path) == 0)
            return FAIL(path, DUPLICATE, abs(r->sections[i].line));
    if (i == CONFIG_SECTIONS)
        return FAIL(path, UNKNOWN);
    snprintf(r->sections[i].path, CONFIG_PATH, "%s", path);
    r->sections[i].line = line_of(r);
    r->num_sections++;
    return true;
}

/* Fails as nothing is below this path. */
static bool fail_below(struct reader *r, const char *path)
{
    if (key_of(r, path) != CONFIG_KEYS)
        return FAIL(path, "must be a value, not a section");
    return FAIL(path, UNKNOWN);
}

/* Whether a section without keys may be here: one of the table, as its keys may
   all be comments. */
static bool check_no_keys(struct reader *r, const char *path)
{
    if (is_section(path))
        return true;
    if (is_list_of_sections(path))
        return FAIL(path, "must be a list, such as [{name: cosine}]");
    return fail_below(r, path);
}

/* The same for a list without sections. */
static bool check_no_items(struct reader *r, const char *path)
{
    if (is_list_of_sections(path))
        return true;
    if (is_section(path))
        return FAIL(path, "must be keys with values, not a list");
    return fail_below(r, path);
}

/* Reads a mapping of keys to values, or a list of those, PATH[0], PATH[1]. */
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
            break;
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
    if (count > 0)
        return true;
    return list ? check_no_items(r, path) : check_no_keys(r, path);
}

/* Whether the current event is the value of a section without keys. */
static bool is_null(const struct reader *r)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
    const char *text = (const char *)r->event.data.scalar.value;
    size_t i;

    if (r->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return false;
    for (i = 0; i < sizeof nulls / sizeof *nulls; i++)
        if (strcmp(text, nulls[i]) == 0)
            return true;
    return false;
}

/* Reads a scalar where no key is: that of a section without keys. */
static bool read_no_keys(struct reader *r, const char *path)
{
    if (!is_section(path) && !is_list_of_sections(path))
        return FAIL(path, UNKNOWN);
    return is_null(r) || FAIL(path, "must be keys with values, not '%.40s'",
                              (const char *)r->event.data.scalar.value);
}

/* Reads a scalar to a field, or to an item of a list. */
static bool read_scalar(struct reader *r, const struct config_key *key,
                        const char *path, void *field)
{
    const char *text = (const char *)r->event.data.scalar.value;
    const bool plain = r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

    if (r->event.type != YAML_SCALAR_EVENT)
        return FAIL(path, "must be %s", key->allowed);
    return take_scalar(key, text, plain, field) ||
           FAIL(path, "must be %s, not %s'%.40s'", key->allowed,
                plain ? "" : "the text ", text);
}

static bool read_list(struct reader *r, const struct config_key *key,
                      const char *path, uint64_t *list)
{
    uint64_t i;

    if (r->event.type != YAML_SEQUENCE_START_EVENT)
        return FAIL(path, "must be a list, such as [a, b]");
    /* Clear the items of a longer list, as the whole struct is sent. */
    memset(list, 0, key->size);
    for (i = 0;; i++) { /* ends: consumes text */
        if (!next_event(r, path))
            return false;
        *list = i;
        if (r->event.type == YAML_SEQUENCE_END_EVENT)
            return true;
        if (i == CONFIG_FILES)
            return FAIL(path, "must have at most %d items", CONFIG_FILES);
        if (!read_scalar(r, key, path, (char *)list + CONFIG_ITEM(key, i)))
            return false;
    }
}

/* Reads what a path has: a section or the value of a key. */
static bool read_value(struct reader *r, const char *path)
{
    const uint32_t number = key_of(r, path);
    const struct config_key *key = &config_table[number];
    void *field;

    if (r->event.type == YAML_MAPPING_START_EVENT ||
        (number == CONFIG_KEYS && r->event.type == YAML_SEQUENCE_START_EVENT))
        return begin_section(r, path) && read_section(r, path);
    if (number == CONFIG_KEYS)
        return begin_section(r, path) && read_no_keys(r, path);
    if (r->given[number])
        return FAIL(path, DUPLICATE, abs(r->config->lines[number]));
    r->given[number] = true;
    r->config->lines[number] = line_of(r);
    field = (char *)r->config + key->offset;
    if (key->kind < IS_reals)
        return read_scalar(r, key, path, field);
    return read_list(r, key, path, field);
}

/* ---- Texts ---- */

/* Reads a stream with one document at most. */
static bool read_stream(struct reader *r)
{
    if (!next_event(r, "") || !next_event(r, ""))
        return false;
    return r->event.type == YAML_STREAM_END_EVENT ||
           (next_event(r, "") && read_value(r, "") && next_event(r, "") &&
            next_event(r, "") &&
            (r->event.type == YAML_STREAM_END_EVENT ||
             FAIL("", "a second document is not allowed")));
}

bool config_read_text(struct trainer_config *config, const char *name,
                      const char *text, size_t size)
{
    struct reader reader = {.config = config, .argument = name == NULL};
    struct reader *r = &reader;
    bool good;

    if (name)
        snprintf(config->file, sizeof config->file, "%s", name);
    if (size > TEXT_BYTES)
        return FAIL("", "longer than 131,072 bytes");
    if (!yaml_parser_initialize(&r->parser))
        return FAIL("", "out of memory");
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)text, size);
    good = read_stream(r);
    yaml_event_delete(&r->event);
    yaml_parser_delete(&r->parser);
    return good;
}

bool config_read(struct trainer_config *config, const char *file)
{
    static char text[TEXT_BYTES + 1];
    FILE *from = fopen(file, "rb");
    bool good = false;
    size_t size = 0;

    if (from) {
        size = fread(text, 1, sizeof text, from);
        good = !ferror(from);
    }
    snprintf(config->file, sizeof config->file, "%s", file);
    if (!good)
        config_fail(config, 0, "", "cannot read: %s", strerror(errno));
    if (from)
        fclose(from);
    return good && config_read_text(config, file, text, size);
}

bool config_override(struct trainer_config *config, const char *argument)
{
    static char text[TEXT_BYTES + 2]; /* what is cut off is too long, too */
    const int length = (int)strcspn(argument, "=");

    if (length == 0 || argument[length] == 0)
        return config_fail(config, -1, argument, "not of the form PATH=VALUE");
    /* A comment would silently cut the value off: DIR would be another. */
    if (strchr(argument, '#'))
        return config_fail(config, -1, argument,
                           "a # may begin a comment; "
                           "write the value in the file");
    snprintf(text, sizeof text, "%.*s: %s", length, argument,
             argument + length + 1);
    return config_read_text(config, NULL, text, strlen(text));
}

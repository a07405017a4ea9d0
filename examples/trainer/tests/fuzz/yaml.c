/* yaml.c - texts that the trainer is told its run by: any bytes; or keys of the
   table with values of their kind, most often changed in no place. Refused in
   one sentence that says where, or what is printed and read back to the
   same. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */

#include "../../../../tests/fuzz/fuzz.h"
#include "../config_texts.h"
#include "../../config.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>

#define LR "OPTIMIZER.param_schedulers.lr"

enum { ROOM = 1 << 19 }; /* more than any text here takes */

/* A text that is being made, and what must come of its keys. */
static struct {
    char text[ROOM];
    size_t size;
    int odd;    /* changed in a place, so that it may be no configuration */
    int nested; /* OPTIMIZER.name is zero */
    uint32_t known;
    struct {
        const struct config_key *key;
        char value[8];
    } keys[CONFIG_KEYS];
} made;

static void put(const char *format, ...)
{
    va_list list;
    int length;

    va_start(list, format);
    length = vsnprintf(made.text + made.size, ROOM - made.size, format, list);
    va_end(list);
    CHECK(length >= 0 && (size_t)length < ROOM - made.size);
    made.size += (size_t)length;
}

static void put_often(char letter, uint64_t count)
{
    CHECK(count < ROOM - made.size);
    memset(made.text + made.size, letter, (size_t)count);
    made.size += (size_t)count;
}

/* --- Values --------------------------------------------------------------- */

/* The range at the end of what is allowed, if there is one. */
struct range {
    int there;
    char begin, end;
    double low, high;
};

static struct range range_of(const struct config_key *key)
{
    const char *from = strpbrk(key->allowed, "[(");
    struct range r = {0};

    r.there = from && sscanf(from, "%c%lf, %lf%c", &r.begin, &r.low, &r.high,
                             &r.end) == 4;
    return r;
}

static int in_range(const struct config_key *key, double value)
{
    const struct range r = range_of(key);

    return r.there && value >= r.low && value <= r.high &&
           (value > r.low || r.begin == '[') &&
           (value < r.high || r.end == ']');
}

/* The words before the range. */
static int64_t words_of(const struct config_key *key)
{
    int64_t words = range_of(key).there ? 0 : 1;
    const char *c;

    for (c = key->allowed; (c = strstr(c, " or ")); c++)
        words++;
    return words;
}

/* A letter as it is, or large, or small. */
static int letter_of(int letter, uint64_t letters)
{
    if (letters == 0)
        return toupper((unsigned char)letter);
    return letters == 1 ? tolower((unsigned char)letter) : letter;
}

/* In its own letters, or in all large or small ones. */
static void put_word(const char *words, int64_t number)
{
    const char *quote = check_random(4) == 1 ? "\"" : "";
    const uint64_t letters = check_random(4);
    size_t i;

    for (; number > 0; number--)
        words = strstr(words, " or ") + strlen(" or ");
    put("%s", quote);
    for (i = 0; i < strcspn(words, " "); i++)
        put("%c", letter_of(words[i], letters));
    put("%s", quote);
}

/* Outside of what the key takes, or at its edge. */
static void put_odd_number(const struct config_key *key)
{
    const struct range r = range_of(key);
    const double numbers[] = {
        r.low, r.low - 1, r.low - 0.5, r.high + 1, -1,  0.5,
        -0.0,  1e18,      1e300,       4e-324,     NAN, -HUGE_VAL,
    };

    made.odd = 1;
    put("%.17g", numbers[check_random(sizeof numbers / sizeof *numbers)]);
}

static int is_whole(const struct config_key *key)
{
    return strstr(key->allowed, "whole") != NULL;
}

/* What the key takes: its default most often, as other keys go with that. */
static double any_number(const struct config_key *key)
{
    const char *standard = (const char *)&config_defaults + key->offset;
    const uint64_t how = check_random(16);
    const struct range r = range_of(key);
    int64_t integer;
    double real;

    memcpy(&integer, standard, 8);
    memcpy(&real, standard, 8);
    if (how < 12 && key->kind < IS_reals)
        return key->kind == IS_whole ? (double)integer : real;
    if (how == 12 && r.end == ']')
        return r.high;
    if (is_whole(key))
        return r.low + (double)check_random(8);
    if (how == 14 || r.begin == '(')
        return r.low +
               (r.high - r.low) / (double)(2 + check_random((uint64_t)1 << 32));
    return r.low;
}

static double put_number(const struct config_key *key)
{
    double real = any_number(key);

    if (words_of(key) > 0 && (check_random(8) == 1 || !in_range(key, real))) {
        put_word(key->allowed, 0);
        return strtod(key->allowed, NULL);
    }
    if (is_whole(key))
        put(check_random(4) == 1 && real >= 0 ? "+%.0f" : "%.0f", real);
    else
        put(check_random(2) ? "%.17g" : "%.17E", real);
    return real;
}

static void put_text(void)
{
    static const char *const texts[] = {
        "text",           "a b",         "'it''s'",
        "\"a\\\"b\\\\\"", "\"\\u00e4\"", "\xc3\xa4\xf0\x9f\x98\x80",
        "\"12\"",         "'True'",      "~/text",
        "\"#\"",          "a:b",         "\"a\\\n      b\"",
    };
    const uint64_t which = check_random(sizeof texts / sizeof *texts + 2);
    const uint64_t length = 1 + check_random(CONFIG_STRING - 1);

    if (which < sizeof texts / sizeof *texts) {
        put("%s", texts[which]);
    } else { /* the longest ones, when printed, are of quotes */
        put("'");
        put_often(which % 2 ? 'a' : '\\', length);
        put("'");
    }
}

/* Keeps the value of a key that has only one. */
static void put_scalar(const struct config_key *key)
{
    char value[8] = "";
    double real;
    int64_t integer;

    if (key->kind == IS_text || key->kind == IS_texts) {
        if (range_of(key).low == 0) /* two that exclude each other */
            put("\"\"");
        else
            put_text();
        return;
    }
    if (range_of(key).there && check_random(64) == 1) {
        put_odd_number(key);
        return;
    }
    if (range_of(key).there) {
        real = put_number(key);
    } else {
        real = (double)check_random((uint64_t)words_of(key));
        put_word(key->allowed, (int64_t)real);
    }
    integer = key->kind == IS_whole ? (int64_t)real : 0;
    memcpy(value, key->kind == IS_whole ? (void *)&integer : &real, 8);
    if (key->kind < IS_reals && made.known < CONFIG_KEYS) {
        made.keys[made.known].key = key;
        memcpy(made.keys[made.known++].value, value, 8);
    }
}

/* A list may have the same item again and again. */
static void put_list(const struct config_key *key, uint64_t count)
{
    const int same = check_random(2) == 1;
    size_t from = 0, size = 0;
    uint64_t i;

    put("[");
    for (i = 0; i < count; i++) {
        put(i ? ", " : "");
        if (i == 0 || !same) {
            from = made.size;
            put_scalar(key);
            size = made.size - from;
        } else {
            CHECK(size < ROOM - made.size);
            memcpy(made.text + made.size, made.text + from, size);
            made.size += size;
        }
    }
    put("]");
}

static void put_value(const struct config_key *key)
{
    /* Two lists must have so many items, or some. */
    const int pair = key == &config_table[CONFIG_betas];
    const uint64_t least = key == &config_table[CONFIG_data_paths];

    if (key->kind < IS_reals)
        put_scalar(key);
    else if (pair)
        put_list(key, 2);
    else if (check_random(4) == 1)
        put_list(key, CONFIG_FILES);
    else
        put_list(key, least + check_random(3));
}

/* --- Schedules ------------------------------------------------------------ */

/* The keys that a form needs; before the first of them the bracket is open. */
static void put_curve_keys(int64_t form)
{
    static struct trainer_config of_form;
    const char *before = "";
    const uint64_t rates = 1 + check_random(4);
    uint64_t i;
    uint32_t k;

    of_form.curve[0].name = form;
    for (k = CONFIG_curve0; k <= CONFIG_end0; k++) {
        const struct config_key *key = &config_table[k];
        const char *name = strrchr(key->path, '.') + 1;

        if (!config_is_used(&of_form, k))
            continue;
        put("%s%s: ", before, name);
        before = ", ";
        if (k == CONFIG_curve0) {
            put_word(key->allowed, form);
        } else if (strcmp(name, "milestones") == 0) {
            for (i = 1; i < rates; i++)
                put("%s%" PRIu64, i > 1 ? ", " : "[", i);
            put(rates > 1 ? "]" : "[]");
        } else if (key->kind == IS_reals) {
            put_list(key, rates);
        } else {
            put_scalar(key);
        }
    }
    made.known = 0; /* those of a part are elsewhere */
}

static void put_schedule(void)
{
    const uint64_t form = check_random(6);
    const uint64_t count = 1 + check_random(CONFIG_SCHEDULES);
    uint64_t i;

    put("{");
    put_curve_keys((int64_t)form);
    if (form == CONFIG_COMPOSITE) {
        for (i = 0; i < count; i++) {
            put(i ? ", {" : ", schedulers: [{");
            put_curve_keys((int64_t)check_random(CONFIG_COMPOSITE));
            put("}");
        }
        for (i = 0; i < count; i++)
            put("%s%.17g", i ? ", " : "], lengths: [", 1.0 / (double)count);
        put("]");
    }
    put("}");
}

/* --- Texts ---------------------------------------------------------------- */

/* The path as it may be written where OPTIMIZER.name is zero. */
static void write_path(const struct config_key *key, char path[CONFIG_PATH])
{
    if (made.nested && key >= &config_table[CONFIG_use_larc] &&
        key <= &config_table[CONFIG_betas])
        snprintf(path, CONFIG_PATH, "OPTIMIZER.base_optimizer.%s",
                 key->path + strlen("OPTIMIZER."));
    else
        snprintf(path, CONFIG_PATH, "%s", key->path);
}

/* The path that a key is written under, without what it shares with the one
   before; the sections between. */
static void put_key(const char *path, const char *before, int indent)
{
    size_t same = 0, depth = 0, i, length;

    for (i = 0; path[i] && path[i] == before[i]; i++)
        if (path[i] == '.') {
            same = i + 1;
            depth++;
        }
    for (path += same;; path += length + 1) { /* ends: a name less */
        length = strcspn(path, ".");
        put("%*s%.*s:", indent + (int)(2 * depth++), "", (int)length, path);
        if (!path[length])
            break;
        put(check_random(8) == 1 ? "  # of a section\n" : "\n");
    }
    put(" ");
}

static void put_keys(int indent)
{
    char path[CONFIG_PATH], before[CONFIG_PATH] = "";
    int lr = check_random(2) == 1;
    uint64_t skip;
    uint32_t i;

    made.nested = check_random(4) == 1;
    skip = check_random(16);
    for (i = 0; i < CONFIG_KEYS; i++) {
        const struct config_key *key = &config_table[i];
        const int base =
            strcmp(key->path, "OPTIMIZER.base_optimizer.name") == 0;
        const int name = strcmp(key->path, "OPTIMIZER.name") == 0;

        if (strncmp(key->path, LR ".", sizeof LR) == 0) {
            if (lr) {
                put_key(LR, before, indent);
                put_schedule();
                put("\n");
            }
            memcpy(before, LR, sizeof LR);
            lr = 0;
            continue;
        }
        if (made.nested ? !name && !base && skip-- > 0 : base || skip-- > 0)
            continue;
        skip = check_random(16);
        write_path(key, path);
        put_key(path, before, indent);
        memcpy(before, path, sizeof before);
        if (name && made.nested)
            put("zero");
        else if (name)
            put(check_random(2) ? "adamw" : "sgd");
        else
            put_value(key);
        put("\n");
    }
}

/* Line ends of another system. */
static void put_line_ends(void)
{
    size_t i;

    for (i = 0; i < made.size; i++)
        if (made.text[i] == '\n') {
            CHECK(made.size < ROOM);
            memmove(made.text + i + 1, made.text + i, made.size++ - i);
            made.text[i++] = '\r';
        }
}

static void make_text(void)
{
    const uint64_t how = check_random(16);
    const int below = how >= 3 && how < 6;
    uint64_t changes;

    memset(&made, 0, sizeof made);
    if (how == 1)
        put("\xef\xbb\xbf");
    if (how == 2)
        put("%%YAML 1.1\n---\n");
    if (below)
        put("config:\n");
    put_keys(below ? 2 : 0);
    if (below && made.text[made.size - 2] == ':')
        made.odd = 1; /* nothing came after it */
    if (how == 7)
        put("...\n");
    if (how == 8)
        put_line_ends();
    if (how == 9) { /* a comment: longer than a text may be, or not */
        made.odd = 1;
        put("#");
        put_often('#', check_random(1 << 18));
    }
    if (how == 10) {
        made.odd = 1;
        put("SEED_VALUE: ");
        put_often('[', check_random(1 << 12));
    }
    changes = how >= 14 ? 1 + check_random(3) : 0;
    for (; changes > 0; changes--) {
        made.odd = 1;
        change(made.text, &made.size);
    }
}

/* --- What is asked -------------------------------------------------------- */

static struct trainer_config config;

/* Of a text, by any break that YAML knows; and one for the end. */
static unsigned long lines_of(const char *text, size_t size)
{
    unsigned long lines = 2;
    size_t i;

    for (i = 0; i < size; i++)
        lines += memchr("\n\r\x85\xa8\xa9", text[i], 5) != NULL;
    return lines;
}

/* NAME:LINE: and words, all in one line; the line is one of the text's. Of an
   argument, and of what several keys must be together, there may be none: lines
   is 0. */
static void check_error(const char *name, unsigned long lines)
{
    const char *at = config.error + strlen(name);
    unsigned long line;
    char *end;
    size_t i;

    for (i = 0; config.error[i]; i++)
        CHECK(config.error[i] >= ' ' && config.error[i] <= '~');
    CHECK(i < CONFIG_ERROR - 1);
    CHECK(strncmp(config.error, name, strlen(name)) == 0 && *at == ':');
    if (lines != 0 || (at[1] >= '0' && at[1] <= '9')) {
        line = strtoul(at + 1, &end, 10);
        CHECK(line >= 1 && (lines == 0 || line <= lines) && *end == ':');
        at = end;
    }
    CHECK(at[1] == ' ' && strlen(at) > 5);
}

static int went(bool good, const char *name, unsigned long lines)
{
    if (!good)
        check_error(name, lines);
    return good;
}

/* An item is what the table says. */
static void check_item(const struct config_key *key, const char *item)
{
    double real;
    int64_t integer;

    if (key->kind == IS_text || key->kind == IS_texts) {
        CHECK(in_range(key, (double)strlen(item)));
        return;
    }
    memcpy(&integer, item, 8);
    memcpy(&real, item, 8);
    if (key->kind == IS_whole)
        real = (double)integer;
    if (range_of(key).there)
        CHECK(in_range(key, real) ||
              (words_of(key) > 0 && real == strtod(key->allowed, NULL)));
    else
        CHECK(real >= 0 && real < (double)words_of(key));
}

static void check_table(void)
{
    uint32_t i;
    uint64_t item, count;

    for (i = 0; i < CONFIG_KEYS; i++) {
        const struct config_key *key = &config_table[i];
        const char *field = (const char *)&config + key->offset;

        if (key->kind < IS_reals) {
            check_item(key, field);
            continue;
        }
        memcpy(&count, field, sizeof count);
        CHECK(count <= CONFIG_FILES);
        field += sizeof count;
        for (item = 0; item < count; item++)
            check_item(key, field + item * (key->size - sizeof count) /
                                        CONFIG_FILES);
    }
}

/* What was written is what is there. */
static void check_known(void)
{
    uint32_t i;

    for (i = 0; i < made.known; i++) {
        const struct config_key *key = made.keys[i].key;

        CHECK(memcmp((const char *)&config + key->offset, made.keys[i].value,
                     8) == 0);
    }
}

/* Any bytes, or a text that was made: which must be taken where it is not
   odd. */
static int read_text(void)
{
    const int raw = check_random(16) == 0;
    char *text;
    size_t size;
    int good;

    if (raw) {
        text = (char *)fuzz_rest(&size);
        made.odd = 1;
    } else {
        make_text();
        size = made.size;
        text = (char *)malloc(size + !size); /* one byte past it is a crash */
        CHECK(text != NULL);
        memcpy(text, made.text, size);
    }
    good = went(config_read_text(&config, "text", text, size), "text",
                lines_of(text, size));
    if (!good && !made.odd)
        printf("%.*s\n%s\n", (int)size, text, config.error);
    CHECK(good || made.odd);
    if (good && !made.odd)
        check_known();
    free(text);
    return good;
}

/* One more key, by an argument. */
static int override(void)
{
    const struct config_key *key = &config_table[check_random(CONFIG_KEYS)];
    char path[CONFIG_PATH];

    write_path(key, path);
    memset(&made, 0, sizeof made);
    if (check_random(4) == 1) {
        put(LR "=");
        put_schedule();
    } else {
        put("%s=", path);
        put_value(key);
    }
    if (check_random(8) == 1) {
        made.odd = 1;
        change(made.text, &made.size);
    }
    made.text[made.size] = 0;
    made.odd |= strchr(made.text, '#') != NULL; /* may begin a comment */
    if (!went(config_override(&config, made.text), "command line", 0)) {
        CHECK(made.odd);
        return 0;
    }
    if (!made.odd)
        check_known();
    return 1;
}

static void fuzz(void)
{
    static const int64_t processes[] = {0, 0, 0, 1, 5000, INT64_MAX};
    uint64_t overrides;
    int64_t now;
    bool good;

    config = config_defaults;
    if (!read_text())
        return;
    fuzz_came_to("read");
    overrides = check_random(3);
    for (; overrides > 0; overrides--)
        if (!override())
            return;
    now = processes[check_random(6)];
    check_table();
    good = config_check(&config, now);
    if (!went(good,
              strncmp(config.error, "text", 4) == 0 ? "text" : "command line",
              0))
        return;
    fuzz_came_to("taken");
    check_table();
    check_round_trip(&config);
}

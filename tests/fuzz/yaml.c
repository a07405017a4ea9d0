/* yaml.c - texts that the trainer is told its run by: any bytes; or keys of the
   table with values of their kind, most often changed in no place. Refused in
   one sentence that says where, with nothing changed, or what is printed and
   read back to the same. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */

#include "fuzz.h"
#include "../trainer/config_texts.h"
#include "../../examples/trainer/config.h"

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

static const char *put_word(const char *words, int64_t number)
{
    const int quoted = check_random(4) == 1;

    for (; number > 0; words++) /* ends: there are more words than that */
        number -= *words == '|';
    put(quoted ? "\"%.*s\"" : "%.*s", (int)strcspn(words, "|"), words);
    return words;
}

/* Outside of what the key takes, or at its edge. */
static void put_odd_number(const struct config_key *key)
{
    const double numbers[] = {
        key->low, key->low - 1, key->low - 0.5, key->high + 1, -1, 0.5, -0.0,
        1e18, 1e300, 4e-324, NAN, -HUGE_VAL
    };

    made.odd = 1;
    put("%.17g", numbers[check_random(sizeof numbers / sizeof *numbers)]);
}

/* What the key takes: its default most often, as other keys go with that. */
static double any_number(const struct config_key *key)
{
    const uint64_t how = check_random(16);

    if (how < 12 && key->most == 0)
        return strtod(key->standard ? key->standard : "1", NULL);
    if (how == 12 && (key->flags & KEY_BELOW_HIGH) == 0)
        return key->high;
    if (how == 13 && (key->flags & KEY_MINUS_ONE) != 0)
        return -1;
    if (key->type == TYPE_INTEGER)
        return key->low + (double)check_random(8);
    if (how == 14 || (key->flags & KEY_ABOVE_LOW) != 0)
        return key->low + (key->high - key->low) /
                              (double)(2 + check_random((uint64_t)1 << 32));
    return key->low;
}

static void put_number(const struct config_key *key, char value[8])
{
    double real = any_number(key);
    int64_t integer;

    if (key->type == TYPE_INTEGER) {
        integer = (int64_t)real;
        memcpy(value, &integer, 8);
        put(check_random(4) == 1 && integer >= 0 ? "+%" PRId64 : "%" PRId64,
            integer);
        return;
    }
    if (key->words && (check_random(8) == 1 ||
                       strcmp(key->standard, key->words) == 0)) {
        real = config_word_value(key->words);
        put("%s", key->words);
    } else {
        put(check_random(2) ? "%.17g" : "%.17E", real);
    }
    memcpy(value, &real, 8);
}

static void put_text(void)
{
    static const char *const texts[] = {
        "text", "a b", "'it''s'", "\"a\\\"b\\\\\"", "\"\\u00e4\"",
        "\xc3\xa4\xf0\x9f\x98\x80", "\"12\"", "'True'", "~/text", "\"#\"",
        "a:b", "\"a\\\n      b\""
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
    static const char *const bools[] = {"True", "true", "TRUE", "False",
                                        "false", "FALSE"};
    char value[8] = "";
    int64_t word = 0;

    if ((key->type == TYPE_INTEGER || key->type == TYPE_REAL) &&
        check_random(64) == 1) {
        put_odd_number(key);
        return;
    }
    switch (key->type) {
    case TYPE_BOOL:
        word = (int64_t)check_random(6);
        put("%s", bools[word]);
        value[0] = word < 3;
        break;
    case TYPE_WORD:
        for (const char *c = key->words; *c; c++)
            word += *c == '|';
        word = (int64_t)check_random((uint64_t)word + 1);
        put_word(key->words, word);
        memcpy(value, &word, 8);
        break;
    case TYPE_TEXT:
        if ((key->flags & KEY_EMPTY) != 0) /* two that exclude each other */
            put("\"\"");
        else
            put_text();
        return;
    default:
        put_number(key, value);
    }
    if (key->most == 0 && made.known < CONFIG_KEYS) {
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
    if (key->most == 0)
        put_scalar(key);
    else if (check_random(4) == 1)
        put_list(key, key->most);
    else
        put_list(key, key->least +
                          check_random(key->most - key->least + 1) % 3);
}

/* --- Schedules ------------------------------------------------------------ */

/* The keys that a form needs; before the first of them the bracket is open. */
static void put_curve_keys(int64_t form)
{
    const struct config_key *table = config_key_table;
    const char *before = "";
    const uint64_t rates = 1 + check_random(4);
    uint64_t i;
    uint32_t k;

    for (k = 0; k < config_key_count; k++) {
        const char *name = strrchr(table[k].path, '.');

        if (!config_is_of_curve(&table[k]) || !config_is_used(&table[k], form))
            continue;
        put("%s%s: ", before, ++name);
        before = ", ";
        if (strcmp(name, "name") == 0) {
            put_word("constant|cosine|linear|multistep|step|composite", form);
        } else if (strcmp(name, "milestones") == 0) {
            for (i = 1; i < rates; i++)
                put("%s%" PRIu64, i > 1 ? ", " : "[", i);
            put(rates > 1 ? "]" : "[]");
        } else if (table[k].most > 0) {
            put_list(&table[k], rates);
        } else {
            put_scalar(&table[k]);
        }
    }
    made.known = 0; /* those of a part are elsewhere */
}

static void put_schedule(void)
{
    const uint64_t form = check_random(6);
    const uint64_t count = 1 + check_random(CONFIG_SCHEDULES);
    const int fixed = check_random(2) == 1;
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
        for (i = 0; i < count && fixed; i++)
            put("%s", i ? ", fixed" : "], interval_scaling: [rescaled");
        put("]");
    }
    put("}");
}

/* --- Texts ---------------------------------------------------------------- */

/* The path as it may be written where OPTIMIZER.name is zero. */
static void write_path(const struct config_key *key, char path[CONFIG_PATH])
{
    if (made.nested && config_is_nested(key))
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
    for (i = 0; i < config_key_count; i++) {
        const struct config_key *key = &config_key_table[i];
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
        if (made.nested ? !name && !base && skip-- > 0
                        : base || skip-- > 0)
            continue;
        skip = check_random(16);
        write_path(key, path);
        put_key(path, before, indent);
        memcpy(before, path, sizeof before);
        if (name)
            put(made.nested ? "zero" : check_random(2) ? "adamw" : "sgd");
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

static struct trainer_config config, before;
static struct config_source source, place;

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
    const char *at = source.error + strlen(name);
    unsigned long line;
    char *end;
    size_t i;

    for (i = 0; source.error[i]; i++)
        CHECK(source.error[i] >= ' ' && source.error[i] <= '~');
    CHECK(i < CONFIG_ERROR - 1);
    CHECK(strncmp(source.error, name, strlen(name)) == 0 && *at == ':');
    if (lines != 0 || (at[1] >= '0' && at[1] <= '9')) {
        line = strtoul(at + 1, &end, 10);
        CHECK(line >= 1 && (lines == 0 || line <= lines) && *end == ':');
        at = end;
    }
    CHECK(at[1] == ' ' && strlen(at) > 5);
}

/* Whether a call went well; otherwise nothing but the error has changed. */
static int went(bool good, const char *name, unsigned long lines)
{
    if (!good) {
        CHECK(memcmp(&config, &before, sizeof config) == 0);
        CHECK(memcmp(source.places, place.places, sizeof place.places) == 0 &&
              memcmp(source.file, place.file, sizeof place.file) == 0);
        check_error(name, lines);
    }
    memcpy(&before, &config, sizeof before);
    memcpy(&place, &source, sizeof place);
    return good;
}

static int in_range(const struct config_key *key, double value)
{
    return (value == -1 && (key->flags & KEY_MINUS_ONE) != 0) ||
           (value >= key->low && value <= key->high &&
            (value > key->low || (key->flags & KEY_ABOVE_LOW) == 0) &&
            (value < key->high || (key->flags & KEY_BELOW_HIGH) == 0));
}

/* An item is what the table says. */
static void check_item(const struct config_key *key, const char *item)
{
    const char *word;
    double real = 0;
    int64_t integer = 0;

    memcpy(&integer, item, key->type == TYPE_BOOL ? 1 : 8);
    switch (key->type) {
    case TYPE_BOOL:
        CHECK(item[0] == 0 || item[0] == 1);
        return;
    case TYPE_TEXT:
        CHECK((item[0] != 0 || (key->flags & KEY_EMPTY) != 0) &&
              strlen(item) < CONFIG_STRING);
        return;
    case TYPE_WORD:
        for (word = key->words; *word; word++)
            integer -= *word == '|';
        CHECK(integer <= 0);
        return;
    case TYPE_INTEGER:
        CHECK(in_range(key, (double)integer));
        return;
    case TYPE_REAL:
        memcpy(&real, item, 8);
        CHECK((key->words && real == config_word_value(key->words)) ||
              in_range(key, real));
        return;
    case TYPE_CURVES: /* those that are used are printed and read back */
        return;
    }
}

static void check_table(void)
{
    uint32_t i, item, count;

    for (i = 0; i < config_key_count; i++) {
        const struct config_key *key = &config_key_table[i];
        const char *field = (const char *)&config + key->offset;

        count = 1;
        if (key->most > 0) {
            memcpy(&count, field, sizeof count);
            CHECK(count >= key->least && count <= key->most);
        }
        for (item = 0; item < count; item++)
            check_item(key, field + (key->most > 0 ? config_item_at(key, item)
                                                   : 0));
    }
}

/* What was written is what is there. */
static void check_known(void)
{
    uint32_t i;

    for (i = 0; i < made.known; i++) {
        const struct config_key *key = made.keys[i].key;

        CHECK(memcmp((const char *)&config + key->offset, made.keys[i].value,
                     key->type == TYPE_BOOL ? 1 : 8) == 0);
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
    good = went(config_read_text(&config, &source, "text", text, size),
                "text", lines_of(text, size));
    if (!good && !made.odd)
        printf("%.*s\n%s\n", (int)size, text, source.error);
    CHECK(good || made.odd);
    if (good && !made.odd)
        check_known();
    free(text);
    return good;
}

/* One more key, by an argument. */
static int override(void)
{
    const struct config_key *key =
        &config_key_table[check_random(config_key_count)];
    char path[CONFIG_PATH];

    write_path(key, path);
    memset(&made, 0, sizeof made);
    if (check_random(4) == 1) {
        put(LR "=");
        put_schedule();
    } else {
        put("%s=", path);
        if (key->type == TYPE_CURVES)
            put("[]");
        else
            put_value(key);
    }
    if (check_random(8) == 1) {
        made.odd = 1;
        change(made.text, &made.size);
    }
    made.text[made.size] = 0;
    made.odd |= strchr(made.text, '#') != NULL; /* may begin a comment */
    if (!went(config_override(&config, &source, made.text), "command line",
              0)) {
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
    static struct trainer_config defaults;
    uint64_t overrides;
    int64_t now;
    bool good;

    if (defaults.log_frequency == 0)
        CHECK(config_defaults(&defaults, &source));
    memcpy(&config, &defaults, sizeof config);
    memcpy(&before, &defaults, sizeof config);
    memset(&source, 0, sizeof source);
    memset(&place, 0, sizeof place);
    if (!read_text())
        return;
    fuzz_came_to("read");
    overrides = check_random(3);
    for (; overrides > 0; overrides--)
        if (!override())
            return;
    now = processes[check_random(6)];
    check_table();
    good = config_check(&config, &source, now);
    if (!went(good, strncmp(source.error, "text", 4) == 0 ? "text"
                                                          : "command line", 0))
        return;
    fuzz_came_to("taken");
    check_table();
    check_round_trip(&config);
}

/* config_print.c - what the table says, for people: --keys, KEYS.md, and
   --print-config, whose YAML reads back to the same. */
#include "config_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Numbers -------------------------------------------------------------- */

/* The fewest digits that read back to the same; 17 always do. */
static void format_real(char *out, size_t size, double value)
{
    int digits;

    if (isinf(value)) {
        snprintf(out, size, "inf");
        return;
    }
    for (digits = 6; digits <= 17; digits++) {
        snprintf(out, size, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            break;
    }
}

/* --- What a value must be ------------------------------------------------- */

static void add(char *out, size_t size, const char *text)
{
    size_t used = strlen(out);

    snprintf(out + used, size - used, "%s", text);
}

/* The words of a key, as `sgd, adamw, zero`. */
static void add_words(char *out, size_t size, const char *words)
{
    size_t used = strlen(out);

    for (; *words != 0 && used + 3 < size; words++) {
        out[used++] = *words == '|' ? ',' : *words;
        if (*words == '|')
            out[used++] = ' ';
    }
    out[used] = 0;
}

/* All bounds are whole numbers, also those of fractions. */
static void add_range(char *out, size_t size, const struct config_key *key)
{
    bool above = (key->flags & KEY_ABOVE_LOW) != 0;
    bool below = (key->flags & KEY_BELOW_HIGH) != 0;
    char text[160];

    snprintf(text, sizeof text, "%s%s %s %.0f %s %.0f",
             (key->flags & KEY_MINUS_ONE) != 0 ? "-1 or " : "",
             key->type == TYPE_INTEGER ? "a whole number" : "a number",
             above ? "above" : "from", key->low,
             below ? "to below" : above ? "and up to" : "to", key->high);
    add(out, size, text);
}

/* How many items a list has, before what each of them must be. */
static void add_count(char *out, size_t size, const struct config_key *key)
{
    unsigned long least = key->least, most = key->most;
    char text[64] = "";

    if (most > 0 && least == most)
        snprintf(text, sizeof text, "a list of %lu, each ", most);
    else if (most > 0 && least > 0)
        snprintf(text, sizeof text, "a list of %lu to %lu, each ", least,
                 most);
    else if (most > 0)
        snprintf(text, sizeof text, "a list of up to %lu, each ", most);
    add(out, size, text);
}

void config_describe(const struct config_key *key, char *out, size_t size)
{
    char text[128];

    out[0] = 0;
    add_count(out, size, key);
    switch (key->type) {
    case TYPE_BOOL:
        add(out, size, "True or False");
        break;
    case TYPE_WORD:
        add(out, size, strchr(key->words, '|') ? "one of " : "");
        add_words(out, size, key->words);
        break;
    case TYPE_TEXT:
        snprintf(text, sizeof text, "printable text of 1 to %d bytes, in "
                 "quotes if it is like a number or True", CONFIG_STRING - 1);
        add(out, size, text);
        break;
    case TYPE_CURVES:
        add(out, size, "a schedule");
        break;
    default:
        if (key->words != NULL) {
            add_words(out, size, key->words);
            add(out, size, " or ");
        }
        add_range(out, size, key);
    }
}

/* --- Values --------------------------------------------------------------- */

static void print_value(const struct config_key *key, const void *base,
                        FILE *to);

static void print_text(const char *text, FILE *to)
{
    fputc('"', to);
    for (; *text != 0; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', to);
        fputc(*text, to);
    }
    fputc('"', to);
}

static void print_word(const char *words, int64_t number, FILE *to)
{
    for (; number > 0 && *words != 0; words++)
        number -= *words == '|';
    while (*words != 0 && *words != '|')
        fputc(*words++, to);
}

/* A part of a composite schedule: the keys that its form needs. */
static void print_curve(const struct config_curve *curve, FILE *to)
{
    uint32_t i;

    fputc('{', to);
    for (i = 0; i < config_curve_count; i++) {
        const struct config_key *key = &config_curve_table[i];

        if (config_curve_needs(curve->name, key->path)) {
            fprintf(to, "%s%s: ", i > 0 ? ", " : "", key->path);
            print_value(key, curve, to);
        }
    }
    fputc('}', to);
}

static void print_item(const struct config_key *key, const char *item,
                       FILE *to)
{
    char text[64];
    double real;
    int64_t integer;

    switch (key->type) {
    case TYPE_BOOL:
        fputs(*(const bool *)(const void *)item ? "True" : "False", to);
        break;
    case TYPE_INTEGER:
        memcpy(&integer, item, sizeof integer);
        fprintf(to, "%lld", (long long)integer);
        break;
    case TYPE_WORD:
        memcpy(&integer, item, sizeof integer);
        print_word(key->words, integer, to);
        break;
    case TYPE_REAL:
        memcpy(&real, item, sizeof real);
        format_real(text, sizeof text, real);
        fputs(key->words && real == config_word_value(key->words) ? key->words
                                                                  : text, to);
        break;
    case TYPE_TEXT:
        print_text(item, to);
        break;
    case TYPE_CURVES:
        print_curve((const struct config_curve *)(const void *)item, to);
    }
}

/* The value of a key in the struct that base points to. */
static void print_value(const struct config_key *key, const void *base,
                        FILE *to)
{
    const char *field = (const char *)base + key->offset;
    uint32_t count, i;

    if (key->most == 0) {
        print_item(key, field, to);
        return;
    }
    memcpy(&count, field, sizeof count);
    fputc('[', to);
    for (i = 0; i < count; i++) {
        fputs(i > 0 ? ", " : "", to);
        print_item(key, field + config_items_offset(key) +
                   i * config_item_size(key), to);
    }
    fputc(']', to);
}

void config_print_key(const struct trainer_config *config, const char *path,
                      FILE *to)
{
    print_value(&config_key_table[config_key_number(path)], config, to);
}

/* --- The whole configuration ---------------------------------------------- */

/* Prints the sections of a path that the path before it was not in, and its
   last name. */
static void print_sections(const char *path, const char *before, FILE *to)
{
    size_t same = 0, depth = 0, i;

    for (i = 0; path[i] != 0 && path[i] == before[i]; i++) {
        if (path[i] == '.') {
            same = i + 1;
            depth++;
        }
    }
    path += same;
    for (;;) {
        size_t length = strcspn(path, ".");

        fprintf(to, "%*s%.*s:", (int)(2 * depth), "", (int)length, path);
        if (path[length] == 0) {
            return; /* The last name; each turn takes one, so it comes. */
        }
        fputc('\n', to);
        path += length + 1;
        depth++;
    }
}

void config_print(const struct trainer_config *config, FILE *to)
{
    bool zero = config->optimizer.name == CONFIG_ZERO;
    char path[256], before[256] = "";
    uint32_t i;

    for (i = 0; i < config_key_count; i++) {
        const struct config_key *key = &config_key_table[i];

        if (strcmp(key->path, "OPTIMIZER.base_optimizer.name") == 0 && !zero)
            continue;
        config_written_path(key, zero, path, sizeof path);
        print_sections(path, before, to);
        fputc(' ', to);
        print_value(key, config, to);
        fputc('\n', to);
        memcpy(before, path, sizeof before);
    }
}

/* --- The table of keys ---------------------------------------------------- */

void config_keys(FILE *to)
{
    char range[256];
    uint32_t i;

    fputs("# Keys of the trainer's configuration\n\n"
          "The names and defaults are VISSL's, where it has such a key. "
          "Where OPTIMIZER.name is\n"
          "zero, use_larc to betas stand below OPTIMIZER.base_optimizer.\n\n"
          "| key | default | must be | meaning |\n|---|---|---|---|\n", to);
    for (i = 0; i < config_key_count; i++) {
        const struct config_key *key = &config_key_table[i];

        config_describe(key, range, sizeof range);
        fprintf(to, "| %s | `%s` | %s | %s |\n", key->path, key->standard,
                range, key->meaning);
    }
}

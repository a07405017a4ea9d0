/* config_print.c - prints the table for people (--keys, KEYS.md), and a
   configuration as YAML that reads back to the same (--print-config). */
#include "config_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- Allowed values ------------------------------------------------------- */

enum { WORDS = 160 }; /* bytes; longer than the words of any key */

/* The words of a key, as `sgd, adamw, zero`. */
static void list_words(char out[WORDS], const char *words)
{
    size_t used = 0;

    for (; *words != 0 && used + 3 < WORDS; words++) {
        out[used++] = *words == '|' ? ',' : *words;
        if (*words == '|')
            out[used++] = ' ';
    }
    out[used] = 0;
}

/* All bounds are whole numbers, also for reals. */
static void describe_number(const struct config_key *key, char out[2 * WORDS])
{
    const bool above = (key->flags & KEY_ABOVE_LOW) != 0;
    const bool below = (key->flags & KEY_BELOW_HIGH) != 0;

    snprintf(out, 2 * WORDS, "%s%s%s%s %s %.0f %s %.0f",
             key->words != NULL ? key->words : "",
             key->words != NULL ? " or " : "",
             (key->flags & KEY_MINUS_ONE) != 0 ? "-1 or " : "",
             key->type == TYPE_INTEGER ? "a whole number" : "a number",
             above ? "above" : "from", key->low,
             below ? "to below" : above ? "and up to" : "to", key->high);
}

void config_describe(const struct config_key *key, char *out, size_t size)
{
    char count[64] = "", words[WORDS], what[2 * WORDS];

    if (key->most > 0 && key->least == key->most)
        snprintf(count, sizeof count, "a list of %u, each ", key->most);
    else if (key->most > 0 && key->least > 0)
        snprintf(count, sizeof count, "a list of %u to %u, each ", key->least,
                 key->most);
    else if (key->most > 0)
        snprintf(count, sizeof count, "a list of up to %u, each ", key->most);
    switch (key->type) {
    case TYPE_BOOL:
        strcpy(what, "True or False");
        break;
    case TYPE_WORD:
        list_words(words, key->words);
        snprintf(what, sizeof what, "%s%s",
                 strchr(key->words, '|') ? "one of " : "", words);
        break;
    case TYPE_TEXT:
        snprintf(what, sizeof what, "printable text of 1 to %d bytes, quoted "
                 "if it looks like a number or True", CONFIG_STRING - 1);
        break;
    case TYPE_CURVES:
        strcpy(what, "a schedule");
        break;
    default:
        describe_number(key, what);
    }
    snprintf(out, size, "%s%s", count, what);
}

/* --- Values --------------------------------------------------------------- */

static void print_value(const struct config_key *key, const void *base,
                        FILE *to);

/* Prints the fewest digits that read back to the same; 17 always do. */
static void print_real(double value, FILE *to)
{
    char text[64];
    int digits = 6;

    do
        snprintf(text, sizeof text, "%.*g", digits, value);
    while (strtod(text, NULL) != value && digits++ < 17);
    fputs(text, to);
}

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

/* A part of a composite schedule: the keys that its kind uses. */
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
    double real;
    int64_t integer;

    switch (key->type) {
    case TYPE_BOOL:
        fputs(*(const bool *)(const void *)item ? "True" : "False", to);
        break;
    case TYPE_INTEGER:
        memcpy(&integer, item, sizeof integer);
        fprintf(to, "%" PRId64, integer);
        break;
    case TYPE_WORD:
        memcpy(&integer, item, sizeof integer);
        print_word(key->words, integer, to);
        break;
    case TYPE_REAL:
        memcpy(&real, item, sizeof real);
        if (key->words && real == config_word_value(key->words))
            fputs(key->words, to);
        else
            print_real(real, to);
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
        print_item(key, field + config_item_at(key, i), to);
    }
    fputc(']', to);
}

void config_print_key(const struct trainer_config *config, const char *path,
                      FILE *to)
{
    print_value(&config_key_table[config_key_number(path)], config, to);
}

/* --- The whole configuration ---------------------------------------------- */

/* Prints the sections of a path that differ from the previous path, and its
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
            return; /* the last name */
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

        if ((strcmp(key->path, "OPTIMIZER.base_optimizer.name") == 0 &&
             !zero) || !config_is_used(key, config->optimizer.lr.curve.name))
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
          "Names and defaults are those of VISSL where it has the key. If "
          "OPTIMIZER.name is zero,\n"
          "the keys from use_larc to betas go below "
          "OPTIMIZER.base_optimizer.\n\n"
          "| key | default | must be | meaning |\n|---|---|---|---|\n", to);
    for (i = 0; i < config_key_count; i++) {
        const struct config_key *key = &config_key_table[i];

        config_describe(key, range, sizeof range);
        fprintf(to, "| %s | `%s` | %s | %s |\n", key->path, key->standard,
                range, key->meaning);
    }
}

/* config_keys.c - the table of all keys, and their values as text, in and
   out. */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TRAIN "DATA.TRAIN."
#define TEST "DATA.TEST."
#define AMP "MODEL.AMP_PARAMS."
#define RECOMPUTE "MODEL.ACTIVATION_CHECKPOINTING."
#define GPT "MODEL.TRUNK.GPT."
#define LR "OPTIMIZER.param_schedulers.lr."
#define SCALING LR "auto_lr_scaling."

#define BOOL "True or False"
#define WHOLE "a whole number in "
#define SMALL_COUNT WHOLE "[1, 1000000]"
#define COUNT WHOLE "[1, 1099511627776]"
#define NUMBER "a number in "
#define RATES NUMBER "[0, 1000000]"
#define TEXT "printable text, quoted if it looks like a number or True, with " \
    "a length in "

#define SIZE(field) sizeof ((struct trainer_config *)0)->field
#define KEY(kind, field, path, allowed, same, meaning, ...) \
    {IS_##kind, offsetof(struct trainer_config, field), SIZE(field), path, \
     allowed, CONFIG_##same, meaning},
const struct config_key config_table[CONFIG_KEYS] = {
#include "config_keys.h"
};

#define KEY(kind, field, path, allowed, same, meaning, ...) \
    .field = __VA_ARGS__,
static const struct trainer_config defaults = {
#include "config_keys.h"
};

uint32_t config_key_number(const char *path)
{
    uint32_t i = 0;

    while (i < CONFIG_KEYS && strcmp(config_table[i].path, path) != 0)
        i++;
    return i;
}

bool config_is_used(const struct trainer_config *c, uint32_t key)
{
    static const int users[CURVE_KEYS] = {
        ~0, 1 << CONFIG_CONSTANT, 1 << CONFIG_COSINE | 1 << CONFIG_LINEAR,
        1 << CONFIG_COSINE | 1 << CONFIG_LINEAR,
        1 << CONFIG_MULTISTEP | 1 << CONFIG_STEPS, 1 << CONFIG_MULTISTEP
    };
    const bool composite = c->curve[0].name == CONFIG_COMPOSITE;
    const uint64_t part = (key - CONFIG_curve0) / CURVE_KEYS;

    if (key == CONFIG_lengths || key == CONFIG_interval_scaling)
        return composite;
    if (key < CONFIG_curve0 || key > CONFIG_end8)
        return key != CONFIG_algorithm || c->optimizer == CONFIG_ZERO;
    return (part == 0 || (composite && part <= c->lengths.count)) &&
           users[(key - CONFIG_curve0) % CURVE_KEYS] >> c->curve[part].name & 1;
}

void config_reset(struct trainer_config *config, uint32_t key)
{
    memcpy((char *)config + config_table[key].offset,
           (const char *)&defaults + config_table[key].offset,
           config_table[key].size);
}

void config_defaults(struct trainer_config *config)
{
    memcpy(config, &defaults, sizeof *config); /* and its padding */
}

/* ---- Values ---- */

static const char *range_of(const struct config_key *key)
{
    return strpbrk(key->allowed, "[(");
}

/* The index of a word among those allowed, or -1. */
static int find_word(const char *allowed, const char *text)
{
    const size_t length = strlen(text);
    int number;

    for (number = 0;; number++) { /* ends: a word less */
        if (strncmp(allowed, text, length) == 0 &&
            (!allowed[length] || strncmp(allowed + length, " or ", 4) == 0))
            return number;
        allowed = strstr(allowed, " or ");
        if (!allowed)
            return -1;
        allowed += strlen(" or ");
    }
}

/* Parses a number that YAML and C agree on: decimal, not 010 (which some
   parsers read as 8), with a dot or exponent only if real, within a double's
   range. */
static bool to_number(const char *text, bool real, double *out)
{
    const char *digits = text + (*text == '+' || *text == '-');
    char *end;

    if (text[strspn(text, real ? "+-.eE0123456789" : "+-0123456789")] != 0 ||
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

    return sscanf(range_of(key), "%c%lf, %lf%c", &begin, &low, &high, &end) ==
               4 &&
           (begin == '(' ? value > low : value >= low) &&
           (end == ')' ? value < high : value <= high);
}

/* Whether text, valid UTF-8, can be printed and, if plain, is not read as
   something else by YAML parsers. */
static bool is_text(const char *text, bool plain)
{
    static const char *const hidden[] = {
        "\xe2\x80\xa8", "\xe2\x80\xa9", /* line breaks */
        "\xef\xbb\xbf", "\xef\xbf\xbe", "\xef\xbf\xbf" /* no characters */
    };
    static const char *const others[] = {"",    "~",  "null", "true", "false",
                                         "yes", "no", "on",   "off"};
    const unsigned char *c;
    double number;
    size_t i;

    for (c = (const unsigned char *)text; *c; c++) /* control characters */
        if (*c < 32 || *c == 127 || (*c == 0xc2 && c[1] < 0xa0))
            return false;
    for (i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (strstr(text, hidden[i]))
            return false;
    for (i = 0; plain && i < sizeof others / sizeof *others; i++)
        if (strcasecmp(text, others[i]) == 0)
            return false;
    return !plain || !to_number(text, true, &number);
}

/* The offset of an item in a list, or in a field of one value. */
static size_t item_at(const struct config_key *key, uint64_t item)
{
    return key->kind < IS_reals
               ? 0
               : sizeof item + (size_t)item * (key->kind == IS_texts
                                                   ? sizeof(config_text)
                                                   : sizeof(double));
}

/* The number that a scalar is: the index of a word; or, where there is a range,
   what strtod makes of it, which is 0 for dynamic. */
static bool take_number(const struct config_key *key, const char *text,
                        bool plain, double *value)
{
    const bool one_word = !strchr(text, ' ') && (plain || *text != '-');
    const int word = one_word ? find_word(key->allowed, text) : -1;

    if (word >= 0 || !range_of(key)) {
        *value = range_of(key) ? strtod(text, NULL) : word;
        return word >= 0;
    }
    return plain && to_number(text, !strstr(key->allowed, WHOLE), value) &&
           is_in_range(key, *value);
}

bool config_take_scalar(const struct config_key *key, const char *text,
                        bool plain, void *field, uint64_t item)
{
    void *out = (char *)field + item_at(key, item);
    double value;

    if (key->kind == IS_bool) {
        *(bool *)out = strcasecmp(text, "true") == 0;
        return plain && (*(bool *)out || strcasecmp(text, "false") == 0);
    }
    if (key->kind == IS_text || key->kind == IS_texts) {
        snprintf(memset(out, 0, CONFIG_STRING), CONFIG_STRING, "%s", text);
        return is_in_range(key, (double)strlen(text)) && is_text(text, plain);
    }
    if (!take_number(key, text, plain, &value))
        return false;
    if (key->kind == IS_whole)
        *(int64_t *)out = (int64_t)value; /* exact */
    else
        *(double *)out = value;
    return true;
}

/* Prints a word, or as many digits as read back to the same. */
static void print_number(const struct config_key *key, double value, FILE *to)
{
    const char *word = key->allowed;
    char text[64];
    double i;

    for (i = 0; !range_of(key) && i < value; i++)
        word = strstr(word, " or ") + strlen(" or ");
    if (!range_of(key) ||
        (strstr(word, " or ") && strtod(word, NULL) == value)) {
        fprintf(to, "%.*s", (int)strcspn(word, " "), word);
        return;
    }
    snprintf(text, sizeof text, "%.15g", value);
    fprintf(to, strtod(text, NULL) == value ? "%.15g" : "%.17g", value);
}

static void print_item(const struct config_key *key, const void *item,
                       FILE *to)
{
    const char *c = item;

    if (key->kind == IS_bool) {
        fputs(*(const bool *)item ? "True" : "False", to);
    } else if (key->kind == IS_whole) {
        print_number(key, (double)*(const int64_t *)item, to);
    } else if (key->kind == IS_real || key->kind == IS_reals) {
        print_number(key, *(const double *)item, to);
    } else {
        for (fputc('"', to); *c; c++)
            fprintf(to, "%s%c", strchr("\"\\", *c) ? "\\" : "", *c);
        fputc('"', to);
    }
}

void config_print_key(const struct trainer_config *config, uint32_t number,
                      FILE *to)
{
    const struct config_key *key = &config_table[number];
    const char *field = (const char *)config + key->offset;
    const bool list = key->kind >= IS_reals;
    const uint64_t count = list ? *(const uint64_t *)(const void *)field : 1;
    uint64_t i;

    fputs(list ? "[" : "", to);
    for (i = 0; i < count; i++) {
        fputs(i > 0 ? ", " : "", to);
        print_item(key, field + item_at(key, i), to);
    }
    fputs(list ? "]" : "", to);
}

void config_print(const struct trainer_config *config, FILE *to)
{
    uint32_t i;

    for (i = 0; i < CONFIG_KEYS; i++) {
        if (!config_is_used(config, i))
            continue;
        fprintf(to, "%s: ", config_table[i].path);
        config_print_key(config, i, to);
        fputc('\n', to);
    }
}

void config_keys(FILE *to)
{
    uint32_t i;

    fputs("# Keys of the trainer's configuration\n\n"
          "Names and defaults are VISSL's where it has the key. Keys from "
          "use_larc to betas may\nalso be below OPTIMIZER.base_optimizer, if "
          "OPTIMIZER.name is zero. A composite\nschedule has lr.schedulers, a "
          "list of at most 8, each with keys from lr.name to\nlr.milestones. "
          "The parentheses of a range exclude, its brackets do not.\n\n"
          "| key | default | must be | meaning |\n|---|---|---|---|\n", to);
    for (i = 0; i < CONFIG_KEYS; i++) {
        const struct config_key *key = &config_table[i];

        if (i >= CONFIG_curve1 && i <= CONFIG_end8)
            continue;
        fprintf(to, "| %s | `", key->path);
        config_print_key(&defaults, i, to);
        fprintf(to, "` | %s%s | %s |\n",
                key->kind < IS_reals ? "" : "a list of at most 32, each ",
                key->allowed, key->meaning);
    }
}

/* ---- Comparing ---- */

/* The same run, by fewer keys. */
static void normalize(struct trainer_config *c)
{
    c->num_proc_per_node = c->world_size;
    c->num_nodes = 1;
    c->optimizer = c->algorithm;
    c->use_amp = c->half;
    c->opt_level = CONFIG_O1;
}

bool config_differ(const struct trainer_config *a,
                   const struct trainer_config *b, enum config_same least,
                   FILE *to)
{
    struct trainer_config was = *a, is = *b;
    uint32_t i;

    normalize(&was);
    normalize(&is);
    for (i = 0; i < CONFIG_KEYS; i++) {
        const struct config_key *key = &config_table[i];

        if (key->same < least ||
            memcmp((char *)&was + key->offset, (char *)&is + key->offset,
                   key->size) == 0)
            continue;
        fprintf(to, "%s is ", key->path);
        config_print_key(&was, i, to);
        fputs(", but this run's is ", to);
        config_print_key(&is, i, to);
        return true;
    }
    return false;
}

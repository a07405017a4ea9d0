/* config_scalar.c - one scalar of YAML as the value that a key wants: numbers
   in any locale, words, text. What is quoted is text and nothing else. */
#include "config_scalar.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool config_is_nothing(const struct config_node *node)
{
    return node->plain && (node->length == 0 || strcmp(node->text, "~") == 0 ||
                           strcmp(node->text, "null") == 0 ||
                           strcmp(node->text, "Null") == 0 ||
                           strcmp(node->text, "NULL") == 0);
}

static const char *skip_digits(const char *text)
{
    return text + strspn(text, "0123456789");
}

/* Whether this is a number as YAML and C agree on: decimal, no 010 (which some
   readers take for 8), and with dot or exponent only for a real. */
static bool is_number(const char *text, bool real)
{
    const char *digits, *after;
    size_t count;

    digits = text + (*text == '+' || *text == '-');
    after = skip_digits(digits);
    count = (size_t)(after - digits);
    if (count > 1 && digits[0] == '0') {
        return false;
    }
    if (real && *after == '.') {
        digits = after + 1;
        after = skip_digits(digits);
        count += (size_t)(after - digits);
    }
    if (count == 0) {
        return false;
    }
    if (real && (*after == 'e' || *after == 'E')) {
        after++;
        after += *after == '+' || *after == '-';
        digits = after;
        after = skip_digits(digits);
        if (after == digits) {
            return false;
        }
    }
    return *after == 0;
}

/* The number that a text of is_number stands for, also where the locale has a
   comma for the dot. Returns whether a double can hold it. */
static bool to_real(const char *text, double *out)
{
    const char *point = localeconv()->decimal_point;
    const char *dot = strchr(text, '.');
    size_t before = dot != NULL ? (size_t)(dot - text) : 0;
    char copy[128];

    if (strlen(text) + strlen(point) >= sizeof copy) {
        return false;
    }
    strcpy(copy, text);
    if (dot != NULL) {
        strcpy(copy + before, point);
        strcat(copy, dot + 1);
    }
    errno = 0;
    *out = strtod(copy, NULL);
    return errno == 0 || (isfinite(*out) && fabs(*out) >= 2.3e-308);
}

/* Whether a plain scalar is something else than text to YAML's readers. */
static bool reads_as_other(const struct config_node *node)
{
    static const char *const words[] = {"true", "false", "yes", "no", "on",
                                        "off"};
    size_t i, j;

    if (!node->plain) {
        return false;
    }
    for (i = 0; i < sizeof words / sizeof *words; i++) {
        for (j = 0; words[i][j] != 0; j++) {
            if ((node->text[j] | 32) != words[i][j]) {
                break;
            }
        }
        if (words[i][j] == 0 && node->text[j] == 0) {
            return true;
        }
    }
    return config_is_nothing(node) || is_number(node->text, true);
}

/* U+0080 to U+009F; U+2028, U+2029; U+FEFF; U+FFFE, U+FFFF. libyaml gave whole
   characters, and a 0 stands at the end. */
static bool is_hidden(const unsigned char *text)
{
    switch (text[0]) {
    case 0xc2:
        return text[1] < 0xa0;
    case 0xe2:
        return text[1] == 0x80 && (text[2] == 0xa8 || text[2] == 0xa9);
    case 0xef:
        return (text[1] == 0xbb && text[2] == 0xbf) ||
               (text[1] == 0xbf && text[2] >= 0xbe);
    default:
        return text[0] < 32 || text[0] == 127;
    }
}

/* Whether text can be printed in quotes and read back: no control characters
   and no line breaks, also those of Unicode, and no mark of byte order. */
static bool is_printable(const struct config_node *node)
{
    size_t i;

    for (i = 0; i < node->length; i++) {
        if (is_hidden((const unsigned char *)node->text + i)) {
            return false;
        }
    }
    return true;
}

/* The number of a word among those of a key, or -1. */
static int64_t find_word(const char *words, const struct config_node *node)
{
    int64_t number = 0;

    for (;;) {
        size_t length = strcspn(words, "|");

        if (length == node->length &&
            memcmp(words, node->text, length) == 0) {
            return number;
        }
        if (words[length] == 0) {
            return -1; /* It was the last word. */
        }
        words += length + 1;
        number++;
    }
}

static bool in_range(const struct config_key *key, double value)
{
    if ((key->flags & KEY_MINUS_ONE) != 0 && value == -1) {
        return true;
    }
    return ((key->flags & KEY_ABOVE_LOW) != 0 ? value > key->low
                                              : value >= key->low) &&
           ((key->flags & KEY_BELOW_HIGH) != 0 ? value < key->high
                                               : value <= key->high);
}

/* These return whether the node is what the key wants; they store it then. */
static bool take_bool(const struct config_node *node, char *out)
{
    bool value = strcmp(node->text, "True") == 0 ||
                 strcmp(node->text, "true") == 0 ||
                 strcmp(node->text, "TRUE") == 0;

    if (!node->plain ||
        (!value && strcmp(node->text, "False") != 0 &&
         strcmp(node->text, "false") != 0 &&
         strcmp(node->text, "FALSE") != 0)) {
        return false;
    }
    memcpy(out, &value, sizeof value);
    return true;
}

static bool take_number(const struct config_key *key,
                        const struct config_node *node, char *out)
{
    bool real = key->type == TYPE_REAL;
    double value;

    if (real && key->words != NULL && find_word(key->words, node) == 0) {
        value = config_word_value(key->words);
    } else if (!node->plain || !is_number(node->text, real) ||
               !to_real(node->text, &value) || !in_range(key, value)) {
        return false;
    }
    if (real) {
        value += 0.0; /* -0 becomes 0. */
        memcpy(out, &value, sizeof value);
    } else {
        /* Every range of whole numbers is one where a double is exact. */
        int64_t integer = (int64_t)value;

        memcpy(out, &integer, sizeof integer);
    }
    return true;
}

static bool take_text(const struct config_node *node, char *out)
{
    if (reads_as_other(node) || node->length == 0 ||
        node->length >= CONFIG_STRING || !is_printable(node)) {
        return false;
    }
    memset(out, 0, CONFIG_STRING);
    memcpy(out, node->text, node->length);
    return true;
}

bool config_take_scalar(const struct config_key *key,
                        const struct config_node *node, char *out)
{
    int64_t word;

    if (node->kind != NODE_SCALAR) {
        return false;
    }
    /* No value has a byte 0 in it, and all below may use strcmp. */
    if (strlen(node->text) != node->length) {
        return false;
    }
    switch (key->type) {
    case TYPE_BOOL:
        return take_bool(node, out);
    case TYPE_TEXT:
        return take_text(node, out);
    case TYPE_WORD:
        word = find_word(key->words, node);
        memcpy(out, &word, sizeof word);
        return word >= 0;
    default:
        return take_number(key, node, out);
    }
}

/* config_scalar.c - converts a YAML scalar to the value of a key: a number,
   word or text. Quoted scalars are text only. The locale is C, so that the
   decimal point is a dot. */
#include "config_table.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The index of a word among those of a key, or -1. */
static int64_t find_word(const char *words, const char *text)
{
    int64_t number = 0;

    for (;;) {
        size_t length = strcspn(words, "|");

        if (strlen(text) == length && memcmp(words, text, length) == 0)
            return number;
        if (words[length] == 0) {
            return -1; /* that was the last word */
        }
        words += length + 1;
        number++;
    }
}

bool config_is_nothing(const struct config_scalar *s)
{
    return s->plain && find_word("~|null|Null|NULL|", s->text) >= 0;
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
    *out = strtod(text, &end);
    return end != text && *end == 0 && errno == 0;
}

/* Whether YAML parsers read a plain scalar as something other than text. */
static bool reads_as_other(const struct config_scalar *s)
{
    char small[8] = "";
    double number;
    size_t i;

    for (i = 0; i < sizeof small - 1 && s->text[i] != 0; i++)
        small[i] = (char)tolower((unsigned char)s->text[i]);
    return s->plain &&
           (config_is_nothing(s) || to_number(s->text, true, &number) ||
            find_word("true|false|yes|no|on|off", small) >= 0);
}

/* Control characters and U+0080 to U+009F; U+2028, U+2029; U+FEFF; U+FFFE,
   U+FFFF. The text is valid UTF-8 that ends with a 0. */
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

/* Whether text can be printed in quotes and read back. */
static bool is_printable(const char *text)
{
    for (; *text != 0; text++)
        if (is_hidden((const unsigned char *)text))
            return false;
    return true;
}

static bool in_range(const struct config_key *key, double value)
{
    if ((key->flags & KEY_MINUS_ONE) != 0 && value == -1)
        return true;
    return ((key->flags & KEY_ABOVE_LOW) != 0 ? value > key->low
                                              : value >= key->low) &&
           ((key->flags & KEY_BELOW_HIGH) != 0 ? value < key->high
                                               : value <= key->high);
}

static bool take_number(const struct config_key *key,
                        const struct config_scalar *s, char *out)
{
    bool real = key->type == TYPE_REAL;
    double value;

    if (real && key->words != NULL && find_word(key->words, s->text) == 0) {
        value = config_word_value(key->words);
    } else if (!s->plain || !to_number(s->text, real, &value) ||
               !in_range(key, value)) {
        return false;
    }
    if (real) {
        value += 0.0; /* -0 becomes 0 */
        memcpy(out, &value, sizeof value);
    } else {
        /* Exact: all ranges of whole numbers are within 2^53. */
        int64_t integer = (int64_t)value;

        memcpy(out, &integer, sizeof integer);
    }
    return true;
}

bool config_take_scalar(const struct config_key *key,
                        const struct config_scalar *s, char *out)
{
    int64_t word;
    bool value;

    /* No value may contain a zero byte. */
    if (strlen(s->text) != s->length)
        return false;
    switch (key->type) {
    case TYPE_BOOL:
        word = find_word("True|true|TRUE|False|false|FALSE", s->text);
        value = word < 3;
        memcpy(out, &value, sizeof value);
        return s->plain && word >= 0;
    case TYPE_TEXT:
        if (reads_as_other(s) || s->length == 0 ||
            s->length >= CONFIG_STRING || !is_printable(s->text))
            return false;
        memset(out, 0, CONFIG_STRING);
        memcpy(out, s->text, s->length);
        return true;
    case TYPE_WORD:
        word = find_word(key->words, s->text);
        memcpy(out, &word, sizeof word);
        return word >= 0;
    default:
        return take_number(key, s, out);
    }
}

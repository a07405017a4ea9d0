/* config_texts.h - what is asked of any configuration that was taken, and texts
   that are changed in places: for test_config.c and for the fuzzer's harness.
   Who includes it has _POSIX_C_SOURCE, for open_memstream. */
#ifndef TESTS_TRAINER_CONFIG_TEXTS_H
#define TESTS_TRAINER_CONFIG_TEXTS_H

#include "../../../tests/check.h"
#include "../config.h"

/* What config_print prints; to be freed. */
static char *print_all(const struct trainer_config *config, size_t *size)
{
    char *text;
    FILE *to = open_memstream(&text, size);

    CHECK(to != NULL);
    config_print(config, to);
    CHECK(fclose(to) == 0);
    return text;
}

/* A configuration, printed, reads back to the same bytes, but those that say
   where it is from. */
static void check_round_trip(const struct trainer_config *config)
{
    static struct trainer_config again;
    char *first, *second;
    size_t first_size, second_size;
    bool read;

    again = config_defaults;
    first = print_all(config, &first_size);
    read = config_read_text(&again, "printed", first, first_size) &&
           config_check(&again, 0);
    if (!read) {
        printf("%s\n%s\n", first, again.error);
    }
    CHECK(read);
    second = print_all(&again, &second_size);
    CHECK(first_size == second_size && memcmp(first, second, first_size) == 0);
    CHECK(memcmp(config, &again, offsetof(struct trainer_config, file)) == 0);
    free(first);
    free(second);
}

/* Changes a text in one place; it becomes at most 60 bytes longer. */
static void change(char *text, size_t *size)
{
    /* Filled lines: clang-format would give each item one of its own. */
    /* clang-format off */
    static const char *const pieces[] = {
        "- ", ": ", "[", "]", "{", "}", "&a ", "*a", "!!x ", "\n---\n", "\"",
        "'", "|\n", "? ", "#", "\t", "\xff", "\xc3\xa4", "\xef\xbb\xbf", "~",
        "0", "-1", "1e-08", "1e999", "inf", "True", "zero", "composite",
        "\\x00", "\n  ", "%TAG ! x\n", "config:\n ", "\r", "\r\n", ".nan",
        "18446744073709551616", "\xe2\x80\xa8", "\xc2\x85", "\xed\xa0\x80"
    };
    /* clang-format on */
    size_t place = (size_t)check_random(*size + 1), length, from;
    char copy[60];
    const char *piece;

    switch (check_random(4)) {
    case 0: /* A byte. */
        if (place < *size) {
            text[place] = (char)check_random(256);
        }
        return;
    case 1: /* Something goes. */
        length = (size_t)check_random(20);
        length = length < *size - place ? length : *size - place;
        memmove(text + place, text + place + length, *size - place - length);
        *size -= length;
        return;
    case 2: /* A piece comes. */
        piece = pieces[check_random(sizeof pieces / sizeof *pieces)];
        length = strlen(piece);
        memmove(text + place + length, text + place, *size - place);
        memcpy(text + place, piece, length);
        *size += length;
        return;
    default: /* A part of the text comes a second time. */
        from = (size_t)check_random(*size + 1);
        length = (size_t)check_random(60);
        length = length < *size - from ? length : *size - from;
        memcpy(copy, text + from, length);
        memmove(text + place + length, text + place, *size - place);
        memcpy(text + place, copy, length);
        *size += length;
    }
}

#endif

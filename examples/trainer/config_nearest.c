/* config_nearest.c - suggests a key for an unknown one: the key whose last
   name, and then whose whole path, is the most similar. */
#include "config_table.h"

#include <ctype.h>
#include <string.h>

static int small(char c)
{
    return tolower((unsigned char)c);
}

/* The Levenshtein distance, ignoring case. Both are shorter than
   CONFIG_PATH. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[CONFIG_PATH], i, j;

    for (j = 0; j == 0 || b[j - 1] != 0; j++)
        row[j] = j;
    for (i = 0; a[i] != 0; i++) {
        unsigned diagonal = row[0];

        row[0] = i + 1;
        for (j = 0; b[j] != 0; j++) {
            unsigned best = diagonal + (small(a[i]) != small(b[j]));

            diagonal = row[j + 1];
            best = best < row[j] + 1 ? best : row[j] + 1;
            row[j + 1] = best < diagonal + 1 ? best : diagonal + 1;
        }
    }
    return row[strlen(b)];
}

/* The distance of two names; 1 if a is a prefix, as SEED of SEED_VALUE. */
static unsigned name_distance(const char *a, const char *b)
{
    size_t length = strlen(a), i;

    for (i = 0; i < length && small(a[i]) == small(b[i]); i++) {
        /* b may be shorter: its 0 differs from all letters of a. */
    }
    return i == length && i >= 3 && b[i] != 0 ? 1 : distance(a, b);
}

static const char *last_name(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot != NULL ? dot + 1 : path;
}

bool config_nearest(const char *path, const struct config_key *table,
                    uint32_t count, char out[CONFIG_PATH])
{
    const char *name = last_name(path);
    /* At most about a third of the letters may differ. */
    unsigned limit = (unsigned)strlen(name) / 3 + 1;
    unsigned least = limit * CONFIG_PATH;
    uint32_t i;

    out[0] = 0;
    for (i = 0; i < count; i++) {
        char candidate[CONFIG_PATH];
        char *dot;

        strcpy(candidate, table[i].path);
        /* The key, then its sections, shortest last. */
        do {
            unsigned far =
                name_distance(name, last_name(candidate)) * CONFIG_PATH;

            if (far < least && (far += distance(path, candidate)) < least) {
                least = far;
                strcpy(out, candidate);
            }
            dot = strrchr(candidate, '.');
            if (dot != NULL)
                *dot = 0;
        } while (dot != NULL);
    }
    return out[0] != 0;
}

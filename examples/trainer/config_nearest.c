/* config_nearest.c - which key somebody may have meant: the one whose last
   name takes the fewest changes, then whose whole path does. */
#include "config_table.h"

#include <ctype.h>
#include <string.h>

static int small(char c)
{
    return tolower((unsigned char)c);
}

/* How many letters must be put in, taken out or replaced (Levenshtein 1966);
   small and capital letters are the same. Both are shorter than CONFIG_PATH. */
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

/* How far apart two names are; SEED and SEED_VALUE are as near as can be. */
static unsigned name_distance(const char *a, const char *b)
{
    size_t length = strlen(a), i;

    for (i = 0; i < length && small(a[i]) == small(b[i]); i++) {
        /* strlen(b) may be less: its 0 is no letter of a. */
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
    /* At most a third of the letters are wrong. */
    unsigned limit = (unsigned)strlen(name) / 3 + 1;
    unsigned least = limit * CONFIG_PATH;
    uint32_t i;

    out[0] = 0;
    for (i = 0; i < count; i++) {
        char candidate[CONFIG_PATH];
        char *dot;

        strcpy(candidate, table[i].path);
        /* The key and its sections; each turn takes a name away. */
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

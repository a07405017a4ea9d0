/* config_print.c - configurations as text, and compared. */
#define _POSIX_C_SOURCE 200809L /* fmemopen */

#include "config.h"

#include <stdlib.h>
#include <string.h>

/* Prints a word, or as many digits as read back to the same. */
static void print_number(const struct config_key *key, double value, FILE *to)
{
    const bool has_range = strpbrk(key->allowed, "[(") != NULL;
    const char *word = key->allowed;
    char text[64];
    double i;

    if (!has_range)
        for (i = 0; i < value; i++)
            word = strstr(word, " or ") + strlen(" or ");
    if (!has_range || (strstr(word, " or ") && strtod(word, NULL) == value)) {
        fprintf(to, "%.*s", (int)strcspn(word, " "), word);
        return;
    }
    snprintf(text, sizeof text, "%.15g", value);
    if (strtod(text, NULL) != value)
        snprintf(text, sizeof text, "%.17g", value);
    fputs(text, to);
}

static void print_text(const char *text, FILE *to)
{
    fputc('"', to);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', to);
        fputc(*text, to);
    }
    fputc('"', to);
}

static void print_item(const struct config_key *key, const void *item, FILE *to)
{
    if (key->kind == IS_text || key->kind == IS_texts)
        print_text(item, to);
    else if (key->kind == IS_whole)
        print_number(key, (double)*(const int64_t *)item, to);
    else
        print_number(key, *(const double *)item, to);
}

void config_print_key(const struct trainer_config *config, uint32_t number,
                      FILE *to)
{
    const struct config_key *key = &config_table[number];
    const char *field = (const char *)config + key->offset;
    uint64_t count, i;

    if (key->kind < IS_reals) {
        print_item(key, field, to);
        return;
    }
    fputc('[', to);
    memcpy(&count, field, sizeof count);
    for (i = 0; i < count; i++) {
        fputs(i > 0 ? ", " : "", to);
        print_item(key, field + CONFIG_ITEM(key, i), to);
    }
    fputc(']', to);
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
          "| key | default | must be | meaning |\n|---|---|---|---|\n",
          to);
    for (i = 0; i < CONFIG_KEYS; i++) {
        const struct config_key *key = &config_table[i];

        if (i >= CONFIG_curve1 && i <= CONFIG_end8)
            continue;
        fprintf(to, "| %s | `", key->path);
        config_print_key(&config_defaults, i, to);
        fprintf(to, "` | %s%s | %s |\n",
                key->kind < IS_reals ? "" : "a list of at most 32, each ",
                key->allowed, key->meaning);
    }
}

bool config_differ(struct trainer_config *a, const struct trainer_config *b,
                   enum config_same least)
{
    struct trainer_config was = *a, is = *b;
    uint32_t i;
    FILE *to;

    was.num_nodes = is.num_nodes = 1; /* only the product matters */
    was.num_proc_per_node = a->world_size;
    is.num_proc_per_node = b->world_size;
    for (i = 0; i < CONFIG_KEYS; i++) {
        const struct config_key *key = &config_table[i];

        if (key->same < least ||
            memcmp((char *)&was + key->offset, (char *)&is + key->offset,
                   key->size) == 0)
            continue;
        /* Without the last byte, which stays 0. */
        to = fmemopen(a->error, sizeof a->error - 1, "w");
        if (!to)
            abort();
        fprintf(to, "%s is ", key->path);
        config_print_key(&was, i, to);
        fputs(", but this run's is ", to);
        config_print_key(&is, i, to);
        fclose(to);
        return true;
    }
    return false;
}

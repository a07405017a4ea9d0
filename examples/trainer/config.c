/* config.c - from a tree of YAML, or from an argument, to the struct. */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "config_nearest.h"
#include "config_scalar.h"
#include "config_table.h"
#include "config_tree.h"

/* One text that is read: a file, an argument or a default. */
struct reader {
    struct trainer_config *config;
    struct config_source *source;
    const struct config_tree *tree;
    const char *name;               /* what the text is called in errors */
    int32_t shift;                  /* columns before its first one */
    bool argument;
    struct config_place places[CONFIG_KEYS]; /* of the keys of this text */
};

/* --- Errors --------------------------------------------------------------- */

/* FILE:LINE:COLUMN: PATH: a sentence. Always false, to be returned. */
static bool fail_at(struct reader *r, int32_t line, int32_t column,
                    const char *path, const char *format, ...)
{
    char sentence[512];
    va_list list;

    va_start(list, format);
    vsnprintf(sentence, sizeof sentence, format, list);
    va_end(list);
    snprintf(r->source->error, sizeof r->source->error, "%s:%ld:%ld: %s%s%s",
             r->name, (long)line,
             (long)column + (line == 1 ? r->shift : 0), path,
             path[0] != 0 ? ": " : "", sentence);
    return false;
}

/* A scalar as it is shown in an error: short, and printable. */
static void show(const struct config_node *node, char *out, size_t size)
{
    size_t length = node->length < 40 ? node->length : 40, i;
    const char *more = node->length > length ? "..." : "";
    char text[41];

    for (i = 0; i < length; i++) {
        char c = node->text[i];

        text[i] = c >= ' ' && c <= '~' ? c : '?';
    }
    text[length] = 0;
    snprintf(out, size, node->plain ? "%s%s" : "the text \"%s%s\"", text,
             more);
}

static bool must_be(struct reader *r, const struct config_node *node,
                    const char *path, const char *wanted)
{
    char shown[80];

    if (node->kind == NODE_LIST) {
        strcpy(shown, "a list");
    } else if (node->kind == NODE_MAP) {
        strcpy(shown, "keys of its own");
    } else if (config_is_nothing(node)) {
        strcpy(shown, "nothing");
    } else {
        show(node, shown, sizeof shown);
    }
    return fail_at(r, node->line, node->column, path, "must be %s, not %s",
                   wanted, shown);
}

static bool refuse(struct reader *r, const struct config_node *node,
                   const char *path, const struct config_key *key)
{
    char wanted[256];

    config_describe(key, wanted, sizeof wanted);
    return must_be(r, node, path, wanted);
}

/* --- Values --------------------------------------------------------------- */

static bool read_value(struct reader *r, const struct config_key *key,
                       const struct config_node *node, const char *path,
                       void *base);

static bool unknown_key(struct reader *r, const struct config_node *key,
                        const char *path, const struct config_key *table,
                        uint32_t count)
{
    char nearest[CONFIG_PATH];
    const struct config_key *found;

    if (config_nearest(path, table, count, nearest)) {
        found = config_find_key(table, count, nearest);
        if (found != NULL) {
            config_written_path(found, config_is_nested(path), nearest,
                                sizeof nearest);
        }
        return fail_at(r, key->line, key->column, path,
                       "unknown key; the nearest one is %s", nearest);
    }
    return fail_at(r, key->line, key->column, path,
                   "unknown key; --keys prints all");
}

static bool second_time(struct reader *r, const struct config_node *key,
                        const char *path, int32_t line)
{
    return fail_at(r, key->line, key->column, path,
                   "given a second time, after line %ld", (long)line);
}

/* What the form of a part of a schedule has no use for, or lacks. */
static bool check_curve(struct reader *r, const struct config_node *node,
                        const char *path, const int32_t *lines,
                        const struct config_curve *curve)
{
    uint32_t i;

    for (i = 0; i < config_curve_count; i++) {
        const char *name = config_curve_table[i].path;
        bool needed = lines[0] == 0 ? i == 0
                                    : config_curve_needs(curve->name, name);

        if (needed && lines[i] == 0) {
            return fail_at(r, node->line, node->column, path, "lacks %s",
                           name);
        }
        if (!needed && lines[i] != 0) {
            return fail_at(r, node->line, node->column, path,
                           "a schedule of this name has no use for %s", name);
        }
    }
    return true;
}

static bool read_curve(struct reader *r, const struct config_node *node,
                       const char *path, struct config_curve *curve)
{
    const struct config_node *nodes = r->tree->nodes;
    int32_t lines[16] = {0};
    uint32_t k;

    if (node->kind != NODE_MAP) {
        return must_be(r, node, path, "a schedule, as {name: constant, "
                       "value: 0.1}");
    }
    memset(curve, 0, sizeof *curve);
    for (k = node->first; k != 0; k = nodes[nodes[k].next].next) {
        char name[CONFIG_PATH] = "", whole[CONFIG_PATH];
        const struct config_key *key;
        int32_t *line;

        snprintf(whole, sizeof whole, "%s", path);
        config_path_name(whole, nodes[k].text, nodes[k].length);
        config_path_name(name, nodes[k].text, nodes[k].length);
        key = config_find_key(config_curve_table, config_curve_count, name);
        if (key == NULL) {
            return unknown_key(r, &nodes[k], whole, config_curve_table,
                               config_curve_count);
        }
        line = &lines[key - config_curve_table];
        if (*line != 0) {
            return second_time(r, &nodes[k], whole, *line);
        }
        *line = nodes[k].line;
        if (!read_value(r, key, &nodes[nodes[k].next], whole, curve)) {
            return false;
        }
    }
    return check_curve(r, node, path, lines, curve);
}

static bool read_item(struct reader *r, const struct config_key *key,
                      const struct config_node *node, const char *path,
                      char *out)
{
    struct config_key one = *key;

    if (key->type == TYPE_CURVES) {
        return read_curve(r, node, path,
                          (struct config_curve *)(void *)out);
    }
    one.most = 0; /* What an item must be, not what the list must be. */
    return config_take_scalar(key, node, out) || refuse(r, node, path, &one);
}

static bool read_value(struct reader *r, const struct config_key *key,
                       const struct config_node *node, const char *path,
                       void *base)
{
    const struct config_node *nodes = r->tree->nodes;
    char *field = (char *)base + key->offset, item_path[CONFIG_PATH];
    uint32_t count = 0, i;

    if (key->most == 0) {
        return config_take_scalar(key, node, field) ||
               refuse(r, node, path, key);
    }
    if (node->kind != NODE_LIST) {
        return refuse(r, node, path, key);
    }
    /* What is left of a longer list would not be printed, but sent and saved
       with the struct. */
    memset(field, 0, config_items_offset(key) +
           key->most * config_item_size(key));
    for (i = node->first; i != 0; i = nodes[i].next) {
        snprintf(item_path, sizeof item_path, "%s", path);
        config_path_number(item_path, count);
        if (count == key->most) {
            return fail_at(r, nodes[i].line, nodes[i].column, item_path,
                           "more than %lu items", (unsigned long)key->most);
        }
        if (!read_item(r, key, &nodes[i], item_path,
                       field + config_items_offset(key) +
                       count * config_item_size(key))) {
            return false;
        }
        count++;
    }
    if (count < key->least) {
        return fail_at(r, node->line, node->column, path,
                       "fewer than %lu items", (unsigned long)key->least);
    }
    memcpy(field, &count, sizeof count);
    return true;
}

/* --- Keys ----------------------------------------------------------------- */

static bool read_key(struct reader *r, const struct config_node *name,
                     const struct config_node *node, const char *path)
{
    struct config_place *place;
    const struct config_key *key = config_find_main_key(path);

    place = &r->places[key - config_key_table];
    if (place->line != 0) {
        return second_time(r, name, path, place->line);
    }
    place->line = name->line;
    place->column = name->column + (name->line == 1 ? r->shift : 0);
    place->argument = r->argument;
    place->nested = config_is_nested(path);
    return read_value(r, key, node, path, r->config);
}

/* Reads what stands below a path. The tree's depth bounds the recursion. */
static bool read_section(struct reader *r, const struct config_node *node,
                         const char *path)
{
    const struct config_node *nodes = r->tree->nodes;
    uint32_t k, other;

    if (node->kind != NODE_MAP) {
        return must_be(r, node, path, "keys with values");
    }
    for (k = node->first; k != 0; k = nodes[nodes[k].next].next) {
        const struct config_node *value = &nodes[nodes[k].next];
        char whole[CONFIG_PATH];

        snprintf(whole, sizeof whole, "%s", path);
        config_path_name(whole, nodes[k].text, nodes[k].length);
        if (config_find_main_key(whole) != NULL) {
            if (!read_key(r, &nodes[k], value, whole)) {
                return false;
            }
            continue;
        }
        if (!config_is_section(whole)) {
            return unknown_key(r, &nodes[k], whole, config_key_table,
                               config_key_count);
        }
        /* There are few sections: a file of many keys ends at the second. */
        for (other = node->first; other != k;
             other = nodes[nodes[other].next].next) {
            if (strcmp(nodes[other].text, nodes[k].text) == 0) {
                return second_time(r, &nodes[k], whole, nodes[other].line);
            }
        }
        if (!read_section(r, value, whole)) {
            return false;
        }
    }
    return true;
}

/* --- Texts ---------------------------------------------------------------- */

/* The value of an argument, which stands at its path. */
static bool read_argument(struct reader *r, const char *path)
{
    static const struct config_node nothing = {
        NODE_SCALAR, true, "", 0, 1, 1, 0, 0
    };
    const struct config_node *root =
        r->tree->count > 0 ? r->tree->nodes : &nothing;
    struct config_node name = nothing;

    name.column -= r->shift; /* The path is where the argument begins. */
    if (config_find_main_key(path) != NULL) {
        return read_key(r, &name, root, path);
    }
    if (!config_is_section(path)) {
        return unknown_key(r, &name, path, config_key_table,
                           config_key_count);
    }
    return read_section(r, root, path);
}

/* A whole file. VISSL's own files have one root key, config. */
static bool read_file(struct reader *r)
{
    const struct config_node *nodes = r->tree->nodes, *root = nodes, *name;

    if (r->tree->count == 0) {
        return true; /* All is as the defaults say. */
    }
    if (root->kind == NODE_MAP && root->first != 0) {
        name = &nodes[root->first];
        if (name->length == 6 && memcmp(name->text, "config", 6) == 0 &&
            nodes[name->next].next == 0) {
            root = &nodes[name->next];
        }
    }
    return read_section(r, root, "");
}

/* Reads a text whose root stands at a path. Nothing is changed if it fails. */
static bool read_text(struct trainer_config *config,
                      struct config_source *source, struct reader *r,
                      const char *path, const char *text, size_t size)
{
    struct trainer_config copy = *config;
    struct config_problem problem;
    struct config_tree tree;
    bool good;
    uint32_t i;

    r->config = &copy;
    r->source = source;
    r->tree = &tree;
    good = config_tree_read(&tree, text, size, &problem);
    if (!good) {
        fail_at(r, problem.line, problem.column,
                path[0] != 0 ? path : problem.path, "%s", problem.sentence);
    } else {
        good = path[0] != 0 ? read_argument(r, path) : read_file(r);
    }
    config_tree_free(&tree);
    if (good) {
        *config = copy;
        for (i = 0; i < config_key_count; i++) {
            if (r->places[i].line != 0) {
                source->places[i] = r->places[i];
            }
        }
    }
    return good;
}

bool config_read_text(struct trainer_config *config,
                      struct config_source *source, const char *name,
                      const char *text, size_t size)
{
    struct reader r;

    memset(&r, 0, sizeof r);
    r.name = name;
    if (!read_text(config, source, &r, "", text, size)) {
        return false;
    }
    snprintf(source->file, sizeof source->file, "%s", name);
    return true;
}

bool config_read(struct trainer_config *config, struct config_source *source,
                 const char *file)
{
    FILE *from = fopen(file, "rb");
    char *text = (char *)malloc(CONFIG_SIZE + 1);
    size_t size = 0;
    bool good = false;

    errno = from == NULL ? errno : 0;
    if (from != NULL && text != NULL) {
        size = fread(text, 1, CONFIG_SIZE + 1, from);
    }
    if (from == NULL || text == NULL || ferror(from)) {
        snprintf(source->error, sizeof source->error, "%s: cannot be read: %s",
                 file, strerror(errno));
    } else {
        good = config_read_text(config, source, file, text, size);
    }
    if (from != NULL) {
        fclose(from);
    }
    free(text);
    return good;
}

bool config_override(struct trainer_config *config,
                     struct config_source *source, const char *argument)
{
    const char *equals = strchr(argument, '=');
    char path[CONFIG_PATH] = "";
    struct reader r;

    memset(&r, 0, sizeof r);
    r.name = "command line";
    r.argument = true;
    if (equals == NULL || equals == argument) {
        r.source = source;
        return fail_at(&r, 1, 1, "", "an override has the form PATH=VALUE");
    }
    r.shift = (int32_t)(equals + 1 - argument);
    argument += strncmp(argument, "config.", 7) == 0 ? 7 : 0;
    config_path_name(path, argument, (size_t)(equals - argument));
    return read_text(config, source, &r, path, equals + 1, strlen(equals + 1));
}

bool config_defaults(struct trainer_config *config,
                     struct config_source *source)
{
    char argument[512];
    bool good = true;
    uint32_t i;

    memset(config, 0, sizeof *config);
    memset(source, 0, sizeof *source);
    for (i = 0; good && i < config_key_count; i++) {
        snprintf(argument, sizeof argument, "%s=%s", config_key_table[i].path,
                 config_key_table[i].standard);
        good = config_override(config, source, argument);
    }
    memset(source->places, 0, sizeof source->places);
    return good;
}

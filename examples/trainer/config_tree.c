/* config_tree.c - libyaml's events, put together to a tree.

   libyaml finds what is no YAML. It does not refuse what a configuration has
   no use for (anchors, aliases, tags, further documents, any depth): that is
   done here. */
#include "config_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* A list or a mapping that has not ended yet. */
struct frame {
    uint32_t node, last;    /* itself, and its last child */
    uint32_t key;           /* the key whose value comes next, or 0 */
    uint32_t count;         /* children */
};

struct builder {
    yaml_parser_t parser;
    struct config_tree *tree;
    struct config_problem *problem;
    struct frame frames[CONFIG_DEPTH];
    uint32_t depth;
    const char *input;
    size_t size;
};

void config_path_name(char *path, const char *name, size_t length)
{
    size_t used = strlen(path), i;

    if (used > 0 && used < CONFIG_PATH - 1) {
        path[used++] = '.';
    }
    for (i = 0; i < length && used < CONFIG_PATH - 1; i++) {
        char c = name[i];

        path[used++] = c >= ' ' && c <= '~' ? c : '?';
    }
    path[used] = 0;
}

void config_path_number(char *path, uint32_t number)
{
    size_t used = strlen(path);

    snprintf(path + used, CONFIG_PATH - used, "[%lu]", (unsigned long)number);
}

/* The path of what comes next: the keys and numbers of all that is open. */
static void find_path(const struct builder *b, char *path)
{
    uint32_t i;

    path[0] = 0;
    for (i = 0; i < b->depth; i++) {
        const struct frame *frame = &b->frames[i];

        if (b->tree->nodes[frame->node].kind == NODE_LIST) {
            config_path_number(path, frame->count);
        } else if (frame->key != 0) {
            const struct config_node *key = &b->tree->nodes[frame->key];

            config_path_name(path, key->text, key->length);
        }
    }
}

static bool refuse(struct builder *b, yaml_mark_t mark, const char *sentence)
{
    b->problem->line = (int32_t)mark.line + 1;
    b->problem->column = (int32_t)mark.column + 1;
    find_path(b, b->problem->path);
    snprintf(b->problem->sentence, sizeof b->problem->sentence, "%s",
             sentence);
    return false;
}

/* What libyaml's reader complains of has no line, only a byte. */
static yaml_mark_t mark_of_byte(const struct builder *b, size_t byte)
{
    yaml_mark_t mark = {0, 0, 0};
    size_t i;

    for (i = 0; i < byte && i < b->size; i++) {
        if (b->input[i] == '\n') {
            mark.line++;
            mark.column = 0;
        } else if (((unsigned char)b->input[i] & 0xc0) != 0x80) {
            mark.column++;
        }
    }
    return mark;
}

static bool refuse_for_libyaml(struct builder *b)
{
    const yaml_parser_t *parser = &b->parser;
    char sentence[256];

    switch (parser->error) {
    case YAML_READER_ERROR:
        snprintf(sentence, sizeof sentence, "not UTF-8 that YAML allows: %s",
                 parser->problem);
        return refuse(b, mark_of_byte(b, parser->problem_offset), sentence);
    case YAML_SCANNER_ERROR:
    case YAML_PARSER_ERROR:
        snprintf(sentence, sizeof sentence, "not YAML: %s%s%s",
                 parser->context ? parser->context : "",
                 parser->context ? ", " : "", parser->problem);
        return refuse(b, parser->problem_mark, sentence);
    default:
        return refuse(b, parser->mark, "out of memory");
    }
}

/* Adds a node, linked to what it is in, and says its number. Returns whether
   there was memory for it. */
static bool add_node(struct builder *b, enum config_kind kind, yaml_mark_t mark,
                     uint32_t *number)
{
    struct config_tree *tree = b->tree;
    struct config_node *node;

    if (tree->count == tree->room) {
        uint32_t room = tree->room == 0 ? 64 : tree->room * 2;
        void *grown = realloc(tree->nodes, room * sizeof *tree->nodes);

        if (grown == NULL) {
            return refuse(b, mark, "out of memory");
        }
        tree->nodes = (struct config_node *)grown;
        tree->room = room;
    }
    *number = tree->count++;
    node = &tree->nodes[*number];
    memset(node, 0, sizeof *node);
    node->kind = kind;
    node->line = (int32_t)mark.line + 1;
    node->column = (int32_t)mark.column + 1;
    if (b->depth > 0) {
        struct frame *frame = &b->frames[b->depth - 1];

        if (frame->last == 0) {
            tree->nodes[frame->node].first = *number;
        } else {
            tree->nodes[frame->last].next = *number;
        }
        frame->last = *number;
    }
    return true;
}

/* After a child, with all that is in it: the next one's path is another. */
static void child_ended(struct builder *b, uint32_t number)
{
    if (b->depth > 0) {
        struct frame *frame = &b->frames[b->depth - 1];
        bool map = b->tree->nodes[frame->node].kind == NODE_MAP;

        frame->key = map && frame->count % 2 == 0 ? number : 0;
        frame->count++;
    }
}

static bool add_scalar(struct builder *b, const yaml_event_t *event)
{
    struct config_tree *tree = b->tree;
    size_t length = event->data.scalar.length;
    struct config_node *node;
    uint32_t number;

    if (length >= tree->size - tree->used) {
        return refuse(b, event->start_mark, "more text than the file can hold");
    }
    if (!add_node(b, NODE_SCALAR, event->start_mark, &number)) {
        return false;
    }
    node = &tree->nodes[number];
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->text = tree->text + tree->used;
    node->length = length;
    memcpy(tree->text + tree->used, event->data.scalar.value, length);
    tree->used += length;
    tree->text[tree->used++] = 0;
    child_ended(b, number);
    return true;
}

static bool open_node(struct builder *b, enum config_kind kind,
                      yaml_mark_t mark)
{
    struct frame *frame;
    uint32_t number;

    if (b->depth > 0) {
        const struct frame *in = &b->frames[b->depth - 1];

        if (b->tree->nodes[in->node].kind == NODE_MAP && in->count % 2 == 0) {
            return refuse(b, mark, "a key must be a word");
        }
    }
    if (b->depth == CONFIG_DEPTH) {
        return refuse(b, mark, "deeper than 16 levels");
    }
    if (!add_node(b, kind, mark, &number)) {
        return false;
    }
    frame = &b->frames[b->depth++];
    memset(frame, 0, sizeof *frame);
    frame->node = number;
    return true;
}

static void close_node(struct builder *b)
{
    child_ended(b, b->frames[--b->depth].node);
}

/* Whether a node has neither of what only other programs' YAML needs. */
static bool check_properties(struct builder *b, yaml_mark_t mark,
                             const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (anchor != NULL) {
        return refuse(b, mark, "an anchor (&) is not allowed");
    }
    if (tag != NULL) {
        return refuse(b, mark, "a tag (!) is not allowed");
    }
    return true;
}

static bool take_event(struct builder *b, const yaml_event_t *event,
                       uint32_t *documents)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if ((*documents)++ > 0) {
            return refuse(b, event->start_mark,
                          "a second document is not allowed");
        }
        return true;
    case YAML_ALIAS_EVENT:
        return refuse(b, event->start_mark, "an alias (*) is not allowed");
    case YAML_SCALAR_EVENT:
        return check_properties(b, event->start_mark,
                                event->data.scalar.anchor,
                                event->data.scalar.tag) &&
               add_scalar(b, event);
    case YAML_SEQUENCE_START_EVENT:
        return check_properties(b, event->start_mark,
                                event->data.sequence_start.anchor,
                                event->data.sequence_start.tag) &&
               open_node(b, NODE_LIST, event->start_mark);
    case YAML_MAPPING_START_EVENT:
        return check_properties(b, event->start_mark,
                                event->data.mapping_start.anchor,
                                event->data.mapping_start.tag) &&
               open_node(b, NODE_MAP, event->start_mark);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_node(b);
        return true;
    default:
        return true;
    }
}

bool config_tree_read(struct config_tree *tree, const char *text, size_t size,
               struct config_problem *problem)
{
    static const yaml_mark_t start = {0, 0, 0};
    struct builder b;
    uint32_t documents = 0;
    bool good = true, more = true;

    memset(tree, 0, sizeof *tree);
    memset(&b, 0, sizeof b);
    b.tree = tree;
    b.problem = problem;
    b.input = text;
    b.size = size;
    if (size > CONFIG_SIZE) {
        return refuse(&b, start, "longer than 65,536 bytes");
    }
    /* An escape of two bytes stands for three at most, and no scalar with its
       0 takes more than two for a byte of the text. */
    tree->size = 4 * size + 64;
    tree->text = (char *)malloc(tree->size);
    if (tree->text == NULL || !yaml_parser_initialize(&b.parser)) {
        return refuse(&b, start, "out of memory");
    }
    yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, size);
    /* It ends: every event takes some of the text, or is the last. */
    while (good && more) {
        yaml_event_t event;

        if (!yaml_parser_parse(&b.parser, &event)) {
            good = refuse_for_libyaml(&b);
        } else {
            good = take_event(&b, &event, &documents);
            more = event.type != YAML_STREAM_END_EVENT;
            yaml_event_delete(&event);
        }
    }
    yaml_parser_delete(&b.parser);
    return good;
}

void config_tree_free(struct config_tree *tree)
{
    free(tree->nodes);
    free(tree->text);
    memset(tree, 0, sizeof *tree);
}

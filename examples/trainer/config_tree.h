/* config_tree.h - YAML as a tree of nodes, each with its place in the text;
   config.c gives them their meaning. */
#ifndef TRAINER_CONFIG_TREE_H
#define TRAINER_CONFIG_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CONFIG_DEPTH = 16,        /* most lists and mappings in each other */
    CONFIG_SIZE = 65536,      /* most bytes of a text */
    CONFIG_PATH = 256         /* bytes of a path, cut where it is longer */
};

enum config_kind { NODE_SCALAR, NODE_LIST, NODE_MAP };

/* Nodes are numbered. The first is the root and child of none, so that 0
   stands for no node. The children of a map are key, value, key, value. */
struct config_node {
    enum config_kind kind;
    bool plain;             /* a scalar without quotes */
    const char *text;       /* of a scalar, with a 0 after its length */
    size_t length;
    int32_t line, column;   /* from 1, in characters */
    uint32_t first, next;   /* the first child, the next sibling */
};

struct config_tree {
    struct config_node *nodes;
    uint32_t count;         /* 0: a text without content */
    uint32_t room;
    char *text;             /* where the scalars' text stands */
    size_t used, size;
};

struct config_problem {
    int32_t line, column;
    char path[CONFIG_PATH];   /* as OPTIMIZER.larc_config, empty at the root */
    char sentence[256];
};

/* Returns whether the text is YAML of the kind that is wanted: UTF-8, one
   document, without anchors, aliases, tags, and not too deep. The tree is to
   be given to config_tree_free either way. */
bool config_tree_read(struct config_tree *tree, const char *text, size_t size,
               struct config_problem *problem);
void config_tree_free(struct config_tree *tree);

/* Adds .NAME or [NUMBER] to a path of CONFIG_PATH bytes, cut where it is full.
   A name may hold anything, what cannot be printed becomes a question mark. */
void config_path_name(char *path, const char *name, size_t length);
void config_path_number(char *path, uint32_t number);

#endif

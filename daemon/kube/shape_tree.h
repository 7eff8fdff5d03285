/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shape_tree - the inside of a shape: a node for each step that its paths have in common; pure.
 * Only for shape, which makes it, and shape_walk, which follows it.
 */
#ifndef KUBE_SHAPE_TREE_H
#define KUBE_SHAPE_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/json_path.h"

/* What a path is for: one bit each. What is NEEDED stays, whatever keep and drop say. */
enum { SHAPE_TREE_KEEP = 1, SHAPE_TREE_DROP = 2, SHAPE_TREE_MATCH = 4, SHAPE_TREE_NEED = 8 };

enum shape_tree_op {
    SHAPE_TREE_EQUAL,
    SHAPE_TREE_NOT_EQUAL,
    SHAPE_TREE_PRESENT,
    SHAPE_TREE_ABSENT,
};

/* An entry of match; in a list of those with the same path. */
struct shape_tree_test {
    struct shape_tree_test *next;
    enum shape_tree_op op;
    char *value; /* EQUAL, NOT_EQUAL */
};

struct shape_tree_node {
    enum json_path_kind kind;
    char *name;
    size_t name_n;
    size_t index;
    unsigned ends;  /* what paths that end here are for */
    unsigned below; /* what paths that go on are for */
    struct shape_tree_test *tests;
    struct shape_tree_node *child; /* the first one */
    struct shape_tree_node *sibling;
    struct shape_tree_node *older; /* made before it, whichever its place */
};

struct shape {
    struct shape_tree_node root;
    struct shape_tree_node *newest;
    size_t node_count; /* without the root */
    struct shape_tree_test *tests;
    size_t test_count;
    size_t keep_count;
    bool beyond_metadata; /* a path of keep or match */
};

#endif

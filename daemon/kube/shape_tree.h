/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shape_tree - the inside of a shape: one node for each step that its paths have in common; pure.
 * Only for shape, which makes the tree, and shape_walk, which follows it.
 */
#ifndef KUBE_SHAPE_TREE_H
#define KUBE_SHAPE_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/json_path.h"

/* The uses of a path, one bit each. A NEEDED part stays whatever keep and drop say. */
enum { SHAPE_TREE_KEEP = 1, SHAPE_TREE_DROP = 2, SHAPE_TREE_MATCH = 4, SHAPE_TREE_NEED = 8 };

enum shape_tree_op {
    SHAPE_TREE_EQUAL,
    SHAPE_TREE_NOT_EQUAL,
    SHAPE_TREE_PRESENT,
    SHAPE_TREE_ABSENT,
};

/* An entry of match, in a list of those with the same path. */
struct shape_tree_test {
    struct shape_tree_test *next;
    enum shape_tree_op op;
    char *value; /* EQUAL, NOT_EQUAL; else NULL */
};

/* A step of paths: a member, an element with an index, or all elements and members. */
struct shape_tree_node {
    enum json_path_kind kind;
    char *name;
    size_t name_n;
    size_t index;
    unsigned ends;  /* uses of the paths that end here */
    unsigned below; /* uses of the paths that go on from here */
    struct shape_tree_test *tests;
    struct shape_tree_node *child; /* the first one */
    struct shape_tree_node *sibling;
    /* The node that was made before this one: the list of all nodes. */
    struct shape_tree_node *older;
};

struct shape {
    struct shape_tree_node root;
    struct shape_tree_node *newest;
    size_t node_count; /* without the root */
    struct shape_tree_test *tests;
    size_t test_count;
    size_t keep_count;
    bool beyond_metadata; /* a path of keep or match begins with another member */
};

#endif

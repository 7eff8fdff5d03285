/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml_tree - one YAML or JSON document as a tree, whose errors name file and line; pure. The only
 * home of libyaml.
 *
 * A node is named by its number in the tree; 0 = no such node. Nodes are valid until
 * yaml_tree_destroy(). Values may be secrets: they are wiped when the tree is destroyed, and no
 * error shows them.
 */
#ifndef KUBE_YAML_TREE_H
#define KUBE_YAML_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct yaml_tree;

/* Reads a text in UTF-8 or, with a byte order mark, UTF-16. path is for messages
 * ("PATH:LINE: ..."); path and text must outlive the tree. ERR_CONFIG: no YAML, no document or a
 * second one, or more of bytes, depth, anchors or values than a file of settings has. */
enum err_kind yaml_tree_read(struct str text, const char *path, struct yaml_tree **out,
                             struct err *err) MUST_CHECK;

/* Wipes and frees *t, and sets it to NULL. NULL is fine. */
void yaml_tree_destroy(struct yaml_tree **t);

/* The value of the whole document. */
int yaml_tree_root(const struct yaml_tree *t);

/* Fills *err (which may be NULL) with "PATH:LINE: " and the text, for the line of the node (0 =
 * line 1); returns ERR_CONFIG. */
enum err_kind yaml_tree_fail(const struct yaml_tree *t, int node, struct err *err, const char *fmt,
                             ...) PRINTF_LIKE(4, 5);

/* Is the node a mapping? */
bool yaml_tree_is_map(const struct yaml_tree *t, int node);

/* The bytes of a scalar; empty for other nodes. */
struct str yaml_tree_bytes(const struct yaml_tree *t, int node);

/* Finds the value of a key: 0 if there is no such key, or the value is null or an empty string.
 * ERR_CONFIG: map is no mapping, or the key is there twice, which YAML forbids, and for which
 * parsers differ in the value they take. */
enum err_kind yaml_tree_find(const struct yaml_tree *t, int map, const char *key, int *value,
                             struct err *err) MUST_CHECK;

/* As yaml_tree_find() for a value that must be one string without a NUL byte. */
enum err_kind yaml_tree_find_text(const struct yaml_tree *t, int map, const char *key, int *value,
                                  struct err *err) MUST_CHECK;

/* Copies the string of a key to *out, for the caller to free; *out stays as it is if there is
 * none. */
enum err_kind yaml_tree_copy_text(const struct yaml_tree *t, int map, const char *key, char **out,
                                  struct err *err) MUST_CHECK;

/* Sets *out to the value of a key that is true or false in the words of YAML 1.1; *out stays as it
 * is if there is none. */
enum err_kind yaml_tree_find_bool(const struct yaml_tree *t, int map, const char *key, bool *out,
                                  struct err *err) MUST_CHECK;

/* As yaml_tree_find() for a value that must be a list. */
enum err_kind yaml_tree_find_list(const struct yaml_tree *t, int map, const char *key, int *list,
                                  struct err *err) MUST_CHECK;

/* The number of items of a list or of entries of a mapping; 0 for other nodes, and for no node. */
size_t yaml_tree_count(const struct yaml_tree *t, int node);

/* Item i of a list, i < yaml_tree_count(). */
int yaml_tree_item(const struct yaml_tree *t, int list, size_t i);

/* Key and value of entry i of a mapping, i < yaml_tree_count(). */
void yaml_tree_entry(const struct yaml_tree *t, int map, size_t i, int *key, int *value);

/* Appends a node as JSON, with the types that kubectl sees in it. ERR_CONFIG: it has no form in
 * JSON, or is larger than 64 KiB there. */
enum err_kind yaml_tree_put_json(const struct yaml_tree *t, int node, struct buf *out,
                                 struct err *err) MUST_CHECK;

#endif

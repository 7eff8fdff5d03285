/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map - finds intrusive nodes by string keys; pure. Only this module uses uthash. Keys are
 * borrowed: the struct that embeds the node owns the key, and keeps it unchanged while the node is
 * in the map.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stddef.h>

#include <uthash.h>

#include "base/compiler.h"
#include "base/str.h"

struct map_node {
    UT_hash_handle hh;
};

/* Zero-initialised is empty; an empty map owns no memory. */
struct map {
    struct map_node *head; /* uthash's table hangs on the first node */
};

/* The node of a key, or NULL. */
struct map_node *map_get(const struct map *m, struct str key);

/* Adds a node; the key must not be in the map. */
void map_put(struct map *m, struct map_node *node, struct str key);

/* Takes out a node that is in the map. */
void map_remove(struct map *m, struct map_node *node);

/* Gives a node in the map the same key at another place: for when the struct that embeds the node is
 * about to lose the bytes that its key was borrowed from. */
void map_move_key(struct map_node *node, struct str key);

/* How many nodes the map has. */
size_t map_count(const struct map *m);

/* The first node in order of insertion, or NULL. */
struct map_node *map_first(const struct map *m);

/* The node inserted after this one, or NULL. Read it before removing this one. */
struct map_node *map_next(const struct map_node *node);

/* The key of a node in the map. */
struct str map_key(const struct map_node *node);

#define map_entry(node, type, member) container_of(node, type, member)

#endif

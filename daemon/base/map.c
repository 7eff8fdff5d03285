/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <xxhash.h>

#include "base/panic.h"

#undef HASH_FUNCTION
#define HASH_FUNCTION(keyptr, keylen, hashv) ((hashv) = map_hash((keyptr), (keylen)))
/* Without memory uthash would end the process with exit(); panic() says why. */
#undef uthash_fatal
#define uthash_fatal(msg) panic("map: %s", msg)

static unsigned map_hash(const void *key, size_t n)
{
    return (unsigned)XXH3_64bits(key, n);
}

/* NOLINTBEGIN(readability-function-size,readability-function-cognitive-complexity): uthash's
 * macros */
struct map_node *map_get(const struct map *m, struct str key)
{
    struct map_node *node = NULL;

    HASH_FIND(hh, m->head, key.p, key.n, node);
    return node;
}

void map_put(struct map *m, struct map_node *node, struct str key)
{
    HASH_ADD_KEYPTR(hh, m->head, key.p, key.n, node);
}

void map_remove(struct map *m, struct map_node *node)
{
    HASH_DELETE(hh, m->head, node);
}
/* NOLINTEND(readability-function-size,readability-function-cognitive-complexity) */

void map_move_key(struct map_node *node, struct str key)
{
    ensure(str_eq(map_key(node), key));
    node->hh.key = key.p;
}

size_t map_count(const struct map *m)
{
    return HASH_CNT(hh, m->head);
}

struct map_node *map_first(const struct map *m)
{
    return m->head;
}

struct map_node *map_next(const struct map_node *node)
{
    return (struct map_node *)node->hh.next;
}

struct str map_key(const struct map_node *node)
{
    return str_of(node->hh.key, node->hh.keylen);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup - whether objects that an edited watch does not select any more exist: a LIST of metadata without
 * selectors, of each place where one vanished; pure. The inner side of feed, and only its.
 */
#ifndef CACHE_LOOKUP_H
#define CACHE_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "cache/query.h"
#include "cache/store.h"
#include "kube/list.h"

/* More objects than that are not looked through: then nobody knows. */
#define LOOKUP_ITEMS ((size_t)200 * 1000)

/* A namespace, a name in one, or (both NULL) everything. */
struct lookup_place {
    char *ns;
    char *name;
};

/* Zero-initialised: none is under way. */
struct lookup {
    const struct resource *resource; /* NULL: none is under way */
    struct lookup_place *places;
    size_t count;
    size_t at;  /* the one that is being listed */
    char *next; /* continue token of its next page; NULL = its first one */
    size_t items;
};

/* Of what the list staged in the part would take away. q: that the list was asked by. */
void lookup_begin(struct lookup *l, const struct query *q, const struct store *s, size_t part);

/* Is one under way? */
bool lookup_is_on(const struct lookup *l);

/* Appends the target of the next request. */
void lookup_put_target(const struct lookup *l, struct buf *out);

enum lookup_next { LOOKUP_MORE, LOOKUP_DONE, LOOKUP_TOO_MANY };

/* That request was answered by this page. */
enum lookup_next lookup_page(struct lookup *l, const struct list_page *page);

/* None is under way. */
void lookup_end(struct lookup *l);

#endif

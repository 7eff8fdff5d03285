/* SPDX-License-Identifier: Apache-2.0 */
/*
 * existence - whether objects that an edited watch does not select any more exist: a LIST of metadata without
 * selectors, of each place where one vanished; pure. The inner side of feed, and only its.
 */
#ifndef CACHE_EXISTENCE_H
#define CACHE_EXISTENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "cache/query.h"
#include "cache/store.h"
#include "kube/list.h"

/* More objects than that are not looked through: then nobody knows. */
#define EXISTENCE_ITEMS ((size_t)200 * 1000)

/* A namespace, a name in one, or (both NULL) everything. */
struct existence_place {
    char *ns;
    char *name;
};

/* Zero-initialised: none is under way. */
struct existence {
    const struct resource *resource; /* NULL: none is under way */
    struct existence_place *places;
    size_t count;
    size_t at;  /* the one that is being listed */
    char *next; /* continue token of its next page; NULL = its first one */
    size_t items;
};

/* Of what the list staged in the part would take away. q: that the list was asked by. */
void existence_begin(struct existence *l, const struct query *q, const struct store *s,
                     size_t scope);

/* Is one under way? */
bool existence_is_on(const struct existence *l);

/* Appends the target of the next request. */
void existence_put_target(const struct existence *l, struct buf *out);

enum existence_next { EXISTENCE_MORE, EXISTENCE_DONE, EXISTENCE_TOO_MANY };

/* That request was answered by this page. */
enum existence_next existence_page(struct existence *l, const struct list_page *page);

/* None is under way. */
void existence_end(struct existence *l);

#endif

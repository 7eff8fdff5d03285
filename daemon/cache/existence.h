/* SPDX-License-Identifier: Apache-2.0 */
/*
 * existence - finds out which objects that an edited watch does not select any more still exist, by
 * a LIST of metadata without selectors, in each place where an object vanished; pure. Used by
 * list_watch only.
 */
#ifndef CACHE_EXISTENCE_H
#define CACHE_EXISTENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "cache/query.h"
#include "cache/store.h"
#include "kube/list.h"

/* The lookup gives up when it has seen more objects: then nobody knows which ones exist
 * (docs/design.md "Edited selectors"). */
#define EXISTENCE_ITEMS ((size_t)200 * 1000)

/* Where to look; NULL = in all namespaces, for all names. */
struct existence_place {
    char *ns;
    char *name;
};

/* Zero-initialised: no lookup is under way. */
struct existence {
    const struct resource *resource; /* NULL = no lookup is under way */
    struct existence_place *places;
    size_t count;
    size_t at;  /* the index of the place that is being listed */
    char *next; /* continue token of the place's next page; NULL = page 1 */
    size_t items;
};

/* Begins a lookup of the objects that a commit of the list staged in this scope would take away. q:
 * the query of that list, whose resource must outlive the lookup. */
void existence_begin(struct existence *l, const struct query *q, const struct store *s,
                     size_t scope);

/* Is a lookup under way? */
bool existence_is_on(const struct existence *l);

/* Appends the target of the lookup's next request. While one is under way. */
void existence_put_target(const struct existence *l, struct buf *out);

/* What comes after a page: another request, the end, or the end because of EXISTENCE_ITEMS. */
enum existence_next { EXISTENCE_MORE, EXISTENCE_DONE, EXISTENCE_TOO_MANY };

/* The request was answered by this page. */
enum existence_next existence_page(struct existence *l, const struct list_page *page);

/* Ends the lookup and frees what it holds. Fine when no lookup is under way. */
void existence_end(struct existence *l);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup - finds out which objects that an edited watch does not select any more still exist, by a LIST
 * of metadata without selectors in each place where an object vanished
 * (docs/design.md "Edited selectors"); pure.
 */
#ifndef CACHE_LOOKUP_H
#define CACHE_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "cache/query.h"
#include "cache/store.h"
#include "kube/list.h"

/* Objects of so many places are looked up in each place; objects of more places by one LIST of
 * everything, as each place costs a request at least. */
enum { LOOKUP_PLACES = 8 };

/* Zero-initialised: no lookup is under way. */
struct lookup {
    /* NULL = in all namespaces, for all names. One place too many shows that there are more. */
    struct lookup_place {
        char *ns;
        char *name;
    } places[LOOKUP_PLACES + 1];
    size_t count; /* 0 = no lookup is under way */
    size_t at;    /* the index of the place that is being listed */
    char *next;   /* continue token of the place's next page; NULL = page 1 */
    size_t items;
};

/* Begins a lookup of the objects that a commit of this scope would take away. The query says where
 * informerd may list: if it names a namespace or name, only there. */
void lookup_begin(struct lookup *l, const struct store *store, size_t scope,
                  const struct query *query);

/* Is a lookup under way? */
bool lookup_goes_on(const struct lookup *l);

/* Appends the target of its next request: a LIST without selectors, which would hide the objects that
 * are looked for. */
void lookup_put_target(const struct lookup *l, struct buf *out, const struct resource *resource);

enum lookup_step {
    LOOKUP_MORE,     /* the next page or place comes next */
    LOOKUP_COMPLETE, /* all places were listed */
    LOOKUP_TOO_MANY, /* it gives up, as in a large cluster it would take too long */
};

/* A page of the LIST came. */
enum lookup_step lookup_page(struct lookup *l, const struct list_page *page);

/* Ends it. Does nothing if none is under way. */
void lookup_end(struct lookup *l);

#endif

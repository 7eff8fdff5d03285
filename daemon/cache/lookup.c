/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/lookup.h"

#include <stdlib.h>

#include "base/mem.h"

enum { LOOKUP_PAGE = 500 };

/* The lookup gives up when it has seen more objects: then nobody knows which ones exist
 * (docs/design.md "Edited selectors"). */
#define LOOKUP_ITEMS ((size_t)200 * 1000)

/* Where the lookup notes places. */
struct noting {
    struct lookup *to;
    const struct query *query;
};

static char *text(struct str s)
{
    return s.n > 0 ? mem_strndup(s.p, s.n) : NULL;
}

/* Notes the place of a vanishing object. Objects where the query may not list were selected by earlier
 * settings; a LIST there may be refused. */
static void note_place(void *arg, struct object *o)
{
    const struct noting *n = arg;
    struct lookup *l = n->to;
    struct str ns = n->query->ns != NULL ? object_namespace(o) : str_c(NULL);
    struct str name = n->query->name != NULL ? object_name(o) : str_c(NULL);

    if (l->count > LOOKUP_PLACES)
        return;
    for (size_t i = 0; i < l->count; i++)
        if (str_eq(str_c(l->places[i].ns), ns) && str_eq(str_c(l->places[i].name), name))
            return;
    l->places[l->count++] = (struct lookup_place){text(ns), text(name)};
}

void lookup_begin(struct lookup *l, const struct store *store, size_t scope,
                  const struct query *query)
{
    struct noting noting = {l, query};

    lookup_end(l);
    store_each_vanishing(store, scope, note_place, &noting);
    if (l->count <= LOOKUP_PLACES)
        return;
    lookup_end(l);
    l->count = 1; /* one place that stands for everything */
}

bool lookup_goes_on(const struct lookup *l)
{
    return l->count > 0;
}

void lookup_put_target(const struct lookup *l, struct buf *out, const struct resource *resource)
{
    const struct lookup_place *p = &l->places[l->at];
    struct query q;

    query_init(&q, resource, p->ns, p->name);
    query_put_target(
        &q, out,
        &(struct reflector_action){.what = REFLECTOR_LIST, .limit = LOOKUP_PAGE, .next = l->next});
    query_fini(&q);
}

enum lookup_step lookup_page(struct lookup *l, const struct list_page *page)
{
    l->items += page->items;
    if (l->items > LOOKUP_ITEMS)
        return LOOKUP_TOO_MANY;
    free(l->next);
    l->next = text(page->next);
    l->at += l->next == NULL;
    return l->at < l->count ? LOOKUP_MORE : LOOKUP_COMPLETE;
}

void lookup_end(struct lookup *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->places[i].ns);
        free(l->places[i].name);
    }
    free(l->next);
    *l = (struct lookup){0};
}

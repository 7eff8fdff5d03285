/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/existence.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cache/reflector.h"

/* Objects of so many places are looked up in each place; objects of more places by one LIST of
 * everything, as each place costs a request at least. */
enum { PLACES = 8, PAGE_ITEMS = 500 };

struct collecting {
    struct existence *l;
    const struct query *q;
};

static bool is_text(const char *a, struct str b)
{
    return a != NULL ? str_is(b, a) : b.n == 0;
}

static char *text(struct str s)
{
    return s.n > 0 ? mem_strndup(s.p, s.n) : NULL;
}

/* Is the place among those to look in? An absent text is everything. */
static bool knows(const struct existence *l, struct str ns, struct str name)
{
    for (size_t i = 0; i < l->count; i++)
        if (is_text(l->places[i].ns, ns) && is_text(l->places[i].name, name))
            return true;
    return false;
}

/* Notes the place of a vanishing object. The query says where informerd may list: if it names a
 * namespace or name, only there. Objects elsewhere were selected by earlier settings; a LIST there
 * may be refused. One place too many is noted, to show that there are more. */
static void note_place(void *arg, struct object *o)
{
    const struct collecting *c = arg;
    struct existence *l = c->l;
    struct str ns = c->q->ns != NULL ? object_namespace(o) : str_c(NULL);
    struct str name = c->q->name != NULL ? object_name(o) : str_c(NULL);

    if (l->count > PLACES || knows(l, ns, name))
        return;
    l->places = mem_realloc(l->places, (l->count + 1) * sizeof(*l->places));
    l->places[l->count++] = (struct existence_place){text(ns), text(name)};
}

static void drop_places(struct existence *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->places[i].ns);
        free(l->places[i].name);
    }
    l->count = 0;
}

void existence_begin(struct existence *l, const struct query *q, const struct store *s,
                     size_t scope)
{
    struct collecting c = {l, q};

    existence_end(l);
    l->resource = q->resource;
    store_each_vanishing(s, scope, note_place, &c);
    /* More places than PLACES: one place that stands for everything. */
    if (l->count <= PLACES)
        return;
    drop_places(l);
    l->places[l->count++] = (struct existence_place){NULL, NULL};
}

bool existence_is_on(const struct existence *l)
{
    return l->resource != NULL;
}

void existence_put_target(const struct existence *l, struct buf *out)
{
    const struct existence_place *p = &l->places[l->at];
    struct query q;

    /* Without selectors: these would hide the objects that are looked for. */
    query_init(&q, l->resource, p->ns, p->name);
    query_put_target(
        &q, out,
        &(struct reflector_action){.what = REFLECTOR_LIST, .limit = PAGE_ITEMS, .next = l->next});
    query_fini(&q);
}

/* EXISTENCE_ITEMS bounds the time of a lookup in a large cluster. */
enum existence_next existence_page(struct existence *l, const struct list_page *page)
{
    l->items += page->items;
    if (l->items > EXISTENCE_ITEMS)
        return EXISTENCE_TOO_MANY;
    /* page->next may be lost with the page's reader, so it is copied first. */
    char *next = text(page->next);
    free(l->next);
    l->next = next;
    if (l->next == NULL)
        l->at++;
    return l->at < l->count ? EXISTENCE_MORE : EXISTENCE_DONE;
}

void existence_end(struct existence *l)
{
    drop_places(l);
    free(l->places);
    free(l->next);
    *l = (struct existence){0};
}

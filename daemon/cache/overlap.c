/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/overlap.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"
#include "kube/rv.h"

static void set(char **slot, struct str s)
{
    free(*slot);
    *slot = mem_strndup(s.p, s.n);
}

void overlap_end(struct overlap *o)
{
    free(o->from);
    free(o->collection);
    free(o->rv);
    free(o->key);
    *o = (struct overlap){0};
}

void overlap_begin(struct overlap *o, const char *rv, const char *collection_rv)
{
    overlap_end(o);
    *o = (struct overlap){.from = mem_strdup(rv),
                          .collection = mem_strdup(collection_rv),
                          .rv = mem_strdup(rv),
                          .key = mem_strdup(""),
                          .grows = true};
}

/* A version of "0" names no version (docs/kubernetes-protocol.md "Order of versions"). */
static bool has_version(struct str rv)
{
    return rv.n > 0 && !str_is(rv, "0");
}

void overlap_note(struct overlap *o, struct overlap_event e)
{
    /* An event that has the version of the request itself is one that came twice: the second watch
     * begins behind it. */
    if (o->from == NULL || str_is(e.rv, o->from))
        return;
    enum rv_order order = rv_order(e.rv, str_c(o->rv));

    o->grows = o->grows && (order == RV_NEWER || order == RV_SAME);
    o->unknown = o->unknown || !has_version(e.rv);
    o->count++;
    set(&o->rv, e.rv);
    set(&o->key, e.key);
    o->deleted = e.deleted;
}

bool overlap_is_known(const struct overlap *o)
{
    return !o->unknown;
}

static bool is_last(const struct overlap *o, struct overlap_event e)
{
    return o->from != NULL && e.deleted == o->deleted && str_is(e.rv, o->rv) &&
           str_is(e.key, o->key);
}

/* No more events are skipped than the first watch has sent. So a server that never repeats the last
 * one, or numbers each object by itself, cannot make the scope miss events for long. */
enum overlap_verdict overlap_judge(struct overlap *o, struct overlap_event e)
{
    ensure(overlap_is_known(o));
    if (is_last(o, e)) { /* perhaps not for the first time, as some servers send events twice */
        o->count = 0;
        return OVERLAP_REPEATED;
    }
    if (o->count == 0)
        return OVERLAP_NEW;
    if (o->grows && rv_order(e.rv, str_c(o->rv)) == RV_NEWER) {
        o->count = 0;
        return OVERLAP_NEW;
    }
    if (!has_version(e.rv) || ++o->skipped >= o->count)
        return OVERLAP_MISFIT;
    return OVERLAP_REPEATED;
}

bool overlap_bookmark(struct overlap *o, struct str rv, const char *collection_rv)
{
    /* A watch never sends a bookmark below the version that it was asked for with, so a bookmark
     * below the collection version of that time shows a server that went back. */
    if (o->collection == NULL || rv_order(rv, str_c(o->collection)) == RV_OLDER)
        return true;
    if (o->grows && rv_order(rv, str_c(o->rv)) == RV_NEWER)
        o->count = 0; /* the second watch has sent all that it had to */
    if (o->count > 0 || rv_order(rv, str_c(collection_rv)) == RV_OLDER)
        return false;
    free(o->collection);
    o->collection = NULL;
    return true;
}

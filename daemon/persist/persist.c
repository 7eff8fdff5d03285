/* SPDX-License-Identifier: Apache-2.0 */
#include "persist/persist.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"

/* Seconds until an item that no configuration has any more is forgotten
 * (docs/design.md "Missed deletes"). */
#define GRACE_S ((uint64_t)7 * 24 * 3600)

enum { LOGGED_MAX = 20 }; /* files of one hook that the log names; the status names all */

/* ---- From watches and hooks to the state. */

void persist_put_versions(struct persist *p, struct persist_now now, struct batch *b)
{
    list_each (pos, tmp, &p->dirty)
        persist_watch_put_scope(list_entry(pos, struct persist_scope, dirty), now, b);
}

bool persist_put_hooks(struct persist *p, struct batch *b)
{
    bool is_urgent = false;

    for (size_t i = 0; i < p->of->n; i++)
        is_urgent = persist_hook_put(&p->hooks[i], b) || is_urgent;
    return is_urgent;
}

void persist_sweep(struct persist *p, struct persist_now now, bool all, struct batch *b)
{
    for (size_t i = 0; i < p->watch_count; i++)
        persist_watch_sweep(&p->watches[i], now, all, b);
}

/* First the items, which the other rows refer to, then the identities, without which the next start
 * would forget the objects. */
void persist_lost(struct persist *p, struct persist_now now, struct batch *b)
{
    ids_put_all(p->ids, b);
    for (size_t i = 0; i < p->cluster_count; i++)
        persist_cluster_put(&p->clusters[i], b);
    for (size_t i = 0; i < p->watch_count; i++)
        persist_watch_put_all(&p->watches[i], now, b);
    for (size_t i = 0; i < p->of->n; i++)
        persist_hook_lost(&p->hooks[i], b);
}

/* ---- Another cluster. */

/* Makes all hooks with this source forget it, and drops the fact that they have seen it: the
 * objects of the new cluster are then handled as at a first start. */
static void forget_source(struct persist *p, struct source of, struct batch *b)
{
    hooks_forget(p->of, of);
    for (size_t i = 0; i < p->of->n; i++) {
        const struct hook *h = p->of->v[i];

        for (size_t k = 0; k < h->source_count; k++)
            if (source_equal(h->sources[k].of, of))
                persist_hook_forget(&p->hooks[i], k, b);
    }
}

void persist_forget(struct persist *p, struct persist_watch *mw, struct batch *b)
{
    persist_watch_forget(mw, b);
    for (size_t i = 0; i < p->view_count; i++)
        view_forget(p->views[i], mw->watch);
    forget_source(p, (struct source){.watch = mw->watch}, b);
    for (size_t i = 0; i < p->view_count; i++)
        if (view_watch(p->views[i], 0) == mw->watch || view_watch(p->views[i], 1) == mw->watch)
            forget_source(p, (struct source){.view = p->views[i]}, b);
}

/* ---- From the state to watches and hooks, at the start. */

/* Equal watches are one watch with several names, and its rows are kept under one of them. Of these
 * names the one is used that the state has rows for, so that a new equal watch before it in the
 * configuration does not make informerd forget the rows; else the first name. */
static const struct persist_watch_params *kept_as(const struct persist *p,
                                                  const struct persist_params *params, size_t first)
{
    for (size_t i = first; i < params->watch_count; i++)
        if (params->watches[i].watch == params->watches[first].watch &&
            ids_find(p->ids, ROW_KIND_WATCH, 0, str_c(params->watches[i].name)) != 0)
            return &params->watches[i];
    return &params->watches[first];
}

static struct persist_watch *find_watch(struct persist *p, const struct watch *w)
{
    for (size_t i = 0; i < p->watch_count; i++)
        if (p->watches[i].watch == w)
            return &p->watches[i];
    return NULL;
}

static void load_watches(struct persist *p, const struct persist_params *params,
                         const struct restore *r, struct batch *b)
{
    p->watches = mem_array(params->watch_count + 1, sizeof(*p->watches));
    for (size_t i = 0; i < params->watch_count; i++)
        if (find_watch(p, params->watches[i].watch) == NULL)
            persist_watch_load(&p->watches[p->watch_count++], kept_as(p, params, i), &p->dirty, r,
                               b);
}

/* The watch whose keys a source has: of a view, the watch of its Services. */
static struct persist_watch *watch_of(struct persist *p, struct source s)
{
    struct persist_watch *mw = find_watch(p, s.view != NULL ? view_watch(s.view, 0) : s.watch);

    ensure(mw != NULL);
    return mw;
}

/* How much may be kept of the objects of a source. An object of a view is made of two watches, so
 * the stricter setting of both counts. */
static enum persist_bytes bytes_of(struct persist *p, struct source s)
{
    enum persist_bytes bytes = watch_of(p, s)->bytes;

    for (size_t i = 0; s.view != NULL && i < VIEW_WATCHES; i++) {
        enum persist_bytes other = find_watch(p, view_watch(s.view, i))->bytes;

        bytes = other > bytes ? other : bytes;
    }
    return bytes;
}

/* Tells the watch of the incarnations that a hook knows. successors: true = those that came after
 * another incarnation of their key, false = the others. An incarnation that has ended is left out:
 * its object is known to be gone. */
static void know_incarnations(struct persist_watch *mw, const struct restore_delivery *deliveries,
                              size_t n, bool successors)
{
    for (size_t i = 0; i < n; i++) {
        const struct delivery_record *m = &deliveries[i].delivery;

        if (!m->is_ended && ((m->note & DELIVERY_HAS_PREDECESSOR) != 0) == successors)
            persist_watch_know(mw, m->key, m->uid);
    }
}

/* Of two incarnations of a key the later one is in the cluster. It is told first, as
 * persist_watch_know() ignores a key that the cache has already. */
static void load_known(struct persist *p, const struct persist_hook *mh, const struct restore *r)
{
    for (size_t i = 0; i < mh->hook->source_count; i++) {
        struct persist_watch *mw = watch_of(p, mh->hook->sources[i].of);
        size_t n;
        const struct restore_delivery *deliveries = restore_deliveries(r, mh->sources[i].item, &n);

        know_incarnations(mw, deliveries, n, true);
        know_incarnations(mw, deliveries, n, false);
    }
}

static void load_hooks(struct persist *p, const struct persist_params *params,
                       const struct restore *r, struct persist_now now, struct batch *b)
{
    p->hooks = mem_array(p->of->n + 1, sizeof(*p->hooks));
    for (size_t i = 0; i < p->of->n; i++) {
        const struct hook *h = p->of->v[i];
        enum persist_bytes *bytes = mem_array(h->source_count + 1, sizeof(*bytes));

        for (size_t k = 0; k < h->source_count; k++)
            bytes[k] = bytes_of(p, h->sources[k].of);
        persist_hook_load(&p->hooks[i], &params->by_hook[i], bytes, r, now, b);
        load_known(p, &p->hooks[i], r);
        free(bytes);
    }
}

/* The last process ended before the cluster had said which one it is. The cluster may be another
 * one now, and objects that it does not have would count as deleted. So its objects and delivery
 * records are forgotten
 * (docs/decisions.md "A cold start lists first and asks for the cluster then"). */
static void drop_unnamed(struct persist *p, const struct restore *r, struct batch *b)
{
    bool any = false;

    for (size_t i = 0; i < p->watch_count; i++) {
        struct persist_watch *mw = &p->watches[i];
        const char *of = mw->was_of != NULL ? mw->was_of : watch_cluster(mw->watch);
        uint64_t item = ids_find(p->ids, ROW_KIND_CLUSTER, 0, str_c(of));

        if (mw->state == PERSIST_WATCH_EMPTY || restore_value(r, item, ROW_IDENTITY).p != NULL)
            continue;
        log_warn("saved state of the watch discarded: the cluster identity was unknown when it was "
                 "saved",
                 KV_STR("cluster", of), KV_STR("watch", mw->name));
        persist_forget(p, mw, b);
        any = true;
    }
    if (any)
        ids_drop_unused(p->ids, b);
}

static void add_left(struct persist *p, struct str hook, struct str path)
{
    p->left = mem_grow(p->left, p->left_count, sizeof(*p->left));
    p->left[p->left_count++] =
        (struct stray_left){mem_strndup(hook.p, hook.n), mem_strndup(path.p, path.n)};
}

static void load_left_of(struct persist *p, const struct restore *r, uint64_t item, struct str hook)
{
    size_t n;
    size_t files = 0;
    const struct restore_fact *facts = restore_facts(r, item, &n);

    for (size_t i = 0; i < n; i++) {
        if (facts[i].what != ROW_OUTPUT)
            continue;
        add_left(p, hook, facts[i].key);
        if (files++ < LOGGED_MAX)
            log_warn("obsolete output file left in place, its hook is not configured: remove it if "
                     "not needed",
                     KV_VIEW("hook", hook), KV_VIEW("file", facts[i].key));
    }
    if (files > LOGGED_MAX)
        log_warn("more obsolete output files left in place: informerctl status names them",
                 KV_VIEW("hook", hook), KV_U64("files", files - LOGGED_MAX));
}

/* Finds the files of hooks that were removed from the configuration, or renamed, and names them in
 * the log (docs/design.md "Output files"). The state forgets such a hook after GRACE_S. */
static void load_left(struct persist *p, const struct restore *r)
{
    for (size_t i = 0; i < r->item_count; i++) {
        struct str name = {0};

        if (r->items[i].kind == ROW_KIND_HOOK)
            name = ids_name(p->ids, r->items[i].id);
        if (name.n > 0 && hooks_find(p->of, name) == NULL)
            load_left_of(p, r, r->items[i].id, name);
    }
}

/* Watches first: hooks tell them which incarnations they know, and a cluster with loaded objects
 * begins in another state than one without. Items are swept when everything in the configuration
 * has been used. */
struct persist *persist_create(const struct persist_params *params, struct restore *r,
                               struct persist_now now, struct batch *b)
{
    struct persist *p = MEM_NEW(struct persist, .of = params->hooks, .views = params->views,
                                .view_count = params->view_count,
                                .cluster_count = params->cluster_count, .ids = r->ids);

    list_init(&p->dirty);
    load_watches(p, params, r, b);
    load_hooks(p, params, r, now, b);
    drop_unnamed(p, r, b);
    p->clusters = mem_array(p->cluster_count + 1, sizeof(*p->clusters));
    for (size_t i = 0; i < p->cluster_count; i++)
        persist_cluster_load(p, i, &params->clusters[i], r, now, b);
    load_left(p, r);
    ids_sweep(p->ids, b, now.wall_ns / 1000000000, GRACE_S);
    r->ids = NULL;
    return p;
}

void persist_destroy(struct persist **pp)
{
    struct persist *p = *pp;

    if (p == NULL)
        return;
    *pp = NULL;
    for (size_t i = 0; i < p->of->n; i++)
        persist_hook_fini(&p->hooks[i]);
    for (size_t i = 0; i < p->watch_count; i++)
        persist_watch_fini(&p->watches[i]);
    for (size_t i = 0; i < p->left_count; i++) {
        free(p->left[i].hook);
        free(p->left[i].file);
    }
    ids_destroy(&p->ids);
    free(p->left);
    free(p->clusters);
    free(p->hooks);
    free(p->watches);
    free(p);
}

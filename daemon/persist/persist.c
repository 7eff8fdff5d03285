/* SPDX-License-Identifier: Apache-2.0 */
#include "persist/persist.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "hook/reload.h"
#include "persist/row.h"

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

/* A hook that is gone, while its rows are put. */
struct putting_gone {
    const struct gone_hook *of;
    struct batch *b;
};

static void put_gone_file(void *arg, const struct files_seen *seen)
{
    const struct putting_gone *p = arg;
    struct buf text = {0};

    persist_row_put_file(&text, seen, seen->source_name);
    batch_fact(p->b, &(struct row_fact){.item = p->of->item,
                                        .what = ROW_OUTPUT,
                                        .key = seen->path,
                                        .value = buf_str(&text)});
    buf_free(&text);
}

static void drop_gone_file(void *arg, struct str path)
{
    const struct putting_gone *p = arg;

    batch_drop_fact(p->b, p->of->item, ROW_OUTPUT, path);
}

/* A reload that brings the hook back begins as at a first start. */
static void forget_rows(struct persist *p, uint64_t hook, struct batch *b)
{
    for (uint64_t id = 0; (id = ids_next(p->ids, ROW_KIND_SOURCE, hook, id)) != 0;)
        restore_forget(&p->rest, id);
    restore_forget(&p->rest, hook);
    ids_forget(p->ids, b, hook);
}

/* When a person has the hook forgotten, its item goes with all its rows. Files that could not be removed
 * get a new item, so that the next process names them. */
static void put_gone(struct persist *p, struct gone_hook *gh, struct batch *b)
{
    static const struct files_sink files = {put_gone_file, drop_gone_file};
    struct putting_gone putting = {gh, b};

    if (gh->item != 0)
        strays_put(&gh->files, &files, &putting);
    if (gh->item == 0 || !gone_is_done(gh))
        return;
    forget_rows(p, gh->item, b);
    if (!gone_dropped(gh))
        return;
    gh->item = ids_use(p->ids, b, ROW_KIND_HOOK, 0, str_c(gh->name));
    strays_put(&gh->files, &files, &putting);
}

bool persist_put_hooks(struct persist *p, struct batch *b)
{
    bool is_urgent = false;

    for (size_t i = 0; i < p->of->n; i++)
        is_urgent = persist_hook_put(&p->hooks[i], b) || is_urgent;
    for (size_t i = 0; i < p->gone.n; i++)
        put_gone(p, p->gone.v[i], b);
    return is_urgent;
}

void persist_sweep(struct persist *p, struct persist_now now, bool all, struct batch *b)
{
    for (size_t i = 0; i < p->watch_count; i++)
        persist_watch_sweep(p->watches[i], now, all, b);
}

/* First the items, which the other rows refer to, then the identities, without which the next start
 * would forget the objects. */
void persist_lost(struct persist *p, struct persist_now now, struct batch *b)
{
    ids_put_all(p->ids, b);
    for (size_t i = 0; i < p->cluster_count; i++)
        persist_cluster_put(&p->clusters[i], b);
    for (size_t i = 0; i < p->watch_count; i++)
        persist_watch_put_all(p->watches[i], now, b);
    for (size_t i = 0; i < p->of->n; i++)
        persist_hook_lost(&p->hooks[i], b);
    for (size_t i = 0; i < p->gone.n; i++)
        strays_touch_all(&p->gone.v[i]->files);
    /* The new file has no rows of hooks and sources that are not configured. */
    p->rest.ids = NULL;
    restore_fini(&p->rest);
}

/* ---- Another cluster. */

/* The rows as restore.h has them, for persist/hook. */
static struct restore *rest_of(struct persist *p)
{
    p->rest.ids = p->ids;
    return &p->rest;
}

/* Which unused items go with a cluster. */
struct dropping {
    const struct persist *of;
    const char *cluster;
};

/* A source that does not say of which cluster its rows are is one of an earlier release. */
static bool source_goes(const struct dropping *d, uint64_t source)
{
    struct str of = restore_value(&d->of->rest, source, ROW_CLUSTER);

    return of.p == NULL || str_is(of, d->cluster);
}

/* A hook goes if none of its sources is of another cluster. */
static bool hook_goes(const struct dropping *d, uint64_t hook)
{
    for (uint64_t id = 0; (id = ids_next(d->of->ids, ROW_KIND_SOURCE, hook, id)) != 0;)
        if (!source_goes(d, id))
            return false;
    return true;
}

/* Nobody knows here of which cluster the rows of a watch are, and a watch that comes back can list. */
static bool goes_with_cluster(void *arg, const struct row_item *item)
{
    const struct dropping *d = arg;

    switch (item->kind) {
    case ROW_KIND_CLUSTER:
    case ROW_KIND_WATCH:
    case ROW_KIND_SCOPE:
        break;
    case ROW_KIND_HOOK:
        return hook_goes(d, item->id);
    case ROW_KIND_SOURCE:
        return source_goes(d, item->id);
    }
    return true;
}

void persist_drop_unused(struct persist *p, const char *cluster, struct batch *b)
{
    struct dropping d = {p, cluster};

    ids_drop_unused(p->ids, b, goes_with_cluster, &d);
    restore_prune(rest_of(p));
}

/* Makes a hook forget a source, and drops the fact that it has seen it: the objects of the new cluster
 * are then handled as at a first start. */
static void forget_of_hook(struct persist *p, size_t hook, size_t source, struct batch *b)
{
    hooks_forget(p->of, p->of->v[hook], source);
    persist_hook_forget(&p->hooks[hook], source, b);
}

static void forget_source(struct persist *p, struct source of, struct batch *b)
{
    for (size_t i = 0; i < p->of->n; i++)
        for (size_t k = 0; k < p->of->v[i]->source_count; k++)
            if (source_equal(p->of->v[i]->sources[k].of, of))
                forget_of_hook(p, i, k, b);
}

/* The configured hook with these rows, or NULL. */
static const struct persist_hook *find_hook(const struct persist *p, uint64_t item)
{
    for (size_t i = 0; i < p->of->n; i++)
        if (p->hooks[i].item == item)
            return &p->hooks[i];
    return NULL;
}

static bool has_source(const struct persist_hook *mh, uint64_t item)
{
    for (size_t i = 0; i < mh->source_count; i++)
        if (mh->sources[i].item == item)
            return true;
    return false;
}

/* Forgets the rows of a source that the hook of this item does not have now. */
static void forget_rest_source(struct persist *p, uint64_t hook, const char *name, struct batch *b)
{
    const struct persist_hook *mh = find_hook(p, hook);
    uint64_t item = ids_find(p->ids, ROW_KIND_SOURCE, hook, str_c(name));

    if (item == 0 || (mh != NULL && has_source(mh, item)))
        return;
    restore_forget(&p->rest, item);
    ids_forget(p->ids, b, item);
}

void persist_forget_source(struct persist *p, const char *name, struct batch *b)
{
    for (size_t i = 0; i < p->of->n; i++)
        for (size_t k = 0; k < p->of->v[i]->source_count; k++)
            if (strcmp(p->of->v[i]->sources[k].name, name) == 0)
                forget_of_hook(p, i, k, b);
    for (uint64_t hook = 0; (hook = ids_next(p->ids, ROW_KIND_HOOK, 0, hook)) != 0;)
        forget_rest_source(p, hook, name, b);
}

void persist_sources_are_of(struct persist *p, const char *cluster, struct batch *b)
{
    for (size_t i = 0; i < p->of->n; i++)
        for (size_t k = 0; k < p->hooks[i].source_count; k++)
            if (strcmp(source_cluster(p->of->v[i]->sources[k].of), cluster) == 0)
                persist_hook_is_of(&p->hooks[i], k, cluster, b);
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
 * names the one is used whose rows are from its cluster: another one may have been moved here, and its
 * rows are from where it was. Else the one that has rows at all, so that a new equal watch before it in
 * the configuration does not make informerd forget them; else the first name. */
static const struct persist_watch_params *kept_as(const struct persist *p,
                                                  const struct persist_params *params, size_t first,
                                                  const struct restore *r)
{
    const struct watch *w = params->watches[first].watch;
    const struct persist_watch_params *any = NULL;

    for (size_t i = first; i < params->watch_count; i++) {
        const struct persist_watch_params *named = &params->watches[i];
        uint64_t item = ids_find(p->ids, ROW_KIND_WATCH, 0, str_c(named->name));

        if (named->watch != w || item == 0)
            continue;
        if (str_is(restore_value(r, item, ROW_CLUSTER), watch_cluster(w)))
            return named;
        any = any != NULL ? any : named;
    }
    return any != NULL ? any : &params->watches[first];
}

static void free_watch(struct persist_watch *mw)
{
    persist_watch_fini(mw);
    free(mw);
}

struct persist_watch *persist_find_watch(const struct persist *p, const struct watch *w)
{
    for (size_t i = 0; i < p->watch_count; i++)
        if (p->watches[i]->watch == w)
            return p->watches[i];
    return NULL;
}

static struct persist_watch *new_watch(struct persist *p)
{
    struct persist_watch *mw = mem_zalloc(sizeof(*mw));

    p->watches = mem_realloc(p->watches, (p->watch_count + 1) * sizeof(struct persist_watch *));
    p->watches[p->watch_count++] = mw;
    return mw;
}

static void load_watches(struct persist *p, const struct persist_params *params,
                         const struct restore *r, struct batch *b)
{
    for (size_t i = 0; i < params->watch_count; i++)
        if (persist_find_watch(p, params->watches[i].watch) == NULL)
            persist_watch_load(new_watch(p), kept_as(p, params, i, r), &p->dirty, r, b);
}

/* The watch whose keys a source has: of a view, the watch of its Services. */
static struct persist_watch *watch_of(struct persist *p, struct source s)
{
    struct persist_watch *mw =
        persist_find_watch(p, s.view != NULL ? view_watch(s.view, 0) : s.watch);

    ensure(mw != NULL);
    return mw;
}

/* How much may be kept of the objects of a source. An object of a view is made of two watches, so
 * the stricter setting of both counts. */
static enum persist_bytes bytes_of(struct persist *p, struct source s)
{
    enum persist_bytes bytes = watch_of(p, s)->bytes;

    for (size_t i = 0; s.view != NULL && i < VIEW_WATCHES; i++) {
        enum persist_bytes other = persist_find_watch(p, view_watch(s.view, i))->bytes;

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
static void load_known_of(struct persist *p, const struct persist_hook *mh, size_t source,
                          const struct restore *r)
{
    struct persist_watch *mw = watch_of(p, mh->hook->sources[source].of);
    size_t n;
    const struct restore_delivery *deliveries = restore_deliveries(r, mh->sources[source].item, &n);

    know_incarnations(mw, deliveries, n, true);
    know_incarnations(mw, deliveries, n, false);
}

/* The name of the cluster that the rows of a watch are from. */
static const char *rows_of(const struct persist_watch *mw)
{
    return mw->state != PERSIST_WATCH_SHOWN && mw->was_of != NULL ? mw->was_of
                                                                  : watch_cluster(mw->watch);
}

/* Are the rows of the source from another cluster than those of its watch? They are if the watch was
 * moved and is now one with a watch that was there before. While informerd runs, a reload forgets the
 * source (persist_forget_source()). */
static bool is_foreign(struct persist *p, const struct persist_hook *mh, size_t source,
                       const struct restore *r)
{
    const struct persist_watch *mw = watch_of(p, mh->hook->sources[source].of);
    const char *was = mh->sources[source].cluster;

    switch (persist_cluster_compare(p, r, was, rows_of(mw))) {
    case CLUSTER_IDENTITY_SAME:
        break;
    case CLUSTER_IDENTITY_OTHER:
        return true;
    case CLUSTER_IDENTITY_UNKNOWN:
        return strcmp(was, watch_cluster(mw->watch)) != 0;
    }
    return false;
}

static void discard_source(struct persist *p, size_t place, size_t source, struct restore *r,
                           struct batch *b)
{
    struct persist_hook *mh = &p->hooks[place];
    const struct hook_source *of = &mh->hook->sources[source];

    log_warn(
        "the records of a source of a hook are forgotten: they are from another cluster, and no "
        "object counts as deleted",
        KV_STR("hook", mh->hook->name), KV_STR("source", of->name),
        KV_STR("was_of", mh->sources[source].cluster), KV_STR("cluster", source_cluster(of->of)));
    restore_forget(r, mh->sources[source].item);
    forget_of_hook(p, place, source, b);
    persist_hook_is_of(mh, source, rows_of(watch_of(p, of->of)), b);
}

/* Before the watches hear of what the hook knows. */
static void discard_foreign(struct persist *p, size_t place, struct restore *r, struct batch *b)
{
    for (size_t i = 0; i < p->hooks[place].source_count; i++)
        if (is_foreign(p, &p->hooks[place], i, r))
            discard_source(p, place, i, r, b);
}

/* The sources of the hook, as its watches have them; an array to free. */
static struct persist_source_params *sources_of(struct persist *p, const struct hook *h)
{
    struct persist_source_params *v = mem_array(h->source_count + 1, sizeof(*v));

    for (size_t i = 0; i < h->source_count; i++)
        v[i] = (struct persist_source_params){bytes_of(p, h->sources[i].of),
                                              rows_of(watch_of(p, h->sources[i].of))};
    return v;
}

static void load_hook(struct persist *p, size_t place, const struct persist_hook_params *params,
                      struct restore *r, struct persist_now now, struct batch *b)
{
    struct persist_source_params *sources = sources_of(p, params->hook);

    persist_hook_load(&p->hooks[place], params, sources, r, now, b);
    free(sources);
    discard_foreign(p, place, r, b);
}

static void load_hooks(struct persist *p, const struct persist_params *params, struct restore *r,
                       struct persist_now now, struct batch *b)
{
    p->hooks = mem_array(p->of->n + 1, sizeof(*p->hooks));
    for (size_t i = 0; i < p->of->n; i++) {
        load_hook(p, i, &params->by_hook[i], r, now, b);
        for (size_t k = 0; k < p->hooks[i].source_count; k++)
            load_known_of(p, &p->hooks[i], k, r);
    }
}

/* Keeps the rows of a hook that is not configured, and of the sources that it has not any more: a
 * reload may bring them back. */
static void keep_rest_of(struct persist *p, struct restore *r, uint64_t item)
{
    const struct persist_hook *mh = find_hook(p, item);
    size_t n;
    const struct restore_item *sources = restore_children(r, item, &n);

    if (mh == NULL)
        restore_move(r, &p->rest, item);
    for (size_t i = 0; i < n; i++)
        if (mh == NULL || !has_source(mh, sources[i].id))
            restore_move(r, &p->rest, sources[i].id);
}

static void keep_rest(struct persist *p, struct restore *r)
{
    for (size_t i = 0; i < r->item_count; i++)
        if (r->items[i].kind == ROW_KIND_HOOK)
            keep_rest_of(p, r, r->items[i].id);
    restore_sort(&p->rest);
}

/* The last process ended before the cluster had said which one it is. The cluster may be another
 * one now, and objects that it does not have would count as deleted. So its objects and delivery
 * records are forgotten
 * (docs/decisions.md "A cold start lists first and asks for the cluster then"). */
static bool drop_unnamed(struct persist *p, const struct restore *r, struct batch *b)
{
    bool any = false;

    for (size_t i = 0; i < p->watch_count; i++) {
        struct persist_watch *mw = p->watches[i];
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
    return any;
}

/* Drops the rows of such clusters that the configuration does not have. */
static void drop_unused_of_unnamed(struct persist *p, const struct restore *r, struct batch *b)
{
    for (size_t i = 0; i < r->item_count; i++)
        if (r->items[i].kind == ROW_KIND_CLUSTER &&
            restore_value(r, r->items[i].id, ROW_IDENTITY).p == NULL) {
            struct str is = ids_name(p->ids, r->items[i].id);
            char *name = mem_strndup(is.p, is.n);

            persist_drop_unused(p, name, b);
            free(name);
        }
}

static void load_gone_file(struct gone_hook *gh, const struct restore_fact *fact)
{
    struct files_seen seen = {.path = fact->key, .source = SIZE_MAX};

    if (fact->what == ROW_OUTPUT && persist_row_file(fact->value, &seen, &seen.source_name))
        gone_add_file(gh, &seen);
}

static void log_gone(const struct persist *p, const struct gone_hook *gh)
{
    size_t files = 0;

    list_each (pos, tmp, &gh->files.all) {
        const struct stray *x = list_entry(pos, struct stray, link);

        if (gone_is_left(p->of, x) && files++ < LOGGED_MAX)
            log_warn(
                "output file of a hook that is not configured any more stays: informerctl forget "
                "HOOK --files removes it",
                KV_STR("hook", gh->name), KV_STR("file", x->path));
    }
    if (files > LOGGED_MAX)
        log_warn(
            "more output files of a hook that is not configured any more stay: informerctl status "
            "-o json names them",
            KV_STR("hook", gh->name), KV_U64("files", files - LOGGED_MAX));
}

/* Takes the files of a hook that was removed from the configuration, or renamed, and names them in the
 * log (docs/design.md "Files of hooks that are gone"). The state forgets a hook without files after
 * GRACE_S, and of one with files all but these. */
static void load_gone_hook(struct persist *p, const struct restore *r, uint64_t item,
                           struct str name)
{
    struct gone_hook *gh = gone_add(&p->gone, name, item);
    size_t n;
    const struct restore_fact *facts = restore_facts(r, item, &n);

    for (size_t k = 0; k < n; k++)
        load_gone_file(gh, &facts[k]);
    if (gh->files.left > 0)
        ids_keep(p->ids, gh->item);
    log_gone(p, gh);
}

static void load_gone(struct persist *p, const struct restore *r)
{
    for (size_t i = 0; i < r->item_count; i++) {
        struct str name = {0};

        if (r->items[i].kind == ROW_KIND_HOOK)
            name = ids_name(p->ids, r->items[i].id);
        if (name.n > 0 && hooks_find(p->of, name) == NULL)
            load_gone_hook(p, r, r->items[i].id, name);
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
    load_gone(p, r);
    bool unnamed = drop_unnamed(p, r, b);
    p->clusters = mem_array(p->cluster_count + 1, sizeof(*p->clusters));
    for (size_t i = 0; i < p->cluster_count; i++)
        persist_cluster_load(p, i, &params->clusters[i], r, now, b);
    keep_rest(p, r);
    ids_sweep(p->ids, b, now.wall_ns / 1000000000, GRACE_S);
    if (unnamed)
        drop_unused_of_unnamed(p, r, b);
    r->ids = NULL;
    return p;
}

/* ---- Clusters, watches and hooks of a reload. */

void persist_set_clusters(struct persist *p, const struct persist_cluster_params *clusters,
                          const size_t *was, size_t n, struct batch *b)
{
    struct persist_cluster *old = p->clusters;
    size_t *now_at = mem_array(p->cluster_count + 1, sizeof(*now_at));

    p->clusters = mem_array(n + 1, sizeof(*p->clusters));
    for (size_t i = 0; i < n; i++)
        if (was[i] != SIZE_MAX) {
            p->clusters[i] = old[was[i]];
            p->clusters[i].params = clusters[i];
            now_at[was[i]] = i;
        }
    for (size_t i = 0; i < p->watch_count; i++)
        p->watches[i]->cluster = now_at[p->watches[i]->cluster];
    p->cluster_count = n;
    for (size_t i = 0; i < n; i++)
        if (was[i] == SIZE_MAX)
            persist_cluster_add(p, i, &clusters[i], b);
    free(now_at);
    free(old);
}

void persist_set_views(struct persist *p, struct view *const *views, size_t n)
{
    p->views = views;
    p->view_count = n;
}

/* The state may have rows of a watch of that name, which an earlier configuration had: they are not
 * in memory, and too old to go on from. */
struct persist_watch *persist_add_watch(struct persist *p,
                                        const struct persist_watch_params *params, struct batch *b)
{
    uint64_t item = ids_find(p->ids, ROW_KIND_WATCH, 0, str_c(params->name));
    struct persist_watch *mw = new_watch(p);

    if (item != 0)
        ids_forget(p->ids, b, item);
    persist_watch_load(mw, params, &p->dirty, rest_of(p), b);
    mw->state = PERSIST_WATCH_ADDED;
    return mw;
}

bool persist_begin_watch(struct persist *p, struct persist_watch *mw, struct persist_now now)
{
    if (mw->state == PERSIST_WATCH_ADDED)
        mw->state = PERSIST_WATCH_EMPTY;
    return mw->state == PERSIST_WATCH_LOADED && persist_cluster_begin(p, mw, now);
}

void persist_drop_watch(struct persist *p, const struct watch *w, struct batch *b)
{
    struct persist_watch *mw = persist_find_watch(p, w);
    size_t i = 0;

    ensure(mw != NULL);
    while (p->watches[i] != mw)
        i++;
    ids_forget(p->ids, b, mw->item);
    free_watch(mw);
    memmove(&p->watches[i], &p->watches[i + 1],
            (--p->watch_count - i) * sizeof(struct persist_watch *));
}

void persist_replace_watch(struct persist *p, const struct watch *old,
                           const struct persist_watch_params *params, struct batch *b)
{
    struct persist_watch *mw = persist_find_watch(p, old);

    ensure(mw != NULL);
    persist_watch_replaced(mw, params, p->ids, b);
}

void persist_split_watch(struct persist *p, const struct watch *old,
                         const struct persist_watch_params *params, struct batch *b)
{
    struct persist_watch *mw = new_watch(p);

    persist_watch_split(mw, persist_find_watch(p, old), params, p->ids, b);
}

static size_t place_of(const struct persist *p, const struct hook *h)
{
    size_t i = 0;

    while (i < p->of->n && p->of->v[i] != h)
        i++;
    ensure(i < p->of->n);
    return i;
}

/* Files whose rows are not kept in memory: a person had the hook forgotten and they could not be removed,
 * or the state was lost. Then their rows may not be on disk either, so they are put again. */
static void take_gone_files(struct persist *p, struct persist_hook *mh)
{
    const struct gone_hook *gh = gone_find(&p->gone, str_c(mh->hook->name));

    if (gh == NULL || list_is_empty(&gh->files.all))
        return;
    list_each (pos, tmp, &gh->files.all) {
        const struct stray *x = list_entry(pos, struct stray, link);

        persist_hook_load_file(mh, rest_of(p),
                               &(struct files_seen){.path = str_c(x->path),
                                                    .source_name = str_c(x->source_name),
                                                    .key = str_c(x->key),
                                                    .digest = x->digest});
    }
    files_touch_all(&mh->hook->files);
    strays_touch_all(&mh->hook->strays);
}

/* The hook has taken its rows and files: they are not kept for its return any more. */
static void forget_rest(struct persist *p, const struct persist_hook *mh)
{
    restore_forget(&p->rest, mh->item);
    for (size_t i = 0; i < mh->source_count; i++)
        restore_forget(&p->rest, mh->sources[i].item);
    gone_remove(&p->gone, str_c(mh->hook->name));
}

/* Tells the watches that the same reload has added which incarnations the hook knows, as at a start:
 * of those that have ended since, a list then tells the end. */
static void know_added(struct persist *p, const struct persist_hook *mh)
{
    for (size_t i = 0; i < mh->hook->source_count; i++) {
        const struct persist_watch *mw = watch_of(p, mh->hook->sources[i].of);

        if (mw->state == PERSIST_WATCH_ADDED || mw->state == PERSIST_WATCH_LOADED)
            load_known_of(p, mh, i, rest_of(p));
    }
}

void persist_add_hook(struct persist *p, const struct persist_hook_params *params,
                      struct persist_now now, struct batch *b)
{
    size_t place = place_of(p, params->hook);

    ensure(place == p->of->n - 1);
    p->hooks = mem_realloc(p->hooks, (p->of->n + 1) * sizeof(*p->hooks));
    load_hook(p, place, params, rest_of(p), now, b);
    take_gone_files(p, &p->hooks[place]);
    know_added(p, &p->hooks[place]);
    forget_rest(p, &p->hooks[place]);
}

/* Puts the changes of the hook into b, and all rows of it into p->rest. */
static void put_aside(struct persist *p, struct persist_hook *mh, struct batch *b)
{
    struct batch all = {.release = persist_row_release};

    (void)persist_hook_put(mh, b);
    persist_hook_put_all(mh, &all);
    restore_add_batch(&p->rest, &all);
    batch_fini(&all);
}

void persist_drop_hook(struct persist *p, struct hook *h, struct persist_now now, struct batch *b)
{
    size_t place = place_of(p, h);
    struct persist_hook *mh = &p->hooks[place];

    put_aside(p, mh, b);
    persist_hook_leave(mh, p->ids, now, b);
    load_gone_hook(p, &p->rest, mh->item, str_c(h->name));
    persist_hook_fini(mh);
    memmove(mh, mh + 1, (p->of->n - place - 1) * sizeof(*mh));
    hooks_remove(p->of, &h);
}

struct hook *persist_replace_hook(struct persist *p, struct hook *old, struct hook_params *hook,
                                  const struct persist_hook_params *params, struct persist_now now,
                                  struct batch *b)
{
    struct persist_hook *mh = &p->hooks[place_of(p, old)];
    struct persist_hook_params is = *params;

    put_aside(p, mh, b);
    is.hook = hooks_replace(p->of, old, hook, (struct now){.ms = now.ms, .wall_ns = now.wall_ns});
    struct persist_source_params *sources = sources_of(p, is.hook);
    persist_hook_replaced(mh, &is, sources, rest_of(p), now, b);
    free(sources);
    discard_foreign(p, place_of(p, is.hook), rest_of(p), b);
    know_added(p, mh);
    forget_rest(p, mh);
    return is.hook;
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
        free_watch(p->watches[i]);
    gone_fini(&p->gone);
    p->rest.ids = NULL;
    restore_fini(&p->rest);
    ids_destroy(&p->ids);
    free(p->clusters);
    free(p->hooks);
    free(p->watches);
    free(p);
}

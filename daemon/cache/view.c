/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/view.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "cache/view_join.h"

struct view {
    char *name;
    struct watch *services;
    struct watch *slices;
    char *node_name;
    bool local_only;
    uint64_t hold_empty_ms;
    struct view_join *join;
    bool synced;
    bool stale; /* as on_stale told last */
    struct subscribers subscribers;
};

static void on_store_delta(void *arg, const struct delta *d)
{
    const struct view *v = arg;

    for (size_t i = 0; i < v->subscribers.n; i++) {
        const struct subscription *s = &v->subscribers.v[i];

        if (s->to->on_delta != NULL)
            s->to->on_delta(s->arg, (struct source){.view = v}, d);
    }
}

/* Both only note the change: a burst of deltas is joined once, in view_tick(). */
static void on_service(void *arg, struct source from, const struct delta *d)
{
    const struct view *v = arg;

    (void)from;
    view_join_service(v->join, d);
}

static void on_backends(void *arg, struct source from, const struct delta *d)
{
    const struct view *v = arg;

    (void)from;
    view_join_backends(v->join, d);
}

static const struct subscriber to_services = {.on_delta = on_service, .on_restored = on_service};
static const struct subscriber to_slices = {.on_delta = on_backends, .on_restored = on_backends};

/* The delta by which a view learns of an object that its watch already has. */
static struct delta found(struct object *o)
{
    return (struct delta){.type = DELTA_ADDED, .cause = CAUSE_RELIST, .object = o};
}

static void load_service(void *arg, struct object *o)
{
    const struct view *v = arg;
    const struct delta d = found(o);

    view_join_service(v->join, &d);
}

static void load_slice(void *arg, struct object *o)
{
    const struct view *v = arg;
    const struct delta d = found(o);

    view_join_backends(v->join, &d);
}

/* Makes an empty join and takes in the objects that the watches have now. The resource is known by
 * name even before discovery has found its version. */
static void begin_join(struct view *v)
{
    bool slices = strcmp(watch_target(v->slices)->plural, "endpointslices") == 0;

    v->join = view_join_create(
        &(struct view_join_params){
            .cluster = watch_cluster(v->services),
            .node_name = v->node_name,
            .from = slices ? VIEW_JOIN_SLICES : VIEW_JOIN_ENDPOINTS,
            .local_only = v->local_only,
            .hold_empty_ms = v->hold_empty_ms,
        },
        on_store_delta, v);
    store_each(watch_store(v->services), load_service, v);
    store_each(watch_store(v->slices), load_slice, v);
}

struct view *view_create(const struct view_params *p)
{
    struct view *v = mem_zalloc(sizeof(*v));

    v->name = mem_strdup(p->name);
    v->services = p->services;
    v->slices = p->slices;
    v->node_name = mem_strdup(p->node_name);
    v->local_only = p->local_only;
    v->hold_empty_ms = p->hold_empty_ms;
    begin_join(v);
    watch_subscribe(v->services, &to_services, v);
    watch_subscribe(v->slices, &to_slices, v);
    return v;
}

void view_subscribe(struct view *v, const struct subscriber *to, void *arg)
{
    subscribers_add(&v->subscribers, to, arg);
}

void view_forget(struct view *v, const struct watch *w)
{
    if (w != v->services && w != v->slices)
        return;
    view_join_destroy(&v->join);
    begin_join(v);
    v->synced = false;
}

void view_destroy(struct view **vp)
{
    struct view *v = *vp;

    if (v == NULL)
        return;
    *vp = NULL;
    watch_unsubscribe(v->services, &to_services, v);
    watch_unsubscribe(v->slices, &to_slices, v);
    subscribers_fini(&v->subscribers);
    view_join_destroy(&v->join);
    free(v->node_name);
    free(v->name);
    free(v);
}

void view_restored(struct view *v, struct now now)
{
    if (!v->synced)
        view_join_flush(v->join, now);
}

/* Is no better content of this watch on its way? If a watch is stale, a new list may not come for
 * long, and the view goes on with what it has (docs/design.md "Views"). */
static bool is_settled(const struct watch *w)
{
    return watch_settled(w) || watch_stale(w);
}

/* Joins before it tells staleness, so that hooks hear of a stale view with its newest objects. */
uint64_t view_tick(struct view *v, struct now now)
{
    bool wants = !v->synced || view_join_wants(v->join, now.ms);
    bool shows = wants && is_settled(v->services) && is_settled(v->slices);

    if (shows) {
        view_join_flush(v->join, now);
        v->synced = true;
    }
    bool stale = v->synced && (watch_stale(v->services) || watch_stale(v->slices));
    if (stale != v->stale) {
        v->stale = stale;
        log_emit(stale ? LOG_LVL_WARN : LOG_LVL_INFO,
                 stale ? "view is stale" : "view is fresh again",
                 LOG_FIELDS(KV_STR("cluster", view_cluster(v)), KV_STR("view", v->name)));
        subscribers_stale(&v->subscribers, (struct source){.view = v}, stale, now);
    }
    /* A view that has to wait for a watch looks again when that watch changes, not at a time. */
    return wants && !shows ? UINT64_MAX : view_join_due_ms(v->join);
}

const char *view_name(const struct view *v)
{
    return v->name;
}

const char *view_cluster(const struct view *v)
{
    return watch_cluster(v->services);
}

bool view_synced(const struct view *v)
{
    return v->synced;
}

bool view_stale(const struct view *v)
{
    return v->stale;
}

const struct watch *view_watch(const struct view *v, size_t i)
{
    return i == 0 ? v->services : v->slices;
}

const struct store *view_store(const struct view *v)
{
    return view_join_store(v->join);
}

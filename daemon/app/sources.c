/* SPDX-License-Identifier: Apache-2.0 */
#include "app/sources.h"

#include <stdlib.h>

#include "app/build.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "cache/view.h"
#include "io/deadline.h"
#include "io/loop.h"

struct sources {
    struct sources_params params;
    const struct sources_events *events;
    void *arg;
    struct admin_watch *watches; /* as conf->watches */
    struct digest *settings;     /* the same; set only for the first of equal watches */
    struct view **views;         /* as conf->views; NULL until made */
    /* The time at which a view may change although nothing comes from a server. */
    struct deadline *look;
};

static void tell_stale(struct sources *s, struct source from, bool stale, uint64_t wall_ns)
{
    static const char *const texts[2][2] = {
        {"watch is fresh again", "watch is stale"},
        {"view is fresh again",  "view is stale" },
    };
    bool view = from.view != NULL;

    log_emit(stale ? LOG_LVL_WARN : LOG_LVL_INFO, texts[view][stale],
             LOG_FIELDS(KV_STR("cluster", source_cluster(from)),
                        KV_STR(view ? "view" : "watch", source_name(from))));
    s->events->on_stale(s->arg, from, stale, wall_ns);
}

/* ---- Watches */

/* Hooks hear of a watch before the views that are made of it; a view tells its own deltas later, in
 * sources_progress(). */
static void on_watch_delta(void *arg, struct watch *w, const struct delta *d)
{
    const struct sources *s = arg;

    s->events->on_delta(s->arg, (struct source){.watch = w}, d);
    for (size_t i = 0; i < s->params.conf->n_views; i++)
        view_delta(s->views[i], w, d);
}

static void on_watch_kept(void *arg, struct watch *w, size_t scope, struct object *o, bool gone)
{
    const struct sources *s = arg;

    s->events->on_kept(s->arg, w, scope, o, gone);
}

static void on_watch_skipped(void *arg, struct watch *w, const struct skip *skip, bool gone)
{
    const struct sources *s = arg;

    s->events->on_skipped(s->arg, w, skip, gone);
}

static void on_watch_stale(void *arg, struct watch *w, bool stale, uint64_t wall_ns)
{
    tell_stale(arg, (struct source){.watch = w}, stale, wall_ns);
}

/* The watch of an earlier entry of conf->watches that differs in its name only, or NULL. Such
 * entries share one watch, and so its streams. */
static struct watch *equal_watch(const struct sources *s, size_t i)
{
    const struct conf *conf = s->params.conf;

    for (size_t k = 0; k < i; k++)
        if (conf_watch_equal(&conf->watches[k], &conf->watches[i]))
            return s->watches[k].watch;
    return NULL;
}

static struct watch *make_watch(struct sources *s, size_t i)
{
    static const struct watch_events events = {on_watch_delta, on_watch_stale, on_watch_kept,
                                               on_watch_skipped};
    const struct build_watches b = {
        .conf = s->params.conf, .node_name = s->params.node_name, .events = &events, .arg = s};
    struct watch *w = equal_watch(s, i);
    struct err err;

    if (w == NULL &&
        build_watch(&b, &s->params.conf->watches[i], &w, &s->settings[i], &err) != ERR_OK)
        panic("a checked watch cannot be built: %s", err.text);
    return w;
}

static struct watch *watch_named(const struct sources *s, const char *name)
{
    const struct conf_watch *w = conf_find_watch(s->params.conf, name);

    return w != NULL ? s->watches[w - s->params.conf->watches].watch : NULL;
}

/* ---- Views */

static void on_view_delta(void *arg, struct view *v, const struct delta *d)
{
    const struct sources *s = arg;

    s->events->on_delta(s->arg, (struct source){.view = v}, d);
}

static void on_view_stale(void *arg, struct view *v, bool stale, uint64_t wall_ns)
{
    tell_stale(arg, (struct source){.view = v}, stale, wall_ns);
}

static struct view *make_view(struct sources *s, const struct conf_view *v)
{
    static const struct view_events events = {on_view_delta, on_view_stale};
    const struct view_params p = build_view(v, watch_named(s, v->services.v),
                                            watch_named(s, v->slices.v), s->params.node_name);

    return view_create(&p, &events, s);
}

/* Lets a view look at its watches and the clock. Returns when it wants to look again, in ms;
 * UINT64_MAX = not before something comes. */
static uint64_t look_at(struct view *v, struct list_watch_now now)
{
    bool was_synced = view_synced(v);
    uint64_t next_ms = view_tick(v, now);

    if (!was_synced && view_synced(v))
        log_info("view synced", KV_STR("cluster", view_cluster(v)), KV_STR("view", view_name(v)),
                 KV_U64("objects", store_count(view_store(v))));
    return next_ms;
}

void sources_progress(struct sources *s)
{
    const struct list_watch_now now = {.ms = loop_now_ms(s->params.loop),
                                       .wall_ns = loop_wall_ns()};
    uint64_t soonest_ms = UINT64_MAX;

    for (size_t i = 0; i < s->params.conf->n_views; i++) {
        uint64_t next_ms = look_at(s->views[i], now);

        if (next_ms < soonest_ms)
            soonest_ms = next_ms;
    }
    if (soonest_ms == UINT64_MAX)
        deadline_stop(s->look);
    else
        deadline_start(s->look, soonest_ms > now.ms ? soonest_ms - now.ms : 0);
}

static void on_look(void *arg)
{
    const struct sources *s = arg;

    s->events->on_progress(s->arg);
}

/* ---- All sources */

struct sources *sources_create(const struct sources_params *params,
                               const struct sources_events *events, void *arg)
{
    const struct conf *conf = params->conf;
    struct sources *s = MEM_NEW(struct sources, .params = *params, .events = events, .arg = arg);

    s->look = deadline_create(params->loop, on_look, s);
    s->watches = mem_array(conf->n_watches + 1, sizeof(*s->watches));
    s->settings = mem_array(conf->n_watches + 1, sizeof(*s->settings));
    for (size_t i = 0; i < conf->n_watches; i++)
        s->watches[i] =
            (struct admin_watch){.name = conf->watches[i].name.v, .watch = make_watch(s, i)};
    s->views = mem_array(conf->n_views + 1, sizeof(struct view *));
    for (size_t i = 0; i < conf->n_views; i++)
        s->views[i] = make_view(s, &conf->views[i]);
    return s;
}

void sources_follow(struct sources *s, struct cluster_runtime *const *clusters)
{
    const struct conf *conf = s->params.conf;

    for (size_t i = 0; i < conf->n_watches; i++) {
        const struct conf_watch *w = &conf->watches[i];
        size_t cluster_runtime = (size_t)(conf_find_cluster(conf, w->cluster.v) - conf->clusters);

        if (equal_watch(s, i) == NULL)
            cluster_runtime_add(clusters[cluster_runtime], s->watches[i].watch, w->audit.v);
    }
}

void sources_forget(struct sources *s, const struct watch *w)
{
    for (size_t i = 0; i < s->params.conf->n_views; i++)
        view_forget(s->views[i], w);
}

/* For restore_object(). */
struct restoring {
    const struct sources *s;
    struct watch *w;
    uint64_t wall_ns;
};

static void restore_object(void *arg, struct object *o)
{
    const struct restoring *r = arg;
    /* The same delta as for a new object, with the cause that says why: comparison with the
     * remembered state. */
    const struct delta d = {
        .type = DELTA_ADDED, .cause = CAUSE_RESTART, .object = o, .received_ns = r->wall_ns};

    r->s->events->on_restored(r->s->arg, (struct source){.watch = r->w}, &d);
    for (size_t i = 0; i < r->s->params.conf->n_views; i++)
        view_delta(r->s->views[i], r->w, &d);
}

void sources_restore(struct sources *s, struct watch *w)
{
    struct restoring r = {s, w, loop_wall_ns()};

    store_each(watch_store(w), restore_object, &r);
}

void sources_restored(struct sources *s)
{
    const struct list_watch_now now = {.ms = loop_now_ms(s->params.loop),
                                       .wall_ns = loop_wall_ns()};

    for (size_t i = 0; i < s->params.conf->n_views; i++)
        view_restored(s->views[i], now);
}

struct digest sources_settings(const struct sources *s, size_t i)
{
    return s->settings[s->params.conf->watches[i].first];
}

/* Has each scope of the watch synced? Before the resource is known there are scopes but no
 * list_watches, and the watch is not read. */
static bool is_read(const struct watch *w)
{
    size_t n = 0;

    while (n < watch_list_watch_count(w) && list_watch_status(watch_list_watch(w, n)).synced)
        n++;
    return n == watch_scope_count(w);
}

bool sources_read(const struct sources *s)
{
    for (size_t i = 0; i < s->params.conf->n_watches; i++)
        if (!is_read(s->watches[i].watch))
            return false;
    for (size_t i = 0; i < s->params.conf->n_views; i++)
        if (!view_synced(s->views[i]))
            return false;
    return true;
}

const struct admin_watch *sources_watches(const struct sources *s)
{
    return s->watches;
}

size_t sources_watch_count(const struct sources *s)
{
    return s->params.conf->n_watches;
}

struct view *const *sources_views(const struct sources *s)
{
    return s->views;
}

struct source sources_find(const struct sources *s, const char *name)
{
    const struct conf_view *v = conf_find_view(s->params.conf, name);

    if (v != NULL)
        return (struct source){.view = s->views[v - s->params.conf->views]};
    struct watch *w = watch_named(s, name);
    ensure(w != NULL);
    return (struct source){.watch = w};
}

void sources_close(struct sources *s)
{
    deadline_dispose(&s->look);
}

void sources_destroy(struct sources **sp)
{
    struct sources *s = *sp;

    if (s == NULL)
        return;
    *sp = NULL;
    for (size_t i = 0; i < s->params.conf->n_views; i++)
        view_destroy(&s->views[i]);
    /* The first of equal watches last, as the others look at it. */
    for (size_t i = s->params.conf->n_watches; i-- > 0;)
        if (equal_watch(s, i) == NULL)
            watch_destroy(&s->watches[i].watch);
    free(s->views);
    free(s->settings);
    free(s->watches);
    free(s);
}

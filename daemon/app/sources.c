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

/* One that wants to know of all watches and views, also of those that a reload adds. */
struct follower {
    const struct subscriber *to;
    void *arg;
};

struct sources {
    struct sources_params params;
    struct admin_watch *watches; /* as conf->watches */
    struct digest *settings;     /* the same; set only for the first of equal watches */
    struct view **views;         /* as conf->views; NULL until made */
    /* The time at which a view may change although nothing comes from a server. */
    struct deadline *look;
    struct memory_limit memory; /* limits.memory, which all watches share */
    struct follower *followers;
    size_t follower_count;
};

/* Is the entry the first of equal ones, which share one watch, and so its streams? */
static bool is_first(const struct sources *s, size_t i)
{
    return s->params.conf->watches[i].first == i;
}

static struct watch *make_watch(struct sources *s, size_t i)
{
    const struct conf *conf = s->params.conf;
    struct watch *w;
    struct err err;

    if (build_watch(conf, &conf->watches[i], s->params.node_name, &w, &s->settings[i], &err) !=
        ERR_OK)
        panic("a checked watch cannot be built: %s", err.text);
    watch_limit_memory(w, &s->memory);
    return w;
}

/* Fills in the entry i, which has this watch. */
static void put_watch(struct sources *s, size_t i, struct watch *w)
{
    s->watches[i] = (struct admin_watch){.name = s->params.conf->watches[i].name.v, .watch = w};
}

static struct watch *watch_named(const struct sources *s, const char *name)
{
    const struct conf_watch *w = conf_find_watch(s->params.conf, name);

    return w != NULL ? s->watches[w - s->params.conf->watches].watch : NULL;
}

/* ---- Views */

static struct view *make_view(struct sources *s, const struct conf_view *v)
{
    const struct view_params p = build_view(v, watch_named(s, v->services.v),
                                            watch_named(s, v->slices.v), s->params.node_name);

    return view_create(&p);
}

/* Lets a view look at its watches and the clock. Returns when it wants to look again, in ms;
 * UINT64_MAX = not before something comes. */
static uint64_t look_at(struct view *v, struct now now)
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
    const struct now now = {.ms = loop_now_ms(s->params.loop), .wall_ns = loop_wall_ns()};
    uint64_t soonest_ms = UINT64_MAX;

    for (size_t i = 0; i < s->params.conf->n_views; i++) {
        uint64_t next_ms = look_at(s->views[i], now);

        if (next_ms < soonest_ms)
            soonest_ms = next_ms;
    }
    deadline_start_at(s->look, soonest_ms);
}

bool sources_wait(const struct sources *s)
{
    return deadline_pending(s->look);
}

/* ---- All sources */

static void make_arrays(struct sources *s)
{
    const struct conf *conf = s->params.conf;

    s->watches = mem_array(conf->n_watches + 1, sizeof(*s->watches));
    s->settings = mem_array(conf->n_watches + 1, sizeof(*s->settings));
    s->views = mem_array(conf->n_views + 1, sizeof(struct view *));
}

static void free_arrays(struct sources *s)
{
    free(s->views);
    free(s->settings);
    free(s->watches);
}

struct sources *sources_create(const struct sources_params *params)
{
    const struct conf *conf = params->conf;
    struct sources *s = MEM_NEW(struct sources, .params = *params);

    s->memory.bytes = conf->limits.memory.v;
    s->look = deadline_create(params->loop, params->on_progress, params->arg);
    make_arrays(s);
    for (size_t i = 0; i < conf->n_watches; i++)
        put_watch(s, i,
                  is_first(s, i) ? make_watch(s, i) : s->watches[conf->watches[i].first].watch);
    for (size_t i = 0; i < conf->n_views; i++)
        s->views[i] = make_view(s, &conf->views[i]);
    return s;
}

void sources_subscribe(struct sources *s, const struct subscriber *to, void *arg)
{
    s->followers = mem_grow(s->followers, s->follower_count, sizeof(*s->followers));
    s->followers[s->follower_count++] = (struct follower){to, arg};
    for (size_t i = 0; i < s->params.conf->n_watches; i++)
        if (is_first(s, i))
            watch_subscribe(s->watches[i].watch, to, arg);
    for (size_t i = 0; i < s->params.conf->n_views; i++)
        view_subscribe(s->views[i], to, arg);
}

void sources_follow(struct sources *s, struct cluster_runtime *const *clusters)
{
    const struct conf *conf = s->params.conf;

    for (size_t i = 0; i < conf->n_watches; i++) {
        const struct conf_watch *w = &conf->watches[i];
        size_t cluster_runtime = (size_t)(conf_find_cluster(conf, w->cluster.v) - conf->clusters);

        if (is_first(s, i))
            cluster_runtime_add(clusters[cluster_runtime], s->watches[i].watch, w->audit.v);
    }
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

    while (n < watch_list_watch_count(w) && list_watch_synced(watch_list_watch(w, n)))
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

/* ---- A reload. */

static void add_move(struct sources_moves *m, const struct sources_move *move)
{
    m->v = mem_grow(m->v, m->n, sizeof(*m->v));
    m->v[m->n++] = *move;
}

/* The name whose old watch has the objects for a new watch: the first of its names that was in the same
 * cluster before. */
static const struct reload_entry *find_before(const struct reload_entry *entries, size_t n,
                                              size_t first)
{
    for (size_t i = first; i < n; i++)
        if (entries[i].first == first && entries[i].was != RELOAD_NONE)
            return &entries[i];
    return &entries[first];
}

/* The watch of an entry that is the first of equal ones: the old watch, or a new one. */
static struct watch *change_watch(struct sources *s, const struct sources *was,
                                  const struct reload_plan *plan, size_t first, struct now now,
                                  struct sources_moves *m)
{
    const struct reload_entry *e = &plan->watches.v[first];
    const struct reload_entry *known =
        find_before(plan->watches.v, s->params.conf->n_watches, first);
    struct watch *before = known->was != RELOAD_NONE ? was->watches[known->was].watch : NULL;

    if (e->change == RELOAD_KEEP || e->change == RELOAD_CHANGE) {
        s->settings[first] = was->settings[was->params.conf->watches[e->was].first];
        return before;
    }
    struct watch *w = make_watch(s, first);
    if (before != NULL)
        watch_inherit(w, before, now);
    add_move(m, &(struct sources_move){.from = before, .to = w, .now = first, .kept = known->now});
    return w;
}

static bool has_watch(const struct sources *s, const struct watch *w)
{
    for (size_t i = 0; i < s->params.conf->n_watches; i++)
        if (s->watches[i].watch == w)
            return true;
    return false;
}

/* The watch is in use no longer: the first that has inherited from it takes its place. */
static void leave(struct sources_moves *m, struct watch *w)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->v[i].from == w) {
            m->v[i].leaves = true;
            return;
        }
    add_move(m, &(struct sources_move){
                    .from = w, .now = RELOAD_NONE, .kept = RELOAD_NONE, .leaves = true});
}

static void change_views(struct sources *s, const struct sources *was,
                         const struct reload_plan *plan, struct sources_moves *m)
{
    const struct conf *conf = s->params.conf;

    m->views = mem_array(was->params.conf->n_views + 1, sizeof(struct view *));
    m->is_new_view = mem_array(conf->n_views + 1, sizeof(bool));
    for (size_t i = 0; i < conf->n_views; i++) {
        const struct reload_entry *e = &plan->views.v[i];

        m->is_new_view[i] = e->change != RELOAD_KEEP;
        s->views[i] = m->is_new_view[i] ? make_view(s, &conf->views[i]) : was->views[e->was];
    }
    for (size_t i = 0; i < plan->views.n; i++)
        if (plan->views.v[i].change == RELOAD_REPLACE || plan->views.v[i].change == RELOAD_DROP)
            m->views[m->view_count++] = was->views[plan->views.v[i].was];
}

static void subscribe_new(struct sources *s, const struct sources_moves *m)
{
    for (size_t i = 0; i < s->follower_count; i++) {
        const struct follower *f = &s->followers[i];

        for (size_t k = 0; k < m->n; k++)
            if (m->v[k].to != NULL)
                watch_subscribe(m->v[k].to, f->to, f->arg);
        for (size_t k = 0; k < s->params.conf->n_views; k++)
            if (m->is_new_view[k])
                view_subscribe(s->views[k], f->to, f->arg);
    }
}

void sources_change(struct sources *s, const struct conf *conf, const struct reload_plan *plan,
                    struct now now, struct sources_moves *m)
{
    struct sources was = *s;

    *m = (struct sources_moves){0};
    s->params.conf = conf;
    s->memory.bytes = conf->limits.memory.v;
    make_arrays(s);
    for (size_t i = 0; i < conf->n_watches; i++)
        put_watch(s, i,
                  is_first(s, i) ? change_watch(s, &was, plan, i, now, m)
                                 : s->watches[conf->watches[i].first].watch);
    for (size_t i = 0; i < was.params.conf->n_watches; i++)
        if (is_first(&was, i) && !has_watch(s, was.watches[i].watch))
            leave(m, was.watches[i].watch);
    change_views(s, &was, plan, m);
    subscribe_new(s, m);
    free_arrays(&was);
}

/* Views first: they have subscribed to their watches. */
void sources_moves_end(struct sources_moves *m)
{
    for (size_t i = 0; i < m->view_count; i++)
        view_destroy(&m->views[i]);
    for (size_t i = 0; i < m->n; i++)
        if (m->v[i].leaves)
            watch_destroy(&m->v[i].from);
    free(m->v);
    free(m->views);
    free(m->is_new_view);
    *m = (struct sources_moves){0};
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
    for (size_t i = 0; i < s->params.conf->n_watches; i++)
        if (is_first(s, i))
            watch_destroy(&s->watches[i].watch);
    free_arrays(s);
    free(s->followers);
    free(s);
}

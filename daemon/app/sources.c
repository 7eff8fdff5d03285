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
    struct admin_watch *watches; /* as conf->watches */
    struct digest *settings;     /* the same; set only for the first of equal watches */
    struct view **views;         /* as conf->views; NULL until made */
    /* The time at which a view may change although nothing comes from a server. */
    struct deadline *look;
};

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
    const struct conf *conf = s->params.conf;
    struct watch *w = equal_watch(s, i);
    struct err err;

    if (w == NULL && build_watch(conf, &conf->watches[i], s->params.node_name, &w, &s->settings[i],
                                 &err) != ERR_OK)
        panic("a checked watch cannot be built: %s", err.text);
    return w;
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

/* ---- All sources */

struct sources *sources_create(const struct sources_params *params)
{
    const struct conf *conf = params->conf;
    struct sources *s = MEM_NEW(struct sources, .params = *params);

    s->look = deadline_create(params->loop, params->on_progress, params->arg);
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

void sources_subscribe(struct sources *s, const struct subscriber *to, void *arg)
{
    for (size_t i = 0; i < s->params.conf->n_watches; i++)
        if (equal_watch(s, i) == NULL)
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

        if (equal_watch(s, i) == NULL)
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

/* SPDX-License-Identifier: Apache-2.0 */
#include "app/replay_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "cache/replay.h"
#include "conf/hook_conf.h"

/* ---- The configuration */

static void add_name(struct buf *names, const char *name)
{
    buf_printf(names, "%s%s", names->len > 0 ? ", " : "", name);
}

static void free_hook(struct conf_hook *h)
{
    free(h->name.v);
    setting_fini(hook_conf_settings, h);
}

/* `after` names hooks that are gone now. */
static void forget_others(struct conf_hook *h)
{
    for (size_t i = 0; i < h->after.n; i++)
        free(h->after.v[i].v);
    h->after.n = 0;
}

static enum err_kind keep_hook(struct conf *conf, const char *name, struct err *err)
{
    const struct conf_hook *found = conf_find_hook(conf, name);
    struct buf names = {0};

    if (found == NULL) {
        for (size_t i = 0; i < conf->n_hooks; i++)
            add_name(&names, conf->hooks[i].name.v);
        err_set(err, ERR_CONFIG, 0, "--hook %s: there is no such hook; there are: %s", name,
                buf_cstr(&names));
        buf_free(&names);
        return ERR_CONFIG;
    }
    struct conf_hook kept = *found;
    for (size_t i = 0; i < conf->n_hooks; i++)
        if (&conf->hooks[i] != found)
            free_hook(&conf->hooks[i]);
    forget_others(&kept);
    conf->hooks[0] = kept;
    conf->n_hooks = 1;
    return ERR_OK;
}

enum err_kind replay_plan_fit(struct conf *conf, const char *hook, struct err *err)
{
    /* A recorded STALE is delivered at once: stale_after was over when it was recorded. */
    for (size_t i = 0; i < conf->n_clusters; i++) {
        conf->clusters[i].stale_after.v = 0;
        conf->clusters[i].tuning.watch_list.v = CONF_WATCH_LIST_OFF;
    }
    /* The guard has let every recorded change pass, and a recorded DELETED was confirmed. */
    for (size_t i = 0; i < conf->n_watches; i++) {
        conf->watches[i].guard.relist_deletes.v = CONF_GUARD_OFF;
        conf->watches[i].confirm_deletes.v = false;
    }
    return hook != NULL ? keep_hook(conf, hook, err) : ERR_OK;
}

/* ---- Routes */

static enum err_kind make_routes(const struct conf *conf, struct replay_plan *p, struct err *err)
{
    p->routes = mem_array(conf->n_watches + 1, sizeof(*p->routes));
    p->count = conf->n_watches;
    for (size_t i = 0; i < conf->n_watches; i++)
        if (resource_parse(conf->watches[i].resource.v, &p->routes[i].resource, err) != ERR_OK)
            return err_wrap(err, "watch %s", conf->watches[i].name.v);
    return ERR_OK;
}

struct replay_route *replay_plan_route(const struct replay_plan *p, const char *source)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->routes[i].source != NULL && strcmp(p->routes[i].source, source) == 0)
            return &p->routes[i];
    return NULL;
}

/* Does a hook have this watch as a source, or a view that is made of it? */
static bool is_needed(const struct conf *conf, const struct conf_watch *w)
{
    for (size_t i = 0; i < conf->n_hooks; i++) {
        const struct conf_list *sources = &conf->hooks[i].sources;

        if (conf_list_has(sources, w->name.v))
            return true;
        for (size_t k = 0; k < conf->n_views; k++) {
            const struct conf_view *v = &conf->views[k];
            bool is_part =
                strcmp(v->services.v, w->name.v) == 0 || strcmp(v->slices.v, w->name.v) == 0;

            if (is_part && conf_list_has(sources, v->name.v))
                return true;
        }
    }
    return false;
}

/* ---- Reading it all */

/* The findings of one pass over the file. */
struct reading {
    const struct conf *conf;
    struct replay_plan *plan;
    struct buf recorded; /* names of its watches */
    struct buf unknown;  /* those of them that the configuration does not have */
    size_t lines;
};

static enum err_kind at_line(struct reading *r, struct err *err)
{
    err_wrap(err, "%s", replay_file_place(r->plan->file));
    return err->kind = ERR_CONFIG;
}

static void take_watch(struct reading *r, const struct recording_line *l)
{
    const struct conf_watch *w = conf_find_watch(r->conf, l->source);

    add_name(&r->recorded, l->source);
    if (w == NULL) {
        add_name(&r->unknown, l->source);
        return;
    }
    /* Of two recorded names of one watch one is enough. */
    struct replay_route *route = &r->plan->routes[w->first];
    if (route->source == NULL)
        route->source = mem_strdup(l->source);
}

static enum err_kind take_object(struct reading *r, struct replay_route *route,
                                 const struct recording_line *l, struct err *err)
{
    if (l->object == NULL)
        return ERR_OK;
    if (route->resource.kind != NULL && !replay_is_of(&route->resource, l->object)) {
        err_set(err, ERR_CONFIG, 0, "the object is a %.*s of %.*s, and the watch %s is one of %s",
                STR_ARG(object_kind(l->object)), STR_ARG(object_api_version(l->object)), l->source,
                route->resource.text);
        return at_line(r, err);
    }
    if (route->example == NULL)
        route->example = object_ref(l->object);
    return ERR_OK;
}

/* A line of a recording. */
static enum err_kind take_line(struct reading *r, const struct recording_line *l, struct err *err)
{
    bool is_first = r->lines++ == 0;

    if (is_first != (l->what == RECORDING_HEAD)) {
        err_set(err, ERR_CONFIG, 0,
                is_first ? "no recording: informerctl record writes one"
                         : "a second recording begins here: play one file after the other");
        return at_line(r, err);
    }
    if (is_first)
        r->plan->first_ms = l->at_ms;
    if (l->what == RECORDING_HEAD)
        return ERR_OK;
    if (l->what == RECORDING_WATCH) {
        take_watch(r, l);
        return ERR_OK;
    }
    struct replay_route *route = replay_plan_route(r->plan, l->source);
    if (route == NULL)
        return ERR_OK;
    route->synced = route->synced || l->what == RECORDING_SYNCED;
    return take_object(r, route, l, err);
}

/* An object of a folder goes to each watch of its kind. */
static void take_found(struct reading *r, const struct recording_line *l)
{
    bool any = false;

    for (size_t i = 0; i < r->plan->count; i++) {
        struct replay_route *route = &r->plan->routes[i];

        if (r->conf->watches[i].first != i || !replay_is_of(&route->resource, l->object))
            continue;
        any = true;
        if (route->example == NULL)
            route->example = object_ref(l->object);
    }
    if (!any)
        log_warn("replay: no watch is of the kind of this object",
                 KV_STR("file", replay_file_place(r->plan->file)),
                 KV_VIEW("api_version", object_api_version(l->object)),
                 KV_VIEW("kind", object_kind(l->object)), KV_VIEW("key", object_key(l->object)));
}

static enum err_kind read_all(struct reading *r, struct err *err)
{
    struct replay_file *f = r->plan->file;
    struct recording_line l;
    enum err_kind kind = ERR_OK;
    bool end = false;

    while (kind == ERR_OK && !end) {
        kind = replay_file_next(f, &l, &end, err);
        if (kind != ERR_OK || end)
            break;
        if (replay_file_is_folder(f))
            take_found(r, &l);
        else
            kind = take_line(r, &l, err);
        recording_line_fini(&l);
    }
    if (kind == ERR_OK && r->lines == 0 && !replay_file_is_folder(f))
        kind = err_set(err, ERR_CONFIG, 0, "%s: no recording: it has no whole line",
                       replay_file_path(f));
    return kind;
}

/* ---- Do the names fit? */

static enum err_kind check_names(struct reading *r, bool all, struct err *err)
{
    const struct conf *conf = r->conf;
    const char *path = replay_file_path(r->plan->file);
    struct buf missing = {0};
    struct buf unsynced = {0};
    enum err_kind kind = ERR_OK;

    for (size_t i = 0; i < conf->n_watches; i++) {
        const struct replay_route *route = &r->plan->routes[conf->watches[i].first];

        if (!is_needed(conf, &conf->watches[i]))
            continue;
        if (route->source == NULL)
            add_name(&missing, conf->watches[i].name.v);
        else if (!route->synced)
            add_name(&unsynced, route->source);
    }
    if (missing.len > 0)
        kind = err_set(err, ERR_CONFIG, 0,
                       "%s: hooks need the watches %s, which are not recorded (recorded are: %s): "
                       "record them, or play to one hook with --hook",
                       path, buf_cstr(&missing), buf_cstr(&r->recorded));
    else if (all && r->unknown.len > 0)
        kind =
            err_set(err, ERR_CONFIG, 0, "%s: the recorded watches %s are not in the configuration",
                    path, buf_cstr(&r->unknown));
    else if (unsynced.len > 0)
        kind = err_set(err, ERR_CONFIG, 0,
                       "%s: it ends before the list of these watches is complete: %s", path,
                       buf_cstr(&unsynced));
    buf_free(&missing);
    buf_free(&unsynced);
    return kind;
}

enum err_kind replay_plan_make(const char *path, const struct conf *conf, bool all,
                               struct replay_plan *p, struct err *err)
{
    struct reading r = {.conf = conf, .plan = p};

    *p = (struct replay_plan){0};
    enum err_kind kind = replay_file_open(path, &p->file, err);
    if (kind == ERR_OK)
        kind = make_routes(conf, p, err);
    if (kind == ERR_OK)
        kind = read_all(&r, err);
    if (kind == ERR_OK && !replay_file_is_folder(p->file))
        kind = check_names(&r, all, err);
    buf_free(&r.recorded);
    buf_free(&r.unknown);
    if (kind == ERR_OK)
        replay_file_rewind(p->file);
    else
        replay_plan_fini(p);
    return kind;
}

void replay_plan_fini(struct replay_plan *p)
{
    for (size_t i = 0; i < p->count; i++) {
        resource_fini(&p->routes[i].resource);
        free(p->routes[i].source);
        object_unref(&p->routes[i].example);
    }
    free(p->routes);
    replay_file_close(&p->file);
    *p = (struct replay_plan){0};
}

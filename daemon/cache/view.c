/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/view.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "cache/view_join.h"
#include "kube/object_scan.h"
#include "proto/json_path.h"

struct view {
    char *name;
    struct watch *services;
    struct watch *slices;
    char *node_name;
    bool local_only;
    uint64_t hold_empty_ms;
    struct view_join *join;
    bool synced;
    bool stale;      /* as on_stale told last */
    bool incomplete; /* as on_incomplete told last */
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

static void become_incomplete(struct view *v, bool incomplete, struct now now)
{
    if (incomplete == v->incomplete)
        return;
    v->incomplete = incomplete;
    subscribers_incomplete(&v->subscribers, (struct source){.view = v}, incomplete, now);
}

/* Only view_tick() makes the view complete again, as it has to be joined first. */
static void on_incomplete(void *arg, struct source from, bool incomplete, struct now now)
{
    (void)from;
    if (incomplete)
        become_incomplete(arg, true, now);
}

static const struct subscriber to_services = {
    .on_delta = on_service, .on_restored = on_service, .on_incomplete = on_incomplete};
static const struct subscriber to_slices = {
    .on_delta = on_backends, .on_restored = on_backends, .on_incomplete = on_incomplete};

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
    v->incomplete = watch_incomplete(p->services) || watch_incomplete(p->slices);
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

/* Is no better content of this watch on its way? If a watch is stale, a new list may not come for long,
 * and the view goes on with the objects that it has (docs/design.md "Views"). */
static bool is_settled(const struct watch *w)
{
    return !watch_incomplete(w) && (watch_settled(w) || watch_stale(w));
}

/* Joins before it tells staleness, so that hooks hear of a stale view with its newest objects. */
uint64_t view_tick(struct view *v, struct now now)
{
    bool wants = !v->synced || v->incomplete || view_join_wants(v->join, now.ms);
    bool shows = wants && is_settled(v->services) && is_settled(v->slices);

    if (shows) {
        view_join_flush(v->join, now);
        v->synced = true;
        become_incomplete(v, false, now);
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

bool view_incomplete(const struct view *v)
{
    return v->incomplete;
}

const struct watch *view_watch(const struct view *v, size_t i)
{
    return i == 0 ? v->services : v->slices;
}

const struct store *view_store(const struct view *v)
{
    return view_join_store(v->join);
}

/* ---- Can a view be made of these watches? */

/* A resource that a watch of a view may have, and an object of that kind with everything that the
 * view reads. A path that keep and drop leave out would be read as its default: for instance a Pod
 * that is not ready as ready. */
struct need {
    const char *plural;
    const char *group;
    const char *sample;
    const char *node; /* needed only for local_only */
    const char *paths[10];
};

static const struct need need_services = {
    .plural = "services",
    .group = "",
    .sample = "{\"metadata\":{\"namespace\":\"n\",\"name\":\"a\",\"uid\":\"u\"},\"spec\":{\"type\":"
              "\"t\",\"ports\":[{\"name\":\"p\",\"protocol\":\"q\",\"port\":1}]}}",
    .paths = {"spec.type", "spec.ports[*].name", "spec.ports[*].protocol", "spec.ports[*].port"},
};

static const struct need need_slices = {
    .plural = "endpointslices",
    .group = "discovery.k8s.io",
    .sample =
        "{\"metadata\":{\"namespace\":\"n\",\"name\":\"a\",\"uid\":\"u\",\"labels\":{"
        "\"kubernetes.io/"
        "service-name\":\"s\"}},\"addressType\":\"t\",\"endpoints\":[{\"addresses\":["
        "\"a\"],\"conditions\":{\"ready\":true,\"serving\":true,\"terminating\":true},\"nodeName\":"
        "\"n\"}],\"ports\":[{\"name\":\"p\",\"protocol\":\"q\",\"port\":1}]}",
    .node = "endpoints[*].nodeName",
    .paths = {"metadata.labels['kubernetes.io/service-name']", "addressType",
              "endpoints[*].addresses[*]", "endpoints[*].conditions.ready",
              "endpoints[*].conditions.serving", "endpoints[*].conditions.terminating",
              "ports[*].name", "ports[*].protocol", "ports[*].port"},
};

static const struct need need_endpoints = {
    .plural = "endpoints",
    .group = "",
    .sample = "{\"metadata\":{\"namespace\":\"n\",\"name\":\"a\",\"uid\":\"u\"},\"subsets\":[{"
              "\"addresses\":[{\"ip\":\"a\",\"nodeName\":\"n\"}],\"ports\":[{\"name\":\"p\","
              "\"protocol\":\"q\",\"port\":1}]}]}",
    .node = "subsets[*].addresses[*].nodeName",
    .paths = {"subsets[*].addresses[*].ip", "subsets[*].ports[*].name",
              "subsets[*].ports[*].protocol", "subsets[*].ports[*].port"},
};

static bool is_of(const struct watch *w, const struct need *need)
{
    const struct resource *r = watch_target(w);

    return strcmp(r->plural, need->plural) == 0 && r->group != NULL &&
           strcmp(r->group, need->group) == 0;
}

/* Appends the sample as the watch would keep it. The check uses the code that prunes objects, so the two
 * cannot disagree. */
static void put_kept(struct buf *out, const struct watch *w, const struct need *need)
{
    struct object_scan *scan = object_scan_create(list_watch_rules(watch_list_watch(w, 0)));
    struct object *o = NULL;

    object_scan_text(scan, str_c(need->sample));
    if (object_scan_end(scan, str_c("k"), str_c("v"), &o) == OBJECT_SCAN_OK)
        object_put_unversioned(out, o);
    else
        buf_puts(out, need->sample); /* over object_size: pruning cannot be tried */
    object_unref(&o);
    object_scan_destroy(&scan);
}

/* Does the path find anything in the object? The paths are constants, so they can be parsed. */
static bool selects(const char *text, struct str json)
{
    struct json_path *path = NULL;
    struct buf value = {0};

    ensure(json_path_parse(text, &path, NULL) == ERR_OK);
    const struct json_path *const paths[] = {path};
    ensure(json_path_values(paths, 1, json, &value, NULL) == ERR_OK);
    bool any = value.len > 0;
    json_path_destroy(&path);
    buf_free(&value);
    return any;
}

static const char *const setting_names[] = {
    [VIEW_SETTING_SERVICES] = "services", [VIEW_SETTING_SLICES] = "slices"};

static enum view_setting check_kept(enum view_setting setting, const struct watch *w,
                                    const struct need *need, bool local, struct err *err)
{
    const char *missing = NULL;
    struct buf kept = {0};

    if (watch_list_watch_count(w) == 0)
        return VIEW_SETTING_NONE; /* the rules need list_watches, which wait for discovery */
    put_kept(&kept, w, need);
    for (size_t i = 0; i < ARRAY_LEN(need->paths) && need->paths[i] != NULL; i++)
        if (missing == NULL && !selects(need->paths[i], buf_str(&kept)))
            missing = need->paths[i];
    if (missing == NULL && local && need->node != NULL && !selects(need->node, buf_str(&kept)))
        missing = need->node;
    buf_free(&kept);
    if (missing == NULL)
        return VIEW_SETTING_NONE;
    err_set(err, ERR_CONFIG, 0, "%s: keep and drop of watch %s leave out %s, which the view needs",
            setting_names[setting], watch_name(w), missing);
    return setting;
}

static enum view_setting tell_other(enum view_setting setting, const struct watch *w,
                                    const char *wants, struct err *err)
{
    err_set(err, ERR_CONFIG, 0, "%s: watch %s is of %s; a view of " VIEW_TYPE " needs %s",
            setting_names[setting], watch_name(w), watch_resource(w), wants);
    return setting;
}

/* Resources first: the messages of the later checks would confuse for a wrong watch. */
enum view_setting view_check(const struct view_params *p, struct err *err)
{
    const struct need *from = is_of(p->slices, &need_slices) ? &need_slices : &need_endpoints;
    enum view_setting wrong;

    if (!is_of(p->services, &need_services))
        return tell_other(VIEW_SETTING_SERVICES, p->services, "a watch of services", err);
    if (!is_of(p->slices, from))
        return tell_other(VIEW_SETTING_SLICES, p->slices,
                          "a watch of endpointslices (or endpoints)", err);
    if (strcmp(watch_cluster(p->services), watch_cluster(p->slices)) != 0) {
        err_set(err, ERR_CONFIG, 0,
                "slices: watch %s is of cluster %s, watch %s of cluster %s; a view joins watches "
                "of one cluster",
                watch_name(p->slices), watch_cluster(p->slices), watch_name(p->services),
                watch_cluster(p->services));
        return VIEW_SETTING_SLICES;
    }
    if (p->local_only && p->node_name[0] == '\0') {
        err_set(err, ERR_CONFIG, 0, "local_only: the name of this node is not known");
        return VIEW_SETTING_LOCAL_ONLY;
    }
    wrong = check_kept(VIEW_SETTING_SERVICES, p->services, &need_services, p->local_only, err);
    return wrong != VIEW_SETTING_NONE
               ? wrong
               : check_kept(VIEW_SETTING_SLICES, p->slices, from, p->local_only, err);
}

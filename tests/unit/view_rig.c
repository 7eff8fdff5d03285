/* SPDX-License-Identifier: Apache-2.0 */
#include "view_rig.h"

#include <string.h>

#include "kube/event.h"
#include "proto/json_path.h"

struct object *view_rig_object(const char *kind, const char *api_version, const char *json)
{
    const struct object_rules rules = {kind, api_version, 1 << 24, NULL, false};
    struct event_reader *r = event_reader_create(&rules);
    struct buf frame = {0};

    buf_printf(&frame, "{\"type\":\"ADDED\",\"object\":%s}", json);
    assert_int_equal(event_reader_feed(r, frame.data, frame.len, NULL), ERR_OK);
    const struct event *e = event_reader_next(r);
    assert_non_null(e);
    if (e->why != NULL)
        fail_msg("%s", e->why);
    assert_int_equal(e->type, EVENT_ADDED);
    struct object *o = object_ref(e->object);
    event_reader_destroy(&r);
    buf_free(&frame);
    return o;
}

static void put_identity(struct buf *out, const char *key, const char *uid, const char *rv)
{
    const char *slash = strchr(key, '/');

    buf_printf(out, "\"namespace\":\"%.*s\",\"name\":\"%s\",\"uid\":\"%s\",", (int)(slash - key),
               key, slash + 1, uid);
    buf_printf(out, "\"resourceVersion\":\"%s\",\"generation\":%s", rv, rv);
}

struct object *view_rig_service(const char *key, const char *uid, const char *rv, const char *spec)
{
    struct buf json = {0};

    buf_puts(&json, "{\"kind\":\"Service\",\"apiVersion\":\"v1\",\"metadata\":{");
    put_identity(&json, key, uid, rv);
    buf_printf(&json, "},\"spec\":{%s}}", spec);
    struct object *o = view_rig_object("Service", "v1", buf_cstr(&json));
    buf_free(&json);
    return o;
}

struct object *view_rig_slice(const char *key, const char *rv, const char *rest)
{
    struct buf json = {0};

    buf_puts(&json,
             "{\"kind\":\"EndpointSlice\",\"apiVersion\":\"discovery.k8s.io/v1\",\"metadata\":{");
    put_identity(&json, key, "u", rv);
    buf_puts(&json, rest);
    struct object *o = view_rig_object("EndpointSlice", "discovery.k8s.io/v1", buf_cstr(&json));
    buf_free(&json);
    return o;
}

struct object *view_rig_endpoints(const char *key, const char *subsets)
{
    struct buf json = {0};

    buf_puts(&json, "{\"kind\":\"Endpoints\",\"apiVersion\":\"v1\",\"metadata\":{");
    put_identity(&json, key, "u", "1");
    buf_printf(&json, "},\"subsets\":[%s]}", subsets);
    struct object *o = view_rig_object("Endpoints", "v1", buf_cstr(&json));
    buf_free(&json);
    return o;
}

struct watch *view_rig_watch(const char *name, const char *cluster, const char *resource,
                             const struct shape_params *shape, const struct subscriber *events,
                             void *arg)
{
    struct watch_params p = objects_watch_params();
    struct watch *w = NULL;

    p.name = name;
    p.cluster = cluster;
    p.resource = resource;
    p.shape = *shape;
    p.guard = (struct guard_params){.relist_deletes = 50, .at_least = 2, .hold_ms = VIEW_RIG_GUARD};
    p.stale_after_ms = VIEW_RIG_STALE_AFTER;
    assert_int_equal(watch_create(&p, &w, NULL), ERR_OK);
    if (events != NULL)
        watch_subscribe(w, events, arg);
    return w;
}

static void hear(void *arg, const struct delta *d)
{
    struct view_rig *r = arg;

    r->last = *d;
    r->last.object = NULL;
    buf_putc(&r->heard, "+~-x"[d->type]);
    buf_append_str(&r->heard, object_key(d->object));
    if (d->final_state_unknown)
        buf_putc(&r->heard, '?');
    buf_putc(&r->heard, ' ');
}

void view_rig_init(struct view_rig *r, const struct view_join_params *params)
{
    static const struct view_join_params usual = {.cluster = "c", .node_name = "n1"};

    *r = (struct view_rig){.now_ms = 1000000};
    r->join = view_join_create(params != NULL ? params : &usual, hear, r);
}

void view_rig_fini(struct view_rig *r)
{
    view_join_destroy(&r->join);
    buf_free(&r->heard);
    buf_free(&r->text);
}

typedef void change_fn(struct view_join *j, const struct delta *d);

static void change(struct view_rig *r, change_fn *to, enum delta_type type, struct object *o)
{
    const struct delta d = {.type = type, .cause = CAUSE_WATCH, .object = o};

    to(r->join, &d);
    object_unref(&o);
}

void view_rig_on_service(struct view_rig *r, enum delta_type type, struct object *o)
{
    change(r, view_join_service, type, o);
}

void view_rig_on_slice(struct view_rig *r, enum delta_type type, struct object *o)
{
    change(r, view_join_backends, type, o);
}

void view_rig_says(struct view_rig *r, const char *want)
{
    buf_clear(&r->heard);
    view_join_flush(r->join, (struct now){r->now_ms, 7});
    assert_string_equal(buf_cstr(&r->heard), want);
    buf_clear(&r->heard);
    view_join_flush(r->join, (struct now){r->now_ms, 7}); /* once */
    assert_string_equal(buf_cstr(&r->heard), "");
}

const char *view_rig_json(struct view_rig *r, const char *key)
{
    const struct object *o = store_get(view_join_store(r->join), str_c(key));

    buf_clear(&r->text);
    if (o == NULL)
        return "-";
    object_put_json(&r->text, o);
    return buf_cstr(&r->text);
}

const char *view_rig_get(struct view_rig *r, const char *key, const char *path)
{
    struct json_path *p = NULL;
    struct buf value = {0};

    if (strcmp(view_rig_json(r, key), "-") == 0)
        return "-";
    assert_int_equal(json_path_parse(path, &p, NULL), ERR_OK);
    const struct json_path *const paths[] = {p};
    assert_int_equal(json_path_values(paths, 1, buf_str(&r->text), &value, NULL), ERR_OK);
    json_path_destroy(&p);
    buf_free(&r->text);
    r->text = value;
    return buf_cstr(&r->text);
}

struct view_rig_watches view_rig_watches(const struct subscriber *events, void *arg)
{
    const struct shape_params whole = {0};

    return (struct view_rig_watches){
        .services = view_rig_watch("services", "c", "services", &whole, events, arg),
        .slices = view_rig_watch("slices", "c", "endpointslices", &whole, events, arg)};
}

void view_rig_watches_fini(struct view_rig_watches *w)
{
    watch_destroy(&w->services);
    watch_destroy(&w->slices);
}

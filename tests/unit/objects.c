/* SPDX-License-Identifier: Apache-2.0 */
#include "objects.h"
#include "identified.h"

#include <string.h>

#include "kube/event.h"

/* Appends an object; front has its kind and apiVersion. */
static void put_object(struct buf *out, const char *front, const char *key, const char *uid,
                       const char *rv, const char *data)
{
    const char *slash = strchr(key, '/');

    buf_printf(out, "{%s\"metadata\":{", front);
    if (slash != NULL)
        buf_printf(out, "\"namespace\":\"%.*s\",", (int)(slash - key), key);
    buf_printf(out, "\"name\":\"%s\",\"uid\":\"%s\"", slash != NULL ? slash + 1 : key, uid);
    if (rv != NULL)
        buf_printf(out, ",\"resourceVersion\":\"%s\"", rv);
    buf_puts(out, "}");
    if (data != NULL)
        buf_printf(out, ",\"data\":{%s}", data);
    buf_puts(out, "}");
}

void objects_put_item(struct buf *out, const char *key, const char *uid, const char *rv,
                      const char *data)
{
    put_object(out, "", key, uid, rv, data);
}

void objects_put_event(struct buf *out, const char *type, const char *key, const char *uid,
                       const char *rv, const char *data)
{
    buf_printf(out, "{\"type\":\"%s\",\"object\":", type);
    put_object(out, "\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",", key, uid, rv, data);
    buf_puts(out, "}\n");
}

struct object *objects_make(const char *key, const char *uid, const char *rv, const char *data)
{
    struct buf frame = {0};
    const struct object_rules rules = {"ConfigMap", "v1", 1 << 20, NULL, false};
    struct event_reader *r = event_reader_create(&rules);

    objects_put_event(&frame, "ADDED", key, uid, rv, data);
    assert_int_equal(event_reader_feed(r, frame.data, frame.len, NULL), ERR_OK);
    const struct event *e = event_reader_next(r);
    assert_non_null(e);
    assert_int_equal(e->type, EVENT_ADDED);
    struct object *o = object_ref(e->object);
    event_reader_destroy(&r);
    buf_free(&frame);
    return o;
}

struct watch_params objects_watch_params(void)
{
    static const char *const everywhere[] = {"*"};

    return (struct watch_params){
        .name = "w",
        .cluster = "c",
        .resource = "configmaps",
        .namespaces = everywhere,
        .namespace_count = 1,
        .label_selector = "",
        .field_selector = "",
        .object_size = 4096,
        .reflector = {.backoff = {800, 30000, 2, 0},
                      .reset_after_ms = 120000,
                      .page_size = 500,
                      .watch_min_s = 300,
                      .watch_max_s = 300},
        .guard = {.relist_deletes = GUARD_OFF,            .hold_ms = 60000      },
        .bookmark_timeout_ms = 150000,
        .list_idle_timeout_ms = 60000,
        .stale_after_ms = 30000,
    };
}

struct watch_params objects_patient_watch_params(const char *resource)
{
    struct watch_params p = objects_watch_params();

    p.cluster = "prod";
    p.resource = resource;
    p.reflector.backoff = (struct backoff_params){3600000, 3600000, 2, 0};
    p.reflector.page_size = 0;
    p.bookmark_timeout_ms = p.list_idle_timeout_ms = p.stale_after_ms = 3600000;
    return p;
}

struct watch *objects_watch(const char *name, const struct subscriber *events, void *arg)
{
    struct watch_params p = objects_watch_params();
    struct watch *w = NULL;

    p.name = name;
    assert_int_equal(watch_create(&p, &w, NULL), ERR_OK);
    if (events != NULL)
        watch_subscribe(w, events, arg);
    return w;
}

struct list_watch_action objects_answer(struct list_watch *f, const char *body, struct now now)
{
    list_watch_head(f,
                    &(struct http_head){.status = 200,
                                        .content_type = str_c("application/json"),
                                        .retry_after_s = -1},
                    now.ms);
    assert_true(list_watch_body(f, body, strlen(body), now));
    return list_watch_end_identified(f, NULL, now);
}

void objects_sync(struct watch *w, const char *items, const char *rv, struct now now)
{
    struct list_watch *f = watch_list_watch(w, 0);
    struct buf body = {0};

    buf_printf(&body,
               "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{"
               "\"resourceVersion\":\"%s\"},\"items\":[%s]}",
               rv, items);
    if (list_watch_status(f).state == REFLECTOR_IDLE)
        assert_int_equal(list_watch_start(f, now.ms).what, LW_LIST);
    assert_int_equal(objects_answer(f, buf_cstr(&body), now).what, LW_WATCH);
    buf_free(&body);
}

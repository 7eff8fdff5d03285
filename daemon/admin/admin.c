/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/admin.h"

#include <stdlib.h>
#include <string.h>

#include "admin/health.h"
#include "admin/report.h"
#include "admin/target.h"
#include "cache/watch.h"
#include "proto/json_out.h"

#define JSON "application/json"
#define TEXT "text/plain; charset=utf-8"

/* One request on its way to its answer. */
struct call {
    const struct admin_model *m;
    const struct admin_request *req;
    const struct target *target;
    uint64_t now_ms;
    struct admin_response *out;
};

void admin_refuse(struct admin_response *out, int status, const char *text)
{
    *out = (struct admin_response){.status = status, .content_type = JSON};
    struct json_out j = json_out_to(&out->body);

    json_out_open(&j, '{');
    json_out_key(&j, "error");
    json_out_cstr(&j, text);
    json_out_close(&j, '}');
    buf_putc(&out->body, '\n');
}

static void answer_livez(struct call *c)
{
    c->out->content_type = TEXT;
    buf_puts(&c->out->body, "ok\n");
}

static void answer_readyz(struct call *c)
{
    c->out->content_type = TEXT;
    if (c->m->ready) {
        buf_puts(&c->out->body, "ok\n");
        return;
    }
    c->out->status = 503;
    health_put_not_ready(&c->out->body, c->m);
}

static void answer_status(struct call *c)
{
    report_put_status(&c->out->body, c->m, c->now_ms);
}

static void answer_watches(struct call *c)
{
    report_put_watches(&c->out->body, c->m, c->now_ms);
}

static void answer_hooks(struct call *c)
{
    report_put_hooks(&c->out->body, c->m, c->now_ms);
}

/* The watch of the path, whose objects the peer may see; NULL: refused. */
static const struct watch *find_watch(struct call *c)
{
    const struct watch *w = NULL;

    for (size_t i = 0; w == NULL && i < c->m->watch_count; i++)
        if (str_is(c->target->part[2], watch_name(c->m->watches[i])))
            w = c->m->watches[i];
    if (w == NULL) {
        admin_refuse(c->out, 404, "there is no watch of this name: informerctl watches lists them");
    } else if (strcmp(watch_resource(w), "secrets") == 0 && !c->req->privileged) {
        admin_refuse(c->out, 403,
                     "objects of Secrets are shown to root and to the user that informerd was "
                     "started as");
        w = NULL;
    }
    return w;
}

static void answer_objects(struct call *c)
{
    const struct watch *w = find_watch(c);

    if (w == NULL)
        return;
    if (store_bytes(watch_store(w)) > ADMIN_OBJECTS_BYTES) {
        admin_refuse(c->out, 503, "the objects are too many for one answer: ask for single keys");
        return;
    }
    struct object **objects = store_sorted(watch_store(w));
    struct json_out j = json_out_to(&c->out->body);

    json_out_open(&j, '[');
    for (size_t i = 0; i < store_count(watch_store(w)); i++) {
        struct buf *raw = json_out_raw(&j);

        buf_putc(raw, '\n');
        object_put_json(raw, objects[i]);
    }
    json_out_close(&j, ']');
    buf_putc(&c->out->body, '\n');
    free(objects);
}

static void answer_object(struct call *c)
{
    const struct watch *w = find_watch(c);
    const struct object *o = NULL;

    if (w == NULL)
        return;
    o = store_get(watch_store(w), c->target->part[4]);
    if (o == NULL) {
        admin_refuse(c->out, 404,
                     "the watch has no object of this key: NAMESPACE/NAME, or NAME for "
                     "cluster-scoped objects");
        return;
    }
    object_put_json(&c->out->body, o);
    buf_putc(&c->out->body, '\n');
}

static const struct route {
    const char *pattern[TARGET_PARTS];
    void (*answer)(struct call *c);
} routes[] = {
    {{"livez"},                              answer_livez  },
    {{"readyz"},                             answer_readyz },
    {{"v1", "status"},                       answer_status },
    {{"v1", "watches"},                      answer_watches},
    {{"v1", "watches", "*", "objects"},      answer_objects},
    {{"v1", "watches", "*", "objects", "*"}, answer_object },
    {{"v1", "hooks"},                        answer_hooks  },
};

static const struct route *find_route(const struct target *t)
{
    for (size_t i = 0; i < ARRAY_LEN(routes); i++)
        if (target_fits(t, routes[i].pattern))
            return &routes[i];
    return NULL;
}

void admin_handle(const struct admin_model *m, const struct admin_request *req, uint64_t now_ms,
                  struct admin_response *out)
{
    struct target t;
    struct call c = {m, req, &t, now_ms, out};

    *out = (struct admin_response){.status = 200, .content_type = JSON};
    if (!target_parse(&t, req->target)) {
        admin_refuse(out, 400, "the path of the request cannot be read");
        return;
    }
    const struct route *r = find_route(&t);
    if (r == NULL)
        admin_refuse(out, 404, "there is nothing under this path");
    else if (!str_is(req->method, "GET"))
        admin_refuse(out, 405, "only GET is understood here");
    else
        r->answer(&c);
    target_fini(&t);
}

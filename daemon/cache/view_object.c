/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/view_object.h"

#include <stdint.h>

#include "proto/json_out.h"

/* An empty text counts as absent: null. */
static void put_text(struct json_out *j, const char *key, struct str s)
{
    json_out_key(j, key);
    if (s.n > 0)
        json_out_str(j, s);
    else
        json_out_null(j);
}

/* A number; 0 counts as absent: null. */
static void put_number(struct json_out *j, const char *key, unsigned n)
{
    json_out_key(j, key);
    if (n > 0)
        json_out_u64(j, n);
    else
        json_out_null(j);
}

static void put_hints(struct json_out *j, const struct view_use *u)
{
    json_out_key(j, "hints");
    json_out_open(j, '[');
    for (unsigned i = 0; i < u->backend->hint_count; i++)
        json_out_str(j, backends_str(u->from, u->from->hints[u->backend->first_hint + i]));
    json_out_close(j, ']');
}

static void put_use(struct json_out *j, const struct view_use *u)
{
    const struct backend *e = u->backend;
    char address[ADDRESS_TEXT];

    json_out_open(j, '{');
    json_out_key(j, "address");
    json_out_cstr(j, address_text(&e->address, address));
    json_out_key(j, "family");
    json_out_cstr(j, address_family_name(e->address.family));
    put_number(j, "port", u->port);
    put_text(j, "node", backends_str(u->from, e->node));
    put_text(j, "zone", backends_str(u->from, e->zone));
    put_text(j, "pod", backends_str(u->from, e->pod));
    put_hints(j, u);
    json_out_key(j, "state");
    json_out_cstr(j, e->state == BACKEND_DRAINING ? "draining" : "ready");
    json_out_close(j, '}');
}

void view_object_put_uses(struct buf *out, const struct view_use *uses, size_t n)
{
    struct json_out j = json_out_to(out);

    json_out_open(&j, '[');
    for (size_t i = 0; i < n; i++)
        put_use(&j, &uses[i]);
    json_out_close(&j, ']');
}

static void put_port(struct json_out *j, const struct view_object_port *p)
{
    json_out_open(j, '{');
    put_text(j, "name", p->port->name);
    put_text(j, "protocol", p->port->protocol);
    put_number(j, "port", p->port->port);
    put_number(j, "node_port", p->port->node_port);
    put_text(j, "app_protocol", p->port->app_protocol);
    json_out_key(j, "use");
    buf_append_str(json_out_raw(j), p->uses);
    json_out_close(j, '}');
}

static void put_tail(struct json_out *j, const struct view_object *v)
{
    json_out_key(j, "ready");
    json_out_u64(j, v->count.ready);
    json_out_key(j, "local_ready");
    json_out_u64(j, v->count.local_ready);
    json_out_key(j, "held");
    json_out_bool(j, v->held);
    json_out_key(j, "ports");
    json_out_open(j, '[');
    for (size_t i = 0; i < v->port_count; i++)
        put_port(j, &v->ports[i]);
    json_out_close(j, ']');
}

/* A position in the Service's bytes as one in the view's object; SIZE_MAX = there is none. */
static size_t shifted(size_t at, size_t by)
{
    return at == SIZE_MAX ? SIZE_MAX : at + by;
}

struct object *view_object_create(const struct view_object *v)
{
    struct object_parts p = object_parts_of(v->service);
    struct buf body = {0};
    struct json_out j = json_out_to(&body);

    json_out_open(&j, '{');
    json_out_key(&j, "cluster");
    json_out_cstr(&j, v->cluster);
    put_text(&j, "namespace", p.ns);
    put_text(&j, "name", p.name);
    put_text(&j, "uid", p.uid);
    json_out_key(&j, "service");
    /* The bytes of the Service are embedded as they are. The places of resourceVersion and
     * generation move along, so that these two are written there and not compared. */
    size_t at = json_out_raw(&j)->len;
    buf_append_str(&body, p.body);
    put_tail(&j, v);
    json_out_close(&j, '}');
    p.rv_at = shifted(p.rv_at, at);
    p.generation_at = shifted(p.generation_at, at);
    p.api_version = str_c(VIEW_OBJECT_API_VERSION);
    p.kind = str_c(VIEW_OBJECT_KIND);
    p.body = buf_str(&body);
    struct object *o = object_create(&p);
    buf_free(&body);
    return o;
}

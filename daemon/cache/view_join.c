/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/view_join.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "cache/view_pick.h"
#include "proto/json_member.h"

/* The values of object_api_version() and object_kind() of a joined object. Its JSON does not have
 * them. */
#define JOINED_API_VERSION "informerd/v1"
#define JOINED_KIND        "ServiceEndpoints"

/* The endpoints that a port of a Service used when it was looked at last (hold_empty:
 * docs/design.md "Endpoints"). A port is known by name and protocol. */
struct used_port {
    char *name;
    char *protocol;
    struct buf last;   /* as JSON */
    uint64_t until_ms; /* when the hold ends; UINT64_MAX = the port is in use */
    bool seen;         /* in this round over all ports */
};

/* A Service, known or only named by slices. It is in joints if and only if it has an object, a
 * slice, or a change that was not flushed. */
struct joint {
    struct map_node node;
    char *key;
    size_t key_n;
    struct object *service; /* NULL = not known: its slices wait for it */
    struct service read;    /* the contents of service */
    struct list slices;
    size_t slice_count;
    struct used_port *used;
    size_t used_count;
    struct heap_node due; /* in j->due if and only if holds */
    bool holds;
    struct list link;  /* on j->changed if it has changed since the last flush */
    struct delta as;   /* how the last change was found; its object is not looked at */
    struct delta gone; /* the same of the end of the Service, while it is not known */
};

/* One EndpointSlice or Endpoints that names its Service. */
struct slice {
    struct map_node node;
    char *key;
    struct joint *joint;
    struct list link; /* on joint->slices */
    struct backends backends;
};

struct view_join {
    char *cluster;
    char *node_name;
    /* Its pointers are not valid: the members above have the copies. */
    struct view_join_params params;
    struct map joints;
    struct map slices;
    struct list changed;
    struct heap due;
    struct store *store;
    struct buf scratch; /* the JSON of the object that is being read */
};

struct view_join *view_join_create(const struct view_join_params *params, delta_sink *sink,
                                   void *arg)
{
    struct view_join *j = mem_zalloc(sizeof(*j));

    j->cluster = mem_strdup(params->cluster);
    j->node_name = mem_strdup(params->node_name);
    j->params = *params;
    j->store = store_create(1, sink, arg);
    list_init(&j->changed);
    return j;
}

/* ---- The endpoints that ports used last */

/* The last port takes the place of the removed one, as their order has no meaning. */
static void forget_port(struct joint *t, size_t i)
{
    struct used_port *p = &t->used[i];

    free(p->name);
    free(p->protocol);
    buf_free(&p->last);
    *p = t->used[--t->used_count];
}

static void forget_ports(struct joint *t)
{
    while (t->used_count > 0)
        forget_port(t, 0);
    free(t->used);
    t->used = NULL;
}

static struct used_port *find_port(struct joint *t, const struct service_port *port)
{
    for (size_t i = 0; i < t->used_count; i++)
        if (str_is(port->name, t->used[i].name) && str_is(port->protocol, t->used[i].protocol))
            return &t->used[i];
    return NULL;
}

/* Remembers the endpoints that a port uses now. */
static void remember_port(struct joint *t, const struct service_port *port, struct str uses)
{
    struct used_port *p = find_port(t, port);

    if (p == NULL) {
        t->used = mem_realloc(t->used, (t->used_count + 1) * sizeof(*t->used));
        p = &t->used[t->used_count++];
        *p = (struct used_port){
            .name = mem_strndup(port->name.p, port->name.n),
            .protocol = mem_strndup(port->protocol.p, port->protocol.n),
        };
    }
    buf_clear(&p->last);
    buf_append_str(&p->last, uses);
    p->until_ms = UINT64_MAX;
    p->seen = true;
}

/* The port is empty. Returns the endpoints that it used last, if it has run empty less than
 * hold_ms ago; else NULL. */
static const struct buf *held(struct joint *t, const struct service_port *port, uint64_t hold_ms,
                              uint64_t now_ms)
{
    struct used_port *p = find_port(t, port);

    if (p == NULL)
        return NULL;
    /* The hold begins when the port runs empty and is not prolonged by later looks. */
    if (p->until_ms == UINT64_MAX)
        p->until_ms = now_ms + hold_ms;
    p->seen = now_ms < p->until_ms;
    return p->seen ? &p->last : NULL;
}

/* Ends the round over all ports of the Service: forgets those that were not seen, and readies the
 * others for the next round. Returns when the first hold ends, UINT64_MAX = no port is held. */
static uint64_t end_ports(struct joint *t)
{
    uint64_t first = UINT64_MAX;

    /* Backwards, because forget_port() moves the last port into the gap. */
    for (size_t i = t->used_count; i > 0; i--) {
        struct used_port *p = &t->used[i - 1];

        if (!p->seen) {
            forget_port(t, i - 1);
            continue;
        }
        p->seen = false;
        if (p->until_ms < first)
            first = p->until_ms;
    }
    return first;
}

/* ---- Joints and slices */

static void free_slice(struct view_join *j, struct slice *s)
{
    map_remove(&j->slices, &s->node);
    list_remove(&s->link);
    s->joint->slice_count--;
    backends_fini(&s->backends);
    free(s->key);
    free(s);
}

/* Sets the time at which a hold of the Service ends; UINT64_MAX = no port is held. */
static void set_due(struct view_join *j, struct joint *t, uint64_t due_ms)
{
    if (t->holds)
        heap_remove(&j->due, &t->due);
    t->holds = due_ms < UINT64_MAX;
    if (t->holds)
        heap_push(&j->due, &t->due, due_ms);
}

/* Neither the Service nor a slice of it exists any more. */
static void free_joint(struct view_join *j, struct joint *t)
{
    set_due(j, t, UINT64_MAX);
    map_remove(&j->joints, &t->node);
    list_remove(&t->link);
    forget_ports(t);
    service_fini(&t->read);
    object_unref(&t->service);
    free(t->key);
    free(t);
}

void view_join_destroy(struct view_join **jp)
{
    struct view_join *j = *jp;
    struct map_node *n;

    if (j == NULL)
        return;
    *jp = NULL;
    /* Slices first: each points to its joint. */
    while ((n = map_first(&j->slices)) != NULL)
        free_slice(j, map_entry(n, struct slice, node));
    while ((n = map_first(&j->joints)) != NULL)
        free_joint(j, map_entry(n, struct joint, node));
    store_destroy(&j->store);
    buf_free(&j->scratch);
    free(j->cluster);
    free(j->node_name);
    free(j);
}

/* Slices may come before their Service, so the first object that names the key makes the joint. */
static struct joint *joint_of(struct view_join *j, struct str key)
{
    struct map_node *n = map_get(&j->joints, key);

    if (n != NULL)
        return map_entry(n, struct joint, node);
    struct joint *t = mem_zalloc(sizeof(*t));
    t->key = mem_strndup(key.p, key.n);
    t->key_n = key.n;
    list_init(&t->slices);
    list_init(&t->link);
    map_put(&j->joints, &t->node, str_of(t->key, key.n));
    return t;
}

/* Notes a change of the Service or of one of its slices for the next flush. */
static void mark(struct view_join *j, struct joint *t, const struct delta *d)
{
    t->as = *d;
    t->as.object = NULL; /* the object may be freed before the flush */
    if (list_is_empty(&t->link))
        list_append(&j->changed, &t->link);
}

/* The object's JSON in scratch, valid until the next call. Versions do not matter to the
 * readers. */
static struct str json_of(struct view_join *j, const struct object *o)
{
    buf_clear(&j->scratch);
    object_put_unversioned(&j->scratch, o);
    return buf_str(&j->scratch);
}

static void tell_unreadable(const struct object *o, const struct err *err)
{
    log_warn("an object cannot be read for a view: it counts as empty",
             KV_VIEW("kind", object_kind(o)), KV_VIEW("key", object_key(o)), KV_ERR(err));
}

/* Sets the Service; o NULL: it is deleted. Endpoints that an ended incarnation used must not be
 * held for the next one. */
static void set_service(struct view_join *j, struct joint *t, struct object *o)
{
    struct err err;

    if (o == NULL || (t->service != NULL && !str_eq(object_uid(t->service), object_uid(o))))
        forget_ports(t);
    service_fini(&t->read);
    object_unref(&t->service);
    if (o == NULL)
        return;
    t->service = object_ref(o);
    if (service_read(json_of(j, o), &t->read, &err) != ERR_OK)
        tell_unreadable(o, &err);
}

static bool is_gone(const struct delta *d)
{
    return d->type == DELTA_DELETED || d->type == DELTA_LEFT;
}

/* Did an earlier process leave only the name of the object? Then a list will bring its state. */
static bool is_unknown(const struct delta *d)
{
    return !is_gone(d) && object_is_bare(d->object);
}

void view_join_service(struct view_join *j, const struct delta *d)
{
    if (is_unknown(d))
        return;
    struct joint *t = joint_of(j, object_key(d->object));

    set_service(j, t, is_gone(d) ? NULL : d->object);
    mark(j, t, d);
    /* A change of a slice may replace as before the flush, but the end of the Service keeps its own
     * cause. */
    t->gone = t->as;
}

/* The key of the slice's Service, in scratch; empty: the slice has none. */
static struct str service_key(struct view_join *j, const struct object *o, const struct backends *b)
{
    struct str ns = object_namespace(o);

    buf_clear(&j->scratch);
    if (b->service.n == 0)
        return (struct str){0};
    if (ns.n > 0)
        buf_printf(&j->scratch, "%.*s/", STR_ARG(ns));
    buf_append_str(&j->scratch, backends_str(b, b->service));
    return buf_str(&j->scratch);
}

/* Takes over *b. */
static void add_slice(struct view_join *j, const struct delta *d, struct str service,
                      struct backends *b)
{
    struct str key = object_key(d->object);
    struct slice *s = MEM_NEW(struct slice, .joint = joint_of(j, service), .backends = *b,
                              .key = mem_strndup(key.p, key.n));

    list_init(&s->link);
    list_append(&s->joint->slices, &s->link);
    s->joint->slice_count++;
    map_put(&j->slices, &s->node, str_of(s->key, key.n));
    mark(j, s->joint, d);
}

/* A slice whose label has changed leaves one Service and comes to another, so both are marked. */
void view_join_backends(struct view_join *j, const struct delta *d)
{
    bool slice = j->params.from == VIEW_JOIN_SLICES;
    struct map_node *was = map_get(&j->slices, object_key(d->object));
    struct backends b = {0};
    struct err err;

    if (is_unknown(d))
        return;
    if (was != NULL) {
        struct slice *s = map_entry(was, struct slice, node);

        mark(j, s->joint, d);
        free_slice(j, s);
    }
    if (is_gone(d))
        return;
    /* An object that cannot be read has no endpoints; the log says so. */
    if ((slice ? backends_read_slice : backends_read_endpoints)(json_of(j, d->object), &b, &err) !=
        ERR_OK)
        tell_unreadable(d->object, &err);
    struct str service = service_key(j, d->object, &b);
    if (service.n > 0)
        add_slice(j, d, service, &b);
    else
        backends_fini(&b);
}

/* ---- The object of a Service (docs/design.md "Views") */

/* The object as far as it is made. */
struct making {
    const struct view_join *j;
    struct joint *t;
    uint64_t now_ms;
    struct view_pick pick;
    struct view_use *uses; /* the uses of all ports, for counting */
    size_t use_count;
    struct buf ports; /* as a JSON array */
    bool held;        /* a port is */
};

/* A number; 0 counts as absent: null. */
static void put_number(struct json_out *j, const char *key, unsigned n)
{
    json_out_key(j, key);
    if (n > 0)
        json_out_u64(j, n);
    else
        json_out_null(j);
}

static void put_use(struct json_out *j, const struct view_use *u)
{
    const struct backend *e = u->backend;
    char address[ADDRESS_TEXT];

    json_out_open(j, '{');
    json_member_text(j, "address", address_text(&e->address, address));
    json_member_text(j, "family", address_family_name(e->address.family));
    put_number(j, "port", u->port);
    json_member_str(j, "node", backends_str(u->from, e->node));
    json_member_str(j, "zone", backends_str(u->from, e->zone));
    json_member_str(j, "pod", backends_str(u->from, e->pod));
    json_out_key(j, "hints");
    json_out_open(j, '[');
    for (unsigned i = 0; i < e->hint_count; i++)
        json_out_str(j, backends_str(u->from, u->from->hints[e->first_hint + i]));
    json_out_close(j, ']');
    json_member_text(j, "state", e->state == BACKEND_DRAINING ? "draining" : "ready");
    json_out_close(j, '}');
}

/* Writes a port with the endpoints that it uses, or if it uses none, with those that are held.
 * False: the Service has more than VIEW_PICK_MAX addresses times ports. */
static bool put_port(struct making *m, struct json_out *out, const struct service_port *port)
{
    uint64_t hold_ms = m->j->params.hold_empty_ms;
    struct view_use *uses;
    size_t n = view_pick_port(&m->pick, port, VIEW_PICK_MAX - m->use_count, &uses);

    if (n == VIEW_PICK_TOO_MANY) {
        free(uses);
        return false;
    }
    json_out_open(out, '{');
    json_member_str(out, "name", port->name);
    json_member_str(out, "protocol", port->protocol);
    put_number(out, "port", port->port);
    put_number(out, "node_port", port->node_port);
    json_member_str(out, "app_protocol", port->app_protocol);
    json_out_key(out, "use");
    const struct buf *last = n == 0 ? held(m->t, port, hold_ms, m->now_ms) : NULL;
    if (last != NULL) {
        /* Held endpoints do not count as ready, as nobody knows whether they still are: m->uses
         * does not get them. */
        m->held = true;
        buf_append_str(json_out_raw(out), buf_str(last));
    } else {
        size_t start = out->buf->len;

        json_out_open(out, '[');
        for (size_t i = 0; i < n; i++)
            put_use(out, &uses[i]);
        json_out_close(out, ']');
        /* Without hold_empty the copies would cost memory for nothing. */
        if (n > 0 && hold_ms > 0)
            remember_port(m->t, port, str_of(out->buf->data + start, out->buf->len - start));
    }
    json_out_close(out, '}');
    m->uses = mem_realloc(m->uses, (m->use_count + n + 1) * sizeof(*uses));
    for (size_t i = 0; i < n; i++)
        m->uses[m->use_count++] = uses[i];
    free(uses);
    return true;
}

/* A position in the Service's bytes as one in the joined object; SIZE_MAX = there is none. */
static size_t shifted(size_t at, size_t by)
{
    return at == SIZE_MAX ? SIZE_MAX : at + by;
}

/* The object, with key, uid, resourceVersion and generation of the Service. As in the Service, the
 * last two are not compared; when the object is written they stand inside of "service". One
 * reference for the caller. */
static struct object *create_object(const struct making *m)
{
    struct view_pick_count count = view_pick_count(m->uses, m->use_count);
    struct object_parts p = object_parts_of(m->t->service);
    struct buf body = {0};
    struct json_out out = json_out_to(&body);

    json_out_open(&out, '{');
    json_member_text(&out, "cluster", m->j->cluster);
    json_member_str(&out, "namespace", p.ns);
    json_member_str(&out, "name", p.name);
    json_member_str(&out, "uid", p.uid);
    json_out_key(&out, "service");
    /* The bytes of the Service are embedded as they are. The places of resourceVersion and
     * generation move along, so that these two are written there and not compared. */
    size_t at = json_out_raw(&out)->len;
    buf_append_str(&body, p.body);
    json_member_count(&out, "ready", count.ready);
    json_member_count(&out, "local_ready", count.local_ready);
    json_member_flag(&out, "held", m->held);
    json_out_key(&out, "ports");
    buf_append_str(json_out_raw(&out), buf_str(&m->ports));
    json_out_close(&out, '}');
    p.rv_at = shifted(p.rv_at, at);
    p.generation_at = shifted(p.generation_at, at);
    p.api_version = str_c(JOINED_API_VERSION);
    p.kind = str_c(JOINED_KIND);
    p.body = buf_str(&body);
    struct object *o = object_create(&p);
    buf_free(&body);
    return o;
}

/* Makes the object of the Service anew. If it would be too large, the old one stays: an object
 * without some of its endpoints would be wrong. */
static void join(struct view_join *j, struct joint *t, uint64_t now_ms)
{
    const struct backends **from = mem_array(t->slice_count + 1, sizeof(const struct backends *));
    struct making m = {
        .j = j,
        .t = t,
        .now_ms = now_ms,
        .pick = {from, t->slice_count, str_c(j->node_name), j->params.local_only},
    };
    struct json_out ports = json_out_to(&m.ports);
    size_t n = 0;
    bool fits = true;

    list_each (pos, tmp, &t->slices)
        from[n++] = &list_entry(pos, struct slice, link)->backends;
    json_out_open(&ports, '[');
    for (size_t i = 0; i < t->read.port_count && fits; i++)
        fits = put_port(&m, &ports, &t->read.ports[i]);
    json_out_close(&ports, ']');
    /* After a failure, too: the time of the next hold is needed in any case. */
    set_due(j, t, end_ports(t));
    if (fits) {
        struct object *o = create_object(&m);

        store_put(j->store, o, t->as);
        object_unref(&o);
    } else {
        log_warn("a Service has too many endpoints for a view: its old state stays",
                 KV_STR("key", t->key), KV_INT("limit", VIEW_PICK_MAX));
    }
    free(m.uses);
    buf_free(&m.ports);
    free(from);
}

/* ---- The flush */

/* The Service is deleted, or it is of type ExternalName now. Then it exists, but the view does not
 * select it any more: LEFT. */
static void leave(struct view_join *j, struct joint *t)
{
    struct delta as = t->service != NULL ? t->as : t->gone;

    if (t->service != NULL)
        as.type = DELTA_LEFT;
    as.final_state_unknown = as.final_state_unknown && as.type == DELTA_DELETED;
    forget_ports(t);
    set_due(j, t, UINT64_MAX);
    store_drop(j->store, str_of(t->key, t->key_n), as);
}

/* Brings the joined object up to date and forgets a joint that has nothing left. */
static void renew(struct view_join *j, struct joint *t, uint64_t now_ms)
{
    list_remove(&t->link);
    t->as.now_ms = t->gone.now_ms = now_ms;
    if (t->service != NULL && !t->read.external_name)
        join(j, t, now_ms);
    else
        leave(j, t);
    if (t->service == NULL && t->slice_count == 0)
        free_joint(j, t);
}

void view_join_flush(struct view_join *j, struct now now)
{
    const struct delta over = {.cause = CAUSE_WATCH, .received_ns = now.wall_ns};
    struct heap_node *due;

    list_each (pos, tmp, &j->changed)
        renew(j, list_entry(pos, struct joint, link), now.ms);
    /* Holds that end change objects by themselves: the cause is watch, as if the server had said
     * so. renew() removes the joint from the heap or gives it a later time. */
    while ((due = heap_peek(&j->due)) != NULL && due->due_ms <= now.ms) {
        struct joint *t = container_of(due, struct joint, due);

        t->as = over;
        renew(j, t, now.ms);
    }
}

bool view_join_wants(const struct view_join *j, uint64_t now_ms)
{
    return !list_is_empty(&j->changed) || view_join_due_ms(j) <= now_ms;
}

uint64_t view_join_due_ms(const struct view_join *j)
{
    const struct heap_node *due = heap_peek(&j->due);

    return due != NULL ? due->due_ms : UINT64_MAX;
}

const struct store *view_join_store(const struct view_join *j)
{
    return j->store;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/view_join.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "cache/view_make.h"
#include "kube/backends.h"

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
    struct view_hold hold;
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
    view_hold_clear(&t->hold);
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
        view_hold_clear(&t->hold);
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

/* An object that cannot be read has no endpoints; the log says so. */
static void read_backends(struct view_join *j, const struct object *o, struct backends *out)
{
    bool slice = j->params.from == VIEW_JOIN_SLICES;
    struct str json = json_of(j, o);
    struct err err;

    if ((slice ? backends_read_slice : backends_read_endpoints)(json, out, &err) != ERR_OK)
        tell_unreadable(o, &err);
}

/* Takes over *b. A slice without a Service is dropped. */
static void add_slice(struct view_join *j, const struct delta *d, struct backends *b)
{
    struct str whose = service_key(j, d->object, b);
    struct str key = object_key(d->object);
    struct slice *s;

    if (whose.n == 0) {
        backends_fini(b);
        return;
    }
    s = mem_zalloc(sizeof(*s));
    s->key = mem_strndup(key.p, key.n);
    s->joint = joint_of(j, whose);
    s->backends = *b;
    list_init(&s->link);
    list_append(&s->joint->slices, &s->link);
    s->joint->slice_count++;
    map_put(&j->slices, &s->node, str_of(s->key, key.n));
    mark(j, s->joint, d);
}

/* A slice whose label has changed leaves one Service and comes to another, so both are marked. */
void view_join_backends(struct view_join *j, const struct delta *d)
{
    struct map_node *was = map_get(&j->slices, object_key(d->object));
    struct backends b = {0};

    if (is_unknown(d))
        return;
    if (was != NULL) {
        struct slice *s = map_entry(was, struct slice, node);

        mark(j, s->joint, d);
        free_slice(j, s);
    }
    if (is_gone(d))
        return;
    read_backends(j, d->object, &b);
    add_slice(j, d, &b);
}

/* The caller frees the array. */
static const struct backends **backends_of(const struct joint *t)
{
    const struct backends **v = mem_array(t->slice_count + 1, sizeof(const struct backends *));
    size_t n = 0;

    list_each (pos, tmp, &t->slices)
        v[n++] = &list_entry(pos, struct slice, link)->backends;
    return v;
}

/* Makes the object of the Service anew. If it would be too large, the old one stays: an object
 * without some of its endpoints would be wrong. */
static void join(struct view_join *j, struct joint *t, uint64_t now_ms)
{
    const struct backends **from = backends_of(t);
    uint64_t due_ms;
    struct object *o = view_make_object(
        &(struct view_make){
            .cluster = j->cluster,
            .service = t->service,
            .read = &t->read,
            .pick = {from, t->slice_count, str_c(j->node_name), j->params.local_only},
            .hold = &t->hold,
            .hold_ms = j->params.hold_empty_ms,
            .now_ms = now_ms,
    },
        &due_ms);

    set_due(j, t, due_ms);
    if (o != NULL)
        store_put(j->store, o, t->as);
    else
        log_warn("a Service has too many endpoints for a view: its old state stays",
                 KV_STR("key", t->key), KV_INT("limit", VIEW_PICK_MAX));
    object_unref(&o);
    free(from);
}

/* The Service is deleted, or it is of type ExternalName now. Then it exists, but the view does not
 * select it any more: LEFT. */
static void leave(struct view_join *j, struct joint *t)
{
    struct delta as = t->service != NULL ? t->as : t->gone;

    if (t->service != NULL)
        as.type = DELTA_LEFT;
    as.final_state_unknown = as.final_state_unknown && as.type == DELTA_DELETED;
    view_hold_clear(&t->hold);
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

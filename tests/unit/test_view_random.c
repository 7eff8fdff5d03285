/* SPDX-License-Identifier: Apache-2.0 */
/* cache/view_join: 100 000 random changes of Services and slices (or Endpoints), by events in any
 * order, late and twice, and by lists, against view_model, which works the contents out anew
 * each time. VIEW_SEED=N runs one seed. */
#include "view_rig.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/rng.h"
#include "campaign.h"
#include "view_model.h"

enum { STEPS = 500 };

/* The next event or list of a key shows the state of the server; the model has the state that the
 * caches were shown last. */
struct world {
    struct rng rng;
    struct model_service services[MODEL_SERVICES];
    struct model_slice slices[MODEL_SLICES];
    struct model model;
    struct store *service_cache;
    struct store *slice_cache;
    struct view_join *join;
    bool has_endpoints[MODEL_SERVICES]; /* in the cache */
    struct buf heard[MODEL_SERVICES]; /* the contents of the view by its deltas, without versions */
    uint64_t now_ms;
    unsigned rv;
    unsigned changes;
};

static unsigned draw(struct world *w, unsigned n)
{
    return (unsigned)rng_between(&w->rng, 0, n - 1);
}

static void random_ports(struct world *w, struct model_port *ports, unsigned *n)
{
    unsigned first = draw(w, 4);

    *n = draw(w, MODEL_PORTS + 1);
    for (unsigned i = 0; i < *n; i++)
        ports[i] = (struct model_port){(first + i) % 4, draw(w, 4) > 0 ? 80 + draw(w, 2) : 0,
                                       draw(w, 6) == 0};
}

/* 0 and 3 are one name for a Service, and a Service has each name once. */
static bool fits(const struct model_service *s, unsigned i)
{
    for (unsigned k = 0; k < i; k++)
        if (s->ports[k].name % 3 == s->ports[i].name % 3)
            return false;
    return s->ports[i].number > 0;
}

static void random_service(struct world *w, struct model_service *s)
{
    bool lives = s->exists && draw(w, 8) > 0;

    if (!lives)
        s->uid++;
    s->exists = draw(w, 6) > 0;
    s->rv = ++w->rv;
    if (draw(w, 4) == 0)
        return; /* only its version changed */
    s->noise = draw(w, 3);
    s->external = draw(w, 10) == 0;
    random_ports(w, s->ports, &s->port_count);
    for (unsigned i = 0; i < s->port_count; i++)
        if (!fits(s, i))
            s->port_count = i;
}

static void random_endpoint(struct world *w, struct model_endpoint *e)
{
    e->address = 1 + draw(w, 6) * 3;
    e->ready = draw(w, 4);
    e->serving = draw(w, 4);
    e->terminating = draw(w, 4);
    e->node = draw(w, 3);
    e->zone = draw(w, 3);
    e->pod = draw(w, 3);
    for (unsigned i = 0; i < MODEL_HINTS; i++)
        e->hints[i] = draw(w, 3) == 0 ? 1 + draw(w, 3) : 0;
}

static void random_slice(struct world *w, struct model_slice *s, unsigned i)
{
    s->space = i % 2;
    s->exists = draw(w, 5) > 0;
    s->rv = ++w->rv;
    switch (draw(w, 4)) {
    case 0:
        s->service = draw(w, 4);
        break;
    case 1:
        random_ports(w, s->ports, &s->port_count);
        break;
    case 2:
        s->endpoint_count = draw(w, MODEL_ENDPOINTS + 1);
        for (unsigned k = 0; k < s->endpoint_count; k++)
            random_endpoint(w, &s->endpoints[k]);
        break;
    default:
        if (s->endpoint_count > 0)
            random_endpoint(w, &s->endpoints[draw(w, s->endpoint_count)]);
        s->v6 = draw(w, 4) == 0;
        break;
    }
}

static struct object *service_object(unsigned i, const struct model_service *s)
{
    struct buf json = {0};

    model_put_service(&json, i, s);
    struct object *o = view_rig_object("Service", "v1", buf_cstr(&json));
    buf_free(&json);
    return o;
}

static struct object *slice_object(unsigned i, const struct model_slice *s)
{
    struct buf json = {0};

    model_put_slice(&json, i, s);
    struct object *o = view_rig_object("EndpointSlice", "discovery.k8s.io/v1", buf_cstr(&json));
    buf_free(&json);
    return o;
}

/* A cache is shown that an object exists, or that its object does not exist any more. */
static void show(struct world *w, struct store *cache, struct object *o, bool exists)
{
    if (exists)
        store_apply(cache, 0, o, (struct now){1, 1});
    else if (draw(w, 2) == 0)
        store_remove(cache, o, (struct now){1, 1});
    else
        store_leave(cache, o, (struct now){1, 1});
    object_unref(&o);
}

static void note_service(struct world *w, unsigned i)
{
    struct model_service *known = &w->model.services[i];

    if (!w->services[i].exists || known->uid != w->services[i].uid)
        model_forget(&w->model, i);
    *known = w->services[i];
}

static void show_service(struct world *w, unsigned i)
{
    const struct model_service *last = &w->model.services[i];
    bool exists = w->services[i].exists;

    if (exists || last->exists)
        show(w, w->service_cache, service_object(i, exists ? &w->services[i] : last), exists);
    note_service(w, i);
}

static struct object *endpoints_object(struct world *w, unsigned i, bool *any)
{
    struct buf json = {0};

    *any = model_put_endpoints(&json, &w->model, i, ++w->rv) > 0;
    struct object *o = view_rig_object("Endpoints", "v1", buf_cstr(&json));
    buf_free(&json);
    return o;
}

static void show_endpoints(struct world *w, unsigned i)
{
    bool any;
    struct object *o = endpoints_object(w, i, &any);

    if (any || w->has_endpoints[i])
        show(w, w->slice_cache, o, any);
    else
        object_unref(&o);
    w->has_endpoints[i] = any;
}

/* The Endpoints that get the slice change, and those that had it. */
static void show_subset(struct world *w, unsigned i)
{
    const struct model_slice was = w->model.slices[i];

    w->model.slices[i] = w->slices[i];
    for (unsigned k = 0; k < MODEL_SERVICES; k++)
        if (model_is_of(&was, k) || model_is_of(&w->slices[i], k))
            show_endpoints(w, k);
}

static void show_slice(struct world *w, unsigned i)
{
    if (w->model.of_endpoints) {
        show_subset(w, i);
        return;
    }
    const struct model_slice *last = &w->model.slices[i];
    bool exists = w->slices[i].exists;

    if (exists || last->exists)
        show(w, w->slice_cache, slice_object(i, exists ? &w->slices[i] : last), exists);
    w->model.slices[i] = w->slices[i];
}

static void list_services(struct world *w)
{
    unsigned first = draw(w, MODEL_SERVICES);

    store_begin(w->service_cache, 0);
    for (unsigned k = 0; k < MODEL_SERVICES; k++) {
        unsigned i = (first + k) % MODEL_SERVICES;

        if (w->services[i].exists) {
            struct object *o = service_object(i, &w->services[i]);

            store_stage(w->service_cache, 0, o);
            object_unref(&o);
        }
        note_service(w, i);
    }
    store_commit(w->service_cache, 0, CAUSE_RELIST, (struct now){1, 1});
}

static void list_endpoints(struct world *w)
{
    memcpy(w->model.slices, w->slices, sizeof(w->slices));
    store_begin(w->slice_cache, 0);
    for (unsigned i = 0; i < MODEL_SERVICES; i++) {
        struct object *o = endpoints_object(w, i, &w->has_endpoints[i]);

        if (w->has_endpoints[i])
            store_stage(w->slice_cache, 0, o);
        object_unref(&o);
    }
    store_commit(w->slice_cache, 0, CAUSE_RELIST, (struct now){1, 1});
}

static void list_slices(struct world *w)
{
    unsigned first = draw(w, MODEL_SLICES);

    if (w->model.of_endpoints) {
        list_endpoints(w);
        return;
    }
    store_begin(w->slice_cache, 0);
    for (unsigned k = 0; k < MODEL_SLICES; k++) {
        unsigned i = (first + k) % MODEL_SLICES;

        if (w->slices[i].exists) {
            struct object *o = slice_object(i, &w->slices[i]);

            store_stage(w->slice_cache, 0, o);
            object_unref(&o);
        }
        w->model.slices[i] = w->slices[i];
    }
    store_commit(w->slice_cache, 0, CAUSE_RELIST, (struct now){1, 1});
}

static void to_services(void *arg, const struct delta *d)
{
    struct world *w = arg;

    view_join_service(w->join, d);
}

static void to_slices(void *arg, const struct delta *d)
{
    struct world *w = arg;

    view_join_backends(w->join, d);
}

/* Each delta must fit the deltas before it. */
static void hear(void *arg, const struct delta *d)
{
    struct world *w = arg;
    struct str key = object_key(d->object);
    struct buf *known = &w->heard[(key.p[1] - '0') * 3 + key.p[3] - 'a'];
    struct buf json = {0};

    object_put_unversioned(&json, d->object);
    if (d->type == DELTA_ADDED) {
        assert_int_equal(known->len, 0);
    } else if (d->type == DELTA_MODIFIED) {
        assert_true(known->len > 0 && !str_eq(buf_str(known), buf_str(&json)));
    } else {
        assert_true(known->len > 0 && str_eq(buf_str(known), buf_str(&json)));
        buf_clear(&json);
    }
    buf_clear(known);
    buf_append_str(known, buf_str(&json));
    buf_free(&json);
}

static void check_one(struct world *w, unsigned i)
{
    char key[] = {'s', (char)('0' + i / 3), '/', (char)('a' + i % 3), '\0'};
    const struct object *o = store_get(view_join_store(w->join), str_c(key));
    struct buf want = {0};
    struct buf got = {0};
    struct buf bare = {0};

    model_put_view(&w->model, i, w->now_ms, &want);
    if (o != NULL) {
        object_put_json(&got, o);
        object_put_unversioned(&bare, o);
    }
    assert_string_equal(buf_cstr(&got), buf_cstr(&want));
    assert_string_equal(buf_cstr(&w->heard[i]), buf_cstr(&bare));
    buf_free(&want);
    buf_free(&got);
    buf_free(&bare);
}

static void check(struct world *w)
{
    view_join_flush(w->join, (struct now){w->now_ms, 1});
    for (unsigned i = 0; i < MODEL_SERVICES; i++)
        check_one(w, i);
    assert_int_equal(view_join_due_ms(w->join), model_due_ms(&w->model));
}

static void pass_time(struct world *w)
{
    uint64_t due_ms = view_join_due_ms(w->join);

    if (due_ms < UINT64_MAX && draw(w, 3) == 0)
        w->now_ms = due_ms > w->now_ms ? due_ms - draw(w, 2) : w->now_ms;
    else
        w->now_ms += draw(w, 400);
}

static void step(struct world *w)
{
    unsigned late = draw(w, 3);
    unsigned i;

    w->changes++;
    if (draw(w, 4) == 0) {
        i = draw(w, MODEL_SERVICES);
        random_service(w, &w->services[i]);
        if (late > 0)
            show_service(w, i);
    } else {
        i = draw(w, MODEL_SLICES);
        random_slice(w, &w->slices[i], i);
        if (late > 0)
            show_slice(w, i);
    }
    if (draw(w, 3) == 0) /* maybe a late event, maybe the same one again */
        show_slice(w, draw(w, MODEL_SLICES));
    if (draw(w, 6) == 0)
        show_service(w, draw(w, MODEL_SERVICES));
    if (draw(w, 40) == 0)
        list_services(w);
    if (draw(w, 40) == 0)
        list_slices(w);
    if (draw(w, 3) > 0)
        return;
    pass_time(w);
    check(w);
}

static void found(void *arg, struct object *o)
{
    struct world *w = arg;
    const struct delta d = {.type = DELTA_ADDED, .object = o};

    if (str_is(object_kind(o), "Service"))
        view_join_service(w->join, &d);
    else
        view_join_backends(w->join, &d);
}

/* A view that sees only the last states, all at once, holds the same bytes. */
static void check_fresh(struct world *w, const struct view_join_params *p)
{
    struct view_join *seasoned = w->join;

    for (unsigned i = 0; i < MODEL_SERVICES; i++) {
        buf_clear(&w->heard[i]);
        model_forget(&w->model, i); /* such a view has nothing to hold */
    }
    w->join = view_join_create(p, hear, w);
    store_each(w->slice_cache, found, w);
    store_each(w->service_cache, found, w);
    check(w);
    view_join_destroy(&w->join);
    w->join = seasoned;
}

static unsigned run(uint64_t seed)
{
    struct world w = {.now_ms = 1000};

    rng_seed(&w.rng, seed);
    w.model.local_only = draw(&w, 3) == 0;
    w.model.hold_ms = draw(&w, 2) == 0 ? 1000 : 0;
    w.model.of_endpoints = draw(&w, 4) == 0;
    const struct view_join_params p = {.cluster = "c",
                                       .node_name = "n1",
                                       .from = w.model.of_endpoints ? VIEW_JOIN_ENDPOINTS
                                                                    : VIEW_JOIN_SLICES,
                                       .local_only = w.model.local_only,
                                       .hold_empty_ms = w.model.hold_ms};
    w.join = view_join_create(&p, hear, &w);
    w.service_cache = store_create(1, to_services, &w);
    w.slice_cache = store_create(1, to_slices, &w);
    for (unsigned i = 0; i < MODEL_SLICES; i++)
        w.slices[i].service = w.model.slices[i].service = 3;
    for (unsigned i = 0; i < STEPS; i++)
        step(&w);
    check(&w);
    check_fresh(&w, &p);
    store_destroy(&w.service_cache);
    store_destroy(&w.slice_cache);
    view_join_destroy(&w.join);
    for (unsigned i = 0; i < MODEL_SERVICES; i++)
        buf_free(&w.heard[i]);
    model_fini(&w.model);
    return w.changes;
}

static void test_random(void **state)
{
    const char *only = getenv("VIEW_SEED");
    const size_t seeds = campaign_size(30, 200);
    size_t changes = 0;

    (void)state;
    if (only != NULL) {
        run(strtoull(only, NULL, 10));
        return;
    }
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        if (seed % 50 == 1)
            print_message("  seeds from %u\n", (unsigned)seed);
        changes += run(seed);
    }
    assert_int_equal(changes, seeds * STEPS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};

    log_set_level(LOG_LVL_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

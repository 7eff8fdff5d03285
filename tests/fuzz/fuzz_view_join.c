/* SPDX-License-Identifier: Apache-2.0 */
/* A view against a naive one (unit/view_model), which works its contents out anew each time: the bytes change
 * Services and slices one after the other, in the order that libFuzzer likes. The first byte chooses slices or
 * Endpoints, all nodes or this one, and how long ports are held. */
#include "base/log.h"
#include "fuzz_input.h"
#include "view_model.h"
#include "view_rig.h"

struct world {
    struct str in;
    struct model model;
    struct view_join *join;
    struct store *services;
    struct store *slices;
    bool has_endpoints[MODEL_SERVICES]; /* in the cache */
    uint64_t now_ms;
    unsigned rv;
};

static unsigned draw(struct world *w, unsigned n)
{
    return fuzz_take_below(&w->in, n);
}

/* ---- Changes */

static void draw_ports(struct world *w, struct model_port *ports, unsigned *n)
{
    *n = draw(w, MODEL_PORTS + 1);
    for (unsigned i = 0; i < *n; i++) {
        unsigned bits = fuzz_take_byte(&w->in);

        ports[i] = (struct model_port){bits % 4, bits / 4 % 4 > 0 ? 80 + bits / 16 % 2 : 0,
                                       bits / 32 % 4 == 0};
    }
}

/* A server has no two ports of one name in a Service, and none with the number 0. */
static void drop_wrong_ports(struct model_service *s)
{
    for (unsigned i = 0; i < s->port_count; i++)
        for (unsigned k = 0; k <= i; k++)
            if (s->ports[i].number == 0 || (k < i && s->ports[k].name % 3 == s->ports[i].name % 3))
                s->port_count = i;
}

static struct model_service draw_service(struct world *w, const struct model_service *last)
{
    struct model_service s = *last;
    unsigned bits = fuzz_take_byte(&w->in);

    s.exists = bits % 4 > 0;
    if (!last->exists || bits / 4 % 8 == 0)
        s.uid++;
    s.rv = ++w->rv;
    s.noise = bits / 32 % 2;
    s.external = bits / 64 == 3;
    draw_ports(w, s.ports, &s.port_count);
    drop_wrong_ports(&s);
    return s;
}

static void draw_endpoint(struct world *w, struct model_endpoint *e)
{
    unsigned conditions = fuzz_take_byte(&w->in);
    unsigned place = fuzz_take_byte(&w->in);

    *e = (struct model_endpoint){.address = 1 + draw(w, 8) * 3,
                                 .ready = conditions % 4,
                                 .serving = conditions / 4 % 4,
                                 .terminating = conditions / 16 % 4,
                                 .node = place % 3,
                                 .zone = place / 3 % 3,
                                 .pod = place / 9 % 3};
    for (unsigned i = 0; i < MODEL_HINTS; i++)
        e->hints[i] = draw(w, 4);
}

static struct model_slice draw_slice(struct world *w, unsigned i)
{
    struct model_slice s = {.space = i % 2, .rv = ++w->rv};
    unsigned bits = fuzz_take_byte(&w->in);

    s.exists = bits % 4 > 0;
    s.service = bits / 4 % 4;
    s.v6 = bits / 16 % 2;
    draw_ports(w, s.ports, &s.port_count);
    s.endpoint_count = draw(w, MODEL_ENDPOINTS + 1);
    for (unsigned k = 0; k < s.endpoint_count; k++)
        draw_endpoint(w, &s.endpoints[k]);
    return s;
}

/* ---- Caches */

static void show(struct store *cache, const char *kind, const char *version, struct buf *json,
                 bool exists)
{
    struct object *o = view_rig_object(kind, version, buf_cstr(json));

    if (exists)
        store_apply(cache, 0, o, (struct now){1, 1});
    else
        store_remove(cache, o, (struct now){1, 1});
    object_unref(&o);
    buf_free(json);
}

static void change_service(struct world *w)
{
    unsigned i = draw(w, MODEL_SERVICES);
    struct model_service *known = &w->model.services[i];
    const struct model_service s = draw_service(w, known);
    struct buf json = {0};

    if (s.exists || known->exists) {
        model_put_service(&json, i, s.exists ? &s : known);
        show(w->services, "Service", "v1", &json, s.exists);
    }
    if (!s.exists || known->uid != s.uid)
        model_forget(&w->model, i);
    *known = s;
}

static void show_endpoints(struct world *w, unsigned i)
{
    struct buf json = {0};
    bool any = model_put_endpoints(&json, &w->model, i, ++w->rv) > 0;

    if (any || w->has_endpoints[i])
        show(w->slices, "Endpoints", "v1", &json, any);
    w->has_endpoints[i] = any;
    buf_free(&json);
}

static void change_slice(struct world *w)
{
    unsigned i = draw(w, MODEL_SLICES);
    const struct model_slice was = w->model.slices[i];
    const struct model_slice s = w->model.slices[i] = draw_slice(w, i);
    struct buf json = {0};

    for (unsigned k = 0; k < MODEL_SERVICES; k++)
        if (w->model.of_endpoints && (model_is_of(&was, k) || model_is_of(&s, k)))
            show_endpoints(w, k);
    if (!w->model.of_endpoints && (s.exists || was.exists)) {
        model_put_slice(&json, i, s.exists ? &s : &was);
        show(w->slices, "EndpointSlice", "discovery.k8s.io/v1", &json, s.exists);
    }
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

static void ignore(void *arg, const struct delta *d)
{
    (void)arg;
    (void)d;
}

/* ---- The comparison */

static void check(struct world *w)
{
    view_join_flush(w->join, (struct now){w->now_ms, 1});
    for (unsigned i = 0; i < MODEL_SERVICES; i++) {
        const char key[] = {'s', (char)('0' + i / 3), '/', (char)('a' + i % 3), '\0'};
        const struct object *o = store_get(view_join_store(w->join), str_c(key));
        struct buf want = {0};
        struct buf got = {0};

        model_put_view(&w->model, i, w->now_ms, &want);
        if (o != NULL)
            object_put_json(&got, o);
        ensure(str_eq(buf_str(&got), buf_str(&want)));
        buf_free(&want);
        buf_free(&got);
    }
    ensure(view_join_due_ms(w->join) == model_due_ms(&w->model));
}

static void live(struct world *w)
{
    while (w->in.n > 0) {
        unsigned what = draw(w, 8);

        if (what == 0)
            w->now_ms += draw(w, 8) * 1000;
        else if (what < 4)
            change_service(w);
        else
            change_slice(w);
        if (what % 2 == 0)
            check(w);
    }
    check(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct world w = {.in = str_of((const char *)data, n), .now_ms = 1000};
    unsigned bits = fuzz_take_byte(&w.in);
    const struct view_join_params params = {
        .cluster = "c",
        .node_name = "n1",
        .from = bits % 2 == 0 ? VIEW_JOIN_SLICES : VIEW_JOIN_ENDPOINTS,
        .local_only = bits / 2 % 2,
        .hold_empty_ms = bits / 4 % 4 * 1000,
    };

    log_set_level(LOG_LVL_ERROR);
    w.model = (struct model){.of_endpoints = params.from == VIEW_JOIN_ENDPOINTS,
                             .local_only = params.local_only,
                             .hold_ms = params.hold_empty_ms};
    w.join = view_join_create(&params, ignore, NULL);
    w.services = store_create(1, to_services, &w);
    w.slices = store_create(1, to_slices, &w);
    live(&w);
    store_destroy(&w.services);
    store_destroy(&w.slices);
    view_join_destroy(&w.join);
    model_fini(&w.model);
    return 0;
}

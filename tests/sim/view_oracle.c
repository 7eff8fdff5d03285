/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/view_oracle.h"

#include <stdlib.h>
#include <string.h>

#include "base/panic.h"
#include "sim/answer.h"
#include "sim/feature.h"
#include "sim/rules.h"

/* Bits of api_object.uses: one for each of ADDRESSES endpoints that is ready, one for each that is
 * draining, and HELD. */
enum { ADDRESSES = 3, HELD = 1U << 2 * ADDRESSES };

/* The key of the Service that a slice belongs to. */
static size_t owner(size_t key, const struct api_object *slice)
{
    return API_SLICES + api_space(key) + (slice->shown ? 0 : API_SPACES);
}

/* Slices of one Service have endpoints in common. */
static unsigned ready(size_t key, const struct api_object *slice)
{
    static const unsigned by_value[] = {0, 1, 1 | 1 << 2, 0};

    return by_value[slice->value] << (slice->value == 1 && key >= API_SLICES / 2);
}

static unsigned draining(size_t key, const struct api_object *slice)
{
    return slice->value == 3 ? 1U << (key >= API_SLICES / 2) : 0;
}

struct api_object view_oracle_truth(const struct api_object state[API_KEYS], size_t key)
{
    struct api_object out = state[key];
    unsigned drains = 0;

    if (key < API_SLICES || out.uid == 0 || !out.shown)
        return (struct api_object){0};
    for (size_t i = 0; i < API_SLICES; i++) {
        const struct api_object *slice = &state[i];

        if (slice->uid == 0 || api_space(i) != api_space(key) || owner(i, slice) != key)
            continue;
        out.uses |= ready(i, slice);
        drains |= draining(i, slice);
    }
    if (out.uses == 0)
        out.uses = drains << ADDRESSES;
    return out;
}

void view_oracle_put_owner(struct buf *out, size_t key, const struct api_object *o)
{
    buf_printf(out, ",\"kubernetes.io/service-name\":\"%s\"",
               strchr(api_key(owner(key, o)), '/') + 1);
}

/* local: on the node of the simulated daemon. */
static void put_endpoint(struct buf *out, unsigned number, const char *conditions, bool first)
{
    buf_printf(out,
               "%s{\"addresses\":[\"10.0.0.%u\"],\"conditions\":{%s},\"nodeName\":\"node-%u\"}",
               first ? "" : ",", number + 1, conditions, number);
}

void view_oracle_put_endpoints(struct buf *out, size_t key, const struct api_object *o)
{
    unsigned is_ready = ready(key, o);
    unsigned drains = draining(key, o);
    bool first = true;

    buf_puts(out, ",\"addressType\":\"IPv4\",\"ports\":[{\"name\":\"\",\"port\":8080}],"
                  "\"endpoints\":[");
    for (unsigned i = 0; i < ADDRESSES; i++) {
        if ((is_ready & 1U << i) != 0)
            put_endpoint(out, i, "\"ready\":true", first);
        else if ((drains & 1U << i) != 0)
            put_endpoint(out, i, "\"ready\":false,\"serving\":true,\"terminating\":true", first);
        else
            put_endpoint(out, i, "\"ready\":false,\"serving\":true", first);
        first = false;
    }
    buf_puts(out, "]");
}

void view_oracle_put_spec(struct buf *out, const struct api_object *o)
{
    buf_printf(out, ",\"spec\":{\"type\":\"%s\",\"ports\":[{\"port\":80}]}",
               o->shown ? "ClusterIP" : "ExternalName");
}

unsigned view_oracle_uses(const char *json)
{
    static const char address[] = "\"address\":\"10.0.0.";
    static const char state[] = "\"state\":\"";
    unsigned uses = strstr(json, "\"held\":true") != NULL ? HELD : 0;

    for (const char *at = json; (at = strstr(at, address)) != NULL;) {
        at += strlen(address);
        unsigned long number = strtoul(at, NULL, 10) - 1;
        ensure(number < ADDRESSES);
        at = strstr(at, state);
        ensure(at != NULL);
        unsigned bit = 1U << (number + (at[strlen(state)] == 'd' ? ADDRESSES : 0));
        ensure((uses & bit) == 0);
        uses |= bit;
    }
    return uses;
}

bool view_oracle_is(const struct object *o)
{
    return str_is(object_kind(o), "ServiceEndpoints");
}

bool view_oracle_has_part(const struct object *o)
{
    return !str_is(object_kind(o), "ConfigMap");
}

static bool starts(struct str text, const char *with)
{
    return text.n >= strlen(with) && memcmp(text.p, with, strlen(with)) == 0;
}

/* The PATH_ bit of a path. Paths that follow from another one (the type, the endpoints, the label
 * of a slice) have no bit. */
static unsigned path_bit(struct str path)
{
    static const struct {
        const char *with;
        unsigned bit;
    } known[] = {
        {"data.noise",          API_PATH_NOISE},
        {"data.on",             API_PATH_ON   },
        {"data.value",          API_PATH_VALUE},
        {"metadata.labels.app", API_PATH_LABEL},
        {"ready",               API_PATH_USES },
        {"local_ready",         API_PATH_USES },
        {"held",                API_PATH_USES },
        {"ports",               API_PATH_USES },
    };
    static const char service[] = "service.";

    if (starts(path, service))
        path = str_of(path.p + strlen(service), path.n - strlen(service));
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (starts(path, known[i].with))
            return known[i].bit;
    return 0;
}

unsigned view_oracle_paths(const struct buf *paths)
{
    struct str all = buf_str(paths);
    unsigned bits = 0;

    while (all.n > 0) {
        const char *end = memchr(all.p, '\n', all.n);

        ensure(end != NULL);
        bits |= path_bit(str_of(all.p, (size_t)(end - all.p)));
        all = str_of(end + 1, all.n - (size_t)(end + 1 - all.p));
    }
    return bits;
}

static void count(const struct view_oracle *v, enum feature f)
{
    v->params.features[f]++;
}

/* A delta must fit to the state of the key before it, and bring a difference. */
static void check_delta(struct view_oracle *v, const struct delta *d, const struct api_object *is)
{
    struct view_oracle_key *k = &v->keys[api_find(object_key(d->object))];
    bool there = k->is.uid != 0;

    if (there != (d->type != DELTA_ADDED) || (there && k->is.uid != is->uid) ||
        (d->type == DELTA_MODIFIED) != (there && api_differences(&k->is, is) != 0))
        panic("view: %s of %.*s is no change", delta_type_name(d->type),
              STR_ARG(object_key(d->object)));
    if ((is->uses & HELD) != 0 && v->params.hold_empty_ms == 0)
        panic("view: %.*s is held", STR_ARG(object_key(d->object)));
    if ((is->uses & HELD) == 0)
        k->empty_ms = 0;
    else if (k->empty_ms == 0)
        k->empty_ms = v->params.clock->now_ms;
}

static void count_delta(const struct view_oracle *v, const struct delta *d,
                        const struct api_object *is)
{
    const struct view_oracle_key *k = &v->keys[api_find(object_key(d->object))];

    if (d->type == DELTA_LEFT && k->is.uid != 0)
        count(v, FEATURE_VIEW_NAME);
    if (d->type == DELTA_DELETED && d->final_state_unknown && d->cause == CAUSE_WATCH)
        count(v, FEATURE_VIEW_LIFE);
    if ((is->uses & HELD) != 0)
        count(v, FEATURE_VIEW_HELD);
    else if (is->uses == 0 && (k->is.uses & HELD) != 0)
        count(v, FEATURE_VIEW_LET_GO);
    else if (is->uses >= 1U << ADDRESSES)
        count(v, FEATURE_VIEW_DRAINING);
    if (v->stale)
        count(v, FEATURE_VIEW_STALE);
}

static void on_delta(void *arg, struct source from, const struct delta *d)
{
    struct view_oracle *v = arg;
    struct api_object is = answer_read(d->object);
    struct view_oracle_key *k = &v->keys[api_find(object_key(d->object))];

    ensure(from.view == v->view && view_oracle_is(d->object));
    v->touched = 0;
    clock_trace(v->params.clock, "view: %s %.*s %.*s uses %x", delta_type_name(d->type),
                STR_ARG(object_key(d->object)), STR_ARG(object_rv(d->object)), is.uses);
    count_delta(v, d, &is);
    if (rules_is_end(d->type)) {
        if (k->is.uid != is.uid || api_differences(&k->is, &is) != 0)
            panic("view: %.*s ends as something else", STR_ARG(object_key(d->object)));
        *k = (struct view_oracle_key){.slice = k->slice};
    } else {
        check_delta(v, d, &is);
        k->is = is;
    }
    v->params.events->on_delta(v->params.arg, d);
}

static void on_stale(void *arg, struct source from, bool stale, struct now now)
{
    struct view_oracle *v = arg;

    ensure(from.view == v->view && stale != v->stale && view_synced(from.view));
    v->stale = stale;
    clock_trace(v->params.clock, "view: %s", stale ? "STALE" : "FRESH");
    v->params.events->on_stale(v->params.arg, stale, now);
}

static void on_incomplete(void *arg, struct source from, bool incomplete, struct now now)
{
    struct view_oracle *v = arg;

    ensure(from.view == v->view && incomplete == view_incomplete(from.view));
    v->params.events->on_incomplete(v->params.arg, incomplete, now);
}

static void on_look(struct alarm *a)
{
    struct view_oracle *v = container_of(a, struct view_oracle, look);

    v->params.events->on_time(v->params.arg);
}

void view_oracle_init(struct view_oracle *v, const struct view_oracle_params *params)
{
    static const struct subscriber events = {
        .on_delta = on_delta, .on_stale = on_stale, .on_incomplete = on_incomplete};
    const struct view_params p = {
        .name = "viewed",
        .services = params->services,
        .slices = params->slices,
        .node_name = "node-2",
        .hold_empty_ms = params->hold_empty_ms,
    };
    struct err err;

    *v = (struct view_oracle){.params = *params, .look.fn = on_look};
    if (view_check(&p, &err) != VIEW_SETTING_NONE)
        panic("%s", err.text);
    v->view = view_create(&p);
    view_subscribe(v->view, &events, v);
}

void view_oracle_fini(struct view_oracle *v)
{
    clock_clear(v->params.clock, &v->look);
    view_destroy(&v->view);
}

void view_oracle_delta(struct view_oracle *v, const struct watch *w, const struct delta *d)
{
    size_t key = api_find(object_key(d->object));

    if (w == v->params.slices && !object_is_bare(d->object)) {
        struct api_object is = answer_read(d->object);

        if (d->type == DELTA_MODIFIED && is.shown != v->keys[key].slice.shown)
            count(v, FEATURE_VIEW_MOVED);
        v->keys[key].slice = is;
    }
    v->touched += w == v->params.slices || w == v->params.services;
}

void view_oracle_restored(struct view_oracle *v)
{
    uint64_t now_ms = v->params.clock->now_ms;

    view_restored(v->view, (struct now){.ms = now_ms, .wall_ns = now_ms * 1000000});
    ensure(!view_synced(v->view));
}

/* Can the view look at this watch: it is complete, and no list of it is under way, or it is stale? */
static bool is_settled(const struct watch *w)
{
    return !watch_incomplete(w) && (watch_settled(w) || watch_stale(w));
}

void view_oracle_look(struct view_oracle *v)
{
    struct clock *c = v->params.clock;
    struct now now = {.ms = c->now_ms, .wall_ns = c->now_ms * 1000000};
    uint64_t next_ms = view_tick(v->view, now);

    if (v->touched > 0 && view_synced(v->view) && is_settled(v->params.services) &&
        is_settled(v->params.slices))
        count(v, FEATURE_VIEW_NOTHING);
    v->touched = 0;
    clock_clear(c, &v->look);
    if (next_ms != UINT64_MAX)
        clock_set_at(c, &v->look, next_ms);
}

bool view_oracle_is_quiet(const struct view_oracle *v)
{
    for (size_t key = 0; key < API_KEYS; key++)
        if ((v->keys[key].is.uses & HELD) != 0)
            return false;
    return true;
}

void view_oracle_check(const struct view_oracle *v, const struct api_object state[API_KEYS])
{
    size_t n = 0;

    for (size_t key = 0; key < API_KEYS; key++) {
        const struct object *have = store_get(view_store(v->view), str_c(api_key(key)));
        const struct api_object want = view_oracle_truth(state, key);
        const struct api_object *told = &v->keys[key].is;

        if ((have != NULL) != (want.uid != 0) || told->uid != want.uid)
            panic("view: %s is %s", api_key(key), have != NULL ? "extra" : "missing");
        if (have == NULL)
            continue;
        struct api_object is = answer_read(have);
        if (!api_same(&is, &want) || api_differences(told, &want) != 0)
            panic("view: %s uses %x, not %x", api_key(key), is.uses, want.uses);
        n++;
    }
    ensure(n == store_count(view_store(v->view)));
    ensure(view_synced(v->view) && !view_stale(v->view));
}

/* Has the view reported that a watch is stale? An alarm of this very moment may still have to
 * run. */
static void check_told(const struct view_oracle *v, const struct watch *w)
{
    uint64_t now_ms = v->params.clock->now_ms;
    bool is = watch_status(w, now_ms).stale;

    if (is && watch_status(w, now_ms - 1).stale && view_synced(v->view) && !v->stale)
        panic("view: watch %s is stale, and it did not tell", watch_name(w));
}

void view_oracle_sample(const struct view_oracle *v)
{
    uint64_t now_ms = v->params.clock->now_ms;
    bool settled = is_settled(v->params.services) && is_settled(v->params.slices);

    check_told(v, v->params.services);
    check_told(v, v->params.slices);
    for (size_t key = 0; key < API_KEYS; key++) {
        const struct view_oracle_key *k = &v->keys[key];

        if (settled && k->empty_ms != 0 && now_ms > k->empty_ms + v->params.hold_empty_ms)
            panic("view: %s is held for too long", api_key(key));
    }
}

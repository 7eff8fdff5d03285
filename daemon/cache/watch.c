/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"

/* A stream that is lost for longer makes the watch stale. */
#define STALE_AFTER_MS 30000

struct watch {
    char *name;
    char *cluster;
    char *resource_name;
    struct resource resource;
    struct store *store;
    struct feed **feeds;
    size_t feed_count;
    const struct watch_events *events;
    void *arg;
};

static bool all_namespaces(const struct watch_params *p)
{
    return p->namespace_count == 1 && strcmp(p->namespaces[0], "*") == 0;
}

static enum err_kind check_scope(const struct watch_params *p, struct resource *r, struct err *err)
{
    if (r->scope == SCOPE_UNKNOWN)
        r->scope = p->namespace_count > 0 ? SCOPE_NAMESPACED : SCOPE_CLUSTER;
    if (r->scope == SCOPE_CLUSTER && p->namespace_count > 0 && !all_namespaces(p))
        return err_set(err, ERR_CONFIG, 0, "%s is cluster-scoped: leave namespaces out", r->plural);
    if (r->scope == SCOPE_NAMESPACED && p->namespace_count == 0)
        return err_set(err, ERR_CONFIG, 0,
                       "%s is namespaced: set namespaces to names, or to [ \"*\" ] for all",
                       r->plural);
    for (size_t i = 0; i < p->namespace_count; i++)
        if (p->namespace_count > 1 && strcmp(p->namespaces[i], "*") == 0)
            return err_set(err, ERR_CONFIG, 0, "namespaces: \"*\" stands alone");
    return ERR_OK;
}

static void on_store_delta(void *arg, const struct delta *d)
{
    struct watch *w = arg;

    w->events->on_delta(w->arg, w, d);
}

static void add_feed(struct watch *w, const struct watch_params *p, const char *ns,
                     const char *name)
{
    size_t part = w->feed_count++;

    w->feeds[part] = feed_create(&(struct feed_params){
        .cluster = w->cluster,
        .watch = w->name,
        .resource = &w->resource,
        .ns = ns,
        .name = name,
        .label_selector = p->label_selector,
        .field_selector = p->field_selector,
        .object_size = p->object_size,
        .reflector = p->reflector,
        .seed = p->seed + part,
        .store = w->store,
        .part = part,
    });
}

static void add_feeds(struct watch *w, const struct watch_params *p)
{
    bool everywhere = w->resource.scope == SCOPE_CLUSTER || all_namespaces(p);
    size_t spaces = everywhere ? 1 : p->namespace_count;
    size_t names = p->name_count > 0 ? p->name_count : 1;

    w->feeds = mem_array(spaces * names, sizeof(struct feed *));
    w->store = store_create(spaces * names, on_store_delta, w);
    for (size_t i = 0; i < spaces; i++)
        for (size_t k = 0; k < names; k++)
            add_feed(w, p, everywhere ? NULL : p->namespaces[i],
                     p->name_count > 0 ? p->names[k] : NULL);
}

enum err_kind watch_create(const struct watch_params *p, const struct watch_events *events,
                           void *arg, struct watch **out, struct err *err)
{
    struct resource r;
    struct buf name = {0};

    if (resource_parse(p->resource, &r, err) != ERR_OK)
        return err->kind;
    if (check_scope(p, &r, err) != ERR_OK) {
        resource_fini(&r);
        return ERR_CONFIG;
    }
    struct watch *w = mem_zalloc(sizeof(*w));
    w->name = mem_strdup(p->name);
    w->cluster = mem_strdup(p->cluster);
    w->resource = r;
    resource_put_name(&name, &r);
    w->resource_name = mem_strdup(buf_cstr(&name));
    buf_free(&name);
    w->events = events;
    w->arg = arg;
    add_feeds(w, p);
    *out = w;
    return ERR_OK;
}

void watch_destroy(struct watch **wp)
{
    struct watch *w = *wp;

    if (w == NULL)
        return;
    *wp = NULL;
    for (size_t i = 0; i < w->feed_count; i++)
        feed_destroy(&w->feeds[i]);
    free(w->feeds);
    store_destroy(&w->store);
    resource_fini(&w->resource);
    free(w->resource_name);
    free(w->cluster);
    free(w->name);
    free(w);
}

const char *watch_name(const struct watch *w)
{
    return w->name;
}

const char *watch_cluster(const struct watch *w)
{
    return w->cluster;
}

const char *watch_resource(const struct watch *w)
{
    return w->resource_name;
}

size_t watch_feed_count(const struct watch *w)
{
    return w->feed_count;
}

struct feed *watch_feed(const struct watch *w, size_t i)
{
    ensure(i < w->feed_count);
    return w->feeds[i];
}

const struct store *watch_store(const struct watch *w)
{
    return w->store;
}

bool watch_synced(const struct watch *w)
{
    for (size_t i = 0; i < w->feed_count; i++)
        if (!feed_status(w->feeds[i]).synced)
            return false;
    return true;
}

static bool refused(const struct feed_status *s)
{
    return s->err->kind == ERR_FORBIDDEN || s->err->kind == ERR_UNAUTHORIZED;
}

/* How far a stream is from watching: the worst one speaks for the watch. */
static int badness(const struct feed_status *s)
{
    switch (s->state) {
    case REFLECTOR_WATCHING:
        return 0;
    case REFLECTOR_LISTING:
        return 1;
    case REFLECTOR_IDLE:
        return 2;
    case REFLECTOR_BACKOFF:
        break;
    }
    return refused(s) ? 4 : 3;
}

static void add_status(struct watch_status *sum, const struct feed_status *s, uint64_t now_ms)
{
    uint64_t age = s->contact_ms > 0 && now_ms > s->contact_ms ? now_ms - s->contact_ms : 0;

    sum->synced = sum->synced && s->synced;
    sum->contact = sum->contact && s->contact_ms > 0;
    if (age > sum->contact_age_ms)
        sum->contact_age_ms = age;
    if (s->synced && !s->connected && now_ms > s->follow_ms + STALE_AFTER_MS)
        sum->stale = true;
    sum->relists += s->lists > 1 ? s->lists - 1 : 0;
    sum->events += s->events;
    sum->skipped += s->skipped;
    if (s->err->kind != ERR_OK)
        sum->err = s->err;
}

struct watch_status watch_status(const struct watch *w, uint64_t now_ms)
{
    static const char *const states[] = {"watching", "listing", "waiting", "backoff", "forbidden"};
    struct watch_status sum = {.synced = true, .contact = true};
    int worst = 0;

    for (size_t i = 0; i < w->feed_count; i++) {
        struct feed_status s = feed_status(w->feeds[i]);

        if (i == 0) {
            sum.rv = s.rv;
            sum.err = s.err;
        }
        if (badness(&s) > worst)
            worst = badness(&s);
        add_status(&sum, &s, now_ms);
    }
    sum.state = states[worst];
    if (!sum.contact)
        sum.contact_age_ms = 0;
    return sum;
}

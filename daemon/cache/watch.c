/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "cache/audit.h"
#include "cache/confirm.h"

/* Texts, copied. */
struct texts {
    char **v;
    size_t n;
};

struct watch {
    char *name;
    char *cluster;
    char *resource_name;
    char *labels;
    char *fields;
    struct texts namespaces;
    struct texts names;
    struct watch_params params; /* without its pointers, which are the above */
    struct resource resource;   /* as far as it is known */
    struct shape *shape;        /* NULL = everything is kept */
    struct store *store;
    struct guard_window window;
    struct feed **feeds; /* NULL until the resource is known */
    size_t feed_count;
    struct audit *audit;
    struct confirm *confirm; /* NULL = deletes are taken as they come */
    struct err
        unresolved; /* why the resource is not known; kind OK = it is, or was not asked for */
    bool version_is_chosen; /* by discovery, not by the user */
    bool stale;             /* as told last */
    const struct watch_events *events;
    void *arg;
};

static struct texts copy_texts(const char *const *v, size_t n)
{
    struct texts t = {.v = mem_array(n + 1, sizeof(char *)), .n = n};

    for (size_t i = 0; i < n; i++)
        t.v[i] = mem_strdup(v[i]);
    return t;
}

static void free_texts(struct texts *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->v[i]);
    free(t->v);
}

static bool all_namespaces(const struct watch *w)
{
    return w->namespaces.n == 1 && strcmp(w->namespaces.v[0], "*") == 0;
}

static enum err_kind check_scope(const struct watch *w, struct resource *r, struct err *err)
{
    size_t n = w->namespaces.n;

    if (r->scope == SCOPE_UNKNOWN)
        r->scope = n > 0 ? SCOPE_NAMESPACED : SCOPE_CLUSTER;
    if (r->scope == SCOPE_CLUSTER && n > 0 && !all_namespaces(w))
        return err_set(err, ERR_CONFIG, 0, "%s is cluster-scoped: leave namespaces out", r->plural);
    if (r->scope == SCOPE_NAMESPACED && n == 0)
        return err_set(err, ERR_CONFIG, 0,
                       "%s is namespaced: set namespaces to names, or to [ \"*\" ] for all",
                       r->plural);
    return ERR_OK;
}

static enum err_kind check_star(const struct watch_params *p, struct err *err)
{
    for (size_t i = 0; i < p->namespace_count; i++)
        if (p->namespace_count > 1 && strcmp(p->namespaces[i], "*") == 0)
            return err_set(err, ERR_CONFIG, 0, "namespaces: \"*\" stands alone");
    return ERR_OK;
}

/* When the change happened, on the clock of the feeds. */
static uint64_t newest_ms(const struct watch *w)
{
    uint64_t ms = 0;

    for (size_t i = 0; i < w->feed_count; i++)
        if (feed_now_ms(w->feeds[i]) > ms)
            ms = feed_now_ms(w->feeds[i]);
    return ms;
}

static void tell(void *arg, const struct delta *d)
{
    struct watch *w = arg;

    w->events->on_delta(w->arg, w, d);
}

static void on_store_delta(void *arg, const struct delta *d)
{
    struct watch *w = arg;

    if (audit_state(w->audit) != AUDIT_IDLE)
        audit_touched(w->audit, object_key(d->object));
    if (w->confirm != NULL)
        confirm_take(w->confirm, d, newest_ms(w));
    else
        tell(w, d);
}

static struct feed *make_feed(struct watch *w, const char *ns, const char *name)
{
    return feed_create(&(struct feed_params){
        .cluster = w->cluster,
        .watch = w->name,
        .resource = &w->resource,
        .ns = ns,
        .name = name,
        .label_selector = w->labels,
        .field_selector = w->fields,
        .shape = w->shape,
        .object_size = w->params.object_size,
        .reflector = w->params.reflector,
        .guard = w->params.guard,
        .window = &w->window,
        .bookmark_timeout_ms = w->params.bookmark_timeout_ms,
        .list_idle_timeout_ms = w->params.list_idle_timeout_ms,
        .seed = w->params.seed + w->feed_count,
        .store = w->store,
        .part = w->feed_count,
    });
}

static void make_feeds(struct watch *w)
{
    bool everywhere = w->resource.scope == SCOPE_CLUSTER || all_namespaces(w);
    size_t spaces = everywhere ? 1 : w->namespaces.n;
    size_t names = w->names.n > 0 ? w->names.n : 1;

    w->feeds = mem_array(spaces * names, sizeof(struct feed *));
    for (size_t i = 0; i < spaces; i++)
        for (size_t k = 0; k < names; k++) {
            w->feeds[w->feed_count] = make_feed(w, everywhere ? NULL : w->namespaces.v[i],
                                                w->names.n > 0 ? w->names.v[k] : NULL);
            w->feed_count++;
        }
}

static void name_resource(struct watch *w)
{
    struct buf name = {0};

    resource_put_name(&name, &w->resource);
    free(w->resource_name);
    w->resource_name = mem_strdup(buf_cstr(&name));
    buf_free(&name);
}

static struct watch *new_watch(const struct watch_params *p, const struct watch_events *events,
                               void *arg)
{
    struct watch *w = mem_zalloc(sizeof(*w));
    size_t spaces = p->namespace_count > 0 ? p->namespace_count : 1;
    size_t names = p->name_count > 0 ? p->name_count : 1;

    w->name = mem_strdup(p->name);
    w->cluster = mem_strdup(p->cluster);
    w->labels = mem_strdup(p->label_selector);
    w->fields = mem_strdup(p->field_selector);
    w->namespaces = copy_texts(p->namespaces, p->namespace_count);
    w->names = copy_texts(p->names, p->name_count);
    w->params = *p;
    w->events = events;
    w->arg = arg;
    w->store = store_create(spaces * names, on_store_delta, w);
    w->audit = audit_create(w->store);
    if (p->confirm_deletes)
        w->confirm = confirm_create(tell, w);
    return w;
}

static bool has_shape(const struct shape_params *p)
{
    return p->keep_count + p->drop_count + p->match_count > 0;
}

static enum err_kind set_up(struct watch *w, const struct watch_params *p, struct err *err)
{
    if (resource_parse(p->resource, &w->resource, err) != ERR_OK)
        return err->kind;
    name_resource(w);
    if (check_star(p, err) != ERR_OK)
        return err->kind;
    if (has_shape(&p->shape) && shape_create(&p->shape, &w->shape, err) != ERR_OK)
        return err->kind;
    if (!resource_is_known(&w->resource))
        return ERR_OK;
    if (check_scope(w, &w->resource, err) != ERR_OK)
        return err->kind;
    make_feeds(w);
    return ERR_OK;
}

enum err_kind watch_create(const struct watch_params *p, const struct watch_events *events,
                           void *arg, struct watch **out, struct err *err)
{
    struct watch *w = new_watch(p, events, arg);
    enum err_kind kind = set_up(w, p, err);

    if (kind == ERR_OK)
        *out = w;
    else
        watch_destroy(&w);
    return kind;
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
    confirm_destroy(&w->confirm);
    audit_destroy(&w->audit);
    store_destroy(&w->store);
    shape_destroy(&w->shape);
    resource_fini(&w->resource);
    free_texts(&w->namespaces);
    free_texts(&w->names);
    free(w->labels);
    free(w->fields);
    free(w->resource_name);
    free(w->cluster);
    free(w->name);
    free(w);
}

const struct resource *watch_wants(const struct watch *w)
{
    return w->feeds == NULL ? &w->resource : NULL;
}

static bool same_place(const struct resource *a, const struct resource *b)
{
    return str_eq(str_c(a->plural), str_c(b->plural)) && str_eq(str_c(a->group), str_c(b->group)) &&
           str_eq(str_c(a->version), str_c(b->version));
}

/* What the server calls the resource now. */
static void move(struct watch *w, const struct resource *r)
{
    bool moved = w->feeds != NULL && !same_place(&w->resource, r);

    resource_fini(&w->resource);
    w->resource = *r;
    name_resource(w);
    for (size_t i = 0; moved && i < w->feed_count; i++)
        feed_move(w->feeds[i]);
}

enum err_kind watch_resolve(struct watch *w, const struct resource *found, struct err *err)
{
    struct resource r;

    resource_copy(&r, found);
    if (check_scope(w, &r, err) != ERR_OK) {
        resource_fini(&r);
        w->unresolved = *err;
        return err->kind;
    }
    w->unresolved = (struct err){0};
    w->version_is_chosen = w->version_is_chosen || w->resource.version == NULL;
    move(w, &r);
    if (w->feeds == NULL)
        make_feeds(w);
    return ERR_OK;
}

const struct resource *watch_target(const struct watch *w)
{
    return &w->resource;
}

bool watch_is_lost(const struct watch *w)
{
    for (size_t i = 0; i < w->feed_count; i++)
        if (feed_status(w->feeds[i]).err->kind == ERR_NOT_FOUND)
            return w->version_is_chosen;
    return false;
}

void watch_unresolved(struct watch *w, const struct err *why)
{
    w->unresolved = *why;
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

struct audit *watch_audit(const struct watch *w)
{
    return w->audit;
}

struct confirm *watch_confirm(const struct watch *w)
{
    return w->confirm;
}

bool watch_synced(const struct watch *w)
{
    for (size_t i = 0; i < w->feed_count; i++)
        if (!feed_status(w->feeds[i]).synced)
            return false;
    return w->feed_count > 0;
}

bool watch_settled(const struct watch *w)
{
    size_t n = 0;

    while (n < w->feed_count && feed_settled(w->feeds[n]))
        n++;
    return n > 0 && n == w->feed_count;
}

bool watch_stale(const struct watch *w)
{
    return w->stale;
}

void watch_relist(struct watch *w, enum relist_reason why)
{
    for (size_t i = 0; i < w->feed_count; i++)
        feed_order(w->feeds[i], why);
}

bool watch_guard(struct watch *w, bool accept)
{
    bool any = false;

    for (size_t i = 0; i < w->feed_count; i++)
        any = feed_guard(w->feeds[i], accept) || any;
    return any;
}

/* When the stream makes the watch stale; UINT64_MAX = it does not. */
static uint64_t stale_from_ms(const struct watch *w, const struct feed_status *s)
{
    if (s->connected || s->state == REFLECTOR_HELD)
        return UINT64_MAX;
    return s->follow_ms + w->params.stale_after_ms;
}

static uint64_t first_stale_ms(const struct watch *w)
{
    uint64_t first = UINT64_MAX;

    if (!watch_synced(w))
        return first;
    for (size_t i = 0; i < w->feed_count; i++) {
        struct feed_status s = feed_status(w->feeds[i]);
        uint64_t ms = stale_from_ms(w, &s);

        first = ms < first ? ms : first;
    }
    return first;
}

uint64_t watch_tick(struct watch *w, struct feed_now now)
{
    uint64_t from_ms = first_stale_ms(w);
    bool stale = now.ms >= from_ms;

    if (stale != w->stale) {
        w->stale = stale;
        w->events->on_stale(w->arg, w, stale, now.wall_ns);
    }
    return stale ? UINT64_MAX : from_ms;
}

static bool refused(const struct err *err)
{
    return err->kind == ERR_FORBIDDEN || err->kind == ERR_UNAUTHORIZED;
}

/* How far a stream is from watching: the worst one speaks for the watch. */
enum badness { WATCHING, LISTING, WAITING, BACKOFF, REFUSED };

static enum badness badness(const struct feed_status *s)
{
    switch (s->state) {
    case REFLECTOR_WATCHING:
    case REFLECTOR_PROBING:
        if (s->err->kind == ERR_OK)
            return WATCHING;
        break; /* tries again; until it is established the error counts */
    case REFLECTOR_LISTING:
    case REFLECTOR_STREAMING:
        return LISTING;
    case REFLECTOR_IDLE:
    case REFLECTOR_HELD:
        return WAITING;
    case REFLECTOR_BACKOFF:
        break;
    }
    return refused(s->err) ? REFUSED : BACKOFF;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void add_status(struct watch_status *sum, const struct feed_status *s, uint64_t now_ms)
{
    uint64_t age = s->contact_ms > 0 && now_ms > s->contact_ms ? now_ms - s->contact_ms : 0;

    sum->synced = sum->synced && s->synced;
    sum->contact = sum->contact && s->contact_ms > 0;
    sum->contact_age_ms = later(sum->contact_age_ms, age);
    sum->event_ms = later(sum->event_ms, s->event_ms);
    sum->bookmark_ms = later(sum->bookmark_ms, s->bookmark_ms);
    for (size_t i = 0; i < RELIST_REASONS; i++) {
        sum->relists_by[i] += s->relists[i];
        sum->relists += s->relists[i];
    }
    if (guard_holds(s->guard)) {
        sum->held = guard_reason_name(s->guard->reason);
        sum->held_deletes += s->guard->deletes;
    }
    sum->events += s->events;
    sum->skipped += s->skipped;
    if (s->err->kind != ERR_OK)
        sum->err = s->err;
}

struct watch_status watch_status(const struct watch *w, uint64_t now_ms)
{
    static const char *const states[] = {"watching", "listing", "waiting", "backoff", "forbidden"};
    bool any = w->feed_count > 0;
    struct watch_status sum = {.synced = any, .contact = any, .rv = "", .err = &w->unresolved};
    enum badness worst = any ? WATCHING : refused(sum.err) ? REFUSED : WAITING;

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
    sum.stale = now_ms >= first_stale_ms(w);
    sum.state = states[worst];
    if (!sum.contact)
        sum.contact_age_ms = 0;
    return sum;
}

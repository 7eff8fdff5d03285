/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/watch.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "cache/audit.h"
#include "cache/confirm.h"
#include "cache/scopes.h"

/* After a list with an item whose name cannot be read nobody knows whether missing objects exist,
 * and the next list may decide. It comes after this time or up to twice as long, and each further
 * one after twice the time before. */
#define MISSING_FIRST_MS UINT64_C(60000)
#define MISSING_MAX_MS   UINT64_C(3600000)

/* If more objects than these are skipped, the log does not name each one. */
enum { MANY_SKIPS = 100 };

struct watch {
    char *name;
    char *cluster;
    char *resource_name;
    char *labels;
    char *fields;
    struct scopes scopes;
    struct watch_params params; /* its pointers are not valid: the members above have the copies */
    struct resource resource;   /* as far as it is known */
    struct shape *shape;        /* NULL = everything is kept */
    struct store *store;
    struct guard_window window;
    struct list_watch **list_watches; /* NULL until the resource is known */
    size_t list_watch_count;
    struct resume_points resume_points; /* what an earlier process has left */
    struct audit *audit;
    struct confirm *confirm; /* NULL = deletes are not confirmed */
    /* Why the resource is not known; kind OK = it is known, or discovery has not failed so far. */
    struct err unresolved;
    bool version_is_chosen; /* discovery chose the version, not the user */
    bool stale;             /* as on_stale told last */
    /* When scopes with such missing objects are listed again; 0 = there are none */
    uint64_t missing_ms;
    uint64_t missing_wait_ms; /* and how long after that the next time */
    bool begun_stale;         /* watch_begin_stale() was called, as no server answered, .. */
    uint64_t begun_ms;        /* .. at this time, .. */
    /* .. when the last contact of the earlier process was so long ago. */
    uint64_t begun_age_ms;
    struct subscribers subscribers;
};

/* Tells a delta that was confirmed, or need not be. */
static void tell(void *arg, const struct delta *d)
{
    const struct watch *w = arg;

    for (size_t i = 0; i < w->subscribers.n; i++) {
        const struct subscription *s = &w->subscribers.v[i];

        if (s->to->on_delta != NULL)
            s->to->on_delta(s->arg, (struct source){.watch = w}, d);
    }
}

/* The audit hears of each change at once, as it compares with the store; the subscribers may have
 * to wait until a DELETED is confirmed. */
static void on_store_delta(void *arg, const struct delta *d)
{
    struct watch *w = arg;

    if (audit_state(w->audit) != AUDIT_IDLE)
        audit_touched(w->audit, scopes_find(&w->scopes, d->object), d);
    if (w->confirm != NULL)
        confirm_take(w->confirm, d);
    else
        tell(w, d);
}

/* Each skipped object is named once, unless there is a flood of them. */
static void log_skip(const struct watch *w, const struct skip *s, bool gone)
{
    bool flood = skips_count(store_skips(w->store)) > MANY_SKIPS;
    enum log_level level = flood ? LOG_LVL_DEBUG : gone ? LOG_LVL_INFO : LOG_LVL_WARN;
    struct str name = s->name.n > 0 ? s->name : str_c("(cannot be read)");

    log_emit(level, gone ? "object no longer skipped" : "object skipped: its old state stays",
             LOG_FIELDS(KV_STR("cluster", w->cluster), KV_STR("watch", w->name),
                        KV_VIEW("key", name), KV_VIEW("why", s->why)));
}

static void on_skip(void *arg, const struct skip *s, bool gone)
{
    struct watch *w = arg;

    audit_skipped(w->audit, s->scope, s->id);
    log_skip(w, s, gone);
    subscribers_skipped(&w->subscribers, (struct source){.watch = w}, s, gone);
}

/* The seed differs by scope, so that the scopes of a watch do not wait in step. */
static struct list_watch *make_list_watch(struct watch *w, size_t scope)
{
    return list_watch_create(&(struct list_watch_params){
        .cluster = w->cluster,
        .watch = w->name,
        .resource = &w->resource,
        .ns = scopes_namespace(&w->scopes, scope),
        .name = scopes_name(&w->scopes, scope),
        .label_selector = w->labels,
        .field_selector = w->fields,
        .shape = w->shape,
        .object_size = w->params.object_size,
        .reflector = w->params.reflector,
        .guard = w->params.guard,
        .window = &w->window,
        .bookmark_timeout_ms = w->params.bookmark_timeout_ms,
        .list_idle_timeout_ms = w->params.list_idle_timeout_ms,
        .seed = w->params.seed + scope,
        .store = w->store,
        .scope = scope,
    });
}

/* Only now is the resource known, and so whether the remembered version fits it
 * (resume_points_get()). */
static void resume_list_watch(struct watch *w, size_t scope)
{
    struct resume_point resume = resume_points_get(&w->resume_points, scope, &w->resource);

    list_watch_resume(w->list_watches[scope], &resume);
}

static void make_list_watches(struct watch *w)
{
    w->list_watches = mem_array(w->scopes.count, sizeof(struct list_watch *));
    w->list_watch_count = w->scopes.count;
    for (size_t i = 0; i < w->list_watch_count; i++) {
        w->list_watches[i] = make_list_watch(w, i);
        if (w->resume_points.v[i].kind != RESUME_NONE)
            resume_list_watch(w, i);
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

static struct watch *new_watch(const struct watch_params *p)
{
    struct watch *w = mem_zalloc(sizeof(*w));

    w->name = mem_strdup(p->name);
    w->cluster = mem_strdup(p->cluster);
    w->labels = mem_strdup(p->label_selector);
    w->fields = mem_strdup(p->field_selector);
    scopes_init(&w->scopes, p);
    w->params = *p;
    resume_points_init(&w->resume_points, w->scopes.count);
    w->store = store_create(w->scopes.count, on_store_delta, w);
    store_on_skip(w->store, on_skip, w);
    w->audit = audit_create(w->store, w->scopes.count);
    if (p->confirm_deletes)
        w->confirm = confirm_create(tell, w);
    return w;
}

static bool has_shape(const struct shape_params *p)
{
    return p->keep_count + p->drop_count + p->match_count > 0;
}

/* Checks the settings, and makes the list_watches unless discovery has to find the resource
 * first. */
static enum err_kind set_up(struct watch *w, const struct watch_params *p, struct err *err)
{
    if (resource_parse(p->resource, &w->resource, err) != ERR_OK)
        return err->kind;
    name_resource(w);
    if (scopes_check(&w->scopes, err) != ERR_OK)
        return err->kind;
    if (has_shape(&p->shape) && shape_create(&p->shape, &w->shape, err) != ERR_OK)
        return err->kind;
    if (!resource_is_known(&w->resource))
        return ERR_OK;
    if (scopes_check_resource(&w->scopes, &w->resource, err) != ERR_OK)
        return err->kind;
    make_list_watches(w);
    return ERR_OK;
}

enum err_kind watch_create(const struct watch_params *p, struct watch **out, struct err *err)
{
    struct watch *w = new_watch(p);
    enum err_kind kind = set_up(w, p, err);

    if (kind == ERR_OK)
        *out = w;
    else
        watch_destroy(&w);
    return kind;
}

void watch_subscribe(struct watch *w, const struct subscriber *to, void *arg)
{
    subscribers_add(&w->subscribers, to, arg);
}

void watch_unsubscribe(struct watch *w, const struct subscriber *to, const void *arg)
{
    subscribers_remove(&w->subscribers, to, arg);
}

void watch_destroy(struct watch **wp)
{
    struct watch *w = *wp;

    if (w == NULL)
        return;
    *wp = NULL;
    for (size_t i = 0; i < w->list_watch_count; i++)
        list_watch_destroy(&w->list_watches[i]);
    free(w->list_watches);
    resume_points_fini(&w->resume_points);
    confirm_destroy(&w->confirm);
    audit_destroy(&w->audit);
    store_destroy(&w->store);
    shape_destroy(&w->shape);
    resource_fini(&w->resource);
    scopes_fini(&w->scopes);
    subscribers_fini(&w->subscribers);
    free(w->labels);
    free(w->fields);
    free(w->resource_name);
    free(w->cluster);
    free(w->name);
    free(w);
}

const struct resource *watch_wants(const struct watch *w)
{
    return w->list_watches == NULL ? &w->resource : NULL;
}

/* Are both served under the same path? */
static bool same_place(const struct resource *a, const struct resource *b)
{
    return str_eq(str_c(a->plural), str_c(b->plural)) && str_eq(str_c(a->group), str_c(b->group)) &&
           str_eq(str_c(a->version), str_c(b->version));
}

/* Takes over what discovery says of the resource. If its path has changed, all scopes are listed
 * anew there. */
static void move(struct watch *w, const struct resource *r)
{
    bool moved = w->list_watches != NULL && !same_place(&w->resource, r);

    resource_fini(&w->resource);
    w->resource = *r;
    name_resource(w);
    for (size_t i = 0; moved && i < w->list_watch_count; i++)
        list_watch_move(w->list_watches[i]);
}

enum err_kind watch_resolve(struct watch *w, const struct resource *found, struct err *err)
{
    struct resource r;

    resource_copy(&r, found);
    if (scopes_check_resource(&w->scopes, &r, err) != ERR_OK) {
        resource_fini(&r);
        w->unresolved = *err;
        return err->kind;
    }
    w->unresolved = (struct err){0};
    w->version_is_chosen = w->version_is_chosen || w->resource.version == NULL;
    move(w, &r);
    if (w->list_watches == NULL)
        make_list_watches(w);
    return ERR_OK;
}

const struct resource *watch_target(const struct watch *w)
{
    return &w->resource;
}

bool watch_is_lost(const struct watch *w)
{
    for (size_t i = 0; i < w->list_watch_count; i++)
        if (list_watch_status(w->list_watches[i]).err->kind == ERR_NOT_FOUND)
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

size_t watch_list_watch_count(const struct watch *w)
{
    return w->list_watch_count;
}

struct list_watch *watch_list_watch(const struct watch *w, size_t i)
{
    ensure(i < w->list_watch_count);
    return w->list_watches[i];
}

size_t watch_scope_count(const struct watch *w)
{
    return w->scopes.count;
}

void watch_put_scope_name(const struct watch *w, size_t scope, struct buf *out)
{
    scopes_put_name(&w->scopes, scope, out);
}

size_t watch_scope_of(const struct watch *w, const struct object *o)
{
    return scopes_find(&w->scopes, o);
}

void watch_load(struct watch *w, struct object *o)
{
    size_t scope = scopes_find(&w->scopes, o);

    /* A bare object usually means that the state is incomplete and a list is needed. But if the
     * earlier process had skipped it, no list would bring more
     * (docs/decisions.md "A skipped object moves the resourceVersion on"). */
    if (!object_is_bare(o) || !skips_has(store_skips(w->store), object_key(o)))
        resume_points_note(&w->resume_points, scope, o);
    store_load(w->store, scope, o);
}

void watch_load_skip(struct watch *w, const struct skip *s)
{
    store_load_skip(w->store, s);
}

void watch_resume(struct watch *w, size_t scope, const struct resume_point *resume)
{
    resume_points_set(&w->resume_points, scope, resume);
    if (w->list_watches != NULL)
        resume_list_watch(w, scope);
}

/* Argument of restore_object(). */
struct restoring {
    const struct watch *watch;
    struct now now;
};

static void restore_object(void *arg, struct object *o)
{
    const struct restoring *r = arg;

    subscribers_restored(&r->watch->subscribers, (struct source){.watch = r->watch}, o, r->now);
}

void watch_restore(const struct watch *w, struct now now)
{
    struct restoring r = {w, now};

    store_each(w->store, restore_object, &r);
}

/* The time of the last call on a list_watch. */
static uint64_t newest_ms(const struct watch *w)
{
    uint64_t ms = 0;

    for (size_t i = 0; i < w->list_watch_count; i++)
        if (list_watch_now_ms(w->list_watches[i]) > ms)
            ms = list_watch_now_ms(w->list_watches[i]);
    return ms;
}

/* The order: audit and confirm look at the objects and go first, then the objects, then the
 * list_watches, which order new lists. */
void watch_forget(struct watch *w)
{
    const struct err err = {.kind = ERR_FOREIGN, .text = "another cluster answers"};

    if (audit_state(w->audit) != AUDIT_IDLE)
        audit_failed(w->audit, &err, newest_ms(w));
    if (w->confirm != NULL)
        confirm_forget(w->confirm);
    resume_points_clear(&w->resume_points);
    w->begun_stale = false;
    w->window = (struct guard_window){0};
    for (size_t i = 0; i < w->scopes.count; i++)
        store_unload(w->store, i);
    for (size_t i = 0; i < w->list_watch_count; i++)
        list_watch_forget(w->list_watches[i]);
}

enum resume_kind watch_resume_point(const struct watch *w, size_t scope)
{
    return w->list_watches != NULL ? list_watch_status(watch_list_watch(w, scope)).resume
                                   : watch_resume_left(w, scope);
}

enum resume_kind watch_resume_left(const struct watch *w, size_t scope)
{
    return w->list_watches != NULL ? resume_points_get(&w->resume_points, scope, &w->resource).kind
                                   : w->resume_points.v[scope].kind;
}

uint64_t watch_resume_contact_ns(const struct watch *w)
{
    return resume_points_contact_ns(&w->resume_points);
}

/* Is a list held that leaves the version in doubt? While another cluster answers, objects and
 * version are still those of the right one. */
static bool list_is_held(const struct list_watch_status *s)
{
    return guard_holds(s->guard) && s->guard->reason != GUARD_IDENTITY;
}

/* Must another process not go on from the version? Deletes may wait for a confirmation, or the list
 * that is due may find differences, and a watch from this version would not send these again. An
 * expired version is not in doubt: the server will refuse it. */
static bool is_in_doubt(const struct watch *w, const struct list_watch_status *s)
{
    return (w->confirm != NULL && confirm_count(w->confirm) > 0) || list_is_held(s) ||
           s->why == RELIST_FUTURE || s->why == RELIST_BACKWARDS || s->why == RELIST_AUDIT ||
           s->why == RELIST_MANUAL || s->why == RELIST_UNVERSIONED ||
           s->state == REFLECTOR_COMPARING;
}

bool watch_version(const struct watch *w, size_t scope, const char **rv, const char **collection_rv)
{
    if (w->list_watches == NULL)
        return false;
    struct list_watch_status s = list_watch_status(watch_list_watch(w, scope));
    /* The first list is not complete: the objects still belong to the version on disk. */
    if (s.resume != RESUME_OVER && s.resume != RESUME_WHOLE)
        return false;
    *rv = is_in_doubt(w, &s) ? "" : s.rv;
    *collection_rv = s.collection_rv;
    return true;
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

static bool list_watch_synced(const struct watch *w, size_t scope)
{
    return w->list_watches != NULL && list_watch_status(w->list_watches[scope]).synced;
}

bool watch_synced(const struct watch *w)
{
    size_t n = 0;

    while (n < w->scopes.count && list_watch_synced(w, n))
        n++;
    return w->begun_stale || n == w->scopes.count;
}

bool watch_settled(const struct watch *w)
{
    size_t n = 0;

    while (n < w->list_watch_count && list_watch_settled(w->list_watches[n]))
        n++;
    return n > 0 && n == w->list_watch_count;
}

bool watch_stale(const struct watch *w)
{
    return w->stale;
}

void watch_relist(struct watch *w, enum relist_reason why)
{
    for (size_t i = 0; i < w->list_watch_count; i++)
        list_watch_order(w->list_watches[i], why);
}

bool watch_guard(struct watch *w, bool accept)
{
    bool any = false;

    for (size_t i = 0; i < w->list_watch_count; i++)
        any = list_watch_guard(w->list_watches[i], accept) || any;
    return any;
}

/* When the scope makes the watch stale; UINT64_MAX = it does not. */
static uint64_t stale_from_ms(const struct watch *w, const struct list_watch_status *s)
{
    if (!s->synced && s->follow_ms == 0)
        /* A watch that has begun stale: no server has yet said anything of the remembered
         * objects. */
        return 0;
    if (s->connected || s->state == REFLECTOR_HELD)
        return UINT64_MAX;
    return s->follow_ms + w->params.stale_after_ms;
}

/* When the first scope makes the watch stale (docs/design.md "Staleness"). A watch that is not
 * synced is not shown to hooks, so it is not stale either. */
static uint64_t first_stale_ms(const struct watch *w)
{
    uint64_t first = UINT64_MAX;

    if (!watch_synced(w))
        return first;
    if (w->list_watches == NULL)
        return 0;
    for (size_t i = 0; i < w->list_watch_count; i++) {
        struct list_watch_status s = list_watch_status(w->list_watches[i]);
        uint64_t ms = stale_from_ms(w, &s);

        first = ms < first ? ms : first;
    }
    return first;
}

/* For each skip record: if its object was missing, its scope is listed; but only if the scope is
 * watching, as an order would cut short the list or the wait of another one. */
static void list_missing(void *arg, const struct skip *s)
{
    const struct watch *w = arg;

    if (s->missing && w->list_watches != NULL &&
        list_watch_status(w->list_watches[s->scope]).state == REFLECTOR_WATCHING)
        list_watch_order(w->list_watches[s->scope], RELIST_UNNAMED);
}

/* A list that had an item without a readable name deleted nothing, and missing objects stayed
 * (docs/decisions.md "A list with a name that cannot be read deletes nothing"). Returns when the
 * next list is due. The seed keeps nodes apart. */
static uint64_t look_for_missing(struct watch *w, uint64_t now_ms)
{
    const struct skips *skips = store_skips(w->store);

    if (skips->missing == 0) {
        w->missing_ms = 0;
        return UINT64_MAX;
    }
    if (w->missing_ms == 0) {
        w->missing_wait_ms = MISSING_FIRST_MS + w->params.seed % MISSING_FIRST_MS;
        w->missing_ms = now_ms + w->missing_wait_ms;
    }
    if (now_ms >= w->missing_ms) {
        skips_each(skips, list_missing, w);
        w->missing_wait_ms =
            w->missing_wait_ms < MISSING_MAX_MS / 2 ? w->missing_wait_ms * 2 : MISSING_MAX_MS;
        w->missing_ms = now_ms + w->missing_wait_ms;
    }
    return w->missing_ms;
}

static void become_stale(struct watch *w, bool stale, struct now now)
{
    w->stale = stale;
    log_emit(stale ? LOG_LVL_WARN : LOG_LVL_INFO, stale ? "watch is stale" : "watch is fresh again",
             LOG_FIELDS(KV_STR("cluster", w->cluster), KV_STR("watch", w->name)));
    subscribers_stale(&w->subscribers, (struct source){.watch = w}, stale, now);
}

uint64_t watch_tick(struct watch *w, struct now now)
{
    uint64_t missing_ms = look_for_missing(w, now.ms);
    uint64_t from_ms = first_stale_ms(w);
    bool stale = now.ms >= from_ms;

    if (stale != w->stale)
        become_stale(w, stale, now);
    /* Only a change of a scope ends staleness, and after that the driver calls again. */
    from_ms = stale ? UINT64_MAX : from_ms;
    return from_ms < missing_ms ? from_ms : missing_ms;
}

/* Only a complete cache may be shown to hooks (docs/design.md "Stale start"). */
bool watch_begin_stale(struct watch *w, struct now now, uint64_t age_ms)
{
    for (size_t i = 0; i < w->scopes.count; i++)
        if (!list_watch_synced(w, i) && !resume_points_is_whole(&w->resume_points, i))
            return false;
    w->begun_stale = true;
    w->begun_ms = now.ms;
    w->begun_age_ms = age_ms;
    watch_tick(w, now);
    return true;
}

/* No server was heard since the stale start: the contact is that of the earlier process, which
 * grows older. */
static void note_restored_contact(const struct watch *w, uint64_t now_ms, struct watch_status *sum)
{
    sum->contact = resume_points_contact_ns(&w->resume_points) > 0;
    if (sum->contact)
        sum->contact_age_ms = w->begun_age_ms + (now_ms - w->begun_ms);
}

struct watch_status watch_status(const struct watch *w, uint64_t now_ms)
{
    struct watch_stats t;

    watch_stats_begin(&t, w->list_watch_count > 0, &w->unresolved, now_ms);
    for (size_t i = 0; i < w->list_watch_count; i++) {
        struct list_watch_status s = list_watch_status(w->list_watches[i]);

        watch_stats_add(&t, &s);
    }
    t.sum.synced = watch_synced(w);
    t.sum.stale = now_ms >= first_stale_ms(w);
    t.sum.skipped = skips_count(store_skips(w->store));
    struct watch_status sum = watch_stats_end(&t);
    if (w->begun_stale && !sum.contact)
        note_restored_contact(w, now_ms, &sum);
    return sum;
}

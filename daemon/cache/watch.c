/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/meter.h"
#include "base/panic.h"
#include "cache/audit.h"
#include "cache/confirm.h"
#include "cache/watch_digest.h"

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
    /* One scope for each pair of a namespace and a name. */
    char **namespaces; /* none, or "*" alone = all */
    size_t namespace_count;
    char **names; /* none = all */
    size_t name_count;
    size_t scope_count;
    struct watch_params params; /* its pointers are not valid: the members above have the copies */
    struct digest digest;       /* of the settings (watch_digest()) */
    struct resource resource;   /* as far as it is known */
    struct shape *shape;        /* NULL = everything is kept */
    struct store *store;
    struct guard_window window;
    struct memory_limit *memory;      /* borrowed; NULL = none */
    struct list_watch **list_watches; /* NULL until the resource is known */
    size_t list_watch_count;
    struct resume_points resume_points; /* what an earlier process has left */
    struct audit *audit;
    struct confirm *confirm; /* NULL = deletes are not confirmed */
    /* Why the resource is not known; kind OK = it is known, or discovery has not failed so far. */
    struct err unresolved;
    uint64_t discovery_errors_by[ERR_KINDS];
    bool version_is_chosen; /* discovery chose the version, not the user */
    bool stale;             /* as on_stale told last */
    bool incomplete;        /* as on_incomplete told last */
    bool is_hidden;         /* objects were loaded, and watch_restore() has not shown them yet */
    /* When scopes with such missing objects are listed again; 0 = there are none */
    uint64_t missing_ms;
    uint64_t missing_wait_ms; /* and how long after that the next time */
    bool begun_stale;         /* watch_begin_stale() was called, as no server answered, .. */
    uint64_t begun_ms;        /* .. at this time, .. */
    /* .. when the last contact of the earlier process was so long ago. */
    uint64_t begun_age_ms;
    /* If no server answers until then, the watch begins stale, as the one whose place it has taken was
     * synced; 0 = it does not. */
    uint64_t begin_stale_ms;
    struct subscribers subscribers;
};

/* ---- Scopes */

static bool all_namespaces(const struct watch *w)
{
    return w->namespace_count == 1 && strcmp(w->namespaces[0], "*") == 0;
}

/* Do the namespaces fit the resource, be it namespaced or cluster-scoped? If it is not known which
 * of the two *r is, the user's settings say it. ERR_CONFIG says what does not fit. */
static enum err_kind check_resource(const struct watch *w, struct resource *r, struct err *err)
{
    size_t n = w->namespace_count;

    if (r->scope == RESOURCE_SCOPE_UNKNOWN)
        r->scope = n > 0 ? RESOURCE_NAMESPACED : RESOURCE_CLUSTER_SCOPED;
    if (r->scope == RESOURCE_CLUSTER_SCOPED && n > 0 && !all_namespaces(w))
        return err_set(err, ERR_CONFIG, 0, "%s is cluster-scoped: leave namespaces out", r->plural);
    if (r->scope == RESOURCE_NAMESPACED && n == 0)
        return err_set(err, ERR_CONFIG, 0,
                       "%s is namespaced: set namespaces to names, or to [ \"*\" ] for all",
                       r->plural);
    return ERR_OK;
}

/* The namespace that a scope asks for; NULL = all. Scopes are numbered by namespace, and within
 * each by name. */
static const char *scope_namespace(const struct watch *w, size_t scope)
{
    ensure(scope < w->scope_count);
    if (w->namespace_count == 0 || all_namespaces(w))
        return NULL;
    return w->namespaces[w->name_count > 0 ? scope / w->name_count : scope];
}

/* The name that it asks for; NULL = all. */
static const char *scope_name(const struct watch *w, size_t scope)
{
    ensure(scope < w->scope_count);
    return w->name_count > 0 ? w->names[scope % w->name_count] : NULL;
}

static bool selects(const char *wanted, struct str is)
{
    return wanted == NULL || str_is(is, wanted);
}

size_t watch_scope_of(const struct watch *w, const struct object *o)
{
    for (size_t i = 0; i < w->scope_count; i++)
        if (selects(scope_namespace(w, i), object_namespace(o)) &&
            selects(scope_name(w, i), object_name(o)))
            return i;
    return 0;
}

void watch_put_scope_name(const struct watch *w, size_t scope, struct buf *out)
{
    const char *ns = scope_namespace(w, scope);
    const char *name = scope_name(w, scope);

    buf_printf(out, "%s%s%s", ns != NULL ? ns : "", ns != NULL && name != NULL ? "/" : "",
               name != NULL ? name : "");
}

size_t watch_scope_count(const struct watch *w)
{
    return w->scope_count;
}

/* ---- Subscribers */

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
        audit_touched(w->audit, watch_scope_of(w, d->object), d);
    if (w->confirm != NULL)
        confirm_take(w->confirm, d);
    else
        tell(w, d);
}

static void on_skip(void *arg, const struct skip *s, bool gone)
{
    struct watch *w = arg;
    /* Each skipped object is named once, unless there is a flood of them. */
    bool flood = skips_count(store_skips(w->store)) > MANY_SKIPS;
    enum log_level level = flood ? LOG_LVL_DEBUG : gone ? LOG_LVL_INFO : LOG_LVL_WARN;
    struct str name = s->name.n > 0 ? s->name : str_c("(cannot be read)");

    audit_skipped(w->audit, s->scope, s->id);
    log_emit(level, gone ? "object no longer skipped" : "object skipped: its old state stays",
             LOG_FIELDS(KV_STR("cluster", w->cluster), KV_STR("watch", w->name),
                        KV_VIEW("key", name), KV_VIEW("why", s->why)));
    subscribers_skipped(&w->subscribers, (struct source){.watch = w}, s, gone);
}

/* ---- limits.memory */

static void tell_incomplete(struct watch *w, struct now now)
{
    log_emit(w->incomplete ? LOG_LVL_WARN : LOG_LVL_INFO,
             w->incomplete ? "limits.memory is reached: the watch is incomplete, its hooks wait"
                           : "watch is complete again",
             LOG_FIELDS(KV_STR("cluster", w->cluster), KV_STR("watch", w->name),
                        KV_U64("objects", store_count(w->store)),
                        KV_U64("bytes", store_bytes(w->store)),
                        KV_U64("all_bytes", meter_bytes())));
    subscribers_incomplete(&w->subscribers, (struct source){.watch = w}, w->incomplete, now);
}

/* A scope has become incomplete, or complete. */
static void on_incomplete(void *arg, struct now now)
{
    struct watch *w = arg;
    size_t n = 0;

    for (size_t i = 0; i < w->list_watch_count; i++)
        n += list_watch_is_incomplete(w->list_watches[i]);
    if ((n > 0) == w->incomplete)
        return;
    w->incomplete = n > 0;
    tell_incomplete(w, now);
}

void watch_limit_memory(struct watch *w, struct memory_limit *memory)
{
    ensure(w->memory == NULL);
    w->memory = memory;
    memory->watches++;
    for (size_t i = 0; i < w->list_watch_count; i++)
        list_watch_limit_memory(w->list_watches[i], memory);
}

bool watch_may_compare(const struct watch *w)
{
    return memory_may_grow(w->memory, meter_bytes(), store_bytes(w->store), MEMORY_LIST);
}

bool watch_incomplete(const struct watch *w)
{
    return w->incomplete;
}

/* ---- Making and freeing */

/* The seed differs by scope, so that the scopes of a watch do not wait in step. */
static struct list_watch *make_list_watch(struct watch *w, size_t scope)
{
    return list_watch_create(&(struct list_watch_params){
        .cluster = w->cluster,
        .watch = w->name,
        .resource = &w->resource,
        .ns = scope_namespace(w, scope),
        .name = scope_name(w, scope),
        .label_selector = w->labels,
        .field_selector = w->fields,
        .shape = w->shape,
        .object_size = w->params.object_size,
        .reflector = w->params.reflector,
        .guard = w->params.guard,
        .window = &w->window,
        .memory = w->memory,
        .on_incomplete = on_incomplete,
        .arg = w,
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
    w->list_watches = mem_array(w->scope_count, sizeof(struct list_watch *));
    w->list_watch_count = w->scope_count;
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
    w->namespaces = mem_strdups(p->namespaces, p->namespace_count);
    w->namespace_count = p->namespace_count;
    w->names = mem_strdups(p->names, p->name_count);
    w->name_count = p->name_count;
    /* All namespaces (or names) make one scope. */
    w->scope_count =
        (p->namespace_count > 0 ? p->namespace_count : 1) * (p->name_count > 0 ? p->name_count : 1);
    w->params = *p;
    w->digest = watch_digest(p);
    resume_points_init(&w->resume_points, w->scope_count);
    w->store = store_create(w->scope_count, on_store_delta, w);
    store_on_skip(w->store, on_skip, w);
    w->audit = audit_create(w->store, w->scope_count);
    if (p->confirm_deletes)
        w->confirm = confirm_create(tell, w);
    return w;
}

/* Checks the settings, and makes the list_watches unless discovery has to find the resource
 * first. */
static enum err_kind set_up(struct watch *w, const struct watch_params *p, struct err *err)
{
    if (resource_parse(p->resource, &w->resource, err) != ERR_OK)
        return err->kind;
    name_resource(w);
    for (size_t i = 0; i < w->namespace_count; i++)
        if (w->namespace_count > 1 && strcmp(w->namespaces[i], "*") == 0)
            return err_set(err, ERR_CONFIG, 0, "namespaces: \"*\" stands alone");
    if (p->shape.keep_count + p->shape.drop_count + p->shape.match_count > 0 &&
        shape_create(&p->shape, &w->shape, err) != ERR_OK)
        return err->kind;
    if (!resource_is_known(&w->resource))
        return ERR_OK;
    if (check_resource(w, &w->resource, err) != ERR_OK)
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
    if (w->memory != NULL)
        w->memory->watches--;
    for (size_t i = 0; i < w->list_watch_count; i++)
        list_watch_destroy(&w->list_watches[i]);
    free(w->list_watches);
    resume_points_fini(&w->resume_points);
    confirm_destroy(&w->confirm);
    audit_destroy(&w->audit);
    store_destroy(&w->store);
    shape_destroy(&w->shape);
    resource_fini(&w->resource);
    mem_free_strs(w->namespaces, w->namespace_count);
    mem_free_strs(w->names, w->name_count);
    subscribers_fini(&w->subscribers);
    free(w->labels);
    free(w->fields);
    free(w->resource_name);
    free(w->cluster);
    free(w->name);
    free(w);
}

/* ---- The resource */

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

enum err_kind watch_resolve(struct watch *w, const struct resource *found, struct err *err)
{
    struct resource r;

    resource_copy(&r, found);
    if (check_resource(w, &r, err) != ERR_OK) {
        resource_fini(&r);
        w->unresolved = *err;
        return err->kind;
    }
    w->unresolved = (struct err){0};
    w->version_is_chosen = w->version_is_chosen || w->resource.version == NULL;
    /* If its path has changed, all scopes are listed anew there. */
    bool moved = w->list_watches != NULL && !same_place(&w->resource, &r);
    resource_fini(&w->resource);
    w->resource = r;
    name_resource(w);
    if (w->list_watches == NULL)
        make_list_watches(w);
    for (size_t i = 0; moved && i < w->list_watch_count; i++)
        list_watch_move(w->list_watches[i]);
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
    w->discovery_errors_by[why->kind]++;
}

/* ---- Its parts */

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

const struct store *watch_store(const struct watch *w)
{
    return w->store;
}

void watch_each(const struct watch *w, void (*fn)(void *arg, struct object *o), void *arg)
{
    if (w->is_hidden)
        return;
    store_each(w->store, fn, arg);
    if (w->confirm != NULL)
        confirm_each(w->confirm, fn, arg);
}

struct audit *watch_audit(const struct watch *w)
{
    return w->audit;
}

struct confirm *watch_confirm(const struct watch *w)
{
    return w->confirm;
}

/* ---- The objects and versions of an earlier process */

void watch_load(struct watch *w, struct object *o)
{
    size_t scope = watch_scope_of(w, o);

    /* A bare object usually means that the state is incomplete and a list is needed. But if the
     * earlier process had skipped it, no list would bring more
     * (docs/decisions.md "A skipped object moves the resourceVersion on"). */
    if (!object_is_bare(o) || !skips_has(store_skips(w->store), object_key(o)))
        resume_points_note(&w->resume_points, scope, o);
    store_load(w->store, scope, o);
    w->is_hidden = true;
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

void watch_restore(struct watch *w, struct now now)
{
    struct restoring r = {w, now};

    w->is_hidden = false;
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
    w->is_hidden = false;
    w->begun_stale = false;
    w->begin_stale_ms = 0;
    w->window = (struct guard_window){0};
    for (size_t i = 0; i < w->scope_count; i++)
        store_unload(w->store, i);
    for (size_t i = 0; i < w->list_watch_count; i++)
        list_watch_forget(w->list_watches[i]);
}

/* ---- The objects and versions of a watch whose settings have changed */

/* The scope of this name; SIZE_MAX = there is none. */
static size_t scope_named(const struct watch *w, struct str name)
{
    struct buf is = {0};
    size_t scope = 0;

    for (; scope < w->scope_count; scope++) {
        buf_clear(&is);
        watch_put_scope_name(w, scope, &is);
        if (str_eq(buf_str(&is), name))
            break;
    }
    buf_free(&is);
    return scope < w->scope_count ? scope : SIZE_MAX;
}

/* The scope of `from` that has the name of a scope of w. */
static size_t same_scope(const struct watch *w, size_t scope, const struct watch *from)
{
    struct buf name = {0};

    watch_put_scope_name(w, scope, &name);
    size_t same = scope_named(from, buf_str(&name));
    buf_free(&name);
    return same;
}

/* Argument of inherit_object() and inherit_skip(). */
struct inheriting {
    struct watch *to;
    const struct watch *from;
    bool beyond; /* an object is in no scope of the new watch */
};

static void inherit_object(void *arg, struct object *o)
{
    struct inheriting *i = arg;
    size_t scope = watch_scope_of(i->to, o);

    i->beyond = i->beyond || !selects(scope_namespace(i->to, scope), object_namespace(o)) ||
                !selects(scope_name(i->to, scope), object_name(o));
    watch_load(i->to, o);
}

static void inherit_skip(void *arg, const struct skip *s)
{
    const struct inheriting *i = arg;
    struct skip own = *s;

    own.scope = same_scope(i->from, s->scope, i->to);
    if (own.scope != SIZE_MAX)
        watch_load_skip(i->to, &own);
}

/* When the server was last heard, wall clock. */
static uint64_t contact_ns(const struct watch *w, size_t scope, struct now now)
{
    uint64_t ms = 0;

    if (w->list_watches != NULL)
        ms = list_watch_contact_ms(w->list_watches[scope]);
    return ms > 0 ? now.wall_ns - (now.ms - ms) * 1000000 : w->resume_points.v[scope].contact_ns;
}

/* The resume point that another process would find of the scope. Borrowed as watch_version(). */
static struct resume_point point_of(const struct watch *w, size_t scope, struct now now)
{
    struct resume_point p = {.kind = RESUME_WHOLE};

    if (!watch_version(w, scope, &p.rv, &p.collection_rv)) {
        const struct resume_scope *left = &w->resume_points.v[scope];

        p = (struct resume_point){left->kind, left->rv, left->collection_rv, 0};
        /* A first list may have brought some objects already. */
        if (p.kind == RESUME_NONE && store_count(w->store) > 0)
            p.kind = RESUME_PARTIAL;
    }
    p.contact_ns = contact_ns(w, scope, now);
    return p;
}

/* Edited settings make the same kinds as after a restart (resume_all() in persist/watch). */
static void inherit_scope(const struct inheriting *i, size_t scope, struct now now)
{
    size_t same = same_scope(i->to, scope, i->from);
    struct resume_point p = {.kind = RESUME_PARTIAL};
    bool reselected = i->beyond || !watch_digest_selects_same(i->from->digest, i->to->digest);

    if (same != SIZE_MAX)
        p = point_of(i->from, same, now);
    if (!digest_eq(i->from->digest, i->to->digest) && p.kind != RESUME_NONE &&
        p.kind != RESUME_EDITED)
        p.kind = reselected ? RESUME_EDITED : RESUME_RESHAPED;
    if (p.kind != RESUME_NONE)
        watch_resume(i->to, scope, &p);
}

/* When the first scope makes the watch, which is synced, stale (docs/design.md "Staleness"). */
static uint64_t scopes_stale_ms(const struct watch *w)
{
    uint64_t first = UINT64_MAX;

    if (w->list_watches == NULL)
        return 0;
    for (size_t i = 0; i < w->list_watch_count; i++) {
        uint64_t ms = list_watch_stale_from_ms(w->list_watches[i], w->params.stale_after_ms);

        first = ms < first ? ms : first;
    }
    return first;
}

/* A watch that is not synced is not shown to hooks, so it is not stale either. */
static uint64_t first_stale_ms(const struct watch *w)
{
    return watch_synced(w) ? scopes_stale_ms(w) : UINT64_MAX;
}

/* The hooks of a synced watch go on although its server is lost, so they do when a reload puts w in its
 * place. w is stale at the time at which `from` would have been, or, if `from` was connected, as if it
 * had lost its server now. */
static void inherit_outage(struct watch *w, const struct watch *from, struct now now)
{
    uint64_t from_ms = first_stale_ms(from);

    if (!watch_synced(from))
        return;
    if (from_ms == UINT64_MAX)
        from_ms = now.ms + w->params.stale_after_ms;
    else if (from_ms > now.ms)
        from_ms = from_ms - from->params.stale_after_ms + w->params.stale_after_ms;
    w->begin_stale_ms = from_ms > now.ms ? from_ms : now.ms;
    w->begun_ms = now.ms;
    w->begun_age_ms = watch_source_status(from, now.ms).contact_age_ms;
}

void watch_inherit(struct watch *w, const struct watch *from, struct now now)
{
    struct inheriting i = {w, from, false};

    skips_each(store_skips(from->store), inherit_skip, &i);
    store_each(from->store, inherit_object, &i);
    if (from->confirm != NULL)
        confirm_each(from->confirm, inherit_object, &i);
    w->is_hidden = from->is_hidden;
    w->window = from->window;
    for (size_t scope = 0; scope < w->scope_count; scope++)
        inherit_scope(&i, scope, now);
    inherit_outage(w, from, now);
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

/* ---- Synced, held, stale */

static bool scope_synced(const struct watch *w, size_t scope)
{
    return w->list_watches != NULL && list_watch_synced(w->list_watches[scope]);
}

bool watch_synced(const struct watch *w)
{
    size_t n = 0;

    if (w->begun_stale)
        return true;
    while (n < w->scope_count && scope_synced(w, n))
        n++;
    return n == w->scope_count;
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

/* Is each scope synced, or connected and about to catch up? */
static bool is_answered(const struct watch *w)
{
    size_t n = 0;

    for (size_t i = 0; i < w->list_watch_count; i++) {
        const struct list_watch *lw = w->list_watches[i];

        n += list_watch_synced(lw) || list_watch_connected(lw);
    }
    return n == w->scope_count;
}

/* The watch has taken the place of one that was synced: if no server has answered in time, hooks have its
 * objects, stale. Returns when that time is; when a connection is lost, the driver calls again. */
static uint64_t look_for_outage(struct watch *w, struct now now)
{
    if (w->begin_stale_ms == 0 || watch_synced(w) || is_answered(w))
        return UINT64_MAX;
    if (now.ms < w->begin_stale_ms)
        return w->begin_stale_ms;
    w->begin_stale_ms = 0;
    if (!watch_begin_stale(w, now, w->begun_age_ms + now.ms - w->begun_ms))
        log_debug("watch waits for its list: its settings were edited",
                  KV_STR("cluster", w->cluster), KV_STR("watch", w->name));
    return UINT64_MAX;
}

uint64_t watch_tick(struct watch *w, struct now now)
{
    uint64_t outage_ms = look_for_outage(w, now);
    uint64_t missing_ms = look_for_missing(w, now.ms);
    uint64_t from_ms = first_stale_ms(w);
    bool stale = now.ms >= from_ms;

    if (stale != w->stale)
        become_stale(w, stale, now);
    /* Only a change of a scope ends staleness, and after that the driver calls again. */
    from_ms = stale ? UINT64_MAX : from_ms;
    from_ms = from_ms < outage_ms ? from_ms : outage_ms;
    return from_ms < missing_ms ? from_ms : missing_ms;
}

/* Only a complete cache may be shown to hooks (docs/design.md "Stale start"). */
bool watch_begin_stale(struct watch *w, struct now now, uint64_t age_ms)
{
    for (size_t i = 0; i < w->scope_count; i++)
        if (!scope_synced(w, i) && !resume_points_is_whole(&w->resume_points, i))
            return false;
    w->begun_stale = true;
    w->begun_ms = now.ms;
    w->begun_age_ms = age_ms;
    watch_tick(w, now);
    return true;
}

/* ---- The status */

/* A server that sends bookmarks is given up after bookmark_timeout, another one when its request has
 * ended (liveness_due_ms()). Then stale_after begins. */
static uint64_t silence_ms(const struct watch *w, bool has_bookmarks)
{
    const struct watch_params *p = &w->params;

    return p->stale_after_ms +
           (has_bookmarks ? p->bookmark_timeout_ms : (uint64_t)p->reflector.watch_max_s * 1000);
}

/* One scope without contact hides the contact of the others, as the oldest contact is asked for. */
static void add_contact(struct source_status *sum, const struct list_watch *lw, uint64_t now_ms)
{
    uint64_t ms = list_watch_contact_ms(lw);

    sum->contact = sum->contact && ms > 0;
    if (ms > 0 && now_ms > ms && now_ms - ms > sum->contact_age_ms)
        sum->contact_age_ms = now_ms - ms;
    sum->held = sum->held || list_watch_is_held(lw);
}

struct source_status watch_source_status(const struct watch *w, uint64_t now_ms)
{
    bool synced = watch_synced(w);
    struct source_status sum = {
        .synced = synced,
        .stale = synced && now_ms >= scopes_stale_ms(w),
        .incomplete = w->incomplete,
        .contact = w->list_watch_count > 0,
    };

    for (size_t i = 0; i < w->list_watch_count; i++)
        add_contact(&sum, w->list_watches[i], now_ms);
    if (sum.contact)
        return sum;
    /* No server was heard since the stale start: the contact is that of the earlier process, which
     * grows older. */
    sum.contact = w->begun_stale && resume_points_contact_ns(&w->resume_points) > 0;
    sum.contact_age_ms = sum.contact ? w->begun_age_ms + (now_ms - w->begun_ms) : 0;
    return sum;
}

struct watch_status watch_status(const struct watch *w, uint64_t now_ms)
{
    bool any = w->list_watch_count > 0;
    struct source_status source = watch_source_status(w, now_ms);
    struct watch_status sum = {
        .state = any ? WATCH_WATCHING : watch_state_unresolved(&w->unresolved),
        .synced = source.synced,
        .stale = source.stale,
        .contact = source.contact,
        .contact_age_ms = source.contact_age_ms,
        .rv = "",
        .skipped = skips_count(store_skips(w->store)),
        .err = &w->unresolved,
    };

    memcpy(sum.errors_by, w->discovery_errors_by, sizeof(sum.errors_by));
    for (size_t i = 0; i < w->list_watch_count; i++) {
        struct list_watch_status s = list_watch_status(w->list_watches[i]);

        /* The resource is known, so unresolved counts no more. */
        if (i == 0) {
            sum.rv = s.rv;
            sum.err = s.err;
        }
        watch_status_add(&sum, &s, now_ms);
    }
    sum.silence_ms = silence_ms(w, sum.bookmark_ms > 0);
    return sum;
}

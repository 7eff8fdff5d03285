/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/watch.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "cache/audit.h"
#include "cache/confirm.h"
#include "cache/span.h"

/* What a list left open is listed again after so long, with each time twice as long. */
#define MISSING_FIRST_MS UINT64_C(60000)
#define MISSING_MAX_MS   UINT64_C(3600000)

/* More objects than these are not named in the log one by one. */
enum { MANY_SKIPS = 100 };

struct watch {
    char *name;
    char *cluster;
    char *resource_name;
    char *labels;
    char *fields;
    struct span span;
    struct watch_params params; /* without its pointers, which are the above */
    struct resource resource;   /* as far as it is known */
    struct shape *shape;        /* NULL = everything is kept */
    struct store *store;
    struct guard_window window;
    struct feed **feeds; /* NULL until the resource is known */
    size_t feed_count;
    struct pasts pasts; /* what an earlier process has left */
    struct audit *audit;
    struct confirm *confirm; /* NULL = deletes are taken as they come */
    struct err
        unresolved; /* why the resource is not known; kind OK = it is, or was not asked for */
    bool version_is_chosen;   /* by discovery, not by the user */
    bool stale;               /* as told last */
    uint64_t missing_ms;      /* when what a list left open is listed again; 0 = nothing is open */
    uint64_t missing_wait_ms; /* after that one, so long */
    bool begun_stale;         /* with what was left, as no server answered, .. */
    uint64_t begun_ms;        /* .. at this time, when the last contact was so long ago */
    uint64_t begun_age_ms;
    const struct watch_events *events;
    void *arg;
};

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
    bool gone = d->type == DELTA_DELETED || d->type == DELTA_LEFT;

    if (w->events->on_kept != NULL)
        w->events->on_kept(w->arg, w, span_find(&w->span, d->object), d->object, gone);
    w->events->on_delta(w->arg, w, d);
}

static void on_store_delta(void *arg, const struct delta *d)
{
    struct watch *w = arg;

    if (audit_state(w->audit) != AUDIT_IDLE)
        audit_touched(w->audit, span_find(&w->span, d->object), d);
    if (w->confirm != NULL)
        confirm_take(w->confirm, d, newest_ms(w));
    else
        tell(w, d);
}

/* Each is named once, but for a flood of them. */
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

    audit_skipped(w->audit, s->part, s->id);
    log_skip(w, s, gone);
    if (w->events->on_skipped != NULL)
        w->events->on_skipped(w->arg, w, s, gone);
}

static struct feed *make_feed(struct watch *w, size_t stream)
{
    return feed_create(&(struct feed_params){
        .cluster = w->cluster,
        .watch = w->name,
        .resource = &w->resource,
        .ns = span_namespace(&w->span, stream),
        .name = span_name(&w->span, stream),
        .label_selector = w->labels,
        .field_selector = w->fields,
        .shape = w->shape,
        .object_size = w->params.object_size,
        .reflector = w->params.reflector,
        .guard = w->params.guard,
        .window = &w->window,
        .bookmark_timeout_ms = w->params.bookmark_timeout_ms,
        .list_idle_timeout_ms = w->params.list_idle_timeout_ms,
        .seed = w->params.seed + stream,
        .store = w->store,
        .part = stream,
    });
}

static void resume_feed(struct watch *w, size_t stream)
{
    struct past past = past_of(&w->pasts, stream, &w->resource);

    feed_resume(w->feeds[stream], &past);
}

static void make_feeds(struct watch *w)
{
    w->feeds = mem_array(w->span.streams, sizeof(struct feed *));
    w->feed_count = w->span.streams;
    for (size_t i = 0; i < w->feed_count; i++) {
        w->feeds[i] = make_feed(w, i);
        if (w->pasts.v[i].kind != PAST_NONE)
            resume_feed(w, i);
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

    w->name = mem_strdup(p->name);
    w->cluster = mem_strdup(p->cluster);
    w->labels = mem_strdup(p->label_selector);
    w->fields = mem_strdup(p->field_selector);
    span_init(&w->span, p);
    w->params = *p;
    w->events = events;
    w->arg = arg;
    past_init(&w->pasts, w->span.streams);
    w->store = store_create(w->span.streams, on_store_delta, w);
    store_on_skip(w->store, on_skip, w);
    w->audit = audit_create(w->store, w->span.streams);
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
    if (span_check(&w->span, err) != ERR_OK)
        return err->kind;
    if (has_shape(&p->shape) && shape_create(&p->shape, &w->shape, err) != ERR_OK)
        return err->kind;
    if (!resource_is_known(&w->resource))
        return ERR_OK;
    if (span_check_scope(&w->span, &w->resource, err) != ERR_OK)
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
    past_fini(&w->pasts);
    confirm_destroy(&w->confirm);
    audit_destroy(&w->audit);
    store_destroy(&w->store);
    shape_destroy(&w->shape);
    resource_fini(&w->resource);
    span_fini(&w->span);
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
    if (span_check_scope(&w->span, &r, err) != ERR_OK) {
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

size_t watch_stream_count(const struct watch *w)
{
    return w->span.streams;
}

void watch_put_scope(const struct watch *w, size_t stream, struct buf *out)
{
    span_put_scope(&w->span, stream, out);
}

size_t watch_stream_of(const struct watch *w, const struct object *o)
{
    return span_find(&w->span, o);
}

void watch_load(struct watch *w, struct object *o)
{
    size_t stream = span_find(&w->span, o);

    if (!object_is_bare(o) || !skips_has(store_skips(w->store), object_key(o)))
        past_note(&w->pasts, stream, o);
    store_load(w->store, stream, o);
}

void watch_load_skip(struct watch *w, const struct skip *s)
{
    store_load_skip(w->store, s);
}

void watch_resume(struct watch *w, size_t stream, const struct past *past)
{
    past_set(&w->pasts, stream, past);
    if (w->feeds != NULL)
        resume_feed(w, stream);
}

void watch_forget(struct watch *w)
{
    const struct err err = {.kind = ERR_FOREIGN, .text = "the cluster is another one"};

    if (audit_state(w->audit) != AUDIT_IDLE)
        audit_failed(w->audit, &err, newest_ms(w));
    if (w->confirm != NULL)
        confirm_forget(w->confirm);
    past_clear(&w->pasts);
    w->begun_stale = false;
    w->window = (struct guard_window){0};
    for (size_t i = 0; i < w->span.streams; i++)
        store_unload(w->store, i);
    for (size_t i = 0; i < w->feed_count; i++)
        feed_forget(w->feeds[i]);
}

enum past_kind watch_past(const struct watch *w, size_t stream)
{
    return w->feeds != NULL ? feed_status(watch_feed(w, stream)).past : watch_past_left(w, stream);
}

enum past_kind watch_past_left(const struct watch *w, size_t stream)
{
    return w->feeds != NULL ? past_of(&w->pasts, stream, &w->resource).kind
                            : w->pasts.v[stream].kind;
}

uint64_t watch_past_contact_ns(const struct watch *w)
{
    return past_contact_ns(&w->pasts);
}

/* While another cluster answers, what is there stands as it was. */
static bool list_is_held(const struct feed_status *s)
{
    return guard_holds(s->guard) && s->guard->reason != GUARD_IDENTITY;
}

/* Is it too uncertain what the version is worth? */
static bool is_in_doubt(const struct watch *w, const struct feed_status *s)
{
    return (w->confirm != NULL && confirm_count(w->confirm) > 0) || list_is_held(s) ||
           s->why == RELIST_FUTURE || s->why == RELIST_BACKWARDS || s->why == RELIST_AUDIT ||
           s->why == RELIST_MANUAL || s->why == RELIST_UNVERSIONED ||
           s->state == REFLECTOR_COMPARING;
}

bool watch_version(const struct watch *w, size_t stream, const char **rv, const char **mark)
{
    if (w->feeds == NULL)
        return false;
    struct feed_status s = feed_status(watch_feed(w, stream));
    if (s.past != PAST_OVER && s.past != PAST_WHOLE)
        return false;
    *rv = is_in_doubt(w, &s) ? "" : s.rv;
    *mark = s.mark;
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

static bool feed_synced(const struct watch *w, size_t stream)
{
    return w->feeds != NULL && feed_status(w->feeds[stream]).synced;
}

bool watch_synced(const struct watch *w)
{
    size_t n = 0;

    while (n < w->span.streams && feed_synced(w, n))
        n++;
    return w->begun_stale || n == w->span.streams;
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
    if (!s->synced && s->follow_ms == 0)
        return 0; /* what it may follow says nothing of what was left */
    if (s->connected || s->state == REFLECTOR_HELD)
        return UINT64_MAX;
    return s->follow_ms + w->params.stale_after_ms;
}

static uint64_t first_stale_ms(const struct watch *w)
{
    uint64_t first = UINT64_MAX;

    if (!watch_synced(w))
        return first;
    if (w->feeds == NULL)
        return 0;
    for (size_t i = 0; i < w->feed_count; i++) {
        struct feed_status s = feed_status(w->feeds[i]);
        uint64_t ms = stale_from_ms(w, &s);

        first = ms < first ? ms : first;
    }
    return first;
}

static void list_missing(void *arg, const struct skip *s)
{
    const struct watch *w = arg;

    if (str_is(s->why, SKIPS_MISSING) && w->feeds != NULL &&
        feed_status(w->feeds[s->part]).state == REFLECTOR_WATCHING)
        feed_order(w->feeds[s->part], RELIST_UNNAMED);
}

/* A list that deleted nothing, for want of a name, has left open what was missing in it. Returns when
 * the next one is due; not all nodes ask at once. */
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

uint64_t watch_tick(struct watch *w, struct feed_now now)
{
    uint64_t missing_ms = look_for_missing(w, now.ms);
    uint64_t from_ms = first_stale_ms(w);
    bool stale = now.ms >= from_ms;

    if (stale != w->stale) {
        w->stale = stale;
        w->events->on_stale(w->arg, w, stale, now.wall_ns);
    }
    from_ms = stale ? UINT64_MAX : from_ms;
    return from_ms < missing_ms ? from_ms : missing_ms;
}

bool watch_begin_stale(struct watch *w, struct feed_now now, uint64_t age_ms)
{
    for (size_t i = 0; i < w->span.streams; i++)
        if (!feed_synced(w, i) && !past_is_whole(&w->pasts, i))
            return false;
    w->begun_stale = true;
    w->begun_ms = now.ms;
    w->begun_age_ms = age_ms;
    watch_tick(w, now);
    return true;
}

/* That of the earlier process. */
static void note_past_contact(const struct watch *w, uint64_t now_ms, struct watch_status *sum)
{
    sum->contact = past_contact_ns(&w->pasts) > 0;
    if (sum->contact)
        sum->contact_age_ms = w->begun_age_ms + (now_ms - w->begun_ms);
}

struct watch_status watch_status(const struct watch *w, uint64_t now_ms)
{
    struct tally t;

    tally_begin(&t, w->feed_count > 0, &w->unresolved, now_ms);
    for (size_t i = 0; i < w->feed_count; i++) {
        struct feed_status s = feed_status(w->feeds[i]);

        tally_add(&t, &s);
    }
    t.sum.synced = watch_synced(w);
    t.sum.stale = now_ms >= first_stale_ms(w);
    t.sum.skipped = skips_count(store_skips(w->store));
    struct watch_status sum = tally_end(&t);
    if (w->begun_stale && !sum.contact)
        note_past_contact(w, now_ms, &sum);
    return sum;
}

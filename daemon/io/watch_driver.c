/* SPDX-License-Identifier: Apache-2.0 */
#include "io/watch_driver.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "cache/audit.h"
#include "io/audit_driver.h"
#include "io/confirm_driver.h"
#include "io/deadline.h"
#include "io/discovery_driver.h"
#include "io/list_watch_driver.h"
#include "io/loop.h"

/* A watch may have a thousand scopes, whose requests begin and end together, and watch_tick() looks
 * at all scopes: one call within this time serves them all. */
enum { LOOK_MS = 20 };

struct watch_driver {
    struct watch_driver_params params;
    const struct watch_driver_events *events;
    void *arg;
    struct list_watch_driver **drivers; /* one per scope; NULL until the resource is known */
    size_t driver_count;
    struct audit_driver *audit_driver;     /* NULL until the resource is known */
    struct confirm_driver *confirm_driver; /* NULL = deletes are not confirmed */
    struct deadline *tick;                 /* when watch_tick() is due, or within LOOK_MS */
    bool soon;                             /* a scope has changed: tick is due within LOOK_MS */
    struct resource wanted; /* the name to look up; zeroed if discovery is not needed */
    bool asking;            /* discovery looks for it */
    bool can_stream;        /* watch_driver_can_stream(), for scopes made later */
    struct err logged;      /* why there is no resource, as logged last; kind OK = not logged */
};

/* Has the watch compare its age with the clock (staleness, and a LIST that an item without a name
 * makes necessary), and sets the timer for the next time. */
static void on_tick(void *arg)
{
    struct watch_driver *d = arg;
    struct now now = {.ms = loop_now_ms(d->params.loop), .wall_ns = loop_wall_ns()};

    deadline_start_at(d->tick, watch_tick(d->params.watch, now));
    d->soon = false;
    /* watch_tick() may have ordered lists. */
    for (size_t i = 0; i < d->driver_count; i++)
        list_watch_driver_poke(d->drivers[i]);
    d->events->on_progress(d->arg);
}

/* A scope is connected now, or no longer, which may make the watch fresh, or move the time at
 * which it becomes stale. */
static void look_soon(struct watch_driver *d)
{
    if (!d->soon && deadline_left_ms(d->tick) > LOOK_MS) /* an earlier time is not put off */
        deadline_start(d->tick, LOOK_MS);
    d->soon = true;
}

static void on_found(void *who, const struct resource *found);
static void on_missing(void *who, const struct err *err, uint64_t retry_ms);

static const struct discovery_driver_events discovery_driver_events = {on_found, on_missing};

/* A request was answered with 404: the server may not serve any more the version that discovery
 * chose. Asks which version it serves now; a scope that fails again meanwhile does not ask once
 * more (docs/decisions.md "Discovery is asked only for names that are not built in"). */
static void look_for_resource(struct watch_driver *d)
{
    if (d->asking || !watch_is_lost(d->params.watch))
        return;
    d->asking = true;
    discovery_driver_refresh(d->params.discovery_driver);
    discovery_driver_resolve(d->params.discovery_driver, &d->wanted, &discovery_driver_events, d);
}

/* The cache may have changed: a DELETED may wait for its GET, and an audit for these events. */
static void on_data(void *arg)
{
    struct watch_driver *d = arg;

    if (d->confirm_driver != NULL)
        confirm_driver_kick(d->confirm_driver);
    if (d->audit_driver != NULL)
        audit_driver_kick(d->audit_driver);
    d->events->on_progress(d->arg);
}

static void on_change(void *arg)
{
    look_soon(arg);
    on_data(arg);
}

static void on_unauthorized(void *arg)
{
    struct watch_driver *d = arg;

    d->events->on_unauthorized(d->arg);
}

/* on_progress() and on_unauthorized() each may dispose the driver, so only one of them is
 * called. */
static void on_failed(void *arg, enum err_kind why)
{
    struct watch_driver *d = arg;

    if (why == ERR_NOT_FOUND)
        look_for_resource(d);
    if (why != ERR_UNAUTHORIZED) {
        on_change(d);
        return;
    }
    look_soon(d);
    on_unauthorized(d);
}

static void on_confirmed(void *arg)
{
    struct watch_driver *d = arg;

    d->events->on_progress(d->arg);
}

/* An audit of the interval has found differences: one list of all scopes repairs them, and the
 * guard judges that list as any other. A comparison that a person asked for repairs nothing
 * (docs/design.md "Audit"). */
static void on_audited(void *arg)
{
    struct watch_driver *d = arg;
    const struct audit_result *r = audit_result(watch_audit(d->params.watch));

    if (!r->applied || r->differences == 0)
        return;
    log_warn("audit found differences: the watch is listed again",
             KV_STR("cluster", watch_cluster(d->params.watch)),
             KV_STR("watch", watch_name(d->params.watch)), KV_U64("differences", r->differences),
             KV_U64("compared", r->compared));
    watch_relist(d->params.watch, RELIST_AUDIT);
    watch_driver_poke(d);
}

/* Makes one list_watch_driver per scope, and the requests beside those: audits, and GETs for deletes.
 * The array has one element more than there are scopes, so that drivers is not NULL even for a watch
 * without scopes: the watch has begun. */
static void begin(struct watch_driver *d)
{
    static const struct list_watch_driver_events events = {on_data, on_change, on_failed};
    static const struct audit_driver_events audit_driver_events = {on_audited, on_unauthorized};
    static const struct confirm_driver_events confirm_driver_events = {on_confirmed,
                                                                       on_unauthorized};
    const struct watch_driver_params *p = &d->params;
    size_t n = watch_list_watch_count(p->watch);

    d->drivers = mem_array(n + 1, sizeof(struct list_watch_driver *));
    for (; d->driver_count < n; d->driver_count++) {
        struct list_watch *list_watch = watch_list_watch(p->watch, d->driver_count);

        list_watch_can_stream(list_watch, d->can_stream);
        d->drivers[d->driver_count] =
            list_watch_driver_create(&(struct list_watch_driver_params){.loop = p->loop,
                                                                        .client = p->client,
                                                                        .renewals = p->renewals,
                                                                        .watch = p->watch,
                                                                        .list_watch = list_watch},
                                     &events, d);
    }
    d->audit_driver = audit_driver_create(&(struct audit_driver_params){.loop = p->loop,
                                                                        .client = p->client,
                                                                        .watch = p->watch,
                                                                        .interval_ms = p->audit_ms,
                                                                        .page_size = p->page_size,
                                                                        .seed = p->seed},
                                          &audit_driver_events, d);
    if (watch_confirm(p->watch) != NULL)
        d->confirm_driver = confirm_driver_create(
            &(struct confirm_driver_params){.loop = p->loop,
                                            .client = p->client,
                                            .watch = p->watch,
                                            .resource = watch_target(p->watch)},
            &confirm_driver_events, d);
}

/* Discovery goes on looking. A watch that runs already keeps the errors of its scopes as its
 * status. */
static void on_missing(void *who, const struct err *err, uint64_t retry_ms)
{
    struct watch_driver *d = who;

    if (d->drivers == NULL)
        watch_unresolved(d->params.watch, err);
    log_emit(log_failure_level(&d->logged, err), "watch cannot start",
             LOG_FIELDS(KV_STR("cluster", watch_cluster(d->params.watch)),
                        KV_STR("watch", watch_name(d->params.watch)), KV_ERR(err),
                        KV_MS("retry_in", retry_ms)));
    if (err->kind == ERR_UNAUTHORIZED)
        d->events->on_unauthorized(d->arg);
    else
        d->events->on_progress(d->arg);
}

/* The first time the watch begins; after a 404 its scopes list the version that the server has now,
 * if watch_resolve() has ordered that. */
static void on_found(void *who, const struct resource *found)
{
    struct watch_driver *d = who;
    struct err err;

    d->asking = false;
    d->logged = (struct err){0};
    if (watch_resolve(d->params.watch, found, &err) != ERR_OK)
        log_error("watch cannot start", KV_STR("cluster", watch_cluster(d->params.watch)),
                  KV_STR("watch", watch_name(d->params.watch)), KV_ERR(&err));
    else if (d->drivers == NULL)
        begin(d);
    else
        watch_driver_poke(d);
    d->events->on_progress(d->arg);
}

struct watch_driver *watch_driver_create(const struct watch_driver_params *params,
                                         const struct watch_driver_events *events, void *arg)
{
    struct watch_driver *d =
        MEM_NEW(struct watch_driver, .params = *params, .events = events, .arg = arg);
    const struct resource *wanted = watch_wants(params->watch);

    d->tick = deadline_create(params->loop, on_tick, d);
    look_soon(d); /* after a reload the watch may be to begin stale */
    if (wanted == NULL) {
        begin(d);
        return d;
    }
    /* Kubernetes' own resources are known without asking; this one is not. */
    resource_copy(&d->wanted, wanted);
    d->asking = true;
    discovery_driver_resolve(params->discovery_driver, &d->wanted, &discovery_driver_events, d);
    return d;
}

void watch_driver_can_stream(struct watch_driver *d, bool can)
{
    d->can_stream = can;
    for (size_t i = 0; i < watch_list_watch_count(d->params.watch); i++)
        list_watch_can_stream(watch_list_watch(d->params.watch, i), can);
}

void watch_driver_poke(struct watch_driver *d)
{
    for (size_t i = 0; i < d->driver_count; i++)
        list_watch_driver_poke(d->drivers[i]);
    look_soon(d); /* watches that were dropped for lists may make the watch stale */
}

void watch_driver_renew(struct watch_driver *d)
{
    for (size_t i = 0; i < d->driver_count; i++)
        list_watch_driver_renew(d->drivers[i]);
}

void watch_driver_move(struct watch_driver *d, struct api_client *client,
                       struct discovery_driver *discovery_driver, unsigned page_size)
{
    discovery_driver_forget(d->params.discovery_driver, d);
    d->params.client = client;
    d->params.discovery_driver = discovery_driver;
    d->params.page_size = page_size;
    if (d->asking)
        discovery_driver_resolve(discovery_driver, &d->wanted, &discovery_driver_events, d);
    for (size_t i = 0; i < d->driver_count; i++)
        list_watch_driver_move(d->drivers[i], client);
    if (d->audit_driver != NULL)
        audit_driver_move(d->audit_driver, client, page_size);
    if (d->confirm_driver != NULL)
        confirm_driver_move(d->confirm_driver, client);
}

void watch_driver_set_audit(struct watch_driver *d, uint64_t audit_ms)
{
    d->params.audit_ms = audit_ms;
    if (d->audit_driver != NULL)
        audit_driver_set_interval(d->audit_driver, audit_ms);
}

void watch_driver_retry(struct watch_driver *d)
{
    for (size_t i = 0; i < d->driver_count; i++)
        list_watch_driver_retry(d->drivers[i]);
}

void watch_driver_reauthenticate(struct watch_driver *d)
{
    for (size_t i = 0; i < d->driver_count; i++)
        list_watch_driver_reauthenticate(d->drivers[i]);
}

void watch_driver_verify(struct watch_driver *d)
{
    if (d->audit_driver != NULL)
        audit_driver_verify(d->audit_driver);
}

void watch_driver_dispose(struct watch_driver **dp)
{
    struct watch_driver *d = *dp;

    if (d == NULL)
        return;
    *dp = NULL;
    discovery_driver_forget(d->params.discovery_driver, d);
    for (size_t i = 0; i < d->driver_count; i++)
        list_watch_driver_dispose(&d->drivers[i]);
    audit_driver_dispose(&d->audit_driver);
    confirm_driver_dispose(&d->confirm_driver);
    deadline_dispose(&d->tick);
    resource_fini(&d->wanted);
    free(d->drivers);
    free(d);
}

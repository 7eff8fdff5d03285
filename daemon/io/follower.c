/* SPDX-License-Identifier: Apache-2.0 */
#include "io/follower.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "cache/audit.h"
#include "io/apis.h"
#include "io/auditor.h"
#include "io/confirmer.h"
#include "io/deadline.h"
#include "io/loop.h"
#include "io/source.h"

/* A watch may have a thousand streams, which begin and end together: one look serves them all. */
enum { LOOK_MS = 20 };

struct follower {
    struct follower_params params;
    const struct follower_events *events;
    void *arg;
    struct source **sources; /* NULL until the resource is known */
    size_t source_count;
    struct auditor *auditor;
    struct confirmer *confirmer; /* NULL = deletes are not confirmed */
    struct deadline *tick;       /* when the watch becomes stale, or soon */
    bool soon;                   /* a stream began or ended: tick is due within LOOK_MS */
    struct resource wanted;      /* what discovery is asked for; zeroed if nothing */
    bool asking;                 /* discovery will tell */
    bool can_stream;
    char told[sizeof(((struct err *)0)->text)]; /* why there is no resource, as logged last */
};

/* Tells when the watch became stale or fresh, and when to look again. */
static void look_at_clock(struct follower *f)
{
    struct feed_now now = {.ms = loop_now_ms(f->params.loop), .wall_ns = loop_wall_ns()};
    uint64_t next_ms = watch_tick(f->params.watch, now);

    f->soon = false;
    if (next_ms == UINT64_MAX)
        deadline_stop(f->tick);
    else
        deadline_start(f->tick, next_ms > now.ms ? next_ms - now.ms : 0);
}

static void on_tick(void *arg)
{
    struct follower *f = arg;

    look_at_clock(f);
    for (size_t i = 0; i < f->source_count; i++)
        source_poke(f->sources[i]);
    f->events->on_progress(f->arg);
}

static void look_soon(struct follower *f)
{
    if (!f->soon && deadline_left_ms(f->tick) > LOOK_MS) /* becoming stale is not put off */
        deadline_start(f->tick, LOOK_MS);
    f->soon = true;
}

static void on_found(void *who, const struct resource *found);
static void on_missing(void *who, const struct err *err, uint64_t retry_ms);

static const struct apis_events apis_events = {on_found, on_missing};

/* 404: the version that discovery chose may be served no more. Asks which one is. */
static void look_for_resource(struct follower *f)
{
    if (f->asking || !watch_is_lost(f->params.watch))
        return;
    f->asking = true;
    apis_refresh(f->params.apis);
    apis_resolve(f->params.apis, &f->wanted, &apis_events, f);
}

static void on_data(void *arg)
{
    struct follower *f = arg;

    if (f->confirmer != NULL)
        confirmer_kick(f->confirmer);
    if (f->auditor != NULL)
        auditor_kick(f->auditor);
    f->events->on_progress(f->arg);
}

static void on_change(void *arg)
{
    look_soon(arg);
    on_data(arg);
}

static void on_unauthorized(void *arg)
{
    struct follower *f = arg;

    f->events->on_unauthorized(f->arg);
}

static void on_failed(void *arg, enum err_kind why)
{
    struct follower *f = arg;

    if (why == ERR_NOT_FOUND)
        look_for_resource(f);
    if (why != ERR_UNAUTHORIZED) {
        on_change(f);
        return;
    }
    look_soon(f);
    on_unauthorized(f);
}

static void on_confirmed(void *arg)
{
    struct follower *f = arg;

    f->events->on_progress(f->arg);
}

static void on_audited(void *arg)
{
    struct follower *f = arg;
    const struct audit_result *r = audit_result(watch_audit(f->params.watch));

    if (!r->applied || r->differences == 0)
        return;
    log_warn("audit found differences: the cache is listed anew",
             KV_STR("cluster", watch_cluster(f->params.watch)),
             KV_STR("watch", watch_name(f->params.watch)), KV_U64("differences", r->differences),
             KV_U64("compared", r->compared));
    watch_relist(f->params.watch, RELIST_AUDIT);
    follower_poke(f);
}

static void make_sources(struct follower *f)
{
    static const struct source_events events = {on_data, on_change, on_failed};
    size_t n = watch_feed_count(f->params.watch);

    f->sources = mem_array(n + 1, sizeof(struct source *));
    for (; f->source_count < n; f->source_count++) {
        struct feed *feed = watch_feed(f->params.watch, f->source_count);
        const struct source_params p = {.loop = f->params.loop,
                                        .cluster = f->params.cluster,
                                        .watch = f->params.watch,
                                        .feed = feed};

        feed_can_stream(feed, f->can_stream);
        f->sources[f->source_count] = source_create(&p, &events, f);
    }
}

static void make_side_requests(struct follower *f)
{
    static const struct auditor_events auditor_events = {on_audited, on_unauthorized};
    static const struct confirmer_events confirmer_events = {on_confirmed, on_unauthorized};
    const struct follower_params *p = &f->params;

    f->auditor = auditor_create(&(struct auditor_params){.loop = p->loop,
                                                         .cluster = p->cluster,
                                                         .watch = p->watch,
                                                         .interval_ms = p->audit_ms,
                                                         .page_size = p->page_size,
                                                         .seed = p->seed},
                                &auditor_events, f);
    if (watch_confirm(p->watch) != NULL)
        f->confirmer =
            confirmer_create(&(struct confirmer_params){.loop = p->loop,
                                                        .cluster = p->cluster,
                                                        .watch = p->watch,
                                                        .resource = watch_target(p->watch)},
                             &confirmer_events, f);
}

static void begin(struct follower *f)
{
    make_sources(f);
    make_side_requests(f);
}

/* One line per transition: the same trouble again is for debugging only. */
static void tell_missing(struct follower *f, const struct err *err, uint64_t retry_ms)
{
    bool same = strcmp(f->told, err->text) == 0;

    snprintf(f->told, sizeof(f->told), "%s", err->text);
    log_emit(same ? LOG_LVL_DEBUG : LOG_LVL_WARN, "watch cannot begin",
             LOG_FIELDS(KV_STR("cluster", watch_cluster(f->params.watch)),
                        KV_STR("watch", watch_name(f->params.watch)), KV_ERR(err),
                        KV_MS("retry_in", retry_ms)));
}

static void on_missing(void *who, const struct err *err, uint64_t retry_ms)
{
    struct follower *f = who;

    if (f->sources == NULL)
        watch_unresolved(f->params.watch, err);
    tell_missing(f, err, retry_ms);
    if (err->kind == ERR_UNAUTHORIZED)
        f->events->on_unauthorized(f->arg);
    else
        f->events->on_progress(f->arg);
}

static void on_found(void *who, const struct resource *found)
{
    struct follower *f = who;
    struct err err;

    f->asking = false;
    f->told[0] = '\0';
    if (watch_resolve(f->params.watch, found, &err) != ERR_OK)
        log_error("watch cannot begin", KV_STR("cluster", watch_cluster(f->params.watch)),
                  KV_STR("watch", watch_name(f->params.watch)), KV_ERR(&err));
    else if (f->sources == NULL)
        begin(f);
    else
        follower_poke(f);
    f->events->on_progress(f->arg);
}

struct follower *follower_create(const struct follower_params *params,
                                 const struct follower_events *events, void *arg)
{
    struct follower *f = MEM_NEW(struct follower, .params = *params, .events = events, .arg = arg);
    const struct resource *wanted = watch_wants(params->watch);

    f->tick = deadline_create(params->loop, on_tick, f);
    if (wanted == NULL) {
        begin(f);
        return f;
    }
    resource_copy(&f->wanted, wanted);
    f->asking = true;
    apis_resolve(params->apis, &f->wanted, &apis_events, f);
    return f;
}

void follower_can_stream(struct follower *f, bool can)
{
    f->can_stream = can;
    for (size_t i = 0; i < watch_feed_count(f->params.watch); i++)
        feed_can_stream(watch_feed(f->params.watch, i), can);
}

void follower_poke(struct follower *f)
{
    for (size_t i = 0; i < f->source_count; i++)
        source_poke(f->sources[i]);
    look_soon(f); /* streams that were dropped may make it stale */
}

void follower_retry(struct follower *f)
{
    for (size_t i = 0; i < f->source_count; i++)
        source_retry(f->sources[i]);
}

void follower_verify(struct follower *f)
{
    if (f->auditor != NULL)
        auditor_verify(f->auditor);
}

void follower_dispose(struct follower **fp)
{
    struct follower *f = *fp;

    if (f == NULL)
        return;
    *fp = NULL;
    apis_forget(f->params.apis, f);
    for (size_t i = 0; i < f->source_count; i++)
        source_dispose(&f->sources[i]);
    auditor_dispose(&f->auditor);
    confirmer_dispose(&f->confirmer);
    deadline_dispose(&f->tick);
    resource_fini(&f->wanted);
    free(f->sources);
    free(f);
}

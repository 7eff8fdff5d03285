/* SPDX-License-Identifier: Apache-2.0 */
#include "io/discovery_driver.h"

#include <stdlib.h>

#include "base/list.h"
#include "base/mem.h"
#include "io/deadline.h"
#include "io/fetch.h"
#include "io/loop.h"
#include "kube/discovery.h"

/* From the head of an answer to its end, so that a server that drips cannot hold a round up for
 * ever. */
enum { HARD_DEADLINE_MS = 60000 };

/* The answer to GET /version has some hundred bytes. */
#define VERSION_BODY_BYTES ((size_t)64 * 1024)

enum discovery_driver_state {
    DISCOVERY_DRIVER_IDLE,    /* no name waits for a round */
    DISCOVERY_DRIVER_WAITING, /* the next round begins when the timer fires */
    DISCOVERY_DRIVER_ASKING,  /* a round is under way */
};

enum version_state { VERSION_UNKNOWN, VERSION_ASKING, VERSION_KNOWN };

enum want_state {
    WANT_FRESH,   /* new: to be looked up in the result of the last round */
    WANT_WAITING, /* for the next round */
    WANT_ASKING,  /* part of the round under way */
    WANT_DUE,     /* the round is over: its result is to be reported */
};

/* A name that somebody looks for. */
struct want {
    struct list link;
    struct resource resource;
    const struct discovery_driver_events *events;
    void *who; /* the caller of discovery_driver_resolve() */
    enum want_state state;
};

struct discovery_driver {
    struct discovery_driver_params params;
    enum discovery_driver_state state;
    struct discovery *discovery;
    struct fetch *round;    /* the request of the round under way */
    struct list wants;      /* of struct want */
    struct loop_task turn;  /* a want is FRESH or DUE */
    struct deadline *timer; /* of WAITING */
    uint64_t retry_at_ms;   /* WAITING: when the next round begins */
    uint64_t not_before_ms; /* no round begins before, whatever a new name wants */
    struct backoff backoff;
    struct rng rng;
    enum version_state version_state;
    struct version version;
    struct fetch *version_fetch;
    struct loop_task version_turn;           /* calls version_cb with the version that is known */
    discovery_driver_version_cb *version_cb; /* NULL = nobody waits for the version */
    void *version_arg;
};

static uint64_t now_ms(const struct discovery_driver *d)
{
    return loop_now_ms(d->params.loop);
}

static struct want *first_in(struct discovery_driver *d, enum want_state state)
{
    list_each (link, next, &d->wants) {
        struct want *w = list_entry(link, struct want, link);

        if (w->state == state)
            return w;
    }
    return NULL;
}

static void drop(struct want *w)
{
    list_remove(&w->link);
    resource_fini(&w->resource);
    free(w);
}

static void wait_until(struct discovery_driver *d, uint64_t at_ms)
{
    uint64_t now = now_ms(d);

    d->state = DISCOVERY_DRIVER_WAITING;
    d->retry_at_ms = at_ms > now ? at_ms : now;
    deadline_start(d->timer, d->retry_at_ms - now);
}

/* Does the result of the round lack the resource of w? */
static bool is_missing(const struct discovery_driver *d, const struct want *w)
{
    struct resource found;

    if (discovery_find(d->discovery, &w->resource, &found, NULL) != ERR_OK)
        return true;
    resource_fini(&found);
    return false;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The round is over. Each want of it is reported in a turn of its own (on_turn()). If a resource is
 * missing, the next round comes after the backoff, or later if the server asked for that. */
static void end_round(struct discovery_driver *d)
{
    uint64_t server_ms = discovery_retry_after_ms(d->discovery);
    bool missing = false;

    list_each (link, next, &d->wants) {
        struct want *w = list_entry(link, struct want, link);

        if (w->state != WANT_ASKING)
            continue;
        w->state = WANT_DUE;
        missing |= is_missing(d, w);
    }
    d->not_before_ms = now_ms(d) + later(d->params.retry.initial_ms, server_ms);
    if (missing) {
        uint64_t ms = backoff_step(&d->backoff, &d->params.retry, &d->rng);

        wait_until(d, later(now_ms(d) + ms, d->not_before_ms));
    } else {
        d->state = DISCOVERY_DRIVER_IDLE;
        backoff_reset(&d->backoff);
    }
    loop_defer(d->params.loop, &d->turn);
}

static struct fetch *start_fetch(struct discovery_driver *d, const char *target, const char *accept,
                                 size_t max_bytes, fetch_cb *cb)
{
    const struct fetch_params params = {
        .request = {.target = target,
                    .accept = accept,
                    .list = true,
                    .hard_deadline_ms = HARD_DEADLINE_MS},
        .max_bytes = max_bytes,
    };

    return fetch_start(d->params.loop, d->params.client, &params, cb, d);
}

static void on_answer(void *arg, const struct fetch_answer *a);

/* discovery_next() decides from the answers which request comes next, or that the round is
 * complete. */
static void ask_next(struct discovery_driver *d)
{
    struct discovery_request r;

    if (discovery_next(d->discovery, &r))
        d->round = start_fetch(d, r.target, r.accept, DISCOVERY_BODY_BYTES, on_answer);
    else
        end_round(d);
}

static void on_answer(void *arg, const struct fetch_answer *a)
{
    struct discovery_driver *d = arg;

    if (a->outcome == FETCH_GOOD)
        discovery_answer(d->discovery, a->body);
    else if (a->outcome == FETCH_REFUSED)
        discovery_refused(d->discovery, &a->err, a->retry_after_s);
    else
        discovery_fail(d->discovery, &a->err);
    fetch_dispose(&d->round);
    ask_next(d);
}

/* Asks for all names that are looked for, whatever state they are in. */
static void begin_round(void *arg)
{
    struct discovery_driver *d = arg;

    d->state = DISCOVERY_DRIVER_IDLE;
    if (list_is_empty(&d->wants))
        return;
    d->state = DISCOVERY_DRIVER_ASKING;
    discovery_begin(d->discovery);
    list_each (link, next, &d->wants) {
        struct want *w = list_entry(link, struct want, link);

        w->state = WANT_ASKING;
        discovery_want(d->discovery, &w->resource);
    }
    ask_next(d);
}

/* The last round has not found w. If a round is under way, w takes part in it; else w waits for the
 * next one, which comes as soon as not_before_ms allows: the backoff belongs to names that were
 * asked for before. */
static void join(struct discovery_driver *d, struct want *w)
{
    uint64_t at_ms = later(now_ms(d), d->not_before_ms);

    if (d->state == DISCOVERY_DRIVER_ASKING) {
        w->state = WANT_ASKING;
        discovery_want(d->discovery, &w->resource);
        return;
    }
    w->state = WANT_WAITING;
    if (d->state == DISCOVERY_DRIVER_IDLE || at_ms < d->retry_at_ms)
        wait_until(d, at_ms);
}

/* The want ends before its callback runs, which may want something else or dispose the driver. */
static void tell_found(struct want *w, struct resource *found)
{
    const struct discovery_driver_events *events = w->events;
    void *who = w->who;

    drop(w);
    events->on_found(who, found);
    resource_fini(found);
}

/* Looks up or reports one want. Only one in each turn, because its callback may add and remove
 * wants or dispose the driver. */
static void on_turn(struct loop_task *task)
{
    struct discovery_driver *d = container_of(task, struct discovery_driver, turn);
    struct want *due = first_in(d, WANT_DUE);
    struct want *w = due != NULL ? due : first_in(d, WANT_FRESH);
    struct resource found;
    struct err err;

    if (w == NULL)
        return;
    /* Before the callback, which may dispose the driver. */
    loop_defer(d->params.loop, &d->turn);
    if (discovery_find(d->discovery, &w->resource, &found, &err) == ERR_OK) {
        tell_found(w, &found);
    } else if (due != NULL) {
        uint64_t now = now_ms(d);

        w->state = WANT_WAITING;
        w->events->on_missing(w->who, &err, later(d->retry_at_ms, now) - now);
    } else {
        join(d, w);
    }
}

static void tell_version(struct discovery_driver *d)
{
    discovery_driver_version_cb *cb = d->version_cb;

    d->version_cb = NULL;
    if (cb != NULL)
        cb(d->version_arg, d->version_state == VERSION_KNOWN ? &d->version : NULL);
}

static void on_version_turn(struct loop_task *task)
{
    tell_version(container_of(task, struct discovery_driver, version_turn));
}

/* GET /version is over. If it failed, the next call of discovery_driver_version() asks again. */
static void on_version(void *arg, const struct fetch_answer *a)
{
    struct discovery_driver *d = arg;
    bool good = a->outcome == FETCH_GOOD && version_parse(a->body, &d->version);

    fetch_dispose(&d->version_fetch);
    d->version_state = good ? VERSION_KNOWN : VERSION_UNKNOWN;
    tell_version(d);
}

struct discovery_driver *discovery_driver_create(const struct discovery_driver_params *params)
{
    struct discovery_driver *d =
        MEM_NEW(struct discovery_driver, .params = *params, .state = DISCOVERY_DRIVER_IDLE);

    d->discovery = discovery_create();
    list_init(&d->wants);
    loop_task_init(&d->turn, on_turn);
    loop_task_init(&d->version_turn, on_version_turn);
    d->timer = deadline_create(params->loop, begin_round, d);
    rng_seed(&d->rng, params->seed);
    return d;
}

void discovery_driver_resolve(struct discovery_driver *d, const struct resource *want,
                              const struct discovery_driver_events *events, void *who)
{
    struct want *w = MEM_NEW(struct want, .events = events, .who = who, .state = WANT_FRESH);

    resource_copy(&w->resource, want);
    discovery_driver_forget(d, who);
    list_append(&d->wants, &w->link);
    loop_defer(d->params.loop, &d->turn);
}

void discovery_driver_forget(struct discovery_driver *d, const void *who)
{
    list_each (link, next, &d->wants) {
        struct want *w = list_entry(link, struct want, link);

        if (w->who == who)
            drop(w);
    }
}

void discovery_driver_refresh(struct discovery_driver *d)
{
    /* The round under way brings a new result anyway. */
    if (d->state == DISCOVERY_DRIVER_ASKING)
        return;
    discovery_begin(d->discovery);
    /* The result that these should get is forgotten now. */
    for (struct want *w; (w = first_in(d, WANT_DUE)) != NULL;)
        w->state = WANT_FRESH;
}

void discovery_driver_reauthenticate(struct discovery_driver *d)
{
    if (d->state == DISCOVERY_DRIVER_WAITING)
        wait_until(d, d->not_before_ms);
}

void discovery_driver_version(struct discovery_driver *d, discovery_driver_version_cb *cb,
                              void *arg)
{
    d->version_cb = cb;
    d->version_arg = arg;
    if (d->version_state == VERSION_KNOWN)
        loop_defer(d->params.loop, &d->version_turn);
    if (d->version_state != VERSION_UNKNOWN)
        return;
    d->version_state = VERSION_ASKING;
    d->version_fetch = start_fetch(d, "/version", NULL, VERSION_BODY_BYTES, on_version);
}

void discovery_driver_dispose(struct discovery_driver **dp)
{
    struct discovery_driver *d = *dp;

    if (d == NULL)
        return;
    *dp = NULL;
    list_each (link, next, &d->wants) {
        drop(list_entry(link, struct want, link));
    }
    loop_cancel(&d->turn);
    loop_cancel(&d->version_turn);
    fetch_dispose(&d->round);
    fetch_dispose(&d->version_fetch);
    deadline_dispose(&d->timer);
    discovery_destroy(&d->discovery);
    free(d);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "io/apis.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/mem.h"
#include "io/cluster.h"
#include "io/deadline.h"
#include "io/loop.h"
#include "kube/discovery.h"
#include "proto/http_in.h"

/* From the head of an answer to its end, however slowly it drips. */
enum { HARD_DEADLINE_MS = 60000 };

#define VERSION_BODY_BYTES ((size_t)64 * 1024)

enum apis_state {
    APIS_IDLE,    /* nobody waits for a round */
    APIS_WAITING, /* the next round begins when the timer fires */
    APIS_ASKING,  /* a round is under way */
};

enum version_state { VERSION_UNKNOWN, VERSION_ASKING, VERSION_KNOWN };

enum want_state {
    WANT_FRESH,   /* to be looked up in what is known */
    WANT_WAITING, /* for the next round */
    WANT_ASKING,  /* part of the round */
    WANT_DUE,     /* the round is over: who is to be told */
};

struct want {
    struct list link;
    struct resource resource;
    const struct apis_events *events;
    void *who;
    enum want_state state;
};

/* One request with its answer. */
struct call {
    struct apis *of;
    struct request *request;
    struct buf body;
    size_t max;
    int code;
    int64_t retry_after_s;
    void (*done)(struct apis *a, const struct err *err); /* NULL = an answer with any code */
};

struct apis {
    struct apis_params params;
    enum apis_state state;
    struct discovery *discovery;
    struct call round;
    struct list wants;
    struct loop_task turn; /* something is FRESH or DUE */
    struct deadline *timer;
    uint64_t retry_at_ms;   /* of WAITING */
    uint64_t not_before_ms; /* no round begins before */
    struct backoff backoff;
    struct rng rng;
    enum version_state version_state;
    struct version version;
    struct call version_call;
    struct loop_task version_turn;
    apis_version_cb *version_cb; /* NULL = nobody waits for it */
    void *version_arg;
};

static uint64_t now_ms(const struct apis *a)
{
    return loop_now_ms(a->params.loop);
}

static void end_call(struct call *c, const struct err *err)
{
    request_dispose(&c->request);
    c->done(c->of, err);
}

static void on_head(void *arg, const struct http_head *head)
{
    struct call *c = arg;

    c->code = head->status;
    c->retry_after_s = head->retry_after_s;
}

static void on_body(void *arg, const char *data, size_t n)
{
    struct call *c = arg;
    struct err err;

    if (c->body.len + n <= c->max) {
        buf_append(&c->body, data, n);
        return;
    }
    err_set(&err, ERR_TOO_BIG, 0, "the answer is larger than %zu bytes", c->max);
    end_call(c, &err);
}

static void on_end(void *arg, const struct err *err)
{
    end_call(arg, err);
}

static void start_call(struct call *c, const char *target, const char *accept)
{
    static const struct request_events events = {
        .on_head = on_head, .on_body = on_body, .on_end = on_end};
    const struct request_params params = {
        .target = target, .accept = accept, .list = true, .hard_deadline_ms = HARD_DEADLINE_MS};

    buf_clear(&c->body);
    c->request = cluster_request(c->of->params.cluster, &params, &events, c);
}

static void end_call_memory(struct call *c)
{
    request_dispose(&c->request);
    buf_free(&c->body);
}

static struct want *first_in(struct apis *a, enum want_state state)
{
    list_each (link, next, &a->wants) {
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

static void wait_until(struct apis *a, uint64_t at_ms)
{
    uint64_t now = now_ms(a);

    a->state = APIS_WAITING;
    a->retry_at_ms = at_ms > now ? at_ms : now;
    deadline_start(a->timer, a->retry_at_ms - now);
}

/* Does anybody still miss something after the round? */
static bool is_missing(const struct apis *a, const struct want *w)
{
    struct resource found;

    if (discovery_find(a->discovery, &w->resource, &found, NULL) != ERR_OK)
        return true;
    resource_fini(&found);
    return false;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void end_round(struct apis *a)
{
    uint64_t server_ms = discovery_retry_after_ms(a->discovery);
    bool missing = false;

    list_each (link, next, &a->wants) {
        struct want *w = list_entry(link, struct want, link);

        if (w->state != WANT_ASKING)
            continue;
        w->state = WANT_DUE;
        missing |= is_missing(a, w);
    }
    a->not_before_ms = now_ms(a) + later(a->params.retry.initial_ms, server_ms);
    if (missing) {
        uint64_t ms = backoff_step(&a->backoff, &a->params.retry, &a->rng);

        wait_until(a, later(now_ms(a) + ms, a->not_before_ms));
    } else {
        a->state = APIS_IDLE;
        backoff_reset(&a->backoff);
    }
    loop_defer(a->params.loop, &a->turn);
}

static void ask_next(struct apis *a)
{
    struct discovery_request r;

    if (discovery_next(a->discovery, &r))
        start_call(&a->round, r.target, r.accept);
    else
        end_round(a);
}

static void on_answer(struct apis *a, const struct err *err)
{
    struct call *c = &a->round;

    if (err != NULL)
        discovery_fail(a->discovery, err);
    else
        discovery_answer(a->discovery, c->code, c->retry_after_s, buf_str(&c->body));
    buf_free(&c->body);
    ask_next(a);
}

static void begin_round(void *arg)
{
    struct apis *a = arg;

    a->state = APIS_IDLE;
    if (list_is_empty(&a->wants))
        return;
    a->state = APIS_ASKING;
    discovery_begin(a->discovery);
    list_each (link, next, &a->wants) {
        struct want *w = list_entry(link, struct want, link);

        w->state = WANT_ASKING;
        discovery_want(a->discovery, &w->resource);
    }
    ask_next(a);
}

/* What is known does not help: the round under way shall, or the next, which may begin sooner. */
static void join(struct apis *a, struct want *w)
{
    uint64_t at_ms = later(now_ms(a), a->not_before_ms);

    if (a->state == APIS_ASKING) {
        w->state = WANT_ASKING;
        discovery_want(a->discovery, &w->resource);
        return;
    }
    w->state = WANT_WAITING;
    if (a->state == APIS_IDLE || at_ms < a->retry_at_ms)
        wait_until(a, at_ms);
}

static void tell_found(struct want *w, struct resource *found)
{
    const struct apis_events *events = w->events;
    void *who = w->who;

    drop(w);
    events->on_found(who, found);
    resource_fini(found);
}

/* One want in each turn: what its callback does can so disturb nothing. */
static void on_turn(struct loop_task *task)
{
    struct apis *a = container_of(task, struct apis, turn);
    struct want *due = first_in(a, WANT_DUE);
    struct want *w = due != NULL ? due : first_in(a, WANT_FRESH);
    struct resource found;
    struct err err;

    if (w == NULL)
        return;
    loop_defer(a->params.loop, &a->turn);
    if (discovery_find(a->discovery, &w->resource, &found, &err) == ERR_OK) {
        tell_found(w, &found);
    } else if (due != NULL) {
        uint64_t now = now_ms(a);

        w->state = WANT_WAITING;
        w->events->on_missing(w->who, &err, later(a->retry_at_ms, now) - now);
    } else {
        join(a, w);
    }
}

static void tell_version(struct apis *a)
{
    apis_version_cb *cb = a->version_cb;

    a->version_cb = NULL;
    if (cb != NULL)
        cb(a->version_arg, a->version_state == VERSION_KNOWN ? &a->version : NULL);
}

static void on_version_turn(struct loop_task *task)
{
    tell_version(container_of(task, struct apis, version_turn));
}

static void on_version(struct apis *a, const struct err *err)
{
    struct call *c = &a->version_call;
    bool good = err == NULL && c->code == 200 && version_parse(buf_str(&c->body), &a->version);

    buf_free(&c->body);
    a->version_state = good ? VERSION_KNOWN : VERSION_UNKNOWN;
    tell_version(a);
}

struct apis *apis_create(const struct apis_params *params)
{
    struct apis *a = MEM_NEW(struct apis, .params = *params, .state = APIS_IDLE);

    a->discovery = discovery_create();
    a->round = (struct call){.of = a, .max = DISCOVERY_BODY_BYTES, .done = on_answer};
    a->version_call = (struct call){.of = a, .max = VERSION_BODY_BYTES, .done = on_version};
    list_init(&a->wants);
    loop_task_init(&a->turn, on_turn);
    loop_task_init(&a->version_turn, on_version_turn);
    a->timer = deadline_create(params->loop, begin_round, a);
    rng_seed(&a->rng, params->seed);
    return a;
}

void apis_resolve(struct apis *a, const struct resource *want, const struct apis_events *events,
                  void *who)
{
    struct want *w = MEM_NEW(struct want, .events = events, .who = who, .state = WANT_FRESH);

    resource_copy(&w->resource, want);
    apis_forget(a, who);
    list_append(&a->wants, &w->link);
    loop_defer(a->params.loop, &a->turn);
}

void apis_forget(struct apis *a, const void *who)
{
    list_each (link, next, &a->wants) {
        struct want *w = list_entry(link, struct want, link);

        if (w->who == who)
            drop(w);
    }
}

void apis_refresh(struct apis *a)
{
    if (a->state == APIS_ASKING)
        return;
    discovery_begin(a->discovery);
    for (struct want *w; (w = first_in(a, WANT_DUE)) != NULL;)
        w->state = WANT_FRESH;
}

void apis_version(struct apis *a, apis_version_cb *cb, void *arg)
{
    a->version_cb = cb;
    a->version_arg = arg;
    if (a->version_state == VERSION_KNOWN)
        loop_defer(a->params.loop, &a->version_turn);
    if (a->version_state != VERSION_UNKNOWN)
        return;
    a->version_state = VERSION_ASKING;
    start_call(&a->version_call, "/version", NULL);
}

void apis_dispose(struct apis **ap)
{
    struct apis *a = *ap;

    if (a == NULL)
        return;
    *ap = NULL;
    list_each (link, next, &a->wants) {
        drop(list_entry(link, struct want, link));
    }
    loop_cancel(&a->turn);
    loop_cancel(&a->version_turn);
    end_call_memory(&a->round);
    end_call_memory(&a->version_call);
    deadline_dispose(&a->timer);
    discovery_destroy(&a->discovery);
    free(a);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "io/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/log.h"
#include "base/mem.h"
#include "io/cluster.h"
#include "io/deadline.h"
#include "io/loop.h"

/* Servers report an error of a watch behind a good head, at once. */
enum { WELL_MS = 1000 };

struct source {
    struct source_params params;
    const struct source_events *events;
    void *arg;
    struct request *request;  /* NULL while waiting */
    struct request *list;     /* beside it (feed_wants_list()); NULL = none is under way */
    struct deadline *wait;    /* the first start, and FEED_WAIT */
    struct deadline *silence; /* looks whether the response under way is too silent */
    struct deadline *well;    /* a watch that lives until then has recovered */
    uint64_t asked;   /* the server process of the last request (request_peer()); 0 = not known */
    uint64_t peer;    /* the last one that is known, .. */
    uint64_t peer_ms; /* .. and when its response ended */
    bool started;
    char logged[sizeof(((struct err *)0)->text)]; /* the trouble that was told last; "" = none */
};

static void act(struct source *s, struct feed_action a);

static struct feed_now now(const struct source *s)
{
    return (struct feed_now){.ms = loop_now_ms(s->params.loop), .wall_ns = loop_wall_ns()};
}

/* What the user can do about it, where the text of the error does not say so itself. */
static const char *remedy(const struct err *err)
{
    if (err->kind == ERR_IO && (err->code == UV_EMFILE || err->code == UV_ENFILE))
        return "raise the limit of open files (LimitNOFILE= of the service)";
    switch (err->kind) {
    case ERR_REFUSED:
        return "is the API server running, and its address right?";
    case ERR_TIMEOUT:
    case ERR_IO:
        return "check the server's address, the network and firewalls";
    case ERR_CLOSED:
        return "the server or a proxy in between ended the connection; its log says why";
    case ERR_BUSY:
        return "the server asks for patience";
    case ERR_TOO_BIG:
        return "raise limits.object_size, or leave the object out by a selector";
    case ERR_SERVER:
        return "the API server has trouble; its log says more";
    case ERR_OK:
    case ERR_TLS:
    case ERR_PROTOCOL:
    case ERR_UNAUTHORIZED:
    case ERR_FORBIDDEN:
    case ERR_NOT_FOUND:
    case ERR_NO_VERB:
    case ERR_EXPIRED:
    case ERR_FUTURE:
    case ERR_CONFIG:
    case ERR_CREDENTIAL:
    case ERR_FOREIGN:
    case ERR_KINDS:
        break;
    }
    return NULL;
}

static struct kv field_unless_empty(const char *key, const char *value)
{
    if (value == NULL || value[0] == '\0')
        return (struct kv){.type = KV_TYPE_NONE};
    return KV_STR(key, value);
}

/* One line per transition: the same trouble again is for debugging only. */
static void tell_trouble(struct source *s, const struct err *err, uint64_t retry_ms)
{
    bool same = strcmp(s->logged, err->text) == 0;

    snprintf(s->logged, sizeof(s->logged), "%s", err->text);
    log_emit(same ? LOG_LVL_DEBUG : LOG_LVL_WARN, "watch failed",
             LOG_FIELDS(KV_STR("cluster", watch_cluster(s->params.watch)),
                        KV_STR("watch", watch_name(s->params.watch)),
                        field_unless_empty("scope", feed_scope(s->params.feed)), KV_ERR(err),
                        field_unless_empty("remedy", remedy(err)), KV_MS("retry_in", retry_ms)));
}

static void tell_well(struct source *s)
{
    if (s->logged[0] == '\0')
        return;
    s->logged[0] = '\0';
    log_info("watch recovered", KV_STR("cluster", watch_cluster(s->params.watch)),
             KV_STR("watch", watch_name(s->params.watch)),
             field_unless_empty("scope", feed_scope(s->params.feed)));
}

static void on_well(void *arg)
{
    tell_well(arg);
}

static void tell_synced(const struct source *s)
{
    log_info("watch synced", KV_STR("cluster", watch_cluster(s->params.watch)),
             KV_STR("watch", watch_name(s->params.watch)),
             KV_U64("objects", store_count(watch_store(s->params.watch))));
}

/* Have the bytes just handed over, their end, or their silence synced all streams? */
static void look_synced(const struct source *s, bool was_synced)
{
    if (!was_synced && feed_status(s->params.feed).synced && watch_synced(s->params.watch))
        tell_synced(s);
}

/* Bytes move the time on at which silence is too long; the timer finds that out when it fires. */
static void watch_silence(struct source *s)
{
    uint64_t due_ms = feed_due_ms(s->params.feed);
    uint64_t now_ms = loop_now_ms(s->params.loop);

    if (due_ms != UINT64_MAX && !deadline_pending(s->silence))
        deadline_start(s->silence, due_ms > now_ms ? due_ms - now_ms : 0);
}

static void drop_requests(struct source *s)
{
    request_dispose(&s->request);
    request_dispose(&s->list);
    deadline_stop(s->silence);
    deadline_stop(s->well);
}

static void end_request(struct source *s)
{
    s->asked = request_peer(s->request);
    if (s->asked != 0) {
        s->peer = s->asked;
        s->peer_ms = loop_now_ms(s->params.loop);
    }
    drop_requests(s);
}

/* The feed has said what is next. */
static void go_on(struct source *s, struct feed_action a, bool was_synced)
{
    const struct err *trouble = feed_status(s->params.feed).err;
    enum err_kind why = a.what == FEED_WAIT ? trouble->kind : ERR_OK;
    look_synced(s, was_synced);
    if (why != ERR_OK)
        tell_trouble(s, trouble, a.wait_ms);
    act(s, a);
    if (why != ERR_OK)
        s->events->on_failed(s->arg, why);
    else
        s->events->on_change(s->arg);
}

/* The request is over: what next? */
static void finish(struct source *s, const struct err *err)
{
    bool was_synced = feed_status(s->params.feed).synced;

    end_request(s);
    go_on(s, feed_end(s->params.feed, err, now(s)), was_synced);
}

static void on_head(void *arg, const struct http_head *head)
{
    struct source *s = arg;

    feed_head(s->params.feed, head, loop_now_ms(s->params.loop));
    if (s->logged[0] != '\0' && feed_status(s->params.feed).connected)
        deadline_start(s->well, WELL_MS);
    watch_silence(s);
    s->events->on_change(s->arg);
}

static void on_body(void *arg, const char *data, size_t n)
{
    struct source *s = arg;
    struct feed_status was = feed_status(s->params.feed);
    bool goes_on = feed_body(s->params.feed, data, n, now(s));
    bool follows = feed_status(s->params.feed).connected;
    bool synced = feed_status(s->params.feed).synced;

    look_synced(s, was.synced);
    if (!goes_on) {
        finish(s, NULL);
        return;
    }
    if (follows) {
        request_leave_gate(s->request);
        tell_well(s);
    }
    watch_silence(s);
    if (follows != was.connected || synced != was.synced)
        s->events->on_change(s->arg);
    else
        s->events->on_data(s->arg);
}

static void on_end(void *arg, const struct err *err)
{
    finish(arg, err);
}

static void list_beside(struct source *s);

static void on_list_head(void *arg, const struct http_head *head)
{
    struct source *s = arg;

    feed_list_head(s->params.feed, head);
}

static void on_list_end(void *arg, const struct err *err)
{
    struct source *s = arg;

    request_dispose(&s->list);
    if (!feed_list_end(s->params.feed, err, now(s))) {
        finish(s, NULL);
        return;
    }
    if (feed_status(s->params.feed).connected)
        tell_well(s);
    list_beside(s);
    watch_silence(s);
    s->events->on_change(s->arg);
}

static void on_list_body(void *arg, const char *data, size_t n)
{
    struct source *s = arg;

    if (!feed_list_body(s->params.feed, data, n, now(s)))
        on_list_end(s, NULL);
}

static void list_beside(struct source *s)
{
    static const struct request_events events = {
        .on_head = on_list_head, .on_body = on_list_body, .on_end = on_list_end};

    if (s->list != NULL || !feed_wants_list(s->params.feed))
        return;
    struct feed_action a = feed_list(s->params.feed);
    s->list = cluster_request(
        s->params.cluster,
        &(struct request_params){
            .target = a.target, .accept = a.accept, .list = true, .asks_first = true},
        &events, s);
}

static void on_silence(void *arg)
{
    struct source *s = arg;
    bool was_synced = feed_status(s->params.feed).synced;

    if (feed_overdue(s->params.feed, loop_now_ms(s->params.loop))) {
        finish(s, NULL);
        return;
    }
    look_synced(s, was_synced);
    list_beside(s);
    watch_silence(s);
    if (feed_status(s->params.feed).synced != was_synced)
        s->events->on_change(s->arg);
}

/* A FEED_IDENTIFY was answered, or not. */
static void on_identified(void *arg, const struct err *err)
{
    struct source *s = arg;
    bool was_synced = feed_status(s->params.feed).synced;
    struct err why = err != NULL ? *err : (struct err){0};

    end_request(s);
    go_on(s, feed_identified(s->params.feed, err != NULL ? &why : NULL, now(s)), was_synced);
}

static bool on_identity(void *arg, const char *revision)
{
    struct source *s = arg;

    if (!feed_is_ahead(s->params.feed, revision))
        return true;
    end_request(s);
    act(s, feed_doubted(s->params.feed, loop_now_ms(s->params.loop)));
    return false;
}

static void act(struct source *s, struct feed_action a)
{
    static const struct request_events events = {
        .on_head = on_head, .on_body = on_body, .on_end = on_end, .on_identity = on_identity};
    static const struct request_events question = {.on_end = on_identified};

    if (a.what == FEED_WAIT) {
        loop_update_now(s->params.loop); /* a turn that took long must not shorten the pause */
        deadline_start(s->wait, a.wait_ms);
        return;
    }
    if (a.what == FEED_IDENTIFY) {
        s->request = cluster_identify(s->params.cluster, s->asked, &question, s);
        return;
    }
    s->request = cluster_request(s->params.cluster,
                                 &(struct request_params){.target = a.target,
                                                          .accept = a.accept,
                                                          .list = a.what == FEED_LIST,
                                                          .stream = a.what == FEED_STREAM,
                                                          .asks_first = a.what == FEED_STREAM,
                                                          .follows = a.what != FEED_LIST,
                                                          .last_peer = s->peer,
                                                          .last_ms = s->peer_ms,
                                                          .hard_deadline_ms = a.deadline_ms},
                                 &events, s);
}

static void on_wait_over(void *arg)
{
    struct source *s = arg;
    uint64_t ms = loop_now_ms(s->params.loop);
    bool first = !s->started;

    s->started = true;
    act(s, first ? feed_start(s->params.feed, ms) : feed_timer(s->params.feed, ms));
    s->events->on_change(s->arg);
}

void source_poke(struct source *s)
{
    if (!s->started || !feed_is_ordered(s->params.feed))
        return;
    drop_requests(s);
    deadline_stop(s->wait);
    act(s, feed_restart(s->params.feed, now(s)));
}

void source_retry(struct source *s)
{
    const struct guard *guard = feed_status(s->params.feed).guard;

    if (s->request != NULL || !guard_holds(guard) || guard->reason != GUARD_IDENTITY)
        return;
    deadline_stop(s->wait);
    act(s, feed_timer(s->params.feed, loop_now_ms(s->params.loop)));
}

struct source *source_create(const struct source_params *params, const struct source_events *events,
                             void *arg)
{
    struct source *s = mem_zalloc(sizeof(*s));

    s->params = *params;
    s->events = events;
    s->arg = arg;
    s->wait = deadline_create(params->loop, on_wait_over, s);
    s->silence = deadline_create(params->loop, on_silence, s);
    s->well = deadline_create(params->loop, on_well, s);
    deadline_start(s->wait, 0);
    return s;
}

void source_dispose(struct source **sp)
{
    struct source *s = *sp;

    if (s == NULL)
        return;
    *sp = NULL;
    drop_requests(s);
    deadline_dispose(&s->wait);
    deadline_dispose(&s->silence);
    deadline_dispose(&s->well);
    free(s);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "io/list_watch_driver.h"

#include <stdlib.h>
#include <uv.h>

#include "base/log.h"
#include "base/mem.h"
#include "io/api_client.h"
#include "io/deadline.h"
#include "io/loop.h"
#include "io/renewals.h"
#include "io/request.h"

/* A server may answer a watch with status 200 and then send an ERROR event at once
 * (docs/kubernetes-protocol.md "Start of a watch"). So after a failure a watch counts as recovered
 * only after this time, or when its first bytes were good. */
enum { WELL_MS = 1000 };

/* A request of the scope. There are two while a watch is being renewed. */
struct slot {
    struct list_watch_driver *of;
    struct request *request;   /* NULL = none */
    struct api_client *client; /* of the request that was sent last */
};

struct list_watch_driver {
    struct list_watch_driver_params params;
    const struct list_watch_driver_events *events;
    void *arg;
    struct slot slots[2];
    struct slot *current;  /* the request under way; empty while waiting */
    struct slot *second;   /* the second watch, which is to take its place; mostly empty */
    struct request *list;  /* the LIST beside a watch (list_watch_wants_compare()); NULL = none */
    struct deadline *wait; /* until the first start, and for LW_WAIT */
    struct deadline *silence; /* when to look whether the response has been silent for too long */
    struct deadline *well;    /* a watch that lives until then has recovered: WELL_MS */
    struct deadline *trial; /* a second watch that lives until then takes the place of the first */
    struct renewals_watch renewal;
    uint64_t behind_ms; /* when a server was last found to be behind the version of the watch */
    uint64_t asked;     /* the server process of the last request (request_peer()); 0 = not known */
    struct api_client *asked_by; /* the client of that request */
    uint64_t peer;               /* the last server process that was known */
    uint64_t peer_ms;            /* when the response of that process ended */
    bool started;                /* list_watch_start() was called */
    /* The failure that was logged last; kind OK = none, or the watch has recovered since. */
    struct err logged;
};

static void act(struct list_watch_driver *d, struct list_watch_action a);

static struct now now(const struct list_watch_driver *d)
{
    return (struct now){.ms = loop_now_ms(d->params.loop), .wall_ns = loop_wall_ns()};
}

/* The remedy for an error, for those kinds of error whose texts do not say so
 * themselves. */
static const char *remedy(const struct err *err)
{
    if (err->kind == ERR_IO && (err->code == UV_EMFILE || err->code == UV_ENFILE))
        return "raise the limit of open files (LimitNOFILE= of the service)";
    if (err->kind == ERR_IO && err->code > 0) /* the status of a proxy: its text says what to do */
        return NULL;
    switch (err->kind) {
    case ERR_REFUSED:
        return "is the API server, or the proxy if the text names one, running, and its address "
               "right?";
    case ERR_TIMEOUT:
    case ERR_IO:
        return "check the server's address, the network and firewalls";
    case ERR_CLOSED:
        return "the server or a proxy in between ended the connection; its log says why";
    case ERR_BUSY:
        return "the server is busy and asks clients to wait";
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

/* A field of a log line that is left out if it has no value. */
static struct kv field_unless_empty(const char *key, const char *value)
{
    if (value == NULL || value[0] == '\0')
        return (struct kv){.type = KV_TYPE_NONE};
    return KV_STR(key, value);
}

/* For debugging one watch (informerctl log-level debug --watch W): each request that it makes. */
static void tell_request(const struct list_watch_driver *d, const char *target)
{
    log_debug("watch asks its server", KV_STR("cluster", watch_cluster(d->params.watch)),
              KV_STR("watch", watch_name(d->params.watch)),
              field_unless_empty("scope", list_watch_scope_name(d->params.list_watch)),
              KV_STR("target", target));
}

/* A failure is logged once: the same one again, after each backoff, is for debugging only. */
static void tell_trouble(struct list_watch_driver *d, const struct err *err, uint64_t retry_ms)
{
    log_emit(log_failure_level(&d->logged, err), "watch failed",
             LOG_FIELDS(KV_STR("cluster", watch_cluster(d->params.watch)),
                        KV_STR("watch", watch_name(d->params.watch)),
                        field_unless_empty("scope", list_watch_scope_name(d->params.list_watch)),
                        KV_ERR(err), field_unless_empty("remedy", remedy(err)),
                        KV_MS("retry_in", retry_ms)));
}

/* Ends the episode that tell_trouble() began; logs nothing if no failure was logged. */
static void tell_well(struct list_watch_driver *d)
{
    if (d->logged.kind == ERR_OK)
        return;
    d->logged = (struct err){0};
    log_info("watch recovered", KV_STR("cluster", watch_cluster(d->params.watch)),
             KV_STR("watch", watch_name(d->params.watch)),
             field_unless_empty("scope", list_watch_scope_name(d->params.list_watch)));
}

static void on_well(void *arg)
{
    tell_well(arg);
}

/* Logs that the watch is synced, if the last piece of a response, its end or its silence has synced
 * this scope, and all other scopes are. */
static void look_synced(const struct list_watch_driver *d, bool was_synced)
{
    if (!was_synced && list_watch_synced(d->params.list_watch) && watch_synced(d->params.watch))
        log_info("watch synced", KV_STR("cluster", watch_cluster(d->params.watch)),
                 KV_STR("watch", watch_name(d->params.watch)),
                 KV_U64("objects", store_count(watch_store(d->params.watch))));
}

/* Each piece of a response moves the time at which a silence is too long. The timer is not moved
 * with it, as pieces may be many; when it fires, on_silence() starts it again for the time that is
 * left. */
static void watch_silence(struct list_watch_driver *d)
{
    uint64_t due_ms = list_watch_due_ms(d->params.list_watch);

    if (due_ms != UINT64_MAX && !deadline_pending(d->silence))
        deadline_start_at(d->silence, due_ms);
}

static void drop_second(struct list_watch_driver *d)
{
    request_dispose(&d->second->request);
    deadline_stop(d->trial);
}

static void drop_requests(struct list_watch_driver *d)
{
    request_dispose(&d->current->request);
    request_dispose(&d->list);
    drop_second(d);
    renewals_leave(d->params.renewals, &d->renewal);
    deadline_stop(d->silence);
    deadline_stop(d->well);
}

/* Which server process answers the request, or has answered it; 0 = not known to the present client. */
static uint64_t peer_of(const struct list_watch_driver *d)
{
    return d->current->client == d->params.client ? request_peer(d->current->request) : 0;
}

/* Notes which server process has answered, for the question which cluster it is, and for the next
 * watch. */
static void end_request(struct list_watch_driver *d)
{
    d->asked = request_peer(d->current->request);
    d->asked_by = d->current->client;
    if (d->asked_by != d->params.client) {
        d->peer = 0;
        d->peer_ms = loop_now_ms(d->params.loop);
    } else if (d->asked != 0) {
        d->peer = d->asked;
        d->peer_ms = loop_now_ms(d->params.loop);
    }
    drop_requests(d);
}

/* Carries out the next action, and reports. An LW_WAIT with an error in the status comes from a
 * failure; a wait without an error, such as that of a list that the guard holds, is not reported as
 * one. */
static void go_on(struct list_watch_driver *d, struct list_watch_action a, bool was_synced)
{
    const struct err *trouble = list_watch_status(d->params.list_watch).err;
    enum err_kind why = a.what == LW_WAIT ? trouble->kind : ERR_OK;
    look_synced(d, was_synced);
    if (why != ERR_OK)
        tell_trouble(d, trouble, a.wait_ms);
    act(d, a);
    if (why != ERR_OK)
        d->events->on_failed(d->arg, why);
    else
        d->events->on_change(d->arg);
}

/* The request is over, or is to be dropped; err as in list_watch_end(). */
static void finish(struct list_watch_driver *d, const struct err *err)
{
    bool was_synced = list_watch_synced(d->params.list_watch);
    unsigned others = request_others(d->current->request);

    if (request_unanswered(d->current->request))
        list_watch_unanswered(d->params.list_watch);
    end_request(d);
    go_on(d, list_watch_end(d->params.list_watch, err, others, now(d)), was_synced);
}

/* Has the request under way older credentials, or another client than the present one? */
static bool is_outdated(const struct list_watch_driver *d)
{
    const struct request *r = d->current->request;

    return r != NULL && (!request_is_current(r) || d->current->client != d->params.client);
}

/* A watch whose connection has older credentials is to get another one
 * (docs/design.md "New credentials"). Looked for whenever the watch may have become one that can be
 * renewed. */
static void look_renewal(struct list_watch_driver *d)
{
    if (is_outdated(d) && list_watch_can_renew(d->params.list_watch))
        renewals_join(d->params.renewals, &d->renewal);
}

static void on_head(struct list_watch_driver *d, const struct http_head *head)
{
    list_watch_head(d->params.list_watch, head, loop_now_ms(d->params.loop));
    /* A quiet watch may send nothing for a minute: it recovers by time. */
    if (d->logged.kind != ERR_OK && list_watch_connected(d->params.list_watch))
        deadline_start(d->well, WELL_MS);
    watch_silence(d);
    look_renewal(d);
    d->events->on_change(d->arg);
}

static void on_body(struct list_watch_driver *d, const char *data, size_t n)
{
    const struct list_watch *lw = d->params.list_watch;
    bool was_synced = list_watch_synced(lw);
    bool was_connected = list_watch_connected(lw);
    bool goes_on = list_watch_body(d->params.list_watch, data, n, now(d));

    look_synced(d, was_synced);
    if (!goes_on) {
        finish(d, NULL);
        return;
    }
    /* Good bytes of a watch. For a streaming list the initial events are complete: it gives its
     * place up. */
    if (list_watch_connected(lw)) {
        request_leave_gate(d->current->request);
        tell_well(d);
    }
    watch_silence(d);
    /* on_change() costs more than on_data(), so it is kept for real changes. */
    if (list_watch_connected(lw) != was_connected || list_watch_synced(lw) != was_synced) {
        look_renewal(d);
        d->events->on_change(d->arg);
    } else {
        d->events->on_data(d->arg);
    }
}

/* The second watch has failed; err as in list_watch_renewal_end(). The first one goes on. After a
 * 401 there may be a newer token. */
static void renewal_failed(struct list_watch_driver *d, const struct err *err)
{
    struct err why = {0};
    uint64_t wait_ms = list_watch_renewal_end(d->params.list_watch, err, &why);
    struct renewals_retry retry = renewals_failed(d->params.renewals, &d->renewal, &why, wait_ms);

    drop_second(d);
    log_emit(retry.level, "watch not renewed: its open stream goes on",
             LOG_FIELDS(KV_STR("cluster", watch_cluster(d->params.watch)),
                        KV_STR("watch", watch_name(d->params.watch)),
                        field_unless_empty("scope", list_watch_scope_name(d->params.list_watch)),
                        KV_ERR(&why), field_unless_empty("remedy", remedy(&why)),
                        KV_MS("retry_in", retry.in_ms)));
    if (why.kind == ERR_UNAUTHORIZED)
        d->events->on_failed(d->arg, why.kind);
}

/* The second watch takes the place of the first one, whose connection is closed. It may be an older
 * one itself, if the credentials have changed once more meanwhile. Returns false if the first one
 * has to go on. */
static bool renewed(struct list_watch_driver *d)
{
    static const struct err unknown = {
        .kind = ERR_PROTOCOL,
        .text = "events came without a resourceVersion: nobody could tell which ones come again"};
    struct slot *first = d->current;

    if (!list_watch_renewed(d->params.list_watch, now(d))) {
        renewal_failed(d, &unknown);
        return false;
    }
    deadline_stop(d->trial);
    d->current = d->second;
    d->second = first;
    request_dispose(&first->request);
    log_debug("watch renewed", KV_STR("cluster", watch_cluster(d->params.watch)),
              KV_STR("watch", watch_name(d->params.watch)),
              field_unless_empty("scope", list_watch_scope_name(d->params.list_watch)));
    renewals_done(d->params.renewals, &d->renewal);
    look_renewal(d);
    watch_silence(d);
    return true;
}

static void on_trial_over(void *arg)
{
    struct list_watch_driver *d = arg;

    if (renewed(d))
        d->events->on_data(d->arg);
}

/* The first events of the second watch go the way of all events: on_body() takes them from the
 * list_watch, which has read them already. */
static void on_second_body(struct list_watch_driver *d, const char *data, size_t n)
{
    switch (list_watch_renewal_body(d->params.list_watch, data, n)) {
    case RENEWAL_GOES_ON:
        break;
    case RENEWAL_SERVED:
        if (renewed(d))
            on_body(d, "", 0);
        break;
    case RENEWAL_REFUSED:
        renewal_failed(d, NULL);
        break;
    }
}

static void on_slot_head(void *arg, const struct http_head *head)
{
    struct slot *s = arg;
    struct list_watch_driver *d = s->of;

    if (s == d->current)
        on_head(d, head);
    else if (list_watch_renewal_head(d->params.list_watch, head))
        deadline_start(d->trial, RENEWAL_TRIAL_MS);
}

static void on_slot_body(void *arg, const char *data, size_t n)
{
    struct slot *s = arg;

    if (s == s->of->current)
        on_body(s->of, data, n);
    else
        on_second_body(s->of, data, n);
}

static void on_slot_end(void *arg, const struct err *err)
{
    struct slot *s = arg;

    if (s == s->of->current)
        finish(s->of, err);
    else
        renewal_failed(s->of, err);
}

static void list_beside(struct list_watch_driver *d);

static void on_list_head(void *arg, const struct http_head *head)
{
    struct list_watch_driver *d = arg;

    list_watch_compare_head(d->params.list_watch, head);
}

/* The LIST beside the watch is over. If list_watch_compare_end() says that the watch is over too,
 * both requests are dropped; else the next page may be wanted. */
static void on_list_end(void *arg, const struct err *err)
{
    struct list_watch_driver *d = arg;

    request_dispose(&d->list);
    if (!list_watch_compare_end(d->params.list_watch, err, now(d))) {
        finish(d, NULL);
        return;
    }
    if (list_watch_connected(d->params.list_watch))
        tell_well(d);
    list_beside(d);
    watch_silence(d);
    look_renewal(d);
    d->events->on_change(d->arg);
}

static void on_list_body(void *arg, const char *data, size_t n)
{
    struct list_watch_driver *d = arg;

    if (!list_watch_compare_body(d->params.list_watch, data, n, now(d)))
        on_list_end(d, NULL);
}

/* Sends the LIST beside the watch, or its next page
 * (docs/decisions.md "Without list versions the watch begins before its LIST"). */
static void list_beside(struct list_watch_driver *d)
{
    static const struct request_events events = {
        .on_head = on_list_head, .on_body = on_list_body, .on_end = on_list_end};

    if (d->list != NULL || !list_watch_wants_compare(d->params.list_watch))
        return;
    struct list_watch_action a = list_watch_compare(d->params.list_watch);
    tell_request(d, a.target);
    d->list = api_client_request(
        d->params.client,
        &(struct request_params){
            .target = a.target, .accept = a.accept, .list = true, .asks_first = true},
        &events, d);
}

/* A silence is not only a sign of a dead connection: a resumed watch is synced by it, and a LIST
 * beside a watch waits for it. */
static void on_silence(void *arg)
{
    static const struct err silent = {.kind = ERR_TIMEOUT,
                                      .text = "a response was silent for too long"};
    struct list_watch_driver *d = arg;
    bool was_synced = list_watch_synced(d->params.list_watch);

    if (list_watch_overdue(d->params.list_watch, loop_now_ms(d->params.loop))) {
        request_blame(d->current->request, &silent);
        finish(d, NULL);
        return;
    }
    look_synced(d, was_synced);
    list_beside(d);
    watch_silence(d);
    look_renewal(d); /* a resumed watch may follow the server from now on */
    if (list_watch_synced(d->params.list_watch) != was_synced)
        d->events->on_change(d->arg);
}

/* An LW_IDENTIFY is over; err as in list_watch_identified(). */
static void on_identified(void *arg, const struct err *err)
{
    struct slot *s = arg;
    struct list_watch_driver *d = s->of;
    bool was_synced = list_watch_synced(d->params.list_watch);
    struct err why = err != NULL ? *err : (struct err){0};
    unsigned others = request_others(d->current->request);

    end_request(d);
    go_on(d, list_watch_identified(d->params.list_watch, err != NULL ? &why : NULL, others, now(d)),
          was_synced);
}

/* The second watch is about to be sent to a server whose etcd is behind its version: it would be
 * silent until that server has caught up (docs/kubernetes-protocol.md "Versions of the future"). */
static bool on_second_identity(struct list_watch_driver *d, const char *revision, bool is_last)
{
    struct err err;

    if (!list_watch_renewal_is_ahead(d->params.list_watch, revision))
        return true;
    if (!is_last)
        return false;
    d->behind_ms = loop_now_ms(d->params.loop);
    err_set(&err, ERR_FUTURE, 0, "the server is behind the watch: its etcd has revision %s",
            revision);
    renewal_failed(d, &err);
    return false;
}

/* The request is about to be sent, and the server has said the revision of its etcd. If a watch is
 * to resume from a later version, this server lags behind others. If they all do, etcd may have been
 * restored from a backup: the list_watch looks into that first. */
static bool on_identity(void *arg, const char *revision, bool is_last)
{
    struct slot *s = arg;
    struct list_watch_driver *d = s->of;

    if (s == d->second)
        return on_second_identity(d, revision, is_last);
    if (!list_watch_is_ahead(d->params.list_watch, revision))
        return true;
    if (!is_last)
        return false;
    end_request(d);
    act(d, list_watch_doubted(d->params.list_watch, loop_now_ms(d->params.loop)));
    return false;
}

static const struct request_events slot_events = {.on_head = on_slot_head,
                                                  .on_body = on_slot_body,
                                                  .on_end = on_slot_end,
                                                  .on_identity = on_identity};

/* Carries out one action. Requests call back later, so this never recurses. */
static void act(struct list_watch_driver *d, struct list_watch_action a)
{
    static const struct request_events question = {.on_end = on_identified};

    if (a.what == LW_WAIT) {
        loop_update_now(d->params.loop); /* a turn that took long must not shorten the pause */
        deadline_start(d->wait, a.wait_ms);
        return;
    }
    /* The question is for the process that answered the LIST: only its answer proves that LIST. It
     * follows the LIST at once, so the client of the LIST is still there. */
    if (a.what == LW_IDENTIFY) {
        d->current->client = d->asked_by;
        d->current->request = api_client_identify(d->asked_by, d->asked, &question, d->current);
        return;
    }
    tell_request(d, a.target);
    d->current->client = d->params.client;
    d->current->request =
        api_client_request(d->params.client,
                           &(struct request_params){.target = a.target,
                                                    .accept = a.accept,
                                                    .list = a.what == LW_LIST,
                                                    .stream = a.what == LW_STREAM,
                                                    .asks_first = a.what == LW_STREAM,
                                                    .follows = a.what != LW_LIST,
                                                    .last_peer = d->peer,
                                                    .last_ms = d->peer_ms,
                                                    .hard_deadline_ms = a.deadline_ms},
                           &slot_events, d->current);
}

/* The server must have said its revision after that time. If it said so after the version of the watch
 * had come, it has said at least that version; unless it is behind, and then it is asked anew. */
static uint64_t asked_after_ms(const struct list_watch_driver *d)
{
    struct list_watch_status s = list_watch_status(d->params.list_watch);
    uint64_t ms = d->peer_ms;

    ms = s.event_ms > ms ? s.event_ms : ms;
    ms = s.bookmark_ms > ms ? s.bookmark_ms : ms;
    return d->behind_ms >= ms ? d->behind_ms + 1 : ms;
}

/* It is this watch's turn to be renewed: asks for the second one. */
static void on_renew(void *arg)
{
    struct list_watch_driver *d = arg;

    if (!is_outdated(d) || !list_watch_can_renew(d->params.list_watch)) {
        renewals_leave(d->params.renewals, &d->renewal);
        return;
    }
    uint64_t last_ms = asked_after_ms(d);
    struct list_watch_action a =
        list_watch_renew(d->params.list_watch, loop_now_ms(d->params.loop));

    d->second->client = d->params.client;
    d->second->request =
        api_client_request(d->params.client,
                           &(struct request_params){.target = a.target,
                                                    .accept = a.accept,
                                                    .follows = true,
                                                    .last_peer = peer_of(d),
                                                    .last_ms = last_ms,
                                                    .hard_deadline_ms = a.deadline_ms},
                           &slot_events, d->second);
}

void list_watch_driver_renew(struct list_watch_driver *d)
{
    look_renewal(d);
}

static void on_wait_over(void *arg)
{
    struct list_watch_driver *d = arg;
    uint64_t ms = loop_now_ms(d->params.loop);
    bool first = !d->started;

    d->started = true;
    act(d, first ? list_watch_start(d->params.list_watch, ms)
                 : list_watch_timer(d->params.list_watch, ms));
    d->events->on_change(d->arg);
}

/* Before the start nothing needs to be carried out: list_watch_start() looks at the order. */
void list_watch_driver_poke(struct list_watch_driver *d)
{
    if (!d->started || !list_watch_is_ordered(d->params.list_watch))
        return;
    drop_requests(d);
    deadline_stop(d->wait);
    act(d, list_watch_restart(d->params.list_watch, now(d)));
}

/* Ends the pause before the next request. */
static void hurry(struct list_watch_driver *d)
{
    deadline_stop(d->wait);
    act(d, list_watch_timer(d->params.list_watch, loop_now_ms(d->params.loop)));
}

void list_watch_driver_reauthenticate(struct list_watch_driver *d)
{
    enum err_kind why = list_watch_status(d->params.list_watch).err->kind;

    if (d->started && d->current->request == NULL &&
        (why == ERR_UNAUTHORIZED || why == ERR_TLS || why == ERR_CREDENTIAL))
        hurry(d);
}

void list_watch_driver_retry(struct list_watch_driver *d)
{
    const struct guard *guard = list_watch_status(d->params.list_watch).guard;

    /* Only a wait for the right cluster is cut short, not a hold that a second list must
     * confirm. */
    if (d->current->request != NULL || !guard_holds(guard) || guard->reason != GUARD_IDENTITY)
        return;
    hurry(d);
}

/* A second watch through the old client would only have to be moved once more. */
static void drop_renewal(struct list_watch_driver *d)
{
    static const struct err moved = {.kind = ERR_CLOSED,
                                     .text = "the cluster is reached in another way"};
    struct err why;

    if (d->second->request != NULL)
        (void)list_watch_renewal_end(d->params.list_watch, &moved, &why);
    drop_second(d);
    renewals_leave(d->params.renewals, &d->renewal);
}

/* Is the scope in a pause that another way to the cluster can end? A server that asked for patience
 * may be among the new ones. */
static bool is_waiting_for_way(const struct list_watch_driver *d)
{
    struct list_watch_status s = list_watch_status(d->params.list_watch);

    if (!d->started || d->current->request != NULL)
        return false;
    if (guard_holds(s.guard))
        return s.guard->reason == GUARD_IDENTITY;
    return s.err->kind != ERR_OK && s.err->kind != ERR_BUSY;
}

void list_watch_driver_move(struct list_watch_driver *d, struct api_client *client)
{
    drop_renewal(d);
    d->params.client = client;
    d->peer = 0; /* a number of the other client */
    look_renewal(d);
    if (is_waiting_for_way(d))
        hurry(d);
}

struct list_watch_driver *list_watch_driver_create(const struct list_watch_driver_params *params,
                                                   const struct list_watch_driver_events *events,
                                                   void *arg)
{
    struct list_watch_driver *d = mem_zalloc(sizeof(*d));

    d->params = *params;
    d->events = events;
    d->arg = arg;
    d->wait = deadline_create(params->loop, on_wait_over, d);
    d->silence = deadline_create(params->loop, on_silence, d);
    d->well = deadline_create(params->loop, on_well, d);
    d->trial = deadline_create(params->loop, on_trial_over, d);
    for (size_t i = 0; i < ARRAY_LEN(d->slots); i++)
        d->slots[i].of = d;
    d->current = &d->slots[0];
    d->second = &d->slots[1];
    renewals_init(&d->renewal, on_renew, d);
    deadline_start(d->wait, 0);
    return d;
}

void list_watch_driver_dispose(struct list_watch_driver **dp)
{
    struct list_watch_driver *d = *dp;

    if (d == NULL)
        return;
    *dp = NULL;
    drop_requests(d);
    deadline_dispose(&d->wait);
    deadline_dispose(&d->silence);
    deadline_dispose(&d->well);
    deadline_dispose(&d->trial);
    free(d);
}

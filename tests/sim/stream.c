/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "sim/serve.h"

enum { RESPONSE_TIMEOUT_MS = 30000, LIST_IDLE_MS = 60000 };

/* More requests of one scope in 10 s are a hot loop. */
enum { WINDOW_MS = 10000, WINDOW_REQUESTS = 40 };

static void act(struct stream *s, struct list_watch_action a);
static void end(struct stream *s, const struct err *err);
static void list_beside(struct stream *s);
static void watch_silence(struct stream *s);

static struct now now(const struct stream *s)
{
    return (struct now){.ms = s->net->clock->now_ms, .wall_ns = s->net->clock->now_ms * 1000000};
}

void stream_blame(struct stream *s, enum fault fault)
{
    s->excused = true;
    net_count(s->net, fault);
}

void stream_blame_all(struct net *n, enum fault fault)
{
    net_count(n, fault);
    list_each (pos, tmp, &n->streams)
        list_entry(pos, struct stream, link)->excused = true;
}

bool stream_strikes(struct stream *s, enum fault fault)
{
    bool strikes = net_strikes(s->net, fault);

    s->excused = s->excused || strikes;
    return strikes;
}

/* Drops the request of a list beside a watch, or of a second watch. */
static void forget(struct stream *s)
{
    buf_clear(&s->body);
    clock_clear(s->net->clock, &s->alarm);
    clock_clear(s->net->clock, &s->trial);
    s->state = STREAM_WAITING;
    s->server = NULL;
    s->cut = false;
    s->excused = false;
}

static void reset(struct stream *s)
{
    if (s->beside != NULL && s->beside->state != STREAM_WAITING) {
        s->net->features[FEATURE_BESIDE_LOST]++;
        forget(s->beside);
    }
    if (s->second != NULL && s->second->state != STREAM_WAITING) {
        s->net->features[FEATURE_RENEWAL_DROPPED]++;
        forget(s->second);
    }
    buf_clear(&s->body);
    s->renewed_rv = 0;
    s->told_ms = s->net->clock->now_ms;
    clock_clear(s->net->clock, &s->alarm);
    clock_clear(s->net->clock, &s->silence);
    s->last = s->server != NULL ? s->server : s->last;
    s->server = NULL;
    s->cut = false;
}

/* The list beside a watch is over. If the comparison has failed, the watch ends, too. */
static void end_beside(struct stream *s, const struct err *err)
{
    struct stream *of = s->of;
    uint64_t *features = s->net->features;
    uint64_t ends = features[FEATURE_RELIST_END];

    forget(s);
    bool good = list_watch_compare_end(of->list_watch, err, now(of));
    features[FEATURE_BESIDE_END] += features[FEATURE_RELIST_END] - ends;
    if (!good) {
        features[FEATURE_BESIDE_LOST]++;
        end(of, NULL);
        return;
    }
    list_beside(of);
    watch_silence(of);
    of->on_progress(of->arg);
}

/* The second watch of a renewal has failed; the first one goes on. */
static void end_second(struct stream *s, const struct err *err)
{
    struct err why;

    s->net->features[FEATURE_RENEWAL_REFUSED]++;
    list_watch_renewal_end(s->list_watch, err, &why);
    clock_trace(s->net->clock, "%p is not renewed: %s", (void *)s->list_watch, why.text);
    forget(s);
}

/* The server has failed a request. If the daemon knows several servers, the next request goes to one
 * of the others at once, if they are well as far as it knows. */
static unsigned others_for(const struct stream *s)
{
    return s->net->percent > 0 ? (unsigned)clock_pick(s->net->clock, 0, SERVERS - 1) : 0;
}

static void end(struct stream *s, const struct err *err)
{
    clock_trace(s->net->clock, "%p ends: %s", (void *)s->list_watch,
                err != NULL ? err->text : "cleanly");
    if (s->renews != NULL) {
        end_second(s, err);
        return;
    }
    if (s->of != NULL) {
        end_beside(s, err);
        return;
    }
    reset(s);
    unsigned others = err != NULL ? others_for(s) : 0;
    struct list_watch_action a = list_watch_end(s->list_watch, err, others, now(s));
    s->net->features[FEATURE_ELSEWHERE] += others > 0 && a.what != LW_WAIT;
    act(s, a);
    s->on_progress(s->arg);
}

void stream_doubt(struct stream *s)
{
    if (s->renews != NULL) {
        stream_fail(s, ERR_FUTURE);
        return;
    }
    reset(s);
    act(s, list_watch_doubted(s->list_watch, s->net->clock->now_ms));
    s->on_progress(s->arg);
}

/* The process that has sent the list answers which cluster it is. */
static void identified(struct stream *s)
{
    const struct server *server = &s->net->servers[s->listed_by];
    struct err err = {0};

    s->net->requests[REQUEST_IDENTITY]++;
    if (server->process != s->listed_process || server->away)
        err_set(&err, ERR_CLOSED, 0, "simulated: the server that listed is gone");
    else if (server->split || net_strikes(s->net, FAULT_UNASKABLE))
        err_set(&err, ERR_BUSY, 0, "simulated: no answer");
    else if (s->net->foreign_rv > 0)
        err_set(&err, ERR_FOREIGN, 0, "simulated: another cluster");
    if (err.kind == ERR_FOREIGN)
        net_count(s->net, FAULT_FOREIGN_ASKED);
    s->excused = s->excused || err.kind != ERR_OK;
    act(s, list_watch_identified(s->list_watch, err.kind != ERR_OK ? &err : NULL, 0, now(s)));
    s->on_progress(s->arg);
}

void stream_fail(struct stream *s, enum err_kind kind)
{
    struct err err;

    s->process = 0;
    err_set(&err, kind, 0, "simulated: %s", err_kind_name(kind));
    end(s, &err);
}

/* As in io/list_watch_driver: bytes only move the time at which a response is too silent; the alarm
 * is not set anew, but looks at that time when it fires. */
static void watch_silence(struct stream *s)
{
    uint64_t due_ms = list_watch_due_ms(s->list_watch);

    if (due_ms != UINT64_MAX && !s->silence.set)
        clock_set_at(s->net->clock, &s->silence, due_ms);
}

/* A list_watch that has got bookmarks of a watch must give it up when they stay out, and not wait
 * for its end. */
static void check_patience(const struct stream *s)
{
    uint64_t silent_ms = s->net->clock->now_ms - s->heard_ms;

    if (s->muted && s->marked && silent_ms > s->net->setup->bookmark_timeout_ms)
        panic("a stream with bookmarks was silent for %" PRIu64 " ms", silent_ms);
}

/* When all bytes have been read, the list_watch must resume from the version that was sent last, or
 * from the one that it had when the watch was renewed, as a renewed watch repeats older ones. */
static void check_version(const struct stream *s)
{
    struct list_watch_status status = list_watch_status(s->list_watch);
    bool following = s->state == STREAM_WATCHING && status.state == REFLECTOR_WATCHING;
    uint64_t want = s->serving.sent > s->renewed_rv ? s->serving.sent : s->renewed_rv;

    if (*status.rv == '\0' && s->net->setup->unversioned[s->lens.kind])
        return;
    if (following && s->body.len == 0 && strtoull(status.rv, NULL, 10) != want)
        panic("told of version %" PRIu64 ", but it would resume from %s", want, status.rv);
}

static void on_silence(struct alarm *a)
{
    struct stream *s = container_of(a, struct stream, silence);

    if (list_watch_overdue(s->list_watch, s->net->clock->now_ms)) {
        end(s, NULL);
    } else {
        list_beside(s);
        watch_silence(s);
    }
    s->on_progress(s->arg); /* the silence may have made the watch synced */
}

void stream_head(struct stream *s, int status, int64_t retry_after_s, const char *type)
{
    struct http_head h = {
        .status = status, .retry_after_s = retry_after_s, .content_type = str_c(type)};

    clock_trace(s->net->clock, "%p gets %d", (void *)s->list_watch, status);
    s->heard_ms = s->net->clock->now_ms;
    s->marked = false;
    s->marking = false;
    if (s->of != NULL) {
        list_watch_compare_head(s->of->list_watch, &h);
        return;
    }
    if (s->renews != NULL) {
        if (list_watch_renewal_head(s->list_watch, &h))
            clock_set(s->net->clock, &s->trial, RENEWAL_TRIAL_MS);
        return;
    }
    list_watch_head(s->list_watch, &h, s->net->clock->now_ms);
    watch_silence(s);
    s->on_progress(s->arg);
}

void stream_answer(struct stream *s, int status)
{
    s->state = STREAM_BODY;
    s->cut = net_strikes(s->net, FAULT_CUT);
    clock_set(s->net->clock, &s->alarm, clock_pick(s->net->clock, 0, 20));
    stream_head(s, status, -1, "application/json");
}

static bool give(struct stream *s, size_t n)
{
    return s->of != NULL ? list_watch_compare_body(s->of->list_watch, s->body.data, n, now(s))
                         : list_watch_body(s->list_watch, s->body.data, n, now(s));
}

/* The connection of a second watch is that of the scope from now on. */
static void move(struct stream *s, struct stream *second)
{
    buf_clear(&s->body);
    buf_append(&s->body, second->body.data, second->body.len);
    s->state = second->state;
    s->action = second->action;
    memcpy(s->target, second->target, sizeof(s->target));
    s->last = s->server = second->server;
    s->process = second->process;
    s->told_by = second->told_by;
    s->resumes = second->resumes;
    s->identified = second->identified;
    s->cut = second->cut;
    s->serving = second->serving;
    s->hung = second->hung;
    s->marking = second->marking;
    s->muted = second->muted;
    s->marked = false;
    s->excused = s->excused || second->excused;
    s->heard_ms = s->net->clock->now_ms;
    if (s->state == STREAM_STALLED)
        clock_set_at(s->net->clock, &s->alarm, second->stalled_ms);
    else
        clock_set(s->net->clock, &s->alarm, 0);
    forget(second);
}

/* The second watch takes the place of the first one. */
static void take_over(struct stream *second)
{
    struct stream *s = second->renews;
    uint64_t *features = s->net->features;

    if (!list_watch_renewed(s->list_watch, now(s))) {
        end_second(second, NULL);
        return;
    }
    clock_trace(s->net->clock, "%p is renewed", (void *)s->list_watch);
    move(s, second);
    s->renewed_rv = strtoull(list_watch_status(s->list_watch).rv, NULL, 10);
    features[FEATURE_RENEWED]++;
    features[FEATURE_RENEWED_COMMON] += s->renewed_rv > s->serving.after;
    if (!list_watch_body(s->list_watch, "", 0, now(s))) {
        end(s, NULL);
        return;
    }
    watch_silence(s);
    s->on_progress(s->arg);
}

static void on_trial(struct alarm *a)
{
    take_over(container_of(a, struct stream, trial));
}

/* The same as hand_over() for a second watch, which is over as such when it takes the place of the
 * first one. */
static bool try_second(struct stream *s, size_t n)
{
    if (n == 0)
        return true;
    switch (list_watch_renewal_body(s->list_watch, s->body.data, n)) {
    case RENEWAL_GOES_ON:
        buf_consume(&s->body, n);
        return true;
    case RENEWAL_SERVED:
        buf_consume(&s->body, n);
        take_over(s);
        return false;
    case RENEWAL_REFUSED:
        break;
    }
    end(s, NULL);
    return false;
}

/* Hands over the next n bytes of the body. False: the stream is over. */
static bool hand_over(struct stream *s, size_t n)
{
    if (s->renews != NULL)
        return try_second(s, n);
    bool more = n == 0 || give(s, n);

    if (!more) {
        end(s, NULL);
        return false;
    }
    buf_consume(&s->body, n);
    if (n > 0)
        s->heard_ms = s->net->clock->now_ms;
    if (s->of != NULL)
        return true;
    if (s->marking && s->body.len == 0 && list_watch_status(s->list_watch).connected)
        s->marked = true;
    check_version(s);
    watch_silence(s);
    s->on_progress(s->arg);
    return true;
}

static size_t piece(struct stream *s)
{
    if (s->net->percent == 0 || s->body.len == 0 || clock_percent(s->net->clock, 50))
        return s->body.len;
    return clock_pick(s->net->clock, 1, s->body.len);
}

static void send_body(struct stream *s)
{
    if (s->cut && clock_percent(s->net->clock, 50)) {
        stream_fail(s, ERR_CLOSED);
        return;
    }
    if (!hand_over(s, piece(s)))
        return;
    if (s->body.len > 0)
        clock_set(s->net->clock, &s->alarm, clock_pick(s->net->clock, 0, 30));
    else if (s->cut)
        stream_fail(s, ERR_CLOSED);
    else
        end(s, NULL);
}

/* The fault in store for the stream happens, if it is time; true: the stream is over. */
static bool meets_doom(struct stream *s)
{
    if (s->serving.doom_ms > s->net->clock->now_ms)
        return false;
    s->serving.doom_ms = UINT64_MAX;
    stream_blame(s, s->serving.doom);
    if (s->serving.doom == FAULT_HUNG) {
        stream_hang(s);
        return true;
    }
    if (s->serving.doom == FAULT_CUT) {
        stream_lose(s);
        return true;
    }
    serve_break(s);
    return false;
}

static void watch_on(struct stream *s)
{
    struct clock *c = s->net->clock;
    bool over = c->now_ms >= s->serving.ends_ms;

    if (!over)
        serve_more(s);
    if (meets_doom(s) || !hand_over(s, piece(s)))
        return;
    if (s->body.len == 0 && (over || serve_cuts(s)))
        end(s, NULL);
    else if (s->body.len > 0)
        clock_set(c, &s->alarm, clock_pick(c, 0, 100));
    else
        clock_set_at(c, &s->alarm, serve_next_ms(s));
}

static void on_alarm(struct alarm *a)
{
    struct stream *s = container_of(a, struct stream, alarm);

    switch (s->state) {
    case STREAM_WAITING:
        act(s, list_watch_timer(s->list_watch, s->net->clock->now_ms));
        s->on_progress(s->arg); /* after a hold it may be time to become stale */
        break;
    case STREAM_ASKED:
        serve_request(s);
        break;
    case STREAM_IDENTIFYING:
        identified(s);
        break;
    case STREAM_FRESHENING:
        serve_fresh(s);
        break;
    case STREAM_BODY:
        send_body(s);
        break;
    case STREAM_WATCHING:
        watch_on(s);
        break;
    case STREAM_STALLED:
        check_patience(s);
        stream_fail(s, ERR_TIMEOUT);
        break;
    }
}

static void count_request(struct stream *s, const char *target)
{
    uint64_t now_ms = s->net->clock->now_ms;

    if (strstr(target, "continue=") != NULL)
        return;
    if (now_ms - s->window_ms >= WINDOW_MS) {
        s->window_ms = now_ms;
        s->window_requests = 0;
    }
    if (++s->window_requests > s->net->busiest)
        s->net->busiest = s->window_requests;
    if (s->window_requests > WINDOW_REQUESTS)
        panic("a hot loop: %" PRIu64 " requests in 10 s", s->window_requests);
}

/* A scope with a good version of an earlier process must not list. */
static void check_resumed(struct stream *s)
{
    bool probes = list_watch_status(s->list_watch).state == REFLECTOR_PROBING;

    if (s->action.what == LW_WATCH && strstr(s->target, "resourceVersion=") == NULL)
        s->excused = true; /* the list_watch has no version any more */
    if (list_watch_is_incomplete(s->list_watch))
        s->excused = true; /* limits.memory has stopped the scope */
    if (probes && s->net->setup->unversioned[s->lens.kind])
        s->excused = true; /* the probe brings no version, so a list takes its place */
    if (s->action.what == LW_WATCH || probes)
        return;
    if (s->resumed && !s->excused)
        panic("a list, and the version that it could go on from is good");
    s->listed = true;
    s->lists++;
}

static void act(struct stream *s, struct list_watch_action a)
{
    struct clock *c = s->net->clock;

    s->action = a;
    if (a.what == LW_WAIT) {
        clock_trace(c, "%p waits %llu ms", (void *)s->list_watch, (unsigned long long)a.wait_ms);
        s->state = STREAM_WAITING;
        clock_set(c, &s->alarm, a.wait_ms);
        return;
    }
    if (a.what == LW_IDENTIFY) {
        s->state = STREAM_IDENTIFYING;
        clock_set(c, &s->alarm, clock_pick(c, 0, 50));
        return;
    }
    int n = snprintf(s->target, sizeof(s->target), "%s", a.target);
    ensure(n > 0 && (size_t)n < sizeof(s->target));
    clock_trace(c, "%p asks for %s", (void *)s->list_watch, s->target);
    count_request(s, s->target);
    check_resumed(s);
    s->state = STREAM_ASKED;
    clock_set(c, &s->alarm, clock_pick(c, 0, 50));
}

/* Makes the list beside a watch, as io/list_watch_driver does. */
static void list_beside(struct stream *s)
{
    struct stream *b = s->beside;

    if (b->state != STREAM_WAITING || !list_watch_wants_compare(s->list_watch))
        return;
    b->action = list_watch_compare(s->list_watch);
    int n = snprintf(b->target, sizeof(b->target), "%s", b->action.target);
    ensure(n > 0 && (size_t)n < sizeof(b->target));
    clock_trace(s->net->clock, "%p asks beside for %s", (void *)s->list_watch, b->target);
    count_request(s, b->target);
    s->net->features[FEATURE_BESIDE]++;
    b->state = STREAM_ASKED;
    clock_set(s->net->clock, &b->alarm, clock_pick(s->net->clock, 0, 50));
}

/* The second request goes to a server process of its own, which must have said its revision after
 * the version came that is asked for, as in io/list_watch_driver. */
void stream_renew(struct stream *s)
{
    struct list_watch_status status = list_watch_status(s->list_watch);
    struct clock *c = s->net->clock;
    struct stream *b = s->second;

    if (b->state != STREAM_WAITING || !list_watch_can_renew(s->list_watch))
        return;
    b->action = list_watch_renew(s->list_watch, c->now_ms);
    int n = snprintf(b->target, sizeof(b->target), "%s", b->action.target);
    ensure(n > 0 && (size_t)n < sizeof(b->target));
    clock_trace(c, "%p asks a second time for %s", (void *)s->list_watch, b->target);
    count_request(s, b->target);
    b->state = STREAM_ASKED;
    b->process = 0;
    b->last = NULL;
    b->told_by = s->process;
    b->told_ms = status.event_ms > status.bookmark_ms ? status.event_ms : status.bookmark_ms;
    b->told_ms = s->told_ms > b->told_ms ? s->told_ms : b->told_ms;
    b->hung = s->hung;
    b->muted = false;
    clock_set(c, &b->alarm, clock_pick(c, 0, 50));
}

static struct stream *make_second(struct stream *s)
{
    struct stream *b = MEM_NEW(struct stream, .net = s->net, .list_watch = s->list_watch,
                               .lens = s->lens, .state = STREAM_WAITING, .renews = s);

    list_init(&b->link);
    list_append(&s->net->streams, &b->link);
    b->alarm.fn = on_alarm;
    b->trial.fn = on_trial;
    return b;
}

static struct stream *make_beside(struct stream *s)
{
    struct stream *b = MEM_NEW(struct stream, .net = s->net, .list_watch = s->list_watch,
                               .lens = s->lens, .state = STREAM_WAITING, .of = s);

    list_init(&b->link);
    list_append(&s->net->streams, &b->link);
    b->alarm.fn = on_alarm;
    return b;
}

void stream_start(struct stream *s, bool resumes)
{
    list_init(&s->link);
    list_append(&s->net->streams, &s->link);
    s->alarm.fn = on_alarm;
    s->silence.fn = on_silence;
    s->resumed = resumes;
    s->beside = make_beside(s);
    s->second = make_second(s);
    list_watch_can_stream(s->list_watch, s->net->setup->told_can_stream);
    act(s, list_watch_start(s->list_watch, s->net->clock->now_ms));
}

static void trim(struct buf *b)
{
    struct buf small = {0};

    buf_append(&small, b->data, b->len);
    buf_free(b);
    *b = small;
}

void stream_trim(struct stream *s)
{
    trim(&s->body);
    trim(&s->beside->body);
    trim(&s->second->body);
}

void stream_fini(struct stream *s)
{
    reset(s);
    list_remove(&s->link);
    list_remove(&s->beside->link);
    list_remove(&s->second->link);
    buf_free(&s->beside->body);
    buf_free(&s->second->body);
    buf_free(&s->body);
    free(s->beside);
    free(s->second);
}

void stream_poke(struct stream *s)
{
    if (!list_watch_is_ordered(s->list_watch))
        return;
    reset(s);
    s->excused = true;
    act(s, list_watch_restart(s->list_watch, now(s)));
}

bool stream_is_current(const struct stream *s)
{
    const struct serving *v = &s->serving;
    struct list_watch_status f = list_watch_status(s->list_watch);

    return f.connected && f.synced && s->state == STREAM_WATCHING &&
           s->second->state == STREAM_WAITING && s->body.len == 0 && v->initial_ms == UINT64_MAX &&
           s->server->rv == s->net->api->rv && v->next == s->server->upto &&
           v->after <= s->net->api->rv;
}

void stream_wake(struct stream *s)
{
    if (s->state == STREAM_FRESHENING || (s->state == STREAM_WATCHING && s->body.len == 0))
        clock_set(s->net->clock, &s->alarm, clock_pick(s->net->clock, 0, 20));
}

void stream_lose(struct stream *s)
{
    s->excused = true; /* the watch may have been very short, which leads to a list */
    s->process = 0;
    if (s->state == STREAM_WATCHING && clock_percent(s->net->clock, 50))
        end(s, NULL);
    else
        stream_fail(s, ERR_CLOSED);
}

void stream_hang(struct stream *s)
{
    uint64_t wait_ms = RESPONSE_TIMEOUT_MS;

    if (s->state == STREAM_BODY)
        wait_ms = LIST_IDLE_MS;
    else if (s->state == STREAM_WATCHING)
        wait_ms = s->action.deadline_ms;
    s->muted = s->state == STREAM_WATCHING;
    s->state = STREAM_STALLED;
    s->server = NULL; /* a restart of the server must not end this stream */
    s->process = 0;
    s->hung++;
    s->stalled_ms = s->net->clock->now_ms + wait_ms;
    clock_set(s->net->clock, &s->alarm, wait_ms);
}

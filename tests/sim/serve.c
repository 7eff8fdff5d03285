/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/serve.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/panic.h"
#include "sim/answer.h"

/* PATIENCE_MS: a read waits so long for a newer version (docs/kubernetes-protocol.md "Too large
 * resource version"). LAST_BOOKMARK_MS: the last bookmark comes so long before the end
 * (docs/kubernetes-protocol.md "Bookmarks"). INITIAL_MS: the end of the initial events comes so
 * late (docs/kubernetes-protocol.md "End of initial events"). */
enum { PATIENCE_MS = 3000, LAST_BOOKMARK_MS = 2000, INITIAL_MS = 1250 };

/* No more watches in a row hang: otherwise a cache could be old for any time, and no bound would
 * hold. */
enum { HUNG_IN_A_ROW = 2 };

/* The answer of a process holds so long for connections that resume its TLS sessions
 * (io/server_identity). */
enum { IDENTIFIED_MS = 600000 };

static uint64_t parameter(const struct stream *s, const char *name, bool *given)
{
    char key[64];
    const char *at;

    snprintf(key, sizeof(key), "%s=", name);
    for (at = strstr(s->target, key); at != NULL; at = strstr(at + 1, key))
        if (at[-1] == '?' || at[-1] == '&')
            break;
    *given = at != NULL;
    return at != NULL ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static uint64_t asked_version(const struct stream *s, bool *given)
{
    return parameter(s, "resourceVersion", given);
}

static size_t spelling(const struct stream *s)
{
    return clock_pick(s->net->clock, 0, 2);
}

static void refuse(struct stream *s, int code, const char *reason, const char *message)
{
    answer_put_status(&s->body, code, reason, message);
    stream_answer(s, code);
}

static void refuse_too_large(struct stream *s)
{
    stream_blame(s, FAULT_TOO_LARGE);
    answer_put_too_large(&s->body, spelling(s));
    stream_answer(s, 504);
}

static void refuse_etcd(struct stream *s)
{
    net_count(s->net, FAULT_NO_ETCD);
    refuse(s, 504, "Timeout", "request did not complete within requested timeout");
}

static bool is_unversioned(const struct stream *s)
{
    return s->net->setup->unversioned[s->lens.kind];
}

/* Only in simulations in which objects cannot be used at times. */
static bool is_unnamed(struct stream *s, enum fault fault)
{
    return s->net->setup->odd_percent > 0 && clock_percent(s->net->clock, 10) &&
           net_strikes(s->net, fault);
}

static void put_page(struct stream *s, const struct api_object *state, uint64_t rv, size_t from,
                     uint64_t limit)
{
    struct lens seen = s->lens;

    /* A request without the selector asks which objects exist. */
    seen.labelled = seen.labelled && strstr(s->target, "labelSelector=") != NULL;
    answer_put_page(&s->body, &(struct answer_page){.lens = &seen,
                                                    .state = state,
                                                    .rv = rv,
                                                    .told_rv = from > 0 ? s->net->api->rv : rv,
                                                    .from = from,
                                                    .limit = limit,
                                                    .unversioned = is_unversioned(s),
                                                    .spelling = spelling(s),
                                                    .items_first = clock_percent(s->net->clock, 50),
                                                    .unnamed = is_unnamed(s, FAULT_UNNAMED_ITEM)});
    if (is_unversioned(s))
        s->net->features[FEATURE_UNVERSIONED]++;
    stream_answer(s, 200);
}

static void next_page(struct stream *s, uint64_t token, uint64_t limit)
{
    struct api_object state[API_KEYS];
    struct api *a = s->net->api;
    uint64_t rv = token / 100;

    if (token == s->gone_token)
        panic("a page that is gone is asked for again");
    if (rv < a->rv && net_strikes(s->net, FAULT_GONE_PAGE))
        a->compacted = rv + 1;
    if (s->server->split) {
        refuse_etcd(s);
    } else if (rv < a->compacted || rv > a->rv) {
        s->gone_token = token;
        refuse(s, 410, "Expired", "The provided continue parameter is too old");
    } else {
        api_state_at(a, rv, state);
        put_page(s, state, rv, token % 100, limit);
    }
}

/* Answers with a page of the newest state, past the watch cache. */
static void newest_page(struct stream *s, uint64_t limit)
{
    if (s->server->split)
        refuse_etcd(s);
    else
        put_page(s, s->net->api->now, s->net->api->rv, 0, limit);
}

static void cached_list(struct stream *s)
{
    put_page(s, s->server->state, s->server->rv, 0, 0);
}

/* Answers as a server that ignores the version in the request and has no objects yet. A list
 * without a version would say nothing of its age, and no client could refuse it. */
static void older_list(struct stream *s)
{
    static const struct api_object nothing[API_KEYS];

    put_page(s, nothing, API_FIRST_RV / 2, 0, 0);
}

static void freshen(struct stream *s, uint64_t rv)
{
    s->state = STREAM_FRESHENING;
    s->need_rv = rv;
    s->patience_ms = s->net->clock->now_ms + PATIENCE_MS;
    clock_set(s->net->clock, &s->alarm, 0);
}

static void list_since(struct stream *s, uint64_t rv, uint64_t limit)
{
    if (net_strikes(s->net, FAULT_GONE))
        refuse(s, 410, "Gone", "too old");
    else if (!is_unversioned(s) && clock_percent(s->net->clock, 20) &&
             net_strikes(s->net, FAULT_OLDER))
        older_list(s);
    else if (limit == 0 && s->net->setup->cached)
        freshen(s, rv);
    else if (rv > s->net->api->rv)
        refuse_too_large(s);
    else
        newest_page(s, limit);
}

static void serve_list(struct stream *s)
{
    bool given;
    uint64_t limit = parameter(s, "limit", &given);
    uint64_t token = parameter(s, "continue", &given);

    if (given) {
        next_page(s, token, limit);
        return;
    }
    s->gone_token = 0;
    uint64_t rv = asked_version(s, &given);
    if (given && rv > 0)
        list_since(s, rv, limit);
    else if (given && s->net->setup->cached)
        cached_list(s);
    else
        newest_page(s, limit);
}

/* Draws the fault that is in store for the stream, and when it happens. */
static void draw_doom(struct stream *s)
{
    static const enum fault dooms[] = {FAULT_CUT, FAULT_HUNG, FAULT_STREAM_ERROR, FAULT_GARBAGE};
    struct clock *c = s->net->clock;
    struct serving *v = &s->serving;

    v->doom_ms = UINT64_MAX;
    if (!clock_percent(c, s->net->percent * 3))
        return;
    v->doom = dooms[clock_pick(c, 0, 3)];
    if (v->doom == FAULT_HUNG && s->hung >= HUNG_IN_A_ROW)
        return;
    v->doom_ms = clock_percent(c, 30) ? c->now_ms : clock_pick(c, c->now_ms, v->ends_ms);
}

/* Sends the head of a watch, and sets its times. */
static void establish(struct stream *s)
{
    struct clock *c = s->net->clock;
    const struct setup *setup = s->net->setup;
    uint64_t early = setup->bookmark_every_ms > 10000 ? LAST_BOOKMARK_MS : 0;
    bool given;
    uint64_t timeout_s = parameter(s, "timeoutSeconds", &given);

    s->state = STREAM_WATCHING;
    s->serving.sent = asked_version(s, &given);
    s->serving.ends_ms = c->now_ms + timeout_s * 1000;
    s->serving.bookmark_ms = UINT64_MAX;
    s->serving.initial_ms = UINT64_MAX;
    if (setup->bookmark_every_ms > 0)
        s->serving.bookmark_ms = c->now_ms + setup->bookmark_every_ms;
    if (is_unversioned(s) && !setup->unversioned_marks)
        s->serving.bookmark_ms = UINT64_MAX;
    else if (s->serving.bookmark_ms > s->serving.ends_ms - early)
        s->serving.bookmark_ms = s->serving.ends_ms - early;
    draw_doom(s);
    clock_set(c, &s->alarm, clock_pick(c, 0, 20));
}

/* Puts the initial events, in any order if the resource has no versions. */
static void put_initial(struct stream *s)
{
    size_t first = is_unversioned(s) ? clock_pick(s->net->clock, 0, API_KEYS - 1) : 0;

    for (size_t i = 0; i < API_KEYS; i++) {
        size_t key = (first + i) % API_KEYS;

        if (lens_selects(&s->lens, key, &s->server->state[key]))
            answer_put_added(&s->body, &s->lens, key, &s->server->state[key]);
    }
}

static void begin_stream(struct stream *s)
{
    establish(s);
    put_initial(s);
    s->serving.next = s->server->upto;
    s->serving.after = s->server->rv;
    s->serving.sent = s->server->rv;
    if (s->net->setup->streams == STREAMS_SENT)
        s->serving.initial_ms = s->net->clock->now_ms + clock_pick(s->net->clock, 0, INITIAL_MS);
    stream_head(s, 200, -1, "application/json");
}

/* A watch without a version sends all objects that exist, and then the events. */
static void begin_unversioned(struct stream *s)
{
    establish(s);
    put_initial(s);
    s->serving.next = s->server->upto;
    s->serving.after = s->server->rv;
    s->serving.sent = s->server->rv;
    stream_head(s, 200, -1, "application/json");
}

/* The response ends at once, behind the bytes in the body. */
static void begin_end(struct stream *s)
{
    establish(s);
    s->serving.after = UINT64_MAX;
    s->serving.ends_ms = s->net->clock->now_ms;
    s->serving.doom_ms = UINT64_MAX;
    stream_head(s, 200, -1, "application/json");
}

static void begin_watch(struct stream *s, uint64_t rv)
{
    const struct server *server = s->server;

    if (rv > s->net->api->rv)
        stream_blame(s, FAULT_FUTURE);
    else if (rv > server->rv)
        net_count(s->net, FAULT_BEHIND);
    establish(s);
    s->serving.after = rv;
    s->serving.sent = rv;
    s->serving.next = s->net->api->dropped;
    while (s->serving.next < server->upto && api_event_at(s->net->api, s->serving.next)->rv <= rv)
        s->serving.next++;
    stream_head(s, 200, -1, "application/json");
}

static bool is_too_old(const struct stream *s, uint64_t rv)
{
    return rv < (s->net->setup->cached ? s->server->oldest : s->net->api->compacted);
}

static void too_old(struct stream *s)
{
    stream_blame(s, FAULT_GONE_WATCH);
    if (!s->net->setup->cached) { /* 200 and an empty body, as in
                                    * docs/kubernetes-protocol.md "Very short watches" */
        begin_end(s);
    } else if (clock_percent(s->net->clock, 20)) {
        refuse(s, 410, "Expired", "too old resource version");
    } else {
        answer_put_error(&s->body, 410, "Expired", "too old resource version");
        begin_end(s);
    }
}

static void serve_watch(struct stream *s)
{
    bool given;
    uint64_t rv = asked_version(s, &given);

    ensure(given ? rv > 0 : is_unversioned(s));
    if (given && is_unversioned(s))
        s->net->features[FEATURE_BOOKMARKED]++;
    if (!given) { /* no version: the newest state */
        if (stream_strikes(s, FAULT_EMPTY))
            begin_end(s);
        else
            freshen(s, s->net->api->rv);
        return;
    }
    if (is_too_old(s, rv))
        too_old(s);
    else if (stream_strikes(s, FAULT_EMPTY))
        begin_end(s);
    else if (rv > s->server->rv && s->net->setup->future_fails)
        freshen(s, rv);
    else
        begin_watch(s, rv);
}

static void serve_stream(struct stream *s)
{
    bool given;
    uint64_t rv = asked_version(s, &given);

    switch (is_unversioned(s) ? STREAMS_UNKNOWN : s->net->setup->streams) {
    case STREAMS_SENT:
        freshen(s, given ? rv : s->net->api->rv);
        return;
    case STREAMS_OFF:
        net_count(s->net, FAULT_NO_STREAM);
        refuse(s, 422, "Invalid", "sendInitialEvents is forbidden for watch");
        return;
    case STREAMS_UNKNOWN:
        net_count(s->net, FAULT_NO_STREAM);
        refuse(s, 400, "BadRequest", "resourceVersionMatch is forbidden for watch");
        return;
    case STREAMS_IGNORED:
    case STREAMS_KINDS:
        break;
    }
    net_count(s->net, FAULT_NO_STREAM);
    begin_stream(s);
}

static bool is_watch_of_all(const struct stream *s)
{
    bool given;

    asked_version(s, &given);
    return s->action.what == LW_WATCH && !given;
}

void serve_fresh(struct stream *s)
{
    bool fresh = s->server->rv >= s->need_rv;

    if (!fresh && s->net->clock->now_ms < s->patience_ms) {
        clock_set_at(s->net->clock, &s->alarm, s->patience_ms);
        return;
    }
    if (s->action.what == LW_LIST) {
        if (fresh)
            cached_list(s);
        else
            refuse_too_large(s);
        return;
    }
    if (!fresh && is_watch_of_all(s)) {
        refuse_etcd(s);
    } else if (!fresh) {
        stream_blame(s, FAULT_TOO_LARGE);
        answer_put_error_too_large(&s->body, spelling(s));
        begin_end(s);
    } else if (s->action.what == LW_STREAM) {
        begin_stream(s);
    } else if (is_watch_of_all(s)) {
        begin_unversioned(s);
    } else {
        begin_watch(s, s->need_rv);
    }
}

/* Only the newest state may confirm a list that is held (docs/design.md "Guard"). */
static void check_held(const struct stream *s)
{
    bool given;
    bool lists = s->action.what == LW_LIST || s->action.what == LW_STREAM;
    const struct guard *guard = list_watch_status(s->list_watch).guard;

    asked_version(s, &given);
    if (lists && given && guard_holds(guard) && guard->reason != GUARD_IDENTITY)
        panic("a held list is to be confirmed by an old one");
}

static enum request kind_of(const struct stream *s)
{
    bool given;
    bool probing = list_watch_status(s->list_watch).state == REFLECTOR_PROBING;

    if (s->action.what != LW_LIST)
        return s->action.what == LW_STREAM ? REQUEST_STREAM : REQUEST_WATCH;
    parameter(s, "continue", &given);
    if (given)
        return REQUEST_PAGE;
    uint64_t rv = asked_version(s, &given);
    if (given)
        return rv > 0 ? REQUEST_SINCE : REQUEST_FIRST;
    return probing ? REQUEST_PROBE : REQUEST_NEWEST;
}

/* Faults on the way to the server. True: the request was lost. */
static bool lost_on_the_way(struct stream *s)
{
    struct net *n = s->net;

    if (s->server->away && clock_percent(n->clock, 50)) {
        stream_fail(s, ERR_REFUSED);
    } else if (s->server->away || net_strikes(n, FAULT_SILENT)) {
        stream_hang(s);
    } else if (net_strikes(n, FAULT_REFUSED)) {
        stream_fail(s, ERR_REFUSED);
    } else if (net_strikes(n, FAULT_CLOSED)) {
        stream_fail(s, ERR_CLOSED);
    } else {
        return false;
    }
    return true;
}

static bool turned_away(struct stream *s)
{
    struct net *n = s->net;

    if (net_strikes(n, FAULT_BUSY)) {
        s->state = STREAM_BODY;
        clock_set(n->clock, &s->alarm, 1);
        stream_head(s, 429, 1, "text/plain");
    } else if (stream_strikes(s, FAULT_HTML)) {
        s->state = STREAM_BODY;
        buf_puts(&s->body, "<html>");
        clock_set(n->clock, &s->alarm, 1);
        stream_head(s, 200, -1, "text/html");
    } else if (stream_strikes(s, FAULT_ERROR)) {
        refuse(s, 500, "InternalError", "simulated");
    } else if (clock_percent(n->clock, 20) && net_strikes(n, FAULT_UNAUTHORIZED)) {
        refuse(s, 401, "Unauthorized", "Unauthorized");
    } else if (clock_percent(n->clock, 20) && net_strikes(n, FAULT_FORBIDDEN)) {
        refuse(s, 403, "Forbidden", "simulated");
    } else {
        return false;
    }
    return true;
}

/* Takes the connection that exists, if its server process still runs; else makes another
 * connection, which may resume a TLS session. */
static void connect(struct stream *s)
{
    struct net *n = s->net;
    bool there = s->process > 0 && s->last != NULL && s->process == s->last->process;

    if (there && !s->last->away && clock_percent(n->clock, 70)) {
        s->server = s->last;
        return;
    }
    s->server = &n->servers[clock_pick(n->clock, 0, SERVERS - 1)];
    s->process = s->server->process;
    s->resumes = clock_percent(n->clock, 80);
    s->identified = false;
}

/* Must the connection ask first which cluster it goes to? As io/server_identity decides. */
static bool must_ask(const struct stream *s)
{
    bool kept = s->action.what == LW_LIST && list_watch_status(s->list_watch).synced &&
                list_watch_status(s->list_watch).state == REFLECTOR_LISTING;

    if (kept && s->net->foreign_rv > 0 && clock_percent(s->net->clock, 50))
        return false; /* a proxy keeps the connection and sends its requests elsewhere */
    uint64_t age_ms = s->net->clock->now_ms - s->server->asked_ms;
    bool fresh = s->resumes && s->server->asked_ms > 0 && age_ms <= IDENTIFIED_MS;

    if (s->action.what == LW_STREAM)
        return true;
    if (s->told_by != s->process && s->server->asked_ms < s->told_ms)
        return true;
    return !s->identified && !fresh && (s->action.what != LW_LIST || s->net->asks_all);
}

/* If the request goes to another process than the last one: is its version one of the future, by
 * the revision that the process has named, if it has? True: no, and the request goes on. */
static bool goes_on(struct stream *s)
{
    char revision[24] = "";
    bool other = s->told_by != s->process;

    s->told_by = s->process;
    s->told_ms = s->net->clock->now_ms;
    if (s->net->setup->no_revision)
        s->net->features[FEATURE_NO_REVISION] += other && s->action.what == LW_WATCH;
    else
        snprintf(revision, sizeof(revision), "%" PRIu64, s->server->asked_rv);
    bool ahead = s->renews != NULL ? list_watch_renewal_is_ahead(s->list_watch, revision)
                                   : list_watch_is_ahead(s->list_watch, revision);
    if (!other || !ahead)
        return true;
    s->excused = true;
    stream_doubt(s);
    return false;
}

/* Asks the server which cluster it is. True: it is the known one, and the request goes on. */
static bool asks_first(struct stream *s)
{
    struct net *n = s->net;

    n->requests[REQUEST_IDENTITY]++;
    if (s->server->split || net_strikes(n, FAULT_UNASKABLE)) {
        s->excused = true;
        stream_fail(s, ERR_BUSY);
        return false;
    }
    n->asks_all = true;
    if (n->foreign_rv > 0) {
        stream_blame(s, FAULT_FOREIGN_ASKED);
        stream_fail(s, ERR_FOREIGN);
        return false;
    }
    s->identified = true;
    s->server->asked_ms = n->clock->now_ms;
    s->server->asked_rv = n->api->rv;
    return true;
}

/* A connection that did not ask takes the empty list of another cluster for a good one. */
static void serve_foreign(struct stream *s)
{
    static const struct api_object nothing[API_KEYS];

    if (s->action.what != LW_LIST)
        panic("a watch was sent to another cluster");
    stream_blame(s, FAULT_FOREIGN_LIST);
    put_page(s, nothing, s->net->foreign_rv, 0, 0);
}

void serve_request(struct stream *s)
{
    struct net *n = s->net;

    n->requests[kind_of(s)]++;
    check_held(s);
    connect(s);
    if (lost_on_the_way(s) || (must_ask(s) && !asks_first(s)) || !goes_on(s) || turned_away(s))
        return;
    s->listed_by = (size_t)(s->server - n->servers);
    s->listed_process = s->process;
    if (n->foreign_rv > 0)
        serve_foreign(s);
    else if (s->action.what == LW_LIST)
        serve_list(s);
    else if (s->action.what == LW_STREAM)
        serve_stream(s);
    else
        serve_watch(s);
}

static bool is_cut(const struct stream *s)
{
    return s->net->setup->cutter && s->net->percent > 0;
}

static void put_events(struct stream *s)
{
    struct serving *v = &s->serving;

    if (is_cut(s) && v->initial_ms == UINT64_MAX && v->sent <= s->server->rv && !is_unversioned(s))
        v->bookmark_ms = s->net->clock->now_ms; /* the proxy always lets one frame through */

    for (; v->next < s->server->upto; v->next++) {
        const struct api_event *e = api_event_at(s->net->api, v->next);

        if (e->rv <= v->after ||
            !answer_put_event(&s->body, &s->lens, e, is_unnamed(s, FAULT_UNNAMED_EVENT)))
            continue;
        v->sent = e->rv;
        s->hung = 0;
        if (clock_percent(s->net->clock, 10) && net_strikes(s->net, FAULT_DUPLICATE))
            answer_put_event(&s->body, &s->lens, e, false);
    }
}

void serve_more(struct stream *s)
{
    struct serving *v = &s->serving;
    uint64_t now_ms = s->net->clock->now_ms;

    put_events(s);
    if (now_ms >= v->initial_ms) {
        v->initial_ms = UINT64_MAX;
        v->sent = s->server->rv;
        answer_put_bookmark(&s->body, &s->lens, s->server->rv, true);
    }
    if (now_ms < v->bookmark_ms || v->initial_ms != UINT64_MAX)
        return;
    bool last =
        s->net->setup->bookmark_every_ms == 0 || v->bookmark_ms + LAST_BOOKMARK_MS >= v->ends_ms;
    v->bookmark_ms = last ? UINT64_MAX : now_ms + s->net->setup->bookmark_every_ms;
    if (!last && v->bookmark_ms + LAST_BOOKMARK_MS > v->ends_ms)
        v->bookmark_ms = v->ends_ms - LAST_BOOKMARK_MS;
    if (s->server->rv < v->sent || (s->server->rv == v->sent && !is_cut(s)))
        return;
    v->sent = s->server->rv;
    s->hung = 0;
    s->marking = true;
    if (clock_percent(s->net->clock, 10) && stream_strikes(s, FAULT_BACK))
        answer_put_bookmark(&s->body, &s->lens, v->after > 1 ? v->after - 1 : 1, false);
    answer_put_bookmark(&s->body, &s->lens, v->sent, false);
}

bool serve_cuts(struct stream *s)
{
    if (!is_cut(s) || s->serving.initial_ms != UINT64_MAX)
        return false;
    stream_blame(s, FAULT_CUTTER);
    return true;
}

void serve_break(struct stream *s)
{
    if (s->serving.doom == FAULT_GARBAGE)
        buf_puts(&s->body, "{\"type\":\"FOO\",\"object\":{}}");
    else if (clock_percent(s->net->clock, 30))
        answer_put_error(&s->body, 429, "TooManyRequests", "simulated");
    else
        answer_put_error(&s->body, 500, "InternalError", "context deadline exceeded");
}

uint64_t serve_next_ms(const struct stream *s)
{
    const struct serving *v = &s->serving;
    uint64_t next = v->ends_ms;

    next = v->bookmark_ms < next ? v->bookmark_ms : next;
    next = v->initial_ms < next ? v->initial_ms : next;
    return v->doom_ms < next ? v->doom_ms : next;
}

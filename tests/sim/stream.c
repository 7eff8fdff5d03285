/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/panic.h"

enum { RESPONSE_TIMEOUT_MS = 30000, LIST_IDLE_MS = 60000 };

static void act(struct stream *s, struct feed_action a);

static struct feed_now now(const struct stream *s)
{
    return (struct feed_now){.ms = s->net->clock->now_ms,
                             .wall_ns = s->net->clock->now_ms * 1000000};
}

static bool strikes(struct stream *s, enum fault fault)
{
    if (!clock_percent(s->net->clock, s->net->percent))
        return false;
    s->net->injected[fault]++;
    return true;
}

static void end(struct stream *s, const struct err *err)
{
    buf_clear(&s->body);
    clock_clear(s->net->clock, &s->alarm);
    act(s, feed_end(s->feed, err, now(s)));
    s->on_progress(s->arg);
}

static void fail(struct stream *s, enum err_kind kind)
{
    struct err err;

    err_set(&err, kind, 0, "simulated: %s", err_kind_name(kind));
    end(s, &err);
}

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

static void head(struct stream *s, int status, int64_t retry_after_s, const char *type)
{
    struct http_head h = {
        .status = status, .retry_after_s = retry_after_s, .content_type = str_c(type)};

    feed_head(s->feed, &h, s->net->clock->now_ms);
}

static void answer(struct stream *s, int status)
{
    s->state = STREAM_BODY;
    head(s, status, -1, "application/json");
    s->cut = strikes(s, FAULT_CUT);
    clock_set(s->net->clock, &s->alarm, clock_pick(s->net->clock, 0, 20));
}

static void refuse(struct stream *s, int code, const char *reason, const char *message)
{
    api_put_status(&s->body, code, reason, message);
    answer(s, code);
}

static bool selected(const struct stream *s, size_t key)
{
    return s->space == API_SPACES || api_space(key) == s->space;
}

/* A page of the state at rv from a key on; the continue token says both. */
static void put_page(struct stream *s, uint64_t rv, size_t from, uint64_t limit)
{
    struct api_object state[API_KEYS];
    struct buf items = {0};
    size_t count = 0;
    size_t key = from;

    api_state_at(s->net->api, rv, state);
    for (; key < API_KEYS && (limit == 0 || count < limit); key++) {
        if (!selected(s, key) || state[key].uid == 0)
            continue;
        if (count++ > 0)
            buf_putc(&items, ',');
        api_put_object(&items, key, &state[key], true);
    }
    buf_printf(&s->body, "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",");
    if (clock_percent(s->net->clock, 50)) { /* custom resources come with items first */
        buf_printf(&s->body, "\"items\":[%.*s],", STR_ARG(buf_str(&items)));
        buf_clear(&items);
    }
    buf_printf(&s->body, "\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\"", rv);
    if (key < API_KEYS)
        buf_printf(&s->body, ",\"continue\":\"%" PRIu64 "\"", rv * 100 + key);
    buf_puts(&s->body, "}");
    if (items.len > 0)
        buf_printf(&s->body, ",\"items\":[%.*s]", STR_ARG(buf_str(&items)));
    buf_puts(&s->body, "}\n");
    buf_free(&items);
}

static void answer_page(struct stream *s, uint64_t token, uint64_t limit)
{
    uint64_t rv = token / 100;

    if (rv < s->net->api->compacted) {
        refuse(s, 410, "Expired", "The provided continue parameter is too old");
        return;
    }
    put_page(s, rv, token % 100, limit);
    answer(s, 200);
}

/* A cache that lags may show any version that it has not forgotten. */
static uint64_t lagging_version(struct stream *s, uint64_t at_least)
{
    const struct api *a = s->net->api;
    uint64_t oldest = at_least > a->compacted ? at_least : a->compacted;

    if (s->net->percent == 0 || oldest > a->rv)
        return a->rv;
    return clock_pick(s->net->clock, oldest, a->rv);
}

static void answer_list(struct stream *s)
{
    bool given;
    uint64_t limit = parameter(s, "limit", &given);
    uint64_t token = parameter(s, "continue", &given);

    if (given) {
        answer_page(s, token, limit);
        return;
    }
    uint64_t rv = parameter(s, "resourceVersion", &given);
    if (given && rv > 0 && strikes(s, FAULT_LAGGING))
        refuse(s, 504, "Timeout", "Too large resource version");
    else if (given && rv > 0 && strikes(s, FAULT_GONE))
        refuse(s, 410, "Expired", "too old");
    else {
        put_page(s, given ? lagging_version(s, rv) : s->net->api->rv, 0, limit);
        answer(s, 200);
    }
}

static void answer_watch(struct stream *s)
{
    bool given;
    uint64_t rv = parameter(s, "resourceVersion", &given);
    uint64_t timeout_s = parameter(s, "timeoutSeconds", &given);
    uint64_t now_ms = s->net->clock->now_ms;

    s->state = STREAM_WATCHING;
    s->sent = rv;
    s->ends_ms = now_ms + timeout_s * 1000;
    head(s, 200, -1, "application/json");
    if (rv < s->net->api->compacted) {
        buf_puts(&s->body, "{\"type\":\"ERROR\",\"object\":");
        api_put_status(&s->body, 410, "Expired", "too old resource version");
        buf_puts(&s->body, "}\n");
        s->ends_ms = now_ms;
    } else if (strikes(s, FAULT_EMPTY)) {
        s->ends_ms = now_ms;
        s->sent = UINT64_MAX;
    }
    clock_set(s->net->clock, &s->alarm, clock_pick(s->net->clock, 0, 20));
}

/* The request has arrived: what comes back? */
static void respond(struct stream *s)
{
    if (strikes(s, FAULT_REFUSED)) {
        fail(s, ERR_REFUSED);
    } else if (strikes(s, FAULT_CLOSED)) {
        fail(s, ERR_CLOSED);
    } else if (strikes(s, FAULT_SILENT)) {
        s->state = STREAM_STALLED;
        clock_set(s->net->clock, &s->alarm, RESPONSE_TIMEOUT_MS);
    } else if (strikes(s, FAULT_BUSY)) {
        s->state = STREAM_BODY;
        head(s, 429, 1, "text/plain");
        clock_set(s->net->clock, &s->alarm, 1);
    } else if (strikes(s, FAULT_ERROR)) {
        refuse(s, 500, "InternalError", "simulated");
    } else if (strikes(s, FAULT_HTML)) {
        s->state = STREAM_BODY;
        head(s, 200, -1, "text/html");
        buf_puts(&s->body, "<html>");
        clock_set(s->net->clock, &s->alarm, 1);
    } else if (s->action.what == FEED_LIST) {
        answer_list(s);
    } else {
        answer_watch(s);
    }
}

/* Hands over the next n bytes of the body. False: the stream is over. */
static bool hand_over(struct stream *s, size_t n)
{
    bool more = n == 0 || feed_body(s->feed, s->body.data, n, now(s));

    if (!more) {
        end(s, NULL);
        return false;
    }
    buf_consume(&s->body, n);
    s->on_progress(s->arg);
    return true;
}

static size_t piece(struct stream *s)
{
    return s->body.len == 0 ? 0 : clock_pick(s->net->clock, 1, s->body.len);
}

static void send_body(struct stream *s)
{
    if (s->cut && clock_percent(s->net->clock, 50)) {
        fail(s, ERR_CLOSED);
        return;
    }
    if (!hand_over(s, piece(s)))
        return;
    if (s->body.len > 0)
        clock_set(s->net->clock, &s->alarm, clock_pick(s->net->clock, 0, 30));
    else if (s->cut)
        fail(s, ERR_CLOSED);
    else
        end(s, NULL);
}

/* Appends what happened since; with faults in between. */
static void gather(struct stream *s)
{
    const struct api *a = s->net->api;
    uint64_t upto = lagging_version(s, s->sent);

    for (size_t i = 0; i < a->events; i++) {
        const struct api_event *e = &a->history[i];

        if (e->rv <= s->sent || e->rv > upto || !selected(s, e->key))
            continue;
        api_put_event(&s->body, e);
        if (strikes(s, FAULT_DUPLICATE))
            api_put_event(&s->body, e);
    }
    bool moved = upto > s->sent && s->sent != UINT64_MAX;
    if (moved)
        s->sent = upto;
    if (moved && clock_percent(s->net->clock, 20))
        buf_printf(
            &s->body,
            "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\","
            "\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\"}}}\n",
            upto);
}

static void break_stream(struct stream *s)
{
    if (strikes(s, FAULT_STREAM_ERROR)) {
        buf_puts(&s->body, "{\"type\":\"ERROR\",\"object\":");
        api_put_status(&s->body, 500, "InternalError", "simulated");
        buf_puts(&s->body, "}\n");
    } else if (strikes(s, FAULT_GARBAGE)) {
        buf_puts(&s->body, "{\"type\":\"FOO\",\"object\":{}}");
    }
}

static void watch_on(struct stream *s)
{
    uint64_t now_ms = s->net->clock->now_ms;

    if (now_ms < s->ends_ms) {
        gather(s);
        if (clock_percent(s->net->clock, 20))
            break_stream(s);
    }
    if (!hand_over(s, s->net->percent == 0 ? s->body.len : piece(s)))
        return;
    if (clock_percent(s->net->clock, 10) && strikes(s, FAULT_CUT)) {
        fail(s, ERR_IO);
    } else if (clock_percent(s->net->clock, 5) && strikes(s, FAULT_STALL)) {
        s->state = STREAM_STALLED;
        clock_set(s->net->clock, &s->alarm, s->action.deadline_ms);
    } else if (now_ms >= s->ends_ms && s->body.len == 0) {
        end(s, NULL);
    } else {
        clock_set(s->net->clock, &s->alarm, clock_pick(s->net->clock, 1, 400));
    }
}

static void on_alarm(struct alarm *a)
{
    struct stream *s = container_of(a, struct stream, alarm);

    switch (s->state) {
    case STREAM_WAITING:
        act(s, feed_timer(s->feed, s->net->clock->now_ms));
        break;
    case STREAM_ASKED:
        respond(s);
        break;
    case STREAM_BODY:
        send_body(s);
        break;
    case STREAM_WATCHING:
        watch_on(s);
        break;
    case STREAM_STALLED:
        fail(s, ERR_TIMEOUT);
        break;
    }
}

static void act(struct stream *s, struct feed_action a)
{
    s->action = a;
    s->alarm.fn = on_alarm;
    if (a.what == FEED_WAIT) {
        s->state = STREAM_WAITING;
        clock_set(s->net->clock, &s->alarm, a.wait_ms);
        return;
    }
    int n = snprintf(s->target, sizeof(s->target), "%s", a.target);
    ensure(n > 0 && (size_t)n < sizeof(s->target));
    s->state = STREAM_ASKED;
    clock_set(s->net->clock, &s->alarm, clock_pick(s->net->clock, 0, 50));
}

void stream_start(struct stream *s)
{
    act(s, feed_start(s->feed, s->net->clock->now_ms));
}

void stream_fini(struct stream *s)
{
    clock_clear(s->net->clock, &s->alarm);
    buf_free(&s->body);
}

bool stream_is_current(const struct stream *s)
{
    return s->state == STREAM_WATCHING && s->body.len == 0 && s->sent == s->net->api->rv;
}

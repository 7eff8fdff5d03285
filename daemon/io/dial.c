/* SPDX-License-Identifier: Apache-2.0 */
#include "io/dial.h"

#include <stdlib.h>
#include <uv.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/deadline.h"
#include "io/loop.h"
#include "io/resolver.h"
#include "proto/address_race.h"

enum dial_state { DIAL_RESOLVING, DIAL_CONNECTING, DIAL_ENDED };

/* A socket on its way to one address. */
struct attempt {
    uv_tcp_t tcp;
    uv_connect_t connecting;
    struct dial *dial; /* NULL = nobody waits for it any more */
    size_t index;      /* in dial->race */
};

struct dial {
    struct loop *loop;
    struct resolver *resolver;
    enum dial_state state;
    const struct dial_events *events;
    void *arg;
    char *host;
    char *name;
    uint16_t port;
    uint64_t timeout_ms;
    struct resolver_wait wait;
    struct address_race race;
    struct attempt *attempts[ADDRESS_RACE_MAX]; /* those under way */
    struct deadline *timer;
    struct err failure;
    struct loop_task tell_failure;
};

static void enter(struct dial *d, enum dial_state state)
{
    static const char *const names[] = {"resolving", "connecting", NULL};

    d->state = state;
    deadline_stop(d->timer);
    if (names[state] != NULL)
        log_debug("connection", KV_STR("to", d->name), KV_STR("state", names[state]));
}

static void on_attempt_closed(uv_handle_t *tcp)
{
    free(container_of((uv_tcp_t *)tcp, struct attempt, tcp));
}

void dial_close(struct uv_tcp_s *tcp)
{
    uv_close((uv_handle_t *)tcp, on_attempt_closed);
}

/* Takes an attempt out of the race and closes its socket. */
static void drop(struct dial *d, size_t i)
{
    struct attempt *a = d->attempts[i];

    d->attempts[i] = NULL;
    if (a == NULL)
        return;
    a->dial = NULL;
    dial_close(&a->tcp);
}

/* The race is over, won or lost: the resolver learns which addresses did not work. */
static void end_race(struct dial *d)
{
    for (size_t i = 0; i < d->race.n; i++) {
        if (d->resolver != NULL && address_race_was_bad(&d->race, i))
            resolver_note(d->resolver, d->host, &d->race.v[i].address, false);
        drop(d, i);
    }
    enter(d, DIAL_ENDED);
}

static void on_tell_failure(struct loop_task *task)
{
    struct dial *d = container_of(task, struct dial, tell_failure);
    struct err why = d->failure; /* the callee may dispose d first and read it then */

    d->events->on_failed(d->arg, &why);
}

/* on_failed follows in the next turn, as it must not run inside dial_create(). */
static void fail(struct dial *d, const char *step)
{
    err_wrap(&d->failure, "%s", step);
    loop_defer(d->loop, &d->tell_failure);
}

static void go_on(struct dial *d);

static void on_connected(uv_connect_t *req, int status)
{
    struct attempt *a = container_of(req, struct attempt, connecting);
    struct dial *d = a->dial;

    if (d == NULL) /* dropped */
        return;
    if (status != 0) {
        address_race_failed(&d->race, a->index, status == UV_ECONNREFUSED ? ERR_REFUSED : ERR_IO,
                            status, uv_strerror(status));
        drop(d, a->index);
        go_on(d);
        return;
    }
    address_race_connected(&d->race, a->index);
    d->attempts[a->index] = NULL;
    a->dial = NULL;
    const struct address to = d->race.v[a->index].address;
    end_race(d);
    d->events->on_connected(d->arg, &a->tcp, &to);
}

static void tell_attempt(const struct dial *d, const struct address *to)
{
    struct buf text = {0};

    address_put(&text, to);
    log_debug("connection attempt", KV_STR("to", d->name), KV_STR("address", buf_cstr(&text)));
    buf_free(&text);
}

static void begin_attempt(struct dial *d, size_t i)
{
    struct attempt *a = MEM_NEW(struct attempt, .dial = d, .index = i);
    struct address to = d->race.v[i].address;

    d->attempts[i] = a;
    tell_attempt(d, &to);
    uv_tcp_init(loop_uv(d->loop), &a->tcp);
    if (to.to.any.sa_family == AF_INET)
        to.to.v4.sin_port = htons(d->port);
    else
        to.to.v6.sin6_port = htons(d->port);
    int e = uv_tcp_connect(&a->connecting, &a->tcp, &to.to.any, on_connected);

    if (e == 0)
        return;
    address_race_failed(&d->race, i, ERR_IO, e, uv_strerror(e));
    drop(d, i);
}

/* Begins the attempts that are due, and waits for what comes next. */
static void go_on(struct dial *d)
{
    size_t i;

    address_race_time_out(&d->race, loop_now_ms(d->loop));
    while ((i = address_race_next(&d->race, loop_now_ms(d->loop))) != ADDRESS_RACE_NONE)
        begin_attempt(d, i);
    if (address_race_is_lost(&d->race)) {
        address_race_explain(&d->race, d->host, &d->failure);
        end_race(d);
        fail(d, "connect");
        return;
    }
    deadline_start_at(d->timer, address_race_due_ms(&d->race));
}

static void start_connecting(struct dial *d, const struct addresses *addresses)
{
    enter(d, DIAL_CONNECTING);
    address_race_init(&d->race, addresses, d->timeout_ms, loop_now_ms(d->loop));
    go_on(d);
}

static void on_found(struct resolver_wait *w, const struct addresses *addresses,
                     const struct err *err)
{
    struct dial *d = container_of(w, struct dial, wait);

    if (addresses != NULL) {
        start_connecting(d, addresses);
        return;
    }
    enter(d, DIAL_ENDED);
    d->failure = *err;
    fail(d, "name lookup");
}

static void on_timer(void *arg)
{
    struct dial *d = arg;

    if (d->state == DIAL_CONNECTING) {
        go_on(d);
        return;
    }
    resolver_cancel(&d->wait);
    enter(d, DIAL_ENDED);
    err_set(&d->failure, ERR_TIMEOUT, UV_ETIMEDOUT, "no answer within %llu ms",
            (unsigned long long)d->timeout_ms);
    fail(d, "name lookup");
}

/* Is host an IP address? Then that is its only one. */
static bool is_literal(const char *host, struct addresses *out)
{
    struct address a = {0};

    return (uv_ip4_addr(host, 0, &a.to.v4) == 0 || uv_ip6_addr(host, 0, &a.to.v6) == 0) &&
           addresses_add(out, &a.to.any);
}

struct dial *dial_create(const struct dial_params *params, const char *name,
                         const struct dial_events *events, void *arg)
{
    struct addresses literal = {0};
    struct dial *d =
        MEM_NEW(struct dial, .loop = params->loop, .resolver = params->resolver, .events = events,
                .arg = arg, .host = mem_strdup(params->host), .name = mem_strdup(name),
                .port = params->port, .timeout_ms = params->timeout_ms);

    resolver_wait_init(&d->wait, on_found);
    loop_task_init(&d->tell_failure, on_tell_failure);
    d->timer = deadline_create(d->loop, on_timer, d);
    if (is_literal(d->host, &literal)) {
        start_connecting(d, &literal);
    } else {
        enter(d, DIAL_RESOLVING);
        deadline_start(d->timer, d->timeout_ms);
        resolver_find(d->resolver, d->host, &d->wait);
    }
    return d;
}

void dial_dispose(struct dial **dp)
{
    struct dial *d = *dp;

    if (d == NULL)
        return;
    *dp = NULL;
    resolver_cancel(&d->wait);
    loop_cancel(&d->tell_failure);
    deadline_dispose(&d->timer);
    for (size_t i = 0; i < ADDRESS_RACE_MAX; i++)
        drop(d, i);
    free(d->host);
    free(d->name);
    free(d);
}

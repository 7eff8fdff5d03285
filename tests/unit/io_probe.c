/* SPDX-License-Identifier: Apache-2.0 */
#include "io_probe.h"

#include <string.h>

#include "base/panic.h"
#include "io/loop.h"
#include "io/resolver.h"
#include "proto/tls.h"
#include "tls_pair.h"

static void on_open(void *arg)
{
    struct io_probe *p = arg;

    ensure(!p->calling && p->opens == 0 && p->closes == 0);
    p->opens++;
    if (p->dispose == IO_ON_OPEN)
        conn_dispose(&p->conn);
    else if (p->say != NULL)
        conn_write(p->conn, p->say, strlen(p->say));
    if (p->conn == NULL || (p->want == 0 && !p->till_closed))
        loop_stop(p->loop);
}

static void on_data(void *arg, const char *data, size_t n)
{
    struct io_probe *p = arg;

    ensure(!p->calling && p->opens == 1 && p->closes == 0 && n > 0);
    buf_append(&p->data, data, n);
    conn_count(p->conn, p->counts);
    if (p->dispose == IO_ON_DATA)
        conn_dispose(&p->conn);
    if (p->conn == NULL || (p->data.len >= p->want && !p->till_closed))
        loop_stop(p->loop);
}

static void on_closed(void *arg, const struct err *err)
{
    struct io_probe *p = arg;

    ensure(!p->calling && p->closes == 0);
    p->closes++;
    p->err = *err;
    if (p->dispose == IO_ON_CLOSED)
        conn_dispose(&p->conn);
    loop_stop(p->loop);
}

static void on_session(void *arg, struct conn *c, struct tls_session *session)
{
    struct io_probe *p = arg;

    (void)c;
    p->sessions++;
    tls_session_free(&p->session);
    p->session = session;
}

void io_probe_init(struct io_probe *p, uint16_t port)
{
    memset(p, 0, sizeof(*p));
    p->loop = loop_create();
    p->resolver = resolver_create(p->loop);
    p->params = (struct conn_params){
        .host = "127.0.0.1",
        .port = port,
        .resolver = p->resolver,
        .connect_timeout_ms = IO_PROBE_TIMEOUT_MS,
        .tls_timeout_ms = IO_PROBE_TIMEOUT_MS,
        .on_session = on_session,
        .session_arg = p,
    };
}

static const struct conn_events events = {on_open, on_data, on_closed};

void io_probe_connect(struct io_probe *p)
{
    p->calling = true;
    p->conn = conn_create(p->loop, &p->params, &events, p);
    p->calling = false;
}

void io_probe_adopt(struct io_probe *p)
{
    p->calling = true;
    conn_set_events(p->conn, &events, p);
    p->calling = false;
}

void io_probe_run(struct io_probe *p)
{
    loop_run(p->loop);
}

void io_probe_connect_and_run(struct io_probe *p)
{
    io_probe_connect(p);
    io_probe_run(p);
}

void io_probe_fini(struct io_probe *p)
{
    p->calling = true; /* nothing comes after dispose */
    conn_dispose(&p->conn);
    resolver_dispose(&p->resolver);
    loop_destroy(&p->loop);
    buf_free(&p->data);
    tls_session_free(&p->session);
}

void io_tls_init(struct io_tls *t, enum tls_peer_versions versions)
{
    const struct tls_peer_spec ca = {.subject = "CN=test CA", .ca = true};
    const struct tls_peer_spec server = {
        .subject = "CN=server", .dns = {"api.test"}, .ips = {"127.0.0.1"}};

    tls_peer_issue(&t->ca, NULL, &ca);
    tls_peer_issue(&t->id, &t->ca, &server);
    tls_peer_server_init(&t->server, &t->id, NULL, versions);
    t->ctx = tls_pair_ctx(&t->ca, NULL);
}

void io_tls_fini(struct io_tls *t)
{
    tls_ctx_unref(&t->ctx);
    tls_peer_server_fini(&t->server);
    tls_peer_id_fini(&t->id);
    tls_peer_id_fini(&t->ca);
}

int io_tls_set_up(void **state)
{
    static struct io_tls tls;

    io_tls_init(&tls, TLS_PEER_ALL);
    *state = &tls;
    return 0;
}

int io_tls_clean_up(void **state)
{
    io_tls_fini(*state);
    return 0;
}

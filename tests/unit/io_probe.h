/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io_probe - a loop, a server and connections whose events are written down, for tests of io/.
 */
#ifndef UNIT_IO_PROBE_H
#define UNIT_IO_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "io/conn.h"
#include "server.h"
#include "tls_peer.h"

/* A day: no test lets so much time pass. */
enum { IO_PROBE_TIMEOUT_MS = 86400000 };

/* The event in which the owner disposes its connection. */
enum io_probe_dispose { IO_NEVER, IO_ON_OPEN, IO_ON_DATA, IO_ON_CLOSED };

struct io_probe {
    struct loop *loop;
    struct resolver *resolver;
    struct conn *conn;
    struct conn_params params;
    enum io_probe_dispose dispose;
    const char *say;  /* bytes to write as soon as the connection is open */
    size_t want;      /* the loop stops with so many bytes (0 = when open) */
    bool till_closed; /* the loop stops only when the connection has closed */
    size_t counts;    /* on_data calls conn_count() with it */
    bool calling;     /* inside a call of the test: no callback may run */
    int opens, closes;
    struct buf data;
    struct err err;
    struct tls_session *session; /* the newest one */
    int sessions;
};

/* The certificates of a TLS server on 127.0.0.1 and a client that trusts it. */
struct io_tls {
    struct tls_peer_id ca;
    struct tls_peer_id id;
    struct tls_peer_server server;
    struct tls_ctx *ctx;
};

/* A probe with a loop of its own that would connect to 127.0.0.1:port; its timeouts
 * fire only when play_clock_pass() moves the clock. */
void io_probe_init(struct io_probe *p, uint16_t port);

/* Starts to connect. */
void io_probe_connect(struct io_probe *p);

/* Takes over the connection that the probe has (again). */
void io_probe_adopt(struct io_probe *p);

/* Runs the loop until the bytes or the event that the probe wants have come. */
void io_probe_run(struct io_probe *p);

/* io_probe_connect(), then io_probe_run(). */
void io_probe_connect_and_run(struct io_probe *p);

/* Disposes all that is left and destroys the loop, which fails if a handle leaked. */
void io_probe_fini(struct io_probe *p);

/* Makes the certificates of a server and a client. */
void io_tls_init(struct io_tls *t, enum tls_peer_versions versions);

/* Releases the certificates. */
void io_tls_fini(struct io_tls *t);

/* The setup of a group with cmocka; *state is a struct io_tls of all versions. */
int io_tls_set_up(void **state);
/* The teardown of a group with cmocka: releases *state. */
int io_tls_clean_up(void **state);

#endif

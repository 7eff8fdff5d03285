/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_probe - an API client and requests whose events are written down, for tests of
 * io/api_client.
 */
#ifndef UNIT_REQUEST_PROBE_H
#define UNIT_REQUEST_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "io/api_client.h"
#include "io/request.h"

/* The callback of a request in which the test disposes. */
enum request_probe_at { RQ_NEVER, RQ_AT_HEAD, RQ_AT_BODY, RQ_AT_END };

struct request_probe {
    struct client_probe *of;
    struct request *r;
    enum request_probe_at dispose;
    bool with_cluster; /* dispose the client before the request */
    bool silent;       /* no callback may run */
    int heads, ends;
    int status;
    bool complete;
    uint64_t needs;     /* the revision that the request goes on from; 0 = any is good */
    char revisions[64]; /* that servers have said, each with a blank behind it */
    bool doubted;       /* all servers lag: the request was disposed */
    struct buf body;
    struct err err;
};

/* A day: no test lets so much time pass. */
enum { CLIENT_PROBE_MAX = 32, CLIENT_PROBE_TIMEOUT_MS = 86400000 };

struct client_probe {
    struct loop *loop;
    struct api_client *client;
    struct api_client_params params;
    bool calling;   /* inside a call of the test: no callback may run */
    unsigned ended; /* requests that reached on_end */
    unsigned want;  /* the loop stops when so many have */
    struct request_probe rq[CLIENT_PROBE_MAX];
};

/* A loop and an API client of scheme://127.0.0.1:port/pre with so many lists at a time; its
 * timeouts do not come by themselves. */
void client_probe_init(struct client_probe *p, const char *scheme, uint16_t port,
                       unsigned list_concurrency);

/* The same with the parameters in p; a server with this URL is filled in. */
void client_probe_make(struct client_probe *p, const char *url);

/* The same for n servers, of these tiers (NULL = all of the first). */
void client_probe_make_many(struct client_probe *p, const char *const *urls, const unsigned *tiers,
                            size_t n);

/* Each server gets this TLS context. */
void client_probe_set_tls(struct client_probe *p, struct tls_ctx *ctx);

/* Starts request i as a list or a watch of target. */
void client_probe_start(struct client_probe *p, unsigned i, bool list, const char *target);

/* Starts request i as a streaming list, which goes on as a watch. */
void client_probe_stream(struct client_probe *p, unsigned i, const char *target);

/* Starts request i as a watch that goes on from this revision, and that another server process has
 * served until now. */
void client_probe_follow(struct client_probe *p, unsigned i, uint64_t needs);

/* Starts request i as the question which cluster a server belongs to; peer: the process to ask, 0 =
 * any. */
void client_probe_identify(struct client_probe *p, unsigned i, uint64_t peer);

/* Runs the loop until n more requests have ended. */
void client_probe_run(struct client_probe *p, unsigned n);

/* Starts request i, waits for it, disposes it. */
void client_probe_do(struct client_probe *p, unsigned i, bool list, const char *target);

/* Disposes all that is left and destroys the loop, which fails if a handle leaked. */
void client_probe_fini(struct client_probe *p);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch - one GET, or POST, with a bounded answer: sends it, reads the answer to its end, and turns
 * an error status into an error; driver. For everything but the requests of list_watches.
 */
#ifndef IO_FETCH_H
#define IO_FETCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "io/request.h"

struct api_client;
struct fetch;
struct loop;

struct fetch_params {
    struct request_params request;
    uint64_t timeout_ms; /* from fetch_start() to the end of the answer; 0 = no limit */
    /* Takes a piece of the body of a good response, n > 0. Must dispose nothing. Not
     * ERR_OK: the fetch fails with *err. NULL: the body is collected, up to max_bytes. */
    enum err_kind (*on_body)(void *arg, const char *data, size_t n, struct err *err);
    size_t max_bytes;
};

enum fetch_outcome {
    FETCH_GOOD,    /* the answer is complete, and its status is 200; for a POST, or 201 */
    FETCH_REFUSED, /* another status: err is the error that it stands for (kube/status.h) */
    /* There is no answer, or none that can be used: an error of request_events.on_end, ERR_TIMEOUT,
     * ERR_TOO_BIG (max_bytes), or the error of on_body. */
    FETCH_FAILED,
};

struct fetch_answer {
    enum fetch_outcome outcome;
    struct err err;
    int64_t retry_after_s; /* REFUSED: the server's Retry-After; <= 0 = it sent none */
    struct str body;       /* GOOD: the body that was collected; borrowed until fetch_dispose() */
};

/* The answer is borrowed during the call. */
typedef void fetch_cb(void *arg, const struct fetch_answer *a);

/* Sends the request. cb comes exactly once, never inside this call, and may dispose anything, the fetch
 * too. Never NULL; release with fetch_dispose(), after cb too. */
struct fetch *fetch_start(struct loop *loop, struct api_client *client,
                          const struct fetch_params *params, fetch_cb *cb, void *arg);

/* The end for the user, at any time: *f is NULL, no callback comes any more. NULL is fine. */
void fetch_dispose(struct fetch **f);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "io/fetch.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cache/api_error.h"
#include "io/api_client.h"
#include "io/deadline.h"

struct fetch {
    struct fetch_params params; /* not the texts of the request */
    fetch_cb *cb;
    void *arg;
    struct request *request;    /* NULL = the answer was reported */
    struct deadline *timeout;   /* timeout_ms */
    struct api_error api_error; /* status and error body of the answer */
    struct buf body;            /* of a good answer, if it is collected */
};

/* A POST is answered with 201: the API server calls its answer an object that it has created. */
static bool is_good(const struct fetch *f)
{
    bool is_post = f->params.request.post != NULL;

    return f->api_error.code == 200 || (is_post && f->api_error.code == 201);
}

/* The answer is complete, or needs no further bytes (err NULL); or there is none that can be
 * used. */
static void on_end(void *arg, const struct err *err)
{
    struct fetch *f = arg;
    struct fetch_answer a = {.outcome = FETCH_FAILED, .body = buf_str(&f->body)};

    request_dispose(&f->request);
    deadline_stop(f->timeout);
    if (err != NULL) {
        a.err = *err;
    } else if (is_good(f)) {
        a.outcome = FETCH_GOOD;
    } else {
        a.outcome = FETCH_REFUSED;
        api_error_read(&f->api_error, &a.err);
        a.retry_after_s = f->api_error.retry_after_s;
    }
    f->cb(f->arg, &a);
}

static void on_timeout(void *arg)
{
    const struct fetch *f = arg;
    struct err err;

    err_set(&err, ERR_TIMEOUT, 0, "no answer within %" PRIu64 " s", f->params.timeout_ms / 1000);
    on_end(arg, &err);
}

static void on_head(void *arg, const struct http_head *head)
{
    struct fetch *f = arg;

    api_error_head(&f->api_error, head);
}

static enum err_kind collect(struct fetch *f, const char *data, size_t n, struct err *err)
{
    size_t max = f->params.max_bytes;

    if (f->body.len + n > max)
        return err_set(err, ERR_TOO_BIG, 0, "the answer is larger than %zu bytes", max);
    if (!buf_try_room(&f->body, n))
        return err_set(err, ERR_TOO_BIG, 0,
                       "there is no memory for an answer of more than %zu bytes", f->body.len);
    buf_append(&f->body, data, n);
    return ERR_OK;
}

static void on_body(void *arg, const char *data, size_t n)
{
    struct fetch *f = arg;
    struct err err;

    if (!is_good(f)) {
        if (!api_error_body(&f->api_error, data, n))
            on_end(f, NULL);
    } else if ((f->params.on_body != NULL ? f->params.on_body(f->arg, data, n, &err)
                                          : collect(f, data, n, &err)) != ERR_OK) {
        on_end(f, &err);
    }
}

struct fetch *fetch_start(struct loop *loop, struct api_client *client,
                          const struct fetch_params *params, fetch_cb *cb, void *arg)
{
    static const struct request_events events = {
        .on_head = on_head, .on_body = on_body, .on_end = on_end};
    struct fetch *f = MEM_NEW(struct fetch, .params = *params, .cb = cb, .arg = arg);

    f->request = api_client_request(client, &params->request, &events, f);
    f->timeout = deadline_create(loop, on_timeout, f);
    if (params->timeout_ms > 0)
        deadline_start(f->timeout, params->timeout_ms);
    return f;
}

void fetch_dispose(struct fetch **fp)
{
    struct fetch *f = *fp;

    if (f == NULL)
        return;
    *fp = NULL;
    request_dispose(&f->request);
    deadline_dispose(&f->timeout);
    api_error_reset(&f->api_error);
    buf_free(&f->body);
    free(f);
}

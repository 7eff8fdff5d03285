/* SPDX-License-Identifier: Apache-2.0 */
#include "io/identifier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "cache/refusal.h"
#include "io/cluster.h"
#include "io/deadline.h"
#include "io/loop.h"
#include "proto/http_in.h"

/* From the head of an answer to its end, however slowly it drips. */
enum { HARD_DEADLINE_MS = 10000 };

/* More than any object that etcd takes. */
#define BODY_BYTES ((size_t)4 * 1024 * 1024)

struct identifier {
    struct identifier_params params;
    const struct identifier_events *events;
    void *arg;
    struct request *request; /* NULL = it waits for the timer, or is done */
    struct refusal refusal;
    struct buf body; /* of a good answer */
    struct deadline *timer;
    struct backoff backoff;
    struct rng rng;
    uint64_t failing_ms; /* since when it takes questions and gives no answer; 0 = it does not */
    char told[sizeof(((struct err *)0)->text)]; /* the trouble that was told last; "" = none */
};

static const struct cluster_id nobody;

static void end_request(struct identifier *i)
{
    request_dispose(&i->request);
    refusal_reset(&i->refusal);
    buf_free(&i->body);
}

/* One line per transition: the same trouble again is for debugging only. */
static void tell_trouble(struct identifier *i, const struct err *err, uint64_t retry_ms)
{
    bool quiet = !i->params.is_awaited || strcmp(i->told, err->text) == 0;

    snprintf(i->told, sizeof(i->told), "%s", err->text);
    log_emit(quiet ? LOG_LVL_DEBUG : LOG_LVL_WARN, "the cluster has not said yet which one it is",
             LOG_FIELDS(KV_STR("cluster", cluster_name(i->params.cluster)), KV_ERR(err),
                        KV_MS("retry_in", retry_ms)));
}

static void succeed(struct identifier *i, const struct cluster_id *id)
{
    end_request(i);
    log_debug("it is known which cluster this is",
              KV_STR("cluster", cluster_name(i->params.cluster)), KV_STR("uid", id->uid));
    i->events->on_identified(i->arg, id);
}

/* Is there a server that will not say it? One that cannot be reached, is busy, or wants another
 * credential, says nothing about that. */
static bool is_mute(struct identifier *i, const struct err *err)
{
    uint64_t now_ms = loop_now_ms(i->params.loop);
    bool fails = request_was_sent(i->request) && err->kind != ERR_UNAUTHORIZED &&
                 err->kind != ERR_BUSY && err->kind != ERR_CREDENTIAL;

    if (!fails)
        i->failing_ms = 0;
    else if (i->failing_ms == 0)
        i->failing_ms = now_ms;
    return fails && now_ms - i->failing_ms >= i->params.patience_ms;
}

static void fail(struct identifier *i, const struct err *err, uint64_t server_ms)
{
    uint64_t ms = backoff_step(&i->backoff, &i->params.retry, &i->rng);

    if (is_mute(i, err)) {
        log_warn("the server does not say which cluster it is, which is known by its CA at most",
                 KV_STR("cluster", cluster_name(i->params.cluster)), KV_ERR(err));
        succeed(i, &nobody);
        return;
    }
    if (ms < server_ms)
        ms = server_ms;
    end_request(i);
    tell_trouble(i, err, ms);
    deadline_start(i->timer, ms);
    if (err->kind == ERR_UNAUTHORIZED)
        i->events->on_unauthorized(i->arg);
}

static void refuse(struct identifier *i)
{
    int code = i->refusal.code;
    uint64_t server_ms = refusal_wait_ms(&i->refusal, 0);
    struct err err;

    if (cluster_id_is_secret(code)) {
        log_info(
            "the server does not tell the uid of namespace kube-system, so the cluster is known "
            "by its CA at most; informerd --print-rbac prints the right that is missing",
            KV_STR("cluster", cluster_name(i->params.cluster)), KV_INT("status", code));
        succeed(i, &nobody);
        return;
    }
    refusal_read(&i->refusal, &err);
    err_wrap(&err, "GET of namespace kube-system");
    fail(i, &err, server_ms);
}

/* The GET is over; err NULL = with a complete answer. */
static void finish(struct identifier *i, const struct err *err)
{
    struct cluster_id id = {0};
    struct err why;

    if (err != NULL) {
        why = *err;
        fail(i, &why, 0);
    } else if (i->refusal.code != 200) {
        refuse(i);
    } else if (cluster_id_read(buf_str(&i->body), &id, &why) != ERR_OK) {
        fail(i, &why, 0);
    } else {
        succeed(i, &id);
    }
}

static void on_head(void *arg, const struct http_head *head)
{
    struct identifier *i = arg;

    refusal_head(&i->refusal, head);
}

static void on_body(void *arg, const char *data, size_t n)
{
    struct identifier *i = arg;
    struct err err;

    if (i->refusal.code != 200) {
        if (!refusal_body(&i->refusal, data, n))
            finish(i, NULL);
        return;
    }
    if (i->body.len + n <= BODY_BYTES) {
        buf_append(&i->body, data, n);
        return;
    }
    err_set(&err, ERR_TOO_BIG, 0, "namespace kube-system is larger than any object");
    finish(i, &err);
}

static void on_end(void *arg, const struct err *err)
{
    finish(arg, err);
}

static void ask(void *arg)
{
    static const struct request_events events = {on_head, on_body, on_end};
    static const struct request_params params = {.target = CLUSTER_ID_TARGET,
                                                 .accept = CLUSTER_ID_ACCEPT,
                                                 .list = true,
                                                 .hard_deadline_ms = HARD_DEADLINE_MS};
    struct identifier *i = arg;

    i->request = cluster_request(i->params.cluster, &params, &events, i);
}

struct identifier *identifier_create(const struct identifier_params *params,
                                     const struct identifier_events *events, void *arg)
{
    struct identifier *i =
        MEM_NEW(struct identifier, .params = *params, .events = events, .arg = arg);

    rng_seed(&i->rng, params->seed);
    i->timer = deadline_create(params->loop, ask, i);
    uint64_t ms = rng_between(&i->rng, 0, params->start_jitter_ms);
    if (ms > 0)
        deadline_start(i->timer, ms);
    else
        ask(i);
    return i;
}

const char *identifier_trouble(const struct identifier *i)
{
    return i->told[0] != '\0' ? i->told : NULL;
}

void identifier_dispose(struct identifier **ip)
{
    struct identifier *i = *ip;

    if (i == NULL)
        return;
    *ip = NULL;
    end_request(i);
    deadline_dispose(&i->timer);
    free(i);
}

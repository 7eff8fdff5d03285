/* SPDX-License-Identifier: Apache-2.0 */
#include "io/cluster_identity_driver.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "io/api_client.h"
#include "io/deadline.h"
#include "io/loop.h"
#include "io/request.h"

struct cluster_identity_driver {
    struct cluster_identity_driver_params params;
    const struct cluster_identity_driver_events *events;
    void *arg;
    struct request *request; /* the question under way; NULL = waits for the timer, or is done */
    struct deadline *timer;  /* the start jitter, then the backoff */
    struct backoff backoff;
    struct rng rng;
    struct err logged; /* the last failure; kind OK = none */
};

/* There was no answer: asks again after the backoff. If nothing waits for the answer, each failure is
 * for debugging only. The timer runs before the owner is called, as the owner may dispose the
 * driver. */
static void fail(struct cluster_identity_driver *d, const struct err *err)
{
    uint64_t ms = backoff_step(&d->backoff, &d->params.retry, &d->rng);
    enum log_level level = log_failure_level(&d->logged, err);

    log_emit(d->params.is_awaited ? level : LOG_LVL_DEBUG,
             "cluster identity unknown: the server has not answered yet",
             LOG_FIELDS(KV_STR("cluster", api_client_name(d->params.client)), KV_ERR(err),
                        KV_MS("retry_in", ms)));
    deadline_start(d->timer, ms);
    if (err->kind == ERR_UNAUTHORIZED)
        d->events->on_unauthorized(d->arg);
}

static void on_end(void *arg, const struct err *err)
{
    struct cluster_identity_driver *d = arg;
    struct err why = err != NULL ? *err : (struct err){0};

    request_dispose(&d->request);
    /* ERR_FOREIGN is an answer, too: the judge has decided on it by now. */
    if (why.kind == ERR_OK || why.kind == ERR_FOREIGN)
        d->events->on_answered(d->arg);
    else
        fail(d, &why);
}

static void ask(void *arg)
{
    static const struct request_events events = {.on_end = on_end};
    struct cluster_identity_driver *d = arg;

    d->request = api_client_identify(d->params.client, 0, &events, d);
}

struct cluster_identity_driver *
cluster_identity_driver_create(const struct cluster_identity_driver_params *params,
                               const struct cluster_identity_driver_events *events, void *arg)
{
    struct cluster_identity_driver *d =
        MEM_NEW(struct cluster_identity_driver, .params = *params, .events = events, .arg = arg);

    rng_seed(&d->rng, params->seed);
    d->timer = deadline_create(params->loop, ask, d);
    uint64_t ms = rng_between(&d->rng, 0, params->start_jitter_ms);
    if (ms > 0)
        deadline_start(d->timer, ms);
    else
        ask(d);
    return d;
}

const char *cluster_identity_driver_trouble(const struct cluster_identity_driver *d)
{
    return d->logged.kind != ERR_OK ? d->logged.text : NULL;
}

void cluster_identity_driver_reauthenticate(struct cluster_identity_driver *d)
{
    enum err_kind why = d->logged.kind;

    if (d->request != NULL || (why != ERR_UNAUTHORIZED && why != ERR_TLS && why != ERR_CREDENTIAL))
        return;
    deadline_stop(d->timer);
    ask(d);
}

void cluster_identity_driver_dispose(struct cluster_identity_driver **dp)
{
    struct cluster_identity_driver *d = *dp;

    if (d == NULL)
        return;
    *dp = NULL;
    request_dispose(&d->request);
    deadline_dispose(&d->timer);
    free(d);
}

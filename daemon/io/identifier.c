/* SPDX-License-Identifier: Apache-2.0 */
#include "io/identifier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "io/cluster.h"
#include "io/deadline.h"
#include "io/loop.h"

struct identifier {
    struct identifier_params params;
    const struct identifier_events *events;
    void *arg;
    struct request *request; /* NULL = it waits for the timer, or is done */
    struct deadline *timer;
    struct backoff backoff;
    struct rng rng;
    char told[sizeof(((struct err *)0)->text)]; /* the trouble that was told last; "" = none */
};

/* One line per transition: the same trouble again is for debugging only. */
static void tell_trouble(struct identifier *i, const struct err *err, uint64_t retry_ms)
{
    bool quiet = !i->params.is_awaited || strcmp(i->told, err->text) == 0;

    snprintf(i->told, sizeof(i->told), "%s", err->text);
    log_emit(quiet ? LOG_LVL_DEBUG : LOG_LVL_WARN, "the cluster has not said yet which one it is",
             LOG_FIELDS(KV_STR("cluster", cluster_name(i->params.cluster)), KV_ERR(err),
                        KV_MS("retry_in", retry_ms)));
}

static void fail(struct identifier *i, const struct err *err)
{
    uint64_t ms = backoff_step(&i->backoff, &i->params.retry, &i->rng);

    tell_trouble(i, err, ms);
    deadline_start(i->timer, ms);
    if (err->kind == ERR_UNAUTHORIZED)
        i->events->on_unauthorized(i->arg);
}

static void on_end(void *arg, const struct err *err)
{
    struct identifier *i = arg;
    struct err why = err != NULL ? *err : (struct err){0};

    request_dispose(&i->request);
    if (why.kind == ERR_OK || why.kind == ERR_FOREIGN)
        i->events->on_answered(i->arg);
    else
        fail(i, &why);
}

static void ask(void *arg)
{
    static const struct request_events events = {.on_end = on_end};
    struct identifier *i = arg;

    i->request = cluster_identify(i->params.cluster, 0, &events, i);
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
    request_dispose(&i->request);
    deadline_dispose(&i->timer);
    free(i);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "io/gone_driver.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "io/sweep.h"

struct gone_driver {
    struct gone_driver_params params;
    void (*on_swept)(void *arg);
    void *arg;
    struct gone_hook *at; /* the hook whose files are being removed */
    struct sweep sweep;
};

static void on_stray(void *arg, struct stray *x, enum stray_end end)
{
    const struct gone_driver *d = arg;

    gone_ended(d->at, x, end);
    if (end == STRAY_END_REMOVED)
        log_info("output file of a forgotten hook removed", KV_STR("hook", d->at->name),
                 KV_STR("file", x->path));
    else if (x->state == STRAY_LEFT)
        log_warn("output file of a forgotten hook left in place: remove it if not needed",
                 KV_STR("hook", d->at->name), KV_STR("file", x->path), KV_STR("because", x->why));
}

static void on_sweep(void *arg)
{
    struct gone_driver *d = arg;

    d->on_swept(d->arg);
    gone_driver_look(d);
}

struct gone_driver *gone_driver_create(const struct gone_driver_params *params,
                                       void (*on_swept)(void *arg), void *arg)
{
    struct gone_driver *d =
        MEM_NEW(struct gone_driver, .params = *params, .on_swept = on_swept, .arg = arg);
    const struct sweep_params p = {.loop = params->loop,
                                   .link = params->link,
                                   .number = params->number,
                                   .timeout_ms = params->timeout_ms,
                                   .on_stray = on_stray,
                                   .on_swept = on_sweep,
                                   .arg = d};

    sweep_init(&d->sweep, &p);
    return d;
}

void gone_driver_look(struct gone_driver *d)
{
    for (size_t i = 0; i < d->params.gone->n && !sweep_is_on(&d->sweep); i++) {
        struct gone_hook *gh = d->params.gone->v[i];

        if (gh->files.due == 0)
            continue;
        d->at = gh;
        sweep_begin(&d->sweep, &gh->files);
    }
}

bool gone_driver_is_on(const struct gone_driver *d)
{
    return sweep_is_on(&d->sweep);
}

void gone_driver_dispose(struct gone_driver **dp)
{
    struct gone_driver *d = *dp;

    if (d == NULL)
        return;
    *dp = NULL;
    sweep_fini(&d->sweep);
    free(d);
}

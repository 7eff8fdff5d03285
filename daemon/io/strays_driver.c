/* SPDX-License-Identifier: Apache-2.0 */
#include "io/strays_driver.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "io/loop.h"
#include "io/sweep.h"

/* The stray files of one hook. */
struct hook_strays {
    struct strays_driver *of;
    struct hook *hook;
    struct sweep sweep;
};

struct strays_driver {
    struct strays_driver_params params;
    void (*on_swept)(void *arg);
    void *arg;
    struct hook_strays *all; /* as params.hooks->v at the start */
    size_t n;
};

/* A file that was gone already needs no line. */
static void log_end(const struct hook *h, const struct stray *x, enum stray_end end)
{
    if (end == STRAY_END_REMOVED)
        log_info("obsolete output file removed", KV_STR("hook", h->name), KV_STR("file", x->path));
    else if (x->state == STRAY_LEFT)
        log_warn("obsolete output file left in place: remove it if not needed",
                 KV_STR("hook", h->name), KV_STR("file", x->path), KV_STR("because", x->why));
}

static void on_stray(void *arg, struct stray *x, enum stray_end end)
{
    const struct hook_strays *w = arg;

    strays_ended(w->hook, x, end, loop_now_ms(w->of->params.loop));
    log_end(w->hook, x, end);
}

static void on_swept(void *arg)
{
    const struct hook_strays *w = arg;

    w->of->on_swept(w->of->arg);
}

/* --dry-run: logs the files and counts them as removed, so that the hook may run. The state is not
 * changed, so the next process finds them due again. */
static void pretend(struct hook_strays *w)
{
    list_each (pos, tmp, &w->hook->strays.all) {
        struct stray *x = list_entry(pos, struct stray, link);

        if (x->state != STRAY_DUE)
            continue;
        log_info("would remove an obsolete output file", KV_STR("hook", w->hook->name),
                 KV_STR("file", x->path));
        strays_ended(w->hook, x, STRAY_END_REMOVED, loop_now_ms(w->of->params.loop));
    }
}

void strays_driver_look(struct strays_driver *d)
{
    for (size_t i = 0; i < d->n; i++) {
        struct hook_strays *w = &d->all[i];

        /* A hook with a run under way may be writing a file: its stray files wait. */
        if (w->hook->strays.due == 0 || sweep_is_on(&w->sweep) || hook_running(w->hook) > 0 ||
            w->hook->paused)
            continue;
        if (!d->params.dry_run) {
            sweep_begin(&w->sweep, &w->hook->strays);
            continue;
        }
        pretend(w);
        /* Nothing is under way for these files: no later call would say so. */
        d->on_swept(d->arg);
    }
}

bool strays_driver_is_on(const struct strays_driver *d)
{
    for (size_t i = 0; i < d->n; i++)
        if (sweep_is_on(&d->all[i].sweep))
            return true;
    return false;
}

struct strays_driver *strays_driver_create(const struct strays_driver_params *params,
                                           void (*swept)(void *arg), void *arg)
{
    struct strays_driver *d =
        MEM_NEW(struct strays_driver, .params = *params, .on_swept = swept, .arg = arg);

    d->n = params->hooks->n;
    d->all = mem_array(d->n + 1, sizeof(*d->all));
    for (size_t i = 0; i < d->n; i++) {
        struct hook_strays *w = &d->all[i];
        const struct sweep_params p = {.loop = params->loop,
                                       .link = params->link,
                                       .number = (uint32_t)params->hooks->v[i]->index,
                                       .timeout_ms = params->timeout_ms,
                                       .on_stray = on_stray,
                                       .on_swept = on_swept,
                                       .arg = w};

        *w = (struct hook_strays){.of = d, .hook = params->hooks->v[i]};
        sweep_init(&w->sweep, &p);
    }
    return d;
}

void strays_driver_dispose(struct strays_driver **dp)
{
    struct strays_driver *d = *dp;

    if (d == NULL)
        return;
    *dp = NULL;
    for (size_t i = 0; i < d->n; i++)
        sweep_fini(&d->all[i].sweep);
    free(d->all);
    free(d);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "app/persist_programs.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/fingerprints.h"
#include "io/loop.h"

/* For the programs and files of all hooks together. Runs wait for the end of this (runner_begin()),
 * so a file system that hangs must not hold them up for ever. */
enum { TIMEOUT_MS = 10000 };

struct persist_programs {
    struct persist_programs_params params;
    const struct persist_programs_events *events;
    void *arg;
    struct fingerprints *fingerprints; /* NULL: nothing is asked */
    size_t unknown;                    /* hooks that have no answer yet */
    struct loop_task ready;
};

static void on_ready(struct loop_task *task)
{
    struct persist_programs *p = container_of(task, struct persist_programs, ready);

    p->events->on_ready(p->arg);
}

static void on_fingerprint(void *arg, size_t hook, const struct digest *digest,
                           const struct err *err)
{
    struct persist_programs *p = arg;

    if (digest == NULL)
        log_warn("programs and files of a hook cannot be checked for changes",
                 KV_STR("hook", p->params.hooks->v[hook]->name), KV_ERR(err));
    p->events->on_program(p->arg, hook, digest);
    p->unknown--;
    if (p->unknown == 0)
        loop_defer(p->params.loop, &p->ready);
}

struct persist_programs *persist_programs_create(const struct persist_programs_params *params,
                                                 const struct persist_programs_events *events,
                                                 void *arg)
{
    struct persist_programs *p =
        MEM_NEW(struct persist_programs, .params = *params, .events = events, .arg = arg);
    const struct fingerprints_params fp = {.loop = params->loop,
                                           .link = params->link,
                                           .hook_count = params->hooks->n,
                                           .timeout_ms = TIMEOUT_MS};

    loop_task_init(&p->ready, on_ready);
    /* on_ready must not come inside of persist_create(), so it waits for the next turn also when
     * nothing is asked. */
    p->unknown = params->ask ? params->hooks->n : 0;
    if (p->unknown == 0)
        loop_defer(params->loop, &p->ready);
    else
        p->fingerprints = fingerprints_create(&fp, on_fingerprint, p);
    return p;
}

bool persist_programs_exited(struct persist_programs *p, const struct helper_link_exit *end)
{
    return fingerprints_exited(p->fingerprints, end);
}

void persist_programs_dispose(struct persist_programs **pp)
{
    struct persist_programs *p = *pp;

    if (p == NULL)
        return;
    *pp = NULL;
    loop_cancel(&p->ready);
    fingerprints_dispose(&p->fingerprints);
    free(p);
}

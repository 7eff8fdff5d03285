/* SPDX-License-Identifier: Apache-2.0 */
#include "io/shortage_log.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"

void shortage_log_init(struct shortage_log *s, size_t n)
{
    *s = (struct shortage_log){.by_hook = mem_array(n + 1, sizeof(*s->by_hook))};
}

void shortage_log_fini(struct shortage_log *s)
{
    free(s->by_hook);
    *s = (struct shortage_log){0};
}

static void end(struct shortage_log *s, const struct hook *h)
{
    enum shortage lacks = s->by_hook[h->index];

    s->by_hook[h->index] = SHORTAGE_NONE;
    if (lacks != SHORTAGE_NONE && --s->hooks[lacks] == 0)
        log_info("runs can be started again", KV_STR("short_of", shortage_name(lacks)));
}

void shortage_log_begin(struct shortage_log *s, const struct hook *h,
                        const struct run_result *result)
{
    if (s->by_hook[h->index] == result->shortage)
        return;
    end(s, h);
    s->by_hook[h->index] = result->shortage;
    if (s->hooks[result->shortage]++ > 0)
        return;
    log_warn("the system has no means to start runs: they are tried again every second",
             KV_STR("short_of", shortage_name(result->shortage)), KV_STR("hook", h->name),
             KV_STR("result", result->text), KV_STR("advice", shortage_advice(result->shortage)));
}

void shortage_log_check(struct shortage_log *s, const struct hooks *hooks)
{
    size_t any = 0;

    for (size_t i = SHORTAGE_NONE + 1; i < SHORTAGE_KINDS; i++)
        any += s->hooks[i];
    for (size_t i = 0; any > 0 && i < hooks->n; i++)
        if (hook_not_started(hooks->v[i]) == 0)
            end(s, hooks->v[i]);
}

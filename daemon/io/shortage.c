/* SPDX-License-Identifier: Apache-2.0 */
#include "io/shortage.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"

void shortage_init(struct shortage *s, size_t n)
{
    *s = (struct shortage){.by_hook = mem_array(n + 1, sizeof(*s->by_hook))};
}

void shortage_fini(struct shortage *s)
{
    free(s->by_hook);
    *s = (struct shortage){0};
}

static void end(struct shortage *s, const struct hook *h)
{
    enum means lacks = s->by_hook[h->index];

    s->by_hook[h->index] = MEANS_ENOUGH;
    if (lacks != MEANS_ENOUGH && --s->hooks[lacks] == 0)
        log_info("runs can be started again", KV_STR("short_of", means_name(lacks)));
}

void shortage_begin(struct shortage *s, const struct hook *h, const struct run_result *result)
{
    if (s->by_hook[h->index] == result->means)
        return;
    end(s, h);
    s->by_hook[h->index] = result->means;
    if (s->hooks[result->means]++ > 0)
        return;
    log_warn("the system has no means to start runs: they are tried again every second",
             KV_STR("short_of", means_name(result->means)), KV_STR("hook", h->name),
             KV_STR("result", result->text), KV_STR("advice", means_advice(result->means)));
}

void shortage_check(struct shortage *s, const struct hooks *hooks)
{
    size_t any = 0;

    for (size_t i = MEANS_ENOUGH + 1; i < MEANS_KINDS; i++)
        any += s->hooks[i];
    for (size_t i = 0; any > 0 && i < hooks->n; i++)
        if (hook_denied(hooks->v[i]) == 0)
            end(s, hooks->v[i]);
}

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

/* The shortage of the hook is over; logs if it was the last hook with it. */
static void end(struct shortage_log *s, const struct hook *h)
{
    enum shortage lacks = s->by_hook[h->index];

    s->by_hook[h->index] = SHORTAGE_NONE;
    if (lacks != SHORTAGE_NONE && --s->hooks[lacks] == 0)
        log_info("runs can be started again", KV_STR("short_of", shortage_name(lacks)));
}

/* Constant texts, as an operator looks for them. */
static const char *message(enum shortage shortage)
{
    static const char *const messages[SHORTAGE_KINDS] = {
        "",
        "cannot start runs: out of descriptors",
        "cannot start runs: out of processes",
        "cannot start runs: out of memory",
    };

    return messages[shortage];
}

void shortage_log_begin(struct shortage_log *s, const struct hook *h,
                        const struct run_result *result)
{
    if (s->by_hook[h->index] == result->shortage)
        return;
    /* A hook may now lack another resource than before. */
    end(s, h);
    s->by_hook[h->index] = result->shortage;
    /* Other hooks have met this shortage already: it was logged then. */
    if (s->hooks[result->shortage]++ > 0)
        return;
    log_warn(message(result->shortage), KV_STR("short_of", shortage_name(result->shortage)),
             KV_STR("hook", h->name), KV_STR("result", result->text),
             KV_STR("advice", shortage_advice(result->shortage)));
}

void shortage_log_check(struct shortage_log *s, const struct hooks *hooks)
{
    /* Called after every run: without a shortage it must cost nothing. */
    size_t any = 0;

    for (size_t i = SHORTAGE_NONE + 1; i < SHORTAGE_KINDS; i++)
        any += s->hooks[i];
    for (size_t i = 0; any > 0 && i < hooks->n; i++)
        if (hook_not_started(hooks->v[i]) == 0)
            end(s, hooks->v[i]);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hook/hook.h"

static void clear(struct history_run *r)
{
    free(r->source);
    free(r->key);
    free(r->text);
    free(r->file);
    free(r->hooks);
    buf_free(&r->out);
    buf_free(&r->err);
    *r = (struct history_run){0};
}

const char *history_outcome_name(enum history_outcome outcome)
{
    static const char *const names[] = {"ok", "failed", "parked"};

    return names[outcome];
}

/* Names, as a hook may be gone when people look. A name has no space. */
static char *names_of_hooks(const struct run *run)
{
    struct buf names = {0};
    char *text;

    if (run->other_count == 0)
        return NULL;
    buf_puts(&names, run->hook->name);
    for (size_t i = 0; i < run->other_count; i++)
        buf_printf(&names, " %s", run->others[i].hook->name);
    text = mem_strdup(buf_cstr(&names));
    buf_free(&names);
    return text;
}

void history_add(struct history *h, const struct run *run, const struct run_result *result,
                 enum history_outcome outcome, uint64_t now_ms)
{
    struct history_run *r = &h->v[h->next];
    const struct run_event *first = run_keyed(run);
    bool keyed = first != NULL;

    clear(r);
    *r = (struct history_run){
        .id = run->id,
        .kind = run->kind,
        .keyed = keyed,
        .source = mem_strdup(keyed ? run->hook->sources[first->delivery->source].name : ""),
        .key = mem_strdup(keyed ? first->delivery->key : ""),
        .type = keyed ? first->ev.type : DELTA_MODIFIED,
        .event_count = run->event_count,
        .reason = run->reason,
        .attempt = run->attempt,
        .outcome = outcome,
        .end = result->end,
        .text = mem_strdup(result->text),
        .file = mem_strdup(run->file),
        .hooks = names_of_hooks(run),
        .ended_ns = result->wall_ns,
        .took_ms = now_ms - run->started_ms,
        .dropped = result->dropped,
    };
    buf_append_str(&r->out, result->out);
    buf_append_str(&r->err, result->err);
    h->next = (h->next + 1) % HISTORY_RUNS;
    h->n += h->n < HISTORY_RUNS;
}

const struct history_run *history_get(const struct history *h, size_t i)
{
    return &h->v[(h->next + HISTORY_RUNS - 1 - i) % HISTORY_RUNS];
}

const struct history_run *history_of_key(const struct history *h, const char *source,
                                         const char *key)
{
    for (size_t i = 0; i < h->n; i++) {
        const struct history_run *r = history_get(h, i);

        /* Runs of apply have an empty key, too, in every mode. */
        if (r->kind != RUN_APPLY && strcmp(r->key, key) == 0 && strcmp(r->source, source) == 0)
            return r;
    }
    return NULL;
}

const struct history_run *history_of_apply(const struct history *h)
{
    for (size_t i = 0; i < h->n; i++)
        if (history_get(h, i)->kind == RUN_APPLY)
            return history_get(h, i);
    return NULL;
}

void history_fini(struct history *h)
{
    for (size_t i = 0; i < HISTORY_RUNS; i++)
        clear(&h->v[i]);
    *h = (struct history){0};
}

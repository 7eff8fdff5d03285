/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/health.h"

#include <string.h>

#include "admin/admin.h"
#include "cache/watch.h"
#include "hook/hook.h"
#include "proto/json_out.h"

/* NULL = nothing is wrong. */
static const char *trouble(const struct watch_status *s)
{
    if (strcmp(s->state, "forbidden") == 0)
        return "forbidden";
    if (s->stale)
        return "stale";
    return !s->synced && s->err->kind != ERR_OK ? "not synced" : NULL;
}

static void put_reason(struct json_out *j, const struct watch *w, const struct watch_status *s)
{
    struct buf text = {0};

    buf_printf(&text, "watch %s: %s", watch_name(w), trouble(s));
    if (s->err->kind != ERR_OK)
        buf_printf(&text, ": %s", s->err->text);
    json_out_str(j, buf_str(&text));
    buf_free(&text);
}

void health_put_degraded(struct json_out *j, const struct admin_model *m, uint64_t now_ms)
{
    json_out_open(j, '[');
    for (size_t i = 0; i < m->watch_count; i++) {
        struct watch_status s = watch_status(m->watches[i], now_ms);

        if (trouble(&s) != NULL)
            put_reason(j, m->watches[i], &s);
    }
    json_out_close(j, ']');
}

static void put_hook(struct buf *out, const struct hook *h)
{
    buf_printf(out, "hook %s: ", h->name);
    if (h->gate != GATE_CLOSED) {
        buf_puts(out, "its first run has not ended\n");
        return;
    }
    buf_puts(out, "waits for its first run until these watches are synced:");
    for (size_t i = 0; i < h->source_count; i++)
        if (!watch_synced(h->sources[i]))
            buf_printf(out, " %s", watch_name(h->sources[i]));
    buf_putc(out, '\n');
}

void health_put_not_ready(struct buf *out, const struct admin_model *m)
{
    buf_puts(out, "not ready\n");
    for (size_t i = 0; i < m->hooks->n; i++)
        if (m->hooks->v[i]->gate != GATE_OPEN)
            put_hook(out, m->hooks->v[i]);
}

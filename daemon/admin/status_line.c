/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/status_line.h"

#include <stddef.h>

#include "admin/admin.h"
#include "admin/doctor.h"
#include "admin/faults.h"
#include "admin/hide.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "cache/watch.h"
#include "hook/hook.h"

/* The faults of the daemon: the sentence of the first one, and how many there are. */
struct wrongs {
    struct buf first;
    size_t count;
};

static void add(void *arg, const struct finding *f)
{
    struct wrongs *w = arg;

    if (w->count++ == 0)
        doctor_put_fault(&w->first, f);
}

bool status_line_no_contact(enum err_kind kind)
{
    return kind == ERR_IO || kind == ERR_REFUSED || kind == ERR_TIMEOUT || kind == ERR_CLOSED ||
           kind == ERR_TLS;
}

/* A watch whose last request failed. That is no fault yet (admin/faults), but whoever looks at the
 * service now wants to know it. */
static void add_failing(struct wrongs *w, const struct admin_model *m, uint64_t now_ms)
{
    for (size_t i = 0; i < m->watch_count; i++) {
        struct watch_status s = watch_status(m->watches[i].watch, now_ms);

        if (s.err->kind == ERR_OK)
            continue;
        if (w->count++ > 0)
            continue;
        buf_printf(&w->first,
                   "%s: watch %s: ", status_line_no_contact(s.err->kind) ? "no contact" : "failing",
                   m->watches[i].name);
        hide_put_watch_error(&w->first, m, &s);
    }
}

static size_t count_synced(const struct admin_model *m, uint64_t now_ms)
{
    size_t n = 0;

    for (size_t i = 0; i < m->watch_count; i++)
        n += watch_status(m->watches[i].watch, now_ms).synced;
    return n;
}

static void put_progress(const struct admin_model *m, uint64_t now_ms, struct buf *out)
{
    size_t begun = 0;

    for (size_t i = 0; i < m->hooks->n; i++)
        begun += hook_first_ended(m->hooks->v[i]);
    buf_printf(out, "%s%zu of %zu watches synced, ",
               m->ready ? "" : "starting: ", count_synced(m, now_ms), m->watch_count);
    if (m->ready)
        buf_printf(out, "%zu hook%s", m->hooks->n, m->hooks->n == 1 ? "" : "s");
    else
        buf_printf(out, "first runs of %zu of %zu hooks done", begun, m->hooks->n);
}

void status_line_put(const struct admin_model *m, uint64_t now_ms, struct buf *out)
{
    struct wrongs w = {0};
    struct buf line = {0};
    struct buf shown = {0};

    if (m->reload.is_running)
        buf_puts(&line, "reloading; ");
    faults_each(m, now_ms, add, &w);
    if (w.count == 0)
        add_failing(&w, m, now_ms);
    if (w.count == 0)
        put_progress(m, now_ms, &line);
    else if (w.count == 1)
        buf_append_str(&line, buf_str(&w.first));
    else
        buf_printf(&line, "%zu problems (informerctl status): %.*s", w.count,
                   STR_ARG(buf_str(&w.first)));
    /* A path may have any byte; a line break would begin another message to systemd. */
    visible_put(&shown, buf_str(&line));
    buf_append_str(out, utf8_cut(buf_str(&shown), STATUS_LINE_MAX));
    buf_free(&shown);
    buf_free(&w.first);
    buf_free(&line);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/health.h"

#include <inttypes.h>

#include "admin/admin.h"
#include "admin/restore_status.h"
#include "base/utf8.h"
#include "cache/watch.h"
#include "hook/why.h"
#include "proto/json_out.h"

/* What is wrong with the watch, the worst fault first; NULL = all is well. A watch that was synced
 * and has an error is between two tries, which is no fault until it is stale. */
static const char *trouble(const struct watch *w, const struct watch_status *s)
{
    if (s->state == WATCH_FORBIDDEN)
        return "forbidden";
    /* Before `stale`, as a watch that started stale is stale, too, and this says more. */
    if (restore_status_is_used((struct source){.watch = w}))
        return "started stale";
    if (s->stale)
        return "stale";
    if (s->synced || s->err->kind == ERR_OK)
        return NULL;
    return s->state == WATCH_WAITING ? "waiting" : "not synced";
}

static void put_trouble(struct json_out *j, const struct admin_watch *w,
                        const struct watch_status *s)
{
    const char *what = trouble(w->watch, s);
    struct buf text = {0};

    if (what == NULL)
        return;
    buf_printf(&text, "watch %s: %s", w->name, what);
    if (s->err->kind != ERR_OK)
        buf_printf(&text, ": %s", s->err->text);
    json_out_str(j, buf_str(&text));
    buf_free(&text);
}

/* The sentence names the command, as only a person can decide about a held list
 * (docs/design.md "Guard"). */
static void put_held(struct json_out *j, const struct admin_watch *w, const struct watch_status *s)
{
    struct buf text = {0};

    if (s->held == GUARD_NOTHING)
        return;
    if (s->held == GUARD_IDENTITY) {
        buf_printf(&text,
                   "watch %s: held, because another cluster answers: informerctl guard accept %s "
                   "accepts it",
                   w->name, w->name);
        json_out_str(j, buf_str(&text));
        buf_free(&text);
        return;
    }
    buf_printf(&text, "watch %s: a list ", w->name);
    if (s->held == GUARD_BACKWARDS)
        buf_puts(&text, "whose version went backwards");
    else
        buf_printf(&text, "that would delete %zu of %zu objects", s->held_deletes,
                   store_count(watch_store(w->watch)));
    buf_printf(&text, " is held: informerctl guard accept|reject %s", w->name);
    json_out_str(j, buf_str(&text));
    buf_free(&text);
}

/* How many skipped objects the sentence of a watch names, and how many bytes of a name; the status
 * lists more (REPORT_SKIPS). */
enum { NAMED = 20, NAME_BYTES = 320 };

struct naming {
    struct buf *out;
    size_t named;
    uint64_t left; /* objects that are not named */
};

/* A skip without a name stands for all items of one cause whose names cannot be read. */
static void name_skipped(void *arg, const struct skip *s)
{
    struct naming *n = arg;

    if (n->named == NAMED) {
        n->left += s->times;
        return;
    }
    buf_puts(n->out, n->named++ == 0 ? ": " : ", ");
    if (s->name.n > 0)
        buf_append_str(n->out, utf8_cut(s->name, NAME_BYTES));
    else
        buf_printf(n->out, "%" PRIu64 " of which the name cannot be read", s->times);
    buf_printf(n->out, " (%.*s)", STR_ARG(s->why));
}

/* Objects that cannot be used: of these the cache is not what the server has
 * (docs/design.md "Skipped objects"). */
static void put_skipped(struct json_out *j, const struct admin_watch *w)
{
    const struct skips *skips = store_skips(watch_store(w->watch));
    uint64_t count = skips_count(skips);
    struct buf text = {0};
    struct naming n = {.out = &text};

    if (count == 0)
        return;
    buf_printf(&text, "watch %s: %" PRIu64 " object%s skipped, with the old state if there is one",
               w->name, count, count == 1 ? " is" : "s are");
    skips_each(skips, name_skipped, &n);
    if (n.left > 0)
        buf_printf(&text, ", and %" PRIu64 " more", n.left);
    json_out_str(j, buf_str(&text));
    buf_free(&text);
}

/* A key that waits too long, for whatever reason: a run that hangs, a hook that is paused, a hook
 * that fails again and again. Or a file that waits for apply: oldest_ms is the larger one of the
 * two ages. */
static void put_pending(struct json_out *j, const struct admin_model *m, const struct hook *h,
                        uint64_t now_ms)
{
    uint64_t oldest_ms = hook_oldest_pending_ms(h, now_ms);
    struct buf text = {0};

    if (m->pending_ms == 0 || oldest_ms <= m->pending_ms)
        return;
    buf_printf(&text,
               "hook %s: %s for longer than limits.pending: %" PRIu64
               " s, informerctl why %s tells why",
               h->name,
               apply_age_ms(&h->apply, now_ms) == oldest_ms ? "a written file is not applied"
                                                            : "a key is pending",
               oldest_ms / 1000, h->name);
    json_out_str(j, buf_str(&text));
    buf_free(&text);
}

/* Faults of the state: it cannot be written, or a cluster is not the one that it was. */
static void put_persist(struct json_out *j, const struct admin_model *m)
{
    struct buf text = {0};

    if (m->state.trouble != NULL) {
        buf_printf(&text, "state not writable: %s", m->state.trouble);
        json_out_str(j, buf_str(&text));
    }
    buf_free(&text);
    for (size_t i = 0; i < m->cluster_count; i++)
        if (m->clusters[i].trouble != NULL)
            json_out_cstr(j, m->clusters[i].trouble);
}

/* The state comes first: it concerns every watch and hook. */
void health_put_degraded(struct json_out *j, const struct admin_model *m, uint64_t now_ms)
{
    json_out_open(j, '[');
    put_persist(j, m);
    for (size_t i = 0; i < m->watch_count; i++) {
        struct watch_status s = watch_status(m->watches[i].watch, now_ms);

        put_held(j, &m->watches[i], &s);
        put_trouble(j, &m->watches[i], &s);
        put_skipped(j, &m->watches[i]);
    }
    for (size_t i = 0; i < m->hooks->n; i++)
        put_pending(j, m, m->hooks->v[i], now_ms);
    json_out_close(j, ']');
}

/* Names the sources that the first run waits for. */
static void put_unsynced(struct buf *out, const struct hook *h)
{
    buf_puts(out, "these sources are synced:");
    for (size_t i = 0; i < h->source_count; i++)
        if (!source_synced(h->sources[i].of))
            buf_printf(out, " %s", h->sources[i].name);
    buf_putc(out, '\n');
}

/* One line of /readyz: why the first runs of the hook have not ended. With an output file its apply
 * belongs to them. */
static void put_hook(struct buf *out, const struct admin_model *m, const struct hook *h,
                     uint64_t now_ms)
{
    bool applies = h->gate == GATE_APPLY;
    struct why w = applies ? why_apply(m->hooks, h, now_ms) : why_hook(m->hooks, h, now_ms);

    buf_printf(out, "hook %s: ", h->name);
    if (h->gate == GATE_CLOSED && w.reason == WHY_NOT_SYNCED) {
        buf_puts(out, "waits for its first run until ");
        put_unsynced(out, h);
        return;
    }
    buf_puts(out, applies ? "the files of its first runs are not applied"
                          : "its first run has not ended");
    if (w.reason != WHY_HANDLED && w.reason != WHY_RUNNING) {
        buf_puts(out, ": ");
        why_put_text(out, &w);
    }
    buf_putc(out, '\n');
}

void health_put_not_ready(struct buf *out, const struct admin_model *m, uint64_t now_ms)
{
    buf_puts(out, "not ready\n");
    for (size_t i = 0; i < m->hooks->n; i++)
        if (!hook_first_ended(m->hooks->v[i]))
            put_hook(out, m, m->hooks->v[i], now_ms);
}

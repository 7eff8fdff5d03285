/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/wait.h"

#include "admin/call.h"
#include "admin/report.h"
#include "admin/restore_status.h"
#include "admin/stream.h"
#include "cache/view.h"
#include "cache/watch.h"
#include "hook/hook.h"
#include "hook/why.h"
#include "proto/json_member.h"
#include "proto/json_out.h"

static const char *const names[] = {
    [WAIT_SYNCED] = "synced", [WAIT_READY] = "ready", [WAIT_IDLE] = "idle"};

/* The watches, views and hooks that a condition waits for, counted and named. */
struct look {
    const struct admin_model *m;
    uint64_t now_ms;
    struct json_out *j; /* gets a sentence for each thing that is missing; NULL = none is wanted */
    size_t missing;
};

bool wait_parse(struct str name, enum wait_for *out)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        *out = (enum wait_for)i;
        if (str_is(name, names[i]))
            return true;
    }
    return false;
}

/* Takes over the sentence. */
static void miss(struct look *l, struct buf *sentence)
{
    l->missing++;
    if (l->j != NULL)
        json_out_str(l->j, buf_str(sentence));
    buf_free(sentence);
}

/* Objects that an earlier process stored do not count, even where hooks run from them. */
static void look_at_watch(struct look *l, const struct admin_watch *named)
{
    bool past = restore_status_is((struct source){.watch = named->watch});
    struct watch_status s = watch_status(named->watch, l->now_ms);
    struct buf text = {0};

    if (s.synced && !past)
        return;
    buf_printf(&text, "watch %s: %s", named->name, watch_state_name(s.state));
    if (s.held != GUARD_NOTHING)
        buf_printf(&text,
                   ", its list is held: informerctl guard accept %s or informerctl guard reject %s",
                   named->name, named->name);
    else if (s.err->kind != ERR_OK)
        buf_printf(&text, ": %s", s.err->text);
    miss(l, &text);
}

static void look_at_sources(struct look *l)
{
    for (size_t i = 0; i < l->m->watch_count; i++)
        look_at_watch(l, &l->m->watches[i]);
    for (size_t i = 0; i < l->m->view_count; i++) {
        const struct view *v = l->m->views[i];
        struct buf text = {0};

        if (view_synced(v) && !restore_status_is((struct source){.view = l->m->views[i]}))
            continue;
        buf_printf(&text, "view %s: not synced", view_name(v));
        miss(l, &text);
    }
}

static void miss_ready(void *arg, const char *hook, const char *sentence)
{
    struct buf text = {0};

    (void)hook;
    buf_puts(&text, sentence);
    miss(arg, &text);
}

static void look_at_hook(struct look *l, const struct hook *h)
{
    size_t pending = hook_pending(h);
    unsigned running = hook_running(h);
    struct why w = why_hook(l->m->hooks, h, l->now_ms);
    struct buf text = {0};

    buf_printf(&text, "hook %s: ", h->name);
    if (pending > 0 || running > 0)
        buf_printf(&text, "%zu pending, %u running", pending, running);
    else if (w.reason == WHY_HANDLED)
        buf_puts(&text, "its first runs are due"); /* the scheduler has not looked yet */
    if (w.reason != WHY_HANDLED && w.reason != WHY_RUNNING) {
        buf_puts(&text, pending > 0 || running > 0 ? ", " : "");
        why_put_text(&text, &w);
    }
    miss(l, &text);
}

/* A hook whose program has changed says nothing of that before the comparison. */
static void look_at_programs(struct look *l)
{
    struct buf text = {0};

    if (!l->m->compares_programs)
        return;
    buf_puts(&text, "programs and files of hooks: they are compared with those from before");
    miss(l, &text);
}

static void look_at(struct look *l, enum wait_for what)
{
    if (what == WAIT_READY) {
        report_each_not_ready(l->m, l->now_ms, miss_ready, l);
        return;
    }
    look_at_sources(l);
    if (what == WAIT_IDLE)
        look_at_programs(l);
    for (size_t i = 0; what == WAIT_IDLE && i < l->m->hooks->n; i++)
        if (!hook_is_quiet(l->m->hooks, l->m->hooks->v[i]))
            look_at_hook(l, l->m->hooks->v[i]);
}

bool wait_holds(const struct admin_model *m, enum wait_for what, uint64_t now_ms)
{
    struct look l = {.m = m, .now_ms = now_ms};

    look_at(&l, what);
    return l.missing == 0;
}

/* l NULL: nothing is missing. */
static void put(struct buf *out, enum wait_for what, struct look *l)
{
    struct json_out j = json_out_to(out);
    struct buf missing = {0};
    struct json_out sentences = json_out_to(&missing);

    json_out_open(&sentences, '[');
    if (l != NULL) {
        l->j = &sentences;
        look_at(l, what);
    }
    json_out_close(&sentences, ']');
    json_out_open(&j, '{');
    json_member_text(&j, "for", names[what]);
    json_member_flag(&j, "done", l == NULL || l->missing == 0);
    json_out_key(&j, "waits_for");
    buf_append_str(json_out_raw(&j), buf_str(&missing));
    json_out_close(&j, '}');
    buf_putc(out, '\n');
    buf_free(&missing);
}

void wait_put_done(struct buf *out, enum wait_for what)
{
    put(out, what, NULL);
}

/* False: the answer is 404. */
static bool find(struct call *c, enum wait_for *what)
{
    bool found = wait_parse(c->target->part[2], what);

    if (!found)
        admin_refuse(c->out, 404, "there is nothing of this name to wait for: synced, ready, idle");
    return found;
}

void wait_answer(struct call *c)
{
    struct look l = {.m = c->m, .now_ms = c->now_ms};
    enum wait_for what;

    if (find(c, &what))
        put(&c->out->body, what, &l);
}

void wait_follow(struct call *c)
{
    enum wait_for what;

    if (!find(c, &what))
        return;
    c->out->content_type = CALL_NDJSON;
    c->out->stream = admin_streams_wait(c->m->streams, what, wait_holds(c->m, what, c->now_ms));
}

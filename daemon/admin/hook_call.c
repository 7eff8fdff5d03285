/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/hook_call.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/call.h"
#include "admin/line.h"
#include "admin/restore_status.h"
#include "base/mem.h"
#include "cache/store.h"
#include "hook/hook.h"
#include "hook/payload.h"
#include "hook/why.h"
#include "proto/json_member.h"

/* The parts of the path with the name of the hook and the key: /v1/hooks/NAME/WHAT/KEY. */
enum { AT_NAME = 2, AT_KEY = 4 };

/* /v1/runs, /v1/pause and /v1/resume name no hook: they are about all of them. */
static bool names_hook(const struct call *c)
{
    return c->target->count > AT_NAME;
}

/* The hook of the path; NULL: there is none, and the answer is 404. */
static struct hook *find_hook(struct call *c)
{
    struct hook *h = hooks_find(c->m->hooks, c->target->part[AT_NAME]);

    if (h == NULL)
        admin_refuse(c->out, 404, "there is no hook of this name: informerctl hooks lists them");
    return h;
}

/* The key of the path; p is NULL if the path has none. */
static struct str key_of(const struct call *c)
{
    return c->target->count > AT_KEY ? c->target->part[AT_KEY] : (struct str){0};
}

static void refuse_key(struct call *c)
{
    admin_refuse(c->out, 404,
                 "the hook has nothing under this key: write NAMESPACE/NAME, or NAME for "
                 "cluster-scoped objects");
}

/* Sources have keys of their own: two watches may both have an object default/a. */
static size_t sources_with(const struct hook *h, struct str key)
{
    size_t n = 0;

    for (size_t i = 0; i < h->source_count; i++)
        n += delivery_queue_find(&h->queue, i, key) != NULL;
    return n;
}

/* ---- The last runs */

/* How much of a run an answer shows. */
enum runs_detail {
    RUNS_BRIEF,  /* without the output of the run */
    RUNS_SECRET, /* the output is null: the hook gets Secrets, and the reader may not see them */
    RUNS_FULL,   /* with the end of stdout and stderr */
};

#define US_PER_S 1000000U

static bool is_blank(char c)
{
    return c == '\n' || c == '\r' || c == ' ' || c == '\t' || c == '\0';
}

/* The last line that is not blank; empty if there is none. */
static struct str last_line(const struct buf *text)
{
    size_t end = text->len;
    size_t start;

    while (end > 0 && is_blank(text->data[end - 1]))
        end--;
    for (start = end; start > 0 && text->data[start - 1] != '\n'; start--)
        continue;
    return str_of(text->data + start, end - start);
}

/* The line that most likely tells why a run failed: the last one on stderr, where errors go, or
 * else the last one on stdout. */
static void put_last_line(struct json_out *j, const struct history_run *r)
{
    struct str line = last_line(&r->err);

    if (line.n == 0)
        line = last_line(&r->out);
    if (line.n > 0)
        json_member_raw(j, "last_line", line);
    else
        json_member_text(j, "last_line", NULL);
}

/* The hooks that share a run of apply, or null. Their names stand with a space between. */
static void put_hooks(struct json_out *j, const char *names)
{
    json_out_key(j, "hooks");
    if (names == NULL) {
        json_out_null(j);
        return;
    }
    json_out_open(j, '[');
    while (*names != '\0') {
        size_t n = strcspn(names, " ");

        json_out_str(j, str_of(names, n));
        names += n + (names[n] != '\0');
    }
    json_out_close(j, ']');
}

/* Writes an object: run, hook, program, ended, took_s, source, key, event, events, reason, attempt,
 * outcome, result, hooks, file, became, cpu_s, memory_peak_bytes,
 * dropped_bytes, and, unless detail is RUNS_BRIEF, last_line,
 * stdout, stderr. */
static void put_run(struct json_out *j, const struct admin_model *m, const struct hook *h,
                    const struct history_run *r, enum runs_detail detail)
{
    struct buf id = {0};

    json_out_open(j, '{');
    /* The id as the run has it in INFORMERD_RUN: with the instance, so that it is unique over
     * restarts. */
    payload_put_run_id(&id, m->context, r->id);
    json_member_str(j, "run", buf_str(&id));
    buf_free(&id);
    json_member_text(j, "hook", h->name);
    json_member_text(j, "program", run_kind_name(r->kind));
    json_member_time(j, "ended", r->ended_ns);
    json_member_seconds(j, "took_s", true, r->took_ms);
    json_member_str(j, "source", str_c(r->source));
    json_member_str(j, "key", str_c(r->key));
    json_member_text(j, "event", r->keyed ? delta_type_name(r->type) : NULL);
    json_member_count(j, "events", r->event_count);
    json_member_text(j, "reason", run_reason_name(r->reason));
    json_member_count(j, "attempt", r->attempt);
    json_member_text(j, "outcome", history_outcome_name(r->outcome));
    json_member_raw(j, "result", str_c(r->text));
    put_hooks(j, r->hooks);
    json_member_text(j, "file", r->file);
    json_member_text(j, "became", run_end_file(&r->end));
    /* Written as a decimal number with all microseconds: runs often use less than a millisecond. */
    json_out_key(j, "cpu_s");
    buf_printf(json_out_raw(j), "%" PRIu64 ".%06" PRIu64, r->end.cpu_us / US_PER_S,
               r->end.cpu_us % US_PER_S);
    json_out_key(j, "memory_peak_bytes");
    if (r->end.memory_peak > 0)
        json_out_u64(j, r->end.memory_peak);
    else
        json_out_null(j);
    json_member_count(j, "dropped_bytes", r->dropped);
    if (detail == RUNS_FULL) {
        put_last_line(j, r);
        json_member_raw(j, "stdout", buf_str(&r->out));
        json_member_raw(j, "stderr", buf_str(&r->err));
    } else if (detail == RUNS_SECRET) {
        json_member_text(j, "last_line", NULL);
        json_member_text(j, "stdout", NULL);
        json_member_text(j, "stderr", NULL);
    }
    json_out_close(j, '}');
}

/* One run in the common list of all hooks. */
struct row {
    const struct hook *hook;
    const struct history_run *run;
};

/* Sorts runs by the time of their end, and runs with the same time by number. */
static int compare(const void *a, const void *b)
{
    const struct history_run *x = ((const struct row *)a)->run;
    const struct history_run *y = ((const struct row *)b)->run;

    if (x->ended_ns != y->ended_ns)
        return x->ended_ns < y->ended_ns ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

void hook_call_runs(struct call *c)
{
    const struct hook *only = names_hook(c) ? find_hook(c) : NULL;
    size_t n = 0;

    if (names_hook(c) && only == NULL)
        return;
    struct row *rows = mem_array(c->m->hooks->n * HISTORY_RUNS + 1, sizeof(*rows));
    for (size_t i = 0; i < c->m->hooks->n; i++) {
        const struct hook *h = c->m->hooks->v[i];

        for (size_t k = 0; (only == NULL || h == only) && k < h->history.n; k++)
            rows[n++] = (struct row){h, history_get(&h->history, k)};
    }
    qsort(rows, n, sizeof(*rows), compare);
    struct json_out j = json_out_to(&c->out->body);
    json_out_open(&j, '[');
    for (size_t i = 0; i < n; i++) {
        bool hidden = !c->req->privileged && call_gets_secrets(rows[i].hook);

        put_run(&j, c->m, rows[i].hook, rows[i].run, hidden ? RUNS_SECRET : RUNS_FULL);
    }
    json_out_close(&j, ']');
    call_end(c);
    free(rows);
}

/* ---- Reasons to wait */

static void put_event(struct json_out *j, const struct delivery_event *ev)
{
    json_out_key(j, "event");
    if (ev == NULL) {
        json_out_null(j);
        return;
    }
    json_out_open(j, '{');
    json_member_text(j, "type", delta_type_name(ev->type));
    json_member_text(j, "cause", delta_cause_name(ev->cause));
    json_member_time(j, "received", ev->received_ns);
    json_out_close(j, '}');
}

/* The digest of the object that the cache holds under the key, or, as long as the cache has none,
 * of the state that an earlier process handled. False: no digest is known. STALE carries an object
 * without a body, and so do objects of which only the digest was stored. With changes_in the
 * handled digest is of those paths only, and not of the object. */
static bool digest_of_delivery(const struct hook *h, const struct delivery *dl, struct digest *out)
{
    const struct object *o = dl->newest.object;

    if (o != NULL && (dl->newest.type == DELTA_STALE || object_parts_of(o).body.n == 0))
        return false;
    if (o != NULL)
        *out = object_digest(o);
    else if (dl->inherited && dl->handled.trace != NULL && h->filter.path_count == 0)
        *out = known_digest(&dl->handled);
    else
        return false;
    return true;
}

/* The digest of a Secret would let a reader confirm a guess of its contents: privileged peers
 * only. */
static void put_digest(struct json_out *j, const struct call *c, const struct hook *h,
                       const struct delivery *dl)
{
    char text[33];
    struct digest d;

    if (dl == NULL || (!c->req->privileged && call_gets_secrets(h)) ||
        !digest_of_delivery(h, dl, &d)) {
        json_member_text(j, "digest", NULL);
        return;
    }
    snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, d.hi, d.lo);
    json_member_text(j, "digest", text);
}

/* One unit of the answer. dl is NULL for the hook as a whole and for apply. */
static void put_work_item(struct json_out *j, const struct call *c, const struct hook *h,
                          const struct delivery *dl, const struct why *w)
{
    struct buf text = {0};
    bool is_apply = w->is_apply;

    if (is_apply)
        buf_puts(&text, "apply: ");
    why_put_text(&text, w);
    json_out_open(j, '{');
    json_member_text(j, "program", is_apply ? "apply" : "command");
    json_member_text(j, "source", dl != NULL ? h->sources[dl->source].name : NULL);
    json_member_str(j, "key", str_c(dl != NULL ? dl->key : NULL));
    json_member_text(j, "reason", why_reason_name(w->reason));
    json_member_text(j, "of", w->of);
    json_member_str(j, "text", buf_str(&text));
    json_member_text(j, "before_restart", why_before_name(w->before_restart));
    /* Moments on the monotonic clock mean nothing to a reader: they are written as wall clock times. */
    json_member_time(j, "until", w->until_ms > 0 ? restore_status_wall_ns(c->m, w->until_ms) : 0);
    json_member_count(j, "failures", w->failures);
    put_event(j, w->event);
    put_digest(j, c, h, dl);
    json_out_key(j, "last_run");
    if (w->last_run != NULL)
        put_run(j, c->m, h, w->last_run, RUNS_BRIEF);
    else
        json_out_null(j);
    buf_clear(&text);
    why_put_advice(&text, w, h);
    json_member_str(j, "advice", buf_str(&text));
    json_out_close(j, '}');
    buf_free(&text);
}

/* Appends a unit for each pending key, up to HOOK_CALL_KEYS: a hook may have 100 000 of them. Returns
 * how many keys are left out. */
static size_t put_pending(struct json_out *j, const struct call *c, const struct hook *h)
{
    size_t n = 0;

    list_each (pos, tmp, &h->queue.pending) {
        const struct delivery *dl = list_entry(pos, struct delivery, pending);
        struct why w = why_delivery(c->m->hooks, h, dl, c->now_ms);

        if (n++ == HOOK_CALL_KEYS)
            break;
        put_work_item(j, c, h, dl, &w);
    }
    return n > HOOK_CALL_KEYS ? h->queue.pending_count - HOOK_CALL_KEYS : 0;
}

/* A unit for the hook as a whole, then one for apply, then the pending keys. Returns how many of the
 * keys are left out. */
static size_t put_units_of_hook(struct json_out *j, const struct call *c, const struct hook *h)
{
    struct why w = why_hook(c->m->hooks, h, c->now_ms);
    bool keyed = h->rules.mode == HOOK_OBJECT;

    /* In mode object each key has a unit of its own: "the hook is handled" above a list of pending keys
     * would look like a contradiction. */
    if (!keyed || w.reason != WHY_HANDLED || h->queue.pending_count == 0)
        put_work_item(j, c, h, NULL, &w);
    if (h->apply.wanted) {
        struct why apply = why_apply(c->m->hooks, h, c->now_ms);

        put_work_item(j, c, h, NULL, &apply);
    }
    return keyed ? put_pending(j, c, h) : 0;
}

static void put_units_of_key(struct json_out *j, const struct call *c, const struct hook *h,
                             struct str key)
{
    for (size_t i = 0; i < h->source_count; i++) {
        const struct delivery *dl = delivery_queue_find(&h->queue, i, key);

        if (dl == NULL)
            continue;
        struct why w = why_delivery(c->m->hooks, h, dl, c->now_ms);

        put_work_item(j, c, h, dl, &w);
    }
}

void hook_call_why(struct call *c)
{
    const struct hook *h = find_hook(c);
    struct str key = key_of(c);
    size_t left_out = 0;

    if (h == NULL)
        return;
    if (key.p != NULL && sources_with(h, key) == 0) {
        refuse_key(c);
        return;
    }
    struct json_out j = json_out_to(&c->out->body);
    json_out_open(&j, '{');
    json_member_text(&j, "hook", h->name);
    json_out_key(&j, "units");
    json_out_open(&j, '[');
    if (key.p == NULL)
        left_out = put_units_of_hook(&j, c, h);
    else
        put_units_of_key(&j, c, h, key);
    json_out_close(&j, ']');
    json_member_count(&j, "left_out", left_out);
    json_out_close(&j, '}');
    call_end(c);
}

/* ---- The input of a run */

/* Whether the answer has a bounded size; if not, it is 503. Mode object shows one key, the other
 * modes may show all objects. */
static bool fits(struct call *c, const struct hook *h)
{
    size_t bytes = 0;

    for (size_t i = 0; i < h->source_count; i++)
        bytes += store_bytes(source_store(h->sources[i].of));
    if (h->rules.mode == HOOK_OBJECT || bytes <= ADMIN_OBJECTS_BYTES)
        return true;
    admin_refuse(c->out, 503, "the objects are too many for one answer");
    return false;
}

/* Appends the input document that a run would get: of dl in mode object, else dl is NULL. A run
 * that nothing calls for could only be a manual one, so its reason is MANUAL. No program runs to
 * remove a file, or with files_from, so nothing is appended then. */
static void put_input(struct call *c, struct hook *h, struct delivery *dl)
{
    struct run *run = run_preview(h, dl, c->now_ms);

    if (run == NULL)
        return;
    if (run->reason == RUN_RERUN)
        run->reason = RUN_MANUAL;
    if (run->kind != RUN_REMOVE && run->kind != RUN_WRITE)
        payload_put_json(&c->out->body, c->m->context, run, c->now_ms, NULL);
    run_free(run);
}

/* One document for each source that has the key. Several documents are put on one line each; a
 * single one stays as a run would get it. */
static void put_key(struct call *c, struct hook *h, struct str key)
{
    struct buf *out = &c->out->body;
    bool lines = sources_with(h, key) > 1;

    if (lines)
        c->out->content_type = CALL_NDJSON;
    for (size_t i = 0; i < h->source_count; i++) {
        struct delivery *dl = delivery_queue_find(&h->queue, i, key);
        size_t start = out->len;

        if (dl != NULL)
            put_input(c, h, dl);
        /* put_input() ends the document with a newline, which stays. */
        if (lines && out->len > start)
            line_flatten(out->data + start, out->len - start - 1);
    }
}

/* Mode object without a key in the path: the document of the longest waiting key that has one. A
 * key whose file is to be removed has none. */
static void put_oldest(struct call *c, struct hook *h)
{
    list_each (pos, tmp, &h->queue.pending) {
        put_input(c, h, list_entry(pos, struct delivery, pending));
        if (c->out->body.len > 0)
            break;
    }
}

/* Nothing was appended: says why, as far as the hook's settings and the key tell. */
static void refuse_input(struct call *c, struct hook *h, struct str key)
{
    if (h->files.from_members)
        admin_refuse(c->out, 404, "the hook has files_from: no program runs, so there is no input");
    else if (key.p != NULL && sources_with(h, key) > 0 && h->files.template != NULL)
        admin_refuse(c->out, 404,
                     "the object is gone and only its file is to be removed: no program runs, so "
                     "there is no input");
    else if (key.p != NULL)
        refuse_key(c);
    else if (h->rules.mode == HOOK_OBJECT)
        admin_refuse(c->out, 404, "no key of the hook is due: name one");
    else
        admin_refuse(c->out, 404, "nothing is due for the hook, so there is no input");
}

/* Whether a run could get any input now; if not, *out is an error. While the gate of the hook is
 * closed, sources may not be synced, and a document would be incomplete. */
static bool may_tell(struct call *c, const struct hook *h, struct str key)
{
    if (key.p != NULL && h->rules.mode != HOOK_OBJECT)
        admin_refuse(c->out, 400, "the hook runs for all keys at once: leave the key out");
    else if (h->gate == GATE_CLOSED)
        admin_refuse(c->out, 409,
                     "the hook waits for its first run: informerctl why shows the reason");
    else
        return call_may_see(c, call_gets_secrets(h)) && fits(c, h);
    return false;
}

void hook_call_input(struct call *c)
{
    struct hook *h = find_hook(c);
    struct str key = key_of(c);

    if (h == NULL || !may_tell(c, h, key))
        return;
    if (h->rules.mode != HOOK_OBJECT)
        put_input(c, h, NULL);
    else if (key.p != NULL)
        put_key(c, h, key);
    else
        put_oldest(c, h);
    if (c->out->body.len == 0)
        refuse_input(c, h, key);
}

/* ---- Manual runs */

/* whole: with the members that only GET shows. */
static void put_order(struct call *c, const struct manual_run *order, bool whole)
{
    struct json_out j = json_out_to(&c->out->body);

    json_out_open(&j, '{');
    json_member_count(&j, "order", order->number);
    json_member_count(&j, "units", order->total);
    if (whole) {
        json_member_count(&j, "left", order->left);
        json_member_count(&j, "failed", order->failed);
    }
    json_out_close(&j, '}');
    call_end(c);
}

void hook_call_run(struct call *c)
{
    struct hook *h = find_hook(c);
    struct err err = {0};

    if (h == NULL)
        return;
    if (hook_run_manually(h, key_of(c), &err) != ERR_OK) {
        int status = err.kind == ERR_BUSY ? 409 : err.kind == ERR_NOT_FOUND ? 404 : 400;

        admin_refuse(c->out, status, err.text);
        return;
    }
    /* The answer does not wait for the run: informerctl asks for its end with the number. */
    c->m->actions->kick(c->m->arg);
    c->out->status = 202;
    put_order(c, manual_runs_find(&h->manual_runs, h->manual_runs.last), false);
}

/* The number that the text is; 0, which no manual run has: it is no number, or too large. */
static uint64_t number_of(struct str text)
{
    uint64_t n;

    return str_take_u64(&text, &n) && text.n == 0 ? n : 0;
}

void hook_call_order(struct call *c)
{
    const struct hook *h = find_hook(c);
    const struct manual_run *order =
        h != NULL ? manual_runs_find(&h->manual_runs, number_of(c->target->part[AT_KEY])) : NULL;

    if (order != NULL)
        put_order(c, order, true);
    else if (h != NULL)
        admin_refuse(c->out, 404,
                     "this manual run is not remembered any more: many came after it, a reload has "
                     "changed the hook, or informerd was restarted");
}

/* A hook that is paused already is left alone, so that `changed` counts only the hooks that this request
 * has paused. */
static void pause_one(struct call *c, struct json_out *j, struct hook *h, bool paused)
{
    bool changed = h->paused != paused;

    if (changed)
        c->m->actions->pause(c->m->arg, h, paused);
    json_out_key(j, h->name);
    json_out_open(j, '{');
    json_member_flag(j, "paused", h->paused);
    json_member_flag(j, "changed", changed);
    json_member_count(j, "running", hook_running(h));
    json_out_close(j, '}');
}

void hook_call_pause(struct call *c)
{
    bool paused = str_is(c->target->part[c->target->count - 1], "pause");
    struct hook *only = names_hook(c) ? find_hook(c) : NULL;

    if (names_hook(c) && only == NULL)
        return;
    struct json_out j = json_out_to(&c->out->body);
    json_out_open(&j, '{');
    json_out_key(&j, "hooks");
    json_out_open(&j, '{');
    for (size_t i = 0; i < c->m->hooks->n; i++)
        if (only == NULL || c->m->hooks->v[i] == only)
            pause_one(c, &j, c->m->hooks->v[i], paused);
    json_out_close(&j, '}');
    json_member_flag(&j, "kept", c->m->state.kept && c->m->state.trouble == NULL);
    json_out_close(&j, '}');
    call_end(c);
}

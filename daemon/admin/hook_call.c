/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/hook_call.h"

#include "admin/call.h"
#include "admin/explain.h"
#include "admin/line.h"
#include "admin/runs.h"
#include "cache/store.h"
#include "hook/hook.h"
#include "hook/payload.h"
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

void hook_call_runs(struct call *c)
{
    const struct hook *h = names_hook(c) ? find_hook(c) : NULL;

    if (names_hook(c) && h == NULL)
        return;
    runs_put_all(&c->out->body, c->m, h, c->req->privileged);
    call_end(c);
}

static void refuse_key(struct call *c)
{
    admin_refuse(c->out, 404,
                 "the hook has nothing under this key: write NAMESPACE/NAME, or NAME for "
                 "cluster-scoped objects");
}

void hook_call_why(struct call *c)
{
    const struct hook *h = find_hook(c);
    struct str key = key_of(c);

    if (h == NULL)
        return;
    if (key.p == NULL) {
        explain_put_hook(c, h);
    } else if (!explain_put_key(c, h, key)) {
        refuse_key(c);
        return;
    }
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
 * remove a file, so nothing is appended then. */
static void put_input(struct call *c, struct hook *h, struct delivery *dl)
{
    struct run *run = run_preview(h, dl, c->now_ms);

    if (run == NULL)
        return;
    if (run->reason == RUN_RERUN)
        run->reason = RUN_MANUAL;
    if (run->kind != RUN_REMOVE)
        payload_put_json(&c->out->body, c->m->context, run, c->now_ms);
    run_free(run);
}

/* Sources have keys of their own: two watches may both have an object default/a. */
static size_t sources_with(const struct hook *h, struct str key)
{
    size_t n = 0;

    for (size_t i = 0; i < h->source_count; i++)
        n += delivery_queue_find(&h->queue, i, key) != NULL;
    return n;
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
    if (key.p != NULL && sources_with(h, key) > 0 && h->files.template != NULL)
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

/* The HTTP status for an error of hook_run_manually(). */
static int status_of(enum err_kind kind)
{
    if (kind == ERR_BUSY)
        return 409;
    return kind == ERR_NOT_FOUND ? 404 : 400;
}

void hook_call_run(struct call *c)
{
    struct hook *h = find_hook(c);
    struct err err = {0};

    if (h == NULL)
        return;
    if (hook_run_manually(h, key_of(c), &err) != ERR_OK) {
        admin_refuse(c->out, status_of(err.kind), err.text);
        return;
    }
    /* The answer does not wait for the run: informerctl asks for its end with the number. */
    c->m->actions->kick(c->m->arg);
    c->out->status = 202;
    put_order(c, manual_runs_find(&h->manual_runs, h->manual_runs.last), false);
}

/* The number that the text is; 0 = it is no number, or too large. 0 is never the number of a manual
 * run. */
static uint64_t number_of(struct str text)
{
    uint64_t n = 0;

    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9' || n > UINT32_MAX)
            return 0;
        n = n * 10 + (uint64_t)(text.p[i] - '0');
    }
    return n;
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
                     "this manual run is not remembered any more: many came after it, or informerd "
                     "was restarted");
}

/* A hook that is paused already is left alone, so that `changed` says what this request did. */
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

static void pause(struct call *c, bool paused)
{
    struct hook *only = names_hook(c) ? find_hook(c) : NULL;
    struct json_out j = json_out_to(&c->out->body);

    if (names_hook(c) && only == NULL)
        return;
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

void hook_call_pause(struct call *c)
{
    pause(c, true);
}

void hook_call_resume(struct call *c)
{
    pause(c, false);
}

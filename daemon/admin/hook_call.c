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

/* Where the name of a hook and the key stand: /v1/hooks/NAME/WHAT/KEY. */
enum { AT_NAME = 2, AT_KEY = 4 };

static bool names_hook(const struct call *c)
{
    return c->target->count > AT_NAME;
}

/* The hook of the path; NULL: refused. */
static struct hook *find_hook(struct call *c)
{
    struct hook *h = hooks_find(c->m->hooks, c->target->part[AT_NAME]);

    if (h == NULL)
        admin_refuse(c->out, 404, "there is no hook of this name: informerctl hooks lists them");
    return h;
}

/* p is NULL if the path has none. */
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
                 "the hook knows of nothing under this key: NAMESPACE/NAME, or NAME for "
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

/* ---- What a run would be told */

/* Could the answer become too large? Refused then. */
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

/* Appends the document, of e in mode object. What is not due is told as a person would have it
 * told; that a file is to be removed is told to no program. */
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

static size_t sources_with(const struct hook *h, struct str key)
{
    size_t n = 0;

    for (size_t i = 0; i < h->source_count; i++)
        n += delivery_queue_find(&h->queue, i, key) != NULL;
    return n;
}

/* A document a line for each source that has the key; of one source the document as it is. */
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
        if (lines && out->len > start)
            line_flatten(out->data + start, out->len - start - 1);
    }
}

/* Mode object: of the key that waits longest. */
static void put_oldest(struct call *c, struct hook *h)
{
    list_each (pos, tmp, &h->queue.pending) {
        put_input(c, h, list_entry(pos, struct delivery, pending));
        if (c->out->body.len > 0)
            break;
    }
}

static void refuse_input(struct call *c, struct hook *h, struct str key)
{
    if (key.p != NULL && sources_with(h, key) > 0 && h->files.template != NULL)
        admin_refuse(c->out, 404, "the key has ended, its file is removed: no program is told");
    else if (key.p != NULL)
        refuse_key(c);
    else if (h->rules.mode == HOOK_OBJECT)
        admin_refuse(c->out, 404, "no key of the hook is due: name one");
    else
        admin_refuse(c->out, 404, "the hook has nothing to tell");
}

/* Could it be told anything now? Refused if not. */
static bool may_tell(struct call *c, const struct hook *h, struct str key)
{
    if (key.p != NULL && h->rules.mode != HOOK_OBJECT)
        admin_refuse(c->out, 400, "the hook runs for all keys at once: leave the key out");
    else if (h->gate == GATE_CLOSED)
        admin_refuse(c->out, 409,
                     "the hook waits for its first run: informerctl why tells for what");
    else
        return (!call_gets_secrets(h) || call_may_see(c, "secrets")) && fits(c, h);
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

/* ---- Orders */

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
    c->m->actions->kick(c->m->arg);
    c->out->status = 202;
    put_order(c, manual_runs_find(&h->manual_runs, h->manual_runs.last), false);
}

/* 0 = it is none. */
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
                     "the order is not known any more: many came after it, or informerd was "
                     "started anew");
}

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

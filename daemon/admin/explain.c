/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/explain.h"

#include <inttypes.h>
#include <stdio.h>

#include "admin/call.h"
#include "admin/restore_status.h"
#include "admin/runs.h"
#include "hook/why.h"
#include "proto/json_member.h"

/* Moments on the monotonic clock mean nothing to a reader: they are written as wall clock times. */
static void put_until(struct json_out *j, const struct admin_model *m, uint64_t until_ms)
{
    json_member_time(j, "until", until_ms > 0 ? restore_status_wall_ns(m, until_ms) : 0);
}

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
    put_until(j, c->m, w->until_ms);
    json_member_count(j, "failures", w->failures);
    put_event(j, w->event);
    put_digest(j, c, h, dl);
    json_out_key(j, "last_run");
    if (w->last_run != NULL)
        runs_put(j, c->m, h, w->last_run, RUNS_BRIEF);
    else
        json_out_null(j);
    json_out_close(j, '}');
    buf_free(&text);
}

/* Opens the answer up to the first unit. */
static struct json_out begin(struct buf *out, const struct hook *h)
{
    struct json_out j = json_out_to(out);

    json_out_open(&j, '{');
    json_member_text(&j, "hook", h->name);
    json_out_key(&j, "units");
    json_out_open(&j, '[');
    return j;
}

static void end(struct json_out *j, size_t left_out)
{
    json_out_close(j, ']');
    json_member_count(j, "left_out", left_out);
    json_out_close(j, '}');
}

/* Appends a unit for each pending key, up to EXPLAIN_KEYS: a hook may have 100 000 of them. Returns
 * how many keys are left out. */
static size_t put_pending(struct json_out *j, const struct call *c, const struct hook *h)
{
    size_t n = 0;

    list_each (pos, tmp, &h->queue.pending) {
        const struct delivery *dl = list_entry(pos, struct delivery, pending);
        struct why w = why_delivery(c->m->hooks, h, dl, c->now_ms);

        if (n++ == EXPLAIN_KEYS)
            break;
        put_work_item(j, c, h, dl, &w);
    }
    return n > EXPLAIN_KEYS ? h->queue.pending_count - EXPLAIN_KEYS : 0;
}

void explain_put_hook(struct call *c, const struct hook *h)
{
    struct why w = why_hook(c->m->hooks, h, c->now_ms);
    bool keyed = h->rules.mode == HOOK_OBJECT;
    struct json_out j = begin(&c->out->body, h);
    size_t left_out = 0;

    /* In mode object keys speak for themselves: "the hook is handled" above a list of pending keys
     * would look like a contradiction. */
    if (!keyed || w.reason != WHY_HANDLED || h->queue.pending_count == 0)
        put_work_item(&j, c, h, NULL, &w);
    if (h->apply.wanted) {
        struct why apply = why_apply(c->m->hooks, h, c->now_ms);

        put_work_item(&j, c, h, NULL, &apply);
    }
    if (keyed)
        left_out = put_pending(&j, c, h);
    end(&j, left_out);
}

/* Checked before the answer begins: an unknown key gets a 404 in its place. */
static bool is_known(const struct hook *h, struct str key)
{
    for (size_t i = 0; i < h->source_count; i++)
        if (delivery_queue_find(&h->queue, i, key) != NULL)
            return true;
    return false;
}

bool explain_put_key(struct call *c, const struct hook *h, struct str key)
{
    if (!is_known(h, key))
        return false;
    struct json_out j = begin(&c->out->body, h);
    for (size_t i = 0; i < h->source_count; i++) {
        const struct delivery *dl = delivery_queue_find(&h->queue, i, key);

        if (dl == NULL)
            continue;
        struct why w = why_delivery(c->m->hooks, h, dl, c->now_ms);

        put_work_item(&j, c, h, dl, &w);
    }
    end(&j, 0);
    return true;
}

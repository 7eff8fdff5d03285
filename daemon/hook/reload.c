/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/reload.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "hook/delivery_log.h"
#include "hook/gate.h"
#include "hook/hook_parked.h"
#include "hook/hook_record.h"
#include "hook/hook_work_item.h"

/* ---- In place. */

/* Argument of follow_delivery(). */
struct following {
    struct hook *hook;
    struct work_queue_params was;
    uint64_t now_ms;
};

/* Has the hook reruns only since now, so that this work item has none yet? */
static bool gains_rerun(const struct following *f, const struct work_item *u)
{
    return f->was.rerun_ms == 0 && f->hook->work_queue.params.rerun_ms > 0 &&
           u->state == WORK_ITEM_IDLE;
}

/* A rerun that waits for a slot, or could not be started, goes back to rest: it may be due later now,
 * or never again. dl is NULL in modes batch and snapshot. */
static void follow_work_item(const struct following *f, struct work_item *u,
                             const struct delivery *dl)
{
    struct hook *h = f->hook;

    scheduler_follow(&h->work_queue, u, &f->was);
    bool waits = u->state == WORK_ITEM_READY || u->state == WORK_ITEM_BACKOFF;
    if (waits && !hook_work_item_due(h, u, dl))
        scheduler_drop(&h->work_queue, u);
}

static void follow_delivery(void *arg, struct delivery *dl)
{
    const struct following *f = arg;
    struct hook *h = f->hook;

    follow_work_item(f, dl->work_item, dl);
    if (gains_rerun(f, dl->work_item) && h->queue.sources[dl->source].is_open)
        hook_rest_delivery(h, dl, f->now_ms);
    hook_parked_follow(h, dl);
}

static void follow_command(struct hook *h, const struct work_queue_params *params, uint64_t now_ms)
{
    struct following f = {h, h->work_queue.params, now_ms};

    scheduler_change(&h->work_queue, params);
    if (h->rules.mode == HOOK_OBJECT) {
        for (size_t i = 0; i < h->source_count; i++)
            delivery_queue_each(&h->queue, i, follow_delivery, &f);
        return;
    }
    follow_work_item(&f, &h->work_item, NULL);
    if (gains_rerun(&f, &h->work_item) && h->gate != GATE_CLOSED)
        scheduler_rest(&h->work_queue, &h->work_item, now_ms);
    h->trim_ms = h->trim_ms == NEVER_MS ? NEVER_MS : now_ms; /* hook_parked_trim() looks anew */
}

/* The arrays among the settings that change in place. */
static void swap_arrays(struct hook_rules *a, struct hook_rules *b)
{
    const struct hook_rules was = *a;

    a->after = b->after;
    a->after_count = b->after_count;
    a->park_exit = b->park_exit;
    a->park_exit_count = b->park_exit_count;
    b->after = was.after;
    b->after_count = was.after_count;
    b->park_exit = was.park_exit;
    b->park_exit_count = was.park_exit_count;
}

void hook_change(struct hook *h, struct hook_params *p, uint64_t now_ms)
{
    const struct work_queue_params apply_was = h->apply.work_queue.params;

    h->index = p->index;
    h->rules.require = p->rules.require;
    h->rules.when_stale = p->rules.when_stale;
    h->rules.parked_deletes = p->rules.parked_deletes;
    h->rules.parked_age_ms = p->rules.parked_age_ms;
    swap_arrays(&h->rules, &p->rules);
    follow_command(h, &p->work_queue, now_ms);
    h->apply.timeout_ms = p->timeout_ms;
    if (h->apply.wanted) {
        scheduler_change(&h->apply.work_queue, &p->apply);
        scheduler_follow(&h->apply.work_queue, &h->apply.work_item, &apply_was);
    }
    gate_block(h);
}

/* ---- A hook comes. */

void hooks_set_slots(struct hooks *hs, unsigned shared_slots)
{
    hs->scheduler.shared = shared_slots;
}

static void enter(struct hook *h, enum hook_stage stage)
{
    h->stage = stage;
    gate_block(h);
}

void hook_hold(struct hook *h)
{
    enter(h, HOOK_STARTS);
}

void hook_serve(struct hook *h)
{
    enter(h, HOOK_SERVES);
}

/* ---- A hook leaves. */

void hook_retire(struct hook *h)
{
    enter(h, HOOK_RETIRES);
}

bool hook_is_retired(const struct hook *h)
{
    return h->stage == HOOK_RETIRES && hook_running(h) == 0;
}

static size_t place_of(const struct hooks *hs, const struct hook *h)
{
    size_t i = 0;

    while (i < hs->n && hs->v[i] != h)
        i++;
    ensure(i < hs->n);
    return i;
}

static void take_out(struct hook *h)
{
    ensure(hook_is_retired(h));
    scheduler_remove(&h->work_queue);
    if (h->apply.wanted)
        scheduler_remove(&h->apply.work_queue);
    hook_free(h);
}

void hooks_remove(struct hooks *hs, struct hook **h)
{
    size_t i = place_of(hs, *h);

    memmove(&hs->v[i], &hs->v[i + 1], (--hs->n - i) * sizeof(struct hook *));
    take_out(*h);
    *h = NULL;
}

/* ---- A hook is replaced. */

/* From the sinks of the old hook into the new one. */
struct handing_over {
    const struct hook *from;
    struct hook *to;
    uint64_t wall_ns;
};

/* The source of the new hook that has the name of this one of the old hook; SIZE_MAX = none. */
static size_t source_in(const struct handing_over *v, size_t source)
{
    for (size_t i = 0; source < v->from->source_count && i < v->to->source_count; i++)
        if (strcmp(v->to->sources[i].name, v->from->sources[source].name) == 0)
            return i;
    return SIZE_MAX;
}

static void hand_delivery(void *arg, size_t source, const struct delivery_record *m)
{
    const struct handing_over *v = arg;
    size_t to = source_in(v, source);

    if (to != SIZE_MAX && !delivery_log_restore(&v->to->queue, to, m, v->wall_ns))
        panic("%s: a delivery record that says nothing", v->to->name);
}

/* All records were put before, so the sink that keeps them has dropped this one already. */
static void drop_nothing(void *arg, size_t source, struct str key, struct str uid)
{
    (void)arg;
    (void)source;
    (void)key;
    (void)uid;
}

static void hand_seen(void *arg, size_t source)
{
    const struct handing_over *v = arg;
    size_t to = source_in(v, source);

    if (to != SIZE_MAX)
        delivery_log_restore_seen(&v->to->queue, to);
}

/* In modes batch and snapshot the one file has no key, and belongs to no source. */
static void hand_file(void *arg, const struct files_seen *seen)
{
    const struct handing_over *v = arg;
    struct files_seen to = *seen;

    to.source = source_in(v, seen->source);
    if (to.source == SIZE_MAX && seen->source < v->from->source_count)
        to.source_name = str_c(seen->key.n > 0 ? v->from->sources[seen->source].name : "");
    if (seen->key.n == 0 && v->to->rules.mode != HOOK_OBJECT)
        to.source = 0;
    strays_restore(v->to, &to);
}

static void drop_no_file(void *arg, struct str path)
{
    (void)arg;
    (void)path;
}

/* A hook that was replaced has the same name, so people expect its history, counts and last error to
 * go on. */
static void hand_figures(struct hook *from, struct hook *to)
{
    to->history = from->history;
    from->history = (struct history){0};
    to->manual_runs.last = from->manual_runs.last; /* who waits for one must not find another one */
    to->figures = from->figures;
    to->success_ms = from->success_ms;
    memcpy(to->last_error, from->last_error, sizeof(to->last_error));
    memcpy(to->last_forgotten, from->last_forgotten, sizeof(to->last_forgotten));
    if (!to->apply.wanted)
        return;
    to->apply.runs_ok = from->apply.runs_ok;
    to->apply.runs_failed = from->apply.runs_failed;
    memcpy(to->apply.last_error, from->apply.last_error, sizeof(to->apply.last_error));
}

static void hand_over(struct hook *from, struct hook *to, struct now now)
{
    static const struct delivery_log_sink deliveries = {hand_delivery, drop_nothing, hand_seen};
    static const struct files_sink files = {hand_file, drop_no_file};
    const struct hook_record record = hook_record_of(from);
    struct handing_over v = {from, to, now.wall_ns};

    delivery_log_touch_all(&from->queue);
    delivery_log_put(&from->queue, &deliveries, &v);
    strays_touch_all(&from->strays);
    strays_put(&from->strays, &files, &v);
    files_touch_all(&from->files);
    files_put(&from->files, &files, &v);
    hook_record_restore(to, &record, now.ms);
    hand_figures(from, to);
    to->replaces = true;
}

struct hook *hooks_replace(struct hooks *hs, struct hook *old, struct hook_params *params,
                           struct now now)
{
    struct hook *h = hook_create(hs, params);

    hs->v[place_of(hs, old)] = h;
    hand_over(old, h, now);
    take_out(old);
    return h;
}

/* ---- A hook gets the objects that there are */

/* Argument of show(). */
struct attaching {
    struct hook *hook;
    size_t source;
    struct now now;
};

/* The same delta as that of watch_restore(). */
static void show(void *arg, struct object *o)
{
    const struct attaching *a = arg;
    const struct delta d = {.type = DELTA_ADDED,
                            .cause = CAUSE_RESTART,
                            .object = o,
                            .received_ns = a->now.wall_ns,
                            .now_ms = a->now.ms};

    hook_take(a->hook, a->source, &d);
}

void hook_attach(struct hook *h, struct now now)
{
    struct attaching a = {.hook = h, .now = now};

    for (a.source = 0; a.source < h->source_count; a.source++) {
        source_each(h->sources[a.source].of, show, &a);
        h->sources[a.source].incomplete = source_incomplete(h->sources[a.source].of);
        if (source_stale(h->sources[a.source].of))
            hook_note_stale(h, a.source, true, now);
    }
    gate_block(h);
}

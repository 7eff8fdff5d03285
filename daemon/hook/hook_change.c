/* SPDX-License-Identifier: Apache-2.0 */
/* From a change to the start of a run: hooks_delta(), hooks_stale(), hooks_forget(), hooks_next()
 * of hook/hook.h. */
#include "hook/delivery_log.h"
#include "hook/gate.h"
#include "hook/hook_parked.h"
#include "hook/hook_work_item.h"

/* Nothing is due for the key, and no run is under way. Its rerun counts from its last run, or from
 * now if there was no run, as long as a rerun can deliver anything. */
static void rest_delivery(struct hook *h, struct delivery *dl, uint64_t now_ms)
{
    struct work_item *u = dl->work_item;

    if (hook_delivery_over(h, dl)) {
        hook_manual_runs_void(h, u);
        scheduler_rest(&h->work_queue, u, NEVER_MS);
    } else if (u->rerun_at_ms == 0) {
        scheduler_rest(&h->work_queue, u, now_ms);
    }
}

/* Tells the scheduler that a delivery has changed. Another incarnation, or the end of one, begins a
 * new series of pauses (docs/design.md "Retry"). */
static void reschedule_delivery(struct hook *h, struct delivery *dl, bool counts, uint64_t now_ms)
{
    struct work_item *u = dl->work_item;
    bool runs = u->state == WORK_ITEM_RUNNING;
    bool failed = u->failures > 0 && !runs;

    if (!runs && !delivery_is_due(dl))
        rest_delivery(h, dl, now_ms);
    if (!hook_work_item_due(h, u, dl))
        scheduler_drop(&h->work_queue, u);
    else if (failed && (!delivery_is_due(dl) || delivery_is_new_matter(&h->queue, dl)))
        scheduler_hurry(&h->work_queue, u); /* The event that failed is not due any more. */
    else if (counts)
        scheduler_touch(&h->work_queue, u, now_ms);
}

/* Tells the scheduler of a change. dl is NULL if nothing is left to know about its key: in mode
 * object there is nothing to do then. */
static void reschedule(struct hook *h, struct delivery *dl, bool counts, uint64_t now_ms)
{
    if (h->rules.mode == HOOK_OBJECT) {
        if (dl != NULL)
            reschedule_delivery(h, dl, counts, now_ms);
    } else if (!hook_work_item_due(h, &h->work_item, NULL)) {
        scheduler_drop(&h->work_queue, &h->work_item);
    } else if (dl != NULL && counts) {
        scheduler_touch(&h->work_queue, &h->work_item, now_ms);
    }
}

/* A change before the hook has opened the source. If the watch announces it, more may come:
 * keeps_changing() looks at these times when the first run is scheduled. A list brings old changes,
 * so it does not count. */
static void note_early(struct hook *h, struct delivery *dl, const struct delta *d, uint64_t now_ms)
{
    if (d->cause != CAUSE_WATCH)
        return;
    h->work_item.changed_ms = now_ms;
    if (dl != NULL && dl->work_item != NULL)
        dl->work_item->changed_ms = now_ms;
}

static void take_delta(struct hook *h, size_t source, const struct delta *d)
{
    uint64_t now_ms = d->now_ms;
    bool counts;
    struct delivery *dl = delivery_queue_change(&h->queue, source, d, &counts, now_ms);

    if (!h->queue.sources[source].is_open) {
        note_early(h, dl, d, now_ms);
        return;
    }
    /* The next incarnation is here: an end that has failed too often is superseded before the work
     * item is scheduled, so that the run is about the new one. */
    const struct work_item *u = dl != NULL ? dl->work_item : NULL;
    if (u != NULL && u->state != WORK_ITEM_RUNNING &&
        hook_gives_way(h, dl, u->failures, u->state == WORK_ITEM_PARKED))
        delivery_supersede(&h->queue, dl, now_ms);
    reschedule(h, dl, counts, now_ms);
    if (dl != NULL)
        delivery_release(&h->queue, dl); /* its work item may have become idle */
    hook_check_first(h);
}

/* A hook may have the same watch as several sources, under several names: each takes the change. */
static void take_from(struct hook *h, struct source from, const struct delta *d)
{
    for (size_t i = 0; i < h->source_count; i++)
        if (source_equal(h->sources[i].of, from))
            take_delta(h, i, d);
}

void hooks_delta(void *hooks, struct source from, const struct delta *d)
{
    const struct hooks *hs = hooks;

    for (size_t i = 0; i < hs->n; i++)
        take_from(hs->v[i], from, d);
}

static void note_stale(struct hook *h, struct source from, bool stale)
{
    for (size_t i = 0; i < h->source_count; i++)
        if (source_equal(h->sources[i].of, from))
            h->sources[i].stale = stale;
    gate_block(h);
}

/* In the delivery queue the outage of a source is the incarnation of an object without bytes, under
 * the empty key: so merging, order and retries hold for it as for any key. */
void hooks_stale(void *hooks, struct source from, bool stale, struct now now)
{
    const struct hooks *hs = hooks;
    struct object *outage =
        object_create(&(struct object_parts){.rv_at = SIZE_MAX, .generation_at = SIZE_MAX});
    const struct delta d = {.type = stale ? DELTA_STALE : DELTA_FRESH,
                            .cause = CAUSE_WATCH,
                            .object = outage,
                            .received_ns = now.wall_ns,
                            .now_ms = now.ms};

    for (size_t i = 0; i < hs->n; i++) {
        struct hook *h = hs->v[i];

        note_stale(h, from, stale);
        if (filter_takes(&h->filter, DELTA_STALE) || filter_takes(&h->filter, DELTA_FRESH))
            take_from(h, from, &d);
    }
    object_unref(&outage);
}

const struct subscriber hooks_subscriber = {
    .on_delta = hooks_delta, .on_restored = hooks_delta, .on_stale = hooks_stale};

/* The source was forgotten: nothing is due for the key any more. */
static void idle_delivery(void *arg, struct delivery *dl)
{
    struct hook *h = arg;

    if (dl->work_item->state == WORK_ITEM_RUNNING || delivery_is_due(dl))
        return;
    hook_manual_runs_void(h, dl->work_item);
    scheduler_rest(&h->work_queue, dl->work_item, NEVER_MS);
    scheduler_drop(&h->work_queue, dl->work_item);
    delivery_release(&h->queue, dl);
}

/* The hook waits as it did at the start (gate_close()): a snapshot without the source would be half
 * of one. */
static void forget_source(struct hook *h, size_t source)
{
    delivery_log_forget(&h->queue, source);
    h->sources[source].is_lacked = false;
    if (h->rules.mode == HOOK_OBJECT)
        delivery_queue_each(&h->queue, source, idle_delivery, h);
    else if (!hook_work_item_due(h, &h->work_item, NULL))
        scheduler_drop(&h->work_queue, &h->work_item);
    gate_close(h);
}

void hooks_forget(struct hooks *hs, struct source from)
{
    for (size_t i = 0; i < hs->n; i++)
        for (size_t k = 0; k < hs->v[i]->source_count; k++)
            if (source_equal(hs->v[i]->sources[k].of, from))
                forget_source(hs->v[i], k);
}

/* Did the last change come so lately that more may come? */
static bool keeps_changing(const struct hook *h, const struct work_item *u, uint64_t now_ms)
{
    return u->changed_ms > 0 && now_ms - u->changed_ms < h->work_queue.params.settle_ms;
}

/* The first runs do not settle, as a list brings objects that have been quiet, unless the watch
 * keeps announcing changes (docs/decisions.md "The first runs after a sync do not settle"). */
static void start_first(struct hook *h, struct work_item *u, uint64_t now_ms)
{
    if (keeps_changing(h, u, now_ms))
        scheduler_touch(&h->work_queue, u, now_ms);
    else
        scheduler_hurry(&h->work_queue, u);
}

/* Argument of schedule_delivery(). */
struct opening {
    struct hook *hook;
    uint64_t now_ms;
};

/* Is the key to be parked, as it was in an earlier process? Not if it has changed, or if its end is
 * superseded. */
static bool park_again(struct hook *h, struct delivery *dl, uint64_t now_ms)
{
    if (!delivery_log_was_parked(&h->queue, dl))
        return false;
    /* A parked key does not hold up the end of the first runs: its run has ended, in the earlier
     * process. */
    delivery_settled(&h->queue, dl);
    if (!hook_gives_way(h, dl, 0, true))
        return true;
    delivery_supersede(&h->queue, dl, now_ms);
    return false;
}

/* Schedules a key of a source that has just been opened. A work item that is not idle was scheduled
 * before, when another source was opened. */
static void schedule_delivery(void *arg, struct delivery *dl)
{
    const struct opening *o = arg;

    if (dl->work_item->state != WORK_ITEM_IDLE || !o->hook->queue.sources[dl->source].is_open)
        return;
    if (park_again(o->hook, dl, o->now_ms)) {
        scheduler_park(&o->hook->work_queue, dl->work_item);
        hook_parked_note(o->hook, dl, 0, o->now_ms);
    } else if (delivery_is_due(dl))
        start_first(o->hook, dl->work_item, o->now_ms);
    else
        rest_delivery(o->hook, dl, o->now_ms);
}

/* Schedules the whole hook. If a run is under way, has failed or could not be started, the new
 * source counts as a change: that run may not have had it. */
static void schedule_whole(struct hook *h, struct work_item *u, uint64_t now_ms)
{
    if (hook_work_item_due(h, u, NULL)) {
        if (u->failures == 0 && !u->not_started && u->state != WORK_ITEM_RUNNING)
            start_first(h, u, now_ms);
        else
            scheduler_touch(&h->work_queue, u, now_ms);
    } else if (u->state == WORK_ITEM_IDLE) {
        scheduler_rest(&h->work_queue, u, now_ms);
    }
}

/* The hook has opened at least one source. Files of its objects are known now, so strays may be
 * decided. */
static void schedule_seen(struct hook *h, uint64_t now_ms)
{
    struct opening o = {h, now_ms};

    h->strays.look = true;
    if (h->rules.mode == HOOK_OBJECT) {
        for (size_t i = 0; i < h->source_count; i++)
            delivery_queue_each(&h->queue, i, schedule_delivery, &o);
        return;
    }
    schedule_whole(h, &h->work_item, now_ms);
}

/* Opens gates and sources. True if a source was opened: its hook may have nothing to run, which
 * ends its first runs, and another hook may have waited for that. */
static bool look_at_sources(struct hooks *hs, uint64_t now_ms)
{
    bool any = false;

    for (size_t i = 0; i < hs->n; i++) {
        struct hook *h = hs->v[i];

        if (!gate_update(hs, h, now_ms))
            continue;
        gate_block(h);
        schedule_seen(h, now_ms);
        hook_check_first(h);
        any = true;
    }
    return any;
}

/* Work queues are embedded in their hook, so the hook is found without a pointer back. */
static struct hook *hook_of(struct work_queue *work_queue)
{
    if (work_queue->of == WORK_QUEUE_APPLY)
        return container_of(work_queue, struct hook, apply.work_queue);
    return container_of(work_queue, struct hook, work_queue);
}

/* From here on the run is under way. The manual runs go from the work item to the run: those that
 * are ordered while it runs need another run. */
static void number_run(struct hooks *hs, struct run *run)
{
    run->id = hs->next_id++;
    run->manual_runs = run->work_item->manual_runs;
    run->work_item->manual_runs = 0;
    list_append(&hs->runs, &run->link);
}

static struct run *start_apply(struct hooks *hs, struct hook *h, uint64_t now_ms)
{
    struct run *run = run_of_apply(h, now_ms);

    number_run(hs, run);
    apply_started(&h->apply, now_ms);
    return run;
}

static struct run *start_run(struct hooks *hs, struct hook *h, struct work_item *u, uint64_t now_ms)
{
    struct run *run = run_preview(h, u->delivery, now_ms);

    if (run == NULL)
        return NULL;
    number_run(hs, run);
    h->snapshot_due = false; /* until the run fails, or more comes */
    /* The snapshot shows no source that is not open; hook_record_of() says so on disk before the
     * run starts. */
    gate_note_lacked(h);
    scheduler_started(&h->work_queue, now_ms);
    run_deliver(run);
    return run;
}

/* A work item was due and has no event to deliver, for example the rerun of a batch without
 * objects: it counts as done. */
static void end_void(struct hooks *hs, struct hook *h, struct work_item *u, uint64_t now_ms)
{
    hook_manual_runs_void(h, u);
    scheduler_done(&hs->scheduler, &h->work_queue, u, SCHEDULER_DONE, now_ms);
    scheduler_rest(&h->work_queue, u, now_ms);
    hook_check_first(h);
}

/* Decides for each hook whether apply must wait. It waits for the end of the first runs, but not
 * for a command that fails, perhaps for good: then files that an earlier process wrote are applied
 * all the same. */
static void hold_applies(struct hooks *hs, uint64_t now_ms)
{
    for (size_t i = 0; i < hs->n; i++) {
        struct hook *h = hs->v[i];
        bool first = h->gate < GATE_APPLY && !hook_first_ended(h);

        apply_hold(&h->apply, h->paused || first || h->strays.due > 0,
                   scheduler_is_busy(&h->work_queue, now_ms), now_ms);
    }
}

/* Makes the run of a work item that the scheduler has chosen; NULL: it has no event to deliver. */
static struct run *start_work_item(struct hooks *hs, struct work_queue *work_queue,
                                   struct work_item *u, uint64_t now_ms)
{
    if (work_queue->of == WORK_QUEUE_APPLY)
        return start_apply(hs, hook_of(work_queue), now_ms);
    return start_run(hs, hook_of(work_queue), u, now_ms);
}

/* Gives up parked ends and decides about stray files. Both may change what may start, so this comes
 * before the choice. */
static void tidy(struct hooks *hs, uint64_t now_ms)
{
    for (size_t i = 0; i < hs->n; i++) {
        hook_parked_trim(hs->v[i], now_ms);
        strays_look(hs, hs->v[i]);
    }
}

/* The loop goes on after a work item without events, because its end may be the end of first runs
 * that another hook waits for. */
struct run *hooks_next(struct hooks *hs, uint64_t now_ms)
{
    struct work_queue *work_queue;
    struct work_item *u;

    do {
        /* Once more for hooks that waited for the one whose gate has just opened. */
        while (look_at_sources(hs, now_ms))
            continue;
        tidy(hs, now_ms);
        hold_applies(hs, now_ms);
        u = scheduler_next(&hs->scheduler, now_ms, &work_queue);
        struct run *run = u != NULL ? start_work_item(hs, work_queue, u, now_ms) : NULL;

        if (run != NULL)
            return run;
        if (u != NULL)
            end_void(hs, hook_of(work_queue), u, now_ms);
    } while (u != NULL);
    return NULL;
}

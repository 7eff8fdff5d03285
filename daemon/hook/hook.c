/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/hook.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "hook/apply_group.h"
#include "hook/delivery_log.h"
#include "hook/gate.h"
#include "hook/hook_parked.h"
#include "hook/hook_work_item.h"

/* A DELETED that failed so often is superseded by the next incarnation of its key
 * (docs/design.md "Superseded deletes"). */
#define DELETED_ATTEMPTS 5

void hooks_init(struct hooks *hs, unsigned shared_slots, uint64_t seed)
{
    *hs = (struct hooks){.next_id = 1};
    scheduler_init(&hs->scheduler, shared_slots, seed);
    list_init(&hs->runs);
    list_init(&hs->apply_groups);
}

void hook_free(struct hook *h)
{
    apply_group_leave(h);
    delivery_queue_fini(&h->queue);
    files_fini(&h->files);
    strays_fini(&h->strays);
    filter_fini(&h->filter);
    history_fini(&h->history);
    hook_rules_fini(&h->rules);
    free(h->sources);
    free(h->name);
    free(h);
}

/* Runs go first: they hold references to deliveries, which go with their hook. */
void hooks_fini(struct hooks *hs)
{
    list_each (pos, tmp, &hs->runs)
        run_free(list_entry(pos, struct run, link));
    for (size_t i = 0; i < hs->n; i++)
        hook_free(hs->v[i]);
    free(hs->v);
    *hs = (struct hooks){0};
}

void hook_rules_fini(struct hook_rules *r)
{
    for (size_t i = 0; i < r->field_count; i++) {
        free(r->fields[i].name);
        json_path_destroy(&r->fields[i].path);
    }
    free(r->fields);
    for (size_t i = 0; i < r->after_count; i++)
        free(r->after[i]);
    free(r->after);
    free(r->park_exit);
    *r = (struct hook_rules){0};
}

/* Copies n sources with their names into one block, which free() frees. */
static struct hook_source *copy_sources(const struct hook_source *v, size_t n)
{
    size_t bytes = n * sizeof(*v);

    for (size_t i = 0; i < n; i++)
        bytes += strlen(v[i].name) + 1;
    struct hook_source *out = mem_alloc(bytes);
    char *at = (char *)(out + n);
    for (size_t i = 0; i < n; i++) {
        size_t size = strlen(v[i].name) + 1;

        memcpy(at, v[i].name, size);
        out[i] = (struct hook_source){.name = at, .of = v[i].of};
        at += size;
    }
    return out;
}

struct hook *hook_create(struct hooks *hs, struct hook_params *p)
{
    struct hook *h = mem_zalloc(sizeof(*h));

    ensure(p->source_count > 0);
    h->name = mem_strdup(p->name);
    h->index = p->index;
    /* Ownership passes to the hook: the parameters of the caller are empty afterwards. */
    h->rules = p->rules;
    p->rules = (struct hook_rules){0};
    h->sources = copy_sources(p->sources, p->source_count);
    h->source_count = p->source_count;
    h->filter = p->filter;
    p->filter = (struct filter){0};
    h->trim_ms = NEVER_MS;
    delivery_queue_init(&h->queue, &h->filter, h->source_count, h->rules.mode == HOOK_OBJECT);
    scheduler_add(&hs->scheduler, &h->work_queue, &p->work_queue);
    files_init(&h->files, p->output, p->from_members);
    strays_init(&h->strays);
    apply_init(&h->apply, &hs->scheduler, p->applies ? &p->apply : NULL);
    h->apply.timeout_ms = p->timeout_ms;
    if (p->applies)
        apply_group_join(hs, h, p->apply_key);
    return h;
}

struct hook *hooks_add(struct hooks *hs, struct hook_params *p)
{
    hs->v = mem_realloc(hs->v, (hs->n + 1) * sizeof(struct hook *));
    hs->v[hs->n] = hook_create(hs, p);
    return hs->v[hs->n++];
}

struct hook *hooks_find(const struct hooks *hs, struct str name)
{
    for (size_t i = 0; i < hs->n; i++)
        if (str_is(name, hs->v[i]->name))
            return hs->v[i];
    return NULL;
}

/* ---- The work that is due. */

bool hook_work_item_due(const struct hook *h, const struct work_item *u, const struct delivery *dl)
{
    if (u->manual_runs != 0)
        return true;
    if (dl != NULL)
        return delivery_is_due(dl);
    return h->queue.pending_count > 0 || h->snapshot_due;
}

bool hook_work_item_repeats(const struct hook *h, const struct delivery *dl)
{
    struct delivery_event ev;

    return dl == NULL || delivery_repeat(&h->queue, dl, &ev);
}

bool hook_delivery_over(const struct hook *h, const struct delivery *dl)
{
    return !delivery_is_due(dl) && !hook_work_item_repeats(h, dl);
}

void hook_manual_runs_void(struct hook *h, struct work_item *u)
{
    manual_runs_ended(&h->manual_runs, u->manual_runs, true);
    u->manual_runs = 0;
}

void hook_want_apply(struct hook *h, uint32_t manual_runs)
{
    manual_runs_want(&h->manual_runs, &h->apply.work_item.manual_runs, manual_runs);
    scheduler_now(&h->apply.work_queue, &h->apply.work_item);
}

/* Does the hook take events of the next incarnation while that exists? If not, the end of the old
 * one need not give way. */
static bool takes_incarnations(const struct hook *h)
{
    return filter_takes(&h->filter, DELTA_ADDED) || filter_takes(&h->filter, DELTA_MODIFIED);
}

/* The last run was about an end, and an end is still due first: so it is this end that has
 * failed. */
bool hook_gives_way(const struct hook *h, const struct delivery *dl, unsigned failures, bool parked)
{
    return h->rules.mode == HOOK_OBJECT && (parked || failures >= DELETED_ATTEMPTS) &&
           dl->last_was_end && takes_incarnations(h) && dl->newest.object != NULL &&
           delivery_is_due(dl) && !delivery_is_new_matter(&h->queue, dl);
}

/* apply of the files that the first runs wrote does not settle, as the first runs do not. */
void hook_end_first(struct hook *h)
{
    h->gate = apply_due(&h->apply) ? GATE_APPLY : GATE_OPEN;
    h->strays.look = true;
    apply_hurry(&h->apply);
}

/* Are all sources of the hook open? */
static bool sees_all(const struct hook *h)
{
    for (size_t i = 0; i < h->source_count; i++)
        if (!h->queue.sources[i].is_open)
            return false;
    return true;
}

/* In mode object each existing key must have had its run. In the other modes one run is for all
 * keys, so nothing may be due or under way. */
void hook_check_first(struct hook *h)
{
    bool left = h->rules.mode == HOOK_OBJECT
                    ? h->queue.existing_left > 0
                    : h->work_queue.running > 0 || hook_work_item_due(h, &h->work_item, NULL);

    if (h->gate == GATE_FIRST && !left)
        hook_end_first(h);
    if (!left && sees_all(h))
        h->renew = false; /* no object is left for which the hook would have to run again */
}

/* ---- From a change to the start of a run. */

void hook_rest_delivery(struct hook *h, struct delivery *dl, uint64_t now_ms)
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
        hook_rest_delivery(h, dl, now_ms);
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

void hook_take(struct hook *h, size_t source, const struct delta *d)
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
    if (dl != NULL && h->rules.mode == HOOK_OBJECT && dl->work_item->state != WORK_ITEM_RUNNING &&
        hook_gives_way(h, dl, dl->work_item->failures, dl->work_item->state == WORK_ITEM_PARKED))
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
            hook_take(h, i, d);
}

static void on_delta(void *hooks, struct source from, const struct delta *d)
{
    const struct hooks *hs = hooks;

    for (size_t i = 0; i < hs->n; i++)
        take_from(hs->v[i], from, d);
}

/* In the delivery queue the outage of a source is the incarnation of an object without bytes, under
 * the empty key: so merging, order and retries hold for it as for any key. */
void hook_note_stale(struct hook *h, size_t source, bool stale, struct now now)
{
    h->sources[source].stale = stale;
    gate_block(h);
    if (!filter_takes(&h->filter, DELTA_STALE) && !filter_takes(&h->filter, DELTA_FRESH))
        return;
    struct object *outage =
        object_create(&(struct object_parts){.rv_at = SIZE_MAX, .generation_at = SIZE_MAX});
    const struct delta d = {.type = stale ? DELTA_STALE : DELTA_FRESH,
                            .cause = CAUSE_WATCH,
                            .object = outage,
                            .received_ns = now.wall_ns,
                            .now_ms = now.ms};

    hook_take(h, source, &d);
    object_unref(&outage);
}

static void on_stale(void *hooks, struct source from, bool stale, struct now now)
{
    const struct hooks *hs = hooks;

    for (size_t i = 0; i < hs->n; i++)
        for (size_t k = 0; k < hs->v[i]->source_count; k++)
            if (source_equal(hs->v[i]->sources[k].of, from))
                hook_note_stale(hs->v[i], k, stale, now);
}

/* The hook starts no run while one of its sources lacks objects for want of memory: half of the objects
 * may be worse than old ones (docs/design.md "Memory"). */
static void on_incomplete(void *hooks, struct source from, bool incomplete, struct now now)
{
    const struct hooks *hs = hooks;

    (void)now;
    for (size_t i = 0; i < hs->n; i++)
        for (size_t k = 0; k < hs->v[i]->source_count; k++)
            if (source_equal(hs->v[i]->sources[k].of, from)) {
                hs->v[i]->sources[k].incomplete = incomplete;
                gate_block(hs->v[i]);
            }
}

const struct subscriber hooks_subscriber = {.on_delta = on_delta,
                                            .on_restored = on_delta,
                                            .on_stale = on_stale,
                                            .on_incomplete = on_incomplete};

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

/* If a run under way turns out not to have started, delivery_not_started() puts its deliveries back as
 * they were before the run. As they are forgotten, it must find nothing to put back. An outage is not
 * forgotten. */
static void forget_snapshots(const struct hooks *hs, const struct hook *h, size_t source)
{
    list_each (pos, tmp, &hs->runs) {
        struct run *run = list_entry(pos, struct run, link);

        for (size_t i = 0; run->hook == h && i < run->event_count; i++)
            if (run->events[i].delivery->source == source &&
                run->events[i].delivery->key[0] != '\0')
                delivery_snapshot_fini(&run->events[i].was);
    }
}

/* The hook waits as it did at the start (gate_close()): a snapshot without the source would be half
 * of one. */
void hooks_forget(const struct hooks *hs, struct hook *h, size_t source)
{
    forget_snapshots(hs, h, source);
    delivery_log_forget(&h->queue, source);
    h->sources[source].is_lacked = false;
    if (h->rules.mode == HOOK_OBJECT)
        delivery_queue_each(&h->queue, source, idle_delivery, h);
    else if (!hook_work_item_due(h, &h->work_item, NULL))
        scheduler_drop(&h->work_queue, &h->work_item);
    gate_close(h);
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
        hook_rest_delivery(o->hook, dl, o->now_ms);
}

/* Are all events that wait for a run those that were delivered last? */
static bool repeats(const struct hook *h)
{
    list_each (pos, tmp, &h->queue.pending)
        if (!delivery_log_repeats(&h->queue, list_entry(pos, struct delivery, pending)))
            return false;
    return !list_is_empty(&h->queue.pending);
}

/* Is the whole hook to be parked, as it was in an earlier process? Not if a key has something new. */
static bool stays_parked(struct hook *h, const struct work_item *u)
{
    bool idle = u->state == WORK_ITEM_IDLE || u->state == WORK_ITEM_PARKED;

    h->was_parked = h->was_parked && idle && repeats(h);
    return h->was_parked;
}

static void park_whole(struct hook *h, struct work_item *u, uint64_t now_ms)
{
    if (u->state == WORK_ITEM_PARKED)
        return;
    h->first_failed |= h->gate == GATE_FIRST; /* that run was in the earlier process */
    scheduler_park(&h->work_queue, u);
    hook_parked_note(h, NULL, 0, now_ms);
}

/* Schedules the whole hook. If a run is under way, has failed or could not be started, the new
 * source counts as a change: that run may not have had it. */
static void schedule_whole(struct hook *h, struct work_item *u, uint64_t now_ms)
{
    if (hook_work_item_due(h, u, NULL)) {
        if (stays_parked(h, u))
            park_whole(h, u, now_ms);
        else if (u->failures == 0 && !u->not_started && u->state != WORK_ITEM_RUNNING)
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

/* Work queues are embedded in their hook. */
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
    struct run *run = apply_group_start(h, now_ms);

    number_run(hs, run);
    return run;
}

static struct run *start_run(struct hooks *hs, struct hook *h, struct work_item *u, uint64_t now_ms)
{
    struct run *run = run_preview(h, u->delivery, now_ms);

    if (run == NULL)
        return NULL;
    number_run(hs, run);
    h->snapshot_due = false; /* until the run fails, or more comes */
    h->was_parked = false;
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

struct run *hooks_next(struct hooks *hs, uint64_t now_ms)
{
    for (;;) {
        struct work_queue *work_queue;

        /* Once more for hooks that waited for the one whose gate has just opened. */
        while (look_at_sources(hs, now_ms))
            continue;
        /* Parked ends that are given up, and stray files, may change what may start. */
        for (size_t i = 0; i < hs->n; i++) {
            hook_parked_trim(hs->v[i], now_ms);
            if (hs->v[i]->stage == HOOK_SERVES)
                strays_look(hs, hs->v[i]);
        }
        apply_groups_hold(hs, now_ms);
        struct work_item *u = scheduler_next(&hs->scheduler, now_ms, &work_queue);
        if (u == NULL)
            return NULL;
        struct hook *h = hook_of(work_queue);
        struct run *run = work_queue->of == WORK_QUEUE_APPLY ? start_apply(hs, h, now_ms)
                                                             : start_run(hs, h, u, now_ms);
        if (run != NULL)
            return run;
        /* The end of a work item without events may be the end of first runs that another hook
         * waits for. */
        end_void(hs, h, u, now_ms);
    }
}

/* ---- Queries. */

uint64_t hooks_wake_ms(const struct hooks *hs)
{
    uint64_t soonest = scheduler_wake_ms(&hs->scheduler);

    for (size_t i = 0; i < hs->n; i++) {
        if (apply_wake_ms(&hs->v[i]->apply) < soonest)
            soonest = apply_wake_ms(&hs->v[i]->apply);
        if (hook_parked_wake_ms(hs->v[i]) < soonest)
            soonest = hook_parked_wake_ms(hs->v[i]);
    }
    return soonest;
}

void hook_pause(struct hook *h, bool paused)
{
    h->paused = paused;
    gate_block(h);
}

/* In modes batch and snapshot one failed run is the end of the first runs, well or not. In mode
 * object the gate opens when each existing key has had one. */
bool hook_first_ended(const struct hook *h)
{
    return h->gate == GATE_OPEN || h->first_failed;
}

/* Recursive, as a hook may wait for a hook that waits for a paused one. The configuration refuses
 * cycles in `after`. */
bool hook_waits_for_people(const struct hooks *hs, const struct hook *h)
{
    bool behind = false;

    for (size_t i = 0; i < h->rules.after_count && h->gate == GATE_CLOSED; i++) {
        const struct hook *before = hooks_find(hs, str_c(h->rules.after[i]));

        behind = behind ||
                 (before != NULL && !hook_first_ended(before) && hook_waits_for_people(hs, before));
    }
    return h->paused || behind;
}

bool hook_holds_ready(const struct hooks *hs, const struct hook *h)
{
    return !hook_first_ended(h) && !hook_waits_for_people(hs, h) && h->stage != HOOK_RETIRES;
}

bool hooks_ready(const struct hooks *hs)
{
    for (size_t i = 0; i < hs->n; i++)
        if (hook_holds_ready(hs, hs->v[i]))
            return false;
    return true;
}

/* The delivery that has waited for the longest time and is not parked, or NULL. The list is in the
 * order in which the keys became due. */
static const struct delivery *oldest_pending(const struct hook *h)
{
    list_each (pos, tmp, &h->queue.pending) {
        const struct delivery *dl = list_entry(pos, struct delivery, pending);
        const struct work_item *u = h->rules.mode == HOOK_OBJECT ? dl->work_item : &h->work_item;

        if (u->state != WORK_ITEM_PARKED)
            return dl;
    }
    return NULL;
}

/* Has the hook nothing to do? A rerun may be ready to start: --once does not wait for it, as there
 * is always a next one. */
static bool is_quiet(const struct hook *h)
{
    if (h->gate == GATE_CLOSED || h->work_queue.running > 0 || manual_runs_wait(&h->manual_runs) ||
        apply_waits(&h->apply) || strays_are_busy(h))
        return false;
    if (h->rules.mode == HOOK_OBJECT)
        return oldest_pending(h) == NULL;
    return h->work_item.state == WORK_ITEM_PARKED || !hook_work_item_due(h, &h->work_item, NULL);
}

/* The run of a hook that was paused meanwhile still has to end. */
bool hook_is_quiet(const struct hooks *hs, const struct hook *h)
{
    return is_quiet(h) || (h->work_queue.running == 0 && hook_waits_for_people(hs, h));
}

bool hooks_quiet(const struct hooks *hs)
{
    for (size_t i = 0; i < hs->n; i++) {
        const struct hook *h = hs->v[i];

        if (!hook_is_quiet(hs, h) && (h->stage != HOOK_RETIRES || hook_running(h) > 0))
            return false;
    }
    return true;
}

static size_t pending_keys(const struct hook *h)
{
    size_t others = 0;

    if (h->rules.mode != HOOK_OBJECT)
        return h->work_item.state == WORK_ITEM_PARKED ? 0 : h->queue.pending_count;
    list_each (pos, tmp, &h->queue.pending) {
        const struct delivery *dl = list_entry(pos, struct delivery, pending);

        others += dl->pins > 0 || dl->work_item->state == WORK_ITEM_PARKED;
    }
    return h->queue.pending_count - others;
}

size_t hook_pending(const struct hook *h)
{
    bool runs = h->apply.work_item.state == WORK_ITEM_RUNNING;

    return pending_keys(h) + (apply_waits(&h->apply) && !runs);
}

size_t hook_parked(const struct hook *h)
{
    return h->work_queue.parked + h->apply.work_queue.parked;
}

unsigned hook_running(const struct hook *h)
{
    return h->work_queue.running + h->apply.work_queue.running;
}

size_t hook_not_started(const struct hook *h)
{
    return h->work_queue.not_started + h->apply.work_queue.not_started;
}

const char *hook_last_error(const struct hook *h)
{
    const char *text = h->last_error[0] != '\0' ? h->last_error : h->apply.last_error;

    return text[0] != '\0' ? text : NULL;
}

uint64_t hook_oldest_pending_ms(const struct hook *h, uint64_t now_ms)
{
    const struct delivery *dl = oldest_pending(h);
    uint64_t key_ms = dl != NULL ? now_ms - dl->pending_since_ms : 0;
    uint64_t apply_ms = apply_age_ms(&h->apply, now_ms);

    return apply_ms > key_ms ? apply_ms : key_ms;
}

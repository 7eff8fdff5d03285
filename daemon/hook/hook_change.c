/* SPDX-License-Identifier: Apache-2.0 */
/* What changes, until a run starts: hooks_delta(), hooks_stale(), hooks_next() of hook/hook.h. */
#include "hook/gate.h"
#include "hook/hook_parked.h"
#include "hook/hook_unit.h"
#include "hook/ledger.h"

/* Nothing is due for the key, and no run is under way: its rerun counts from its last run, else
 * from now on, if there is anything to be told again. */
static void rest_entry(struct hook *h, struct entry *e, uint64_t now_ms)
{
    struct unit *u = &e->unit;

    if (hook_entry_over(h, e)) {
        hook_orders_void(h, u);
        sched_rest(&h->lane, u, NEVER_MS);
    } else if (u->rerun_at_ms == 0) {
        sched_rest(&h->lane, u, now_ms);
    }
}

/* The entry changed: the schedule hears of it. Another life or the end of one begins a new ladder
 * (DESIGN 1.3). */
static void reschedule_entry(struct hook *h, struct entry *e, uint64_t now_ms)
{
    struct unit *u = &e->unit;
    bool runs = u->state == UNIT_RUNNING;
    bool failed = u->failures > 0 && !runs;

    if (!runs && !queue_due(e))
        rest_entry(h, e, now_ms);
    if (!hook_unit_due(h, u, e))
        sched_drop(&h->lane, u);
    else if (failed && (!queue_due(e) || queue_new_matter(&h->queue, e)))
        sched_hurry(&h->lane, u); /* what failed is due no more */
    else if (e->counts)
        sched_touch(&h->lane, u, now_ms);
}

/* e is NULL when nothing is left to know about its key: in mode object there is nothing to do
 * then. */
static void reschedule(struct hook *h, struct entry *e, uint64_t now_ms)
{
    if (h->rules.mode == HOOK_OBJECT) {
        if (e != NULL)
            reschedule_entry(h, e, now_ms);
    } else if (!hook_unit_due(h, &h->unit, NULL)) {
        sched_drop(&h->lane, &h->unit);
    } else if (e != NULL && e->counts) {
        sched_touch(&h->lane, &h->unit, now_ms);
    }
}

/* What a source says before the hook may look at it: does it keep changing? */
static void note_early(struct hook *h, struct entry *e, const struct delta *d, uint64_t now_ms)
{
    if (d->cause != CAUSE_WATCH)
        return;
    h->unit.changed_ms = now_ms;
    if (e != NULL)
        e->unit.changed_ms = now_ms;
}

static void take_delta(struct hook *h, size_t source, const struct delta *d, uint64_t now_ms)
{
    struct entry *e = queue_change(&h->queue, source, d, now_ms);

    if (!h->queue.sources[source].is_open) {
        note_early(h, e, d, now_ms);
        return;
    }
    if (e != NULL && e->unit.state != UNIT_RUNNING &&
        hook_gives_way(h, e, e->unit.failures, e->unit.state == UNIT_PARKED))
        queue_yield(&h->queue, e, now_ms);
    reschedule(h, e, now_ms);
    if (e != NULL)
        queue_release(&h->queue, e); /* its unit may have become idle */
    hook_check_first(h);
}

/* The same content may be several of its sources, under several names. */
static void take_from(struct hook *h, struct source from, const struct delta *d, uint64_t now_ms)
{
    for (size_t i = 0; i < h->source_count; i++)
        if (source_equal(h->sources[i].of, from))
            take_delta(h, i, d, now_ms);
}

void hooks_delta(struct hooks *hs, struct source from, const struct delta *d, uint64_t now_ms)
{
    for (size_t i = 0; i < hs->n; i++)
        take_from(hs->v[i], from, d, now_ms);
}

static void note_stale(struct hook *h, struct source from, bool stale)
{
    for (size_t i = 0; i < h->source_count; i++)
        if (source_equal(h->sources[i].of, from))
            h->sources[i].stale = stale;
    gate_block(h);
}

/* In the queue the outage of a source is the life of an object without bytes: what holds for keys
 * holds for it. */
void hooks_stale(struct hooks *hs, struct source from, bool stale, uint64_t wall_ns,
                 uint64_t now_ms)
{
    struct object *outage =
        object_create(&(struct object_parts){.rv_at = SIZE_MAX, .generation_at = SIZE_MAX});
    const struct delta d = {.type = stale ? DELTA_STALE : DELTA_FRESH,
                            .cause = CAUSE_WATCH,
                            .object = outage,
                            .received_ns = wall_ns};

    for (size_t i = 0; i < hs->n; i++) {
        struct hook *h = hs->v[i];

        note_stale(h, from, stale);
        if (filter_takes(&h->filter, DELTA_STALE) || filter_takes(&h->filter, DELTA_FRESH))
            take_from(h, from, &d, now_ms);
    }
    object_unref(&outage);
}

/* Nothing is due for the key any more. */
static void idle_entry(void *arg, struct entry *e)
{
    struct hook *h = arg;

    if (e->unit.state == UNIT_RUNNING || queue_due(e))
        return;
    hook_orders_void(h, &e->unit);
    sched_rest(&h->lane, &e->unit, NEVER_MS);
    sched_drop(&h->lane, &e->unit);
    queue_release(&h->queue, e);
}

/* A snapshot that lacks the source would be half of one: the hook waits as it did at the start. */
static void forget_source(struct hook *h, size_t source)
{
    ledger_forget(&h->queue, source);
    h->sources[source].is_lacked = false;
    if (h->rules.mode == HOOK_OBJECT)
        queue_each(&h->queue, source, idle_entry, h);
    else if (!hook_unit_due(h, &h->unit, NULL))
        sched_drop(&h->lane, &h->unit);
    gate_close(h);
}

void hooks_forget(struct hooks *hs, struct source from)
{
    for (size_t i = 0; i < hs->n; i++)
        for (size_t k = 0; k < hs->v[i]->source_count; k++)
            if (source_equal(hs->v[i]->sources[k].of, from))
                forget_source(hs->v[i], k);
}

/* Something has changed so lately that more may come. */
static bool keeps_changing(const struct hook *h, const struct unit *u, uint64_t now_ms)
{
    return u->changed_ms > 0 && now_ms - u->changed_ms < h->lane.params.settle_ms;
}

/* The first runs are not delayed by settle, unless changes keep coming: what is there has been
 * quiet. */
static void start_first(struct hook *h, struct unit *u, uint64_t now_ms)
{
    if (keeps_changing(h, u, now_ms))
        sched_touch(&h->lane, u, now_ms);
    else
        sched_hurry(&h->lane, u);
}

struct opening {
    struct hook *hook;
    uint64_t now_ms;
};

/* What an earlier process has parked stays parked, unless it gives way or has changed. */
static bool park_again(struct hook *h, struct entry *e, uint64_t now_ms)
{
    if (!ledger_was_parked(&h->queue, e))
        return false;
    queue_entry_settled(&h->queue, e);
    if (!hook_gives_way(h, e, 0, true))
        return true;
    queue_yield(&h->queue, e, now_ms);
    return false;
}

static void schedule_entry(void *arg, struct entry *e)
{
    const struct opening *o = arg;

    if (e->unit.state != UNIT_IDLE || !o->hook->queue.sources[e->source].is_open)
        return;
    if (park_again(o->hook, e, o->now_ms)) {
        sched_park(&o->hook->lane, &e->unit);
        hook_parked_note(o->hook, e, 0, o->now_ms);
    } else if (queue_due(e))
        start_first(o->hook, &e->unit, o->now_ms);
    else
        rest_entry(o->hook, e, o->now_ms);
}

/* A run under way may know nothing of the source: that counts as a change. */
static void schedule_whole(struct hook *h, struct unit *u, uint64_t now_ms)
{
    if (hook_unit_due(h, u, NULL)) {
        if (u->failures == 0 && !u->denied && u->state != UNIT_RUNNING)
            start_first(h, u, now_ms);
        else
            sched_touch(&h->lane, u, now_ms);
    } else if (u->state == UNIT_IDLE) {
        sched_rest(&h->lane, u, now_ms);
    }
}

/* The hook sees a source for the first time. */
static void schedule_seen(struct hook *h, uint64_t now_ms)
{
    struct opening o = {h, now_ms};

    h->strays.look = true;
    if (h->rules.mode == HOOK_OBJECT) {
        for (size_t i = 0; i < h->source_count; i++)
            queue_each(&h->queue, i, schedule_entry, &o);
        return;
    }
    schedule_whole(h, &h->unit, now_ms);
}

/* True if anything was opened: another hook may have waited for this one. */
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

static struct hook *hook_of(struct lane *lane)
{
    if (lane->of == LANE_APPLY)
        return container_of(lane, struct hook, apply.lane);
    return container_of(lane, struct hook, lane);
}

static void number_run(struct hooks *hs, struct run *run)
{
    run->id = hs->next_id++;
    run->orders = run->unit->orders;
    run->unit->orders = 0;
    list_append(&hs->runs, &run->link);
}

static struct run *start_apply(struct hooks *hs, struct hook *h, uint64_t now_ms)
{
    struct run *run = run_of_apply(h, now_ms);

    number_run(hs, run);
    apply_started(&h->apply, now_ms);
    return run;
}

static struct run *start_run(struct hooks *hs, struct hook *h, struct unit *u, uint64_t now_ms)
{
    struct entry *e = h->rules.mode == HOOK_OBJECT ? container_of(u, struct entry, unit) : NULL;
    struct run *run = run_preview(h, e, now_ms);

    if (run == NULL)
        return NULL;
    number_run(hs, run);
    h->snapshot_due = false; /* until the run fails, or more comes */
    gate_note_lacked(h);
    sched_started(&h->lane, now_ms);
    run_announce(run);
    return run;
}

/* Nothing is left to tell: a batch without objects. */
static void end_void(struct hooks *hs, struct hook *h, struct unit *u, uint64_t now_ms)
{
    hook_orders_void(h, u);
    sched_done(&hs->sched, &h->lane, u, SCHED_DONE, now_ms);
    sched_rest(&h->lane, u, now_ms);
    hook_check_first(h);
}

/* What an earlier process wrote does not wait for a command that fails, perhaps for good. */
static void hold_applies(struct hooks *hs, uint64_t now_ms)
{
    for (size_t i = 0; i < hs->n; i++) {
        struct hook *h = hs->v[i];
        bool first = h->gate < GATE_APPLY && !hook_first_ended(h);

        apply_hold(&h->apply, h->paused || first || h->strays.due > 0,
                   sched_is_busy(&h->lane, now_ms), now_ms);
    }
}

/* Starts what the schedule says may start; NULL: there is nothing to tell. */
static struct run *start_unit(struct hooks *hs, struct lane *lane, struct unit *u, uint64_t now_ms)
{
    if (lane->of == LANE_APPLY)
        return start_apply(hs, hook_of(lane), now_ms);
    return start_run(hs, hook_of(lane), u, now_ms);
}

/* What is kept of what is no more. */
static void tidy(struct hooks *hs, uint64_t now_ms)
{
    for (size_t i = 0; i < hs->n; i++) {
        hook_parked_trim(hs->v[i], now_ms);
        strays_look(hs, hs->v[i]);
    }
}

/* A void may be the end of first runs that another hook waits for. */
struct run *hooks_next(struct hooks *hs, uint64_t now_ms)
{
    struct lane *lane;
    struct unit *u;

    do {
        while (look_at_sources(hs, now_ms))
            continue;
        tidy(hs, now_ms);
        hold_applies(hs, now_ms);
        u = sched_next(&hs->sched, now_ms, &lane);
        struct run *run = u != NULL ? start_unit(hs, lane, u, now_ms) : NULL;

        if (run != NULL)
            return run;
        if (u != NULL)
            end_void(hs, hook_of(lane), u, now_ms);
    } while (u != NULL);
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What the end of a run means: hooks_finish() of hook/hook.h. */
#include <stdio.h>

#include "hook/hook_unit.h"

/* The entry whose unit ran; NULL in modes batch and snapshot. */
static struct entry *entry_of(const struct run *run)
{
    return run->hook->rules.mode == HOOK_OBJECT ? run->events[0].entry : NULL;
}

static enum history_outcome judge(const struct hook *h, const struct run_result *r)
{
    if (r->end == RUN_EXITED && r->status == 0)
        return HISTORY_OK;
    if (r->end == RUN_UNFIT)
        return HISTORY_PARKED;
    for (size_t i = 0; r->end == RUN_EXITED && i < h->rules.park_exit_count; i++)
        if (h->rules.park_exit[i] == r->status)
            return HISTORY_PARKED;
    return HISTORY_FAILED;
}

static void note_result(const struct run *run, const struct run_result *r, bool ok, uint64_t now_ms)
{
    struct hook *h = run->hook;

    if (!ok) {
        h->runs_failed++;
        h->snapshot_due = h->rules.mode == HOOK_SNAPSHOT;
        snprintf(h->last_error, sizeof(h->last_error), "%s", r->text);
        return;
    }
    h->runs_ok++;
    h->success_ms = now_ms;
    h->snapshot_due = h->snapshot_due || (h->rules.mode == HOOK_SNAPSHOT && run->held_back);
    h->last_error[0] = '\0';
    if (h->gate == GATE_FIRST && h->rules.mode != HOOK_OBJECT)
        h->gate = GATE_OPEN;
}

/* What the run was about is handled, or due again. */
static void note_events(struct hook *h, const struct run *run, bool ok, uint64_t now_ms)
{
    for (size_t i = 0; i < run->event_count; i++)
        queue_ended(&h->queue, run->events[i].entry);
    for (size_t i = 0; i < run->event_count; i++) {
        const struct run_event *re = &run->events[i];

        if (ok)
            queue_handled(&h->queue, re->entry, &re->ev, now_ms);
        else
            queue_failed(&h->queue, re->entry, now_ms);
    }
}

/* After a failure: is what is due now another matter, so that it need not wait for the ladder? */
static bool another_matter(struct hook *h, const struct run_event *was, bool parked,
                           uint64_t now_ms)
{
    struct queue_event due[2];
    struct entry *e = was->entry;

    if (hook_gives_way(h, e, e->unit.failures + 1, parked))
        queue_yield(&h->queue, e, now_ms);
    if (!queue_due(e))
        return false;
    queue_events(&h->queue, e, due);
    return queue_new_matter(&h->queue, e) ||
           !str_eq(object_uid(due[0].object), object_uid(was->ev.object));
}

static enum sched_result outcome(struct hook *h, const struct run *run, enum history_outcome end,
                                 uint64_t now_ms)
{
    const struct entry *e = entry_of(run);
    bool parks = end == HISTORY_PARKED || sched_is_last_try(&h->lane, run->unit);

    if (e != NULL && hook_entry_over(h, e))
        hook_order_void(h, run->unit);
    if (end != HISTORY_OK && e != NULL && another_matter(h, &run->events[0], parks, now_ms))
        return SCHED_AGAIN;
    if (!hook_unit_due(h, run->unit, e))
        return SCHED_DONE;
    if (end == HISTORY_OK)
        return SCHED_AGAIN;
    return parks ? SCHED_PARKED : SCHED_FAILED;
}

/* The two events of one entry stand side by side. */
static void release_entries(const struct run *run)
{
    for (size_t i = 0; i < run->event_count; i++) {
        struct entry *e = run->events[i].entry;
        bool again = i + 1 < run->event_count && run->events[i + 1].entry == e;

        if (!again)
            queue_release(&run->hook->queue, e);
    }
}

/* The unit has ended a run: when it runs again, if not for its own sake. */
static void schedule_rerun(struct hook *h, const struct run *run)
{
    sched_rest(&h->lane, run->unit,
               hook_unit_repeats(h, entry_of(run)) ? run->started_ms : NEVER_MS);
}

struct hooks_verdict hooks_finish(struct hooks *hs, struct run *run,
                                  const struct run_result *result, uint64_t now_ms)
{
    struct hook *h = run->hook;
    struct unit *u = run->unit;
    struct hooks_verdict v = {.outcome = judge(h, result), .retry_ms = NEVER_MS};
    bool ok = v.outcome == HISTORY_OK;

    note_result(run, result, ok, now_ms);
    note_events(h, run, ok, now_ms);
    hook_order_ended(h, run->order, ok);
    sched_done(&hs->sched, &h->lane, u, outcome(h, run, v.outcome, now_ms), now_ms);
    if (u->state == UNIT_BACKOFF)
        v.retry_ms = u->timer.due_ms - now_ms;
    h->given_up +=
        u->state == UNIT_PARKED && (v.outcome == HISTORY_FAILED || result->end == RUN_UNFIT);
    if (!ok) /* what wanted to be parked may be due again for another reason */
        v.outcome = u->state == UNIT_PARKED ? HISTORY_PARKED : HISTORY_FAILED;
    schedule_rerun(h, run);
    if (u->order > 0) /* wanted while this one was under way */
        sched_now(&h->lane, u);
    history_add(&h->history, run, result, v.outcome, now_ms);
    release_entries(run);
    hook_check_first(h);
    run_free(run);
    return v;
}

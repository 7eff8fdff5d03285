/* SPDX-License-Identifier: Apache-2.0 */
/* What the end of a run means: hooks_finish() of hook/hook.h. */
#include <stdio.h>

#include "hook/hook_unit.h"

/* The entry whose unit ran; NULL in modes batch and snapshot. */
static struct entry *entry_of(const struct run *run)
{
    return run_keyed(run) != NULL ? run_keyed(run)->entry : NULL;
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

static bool is_denied(const struct run_result *r)
{
    return r->end == RUN_NO_MEANS;
}

static void note_result(const struct run *run, const struct run_result *r, bool ok, uint64_t now_ms)
{
    struct hook *h = run->hook;

    if (!ok) {
        h->runs_failed += !is_denied(r);
        h->snapshot_due = h->rules.mode == HOOK_SNAPSHOT;
        snprintf(h->last_error, sizeof(h->last_error), "%s", r->text);
        return;
    }
    h->runs_ok++;
    h->success_ms = now_ms;
    h->snapshot_due = h->snapshot_due || (h->rules.mode == HOOK_SNAPSHOT && run->held_back);
    h->last_error[0] = '\0';
    if (h->gate == GATE_FIRST && h->rules.mode != HOOK_OBJECT)
        hook_end_first(h);
}

/* What the run was about is handled, or due again. */
static void note_events(struct hook *h, const struct run *run, const struct run_result *r, bool ok,
                        uint64_t now_ms)
{
    for (size_t i = 0; i < run->event_count; i++) {
        if (is_denied(r))
            queue_denied(run->events[i].entry);
        else
            queue_ended(&h->queue, run->events[i].entry);
    }
    for (size_t i = 0; i < run->event_count; i++) {
        const struct run_event *re = &run->events[i];

        if (ok)
            queue_handled(&h->queue, re->entry, &re->ev, now_ms);
        else
            queue_failed(&h->queue, re->entry, now_ms);
    }
}

/* After a failure: is what is due now another matter, so that it need not wait for the ladder? */
static bool another_matter(struct hook *h, const struct run_event *was, unsigned failures,
                           bool parked, uint64_t now_ms)
{
    struct queue_event due[2];
    struct entry *e = was->entry;

    if (hook_gives_way(h, e, failures, parked))
        queue_yield(&h->queue, e, now_ms);
    if (!queue_due(e))
        return false;
    queue_events(&h->queue, e, due);
    return queue_new_matter(&h->queue, e) ||
           !str_eq(object_uid(due[0].object), object_uid(was->ev.object));
}

static enum sched_result outcome(struct hook *h, const struct run *run, const struct run_result *r,
                                 uint64_t now_ms)
{
    const struct entry *e = entry_of(run);
    enum history_outcome end = judge(h, r);
    bool counts = !is_denied(r);
    bool parks = counts && (end == HISTORY_PARKED || sched_is_last_try(&h->lane, run->unit));
    unsigned failures = run->unit->failures + counts;

    if (e != NULL && hook_entry_over(h, e))
        hook_order_void(h, run->unit);
    if (end != HISTORY_OK && e != NULL &&
        another_matter(h, &run->events[0], failures, parks, now_ms))
        return SCHED_AGAIN;
    if (!hook_unit_due(h, run->unit, e))
        return SCHED_DONE;
    if (end == HISTORY_OK)
        return SCHED_AGAIN;
    if (!counts)
        return SCHED_DENIED;
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

/* Who wanted a run that was none waits on. */
static void note_order(struct hook *h, const struct run *run, const struct run_result *r, bool ok)
{
    if (!is_denied(r))
        hook_order_ended(h, run->order, ok);
    else if (run->unit->order == 0)
        run->unit->order = run->order;
}

/* Who waits for the run waits for what it made due, too. */
static void want_apply(struct hook *h, const struct run *run)
{
    struct unit *u = &h->apply.unit;

    if (run->order == 0 || run->order != h->order.number || !apply_due(&h->apply))
        return;
    if (u->order != run->order) {
        h->order.total++;
        h->order.left++;
    }
    u->order = run->order;
    sched_now(&h->apply.lane, u);
}

/* Keys that were refused as their file was another's may have it now. */
static void retry_parked(struct hook *h, uint64_t now_ms)
{
    list_each (pos, tmp, &h->queue.pending) {
        struct entry *e = list_entry(pos, struct entry, pending);

        if (e->unit.state == UNIT_PARKED)
            sched_touch(&h->lane, &e->unit, now_ms);
    }
}

static void note_file(struct hook *h, const struct run *run, const struct run_result *r, bool ok,
                      uint64_t now_ms)
{
    if (files_ended(run, r)) {
        apply_touch(&h->apply, now_ms);
        want_apply(h, run);
    }
    if (ok && run->kind == RUN_REMOVE && files_forget(run))
        retry_parked(h, now_ms);
}

/* park_exit speaks of the command. */
static enum sched_result apply_outcome(const struct run_result *r)
{
    if (is_denied(r))
        return SCHED_DENIED;
    return r->end == RUN_EXITED && r->status == 0 ? SCHED_DONE : SCHED_FAILED;
}

static struct hooks_verdict finish_apply(struct hooks *hs, struct run *run,
                                         const struct run_result *r, uint64_t now_ms)
{
    struct hook *h = run->hook;
    struct unit *u = &h->apply.unit;
    enum sched_result end = apply_outcome(r);
    struct hooks_verdict v = {.outcome = HISTORY_OK, .retry_ms = NEVER_MS};

    note_order(h, run, r, end == SCHED_DONE);
    apply_ended(&h->apply, &hs->sched, &(struct apply_end){end, r->text, run->started_ms}, now_ms);
    if (u->state == UNIT_BACKOFF)
        v.retry_ms = u->timer.due_ms - now_ms;
    if (end != SCHED_DONE)
        v.outcome = u->state == UNIT_PARKED ? HISTORY_PARKED : HISTORY_FAILED;
    h->given_up += u->state == UNIT_PARKED;
    if (end != SCHED_DENIED) {
        history_add(&h->history, run, r, v.outcome, now_ms);
        h->gate = h->gate == GATE_APPLY ? GATE_OPEN : h->gate;
    }
    run_free(run);
    return v;
}

struct hooks_verdict hooks_finish(struct hooks *hs, struct run *run,
                                  const struct run_result *result, uint64_t now_ms)
{
    if (run->kind == RUN_APPLY)
        return finish_apply(hs, run, result, now_ms);
    struct hook *h = run->hook;
    struct unit *u = run->unit;
    struct hooks_verdict v = {.outcome = judge(h, result), .retry_ms = NEVER_MS};
    bool ok = v.outcome == HISTORY_OK;

    note_file(h, run, result, ok, now_ms); /* before the gate opens: it waits for apply */
    note_result(run, result, ok, now_ms);
    note_events(h, run, result, ok, now_ms);
    note_order(h, run, result, ok);
    if (is_denied(result))
        sched_unstarted(&h->lane, run->started_ms);
    sched_done(&hs->sched, &h->lane, u, outcome(h, run, result, now_ms), now_ms);
    if (u->state == UNIT_BACKOFF)
        v.retry_ms = u->timer.due_ms - now_ms;
    h->given_up +=
        u->state == UNIT_PARKED && (v.outcome == HISTORY_FAILED || result->end == RUN_UNFIT);
    if (!ok) /* what wanted to be parked may be due again for another reason */
        v.outcome = u->state == UNIT_PARKED ? HISTORY_PARKED : HISTORY_FAILED;
    schedule_rerun(h, run);
    if (u->order > 0 && !u->denied) /* wanted while this one was under way */
        sched_now(&h->lane, u);
    if (!is_denied(result))
        history_add(&h->history, run, result, v.outcome, now_ms);
    release_entries(run);
    hook_check_first(h);
    run_free(run);
    return v;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What the end of a run means: hooks_finish() of hook/hook.h. */
#include <stdio.h>

#include "hook/hook_parked.h"
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

/* A rerun that was none is due as one still, for nobody's sake. */
static bool stays_rerun(const struct run *run, const struct run_result *r)
{
    return is_denied(r) && run->reason == RUN_RERUN;
}

static void note_result(const struct run *run, const struct run_result *r, bool ok, uint64_t now_ms)
{
    struct hook *h = run->hook;

    if (!ok) {
        h->runs_failed += !is_denied(r);
        h->snapshot_due =
            h->snapshot_due || (h->rules.mode == HOOK_SNAPSHOT && !stays_rerun(run, r));
        snprintf(h->last_error, sizeof(h->last_error), "%s", r->text);
        return;
    }
    h->runs_ok++;
    h->success_ms = now_ms;
    h->snapshot_due = h->snapshot_due || (h->rules.mode == HOOK_SNAPSHOT && run->held_back);
    h->last_error[0] = '\0';
    h->renew = false;
    if (h->gate == GATE_FIRST && h->rules.mode != HOOK_OBJECT)
        hook_end_first(h);
}

/* What the run was about is handled, or due again. */
static void note_events(struct hook *h, const struct run *run, const struct run_result *r, bool ok,
                        uint64_t now_ms)
{
    for (size_t i = run->event_count; i-- > 0;) {
        const struct run_event *re = &run->events[i];

        if (is_denied(r))
            queue_denied(&h->queue, re->entry, &re->was);
        else
            queue_ended(&h->queue, re->entry);
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

    bool yields = hook_gives_way(h, e, failures, parked);

    if (yields)
        queue_yield(&h->queue, e, now_ms);
    if (!queue_due(e)) /* a person may want what is there now */
        return yields && e->unit.orders != 0;
    queue_events(&h->queue, e, due);
    return queue_new_matter(&h->queue, e) ||
           !str_eq(object_uid(due[0].object), object_uid(was->ev.object));
}

static enum sched_result outcome_of_denied(const struct hook *h, const struct run *run,
                                           const struct run_result *r)
{
    const struct entry *e = entry_of(run);
    bool again = stays_rerun(run, r) && hook_unit_repeats(h, e);

    return again || hook_unit_due(h, run->unit, e) ? SCHED_DENIED : SCHED_DONE;
}

static enum sched_result outcome(struct hook *h, const struct run *run, const struct run_result *r,
                                 uint64_t now_ms)
{
    const struct entry *e = entry_of(run);
    enum history_outcome end = judge(h, r);
    bool parks = end == HISTORY_PARKED || sched_is_last_try(&h->lane, run->unit);
    unsigned failures = run->unit->failures + 1;

    if (e != NULL && hook_entry_over(h, e))
        hook_orders_void(h, run->unit);
    if (is_denied(r))
        return outcome_of_denied(h, run, r);
    if (end != HISTORY_OK && e != NULL &&
        another_matter(h, &run->events[0], failures, parks, now_ms))
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

/* The unit has ended a run: when it runs again, if not for its own sake. A batch of what has
 * changed puts nothing off. */
static void schedule_rerun(struct hook *h, const struct run *run, const struct run_result *r,
                           uint64_t now_ms)
{
    struct unit *u = run->unit;
    bool again = hook_unit_repeats(h, entry_of(run));
    uint64_t at_ms = u->rerun_at_ms;

    if (!again || at_ms == 0 || (run_tells_all(run) && !is_denied(r)))
        sched_rest(&h->lane, u, again ? run->started_ms : NEVER_MS);
    else if (is_denied(r) && at_ms < now_ms + SCHED_DENIED_MS)
        sched_rest_until(&h->lane, u, now_ms + SCHED_DENIED_MS);
    else
        sched_rest_until(&h->lane, u, at_ms);
}

/* Who wanted a run that was none waits on. */
static void note_order(struct hook *h, const struct run *run, const struct run_result *r, bool ok)
{
    uint32_t *unit = &run->unit->orders;

    if (!is_denied(r)) {
        orders_ended(&h->orders, run->orders, ok);
        return;
    }
    orders_ended(&h->orders, run->orders & *unit, true); /* counted twice */
    *unit |= run->orders;
}

/* Who wanted the run wants it to be in effect: apply follows, if there is anything to apply. */
static void want_apply(struct hook *h, const struct run *run, bool touched)
{
    if (run->orders != 0 && (touched ? apply_due(&h->apply) : apply_may_repeat(&h->apply)))
        hook_want_apply(h, run->orders);
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
    bool touched = files_ended(run, r);

    if (r->file != RUN_FILE_NONE) /* one that waits for it to take its place may go */
        h->strays.look = true;
    if (touched)
        apply_touch(&h->apply, now_ms);
    if (!is_denied(r))
        want_apply(h, run, touched);
    bool lets_go = is_denied(r) ? !files_is_seen(run) : ok && run->kind == RUN_REMOVE;
    if (lets_go && files_forget(run))
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

/* The next process finds out for itself what can be told, whose a file is, and how what was cut off
 * ends. */
static void note_parked(struct hook *h, const struct run *run, const struct run_result *r,
                        uint64_t now_ms)
{
    struct entry *e = entry_of(run);

    if (e != NULL) {
        e->unfit = r->end == RUN_UNFIT || r->stopped;
        queue_entry_touch(&h->queue, e);
    }
    hook_parked_note(h, e, r->wall_ns, now_ms);
}

void hooks_began(struct run *run, uint64_t now_ms)
{
    struct hook *h = run->hook;

    sched_began(run->kind == RUN_APPLY ? &h->apply.lane : &h->lane, run->started_ms, now_ms);
    run->started_ms = now_ms;
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
    if (u->state == UNIT_PARKED)
        note_parked(h, run, result, now_ms);
    h->given_up +=
        u->state == UNIT_PARKED && (v.outcome == HISTORY_FAILED || result->end == RUN_UNFIT);
    if (!ok) /* what wanted to be parked may be due again for another reason */
        v.outcome = u->state == UNIT_PARKED ? HISTORY_PARKED : HISTORY_FAILED;
    schedule_rerun(h, run, result, now_ms);
    if (u->orders != 0 && !u->denied) /* wanted while this one was under way */
        sched_now(&h->lane, u);
    if (!is_denied(result))
        history_add(&h->history, run, result, v.outcome, now_ms);
    release_entries(run);
    hook_check_first(h);
    run_free(run);
    return v;
}

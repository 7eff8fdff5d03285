/* SPDX-License-Identifier: Apache-2.0 */
/* What the end of a run means: hooks_finish() of hook/hook.h. */
#include <stdio.h>

#include "hook/hook_parked.h"
#include "hook/hook_work_item.h"

/* The entry whose unit ran; NULL in modes batch and snapshot. */
static struct delivery *entry_of(const struct run *run)
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

static bool is_not_started(const struct run_result *r)
{
    return r->end == RUN_NOT_STARTED;
}

/* A rerun that was none is due as one still, for nobody's sake. */
static bool stays_rerun(const struct run *run, const struct run_result *r)
{
    return is_not_started(r) && run->reason == RUN_RERUN;
}

static void note_result(const struct run *run, const struct run_result *r, bool ok, uint64_t now_ms)
{
    struct hook *h = run->hook;

    if (!ok) {
        h->runs_failed += !is_not_started(r);
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

        if (is_not_started(r))
            delivery_not_started(&h->queue, re->entry, &re->was);
        else
            delivery_ended(&h->queue, re->entry);
    }
    for (size_t i = 0; i < run->event_count; i++) {
        const struct run_event *re = &run->events[i];

        if (ok)
            delivery_handled(&h->queue, re->entry, &re->ev, now_ms);
        else
            delivery_failed(&h->queue, re->entry, now_ms);
    }
}

/* After a failure: is what is due now another matter, so that it need not wait for the ladder? */
static bool another_matter(struct hook *h, const struct run_event *was, unsigned failures,
                           bool parked, uint64_t now_ms)
{
    struct delivery_event due[2];
    struct delivery *dl = was->entry;

    bool superseded = hook_gives_way(h, dl, failures, parked);

    if (superseded)
        delivery_supersede(&h->queue, dl, now_ms);
    if (!delivery_is_due(dl)) /* a person may want what is there now */
        return superseded && dl->work_item.manual_runs != 0;
    delivery_events(&h->queue, dl, due);
    return delivery_is_new_matter(&h->queue, dl) ||
           !str_eq(object_uid(due[0].object), object_uid(was->ev.object));
}

static enum scheduler_result outcome_of_not_started(const struct hook *h, const struct run *run,
                                                    const struct run_result *r)
{
    const struct delivery *dl = entry_of(run);
    bool again = stays_rerun(run, r) && hook_work_item_repeats(h, dl);

    return again || hook_work_item_due(h, run->work_item, dl) ? SCHEDULER_NOT_STARTED
                                                              : SCHEDULER_DONE;
}

static enum scheduler_result outcome(struct hook *h, const struct run *run,
                                     const struct run_result *r, uint64_t now_ms)
{
    const struct delivery *dl = entry_of(run);
    enum history_outcome end = judge(h, r);
    bool parks = end == HISTORY_PARKED || scheduler_is_last_try(&h->work_queue, run->work_item);
    unsigned failures = run->work_item->failures + 1;

    if (dl != NULL && hook_entry_over(h, dl))
        hook_manual_runs_void(h, run->work_item);
    if (is_not_started(r))
        return outcome_of_not_started(h, run, r);
    if (end != HISTORY_OK && dl != NULL &&
        another_matter(h, &run->events[0], failures, parks, now_ms))
        return SCHEDULER_AGAIN;
    if (!hook_work_item_due(h, run->work_item, dl))
        return SCHEDULER_DONE;
    if (end == HISTORY_OK)
        return SCHEDULER_AGAIN;
    return parks ? SCHEDULER_PARKED : SCHEDULER_FAILED;
}

/* The two events of one entry stand side by side. */
static void release_entries(const struct run *run)
{
    for (size_t i = 0; i < run->event_count; i++) {
        struct delivery *dl = run->events[i].entry;
        bool again = i + 1 < run->event_count && run->events[i + 1].entry == dl;

        if (!again)
            delivery_release(&run->hook->queue, dl);
    }
}

/* The unit has ended a run: when it runs again, if not for its own sake. A batch of what has
 * changed puts nothing off. */
static void schedule_rerun(struct hook *h, const struct run *run, const struct run_result *r,
                           uint64_t now_ms)
{
    struct work_item *u = run->work_item;
    bool again = hook_work_item_repeats(h, entry_of(run));
    uint64_t at_ms = u->rerun_at_ms;

    if (!again || at_ms == 0 || (run_tells_all(run) && !is_not_started(r)))
        scheduler_rest(&h->work_queue, u, again ? run->started_ms : NEVER_MS);
    else if (is_not_started(r) && at_ms < now_ms + SCHEDULER_NOT_STARTED_MS)
        scheduler_rest_until(&h->work_queue, u, now_ms + SCHEDULER_NOT_STARTED_MS);
    else
        scheduler_rest_until(&h->work_queue, u, at_ms);
}

/* Who wanted a run that was none waits on. */
static void note_order(struct hook *h, const struct run *run, const struct run_result *r, bool ok)
{
    uint32_t *work_item = &run->work_item->manual_runs;

    if (!is_not_started(r)) {
        manual_runs_ended(&h->manual_runs, run->manual_runs, ok);
        return;
    }
    manual_runs_ended(&h->manual_runs, run->manual_runs & *work_item, true); /* counted twice */
    *work_item |= run->manual_runs;
}

/* Who wanted the run wants it to be in effect: apply follows, if there is anything to apply. */
static void want_apply(struct hook *h, const struct run *run, bool touched)
{
    if (run->manual_runs != 0 && (touched ? apply_due(&h->apply) : apply_may_repeat(&h->apply)))
        hook_want_apply(h, run->manual_runs);
}

/* Keys that were refused as their file was another's may have it now. */
static void retry_parked(struct hook *h, uint64_t now_ms)
{
    list_each (pos, tmp, &h->queue.pending) {
        struct delivery *dl = list_entry(pos, struct delivery, pending);

        if (dl->work_item.state == WORK_ITEM_PARKED)
            scheduler_touch(&h->work_queue, &dl->work_item, now_ms);
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
    if (!is_not_started(r))
        want_apply(h, run, touched);
    bool lets_go = is_not_started(r) ? !files_is_seen(run) : ok && run->kind == RUN_REMOVE;
    if (lets_go && files_forget(run))
        retry_parked(h, now_ms);
}

/* park_exit speaks of the command. */
static enum scheduler_result apply_outcome(const struct run_result *r)
{
    if (is_not_started(r))
        return SCHEDULER_NOT_STARTED;
    return r->end == RUN_EXITED && r->status == 0 ? SCHEDULER_DONE : SCHEDULER_FAILED;
}

static struct hooks_verdict finish_apply(struct hooks *hs, struct run *run,
                                         const struct run_result *r, uint64_t now_ms)
{
    struct hook *h = run->hook;
    struct work_item *u = &h->apply.work_item;
    enum scheduler_result end = apply_outcome(r);
    struct hooks_verdict v = {.outcome = HISTORY_OK, .retry_ms = NEVER_MS};

    note_order(h, run, r, end == SCHEDULER_DONE);
    apply_ended(&h->apply, &hs->scheduler, &(struct apply_end){end, r->text, run->started_ms},
                now_ms);
    if (u->state == WORK_ITEM_BACKOFF)
        v.retry_ms = u->timer.due_ms - now_ms;
    if (end != SCHEDULER_DONE)
        v.outcome = u->state == WORK_ITEM_PARKED ? HISTORY_PARKED : HISTORY_FAILED;
    h->given_up += u->state == WORK_ITEM_PARKED;
    if (end != SCHEDULER_NOT_STARTED) {
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
    struct delivery *dl = entry_of(run);

    if (dl != NULL) {
        dl->unfit = r->end == RUN_UNFIT || r->stopped;
        delivery_touch(&h->queue, dl);
    }
    hook_parked_note(h, dl, r->wall_ns, now_ms);
}

void hooks_began(struct run *run, uint64_t now_ms)
{
    struct hook *h = run->hook;

    scheduler_began(run->kind == RUN_APPLY ? &h->apply.work_queue : &h->work_queue, run->started_ms,
                    now_ms);
    run->started_ms = now_ms;
}

struct hooks_verdict hooks_finish(struct hooks *hs, struct run *run,
                                  const struct run_result *result, uint64_t now_ms)
{
    if (run->kind == RUN_APPLY)
        return finish_apply(hs, run, result, now_ms);
    struct hook *h = run->hook;
    struct work_item *u = run->work_item;
    struct hooks_verdict v = {.outcome = judge(h, result), .retry_ms = NEVER_MS};
    bool ok = v.outcome == HISTORY_OK;

    note_file(h, run, result, ok, now_ms); /* before the gate opens: it waits for apply */
    note_result(run, result, ok, now_ms);
    note_events(h, run, result, ok, now_ms);
    note_order(h, run, result, ok);
    if (is_not_started(result))
        scheduler_unstarted(&h->work_queue, run->started_ms);
    scheduler_done(&hs->scheduler, &h->work_queue, u, outcome(h, run, result, now_ms), now_ms);
    if (u->state == WORK_ITEM_BACKOFF)
        v.retry_ms = u->timer.due_ms - now_ms;
    if (u->state == WORK_ITEM_PARKED)
        note_parked(h, run, result, now_ms);
    h->given_up +=
        u->state == WORK_ITEM_PARKED && (v.outcome == HISTORY_FAILED || result->end == RUN_UNFIT);
    if (!ok) /* what wanted to be parked may be due again for another reason */
        v.outcome = u->state == WORK_ITEM_PARKED ? HISTORY_PARKED : HISTORY_FAILED;
    schedule_rerun(h, run, result, now_ms);
    if (u->manual_runs != 0 && !u->not_started) /* wanted while this one was under way */
        scheduler_now(&h->work_queue, u);
    if (!is_not_started(result))
        history_add(&h->history, run, result, v.outcome, now_ms);
    release_entries(run);
    hook_check_first(h);
    run_free(run);
    return v;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a run: hooks_began() and hooks_finish() of hook/hook.h. */
#include <stdio.h>

#include "base/rfc3339.h"
#include "hook/hook_parked.h"
#include "hook/hook_work_item.h"
#include "hook/shortage.h"
#include "hook/trigger_time.h"

/* The delivery whose work item ran; NULL in modes batch and snapshot. */
static struct delivery *delivery_of(const struct run *run)
{
    return run_keyed(run) != NULL ? run_keyed(run)->delivery : NULL;
}

/* The system was short of something, so nothing ran. Asked often, and seldom of a run that was
 * refused. */
static bool is_not_started(const struct run_result *r)
{
    return r->end.kind == RUN_END_REFUSED && shortage_of(&r->end) != SHORTAGE_NONE;
}

/* The result as such, before it is known whether the work item is really parked. park_exit names
 * statuses of the command, not of its check or of apply. */
static enum history_outcome judge(const struct hook *h, const struct run_result *r)
{
    const struct run_end *end = &r->end;
    bool exited = end->program == RUN_PROGRAM_COMMAND && end->kind == RUN_END_EXITED &&
                  end->cut == RUN_CUT_NONE;

    if (run_end_is_good(end))
        return HISTORY_OK;
    if (run_end_is_unfit(end))
        return HISTORY_PARKED;
    for (size_t i = 0; exited && i < h->rules.park_exit_count; i++)
        if (h->rules.park_exit[i] == end->value)
            return HISTORY_PARKED;
    return HISTORY_FAILED;
}

/* A rerun that could not be started is still due as a rerun: it is tried again by its time, and no
 * key or snapshot becomes due because of it. */
static bool stays_rerun(const struct run *run, const struct run_result *r)
{
    return is_not_started(r) && run->reason == RUN_RERUN;
}

/* In modes batch and snapshot one run is for all keys, so its failure ends the first runs. */
static bool fails_first(const struct hook *h, const struct run_result *r)
{
    return h->gate == GATE_FIRST && h->rules.mode != HOOK_OBJECT && !is_not_started(r);
}

/* Counts the CPU time and memory of a run, and the limit that it has met. */
static void note_usage(struct hook_figures *f, const struct run_end *end)
{
    f->cpu_us += end->cpu_us;
    f->met_memory += end->limit == RUN_LIMIT_MEMORY;
    f->met_pids += end->limit == RUN_LIMIT_PIDS;
    if (f->memory_peak < end->memory_peak)
        f->memory_peak = end->memory_peak;
}

static void note_result(const struct run *run, const struct run_result *r, bool ok, uint64_t now_ms)
{
    struct hook *h = run->hook;

    note_usage(&h->figures, &r->end);
    if (!is_not_started(r)) {
        h->figures.runs_timed_out += !ok && r->end.cut == RUN_CUT_TIMEOUT;
        histogram_add(&h->figures.durations, now_ms - run->started_ms);
    }
    if (!ok) {
        h->figures.runs_failed += !is_not_started(r);
        h->first_failed |= fails_first(h, r);
        /* A snapshot that failed is owed, even if no key has changed. */
        h->snapshot_due =
            h->snapshot_due || (h->rules.mode == HOOK_SNAPSHOT && !stays_rerun(run, r));
        snprintf(h->last_error, sizeof(h->last_error), "%s", r->text);
        return;
    }
    h->figures.runs_ok++;
    h->success_ms = now_ms;
    /* `changes` had no room for an incarnation that this snapshot showed, so another run must
     * deliver it. */
    h->snapshot_due = h->snapshot_due || (h->rules.mode == HOOK_SNAPSHOT && run->held_back);
    h->last_error[0] = '\0';
    h->renew = false;
    if (h->gate == GATE_FIRST && h->rules.mode != HOOK_OBJECT)
        hook_end_first(h);
}

/* The change that the object was made for, if its controller has noted it, and if the hook has not
 * handled another state since that change. Objects that were listed, and runs for another reason, tell
 * of changes long ago. */
static void note_trigger(struct hook *h, const struct run *run, const struct run_event *re,
                         uint64_t wall_ns)
{
    bool is_live = (run->reason == RUN_CHANGE || run->reason == RUN_RETRY) &&
                   re->ev.cause == CAUSE_WATCH &&
                   (re->ev.type == DELTA_ADDED || re->ev.type == DELTA_MODIFIED);
    struct str then = is_live ? trigger_time_new(re->ev.object, re->old) : str_c("");
    int64_t now_ms = (int64_t)(wall_ns / 1000000);
    int64_t then_ms;

    if (then.n == 0 || !rfc3339_read(then, &then_ms))
        return;
    histogram_add(&h->figures.since_trigger, now_ms > then_ms ? (uint64_t)(now_ms - then_ms) : 0);
}

/* The run has handled its events: how long were their keys due? A key with two events was due
 * once. */
static void note_latency(struct hook *h, const struct run *run, uint64_t wall_ns, uint64_t now_ms)
{
    struct histogram *window = latency_window(&h->figures.latency, now_ms);

    for (size_t i = 0; i < run->event_count; i++) {
        const struct delivery *dl = run->events[i].delivery;
        bool again = i > 0 && run->events[i - 1].delivery == dl;

        if (list_is_empty(&dl->pending))
            continue;
        note_trigger(h, run, &run->events[i], wall_ns);
        if (!again)
            histogram_add(window, now_ms - dl->pending_since_ms);
    }
}

/* A first run could not be started. Is it over, because its incarnation came to nothing meanwhile? The
 * next incarnation was not there at first, so the first runs do not wait for it. */
static bool is_first_run_over(const struct hook *h, const struct run_event *re)
{
    struct delivery_event due[2];
    size_t n = delivery_events(&h->queue, re->delivery, due);

    for (size_t i = 0; i < n; i++)
        if (str_eq(object_uid(due[i].object), object_uid(re->ev.object)))
            return false;
    return re->was.existing;
}

/* The events of the run are handled, or due again. First all of them end, the later ones first, as
 * delivery_not_started() needs it; while an event pins its delivery, delivery_handled() would take
 * the run to be under way. */
static void note_events(struct hook *h, const struct run *run, const struct run_result *r, bool ok,
                        uint64_t now_ms)
{
    for (size_t i = run->event_count; i-- > 0;) {
        const struct run_event *re = &run->events[i];

        if (is_not_started(r))
            delivery_not_started(&h->queue, re->delivery, &re->was);
        else
            delivery_ended(&h->queue, re->delivery);
    }
    if (ok)
        note_latency(h, run, r->wall_ns, now_ms);
    for (size_t i = 0; i < run->event_count; i++) {
        const struct run_event *re = &run->events[i];

        if (ok) {
            delivery_handled(&h->queue, re->delivery, &re->ev, now_ms);
            continue;
        }
        delivery_failed(&h->queue, re->delivery, now_ms);
        if (is_not_started(r) && is_first_run_over(h, re))
            delivery_settled(&h->queue, re->delivery);
    }
}

/* After a failure in mode object: is another event due now than the one that failed? Then it need
 * not wait for the pause. An end that has failed too often is superseded here. */
static bool another_matter(struct hook *h, const struct run_event *was, bool parked,
                           uint64_t now_ms)
{
    struct delivery_event due[2];
    struct delivery *dl = was->delivery;
    bool superseded = hook_gives_way(h, dl, dl->work_item->failures + 1, parked);

    if (superseded)
        delivery_supersede(&h->queue, dl, now_ms);
    if (!delivery_is_due(dl)) /* A manual run may be wanted for the object that is there now. */
        return superseded && dl->work_item->manual_runs != 0;
    delivery_events(&h->queue, dl, due);
    /* The same kind of event may be about another incarnation. */
    return delivery_is_new_matter(&h->queue, dl) ||
           !str_eq(object_uid(due[0].object), object_uid(was->ev.object));
}

/* The run did not start: once more if it is still due, or is a rerun that can deliver anything and that
 * no reload has turned off meanwhile. */
static enum scheduler_result outcome_of_not_started(const struct hook *h, const struct run *run,
                                                    const struct run_result *r)
{
    const struct delivery *dl = delivery_of(run);
    bool rerun = stays_rerun(run, r) && h->work_queue.params.rerun_ms > 0;
    bool again = rerun && hook_work_item_repeats(h, dl);

    return again || hook_work_item_due(h, run->work_item, dl) ? SCHEDULER_NOT_STARTED
                                                              : SCHEDULER_DONE;
}

/* Decides whether a failed run is tried again or was the last try. Nothing else decides that. */
static enum scheduler_result failed(const struct work_queue *wq, const struct work_item *u,
                                    bool parks)
{
    return parks || scheduler_is_last_try(wq, u) ? SCHEDULER_PARKED : SCHEDULER_FAILED;
}

/* The end as the scheduler must know it. Called when the events are settled, so that "due" means
 * the state after this run. */
static enum scheduler_result outcome(struct hook *h, const struct run *run,
                                     const struct run_result *r, enum history_outcome judged,
                                     uint64_t now_ms)
{
    const struct delivery *dl = delivery_of(run);
    enum scheduler_result if_due =
        judged == HISTORY_OK ? SCHEDULER_AGAIN
                             : failed(&h->work_queue, run->work_item, judged == HISTORY_PARKED);

    if (dl != NULL && hook_delivery_over(h, dl))
        hook_manual_runs_void(h, run->work_item);
    if (is_not_started(r))
        return outcome_of_not_started(h, run, r);
    if (judged != HISTORY_OK && dl != NULL &&
        another_matter(h, &run->events[0], if_due == SCHEDULER_PARKED, now_ms))
        return SCHEDULER_AGAIN;
    return hook_work_item_due(h, run->work_item, dl) ? if_due : SCHEDULER_DONE;
}

/* Releases the deliveries of the run. Two events of one delivery stand side by side, and it may be
 * freed only once. */
static void release_deliveries(const struct run *run)
{
    for (size_t i = 0; i < run->event_count; i++) {
        struct delivery *dl = run->events[i].delivery;
        bool again = i + 1 < run->event_count && run->events[i + 1].delivery == dl;

        if (!again)
            delivery_release(&run->hook->queue, dl);
    }
}

/* Sets when the work item runs again even if nothing changes. A batch of changes does not put its
 * rerun off, as it did not deliver all objects. A rerun that could not be started is not tried
 * before the shortage may be over. */
static void schedule_rerun(struct hook *h, const struct run *run, const struct run_result *r,
                           uint64_t now_ms)
{
    struct work_item *u = run->work_item;
    bool again = hook_work_item_repeats(h, delivery_of(run));
    uint64_t at_ms = u->rerun_at_ms;

    if (!again || at_ms == 0 || (run_tells_all(run) && !is_not_started(r)))
        scheduler_rest(&h->work_queue, u, again ? run->started_ms : NEVER_MS);
    else if (is_not_started(r) && at_ms < now_ms + SCHEDULER_NOT_STARTED_MS)
        scheduler_rest_until(&h->work_queue, u, now_ms + SCHEDULER_NOT_STARTED_MS);
    else
        scheduler_rest_until(&h->work_queue, u, at_ms);
}

/* Settles the manual runs in set, which the run had for this work item. If the run could not be
 * started they go back to the work item, whose next run serves them. */
static void note_manual_run(struct hook *h, struct work_item *u, uint32_t set,
                            const struct run_result *r, bool ok)
{
    if (!is_not_started(r)) {
        manual_runs_ended(&h->manual_runs, set, ok);
        return;
    }
    /* A manual run that both have, because it was ordered again meanwhile, was counted twice. */
    manual_runs_ended(&h->manual_runs, set & u->manual_runs, true);
    u->manual_runs |= set;
}

/* A person who ordered the run wants its effect, so apply follows if there is anything to apply. If
 * this run wrote a file, apply must run once more even if it is under way; if not, a run of apply
 * that is under way has all files already. */
static void want_apply(struct hook *h, const struct run *run, bool touched)
{
    if (run->manual_runs != 0 && (touched ? apply_due(&h->apply) : apply_may_repeat(&h->apply)))
        hook_want_apply(h, run->manual_runs);
}

/* Tries the parked keys again, because one of them may have been refused a path that is free now.
 * Which of them is not kept (docs/decisions.md "The first key with a path has the file"). */
static void retry_parked(struct hook *h, uint64_t now_ms)
{
    list_each (pos, tmp, &h->queue.pending) {
        struct delivery *dl = list_entry(pos, struct delivery, pending);

        if (dl->work_item->state == WORK_ITEM_PARKED)
            scheduler_touch(&h->work_queue, dl->work_item, now_ms);
    }
}

/* May the run have written its files? With files_from none is written before all have passed their
 * check. So new names that fail it are not files of the object, and do not pile up while an object that
 * changes its names never passes. */
static bool may_have_written(const struct run *run, const struct run_result *r)
{
    bool failed_check = run->members != NULL && r->end.program == RUN_PROGRAM_CHECK;

    return !is_not_started(r) && !failed_check;
}

static void note_file(struct hook *h, const struct run *run, const struct run_result *r, bool ok,
                      uint64_t now_ms)
{
    bool touched = files_ended(run, r);

    /* A stray may have waited for the file that takes its place. */
    if (run_end_file(&r->end) != NULL)
        h->strays.look = true;
    if (touched)
        apply_touch(&h->apply, now_ms);
    if (!is_not_started(r))
        want_apply(h, run, touched);
    if (files_let_go(run, may_have_written(run, r), ok))
        retry_parked(h, now_ms);
}

/* The work item is parked. A run that could not get its fields or its file, or that informerd cut
 * off, is not recorded as parked: the next process must find out for itself, as all of that may be
 * different then. */
static void note_parked(struct hook *h, const struct run *run, const struct run_result *r,
                        uint64_t now_ms)
{
    struct delivery *dl = delivery_of(run);

    run->work_item->unfit = run_end_is_unfit(&r->end) || r->stopped;
    if (dl != NULL)
        delivery_touch(&h->queue, dl);
    hook_parked_note(h, dl, r->wall_ns, now_ms);
}

/* The work item of the hook has left RUNNING: notes the run in the history, and returns the verdict. A
 * result that parks may have met a change, which brings the next try forward: the work item's state
 * decides. */
static struct hooks_verdict conclude(struct hook *h, const struct work_item *u,
                                     const struct run *run, const struct run_result *r,
                                     enum history_outcome judged, uint64_t now_ms)
{
    bool parked = u->state == WORK_ITEM_PARKED;
    struct hooks_verdict v = {.outcome = HISTORY_OK, .retry_ms = NEVER_MS};

    if (u->state == WORK_ITEM_BACKOFF)
        v.retry_ms = u->timer.due_ms - now_ms;
    if (judged != HISTORY_OK)
        v.outcome = parked ? HISTORY_PARKED : HISTORY_FAILED;
    h->given_up += parked && (judged == HISTORY_FAILED || run_end_is_unfit(&r->end));
    if (!is_not_started(r))
        history_add(&h->history, run, r, v.outcome, now_ms);
    return v;
}

/* A run of apply has failed. If it was stopped, a reload replaces or drops one of its hooks, and the
 * others must have another try. */
static enum scheduler_result failed_apply(const struct apply *a, const struct run_result *r)
{
    return r->stopped ? SCHEDULER_FAILED : failed(&a->work_queue, &a->work_item, false);
}

/* The run of apply as one of its hooks must know it. Each has retries and attempts of its own. */
static struct hooks_verdict end_apply(struct hooks *hs, struct hook *h, uint32_t manual_runs,
                                      const struct run *run, const struct run_result *r,
                                      uint64_t now_ms)
{
    struct work_item *u = &h->apply.work_item;
    enum history_outcome judged = judge(h, r);
    enum scheduler_result end = SCHEDULER_DONE;

    if (is_not_started(r))
        end = SCHEDULER_NOT_STARTED;
    else if (judged != HISTORY_OK)
        end = failed_apply(&h->apply, r);
    note_manual_run(h, u, manual_runs, r, judged == HISTORY_OK);
    apply_ended(&h->apply, &hs->scheduler, run, end, r->text, now_ms);
    if (end != SCHEDULER_NOT_STARTED && h->gate == GATE_APPLY)
        h->gate = GATE_OPEN;
    return conclude(h, u, run, r, judged, now_ms);
}

static struct hooks_verdict finish_apply(struct hooks *hs, struct run *run,
                                         const struct run_result *r, uint64_t now_ms)
{
    struct hooks_verdict v = end_apply(hs, run->hook, run->manual_runs, run, r, now_ms);

    for (size_t i = 0; i < run->other_count; i++)
        end_apply(hs, run->others[i].hook, run->others[i].manual_runs, run, r, now_ms);
    run_free(run);
    return v;
}

void hooks_began(struct run *run, uint64_t now_ms)
{
    struct hook *h = run->hook;

    scheduler_began(run->kind == RUN_APPLY ? &h->apply.work_queue : &h->work_queue, run->started_ms,
                    now_ms);
    for (size_t i = 0; i < run->other_count; i++)
        scheduler_began(&run->others[i].hook->apply.work_queue, run->started_ms, now_ms);
    run->started_ms = now_ms;
}

struct hooks_verdict hooks_finish(struct hooks *hs, struct run *run,
                                  const struct run_result *result, uint64_t now_ms)
{
    if (run->kind == RUN_APPLY)
        return finish_apply(hs, run, result, now_ms);
    struct hook *h = run->hook;
    struct work_item *u = run->work_item;
    enum history_outcome judged = judge(h, result);
    bool ok = judged == HISTORY_OK;

    /* note_file() goes first: note_result() may open the gate, and if apply is due, it opens it to
     * GATE_APPLY only. */
    note_file(h, run, result, ok, now_ms);
    note_result(run, result, ok, now_ms);
    note_events(h, run, result, ok, now_ms);
    note_manual_run(h, u, run->manual_runs, result, ok);
    if (is_not_started(result))
        scheduler_unstarted(&h->work_queue, run->started_ms);
    scheduler_done(&hs->scheduler, &h->work_queue, u, outcome(h, run, result, judged, now_ms),
                   now_ms);
    if (u->state == WORK_ITEM_PARKED)
        note_parked(h, run, result, now_ms);
    struct hooks_verdict v = conclude(h, u, run, result, judged, now_ms);
    schedule_rerun(h, run, result, now_ms);
    if (u->manual_runs != 0 && !u->not_started) /* ordered while this run was under way */
        scheduler_now(&h->work_queue, u);
    release_deliveries(run);
    hook_check_first(h);
    run_free(run);
    return v;
}

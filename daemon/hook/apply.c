/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/apply.h"

#include <stdio.h>

void apply_init(struct apply *a, struct scheduler *s, const struct work_queue_params *params)
{
    *a = (struct apply){.wanted = params != NULL,
                        .since_ms = NEVER_MS,
                        .touched_ms = NEVER_MS,
                        .covered_ms = NEVER_MS,
                        .held_ms = NEVER_MS};
    list_init(&a->link);
    if (params == NULL)
        return;
    scheduler_add(s, &a->work_queue, params);
    a->work_queue.of = WORK_QUEUE_APPLY;
}

void apply_touch(struct apply *a, uint64_t now_ms)
{
    if (!a->wanted)
        return;
    /* since_ms is the age that people see. touched_ms limits how long the command may hold apply
     * back. Both count from the first write. */
    if (a->since_ms == NEVER_MS)
        a->since_ms = now_ms;
    if (a->touched_ms == NEVER_MS)
        a->touched_ms = now_ms;
    scheduler_touch(&a->work_queue, &a->work_item, now_ms);
}

void apply_hurry(struct apply *a)
{
    if (apply_due(a))
        scheduler_now(&a->work_queue, &a->work_item);
}

/* apply has no reruns, so each state but IDLE means that a file waits or a run is under way. */
bool apply_due(const struct apply *a)
{
    return a->work_item.state != WORK_ITEM_IDLE;
}

bool apply_may_repeat(const struct apply *a)
{
    return apply_due(a) && a->work_item.state != WORK_ITEM_RUNNING;
}

bool apply_waits(const struct apply *a)
{
    return apply_due(a) && a->work_item.state != WORK_ITEM_PARKED;
}

void apply_note_order(struct apply *a, uint64_t now_ms)
{
    if (a->work_item.manual_runs != 0 && a->touched_ms == NEVER_MS &&
        a->work_item.state == WORK_ITEM_READY)
        a->touched_ms = now_ms;
}

void apply_set_hold(struct apply *a, enum apply_hold hold, uint64_t until_ms)
{
    a->hold = hold;
    a->held_ms = until_ms;
    scheduler_block(&a->work_queue, hold != APPLY_FREE);
}

uint64_t apply_wake_ms(const struct apply *a)
{
    return a->work_item.state == WORK_ITEM_READY ? a->held_ms : NEVER_MS;
}

void apply_started(struct apply *a, uint64_t now_ms)
{
    /* This run applies all files written so far; the next write begins a new burst. */
    a->covered_ms = a->touched_ms;
    a->touched_ms = NEVER_MS;
    scheduler_started(&a->work_queue, now_ms);
}

void apply_ended(struct apply *a, struct scheduler *s, const struct run *run,
                 enum scheduler_result end, const char *text, uint64_t now_ms)
{
    bool ok = end == SCHEDULER_DONE;
    /* A file was written while apply ran: the program may have read it, or may have been past
     * it. */
    bool again = ok && a->touched_ms != NEVER_MS;

    a->runs_ok += ok;
    a->runs_failed += !ok && end != SCHEDULER_NOT_STARTED;
    if (ok) {
        a->last_error[0] = '\0';
        a->since_ms = a->touched_ms;
    } else {
        snprintf(a->last_error, sizeof(a->last_error), "%s", text);
    }
    /* No program ran, so the limit of the hold counts from the first write of that run again. */
    if (end == SCHEDULER_NOT_STARTED) {
        scheduler_unstarted(&a->work_queue, run->started_ms);
        if (a->covered_ms != NEVER_MS)
            a->touched_ms = a->covered_ms;
    }
    scheduler_done(s, &a->work_queue, &a->work_item, again ? SCHEDULER_AGAIN : end, now_ms);
    /* A manual run that was ordered while this run was under way starts at once, but not when the
     * system is short of something: then it waits for the next try. */
    if (a->work_item.manual_runs != 0 && !a->work_item.not_started)
        scheduler_now(&a->work_queue, &a->work_item);
}

uint64_t apply_age_ms(const struct apply *a, uint64_t now_ms)
{
    return apply_waits(a) && a->since_ms != NEVER_MS ? now_ms - a->since_ms : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/apply.h"

#include <stdio.h>

void apply_init(struct apply *a, struct sched *s, const struct lane_params *params)
{
    *a = (struct apply){.wanted = params != NULL,
                        .since_ms = NEVER_MS,
                        .touched_ms = NEVER_MS,
                        .covered_ms = NEVER_MS,
                        .held_ms = NEVER_MS};
    list_init(&a->unit.ready);
    if (params == NULL)
        return;
    sched_add(s, &a->lane, params);
    a->lane.of = LANE_APPLY;
}

void apply_touch(struct apply *a, uint64_t now_ms)
{
    if (!a->wanted)
        return;
    if (a->since_ms == NEVER_MS)
        a->since_ms = now_ms;
    if (a->touched_ms == NEVER_MS)
        a->touched_ms = now_ms;
    sched_touch(&a->lane, &a->unit, now_ms);
}

void apply_hurry(struct apply *a)
{
    if (apply_due(a))
        sched_now(&a->lane, &a->unit);
}

bool apply_due(const struct apply *a)
{
    return a->unit.state != UNIT_IDLE;
}

bool apply_may_repeat(const struct apply *a)
{
    return apply_due(a) && a->unit.state != UNIT_RUNNING;
}

bool apply_waits(const struct apply *a)
{
    return apply_due(a) && a->unit.state != UNIT_PARKED;
}

void apply_hold(struct apply *a, bool shut, bool busy, uint64_t now_ms)
{
    if (!a->wanted)
        return;
    if (a->unit.orders != 0 && a->touched_ms == NEVER_MS && a->unit.state == UNIT_READY)
        a->touched_ms = now_ms;
    bool holds = busy && a->touched_ms != NEVER_MS && now_ms - a->touched_ms < APPLY_HOLD_MS;
    a->held_ms = holds && !shut ? a->touched_ms + APPLY_HOLD_MS : NEVER_MS;
    sched_block(&a->lane, shut || holds);
}

bool apply_is_held(const struct apply *a)
{
    return a->held_ms != NEVER_MS;
}

uint64_t apply_wake_ms(const struct apply *a)
{
    return a->unit.state == UNIT_READY ? a->held_ms : NEVER_MS;
}

void apply_started(struct apply *a, uint64_t now_ms)
{
    a->covered_ms = a->touched_ms;
    a->touched_ms = NEVER_MS;
    sched_started(&a->lane, now_ms);
}

static void note_end(struct apply *a, const struct apply_end *end)
{
    a->runs_ok += end->how == SCHED_DONE;
    a->runs_failed += end->how == SCHED_FAILED;
    if (end->how == SCHED_DONE)
        a->last_error[0] = '\0';
    else
        snprintf(a->last_error, sizeof(a->last_error), "%s", end->text);
}

void apply_ended(struct apply *a, struct sched *s, const struct apply_end *end, uint64_t now_ms)
{
    bool again = end->how == SCHED_DONE && a->touched_ms != NEVER_MS;

    note_end(a, end);
    if (end->how == SCHED_DONE)
        a->since_ms = a->touched_ms;
    if (end->how == SCHED_DENIED) {
        sched_unstarted(&a->lane, end->started_ms);
        if (a->covered_ms != NEVER_MS)
            a->touched_ms = a->covered_ms;
    }
    sched_done(s, &a->lane, &a->unit, again ? SCHED_AGAIN : end->how, now_ms);
    if (a->unit.orders != 0 && !a->unit.denied) /* wanted while this one was under way */
        sched_now(&a->lane, &a->unit);
}

uint64_t apply_age_ms(const struct apply *a, uint64_t now_ms)
{
    return apply_waits(a) && a->since_ms != NEVER_MS ? now_ms - a->since_ms : 0;
}

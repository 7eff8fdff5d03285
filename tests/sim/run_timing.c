/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/run_timing.h"

static uint64_t min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void run_timing_init(struct run_timing *p)
{
    *p = (struct run_timing){.earliest_ms = NEVER_MS,
                             .latest_ms = NEVER_MS,
                             .rerun_earliest_ms = NEVER_MS,
                             .rerun_latest_ms = NEVER_MS,
                             .ordered_ms = NEVER_MS,
                             .place_ms = NEVER_MS};
}

/* When the burst has been quiet for long enough, or has lasted for the longest wait. */
static uint64_t settled_ms(const struct run_timing *p, const struct work_queue_params *l)
{
    return min(p->last_ms + l->settle_ms, p->first_ms + l->settle_max_ms);
}

static void due_between(struct run_timing *p, uint64_t earliest_ms, uint64_t latest_ms)
{
    p->due = true;
    p->parked = false;
    p->earliest_ms = earliest_ms;
    p->latest_ms = latest_ms;
}

static enum run_timing_effect come_forward(struct run_timing *p, const struct work_queue_params *l,
                                           uint64_t now_ms)
{
    uint64_t at = max(now_ms, p->ended_ms + l->retry.initial_ms);
    bool parked = p->parked;

    if (!parked && at >= p->earliest_ms)
        return RUN_TIMING_NOTHING;
    due_between(p, at, at);
    return parked ? RUN_TIMING_UNPARKED : RUN_TIMING_FORWARD;
}

/* A change extends the burst. A work item that may have become ready already, within splay, need
 * not wait any longer. */
static enum run_timing_effect extend(struct run_timing *p, const struct work_queue_params *l,
                                     uint64_t now_ms)
{
    p->last_ms = now_ms;
    uint64_t at = settled_ms(p, l);
    if (now_ms < p->earliest_ms)
        due_between(p, at, at + l->splay_ms);
    else if (now_ms <= p->latest_ms)
        p->latest_ms = max(p->latest_ms, at + l->splay_ms);
    else
        return RUN_TIMING_NOTHING;
    return at < now_ms + l->settle_ms ? RUN_TIMING_LIMIT : RUN_TIMING_BURST;
}

enum run_timing_effect run_timing_touch(struct run_timing *p, const struct work_queue_params *l,
                                        uint64_t now_ms)
{
    p->news_ms = now_ms;
    if (p->running) {
        p->first_ms = p->changed ? p->first_ms : now_ms;
        p->last_ms = now_ms;
        p->changed = true;
        return RUN_TIMING_NOTHING;
    }
    if (p->not_started) { /* the next try stays where it is */
        if (!p->due)
            due_between(p, p->not_started_ms, p->not_started_ms);
        return RUN_TIMING_NOTHING;
    }
    if (p->failures > 0)
        return come_forward(p, l, now_ms);
    if (p->due)
        return extend(p, l, now_ms);
    p->first_ms = now_ms;
    p->last_ms = now_ms;
    due_between(p, settled_ms(p, l), settled_ms(p, l) + l->splay_ms);
    if (now_ms >= p->rerun_earliest_ms) /* the work item is ready for its rerun */
        p->earliest_ms = now_ms;
    return RUN_TIMING_NOTHING;
}

void run_timing_hurry(struct run_timing *p, uint64_t now_ms)
{
    p->failures = 0;
    p->not_started = false;
    p->first_ms = now_ms;
    p->last_ms = now_ms;
    due_between(p, min(now_ms, p->earliest_ms), min(now_ms, p->latest_ms));
}

void run_timing_begin_hot(struct run_timing *p, const struct work_queue_params *l, uint64_t now_ms)
{
    p->first_ms = now_ms;
    p->last_ms = now_ms;
    due_between(p, p->news_ms + l->settle_ms, settled_ms(p, l) + l->splay_ms);
    p->news_ms = now_ms;
}

void run_timing_order(struct run_timing *p, uint64_t now_ms)
{
    p->ordered_ms = min(p->ordered_ms, now_ms);
    if (p->parked)
        due_between(p, now_ms, now_ms);
}

void run_timing_drop(struct run_timing *p)
{
    if (p->ordered_ms != NEVER_MS)
        p->place_ms = run_timing_ready_ms(p);
    p->failures = 0;
    p->not_started = false;
    p->due = false;
    p->parked = false;
    p->earliest_ms = NEVER_MS;
    p->latest_ms = NEVER_MS;
}

void run_timing_leave_order(struct run_timing *p, uint64_t now_ms)
{
    bool waits = p->not_started && p->failures == 0;

    if (p->failures > 0)
        p->ordered_ms = min(p->ordered_ms, now_ms);
    run_timing_drop(p);
    p->not_started = waits;
}

void run_timing_rest(struct run_timing *p, const struct work_queue_params *l, uint64_t since_ms)
{
    bool again = l->rerun_ms > 0 && since_ms != NEVER_MS;
    uint64_t at = again ? since_ms + l->rerun_ms : NEVER_MS;

    p->rerun_earliest_ms = again ? max(at, p->ended_ms) : NEVER_MS;
    p->rerun_latest_ms = again ? max(at + l->splay_ms, p->ended_ms) : NEVER_MS;
}

void run_timing_keep(struct run_timing *p, const struct work_queue_params *l, uint64_t since_ms,
                     uint64_t earliest_ms)
{
    if (p->kept_latest_ms == NEVER_MS) {
        run_timing_rest(p, l, since_ms);
        return;
    }
    earliest_ms = max(earliest_ms, p->ended_ms);
    p->rerun_earliest_ms = max(p->kept_earliest_ms, earliest_ms);
    p->rerun_latest_ms = max(p->kept_latest_ms, earliest_ms);
}

bool run_timing_may_run(const struct run_timing *p, bool can_repeat, uint64_t now_ms)
{
    if (now_ms >= p->ordered_ms)
        return true;
    if (p->due && now_ms >= p->earliest_ms)
        return true;
    return can_repeat && p->failures == 0 && now_ms >= p->rerun_earliest_ms;
}

bool run_timing_waits(const struct run_timing *p)
{
    return !p->running && (p->due || p->ordered_ms != NEVER_MS || p->rerun_latest_ms != NEVER_MS);
}

uint64_t run_timing_ready_ms(const struct run_timing *p)
{
    uint64_t due_ms = p->due ? p->earliest_ms : NEVER_MS;

    return min(min(due_ms, p->rerun_earliest_ms), min(p->ordered_ms, p->place_ms));
}

uint64_t run_timing_deadline_ms(const struct run_timing *p, bool can_repeat, bool has_matter)
{
    if (p->running)
        return NEVER_MS;
    /* The events that were due when a person ordered a run may have gone since: then the order ends by
     * itself. */
    if (p->ordered_ms != NEVER_MS)
        return has_matter ? min(p->ordered_ms, p->latest_ms) : NEVER_MS;
    if (p->due)
        return p->latest_ms;
    return can_repeat && p->failures == 0 ? p->rerun_latest_ms : NEVER_MS;
}

void run_timing_begin(struct run_timing *p, uint64_t now_ms)
{
    unsigned failures = p->failures;

    run_timing_drop(p);
    p->failures = failures;
    p->running = true;
    p->changed = false;
    p->started_ms = now_ms;
    p->ordered_ms = NEVER_MS;
    p->place_ms = NEVER_MS;
    p->had_no_slot = false;
    p->had_to_wait = false;
    p->kept_earliest_ms = p->rerun_earliest_ms;
    p->kept_latest_ms = p->rerun_latest_ms;
    p->rerun_earliest_ms = NEVER_MS;
    p->rerun_latest_ms = NEVER_MS;
}

/* A run is due after the end of the last one. Changes during that run have settled since then. */
static void begin_burst(struct run_timing *p, const struct work_queue_params *l, uint64_t now_ms)
{
    uint64_t earliest = now_ms;

    p->failures = 0;
    if (p->changed) {
        earliest = settled_ms(p, l);
    } else {
        p->first_ms = now_ms;
        p->last_ms = now_ms;
        p->news_ms = now_ms;
    }
    p->last_ms = max(p->last_ms, p->news_ms);
    due_between(p, earliest, max(now_ms, settled_ms(p, l) + l->splay_ms));
}

static uint64_t step_ms(const struct run_timing *p, const struct work_queue_params *l)
{
    double ms = (double)l->retry.initial_ms;

    for (unsigned i = 1; i < p->failures && ms < (double)l->retry.max_ms; i++)
        ms *= l->retry.factor;
    return min((uint64_t)ms, l->retry.max_ms);
}

bool run_timing_is_spent(const struct run_timing *p, const struct work_queue_params *l, bool parks)
{
    return parks || (l->attempts > 0 && p->failures + 1 >= l->attempts);
}

static void fail(struct run_timing *p, const struct work_queue_params *l, bool parks,
                 uint64_t now_ms)
{
    bool spent = run_timing_is_spent(p, l, parks);

    p->failures++;
    uint64_t ms = step_ms(p, l);
    if (p->changed)
        ms = min(ms, l->retry.initial_ms);
    due_between(p, now_ms + ms, now_ms + ms);
    if (!spent || p->changed || p->ordered_ms != NEVER_MS)
        return;
    p->parked = true;
    p->earliest_ms = NEVER_MS;
    p->latest_ms = NEVER_MS;
}

/* The system could not start the run: the backoff stands still, and a manual run stays wanted. */
static void deny(struct run_timing *p, const struct run_timing_end *end, uint64_t now_ms)
{
    bool ordered = p->ordered_ms != NEVER_MS;

    p->not_started_ms = now_ms + SCHEDULER_NOT_STARTED_MS;
    p->not_started = end->due || ordered || end->rerun;
    if (ordered)
        p->ordered_ms = p->not_started_ms;
    if (end->due)
        due_between(p, p->not_started_ms, p->not_started_ms);
    else if (!ordered)
        p->failures = 0;
    p->changed = false;
}

void run_timing_end(struct run_timing *p, const struct work_queue_params *l,
                    const struct run_timing_end *end, uint64_t now_ms)
{
    p->running = false;
    p->ended_ms = now_ms;
    if (end->not_started) {
        deny(p, end, now_ms);
        return;
    }
    if (p->ordered_ms != NEVER_MS) {
        p->ordered_ms = now_ms;
        p->news_ms = end->ok && !p->changed ? now_ms : p->news_ms;
    }
    if (!end->due && p->ordered_ms != NEVER_MS && !end->ok && !end->another)
        p->failures++;
    else if (!end->due)
        p->failures = 0;
    else if (end->ok || end->another)
        begin_burst(p, l, now_ms);
    else
        fail(p, l, end->parks, now_ms);
    p->changed = false;
}

/* The rerun moves by as much as the interval has changed. A time that is over may be later than the
 * one that it stands for, which was before the end of a run. */
static void move_rerun(uint64_t *earliest_ms, uint64_t *latest_ms, uint64_t was_ms, uint64_t is_ms,
                       uint64_t now_ms)
{
    if (*latest_ms == NEVER_MS || was_ms == is_ms)
        return;
    if (is_ms == 0) {
        *earliest_ms = *latest_ms = NEVER_MS;
        return;
    }
    if (*earliest_ms > now_ms)
        *earliest_ms = *earliest_ms - min(was_ms, *earliest_ms) + is_ms;
    *latest_ms = max(now_ms, *latest_ms - min(was_ms, *latest_ms) + is_ms);
}

/* A settle time under way. Behind its earliest end the work item may be ready already, and then it
 * stays ready. A later change of a source that is not seen yet (news_ms) may count as one of the burst:
 * more may come. */
static void move_settle(struct run_timing *p, const struct work_queue_params *l, uint64_t now_ms)
{
    uint64_t at = settled_ms(p, l);
    uint64_t quiet = max(p->last_ms, p->news_ms) + l->settle_ms;
    uint64_t latest = max(now_ms, min(quiet, p->first_ms + l->settle_max_ms) + l->splay_ms);

    if (now_ms > p->latest_ms)
        return;
    p->latest_ms = now_ms < p->earliest_ms ? latest : max(p->latest_ms, latest);
    p->earliest_ms = min(p->earliest_ms, at);
}

/* The rerun is dropped, and something else is due: if the work item is ready already, it keeps its
 * place. */
static void keep_place(struct run_timing *p, const struct work_queue_params *l, uint64_t now_ms)
{
    bool stays = p->due || p->ordered_ms != NEVER_MS;

    if (l->rerun_ms == 0 && stays && now_ms >= p->rerun_earliest_ms)
        p->place_ms = min(p->place_ms, p->rerun_earliest_ms);
}

void run_timing_change(struct run_timing *p, const struct work_queue_params *l,
                       const struct work_queue_params *was, uint64_t now_ms)
{
    uint64_t retry_ms = p->ended_ms + step_ms(p, l);

    keep_place(p, l, now_ms);
    move_rerun(&p->rerun_earliest_ms, &p->rerun_latest_ms, was->rerun_ms, l->rerun_ms, now_ms);
    if (p->running)
        move_rerun(&p->kept_earliest_ms, &p->kept_latest_ms, was->rerun_ms, l->rerun_ms, now_ms);
    if (!p->running && !p->due && p->ordered_ms == NEVER_MS)
        p->not_started = false; /* a rerun, which rests again */
    if (p->running || !p->due || p->parked || p->not_started)
        return;
    if (p->failures == 0) {
        move_settle(p, l, now_ms);
    } else if (retry_ms < p->earliest_ms) {
        p->earliest_ms = retry_ms;
        p->latest_ms = max(now_ms, retry_ms);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/scheduler.h"

#include "base/panic.h"

void scheduler_init(struct scheduler *s, unsigned shared, uint64_t seed)
{
    list_init(&s->work_queues);
    s->shared = shared;
    s->shared_used = 0;
    rng_seed(&s->rng, seed);
}

void scheduler_add(struct scheduler *s, struct work_queue *wq,
                   const struct work_queue_params *params)
{
    ensure(params->concurrency > 0 && params->settle_ms <= params->settle_max_ms);
    *wq = (struct work_queue){.params = *params, .last_start_ms = NEVER_MS, .rng = &s->rng};
    list_init(&wq->ready);
    list_append(&s->work_queues, &wq->link);
}

void scheduler_remove(struct work_queue *wq)
{
    ensure(wq->running == 0);
    list_remove(&wq->link);
}

/* The only writer of u->state: takes the work item out of the heap or list that belongs to its old
 * state. */
static void leave(struct work_queue *wq, struct work_item *u, enum work_item_state next)
{
    switch (u->state) {
    case WORK_ITEM_SETTLING:
    case WORK_ITEM_BACKOFF:
    case WORK_ITEM_RESTING:
        heap_remove(&wq->waiting, &u->timer);
        wq->settling -= u->state == WORK_ITEM_SETTLING;
        break;
    case WORK_ITEM_READY:
        list_remove(&u->ready);
        break;
    case WORK_ITEM_PARKED:
        wq->parked--;
        if (u->expires) {
            heap_remove(&wq->expiring, &u->timer);
            wq->expiring_count--;
        }
        u->expires = false;
        break;
    case WORK_ITEM_IDLE:
    case WORK_ITEM_RUNNING:
        break;
    }
    u->state = next;
}

static void wait_until(struct work_queue *wq, struct work_item *u, enum work_item_state state,
                       uint64_t due_ms)
{
    leave(wq, u, state);
    wq->settling += state == WORK_ITEM_SETTLING;
    heap_push(&wq->waiting, &u->timer, due_ms);
}

static void make_ready(struct work_queue *wq, struct work_item *u)
{
    leave(wq, u, WORK_ITEM_READY);
    list_append(&wq->ready, &u->ready);
}

void scheduler_park(struct work_queue *wq, struct work_item *u)
{
    leave(wq, u, WORK_ITEM_PARKED);
    wq->parked++;
}

void scheduler_expire(struct work_queue *wq, struct work_item *u, uint64_t due_ms)
{
    ensure(u->state == WORK_ITEM_PARKED);
    if (u->expires)
        heap_remove(&wq->expiring, &u->timer);
    else
        wq->expiring_count++;
    u->expires = true;
    heap_push(&wq->expiring, &u->timer, due_ms);
}

struct work_item *scheduler_expired(const struct work_queue *wq, uint64_t now_ms, size_t max)
{
    struct heap_node *first = heap_peek(&wq->expiring);
    /* Too many: the one that would expire first goes now. */
    bool many = max > 0 && wq->expiring_count > max;

    if (first == NULL || (!many && first->due_ms > now_ms))
        return NULL;
    return container_of(first, struct work_item, timer);
}

/* Nothing is due but the rerun, if there is one. */
static void rest(struct work_queue *wq, struct work_item *u)
{
    if (u->rerun_at_ms > 0)
        wait_until(wq, u, WORK_ITEM_RESTING, u->rerun_at_ms);
    else
        leave(wq, u, WORK_ITEM_IDLE);
}

static uint64_t draw_splay(const struct work_queue *wq)
{
    return wq->params.splay_ms > 0 ? rng_between(wq->rng, 0, wq->params.splay_ms) : 0;
}

static void settle(struct work_queue *wq, struct work_item *u)
{
    /* An object that never stops changing must not be kept from the hook, so a wait has an end
     * (docs/design.md "Timing"). splay comes on top of both. */
    uint64_t quiet = u->changed_ms + wq->params.settle_ms;
    uint64_t last = u->first_ms + wq->params.settle_max_ms;

    if (wq->params.settle_ms == 0 && u->splay_ms == 0)
        make_ready(wq, u);
    else
        wait_until(wq, u, WORK_ITEM_SETTLING, (quiet < last ? quiet : last) + u->splay_ms);
}

/* The first change of a burst. */
static void begin_burst(struct work_queue *wq, struct work_item *u, uint64_t now_ms)
{
    u->first_ms = now_ms;
    u->splay_ms = draw_splay(wq);
    settle(wq, u);
}

/* A change is worth another try, but not at once (docs/design.md "Retry"). It never puts a try off
 * that is due earlier anyway. A parked work item has no time to compare with. */
static void come_forward(struct work_queue *wq, struct work_item *u, uint64_t now_ms)
{
    uint64_t earliest = u->ended_ms + wq->params.retry.initial_ms;
    uint64_t due = now_ms > earliest ? now_ms : earliest;

    if (u->state == WORK_ITEM_PARKED || due < u->timer.due_ms)
        wait_until(wq, u, WORK_ITEM_BACKOFF, due);
}

void scheduler_touch(struct work_queue *wq, struct work_item *u, uint64_t now_ms)
{
    u->changed_ms = now_ms;
    switch (u->state) {
    case WORK_ITEM_IDLE:
    case WORK_ITEM_RESTING:
        begin_burst(wq, u, now_ms);
        break;
    case WORK_ITEM_SETTLING:
        settle(wq, u);
        break;
    case WORK_ITEM_BACKOFF:
    case WORK_ITEM_PARKED:
        /* A change does not end a shortage. */
        if (!u->not_started)
            come_forward(wq, u, now_ms);
        break;
    case WORK_ITEM_RUNNING:
        /* When the run has ended, scheduler_done() must know of the first change since its
         * start. */
        if (u->first_ms == NEVER_MS)
            u->first_ms = now_ms;
        break;
    /* The run will have this change, too. */
    case WORK_ITEM_READY:
        break;
    }
}

/* Keeps count of the work items that could not be started: when none is left, the shortage is over
 * and io/runner says so. */
static void set_not_started(struct work_queue *wq, struct work_item *u, bool not_started)
{
    wq->not_started += not_started;
    wq->not_started -= u->not_started;
    u->not_started = not_started;
}

static void reset_backoff(struct work_queue *wq, struct work_item *u)
{
    set_not_started(wq, u, false);
    backoff_reset(&u->backoff);
    u->failures = 0;
}

void scheduler_now(struct work_queue *wq, struct work_item *u)
{
    if (u->state != WORK_ITEM_RUNNING && u->state != WORK_ITEM_READY)
        make_ready(wq, u);
}

void scheduler_hurry(struct work_queue *wq, struct work_item *u)
{
    reset_backoff(wq, u);
    scheduler_now(wq, u);
}

void scheduler_drop(struct work_queue *wq, struct work_item *u)
{
    if (u->state == WORK_ITEM_RUNNING)
        return;
    rest(wq, u);
    reset_backoff(wq, u);
}

void scheduler_rest(struct work_queue *wq, struct work_item *u, uint64_t since_ms)
{
    bool again = since_ms != NEVER_MS && wq->params.rerun_ms > 0;

    scheduler_rest_until(wq, u, again ? since_ms + wq->params.rerun_ms + draw_splay(wq) : 0);
}

void scheduler_rest_until(struct work_queue *wq, struct work_item *u, uint64_t at_ms)
{
    ensure(u->state != WORK_ITEM_RUNNING);
    u->rerun_at_ms = at_ms;
    if (u->state == WORK_ITEM_IDLE || u->state == WORK_ITEM_RESTING)
        rest(wq, u);
}

/* ---- Other settings. */

void scheduler_change(struct work_queue *wq, const struct work_queue_params *params)
{
    ensure(params->concurrency > 0 && params->settle_ms <= params->settle_max_ms);
    wq->params = *params;
}

/* The pause after so many failures, without jitter. */
static double pause_ms(const struct backoff_params *p, unsigned failures)
{
    double max = (double)p->max_ms;
    double ms = (double)p->initial_ms;

    for (unsigned i = 1; i < failures && ms < max && p->factor > 1; i++)
        ms *= p->factor;
    return ms < max ? ms : max;
}

/* The pause under way ends early if it would be shorter now. It is never made longer: nobody who
 * edits a setting wants a key to wait for another hour. */
static void follow_retry(struct work_queue *wq, struct work_item *u)
{
    uint64_t due = u->ended_ms + (uint64_t)pause_ms(&wq->params.retry, u->failures);

    if (u->failures == 0)
        return;
    u->backoff.next_ms = pause_ms(&wq->params.retry, u->failures + 1);
    if (u->state == WORK_ITEM_BACKOFF && !u->not_started && due < u->timer.due_ms)
        wait_until(wq, u, WORK_ITEM_BACKOFF, due);
}

/* The rerun moves by as much as the interval has changed, with the splay that it has. */
static void follow_rerun(struct work_queue *wq, struct work_item *u, uint64_t was_ms)
{
    uint64_t since_ms = u->rerun_at_ms > was_ms ? u->rerun_at_ms - was_ms : 0;

    if (u->rerun_at_ms == 0)
        return;
    u->rerun_at_ms = wq->params.rerun_ms > 0 ? since_ms + wq->params.rerun_ms : 0;
    if (u->state == WORK_ITEM_RESTING)
        rest(wq, u);
}

void scheduler_follow(struct work_queue *wq, struct work_item *u,
                      const struct work_queue_params *was)
{
    if (was->rerun_ms != wq->params.rerun_ms)
        follow_rerun(wq, u, was->rerun_ms);
    follow_retry(wq, u);
    if (u->state != WORK_ITEM_SETTLING)
        return;
    if (u->splay_ms > wq->params.splay_ms)
        u->splay_ms = wq->params.splay_ms;
    settle(wq, u);
}

void scheduler_block(struct work_queue *wq, bool blocked)
{
    wq->blocked = blocked;
}

/* Work items whose time has come become ready, in the order of their times. */
static void wake_due(struct work_queue *wq, uint64_t now_ms)
{
    struct heap_node *node;

    while ((node = heap_peek(&wq->waiting)) != NULL && node->due_ms <= now_ms)
        make_ready(wq, container_of(node, struct work_item, timer));
}

bool scheduler_is_busy(const struct work_queue *wq, uint64_t now_ms)
{
    const struct heap_node *node = heap_peek(&wq->waiting);
    bool ready = !list_is_empty(&wq->ready) || (node != NULL && node->due_ms <= now_ms);

    /* A blocked queue starts nothing, so apply need not wait for it. */
    return wq->running > 0 || (ready && !wq->blocked);
}

/* The first run of a queue uses its own slot, each further one a shared slot. */
static bool has_slot(const struct scheduler *s, const struct work_queue *wq)
{
    if (wq->running == 0)
        return true;
    return wq->running < wq->params.concurrency && s->shared_used < s->shared;
}

uint64_t scheduler_earliest_ms(const struct work_queue *wq)
{
    return wq->last_start_ms != NEVER_MS ? wq->last_start_ms + wq->params.min_interval_ms : 0;
}

/* Could a work item of the queue start but for min_interval? */
static bool has_startable(const struct scheduler *s, const struct work_queue *wq)
{
    return !wq->blocked && !list_is_empty(&wq->ready) && has_slot(s, wq);
}

static struct work_item *start_first(struct scheduler *s, struct work_queue *wq)
{
    struct work_item *u = list_entry(list_first(&wq->ready), struct work_item, ready);

    leave(wq, u, WORK_ITEM_RUNNING);
    u->first_ms = NEVER_MS;
    if (wq->running++ > 0)
        s->shared_used++;
    list_remove(&wq->link); /* behind the others, so that shared slots go round */
    list_append(&s->work_queues, &wq->link);
    return u;
}

struct work_item *scheduler_next(struct scheduler *s, uint64_t now_ms, struct work_queue **wq)
{
    list_each (pos, tmp, &s->work_queues) {
        struct work_queue *l = list_entry(pos, struct work_queue, link);

        wake_due(l, now_ms);
        if (!has_startable(s, l) || now_ms < scheduler_earliest_ms(l))
            continue;
        *wq = l;
        return start_first(s, l);
    }
    return NULL;
}

void scheduler_join(struct work_queue *wq, struct work_item *u)
{
    ensure(wq->running == 0 && u->state != WORK_ITEM_RUNNING);
    leave(wq, u, WORK_ITEM_RUNNING);
    u->first_ms = NEVER_MS;
    wq->running++; /* its own slot */
}

void scheduler_started(struct work_queue *wq, uint64_t now_ms)
{
    wq->last_start_ms = now_ms;
}

void scheduler_began(struct work_queue *wq, uint64_t started_ms, uint64_t now_ms)
{
    if (wq->last_start_ms == started_ms)
        scheduler_started(wq, now_ms);
}

void scheduler_unstarted(struct work_queue *wq, uint64_t started_ms)
{
    /* The interval after the start before this one was over. */
    if (wq->last_start_ms == started_ms)
        wq->last_start_ms = NEVER_MS;
}

bool scheduler_is_last_try(const struct work_queue *wq, const struct work_item *u)
{
    return wq->params.attempts > 0 && u->failures + 1 >= wq->params.attempts;
}

/* The run has failed: the next try, or parked. A change during the run has not been tried yet, so
 * it brings the next try forward, and keeps the work item from being parked. */
static void back_off(struct scheduler *s, struct work_queue *wq, struct work_item *u,
                     enum scheduler_result result)
{
    bool changed = u->first_ms != NEVER_MS;
    /* A run that parks is a step of the backoff, too: a change may un-park it, and its next failure
     * goes on from there. */
    uint64_t ms = backoff_step(&u->backoff, &wq->params.retry, &s->rng);

    u->failures++;
    if (result == SCHEDULER_PARKED && !changed) {
        scheduler_park(wq, u);
        return;
    }
    if (changed && ms > wq->params.retry.initial_ms)
        ms = wq->params.retry.initial_ms;
    wait_until(wq, u, WORK_ITEM_BACKOFF, u->ended_ms + ms);
}

void scheduler_done(struct scheduler *s, struct work_queue *wq, struct work_item *u,
                    enum scheduler_result result, uint64_t now_ms)
{
    ensure(u->state == WORK_ITEM_RUNNING && wq->running > 0);
    /* The mirror image of start_first(): the last run of a queue had its own slot. */
    if (--wq->running > 0)
        s->shared_used--;
    leave(wq, u, WORK_ITEM_IDLE);
    u->ended_ms = now_ms;
    set_not_started(wq, u, result == SCHEDULER_NOT_STARTED);
    /* No attempt: neither failures nor backoff change (docs/design.md "Retry"). */
    if (result == SCHEDULER_NOT_STARTED) {
        wait_until(wq, u, WORK_ITEM_BACKOFF, now_ms + SCHEDULER_NOT_STARTED_MS);
        return;
    }
    if (result == SCHEDULER_FAILED || result == SCHEDULER_PARKED) {
        back_off(s, wq, u, result);
        return;
    }
    reset_backoff(wq, u);
    if (result == SCHEDULER_DONE)
        return;
    if (u->first_ms == NEVER_MS)
        u->changed_ms = now_ms;
    /* Changes during the run settle from the first of them. Without any, another event is due now,
     * for example of the next incarnation, and settles from the end of the run. */
    begin_burst(wq, u, u->first_ms != NEVER_MS ? u->first_ms : now_ms);
}

/* When the queue may have another work item to start: one becomes ready or expires, or min_interval
 * is over for one that is ready. A queue without a free slot need not wake up: the end of a run
 * calls hooks_next(). */
static uint64_t work_queue_wake_ms(const struct scheduler *s, const struct work_queue *wq)
{
    const struct heap_node *node = heap_peek(&wq->waiting);
    const struct heap_node *parked = heap_peek(&wq->expiring);
    uint64_t due = node != NULL ? node->due_ms : NEVER_MS;

    if (parked != NULL && parked->due_ms < due)
        due = parked->due_ms;
    if (has_startable(s, wq) && scheduler_earliest_ms(wq) < due)
        return scheduler_earliest_ms(wq);
    return due;
}

uint64_t scheduler_wake_ms(const struct scheduler *s)
{
    uint64_t soonest = NEVER_MS;

    list_each (pos, tmp, &s->work_queues) {
        uint64_t due = work_queue_wake_ms(s, list_entry(pos, struct work_queue, link));

        if (due < soonest)
            soonest = due;
    }
    return soonest;
}

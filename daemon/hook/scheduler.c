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
    *wq = (struct work_queue){.params = *params, .rng = &s->rng};
    list_init(&wq->ready);
    list_append(&s->work_queues, &wq->link);
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
    ensure(u->state == WORK_ITEM_PARKED && !u->expires);
    u->expires = true;
    wq->expiring_count++;
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
        if (!has_startable(s, l) || now_ms < l->earliest_ms)
            continue;
        *wq = l;
        return start_first(s, l);
    }
    return NULL;
}

void scheduler_started(struct work_queue *wq, uint64_t now_ms)
{
    wq->earliest_ms = now_ms + wq->params.min_interval_ms;
}

/* Was this the last start of the queue? earliest_ms comes from the last one. */
static bool was_last(const struct work_queue *wq, uint64_t started_ms)
{
    return wq->earliest_ms == started_ms + wq->params.min_interval_ms;
}

void scheduler_began(struct work_queue *wq, uint64_t started_ms, uint64_t now_ms)
{
    if (was_last(wq, started_ms))
        scheduler_started(wq, now_ms);
}

void scheduler_unstarted(struct work_queue *wq, uint64_t started_ms)
{
    if (was_last(wq, started_ms))
        wq->earliest_ms = started_ms;
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
    return has_startable(s, wq) && wq->earliest_ms < due ? wq->earliest_ms : due;
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

/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/sched.h"

#include "base/panic.h"

void sched_init(struct sched *s, unsigned shared, uint64_t seed)
{
    list_init(&s->lanes);
    s->shared = shared;
    s->shared_used = 0;
    rng_seed(&s->rng, seed);
}

void sched_add(struct sched *s, struct lane *lane, const struct lane_params *params)
{
    ensure(params->concurrency > 0 && params->settle_ms <= params->settle_max_ms);
    *lane = (struct lane){.params = *params, .rng = &s->rng};
    list_init(&lane->ready);
    list_append(&s->lanes, &lane->link);
}

/* The only writer of u->state: takes the unit off the queue of its old state. */
static void leave(struct lane *lane, struct unit *u, enum unit_state next)
{
    switch (u->state) {
    case UNIT_SETTLING:
    case UNIT_BACKOFF:
    case UNIT_RESTING:
        heap_remove(&lane->waiting, &u->timer);
        break;
    case UNIT_READY:
        list_remove(&u->ready);
        break;
    case UNIT_PARKED:
        lane->parked--;
        if (u->expires) {
            heap_remove(&lane->expiring, &u->timer);
            lane->expiring_count--;
        }
        u->expires = false;
        break;
    case UNIT_IDLE:
    case UNIT_RUNNING:
        break;
    }
    u->state = next;
}

static void wait_until(struct lane *lane, struct unit *u, enum unit_state state, uint64_t due_ms)
{
    leave(lane, u, state);
    heap_push(&lane->waiting, &u->timer, due_ms);
}

static void make_ready(struct lane *lane, struct unit *u)
{
    leave(lane, u, UNIT_READY);
    list_append(&lane->ready, &u->ready);
}

void sched_park(struct lane *lane, struct unit *u)
{
    leave(lane, u, UNIT_PARKED);
    lane->parked++;
}

void sched_expire(struct lane *lane, struct unit *u, uint64_t due_ms)
{
    ensure(u->state == UNIT_PARKED && !u->expires);
    u->expires = true;
    lane->expiring_count++;
    heap_push(&lane->expiring, &u->timer, due_ms);
}

struct unit *sched_expired(const struct lane *lane, uint64_t now_ms, size_t max)
{
    struct heap_node *first = heap_peek(&lane->expiring);
    bool many = max > 0 && lane->expiring_count > max;

    if (first == NULL || (!many && first->due_ms > now_ms))
        return NULL;
    return container_of(first, struct unit, timer);
}

static void rest(struct lane *lane, struct unit *u)
{
    if (u->rerun_at_ms > 0)
        wait_until(lane, u, UNIT_RESTING, u->rerun_at_ms);
    else
        leave(lane, u, UNIT_IDLE);
}

static uint64_t draw_splay(const struct lane *lane)
{
    return lane->params.splay_ms > 0 ? rng_between(lane->rng, 0, lane->params.splay_ms) : 0;
}

static void settle(struct lane *lane, struct unit *u)
{
    uint64_t quiet = u->changed_ms + lane->params.settle_ms;
    uint64_t last = u->first_ms + lane->params.settle_max_ms;

    if (lane->params.settle_ms == 0 && u->splay_ms == 0)
        make_ready(lane, u);
    else
        wait_until(lane, u, UNIT_SETTLING, (quiet < last ? quiet : last) + u->splay_ms);
}

/* The first change of a burst. */
static void begin_burst(struct lane *lane, struct unit *u, uint64_t now_ms)
{
    u->first_ms = now_ms;
    u->splay_ms = draw_splay(lane);
    settle(lane, u);
}

/* A change is worth another try, but not at once. */
static void come_forward(struct lane *lane, struct unit *u, uint64_t now_ms)
{
    uint64_t earliest = u->ended_ms + lane->params.retry.initial_ms;
    uint64_t due = now_ms > earliest ? now_ms : earliest;

    if (u->state == UNIT_PARKED || due < u->timer.due_ms)
        wait_until(lane, u, UNIT_BACKOFF, due);
}

void sched_touch(struct lane *lane, struct unit *u, uint64_t now_ms)
{
    u->changed_ms = now_ms;
    switch (u->state) {
    case UNIT_IDLE:
    case UNIT_RESTING:
        begin_burst(lane, u, now_ms);
        break;
    case UNIT_SETTLING:
        settle(lane, u);
        break;
    case UNIT_BACKOFF:
    case UNIT_PARKED:
        if (!u->denied)
            come_forward(lane, u, now_ms);
        break;
    case UNIT_RUNNING:
        if (u->first_ms == NEVER_MS)
            u->first_ms = now_ms;
        break;
    case UNIT_READY:
        break;
    }
}

static void set_denied(struct lane *lane, struct unit *u, bool denied)
{
    lane->denied += denied;
    lane->denied -= u->denied;
    u->denied = denied;
}

static void reset_ladder(struct lane *lane, struct unit *u)
{
    set_denied(lane, u, false);
    backoff_reset(&u->backoff);
    u->failures = 0;
}

void sched_now(struct lane *lane, struct unit *u)
{
    if (u->state != UNIT_RUNNING && u->state != UNIT_READY)
        make_ready(lane, u);
}

void sched_hurry(struct lane *lane, struct unit *u)
{
    reset_ladder(lane, u);
    sched_now(lane, u);
}

void sched_drop(struct lane *lane, struct unit *u)
{
    if (u->state == UNIT_RUNNING)
        return;
    rest(lane, u);
    reset_ladder(lane, u);
}

void sched_rest(struct lane *lane, struct unit *u, uint64_t since_ms)
{
    bool again = since_ms != NEVER_MS && lane->params.rerun_ms > 0;

    sched_rest_until(lane, u, again ? since_ms + lane->params.rerun_ms + draw_splay(lane) : 0);
}

void sched_rest_until(struct lane *lane, struct unit *u, uint64_t at_ms)
{
    ensure(u->state != UNIT_RUNNING);
    u->rerun_at_ms = at_ms;
    if (u->state == UNIT_IDLE || u->state == UNIT_RESTING)
        rest(lane, u);
}

void sched_block(struct lane *lane, bool blocked)
{
    lane->blocked = blocked;
}

static void wake_due(struct lane *lane, uint64_t now_ms)
{
    struct heap_node *node;

    while ((node = heap_peek(&lane->waiting)) != NULL && node->due_ms <= now_ms)
        make_ready(lane, container_of(node, struct unit, timer));
}

bool sched_is_busy(const struct lane *lane, uint64_t now_ms)
{
    const struct heap_node *node = heap_peek(&lane->waiting);
    bool ready = !list_is_empty(&lane->ready) || (node != NULL && node->due_ms <= now_ms);

    return lane->running > 0 || (ready && !lane->blocked);
}

static bool has_slot(const struct sched *s, const struct lane *lane)
{
    if (lane->running == 0)
        return true;
    return lane->running < lane->params.concurrency && s->shared_used < s->shared;
}

/* Does only min_interval, if anything, keep a unit of the lane from its start? */
static bool has_startable(const struct sched *s, const struct lane *lane)
{
    return !lane->blocked && !list_is_empty(&lane->ready) && has_slot(s, lane);
}

static struct unit *start_first(struct sched *s, struct lane *lane)
{
    struct unit *u = list_entry(list_first(&lane->ready), struct unit, ready);

    leave(lane, u, UNIT_RUNNING);
    u->first_ms = NEVER_MS;
    if (lane->running++ > 0)
        s->shared_used++;
    list_remove(&lane->link); /* behind the others: shared slots go round */
    list_append(&s->lanes, &lane->link);
    return u;
}

struct unit *sched_next(struct sched *s, uint64_t now_ms, struct lane **lane)
{
    list_each (pos, tmp, &s->lanes) {
        struct lane *l = list_entry(pos, struct lane, link);

        wake_due(l, now_ms);
        if (!has_startable(s, l) || now_ms < l->earliest_ms)
            continue;
        *lane = l;
        return start_first(s, l);
    }
    return NULL;
}

void sched_started(struct lane *lane, uint64_t now_ms)
{
    lane->earliest_ms = now_ms + lane->params.min_interval_ms;
}

/* Has nothing of the lane started since? */
static bool was_last(const struct lane *lane, uint64_t started_ms)
{
    return lane->earliest_ms == started_ms + lane->params.min_interval_ms;
}

void sched_began(struct lane *lane, uint64_t started_ms, uint64_t now_ms)
{
    if (was_last(lane, started_ms))
        sched_started(lane, now_ms);
}

void sched_unstarted(struct lane *lane, uint64_t started_ms)
{
    if (was_last(lane, started_ms))
        lane->earliest_ms = started_ms;
}

bool sched_is_last_try(const struct lane *lane, const struct unit *u)
{
    return lane->params.attempts > 0 && u->failures + 1 >= lane->params.attempts;
}

/* What changed while the run failed has not been tried yet: it brings the next try forward. */
static void back_off(struct sched *s, struct lane *lane, struct unit *u, enum sched_result result)
{
    bool changed = u->first_ms != NEVER_MS;
    bool parks = result == SCHED_PARKED || sched_is_last_try(lane, u);
    uint64_t ms = backoff_step(&u->backoff, &lane->params.retry, &s->rng);

    u->failures++;
    if (parks && !changed) {
        sched_park(lane, u);
        return;
    }
    if (changed && ms > lane->params.retry.initial_ms)
        ms = lane->params.retry.initial_ms;
    wait_until(lane, u, UNIT_BACKOFF, u->ended_ms + ms);
}

void sched_done(struct sched *s, struct lane *lane, struct unit *u, enum sched_result result,
                uint64_t now_ms)
{
    ensure(u->state == UNIT_RUNNING && lane->running > 0);
    if (--lane->running > 0)
        s->shared_used--;
    leave(lane, u, UNIT_IDLE);
    u->ended_ms = now_ms;
    set_denied(lane, u, result == SCHED_DENIED);
    if (result == SCHED_DENIED) {
        wait_until(lane, u, UNIT_BACKOFF, now_ms + SCHED_DENIED_MS);
        return;
    }
    if (result == SCHED_FAILED || result == SCHED_PARKED) {
        back_off(s, lane, u, result);
        return;
    }
    reset_ladder(lane, u);
    if (result == SCHED_DONE)
        return;
    if (u->first_ms == NEVER_MS)
        u->changed_ms = now_ms;
    begin_burst(lane, u, u->first_ms != NEVER_MS ? u->first_ms : now_ms);
}

/* A lane that waits for min_interval is due when that is over; one without a slot when a run
 * ends. */
static uint64_t lane_wake_ms(const struct sched *s, const struct lane *lane)
{
    const struct heap_node *node = heap_peek(&lane->waiting);
    const struct heap_node *parked = heap_peek(&lane->expiring);
    uint64_t due = node != NULL ? node->due_ms : NEVER_MS;

    if (parked != NULL && parked->due_ms < due)
        due = parked->due_ms;
    return has_startable(s, lane) && lane->earliest_ms < due ? lane->earliest_ms : due;
}

uint64_t sched_wake_ms(const struct sched *s)
{
    uint64_t soonest = NEVER_MS;

    list_each (pos, tmp, &s->lanes) {
        uint64_t due = lane_wake_ms(s, list_entry(pos, struct lane, link));

        if (due < soonest)
            soonest = due;
    }
    return soonest;
}

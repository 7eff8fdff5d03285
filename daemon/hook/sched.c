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
    *lane = (struct lane){.params = *params};
    list_init(&lane->ready);
    list_append(&s->lanes, &lane->link);
}

/* The only writer of u->state: takes the unit off the queue of its old state. */
static void leave(struct lane *lane, struct unit *u, enum unit_state next)
{
    switch (u->state) {
    case UNIT_SETTLING:
    case UNIT_BACKOFF:
        heap_remove(&lane->waiting, &u->timer);
        break;
    case UNIT_READY:
        list_remove(&u->ready);
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

static void settle(struct lane *lane, struct unit *u)
{
    uint64_t quiet = u->changed_ms + lane->params.settle_ms;
    uint64_t last = u->first_ms + lane->params.settle_max_ms;

    if (lane->params.settle_ms == 0)
        make_ready(lane, u);
    else
        wait_until(lane, u, UNIT_SETTLING, quiet < last ? quiet : last);
}

void sched_touch(struct lane *lane, struct unit *u, uint64_t now_ms)
{
    u->changed_ms = now_ms;
    switch (u->state) {
    case UNIT_IDLE:
        u->first_ms = now_ms;
        settle(lane, u);
        break;
    case UNIT_SETTLING:
        settle(lane, u);
        break;
    case UNIT_BACKOFF: {
        uint64_t earliest = u->ended_ms + lane->params.retry.initial_ms;
        uint64_t due = now_ms > earliest ? now_ms : earliest;

        if (due < u->timer.due_ms)
            wait_until(lane, u, UNIT_BACKOFF, due);
        break;
    }
    case UNIT_RUNNING:
        if (u->first_ms == NEVER_MS)
            u->first_ms = now_ms;
        break;
    case UNIT_READY:
        break;
    }
}

void sched_hurry(struct lane *lane, struct unit *u)
{
    backoff_reset(&u->backoff);
    u->failures = 0;
    if (u->state != UNIT_RUNNING && u->state != UNIT_READY)
        make_ready(lane, u);
}

void sched_drop(struct lane *lane, struct unit *u)
{
    if (u->state == UNIT_RUNNING)
        return;
    leave(lane, u, UNIT_IDLE);
    backoff_reset(&u->backoff);
    u->failures = 0;
}

static void wake_due(struct lane *lane, uint64_t now_ms)
{
    struct heap_node *node;

    while ((node = heap_peek(&lane->waiting)) != NULL && node->due_ms <= now_ms)
        make_ready(lane, container_of(node, struct unit, timer));
}

static bool has_slot(const struct sched *s, const struct lane *lane)
{
    if (lane->running == 0)
        return true;
    return lane->running < lane->params.concurrency && s->shared_used < s->shared;
}

struct unit *sched_next(struct sched *s, uint64_t now_ms, struct lane **lane)
{
    list_each (pos, tmp, &s->lanes) {
        struct lane *l = list_entry(pos, struct lane, link);

        wake_due(l, now_ms);
        if (list_is_empty(&l->ready) || !has_slot(s, l))
            continue;
        struct unit *u = list_entry(list_first(&l->ready), struct unit, ready);
        leave(l, u, UNIT_RUNNING);
        u->first_ms = NEVER_MS;
        if (l->running++ > 0)
            s->shared_used++;
        list_remove(&l->link); /* behind the others: shared slots go round */
        list_append(&s->lanes, &l->link);
        *lane = l;
        return u;
    }
    return NULL;
}

/* What changed while the run failed has not been tried yet: it brings the next try forward. */
static void back_off(struct sched *s, struct lane *lane, struct unit *u, uint64_t now_ms)
{
    uint64_t ms = backoff_step(&u->backoff, &lane->params.retry, &s->rng);

    u->failures++;
    u->ended_ms = now_ms;
    if (u->first_ms != NEVER_MS && ms > lane->params.retry.initial_ms)
        ms = lane->params.retry.initial_ms;
    wait_until(lane, u, UNIT_BACKOFF, now_ms + ms);
}

void sched_done(struct sched *s, struct lane *lane, struct unit *u, enum sched_result result,
                uint64_t now_ms)
{
    ensure(u->state == UNIT_RUNNING && lane->running > 0);
    if (--lane->running > 0)
        s->shared_used--;
    leave(lane, u, UNIT_IDLE);
    if (result == SCHED_FAILED) {
        back_off(s, lane, u, now_ms);
        return;
    }
    backoff_reset(&u->backoff);
    u->failures = 0;
    if (result == SCHED_DONE)
        return;
    if (u->first_ms == NEVER_MS)
        u->first_ms = u->changed_ms = now_ms;
    settle(lane, u);
}

uint64_t sched_wake_ms(const struct sched *s)
{
    uint64_t soonest = NEVER_MS;

    list_each (pos, tmp, &s->lanes) {
        const struct lane *lane = list_entry(pos, struct lane, link);
        const struct heap_node *node = heap_peek(&lane->waiting);

        if (node != NULL && node->due_ms < soonest)
            soonest = node->due_ms;
    }
    return soonest;
}

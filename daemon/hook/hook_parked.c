/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/hook_parked.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "hook/hook_unit.h"
#include "hook/ledger.h"

enum { MINUTE_MS = 60 * 1000 };

/* Is an end of the key all that is due, or, in mode object, what is due first? That a source is stale
 * is no key. */
static bool is_end(const struct hook *h, const struct entry *e)
{
    struct queue_event due[2];

    if (e->key[0] == '\0' || !queue_due(e) || queue_events(&h->queue, e, due) == 0)
        return false;
    return queue_is_end(due[0].type) && (h->rules.mode == HOOK_OBJECT || e->newest.object == NULL);
}

/* The first time counts, over restarts too. */
static void note_since(struct hook *h, struct entry *e, uint64_t wall_ns, uint64_t now_ms)
{
    const struct queue *q = &h->queue;

    if (e->parked_at == 0) {
        e->parked_at = ledger_minute(wall_ns > 0 ? wall_ns : q->recalled_ns);
        e->parked_ms = (int64_t)now_ms;
        queue_entry_touch(&h->queue, e);
    } else if (e->parked_ms == 0) { /* it was an earlier process that noted it */
        uint64_t age_ms = (uint64_t)ledger_minutes_since(e->parked_at, q->recalled_ns) * MINUTE_MS;

        e->parked_ms = (int64_t)now_ms - (int64_t)age_ms;
    }
}

/* NEVER_MS: it is kept however old it is. */
static uint64_t due_ms(const struct hook *h, const struct entry *e)
{
    int64_t due = e->parked_ms + (int64_t)h->rules.parked_age_ms;

    if (h->rules.parked_age_ms == 0)
        return NEVER_MS;
    return due > 0 ? (uint64_t)due : 0;
}

/* Oldest first. */
static int by_age(const void *a, const void *b)
{
    const struct entry *const *x = a;
    const struct entry *const *y = b;

    return ((*x)->parked_ms > (*y)->parked_ms) - ((*x)->parked_ms < (*y)->parked_ms);
}

/* Modes batch and snapshot: the ends that are due, all of them or those that have been parked, oldest
 * first; an array to free. */
static struct entry **ends_of(const struct hook *h, bool all, size_t *n)
{
    struct entry **ends = mem_array(h->queue.pending_count + 1, sizeof(struct entry *));

    *n = 0;
    list_each (pos, tmp, &h->queue.pending) {
        struct entry *e = list_entry(pos, struct entry, pending);

        if (is_end(h, e) && (all || e->parked_at != 0))
            ends[(*n)++] = e;
    }
    qsort(ends, *n, sizeof(struct entry *), by_age);
    return ends;
}

static void note_all(struct hook *h, uint64_t wall_ns, uint64_t now_ms)
{
    size_t n;
    struct entry **ends = ends_of(h, true, &n);

    h->trim_ms = n > 0 ? now_ms : NEVER_MS; /* then it is known when the next one is due */
    for (size_t i = 0; i < n; i++)
        note_since(h, ends[i], wall_ns, now_ms);
    free(ends);
}

void hook_parked_note(struct hook *h, struct entry *e, uint64_t wall_ns, uint64_t now_ms)
{
    if (e == NULL) {
        note_all(h, wall_ns, now_ms);
    } else if (is_end(h, e)) {
        note_since(h, e, wall_ns, now_ms);
        sched_expire(&h->lane, &e->unit, due_ms(h, e));
    }
}

static void forget(struct hook *h, struct entry *e, uint64_t now_ms)
{
    h->forgotten++;
    snprintf(h->last_forgotten, sizeof(h->last_forgotten), "%s", e->key);
    queue_give_up(&h->queue, e, now_ms);
}

/* What follows the end, if anything does, is due. */
static void forget_unit(struct hook *h, struct entry *e, uint64_t now_ms)
{
    forget(h, e, now_ms);
    if (queue_due(e)) {
        sched_hurry(&h->lane, &e->unit);
        return;
    }
    if (hook_entry_over(h, e)) {
        hook_orders_void(h, &e->unit);
        sched_rest(&h->lane, &e->unit, NEVER_MS);
    }
    sched_drop(&h->lane, &e->unit);
    queue_release(&h->queue, e);
}

static bool are_too_many(const struct hook *h, size_t n)
{
    return h->rules.parked_deletes > 0 && n > h->rules.parked_deletes;
}

static void trim_units(struct hook *h, uint64_t now_ms)
{
    struct unit *u;

    while ((u = sched_expired(&h->lane, now_ms, h->rules.parked_deletes)) != NULL)
        forget_unit(h, container_of(u, struct entry, unit), now_ms);
}

static void trim_whole(struct hook *h, uint64_t now_ms)
{
    size_t n;
    struct entry **ends = ends_of(h, false, &n);
    size_t i = 0;

    for (; i < n && (due_ms(h, ends[i]) <= now_ms || are_too_many(h, n - i)); i++) {
        forget(h, ends[i], now_ms);
        queue_release(&h->queue, ends[i]);
    }
    h->trim_ms = i < n ? due_ms(h, ends[i]) : NEVER_MS;
    free(ends);
    if (!hook_unit_due(h, &h->unit, NULL))
        sched_drop(&h->lane, &h->unit);
}

void hook_parked_trim(struct hook *h, uint64_t now_ms)
{
    if (h->rules.mode == HOOK_OBJECT)
        trim_units(h, now_ms);
    else if (h->unit.state == UNIT_PARKED && h->trim_ms <= now_ms)
        trim_whole(h, now_ms);
    else
        return;
    hook_check_first(h);
}

uint64_t hook_parked_wake_ms(const struct hook *h)
{
    bool parked = h->rules.mode != HOOK_OBJECT && h->unit.state == UNIT_PARKED;

    return parked ? h->trim_ms : NEVER_MS;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/hook_unit.h"

/* A DELETED that failed so often gives way to the next life of its key (DESIGN 1.4.2). */
#define DELETED_ATTEMPTS 5

bool hook_unit_due(const struct hook *h, const struct unit *u, const struct entry *e)
{
    if (u->orders != 0)
        return true;
    if (e != NULL)
        return queue_due(e);
    return h->queue.pending_count > 0 || h->snapshot_due;
}

bool hook_unit_repeats(const struct hook *h, const struct entry *e)
{
    struct queue_event ev;

    return e == NULL || queue_repeat(&h->queue, e, &ev);
}

bool hook_entry_over(const struct hook *h, const struct entry *e)
{
    return !queue_due(e) && !hook_unit_repeats(h, e);
}

void hook_orders_void(struct hook *h, struct unit *u)
{
    orders_ended(&h->orders, u->orders, true);
    u->orders = 0;
}

void hook_want_apply(struct hook *h, uint32_t orders)
{
    orders_want(&h->orders, &h->apply.unit.orders, orders);
    sched_now(&h->apply.lane, &h->apply.unit);
}

/* Does the hook hear of the next life as long as that lasts? */
static bool hears_lives(const struct hook *h)
{
    return filter_takes(&h->filter, DELTA_ADDED) || filter_takes(&h->filter, DELTA_MODIFIED);
}

bool hook_gives_way(const struct hook *h, const struct entry *e, unsigned failures, bool parked)
{
    return h->rules.mode == HOOK_OBJECT && (parked || failures >= DELETED_ATTEMPTS) &&
           e->told_end && hears_lives(h) && e->newest.object != NULL &&
           !queue_new_matter(&h->queue, e);
}

/* What the first runs wrote does not settle, as they do not. */
void hook_end_first(struct hook *h)
{
    h->gate = apply_due(&h->apply) ? GATE_APPLY : GATE_OPEN;
    h->strays.look = true;
    apply_hurry(&h->apply);
}

static bool sees_all(const struct hook *h)
{
    for (size_t i = 0; i < h->source_count; i++)
        if (!h->queue.sources[i].is_open)
            return false;
    return true;
}

void hook_check_first(struct hook *h)
{
    bool left = h->rules.mode == HOOK_OBJECT
                    ? h->queue.existing_left > 0
                    : h->lane.running > 0 || hook_unit_due(h, &h->unit, NULL);

    if (h->gate == GATE_FIRST && !left)
        hook_end_first(h);
    if (!left && sees_all(h))
        h->renew = false; /* there is nothing to be done again */
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/hook_unit.h"

/* A DELETED that failed so often gives way to the next life of its key (DESIGN 1.4.2). */
#define DELETED_ATTEMPTS 5

bool hook_unit_due(const struct hook *h, const struct unit *u, const struct entry *e)
{
    if (u->order > 0)
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

void hook_order_ended(struct hook *h, uint64_t number, bool ok)
{
    if (number == 0 || number != h->order.number)
        return;
    h->order.left--;
    h->order.failed += !ok;
}

void hook_order_void(struct hook *h, struct unit *u)
{
    hook_order_ended(h, u->order, true);
    u->order = 0;
}

bool hook_gives_way(const struct hook *h, const struct entry *e, unsigned failures, bool parked)
{
    return h->rules.mode == HOOK_OBJECT && (parked || failures >= DELETED_ATTEMPTS) &&
           e->told_end && filter_takes(&h->filter, DELTA_ADDED) && e->newest.object != NULL &&
           !queue_new_matter(&h->queue, e);
}

/* What the first runs wrote does not settle, as they do not. */
void hook_end_first(struct hook *h)
{
    h->gate = apply_due(&h->apply) ? GATE_APPLY : GATE_OPEN;
    apply_hurry(&h->apply);
}

void hook_check_first(struct hook *h)
{
    bool left = h->rules.mode == HOOK_OBJECT
                    ? h->queue.existing_left > 0
                    : h->lane.running > 0 || hook_unit_due(h, &h->unit, NULL);

    if (h->gate == GATE_FIRST && !left)
        hook_end_first(h);
}

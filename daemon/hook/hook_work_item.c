/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/hook_work_item.h"

/* A DELETED that failed so often is superseded by the next incarnation of its key
 * (docs/design.md "Superseded deletes"). */
#define DELETED_ATTEMPTS 5

bool hook_work_item_due(const struct hook *h, const struct work_item *u, const struct delivery *dl)
{
    if (u->manual_runs != 0)
        return true;
    if (dl != NULL)
        return delivery_is_due(dl);
    return h->queue.pending_count > 0 || h->snapshot_due;
}

bool hook_work_item_repeats(const struct hook *h, const struct delivery *dl)
{
    struct delivery_event ev;

    return dl == NULL || delivery_repeat(&h->queue, dl, &ev);
}

bool hook_delivery_over(const struct hook *h, const struct delivery *dl)
{
    return !delivery_is_due(dl) && !hook_work_item_repeats(h, dl);
}

void hook_manual_runs_void(struct hook *h, struct work_item *u)
{
    manual_runs_ended(&h->manual_runs, u->manual_runs, true);
    u->manual_runs = 0;
}

void hook_want_apply(struct hook *h, uint32_t manual_runs)
{
    manual_runs_want(&h->manual_runs, &h->apply.work_item.manual_runs, manual_runs);
    scheduler_now(&h->apply.work_queue, &h->apply.work_item);
}

/* Does the hook take events of the next incarnation while that exists? If not, the end of the old
 * one need not give way. */
static bool takes_incarnations(const struct hook *h)
{
    return filter_takes(&h->filter, DELTA_ADDED) || filter_takes(&h->filter, DELTA_MODIFIED);
}

/* The last run was about an end, and an end is still due first: so it is this end that has
 * failed. */
bool hook_gives_way(const struct hook *h, const struct delivery *dl, unsigned failures, bool parked)
{
    return h->rules.mode == HOOK_OBJECT && (parked || failures >= DELETED_ATTEMPTS) &&
           dl->last_was_end && takes_incarnations(h) && dl->newest.object != NULL &&
           delivery_is_due(dl) && !delivery_is_new_matter(&h->queue, dl);
}

/* apply of the files that the first runs wrote does not settle, as the first runs do not. */
void hook_end_first(struct hook *h)
{
    h->gate = apply_due(&h->apply) ? GATE_APPLY : GATE_OPEN;
    h->strays.look = true;
    apply_hurry(&h->apply);
}

/* Are all sources of the hook open? */
static bool sees_all(const struct hook *h)
{
    for (size_t i = 0; i < h->source_count; i++)
        if (!h->queue.sources[i].is_open)
            return false;
    return true;
}

/* In mode object each existing key must have had its run. In the other modes one run is for all
 * keys, so nothing may be due or under way. */
void hook_check_first(struct hook *h)
{
    bool left = h->rules.mode == HOOK_OBJECT
                    ? h->queue.existing_left > 0
                    : h->work_queue.running > 0 || hook_work_item_due(h, &h->work_item, NULL);

    if (h->gate == GATE_FIRST && !left)
        hook_end_first(h);
    if (!left && sees_all(h))
        h->renew = false; /* no object is left for which the hook would have to run again */
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/hook_record.h"

#include "hook/delivery_log.h"
#include "hook/gate.h"

/* An unfit run is not recorded as parked, as the next process may be able to do it. */
static bool is_parked(const struct hook *h)
{
    const struct work_item *u = &h->work_item;

    return h->rules.mode != HOOK_OBJECT &&
           (h->was_parked || (u->state == WORK_ITEM_PARKED && !u->unfit));
}

struct hook_record hook_record_of(const struct hook *h)
{
    /* A snapshot under way is owed until it has succeeded: informerd may die before that. */
    bool runs = h->rules.mode == HOOK_SNAPSHOT && h->work_queue.running > 0;

    return (struct hook_record){.owes_snapshot = h->snapshot_due || runs || gate_lacked(h),
                                .owes_renewal = h->renew,
                                .owes_apply = apply_due(&h->apply),
                                .is_paused = h->paused,
                                .is_parked = is_parked(h),
                                .forgotten = h->forgotten};
}

void hook_record_restore(struct hook *h, const struct hook_record *m, uint64_t now_ms)
{
    h->restored = true;
    h->forgotten += m->forgotten;
    /* The mode may have been edited since: only the values that fit the present mode are taken over. */
    h->snapshot_due = h->snapshot_due || (m->owes_snapshot && h->rules.mode == HOOK_SNAPSHOT);
    h->renew = h->renew || (m->owes_renewal && h->rules.mode != HOOK_OBJECT);
    h->was_parked = m->is_parked && h->rules.mode != HOOK_OBJECT;
    if (m->owes_apply)
        apply_touch(&h->apply, now_ms);
    if (m->is_paused)
        hook_pause(h, true);
}

/* With existing = "skip" the hook never ran for the objects that were there first, so they are not
 * renewed. */
void hook_record_renew(struct hook *h)
{
    bool skips = h->rules.existing == HOOK_EXISTING_SKIP;

    delivery_log_renew(&h->queue, skips);
    files_renew(&h->files);
    strays_renew(&h->strays);
    h->was_parked = false;
    h->renew = h->rules.mode != HOOK_OBJECT;
    h->snapshot_due = h->snapshot_due || (h->rules.mode == HOOK_SNAPSHOT && !skips);
}

void hook_record_renew_why(struct hook *h, const char *why)
{
    h->renew_why = why;
}

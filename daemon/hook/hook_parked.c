/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/hook_parked.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "hook/delivery_log.h"
#include "hook/hook_work_item.h"

enum { MINUTE_MS = 60 * 1000 };

/* Is the end of the delivered incarnation the event that is due first (mode object), or are ends
 * all that is due (other modes)? The outage of a source, under the empty key, is not given up. */
static bool is_end(const struct hook *h, const struct delivery *dl)
{
    struct delivery_event due[2];

    if (dl->key[0] == '\0' || !delivery_is_due(dl) || delivery_end(dl) == NULL ||
        delivery_events(&h->queue, dl, due) == 0)
        return false;
    return delivery_is_end(due[0].type) &&
           (h->rules.mode == HOOK_OBJECT || dl->newest.object == NULL);
}

/* Notes since when the end is parked. The first time counts, over restarts, too: retries that park
 * it again do not make it younger. */
static void note_since(struct hook *h, struct delivery *dl, uint64_t wall_ns, uint64_t now_ms)
{
    const struct delivery_queue *q = &h->queue;
    struct delivery_ends *ends = dl->ends;

    if (ends->parked_at == 0) {
        ends->parked_at = delivery_log_minute(wall_ns > 0 ? wall_ns : q->restored_ns);
        ends->parked_ms = (int64_t)now_ms;
        delivery_touch(&h->queue, dl);
    } else if (ends->parked_ms == 0) {
        /* An earlier process noted it: the monotonic time follows from the age at the restore. */
        uint64_t age_ms =
            (uint64_t)delivery_log_minutes_since(ends->parked_at, q->restored_ns) * MINUTE_MS;

        ends->parked_ms = (int64_t)now_ms - (int64_t)age_ms;
    }
}

/* When the end is too old; NEVER_MS: ends are kept however old they are. */
static uint64_t due_ms(const struct hook *h, const struct delivery *dl)
{
    int64_t due = dl->ends->parked_ms + (int64_t)h->rules.parked_age_ms;

    if (h->rules.parked_age_ms == 0)
        return NEVER_MS;
    return due > 0 ? (uint64_t)due : 0;
}

/* Oldest first. */
static int by_age(const void *a, const void *b)
{
    const struct delivery *const *x = a;
    const struct delivery *const *y = b;

    int64_t a_ms = (*x)->ends->parked_ms;
    int64_t b_ms = (*y)->ends->parked_ms;

    return (a_ms > b_ms) - (a_ms < b_ms);
}

/* Modes batch and snapshot: the deliveries of which nothing but an end is due, all of them or only
 * those that have been parked, oldest first; an array to free. */
static struct delivery **ends_of(const struct hook *h, bool all, size_t *n)
{
    struct delivery **ends = mem_array(h->queue.pending_count + 1, sizeof(struct delivery *));

    *n = 0;
    list_each (pos, tmp, &h->queue.pending) {
        struct delivery *dl = list_entry(pos, struct delivery, pending);

        if (is_end(h, dl) && (all || dl->ends->parked_at != 0))
            ends[(*n)++] = dl;
    }
    qsort(ends, *n, sizeof(struct delivery *), by_age);
    return ends;
}

/* Modes batch and snapshot: the whole hook is parked, and with it each key of which only an end is
 * due. */
static void note_all(struct hook *h, uint64_t wall_ns, uint64_t now_ms)
{
    size_t n;
    struct delivery **ends = ends_of(h, true, &n);

    /* hook_parked_trim() looks at once, and finds out when the next end is due. */
    h->trim_ms = n > 0 ? now_ms : NEVER_MS;
    for (size_t i = 0; i < n; i++)
        note_since(h, ends[i], wall_ns, now_ms);
    free(ends);
}

void hook_parked_note(struct hook *h, struct delivery *dl, uint64_t wall_ns, uint64_t now_ms)
{
    if (dl == NULL) {
        note_all(h, wall_ns, now_ms);
    } else if (is_end(h, dl)) {
        note_since(h, dl, wall_ns, now_ms);
        scheduler_expire(&h->work_queue, dl->work_item, due_ms(h, dl));
    }
}

void hook_parked_follow(struct hook *h, struct delivery *dl)
{
    if (dl->work_item->state == WORK_ITEM_PARKED && dl->work_item->expires)
        scheduler_expire(&h->work_queue, dl->work_item, due_ms(h, dl));
}

static void forget(struct hook *h, struct delivery *dl, uint64_t now_ms)
{
    h->forgotten++;
    snprintf(h->last_forgotten, sizeof(h->last_forgotten), "%s", dl->key);
    delivery_give_up(&h->queue, dl, now_ms);
}

/* Mode object: gives the end up. If another incarnation is there, it is due now. */
static void forget_work_item(struct hook *h, struct delivery *dl, uint64_t now_ms)
{
    forget(h, dl, now_ms);
    if (delivery_is_due(dl)) {
        scheduler_hurry(&h->work_queue, dl->work_item);
        return;
    }
    if (hook_delivery_over(h, dl)) {
        hook_manual_runs_void(h, dl->work_item);
        scheduler_rest(&h->work_queue, dl->work_item, NEVER_MS);
    }
    scheduler_drop(&h->work_queue, dl->work_item);
    delivery_release(&h->queue, dl);
}

static bool are_too_many(const struct hook *h, size_t n)
{
    return h->rules.parked_deletes > 0 && n > h->rules.parked_deletes;
}

static void trim_work_items(struct hook *h, uint64_t now_ms)
{
    struct work_item *u;

    while ((u = scheduler_expired(&h->work_queue, now_ms, h->rules.parked_deletes)) != NULL)
        forget_work_item(h, u->delivery, now_ms);
}

/* Modes batch and snapshot. The ends are sorted by age, so the first one that may stay says when to
 * look again. */
static void trim_whole(struct hook *h, uint64_t now_ms)
{
    size_t n;
    struct delivery **ends = ends_of(h, false, &n);
    size_t i = 0;

    for (; i < n && (due_ms(h, ends[i]) <= now_ms || are_too_many(h, n - i)); i++) {
        forget(h, ends[i], now_ms);
        delivery_release(&h->queue, ends[i]);
    }
    h->trim_ms = i < n ? due_ms(h, ends[i]) : NEVER_MS;
    free(ends);
    /* The ends may have been all that the hook was parked for. */
    if (!hook_work_item_due(h, &h->work_item, NULL))
        scheduler_drop(&h->work_queue, &h->work_item);
}

void hook_parked_trim(struct hook *h, uint64_t now_ms)
{
    if (h->rules.mode == HOOK_OBJECT)
        trim_work_items(h, now_ms);
    else if (h->work_item.state == WORK_ITEM_PARKED && h->trim_ms <= now_ms)
        trim_whole(h, now_ms);
    else
        return;
    /* An end that is given up may have been the last of the first runs. */
    hook_check_first(h);
}

uint64_t hook_parked_wake_ms(const struct hook *h)
{
    bool parked = h->rules.mode != HOOK_OBJECT && h->work_item.state == WORK_ITEM_PARKED;

    return parked ? h->trim_ms : NEVER_MS;
}

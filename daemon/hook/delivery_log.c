/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/delivery_log.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"
#include "proto/path_list.h"

/* The numbers that fit into the bits above the other notes, without 0, which means not parked:
 * about two years of minutes. */
enum { MINUTES = (1 << (32 - DELIVERY_PARKED_AT)) - 1 };

uint32_t delivery_log_minute(uint64_t wall_ns)
{
    return (uint32_t)(wall_ns / (UINT64_C(60) * 1000000000) % MINUTES) + 1;
}

uint32_t delivery_log_minutes_since(uint32_t minute, uint64_t wall_ns)
{
    uint32_t passed = (delivery_log_minute(wall_ns) + MINUTES - minute) % MINUTES;

    /* The numbers go round. More than half a round means that the clock is behind the minute. */
    return passed < MINUTES / 2 ? passed : 0;
}

/* ---- Records go out. */

/* The bits of an end. `watch` has no bit, as it is the usual cause. */
static uint32_t note_of_end(const struct delivery_event *end)
{
    static const uint32_t causes[] = {
        [CAUSE_WATCH] = 0,
        [CAUSE_RELIST] = DELIVERY_RELIST,
        [CAUSE_AUDIT] = DELIVERY_AUDIT,
        [CAUSE_RESTART] = DELIVERY_RESTART,
        [CAUSE_CONFIG] = DELIVERY_CONFIG,
    };

    return causes[end->cause] | (end->type == DELTA_LEFT ? DELIVERY_LEFT : 0) |
           (end->final_state_unknown ? DELIVERY_UNKNOWN : 0);
}

/* The bits of the delivery as a whole. A restored flag `parked` counts until
 * delivery_log_was_parked() is asked; then the work item tells. An unfit delivery is not recorded as
 * parked, as the next process may be able to run it. */
static uint32_t note_of_delivery(const struct delivery *dl)
{
    const struct work_item *u = dl->work_item;
    bool parked = dl->parked || (u != NULL && u->state == WORK_ITEM_PARKED && !u->unfit);

    return (dl->last_was_end ? DELIVERY_LAST_WAS_END : 0) |
           (dl->state == DELIVERED_SUPERSEDED ? DELIVERY_SUPERSEDED : 0) |
           (dl->state == DELIVERED_SKIPPED ? DELIVERY_SKIPPED : 0) |
           (parked ? DELIVERY_PARKED : 0) | (dl->renew ? DELIVERY_RENEW : 0) |
           (dl->ends != NULL ? dl->ends->parked_at << DELIVERY_PARKED_AT : 0);
}

/* The record of one incarnation: of the delivered one or its successor. */
static struct delivery_record record_of(const struct delivery_queue *q, const struct delivery *dl,
                                        const struct known *incarnation,
                                        const struct delivery_event *end)
{
    struct delivery_record m = {.key = str_c(dl->key),
                                .uid = known_uid(incarnation),
                                .is_delivered = true,
                                .delivered = filter_known_digest(q->filter, incarnation)};

    if (end == NULL || end->object == NULL)
        return m;
    m.is_ended = true;
    m.last = end->object;
    m.note = note_of_end(end);
    return m;
}

/* The records that a delivery must have now, at most two. Returns how many. */
static size_t records_of(const struct delivery_queue *q, const struct delivery *dl,
                         struct delivery_record out[2])
{
    if (!known_is(&dl->delivered))
        return 0;
    out[0] = record_of(q, dl, &dl->delivered, delivery_end(dl));
    out[0].note |= note_of_delivery(dl);
    out[0].attempted = delivery_is_attempted(dl);
    out[0].is_handled = known_is(&dl->handled);
    if (out[0].is_handled)
        /* After a success both are one object: then the digest is not computed twice. */
        out[0].handled = dl->handled.object != NULL && dl->handled.object == dl->delivered.object
                             ? out[0].delivered
                             : filter_known_digest(q->filter, &dl->handled);
    if (dl->state != DELIVERED_FOLLOWED)
        return 1;
    out[1] = record_of(q, dl, &dl->ends->successor, &dl->ends->successor_delete);
    out[1].note |= DELIVERY_HAS_PREDECESSOR;
    /* A successor exists only until a run with it succeeds. */
    out[1].attempted = true;
    return 2;
}

static bool has_record(const struct delivery_record *records, size_t n, struct str uid)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(records[i].uid, uid))
            return true;
    return false;
}

static bool is_kept(const char *kept, struct str uid)
{
    return kept != NULL && str_is(uid, kept);
}

/* Notes that this uid has a record. False: two other uids have one already. */
static bool keep_uid(struct delivery *dl, struct str uid)
{
    if (is_kept(dl->kept[0], uid) || is_kept(dl->kept[1], uid))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(dl->kept); i++) {
        if (dl->kept[i] != NULL)
            continue;
        dl->kept[i] = mem_strndup(uid.n > 0 ? uid.p : "", uid.n);
        return true;
    }
    return false;
}

/* Makes the sink's records equal to those that the delivery must have now. Old ones are dropped
 * first, which frees their places in kept: so there is always room for the new ones. */
static void put_delivery(const struct delivery_queue *q, struct delivery *dl,
                         const struct delivery_log_sink *sink, void *arg)
{
    struct delivery_record records[2];
    size_t n = records_of(q, dl, records);

    for (size_t i = 0; i < ARRAY_LEN(dl->kept); i++) {
        if (dl->kept[i] == NULL || has_record(records, n, str_c(dl->kept[i])))
            continue;
        sink->drop(arg, dl->source, str_c(dl->key), str_c(dl->kept[i]));
        free(dl->kept[i]);
        dl->kept[i] = NULL;
    }
    for (size_t i = 0; i < n; i++) {
        bool kept = keep_uid(dl, records[i].uid);

        ensure(kept);
        sink->put(arg, dl->source, &records[i]);
    }
}

void delivery_log_put(struct delivery_queue *q, const struct delivery_log_sink *sink, void *arg)
{
    list_each (pos, tmp, &q->dirty) {
        struct delivery *dl = list_entry(pos, struct delivery, dirty);

        list_remove(&dl->dirty);
        put_delivery(q, dl, sink, arg);
        delivery_release(q, dl);
    }
    for (size_t i = 0; i < q->source_count; i++) {
        /* Behind the records of skipped objects, never before them: see delivery_log_sink.seen. */
        if (!q->sources[i].is_seen || q->sources[i].is_kept)
            continue;
        sink->seen(arg, i);
        q->sources[i].is_kept = true;
    }
}

static void touch_delivery(void *arg, struct delivery *dl)
{
    delivery_touch(arg, dl);
}

void delivery_log_touch_all(struct delivery_queue *q)
{
    for (size_t i = 0; i < q->source_count; i++) {
        delivery_queue_each(q, i, touch_delivery, q);
        q->sources[i].is_kept = false;
    }
}

/* ---- Records are restored. */

static enum delta_cause cause_of(uint32_t note)
{
    if ((note & DELIVERY_CONFIG) != 0)
        return CAUSE_CONFIG;
    if ((note & DELIVERY_RESTART) != 0)
        return CAUSE_RESTART;
    if ((note & DELIVERY_AUDIT) != 0)
        return CAUSE_AUDIT;
    return (note & DELIVERY_RELIST) != 0 ? CAUSE_RELIST : CAUSE_WATCH;
}

/* The end of an incarnation as its record has it. Without a last state the object is made from key
 * and uid, which delivery_event_over() does. An outage ends in FRESH, whatever the note says. */
static void restore_end(const struct delivery_queue *q, const struct delivery *dl,
                        struct delivery_event *end, const struct known *incarnation,
                        const struct delivery_record *m)
{
    object_unref(&end->object);
    if (!m->is_ended)
        return;
    *end = delivery_event_over(q, dl, incarnation);
    end->cause = cause_of(m->note);
    if (dl->key[0] == '\0')
        return;
    end->type = (m->note & DELIVERY_LEFT) != 0 ? DELTA_LEFT : DELTA_DELETED;
    end->final_state_unknown =
        m->last == NULL || object_is_bare(m->last) || (m->note & DELIVERY_UNKNOWN) != 0;
    if (m->last == NULL)
        return;
    object_unref(&end->object);
    end->object = object_ref(m->last);
}

/* The state of the delivered incarnation as its record has it. Notes that contradict the rest of
 * the record do not count. */
static enum delivered_state state_of(const struct delivery_record *m)
{
    enum { FAILED_END = DELIVERY_SUPERSEDED | DELIVERY_LAST_WAS_END };

    if (m->is_handled && m->attempted)
        return DELIVERED_REATTEMPTED;
    if (m->is_handled)
        return (m->note & DELIVERY_SKIPPED) != 0 ? DELIVERED_SKIPPED : DELIVERED_HANDLED;
    if (!m->attempted)
        return DELIVERED_RENEWED;
    return m->is_ended && (m->note & FAILED_END) == FAILED_END ? DELIVERED_SUPERSEDED
                                                               : DELIVERED_ATTEMPTED;
}

/* Restores the delivered incarnation. Records do not have the paths that runs since the handled
 * state got: if there was such a run, `changed` of the next one is "*". */
static void restore_delivered(struct delivery_queue *q, struct delivery *dl,
                              const struct delivery_record *m)
{
    /* Only digests are known here. adopt_state() in delivery_queue.c puts a whole state in their
     * place when the loaded cache has it. */
    known_trace(&dl->delivered, m->uid, m->is_delivered ? m->delivered : m->handled);
    known_set(&dl->handled, NULL);
    /* If the record of its successor has come first, no run has succeeded. */
    if (dl->state != DELIVERED_FOLLOWED) {
        dl->state = state_of(m);
        if (m->is_handled)
            known_trace(&dl->handled, m->uid, m->handled);
    }
    dl->last_was_end = (m->note & DELIVERY_LAST_WAS_END) != 0;
    dl->parked = (m->note & DELIVERY_PARKED) != 0;
    dl->renew = (m->note & DELIVERY_RENEW) != 0;
    restore_end(q, dl, &delivery_ends_of(dl)->pending_delete, &dl->delivered, m);
    dl->ends->parked_at = m->is_ended ? m->note >> DELIVERY_PARKED_AT : 0;
    delivery_ends_trim(dl);
    delivery_set_paths(dl, str_c(dl->state == DELIVERED_REATTEMPTED ? PATH_LIST_ALL : ""));
}

/* Restores the incarnation that was delivered together with the end of the one before. */
static void restore_successor(struct delivery_queue *q, struct delivery *dl,
                              const struct delivery_record *m)
{
    struct delivery_ends *ends = delivery_ends_of(dl);

    known_trace(&ends->successor, m->uid, m->delivered);
    known_set(&dl->handled, NULL);
    dl->state = DELIVERED_FOLLOWED;
    restore_end(q, dl, &ends->successor_delete, &ends->successor, m);
}

bool delivery_log_restore(struct delivery_queue *q, size_t source, const struct delivery_record *m,
                          uint64_t wall_ns)
{
    ensure(source < q->source_count && !q->sources[source].is_open);
    if (!m->is_delivered && !m->is_handled)
        return false;
    struct delivery *dl = delivery_add(q, source, m->key);

    q->restored_ns = wall_ns;
    /* informerd never writes a third record of a key: at most two incarnations are kept. */
    if (!keep_uid(dl, m->uid))
        return false;
    bool follows = (m->note & DELIVERY_HAS_PREDECESSOR) != 0;
    const struct known *other = follows ? &dl->delivered : &delivery_ends_of(dl)->successor;
    bool twin = known_is(other) && str_eq(known_uid(other), m->uid);

    if (!twin && follows)
        restore_successor(q, dl, m);
    else if (!twin)
        restore_delivered(q, dl, m);
    dl->restored = dl->inherited = true;
    return !twin;
}

void delivery_log_restore_seen(struct delivery_queue *q, size_t source)
{
    ensure(!q->sources[source].is_open);
    q->sources[source].is_seen = q->sources[source].is_kept = true;
}

/* Argument of renew_delivery(). */
struct renewal {
    struct delivery_queue *q;
    bool keep_skipped;
};

/* A hook that does not take ADDED (for an outage: STALE) does not get its objects again, so they
 * stay handled. Runs that it owes stay due in any case, and parked keys are tried again. */
static void renew_delivery(void *arg, struct delivery *dl)
{
    const struct renewal *r = arg;
    enum delta_type begin = dl->key[0] == '\0' ? DELTA_STALE : DELTA_ADDED;

    if (!dl->restored || (dl->state == DELIVERED_SKIPPED && r->keep_skipped))
        return;
    if (dl->state == DELIVERED_SKIPPED)
        dl->state = DELIVERED_HANDLED;
    if (filter_takes(r->q->filter, begin)) {
        if (dl->state == DELIVERED_HANDLED)
            dl->state = DELIVERED_RENEWED;
        else if (dl->state == DELIVERED_REATTEMPTED)
            dl->state = DELIVERED_ATTEMPTED;
        known_set(&dl->handled, NULL);
        delivery_set_paths(dl, (struct str){0});
    }
    dl->renew = true;
    dl->parked = false;
    delivery_touch(r->q, dl);
}

void delivery_log_renew(struct delivery_queue *q, bool keep_skipped)
{
    struct renewal r = {q, keep_skipped};

    for (size_t i = 0; i < q->source_count; i++) {
        ensure(!q->sources[i].is_open);
        delivery_queue_each(q, i, renew_delivery, &r);
    }
}

/* Forgets one object. The outage of the source, under the empty key, stays: that the source is
 * stale is true whichever cluster it belongs to. It is due again when the source is open again. */
static void forget_delivery(void *arg, struct delivery *dl)
{
    static const struct delivery_event none;

    if (dl->key[0] == '\0') {
        if (delivery_is_due(dl)) {
            delivery_settled(arg, dl);
            delivery_failed(arg, dl, 0); /* takes it off the list of pending ones, as below */
        }
        return;
    }
    dl->state = DELIVERED_NOTHING;
    known_set(&dl->handled, NULL);
    known_set(&dl->delivered, NULL);
    delivery_ends_drop(dl);
    delivery_event_set(&dl->newest, &none);
    delivery_set_paths(dl, (struct str){0});
    delivery_settled(arg, dl);
    dl->last_was_end = dl->inherited = dl->renew = dl->parked = false;
    /* Takes the delivery off the list of pending ones: its source is not open any more, so nothing
     * is due. The time does not matter for that. */
    delivery_failed(arg, dl, dl->pending_since_ms);
    delivery_touch(arg, dl);
    delivery_release(arg, dl);
}

void delivery_log_forget(struct delivery_queue *q, size_t source)
{
    q->sources[source].is_open = false;
    delivery_queue_each(q, source, forget_delivery, q);
    q->sources[source].is_seen = q->sources[source].is_kept = false;
}

/* Must a run tell the next incarnation behind the end? In mode object a run tells the end alone, and
 * hook_gives_way() decides whether the next incarnation supersedes it. */
static bool tells_next(const struct delivery_queue *q, const struct delivery_event due[2], size_t n)
{
    return !q->keyed && n == 2 && !delivery_is_end(due[1].type) &&
           filter_takes(q->filter, due[1].type);
}

/* Is the event about a state that the filter does not tell from the known one? */
static bool repeats_state(const struct delivery_queue *q, const struct known *known,
                          const struct delivery_event *ev)
{
    return !delivery_is_end(ev->type) && known_has(known, ev->object) &&
           !filter_known_changed(q->filter, known, ev->object);
}

/* An end again, a state again, or both events of a run that told an end and the successor. */
bool delivery_log_repeats(const struct delivery_queue *q, const struct delivery *dl)
{
    struct delivery_event due[2];
    size_t n = delivery_is_due(dl) ? delivery_events(q, dl, due) : 0;

    if (n == 0)
        return false;
    if (dl->last_was_end)
        return delivery_is_end(due[0].type) && !tells_next(q, due, n);
    if (dl->state == DELIVERED_FOLLOWED)
        return !q->keyed && n == 2 && repeats_state(q, &dl->ends->successor, &due[1]);
    return repeats_state(q, &dl->delivered, &due[0]);
}

bool delivery_log_was_parked(const struct delivery_queue *q, struct delivery *dl)
{
    bool parked = dl->parked;

    dl->parked = false;
    return parked && delivery_log_repeats(q, dl);
}

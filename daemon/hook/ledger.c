/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/ledger.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"
#include "proto/path_list.h"

enum { MINUTES = (1 << (32 - LEDGER_PARKED_AT)) - 1 };

uint32_t ledger_minute(uint64_t wall_ns)
{
    return (uint32_t)(wall_ns / (UINT64_C(60) * 1000000000) % MINUTES) + 1;
}

uint32_t ledger_minutes_since(uint32_t minute, uint64_t wall_ns)
{
    uint32_t passed = (ledger_minute(wall_ns) + MINUTES - minute) % MINUTES;

    return passed < MINUTES / 2 ? passed : 0;
}

/* ---- Out. */

static uint32_t note_of_end(const struct queue_event *gone)
{
    static const uint32_t causes[] = {
        [CAUSE_WATCH] = 0,
        [CAUSE_RELIST] = LEDGER_RELIST,
        [CAUSE_AUDIT] = LEDGER_AUDIT,
        [CAUSE_RESTART] = LEDGER_RESTART,
        [CAUSE_CONFIG] = LEDGER_CONFIG,
    };

    return causes[gone->cause] | (gone->type == DELTA_LEFT ? LEDGER_LEFT : 0) |
           (gone->final_state_unknown ? LEDGER_UNKNOWN : 0);
}

static uint32_t note_of_entry(const struct entry *e)
{
    bool parked = e->parked || (e->unit.state == UNIT_PARKED && !e->unfit);

    return (e->told_end ? LEDGER_TOLD_END : 0) | (e->yields ? LEDGER_YIELDS : 0) |
           (parked ? LEDGER_PARKED : 0) | (e->skipped ? LEDGER_SKIPPED : 0) |
           (e->renew ? LEDGER_RENEW : 0) | e->parked_at << LEDGER_PARKED_AT;
}

static struct ledger_mark mark_of(const struct queue *q, const struct entry *e,
                                  const struct known *life, const struct queue_event *gone)
{
    struct ledger_mark m = {.key = str_c(e->key),
                            .uid = known_uid(life),
                            .is_told = true,
                            .is_ended = gone->object != NULL,
                            .told = filter_known_digest(q->filter, life),
                            .last = gone->object};

    m.note = m.is_ended ? note_of_end(gone) : 0;
    return m;
}

static size_t marks_of(const struct queue *q, const struct entry *e, struct ledger_mark out[2])
{
    if (!known_is(&e->announced))
        return 0;
    out[0] = mark_of(q, e, &e->announced, &e->gone);
    out[0].note |= note_of_entry(e);
    out[0].open = e->open;
    out[0].is_handled = known_is(&e->handled);
    if (out[0].is_handled)
        out[0].handled = e->handled.object != NULL && e->handled.object == e->announced.object
                             ? out[0].told
                             : filter_known_digest(q->filter, &e->handled);
    if (!known_is(&e->heir))
        return 1;
    out[1] = mark_of(q, e, &e->heir, &e->heir_gone);
    out[1].note |= LEDGER_HEIR;
    out[1].open = true;
    return 2;
}

static bool is_marked(const struct ledger_mark *marks, size_t n, struct str uid)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(marks[i].uid, uid))
            return true;
    return false;
}

static bool is_kept(const char *kept, struct str uid)
{
    return kept != NULL && str_is(uid, kept);
}

/* False: there are two already. */
static bool keep_uid(struct entry *e, struct str uid)
{
    if (is_kept(e->kept[0], uid) || is_kept(e->kept[1], uid))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(e->kept); i++) {
        if (e->kept[i] != NULL)
            continue;
        e->kept[i] = mem_strndup(uid.n > 0 ? uid.p : "", uid.n);
        return true;
    }
    return false;
}

static void put_entry(const struct queue *q, struct entry *e, const struct ledger_sink *sink,
                      void *arg)
{
    struct ledger_mark marks[2];
    size_t n = marks_of(q, e, marks);

    for (size_t i = 0; i < ARRAY_LEN(e->kept); i++) {
        if (e->kept[i] == NULL || is_marked(marks, n, str_c(e->kept[i])))
            continue;
        sink->drop(arg, e->source, str_c(e->key), str_c(e->kept[i]));
        free(e->kept[i]);
        e->kept[i] = NULL;
    }
    for (size_t i = 0; i < n; i++) {
        bool kept = keep_uid(e, marks[i].uid);

        ensure(kept);
        sink->put(arg, e->source, &marks[i]);
    }
}

void ledger_put(struct queue *q, const struct ledger_sink *sink, void *arg)
{
    list_each (pos, tmp, &q->dirty) {
        struct entry *e = list_entry(pos, struct entry, dirty);

        list_remove(&e->dirty);
        put_entry(q, e, sink, arg);
        queue_release(q, e);
    }
    for (size_t i = 0; i < q->source_count; i++) {
        if (!q->sources[i].is_seen || q->sources[i].is_kept)
            continue;
        sink->seen(arg, i);
        q->sources[i].is_kept = true;
    }
}

static void touch_entry(void *arg, struct entry *e)
{
    queue_entry_touch(arg, e);
}

void ledger_touch_all(struct queue *q)
{
    for (size_t i = 0; i < q->source_count; i++) {
        queue_each(q, i, touch_entry, q);
        q->sources[i].is_kept = false;
    }
}

/* ---- In. */

static enum delta_cause cause_of(uint32_t note)
{
    if ((note & LEDGER_CONFIG) != 0)
        return CAUSE_CONFIG;
    if ((note & LEDGER_RESTART) != 0)
        return CAUSE_RESTART;
    if ((note & LEDGER_AUDIT) != 0)
        return CAUSE_AUDIT;
    return (note & LEDGER_RELIST) != 0 ? CAUSE_RELIST : CAUSE_WATCH;
}

static void recall_end(const struct queue *q, const struct entry *e, struct queue_event *gone,
                       const struct known *life, const struct ledger_mark *m)
{
    object_unref(&gone->object);
    *gone = queue_event_over(q, e, life);
    gone->cause = cause_of(m->note);
    if (e->key[0] == '\0')
        return;
    gone->type = (m->note & LEDGER_LEFT) != 0 ? DELTA_LEFT : DELTA_DELETED;
    gone->final_state_unknown =
        m->last == NULL || object_is_bare(m->last) || (m->note & LEDGER_UNKNOWN) != 0;
    if (m->last == NULL)
        return;
    object_unref(&gone->object);
    gone->object = object_ref(m->last);
}

/* What runs since the handled state were told as changed is not known any more. */
static void recall_announced(struct entry *e, const struct ledger_mark *m)
{
    known_trace(&e->announced, m->uid, m->is_told ? m->told : m->handled);
    known_set(&e->handled, NULL);
    if (m->is_handled)
        known_trace(&e->handled, m->uid, m->handled);
    e->open = m->open;
    e->told_end = (m->note & LEDGER_TOLD_END) != 0;
    e->yields = (m->note & LEDGER_YIELDS) != 0;
    e->parked = (m->note & LEDGER_PARKED) != 0;
    e->skipped = (m->note & LEDGER_SKIPPED) != 0;
    e->renew = (m->note & LEDGER_RENEW) != 0;
    e->parked_at = m->note >> LEDGER_PARKED_AT;
    if (m->is_handled && m->open)
        queue_told(e, str_c(PATH_LIST_ALL));
}

bool ledger_recall(struct queue *q, size_t source, const struct ledger_mark *m, uint64_t wall_ns)
{
    ensure(source < q->source_count && !q->sources[source].is_open);
    if (!m->is_told && !m->is_handled)
        return false;
    struct entry *e = queue_entry_add(q, source, m->key);
    bool heir = (m->note & LEDGER_HEIR) != 0;

    q->recalled_ns = wall_ns;
    if (!keep_uid(e, m->uid))
        return false;
    e->recalled = e->inherited = true;
    if (heir)
        known_trace(&e->heir, m->uid, m->told);
    else
        recall_announced(e, m);
    if (m->is_ended)
        recall_end(q, e, heir ? &e->heir_gone : &e->gone, heir ? &e->heir : &e->announced, m);
    return true;
}

void ledger_recall_seen(struct queue *q, size_t source)
{
    ensure(!q->sources[source].is_open);
    q->sources[source].is_seen = q->sources[source].is_kept = true;
}

struct renewal {
    struct queue *q;
    bool keep_skipped;
};

/* A hook that does not hear of what is there still has to hear what it has to hear already. */
static void renew_entry(void *arg, struct entry *e)
{
    const struct renewal *r = arg;
    enum delta_type begin = e->key[0] == '\0' ? DELTA_STALE : DELTA_ADDED;

    if (!e->recalled || (e->skipped && r->keep_skipped))
        return;
    if (filter_takes(r->q->filter, begin)) {
        known_set(&e->handled, NULL);
        queue_told(e, (struct str){0});
    }
    e->renew = true;
    e->skipped = e->parked = false;
    queue_entry_touch(r->q, e);
}

void ledger_renew(struct queue *q, bool keep_skipped)
{
    struct renewal r = {q, keep_skipped};

    for (size_t i = 0; i < q->source_count; i++) {
        ensure(!q->sources[i].is_open);
        queue_each(q, i, renew_entry, &r);
    }
}

/* That the source was stale is so of whoever it is. */
static void forget_entry(void *arg, struct entry *e)
{
    static const struct queue_event none;

    if (e->key[0] == '\0')
        return;
    known_set(&e->handled, NULL);
    known_set(&e->announced, NULL);
    known_set(&e->heir, NULL);
    queue_event_set(&e->gone, &none);
    queue_event_set(&e->heir_gone, &none);
    queue_event_set(&e->newest, &none);
    queue_told(e, (struct str){0});
    e->open = e->told_end = e->yields = false;
    queue_entry_settled(arg, e);
    e->skipped = e->recalled = e->inherited = e->renew = e->parked = false;
    e->parked_at = 0;
    e->parked_ms = 0;
    queue_failed(arg, e, e->pending_since_ms);
    queue_entry_touch(arg, e);
    queue_release(arg, e);
}

void ledger_forget(struct queue *q, size_t source)
{
    q->sources[source].is_open = false;
    queue_each(q, source, forget_entry, q);
    q->sources[source].is_seen = q->sources[source].is_kept = false;
}

bool ledger_was_parked(const struct queue *q, struct entry *e)
{
    struct queue_event due[2];
    bool parked = e->parked;

    e->parked = false;
    if (!parked || !queue_due(e) || queue_events(q, e, due) == 0)
        return false;
    if (e->told_end || queue_is_end(due[0].type))
        return e->told_end && queue_is_end(due[0].type);
    return known_has(&e->announced, due[0].object) &&
           !filter_known_changed(q->filter, &e->announced, due[0].object);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/why.h"

#include "hook/gate.h"
#include "hook/hook_unit.h"

const char *why_reason_name(enum why_reason reason)
{
    static const char *const names[] = {
        [WHY_HANDLED] = "handled",   [WHY_RUNNING] = "running",
        [WHY_SETTLING] = "settling", [WHY_MIN_INTERVAL] = "min_interval",
        [WHY_BACKOFF] = "backoff",   [WHY_PARKED] = "parked",
        [WHY_GUARD] = "guard",       [WHY_NOT_SYNCED] = "not_synced",
        [WHY_STALE] = "stale",       [WHY_AFTER] = "after",
        [WHY_SLOT] = "slot",         [WHY_HOLDING] = "holding",
        [WHY_PAUSED] = "paused",
    };

    return names[reason];
}

const char *why_past_name(enum why_past past)
{
    static const char *const names[] = {
        [WHY_PAST_NONE] = NULL,
        [WHY_PAST_HANDLED] = "handled",
        [WHY_PAST_OPEN] = "open",
        [WHY_PAST_RENEW] = "renew",
    };

    return names[past];
}

static void put_reason(struct buf *out, const struct why *w)
{
    static const struct {
        const char *before;
        const char *behind;
    } words[] = {
        [WHY_GUARD] = {"guard of source ", ""           },
        [WHY_NOT_SYNCED] = {"source ",          " not synced"},
        [WHY_STALE] = {"source ",          " stale"     },
        [WHY_AFTER] = {"after ",           ""           },
    };

    if (w->of == NULL)
        buf_puts(out, why_reason_name(w->reason));
    else
        buf_printf(out, "%s%s%s", words[w->reason].before, w->of, words[w->reason].behind);
}

void why_put_text(struct buf *out, const struct why *w)
{
    put_reason(out, w);
    if (w->past == WHY_PAST_HANDLED)
        buf_printf(out, "%s before the restart", w->reason == WHY_HANDLED ? "" : ", handled");
    else if (w->past == WHY_PAST_OPEN)
        buf_puts(out, ", a run before the restart did not succeed");
    else if (w->past == WHY_PAST_RENEW)
        buf_printf(out, ", to run again: %s",
                   w->past_why != NULL ? w->past_why : "what was done is gone or the hook changed");
}

static bool is_held(const struct hook_source *s, uint64_t now_ms)
{
    return source_status(s->of, now_ms).held;
}

/* A source that is not synced: the guard may be the reason. */
static void blame_source(struct why *w, const struct hook_source *s, uint64_t now_ms)
{
    w->reason = is_held(s, now_ms) ? WHY_GUARD : WHY_NOT_SYNCED;
    w->of = s->name;
}

/* Nothing of the hook starts: true if that is so. */
static bool blame_gate(struct why *w, const struct hooks *hs, const struct hook *h, uint64_t now_ms)
{
    const struct hook *before = h->gate == GATE_CLOSED ? gate_before(hs, h) : NULL;
    const struct hook_source *stale = gate_stale(h);
    const struct hook_source *unsynced = gate_unsynced(h);

    if (h->paused) {
        w->reason = WHY_PAUSED;
    } else if (before != NULL) {
        w->reason = WHY_AFTER;
        w->of = before->name;
    } else if (stale != NULL) {
        w->reason = WHY_STALE;
        w->of = stale->name;
    } else if (h->gate == GATE_CLOSED && unsynced != NULL) {
        blame_source(w, unsynced, now_ms);
    } else {
        return false;
    }
    return true;
}

/* The unit is due, and the lane may start runs. */
static void blame_unit(struct why *w, const struct lane *lane, const struct unit *u,
                       uint64_t now_ms)
{
    bool waits = u->state == UNIT_SETTLING || u->state == UNIT_BACKOFF;

    if (waits && now_ms < u->timer.due_ms) {
        w->reason = u->state == UNIT_SETTLING ? WHY_SETTLING : WHY_BACKOFF;
        w->until_ms = u->timer.due_ms;
    } else if (now_ms < lane->earliest_ms) {
        w->reason = WHY_MIN_INTERVAL;
        w->until_ms = lane->earliest_ms;
    } else {
        w->reason = WHY_SLOT;
    }
}

/* The unit is due. */
static void blame(struct why *w, const struct hooks *hs, const struct hook *h, const struct unit *u,
                  uint64_t now_ms)
{
    w->failures = u->failures;
    if (u->state == UNIT_RUNNING)
        w->reason = WHY_RUNNING;
    else if (u->state == UNIT_PARKED)
        w->reason = WHY_PARKED;
    else if (!blame_gate(w, hs, h, now_ms))
        blame_unit(w, &h->lane, u, now_ms);
}

static const struct queue_event *event_of(const struct entry *e)
{
    if (e->newest.object != NULL)
        return &e->newest;
    if (e->heir_gone.object != NULL)
        return &e->heir_gone;
    return e->gone.object != NULL ? &e->gone : NULL;
}

static const struct history_run *newest_run(const struct hook *h)
{
    for (size_t i = 0; i < h->history.n; i++)
        if (history_get(&h->history, i)->kind != RUN_APPLY)
            return history_get(&h->history, i);
    return NULL;
}

static void renewed(struct why *w, const struct hook *h)
{
    w->past = WHY_PAST_RENEW;
    w->past_why = h->renew_why;
}

/* A run of this process makes it old news. */
static void tell_past(struct why *w, const struct hook *h, const struct entry *e)
{
    if (!e->inherited)
        return;
    if (e->renew && e->gone.object == NULL)
        renewed(w, h);
    else if (e->open)
        w->past = WHY_PAST_OPEN;
    else if (!queue_due(e) && !e->skipped && known_is(&e->handled))
        w->past = WHY_PAST_HANDLED;
}

struct why why_entry(const struct hooks *hs, const struct hook *h, const struct entry *e,
                     uint64_t now_ms)
{
    bool keyed = h->rules.mode == HOOK_OBJECT;
    const struct hook_source *source = &h->sources[e->source];
    const struct unit *u = keyed ? &e->unit : &h->unit;
    struct why w = {.event = event_of(e)};

    tell_past(&w, h, e);
    w.last_run = keyed ? history_of_key(&h->history, source->name, e->key) : newest_run(h);
    if (queue_due(e) || e->pins > 0 || (keyed && (u->orders != 0 || u->state == UNIT_RUNNING)))
        blame(&w, hs, h, u, now_ms);
    else if (!h->queue.sources[e->source].is_open && blame_gate(&w, hs, h, now_ms))
        return w;
    else if (!source_synced(source->of) || is_held(source, now_ms))
        blame_source(&w, source, now_ms);
    return w;
}

static const struct queue_event *later(const struct queue_event *a, const struct queue_event *b)
{
    if (a == NULL || b == NULL)
        return a != NULL ? a : b;
    return b->received_ns > a->received_ns ? b : a;
}

/* Of all keys. */
static const struct queue_event *last_event(const struct hook *h)
{
    const struct queue_event *last = NULL;

    for (size_t i = 0; i < h->source_count; i++) {
        const struct map *keys = &h->queue.sources[i].by_key;

        for (struct map_node *n = map_first(keys); n != NULL; n = map_next(n))
            last = later(last, event_of(map_entry(n, struct entry, node)));
    }
    return last;
}

/* The first source whose list is held, or that is not synced; NULL = there is none. */
static const struct hook_source *troubled(const struct hook *h, uint64_t now_ms)
{
    for (size_t i = 0; i < h->source_count; i++)
        if (!source_synced(h->sources[i].of) || is_held(&h->sources[i], now_ms))
            return &h->sources[i];
    return NULL;
}

/* It is due and nothing has settled against it. */
static void blame_command(struct why *w, const struct hook *h)
{
    w->reason = WHY_HOLDING;
    w->until_ms = apply_is_held(&h->apply) ? h->apply.held_ms : 0;
}

struct why why_apply(const struct hooks *hs, const struct hook *h, uint64_t now_ms)
{
    const struct unit *u = &h->apply.unit;
    struct why w = {
        .last_run = history_of_apply(&h->history), .failures = u->failures, .is_apply = true};

    if (u->state == UNIT_IDLE && h->gate != GATE_CLOSED)
        return w;
    if (u->state == UNIT_RUNNING)
        w.reason = WHY_RUNNING;
    else if (u->state == UNIT_PARKED)
        w.reason = WHY_PARKED;
    else if (h->paused || h->gate == GATE_CLOSED)
        blame_gate(&w, hs, h, now_ms);
    else if (u->state == UNIT_READY && h->apply.lane.blocked)
        blame_command(&w, h);
    else
        blame_unit(&w, &h->apply.lane, u, now_ms);
    return w;
}

struct why why_hook(const struct hooks *hs, const struct hook *h, uint64_t now_ms)
{
    bool keyed = h->rules.mode == HOOK_OBJECT;
    const struct hook_source *source = troubled(h, now_ms);
    struct why w = {.event = last_event(h), .last_run = newest_run(h)};

    if (h->renew && h->unit.state != UNIT_RUNNING)
        renewed(&w, h);
    if (!keyed && (hook_unit_due(h, &h->unit, NULL) || h->unit.state == UNIT_RUNNING))
        blame(&w, hs, h, &h->unit, now_ms);
    else if (!blame_gate(&w, hs, h, now_ms) && source != NULL)
        blame_source(&w, source, now_ms);
    return w;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/why.h"

#include <string.h>

#include "hook/apply_group.h"
#include "hook/gate.h"
#include "hook/hook_work_item.h"

const char *why_reason_name(enum why_reason reason)
{
    static const char *const names[] = {
        [WHY_HANDLED] = "handled",       [WHY_RUNNING] = "running",
        [WHY_SETTLING] = "settling",     [WHY_MIN_INTERVAL] = "min_interval",
        [WHY_BACKOFF] = "backoff",       [WHY_PARKED] = "parked",
        [WHY_GUARD] = "guard",           [WHY_NOT_SYNCED] = "not_synced",
        [WHY_INCOMPLETE] = "incomplete", [WHY_STALE] = "stale",
        [WHY_AFTER] = "after",           [WHY_SLOT] = "slot",
        [WHY_HOLDING] = "holding",       [WHY_PAUSED] = "paused",
        [WHY_SHORTAGE] = "shortage",     [WHY_STRAYS] = "strays",
        [WHY_STARTING] = "starting",     [WHY_RELOAD] = "reload",
        [WHY_STOPPING] = "stopping",
    };

    return names[reason];
}

const char *why_before_name(enum why_before before_restart)
{
    static const char *const names[] = {
        [WHY_BEFORE_NONE] = NULL,
        [WHY_BEFORE_HANDLED] = "handled",
        [WHY_BEFORE_ATTEMPTED] = "open",
        [WHY_BEFORE_RENEW] = "renew",
    };

    return names[before_restart];
}

/* words has one %s, for the name. */
static void put_words(struct buf *out, const char *words, const char *name)
{
    const char *at = strstr(words, "%s");

    buf_append(out, words, (size_t)(at - words));
    buf_puts(out, name);
    buf_puts(out, at + 2);
}

/* The reason, with the name of the source or hook around which its words stand. */
static void put_reason(struct buf *out, const struct why *w)
{
    static const struct {
        const char *before;
        const char *behind;
    } words[] = {
        [WHY_GUARD] = {"guard of source ",  ""           },
        [WHY_NOT_SYNCED] = {"source ",           " not synced"},
        [WHY_INCOMPLETE] = {"source ",           " incomplete"},
        [WHY_STALE] = {"source ",           " stale"     },
        [WHY_AFTER] = {"after ",            ""           },
        [WHY_HOLDING] = {"holding for hook ", ""           },
    };

    if (w->of == NULL)
        buf_puts(out, why_reason_name(w->reason));
    else
        buf_printf(out, "%s%s%s", words[w->reason].before, w->of, words[w->reason].behind);
}

void why_put_text(struct buf *out, const struct why *w)
{
    const char *event = w->before_reload ? "reload" : "restart";

    put_reason(out, w);
    if (w->before_restart == WHY_BEFORE_HANDLED)
        buf_printf(out, "%s before the %s", w->reason == WHY_HANDLED ? "" : ", handled", event);
    else if (w->before_restart == WHY_BEFORE_ATTEMPTED)
        buf_printf(out, ", a run before the %s did not succeed", event);
    else if (w->before_restart == WHY_BEFORE_RENEW)
        buf_printf(out, ", to run again: %s",
                   w->renew_why != NULL ? w->renew_why
                                        : "the effect of its runs is gone or the hook has changed");
}

void why_put_advice(struct buf *out, const struct why *w, const struct hook *h)
{
    static const char *const words[WHY_REASONS] = {
        [WHY_RUNNING] =
            "it ends by itself, or at its timeout: informerctl runs %s shows the earlier runs",
        [WHY_PARKED] = "change the object, or run it all the same: informerctl run %s [KEY]",
        [WHY_GUARD] = "informerctl guard accept %s takes the list, and guard reject drops it",
        [WHY_NOT_SYNCED] = "informerctl watches says what keeps source %s",
        [WHY_INCOMPLETE] = "raise limits.memory, or have source %s keep less of each object",
        [WHY_STALE] = "informerctl watches says what keeps source %s",
        [WHY_AFTER] = "informerctl why %s says what that hook waits for",
        [WHY_SLOT] =
            "other runs must end: concurrency of hook %s and limits.hook_concurrency allow no more",
        [WHY_HOLDING] = "it ends by itself with the runs of hook %s",
        [WHY_PAUSED] = "informerctl resume %s",
        [WHY_STRAYS] = "it ends by itself, when obsolete files of hook %s are removed",
        [WHY_STARTING] =
            "it ends by itself, when the programs of hook %s were compared with those from before",
        [WHY_RELOAD] = "it ends by itself: a reload changes hook %s when its runs have ended",
        [WHY_STOPPING] = "hook %s runs after the next start of informerd",
    };

    if (w->until_ms == 0 && words[w->reason] != NULL)
        put_words(out, words[w->reason], w->of != NULL ? w->of : h->name);
}

static bool is_held(const struct hook_source *s, uint64_t now_ms)
{
    return source_status(s->of, now_ms).held;
}

/* A source that is not synced, maybe because the guard holds its list. */
static void blame_source(struct why *w, const struct hook_source *s, uint64_t now_ms)
{
    w->reason = is_held(s, now_ms) ? WHY_GUARD : WHY_NOT_SYNCED;
    w->of = s->name;
}

/* Names the reason for which no run of the hook starts; false if there is none. A pause comes
 * first, as only a person can end it; then `after`, as the other hook has its own reason. */
static bool blame_gate(struct why *w, const struct hooks *hs, const struct hook *h, uint64_t now_ms)
{
    const struct hook *before = h->gate == GATE_CLOSED ? gate_before(hs, h) : NULL;
    const struct hook_source *incomplete = gate_incomplete(h);
    const struct hook_source *stale = gate_stale(h);
    const struct hook_source *unsynced = gate_unsynced(h);

    if (h->paused) {
        w->reason = WHY_PAUSED;
    } else if (before != NULL) {
        w->reason = WHY_AFTER;
        w->of = before->name;
    } else if (incomplete != NULL) {
        w->reason = WHY_INCOMPLETE;
        w->of = incomplete->name;
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

/* The work item is due and the gate lets it run: only time or a slot is missing. */
static void blame_work_item(struct why *w, const struct work_queue *work_queue,
                            const struct work_item *u, uint64_t now_ms)
{
    bool waits = u->state == WORK_ITEM_SETTLING || u->state == WORK_ITEM_BACKOFF;

    /* A timer that is over leaves the work item ready, even if the scheduler has not looked yet. */
    if (waits && now_ms < u->timer.due_ms) {
        w->reason = u->state == WORK_ITEM_SETTLING ? WHY_SETTLING
                    : u->not_started               ? WHY_SHORTAGE
                                                   : WHY_BACKOFF;
        w->until_ms = u->timer.due_ms;
    } else if (now_ms < scheduler_earliest_ms(work_queue)) {
        w->reason = WHY_MIN_INTERVAL;
        w->until_ms = scheduler_earliest_ms(work_queue);
    } else {
        w->reason = WHY_SLOT;
    }
}

/* The gate lets the hook run, and still none of its runs starts, whatever is due. False: there is no
 * such reason. */
static bool blame_process(struct why *w, const struct hooks *hs, const struct hook *h)
{
    if (hs->phase == HOOKS_STOPPING)
        w->reason = WHY_STOPPING;
    else if (hs->phase == HOOKS_STARTING || h->stage == HOOK_STARTS)
        w->reason = WHY_STARTING;
    else if (h->stage == HOOK_RETIRES)
        w->reason = WHY_RELOAD;
    else if (h->strays.due > 0)
        w->reason = WHY_STRAYS;
    else
        return false;
    return true;
}

/* Names the reason for which a work item that is due does not run. */
static void blame(struct why *w, const struct hooks *hs, const struct hook *h,
                  const struct work_item *u, uint64_t now_ms)
{
    w->failures = u->failures;
    if (u->state == WORK_ITEM_RUNNING)
        w->reason = WHY_RUNNING;
    else if (u->state == WORK_ITEM_PARKED)
        w->reason = WHY_PARKED;
    else if (!blame_gate(w, hs, h, now_ms) && !blame_process(w, hs, h))
        blame_work_item(w, &h->work_queue, u, now_ms);
}

/* The last event of a key: its newest state, else the end that came last. */
static const struct delivery_event *event_of(const struct delivery *dl)
{
    if (dl->newest.object != NULL)
        return &dl->newest;
    if (dl->ends != NULL && dl->ends->successor_delete.object != NULL)
        return &dl->ends->successor_delete;
    return delivery_end(dl);
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
    w->before_restart = WHY_BEFORE_RENEW;
    w->renew_why = h->renew_why;
}

/* Fills in the last result that an earlier process, or the hook before a reload, had with the key, as
 * long as no run has changed that. */
static void tell_before_restart(struct why *w, const struct hook *h, const struct delivery *dl)
{
    if (!dl->inherited)
        return;
    w->before_reload = h->replaces;
    if (dl->renew && delivery_end(dl) == NULL)
        renewed(w, h);
    else if (delivery_is_attempted(dl))
        w->before_restart = WHY_BEFORE_ATTEMPTED;
    else if (!delivery_is_due(dl) && dl->state == DELIVERED_HANDLED)
        w->before_restart = WHY_BEFORE_HANDLED;
}

struct why why_delivery(const struct hooks *hs, const struct hook *h, const struct delivery *dl,
                        uint64_t now_ms)
{
    bool keyed = h->rules.mode == HOOK_OBJECT;
    const struct hook_source *source = &h->sources[dl->source];
    const struct work_item *u = keyed ? dl->work_item : &h->work_item;
    struct why w = {.event = event_of(dl)};

    tell_before_restart(&w, h, dl);
    w.last_run = keyed ? history_of_key(&h->history, source->name, dl->key) : newest_run(h);
    /* First the key itself; then its gate, if the hook has not opened the source; then the source,
     * whose objects may be out of date although nothing is due. */
    if (delivery_is_due(dl) || dl->pins > 0 ||
        (keyed && (u->manual_runs != 0 || u->state == WORK_ITEM_RUNNING)))
        blame(&w, hs, h, u, now_ms);
    else if (!h->queue.sources[dl->source].is_open && blame_gate(&w, hs, h, now_ms))
        return w;
    else if (!source_synced(source->of) || is_held(source, now_ms))
        blame_source(&w, source, now_ms);
    return w;
}

static const struct delivery_event *later(const struct delivery_event *a,
                                          const struct delivery_event *b)
{
    if (a == NULL || b == NULL)
        return a != NULL ? a : b;
    return b->received_ns > a->received_ns ? b : a;
}

/* The last event of all keys. */
static const struct delivery_event *last_event(const struct hook *h)
{
    const struct delivery_event *last = NULL;

    for (size_t i = 0; i < h->source_count; i++) {
        const struct map *keys = &h->queue.sources[i].by_key;

        for (struct map_node *n = map_first(keys); n != NULL; n = map_next(n))
            last = later(last, event_of(map_entry(n, struct delivery, node)));
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

/* apply is ready and blocked: it waits for the command, or for a hook with which it shares the
 * program. */
static void blame_hold(struct why *w, const struct hook *h, uint64_t now_ms)
{
    static const enum why_reason reasons[] = {
        [APPLY_FREE] = WHY_HOLDING,          [APPLY_SHUT] = WHY_HOLDING,
        [APPLY_GATHERS] = WHY_HOLDING,       [APPLY_PAUSES] = WHY_BACKOFF,
        [APPLY_INTERVAL] = WHY_MIN_INTERVAL, [APPLY_BESIDE] = WHY_HOLDING,
    };
    const struct hook *other = apply_group_awaited(h, now_ms);

    w->reason = reasons[h->apply.hold];
    w->until_ms = h->apply.held_ms != NEVER_MS ? h->apply.held_ms : 0;
    if (w->reason == WHY_HOLDING && other != NULL && !scheduler_is_busy(&h->work_queue, now_ms))
        w->of = other->name;
}

struct why why_apply(const struct hooks *hs, const struct hook *h, uint64_t now_ms)
{
    const struct work_item *u = &h->apply.work_item;
    struct why w = {
        .last_run = history_of_apply(&h->history), .failures = u->failures, .is_apply = true};

    /* Nothing is to be applied. */
    if (u->state == WORK_ITEM_IDLE && h->gate != GATE_CLOSED)
        return w;
    if (u->state == WORK_ITEM_RUNNING)
        w.reason = WHY_RUNNING;
    else if (u->state == WORK_ITEM_PARKED)
        w.reason = WHY_PARKED;
    else if (h->paused || h->gate == GATE_CLOSED)
        blame_gate(&w, hs, h, now_ms);
    else if (blame_process(&w, hs, h))
        return w;
    else if (u->state == WORK_ITEM_READY && h->apply.work_queue.blocked)
        blame_hold(&w, h, now_ms);
    else
        blame_work_item(&w, &h->apply.work_queue, u, now_ms);
    return w;
}

struct why why_hook(const struct hooks *hs, const struct hook *h, uint64_t now_ms)
{
    bool keyed = h->rules.mode == HOOK_OBJECT;
    const struct hook_source *source = troubled(h, now_ms);
    struct why w = {.event = last_event(h), .last_run = newest_run(h)};

    if (h->renew && h->work_item.state != WORK_ITEM_RUNNING)
        renewed(&w, h);
    if (!keyed &&
        (hook_work_item_due(h, &h->work_item, NULL) || h->work_item.state == WORK_ITEM_RUNNING))
        blame(&w, hs, h, &h->work_item, now_ms);
    else if (!blame_gate(&w, hs, h, now_ms) && source != NULL)
        blame_source(&w, source, now_ms);
    return w;
}

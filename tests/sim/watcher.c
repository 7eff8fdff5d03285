/* SPDX-License-Identifier: Apache-2.0 */
/* What happens outside runs, and whether one is late: see watcher_run.c for runs. */
#include "sim/watcher.h"

#include "base/panic.h"
#include "sim/answer.h"
#include "sim/watched.h"

void watcher_init(struct watcher *w, const struct clock *clock, const struct rules *rules,
                  unsigned slots, uint64_t *features)
{
    *w = (struct watcher){.clock = clock, .rules = rules, .slots = slots};
    w->features = features;
    for (size_t i = 0; i < HOOKS; i++) {
        struct watched *h = &w->hooks[i];

        h->rules = &rules[i];
        for (size_t s = 0; s < RULES_SOURCES; s++) {
            h->accounts[s][ACCOUNT_OUTAGE].outage = true;
            for (size_t key = 0; key < ACCOUNT_KEYS; key++)
                pace_init(&h->paces[s][key]);
        }
    }
}

/* A change as a hook sees it. */
struct change {
    size_t source;
    size_t key;
    struct account_change of;
};

static void touch(const struct watcher *w, const struct watched *h, struct pace *p)
{
    static const enum feature counted[] = {[PACE_BURST] = FEATURE_BURST,
                                           [PACE_LIMIT] = FEATURE_LIMIT,
                                           [PACE_FORWARD] = FEATURE_FORWARD,
                                           [PACE_UNPARKED] = FEATURE_UNPARKED};
    enum pace_effect effect = pace_touch(p, &h->rules->work_queue, w->clock->now_ms);

    if (effect != PACE_NOTHING)
        watched_count(w, counted[effect]);
}

/* Nothing is due any more. */
static void calm_down(const struct watcher *w, const struct watched *h, const struct account *a,
                      struct pace *p)
{
    const struct work_queue_params *l = &h->rules->work_queue;
    bool by_key = h->rules->mode == HOOK_OBJECT;

    if (p->running)
        return;
    if (by_key && !watched_repeats(h, a)) {
        p->ordered_ms = NEVER_MS;
        pace_rest(p, l, NEVER_MS);
    } else if (by_key && p->rerun_earliest_ms == NEVER_MS) {
        pace_rest(p, l, w->clock->now_ms);
    }
    if (p->ordered_ms == NEVER_MS)
        pace_drop(p);
    else if (by_key)
        pace_leave_order(p, w->clock->now_ms);
    if (p->rerun_latest_ms < w->clock->now_ms) /* it waits at the end again */
        p->rerun_latest_ms = w->clock->now_ms;
}

/* Its unit hears of it. */
static void reschedule(const struct watcher *w, struct watched *h, const struct account *a,
                       struct pace *p, bool news)
{
    bool by_key = h->rules->mode == HOOK_OBJECT;

    if (!watched_due(h, a)) {
        calm_down(w, h, a, p);
    } else if (by_key && !p->running && p->failures > 0 && account_new_matter(a, h->rules)) {
        watched_count(w, FEATURE_NEW_BACKOFF);
        pace_hurry(p, w->clock->now_ms);
    } else if (news) {
        touch(w, h, p);
    }
}

static void count_change(const struct watcher *w, const struct watched *h, const struct account *a,
                         const struct account *was)
{
    if (was->due && !a->due)
        watched_count(w, FEATURE_CANCELLED);
    if (a->open && a->running == 0 && a->handled.uid != 0 && a->handled.uid == a->now.uid &&
        account_differences(&a->handled, &a->now) == 0 &&
        account_differences(&was->handled, &was->now) != 0 && was->now.uid == a->now.uid &&
        rules_take(h->rules, DELTA_MODIFIED))
        watched_count(w, FEATURE_UNDONE);
}

/* Before a source is seen, nothing is kept of a key that is not there. */
static void note_early(const struct watcher *w, const struct watched *h, struct pace *p,
                       const struct account_change *of)
{
    if (h->rules->mode == HOOK_OBJECT && account_is_end(of->type))
        p->news_ms = 0;
    else if (of->cause == CAUSE_WATCH)
        p->news_ms = w->clock->now_ms;
}

static void take(struct watcher *w, struct watched *h, const struct change *c)
{
    struct account *a = &h->accounts[c->source][c->key];
    struct pace *p = watched_pace(h, c->source, c->key);
    const struct account was = *a;

    if (!h->is_open[c->source]) {
        account_prepare(a, &c->of);
        note_early(w, h, p, &c->of);
        return;
    }
    bool news = account_change(a, h->rules, &c->of);
    if (a->running > 0)
        account_change(&h->unstarted[c->source][c->key], h->rules, &c->of);
    if (h->rules->mode == HOOK_OBJECT && !p->running &&
        account_must_yield(a, h->rules, p->failures, p->parked)) {
        watched_count(w, FEATURE_GAVE_WAY);
        account_yield(a, h->rules);
    }
    count_change(w, h, a, &was);
    reschedule(w, h, a, p, news);
    watched_check_first(h);
}

static void take_from(struct watcher *w, struct watched *h, size_t number, struct change *c)
{
    for (c->source = 0; c->source < RULES_SOURCES; c->source++)
        if (h->rules->sources[c->source] == number)
            take(w, h, c);
}

void watcher_delta(struct watcher *w, size_t number, const struct delta *d)
{
    struct change c = {
        .key = api_find(object_key(d->object)),
        .of = {d->type, d->cause, d->final_state_unknown, answer_read(d->object)},
    };

    for (size_t i = 0; i < HOOKS; i++)
        take_from(w, &w->hooks[i], number, &c);
}

void watcher_stale(struct watcher *w, size_t number, bool stale)
{
    struct change c = {
        .key = ACCOUNT_OUTAGE,
        .of = {.type = stale ? DELTA_STALE : DELTA_FRESH, .cause = CAUSE_WATCH, .is = {.uid = 1}},
    };
    bool was[HOOKS];

    for (size_t i = 0; i < HOOKS; i++)
        was[i] = watched_blocked(w, &w->hooks[i]);
    w->stale[number] = stale;
    for (size_t i = 0; i < HOOKS; i++) {
        if (!was[i] && watched_blocked(w, &w->hooks[i]))
            watched_count(w, FEATURE_WAITED_STALE);
        if (rules_take_outages(&w->rules[i]))
            take_from(w, &w->hooks[i], number, &c);
    }
}

/* First runs do not wait for quiet, unless changes keep coming. */
static void start_first(const struct watcher *w, const struct watched *h, struct pace *p)
{
    if (p->news_ms == 0 || w->clock->now_ms - p->news_ms >= h->rules->work_queue.settle_ms) {
        pace_hurry(p, w->clock->now_ms);
        return;
    }
    watched_count(w, FEATURE_HOT_START);
    if (p->due)
        touch(w, h, p);
    else
        pace_begin_hot(p, &h->rules->work_queue, w->clock->now_ms);
}

static void see_keys(const struct watcher *w, struct watched *h, size_t source)
{
    for (size_t key = 0; key < ACCOUNT_KEYS; key++) {
        struct account *a = &h->accounts[source][key];
        struct pace *p = &h->paces[source][key];

        if (a->due)
            start_first(w, h, p);
        else if (watched_repeats(h, a))
            pace_rest(p, &h->rules->work_queue, w->clock->now_ms);
    }
}

static void see_whole(const struct watcher *w, struct watched *h)
{
    const struct rules *r = h->rules;
    struct pace *p = &h->paces[0][0];

    if (r->mode == HOOK_SNAPSHOT && r->existing == HOOK_EXISTING_RUN)
        h->whole_due = true;
    if (p->running || p->failures > 0 || p->not_started) {
        if (watched_due(h, NULL))
            touch(w, h, p);
    } else if (watched_due(h, NULL)) {
        start_first(w, h, p);
    } else if (p->rerun_earliest_ms == NEVER_MS) {
        pace_rest(p, &r->work_queue, w->clock->now_ms);
    }
}

static bool see_sources(struct watcher *w, struct watched *h)
{
    bool any = false;

    for (size_t s = 0; s < RULES_SOURCES; s++) {
        if (h->is_open[s] || !w->synced[h->rules->sources[s]])
            continue;
        h->is_open[s] = true;
        any = true;
        if (h->gate >= GATE_APPLY)
            watched_count(w, FEATURE_LATE_SOURCE);
        for (size_t key = 0; key < ACCOUNT_KEYS; key++)
            if (account_see(&h->accounts[s][key], h->rules))
                watched_count(w, FEATURE_SKIPPED);
        if (h->rules->mode == HOOK_OBJECT)
            see_keys(w, h, s);
    }
    if (any && h->rules->mode != HOOK_OBJECT)
        see_whole(w, h);
    return any;
}

static bool may_open(const struct watcher *w, struct watched *h)
{
    if (!watched_has_sources(w, h))
        return false;
    for (size_t i = 0; i < HOOKS; i++)
        if ((h->rules->after & 1U << i) != 0 && !watched_first_ended(&w->hooks[i])) {
            if (!h->waited)
                watched_count(w, FEATURE_WAITED_AFTER);
            h->waited = true;
            return false;
        }
    return true;
}

static bool look_at_hook(struct watcher *w, struct watched *h)
{
    if (h->gate == GATE_CLOSED) {
        if (!may_open(w, h))
            return false;
        h->gate = GATE_FIRST;
    }
    bool any = see_sources(w, h);
    watched_check_first(h);
    return any;
}

void watcher_open(struct watcher *w, const bool synced[SOURCES])
{
    bool any = true;

    for (size_t i = 0; i < SOURCES; i++)
        w->synced[i] = synced[i];
    while (any) {
        any = false;
        for (size_t i = 0; i < HOOKS; i++)
            any = look_at_hook(w, &w->hooks[i]) || any;
    }
}

static bool anything_due(struct watched *h)
{
    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < ACCOUNT_KEYS; key++)
            if (watched_pace(h, s, key)->due && !watched_pace(h, s, key)->parked)
                return true;
    return false;
}

void watcher_end_apply(struct watcher *w, size_t hook, bool not_started)
{
    struct watched *h = &w->hooks[hook];

    if (h->gate == GATE_APPLY && !not_started)
        h->gate = GATE_OPEN;
}

static bool is_awake(const struct pace *p, uint64_t now_ms)
{
    return pace_waits(p) && (p->ordered_ms != NEVER_MS || p->earliest_ms <= now_ms ||
                             p->rerun_earliest_ms <= now_ms);
}

bool watcher_is_awake(const struct watcher *w, size_t hook)
{
    const struct watched *h = &w->hooks[hook];

    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < ACCOUNT_KEYS; key++)
            if (is_awake(&h->paces[s][key], w->clock->now_ms))
                return true;
    return false;
}

void watcher_unpark(struct watcher *w, size_t hook)
{
    struct watched *h = &w->hooks[hook];

    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < ACCOUNT_KEYS; key++)
            if (h->accounts[s][key].due && h->paces[s][key].parked)
                touch(w, h, &h->paces[s][key]);
}

void watcher_pause(struct watcher *w, size_t hook, bool paused)
{
    struct watched *h = &w->hooks[hook];

    if (paused)
        watched_count(w, FEATURE_PAUSED);
    else if (h->paused && anything_due(h))
        watched_count(w, FEATURE_PAUSED_DUE);
    h->paused = paused;
}

static void order(const struct watcher *w, struct pace *p)
{
    if (p->running)
        watched_count(w, FEATURE_ORDER_RUNNING);
    pace_order(p, w->clock->now_ms);
}

static bool order_key(struct watcher *w, struct watched *h, size_t key)
{
    bool any = false;

    for (size_t s = 0; s < RULES_SOURCES; s++) {
        const struct account *a = &h->accounts[s][key];

        if (!h->is_open[s] || (!a->due && !watched_repeats(h, a)))
            continue;
        order(w, &h->paces[s][key]);
        any = true;
    }
    return any;
}

static enum err_kind refuse(const struct watcher *w, enum err_kind why)
{
    watched_count(w, FEATURE_ORDER_REFUSED);
    return why;
}

static enum err_kind order_hook(struct watcher *w, struct watched *h)
{
    if (!watched_due(h, NULL) && !watched_repeats(h, NULL))
        return refuse(w, ERR_NOT_FOUND);
    watched_count(w, FEATURE_ORDER);
    order(w, &h->paces[0][0]);
    return ERR_OK;
}

enum err_kind watcher_order(struct watcher *w, size_t hook, size_t key)
{
    struct watched *h = &w->hooks[hook];
    bool all = key == ACCOUNT_KEYS;
    bool any = false;

    if (!all && h->rules->mode != HOOK_OBJECT)
        return refuse(w, ERR_CONFIG);
    if (watched_blocked(w, h))
        return refuse(w, ERR_BUSY);
    if (h->rules->mode != HOOK_OBJECT)
        return order_hook(w, h);
    for (size_t i = all ? 0 : key; i < (all ? ACCOUNT_KEYS : key + 1); i++)
        any = order_key(w, h, i) || any;
    if (!any)
        return refuse(w, ERR_NOT_FOUND);
    watched_count(w, all ? FEATURE_ORDER_ALL : FEATURE_ORDER);
    return ERR_OK;
}

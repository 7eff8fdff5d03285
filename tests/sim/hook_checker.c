/* SPDX-License-Identifier: Apache-2.0 */
/* Changes, staleness, pauses and manual runs. sim/hook_checker_run.c has the runs,
 * sim/hook_checker_time.c finds late ones. */
#include "sim/hook_checker.h"

#include "base/panic.h"
#include "sim/answer.h"
#include "sim/checked_hook.h"

void hook_checker_init(struct hook_checker *w, const struct clock *clock, const struct rules *rules,
                       unsigned slots, uint64_t *features)
{
    *w = (struct hook_checker){.clock = clock, .rules = rules, .slots = slots};
    w->features = features;
    for (size_t i = 0; i < HOOKS; i++) {
        struct checked_hook *h = &w->hooks[i];

        h->rules = &rules[i];
        h->last_start_ms = NEVER_MS;
        for (size_t s = 0; s < RULES_SOURCES; s++) {
            h->delivery_models[s][RULES_OUTAGE].outage = true;
            for (size_t key = 0; key < RULES_KEYS; key++)
                run_timing_init(&h->timings[s][key]);
        }
    }
}

/* A change of one key as one hook sees it. */
struct change {
    size_t source;
    size_t key;
    struct delivery_model_change of;
};

static void touch(const struct hook_checker *w, const struct checked_hook *h, struct run_timing *p)
{
    static const enum feature counted[] = {[RUN_TIMING_BURST] = FEATURE_BURST,
                                           [RUN_TIMING_LIMIT] = FEATURE_LIMIT,
                                           [RUN_TIMING_FORWARD] = FEATURE_FORWARD,
                                           [RUN_TIMING_UNPARKED] = FEATURE_UNPARKED};
    enum run_timing_effect effect = run_timing_touch(p, &h->rules->work_queue, w->clock->now_ms);

    if (effect != RUN_TIMING_NOTHING)
        checked_hook_count(w, counted[effect]);
}

/* Nothing is due any more for the key, or the hook. */
static void calm_down(const struct hook_checker *w, const struct checked_hook *h,
                      const struct delivery_model *a, struct run_timing *p)
{
    const struct work_queue_params *l = &h->rules->work_queue;
    bool by_key = h->rules->mode == HOOK_OBJECT;

    if (p->running)
        return;
    if (by_key && !checked_hook_repeats(h, a)) {
        p->ordered_ms = NEVER_MS;
        run_timing_rest(p, l, NEVER_MS);
    } else if (by_key && p->rerun_earliest_ms == NEVER_MS) {
        run_timing_rest(p, l, w->clock->now_ms);
    }
    if (p->ordered_ms == NEVER_MS)
        run_timing_drop(p);
    else if (by_key)
        run_timing_leave_order(p, w->clock->now_ms);
    if (p->rerun_latest_ms < w->clock->now_ms) /* to the end of the queue again */
        p->rerun_latest_ms = w->clock->now_ms;
}

/* Tells the work item of a change. news: the hook sees a difference. */
static void reschedule(const struct hook_checker *w, struct checked_hook *h,
                       const struct delivery_model *a, struct run_timing *p, bool news)
{
    bool by_key = h->rules->mode == HOOK_OBJECT;

    if (!checked_hook_due(h, a)) {
        calm_down(w, h, a, p);
    } else if (by_key && !p->running && p->failures > 0 && delivery_model_new_matter(a, h->rules)) {
        checked_hook_count(w, FEATURE_NEW_BACKOFF);
        run_timing_hurry(p, w->clock->now_ms);
    } else if (news) {
        touch(w, h, p);
    }
}

static void count_change(const struct hook_checker *w, const struct checked_hook *h,
                         const struct delivery_model *a, const struct delivery_model *was)
{
    if (was->due && !a->due)
        checked_hook_count(w, FEATURE_CANCELLED);
    if (a->open && a->running == 0 && a->handled.uid != 0 && a->handled.uid == a->now.uid &&
        api_differences(&a->handled, &a->now) == 0 &&
        api_differences(&was->handled, &was->now) != 0 && was->now.uid == a->now.uid &&
        rules_take(h->rules, DELTA_MODIFIED))
        checked_hook_count(w, FEATURE_UNDONE);
}

/* Notes a change of a source that the hook has not seen yet. In mode object nothing is kept of a
 * key without an object. */
static void note_early(const struct hook_checker *w, const struct checked_hook *h,
                       struct run_timing *p, const struct delivery_model_change *of)
{
    if (h->rules->mode == HOOK_OBJECT && rules_is_end(of->type))
        p->news_ms = 0;
    else if (of->cause == CAUSE_WATCH)
        p->news_ms = w->clock->now_ms;
}

static void take(struct hook_checker *w, struct checked_hook *h, const struct change *c)
{
    struct delivery_model *a = &h->delivery_models[c->source][c->key];
    struct run_timing *p = checked_hook_timing(h, c->source, c->key);
    const struct delivery_model was = *a;

    if (!h->is_open[c->source]) {
        delivery_model_prepare(a, &c->of);
        note_early(w, h, p, &c->of);
        return;
    }
    bool news = delivery_model_change(a, h->rules, &c->of);
    if (a->running > 0)
        delivery_model_change(&h->unstarted[c->source][c->key], h->rules, &c->of);
    if (h->rules->mode == HOOK_OBJECT && !p->running &&
        delivery_model_must_yield(a, h->rules, p->failures, p->parked)) {
        checked_hook_count(w, FEATURE_GAVE_WAY);
        delivery_model_yield(a, h->rules);
    }
    count_change(w, h, a, &was);
    reschedule(w, h, a, p, news);
    checked_hook_check_first(h);
}

static void take_from(struct hook_checker *w, struct checked_hook *h, size_t number,
                      struct change *c)
{
    for (c->source = 0; c->source < RULES_SOURCES; c->source++)
        if (h->as == CHECKED_FULLY && h->rules->sources[c->source] == number)
            take(w, h, c);
}

void hook_checker_delta(struct hook_checker *w, size_t number, const struct delta *d)
{
    struct change c = {
        .key = api_find(object_key(d->object)),
        .of = {d->type, d->cause, d->final_state_unknown, answer_read(d->object)},
    };

    for (size_t i = 0; i < HOOKS; i++)
        take_from(w, &w->hooks[i], number, &c);
}

void hook_checker_stale(struct hook_checker *w, size_t number, bool stale)
{
    struct change c = {
        .key = RULES_OUTAGE,
        .of = {.type = stale ? DELTA_STALE : DELTA_FRESH, .cause = CAUSE_WATCH, .is = {.uid = 1}},
    };
    bool was[HOOKS];

    for (size_t i = 0; i < HOOKS; i++)
        was[i] = w->hooks[i].as != CHECKED_FULLY || checked_hook_blocked(w, &w->hooks[i]);
    w->stale[number] = stale;
    for (size_t i = 0; i < HOOKS; i++) {
        if (!was[i] && checked_hook_blocked(w, &w->hooks[i]))
            checked_hook_count(w, FEATURE_WAITED_STALE);
        if (rules_take_outages(&w->rules[i]))
            take_from(w, &w->hooks[i], number, &c);
    }
}

/* First runs do not settle, unless changes keep coming (docs/design.md "Timing"). */
static void start_first(const struct hook_checker *w, const struct checked_hook *h,
                        struct run_timing *p)
{
    if (p->news_ms == 0 || w->clock->now_ms - p->news_ms >= h->rules->work_queue.settle_ms) {
        run_timing_hurry(p, w->clock->now_ms);
        return;
    }
    checked_hook_count(w, FEATURE_HOT_START);
    if (p->due)
        touch(w, h, p);
    else
        run_timing_begin_hot(p, &h->rules->work_queue, w->clock->now_ms);
}

static void see_keys(const struct hook_checker *w, struct checked_hook *h, size_t source)
{
    for (size_t key = 0; key < RULES_KEYS; key++) {
        struct delivery_model *a = &h->delivery_models[source][key];
        struct run_timing *p = &h->timings[source][key];

        if (a->due)
            start_first(w, h, p);
        else if (checked_hook_repeats(h, a))
            run_timing_rest(p, &h->rules->work_queue, w->clock->now_ms);
    }
}

static void see_whole(const struct hook_checker *w, struct checked_hook *h)
{
    const struct rules *r = h->rules;
    struct run_timing *p = &h->timings[0][0];

    if (r->mode == HOOK_SNAPSHOT && r->existing == HOOK_EXISTING_RUN)
        h->whole_due = true;
    if (p->running || p->failures > 0 || p->not_started) {
        if (checked_hook_due(h, NULL))
            touch(w, h, p);
    } else if (checked_hook_due(h, NULL)) {
        start_first(w, h, p);
    } else if (p->rerun_earliest_ms == NEVER_MS) {
        run_timing_rest(p, &r->work_queue, w->clock->now_ms);
    }
}

static bool see_sources(struct hook_checker *w, struct checked_hook *h)
{
    bool any = false;

    for (size_t s = 0; s < RULES_SOURCES; s++) {
        if (h->is_open[s] || !w->synced[h->rules->sources[s]])
            continue;
        h->is_open[s] = true;
        any = true;
        if (h->gate >= GATE_APPLY)
            checked_hook_count(w, FEATURE_LATE_SOURCE);
        for (size_t key = 0; key < RULES_KEYS; key++)
            if (delivery_model_see(&h->delivery_models[s][key], h->rules))
                checked_hook_count(w, FEATURE_SKIPPED);
        if (h->rules->mode == HOOK_OBJECT)
            see_keys(w, h, s);
    }
    if (any && h->rules->mode != HOOK_OBJECT)
        see_whole(w, h);
    return any;
}

static bool may_open(const struct hook_checker *w, struct checked_hook *h)
{
    if (!checked_hook_has_sources(w, h))
        return false;
    for (size_t i = 0; i < HOOKS; i++)
        if ((h->rules->after & 1U << i) != 0 && !checked_hook_first_ended(&w->hooks[i])) {
            if (!h->waited)
                checked_hook_count(w, FEATURE_WAITED_AFTER);
            h->waited = true;
            return false;
        }
    return true;
}

static bool look_at_hook(struct hook_checker *w, struct checked_hook *h)
{
    if (h->as != CHECKED_FULLY)
        return false;
    if (h->gate == GATE_CLOSED) {
        if (!may_open(w, h))
            return false;
        h->gate = GATE_FIRST;
    }
    bool any = see_sources(w, h);
    checked_hook_check_first(h);
    return any;
}

void hook_checker_open(struct hook_checker *w, const bool synced[SOURCES])
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

void hook_checker_release(struct hook_checker *w, size_t hook, const struct hook *is)
{
    struct checked_hook *h = &w->hooks[hook];

    h->as = is != NULL ? CHECKED_SLOTS : CHECKED_NOT;
    h->first_ended = is != NULL && hook_first_ended(is);
}

/* The wait of a work item under the present settings. */
static void follow(const struct hook_checker *w, struct run_timing *p, const struct rules *r,
                   const struct rules *was, bool can_repeat)
{
    run_timing_change(p, &r->work_queue, &was->work_queue, w->clock->now_ms);
    if (was->work_queue.rerun_ms == 0 && !p->running && can_repeat)
        run_timing_rest(p, &r->work_queue, w->clock->now_ms);
}

void hook_checker_change(struct hook_checker *w, size_t hook, const struct rules *was)
{
    struct checked_hook *h = &w->hooks[hook];
    bool by_key = h->rules->mode == HOOK_OBJECT;

    h->was_any = h->was_any || was->require == HOOK_REQUIRE_ANY;
    if (h->last_start_ms != NEVER_MS)
        h->free_ms = h->last_start_ms + h->rules->work_queue.min_interval_ms;
    for (size_t s = 0; s < (by_key ? RULES_SOURCES : 1); s++)
        for (size_t key = 0; key < (by_key ? RULES_KEYS : 1); key++) {
            const struct delivery_model *a = &h->delivery_models[s][key];
            bool repeats = by_key ? h->is_open[s] && !a->due && checked_hook_repeats(h, a)
                                  : h->gate != GATE_CLOSED && !checked_hook_due(h, NULL);

            follow(w, &h->timings[s][key], h->rules, was, repeats);
        }
}

static bool anything_due(struct checked_hook *h)
{
    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < RULES_KEYS; key++)
            if (checked_hook_timing(h, s, key)->due && !checked_hook_timing(h, s, key)->parked)
                return true;
    return false;
}

void hook_checker_end_apply(struct hook_checker *w, size_t hook, bool not_started)
{
    struct checked_hook *h = &w->hooks[hook];

    if (h->gate == GATE_APPLY && !not_started)
        h->gate = GATE_OPEN;
}

static bool is_awake(const struct run_timing *p, uint64_t now_ms)
{
    return run_timing_waits(p) && (p->ordered_ms != NEVER_MS || p->earliest_ms <= now_ms ||
                                   p->rerun_earliest_ms <= now_ms);
}

bool hook_checker_is_awake(const struct hook_checker *w, size_t hook)
{
    const struct checked_hook *h = &w->hooks[hook];

    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < RULES_KEYS; key++)
            if (is_awake(&h->timings[s][key], w->clock->now_ms))
                return true;
    return false;
}

void hook_checker_unpark(struct hook_checker *w, size_t hook)
{
    struct checked_hook *h = &w->hooks[hook];

    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < RULES_KEYS; key++)
            if (h->delivery_models[s][key].due && h->timings[s][key].parked)
                touch(w, h, &h->timings[s][key]);
}

void hook_checker_pause(struct hook_checker *w, size_t hook, bool paused)
{
    struct checked_hook *h = &w->hooks[hook];

    if (paused)
        checked_hook_count(w, FEATURE_PAUSED);
    else if (h->paused && anything_due(h))
        checked_hook_count(w, FEATURE_PAUSED_DUE);
    h->paused = paused;
}

static void order(const struct hook_checker *w, struct run_timing *p)
{
    if (p->running)
        checked_hook_count(w, FEATURE_ORDER_RUNNING);
    run_timing_order(p, w->clock->now_ms);
}

static bool order_key(struct hook_checker *w, struct checked_hook *h, size_t key)
{
    bool any = false;

    for (size_t s = 0; s < RULES_SOURCES; s++) {
        const struct delivery_model *a = &h->delivery_models[s][key];

        if (!h->is_open[s] || (!a->due && !checked_hook_repeats(h, a)))
            continue;
        order(w, &h->timings[s][key]);
        any = true;
    }
    return any;
}

static enum err_kind refuse(const struct hook_checker *w, enum err_kind why)
{
    checked_hook_count(w, FEATURE_ORDER_REFUSED);
    return why;
}

static enum err_kind order_hook(struct hook_checker *w, struct checked_hook *h)
{
    if (!checked_hook_due(h, NULL) && !checked_hook_repeats(h, NULL))
        return refuse(w, ERR_NOT_FOUND);
    checked_hook_count(w, FEATURE_ORDER);
    order(w, &h->timings[0][0]);
    return ERR_OK;
}

enum err_kind hook_checker_order(struct hook_checker *w, size_t hook, size_t key)
{
    struct checked_hook *h = &w->hooks[hook];
    bool all = key == RULES_KEYS;
    bool any = false;

    if (!all && h->rules->mode != HOOK_OBJECT)
        return refuse(w, ERR_CONFIG);
    if (checked_hook_blocked(w, h))
        return refuse(w, ERR_BUSY);
    if (h->rules->mode != HOOK_OBJECT)
        return order_hook(w, h);
    for (size_t i = all ? 0 : key; i < (all ? RULES_KEYS : key + 1); i++)
        any = order_key(w, h, i) || any;
    if (!any)
        return refuse(w, ERR_NOT_FOUND);
    checked_hook_count(w, all ? FEATURE_ORDER_ALL : FEATURE_ORDER);
    return ERR_OK;
}

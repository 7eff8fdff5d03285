/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/checked_hook.h"

#include "base/panic.h"

struct run_timing *checked_hook_timing(struct checked_hook *h, size_t source, size_t key)
{
    return h->rules->mode == HOOK_OBJECT ? &h->timings[source][key] : &h->timings[0][0];
}

static bool any_due(const struct checked_hook *h)
{
    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < RULES_KEYS; key++)
            if (h->delivery_models[s][key].due)
                return true;
    return false;
}

bool checked_hook_due(const struct checked_hook *h, const struct delivery_model *a)
{
    return h->rules->mode == HOOK_OBJECT ? a->due : h->whole_due || any_due(h);
}

bool checked_hook_repeats(const struct checked_hook *h, const struct delivery_model *a)
{
    struct delivery_model_event ev;

    if (h->rules->mode == HOOK_SNAPSHOT)
        return true;
    if (h->rules->mode == HOOK_OBJECT)
        return delivery_model_repeats(a, h->rules, &ev);
    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < RULES_KEYS; key++)
            if (h->is_open[s] && delivery_model_repeats(&h->delivery_models[s][key], h->rules, &ev))
                return true;
    return false;
}

static bool usable(const struct hook_checker *w, const struct checked_hook *h, size_t source)
{
    size_t number = h->rules->sources[source];

    return w->synced[number] && !(h->rules->when_stale == HOOK_STALE_WAIT && w->stale[number]);
}

bool checked_hook_has_sources(const struct hook_checker *w, const struct checked_hook *h)
{
    size_t n = 0;

    for (size_t s = 0; s < RULES_SOURCES; s++)
        n += usable(w, h, s);
    return h->rules->require == HOOK_REQUIRE_ANY ? n > 0 : n == RULES_SOURCES;
}

static bool any_stale(const struct hook_checker *w, const struct checked_hook *h)
{
    for (size_t s = 0; s < RULES_SOURCES; s++)
        if (w->synced[h->rules->sources[s]] && w->stale[h->rules->sources[s]])
            return true;
    return false;
}

bool checked_hook_lacks(const struct hook_checker *w, const struct rules *r)
{
    for (size_t s = 0; s < RULES_SOURCES; s++)
        if (w->incomplete[r->sources[s]])
            return true;
    return false;
}

/* A source that is not synced concerns the first run only: require may have become "all" since. */
bool checked_hook_blocked(const struct hook_checker *w, const struct checked_hook *h)
{
    return h->gate == GATE_CLOSED || h->paused || checked_hook_lacks(w, h->rules) ||
           (h->rules->when_stale == HOOK_STALE_WAIT && any_stale(w, h) &&
            !checked_hook_has_sources(w, h));
}

static unsigned shared_slots_used(const struct hook_checker *w)
{
    unsigned n = 0;

    for (size_t i = 0; i < HOOKS; i++)
        n += w->hooks[i].running > 1 ? w->hooks[i].running - 1 : 0;
    ensure(n <= w->slots);
    return n;
}

bool checked_hook_has_slot(const struct hook_checker *w, const struct checked_hook *h)
{
    return h->running == 0 ||
           (h->running < h->rules->work_queue.concurrency && shared_slots_used(w) < w->slots);
}

bool checked_hook_first_ended(const struct checked_hook *h)
{
    if (h->as != CHECKED_FULLY)
        return h->as == CHECKED_NOT || h->first_ended;
    return h->gate == GATE_OPEN || (h->rules->mode != HOOK_OBJECT && h->tried);
}

static bool any_existing(const struct checked_hook *h)
{
    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < RULES_KEYS; key++)
            if (h->delivery_models[s][key].existing)
                return true;
    return false;
}

void checked_hook_end_first(struct checked_hook *h)
{
    h->gate = output_files_end_first(h->output_files) ? GATE_APPLY : GATE_OPEN;
}

void checked_hook_check_first(struct checked_hook *h)
{
    bool left;

    if (h->gate != GATE_FIRST)
        return;
    if (h->rules->mode == HOOK_OBJECT)
        left = any_existing(h);
    else
        left =
            h->running > 0 || h->timings[0][0].ordered_ms != NEVER_MS || checked_hook_due(h, NULL);
    if (!left)
        checked_hook_end_first(h);
}

void checked_hook_count(const struct hook_checker *w, enum feature f)
{
    w->features[f]++;
}

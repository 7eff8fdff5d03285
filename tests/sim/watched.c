/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/watched.h"

#include "base/panic.h"

struct pace *watched_pace(struct watched *h, size_t source, size_t key)
{
    return h->rules->mode == HOOK_OBJECT ? &h->paces[source][key] : &h->paces[0][0];
}

static bool any_due(const struct watched *h)
{
    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < ACCOUNT_KEYS; key++)
            if (h->accounts[s][key].due)
                return true;
    return false;
}

bool watched_due(const struct watched *h, const struct account *a)
{
    return h->rules->mode == HOOK_OBJECT ? a->due : h->whole_due || any_due(h);
}

bool watched_repeats(const struct watched *h, const struct account *a)
{
    struct account_event ev;

    if (h->rules->mode == HOOK_SNAPSHOT)
        return true;
    if (h->rules->mode == HOOK_OBJECT)
        return account_repeats(a, h->rules, &ev);
    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < ACCOUNT_KEYS; key++)
            if (h->is_open[s] && account_repeats(&h->accounts[s][key], h->rules, &ev))
                return true;
    return false;
}

static bool usable(const struct watcher *w, const struct watched *h, size_t source)
{
    size_t number = h->rules->sources[source];

    return w->synced[number] && !(h->rules->when_stale == HOOK_STALE_WAIT && w->stale[number]);
}

bool watched_has_sources(const struct watcher *w, const struct watched *h)
{
    size_t n = 0;

    for (size_t s = 0; s < RULES_SOURCES; s++)
        n += usable(w, h, s);
    return h->rules->require == HOOK_REQUIRE_ANY ? n > 0 : n == RULES_SOURCES;
}

bool watched_blocked(const struct watcher *w, const struct watched *h)
{
    return h->gate == GATE_CLOSED || h->paused ||
           (h->rules->when_stale == HOOK_STALE_WAIT && !watched_has_sources(w, h));
}

static unsigned shared_slots_used(const struct watcher *w)
{
    unsigned n = 0;

    for (size_t i = 0; i < HOOKS; i++)
        n += w->hooks[i].running > 1 ? w->hooks[i].running - 1 : 0;
    ensure(n <= w->slots);
    return n;
}

bool watched_has_slot(const struct watcher *w, const struct watched *h)
{
    return h->running == 0 ||
           (h->running < h->rules->work_queue.concurrency && shared_slots_used(w) < w->slots);
}

bool watched_first_ended(const struct watched *h)
{
    return h->gate == GATE_OPEN ||
           (h->gate == GATE_FIRST && h->rules->mode != HOOK_OBJECT && h->tried);
}

static bool any_existing(const struct watched *h)
{
    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < ACCOUNT_KEYS; key++)
            if (h->accounts[s][key].existing)
                return true;
    return false;
}

void watched_end_first(struct watched *h)
{
    h->gate = shelf_end_first(h->shelf) ? GATE_APPLY : GATE_OPEN;
}

void watched_check_first(struct watched *h)
{
    bool left;

    if (h->gate != GATE_FIRST)
        return;
    if (h->rules->mode == HOOK_OBJECT)
        left = any_existing(h);
    else
        left = h->running > 0 || h->paces[0][0].ordered_ms != NEVER_MS || watched_due(h, NULL);
    if (!left)
        watched_end_first(h);
}

void watched_count(const struct watcher *w, enum feature f)
{
    w->features[f]++;
}

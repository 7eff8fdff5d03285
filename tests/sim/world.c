/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/world.h"

#include <inttypes.h>

#include "base/panic.h"
#include "sim/life.h"

static void complain(const struct rules *r, size_t key, const struct effect *f,
                     const struct api_object *now)
{
    panic("%s: %s is life %" PRIu64 " (told %" PRIu64 ", %s), value %u, noise %u for it; life "
          "%" PRIu64 ", %u, %u in the cluster",
          r->name, api_key(key), f->uid, f->told, f->sure ? "sure" : "not sure", f->value, f->noise,
          now->uid, now->value, now->noise);
}

/* What hooks that take neither ends nor ADDED do not hear of cannot be there. */
static void check_effect(const struct rules *r, size_t key, const struct effect *f,
                         const struct account *a, const struct api_object *now)
{
    bool ends = rules_take(r, DELTA_DELETED) && rules_take(r, DELTA_LEFT);
    bool was_told = f->told == now->uid && (ends || rules_take(r, DELTA_ADDED));

    if (now->uid == 0) {
        if (ends && f->uid != 0)
            complain(r, key, f, now);
        return;
    }
    if (rules_take(r, DELTA_ADDED) && !was_told && a->skipped != now->uid)
        complain(r, key, f, now);
    if (was_told && (f->uid != now->uid || !f->sure))
        complain(r, key, f, now);
    if (was_told && rules_take(r, DELTA_MODIFIED) &&
        (f->value != now->value || (!r->narrow && f->noise != now->noise)))
        complain(r, key, f, now);
}

/* What is skipped need not be shown. */
static void check_snapshot(const struct handler *h, size_t source, size_t key,
                           const struct account *a, const struct api_object *now)
{
    const struct api_object *seen = &h->snapshot[source][key];
    bool skips = h->rules->existing == HOOK_EXISTING_SKIP;

    if (skips && (now->uid == a->skipped || !h->snapshot_seen))
        return;
    if (!h->snapshot_seen || seen->uid != now->uid || seen->value != now->value ||
        (!h->rules->narrow && seen->noise != now->noise))
        panic("%s: its last snapshot is not what the cluster has of %s", h->rules->name,
              api_key(key));
}

static void check_source(const struct crew *c, size_t hook, size_t source, const struct api *api)
{
    static const struct api_object none;
    const struct handler *h = &c->params.handlers[hook];
    const struct watched *w = &c->watcher.hooks[hook];
    const struct view *view = life_view(h->rules->sources[source]);

    if (rules_take(h->rules, DELTA_FRESH) && h->effects[source][ACCOUNT_OUTAGE].uid != 0 &&
        !watcher_is_parked(&c->watcher, hook, source, ACCOUNT_OUTAGE))
        panic("%s: source %zu is stale for it", h->rules->name, source);
    for (size_t key = 0; key < API_KEYS; key++) {
        const struct api_object *is = &api->now[key];
        const struct api_object *now = view_keeps(view, key, is) ? is : &none;
        const struct account *a = &w->accounts[source][key];

        if (watcher_is_parked(&c->watcher, hook, source, key))
            continue;
        if (h->rules->mode != HOOK_SNAPSHOT)
            check_effect(h->rules, key, &h->effects[source][key], a, now);
        else if (rules_take_all(h->rules))
            check_snapshot(h, source, key, a, now);
    }
}

void world_check(const struct crew *c, const struct api *api)
{
    for (size_t i = 0; i < HOOKS; i++)
        for (size_t s = 0; s < RULES_SOURCES; s++)
            check_source(c, i, s, api);
}

void world_check_outage(const struct crew *c)
{
    for (size_t i = 0; i < HOOKS; i++)
        for (size_t s = 0; s < RULES_SOURCES; s++) {
            const struct effect *f = &c->params.handlers[i].effects[s][ACCOUNT_OUTAGE];

            if (rules_take(&c->params.rules[i], DELTA_STALE) && (f->uid == 0 || !f->sure) &&
                !watcher_is_parked(&c->watcher, i, s, ACCOUNT_OUTAGE))
                panic("%s: does not know that source %zu is stale", c->params.rules[i].name, s);
        }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/world.h"

#include <inttypes.h>

#include "base/panic.h"
#include "sim/sim_daemon.h"

static void complain(const struct rules *r, size_t key, const struct effect *f,
                     const struct api_object *now)
{
    panic("%s: %s is incarnation %" PRIu64 " (told %" PRIu64
          ", %s), value %u, noise %u for it; incarnation "
          "%" PRIu64 ", %u, %u in the cluster",
          r->name, api_key(key), f->uid, f->told, f->sure ? "sure" : "not sure", f->value, f->noise,
          now->uid, now->value, now->noise);
}

/* Compares the effect for a key with its object. Hooks that take no ends keep effects of deleted
 * objects, and hooks that take no ADDED lack effects of new ones. Of a hook that takes neither
 * nothing is compared. */
static void check_effect(const struct rules *r, size_t key, const struct effect *f, bool skipped,
                         const struct api_object *now)
{
    bool ends = rules_take(r, DELTA_DELETED) && rules_take(r, DELTA_LEFT);
    bool was_told = f->told == now->uid && (ends || rules_take(r, DELTA_ADDED));

    if (now->uid == 0) {
        if (ends && f->uid != 0)
            complain(r, key, f, now);
        return;
    }
    if (rules_take(r, DELTA_ADDED) && !was_told && !skipped)
        complain(r, key, f, now);
    if (was_told && (f->uid != now->uid || !f->sure))
        complain(r, key, f, now);
    bool differs = f->noise != now->noise || f->uses != now->uses;
    if (was_told && rules_take(r, DELTA_MODIFIED) &&
        (f->value != now->value || (!r->narrow && differs)))
        complain(r, key, f, now);
}

/* Compares a key in the last snapshot with the cluster. A skipped object need not be in it. */
static void check_snapshot(const struct handler *h, size_t source, size_t key, bool skipped,
                           const struct api_object *now)
{
    const struct api_object *seen = &h->snapshot[source][key];
    bool skips = h->rules->existing == HOOK_EXISTING_SKIP;

    if (skips && (skipped || !h->snapshot_seen))
        return;
    if (!h->snapshot_seen || seen->uid != now->uid || seen->value != now->value ||
        (!h->rules->narrow && (seen->noise != now->noise || seen->uses != now->uses)))
        panic("%s: its last snapshot is not what the cluster has of %s", h->rules->name,
              api_key(key));
}

/* The object that a source must have of a key. */
static struct api_object truth(const struct api *api, size_t number, size_t key)
{
    static const struct api_object none;

    if (number == VIEW_ORACLE)
        return view_oracle_truth(api->now, key);
    return lens_keeps(sim_daemon_lens(number), key, &api->now[key]) ? api->now[key] : none;
}

static void check_source(const struct sim_hooks *c, size_t hook, size_t source,
                         const struct api *api)
{
    const struct handler *h = &c->params.handlers[hook];

    if (rules_take(h->rules, DELTA_FRESH) && h->effects[source][RULES_OUTAGE].uid != 0 &&
        !sim_hooks_is_parked(c, hook, source, RULES_OUTAGE))
        panic("%s: source %zu is stale for it", h->rules->name, source);
    for (size_t key = 0; key < API_KEYS; key++) {
        const struct api_object now = truth(api, h->rules->sources[source], key);
        bool skipped = sim_hooks_skips(c, hook, source, key, &now);

        if (sim_hooks_is_parked(c, hook, source, key))
            continue;
        if (h->rules->mode != HOOK_SNAPSHOT)
            check_effect(h->rules, key, &h->effects[source][key], skipped, &now);
        else if (rules_take_all(h->rules))
            check_snapshot(h, source, key, skipped, &now);
    }
}

/* As check_file(), for a daemon with delivery records: the file belongs to the key of a source for
 * which the runs have had an effect. */
static void check_kept_file(const struct sim_hooks *c, size_t hook, size_t key)
{
    const struct handler *h = &c->params.handlers[hook];
    const struct output_files_file *f = &h->output_files.files[key];
    bool by_key = h->rules->mode == HOOK_OBJECT;
    bool wanted = !by_key && f->is;
    bool right = false;

    for (size_t s = 0; s < (by_key ? RULES_SOURCES : 1); s++) {
        if (sim_hooks_is_parked(c, hook, s, key))
            return;
        wanted = wanted || (by_key && h->effects[s][key].uid != 0);
        right = right || f->bytes == handler_render(h, s, key);
    }
    if (h->rules->output && (f->is != wanted || (wanted && !right)))
        panic("%s: the file of %s is %s", h->rules->name, api_key(key),
              f->is != wanted ? f->is ? "extra" : "missing" : "not what it should be");
}

/* Compares a file with the effects of the runs, which check_effect() compares with the cluster. A
 * file without an owner must have been removed with its key, unless the key ended while no daemon
 * ran. */
static void check_file(const struct sim_hooks *c, size_t hook, size_t key)
{
    const struct handler *h = &c->params.handlers[hook];
    const struct output_files_file *f = &h->output_files.files[key];
    size_t source = f->owner > 0 ? f->owner - 1 : 0;
    bool by_key = h->rules->mode == HOOK_OBJECT;
    bool wanted = by_key ? h->effects[source][key].uid != 0 : f->owner > 0;

    if (!sim_hooks_watches(c, hook)) {
        check_kept_file(c, hook, key);
        return;
    }
    if (f->left || hook_checker_is_parked(&c->hook_checker, hook, source, key))
        return;
    if (f->owner == 0 ? f->is : f->is != wanted)
        panic("%s: the file of %s is %s", h->rules->name, api_key(key),
              f->is ? "extra" : "missing");
    if (f->is && f->bytes != handler_render(h, source, key))
        panic("%s: the file of %s is not what it should be", h->rules->name, api_key(key));
}

void world_check(const struct sim_hooks *c, const struct api *api)
{
    for (size_t i = 0; i < HOOKS; i++) {
        for (size_t s = 0; s < RULES_SOURCES; s++)
            check_source(c, i, s, api);
        for (size_t key = 0; key < (c->params.rules[i].mode == HOOK_OBJECT ? API_KEYS : 1); key++)
            check_file(c, i, key);
    }
}

/* A key has one row while its object exists, and none afterwards. The key of an outage has one while
 * its source is stale. */
static void check_rows(const struct sim_hooks *c, size_t hook, size_t source, const struct api *api)
{
    const struct rules *r = &c->params.rules[hook];
    const struct disk_hooks_hook *h = &c->params.persist->disk_hooks.hooks[hook];

    for (size_t key = 0; key < RULES_KEYS; key++) {
        size_t rows = (size_t)h->rows[source][key][0].is + h->rows[source][key][1].is;
        bool exists = key != RULES_OUTAGE && truth(api, r->sources[source], key).uid != 0;

        if (rows > exists && !sim_hooks_is_parked(c, hook, source, key))
            panic("%s, source %zu: %zu rows of key %zu, which %s", r->name, source, rows, key,
                  exists ? "exists" : "is gone");
    }
}

void world_check_disk(const struct sim_hooks *c, const struct disk *disk, const struct api *api)
{
    for (size_t i = 0; i < HOOKS && sim_hooks_remembers(c); i++)
        for (size_t s = 0; s < RULES_SOURCES; s++)
            check_rows(c, i, s, api);
    for (size_t w = 0; w < WATCHES; w++)
        for (size_t key = 0; key < API_KEYS; key++) {
            bool is = disk->objects[w][key] != NULL;

            if (is != (truth(api, w, key).uid != 0))
                panic("watch %zu: the row of %s is %s", w, api_key(key), is ? "extra" : "missing");
        }
}

void world_check_outage(const struct sim_hooks *c)
{
    for (size_t i = 0; i < HOOKS; i++)
        for (size_t s = 0; s < RULES_SOURCES; s++) {
            const struct effect *f = &c->params.handlers[i].effects[s][RULES_OUTAGE];

            if (rules_take(&c->params.rules[i], DELTA_STALE) && (f->uid == 0 || !f->sure) &&
                !sim_hooks_is_parked(c, i, s, RULES_OUTAGE))
                panic("%s: does not know that source %zu is stale", c->params.rules[i].name, s);
        }
}

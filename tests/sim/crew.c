/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/crew.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "sim/program.h"

static uint64_t now(const struct crew *c)
{
    return c->params.clock->now_ms;
}

bool crew_remembers(const struct crew *c)
{
    return c->params.memory != NULL;
}

bool crew_keep(struct crew *c)
{
    if (!crew_remembers(c))
        return false;
    witness_look(&c->params.memory->witness, &c->hooks);
    return marks_put(&c->params.memory->marks, &c->hooks);
}

/* As memory_look(STATE_DRIVER_NOW) does it. */
void crew_keep_now(struct crew *c)
{
    if (crew_remembers(c))
        restore_end_turn(c->params.memory->marks.restore, crew_keep(c));
}

void crew_look_at_shelf(struct crew *c, size_t hook)
{
    const struct watched *h = &c->watcher.hooks[hook];
    const struct shelf_view v = {
        .shut = h->paused || h->gate<GATE_APPLY, .busy = h->running> 0,
        .awake = h->running > 0 || watcher_is_awake(&c->watcher, hook),
    };

    shelf_look(&c->params.handlers[hook].shelf, &v);
}

static void look_at_shelves(struct crew *c)
{
    for (size_t i = 0; i < HOOKS; i++)
        crew_look_at_shelf(c, i);
}

static void look_before(struct crew *c)
{
    if (!c->is_watched)
        return;
    watcher_before(&c->watcher);
    watcher_open(&c->watcher, c->synced);
    look_at_shelves(c);
}

static void look_behind(struct crew *c)
{
    if (!c->is_watched)
        return;
    look_at_shelves(c);
    watcher_after(&c->watcher);
    watcher_compare(&c->watcher, &c->hooks);
}

void crew_start_due(struct crew *c, const bool synced[SOURCES])
{
    struct run *run;

    memmove(c->synced, synced, sizeof(c->synced));
    look_before(c);
    while ((run = hooks_next(&c->hooks, now(c))) != NULL)
        program_start(c, run);
    look_behind(c);
    crew_keep_now(c);
    uint64_t due = hooks_wake_ms(&c->hooks);
    clock_clear(c->params.clock, &c->wake);
    if (due != NEVER_MS)
        clock_set_at(c->params.clock, &c->wake, due);
}

static void on_wake(struct alarm *a)
{
    struct crew *c = container_of(a, struct crew, wake);

    crew_start_due(c, c->synced);
}

static struct source source(const struct crew *c, size_t number)
{
    if (number == VIEWED)
        return (struct source){.view = c->params.view};
    return (struct source){.watch = c->params.watches[number]};
}

void crew_delta(struct crew *c, size_t number, const struct delta *d)
{
    if (c->is_watched) {
        watcher_before(&c->watcher);
        watcher_delta(&c->watcher, number, d);
    }
    if (crew_remembers(c))
        witness_delta(&c->params.memory->witness, number, d);
    hooks_delta(&c->hooks, source(c, number), d, now(c));
}

void crew_stale(struct crew *c, size_t number, bool stale, uint64_t wall_ns)
{
    if (c->is_watched) {
        watcher_before(&c->watcher);
        watcher_stale(&c->watcher, number, stale);
    }
    if (crew_remembers(c))
        witness_stale(&c->params.memory->witness, number, stale);
    hooks_stale(&c->hooks, source(c, number), stale, wall_ns, now(c));
}

void crew_pause(struct crew *c, size_t hook, bool paused)
{
    clock_trace(c->params.clock, "%s is %s", c->params.rules[hook].name,
                paused ? "paused" : "resumed");
    if (c->is_watched) {
        watcher_before(&c->watcher);
        watcher_pause(&c->watcher, hook, paused);
    }
    if (crew_remembers(c))
        witness_pause(&c->params.memory->witness, hook, paused);
    hook_pause(c->hooks.v[hook], paused);
    crew_keep_now(c);
    crew_start_due(c, c->synced);
}

void crew_order(struct crew *c, size_t hook, size_t key)
{
    struct str name = {0};
    struct err err;

    clock_trace(c->params.clock, "%s: run %zu", c->params.rules[hook].name, key);
    if (c->is_watched)
        watcher_before(&c->watcher);
    if (key == ACCOUNT_OUTAGE)
        name = str_c("");
    else if (key != ACCOUNT_KEYS)
        name = str_c(api_key(key));
    enum err_kind want = c->is_watched ? watcher_order(&c->watcher, hook, key) : ERR_OK;
    if (want == ERR_NOT_FOUND && key == ACCOUNT_KEYS &&
        apply_may_repeat(&c->hooks.v[hook]->apply)) /* that is all there is to run */
        want = ERR_OK;
    enum err_kind is = hook_run_manually(c->hooks.v[hook], name, &err);
    if (c->is_watched && is != want)
        panic("%s, key %.*s: the order ends with %d, not %d", c->params.rules[hook].name,
              STR_ARG(name), is, want);
    if (c->is_watched && is == ERR_OK && key == ACCOUNT_KEYS)
        shelf_order(&c->params.handlers[hook].shelf);
    if (crew_remembers(c))
        c->params.memory->outputs[hook].excused = true;
    crew_start_due(c, c->synced);
}

static void add_hook(struct crew *c, size_t number)
{
    struct hook_params p = rules_params(c->params.rules, number);
    struct hook_source sources[RULES_SOURCES];
    static const char *const again = "again";

    for (size_t i = 0; i < RULES_SOURCES; i++) {
        struct source of = source(c, c->params.rules[number].sources[i]);
        bool twice = i > 0 && source_equal(of, sources[0].of);

        sources[i] = (struct hook_source){.name = twice ? again : source_name(of), .of = of};
    }
    p.sources = sources;
    hooks_add(&c->hooks, &p);
}

static void restore_hooks(struct crew *c)
{
    struct marks *m = &c->params.memory->marks;

    c->is_watched = !marks_known(m);
    if (!c->is_watched)
        c->params.features[FEATURE_KEPT]++;
    marks_load(m, &c->hooks, now(c));
    witness_begin(&c->params.memory->witness, &c->hooks);
}

void crew_init(struct crew *c, const struct crew_params *params)
{
    *c = (struct crew){.params = *params, .is_watched = true, .wake.fn = on_wake};
    list_init(&c->programs);
    hooks_init(&c->hooks, params->slots, params->seed);
    watcher_init(&c->watcher, params->clock, params->rules, params->slots, params->features);
    for (size_t i = 0; i < HOOKS; i++) {
        add_hook(c, i);
        shelf_begin_life(&params->handlers[i].shelf);
        c->watcher.hooks[i].shelf = &params->handlers[i].shelf;
    }
    if (crew_remembers(c))
        restore_hooks(c);
}

void crew_loaded(struct crew *c)
{
    if (!crew_remembers(c))
        return;
    witness_loaded(&c->params.memory->witness);
    crew_keep_now(c);
}

void crew_stop(struct crew *c)
{
    if (!crew_remembers(c))
        return;
    c->is_watched = false;
    program_stop_all(c);
    crew_keep_now(c);
}

void crew_fini(struct crew *c)
{
    program_kill_all(c);
    clock_clear(c->params.clock, &c->wake);
    hooks_fini(&c->hooks);
    for (size_t i = 0; i < HOOKS && !crew_remembers(c); i++)
        handler_forget(&c->params.handlers[i]);
}

bool crew_is_quiet(const struct crew *c)
{
    return hooks_quiet(&c->hooks);
}

/* ---- What the world must not hold against a hook. */

static bool any_parked(const struct crew *c, size_t hook)
{
    return hook_parked(c->hooks.v[hook]) > 0;
}

void crew_check_quiet(const struct crew *c)
{
    if (c->is_watched)
        watcher_check_quiet(&c->watcher, &c->hooks);
    for (size_t i = 0; i < HOOKS && crew_remembers(c); i++)
        if (!any_parked(c, i)) {
            outputs_check_quiet(&c->params.memory->outputs[i]);
            witness_check_quiet(&c->params.memory->witness, i);
        }
}

bool crew_says_parked(const struct crew *c, size_t hook, size_t source, size_t key)
{
    const struct hook *h = c->hooks.v[hook];
    const char *name = key == ACCOUNT_OUTAGE ? "" : api_key(key);
    const struct delivery *dl = delivery_queue_find(&h->queue, source, str_c(name));

    if (h->rules.mode != HOOK_OBJECT)
        return h->work_item.state == WORK_ITEM_PARKED;
    return dl != NULL && dl->work_item.state == WORK_ITEM_PARKED;
}

bool crew_is_parked(const struct crew *c, size_t hook, size_t source, size_t key)
{
    const struct hook *h = c->hooks.v[hook];
    bool is = crew_says_parked(c, hook, source, key);

    if (c->is_watched)
        return watcher_is_parked(&c->watcher, hook, source, key);
    if (is && !witness_may_park(&c->params.memory->witness, hook, source, key))
        panic("%s, source %zu, key %zu: is parked, and may not be", h->name, source, key);
    c->params.features[FEATURE_KEPT_PARKED] += is && h->runs_failed == 0;
    return is;
}

bool crew_skips(const struct crew *c, size_t hook, size_t source, size_t key,
                const struct api_object *now)
{
    if (c->is_watched)
        return c->watcher.hooks[hook].accounts[source][key].skipped == now->uid;
    return witness_skips(&c->params.memory->witness, hook, source, key, now);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_hooks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "sim/program.h"
#include "sim/sharing.h"

static uint64_t now(const struct sim_hooks *c)
{
    return c->params.clock->now_ms;
}

bool sim_hooks_remembers(const struct sim_hooks *c)
{
    return c->params.persist != NULL;
}

bool sim_hooks_watches(const struct sim_hooks *c, size_t hook)
{
    return c->is_watched && c->hook_checker.hooks[hook].as == CHECKED_FULLY;
}

bool sim_hooks_keep(struct sim_hooks *c)
{
    if (!sim_hooks_remembers(c))
        return false;
    restart_oracle_look(&c->params.persist->restart_oracle, &c->hooks);
    return disk_hooks_put(&c->params.persist->disk_hooks, &c->hooks);
}

/* As persist_driver_look(STATE_DRIVER_NOW) in the daemon. */
void sim_hooks_keep_now(struct sim_hooks *c)
{
    if (sim_hooks_remembers(c))
        disk_end_turn(c->params.persist->disk_hooks.disk, sim_hooks_keep(c));
}

void sim_hooks_look_at_files(struct sim_hooks *c, size_t hook)
{
    const struct checked_hook *h = &c->hook_checker.hooks[hook];
    struct output_files_view v = {
        .shut = h->paused || h->gate<GATE_APPLY, .busy = h->running> 0,
        .awake = h->running > 0 || hook_checker_is_awake(&c->hook_checker, hook),
    };

    v.awake = sharing_waits(c, hook, &v.others_ms) || v.awake;

    output_files_look(&c->params.handlers[hook].output_files, &v);
}

static void look_at_files(struct sim_hooks *c)
{
    for (size_t i = 0; i < HOOKS; i++)
        if (sim_hooks_watches(c, i))
            sim_hooks_look_at_files(c, i);
}

void sim_hooks_open(struct sim_hooks *c)
{
    for (size_t i = 0; i < HOOKS; i++)
        if (!sim_hooks_watches(c, i))
            hook_checker_release(&c->hook_checker, i, rules_find(&c->hooks, i));
    hook_checker_open(&c->hook_checker, c->synced);
}

static void look_before(struct sim_hooks *c)
{
    if (!c->is_watched)
        return;
    hook_checker_before(&c->hook_checker);
    sim_hooks_open(c);
    look_at_files(c);
}

static void look_behind(struct sim_hooks *c)
{
    if (!c->is_watched)
        return;
    sim_hooks_open(c);
    look_at_files(c);
    hook_checker_after(&c->hook_checker);
    hook_checker_compare(&c->hook_checker, &c->hooks);
}

static void check_delivery(void *arg, struct delivery *dl)
{
    struct hook *h = arg;

    if (!delivery_is_legal(&h->queue, dl))
        panic("%s, source %u, key %s: its delivery is illegal", h->name, dl->source, dl->key);
}

/* After each step. hook/delivery_queue itself checks the deliveries that it changes, but
 * hook/delivery_log does not: a delivery that it restores, renews or forgets wrongly would be found
 * many steps later, or never. */
static void check_deliveries(struct sim_hooks *c)
{
    for (size_t i = 0; i < c->hooks.n; i++)
        for (size_t k = 0; k < RULES_SOURCES; k++)
            delivery_queue_each(&c->hooks.v[i]->queue, k, check_delivery, c->hooks.v[i]);
}

void sim_hooks_start_due(struct sim_hooks *c, const bool synced[SOURCES])
{
    struct run *run;

    memmove(c->synced, synced, sizeof(c->synced));
    look_before(c);
    check_deliveries(c); /* behind the end of a run */
    while ((run = hooks_next(&c->hooks, now(c))) != NULL) {
        check_deliveries(c);
        program_start(c, run);
    }
    check_deliveries(c);
    look_behind(c);
    sim_hooks_keep_now(c);
    uint64_t due = hooks_wake_ms(&c->hooks);
    clock_clear(c->params.clock, &c->wake);
    if (due != NEVER_MS)
        clock_set_at(c->params.clock, &c->wake, due);
}

static void on_wake(struct alarm *a)
{
    struct sim_hooks *c = container_of(a, struct sim_hooks, wake);

    sim_hooks_start_due(c, c->synced);
}

static struct source source(const struct sim_hooks *c, size_t number)
{
    if (number == VIEW_ORACLE)
        return (struct source){.view = c->params.view};
    return (struct source){.watch = c->params.watches[number]};
}

void sim_hooks_delta(struct sim_hooks *c, size_t number, const struct delta *d)
{
    if (c->is_watched) {
        hook_checker_before(&c->hook_checker);
        hook_checker_delta(&c->hook_checker, number, d);
    }
    if (sim_hooks_remembers(c))
        restart_oracle_delta(&c->params.persist->restart_oracle, number, d);
    hooks_subscriber.on_delta(&c->hooks, source(c, number), d);
    check_deliveries(c);
}

void sim_hooks_stale(struct sim_hooks *c, size_t number, bool stale, struct now now)
{
    if (c->is_watched) {
        hook_checker_before(&c->hook_checker);
        hook_checker_stale(&c->hook_checker, number, stale);
    }
    if (sim_hooks_remembers(c))
        restart_oracle_stale(&c->params.persist->restart_oracle, number, stale);
    hooks_subscriber.on_stale(&c->hooks, source(c, number), stale, now);
    check_deliveries(c);
}

void sim_hooks_incomplete(struct sim_hooks *c, size_t number, bool incomplete, struct now now)
{
    if (c->is_watched)
        hook_checker_before(&c->hook_checker);
    c->hook_checker.incomplete[number] = incomplete;
    hooks_subscriber.on_incomplete(&c->hooks, source(c, number), incomplete, now);
}

void sim_hooks_pause(struct sim_hooks *c, size_t hook, bool paused)
{
    struct hook *h = rules_find(&c->hooks, hook);

    if (h == NULL)
        return;
    clock_trace(c->params.clock, "%s is %s", h->name, paused ? "paused" : "resumed");
    if (sim_hooks_watches(c, hook)) {
        hook_checker_before(&c->hook_checker);
        hook_checker_pause(&c->hook_checker, hook, paused);
    }
    if (sim_hooks_remembers(c))
        restart_oracle_pause(&c->params.persist->restart_oracle, hook, paused);
    hook_pause(h, paused);
    sim_hooks_keep_now(c);
    sim_hooks_start_due(c, c->synced);
}

void sim_hooks_order(struct sim_hooks *c, size_t hook, size_t key)
{
    struct hook *h = rules_find(&c->hooks, hook);
    bool watched = sim_hooks_watches(c, hook);
    struct str name = {0};
    struct err err;

    if (h == NULL)
        return;
    clock_trace(c->params.clock, "%s: run %zu", h->name, key);
    if (c->is_watched)
        hook_checker_before(&c->hook_checker);
    if (key == RULES_OUTAGE)
        name = str_c("");
    else if (key != RULES_KEYS)
        name = str_c(api_key(key));
    enum err_kind want = watched ? hook_checker_order(&c->hook_checker, hook, key) : ERR_OK;
    if (want == ERR_NOT_FOUND && key == RULES_KEYS &&
        apply_may_repeat(&h->apply)) /* only apply is left to run */
        want = ERR_OK;
    enum err_kind is = hook_run_manually(h, name, &err);
    if (watched && is != want)
        panic("%s, key %.*s: the order ends with %d, not %d", c->params.rules[hook].name,
              STR_ARG(name), is, want);
    if (watched && is == ERR_OK && key == RULES_KEYS)
        output_files_order(&c->params.handlers[hook].output_files);
    if (sim_hooks_remembers(c))
        c->params.persist->outputs[hook].excused = true;
    if (sim_hooks_remembers(c) && is == ERR_OK)
        restart_oracle_order(&c->params.persist->restart_oracle, hook, key);
    sim_hooks_start_due(c, c->synced);
}

struct hook_params sim_hooks_params(const struct sim_hooks *c, size_t number,
                                    struct hook_source sources[RULES_SOURCES])
{
    struct hook_params p = rules_params(c->params.rules, number);
    static const char *const again = "again";

    for (size_t i = 0; i < RULES_SOURCES; i++) {
        struct source of = source(c, c->params.rules[number].sources[i]);
        bool twice = i > 0 && source_equal(of, sources[0].of);

        sources[i] = (struct hook_source){.name = twice ? again : source_name(of), .of = of};
    }
    p.sources = sources;
    return p;
}

static void add_hook(struct sim_hooks *c, size_t number)
{
    struct hook_source sources[RULES_SOURCES];
    struct hook_params p = sim_hooks_params(c, number, sources);

    hooks_add(&c->hooks, &p);
}

static void disk_hooks(struct sim_hooks *c)
{
    struct disk_hooks *m = &c->params.persist->disk_hooks;

    c->is_watched = !disk_hooks_known(m);
    if (!c->is_watched)
        c->params.features[FEATURE_KEPT]++;
    for (size_t i = 0; i < c->hooks.n; i++)
        disk_hooks_load(m, c->hooks.v[i], now(c));
    restart_oracle_begin(&c->params.persist->restart_oracle, &c->hooks);
}

void sim_hooks_init(struct sim_hooks *c, const struct sim_hooks_params *params)
{
    *c = (struct sim_hooks){
        .params = *params, .changing = WATCHES, .is_watched = true, .wake.fn = on_wake};
    list_init(&c->programs);
    hooks_init(&c->hooks, params->slots, params->seed);
    hook_checker_init(&c->hook_checker, params->clock, params->rules, params->slots,
                      params->features);
    for (size_t i = 0; i < HOOKS; i++) {
        if (sim_hooks_remembers(c) && params->persist->disk_hooks.dropped[i]) {
            hook_checker_release(&c->hook_checker, i, NULL);
            continue;
        }
        add_hook(c, i);
        output_files_begin_life(&params->handlers[i].output_files);
        c->hook_checker.hooks[i].output_files = &params->handlers[i].output_files;
    }
    if (sim_hooks_remembers(c))
        disk_hooks(c);
    check_deliveries(c);
}

void sim_hooks_loaded(struct sim_hooks *c)
{
    if (!sim_hooks_remembers(c))
        return;
    restart_oracle_loaded(&c->params.persist->restart_oracle);
    sim_hooks_keep_now(c);
}

void sim_hooks_stop(struct sim_hooks *c)
{
    if (!sim_hooks_remembers(c))
        return;
    c->is_watched = false;
    program_stop_all(c);
    sim_hooks_keep_now(c);
}

void sim_hooks_fini(struct sim_hooks *c)
{
    program_kill_all(c);
    clock_clear(c->params.clock, &c->wake);
    hooks_fini(&c->hooks);
    for (size_t i = 0; i < HOOKS && !sim_hooks_remembers(c); i++)
        handler_forget(&c->params.handlers[i]);
}

size_t sim_hooks_pending(const struct sim_hooks *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->hooks.n; i++) {
        const struct delivery_queue *q = &c->hooks.v[i]->queue;

        for (size_t s = 0; s < RULES_SOURCES; s++)
            ensure(map_count(&q->sources[s].by_key) <= RULES_KEYS);
        ensure(q->pending_count <= (size_t)RULES_SOURCES * RULES_KEYS);
        n += q->pending_count;
    }
    return n;
}

bool sim_hooks_is_quiet(const struct sim_hooks *c)
{
    return hooks_quiet(&c->hooks);
}

/* ---- Keys that sim/world must not compare: parked or skipped ones. */

static bool any_parked(const struct sim_hooks *c, size_t hook)
{
    return hook_parked(rules_find(&c->hooks, hook)) > 0;
}

void sim_hooks_check_quiet(const struct sim_hooks *c)
{
    if (c->is_watched)
        hook_checker_check_quiet(&c->hook_checker, &c->hooks);
    for (size_t i = 0; i < HOOKS && sim_hooks_remembers(c); i++)
        if (!any_parked(c, i)) {
            outputs_check_quiet(&c->params.persist->outputs[i]);
            restart_oracle_check_quiet(&c->params.persist->restart_oracle, i);
        }
}

bool sim_hooks_says_parked(const struct sim_hooks *c, size_t hook, size_t source, size_t key)
{
    const struct hook *h = rules_find(&c->hooks, hook);
    const char *name = key == RULES_OUTAGE ? "" : api_key(key);
    const struct delivery *dl = delivery_queue_find(&h->queue, source, str_c(name));

    if (h->rules.mode != HOOK_OBJECT)
        return h->work_item.state == WORK_ITEM_PARKED;
    return dl != NULL && dl->work_item->state == WORK_ITEM_PARKED;
}

bool sim_hooks_is_parked(const struct sim_hooks *c, size_t hook, size_t source, size_t key)
{
    const struct hook *h = rules_find(&c->hooks, hook);
    bool is = sim_hooks_says_parked(c, hook, source, key);

    if (sim_hooks_watches(c, hook))
        return hook_checker_is_parked(&c->hook_checker, hook, source, key);
    if (is && !restart_oracle_may_park(&c->params.persist->restart_oracle, hook, source, key))
        panic("%s, source %zu, key %zu: is parked, and may not be", h->name, source, key);
    c->params.features[FEATURE_KEPT_PARKED] += is && h->figures.runs_failed == 0;
    return is;
}

bool sim_hooks_skips(const struct sim_hooks *c, size_t hook, size_t source, size_t key,
                     const struct api_object *now)
{
    if (sim_hooks_watches(c, hook))
        return c->hook_checker.hooks[hook].delivery_models[source][key].skipped == now->uid;
    return restart_oracle_skips(&c->params.persist->restart_oracle, hook, source, key, now);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_reload.h"

#include "base/panic.h"
#include "hook/reload.h"

static struct now now(const struct sim_hooks *c)
{
    uint64_t ms = c->params.clock->now_ms;

    return (struct now){.ms = ms, .wall_ns = ms * 1000000};
}

static void count(const struct sim_hooks *c, enum feature f)
{
    c->params.features[f]++;
}

bool sim_reload_is_dropped(const struct sim_hooks *c, size_t hook)
{
    return sim_hooks_remembers(c) && c->params.persist->disk_hooks.dropped[hook];
}

/* ---- In place. */

static void count_change(const struct sim_hooks *c, const struct hook *h, uint64_t wake_ms)
{
    count(c, FEATURE_RELOAD_CHANGED);
    if (hook_running(h) > h->work_queue.params.concurrency)
        count(c, FEATURE_RELOAD_FEWER);
    if (hooks_wake_ms(&c->hooks) < wake_ms)
        count(c, FEATURE_RELOAD_SOONER);
}

void sim_reload_change(struct sim_hooks *c, struct rules v[HOOKS], size_t hook)
{
    struct hook *h = rules_find(&c->hooks, hook);
    const struct rules was = v[hook];
    struct hook_source sources[RULES_SOURCES];

    if (h == NULL)
        return;
    if (c->is_watched)
        hook_checker_before(&c->hook_checker);
    rules_redraw(&v[hook], c->params.clock);
    clock_trace(c->params.clock, "reload: other settings of %s", h->name);
    rules_trace_one(&v[hook], c->params.clock);
    struct hook_params p = sim_hooks_params(c, hook, sources);
    uint64_t wake_ms = hooks_wake_ms(&c->hooks);
    hook_change(h, &p, now(c).ms);
    hook_rules_fini(&p.rules);
    filter_fini(&p.filter);
    if (sim_hooks_watches(c, hook))
        hook_checker_change(&c->hook_checker, hook, &was);
    count_change(c, h, wake_ms);
    sim_hooks_start_due(c, c->synced);
}

/* ---- A hook gets its records and the objects that there are */

struct showing {
    struct sim_hooks *c;
    size_t hook;
    size_t source;
};

static void show(void *arg, struct object *o)
{
    const struct showing *s = arg;

    restart_oracle_show(&s->c->params.persist->restart_oracle, s->hook, s->source, o);
}

static void attach(struct sim_hooks *c, struct hook *h)
{
    struct restart_oracle *w = &c->params.persist->restart_oracle;
    struct showing s = {c, h->index, 0};

    restart_oracle_begin_hook(w, h);
    outputs_begin_hook(&c->params.persist->outputs[h->index]);
    for (; s.source < RULES_SOURCES; s.source++) {
        struct source of = h->sources[s.source].of;

        source_each(of, show, &s);
        if (source_stale(of))
            show(&s, NULL);
        if (!source_synced(of))
            count(c, FEATURE_RELOAD_UNSYNCED);
    }
    hook_attach(h, now(c));
}

/* ---- A hook leaves. */

static void begin_retire(struct sim_hooks *c, struct hook *h, enum sim_hooks_reload how)
{
    hook_checker_release(&c->hook_checker, h->index, h);
    hook_retire(h);
    if (hook_running(h) > 0)
        count(c, FEATURE_RELOAD_RUNNING);
    c->reloads[h->index] = how;
}

static bool has_source(const struct rules *r, size_t source)
{
    bool view = source == SERVICES || source == SLICES;

    for (size_t i = 0; i < RULES_SOURCES; i++)
        if (r->sources[i] == source || (view && r->sources[i] == VIEW_ORACLE))
            return true;
    return false;
}

/* Does a reload replace a source of the hook? */
static bool is_changing(const struct sim_hooks *c, size_t hook)
{
    return c->changing != WATCHES && has_source(&c->params.rules[hook], c->changing);
}

static enum sim_hooks_reload replacement(const struct sim_hooks *c, size_t hook)
{
    return is_changing(c, hook) ? SIM_HOOKS_REPLACE_WITH_WATCH : SIM_HOOKS_REPLACE;
}

static void retire(struct sim_hooks *c, size_t hook, enum sim_hooks_reload how)
{
    struct hook *h = rules_find(&c->hooks, hook);

    if (h == NULL || !sim_hooks_remembers(c))
        return;
    if (c->is_watched)
        hook_checker_before(&c->hook_checker);
    begin_retire(c, h, how);
    sim_reload_look(c);
    sim_hooks_start_due(c, c->synced);
}

void sim_reload_retire_all(struct sim_hooks *c, size_t watch)
{
    c->changing = watch;
    for (size_t i = 0; i < HOOKS; i++) {
        struct hook *h = rules_find(&c->hooks, i);

        if (h != NULL && is_changing(c, i) && c->reloads[i] != SIM_HOOKS_DROP)
            begin_retire(c, h, SIM_HOOKS_REPLACE_WITH_WATCH);
    }
}

bool sim_reload_is_due(const struct sim_hooks *c)
{
    for (size_t i = 0; i < HOOKS; i++) {
        const struct hook *h = is_changing(c, i) ? rules_find(&c->hooks, i) : NULL;

        if (h != NULL && !hook_is_retired(h))
            return false;
    }
    return c->changing != WATCHES;
}

void sim_reload_replace(struct sim_hooks *c, size_t hook, bool renew)
{
    if (renew && sim_hooks_remembers(c) && rules_find(&c->hooks, hook) != NULL)
        c->params.persist->renewals[hook] = true;
    retire(c, hook, replacement(c, hook));
}

void sim_reload_drop(struct sim_hooks *c, size_t hook)
{
    retire(c, hook, SIM_HOOKS_DROP);
}

/* All that is put in one turn is one batch: so a death cannot part the new settings from the
 * records that they renew. */
static struct hook *replace(struct sim_hooks *c, struct hook *old)
{
    struct persist *m = c->params.persist;
    size_t hook = old->index;
    bool renews = m->renewals[hook];
    struct hook_source sources[RULES_SOURCES];
    struct hook_params p = sim_hooks_params(c, hook, sources);

    clock_trace(c->params.clock, "reload: %s is replaced%s", old->name, renews ? ", renewed" : "");
    sim_hooks_keep(c);
    struct hook *h = hooks_replace(&c->hooks, old, &p, now(c));
    restart_oracle_replace(&m->restart_oracle, hook);
    if (renews) {
        persist_renew(m, hook);
        restart_oracle_unpark(&m->restart_oracle, hook);
        hook_record_renew(h);
        disk_hooks_put_settings(&m->disk_hooks, hook);
        count(c, FEATURE_RELOAD_RENEWED);
    }
    count(c, FEATURE_RELOAD_REPLACED);
    return h;
}

static void drop(struct sim_hooks *c, struct hook *h)
{
    struct disk_hooks *m = &c->params.persist->disk_hooks;
    size_t hook = h->index;

    clock_trace(c->params.clock, "reload: %s is dropped", h->name);
    sim_hooks_keep(c);
    disk_sync(m->disk);
    hooks_remove(&c->hooks, &h);
    m->dropped[hook] = true;
    restart_oracle_drop(&c->params.persist->restart_oracle, hook);
    hook_checker_release(&c->hook_checker, hook, NULL);
    count(c, FEATURE_RELOAD_DROPPED);
}

static void look_at_hook(struct sim_hooks *c, size_t hook)
{
    struct hook *h = rules_find(&c->hooks, hook);

    if (h == NULL || !hook_is_retired(h))
        return;
    switch (c->reloads[hook]) {
    case SIM_HOOKS_STAY:
    case SIM_HOOKS_REPLACE_WITH_WATCH:
        return;
    case SIM_HOOKS_REPLACE:
        attach(c, replace(c, h));
        break;
    case SIM_HOOKS_DROP:
        drop(c, h);
        break;
    }
    c->reloads[hook] = SIM_HOOKS_STAY;
}

void sim_reload_look(struct sim_hooks *c)
{
    for (size_t i = 0; i < HOOKS; i++)
        look_at_hook(c, i);
    if (sim_reload_is_due(c))
        clock_set(c->params.clock, c->params.change, 0);
}

void sim_reload_replace_all(struct sim_hooks *c)
{
    for (size_t i = 0; i < HOOKS; i++)
        if (c->reloads[i] == SIM_HOOKS_REPLACE_WITH_WATCH)
            (void)replace(c, rules_find(&c->hooks, i));
}

void sim_reload_attach_all(struct sim_hooks *c)
{
    for (size_t i = 0; i < HOOKS; i++)
        if (c->reloads[i] == SIM_HOOKS_REPLACE_WITH_WATCH) {
            attach(c, rules_find(&c->hooks, i));
            c->reloads[i] = SIM_HOOKS_STAY;
        }
    c->changing = WATCHES;
}

/* ---- A hook comes. */

void sim_reload_add(struct sim_hooks *c, size_t hook)
{
    struct disk_hooks *m = &c->params.persist->disk_hooks;
    struct hook_source sources[RULES_SOURCES];
    struct hook_params p = sim_hooks_params(c, hook, sources);

    if (c->is_watched)
        hook_checker_before(&c->hook_checker);
    clock_trace(c->params.clock, "reload: %s is added", p.name);
    m->dropped[hook] = false;
    disk_sync(m->disk);
    struct hook *h = hooks_add(&c->hooks, &p);
    disk_hooks_load(m, h, now(c).ms);
    attach(c, h);
    hook_checker_release(&c->hook_checker, hook, h);
    count(c, FEATURE_RELOAD_ADDED);
    if (is_changing(c, hook))
        begin_retire(c, h, SIM_HOOKS_REPLACE_WITH_WATCH);
    sim_hooks_start_due(c, c->synced);
}

void sim_reload_end(struct sim_hooks *c)
{
    for (size_t i = 0; i < HOOKS; i++) {
        if (c->reloads[i] == SIM_HOOKS_DROP)
            c->reloads[i] = replacement(c, i);
        if (sim_reload_is_dropped(c, i))
            sim_reload_add(c, i);
    }
}

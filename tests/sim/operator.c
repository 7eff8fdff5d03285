/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/operator.h"

#include "base/compiler.h"
#include "sim/sim_reload.h"

static bool is_paused(const struct operator* p, size_t hook)
{
    const struct hook *h = rules_find(&p->sim_hooks->hooks, hook);

    return h != NULL && h->paused;
}

static void pause_or_resume(struct operator* p)
{
    size_t hook = clock_pick(p->clock, 0, HOOKS - 1);

    sim_hooks_pause(p->sim_hooks, hook, !is_paused(p, hook) && clock_percent(p->clock, 70));
}

static void order(struct operator* p)
{
    size_t hook = clock_pick(p->clock, 0, HOOKS - 1);
    bool whole =
        p->sim_hooks->params.rules[hook].mode != HOOK_OBJECT && clock_percent(p->clock, 90);
    bool all = whole || clock_percent(p->clock, 20);

    sim_hooks_order(p->sim_hooks, hook, all ? RULES_KEYS : clock_pick(p->clock, 0, RULES_KEYS - 1));
}

static void reload(struct operator* p)
{
    struct sim_hooks *c = p->sim_hooks;
    size_t hook = clock_pick(p->clock, 0, HOOKS - 1);

    if (sim_reload_is_dropped(c, hook))
        sim_reload_add(c, hook);
    else if (clock_percent(p->clock, 50))
        sim_reload_change(c, p->rules, hook);
    else if (clock_percent(p->clock, 70))
        sim_reload_replace(c, hook, clock_percent(p->clock, 30));
    else
        sim_reload_drop(c, hook);
}

static void on_alarm(struct alarm *a)
{
    struct operator* p = container_of(a, struct operator, alarm);

    if (p->sim_hooks != NULL && clock_percent(p->clock, p->percent)) {
        if (clock_percent(p->clock, 50))
            pause_or_resume(p);
        else
            order(p);
    }
    if (p->sim_hooks != NULL && clock_percent(p->clock, p->reload_percent))
        reload(p);
    clock_set(p->clock, a, clock_pick(p->clock, 1, 1000));
}

void operator_init(struct operator* p, struct clock *clock, struct rules *rules)
{
    *p = (struct operator){.clock = clock, .rules = rules, .alarm.fn = on_alarm};
}

void operator_come(struct operator* p, const struct setup *setup)
{
    p->percent = setup->operator_percent;
    p->reload_percent = setup->reload_percent;
    if (p->percent + p->reload_percent > 0)
        clock_set(p->clock, &p->alarm, 1);
}

void operator_leave(struct operator* p)
{
    clock_clear(p->clock, &p->alarm);
    if (p->sim_hooks != NULL)
        sim_reload_end(p->sim_hooks);
    for (size_t i = 0; p->sim_hooks != NULL && i < HOOKS; i++)
        if (is_paused(p, i))
            sim_hooks_pause(p->sim_hooks, i, false);
}

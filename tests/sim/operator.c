/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/operator.h"

#include "base/compiler.h"

static void pause_or_resume(struct operator* p)
{
    size_t hook = clock_pick(p->clock, 0, HOOKS - 1);

    sim_hooks_pause(p->sim_hooks, hook,
                    !p->sim_hooks->hooks.v[hook]->paused && clock_percent(p->clock, 70));
}

static void order(struct operator* p)
{
    size_t hook = clock_pick(p->clock, 0, HOOKS - 1);
    bool whole =
        p->sim_hooks->params.rules[hook].mode != HOOK_OBJECT && clock_percent(p->clock, 90);
    bool all = whole || clock_percent(p->clock, 20);

    sim_hooks_order(p->sim_hooks, hook, all ? RULES_KEYS : clock_pick(p->clock, 0, RULES_KEYS - 1));
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
    clock_set(p->clock, a, clock_pick(p->clock, 1, 1000));
}

void operator_init(struct operator* p, struct clock *clock)
{
    *p = (struct operator){.clock = clock, .alarm.fn = on_alarm};
}

void operator_come(struct operator* p, unsigned percent)
{
    p->percent = percent;
    if (percent > 0)
        clock_set(p->clock, &p->alarm, 1);
}

void operator_leave(struct operator* p)
{
    clock_clear(p->clock, &p->alarm);
    for (size_t i = 0; p->sim_hooks != NULL && i < HOOKS; i++)
        if (p->sim_hooks->hooks.v[i]->paused)
            sim_hooks_pause(p->sim_hooks, i, false);
}

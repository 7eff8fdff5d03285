/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/person.h"

#include "base/compiler.h"

static void pause_or_resume(struct person *p)
{
    size_t hook = clock_pick(p->clock, 0, HOOKS - 1);

    crew_pause(p->crew, hook, !p->crew->hooks.v[hook]->paused && clock_percent(p->clock, 70));
}

static void order(struct person *p)
{
    size_t hook = clock_pick(p->clock, 0, HOOKS - 1);
    bool whole = p->crew->params.rules[hook].mode != HOOK_OBJECT && clock_percent(p->clock, 90);
    bool all = whole || clock_percent(p->clock, 20);

    crew_order(p->crew, hook, all ? ACCOUNT_KEYS : clock_pick(p->clock, 0, ACCOUNT_KEYS - 1));
}

static void on_alarm(struct alarm *a)
{
    struct person *p = container_of(a, struct person, alarm);

    if (p->crew != NULL && clock_percent(p->clock, p->percent)) {
        if (clock_percent(p->clock, 50))
            pause_or_resume(p);
        else
            order(p);
    }
    clock_set(p->clock, a, clock_pick(p->clock, 1, 1000));
}

void person_init(struct person *p, struct clock *clock)
{
    *p = (struct person){.clock = clock, .alarm.fn = on_alarm};
}

void person_come(struct person *p, unsigned percent)
{
    p->percent = percent;
    if (percent > 0)
        clock_set(p->clock, &p->alarm, 1);
}

void person_leave(struct person *p)
{
    clock_clear(p->clock, &p->alarm);
    for (size_t i = 0; p->crew != NULL && i < HOOKS; i++)
        if (p->crew->hooks.v[i]->paused)
            crew_pause(p->crew, i, false);
}

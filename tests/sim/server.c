/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/server.h"

#include <string.h>

static void apply(struct server *s, const struct api_event *e)
{
    s->rv = e->rv;
    if (e->change != API_ELSEWHERE)
        s->state[e->key] = e->change == API_DELETED ? (struct api_object){0} : e->object;
}

void server_poke(struct server *s)
{
    const struct api *a = s->api;
    size_t before = s->upto;

    if (s->split)
        return;
    while (s->upto < a->events && api_event_at(a, s->upto)->at_ms + s->lag_ms <= s->clock->now_ms)
        apply(s, api_event_at(a, s->upto++));
    if (s->upto < a->events)
        clock_set_at(s->clock, &s->alarm, api_event_at(a, s->upto)->at_ms + s->lag_ms);
    if (s->upto != before)
        s->on_move(s->arg, s);
}

static void on_alarm(struct alarm *a)
{
    server_poke(container_of(a, struct server, alarm));
}

void server_restart(struct server *s)
{
    clock_clear(s->clock, &s->alarm);
    s->rv = s->api->rv;
    s->upto = s->api->events;
    memcpy(s->state, s->api->now, sizeof(s->state));
    s->oldest = s->rv;
    s->split = false;
    s->process += 16;
    s->asked_ms = 0;
}

void server_init(struct server *s, struct clock *clock, const struct api *api)
{
    s->clock = clock;
    s->api = api;
    s->alarm.fn = on_alarm;
    server_restart(s);
}

void server_forget(struct server *s)
{
    s->oldest = clock_pick(s->clock, s->oldest < s->rv ? s->oldest : s->rv, s->rv);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/setup.h"

#include "base/compiler.h"
#include "sim/api.h"

/* A watch must end within its timeout and this margin (docs/design.md "Staleness"). */
#define DEADLINE_MARGIN_MS 10000

static void draw_reflector(struct setup *s, struct clock *c)
{
    static const unsigned spans[][2] = {
        {5,   10 },
        {5,   30 },
        {60,  120},
        {300, 600},
    };
    size_t span = clock_percent(c, 80) ? clock_pick(c, 0, 1) : clock_pick(c, 2, 3);

    s->reflector = (struct reflector_params){
        .backoff = {.initial_ms = 80, .max_ms = 3000, .factor = 2, .jitter = 1},
        .reset_after_ms = 20000,
        .page_size = (unsigned)clock_pick(c, 1, API_KEYS),
        .page_always = clock_percent(c, 30),
        .watch_min_s = spans[span][0],
        .watch_max_s = spans[span][1],
        .start_jitter_ms = clock_pick(c, 0, 1) * 500,
        .relist_jitter_ms = clock_pick(c, 0, 1) * 2000,
        .watch_list = (enum watch_list)clock_pick(c, WATCH_LIST_AUTO, WATCH_LIST_OFF),
    };
}

/* Lists without versions: of all resources, or of one only. */
static void draw_unversioned(struct setup *s, struct clock *c)
{
    size_t one = clock_pick(c, 0, LENS_KINDS - 1);
    bool all = clock_percent(c, 30);

    if (!clock_percent(c, 20))
        return;
    for (size_t kind = 0; kind < LENS_KINDS; kind++)
        s->unversioned[kind] = all || kind == one;
    s->unversioned_marks = clock_percent(c, 30);
}

static void draw_servers(struct setup *s, struct clock *c)
{
    bool fast = clock_percent(c, 50);

    s->streams = clock_percent(c, 50) ? STREAMS_SENT
                                      : (enum setup_streams)clock_pick(c, 0, STREAMS_KINDS - 1);
    s->told_can_stream = clock_percent(c, 90) ? s->streams == STREAMS_SENT : clock_percent(c, 50);
    s->cached = clock_percent(c, 85);
    if (!s->cached)
        s->streams = STREAMS_OFF;
    s->bookmark_every_ms = !s->cached ? 0 : fast ? 4000 : 60000;
    s->bookmark_timeout_ms = fast ? 10000 : 150000;
    draw_unversioned(s, c);
    s->future_fails = clock_percent(c, 25);
    s->no_revision = clock_percent(c, 20);
    s->others = clock_percent(c, 60);
    s->cutter = clock_percent(c, 5);
    s->confirm = clock_percent(c, 50);
    for (size_t i = 0; i < ARRAY_LEN(s->lag_ms); i++)
        s->lag_ms[i] = clock_percent(c, 50) ? clock_pick(c, 0, 200) : clock_pick(c, 0, 8000);
}

static void draw_weather(struct setup *s, struct clock *c)
{
    static const uint64_t storms[] = {40000, 120000, 400000};

    s->fault_percent = (unsigned)clock_pick(c, 0, 20);
    s->hook_percent = (unsigned)clock_pick(c, 0, 70);
    s->hook_slots = (unsigned)clock_pick(c, 0, 3);
    s->operator_percent = clock_percent(c, 60) ? (unsigned)clock_pick(c, 0, 40) : 0;
    s->reload_percent = clock_percent(c, 60) ? (unsigned)clock_pick(c, 1, 20) : 0;
    s->disaster_percent = (unsigned)clock_pick(c, 0, 12);
    s->storm_ms = storms[clock_percent(c, 60) ? 0 : clock_pick(c, 1, 2)];
    s->change_every_ms = clock_percent(c, 70) ? 1500 : 15000;
    s->hot_percent = clock_percent(c, 50) ? (unsigned)clock_pick(c, 0, 95) : 0;
    s->odd_percent = clock_percent(c, 60) ? (unsigned)clock_pick(c, 1, 20) : 0;
    s->outage_ms = clock_pick(c, 1000, 40000);
}

void setup_redraw_weather(struct setup *s, struct clock *c)
{
    s->fault_percent = (unsigned)clock_pick(c, 1, 20);
    s->operator_percent = (unsigned)clock_pick(c, 1, 40);
    s->reload_percent = (unsigned)clock_pick(c, 1, 20);
    s->disaster_percent = (unsigned)clock_pick(c, 1, 12);
    s->change_every_ms = clock_percent(c, 70) ? 1500 : 15000;
    s->hot_percent = clock_percent(c, 50) ? (unsigned)clock_pick(c, 0, 95) : 0;
}

void setup_draw(struct setup *s, struct clock *c)
{
    draw_reflector(s, c);
    draw_servers(s, c);
    draw_weather(s, c);
    s->guard = (struct guard_params){
        .relist_deletes = clock_percent(c, 20) ? GUARD_OFF : (unsigned)clock_pick(c, 0, 60),
        .at_least = clock_pick(c, 0, 6),
        .hold_ms = clock_pick(c, 0, 20000),
    };
    s->stale_after_ms = clock_pick(c, 0, 30000);
    s->hold_empty_ms = clock_percent(c, 50) ? clock_pick(c, 1, 20000) : 0;
    s->list_idle_timeout_ms = clock_pick(c, 10000, 60000);
}

static uint64_t stream_ms(const struct setup *s)
{
    return s->reflector.watch_max_s * UINT64_C(1000) + DEADLINE_MARGIN_MS;
}

uint64_t setup_silence_ms(const struct setup *s)
{
    return 4 * stream_ms(s) + 2 * s->outage_ms + s->stale_after_ms + 60000;
}

/* A streaming list whose initial events never end is tried three times before a LIST takes its
 * place. Two such lists may come in the calm, too. */
static uint64_t endless_ms(const struct setup *s)
{
    bool endless = s->reflector.watch_list == WATCH_LIST_ON && s->streams == STREAMS_IGNORED;

    return endless ? UINT64_C(2) * 3 * stream_ms(s) : 0;
}

uint64_t setup_calm_ms(const struct setup *s)
{
    return 4 * stream_ms(s) + endless_ms(s) + 4 * s->guard.hold_ms + s->hold_empty_ms + 300000;
}

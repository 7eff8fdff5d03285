/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/rules.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/panic.h"

#define BIT(type)  (1U << (type))
#define OF_OBJECTS (BIT(DELTA_ADDED) | BIT(DELTA_MODIFIED) | BIT(DELTA_DELETED) | BIT(DELTA_LEFT))
#define OF_SOURCES (BIT(DELTA_STALE) | BIT(DELTA_FRESH))

static unsigned draw_events(struct clock *c)
{
    static const unsigned some[] = {
        BIT(DELTA_ADDED) | BIT(DELTA_DELETED),
        BIT(DELTA_MODIFIED) | BIT(DELTA_DELETED) | BIT(DELTA_LEFT),
        BIT(DELTA_ADDED) | BIT(DELTA_MODIFIED),
        BIT(DELTA_ADDED) | BIT(DELTA_MODIFIED) | BIT(DELTA_DELETED),
        OF_SOURCES,
    };
    uint64_t dice = clock_pick(c, 0, 99);

    if (dice < 40)
        return OF_OBJECTS;
    if (dice < 65)
        return OF_OBJECTS | OF_SOURCES;
    if (dice < 90)
        return some[clock_pick(c, 0, ARRAY_LEN(some) - 1)];
    return (unsigned)clock_pick(c, 1, OF_OBJECTS | OF_SOURCES);
}

/* Reruns are so rare that all can become quiet in between. */
static void draw_work_queue(struct work_queue_params *l, struct clock *c, bool object_mode)
{
    *l = (struct work_queue_params){
        .concurrency = (unsigned)clock_pick(c, 1, 4),
        .retry = {.initial_ms = clock_percent(c, 70) ? 100 : 1500, .max_ms = 5000, .factor = 2},
    };
    if (clock_percent(c, object_mode ? 40 : 80)) {
        l->settle_ms = clock_percent(c, 50) ? clock_pick(c, 1, 300) : clock_pick(c, 300, 3000);
        l->settle_max_ms = l->settle_ms + clock_pick(c, 0, 5000);
    }
    if (clock_percent(c, 25))
        l->splay_ms = clock_pick(c, 1, 2000);
    if (clock_percent(c, 25))
        l->min_interval_ms = clock_pick(c, 1, 500);
    if (clock_percent(c, 25))
        l->rerun_ms = clock_pick(c, 40000, 90000);
    if (clock_percent(c, 25))
        l->attempts = (unsigned)clock_pick(c, 1, 6);
}

static void draw_output(struct rules *r, struct clock *c)
{
    struct work_queue_params *l = &r->apply;

    r->output = rules_take_all(r) && !rules_take_outages(r) && clock_percent(c, 60);
    r->applies = r->output && clock_percent(c, 80);
    *l = r->work_queue;
    l->concurrency = 1;
    l->splay_ms = l->rerun_ms = 0;
    if (clock_percent(c, 50)) {
        l->settle_ms = 200;
        l->settle_max_ms = 2000;
    }
    r->shares = r->applies && clock_percent(c, 85);
    r->timeout_ms = clock_pick(c, 1, 2);
    r->apply_percent = (unsigned)clock_pick(c, 0, 50);
    r->file_percent = (unsigned)clock_pick(c, 0, 30);
}

static void draw_one(struct rules *r, size_t number, struct clock *c, const struct setup *s)
{
    snprintf(r->name, sizeof(r->name), "hook-%zu", number);
    for (size_t i = 0; i < RULES_SOURCES; i++)
        r->sources[i] = clock_pick(c, 0, SOURCES - 1);
    r->events = draw_events(c);
    r->mode = clock_percent(c, 55)   ? HOOK_OBJECT
              : clock_percent(c, 50) ? HOOK_BATCH
                                     : HOOK_SNAPSHOT;
    r->narrow = clock_percent(c, 25);
    r->fields = r->mode == HOOK_OBJECT && clock_percent(c, 25);
    r->include_old = clock_percent(c, 50);
    r->existing = clock_percent(c, 20) ? HOOK_EXISTING_SKIP : HOOK_EXISTING_RUN;
    r->require = clock_percent(c, 30) ? HOOK_REQUIRE_ANY : HOOK_REQUIRE_ALL;
    if (!rules_take_outages(r) && clock_percent(c, 40))
        r->when_stale = HOOK_STALE_WAIT;
    if (clock_percent(c, 35))
        r->park_exit = (unsigned)clock_pick(c, 1, (1U << RULES_STATUSES) - 1) << 1;
    draw_work_queue(&r->work_queue, c, r->mode == HOOK_OBJECT);
    draw_output(r, c);
    r->percent = (unsigned)clock_pick(c, 0, s->hook_percent);
    r->hang_percent = (unsigned)clock_pick(c, 0, 40);
    r->not_started_percent = clock_percent(c, 30) ? (unsigned)clock_pick(c, 1, 60) : 0;
    r->slow_percent = clock_percent(c, 80) ? 5 : 60;
}

/* In one simulation `after` names only earlier hooks, or only later ones: so there are no
 * cycles. */
static void draw_after(struct rules v[HOOKS], struct clock *c)
{
    bool up = clock_percent(c, 50);

    for (size_t i = 0; i < HOOKS; i++)
        for (size_t before = 0; before < i; before++)
            if (clock_percent(c, 10))
                v[up ? before : i].after |= 1U << (up ? i : before);
    for (size_t i = 0; i < HOOKS; i++)
        v[i].after_drawn = v[i].after;
}

void rules_draw(struct rules v[HOOKS], struct clock *clock, const struct setup *setup)
{
    for (size_t i = 0; i < HOOKS; i++)
        draw_one(&v[i], i, clock, setup);
    draw_after(v, clock);
}

void rules_redraw(struct rules *r, struct clock *c)
{
    draw_work_queue(&r->work_queue, c, r->mode == HOOK_OBJECT);
    r->require = clock_percent(c, 30) ? HOOK_REQUIRE_ANY : HOOK_REQUIRE_ALL;
    if (!rules_take_outages(r))
        r->when_stale = clock_percent(c, 40) ? HOOK_STALE_WAIT : HOOK_STALE_RUN;
    r->park_exit = 0;
    if (clock_percent(c, 35))
        r->park_exit = (unsigned)clock_pick(c, 1, (1U << RULES_STATUSES) - 1) << 1;
    r->after = r->after_drawn & (unsigned)clock_pick(c, 0, (1U << HOOKS) - 1);
}

void rules_trace_one(const struct rules *r, const struct clock *clock)
{
    static const char *const modes[] = {"object", "batch", "snapshot"};
    const struct work_queue_params *l = &r->work_queue;

    clock_trace(clock, "%s: %s, sources %zu %zu, events %x%s%s%s%s%s%s, after %x, park_exit %x",
                r->name, modes[r->mode], r->sources[0], r->sources[1], r->events,
                r->narrow ? ", narrow" : "", r->fields ? ", fields" : "",
                r->include_old ? ", old" : "", r->existing == HOOK_EXISTING_SKIP ? ", skip" : "",
                r->require == HOOK_REQUIRE_ANY ? ", any" : "",
                r->when_stale == HOOK_STALE_WAIT ? ", wait" : "", r->after, r->park_exit);
    clock_trace(clock,
                "    settle %" PRIu64 " %" PRIu64 ", splay %" PRIu64 ", min_interval %" PRIu64
                ", rerun %" PRIu64 ", concurrency %u, retry %" PRIu64 ", attempts %u, %u %% fail",
                l->settle_ms, l->settle_max_ms, l->splay_ms, l->min_interval_ms, l->rerun_ms,
                l->concurrency, l->retry.initial_ms, l->attempts, r->percent);
    if (r->output)
        clock_trace(clock, "    output%s: settle %" PRIu64 " %" PRIu64 ", attempts %u",
                    r->shares    ? " and shared apply"
                    : r->applies ? " and apply"
                                 : "",
                    r->apply.settle_ms, r->apply.settle_max_ms, r->apply.attempts);
}

void rules_trace(const struct rules v[HOOKS], const struct clock *clock)
{
    for (size_t i = 0; i < HOOKS; i++)
        rules_trace_one(&v[i], clock);
}

bool rules_is_end(enum delta_type type)
{
    return type == DELTA_DELETED || type == DELTA_LEFT || type == DELTA_FRESH;
}

bool rules_take(const struct rules *r, enum delta_type type)
{
    return (r->events & BIT(type)) != 0;
}

bool rules_take_all(const struct rules *r)
{
    return (r->events & OF_OBJECTS) == OF_OBJECTS;
}

bool rules_take_outages(const struct rules *r)
{
    return (r->events & OF_SOURCES) != 0;
}

static void fill_rules(struct hook_rules *to, const struct rules *v, const struct rules *r)
{
    struct err err;

    to->after = mem_array(HOOKS, sizeof(*to->after));
    for (size_t i = 0; i < HOOKS; i++)
        if ((r->after & 1U << i) != 0)
            to->after[to->after_count++] = mem_strdup(v[i].name);
    to->park_exit = mem_array(RULES_STATUSES, sizeof(*to->park_exit));
    for (int i = 1; i <= RULES_STATUSES; i++)
        if ((r->park_exit & 1U << i) != 0)
            to->park_exit[to->park_exit_count++] = i;
    if (!r->fields)
        return;
    to->fields = mem_array(1, sizeof(*to->fields));
    to->fields[0].name = mem_strdup("NOISE");
    if (json_path_parse("data.noise", &to->fields[0].path, &err) != ERR_OK)
        panic("%s", err.text);
    to->field_count = 1;
}

struct hook_params rules_params(const struct rules *v, size_t number)
{
    const struct rules *r = &v[number];
    static const char *const paths[] = {"data.value", "service.data.value"};
    struct err err;
    struct hook_params p = {
        .name = r->name,
        .index = number,
        .rules = {.mode = r->mode,
                  .existing = r->existing,
                  .require = r->require,
                  .when_stale = r->when_stale,
                  .include_old = r->include_old},
        .source_count = RULES_SOURCES,
        .work_queue = r->work_queue,
        .applies = r->applies,
        .apply = r->apply,
        .apply_key = r->shares ? "shared" : NULL,
        .timeout_ms = r->timeout_ms,
    };

    if (r->output)
        p.output = r->mode == HOOK_OBJECT ? "/files/${namespace}/${name}" : "/files/all";
    fill_rules(&p.rules, v, r);
    if (filter_init(&p.filter, r->events, paths, r->narrow ? ARRAY_LEN(paths) : 0, &err) != ERR_OK)
        panic("%s", err.text);
    return p;
}

struct hook *rules_find(const struct hooks *hooks, size_t number)
{
    for (size_t i = 0; i < hooks->n; i++)
        if (hooks->v[i]->index == number)
            return hooks->v[i];
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/life.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "cache/confirm.h"

enum { ALL_OBJECTS = 0xf, ALL_EVENTS = 0x3f };

/* A program at work. */
struct program {
    struct list link;
    struct alarm alarm;
    struct life *life;
    struct run *run;
    bool ok;
    bool effect;
};

struct plan {
    const char *name;
    size_t sources[HANDLER_SOURCES];
    unsigned events;
    const char *path; /* changes_in */
    struct hook_params params;
};

static const struct plan plain = {
    .name = "plain",
    .sources = {EVERYWHERE, PICKED},
    .events = ALL_EVENTS,
    .params = {.lane = {.concurrency = 3}         },
};

static const struct plan whole = {
    .name = "whole",
    .sources = {BY_SPACE,              MATCHED                                     },
    .events = ALL_EVENTS,
    .params = {.mode = HOOK_SNAPSHOT,
                .lane = {.concurrency = 1, .settle_ms = 200, .settle_max_ms = 2000}},
};

static const struct plan narrow = {
    .name = "narrow",
    .sources = {BY_SPACE, MATCHED},
    .events = ALL_OBJECTS,
    .path = "data.value",
    .params = {.lane = {.concurrency = 1, .settle_ms = 50, .settle_max_ms = 400}       },
};

static const struct plan ends = {
    .name = "ends",
    .sources = {EVERYWHERE, BY_SPACE},
    .events = 1U << DELTA_ADDED | 1U << DELTA_DELETED,
    .params = {.lane = {.concurrency = 1}         },
};

static const struct plan later = {
    .name = "later",
    .sources = {EVERYWHERE,                     MATCHED                   },
    .events = ALL_EVENTS,
    .params = {.existing = HOOK_EXISTING_SKIP, .lane = {.concurrency = 2}},
};

static const struct plan signs = {
    .name = "signs",
    .sources = {BY_SPACE, PICKED},
    .events = 1U << DELTA_STALE | 1U << DELTA_FRESH,
    .params = {.lane = {.concurrency = 1}       },
};

static const struct plan *const plans[HOOKS] = {
    [PLAIN] = &plain, [WHOLE] = &whole, [NARROW] = &narrow,
    [ENDS] = &ends,   [LATER] = &later, [SIGNS] = &signs,
};

static void start_due(struct life *l);

const struct view *life_view(size_t watch)
{
    static const struct view everything = {.space = API_SPACES};
    static const struct view picked = {.space = API_SPACES, .labelled = true};
    static const struct view matched = {.space = API_SPACES, .shown = true};

    return watch == PICKED ? &picked : watch == MATCHED ? &matched : &everything;
}

size_t life_source(size_t hook, size_t source)
{
    return plans[hook]->sources[source];
}

unsigned life_events(size_t hook)
{
    return plans[hook]->events;
}

void life_init_handlers(struct handler *handlers, struct clock *clock, const struct setup *setup)
{
    for (size_t i = 0; i < HOOKS; i++) {
        handlers[i].name = plans[i]->name;
        handlers[i].clock = clock;
        handlers[i].skips = plans[i]->params.existing == HOOK_EXISTING_SKIP;
        handlers[i].percent = (unsigned)clock_pick(clock, 0, setup->hook_percent);
    }
}

static void free_program(struct program *p)
{
    clock_clear(p->life->params.clock, &p->alarm);
    list_remove(&p->link);
    free(p);
}

static void on_program_end(struct alarm *a)
{
    struct program *p = container_of(a, struct program, alarm);
    struct life *l = p->life;
    struct run_result result = {.ok = p->ok, .text = "simulated"};

    clock_trace(l->params.clock, "%s: run %" PRIu64 " ends: %s", p->run->hook->name, p->run->id,
                p->ok ? "well" : "badly");
    handler_end(&l->params.handlers[p->run->hook->index], p->run, p->ok, p->effect);
    hooks_finish(&l->hooks, p->run, &result, l->params.clock->now_ms);
    free_program(p);
    start_due(l);
}

static void trace_start(const struct life *l, const struct run *run)
{
    const struct clock *c = l->params.clock;

    clock_trace(c, "%s: run %" PRIu64 " starts", run->hook->name, run->id);
    for (size_t i = 0; i < run->event_count; i++)
        clock_trace(c, "    %s %zu %s %.*s", delta_type_name(run->events[i].ev.type),
                    run->events[i].entry->source, run->events[i].entry->key,
                    STR_ARG(object_uid(run->events[i].ev.object)));
}

/* DESIGN 1.4.1, asked of each stream by itself. */
static void check_synced(const struct run *run)
{
    for (size_t i = 0; i < run->hook->source_count; i++) {
        const struct watch *w = run->hook->sources[i].watch;

        for (size_t k = 0; k < watch_feed_count(w); k++)
            if (!feed_status(watch_feed(w, k)).synced)
                panic("hook %s runs before watch %s is synced", run->hook->name, watch_name(w));
    }
}

static void start(struct life *l, struct run *run)
{
    struct handler *h = &l->params.handlers[run->hook->index];
    struct program *p = MEM_NEW(struct program, .life = l, .run = run);

    p->alarm.fn = on_program_end;
    list_init(&p->link);
    list_append(&l->programs, &p->link);
    trace_start(l, run);
    check_synced(run);
    handler_start(h, run);
    clock_set(l->params.clock, &p->alarm, handler_plan(h, &p->ok, &p->effect));
}

static void start_due(struct life *l)
{
    struct run *run;

    while ((run = hooks_next(&l->hooks, l->params.clock->now_ms)) != NULL)
        start(l, run);
    uint64_t due = hooks_wake_ms(&l->hooks);
    if (due != NEVER_MS)
        clock_set_at(l->params.clock, &l->wake, due);
}

static void on_wake(struct alarm *a)
{
    start_due(container_of(a, struct life, wake));
}

/* As io/follower does it. */
static void look(struct post *p)
{
    struct life *l = p->life;
    struct clock *c = l->params.clock;
    struct feed_now now = {.ms = c->now_ms, .wall_ns = c->now_ms * 1000000};
    uint64_t next_ms = watch_tick(l->watches[p->watch], now);

    if (next_ms == UINT64_MAX)
        clock_clear(c, &p->tick);
    else
        clock_set_at(c, &p->tick, next_ms);
    l->params.on_look(l->params.arg, l->watches[p->watch], p->watch);
}

static void ask_confirm(struct post *p);

static void on_progress(void *arg)
{
    struct post *p = arg;

    look(p);
    ask_confirm(p);
    start_due(p->life);
}

static void on_tick(struct alarm *a)
{
    on_progress(container_of(a, struct post, tick));
}

/* What etcd says of an object, if it is asked at all. */
static enum confirm_answer look_up(struct net *n, const char *key, uint64_t uid)
{
    const struct server *s = &n->servers[clock_pick(n->clock, 0, SERVERS - 1)];

    if (s->away || s->split || net_strikes(n, FAULT_ERROR))
        return CONFIRM_NO_ANSWER;
    return n->api->now[api_find(str_c(key))].uid == uid ? CONFIRM_SAME : CONFIRM_GONE;
}

static void on_answer(struct alarm *a)
{
    struct post *p = container_of(a, struct post, answer);
    struct life *l = p->life;
    enum confirm_answer answer = look_up(l->params.net, p->key, p->uid);

    confirm_answer(watch_confirm(l->watches[p->watch]), answer, l->params.clock->now_ms);
    on_progress(p);
}

/* As io/confirmer does it. */
static void ask_confirm(struct post *p)
{
    struct life *l = p->life;
    struct clock *c = l->params.clock;
    struct confirm *confirm = watch_confirm(l->watches[p->watch]);

    if (confirm == NULL)
        return;
    confirm_tick(confirm, c->now_ms);
    const struct object *o = confirm_next(confirm, c->now_ms);
    if (o != NULL) {
        l->params.net->requests[REQUEST_GET]++;
        p->uid = handler_read(o).uid;
        snprintf(p->key, sizeof(p->key), "%.*s", STR_ARG(object_key(o)));
        confirm_started(confirm, c->now_ms);
        clock_set(c, &p->answer, clock_pick(c, 0, 100));
    }
    clock_clear(c, &p->confirm);
    if (confirm_due_ms(confirm) != UINT64_MAX)
        clock_set_at(c, &p->confirm, confirm_due_ms(confirm));
}

static void on_confirm(struct alarm *a)
{
    on_progress(container_of(a, struct post, confirm));
}

static void on_delta(void *arg, struct watch *w, const struct delta *d)
{
    struct life *l = arg;
    size_t number = 0;

    while (l->watches[number] != w)
        number++;
    l->params.on_delta(l->params.arg, number, d);

    clock_trace(l->params.clock, "%s: %s %.*s %.*s", watch_name(w), delta_type_name(d->type),
                STR_ARG(object_key(d->object)), STR_ARG(object_rv(d->object)));
    hooks_delta(&l->hooks, w, d, l->params.clock->now_ms);
}

static void on_stale(void *arg, struct watch *w, bool stale, uint64_t wall_ns)
{
    struct life *l = arg;

    for (size_t i = 0; i < WATCHES; i++)
        l->stale[i] = l->watches[i] == w ? stale : l->stale[i];
    clock_trace(l->params.clock, "%s: %s", watch_name(w), stale ? "STALE" : "FRESH");
    hooks_stale(&l->hooks, w, stale, wall_ns, l->params.clock->now_ms);
}

static void add_watch(struct life *l, size_t number)
{
    static const struct watch_events events = {on_delta, on_stale};
    static const char *const all[] = {"*"};
    static const char *const spaces[] = {"east", "west"};
    static const char *const match[] = {"data.on=yes"};
    static const char *const names[] = {"everywhere", "by-space", "picked", "matched"};
    const struct setup *s = l->params.net->setup;
    struct err err;
    struct watch_params p = {
        .name = names[number],
        .cluster = "sim",
        .resource = "configmaps",
        .namespaces = number == BY_SPACE ? spaces : all,
        .namespace_count = number == BY_SPACE ? API_SPACES : 1,
        .label_selector = number == PICKED ? "app=x" : "",
        .field_selector = "",
        .shape = {.match = match, .match_count = number == MATCHED ? 1 : 0},
        .object_size = 1 << 20,
        .reflector = s->reflector,
        .guard = s->guard,
        .bookmark_timeout_ms = s->bookmark_timeout_ms,
        .list_idle_timeout_ms = s->list_idle_timeout_ms,
        .stale_after_ms = s->stale_after_ms,
        .confirm_deletes = number == PICKED && s->confirm,
        .seed = l->params.seed + number * FEEDS,
    };

    if (watch_create(&p, &events, l, &l->watches[number], &err) != ERR_OK)
        panic("%s", err.text);
    l->posts[number] = (struct post){.life = l,
                                     .watch = number,
                                     .tick.fn = on_tick,
                                     .confirm.fn = on_confirm,
                                     .answer.fn = on_answer};
}

static void add_hook(struct life *l, size_t number)
{
    const struct plan *plan = plans[number];
    struct hook_params p = plan->params;
    struct hook_source sources[HANDLER_SOURCES];
    struct err err;

    for (size_t i = 0; i < HANDLER_SOURCES; i++) {
        struct watch *w = l->watches[plan->sources[i]];

        sources[i] = (struct hook_source){.name = watch_name(w), .watch = w};
    }
    p.name = plan->name;
    p.index = number;
    p.sources = sources;
    p.source_count = HANDLER_SOURCES;
    p.lane.retry = (struct backoff_params){.initial_ms = 100, .max_ms = 5000, .factor = 2};
    if (filter_init(&p.filter, plan->events, &plan->path, plan->path != NULL ? 1 : 0, &err) !=
        ERR_OK)
        panic("%s", err.text);
    hooks_add(&l->hooks, &p);
}

static void add_streams(struct life *l, size_t number)
{
    struct watch *w = l->watches[number];

    for (size_t i = 0; i < watch_feed_count(w); i++) {
        struct stream *s = &l->streams[l->stream_count++];

        *s = (struct stream){
            .net = l->params.net,
            .feed = watch_feed(w, i),
            .view = *life_view(number),
            .on_progress = on_progress,
            .arg = &l->posts[number],
        };
        if (number == BY_SPACE)
            s->view.space = i;
        stream_start(s);
    }
}

struct life *life_create(const struct life_params *params)
{
    struct life *l = mem_zalloc(sizeof(*l));

    l->params = *params;
    l->wake.fn = on_wake;
    list_init(&l->programs);
    hooks_init(&l->hooks, 2, params->seed);
    for (size_t i = 0; i < WATCHES; i++)
        add_watch(l, i);
    for (size_t i = 0; i < HOOKS; i++)
        add_hook(l, i);
    for (size_t i = 0; i < WATCHES; i++)
        add_streams(l, i);
    return l;
}

void life_destroy(struct life **lp)
{
    struct life *l = *lp;

    *lp = NULL;
    for (size_t i = 0; i < l->stream_count; i++)
        stream_fini(&l->streams[i]);
    list_each (pos, tmp, &l->programs)
        free_program(list_entry(pos, struct program, link));
    clock_clear(l->params.clock, &l->wake);
    hooks_fini(&l->hooks);
    for (size_t i = 0; i < WATCHES; i++) {
        clock_clear(l->params.clock, &l->posts[i].tick);
        clock_clear(l->params.clock, &l->posts[i].confirm);
        clock_clear(l->params.clock, &l->posts[i].answer);
        watch_destroy(&l->watches[i]);
    }
    for (size_t i = 0; i < HOOKS; i++)
        handler_forget(&l->params.handlers[i]);
    free(l);
}

void life_poke(struct life *l, size_t watch)
{
    for (size_t i = 0; i < l->stream_count; i++)
        if (l->streams[i].arg == &l->posts[watch])
            stream_poke(&l->streams[i]);
    on_progress(&l->posts[watch]);
}

bool life_is_quiet(const struct life *l)
{
    for (size_t i = 0; i < l->stream_count; i++)
        if (!stream_is_current(&l->streams[i]))
            return false;
    for (size_t i = 0; i < WATCHES; i++)
        if (watch_confirm(l->watches[i]) != NULL && confirm_count(watch_confirm(l->watches[i])) > 0)
            return false;
    for (size_t i = 0; i < l->hooks.n; i++)
        if (hook_pending(l->hooks.v[i]) > 0 || l->hooks.v[i]->lane.running > 0)
            return false;
    return true;
}

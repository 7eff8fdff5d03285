/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/crew.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"

/* A program at work. */
struct program {
    struct list link;
    struct alarm alarm;
    struct crew *crew;
    struct run *run;
    struct handler_plan plan;
};

static uint64_t now(const struct crew *c)
{
    return c->params.clock->now_ms;
}

static void free_program(struct program *p)
{
    clock_clear(p->crew->params.clock, &p->alarm);
    list_remove(&p->link);
    free(p);
}

/* What hooks_finish() says of the run. */
static void check_verdict(const struct crew *c, const struct program *p,
                          const struct hooks_verdict *v, const struct pace *pace)
{
    bool ok = p->plan.end == RUN_EXITED && p->plan.status == 0;
    uint64_t retry_ms = NEVER_MS;

    if (pace->ordered_ms != NEVER_MS)
        return;
    if ((pace->failures > 0 || pace->denied) && !pace->parked)
        retry_ms = (pace->denied ? pace->denied_ms : pace->earliest_ms) - now(c);
    if ((v->outcome == HISTORY_OK) != ok || v->retry_ms != retry_ms ||
        (pace->parked && v->outcome != HISTORY_PARKED))
        panic("it says of the run: outcome %s, retry in %" PRIu64 " ms, not %" PRIu64,
              history_outcome_name(v->outcome), v->retry_ms, retry_ms);
}

/* Of apply. */
static void end_apply(struct program *p)
{
    struct crew *c = p->crew;
    size_t hook = p->run->hook->index;
    const struct run_result result = {
        .end = p->plan.end, .status = p->plan.status, .text = "simulated", .wall_ns = 1};

    watcher_before(&c->watcher);
    clock_trace(c->params.clock, "%s: apply %" PRIu64 " ends: %d, status %d", p->run->hook->name,
                p->run->id, (int)p->plan.end, p->plan.status);
    shelf_end_apply(&c->params.handlers[hook].shelf, &result);
    watcher_end_apply(&c->watcher, hook, result.end == RUN_NO_MEANS);
    hooks_finish(&c->hooks, p->run, &result, now(c));
    free_program(p);
    crew_start_due(c, c->synced);
}

/* Of the command, or a removal. */
static void end_files(struct crew *c, const struct program *p, bool ok, struct run_result *result)
{
    size_t hook = p->run->hook->index;
    struct handler *h = &c->params.handlers[hook];

    uint64_t bytes = p->run->file != NULL ? handler_render_run(h, p->run) : 0;

    shelf_end(&h->shelf, p->run, ok, p->plan.writes, bytes, result);
    if (shelf_release(&h->shelf, p->run, result))
        watcher_unpark(&c->watcher, hook);
}

static void on_program_end(struct alarm *a)
{
    struct program *p = container_of(a, struct program, alarm);
    struct crew *c = p->crew;

    if (p->run->kind == RUN_APPLY) {
        end_apply(p);
        return;
    }
    size_t hook = p->run->hook->index;
    bool ok = p->plan.end == RUN_EXITED && p->plan.status == 0;
    struct run_result result = {
        .end = p->plan.end, .status = p->plan.status, .text = "simulated", .wall_ns = 1};

    watcher_before(&c->watcher);
    clock_trace(c->params.clock, "%s: run %" PRIu64 " ends: %s, status %d", p->run->hook->name,
                p->run->id, ok ? "well" : "badly", p->plan.status);
    if (result.end != RUN_NO_MEANS)
        handler_end(&c->params.handlers[hook], p->run, ok, p->plan.effect);
    end_files(c, p, ok, &result);
    const struct pace *pace = watcher_end(&c->watcher, p->run, &result);
    struct hooks_verdict v = hooks_finish(&c->hooks, p->run, &result, now(c));
    check_verdict(c, p, &v, pace);
    free_program(p);
    crew_start_due(c, c->synced);
}

static void trace_start(const struct crew *c, const struct run *run)
{
    clock_trace(c->params.clock, "%s: run %" PRIu64 " starts, %s, attempt %u", run->hook->name,
                run->id, run_reason_name(run->reason), run->attempt);
    for (size_t i = 0; i < run->event_count; i++)
        clock_trace(c->params.clock, "    %s %zu %s %.*s", delta_type_name(run->events[i].ev.type),
                    run->events[i].entry->source, run->events[i].entry->key,
                    STR_ARG(object_uid(run->events[i].ev.object)));
}

/* Somebody else's program keeps a slot for long. */
static bool somebody_hangs(const struct crew *c, const struct hook *but)
{
    list_each (pos, tmp, &c->programs) {
        const struct program *p = list_entry(pos, struct program, link);

        if (p->run->hook != but && p->plan.ms >= HANDLER_TIMEOUT_MS &&
            now(c) >= p->run->started_ms + 1000)
            return true;
    }
    return false;
}

static void count_start(const struct crew *c, const struct program *p)
{
    uint64_t *features = c->params.features;

    features[FEATURE_TIMEOUT] += p->plan.ms == HANDLER_TIMEOUT_MS;
    features[FEATURE_HANG] += p->plan.ms == HANDLER_LONG_MS;
    if (p->run->kind != RUN_APPLY && p->run->hook->lane.running == 1 &&
        somebody_hangs(c, p->run->hook))
        features[FEATURE_OWN_SLOT]++;
}

/* Whose file it is was settled before it starts. */
static struct handler_plan plan_run(struct handler *h, struct run *run)
{
    bool nothing;
    struct err err;
    bool refused = shelf_claim(&h->shelf, run, &nothing);
    bool is = files_claim(run, &err) != ERR_OK;

    if (is != refused)
        panic("%s, key %s: its file is %s", h->rules->name, run_key(run),
              is ? err.text : "another one's");
    handler_start(h, run);
    if (refused)
        return (struct handler_plan){.end = RUN_UNFIT};
    if (run->kind == RUN_REMOVE && (run->file == NULL) != nothing)
        panic("%s, key %s: removes %s", h->rules->name, run_key(run),
              nothing ? "what is not its own" : "nothing");
    if (nothing)
        return (struct handler_plan){.end = RUN_EXITED, .effect = true};
    return handler_plan(h, run);
}

static void look_at_shelf(struct crew *c, size_t hook)
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
        look_at_shelf(c, i);
}

static void start(struct crew *c, struct run *run)
{
    struct handler *h = &c->params.handlers[run->hook->index];
    struct program *p = MEM_NEW(struct program, .crew = c, .run = run);

    p->alarm.fn = on_program_end;
    list_init(&p->link);
    list_append(&c->programs, &p->link);
    trace_start(c, run);
    if (run->kind == RUN_APPLY) {
        shelf_begin_apply(&h->shelf, run);
        p->plan = handler_plan_apply(h);
    } else {
        watcher_begin(&c->watcher, run);
        p->plan = plan_run(h, run);
        if (p->plan.end != RUN_NO_MEANS)
            handler_tell(h, run);
    }
    look_at_shelf(c, run->hook->index);
    count_start(c, p);
    clock_set(c->params.clock, &p->alarm, p->plan.ms);
}

void crew_start_due(struct crew *c, const bool synced[SOURCES])
{
    struct run *run;

    memmove(c->synced, synced, sizeof(c->synced));
    watcher_before(&c->watcher);
    watcher_open(&c->watcher, synced);
    look_at_shelves(c);
    while ((run = hooks_next(&c->hooks, now(c))) != NULL)
        start(c, run);
    look_at_shelves(c);
    watcher_after(&c->watcher);
    watcher_compare(&c->watcher, &c->hooks);
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

static struct content content(const struct crew *c, size_t number)
{
    if (number == VIEWED)
        return (struct content){.view = c->params.view};
    return (struct content){.watch = c->params.watches[number]};
}

void crew_delta(struct crew *c, size_t number, const struct delta *d)
{
    watcher_before(&c->watcher);
    watcher_delta(&c->watcher, number, d);
    hooks_delta(&c->hooks, content(c, number), d, now(c));
}

void crew_stale(struct crew *c, size_t number, bool stale, uint64_t wall_ns)
{
    watcher_before(&c->watcher);
    watcher_stale(&c->watcher, number, stale);
    hooks_stale(&c->hooks, content(c, number), stale, wall_ns, now(c));
}

void crew_pause(struct crew *c, size_t hook, bool paused)
{
    clock_trace(c->params.clock, "%s is %s", c->params.rules[hook].name,
                paused ? "paused" : "resumed");
    watcher_before(&c->watcher);
    watcher_pause(&c->watcher, hook, paused);
    hook_pause(c->hooks.v[hook], paused);
    crew_start_due(c, c->synced);
}

void crew_order(struct crew *c, size_t hook, size_t key)
{
    struct str name = {0};
    struct err err;

    clock_trace(c->params.clock, "%s: run %zu", c->params.rules[hook].name, key);
    watcher_before(&c->watcher);
    if (key == ACCOUNT_OUTAGE)
        name = str_c("");
    else if (key != ACCOUNT_KEYS)
        name = str_c(api_key(key));
    enum err_kind want = watcher_order(&c->watcher, hook, key);
    enum err_kind is = hook_order(c->hooks.v[hook], name, &err);
    if (is != want)
        panic("%s, key %.*s: the order ends with %d, not %d", c->params.rules[hook].name,
              STR_ARG(name), is, want);
    if (is == ERR_OK && key == ACCOUNT_KEYS)
        shelf_order(&c->params.handlers[hook].shelf);
    crew_start_due(c, c->synced);
}

static void add_hook(struct crew *c, size_t number)
{
    struct hook_params p = rules_params(c->params.rules, number);
    struct hook_source sources[RULES_SOURCES];
    static const char *const again = "again";

    for (size_t i = 0; i < RULES_SOURCES; i++) {
        struct content of = content(c, c->params.rules[number].sources[i]);
        bool twice = i > 0 && content_equal(of, sources[0].of);

        sources[i] = (struct hook_source){.name = twice ? again : content_name(of), .of = of};
    }
    p.sources = sources;
    hooks_add(&c->hooks, &p);
}

void crew_init(struct crew *c, const struct crew_params *params)
{
    *c = (struct crew){.params = *params, .wake.fn = on_wake};
    list_init(&c->programs);
    hooks_init(&c->hooks, params->slots, params->seed);
    watcher_init(&c->watcher, params->clock, params->rules, params->slots, params->features);
    for (size_t i = 0; i < HOOKS; i++) {
        add_hook(c, i);
        shelf_begin_life(&params->handlers[i].shelf);
        c->watcher.hooks[i].shelf = &params->handlers[i].shelf;
    }
}

void crew_fini(struct crew *c)
{
    list_each (pos, tmp, &c->programs)
        free_program(list_entry(pos, struct program, link));
    clock_clear(c->params.clock, &c->wake);
    hooks_fini(&c->hooks);
    for (size_t i = 0; i < HOOKS; i++)
        handler_forget(&c->params.handlers[i]);
}

bool crew_is_quiet(const struct crew *c)
{
    return hooks_quiet(&c->hooks);
}

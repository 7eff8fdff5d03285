/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/program.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"
#include "hook/shortage.h"
#include "sim/checked_hook.h"
#include "sim/sharing.h"
#include "sim/sim_reload.h"

/* A program at work. */
struct program {
    struct list link;
    struct alarm alarm;
    struct sim_hooks *sim_hooks;
    struct run *run;
    struct handler_plan plan;
    bool stopped; /* the daemon ends in order */
    bool opening; /* as in io/runner: the run waits for its delivery records */
};

static uint64_t now(const struct sim_hooks *c)
{
    return c->params.clock->now_ms;
}

static void free_program(struct program *p)
{
    clock_clear(p->sim_hooks->params.clock, &p->alarm);
    list_remove(&p->link);
    free(p);
}

/* The verdict of hooks_finish() must be that of run_timing. */
static void check_verdict(const struct sim_hooks *c, const struct program *p,
                          const struct hooks_verdict *v, const struct run_timing *run_timing)
{
    bool ok = run_end_is_good(&p->plan.end);
    uint64_t retry_ms = NEVER_MS;

    if (run_timing->ordered_ms != NEVER_MS)
        return;
    if ((run_timing->failures > 0 || run_timing->not_started) && !run_timing->parked)
        retry_ms =
            (run_timing->not_started ? run_timing->not_started_ms : run_timing->earliest_ms) -
            now(c);
    if ((v->outcome == HISTORY_OK) != ok || v->retry_ms != retry_ms ||
        (run_timing->parked && v->outcome != HISTORY_PARKED))
        panic("it says of the run: outcome %s, retry in %" PRIu64 " ms, not %" PRIu64,
              history_outcome_name(v->outcome), v->retry_ms, retry_ms);
}

/* The run of apply ends for one of its hooks. */
static void end_apply_of(struct sim_hooks *c, size_t hook, void *arg)
{
    const struct run_result *result = arg;

    if (sim_hooks_watches(c, hook)) {
        output_files_end_apply(&c->params.handlers[hook].output_files, result);
        hook_checker_end_apply(&c->hook_checker, hook, shortage_of(&result->end) != SHORTAGE_NONE);
    }
    if (sim_hooks_remembers(c))
        outputs_end_apply(&c->params.persist->outputs[hook], run_end_is_good(&result->end));
}

/* Ends a run of apply. */
static void end_apply(struct program *p)
{
    struct sim_hooks *c = p->sim_hooks;
    struct run_result result = {.end = p->plan.end, .text = "simulated", .wall_ns = 1};

    result.end.program = RUN_PROGRAM_APPLY;
    clock_trace(c->params.clock, "%s: apply %" PRIu64 " ends: %d, status %d", p->run->hook->name,
                p->run->id, (int)p->plan.end.kind, p->plan.end.value);
    sharing_each(p->run, end_apply_of, c, &result);
    hooks_finish(&c->hooks, p->run, &result, now(c));
    free_program(p);
}

/* Ends a run of the command or a removal: writes or removes its file. */
static void end_files(struct sim_hooks *c, const struct program *p, bool ok,
                      struct run_result *result)
{
    size_t hook = p->run->hook->index;
    struct handler *h = &c->params.handlers[hook];

    uint64_t bytes = p->run->file != NULL ? handler_render_run(h, p->run) : 0;

    bool late = sim_hooks_remembers(c) && p->plan.writes &&
                !outputs_holds(&c->params.persist->outputs[hook], p->run, bytes);

    if (!sim_hooks_watches(c, hook)) {
        outputs_fill(&c->params.persist->outputs[hook], p->run, ok, p->plan.writes, bytes, result);
    } else {
        output_files_end(&h->output_files, p->run, ok, p->plan.writes, bytes, result);
        if (output_files_release(&h->output_files, p->run, result))
            hook_checker_unpark(&c->hook_checker, hook);
    }
    clock_trace(c->params.clock, "%s: %s: file %d", h->rules->name,
                p->run->file != NULL ? p->run->file : "none", (int)result->end.stage);
    if (sim_hooks_remembers(c))
        outputs_end(&c->params.persist->outputs[hook], p->run, ok, late, result);
}

static size_t key_of(const struct run_event *e)
{
    return e->delivery->key[0] == '\0' ? RULES_OUTAGE : api_find(str_c(e->delivery->key));
}

/* Ends the run for its judges and for the hooks, which free it. */
static void finish(struct sim_hooks *c, const struct program *p, const struct run_result *result)
{
    struct restart_oracle *w = sim_hooks_remembers(c) ? &c->params.persist->restart_oracle : NULL;
    const struct run_event *e = run_keyed(p->run);
    size_t hook = p->run->hook->index;
    size_t source = e != NULL ? e->delivery->source : 0;
    size_t key = e != NULL ? key_of(e) : 0;
    const struct run_timing *run_timing =
        c->is_watched ? hook_checker_end(&c->hook_checker, p->run, result) : NULL;

    if (sim_hooks_remembers(c))
        restart_oracle_end(w, p->run, result);
    struct hooks_verdict v = hooks_finish(&c->hooks, p->run, result, now(c));
    if (run_timing != NULL)
        check_verdict(c, p, &v, run_timing);
    if (v.outcome == HISTORY_PARKED)
        clock_trace(c->params.clock, "%s: source %zu, key %zu is parked",
                    c->params.rules[hook].name, source, key);
    bool parked =
        !result->stopped && v.outcome == HISTORY_PARKED &&
        sim_hooks_says_parked(c, hook, source, key); /* unless a manual run was wanted meanwhile */
    if (sim_hooks_remembers(c) && shortage_of(&result->end) == SHORTAGE_NONE)
        restart_oracle_verdict(w, hook, source, key, parked);
}

static void end_program(struct program *p)
{
    struct sim_hooks *c = p->sim_hooks;
    bool ok = run_end_is_good(&p->plan.end);
    struct run_result result = {.end = p->plan.end, .text = "simulated", .wall_ns = 1};

    result.stopped = p->stopped;
    if (p->run->kind == RUN_APPLY) {
        end_apply(p);
        return;
    }
    clock_trace(c->params.clock, "%s: run %" PRIu64 " ends: %s, status %d", p->run->hook->name,
                p->run->id, ok ? "well" : "badly", p->plan.end.value);
    if (shortage_of(&result.end) == SHORTAGE_NONE && !p->opening)
        handler_end(&c->params.handlers[p->run->hook->index], p->run, ok, p->plan.effect);
    end_files(c, p, ok, &result);
    finish(c, p, &result);
    free_program(p);
}

/* Starts the program: its delivery records are on disk, or the daemon keeps none. */
static void begin_program(struct program *p)
{
    struct sim_hooks *c = p->sim_hooks;

    p->opening = false;
    if (p->run->kind != RUN_APPLY && shortage_of(&p->plan.end) == SHORTAGE_NONE) {
        handler_tell(&c->params.handlers[p->run->hook->index], p->run);
        if (sim_hooks_remembers(c))
            restart_oracle_tell(&c->params.persist->restart_oracle, p->run);
    }
}

/* At times kills the daemon while the records of a start or an end are on their way to disk. */
static void tempt(struct sim_hooks *c, const struct program *p)
{
    struct clock *clock = c->params.clock;
    bool storm = sim_hooks_remembers(c) && !c->params.handlers[p->run->hook->index].well;

    if (storm && clock_percent(clock, 2))
        clock_set(clock, c->params.reaper, clock_pick(clock, 0, 15));
}

static void on_alarm(struct alarm *a)
{
    struct program *p = container_of(a, struct program, alarm);
    struct sim_hooks *c = p->sim_hooks;

    tempt(c, p);
    if (p->opening) {
        disk_sync(c->params.persist->disk_hooks.disk);
        begin_program(p);
        clock_set(c->params.clock, a, p->plan.ms);
        return;
    }
    if (c->is_watched)
        hook_checker_before(&c->hook_checker);
    end_program(p);
    sim_reload_look(c);
    sim_hooks_keep_now(c);
    sim_hooks_start_due(c, c->synced);
}

static void trace_start(const struct sim_hooks *c, const struct run *run)
{
    clock_trace(c->params.clock, "%s: run %" PRIu64 " starts, %s, attempt %u", run->hook->name,
                run->id, run_reason_name(run->reason), run->attempt);
    for (size_t i = 0; i < run->event_count; i++)
        clock_trace(c->params.clock, "    %s %u %s %.*s", delta_type_name(run->events[i].ev.type),
                    run->events[i].delivery->source, run->events[i].delivery->key,
                    STR_ARG(object_uid(run->events[i].ev.object)));
}

/* Does the program of another hook keep a slot for long? */
static bool somebody_hangs(const struct sim_hooks *c, const struct hook *but)
{
    list_each (pos, tmp, &c->programs) {
        const struct program *p = list_entry(pos, struct program, link);

        if (p->run->hook != but && p->plan.ms >= HANDLER_TIMEOUT_MS &&
            now(c) >= p->run->started_ms + 1000)
            return true;
    }
    return false;
}

static void count_start(const struct sim_hooks *c, const struct program *p)
{
    uint64_t *features = c->params.features;

    features[FEATURE_TIMEOUT] += p->plan.ms == HANDLER_TIMEOUT_MS;
    features[FEATURE_HANG] += p->plan.ms == HANDLER_LONG_MS;
    if (p->run->kind != RUN_APPLY && p->run->hook->work_queue.running == 1 &&
        somebody_hangs(c, p->run->hook))
        features[FEATURE_OWN_SLOT]++;
}

/* Claims the file of the run, then draws how the program is going to end. */
static struct handler_plan plan_run(const struct sim_hooks *c, struct run *run)
{
    struct handler *h = &c->params.handlers[run->hook->index];
    bool nothing = false;
    struct err err;
    bool watched = sim_hooks_watches(c, run->hook->index);
    bool refused = watched && output_files_claim(&h->output_files, run, &nothing);
    bool is = files_claim(run, &err) != ERR_OK;

    if (is != refused && watched)
        panic("%s, key %s: its file is %s", h->rules->name, run_key(run),
              is ? err.text : "another one's");
    handler_start(h, run);
    if (is)
        return (struct handler_plan){
            .end = {.kind = RUN_END_REFUSED, .stage = RUN_STAGE_FIELDS}
        };
    bool empty = run->kind == RUN_REMOVE && run->file == NULL;
    if (empty != nothing && watched)
        panic("%s, key %s: removes %s", h->rules->name, run_key(run),
              nothing ? "what is not its own" : "nothing");
    if (empty)
        return (struct handler_plan){.effect = true};
    return handler_plan(h, run);
}

static void begin_apply_of(struct sim_hooks *c, size_t hook, void *arg)
{
    (void)arg;
    outputs_begin_apply(&c->params.persist->outputs[hook]);
}

/* The judges panic if the run must not start. */
static void check_start(struct sim_hooks *c, const struct run *run)
{
    bool applies = run->kind == RUN_APPLY;

    if (!applies && checked_hook_lacks(&c->hook_checker, &c->params.rules[run->hook->index]))
        panic("%s runs while a source is incomplete", run->hook->name);
    if (c->is_watched)
        sim_hooks_open(c);
    if (c->is_watched && applies)
        sharing_check_start(c, run);
    else if (c->is_watched && !applies)
        hook_checker_begin(&c->hook_checker, run);
    if (!sim_hooks_remembers(c))
        return;
    restart_oracle_look(&c->params.persist->restart_oracle, &c->hooks);
    if (applies)
        sharing_each(run, begin_apply_of, c, NULL);
    else
        restart_oracle_begin_run(&c->params.persist->restart_oracle, run);
}

void program_start(struct sim_hooks *c, struct run *run)
{
    struct handler *h = &c->params.handlers[run->hook->index];
    struct program *p = MEM_NEW(struct program, .sim_hooks = c, .run = run);

    p->alarm.fn = on_alarm;
    p->opening = sim_hooks_remembers(c);
    list_init(&p->link);
    list_append(&c->programs, &p->link);
    trace_start(c, run);
    check_start(c, run);
    p->plan = run->kind == RUN_APPLY ? handler_plan_apply(h) : plan_run(c, run);
    if (!p->opening)
        begin_program(p);
    if (sim_hooks_watches(c, run->hook->index))
        sim_hooks_look_at_files(c, run->hook->index);
    count_start(c, p);
    clock_set(c->params.clock, &p->alarm,
              p->opening ? clock_pick(c->params.clock, 0, 20) : p->plan.ms);
}

static void cut_apply_of(struct sim_hooks *c, size_t hook, void *arg)
{
    (void)arg;
    outputs_end_apply(&c->params.persist->outputs[hook], false);
}

/* The daemon dies: a program that has started may have had its effect. */
static void cut(struct sim_hooks *c, const struct program *p)
{
    size_t hook = p->run->hook->index;
    bool started = !p->opening && shortage_of(&p->plan.end) == SHORTAGE_NONE;
    bool effect = started && !run_end_is_unfit(&p->plan.end) && clock_percent(c->params.clock, 50);

    if (p->run->kind == RUN_APPLY) {
        sharing_each(p->run, cut_apply_of, c, NULL);
        return;
    }
    restart_oracle_cut(&c->params.persist->restart_oracle, p->run, started);
    if (!started)
        return;
    handler_end(&c->params.handlers[hook], p->run, false, effect);
    if (p->run->file != NULL)
        outputs_cut(&c->params.persist->outputs[hook], p->run, effect,
                    handler_render_run(&c->params.handlers[hook], p->run));
}

void program_stop_all(struct sim_hooks *c)
{
    list_each (pos, tmp, &c->programs) {
        struct program *p = list_entry(pos, struct program, link);

        if (p->run->kind != RUN_APPLY)
            restart_oracle_cut(&c->params.persist->restart_oracle, p->run, !p->opening);
        c->params.features[FEATURE_STOPPED]++;
        p->plan = (struct handler_plan){.end.cut = RUN_CUT_TIMEOUT,
                                        .effect = clock_percent(c->params.clock, 50)};
        p->stopped = true;
        end_program(p);
    }
}

void program_kill_all(struct sim_hooks *c)
{
    list_each (pos, tmp, &c->programs) {
        struct program *p = list_entry(pos, struct program, link);

        if (sim_hooks_remembers(c))
            cut(c, p);
        free_program(p);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "hook_rig.h"

#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"

struct hook_rig hook_rig;

void hook_rig_init(unsigned shared_slots, const struct subscriber *subscriber,
                   const char *const *clusters)
{
    static const char *const names[HOOK_RIG_WATCHES] = {"w0", "w1", "w2"};
    struct watch_params p = objects_watch_params();

    log_set_level(LOG_LVL_ERROR);
    hook_rig.now = 100000;
    hooks_init(&hook_rig.hooks, shared_slots, 1);
    for (size_t i = 0; i < HOOK_RIG_WATCHES; i++) {
        p.name = names[i];
        p.cluster = clusters != NULL ? clusters[i] : p.cluster;
        assert_int_equal(watch_create(&p, &hook_rig.watches[i], NULL), ERR_OK);
        if (subscriber != NULL)
            watch_subscribe(hook_rig.watches[i], subscriber, &hook_rig.hooks);
    }
}

int hook_rig_set_up(void **state)
{
    (void)state;
    hook_rig_init(4, NULL, NULL);
    return 0;
}

int hook_rig_clean_up(void **state)
{
    (void)state;
    hooks_fini(&hook_rig.hooks);
    for (size_t i = 0; i < HOOK_RIG_WATCHES; i++)
        watch_destroy(&hook_rig.watches[i]);
    return 0;
}

static void fill_rules(struct hook_rules *r, const struct hook_rig_hook *p)
{
    if (p->park_exit > 0) {
        r->park_exit = mem_dup(&p->park_exit, sizeof(p->park_exit));
        r->park_exit_count = 1;
    }
    if (p->after > 0) {
        char name[16];

        snprintf(name, sizeof(name), "h%zu", p->after - 1);
        r->after = mem_array(1, sizeof(*r->after));
        r->after[r->after_count++] = mem_strdup(name);
    }
}

static void fill_work_queue(struct work_queue_params *work_queue, unsigned concurrency)
{
    if (work_queue->concurrency == 0)
        work_queue->concurrency = concurrency;
    if (work_queue->retry.initial_ms == 0)
        work_queue->retry =
            (struct backoff_params){.initial_ms = HOOK_RIG_INITIAL_MS, .max_ms = 8000, .factor = 2};
}

struct hook *hook_rig_add(const struct hook_rig_hook *p)
{
    static const char *const names[] = {"one", "two", "three"};
    struct hook_source sources[HOOK_RIG_WATCHES];
    char name[16];
    struct hook_params params = {.name = name,
                                 .index = hook_rig.hooks.n,
                                 .rules = p->rules,
                                 .sources = sources,
                                 .source_count = p->sources > 0 ? p->sources : 1,
                                 .work_queue = p->work_queue,
                                 .output = p->output,
                                 .from_members = p->from_members,
                                 .applies = p->applies,
                                 .apply = p->apply,
                                 .apply_key = p->apply_key,
                                 .timeout_ms = p->timeout_ms};

    snprintf(name, sizeof(name), "h%zu", hook_rig.hooks.n);
    for (size_t i = 0; i < params.source_count; i++)
        sources[i] = p->of != NULL
                         ? p->of[i]
                         : (struct hook_source){.name = names[i], .of.watch = hook_rig.watches[i]};
    fill_work_queue(&params.work_queue, 8);
    fill_work_queue(&params.apply, 1);
    if (params.apply.settle_max_ms == 0) {
        params.apply.settle_ms = 200;
        params.apply.settle_max_ms = 2000;
    }
    fill_rules(&params.rules, p);
    assert_int_equal(filter_init(&params.filter, p->events > 0 ? p->events : HOOK_RIG_ALL, &p->path,
                                 p->path != NULL ? 1 : 0, NULL),
                     ERR_OK);
    hooks_add(&hook_rig.hooks, &params);
    return hook_rig.hooks.v[hook_rig.hooks.n - 1];
}

void hook_rig_sync(size_t watch)
{
    objects_sync(hook_rig.watches[watch], "", "1", (struct now){hook_rig.now, hook_rig.now});
}

void hook_rig_change(size_t watch, enum delta_type type, const char *key, const char *uid,
                     const char *data)
{
    struct object *o = objects_make(key, uid, "1", data);

    hooks_subscriber.on_delta(&hook_rig.hooks, (struct source){.watch = hook_rig.watches[watch]},
                              &(struct delta){.type = type, .object = o, .now_ms = hook_rig.now});
    object_unref(&o);
}

void hook_rig_stale(size_t watch, bool is)
{
    hooks_subscriber.on_stale(&hook_rig.hooks, (struct source){.watch = hook_rig.watches[watch]},
                              is, (struct now){hook_rig.now, 77});
}

void hook_rig_nothing(void)
{
    assert_null(hooks_next(&hook_rig.hooks, hook_rig.now));
}

void hook_rig_waits_until(uint64_t ms)
{
    hook_rig_nothing();
    assert_int_equal(hooks_wake_ms(&hook_rig.hooks), ms);
    if (ms == NEVER_MS)
        return;
    hook_rig.now = ms - 1;
    hook_rig_nothing();
    hook_rig.now = ms;
}

struct run *hook_rig_next(void)
{
    struct run *run = hooks_next(&hook_rig.hooks, hook_rig.now);

    assert_non_null(run);
    return run;
}

void hook_rig_event_is(const struct run *run, size_t i, enum delta_type type, const char *uid)
{
    assert_true(i < run->event_count);
    assert_int_equal(run->events[i].ev.type, type);
    assert_true(str_is(object_uid(run->events[i].ev.object), uid));
}

struct run *hook_rig_starts(enum delta_type type, const char *uid)
{
    struct run *run = hook_rig_next();

    assert_int_equal(run->event_count, 1);
    hook_rig_event_is(run, 0, type, uid);
    return run;
}

struct run *hook_rig_starts_as(enum delta_type type, const char *uid, enum run_reason reason,
                               unsigned attempt)
{
    struct run *run = hook_rig_starts(type, uid);

    assert_int_equal(run->reason, reason);
    assert_int_equal(run->attempt, attempt);
    return run;
}

struct hooks_verdict hook_rig_end(struct run *run, int status)
{
    static const enum run_program programs[] = {RUN_PROGRAM_COMMAND, RUN_PROGRAM_REMOVE,
                                                RUN_PROGRAM_APPLY, RUN_PROGRAM_FILES};
    const struct run_result result = {
        .end = {.program = programs[run->kind], .value = status},
        .text = status == 0 ? "ok" : "exit",
    };

    return hooks_finish(&hook_rig.hooks, run, &result, hook_rig.now);
}

void hook_rig_end_file(struct run *run, enum run_stage became, uint64_t number)
{
    const struct run_result result = {
        .text = "ok", .end.stage = became, .digest = {number, number}
    };

    assert_non_null(run->file);
    hooks_finish(&hook_rig.hooks, run, &result, hook_rig.now);
}

struct run *hook_rig_applies(enum run_reason reason, unsigned attempt)
{
    struct run *run = hook_rig_next();

    assert_int_equal(run->kind, RUN_APPLY);
    assert_int_equal(run->event_count, 0);
    assert_int_equal(run->reason, reason);
    assert_int_equal(run->attempt, attempt);
    return run;
}

void hook_rig_pass(enum delta_type type, const char *uid)
{
    struct hooks_verdict verdict = hook_rig_end(hook_rig_starts(type, uid), 0);

    assert_int_equal(verdict.outcome, HISTORY_OK);
    assert_int_equal(verdict.retry_ms, NEVER_MS);
}

void hook_rig_fail(enum delta_type type, const char *uid, enum run_reason reason, unsigned attempt)
{
    hook_rig_end(hook_rig_starts_as(type, uid, reason, attempt), 1);
}

const struct manual_run *hook_rig_manual_run(const struct hook *h)
{
    return manual_runs_find(&h->manual_runs, h->manual_runs.last);
}

struct hook *hook_rig_add_handled(const struct hook_rig_hook *p, const char *data)
{
    struct hook *h = hook_rig_add(p);

    hook_rig_sync(0);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", data);
    hook_rig.now += p->work_queue.settle_ms;
    hook_rig_pass(DELTA_ADDED, "u1");
    hook_rig_nothing();
    return h;
}

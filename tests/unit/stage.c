/* SPDX-License-Identifier: Apache-2.0 */
#include "stage.h"

#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"

struct stage stage;

static void ignore(void *arg, struct watch *w, const struct delta *d)
{
    (void)arg, (void)w, (void)d;
}

int stage_set_up(void **state)
{
    static const struct watch_events events = {.on_delta = ignore};
    static const char *const names[STAGE_WATCHES] = {"w0", "w1", "w2"};

    (void)state;
    log_set_level(LOG_LVL_ERROR);
    stage.now = 100000;
    hooks_init(&stage.hooks, 4, 1);
    for (size_t i = 0; i < STAGE_WATCHES; i++)
        stage.watches[i] = objects_watch(names[i], &events, NULL);
    return 0;
}

int stage_clean_up(void **state)
{
    (void)state;
    hooks_fini(&stage.hooks);
    for (size_t i = 0; i < STAGE_WATCHES; i++)
        watch_destroy(&stage.watches[i]);
    return 0;
}

static void fill_rules(struct hook_rules *r, const struct stage_hook *p)
{
    if (p->park_exit > 0) {
        r->park_exit = mem_dup(&p->park_exit, sizeof(p->park_exit));
        r->park_exit_count = 1;
    }
    if (p->after > 0) {
        size_t before = p->after - 1;

        r->after = mem_dup(&before, sizeof(before));
        r->after_count = 1;
    }
}

static void fill_work_queue(struct work_queue_params *work_queue, unsigned concurrency)
{
    if (work_queue->concurrency == 0)
        work_queue->concurrency = concurrency;
    if (work_queue->retry.initial_ms == 0)
        work_queue->retry =
            (struct backoff_params){.initial_ms = STAGE_INITIAL_MS, .max_ms = 8000, .factor = 2};
}

struct hook *stage_add(const struct stage_hook *p)
{
    static const char *const names[] = {"one", "two", "three"};
    struct hook_source sources[STAGE_WATCHES];
    char name[16];
    struct hook_params params = {.name = name,
                                 .index = stage.hooks.n,
                                 .rules = p->rules,
                                 .sources = sources,
                                 .source_count = p->sources > 0 ? p->sources : 1,
                                 .work_queue = p->work_queue,
                                 .output = p->output,
                                 .applies = p->applies,
                                 .apply = p->apply};

    snprintf(name, sizeof(name), "h%zu", stage.hooks.n);
    for (size_t i = 0; i < params.source_count; i++)
        sources[i] = (struct hook_source){.name = names[i], .of.watch = stage.watches[i]};
    fill_work_queue(&params.work_queue, 8);
    fill_work_queue(&params.apply, 1);
    if (params.apply.settle_max_ms == 0) {
        params.apply.settle_ms = 200;
        params.apply.settle_max_ms = 2000;
    }
    fill_rules(&params.rules, p);
    assert_int_equal(filter_init(&params.filter, p->events > 0 ? p->events : STAGE_ALL, &p->path,
                                 p->path != NULL ? 1 : 0, NULL),
                     ERR_OK);
    hooks_add(&stage.hooks, &params);
    return stage.hooks.v[stage.hooks.n - 1];
}

void stage_sync(size_t watch)
{
    objects_sync(stage.watches[watch], "", "1", (struct list_watch_now){stage.now, stage.now});
}

void stage_change(size_t watch, enum delta_type type, const char *key, const char *uid,
                  const char *data)
{
    struct object *o = objects_make(key, uid, "1", data);

    hooks_delta(&stage.hooks, (struct source){.watch = stage.watches[watch]},
                &(struct delta){.type = type, .object = o}, stage.now);
    object_unref(&o);
}

void stage_stale(size_t watch, bool is)
{
    hooks_stale(&stage.hooks, (struct source){.watch = stage.watches[watch]}, is, 77, stage.now);
}

void stage_nothing(void)
{
    assert_null(hooks_next(&stage.hooks, stage.now));
}

void stage_waits_until(uint64_t ms)
{
    stage_nothing();
    assert_int_equal(hooks_wake_ms(&stage.hooks), ms);
    if (ms == NEVER_MS)
        return;
    stage.now = ms - 1;
    stage_nothing();
    stage.now = ms;
}

struct run *stage_next(void)
{
    struct run *run = hooks_next(&stage.hooks, stage.now);

    assert_non_null(run);
    return run;
}

void stage_event_is(const struct run *run, size_t i, enum delta_type type, const char *uid)
{
    assert_true(i < run->event_count);
    assert_int_equal(run->events[i].ev.type, type);
    assert_true(str_is(object_uid(run->events[i].ev.object), uid));
}

struct run *stage_starts(enum delta_type type, const char *uid)
{
    struct run *run = stage_next();

    assert_int_equal(run->event_count, 1);
    stage_event_is(run, 0, type, uid);
    return run;
}

struct hooks_verdict stage_end(struct run *run, int status)
{
    const struct run_result result = {.status = status, .text = status == 0 ? "ok" : "exit"};

    return hooks_finish(&stage.hooks, run, &result, stage.now);
}

void stage_end_file(struct run *run, enum run_file became, uint64_t number)
{
    const struct run_result result = {
        .text = "ok", .file = became, .digest = {number, number}
    };

    assert_non_null(run->file);
    hooks_finish(&stage.hooks, run, &result, stage.now);
}

struct run *stage_applies(enum run_reason reason, unsigned attempt)
{
    struct run *run = stage_next();

    assert_int_equal(run->kind, RUN_APPLY);
    assert_int_equal(run->event_count, 0);
    assert_int_equal(run->reason, reason);
    assert_int_equal(run->attempt, attempt);
    return run;
}

void stage_pass(enum delta_type type, const char *uid)
{
    assert_int_equal(stage_end(stage_starts(type, uid), 0).outcome, HISTORY_OK);
}

void stage_fail(enum delta_type type, const char *uid, enum run_reason reason, unsigned attempt)
{
    struct run *run = stage_starts(type, uid);

    assert_int_equal(run->reason, reason);
    assert_int_equal(run->attempt, attempt);
    stage_end(run, 1);
}

const struct manual_run *stage_order(const struct hook *h)
{
    return manual_runs_find(&h->manual_runs, h->manual_runs.last);
}

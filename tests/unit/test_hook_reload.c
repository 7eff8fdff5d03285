/* SPDX-License-Identifier: Apache-2.0 */
#include "hook_rig.h"

#include <errno.h>

#include "base/mem.h"
#include "hook/delivery_log.h"
#include "hook/hook_record.h"
#include "hook/reload.h"
#include "hook/why.h"

enum { OBJECTS = 0xf, TAKES_OUTAGES = 0x3f };

static struct now now(void)
{
    return (struct now){.ms = hook_rig.now, .wall_ns = hook_rig.now * 1000000};
}

/* Changes one hook in place; the rest of its settings stay. */
static void change(struct hook *h, struct work_queue_params work_queue)
{
    struct hook_params p = {.rules = {.require = h->rules.require}, .work_queue = work_queue};

    p.work_queue.retry =
        work_queue.retry.initial_ms > 0 ? work_queue.retry : h->work_queue.params.retry;
    p.work_queue.concurrency = work_queue.concurrency > 0 ? work_queue.concurrency : 8;
    hook_change(h, &p, hook_rig.now);
    hook_rules_fini(&p.rules);
}

/* The parameters of a hook of the first watch, or of two. */
static struct hook_params params_of(const char *name, const struct hook_source *sources, size_t n)
{
    struct hook_params p = {
        .name = name,
        .sources = sources,
        .source_count = n,
        .work_queue = {.concurrency = 8, .retry = {HOOK_RIG_INITIAL_MS, 8000, 2, 0}},
    };

    assert_int_equal(filter_init(&p.filter, HOOK_RIG_ALL, NULL, 0, NULL), ERR_OK);
    return p;
}

static void put_nothing(void *arg, size_t source, const struct delivery_record *m)
{
    (void)arg;
    (void)source;
    (void)m;
}

static void drop_nothing(void *arg, size_t source, struct str key, struct str uid)
{
    (void)arg;
    (void)source;
    (void)key;
    (void)uid;
}

static void see_nothing(void *arg, size_t source)
{
    (void)arg;
    (void)source;
}

/* Replaces a retired hook by one with these sources, as persist and app do. */
static struct hook *replace(struct hook *old, const struct hook_source *sources, size_t n)
{
    static const struct delivery_log_sink sink = {put_nothing, drop_nothing, see_nothing};
    struct hook_params p = params_of("h0", sources, n);

    assert_true(hook_is_retired(old));
    delivery_log_put(&old->queue, &sink, NULL);
    return hooks_replace(&hook_rig.hooks, old, &p, now());
}

static struct hook_source first_source(void)
{
    return (struct hook_source){.name = "one", .of.watch = hook_rig.watches[0]};
}

/* ---- In place. */

static void test_a_shorter_settle_time_ends_the_wait_under_way(void **state)
{
    const struct hook_rig_hook slow = {
        .work_queue = {.settle_ms = 60000, .settle_max_ms = 60000}
    };
    (void)state;
    struct hook *h = hook_rig_add_handled(&slow, "\"a\":1");

    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    hook_rig_nothing();
    hook_rig.now += 100;
    change(h, (struct work_queue_params){.settle_ms = 500, .settle_max_ms = 1000});
    hook_rig_waits_until(hook_rig.now + 400);
    hook_rig_pass(DELTA_MODIFIED, "u1");
}

static void test_a_shorter_pause_counts_for_the_key_that_waits(void **state)
{
    (void)state;
    struct hook *h =
        hook_rig_add(&(struct hook_rig_hook){.work_queue = {.retry = {64000, 64000, 2, 0}}});

    hook_rig_sync(0);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_fail(DELTA_ADDED, "u1", RUN_EXISTING, 1);
    hook_rig_nothing();
    change(h, (struct work_queue_params){
                  .retry = {1000, 8000, 2, 0}
    });
    hook_rig_waits_until(hook_rig.now + 1000);
    hook_rig_fail(DELTA_ADDED, "u1", RUN_RETRY, 2);
    hook_rig_waits_until(hook_rig.now + 2000); /* the series goes on by the new settings */
}

static void test_a_longer_pause_counts_from_the_next_failure(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){0});

    hook_rig_sync(0);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_fail(DELTA_ADDED, "u1", RUN_EXISTING, 1);
    hook_rig_nothing();
    change(h, (struct work_queue_params){
                  .retry = {50000, 50000, 2, 0}
    });
    hook_rig_waits_until(hook_rig.now + HOOK_RIG_INITIAL_MS);
    hook_rig_fail(DELTA_ADDED, "u1", RUN_RETRY, 2);
    hook_rig_waits_until(hook_rig.now + 50000);
}

static void test_a_lower_concurrency_lets_runs_end(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){0});

    hook_rig_sync(0);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
    hook_rig_change(0, DELTA_ADDED, "ns/c", "u3", NULL);
    struct run *first = hook_rig_starts(DELTA_ADDED, "u1");
    struct run *second = hook_rig_starts(DELTA_ADDED, "u2");
    change(h, (struct work_queue_params){.concurrency = 1});
    hook_rig_nothing();
    hook_rig_end(first, 0);
    hook_rig_nothing();
    hook_rig_end(second, 0);
    hook_rig_pass(DELTA_ADDED, "u3");
}

static void test_reruns_come_and_go_and_move(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add_handled(&(struct hook_rig_hook){0}, NULL);
    uint64_t since = hook_rig.now;

    assert_int_equal(hooks_wake_ms(&hook_rig.hooks), NEVER_MS);
    change(h, (struct work_queue_params){.rerun_ms = 60000});
    assert_int_equal(hooks_wake_ms(&hook_rig.hooks), since + 60000);
    hook_rig.now += 1000;
    change(h, (struct work_queue_params){.rerun_ms = 20000});
    assert_int_equal(hooks_wake_ms(&hook_rig.hooks), since + 20000);
    change(h, (struct work_queue_params){0});
    hook_rig_waits_until(NEVER_MS);
}

/* Found by the simulator: the key was ready for its rerun, which the reload had turned off. */
static void test_a_rerun_that_waits_for_a_slot_goes_with_the_setting(void **state)
{
    const struct hook_rig_hook often = {
        .work_queue = {.rerun_ms = 5000, .concurrency = 1}
    };
    (void)state;
    struct hook *h = hook_rig_add_handled(&often, NULL);

    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
    struct run *run = hook_rig_starts(DELTA_ADDED, "u2");
    hook_rig.now += 6000;
    hook_rig_nothing();
    change(h, (struct work_queue_params){.concurrency = 1});
    hook_rig_end(run, 0);
    hook_rig_waits_until(NEVER_MS);
}

static const struct run_result shortage = {
    .end = {.kind = RUN_END_REFUSED, .stage = RUN_STAGE_FORK, .value = EAGAIN},
      .text = "fork"
};

/* Found by the simulator. */
static void test_a_rerun_that_could_not_be_started_goes_with_the_setting(void **state)
{
    (void)state;
    struct hook *h =
        hook_rig_add_handled(&(struct hook_rig_hook){.work_queue = {.rerun_ms = 5000}}, NULL);

    hook_rig.now += 5000;
    struct run *run = hook_rig_starts_as(DELTA_MODIFIED, "u1", RUN_RERUN, 1);
    hooks_finish(&hook_rig.hooks, run, &shortage, hook_rig.now);
    assert_int_equal(hook_not_started(h), 1);
    change(h, (struct work_queue_params){0});
    hook_rig_waits_until(NEVER_MS);
    assert_int_equal(hook_not_started(h), 0);
}

/* Found by the simulator: the setting went while the rerun was being started. */
static void test_a_rerun_that_cannot_be_started_is_over_if_the_setting_is_gone(void **state)
{
    (void)state;
    struct hook *h =
        hook_rig_add_handled(&(struct hook_rig_hook){.work_queue = {.rerun_ms = 5000}}, NULL);

    hook_rig.now += 5000;
    struct run *run = hook_rig_starts_as(DELTA_MODIFIED, "u1", RUN_RERUN, 1);
    change(h, (struct work_queue_params){0});
    hooks_finish(&hook_rig.hooks, run, &shortage, hook_rig.now);
    hook_rig_waits_until(NEVER_MS);
    assert_int_equal(hook_not_started(h), 0);
}

static void test_min_interval_counts_from_the_same_start(void **state)
{
    const struct hook_rig_hook seldom = {.work_queue = {.min_interval_ms = 90000}};
    (void)state;
    struct hook *h = hook_rig_add_handled(&seldom, "\"a\":1");
    uint64_t started = hook_rig.now;

    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    hook_rig.now += 100;
    change(h, (struct work_queue_params){.min_interval_ms = 3000});
    hook_rig_waits_until(started + 3000);
    hook_rig_pass(DELTA_MODIFIED, "u1");
}

static void test_settings_of_order_and_staleness_count_at_once(void **state)
{
    struct hook_params p = {
        .index = 7,
        .rules = {.when_stale = HOOK_STALE_WAIT              },
        .work_queue = { .concurrency = 8, .retry = {HOOK_RIG_INITIAL_MS, 8000, 2, 0}},
    };
    (void)state;
    struct hook *h = hook_rig_add_handled(&(struct hook_rig_hook){.events = OBJECTS}, "\"a\":1");

    hook_rig_stale(0, true);
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    hook_change(h, &p, hook_rig.now);
    hook_rules_fini(&p.rules);
    hook_rig_nothing();
    assert_int_equal(h->index, 7);
    hook_rig_stale(0, false);
    hook_rig_pass(DELTA_MODIFIED, "u1");
}

/* ---- Hooks leave. */

static void test_a_hook_that_retires_ends_its_runs_and_starts_none(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){0});
    struct err err;

    hook_rig_sync(0);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
    struct run *run = hook_rig_starts(DELTA_ADDED, "u1");
    hook_retire(h);
    assert_false(hook_is_retired(h));
    hook_rig_nothing();
    assert_int_equal(hook_run_manually(h, str_c("ns/b"), &err), ERR_BUSY);
    hook_rig_end(run, 0);
    assert_true(hook_is_retired(h));
    hook_rig_nothing();
    assert_true(hooks_quiet(&hook_rig.hooks));
    assert_true(hooks_ready(&hook_rig.hooks));
}

static void test_a_hook_behind_one_that_is_dropped_does_not_wait(void **state)
{
    (void)state;
    struct hook *first = hook_rig_add(&(struct hook_rig_hook){0});
    struct hook *second = hook_rig_add(&(struct hook_rig_hook){.after = 1});

    hook_rig_sync(0);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_pause(first, true);
    hook_rig_nothing();
    hook_retire(first);
    hooks_remove(&hook_rig.hooks, &first);
    assert_null(first);
    assert_int_equal(hook_rig.hooks.n, 1);
    struct run *run = hook_rig_starts(DELTA_ADDED, "u1");
    assert_ptr_equal(run->hook, second);
    hook_rig_end(run, 0);
}

/* ---- Hooks are replaced. */

static void test_what_was_handled_is_not_delivered_to_the_new_hook(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){0});
    const struct hook_source one = first_source();

    hook_rig_sync(0);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", "\"a\":1");
    hook_rig_pass(DELTA_ADDED, "u1");
    hook_rig_pass(DELTA_ADDED, "u2");
    hook_pause(h, true);
    hook_retire(h);
    hook_rig_change(0, DELTA_LEFT, "ns/b", "u2", "\"a\":1"); /* this change is not lost */
    h = replace(h, &one, 1);
    assert_true(h->paused);
    hook_pause(h, false);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_pass(DELTA_LEFT, "u2");
    hook_rig_nothing();
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    hook_rig_pass(DELTA_MODIFIED, "u1");
}

static void test_a_renewed_hook_gets_all_objects(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add_handled(&(struct hook_rig_hook){0}, NULL);
    const struct hook_source one = first_source();

    hook_retire(h);
    h = replace(h, &one, 1);
    hook_record_renew(h);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_end(hook_rig_starts_as(DELTA_ADDED, "u1", RUN_RENEW, 1), 0);
    hook_rig_nothing();
}

static void test_figures_and_history_go_to_the_new_hook(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add_handled(&(struct hook_rig_hook){0}, NULL);
    const struct hook_source one = first_source();

    h->manual_runs.last = 7;
    hook_retire(h);
    h = replace(h, &one, 1);
    assert_int_equal(h->figures.runs_ok, 1);
    assert_int_equal(h->figures.durations.total, 1);
    assert_int_equal(h->history.n, 1);
    assert_int_equal(h->manual_runs.last, 7);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    const struct delivery *dl = delivery_queue_find(&h->queue, 0, str_c("ns/a"));
    struct why w = why_delivery(&hook_rig.hooks, h, dl, hook_rig.now);
    assert_ptr_equal(w.last_run, history_get(&h->history, 0));
    assert_true(w.before_reload);
}

static void test_records_follow_the_names_of_sources(void **state)
{
    const struct hook_source two[] = {
        {.name = "other", .of.watch = hook_rig.watches[1]},
        {.name = "one",   .of.watch = hook_rig.watches[0]},
    };
    (void)state;
    struct hook *h = hook_rig_add_handled(&(struct hook_rig_hook){0}, NULL);

    hook_retire(h);
    h = replace(h, two, 2);
    assert_false(h->queue.sources[0].is_seen);
    assert_true(h->queue.sources[1].is_seen);
    hook_rig_sync(1);
    hook_rig_pass(DELTA_DELETED, "u1"); /* the watch of this rig is empty */
}

static void test_a_failed_snapshot_is_owed_by_the_new_hook(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){.rules = {.mode = HOOK_SNAPSHOT}});
    const struct hook_source one = first_source();
    struct hook_params p = params_of("h0", &one, 1);

    p.rules.mode = HOOK_SNAPSHOT;
    hook_rig_sync(0);
    struct run *run = hook_rig_next();
    hook_retire(h);
    hook_rig_end(run, 1);
    h = hooks_replace(&hook_rig.hooks, h, &p, now());
    run = hook_rig_next();
    assert_int_equal(run->event_count, 0);
    assert_ptr_equal(run->hook, h);
    assert_int_equal(h->figures.runs_failed, 1);
    assert_false(hook_first_ended(h)); /* the run that failed was one of the old hook */
    hook_rig_end(run, 0);
    assert_true(hook_first_ended(h));
    hook_rig_nothing();
}

/* ---- Hooks come. */

static void list(const char *key, const char *uid)
{
    struct buf items = {0};

    objects_put_item(&items, key, uid, "1", NULL);
    objects_sync(hook_rig.watches[0], buf_cstr(&items), "1", now());
    buf_free(&items);
}

static void test_a_hook_that_comes_gets_what_is_there(void **state)
{
    const struct hook_source one = first_source();
    (void)state;
    list("ns/a", "u1");
    struct hook_params p = params_of("new", &one, 1);
    struct hook *h = hooks_add(&hook_rig.hooks, &p);

    hook_attach(h, now());
    hook_rig_pass(DELTA_ADDED, "u1");
    hook_rig_nothing();
    assert_false(h->sources[0].stale);
}

static void test_a_hook_that_comes_hears_that_its_source_is_stale(void **state)
{
    const struct hook_source one = first_source();
    struct watch *w = hook_rig.watches[0];
    (void)state;

    watch_resume(w, 0, &(struct resume_point){.kind = RESUME_WHOLE, .rv = "1"});
    assert_true(watch_begin_stale(w, now(), 0));
    struct hook_params p = params_of("new", &one, 1);
    struct hook *h = hooks_add(&hook_rig.hooks, &p);
    hook_attach(h, now());
    assert_true(h->sources[0].stale);
    struct run *run = hook_rig_next();
    assert_int_equal(run->events[0].ev.type, DELTA_STALE);
    hook_rig_end(run, 0);
    hook_rig_nothing();
}

static void test_loaded_objects_are_not_shown_twice(void **state)
{
    const struct hook_source one = first_source();
    struct watch *w = hook_rig.watches[0];
    struct object *o = objects_make("ns/a", "u1", "1", NULL);
    (void)state;

    watch_subscribe(w, &hooks_subscriber, &hook_rig.hooks);
    watch_load(w, o);
    object_unref(&o);
    struct hook_params p = params_of("new", &one, 1);
    struct hook *h = hooks_add(&hook_rig.hooks, &p);
    hook_attach(h, now());
    assert_null(delivery_queue_find(&h->queue, 0, str_c("ns/a")));
    watch_restore(w, now());
    assert_non_null(delivery_queue_find(&h->queue, 0, str_c("ns/a")));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, hook_rig_set_up, hook_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_a_shorter_settle_time_ends_the_wait_under_way),
        TEST(test_a_shorter_pause_counts_for_the_key_that_waits),
        TEST(test_a_longer_pause_counts_from_the_next_failure),
        TEST(test_a_lower_concurrency_lets_runs_end),
        TEST(test_reruns_come_and_go_and_move),
        TEST(test_a_rerun_that_waits_for_a_slot_goes_with_the_setting),
        TEST(test_a_rerun_that_could_not_be_started_goes_with_the_setting),
        TEST(test_a_rerun_that_cannot_be_started_is_over_if_the_setting_is_gone),
        TEST(test_min_interval_counts_from_the_same_start),
        TEST(test_settings_of_order_and_staleness_count_at_once),
        TEST(test_a_hook_that_retires_ends_its_runs_and_starts_none),
        TEST(test_a_hook_behind_one_that_is_dropped_does_not_wait),
        TEST(test_what_was_handled_is_not_delivered_to_the_new_hook),
        TEST(test_a_renewed_hook_gets_all_objects),
        TEST(test_figures_and_history_go_to_the_new_hook),
        TEST(test_records_follow_the_names_of_sources),
        TEST(test_a_failed_snapshot_is_owed_by_the_new_hook),
        TEST(test_a_hook_that_comes_gets_what_is_there),
        TEST(test_a_hook_that_comes_hears_that_its_source_is_stale),
        TEST(test_loaded_objects_are_not_shown_twice),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}

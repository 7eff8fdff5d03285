/* SPDX-License-Identifier: Apache-2.0 */
#include "stage.h"

#include "hook/gate.h"

/* When a hook may see its sources and run at all: require, after, when_stale, pause, first runs. */

static const unsigned objects = 1U << DELTA_ADDED | 1U << DELTA_MODIFIED | 1U << DELTA_DELETED;

static struct run *starts_for(enum delta_type type, const char *uid, enum run_reason reason)
{
    struct run *run = stage_starts(type, uid);

    assert_int_equal(run->reason, reason);
    return run;
}

static void test_require_all_waits_for_every_source(void **state)
{
    (void)state;
    struct hook *h = stage_add(&(struct stage_hook){.sources = 2});
    stage_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    stage_sync(0);
    stage_waits_until(NEVER_MS);
    assert_string_equal(gate_unsynced(h)->name, "two");
    assert_int_equal(h->gate, GATE_CLOSED);
    stage_sync(1);
    stage_pass(DELTA_ADDED, "u1");
    assert_null(gate_unsynced(h));
    assert_int_equal(h->gate, GATE_OPEN);
}

static void test_require_any_starts_with_one_and_opens_the_others_as_they_sync(void **state)
{
    (void)state;
    struct hook *h =
        stage_add(&(struct stage_hook){.sources = 2, .rules = {.require = HOOK_REQUIRE_ANY}});
    stage_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    stage_change(1, DELTA_ADDED, "ns/b", "u2", NULL);
    stage_waits_until(NEVER_MS);
    stage_sync(1);
    stage_pass(DELTA_ADDED, "u2");
    stage_nothing(); /* keys of the other one are not due */
    assert_int_equal(hook_pending(h), 0);
    stage_change(0, DELTA_ADDED, "ns/c", "u3", NULL);
    stage_change(0, DELTA_DELETED, "ns/c", "u3", NULL);
    stage_nothing();
    stage_sync(0);
    stage_end(starts_for(DELTA_ADDED, "u1", RUN_EXISTING), 0);
    stage_waits_until(NEVER_MS);
}

static void test_a_source_that_opens_late_skips_what_exists_when_asked(void **state)
{
    (void)state;
    stage_add(&(struct stage_hook){
        .sources = 2, .rules = {.require = HOOK_REQUIRE_ANY, .existing = HOOK_EXISTING_SKIP}
    });
    stage_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    stage_change(1, DELTA_ADDED, "ns/b", "u2", NULL);
    stage_sync(0);
    stage_nothing();
    stage_sync(1);
    stage_nothing();
    stage_change(1, DELTA_DELETED, "ns/b", "u2", NULL);
    stage_pass(DELTA_DELETED, "u2"); /* it counts as announced */
}

static void test_a_snapshot_runs_again_when_another_source_opens(void **state)
{
    (void)state;
    stage_add(&(struct stage_hook){
        .sources = 2, .rules = {.mode = HOOK_SNAPSHOT, .require = HOOK_REQUIRE_ANY}
    });
    stage_sync(0);
    stage_end(stage_next(), 0);
    stage_nothing();
    stage_sync(1); /* it is empty, and that is news */
    struct run *run = stage_next();
    assert_int_equal(run->event_count, 0);
    assert_int_equal(run->reason, RUN_CHANGE);
    stage_end(run, 0);
    stage_waits_until(NEVER_MS);
}

static void open_while_running(enum hook_mode mode)
{
    stage_add(&(struct stage_hook){
        .sources = 2,
        .rules = {.mode = mode,                    .require = HOOK_REQUIRE_ANY, .existing = HOOK_EXISTING_SKIP},
        .work_queue = {.rerun_ms = 60000}
    });
    stage_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    stage_sync(0);
    stage_nothing();
    stage.now += 60000;
    struct run *run = stage_next(); /* a rerun: nothing is due while it is under way */
    assert_int_equal(run->reason, RUN_RERUN);
    stage_change(1, DELTA_ADDED, "ns/b", "u2", NULL);
    stage_sync(1);
    stage_nothing();
    stage.now += 10;
    stage_end(run, 0);
    stage_waits_until(stage.now - 10 + 60000);
    stage_end(stage_next(), 0);
}

static void test_a_source_may_open_while_a_rerun_is_under_way(void **state)
{
    open_while_running(HOOK_BATCH);
    stage_clean_up(state);
    stage_set_up(state);
    open_while_running(HOOK_SNAPSHOT);
}

/* It would be told something else than what it failed with. */
static void test_a_source_that_opens_while_a_run_fails_is_a_change(void **state)
{
    static const enum hook_mode modes[] = {HOOK_BATCH, HOOK_SNAPSHOT};

    for (size_t i = 0; i < 2; i++) {
        struct hook *h = stage_add(&(struct stage_hook){
            .sources = 2,
            .park_exit = 75,
            .rules = {.mode = modes[i], .require = HOOK_REQUIRE_ANY}
        });
        stage_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
        stage_change(1, DELTA_ADDED, "ns/b", "u2", NULL);
        stage_sync(0);
        struct run *run = stage_next();
        stage_sync(1);
        stage_nothing();
        assert_int_equal(stage_end(run, 75).retry_ms, STAGE_INITIAL_MS);
        assert_int_equal(hook_parked(h), 0);
        stage.now += STAGE_INITIAL_MS;
        run = stage_next();
        assert_int_equal(run->event_count, 2);
        stage_end(run, 75);
        stage_waits_until(NEVER_MS);
        assert_int_equal(hook_parked(h), 1);
        stage_clean_up(state);
        stage_set_up(state);
    }
}

static void test_another_source_does_not_put_off_the_rerun(void **state)
{
    (void)state;
    stage_add(&(struct stage_hook){
        .sources = 2,
        .rules = {.mode = HOOK_BATCH, .require = HOOK_REQUIRE_ANY},
        .work_queue = {.rerun_ms = 60000                 }
    });
    stage_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    stage_sync(0);
    stage_pass(DELTA_ADDED, "u1");
    uint64_t due = stage.now + 60000;
    stage.now += 20000;
    stage_sync(1);
    stage_waits_until(due);
    stage_pass(DELTA_MODIFIED, "u1");
}

static void test_after_waits_for_the_first_runs_to_end_well_or_not(void **state)
{
    static const enum hook_mode modes[] = {HOOK_OBJECT, HOOK_BATCH, HOOK_SNAPSHOT};

    for (size_t i = 0; i < 3; i++) {
        struct hook *second = stage_add(&(struct stage_hook){.after = 2});
        struct hook *first = stage_add(&(struct stage_hook){.rules = {.mode = modes[i]}});
        stage_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
        stage_sync(0);
        struct run *run = stage_starts(DELTA_ADDED, "u1");
        assert_ptr_equal(run->hook, first);
        stage_nothing();
        assert_ptr_equal(gate_before(&stage.hooks, second), first);
        assert_int_equal(second->gate, GATE_CLOSED);
        stage_end(run, 1);
        assert_null(gate_before(&stage.hooks, second));
        run = starts_for(DELTA_ADDED, "u1", RUN_EXISTING);
        assert_ptr_equal(run->hook, second);
        stage_end(run, 0);
        stage.now += STAGE_INITIAL_MS;
        stage_pass(DELTA_ADDED, "u1");
        stage_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":1");
        assert_ptr_not_equal(stage_next()->hook, stage_next()->hook); /* no order from now on */
        stage_clean_up(state);
        stage_set_up(state);
    }
}

static void test_a_chain_of_hooks_without_anything_to_run_opens_at_once(void **state)
{
    (void)state;
    struct hook *last = stage_add(&(struct stage_hook){.after = 2});
    stage_add(&(struct stage_hook){.after = 3, .rules = {.mode = HOOK_BATCH}});
    stage_add(&(struct stage_hook){
        .rules = {.mode = HOOK_SNAPSHOT, .existing = HOOK_EXISTING_SKIP}
    });
    stage_nothing();
    assert_false(hooks_ready(&stage.hooks));
    stage_sync(0);
    stage_nothing();
    assert_int_equal(last->gate, GATE_OPEN);
    assert_true(hooks_ready(&stage.hooks));
    assert_true(hooks_quiet(&stage.hooks));
}

static void test_when_stale_wait_starts_nothing_while_too_few_are_fresh(void **state)
{
    (void)state;
    struct hook *h = stage_add(&(struct stage_hook){
        .sources = 2, .events = objects, .rules = {.when_stale = HOOK_STALE_WAIT}});
    stage_add(&(struct stage_hook){.sources = 2, .events = objects});
    stage_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    stage_sync(0);
    stage_sync(1);
    stage_stale(1, true);
    struct run *run = stage_starts(DELTA_ADDED, "u1");
    assert_ptr_not_equal(run->hook, h); /* when_stale = "run" */
    stage_end(run, 0);
    stage_waits_until(NEVER_MS);
    assert_int_equal(h->gate, GATE_CLOSED);
    assert_string_equal(gate_stale(h)->name, "two");
    stage_stale(1, false);
    run = starts_for(DELTA_ADDED, "u1", RUN_EXISTING);
    assert_ptr_equal(run->hook, h);
    stage_stale(0, true); /* a run under way goes on */
    stage_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":1");
    stage_pass(DELTA_MODIFIED, "u1"); /* of the other hook */
    stage_end(run, 0);
    stage_waits_until(NEVER_MS);
    assert_string_equal(gate_stale(h)->name, "one");
    stage_stale(0, false);
    assert_null(gate_stale(h));
    stage_pass(DELTA_MODIFIED, "u1");
}

static void test_when_stale_wait_and_require_any_need_one_fresh_source(void **state)
{
    (void)state;
    struct hook *h = stage_add(&(struct stage_hook){
        .sources = 2,
        .events = objects,
        .rules = {.when_stale = HOOK_STALE_WAIT, .require = HOOK_REQUIRE_ANY}
    });
    stage_sync(0);
    stage_stale(0, true);
    stage_nothing();
    assert_int_equal(h->gate, GATE_CLOSED);
    stage_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    stage_sync(1);
    stage_pass(DELTA_ADDED, "u1"); /* one is fresh, and that is enough for both */
    stage_stale(1, true);
    stage_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":1");
    stage_waits_until(NEVER_MS);
    stage_stale(1, false);
    stage_pass(DELTA_MODIFIED, "u1");
}

static void test_a_source_that_syncs_late_may_end_the_wait(void **state)
{
    (void)state;
    stage_add(&(struct stage_hook){
        .sources = 2,
        .events = objects,
        .rules = {.when_stale = HOOK_STALE_WAIT, .require = HOOK_REQUIRE_ANY}
    });
    stage_sync(0);
    stage_nothing();
    stage_stale(0, true);
    stage_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    stage_waits_until(NEVER_MS);
    stage_sync(1);
    stage_pass(DELTA_ADDED, "u1");
}

static void test_a_paused_hook_starts_nothing_and_forgets_nothing(void **state)
{
    (void)state;
    struct hook *h = stage_add(&(struct stage_hook){
        .work_queue = {.settle_ms = 100, .settle_max_ms = 100}
    });
    hook_pause(h, true);
    stage_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    stage.now += 100;
    stage_sync(0);
    stage_waits_until(NEVER_MS);
    hook_pause(h, false);
    struct run *run = stage_starts(DELTA_ADDED, "u1");
    hook_pause(h, true); /* it goes on */
    stage_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":1");
    stage_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
    stage.now += 500;
    stage_end(run, 1);
    stage_waits_until(stage.now + STAGE_INITIAL_MS);
    stage_waits_until(NEVER_MS);
    assert_true(hooks_quiet(&stage.hooks)); /* nobody waits for it */
    hook_pause(h, false);
    assert_false(hooks_quiet(&stage.hooks));
    assert_int_equal(hooks_wake_ms(&stage.hooks), h->work_queue.earliest_ms);
    stage_pass(DELTA_ADDED, "u2");
    stage_pass(DELTA_ADDED, "u1");
}

static void test_nobody_waits_for_who_comes_after_a_paused_hook(void **state)
{
    (void)state;
    struct hook *first = stage_add(&(struct stage_hook){.events = objects});
    struct hook *second = stage_add(&(struct stage_hook){.events = objects, .after = 1});

    hook_pause(first, true);
    assert_true(hook_waits_for_people(&stage.hooks, second));
    assert_true(hooks_ready(&stage.hooks));
    hook_pause(first, false);
    assert_false(hook_waits_for_people(&stage.hooks, second));
    assert_false(hooks_ready(&stage.hooks));
    stage_sync(0);
    stage_nothing();
    hook_pause(first, true); /* it has begun: nobody comes after it any more */
    assert_false(hook_waits_for_people(&stage.hooks, second));
}

static void test_pause_and_staleness_are_two_reasons_to_wait(void **state)
{
    (void)state;
    struct hook *h = stage_add(
        &(struct stage_hook){.events = objects, .rules = {.when_stale = HOOK_STALE_WAIT}});
    stage_sync(0);
    stage_nothing();
    stage_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    stage_stale(0, true);
    hook_pause(h, true);
    stage_stale(0, false);
    stage_nothing();
    stage_stale(0, true);
    hook_pause(h, false);
    stage_nothing();
    stage_stale(0, false);
    stage_pass(DELTA_ADDED, "u1");
}

static void add_change_at_100000(enum hook_mode mode, enum delta_cause cause)
{
    struct object *o = objects_make("ns/a", "u1", "1", NULL);

    stage_add(&(struct stage_hook){
        .rules = {.mode = mode  },
        .work_queue = { .settle_ms = 200, .settle_max_ms = 2000, .splay_ms = 1}
    });
    hooks_delta(&stage.hooks, (struct source){.watch = stage.watches[0]},
                &(struct delta){.type = DELTA_ADDED, .cause = cause, .object = o}, stage.now);
    object_unref(&o);
}

static void test_first_runs_settle_only_if_events_came_lately(void **state)
{
    static const enum hook_mode modes[] = {HOOK_OBJECT, HOOK_BATCH, HOOK_SNAPSHOT};

    for (size_t i = 0; i < 6; i++) {
        bool listed = i >= 3;

        add_change_at_100000(modes[i % 3], listed ? CAUSE_RELIST : CAUSE_WATCH);
        stage.now += listed ? 0 : 200;
        stage_sync(0);
        stage_pass(DELTA_ADDED, "u1");
        stage_clean_up(state);
        stage_set_up(state);
        add_change_at_100000(modes[i % 3], CAUSE_WATCH);
        stage.now += 199;
        stage_sync(0);
        stage_nothing();
        stage.now += 201;
        stage_pass(DELTA_ADDED, "u1");
        stage_clean_up(state);
        stage_set_up(state);
    }
}

/* A batch is never told that there is nothing; a snapshot is, unless it skips what exists. */
static void test_without_objects_only_a_snapshot_has_a_first_run(void **state)
{
    (void)state;
    stage_add(&(struct stage_hook){.rules = {.mode = HOOK_OBJECT}});
    stage_add(&(struct stage_hook){.rules = {.mode = HOOK_BATCH}});
    stage_add(&(struct stage_hook){
        .rules = {.mode = HOOK_SNAPSHOT, .existing = HOOK_EXISTING_SKIP}
    });
    struct hook *snapshot = stage_add(&(struct stage_hook){.rules = {.mode = HOOK_SNAPSHOT}});
    stage_sync(0);
    struct run *run = stage_next();
    assert_ptr_equal(run->hook, snapshot);
    assert_int_equal(run->reason, RUN_EXISTING);
    stage_nothing();
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(stage.hooks.v[i]->gate, GATE_OPEN);
    assert_false(hooks_ready(&stage.hooks));
    stage_end(run, 0);
    assert_true(hooks_ready(&stage.hooks));
    assert_true(hooks_quiet(&stage.hooks));
}

static void test_existing_objects_are_skipped_in_every_mode(void **state)
{
    static const enum hook_mode modes[] = {HOOK_OBJECT, HOOK_BATCH, HOOK_SNAPSHOT};

    (void)state;
    for (size_t i = 0; i < 3; i++)
        stage_add(&(struct stage_hook){
            .rules = {.mode = modes[i], .existing = HOOK_EXISTING_SKIP}
        });
    stage_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    stage_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
    stage_sync(0);
    stage_waits_until(NEVER_MS);
    assert_true(hooks_ready(&stage.hooks));
    stage_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    for (size_t i = 0; i < 3; i++) { /* handled: what differs is known */
        struct run *run = starts_for(DELTA_MODIFIED, "u1", RUN_CHANGE);
        assert_string_equal(buf_cstr(&run->events[0].changed), "data.a\n");
        stage_end(run, 0);
    }
    stage_change(0, DELTA_DELETED, "ns/b", "u2", NULL);
    for (size_t i = 0; i < 3; i++)
        stage_pass(DELTA_DELETED, "u2");
    stage_waits_until(NEVER_MS);
}

static void test_a_batch_whose_objects_vanish_before_its_first_run_is_ready(void **state)
{
    (void)state;
    add_change_at_100000(HOOK_BATCH, CAUSE_WATCH);
    const struct hook *h = stage.hooks.v[0];
    stage_sync(0);
    stage_nothing(); /* it settles */
    assert_int_equal(h->gate, GATE_FIRST);
    stage_change(0, DELTA_DELETED, "ns/a", "u1", NULL);
    stage_waits_until(NEVER_MS);
    assert_int_equal(h->gate, GATE_OPEN);
}

/* The order would have been its first run. */
static void test_a_batch_whose_order_becomes_void_is_ready(void **state)
{
    struct err err = {0};

    (void)state;
    add_change_at_100000(HOOK_BATCH, CAUSE_WATCH);
    struct hook *h = stage.hooks.v[0];
    stage_add(&(struct stage_hook){.after = 1}); /* and whoever waits for it goes on */
    stage_sync(0);
    stage_nothing();
    assert_int_equal(hook_run_manually(h, (struct str){0}, &err), ERR_OK);
    stage_change(0, DELTA_DELETED, "ns/a", "u1", NULL);
    assert_false(hooks_ready(&stage.hooks));
    stage_waits_until(NEVER_MS);
    assert_true(hooks_ready(&stage.hooks));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, stage_set_up, stage_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_require_all_waits_for_every_source),
        TEST(test_require_any_starts_with_one_and_opens_the_others_as_they_sync),
        TEST(test_a_source_that_opens_late_skips_what_exists_when_asked),
        TEST(test_a_snapshot_runs_again_when_another_source_opens),
        TEST(test_a_source_may_open_while_a_rerun_is_under_way),
        TEST(test_a_source_that_opens_while_a_run_fails_is_a_change),
        TEST(test_another_source_does_not_put_off_the_rerun),
        TEST(test_after_waits_for_the_first_runs_to_end_well_or_not),
        TEST(test_a_chain_of_hooks_without_anything_to_run_opens_at_once),
        TEST(test_when_stale_wait_starts_nothing_while_too_few_are_fresh),
        TEST(test_when_stale_wait_and_require_any_need_one_fresh_source),
        TEST(test_a_source_that_syncs_late_may_end_the_wait),
        TEST(test_a_paused_hook_starts_nothing_and_forgets_nothing),
        TEST(test_nobody_waits_for_who_comes_after_a_paused_hook),
        TEST(test_pause_and_staleness_are_two_reasons_to_wait),
        TEST(test_first_runs_settle_only_if_events_came_lately),
        TEST(test_without_objects_only_a_snapshot_has_a_first_run),
        TEST(test_existing_objects_are_skipped_in_every_mode),
        TEST(test_a_batch_whose_objects_vanish_before_its_first_run_is_ready),
        TEST(test_a_batch_whose_order_becomes_void_is_ready),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}

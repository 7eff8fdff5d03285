/* SPDX-License-Identifier: Apache-2.0 */
#include "hook_rig.h"

#include "hook/gate.h"

/* When a hook may see its sources and run at all: require, after, when_stale, pause, first runs. */

static const unsigned objects = 1U << DELTA_ADDED | 1U << DELTA_MODIFIED | 1U << DELTA_DELETED;

static struct run *starts_for(enum delta_type type, const char *uid, enum run_reason reason)
{
    struct run *run = hook_rig_starts(type, uid);

    assert_int_equal(run->reason, reason);
    return run;
}

static void test_require_all_waits_for_every_source(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){.sources = 2});
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_sync(0);
    hook_rig_waits_until(NEVER_MS);
    assert_string_equal(gate_unsynced(h)->name, "two");
    assert_int_equal(h->gate, GATE_CLOSED);
    hook_rig_sync(1);
    hook_rig_pass(DELTA_ADDED, "u1");
    assert_null(gate_unsynced(h));
    assert_int_equal(h->gate, GATE_OPEN);
}

static void test_require_any_starts_with_one_and_opens_the_others_as_they_sync(void **state)
{
    (void)state;
    struct hook *h =
        hook_rig_add(&(struct hook_rig_hook){.sources = 2, .rules = {.require = HOOK_REQUIRE_ANY}});
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_change(1, DELTA_ADDED, "ns/b", "u2", NULL);
    hook_rig_waits_until(NEVER_MS);
    hook_rig_sync(1);
    hook_rig_pass(DELTA_ADDED, "u2");
    hook_rig_nothing(); /* keys of the other source are not due */
    assert_int_equal(hook_pending(h), 0);
    hook_rig_change(0, DELTA_ADDED, "ns/c", "u3", NULL);
    hook_rig_change(0, DELTA_DELETED, "ns/c", "u3", NULL);
    hook_rig_nothing();
    hook_rig_sync(0);
    hook_rig_end(starts_for(DELTA_ADDED, "u1", RUN_EXISTING), 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_source_that_opens_late_skips_existing_objects_when_asked(void **state)
{
    (void)state;
    hook_rig_add(&(struct hook_rig_hook){
        .sources = 2, .rules = {.require = HOOK_REQUIRE_ANY, .existing = HOOK_EXISTING_SKIP}
    });
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_change(1, DELTA_ADDED, "ns/b", "u2", NULL);
    hook_rig_sync(0);
    hook_rig_nothing();
    hook_rig_sync(1);
    hook_rig_nothing();
    hook_rig_change(1, DELTA_DELETED, "ns/b", "u2", NULL);
    hook_rig_pass(DELTA_DELETED, "u2"); /* the object counts as delivered */
}

static void test_a_snapshot_runs_again_when_another_source_opens(void **state)
{
    (void)state;
    hook_rig_add(&(struct hook_rig_hook){
        .sources = 2, .rules = {.mode = HOOK_SNAPSHOT, .require = HOOK_REQUIRE_ANY}
    });
    hook_rig_sync(0);
    hook_rig_end(hook_rig_next(), 0);
    hook_rig_nothing();
    hook_rig_sync(1); /* a snapshot with this source is due, although it is empty */
    struct run *run = hook_rig_next();
    assert_int_equal(run->event_count, 0);
    assert_int_equal(run->reason, RUN_CHANGE);
    hook_rig_end(run, 0);
    hook_rig_waits_until(NEVER_MS);
}

static void open_while_running(enum hook_mode mode)
{
    hook_rig_add(&(struct hook_rig_hook){
        .sources = 2,
        .rules = {.mode = mode,                    .require = HOOK_REQUIRE_ANY, .existing = HOOK_EXISTING_SKIP},
        .work_queue = {.rerun_ms = 60000}
    });
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_sync(0);
    hook_rig_nothing();
    hook_rig.now += 60000;
    struct run *run = hook_rig_next(); /* a rerun: no key is due while it is under way */
    assert_int_equal(run->reason, RUN_RERUN);
    hook_rig_change(1, DELTA_ADDED, "ns/b", "u2", NULL);
    hook_rig_sync(1);
    hook_rig_nothing();
    hook_rig.now += 10;
    hook_rig_end(run, 0);
    hook_rig_waits_until(hook_rig.now - 10 + 60000);
    hook_rig_end(hook_rig_next(), 0);
}

static void test_a_source_may_open_while_a_rerun_is_under_way(void **state)
{
    open_while_running(HOOK_BATCH);
    hook_rig_clean_up(state);
    hook_rig_set_up(state);
    open_while_running(HOOK_SNAPSHOT);
}

/* The next run would have another event than the one that failed. */
static void test_a_source_that_opens_while_a_run_fails_is_a_change(void **state)
{
    static const enum hook_mode modes[] = {HOOK_BATCH, HOOK_SNAPSHOT};

    for (size_t i = 0; i < 2; i++) {
        struct hook *h = hook_rig_add(&(struct hook_rig_hook){
            .sources = 2,
            .park_exit = 75,
            .rules = {.mode = modes[i], .require = HOOK_REQUIRE_ANY}
        });
        hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
        hook_rig_change(1, DELTA_ADDED, "ns/b", "u2", NULL);
        hook_rig_sync(0);
        struct run *run = hook_rig_next();
        hook_rig_sync(1);
        hook_rig_nothing();
        assert_int_equal(hook_rig_end(run, 75).retry_ms, HOOK_RIG_INITIAL_MS);
        assert_int_equal(hook_parked(h), 0);
        hook_rig.now += HOOK_RIG_INITIAL_MS;
        run = hook_rig_next();
        assert_int_equal(run->event_count, 2);
        hook_rig_end(run, 75);
        hook_rig_waits_until(NEVER_MS);
        assert_int_equal(hook_parked(h), 1);
        hook_rig_clean_up(state);
        hook_rig_set_up(state);
    }
}

static void test_another_source_does_not_put_off_the_rerun(void **state)
{
    (void)state;
    hook_rig_add(&(struct hook_rig_hook){
        .sources = 2,
        .rules = {.mode = HOOK_BATCH, .require = HOOK_REQUIRE_ANY},
        .work_queue = {.rerun_ms = 60000                 }
    });
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_sync(0);
    hook_rig_pass(DELTA_ADDED, "u1");
    uint64_t due = hook_rig.now + 60000;
    hook_rig.now += 20000;
    hook_rig_sync(1);
    hook_rig_waits_until(due);
    hook_rig_pass(DELTA_MODIFIED, "u1");
}

static void test_after_waits_for_the_first_runs_to_end_well_or_not(void **state)
{
    static const enum hook_mode modes[] = {HOOK_OBJECT, HOOK_BATCH, HOOK_SNAPSHOT};

    for (size_t i = 0; i < 3; i++) {
        struct hook *second = hook_rig_add(&(struct hook_rig_hook){.after = 2});
        struct hook *first = hook_rig_add(&(struct hook_rig_hook){.rules = {.mode = modes[i]}});
        hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
        hook_rig_sync(0);
        struct run *run = hook_rig_starts(DELTA_ADDED, "u1");
        assert_ptr_equal(run->hook, first);
        hook_rig_nothing();
        assert_ptr_equal(gate_before(&hook_rig.hooks, second), first);
        assert_int_equal(second->gate, GATE_CLOSED);
        hook_rig_end(run, 1);
        assert_null(gate_before(&hook_rig.hooks, second));
        run = starts_for(DELTA_ADDED, "u1", RUN_EXISTING);
        assert_ptr_equal(run->hook, second);
        hook_rig_end(run, 0);
        hook_rig.now += HOOK_RIG_INITIAL_MS;
        hook_rig_pass(DELTA_ADDED, "u1");
        hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":1");
        assert_ptr_not_equal(
            hook_rig_next()->hook,
            hook_rig_next()->hook); /* from now on the order of hooks does not count */
        hook_rig_clean_up(state);
        hook_rig_set_up(state);
    }
}

static void test_a_chain_of_hooks_without_anything_to_run_opens_at_once(void **state)
{
    (void)state;
    struct hook *last = hook_rig_add(&(struct hook_rig_hook){.after = 2});
    hook_rig_add(&(struct hook_rig_hook){.after = 3, .rules = {.mode = HOOK_BATCH}});
    hook_rig_add(&(struct hook_rig_hook){
        .rules = {.mode = HOOK_SNAPSHOT, .existing = HOOK_EXISTING_SKIP}
    });
    hook_rig_nothing();
    assert_false(hooks_ready(&hook_rig.hooks));
    hook_rig_sync(0);
    hook_rig_nothing();
    assert_int_equal(last->gate, GATE_OPEN);
    assert_true(hooks_ready(&hook_rig.hooks));
    assert_true(hooks_quiet(&hook_rig.hooks));
}

static void test_when_stale_wait_starts_nothing_while_too_few_are_fresh(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){
        .sources = 2, .events = objects, .rules = {.when_stale = HOOK_STALE_WAIT}});
    hook_rig_add(&(struct hook_rig_hook){.sources = 2, .events = objects});
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_sync(0);
    hook_rig_sync(1);
    hook_rig_stale(1, true);
    struct run *run = hook_rig_starts(DELTA_ADDED, "u1");
    assert_ptr_not_equal(run->hook, h); /* when_stale = "run" */
    hook_rig_end(run, 0);
    hook_rig_waits_until(NEVER_MS);
    assert_int_equal(h->gate, GATE_CLOSED);
    assert_string_equal(gate_stale(h)->name, "two");
    hook_rig_stale(1, false);
    run = starts_for(DELTA_ADDED, "u1", RUN_EXISTING);
    assert_ptr_equal(run->hook, h);
    hook_rig_stale(0, true); /* a run under way goes on */
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":1");
    hook_rig_pass(DELTA_MODIFIED, "u1"); /* the run is of the other hook */
    hook_rig_end(run, 0);
    hook_rig_waits_until(NEVER_MS);
    assert_string_equal(gate_stale(h)->name, "one");
    hook_rig_stale(0, false);
    assert_null(gate_stale(h));
    hook_rig_pass(DELTA_MODIFIED, "u1");
}

static void test_when_stale_wait_and_require_any_need_one_fresh_source(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){
        .sources = 2,
        .events = objects,
        .rules = {.when_stale = HOOK_STALE_WAIT, .require = HOOK_REQUIRE_ANY}
    });
    hook_rig_sync(0);
    hook_rig_stale(0, true);
    hook_rig_nothing();
    assert_int_equal(h->gate, GATE_CLOSED);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_sync(1);
    hook_rig_pass(DELTA_ADDED, "u1"); /* one is fresh, and that is enough for both sources */
    hook_rig_stale(1, true);
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":1");
    hook_rig_waits_until(NEVER_MS);
    hook_rig_stale(1, false);
    hook_rig_pass(DELTA_MODIFIED, "u1");
}

static void test_a_source_that_syncs_late_may_end_the_wait(void **state)
{
    (void)state;
    hook_rig_add(&(struct hook_rig_hook){
        .sources = 2,
        .events = objects,
        .rules = {.when_stale = HOOK_STALE_WAIT, .require = HOOK_REQUIRE_ANY}
    });
    hook_rig_sync(0);
    hook_rig_nothing();
    hook_rig_stale(0, true);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_waits_until(NEVER_MS);
    hook_rig_sync(1);
    hook_rig_pass(DELTA_ADDED, "u1");
}

static void test_a_paused_hook_starts_nothing_and_forgets_nothing(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){
        .work_queue = {.settle_ms = 100, .settle_max_ms = 100}
    });
    hook_pause(h, true);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig.now += 100;
    hook_rig_sync(0);
    hook_rig_waits_until(NEVER_MS);
    hook_pause(h, false);
    struct run *run = hook_rig_starts(DELTA_ADDED, "u1");
    hook_pause(h, true); /* the run under way goes on */
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":1");
    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
    hook_rig.now += 500;
    hook_rig_end(run, 1);
    hook_rig_waits_until(hook_rig.now + HOOK_RIG_INITIAL_MS);
    hook_rig_waits_until(NEVER_MS);
    assert_true(hooks_quiet(&hook_rig.hooks)); /* keys of a paused hook do not count */
    hook_pause(h, false);
    assert_false(hooks_quiet(&hook_rig.hooks));
    assert_int_equal(hooks_wake_ms(&hook_rig.hooks), scheduler_earliest_ms(&h->work_queue));
    hook_rig_pass(DELTA_ADDED, "u2");
    hook_rig_pass(DELTA_ADDED, "u1");
}

static void test_a_hook_after_a_paused_hook_does_not_wait(void **state)
{
    (void)state;
    struct hook *first = hook_rig_add(&(struct hook_rig_hook){.events = objects});
    struct hook *second = hook_rig_add(&(struct hook_rig_hook){.events = objects, .after = 1});

    hook_pause(first, true);
    assert_true(hook_waits_for_people(&hook_rig.hooks, second));
    assert_true(hooks_ready(&hook_rig.hooks));
    hook_pause(first, false);
    assert_false(hook_waits_for_people(&hook_rig.hooks, second));
    assert_false(hooks_ready(&hook_rig.hooks));
    hook_rig_sync(0);
    hook_rig_nothing();
    hook_pause(first, true); /* the hook has begun: it does not wait for the other any more */
    assert_false(hook_waits_for_people(&hook_rig.hooks, second));
}

static void test_pause_and_staleness_are_two_reasons_to_wait(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(
        &(struct hook_rig_hook){.events = objects, .rules = {.when_stale = HOOK_STALE_WAIT}});
    hook_rig_sync(0);
    hook_rig_nothing();
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_stale(0, true);
    hook_pause(h, true);
    hook_rig_stale(0, false);
    hook_rig_nothing();
    hook_rig_stale(0, true);
    hook_pause(h, false);
    hook_rig_nothing();
    hook_rig_stale(0, false);
    hook_rig_pass(DELTA_ADDED, "u1");
}

static void add_change_at_100000(enum hook_mode mode, enum delta_cause cause)
{
    struct object *o = objects_make("ns/a", "u1", "1", NULL);

    hook_rig_add(&(struct hook_rig_hook){
        .rules = {.mode = mode  },
        .work_queue = { .settle_ms = 200, .settle_max_ms = 2000, .splay_ms = 1}
    });
    hooks_subscriber.on_delta(
        &hook_rig.hooks, (struct source){.watch = hook_rig.watches[0]},
        &(struct delta){.type = DELTA_ADDED, .cause = cause, .object = o, .now_ms = hook_rig.now});
    object_unref(&o);
}

static void test_first_runs_settle_only_if_events_came_lately(void **state)
{
    static const enum hook_mode modes[] = {HOOK_OBJECT, HOOK_BATCH, HOOK_SNAPSHOT};

    for (size_t i = 0; i < 6; i++) {
        bool listed = i >= 3;

        add_change_at_100000(modes[i % 3], listed ? CAUSE_RELIST : CAUSE_WATCH);
        hook_rig.now += listed ? 0 : 200;
        hook_rig_sync(0);
        hook_rig_pass(DELTA_ADDED, "u1");
        hook_rig_clean_up(state);
        hook_rig_set_up(state);
        add_change_at_100000(modes[i % 3], CAUSE_WATCH);
        hook_rig.now += 199;
        hook_rig_sync(0);
        hook_rig_nothing();
        hook_rig.now += 201;
        hook_rig_pass(DELTA_ADDED, "u1");
        hook_rig_clean_up(state);
        hook_rig_set_up(state);
    }
}

/* A batch has no run when there is no object; a snapshot has one, unless it skips existing
 * objects. */
static void test_without_objects_only_a_snapshot_has_a_first_run(void **state)
{
    (void)state;
    hook_rig_add(&(struct hook_rig_hook){.rules = {.mode = HOOK_OBJECT}});
    hook_rig_add(&(struct hook_rig_hook){.rules = {.mode = HOOK_BATCH}});
    hook_rig_add(&(struct hook_rig_hook){
        .rules = {.mode = HOOK_SNAPSHOT, .existing = HOOK_EXISTING_SKIP}
    });
    struct hook *snapshot = hook_rig_add(&(struct hook_rig_hook){.rules = {.mode = HOOK_SNAPSHOT}});
    hook_rig_sync(0);
    struct run *run = hook_rig_next();
    assert_ptr_equal(run->hook, snapshot);
    assert_int_equal(run->reason, RUN_EXISTING);
    hook_rig_nothing();
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(hook_rig.hooks.v[i]->gate, GATE_OPEN);
    assert_false(hooks_ready(&hook_rig.hooks));
    hook_rig_end(run, 0);
    assert_true(hooks_ready(&hook_rig.hooks));
    assert_true(hooks_quiet(&hook_rig.hooks));
}

static void test_existing_objects_are_skipped_in_every_mode(void **state)
{
    static const enum hook_mode modes[] = {HOOK_OBJECT, HOOK_BATCH, HOOK_SNAPSHOT};

    (void)state;
    for (size_t i = 0; i < 3; i++)
        hook_rig_add(&(struct hook_rig_hook){
            .rules = {.mode = modes[i], .existing = HOOK_EXISTING_SKIP}
        });
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
    hook_rig_sync(0);
    hook_rig_waits_until(NEVER_MS);
    assert_true(hooks_ready(&hook_rig.hooks));
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    for (size_t i = 0; i < 3; i++) { /* u1 counted as handled: the difference is known */
        struct run *run = starts_for(DELTA_MODIFIED, "u1", RUN_CHANGE);
        assert_string_equal(buf_cstr(&run->events[0].changed), "data.a\n");
        hook_rig_end(run, 0);
    }
    hook_rig_change(0, DELTA_DELETED, "ns/b", "u2", NULL);
    for (size_t i = 0; i < 3; i++)
        hook_rig_pass(DELTA_DELETED, "u2");
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_batch_whose_objects_vanish_before_its_first_run_is_ready(void **state)
{
    (void)state;
    add_change_at_100000(HOOK_BATCH, CAUSE_WATCH);
    const struct hook *h = hook_rig.hooks.v[0];
    hook_rig_sync(0);
    hook_rig_nothing(); /* the batch settles */
    assert_int_equal(h->gate, GATE_FIRST);
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", NULL);
    hook_rig_waits_until(NEVER_MS);
    assert_int_equal(h->gate, GATE_OPEN);
}

/* The manual run would have been the first run of the hook. */
static void test_a_batch_whose_manual_run_becomes_void_is_ready(void **state)
{
    struct err err = {0};

    (void)state;
    add_change_at_100000(HOOK_BATCH, CAUSE_WATCH);
    struct hook *h = hook_rig.hooks.v[0];
    hook_rig_add(&(struct hook_rig_hook){.after = 1}); /* and the hook that waits for it goes on */
    hook_rig_sync(0);
    hook_rig_nothing();
    assert_int_equal(hook_run_manually(h, (struct str){0}, &err), ERR_OK);
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", NULL);
    assert_false(hooks_ready(&hook_rig.hooks));
    hook_rig_waits_until(NEVER_MS);
    assert_true(hooks_ready(&hook_rig.hooks));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, hook_rig_set_up, hook_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_require_all_waits_for_every_source),
        TEST(test_require_any_starts_with_one_and_opens_the_others_as_they_sync),
        TEST(test_a_source_that_opens_late_skips_existing_objects_when_asked),
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
        TEST(test_a_hook_after_a_paused_hook_does_not_wait),
        TEST(test_pause_and_staleness_are_two_reasons_to_wait),
        TEST(test_first_runs_settle_only_if_events_came_lately),
        TEST(test_without_objects_only_a_snapshot_has_a_first_run),
        TEST(test_existing_objects_are_skipped_in_every_mode),
        TEST(test_a_batch_whose_objects_vanish_before_its_first_run_is_ready),
        TEST(test_a_batch_whose_manual_run_becomes_void_is_ready),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}

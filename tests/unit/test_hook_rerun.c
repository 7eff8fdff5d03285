/* SPDX-License-Identifier: Apache-2.0 */
#include "hook_rig.h"

/* rerun_every, min_interval and splay of whole hooks; test_scheduler.c has the arithmetic. */

enum { RERUN = 60000, NO_DELETED = 0x3f & ~(1U << DELTA_DELETED | 1U << DELTA_LEFT) };

static void reruns(enum delta_type type, const char *uid, int status)
{
    struct run *run = hook_rig_starts(type, uid);

    assert_int_equal(run->reason, RUN_RERUN);
    assert_int_equal(run->attempt, 1);
    assert_int_equal(run->events[0].changed.len, 0);
    hook_rig_end(run, status);
}

static size_t known(const struct hook *h)
{
    return map_count(&h->queue.sources[0].by_key);
}

static void test_a_rerun_counts_from_the_start_of_the_last_run(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){.work_queue = {.rerun_ms = RERUN}});
    hook_rig_sync(0);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    struct run *run = hook_rig_starts(DELTA_ADDED, "u1");
    uint64_t due = hook_rig.now + RERUN;
    hook_rig.now += 500;
    hook_rig_end(run, 0);
    assert_true(hooks_quiet(&hook_rig.hooks)); /* a rerun is no change that waits */
    assert_int_equal(hook_pending(h), 0);
    hook_rig_waits_until(due);
    reruns(DELTA_MODIFIED, "u1", 0);
    hook_rig_waits_until(due + RERUN);
    reruns(DELTA_MODIFIED, "u1", 0);
}

static void test_without_modified_a_rerun_has_added(void **state)
{
    (void)state;
    hook_rig_add(
        &(struct hook_rig_hook){.events = 1U << DELTA_ADDED, .work_queue = {.rerun_ms = RERUN}});
    hook_rig_sync(0);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_pass(DELTA_ADDED, "u1");
    hook_rig_waits_until(hook_rig.now + RERUN);
    reruns(DELTA_ADDED, "u1", 1);
    hook_rig_waits_until(hook_rig.now + HOOK_RIG_INITIAL_MS);
    hook_rig_fail(DELTA_ADDED, "u1", RUN_RETRY, 2);
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":1");
    hook_rig_waits_until(hook_rig.now + HOOK_RIG_INITIAL_MS);
    hook_rig_pass(DELTA_ADDED, "u1");
    hook_rig_waits_until(hook_rig.now + RERUN);
}

static void test_without_added_and_modified_there_is_no_rerun(void **state)
{
    (void)state;
    hook_rig_add(
        &(struct hook_rig_hook){.events = 1U << DELTA_DELETED, .work_queue = {.rerun_ms = RERUN}});
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_sync(0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_change_comes_before_the_rerun_and_puts_it_off(void **state)
{
    (void)state;
    hook_rig_add(&(struct hook_rig_hook){
        .work_queue = {.rerun_ms = RERUN, .settle_ms = 100, .settle_max_ms = 100}
    });
    hook_rig_sync(0);
    hook_rig_nothing();
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig.now += 100;
    hook_rig_pass(DELTA_ADDED, "u1");
    hook_rig.now += RERUN - 10;
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":1");
    hook_rig_waits_until(hook_rig.now + 100);
    hook_rig_pass(DELTA_MODIFIED, "u1");
    hook_rig_waits_until(hook_rig.now + RERUN);
}

/* A change there and back: no run was started, so the rerun comes as if nothing had changed. */
static void test_a_change_that_cancels_out_leaves_the_rerun(void **state)
{
    (void)state;
    hook_rig_add(&(struct hook_rig_hook){
        .work_queue = {.rerun_ms = RERUN, .settle_ms = 100, .settle_max_ms = 100}
    });
    hook_rig_sync(0);
    hook_rig_nothing();
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig.now += 100;
    hook_rig_pass(DELTA_ADDED, "u1");
    uint64_t due = hook_rig.now + RERUN;
    hook_rig.now += 1000;
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":1");
    hook_rig_waits_until(due);
    reruns(DELTA_MODIFIED, "u1", 0);
}

static void test_a_rerun_that_fails_is_tried_again(void **state)
{
    (void)state;
    struct hook *h =
        hook_rig_add(&(struct hook_rig_hook){.work_queue = {.rerun_ms = RERUN}, .park_exit = 75});
    hook_rig_sync(0);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_pass(DELTA_ADDED, "u1");
    hook_rig_waits_until(hook_rig.now + RERUN);
    reruns(DELTA_MODIFIED, "u1", 1);
    assert_int_equal(hook_pending(h), 1);
    hook_rig_waits_until(hook_rig.now + HOOK_RIG_INITIAL_MS);
    hook_rig_end(hook_rig_starts(DELTA_MODIFIED, "u1"), 75);
    assert_int_equal(hook_parked(h), 1);
    hook_rig_waits_until(NEVER_MS); /* parked: no rerun either */
}

static void test_a_key_that_vanished_has_no_rerun(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(
        &(struct hook_rig_hook){.events = NO_DELETED, .work_queue = {.rerun_ms = RERUN}});
    hook_rig_sync(0);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_pass(DELTA_ADDED, "u1");
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", NULL); /* while it rests */
    hook_rig_waits_until(NEVER_MS);
    assert_int_equal(known(h), 0);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u2", NULL);
    struct run *run = hook_rig_starts(DELTA_ADDED, "u2");
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u2", NULL); /* while it runs */
    hook_rig_end(run, 0);
    hook_rig_waits_until(NEVER_MS);
    assert_int_equal(known(h), 0);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u3", NULL);
    hook_rig_pass(DELTA_ADDED, "u3");
    hook_rig.now += RERUN;
    hook_pause(h, true);
    hook_rig_nothing(); /* the work item is ready to run */
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u3", NULL);
    hook_pause(h, false);
    hook_rig_waits_until(NEVER_MS);
    assert_int_equal(known(h), 0);
}

/* An object that was never in a run: its reruns count from the time at which the hook saw it. */
static void test_an_object_that_never_ran_has_reruns_too(void **state)
{
    (void)state;
    hook_rig_add(&(struct hook_rig_hook){.rules = {.existing = HOOK_EXISTING_SKIP},
                                         .work_queue = {.rerun_ms = RERUN}});
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_sync(0);
    hook_rig_waits_until(hook_rig.now + RERUN);
    reruns(DELTA_MODIFIED, "u1", 0);
    hook_rig_add(
        &(struct hook_rig_hook){.events = 1U << DELTA_MODIFIED, .work_queue = {.rerun_ms = 1000}});
    hook_rig_nothing();
    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
    hook_rig_pass(DELTA_ADDED, "u2"); /* the run is of the first hook */
    hook_rig_waits_until(hook_rig.now + 1000);
    reruns(DELTA_MODIFIED, "u2", 0);
}

static void test_an_outage_has_no_rerun(void **state)
{
    (void)state;
    hook_rig_add(&(struct hook_rig_hook){.work_queue = {.rerun_ms = RERUN}});
    hook_rig_sync(0);
    hook_rig_nothing();
    hook_rig_stale(0, true);
    hook_rig_end(hook_rig_next(), 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_rerun_of_a_batch_has_all_objects(void **state)
{
    (void)state;
    hook_rig_add(
        &(struct hook_rig_hook){.rules = {.mode = HOOK_BATCH}, .work_queue = {.rerun_ms = RERUN}});
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
    hook_rig_sync(0);
    struct run *run = hook_rig_next();
    assert_int_equal(run->event_count, 2);
    hook_rig_end(run, 0);
    hook_rig_waits_until(hook_rig.now + RERUN);
    run = hook_rig_next();
    assert_int_equal(run->reason, RUN_RERUN);
    assert_int_equal(run->event_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(run->events[i].ev.type, DELTA_MODIFIED);
        assert_int_equal(run->events[i].changed.len, 0);
    }
    uint64_t told = hook_rig.now;
    hook_rig_end(run, 1);
    hook_rig_waits_until(hook_rig.now + HOOK_RIG_INITIAL_MS);
    run = hook_rig_next();
    assert_int_equal(run->reason, RUN_RETRY);
    assert_int_equal(run->event_count, 2);
    hook_rig_end(run, 0);
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", NULL);
    hook_rig_pass(DELTA_DELETED, "u1");
    hook_rig_change(0, DELTA_DELETED, "ns/b", "u2", NULL);
    hook_rig_pass(DELTA_DELETED, "u2");
    hook_rig_waits_until(told + RERUN);
    hook_rig_waits_until(hook_rig.now + RERUN); /* a run would have no event */
    hook_rig_change(0, DELTA_ADDED, "ns/c", "u3", NULL);
    hook_rig_pass(DELTA_ADDED, "u3");
}

/* A run with the changed objects only is no rerun. */
static void test_changes_do_not_put_off_the_rerun_of_a_batch(void **state)
{
    (void)state;
    hook_rig_add(&(struct hook_rig_hook){
        .rules = {.mode = HOOK_BATCH   },
        .work_queue = { .rerun_ms = RERUN, .settle_ms = 100, .settle_max_ms = 200}
    });
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", "\"a\":1");
    hook_rig.now += 100;
    hook_rig_sync(0);
    hook_rig_end(hook_rig_next(), 0);
    uint64_t due = hook_rig.now + RERUN;
    hook_rig.now += RERUN / 2;
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    hook_rig.now += 100;
    hook_rig_pass(DELTA_MODIFIED, "u1");
    hook_rig_waits_until(due);
    struct run *run = hook_rig_next();
    assert_int_equal(run->reason, RUN_RERUN);
    assert_int_equal(run->event_count, 2);
    hook_rig_end(run, 0);
    due += RERUN;
    hook_rig.now = due - 50; /* a change settles when the rerun is due: one run has both */
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":3");
    hook_rig.now = due + 50;
    run = hook_rig_next();
    assert_int_equal(run->reason, RUN_RERUN);
    assert_int_equal(run->event_count, 2);
    assert_int_equal(run->events[0].changed.len > 0, 1);
    hook_rig_end(run, 0);
    hook_rig_waits_until(hook_rig.now + RERUN);
}

static void test_a_snapshot_is_shown_again_without_changes(void **state)
{
    (void)state;
    hook_rig_add(&(struct hook_rig_hook){.rules = {.mode = HOOK_SNAPSHOT},
                                         .work_queue = {.rerun_ms = RERUN}});
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_sync(0);
    hook_rig_end(hook_rig_next(), 0);
    hook_rig_waits_until(hook_rig.now + RERUN);
    struct run *run = hook_rig_next();
    assert_int_equal(run->reason, RUN_RERUN);
    assert_int_equal(run->event_count, 0);
    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
    hook_rig_end(run, 0);
    hook_rig_pass(DELTA_ADDED, "u2");
}

static void test_min_interval_is_kept_between_the_starts_of_a_hook(void **state)
{
    static const enum hook_mode modes[] = {HOOK_OBJECT, HOOK_BATCH, HOOK_SNAPSHOT};

    for (size_t i = 0; i < 3; i++) {
        hook_rig_add(&(struct hook_rig_hook){
            .rules = {.mode = modes[i] },
            .work_queue = { .min_interval_ms = 5000, .rerun_ms = 6000}
        });
        hook_rig_sync(0);
        for (struct run *run; (run = hooks_next(&hook_rig.hooks, hook_rig.now)) != NULL;)
            hook_rig_end(run, 0);
        hook_rig.now += 5000;
        hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
        uint64_t start = hook_rig.now;
        hook_rig_fail(DELTA_ADDED, "u1", RUN_CHANGE, 1);
        hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
        hook_rig_waits_until(start + HOOK_RIG_INITIAL_MS);
        hook_rig_waits_until(start + 5000); /* no other key and no retry comes before that */
        hook_rig_end(hook_rig_next(), 0);
        if (modes[i] == HOOK_OBJECT) {
            hook_rig_waits_until(start + 10000);
            hook_rig_end(hook_rig_next(), 0);
        }
        hook_rig_clean_up(state);
        hook_rig_set_up(state);
    }
}

/* With more keys than min_interval lets run in time, some key is always ready for its rerun. */
static void test_reruns_that_are_late_do_not_keep_a_hook_from_being_quiet(void **state)
{
    static const enum hook_mode modes[] = {HOOK_OBJECT, HOOK_BATCH, HOOK_SNAPSHOT};

    for (size_t i = 0; i < 3; i++) {
        hook_rig_add(&(struct hook_rig_hook){
            .rules = {.mode = modes[i],         .existing = HOOK_EXISTING_SKIP},
            .work_queue = {.min_interval_ms = 50000, .rerun_ms = 1000              }
        });
        hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
        hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
        hook_rig_sync(0);
        hook_rig_nothing();
        hook_rig.now += 1000;
        struct run *run = hook_rig_next();
        assert_false(hooks_quiet(&hook_rig.hooks));
        hook_rig_end(run, 0);
        hook_rig.now += 2000;
        hook_rig_nothing();
        assert_true(hooks_quiet(&hook_rig.hooks));
        hook_rig_change(0, DELTA_ADDED, "ns/c", "u3", NULL);
        assert_false(hooks_quiet(&hook_rig.hooks));
        hook_rig_clean_up(state);
        hook_rig_set_up(state);
    }
}

static void test_splay_is_for_changes_and_reruns_only(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){
        .work_queue = {.splay_ms = 10000, .rerun_ms = RERUN}
    });
    struct err err = {0};
    bool later = false;
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_fail(DELTA_ADDED, "u1", RUN_EXISTING, 1);
    hook_rig_waits_until(hook_rig.now + HOOK_RIG_INITIAL_MS);
    hook_rig_pass(DELTA_ADDED, "u1");
    for (int i = 0; i < 20; i++) {
        hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", i % 2 == 0 ? "\"a\":2" : "\"a\":3");
        uint64_t due = hooks_wake_ms(&hook_rig.hooks);
        if (due != NEVER_MS && due > hook_rig.now) {
            assert_in_range(due, hook_rig.now, hook_rig.now + 10000);
            hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", i % 2 == 0 ? "\"a\":4" : "\"a\":5");
            /* the splay is drawn once for a burst */
            assert_int_equal(hooks_wake_ms(&hook_rig.hooks), due);
            hook_rig_waits_until(due);
            later = true;
        }
        hook_rig_pass(DELTA_MODIFIED, "u1");
    }
    assert_true(later);
    assert_in_range(hooks_wake_ms(&hook_rig.hooks), hook_rig.now + RERUN,
                    hook_rig.now + RERUN + 10000);
    assert_int_equal(hook_run_manually(h, str_c("ns/a"), &err), ERR_OK);
    hook_rig_pass(DELTA_MODIFIED, "u1");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, hook_rig_set_up, hook_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_a_rerun_counts_from_the_start_of_the_last_run),
        TEST(test_without_modified_a_rerun_has_added),
        TEST(test_without_added_and_modified_there_is_no_rerun),
        TEST(test_a_change_comes_before_the_rerun_and_puts_it_off),
        TEST(test_a_change_that_cancels_out_leaves_the_rerun),
        TEST(test_a_rerun_that_fails_is_tried_again),
        TEST(test_a_key_that_vanished_has_no_rerun),
        TEST(test_an_object_that_never_ran_has_reruns_too),
        TEST(test_an_outage_has_no_rerun),
        TEST(test_a_rerun_of_a_batch_has_all_objects),
        TEST(test_changes_do_not_put_off_the_rerun_of_a_batch),
        TEST(test_a_snapshot_is_shown_again_without_changes),
        TEST(test_min_interval_is_kept_between_the_starts_of_a_hook),
        TEST(test_reruns_that_are_late_do_not_keep_a_hook_from_being_quiet),
        TEST(test_splay_is_for_changes_and_reruns_only),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}

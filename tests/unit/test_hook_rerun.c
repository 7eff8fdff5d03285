/* SPDX-License-Identifier: Apache-2.0 */
#include "stage.h"

/* rerun_every, min_interval and splay of whole hooks; test_scheduler.c has the arithmetic. */

enum { RERUN = 60000, NO_DELETED = 0x3f & ~(1U << DELTA_DELETED | 1U << DELTA_LEFT) };

static void reruns(enum delta_type type, const char *uid, int status)
{
    struct run *run = stage_starts(type, uid);

    assert_int_equal(run->reason, RUN_RERUN);
    assert_int_equal(run->attempt, 1);
    assert_int_equal(run->events[0].changed.len, 0);
    stage_end(run, status);
}

static size_t known(const struct hook *h)
{
    return map_count(&h->queue.sources[0].by_key);
}

static void test_an_unchanged_key_is_told_again_from_the_start_of_its_last_run(void **state)
{
    (void)state;
    struct hook *h = stage_add(&(struct stage_hook){.work_queue = {.rerun_ms = RERUN}});
    stage_sync(0);
    stage_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    struct run *run = stage_starts(DELTA_ADDED, "u1");
    uint64_t due = stage.now + RERUN;
    stage.now += 500;
    stage_end(run, 0);
    assert_true(hooks_quiet(&stage.hooks)); /* a rerun is nothing that is waited for */
    assert_int_equal(hook_pending(h), 0);
    stage_waits_until(due);
    reruns(DELTA_MODIFIED, "u1", 0);
    stage_waits_until(due + RERUN);
    reruns(DELTA_MODIFIED, "u1", 0);
}

static void test_without_modified_it_is_told_as_added(void **state)
{
    (void)state;
    stage_add(&(struct stage_hook){.events = 1U << DELTA_ADDED, .work_queue = {.rerun_ms = RERUN}});
    stage_sync(0);
    stage_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    stage_pass(DELTA_ADDED, "u1");
    stage_waits_until(stage.now + RERUN);
    reruns(DELTA_ADDED, "u1", 1);
    stage_waits_until(stage.now + STAGE_INITIAL_MS);
    stage_fail(DELTA_ADDED, "u1", RUN_RETRY, 2);
    stage_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":1");
    stage_waits_until(stage.now + STAGE_INITIAL_MS);
    stage_pass(DELTA_ADDED, "u1");
    stage_waits_until(stage.now + RERUN);
}

static void test_without_either_there_is_nothing_to_tell_again(void **state)
{
    (void)state;
    stage_add(
        &(struct stage_hook){.events = 1U << DELTA_DELETED, .work_queue = {.rerun_ms = RERUN}});
    stage_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    stage_sync(0);
    stage_waits_until(NEVER_MS);
}

static void test_a_change_comes_before_the_rerun_and_puts_it_off(void **state)
{
    (void)state;
    stage_add(&(struct stage_hook){
        .work_queue = {.rerun_ms = RERUN, .settle_ms = 100, .settle_max_ms = 100}
    });
    stage_sync(0);
    stage_nothing();
    stage_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    stage.now += 100;
    stage_pass(DELTA_ADDED, "u1");
    stage.now += RERUN - 10;
    stage_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":1");
    stage_waits_until(stage.now + 100);
    stage_pass(DELTA_MODIFIED, "u1");
    stage_waits_until(stage.now + RERUN);
}

/* A change there and back: nothing was started, the rerun comes as if nothing had been. */
static void test_a_change_that_cancels_out_leaves_the_rerun(void **state)
{
    (void)state;
    stage_add(&(struct stage_hook){
        .work_queue = {.rerun_ms = RERUN, .settle_ms = 100, .settle_max_ms = 100}
    });
    stage_sync(0);
    stage_nothing();
    stage_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    stage.now += 100;
    stage_pass(DELTA_ADDED, "u1");
    uint64_t due = stage.now + RERUN;
    stage.now += 1000;
    stage_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    stage_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":1");
    stage_waits_until(due);
    reruns(DELTA_MODIFIED, "u1", 0);
}

static void test_a_rerun_that_fails_is_tried_again(void **state)
{
    (void)state;
    struct hook *h =
        stage_add(&(struct stage_hook){.work_queue = {.rerun_ms = RERUN}, .park_exit = 75});
    stage_sync(0);
    stage_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    stage_pass(DELTA_ADDED, "u1");
    stage_waits_until(stage.now + RERUN);
    reruns(DELTA_MODIFIED, "u1", 1);
    assert_int_equal(hook_pending(h), 1);
    stage_waits_until(stage.now + STAGE_INITIAL_MS);
    stage_end(stage_starts(DELTA_MODIFIED, "u1"), 75);
    assert_int_equal(hook_parked(h), 1);
    stage_waits_until(NEVER_MS); /* parked: no rerun either */
}

static void test_a_key_that_vanishes_is_not_told_again(void **state)
{
    (void)state;
    struct hook *h =
        stage_add(&(struct stage_hook){.events = NO_DELETED, .work_queue = {.rerun_ms = RERUN}});
    stage_sync(0);
    stage_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    stage_pass(DELTA_ADDED, "u1");
    stage_change(0, DELTA_DELETED, "ns/a", "u1", NULL); /* while it rests */
    stage_waits_until(NEVER_MS);
    assert_int_equal(known(h), 0);
    stage_change(0, DELTA_ADDED, "ns/a", "u2", NULL);
    struct run *run = stage_starts(DELTA_ADDED, "u2");
    stage_change(0, DELTA_DELETED, "ns/a", "u2", NULL); /* while it runs */
    stage_end(run, 0);
    stage_waits_until(NEVER_MS);
    assert_int_equal(known(h), 0);
    stage_change(0, DELTA_ADDED, "ns/a", "u3", NULL);
    stage_pass(DELTA_ADDED, "u3");
    stage.now += RERUN;
    hook_pause(h, true);
    stage_nothing(); /* it is ready to run */
    stage_change(0, DELTA_DELETED, "ns/a", "u3", NULL);
    hook_pause(h, false);
    stage_waits_until(NEVER_MS);
    assert_int_equal(known(h), 0);
}

/* Whatever it is that the hook was not told of: it counts from when the hook saw it. */
static void test_what_was_never_run_is_told_again_too(void **state)
{
    (void)state;
    stage_add(&(struct stage_hook){.rules = {.existing = HOOK_EXISTING_SKIP},
                                   .work_queue = {.rerun_ms = RERUN}});
    stage_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    stage_sync(0);
    stage_waits_until(stage.now + RERUN);
    reruns(DELTA_MODIFIED, "u1", 0);
    stage_add(
        &(struct stage_hook){.events = 1U << DELTA_MODIFIED, .work_queue = {.rerun_ms = 1000}});
    stage_nothing();
    stage_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
    stage_pass(DELTA_ADDED, "u2"); /* of the first hook */
    stage_waits_until(stage.now + 1000);
    reruns(DELTA_MODIFIED, "u2", 0);
}

static void test_an_outage_is_not_told_again(void **state)
{
    (void)state;
    stage_add(&(struct stage_hook){.work_queue = {.rerun_ms = RERUN}});
    stage_sync(0);
    stage_nothing();
    stage_stale(0, true);
    stage_end(stage_next(), 0);
    stage_waits_until(NEVER_MS);
}

static void test_a_batch_is_told_of_all_objects_again(void **state)
{
    (void)state;
    stage_add(
        &(struct stage_hook){.rules = {.mode = HOOK_BATCH}, .work_queue = {.rerun_ms = RERUN}});
    stage_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    stage_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
    stage_sync(0);
    struct run *run = stage_next();
    assert_int_equal(run->event_count, 2);
    stage_end(run, 0);
    stage_waits_until(stage.now + RERUN);
    run = stage_next();
    assert_int_equal(run->reason, RUN_RERUN);
    assert_int_equal(run->event_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(run->events[i].ev.type, DELTA_MODIFIED);
        assert_int_equal(run->events[i].changed.len, 0);
    }
    uint64_t told = stage.now;
    stage_end(run, 1);
    stage_waits_until(stage.now + STAGE_INITIAL_MS);
    run = stage_next();
    assert_int_equal(run->reason, RUN_RETRY);
    assert_int_equal(run->event_count, 2);
    stage_end(run, 0);
    stage_change(0, DELTA_DELETED, "ns/a", "u1", NULL);
    stage_pass(DELTA_DELETED, "u1");
    stage_change(0, DELTA_DELETED, "ns/b", "u2", NULL);
    stage_pass(DELTA_DELETED, "u2");
    stage_waits_until(told + RERUN);
    stage_waits_until(stage.now + RERUN); /* there is nothing to tell */
    stage_change(0, DELTA_ADDED, "ns/c", "u3", NULL);
    stage_pass(DELTA_ADDED, "u3");
}

/* What is told of what has changed only is no rerun. */
static void test_changes_do_not_put_off_the_rerun_of_a_batch(void **state)
{
    (void)state;
    stage_add(&(struct stage_hook){
        .rules = {.mode = HOOK_BATCH   },
        .work_queue = { .rerun_ms = RERUN, .settle_ms = 100, .settle_max_ms = 200}
    });
    stage_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    stage_change(0, DELTA_ADDED, "ns/b", "u2", "\"a\":1");
    stage.now += 100;
    stage_sync(0);
    stage_end(stage_next(), 0);
    uint64_t due = stage.now + RERUN;
    stage.now += RERUN / 2;
    stage_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    stage.now += 100;
    stage_pass(DELTA_MODIFIED, "u1");
    stage_waits_until(due);
    struct run *run = stage_next();
    assert_int_equal(run->reason, RUN_RERUN);
    assert_int_equal(run->event_count, 2);
    stage_end(run, 0);
    due += RERUN;
    stage.now = due - 50; /* a change settles when the rerun is due: it comes with it */
    stage_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":3");
    stage.now = due + 50;
    run = stage_next();
    assert_int_equal(run->reason, RUN_RERUN);
    assert_int_equal(run->event_count, 2);
    assert_int_equal(run->events[0].changed.len > 0, 1);
    stage_end(run, 0);
    stage_waits_until(stage.now + RERUN);
}

static void test_a_snapshot_is_shown_again_without_changes(void **state)
{
    (void)state;
    stage_add(
        &(struct stage_hook){.rules = {.mode = HOOK_SNAPSHOT}, .work_queue = {.rerun_ms = RERUN}});
    stage_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    stage_sync(0);
    stage_end(stage_next(), 0);
    stage_waits_until(stage.now + RERUN);
    struct run *run = stage_next();
    assert_int_equal(run->reason, RUN_RERUN);
    assert_int_equal(run->event_count, 0);
    stage_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
    stage_end(run, 0);
    stage_pass(DELTA_ADDED, "u2");
}

static void test_min_interval_is_kept_between_the_starts_of_a_hook(void **state)
{
    static const enum hook_mode modes[] = {HOOK_OBJECT, HOOK_BATCH, HOOK_SNAPSHOT};

    for (size_t i = 0; i < 3; i++) {
        stage_add(&(struct stage_hook){
            .rules = {.mode = modes[i] },
            .work_queue = { .min_interval_ms = 5000, .rerun_ms = 6000}
        });
        stage_sync(0);
        for (struct run *run; (run = hooks_next(&stage.hooks, stage.now)) != NULL;)
            stage_end(run, 0);
        stage.now += 5000;
        stage_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
        uint64_t start = stage.now;
        stage_fail(DELTA_ADDED, "u1", RUN_CHANGE, 1);
        stage_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
        stage_waits_until(start + STAGE_INITIAL_MS);
        stage_waits_until(start + 5000); /* neither another key nor a retry comes before */
        stage_end(stage_next(), 0);
        if (modes[i] == HOOK_OBJECT) {
            stage_waits_until(start + 10000);
            stage_end(stage_next(), 0);
        }
        stage_clean_up(state);
        stage_set_up(state);
    }
}

/* With more keys than min_interval lets run in time, a rerun is always ready. */
static void test_reruns_that_are_late_do_not_keep_a_hook_from_being_quiet(void **state)
{
    static const enum hook_mode modes[] = {HOOK_OBJECT, HOOK_BATCH, HOOK_SNAPSHOT};

    for (size_t i = 0; i < 3; i++) {
        stage_add(&(struct stage_hook){
            .rules = {.mode = modes[i],         .existing = HOOK_EXISTING_SKIP},
            .work_queue = {.min_interval_ms = 50000, .rerun_ms = 1000              }
        });
        stage_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
        stage_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
        stage_sync(0);
        stage_nothing();
        stage.now += 1000;
        struct run *run = stage_next();
        assert_false(hooks_quiet(&stage.hooks));
        stage_end(run, 0);
        stage.now += 2000;
        stage_nothing();
        assert_true(hooks_quiet(&stage.hooks));
        stage_change(0, DELTA_ADDED, "ns/c", "u3", NULL);
        assert_false(hooks_quiet(&stage.hooks));
        stage_clean_up(state);
        stage_set_up(state);
    }
}

static void test_splay_is_for_changes_and_reruns_only(void **state)
{
    (void)state;
    struct hook *h = stage_add(&(struct stage_hook){
        .work_queue = {.splay_ms = 10000, .rerun_ms = RERUN}
    });
    struct err err = {0};
    bool later = false;
    stage_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    stage_sync(0);
    stage_fail(DELTA_ADDED, "u1", RUN_EXISTING, 1);
    stage_waits_until(stage.now + STAGE_INITIAL_MS);
    stage_pass(DELTA_ADDED, "u1");
    for (int i = 0; i < 20; i++) {
        stage_change(0, DELTA_MODIFIED, "ns/a", "u1", i % 2 == 0 ? "\"a\":2" : "\"a\":3");
        uint64_t due = hooks_wake_ms(&stage.hooks);
        if (due != NEVER_MS && due > stage.now) {
            assert_in_range(due, stage.now, stage.now + 10000);
            stage_change(0, DELTA_MODIFIED, "ns/a", "u1", i % 2 == 0 ? "\"a\":4" : "\"a\":5");
            assert_int_equal(hooks_wake_ms(&stage.hooks), due); /* drawn once a burst */
            stage_waits_until(due);
            later = true;
        }
        stage_pass(DELTA_MODIFIED, "u1");
    }
    assert_true(later);
    assert_in_range(hooks_wake_ms(&stage.hooks), stage.now + RERUN, stage.now + RERUN + 10000);
    assert_int_equal(hook_run_manually(h, str_c("ns/a"), &err), ERR_OK);
    stage_pass(DELTA_MODIFIED, "u1");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, stage_set_up, stage_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_an_unchanged_key_is_told_again_from_the_start_of_its_last_run),
        TEST(test_without_modified_it_is_told_as_added),
        TEST(test_without_either_there_is_nothing_to_tell_again),
        TEST(test_a_change_comes_before_the_rerun_and_puts_it_off),
        TEST(test_a_change_that_cancels_out_leaves_the_rerun),
        TEST(test_a_rerun_that_fails_is_tried_again),
        TEST(test_a_key_that_vanishes_is_not_told_again),
        TEST(test_what_was_never_run_is_told_again_too),
        TEST(test_an_outage_is_not_told_again),
        TEST(test_a_batch_is_told_of_all_objects_again),
        TEST(test_changes_do_not_put_off_the_rerun_of_a_batch),
        TEST(test_a_snapshot_is_shown_again_without_changes),
        TEST(test_min_interval_is_kept_between_the_starts_of_a_hook),
        TEST(test_reruns_that_are_late_do_not_keep_a_hook_from_being_quiet),
        TEST(test_splay_is_for_changes_and_reruns_only),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Parked ends are bounded by number and age, and so are their delivery records. */
#include "restarted_hook.h"

#include <stdio.h>

enum { MINUTE_MS = 60 * 1000, KEPT = 3, NAMES = 50 };

static const uint64_t day_ms = UINT64_C(24) * 60 * MINUTE_MS;

static struct hook_rig_hook bounded(enum hook_mode mode)
{
    return (struct hook_rig_hook){
        .rules = {.mode = mode,                 .parked_deletes = KEPT, .parked_age_ms = 7 * day_ms},
        .work_queue = {.attempts = 1}
    };
}

static size_t entries(void)
{
    return map_count(&restarted_hook.hook->queue.sources[0].by_key);
}

/* Each run that is due fails, and its delivery record is put. */
static void fail_all(void)
{
    struct run *run;

    while ((run = hooks_next(&hook_rig.hooks, hook_rig.now)) != NULL) {
        restarted_hook_keep();
        hook_rig_end(run, 1);
        restarted_hook_keep();
    }
    restarted_hook_keep();
}

/* An object is made and deleted: both runs fail for good. */
static void come_and_go(size_t i)
{
    char key[16];
    char uid[16];

    snprintf(key, sizeof(key), "ns/n%zu", i);
    snprintf(uid, sizeof(uid), "u%zu", i);
    hook_rig_change(0, DELTA_ADDED, key, uid, "\"a\":1");
    hook_rig.now += UINT64_C(2) * HOOK_RIG_INITIAL_MS; /* a parked batch is tried again */
    fail_all();
    hook_rig_change(0, DELTA_DELETED, key, uid, "\"a\":1");
    hook_rig.now += UINT64_C(2) * HOOK_RIG_INITIAL_MS;
    fail_all();
}

/* Of so many names no more than the bound stays, in memory and on disk, in each mode. */
static void test_parked_ends_are_bounded_by_number(void **state)
{
    static const enum hook_mode modes[] = {HOOK_OBJECT, HOOK_BATCH, HOOK_SNAPSHOT};

    for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
        restarted_hook_add(bounded(modes[m]));
        hook_rig_sync(0);
        fail_all();
        for (size_t i = 0; i < NAMES; i++)
            come_and_go(i);
        assert_int_equal(entries(), KEPT);
        assert_int_equal(restarted_hook.disk.row_count, KEPT);
        assert_int_equal(restarted_hook.hook->queue.pending_count, KEPT);
        assert_int_equal(hook_parked(restarted_hook.hook), modes[m] == HOOK_OBJECT ? KEPT : 1);
        assert_int_equal(restarted_hook.hook->forgotten, NAMES - KEPT);
        assert_int_equal(restarted_hook.disk.record.forgotten, NAMES - KEPT);
        assert_non_null(
            hook_disk_delivery(&restarted_hook.disk, "ns/n49", "u49")); /* the oldest have gone */
        assert_non_null(hook_disk_delivery(&restarted_hook.disk, "ns/n47", "u47"));
        restarted_hook_clean_up(state);
        hook_rig_set_up(state);
    }
}

static void test_parked_ends_are_bounded_by_age(void **state)
{
    static const enum hook_mode modes[] = {HOOK_OBJECT, HOOK_BATCH};

    for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
        restarted_hook_add(bounded(modes[m]));
        hook_rig_sync(0);
        come_and_go(1);
        uint64_t first = hook_rig.now;
        hook_rig.now += day_ms;
        come_and_go(2);
        hook_rig_waits_until(first + 7 * day_ms);
        fail_all();
        assert_int_equal(entries(), 1);
        assert_int_equal(restarted_hook.disk.row_count, 1);
        hook_rig_waits_until(first + 8 * day_ms + UINT64_C(4) * HOOK_RIG_INITIAL_MS);
        fail_all();
        assert_int_equal(entries(), 0);
        assert_int_equal(restarted_hook.disk.row_count, 0);
        assert_int_equal(hook_parked(restarted_hook.hook), 0);
        assert_int_equal(restarted_hook.hook->forgotten, 2);
        assert_true(hooks_quiet(&hook_rig.hooks));
        restarted_hook_clean_up(state);
        hook_rig_set_up(state);
    }
}

/* The name is free for another incarnation, which comes without the end of the first one. */
static void test_a_name_that_was_forgotten_is_new(void **state)
{
    (void)state;
    restarted_hook_add(bounded(HOOK_OBJECT));
    hook_rig_sync(0);
    come_and_go(1);
    hook_rig.now += 7 * day_ms;
    hook_rig_nothing();
    hook_rig_change(0, DELTA_ADDED, "ns/n1", "u9", "\"a\":1");
    hook_rig_pass(DELTA_ADDED, "u9");
    hook_rig_nothing();
}

/* A parked object that exists does not grow old, and no more does an end whose object is back. */
static void test_a_parked_object_that_exists_is_kept(void **state)
{
    (void)state;
    restarted_hook_add(bounded(HOOK_OBJECT));
    hook_rig_sync(0);
    for (size_t i = 0; i < (size_t)2 * KEPT; i++) {
        char key[16];
        char uid[16];

        snprintf(key, sizeof(key), "ns/n%zu", i);
        snprintf(uid, sizeof(uid), "u%zu", i);
        hook_rig_change(0, DELTA_ADDED, key, uid, "\"a\":1");
        fail_all();
    }
    hook_rig.now += 8 * day_ms;
    hook_rig_nothing();
    assert_int_equal(hook_parked(restarted_hook.hook), (size_t)2 * KEPT);
    assert_int_equal(restarted_hook.hook->forgotten, 0);
    hook_rig_change(0, DELTA_DELETED, "ns/n1", "u1", "\"a\":1");
    fail_all();
    /* the object is back: its end does not count */
    hook_rig_change(0, DELTA_ADDED, "ns/n1", "u1", "\"a\":1");
    fail_all();
    hook_rig.now += 8 * day_ms;
    hook_rig_nothing();
    assert_int_equal(restarted_hook.hook->forgotten, 0);
}

static void restart_after(uint64_t ms)
{
    hook_rig_clean_up(NULL);
    hook_rig_set_up(NULL);
    restarted_hook.hook = hook_rig_add(&restarted_hook.params);
    hook_disk_restore(&restarted_hook.disk, restarted_hook.hook, ms * 1000000);
    hook_rig_sync(0);
}

/* The age of an end goes on over restarts, to the minute. */
static void test_parked_ends_grow_older_over_restarts(void **state)
{
    (void)state;
    restarted_hook_add(bounded(HOOK_OBJECT));
    hook_rig_sync(0);
    come_and_go(1);
    restart_after(3 * day_ms);
    hook_rig_waits_until(hook_rig.now + 4 * day_ms);
    fail_all();
    assert_int_equal(entries(), 0);
    assert_int_equal(restarted_hook.disk.row_count, 0);
    assert_int_equal(restarted_hook.hook->forgotten, 1);
    come_and_go(2);
    restart_after(11 * day_ms);
    fail_all();
    assert_int_equal(restarted_hook.disk.row_count, 0);
    assert_int_equal(restarted_hook.disk.record.forgotten, 2);
}

/* The next process has another bound. */
static void test_parked_ends_of_an_earlier_process_are_bounded_too(void **state)
{
    (void)state;
    restarted_hook_add(bounded(HOOK_OBJECT));
    hook_rig_sync(0);
    for (size_t i = 0; i < KEPT; i++)
        come_and_go(i);
    restarted_hook.params.rules.parked_deletes = 1;
    restart_after(day_ms);
    fail_all();
    assert_int_equal(entries(), 1);
    assert_int_equal(restarted_hook.disk.row_count, 1);
    assert_int_equal(restarted_hook.disk.record.forgotten, KEPT - 1);
}

/* A batch that is parked stays so, and its ends are as old as they were. */
static void test_ends_of_a_batch_grow_older_over_restarts(void **state)
{
    (void)state;
    restarted_hook_add(bounded(HOOK_BATCH));
    hook_rig_sync(0);
    come_and_go(1);
    restart_after(day_ms);
    hook_rig_nothing();
    assert_int_equal(hook_parked(restarted_hook.hook), 1);
    restart_after(7 * day_ms);
    hook_rig_nothing();
    restarted_hook_keep();
    assert_int_equal(entries(), 0);
    assert_int_equal(restarted_hook.disk.row_count, 0);
}

/* Modes batch and snapshot: parked over restarts until anything changes. */
static void test_a_parked_hook_stays_parked_over_restarts(void **state)
{
    static const enum hook_mode modes[] = {HOOK_BATCH, HOOK_SNAPSHOT};

    for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
        restarted_hook_add(bounded(modes[m]));
        hook_rig_sync(0);
        hook_rig_change(0, DELTA_ADDED, "ns/n", "u0", "\"a\":1");
        fail_all();
        for (int i = 0; i < 2; i++) {
            restarted_hook_restart();
            hook_rig_change(0, DELTA_ADDED, "ns/n", "u0", "\"a\":1");
            hook_rig_sync(0);
            hook_rig_nothing();
            assert_int_equal(hook_parked(restarted_hook.hook), 1);
            restarted_hook_keep();
        }
        hook_rig_change(0, DELTA_MODIFIED, "ns/n", "u0", "\"a\":2");
        hook_rig_pass(DELTA_ADDED, "u0");
        restarted_hook_keep();
        assert_int_equal(hook_parked(restarted_hook.hook), 0);
        restarted_hook_clean_up(state);
        hook_rig_set_up(state);
    }
}

/* The end of the object is told again as well, as it is not handled. */
static void test_an_object_that_came_back_while_no_process_ran_wakes_a_parked_hook(void **state)
{
    static const enum hook_mode modes[] = {HOOK_BATCH, HOOK_SNAPSHOT};

    for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
        restarted_hook_add(bounded(modes[m]));
        hook_rig_sync(0);
        fail_all();
        come_and_go(1);
        assert_int_equal(hook_parked(restarted_hook.hook), 1);
        restarted_hook_restart();
        hook_rig_change(0, DELTA_ADDED, "ns/n1", "u2", "\"a\":1");
        hook_rig_sync(0);
        struct run *run = hook_rig_next();
        assert_int_equal(run->event_count, 2);
        hook_rig_event_is(run, 0, DELTA_DELETED, "u1");
        hook_rig_event_is(run, 1, DELTA_ADDED, "u2");
        hook_rig_end(run, 0);
        assert_int_equal(hook_parked(restarted_hook.hook), 0);
        restarted_hook_clean_up(state);
        hook_rig_set_up(state);
    }
}

/* The end of an object and the next incarnation were told by one run. */
static void test_a_batch_parked_over_two_events_of_a_key_stays_parked(void **state)
{
    (void)state;
    restarted_hook_add(bounded(HOOK_BATCH));
    hook_rig_sync(0);
    hook_rig_change(0, DELTA_ADDED, "ns/n", "u1", "\"a\":1");
    hook_rig_pass(DELTA_ADDED, "u1");
    hook_rig_change(0, DELTA_DELETED, "ns/n", "u1", "\"a\":1");
    hook_rig_change(0, DELTA_ADDED, "ns/n", "u2", "\"a\":1");
    fail_all();
    assert_int_equal(hook_parked(restarted_hook.hook), 1);
    restarted_hook_restart();
    hook_rig_change(0, DELTA_ADDED, "ns/n", "u2", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_nothing();
    assert_int_equal(hook_parked(restarted_hook.hook), 1);
    hook_rig_change(0, DELTA_MODIFIED, "ns/n", "u2", "\"a\":2");
    struct run *run = hook_rig_next();
    assert_int_equal(run->event_count, 2);
    hook_rig_end(run, 1);
    restarted_hook_keep();
    restarted_hook_restart();
    hook_rig_change(0, DELTA_ADDED, "ns/n", "u2", "\"a\":3");
    hook_rig_sync(0);
    hook_rig_end(hook_rig_next(), 0);
    assert_int_equal(hook_parked(restarted_hook.hook), 0);
}

static void test_minutes_are_distinguished_for_a_year(void **state)
{
    const uint64_t minute_ns = UINT64_C(60) * 1000000000;
    const uint64_t year = UINT64_C(60) * 24 * 363;

    (void)state;
    for (uint64_t i = 0; i < 2000; i++) {
        uint64_t then = i * 977 * minute_ns;

        assert_int_not_equal(delivery_log_minute(then), 0);
        assert_true(delivery_log_minute(then) < 1U << (32 - DELIVERY_PARKED_AT));
        assert_int_equal(delivery_log_minutes_since(delivery_log_minute(then), then), 0);
        assert_int_equal(
            delivery_log_minutes_since(delivery_log_minute(then), then + 5 * minute_ns), 5);
        assert_int_equal(
            delivery_log_minutes_since(delivery_log_minute(then), then + year * minute_ns), year);
        assert_int_equal(
            delivery_log_minutes_since(delivery_log_minute(then + 7 * minute_ns), then), 0);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, hook_rig_set_up, restarted_hook_clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_parked_ends_are_bounded_by_number),
        TEST(test_parked_ends_are_bounded_by_age),
        TEST(test_a_name_that_was_forgotten_is_new),
        TEST(test_a_parked_object_that_exists_is_kept),
        TEST(test_parked_ends_grow_older_over_restarts),
        TEST(test_a_parked_hook_stays_parked_over_restarts),
        TEST(test_an_object_that_came_back_while_no_process_ran_wakes_a_parked_hook),
        TEST(test_a_batch_parked_over_two_events_of_a_key_stays_parked),
        TEST(test_parked_ends_of_an_earlier_process_are_bounded_too),
        TEST(test_ends_of_a_batch_grow_older_over_restarts),
        cmocka_unit_test(test_minutes_are_distinguished_for_a_year),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

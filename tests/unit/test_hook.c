/* SPDX-License-Identifier: Apache-2.0 */
#include "hook_rig.h"

/* Hooks over two watches: their gate, retries, slots, and ends that are superseded. */

enum { ALL = HOOK_RIG_ALL, INITIAL_MS = HOOK_RIG_INITIAL_MS };

static int set_up(void **state)
{
    (void)state;
    hook_rig_init(2, NULL, NULL);
    return 0;
}

static struct hook *add(enum hook_mode mode, unsigned events, enum hook_existing existing,
                        size_t sources)
{
    return hook_rig_add(&(struct hook_rig_hook){
        .rules = {.mode = mode, .existing = existing},
          .events = events, .sources = sources
    });
}

static struct hook *add_object(unsigned events)
{
    return add(HOOK_OBJECT, events, HOOK_EXISTING_RUN, 1);
}

static void change(enum delta_type type, const char *key, const char *uid, const char *data)
{
    hook_rig_change(0, type, key, uid, data);
}

/* The run ends, and its next try is so many ms away. */
static uint64_t end(struct run *run, bool ok)
{
    return hook_rig_end(run, ok ? 0 : 3).retry_ms;
}

static void fail_once(enum delta_type type, const char *uid)
{
    uint64_t retry = end(hook_rig_starts(type, uid), false);

    if (retry != NEVER_MS)
        hook_rig.now += retry;
}

static void test_nothing_runs_before_all_sources_are_synced(void **state)
{
    (void)state;
    struct hook *h = add(HOOK_OBJECT, ALL, HOOK_EXISTING_RUN, 2);
    change(DELTA_ADDED, "ns/a", "u1", NULL);
    change(DELTA_ADDED, "ns/b", "u2", NULL);
    hook_rig_nothing();
    hook_rig_sync(0);
    hook_rig_nothing();
    assert_int_equal(h->gate, GATE_CLOSED);
    assert_int_equal(hooks_wake_ms(&hook_rig.hooks), NEVER_MS);
    change(DELTA_DELETED, "ns/b", "u2", NULL); /* no run was started with it */
    hook_rig_sync(1);
    struct run *run = hook_rig_starts(DELTA_ADDED, "u1");
    assert_int_equal(run->reason, RUN_EXISTING);
    assert_int_equal(run->attempt, 1);
    hook_rig_nothing();
    assert_false(hooks_ready(&hook_rig.hooks));
    end(run, false); /* ready means: the run has ended, well or not */
    assert_true(hooks_ready(&hook_rig.hooks));
}

static void test_reasons_are_existing_change_and_retry(void **state)
{
    (void)state;
    add_object(ALL);
    change(DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_sync(0);
    struct run *run = hook_rig_starts(DELTA_ADDED, "u1");
    assert_int_equal(run->reason, RUN_EXISTING);
    assert_int_equal(end(run, false), INITIAL_MS);
    hook_rig_nothing();
    hook_rig.now += INITIAL_MS;
    run = hook_rig_starts(DELTA_ADDED, "u1");
    assert_int_equal(run->reason, RUN_RETRY);
    assert_int_equal(run->attempt, 2);
    assert_int_equal(end(run, true), NEVER_MS);
    change(DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    run = hook_rig_starts(DELTA_MODIFIED, "u1");
    assert_int_equal(run->reason, RUN_CHANGE);
    assert_int_equal(run->attempt, 1);
    end(run, true);
}

static void test_an_empty_snapshot_runs_once(void **state)
{
    (void)state;
    struct hook *h = add(HOOK_SNAPSHOT, ALL, HOOK_EXISTING_RUN, 1);
    hook_rig_nothing();
    hook_rig_sync(0);
    struct run *run = hook_rig_next();
    assert_int_equal(run->event_count, 0);
    assert_int_equal(run->reason, RUN_EXISTING);
    assert_false(hooks_ready(&hook_rig.hooks));
    assert_int_equal(end(run, false), INITIAL_MS);
    assert_true(hooks_ready(&hook_rig.hooks));
    assert_int_equal(h->gate, GATE_FIRST); /* and the first run is still due */
    change(DELTA_ADDED, "ns/a", "u1", NULL);
    change(DELTA_DELETED, "ns/a", "u1", NULL);
    hook_rig.now += INITIAL_MS;
    run = hook_rig_next();
    assert_int_equal(run->reason, RUN_RETRY);
    end(run, true);
    assert_int_equal(h->gate, GATE_OPEN);
    hook_rig_nothing();
    assert_int_equal(hooks_wake_ms(&hook_rig.hooks), NEVER_MS);
}

static void test_existing_objects_are_skipped_when_asked(void **state)
{
    (void)state;
    add(HOOK_OBJECT, ALL, HOOK_EXISTING_SKIP, 1);
    add(HOOK_SNAPSHOT, ALL, HOOK_EXISTING_SKIP, 1);
    change(DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_nothing();
    assert_true(hooks_ready(&hook_rig.hooks));
    change(DELTA_MODIFIED, "ns/a", "u1", "\"a\":1");
    hook_rig_nothing(); /* the object counts as handled */
    change(DELTA_DELETED, "ns/a", "u1", "\"a\":1");
    hook_rig_pass(DELTA_DELETED, "u1"); /* the object counts as delivered, too */
    hook_rig_pass(DELTA_DELETED, "u1");
    hook_rig_nothing();
}

static void test_a_hook_for_deletes_gets_ends_of_existing_objects(void **state)
{
    (void)state;
    struct hook *h = add_object(1U << DELTA_DELETED);
    change(DELTA_ADDED, "ns/a", "u1", NULL);
    change(DELTA_ADDED, "ns/gone", "u9", NULL);
    change(DELTA_DELETED, "ns/gone", "u9", NULL);
    hook_rig_sync(0);
    hook_rig_nothing();
    assert_int_equal(h->gate, GATE_OPEN);
    change(DELTA_DELETED, "ns/a", "u1", NULL);
    hook_rig_pass(DELTA_DELETED, "u1");
    hook_rig_nothing();
}

static void open_with(const char *uid)
{
    change(DELTA_ADDED, "ns/a", uid, NULL);
    hook_rig_sync(0);
    hook_rig_pass(DELTA_ADDED, uid);
}

/* A hook that has handled u1, which was modified after that. */
static void add_modified(void)
{
    add_object(ALL);
    open_with("u1");
    change(DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
}

/* So many runs for this event of u1 fail, each when it is due. */
static void fail_times(int n, enum delta_type type)
{
    for (int i = 0; i < n; i++)
        fail_once(type, "u1");
}

static void test_a_delete_that_failed_five_times_is_superseded(void **state)
{
    (void)state;
    add_object(ALL);
    open_with("u1");
    change(DELTA_DELETED, "ns/a", "u1", NULL);
    change(DELTA_ADDED, "ns/a", "u2", NULL);
    fail_times(5, DELTA_DELETED);
    struct run *run = hook_rig_starts(DELTA_ADDED, "u2");
    assert_int_equal(run->reason, RUN_CHANGE);
    assert_int_equal(run->attempt, 1);
    end(run, true);
    hook_rig_nothing();
}

static void test_a_left_that_failed_five_times_is_superseded(void **state)
{
    (void)state;
    add_object(ALL);
    open_with("u1");
    change(DELTA_LEFT, "ns/a", "u1", NULL);
    change(DELTA_ADDED, "ns/a", "u2", NULL);
    fail_times(5, DELTA_LEFT);
    hook_rig_pass(DELTA_ADDED, "u2");
    hook_rig_nothing();
}

static void test_a_delete_goes_on_failing_until_there_is_a_successor(void **state)
{
    (void)state;
    add_object(ALL);
    open_with("u1");
    change(DELTA_DELETED, "ns/a", "u1", NULL);
    fail_times(7, DELTA_DELETED);
    hook_rig.now -= 100; /* in the middle of the backoff */
    hook_rig_nothing();
    change(DELTA_ADDED, "ns/a", "u2", NULL);
    hook_rig_pass(DELTA_ADDED, "u2");
    hook_rig_nothing();
}

/* The failures before were those of another event. */
static void test_a_delete_behind_failed_changes_has_tries_of_its_own(void **state)
{
    (void)state;
    add_modified();
    fail_times(6, DELTA_MODIFIED);
    change(DELTA_DELETED, "ns/a", "u1", NULL);
    change(DELTA_ADDED, "ns/a", "u2", NULL);
    struct run *run = hook_rig_starts(DELTA_DELETED, "u1");
    assert_int_equal(run->attempt, 1);
    assert_int_equal(end(run, false), INITIAL_MS);
}

static void test_the_end_of_an_incarnation_does_not_wait_for_its_backoff(void **state)
{
    (void)state;
    add_modified();
    fail_times(3, DELTA_MODIFIED);
    struct run *run = hook_rig_starts(DELTA_MODIFIED, "u1");
    change(DELTA_DELETED, "ns/a", "u1", NULL);
    assert_int_equal(end(run, false),
                     NEVER_MS); /* the end does not wait for the backoff of MODIFIED */
    hook_rig_pass(DELTA_DELETED, "u1");
}

static void test_a_change_brings_the_next_try_forward(void **state)
{
    (void)state;
    add_modified();
    fail_times(3, DELTA_MODIFIED);
    assert_int_equal(end(hook_rig_starts(DELTA_MODIFIED, "u1"), false), 8000);
    hook_rig.now += 100;
    change(DELTA_MODIFIED, "ns/a", "u1", "\"a\":3");
    hook_rig_nothing();
    assert_int_equal(hooks_wake_ms(&hook_rig.hooks), hook_rig.now - 100 + INITIAL_MS);
    hook_rig.now += INITIAL_MS - 100;
    struct run *run = hook_rig_starts(DELTA_MODIFIED, "u1");
    assert_int_equal(run->attempt, 5); /* only success resets the backoff */
    end(run, true);
}

/* The last existing key goes away between the end of one run and the start of the next. */
static void test_a_hook_is_ready_when_its_last_existing_key_vanished(void **state)
{
    (void)state;
    struct hook *h = add_object(ALL);
    h->work_queue.params.concurrency = 1;
    change(DELTA_ADDED, "ns/a", "u1", NULL);
    change(DELTA_ADDED, "ns/b", "u2", NULL);
    hook_rig_sync(0);
    hook_rig_pass(DELTA_ADDED, "u1");
    assert_false(hooks_ready(&hook_rig.hooks));
    change(DELTA_DELETED, "ns/b", "u2", NULL);
    assert_true(hooks_ready(&hook_rig.hooks));
    hook_rig_nothing();
}

static void test_one_key_never_runs_twice_at_a_time(void **state)
{
    (void)state;
    add_modified();
    struct run *run = hook_rig_starts(DELTA_MODIFIED, "u1");
    change(DELTA_MODIFIED, "ns/a", "u1", "\"a\":3");
    change(DELTA_ADDED, "ns/b", "u2", NULL);
    struct run *other = hook_rig_starts(DELTA_ADDED, "u2");
    hook_rig_nothing();
    end(run, true);
    hook_rig_pass(DELTA_MODIFIED, "u1");
    end(other, true);
    hook_rig_nothing();
}

static void test_a_hanging_hook_leaves_the_others_their_slot(void **state)
{
    char key[] = "ns/0";

    (void)state;
    add_object(ALL);
    struct hook *other = add_object(ALL);
    hook_rig_sync(0);
    for (; key[3] < '8'; key[3]++)
        change(DELTA_ADDED, key, "u", NULL);
    size_t others = 0;
    for (struct run *run; (run = hooks_next(&hook_rig.hooks, hook_rig.now)) != NULL;)
        others += run->hook == other;
    assert_int_equal(hook_rig.hooks.v[0]->work_queue.running + other->work_queue.running,
                     4); /* 2 own, 2 shared */
    assert_true(others >= 1);
}

static void test_a_failed_snapshot_has_both_incarnations_again(void **state)
{
    (void)state;
    add(HOOK_SNAPSHOT, ALL, HOOK_EXISTING_RUN, 1);
    change(DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_sync(0);
    end(hook_rig_starts(DELTA_ADDED, "u1"), true);
    change(DELTA_DELETED, "ns/a", "u1", NULL);
    change(DELTA_ADDED, "ns/a", "u2", NULL);
    for (int i = 0; i < 3; i++) {
        struct run *run = hook_rig_next();
        assert_int_equal(run->event_count, 2);
        assert_int_equal(run->events[0].ev.type, DELTA_DELETED);
        assert_int_equal(run->events[1].ev.type, DELTA_ADDED);
        uint64_t retry = end(run, i == 2);
        hook_rig.now += i < 2 ? retry : 0;
    }
    hook_rig_nothing();
    change(DELTA_DELETED, "ns/a", "u2", NULL);
    end(hook_rig_starts(DELTA_DELETED, "u2"), true);
    hook_rig_nothing();
}

static void test_pending_counts_what_waits(void **state)
{
    (void)state;
    struct hook *h = add_object(ALL & ~(1U << DELTA_DELETED));
    h->work_queue.params.concurrency = 1;
    hook_rig_sync(0);
    hook_rig_nothing();
    assert_int_equal(hook_oldest_pending_ms(h, hook_rig.now), 0);
    change(DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig.now += 5;
    change(DELTA_ADDED, "ns/b", "u2", NULL);
    assert_int_equal(hook_pending(h), 2);
    struct run *run = hook_rig_starts(DELTA_ADDED, "u1");
    hook_rig.now += 10;
    assert_int_equal(hook_pending(h), 1);
    assert_int_equal(hook_oldest_pending_ms(h, hook_rig.now),
                     15); /* the run is under way, but the change is not handled */
    change(DELTA_DELETED, "ns/a", "u1", NULL); /* the hook does not take DELETED */
    assert_int_equal(hook_pending(h), 1);
    assert_int_equal(hook_oldest_pending_ms(h, hook_rig.now), 10);
    end(run, true);
    hook_rig_pass(DELTA_ADDED, "u2");
    assert_int_equal(hook_pending(h), 0);
}

static void test_results_are_kept_for_people(void **state)
{
    (void)state;
    struct hook *h = add_object(ALL);
    change(DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_sync(0);
    fail_once(DELTA_ADDED, "u1");
    assert_string_equal(h->last_error, "exit");
    assert_int_equal(h->figures.runs_failed, 1);
    assert_int_equal(h->success_ms, 0);
    hook_rig_pass(DELTA_ADDED, "u1");
    assert_string_equal(h->last_error, "");
    assert_int_equal(h->figures.runs_ok, 1);
    assert_int_equal(h->success_ms, hook_rig.now);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, hook_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_runs_before_all_sources_are_synced),
        TEST(test_reasons_are_existing_change_and_retry),
        TEST(test_an_empty_snapshot_runs_once),
        TEST(test_existing_objects_are_skipped_when_asked),
        TEST(test_a_hook_for_deletes_gets_ends_of_existing_objects),
        TEST(test_a_delete_that_failed_five_times_is_superseded),
        TEST(test_a_left_that_failed_five_times_is_superseded),
        TEST(test_a_delete_goes_on_failing_until_there_is_a_successor),
        TEST(test_a_delete_behind_failed_changes_has_tries_of_its_own),
        TEST(test_the_end_of_an_incarnation_does_not_wait_for_its_backoff),
        TEST(test_a_change_brings_the_next_try_forward),
        TEST(test_a_hook_is_ready_when_its_last_existing_key_vanished),
        TEST(test_one_key_never_runs_twice_at_a_time),
        TEST(test_a_hanging_hook_leaves_the_others_their_slot),
        TEST(test_a_failed_snapshot_has_both_incarnations_again),
        TEST(test_pending_counts_what_waits),
        TEST(test_results_are_kept_for_people),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}

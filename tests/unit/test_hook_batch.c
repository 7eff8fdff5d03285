/* SPDX-License-Identifier: Apache-2.0 */
#include "hook_rig.h"

/* Mode batch: all changes since the last handled run, with the newest state of each key
 * (docs/design.md "Hook input"). */

enum { NO_DELETED = 0x3f & ~(1U << DELTA_DELETED | 1U << DELTA_LEFT) };

static struct hook *add(struct hook_rig_hook p)
{
    p.rules.mode = HOOK_BATCH;
    struct hook *h = hook_rig_add(&p);

    hook_rig_sync(0);
    hook_rig_nothing();
    return h;
}

static struct run *starts(size_t events, enum run_reason reason, unsigned attempt)
{
    struct run *run = hook_rig_next();

    assert_int_equal(run->event_count, events);
    assert_int_equal(run->reason, reason);
    assert_int_equal(run->attempt, attempt);
    return run;
}

/* Keys a (u1) and b (u2) are handled. */
static struct hook *add_two(struct hook_rig_hook p)
{
    struct hook *h = add(p);

    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", "\"a\":1");
    hook_rig.now += p.work_queue.settle_ms;
    hook_rig_end(starts(2, RUN_CHANGE, 1), 0);
    return h;
}

static void test_changes_settle_into_one_run_for_all(void **state)
{
    (void)state;
    add((struct hook_rig_hook){
        .work_queue = {.settle_ms = 200, .settle_max_ms = 500}
    });
    uint64_t first = hook_rig.now;
    for (int i = 0; i < 3; i++) {
        hook_rig_change(0, DELTA_ADDED, i == 0 ? "ns/a" : "ns/b", i == 0 ? "u1" : "u2",
                        i == 1 ? "\"a\":1" : "\"a\":2");
        hook_rig.now += 150;
    }
    hook_rig_waits_until(first + 500);
    struct run *run = starts(2, RUN_CHANGE, 1);
    hook_rig_event_is(run, 0, DELTA_ADDED, "u1");
    hook_rig_event_is(run, 1, DELTA_ADDED, "u2");
    hook_rig_end(run, 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_key_has_at_most_an_end_and_the_next_incarnation(void **state)
{
    (void)state;
    add_two((struct hook_rig_hook){0});
    for (int i = 0; i < 3; i++) {
        static const char *const uids[] = {"u3", "u4", "u5"};

        hook_rig_change(0, DELTA_DELETED, "ns/a", i == 0 ? "u1" : uids[i - 1], NULL);
        hook_rig_change(0, DELTA_ADDED, "ns/a", uids[i], NULL);
    }
    struct run *run = starts(2, RUN_CHANGE, 1);
    hook_rig_event_is(run, 0, DELTA_DELETED, "u1");
    hook_rig_event_is(run, 1, DELTA_ADDED, "u5");
    hook_rig_end(run, 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_failed_run_comes_again_with_the_newest_state(void **state)
{
    (void)state;
    add_two((struct hook_rig_hook){0});
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    hook_rig_end(starts(1, RUN_CHANGE, 1), 1);
    hook_rig.now += HOOK_RIG_INITIAL_MS;
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1",
                    "\"a\":1"); /* back to the old state: the failed run may have had effects */
    hook_rig_change(0, DELTA_MODIFIED, "ns/b", "u2", "\"b\":1");
    struct run *run = starts(2, RUN_RETRY, 2);
    hook_rig_event_is(run, 0, DELTA_MODIFIED, "u1");
    assert_string_equal(buf_cstr(&run->events[0].changed), "data.a\n");
    hook_rig_event_is(run, 1, DELTA_MODIFIED, "u2");
    assert_string_equal(buf_cstr(&run->events[1].changed), "data.a\ndata.b\n");
    hook_rig_end(run, 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_changes_during_a_run_come_after_it(void **state)
{
    (void)state;
    struct hook *h = add_two((struct hook_rig_hook){0});
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    struct run *run = starts(1, RUN_CHANGE, 1);
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":3");
    hook_rig_change(0, DELTA_DELETED, "ns/b", "u2", NULL);
    hook_rig_nothing(); /* one run at a time */
    assert_int_equal(hook_pending(h), 2);
    hook_rig_end(run, 0);
    run = starts(2, RUN_CHANGE, 1);
    hook_rig_event_is(run, 0, DELTA_DELETED, "u2");
    hook_rig_event_is(run, 1, DELTA_MODIFIED, "u1");
    hook_rig_end(run, 0);
    hook_rig_waits_until(NEVER_MS);
}

/* However often a batch fails, it leaves out no end: only in mode object is an end superseded. */
static void test_an_end_is_never_superseded(void **state)
{
    (void)state;
    add_two((struct hook_rig_hook){0});
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", NULL);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u3", NULL);
    for (unsigned i = 1; i < 9; i++) {
        struct run *run = starts(2, i == 1 ? RUN_CHANGE : RUN_RETRY, i);
        hook_rig_event_is(run, 0, DELTA_DELETED, "u1");
        hook_rig_event_is(run, 1, DELTA_ADDED, "u3");
        hook_rig.now += hook_rig_end(run, 1).retry_ms;
    }
}

/* The second incarnation was delivered, too: its end is due as well, and the third incarnation
 * waits. */
static void test_two_ends_come_before_the_third_incarnation(void **state)
{
    (void)state;
    add_two((struct hook_rig_hook){0});
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", NULL);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u3", NULL);
    hook_rig.now += hook_rig_end(starts(2, RUN_CHANGE, 1), 1).retry_ms;
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u3", NULL);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u4", NULL);
    struct run *run = starts(2, RUN_RETRY, 2);
    hook_rig_event_is(run, 0, DELTA_DELETED, "u1");
    hook_rig_event_is(run, 1, DELTA_DELETED, "u3");
    hook_rig_end(run, 0);
    hook_rig_pass(DELTA_ADDED, "u4");
    hook_rig_waits_until(NEVER_MS);
}

static void test_changes_that_cancel_out_start_no_run(void **state)
{
    (void)state;
    struct hook *h = add((struct hook_rig_hook){
        .work_queue = {.settle_ms = 200, .settle_max_ms = 500}
    });
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", NULL);
    hook_rig_waits_until(NEVER_MS);
    assert_int_equal(map_count(&h->queue.sources[0].by_key), 0);
}

/* The run that failed cannot be tried again: it would have no event. The backoff starts anew. */
static void test_a_failure_whose_events_vanish_is_forgotten(void **state)
{
    (void)state;
    add((struct hook_rig_hook){.events = NO_DELETED});
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_end(starts(1, RUN_CHANGE, 1), 1);
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", NULL);
    hook_rig_waits_until(NEVER_MS);
    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
    hook_rig_end(starts(1, RUN_CHANGE, 1), 0);
}

static void test_old_objects_are_those_handled_last(void **state)
{
    (void)state;
    add_two((struct hook_rig_hook){.rules = {.include_old = true}});
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    hook_rig_change(0, DELTA_ADDED, "ns/c", "u3", "\"a\":1");
    struct run *run = starts(2, RUN_CHANGE, 1);
    struct object *old = objects_make("ns/a", "u1", "1", "\"a\":1");
    assert_true(object_same(run->events[0].old, old));
    assert_null(run->events[1].old);
    hook_rig_end(run, 1);
    hook_rig.now += HOOK_RIG_INITIAL_MS;
    run = starts(2, RUN_RETRY, 2);
    assert_true(object_same(run->events[0].old, old)); /* a failed run handles nothing */
    hook_rig_end(run, 0);
    object_unref(&old);
}

static void test_the_reason_of_first_runs_is_existing(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){.rules = {.mode = HOOK_BATCH}});
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_sync(0);
    struct run *run = starts(1, RUN_EXISTING, 1);
    assert_int_equal(h->gate, GATE_FIRST);
    hook_rig_end(run, 1);
    assert_true(hooks_ready(&hook_rig.hooks)); /* the run has ended, though not well */
    hook_rig.now += HOOK_RIG_INITIAL_MS;
    hook_rig_end(starts(1, RUN_RETRY, 2), 0);
    assert_int_equal(h->gate, GATE_OPEN);
    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
    hook_rig_end(starts(1, RUN_CHANGE, 1), 0);
}

static void test_a_preview_changes_nothing(void **state)
{
    static const enum hook_mode modes[] = {HOOK_BATCH, HOOK_SNAPSHOT};

    for (size_t i = 0; i < 2; i++) {
        struct hook *h = hook_rig_add(&(struct hook_rig_hook){.rules = {.mode = modes[i]}});
        hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
        hook_rig_sync(0);
        hook_pause(h, true);
        hook_rig_nothing();
        for (int n = 0; n < 2; n++) {
            struct run *run = run_preview(h, NULL, hook_rig.now);
            assert_non_null(run);
            assert_int_equal(run->id, 0);
            assert_int_equal(run->event_count, 1);
            assert_int_equal(run->reason, RUN_EXISTING);
            run_free(run);
        }
        hook_pause(h, false);
        hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", NULL); /* no run was started with it */
        for (struct run *run; (run = hooks_next(&hook_rig.hooks, hook_rig.now)) != NULL;) {
            assert_int_equal(run->event_count, 0);
            hook_rig_end(run, 0);
        }
        hook_rig_clean_up(state);
        hook_rig_set_up(state);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, hook_rig_set_up, hook_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_changes_settle_into_one_run_for_all),
        TEST(test_a_key_has_at_most_an_end_and_the_next_incarnation),
        TEST(test_a_failed_run_comes_again_with_the_newest_state),
        TEST(test_changes_during_a_run_come_after_it),
        TEST(test_an_end_is_never_superseded),
        TEST(test_two_ends_come_before_the_third_incarnation),
        TEST(test_changes_that_cancel_out_start_no_run),
        TEST(test_a_failure_whose_events_vanish_is_forgotten),
        TEST(test_old_objects_are_those_handled_last),
        TEST(test_the_reason_of_first_runs_is_existing),
        TEST(test_a_preview_changes_nothing),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}

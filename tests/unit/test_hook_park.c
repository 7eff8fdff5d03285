/* SPDX-License-Identifier: Apache-2.0 */
#include "hook_rig.h"

/* After a failed run: the backoff, parking, ends of incarnations that are superseded. */

enum { PARK = 75, ADDED_DELETED = 1U << DELTA_ADDED | 1U << DELTA_DELETED };

/* A hook that has handled u1 of ns/a. */
static struct hook *add_handled(struct hook_rig_hook p)
{
    return hook_rig_add_handled(&p, "\"a\":1,\"b\":1");
}

static void modify(const char *data)
{
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", data);
}

static void parks(const struct hook *h, struct run *run, int status)
{
    struct hooks_verdict v = hook_rig_end(run, status);

    assert_int_equal(v.outcome, HISTORY_PARKED);
    assert_int_equal(v.retry_ms, NEVER_MS);
    assert_int_equal(hook_parked(h), 1);
    assert_int_equal(hook_pending(h), 0);
    assert_int_equal(hook_oldest_pending_ms(h, hook_rig.now), 0);
    assert_true(hooks_quiet(&hook_rig.hooks));
    hook_rig_waits_until(NEVER_MS);
}

static void test_park_exit_waits_for_a_change(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){.park_exit = PARK});
    modify("\"a\":2");
    parks(h, hook_rig_starts(DELTA_MODIFIED, "u1"), PARK);
    hook_rig.now += 10000000;
    hook_rig_nothing();
    modify("\"a\":3");
    assert_int_equal(hook_parked(h), 0);
    hook_rig_end(hook_rig_starts_as(DELTA_MODIFIED, "u1", RUN_RETRY, 2), 0);
    modify("\"a\":4");
    hook_rig_end(hook_rig_starts_as(DELTA_MODIFIED, "u1", RUN_CHANGE, 1),
                 0); /* only success resets the backoff */
}

static void test_other_exit_codes_do_not_park(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){.park_exit = PARK});
    modify("\"a\":2");
    struct run *run = hook_rig_next();
    const struct run_result killed = {
        .end = {.value = PARK, .cut = RUN_CUT_TIMEOUT},
          .text = "killed"
    };
    struct hooks_verdict v = hooks_finish(&hook_rig.hooks, run, &killed, hook_rig.now);
    assert_int_equal(v.outcome, HISTORY_FAILED);
    assert_int_equal(v.retry_ms, HOOK_RIG_INITIAL_MS);
    hook_rig.now += HOOK_RIG_INITIAL_MS;
    assert_int_equal(hook_rig_end(hook_rig_next(), PARK + 1).retry_ms, 2000);
    hook_rig.now += 2000;
    const struct run_result check = {
        .end = {.program = RUN_PROGRAM_CHECK, .value = PARK},
          .text = "check"
    };
    v = hooks_finish(&hook_rig.hooks, hook_rig_next(), &check, hook_rig.now);
    assert_int_equal(v.outcome, HISTORY_FAILED);
    assert_int_equal(hook_parked(h), 0);
}

static void test_a_run_whose_input_cannot_be_made_is_parked(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){0});
    modify("\"a\":2");
    const struct run_result unfit = {
        .end = {.kind = RUN_END_REFUSED, .stage = RUN_STAGE_FIELDS},
          .text = "fields: a NUL"
    };
    assert_int_equal(hooks_finish(&hook_rig.hooks, hook_rig_next(), &unfit, hook_rig.now).outcome,
                     HISTORY_PARKED);
    assert_int_equal(hook_parked(h), 1);
    assert_string_equal(h->last_error, "fields: a NUL");
    hook_rig_waits_until(NEVER_MS);
}

static void test_attempts_used_up_park_and_a_change_gives_one_more(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){.work_queue = {.attempts = 3}});
    modify("\"a\":2");
    hook_rig_fail(DELTA_MODIFIED, "u1", RUN_CHANGE, 1);
    hook_rig.now += 1000;
    hook_rig_fail(DELTA_MODIFIED, "u1", RUN_RETRY, 2);
    hook_rig.now += 2000;
    parks(h, hook_rig_starts_as(DELTA_MODIFIED, "u1", RUN_RETRY, 3), 1);
    hook_rig.now += 50000;
    modify("\"a\":3");
    parks(h, hook_rig_starts_as(DELTA_MODIFIED, "u1", RUN_RETRY, 4), 1);
}

static void test_a_change_of_a_parked_key_waits_for_the_first_step(void **state)
{
    (void)state;
    add_handled((struct hook_rig_hook){.park_exit = PARK});
    modify("\"a\":2");
    hook_rig_end(hook_rig_next(), PARK);
    uint64_t end = hook_rig.now;
    hook_rig.now += 300;
    modify("\"a\":3");
    hook_rig_waits_until(end + HOOK_RIG_INITIAL_MS);
    hook_rig_pass(DELTA_MODIFIED, "u1");
}

static void test_a_change_while_it_fails_keeps_it_from_being_parked(void **state)
{
    (void)state;
    struct hook *h =
        add_handled((struct hook_rig_hook){.park_exit = PARK, .work_queue = {.attempts = 1}});
    modify("\"a\":2");
    for (int status = 1; status <= PARK; status += PARK - 1) {
        struct run *run = hook_rig_starts(DELTA_MODIFIED, "u1");
        modify(status == 1 ? "\"a\":3" : "\"a\":4");
        struct hooks_verdict v = hook_rig_end(run, status);
        assert_int_equal(v.retry_ms, HOOK_RIG_INITIAL_MS);
        assert_int_equal(v.outcome, HISTORY_FAILED); /* the key is not parked */
        hook_rig.now += HOOK_RIG_INITIAL_MS;
    }
    parks(h, hook_rig_starts(DELTA_MODIFIED, "u1"), PARK);
}

/* With changes_in, a change of other paths is no reason to try a failed run any sooner. */
static void test_a_change_that_does_not_count_does_not_retry_a_failed_key(void **state)
{
    static const enum hook_mode modes[] = {HOOK_OBJECT, HOOK_BATCH, HOOK_SNAPSHOT};

    for (size_t i = 0; i < 3; i++) {
        struct hook *h = hook_rig_add(&(struct hook_rig_hook){
            .rules = {.mode = modes[i]}, .path = "data.a", .park_exit = PARK});

        hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1,\"b\":1");
        hook_rig_change(0, DELTA_ADDED, "ns/z", "u9", "\"a\":1,\"b\":1");
        hook_rig_sync(0);
        for (struct run *run; (run = hooks_next(&hook_rig.hooks, hook_rig.now)) != NULL;)
            hook_rig_end(run, 0);
        modify("\"a\":2,\"b\":1");
        hook_rig_fail(DELTA_MODIFIED, "u1", RUN_CHANGE, 1);
        hook_rig.now += 1000;
        hook_rig_fail(DELTA_MODIFIED, "u1", RUN_RETRY, 2);
        uint64_t due = hook_rig.now + 2000;
        hook_rig.now += 1500;
        modify("\"a\":2,\"b\":2");
        hook_rig_change(0, DELTA_MODIFIED, "ns/z", "u9", "\"a\":1,\"b\":2");
        hook_rig_waits_until(due);
        struct run *run = hook_rig_starts_as(DELTA_MODIFIED, "u1", RUN_RETRY, 3);
        modify("\"a\":2,\"b\":3");
        assert_int_equal(hook_rig_end(run, PARK).outcome, HISTORY_PARKED);
        modify("\"a\":2,\"b\":4");
        hook_rig_change(0, DELTA_MODIFIED, "ns/z", "u9", "\"a\":1,\"b\":4");
        hook_rig_waits_until(NEVER_MS);
        assert_int_equal(hook_parked(h), 1);
        hook_rig.now += 1000;
        modify("\"a\":3,\"b\":4");
        run = hook_rig_starts_as(DELTA_MODIFIED, "u1", RUN_RETRY, 4);
        assert_true(str_is(object_rv(run->events[0].ev.object), "1"));
        hook_rig_end(run, 0);
        hook_rig_clean_up(state);
        hook_rig_set_up(state);
    }
}

static void test_a_change_that_does_not_count_does_not_prolong_settling(void **state)
{
    static const enum hook_mode modes[] = {HOOK_OBJECT, HOOK_BATCH, HOOK_SNAPSHOT};

    for (size_t i = 0; i < 3; i++) {
        hook_rig_add(&(struct hook_rig_hook){
            .rules = {.mode = modes[i], .existing = HOOK_EXISTING_SKIP},
            .path = "data.a",
            .work_queue = {.settle_ms = 200, .settle_max_ms = 9000         }
        });
        hook_rig_sync(0);
        hook_rig_nothing();
        hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1,\"b\":1");
        hook_rig.now += 200;
        hook_rig_pass(DELTA_ADDED, "u1");
        modify("\"a\":2,\"b\":1");
        uint64_t due = hook_rig.now + 200;
        hook_rig.now += 100;
        modify("\"a\":2,\"b\":2");
        hook_rig_waits_until(due);
        hook_rig_pass(DELTA_MODIFIED, "u1");
        hook_rig_waits_until(NEVER_MS);
        hook_rig_clean_up(state);
        hook_rig_set_up(state);
    }
}

/* A parked batch stays parked when events come that the hook does not take. */
static void test_events_that_are_not_taken_do_not_wake_a_parked_batch(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){
        .rules = {.mode = HOOK_BATCH}, .events = 1U << DELTA_ADDED, .park_exit = PARK});
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_end(hook_rig_next(), 0);
    hook_rig_change(0, DELTA_ADDED, "ns/c", "u3", NULL);
    parks(h, hook_rig_starts(DELTA_ADDED, "u3"), PARK);
    modify("\"a\":2");
    hook_rig_change(0, DELTA_DELETED, "ns/b", "u2", "\"a\":1");
    hook_rig.now += 5000;
    hook_rig_waits_until(NEVER_MS);
    hook_rig_change(0, DELTA_ADDED, "ns/d", "u4", NULL);
    hook_rig_next();
}

static void test_a_batch_is_parked_until_anything_changes(void **state)
{
    static const enum hook_mode modes[] = {HOOK_BATCH, HOOK_SNAPSHOT};

    for (size_t i = 0; i < 2; i++) {
        struct hook *h =
            hook_rig_add(&(struct hook_rig_hook){.rules = {.mode = modes[i]}, .park_exit = PARK});
        hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
        hook_rig_sync(0);
        parks(h, hook_rig_starts(DELTA_ADDED, "u1"), PARK);
        assert_true(hooks_ready(&hook_rig.hooks));
        hook_rig.now += 5000;
        hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
        struct run *run = hook_rig_next();
        assert_int_equal(run->event_count, 2);
        assert_int_equal(run->reason, RUN_RETRY);
        assert_int_equal(run->attempt, 2);
        hook_rig_end(run, 0);
        hook_rig_clean_up(state);
        hook_rig_set_up(state);
    }
}

static void test_another_incarnation_starts_a_new_backoff_at_once(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){.park_exit = PARK});
    modify("\"a\":2");
    parks(h, hook_rig_next(), PARK);
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", NULL);
    assert_int_equal(hook_parked(h), 0);
    hook_rig_end(hook_rig_starts_as(DELTA_DELETED, "u1", RUN_CHANGE, 1), 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_parked_key_that_is_no_more_is_forgotten(void **state)
{
    (void)state;
    struct hook *h =
        hook_rig_add(&(struct hook_rig_hook){.events = 1U << DELTA_ADDED, .park_exit = PARK});
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_sync(0);
    parks(h, hook_rig_next(), PARK);
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", NULL);
    assert_int_equal(hook_parked(h), 0);
    assert_int_equal(map_count(&h->queue.sources[0].by_key), 0);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u2", NULL);
    hook_rig_end(hook_rig_starts_as(DELTA_ADDED, "u2", RUN_CHANGE, 1), 0);
}

static void delete_and_add(void)
{
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", NULL);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u2", NULL);
}

static void test_a_delete_that_is_parked_is_superseded_at_once(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){.park_exit = PARK});
    delete_and_add();
    struct hooks_verdict v = hook_rig_end(hook_rig_starts(DELTA_DELETED, "u1"), PARK);
    assert_int_equal(v.outcome, HISTORY_FAILED); /* the key goes on */
    assert_int_equal(hook_parked(h), 0);
    hook_rig_end(hook_rig_starts_as(DELTA_ADDED, "u2", RUN_CHANGE, 1), 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_delete_with_its_attempts_used_up_is_superseded_at_once(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){.work_queue = {.attempts = 2}});
    delete_and_add();
    hook_rig_fail(DELTA_DELETED, "u1", RUN_CHANGE, 1);
    hook_rig.now += 1000;
    hook_rig_fail(DELTA_DELETED, "u1", RUN_RETRY, 2);
    assert_int_equal(hook_parked(h), 0);
    hook_rig_end(hook_rig_starts_as(DELTA_ADDED, "u2", RUN_CHANGE, 1), 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_parked_delete_is_superseded_by_a_later_incarnation(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){.park_exit = PARK});
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", NULL);
    parks(h, hook_rig_starts(DELTA_DELETED, "u1"), PARK);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u2", NULL);
    hook_rig_end(hook_rig_starts_as(DELTA_ADDED, "u2", RUN_CHANGE, 1), 0);
    hook_rig_waits_until(NEVER_MS);
}

/* The hook takes only DELETED: no run for the next incarnation could supersede the failed end. */
static void test_a_hook_that_takes_only_deleted_tries_the_delete_again(void **state)
{
    (void)state;
    struct hook *h =
        hook_rig_add(&(struct hook_rig_hook){.events = 1U << DELTA_DELETED, .park_exit = PARK});
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_sync(0);
    hook_rig_nothing();
    delete_and_add();
    parks(h, hook_rig_starts(DELTA_DELETED, "u1"), PARK);
    hook_rig.now += 5000;
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u2", "\"a\":1");
    hook_rig_end(hook_rig_starts_as(DELTA_DELETED, "u1", RUN_RETRY, 2), 0);
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u2", NULL);
    hook_rig_pass(DELTA_DELETED, "u2");
    hook_rig_waits_until(NEVER_MS);
}

static void test_an_incarnation_that_ends_before_its_run_leaves_the_delete(void **state)
{
    (void)state;
    struct hook *h =
        add_handled((struct hook_rig_hook){.park_exit = PARK, .events = ADDED_DELETED});
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", NULL);
    parks(h, hook_rig_starts(DELTA_DELETED, "u1"), PARK);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u2", NULL);
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u2", NULL);
    hook_rig_pass(DELTA_DELETED, "u1");
    hook_rig_waits_until(NEVER_MS);
    assert_int_equal(map_count(&h->queue.sources[0].by_key), 0);
}

/* A run that was started may have had effects. */
static void test_a_change_there_and_back_after_a_failure_runs_again(void **state)
{
    (void)state;
    add_handled((struct hook_rig_hook){.park_exit = PARK});
    modify("\"a\":2,\"b\":1");
    hook_rig_end(hook_rig_next(), PARK);
    hook_rig.now += 5000;
    modify("\"a\":1,\"b\":1");
    struct run *run = hook_rig_starts_as(DELTA_MODIFIED, "u1", RUN_RETRY, 2);
    assert_string_equal(buf_cstr(&run->events[0].changed), "data.a\n");
    hook_rig_end(run, 0);
    modify("\"a\":2,\"b\":1");
    modify("\"a\":1,\"b\":1"); /* no run was started */
    hook_rig_waits_until(NEVER_MS);
}

static void test_changed_has_the_paths_of_all_runs_since_the_handled_state(void **state)
{
    (void)state;
    add_handled((struct hook_rig_hook){.rules = {.include_old = true}});
    modify("\"a\":2,\"b\":1");
    hook_rig_fail(DELTA_MODIFIED, "u1", RUN_CHANGE, 1);
    hook_rig.now += 1000;
    modify("\"a\":1,\"b\":2");
    struct run *run = hook_rig_next();
    assert_string_equal(buf_cstr(&run->events[0].changed), "data.a\ndata.b\n");
    assert_true(object_same(run->events[0].old, run->events[0].old));
    hook_rig_end(run, 1);
    hook_rig.now += 2000;
    modify("\"a\":1,\"b\":1,\"c\":1");
    run = hook_rig_next();
    assert_string_equal(buf_cstr(&run->events[0].changed), "data.a\ndata.b\ndata.c\n");
    hook_rig_end(run, 0);
    modify("\"a\":1,\"b\":1,\"c\":2");
    run = hook_rig_next();
    assert_string_equal(buf_cstr(&run->events[0].changed), "data.c\n");
    hook_rig_end(run, 0);
}

/* The run for the end may have undone anything, so all may have changed when the object is back. The
 * paths that earlier runs had as changed do not count after that. */
static void test_changed_forgets_the_paths_of_an_incarnation_that_ended(void **state)
{
    (void)state;
    hook_rig_add(&(struct hook_rig_hook){.events = 1U << DELTA_MODIFIED | 1U << DELTA_DELETED});
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_nothing();
    modify("\"a\":2");
    hook_rig_fail(DELTA_MODIFIED, "u1", RUN_CHANGE, 1);
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", "\"a\":2");
    hook_rig_fail(DELTA_DELETED, "u1", RUN_CHANGE, 1);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1",
                    "\"a\":2"); /* the object is back, and the hook does not take ADDED */
    hook_rig.now += 2000;
    struct run *run = hook_rig_starts(DELTA_MODIFIED, "u1");
    assert_string_equal(buf_cstr(&run->events[0].changed), "*\n");
    hook_rig_end(run, 0);
    modify("\"a\":2,\"b\":1");
    run = hook_rig_starts(DELTA_MODIFIED, "u1");
    assert_string_equal(buf_cstr(&run->events[0].changed), "data.b\n");
    hook_rig_end(run, 0);
}

/* A hook that does not take ADDED accepts the next incarnation without a run: a DELETED that keeps
 * failing does not hold up the changes and the end of that incarnation. */
static void next_incarnation_is_delivered(const struct hook_rig_hook *p, int status, unsigned runs)
{
    struct hook *h = hook_rig_add(p);

    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_nothing();
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", "\"a\":1");
    for (unsigned i = 1; i < runs; i++) {
        uint64_t ms = hook_rig_end(hook_rig_starts(DELTA_DELETED, "u1"), status).retry_ms;

        hook_rig.now += ms;
    }
    struct run *last = hook_rig_starts(DELTA_DELETED, "u1");
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u2", "\"a\":1");
    hook_rig_end(last, status);
    hook_rig_waits_until(NEVER_MS);
    assert_int_equal(hook_parked(h), 0);
    assert_int_equal(hook_pending(h), 0);
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u2", "\"a\":2");
    struct run *run = hook_rig_starts(DELTA_MODIFIED, "u2");
    assert_int_equal(run->attempt, 1);
    assert_true(str_is(buf_str(&run->events[0].changed), "data.a\n"));
    hook_rig_end(run, 0);
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u2", "\"a\":2");
    hook_rig_pass(DELTA_DELETED, "u2");
    hook_rig_waits_until(NEVER_MS);
}

static void test_an_end_is_superseded_for_hooks_without_added_too(void **state)
{
    static const unsigned events = 1U << DELTA_MODIFIED | 1U << DELTA_DELETED;

    next_incarnation_is_delivered(&(struct hook_rig_hook){.events = events, .park_exit = 75}, 75,
                                  1);
    hook_rig_clean_up(state);
    hook_rig_set_up(state);
    next_incarnation_is_delivered(&(struct hook_rig_hook){.events = events}, 1, 5);
    hook_rig_clean_up(state);
    hook_rig_set_up(state);
    next_incarnation_is_delivered(
        &(struct hook_rig_hook){.events = events, .work_queue = {.attempts = 2}}, 1, 2);
}

/* The same when the end is parked before the next incarnation comes. */
static void test_a_parked_end_is_superseded_for_hooks_without_added_too(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){
        .events = 1U << DELTA_MODIFIED | 1U << DELTA_DELETED, .park_exit = 75});
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_nothing();
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", "\"a\":1");
    hook_rig_end(hook_rig_starts(DELTA_DELETED, "u1"), 75);
    assert_int_equal(hook_parked(h), 1);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u2", "\"a\":1");
    hook_rig_waits_until(NEVER_MS);
    assert_int_equal(hook_parked(h), 0);
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u2", "\"a\":2");
    hook_rig_pass(DELTA_MODIFIED, "u2");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, hook_rig_set_up, hook_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_park_exit_waits_for_a_change),
        TEST(test_other_exit_codes_do_not_park),
        TEST(test_a_run_whose_input_cannot_be_made_is_parked),
        TEST(test_attempts_used_up_park_and_a_change_gives_one_more),
        TEST(test_a_change_of_a_parked_key_waits_for_the_first_step),
        TEST(test_a_change_while_it_fails_keeps_it_from_being_parked),
        TEST(test_a_change_that_does_not_count_does_not_retry_a_failed_key),
        TEST(test_a_change_that_does_not_count_does_not_prolong_settling),
        TEST(test_events_that_are_not_taken_do_not_wake_a_parked_batch),
        TEST(test_a_batch_is_parked_until_anything_changes),
        TEST(test_another_incarnation_starts_a_new_backoff_at_once),
        TEST(test_a_parked_key_that_is_no_more_is_forgotten),
        TEST(test_a_delete_that_is_parked_is_superseded_at_once),
        TEST(test_a_delete_with_its_attempts_used_up_is_superseded_at_once),
        TEST(test_a_parked_delete_is_superseded_by_a_later_incarnation),
        TEST(test_a_hook_that_takes_only_deleted_tries_the_delete_again),
        TEST(test_an_incarnation_that_ends_before_its_run_leaves_the_delete),
        TEST(test_a_change_there_and_back_after_a_failure_runs_again),
        TEST(test_changed_has_the_paths_of_all_runs_since_the_handled_state),
        TEST(test_changed_forgets_the_paths_of_an_incarnation_that_ended),
        TEST(test_an_end_is_superseded_for_hooks_without_added_too),
        TEST(test_a_parked_end_is_superseded_for_hooks_without_added_too),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}

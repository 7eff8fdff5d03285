/* SPDX-License-Identifier: Apache-2.0 */
#include "hook_rig.h"

/* Runs that a person asks for. */

enum { PARK = 75 };

static enum err_kind try_to_ask(struct hook *h, const char *key)
{
    struct err err = {0};
    enum err_kind kind =
        hook_run_manually(h, key != NULL ? str_c(key) : (struct str){.p = NULL}, &err);

    assert_true(kind == ERR_OK || err.text[0] != '\0');
    return kind;
}

static void ask(struct hook *h, const char *key)
{
    assert_int_equal(try_to_ask(h, key), ERR_OK);
}

static void manual_run_is(const struct hook *h, size_t total, size_t left, size_t failed)
{
    assert_int_equal(hook_rig_manual_run(h)->total, total);
    assert_int_equal(hook_rig_manual_run(h)->left, left);
    assert_int_equal(hook_rig_manual_run(h)->failed, failed);
}

static struct run *starts_manual(enum delta_type type, const char *uid, unsigned attempt)
{
    return hook_rig_starts_as(type, uid, RUN_MANUAL, attempt);
}

static size_t known(const struct hook *h)
{
    return map_count(&h->queue.sources[0].by_key);
}

/* A hook that has handled ns/a. */
static struct hook *add_handled(struct hook_rig_hook p)
{
    return hook_rig_add_handled(&p, "\"a\":1");
}

static void test_a_manual_run_of_an_unchanged_key_has_modified(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){0});
    ask(h, "ns/a");
    manual_run_is(h, 1, 1, 0);
    struct run *run = starts_manual(DELTA_MODIFIED, "u1", 1);
    assert_int_equal(run->events[0].changed.len, 0);
    hook_rig_end(run, 0);
    manual_run_is(h, 1, 0, 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_manual_run_without_modified_has_added(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){.events = 1U << DELTA_ADDED});
    ask(h, "ns/a");
    hook_rig_end(starts_manual(DELTA_ADDED, "u1", 1), 1);
    manual_run_is(h, 1, 0, 1);
    hook_rig.now += HOOK_RIG_INITIAL_MS;
    hook_rig_fail(DELTA_ADDED, "u1", RUN_RETRY, 2); /* the effects of the run before may be gone */
    hook_rig.now += 2000;
    hook_rig_pass(DELTA_ADDED, "u1");
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_manual_run_does_not_settle(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){
        .work_queue = {.settle_ms = 100, .settle_max_ms = 1000}
    });
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    hook_rig_nothing();
    ask(h, "ns/a");
    hook_rig_end(starts_manual(DELTA_MODIFIED, "u1", 1), 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_manual_run_does_not_wait_for_the_backoff_but_counts_in_it(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){0});
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    hook_rig_fail(DELTA_MODIFIED, "u1", RUN_CHANGE, 1);
    hook_rig_nothing();
    ask(h, "ns/a");
    assert_int_equal(hook_rig_end(starts_manual(DELTA_MODIFIED, "u1", 2), 1).retry_ms, 2000);
    manual_run_is(h, 1, 0, 1);
    hook_rig.now += 2000;
    struct run *run = hook_rig_starts(DELTA_MODIFIED, "u1");
    assert_int_equal(run->reason, RUN_RETRY);
    assert_int_equal(run->attempt, 3);
    hook_rig_end(run, 0);
    manual_run_is(h, 1, 0, 1); /* the run that fulfilled it failed */
}

static void test_a_manual_run_ignores_parking_and_parks_again(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){.park_exit = PARK});
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    hook_rig_end(hook_rig_next(), PARK);
    hook_rig_waits_until(NEVER_MS);
    ask(h, NULL);
    assert_int_equal(hook_parked(h), 0);
    assert_int_equal(hook_rig_end(starts_manual(DELTA_MODIFIED, "u1", 2), PARK).outcome,
                     HISTORY_PARKED);
    manual_run_is(h, 1, 0, 1);
    assert_int_equal(hook_parked(h), 1);
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_manual_run_keeps_min_interval(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){.work_queue = {.min_interval_ms = 500}});
    ask(h, "ns/a");
    hook_rig_waits_until(100500);
    hook_rig_end(starts_manual(DELTA_MODIFIED, "u1", 1), 0);
}

static void test_a_manual_run_waits_for_pause_and_gate(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){0});
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    assert_int_equal(try_to_ask(h, "ns/a"), ERR_BUSY);
    hook_rig_sync(0);
    hook_rig_pass(DELTA_ADDED, "u1");
    hook_pause(h, true);
    assert_int_equal(try_to_ask(h, "ns/a"), ERR_BUSY);
    assert_int_equal(h->manual_runs.last, 0);
    hook_pause(h, false);
    ask(h, "ns/a");
    hook_pause(h, true);
    hook_rig_waits_until(NEVER_MS); /* but the manual run is still wanted */
    hook_pause(h, false);
    hook_rig_end(starts_manual(DELTA_MODIFIED, "u1", 1), 0);
}

static void test_a_manual_run_waits_for_when_stale(void **state)
{
    (void)state;
    struct hook *h = add_handled(
        (struct hook_rig_hook){.events = 0xf, .rules = {.when_stale = HOOK_STALE_WAIT}});
    hook_rig_stale(0, true);
    assert_int_equal(try_to_ask(h, "ns/a"), ERR_BUSY);
    hook_rig_stale(0, false);
    ask(h, "ns/a");
    hook_rig_end(starts_manual(DELTA_MODIFIED, "u1", 1), 0);
}

static void test_a_key_without_an_event_is_not_found(void **state)
{
    (void)state;
    struct hook *deletes = hook_rig_add(&(struct hook_rig_hook){.events = 1U << DELTA_DELETED});
    struct hook *all = hook_rig_add(&(struct hook_rig_hook){0});
    struct hook *batch = hook_rig_add(&(struct hook_rig_hook){.rules = {.mode = HOOK_BATCH}});
    hook_rig_sync(0);
    hook_rig_nothing();
    assert_int_equal(try_to_ask(all, NULL), ERR_NOT_FOUND);
    assert_int_equal(try_to_ask(all, "ns/a"), ERR_NOT_FOUND);
    assert_int_equal(try_to_ask(batch, NULL), ERR_NOT_FOUND);
    assert_int_equal(try_to_ask(batch, "ns/a"), ERR_CONFIG);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    assert_int_equal(try_to_ask(deletes, NULL), ERR_NOT_FOUND);
    assert_int_equal(try_to_ask(all, "ns/b"), ERR_NOT_FOUND);
    assert_int_equal(try_to_ask(all, "ns/a"), ERR_OK);
}

static void test_a_refused_manual_run_does_not_forget_the_one_under_way(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){0});
    ask(h, "ns/a");
    struct run *run = starts_manual(DELTA_MODIFIED, "u1", 1);
    assert_int_equal(try_to_ask(h, "ns/nobody"), ERR_NOT_FOUND);
    assert_int_equal(h->manual_runs.last, 1);
    manual_run_is(h, 1, 1, 0);
    hook_rig_end(run, 0);
    manual_run_is(h, 1, 0, 0);
}

static void test_all_keys_of_all_sources(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){.sources = 2});
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_change(1, DELTA_ADDED, "ns/a", "u2", NULL);
    hook_rig_change(1, DELTA_ADDED, "ns/b", "u3", NULL);
    hook_rig_sync(0);
    hook_rig_sync(1);
    for (size_t i = 0; i < 3; i++)
        hook_rig_end(hook_rig_next(), 0);
    ask(h, NULL);
    manual_run_is(h, 3, 3, 0);
    for (size_t i = 0; i < 3; i++)
        hook_rig_end(hook_rig_next(), i == 1);
    manual_run_is(h, 3, 0, 1);
    ask(h, "ns/a");
    manual_run_is(h, 2, 2, 0); /* of both sources */
}

/* The run under way was started before the manual run was asked for: it does not fulfil it. */
static void test_a_key_that_runs_is_run_once_more(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){0});
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    struct run *run = hook_rig_starts(DELTA_MODIFIED, "u1");
    ask(h, "ns/a");
    hook_rig_nothing();
    hook_rig_end(run, 0);
    manual_run_is(h, 1, 1, 0);
    hook_rig_end(starts_manual(DELTA_MODIFIED, "u1", 1), 0);
    manual_run_is(h, 1, 0, 0);
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":3");
    run = hook_rig_starts(DELTA_MODIFIED, "u1");
    ask(h, "ns/a");
    assert_int_equal(hook_rig_end(run, 1).outcome, HISTORY_FAILED);
    hook_rig_end(starts_manual(DELTA_MODIFIED, "u1", 2), 0); /* without waiting for the backoff */
    manual_run_is(h, 1, 0, 0);
    hook_rig_waits_until(NEVER_MS);
}

static void vanish_while_running(struct hook_rig_hook p, int status)
{
    struct hook *h = add_handled(p);

    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    struct run *run = hook_rig_starts(DELTA_MODIFIED, "u1");
    ask(h, "ns/a");
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", "\"a\":2");
    hook_rig_end(run, status);
    hook_rig_waits_until(NEVER_MS);
    manual_run_is(h, 1, 0, 0);
    assert_int_equal(known(h), 0);
}

/* No person waits for the result any more. */
static void test_a_manual_run_of_a_key_that_vanishes_while_it_runs_is_void(void **state)
{
    static const unsigned events = 1U << DELTA_ADDED | 1U << DELTA_MODIFIED;

    for (int status = 0; status <= PARK; status += PARK)
        for (uint64_t rerun = 0; rerun <= 5000; rerun += 5000) {
            vanish_while_running((struct hook_rig_hook){.events = events,
                                                        .park_exit = PARK,
                                                        .work_queue = {.rerun_ms = rerun}},
                                 status);
            hook_rig_clean_up(state);
            hook_rig_set_up(state);
        }
}

static void test_a_manual_run_of_a_key_that_vanishes_before_it_is_void(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){
        .events = 1U << DELTA_ADDED | 1U << DELTA_MODIFIED, .work_queue = {.rerun_ms = 5000}});
    ask(h, "ns/a");
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", NULL);
    hook_rig_waits_until(NEVER_MS);
    manual_run_is(h, 1, 0, 0);
    assert_int_equal(known(h), 0);
}

static void test_the_end_of_the_object_fulfils_a_manual_run(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){0});
    ask(h, "ns/a");
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", NULL);
    hook_rig_end(starts_manual(DELTA_DELETED, "u1", 1), 0);
    manual_run_is(h, 1, 0, 0);
    hook_rig_waits_until(NEVER_MS);
    assert_int_equal(known(h), 0);
}

static void number_is(const struct hook *h, uint64_t number, size_t left, size_t failed)
{
    const struct manual_run *o = manual_runs_find(&h->manual_runs, number);

    assert_non_null(o);
    assert_int_equal(o->left, left);
    assert_int_equal(o->failed, failed);
}

static void test_each_request_has_its_own_runs(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){0});
    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
    hook_rig_pass(DELTA_ADDED, "u2");
    ask(h, NULL);
    ask(h, "ns/b");
    assert_int_equal(h->manual_runs.last, 2);
    number_is(h, 1, 2, 0);
    number_is(h, 2, 1, 0);
    hook_rig_end(starts_manual(DELTA_MODIFIED, "u1", 1), 1);
    number_is(h, 1, 1, 1);
    number_is(h, 2, 1, 0);
    hook_rig_end(starts_manual(DELTA_MODIFIED, "u2", 1), 0); /* for both */
    number_is(h, 1, 0, 1);
    number_is(h, 2, 0, 0);
}

/* The run under way was started before the second manual run was asked for. */
static void test_a_later_request_gets_the_next_run(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){0});
    ask(h, "ns/a");
    struct run *run = starts_manual(DELTA_MODIFIED, "u1", 1);
    ask(h, "ns/a");
    ask(h, NULL);
    hook_rig_end(run, 1);
    number_is(h, 1, 0, 1);
    number_is(h, 2, 1, 0);
    hook_rig_end(starts_manual(DELTA_MODIFIED, "u1", 2), 0);
    number_is(h, 1, 0, 1);
    number_is(h, 2, 0, 0);
    number_is(h, 3, 0, 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_manual_run_is_remembered_for_a_while(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){0});
    ask(h, "ns/a");
    hook_rig_end(starts_manual(DELTA_MODIFIED, "u1", 1), 1);
    for (size_t i = 0; i < MANUAL_RUNS_MAX - 1; i++)
        ask(h, "ns/a");
    number_is(h, 1, 0, 1);
    ask(h, "ns/a");
    assert_null(manual_runs_find(&h->manual_runs, 1));
    assert_int_equal(try_to_ask(h, "ns/a"), ERR_BUSY);
    number_is(h, 2, 1, 0);
    hook_rig_end(starts_manual(DELTA_MODIFIED, "u1", 2), 0); /* for all of them */
    number_is(h, MANUAL_RUNS_MAX + 1, 0, 0);
    ask(h, "ns/a");
    assert_null(manual_runs_find(&h->manual_runs, 2));
    number_is(h, 3, 0, 0);
    number_is(h, MANUAL_RUNS_MAX + 2, 1, 0);
    assert_null(manual_runs_find(&h->manual_runs, 0));
}

static void test_a_manual_run_of_a_batch_has_every_object(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){.rules = {.mode = HOOK_BATCH}});
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_sync(0);
    hook_rig_pass(DELTA_ADDED, "u1");
    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
    ask(h, NULL);
    struct run *run = hook_rig_next();
    assert_int_equal(run->reason, RUN_MANUAL);
    assert_int_equal(run->event_count, 2);
    hook_rig_event_is(run, 0, DELTA_ADDED, "u2");
    hook_rig_event_is(run, 1, DELTA_MODIFIED, "u1");
    hook_rig_end(run, 1);
    manual_run_is(h, 1, 0, 1);
    hook_rig.now += HOOK_RIG_INITIAL_MS;
    run = hook_rig_next();
    assert_int_equal(run->reason, RUN_RETRY);
    assert_int_equal(run->event_count, 2); /* the run may have had effects on both */
    hook_rig_end(run, 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_manual_run_of_a_batch_whose_objects_vanish_is_void(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){
        .rules = {.mode = HOOK_BATCH, .existing = HOOK_EXISTING_SKIP},
        .events = 1U << DELTA_ADDED,
        .work_queue = {.min_interval_ms = 9000                 }
    });
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_sync(0);
    hook_rig_nothing();
    ask(h, NULL);
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", NULL);
    hook_rig_waits_until(NEVER_MS);
    manual_run_is(h, 1, 0, 0);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u2", NULL);
    hook_rig_pass(DELTA_ADDED, "u2"); /* no run was started that min_interval could count from */
}

static void test_a_snapshot_is_shown_again(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){.rules = {.mode = HOOK_SNAPSHOT}});
    hook_rig_sync(0);
    hook_rig_end(hook_rig_next(), 0);
    ask(h, NULL);
    struct run *run = hook_rig_next();
    assert_int_equal(run->reason, RUN_MANUAL);
    assert_int_equal(run->event_count, 0);
    ask(h, NULL); /* while it runs */
    hook_rig_end(run, 0);
    manual_run_is(h, 1, 1, 0);
    run = hook_rig_next();
    assert_int_equal(run->reason, RUN_MANUAL);
    hook_rig_end(run, 0);
    manual_run_is(h, 1, 0, 0);
    hook_rig_waits_until(NEVER_MS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, hook_rig_set_up, hook_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_a_manual_run_of_an_unchanged_key_has_modified),
        TEST(test_a_manual_run_without_modified_has_added),
        TEST(test_a_manual_run_does_not_settle),
        TEST(test_a_manual_run_does_not_wait_for_the_backoff_but_counts_in_it),
        TEST(test_a_manual_run_ignores_parking_and_parks_again),
        TEST(test_a_manual_run_keeps_min_interval),
        TEST(test_a_manual_run_waits_for_pause_and_gate),
        TEST(test_a_manual_run_waits_for_when_stale),
        TEST(test_a_key_without_an_event_is_not_found),
        TEST(test_a_refused_manual_run_does_not_forget_the_one_under_way),
        TEST(test_all_keys_of_all_sources),
        TEST(test_a_key_that_runs_is_run_once_more),
        TEST(test_a_manual_run_of_a_key_that_vanishes_while_it_runs_is_void),
        TEST(test_a_manual_run_of_a_key_that_vanishes_before_it_is_void),
        TEST(test_the_end_of_the_object_fulfils_a_manual_run),
        TEST(test_each_request_has_its_own_runs),
        TEST(test_a_later_request_gets_the_next_run),
        TEST(test_a_manual_run_is_remembered_for_a_while),
        TEST(test_a_manual_run_of_a_batch_has_every_object),
        TEST(test_a_manual_run_of_a_batch_whose_objects_vanish_is_void),
        TEST(test_a_snapshot_is_shown_again),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}

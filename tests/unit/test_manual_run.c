/* SPDX-License-Identifier: Apache-2.0 */
#include "hook_rig.h"

/* What a person wants run. */

enum { PARK = 75 };

static enum err_kind order(struct hook *h, const char *key)
{
    struct err err = {0};
    enum err_kind kind =
        hook_run_manually(h, key != NULL ? str_c(key) : (struct str){.p = NULL}, &err);

    assert_true(kind == ERR_OK || err.text[0] != '\0');
    return kind;
}

static void ordered(struct hook *h, const char *key)
{
    assert_int_equal(order(h, key), ERR_OK);
}

static void order_is(const struct hook *h, size_t total, size_t left, size_t failed)
{
    assert_int_equal(hook_rig_order(h)->total, total);
    assert_int_equal(hook_rig_order(h)->left, left);
    assert_int_equal(hook_rig_order(h)->failed, failed);
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

static void test_an_unchanged_key_is_told_again_as_modified(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){0});
    ordered(h, "ns/a");
    order_is(h, 1, 1, 0);
    struct run *run = starts_manual(DELTA_MODIFIED, "u1", 1);
    assert_int_equal(run->events[0].changed.len, 0);
    hook_rig_end(run, 0);
    order_is(h, 1, 0, 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_hook_without_modified_is_told_added_again(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){.events = 1U << DELTA_ADDED});
    ordered(h, "ns/a");
    hook_rig_end(starts_manual(DELTA_ADDED, "u1", 1), 1);
    order_is(h, 1, 0, 1);
    hook_rig.now += HOOK_RIG_INITIAL_MS;
    hook_rig_fail(DELTA_ADDED, "u1", RUN_RETRY, 2); /* what it had done may be gone */
    hook_rig.now += 2000;
    hook_rig_pass(DELTA_ADDED, "u1");
    hook_rig_waits_until(NEVER_MS);
}

static void test_it_goes_round_settling(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){
        .work_queue = {.settle_ms = 100, .settle_max_ms = 1000}
    });
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    hook_rig_nothing();
    ordered(h, "ns/a");
    hook_rig_end(starts_manual(DELTA_MODIFIED, "u1", 1), 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_it_goes_round_the_backoff_and_climbs_it(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){0});
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    hook_rig_fail(DELTA_MODIFIED, "u1", RUN_CHANGE, 1);
    hook_rig_nothing();
    ordered(h, "ns/a");
    assert_int_equal(hook_rig_end(starts_manual(DELTA_MODIFIED, "u1", 2), 1).retry_ms, 2000);
    order_is(h, 1, 0, 1);
    hook_rig.now += 2000;
    struct run *run = hook_rig_starts(DELTA_MODIFIED, "u1");
    assert_int_equal(run->reason, RUN_RETRY);
    assert_int_equal(run->attempt, 3);
    hook_rig_end(run, 0);
    order_is(h, 1, 0, 1); /* of the run that fulfilled it */
}

static void test_it_goes_round_parking_and_parks_again(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){.park_exit = PARK});
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    hook_rig_end(hook_rig_next(), PARK);
    hook_rig_waits_until(NEVER_MS);
    ordered(h, NULL);
    assert_int_equal(hook_parked(h), 0);
    assert_int_equal(hook_rig_end(starts_manual(DELTA_MODIFIED, "u1", 2), PARK).outcome,
                     HISTORY_PARKED);
    order_is(h, 1, 0, 1);
    assert_int_equal(hook_parked(h), 1);
    hook_rig_waits_until(NEVER_MS);
}

static void test_it_keeps_min_interval(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){.work_queue = {.min_interval_ms = 500}});
    ordered(h, "ns/a");
    hook_rig_waits_until(100500);
    hook_rig_end(starts_manual(DELTA_MODIFIED, "u1", 1), 0);
}

static void test_it_does_not_go_round_pause_and_gate(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){0});
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    assert_int_equal(order(h, "ns/a"), ERR_BUSY);
    hook_rig_sync(0);
    hook_rig_pass(DELTA_ADDED, "u1");
    hook_pause(h, true);
    assert_int_equal(order(h, "ns/a"), ERR_BUSY);
    assert_int_equal(h->manual_runs.last, 0);
    hook_pause(h, false);
    ordered(h, "ns/a");
    hook_pause(h, true);
    hook_rig_waits_until(NEVER_MS); /* but what was wanted stays wanted */
    hook_pause(h, false);
    hook_rig_end(starts_manual(DELTA_MODIFIED, "u1", 1), 0);
}

static void test_it_does_not_go_round_when_stale(void **state)
{
    (void)state;
    struct hook *h = add_handled(
        (struct hook_rig_hook){.events = 0xf, .rules = {.when_stale = HOOK_STALE_WAIT}});
    hook_rig_stale(0, true);
    assert_int_equal(order(h, "ns/a"), ERR_BUSY);
    hook_rig_stale(0, false);
    ordered(h, "ns/a");
    hook_rig_end(starts_manual(DELTA_MODIFIED, "u1", 1), 0);
}

static void test_what_there_is_nothing_to_tell_of_is_not_found(void **state)
{
    (void)state;
    struct hook *deletes = hook_rig_add(&(struct hook_rig_hook){.events = 1U << DELTA_DELETED});
    struct hook *all = hook_rig_add(&(struct hook_rig_hook){0});
    struct hook *batch = hook_rig_add(&(struct hook_rig_hook){.rules = {.mode = HOOK_BATCH}});
    hook_rig_sync(0);
    hook_rig_nothing();
    assert_int_equal(order(all, NULL), ERR_NOT_FOUND);
    assert_int_equal(order(all, "ns/a"), ERR_NOT_FOUND);
    assert_int_equal(order(batch, NULL), ERR_NOT_FOUND);
    assert_int_equal(order(batch, "ns/a"), ERR_CONFIG);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    assert_int_equal(order(deletes, NULL), ERR_NOT_FOUND);
    assert_int_equal(order(all, "ns/b"), ERR_NOT_FOUND);
    assert_int_equal(order(all, "ns/a"), ERR_OK);
}

static void test_a_refused_order_does_not_forget_the_one_under_way(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){0});
    ordered(h, "ns/a");
    struct run *run = starts_manual(DELTA_MODIFIED, "u1", 1);
    assert_int_equal(order(h, "ns/nobody"), ERR_NOT_FOUND);
    assert_int_equal(h->manual_runs.last, 1);
    order_is(h, 1, 1, 0);
    hook_rig_end(run, 0);
    order_is(h, 1, 0, 0);
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
    ordered(h, NULL);
    order_is(h, 3, 3, 0);
    for (size_t i = 0; i < 3; i++)
        hook_rig_end(hook_rig_next(), i == 1);
    order_is(h, 3, 0, 1);
    ordered(h, "ns/a");
    order_is(h, 2, 2, 0); /* of both sources */
}

/* The run under way was started before the order: it does not fulfil it. */
static void test_a_key_that_runs_is_run_once_more(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){0});
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    struct run *run = hook_rig_starts(DELTA_MODIFIED, "u1");
    ordered(h, "ns/a");
    hook_rig_nothing();
    hook_rig_end(run, 0);
    order_is(h, 1, 1, 0);
    hook_rig_end(starts_manual(DELTA_MODIFIED, "u1", 1), 0);
    order_is(h, 1, 0, 0);
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":3");
    run = hook_rig_starts(DELTA_MODIFIED, "u1");
    ordered(h, "ns/a");
    assert_int_equal(hook_rig_end(run, 1).outcome, HISTORY_FAILED);
    hook_rig_end(starts_manual(DELTA_MODIFIED, "u1", 2), 0); /* round the ladder */
    order_is(h, 1, 0, 0);
    hook_rig_waits_until(NEVER_MS);
}

static void vanish_while_running(struct hook_rig_hook p, int status)
{
    struct hook *h = add_handled(p);

    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    struct run *run = hook_rig_starts(DELTA_MODIFIED, "u1");
    ordered(h, "ns/a");
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", "\"a\":2");
    hook_rig_end(run, status);
    hook_rig_waits_until(NEVER_MS);
    order_is(h, 1, 0, 0);
    assert_int_equal(known(h), 0);
}

/* Nobody is left who could be told. */
static void test_an_order_for_a_key_that_vanishes_while_it_runs_is_void(void **state)
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

static void test_an_order_for_a_key_that_vanishes_before_its_run_is_void(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){
        .events = 1U << DELTA_ADDED | 1U << DELTA_MODIFIED, .work_queue = {.rerun_ms = 5000}});
    ordered(h, "ns/a");
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", NULL);
    hook_rig_waits_until(NEVER_MS);
    order_is(h, 1, 0, 0);
    assert_int_equal(known(h), 0);
}

static void test_the_end_of_the_object_fulfils_an_order(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){0});
    ordered(h, "ns/a");
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", NULL);
    hook_rig_end(starts_manual(DELTA_DELETED, "u1", 1), 0);
    order_is(h, 1, 0, 0);
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

static void test_each_order_has_its_own_runs(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){0});
    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
    hook_rig_pass(DELTA_ADDED, "u2");
    ordered(h, NULL);
    ordered(h, "ns/b");
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

/* The run under way was started before the second order. */
static void test_who_comes_later_hears_of_the_next_run(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){0});
    ordered(h, "ns/a");
    struct run *run = starts_manual(DELTA_MODIFIED, "u1", 1);
    ordered(h, "ns/a");
    ordered(h, NULL);
    hook_rig_end(run, 1);
    number_is(h, 1, 0, 1);
    number_is(h, 2, 1, 0);
    hook_rig_end(starts_manual(DELTA_MODIFIED, "u1", 2), 0);
    number_is(h, 1, 0, 1);
    number_is(h, 2, 0, 0);
    number_is(h, 3, 0, 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_an_order_is_remembered_for_a_while(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){0});
    ordered(h, "ns/a");
    hook_rig_end(starts_manual(DELTA_MODIFIED, "u1", 1), 1);
    for (size_t i = 0; i < MANUAL_RUNS_MAX - 1; i++)
        ordered(h, "ns/a");
    number_is(h, 1, 0, 1);
    ordered(h, "ns/a");
    assert_null(manual_runs_find(&h->manual_runs, 1));
    assert_int_equal(order(h, "ns/a"), ERR_BUSY);
    number_is(h, 2, 1, 0);
    hook_rig_end(starts_manual(DELTA_MODIFIED, "u1", 2), 0); /* for all of them */
    number_is(h, MANUAL_RUNS_MAX + 1, 0, 0);
    ordered(h, "ns/a");
    assert_null(manual_runs_find(&h->manual_runs, 2));
    number_is(h, 3, 0, 0);
    number_is(h, MANUAL_RUNS_MAX + 2, 1, 0);
    assert_null(manual_runs_find(&h->manual_runs, 0));
}

static void test_a_batch_is_told_of_every_object(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){.rules = {.mode = HOOK_BATCH}});
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_sync(0);
    hook_rig_pass(DELTA_ADDED, "u1");
    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
    ordered(h, NULL);
    struct run *run = hook_rig_next();
    assert_int_equal(run->reason, RUN_MANUAL);
    assert_int_equal(run->event_count, 2);
    hook_rig_event_is(run, 0, DELTA_ADDED, "u2");
    hook_rig_event_is(run, 1, DELTA_MODIFIED, "u1");
    hook_rig_end(run, 1);
    order_is(h, 1, 0, 1);
    hook_rig.now += HOOK_RIG_INITIAL_MS;
    run = hook_rig_next();
    assert_int_equal(run->reason, RUN_RETRY);
    assert_int_equal(run->event_count, 2); /* it may have had effects on both */
    hook_rig_end(run, 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_an_order_for_a_batch_whose_objects_vanish_is_void(void **state)
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
    ordered(h, NULL);
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", NULL);
    hook_rig_waits_until(NEVER_MS);
    order_is(h, 1, 0, 0);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u2", NULL);
    hook_rig_pass(DELTA_ADDED, "u2"); /* nothing had started that min_interval could count from */
}

static void test_a_snapshot_is_shown_again(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){.rules = {.mode = HOOK_SNAPSHOT}});
    hook_rig_sync(0);
    hook_rig_end(hook_rig_next(), 0);
    ordered(h, NULL);
    struct run *run = hook_rig_next();
    assert_int_equal(run->reason, RUN_MANUAL);
    assert_int_equal(run->event_count, 0);
    ordered(h, NULL); /* while it runs */
    hook_rig_end(run, 0);
    order_is(h, 1, 1, 0);
    run = hook_rig_next();
    assert_int_equal(run->reason, RUN_MANUAL);
    hook_rig_end(run, 0);
    order_is(h, 1, 0, 0);
    hook_rig_waits_until(NEVER_MS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, hook_rig_set_up, hook_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_an_unchanged_key_is_told_again_as_modified),
        TEST(test_a_hook_without_modified_is_told_added_again),
        TEST(test_it_goes_round_settling),
        TEST(test_it_goes_round_the_backoff_and_climbs_it),
        TEST(test_it_goes_round_parking_and_parks_again),
        TEST(test_it_keeps_min_interval),
        TEST(test_it_does_not_go_round_pause_and_gate),
        TEST(test_it_does_not_go_round_when_stale),
        TEST(test_what_there_is_nothing_to_tell_of_is_not_found),
        TEST(test_a_refused_order_does_not_forget_the_one_under_way),
        TEST(test_all_keys_of_all_sources),
        TEST(test_a_key_that_runs_is_run_once_more),
        TEST(test_an_order_for_a_key_that_vanishes_while_it_runs_is_void),
        TEST(test_an_order_for_a_key_that_vanishes_before_its_run_is_void),
        TEST(test_the_end_of_the_object_fulfils_an_order),
        TEST(test_each_order_has_its_own_runs),
        TEST(test_who_comes_later_hears_of_the_next_run),
        TEST(test_an_order_is_remembered_for_a_while),
        TEST(test_a_batch_is_told_of_every_object),
        TEST(test_an_order_for_a_batch_whose_objects_vanish_is_void),
        TEST(test_a_snapshot_is_shown_again),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}

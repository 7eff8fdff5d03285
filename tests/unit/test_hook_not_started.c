/* SPDX-License-Identifier: Apache-2.0 */
#include "hook_rig.h"

#include <errno.h>

#include "hook/why.h"

/* Runs that the system could not start for a shortage: they are no attempts of the hook. */

enum { ADDED_DELETED = 1U << DELTA_ADDED | 1U << DELTA_DELETED };

static void not_started(struct run *run)
{
    const struct run_result result = {
        .end = {.kind = RUN_END_REFUSED, .stage = RUN_STAGE_FORK, .value = EAGAIN},
        .text = "fork: no more"
    };
    struct hook *h = run->hook;
    uint64_t failed = h->figures.runs_failed;
    size_t known = h->history.n;
    struct hooks_verdict v = hooks_finish(&hook_rig.hooks, run, &result, hook_rig.now);

    assert_int_equal(v.retry_ms, SCHEDULER_NOT_STARTED_MS);
    assert_int_equal(h->figures.runs_failed, failed);
    assert_int_equal(h->history.n, known);
    assert_int_equal(h->work_queue.not_started, 1);
    assert_string_equal(h->last_error, "fork: no more");
}

static struct hook *add_handled(struct hook_rig_hook p)
{
    return hook_rig_add_handled(&p, "\"a\":1");
}

static void test_no_attempt_is_used_up_and_the_backoff_stays(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){.work_queue = {.attempts = 3}});
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    for (int i = 0; i < 10; i++) {
        not_started(hook_rig_starts_as(DELTA_MODIFIED, "u1", RUN_CHANGE, 1));
        hook_rig_waits_until(hook_rig.now + SCHEDULER_NOT_STARTED_MS);
    }
    hook_rig_fail(DELTA_MODIFIED, "u1", RUN_CHANGE, 1);
    assert_int_equal(h->work_queue.not_started, 0);
    hook_rig_waits_until(hook_rig.now + 1000);
    hook_rig_fail(DELTA_MODIFIED, "u1", RUN_RETRY, 2);
    hook_rig_waits_until(hook_rig.now + 2000);
    for (int i = 0; i < 10; i++) {
        not_started(hook_rig_starts_as(DELTA_MODIFIED, "u1", RUN_RETRY, 3));
        hook_rig_waits_until(hook_rig.now + SCHEDULER_NOT_STARTED_MS);
    }
    assert_int_equal(hook_parked(h), 0);
    hook_rig_fail(DELTA_MODIFIED, "u1", RUN_RETRY, 3);
    assert_int_equal(hook_parked(h), 1);
}

static void test_a_success_clears_the_shortage(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){0});
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    not_started(hook_rig_next());
    assert_false(hooks_quiet(&hook_rig.hooks));
    assert_int_equal(hook_pending(h), 1);
    hook_rig.now += SCHEDULER_NOT_STARTED_MS;
    hook_rig_pass(DELTA_MODIFIED, "u1");
    assert_int_equal(h->work_queue.not_started, 0);
    assert_string_equal(h->last_error, "");
    assert_true(hooks_quiet(&hook_rig.hooks));
}

static void test_a_change_does_not_bring_the_next_try_forward(void **state)
{
    (void)state;
    add_handled((struct hook_rig_hook){
        .work_queue = {.retry = {.initial_ms = 10, .max_ms = 100, .factor = 2}}});
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    not_started(hook_rig_next());
    uint64_t at = hook_rig.now + SCHEDULER_NOT_STARTED_MS;
    hook_rig.now += 20;
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":3");
    hook_rig_waits_until(at);
    hook_rig_pass(DELTA_MODIFIED, "u1");
}

static void test_a_key_that_is_not_due_any_more_is_forgotten(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){.events = 1U << DELTA_MODIFIED});
    hook_rig_sync(0);
    hook_rig_nothing();
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    not_started(hook_rig_next());
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", "\"a\":2");
    assert_int_equal(h->work_queue.not_started, 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_runs_not_started_do_not_supersede_a_delete(void **state)
{
    (void)state;
    add_handled((struct hook_rig_hook){.events = ADDED_DELETED});
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", "\"a\":1");
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u2", "\"a\":1");
    for (int i = 0; i < 8; i++) {
        not_started(hook_rig_starts_as(DELTA_DELETED, "u1", RUN_CHANGE, 1));
        hook_rig.now += SCHEDULER_NOT_STARTED_MS;
    }
    hook_rig_fail(DELTA_DELETED, "u1", RUN_CHANGE, 1);
    for (unsigned attempt = 2; attempt < 5; attempt++) {
        hook_rig_waits_until(hook_rig.now + (HOOK_RIG_INITIAL_MS << (attempt - 2)));
        hook_rig_fail(DELTA_DELETED, "u1", RUN_RETRY, attempt);
    }
    hook_rig_waits_until(hook_rig.now + 8000);
    not_started(hook_rig_starts_as(DELTA_DELETED, "u1", RUN_RETRY, 5));
    hook_rig.now += SCHEDULER_NOT_STARTED_MS;
    hook_rig_fail(DELTA_DELETED, "u1", RUN_RETRY, 5);
    hook_rig_pass(DELTA_ADDED, "u2");
}

static void first_run(enum hook_mode mode)
{
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){.rules = {.mode = mode}});

    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_sync(0);
    for (int i = 0; i < 3; i++) {
        not_started(hook_rig_starts_as(DELTA_ADDED, "u1", RUN_EXISTING, 1));
        assert_false(hook_first_ended(h));
        hook_rig.now += SCHEDULER_NOT_STARTED_MS;
    }
    hook_rig_fail(DELTA_ADDED, "u1", RUN_EXISTING, 1);
    assert_true(hook_first_ended(h));
}

static void test_the_first_run_of_an_object_is_still_to_end(void **state)
{
    (void)state;
    first_run(HOOK_OBJECT);
}

/* The object that was there at first is gone, and the next one came later. */
static void test_the_first_run_goes_with_its_object(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){0});
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_sync(0);
    struct run *run = hook_rig_starts_as(DELTA_ADDED, "u1", RUN_EXISTING, 1);
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", "\"a\":1");
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u2", "\"a\":1");
    assert_false(hook_first_ended(h)); /* the run may have been started */
    not_started(run);
    assert_true(hook_first_ended(h));
    hook_rig_waits_until(hook_rig.now + SCHEDULER_NOT_STARTED_MS);
    hook_rig_end(hook_rig_starts_as(DELTA_ADDED, "u2", RUN_CHANGE, 1), 0);
}

static void test_the_first_run_stays_with_an_object_that_changes(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){0});
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_sync(0);
    struct run *run = hook_rig_starts_as(DELTA_ADDED, "u1", RUN_EXISTING, 1);
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    not_started(run);
    assert_false(hook_first_ended(h));
    hook_rig_waits_until(hook_rig.now + SCHEDULER_NOT_STARTED_MS);
    hook_rig_end(hook_rig_starts_as(DELTA_ADDED, "u1", RUN_EXISTING, 1), 0);
    assert_true(hook_first_ended(h));
}

static void test_the_first_batch_is_still_to_end(void **state)
{
    (void)state;
    first_run(HOOK_BATCH);
}

static void test_the_first_snapshot_is_still_to_end(void **state)
{
    (void)state;
    first_run(HOOK_SNAPSHOT);
}

static void test_a_manual_run_that_could_not_start_is_tried_again(void **state)
{
    struct err err;

    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){0});
    assert_int_equal(hook_run_manually(h, str_c("ns/a"), &err), ERR_OK);
    for (int i = 0; i < 3; i++) {
        not_started(hook_rig_starts_as(DELTA_MODIFIED, "u1", RUN_MANUAL, 1));
        assert_int_equal(hook_rig_manual_run(h)->left, 1);
        hook_rig_waits_until(hook_rig.now + SCHEDULER_NOT_STARTED_MS);
    }
    hook_rig_end(hook_rig_starts_as(DELTA_MODIFIED, "u1", RUN_MANUAL, 1), 0);
    assert_int_equal(hook_rig_manual_run(h)->left, 0);
    assert_int_equal(hook_rig_manual_run(h)->failed, 0);
}

static void test_another_manual_run_is_tried_at_once(void **state)
{
    struct err err;

    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){0});
    assert_int_equal(hook_run_manually(h, str_c("ns/a"), &err), ERR_OK);
    struct run *run = hook_rig_next();
    assert_int_equal(hook_run_manually(h, str_c("ns/a"), &err), ERR_OK); /* while it is under way */
    not_started(run);
    hook_rig_nothing();
    hook_rig.now += 10;
    assert_int_equal(hook_run_manually(h, str_c("ns/a"), &err), ERR_OK);
    hook_rig_end(hook_rig_starts_as(DELTA_MODIFIED, "u1", RUN_MANUAL, 1), 0);
    assert_int_equal(hook_rig_manual_run(h)->left, 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_min_interval_does_not_count_from_a_run_not_started(void **state)
{
    (void)state;
    struct hook *h =
        hook_rig_add(&(struct hook_rig_hook){.work_queue = {.min_interval_ms = 60000}});
    hook_rig_sync(0);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", "\"a\":1");
    not_started(hook_rig_starts(DELTA_ADDED, "u1"));
    hook_rig_pass(DELTA_ADDED, "u2"); /* another key has its turn */
    assert_int_equal(h->work_queue.not_started, 1);
    uint64_t started = hook_rig.now;
    hook_rig_waits_until(started + SCHEDULER_NOT_STARTED_MS);
    hook_rig_waits_until(started + 60000);
    hook_rig_pass(DELTA_ADDED, "u1");
    assert_int_equal(h->work_queue.not_started, 0);
}

static size_t known(const struct hook *h)
{
    return map_count(&h->queue.sources[0].by_key);
}

/* The run could not start, and its key is not due any more: nothing waits for another try. */
static void not_started_and_not_due(struct run *run)
{
    const struct run_result result = {
        .end = {.kind = RUN_END_REFUSED, .stage = RUN_STAGE_FORK, .value = EAGAIN},
        .text = "fork: no more"
    };
    struct hook *h = run->hook;

    hooks_finish(&hook_rig.hooks, run, &result, hook_rig.now);
    assert_int_equal(h->work_queue.not_started, 0);
}

static void test_an_object_that_no_program_saw_cancels_out(void **state)
{
    static const enum hook_mode modes[] = {HOOK_OBJECT, HOOK_BATCH};

    for (size_t i = 0; i < 2; i++) {
        struct hook *h = hook_rig_add(&(struct hook_rig_hook){.rules = {.mode = modes[i]}});
        hook_rig_sync(0);
        hook_rig_nothing();
        hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
        not_started(hook_rig_starts_as(DELTA_ADDED, "u1", RUN_CHANGE, 1));
        assert_int_equal(hook_pending(h), 1);
        hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", "\"a\":1");
        hook_rig_waits_until(NEVER_MS);
        hook_rig_change(0, DELTA_ADDED, "ns/a", "u2", "\"a\":1");
        struct run *run = hook_rig_starts(DELTA_ADDED, "u2");
        hook_rig_change(0, DELTA_DELETED, "ns/a", "u2", "\"a\":1");
        not_started_and_not_due(run);
        hook_rig_waits_until(NEVER_MS);
        assert_int_equal(known(h), 0);
        assert_true(hooks_quiet(&hook_rig.hooks));
        hook_rig_clean_up(state);
        hook_rig_set_up(state);
    }
}

/* The run for u2 is not tried at once, either. */
static void test_the_next_incarnation_waits_like_the_one_before(void **state)
{
    (void)state;
    hook_rig_add(&(struct hook_rig_hook){0});
    hook_rig_sync(0);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    struct run *run = hook_rig_starts(DELTA_ADDED, "u1");
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", "\"a\":1");
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u2", "\"a\":1");
    not_started(run);
    hook_rig_waits_until(hook_rig.now + SCHEDULER_NOT_STARTED_MS);
    hook_rig_pass(DELTA_ADDED, "u2");
    hook_rig_waits_until(NEVER_MS);
}

static void test_an_incarnation_that_a_program_may_have_seen_does_not_cancel_out(void **state)
{
    (void)state;
    hook_rig_add(&(struct hook_rig_hook){0});
    hook_rig_sync(0);
    hook_rig_nothing();
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_fail(DELTA_ADDED, "u1", RUN_CHANGE, 1);
    hook_rig.now += HOOK_RIG_INITIAL_MS;
    not_started(hook_rig_starts_as(DELTA_ADDED, "u1", RUN_RETRY, 2));
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", "\"a\":1");
    hook_rig_pass(DELTA_DELETED, "u1");
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_change_that_no_program_saw_cancels_out(void **state)
{
    (void)state;
    add_handled((struct hook_rig_hook){0});
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    not_started(hook_rig_starts_as(DELTA_MODIFIED, "u1", RUN_CHANGE, 1));
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":1");
    hook_rig_waits_until(NEVER_MS);
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    struct run *run = hook_rig_starts(DELTA_MODIFIED, "u1");
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":1");
    not_started_and_not_due(run);
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"b\":1");
    run = hook_rig_starts(DELTA_MODIFIED, "u1");
    assert_true(str_is(buf_str(&run->events[0].changed), "data.a\ndata.b\n"));
    hook_rig_end(run, 0);
}

static void test_an_end_that_no_program_saw_is_undone(void **state)
{
    (void)state;
    add_handled((struct hook_rig_hook){0});
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", "\"a\":1");
    not_started(hook_rig_starts_as(DELTA_DELETED, "u1", RUN_CHANGE, 1));
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1"); /* back to the old state */
    hook_rig_waits_until(NEVER_MS);
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", "\"a\":1");
    struct run *run = hook_rig_starts(DELTA_DELETED, "u1");
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":2");
    not_started(run);
    hook_rig.now += SCHEDULER_NOT_STARTED_MS;
    run = hook_rig_starts_as(DELTA_MODIFIED, "u1", RUN_CHANGE, 1);
    assert_non_null(run->events[0].old);
    hook_rig_end(run, 0);
}

/* DELETED of one incarnation and ADDED of the next: one run of a batch has both. */
static void test_a_batch_is_undone_as_a_whole(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){.rules = {.mode = HOOK_BATCH}});
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", "\"a\":1");
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u2", "\"a\":2");
    struct run *run = hook_rig_next();
    assert_int_equal(run->event_count, 2);
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u2", "\"a\":2");
    not_started(run);
    hook_rig.now += SCHEDULER_NOT_STARTED_MS;
    hook_rig_pass(DELTA_DELETED, "u1");
    assert_int_equal(known(h), 0);
}

/* The failed end was to be superseded, but no run with the next incarnation was started. */
static void test_a_superseded_end_is_due_until_a_program_starts(void **state)
{
    (void)state;
    add_handled((struct hook_rig_hook){.park_exit = 75});
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", "\"a\":1");
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u2", "\"a\":1");
    hook_rig_end(hook_rig_starts(DELTA_DELETED, "u1"), 75);
    struct run *run = hook_rig_starts(DELTA_ADDED, "u2");
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u2", "\"a\":1");
    not_started(run);
    hook_rig.now += SCHEDULER_NOT_STARTED_MS;
    hook_rig_pass(DELTA_DELETED, "u1");
    hook_rig_waits_until(NEVER_MS);
}

/* Before the run of the next incarnation could start, the old one was back: its end is void. */
static void test_an_object_that_is_back_is_not_superseded(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){.park_exit = 75});
    hook_rig_change(0, DELTA_LEFT, "ns/a", "u1", "\"a\":1");
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u2", "\"a\":1");
    hook_rig_end(hook_rig_starts(DELTA_LEFT, "u1"), 75);
    struct run *run = hook_rig_starts(DELTA_ADDED, "u2");
    hook_rig_change(0, DELTA_LEFT, "ns/a", "u2", "\"a\":1");
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    not_started(run);
    assert_true(delivery_is_legal(&h->queue, delivery_queue_find(&h->queue, 0, str_c("ns/a"))));
    hook_rig.now += SCHEDULER_NOT_STARTED_MS;
    hook_rig_pass(DELTA_ADDED, "u1");
    hook_rig_waits_until(NEVER_MS);
}

static void rerun(enum hook_mode mode)
{
    struct hook *h = hook_rig_add(
        &(struct hook_rig_hook){.rules = {.mode = mode}, .work_queue = {.rerun_ms = 60000}});

    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_end(hook_rig_next(), 0);
    hook_rig.now += 60000;
    for (int i = 0; i < 3; i++) {
        struct run *run = hook_rig_next();

        assert_int_equal(run->reason, RUN_RERUN);
        not_started(run);
        assert_true(hooks_quiet(&hook_rig.hooks)); /* a rerun that is due does not count */
        assert_int_equal(hook_pending(h), 0);
        hook_rig_waits_until(hook_rig.now + SCHEDULER_NOT_STARTED_MS);
    }
    struct run *run = hook_rig_next();
    assert_int_equal(run->reason, RUN_RERUN);
    hook_rig_end(run, 0);
    hook_rig_waits_until(hook_rig.now + 60000);
    not_started(hook_rig_next());
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", "\"a\":1");
    hook_rig.now += SCHEDULER_NOT_STARTED_MS;
    run = hook_rig_next();
    assert_int_equal(run->reason, mode == HOOK_BATCH ? RUN_RERUN : RUN_CHANGE);
    hook_rig_end(run, 0);
}

static void test_a_rerun_that_could_not_start_stays_a_rerun(void **state)
{
    static const enum hook_mode modes[] = {HOOK_OBJECT, HOOK_BATCH, HOOK_SNAPSHOT};

    for (size_t i = 0; i < 3; i++) {
        rerun(modes[i]);
        hook_rig_clean_up(state);
        hook_rig_set_up(state);
    }
}

/* No run has written the file: another key may have it. */
static void test_a_file_that_no_program_wrote_is_let_go(void **state)
{
    struct err err = {0};

    (void)state;
    hook_rig_add(&(struct hook_rig_hook){.output = "/f/${name}", .work_queue = {.concurrency = 1}});
    hook_rig_sync(0);
    hook_rig_change(0, DELTA_ADDED, "n1/a", "u1", NULL);
    struct run *run = hook_rig_starts(DELTA_ADDED, "u1");
    assert_int_equal(files_claim(run, &err), ERR_OK);
    hook_rig_change(0, DELTA_DELETED, "n1/a", "u1", NULL);
    not_started_and_not_due(run);
    hook_rig_change(0, DELTA_ADDED, "n2/a", "u2", NULL);
    run = hook_rig_starts(DELTA_ADDED, "u2");
    assert_int_equal(files_claim(run, &err), ERR_OK);
    hook_rig_end_file(run, RUN_STAGE_WRITTEN, 1);
}

static void test_why_has_the_time_of_the_next_try(void **state)
{
    (void)state;
    struct hook *h = add_handled((struct hook_rig_hook){0});
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    not_started(hook_rig_next());
    struct why w = why_delivery(&hook_rig.hooks, h,
                                delivery_queue_find(&h->queue, 0, str_c("ns/a")), hook_rig.now);
    assert_int_equal(w.reason, WHY_SHORTAGE);
    assert_int_equal(w.until_ms, hook_rig.now + SCHEDULER_NOT_STARTED_MS);
    assert_int_equal(w.failures, 0);
}

#define STAGED(test) cmocka_unit_test_setup_teardown(test, hook_rig_set_up, hook_rig_clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STAGED(test_no_attempt_is_used_up_and_the_backoff_stays),
        STAGED(test_a_success_clears_the_shortage),
        STAGED(test_a_change_does_not_bring_the_next_try_forward),
        STAGED(test_a_key_that_is_not_due_any_more_is_forgotten),
        STAGED(test_runs_not_started_do_not_supersede_a_delete),
        STAGED(test_the_first_run_of_an_object_is_still_to_end),
        STAGED(test_the_first_run_goes_with_its_object),
        STAGED(test_the_first_run_stays_with_an_object_that_changes),
        STAGED(test_the_first_batch_is_still_to_end),
        STAGED(test_the_first_snapshot_is_still_to_end),
        STAGED(test_a_manual_run_that_could_not_start_is_tried_again),
        STAGED(test_another_manual_run_is_tried_at_once),
        STAGED(test_min_interval_does_not_count_from_a_run_not_started),
        STAGED(test_an_object_that_no_program_saw_cancels_out),
        STAGED(test_the_next_incarnation_waits_like_the_one_before),
        STAGED(test_an_incarnation_that_a_program_may_have_seen_does_not_cancel_out),
        STAGED(test_a_change_that_no_program_saw_cancels_out),
        STAGED(test_an_end_that_no_program_saw_is_undone),
        STAGED(test_a_batch_is_undone_as_a_whole),
        STAGED(test_a_superseded_end_is_due_until_a_program_starts),
        STAGED(test_an_object_that_is_back_is_not_superseded),
        STAGED(test_a_rerun_that_could_not_start_stays_a_rerun),
        STAGED(test_a_file_that_no_program_wrote_is_let_go),
        STAGED(test_why_has_the_time_of_the_next_try),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "apply_rig.h"

#include <errno.h>

#include <stdio.h>

#include "hook/why.h"

/* When the files that a hook wrote are applied. */

static void modify(const char *data)
{
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", data);
}

static void test_a_hook_without_apply_applies_nothing(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){.output = "/etc/${name}"});
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_end_file(apply_rig_starts(DELTA_ADDED, "u1"), RUN_STAGE_WRITTEN, 1);
    assert_int_equal(h->gate, GATE_OPEN);
    hook_rig_waits_until(NEVER_MS);
    assert_true(hooks_quiet(&hook_rig.hooks));
}

static void test_first_runs_end_when_their_files_are_applied(void **state)
{
    (void)state;
    struct hook *h = apply_rig_add((struct hook_rig_hook){0});
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", "\"a\":1");
    hook_rig_sync(0);
    struct run *a = apply_rig_starts(DELTA_ADDED, "u1");
    struct run *b = apply_rig_starts(DELTA_ADDED, "u2");
    hook_rig_end_file(a, RUN_STAGE_WRITTEN, 1);
    hook_rig.now += APPLY_HOLD_MS + 5000; /* the wait for first runs has no limit */
    hook_rig_waits_until(NEVER_MS);
    assert_int_equal(h->gate, GATE_FIRST);
    hook_rig_end_file(b, RUN_STAGE_SAME, 1); /* the file may never have been applied */
    assert_int_equal(h->gate, GATE_APPLY);
    assert_false(hook_first_ended(h));
    assert_false(hooks_ready(&hook_rig.hooks));
    struct run *apply = hook_rig_applies(RUN_EXISTING, 1); /* without settling */
    assert_string_equal(run_key(apply), "");
    hook_rig_nothing();
    hook_rig_end(apply, 3);
    assert_true(hook_first_ended(h)); /* the first run has ended, well or not */
    assert_false(hooks_quiet(&hook_rig.hooks));
}

static void test_without_a_write_first_runs_end_at_once(void **state)
{
    (void)state;
    struct hook *h = apply_rig_add((struct hook_rig_hook){0});
    hook_rig_sync(0);
    hook_rig_nothing();
    assert_int_equal(h->gate, GATE_OPEN);
    apply_rig_write_first("ns/a", "u1");
    assert_true(hook_first_ended(h)); /* first runs end only once */
}

static void test_the_first_snapshot_waits_for_its_apply_too(void **state)
{
    (void)state;
    struct hook *h = apply_rig_add((struct hook_rig_hook){.rules.mode = HOOK_SNAPSHOT});
    hook_rig_sync(0);
    struct run *run = apply_rig_starts_whole();
    assert_string_equal(run->file, "/etc/x.conf");
    hook_rig_end_file(run, RUN_STAGE_SAME, 7);
    assert_int_equal(h->gate, GATE_APPLY);
    apply_rig_apply_passes(RUN_EXISTING);
    assert_int_equal(h->gate, GATE_OPEN);
    assert_true(hooks_quiet(&hook_rig.hooks));
}

/* Readiness does not go back while the next try and its apply are under way. */
static void test_a_first_run_that_failed_has_ended_whatever_follows(void **state)
{
    (void)state;
    struct hook *h = apply_rig_add((struct hook_rig_hook){.rules.mode = HOOK_SNAPSHOT});
    hook_rig_sync(0);
    assert_false(hooks_ready(&hook_rig.hooks));
    struct hooks_verdict v = hook_rig_end(apply_rig_starts_whole(), 3);
    assert_true(hook_first_ended(h) && hooks_ready(&hook_rig.hooks));
    hook_rig.now += v.retry_ms;
    hook_rig_end_file(apply_rig_starts_whole(), RUN_STAGE_WRITTEN, 7);
    assert_int_equal(h->gate, GATE_APPLY);
    assert_true(hook_first_ended(h) && hooks_ready(&hook_rig.hooks));
    apply_rig_apply_passes(RUN_EXISTING);
    assert_true(hook_first_ended(h));
}

static void test_a_burst_is_applied_once_after_its_last_write(void **state)
{
    (void)state;
    struct hook *h = apply_rig_add_settled((struct hook_rig_hook){0});
    struct run *runs[20];
    uint64_t begin = hook_rig.now;
    char key[32], uid[32];

    for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
        snprintf(key, sizeof(key), "ns/k%zu", i);
        snprintf(uid, sizeof(uid), "v%zu", i);
        hook_rig_change(0, DELTA_ADDED, key, uid, "\"a\":1");
    }
    for (size_t i = 0; i < ARRAY_LEN(runs);
         i += 5) { /* the work queue has five slots: 4 are shared */
        for (size_t k = i; k < i + 5; k++) {
            snprintf(uid, sizeof(uid), "v%zu", k);
            runs[k] = apply_rig_starts(DELTA_ADDED, uid);
        }
        hook_rig_nothing();
        for (size_t k = i; k < i + 5; k++, hook_rig.now += 150)
            hook_rig_end_file(runs[k], RUN_STAGE_WRITTEN, k);
    }
    /* settling is over, and apply does not wait for runs of the command any more */
    assert_true(hook_rig.now - begin > 2000);
    struct run *apply = hook_rig_applies(RUN_CHANGE, 1);
    hook_rig_nothing();
    hook_rig_end(apply, 0);
    hook_rig_waits_until(NEVER_MS);
    assert_int_equal(h->apply.runs_ok, 2);
}

static void test_a_single_write_settles(void **state)
{
    (void)state;
    struct hook *h = apply_rig_add_settled((struct hook_rig_hook){0});
    apply_rig_write_first("ns/b", "u2");
    assert_int_equal(hook_pending(h), 1);
    assert_false(hooks_quiet(&hook_rig.hooks));
    hook_rig_waits_until(hook_rig.now + 200);
    apply_rig_apply_passes(RUN_CHANGE);
    assert_int_equal(hook_pending(h), 0);
    assert_true(hooks_quiet(&hook_rig.hooks));
}

static void test_a_file_written_during_apply_is_applied_again(void **state)
{
    (void)state;
    apply_rig_add_settled((struct hook_rig_hook){0});
    apply_rig_write_first("ns/b", "u2");
    hook_rig.now += 200;
    struct run *apply = hook_rig_applies(RUN_CHANGE, 1);
    hook_rig.now += 50;
    apply_rig_write_first("ns/c", "u3");
    hook_rig_nothing();
    hook_rig.now += 120;
    hook_rig_end(apply, 0);
    assert_int_equal(hook_oldest_pending_ms(hook_rig.hooks.v[0], hook_rig.now), 120);
    hook_rig_waits_until(hook_rig.now + 80);
    apply_rig_apply_passes(RUN_CHANGE);
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_failure_is_tried_again_though_nothing_changes(void **state)
{
    static const uint64_t backoff[] = {1000, 2000, 4000};

    (void)state;
    struct hook *h = apply_rig_add_settled((struct hook_rig_hook){0});
    apply_rig_write_first("ns/b", "u2");
    uint64_t wrote = hook_rig.now;
    hook_rig.now += 200;
    for (unsigned i = 0; i < ARRAY_LEN(backoff); i++) {
        struct hooks_verdict v =
            hook_rig_end(hook_rig_applies(i == 0 ? RUN_CHANGE : RUN_RETRY, i + 1), 4);

        assert_int_equal(v.outcome, HISTORY_FAILED);
        assert_int_equal(v.retry_ms, backoff[i]);
        assert_string_equal(hook_last_error(h), "exit");
        assert_int_equal(hook_oldest_pending_ms(h, hook_rig.now), hook_rig.now - wrote);
        hook_rig_waits_until(hook_rig.now + backoff[i]);
    }
    hook_rig_end(hook_rig_applies(RUN_RETRY, 4), 0);
    assert_null(hook_last_error(h));
    assert_int_equal(hook_oldest_pending_ms(h, hook_rig.now + 9), 0);
    hook_rig_waits_until(NEVER_MS);
    assert_int_equal(h->figures.runs_failed, 0); /* of the command */
    assert_int_equal(h->apply.runs_failed, 3);
}

static void test_a_write_brings_the_next_try_forward(void **state)
{
    (void)state;
    apply_rig_add_settled((struct hook_rig_hook){0});
    apply_rig_write_first("ns/b", "u2");
    hook_rig.now += 200;
    hook_rig_end(hook_rig_applies(RUN_CHANGE, 1), 4);
    hook_rig.now += 1000;
    hook_rig_end(hook_rig_applies(RUN_RETRY, 2), 4);
    hook_rig.now += 500;
    apply_rig_write_first("ns/c", "u3");
    hook_rig_waits_until(hook_rig.now + 500); /* retry.initial after the last end */
    hook_rig_end(hook_rig_applies(RUN_RETRY, 3), 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_used_up_attempts_park_apply_until_a_write(void **state)
{
    (void)state;
    struct hook *h = apply_rig_add_settled((struct hook_rig_hook){.apply.attempts = 2});
    apply_rig_write_first("ns/b", "u2");
    hook_rig.now += 200;
    hook_rig_end(hook_rig_applies(RUN_CHANGE, 1), 4);
    hook_rig.now += 1000;
    assert_int_equal(hook_rig_end(hook_rig_applies(RUN_RETRY, 2), 4).outcome, HISTORY_PARKED);
    assert_int_equal(hook_parked(h), 1);
    assert_int_equal(h->given_up, 1);
    assert_int_equal(hook_pending(h), 0);
    assert_int_equal(why_apply(&hook_rig.hooks, h, hook_rig.now).reason, WHY_PARKED);
    hook_rig_waits_until(NEVER_MS);
    assert_true(hooks_quiet(&hook_rig.hooks));
    hook_rig.now += 5000;
    apply_rig_write_first("ns/c", "u3");
    hook_rig_end(hook_rig_applies(RUN_RETRY, 3), 0);
    assert_int_equal(hook_parked(h), 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_equal_bytes_are_applied_only_when_they_may_not_have_been(void **state)
{
    (void)state;
    struct hook *h = apply_rig_add_settled((struct hook_rig_hook){0});
    modify("\"a\":2");
    hook_rig_end_file(apply_rig_starts(DELTA_MODIFIED, "u1"), RUN_STAGE_SAME,
                      1); /* these bytes were applied before */
    hook_rig_waits_until(NEVER_MS);
    modify("\"a\":3");
    hook_rig_end_file(apply_rig_starts(DELTA_MODIFIED, "u1"), RUN_STAGE_SAME,
                      2); /* somebody else wrote these bytes */
    hook_rig_waits_until(hook_rig.now + 200);
    apply_rig_apply_passes(RUN_CHANGE);
    modify("\"a\":4");
    hook_rig_end_file(apply_rig_starts(DELTA_MODIFIED, "u1"), RUN_STAGE_WRITTEN,
                      2); /* the same bytes again */
    hook_rig_waits_until(hook_rig.now + 200);
    apply_rig_apply_passes(RUN_CHANGE);
    assert_true(hooks_quiet(&hook_rig.hooks));
    assert_int_equal(h->apply.runs_ok, 3);
}

static void test_removing_a_file_is_applied(void **state)
{
    (void)state;
    apply_rig_add_settled((struct hook_rig_hook){0});
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", "\"a\":1");
    struct run *run = apply_rig_starts(DELTA_DELETED, "u1");
    assert_int_equal(run->kind, RUN_REMOVE);
    assert_string_equal(run->file, "/etc/x/ns/a.conf");
    hook_rig_end(run, 1);
    hook_rig.now += 1000;
    run = apply_rig_starts(DELTA_DELETED, "u1");
    hook_rig_end_file(run, RUN_STAGE_SAME, 0); /* the failed run may have removed the file */
    hook_rig_waits_until(hook_rig.now + 200);
    apply_rig_apply_passes(RUN_CHANGE);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u2", "\"a\":1");
    hook_rig_end(apply_rig_starts(DELTA_ADDED, "u2"), 1);
    hook_rig_change(0, DELTA_DELETED, "ns/a", "u2", "\"a\":1");
    hook_rig_end_file(apply_rig_starts(DELTA_DELETED, "u2"), RUN_STAGE_SAME,
                      0); /* there never was a file */
    hook_rig_waits_until(NEVER_MS);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u3", "\"a\":1");
    hook_rig_end_file(apply_rig_starts(DELTA_ADDED, "u3"), RUN_STAGE_SAME,
                      1); /* the bytes of the file were forgotten with its incarnation */
    hook_rig_waits_until(hook_rig.now + 200);
    apply_rig_apply_passes(RUN_CHANGE);
}

static void test_a_paused_hook_applies_nothing(void **state)
{
    (void)state;
    struct hook *h = apply_rig_add_settled((struct hook_rig_hook){0});
    apply_rig_write_first("ns/b", "u2");
    hook_pause(h, true);
    hook_rig_waits_until(hook_rig.now + 200);
    hook_rig.now += 20000;
    hook_rig_waits_until(NEVER_MS);
    assert_int_equal(why_apply(&hook_rig.hooks, h, hook_rig.now).reason, WHY_PAUSED);
    hook_pause(h, false);
    apply_rig_apply_passes(RUN_CHANGE);
}

static void test_apply_has_its_own_interval(void **state)
{
    (void)state;
    apply_rig_add_settled((struct hook_rig_hook){.apply.min_interval_ms = 5000});
    uint64_t first = hook_rig.now;
    apply_rig_write_first("ns/b", "u2");
    hook_rig_waits_until(first + 200);
    hook_rig_waits_until(first + 5000);
    apply_rig_apply_passes(RUN_CHANGE);
}

static void test_a_shortage_is_no_attempt(void **state)
{
    const struct run_result not_started = {
        .end = {.kind = RUN_END_REFUSED, .stage = RUN_STAGE_FORK, .value = EAGAIN},
        .text = "no processes"
    };

    (void)state;
    struct hook *h = apply_rig_add((struct hook_rig_hook){0});
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_end_file(apply_rig_starts(DELTA_ADDED, "u1"), RUN_STAGE_WRITTEN, 1);
    hooks_finish(&hook_rig.hooks, hook_rig_applies(RUN_EXISTING, 1), &not_started, hook_rig.now);
    assert_int_equal(h->gate, GATE_APPLY);
    assert_int_equal(hook_not_started(h), 1);
    assert_int_equal(h->apply.runs_failed, 0);
    hook_rig_waits_until(hook_rig.now + SCHEDULER_NOT_STARTED_MS);
    hook_rig_end(hook_rig_applies(RUN_EXISTING, 1), 0);
    assert_int_equal(hook_not_started(h), 0);
    assert_int_equal(h->gate, GATE_OPEN);
}

static void test_a_manual_run_waits_for_the_apply_that_it_made_due(void **state)
{
    struct err err = {0};

    (void)state;
    struct hook *h = apply_rig_add_settled((struct hook_rig_hook){0});
    assert_int_equal(hook_run_manually(h, str_c("ns/a"), &err), ERR_OK);
    hook_rig_end_file(apply_rig_starts(DELTA_MODIFIED, "u1"), RUN_STAGE_SAME, 1);
    assert_int_equal(hook_rig_manual_run(h)->left, 0); /* no file to apply */
    assert_int_equal(hook_run_manually(h, str_c("ns/a"), &err), ERR_OK);
    hook_rig_end_file(apply_rig_starts(DELTA_MODIFIED, "u1"), RUN_STAGE_WRITTEN, 1);
    assert_int_equal(hook_rig_manual_run(h)->left, 1);
    assert_int_equal(hook_rig_manual_run(h)->total, 2);
    hook_rig_end(hook_rig_applies(RUN_MANUAL, 1), 7); /* at once, without settling */
    assert_int_equal(hook_rig_manual_run(h)->left, 0);
    assert_int_equal(hook_rig_manual_run(h)->failed, 1);
}

/* A hook whose output for ns/a is in effect. The apply of the output for ns/b has failed and is not
 * tried again. */
static struct hook *add_failed_apply(void)
{
    struct hook *h = apply_rig_add_settled((struct hook_rig_hook){.apply.attempts = 1});

    apply_rig_write_first("ns/b", "u2");
    hook_rig.now += 200;
    hook_rig_end(hook_rig_applies(RUN_CHANGE, 1), 4);
    return h;
}

/* A manual run is done only when its file is in effect. */
static void test_a_manual_run_of_a_key_retries_a_failed_apply(void **state)
{
    struct err err = {0};

    (void)state;
    struct hook *h = add_failed_apply();
    assert_int_equal(hook_run_manually(h, str_c("ns/a"), &err), ERR_OK);
    assert_int_equal(hook_run_manually(h, str_c("ns/b"), &err), ERR_OK);
    hook_rig_end_file(apply_rig_starts(DELTA_MODIFIED, "u1"), RUN_STAGE_SAME, 1);
    hook_rig_end_file(apply_rig_starts(DELTA_MODIFIED, "u2"), RUN_STAGE_SAME, 1);
    assert_int_equal(hook_rig_manual_run(h)->left, 1);
    assert_int_equal(manual_runs_find(&h->manual_runs, 1)->left, 1);
    hook_rig_end(hook_rig_applies(RUN_MANUAL, 2), 4);
    assert_int_equal(hook_rig_manual_run(h)->failed, 1);
    assert_int_equal(manual_runs_find(&h->manual_runs, 1)->failed, 1);
    assert_int_equal(hook_parked(h), 1);
}

static void test_a_manual_run_retries_a_failed_apply_behind_the_command(void **state)
{
    struct err err = {0};

    (void)state;
    struct hook *h = add_failed_apply();
    assert_int_equal(hook_parked(h), 1);
    hook_rig.now += 60000;
    assert_int_equal(hook_run_manually(h, (struct str){0}, &err), ERR_OK);
    assert_int_equal(hook_rig_manual_run(h)->total, 3);
    hook_rig_end_file(apply_rig_starts(DELTA_MODIFIED, "u1"), RUN_STAGE_SAME, 1);
    hook_rig_end_file(apply_rig_starts(DELTA_MODIFIED, "u2"), RUN_STAGE_WRITTEN, 1);
    hook_rig_end(hook_rig_applies(RUN_MANUAL, 2), 0);
    assert_int_equal(hook_rig_manual_run(h)->left, 0);
    assert_int_equal(hook_rig_manual_run(h)->failed, 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_runs_of_apply_are_in_the_history(void **state)
{
    (void)state;
    struct hook *h = apply_rig_add_settled((struct hook_rig_hook){0});
    const struct history_run *apply = history_get(&h->history, 0);
    const struct history_run *run = history_get(&h->history, 1);

    assert_int_equal(apply->kind, RUN_APPLY);
    assert_false(apply->keyed);
    assert_ptr_equal(history_of_apply(&h->history), apply);
    assert_ptr_equal(history_of_key(&h->history, "one", "ns/a"), run);
    assert_string_equal(run->file, "/etc/x/ns/a.conf");
    assert_int_equal(run->end.stage, RUN_STAGE_WRITTEN);
    assert_null(history_of_key(&h->history, "", ""));
}

#define HOOK_RIG_TEST(name) \
    cmocka_unit_test_setup_teardown(name, hook_rig_set_up, hook_rig_clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOOK_RIG_TEST(test_a_hook_without_apply_applies_nothing),
        HOOK_RIG_TEST(test_first_runs_end_when_their_files_are_applied),
        HOOK_RIG_TEST(test_without_a_write_first_runs_end_at_once),
        HOOK_RIG_TEST(test_the_first_snapshot_waits_for_its_apply_too),
        HOOK_RIG_TEST(test_a_first_run_that_failed_has_ended_whatever_follows),
        HOOK_RIG_TEST(test_a_burst_is_applied_once_after_its_last_write),
        HOOK_RIG_TEST(test_a_single_write_settles),
        HOOK_RIG_TEST(test_a_file_written_during_apply_is_applied_again),
        HOOK_RIG_TEST(test_a_failure_is_tried_again_though_nothing_changes),
        HOOK_RIG_TEST(test_a_write_brings_the_next_try_forward),
        HOOK_RIG_TEST(test_used_up_attempts_park_apply_until_a_write),
        HOOK_RIG_TEST(test_equal_bytes_are_applied_only_when_they_may_not_have_been),
        HOOK_RIG_TEST(test_removing_a_file_is_applied),
        HOOK_RIG_TEST(test_a_paused_hook_applies_nothing),
        HOOK_RIG_TEST(test_apply_has_its_own_interval),
        HOOK_RIG_TEST(test_a_shortage_is_no_attempt),
        HOOK_RIG_TEST(test_a_manual_run_waits_for_the_apply_that_it_made_due),
        HOOK_RIG_TEST(test_a_manual_run_of_a_key_retries_a_failed_apply),
        HOOK_RIG_TEST(test_a_manual_run_retries_a_failed_apply_behind_the_command),
        HOOK_RIG_TEST(test_runs_of_apply_are_in_the_history),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

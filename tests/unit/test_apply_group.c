/* SPDX-License-Identifier: Apache-2.0 */
/* hook/apply_group: hooks that share their program `apply` share its runs. */
#include "apply_rig.h"

#include <errno.h>

#include "hook/apply_group.h"
#include "hook/hook_record.h"
#include "hook/reload.h"
#include "hook/why.h"

/* Hooks of the rig: each has the watch of its number, and one file. */
enum { A, B, C, HOOKS };

static struct hook *hooks[HOOKS];

static struct hook_rig_hook one_file(size_t i, const char *key)
{
    static struct hook_source sources[HOOKS];

    sources[i] = (struct hook_source){.name = "one", .of.watch = hook_rig.watches[i]};
    return (struct hook_rig_hook){.rules.mode = HOOK_BATCH, .of = &sources[i], .apply_key = key};
}

/* The rest of p is for the hook to say. */
static void add(size_t i, const char *key, struct hook_rig_hook p)
{
    struct hook_rig_hook whole = one_file(i, key);

    whole.work_queue = p.work_queue;
    whole.apply = p.apply;
    whole.after = p.after;
    whole.timeout_ms = p.timeout_ms;
    hooks[i] = apply_rig_add(whole);
}

static void change(size_t i, const char *uid)
{
    hook_rig_change(i, DELTA_ADDED, uid, uid, "\"a\":1");
}

/* The command of the hook that starts now. */
static struct run *starts(size_t i)
{
    struct run *run = apply_rig_starts_whole();

    assert_ptr_equal(run->hook, hooks[i]);
    return run;
}

/* A change of the hook, and the file that it becomes. */
static void write_file(size_t i, const char *uid)
{
    static uint64_t number;

    change(i, uid);
    hook_rig_end_file(starts(i), RUN_STAGE_WRITTEN, ++number);
}

/* The run of apply that starts now, of this hook, and of so many others. */
static struct run *applies(size_t i, size_t others)
{
    struct run *run = hook_rig_next();

    assert_int_equal(run->kind, RUN_APPLY);
    assert_ptr_equal(run->hook, hooks[i]);
    assert_int_equal(run->other_count, others);
    return run;
}

/* The first runs of the hooks have ended, and their files are applied. */
static void settle_all(size_t n)
{
    for (size_t i = 0; i < n; i++)
        hook_rig_sync(i);
    for (struct run *run; (run = hooks_next(&hook_rig.hooks, hook_rig.now)) != NULL;)
        hook_rig_end(run, 0);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(hooks[i]->gate, GATE_OPEN);
        assert_false(apply_due(&hooks[i]->apply));
        hooks[i]->apply.work_queue.last_start_ms = NEVER_MS;
    }
    hook_rig.now += 100000;
}

static void add_pair(struct hook_rig_hook a, struct hook_rig_hook b)
{
    add(A, "nginx", a);
    add(B, "nginx", b);
    settle_all(2);
}

static const struct hook_rig_hook plain;

static const struct history_run *last_run(size_t i)
{
    return history_get(&hooks[i]->history, 0);
}

static void test_files_of_two_hooks_are_applied_by_one_run(void **state)
{
    (void)state;
    add_pair(plain, plain);
    write_file(A, "u1");
    hook_rig.now += 100;
    write_file(B, "u2");
    hook_rig_waits_until(hook_rig.now + 100); /* A has settled */
    hook_rig_waits_until(hook_rig.now + 100); /* and so has B */
    struct run *run = applies(A, 1);
    uint64_t id = run->id;
    assert_ptr_equal(run->others[0].hook, hooks[B]);
    hook_rig_nothing();
    assert_int_equal(hook_running(hooks[A]), 1);
    assert_int_equal(hook_running(hooks[B]), 1);
    assert_int_equal(why_apply(&hook_rig.hooks, hooks[B], hook_rig.now).reason, WHY_RUNNING);
    hook_rig_end(run, 0);
    for (size_t i = A; i <= B; i++) {
        assert_int_equal(last_run(i)->id, id);
        assert_string_equal(last_run(i)->hooks, "h0 h1");
        assert_int_equal(hooks[i]->apply.runs_ok, 1);
        assert_false(hook_record_of(hooks[i]).owes_apply);
    }
    hook_rig_waits_until(NEVER_MS);
}

static void test_hooks_with_another_program_have_their_own_runs(void **state)
{
    (void)state;
    add(A, "nginx", plain);
    add(B, "nginx as www-data", plain);
    add(C, NULL, plain);
    settle_all(3);
    write_file(A, "u1");
    write_file(B, "u2");
    write_file(C, "u3");
    hook_rig_waits_until(hook_rig.now + 200);
    struct run *runs[HOOKS];
    for (size_t i = 0; i < HOOKS; i++)
        runs[i] = applies(i, 0);
    for (size_t i = 0; i < HOOKS; i++) {
        hook_rig_end(runs[i], 0);
        assert_null(last_run(i)->hooks);
    }
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_hook_with_nothing_to_apply_has_no_part(void **state)
{
    (void)state;
    add_pair(plain, plain);
    write_file(B, "u2");
    hook_rig_waits_until(hook_rig.now + 200);
    hook_rig_end(applies(B, 0), 0);
    assert_int_equal(hooks[A]->apply.runs_ok, 0);
    assert_null(last_run(B)->hooks);
    hook_rig_waits_until(NEVER_MS);
}

/* ---- When it runs. */

static void test_it_waits_for_the_command_of_the_other_hook(void **state)
{
    (void)state;
    add_pair(plain, plain);
    change(B, "u2");
    struct run *slow = starts(B);
    write_file(A, "u1");
    uint64_t wrote = hook_rig.now;
    hook_rig_waits_until(wrote + 200);
    hook_rig_nothing();
    struct why w = why_apply(&hook_rig.hooks, hooks[A], hook_rig.now);
    assert_int_equal(w.reason, WHY_HOLDING);
    assert_string_equal(w.of, "h1");
    assert_int_equal(w.until_ms, wrote + APPLY_HOLD_MS);
    hook_rig.now += 5000;
    hook_rig_end_file(slow, RUN_STAGE_WRITTEN, 7);
    hook_rig_end(applies(A, 1), 0); /* A has waited for longer than anything may settle */
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_command_that_hangs_holds_the_others_back_for_ten_seconds(void **state)
{
    (void)state;
    add_pair(plain, plain);
    change(B, "u2");
    struct run *hangs = starts(B);
    write_file(A, "u1");
    uint64_t wrote = hook_rig.now;
    hook_rig_waits_until(wrote + 200);
    hook_rig_waits_until(wrote + APPLY_HOLD_MS);
    hook_rig_end(applies(A, 0), 0);
    hook_rig_end_file(hangs, RUN_STAGE_WRITTEN, 7);
    hook_rig_waits_until(hook_rig.now + 200);
    hook_rig_end(applies(B, 0), 0);
}

static const struct hook_rig_hook settling = {
    .work_queue = {.settle_ms = 1000, .settle_max_ms = 5000},
    .apply = {.settle_ms = 1000, .settle_max_ms = 5000},
};

static void test_it_waits_for_a_change_that_settles(void **state)
{
    (void)state;
    add_pair(plain, settling);
    change(B, "u2");
    write_file(A, "u1");
    uint64_t changed = hook_rig.now;
    hook_rig_waits_until(changed + 200);
    hook_rig_waits_until(changed + 1000);
    hook_rig_end_file(starts(B), RUN_STAGE_WRITTEN, 7);
    hook_rig_waits_until(changed + 2000);
    hook_rig_end(applies(A, 1), 0);
    hook_rig_waits_until(NEVER_MS);
}

/* As if nobody shared it. */
static void test_a_hook_does_not_wait_for_its_own_change_that_settles(void **state)
{
    (void)state;
    add_pair(settling, plain);
    change(A, "u1");
    hook_rig.now += 1000;
    struct run *run = starts(A);
    hook_rig.now += 100;
    hook_rig_end_file(run, RUN_STAGE_WRITTEN, 1);
    hook_rig.now += 900;
    change(A, "u2"); /* settles until 1000 ms from now */
    hook_rig_waits_until(hook_rig.now + 100);
    hook_rig_end(applies(A, 0), 0);
}

/* The longest settle time of the hooks is the limit: a hook that never rests delays the others by no
 * more. */
static void test_a_hook_that_never_settles_delays_the_others_for_its_time(void **state)
{
    (void)state;
    struct hook_rig_hook restless = settling;

    restless.work_queue.settle_max_ms = 1000000;
    add_pair(plain, restless);
    change(B, "u2");
    write_file(A, "u1");
    uint64_t wrote = hook_rig.now;
    while (hook_rig.now < wrote + 4900) {
        hook_rig.now += 100;
        hook_rig_change(1, DELTA_MODIFIED, "u2", "u2",
                        (hook_rig.now / 100) % 2 == 0 ? "\"a\":2" : "\"a\":3");
        hook_rig_nothing();
    }
    hook_rig_waits_until(wrote + 5000);
    hook_rig_end(applies(A, 0), 0);
}

static void test_the_longest_min_interval_of_those_that_wait_counts(void **state)
{
    (void)state;
    add_pair(plain, (struct hook_rig_hook){.apply.min_interval_ms = 60000});
    write_file(A, "u1");
    hook_rig_waits_until(hook_rig.now + 200);
    hook_rig_end(applies(A, 0), 0);
    write_file(A, "u3");
    hook_rig_waits_until(hook_rig.now + 200); /* A alone has no interval */
    uint64_t started = hook_rig.now;
    hook_rig_end(applies(A, 0), 0);
    write_file(B, "u2");
    write_file(A, "u4");
    hook_rig_waits_until(hook_rig.now + 200);
    hook_rig_nothing();
    assert_int_equal(why_apply(&hook_rig.hooks, hooks[A], hook_rig.now).reason, WHY_MIN_INTERVAL);
    hook_rig_waits_until(started + 60000);
    hook_rig_end(applies(A, 1), 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_file_written_meanwhile_waits_for_the_end_of_the_run(void **state)
{
    (void)state;
    add_pair(plain, plain);
    write_file(A, "u1");
    hook_rig_waits_until(hook_rig.now + 200);
    struct run *run = applies(A, 0);
    write_file(B, "u2");
    write_file(A, "u3");
    hook_rig.now += 5000;
    hook_rig_nothing();
    struct why w = why_apply(&hook_rig.hooks, hooks[B], hook_rig.now);
    assert_int_equal(w.reason, WHY_HOLDING);
    assert_string_equal(w.of, "h0");
    assert_int_equal(w.until_ms, 0);
    hook_rig_end(run, 0);
    hook_rig_end(applies(A, 1), 0);
    hook_rig_waits_until(NEVER_MS);
}

/* ---- Failures. */

static void test_a_command_that_fails_does_not_keep_the_others_from_it(void **state)
{
    (void)state;
    add_pair(plain, plain);
    change(B, "u2");
    hook_rig_end(starts(B), 1); /* for example its check */
    write_file(A, "u1");
    hook_rig.now += 200;
    hook_rig_end(applies(A, 0), 0);
    hook_rig.now += UINT64_C(2) * HOOK_RIG_INITIAL_MS;
    hook_rig_end_file(starts(B), RUN_STAGE_WRITTEN, 7);
    hook_rig_waits_until(hook_rig.now + 200);
    hook_rig_end(applies(B, 0), 0);
}

static void test_a_failed_run_is_tried_again_once_for_all(void **state)
{
    (void)state;
    add_pair(plain, plain);
    write_file(A, "u1");
    write_file(B, "u2");
    hook_rig.now += 200;
    hook_rig_end(applies(A, 1), 1);
    for (size_t i = A; i <= B; i++) {
        assert_string_equal(hook_last_error(hooks[i]), "exit");
        assert_int_equal(last_run(i)->outcome, HISTORY_FAILED);
        assert_true(hook_record_of(hooks[i]).owes_apply);
    }
    hook_rig_nothing();
    hook_rig.now += UINT64_C(2) * HOOK_RIG_INITIAL_MS;
    struct run *run = hook_rig_next();
    assert_int_equal(run->reason, RUN_RETRY);
    assert_int_equal(run->attempt, 2);
    assert_int_equal(run->other_count, 1);
    hook_rig_end(run, 0);
    assert_null(hook_last_error(hooks[A]));
    assert_null(hook_last_error(hooks[B]));
    hook_rig_waits_until(NEVER_MS);
}

/* As a change of its own hook: worth another try, but not at once. */
static void test_a_file_of_another_hook_brings_the_next_try_forward(void **state)
{
    (void)state;
    const struct hook_rig_hook patient = {
        .apply.retry = {.initial_ms = 5000, .max_ms = 600000, .factor = 100}
    };
    add_pair(patient, patient);
    write_file(A, "u1");
    hook_rig.now += 200;
    hook_rig_end(applies(A, 0), 1);
    hook_rig.now += 10000;
    hook_rig_end(hook_rig_next(), 1); /* the next pause is of minutes */
    uint64_t ended = hook_rig.now;
    write_file(B, "u2");
    hook_rig_waits_until(ended + 200);
    hook_rig_nothing();
    assert_int_equal(why_apply(&hook_rig.hooks, hooks[B], hook_rig.now).reason, WHY_BACKOFF);
    hook_rig_waits_until(ended + 5000);
    struct run *run = hook_rig_next();
    assert_int_equal(run->other_count, 1);
    assert_int_equal(run->attempt, 3);
    hook_rig_end(run, 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_parked_hook_has_a_part_in_the_run_of_another_one(void **state)
{
    (void)state;
    add_pair((struct hook_rig_hook){.apply.attempts = 1}, plain);
    write_file(A, "u1");
    hook_rig.now += 200;
    hook_rig_end(applies(A, 0), 1);
    assert_int_equal(hook_parked(hooks[A]), 1);
    hook_rig.now += 60000;
    write_file(B, "u2");
    hook_rig_waits_until(hook_rig.now + 200);
    hook_rig_end(applies(A, 1), 0);
    assert_int_equal(hook_parked(hooks[A]), 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_run_that_cannot_be_started_is_due_for_all(void **state)
{
    (void)state;
    const struct run_result not_started = {
        .end = {.kind = RUN_END_REFUSED, .stage = RUN_STAGE_FORK, .value = EAGAIN},
        .text = "no processes"
    };
    add_pair(plain, plain);
    write_file(A, "u1");
    write_file(B, "u2");
    hook_rig.now += 200;
    size_t before = hooks[B]->history.n;
    hooks_finish(&hook_rig.hooks, applies(A, 1), &not_started, hook_rig.now);
    assert_int_equal(hook_not_started(hooks[B]), 1);
    assert_int_equal(hooks[B]->history.n, before);
    hook_rig_waits_until(hook_rig.now + SCHEDULER_NOT_STARTED_MS);
    hook_rig_end(applies(A, 1), 0);
    assert_int_equal(hook_not_started(hooks[B]), 0);
}

/* ---- People. */

static void test_a_paused_hook_has_no_part_and_holds_nobody_back(void **state)
{
    (void)state;
    add_pair(plain, plain);
    change(B, "u2");
    struct run *slow = starts(B);
    hook_pause(hooks[B], true);
    write_file(A, "u1");
    hook_rig_waits_until(hook_rig.now + 200);
    hook_rig_end(applies(A, 0), 0);
    hook_rig_end_file(slow, RUN_STAGE_WRITTEN, 7);
    hook_rig.now += 60000;
    hook_rig_nothing(); /* B alone has something to apply */
    hook_pause(hooks[B], false);
    hook_rig_end(applies(B, 0), 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_manual_run_ends_with_the_run_of_another_hook(void **state)
{
    struct err err;
    (void)state;
    add_pair(plain, plain);
    write_file(A, "u1");
    write_file(B, "u2");
    assert_int_equal(hook_run_manually(hooks[B], (struct str){0}, &err), ERR_OK);
    hook_rig_end_file(starts(B), RUN_STAGE_SAME, 7);
    hook_rig.now += 200;
    struct run *run = applies(A, 1);
    assert_int_equal(run->reason, RUN_MANUAL);
    assert_int_equal(hook_rig_manual_run(hooks[B])->left, 1);
    hook_rig_end(run, 0);
    assert_int_equal(hook_rig_manual_run(hooks[B])->left, 0);
    assert_int_equal(hook_rig_manual_run(hooks[B])->failed, 0);
}

static void test_the_hook_with_the_longest_timeout_runs_it(void **state)
{
    (void)state;
    add_pair((struct hook_rig_hook){.timeout_ms = 1000},
             (struct hook_rig_hook){.timeout_ms = 2000});
    write_file(A, "u1");
    write_file(B, "u2");
    hook_rig.now += 200;
    struct run *run = applies(B, 1);
    assert_ptr_equal(run->others[0].hook, hooks[A]);
    hooks_began(run, hook_rig.now + 50);
    assert_int_equal(hooks[A]->apply.work_queue.last_start_ms, hook_rig.now + 50);
    hook_rig_end(run, 0);
    assert_string_equal(last_run(A)->hooks, "h1 h0");
}

/* ---- A start, and a restart. */

static void owe(size_t i)
{
    const struct hook_record record = {.owes_apply = true};

    hook_record_restore(hooks[i], &record, hook_rig.now);
}

static void test_what_two_hooks_owe_after_a_restart_is_one_run(void **state)
{
    (void)state;
    add(A, "nginx", plain);
    add(B, "nginx", plain);
    owe(A);
    owe(B);
    hook_rig_sync(A);
    hook_rig.now += 3000;
    hook_rig_nothing(); /* the first runs of B are to come */
    hook_rig_sync(B);
    hook_rig_end(applies(A, 1), 0);
    hook_rig_waits_until(NEVER_MS);
}

static void test_a_source_that_is_not_there_delays_the_first_run_only(void **state)
{
    (void)state;
    add(A, "nginx", plain);
    add(B, "nginx", plain);
    owe(A);
    owe(B);
    uint64_t began = hook_rig.now;
    hook_rig_sync(A);
    hook_rig_waits_until(began + 200);
    hook_rig_waits_until(began + APPLY_HOLD_MS);
    hook_rig_end(applies(A, 0), 0);
    write_file(A, "u1");
    hook_rig_waits_until(hook_rig.now + 200);
    hook_rig_end(applies(A, 0), 0);
    assert_true(hook_record_of(hooks[B]).owes_apply);
}

static void test_a_hook_that_waits_for_the_other_in_after_does_not_hold_it_back(void **state)
{
    (void)state;
    add(A, "nginx", plain);
    add(B, "nginx", (struct hook_rig_hook){.after = A + 1});
    change(A, "u1");
    change(B, "u2");
    hook_rig_sync(A);
    hook_rig_sync(B);
    hook_rig_end_file(starts(A), RUN_STAGE_WRITTEN, 1);
    hook_rig_end(applies(A, 0), 0);
    hook_rig_end_file(starts(B), RUN_STAGE_WRITTEN, 1);
    hook_rig_end(applies(B, 0), 0);
}

/* ---- Reloads. */

static void test_a_hook_that_comes_and_goes_joins_and_leaves(void **state)
{
    (void)state;
    add_pair(plain, plain);
    write_file(A, "u1");
    write_file(B, "u2");
    hook_rig.now += 200;
    struct run *run = applies(A, 1);
    hook_retire(hooks[B]);
    assert_false(hook_is_retired(hooks[B])); /* it has a part in the run */
    hook_rig_end(run, 0);
    assert_true(hook_is_retired(hooks[B]));
    assert_ptr_equal(apply_group_next(hooks[A], NULL), hooks[B]);
    hooks_remove(&hook_rig.hooks, &hooks[B]);
    assert_null(apply_group_next(hooks[A], NULL));
    write_file(A, "u3");
    hook_rig_waits_until(hook_rig.now + 200);
    hook_rig_end(applies(A, 0), 0);
    add(B, "nginx", plain);
    assert_ptr_equal(apply_group_next(hooks[B], NULL), hooks[A]);
    assert_null(apply_group_next(hooks[B], hooks[A]));
}

/* Its files are applied by the hook that takes its place. */
static void test_a_hook_that_retires_has_no_part(void **state)
{
    (void)state;
    add_pair(plain, plain);
    write_file(A, "u1");
    write_file(B, "u2");
    hook_retire(hooks[B]);
    hook_rig_waits_until(hook_rig.now + 200);
    hook_rig_end(applies(A, 0), 0);
    assert_true(hook_record_of(hooks[B]).owes_apply);
    assert_true(hook_is_retired(hooks[B]));
}

/* The reload has the run killed because of the other hook: that is no failure of its last try. */
static void test_a_run_that_a_reload_kills_does_not_park_the_other_hook(void **state)
{
    const struct run_result killed = {
        .text = "signal 9", .end = {.kind = RUN_END_SIGNALED, .value = 9},
             .stopped = true
    };

    (void)state;
    add_pair(plain, (struct hook_rig_hook){.apply.attempts = 1});
    write_file(A, "u1");
    write_file(B, "u2");
    hook_rig.now += 200;
    struct run *run = applies(A, 1);
    hook_retire(hooks[A]);
    hooks_finish(&hook_rig.hooks, run, &killed, hook_rig.now);
    assert_int_equal(hook_parked(hooks[B]), 0);
    hook_rig.now += HOOK_RIG_INITIAL_MS;
    hook_rig_end(applies(B, 0), 0);
    assert_false(apply_due(&hooks[B]->apply));
}

#define HOOK_RIG_TEST(name) \
    cmocka_unit_test_setup_teardown(name, hook_rig_set_up, hook_rig_clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOOK_RIG_TEST(test_files_of_two_hooks_are_applied_by_one_run),
        HOOK_RIG_TEST(test_hooks_with_another_program_have_their_own_runs),
        HOOK_RIG_TEST(test_a_hook_with_nothing_to_apply_has_no_part),
        HOOK_RIG_TEST(test_it_waits_for_the_command_of_the_other_hook),
        HOOK_RIG_TEST(test_a_command_that_hangs_holds_the_others_back_for_ten_seconds),
        HOOK_RIG_TEST(test_it_waits_for_a_change_that_settles),
        HOOK_RIG_TEST(test_a_hook_does_not_wait_for_its_own_change_that_settles),
        HOOK_RIG_TEST(test_a_hook_that_never_settles_delays_the_others_for_its_time),
        HOOK_RIG_TEST(test_the_longest_min_interval_of_those_that_wait_counts),
        HOOK_RIG_TEST(test_a_file_written_meanwhile_waits_for_the_end_of_the_run),
        HOOK_RIG_TEST(test_a_command_that_fails_does_not_keep_the_others_from_it),
        HOOK_RIG_TEST(test_a_failed_run_is_tried_again_once_for_all),
        HOOK_RIG_TEST(test_a_file_of_another_hook_brings_the_next_try_forward),
        HOOK_RIG_TEST(test_a_parked_hook_has_a_part_in_the_run_of_another_one),
        HOOK_RIG_TEST(test_a_run_that_cannot_be_started_is_due_for_all),
        HOOK_RIG_TEST(test_a_paused_hook_has_no_part_and_holds_nobody_back),
        HOOK_RIG_TEST(test_a_manual_run_ends_with_the_run_of_another_hook),
        HOOK_RIG_TEST(test_the_hook_with_the_longest_timeout_runs_it),
        HOOK_RIG_TEST(test_what_two_hooks_owe_after_a_restart_is_one_run),
        HOOK_RIG_TEST(test_a_source_that_is_not_there_delays_the_first_run_only),
        HOOK_RIG_TEST(test_a_hook_that_waits_for_the_other_in_after_does_not_hold_it_back),
        HOOK_RIG_TEST(test_a_hook_that_comes_and_goes_joins_and_leaves),
        HOOK_RIG_TEST(test_a_hook_that_retires_has_no_part),
        HOOK_RIG_TEST(test_a_run_that_a_reload_kills_does_not_park_the_other_hook),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

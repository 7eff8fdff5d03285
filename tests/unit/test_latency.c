/* SPDX-License-Identifier: Apache-2.0 */
/* How long a hook takes from a change until it has handled it. */
#include "hook_rig.h"

#define WORKS ((struct run_result){.text = "exit status 0"})
#define FAILS ((struct run_result){.end = {.value = 1}, .text = "exit status 1"})

static void end(struct run *run, struct run_result result)
{
    hooks_finish(&hook_rig.hooks, run, &result, hook_rig.now);
}

static void test_it_counts_from_the_first_change_over_failed_runs(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){.rules = {.mode = HOOK_OBJECT}});
    hook_rig_sync(0);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    struct run *run = hook_rig_next();
    hook_rig.now += 40;
    end(run, FAILS);
    assert_int_equal(latency_all(&h->figures.latency).total, 0);
    hook_rig.now += 10000;
    run = hook_rig_next();
    hook_rig.now += 60;
    end(run, WORKS);
    assert_int_equal(latency_all(&h->figures.latency).total, 1);
    assert_int_equal(latency_all(&h->figures.latency).sum_ms, 10100);
}

static void test_each_key_of_a_batch_counts_by_itself(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){.rules = {.mode = HOOK_BATCH}});
    hook_rig_sync(0);
    assert_null(hooks_next(&hook_rig.hooks, hook_rig.now)); /* sees the source from here on */
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig.now += 100;
    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
    hook_rig.now += 10000;
    end(hook_rig_next(), WORKS);
    assert_int_equal(latency_all(&h->figures.latency).total, 2);
    assert_int_equal(latency_all(&h->figures.latency).sum_ms, 10100 + 10000);
    assert_int_equal(latency_all(&h->figures.latency).max_ms, 10100);
}

/* Nothing was due: nobody has waited. */
static void test_a_manual_run_of_what_is_handled_does_not_count(void **state)
{
    struct err err = {0};

    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){.rules = {.mode = HOOK_OBJECT}});
    hook_rig_sync(0);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    end(hook_rig_next(), WORKS);
    assert_int_equal(latency_all(&h->figures.latency).total, 1);
    assert_int_equal(hook_run_manually(h, str_c("ns/a"), &err), ERR_OK);
    hook_rig.now += 10000;
    end(hook_rig_next(), WORKS);
    assert_int_equal(h->figures.runs_ok, 2);
    assert_int_equal(latency_all(&h->figures.latency).total, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, hook_rig_set_up, hook_rig_clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_it_counts_from_the_first_change_over_failed_runs),
        TEST(test_each_key_of_a_batch_counts_by_itself),
        TEST(test_a_manual_run_of_what_is_handled_does_not_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

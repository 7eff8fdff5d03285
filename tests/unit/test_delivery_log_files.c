/* SPDX-License-Identifier: Apache-2.0 */
#include "restarted_hook.h"

/* The files of a hook after a restart. */

static void load(const char *key, const char *uid, const char *data)
{
    hook_rig_change(0, DELTA_ADDED, key, uid, data);
}

static void writes(enum run_stage became, uint64_t number)
{
    struct err err = {0};
    struct run *run = hook_rig_next();

    assert_int_equal(files_claim(run, &err), ERR_OK);
    restarted_hook_keep();
    hook_rig_end_file(run, became, number);
    restarted_hook_keep();
}

static void is_refused(const char *uid)
{
    struct err err = {0};
    struct run *run = hook_rig_starts(DELTA_ADDED, uid);

    assert_int_equal(files_claim(run, &err), ERR_CONFIG);
    hooks_finish(&hook_rig.hooks, run,
                 &(struct run_result){
                     .end = {.kind = RUN_END_REFUSED, .stage = RUN_STAGE_FIELDS},
                       .text = err.text
    },
                 hook_rig.now);
    restarted_hook_keep();
}

static struct hook_rig_hook with_file(void)
{
    return (struct hook_rig_hook){.output = "/x/${name}", .applies = true};
}

static void test_apply_is_due_until_it_has_succeeded(void **state)
{
    (void)state;
    restarted_hook_add(with_file());
    load("ns/n", "u1", "\"a\":1");
    hook_rig_sync(0);
    writes(RUN_STAGE_WRITTEN, 1);
    restarted_hook_restart();
    load("ns/n", "u1", "\"a\":1");
    hook_rig_sync(0);
    assert_false(hooks_ready(&hook_rig.hooks));
    hook_rig_applies(RUN_EXISTING, 1);
    restarted_hook_keep();
    restarted_hook_restart();
    load("ns/n", "u1", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_end(hook_rig_applies(RUN_EXISTING, 1), 0);
    restarted_hook_keep();
    restarted_hook_restart();
    load("ns/n", "u1", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_nothing();
    assert_true(hooks_ready(&hook_rig.hooks));
}

static void test_a_file_that_is_known_is_not_applied_again(void **state)
{
    (void)state;
    restarted_hook_add(with_file());
    load("ns/n", "u1", "\"a\":1");
    hook_rig_sync(0);
    writes(RUN_STAGE_WRITTEN, 1);
    hook_rig_end(hook_rig_applies(RUN_EXISTING, 1), 0);
    restarted_hook_keep();
    assert_int_equal(restarted_hook.disk.file_count, 1);
    restarted_hook_restart();
    load("ns/n", "u1", "\"a\":2");
    hook_rig_sync(0);
    writes(RUN_STAGE_SAME, 1);
    hook_rig_nothing();
    restarted_hook_restart();
    hook_record_renew(restarted_hook.hook);
    restarted_hook_keep();
    restarted_hook_restart();
    load("ns/n", "u1", "\"a\":2");
    hook_rig_sync(0);
    writes(RUN_STAGE_SAME, 1); /* the effect of apply is gone */
    hook_rig_end(hook_rig_applies(RUN_EXISTING, 1), 0);
    restarted_hook_keep();
    restarted_hook_restart();
    hook_rig_sync(0);
    writes(RUN_STAGE_REMOVED, 0);
    assert_int_equal(restarted_hook.disk.file_count, 0);
}

/* A try for a key without a file costs nothing, and the file may be free by now. */
static void test_each_process_tries_a_key_whose_file_belonged_to_another_key(void **state)
{
    (void)state;
    restarted_hook_add((struct hook_rig_hook){.output = "/x/${name}"});
    load("ns/n", "u1", "\"a\":1");
    hook_rig_sync(0);
    writes(RUN_STAGE_WRITTEN, 1);
    load("ms/n", "u2", "\"a\":2");
    is_refused("u2");
    restarted_hook_restart();
    load("ns/n", "u1", "\"a\":1");
    load("ms/n", "u2", "\"a\":2");
    hook_rig_sync(0);
    is_refused("u2");
    hook_rig_change(0, DELTA_DELETED, "ns/n", "u1", "\"a\":1");
    writes(RUN_STAGE_REMOVED, 0);
    hook_rig.now += 3600000;
    writes(RUN_STAGE_WRITTEN, 2);
    assert_string_equal(restarted_hook.disk.files[0].key, "ms/n");
}

static void test_a_file_of_a_key_that_is_known_no_more_is_free(void **state)
{
    (void)state;
    restarted_hook_add((struct hook_rig_hook){.output = "/x/${name}"});
    load("ns/n", "u1", "\"a\":1");
    hook_rig_sync(0);
    writes(RUN_STAGE_WRITTEN, 1);
    restarted_hook_restart();
    delivery_log_forget(&restarted_hook.hook->queue, 0); /* another cluster answers now */
    restarted_hook_keep();
    load("ms/n", "u2", "\"a\":1");
    hook_rig_sync(0);
    writes(RUN_STAGE_SAME, 1);
    assert_string_equal(restarted_hook.disk.files[0].key, "ms/n");
    load("ns/n", "u3", "\"a\":1");
    is_refused("u3");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, hook_rig_set_up, restarted_hook_clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_apply_is_due_until_it_has_succeeded),
        TEST(test_a_file_that_is_known_is_not_applied_again),
        TEST(test_each_process_tries_a_key_whose_file_belonged_to_another_key),
        TEST(test_a_file_of_a_key_that_is_known_no_more_is_free),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

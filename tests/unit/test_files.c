/* SPDX-License-Identifier: Apache-2.0 */
#include "hook_rig.h"

#include <string.h>

/* Which output file belongs to which key. */

static struct run *next(enum run_kind kind)
{
    struct run *run = hook_rig_next();

    assert_int_equal(run->kind, kind);
    return run;
}

static void claims(struct run *run, const char *path)
{
    struct err err = {0};

    assert_int_equal(files_claim(run, &err), ERR_OK);
    if (path != NULL)
        assert_string_equal(run->file, path);
    else
        assert_null(run->file);
}

static void refused(struct run *run, enum err_kind kind, const char *text)
{
    struct err err = {0};
    const struct run_result result = {
        .end = {.kind = RUN_END_REFUSED, .stage = RUN_STAGE_FIELDS},
          .text = err.text
    };

    assert_int_equal(files_claim(run, &err), kind);
    if (strstr(err.text, text) == NULL)
        fail_msg("%s", err.text);
    hooks_finish(&hook_rig.hooks, run, &result, hook_rig.now);
}

static void add(const char *key, const char *uid)
{
    hook_rig_change(0, DELTA_ADDED, key, uid, "\"a\":1");
}

static void drop(const char *key, const char *uid)
{
    hook_rig_change(0, DELTA_DELETED, key, uid, "\"a\":1");
}

static void writes(const char *path)
{
    struct run *run = next(RUN_COMMAND);

    claims(run, path);
    hook_rig_end_file(run, RUN_STAGE_WRITTEN, 1);
}

static void removes(const char *path)
{
    struct run *run = next(RUN_REMOVE);

    claims(run, path);
    if (path != NULL)
        hook_rig_end_file(run, RUN_STAGE_REMOVED, 0);
    else
        hook_rig_end(run, 0);
}

static void test_a_hook_without_output_has_no_files(void **state)
{
    (void)state;
    hook_rig_add(&(struct hook_rig_hook){0});
    hook_rig_sync(0);
    add("ns/a", "u1");
    struct run *run = next(RUN_COMMAND);
    claims(run, NULL);
    hook_rig_end(run, 0);
    drop("ns/a", "u1");
    hook_rig_end(next(RUN_COMMAND), 0); /* the hook gets the end itself */
}

static void test_names_become_a_path(void **state)
{
    (void)state;
    hook_rig_add(&(struct hook_rig_hook){.output = "/etc/${cluster}/${namespace}-${name}.conf"});
    hook_rig_sync(0);
    add("ns/a", "u1");
    writes("/etc/c/ns-a.conf");
    drop("ns/a", "u1");
    removes("/etc/c/ns-a.conf");
}

static void test_names_that_are_no_file_names_are_unfit(void **state)
{
    (void)state;
    hook_rig_add(&(struct hook_rig_hook){.output = "/etc/${namespace}/${name}"});
    hook_rig_sync(0);
    add("ns/..", "u1");
    refused(next(RUN_COMMAND), ERR_CONFIG, "output: ");
    hook_rig_nothing(); /* parked */
    drop("ns/..", "u1");
    removes(NULL); /* a removal without a file is no failure */
    add("a", "u2");
    refused(next(RUN_COMMAND), ERR_CONFIG, "${namespace}");
    hook_rig_nothing();
}

static void test_two_keys_with_one_path(void **state)
{
    (void)state;
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){.output = "/etc/${name}"});
    hook_rig_sync(0);
    add("ns/a", "u1");
    writes("/etc/a");
    add("other/a", "u2");
    refused(next(RUN_COMMAND), ERR_CONFIG,
            "output: /etc/a is the file of ns/a of source one already: put ${namespace}");
    hook_rig_nothing();
    drop("other/a", "u2");
    removes(NULL); /* the file does not belong to the key */
    add("other/a", "u3");
    refused(next(RUN_COMMAND), ERR_CONFIG, "already");
    assert_int_equal(hook_parked(h), 1);
    hook_rig.now += 60000;
    drop("ns/a", "u1");
    removes("/etc/a");
    assert_int_equal(hook_parked(h), 0); /* the turn of the other key */
    writes("/etc/a");
    hook_rig_nothing();
}

static void test_the_same_key_of_two_sources(void **state)
{
    (void)state;
    hook_rig_add(&(struct hook_rig_hook){.output = "/etc/${namespace}/${name}", .sources = 2});
    hook_rig_sync(0);
    hook_rig_sync(1);
    add("ns/a", "u1");
    writes("/etc/ns/a");
    hook_rig_change(1, DELTA_ADDED, "ns/a", "u2", "\"a\":1");
    refused(next(RUN_COMMAND), ERR_CONFIG, "make a hook for each source");
}

static void test_a_key_that_was_skipped_is_removed(void **state)
{
    (void)state;
    hook_rig_add(
        &(struct hook_rig_hook){.output = "/etc/${name}", .rules.existing = HOOK_EXISTING_SKIP});
    add("ns/a", "u1");
    hook_rig_sync(0);
    hook_rig_nothing();
    drop("ns/a", "u1"); /* a process before this one may have written the file */
    removes("/etc/a");
}

static void test_the_end_and_the_next_incarnation(void **state)
{
    (void)state;
    hook_rig_add(&(struct hook_rig_hook){.output = "/etc/${name}"});
    hook_rig_sync(0);
    add("ns/a", "u1");
    writes("/etc/a");
    drop("ns/a", "u1");
    add("ns/a", "u2");
    removes("/etc/a");
    writes("/etc/a");
    hook_rig_nothing();
}

static void test_modes_for_all_keys_have_one_file(void **state)
{
    (void)state;
    hook_rig_add(&(struct hook_rig_hook){.output = "/etc/x", .rules.mode = HOOK_BATCH});
    hook_rig_sync(0);
    add("ns/a", "u1");
    writes("/etc/x");
    drop("ns/a", "u1");
    writes("/etc/x"); /* the command also gets ends of objects */
}

#define HOOK_RIG_TEST(name) \
    cmocka_unit_test_setup_teardown(name, hook_rig_set_up, hook_rig_clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOOK_RIG_TEST(test_a_hook_without_output_has_no_files),
        HOOK_RIG_TEST(test_names_become_a_path),
        HOOK_RIG_TEST(test_names_that_are_no_file_names_are_unfit),
        HOOK_RIG_TEST(test_two_keys_with_one_path),
        HOOK_RIG_TEST(test_the_same_key_of_two_sources),
        HOOK_RIG_TEST(test_a_key_that_was_skipped_is_removed),
        HOOK_RIG_TEST(test_the_end_and_the_next_incarnation),
        HOOK_RIG_TEST(test_modes_for_all_keys_have_one_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

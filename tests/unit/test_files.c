/* SPDX-License-Identifier: Apache-2.0 */
#include "stage.h"

#include <string.h>

/* Which output file belongs to which key. */

static struct run *next(enum run_kind kind)
{
    struct run *run = stage_next();

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
    const struct run_result result = {.end = RUN_UNFIT, .text = err.text};

    assert_int_equal(files_claim(run, &err), kind);
    if (strstr(err.text, text) == NULL)
        fail_msg("%s", err.text);
    hooks_finish(&stage.hooks, run, &result, stage.now);
}

static void add(const char *key, const char *uid)
{
    stage_change(0, DELTA_ADDED, key, uid, "\"a\":1");
}

static void drop(const char *key, const char *uid)
{
    stage_change(0, DELTA_DELETED, key, uid, "\"a\":1");
}

static void writes(const char *path)
{
    struct run *run = next(RUN_COMMAND);

    claims(run, path);
    stage_end_file(run, RUN_FILE_WRITTEN, 1);
}

static void removes(const char *path)
{
    struct run *run = next(RUN_REMOVE);

    claims(run, path);
    if (path != NULL)
        stage_end_file(run, RUN_FILE_REMOVED, 0);
    else
        stage_end(run, 0);
}

static void test_a_hook_without_output_has_no_files(void **state)
{
    (void)state;
    stage_add(&(struct stage_hook){0});
    stage_sync(0);
    add("ns/a", "u1");
    struct run *run = next(RUN_COMMAND);
    claims(run, NULL);
    stage_end(run, 0);
    drop("ns/a", "u1");
    stage_end(next(RUN_COMMAND), 0); /* it hears of the end itself */
}

static void test_names_become_a_path(void **state)
{
    (void)state;
    stage_add(&(struct stage_hook){.output = "/etc/${cluster}/${namespace}-${name}.conf"});
    stage_sync(0);
    add("ns/a", "u1");
    writes("/etc/c/ns-a.conf");
    drop("ns/a", "u1");
    removes("/etc/c/ns-a.conf");
}

static void test_names_that_are_no_file_names_are_unfit(void **state)
{
    (void)state;
    stage_add(&(struct stage_hook){.output = "/etc/${namespace}/${name}"});
    stage_sync(0);
    add("ns/..", "u1");
    refused(next(RUN_COMMAND), ERR_CONFIG, "output: ");
    stage_nothing(); /* parked */
    drop("ns/..", "u1");
    removes(NULL); /* which is no failure */
    add("a", "u2");
    refused(next(RUN_COMMAND), ERR_CONFIG, "${namespace}");
    stage_nothing();
}

static void test_two_keys_with_one_path(void **state)
{
    (void)state;
    struct hook *h = stage_add(&(struct stage_hook){.output = "/etc/${name}"});
    stage_sync(0);
    add("ns/a", "u1");
    writes("/etc/a");
    add("other/a", "u2");
    refused(next(RUN_COMMAND), ERR_CONFIG,
            "output: /etc/a is the file of ns/a of source one already: put ${namespace}");
    stage_nothing();
    drop("other/a", "u2");
    removes(NULL); /* it is not its own */
    add("other/a", "u3");
    refused(next(RUN_COMMAND), ERR_CONFIG, "already");
    assert_int_equal(hook_parked(h), 1);
    stage.now += 60000;
    drop("ns/a", "u1");
    removes("/etc/a");
    assert_int_equal(hook_parked(h), 0); /* its turn */
    writes("/etc/a");
    stage_nothing();
}

static void test_the_same_key_of_two_sources(void **state)
{
    (void)state;
    stage_add(&(struct stage_hook){.output = "/etc/${namespace}/${name}", .sources = 2});
    stage_sync(0);
    stage_sync(1);
    add("ns/a", "u1");
    writes("/etc/ns/a");
    stage_change(1, DELTA_ADDED, "ns/a", "u2", "\"a\":1");
    refused(next(RUN_COMMAND), ERR_CONFIG, "make a hook for each source");
}

static void test_a_key_that_was_skipped_is_removed(void **state)
{
    (void)state;
    stage_add(&(struct stage_hook){.output = "/etc/${name}", .rules.existing = HOOK_EXISTING_SKIP});
    add("ns/a", "u1");
    stage_sync(0);
    stage_nothing();
    drop("ns/a", "u1"); /* a process before this one may have written it */
    removes("/etc/a");
}

static void test_the_end_and_the_next_life(void **state)
{
    (void)state;
    stage_add(&(struct stage_hook){.output = "/etc/${name}"});
    stage_sync(0);
    add("ns/a", "u1");
    writes("/etc/a");
    drop("ns/a", "u1");
    add("ns/a", "u2");
    removes("/etc/a");
    writes("/etc/a");
    stage_nothing();
}

static void test_modes_for_all_keys_have_one_file(void **state)
{
    (void)state;
    stage_add(&(struct stage_hook){.output = "/etc/x", .rules.mode = HOOK_BATCH});
    stage_sync(0);
    add("ns/a", "u1");
    writes("/etc/x");
    drop("ns/a", "u1");
    writes("/etc/x"); /* the command is told of ends, too */
}

#define STAGE_TEST(name) cmocka_unit_test_setup_teardown(name, stage_set_up, stage_clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STAGE_TEST(test_a_hook_without_output_has_no_files),
        STAGE_TEST(test_names_become_a_path),
        STAGE_TEST(test_names_that_are_no_file_names_are_unfit),
        STAGE_TEST(test_two_keys_with_one_path),
        STAGE_TEST(test_the_same_key_of_two_sources),
        STAGE_TEST(test_a_key_that_was_skipped_is_removed),
        STAGE_TEST(test_the_end_and_the_next_life),
        STAGE_TEST(test_modes_for_all_keys_have_one_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

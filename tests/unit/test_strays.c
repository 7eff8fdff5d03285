/* SPDX-License-Identifier: Apache-2.0 */
/* Files that nothing names any more: which ones are, when they go, and what waits for that. */
#include "reborn.h"

static void load(const char *key, const char *uid)
{
    stage_change(0, DELTA_ADDED, key, uid, "\"a\":1");
}

static void writes(uint64_t number)
{
    struct err err = {0};
    struct run *run = stage_next();

    assert_int_equal(files_claim(run, &err), ERR_OK);
    reborn_keep();
    stage_end_file(run, RUN_FILE_WRITTEN, number);
    reborn_keep();
}

/* A hook that has written a file for ns/n, and applied it. */
static void begin(struct stage_hook p)
{
    p.output = "/old/${name}";
    p.applies = true;
    p.sources = 2;
    reborn_add(p);
    stage_sync(1);
    load("ns/n", "u1");
    stage_sync(0);
    writes(1);
    stage_end(stage_applies(RUN_EXISTING, 1), 0);
    reborn_keep();
}

static void restart_with(const char *output)
{
    reborn.params.output = output;
    reborn_restart();
    hook_record_renew(reborn.hook);
    reborn_keep();
}

static struct stray *only_stray(enum stray_state state)
{
    struct list *first = list_first(&reborn.hook->strays.all);

    assert_non_null(first);
    struct stray *x = list_entry(first, struct stray, link);
    assert_int_equal(x->state, state);
    return x;
}

static bool is_kept(const char *path)
{
    for (size_t i = 0; i < reborn.disk.file_count; i++)
        if (strcmp(reborn.disk.files[i].path, path) == 0)
            return true;
    return false;
}

/* Not before the new file is there, and before that is applied; nothing of the hook starts meanwhile. */
static void test_a_stray_goes_between_the_new_file_and_apply(void **state)
{
    (void)state;
    begin((struct stage_hook){0});
    restart_with("/new/${name}");
    stage_sync(1);
    load("ns/n", "u1");
    load("ns/m", "u2");
    stage_sync(0);
    only_stray(STRAY_WAITING);
    writes(1);
    only_stray(STRAY_WAITING);
    writes(2);
    stage_nothing();
    struct stray *x = only_stray(STRAY_DUE);
    assert_string_equal(x->path, "/old/n");
    load("ns/o", "u3");
    stage_waits_until(NEVER_MS);
    assert_false(hooks_quiet(&stage.hooks));
    strays_ended(reborn.hook, x, STRAY_END_REMOVED, stage.now);
    reborn_keep();
    assert_false(is_kept("/old/n"));
    writes(3);
    stage_end(stage_applies(RUN_EXISTING, 1), 0);
    assert_int_equal(reborn.hook->strays.removed, 1);
    assert_true(hooks_quiet(&stage.hooks));
}

/* The new file never comes, as the object goes before. */
static void test_a_stray_goes_with_its_object(void **state)
{
    (void)state;
    begin((struct stage_hook){.work_queue = {.attempts = 1}});
    restart_with("/new/${name}");
    stage_sync(1);
    load("ns/n", "u1");
    stage_sync(0);
    struct err err = {0};
    struct run *run = stage_next();
    assert_int_equal(files_claim(run, &err), ERR_OK);
    stage_end(run, 1);
    stage_nothing();
    only_stray(STRAY_WAITING);
    stage_change(0, DELTA_DELETED, "ns/n", "u1", "\"a\":1");
    run = stage_next();
    assert_int_equal(run->kind, RUN_REMOVE);
    assert_int_equal(files_claim(run, &err), ERR_OK);
    stage_end_file(run, RUN_FILE_SAME, 0);
    stage_nothing();
    only_stray(STRAY_DUE);
}

/* Its end is a change of what there is, too. */
static void test_what_is_removed_is_applied_though_nothing_was_written(void **state)
{
    (void)state;
    begin((struct stage_hook){0});
    reborn.disk.row_count = 0; /* its watch has another name, and no object */
    reborn.disk.files[0].seen.source = SIZE_MAX;
    restart_with("/old/${name}");
    stage_sync(1);
    stage_nothing();
    only_stray(STRAY_WAITING); /* nobody knows what the other source has */
    stage_sync(0);
    stage_nothing();
    strays_ended(reborn.hook, only_stray(STRAY_DUE), STRAY_END_REMOVED, stage.now);
    stage.now += 60000;
    stage_end(stage_next(), 0);
    stage_nothing();
}

static void test_what_somebody_changed_is_judged_by_each_process(void **state)
{
    (void)state;
    begin((struct stage_hook){0});
    restart_with("/new/${name}");
    for (int i = 0; i < 2; i++) {
        stage_sync(1);
        load("ns/n", "u1");
        stage_sync(0);
        if (i == 0)
            writes(1);
        stage_nothing();
        strays_ended(reborn.hook, only_stray(STRAY_DUE), STRAY_END_CHANGED, stage.now);
        assert_non_null(only_stray(STRAY_LEFT)->why);
        reborn_keep();
        assert_true(is_kept("/old/n"));
        if (i == 0)
            stage_end(stage_applies(RUN_EXISTING, 1), 0);
        reborn_keep();
        reborn_restart();
    }
}

static void test_a_path_that_is_named_again_is_no_stray(void **state)
{
    (void)state;
    begin((struct stage_hook){0});
    restart_with("/new/${name}");
    restart_with("/old/${name}"); /* edited back, and nothing has run */
    assert_true(list_is_empty(&reborn.hook->strays.all));
    stage_sync(1);
    load("ns/n", "u1");
    stage_sync(0);
    writes(1);
    assert_true(is_kept("/old/n"));
}

/* A watch of another name has the same object, and its file. */
static void test_a_file_of_a_renamed_watch_is_taken_over(void **state)
{
    (void)state;
    begin((struct stage_hook){0});
    reborn.disk.row_count = 0;
    reborn.disk.files[0].seen.source = SIZE_MAX;
    restart_with("/old/${name}");
    stage_sync(1);
    load("ns/n", "u1");
    stage_sync(0);
    writes(1);
    assert_true(list_is_empty(&reborn.hook->strays.all));
    assert_int_equal(reborn.disk.file_count, 1);
    assert_int_equal(reborn.disk.files[0].seen.source, 0);
}

static void test_without_output_they_stay(void **state)
{
    (void)state;
    begin((struct stage_hook){0});
    reborn.params.applies = false;
    restart_with(NULL);
    only_stray(STRAY_LEFT);
    stage_sync(1);
    load("ns/n", "u1");
    stage_sync(0);
    stage_end(stage_next(), 0);
    reborn_keep();
    only_stray(STRAY_LEFT);
    assert_true(is_kept("/old/n"));
}

/* Also if it is another hook's by now. */
static void test_a_file_of_another_hook_is_no_stray(void **state)
{
    struct err err = {0};

    (void)state;
    begin((struct stage_hook){0});
    restart_with("/new/${name}");
    stage_add(&(struct stage_hook){.output = "/old/${name}", .sources = 2});
    stage_sync(1);
    load("ns/n", "u1");
    stage_sync(0);
    struct run *runs[2] = {stage_next(), stage_next()};
    for (size_t i = 0; i < ARRAY_LEN(runs); i++)
        assert_int_equal(files_claim(runs[i], &err), ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(runs); i++)
        stage_end_file(runs[i], RUN_FILE_WRITTEN, 1);
    struct run *apply = stage_next();
    assert_int_equal(apply->kind, RUN_APPLY);
    stage_end(apply, 0);
    stage_nothing();
    assert_true(list_is_empty(&reborn.hook->strays.all));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, stage_set_up, reborn_clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_stray_goes_between_the_new_file_and_apply),
        TEST(test_a_stray_goes_with_its_object),
        TEST(test_what_is_removed_is_applied_though_nothing_was_written),
        TEST(test_what_somebody_changed_is_judged_by_each_process),
        TEST(test_a_path_that_is_named_again_is_no_stray),
        TEST(test_a_file_of_a_renamed_watch_is_taken_over),
        TEST(test_without_output_they_stay),
        TEST(test_a_file_of_another_hook_is_no_stray),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

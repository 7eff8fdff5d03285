/* SPDX-License-Identifier: Apache-2.0 */
/* Files that no hook has any more: which ones are strays, when they go, and the events that they wait for. */
#include "loop_until.h"
#include "restarted_hook.h"
#include "silent_link.h"

#include <unistd.h>

#include "hook/reload.h"
#include "io/helper_link.h"
#include "io/loop.h"
#include "io/strays_driver.h"

static void load(const char *key, const char *uid)
{
    hook_rig_change(0, DELTA_ADDED, key, uid, "\"a\":1");
}

static void writes(uint64_t number)
{
    struct err err = {0};
    struct run *run = hook_rig_next();

    assert_int_equal(files_claim(run, &err), ERR_OK);
    restarted_hook_keep();
    hook_rig_end_file(run, RUN_STAGE_WRITTEN, number);
    restarted_hook_keep();
}

/* A hook that has written a file for ns/n, and applied it. */
static void begin(struct hook_rig_hook p)
{
    p.output = "/old/${name}";
    p.applies = true;
    p.sources = 2;
    restarted_hook_add(p);
    hook_rig_sync(1);
    load("ns/n", "u1");
    hook_rig_sync(0);
    writes(1);
    hook_rig_end(hook_rig_applies(RUN_EXISTING, 1), 0);
    restarted_hook_keep();
}

static void restart_with(const char *output)
{
    restarted_hook.params.output = output;
    restarted_hook_restart();
    hook_record_renew(restarted_hook.hook);
    restarted_hook_keep();
}

static struct stray *only_stray(enum stray_state state)
{
    struct list *first = list_first(&restarted_hook.hook->strays.all);

    assert_non_null(first);
    struct stray *x = list_entry(first, struct stray, link);
    assert_int_equal(x->state, state);
    return x;
}

static const struct stray *first_due(void)
{
    list_each (pos, tmp, &restarted_hook.hook->strays.all) {
        const struct stray *x = list_entry(pos, struct stray, link);

        if (x->state == STRAY_DUE)
            return x;
    }
    fail();
    return NULL;
}

static bool is_kept(const char *path)
{
    for (size_t i = 0; i < restarted_hook.disk.file_count; i++)
        if (strcmp(restarted_hook.disk.files[i].path, path) == 0)
            return true;
    return false;
}

/* A stray goes when the new files exist, and before they are applied; no run of the hook starts
 * meanwhile. */
static void test_a_stray_goes_between_the_new_file_and_apply(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    restart_with("/new/${name}");
    hook_rig_sync(1);
    load("ns/n", "u1");
    load("ns/m", "u2");
    hook_rig_sync(0);
    only_stray(STRAY_WAITING);
    writes(1);
    only_stray(STRAY_WAITING);
    writes(2);
    hook_rig_nothing();
    struct stray *x = only_stray(STRAY_DUE);
    assert_string_equal(x->path, "/old/n");
    load("ns/o", "u3");
    hook_rig_waits_until(NEVER_MS);
    assert_false(hooks_quiet(&hook_rig.hooks));
    strays_ended(restarted_hook.hook, x, STRAY_END_REMOVED, hook_rig.now);
    restarted_hook_keep();
    assert_false(is_kept("/old/n"));
    writes(3);
    hook_rig_end(hook_rig_applies(RUN_EXISTING, 1), 0);
    assert_true(hooks_quiet(&hook_rig.hooks));
}

/* The new file never comes, because the object goes first. */
static void test_a_stray_goes_with_its_object(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){.work_queue = {.attempts = 1}});
    restart_with("/new/${name}");
    hook_rig_sync(1);
    load("ns/n", "u1");
    hook_rig_sync(0);
    struct err err = {0};
    struct run *run = hook_rig_next();
    assert_int_equal(files_claim(run, &err), ERR_OK);
    hook_rig_end(run, 1);
    hook_rig_nothing();
    only_stray(STRAY_WAITING);
    hook_rig_change(0, DELTA_DELETED, "ns/n", "u1", "\"a\":1");
    run = hook_rig_next();
    assert_int_equal(run->kind, RUN_REMOVE);
    assert_int_equal(files_claim(run, &err), ERR_OK);
    hook_rig_end_file(run, RUN_STAGE_SAME, 0);
    hook_rig_nothing();
    only_stray(STRAY_DUE);
}

/* The removal of the stray changes the files, too. */
static void test_a_removed_stray_is_applied_though_nothing_was_written(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    restarted_hook.disk.row_count = 0; /* as if the watch had had another name, and no object */
    restarted_hook.disk.files[0].seen.source = SIZE_MAX;
    restart_with("/old/${name}");
    hook_rig_sync(1);
    hook_rig_nothing();
    only_stray(STRAY_WAITING); /* nobody knows yet which objects the other source has */
    hook_rig_sync(0);
    hook_rig_nothing();
    strays_ended(restarted_hook.hook, only_stray(STRAY_DUE), STRAY_END_REMOVED, hook_rig.now);
    hook_rig.now += 60000;
    hook_rig_end(hook_rig_next(), 0);
    hook_rig_nothing();
}

static void test_a_stray_that_somebody_changed_is_judged_by_each_process(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    restart_with("/new/${name}");
    for (int i = 0; i < 2; i++) {
        hook_rig_sync(1);
        load("ns/n", "u1");
        hook_rig_sync(0);
        if (i == 0)
            writes(1);
        hook_rig_nothing();
        strays_ended(restarted_hook.hook, only_stray(STRAY_DUE), STRAY_END_CHANGED, hook_rig.now);
        assert_non_null(only_stray(STRAY_LEFT)->why);
        restarted_hook_keep();
        assert_true(is_kept("/old/n"));
        if (i == 0)
            hook_rig_end(hook_rig_applies(RUN_EXISTING, 1), 0);
        restarted_hook_keep();
        restarted_hook_restart();
    }
}

static void test_a_path_that_is_named_again_is_no_stray(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    restart_with("/new/${name}");
    restart_with("/old/${name}"); /* edited back, and no run was started */
    assert_true(list_is_empty(&restarted_hook.hook->strays.all));
    hook_rig_sync(1);
    load("ns/n", "u1");
    hook_rig_sync(0);
    writes(1);
    assert_true(is_kept("/old/n"));
}

/* A watch of another name has the same object, and its file. */
static void test_a_file_of_a_renamed_watch_is_taken_over(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    restarted_hook.disk.row_count = 0;
    restarted_hook.disk.files[0].seen.source = SIZE_MAX;
    restart_with("/old/${name}");
    hook_rig_sync(1);
    load("ns/n", "u1");
    hook_rig_sync(0);
    writes(1);
    assert_true(list_is_empty(&restarted_hook.hook->strays.all));
    assert_int_equal(restarted_hook.disk.file_count, 1);
    assert_int_equal(restarted_hook.disk.files[0].seen.source, 0);
}

static void test_strays_stay_without_output(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    restarted_hook.params.applies = false;
    restart_with(NULL);
    only_stray(STRAY_LEFT);
    hook_rig_sync(1);
    load("ns/n", "u1");
    hook_rig_sync(0);
    hook_rig_end(hook_rig_next(), 0);
    restarted_hook_keep();
    only_stray(STRAY_LEFT);
    assert_true(is_kept("/old/n"));
}

/* The file belongs to another hook by now. */
static void test_a_file_of_another_hook_is_no_stray(void **state)
{
    struct err err = {0};

    (void)state;
    begin((struct hook_rig_hook){0});
    restart_with("/new/${name}");
    hook_rig_add(&(struct hook_rig_hook){.output = "/old/${name}", .sources = 2});
    hook_rig_sync(1);
    load("ns/n", "u1");
    hook_rig_sync(0);
    struct run *runs[2] = {hook_rig_next(), hook_rig_next()};
    for (size_t i = 0; i < ARRAY_LEN(runs); i++)
        assert_int_equal(files_claim(runs[i], &err), ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(runs); i++)
        hook_rig_end_file(runs[i], RUN_STAGE_WRITTEN, 1);
    struct run *apply = hook_rig_next();
    assert_int_equal(apply->kind, RUN_APPLY);
    hook_rig_end(apply, 0);
    hook_rig_nothing();
    assert_true(list_is_empty(&restarted_hook.hook->strays.all));
}

/* Nothing removes its files before somebody resumes it; a reload that replaces it must not wait for that. */
static void test_a_paused_hook_with_a_stray_that_is_due_retires(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    restarted_hook.disk.row_count = 0; /* as if the watch had had another name, and no object */
    restarted_hook.disk.files[0].seen.source = SIZE_MAX;
    restart_with("/new/${name}");
    hook_pause(restarted_hook.hook, true);
    hook_rig_sync(1);
    hook_rig_sync(0);
    hook_rig_nothing();
    only_stray(STRAY_DUE);
    hook_retire(restarted_hook.hook);
    assert_true(hook_is_retired(restarted_hook.hook));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, hook_rig_set_up, restarted_hook_clean_up)

/* A driver that has asked a helper which never answers. */
struct sweep_rig {
    struct loop *loop;
    struct helper_link *link;
    struct strays_driver *driver;
    int far;
    size_t swept; /* how often the driver said that files were taken care of */
};

static void on_swept(void *arg)
{
    struct sweep_rig *r = arg;

    r->swept++;
}

static bool was_swept(void *arg)
{
    const struct sweep_rig *r = arg;

    return r->swept > 0;
}

static void begin_sweep(struct sweep_rig *r)
{
    *r = (struct sweep_rig){.loop = loop_create()};
    r->link = silent_link_create(r->loop, &r->far);
    r->driver = strays_driver_create(
        &(struct strays_driver_params){
            .loop = r->loop, .link = r->link, .hooks = &hook_rig.hooks, .timeout_ms = 60000},
        on_swept, r);
    strays_driver_look(r->driver);
}

/* The process of the helper ends without an answer: the files that it was asked about stay. */
static void end_sweep(struct sweep_rig *r)
{
    silent_link_end(r->far, 1, (struct run_end){.killed = true});
    loop_until(r->loop, was_swept, r);
    assert_int_equal(r->swept, 1);
    strays_driver_dispose(&r->driver);
    helper_link_dispose(&r->link);
    loop_run(r->loop);
    loop_destroy(&r->loop);
    close(r->far);
}

/* Answers of the helper carry no path: they belong to the files that were due when it was asked, in
 * the order of the list. A stray that becomes due later must not come before these. */
static void test_a_stray_that_becomes_due_later_comes_behind_those_asked_about(void **state)
{
    struct sweep_rig rig;

    (void)state;
    begin((struct hook_rig_hook){.rules.require = HOOK_REQUIRE_ANY});
    hook_rig_change(1, DELTA_ADDED, "ns/m", "u2", "\"a\":1");
    writes(2);
    hook_rig.now += 10000;
    hook_rig_end(hook_rig_applies(RUN_CHANGE, 1), 0);
    restarted_hook_keep();
    restart_with("/new/${name}");
    hook_rig_change(1, DELTA_ADDED, "ns/m", "u2", "\"a\":1");
    hook_rig_sync(1);
    writes(2);
    hook_rig_nothing();
    assert_string_equal(first_due()->path, "/old/m");
    begin_sweep(&rig);
    hook_rig_sync(0); /* ns/n is gone */
    hook_rig_nothing();
    assert_int_equal(restarted_hook.hook->strays.due, 2);
    assert_string_equal(first_due()->path, "/old/m");
    assert_int_equal(rig.swept, 0);
    end_sweep(&rig);
    assert_int_equal(restarted_hook.hook->strays.due, 1);
    assert_string_equal(first_due()->path, "/old/n"); /* the helper was not asked about it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_stray_goes_between_the_new_file_and_apply),
        TEST(test_a_stray_goes_with_its_object),
        TEST(test_a_removed_stray_is_applied_though_nothing_was_written),
        TEST(test_a_stray_that_somebody_changed_is_judged_by_each_process),
        TEST(test_a_path_that_is_named_again_is_no_stray),
        TEST(test_a_file_of_a_renamed_watch_is_taken_over),
        TEST(test_strays_stay_without_output),
        TEST(test_a_file_of_another_hook_is_no_stray),
        TEST(test_a_paused_hook_with_a_stray_that_is_due_retires),
        TEST(test_a_stray_that_becomes_due_later_comes_behind_those_asked_about),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* hook/gone: what happens to the files of a hook that is not configured any more. */
#include "hook/gone.h"

#include "hook_rig.h"

static struct gone gone;
static struct gone_hook *gh;
static size_t dropped;
static size_t put;

static void on_put(void *arg, const struct files_seen *seen)
{
    (void)arg;
    (void)seen;
    put++;
}

static void on_drop(void *arg, struct str path)
{
    (void)arg;
    (void)path;
    dropped++;
}

static void put_records(void)
{
    static const struct files_sink sink = {on_put, on_drop};

    dropped = put = 0;
    strays_put(&gh->files, &sink, NULL);
}

static void add_file(const char *path, const char *key)
{
    const struct files_seen seen = {
        .path = str_c(path),
        .source = SIZE_MAX,
        .source_name = str_c("w0"),
        .key = str_c(key),
        .digest = {1, 2}
    };

    gone_add_file(gh, &seen);
}

static int set_up(void **state)
{
    hook_rig_set_up(state);
    gh = gone_add(&gone, str_c("old"), 7);
    add_file("/o/n-a", "n/a");
    add_file("/o/n-b", "n/b");
    return 0;
}

static int clean_up(void **state)
{
    gone_fini(&gone);
    return hook_rig_clean_up(state);
}

static struct stray *first_due(void)
{
    list_each (pos, tmp, &gh->files.all) {
        struct stray *x = list_entry(pos, struct stray, link);

        if (x->state == STRAY_DUE)
            return x;
    }
    return NULL;
}

static void test_files_stay_until_a_person_says_otherwise(void **state)
{
    (void)state;
    assert_ptr_equal(gone_find(&gone, str_c("old")), gh);
    assert_null(gone_find(&gone, str_c("new")));
    assert_int_equal(gh->state, GONE_KEPT);
    assert_int_equal(gh->files.left, 2);
    assert_false(gone_is_done(gh));
    put_records();
    assert_int_equal(put + dropped, 0);
}

static void test_records_go_when_all_files_are_removed(void **state)
{
    (void)state;
    gone_forget(gh, &hook_rig.hooks, true);
    assert_int_equal(gh->files.due, 2);
    gone_ended(gh, first_due(), STRAY_END_REMOVED);
    assert_false(gone_is_done(gh));
    gone_ended(gh, first_due(), STRAY_END_GONE);
    assert_true(gone_is_done(gh));
    assert_int_equal(gh->removed, 1);
    put_records();
    assert_int_equal(dropped, 2);
    assert_false(gone_dropped(gh));
    assert_int_equal(gh->state, GONE_FORGOTTEN);
    assert_false(gone_is_done(gh));
}

static void test_a_file_that_cannot_be_removed_keeps_its_record(void **state)
{
    (void)state;
    gone_forget(gh, &hook_rig.hooks, true);
    gone_ended(gh, first_due(), STRAY_END_FOREIGN);
    gone_ended(gh, first_due(), STRAY_END_REMOVED);
    assert_true(gone_is_done(gh));
    put_records();
    assert_int_equal(dropped, 1);
    assert_true(gone_dropped(gh));
    assert_int_equal(gh->state, GONE_KEPT);
    put_records();
    assert_int_equal(put, 1);
    gone_forget(gh, &hook_rig.hooks, true); /* once more */
    assert_int_equal(gh->files.due, 1);
    assert_int_equal(gh->removed, 0);
}

static void test_without_files_only_the_records_go(void **state)
{
    (void)state;
    gone_forget(gh, &hook_rig.hooks, false);
    assert_int_equal(gh->files.due, 0);
    assert_true(gone_is_done(gh));
    assert_false(gone_dropped(gh));
    assert_int_equal(gh->state, GONE_FORGOTTEN);
    assert_int_equal(gh->files.left, 0);
}

static void test_a_file_that_another_hook_has_is_left_to_it(void **state)
{
    (void)state;
    hook_rig_add(&(struct hook_rig_hook){.output = "/o/${namespace}-${name}"});
    assert_false(gone_is_left(&hook_rig.hooks, list_entry(gh->files.all.next, struct stray, link)));
    gone_forget(gh, &hook_rig.hooks, true);
    assert_int_equal(gh->files.due + gh->files.left, 0);
    assert_true(gone_is_done(gh));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_files_stay_until_a_person_says_otherwise),
        TEST(test_records_go_when_all_files_are_removed),
        TEST(test_a_file_that_cannot_be_removed_keeps_its_record),
        TEST(test_without_files_only_the_records_go),
        TEST(test_a_file_that_another_hook_has_is_left_to_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* state/schema: files of other releases, older and newer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "state_rig.h"

static void begin(struct state_rig *r)
{
    state_rig_init(r);
    state_rig_item(r, 2, ROW_KIND_WATCH, 0, "pods");
    state_rig_delivery(r, 5, "a", 1);
    state_rig_object(r, 3, "a", "{}");
    state_rig_apply(r);
    writer_close(r->writer);
}

/* The next release has added a column, a table and a fact, and allows this release to go on. */
static void test_a_newer_file_that_stayed_readable_is_used(void **state)
{
    struct state_rig r;

    (void)state;
    begin(&r);
    state_rig_sql(&r, "ALTER TABLE mark ADD COLUMN mood TEXT; UPDATE mark SET mood='fine';"
                      "CREATE TABLE novelty(x); INSERT INTO novelty VALUES(1);"
                      "PRAGMA user_version=65538"); /* version 2, for readers from 1 on */
    state_rig_expect(&r, "item 2 kind 2 parent 0 pods\n"
                         "mark 5 a u1 note 0 open told 1\n"
                         "object 3 a u1 rv 7 gen  v1/K at 1 -1 {}\n");
    state_rig_delivery(&r, 5, "a", 2);
    state_rig_delivery(&r, 5, "b", 3);
    batch_drop_item(&r.batch, 3);
    state_rig_apply(&r);
    writer_close(r.writer);
    state_rig_expect(&r, "item 2 kind 2 parent 0 pods\n"
                         "mark 5 a u1 note 0 open told 2\n"
                         "mark 5 b u1 note 0 open told 3\n");
    /* Unknown parts are left alone, and so is the version. */
    state_rig_sql(&r, "CREATE TABLE proof AS SELECT 1/count(*) FROM mark WHERE mood='fine';"
                      "CREATE TRIGGER t BEFORE INSERT ON proof WHEN (SELECT user_version FROM"
                      " pragma_user_version) != 65538 BEGIN SELECT RAISE(ABORT, 'version'); END;"
                      "INSERT INTO proof VALUES(1)");
    state_rig_fini(&r);
}

static void test_a_fact_of_a_newer_release_is_passed_over(void **state)
{
    const struct row_fact fact = {2, ROW_SETTINGS, str_c(""), str_c("x")};
    enum loader_found found;
    struct buf scratch = {0};
    struct state_rig r;
    char sql[200];

    (void)state;
    begin(&r);
    batch_fact(&r.batch, &fact);
    state_rig_apply(&r);
    writer_close(r.writer);
    uint64_t sum = row_fact_sum(&scratch, 2, str_c("mood"), str_c(""), str_c("x"));
    snprintf(sql, sizeof(sql), "UPDATE fact SET what='mood', sum=%lld", (long long)sum);
    state_rig_sql_kept(&r, sql);
    char *text = state_rig_load(&r, &found);
    assert_int_equal(found, LOADER_STATE);
    assert_null(strstr(text, "fact"));
    free(text);
    buf_free(&scratch);
    state_rig_fini(&r);
}

static void test_a_file_that_is_too_new_is_set_aside(void **state)
{
    enum loader_found found;
    struct state_rig r;

    (void)state;
    begin(&r);
    state_rig_sql(&r, "PRAGMA user_version=131074"); /* version 2, for readers from 2 on */
    free(state_rig_load(&r, &found));
    assert_int_equal(found, LOADER_ASIDE);
    assert_non_null(strstr(r.err.text, "newer release of informerd (version 2"));
    assert_int_equal(access(r.folder->aside, F_OK), 0);
    state_rig_delivery(&r, 5, "b", 1);
    state_rig_apply(&r);
    state_rig_expect(&r, "mark 5 b u1 note 0 open told 1\n");
    state_rig_fini(&r);
}

/* The change of the file came after the start, which would have set it aside. */
static void test_a_file_that_is_too_new_is_not_written(void **state)
{
    struct state_rig r;

    (void)state;
    begin(&r);
    state_rig_sql(&r, "PRAGMA user_version=131074");
    state_rig_delivery(&r, 5, "b", 1);
    assert_int_equal(state_rig_try(&r), ERR_PROTOCOL);
    assert_non_null(strstr(r.err.text, "newer release of informerd (version 2"));
    state_rig_fini(&r);
}

/* The number alone is there: a power cut while the tables were being made. */
static void test_an_older_file_is_brought_up_to_date(void **state)
{
    struct state_rig r;

    (void)state;
    state_rig_init(&r);
    state_rig_sql(&r, "PRAGMA application_id=1768842852");
    state_rig_expect(&r, "");
    state_rig_delivery(&r, 5, "b", 1);
    state_rig_apply(&r);
    state_rig_expect(&r, "mark 5 b u1 note 0 open told 1\n");
    state_rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_newer_file_that_stayed_readable_is_used),
        cmocka_unit_test(test_a_fact_of_a_newer_release_is_passed_over),
        cmocka_unit_test(test_a_file_that_is_too_new_is_set_aside),
        cmocka_unit_test(test_a_file_that_is_too_new_is_not_written),
        cmocka_unit_test(test_an_older_file_is_brought_up_to_date),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/path_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static struct buf list;

static int clear(void **state)
{
    (void)state;
    buf_free(&list);
    return 0;
}

static const char *limited(const char *lines, size_t limit)
{
    buf_clear(&list);
    buf_puts(&list, lines);
    path_list_limit(&list, limit);
    return buf_cstr(&list);
}

static void test_sorted_by_bytes_and_each_once(void **state)
{
    (void)state;
    buf_puts(&list, "b\na.c\na\na-b\nb\na['x']\n\xc3\xa9\na");
    assert_int_equal(path_list_sort(&list), 6);
    assert_string_equal(buf_cstr(&list), "a\na-b\na.c\na['x']\nb\n\xc3\xa9\n");
    buf_clear(&list);
    assert_int_equal(path_list_sort(&list), 0);
    assert_int_equal(list.len, 0);
}

static void test_within_the_limit_only_sorted(void **state)
{
    (void)state;
    assert_string_equal(limited("", 1), "");
    assert_string_equal(limited("a.b.c\n", 1), "a.b.c\n");
    assert_string_equal(limited("b\na.b\nb\n", 2), "a.b\nb\n");
}

static void test_more_are_cut_to_as_many_steps_as_fit(void **state)
{
    static const char lines[] = "a.b.c\na.b.d[0]\na.b.d[1]\na['x.y'].z\na['x.y'].w\ne\n";

    (void)state;
    assert_string_equal(limited(lines, 6),
                        "a.b.c\na.b.d[0]\na.b.d[1]\na['x.y'].w\na['x.y'].z\ne\n");
    assert_string_equal(limited(lines, 5), "a.b.c\na.b.d\na['x.y'].w\na['x.y'].z\ne\n");
    assert_string_equal(limited(lines, 4), "a.b\na['x.y']\ne\n");
    assert_string_equal(limited(lines, 2), "a\ne\n");
    assert_string_equal(limited(lines, 1), "*\n");
}

/* '-' comes before '.': paths that were cut do not stay beside each other. */
static void test_paths_that_were_cut_are_sorted_again(void **state)
{
    (void)state;
    assert_string_equal(limited("a\na-b\na.b\na.c\n", 2), "a\na-b\n");
    assert_string_equal(limited("[0].a\n[0].b\n[1]\n", 2), "[0]\n[1]\n");
}

static void test_all_paths_count_as_one_line(void **state)
{
    (void)state;
    assert_string_equal(limited("*\na.b\na.c\n", 2), "*\na\n");
    assert_string_equal(limited("*\na\nb\n", 2), "*\n");
}

static void test_a_line_that_is_no_path_is_kept(void **state)
{
    (void)state;
    assert_string_equal(limited("a[\na.b\na.c\n", 2), "a\na[\n");
    assert_string_equal(limited("a[\na]\na}\n", 2), "*\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_sorted_by_bytes_and_each_once, clear),
        cmocka_unit_test_teardown(test_within_the_limit_only_sorted, clear),
        cmocka_unit_test_teardown(test_more_are_cut_to_as_many_steps_as_fit, clear),
        cmocka_unit_test_teardown(test_paths_that_were_cut_are_sorted_again, clear),
        cmocka_unit_test_teardown(test_all_paths_count_as_one_line, clear),
        cmocka_unit_test_teardown(test_a_line_that_is_no_path_is_kept, clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

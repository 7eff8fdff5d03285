/* SPDX-License-Identifier: Apache-2.0 */
/* Which file a name without a slash leads to. */
#include "helper/program.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "temp_folder.h"

static void make_file(const char *name, mode_t mode)
{
    FILE *f = fopen(name, "we");

    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(name, mode), 0);
}

/* Looks for prog with this PATH, where every # stands for the temporary folder; found is relative to
 * that folder, NULL = nothing. */
static void expect(const char *path, const char *found)
{
    char value[PATH_MAX] = "PATH=";
    char out[PATH_MAX] = "";
    size_t n = strlen(value);

    for (; *path != '\0'; path++)
        n += (size_t)snprintf(value + n, sizeof(value) - n, "%.*s", *path == '#' ? INT_MAX : 1,
                              *path == '#' ? temp_folder_path() : path);
    const char *const env[] = {"MYPATH=/", "PATHS=/", value, "PATH=/bin", NULL};

    assert_int_equal(program_find("prog", env, out, sizeof(out)), found != NULL);
    if (found == NULL)
        return;
    char *wanted = mem_printf("%s/%s", temp_folder_path(), found);
    assert_string_equal(out, wanted);
    free(wanted);
}

static void test_the_first_folder_that_has_it_counts(void **state)
{
    (void)state;
    assert_int_equal(mkdir("a", 0755), 0);
    assert_int_equal(mkdir("b", 0755), 0);
    assert_int_equal(mkdir("c", 0755), 0);
    make_file("b/prog", 0755);
    make_file("c/prog", 0755);
    expect("#/a:#/b:#/c", "b/prog");
    expect("#/c:#/b", "c/prog");
    expect("#/b", "b/prog");
    expect("#/b/", "b//prog");
    expect("#/a", NULL);
    expect("", NULL);
    expect(":", NULL);
}

static void test_only_files_that_can_be_executed_count(void **state)
{
    (void)state;
    assert_int_equal(mkdir("a", 0755), 0);
    assert_int_equal(mkdir("b", 0755), 0);
    assert_int_equal(mkdir("c", 0755), 0);
    make_file("a/prog", 0644);
    assert_int_equal(mkdir("b/prog", 0755), 0);
    make_file("c/prog", 0100);
    expect("#/a:#/b:#/none", NULL);
    expect("#/a:#/b:#/none:#/c", "c/prog");
}

static void test_folders_that_are_not_absolute_do_not_count(void **state)
{
    (void)state;
    assert_int_equal(mkdir("a", 0755), 0);
    make_file("prog", 0755);
    make_file("a/prog", 0755);
    expect(".:a::./a:", NULL);
    expect(":.:#/a", "a/prog");
}

static void test_a_name_with_a_slash_is_a_path(void **state)
{
    static const char *const env[] = {NULL};
    char out[16];

    (void)state;
    assert_true(program_find("/none/x", env, out, sizeof(out)));
    assert_string_equal(out, "/none/x");
    assert_true(program_find("/23456789abcdef", env, out, sizeof(out)));
    assert_false(program_find("/23456789abcdef0", env, out, sizeof(out)));
}

static void test_without_path_nothing_is_found(void **state)
{
    static const char *const env[] = {"HOME=/", NULL};
    char out[16];

    (void)state;
    assert_false(program_find("sh", env, out, sizeof(out)));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_folder_enter, temp_folder_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_first_folder_that_has_it_counts),
        TEST(test_only_files_that_can_be_executed_count),
        TEST(test_folders_that_are_not_absolute_do_not_count),
        TEST(test_a_name_with_a_slash_is_a_path),
        TEST(test_without_path_nothing_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

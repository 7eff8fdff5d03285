/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of the command line; tests/wire/test_process.py looks at the output of ps. */
#include "app/title.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_the_strings_move_away_and_the_block_is_free(void **state)
{
    char block[] = "name\0-c\0\0A=1\0B=2";
    char *argv[] = {block, block + 5, block + 8, NULL};
    char *env[] = {block + 9, block + 13, NULL};
    char **saved = environ;

    (void)state;
    environ = env;
    struct title t = title_take(3, argv);
    char **copy = environ;
    environ = saved;
    assert_ptr_equal(t.p, block);
    assert_int_equal(t.n, sizeof(block));
    memset(t.p, 'x', t.n);
    assert_string_equal(argv[0], "name");
    assert_string_equal(argv[1], "-c");
    assert_string_equal(argv[2], "");
    assert_string_equal(copy[0], "A=1");
    assert_string_equal(copy[1], "B=2");
    assert_null(copy[2]);
    for (size_t i = 0; i < 3; i++)
        free(argv[i]);
    for (size_t i = 0; i < 2; i++)
        free(copy[i]);
    free(copy);
}

/* Somebody has set a variable of the environment anew, in memory of its own. */
static void test_a_string_elsewhere_does_not_belong_to_the_block(void **state)
{
    char block[] = "name";
    char other[] = "A=1";
    char *argv[] = {block, NULL};
    char *env[] = {other, NULL};
    char **saved = environ;

    (void)state;
    environ = env;
    struct title t = title_take(1, argv);
    char **copy = environ;
    environ = saved;
    assert_int_equal(t.n, sizeof(block));
    free(argv[0]);
    free(copy[0]);
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_strings_move_away_and_the_block_is_free),
        cmocka_unit_test(test_a_string_elsewhere_does_not_belong_to_the_block),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

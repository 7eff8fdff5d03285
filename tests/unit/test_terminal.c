/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of the module where there is no terminal; tests/wire/test_ctl_top.py has one. */
#include "ctl/terminal.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

static void test_a_file_is_no_terminal(void **state)
{
    int saved_in = dup(STDIN_FILENO);
    int saved_out = dup(STDOUT_FILENO);
    int null_fd = open("/dev/null", O_RDWR);
    size_t rows = 0;
    size_t columns = 0;

    (void)state;
    dup2(null_fd, STDIN_FILENO);
    dup2(null_fd, STDOUT_FILENO);
    bool is_there = terminal_is_there();
    bool has_colour = terminal_has_colour();
    terminal_size(&rows, &columns);
    char key = terminal_key(0); /* the end of the file counts as a terminal that is gone */
    dup2(saved_in, STDIN_FILENO);
    dup2(saved_out, STDOUT_FILENO);
    close(saved_in);
    close(saved_out);
    close(null_fd);
    assert_false(is_there);
    assert_false(has_colour);
    assert_int_equal(rows, 24);
    assert_int_equal(columns, 80);
    assert_int_equal(key, 'q');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_is_no_terminal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

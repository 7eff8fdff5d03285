/* SPDX-License-Identifier: Apache-2.0 */
/* app/name_modules: which modules the lines of hosts in an nsswitch.conf name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/name_modules.h"
#include "base/buf.h"

static void collect(void *arg, struct str name)
{
    buf_printf(arg, "%.*s,", STR_ARG(name));
}

static void expect(const char *text, const char *names)
{
    struct buf found = {0};

    name_modules_find(str_c(text), collect, &found);
    assert_string_equal(buf_cstr(&found), names);
    buf_free(&found);
}

static void the_line_of_debian(void **state)
{
    (void)state;
    expect("passwd:         files systemd\n"
           "hosts:          files mymachines mdns4_minimal [NOTFOUND=return] resolve "
           "[!UNAVAIL=return] dns\n"
           "networks:       files\n",
           "files,mymachines,mdns4_minimal,resolve,dns,");
}

static void other_lines_count_for_nothing(void **state)
{
    (void)state;
    expect("", "");
    expect("networks: files sss\n", "");
    expect("# hosts: files\n", "");
    expect("hostsx: files\n", "");
}

static void spaces_comments_and_actions(void **state)
{
    (void)state;
    expect("\t hosts:files\tdns\r", "files,dns,");
    expect("hosts: files # dns\nhosts: sss", "files,sss,");
    expect("hosts: files[ NOTFOUND = return ]dns [", "files,dns,");
    expect("hosts:", "");
    expect("hosts: [NOTFOUND=return\nhosts: dns", "dns,");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_of_debian),
        cmocka_unit_test(other_lines_count_for_nothing),
        cmocka_unit_test(spaces_comments_and_actions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

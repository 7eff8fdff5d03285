/* SPDX-License-Identifier: Apache-2.0 */
/* Which command lines are those of a daemon, and which configuration file they name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "app/other_daemon.h"

/* The literal ends with one NUL, which is the one behind the last argument. */
#define CONFIG_OF(text) other_daemon_config(text, sizeof(text))

static void test_a_daemon_names_its_configuration(void **state)
{
    (void)state;
    assert_string_equal(CONFIG_OF("informerd"), "/etc/informerd/informerd.conf");
    assert_string_equal(CONFIG_OF("informerd\0-c\0/a"), "/a");
    assert_string_equal(CONFIG_OF("informerd\0--config\0/a"), "/a");
    assert_string_equal(CONFIG_OF("/sbin/informerd\0--log-level\0debug\0--config=/a"), "/a");
    assert_string_equal(CONFIG_OF("informerd\0-c\0/a\0--log-format=json"), "/a");
    assert_string_equal(CONFIG_OF("informerd\0-c\0/a\0-c\0/b"), "/b");
}

static void test_what_may_stand_beside_a_daemon_is_none(void **state)
{
    (void)state;
    assert_null(CONFIG_OF("informerd\0-c\0/a\0--once"));
    assert_null(CONFIG_OF("informerd\0--dry-run\0-c\0/a"));
    assert_null(CONFIG_OF("informerd\0--dry"));
    assert_null(CONFIG_OF("informerd\0-t"));
    assert_null(CONFIG_OF("informerd: helper\0\0"));
}

static void test_what_cannot_be_known_is_none(void **state)
{
    (void)state;
    assert_null(CONFIG_OF("informerd\0-c\0a"));
    assert_null(CONFIG_OF("informerd\0-c"));
    assert_null(CONFIG_OF("informerd\0--config="));
    assert_null(other_daemon_config("", 0));
    assert_null(other_daemon_config("informerd", 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_daemon_names_its_configuration),
        cmocka_unit_test(test_what_may_stand_beside_a_daemon_is_none),
        cmocka_unit_test(test_what_cannot_be_known_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

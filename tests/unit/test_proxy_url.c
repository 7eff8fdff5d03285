/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of HTTP proxies. */
#include "proto/proxy_url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_addresses(void **state)
{
    static const char *const good[] = {"http://h", "HTTPS://h:3128", "http://u:p@h:1/",
                                       "http://[::1]:3128/", "http://u@10.0.0.1"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_int_equal(proxy_url_check(good[i], NULL), ERR_OK);
}

static void test_mistakes_show_nothing_of_the_address(void **state)
{
    static const char *const wrong[] = {
        "",
        "h",
        "s3cret:3128",
        "socks5://s3cret:1",
        "socks5h://u:s3cret@h:1",
        "ftp://s3cret",
        "http://",
        "http://u:s3cret@",
        "http://h:s3cret",
        "http://h:0",
        "http://s3cret b",
        "http://h/s3cret",
        "http://h?s3cret",
        "http://h#s3cret",
        "http://::1",
        "http://u@s3cret@",
        "http://u:s3cret/x@h",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct err err = {0};

        assert_int_equal(proxy_url_check(wrong[i], &err), ERR_CONFIG);
        assert_int_equal(strncmp(err.text, "address: ", 9), 0);
        assert_null(strstr(err.text, "s3cret"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_mistakes_show_nothing_of_the_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

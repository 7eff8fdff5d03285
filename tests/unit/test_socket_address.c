/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/socket_address.h"

static void test_addresses_come_back_as_they_were_written(void **state)
{
    static const char *const texts[] = {"127.0.0.1:9916", "0.0.0.0:0", "255.255.255.255:65535",
                                        "[::1]:9916",     "[::]:1",    "[2001:db8::ff]:80"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct socket_address a;
        struct buf text = {0};

        assert_true(socket_address_read(texts[i], &a));
        assert_int_equal(a.to.any.sa_family, texts[i][0] == '[' ? AF_INET6 : AF_INET);
        assert_int_equal(a.size, texts[i][0] == '[' ? sizeof(a.to.v6) : sizeof(a.to.v4));
        socket_address_put(&text, &a);
        assert_string_equal(buf_cstr(&text), texts[i]);
        buf_free(&text);
    }
}

static void test_other_texts_are_none(void **state)
{
    static const char *const texts[] = {
        "",
        ":",
        ":9916",
        "9916",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:65536",
        "127.0.0.1:99999999999999999999",
        "127.0.0.1:-1",
        "127.0.0.1: 1",
        "127.0.0.1:1 ",
        "127.0.0.1:0x1",
        "127.1:9916",
        "127.0.0.256:1",
        "localhost:9916",
        "::1:9916",
        "[::1]",
        "[::1]:",
        "[::1]9916",
        "[::1:9916",
        "::1]:9916",
        "[]:9916",
        "[127.0.0.1]:9916",
        "[fe80::1%lo]:9916",
        "[1:2:3:4:5:6:7:8:9]:1",
        "[:",
        "]:1",
        "[]:",
        "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]:1",
        "0000000000000000000000000000000000000000000000000.0.0.1:1"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct socket_address a;

        if (socket_address_read(texts[i], &a))
            fail_msg("%s", texts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses_come_back_as_they_were_written),
        cmocka_unit_test(test_other_texts_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "admin/host.h"
#include "base/compiler.h"

static bool is_ours(const char *host)
{
    return host_is_ours(str_c(host), "Node-1.example.net");
}

static void test_addresses_and_names_of_this_machine(void **state)
{
    static const char *const ours[] = {"",
                                       "127.0.0.1",
                                       "127.0.0.1:9916",
                                       "10.0.0.1:80",
                                       "[::1]:9916",
                                       "[fe80::1]",
                                       "localhost",
                                       "localhost:9916",
                                       "a.localhost:9916",
                                       "node-1.example.net",
                                       "0.0.0.0:80",
                                       "1:80",
                                       "node-1.example.net:9916"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ours); i++)
        if (!is_ours(ours[i]))
            fail_msg("%s", ours[i]);
}

static void test_names_of_sites(void **state)
{
    static const char *const others[] = {"example.net",
                                         "attacker.test:9916",
                                         "127.0.0.1.attacker.test",
                                         "localhost.test",
                                         "notlocalhost",
                                         "node-1",
                                         "node-1.example.net.test",
                                         "x.node-1.example.net",
                                         "127.0.0.1x:9916",
                                         ":9916",
                                         "a:b:9916",
                                         "1.2.3.4.a",
                                         "node-1.example.ne:t"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (is_ours(others[i]))
            fail_msg("%s", others[i]);
}

static void test_a_node_without_a_name(void **state)
{
    (void)state;
    assert_false(host_is_ours(str_c(":80"), ""));
    assert_false(host_is_ours(str_c("x"), NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses_and_names_of_this_machine),
        cmocka_unit_test(test_names_of_sites),
        cmocka_unit_test(test_a_node_without_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

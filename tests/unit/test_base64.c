/* SPDX-License-Identifier: Apache-2.0 */
/* base/base64: written text can be read again; test_kubeconfig.c has the texts that are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base64.h"

static void test_the_examples_of_rfc_4648(void **state)
{
    static const char *const pairs[][2] = {
        {"",       ""        },
        {"f",      "Zg=="    },
        {"fo",     "Zm8="    },
        {"foo",    "Zm9v"    },
        {"foob",   "Zm9vYg=="},
        {"fooba",  "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        struct buf out = {0};

        base64_encode(str_c(pairs[i][0]), &out);
        assert_string_equal(buf_cstr(&out), pairs[i][1]);
        buf_free(&out);
    }
}

static void test_all_bytes_come_back(void **state)
{
    char bytes[256];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 167); /* odd, so that each byte comes once */
    for (size_t n = 0; n <= sizeof(bytes); n++) {
        struct buf text = {0}, back = {0};

        base64_encode(str_of(bytes, n), &text);
        assert_true(base64_decode(buf_str(&text), &back));
        assert_true(str_eq(buf_str(&back), str_of(bytes, n)));
        buf_free(&text);
        buf_free(&back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_examples_of_rfc_4648),
        cmocka_unit_test(test_all_bytes_come_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

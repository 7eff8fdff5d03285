/* SPDX-License-Identifier: Apache-2.0 */
/* The claims sub and exp of tokens, good and bad. */
#include "kube/token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

/* {"iss":"x","sub":"system:serviceaccount:ns:a"} */
#define PAYLOAD "eyJpc3MiOiJ4Iiwic3ViIjoic3lzdGVtOnNlcnZpY2VhY2NvdW50Om5zOmEifQ"

static void expect(const char *token, const char *subject)
{
    char *exact = mem_dup(token, strlen(token) + 1); /* a sanitizer sees a read behind this copy */
    char *found = token_subject(str_of(exact, strlen(exact)));

    if (subject == NULL)
        assert_null(found);
    else
        assert_string_equal(found, subject);
    free(found);
    free(exact);
}

static void test_a_service_account(void **state)
{
    (void)state;
    expect("h." PAYLOAD ".s", "system:serviceaccount:ns:a");
    expect("h." PAYLOAD ".s\n", "system:serviceaccount:ns:a");
    /* {"sub":">>>?"} has both letters that are base64url's own */
    expect("h.eyJzdWIiOiI-Pj4_In0.s", ">>>?");
}

static void test_tokens_without_a_subject(void **state)
{
    static const char *const tokens[] = {
        "",
        "opaque",
        ".",
        "..",
        "a.b",
        "h.!!!.s",
        "h.e30.s",                      /* {} */
        "h.W10.s",                      /* [] */
        "h.eyJzdWIiOjF9.s",             /* {"sub":1} */
        "h.eyJzdWIiOiIifQ.s",           /* {"sub":""} */
        "h.eyJzdWIiOiJhXHUwMDAwYiJ9.s", /* {"sub":"a\u0000b"} */
        "h.eyJzdWIiOiJh.s",             /* {"sub":"a */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++)
        expect(tokens[i], NULL);
    expect("h." PAYLOAD, NULL);
}

static void expect_expiry(const char *token, uint64_t expires_s)
{
    char *exact = mem_dup(token, strlen(token) + 1);

    assert_int_equal(token_expiry(str_of(exact, strlen(exact))), expires_s);
    free(exact);
}

static void test_expiry(void **state)
{
    (void)state;
    expect_expiry("h.eyJleHAiOjE3MDAwMDAwMDB9.s", 1700000000); /* {"exp":1700000000} */
    expect_expiry("h.eyJleHAiOjQyOTQ5NjcyOTV9.s", UINT32_MAX); /* {"exp":4294967295} */
    expect_expiry("h.eyJleHAiOjQyOTQ5NjcyOTZ9.s", 0);          /* {"exp":4294967296} */
    expect_expiry("h.eyJleHAiOi0xfQ.s", 0);                    /* {"exp":-1} */
    expect_expiry("h.eyJleHAiOiIxNyJ9.s", 0);                  /* {"exp":"17"} */
    expect_expiry("h." PAYLOAD ".s", 0);
    expect_expiry("opaque", 0);
    expect_expiry("", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_service_account),
        cmocka_unit_test(test_tokens_without_a_subject),
        cmocka_unit_test(test_expiry),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

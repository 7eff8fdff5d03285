/* SPDX-License-Identifier: Apache-2.0 */
/* The claims of tokens, good and bad. */
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

static void expect_dates(const char *payload, int64_t issued_s, int64_t expires_s)
{
    char *token = mem_printf("h.%s.s", payload);
    int64_t issued;
    int64_t expires;

    assert_int_equal(token_dates(str_c(token), &issued, &expires), expires_s > 0);
    assert_int_equal(issued, issued_s);
    assert_int_equal(expires, expires_s);
    free(token);
}

static void test_dates(void **state)
{
    (void)state;
    /* {"sub":"a","iat":1714550000,"exp":1714560000}, and with .5 and .75 */
    expect_dates("eyJzdWIiOiJhIiwiaWF0IjoxNzE0NTUwMDAwLCJleHAiOjE3MTQ1NjAwMDB9", 1714550000,
                 1714560000);
    expect_dates("eyJzdWIiOiJhIiwiaWF0IjoxNzE0NTUwMDAwLjUsImV4cCI6MTcxNDU2MDAwMC43NX0", 1714550000,
                 1714560000);
    expect_dates("eyJleHAiOjE3MTQ1NjAwMDB9", 0, 1714560000); /* no iat */
    expect_dates(PAYLOAD, 0, 0);
    expect_dates("eyJleHAiOi01fQ", 0, 0);                         /* -5 */
    expect_dates("eyJleHAiOiIxNzE0NTYwMDAwIn0", 0, 0);            /* a string */
    expect_dates("eyJleHAiOjk5OTk5OTk5OTk5OTk5OTk5OTk5fQ", 0, 0); /* more than a time has */
    expect_dates("W10", 0, 0);                                    /* [] */
    expect_dates("!", 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_service_account),
        cmocka_unit_test(test_tokens_without_a_subject),
        cmocka_unit_test(test_dates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

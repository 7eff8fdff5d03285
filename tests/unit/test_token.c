/* SPDX-License-Identifier: Apache-2.0 */
/* The claim sub of tokens, good and bad. */
#include "kube/token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_service_account),
        cmocka_unit_test(test_tokens_without_a_subject),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

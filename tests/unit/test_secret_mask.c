/* SPDX-License-Identifier: Apache-2.0 */
/* Which words of a text are masked, and which stay. */
#include "kube/secret_mask.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"

static void expect(const char *text, const char *secrets, const char *masked)
{
    char *exact = mem_dup(text, strlen(text)); /* a sanitizer sees a read behind this copy */
    struct buf out = {0};

    secret_mask_put(str_of(exact, strlen(text)), str_c(secrets), &out);
    assert_string_equal(buf_cstr(&out), masked);
    buf_free(&out);
    free(exact);
}

static void test_words_that_are_no_secrets_stay(void **state)
{
    static const char *const texts[] = {
        "",
        "\n",
        "An error occurred (ExpiredToken) when calling the AssumeRole operation: 403\n",
        "open /var/lib/plugin/cache.json: no such file; see https://example.com/help?a=b+c\n",
        "\x01\x80\xff\n\n",
        "eyJ",
        "ya29.short",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        expect(texts[i], NULL, texts[i]);
        expect(texts[i], "the-secret-token", texts[i]);
    }
}

static void test_a_secret_is_masked_wherever_it_stands(void **state)
{
    static const char *const texts[][2] = {
        {"abcd1234",                               "***"                         },
        {"got abcd1234, will use it\n",            "got ***, will use it\n"      },
        {"token=abcd1234",                         "token=***"                   },
        {"Authorization: Bearer abcd1234.\n",      "Authorization: Bearer ***\n" },
        {"{\"token\":\"abcd1234\"}",               "{\"token\":\"***\"}"         },
        {"https://host/abcd1234/x?t=abcd1234&u=1", "https://host/***/x?t=***&u=1"},
        {"a+abcd1234",                             "a+***"                       },
        {"abcd1234\xff"
         "abcd1234",                      "***\xff***"                  },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        expect(texts[i][0], "abcd1234", texts[i][1]);
}

static void test_a_part_of_a_secret_is_one_if_it_is_long(void **state)
{
    (void)state;
    expect("it begins with abcd1234...", "abcd1234efgh5678", "it begins with ***");
    expect("it begins with abcd123...", "abcd1234efgh5678", "it begins with abcd123...");
}

static void test_the_lines_of_a_key_are_masked(void **state)
{
    static const char key[] = "-----BEGIN EC PRIVATE KEY-----\n"
                              "MHcCAQEEIO+/Kc1o7x+w/1l+Zk9S4y7nVwQn3cyKgzA3/h0UEK0qoAoGCCqGSM49\n"
                              "AwEHoUQDQgAEc2Vj\n"
                              "-----END EC PRIVATE KEY-----\n";

    (void)state;
    expect("key: MHcCAQEEIO+/Kc1o7x+w/1l+Zk9S4y7nVwQn3cyKgzA3/h0UEK0qoAoGCCqGSM49\n", key,
           "key: ***\n");
    expect("AwEHoUQDQgAEc2Vj", key, "***");
}

static void test_words_that_begin_as_tokens_are_masked(void **state)
{
    (void)state;
    expect("got eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.c2ln from the cache", NULL,
           "got *** from the cache");
    expect("path/eyJhbGciOiJub25lIn0.e30.x", "another-secret", "path/***");
    expect("k8s-aws-v1.aHR0cHM6Ly9zdHMuZXhhbXBsZS8", NULL, "***");
    expect("ya29.a0AfB_byC1234567890", NULL, "***");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_that_are_no_secrets_stay),
        cmocka_unit_test(test_a_secret_is_masked_wherever_it_stands),
        cmocka_unit_test(test_a_part_of_a_secret_is_one_if_it_is_long),
        cmocka_unit_test(test_the_lines_of_a_key_are_masked),
        cmocka_unit_test(test_words_that_begin_as_tokens_are_masked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/status.h"

#include "json_ref.h"

#include <string.h>

#define PAIR(text, wanted) \
    {                      \
        (text), (wanted)   \
    }

static struct err err;

static enum err_kind judge(int http_code, const char *body)
{
    struct status s;

    status_parse(&s, http_code, str_c(body));
    return status_to_err(&s, &err);
}

#define STATUS(rest) "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{}," rest "}"

static void test_fields(void **state)
{
    struct status s;

    (void)state;
    status_parse(&s, 500,
                 str_c(STATUS("\"status\":\"Failure\",\"message\":\"slow\\ndown\",\"reason\":"
                              "\"TooManyRequests\",\"details\":{\"causes\":[{\"reason\":\"x\"}],"
                              "\"retryAfterSeconds\":7},\"code\":429")));
    assert_true(s.is_status);
    assert_int_equal(s.code, 429);
    assert_string_equal(s.reason, "TooManyRequests");
    assert_string_equal(s.message, "slow down");
    assert_int_equal(s.retry_after_s, 7);
    assert_false(s.too_large);
    assert_int_equal(status_to_err(&s, &err), ERR_BUSY);
    assert_int_equal(err.code, 429);
}

static void test_kinds(void **state)
{
    static const struct {
        enum err_kind kind;
        int http_code;
        const char *body;
    } cases[] = {
        {ERR_EXPIRED,      0,   STATUS("\"reason\":\"Expired\",\"code\":410")                  },
        {ERR_EXPIRED,      0,   STATUS("\"reason\":\"Gone\",\"code\":410")                     },
        {ERR_EXPIRED,      0,   STATUS("\"code\":410")                                         },
        {ERR_EXPIRED,      410, "gone"                                                         },
        {ERR_EXPIRED,      0,   STATUS("\"reason\":\"Home-made\",\"code\":410")                },
        {ERR_SERVER,       0,   STATUS("\"reason\":\"Invalid\",\"code\":410")                  },
        {ERR_UNAUTHORIZED, 401, STATUS("\"reason\":\"Unauthorized\",\"code\":401")             },
        {ERR_UNAUTHORIZED, 401, "Unauthorized"                                                 },
        {ERR_FORBIDDEN,    403, STATUS("\"reason\":\"Forbidden\",\"code\":403")                },
        {ERR_FORBIDDEN,    403, ""                                                             },
        {ERR_NOT_FOUND,    404, "404 page not found\n"                                         },
        {ERR_NOT_FOUND,    404, STATUS("\"reason\":\"NotFound\"")                              },
        {ERR_BUSY,         429, "Too many requests, please try again later.\n"                 },
        {ERR_SERVER,       503, STATUS("\"reason\":\"ServiceUnavailable\",\"code\":503")       },
        {ERR_BUSY,         503, STATUS("\"code\":503,\"details\":{\"retryAfterSeconds\":1}")   },
        {ERR_SERVER,       500, STATUS("\"reason\":\"InternalError\",\"code\":500")            },
        {ERR_SERVER,       0,   STATUS("\"message\":\"etcdserver: context deadline exceeded\"")},
        {ERR_SERVER,       422, STATUS("\"reason\":\"Invalid\",\"code\":422")                  },
        {ERR_SERVER,       502, "<html><body>Bad Gateway</body></html>"                        },
        {ERR_SERVER,       0,   "[]"                                                           },
        {ERR_SERVER,       0,   ""                                                             },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(judge(cases[i].http_code, cases[i].body), cases[i].kind);
}

/* docs/kubernetes-protocol.md "Too large resource version": by a cause's reason; of a timeout with
 * details, by a cause's or its own message. */
static void test_too_large_in_three_spellings(void **state)
{
    static const char *const yes[] = {
        STATUS(
            "\"message\":\"Timeout: Too large resource version: 9, current: 5\",\"reason\":"
            "\"Timeout\",\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\","
            "\"message\":\"Too large resource version\"}],\"retryAfterSeconds\":1},\"code\":504"),
        STATUS("\"details\":{\"causes\":[{},{\"reason\":\"ResourceVersionTooLarge\"}]},\"code\":1"),
        STATUS("\"reason\":\"Timeout\",\"details\":{\"causes\":[{\"message\":\"Too large resource "
               "version\"}]}"),
        STATUS("\"code\":504,\"details\":{},\"message\":\"Too large resource version: 9, current: "
               "5\""),
    };
    static const char *const no[] = {
        STATUS("\"code\":504,\"message\":\"Too large resource version: 9, current: 5\""),
        STATUS("\"code\":500,\"reason\":\"InternalError\",\"details\":{},\"message\":\"Too large "
               "resource version\""),
        STATUS("\"code\":504,\"details\":{\"causes\":[{\"message\":\"Too large resource version "
               "or so\"}]}"),
        STATUS("\"code\":504,\"details\":{\"x\":[{\"reason\":\"ResourceVersionTooLarge\"}]}"),
        STATUS("\"code\":504,\"x\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\"}]}"),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        assert_int_equal(judge(504, yes[i]), ERR_FUTURE);
    for (size_t i = 0; i < ARRAY_LEN(no); i++)
        assert_int_equal(judge(504, no[i]), ERR_SERVER);
}

/* A request timeout is 504, labelled text/plain, with a Status that lacks kind and apiVersion. */
static void test_status_without_kind(void **state)
{
    struct status s;

    (void)state;
    status_parse(&s, 504,
                 str_c("{\"metadata\":{},\"status\":\"Failure\",\"message\":\"Timeout: request did "
                       "not complete\",\"reason\":\"Timeout\",\"details\":{},\"code\":504}"));
    assert_true(s.is_status);
    assert_string_equal(s.reason, "Timeout");
    status_parse(&s, 500, str_c("{\"code\":501,\"message\":\"x\"}"));
    assert_true(s.is_status);
    assert_int_equal(s.code, 501);
    status_parse(&s, 500, str_c("{\"message\":\"x\"}"));
    assert_false(s.is_status);
    assert_string_equal(s.message, "x");
}

static void test_bodies_that_are_no_status(void **state)
{
    static const char *const cases[][2] = {
        PAIR("{\"kind\":\"Secret\",\"message\":\"hush\",\"data\":{\"a\":\"hush\"},\"code\":3}",
             "a Secret instead of a Status"),
        PAIR("{\"paths\":[\"hush\"]}", "JSON that is no Status"),
        PAIR("{\"error\":\"no upstream\",\"reason\":\"hush\"}", "no upstream"),
        PAIR("[\"hush\"]", "JSON that is no Status"),
        PAIR("{\"hush\":1", "broken JSON"),
        PAIR("\n <!DOCTYPE html><title>hush</title>", "an HTML page"),
        PAIR(" upstream\tconnect\x01 error\r\n", "upstream connect\x01 error"),
        PAIR("", ""),
    };
    struct status s;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        status_parse(&s, 502, str_c(cases[i][0]));
        assert_false(s.is_status);
        assert_int_equal(s.code, 502);
        assert_string_equal(s.message, cases[i][1]);
        assert_string_equal(s.reason, "");
    }
}

static void test_texts_help(void **state)
{
    (void)state;
    judge(403, STATUS("\"reason\":\"Forbidden\",\"code\":403,\"message\":\"services is forbidden: "
                      "User \\\"bob\\\" cannot list resource \\\"services\\\"\""));
    assert_string_equal(
        err.text, "server says 403 Forbidden: services is forbidden: User \"bob\" cannot list "
                  "resource \"services\": grant get, list and watch with RBAC");
    judge(401, "");
    assert_string_equal(err.text, "server says 401: the server does not accept the credential; "
                                  "check token or client certificate");
    judge(404, "404 page not found\n");
    assert_string_equal(err.text, "server says 404: 404 page not found: no such resource on this "
                                  "server (is the CRD installed?)");
    judge(0, "");
    assert_string_equal(err.text, "server says nothing");
}

/* Long texts are cut between characters, and the advice still stands behind them. */
static void test_long_messages(void **state)
{
    struct buf body = {0};
    struct status s;

    (void)state;
    buf_puts(&body, "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"x");
    for (int i = 0; i < 3000; i++)
        buf_puts(&body, "\xc3\xa9");
    buf_puts(&body, "\"}");
    status_parse(&s, 403, buf_str(&body));
    assert_int_equal(strlen(s.message), 255);
    assert_int_equal((unsigned char)s.message[254], 0xa9);
    assert_int_equal(status_to_err(&s, &err), ERR_FORBIDDEN);
    assert_non_null(strstr(err.text, "\xc3\xa9: grant get, list and watch with RBAC"));
    buf_free(&body);
}

/* Values of wrong types are passed over. */
static void test_odd_members(void **state)
{
    (void)state;
    assert_int_equal(judge(404, STATUS("\"code\":\"403\",\"reason\":[\"Expired\"],\"message\":{},"
                                       "\"details\":[{\"causes\":[{\"reason\":1}]}]")),
                     ERR_NOT_FOUND);
    assert_int_equal(
        judge(404, STATUS("\"code\":403.5e99999999999999999999,\"details\":{\"causes\":"
                          "{\"reason\":\"ResourceVersionTooLarge\"},"
                          "\"retryAfterSeconds\":\"1\"}")),
        ERR_NOT_FOUND);
    assert_int_equal(judge(404, STATUS("\"code\":-5")), ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_too_large_in_three_spellings),
        cmocka_unit_test(test_status_without_kind),
        cmocka_unit_test(test_bodies_that_are_no_status),
        cmocka_unit_test(test_texts_help),
        cmocka_unit_test(test_long_messages),
        cmocka_unit_test(test_odd_members),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

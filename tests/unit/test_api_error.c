/* SPDX-License-Identifier: Apache-2.0 */
/* cache/api_error: the meaning of an error response, and how long it asks the client to wait
 * (docs/kubernetes-protocol.md "Errors", "Retry-After"). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cache/api_error.h"

static struct api_error r;

static int clean_up(void **state)
{
    (void)state;
    api_error_reset(&r);
    api_error_reset(&r);
    return 0;
}

static enum err_kind reads(int code, int64_t retry_after_s, const char *body)
{
    struct err err = {0};

    api_error_reset(&r);
    api_error_head(&r, &(struct http_head){.status = code, .retry_after_s = retry_after_s});
    if (*body != '\0')
        assert_true(api_error_body(&r, body, strlen(body)));
    api_error_read(&r, &err);
    assert_int_equal(err.code, code);
    return err.kind;
}

#define BODY(seconds) \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"details\":{\"retryAfterSeconds\":" seconds "}}"

static void test_s46_the_longer_of_head_and_body_counts(void **state)
{
    (void)state;
    assert_int_equal(reads(429, 7, ""), ERR_BUSY);
    assert_int_equal(api_error_wait_ms(&r, 0), 7000);
    assert_int_equal(reads(429, -1, BODY("9")), ERR_BUSY);
    assert_int_equal(api_error_wait_ms(&r, 0), 9000);
    assert_int_equal(reads(429, 7, BODY("9")), ERR_BUSY);
    assert_int_equal(api_error_wait_ms(&r, 0), 9000);
    assert_int_equal(reads(429, 7, BODY("2")), ERR_BUSY);
    assert_int_equal(api_error_wait_ms(&r, 0), 7000);
    assert_int_equal(reads(429, -1, ""), ERR_BUSY);
    assert_int_equal(api_error_wait_ms(&r, 0), 0);
}

static void test_503_with_retry_after_in_either_place_is_busy(void **state)
{
    (void)state;
    assert_int_equal(reads(503, -1, ""), ERR_SERVER);
    assert_int_equal(reads(503, 1, ""), ERR_BUSY);
    assert_int_equal(reads(503, -1, BODY("1")), ERR_BUSY);
}

static void test_an_event_says_more_than_the_head_of_its_stream(void **state)
{
    (void)state;
    assert_int_equal(api_error_wait_ms(&r, 0), 0);
    assert_int_equal(api_error_wait_ms(&r, 4), 4000);
    api_error_head(&r, &(struct http_head){.status = 200, .retry_after_s = 20});
    assert_int_equal(api_error_wait_ms(&r, 4), 4000);
    assert_int_equal(api_error_wait_ms(&r, -1), 20000);
}

static void test_no_wait_is_without_measure(void **state)
{
    (void)state;
    assert_int_equal(api_error_wait_ms(&r, 299), 299000);
    assert_int_equal(api_error_wait_ms(&r, 300), 300000);
    assert_int_equal(api_error_wait_ms(&r, 301), 300000);
    assert_int_equal(api_error_wait_ms(&r, INT64_MAX), 300000);
    assert_int_equal(api_error_wait_ms(&r, INT64_MIN), 0);
}

static void redirects(int code, const char *location, const char *want)
{
    struct err err = {0};

    api_error_reset(&r);
    api_error_head(&r, &(struct http_head){.status = code, .location = str_c(location)});
    api_error_read(&r, &err);
    assert_int_equal(err.kind, ERR_PROTOCOL);
    assert_int_equal(err.code, code);
    assert_string_equal(err.text, want);
}

#define REFUSED ", and redirects are not followed: is its address that of an API server?"

static void test_a_redirect_is_told_without_its_secrets(void **state)
{
    char longest[300];

    (void)state;
    redirects(302, "https://login.example/a?state=secret",
              "the server answers with a redirect (302) to https://login.example/a" REFUSED);
    redirects(307, "/elsewhere#x",
              "the server answers with a redirect (307) to /elsewhere" REFUSED);
    redirects(301, "https://user:secret@h/", "the server answers with a redirect (301)" REFUSED);
    redirects(303, "https://h/a b\x1b[31m",
              "the server answers with a redirect (303) to https://h/a" REFUSED);
    redirects(304, "", "the server answers with a redirect (304)" REFUSED);
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    api_error_head(&r, &(struct http_head){.status = 302, .location = str_c(longest)});
    assert_int_equal(strspn(r.location, "x"), sizeof(r.location) - 1);
}

static void test_only_the_beginning_of_a_body_is_kept(void **state)
{
    enum { PIECE = 40000 };
    char *piece = mem_alloc(PIECE);

    (void)state;
    memset(piece, 'x', PIECE);
    api_error_head(&r, &(struct http_head){.status = 500, .retry_after_s = -1});
    assert_true(api_error_body(&r, piece, PIECE));
    assert_false(api_error_body(&r, piece, PIECE));
    assert_int_equal(r.body.len, 65536);
    assert_false(api_error_body(&r, piece, PIECE));
    assert_int_equal(r.body.len, 65536);
    free(piece);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_s46_the_longer_of_head_and_body_counts, clean_up),
        cmocka_unit_test_teardown(test_503_with_retry_after_in_either_place_is_busy, clean_up),
        cmocka_unit_test_teardown(test_an_event_says_more_than_the_head_of_its_stream, clean_up),
        cmocka_unit_test_teardown(test_no_wait_is_without_measure, clean_up),
        cmocka_unit_test_teardown(test_a_redirect_is_told_without_its_secrets, clean_up),
        cmocka_unit_test_teardown(test_only_the_beginning_of_a_body_is_kept, clean_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

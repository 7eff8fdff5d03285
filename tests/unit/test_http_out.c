/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of HTTP messages, byte for byte, and that our own parser reads them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/http_in.h"
#include "proto/http_out.h"

static void test_request(void **state)
{
    struct http_request r = {.method = "GET", .target = "/api/v1/services?watch=1", .host = "a:1"};
    struct buf out = {0};

    (void)state;
    http_out_request(&out, &r);
    assert_string_equal(buf_cstr(&out), "GET /api/v1/services?watch=1 HTTP/1.1\r\nHost: a:1\r\n"
                                        "Accept: application/json\r\n\r\n");
    buf_clear(&out);
    r.accept = "text/plain";
    r.authorization = "Bearer abc";
    r.headers = "Impersonate-User: ann\r\nImpersonate-Group: dev\r\n";
    r.user_agent = "informerd/1 (node)";
    r.gzip = true;
    http_out_request(&out, &r);
    assert_string_equal(
        buf_cstr(&out),
        "GET /api/v1/services?watch=1 HTTP/1.1\r\nHost: a:1\r\nAccept: text/plain\r\n"
        "Accept-Encoding: gzip\r\nUser-Agent: informerd/1 (node)\r\nAuthorization: Bearer abc\r\n"
        "Impersonate-User: ann\r\nImpersonate-Group: dev\r\n\r\n");
    buf_clear(&out);
    r = (struct http_request){.method = "GET", .target = "/", .host = "a", .headers = ""};
    http_out_request(&out, &r);
    assert_string_equal(buf_cstr(&out),
                        "GET / HTTP/1.1\r\nHost: a\r\nAccept: application/json\r\n\r\n");
    buf_free(&out);
}

static void test_a_request_with_a_body(void **state)
{
    const struct http_request r = {
        .method = "POST", .target = "/x", .host = "a", .headers = "B: c\r\n", .json = "{\"d\":1}"};
    struct buf out = {0};

    (void)state;
    http_out_request(&out, &r);
    assert_string_equal(buf_cstr(&out),
                        "POST /x HTTP/1.1\r\nHost: a\r\nAccept: application/json\r\nB: c\r\n"
                        "Content-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"d\":1}");
    buf_free(&out);
}

static void test_response(void **state)
{
    struct buf out = {0};

    (void)state;
    http_out_response(&out, 404, "text/plain", NULL, 12345);
    assert_string_equal(buf_cstr(&out), "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n"
                                        "Content-Length: 12345\r\n\r\n");
    buf_clear(&out);
    http_out_response(&out, 299, NULL, NULL, 0);
    assert_string_equal(buf_cstr(&out), "HTTP/1.1 299 \r\nContent-Length: 0\r\n\r\n");
    buf_clear(&out);
    http_out_response(&out, 200, "text/css", "Cache-Control: no-store\r\nX: y\r\n", 1);
    assert_string_equal(buf_cstr(&out),
                        "HTTP/1.1 200 OK\r\nContent-Type: text/css\r\nCache-Control: no-store\r\n"
                        "X: y\r\nContent-Length: 1\r\n\r\n");
    buf_free(&out);
}

/* Reads the written bytes, without a body, and returns the part that comes last. */
static enum http_in_part read_back(struct http_in *h, const struct buf *out, int *status)
{
    struct str data = buf_str(out);
    struct str piece;

    assert_int_equal(http_in_read(h, &data, &piece, NULL), HTTP_IN_HEAD);
    *status = http_in_head(h)->status;
    return http_in_read(h, &data, &piece, NULL);
}

static void test_read_back(void **state)
{
    const struct http_limits limits = {1000, 0};
    int got;
    struct buf out = {0};

    (void)state;
    for (int status = 200; status < 600; status++) {
        struct http_in *h = http_in_create(HTTP_IN_RESPONSE, &limits);

        buf_clear(&out);
        http_out_response(&out, status, "application/json", NULL, 0);
        assert_int_equal(read_back(h, &out, &got), HTTP_IN_END);
        assert_true(http_in_reusable(h));
        assert_int_equal(got, status);
        http_in_destroy(&h);
    }
    buf_free(&out);
}

/* Read back until the peer closes, and never reused. */
static void test_endless(void **state)
{
    const struct http_limits limits = {1000, 0};
    int status;
    struct buf out = {0};
    struct http_in *h = http_in_create(HTTP_IN_RESPONSE, &limits);

    (void)state;
    http_out_endless(&out, 200, "application/x-ndjson");
    assert_string_equal(
        buf_cstr(&out),
        "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n\r\n");
    assert_int_equal(read_back(h, &out, &status), HTTP_IN_MORE);
    assert_int_equal(status, 200);
    assert_int_equal(http_in_eof(h, NULL), ERR_OK);
    assert_false(http_in_reusable(h));
    http_in_destroy(&h);
    buf_free(&out);
}

/* A status that is not in the table has an empty reason phrase. */
static void test_reasons(void **state)
{
    static const struct {
        int status;
        const char *line;
    } cases[] = {
        {200, "HTTP/1.1 200 OK\r\n"                 },
        {503, "HTTP/1.1 503 Service Unavailable\r\n"},
        {299, "HTTP/1.1 299 \r\n"                   },
    };
    struct buf out = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf_clear(&out);
        http_out_response(&out, cases[i].status, "text/plain", NULL, 0);
        assert_memory_equal(buf_cstr(&out), cases[i].line, strlen(cases[i].line));
    }
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request),   cmocka_unit_test(test_response),
        cmocka_unit_test(test_read_back), cmocka_unit_test(test_endless),
        cmocka_unit_test(test_reasons),   cmocka_unit_test(test_a_request_with_a_body),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

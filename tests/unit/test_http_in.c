/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP messages read the same wherever the bytes are cut, within limits, and in one way only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "proto/http_in.h"

static void put_field(struct buf *text, const char *name, struct str value)
{
    if (value.n > 0)
        buf_printf(text, " %s=%.*s", name, STR_ARG(value));
}

/* The parts of a message as text: the head as one line, the body, then the end. */
static void put_head(struct buf *text, const struct http_head *h)
{
    if (h->method.n > 0)
        buf_printf(text, "%.*s %.*s", STR_ARG(h->method), STR_ARG(h->target));
    else
        buf_printf(text, "%d", h->status);
    put_field(text, "host", h->host);
    put_field(text, "type", h->content_type);
    put_field(text, "coding", h->content_encoding);
    put_field(text, "location", h->location);
    if (h->retry_after_s >= 0)
        buf_printf(text, " retry=%d", (int)h->retry_after_s);
    if (h->date_s != 0)
        buf_printf(text, " date=%lld", (long long)h->date_s);
    put_field(text, "warnings", h->warnings);
    buf_puts(text, h->keep_alive ? " keep|" : " close|");
}

enum ending { OPEN, EOF_AFTER };

struct message {
    enum http_in_kind kind;
    struct http_limits limits;
    enum ending ending;
    const char *bytes;
};

/* Reads one piece of the message; *data is the rest that it leaves. */
static enum http_in_part read_piece(struct buf *text, struct http_in *h, struct str *data,
                                    struct err *err)
{
    enum http_in_part part;
    struct str piece;

    while ((part = http_in_read(h, data, &piece, err)) == HTTP_IN_HEAD || part == HTTP_IN_BODY) {
        if (part == HTTP_IN_HEAD)
            put_head(text, http_in_head(h));
        else
            buf_append_str(text, piece);
        assert_true(part == HTTP_IN_HEAD || piece.n > 0);
    }
    if (part == HTTP_IN_MORE)
        assert_int_equal(data->n, 0);
    if (part == HTTP_IN_END)
        buf_puts(text, "|end");
    return part;
}

/* left: the bytes behind the message. */
static void put_outcome(struct buf *text, const struct http_in *h, enum http_in_part part,
                        struct str left, const struct err *err)
{
    if (part == HTTP_IN_FAILED)
        buf_printf(text, "|%s", err_kind_name(err->kind));
    else if (part == HTTP_IN_MORE)
        buf_puts(text, "|more");
    else
        buf_printf(text, "%s%s%.*s", http_in_reusable(h) ? "" : " last",
                   left.n > 0 ? ", then " : "", STR_ARG(left));
}

/* Reads bytes [0, cut) and the rest, each piece in portions of step; adds the result to the
 * text. */
static void run(struct buf *text, const struct message *m, size_t cut, size_t step, struct err *err)
{
    struct http_in *h = http_in_create(m->kind, &m->limits);
    size_t n = strlen(m->bytes);
    size_t at = 0;
    enum http_in_part part = HTTP_IN_MORE;

    while (part == HTTP_IN_MORE && at < n) {
        size_t take = at < cut ? cut - at : n - at;
        struct str data = str_of(m->bytes + at, take > step ? step : take);

        at += data.n;
        part = read_piece(text, h, &data, err);
        at -= data.n;
    }
    if (part == HTTP_IN_MORE && m->ending == EOF_AFTER) {
        part = http_in_eof(h, err) == ERR_OK ? HTTP_IN_END : HTTP_IN_FAILED;
        buf_puts(text, part == HTTP_IN_END ? "|end" : "");
    }
    put_outcome(text, h, part, str_of(m->bytes + at, n - at), err);
    http_in_destroy(&h);
    assert_null(h);
}

static void expect(const struct message *m, size_t cut, size_t step, const char *want)
{
    struct buf text = {0};
    struct err err = {0};

    run(&text, m, cut, step, &err);
    if (strcmp(buf_cstr(&text), want) != 0)
        fail_msg("cut %zu step %zu of:\n%s\n got %s\nwant %s (%s)", cut, step, m->bytes,
                 buf_cstr(&text), want, err.text);
    buf_free(&text);
}

/* In one piece, in two at every place, byte by byte. */
static void expect_always(const struct message *m, const char *want)
{
    size_t n = strlen(m->bytes);

    expect(m, 0, 1, want);
    for (size_t cut = 0; cut <= n; cut++)
        expect(m, cut, n, want);
}

static void response(const char *bytes, const char *want)
{
    const struct message m = {
        HTTP_IN_RESPONSE, {4096, 0},
         OPEN, bytes
    };

    expect_always(&m, want);
}

static void response_and_eof(const char *bytes, const char *want)
{
    const struct message m = {
        HTTP_IN_RESPONSE, {4096, 0},
         EOF_AFTER, bytes
    };

    expect_always(&m, want);
}

static void request(const char *bytes, const char *want)
{
    const struct message m = {
        HTTP_IN_REQUEST, {4096, 0},
         OPEN, bytes
    };

    expect_always(&m, want);
}

static void test_responses(void **state)
{
    (void)state;
    response("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\nabc",
             "200 type=application/json keep|abc|end");
    response("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 2",
             "200 keep||end, then HTTP/1.1 2");
    response("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1",
             "200 keep|abc|end, then HTTP/1.1");
    response("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc",
             "200 close|abc|end last");
    response("HTTP/1.1 200\r\ncontent-length:3\r\n\r\nabc", "200 keep|abc|end");
    response("HTTP/1.1 204 No Content\r\n\r\nrest", "204 keep||end, then rest");
    response("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\nHTTP/1.1 ",
             "304 keep||end, then HTTP/1.1 ");
    response("HTTP/1.0 400 Bad Request\r\nContent-Length: 2\r\n\r\nno", "400 close|no|end last");
    response("HTTP/1.1 301 Moved\r\nLocation: /elsewhere \r\nContent-Length: 0\r\n\r\n",
             "301 location=/elsewhere keep||end");
    response("HTTP/1.1 200 OK\r\nContent-Type: Text/Plain ; charset=utf-8\r\nContent-Type: b/c\r\n"
             "X:\r\nY: \r\nContent-Length: 0\r\n\r\n",
             "200 type=text/plain keep||end");
}

static void test_chunked(void **state)
{
    (void)state;
    response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA\r\n0123456789\r\n"
             "0\r\n\r\nHTTP/1.1",
             "200 keep|abc0123456789|end, then HTTP/1.1");
    response("HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n0\r\n\r\n", "200 keep||end");
    response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;ext=\"1\"\r\nabc\r\n0;d\r\n"
             "Content-Type: late/field\r\nX: y\r\n\r\n++",
             "200 keep|abc|end, then ++");
    response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab", "200 keep|ab|more");
    response_and_eof("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
                     "200 keep|abc|closed");
    response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n",
             "200 keep|abc|protocol");
    response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "200 keep||protocol");
    response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", "200 keep||protocol");
    response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11111111111111111\r\n",
             "200 keep||protocol");
}

static void test_until_eof(void **state)
{
    (void)state;
    response_and_eof("HTTP/1.1 200 OK\r\n\r\nall of it", "200 close|all of it|end last");
    response_and_eof("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n", "200 close||end last");
    response_and_eof("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", "200 keep|ab|closed");
    response_and_eof("HTTP/1.1 200 OK\r\nContent-Le", "|closed");
    response_and_eof("", "|closed");
}

static void test_informational_responses_are_skipped(void **state)
{
    (void)state;
    response("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nContent-Type: a/no\r\n"
             "Content-Length: 7\r\nTransfer-Encoding-Not: x\r\n\r\n"
             "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
             "200 keep|x|end");
    response("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2\r\nConnection: Upgrade\r\n\r\n",
             "|protocol");
}

static void test_content_encoding(void **state)
{
    static const struct {
        const char *lines;
        const char *want;
    } cases[] = {
        {"Content-Encoding: gzip\r\n",                            "200 coding=gzip keep||end"    },
        {"content-encoding:\tX-GZip \r\n",                        "200 coding=gzip keep||end"    },
        {"Content-Encoding: Br\r\n",                              "200 coding=br keep||end"      },
        {"Content-Encoding: gzip, br\r\n",                        "200 coding=gzip, br keep||end"},
        {"Content-Encoding: identity\r\n",                        "200 keep||end"                },
        {"Content-Encoding:\r\n",                                 "200 keep||end"                },
        {"Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n",  "|protocol"                    },
        {"Content-Encoding:\r\nX: y\r\nContent-Encoding: br\r\n", "|protocol"                    },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf text = {0};

        buf_printf(&text, "HTTP/1.1 200 OK\r\n%sContent-Length: 0\r\n\r\n", cases[i].lines);
        response(buf_cstr(&text), cases[i].want);
        buf_free(&text);
    }
}

static void test_retry_after(void **state)
{
    static const struct {
        const char *value;
        const char *want;
    } cases[] = {
        {"1",                             "429 retry=1 keep||end"        },
        {"0",                             "429 retry=0 keep||end"        },
        {" 120 ",                         "429 retry=120 keep||end"      },
        {"999999999",                     "429 retry=999999999 keep||end"},
        {"9999999999",                    "429 keep||end"                },
        {"-1",                            "429 keep||end"                },
        {"1.5",                           "429 keep||end"                },
        {"",                              "429 keep||end"                },
        {"Fri, 31 Dec 1999 23:59:59 GMT", "429 keep||end"                },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf text = {0};

        buf_printf(&text, "HTTP/1.1 429 Busy\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n",
                   cases[i].value);
        response(buf_cstr(&text), cases[i].want);
        buf_free(&text);
    }
}

/* Of no other field do all values count. */
static void test_warnings(void **state)
{
    (void)state;
    response("HTTP/1.1 200 OK\r\nWarning: 299 - \"a\"\r\nLocation: /x\r\nwarning:\r\n"
             "Location: /y\r\nWARNING: 299 - \"b\" \r\nContent-Length: 0\r\n\r\n",
             "200 location=/x warnings=299 - \"a\"\n\n299 - \"b\" keep||end");
    response("HTTP/1.1 103 Early Hints\r\nWarning: 299 - \"a\"\r\n\r\n"
             "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
             "200 keep||end");
}

static void test_date(void **state)
{
    static const struct {
        const char *value;
        const char *want;
    } cases[] = {
        {"Sun, 06 Nov 1994 08:49:37 GMT",    "200 date=784111777 keep||end" },
        {"Thu, 29 Feb 2024 23:59:59 GMT",    "200 date=1709251199 keep||end"},
        {" Fri, 01 Jan 2100 00:00:00 GMT  ", "200 date=4102444800 keep||end"},
        {"Sun, 06 Nov 1994 08:49:37 CET",    "200 keep||end"                },
        {"Sun, 06 Foo 1994 08:49:37 GMT",    "200 keep||end"                },
        {"Sunday, 06-Nov-94 08:49:37 GMT",   "200 keep||end"                },
        {"Sun Nov  6 08:49:37 1994",         "200 keep||end"                },
        {"Sun, 06 Nov 1994 08:49:37 GMT, 1", "200 keep||end"                },
        {"now",                              "200 keep||end"                },
        {"",                                 "200 keep||end"                },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf text = {0};

        buf_printf(&text, "HTTP/1.1 200 OK\r\nDATE: %s\r\nContent-Length: 0\r\n\r\n",
                   cases[i].value);
        response(buf_cstr(&text), cases[i].want);
        buf_free(&text);
    }
}

/* A message that two readers could take for two different messages is refused (RFC 9112 11.2). */
static void test_ambiguous_framing(void **state)
{
    static const char *const fields[] = {
        "Content-Length: 1\r\nContent-Length: 1",
        "Content-Length: 1\r\nContent-Length: 2",
        "Content-Length: 1, 1",
        "Content-Length: -1",
        "Content-Length: +1",
        "Content-Length: 0x1",
        "Content-Length: 1 2",
        "Content-Length: 99999999999999999999",
        "Content-Length : 1",
        "Content-Length: 1\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 1",
        "Transfer-Encoding: gzip",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: chunked, gzip",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: \"chunked\"",
        "Transfer-Encoding:",
        "Transfer-Encoding: chunked\r\n ",
        "X: a\rContent-Length: 1",
        "X\x01: a",
        ": a",
        "X: a\x01",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        struct buf text = {0};

        buf_printf(&text, "HTTP/1.1 200 OK\r\n%s\r\n\r\n1\r\nx\r\n0\r\n\r\n", fields[i]);
        response(buf_cstr(&text), "|protocol");
        buf_clear(&text);
        buf_printf(&text, "POST / HTTP/1.1\r\nHost: a\r\n%s\r\n\r\n1\r\nx\r\n0\r\n\r\n", fields[i]);
        request(buf_cstr(&text), "|protocol");
        buf_free(&text);
    }
    response("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "|protocol");
    response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n: x\r\n\r\n",
             "200 keep||protocol");
    response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\nx\n0\n\n",
             "200 keep||protocol");
    response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\n0\r\n\r\n",
             "200 keep|x|protocol");
}

static void test_messages_that_are_no_responses(void **state)
{
    static const char *const texts[] = {"<html>hello</html>",         "GET / HTTP/1.1\r\n\r\n",
                                        "HTTP/2.0 200 OK\r\n\r\n",    "HTTP/1.2 200 OK\r\n\r\n",
                                        "HTTP/0.9 200 OK\r\n\r\n",    "HTTP/1.1 99 Low\r\n\r\n",
                                        "HTTP/1.1 1000 High\r\n\r\n", "HTTP/1.1 abc\r\n\r\n",
                                        "ICY 200 OK\r\n\r\n",         "\x16\x03\x01\x02"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        response(texts[i], "|protocol");
}

static void test_requests(void **state)
{
    (void)state;
    request("GET /v1/status?x=%20 HTTP/1.1\r\nHost: Localhost:80 \r\n\r\nGET",
            "GET /v1/status?x=%20 host=localhost:80 keep||end, then GET");
    request("POST /v1/x HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
            "POST /v1/x type=application/json keep|{}|end");
    request("POST /v1/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
            "POST /v1/x keep|{}|end");
    request("GET / HTTP/1.0\r\n\r\n", "GET / close||end last");
    request("GET / HTTP/1.1\r\nConnection: close\r\n\r\n", "GET / close||end last");
    request("GET / HTTP/1.1\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\nnext",
            "GET / keep||end, then next");
    request("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "|protocol"); /* RFC 9112 3.2 */
    request("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET / keep||end");
    request("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", "GET / close||end last");
    request("BREW / HTTP/1.1\r\n\r\n", "|protocol");
    request("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", "|protocol");
    request("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "|protocol");
    request("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "|protocol");
    request("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", "|protocol");
    request("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "|protocol");
    request("GET /\r\n\r\n", "|protocol");
}

static void test_head_limit_is_exact(void **state)
{
    static const char bytes[] = "HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 200 OK\r\nX:      y\r\n"
                                "Content-Length: 3\r\n\r\nabc";
    struct message m = {
        HTTP_IN_RESPONSE, {sizeof(bytes) - 1 - 3, 0},
         OPEN, bytes
    };

    (void)state;
    expect_always(&m, "200 keep|abc|end");
    m.limits.head_bytes--;
    expect_always(&m, "|too_big");
    m.limits.head_bytes = 1;
    expect_always(&m, "|too_big");
}

static void test_target_is_part_of_the_head(void **state)
{
    static const char bytes[] = "GET /0123456789 HTTP/1.1\r\n\r\n";
    struct message m = {
        HTTP_IN_REQUEST, {sizeof(bytes) - 1, 0},
         OPEN, bytes
    };

    (void)state;
    expect_always(&m, "GET /0123456789 keep||end");
    m.limits.head_bytes--;
    expect_always(&m, "|too_big");
}

static void test_body_limit_is_exact(void **state)
{
    struct message m = {
        HTTP_IN_RESPONSE, {4096, 5},
         OPEN, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde"
    };

    (void)state;
    expect_always(&m, "200 keep|abcde|end");
    m.limits.body_bytes = 4;
    expect_always(&m, "200 keep|abcd|too_big");
    m.bytes =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    expect_always(&m, "200 keep|abcd|too_big");
    m.limits.body_bytes = 5;
    expect_always(&m, "200 keep|abcde|end");
    m.ending = EOF_AFTER;
    m.bytes = "HTTP/1.1 200 OK\r\n\r\nabcdef";
    expect_always(&m, "200 close|abcde|too_big");
}

/* Extensions and trailers could go on for ever and are bounded; the number of plain chunks is
 * not. */
static void test_framing_limit_is_exact(void **state)
{
    static const char extension[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                    "1;0123456789012345678901234567890123456789012345678\r\nx\r\n";
    static const char trailer[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                  "0\r\nName: 012345678901234567890123456789012345678\r\n\r\n";
    struct message m = {
        HTTP_IN_RESPONSE, {53, 0},
         OPEN, extension
    };
    struct buf many = {0};

    (void)state;
    expect_always(&m, "200 keep|x|more");
    m.limits.head_bytes--;
    expect_always(&m, "200 keep||too_big");
    m.bytes = trailer;
    expect_always(&m, "200 keep||end");
    m.limits.head_bytes--;
    expect_always(&m, "200 keep||too_big");

    /* The limit is met before the mistake, or behind it. */
    m.bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
              "0\r\nName: 01234567890123456789012345678901234567890\r\n: x\r\n\r\n";
    expect_always(&m, "200 keep||too_big");
    m.bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
              "0\r\nName: 012345678901234567890123456789012345678\r\n: x\r\n\r\n";
    expect_always(&m, "200 keep||protocol");

    buf_puts(&many, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (size_t i = 0; i < 50; i++)
        buf_puts(&many, "1\r\n.\r\n");
    m.bytes = buf_cstr(&many);
    expect_always(&m, "200 keep|..................................................|more");
    buf_free(&many);
}

/* So a reader may stop behind any part. */
static void test_a_part_takes_no_bytes_behind_it(void **state)
{
    const struct http_limits limits = {4096, 0};
    struct http_in *h = http_in_create(HTTP_IN_RESPONSE, &limits);
    struct str data = str_c("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                            "1\r\na\r\n2\r\nbc\r\n0\r\n\r\nnext");
    struct str piece;
    struct err err;

    (void)state;
    assert_int_equal(http_in_read(h, &data, &piece, &err), HTTP_IN_HEAD);
    assert_true(str_is(data, "1\r\na\r\n2\r\nbc\r\n0\r\n\r\nnext"));
    assert_int_equal(http_in_read(h, &data, &piece, &err), HTTP_IN_BODY);
    assert_true(str_is(piece, "a"));
    assert_int_equal(http_in_read(h, &data, &piece, &err), HTTP_IN_BODY);
    assert_true(str_is(piece, "bc"));
    assert_int_equal(http_in_read(h, &data, &piece, &err), HTTP_IN_END);
    assert_true(str_is(data, "next"));
    http_in_destroy(&h);
}

static void expect_text(const struct message *m, const char *want)
{
    struct buf text = {0};
    struct err err = {0};

    run(&text, m, 0, 1000, &err);
    assert_string_equal(err.text, want);
    buf_free(&text);
}

static void test_errors_in_words(void **state)
{
    struct message m = {
        HTTP_IN_RESPONSE, {20, 2},
         EOF_AFTER, "\x15\x03\x01"
    };

    (void)state;
    expect_text(&m, "HTTP response: the peer speaks TLS; use https://");
    m.bytes = "";
    expect_text(&m, "HTTP response: the peer closed the connection before it began");
    m.bytes = "HTTP/1.1";
    expect_text(&m, "HTTP response: the peer closed the connection within its head");
    m.bytes = "HTTP/1.1 200 OK\r\nABC";
    expect_text(&m, "HTTP response: the head: more than the limit of 20 bytes");
    m.bytes = "HTTP/1.1 200 OK\r\n\r\nabc";
    expect_text(&m, "HTTP response: the body: more than the limit of 2 bytes");
    m.limits.head_bytes = 100;
    m.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab";
    expect_text(&m, "HTTP response: the peer closed the connection within its body, after 2 bytes");
    m.bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n";
    expect_text(&m, "HTTP response: malformed: a Transfer-Encoding other than chunked");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_responses),
        cmocka_unit_test(test_chunked),
        cmocka_unit_test(test_until_eof),
        cmocka_unit_test(test_informational_responses_are_skipped),
        cmocka_unit_test(test_content_encoding),
        cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_date),
        cmocka_unit_test(test_ambiguous_framing),
        cmocka_unit_test(test_messages_that_are_no_responses),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_head_limit_is_exact),
        cmocka_unit_test(test_target_is_part_of_the_head),
        cmocka_unit_test(test_body_limit_is_exact),
        cmocka_unit_test(test_framing_limit_is_exact),
        cmocka_unit_test(test_a_part_takes_no_bytes_behind_it),
        cmocka_unit_test(test_errors_in_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

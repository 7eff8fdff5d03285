/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_framing - reads what clients may send and prints which requests that makes, as io/listener reads them: for
 * tests/wire/test_http_framing.py, which compares them with those of another implementation.
 *
 * stdin: for each connection four bytes (the length, in the byte order of the machine) and its bytes. stdout: for
 * each request a line "METHOD TARGET BODY", each part in hexadecimal digits behind a "=", and for each connection a
 * line: "more" (the last request is not complete), "closed" (no request may follow) or "refused WHY".
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/panic.h"
#include "base/read_all.h"
#include "proto/http_in.h"

static void put_part(struct str text)
{
    printf("=");
    for (size_t i = 0; i < text.n; i++)
        printf("%02x", (unsigned char)text.p[i]);
    printf(" ");
}

/* Takes one request off the front of *in, and prints it if it is complete. */
static enum http_in_part read_request(struct http_in *h, struct str *in, struct err *err)
{
    struct buf body = {0};
    enum http_in_part part;
    struct buf front[2] = {0};
    struct str piece;

    while ((part = http_in_read(h, in, &piece, err)) == HTTP_IN_HEAD || part == HTTP_IN_BODY) {
        if (part == HTTP_IN_BODY) {
            buf_append_str(&body, piece);
            continue;
        }
        buf_append_str(&front[0], http_in_head(h)->method);
        buf_append_str(&front[1], http_in_head(h)->target);
    }
    if (part == HTTP_IN_END) {
        put_part(buf_str(&front[0]));
        put_part(buf_str(&front[1]));
        put_part(buf_str(&body));
        printf("\n");
    }
    buf_free(&front[0]);
    buf_free(&front[1]);
    buf_free(&body);
    return part;
}

static void read_connection(struct str in)
{
    static const struct http_limits limits = {.head_bytes = 16384, .body_bytes = 65536};
    bool goes_on = true;

    while (goes_on) {
        struct http_in *h = http_in_create(HTTP_IN_REQUEST, &limits);
        struct err err = {0};
        enum http_in_part part = read_request(h, &in, &err);

        goes_on = part == HTTP_IN_END && http_in_reusable(h);
        if (part == HTTP_IN_FAILED)
            printf("refused %s\n", err.text);
        else if (part == HTTP_IN_MORE)
            printf("more\n");
        else if (!goes_on)
            printf("closed\n");
        http_in_destroy(&h);
    }
}

int main(void)
{
    struct buf all = {0};
    uint32_t n;

    ensure(read_all(STDIN_FILENO, SIZE_MAX / 2, &all) == 0);
    for (size_t at = 0; at < all.len; at += n) {
        ensure(all.len - at >= sizeof(n));
        memcpy(&n, all.data + at, sizeof(n));
        at += sizeof(n);
        ensure(all.len - at >= n);
        read_connection(str_of(all.data + at, n));
    }
    buf_free(&all);
    return 0;
}
